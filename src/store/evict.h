/* evict.h -- maxmemory: what to remove when the memory is full (policies: store_state.h).
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_EVICT_H
#define STORE_EVICT_H

#include "db.h"
#include "lru.h"

/* Boot only: CONFIG SET maxmemory takes effect at once. */
void evictInit(void);

typedef enum { EVICT_OK, EVICT_RUNNING, EVICT_FAIL } evictResult;
/* Free memory until used (less what does not count) is at or below maxmemory. RUNNING: the time slice is used up, a
 * timer goes on. FAIL: nothing left that may be removed. With maxmemory 0 this is one comparison. While the dataset
 * stands still nothing goes, and that is OK: commands that would need the memory are paused. */
evictResult evictPerform(void);
/* Is used memory above the limit now? *over_bytes may be NULL. */
bool evictOverLimit(size_t *over_bytes);
/* Bytes that may still be used before the limit is reached; SIZE_MAX without one. */
size_t evictRoom(void);
/* Memory that does not count (what is on its way between threads; replication and AOF buffers): each layer that has
 * some registers a function that says how many bytes. Boot; at most 8. */
void evictAddUncounted(size_t (*fn)(void));
size_t evictUncounted(void); /* their sum */
/* Timer hook: the server layer calls this from a timer while evictPerform() says RUNNING. */
bool evictContinue(void); /* false: done */

/* Microseconds since memory went above the limit, 0 while it is not: INFO current_eviction_exceeded_time. The times
 * that are over are summed in store_stats.eviction_exceeded_us. */
long long evictExceededUs(void);

#endif
