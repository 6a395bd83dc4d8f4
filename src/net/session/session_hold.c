/* session_hold.c -- sends output to its connection: at once, or when its offset is safe.
 *
 *   connection --held_first--> [chain | offset 120] -> [chain | offset 180] <--held_last
 *
 * Output of an iteration depends on what was written until then, and on nothing later. So it is held as a part with a
 * mark of its own. If it waited for the latest write instead, it would not be sent at all as long as writes go on.
 *
 * Owns        the parts, and the chains in them.
 * Threads     main.
 * Invariants  1. Parts of a connection leave in order. Their marks are of one sequence and rise, or of another sequence
 *                after the policy has changed; then a part waits for those before it as well.
 *             2. While a connection has parts, no output is sent past them.
 * Cost        an allocation per client and iteration, of reused memory.
 * Tests       tests/unit/net/session/session_hold_test.c, tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session_output_internal.h"

#include "io_threads.h"
#include "panic.h"
#include "rebalance.h"
#include "zmalloc.h"

typedef struct heldPart {
    holdEntry waiter;  /* first, so that its address is the part's */
    clientIo *io;      /* borrowed: the connection that has the part */
    replyBlock *chain; /* owns */
    replyBlock *tail;  /* of the chain */
    struct heldPart *next;
    bool reached; /* its mark is reached, but not those of all parts before it */
} heldPart;

static void postToIo(clientIo *s, replyBlock *chain) {
    debugAssert(chain || s->returning || s->admitted || s->must_send);
    debugAssert(!s->moving_to && !s->closing);
    ioMessage m = {.type = IO_MSG_OUTPUT, .number = clientIoFlags(s), .io = s, .block = s->returning, .reply = chain};
    s->sent_ahead = m.number & CLIENT_IO_AHEAD;
    s->must_send = false;
    s->returning = NULL;
    ioThreadPost(s->home, &m);
}

void sessionSend(clientIo *s, replyBlock *chain) {
    if (s->moving_to) rebalanceKeepOutput(s, chain);
    else postToIo(s, chain);
}

/* Sends the parts at the head whose marks are reached. */
static void sendReached(clientIo *s) {
    while (s->held_first && s->held_first->reached) {
        heldPart *part = s->held_first;
        s->held_first = part->next;
        sessionSend(s, part->chain);
        zfree(part);
    }
    if (!s->held_first) s->held_last = NULL;
}

static void partReached(holdEntry *w) {
    heldPart *part = (heldPart *)w;
    part->reached = true;
    sendReached(part->io);
}

static replyBlock *tailOf(replyBlock *chain) {
    while (chain->next) chain = chain->next;
    return chain;
}

/* Returns whether output that waits for `mark` may leave together with the part. */
static bool mayJoin(const heldPart *part, const outputMark *mark) {
    if (part->reached) return false;
    return !mark || (part->waiter.seq == mark->seq && part->waiter.offset == mark->offset);
}

void sessionHold(clientIo *s, replyBlock *chain, const outputMark *mark) {
    assertMainRole();
    heldPart *last = s->held_last;
    debugAssert(mark || last);
    if (last && mayJoin(last, mark)) {
        last->tail->next = chain;
        last->tail = tailOf(chain);
        return;
    }
    heldPart *part = zcalloc(1, sizeof(*part));
    part->io = s;
    part->chain = chain;
    part->tail = tailOf(chain);
    part->reached = !mark;
    part->waiter.may_be_released = true;
    if (last) last->next = part;
    else s->held_first = part;
    s->held_last = part;
    if (mark) holdWait(&part->waiter, mark->seq, mark->offset, partReached);
}

void sessionHoldForget(clientIo *s) {
    assertMainRole();
    while (s->held_first) {
        heldPart *part = s->held_first;
        s->held_first = part->next;
        holdCancel(&part->waiter);
        replyBlockReleaseChain(part->chain);
        zfree(part);
    }
    s->held_last = NULL;
}
