/* zmalloc_move.c -- finds blocks that keep nearly empty slabs in use, and moves them.
 *
 * For any address, jemalloc reports how many regions its slab has and how many are free, the sums over all slabs
 * of that size in its arena, and the slab being filled. A block is worth moving if its slab has a larger share
 * of free regions than the average: as many slabs as possible become full, the others empty. New blocks go into the
 * slab being filled and then into the oldest with free space, so a moved block rarely moves again.
 *
 *   slabs of one size     [xxxxxxx.] [x......x] [..x.....] [xxx.....]  <- being filled
 *                          stays      moves      moves      stays
 *
 * Both allocating and freeing bypass the thread's cache: it holds just those scattered regions that were freed.
 *
 * Not here    finding the blocks: structures offer theirs to a blockMover.
 * Owns        nothing.
 * Threads     any. The allocator's features are queried under `once`.
 * Cost        one thread, random order, 200,000 blocks left of a million: 40 to 50 ns to ask, 300 ns to move.
 *             docs/design/defrag.md
 * Tests       tests/unit/base/zmalloc_move_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc_move.h"

#include "zmalloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#ifndef USE_LIBC_MALLOC
#include <jemalloc/jemalloc.h>
#endif

static atomic_bool move_all; /* relaxed: tests set it while no thread moves blocks */
static _Thread_local moverCounts counts;

void zmallocMoveAll(bool on) { atomic_store_explicit(&move_all, on, memory_order_relaxed); }

static bool allMove(void) { return unlikely(atomic_load_explicit(&move_all, memory_order_relaxed)); }

#ifdef USE_LIBC_MALLOC

bool zmallocCanMove(void) { return allMove(); }

static bool slabIsSparse(const void *p) {
    unused(p);
    return false;
}

/* Allocates a block with the same alignment, up to a cache line, as the address of the old one has. */
static void *allocateLike(const void *p, size_t size) {
    size_t align = (uintptr_t)p & (~(uintptr_t)p + 1);
    return zmallocAligned(align < CACHE_LINE ? align : CACHE_LINE, size);
}

static void freeMoved(void *p, size_t size) {
    unused(size);
    zfree(p);
}

#else

/* The result of "experimental.utilization.query". */
typedef struct slabState {
    const void *filling; /* the slab of this size that new blocks are placed in */
    size_t free_regions, regions, bytes;
    size_t free_of_size, regions_of_size; /* over all slabs of this size of the arena */
} slabState;

#define PATH_MAX_WORDS 8

static struct {
    size_t query[PATH_MAX_WORDS], query_len;
    size_t arena[PATH_MAX_WORDS], arena_len;
    bool usable;
} allocator; /* const after `once` */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static bool queryBlock(const void *p, slabState *s) {
    size_t len = sizeof(*s);
    return mallctlbymib(allocator.query, allocator.query_len, s, &len, &p, sizeof(p)) == 0 && len == sizeof(*s);
}

static bool arenaOf(const void *p, unsigned *arena) {
    size_t len = sizeof(*arena);
    return mallctlbymib(allocator.arena, allocator.arena_len, arena, &len, &p, sizeof(p)) == 0;
}

/* An "experimental" name may be removed or change its meaning: the result is tested for plausibility. */
static bool resultIsPlausible(void) {
    void *p = zmalloc(CACHE_LINE);
    slabState s;
    unsigned arena;
    bool plausible = queryBlock(p, &s) && arenaOf(p, &arena) && s.regions > 1 && s.free_regions < s.regions &&
                     s.bytes >= s.regions * CACHE_LINE && s.regions_of_size >= s.regions &&
                     s.free_of_size < s.regions_of_size;
    zfree(p);
    return plausible;
}

static void queryFeatures(void) {
    allocator.query_len = allocator.arena_len = PATH_MAX_WORDS;
    allocator.usable = mallctlnametomib("experimental.utilization.query", allocator.query, &allocator.query_len) == 0 &&
                       mallctlnametomib("arenas.lookup", allocator.arena, &allocator.arena_len) == 0 &&
                       resultIsPlausible();
}

bool zmallocCanMove(void) {
    pthread_once(&once, queryFeatures);
    return allocator.usable || allMove();
}

static bool slabIsSparse(const void *p) {
    slabState s;
    if (!zmallocCanMove() || !allocator.usable || !queryBlock(p, &s)) return false;
    if (s.free_regions == 0) return false; /* large blocks have no regions */
    uintptr_t filling = (uintptr_t)s.filling;
    if (filling && (uintptr_t)p - filling < s.bytes) return false;
    /* Compares free / regions of this slab with those of all. */
    return (double)s.free_regions * (double)s.regions_of_size > (double)s.free_of_size * (double)s.regions;
}

static void *allocateLike(const void *p, size_t size) {
    unsigned arena;
    void *q = NULL;
    if (zmallocCanMove() && allocator.usable && arenaOf(p, &arena))
        q = mallocx(size, (int)MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
    return q ? q : zmalloc(size);
}

static void freeMoved(void *p, size_t size) { sdallocx(p, size, MALLOCX_TCACHE_NONE); }

#endif

bool zmallocWorthMoving(const void *p) { return slabIsSparse(p) || allMove(); }

static void *moveTake(void *p) {
    size_t size = zmallocSize(p);
    void *q = allocateLike(p, size);
    memcpy(q, p, size);
    freeMoved(p, size);
    return q;
}

void *zmallocMover(void *block) {
    if (!zmallocWorthMoving(block)) {
        counts.left++;
        return NULL;
    }
    counts.moved++;
    return moveTake(block);
}

moverCounts *zmallocMoverCounts(void) { return &counts; }
