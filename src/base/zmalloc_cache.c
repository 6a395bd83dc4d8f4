/* zmalloc_cache.c -- give back what the allocator keeps for a thread that has no use for it.
 *
 * The cache of a thread holds up to 1,024 blocks of each small size (zmalloc.c says why): 5 MB of values of 4 KiB,
 * which a busy thread uses again at once, and an idle one keeps from everybody.
 *
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/base/zmalloc_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc_cache.h"

#ifdef USE_LIBC_MALLOC

void zmallocGiveBackCache(void) {
}

#else

#include <jemalloc/jemalloc.h>
#include <stddef.h>

void zmallocGiveBackCache(void) {
    mallctl("thread.tcache.flush", NULL, NULL, NULL, 0);
}

#endif
