/* client_io_write.c -- output to bytes on the wire: from where they are stored, as much as the socket accepts.
 *
 * writevToClient() sends reply bytes and the values that they refer to without a copy: it walks over the pieces of the
 * chain and fills the vector of one system call.
 *
 * Not here    what a reply block is (client/reply_block.c), what is reported to main (client_io_report.c).
 * Owns        a connection's unsent output.
 * Threads     the owner thread; with one thread that is main's own.
 * Invariants  1. Replies reach the socket in the order of the chain.
 *             2. While output is pending and the connection is up, a write handler is installed.
 * Cost        one writev for the pending output of a client; no allocation.
 * Tests       tests/unit/net/io/client_io_test.c, tests/engine/protocol.tcl, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "panic.h"

#include <errno.h>

#define WRITE_PER_EVENT (384 * 1024) /* for one client in one loop iteration: 16 replies of 16 KiB at once */
#define WRITE_IOV_MAX 512
#define VALUE_PREFETCH_BYTES 1024

static void onWritable(connection *conn);

/* Position of a write: a walk over the pieces of a chain, bytes and references in turn. */
typedef struct pieceWalk {
    const replyBlock *block;
    uint32_t ref;  /* next reference of the block */
    size_t offset; /* next byte of the block's own data */
    size_t skip;   /* bytes of the next pieces that are already sent */
    bool cold;     /* another thread has executed the commands: the values are not in this thread's cache */
} pieceWalk;

/* Prefetches the first lines of a value, so that the kernel's copies of many values do not wait for memory one by
 * one. */
static void prefetchValue(const char *p, size_t len) {
    if (len > VALUE_PREFETCH_BYTES) len = VALUE_PREFETCH_BYTES;
    for (size_t at = 0; at < len; at += CACHE_LINE) prefetchRead(p + at);
}

/* Stores the next piece in *out. Returns false at the end of the block. */
static bool nextPiece(pieceWalk *w, struct iovec *out) {
    const replyBlock *b = w->block;
    while (w->offset < b->used || w->ref < b->nrefs) {
        const replyRef *r = w->ref < b->nrefs ? replyBlockRef(b, w->ref) : NULL;
        const char *p;
        size_t len;
        if (r && r->offset == w->offset) {
            p = r->ptr;
            len = r->len;
            w->ref++;
            if (w->cold) prefetchValue(p, len);
        } else {
            size_t until = r ? r->offset : b->used;
            p = b->data + w->offset;
            len = until - w->offset;
            w->offset = until;
        }
        if (w->skip >= len) {
            w->skip -= len;
            continue;
        }
        out->iov_base = (void *)(uintptr_t)(p + w->skip);
        out->iov_len = len - w->skip;
        w->skip = 0;
        return true;
    }
    return false;
}

/* Fills iovecs from the head of the chain, up to `max_bytes`. The last piece is cut there, as one value may be
 * larger. */
static int gatherPieces(const clientIo *s, struct iovec *iov, int max, size_t max_bytes, size_t *bytes) {
    int n = 0;
    size_t total = 0;
    for (const replyBlock *b = s->out_head; b && n < max && total < max_bytes; b = b->next) {
        pieceWalk w = {.block = b, .skip = b->sent, .cold = !s->owner->direct};
        while (n < max && total < max_bytes && nextPiece(&w, &iov[n])) total += iov[n++].iov_len;
    }
    if (total > max_bytes) {
        iov[n - 1].iov_len -= total - max_bytes;
        total = max_bytes;
    }
    *bytes = total;
    return n;
}

static void finishBlock(clientIo *s, replyBlock *b) {
    b->next = s->done;
    s->done = b;
}

/* Advances the output by `n` written bytes, and moves complete blocks to `done`. */
static void advanceOutput(clientIo *s, size_t n) {
    s->done_bytes += n;
    netCounterAdd(&s->owner->stats.net_output, n);
    while (s->out_head) {
        replyBlock *b = s->out_head;
        size_t left = b->total - b->sent;
        if (n < left) {
            b->sent += n;
            return;
        }
        n -= left;
        s->out_head = b->next;
        if (!s->out_head) s->out_tail = NULL;
        finishBlock(s, b);
    }
    debugAssert(n == 0); /* no more was sent than there was */
}

static ssize_t writeSome(clientIo *s, size_t most, size_t *wanted) {
    struct iovec iov[WRITE_IOV_MAX];
    int n = gatherPieces(s, iov, WRITE_IOV_MAX, most, wanted);
    debugAssert(n > 0 && *wanted <= most);
    return connWritev(s->conn, iov, n);
}

/* Writes as much output as the socket accepts, directly from the blocks and the values that they refer to. Returns
 * false if the connection failed. */
static bool writevToClient(clientIo *s) {
    size_t total = 0;
    while (s->out_head && total < WRITE_PER_EVENT) {
        size_t wanted = 0;
        netCounterAdd(&s->owner->stats.writes, 1);
        ssize_t n = writeSome(s, WRITE_PER_EVENT - total, &wanted);
        if (n <= 0) {
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break; /* the socket is full */
            return false;
        }
        total += (size_t)n;
        advanceOutput(s, (size_t)n);
        if ((size_t)n < wanted) break;
    }
    clientIoNoteWork(s, WORK_SOCKET_NS, total);
    if (total) clientIoReportLater(s);
    return true;
}

void clientIoDropOutput(clientIo *s) {
    while (s->out_head) {
        replyBlock *b = s->out_head;
        s->out_head = b->next;
        finishBlock(s, b);
    }
    s->out_tail = NULL;
}

/* The peer accepts no more: returns its output to main, which may execute no further command of it before that. */
static void returnOutput(clientIo *s) {
    while (s->out_head) {
        replyBlock *b = s->out_head;
        s->out_head = b->next;
        s->done_bytes += b->total - b->sent;
        finishBlock(s, b);
    }
    s->out_tail = NULL;
    clientIoReportLater(s);
}

void clientIoWriteFailed(clientIo *s) {
    s->write_failed = true;
    connSetWriteHandler(s->conn, NULL);
    returnOutput(s);
    if (s->drain_and_close) clientIoReportDrained(s);
    else clientIoReportEnd(s, END_ERROR);
}

static void writeAndWatch(clientIo *s) {
    if (!writevToClient(s)) {
        clientIoWriteFailed(s);
        return;
    }
    connSetWriteHandler(s->conn, s->out_head ? onWritable : NULL);
    if (s->drain_and_close && !s->out_head) clientIoOutputDrained(s);
}

static void onWritable(connection *conn) {
    clientIo *s = conn->owner;
    clientIoDebugCheck(s);
    clientIoNoteBytes(s); /* the peer has read something */
    writeAndWatch(s);
    clientIoDebugCheck(s);
}

/* Appends to pending output: small replies move into the last block as far as they fit, so that a slow peer costs what
 * its replies take and not a block for each loop iteration. The emptied blocks go back with the next report, from which
 * main learns that they cost nothing any more. */
static void queueOutput(clientIo *s, replyBlock *chain) {
    while (chain) {
        replyBlock *b = chain;
        chain = b->next;
        b->next = NULL;
        if (replyBlockMove(s->out_tail, b)) {
            finishBlock(s, b);
            clientIoReportLater(s);
            continue;
        }
        s->out_tail->next = b;
        s->out_tail = b;
    }
}

void clientIoTakeOutput(clientIo *s, replyBlock *chain) {
    debugAssert(chain != NULL);
    if (s->out_tail) { /* the write handler is installed already */
        queueOutput(s, chain);
        return;
    }
    s->out_head = chain;
    while (chain->next) chain = chain->next;
    s->out_tail = chain;
    if (!s->conn) return;
    if (s->conn->state == CONN_ERROR || s->write_failed) returnOutput(s); /* the peer has failed; main knows */
    else writeAndWatch(s);
}

void clientIoWatchOutput(clientIo *s) {
    if (s->out_head && !s->write_failed) connSetWriteHandler(s->conn, onWritable);
}
