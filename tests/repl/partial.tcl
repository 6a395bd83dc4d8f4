# partial.tcl -- a replica that reconnects continues at its offset, if the backlog still has it.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port

        test "A link that breaks is made again, and nothing is sent twice" {
            for {set i 0} {$i < 10} {incr i} {
                $primary INCR n
                cut_link $replica
                $primary RPUSH list $i
            }
            assert_same_data $primary $replica
            assert_equal 10 [$replica LLEN list]
            assert_equal {1 10} [syncs_of $primary]
        }

        test "A transaction that was cut off by the link is applied once, and whole" {
            for {set i 0} {$i < 20} {incr i} {
                $primary send EVAL "for i = 1, 2000 do redis.call('INCR', 'count') end" 0
                cut_link $replica
                $primary reply
                set n [$replica GET count]
                assert {$n eq "(nil)" || $n % 2000 == 0}
            }
            assert_same_data $primary $replica
            assert_equal 40000 [$replica GET count]
        }

        test "A replica that is started anew goes on from its snapshot" {
            $replica CONFIG SET save "10000 1"
            $primary SET before 1
            in_step $primary $replica
            lassign [syncs_of $primary] full partial
            write_file [srv dir]/valkey.conf "[read_file [srv dir]/valkey.conf]\nreplicaof 127.0.0.1 $port\n"
            restart_server
            $primary SET after 1
            set replica [default_client]
            is_up $replica
            assert_same_data $primary $replica
            assert_equal [list $full [expr {$partial + 1}]] [syncs_of $primary]
        }

        test "... and keeps keys and fields whose time is over until the primary says so" {
            # On the primary, too: no command accesses them there.
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            $primary SET over 1 PX 1
            $primary HSETEX fields PX 1 FIELDS 1 over 1
            $primary HSET fields stays 1
            after 20
            in_step $primary $replica
            set size [$primary DBSIZE]
            $replica SAVE
            restart_server
            set replica [default_client]
            in_step $primary $replica
            assert_equal 0 [field_of [$replica INFO persistence] rdb_last_load_keys_expired]
            assert_equal $size [$replica DBSIZE]
            assert_equal [$primary HLEN fields] [$replica HLEN fields]
            $replica DEBUG RELOAD
            assert_equal $size [$replica DBSIZE]
            $primary DEBUG SET-ACTIVE-EXPIRE 1
            wait_for_condition 10 {[$replica DBSIZE] == $size - 1 && [$replica HLEN fields] == 1}
            assert_same_data $primary $replica
        }

        test "Another offset than any that is kept: everything is sent again" {
            $primary CONFIG SET repl-backlog-size 16kb
            $primary CONFIG SET repl-timeout 1000
            lassign [syncs_of $primary] full partial
            exec kill -STOP [srv pid]
            $primary CLIENT KILL TYPE replica
            for {set i 0} {$i < 50} {incr i} {
                $primary SET fill:$i [string repeat x 10000]
            }
            exec kill -CONT [srv pid]
            wait_for_condition 20 {[lindex [syncs_of $primary] 0] == $full + 1}
            is_up $replica
            assert_same_data $primary $replica
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server [list overrides $quick] {
        set one [default_client]
        set one_port [srv port]
        start_server {} {
            set other [default_client]

            test "After a promotion the others go on with the new primary, and the old one too" {
                fill $primary
                follow $one $port
                follow $other $port
                in_step $primary $other
                in_step $primary $one
                $one REPLICAOF NO ONE
                $other REPLICAOF 127.0.0.1 $one_port
                is_up $other
                $primary REPLICAOF 127.0.0.1 $one_port
                is_up $primary
                $one SET new 1
                assert_same_data $one $other
                assert_same_data $one $primary
                assert_equal {0 2} [syncs_of $one]
            }

            test "A primary that has gone on by itself has to begin anew" {
                $primary REPLICAOF NO ONE
                $primary SET alone 1
                $one SET elsewhere 1
                $primary REPLICAOF 127.0.0.1 $one_port
                is_up $primary
                assert_same_data $one $primary
                assert_equal 0 [$primary EXISTS alone]
                assert_equal 1 [lindex [syncs_of $one] 0]
            }
        }
    }
}

start_server {} {
    set replica [default_client]
    start_server [list overrides $quick] {
        set port [srv port]
        fill [default_client]
        follow $replica $port

        test "A primary that is started anew from its snapshot takes back who is where that was made" {
            r DEBUG SET-ACTIVE-EXPIRE 0
            r SET short 1 PX 1
            in_step [default_client] $replica
            r CONFIG SET save "10000 1"
            set id [repl_field $replica master_replid]
            restart_server
            is_up $replica
            wait_for_condition 10 {[syncs_of [default_client]] eq {0 1}}
            assert_not_equal $id [repl_field $replica master_replid]
            r SET after 1
            assert_same_data [default_client] $replica
        }

        test "... and tells what was over when it started" {
            wait_for_condition 10 {[$replica DBSIZE] == [r DBSIZE] && [$replica EXISTS after] == 1}
            assert_equal [string repeat 0 40] [$replica DEBUG DIGEST-VALUE short]
            assert_same_data [default_client] $replica
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port

        test "A replica that is started anew keeps what is over: the primary may have prolonged its life" {
            in_step $primary $replica
            $primary SET long 1 PX 500
            $primary HSETEX hash PX 500 FIELDS 2 f 1 g 2
            in_step $primary $replica
            assert_equal OK [r SAVE]
            assert_equal {1 1} [list [$primary PERSIST long] [$primary HPERSIST hash FIELDS 1 f]]
            after 600
            write_file [srv dir]/valkey.conf "[read_file [srv dir]/valkey.conf]\nreplicaof 127.0.0.1 $port\n"
            restart_server
            set replica [default_client]
            is_up $replica
            wait_for_condition 10 {[r EXISTS long] == 1}
            assert_equal 1 [r HGET hash f]
            wait_for_condition 10 {[$primary HLEN hash] == 1}
            assert_same_data $primary $replica
            assert_equal {1 1} [syncs_of $primary]
        }
    }
}
