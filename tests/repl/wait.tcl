# wait.tcl -- WAIT and WAITAOF for replicas: until when, and what ends a wait.
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
