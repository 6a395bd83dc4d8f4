/* zmalloc_cache.h -- gives back memory that the allocator caches for an idle thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BASE_ZMALLOC_CACHE_H
#define BASE_ZMALLOC_CACHE_H

/* Returns the free blocks that the allocator caches for the calling thread to its arena. No effect if the allocator has
 * no cache. Takes some microseconds. */
void zmallocGiveBackCache(void);

#endif
