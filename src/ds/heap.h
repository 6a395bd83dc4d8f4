/* heap.h -- a binary heap: an array of elements of which the first one comes before all others.
 *
 * Runs on: one owner at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HEAP_H
#define DS_HEAP_H

#include "platform.h"

typedef struct heapType {
    size_t size;                                      /* bytes of an element */
    bool (*before)(const void *a, const void *b);     /* true if `a` comes before `b`: a strict order */
    void (*moved)(const void *element, size_t index); /* called for each index that an element gets; may be NULL */
} heapType;

typedef struct heap {
    const heapType *type;
    void *at; /* owns: `count` elements; the owner of the heap frees it by zfree() */
    size_t count, capacity;
} heap;

/* Both copy `element`, which lies outside the heap. */
void heapAdd(heap *h, const void *element);
void heapReplace(heap *h, size_t index, const void *element);
void heapRemove(heap *h, size_t index);

#endif
