/* thread_suspend.c -- sends a signal to each thread, whose handler never returns, or returns after recording the stack.
 *
 *   caller                            another thread
 *   stopping = true
 *   tgkill to each id in `records` --> suspendForGood(): records the answer, sets `stopped`, waits for ever
 *   waits for `stopped` of all <----
 *
 * A thread that is only asked for its stack goes through these states:
 *
 *   STACK_IDLE --asker--> STACK_ASKED --handler--> STACK_WRITING --handler--> STACK_DONE --asker--> STACK_ASKED
 *       ^-----asker, when it has waited---'
 *
 * so that a thread that responds too late does not write while the asker reads: the asker reads in STACK_DONE
 * only.
 *
 * The handler is installed only when needed: until then the signal has its default action.
 *
 * Threads that never call threadSuspendRegister(), such as jemalloc's, keep running: they touch no data of ours.
 *
 * Not here    when threads are stopped, and what is printed (panic.c).
 * Owns        a record (`records`) for each registered thread.
 * Threads     any. A record belongs to its thread; the one that stops the others reads it once `stopped` is set, the
 *             one that asks them once `state` is STACK_DONE.
 * Invariants  1. No lock, no allocation and no unbounded wait: a thread may be stopped at any instruction, and a crash
 *                may happen anywhere.
 *             2. A thread that starts while others are stopped either sees `stopping` or its record is seen: each
 *                side stores its own and then loads the other's, sequentially consistent.
 * Cost        a few instructions per thread, none until something stops.
 * Tests       tests/unit/base/thread_suspend_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "thread_suspend.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#define RECORDS_MAX 512 /* further threads cannot be stopped */
#define WAIT_MS_MAX 2000
#define HANDLER_FRAMES 4 /* most frames of the handler and of the system's part of it */

enum { STACK_IDLE, STACK_ASKED, STACK_WRITING, STACK_DONE };

typedef struct threadRecord {
    _Atomic int id;       /* 0: free */
    _Atomic bool stopped; /* publishes `answer` and `context` */
    bool asked, answer;
    char name[SUSPEND_NAME_SIZE];
    const void *context;
    _Atomic int state; /* STACK_DONE publishes the rest, and `answer` */
    int frames_from, frames_count;
    void *frames[SUSPEND_FRAMES_MAX + HANDLER_FRAMES];
} threadRecord;

static threadRecord records[RECORDS_MAX];
static atomic_bool stopping;
static bool (*question)(void); /* set before `stopping`, or before STACK_ASKED */
static _Thread_local threadRecord *mine;

static int threadId(void) { return (int)syscall(SYS_gettid); }
static bool sendTo(int id, int sig) { return syscall(SYS_tgkill, getpid(), id, sig) == 0; }

/* All signals are blocked, so only the end of the process ends this. */
noreturn_fn static void suspendForGood(const void *context) {
    if (mine) {
        mine->answer = question();
        mine->context = context;
        atomic_store(&mine->stopped, true);
    }
    for (;;) pause();
}

void *contextInstruction(const void *context) {
    const ucontext_t *uc = context;
#if defined(__x86_64__)
    return (void *)uc->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (void *)uc->uc_mcontext.pc;
#else
    unused(uc);
    return NULL;
#endif
}

typedef struct stackWalk {
    void **frames;
    int count, max;
    bool in_caller; /* the walk has left threadOwnStack() */
} stackWalk;

static _Unwind_Reason_Code addFrame(struct _Unwind_Context *context, void *arg) {
    stackWalk *walk = arg;
    void *at = (void *)_Unwind_GetIP(context);
    if (walk->in_caller && at) walk->frames[walk->count++] = at;
    walk->in_caller = true;
    return at && walk->count < walk->max ? _URC_NO_REASON : _URC_END_OF_STACK;
}

int threadOwnStack(void **frames, int max) {
    stackWalk walk = {.frames = frames, .max = max};
    _Unwind_Backtrace(addFrame, &walk);
    return walk.count;
}

/* Records the stack without the handler's frames, which come first: those before the interrupted instruction. */
static void recordStack(threadRecord *p, const void *context) {
    const void *at = contextInstruction(context);
    p->frames_from = 0;
    p->frames_count = threadOwnStack(p->frames, (int)array_len(p->frames));
    for (int i = 0; i < p->frames_count && i <= HANDLER_FRAMES; i++)
        if (p->frames[i] == at) p->frames_from = i;
}

static void onSignal(int sig, siginfo_t *info, void *context) {
    unused(sig), unused(info);
    if (atomic_load(&stopping)) suspendForGood(context);
    int saved_errno = errno, asked = STACK_ASKED;
    if (mine && atomic_compare_exchange_strong(&mine->state, &asked, STACK_WRITING)) {
        mine->answer = question();
        recordStack(mine, context);
        atomic_store(&mine->state, STACK_DONE);
    }
    errno = saved_errno;
}

static bool installHandler(void) {
    struct sigaction sa = {.sa_sigaction = onSignal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&sa.sa_mask);
    return sigaction(SUSPEND_SIGNAL, &sa, NULL) == 0;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static threadRecord *takeRecord(int id) {
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        int unused_id = 0;
        if (atomic_compare_exchange_strong(&records[i].id, &unused_id, id)) return &records[i];
    }
    return NULL;
}

void threadSuspendRegister(void) {
    if (mine) return;
    mine = takeRecord(threadId());
    if (!mine) return;
    prctl(PR_GET_NAME, mine->name);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SUSPEND_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (!atomic_load(&stopping)) return;
    sigfillset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    suspendForGood(NULL);
}

void threadSuspendUnregister(void) {
    if (!mine) return;
    threadRecord *p = mine;
    mine = NULL;
    atomic_store(&p->id, 0);
}

/* Call in a forked child: the other threads do not exist, and this one has another ID. */
static void forkedChild(void) {
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        if (&records[i] != mine) atomic_store(&records[i].id, 0);
        else atomic_store(&records[i].id, threadId());
    }
}

__attribute__((constructor)) static void watchForks(void) { pthread_atfork(NULL, NULL, forkedChild); }

/* ---- Stopping the others ----------------------------------------------------------------------------------------- */

/* Returns whether a thread that was asked has neither responded nor ended. */
static bool anyPending(bool to_stop) {
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        const threadRecord *r = &records[i];
        int state = atomic_load(&r->state), id = atomic_load(&r->id);
        bool pending = to_stop ? !atomic_load(&r->stopped) : state == STACK_ASKED || state == STACK_WRITING;
        if (r->asked && pending && id != 0 && sendTo(id, 0)) return true;
    }
    return false;
}

static void waitForOthers(bool to_stop, int ms) {
    const struct timespec millisecond = {0, 1000000};
    for (; ms > 0 && anyPending(to_stop); ms--) nanosleep(&millisecond, NULL);
}

/* Returns the record of the i-th thread that was asked, NULL if there are no more. */
static const threadRecord *askedRecord(size_t i) {
    for (size_t at = 0; at < RECORDS_MAX; at++)
        if (records[at].asked && i-- == 0) return &records[at];
    return NULL;
}

void threadSuspendOthers(bool (*ask)(void)) {
    int me = threadId();
    question = ask;
    atomic_store(&stopping, true);
    if (!installHandler()) return;
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        int id = atomic_load(&records[i].id);
        records[i].asked = id != 0 && id != me && sendTo(id, SUSPEND_SIGNAL);
    }
    waitForOthers(true, WAIT_MS_MAX);
}

bool threadSuspendGet(size_t i, suspendedThread *out) {
    const threadRecord *r = askedRecord(i);
    if (!r) return false;
    *out = (suspendedThread){.id = atomic_load(&r->id), .stopped = atomic_load(&r->stopped)};
    memcpy(out->name, r->name, sizeof(out->name));
    if (out->stopped) {
        out->answer = r->answer;
        out->context = r->context;
    }
    return true;
}

/* ---- Asking the others ------------------------------------------------------------------------------------------- */

void threadStacksPrepare(void) {
    void *frames[1];
    (void)threadOwnStack(frames, 1);
}

/* Skips a thread that is still busy with an earlier request. */
static void askForStack(threadRecord *r, int id) {
    int asked = STACK_ASKED;
    r->asked = id != 0 && id != threadId();
    if (!r->asked || atomic_load(&r->state) == STACK_WRITING) return;
    atomic_store(&r->state, STACK_ASKED);
    if (!sendTo(id, SUSPEND_SIGNAL)) atomic_compare_exchange_strong(&r->state, &asked, STACK_IDLE);
}

void threadStacksAsk(bool (*ask)(void), int wait_ms) {
    question = ask;
    if (!installHandler()) return;
    for (size_t i = 0; i < RECORDS_MAX; i++) askForStack(&records[i], atomic_load(&records[i].id));
    waitForOthers(false, wait_ms);
    for (size_t i = 0; i < RECORDS_MAX; i++) {
        int asked = STACK_ASKED;
        atomic_compare_exchange_strong(&records[i].state, &asked, STACK_IDLE);
    }
}

bool threadStackGet(size_t i, threadStack *out) {
    const threadRecord *r = askedRecord(i);
    if (!r) return false;
    *out = (threadStack){.id = atomic_load(&r->id), .answered = atomic_load(&r->state) == STACK_DONE};
    memcpy(out->name, r->name, sizeof(out->name));
    if (out->answered) {
        out->answer = r->answer;
        out->frames = r->frames + r->frames_from;
        out->count = r->frames_count - r->frames_from;
    }
    return true;
}
