/* reply_hold.h -- waits until an offset is safe: for replies that promise durability, and for other callers.
 *
 * A stream of changes (the append-only file, the replication stream) has offsets that grow. For each way of being safe
 * a sequence holds the offset up to which that is reached: written, synced, acknowledged by N replicas. The module that
 * owns a sequence registers it at startup and reports its progress. A reply that waits is registered here while main
 * goes on: one sync serves all commands of a loop iteration.
 *
 * Runs on: main, except holdPublish().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_HOLD_H
#define CLIENT_REPLY_HOLD_H

#include "platform.h"

#define HOLD_SEQUENCES_MAX 8

typedef int holdSequence;

/* Creates a sequence that begins at offset 0. Call at startup. */
holdSequence holdSequenceAdd(void);

/* A wait for a sequence to reach an offset. */
typedef struct holdEntry {
    struct holdEntry *prev, *next; /* neighbors in the list of its sequence, in order of offset */
    uint64_t offset;
    void (*reached)(struct holdEntry *w); /* NULL if it does not wait */
    holdSequence seq;
    bool may_be_released; /* set it before holdWait(): holdRelease() calls `reached` as well */
} holdEntry;
/* Calls `reached` once, when the offset is safe: before holdWait() returns if it is safe already. Borrows `w` until
 * then. */
void holdWait(holdEntry *w, holdSequence seq, uint64_t offset, void (*reached)(holdEntry *w));
void holdCancel(holdEntry *w); /* no-op if it does not wait */
/* Returns true if everything up to `offset` is known to be safe, so that holdWait() would call `reached` at once. */
bool holdIsReached(holdSequence seq, uint64_t offset);

/* Records that everything up to `offset` is safe, and calls the functions that wait for that. A smaller offset than
 * before is ignored. */
void holdReached(holdSequence seq, uint64_t offset);
/* Calls `reached` of those that wait and may be released, although nothing more is safe: the sequence has failed. None
 * of these functions may cancel another wait. */
void holdRelease(holdSequence seq);
/* As holdReached() from any thread, for example one that syncs a file: wakes main, which applies it in its next loop
 * iteration. */
void holdPublish(holdSequence seq, uint64_t offset);
/* Applies the offsets of holdPublish(). Call once per loop iteration. */
void holdTakePublished(void);
/* Sets the function that wakes main; NULL for none. Call at startup. */
void holdSetWake(void (*wake)(void));

#endif
