/* zmalloc_move_test.c -- sparsely used pages become free when their blocks are moved.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc_move.h"
#include "unit.h"
#include "zmalloc.h"

#include <string.h>

enum { BLOCKS = 60000 };

static void fillBlock(unsigned char *p, size_t i, size_t size) { memset(p, (int)(i % 251), size); }

static bool holds(const unsigned char *p, size_t i, size_t size) {
    for (size_t at = 0; at < size; at++)
        if (p[at] != i % 251) return false;
    return true;
}

static size_t sizeOfBlock(size_t i, size_t size) { return size ? size : 16 + i * 7 % 400; }

/* Offers all blocks until a round moves hardly any. Returns the number of rounds. */
static int moveUntilDense(unsigned char **blocks) {
    for (int round = 1; round < 20; round++) {
        moverCounts before = *zmallocMoverCounts();
        for (size_t i = 0; i < BLOCKS; i++) {
            void *moved = blocks[i] ? zmallocMover(blocks[i]) : NULL;
            if (moved) blocks[i] = moved;
        }
        CHECK(zmallocMoverCounts()->left > before.left);
        if (zmallocMoverCounts()->moved - before.moved < BLOCKS / 200) return round;
    }
    return 20;
}

static void thinOut(size_t size) {
    static unsigned char *blocks[BLOCKS];
    uint64_t seed = unitRandomSeed();
    for (size_t i = 0; i < BLOCKS; i++) {
        blocks[i] = zmalloc(sizeOfBlock(i, size));
        fillBlock(blocks[i], i, sizeOfBlock(i, size));
    }
    for (size_t i = 0; i < BLOCKS; i++) {
        if (unitRandom(&seed) % 10 < 2) continue;
        zfree(blocks[i]);
        blocks[i] = NULL;
    }
    zmallocDropCache();
    size_t used = zmallocUsed();
    allocatorInfo before, after;
    zmallocAllocatorInfo(&before);
    CHECK(moveUntilDense(blocks) < 8);
    zmallocAllocatorInfo(&after);
    CHECK_EQ_INT(zmallocUsed(), used);
    if (!zmallocCanMove()) CHECK_EQ_INT(after.active, before.active);
    /* Four fifths of the blocks were freed. The rest of the process may use some memory. */
    else CHECK(after.active < before.active / 2);
    for (size_t i = 0; i < BLOCKS; i++) {
        if (!blocks[i]) continue;
        CHECK(holds(blocks[i], i, sizeOfBlock(i, size)));
        zfree(blocks[i]);
    }
}

TEST(move_gets_pages_free) {
    thinOut(100);
    thinOut(0);
    thinOut(3000);
}

TEST(move_leaves_dense_and_large_blocks_alone) {
    void *p = zmalloc(1 << 20);
    CHECK(!zmallocWorthMoving(p));
    CHECK(!zmallocMover(p));
    zfree(p);
}

TEST(move_all_keeps_bytes_and_alignment) {
    zmallocMoveAll(true);
    CHECK(zmallocCanMove());
    for (size_t align = 8; align <= CACHE_LINE; align *= 2) {
        for (size_t size = 1; size < 3000; size += 131) {
            unsigned char *p = zmallocAligned(align, size);
            fillBlock(p, size, size);
            size_t room = zmallocSize(p);
            unsigned char *moved = zmallocMover(p);
            if (!CHECK(moved && moved != p)) continue;
            CHECK_EQ_INT((uintptr_t)moved % align, 0);
            CHECK(zmallocSize(moved) == room && holds(moved, size, size));
            zfreeSized(moved, room);
        }
    }
    zmallocMoveAll(false);
}
