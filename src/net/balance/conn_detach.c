/* conn_detach.c -- detached connections: a job has a client's connection for itself for a while.
 *
 * The connection leaves its owner thread as in any move (IO_MSG_LEAVE, IO_MSG_LEFT), and gets no other until the detach
 * ends. connDetachNow(), within a command, waits for the owner thread, which never waits for anything but its sockets.
 *
 *   attached --connDetachBegin()--> PENDING --IO_MSG_LEFT--> DONE (detached_here) --end, or refused--> attached
 *
 * Not here    what is done with the connection (script/run/script_debug.c, repl/primary/rdb_copier.c).
 * Owns        nothing.
 * Threads     main's own.
 * Tests       tests/unit/net/balance/conn_detach_test.c, tests/script/debugger.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "conn_detach.h"

#include "client_io.h"
#include "io_threads.h"
#include "panic.h"
#include "rebalance.h"

#include <sched.h>

#define MESSAGES_PER_POLL 256

/* Asserts what holds in each state, at the start of the header's functions (not at their end: ending a detach may free
 * the connection). While `detached_here` is set no loop watches the connection. */
static void detachCheck(const clientIo *s, bool detached) {
    debugAssert(s->detached == detached && (s->detached || !s->detached_here));
    debugAssert(!s->detached || s->moving_to); /* a move that continues when the detach ends */
    debugAssert(!s->detached_here || (!s->owner && !s->conn->loop));
    debugAssert(!s->session || s->session->io == s);
    unused(s), unused(detached);
}

clientIo *connDetachBegin(client *c) {
    assertMainThread();
    clientIo *s = c->io;
    if (!s || s->closing || s->detached || c->flags & CLIENT_CLOSE_ASAP) return NULL;
    detachCheck(s, false);
    rebalanceDetach(s);
    detachCheck(s, true);
    return s;
}

detachState connDetachPoll(clientIo *s, connection **conn) {
    assertMainThread();
    detachCheck(s, true);
    if (!s->detached_here) return DETACH_PENDING;
    bool written = !s->out_head && !s->held_replies && !s->held_first;
    if (written && s->conn->state == CONN_CONNECTED && !s->ended && !s->closing) {
        *conn = s->conn;
        return DETACH_DONE;
    }
    rebalanceAttach(s);
    return DETACH_REFUSED;
}

void connDetachEnd(clientIo *s) {
    assertMainThread();
    detachCheck(s, true);
    rebalanceAttach(s);
}

connection *connDetachNow(client *c) {
    clientIo *s = connDetachBegin(c);
    connection *conn = NULL;
    if (!s) return NULL;
    ioThreadsFlush();
    while (connDetachPoll(s, &conn) == DETACH_PENDING) {
        if (ioThreadsPoll(MESSAGES_PER_POLL) == 0) sched_yield();
        ioThreadsFlush(); /* sends what did not fit into a ring before */
    }
    return conn;
}

void connReattach(client *c) { connDetachEnd(c->io); }

void connAbandon(client *c) {
    assertMainThread();
    clientIo *s = c->io;
    detachCheck(s, true);
    debugAssert(s->detached_here);
    connMute(s->conn);
    s->input_ended = true; /* further input is for the other process */
    clientCloseAsap(c);
    rebalanceAttach(s);
}
