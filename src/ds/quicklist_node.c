/* quicklist_node.c -- a node of a quicklist: a block with a listpack or with one element, compressed or not.
 *
 * Pushing and popping at either end of a node moves no entry: at the front only the listpack's header moves, into the
 * gap before it; at the back there is free space. When one side is full the listpack moves within its block, if enough
 * is free on the other side, or to a block of twice its size.
 *
 * Not here    which node an element goes to, and which nodes are compressed (quicklist.c).
 * Threads     one owner at a time.
 * Invariants  1. A listpack has at most NODE_BYTES_MAX bytes and NODE_GAP_MAX before it.
 *             2. If `capacity` is less than what the block has, the rest is unused.
 *             3. Compressed bytes are fewer than raw ones by more than COMPRESS_SAVES_MIN.
 * Cost        push, drop: O(1) amortized; all others: bytes of the node.
 * Tests       tests/unit/ds/quicklist_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quicklist_internal.h"

#include "panic.h"
#include "zmalloc.h"

#include <lzf.h>

#define COMPRESS_MIN 48
#define COMPRESS_MAX ((size_t)1 << 20) /* compressed in some 3 ms */
#define COMPRESS_SAVES_MIN 8
#define SHRINK_MIN 512 /* smaller blocks are not shrunk while elements are removed */

/* Header of a compressed node's bytes. */
typedef struct lzfHead {
    uint32_t packed, raw;
} lzfHead;

static lzfHead lzfHeadOf(const quicklistNode *n) {
    lzfHead head;
    memcpy(&head, n->block, sizeof(head));
    return head;
}

size_t nodeBytes(const quicklistNode *n) {
    if (nodeIsPlain(n)) return n->len;
    return nodeIsCompressed(n) ? lzfHeadOf(n).raw : listpackBytes(nodeListpack(n));
}

slice nodePackedBytes(const quicklistNode *n) { return sliceOf(n->block + sizeof(lzfHead), lzfHeadOf(n).packed); }

/* ---- Life -------------------------------------------------------------------------------------------------------- */

static size_t capacityOf(const quicklistNode *n) { return (size_t)n->capacity * NODE_CAPACITY_UNIT; }

static void setCapacity(quicklistNode *n, size_t bytes) {
    size_t units = bytes / NODE_CAPACITY_UNIT;
    n->capacity = (units < NODE_CAPACITY_MAX ? units : NODE_CAPACITY_MAX) & NODE_CAPACITY_MAX;
}

static quicklistNode *quicklistNodeCreate(uint8_t *block, nodeKind kind) {
    quicklistNode *n = zmalloc(sizeof(*n));
    *n = (quicklistNode){.block = block};
    n->kind = (unsigned)kind & 3;
    return n;
}

void nodeSetListpack(quicklistNode *n, uint8_t *lp) {
    serverAssert(lp);
    n->block = lp;
    n->count = listpackCount(lp) & ((1u << 30) - 1);
    n->gap = 0;
    setCapacity(n, zmallocSize(lp));
}

quicklistNode *nodeCreateTake(uint8_t *lp) {
    quicklistNode *n = quicklistNodeCreate(NULL, NODE_PACKED);
    nodeSetListpack(n, lp);
    return n;
}

quicklistNode *nodeCreate(slice value) {
    size_t capacity = zmallocGoodSize(LISTPACK_BYTES_MIN + listpackEntryBytes(value));
    uint8_t *lp = listpackCreate(capacity);
    serverAssert(lp);
    lp = listpackAppend(lp, value);
    return nodeCreateTake(lp);
}

quicklistNode *nodeCreatePlain(slice value) {
    uint8_t *block = ztrymalloc(value.len ? value.len : 1);
    if (!block) return NULL;
    if (value.len) memcpy(block, value.ptr, value.len);
    quicklistNode *n = quicklistNodeCreate(block, NODE_PLAIN);
    n->len = value.len & ((1ull << 62) - 1);
    return n;
}

quicklistNode *nodeDup(const quicklistNode *n) {
    if (n->kind == NODE_PACKED) {
        uint8_t *lp = listpackDup(nodeListpack(n));
        return lp ? nodeCreateTake(lp) : NULL;
    }
    size_t bytes = n->kind == NODE_PLAIN ? n->len : sizeof(lzfHead) + lzfHeadOf(n).packed;
    quicklistNode *copy = nodeCreatePlain(sliceOf(n->block, bytes));
    if (!copy) return NULL;
    uint8_t *block = copy->block;
    *copy = *n;
    copy->block = block;
    return copy;
}

void nodeFree(quicklistNode *n) {
    zfree(n->block);
    zfreeSized(n, sizeof(*n));
}

/* ---- The ends of a listpack -------------------------------------------------------------------------------------- */

static size_t freeAfter(const quicklistNode *n) {
    size_t used = n->gap + listpackBytes(nodeListpack(n)), capacity = capacityOf(n);
    return capacity > used ? capacity - used : 0;
}

static void moveTo(quicklistNode *n, size_t gap, size_t bytes) {
    memmove(n->block + gap, nodeListpack(n), bytes);
    n->gap = gap & NODE_GAP_MAX;
}

static void exchangeBlock(quicklistNode *n, size_t capacity, size_t gap, size_t bytes) {
    uint8_t *block = zmalloc(capacity);
    memcpy(block + gap, nodeListpack(n), bytes);
    zfree(n->block);
    n->block = block;
    n->gap = gap & NODE_GAP_MAX;
    setCapacity(n, capacity);
}

static size_t gapWithin(size_t gap) { return gap < NODE_GAP_MAX ? gap : NODE_GAP_MAX; }

/* Ensures at least `need` free bytes at that end. Moves half of the surplus there, unless it is so little that this
 * would soon be needed again; otherwise gets a larger block. */
static __attribute__((noinline)) void reserveAt(quicklistNode *n, listEnd end, size_t need, size_t goal) {
    size_t bytes = listpackBytes(nodeListpack(n)), capacity = capacityOf(n),
           spare = capacity > bytes ? capacity - bytes : 0;
    bool may_grow = capacity < goal && spare < bytes / 4;
    if (spare < need || may_grow) {
        size_t wanted = 2 * (bytes + need);
        if (wanted > goal) wanted = goal > bytes + need ? goal : bytes + need;
        capacity = zmallocGoodSize(wanted + NODE_CAPACITY_UNIT - 1) / NODE_CAPACITY_UNIT * NODE_CAPACITY_UNIT;
        if (wanted % NODE_CAPACITY_UNIT == 0)
            capacity = zmallocGoodSize(wanted) / NODE_CAPACITY_UNIT * NODE_CAPACITY_UNIT;
        exchangeBlock(n, capacity, end == LIST_HEAD ? gapWithin(capacity - bytes) : 0, bytes);
        return;
    }
    size_t at_end = need + (spare - need) / 2;
    moveTo(n, end == LIST_HEAD ? gapWithin(at_end) : gapWithin(spare - at_end), bytes);
}

static bool pushWithin(quicklistNode *n, listEnd end, slice value) {
    uint8_t *lp = nodeListpack(n);
    if (end == LIST_TAIL) return listpackAppendWithin(lp, value, freeAfter(n)) > 0;
    uint8_t *first = listpackPrependWithin(lp, value, n->gap);
    if (!first) return false;
    n->gap = (uint64_t)(first - n->block) & NODE_GAP_MAX;
    return true;
}

void nodePush(quicklistNode *n, listEnd end, slice value, size_t goal) {
    debugAssert(n->kind == NODE_PACKED);
    if (unlikely(!pushWithin(n, end, value))) {
        reserveAt(n, end, listpackEntryBytesMax(value.len), goal);
        bool done = pushWithin(n, end, value);
        serverAssert(done);
    }
    n->count++;
}

/* Replaces a block that is mostly unused by one of twice the listpack's size. */
static void shrinkMostlyFree(quicklistNode *n) {
    size_t capacity = capacityOf(n), bytes = listpackBytes(nodeListpack(n));
    if (likely(capacity < SHRINK_MIN || bytes >= capacity / 4)) return;
    size_t smaller = zmallocGoodSize(2 * bytes) / NODE_CAPACITY_UNIT * NODE_CAPACITY_UNIT;
    exchangeBlock(n, smaller, gapWithin((smaller - bytes) / 2), bytes);
}

void nodeDrop(quicklistNode *n, listEnd end, size_t entries) {
    debugAssert(n->kind == NODE_PACKED && entries < n->count);
    uint8_t *lp = nodeListpack(n);
    if (end == LIST_HEAD) {
        uint8_t *first = listpackDropFirst(lp, entries);
        size_t gap = (size_t)(first - n->block);
        if (unlikely(gap > NODE_GAP_MAX)) {
            memmove(n->block, first, listpackBytes(first));
            gap = 0;
        }
        n->gap = gap & NODE_GAP_MAX;
    } else {
        listpackDropLast(lp, entries);
    }
    n->count -= entries;
    shrinkMostlyFree(n);
}

void nodeClose(quicklistNode *n) {
    if (n->kind != NODE_PACKED) return;
    size_t bytes = listpackBytes(nodeListpack(n)), least = zmallocGoodSize(bytes);
    if (least + NODE_CAPACITY_UNIT > capacityOf(n)) return;
    nodeSetListpack(n, listpackShrinkToFit(nodeTakeListpack(n)));
}

/* ---- The whole listpack ------------------------------------------------------------------------------------------ */

uint8_t *nodeTakeListpack(quicklistNode *n) {
    debugAssert(n->kind == NODE_PACKED);
    if (n->gap) moveTo(n, 0, listpackBytes(nodeListpack(n)));
    return n->block;
}

quicklistNode *nodeSplit(quicklistNode *n, size_t number) {
    debugAssert(number > 0 && number < n->count);
    uint8_t *lp = nodeTakeListpack(n), *rest = listpackDup(lp);
    serverAssert(rest);
    rest = listpackDeleteRange(rest, 0, number);
    nodeSetListpack(n, listpackDeleteRange(lp, (long)number, SIZE_MAX));
    return nodeCreateTake(rest);
}

/* ---- Compression ------------------------------------------------------------------------------------------------- */

void nodeCompress(quicklistNode *n) {
    size_t raw = nodeBytes(n);
    if (nodeIsCompressed(n) || raw < COMPRESS_MIN || raw > COMPRESS_MAX) return;
    const uint8_t *bytes = nodeIsPlain(n) ? n->block : nodeListpack(n);
    size_t capacity = raw - COMPRESS_SAVES_MIN - 1;
    uint8_t *block = ztrymalloc(sizeof(lzfHead) + capacity);
    if (!block) return;
    lzfHead head = {lzf_compress(bytes, (unsigned)raw, block + sizeof(lzfHead), (unsigned)capacity), (uint32_t)raw};
    if (head.packed == 0) {
        zfree(block);
        return;
    }
    memcpy(block, &head, sizeof(head));
    zfree(n->block);
    n->block = zrealloc(block, sizeof(head) + head.packed);
    if (nodeIsPlain(n)) {
        n->kind = NODE_PLAIN_LZF;
    } else {
        n->kind = NODE_PACKED_LZF;
        n->gap = n->capacity = 0;
    }
}

static void quicklistNodeUnpack(const quicklistNode *n, uint8_t *out) {
    lzfHead head = lzfHeadOf(n);
    unsigned raw = lzf_decompress(n->block + sizeof(head), head.packed, out, head.raw);
    serverAssert(raw == head.raw);
}

void nodeDecompress(quicklistNode *n) {
    if (!nodeIsCompressed(n)) return;
    uint8_t *raw = zmalloc(lzfHeadOf(n).raw);
    quicklistNodeUnpack(n, raw);
    zfree(n->block);
    n->block = raw;
    if (n->kind == NODE_PLAIN_LZF) {
        n->kind = NODE_PLAIN;
        return;
    }
    n->kind = NODE_PACKED;
    setCapacity(n, zmallocSize(raw));
}

const uint8_t *nodeRead(const quicklistNode *n, uint8_t **scratch) {
    if (n->kind == NODE_PACKED) return nodeListpack(n);
    if (n->kind == NODE_PLAIN) return n->block;
    *scratch = zrealloc(*scratch, lzfHeadOf(n).raw);
    quicklistNodeUnpack(n, *scratch);
    return *scratch;
}
