/* heap.c -- a binary heap.
 *
 *   at[0]  at[1] at[2]  at[3] at[4] at[5] at[6] ...    below at[i] are at[2i + 1] and at[2i + 2]
 *
 * Invariants  1. No element comes before the one above it.
 * Cost        adding is O(1) on average for elements in random order; all else is the logarithm of `count`.
 * Tests       tests/unit/ds/heap_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "heap.h"

#include "zmalloc.h"

#include <string.h>

static char *elementAt(const heap *h, size_t index) { return (char *)h->at + index * h->type->size; }

static void heapPut(heap *h, size_t index, const void *element) {
    memcpy(elementAt(h, index), element, h->type->size);
    if (h->type->moved) h->type->moved(element, index);
}

/* Puts `element` at `index`, whose present content is no longer needed, or as far above or below as it belongs. */
static void sift(heap *h, size_t index, const void *element) {
    bool (*before)(const void *, const void *) = h->type->before;
    size_t above, below;

    for (; index > 0 && before(element, elementAt(h, above = (index - 1) / 2)); index = above)
        heapPut(h, index, elementAt(h, above));
    for (; (below = 2 * index + 1) < h->count; index = below) {
        if (below + 1 < h->count && before(elementAt(h, below + 1), elementAt(h, below))) below++;
        if (!before(elementAt(h, below), element)) break;
        heapPut(h, index, elementAt(h, below));
    }
    heapPut(h, index, element);
}

void heapAdd(heap *h, const void *element) {
    h->at = zgrowArray(h->at, h->count, &h->capacity, h->type->size);
    sift(h, h->count++, element);
}

void heapReplace(heap *h, size_t index, const void *element) { sift(h, index, element); }

void heapRemove(heap *h, size_t index) {
    h->count--;
    if (index < h->count) sift(h, index, elementAt(h, h->count));
}
