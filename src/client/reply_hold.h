/* reply_hold.h -- what waits until an offset is safe: replies that promise something, and whoever else asks.
 *
 * A stream of changes (the append-only file, what replicas are sent) has offsets that grow, and for each way of being
 * safe a sequence says how far it has come: written, synced, acknowledged by so many replicas. Who owns a sequence
 * registers it at boot and tells of its progress. Who depends on it waits here, while main goes on: one sync serves all
 * commands of a turn.
 *
 * Runs on: main, except holdPublish().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_HOLD_H
#define CLIENT_REPLY_HOLD_H

#include "platform.h"

#define HOLD_SEQUENCES_MAX 8

typedef int holdSequence;

/* A sequence that begins at offset 0. Boot only. */
holdSequence holdSequenceAdd(void);

/* Somebody who waits for a sequence to reach an offset. */
typedef struct holdWaiter {
    struct holdWaiter *prev, *next; /* of its sequence, in order of offset */
    uint64_t offset;
    void (*reached)(struct holdWaiter *w); /* NULL: does not wait */
    holdSequence seq;
} holdWaiter;
/* Wait (borrows `w` until then): `reached` is called once, within this call if the offset is safe already. */
void holdWait(holdWaiter *w, holdSequence seq, uint64_t offset, void (*reached)(holdWaiter *w));
void holdCancel(holdWaiter *w); /* nothing happens when it does not wait */
/* Whether everything up to `offset` is known to be safe: who would wait for it is called at once. */
bool holdIsReached(holdSequence seq, uint64_t offset);

/* Everything up to `offset` is safe. Less than before is ignored. */
void holdReached(holdSequence seq, uint64_t offset);
/* The same from any thread, also from one that syncs a file: main takes it up in its next turn, and is woken for it. */
void holdPublish(holdSequence seq, uint64_t offset);
/* Take up what was published; once a turn. */
void holdTakePublished(void);
/* How main is woken. Boot only; NULL: not at all. */
void holdSetWake(void (*wake)(void));

#endif
