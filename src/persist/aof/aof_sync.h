/* aof_sync.h -- one sync of a file at a time, in the background: who asks goes on writing to the file meanwhile.
 *
 * Runs on: the thread that asks, always the same one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_SYNC_H
#define PERSIST_AOF_SYNC_H

#include "bio.h"

#include <stdatomic.h>

typedef struct aofSync {
    bioJob job; /* made with it: no allocation may fail where one is due */
    /* the asker's, but while it runs the background thread's; handed over by bioSubmitJob() and `state` */
    int fd, error;
    uint64_t covers;
    /* const */
    void (*ended)(void *arg); /* on the background thread: there is something to take */
    void *arg;
    /* atomic */
    _Atomic int state; /* release by who hands over */
} aofSync;

void aofSyncInit(aofSync *s, void (*ended)(void *arg), void *arg);
/* Begin one, which covers all up to offset `covers`; the descriptor stays open until it has been taken. None runs and
 * none is to be taken. */
void aofSyncBegin(aofSync *s, int fd, uint64_t covers);
/* It was begun and has not been taken. */
bool aofSyncIsUnderWay(const aofSync *s);
bool aofSyncHasEnded(const aofSync *s); /* and can be taken */
/* It has ended: take what it covers, and errno or 0. */
bool aofSyncTake(aofSync *s, uint64_t *covers, int *error);
/* Wait until it has ended, and nobody touches `s` any more. Returns at once when there is none. */
void aofSyncWait(aofSync *s);

#endif
