/* thread_suspend.h -- suspends all other threads of the process: for good, or while they record their stacks.
 *
 * A process that ends stops them, so that nothing changes while a report is written. A process that
 * continues asks them for their stacks. Only threads that have called threadSuspendRegister() are affected.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_THREAD_SUSPEND_H
#define BASE_THREAD_SUSPEND_H

#include "platform.h"

#include <signal.h>

#define SUSPEND_SIGNAL SIGURG /* ignored by default, so that threads need not block it */
#define SUSPEND_NAME_SIZE 16
#define SUSPEND_FRAMES_MAX 64 /* deeper stacks are cut */

typedef struct suspendedThread {
    int id;                       /* thread ID of the system */
    char name[SUSPEND_NAME_SIZE]; /* as set when it called threadSuspendRegister() */
    bool stopped;                 /* false: it did not respond, and the rest is not known */
    bool answer;                  /* result of threadSuspendOthers()'s callback */
    const void *context;          /* ucontext_t at which it was stopped; borrowed, for good */
} suspendedThread;

/* The stack of a running thread, as recorded for threadStacksAsk(). */
typedef struct threadStack {
    int id;
    char name[SUSPEND_NAME_SIZE];
    bool answered; /* false: it did not respond in time, and the rest is not known */
    bool answer;   /* result of threadStacksAsk()'s callback */
    int count;
    void *const
        *frames; /* the innermost first: its next instruction, then return addresses; valid until the next record */
} threadStack;

/* From the call on, the calling thread can be stopped (SUSPEND_SIGNAL is unblocked), until it calls
 * threadSuspendUnregister(), which it must do before it ends. If others are already stopped, it stops in the call. A
 * forked child has its one thread registered. */
void threadSuspendRegister(void);
void threadSuspendUnregister(void);

/* Stops all threads but the caller, after each has recorded the result of `ask` on it. Waits for them, but at most two
 * seconds: a thread that waits for a disk cannot respond. Their writes are visible afterwards. Async-signal-safe; call
 * once. */
void threadSuspendOthers(bool (*ask)(void));

/* Describes the i-th thread that was to be stopped. Returns false if there are no more. */
bool threadSuspendGet(size_t i, suspendedThread *out);

/* Writes up to `max` return addresses of the calling thread's stack, the caller's own place first, and returns their
 * number. Async-signal-safe after threadStacksPrepare(). Every C library has it, as the compiler's library walks. */
int threadOwnStack(void **frames, int max);
/* Call once at startup, before threadStacksAsk(): the first recording of a stack may allocate memory. */
void threadStacksPrepare(void);
/* Makes each other thread record its stack, and the result of `ask` on it. Each continues immediately; a blocking
 * system call may return EINTR. Waits until all have responded, but at most `wait_ms`. One thread at a time may call
 * this. */
void threadStacksAsk(bool (*ask)(void), int wait_ms);
/* Reads the record of the i-th thread that was asked. Returns false if there are no more. */
bool threadStackGet(size_t i, threadStack *out);

/* Returns the instruction at which a handler's ucontext_t was taken; NULL if the processor is not supported. */
void *contextInstruction(const void *context);

/* --- stacks.c: the stacks of all threads, in the log -------------------------------------------------------------- */

/* Reads the program's symbol table. Call at startup. */
void stacksInit(void);
/* Logs `reason` and the stack of each other thread that was started by threadStart() or has called threadAdopt(), a
 * line per frame. Each is interrupted for some tens of microseconds; one that does not respond in time is listed
 * without a stack. Not for signal handlers; one thread at a time. */
void stacksLog(const char *reason);

#endif
