# keep_from_empty.tcl -- a primary that is back without its data: what its replicas do with theirs.
#
# The primaries are this server, and the real ones that VALKEY_PEER and REDIS8_PEER name.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

if {[over_tls]} {
    test "a replica of a primary that has lost its data" {skip "the primaries of this file have no TLS"}
    return
}

# Starts a primary that writes no files, at ::port. Sets ::primary to a client of it.
proc start_primary {binary} {
    set ::dir [make_server_dir]
    set ::pid [exec $binary --port $::port --save "" --dir $::dir --repl-diskless-sync-delay 0 {*}$::more \
        >$::dir/stdout 2>@1 &]
    wait_for_condition 10 {![catch {RespClient new $::port} ::primary] && ![catch {$::primary PING}]}
}

# A child that still writes a snapshot keeps the port for a moment.
proc end_primary {} {
    catch {$::primary destroy}
    catch {exec kill -KILL $::pid}
    wait_for_condition 10 {[catch {close [socket 127.0.0.1 $::port]}]}
}

# Kills the primary and starts it again, as a supervisor would.
proc lose_primary {binary} {
    end_primary
    start_primary $binary
}

proc keeps {replica} {return [repl_field $replica replica_keeping_from_empty_primary]}

# Makes REPLICA a follower of the primary, whose only keys are five.
proc follow_five {replica} {
    $replica REPLICAOF NO ONE
    $replica FLUSHALL
    $::primary FLUSHALL
    follow $replica $::port
    for {set i 0} {$i < 5} {incr i} {$::primary SET key:$i $i}
    in_step $::primary $replica
    assert_equal {key:0 key:1 key:2 key:3 key:4} [lsort [$replica KEYS *]]
}

proc count_lines {text pattern} {return [llength [lsearch -all -glob [split $text \n] $pattern]]}

set refusal "*has a new replication ID and an empty dataset*"
set more {}
set kinds [list [list "this server" $srv::binary]]
foreach {name variable} {"a real Valkey" VALKEY_PEER "a Redis 8" REDIS8_PEER} {
    if {[info exists env($variable)]} {
        lappend kinds [list $name $env($variable)]
    } else {
        test "a replica of $name that has lost its data" {skip "$variable names none"}
    }
}

foreach kind $kinds {
    lassign $kind name binary
    start_server {} {
        set replica [default_client]
        set port [free_port]
        start_primary $binary
        try {
            foreach {diskless load dual} {
                yes disabled no  yes on-empty-db no  yes swapdb no  yes flush-before-load no  yes swapdb yes
                no disabled no  no flush-before-load no
            } {
                if {$dual && $name eq "a Redis 8"} continue
                test "The data stays when $name is back without it (diskless $diskless, load $load, dual $dual)" {
                    set more [list --repl-diskless-sync $diskless]
                    if {$dual} {lappend more --dual-channel-replication-enabled yes}
                    lose_primary $binary
                    $replica CONFIG SET repl-diskless-load $load dual-channel-replication-enabled $dual
                    follow_five $replica
                    assert_equal 0 [keeps $replica]
                    assert_equal -1 [repl_field $replica replica_keeping_from_empty_primary_seconds]
                    set id [repl_field $replica master_replid]
                    set offset [repl_field $replica slave_repl_offset]
                    set lines [count_lines [srv log] $refusal]
                    lose_primary $binary
                    wait_for_condition 20 {[keeps $replica] == 1}
                    assert_equal [incr lines] [count_lines [srv log] $refusal]
                    assert_equal down [repl_field $replica master_link_status]
                    assert_equal 5 [$replica DBSIZE]
                    assert_equal 3 [$replica GET key:3]
                    assert_equal $id [repl_field $replica master_replid]
                    assert_equal $offset [repl_field $replica slave_repl_offset]

                    $primary SET key:new 1
                    is_up $replica
                    assert_equal {1 1} [list [$replica DBSIZE] [$replica GET key:new]]
                    assert_equal 0 [keeps $replica]
                    assert_equal $lines [count_lines [srv log] $refusal]
                }
            }

            test "REPLICAOF once more takes the empty dataset of $name" {
                follow_five $replica
                lose_primary $binary
                wait_for_condition 20 {[keeps $replica] == 1}
                assert_equal 5 [$replica DBSIZE]
                assert_equal OK [$replica REPLICAOF 127.0.0.1 $port]
                is_up $replica
                assert_equal 0 [$replica DBSIZE]
                assert_match "OK Already connected*" [$replica REPLICAOF 127.0.0.1 $port]
            }
        } finally {
            end_primary
        }
    }
}

set more {}
start_server {} {
    set replica [default_client]
    set port [free_port]
    start_primary $srv::binary
    try {
        test "replica-keep-from-empty: the empty dataset is taken when the seconds are over" {
            $replica CONFIG SET replica-keep-from-empty 3
            follow_five $replica
            set before [clock milliseconds]
            lose_primary $srv::binary
            wait_for_condition 20 {[keeps $replica] == 1}
            assert_equal 5 [$replica DBSIZE]
            is_up $replica
            assert {[clock milliseconds] - $before >= 3000}
            assert_equal 0 [$replica DBSIZE]
            assert_match "*still has an empty dataset after 3 seconds*" [srv log]
        }

        test "... and counted anew for each identity" {
            follow_five $replica
            for {set i 0} {$i < 3} {incr i} {
                lose_primary $srv::binary
                set lines [count_lines [srv log] $refusal]
                wait_for_condition 20 {[count_lines [srv log] $refusal] > $lines}
                after 1500
                assert_equal 5 [$replica DBSIZE]
            }
        }

        test "... 0: at once, also while the dataset is kept" {
            $replica CONFIG SET replica-keep-from-empty 60
            follow_five $replica
            lose_primary $srv::binary
            wait_for_condition 20 {[keeps $replica] == 1}
            $replica CONFIG SET replica-keep-from-empty 0
            is_up $replica
            assert_equal 0 [$replica DBSIZE]
            follow_five $replica
            lose_primary $srv::binary
            wait_for_condition 20 {[$replica DBSIZE] == 0}
            assert_equal 0 [keeps $replica]
            $replica CONFIG SET replica-keep-from-empty 60
        }

        test "Clients are served all the time while the dataset is kept" {
            $replica CONFIG SET repl-diskless-load flush-before-load
            follow_five $replica
            lose_primary $srv::binary
            wait_for_condition 20 {[keeps $replica] == 1}
            set until [expr {[clock milliseconds] + 4000}]
            while {[clock milliseconds] < $until} {assert_equal 2 [$replica GET key:2]}
            assert_equal 1 [keeps $replica]
        }

        test "A replica that is promoted meanwhile has its data, and the old primary gets it back" {
            assert_equal OK [$replica REPLICAOF NO ONE]
            assert_equal 5 [$replica DBSIZE]
            $primary REPLICAOF 127.0.0.1 [srv port]
            is_up $primary
            assert_equal 5 [$primary DBSIZE]
        }

        test "A dataset with libraries and no keys is empty" {
            $primary REPLICAOF NO ONE
            $replica CONFIG SET repl-diskless-load disabled
            follow_five $replica
            set before [srv log]
            lose_primary $srv::binary
            $primary FUNCTION LOAD "#!lua name=mine\nserver.register_function('f', function() return 1 end)"
            wait_for_condition 20 {[keeps $replica] == 1}
            after 2500
            assert_equal 5 [$replica DBSIZE]
            $primary SET key 1
            is_up $replica
            assert_equal {1 1} [list [$replica DBSIZE] [llength [$replica FUNCTION LIST]]]
        }

        test "An empty dataset of the same identity is taken at once" {
            $primary CONFIG SET repl-backlog-size 16kb
            follow_five $replica
            lassign [syncs_of $primary] full
            exec kill -STOP [srv pid]
            $primary CLIENT KILL TYPE replica
            for {set i 0} {$i < 100} {incr i} {$primary SET key [string repeat x 10000]}
            $primary FLUSHALL
            exec kill -CONT [srv pid]
            wait_for_condition 20 {[$replica DBSIZE] == 0}
            is_up $replica
            assert_equal [incr full] [lindex [syncs_of $primary] 0]
            assert_equal 0 [keeps $replica]
        }

        test "An operator who names a primary gets its dataset, even if it is empty" {
            follow_five $replica
            start_server {} {
                $replica REPLICAOF 127.0.0.1 [srv port]
                wait_for_condition 20 {[$replica DBSIZE] == 0}
                is_up $replica
            }
        }

        test "Replicas of a replica that keeps its dataset keep theirs" {
            follow_five $replica
            set middle_port [srv port]
            start_server {} {
                set last [default_client]
                follow $last $middle_port
                in_step $replica $last
                lose_primary $srv::binary
                wait_for_condition 20 {[keeps $replica] == 1}
                after 3000
                assert_equal {5 5} [list [$replica DBSIZE] [$last DBSIZE]]
                assert_equal up [repl_field $last master_link_status]
                $primary SET key 1
                is_up $replica
                wait_for_condition 20 {[$last DBSIZE] == 1}
                is_up $last
            }
        }
    } finally {
        end_primary
    }
}

# Both are started again after a loss of power, and only the replica has files.
foreach log {no yes} {
    set port [free_port]
    start_primary $srv::binary
    try {
        start_server [list overrides [list replicaof "127.0.0.1 $port" save "3600 1" appendonly $log]] {
            test "A replica that starts with its files keeps what it has loaded (appendonly $log)" {
                set replica [default_client]
                is_up $replica
                for {set i 0} {$i < 5} {incr i} {$primary SET key:$i $i}
                in_step $primary $replica
                wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0} ;# SHUTDOWN is refused during the first
                end_primary
                restart_server
                start_primary $srv::binary
                set replica [default_client]
                wait_for_condition 20 {[keeps $replica] == 1}
                assert_equal 5 [$replica DBSIZE]
                $primary SET key 1
                is_up $replica
                assert_equal 1 [$replica DBSIZE]
                wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0}
                after 1000
            }
        }
    } finally {
        end_primary
    }
}
