/* reply_hold.h -- what waits until an offset is safe: replies, and whoever else asks.
 *
 * A stream of changes (the append-only file, what replicas are sent) has offsets that grow, and for each way of being
 * safe a sequence says how far it has come: written, synced, acknowledged by so many replicas. Who owns a sequence
 * registers it at boot and tells of its progress. Replies that promise something wait here for it, while main goes on:
 * one sync serves all commands of a turn.
 *
 * Runs on: main, except holdPublish().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLIENT_REPLY_HOLD_H
#define CLIENT_REPLY_HOLD_H

#include "client.h"

#define HOLD_SEQUENCES_MAX 8

typedef int holdSequence;

/* A sequence that begins at offset 0. Boot only. */
holdSequence holdSequenceAdd(void);

/* Keep all output of the client back, what there is and what comes, until the sequence has reached `offset`; with
 * several sequences until all have. Nothing happens when it has been reached. Output limits count meanwhile. */
void holdReplies(client *c, holdSequence seq, uint64_t offset);
/* The client's output must not leave main now. It comes back on the pending-write list when it may. */
static inline bool holdsReplies(const client *c) {
    return c->flags & CLIENT_REPLIES_HELD;
}

/* Somebody who waits for a sequence to reach an offset, for other reasons than a reply that is there already. */
typedef struct holdWaiter {
    struct holdWaiter *prev, *next; /* of its sequence, in order of offset */
    uint64_t offset;
    void (*reached)(struct holdWaiter *w); /* NULL: does not wait */
    holdSequence seq;
} holdWaiter;
/* Wait (borrows `w` until then): `reached` is called once, within this call if the offset is safe already. */
void holdWait(holdWaiter *w, holdSequence seq, uint64_t offset, void (*reached)(holdWaiter *w));
void holdCancel(holdWaiter *w); /* nothing happens when it does not wait */

/* Everything up to `offset` is safe. Less than before is ignored. */
void holdReached(holdSequence seq, uint64_t offset);
/* The same from any thread, also from one that syncs a file: main takes it up in its next turn, and is woken for it. */
void holdPublish(holdSequence seq, uint64_t offset);
/* Take up what was published; once a turn. */
void holdTakePublished(void);
/* How main is woken. Boot only; NULL: not at all. */
void holdSetWake(void (*wake)(void));

#endif
