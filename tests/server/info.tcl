# info.tcl -- INFO: its sections, and the fields that tools read.
#
# SPDX-License-Identifier: BSD-3-Clause

# The headings of a reply, in order.
proc sections_of {text} {
    return [regexp -all -inline -line {^# \S.*?(?=\r?$)} $text]
}

start_server {} {

    test "INFO has its sections in order" {
        set sections [sections_of [r INFO]]
        set expected {}
        foreach name {Server Clients Memory Persistence Stats Replication CPU Modules Errorstats Cluster Keyspace} {
            if {"# $name" in $sections} {
                lappend expected "# $name"
            }
        }
        foreach name {Server Clients Memory Persistence Stats Replication CPU Keyspace} {
            assert {"# $name" in $sections}
        }
        assert_equal $expected [lsearch -all -inline -not $sections "# TLS"]
    }

    test "INFO default is INFO" {
        assert_equal [sections_of [r INFO]] [sections_of [r INFO default]]
    }

    test "INFO all and everything add the statistics of commands and latencies" {
        foreach which {all everything} {
            set sections [sections_of [r INFO $which]]
            assert {"# Commandstats" in $sections}
            assert {"# Latencystats" in $sections}
        }
    }

    foreach name {Server Clients Memory Persistence Stats Replication CPU Keyspace Commandstats Latencystats} {
        test "INFO [string tolower $name] is that section alone" {
            assert_equal [list "# $name"] [sections_of [r INFO [string tolower $name]]]
            assert_equal [list "# $name"] [sections_of [r INFO [string toupper $name]]]
        }
    }

    test "INFO of several sections" {
        assert_equal {{# Server} {# Clients}} [sections_of [r INFO clients server clients]]
    }

    test "INFO of a section that does not exist is empty" {
        assert_equal "" [r INFO nosuch]
    }

    test "Each line ends in CRLF and is empty, a heading or name:value" {
        foreach line [split [string map {\r\n \n} [r INFO everything]] \n] {
            assert {$line eq "" || [string match "# *" $line] || [regexp {^[a-zA-Z0-9_|.-]+:[^\r]*$} $line]}
        }
    }

    foreach {section fields} {
        server {redis_version server_name valkey_version valkey_release_stage redis_git_sha1 redis_git_dirty
            redis_build_id server_mode os arch_bits monotonic_clock multiplexing_api gcc_version process_id
            process_supervised run_id tcp_port server_time_usec uptime_in_seconds uptime_in_days hz configured_hz
            lru_clock executable config_file io_threads_active listener0}
        clients {connected_clients cluster_connections maxclients client_recent_max_input_buffer
            client_recent_max_output_buffer blocked_clients tracking_clients pubsub_clients watching_clients
            clients_in_timeout_table total_watched_keys total_blocking_keys total_blocking_keys_on_nokey
            paused_reason paused_actions paused_timeout_milliseconds}
        memory {used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak
            used_memory_peak_human used_memory_peak_perc used_memory_overhead used_memory_startup used_memory_dataset
            used_memory_dataset_perc allocator_allocated allocator_active allocator_resident total_system_memory
            total_system_memory_human maxmemory maxmemory_human maxmemory_policy mem_fragmentation_ratio
            mem_fragmentation_bytes mem_not_counted_for_evict mem_clients_normal mem_allocator
            lazyfree_pending_objects lazyfreed_objects}
        persistence {loading async_loading rdb_changes_since_last_save rdb_bgsave_in_progress rdb_last_save_time
            rdb_last_bgsave_status aof_enabled aof_rewrite_in_progress}
        stats {total_connections_received total_commands_processed instantaneous_ops_per_sec total_net_input_bytes
            total_net_output_bytes instantaneous_input_kbps instantaneous_output_kbps rejected_connections sync_full
            expired_keys expired_stale_perc expired_time_cap_reached_count evicted_keys evicted_clients keyspace_hits
            keyspace_misses pubsub_channels pubsub_patterns latest_fork_usec total_error_replies total_reads_processed
            total_writes_processed io_threaded_reads_processed io_threaded_writes_processed
            io_threaded_freed_objects io_threaded_total_prefetch_batches io_threaded_total_prefetch_entries
            client_query_buffer_limit_disconnections client_output_buffer_limit_disconnections eventloop_cycles
            eventloop_duration_sum acl_access_denied_auth}
        replication {role connected_slaves master_failover_state master_replid master_replid2 master_repl_offset
            second_repl_offset repl_backlog_active repl_backlog_size}
        cpu {used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children}
    } {
        test "INFO $section has its fields" {
            set text [r INFO $section]
            set missing {}
            foreach field $fields {
                if {![regexp -line "^$field:" $text]} {
                    lappend missing $field
                }
            }
            assert_equal {} $missing
        }
    }

    # Programs read some fields by their neighbours; whatever layer a line comes from, it stands in its place.
    foreach {section fields} {
        server {redis_version server_name valkey_version valkey_release_stage redis_git_sha1 redis_git_dirty
            redis_build_id server_mode os arch_bits monotonic_clock multiplexing_api gcc_version process_id
            process_supervised run_id tcp_port server_time_usec uptime_in_seconds uptime_in_days hz configured_hz
            clients_hz lru_clock executable config_file io_threads_active availability_zone listener0}
        clients {connected_clients cluster_connections maxclients client_recent_max_input_buffer
            client_recent_max_output_buffer blocked_clients tracking_clients pubsub_clients watching_clients
            clients_in_timeout_table total_watched_keys total_blocking_keys total_blocking_keys_on_nokey
            paused_reason paused_actions paused_timeout_milliseconds}
        memory {used_memory used_memory_human used_memory_rss used_memory_rss_human used_memory_peak
            used_memory_peak_human used_memory_peak_perc used_memory_overhead used_memory_startup used_memory_dataset
            used_memory_dataset_perc allocator_allocated allocator_active allocator_resident allocator_muzzy
            total_system_memory total_system_memory_human used_memory_lua used_memory_vm_eval used_memory_lua_human
            used_memory_scripts_eval number_of_cached_scripts number_of_functions number_of_libraries
            used_memory_vm_functions used_memory_vm_total used_memory_vm_total_human used_memory_functions
            used_memory_scripts used_memory_scripts_human maxmemory maxmemory_human maxmemory_policy
            allocator_frag_ratio allocator_frag_bytes allocator_rss_ratio allocator_rss_bytes rss_overhead_ratio
            rss_overhead_bytes mem_fragmentation_ratio mem_fragmentation_bytes mem_not_counted_for_evict
            mem_replication_backlog mem_total_replication_buffers mem_replicas_repl_buffer mem_clients_slaves
            mem_clients_normal mem_cluster_links mem_cluster_slot_import mem_cluster_slot_export mem_aof_buffer
            mem_allocator mem_overhead_db_hashtable_rehashing active_defrag_running lazyfree_pending_objects
            lazyfreed_objects}
        persistence {loading async_loading current_cow_peak current_cow_size current_cow_size_age current_fork_perc
            current_save_keys_processed current_save_keys_total rdb_changes_since_last_save rdb_bgsave_in_progress
            rdb_last_save_time rdb_last_bgsave_status rdb_last_bgsave_time_sec rdb_current_bgsave_time_sec rdb_saves
            rdb_last_cow_size rdb_last_load_keys_expired rdb_last_load_keys_loaded aof_enabled
            aof_rewrite_in_progress aof_rewrite_scheduled aof_last_rewrite_time_sec aof_current_rewrite_time_sec
            aof_last_bgrewrite_status aof_rewrites aof_rewrites_consecutive_failures aof_last_write_status
            aof_last_cow_size module_fork_in_progress module_fork_last_cow_size slot_migration_fork_in_progress}
        stats {total_connections_received total_commands_processed instantaneous_ops_per_sec total_net_input_bytes
            total_net_output_bytes total_net_repl_input_bytes total_net_repl_output_bytes
            total_net_cluster_slot_import_bytes total_net_cluster_slot_export_bytes instantaneous_input_kbps
            instantaneous_output_kbps instantaneous_input_repl_kbps instantaneous_output_repl_kbps
            rejected_connections sync_full sync_partial_ok sync_partial_err expired_keys expired_fields
            expired_stale_perc expired_keys_with_volatile_items_stale_perc expired_time_cap_reached_count
            expire_cycle_cpu_milliseconds evicted_keys evicted_clients evicted_scripts total_eviction_exceeded_time
            current_eviction_exceeded_time keyspace_hits keyspace_misses pubsub_channels pubsub_patterns
            pubsubshard_channels latest_fork_usec total_forks migrate_cached_sockets slave_expires_tracked_keys
            active_defrag_hits active_defrag_misses active_defrag_key_hits active_defrag_key_misses
            total_active_defrag_time current_active_defrag_time tracking_total_keys tracking_total_items
            tracking_total_prefixes unexpected_error_replies total_error_replies dump_payload_sanitizations
            total_reads_processed total_writes_processed io_threaded_reads_processed io_threaded_writes_processed
            io_threaded_freed_objects io_threaded_accept_processed io_threaded_poll_processed
            io_threaded_total_prefetch_batches io_threaded_total_prefetch_entries
            client_query_buffer_limit_disconnections client_output_buffer_limit_disconnections reply_buffer_shrinks
            reply_buffer_expands eventloop_cycles eventloop_duration_sum eventloop_duration_cmd_sum
            instantaneous_eventloop_cycles_per_sec instantaneous_eventloop_duration_usec acl_access_denied_auth
            acl_access_denied_cmd acl_access_denied_key acl_access_denied_channel acl_access_denied_tls_cert
            acl_access_denied_db}
        replication {role connected_slaves replicas_waiting_psync master_failover_state master_replid master_replid2
            master_repl_offset second_repl_offset repl_backlog_active repl_backlog_size
            repl_backlog_first_byte_offset repl_backlog_histlen}
        cpu {used_cpu_sys used_cpu_user used_cpu_sys_children used_cpu_user_children used_cpu_sys_main_thread
            used_cpu_user_main_thread used_active_time_main_thread}
    } {
        test "INFO $section has its fields in order" {
            set shown [regexp -all -inline -line {^[a-z_0-9]+(?=:)} [r INFO $section]]
            set known [lsearch -all -inline -not [lmap f $shown {expr {$f in $fields ? $f : ""}}] ""]
            assert_equal [lsearch -all -inline -not [lmap f $fields {expr {$f in $shown ? $f : ""}}] ""] $known
        }
    }

    test "The server describes itself truly" {
        assert_equal [srv port] [info_field tcp_port server]
        assert_equal [srv pid] [info_field process_id server]
        assert_equal [srv conf] [info_field config_file server]
        assert_equal standalone [info_field server_mode server]
        assert_equal master [info_field role replication]
        assert_equal valkey [info_field server_name server]
        assert_regexp {^[0-9a-f]{40}$} [info_field run_id server]
        assert_match "*bind=127.0.0.1*port=[srv port]" [info_field listener0 server]
    }

    test "Hits and misses are counted" {
        r CONFIG RESETSTAT
        r SET key value
        r GET key
        r MGET key none other
        assert_equal 2 [info_field keyspace_hits stats]
        assert_equal 2 [info_field keyspace_misses stats]
    }

    test "Commands are counted, with their time and their failures" {
        r CONFIG RESETSTAT
        r SET key value
        r SET key value
        catch {r INCR key}
        catch {r SET key}
        assert_match "calls=2,usec=*,usec_per_call=*,rejected_calls=1,failed_calls=0" [info_field cmdstat_set commandstats]
        assert_match "calls=1,usec=*,usec_per_call=*,rejected_calls=0,failed_calls=1" [info_field cmdstat_incr commandstats]
        assert_match "p50=*,p99=*,p99.9=*" [info_field latency_percentiles_usec_set latencystats]
    }

    test "Subcommands are counted by themselves" {
        r CONFIG RESETSTAT
        r CLIENT ID
        assert_match "calls=1,*" [info_field cmdstat_client|id commandstats]
    }

    test "Errors are counted by their first word" {
        r CONFIG RESETSTAT
        catch {r INCR}
        catch {r NOSUCH}
        catch {r HELLO 9}
        assert_equal count=2 [info_field errorstat_ERR errorstats]
        assert_equal count=1 [info_field errorstat_NOPROTO errorstats]
        assert_equal 3 [info_field total_error_replies stats]
    }

    test "Connections and traffic are counted" {
        set connections [info_field total_connections_received stats]
        set bytes_in [info_field total_net_input_bytes stats]
        set bytes_out [info_field total_net_output_bytes stats]
        with_clients c {
            $c ECHO [string repeat x 50000]
        }
        assert_equal [expr {$connections + 1}] [info_field total_connections_received stats]
        assert {[info_field total_net_input_bytes stats] >= $bytes_in + 50000}
        assert {[info_field total_net_output_bytes stats] >= $bytes_out + 50000}
    }

    test "redis_build_id is a hash of the program, which --version shows too" {
        set id [info_field redis_build_id server]
        assert_regexp {^[0-9a-f]{16}$} $id
        assert_match "* build=$id\n" "[string trim [lindex [run_to_end --version] 1]]\n"
    }

    test "used_memory follows what is stored" {
        r FLUSHALL
        set before [info_field used_memory memory]
        r SET big [string repeat x 10000000]
        assert_between 9900000 25000000 [expr {[info_field used_memory memory] - $before}]
        r FLUSHALL
        wait_for_condition 5 {[info_field used_memory memory] < $before + 2000000}
        assert {[info_field used_memory_peak memory] > $before + 9000000}
    }
}
