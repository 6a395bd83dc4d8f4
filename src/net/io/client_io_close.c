/* client_io_close.c -- the end of a connection whose output is written: waits until the peer has received it.
 *
 * Closing a socket with unread input resets the connection, and the peer loses what it has not received yet. So a
 * draining connection continues to read, discards what it reads, and lingers until the peer has received all output or
 * accepts no more.
 *
 * Not here    when a connection is to drain, and what it returns at its end (client_io.c).
 * Owns        the timer of a lingering connection.
 * Threads     the owner thread.
 * Tests       tests/unit/net/io/client_io_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "panic.h"

#define LINGER_FIRST_CHECK_MS 50 /* by then a near peer has acknowledged everything */
#define LINGER_CHECK_MS 2000     /* the wait ends if the peer accepts nothing for this time, or after so many checks */
#define LINGER_CHECKS_MAX 30

void clientIoReportDrained(clientIo *s) {
    s->end_reported = false; /* the end of input may have been reported before */
    clientIoReportEnd(s, END_DRAINED);
}

static long long onLingerTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop);
    clientIo *s = arg;
    serverAssert(s->linger_timer == id);
    serverAssert(!s->out_head);
    size_t unsent = connUnsent(s->conn);
    uint32_t check = s->linger_checks++;
    bool moves = check == 0 || unsent < s->linger_unsent; /* the first check is too early to judge */
    if (unsent && moves && check < LINGER_CHECKS_MAX) {
        s->linger_unsent = unsent;
        return LINGER_CHECK_MS;
    }
    s->linger_timer = -1;
    clientIoReportDrained(s);
    return AE_NOMORE;
}

void clientIoStopLingering(clientIo *s) {
    if (s->linger_timer >= 0) aeDeleteTimeEvent(s->owner->loop, s->linger_timer);
    s->linger_timer = -1;
}

void clientIoOutputDrained(clientIo *s) {
    serverAssert(s->drain_and_close);
    serverAssert(!s->out_head);
    if (s->linger_timer >= 0) return;
    s->linger_unsent = s->conn->state == CONN_CONNECTED ? connUnsent(s->conn) : 0;
    if (s->linger_unsent == 0) {
        clientIoReportDrained(s);
        return;
    }
    connFinish(s->conn);
    s->linger_checks = 0;
    s->linger_timer = aeCreateTimeEvent(s->owner->loop, LINGER_FIRST_CHECK_MS, onLingerTimer, s);
}

void clientIoDiscardInput(clientIo *s) {
    char scrap[4096];
    ssize_t n = connRead(s->conn, scrap, sizeof(scrap));
    if (n > 0 || (n < 0 && s->conn->state == CONN_CONNECTED)) return;
    s->reading_stopped = true;
    connSetReadHandler(s->conn, NULL);
    if (n == 0 && s->out_head) return; /* half closed: the peer may still read */
    clientIoReportDrained(s);
}
