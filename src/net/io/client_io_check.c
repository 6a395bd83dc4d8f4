/* client_io_check.c -- what holds of a connection while none of its functions runs.
 *
 * Not here    what changes a connection (the other client_io*.c files), main's fields of it (rebalance.c,
 *             session_output.c).
 * Threads     the owner thread.
 * Invariants  the asserts below, one each.
 * Cost        the first blocks of the output and the thread's list of unreported connections; only in debug builds and
 *             tests.
 * Tests       tests/unit/net/io/client_io_test.c, after every operation
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io.h"

#include "panic.h"

#define BLOCKS_CHECKED 64 /* a client that never reads may have thousands */

static void checkInput(const clientIo *s) {
    const requestReader *r = &s->reader;
    const requestBlock *b = s->partial;
    if (b) {
        serverAssert(b->first == NULL && b->len > 0 && b->len <= b->cap); /* complete requests have been handed over */
        serverAssert(s->request_start <= r->pos);
        serverAssert(r->pos <= b->len && r->scanned <= b->len - r->pos);
        serverAssert(r->argc <= r->args_cap || !r->args);
        const largeArg *large = b->large ? b->large->next : NULL; /* in the order of the arguments */
        for (size_t i = 0; i < r->argc && r->args; i++) {
            bool apart = large && large->index == i;
            if (apart) large = large == b->large ? NULL : large->next;
            serverAssert(r->args[i].offset >= s->request_start);
            serverAssert(r->args[i].offset + (apart ? 0 : r->args[i].len) <= b->len);
        }
        serverAssert(!large);
        serverAssert(!requestBlockLargeOpen(b) || r->state == READ_TAIL);
    } else {
        serverAssert(s->request_start == 0 && r->pos == 0);
    }
    /* The thread's array is kept only for an incomplete request, or was given up for lack of memory. */
    serverAssert(!r->args || b || s->input_ended);
    serverAssert(r->args || r->argc == 0);
    serverAssert(s->inflight_blocks > 0 || s->inflight_bytes == 0);
    serverAssert(!s->parse_waits_for_auth || (s->inflight_blocks > 0 && b));
}

static bool isUnreported(const clientIo *s) {
    const clientIo *before = NULL;
    if (!s->owner) return false; /* it moves to another thread */
    for (const clientIo *u = s->owner->unreported; u; before = u, u = u->next_unreported) {
        serverAssert(u->has_unreported && u->owner == s->owner);
        serverAssert(!before || u->prev_unreported == before);
        if (u == s) return true;
    }
    return false;
}

static void checkOutput(const clientIo *s) {
    serverAssert(!s->out_head == !s->out_tail);
    const replyBlock *b = s->out_head;
    for (int i = 0; b && i < BLOCKS_CHECKED; i++, b = b->next) {
        serverAssert(b->sent == 0 || (i == 0 && b->sent < b->total));
        serverAssert((b->next == NULL) == (b == s->out_tail));
    }
    b = s->done;
    for (int i = 0; b && i < BLOCKS_CHECKED; i++, b = b->next) serverAssert(b->sent <= b->total);
    serverAssert(s->has_unreported == isUnreported(s));
    /* After a failed write nothing is reported later: IO_MSG_CLOSED tells main what was written before. */
    serverAssert(s->has_unreported || s->write_failed || (!s->done && s->done_bytes == 0));
}

/* A connection that is attached and past its handshake has a handler for each direction in which there is work. */
static void checkHandlers(const clientIo *s) {
    const connection *c = s->conn;
    serverAssert(c->owner == s);
    if (!c->loop || c->state == CONN_ACCEPTING) return;
    serverAssert(s->owner && c->loop == s->owner->loop);
    serverAssert(s->reading_stopped == (c->on_readable == NULL));
    serverAssert(!c->on_hangup || (s->reading_stopped && !s->hangup_reported));
    serverAssert(s->reading_stopped || s->drain_and_close || s->write_failed ||
                 !(s->input_ended || s->parse_waits_for_auth));
    if (s->write_failed || c->state == CONN_ERROR) return;
    serverAssert((s->out_head != NULL) == (c->on_writable != NULL));
}

void clientIoCheck(const clientIo *s) {
    serverAssert(s->conn != NULL);
    checkInput(s);
    checkOutput(s);
    serverAssert(s->input_ended || !(s->end_reported || s->drain_and_close));
    serverAssert(s->linger_timer < 0 || (s->drain_and_close && !s->out_head && s->conn->loop));
    checkHandlers(s);
}
