# bad_primary.tcl -- a primary that is silent, stops in the middle, or sends malformed data.
#
# The primary is the test, which sends any bytes.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set id [string repeat ab 20]

# A snapshot with a key of each type, about 300 bytes.
start_server [list overrides $quick] {
    r SET string 1
    r SET timed 1 EX 100000
    r RPUSH list a b
    r SADD set a 1
    r ZADD zset 1 a
    r HSET hash f v
    r HSETEX hash EX 100000 FIELDS 1 g w
    r XADD stream 1-1 f v
    set snapshot [snapshot_of [default_client]]
    set digest [r DEBUG DIGEST]
}

# Sends the dataset to the next replica, at OFFSET of the replication ID.
proc give_dataset {snapshot id offset {with_mark 1}} {
    lassign [next_replica] link
    $link write "+FULLRESYNC $id $offset\r\n[framed $snapshot $with_mark]"
    return $link
}

foreach load {disabled flush-before-load swapdb} {
    start_server [list overrides [list repl-diskless-load $load repl-timeout 2]] {
        set port [listen_for_replicas]
        follow_anew $port

        test "A primary that says nothing to PSYNC is asked again, for the same (repl-diskless-load $load)" {
            set link [give_dataset $snapshot $id 100]
            is_up [default_client]
            $link destroy
            lassign [next_replica] link asked_id offset
            assert_equal [list $id 101] [list $asked_id $offset]
            assert [$link closed_within 10000]
            $link destroy
            lassign [next_replica] link asked_id offset
            assert_equal [list $id 101] [list $asked_id $offset]
            $link write "+CONTINUE\r\n[resp::encode {SELECT 0}][resp::encode {SET more 1}]"
            wait_for_condition 10 {[r GET more] eq "1"}
            $link destroy
        }

        test "... and one that is not ready" {
            foreach error {"LOADING I am" "NOMASTERLINK I have none"} {
                lassign [next_replica] link asked_id offset
                assert_equal $id $asked_id
                $link write "-$error\r\n"
                assert [$link closed_within 10000]
                $link destroy
            }
            assert_equal 1 [r GET string]
        }

        foreach with_mark {0 1} {
            # Each byte in one of the six ways, and all of them in tests/unit/persist/rdb/rdb_scan_test.c.
            test "A snapshot that is cut at any byte: it is asked for again (mark: $with_mark)" {
                set bytes [framed $snapshot $with_mark]
                set first [expr {[lsearch {disabled flush-before-load swapdb} $load] * 2 + $with_mark}]
                for {set cut $first} {$cut < [string length $bytes]} {incr cut 6} {
                    follow_anew $port
                    lassign [next_replica] link
                    $link write "+FULLRESYNC $id 100\r\n[string range $bytes 0 $cut-1]"
                    $link destroy
                    wait_for_condition 10 {[repl_field [default_client] master_sync_in_progress] == 0 &&
                        ![catch {r PING} answer]}
                    assert_equal PONG $answer
                }
                follow_anew $port
                set link [give_dataset $snapshot $id 100 $with_mark]
                is_up [default_client]
                assert_equal $digest [r DEBUG DIGEST]
                $link destroy
            }

            # The reader itself is split at each byte in tests/unit/repl/replica/snapshot_reader_test.c.
            test "A snapshot that comes in two pieces (mark: $with_mark)" {
                set bytes "[framed $snapshot $with_mark]"
                set stream [expr {$with_mark ? "" : [resp::encode {SET behind 1}]}]
                for {set cut 1} {$cut < [string length $bytes]} {incr cut 17} {
                    follow_anew $port
                    lassign [next_replica] link
                    $link write "+FULLRESYNC $id 100\r\n[string range $bytes 0 $cut-1]"
                    resp::pause
                    $link write "[string range $bytes $cut end]$stream"
                    is_up [default_client]
                    if {$with_mark} {assert_equal $digest [r DEBUG DIGEST]}
                    if {!$with_mark} {wait_for_condition 10 {[r GET behind] eq "1"}}
                    $link destroy
                }
            }
        }
        no_more_replicas
    }
}

# Returns the next PSYNC of the replica. ? -1: it has no offset.
proc asked_next {} {
    lassign [next_replica] link id offset
    $link destroy
    return [list $id $offset]
}

foreach load {disabled flush-before-load} {
    start_server [list overrides [list {*}$quick repl-diskless-load $load]] {
        set port [listen_for_replicas]

        test "A dataset that has gone is in no stream any more (repl-diskless-load $load)" {
            follow_anew $port
            set link [give_dataset $snapshot $id 100]
            is_up [default_client]
            $link destroy
            lassign [next_replica] link
            $link write "+FULLRESYNC $id 200\r\n[framed [string range $snapshot 0 end-20] 1]"
            wait_for_condition 10 {![catch {r DBSIZE} size] && $size == 0}
            assert_equal {? -1} [asked_next]
            assert_equal OK [r SAVE]
            write_file [srv dir]/valkey.conf "[read_file [srv dir]/valkey.conf]\nreplica-announce-port $::announced\
                \nreplicaof 127.0.0.1 $port\n"
            restart_server
            assert_equal {? -1} [asked_next]
            $link destroy
        }

        test "... also for those who followed" {
            set link [give_dataset $snapshot $id 100]
            is_up [default_client]
            with_clients {c} {
                assert_equal "CONTINUE $id" [ask_psync $c $id 101]
                $link destroy
                lassign [next_replica] link
                $link write "+FULLRESYNC $id 200\r\n[framed [string range $snapshot 0 end-20] 1]"
                assert [$c closed_within 5000]
            }
            wait_for_condition 10 {![catch {r DBSIZE} size] && $size == 0}
            r REPLICAOF NO ONE
            with_clients {c} {assert_match "FULLRESYNC *" [ask_psync $c $id 101]}
            $link destroy
        }
        no_more_replicas
    }
}

start_server [list overrides [list {*}$quick repl-backlog-size 16kb]] {
    set port [listen_for_replicas]
    follow_anew $port
    set link [give_dataset $snapshot $id 100]
    is_up [default_client]

    # Nothing of it is applied before its EXEC, whatever its size.
    test "A transaction that is larger than the backlog, and cut off: nothing of it, and once more" {
        set transaction "[resp::encode {SELECT 0}][resp::encode MULTI]"
        for {set i 0} {$i < 100} {incr i} {append transaction [resp::encode [list SET key:$i [string repeat x 1000]]]}
        $link write $transaction
        wait_for_condition 10 {[repl_field [default_client] slave_read_repl_offset] == 100 + [string length $transaction]}
        assert_equal (nil) [r GET key:1]
        $link destroy
        lassign [next_replica] link asked_id offset
        assert_equal $id $asked_id
        $link write "+CONTINUE\r\n[string range $transaction $offset-101 end][resp::encode EXEC]"
        wait_for_condition 10 {[r EXISTS key:99] == 1}
        assert_equal [expr {100 + [string length "$transaction[resp::encode EXEC]"]}] \
            [repl_field [default_client] slave_repl_offset]
    }

    test "A replica of the replica that comes in the middle of a transaction that is cut off" {
        follow_anew $port
        $link destroy
        set link [give_dataset $snapshot $id 100]
        is_up [default_client]
        set piece "[resp::encode MULTI][resp::encode [list SET one [string repeat x 10000]]]"
        $link write $piece
        wait_for_condition 10 {[repl_field [default_client] slave_read_repl_offset] == 100 + [string length $piece]}
        with_clients {c} {
            assert_equal "CONTINUE $id" [ask_psync $c $id 101]
            $link destroy
            lassign [next_replica] link asked_id offset
            assert_equal 101 $offset
            set piece "[resp::encode {SELECT 0}][resp::encode [list SET two [string repeat y 40000]]]"
            $link write "+CONTINUE\r\n$piece"
            assert_equal $piece [$c raw_bytes [string length $piece]]
        }
    }
    $link destroy
    no_more_replicas
}

start_server [list overrides $quick] {
    test "Failed synchronizations in a row are those with one primary" {
        set port [listen_for_replicas]
        foreach primary {first second} {
            follow_anew $port
            foreach try {1 2} {
                lassign [next_replica] link
                $link write "+FULLRESYNC $id 100\r\n[string range [framed $snapshot 1] 0 100]"
                $link destroy
            }
            set times [expr {$primary eq "first" ? 1 : 2}]
            wait_for_condition 10 {
                [regexp -all {2 full synchronizations in a row have failed. Retrying in 2 seconds} [srv log]] == $times
            }
        }
        assert_no_match "*3 full synchronizations in a row*" [srv log]
    }
}
