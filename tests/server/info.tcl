# info.tcl -- INFO: its sections, and the fields that tools read.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the section headings of a reply, in order.
proc sections_of {text} {
    return [regexp -all -inline -line {^# \S.*?(?=\r?$)} $text]
}

# Returns the lines of SECTION in the text of INFO: NAME VALUE ...
proc fields_of {text section} {
    set fields {}
    set inside 0
    foreach line [split [string map {\r {}} $text] \n] {
        if {[string match "# *" $line]} {
            set inside [expr {$line eq "# $section"}]
        } elseif {$inside && $line ne ""} {
            set at [string first : $line]
            lappend fields [string range $line 0 $at-1] [string range $line $at+1 end]
        }
    }
    return $fields
}

# Patterns of values.
set forms {
    count {^\d+$}  integer {^-?\d+$}  bit {^[01]$}  decimal {^-?\d+\.\d\d$}  seconds {^\d+\.\d{6}$}  percent {^-?\d+\.\d\d%$}
    human {^(\d+B|\d+\.\d\d[KMGTP])$}  dotted {^\d+\.\d+\.\d+$}  hex {^[0-9a-f]+$}  word {^\S+$}  text {}
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

    test "INFO threads has a line for each thread, and is shown when it is named" {
        assert_match "# Threads\r\nthread_main:active=*,acting=*,turns=*,reads=*" [r INFO threads]
        assert_no_match "*# Threads*" [r INFO everything]
        assert_equal [config_value io-threads] [llength [regexp -all -inline {thread_(?:main|io\d+):} [r INFO threads]]]
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

    # Programs find some fields by their neighbors; a line has its position, whichever layer it comes from. Others may
    # be in between.
    foreach {section fields} {
        Server {
            redis_version dotted  server_name word  valkey_version dotted  valkey_release_stage word
            redis_git_sha1 hex  redis_git_dirty bit  redis_build_id hex  server_mode word  os text
            arch_bits count  monotonic_clock text  multiplexing_api word  gcc_version dotted  process_id count
            process_supervised word  run_id hex  tcp_port count  server_time_usec count  uptime_in_seconds count
            uptime_in_days count  hz count  configured_hz count  clients_hz count  lru_clock count
            executable text  config_file text  io_threads_active count  availability_zone text  listener0 text
        }
        TLS {
            tls_server_cert_serial word  tls_server_cert_expires_in_seconds integer  tls_client_cert_serial word
            tls_client_cert_expires_in_seconds integer  tls_ca_cert_serial word
            tls_ca_cert_expires_in_seconds integer  tls_handshakes_begun count  tls_handshakes_completed count
            tls_handshakes_resumed count  tls_handshakes_dropped_gone count  tls_handshakes_dropped_late count
            tls_handshakes_waiting count
        }
        Clients {
            connected_clients count  cluster_connections count  maxclients count
            client_recent_max_input_buffer count  client_recent_max_output_buffer count  blocked_clients count
            tracking_clients count  pubsub_clients count  watching_clients count  clients_in_timeout_table count
            total_watched_keys count  total_blocking_keys count  total_blocking_keys_on_nokey count
            paused_reason word  paused_actions word  paused_timeout_milliseconds count
        }
        Memory {
            used_memory count  used_memory_human human  used_memory_rss count  used_memory_rss_human human
            used_memory_peak count  used_memory_peak_human human  used_memory_peak_perc percent
            used_memory_overhead count  used_memory_startup count  used_memory_dataset count
            used_memory_dataset_perc percent  allocator_allocated count  allocator_active count
            allocator_resident count  allocator_muzzy count  total_system_memory count
            total_system_memory_human human  used_memory_lua count  used_memory_vm_eval count
            used_memory_lua_human human  used_memory_scripts_eval count  number_of_cached_scripts count
            number_of_functions count  number_of_libraries count  used_memory_vm_functions count
            used_memory_vm_total count  used_memory_vm_total_human human  used_memory_functions count
            used_memory_scripts count  used_memory_scripts_human human  maxmemory count  maxmemory_human human
            maxmemory_policy word  maxmemory_rss_target count  maxmemory_in_force count  allocator_frag_ratio decimal  allocator_frag_bytes integer
            allocator_rss_ratio decimal  allocator_rss_bytes integer  rss_overhead_ratio decimal
            rss_overhead_bytes integer  mem_fragmentation_ratio decimal  mem_fragmentation_bytes integer
            mem_not_counted_for_evict count  mem_replication_backlog count  mem_total_replication_buffers count
            mem_replicas_repl_buffer count  mem_clients_slaves count  mem_clients_normal count
            mem_cluster_links count  mem_cluster_slot_import count  mem_cluster_slot_export count
            mem_aof_buffer count  mem_allocator word  mem_overhead_db_hashtable_rehashing count
            active_defrag_running count  lazyfree_pending_objects count  lazyfreed_objects count
        }
        Persistence {
            loading bit  async_loading bit  current_cow_peak count  current_cow_size count
            current_cow_size_age count  current_fork_perc decimal  current_save_keys_processed count
            current_save_keys_total count  rdb_changes_since_last_save count  rdb_bgsave_in_progress bit
            rdb_last_save_time count  rdb_last_bgsave_status word  rdb_last_bgsave_time_sec integer
            rdb_current_bgsave_time_sec integer  rdb_saves count  rdb_last_cow_size count
            next_fork_expected_usec count  next_fork_expected_memory count  next_fork_memory_limit count
            fork_waits_for_quiet bit  forks_at_quiet_moment count  forks_at_quiet_bound count
            rdb_last_load_keys_expired count  rdb_last_load_keys_loaded count  rdb_last_load_keys_left_out count
            aof_enabled bit
            aof_rewrite_in_progress bit  aof_rewrite_scheduled bit  aof_last_rewrite_time_sec integer
            aof_current_rewrite_time_sec integer  aof_last_bgrewrite_status word  aof_rewrites count
            aof_rewrites_consecutive_failures count  aof_last_write_status word  aof_last_cow_size count
            module_fork_in_progress bit  module_fork_last_cow_size count  slot_migration_fork_in_progress bit
        }
        Stats {
            total_connections_received count  total_commands_processed count  instantaneous_ops_per_sec count
            total_net_input_bytes count  total_net_output_bytes count  total_net_repl_input_bytes count
            total_net_repl_output_bytes count  total_net_cluster_slot_import_bytes count
            total_net_cluster_slot_export_bytes count  instantaneous_input_kbps decimal
            instantaneous_output_kbps decimal  instantaneous_input_repl_kbps decimal
            instantaneous_output_repl_kbps decimal  rejected_connections count  sync_full count
            sync_partial_ok count  sync_partial_err count  expired_keys count  expired_fields count
            expired_stale_perc decimal  expired_keys_with_volatile_items_stale_perc decimal
            expired_time_cap_reached_count count  expire_cycle_cpu_milliseconds count  evicted_keys count
            expire_index_entries count  expire_index_bytes count  expire_lag_milliseconds count
            evicted_clients count  evicted_scripts count  total_eviction_exceeded_time count
            current_eviction_exceeded_time count  keyspace_hits count  keyspace_misses count
            pubsub_channels count  pubsub_patterns count  pubsubshard_channels count  latest_fork_usec count
            total_forks count  migrate_cached_sockets count  slave_expires_tracked_keys count
            active_defrag_hits count  active_defrag_misses count  active_defrag_key_hits count
            active_defrag_key_misses count  total_active_defrag_time count  current_active_defrag_time count
            tracking_total_keys count  tracking_total_items count  tracking_total_prefixes count
            unexpected_error_replies count  total_error_replies count  dump_payload_sanitizations count
            total_reads_processed count  total_writes_processed count  io_threaded_reads_processed count
            io_threaded_writes_processed count  io_threaded_freed_objects count
            io_threaded_accept_processed count  io_threaded_poll_processed count
            io_threaded_total_prefetch_batches count  io_threaded_total_prefetch_entries count
            client_query_buffer_limit_disconnections count  client_output_buffer_limit_disconnections count
            reply_buffer_shrinks count  reply_buffer_expands count  eventloop_cycles count
            eventloop_duration_sum count  eventloop_duration_cmd_sum count
            instantaneous_eventloop_cycles_per_sec count  instantaneous_eventloop_duration_usec count
            acl_access_denied_auth count  acl_access_denied_cmd count  acl_access_denied_key count
            acl_access_denied_channel count  acl_access_denied_tls_cert count  acl_access_denied_db count
        }
        Replication {
            role word  connected_slaves count  replicas_waiting_psync count  master_failover_state word
            master_replid hex  master_replid2 hex  master_repl_offset count  second_repl_offset integer
            repl_backlog_active bit  repl_backlog_size count  repl_backlog_first_byte_offset count
            repl_backlog_histlen count
        }
        CPU {
            used_cpu_sys seconds  used_cpu_user seconds  used_cpu_sys_children seconds
            used_cpu_user_children seconds  used_cpu_sys_main_thread seconds  used_cpu_user_main_thread seconds
            used_active_time_main_thread seconds
        }
        Modules {
            module text
        }
        Cluster {
            cluster_enabled bit
        }
        {Scripting Engines} {
            engines_count count  engines_total_used_memory count  engines_total_memory_overhead count
            engine_0 text
        }
    } {
        test "INFO $section has its fields in order, each of its form" {
            set names {}
            set wrong {}
            foreach {name value} [fields_of [r INFO everything] $section] {
                if {![dict exists $fields $name]} {
                    continue
                }
                lappend names $name
                if {![regexp [dict get $forms [dict get $fields $name]] $value]} {
                    lappend wrong "$name is no [dict get $fields $name]: '$value'"
                }
            }
            assert_equal [dict keys $fields] $names
            assert_equal {} $wrong
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

    # The times are compared with each other and with the CPU time of all threads of the server, which other processes
    # cannot increase. The limits are wide: a sum of values that are rounded before adding is wrong by a factor of a
    # hundred.
    test "Times of commands, turns and threads add up when a command takes less than a microsecond" {
        r SET key value
        r CONFIG RESETSTAT
        set before [r INFO cpu]
        set pipeline [string repeat [resp::encode {GET key}] 500]
        for {set i 0} {$i < 40} {incr i} {
            [default_client] write $pipeline
            [default_client] raw_bytes [expr {500 * [string length "\$5\r\nvalue\r\n"]}]
        }
        r PING
        set info [r INFO everything]
        set commands 0
        foreach usec [regexp -all -inline {cmdstat_\S+,usec=\d+} $info] {
            incr commands [lindex [split $usec =] end]
        }
        regexp {cmdstat_get:calls=20000,usec=(\d+),usec_per_call=([\d.]+),} $info - usec per_call
        set threads 0
        foreach {- seconds} [regexp -all -inline {used_active_time_\w+:([\d.]+)} $info] {
            set threads [expr {$threads + $seconds * 1e6}]
        }
        set cpu 0
        foreach name {used_cpu_sys used_cpu_user} {
            set cpu [expr {$cpu + ([field_of $info $name] - [field_of $before $name]) * 1e6}]
        }
        set turns [field_of $info eventloop_duration_sum]
        set in_commands [field_of $info eventloop_duration_cmd_sum]
        assert {$usec * 50 > $cpu}
        assert {abs($usec / 20000.0 - $per_call) < 0.01}
        assert {$in_commands <= $turns}
        assert {$in_commands * 2 > $commands && $in_commands < $commands * 2}
        assert {$turns < $threads * 2}
        assert {$threads * 10 > $cpu}
    }

    test "Subcommands are counted by themselves" {
        r CONFIG RESETSTAT
        r CLIENT ID
        assert_match "calls=1,*" [info_field cmdstat_client|id commandstats]
    }

    test "An error within a transaction is the failure of its command and not of EXEC" {
        r CONFIG RESETSTAT
        r SET key word
        foreach command {MULTI {LPUSH key x} EXEC MULTI NOSUCH EXEC} {
            catch {r {*}$command}
        }
        assert_match "calls=1,*,failed_calls=1" [info_field cmdstat_lpush commandstats]
        assert_match "calls=2,*,failed_calls=1" [info_field cmdstat_exec commandstats]
    }

    test "An unknown subcommand is counted as an error and for no command" {
        r CONFIG RESETSTAT
        catch {r OBJECT NOSUCH key}
        assert_equal "" [info_field cmdstat_object commandstats]
        assert_equal count=1 [info_field errorstat_ERR errorstats]
    }

    test "CONFIG RESETSTAT keeps what users were denied" {
        catch {r AUTH nobody wrong}
        set denied [info_field acl_access_denied_auth stats]
        assert {$denied > 0}
        r CONFIG RESETSTAT
        assert_equal $denied [info_field acl_access_denied_auth stats]
    }

    test "SPOP of all members is a look-up that finds" {
        r SADD members a b
        r CONFIG RESETSTAT
        r SPOP members 2
        assert_equal 1 [info_field keyspace_hits stats]
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

    test "Connections and traffic are counted, to the byte" {
        set asked [string length [resp::encode {INFO stats}]]
        set info [[default_client] raw INFO stats]
        set connections [field_of $info total_connections_received]
        set read [field_of $info total_net_input_bytes]
        set written [expr {[field_of $info total_net_output_bytes] + [string length $info]}]
        r SET large [string repeat y 100000]
        incr read [string length [resp::encode [list SET large [string repeat y 100000]]]]
        incr written [string length "+OK\r\n"]
        with_clients c {
            incr read [string length [resp::encode PING]]
            incr written [string length "+PONG\r\n"]
            # A value that is copied, one that is referred to, and more than one write accepts.
            foreach command [list [list ECHO [string repeat x 50000]] {GET large} \
                [concat MGET [lrepeat 100 large]] {GET none}] {
                incr read [string length [resp::encode $command]]
                incr written [string length [$c raw {*}$command]]
            }
        }
        # Bytes that another thread writes may be counted a moment after they arrive.
        for {set i 0} {$i < 250} {incr i} {
            set info [[default_client] raw INFO stats]
            incr read $asked
            if {[field_of $info total_net_output_bytes] == $written} {
                break
            }
            incr written [string length $info]
            after 20
        }
        assert_equal $written [field_of $info total_net_output_bytes]
        assert_equal $read [field_of $info total_net_input_bytes]
        assert_equal [expr {$connections + 1}] [field_of $info total_connections_received]
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
        # Writing a log to disk keeps a buffer.
        wait_for_condition 5 {
            [info_field used_memory memory] - [info_field mem_aof_buffer memory] < $before + 2000000
        }
        assert {[info_field used_memory_peak memory] > $before + 9000000}
    }
}
