/* request_block.c -- bytes of requests and the records made of them, in blocks that are reused.
 *
 * A large argument bypasses the buffer: its bytes are read to their final address. As soon as a part of it has arrived
 * the whole is one allocation, so that nothing is copied as it grows, and this allocation becomes the value.
 *
 * Not here    where a request ends (resp/request_reader.c), what a record holds (engine/table/command_record.c),
 *             reading and handing over (client_io_read.c).
 * Owns        the blocks of a thread's pool.
 * Threads     the owner thread of the connection; requestBlockPut() also on the next owner thread.
 * Invariants  1. A block in the pool has neither a buffer of its own nor large arguments nor samples.
 *             2. Only the first request of a block has large arguments.
 *             3. The unfilled bytes of a large argument being received are counted with zmallocUntouched().
 * Cost        one block for each read; no allocation per request but the value built for it. Of a large argument, the
 *             part that arrived with its header is copied once, and the first LARGE_ARG_TRUSTED bytes once more if it
 *             is longer than that.
 * Tests       tests/unit/net/thread/request_block_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_block.h"

#include "lazyfree.h"
#include "net_settings.h"
#include "panic.h"
#include "zmalloc.h"

/* Counts `bytes` more that the block owns beyond itself. */
static void requestBlockHolds(requestPool *pool, requestBlock *b, size_t bytes) {
    b->extra_bytes += bytes;
    netCounterAdd(&pool->memory_in, bytes);
}

static void blockReset(requestBlock *b) {
    b->next = NULL;
    b->first = b->last = b->current = NULL;
    b->len = b->commands = b->wire_bytes = b->value_bytes = b->counted_bytes = 0;
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

/* Returns the bytes of its allocation that are not filled yet. Once all have arrived it returns 0: the allocation
 * counts like any value. */
static ptrdiff_t largeUntouched(const largeArg *a) {
    return a->bytes && a->have < a->len ? (ptrdiff_t)(zmallocSize(a->bytes) - a->have) : 0;
}

static void largeFree(largeArg *a) {
    if (!a->bytes) return; /* a value has taken it */
    ptrdiff_t untouched = largeUntouched(a);
    lazyfreeBlock(a->bytes, a->capacity); /* first: memory queued to be freed does not count as used either */
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
    for (parsedCommand *p = b->current; p; p = p->next) /* those before `current` have run */
        if (p->value) lazyfreePrivate(p->value);
    netCounterAdd(&pool->memory_out, b->value_bytes + b->extra_bytes);
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

/* Samples count in extra_bytes, so that returning a block without extras needs no check for samples. */
void requestBlockPick(requestPool *pool, requestBlock *b) {
    debugAssert(!b->samples && b->current == b->first);
    b->samples = hotKeysPick(&pool->hot, &b->arena, b->first, b->commands);
    if (b->samples) requestBlockHolds(pool, b, sizeof(requestSample));
}

void requestBlockExecuted(requestPool *pool, requestBlock *b) {
    netCounterAdd(&pool->memory_out, b->value_bytes);
    b->value_bytes = 0;
}

void requestBlockCount(requestPool *pool, requestBlock *b) {
    if (b->counted_bytes) return;
    b->counted_bytes = sizeof(*b) + recordArenaMemory(&b->arena);
    netCounterAdd(&pool->large_in, b->counted_bytes);
}

void requestBlockUncount(requestPool *pool, requestBlock *b) {
    netCounterAdd(&pool->large_out, b->counted_bytes);
    b->counted_bytes = 0;
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
    requestBlockHolds(pool, b, usable - before);
    return true;
}

/* --- large arguments ------------------------------------------------------------------------------ */

/* Moves the argument to an allocation of exactly `room` bytes, with the first `a->have` bytes copied. Returns false if
 * there is no memory. */
static bool largeMove(largeArg *a, size_t room) {
    if (room > OBJ_STRING_MAX) return false; /* no value can be so long */
    /* Counted before the allocation: main may read the used memory at any time. */
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
    a->capacity = room;
    zmallocUntouched(largeUntouched(a) - untouched);
    return true;
}

/* Stored over the '*', which was read already, of a request that has large arguments. So the code that makes the record
 * finds such a request in its test for a first byte other than '*', and other requests pay nothing for it. */
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
    requestBlockHolds(pool, b, sizeof(*a)); /* so that extra_bytes is not 0 even if no byte has arrived yet */
    b->buf[start] = SCATTERED_MARK;
    if (!readerTakeBodyOut(r)) return false;
    if (here > a->len) here = a->len; /* complete except for its CRLF */
    for (size_t moved = 0; moved < here;) {
        size_t room;
        char *to = requestBlockLargeReserve(b, &room);
        if (!to) {
            readerOutOfMemory(r);
            return false;
        }
        if (room > here - moved) room = here - moved;
        memcpy(to, b->buf + at + moved, room);
        requestBlockLargeReceived(pool, b, room);
        moved += room;
    }
    memmove(b->buf + at, b->buf + at + here, b->len - at - here);
    b->len -= here;
    return true;
}

char *requestBlockLargeReserve(requestBlock *b, size_t *room) {
    largeArg *a = b->large;
    debugAssert(requestBlockLargeOpen(b));
    if (unlikely(a->have == a->capacity) && !largeMove(a, a->len)) return NULL;
    *room = a->capacity - a->have;
    return a->bytes + a->have;
}

void requestBlockLargeReceived(requestPool *pool, requestBlock *b, size_t n) {
    largeArg *a = b->large;
    debugAssert(n <= a->capacity - a->have);
    ptrdiff_t before = largeUntouched(a);
    a->have += n;
    b->large_bytes += n;
    zmallocUntouched(largeUntouched(a) - before);
    requestBlockHolds(pool, b, n);
}

/* --- records -------------------------------------------------------------------------------------- */

static parsedCommand *requestBlockAppend(requestBlock *b, size_t argc) {
    parsedCommand *p = recordCreate(&b->arena, argc);
    if (b->last) b->last->next = p;
    else b->first = b->current = p;
    b->last = p;
    b->commands++;
    return p;
}

#define MANY_ARGS 16384 /* memory for a record with so many is reserved first, as that may fail */

/* Adds the large arguments to the record of the block's first request, which has them. From here on they count as
 * values built for the command: they become data or are freed. */
static void requestBlockGather(requestBlock *b, parsedCommand *p) {
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

static __attribute__((noinline)) void addInlineOrLarge(requestBlock *b, parsedCommand *p) {
    if (*p->wire == SCATTERED_MARK && b->large && p == b->first) requestBlockGather(b, p);
    else p->flags |= REQ_INLINE;
}

bool requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t start) {
    debugAssert(r->state == READ_DONE && r->argc > 0);
    debugAssert(start < r->pos && r->pos <= b->len);
    if (unlikely(r->argc >= MANY_ARGS) && !recordArenaPrepare(&b->arena, r->argc)) return false;
    parsedCommand *p = requestBlockAppend(b, r->argc);
    size_t wire_bytes = r->pos - start;
    b->wire_bytes += wire_bytes;
    p->wire = b->buf + start;
    p->wire_len = wire_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)wire_bytes;
    for (size_t i = 0; i < r->argc; i++) p->argv[i] = sliceOf(b->buf + r->args[i].offset, r->args[i].len);
    if (unlikely(*p->wire != '*')) addInlineOrLarge(b, p);
    size_t bytes = recordComplete(&b->arena, &pool->cache, p, pool->thread_id);
    if (!bytes) return true;
    b->value_bytes += bytes;
    netCounterAdd(&pool->memory_in, bytes);
    return true;
}

void requestBlockAddEmpty(requestBlock *b, const requestReader *r, size_t start) {
    debugAssert(r->state == READ_DONE && r->argc == 0);
    parsedCommand *p = requestBlockAppend(b, 1);
    p->flags = REQ_EMPTY;
    p->wire = b->buf + start;
    p->wire_len = (uint32_t)(r->pos - start); /* at most one line */
    p->argv[0] = sliceOf(p->wire, 0);
    b->wire_bytes += p->wire_len;
}

void requestBlockAddError(requestBlock *b, slice text) {
    parsedCommand *p = requestBlockAppend(b, 1);
    char *copy = recordArenaAlloc(&b->arena, text.len);
    memcpy(copy, text.ptr, text.len);
    p->flags = REQ_PROTOCOL_ERROR;
    p->argv[0] = sliceOf(copy, text.len);
}
