/* defrag_support.h -- defragments values while a test changes them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_OBJECT_DEFRAG_SUPPORT_H
#define TESTS_OBJECT_DEFRAG_SUPPORT_H

#include "object.h"
#include "unit.h"

/* Defragments a piece of random size from *cursor on, moving everything; after the last piece it begins again. */
static inline void defragPiece(robj *o, defragCursor *cursor, uint64_t *rng) {
    zmallocMoveAll(true);
    if (objectDefragValue(o, cursor, 1 + unitRandom(rng) % 20, zmallocMover)) *cursor = (defragCursor){0};
    zmallocMoveAll(false);
}

/* Defragments the value in pieces of 10. Returns the number of blocks moved. */
static inline long long defragWhole(robj *o) {
    defragCursor cursor = {0};
    long long before = zmallocMoverCounts()->moved;
    int pieces = 0;
    zmallocMoveAll(true);
    while (!objectDefragValue(o, &cursor, 10, zmallocMover))
        if (!CHECK(++pieces < 1000000)) break;
    zmallocMoveAll(false);
    return zmallocMoverCounts()->moved - before;
}

#endif
