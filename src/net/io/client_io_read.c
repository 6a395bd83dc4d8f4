/* client_io_read.c -- bytes to requests: reads, parses, hands over.
 *
 * Reading fills a request block, parsing makes records in it, and the block goes to main as soon as the bytes hold no
 * further complete request; the rest begins the next block. A large argument is read into an allocation of its own
 * (request_block.h), a limited part of it in each event.
 *
 * Not here    where a request ends (resp/request_reader.c), records (request_block.c), execution (command_batch.c).
 * Owns        a connection's partial block and parser, and the counts of blocks that main has not returned.
 * Threads     the owner thread; with one thread that is main's own.
 * Invariants  1. Requests reach main in the order of their bytes.
 *             2. Only one thread uses a block at a time.
 * Cost        one read for what a client has sent; no allocation per request.
 * Tests       tests/unit/net/io/client_io_test.c, tests/engine/protocol.tcl, tests/engine/io_threads.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client_io_internal.h"

#include "io_threads.h"
#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

#include <limits.h>
#include <string.h>
#include <time.h>

#define READS_PER_EVENT 4                 /* then the thread serves its other clients */
#define READ_LARGE_BYTES (64 * 1024)      /* buffer for a read while arguments of some kilobytes fill each read */
#define READ_LARGE_ARG_BYTES (128 * 1024) /* at most this much of a large argument is read in one event */
#define INFLIGHT_BYTES_MAX (256 * 1024)   /* main is this far behind one client: stop reading from it */
#define INFLIGHT_BLOCKS_MAX 4
#define KEEP_PARSED_ARGS 64  /* a request cut off before it had so many arguments ... */
#define KEEP_BODY_BYTES 4096 /* ... and not inside one so long is parsed again from its start */
#define RESERVE_TRIES 20     /* one millisecond each */
#define KEEP_ARGS_MAX 16384  /* a larger array of arguments is not kept for other requests */

static void onReadable(connection *conn);

/* --- parsing ------------------------------------------------------------------------------------- */

/* Grows the parser's array of arguments, which the thread owns and one reader at a time uses. */
static bool growArgs(requestReader *r, size_t want) {
    size_t cap = r->args_cap ? r->args_cap * 2 : 64;
    if (cap < want) cap = want;
    requestArg *grown = ztryrealloc(r->args, cap * sizeof(*grown));
    if (!grown) return false;
    r->args = grown;
    r->args_cap = cap;
    return true;
}

static void borrowArgs(clientIo *s) {
    debugAssert(s->reader.args || s->reader.argc == 0);
    if (s->reader.args) return; /* kept from a request that came in parts */
    s->reader.args = s->owner->args;
    s->reader.args_cap = s->owner->args_cap;
    s->owner->args = NULL;
    s->owner->args_cap = 0;
    if (unlikely(!s->reader.args)) (void)growArgs(&s->reader, 1); /* the thread's first array */
}

static void returnArgs(clientIo *s) {
    if (s->owner->args || s->reader.args_cap > KEEP_ARGS_MAX) {
        zfree(s->reader.args);
    } else {
        s->owner->args = s->reader.args;
        s->owner->args_cap = s->reader.args_cap;
    }
    s->reader.args = NULL;
    s->reader.args_cap = 0;
}

static requestLimits limitsOf(const clientIo *s) {
    if (unlikely(s->trusted))
        return (requestLimits){.args_max = INT_MAX, .bulk_len_max = (long long)OBJ_STRING_MAX, .authenticated = true};
    return (requestLimits){
        .args_max = INT_MAX,
        .bulk_len_max = atomic_load_explicit(&net_shared.proto_max_bulk_len, memory_order_relaxed),
        .authenticated = s->authenticated,
    };
}

/* Makes main reply to a malformed request with the text, after all earlier replies, and close. */
static void ioReadRefuse(clientIo *s, requestBlock *b, slice text) {
    requestBlockAddError(b, text);
    s->input_ended = true;
    s->partial = NULL;
    connSetReadHandler(s->conn, NULL);
}

static void parseFailed(clientIo *s, requestBlock *b) {
    ioReadRefuse(s, b, sliceOf(s->reader.error, s->reader.error_len));
}

/* Returns whether the request is "POST / HTTP" or "Host: ...": a browser was made to connect here. No command may
 * run. */
static bool crossProtocol(const clientIo *s, const requestBlock *b) {
    if (s->reader.argc == 0) return false;
    return requestIsCrossProtocol(sliceOf(b->buf + s->reader.args[0].offset, s->reader.args[0].len));
}

/* Returns whether the request being read has large arguments, which are not in the buffer any more. */
static bool cannotReadAgain(const requestBlock *b) { return unlikely(b->large != NULL) && !b->first; }

/* Makes records of all complete requests in the block. The rest stays, from request_start on. */
static void parseBlock(clientIo *s, requestBlock *b) {
    requestReader *r = &s->reader;
    borrowArgs(s);
    requestLimits limits = limitsOf(s);
    while (s->request_start < b->len && !s->input_ended) {
        readState state = readerFeed(r, &limits, b->buf, b->len);
        if (unlikely(state == READ_BAD)) {
            if (r->unauthenticated && s->inflight_blocks + (b->first != NULL) > 0 && !cannotReadAgain(b)) {
                /* An earlier command may be AUTH: check again when main has executed it. */
                s->parse_waits_for_auth = true;
                readerReset(r, s->request_start);
                break;
            }
            parseFailed(s, b);
            break;
        }
        if (state != READ_DONE) break;
        if (unlikely(crossProtocol(s, b))) {
            clientIoReportEnd(s, END_CROSS_PROTOCOL);
            break;
        }
        if (unlikely(r->argc == 0)) {
            if (s->trusted) requestBlockAddEmpty(b, r, s->request_start); /* the replication offset counts all bytes */
        } else if (unlikely(!requestBlockAddCommand(&s->owner->pool, b, r, s->request_start))) {
            readerOutOfMemory(r);
            parseFailed(s, b);
            break;
        }
        s->request_start = r->pos;
        readerReset(r, r->pos);
    }
    bool keep = r->argc >= KEEP_PARSED_ARGS || (r->state == READ_BODY && r->body_len >= KEEP_BODY_BYTES) ||
                cannotReadAgain(b);
    if (keep && r->state != READ_DONE && r->state != READ_BAD) return;
    if (r->state != READ_BAD) readerReset(r, s->request_start);
    returnArgs(s);
}

/* Moves the rest of `b`, from request_start on, to the start of a new block. */
static void carryRest(clientIo *s, requestBlock *b) {
    size_t start = s->request_start, rest = b->len - start;
    requestBlock *next = rest && !s->input_ended ? requestBlockGet(&s->owner->pool) : NULL;
    if (next && rest > next->cap && unlikely(!requestBlockReserve(&s->owner->pool, next, rest))) {
        requestBlockPut(&s->owner->pool, next);
        next = NULL;
        readerOutOfMemory(&s->reader);
        parseFailed(s, b); /* after the complete requests */
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

static void handOver(clientIo *s, requestBlock *b) {
    debugAssert(b != s->partial);
    debugAssert(b->first && b->current == b->first);
    if (unlikely(!hotKeysPassBy(&s->owner->pool.hot, b->commands))) requestBlockPick(&s->owner->pool, b);
    if (unlikely(b->wire_bytes >= REQUESTS_LARGE)) requestBlockCount(&s->owner->pool, b);
    s->inflight_blocks++;
    s->owner->commands += (unsigned)b->commands;
    s->inflight_bytes += b->wire_bytes;
    ioMessage m = {.type = IO_MSG_REQUESTS, .io = s, .block = b};
    if (s->done_bytes <= UINT32_MAX) { /* report what was written with the same message */
        m.reply = s->done;
        m.written = (uint32_t)s->done_bytes;
        s->done = NULL;
        s->done_bytes = 0;
    }
    ioThreadPostToMain(s->owner, &m);
}

/* Parses the partial block and hands over the complete requests. */
static void parseAndHandOver(clientIo *s) {
    requestBlock *b = s->partial;
    parseBlock(s, b);
    if (b->first) {
        carryRest(s, b);
        handOver(s, b);
    } else if (s->request_start == b->len || s->input_ended) { /* only empty requests, or nothing to keep */
        clientIoNoteBytes(s); /* replicas that load their dataset send newlines to show that they are alive */
        requestBlockPut(&s->owner->pool, b);
        s->partial = NULL;
        s->request_start = 0;
        readerReset(&s->reader, 0);
    }
}

/* --- reading ------------------------------------------------------------------------------------- */

/* Returns whether main is behind, so that nothing more is read for now. A hangup is noticed nevertheless: else a
 * blocked client whose peer is closed would be served, and what it gets would be lost. */
static bool mustStopReading(const clientIo *s) {
    return s->inflight_blocks >= INFLIGHT_BLOCKS_MAX || s->inflight_bytes >= INFLIGHT_BYTES_MAX ||
           s->parse_waits_for_auth || s->awaits_user;
}

static void onHangup(connection *conn) {
    clientIo *s = conn->owner;
    clientIoDebugCheck(s);
    connSetHangupHandler(conn, NULL); /* else it would be reported in each loop iteration */
    if (s->end_reported) return;
    s->hangup_reported = true;
    ioMessage m = {.type = IO_MSG_HANGUP, .io = s};
    ioThreadPostToMain(s->owner, &m);
    clientIoDebugCheck(s);
}

void clientIoUpdateReading(clientIo *s) {
    if (!s->conn || !s->conn->loop) return;
    if (s->owner->only_handshakes && !s->drain_and_close) return; /* its next owner thread reads */
    connHandler *read = NULL, *hangup = NULL;
    if (s->drain_and_close) read = onReadable; /* a reset arrives as readable */
    else if (!s->input_ended && (!mustStopReading(s) || clientIoMayReadAhead(s))) read = onReadable;
    else if (!s->input_ended && !s->hangup_reported) hangup = onHangup;
    s->reading_stopped = !read;
    if (s->conn->on_readable == read && s->conn->on_hangup == hangup) return;
    if (likely((read ? connSetReadHandler(s->conn, read) : connSetHangupHandler(s->conn, hangup)) == C_OK)) return;
    /* The system cannot watch one more descriptor: nothing the peer does would be noticed. */
    s->reading_stopped = true;
    if (s->drain_and_close) clientIoReportDrained(s);
    else clientIoReportEnd(s, END_ERROR);
}

/* Reserves buffer for the next read: at least the rest of an incomplete argument that is not large. Returns false if
 * the buffer is full and there is no memory. */
static bool ioReadReserve(const clientIo *s, requestBlock *b) {
    size_t missing = readerMissing(&s->reader, b->len);
    size_t space = b->cap - b->len;
    /* After an argument of some kilobytes that filled the last read, more of its kind probably wait. Fewer reads mean
     * fewer rests to carry over. */
    bool many = s->read_filled && missing && s->reader.body_len >= KEEP_BODY_BYTES && b->len < READ_LARGE_BYTES;
    size_t want = many ? READ_LARGE_BYTES : REQUEST_BUF_BYTES;
    if (space >= want / 2 || (!many && missing && space >= missing)) return true;
    if (missing > want) want = missing;
    return requestBlockReserve(&s->owner->pool, b, want) || space > 0;
}

/* Refuses a request that is malformed or exceeds memory (the reader has the text): the client gets the error after all
 * earlier replies, and the connection ends. */
static void refuseRequest(clientIo *s) {
    requestBlock *b = s->partial;
    if (s->reader.args) returnArgs(s);
    parseFailed(s, b);
    carryRest(s, b);
    handOver(s, b);
}

/* Returns the bytes received of an incomplete request. */
static size_t querySize(const requestBlock *b) { return b->len + (b->large ? b->large_bytes : 0); }

/* Reads bytes of requests: those that were read ahead first. */
static ssize_t readBytes(clientIo *s, char *to, size_t space) {
    if (unlikely(s->ahead != NULL)) return (ssize_t)clientIoTakeAhead(s, to, space);
    ssize_t n = connRead(s->conn, to, space);
    netCounterAdd(&s->owner->stats.reads, 1);
    if (n > 0) netCounterAdd(&s->owner->stats.net_input, (uint64_t)n);
    return n;
}

/* Publishes the size of an incomplete request for main. Unfilled bytes of a large argument take no memory yet, so they
 * are left out. */
static void showQuerySize(clientIo *s) {
    const requestBlock *b = s->partial;
    atomic_store_explicit(&s->query_used, clientIoAheadBytes(s) + (b ? querySize(b) : 0), memory_order_relaxed);
    atomic_store_explicit(&s->query_free, b ? b->cap - b->len : 0, memory_order_relaxed);
}

/* Handles a read without bytes: end of file, an error, or nothing to read now. */
static void readNothing(clientIo *s, ssize_t n) {
    if (n < 0 && s->conn->state == CONN_CONNECTED) return;
    clientIoReportEnd(s, n == 0 ? END_EOF : END_ERROR);
}

/* Call after bytes of an incomplete request have arrived. Returns false, with the end reported, if it exceeds the
 * limit. */
static bool checkQueryLimit(clientIo *s) {
    clientIoNoteBytes(s);
    long long limit = atomic_load_explicit(&net_shared.client_query_buffer_limit, memory_order_relaxed);
    if (s->trusted || (long long)querySize(s->partial) <= limit) return true;
    clientIoReportEnd(s, END_QUERY_LIMIT);
    return false;
}

/* Reads once into the large argument, at most READ_LARGE_ARG_BYTES. Returns whether to read more in this event. */
static bool readLargeArg(clientIo *s, requestBlock *b) {
    size_t space;
    char *to = requestBlockLargeReserve(b, &space);
    if (unlikely(!to)) {
        readerOutOfMemory(&s->reader);
        refuseRequest(s);
        return false;
    }
    if (space > READ_LARGE_ARG_BYTES) space = READ_LARGE_ARG_BYTES;
    ssize_t n = readBytes(s, to, space);
    if (n <= 0) {
        readNothing(s, n);
        return false;
    }
    requestBlockLargeReceived(&s->owner->pool, b, (size_t)n);
    if (!checkQueryLimit(s)) return false;
    return ((size_t)n == space && !requestBlockLargeOpen(b)) || connHasPending(s->conn);
}

static __attribute__((noinline)) bool beginLargeArg(clientIo *s, requestBlock *b) {
    if (requestBlockLargeBegin(&s->owner->pool, b, &s->reader, s->request_start)) return true;
    refuseRequest(s);
    return false;
}

/* Reads once. Returns false if there is nothing more to read now. */
static bool readOnce(clientIo *s) {
    requestBlock *b = s->partial;
    if (!b) {
        b = s->partial = requestBlockGet(&s->owner->pool);
        s->request_start = 0;
        readerReset(&s->reader, 0);
    } else {
        if (unlikely(requestBlockLargeDue(b, &s->reader))) {
            if (!requestBlockLargeOpen(b) && !beginLargeArg(s, b)) return false;
            if (requestBlockLargeOpen(b)) return readLargeArg(s, b);
        }
        if (unlikely(!ioReadReserve(s, b))) {
            readerOutOfMemory(&s->reader);
            refuseRequest(s);
            return false;
        }
    }
    size_t space = b->cap - b->len;
    ssize_t n = readBytes(s, b->buf + b->len, space);
    if (n <= 0) {
        if (b->len == 0) {
            requestBlockPut(&s->owner->pool, b);
            s->partial = NULL;
        }
        readNothing(s, n);
        return false;
    }
    b->len += (size_t)n;
    bool full = (size_t)n == space;
    s->read_filled = full;
    parseAndHandOver(s);
    if (s->partial && !checkQueryLimit(s)) return false;
    return full || connHasPending(s->conn);
}

/* A thread without a memory reserve does not begin requests: meanwhile main closes clients for their output, and that
 * memory comes back within an iteration or two. After RESERVE_TRIES it goes on without a reserve. */
static __attribute__((noinline)) void waitForMemory(void) {
    struct timespec pause = {.tv_nsec = 1000 * 1000};
    for (int i = 0; i < RESERVE_TRIES && !zmallocKeepReserve(); i++) nanosleep(&pause, NULL);
}

static void onReadable(connection *conn) {
    clientIo *s = conn->owner;
    clientIoDebugCheck(s);
    s->owner->reads++;
    if (s->drain_and_close) {
        clientIoDiscardInput(s);
        clientIoDebugCheck(s);
        return;
    }
    if (unlikely(!zmallocKeepReserve())) waitForMemory();
    ioOwner *h = s->owner;
    uint64_t bytes = netCounterGet(&h->stats.net_input);
    unsigned commands = h->commands;
    for (int i = 0; i < READS_PER_EVENT && !s->input_ended && !mustStopReading(s); i++)
        if (!readOnce(s)) break;
    if (unlikely(s->reads_ahead) && !s->input_ended && mustStopReading(s)) clientIoReadAhead(s);
    bytes = netCounterGet(&h->stats.net_input) - bytes;
    clientIoNoteWork(s, WORK_SOCKET_NS + (uint64_t)(h->commands - commands) * WORK_COMMAND_NS, bytes);
    showQuerySize(s);
    clientIoUpdateReading(s);
    clientIoDebugCheck(s);
}

/* Makes requests of bytes that were read ahead, as far as main is not behind again. */
static void parseAhead(clientIo *s) {
    while (s->ahead && !s->input_ended && !mustStopReading(s)) readOnce(s);
    showQuerySize(s);
}

void clientIoTakeReturned(clientIo *s, requestBlock *chain) {
    while (chain) {
        requestBlock *next = chain->next;
        debugAssert(s->inflight_blocks > 0);
        debugAssert(s->inflight_bytes >= chain->wire_bytes);
        s->inflight_blocks--;
        s->inflight_bytes -= chain->wire_bytes;
        requestBlockPut(&s->owner->pool, chain);
        chain = next;
    }
    if (unlikely(s->parse_waits_for_auth) && s->inflight_blocks == 0) {
        s->parse_waits_for_auth = false;
        if (s->partial) parseAndHandOver(s);
    }
    if (unlikely(s->ahead != NULL)) parseAhead(s);
    if (s->reading_stopped) clientIoUpdateReading(s);
}

void clientIoDropInput(clientIo *s) {
    if (s->partial) requestBlockPut(&s->owner->pool, s->partial);
    s->partial = NULL;
    if (s->reader.args) returnArgs(s);
    clientIoDropAhead(s);
}

void clientIoInitReader(clientIo *s) {
    s->reader.grow = growArgs;
    readerReset(&s->reader, 0);
}
