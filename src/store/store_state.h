/* store_state.h -- shared state of this layer: counters, and the time that determines whether a key is expired.
 *
 * Threads     main. A background thread reads none of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_STATE_H
#define STORE_STORE_STATE_H

#include "store_settings.h"

/* Counters of the layer, for INFO. Main only. */
typedef struct storeStats {
    long long keyspace_hits, keyspace_misses;
    long long expired_keys, evicted_keys;
    long long expired_fields; /* expired elements of values */
    long long expired_time_cap_reached, expire_cycle_cpu_us;
    double expired_stale_perc;
    double elements_stale_perc; /* of the keys whose elements have a TTL, the percentage with expired elements */
    long long eviction_exceeded_us, dirty; /* dirty: changes since the last save */
    long long defrag_hits, defrag_misses;  /* blocks that have moved, and those that were examined and have not */
    long long defrag_key_hits, defrag_key_misses, defrag_us;
    long long lazyfreed_objects; /* as of the last call of lazyfreeDone() */
} storeStats;
extern storeStats store_stats;

/* The clock for expiry: wall time in milliseconds, refreshed once per batch of commands, so that a command (and a
 * transaction) sees a single time. */
extern int64_t store_now_ms; /* read by storeNowMs(), set by storeSetNowMs() */
static inline int64_t storeNowMs(void) { return store_now_ms; }
void storeSetNowMs(int64_t now_ms); /* sets the clock and the cutoff for expiry */
/* Sets whether expires are ignored, so that no key counts as expired: while loading a file, or executing the primary's
 * commands. */
void storeSetExpireIgnored(bool ignored);
/* Registers a function that returns true while expiry and eviction are paused (clients are paused): expired keys are
 * hidden and not deleted, and no key is evicted. Call at startup; at most 8. As it costs a call for each, it is checked
 * only before a key would be deleted. */
void storeAddExpiryPause(bool (*in_force)(void));
/* Returns whether expiry and eviction are paused. */
bool storeExpiryPaused(void);
/* Set while the dataset follows another server's, which decides when keys are deleted: expired keys are hidden, and
 * deleted only if this server's own clients write to them. `all_memory`: maxmemory is ignored as well. `imports`:
 * clients that declare it (CLIENT IMPORT-SOURCE) import the dataset; they see all keys, and none is evicted. */
typedef struct storeFollowing {
    bool on, all_memory, imports;
} storeFollowing;
extern storeFollowing store_following; /* set by storeSetFollowing() */
void storeSetFollowing(storeFollowing now);
/* Expires below this have passed: the time, or INT64_MIN while expires are ignored. */
extern int64_t store_expire_cutoff_ms;
/* Returns whether an expire that a command sets has already passed, so that its key is deleted immediately. False while
 * expires are ignored, or the dataset follows another server's, which will send the deletion. */
static inline bool storeExpirePassed(int64_t when_ms) {
    return when_ms <= store_expire_cutoff_ms && !store_following.on;
}

/* Registers the INFO fields of this layer. Call at startup. */
void storeInfoRegister(void);

#endif
