/* panic_test.c -- crash reports of child processes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "log.h"
#include "panic.h"
#include "unit.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <syslog.h>
#include <unistd.h>

static char report[65536];

static void goodSection(void) { panicPrint("section says %d\n", 5); }

static void badSection(void) { raise(SIGSEGV); }

static void prepare(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    panicSetProgram("valkey 1.2.3");
    panicInstallHandlers();
}

static void failAssert(void *arg) {
    prepare();
    panicAddSection("GOOD SECTION", goodSection);
    serverAssert(arg != NULL);
}

TEST(failed_assertion_reports_and_aborts) {
    int status = unitInChild(failAssert, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(report, "\n\n=== VALKEY BUG REPORT START: copy from here to the line with END ===\n") != NULL);
    CHECK(strstr(report, "# === ASSERTION FAILED ===\n") != NULL);
    CHECK(strstr(report, "# ==> panic_test.c:") != NULL);
    CHECK(strstr(report, " 'arg != NULL' is not true\n") != NULL);
    CHECK(strstr(report, "------ STACK TRACE ------\n") != NULL);
    CHECK(strstr(report, "(failAssert") != NULL); /* a function that is not exported */
    CHECK(strstr(report, "\n------ GOOD SECTION ------\nsection says 5\n") != NULL);
    CHECK(strstr(report, "=== VALKEY BUG REPORT END ===\n") != NULL);
    /* The abort is not reported as another crash. */
    CHECK(strstr(report, "crashed by signal") == NULL);
}

static void failAssertAndExit(void *arg) {
    panicExits(true);
    failAssert(arg);
}

static void crashDespiteExit(void *arg) {
    unused(arg);
    prepare();
    panicExits(true);
    raise(SIGSEGV);
}

TEST(failed_assertion_may_exit) {
    int status = unitInChild(failAssertAndExit, NULL, report, sizeof(report));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    CHECK(strstr(report, "\n------ GOOD SECTION ------\nsection says 5\n") != NULL);
    CHECK(strstr(report, "=== VALKEY BUG REPORT END ===\n") != NULL);
    status = unitInChild(crashDespiteExit, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
}

static void panicNow(void *arg) {
    prepare();
    serverPanic("value %d", *(int *)arg);
}

TEST(panic_gives_its_reason) {
    int seven = 7;
    int status = unitInChild(panicNow, &seven, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    CHECK(strstr(report, "The server cannot continue.\n") != NULL);
    CHECK(strstr(report, "# Reason: value 7 (panic_test.c:") != NULL);
}

static void panicSilently(void *arg) {
    logSetLevel(LL_NOTHING);
    panicNow(arg);
}

TEST(a_panic_gives_its_reason_with_loglevel_nothing) {
    int seven = 7;
    unitInChild(panicSilently, &seven, report, sizeof(report));
    CHECK(strstr(report, "# Reason: value 7 (panic_test.c:") != NULL);
}

static void crash(void *arg) {
    prepare();
    panicAddSection("GOOD SECTION", goodSection);
    if (arg) panicAddSection("BAD SECTION", badSection);
    raise(SIGSEGV);
}

TEST(crash_reports_registers_and_dies_by_its_signal) {
    int status = unitInChild(crash, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "# valkey 1.2.3 crashed by signal: 11, si_code: ") != NULL);
    CHECK(strstr(report, "------ REGISTERS ------\n") != NULL);
    CHECK(strstr(report, "section says 5\n") != NULL);
}

TEST(crash_inside_the_report_ends_it_shorter) {
    int yes = 1;
    int status = unitInChild(crash, &yes, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "------ BAD SECTION ------\n") != NULL);
#ifndef BUILT_WITH_TSAN /* which delays a signal while the handler of another runs */
    CHECK(strstr(report, "The crash report has crashed as well.") != NULL);
#endif
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

/* ---- While others run ---- */

static _Atomic int runners;
static _Atomic long laps;

static void *runForEver(void *arg) {
    pthread_setname_np(pthread_self(), "runner");
    panicThreadInit();
    panicSetMainRole(atomic_fetch_add(&runners, 1) == 0);
    for (;;) {
        atomic_fetch_add(&laps, 1);
        sched_yield();
    }
    return arg;
}

static void quietSection(void) {
    long seen = laps;
    usleep(100000);
    panicPrint(laps == seen ? "nothing has moved\n" : "somebody runs\n");
}

static void crashBesideOthers(void *on_main) {
    pthread_t t;
    prepare();
    panicThreadInit();
    panicAddSection("QUIET SECTION", quietSection);
    for (int i = 0; i < 3; i++) pthread_create(&t, NULL, runForEver, NULL);
    while (runners < 3 || laps < 100) usleep(1000);
    panicSetMainRole(on_main != NULL);
    if (on_main) serverPanic("beside others");
    raise(SIGSEGV);
}

static size_t timesIn(const char *text, const char *word) {
    size_t n = 0;
    while ((text = strstr(text, word)) != NULL) n++, text++;
    return n;
}

TEST(others_stand_still_while_a_thread_reports) {
    int status = unitInChild(crashBesideOthers, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "nothing has moved\n") != NULL);
    const char *others = strstr(report, "\n------ OTHER THREADS ------\nrunner (id ");
    CHECK(others != NULL);
    CHECK_EQ_INT(timesIn(others ? others : "", "\nrunner (id "), 3);
    CHECK(strstr(report, "did not stop") == NULL);
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

TEST(report_says_who_had_mains_role) {
    int status = unitInChild(crashBesideOthers, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status));
    const char *others = strstr(report, "\n------ OTHER THREADS ------\n");
    const char *role = strstr(report, ", has the main role\n");
    CHECK(others && role > others);
    CHECK_EQ_INT(timesIn(report, ", has the main role\n"), 1);
    int yes = 1;
    unitInChild(crashBesideOthers, &yes, report, sizeof(report));
    CHECK(strstr(report, "# In thread: main (id ") != NULL);
    others = strstr(report, "\n------ OTHER THREADS ------\n");
    role = strstr(report, ", has the main role\n");
    CHECK(role && role < others);
}

/* Without a log daemon each call runs through the whole of syslog(3), most of it under its lock. */
static void *logForEver(void *arg) {
    panicThreadInit();
    atomic_fetch_add(&runners, 1);
    for (;;) syslog(LOG_DEBUG, "test");
    return arg;
}

static void crashBesideSyslog(void *arg) {
    pthread_t t;
    unused(arg);
    logSetSyslog("panic_test", LOG_USER);
    prepare();
    for (int i = 0; i < 3; i++) pthread_create(&t, NULL, logForEver, NULL);
    while (runners < 3) usleep(1000);
    usleep(10000);
    raise(SIGSEGV);
}

TEST(report_needs_no_lock_of_syslog) {
    int status = unitInChild(crashBesideSyslog, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "The crash report was cut off") == NULL);
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

static void hangingSection(void) {
    alarm(1); /* instead of half a minute */
    for (;;) pause();
}

static void hang(void *arg) {
    unused(arg);
    prepare();
    panicAddSection("HANGING SECTION", hangingSection);
    raise(SIGILL);
}

TEST(report_that_hangs_is_ended) {
    int status = unitInChild(hang, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGILL);
    CHECK(strstr(report, "The crash report was cut off") != NULL);
}

static void *crashThread(void *arg) {
    raise(SIGBUS);
    return arg;
}

static void crashTogether(void *arg) {
    pthread_t t[3];
    prepare();
    for (int i = 0; i < 3; i++) pthread_create(&t[i], NULL, crashThread, arg);
    for (int i = 0; i < 3; i++) pthread_join(t[i], NULL);
}

TEST(threads_that_crash_together_write_one_report) {
    int status = unitInChild(crashTogether, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    const char *first = strstr(report, "crashed by signal");
    CHECK(first && strstr(first + 1, "crashed by signal") == NULL);
}

/* The calls with which a thread of the server begins and ends. */
static void *threadBody(void *arg) {
    void (*fault)(void) = *(void (**)(void))arg;
    pthread_setname_np(pthread_self(), "io_thd_7");
    panicThreadInit();
    fault();
    panicThreadExit();
    return NULL;
}

static void faultOnThread(void *fault) {
    sigset_t before;
    pthread_t t;
    prepare();
    panicAddSection("GOOD SECTION", goodSection);
    panicBlockOtherSignals(&before);
    pthread_create(&t, NULL, threadBody, fault);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_join(t, NULL);
}

static void faultOnMain(void *fault) {
    struct rlimit little = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_STACK, &little);
    prepare();
    panicThreadInit();
    (*(void (**)(void))fault)();
}

/* The sanitizers would report these two faults in their own format. */
#define UNCHECKED __attribute__((noinline, no_sanitize("address", "undefined")))

UNCHECKED static void writeNowhere(void) { *(volatile int *)(uintptr_t)(getpid() & 0) = 1; }

UNCHECKED static int fillStack(volatile char *above) {
    volatile char here[4096];
    here[0] = above[0];
    return here[0] == 1 ? fillStack(here) + here[0] : 0; /* always true */
}

static void overflow(void) {
    volatile char top = 1;
    fillStack(&top);
}

static void threadEnds(void) {}

TEST(fault_on_a_thread_is_reported_with_its_name) {
    void (*fault)(void) = writeNowhere;
    int status = unitInChild(faultOnThread, &fault, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "# valkey 1.2.3 crashed by signal: 11, si_code: ") != NULL);
    CHECK(strstr(report, "# In thread: io_thd_7 (id ") != NULL);
    CHECK(strstr(report, "# Faulting address: 0x0\n") != NULL);
    CHECK(strstr(report, "section says 5\n") != NULL);
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

TEST(overflow_of_a_threads_stack_is_reported) {
    void (*fault)(void) = overflow;
    int status = unitInChild(faultOnThread, &fault, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "# In thread: io_thd_7 (id ") != NULL);
    CHECK(strstr(report, "section says 5\n") != NULL);
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

TEST(overflow_of_mains_stack_is_reported) {
    void (*fault)(void) = overflow;
    int status = unitInChild(faultOnMain, &fault, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    CHECK(strstr(report, "# In thread: main (id ") != NULL);
    CHECK(strstr(report, "BUG REPORT END") != NULL);
}

/* Also under a sanitizer, which must find its own signal stack when it frees it. */
TEST(thread_leaves_no_stack_behind) {
    void (*nothing)(void) = threadEnds;
    int status = unitInChild(faultOnThread, &nothing, report, sizeof(report));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ_STR(report, "");
}

TEST(thread_blocks_all_signals_but_those_of_a_fault) {
    sigset_t before, now;
    panicBlockOtherSignals(&before);
    pthread_sigmask(SIG_SETMASK, &before, &now);
    const int open[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < array_len(open); i++) CHECK(!sigismember(&now, open[i]));
    CHECK(sigismember(&now, SIGTERM) && sigismember(&now, SIGINT) && sigismember(&now, SIGUSR1));
}

static void removed(void *arg) {
    prepare();
    panicRemoveHandlers();
    raise(SIGSEGV);
    unused(arg);
}

TEST(removed_handlers_are_silent) {
    int status = unitInChild(removed, NULL, report, sizeof(report));
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    if (strncmp(report, "qemu: ", 6)) CHECK_EQ_STR(report, ""); /* an emulator prints a message of its own */
}

static void *askOther(void *arg) {
    *(bool *)arg = panicOnMainThread();
    return NULL;
}

TEST(main_thread_is_known) {
    bool other = true;
    pthread_t t;
    panicSetMainThread();
    CHECK(panicOnMainThread());
    pthread_create(&t, NULL, askOther, &other);
    pthread_join(t, NULL);
    CHECK(!other);
}
