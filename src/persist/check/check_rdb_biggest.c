/* check_rdb_biggest.c -- the keys of a snapshot that take the most bytes of it.
 *
 * Not here    how they are written down (check_rdb_report.c).
 * Owns        the keys that are kept, with their names.
 * Threads     one at a time.
 * Invariants  1. The keys are a heap with the smallest first, until they are sorted.
 * Cost        a key that is too small: one comparison.
 * Tests       tests/unit/persist/check/check_rdb_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_biggest.h"

#include "check_rdb_text.h"
#include "zmalloc.h"

#include <stdlib.h>

/* Whether it ranks behind: fewer bytes, or as many but further on in the file. */
static bool isSmaller(const checkRdbBig *a, const checkRdbBig *b) {
    return a->bytes != b->bytes ? a->bytes < b->bytes : a->offset > b->offset;
}

/* Place `big` at the free place `at`, or above it. */
static void siftUp(checkRdbBiggest *b, size_t at, checkRdbBig big) {
    for (size_t parent; at > 0 && isSmaller(&big, &b->keys[parent = (at - 1) / 2]); at = parent)
        b->keys[at] = b->keys[parent];
    b->keys[at] = big;
}

/* Place `big` at the top, or below it. */
static void siftDown(checkRdbBiggest *b, checkRdbBig big) {
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < b->count; at = child) {
        if (child + 1 < b->count && isSmaller(&b->keys[child + 1], &b->keys[child])) child++;
        if (!isSmaller(&b->keys[child], &big)) break;
        b->keys[at] = b->keys[child];
    }
    b->keys[at] = big;
}

void checkRdbBiggestAdd(checkRdbBiggest *b, const checkRdbBig *big, slice name) {
    if (b->capacity == 0 || (b->count == b->capacity && !isSmaller(&b->keys[0], big))) return;
    if (!b->keys) b->keys = zcalloc(b->capacity, sizeof(*b->keys));
    checkRdbBig kept = *big;
    kept.name = checkRdbText(name);
    if (b->count < b->capacity) {
        siftUp(b, b->count++, kept);
    } else {
        sdsFree(b->keys[0].name);
        siftDown(b, kept);
    }
}

static int order(const void *a, const void *b) {
    return isSmaller(a, b) ? 1 : -1; /* no two have the same offset */
}

void checkRdbBiggestSort(checkRdbBiggest *b) {
    if (b->count) qsort(b->keys, b->count, sizeof(*b->keys), order);
}

void checkRdbBiggestFree(checkRdbBiggest *b) {
    for (size_t i = 0; i < b->count; i++) sdsFree(b->keys[i].name);
    zfree(b->keys);
    *b = (checkRdbBiggest){0};
}
