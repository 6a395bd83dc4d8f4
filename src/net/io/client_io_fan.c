/* client_io_fan.c -- writes the same bytes to many connections of one thread.
 *
 * All batches of one run of messages are collected first, so that a connection named by several of them is written to
 * once: its entries form a list. Bytes that a socket does not accept become ordinary output of the connection: small
 * pieces are copied into its last block, large ones are referred to.
 *
 * Not here    other output (client_io_write.c), how main sorts connections by thread (session_fan.c).
 * Owns        the batches of the present run of messages; they go back to main at its end.
 * Threads     the owner thread.
 * Invariants  1. A connection that a batch names (in_fan) gets no other message before the batches are written: order
 *                is kept, and main learns what was kept before it gets any other message.
 *             2. Between two runs of messages there are no batches.
 * Cost        one write for each connection; no allocation unless a socket is full.
 * Tests       tests/unit/net/session/session_fan_test.c, tests/engine/pubsub.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "io_threads.h"
#include "panic.h"
#include "zmalloc.h"

#include <errno.h>

#define FAN_IOV_MAX 64
#define AHEAD 4
#define KEEP_COPIED_MAX 4096 /* longer pieces are referred to */

/* Returns whether the peer does not read any more, or is to be sent nothing more. */
static bool acceptsNothing(const clientIo *s) {
    return !s->conn || s->write_failed || s->drain_and_close || s->conn->state == CONN_ERROR;
}

/* ---- Bytes that a socket does not accept ------------------------------------------------------------------------ */

static fanKept *keptOf(fanBatch *b, clientIo *s) {
    b->kept = zgrowArray(b->kept, b->kept_count, &b->kept_capacity, sizeof(*b->kept));
    fanKept *k = &b->kept[b->kept_count++];
    *k = (fanKept){.io = s};
    return k;
}

/* Returns the block to which `room` bytes can be added, a new one if necessary; NULL if there is no memory. */
static replyBlock *tailFor(clientIo *s, size_t room, keptOutput *kept) {
    replyBlock *b = s->out_tail;
    if (b && replyBlockAvail(b) >= room) return b;
    b = replyBlockMake(room, !s->out_tail);
    if (!b) return NULL;
    if (s->out_tail) s->out_tail->next = b;
    else s->out_head = b;
    s->out_tail = b;
    kept->blocks++;
    kept->cost += replyBlockAllocSize(b);
    return b;
}

/* Turns the bytes of the entry, from offset `from` on, into output of the connection. Returns false if there is no
 * memory. */
static bool ioFanKeep(clientIo *s, const fanEntry *e, size_t from) {
    fanBatch *batch = (fanBatch *)(uintptr_t)e->batch;
    slice rest = sliceOf(batch->text.ptr + from, batch->text.len - from);
    bool copied = rest.len <= KEEP_COPIED_MAX;
    fanKept *k = keptOf(batch, s);
    replyBlock *b = tailFor(s, copied ? rest.len : sizeof(replyRef), &k->output);
    if (!b) return false;
    if (copied) {
        replyBlockAddBytes(b, rest);
    } else {
        k->output.cost += replyBlockAddRef(b, batch->bytes, rest);
        k->refs++;
    }
    k->output.bytes += rest.len;
    return true;
}

/* ---- Writing ---------------------------------------------------------------------------------------------------- */

static void ioFanFail(clientIo *s) {
    s->fan_head = NULL;
    clientIoWriteFailed(s);
}

/* Keeps what is left of the first entries, of which `n` bytes were written, and of those after them, as output. */
static void keepRest(clientIo *s, size_t n) {
    for (const fanEntry *e = s->fan_head; e; e = e->next) {
        size_t len = e->batch->text.len, written = n < len ? n : len;
        n -= written;
        if (written < len && !ioFanKeep(s, e, written)) {
            ioFanFail(s);
            return;
        }
    }
    s->fan_head = NULL;
    if (s->out_head) clientIoWatchOutput(s);
}

/* Fills the iovecs with as many entries as one call can write. Returns the first entry left out, or NULL. */
static const fanEntry *ioFanGather(const fanEntry *e, struct iovec *iov, int *count, size_t *bytes) {
    *count = 0;
    *bytes = 0;
    for (; e && *count < FAN_IOV_MAX; e = e->next) {
        iov[(*count)++] = (struct iovec){(void *)(uintptr_t)e->batch->text.ptr, e->batch->text.len};
        *bytes += e->batch->text.len;
    }
    return e;
}

static void writeFanned(clientIo *s) {
    struct iovec iov[FAN_IOV_MAX];
    int count;
    size_t wanted;
    while (s->fan_head) {
        const fanEntry *rest = ioFanGather(s->fan_head, iov, &count, &wanted);
        netCounterAdd(&s->owner->stats.writes, 1);
        ssize_t n = connWritev(s->conn, iov, count);
        if (n <= 0 && !(n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))) {
            ioFanFail(s);
            return;
        }
        size_t written = n > 0 ? (size_t)n : 0;
        netCounterAdd(&s->owner->stats.net_output, written);
        clientIoNoteWork(s, WORK_SOCKET_NS, written);
        netCounterAdd(&s->fanned_bytes, written);
        if (written < wanted) {
            keepRest(s, written);
            return;
        }
        s->fan_head = (fanEntry *)(uintptr_t)rest;
    }
}

/* ---- A run of messages ------------------------------------------------------------------------------------------ */

static void ioFanTakeEntry(fanEntry *e) {
    clientIo *s = e->io;
    if (unlikely(acceptsNothing(s))) {
        e->io = NULL;
        return;
    }
    s->in_fan = true;
    if (s->fan_head) {
        s->fan_tail->next = e;
    } else if (s->out_head) { /* its socket is full */
        if (!ioFanKeep(s, e, 0)) clientIoWriteFailed(s);
        return;
    } else {
        s->fan_head = e;
    }
    s->fan_tail = e;
}

void clientIoTakeFan(ioOwner *h, fanBatch *b) {
    b->next = NULL;
    if (h->fan_tail) h->fan_tail->next = b;
    else h->fan_head = b;
    h->fan_tail = b;
    for (size_t i = 0; i < b->count; i++) {
        if (i + AHEAD < b->count) {
            prefetchWrite(b->entries[i + AHEAD].io);
            prefetchWrite(&b->entries[i + AHEAD].io->out_head);
        }
        debugAssert(b->entries[i].io->owner == h);
        ioFanTakeEntry(&b->entries[i]);
    }
}

void clientIosFan(ioOwner *h) {
    if (likely(!h->fan_head)) return;
    monotime now = clockTicks();
    for (fanBatch *b = h->fan_head; b; b = b->next) {
        for (size_t i = 0; i < b->count; i++) {
            clientIo *s = b->entries[i].io;
            if (!s) continue;
            if (s->fan_head) {
                atomic_store_explicit(&s->last_bytes, now, memory_order_relaxed);
                writeFanned(s);
            }
            s->in_fan = false;
        }
    }
    fanBatch *b = h->fan_head;
    h->fan_head = h->fan_tail = NULL;
    while (b) {
        fanBatch *next = b->next;
        ioMessage m = {.type = IO_MSG_FANNED, .fan = b};
        ioThreadPostToMain(h, &m);
        b = next;
    }
}
