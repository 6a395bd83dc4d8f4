/* exporter_names.c -- what the common exporter for Redis calls the figures of INFO.
 *
 * All differences in names stand here. A figure without a row has the same name in both, but for the prefix. The names
 * are those that boards ask for, and those of the exporter's answers for the same server (1.45, as Debian has it); none
 * of its code was read.
 *
 * Not here    how a figure is written (open_metrics.c).
 * Owns        nothing.
 * Threads     any.
 * Invariants  1. Rows of INFO fields are sorted by field.
 *             2. Counters alone have names that end in _total.
 * Tests       tests/unit/web/open_metrics_test.c, tests/unit/server/info_metrics_test.c, tests/clients/metrics.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "exporter_names.h"

#include "platform.h"

static const exporterName fields[] = {
    {"acl_access_denied_auth", "acl_access_denied_auth_total", 0, false},
    {"acl_access_denied_channel", "acl_access_denied_channel_total", 0, false},
    {"acl_access_denied_cmd", "acl_access_denied_cmd_total", 0, false},
    {"acl_access_denied_key", "acl_access_denied_key_total", 0, false},
    {"active_defrag_hits", "defrag_hits", 0, false},
    {"active_defrag_key_hits", "defrag_key_hits", 0, false},
    {"active_defrag_key_misses", "defrag_key_misses", 0, false},
    {"active_defrag_misses", "defrag_misses", 0, false},
    {"aof_base_size", "aof_base_size_bytes", 0, false},
    {"aof_buffer_length", "aof_buffer_length", 0, false},
    {"aof_current_rewrite_time_sec", "aof_current_rewrite_duration_sec", 0, false},
    {"aof_current_size", "aof_current_size_bytes", 0, false},
    {"aof_delayed_fsync", "aof_delayed_fsync", 0, false},
    {"aof_last_bgrewrite_status", "aof_last_bgrewrite_status", 0, false},
    {"aof_last_rewrite_time_sec", "aof_last_rewrite_duration_sec", 0, false},
    {"aof_last_write_status", "aof_last_write_status", 0, false},
    {"aof_pending_bio_fsync", "aof_pending_bio_fsync", 0, false},
    {"aof_pending_rewrite", "aof_pending_rewrite", 0, false},
    {"dump_payload_sanitizations", "dump_payload_sanitizations", 0, false},
    {"evicted_keys", "evicted_keys_total", 0, false},
    {"expire_cycle_cpu_milliseconds", "expire_cycle_cpu_time_ms_total", 0, false},
    {"expired_keys", "expired_keys_total", 0, false},
    {"expired_stale_perc", "expired_stale_percentage", 0, false},
    {"expired_time_cap_reached_count", "expired_time_cap_reached_total", 0, false},
    {"instantaneous_ops_per_sec", "instantaneous_ops_per_sec", 0, false},
    {"io_threaded_reads_processed", "io_threaded_reads_processed", 0, false},
    {"io_threaded_writes_processed", "io_threaded_writes_processed", 0, false},
    {"keyspace_hits", "keyspace_hits_total", 0, false},
    {"keyspace_misses", "keyspace_misses_total", 0, false},
    {"latest_fork_usec", "latest_fork_seconds", 6, false},
    {"lazyfreed_objects", "lazyfreed_objects_total", 0, false},
    {"loading", "loading_dump_file", 0, false},
    {"master_last_io_seconds_ago", "master_last_io_seconds_ago", 0, true},
    {"master_link_status", "master_link_up", 0, true},
    {"master_sync_in_progress", "master_sync_in_progress", 0, true},
    {"maxclients", "config_maxclients", 0, false},
    {"maxclients", "max_clients", 0, false},
    {"maxmemory", "config_maxmemory", 0, false},
    {"maxmemory", "memory_max_bytes", 0, false},
    {"mem_clients_normal", "mem_clients_normal", 0, false},
    {"mem_clients_slaves", "mem_clients_slaves", 0, false},
    {"mem_not_counted_for_evict", "mem_not_counted_for_eviction_bytes", 0, false},
    {"module_fork_last_cow_size", "module_fork_last_cow_size", 0, false},
    {"rdb_changes_since_last_save", "rdb_changes_since_last_save", 0, false},
    {"rdb_current_bgsave_time_sec", "rdb_current_bgsave_duration_sec", 0, false},
    {"rdb_last_bgsave_status", "rdb_last_bgsave_status", 0, false},
    {"rdb_last_bgsave_time_sec", "rdb_last_bgsave_duration_sec", 0, false},
    {"rdb_last_load_keys_expired", "rdb_last_load_expired_keys", 0, false},
    {"rdb_last_load_keys_loaded", "rdb_last_load_loaded_keys", 0, false},
    {"rdb_last_save_time", "rdb_last_save_timestamp_seconds", 0, false},
    {"rdb_saves", "rdb_saves_total", 0, false},
    {"rejected_connections", "rejected_connections_total", 0, false},
    {"repl_backlog_active", "repl_backlog_is_active", 0, false},
    {"repl_backlog_first_byte_offset", "repl_backlog_first_byte_offset", 0, false},
    {"repl_backlog_histlen", "repl_backlog_history_bytes", 0, false},
    {"repl_backlog_size", "replication_backlog_bytes", 0, false},
    {"slave_repl_offset", "slave_repl_offset", 0, true},
    {"sync_full", "replica_resyncs_full", 0, false},
    {"sync_partial_err", "replica_partial_resync_denied", 0, false},
    {"sync_partial_ok", "replica_partial_resync_accepted", 0, false},
    {"total_blocking_keys", "total_blocking_keys", 0, false},
    {"total_blocking_keys_on_nokey", "total_blocking_keys_on_nokey", 0, false},
    {"total_commands_processed", "commands_processed_total", 0, false},
    {"total_connections_received", "connections_received_total", 0, false},
    {"total_error_replies", "total_error_replies", 0, false},
    {"total_eviction_exceeded_time", "eviction_exceeded_time_total", 0, false},
    {"total_net_input_bytes", "net_input_bytes_total", 0, false},
    {"total_net_output_bytes", "net_output_bytes_total", 0, false},
    {"total_net_repl_input_bytes", "net_repl_input_bytes_total", 0, false},
    {"total_net_repl_output_bytes", "net_repl_output_bytes_total", 0, false},
    {"total_reads_processed", "total_reads_processed", 0, false},
    {"total_system_memory", "total_system_memory_bytes", 0, false},
    {"total_watched_keys", "total_watched_keys", 0, false},
    {"total_writes_processed", "total_writes_processed", 0, false},
    {"tracking_total_items", "tracking_total_items", 0, false},
    {"tracking_total_keys", "tracking_total_keys", 0, false},
    {"tracking_total_prefixes", "tracking_total_prefixes", 0, false},
    {"unexpected_error_replies", "unexpected_error_replies", 0, false},
    {"used_cpu_sys", "cpu_sys_seconds_total", 0, false},
    {"used_cpu_sys_children", "cpu_sys_children_seconds_total", 0, false},
    {"used_cpu_sys_main_thread", "cpu_sys_main_thread_seconds_total", 0, false},
    {"used_cpu_user", "cpu_user_seconds_total", 0, false},
    {"used_cpu_user_children", "cpu_user_children_seconds_total", 0, false},
    {"used_cpu_user_main_thread", "cpu_user_main_thread_seconds_total", 0, false},
    {"used_memory", "memory_used_bytes", 0, false},
    {"used_memory_dataset", "memory_used_dataset_bytes", 0, false},
    {"used_memory_functions", "memory_used_functions_bytes", 0, false},
    {"used_memory_lua", "memory_used_lua_bytes", 0, false},
    {"used_memory_overhead", "memory_used_overhead_bytes", 0, false},
    {"used_memory_peak", "memory_used_peak_bytes", 0, false},
    {"used_memory_rss", "memory_used_rss_bytes", 0, false},
    {"used_memory_scripts", "memory_used_scripts_bytes", 0, false},
    {"used_memory_scripts_eval", "memory_used_scripts_eval_bytes", 0, false},
    {"used_memory_startup", "memory_used_startup_bytes", 0, false},
    {"used_memory_vm_eval", "memory_used_vm_eval_bytes", 0, false},
    {"used_memory_vm_functions", "memory_used_vm_functions_bytes", 0, false},
};

static const exporterName families[] = {
    {"build", "exporter_build_info", 0, false},
    {"command_calls", "commands_total", 0, false},
    {"command_duration_seconds", "commands_latencies_usec", 0, false},
    {"command_failed_calls", "commands_failed_calls_total", 0, false},
    {"command_rejected_calls", "commands_rejected_calls_total", 0, false},
    {"command_seconds", "commands_duration_seconds_total", 0, false},
    {"connected_replica_lag_seconds", "connected_slave_lag_seconds", 0, false},
    {"connected_replica_offset_bytes", "connected_slave_offset_bytes", 0, false},
    {"db_expires", "db_keys_expiring", 0, false},
    {"snapshot_cost_seconds", "exporter_last_scrape_duration_seconds", 0, false},
    {"web_scrapes", "exporter_scrapes_total", 0, false},
};

const exporterLabel exporter_instance_labels[] = {{"role", "role"},
                                                  {"redis_version", "redis_version"},
                                                  {"redis_mode", "server_mode"},
                                                  {"redis_build_id", "redis_build_id"},
                                                  {"os", "os"},
                                                  {"maxmemory_policy", "maxmemory_policy"},
                                                  {"tcp_port", "tcp_port"},
                                                  {"run_id", "run_id"},
                                                  {"process_id", "process_id"},
                                                  {"master_replid", "master_replid"},
                                                  {NULL, NULL}};

const exporterLabel exporter_replica_labels[] = {
    {"master_host", "master_host"}, {"master_port", "master_port"}, {"read_only", "slave_read_only"}, {NULL, NULL}};

const exporterName *exporterNamesOfField(slice field, size_t *count) {
    size_t low = 0, high = array_len(fields);
    while (low < high) { /* the first row that is not before the field */
        size_t mid = low + (high - low) / 2;
        if (sliceCmp(sliceStr(fields[mid].ours), field) < 0) low = mid + 1;
        else high = mid;
    }
    *count = 0;
    while (low + *count < array_len(fields) && sliceEq(sliceStr(fields[low + *count].ours), field)) ++*count;
    return *count ? &fields[low] : NULL;
}

const exporterName *exporterNameOfFamily(const char *family) {
    for (size_t i = 0; i < array_len(families); i++)
        if (!strcmp(families[i].ours, family)) return &families[i];
    return NULL;
}

const exporterName *exporterNameAt(size_t index) { return index < array_len(fields) ? &fields[index] : NULL; }
