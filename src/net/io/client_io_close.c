/* client_io_close.c -- the end of a connection whose output has been written: when the peer has it.
 *
 * To close a socket with input that nobody has read makes a reset of it, and a reset throws away what the peer has not
 * got yet. So a stream that drains goes on reading, into nothing, and lingers until the peer has all, or shows that it
 * takes nothing.
 *
 * Not here    when a stream is to drain and what it gives back at its end (client_io.c).
 * Owns        the timer of a lingering stream.
 * Threads     the holder.
 * Tests       tests/unit/net/io/client_io_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "panic.h"

#define LINGER_FIRST_LOOK_MS 50 /* a peer that is near has said by then that it has all */
#define LINGER_LOOK_MS 2000     /* a peer that takes nothing for so long, or needs so many looks, is not waited for */
#define LINGER_LOOKS_MAX 30

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
    uint32_t look = s->linger_looks++;
    bool moves = look == 0 || unsent < s->linger_unsent; /* the first comes too early to tell */
    if (unsent && moves && look < LINGER_LOOKS_MAX) {
        s->linger_unsent = unsent;
        return LINGER_LOOK_MS;
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
    s->linger_looks = 0;
    s->linger_timer = aeCreateTimeEvent(s->owner->loop, LINGER_FIRST_LOOK_MS, onLingerTimer, s);
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
