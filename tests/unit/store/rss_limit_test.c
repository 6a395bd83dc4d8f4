/* rss_limit_test.c -- the limit for used memory follows resident memory, and never runs away.
 *
 * A model of pages stands for the allocator: each holds some blocks of one size, and is resident while one of them is
 * in use. Keys are evicted at random, so that gaps remain.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "rss_limit.h"

#include "unit.h"

#include <string.h>

#define PAGES 20000
#define BLOCKS 16 /* of a page */
#define BLOCK 1000

static struct {
    unsigned char used[PAGES];
    size_t blocks; /* in use */
    size_t fixed;  /* resident memory that is not the allocator's */
    uint64_t seed;
} heap;

static uint32_t randomBelow(uint32_t n) {
    heap.seed = heap.seed * 6364136223846793005ULL + 1442695040888963407ULL;
    return (uint32_t)(heap.seed >> 33) % n;
}

static size_t residentBytes(void) {
    size_t pages = 0;
    for (size_t i = 0; i < PAGES; i++) pages += heap.used[i] > 0;
    return pages * BLOCKS * BLOCK + heap.fixed;
}

static size_t usedBytes(void) { return heap.blocks * BLOCK; }

static void freeBlock(size_t page) {
    heap.used[page]--;
    heap.blocks--;
}

static void evictTo(size_t bytes) {
    while (usedBytes() > bytes) {
        size_t page = randomBelow(PAGES);
        if (heap.used[page]) freeBlock(page);
    }
}

/* Fills pages completely from the first on, then frees `gaps` percent of the blocks at random. */
static void fillHeap(size_t pages, unsigned gaps) {
    memset(&heap, 0, sizeof(heap));
    heap.seed = 7;
    for (size_t i = 0; i < pages; i++) heap.used[i] = BLOCKS;
    heap.blocks = pages * BLOCKS;
    evictTo(usedBytes() / 100 * (100 - gaps));
}

/* New blocks use gaps first. */
static void writeBlocks(size_t n) {
    static size_t at;
    for (size_t tries = 0; n > 0 && tries < 4 * (size_t)PAGES; tries++) {
        at = (at + 1) % PAGES;
        if (heap.used[at] == BLOCKS || (heap.used[at] == 0 && tries < PAGES)) continue;
        heap.used[at]++;
        heap.blocks++;
        n--;
    }
}

/* Active defragmentation: the blocks of the last pages move to gaps in the first ones. */
static void closeGaps(size_t pages) {
    size_t to = 0, from = PAGES;
    while (pages--) {
        while (from-- > 0 && heap.used[from] == 0) continue;
        while (to < from && from < PAGES && heap.used[from]) {
            if (heap.used[to] == 0 || heap.used[to] == BLOCKS) to++;
            else heap.used[to]++, heap.used[from]--;
        }
        if (to >= from || from >= PAGES) return;
    }
}

typedef struct outcome {
    size_t least_limit, limit, used, rss; /* limit: 0 for maxmemory */
    bool urged;
} outcome;

/* Runs so many seconds, in which `writes` blocks are written and up to `moves` pages closed in each. */
static outcome simulate(size_t maxmemory, size_t target, int seconds, size_t writes, size_t moves) {
    rssLimit l = {0};
    outcome o = {.least_limit = maxmemory};
    for (int s = 0; s < seconds; s++) {
        writeBlocks(writes);
        rssLimitInput in = {.maxmemory = maxmemory, .target = target, .used = usedBytes(), .rss = residentBytes()};
        o.urged = rssLimitStep(&l, &in);
        if (o.urged) closeGaps(moves);
        CHECK(l.bytes == 0 || (l.bytes > maxmemory / 2 && l.bytes < maxmemory));
        size_t limit = l.bytes ? l.bytes : maxmemory;
        if (limit < o.least_limit) o.least_limit = limit;
        evictTo(limit);
    }
    o.limit = l.bytes;
    o.used = usedBytes();
    o.rss = residentBytes();
    return o;
}

TEST(rss_limit_does_nothing_below_the_target) {
    fillHeap(10000, 0);
    outcome o = simulate(usedBytes(), residentBytes(), 100, 0, 0);
    CHECK(o.limit == 0 && !o.urged && o.used == (size_t)10000 * BLOCKS * BLOCK);
}

/* Memory of the process that is no data: with each evicted key resident memory falls. */
TEST(rss_limit_settles_where_resident_memory_fits) {
    fillHeap(10000, 0);
    size_t maxmemory = usedBytes();
    heap.fixed = maxmemory / 5;
    for (size_t i = 0; i < PAGES; i++) /* each key has a page */
        if (heap.used[i]) heap.used[i] = 1;
    heap.blocks = 10000;
    maxmemory = usedBytes();
    heap.fixed = maxmemory * BLOCKS / 5;
    size_t target = maxmemory * BLOCKS;
    outcome o = simulate(maxmemory, target, 300, 0, 0);
    CHECK(o.rss <= target && o.rss > target * 9 / 10);
    CHECK(o.used >= maxmemory * 7 / 10);
}

/* Gaps that nothing closes: evicting more of what is left frees hardly a page. */
TEST(rss_limit_does_not_run_away_from_gaps) {
    for (unsigned gaps = 10; gaps <= 60; gaps += 10) {
        fillHeap(10000, gaps);
        size_t maxmemory = usedBytes(), rss = residentBytes();
        outcome o = simulate(maxmemory, maxmemory, 3600, 0, 0);
        size_t lowest = (size_t)((double)maxmemory * (double)maxmemory / (double)rss);
        if (lowest <= maxmemory / 2) lowest = maxmemory / 2 + 1;
        /* Below that it goes only as long as resident memory comes down by half of what is evicted. */
        size_t below = o.least_limit < lowest ? lowest - o.least_limit : 0;
        CHECK(rss - o.rss + maxmemory / 20 >= below / 2);
        if (gaps <= 30) CHECK(below <= maxmemory / 20);
        CHECK(o.used >= o.least_limit - BLOCK);
    }
}

TEST(rss_limit_evicts_nothing_where_gaps_are_closed_in_time) {
    fillHeap(10000, 15);
    size_t maxmemory = usedBytes();
    outcome o = simulate(maxmemory, maxmemory + maxmemory / 10, 120, 0, 5000);
    CHECK_EQ_INT(o.least_limit, maxmemory);
    CHECK(o.rss <= maxmemory + maxmemory / 10);
}

TEST(rss_limit_rises_again) {
    fillHeap(10000, 25);
    size_t maxmemory = usedBytes();
    outcome o = simulate(maxmemory, maxmemory + maxmemory / 10, 1000, 100, 100);
    CHECK_EQ_INT(o.limit, 0);
    CHECK(o.least_limit < maxmemory);
    CHECK(o.used >= maxmemory - (size_t)BLOCK * 200);
}

TEST(rss_limit_does_not_fall_while_a_child_shares_the_pages) {
    rssLimit l = {0};
    rssLimitInput in = {.maxmemory = 1000000, .target = 1000000, .used = 990000, .rss = 1500000, .held = true};
    for (int s = 0; s < 100; s++) CHECK(rssLimitStep(&l, &in) && l.bytes == 0);
    in.held = false;
    rssLimitStep(&l, &in);
    CHECK(l.bytes > 900000);
    size_t before = l.bytes;
    in.held = true;
    for (int s = 0; s < 100; s++) rssLimitStep(&l, &in);
    CHECK_EQ_INT(l.bytes, before);
}

TEST(rss_limit_gives_pages_back_before_it_falls) {
    rssLimit l = {0};
    rssLimitInput in = {.maxmemory = 1000000, .target = 1000000, .used = 990000, .rss = 1500000};
    CHECK(rssLimitStep(&l, &in) && l.bytes == 0);
    CHECK(rssLimitStep(&l, &in) && l.bytes == 0);
    in.rss = 900000;
    CHECK(!rssLimitStep(&l, &in) && l.bytes == 0);
    in.rss = 1500000;
    CHECK(rssLimitStep(&l, &in) && l.bytes == 0);
    CHECK(rssLimitStep(&l, &in) && l.bytes == 0);
    CHECK(rssLimitStep(&l, &in) && l.bytes > 0);
}

/* With noeviction, or without keys that may be evicted. */
TEST(rss_limit_stays_where_used_memory_does_not_come_down) {
    rssLimit l = {0};
    rssLimitInput in = {.maxmemory = 1000000, .target = 1000000, .used = 990000, .rss = 1300000};
    for (int s = 0; s < 1000; s++) rssLimitStep(&l, &in);
    CHECK(l.bytes >= 769000 && l.bytes <= 770000);
}

TEST(rss_limit_forgets_a_limit_that_a_new_maxmemory_makes_invalid) {
    rssLimit l = {.bytes = 800000};
    rssLimitInput in = {.maxmemory = 500000, .target = 500000, .used = 400000, .rss = 450000};
    rssLimitStep(&l, &in);
    CHECK_EQ_INT(l.bytes, 0);
    l.bytes = 450000;
    in.maxmemory = 10000000;
    rssLimitStep(&l, &in);
    CHECK_EQ_INT(l.bytes, 0);
}

TEST(rss_limit_holds_its_bounds_with_any_figures) {
    heap.seed = 99;
    rssLimit l = {0};
    for (int i = 0; i < 300000; i++) {
        size_t maxmemory = i % 1000 ? 1 << 20 : 1 + randomBelow(1 << 24);
        rssLimitInput in = {.maxmemory = maxmemory,
                            .target = 1 + randomBelow(1 << 21),
                            .used = randomBelow(1 << 21),
                            .rss = randomBelow(1 << 22),
                            .held = randomBelow(8) == 0};
        rssLimitStep(&l, &in);
        CHECK(l.bytes == 0 || (l.bytes > maxmemory / 2 && l.bytes < maxmemory));
    }
}
