/* thread.h -- the one way to start a thread of this program.
 *
 * A thread that is started here blocks all signals except those of a fault, has a name that the system shows, is
 * stopped and reported when another thread crashes (panic.h), has a stack of its own for signal handlers, and is
 * counted by zmalloc.h. `dev/check_tree` rejects pthread_create() anywhere else in src/.
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
    const char *cpulist; /* see threadSetCpuAffinity(); NULL: the affinity of the parent thread */
    int nice;            /* nice value added to that of the thread; 0: none */
} threadPlan;

/* Starts a thread that calls run(arg) and ends with it. Copies `plan` and all it refers to. Returns 0 and sets *id,
 * which the caller joins or detaches; otherwise returns an errno, and no thread was started. */
int threadStart(pthread_t *id, const threadPlan *plan, void (*run)(void *arg), void *arg) must_check;

/* Prepares the calling thread like those that threadStart() starts, except for the signals; for main(), before all
 * else. */
void threadAdopt(void);

/* Pins the calling thread to the CPUs of "0,2,4-7" or "0-6:2". Ignores a list that is NULL, empty or malformed. */
void threadSetCpuAffinity(const char *cpulist);

#endif
