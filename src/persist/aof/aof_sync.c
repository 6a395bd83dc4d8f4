/* aof_sync.c -- one sync of a file at a time, in the background: who asks goes on writing to the file meanwhile.
 *
 * A disk may take seconds for a sync, and what has been handed to the system by then outlives the process. So whoever
 * syncs must not be who writes.
 *
 *   none --Begin--> running --(background thread)--> ended --Take--> none
 *
 * Not here    when one is due, and what its failure means (aof_thread.c).
 * Threads     who asks, and the background thread BIO_FSYNC.
 * Tests       tests/unit/persist/aof/aof_sync_test.c, aof_thread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_sync.h"

#include "aof_system.h"
#include "panic.h"

#include <errno.h>

enum { SYNC_NONE, SYNC_RUNNING, SYNC_ENDED };

static void syncInBackground(void *arg) {
    aofSync *s = arg;
    debugAssert(atomic_load(&s->state) == SYNC_RUNNING);
    s->error = aofSystemNow()->sync(s->fd) == 0 ? 0 : errno;
    atomic_store(&s->state, SYNC_ENDED);
    s->ended(s->arg);
}

void aofSyncInit(aofSync *s, void (*ended)(void *arg), void *arg) {
    s->ended = ended;
    s->arg = arg;
    atomic_init(&s->state, SYNC_NONE);
}

void aofSyncBegin(aofSync *s, int fd, uint64_t covers) {
    serverAssert(!aofSyncIsUnderWay(s));
    s->fd = fd;
    s->covers = covers;
    atomic_store(&s->state, SYNC_RUNNING);
    s->job = (bioJob){.fn = syncInBackground, .arg = s};
    bioSubmitJob(BIO_FSYNC, &s->job);
}

bool aofSyncIsUnderWay(const aofSync *s) {
    return atomic_load(&s->state) != SYNC_NONE;
}

bool aofSyncHasEnded(const aofSync *s) {
    return atomic_load(&s->state) == SYNC_ENDED;
}

bool aofSyncTake(aofSync *s, uint64_t *covers, int *error) {
    if (!aofSyncHasEnded(s)) return false;
    *covers = s->covers;
    *error = s->error;
    atomic_store(&s->state, SYNC_NONE);
    return true;
}

void aofSyncWait(aofSync *s) {
    bioDrain(BIO_FSYNC); /* also when it has been taken: `ended` may not have returned yet */
    debugAssert(atomic_load(&s->state) != SYNC_RUNNING);
}
