/* request_block.c -- make records of requests: look up, check, extract, hash, build.
 *
 * All that main would otherwise do before it can execute a command, and that needs nothing but the
 * request itself, is done here, once, on the thread that read it.
 *
 * Not here    where a request ends (resp/request_reader.c), who reads and hands over (networking.c).
 * Owns        the blocks of a thread's pool.
 * Threads     the holder of the stream; requestBlockPut() also on the next holder.
 * Cost        one block for each read; no allocation per request beyond the value it builds.
 * Tests       tests/unit/net/request_block_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "request_block.h"

#include "command_table.h"
#include "hash.h"
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
    b->arena = b->inline_arena;
    b->arena_used = 0;
    b->arena_cap = REQUEST_ARENA_BYTES;
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
        b->chunks = NULL;
    }
    blockReset(b);
    return b;
}

static void blockFreeExtras(requestBlock *b) {
    while (unlikely(b->chunks != NULL)) {
        arenaChunk *c = b->chunks;
        b->chunks = c->next;
        zfree(c);
    }
    if (unlikely(b->buf != b->inline_buf)) {
        zfree(b->buf);
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
    }
    pool->count = 0;
}

void requestBlockReserve(requestPool *pool, requestBlock *b, size_t extra) {
    serverAssert(b->first == NULL);
    if (b->cap - b->len >= extra) return;
    size_t want = b->len + extra, before = extraMemory(b);
    if (want < b->cap * 2 && b->cap < (1 << 20)) want = b->cap * 2;
    size_t usable;
    if (b->buf == b->inline_buf) {
        char *grown = zmallocUsable(want, &usable);
        memcpy(grown, b->buf, b->len);
        b->buf = grown;
    } else {
        b->buf = zreallocUsable(b->buf, want, &usable);
    }
    b->cap = usable;
    count(&pool->memory_in, extraMemory(b) - before);
}

/* Memory that lives as long as the block. */
static void *arenaAlloc(requestBlock *b, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (unlikely(b->arena_cap - b->arena_used < bytes)) {
        size_t cap = bytes > 4 * REQUEST_ARENA_BYTES ? bytes : 4 * REQUEST_ARENA_BYTES;
        arenaChunk *c = zmalloc(sizeof(*c) + cap);
        c->next = b->chunks;
        b->chunks = c;
        b->arena = c->data;
        b->arena_used = 0;
        b->arena_cap = cap;
    }
    void *p = b->arena + b->arena_used;
    b->arena_used += bytes;
    return p;
}

/* A record, its arguments and room for one key, in one piece. */
static parsedCommand *appendRecord(requestBlock *b, size_t argc) {
    parsedCommand *p = arenaAlloc(b, sizeof(*p) + argc * sizeof(slice) + sizeof(requestKey));
    memset(p, 0, sizeof(*p));
    p->slot = -1;
    p->argc = (uint32_t)argc;
    p->argv = (slice *)(void *)(p + 1);
    if (b->last) b->last->next = p;
    else b->first = b->current = p;
    b->last = p;
    b->commands++;
    return p;
}

static requestKey *roomForKeys(requestBlock *b, parsedCommand *p, size_t n) {
    if (likely(n == 1)) return (requestKey *)(void *)(p->argv + p->argc);
    return arenaAlloc(b, n * sizeof(requestKey));
}

/* Keys of commands with one plain range of keys, which are nearly all. */
static int extractRange(const serverCommand *cmd, parsedCommand *p, requestBlock *b) {
    int first = cmd->first_key, last = cmd->last_key, step = cmd->key_step;
    if (last < 0) last += (int)p->argc;
    if (last >= (int)p->argc) last = (int)p->argc - 1;
    if (last < first) return 0;
    int n = last == first ? 1 : (last - first) / step + 1;
    p->keys = roomForKeys(b, p, (size_t)n);
    for (int i = 0; i < n; i++) {
        p->keys[i].index = (uint32_t)(first + i * step);
        p->keys[i].flags = cmd->specs[0].flags;
    }
    return n;
}

static int extractGeneral(const serverCommand *cmd, parsedCommand *p, requestBlock *b) {
    requestKey few[16];
    int n = commandExtractKeys(cmd, p->argv, p->argc, few, array_len(few));
    if (n <= 0) return n;
    p->keys = roomForKeys(b, p, (size_t)n);
    if (n <= (int)array_len(few)) memcpy(p->keys, few, (size_t)n * sizeof(requestKey));
    else n = commandExtractKeys(cmd, p->argv, p->argc, p->keys, n);
    return n;
}

static void extractKeys(const serverCommand *cmd, parsedCommand *p, requestBlock *b) {
    /* A command that builds a value has its key in one place; its own function only tells what SET does with it. */
    bool plain = cmd->first_key > 0 && (!cmd->get_keys || cmd->flags & CMD_BUILDS_VALUE);
    int n = likely(plain) ? extractRange(cmd, p, b) : extractGeneral(cmd, p, b);
    if (n < 0) {
        p->flags |= REQ_KEYS_INVALID;
        return;
    }
    p->nkeys = (uint32_t)n;
    for (int i = 0; i < n; i++) {
        slice key = p->argv[p->keys[i].index];
        p->keys[i].hash = hashBytes(key.ptr, key.len);
    }
}

static void buildValue(requestPool *pool, const serverCommand *cmd, parsedCommand *p, requestBlock *b) {
    /* More words than key and value mean an expire may follow: leave room for it. */
    bool with_expire = p->argc > 3;
    p->value = objectCreateString(p->argv[cmd->first_key], p->argv[cmd->value_arg], with_expire, pool->thread_id);
    size_t bytes = p->argv[cmd->value_arg].len + p->argv[cmd->first_key].len + sizeof(robj);
    b->value_bytes += bytes;
    count(&pool->memory_in, bytes);
}

/* Look the command up, first among what this thread has just looked up (spelled the same way). */
static const serverCommand *lookUp(requestPool *pool, const parsedCommand *p, bool *unknown_sub) {
    slice name = p->argv[0];
    if (likely(pool->recent && sliceEq(name, sliceOf(pool->name, pool->name_len)))) return pool->recent;
    const serverCommand *cmd = commandLookup(p->argv, p->argc, unknown_sub);
    if (cmd && !cmd->parent && !cmd->subcommands && name.len <= sizeof(pool->name)) {
        pool->recent = cmd;
        pool->name_len = name.len;
        memcpy(pool->name, name.ptr, name.len);
    }
    return cmd;
}

void requestBlockAddCommand(requestPool *pool, requestBlock *b, const requestReader *r, size_t wire_bytes) {
    parsedCommand *p = appendRecord(b, r->argc);
    b->wire_bytes += wire_bytes;
    p->wire_len = wire_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)wire_bytes;
    for (size_t i = 0; i < r->argc; i++) p->argv[i] = sliceOf(b->buf + r->args[i].offset, r->args[i].len);

    bool unknown_sub = false;
    const serverCommand *cmd = lookUp(pool, p, &unknown_sub);
    p->cmd = cmd;
    if (unlikely(!cmd)) return;
    if (unlikely(unknown_sub)) {
        p->flags |= REQ_UNKNOWN_SUBCOMMAND;
        return;
    }
    if (unlikely(!commandArityOk(cmd, p->argc))) {
        p->flags |= REQ_BAD_ARITY;
        return;
    }
    if (unlikely(cmd->flags & CMD_MAIN_THREAD)) p->flags |= REQ_MAIN_THREAD;
    if (cmd->first_key > 0 || cmd->nspecs || cmd->get_keys) extractKeys(cmd, p, b);
    if (cmd->flags & CMD_BUILDS_VALUE) buildValue(pool, cmd, p, b);
}

void requestBlockAddError(requestBlock *b, slice text) {
    parsedCommand *p = appendRecord(b, 1);
    char *copy = arenaAlloc(b, text.len);
    memcpy(copy, text.ptr, text.len);
    p->flags = REQ_PROTOCOL_ERROR;
    p->argv[0] = sliceOf(copy, text.len);
}
