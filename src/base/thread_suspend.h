/* thread_suspend.h -- interrupt all other threads of the process: for good, or while they note their stacks.
 *
 * A process that is about to end stops them, so that nothing changes any more while it is looked at. A process that
 * goes on asks them where they are. A thread is found if it has called threadSuspendRegister().
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_THREAD_SUSPEND_H
#define BASE_THREAD_SUSPEND_H

#include "platform.h"

#include <signal.h>

#define SUSPEND_SIGNAL SIGURG /* whose default is to do nothing, so that threads can leave it open */
#define SUSPEND_NAME_SIZE 16
#define SUSPEND_FRAMES_MAX 64 /* deeper stacks are cut */

typedef struct suspendedThread {
    int id;                       /* the system's */
    char name[SUSPEND_NAME_SIZE]; /* as it was called in threadSuspendRegister() */
    bool stopped;                 /* false: it did not answer, and the rest is not known */
    bool answer;                  /* to threadSuspendOthers()'s question */
    const void *context;          /* ucontext_t of where it stands; borrowed, for good */
} suspendedThread;

/* A thread that goes on, as threadStacksAsk() found it. */
typedef struct threadStack {
    int id;
    char name[SUSPEND_NAME_SIZE];
    bool answered; /* false: it did not answer in time, and the rest is not known */
    bool answer;   /* to threadStacksAsk()'s question */
    int count;
    void *const
        *frames; /* the innermost first: its next instruction, then return addresses; valid until the next ask */
} threadStack;

/* The calling thread can be stopped from here on (SUSPEND_SIGNAL is unblocked), until threadSuspendUnregister(), which
 * it calls before it ends. When others are stopped already it stops here. A child after fork() knows its one thread. */
void threadSuspendRegister(void);
void threadSuspendUnregister(void);

/* Stop all threads but the caller, each after it has noted what `ask` answers on it. Waits for them, at most two
 * seconds: one that waits for a disk cannot answer. What they have written is visible then. Async-signal-safe; called
 * once. */
void threadSuspendOthers(bool (*ask)(void));

/* What is known of the i-th thread that was to stop; false when there are no more. */
bool threadSuspendGet(size_t i, suspendedThread *out);

/* Call once before threadStacksAsk(), at boot: the first look at a stack loads a library. */
void threadStacksPrepare(void);
/* Let each other thread note its stack, and what `ask` answers on it. Each goes on at once; a blocking system call of
 * it may return EINTR. Waits until all have answered, at most `wait_ms`. One thread may ask at a time. */
void threadStacksAsk(bool (*ask)(void), int wait_ms);
/* What the i-th thread that was asked has answered; false when there are no more. */
bool threadStackGet(size_t i, threadStack *out);

/* The instruction at which a handler's ucontext_t was taken; NULL where the processor is not known. */
void *contextInstruction(const void *context);

#endif
