# defrag.tcl -- active defragmentation: pages are freed, and no value changes, with any commands meanwhile.
#
# SPDX-License-Identifier: BSD-3-Clause

# Stores COUNT strings of SIZE bytes and deletes four fifths of them, spread out.
proc fill_and_thin_out {count size} {
    r DEBUG POPULATE $count k $size
    with_clients c {
        set deleted 0
        for {set i 0} {$i < $count} {incr i 1000} {
            set keys {}
            for {set j $i} {$j < $i + 1000} {incr j} {
                if {$j * 7919 % 10 < 8 || $j % 13 == 0} {lappend keys k:$j}
            }
            $c send UNLINK {*}$keys
            incr deleted
        }
        for {set i 0} {$i < $deleted} {incr i} {$c reply}
    }
}

# Stores a value of each type and encoding, under PREFIX:name.
proc fill_every_type {prefix} {
    set long [string repeat v 300]
    set commands [list [list SET $prefix:int 12345] [list SET $prefix:embstr short] [list SET $prefix:raw $long] \
        [list SET $prefix:volatile $long EX 10000] [list SADD $prefix:intset 1 2 3 4000] \
        [list SADD $prefix:set-listpack a b c] [list HSET $prefix:hash-listpack f v g w] \
        [list ZADD $prefix:zset-listpack 1 a 2 b] [list RPUSH $prefix:list-listpack a b c] \
        [list PFADD $prefix:hll a b c d e f] [list SETBIT $prefix:bits 100000 1]]
    for {set i 0} {$i < 1500} {incr i} {
        lappend commands [list SADD $prefix:set m:$i] [list HSET $prefix:hash f:$i $long f2:$i short] \
            [list ZADD $prefix:zset $i m:$i] [list RPUSH $prefix:list $long $i] [list XADD $prefix:stream * f $i g $long]
    }
    lappend commands [list HEXPIRE $prefix:hash 10000 FIELDS 3 f:1 f:2 f2:3] [list EXPIRE $prefix:zset 10000] \
        [list XGROUP CREATE $prefix:stream group 0] [list XREADGROUP GROUP group one COUNT 500 STREAMS $prefix:stream >]
    with_clients c {
        $c pipeline $commands
        foreach reply [$c replies [llength $commands]] {
            if {[string match "*ERR*" $reply]} {fail $reply}
        }
    }
}

proc defrag_hits {} {
    return [info_field active_defrag_hits stats]
}

proc wait_for_hits {count} {
    set from [defrag_hits]
    wait_for_condition 60 {[defrag_hits] > $from + $count}
}

set everything {active-defrag-all yes active-defrag-cycle-max 75 active-defrag-max-scan-fields 100}

start_server {each {r FLUSHALL; r CONFIG RESETSTAT}} {
    need_config active-defrag-all

    test "Where the allocator cannot tell what to move, activedefrag is refused" {
        if {[string match "jemalloc*" [info_field mem_allocator memory]]} {
            assert_equal OK [r CONFIG SET activedefrag yes]
            assert_equal OK [r CONFIG SET activedefrag no]
        } else {
            assert_error "*the allocator of this build cannot report which blocks to move*" {r CONFIG SET activedefrag yes}
            assert_equal no [config_value activedefrag]
        }
        assert_equal 0 [info_field active_defrag_running memory]
    }

    test "Four fifths of the keys go: fragmentation falls, the rest stays as it is" {
        if {![string match "jemalloc*" [info_field mem_allocator memory]]} {skip "libc's allocator"}
        fill_and_thin_out 300000 60
        set digest [r DEBUG DIGEST]
        set ::frag_before [info_field allocator_frag_bytes memory]
        assert {$::frag_before > 8000000}
        with_config {active-defrag-ignore-bytes 1mb active-defrag-threshold-lower 10 active-defrag-cycle-max 75
                     activedefrag yes} {
            wait_for_condition 60 {[info_field allocator_frag_bytes memory] < $::frag_before / 3}
            wait_for_condition 60 {[info_field active_defrag_running memory] == 0}
        }
        assert_equal $digest [r DEBUG DIGEST]
        assert {[defrag_hits] > 10000 && [info_field active_defrag_misses stats] > 0}
        assert {[info_field active_defrag_key_hits stats] > 10000 && [info_field active_defrag_key_misses stats] > 0}
        assert {[info_field total_active_defrag_time stats] > 0}
        assert_equal 0 [info_field current_active_defrag_time stats]
    }

    test "Below the thresholds nothing happens" {
        if {![string match "jemalloc*" [info_field mem_allocator memory]]} {skip "libc's allocator"}
        fill_and_thin_out 20000 60
        with_config {active-defrag-ignore-bytes 1000gb activedefrag yes} {
            after 1500
            assert_equal 0 [info_field active_defrag_running memory]
            assert_equal 0 [defrag_hits]
        }
    }

    test "Values of every type that all move are the same behind it" {
        fill_every_type a
        set digest [r DEBUG DIGEST]
        set pending [r XPENDING a:stream group]
        with_config $everything {
            with_config {activedefrag yes} {
                wait_for_condition 60 {[info_field active_defrag_running memory] > 0}
                wait_for_hits 40000
                assert {[info_field current_active_defrag_time stats] > 0}
            }
        }
        wait_for_condition 60 {[info_field active_defrag_running memory] == 0}
        assert_equal $digest [r DEBUG DIGEST]
        assert_equal $pending [r XPENDING a:stream group]
        assert_equal 1500 [r ZCARD a:zset]
        assert_equal {m:0 0} [r ZRANGE a:zset 0 0 WITHSCORES]
        assert_equal 700 [r ZRANK a:zset m:700]
        assert_equal 3 [llength [r HTTL a:hash FIELDS 3 f:1 f:2 f2:3]]
    }

    foreach threads {1 3} {
        test "Values change, expire and go while all of them move, $threads threads" {
            with_config [list io-threads $threads io-threads-always-active yes] {
                fill_every_type stays
                set digest [r DEBUG DIGEST]
                with_config $everything {
                    with_config {activedefrag yes} {
                        with_clients {a b c} {
                            for {set round 0} {$round < 30} {incr round} {
                                set value [string repeat $round 200]
                                set member m:[expr {$round * 13}]
                                foreach {client name} [list $a one $b two $c three] {
                                    $client pipeline [list \
                                        [list SET go:$name $value PX 30000] [list APPEND go:$name x] \
                                        [list HSET go:$name:h f:$round $value g short] \
                                        [list HPEXPIRE go:$name:h 1 FIELDS 1 g] [list HGET go:$name:h f:$round] \
                                        [list ZADD go:$name:z $round $member] [list ZINCRBY go:$name:z 1 $member] \
                                        [list SADD go:$name:s $member $value] [list SMOVE go:$name:s go:s $member] \
                                        [list RPUSH go:$name:l $value $round] [list LPOP go:$name:l] \
                                        [list XADD go:$name:x * f $value] [list XTRIM go:$name:x MAXLEN 10] \
                                        [list SUNIONSTORE go:$name:u stays:set go:$name:s] [list UNLINK go:$name:u] \
                                        [list GET go:$name] [list COPY stays:hash go:$name:copy REPLACE] \
                                        [list RENAME go:$name:copy go:copy]]
                                }
                                foreach client [list $a $b $c] {
                                    set replies [$client replies 18]
                                    assert_equal $value [lindex $replies 4]
                                    assert_equal ${value}x [lindex $replies 15]
                                    assert_equal OK [lindex $replies 17]
                                }
                            }
                        }
                        wait_for_hits 1000
                    }
                }
                r UNLINK {*}[r KEYS go:*]
                assert_equal $digest [r DEBUG DIGEST]
            }
        }
    }
}
