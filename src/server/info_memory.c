/* info_memory.c -- INFO's section Memory.
 *
 * Not here    the figures (memory_report.c).
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info_internal.h"

#include "lazyfree.h"
#include "memory_report.h"
#include "setting_table.h"
#include "store_state.h"

static void used(infoOut *o, const memoryReport *r) {
    infoBytes(o, "used_memory", r->used);
    infoBytes(o, "used_memory_rss", r->rss);
    infoBytes(o, "used_memory_peak", r->peak);
    infoLine(o, "used_memory_peak_perc:%.2f%%", (double)r->peak_percent);
    infoLine(o, "used_memory_overhead:%zu", r->overhead);
    infoLine(o, "used_memory_startup:%zu", r->startup);
    infoLine(o, "used_memory_dataset:%zu", r->dataset);
    infoLine(o, "used_memory_dataset_perc:%.2f%%", (double)r->dataset_percent);
    infoLine(o, "allocator_allocated:%zu", r->allocator.allocated);
    infoLine(o, "allocator_active:%zu", r->allocator.active);
    infoLine(o, "allocator_resident:%zu", r->allocator.resident);
    infoLine(o, "allocator_muzzy:%zu", r->allocator.muzzy);
    infoBytes(o, "total_system_memory", r->total_system);
}

static void scripts(infoOut *o) {
    infoLine(o, "used_memory_lua:0");
    infoLine(o, "used_memory_vm_eval:0");
    infoLine(o, "used_memory_lua_human:0B");
    infoLine(o, "used_memory_scripts_eval:0");
    infoLine(o, "number_of_cached_scripts:0");
    infoLine(o, "number_of_functions:0");
    infoLine(o, "number_of_libraries:0");
    infoLine(o, "used_memory_vm_functions:0");
    infoBytes(o, "used_memory_vm_total", 0);
    infoLine(o, "used_memory_functions:0");
    infoBytes(o, "used_memory_scripts", 0);
}

static void limit(infoOut *o) {
    infoBytes(o, "maxmemory", (size_t)store_settings.maxmemory);
    sds policy = settingText(settingFind("maxmemory-policy")->entry->def);
    infoLine(o, "maxmemory_policy:%s", policy);
    sdsFree(policy);
}

static void ratio(infoOut *o, const char *name, float value, long long bytes) {
    infoLine(o, "%s_ratio:%.2f", name, (double)value);
    infoLine(o, "%s_bytes:%lld", name, bytes);
}

void infoMemory(infoOut *o) {
    memoryReport r;
    memoryReportMake(&r);
    used(o, &r);
    scripts(o);
    limit(o);
    ratio(o, "allocator_frag", r.frag_ratio, r.frag_bytes);
    ratio(o, "allocator_rss", r.rss_ratio, r.rss_bytes);
    ratio(o, "rss_overhead", r.rss_overhead_ratio, r.rss_overhead_bytes);
    ratio(o, "mem_fragmentation", r.total_ratio, r.total_bytes);
    infoLine(o, "mem_not_counted_for_evict:0");
    infoLine(o, "mem_replication_backlog:0");
    infoLine(o, "mem_total_replication_buffers:0");
    infoLine(o, "mem_replicas_repl_buffer:0");
    infoLine(o, "mem_clients_slaves:%zu", r.clients_replicas);
    infoLine(o, "mem_clients_normal:%zu", r.clients_normal);
    infoLine(o, "mem_cluster_links:0");
    infoLine(o, "mem_cluster_slot_import:0");
    infoLine(o, "mem_cluster_slot_export:0");
    infoLine(o, "mem_aof_buffer:0");
    infoLine(o, "mem_allocator:%s", zmallocLibrary());
    infoLine(o, "mem_overhead_db_hashtable_rehashing:%zu", r.tables_rehashing);
    infoLine(o, "active_defrag_running:0");
    infoLine(o, "lazyfree_pending_objects:%zu", lazyfreePending());
    infoLine(o, "lazyfreed_objects:%lld", lazyfreeDone());
}
