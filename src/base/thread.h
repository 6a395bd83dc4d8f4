/* thread.h -- the one way to start a thread of this program.
 *
 * A thread that is started here blocks all signals but those of a fault, has a name that the system shows, is stopped
 * and reported when another thread crashes (panic.h), has a stack of its own for signal handlers, and is counted by
 * zmalloc.h. `dev/check_tree` refuses pthread_create() anywhere else in src/.
 *
 * Threads     any.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_THREAD_H
#define BASE_THREAD_H

#include "platform.h"

#include <pthread.h>

#define THREAD_NAME_SIZE 16 /* the system's limit, NUL included; longer names are cut */

typedef struct threadPlan {
    const char *name;
    const char *cpulist; /* as for threadSetCpuAffinity(); NULL: where the starter may run */
    int nice;            /* steps of nice that other threads go first by; 0: none */
} threadPlan;

/* Start a thread that calls run(arg) and ends with it. Copies what `plan` refers to. Returns 0 and sets *id, which the
 * caller joins or detaches; else returns an errno, and nothing was started. */
int threadStart(pthread_t *id, const threadPlan *plan, void (*run)(void *arg), void *arg) must_check;

/* Make the calling thread, which threadStart() has not started, equal to those it starts but for the signals: for
 * main(), first of all. */
void threadAdopt(void);

/* Pin the calling thread to the CPUs of "0,2,4-7" or "0-6:2". Ignored when the list is NULL, empty or malformed. */
void threadSetCpuAffinity(const char *cpulist);

#endif
