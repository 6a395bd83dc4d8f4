/* check_rdb_biggest.c -- collects the largest keys of a snapshot, by their bytes in the file.
 *
 * Not here    how they are printed (check_rdb_report.c).
 * Owns        the keys that are kept, with their names.
 * Threads     one at a time.
 * Invariants  1. The keys are a heap with the smallest first, until they are sorted.
 * Cost        a key that is too small: one comparison.
 * Tests       tests/unit/persist/check/check_rdb_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "check_rdb_biggest.h"

#include "check_rdb_text.h"
#include "heap.h"
#include "zmalloc.h"

#include <stdlib.h>

/* Returns true if `a` has fewer bytes than `b`, or as many but comes after it in the file. */
static bool isSmaller(const void *a, const void *b) {
    const checkRdbBig *k = a, *l = b;
    return k->bytes != l->bytes ? k->bytes < l->bytes : k->offset > l->offset;
}

static const heapType big_type = {.size = sizeof(checkRdbBig), .before = isSmaller};

void checkRdbBiggestAdd(checkRdbBiggest *b, const checkRdbBig *big, slice name) {
    if (b->capacity == 0 || (b->count == b->capacity && !isSmaller(&b->keys[0], big))) return;
    if (!b->keys) b->keys = zcalloc(b->capacity, sizeof(*b->keys));
    heap keys = {.type = &big_type, .at = b->keys, .count = b->count, .capacity = b->capacity};
    checkRdbBig kept = *big;
    kept.name = checkRdbText(name);
    if (b->count < b->capacity) {
        heapAdd(&keys, &kept);
        b->count++;
    } else {
        sdsFree(b->keys[0].name);
        heapReplace(&keys, 0, &kept);
    }
}

static int order(const void *a, const void *b) { return isSmaller(a, b) ? 1 : -1; /* no two have the same offset */ }

void checkRdbBiggestSort(checkRdbBiggest *b) {
    if (b->count) qsort(b->keys, b->count, sizeof(*b->keys), order);
}

void checkRdbBiggestFree(checkRdbBiggest *b) {
    for (size_t i = 0; i < b->count; i++) sdsFree(b->keys[i].name);
    zfree(b->keys);
    *b = (checkRdbBiggest){0};
}
