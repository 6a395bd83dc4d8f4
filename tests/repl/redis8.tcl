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
    if {[$client EXISTS sent]} {
        set info [$client XINFO STREAM sent]
        lappend out [$client XRANGE sent - +] [lmap field {idmp-duration idmp-maxsize pids-tracked iids-tracked \
            iids-added iids-duplicates} {dict get $info $field}]
    }
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
        $primary XADD sent IDMP producer 1 * f v
        $primary XADD sent IDMP producer 2 * f v
        $primary XADD sent IDMP producer 2 * f v

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

        test "what it propagates of producers, deletion by groups and comparisons" {
            $primary XCFGSET sent IDMP-DURATION 500 IDMP-MAXSIZE 3
            foreach name {1 2 2 3 4 1} {$primary XADD sent NOMKSTREAM IDMP producer $name MAXLEN ~ 100 KEEPREF * f $name}
            $primary XADD sent IDMPAUTO other * f v g w
            $primary XADD sent IDMPAUTO other * g w f v
            $primary XIDMPRECORD sent third 1 [$primary XADD sent 99999999999999-1 f v]
            $primary XADD sent IDMP third 1 DELREF MAXLEN 3 * f v
            foreach id {4 5 6 7 8 9} {$primary XADD stream $id-1 f $id}
            $primary XREADGROUP GROUP group consumer COUNT 4 STREAMS stream >
            $primary XDELEX stream DELREF IDS 2 2-1 8-1
            $primary XDELEX stream ACKED IDS 2 3-1 9-1
            $primary XACKDEL stream group IDS 1 4-1
            $primary XACKDEL stream group DELREF IDS 1 5-1
            $primary XTRIM stream MAXLEN 3 DELREF
            $primary XADD stream ACKED MAXLEN 1 10-1 f v
            $primary XADD stream KEEPREF 11-1 f v
            $primary SET string changed IFEQ new
            $primary SET string changed-twice IFDEQ [$primary DIGEST string] EX 5000
            $primary SET other kept IFNE 1
            $primary DELEX other IFEQ 1
            $primary SET other again IFDNE 0000000000000000
            $primary DELEX other IFNE again
            $primary MSETEX 2 many 1 more 2 NX PX 5000000
            $primary BITOP DIFF many many more
            $primary XREADGROUP GROUP group other CLAIM 0 STREAMS stream >
            in_step $primary $replica
            assert_equal [held_by $primary] [held_by $replica]
            assert_equal {3 again changed-twice} [list [$replica EXISTS many more copy stream] {*}[$replica MGET other string]]
            assert_equal 0 [field_of [$replica INFO stats] unexpected_error_replies]
        }

        test "an entry that was sent before a failover is recognized after it" {
            set id [$primary XADD sent IDMP producer last * f v]
            set auto [$primary XADD sent IDMPAUTO producer * f v g w]
            in_step $primary $replica
            $replica REPLICAOF NO ONE
            assert_equal [list $id $auto] [list [$replica XADD sent IDMP producer last * f v] \
                [$replica XADD sent IDMPAUTO producer * g w f v]]
            follow $replica $port
            in_step $primary $replica
            assert_equal [held_by $primary] [held_by $replica]
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
