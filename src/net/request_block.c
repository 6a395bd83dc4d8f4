/* request_block.c -- bytes of requests and the records made of them, in blocks that are used again.
 *
 * Not here    where a request ends (resp/request_reader.c), what a record says (engine/command_record.c), who reads and
 *             hands over (client_stream_read.c).
 * Owns        the blocks of a thread's pool.
 * Threads     the holder of the stream; requestBlockPut() also on the next holder.
 * Cost        one block for each read; no allocation per request beyond the value it builds.
 * Tests       tests/unit/net/request_block_test.c
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

/* What the requests in the block cost beyond the block itself, which is used again. */
static size_t extraMemory(const requestBlock *b) {
    return b->value_bytes + (b->buf == b->inline_buf ? 0 : b->cap);
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
    }
    blockReset(b);
    return b;
}

static void blockFreeExtras(requestBlock *b) {
    debugAssert(b->cap >= REQUEST_BUF_BYTES);
    recordArenaFree(&b->arena);
    if (unlikely(b->buf != b->inline_buf)) {
        lazyfreeBlock(b->buf, b->cap);
        b->buf = b->inline_buf;
        b->cap = REQUEST_BUF_BYTES;
    }
}

void requestBlockPut(requestPool *pool, requestBlock *b) {
    for (parsedCommand *p = b->current; p; p = p->next) /* those before it have run */
        if (p->value) objectFree(p->value);
    count(&pool->memory_out, extraMemory(b));
    blockFreeExtras(b);
    if (pool->count >= REQUEST_POOL_MAX) {
        zfree(b);
        return;
    }
    b->next = pool->free;
    pool->free = b;
    pool->count++;
}

void requestBlockExecuted(requestPool *pool, requestBlock *b) {
    count(&pool->memory_out, b->value_bytes);
    b->value_bytes = 0;
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
    size_t want = b->len + extra, before = extraMemory(b);
    if (want < b->cap * 2 && b->cap < (1 << 20)) want = b->cap * 2;
    size_t usable;
    bool first = b->buf == b->inline_buf;
    char *grown = ztryreallocUsable(first ? NULL : b->buf, want, &usable);
    if (unlikely(!grown)) return false;
    if (first) memcpy(grown, b->buf, b->len);
    b->buf = grown;
    b->cap = usable;
    count(&pool->memory_in, extraMemory(b) - before);
    return true;
}

static parsedCommand *append(requestBlock *b, size_t argc) {
    parsedCommand *p = recordCreate(&b->arena, argc);
    if (b->last) b->last->next = p;
    else b->first = b->current = p;
    b->last = p;
    b->commands++;
    return p;
}

#define MANY_ARGS 16384 /* a record with so many is not taken for granted */

bool requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t start) {
    debugAssert(r->state == READ_DONE && r->argc > 0);
    debugAssert(start < r->pos && r->pos <= b->len);
    bool many = r->argc >= MANY_ARGS;
    if (unlikely(many) && !zmallocReserve(r->argc * 4 * sizeof(slice))) return false;
    parsedCommand *p = append(b, r->argc);
    size_t wire_bytes = r->pos - start;
    b->wire_bytes += wire_bytes;
    p->wire = b->buf + start;
    p->wire_len = wire_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)wire_bytes;
    if (unlikely(*p->wire != '*')) p->flags |= REQ_INLINE;
    for (size_t i = 0; i < r->argc; i++) p->argv[i] = sliceOf(b->buf + r->args[i].offset, r->args[i].len);
    size_t bytes = recordComplete(&b->arena, &pool->cache, p, pool->thread_id);
    if (unlikely(many)) zmallocUnreserve();
    if (!bytes) return true;
    b->value_bytes += bytes;
    count(&pool->memory_in, bytes);
    return true;
}

void requestBlockAddError(requestBlock *b, slice text) {
    parsedCommand *p = append(b, 1);
    char *copy = recordArenaAlloc(&b->arena, text.len);
    memcpy(copy, text.ptr, text.len);
    p->flags = REQ_PROTOCOL_ERROR;
    p->argv[0] = sliceOf(copy, text.len);
}
