/* store_info.c -- the INFO fields of the keyspace.
 *
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_state.h"

#include "db_walk.h"
#include "defrag.h"
#include "evict.h"
#include "info_table.h"
#include "lazyfree.h"
#include "lru.h"
#include "replica_expires.h"
#include "store_settings.h"
#include "store_state.h"

static void clock(infoOut *o) { infoLine(o, "lru_clock:%u", (unsigned)lruClock()); }

static void uncounted(infoOut *o) { infoLine(o, "mem_not_counted_for_evict:%zu", evictUncounted()); }

static void limit(infoOut *o) {
    infoBytes(o, "maxmemory", (size_t)store_settings.maxmemory);
    infoLine(o, "maxmemory_policy:%s", storeMaxmemoryPolicyName());
}

static void storeInfoFreed(infoOut *o) {
    infoLine(o, "lazyfree_pending_objects:%zu", lazyfreePending());
    infoLine(o, "lazyfreed_objects:%lld", lazyfreeDone());
}

static void changes(infoOut *o) { infoLine(o, "rdb_changes_since_last_save:%lld", store_stats.dirty); }

static void expired(infoOut *o) { infoLine(o, "expired_keys:%lld", store_stats.expired_keys); }

static void expiredElements(infoOut *o) { infoLine(o, "expired_fields:%lld", store_stats.expired_fields); }

static void elementsStale(infoOut *o) {
    infoLine(o, "expired_keys_with_volatile_items_stale_perc:%.2f", store_stats.elements_stale_perc);
}

static void expiredStale(infoOut *o) { infoLine(o, "expired_stale_perc:%.2f", store_stats.expired_stale_perc); }

static void expireCycle(infoOut *o) {
    infoLine(o, "expired_time_cap_reached_count:%lld", store_stats.expired_time_cap_reached);
    infoLine(o, "expire_cycle_cpu_milliseconds:%lld", store_stats.expire_cycle_cpu_us / 1000);
    infoLine(o, "evicted_keys:%lld", store_stats.evicted_keys);
}

static void lookups(infoOut *o) {
    long long exceeded_us = evictExceededUs();
    infoLine(o, "total_eviction_exceeded_time:%lld", (store_stats.eviction_exceeded_us + exceeded_us) / 1000);
    infoLine(o, "current_eviction_exceeded_time:%lld", exceeded_us / 1000);
    infoLine(o, "keyspace_hits:%lld", store_stats.keyspace_hits);
    infoLine(o, "keyspace_misses:%lld", store_stats.keyspace_misses);
}

static void defragState(infoOut *o) { infoLine(o, "active_defrag_running:%d", defragPercent()); }

static void defragFigures(infoOut *o) {
    infoLine(o, "active_defrag_hits:%lld", store_stats.defrag_hits);
    infoLine(o, "active_defrag_misses:%lld", store_stats.defrag_misses);
    infoLine(o, "active_defrag_key_hits:%lld", store_stats.defrag_key_hits);
    infoLine(o, "active_defrag_key_misses:%lld", store_stats.defrag_key_misses);
    infoLine(o, "total_active_defrag_time:%lld", defragTotalMs());
    infoLine(o, "current_active_defrag_time:%lld", defragNowMs());
}

static void databases(infoOut *o) {
    for (int i = 0; i < dbCount(); i++) {
        dbFigures f = dbGetFigures(dbGet(i));
        if (f.keys == 0) continue;
        infoLine(o, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=%zu", i, f.keys, f.expires,
                 f.avg_ttl_ms, f.volatile_items);
    }
}

static void replicaExpires(infoOut *o) { infoLine(o, "slave_expires_tracked_keys:%zu", replicaExpiresCount()); }

static void resetStats(void) {
    long long dirty = store_stats.dirty; /* not a statistic: it decides when to save */
    store_stats = (storeStats){.dirty = dirty};
    lazyfreeResetStats();
}

static const infoMetric metrics[] = {
    {"lru_clock", NULL, INFO_GAUGE, 0, "The clock by which keys age, as it counts internally."},
    {"mem_not_counted_for_evict", "mem_not_counted_for_evict_bytes", INFO_GAUGE, 0,
     "Memory that does not count against maxmemory."},
    {"maxmemory", "maxmemory_bytes", INFO_GAUGE, 0, "Limit of memory for the dataset and its overhead; 0 is none."},
    {"lazyfree_pending_objects", NULL, INFO_GAUGE, 0, "Objects that wait to be freed in the background."},
    {"lazyfreed_objects", NULL, INFO_COUNTER, 0, "Objects that were freed in the background."},
    {"rdb_changes_since_last_save", NULL, INFO_GAUGE, 0, "Changes that are in no snapshot."},
    {"expired_keys", NULL, INFO_COUNTER, 0, "Keys that were deleted when their time was over."},
    {"expired_fields", NULL, INFO_COUNTER, 0, "Fields of hashes that were deleted when their time was over."},
    {"expired_keys_with_volatile_items_stale_perc", NULL, INFO_GAUGE, 0,
     "Fields of hashes with a time that is over and which are still there, in percent; an estimate."},
    {"expired_stale_perc", NULL, INFO_GAUGE, 0,
     "Keys with a time that is over and which are still there, in percent; an estimate."},
    {"expired_time_cap_reached_count", "expired_time_cap_reached", INFO_COUNTER, 0,
     "Times that looking for keys that are over had to stop early."},
    {"expire_cycle_cpu_milliseconds", "expire_cycle_cpu_seconds", INFO_COUNTER, 3,
     "Time that went into looking for keys that are over."},
    {"evicted_keys", NULL, INFO_COUNTER, 0, "Keys that were deleted to keep below maxmemory."},
    {"total_eviction_exceeded_time", "eviction_exceeded_time", INFO_COUNTER, 0,
     "Time above maxmemory, in milliseconds."},
    {"current_eviction_exceeded_time", NULL, INFO_GAUGE, 0,
     "Time above maxmemory since it was last reached, in milliseconds."},
    {"keyspace_hits", NULL, INFO_COUNTER, 0, "Keys that were looked for and found."},
    {"keyspace_misses", NULL, INFO_COUNTER, 0, "Keys that were looked for and not there."},
    {"active_defrag_running", NULL, INFO_GAUGE, 0,
     "Share of the processor for defragmentation, in percent; 0 while there is none."},
    {"active_defrag_hits", NULL, INFO_COUNTER, 0, "Values that defragmentation has moved."},
    {"active_defrag_misses", NULL, INFO_COUNTER, 0, "Values that defragmentation has looked at and left."},
    {"active_defrag_key_hits", NULL, INFO_COUNTER, 0, "Keys of which defragmentation has moved something."},
    {"active_defrag_key_misses", NULL, INFO_COUNTER, 0, "Keys of which defragmentation has moved nothing."},
    {"total_active_defrag_time", "active_defrag_time", INFO_COUNTER, 0,
     "Time with fragmentation above its limit, in milliseconds."},
    {"current_active_defrag_time", NULL, INFO_GAUGE, 0, "Time since defragmentation has begun, in milliseconds."},
    {"slave_expires_tracked_keys", NULL, INFO_GAUGE, 0, "Keys with a time that were written on this replica itself."},
    {.field = NULL},
};

void storeInfoRegister(void) {
    static const infoSection sections[] = {{"keyspace", "Keyspace", 170, INFO_DEFAULT | INFO_IN_CRASH}, {.name = NULL}};
    static const infoFields fields[] = {
        {"server", 240, .write = clock},          {"memory", 310, .write = limit},
        {"memory", 420, .write = uncounted},      {"memory", 550, .write = storeInfoFreed},
        {"persistence", 90, .write = changes},    {"stats", 180, .write = expired},
        {"stats", 190, .write = expiredElements}, {"stats", 210, .write = elementsStale},
        {"stats", 200, .write = expiredStale},    {"stats", 220, .write = expireCycle},
        {"stats", 270, .write = lookups},         {"stats", 370, .write = replicaExpires},
        {"memory", 540, .write = defragState},    {"stats", 380, .write = defragFigures},
        {"keyspace", 10, .write = databases},     {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}
