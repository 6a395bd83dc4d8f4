/* aof_sync.c -- syncs a file in the background, one sync at a time, while its owner goes on writing to it.
 *
 * A disk may take seconds for a sync, and what was written to the system meanwhile survives the process. So the thread
 * that syncs must not be the one that writes.
 *
 *   none --Begin--> running --(background thread)--> ended --Take--> none
 *
 * Not here    when a sync is due, and the effects of its failure (aof_thread.c).
 * Threads     the owner, and the background thread BIO_FSYNC.
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

bool aofSyncIsUnderWay(const aofSync *s) { return atomic_load(&s->state) != SYNC_NONE; }

bool aofSyncHasEnded(const aofSync *s) { return atomic_load(&s->state) == SYNC_ENDED; }

bool aofSyncTake(aofSync *s, uint64_t *covers, int *error) {
    if (!aofSyncHasEnded(s)) return false;
    *covers = s->covers;
    *error = s->error;
    atomic_store(&s->state, SYNC_NONE);
    return true;
}

void aofSyncWait(aofSync *s) {
    bioDrain(BIO_FSYNC); /* also if it was taken: `ended` may not have returned yet */
    debugAssert(atomic_load(&s->state) != SYNC_RUNNING);
}
