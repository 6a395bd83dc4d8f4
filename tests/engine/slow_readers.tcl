# slow_readers.tcl -- clients that do not read their replies cost themselves, not the dataset (maxmemory-clients-share).
#
# SPDX-License-Identifier: BSD-3-Clause

set mb [expr {1024 * 1024}]

# Waits until output and values of earlier tests are freed, and returns the memory in use.
proc memory_at_rest {} {
    set before -1
    wait_for_condition 10 {[info_field mem_clients_unread_output memory] < 100000}
    wait_for_condition 10 {[info_field lazyfree_pending_objects memory] == 0}
    for {set i 0} {$i < 50} {incr i} {
        set now [info_field used_memory memory]
        if {abs($now - $before) < 20000} {
            break
        }
        set before $now
        after 50
    }
    return $now
}

# Stores key:0 ... key:COUNT-1 as slow_readers.py expects them, and leaves room for BYTES more.
proc fill_keys {count bytes} {
    r CONFIG SET maxmemory 0
    r FLUSHALL SYNC
    memory_at_rest
    for {set first 0} {$first < $count} {incr first 1000} {
        set words {}
        for {set i $first} {$i < $first + 1000} {incr i} {
            set head "$i:"
            lappend words key:$i $head[string repeat x [expr {1024 - [string length $head]}]]
        }
        r MSET {*}$words
    }
    r CONFIG SET maxmemory-policy allkeys-lru maxmemory [expr {[memory_at_rest] + $bytes}]
    r CONFIG RESETSTAT
}

# Starts slow_readers.py and returns its channel when all requests are sent.
proc slow_readers {args} {
    set channel [open [list |python3 [file join $::support slow_readers.py] [srv port] {*}$args] r+]
    assert_equal sent [gets $channel]
    return $channel
}

# Lets the readers read, and returns how many replies were wrong.
proc let_read {channel} {
    puts $channel read
    flush $channel
    set wrong [gets $channel]
    close $channel
    return $wrong
}

# Returns when nothing has changed for a while.
proc settled {} {
    set before {}
    for {set same 0} {$same < 5} {incr same} {
        after 50
        set now [list [info_field total_commands_processed stats] [info_field mem_clients_unread_output memory]]
        if {[lindex $now 1] != [lindex $before 1]} {
            set same 0
        }
        set before $now
    }
}

start_server {each {r CONFIG SET maxmemory 0 maxmemory-policy noeviction maxmemory-clients-share 5; r FLUSHALL; r CONFIG RESETSTAT}} {

    test "Sixty clients that do not read 240 MB evict nothing, and get all of it when they read" {
        fill_keys 30000 [expr {8 * $mb}]
        set readers [slow_readers 60 4 30000 1000]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 60}
        for {set i 0} {$i < 20} {incr i} {
            assert_equal OK [r SET last $i]
        }
        settled
        assert_equal 30001 [r DBSIZE]
        assert_equal 0 [info_field evicted_keys stats]
        # A part and a reply each, not all that was asked for.
        assert_between [expr {4 * $mb}] [expr {100 * $mb}] [info_field mem_clients_unread_output memory]
        assert {[info_field mem_not_counted_for_evict memory] > 2 * $mb}
        assert_between 60 10000 [info_field client_output_waits stats]
        assert_equal 0 [let_read $readers]
        assert_equal {30001 0} [list [r DBSIZE] [info_field evicted_keys stats]]
        wait_for_condition 10 {[info_field mem_clients_unread_output memory] < 100000}
        assert_equal 0 [info_field clients_waiting_for_output clients]
    }

    test "With a share of 100 unread output evicts keys, as in Valkey" {
        with_config {maxmemory-clients-share 100 io-threads-reply-offload no} {
            fill_keys 10000 [expr {4 * $mb}]
            set readers [slow_readers 20 4 10000 1000]
            wait_for_condition 10 {[info_field evicted_keys stats] > 1000}
            assert_equal 0 [info_field clients_waiting_for_output clients]
            close $readers
        }
    }

    test "noeviction: unread output refuses no write" {
        with_config {io-threads-reply-offload no} {
            fill_keys 10000 [expr {4 * $mb}]
            r CONFIG SET maxmemory-policy noeviction
            set readers [slow_readers 20 4 10000 1000]
            wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 20}
            assert_equal OK [r SET last value]
            r CONFIG SET maxmemory-clients-share 100
            assert_error "OOM *" {r SET last value}
            r CONFIG SET maxmemory-clients-share 5
            assert_equal OK [r SET last value]
            assert_equal 0 [let_read $readers]
        }
    }

    test "A reply of 100 MB goes through" {
        fill_keys 10000 [expr {8 * $mb}]
        set reader [slow_readers 1 1 10000 100000]
        wait_for_condition 20 {[info_field clients_waiting_for_output clients] == 1}
        assert_equal PONG [r PING]
        assert_equal 0 [let_read $reader]
        assert_equal {10000 0} [list [r DBSIZE] [info_field evicted_keys stats]]
    }

    test "A hundred replies of 1 MB to one client go through, one after the other" {
        fill_keys 10000 [expr {8 * $mb}]
        set reader [slow_readers 1 100 10000 1000]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 1}
        settled
        assert {[info_field mem_clients_unread_output memory] < 10 * $mb}
        assert_equal 0 [let_read $reader]
        assert_equal {10000 0} [list [r DBSIZE] [info_field evicted_keys stats]]
    }

    test "A client that sends 200,000 requests before it reads the first of 200 MB goes on" {
        fill_keys 10000 [expr {8 * $mb}]
        set reader [slow_readers 1 200000 10000 1]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 1}
        assert {[info_field total_commands_processed stats] < 100000}
        assert_equal 0 [let_read $reader]
        assert_equal {10000 0} [list [r DBSIZE] [info_field evicted_keys stats]]
        assert {[info_field total_commands_processed stats] > 200000}
    }

    test "CLIENT LIST names what a client waits for, and its requests count as its own" {
        fill_keys 1000 [expr {2 * $mb}]
        assert {![string match *waits-for* [r CLIENT LIST]]}
        set reader [slow_readers 1 100000 1000 1]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 1}
        wait_for_condition 10 {[regexp {qbuf=[1-9][0-9]{6}} [r CLIENT LIST]]}
        set lines [lsearch -all -inline [split [string trim [r CLIENT LIST]] \n] {* waits-for=output}]
        assert_equal 1 [llength $lines]
        assert {[client_field [lindex $lines 0] tot-mem] > [client_field [lindex $lines 0] omem]}
        assert_equal 0 [info_field evicted_keys stats]
        assert_equal 1 [r CLIENT KILL ID [client_field [lindex $lines 0] id]]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 0}
        close $reader
    }

    test "maxmemory and the share may change while clients wait" {
        fill_keys 10000 [expr {4 * $mb}]
        set reader [slow_readers 1 40 10000 1000]
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 1}
        settled
        set before [info_field total_commands_processed stats]
        r CONFIG SET maxmemory 0
        wait_for_condition 10 {[info_field clients_waiting_for_output clients] == 0}
        wait_for_condition 10 {[info_field total_commands_processed stats] > $before + 30}
        assert_equal 0 [let_read $reader]
    }

    test "Memory of values that only unread replies keep counts as output" {
        set value [string repeat x $mb]
        for {set i 0} {$i < 20} {incr i} {
            r SET large:$i $value
        }
        with_clients c {
            set id [$c CLIENT ID]
            for {set i 0} {$i < 20} {incr i} {
                $c send GET large:$i
            }
            wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] omem] > 5 * $mb}
            settled
            set before [info_field mem_clients_unread_output memory]
            r FLUSHALL
            wait_for_condition 10 {[info_field mem_clients_unread_output memory] > $before + 5 * $mb}
            for {set i 0} {$i < 20} {incr i} {
                assert_equal $mb [string length [$c reply]]
            }
            wait_for_condition 10 {[info_field mem_clients_unread_output memory] < $mb}
        }
    }

    test "A command that keeps its value for a while leaves it to its key" {
        with_config {yield always} {
            r SET key [string repeat x 5000]
            for {set i 0} {$i < 100} {incr i} {
                r COPY key other REPLACE
                r DUMP key
                r APPEND key [string repeat x 1000]
            }
            r DEL key other
        }
        wait_for_condition 10 {[info_field mem_clients_unread_output memory] < 5000}
    }

    test "client-output-buffer-limit closes a client whose one reply is above it" {
        fill_keys 10000 [expr {8 * $mb}]
        with_config {client-output-buffer-limit "normal 3000000 0 0"} {
            with_clients c {
                set words {}
                for {set i 0} {$i < 5000} {incr i} {
                    lappend words key:$i
                }
                $c send MGET {*}$words
                assert [$c closed_within 10000]
            }
        }
        assert_equal 1 [info_field client_output_buffer_limit_disconnections stats]
        assert_equal 0 [info_field evicted_keys stats]
    }
}

foreach threads {2 4} {
    start_server [list overrides [list io-threads $threads io-threads-always-active yes]] {
        test "Slow readers on $threads threads get all that they asked for, and evict nothing" {
            fill_keys 30000 [expr {24 * $mb}]
            set readers [slow_readers 60 4 30000 1000]
            set pipeline [slow_readers 1 200000 30000 1]
            wait_for_condition 10 {[info_field clients_waiting_for_output clients] > 20}
            assert_equal OK [r SET last value]
            assert_equal 0 [let_read $pipeline]
            assert_equal 0 [let_read $readers]
            assert_equal {30001 0} [list [r DBSIZE] [info_field evicted_keys stats]]
        }
    }
}
