/* zmalloc_cache.c -- gives back memory that the allocator caches for an idle thread.
 *
 * The cache of a thread holds up to 1,024 blocks of each small size (zmalloc.c has the reason): 5 MB of values of 4
 * KiB, which a busy thread reuses immediately, but an idle one withholds from all others.
 *
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/base/zmalloc_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "zmalloc_cache.h"

#ifdef USE_LIBC_MALLOC

void zmallocGiveBackCache(void) {}

#else

#include <jemalloc/jemalloc.h>
#include <stddef.h>

void zmallocGiveBackCache(void) { mallctl("thread.tcache.flush", NULL, NULL, NULL, 0); }

#endif
