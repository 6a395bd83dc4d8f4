/* info_stats.c -- INFO's sections of counters: Persistence, Stats, Replication, Commandstats, Errorstats, Latencystats,
 * Keyspace.
 *
 * Not here    who counts: each layer its own; what RESETSTAT does (server_stats.c).
 * Threads     main.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "info.h"
#include "info_internal.h"

#include "call.h"
#include "client_eviction.h"
#include "evict.h"
#include "histogram.h"
#include "identity.h"
#include "metrics.h"
#include "main_role.h"
#include "net.h"
#include "reply.h"
#include "server_stats.h"
#include "setting_table.h"
#include "zmalloc.h"

#include <stdlib.h>

#define ZERO_ID "0000000000000000000000000000000000000000"

/* Fields of subsystems that are at rest. */
static void fixedLines(infoOut *o, const char *const *lines, size_t count) {
    for (size_t i = 0; i < count; i++) infoLine(o, "%s", lines[i]);
}
#define FIXED(o, ...)                                     \
    do {                                                  \
        static const char *const lines[] = {__VA_ARGS__}; \
        fixedLines(o, lines, array_len(lines));           \
    } while (0)

/* ---- Persistence ----------------------------------------------------------------------------------- */

void infoPersistence(infoOut *o) {
    FIXED(o, "loading:0", "async_loading:0", "current_cow_peak:0", "current_cow_size:0", "current_cow_size_age:0",
          "current_fork_perc:0.00", "current_save_keys_processed:0", "current_save_keys_total:0");
    infoLine(o, "rdb_changes_since_last_save:%lld", store_stats.dirty);
    infoLine(o, "rdb_bgsave_in_progress:0");
    infoLine(o, "rdb_last_save_time:%lld", (long long)infoStartedAt());
    FIXED(o, "rdb_last_bgsave_status:ok", "rdb_last_bgsave_time_sec:-1", "rdb_current_bgsave_time_sec:-1",
          "rdb_saves:0", "rdb_last_cow_size:0", "rdb_last_load_keys_expired:0", "rdb_last_load_keys_loaded:0",
          "aof_enabled:0", "aof_rewrite_in_progress:0", "aof_rewrite_scheduled:0", "aof_last_rewrite_time_sec:-1",
          "aof_current_rewrite_time_sec:-1", "aof_last_bgrewrite_status:ok", "aof_rewrites:0",
          "aof_rewrites_consecutive_failures:0", "aof_last_write_status:ok", "aof_last_cow_size:0",
          "module_fork_in_progress:0", "module_fork_last_cow_size:0", "slot_migration_fork_in_progress:0");
}

/* ---- Stats ----------------------------------------------------------------------------------------- */

static void traffic(infoOut *o, const ioTotals *io) {
    infoLine(o, "total_connections_received:%lld", net_stats.connections_received);
    infoLine(o, "total_commands_processed:%lld", engine_stats.commands_processed);
    infoLine(o, "instantaneous_ops_per_sec:%lld", metricsRate(METRIC_COMMANDS));
    infoLine(o, "total_net_input_bytes:%llu", (unsigned long long)io->net_input);
    infoLine(o, "total_net_output_bytes:%llu", (unsigned long long)io->net_output);
    FIXED(o, "total_net_repl_input_bytes:0", "total_net_repl_output_bytes:0", "total_net_cluster_slot_import_bytes:0",
          "total_net_cluster_slot_export_bytes:0");
    infoLine(o, "instantaneous_input_kbps:%.2f", (double)metricsRate(METRIC_NET_INPUT) / 1024);
    infoLine(o, "instantaneous_output_kbps:%.2f", (double)metricsRate(METRIC_NET_OUTPUT) / 1024);
    FIXED(o, "instantaneous_input_repl_kbps:0.00", "instantaneous_output_repl_kbps:0.00");
    infoLine(o, "rejected_connections:%lld", net_stats.rejected_connections);
    FIXED(o, "sync_full:0", "sync_partial_ok:0", "sync_partial_err:0");
}

static void keyspace(infoOut *o) {
    long long exceeded_us = evictExceededUs();
    infoLine(o, "expired_keys:%lld", store_stats.expired_keys);
    infoLine(o, "expired_fields:0");
    infoLine(o, "expired_stale_perc:%.2f", store_stats.expired_stale_perc);
    infoLine(o, "expired_keys_with_volatile_items_stale_perc:0.00");
    infoLine(o, "expired_time_cap_reached_count:%lld", store_stats.expired_time_cap_reached);
    infoLine(o, "expire_cycle_cpu_milliseconds:%lld", store_stats.expire_cycle_cpu_us / 1000);
    infoLine(o, "evicted_keys:%lld", store_stats.evicted_keys);
    infoLine(o, "evicted_clients:%lld", clientEvictionCount());
    infoLine(o, "evicted_scripts:0");
    infoLine(o, "total_eviction_exceeded_time:%lld", (store_stats.eviction_exceeded_us + exceeded_us) / 1000);
    infoLine(o, "current_eviction_exceeded_time:%lld", exceeded_us / 1000);
    infoLine(o, "keyspace_hits:%lld", store_stats.keyspace_hits);
    infoLine(o, "keyspace_misses:%lld", store_stats.keyspace_misses);
    FIXED(o, "pubsub_channels:0", "pubsub_patterns:0", "pubsubshard_channels:0", "latest_fork_usec:0", "total_forks:0",
          "migrate_cached_sockets:0", "slave_expires_tracked_keys:0", "active_defrag_hits:0", "active_defrag_misses:0",
          "active_defrag_key_hits:0", "active_defrag_key_misses:0", "total_active_defrag_time:0",
          "current_active_defrag_time:0", "tracking_total_keys:0", "tracking_total_items:0",
          "tracking_total_prefixes:0");
}

static void threads(infoOut *o, const ioTotals *io) {
    infoLine(o, "total_reads_processed:%llu", (unsigned long long)(io->main_reads + io->reads));
    infoLine(o, "total_writes_processed:%llu", (unsigned long long)(io->main_writes + io->writes));
    infoLine(o, "io_threaded_reads_processed:%llu", (unsigned long long)io->reads);
    infoLine(o, "io_threaded_writes_processed:%llu", (unsigned long long)io->writes);
    infoLine(o, "io_threaded_freed_objects:%llu", (unsigned long long)io->freed);
    FIXED(o, "io_threaded_accept_processed:0");
    infoLine(o, "io_threaded_poll_processed:%llu", (unsigned long long)io->polls);
    infoLine(o, "io_threaded_total_prefetch_batches:%lld", net_stats.prefetch_batches);
    infoLine(o, "io_threaded_total_prefetch_entries:%lld", net_stats.prefetch_entries);
    infoLine(o, "main_role_moves:%llu", (unsigned long long)mainRoleMoves());
    infoLine(o, "main_role_lent_commands:%lld", net_stats.lent_commands);
}

static void eventLoop(infoOut *o) {
    infoLine(o, "eventloop_cycles:%llu", (unsigned long long)net_stats.cycles);
    infoLine(o, "eventloop_duration_sum:%llu", (unsigned long long)(net_stats.cycle_ns / 1000));
    infoLine(o, "eventloop_duration_cmd_sum:%llu", (unsigned long long)(net_stats.command_cycles_ns / 1000));
    infoLine(o, "instantaneous_eventloop_cycles_per_sec:%lld", metricsRate(METRIC_CYCLES));
    infoLine(o, "instantaneous_eventloop_duration_usec:%lld", metricsRate(METRIC_CYCLE_DURATION));
}

void infoStats(infoOut *o) {
    ioTotals io;
    statsIoTotals(&io);
    traffic(o, &io);
    keyspace(o);
    infoLine(o, "unexpected_error_replies:%lld", client_state.unexpected_error_replies);
    infoLine(o, "total_error_replies:%lld", client_state.total_error_replies);
    infoLine(o, "dump_payload_sanitizations:0");
    threads(o, &io);
    infoLine(o, "client_query_buffer_limit_disconnections:%lld", client_state.query_limit_disconnections);
    infoLine(o, "client_output_buffer_limit_disconnections:%lld", client_state.output_limit_disconnections);
    FIXED(o, "reply_buffer_shrinks:0", "reply_buffer_expands:0");
    eventLoop(o);
    infoLine(o, "acl_access_denied_auth:%lld", engine_stats.acl_denied_auth);
    infoLine(o, "acl_access_denied_cmd:%lld", engine_stats.acl_denied_cmd);
    FIXED(o, "acl_access_denied_key:0", "acl_access_denied_channel:0", "acl_access_denied_tls_cert:0",
          "acl_access_denied_db:0");
}

/* ---- Replication ----------------------------------------------------------------------------------- */

void infoReplication(infoOut *o) {
    FIXED(o, "role:master", "connected_slaves:0", "replicas_waiting_psync:0", "master_failover_state:no-failover");
    infoLine(o, "master_replid:%s", identityReplId());
    FIXED(o, "master_replid2:" ZERO_ID, "master_repl_offset:0", "second_repl_offset:-1", "repl_backlog_active:0");
    sds size = settingText(settingFind("repl-backlog-size")->entry->def);
    infoLine(o, "repl_backlog_size:%s", size);
    sdsFree(size);
    FIXED(o, "repl_backlog_first_byte_offset:0", "repl_backlog_histlen:0");
}

/* ---- Per command ----------------------------------------------------------------------------------- */

static void commandCounters(void *arg, serverCommand *cmd) {
    const commandStats *s = cmd->stats;
    if (s && (s->calls || s->failed_calls || s->rejected_calls))
        infoLine(arg, "cmdstat_%s:calls=%lld,usec=%lld,usec_per_call=%.2f,rejected_calls=%lld,failed_calls=%lld",
                 cmd->fullname, s->calls, s->microseconds, s->calls ? (double)s->microseconds / (double)s->calls : 0,
                 s->rejected_calls, s->failed_calls);
    for (int i = 0; i < cmd->nsubcommands; i++) commandCounters(arg, &cmd->subcommands[i]);
}

void infoCommandstats(infoOut *o) {
    commandEach(commandCounters, o);
}

static void commandLatency(void *arg, serverCommand *cmd) {
    const struct histogram *h = cmd->stats ? cmd->stats->latency : NULL;
    if (h && histogramTotal(h)) {
        sds line = sdsEmpty();
        for (int i = 0; i < engine_settings.npercentiles; i++) {
            char name[32];
            enginePercentileText(name, sizeof(name), engine_settings.percentiles[i]);
            line = sdsCatPrintf(line, "%sp%s=%.3f", i ? "," : "", name,
                                (double)histogramPercentile(h, engine_settings.percentiles[i]) / 1000);
        }
        infoLine(arg, "latency_percentiles_usec_%s:%s", cmd->fullname, line);
        sdsFree(line);
    }
    for (int i = 0; i < cmd->nsubcommands; i++) commandLatency(arg, &cmd->subcommands[i]);
}

void infoLatencystats(infoOut *o) {
    if (engine_settings.latency_tracking) commandEach(commandLatency, o);
}

/* ---- Errors ---------------------------------------------------------------------------------------- */

typedef struct errorLines {
    sds *lines; /* owns */
    size_t count, room;
} errorLines;

static void errorCounter(void *arg, slice code, long long count) {
    errorLines *e = arg;
    if (e->count == e->room) {
        e->room = e->room ? e->room * 2 : 16;
        e->lines = zrealloc(e->lines, e->room * sizeof(sds));
    }
    e->lines[e->count++] = sdsCatPrintf(sdsEmpty(), "errorstat_%.*s:count=%lld", (int)code.len, code.ptr, count);
}

static int byText(const void *a, const void *b) {
    return sdsCmp(*(const sds *)a, *(const sds *)b);
}

/* In alphabetical order. */
void infoErrorstats(infoOut *o) {
    errorLines e = {0};
    clientErrorStatsEach(errorCounter, &e);
    if (e.count) qsort(e.lines, e.count, sizeof(sds), byText);
    for (size_t i = 0; i < e.count; i++) {
        infoLine(o, "%s", e.lines[i]);
        sdsFree(e.lines[i]);
    }
    zfree(e.lines);
}

/* ---- Keyspace -------------------------------------------------------------------------------------- */

void infoKeyspace(infoOut *o) {
    for (int i = 0; i < dbCount(); i++) {
        const serverDb *db = dbGet(i);
        size_t keys = dictSize(db->keys);
        if (keys == 0) continue;
        infoLine(o, "db%d:keys=%zu,expires=%zu,avg_ttl=%lld,keys_with_volatile_items=0", i, keys, dictSize(db->expires),
                 db->avg_ttl_ms);
    }
}
