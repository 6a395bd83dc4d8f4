# failover.tcl -- FAILOVER: the role of the primary passes to a replica, and conditions that prevent it.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    set primary_pid [srv pid]

    foreach {words error} {
        {ABORT} "No failover in progress."
        {ABORT now} "syntax error"
        {TO localhost} "syntax error"
        {FORCE FORCE} "syntax error"
        {TO localhost x} "value is not an integer or out of range"
        {TIMEOUT x} "value is not an integer or out of range"
        {TIMEOUT 0} "FAILOVER timeout must be greater than 0"
        {TIMEOUT -1} "FAILOVER timeout must be greater than 0"
        {} "FAILOVER requires connected replicas."
    } {
        test "FAILOVER $words: $error" {
            assert_error "ERR $error" {$primary FAILOVER {*}$words}
        }
    }

    start_server [list overrides $quick] {
        set replica [default_client]
        set replica_port [srv port]
        set replica_pid [srv pid]
        set replica_dir [srv dir]
        follow $replica $port
        start_server [list overrides $quick] {
            set other [default_client]
            follow $other $port

            foreach {words error} {
                {FORCE} "FAILOVER with force option requires both a timeout and target HOST and IP."
                {FORCE TIMEOUT 1} "FAILOVER with force option requires both a timeout and target HOST and IP."
                {TO 127.0.0.1 1} "FAILOVER target HOST and PORT is not a replica."
            } {
                test "FAILOVER $words with replicas: $error" {
                    assert_error "ERR $error" {$primary FAILOVER {*}$words}
                }
            }

            test "A replica does not fail over" {
                assert_error "ERR FAILOVER is not valid when server is a replica." {$replica FAILOVER}
            }

            test "FAILOVER TO a replica: it is the primary, and the old one follows it without a full synchronization" {
                fill $primary
                assert_equal OK [$primary FAILOVER TO 127.0.0.1 $replica_port]
                wait_for_condition 20 {[repl_field $primary role] eq "slave"}
                is_up $primary
                assert_equal master [repl_field $replica role]
                assert_equal no-failover [repl_field $primary master_failover_state]
                $replica SET after 1
                assert_same_data $replica $primary
                assert_equal {0 1} [syncs_of $replica]
                assert_error "READONLY*" {$primary SET a 1}
            }

            test "... and those who followed it come along, if they are told to" {
                $other REPLICAOF 127.0.0.1 $replica_port
                is_up $other
                assert_same_data $replica $other
                assert_equal 0 [lindex [syncs_of $replica] 0]
            }

            test "FAILOVER waits for its replica, and gives up after its time" {
                exec kill -STOP $primary_pid
                $replica SET late 1
                assert_equal OK [$replica FAILOVER TO 127.0.0.1 $port TIMEOUT 500]
                assert_equal waiting-for-sync [repl_field $replica master_failover_state]
                assert_equal failover_in_progress [field_of [$replica INFO clients] paused_reason]
                assert_error "ERR FAILOVER already in progress." {$replica FAILOVER}
                assert_error "ERR REPLICAOF not allowed while failing over." {$replica REPLICAOF NO ONE}
                set stranger [RespClient new $replica_port]
                assert_error "NOMASTERLINK*" {$stranger PSYNC ? -1}
                $stranger destroy
                wait_for_condition 10 {[repl_field $replica master_failover_state] eq "no-failover"}
                exec kill -CONT $primary_pid
                assert_equal OK [$replica SET goes 1]
                assert_equal master [repl_field $replica role]
            }

            test "FAILOVER ABORT" {
                exec kill -STOP $primary_pid
                $replica SET later 1
                assert_equal OK [$replica FAILOVER TO 127.0.0.1 $port]
                assert_equal OK [$replica FAILOVER ABORT]
                assert_equal OK [$replica SET goes 2]
                exec kill -CONT $primary_pid
                assert_same_data $replica $primary
            }

            test "FAILOVER with FORCE hands over after its time, although the replica does not answer" {
                exec kill -STOP $primary_pid
                $replica SET latest 1
                assert_equal OK [$replica FAILOVER TO 127.0.0.1 $port FORCE TIMEOUT 300]
                wait_for_condition 20 {[repl_field $replica master_failover_state] eq "failover-in-progress"}
                wait_for_condition 20 {[string match \
                    "*FAILOVER to 127.0.0.1:$port time out exceeded, failing over.*" [server_log $replica_dir]]}
                exec kill -CONT $primary_pid
                wait_for_condition 20 {[repl_field $replica role] eq "slave"}
                is_up $replica
                assert_equal {master no-failover} \
                    [list [repl_field $primary role] [repl_field $replica master_failover_state]]
                assert_equal OK [$primary FAILOVER TO 127.0.0.1 $replica_port]
                wait_for_condition 20 {[repl_field $primary role] eq "slave"}
                is_up $primary
            }

            test "FAILOVER to whoever has all, under load" {
                for {set i 0} {$i < 2000} {incr i} {
                    $replica SET load:$i $i
                }
                assert_equal OK [$replica FAILOVER]
                wait_for_condition 20 {[repl_field $replica role] eq "slave"}
                is_up $replica
                set new [expr {[repl_field $primary role] eq "master" ? $primary : $other}]
                $new SET newest 1
                assert_same_data $new $replica
            }
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]

    test "PSYNC FAILOVER is for replicas of the same stream" {
        assert_error "ERR PSYNC FAILOVER can't be sent to a master." {r PSYNC [repl_field $primary master_replid] 1 FAILOVER}
        start_server [list overrides $quick] {
            set replica [default_client]
            follow $replica $port
            assert_error "ERR PSYNC FAILOVER replid must match my replid." {$replica PSYNC [string repeat 0 40] 1 FAILOVER}
            assert_equal slave [repl_field $replica role]
        }
    }
}
