/* quicklist.c -- a long list: a chain of listpacks, and of elements that are too large for one.
 *
 *     head                                                    tail
 *     [packed] <-> [packed, LZF] <-> [plain] <-> [LZF] <-> [packed]        depth 1
 *
 * docs/design/quicklist.md has the whole picture.
 *
 * Not here    what is inside a node (quicklist_node.c), walking (quicklist_iterator.c).
 * Owns        its nodes.
 * Threads     one owner at a time.
 * Invariants  1. `count` is the sum over the nodes, `nodes` their number; no node is empty.
 *             2. With a depth, that many nodes at either end are not compressed; without one, none is.
 *             3. A packed node is within the limits, except one that was read from a file, got a longer element in the
 *                place of a shorter one, or has one element close to the limit.
 * Cost        ends: O(1). Positions: nodes from the nearer end, then bytes of a node.
 * Tests       tests/unit/ds/quicklist_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quicklist_internal.h"

#include "long_loop.h"
#include "panic.h"
#include "zmalloc.h"

struct quicklist {
    quicklistNode *head, *tail; /* own the chain */
    uint64_t count;
    uint32_t nodes, depth;
    int fill;
    uint32_t entries_max, bytes_max; /* limits of a node, from fill */
    quicklistNode *defrag_next;      /* borrowed from the chain: the next node to offer; NULL: none */
};

#define ENTRY_OVERHEAD 8 /* assumed bytes of an element beside its own */
#define BYTES_MAX_BY_ENTRIES 8192

static size_t plain_from = SIZE_MAX; /* replaces the limits in tests; main writes */

/* ---- Limits ------------------------------------------------------------------------------------------------------ */

static uint32_t bytesMax(int fill) {
    static const uint32_t sizes[] = {4096, 8192, 16384, 32768, 65536};
    if (fill >= 0) return BYTES_MAX_BY_ENTRIES;
    return sizes[fill < -5 ? 4 : -fill - 1];
}

static uint32_t entriesMax(int fill) { return fill < 0 ? UINT32_MAX : fill == 0 ? 1 : (uint32_t)fill; }

bool quicklistFits(int fill, size_t bytes, size_t count) {
    return bytes <= bytesMax(fill) && count <= entriesMax(fill);
}

bool quicklistIsPlain(int fill, size_t len) {
    if (unlikely(plain_from != SIZE_MAX)) return len >= plain_from || len > NODE_BYTES_MAX / 4;
    return len > bytesMax(fill);
}

void quicklistSetPlainFrom(size_t len) { plain_from = len ? len : SIZE_MAX; }

/* Returns whether a packed node may take one more element of this length. */
static bool mayTake(const quicklist *q, const quicklistNode *n, size_t len) {
    if (!n || nodeIsPlain(n) || n->count >= q->entries_max) return false;
    return nodeBytes(n) + len + ENTRY_OVERHEAD <= q->bytes_max;
}

/* ---- The chain --------------------------------------------------------------------------------------------------- */

quicklist *quicklistCreate(int fill, unsigned depth) {
    quicklist *q = zmalloc(sizeof(*q));
    *q = (quicklist){
        .fill = fill < -5 ? -5 : fill, .depth = depth, .entries_max = entriesMax(fill), .bytes_max = bytesMax(fill)};
    return q;
}

void quicklistFree(quicklist *q) {
    for (quicklistNode *n = q->head, *next; n; n = next) {
        next = n->next;
        if (next) prefetchRead(next);
        nodeFree(n);
    }
    zfree(q);
}

size_t quicklistCount(const quicklist *q) { return q->count; }
size_t quicklistNodeCount(const quicklist *q) { return q->nodes; }
const quicklistNode *quicklistEndNode(const quicklist *q, listEnd end) { return end == LIST_HEAD ? q->head : q->tail; }
int quicklistFill(const quicklist *q) { return q->fill; }
unsigned quicklistDepth(const quicklist *q) { return q->depth; }

/* Links a node after `before` (NULL: as the first). The caller counts its elements. */
static void linkAfter(quicklist *q, quicklistNode *before, quicklistNode *n) {
    n->prev = before;
    n->next = before ? before->next : q->head;
    if (n->prev) n->prev->next = n;
    else q->head = n;
    if (n->next) n->next->prev = n;
    else q->tail = n;
    q->nodes++;
}

static void unlinkFree(quicklist *q, quicklistNode *n) {
    if (n->prev) n->prev->next = n->next;
    else q->head = n->next;
    if (n->next) n->next->prev = n->prev;
    else q->tail = n->prev;
    if (unlikely(q->defrag_next == n)) q->defrag_next = n->next;
    q->nodes--;
    nodeFree(n);
}

/* Call after the chain has changed: decompresses nodes that are now close to an end, and compresses those that no
 * longer are. */
static void adjustDepth(quicklist *q) {
    if (likely(q->depth == 0)) return;
    quicklistNode *front = q->head, *back = q->tail;
    for (unsigned i = 0; i < q->depth; i++) {
        if (!front) return;
        nodeDecompress(front);
        nodeDecompress(back);
        if (front == back || front->next == back) return;
        front = front->next;
        back = back->prev;
    }
    nodeCompress(front);
    nodeCompress(back);
}

/* Compresses an inner node again after it was changed. */
static void compressInner(quicklist *q, quicklistNode *n) {
    if (likely(q->depth == 0) || !n) return;
    const quicklistNode *front = q->head, *back = q->tail;
    for (unsigned i = 0; i < q->depth && front; i++) {
        if (front == n || back == n) return;
        front = front->next;
        back = back->prev;
    }
    if (front) nodeCompress(n);
}

/* ---- Ends -------------------------------------------------------------------------------------------------------- */

static void linkAtEnd(quicklist *q, listEnd end, quicklistNode *n) {
    quicklistNode *old = end == LIST_HEAD ? q->head : q->tail;
    linkAfter(q, end == LIST_HEAD ? NULL : q->tail, n);
    if (old) nodeClose(old);
    adjustDepth(q);
}

static quicklistNode *createFor(const quicklist *q, slice value) {
    if (!quicklistIsPlain(q->fill, value.len)) return nodeCreate(value);
    quicklistNode *n = nodeCreatePlain(value);
    serverAssert(n); /* the caller has reserved memory for it */
    return n;
}

void quicklistPush(quicklist *q, listEnd end, slice value) {
    quicklistNode *n = end == LIST_HEAD ? q->head : q->tail;
    q->count++;
    if (likely(mayTake(q, n, value.len) && value.len < plain_from)) nodePush(n, end, value, q->bytes_max);
    else linkAtEnd(q, end, createFor(q, value));
}

bool quicklistEnd(const quicklist *q, listEnd end, listpackValue *value) {
    const quicklistNode *n = end == LIST_HEAD ? q->head : q->tail;
    if (!n) return false;
    debugAssert(!nodeIsCompressed(n));
    if (nodeIsPlain(n)) {
        *value = (listpackValue){(const char *)n->block, n->len, 0};
        return true;
    }
    const uint8_t *lp = nodeListpack(n);
    *value = listpackGet(end == LIST_HEAD ? listpackFirst(lp) : listpackLast(lp));
    return true;
}

void quicklistDrop(quicklist *q, listEnd end, size_t n) {
    bool any_freed = false;
    while (n && q->count) {
        quicklistNode *node = end == LIST_HEAD ? q->head : q->tail;
        size_t count = nodeCount(node);
        if (n < count) {
            nodeDecompress(node);
            nodeDrop(node, end, n);
            q->count -= n;
            break;
        }
        unlinkFree(q, node);
        q->count -= count;
        n -= count;
        any_freed = true;
    }
    if (any_freed) adjustDepth(q);
}

/* ---- From outside ------------------------------------------------------------------------------------------------ */

bool quicklistAppendEach(quicklist *q, const uint8_t *lp) {
    char digits[LONG_STR_SIZE];
    for (const uint8_t *at = listpackFirst(lp); at; at = listpackNext(at)) {
        slice text = listpackText(at, digits);
        if (quicklistIsPlain(q->fill, text.len)) {
            if (!quicklistAppendPlain(q, text)) return false;
        } else {
            quicklistPush(q, LIST_TAIL, text);
        }
    }
    return true;
}

bool quicklistAppendListpackTake(quicklist *q, uint8_t *lp) {
    size_t count = listpackRecount(lp);
    if (listpackBytes(lp) > NODE_BYTES_MAX) {
        if (!quicklistAppendEach(q, lp)) return false;
    } else if (count) {
        q->count += count;
        linkAtEnd(q, LIST_TAIL, nodeCreateTake(lp));
        return true;
    }
    listpackFree(lp);
    return true;
}

bool quicklistAppendPlain(quicklist *q, slice value) {
    quicklistNode *n = nodeCreatePlain(value);
    if (!n) return false;
    q->count++;
    linkAtEnd(q, LIST_TAIL, n);
    return true;
}

quicklist *quicklistDup(const quicklist *q) {
    quicklist *copy = quicklistCreate(q->fill, q->depth);
    for (const quicklistNode *n = q->head; n; n = n->next) {
        quicklistNode *of_n = nodeDup(n);
        if (!of_n) {
            quicklistFree(copy);
            return NULL;
        }
        linkAfter(copy, copy->tail, of_n);
        longLoopStep();
    }
    copy->count = q->count;
    return copy;
}

uint8_t *quicklistToListpackTake(quicklist *q, int fill, bool half) {
    quicklistNode *n = q->head;
    if (q->nodes != 1 || nodeIsPlain(n)) return NULL;
    unsigned share = half ? 2 : 1;
    /* A limit by elements ignores bytes here. */
    if ((fill < 0 && nodeBytes(n) > bytesMax(fill) / share) || n->count > entriesMax(fill) / share) return NULL;
    nodeDecompress(n);
    uint8_t *lp = nodeTakeListpack(n);
    n->block = NULL;
    quicklistFree(q);
    return listpackShrinkToFit(lp);
}

/* ---- Positions --------------------------------------------------------------------------------------------------- */

static bool mayMerge(const quicklist *q, const quicklistNode *a, const quicklistNode *b) {
    if (!a || !b || nodeIsPlain(a) || nodeIsPlain(b)) return false;
    return a->count + b->count <= q->entries_max && nodeBytes(a) + nodeBytes(b) - LISTPACK_BYTES_MIN <= q->bytes_max;
}

/* Merges the node after `a` into `a` if both fit into one. */
static void mergeNext(quicklist *q, quicklistNode *a) {
    quicklistNode *b = a ? a->next : NULL;
    if (!mayMerge(q, a, b)) return;
    nodeDecompress(a);
    nodeDecompress(b);
    uint8_t *second = nodeTakeListpack(b);
    b->block = NULL;
    uint8_t *both = listpackMergeTake(nodeTakeListpack(a), second);
    nodeSetListpack(a, both);
    unlinkFree(q, b);
}

/* Splits a packed node before entry `number`, into `first` and first->next; neither is empty. */
static void quicklistSplit(quicklist *q, quicklistNode *first, size_t number) {
    nodeDecompress(first);
    linkAfter(q, first, nodeSplit(first, number));
}

/* Merges neighbours of `center`, one part of a node that was split, where they fit into one node, outer pairs first, as
 * the reference server does. */
static void mergeAround(quicklist *q, quicklistNode *center) {
    mergeNext(q, center->prev ? center->prev->prev : NULL);
    mergeNext(q, center->next);
    quicklistNode *before = center->prev;
    if (mayMerge(q, before, center)) {
        mergeNext(q, before);
        center = before;
    }
    mergeNext(q, center);
    compressInner(q, center->prev);
    compressInner(q, center->next);
    compressInner(q, center);
}

/* Inserts a large element as a node of its own, splitting `n` if needed. */
static quicklistNode *insertAlone(quicklist *q, quicklistNode *n, size_t number, bool before, slice value) {
    size_t cut = before ? number : number + 1;
    quicklistNode *alone = createFor(q, value);
    if (cut > 0 && cut < nodeCount(n)) {
        quicklistSplit(q, n, cut);
        linkAfter(q, n, alone);
        nodeClose(n);
        compressInner(q, n);
        compressInner(q, alone->next);
    } else {
        linkAfter(q, before ? n->prev : n, alone);
    }
    return alone;
}

/* Inserts into a full node, not at one of its ends. */
static void insertBySplitting(quicklist *q, quicklistNode *n, size_t number, bool before, slice value) {
    quicklistSplit(q, n, before ? number : number + 1);
    quicklistNode *rest = n->next;
    nodePush(before ? n : rest, before ? LIST_TAIL : LIST_HEAD, value, q->bytes_max);
    mergeAround(q, before ? rest : n);
}

static void insertInside(quicklistNode *n, size_t number, listpackWhere where, slice value) {
    nodeDecompress(n);
    uint8_t *lp = nodeTakeListpack(n);
    const uint8_t *at = listpackIndex(lp, (long)number);
    nodeSetListpack(n, listpackInsert(lp, &at, where, value));
}

static void insertBeside(quicklist *q, quicklistNode *n, size_t number, bool before, slice value) {
    q->count++;
    bool at_edge = number == (before ? 0 : nodeCount(n) - 1);
    quicklistNode *neighbor = before ? n->prev : n->next;
    if (quicklistIsPlain(q->fill, value.len)) {
        (void)insertAlone(q, n, number, before, value);
    } else if (mayTake(q, n, value.len)) {
        insertInside(n, number, before ? LISTPACK_BEFORE : LISTPACK_AFTER, value);
        compressInner(q, n);
    } else if (at_edge && mayTake(q, neighbor, value.len)) {
        nodeDecompress(neighbor);
        nodePush(neighbor, before ? LIST_TAIL : LIST_HEAD, value, q->bytes_max);
        compressInner(q, neighbor);
    } else if (at_edge) {
        linkAfter(q, before ? n->prev : n, nodeCreate(value));
        compressInner(q, before ? n->prev : n->next);
    } else {
        insertBySplitting(q, n, number, before, value);
    }
    adjustDepth(q);
}

/* Deletes an entry of a node. */
static void deleteInside(quicklist *q, quicklistNode *node, size_t number) {
    q->count--;
    if (nodeCount(node) == 1) {
        unlinkFree(q, node);
        return;
    }
    nodeDecompress(node);
    if (number == 0) nodeDrop(node, LIST_HEAD, 1);
    else if (number + 1 == node->count) nodeDrop(node, LIST_TAIL, 1);
    else nodeSetListpack(node, listpackDeleteRange(nodeTakeListpack(node), (long)number, 1));
}

/* Replaces an entry of a packed node by a large element. The nodes on either side of it may be small. */
static void replaceByAlone(quicklist *q, quicklistNode *n, size_t number, slice value) {
    quicklistNode *alone = insertAlone(q, n, number, false, value);
    q->count++;
    deleteInside(q, n, number);
    quicklistNode *before = alone->prev, *after = alone->next;
    mergeNext(q, after);
    if (before && before->prev) {
        before = before->prev;
        mergeNext(q, before);
    }
    compressInner(q, before);
    compressInner(q, before ? before->next : NULL);
    compressInner(q, alone->next);
}

static void replace(quicklist *q, quicklistNode *n, size_t number, slice value) {
    if (!nodeIsPlain(n) && !quicklistIsPlain(q->fill, value.len) &&
        nodeBytes(n) + listpackEntryBytesMax(value.len) <= NODE_BYTES_MAX) {
        insertInside(n, number, LISTPACK_REPLACE, value);
        compressInner(q, n);
        return;
    }
    if (nodeIsPlain(n) && quicklistIsPlain(q->fill, value.len)) {
        linkAfter(q, n, createFor(q, value));
        compressInner(q, n->next);
        unlinkFree(q, n);
        adjustDepth(q);
        return;
    }
    if (nodeIsPlain(n)) {
        insertBeside(q, n, number, false, value);
        deleteInside(q, n, number);
    } else {
        replaceByAlone(q, n, number, value);
    }
    adjustDepth(q);
}

void quicklistInsert(quicklist *q, quicklistIter *it, listpackWhere where, slice value) {
    quicklistNode *n = (quicklistNode *)(uintptr_t)it->node;
    if (where == LISTPACK_REPLACE) replace(q, n, it->number, value);
    else insertBeside(q, n, it->number, where == LISTPACK_BEFORE, value);
    it->node = NULL;
    it->given = false;
}

/* Deletes equal elements of one node; returns how many. */
static size_t deleteEqualIn(quicklist *q, quicklistNode *n, slice value, listEnd from, size_t max, uint8_t **scratch) {
    const uint8_t *bytes = nodeRead(n, scratch);
    size_t there = nodeIsPlain(n) ? sliceEq(sliceOf(bytes, n->len), value) : listpackCountEqual(bytes, value), removed;
    if (there == 0) return 0;
    if (there > max && from == LIST_TAIL) there -= max;
    else if (from == LIST_TAIL) there = 0;
    size_t skip = from == LIST_TAIL ? there : 0;
    if (nodeIsPlain(n)) {
        unlinkFree(q, n);
        removed = 1;
    } else {
        nodeDecompress(n);
        nodeSetListpack(n, listpackDeleteEqual(nodeTakeListpack(n), value, skip, max, &removed));
        if (n->count == 0) unlinkFree(q, n);
        else compressInner(q, n);
    }
    q->count -= removed;
    return removed;
}

size_t quicklistDeleteEqual(quicklist *q, slice value, listEnd from, size_t max) {
    size_t deleted = 0;
    uint8_t *scratch = NULL;
    quicklistNode *n = from == LIST_HEAD ? q->head : q->tail;
    while (n && deleted < max) {
        quicklistNode *next = from == LIST_HEAD ? n->next : n->prev;
        deleted += deleteEqualIn(q, n, value, from, max - deleted, &scratch);
        n = next;
    }
    zfree(scratch);
    if (deleted) adjustDepth(q);
    return deleted;
}

/* ---- Stored form ------------------------------------------------------------------------------------------------- */

const quicklistNode *quicklistNextPart(const quicklist *q, const quicklistNode *node, quicklistPart *out) {
    const quicklistNode *n = node ? node->next : q->head;
    if (!n) return NULL;
    *out = (quicklistPart){.plain = nodeIsPlain(n), .compressed = nodeIsCompressed(n), .raw_bytes = nodeBytes(n)};
    if (out->compressed) out->bytes = nodePackedBytes(n);
    else out->bytes = sliceOf(out->plain ? n->block : nodeListpack(n), out->raw_bytes);
    return n;
}

void quicklistGetStats(const quicklist *q, quicklistStats *out) {
    *out = (quicklistStats){.nodes = q->nodes};
    for (const quicklistNode *n = q->head; n; n = n->next) {
        out->compressed += nodeIsCompressed(n);
        out->bytes += nodeBytes(n);
    }
}

size_t quicklistMemory(const quicklist *q, size_t samples) {
    size_t bytes = 0, sampled = 0;
    for (const quicklistNode *n = q->head; n && (samples == 0 || sampled < samples); n = n->next, sampled++) {
        bytes += zmallocSize(n) + zmallocSize(n->block);
        longLoopStep();
    }
    if (sampled && sampled < q->nodes) bytes = (size_t)((double)bytes / (double)sampled * (double)q->nodes);
    return zmallocSize(q) + bytes;
}

/* Offers the block of a node and the node itself; returns the node's new address. */
static quicklistNode *defragNode(quicklist *q, quicklistNode *n, blockMover *move) {
    void *moved = move(n->block);
    if (moved) n->block = moved;
    if ((moved = move(n)) == NULL) return n;
    n = moved;
    *(n->prev ? &n->prev->next : &q->head) = n;
    *(n->next ? &n->next->prev : &q->tail) = n;
    return n;
}

bool quicklistDefrag(quicklist *q, bool begin, size_t nodes, blockMover *move) {
    quicklistNode *n = begin ? q->head : q->defrag_next;
    for (; n && nodes; nodes--) {
        if (n->next) prefetchRead(n->next);
        n = defragNode(q, n, move)->next;
    }
    q->defrag_next = n;
    return n == NULL;
}

void quicklistCheck(const quicklist *q) {
    bool next_found = q->defrag_next == NULL;
    size_t count = 0, nodes = 0, number = 0;
    uint8_t *scratch = NULL;
    const quicklistNode *before = NULL;
    for (const quicklistNode *n = q->head; n; before = n, n = n->next, number++) {
        serverAssert(n->prev == before);
        next_found |= n == q->defrag_next;
        serverAssert(!nodeIsCompressed(n) || (number >= q->depth && q->nodes - 1 - number >= q->depth && q->depth));
        const uint8_t *bytes = nodeRead(n, &scratch);
        if (!nodeIsPlain(n)) {
            serverAssert(listpackValidate(bytes, listpackBytes(bytes), true, NULL, NULL));
            serverAssert(listpackCount(bytes) == n->count && n->count > 0);
            serverAssert(nodeIsCompressed(n) || n->gap + listpackBytes(bytes) <= zmallocSize(n->block));
        }
        count += nodeCount(n);
        nodes++;
    }
    zfree(scratch);
    serverAssert(q->tail == before && q->count == count && q->nodes == nodes && next_found);
}
