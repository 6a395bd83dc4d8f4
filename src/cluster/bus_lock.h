/* bus_lock.h -- a lock that threads get in the order in which they asked for it.
 *
 * The bus thread takes the machine's lock for one frame after the other. An ordinary mutex may be given to it again and
 * again while main waits; with this lock main waits for the step that runs, and no other one of that thread.
 *
 * Runs on: any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_LOCK_H
#define CLUSTER_BUS_LOCK_H

#include "platform.h"

#include <pthread.h>

typedef struct busLock {
    pthread_mutex_t mutex; /* held for a few instructions */
    pthread_cond_t given;
    uint64_t asked, served; /* under the mutex: requests, and how many of them have had the lock and given it back */
} busLock;

void busLockInit(busLock *l);
void busLockDestroy(busLock *l);
void busLockTake(busLock *l);
void busLockGive(busLock *l);

#endif
