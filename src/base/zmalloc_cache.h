/* zmalloc_cache.h -- give back what the allocator keeps for a thread that has no use for it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_CACHE_H
#define BASE_ZMALLOC_CACHE_H

/* Give the blocks that the calling thread has freed, and the allocator keeps for it to use again, to all threads of its
 * arena. Nothing where the allocator keeps none. Some microseconds. */
void zmallocGiveBackCache(void);

#endif
