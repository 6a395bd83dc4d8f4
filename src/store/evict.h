/* evict.h -- maxmemory: evicts keys when memory is full (policies: store_settings.h).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "db.h"
#include "lru.h"

/* Registers the function that applies a new maxmemory at once. Call at startup. */
void evictInit(void);

typedef enum { EVICT_OK, EVICT_RUNNING, EVICT_FAIL } evictResult;
/* Frees memory until used memory (minus uncounted memory) is at or below maxmemory. Returns RUNNING if the time slice
 * is used up: the server layer calls again from a timer; FAIL if no key is left that may be evicted. With maxmemory 0
 * this is one comparison. While expiry is paused it evicts nothing and returns OK: commands that would need memory are
 * paused as well. */
evictResult evictPerform(void);
/* Returns the limit that is in force: maxmemory, or less (rss_limit.h); 0: none. */
size_t evictLimit(void);
/* Returns whether used memory is above the limit now. *over_bytes may be NULL. */
bool evictOverLimit(size_t *over_bytes);
/* Returns the bytes left until the limit is reached; SIZE_MAX without a limit. */
size_t evictAvailable(void);
/* Registers a function that returns bytes of memory that does not count against maxmemory (messages between threads;
 * replication and AOF buffers; output that clients do not read). Call at startup; at most 8. */
void evictAddUncounted(size_t (*fn)(void));
size_t evictUncounted(void); /* their sum */

/* Returns the microseconds since memory exceeded the limit, 0 if it does not: INFO current_eviction_exceeded_time. Past
 * periods are summed in store_stats.eviction_exceeded_us. */
long long evictExceededUs(void);

#endif
