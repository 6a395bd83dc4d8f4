/* session_output.c -- what sessions send to their connections: replies, executed blocks, the order to drain and close.
 *
 * Nothing is sent when it is made, but all in sessionsFlush(), once or a few times per iteration: so one message
 * carries all replies of a client's batch together with the blocks of its requests.
 *
 * Not here    what a message does to the connection (client_io.c), messages from connections (sessions.c).
 * Owns        the lists of connections with executed blocks to return and of those to be drained.
 * Threads     main.
 * Invariants  1. Replies reach the connection in the order in which they were made, each once.
 *             2. Between IO_MSG_LEAVE and IO_MSG_LEFT nothing is sent to a connection.
 *             3. Held output (session_hold.c) stays on main, and so does the order to drain.
 *             4. must_hold() is called after all output for clients is made and before it leaves main.
 *             5. A client whose command yields gets nothing before its reply is complete.
 * Tests       tests/unit/net/io/client_io_test.c, tests/unit/net/session/command_batch_test.c,
 *             tests/unit/net/session/session_hold_test.c, tests/unit/net/session/session_output_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "session_output_internal.h"

#include "call.h"
#include "client_check.h"
#include "client_eviction.h"
#include "fan_out.h"
#include "io_threads.h"
#include "panic.h"
#include "rebalance.h"
#include "tracking.h"
#include "yield.h"

static bool (*must_hold)(holdSequence *seq, uint64_t *offset); /* const after startup */

void sessionsSetHold(bool (*check)(holdSequence *seq, uint64_t *offset)) { must_hold = check; }

static void (*append_output)(void); /* const after startup */

void sessionsSetAppender(void (*append)(void)) { append_output = append; }

static struct {
    clientIo *returning; /* connections with executed blocks to return, by next_returning */
    clientIo *draining;  /* connections to be closed once all output is written, by next_draining */
} outgoing;

static void addReturning(clientIo *s) {
    if (s->on_returning) return;
    s->on_returning = true;
    s->next_returning = outgoing.returning;
    outgoing.returning = s;
}

void sessionReadAhead(clientIo *s) {
    assertMainRole();
    if (s->sent_ahead || s->must_send || s->closing) return;
    s->must_send = true;
    addReturning(s);
}

void sessionReturnBlock(clientIo *s, requestBlock *b) {
    assertMainRole();
    addReturning(s);
    b->next = s->returning;
    s->returning = b;
}

void sessionsCountSamples(void) {
    assertMainRole();
    for (const clientIo *s = outgoing.returning; s; s = s->next_returning)
        for (const requestBlock *b = s->returning; b; b = b->next) hotKeysCountHere(b->samples);
}

static void addDraining(clientIo *s) {
    s->on_draining = true;
    s->next_draining = outgoing.draining;
    if (outgoing.draining) outgoing.draining->prev_draining = s;
    outgoing.draining = s;
}

static void removeDraining(clientIo *s) {
    serverAssert(s->on_draining);
    s->on_draining = false;
    if (s == outgoing.draining) outgoing.draining = s->next_draining;
    else s->prev_draining->next_draining = s->next_draining;
    if (s->next_draining) s->next_draining->prev_draining = s->prev_draining;
}

void sessionDrain(client *c) {
    assertMainRole();
    clientIo *s = c->io;
    serverAssert(s && s->session == c);
    if (s->drain_sent) return;
    s->drain_sent = true;
    addDraining(s);
}

void sessionCloseAfterOutput(client *c) {
    assertMainRole();
    if (c->output_bytes == 0) {
        clientCloseAsap(c);
        return;
    }
    c->flags |= CLIENT_CLOSE_AFTER_REPLY;
    sessionDrain(c);
}

void sessionDropBlocks(requestBlock *chain) {
    assertMainRole();
    requestPool *pool = &ioThreadOwner(ioThreadActing())->pool;
    while (chain) {
        requestBlock *next = chain->next;
        requestBlockUncount(pool, chain);
        requestBlockPut(pool, chain);
        chain = next;
    }
}

/* Sends the client's output. With `mark` NULL only earlier output of the client can hold it back. */
static inline void flushClient(client *c, const outputMark *mark) {
    replyBlock *chain = clientTakeReplies(c);
    if (!chain) return;
    clientEvictionFlow(c);
    if (unlikely(mark || sessionHolds(c->io))) sessionHold(c->io, chain, mark);
    else sessionSend(c->io, chain);
}

static void flushReturning(void) {
    while (outgoing.returning) {
        clientIo *s = outgoing.returning;
        outgoing.returning = s->next_returning;
        s->on_returning = false;
        if ((s->returning || unlikely(s->must_send)) && !s->moving_to) sessionSend(s, NULL);
        s->must_send = false; /* while it moves, IO_MSG_JOIN tells it */
    }
}

static void flushDrains(void) {
    clientIo *next;
    for (clientIo *s = outgoing.draining; s; s = next) {
        next = s->next_draining;
        /* The drain waits while output is held here, or while the connection moves. */
        serverAssert(!s->closing && s->session);
        if (s->moving_to || sessionHolds(s)) continue;
        removeDraining(s);
        ioMessage m = {.type = IO_MSG_DRAIN, .io = s};
        ioThreadPost(s->home, &m);
    }
}

void sessionsFlush(void) {
    assertMainRole();
    if (unlikely(tracking_prefix_news)) trackingSendInvalidations();
    if (append_output) append_output();
    clientListsDebugCheck();
    outputMark until = {.offset = 0};
    const outputMark *mark = must_hold && must_hold(&until.seq, &until.offset) ? &until : NULL;
    if (fanHasRuns()) {
        sessionFanFlush(mark);
        clientIosFan(ioThreadOwner(ioThreadActing())); /* its own connections get messages as plain calls */
    }
    const client *busy = yieldIsServing() ? callCurrentClient() : NULL;
    client *c, *unfinished = NULL;
    while ((c = clientPopPendingWrite()) != NULL) {
        if (c->flags & CLIENT_CLOSE_ASAP || !c->io) continue;
        debugAssert(!c->deferred || c == busy);
        if (unlikely(c == busy)) unfinished = c;
        else flushClient(c, mark);
    }
    if (unlikely(unfinished != NULL)) clientPendWrite(unfinished);
    flushReturning();
    flushDrains();
}

/* --- the end --------------------------------------------------------------------------------------------- */

/* Clients are freed after a flush, which empties the list, so this search is rare and short. */
static void forgetReturning(clientIo *s) {
    clientIo **p = &outgoing.returning;
    while (*p != s) p = &(*p)->next_returning;
    *p = s->next_returning;
    s->on_returning = false;
}

static void sessionOutputForget(clientIo *s) {
    if (s->on_draining) removeDraining(s);
    if (unlikely(s->on_returning)) forgetReturning(s);
    sessionDropBlocks(s->returning);
    s->returning = NULL;
    if (unlikely(sessionHolds(s))) sessionHoldForget(s);
}

void sessionCloseIo(clientIo *s) {
    assertMainRole();
    serverAssert(!s->closing);
    sessionOutputForget(s);
    s->session = NULL;
    s->closing = true;
    if (s->moving_to) return; /* rebalanceLeft() closes it */
    ioMessage m = {.type = IO_MSG_CLOSE, .io = s};
    ioThreadPost(s->home, &m);
}
