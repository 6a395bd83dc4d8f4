/* aof_sync.h -- syncs a file in the background, one sync at a time, while its owner goes on writing to it.
 *
 * Runs on: the thread that begins syncs, always the same one; below it is called the owner.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_SYNC_H
#define PERSIST_AOF_SYNC_H

#include "bio.h"

#include <stdatomic.h>

typedef struct aofSync {
    bioJob job; /* allocated with it, because a sync must not depend on an allocation */
    /* the owner's; while a sync runs, the background thread's. Handed over by bioSubmitJob() and `state` */
    int fd, error;
    uint64_t covers;
    /* const */
    void (*ended)(void *arg); /* runs on the background thread: the result can be taken */
    void *arg;
    /* atomic */
    _Atomic int state; /* stored with release by the thread that hands over */
} aofSync;

/* Initializes; `ended(arg)` will be called on the background thread at the end of each sync. */
void aofSyncInit(aofSync *s, void (*ended)(void *arg), void *arg);
/* Begins a sync that covers all bytes before offset `covers`. The descriptor must stay open until the result has been
 * taken. Call only if no sync is running or waiting to be taken. */
void aofSyncBegin(aofSync *s, int fd, uint64_t covers);
/* Returns true if a sync was begun and not taken. */
bool aofSyncIsUnderWay(const aofSync *s);
bool aofSyncHasEnded(const aofSync *s); /* the result can be taken */
/* Takes the result of a sync that has ended: its offset, and errno or 0. Returns false if none has ended. */
bool aofSyncTake(aofSync *s, uint64_t *covers, int *error);
/* Waits until a running sync has ended and the background thread does not use `s` any more. */
void aofSyncWait(aofSync *s);

#endif
