/* request_block.c -- bytes of requests and the records made of them, in blocks that are used again.
 *
 * A large argument does not go through the buffer: its bytes are read to where they stay. The whole is one allocation
 * from the moment that a share of it has come, so that nothing is copied as it grows, and the value made of it is that
 * allocation.
 *
 * Not here    where a request ends (resp/request_reader.c), what a record says (engine/table/command_record.c), who
 *             reads and hands over (client_io_read.c).
 * Owns        the blocks of a thread's pool.
 * Threads     the holder of the stream; requestBlockPut() also on the next holder.
 * Invariants  1. A block in the pool has neither a buffer of its own nor large arguments nor samples.
 *             2. Only the first request of a block has large arguments.
 *             3. What a large argument under way has room for and has not got is told to zmallocUntouched().
 * Cost        one block for each read; no allocation per request beyond the value it builds. A large argument is copied
 *             as far as it came with its header, and once more at LARGE_ARG_TRUSTED if it is longer than that.
 * Tests       tests/unit/net/thread/request_block_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_block.h"

#include "lazyfree.h"
#include "panic.h"
#include "zmalloc.h"

/* One writer: a load and a store are enough. */
static void count(_Atomic uint64_t *counter, uint64_t bytes) {
    uint64_t now = atomic_load_explicit(counter, memory_order_relaxed);
    atomic_store_explicit(counter, now + bytes, memory_order_relaxed);
}

/* The block holds so much more beyond itself, which is used again. */
static void holds(requestPool *pool, requestBlock *b, size_t bytes) {
    b->extra_bytes += bytes;
    count(&pool->memory_in, bytes);
}

static void blockReset(requestBlock *b) {
    b->next = NULL;
    b->first = b->last = b->current = NULL;
    b->len = b->commands = b->wire_bytes = b->value_bytes = 0;
    recordArenaInit(&b->arena, b->inline_arena, REQUEST_ARENA_BYTES);
}

requestBlock *requestBlockGet(requestPool *pool) {
    requestBlock *b = pool->free;
    if (b) {
        pool->free = b->next;
        pool->count--;
    } else {
        b = zmalloc(sizeof(*b));
        b->buf = b->inline_buf;
        b->cap = REQUEST_BUF_BYTES;
        b->extra_bytes = 0;
        b->large = NULL;
        b->samples = NULL;
    }
    blockReset(b);
    return b;
}

/* What its allocation has beyond the bytes that have come. When all have come nothing is said of it any more: it counts
 * as that of any value. */
static ptrdiff_t largeUntouched(const largeArg *a) {
    return a->bytes && a->have < a->len ? (ptrdiff_t)(zmallocSize(a->bytes) - a->have) : 0;
}

static void largeFree(largeArg *a) {
    if (!a->bytes) return; /* taken */
    ptrdiff_t untouched = largeUntouched(a);
    lazyfreeBlock(a->bytes, a->room); /* first: what waits to be freed is not used either */
    zmallocUntouched(-untouched);
}

static __attribute__((noinline)) void blockFreeExtras(requestPool *pool, requestBlock *b) {
    debugAssert(b->cap >= REQUEST_BUF_BYTES);
    if (b->samples) {
        hotKeysCount(&pool->hot, b->samples);
        b->samples = NULL;
    }
    if (b->large) {
        largeArg *a = b->large;
        do largeFree(a = a->next);
        while (a != b->large);
        b->large = NULL;
    }
    if (b->buf != b->inline_buf) {
        lazyfreeBlock(b->buf, b->cap);
        b->buf = b->inline_buf;
        b->cap = REQUEST_BUF_BYTES;
    }
    b->extra_bytes = 0;
}

void requestBlockPut(requestPool *pool, requestBlock *b) {
    for (parsedCommand *p = b->current; p; p = p->next) /* those before it have run */
        if (p->value) lazyfreeUnknown(p->value);
    count(&pool->memory_out, b->value_bytes + b->extra_bytes);
    if (unlikely(b->extra_bytes)) blockFreeExtras(pool, b);
    recordArenaFree(&b->arena);
    if (pool->count >= REQUEST_POOL_MAX) {
        zfree(b);
        return;
    }
    b->next = pool->free;
    pool->free = b;
    pool->count++;
}

/* Samples count as extras, so that a block without any is not asked for them when it comes back. */
void requestBlockPick(requestPool *pool, requestBlock *b) {
    debugAssert(!b->samples && b->current == b->first);
    b->samples = hotKeysPick(&pool->hot, &b->arena, b->first, b->commands);
    if (b->samples) holds(pool, b, sizeof(requestSample));
}

void requestBlockExecuted(requestPool *pool, requestBlock *b) {
    count(&pool->memory_out, b->value_bytes);
    b->value_bytes = 0;
}

size_t requestBlockMemory(const requestBlock *b) {
    return sizeof(*b) + recordArenaMemory(&b->arena) + b->extra_bytes + b->value_bytes;
}

void requestPoolEmpty(requestPool *pool) {
    while (pool->free) {
        requestBlock *b = pool->free;
        pool->free = b->next;
        zfree(b);
        pool->count--;
    }
    serverAssert(pool->count == 0);
}

bool requestBlockReserve(requestPool *pool, requestBlock *b, size_t extra) {
    serverAssert(b->first == NULL);
    if (b->cap - b->len >= extra) return true;
    bool first = b->buf == b->inline_buf;
    size_t want = b->len + extra, before = first ? 0 : b->cap;
    if (want < b->cap * 2 && b->cap < (1 << 20)) want = b->cap * 2;
    size_t usable;
    char *grown = ztryreallocUsable(first ? NULL : b->buf, want, &usable);
    if (unlikely(!grown)) return false;
    if (first) memcpy(grown, b->buf, b->len);
    b->buf = grown;
    b->cap = usable;
    holds(pool, b, usable - before);
    return true;
}

/* --- large arguments ------------------------------------------------------------------------------ */

/* An allocation of exactly `room` bytes with the first `a->have` of what came before. False: no memory. */
static bool largeMove(largeArg *a, size_t room) {
    if (room > OBJ_STRING_MAX) return false; /* no value can be so long */
    /* Said before it is so: main may be looking how much is used. */
    ptrdiff_t untouched = (ptrdiff_t)(zmallocGoodSize(room) - a->have);
    zmallocUntouched(untouched);
    char *bytes = ztrymalloc(room);
    if (!bytes) {
        zmallocUntouched(-untouched);
        return false;
    }
    if (a->have) memcpy(bytes, a->bytes, a->have);
    if (a->bytes) largeFree(a);
    a->bytes = bytes;
    a->room = room;
    zmallocUntouched(largeUntouched(a) - untouched);
    return true;
}

/* Stands where a request with large arguments begins, instead of its '*', which has been read: so that who makes its
 * record finds that in the test for another first byte than '*', and others pay nothing for the question. */
#define SCATTERED_MARK '\0'

bool requestBlockLargeBegin(requestPool *pool, requestBlock *b, requestReader *r, size_t start) {
    serverAssert(b->first == NULL);
    serverAssert(r->state == READ_BODY && !requestBlockLargeOpen(b));
    size_t at = r->pos, here = b->len - at;
    largeArg *a = recordArenaAlloc(&b->arena, sizeof(*a));
    *a = (largeArg){.len = (size_t)r->body_len, .index = (uint32_t)r->argc};
    if (!largeMove(a, a->len < LARGE_ARG_TRUSTED ? a->len : LARGE_ARG_TRUSTED)) {
        readerOutOfMemory(r);
        return false;
    }
    if (!b->large) {
        b->large_bytes = 0;
        a->next = a;
    } else {
        a->next = b->large->next;
        b->large->next = a;
    }
    b->large = a;
    holds(pool, b, sizeof(*a)); /* so that extra_bytes is not 0 although nothing may have come yet */
    b->buf[start] = SCATTERED_MARK;
    if (!readerTakeBodyOut(r)) return false;
    if (here > a->len) here = a->len; /* whole, but its CRLF is not */
    for (size_t moved = 0; moved < here;) {
        size_t room;
        char *to = requestBlockLargeRoom(b, &room);
        if (!to) {
            readerOutOfMemory(r);
            return false;
        }
        if (room > here - moved) room = here - moved;
        memcpy(to, b->buf + at + moved, room);
        requestBlockLargeCame(pool, b, room);
        moved += room;
    }
    memmove(b->buf + at, b->buf + at + here, b->len - at - here);
    b->len -= here;
    return true;
}

char *requestBlockLargeRoom(requestBlock *b, size_t *room) {
    largeArg *a = b->large;
    debugAssert(requestBlockLargeOpen(b));
    if (unlikely(a->have == a->room) && !largeMove(a, a->len)) return NULL;
    *room = a->room - a->have;
    return a->bytes + a->have;
}

void requestBlockLargeCame(requestPool *pool, requestBlock *b, size_t n) {
    largeArg *a = b->large;
    debugAssert(n <= a->room - a->have);
    ptrdiff_t before = largeUntouched(a);
    a->have += n;
    b->large_bytes += n;
    zmallocUntouched(largeUntouched(a) - before);
    holds(pool, b, n);
}

/* --- records -------------------------------------------------------------------------------------- */

static parsedCommand *append(requestBlock *b, size_t argc) {
    parsedCommand *p = recordCreate(&b->arena, argc);
    if (b->last) b->last->next = p;
    else b->first = b->current = p;
    b->last = p;
    b->commands++;
    return p;
}

#define MANY_ARGS 16384 /* a record with so many is not taken for granted */

/* The first request of the block has large arguments: they lie elsewhere, and count from here on as what they become
 * when the commands have run: data, or nothing. */
static void gather(requestBlock *b, parsedCommand *p) {
    const largeArg *a = b->large;
    do {
        a = a->next;
        p->argv[a->index] = sliceOf(a->bytes, a->len);
    } while (a != b->large);
    p->flags |= REQ_SCATTERED;
    p->large = b->large->next;
    size_t wire_bytes = p->wire_len + b->large_bytes;
    p->wire_len = wire_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)wire_bytes;
    b->wire_bytes += b->large_bytes;
    b->extra_bytes -= b->large_bytes;
    b->value_bytes += b->large_bytes;
}

static __attribute__((noinline)) void oddForm(requestBlock *b, parsedCommand *p) {
    if (*p->wire == SCATTERED_MARK && b->large && p == b->first) gather(b, p);
    else p->flags |= REQ_INLINE;
}

bool requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t start) {
    debugAssert(r->state == READ_DONE && r->argc > 0);
    debugAssert(start < r->pos && r->pos <= b->len);
    if (unlikely(r->argc >= MANY_ARGS) && !recordArenaPrepare(&b->arena, r->argc)) return false;
    parsedCommand *p = append(b, r->argc);
    size_t wire_bytes = r->pos - start;
    b->wire_bytes += wire_bytes;
    p->wire = b->buf + start;
    p->wire_len = wire_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)wire_bytes;
    for (size_t i = 0; i < r->argc; i++) p->argv[i] = sliceOf(b->buf + r->args[i].offset, r->args[i].len);
    if (unlikely(*p->wire != '*')) oddForm(b, p);
    size_t bytes = recordComplete(&b->arena, &pool->cache, p, pool->thread_id);
    if (!bytes) return true;
    b->value_bytes += bytes;
    count(&pool->memory_in, bytes);
    return true;
}

void requestBlockAddEmpty(requestBlock *b, const requestReader *r, size_t start) {
    debugAssert(r->state == READ_DONE && r->argc == 0);
    parsedCommand *p = append(b, 1);
    p->flags = REQ_EMPTY;
    p->wire = b->buf + start;
    p->wire_len = (uint32_t)(r->pos - start); /* a line at most */
    p->argv[0] = sliceOf(p->wire, 0);
    b->wire_bytes += p->wire_len;
}

void requestBlockAddError(requestBlock *b, slice text) {
    parsedCommand *p = append(b, 1);
    char *copy = recordArenaAlloc(&b->arena, text.len);
    memcpy(copy, text.ptr, text.len);
    p->flags = REQ_PROTOCOL_ERROR;
    p->argv[0] = sliceOf(copy, text.len);
}
