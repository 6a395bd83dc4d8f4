/* panic.c -- the report of a crash, written by a process whose data may be broken.
 *
 * All code here runs in a signal handler or just before the process ends: no malloc, no lock, no stdio. A
 * section may crash as well, since it walks data that may be broken; the second crash reduces the report
 * to a stack trace, the third is left to the system. A report that hangs is ended by an alarm.
 *
 * First, the reporting thread stops all others (thread_suspend.c), so that the data may be broken,
 * but do not change: a list that another thread keeps linking and freeing cannot be walked.
 *
 * A fault on a background thread of jemalloc is not reported. Those block all signals, and the kernel
 * immediately ends a process whose fault is blocked, by that signal; no code of ours runs on them that could unblock
 * it. (Hooks for extents would, but cost each arena its fast paths; a pthread_sigmask() of our own, which the library
 * would find before libc's, is a trap for all other libraries.) The core file shows their stacks.
 *
 * Not here    the content of sections: the layers that own the data register them at startup.
 * Owns        the list of sections; the handlers of five signals while installed; the stack on which each thread's
 *             handler runs.
 * Threads     the first thread that crashes writes the report; all others are stopped for good. Sections and handlers
 *             are set at startup by main; each thread allocates its own stack.
 * Invariants  1. A report does not return: the process ends by the signal that began it, with the
 *                default action, so that core file and exit status are right (except with panicExits()).
 *             2. A report ends: each wait has a limit, and an alarm limits the whole.
 * Tests       tests/unit/base/panic_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "panic.h"
#include "log.h"
#include "thread_suspend.h"
#include "symbols.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define SECTIONS_MAX 16
#define FRAMES_MAX 100
#define SIGNAL_STACK (256 * 1024) /* pages that a report does not touch cost nothing */
#define GUARD 65536               /* a multiple of every page size */
#define THREAD_NAME_SIZE 16
#define THREAD_TEXT_SIZE 80
#define REPORT_SECONDS_MAX 30 /* bounds waits for a lock that a stopped thread has, or a disk that does not respond */

static struct {
    const char *title;
    panicSection *print;
} sections[SECTIONS_MAX];
static int section_count;

static const char *program = "valkey";
static const int crash_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
static bool handlers_installed;
static atomic_bool exits; /* panicExits(); any thread may read it */

static _Thread_local bool is_main, has_main_role;
static _Thread_local char *signal_stack; /* owned: a guard and the stack above it; NULL before panicThreadInit() */
static _Thread_local stack_t stack_before;
static _Atomic int reporting_thread; /* thread id, 0 while there is no report */
static int depth;                    /* number of crashes so far; written by the reporting thread */
static bool header_written;          /* written by the reporting thread */
static bool reporter_had_main_role;  /* written by the reporting thread */
static int reported_signal; /* written by the reporting thread: the signal that ends the process if the report hangs */

/* ---- Main thread ------------------------------------------------------------------------------------------------- */

void panicSetMainThread(void) { is_main = has_main_role = true; }
void panicSetMainRole(bool held) { has_main_role = held; }
bool panicHoldsMainRole(void) { return has_main_role; }
bool panicOnMainThread(void) { return is_main; }

/* ---- Every thread ------------------------------------------------------------------------------------------------ */

void panicBlockOtherSignals(sigset_t *before) {
    sigset_t others;
    sigfillset(&others);
    for (size_t i = 0; i < array_len(crash_signals); i++) sigdelset(&others, crash_signals[i]);
    pthread_sigmask(SIG_SETMASK, &others, before);
}

void panicThreadInit(void) {
    threadSuspendRegister();
    if (signal_stack) return;
    char *p = mmap(NULL, GUARD + SIGNAL_STACK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return;
    stack_t stack = {.ss_sp = p + GUARD, .ss_size = SIGNAL_STACK};
    if (mprotect(p + GUARD, SIGNAL_STACK, PROT_READ | PROT_WRITE) || sigaltstack(&stack, &stack_before)) {
        munmap(p, GUARD + SIGNAL_STACK);
        return;
    }
    signal_stack = p;
}

void panicThreadExit(void) {
    threadSuspendUnregister();
    if (!signal_stack) return;
    sigaltstack(&stack_before, NULL); /* restores a sanitizer's stack, which it frees itself, if there was one */
    munmap(signal_stack, GUARD + SIGNAL_STACK);
    signal_stack = NULL;
}

/* ---- Sections ---------------------------------------------------------------------------------------------------- */

void panicSetProgram(const char *name_and_version) { program = name_and_version; }

void panicAddSection(const char *title, panicSection *print) {
    serverAssert(section_count < SECTIONS_MAX);
    sections[section_count].title = title;
    sections[section_count].print = print;
    section_count++;
}

void panicPrint(const char *fmt, ...) {
    char text[4096];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    serverLogRaw(text);
}

static void printSections(void) {
    for (int i = 0; i < section_count; i++) {
        panicPrint("\n------ %s ------\n", sections[i].title);
        sections[i].print();
    }
}

/* ---- The parts of the report ------------------------------------------------------------------------------------- */

static void printHeader(void) {
    if (header_written) return;
    header_written = true;
    serverLogRaw("\n\n=== VALKEY BUG REPORT START: copy from here to the line with END ===\n");
}

static void printEnd(void) {
    serverLogRaw("\n=== VALKEY BUG REPORT END ===\n\n"
                 "Please report this bug, with all lines from START to END, where you got this program from.\n"
                 "Defective memory can also be the cause: test it by valkey-server --test-memory MEGABYTES.\n");
}

/* Describes a thread by the name that `top -H` and a debugger show as well, and whether it was executing commands: then
 * the client and the arguments that a section may show are its own. */
static void describeThread(char *out, size_t size, int id, const char *name, bool had_main_role) {
    snprintf(out, size, "%s (id %d)%s", id == (int)getpid() ? "main" : name, id,
             had_main_role ? ", has the main role" : "");
}

static void printThread(void) {
    char name[THREAD_NAME_SIZE + 1] = "", text[THREAD_TEXT_SIZE];
    prctl(PR_GET_NAME, name);
    describeThread(text, sizeof(text), (int)syscall(SYS_gettid), name, reporter_had_main_role);
    serverLog(LL_WARNING, "In thread: %s", text);
}

/* Prints a line for each address: the program's functions by its own table, others by the symbols that libraries
 * export. `calls`: the addresses follow calls, so the next function may begin there if the called one does not
 * return. */
static void printFrames(void *const *frames, int n, bool calls) {
    char text[SYMBOL_TEXT_SIZE];
    for (int i = 0; i < n; i++) {
        symbolsDescribe(frames[i], calls, text);
        panicPrint("%s\n", text);
    }
}

/* `at` is the instruction that crashed, or NULL. */
static void printStack(void *at) {
    void *frames[FRAMES_MAX];
    serverLogRaw("\n------ STACK TRACE ------\n");
    if (at) {
        serverLogRaw("EIP:\n");
        printFrames(&at, 1, false);
    }
    int n = threadOwnStack(frames, FRAMES_MAX);
    serverLogRaw("\nBacktrace:\n");
    /* The first frame is this function. */
    printFrames(frames + 1, n - 1, true);
    serverLogRaw("\n------ STACK TRACE DONE ------\n");
}

/* Prints where the other threads were when they were stopped. */
static void printOtherThreads(void) {
    suspendedThread t;
    char text[THREAD_TEXT_SIZE];
    serverLogRaw("\n------ OTHER THREADS ------\n");
    for (size_t i = 0; threadSuspendGet(i, &t); i++) {
        describeThread(text, sizeof(text), t.id, t.name, t.stopped && t.answer);
        panicPrint("%s%s\n", text,
                   t.stopped ? "" : ": did not stop, and may have changed data while the report was written");
        void *at = t.stopped && t.context ? contextInstruction(t.context) : NULL;
        if (at) printFrames(&at, 1, false);
    }
}

static void printRegisters(const ucontext_t *uc) {
    serverLogRaw("\n------ REGISTERS ------\n");
#if defined(__x86_64__)
    const greg_t *g = uc->uc_mcontext.gregs;
    static const struct {
        const char *name;
        int reg;
    } regs[] = {{"RAX", REG_RAX}, {"RBX", REG_RBX}, {"RCX", REG_RCX}, {"RDX", REG_RDX}, {"RDI", REG_RDI},
                {"RSI", REG_RSI}, {"RBP", REG_RBP}, {"RSP", REG_RSP}, {"R8 ", REG_R8},  {"R9 ", REG_R9},
                {"R10", REG_R10}, {"R11", REG_R11}, {"R12", REG_R12}, {"R13", REG_R13}, {"R14", REG_R14},
                {"R15", REG_R15}, {"RIP", REG_RIP}, {"EFL", REG_EFL}};
    for (size_t i = 0; i < array_len(regs); i++)
        panicPrint("%s:%016llx%c", regs[i].name, (unsigned long long)g[regs[i].reg], i % 2 ? '\n' : ' ');
    panicPrint("CSGSFS:%016llx\n", (unsigned long long)g[REG_CSGSFS]);
#elif defined(__aarch64__)
    for (int i = 0; i < 31; i++)
        panicPrint("X%02d:%016llx%c", i, (unsigned long long)uc->uc_mcontext.regs[i], i % 2 ? '\n' : ' ');
    panicPrint("\nSP :%016llx PC :%016llx\npstate:%016llx\n", (unsigned long long)uc->uc_mcontext.sp,
               (unsigned long long)uc->uc_mcontext.pc, (unsigned long long)uc->uc_mcontext.pstate);
#else
    unused(uc);
    serverLogRaw("Registers of this type of processor are not supported.\n");
#endif
}

/* ---- The reporting thread ---------------------------------------------------------------------------------------- */

noreturn_fn static void dieBy(int sig) {
    struct sigaction sa = {.sa_handler = SIG_DFL};
    sigset_t set;
    sigaction(sig, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, sig);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    raise(sig);
    _exit(128 + sig);
}

/* Ends the process when the report hangs. */
static void onTooLong(int sig) {
    unused(sig);
    serverLogFromSignal(LL_WARNING, "The crash report was cut off: it took too long.");
    dieBy(reported_signal);
}

static void limitTime(int sig) {
    struct sigaction sa = {.sa_handler = onTooLong, .sa_flags = SA_ONSTACK};
    sigset_t set;
    reported_signal = sig;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGALRM, &sa, NULL);
    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    alarm(REPORT_SECONDS_MAX);
}

/* Returns on the thread that writes the report, also if it crashes again; on others it never returns, so that two
 * reports do not mix. From here on no other thread runs. */
static void becomeReporter(int sig) {
    int me = (int)syscall(SYS_gettid), none = 0;
    if (!atomic_compare_exchange_strong(&reporting_thread, &none, me)) {
        if (none == me) return;
        for (;;) pause();
    }
    logBeginLockless();
    logSetLevel(LL_WARNING); /* a report without its reason is of no use, also with loglevel nothing */
    if (handlers_installed) {
        limitTime(sig);
        threadSuspendOthers(panicHoldsMainRole);
    }
    reporter_had_main_role = has_main_role;
    has_main_role = true; /* its sections read main's data, whichever thread has crashed */
}

static void onCrash(int sig, siginfo_t *info, void *context) {
    const ucontext_t *uc = context;
    becomeReporter(sig);
    depth++;
    if (depth > 2) dieBy(sig);
    if (depth == 2)
        serverLogFromSignal(LL_WARNING, "The crash report has crashed as well. A shortened report follows.");
    else printHeader();
    serverLog(LL_WARNING, "%s crashed by signal: %d, si_code: %d", program, sig, info->si_code);
    printThread();
    if (info->si_code <= SI_USER) {
        serverLog(LL_WARNING, "Signal sent by PID: %ld, UID: %d", (long)info->si_pid, (int)info->si_uid);
    } else {
        serverLog(LL_WARNING, "Faulting address: 0x%zx", (size_t)info->si_addr);
        serverLog(LL_WARNING, "At instruction: %p", contextInstruction(uc));
    }
    printStack(contextInstruction(uc));
    printRegisters(uc);
    if (depth == 1) {
        printOtherThreads();
        printSections();
    }
    printEnd();
    dieBy(sig);
}

void panicInstallHandlers(void) {
    threadStacksPrepare();
    symbolsLoad();
    struct sigaction sa = {.sa_sigaction = onCrash, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < array_len(crash_signals); i++) sigaction(crash_signals[i], &sa, NULL);
    handlers_installed = true;
}

void panicRemoveHandlers(void) {
    struct sigaction sa = {.sa_handler = SIG_DFL};
    sigemptyset(&sa.sa_mask);
    for (size_t i = 0; i < array_len(crash_signals); i++) sigaction(crash_signals[i], &sa, NULL);
    handlers_installed = false;
}

void panicExits(bool on) { atomic_store_explicit(&exits, on, memory_order_relaxed); }

/* ---- Assertions -------------------------------------------------------------------------------------------------- */

static const char *fileName(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Writes the rest of the report, after the lines that describe the failure, and ends the process. */
noreturn_fn static void finish(void) {
    depth++;
    if (handlers_installed && depth == 1) {
        printStack(NULL);
        printOtherThreads();
        printSections();
    }
    printEnd();
    if (atomic_load_explicit(&exits, memory_order_relaxed)) _exit(1);
    dieBy(SIGABRT);
}

void panicAssertFailed(const char *cond, const char *file, int line) {
    becomeReporter(SIGABRT);
    printHeader();
    serverLog(LL_WARNING, depth ? "=== RECURSIVE ASSERTION FAILED ===" : "=== ASSERTION FAILED ===");
    serverLog(LL_WARNING, "==> %s:%d '%s' is not true", fileName(file), line, cond);
    printThread();
    finish();
}

void panicAbort(const char *file, int line, const char *fmt, ...) {
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    becomeReporter(SIGABRT);
    printHeader();
    serverLog(LL_WARNING, "------------------------------------------------");
    serverLog(LL_WARNING, "The server cannot continue.");
    serverLog(LL_WARNING, "Reason: %s (%s:%d)", text, fileName(file), line);
    printThread();
    finish();
}
