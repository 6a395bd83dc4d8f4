# redis8.tcl -- replicas of a Redis 8.6, which REDIS8_PEER names: its snapshot, with and without a disk, and its stream.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

if {![info exists env(REDIS8_PEER)]} {
    test "a replica of a Redis 8" {skip "REDIS8_PEER names none"}
    return
}

# Returns what both servers must hold: fields with their times, entries and what is pending, strings.
proc held_by {client} {
    set out [list [$client DBSIZE] [$client MGET string other]]
    foreach key {small large} {
        set fields [lsort [$client HKEYS $key]]
        lappend out $fields [$client HMGET $key {*}$fields] \
            [$client HPEXPIRETIME $key FIELDS [llength $fields] {*}$fields]
    }
    lappend out [$client XRANGE stream - +] [$client XPENDING stream group]
    return $out
}

start_server {} {
    set replica [default_client]
    set dir [make_server_dir]
    set port [free_port]
    set pid [exec $env(REDIS8_PEER) --port $port --save "" --dir $dir --repl-diskless-sync-delay 0 >$dir/stdout 2>@1 &]
    try {
        wait_for_condition 10 {![catch {RespClient new $port} primary] && ![catch {$primary PING}]}
        $primary HSET small a 1 b 2 c 3
        $primary HPEXPIREAT small 4102444800000 FIELDS 1 a
        for {set i 0} {$i < 600} {incr i} {$primary HSET large field:$i $i}
        $primary HPEXPIREAT large 4102444900000 FIELDS 2 field:1 field:2
        $primary XADD stream 1-1 f v
        $primary XADD stream 2-1 f w
        $primary XGROUP CREATE stream group 0
        $primary XREADGROUP GROUP group consumer COUNT 1 STREAMS stream >
        $primary SET string value

        foreach diskless {no yes} {
            foreach load {disabled swapdb flush-before-load} {
                test "a full synchronization, repl-diskless-sync $diskless there, repl-diskless-load $load here" {
                    $replica REPLICAOF NO ONE
                    $replica FLUSHALL
                    $replica DEBUG CHANGE-REPL-ID
                    $primary CONFIG SET repl-diskless-sync $diskless
                    $replica CONFIG SET repl-diskless-load $load
                    follow $replica $port
                    in_step $primary $replica
                    assert_equal [held_by $primary] [held_by $replica]
                    assert_equal 5 [$replica EXISTS small large stream string string]
                }
            }
        }

        test "what it propagates of commands on fields that expire, streams and several keys" {
            $primary HSETEX small EX 1000 FIELDS 1 b 5
            $primary HSETEX small FNX PX 2000000 FIELDS 1 d 6
            $primary HSETEX small KEEPTTL FIELDS 1 a 7
            $primary HGETEX small EX 3000 FIELDS 1 c
            $primary HPEXPIRE large 4000000 FIELDS 1 field:3
            $primary HPERSIST large FIELDS 1 field:1
            $primary HGETDEL large FIELDS 1 field:4
            $primary HEXPIRE large 0 FIELDS 1 field:5
            $primary XADD stream 3-1 f x
            $primary XREADGROUP GROUP group consumer STREAMS stream >
            $primary XACK stream group 1-1
            $primary MSETEX 2 string new other 1 EX 5000
            $primary RESTORE copy 0 [$primary DUMP small]
            $primary DELEX copy
            in_step $primary $replica
            assert_equal [held_by $primary] [held_by $replica]
            assert_equal 0 [field_of [$replica INFO stats] unexpected_error_replies]
        }

        test "a field that expires there is deleted here" {
            $primary HSETEX small PX 20 FIELDS 1 gone 1
            wait_for_condition 10 {[$primary HEXISTS small gone] eq "0"}
            wait_for_condition 10 {"gone" ni [$replica HKEYS small]}
        }

        test "the replica's own files have it all" {
            set before [held_by $replica]
            $replica REPLICAOF NO ONE
            assert_equal OK [$replica DEBUG RELOAD]
            assert_equal $before [held_by $replica]
        }
    } finally {
        exec kill -KILL $pid
    }
}
