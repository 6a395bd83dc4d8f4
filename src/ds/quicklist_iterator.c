/* quicklist_iterator.c -- walks over the elements of a quicklist, from any index, in either direction.
 *
 * Threads     one owner; the list may have other readers.
 * Cost        begin: nodes from the nearer end, then entries of one node from its nearer end. Next: O(1), and a
 *             decompression for each compressed node.
 * Tests       tests/unit/ds/quicklist_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quicklist_internal.h"

#include "panic.h"
#include "zmalloc.h"

/* Goes to entry `number` of `n`, or to the end if `n` is NULL. */
static void quicklistIteratorEnter(quicklistIter *it, const quicklistNode *n, size_t number) {
    it->node = n;
    it->number = number;
    it->lp = it->at = NULL;
    it->given = false;
    if (!n || nodeIsPlain(n)) return;
    it->lp = nodeRead(n, &it->scratch);
    it->at = listpackIndex(it->lp, (long)number);
}

/* Steps to the next element. The last entry of a run is known by its number only, not by its position. */
static void quicklistIteratorAdvance(quicklistIter *it) {
    const quicklistNode *n = it->node;
    if (it->number != (it->backward ? 0 : nodeCount(n) - 1)) {
        if (it->at) it->at = it->backward ? listpackPrev(it->lp, it->at) : listpackNext(it->at);
        it->number += it->backward ? SIZE_MAX : 1;
        if (!it->at) it->at = listpackIndex(it->lp, (long)it->number);
        it->given = false;
        return;
    }
    n = it->backward ? n->prev : n->next;
    if (n && n->next) prefetchRead(n->next->block);
    quicklistIteratorEnter(it, n, n && it->backward ? nodeCount(n) - 1 : 0);
}

/* Returns the node of element `index`, counted from the front, and its number in the node. */
static const quicklistNode *quicklistIteratorFind(const quicklist *q, size_t index, size_t *number) {
    size_t count = quicklistCount(q), after = count - index; /* behind: elements from `index` on */
    const quicklistNode *n;
    if (index <= count / 2) {
        for (n = quicklistEndNode(q, LIST_HEAD); index >= nodeCount(n); n = n->next) index -= nodeCount(n);
        *number = index;
    } else {
        for (n = quicklistEndNode(q, LIST_TAIL); after > nodeCount(n); n = n->prev) after -= nodeCount(n);
        *number = nodeCount(n) - after;
    }
    return n;
}

void quicklistIterBegin(quicklistIter *it, const quicklist *q, long index, bool backward) {
    size_t count = quicklistCount(q), from_front = (size_t)index, number;
    *it = (quicklistIter){.backward = backward};
    if (index < 0) from_front += count; /* still out of range if it was too low */
    if (from_front >= count) return;
    const quicklistNode *n = quicklistIteratorFind(q, from_front, &number);
    quicklistIteratorEnter(it, n, number);
}

static slice plainText(quicklistIter *it) { return sliceOf(nodeRead(it->node, &it->scratch), it->node->len); }

bool quicklistIterNext(quicklistIter *it, listpackValue *value) {
    if (it->given) quicklistIteratorAdvance(it);
    if (!it->node) return false;
    it->given = true;
    if (likely(it->lp != NULL)) {
        *value = listpackGet(it->at);
    } else {
        slice text = plainText(it);
        *value = (listpackValue){text.ptr, text.len, 0};
    }
    return true;
}

bool quicklistIterUnpacked(const quicklistIter *it) { return it->given && nodeIsCompressed(it->node); }

size_t quicklistIterRun(quicklistIter *it, size_t max, const uint8_t **lp, const uint8_t **at, slice *plain) {
    if (it->given) quicklistIteratorAdvance(it);
    if (!it->node || max == 0) return 0;
    it->given = true;
    *lp = it->lp;
    *at = it->at;
    if (!it->lp) {
        *plain = plainText(it);
        return 1;
    }
    size_t n = it->backward ? it->number + 1 : it->node->count - it->number;
    if (n > max) n = max;
    it->number += it->backward ? 1 - n : n - 1;
    if (n > 1) it->at = NULL;
    return n;
}

void quicklistIterEnd(quicklistIter *it) {
    zfree(it->scratch);
    it->scratch = NULL;
    it->node = NULL;
}
