/* value_stream_pending.c -- pending entries (delivered, not acknowledged), in blocks of a group.
 *
 *   group.blocks   0-0 -> [ 1-1 1-2 ... 7-3 ]    8-0 -> [ 8-0 8-4 ... ]    9-5 -> [ 9-5 ]
 *   consumer a     0-0 -> 12                                                9-5 -> 1
 *   consumer b     0-0 -> 38                     8-0 -> 50
 *
 * An entry is stored only in its block: ID, consumer, time and count. A consumer counts, for each block,
 * how many of its entries are in it: a search for them reads only these blocks, which have at least one each. So
 * finding the next entry of a consumer reads at most one block, whatever else is pending.
 *
 * Deliveries are added at the end: they fill the last block. A full block is split if an entry belongs in its middle.
 *
 * Not here    groups and consumers (value_stream_groups.c).
 * Owns        nothing: blocks belong to their group.
 * Threads     as object.c.
 * Invariants  1. A block has entries, in order, none below its key, all below the next block's.
 *             2. An entry is counted by its consumer, under its block; the sum of these is the consumer's total.
 *             3. group->last is the block with the largest key.
 *             4. No entry that the stream still has was delivered before idle_floor_ms.
 * Cost        find, add, remove: O(log blocks) and a block. Idle entries: all that is pending, O(1) if none is idle.
 *             Memory: 40 bytes per entry, 24 per block, and an entry of a rax for each block of a consumer.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"
#include "panic.h"
#include "value_stream_groups.h"
#include "value_stream_internal.h"
#include "zmalloc.h"

#include <stdlib.h>

#define BLOCK_BYTES_MAX 2048
#define BLOCK_BYTES_MIN 192
#define BLOCK_ENTRIES_MAX ((BLOCK_BYTES_MAX - sizeof(streamBlock)) / sizeof(streamPending))

/* ---- Counts of a consumer ---------------------------------------------------------------------------------------- */

static void countMore(streamConsumer *c, streamId block) {
    if (!c) return;
    uint8_t id_bytes[STREAM_ID_BYTES];
    slice key = streamIdBytes(block, id_bytes);
    void **n = raxFindRef(c->blocks, key);
    c->pending++;
    if (n) *n = (void *)((uintptr_t)*n + 1);
    else raxInsert(c->blocks, key, (void *)(uintptr_t)1, NULL);
}

static void countLess(streamConsumer *c, streamId block) {
    if (!c) return;
    uint8_t id_bytes[STREAM_ID_BYTES];
    slice key = streamIdBytes(block, id_bytes);
    void **n = raxFindRef(c->blocks, key);
    serverAssert(n && c->pending > 0);
    c->pending--;
    if ((uintptr_t)*n > 1) *n = (void *)((uintptr_t)*n - 1);
    else raxRemove(c->blocks, key, NULL);
}

/* ---- Blocks ------------------------------------------------------------------------------------------------------ */

static size_t blockBytes(size_t entries) {
    size_t bytes = sizeof(streamBlock) + entries * sizeof(streamPending);
    return bytes < BLOCK_BYTES_MIN ? BLOCK_BYTES_MIN : bytes;
}

static uint32_t capacityOf(size_t bytes) { return (uint32_t)((bytes - sizeof(streamBlock)) / sizeof(streamPending)); }

/* Returns the block that has, or would have, this ID; NULL if all are above it. */
static streamBlock *blockFor(const streamGroup *g, streamId id) {
    if (g->last && streamIdCmp(g->last->key, id) <= 0) return g->last;
    if (raxSize(g->blocks) < 2) return NULL;
    uint8_t id_bytes[STREAM_ID_BYTES];
    raxIterator it;
    raxIterBegin(&it, g->blocks);
    streamBlock *b = raxIterSeek(&it, RAX_SEEK_LE, streamIdBytes(id, id_bytes)) ? raxIterValue(&it) : NULL;
    raxIterEnd(&it);
    return b;
}

/* Returns the index of the first entry of a block that is not below the ID. */
static uint32_t indexIn(const streamBlock *b, streamId id) {
    uint32_t from = 0, to = b->count;
    if (to && streamIdCmp(b->entries[to - 1].id, id) < 0) return to;
    while (from < to) {
        uint32_t mid = from + (to - from) / 2;
        if (streamIdCmp(b->entries[mid].id, id) < 0) from = mid + 1;
        else to = mid;
    }
    return from;
}

static streamBlock *newBlock(streamGroup *g, streamId key, size_t entries) {
    size_t bytes = blockBytes(entries);
    streamBlock *b = zmalloc(bytes);
    *b = (streamBlock){.key = key, .capacity = capacityOf(bytes)};
    uint8_t id_bytes[STREAM_ID_BYTES];
    serverAssert(raxTryInsert(g->blocks, streamIdBytes(key, id_bytes), b, NULL) == RAX_ADDED);
    if (!g->last || streamIdCmp(g->last->key, key) < 0) g->last = b;
    return b;
}

static void dropBlock(streamGroup *g, streamBlock *b) {
    uint8_t id_bytes[STREAM_ID_BYTES];
    raxRemove(g->blocks, streamIdBytes(b->key, id_bytes), NULL);
    if (g->last == b) {
        raxIterator it;
        raxIterBegin(&it, g->blocks);
        g->last = raxIterSeek(&it, RAX_SEEK_LAST, sliceStr("")) ? raxIterValue(&it) : NULL;
        raxIterEnd(&it);
    }
    zfree(b);
}

static streamBlock *resizeBlock(streamGroup *g, streamBlock *b, size_t entries) {
    bool last = g->last == b;
    size_t bytes = blockBytes(entries);
    b = zrealloc(b, bytes);
    b->capacity = capacityOf(bytes);
    if (last) g->last = b;
    uint8_t id_bytes[STREAM_ID_BYTES];
    void **ref = raxFindRef(g->blocks, streamIdBytes(b->key, id_bytes));
    serverAssert(ref);
    *ref = b;
    return b;
}

/* Moves the upper half of a block to a new one. */
static void splitBlock(streamGroup *g, streamBlock *b) {
    uint32_t half = b->count / 2, moved = b->count - half;
    streamBlock *upper = newBlock(g, b->entries[half].id, BLOCK_ENTRIES_MAX);
    memcpy(upper->entries, b->entries + half, moved * sizeof(*b->entries));
    upper->count = moved;
    b->count = half;
    for (uint32_t i = 0; i < moved; i++) {
        countLess(upper->entries[i].consumer, b->key);
        countMore(upper->entries[i].consumer, upper->key);
    }
}

/* Returns a block with space for one more entry, of this ID. */
static streamBlock *blockWithSpace(streamGroup *g, streamId id) {
    streamBlock *b = blockFor(g, id);
    if (!b) return newBlock(g, STREAM_ID_MIN, 1);
    if (b->count < b->capacity) return b;
    if (b->count < BLOCK_ENTRIES_MAX)
        return resizeBlock(g, b, 2 * b->count < BLOCK_ENTRIES_MAX ? 2 * b->count : BLOCK_ENTRIES_MAX);
    if (indexIn(b, id) == b->count) return newBlock(g, id, BLOCK_ENTRIES_MAX);
    splitBlock(g, b);
    return blockFor(g, id);
}

/* ---- Entries ----------------------------------------------------------------------------------------------------- */

streamPending *streamPendingFind(const streamGroup *g, streamId id) {
    streamBlock *b = blockFor(g, id);
    if (!b) return NULL;
    uint32_t at = indexIn(b, id);
    return at < b->count && streamIdCmp(b->entries[at].id, id) == 0 ? &b->entries[at] : NULL;
}

streamPending *streamPendingAdd(streamGroup *g, streamId id, streamConsumer *consumer) {
    streamBlock *b = blockWithSpace(g, id);
    uint32_t at = indexIn(b, id);
    streamPending *p = &b->entries[at];
    if (at < b->count) memmove(p + 1, p, (b->count - at) * sizeof(*p));
    *p = (streamPending){.id = id, .consumer = consumer, .deliveries = 1};
    b->count++;
    g->pending++;
    countMore(consumer, b->key);
    return p;
}

bool streamPendingRemove(streamGroup *g, streamId id) {
    streamBlock *b = blockFor(g, id);
    if (!b) return false;
    uint32_t at = indexIn(b, id);
    if (at == b->count || streamIdCmp(b->entries[at].id, id) != 0) return false;
    countLess(b->entries[at].consumer, b->key);
    b->count--;
    g->pending--;
    memmove(&b->entries[at], &b->entries[at + 1], (b->count - at) * sizeof(*b->entries));
    if (b->count == 0) dropBlock(g, b);
    else if (b->capacity > 8 && b->count < b->capacity / 4) resizeBlock(g, b, 2 * b->count);
    return true;
}

void streamPendingGive(streamGroup *g, streamPending *p, streamConsumer *consumer) {
    if (p->consumer == consumer) return;
    const streamBlock *b = blockFor(g, p->id);
    serverAssert(b);
    countLess(p->consumer, b->key);
    p->consumer = consumer;
    countMore(consumer, b->key);
}

static streamBlock *blockOfKey(const streamGroup *g, slice key) {
    void *b = NULL;
    serverAssert(raxFind(g->blocks, key, &b));
    return b;
}

void streamPendingRemoveAllOf(streamGroup *g, streamConsumer *c) {
    raxIterator it;
    for (bool on = raxIterFirst(&it, c->blocks); on; on = raxIterNext(&it)) {
        streamBlock *b = blockOfKey(g, raxIterKey(&it));
        uint32_t kept = 0;
        for (uint32_t i = 0; i < b->count; i++) {
            if (b->entries[i].consumer != c) b->entries[kept++] = b->entries[i];
        }
        g->pending -= b->count - kept;
        b->count = kept;
        if (kept == 0) dropBlock(g, b);
        else if (b->capacity > 8 && kept < b->capacity / 4) resizeBlock(g, b, 2 * kept);
    }
    raxIterEnd(&it);
    raxEmpty(c->blocks, NULL);
    c->pending = 0;
}

/* ---- Walks ------------------------------------------------------------------------------------------------------- */

/* Returns the next block, at or after the key, that the walk must read. */
static streamBlock *blockFrom(const streamPendingWalk *w, raxSeekOp op, streamId key) {
    raxIterator it;
    uint8_t id_bytes[STREAM_ID_BYTES];
    raxIterBegin(&it, w->consumer ? w->consumer->blocks : w->group->blocks);
    streamBlock *b = NULL;
    if (raxIterSeek(&it, op, streamIdBytes(key, id_bytes)))
        b = w->consumer ? blockOfKey(w->group, raxIterKey(&it)) : raxIterValue(&it);
    raxIterEnd(&it);
    return b;
}

void streamPendingFrom(streamPendingWalk *w, const streamGroup *g, const streamConsumer *c, streamId from) {
    *w = (streamPendingWalk){.group = g, .consumer = c};
    streamBlock *b = blockFrom(w, RAX_SEEK_LE, from);
    w->block = b ? b : blockFrom(w, RAX_SEEK_GT, from);
    if (b) w->at = indexIn(b, from);
}

streamPending *streamPendingNext(streamPendingWalk *w) {
    while (w->block) {
        while (w->at < w->block->count) {
            streamPending *p = &w->block->entries[w->at++];
            if (!w->consumer || p->consumer == w->consumer) return p;
        }
        w->block = blockFrom(w, RAX_SEEK_GT, w->block->key);
        w->at = 0;
    }
    return NULL;
}

/* ---- Idle entries ------------------------------------------------------------------------------------------------ */

static int byDelivery(const void *a, const void *b) {
    const streamIdle *x = a, *y = b;
    if (x->delivered_ms != y->delivered_ms) return x->delivered_ms < y->delivered_ms ? -1 : 1;
    return streamIdCmp(x->id, y->id);
}

/* The heap has the entry on top that was delivered last, which makes way for one that was delivered before. */
static bool isLater(const void *a, const void *b) { return byDelivery(a, b) > 0; }

static const heapType idle_type = {.size = sizeof(streamIdle), .before = isLater};

size_t streamPendingIdle(const stream *s, streamGroup *g, int64_t until_ms, size_t count, streamIdle **found,
                         int64_t *next_ms) {
    heap idle = {.type = &idle_type};
    streamPendingWalk w;
    streamIterator it;
    size_t fields;
    int64_t left_ms = INT64_MAX; /* of idle entries beyond `count` */
    *found = NULL;
    *next_ms = g->idle_floor_ms;
    if (g->idle_floor_ms > until_ms) return 0;
    *next_ms = INT64_MAX;
    streamFindBegin(&it, s);
    streamPendingFrom(&w, g, NULL, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&w)) != NULL;) {
        if (p->delivered_ms > until_ms) {
            if (p->delivered_ms < *next_ms) *next_ms = p->delivered_ms;
            continue;
        }
        streamIdle this = {p->delivered_ms, p->id};
        bool is_full = idle.count == count, is_later = is_full && byDelivery(&this, idle.at) > 0;
        if (is_later && this.delivered_ms < left_ms) left_ms = this.delivered_ms;
        if (is_later || !streamFind(&it, p->id, &fields)) continue;
        const streamIdle *top = idle.at;
        if (is_full && top->delivered_ms < left_ms) left_ms = top->delivered_ms;
        if (is_full) heapReplace(&idle, 0, &this);
        else heapAdd(&idle, &this);
    }
    g->idle_floor_ms = left_ms < *next_ms ? left_ms : *next_ms;
    if (idle.count) qsort(idle.at, idle.count, sizeof(streamIdle), byDelivery);
    *found = idle.at;
    return idle.count;
}

/* ---- Check ------------------------------------------------------------------------------------------------------- */

void streamGroupCheck(const streamGroup *g) {
    raxIterator it;
    size_t total = 0, of_consumers = 0;
    const streamBlock *before = NULL;
    for (bool on = raxIterFirst(&it, g->blocks); on; on = raxIterNext(&it)) {
        const streamBlock *b = raxIterValue(&it);
        serverAssert(b->count > 0 && b->count <= b->capacity);
        serverAssert(streamIdCmp(b->key, streamIdFromBytes(raxIterKey(&it).ptr)) == 0);
        serverAssert(streamIdCmp(b->key, b->entries[0].id) <= 0);
        if (before) serverAssert(streamIdCmp(before->entries[before->count - 1].id, b->key) < 0);
        for (uint32_t i = 0; i + 1 < b->count; i++)
            serverAssert(streamIdCmp(b->entries[i].id, b->entries[i + 1].id) < 0);
        total += b->count;
        before = b;
    }
    raxIterEnd(&it);
    serverAssert(total == g->pending && before == g->last);
    for (bool on = raxIterFirst(&it, g->consumers); on; on = raxIterNext(&it)) {
        const streamConsumer *c = raxIterValue(&it);
        size_t n = 0;
        streamPendingWalk w;
        streamPendingFrom(&w, g, c, STREAM_ID_MIN);
        while (streamPendingNext(&w)) n++;
        serverAssert(n == c->pending);
        of_consumers += n;
    }
    raxIterEnd(&it);
    serverAssert(of_consumers == total);
}
