/* store_setting_table.c -- the settings of the keyspace: names, ranges and texts as clients see them.
 *
 * Not here    hz, which paces more than this layer: the server sets store_settings.hz.
 * Owns        nothing; values are in store_settings.c.
 * Threads     main.
 * Tests       tests/unit/store/store_setting_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_setting_table.h"

#include "evict.h"
#include "log.h"
#include "sds.h"
#include "setting.h"
#include "zmalloc.h"
#include "zmalloc_move.h"

#include <limits.h>

static const settingName maxmemory_policies[] = {{"volatile-lru", MAXMEMORY_VOLATILE_LRU},
                                                 {"volatile-lfu", MAXMEMORY_VOLATILE_LFU},
                                                 {"volatile-random", MAXMEMORY_VOLATILE_RANDOM},
                                                 {"volatile-ttl", MAXMEMORY_VOLATILE_TTL},
                                                 {"allkeys-lru", MAXMEMORY_ALLKEYS_LRU},
                                                 {"allkeys-lfu", MAXMEMORY_ALLKEYS_LFU},
                                                 {"allkeys-random", MAXMEMORY_ALLKEYS_RANDOM},
                                                 {"noeviction", MAXMEMORY_NO_EVICTION},
                                                 {NULL, 0}};

const char *storeMaxmemoryPolicyName(void) {
    const settingName *n = maxmemory_policies;
    while (n->value != store_settings.maxmemory_policy) n++;
    return n->name;
}

/* The new limit works at once: the first slice of eviction runs here, later commands go on. */
static bool applyMaxmemory(const char **err) {
    unused(err);
    size_t used = zmallocUsed();
    if (store_settings.maxmemory && (unsigned long long)store_settings.maxmemory < used)
        serverLog(LL_WARNING,
                  "maxmemory is now %llu bytes, and %zu are in use: keys are evicted or writes refused, as "
                  "maxmemory-policy says.",
                  (unsigned long long)store_settings.maxmemory, used);
    evictPerform();
    return true;
}

static bool checkDefrag(const char *text, long long number, const char **err) {
    unused(text);
    if (!number || store_settings.active_defrag_all || zmallocCanMove()) return true;
    *err = "the allocator of this build does not tell which blocks to move; jemalloc from 5.2 on does";
    return false;
}

static bool setNotify(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count == 1 && notifyParseClasses(sliceStr(words[0]), &store_settings.notify_events)) return true;
    *err = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
    return false;
}

static char *getNotify(const setting *s) {
    unused(s);
    char text[NOTIFY_TEXT_SIZE];
    return sdsNewLen(text, notifyPrintClasses(text, store_settings.notify_events));
}

static const setting rows[] = {
    INT_SETTING("databases", store_settings.databases, "16", 1, INT_MAX, .flags = SETTING_IMMUTABLE),
    MEMORY_SETTING("maxmemory", store_settings.maxmemory, "0", 0, .apply = applyMaxmemory),
    ENUM_SETTING("maxmemory-policy", store_settings.maxmemory_policy, "noeviction", maxmemory_policies),
    INT_SETTING("maxmemory-samples", store_settings.maxmemory_samples, "5", 1, 64),
    INT_SETTING("maxmemory-eviction-tenacity", store_settings.maxmemory_eviction_tenacity, "10", 0, 100),
    INT_SETTING("lfu-log-factor", store_settings.lfu_log_factor, "10", 0, INT_MAX),
    INT_SETTING("lfu-decay-time", store_settings.lfu_decay_time, "1", 0, INT_MAX),
    INT_SETTING("active-expire-effort", store_settings.active_expire_effort, "1", 1, 10),
    BOOL_SETTING("activerehashing", store_settings.activerehashing, "yes"),
    BOOL_SETTING("lazyfree-lazy-eviction", store_settings.lazyfree_eviction, "yes"),
    BOOL_SETTING("lazyfree-lazy-expire", store_settings.lazyfree_expire, "yes"),
    BOOL_SETTING("lazyfree-lazy-server-del", store_settings.lazyfree_server_del, "yes"),
    BOOL_SETTING("lazyfree-lazy-user-del", store_settings.lazyfree_user_del, "yes"),
    BOOL_SETTING("lazyfree-lazy-user-flush", store_settings.lazyfree_user_flush, "yes"),
    BOOL_SETTING("activedefrag", store_settings.activedefrag, "no", .check = checkDefrag),
    BOOL_SETTING("active-defrag-all", store_settings.active_defrag_all, "no", .flags = SETTING_HIDDEN),
    MEMORY_SETTING("active-defrag-ignore-bytes", store_settings.active_defrag_ignore_bytes, "104857600", 1),
    INT_SETTING("active-defrag-threshold-lower", store_settings.active_defrag_threshold_lower, "10", 0, 1000),
    INT_SETTING("active-defrag-threshold-upper", store_settings.active_defrag_threshold_upper, "100", 0, 1000),
    INT_SETTING("active-defrag-cycle-min", store_settings.active_defrag_cycle_min, "1", 1, 99),
    INT_SETTING("active-defrag-cycle-max", store_settings.active_defrag_cycle_max, "25", 1, 99),
    INT_SETTING("active-defrag-cycle-us", store_settings.active_defrag_cycle_us, "500", 0, 100000),
    INT_SETTING("active-defrag-max-scan-fields", store_settings.active_defrag_max_scan_fields, "1000", 1, LLONG_MAX),
    {.name = "notify-keyspace-events", .type = SETTING_SPECIAL, .set = setNotify, .get = getNotify},
    SETTINGS_END,
};

void storeSettingsRegister(void) {
    settingRegister(rows);
}
