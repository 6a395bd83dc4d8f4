/* store_settings.h -- the settings of the keyspace.
 *
 * Runs on: main. A background thread reads none of it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_SETTINGS_H
#define STORE_STORE_SETTINGS_H

#include "platform.h"

/* Described by the rows in store_settings.c; the server layer sets hz. */
typedef struct storeSettings {
    long long databases, maxmemory, maxmemory_samples, maxmemory_eviction_tenacity;
    long long maxmemory_rss_percent; /* of maxmemory: resident memory that is allowed; 0: any */
    int maxmemory_policy;            /* MAXMEMORY_* below */
    int notify_events;               /* NOTIFY_* below */
    long long lfu_log_factor, lfu_decay_time, active_expire_effort;
    long long hz;       /* the server layer sets it */
    int expire_precise; /* EXPIRE_PRECISE_* below */
    bool lazyfree_eviction, lazyfree_expire, lazyfree_server_del, lazyfree_user_del, lazyfree_user_flush;
    bool activerehashing, activedefrag;
    bool active_defrag_all; /* for tests: move all blocks, at any time */
    long long active_defrag_cycle_max, active_defrag_cycle_min, active_defrag_cycle_us, active_defrag_ignore_bytes;
    long long active_defrag_max_scan_fields, active_defrag_threshold_lower, active_defrag_threshold_upper;
} storeSettings;
extern storeSettings store_settings;

enum { EXPIRE_PRECISE_NO, EXPIRE_PRECISE_YES, EXPIRE_PRECISE_AUTO };

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

/* Keyspace event classes, as notify-keyspace-events names them: $ g l s h z t x e m n d K E */
enum {
    NOTIFY_KEYSPACE = 1,
    NOTIFY_KEYEVENT = 2,
    NOTIFY_GENERIC = 4,
    NOTIFY_STRING = 8,
    NOTIFY_LIST = 16,
    NOTIFY_SET = 32,
    NOTIFY_HASH = 64,
    NOTIFY_ZSET = 128,
    NOTIFY_EXPIRED = 256,
    NOTIFY_EVICTED = 512,
    NOTIFY_STREAM = 1024,
    NOTIFY_KEY_MISS = 2048,
    NOTIFY_LOADED = 4096,
    NOTIFY_MODULE = 8192,
    NOTIFY_NEW = 16384
};

/* Returns the name of the policy, as maxmemory-policy shows it. */
const char *storeMaxmemoryPolicyName(void);
/* Registers the settings. Call at startup. */
void storeSettingsRegister(void);

#endif
