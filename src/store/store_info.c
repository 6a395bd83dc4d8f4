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
#include "expire.h"
#include "info_table.h"
#include "lazyfree.h"
#include "lru.h"
#include "replica_expires.h"
#include "rss_limit.h"

static void lruClockField(infoOut *o) { infoGauge(o, "lru_clock", lruClock(), "The LRU clock: seconds modulo 2^24."); }

static void uncountedField(infoOut *o) {
    infoSize(o, "mem_not_counted_for_evict", evictUncounted(),
             "Memory of buffers that does not count against maxmemory.");
}

static void maxmemoryFields(infoOut *o) {
    infoBytes(o, "maxmemory", (size_t)store_settings.maxmemory,
              "Memory limit for the dataset and its overhead; 0 for no limit.");
    infoLine(o, "maxmemory_policy:%s", storeMaxmemoryPolicyName());
    infoSize(o, "maxmemory_rss_target", rssLimitTarget(),
             "Resident memory that maxmemory-rss-percent allows; 0 for any.");
    infoSize(o, "maxmemory_in_force", evictLimit(),
             "Memory limit that is in force: maxmemory, or less because of resident memory.");
}

static void storeInfoFreed(infoOut *o) {
    infoGauge(o, "lazyfree_pending_objects", lazyfreePending(), "Objects waiting to be freed in the background.");
    infoCounter(o, "lazyfreed_objects", lazyfreeDone(), "Objects freed in the background.");
}

static void changesField(infoOut *o) {
    infoGauge(o, "rdb_changes_since_last_save", store_stats.dirty, "Changes since the last snapshot.");
}

static void expiryFields(infoOut *o) {
    infoCounter(o, "expired_keys", store_stats.expired_keys, "Keys deleted because they had expired.");
    infoCounter(o, "expired_fields", store_stats.expired_fields, "Hash fields deleted because they had expired.");
    infoGauge(o, "expired_stale_perc", store_stats.expired_stale_perc,
              "Estimated percentage of keys with a TTL that have expired and are not yet deleted.");
    infoGauge(o, "expired_keys_with_volatile_items_stale_perc", store_stats.elements_stale_perc,
              "Estimated percentage of keys with field TTLs that have expired fields not yet deleted.");
    infoCounter(o, "expired_time_cap_reached_count", store_stats.expired_time_cap_reached,
                "Runs of the expire cycle that ended early because their time was used up.",
                .family = "expired_time_cap_reached");
    infoCounter(o, "expire_cycle_cpu_milliseconds", store_stats.expire_cycle_cpu_us / 1000,
                "Processor time spent in the expire cycle.", .family = "expire_cycle_cpu_seconds", .shift = 3);
    infoCounter(o, "evicted_keys", store_stats.evicted_keys, "Keys evicted because of maxmemory.");
}

static void preciseFields(infoOut *o) {
    size_t entries = 0, bytes = 0;
    for (int i = 0; i < dbCount(); i++) {
        dbFigures f = dbGetFigures(dbGet(i));
        entries += f.due_entries;
        bytes += f.due_bytes;
    }
    infoGauge(o, "expire_index_entries", entries,
              "Entries of the index of keys by their TTL: at least one for each key with a TTL; 0 while it is off.");
    infoGauge(o, "expire_index_bytes", bytes, "Memory of the index of keys by their TTL.");
    infoGauge(o, "expire_lag_milliseconds", expireLagMs(),
              "How long after its TTL the latest key was deleted by the expire cycle, of the last one to two seconds.",
              .family = "expire_lag_seconds", .shift = 3);
}

static void lookupFields(infoOut *o) {
    long long exceeded_us = evictExceededUs();
    infoCounter(o, "total_eviction_exceeded_time", (store_stats.eviction_exceeded_us + exceeded_us) / 1000,
                "Total time with memory above maxmemory, in milliseconds.", .family = "eviction_exceeded_time");
    infoGauge(o, "current_eviction_exceeded_time", exceeded_us / 1000,
              "Time since memory exceeded maxmemory, in milliseconds; 0 while it does not.");
    infoCounter(o, "keyspace_hits", store_stats.keyspace_hits, "Lookups of keys that were found.");
    infoCounter(o, "keyspace_misses", store_stats.keyspace_misses, "Lookups of keys that were absent.");
}

static void defragRunningField(infoOut *o) {
    infoGauge(o, "active_defrag_running", defragPercent(),
              "Processor share of active defragmentation, in percent; 0 while it is idle.");
}

static void defragFigures(infoOut *o) {
    infoCounter(o, "active_defrag_hits", store_stats.defrag_hits, "Allocations moved by active defragmentation.");
    infoCounter(o, "active_defrag_misses", store_stats.defrag_misses,
                "Allocations examined and not moved by active defragmentation.");
    infoCounter(o, "active_defrag_key_hits", store_stats.defrag_key_hits,
                "Keys with allocations moved by active defragmentation.");
    infoCounter(o, "active_defrag_key_misses", store_stats.defrag_key_misses,
                "Keys examined by active defragmentation without a move.");
    infoCounter(o, "total_active_defrag_time", defragTotalMs(),
                "Total time that active defragmentation has run, in milliseconds.", .family = "active_defrag_time");
    infoGauge(o, "current_active_defrag_time", defragNowMs(),
              "Time since active defragmentation started, in milliseconds; 0 while it is idle.");
}

static void databaseLines(infoOut *o) {
    for (int i = 0; i < dbCount(); i++) {
        dbFigures f = dbGetFigures(dbGet(i));
        if (f.keys == 0) continue;
        infoLine(o, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=%zu", i, f.keys, f.expires,
                 f.avg_ttl_ms, f.volatile_items);
    }
}

static void replicaExpires(infoOut *o) {
    infoGauge(o, "slave_expires_tracked_keys", replicaExpiresCount(),
              "Keys whose TTL was set by a client of this writable replica.");
}

static void resetStats(void) {
    long long dirty = store_stats.dirty; /* not a statistic: it decides when to save */
    store_stats = (storeStats){.dirty = dirty};
    lazyfreeResetStats();
}

void storeInfoRegister(void) {
    static const infoSection sections[] = {{"keyspace", "Keyspace", 170, INFO_DEFAULT | INFO_IN_CRASH}, {.name = NULL}};
    static const infoFields fields[] = {{"server", 240, lruClockField},
                                        {"memory", 310, maxmemoryFields},
                                        {"memory", 420, uncountedField},
                                        {"memory", 540, defragRunningField},
                                        {"memory", 550, storeInfoFreed},
                                        {"persistence", 90, changesField},
                                        {"stats", 180, expiryFields},
                                        {"stats", 245, preciseFields},
                                        {"stats", 270, lookupFields},
                                        {"stats", 370, replicaExpires},
                                        {"stats", 380, defragFigures},
                                        {"keyspace", 10, databaseLines},
                                        {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}
