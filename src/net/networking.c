/* networking.c -- the stream half at work: read, parse, hand over, write.
 *
 * Reading fills a request block, parsing makes records in it, and the block goes to main as soon as no
 * whole request is left in the bytes; the rest is the start of the next block. Writing goes through
 * writevToClient(), which sends reply bytes and the values they refer to from where they lie.
 *
 * Not here    threads and messages (io_threads.c), records (request_block.c), execution (command_batch.c).
 * Owns        a stream's holder half.
 * Threads     the holder; with one thread that is main.
 * Invariants  1. Requests reach main in the order of their bytes, replies the socket in the order of the chain.
 *             2. After IO_MSG_END nothing is sent to main for the stream but IO_MSG_WRITTEN, IO_MSG_LEFT and
 *                IO_MSG_GONE.
 *             3. A block or reference is owned by one side; the socket is closed only on main's word.
 * Cost        one read and one writev for what a client has sent; no allocation per request.
 * Tests       tests/unit/net/networking_test.c, tests/engine/protocol.tcl, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "io_threads.h"
#include "net_settings.h"
#include "panic.h"
#include "stream.h"
#include "zmalloc.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#define READS_PER_EVENT 4            /* then other clients of the thread get their turn */
#define READ_LARGE_BYTES (64 * 1024) /* room for a read while large arguments come faster than they are read */
#define WRITE_PER_EVENT (384 * 1024) /* bytes for one client in one turn: 16 replies of 16 KiB go at once */
#define WRITE_IOV_MAX 512
#define VALUE_PREFETCH_BYTES 1024
#define INFLIGHT_BYTES_MAX (256 * 1024) /* main is this far behind one client: stop reading it */
#define INFLIGHT_BLOCKS_MAX 4
#define LINGER_LOOK_MS 2000 /* a peer that takes nothing for so long, or needs so many looks, is not waited for */
#define LINGER_LOOKS_MAX 30
#define KEEP_PARSED_ARGS 64  /* a request cut off before it had so many arguments ... */
#define KEEP_BODY_BYTES 4096 /* ... and not inside one so long, is parsed again from its start */

static void onReadable(connection *conn);
static void onWritable(connection *conn);

/* At both ends of each function that the loop or a message calls. */
static void debugCheck(const clientStream *s) {
#ifdef DEBUG_ASSERTIONS
    streamCheck(s);
#else
    unused(s);
#endif
}

/* --- messages to main ---------------------------------------------------------------------------- */

static void reportEnd(clientStream *s, endReason why) {
    s->input_ended = true;
    if (s->end_reported) return;
    s->end_reported = true;
    ioMessage m = {.type = IO_MSG_END, .number = (uint16_t)why, .stream = s};
    ioThreadPostToMain(s->holder, &m);
}

static void reportWritten(clientStream *s) {
    if (!s->done && !s->done_bytes) return;
    ioMessage m = {.type = IO_MSG_WRITTEN, .stream = s, .bytes = s->done_bytes, .reply = s->done};
    s->done = NULL;
    s->done_bytes = 0;
    ioThreadPostToMain(s->holder, &m);
}

static void reportLater(clientStream *s) {
    if (s->has_unreported) return;
    s->has_unreported = true;
    s->next_unreported = s->holder->unreported;
    s->holder->unreported = s;
}

void streamReport(streamHolder *h) {
    while (h->unreported) {
        clientStream *s = h->unreported;
        h->unreported = s->next_unreported;
        s->has_unreported = false;
        reportWritten(s);
    }
}

static void forgetReport(clientStream *s) {
    if (!s->has_unreported) return;
    clientStream **p = &s->holder->unreported;
    while (*p != s) p = &(*p)->next_unreported;
    *p = s->next_unreported;
    s->has_unreported = false;
}

/* --- parsing ------------------------------------------------------------------------------------- */

/* The parser's array of arguments: the thread's, lent to one reader at a time. */
static bool growArgs(requestReader *r, size_t want) {
    size_t cap = r->args_cap ? r->args_cap * 2 : 64;
    if (cap < want) cap = want;
    requestArg *grown = ztryrealloc(r->args, cap * sizeof(*grown));
    if (!grown) return false;
    r->args = grown;
    r->args_cap = cap;
    return true;
}

static void lendArgs(clientStream *s) {
    if (s->reader.args) return; /* kept from a request that came in parts */
    s->reader.args = s->holder->args;
    s->reader.args_cap = s->holder->args_cap;
    s->holder->args = NULL;
    s->holder->args_cap = 0;
}

static void takeArgsBack(clientStream *s) {
    if (s->holder->args) {
        zfree(s->reader.args);
    } else {
        s->holder->args = s->reader.args;
        s->holder->args_cap = s->reader.args_cap;
    }
    s->reader.args = NULL;
    s->reader.args_cap = 0;
}

static requestLimits limitsOf(const clientStream *s) {
    return (requestLimits){
        .args_max = INT_MAX,
        .bulk_len_max = atomic_load_explicit(&net_shared.proto_max_bulk_len, memory_order_relaxed),
        .authenticated = s->authenticated,
    };
}

/* A malformed request: main answers with the text, behind all replies before it, and closes. */
static void parseFailed(clientStream *s, requestBlock *b) {
    requestBlockAddError(b, sliceOf(s->reader.error, s->reader.error_len));
    s->input_ended = true;
    s->partial = NULL;
    connSetReadHandler(s->conn, NULL);
}

/* "POST / HTTP" or "Host: ...": somebody makes a browser talk to us. No command may be executed. */
static bool crossProtocol(const clientStream *s, const requestBlock *b) {
    if (s->reader.argc == 0) return false;
    return requestIsCrossProtocol(sliceOf(b->buf + s->reader.args[0].offset, s->reader.args[0].len));
}

/* Make records of all whole requests in the block. The rest stays: request_start tells from where. */
static void parseBlock(clientStream *s, requestBlock *b) {
    requestReader *r = &s->reader;
    lendArgs(s);
    requestLimits limits = limitsOf(s);
    while (s->request_start < b->len && !s->input_ended) {
        readState state = readerFeed(r, &limits, b->buf, b->len);
        if (unlikely(state == READ_BAD)) {
            if (r->unauthenticated && s->inflight_blocks + (b->first != NULL) > 0) {
                /* A command before this one may be AUTH: ask again when main has executed it. */
                s->parse_waits_for_auth = true;
                readerReset(r, s->request_start);
                break;
            }
            parseFailed(s, b);
            break;
        }
        if (state != READ_DONE) break;
        if (unlikely(crossProtocol(s, b))) {
            reportEnd(s, END_CROSS_PROTOCOL);
            break;
        }
        if (r->argc > 0 && unlikely(!requestBlockAddCommand(&s->holder->pool, b, r, s->request_start))) {
            readerOutOfMemory(r);
            parseFailed(s, b);
            break;
        }
        s->request_start = r->pos;
        readerReset(r, r->pos);
    }
    bool keep = r->argc >= KEEP_PARSED_ARGS || (r->state == READ_BODY && r->body_len >= KEEP_BODY_BYTES);
    if (keep && r->state != READ_DONE && r->state != READ_BAD) return;
    if (r->state != READ_BAD) readerReset(r, s->request_start);
    takeArgsBack(s);
}

/* The rest of `b` becomes the start of a block of its own: where it stood at request_start it now stands at 0. */
static void carryRest(clientStream *s, requestBlock *b) {
    size_t start = s->request_start, rest = b->len - start;
    requestBlock *next = rest && !s->input_ended ? requestBlockGet(&s->holder->pool) : NULL;
    if (next && rest > next->cap && unlikely(!requestBlockReserve(&s->holder->pool, next, rest))) {
        requestBlockPut(&s->holder->pool, next);
        next = NULL;
        readerOutOfMemory(&s->reader);
        parseFailed(s, b); /* behind what is whole */
    }
    if (next) {
        memcpy(next->buf, b->buf + start, rest);
        next->len = rest;
        for (size_t i = 0; i < s->reader.argc && s->reader.args; i++) s->reader.args[i].offset -= start;
        s->reader.pos -= start;
        s->partial = next;
    } else {
        s->partial = NULL;
        readerReset(&s->reader, 0);
    }
    s->request_start = 0;
    b->len = start;
}

static void handOver(clientStream *s, requestBlock *b) {
    s->inflight_blocks++;
    s->holder->commands += (unsigned)b->commands;
    s->inflight_bytes += b->wire_bytes;
    ioMessage m = {.type = IO_MSG_REQUESTS, .stream = s, .block = b};
    if (s->done_bytes <= UINT32_MAX) { /* what was written goes along */
        m.reply = s->done;
        m.written = (uint32_t)s->done_bytes;
        s->done = NULL;
        s->done_bytes = 0;
    }
    ioThreadPostToMain(s->holder, &m);
}

/* Parse what the partial block holds and hand over what is whole. */
static void parseAndHandOver(clientStream *s) {
    requestBlock *b = s->partial;
    parseBlock(s, b);
    if (b->first) {
        carryRest(s, b);
        handOver(s, b);
    } else if (s->request_start == b->len || s->input_ended) { /* only empty requests, or nothing to keep */
        requestBlockPut(&s->holder->pool, b);
        s->partial = NULL;
        s->request_start = 0;
        readerReset(&s->reader, 0);
    }
}

/* --- reading ------------------------------------------------------------------------------------- */

static bool tooFarAhead(const clientStream *s) {
    return s->inflight_blocks >= INFLIGHT_BLOCKS_MAX || s->inflight_bytes >= INFLIGHT_BYTES_MAX ||
           s->parse_waits_for_auth;
}

static void updateReading(clientStream *s) {
    if (!s->conn || !s->conn->loop) return;
    bool stop = s->input_ended || tooFarAhead(s);
    if (s->drain_and_close) stop = false; /* it goes on listening: a reset arrives as readable */
    if (stop == s->reading_stopped) return;
    s->reading_stopped = stop;
    connSetReadHandler(s->conn, stop ? NULL : onReadable);
}

/* Room for what is to come: the whole of an argument under way if it is large, but not more at once than has already
 * arrived, so that an announced length alone costs nothing. False: there is no room, and no memory. */
static bool makeRoom(const clientStream *s, requestBlock *b) {
    size_t missing = readerMissing(&s->reader, b->len);
    size_t room = b->cap - b->len;
    /* Behind a large argument that filled the last read more of its kind wait. Fewer reads mean fewer rests to carry
     * on. */
    bool many = s->read_filled && missing && s->reader.body_len >= KEEP_BODY_BYTES && b->len < READ_LARGE_BYTES;
    size_t want = many ? READ_LARGE_BYTES : REQUEST_BUF_BYTES;
    if (room >= want / 2 || (!many && missing && room >= missing)) return true;
    if (missing > want) want = missing;
    size_t most = b->len > 4 * 1024 * 1024 ? b->len : 4 * 1024 * 1024;
    if (want > most) want = most;
    return room >= want || requestBlockReserve(&s->holder->pool, b, want) || room > 0;
}

/* A request that cannot be held: the client is told, behind all replies before it, and the connection ends. */
static void refuseForMemory(clientStream *s) {
    requestBlock *b = s->partial;
    readerOutOfMemory(&s->reader);
    if (s->reader.args) takeArgsBack(s);
    parseFailed(s, b);
    carryRest(s, b);
    handOver(s, b);
}

static bool queryLimitReached(const requestBlock *b) {
    long long limit = atomic_load_explicit(&net_shared.client_query_buffer_limit, memory_order_relaxed);
    return (long long)b->len > limit;
}

/* What a request that is not whole yet costs, for main to see. */
static void showQuerySize(clientStream *s) {
    const requestBlock *b = s->partial;
    atomic_store_explicit(&s->query_used, b ? b->len : 0, memory_order_relaxed);
    atomic_store_explicit(&s->query_room, b ? b->cap - b->len : 0, memory_order_relaxed);
}

/* Part of a request has come or part of the output has gone: the client is not idle. Not called where a command runs
 * anyway, which says so itself: the clock is read beside a rare system call, never for a short request or reply. */
static void noteBytes(clientStream *s) {
    atomic_store_explicit(&s->last_bytes, clockTicks(), memory_order_relaxed);
}

/* One read. False when there is no more to read now. */
static bool readOnce(clientStream *s) {
    requestBlock *b = s->partial;
    if (!b) {
        b = s->partial = requestBlockGet(&s->holder->pool);
        s->request_start = 0;
        readerReset(&s->reader, 0);
    } else {
        if (unlikely(!makeRoom(s, b))) {
            refuseForMemory(s);
            return false;
        }
    }
    size_t room = b->cap - b->len;
    ssize_t n = connRead(s->conn, b->buf + b->len, room);
    holderStatAdd(&s->holder->stats.reads, 1);
    if (n <= 0) {
        if (b->len == 0) {
            requestBlockPut(&s->holder->pool, b);
            s->partial = NULL;
        }
        if (n < 0 && s->conn->state == CONN_CONNECTED) return false;
        reportEnd(s, n == 0 ? END_EOF : END_ERROR);
        return false;
    }
    holderStatAdd(&s->holder->stats.net_input, (uint64_t)n);
    b->len += (size_t)n;
    bool full = (size_t)n == room;
    s->read_filled = full;
    parseAndHandOver(s);
    if (s->partial) {
        noteBytes(s);
        if (queryLimitReached(s->partial)) {
            reportEnd(s, END_QUERY_LIMIT);
            return false;
        }
    }
    return full || connHasPending(s->conn);
}

static void reportDrained(clientStream *s) {
    s->end_reported = false; /* the end of input may have been reported before */
    reportEnd(s, END_DRAINED);
}

static long long onLingerTimer(aeEventLoop *loop, long long id, void *arg) {
    unused(loop), unused(id);
    clientStream *s = arg;
    size_t unsent = connUnsent(s->conn);
    if (unsent && unsent < s->linger_unsent && ++s->linger_looks < LINGER_LOOKS_MAX) {
        s->linger_unsent = unsent;
        return LINGER_LOOK_MS;
    }
    s->linger_timer = -1;
    reportDrained(s);
    return AE_NOMORE;
}

static void stopLingering(clientStream *s) {
    if (s->linger_timer >= 0) aeDeleteTimeEvent(s->holder->loop, s->linger_timer);
    s->linger_timer = -1;
}

/* All output is with the kernel. To close a socket with input that nobody has read makes a reset of it, which throws
 * away what the peer has not got yet: so, unless the input has ended or the peer has all, tell it that this was the end
 * and wait for its own, reading what it still sends. */
static void outputDrained(clientStream *s) {
    if (s->linger_timer >= 0) return;
    s->linger_unsent = s->conn->state == CONN_CONNECTED ? connUnsent(s->conn) : 0;
    if (s->linger_unsent == 0) {
        reportDrained(s);
        return;
    }
    connFinish(s->conn);
    s->linger_looks = 0;
    s->linger_timer = aeCreateTimeEvent(s->holder->loop, LINGER_LOOK_MS, onLingerTimer, s);
}

/* Output is being drained: what still comes in is thrown away, only the end of the connection matters. */
static void discardInput(clientStream *s) {
    char scrap[4096];
    ssize_t n = connRead(s->conn, scrap, sizeof(scrap));
    if (n > 0 || (n < 0 && s->conn->state == CONN_CONNECTED)) return;
    s->reading_stopped = true;
    connSetReadHandler(s->conn, NULL);
    if (n == 0 && s->out_head) return; /* half closed: the peer may still read */
    reportDrained(s);
}

static void onReadable(connection *conn) {
    clientStream *s = conn->owner;
    debugCheck(s);
    s->holder->reads++;
    if (s->drain_and_close) {
        discardInput(s);
        debugCheck(s);
        return;
    }
    for (int i = 0; i < READS_PER_EVENT && !s->input_ended && !tooFarAhead(s); i++)
        if (!readOnce(s)) break;
    showQuerySize(s);
    updateReading(s);
    debugCheck(s);
}

/* --- writing ------------------------------------------------------------------------------------- */

/* Where a write goes on: a walk over the pieces of a chain, bytes and references in turn. */
typedef struct pieceWalk {
    const replyBlock *block;
    uint32_t ref;  /* next reference of the block */
    size_t offset; /* next byte of the block's own */
    size_t skip;   /* of the pieces to come: already sent */
    bool cold;     /* another thread has executed the commands: their values are not in this one's cache */
} pieceWalk;

/* Ask for the first lines of a value, so that the kernel's copy of many values does not wait for them one by one. */
static void prefetchValue(const char *p, size_t len) {
    if (len > VALUE_PREFETCH_BYTES) len = VALUE_PREFETCH_BYTES;
    for (size_t at = 0; at < len; at += CACHE_LINE) prefetchRead(p + at);
}

/* The next piece, or false at the end of the block. */
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

/* Fill iovecs from the head of the chain, up to `max_bytes`: the last piece is cut there, as one value may be larger.
 */
static int gatherPieces(const clientStream *s, struct iovec *iov, int max, size_t max_bytes, size_t *bytes) {
    int n = 0;
    size_t total = 0;
    for (const replyBlock *b = s->out_head; b && n < max && total < max_bytes; b = b->next) {
        pieceWalk w = {.block = b, .skip = b->sent, .cold = !s->holder->direct};
        while (n < max && total < max_bytes && nextPiece(&w, &iov[n])) total += iov[n++].iov_len;
    }
    if (total > max_bytes) {
        iov[n - 1].iov_len -= total - max_bytes;
        total = max_bytes;
    }
    *bytes = total;
    return n;
}

static void finishBlock(clientStream *s, replyBlock *b) {
    b->next = s->done;
    s->done = b;
}

/* `n` bytes have gone: advance, and let go of blocks that are complete. */
static void advanceOutput(clientStream *s, size_t n) {
    s->done_bytes += n;
    holderStatAdd(&s->holder->stats.net_output, n);
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
}

static ssize_t writeSome(clientStream *s, size_t most, size_t *wanted) {
    struct iovec iov[WRITE_IOV_MAX];
    int n = gatherPieces(s, iov, WRITE_IOV_MAX, most, wanted);
    return connWritev(s->conn, iov, n);
}

/* Write as much output as the socket takes, straight from the blocks and the values they refer to. False when the
 * connection failed. */
static bool writevToClient(clientStream *s) {
    size_t total = 0;
    while (s->out_head && total < WRITE_PER_EVENT) {
        size_t wanted = 0;
        holderStatAdd(&s->holder->stats.writes, 1);
        ssize_t n = writeSome(s, WRITE_PER_EVENT - total, &wanted);
        if (n <= 0) {
            if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) break; /* the socket is full */
            s->write_failed = true;
            return false;
        }
        total += (size_t)n;
        advanceOutput(s, (size_t)n);
        if ((size_t)n < wanted) break;
    }
    if (total) reportLater(s);
    return true;
}

static void dropOutput(clientStream *s) {
    while (s->out_head) {
        replyBlock *b = s->out_head;
        s->out_head = b->next;
        finishBlock(s, b);
    }
    s->out_tail = NULL;
}

/* The peer takes no more: what waits for it goes back to main, which may execute nothing until it is gone. */
static void giveOutputBack(clientStream *s) {
    while (s->out_head) {
        replyBlock *b = s->out_head;
        s->out_head = b->next;
        s->done_bytes += b->total - b->sent;
        finishBlock(s, b);
    }
    s->out_tail = NULL;
    reportLater(s);
}

static void writeAndWatch(clientStream *s) {
    if (!writevToClient(s)) {
        connSetWriteHandler(s->conn, NULL);
        giveOutputBack(s);
        if (s->drain_and_close) reportDrained(s);
        else reportEnd(s, END_ERROR);
        return;
    }
    connSetWriteHandler(s->conn, s->out_head ? onWritable : NULL);
    if (s->drain_and_close && !s->out_head) outputDrained(s);
}

static void onWritable(connection *conn) {
    clientStream *s = conn->owner;
    debugCheck(s);
    noteBytes(s); /* the peer has made room */
    writeAndWatch(s);
    debugCheck(s);
}

/* --- on main's word -------------------------------------------------------------------------------- */

/* Behind output that waits: small replies move into the last block as far as they fit, so that a peer that reads
 * slowly costs what its replies take and not a block for each turn. The emptied blocks go back with the next report,
 * which is how main learns that they cost nothing any more. */
static void queueOutput(clientStream *s, replyBlock *chain) {
    while (chain) {
        replyBlock *b = chain;
        chain = b->next;
        b->next = NULL;
        if (replyBlockMove(s->out_tail, b)) {
            finishBlock(s, b);
            reportLater(s);
            continue;
        }
        s->out_tail->next = b;
        s->out_tail = b;
    }
}

static void takeOutput(clientStream *s, replyBlock *chain) {
    if (s->out_tail) { /* the write handler is installed already */
        queueOutput(s, chain);
        return;
    }
    s->out_head = chain;
    while (chain->next) chain = chain->next;
    s->out_tail = chain;
    if (!s->conn) return;
    if (s->conn->state == CONN_ERROR || s->write_failed) giveOutputBack(s); /* nobody there; main has been told */
    else writeAndWatch(s);
}

static void takeReturned(clientStream *s, requestBlock *chain) {
    while (chain) {
        requestBlock *next = chain->next;
        s->inflight_blocks--;
        s->inflight_bytes -= chain->wire_bytes;
        requestBlockPut(&s->holder->pool, chain);
        chain = next;
    }
    if (unlikely(s->parse_waits_for_auth) && s->inflight_blocks == 0) {
        s->parse_waits_for_auth = false;
        if (s->partial) parseAndHandOver(s);
    }
    if (s->reading_stopped) updateReading(s);
}

static void drainAndClose(clientStream *s) {
    s->drain_and_close = true;
    s->input_ended = true;
    updateReading(s);
    if (s->conn->state == CONN_ERROR || s->write_failed) reportDrained(s);
    else if (!s->out_head) outputDrained(s);
}

/* The connection is (or, after a failed handshake, is not) ready for bytes. */
static void onAccepted(connection *conn) {
    clientStream *s = conn->owner;
    if (conn->state != CONN_CONNECTED) reportEnd(s, END_ERROR);
    else updateReading(s);
}

static void attach(clientStream *s, streamHolder *h) {
    s->holder = h;
    int fds = aeGetSetSize(h->loop);
    if (s->conn->fd >= fds) aeResizeSetSize(h->loop, s->conn->fd >= 2 * fds ? s->conn->fd + 1 : 2 * fds);
    if (connAttach(s->conn, h->loop) == C_ERR) {
        reportEnd(s, END_ERROR);
        return;
    }
    s->reading_stopped = true;
    if (s->conn->state == CONN_ACCEPTING) {
        connAccept(s->conn, onAccepted);
        return;
    }
    updateReading(s);
    if (s->out_head && !s->write_failed) connSetWriteHandler(s->conn, onWritable);
}

static void detach(clientStream *s) {
    reportWritten(s);
    forgetReport(s);
    stopLingering(s);
    connDetach(s->conn);
    connSetReadHandler(s->conn, NULL);
    connSetWriteHandler(s->conn, NULL);
    ioMessage m = {.type = IO_MSG_LEFT, .stream = s};
    ioThreadPostToMain(s->holder, &m);
}

static void closeStream(clientStream *s) {
    forgetReport(s);
    stopLingering(s);
    connClose(s->conn);
    s->conn = NULL;
    dropOutput(s);
    if (s->partial) requestBlockPut(&s->holder->pool, s->partial);
    s->partial = NULL;
    if (s->reader.args) takeArgsBack(s);
    ioMessage m = {.type = IO_MSG_GONE, .stream = s, .bytes = s->done_bytes, .reply = s->done};
    s->done = NULL;
    s->done_bytes = 0;
    streamHolder *h = s->holder;
    s->holder = NULL; /* nothing is sent for the stream after this: it would have no sender */
    ioThreadPostToMain(h, &m);
}

void streamDeliver(streamHolder *h, const ioMessage *m) {
    clientStream *s = m->stream;
    if (m->type != IO_MSG_JOIN) {
        debugAssert(s->holder == h);
        debugCheck(s);
    }
    switch ((messageType)m->type) {
    case IO_MSG_JOIN:
        attach(s, h);
        s->authenticated = m->number & STREAM_AUTHENTICATED;
        break;
    case IO_MSG_LEAVE: detach(s); return; /* the stream is its next holder's, or main's: not to be touched */
    case IO_MSG_OUTPUT:
        s->authenticated = m->number & STREAM_AUTHENTICATED;
        /* Output first: a returned block may let more be parsed. */
        if (m->reply) takeOutput(s, m->reply);
        if (m->block) takeReturned(s, m->block);
        break;
    case IO_MSG_DRAIN: drainAndClose(s); break;
    case IO_MSG_CLOSE: closeStream(s); return;
    case IO_MSG_FREE:
    case IO_MSG_REQUESTS:
    case IO_MSG_WRITTEN:
    case IO_MSG_END:
    case IO_MSG_LEFT:
    case IO_MSG_GONE: serverPanic("message %d is not for a stream", m->type);
    }
    debugCheck(s);
}

/* --- making and freeing (main) ----------------------------------------------------------------------- */

clientStream *streamCreate(connection *conn, bool authenticated) {
    clientStream *s = zmallocAligned(CACHE_LINE, sizeof(*s));
    memset(s, 0, sizeof(*s));
    s->conn = conn;
    s->authenticated = authenticated;
    s->reader.grow = growArgs;
    s->linger_timer = -1;
    conn->owner = s;
    readerReset(&s->reader, 0);
    return s;
}

void streamFree(clientStream *s) {
    serverAssert(!s->conn && !s->session && !s->partial && !s->out_head && !s->done);
    zfree(s);
}
