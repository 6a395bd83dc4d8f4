/* parking.h -- interrupt all other threads of the process: for good, or while they note their stacks.
 *
 * A process that is about to end stops them, so that nothing changes any more while it is looked at. A process that
 * goes on asks them where they are. A thread is found if it has called parkingThreadBegins().
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
#define PARKING_FRAMES_MAX 64 /* deeper stacks are cut */

typedef struct parkedThread {
    int id;                       /* the system's */
    char name[PARKING_NAME_SIZE]; /* as it was called in parkingThreadBegins() */
    bool stopped;                 /* false: it did not answer, and the rest is not known */
    bool answer;                  /* to parkingStopOthers()'s question */
    const void *context;          /* ucontext_t of where it stands; borrowed, for good */
} parkedThread;

/* A thread that goes on, as parkingAskOthers() found it. */
typedef struct parkingStack {
    int id;
    char name[PARKING_NAME_SIZE];
    bool answered; /* false: it did not answer in time, and the rest is not known */
    bool answer;   /* to parkingAskOthers()'s question */
    int count;
    void *const
        *frames; /* the innermost first: its next instruction, then return addresses; valid until the next ask */
} parkingStack;

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

/* Call once before parkingAskOthers(), at boot: the first look at a stack loads a library. */
void parkingPrepareToAsk(void);
/* Let each other thread note its stack, and what `ask` answers on it. Each goes on at once; a blocking system call of
 * it may return EINTR. Waits until all have answered, at most `wait_ms`. One thread may ask at a time. */
void parkingAskOthers(bool (*ask)(void), int wait_ms);
/* What the i-th thread that was asked has answered; false when there are no more. */
bool parkingStackOf(size_t i, parkingStack *out);

/* The instruction at which a handler's ucontext_t was taken; NULL where the processor is not known. */
void *parkingInstruction(const void *context);

#endif
