/* thread_suspend.c -- sends a signal to each thread, whose handler never returns, or returns after recording the stack.
 *
 *   caller                            another thread
 *   stopping = true
 *   tgkill to each id in `places` --> park(): records the answer, place.stopped = true, waits for ever
 *   waits for `stopped` of all <----
 *
 * A thread that is only asked for its stack goes through the states of `look`:
 *
 *   LOOK_IDLE --asker--> LOOK_ASKED --handler--> LOOK_WRITING --handler--> LOOK_DONE --asker--> LOOK_ASKED
 *       ^-----asker, when it has waited---'
 *
 * so that a thread that responds too late does not write while the asker reads: the asker reads in LOOK_DONE
 * only.
 *
 * The handler is installed only when needed: until then the signal has its default action.
 *
 * Threads that never call threadSuspendRegister(), such as jemalloc's, keep running: they touch no data of ours.
 *
 * Not here    when threads are stopped, and what is printed (panic.c).
 * Owns        a record (`places`) for each registered thread.
 * Threads     any. A record belongs to its thread; the one that stops the others reads it once `stopped` is set, the
 *             one that asks them once `look` is LOOK_DONE.
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
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define PLACES_MAX 512 /* further threads cannot be stopped */
#define WAIT_MS_MAX 2000
#define HANDLER_FRAMES 4 /* most frames of the handler and of the system's part of it */

enum { LOOK_IDLE, LOOK_ASKED, LOOK_WRITING, LOOK_DONE };

typedef struct parkingPlace {
    _Atomic int id;       /* 0: free */
    _Atomic bool stopped; /* publishes `answer` and `context` */
    bool asked, answer;
    char name[SUSPEND_NAME_SIZE];
    const void *context;
    _Atomic int look; /* LOOK_DONE publishes the rest, and `answer` */
    int frames_from, frames_count;
    void *frames[SUSPEND_FRAMES_MAX + HANDLER_FRAMES];
} parkingPlace;

static parkingPlace places[PLACES_MAX];
static atomic_bool stopping;
static bool (*question)(void); /* set before `stopping`, or before LOOK_ASKED */
static _Thread_local parkingPlace *mine;

static int threadId(void) { return (int)syscall(SYS_gettid); }

static bool sendTo(int id, int sig) { return syscall(SYS_tgkill, getpid(), id, sig) == 0; }

/* All signals are blocked, so only the end of the process ends this. */
noreturn_fn static void park(const void *context) {
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

/* Records the stack without the handler's frames, which come first: those before the interrupted instruction. */
static void noteStack(parkingPlace *p, const void *context) {
    const void *at = contextInstruction(context);
    p->frames_from = 0;
    p->frames_count = backtrace(p->frames, (int)array_len(p->frames));
    for (int i = 0; i < p->frames_count && i <= HANDLER_FRAMES; i++)
        if (p->frames[i] == at) p->frames_from = i;
}

static void onSignal(int sig, siginfo_t *info, void *context) {
    unused(sig), unused(info);
    if (atomic_load(&stopping)) park(context);
    int saved_errno = errno, asked = LOOK_ASKED;
    if (mine && atomic_compare_exchange_strong(&mine->look, &asked, LOOK_WRITING)) {
        mine->answer = question();
        noteStack(mine, context);
        atomic_store(&mine->look, LOOK_DONE);
    }
    errno = saved_errno;
}

static bool installHandler(void) {
    struct sigaction sa = {.sa_sigaction = onSignal, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    sigfillset(&sa.sa_mask);
    return sigaction(SUSPEND_SIGNAL, &sa, NULL) == 0;
}

/* ---- Threads ----------------------------------------------------------------------------------------------------- */

static parkingPlace *threadSuspendTakePlace(int id) {
    for (size_t i = 0; i < PLACES_MAX; i++) {
        int nobody = 0;
        if (atomic_compare_exchange_strong(&places[i].id, &nobody, id)) return &places[i];
    }
    return NULL;
}

void threadSuspendRegister(void) {
    if (mine) return;
    mine = threadSuspendTakePlace(threadId());
    if (!mine) return;
    prctl(PR_GET_NAME, mine->name);
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SUSPEND_SIGNAL);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
    if (!atomic_load(&stopping)) return;
    sigfillset(&set);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    park(NULL);
}

void threadSuspendUnregister(void) {
    if (!mine) return;
    parkingPlace *p = mine;
    mine = NULL;
    atomic_store(&p->id, 0);
}

/* Call in a forked child: the other threads do not exist, and this one has another ID. */
static void forkedChild(void) {
    for (size_t i = 0; i < PLACES_MAX; i++) {
        if (&places[i] != mine) atomic_store(&places[i].id, 0);
        else atomic_store(&places[i].id, threadId());
    }
}

__attribute__((constructor)) static void watchForks(void) { pthread_atfork(NULL, NULL, forkedChild); }

/* ---- Stopping the others ----------------------------------------------------------------------------------------- */

static void askAll(void) {
    int me = threadId();
    for (size_t i = 0; i < PLACES_MAX; i++) {
        int id = atomic_load(&places[i].id);
        places[i].asked = id != 0 && id != me && sendTo(id, SUSPEND_SIGNAL);
    }
}

/* Returns whether a thread has not responded yet and has not ended. */
static bool anyRuns(void) {
    for (size_t i = 0; i < PLACES_MAX; i++) {
        if (!places[i].asked || atomic_load(&places[i].stopped)) continue;
        int id = atomic_load(&places[i].id);
        if (id != 0 && sendTo(id, 0)) return true;
    }
    return false;
}

void threadSuspendOthers(bool (*ask)(void)) {
    question = ask;
    atomic_store(&stopping, true);
    if (!installHandler()) return;
    askAll();
    const struct timespec millisecond = {0, 1000000};
    for (int ms = 0; ms < WAIT_MS_MAX && anyRuns(); ms++) nanosleep(&millisecond, NULL);
}

bool threadSuspendGet(size_t i, suspendedThread *out) {
    for (size_t at = 0; at < PLACES_MAX; at++) {
        const parkingPlace *p = &places[at];
        if (!p->asked || i-- > 0) continue;
        *out = (suspendedThread){.id = atomic_load(&p->id), .stopped = atomic_load(&p->stopped)};
        memcpy(out->name, p->name, sizeof(out->name));
        if (out->stopped) {
            out->answer = p->answer;
            out->context = p->context;
        }
        return true;
    }
    return false;
}

/* ---- Asking the others ------------------------------------------------------------------------------------------- */

void threadStacksPrepare(void) {
    void *frames[1];
    backtrace(frames, 1);
}

/* Skips a thread that is still busy with an earlier request. */
static void askForStack(parkingPlace *p, int id) {
    int look = atomic_load(&p->look), asked = LOOK_ASKED;
    p->asked = id != 0 && id != threadId();
    if (!p->asked || look == LOOK_WRITING) return;
    atomic_store(&p->look, LOOK_ASKED);
    if (!sendTo(id, SUSPEND_SIGNAL)) atomic_compare_exchange_strong(&p->look, &asked, LOOK_IDLE);
}

static bool anyHasToAnswer(void) {
    for (size_t i = 0; i < PLACES_MAX; i++) {
        int look = atomic_load(&places[i].look), id = atomic_load(&places[i].id);
        if (places[i].asked && (look == LOOK_ASKED || look == LOOK_WRITING) && id != 0 && sendTo(id, 0)) return true;
    }
    return false;
}

void threadStacksAsk(bool (*ask)(void), int wait_ms) {
    question = ask;
    if (!installHandler()) return;
    for (size_t i = 0; i < PLACES_MAX; i++) askForStack(&places[i], atomic_load(&places[i].id));
    const struct timespec millisecond = {0, 1000000};
    for (int ms = 0; ms < wait_ms && anyHasToAnswer(); ms++) nanosleep(&millisecond, NULL);
    for (size_t i = 0; i < PLACES_MAX; i++) {
        int asked = LOOK_ASKED;
        atomic_compare_exchange_strong(&places[i].look, &asked, LOOK_IDLE);
    }
}

bool threadStackGet(size_t i, threadStack *out) {
    for (size_t at = 0; at < PLACES_MAX; at++) {
        const parkingPlace *p = &places[at];
        if (!p->asked || i-- > 0) continue;
        *out = (threadStack){.id = atomic_load(&p->id), .answered = atomic_load(&p->look) == LOOK_DONE};
        memcpy(out->name, p->name, sizeof(out->name));
        if (out->answered) {
            out->answer = p->answer;
            out->frames = p->frames + p->frames_from;
            out->count = p->frames_count - p->frames_from;
        }
        return true;
    }
    return false;
}
