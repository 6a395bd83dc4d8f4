/* session_hold.c -- replies on their way to their stream: at once, or when an offset is safe, each when its own is.
 *
 *   stream --held_first--> [chain | offset 120] -> [chain | offset 180] <--held_last
 *
 * holdReplies() keeps all of a client's output until the last offset asked for. Where each turn has an offset of its
 * own a client that never pauses would get nothing at all: so what it has said by then is put aside as a part.
 *
 * Owns        the parts, and the chains in them.
 * Threads     main.
 * Invariants  1. Parts of a stream leave in their order: their marks are of one sequence and rise, or of another one
 *                since the policy has changed; then a part waits for those before it as well.
 *             2. CLIENT_REPLIES_HELD is set while a stream has parts.
 * Cost        an allocation per client and turn, of memory that comes back.
 * Tests       tests/persist/aof.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session_hold.h"

#include "io_threads.h"
#include "panic.h"
#include "rebalance.h"
#include "zmalloc.h"

typedef struct heldPart {
    holdWaiter waiter;    /* first: its address is the part's */
    clientStream *stream; /* borrowed: where it lies */
    replyBlock *chain;    /* owns */
    struct heldPart *next;
    bool reached; /* its mark is, but those before it are not */
} heldPart;

static void postToStream(clientStream *s, replyBlock *chain) {
    debugAssert(chain || s->returning);
    debugAssert(!s->moving_to && !s->closing);
    client *c = s->session;
    ioMessage m = {.type = IO_MSG_OUTPUT, .stream = s, .block = s->returning, .reply = chain};
    if (c && c->authenticated) m.number = CLIENT_STREAM_AUTHENTICATED;
    s->returning = NULL;
    ioThreadPost(s->home, &m);
}

void sessionSend(clientStream *s, replyBlock *chain) {
    if (s->moving_to) rebalanceKeepOutput(s, chain);
    else postToStream(s, chain);
}

/* Send what may leave. */
static void sendReached(clientStream *s) {
    while (s->held_first && s->held_first->reached) {
        heldPart *part = s->held_first;
        s->held_first = part->next;
        sessionSend(s, part->chain);
        zfree(part);
    }
    if (s->held_first) return;
    s->held_last = NULL;
    s->session->flags &= ~(uint32_t)CLIENT_REPLIES_HELD;
    clientPendWrite(s->session);
}

static void partReached(holdWaiter *w) {
    heldPart *part = (heldPart *)w;
    part->reached = true;
    sendReached(part->stream);
}

static void addToPart(heldPart *part, replyBlock *chain) {
    replyBlock *last = part->chain;
    while (last->next) last = last->next;
    last->next = chain;
}

void sessionHold(client *c, const outputMark *mark) {
    assertMainRole();
    clientStream *s = c->stream;
    heldPart *last = s->held_last;
    replyBlock *chain = clientTakeReplies(c);
    if (!chain) return;
    if (last && !last->reached && (!mark || (last->waiter.seq == mark->seq && last->waiter.offset == mark->offset))) {
        addToPart(last, chain);
        return;
    }
    heldPart *part = zcalloc(1, sizeof(*part));
    part->stream = s;
    part->chain = chain;
    part->reached = !mark;
    if (last) last->next = part;
    else s->held_first = part;
    s->held_last = part;
    c->flags |= CLIENT_REPLIES_HELD;
    if (mark) holdWait(&part->waiter, mark->seq, mark->offset, partReached);
}

void sessionHoldForget(clientStream *s) {
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
