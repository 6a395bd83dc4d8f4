/* store_settings.h -- the values of the keyspace's settings.
 *
 * Runs on: main. A background thread reads none of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_SETTINGS_H
#define STORE_STORE_SETTINGS_H

#include "platform.h"

/* Described in store_setting_table.c; hz is set by the server layer. */
typedef struct storeSettings {
    long long databases, maxmemory, maxmemory_samples, maxmemory_eviction_tenacity;
    int maxmemory_policy; /* MAXMEMORY_* below */
    int notify_events;    /* NOTIFY_* of keyspace_events.h */
    long long lfu_log_factor, lfu_decay_time, active_expire_effort, hz;
    bool lazyfree_eviction, lazyfree_expire, lazyfree_server_del, lazyfree_user_del, lazyfree_user_flush;
    bool activerehashing, activedefrag;
    bool active_defrag_all; /* for tests: everything moves, at any time */
    long long active_defrag_cycle_max, active_defrag_cycle_min, active_defrag_cycle_us, active_defrag_ignore_bytes;
    long long active_defrag_max_scan_fields, active_defrag_threshold_lower, active_defrag_threshold_upper;
} storeSettings;
extern storeSettings store_settings;

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

#endif
