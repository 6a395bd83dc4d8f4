/* client_io.c -- the life of a connection: created, attached to a thread, given messages, closed.
 *
 * Messages of main arrive here and go to the files that do the work:
 *
 *     bytes -> client_io_read.c -> requests -> main -> output -> client_io_write.c -> bytes
 *                                                            at the end, client_io_close.c
 *     and client_io_report.c reports to main what was written and that the connection has ended.
 *
 * Not here    threads and messages (io_threads.c), main's fields of a connection (rebalance.c, session_output.c).
 * Owns        the connection's socket (`conn`).
 * Threads     the owner thread, where the header does not say main.
 * Invariants  1. The socket is closed only when main asks for it.
 *             2. After IO_MSG_CLOSED and IO_MSG_LEFT the owner thread does not touch the connection.
 * Tests       tests/unit/net/io/client_io_test.c, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "io_threads.h"
#include "log_limit.h"
#include "net_settings.h"
#include "panic.h"
#include "tls.h"
#include "zmalloc.h"

#include <string.h>

#define HANDSHAKE_MAX_MS 30000 /* a thousand may arrive at once, on a slow machine */
#define HANDSHAKE_LINES 10     /* logged in a minute: handshakes fail for several reasons, and each should be seen */

static void drainAndClose(clientIo *s) {
    serverAssert(!s->drain_and_close);
    s->drain_and_close = true;
    s->input_ended = true;
    clientIoUpdateReading(s);
    if (s->conn->state == CONN_ERROR || s->write_failed) clientIoReportDrained(s);
    else if (!s->out_head) clientIoOutputDrained(s);
}

static void formatEnd(int fd, bool peer, char *out) {
    char ip[ANET_ADDR_LEN + 64];
    int port = 0;
    anetFdToString(fd, ip, sizeof(ip), &port, peer);
    anetFormatAddr(out, CLIENT_IO_ADDR_LEN, ip, port);
}

void clientIoAddresses(int fd, char *peer, char *local) {
    formatEnd(fd, true, peer);
    formatEnd(fd, false, local);
}

/* ---- The handshake ---- */

static void stopHandshakeTimer(clientIo *s) {
    if (s->handshake_timer >= 0) aeDeleteTimeEvent(s->owner->loop, s->handshake_timer);
    s->handshake_timer = -1;
}

static void logHandshake(const connection *conn, const char *why) {
    char peer[CLIENT_IO_ADDR_LEN], local[CLIENT_IO_ADDR_LEN];
    clientIoAddresses(conn->fd, peer, local);
    if (connTlsWasDropped(conn))
        LOG_LIMITED(LL_WARNING, 1, "TLS handshakes that were dropped", "Dropped a TLS handshake: %s (addr=%s laddr=%s)",
                    why, peer, local);
    else
        LOG_LIMITED(LL_WARNING, HANDSHAKE_LINES, "TLS handshakes that failed",
                    "Error accepting a client connection: %s (addr=%s laddr=%s)", why, peer, local);
}

static long long onHandshakeTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    clientIo *s = arg;
    s->handshake_timer = -1;
    logHandshake(s->conn, "the TLS handshake timed out");
    clientIoReportEnd(s, END_ERROR);
    return AE_NOMORE;
}

/* If the certificate may name a user, asks main to check its names before anything is read. */
static void reportNames(clientIo *s) {
    int field = atomic_load_explicit(&net_shared.tls_user_field, memory_order_relaxed);
    sds names = field < 0 ? NULL : connTlsPeerNames(s->conn, (tlsNameField)field);
    if (!names) return;
    s->awaits_user = true;
    ioMessage m = {.type = IO_MSG_NAMED, .io = s, .names = names};
    ioThreadPostToMain(s->owner, &m);
}

/* Begins to read if main has checked the names in the certificate. */
static void admit(clientIo *s, unsigned flags) {
    if (likely(!(flags & CLIENT_IO_ADMITTED) || !s->awaits_user)) return;
    s->awaits_user = false;
    clientIoUpdateReading(s);
}

/* The handshake has ended: the connection is ready for bytes, or has failed. */
static void onAccepted(connection *conn) {
    clientIo *s = conn->owner;
    stopHandshakeTimer(s);
    if (conn->state != CONN_CONNECTED) {
        logHandshake(conn, connErrorText(conn));
        clientIoReportEnd(s, END_ERROR);
        return;
    }
    reportNames(s);
    clientIoUpdateReading(s);
    if (!s->owner->only_handshakes) return;
    ioMessage m = {.type = IO_MSG_HANDSHAKEN, .io = s};
    ioThreadPostToMain(s->owner, &m);
}

static void setAhead(clientIo *s, bool on) {
    s->reads_ahead = on;
    s->ahead_ended = false;
    if (s->reading_stopped || !on) clientIoUpdateReading(s);
}

static void attach(clientIo *s, ioOwner *h) {
    serverAssert(!s->owner);
    serverAssert(!s->conn->loop);
    serverAssert(!s->has_unreported);
    s->owner = h;
    int fds = aeGetSetSize(h->loop);
    if (s->conn->fd >= fds) aeResizeSetSize(h->loop, s->conn->fd >= 2 * fds ? s->conn->fd + 1 : 2 * fds);
    if (connAttach(s->conn, h->loop) == C_ERR) {
        clientIoReportEnd(s, END_ERROR);
        return;
    }
    s->reading_stopped = true;
    if (s->conn->state == CONN_ACCEPTING) {
        if (connShakesHands(s->conn)) clientIoNoteWork(s, WORK_HANDSHAKE_NS, 0);
        connAccept(s->conn, onAccepted);
        if (s->conn->state == CONN_ACCEPTING)
            s->handshake_timer = aeCreateTimeEvent(h->loop, HANDSHAKE_MAX_MS, onHandshakeTimer, s);
        return;
    }
    clientIoUpdateReading(s);
    clientIoWatchOutput(s);
    /* The last owner thread may have been waiting for the peer. */
    if (s->drain_and_close && !s->out_head) clientIoOutputDrained(s);
}

static void detach(clientIo *s) {
    clientIoReportWritten(s);
    clientIoCancelReport(s);
    clientIoStopLingering(s);
    stopHandshakeTimer(s);
    connDetach(s->conn);
    connSetReadHandler(s->conn, NULL);
    connSetWriteHandler(s->conn, NULL);
    ioMessage m = {.type = IO_MSG_LEFT, .io = s};
    ioOwner *h = s->owner;
    s->owner = NULL; /* as in closeIo() */
    ioThreadPostToMain(h, &m);
}

static void closeIo(clientIo *s) {
    serverAssert(s->conn != NULL);
    clientIoCancelReport(s);
    clientIoStopLingering(s);
    stopHandshakeTimer(s);
    connClose(s->conn);
    s->conn = NULL;
    clientIoDropOutput(s);
    clientIoDropInput(s);
    ioMessage m = {.type = IO_MSG_CLOSED, .io = s, .bytes = s->done_bytes, .reply = s->done};
    s->done = NULL;
    s->done_bytes = 0;
    ioOwner *h = s->owner;
    s->owner = NULL; /* from now on no thread may send messages for this connection */
    ioThreadPostToMain(h, &m);
}

void clientIoDeliver(ioOwner *h, const ioMessage *m) {
    if (m->type == IO_MSG_FAN) {
        clientIoTakeFan(h, m->fan);
        return;
    }
    clientIo *s = m->io;
    if (m->type != IO_MSG_JOIN) {
        debugAssert(s->owner == h);
        if (unlikely(s->in_fan)) clientIosFan(h);
        clientIoDebugCheck(s);
    }
    switch ((messageType)m->type) {
    case IO_MSG_JOIN:
        s->reads_ahead = m->number & CLIENT_IO_AHEAD;
        attach(s, h);
        s->authenticated = m->number & CLIENT_IO_AUTHENTICATED;
        admit(s, m->number);
        break;
    case IO_MSG_LEAVE: detach(s); return; /* it belongs to its next owner thread or to main now */
    case IO_MSG_OUTPUT:
        s->authenticated = m->number & CLIENT_IO_AUTHENTICATED;
        /* Output first: a returned block may let more be parsed. */
        if (m->reply) clientIoTakeOutput(s, m->reply);
        if (m->block) clientIoTakeReturned(s, m->block);
        if (unlikely(s->reads_ahead != !!(m->number & CLIENT_IO_AHEAD))) setAhead(s, !s->reads_ahead);
        admit(s, m->number);
        break;
    case IO_MSG_DRAIN: drainAndClose(s); break;
    case IO_MSG_CLOSE: closeIo(s); return;
    case IO_MSG_FAN:
    case IO_MSG_FREE:
    case IO_MSG_FANNED:
    case IO_MSG_REQUESTS:
    case IO_MSG_WRITTEN:
    case IO_MSG_END:
    case IO_MSG_HANGUP:
    case IO_MSG_LEFT:
    case IO_MSG_NAMED:
    case IO_MSG_HANDSHAKEN:
    case IO_MSG_CLOSED: serverPanic("the I/O half of a client does not handle message %d", m->type);
    }
    clientIoDebugCheck(s);
}

/* --- creating and freeing (main) ----------------------------------------------------------------------- */

clientIo *clientIoCreate(connection *conn, bool authenticated) {
    clientIo *s = zmallocAligned(CACHE_LINE, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->conn = conn;
    s->authenticated = authenticated;
    s->linger_timer = -1;
    s->handshake_timer = -1;
    conn->owner = s;
    clientIoInitReader(s);
    return s;
}

void clientIoFree(clientIo *s) {
    serverAssert(!s->conn && !s->owner && !s->session);
    serverAssert(!s->partial && !s->ahead && !s->reader.args && !s->out_head && !s->done);
    serverAssert(!s->has_unreported && s->linger_timer < 0 && s->handshake_timer < 0);
    serverAssert(!s->returning && !s->held_replies && !s->moving_to);
    serverAssert(!s->on_returning && !s->on_draining);
    serverAssert(!s->in_fan && !s->fan_head);
    zfree(s);
}
