/* parking.h -- stop all other threads of the process, for good: nothing changes any more while it is looked at.
 *
 * For a process that is about to end. A thread is found if it has said that it is there.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_PARKING_H
#define BASE_PARKING_H

#include "platform.h"

#include <signal.h>

#define PARKING_SIGNAL SIGURG /* whose default is to do nothing, so that threads can leave it open */
#define PARKING_NAME_SIZE 16

typedef struct parkedThread {
    int id;                       /* the system's */
    char name[PARKING_NAME_SIZE]; /* as it was called in parkingThreadBegins() */
    bool stopped;                 /* false: it did not answer, and the rest is not known */
    bool answer;                  /* to parkingStopOthers()'s question */
    const void *context;          /* ucontext_t of where it stands; borrowed, for good */
} parkedThread;

/* The calling thread can be stopped from here on (PARKING_SIGNAL is unblocked), until parkingThreadEnds(), which it
 * calls before it ends. When others are stopped already it stops here. A child after fork() knows its one thread. */
void parkingThreadBegins(void);
void parkingThreadEnds(void);

/* Stop all threads but the caller, each after it has noted what `ask` answers on it. Waits for them, at most two
 * seconds: one that waits for a disk cannot answer. What they have written is visible then. Async-signal-safe; called
 * once. */
void parkingStopOthers(bool (*ask)(void));

/* What is known of the i-th thread that was to stop; false when there are no more. */
bool parkingLook(size_t i, parkedThread *out);

#endif
