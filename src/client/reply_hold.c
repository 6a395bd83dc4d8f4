/* reply_hold.c -- waits until an offset is safe: for replies that promise durability, and for other callers.
 *
 * The waits for a sequence are in a list in order of their offsets. A new one nearly always has the largest offset, so
 * it is inserted from the end; waits whose offset is reached are removed from the front.
 *
 * Not here    replies (net/session/session_hold.c), commands that wait (repl/primary/wait_commands.c); writing and
 *             syncing.
 * Owns        the sequences; each holdEntry belongs to its caller.
 * Threads     main; holdPublish() any.
 * Invariants  1. A holdEntry is in the list of its sequence exactly while `reached` is set.
 * Cost        a list step for each wait in the usual order.
 * Tests       tests/unit/client/reply_hold_test.c, tests/unit/net/session/session_hold_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "reply_hold.h"

#include "panic.h"
#include "zmalloc.h"

#include <stdatomic.h>

typedef struct sequence {
    holdEntry *first, *last; /* in order of offset */
    uint64_t safe;
    _Atomic uint64_t published; /* stored with release, after what made the offset safe; loaded with acquire */
} sequence;

static sequence sequences[HOLD_SEQUENCES_MAX];
static int sequence_count;
static void (*wake_main)(void);

holdSequence holdSequenceAdd(void) {
    serverAssert(sequence_count < HOLD_SEQUENCES_MAX);
    return sequence_count++;
}

void holdSetWake(void (*wake)(void)) { wake_main = wake; }

static sequence *replyHoldAt(holdSequence seq) {
    serverAssert(seq >= 0 && seq < sequence_count);
    return &sequences[seq];
}

static void replyHoldPut(sequence *s, holdEntry *w) {
    holdEntry *before = s->last;
    while (before && before->offset > w->offset) before = before->prev;
    w->prev = before;
    w->next = before ? before->next : s->first;
    if (w->next) w->next->prev = w;
    else s->last = w;
    if (before) before->next = w;
    else s->first = w;
}

static void replyHoldTake(sequence *s, holdEntry *w) {
    if (w->prev) w->prev->next = w->next;
    else s->first = w->next;
    if (w->next) w->next->prev = w->prev;
    else s->last = w->prev;
    w->prev = w->next = NULL;
}

void holdWait(holdEntry *w, holdSequence seq, uint64_t offset, void (*reached)(holdEntry *w)) {
    assertMainRole();
    sequence *s = replyHoldAt(seq);
    if (offset <= s->safe) {
        reached(w);
        return;
    }
    w->seq = seq;
    w->offset = offset;
    w->reached = reached;
    replyHoldPut(s, w);
}

void holdCancel(holdEntry *w) {
    assertMainRole();
    if (!w->reached) return;
    replyHoldTake(replyHoldAt(w->seq), w);
    w->reached = NULL;
}

bool holdIsReached(holdSequence seq, uint64_t offset) {
    assertMainRole();
    return offset <= replyHoldAt(seq)->safe;
}

void holdReached(holdSequence seq, uint64_t offset) {
    assertMainRole();
    sequence *s = replyHoldAt(seq);
    if (offset <= s->safe) return;
    s->safe = offset;
    while (s->first && s->first->offset <= offset) {
        holdEntry *w = s->first;
        void (*reached)(holdEntry *) = w->reached;
        holdCancel(w);
        reached(w); /* it may wait again, or cancel others */
    }
}

void holdRelease(holdSequence seq) {
    assertMainRole();
    sequence *s = replyHoldAt(seq);
    for (holdEntry *w = s->first, *next; w; w = next) {
        next = w->next;
        if (!w->may_be_released) continue;
        void (*reached)(holdEntry *) = w->reached;
        holdCancel(w);
        reached(w);
    }
}

void holdPublish(holdSequence seq, uint64_t offset) {
    sequence *s = replyHoldAt(seq);
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
