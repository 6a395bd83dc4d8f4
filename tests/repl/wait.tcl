# wait.tcl -- WAIT and WAITAOF for replicas: how long they wait, and how a wait ends.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server [list overrides {appendonly yes appendfsync always}] {
        set replica [default_client]
        set pid [srv pid]
        follow $replica $port
        wait_for_condition 20 {[info_field aof_rewrite_in_progress persistence] == 0 &&
            [info_field aof_rewrite_scheduled persistence] == 0}

        test "WAIT: the replica is asked, and answers at once" {
            $primary SET a 1
            assert_equal 1 [$primary WAIT 1 10000]
            assert_equal 1 [$primary WAIT 0 0]
        }

        test "WAIT for more replicas than there are ends by its time" {
            $primary INCR a
            assert_equal 1 [$primary WAIT 2 100]
        }

        test "WAITAOF: the replica's disk" {
            $primary INCR a
            assert_equal {0 1} [$primary WAITAOF 0 1 10000]
        }

        test "WAITAOF for the disk of a primary without a log" {
            assert_error "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled." {
                $primary WAITAOF 1 1 10
            }
        }

        test "A replica that stands still is waited for, until it goes on" {
            exec kill -STOP $pid
            $primary INCR a
            $primary send WAIT 1 20000
            assert [$primary silent_for 300]
            exec kill -CONT $pid
            assert_equal 1 [$primary reply]
        }

        test "WAIT in a transaction and in a script tells how many there are" {
            $primary MULTI
            $primary INCR a
            $primary WAIT 1 0
            assert_match {*[01]} [$primary EXEC]
            assert_match {[01]} [$primary EVAL "return redis.call('WAIT', 5, 0)" 0]
        }

        test "Nobody is asked how far it is while clients are paused: the stream stands still" {
            $primary CLIENT PAUSE 100000 WRITE
            set before [repl_field $primary master_repl_offset]
            $primary WAIT 5 300
            set after [repl_field $primary master_repl_offset]
            assert_equal 0 [expr {($after - $before) % 14}] ;# a ping has 14 bytes
            $primary CLIENT UNPAUSE
            wait_for_condition 10 {([repl_field $primary master_repl_offset] - $before) % 14 == 37 % 14}
        }

        test "On a replica there is nothing to wait for" {
            assert_error "ERR WAIT cannot be used with replica instances.*" {$replica WAIT 1 0}
            assert_error "ERR WAITAOF cannot be used with replica instances.*" {$replica WAITAOF 0 1 0}
        }

        test "min-replicas-to-write: with too few replicas writes are refused, and reads are not" {
            $primary CONFIG SET min-replicas-to-write 1
            assert_equal OK [$primary SET b 1]
            assert_equal 1 [repl_field $primary min_slaves_good_slaves]
            $primary CONFIG SET min-replicas-to-write 2
            assert_error "NOREPLICAS Not enough good replicas to write." {$primary SET b 2}
            assert_error "NOREPLICAS Not enough good replicas to write." {$primary DEL nothing}
            assert_equal 1 [$primary GET b]
            $primary CONFIG SET min-replicas-to-write 1 min-replicas-max-lag 1
            exec kill -STOP $pid
            wait_for_condition 10 {[catch {$primary SET b 3} message] && [string match NOREPLICAS* $message]}
            exec kill -CONT $pid
            wait_for_condition 10 {![catch {$primary SET b 3}]}
            $primary CONFIG SET min-replicas-to-write 0
        }
    }
}

proc has_log {client} {
    return [regexp {aof_enabled:1\s.*aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s} [$client INFO persistence]]
}

proc log_is_on {client} {
    wait_for_condition 20 {[has_log $client]}
}

# With appendfsync no nothing is synced but the contents of a new base.
start_server [list overrides [list {*}$quick repl-ping-replica-period 1000]] {
    set first [default_client]
    set port [srv port]
    start_server [list overrides [list {*}$quick repl-ping-replica-period 1000]] {
        set second [default_client]
        set second_port [srv port]
        start_server {overrides {appendonly yes appendfsync always}} {
            set replica [default_client]
            follow $replica $port
            log_is_on $replica

            test "WAITAOF: a replica that goes on after a lost link has not synced what came before" {
                $first SET big [string repeat x 1000000]
                assert_equal {0 1} [$first WAITAOF 0 1 10000]
                $replica CONFIG SET appendfsync no
                $first SET late 1
                in_step $first $replica
                cut_link $replica
                assert_equal {0 0} [$first WAITAOF 0 1 50]
                assert_equal 1 [lindex [syncs_of $first] 1]
                $replica CONFIG SET appendfsync always
                assert_equal {0 1} [$first WAITAOF 0 1 10000]
            }

            test "... nor is what the disk has of one primary's stream told to the next one" {
                $replica CONFIG SET appendfsync no
                follow $replica $second_port
                set on 0
                while {!$on} { ;# the whole of it is never on disk
                    set on [has_log $replica]
                    for {set i 0} {$i < 30} {incr i} {$second SET late $i}
                }
                in_step $second $replica
                assert_equal {0 0} [$second WAITAOF 0 1 50]
                $replica CONFIG SET appendfsync always
                assert_equal {0 1} [$second WAITAOF 0 1 10000]
            }
        }

        start_server [list overrides [list {*}$quick appendonly yes appendfsync always]] {
            set other [default_client]
            set other_port [srv port]
            start_server {} {
                set replica [default_client]
                follow $replica $other_port

                test "A write that another dataset has replaced is acknowledged by nobody, until the next one" {
                    $other SET lost 1
                    assert_equal 1 [$other WAIT 1 10000]
                    assert_equal {1 1} [list [lindex [$other WAITAOF 1 0 0] 0] [$other WAIT 1 0]]
                    follow $other $second_port
                    $other REPLICAOF NO ONE
                    log_is_on $other
                    is_up $replica
                    in_step $other $replica
                    assert_equal {0 0} [list [lindex [$other WAITAOF 1 0 50] 0] [$other WAIT 1 50]]
                    $other SET found 1
                    assert_equal {1 1} [list [lindex [$other WAITAOF 1 0 10000] 0] [$other WAIT 1 10000]]
                }
            }
        }
    }
}
