/* reply_hold.c -- what waits until an offset is safe: replies, and whoever else asks.
 *
 * Waiters of a sequence stand in a list in order of their offsets. New ones nearly always come with the largest, so
 * they are put in from the end; what is reached is taken from the front.
 *
 * Not here    where output leaves main (net/session_output.c); who writes, syncs and acknowledges.
 * Owns        the sequences; a waiter for each sequence that a client waits for (client.hold).
 * Threads     main; holdPublish() any.
 * Invariants  1. A waiter is in the list of its sequence exactly while `reached` is set.
 *             2. CLIENT_REPLIES_HELD is set exactly while the client waits for at least one sequence.
 * Cost        nothing for clients that never wait; a list step for each wait in the usual order.
 * Tests       tests/unit/client/reply_hold_test.c, tests/unit/net/command_batch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_hold.h"

#include "panic.h"
#include "zmalloc.h"

#include <stdatomic.h>

typedef struct sequence {
    holdWaiter *first, *last; /* in order of offset */
    uint64_t safe;
    _Atomic uint64_t published; /* release: what made it safe; taken by acquire */
} sequence;

typedef struct heldOn {
    holdWaiter waiter;    /* first: the waiter's address is this one's */
    struct replyHold *of; /* borrowed: where it lies */
} heldOn;

/* A client's part; one that has never waited has none. */
typedef struct replyHold {
    client *c;      /* borrowed */
    unsigned waits; /* for so many sequences */
    heldOn on[HOLD_SEQUENCES_MAX];
} replyHold;

static sequence sequences[HOLD_SEQUENCES_MAX];
static int sequence_count;
static void (*wake_main)(void);

/* The client is freed. */
static void forget(client *c) {
    if (!c->hold) return;
    for (int i = 0; i < HOLD_SEQUENCES_MAX; i++) holdCancel(&c->hold->on[i].waiter);
    zfree(c->hold);
    c->hold = NULL;
    c->flags &= ~(uint32_t)CLIENT_REPLIES_HELD;
}

holdSequence holdSequenceAdd(void) {
    serverAssert(sequence_count < HOLD_SEQUENCES_MAX);
    if (sequence_count == 0) clientOnFree(forget);
    return sequence_count++;
}

void holdSetWake(void (*wake)(void)) {
    wake_main = wake;
}

/* --- waiting ---------------------------------------------------------------------------------------- */

static sequence *at(holdSequence seq) {
    serverAssert(seq >= 0 && seq < sequence_count);
    return &sequences[seq];
}

static void put(sequence *s, holdWaiter *w) {
    holdWaiter *before = s->last;
    while (before && before->offset > w->offset) before = before->prev;
    w->prev = before;
    w->next = before ? before->next : s->first;
    if (w->next) w->next->prev = w;
    else s->last = w;
    if (before) before->next = w;
    else s->first = w;
}

static void take(sequence *s, holdWaiter *w) {
    if (w->prev) w->prev->next = w->next;
    else s->first = w->next;
    if (w->next) w->next->prev = w->prev;
    else s->last = w->prev;
    w->prev = w->next = NULL;
}

void holdWait(holdWaiter *w, holdSequence seq, uint64_t offset, void (*reached)(holdWaiter *w)) {
    assertMainRole();
    sequence *s = at(seq);
    if (offset <= s->safe) {
        reached(w);
        return;
    }
    w->seq = seq;
    w->offset = offset;
    w->reached = reached;
    put(s, w);
}

void holdCancel(holdWaiter *w) {
    assertMainRole();
    if (!w->reached) return;
    take(at(w->seq), w);
    w->reached = NULL;
}

void holdReached(holdSequence seq, uint64_t offset) {
    assertMainRole();
    sequence *s = at(seq);
    if (offset <= s->safe) return;
    s->safe = offset;
    while (s->first && s->first->offset <= offset) {
        holdWaiter *w = s->first;
        void (*reached)(holdWaiter *) = w->reached;
        holdCancel(w);
        reached(w); /* may wait again, or cancel others */
    }
}

void holdPublish(holdSequence seq, uint64_t offset) {
    sequence *s = at(seq);
    uint64_t before = atomic_load_explicit(&s->published, memory_order_relaxed);
    while (before < offset && !atomic_compare_exchange_weak_explicit(&s->published, &before, offset,
                                                                     memory_order_release, memory_order_relaxed))
        continue;
    if (wake_main) wake_main();
}

void holdTakePublished(void) {
    for (int i = 0; i < sequence_count; i++) {
        uint64_t offset = atomic_load_explicit(&sequences[i].published, memory_order_acquire);
        if (unlikely(offset > sequences[i].safe)) holdReached(i, offset);
    }
}

/* --- replies ------------------------------------------------------------------------------------------- */

static void repliesReached(holdWaiter *w) {
    replyHold *h = ((heldOn *)w)->of;
    serverAssert(h->waits > 0);
    if (--h->waits) return;
    h->c->flags &= ~(uint32_t)CLIENT_REPLIES_HELD;
    clientPendWrite(h->c);
}

static replyHold *holdOf(client *c) {
    if (c->hold) return c->hold;
    c->hold = zcalloc(1, sizeof(*c->hold));
    c->hold->c = c;
    for (int i = 0; i < HOLD_SEQUENCES_MAX; i++) c->hold->on[i].of = c->hold;
    return c->hold;
}

void holdReplies(client *c, holdSequence seq, uint64_t offset) {
    assertMainRole();
    if (offset <= at(seq)->safe || !c->stream) return;
    replyHold *h = holdOf(c);
    holdWaiter *w = &h->on[seq].waiter;
    if (w->reached) {
        if (w->offset >= offset) return;
        holdCancel(w);
        h->waits--;
    }
    h->waits++;
    c->flags |= CLIENT_REPLIES_HELD;
    holdWait(w, seq, offset, repliesReached);
}
