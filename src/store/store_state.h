/* store_state.h -- what the files of this layer share: counters and the time that decides about expires.
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
    long long expired_fields; /* elements of values that had a time of their own */
    long long expired_time_cap_reached, expire_cycle_cpu_us;
    double expired_stale_perc;
    double elements_stale_perc;            /* of the keys with such elements: how many had some that were over */
    long long eviction_exceeded_us, dirty; /* dirty: changes since the last save */
    long long defrag_hits, defrag_misses;  /* blocks that have moved, and that were looked at and stayed */
    long long defrag_key_hits, defrag_key_misses, defrag_us;
    long long lazyfreed_objects; /* as of the last call of lazyfreeDone() */
} storeStats;
extern storeStats store_stats;

/* The clock that decides what is expired: wall ms, refreshed once per batch of commands, so that one command (and one
 * transaction) sees one time. */
extern int64_t store_now_ms; /* read through storeNowMs(), set through storeSetNowMs() */
static inline int64_t storeNowMs(void) {
    return store_now_ms;
}
void storeSetNowMs(int64_t now_ms);
/* While set, no key counts as expired: loading a file, or executing what the primary sends. */
void storeSetExpireIgnored(bool ignored);
/* The dataset stands still while a registered function says so (clients are paused): keys whose time is over are hidden
 * and not deleted, and nothing is evicted. Boot; at most 8. Looking at it costs a call for each, so it is asked only
 * when something is about to go. */
void storeAddExpiryPause(bool (*in_force)(void));
bool storeStandsStill(void);
/* The dataset follows another server's, which decides when a key goes: those whose time is over are hidden, and deleted
 * only where this server's own clients write to them. `all_memory`: nor is maxmemory for it. `imports`: it comes from
 * clients who say that they import it (CLIENT IMPORT-SOURCE); they see all of it, and nothing is evicted. */
typedef struct storeFollowing {
    bool on, all_memory, imports;
} storeFollowing;
extern storeFollowing store_following; /* set by storeSetFollowing() */
void storeSetFollowing(storeFollowing now);
/* Expires below this are over: the time, or INT64_MIN while expires are ignored. */
extern int64_t store_expire_cutoff_ms;
/* Whether a time that a command gives is over already, so that what it is for goes at once. Not while expires are
 * ignored, or the dataset follows another one: it will be told to go. */
static inline bool storeTimeIsOver(int64_t when_ms) {
    return when_ms <= store_expire_cutoff_ms && !store_following.on;
}

/* Put what this layer shows and offers into the tables of the layers below. Boot only. */
void storeInfoRegister(void);

#endif
