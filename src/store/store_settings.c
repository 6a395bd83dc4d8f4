/* store_settings.c -- the settings of the keyspace: values, names, ranges and texts.
 *
 * Not here    hz, which other layers use as well: the server sets store_settings.hz; functions that apply a changed
 *             setting, which their owners register (settingOnApply()).
 * Owns        store_settings. The values here hold before the configuration is read.
 * Threads     main.
 * Tests       tests/unit/store/store_settings_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_settings.h"

#include "sds.h"
#include "setting.h"
#include "zmalloc_move.h"

#include <limits.h>

storeSettings store_settings = {.hz = 10};

static const settingName maxmemory_policies[] = {{"volatile-lru", MAXMEMORY_VOLATILE_LRU},
                                                 {"volatile-lfu", MAXMEMORY_VOLATILE_LFU},
                                                 {"volatile-random", MAXMEMORY_VOLATILE_RANDOM},
                                                 {"volatile-ttl", MAXMEMORY_VOLATILE_TTL},
                                                 {"allkeys-lru", MAXMEMORY_ALLKEYS_LRU},
                                                 {"allkeys-lfu", MAXMEMORY_ALLKEYS_LFU},
                                                 {"allkeys-random", MAXMEMORY_ALLKEYS_RANDOM},
                                                 {"noeviction", MAXMEMORY_NO_EVICTION},
                                                 {NULL, 0}};

static const settingName precise_names[] = {
    {"auto", EXPIRE_PRECISE_AUTO}, {"yes", EXPIRE_PRECISE_YES}, {"no", EXPIRE_PRECISE_NO}, {NULL, 0}};

const char *storeMaxmemoryPolicyName(void) {
    const settingName *n = maxmemory_policies;
    while (n->value != store_settings.maxmemory_policy) n++;
    return n->name;
}

static bool checkDefrag(const char *text, long long number, const char **err) {
    unused(text);
    if (!number || store_settings.active_defrag_all || zmallocCanMove()) return true;
    *err = "the allocator of this build cannot report which blocks to move: jemalloc 5.2 or later is needed";
    return false;
}

/* ---- notify-keyspace-events -------------------------------------------------------------------------------------- */

/* The reference server's order of output. 'A' stands for the first ten together, and n is not shown beside it. */
static const struct {
    char letter;
    int class;
} class_letters[] = {{'g', NOTIFY_GENERIC},  {'$', NOTIFY_STRING},  {'l', NOTIFY_LIST},    {'s', NOTIFY_SET},
                     {'h', NOTIFY_HASH},     {'z', NOTIFY_ZSET},    {'x', NOTIFY_EXPIRED}, {'e', NOTIFY_EVICTED},
                     {'t', NOTIFY_STREAM},   {'d', NOTIFY_MODULE},  {'n', NOTIFY_NEW},     {'K', NOTIFY_KEYSPACE},
                     {'E', NOTIFY_KEYEVENT}, {'m', NOTIFY_KEY_MISS}};
enum {
    CLASSES_OF_A = NOTIFY_GENERIC | NOTIFY_STRING | NOTIFY_LIST | NOTIFY_SET | NOTIFY_HASH | NOTIFY_ZSET |
                   NOTIFY_EXPIRED | NOTIFY_EVICTED | NOTIFY_STREAM | NOTIFY_MODULE
};

static int classOf(char letter) {
    if (letter == 'A') return CLASSES_OF_A;
    for (size_t i = 0; i < array_len(class_letters); i++)
        if (class_letters[i].letter == letter) return class_letters[i].class;
    return 0;
}

static bool setNotify(const setting *s, char **words, int count, const char **err) {
    int classes = 0;
    unused(s), unused(count);
    for (const char *letter = words[0]; *letter; letter++) {
        int class = classOf(*letter);
        *err = "Invalid event class character. Use 'Ag$lshzxeKEtmdn'.";
        if (!class) return false;
        classes |= class;
    }
    store_settings.notify_events = classes;
    return true;
}

static char *getNotify(const setting *s) {
    int classes = store_settings.notify_events;
    bool all = (classes & CLASSES_OF_A) == CLASSES_OF_A;
    sds out = sdsNew(all ? "A" : "");
    unused(s);
    if (all) classes &= ~(CLASSES_OF_A | NOTIFY_NEW);
    for (size_t i = 0; i < array_len(class_letters); i++)
        if (classes & class_letters[i].class) out = sdsCatLen(out, &class_letters[i].letter, 1);
    return out;
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

static const setting rows[] = {
    INT_SETTING("databases", store_settings.databases, 16, 1, INT_MAX, .flags = SETTING_IMMUTABLE),
    MEMORY_SETTING("maxmemory", store_settings.maxmemory, 0, 0),
    ENUM_SETTING("maxmemory-policy", store_settings.maxmemory_policy, MAXMEMORY_NO_EVICTION, maxmemory_policies),
    INT_SETTING("maxmemory-rss-percent", store_settings.maxmemory_rss_percent, 0, 0, 1000),
    INT_SETTING("maxmemory-samples", store_settings.maxmemory_samples, 5, 1, 64),
    INT_SETTING("maxmemory-eviction-tenacity", store_settings.maxmemory_eviction_tenacity, 10, 0, 100),
    INT_SETTING("lfu-log-factor", store_settings.lfu_log_factor, 10, 0, INT_MAX),
    INT_SETTING("lfu-decay-time", store_settings.lfu_decay_time, 1, 0, INT_MAX),
    INT_SETTING("active-expire-effort", store_settings.active_expire_effort, 1, 1, 10),
    ENUM_SETTING("expire-precise", store_settings.expire_precise, EXPIRE_PRECISE_AUTO, precise_names),
    BOOL_SETTING("activerehashing", store_settings.activerehashing, true),
    BOOL_SETTING("lazyfree-lazy-eviction", store_settings.lazyfree_eviction, true),
    BOOL_SETTING("lazyfree-lazy-expire", store_settings.lazyfree_expire, true),
    BOOL_SETTING("lazyfree-lazy-server-del", store_settings.lazyfree_server_del, true),
    BOOL_SETTING("lazyfree-lazy-user-del", store_settings.lazyfree_user_del, true),
    BOOL_SETTING("lazyfree-lazy-user-flush", store_settings.lazyfree_user_flush, true),
    BOOL_SETTING("activedefrag", store_settings.activedefrag, false, .check = checkDefrag),
    BOOL_SETTING("active-defrag-all", store_settings.active_defrag_all, false, .flags = SETTING_HIDDEN),
    MEMORY_SETTING("active-defrag-ignore-bytes", store_settings.active_defrag_ignore_bytes, 100 << 20, 1),
    INT_SETTING("active-defrag-threshold-lower", store_settings.active_defrag_threshold_lower, 10, 0, 1000),
    INT_SETTING("active-defrag-threshold-upper", store_settings.active_defrag_threshold_upper, 100, 0, 1000),
    INT_SETTING("active-defrag-cycle-min", store_settings.active_defrag_cycle_min, 1, 1, 99),
    INT_SETTING("active-defrag-cycle-max", store_settings.active_defrag_cycle_max, 25, 1, 99),
    INT_SETTING("active-defrag-cycle-us", store_settings.active_defrag_cycle_us, 500, 0, 100000),
    INT_SETTING("active-defrag-max-scan-fields", store_settings.active_defrag_max_scan_fields, 1000, 1, LLONG_MAX),
    {.name = "notify-keyspace-events", .type = SETTING_SPECIAL, .set = setNotify, .get = getNotify},
    SETTINGS_END,
};

SETTINGS_START_AT_DEFAULTS(rows)

void storeSettingsRegister(void) { settingRegister(rows); }
