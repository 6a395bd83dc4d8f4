/* store_state.h -- what the files of this layer share: settings, counters, and the time that decides about expires.
 *
 * Threads     main. A background thread reads none of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_STATE_H
#define STORE_STORE_STATE_H

#include "platform.h"

/* Counters of the layer, for INFO. Main only. */
typedef struct storeStats {
    long long keyspace_hits, keyspace_misses;
    long long expired_keys, evicted_keys;
    long long expired_time_cap_reached, expire_cycle_cpu_us;
    double expired_stale_perc;
    long long eviction_exceeded_us, dirty; /* dirty: changes since the last save */
    long long lazyfreed_objects;           /* as of the last call of lazyfreeDone() */
} storeStats;
extern storeStats store_stats;

/* Settings of the layer, described in store_settings.c; hz is set by the server layer. */
typedef struct storeSettings {
    long long databases, maxmemory, maxmemory_samples, maxmemory_eviction_tenacity;
    int maxmemory_policy; /* MAXMEMORY_* below */
    int notify_events;    /* NOTIFY_* of keyspace_events.h */
    long long lfu_log_factor, lfu_decay_time, active_expire_effort, hz;
    bool lazyfree_eviction, lazyfree_expire, lazyfree_server_del, lazyfree_user_del, lazyfree_user_flush;
    bool activerehashing;
} storeSettings;
extern storeSettings store_conf;

#define MAXMEMORY_FLAG_LRU 1
#define MAXMEMORY_FLAG_LFU 2
#define MAXMEMORY_FLAG_ALLKEYS 4
enum {
    MAXMEMORY_VOLATILE_LRU = 0 << 8 | MAXMEMORY_FLAG_LRU,
    MAXMEMORY_VOLATILE_LFU = 1 << 8 | MAXMEMORY_FLAG_LFU,
    MAXMEMORY_VOLATILE_TTL = 2 << 8,
    MAXMEMORY_VOLATILE_RANDOM = 3 << 8,
    MAXMEMORY_ALLKEYS_LRU = 4 << 8 | MAXMEMORY_FLAG_LRU | MAXMEMORY_FLAG_ALLKEYS,
    MAXMEMORY_ALLKEYS_LFU = 5 << 8 | MAXMEMORY_FLAG_LFU | MAXMEMORY_FLAG_ALLKEYS,
    MAXMEMORY_ALLKEYS_RANDOM = 6 << 8 | MAXMEMORY_FLAG_ALLKEYS,
    MAXMEMORY_NO_EVICTION = 7 << 8
};

/* The clock that decides what is expired: wall ms, refreshed once per batch of commands, so that one command (and one
 * transaction) sees one time. */
extern int64_t store_now_ms; /* read through storeNowMs(), set through storeSetNowMs() */
static inline int64_t storeNowMs(void) {
    return store_now_ms;
}
void storeSetNowMs(int64_t now_ms);
/* While set, no key counts as expired: loading a file, or executing what the primary sends. */
void storeSetExpireIgnored(bool ignored);
/* Expires below this are over: the time, or INT64_MIN while expires are ignored. */
extern int64_t store_expire_horizon_ms;

#endif
