/* bus_lock.c -- a lock that threads get in the order in which they asked for it.
 *
 * Each request takes a number, and has the lock when all requests before it have given it back.
 *
 * Threads     any.
 * Invariants  1. served <= asked <= served + the number of threads.
 * Cost        two uncontended mutex operations to take the lock, and two to give it.
 * Tests       tests/unit/cluster/bus_lock_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_lock.h"

void busLockInit(busLock *l) {
    *l = (busLock){0};
    pthread_mutex_init(&l->mutex, NULL);
    pthread_cond_init(&l->given, NULL);
}

void busLockDestroy(busLock *l) {
    pthread_cond_destroy(&l->given);
    pthread_mutex_destroy(&l->mutex);
}

void busLockTake(busLock *l) {
    pthread_mutex_lock(&l->mutex);
    uint64_t mine = l->asked++;
    while (l->served != mine) pthread_cond_wait(&l->given, &l->mutex);
    pthread_mutex_unlock(&l->mutex);
}

void busLockGive(busLock *l) {
    pthread_mutex_lock(&l->mutex);
    l->served++;
    if (l->asked != l->served) pthread_cond_broadcast(&l->given);
    pthread_mutex_unlock(&l->mutex);
}
