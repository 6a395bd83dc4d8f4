/* sessions.c -- sessions on connections that this server opened, messages of connections, the end of sessions.
 *
 * Not here    accepted connections (listen.c), what sessions send (session_output.c), what is executed when
 *             (command_batch.c), what the session of a replication link may do (repl/replica/primary_link.c).
 * Owns        nothing beyond the call: blocks go to their client, written replies are released.
 * Threads     main.
 * Invariants  1. A client is freed only in sessionsFreeClosing(), never while a batch is open.
 *             2. Messages of a connection whose session has ended are dropped, with what they carry.
 * Tests       tests/unit/net/io/client_io_test.c, tests/unit/net/session/command_batch_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sessions.h"

#include "auth.h"
#include "client_check.h"
#include "client_eviction.h"
#include "command_batch.h"
#include "fan_out.h"
#include "log.h"
#include "log_limit.h"
#include "net_settings.h"
#include "panic.h"
#include "pause.h"
#include "rebalance.h"
#include "session_output_internal.h"
#include "transaction_queue.h"
#include "zmalloc.h"

client *sessionAdoptOutgoing(connection *conn) {
    assertMainThread();
    char peer[CLIENT_IO_ADDR_LEN], local[CLIENT_IO_ADDR_LEN];
    clientIoAddresses(conn->fd, peer, local);
    clientIo *s = clientIoCreate(conn, true);
    s->trusted = true;
    client *c = clientCreate(s, conn->fd, peer, local, false);
    c->authenticated = c->was_authenticated = true;
    s->session = c;
    rebalanceAdopt(s);
    return c;
}

/* Asserts what holds of main's fields of a connection, before each message; after it the connection may be freed. */
static void sessionCheck(const clientIo *s) {
    debugAssert((s->session == NULL) == s->closing);
    debugAssert(!s->session || s->session->io == s);
    debugAssert(!s->held_first == !s->held_last);
    debugAssert(!s->detached_here || s->detached);
    unused(s);
}

static void repliesWritten(clientIo *s, replyBlock *chain, size_t bytes) {
    client *c = s->session;
    if (unlikely(!c)) {
        replyBlockReleaseChain(chain);
        return;
    }
    if (unlikely(clientOutputWritten(c, chain, bytes))) batchClientReady(c);
    clientEvictionFlow(c);
    clientDebugCheck(c);
}

static void reachedQueryLimit(client *c) {
    client_state.query_limit_disconnections++;
    LOG_LIMITED(LL_WARNING, 1, "clients that reached client-query-buffer-limit",
                "Closing client that reached max query buffer length: id=%llu addr=%s", (unsigned long long)c->id,
                c->peer);
    clientCloseAsap(c);
}

static void requestsArrived(clientIo *s, requestBlock *b) {
    client *c = s->session;
    debugAssert(b->first && b->current == b->first);
    b->next = NULL;
    if (unlikely(!c || c->flags & (CLIENT_CLOSE_ASAP | CLIENT_CLOSE_AFTER_REPLY))) {
        sessionDropBlocks(b);
        return;
    }
    c->input_bytes += b->wire_bytes;
    c->net_input += (long long)b->wire_bytes;
    clientEvictionFlow(c);
    batchAdd(c, b);
    /* Commands queued by a transaction count like requests that have not run. */
    if (unlikely(c->flags & CLIENT_MULTI) &&
        transactionBytes(c) + c->input_bytes > (size_t)net_settings.client_query_buffer_limit)
        reachedQueryLimit(c);
}

static void logHttp(const client *c) {
    LOG_LIMITED(
        LL_WARNING, 1, "connections that sent POST or Host: as a command",
        "Possible SECURITY ATTACK detected. A client sent POST or Host: as a command, as a browser does if a web "
        "page makes it connect to this port. The connection from %s was closed.",
        c->peer);
}

static void ioEnded(clientIo *s, endReason why) {
    client *c = s->session;
    if (!c) return;
    switch (why) {
    case END_DRAINED: clientCloseAsap(c); return;
    case END_QUERY_LIMIT: reachedQueryLimit(c); return;
    case END_CROSS_PROTOCOL:
        logHttp(c);
        clientCloseAsap(c);
        return;
    case END_EOF:
        serverLog(LL_VERBOSE, "Client closed connection id=%llu addr=%s", (unsigned long long)c->id, c->peer);
        break;
    case END_ERROR:
        serverLog(LL_VERBOSE, "Error on client connection id=%llu addr=%s", (unsigned long long)c->id, c->peer);
        break;
    }
    if (c->flags & CLIENT_CLOSE_AFTER_REPLY && why == END_EOF) return; /* wait for END_DRAINED */
    s->ended = true;
    if (why == END_EOF && batchWaitsForOutput(c) && c->blocks_head) return; /* half closed: the peer may still read */
    if (!c->blocks_head || !batchMayExecute(c)) sessionCloseAfterOutput(c);
}

/* Closes a client that is blocked or paused, as its peer has closed the connection. Requests after the blocking command
 * are dropped, as they would be if they had been read. */
static void ioHungUp(clientIo *s) {
    client *c = s->session;
    if (!c) return;
    s->hung_up = true;
    if (!batchMayExecute(c) && !batchWaitsForOutput(c)) sessionCloseAfterOutput(c);
}

/* The owner thread reads nothing before it has the reply; if the connection moves, IO_MSG_JOIN is the reply. */
static void ioNamed(clientIo *s, sds names) {
    if (s->session) authByCertificate(s->session, sdsSlice(names));
    sdsFree(names);
    s->admitted = true;
    if (!s->closing && !s->moving_to) sessionSend(s, NULL);
}

static void ioClosed(clientIo *s, replyBlock *chain) {
    serverAssert(s->closing && !s->session);
    replyBlockReleaseChain(chain);
    replyBlockReleaseChain(s->held_replies);
    s->held_replies = NULL;
    rebalanceRemove(s);
    clientIoFree(s);
}

void sessionDeliver(const ioMessage *m) {
    assertMainRole();
    if (m->type == IO_MSG_FANNED) {
        sessionFanned(m->fan);
        return;
    }
    clientIo *s = m->io;
    sessionCheck(s);
    switch ((messageType)m->type) {
    case IO_MSG_REQUESTS:
        if (m->written || m->reply) repliesWritten(s, m->reply, m->written);
        requestsArrived(s, m->block);
        break;
    case IO_MSG_WRITTEN: repliesWritten(s, m->reply, m->bytes); break;
    case IO_MSG_END: ioEnded(s, (endReason)m->number); break;
    case IO_MSG_HANGUP: ioHungUp(s); break;
    case IO_MSG_NAMED: ioNamed(s, m->names); break;
    case IO_MSG_HANDSHAKEN: rebalanceHandshaken(s); break;
    case IO_MSG_LEFT: rebalanceLeft(s); break;
    case IO_MSG_CLOSED: ioClosed(s, m->reply); return;
    case IO_MSG_FAN:
    case IO_MSG_FANNED:
    case IO_MSG_JOIN:
    case IO_MSG_LEAVE:
    case IO_MSG_OUTPUT:
    case IO_MSG_DRAIN:
    case IO_MSG_CLOSE:
    case IO_MSG_FREE: serverPanic("a session does not handle message %d", m->type);
    }
}

void sessionsFreeClosing(void) {
    assertMainRole();
    serverAssert(!batchIsOpen());
    debugAssert(!fanHasRuns()); /* they refer to clients */
    if (!client_state.closing) return;
    client *c;
    while ((c = clientPopClosing()) != NULL) {
        clientIo *s = c->io;
        serverAssert(s && s->session == c);
        sessionCheck(s);
        serverAssert(c->flags & CLIENT_CLOSE_ASAP);
        batchForget(c);
        pauseForget(c);
        clientEvictionForget(c);
        transactionEnd(c); /* what it has queued may be in the blocks */
        sessionDropBlocks(c->blocks_head);
        c->blocks_head = c->blocks_tail = NULL;
        c->input_bytes = 0;
        clientDebugCheck(c);
        clientFree(c);
        sessionCloseIo(s); /* on one thread it may be freed already */
    }
    zmallocKeepReserve(); /* after a shortage of memory clients are closed, and the same iteration goes on */
}
