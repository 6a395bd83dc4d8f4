# extremes.tcl -- every setting of encodings at its limits: replies do not depend on the encoding.
#
# Random commands of each type are drawn once and run with the defaults; then again, from an empty dataset, at each
# limit of each setting, and without resizing of tables, as during a child process. All replies and the final digest
# must be those of the first run. Replies in arbitrary order are sorted first.
#
# Not here    the whole suite under such settings (tests/stress/extremes), which encoding it is (each type's file).
#
# SPDX-License-Identifier: BSD-3-Clause

set long [string repeat "long " 40]

proc below {n} {
    expr {int(rand() * $n)}
}

proc one_of {args} {
    lindex $args [below [llength $args]]
}

# Returns one of a few keys of that type.
proc key {type} {
    return $type:[below 3]
}

# Returns an element that affects encodings: small and wide numbers, short and long texts, one that only looks like a
# number.
proc element {} {
    switch [below 8] {
        0 - 1 - 2 { return [expr {[below 80] - 20}] }
        3 { return [expr {(1 << (8 * (1 + [below 7]))) - [below 3]}] }
        4 { return 00[below 9] }
        5 { return "$::long[below 20]" }
        default { return e[below 60] }
    }
}

proc elements {most} {
    set list {}
    for {set i [below $most]} {$i >= 0} {incr i -1} {
        lappend list [element]
    }
    return $list
}

# ---- A command of each type, drawn ----------------------------------------------------------------------------------

proc draw_list {} {
    set key [key list]
    set end [one_of LEFT RIGHT]
    set at [expr {[below 60] - 25}]
    switch [below 16] {
        0 - 1 - 2 { list RPUSH $key {*}[elements 30] }
        3 - 4 { list LPUSH $key {*}[elements 30] }
        5 { list [one_of LPOP RPOP] $key [below 8] }
        6 { list LSET $key $at [element] }
        7 { list LINSERT $key [one_of BEFORE AFTER] [element] [element] }
        8 { list LREM $key [expr {[below 7] - 3}] [element] }
        9 { list LTRIM $key [below 4] -[expr {1 + [below 4]}] }
        10 { list LINDEX $key $at }
        11 { list LPOS $key [element] RANK [one_of 1 -1 2] COUNT 0 }
        12 { list LMOVE $key [key list] $end [one_of LEFT RIGHT] }
        13 { list LMPOP 2 list:none $key $end COUNT [below 5] }
        default { list LRANGE $key $at [below 90] }
    }
}

proc draw_hash {} {
    set key [key hash]
    set pairs {}
    foreach field [elements 12] {
        lappend pairs $field [element]
    }
    switch [below 14] {
        0 - 1 - 2 { list HSET $key {*}$pairs }
        3 { list HSETNX $key [element] [element] }
        4 { list HDEL $key {*}[elements 6] }
        5 { list HINCRBY $key n[below 3] [below 1000] }
        6 { list HINCRBYFLOAT $key f[below 3] 0.25 }
        7 { list HMGET $key {*}[elements 6] }
        8 { list HSTRLEN $key [element] }
        9 { list HPEXPIREAT $key 99999999999999 FIELDS 1 [element] }
        10 { list HPERSIST $key FIELDS 1 [element] }
        11 { list HPEXPIRETIME $key FIELDS 2 [element] [element] }
        12 { list HGETDEL $key FIELDS 1 [element] }
        default { list [one_of HGETALL HKEYS HVALS HLEN] $key }
    }
}

proc draw_set {} {
    set key [key set]
    set other [key set]
    switch [below 14] {
        0 - 1 - 2 { list SADD $key {*}[elements 12] }
        3 { list SADD set:numbers [below 300] [below 70000] }
        4 { list SREM $key {*}[elements 12] }
        5 { list SMISMEMBER $key {*}[elements 6] }
        6 { list SMOVE $key $other [element] }
        7 { list [one_of SINTER SUNION SDIFF] $key $other set:numbers }
        8 { list [one_of SINTERSTORE SUNIONSTORE SDIFFSTORE] set:stored $key $other }
        9 { list SINTERCARD 2 $key $other }
        10 { list SREM set:numbers [below 300] }
        11 { list COPY $key set:stored REPLACE }
        default { list [one_of SMEMBERS SCARD] [one_of $key set:numbers set:stored] }
    }
}

proc draw_zset {} {
    set key [key zset]
    set other [key zset]
    set pairs {}
    foreach member [elements 12] {
        lappend pairs [one_of [below 20] 2.5 -1e30 [below 9]] $member
    }
    set low [below 12]
    switch [below 16] {
        0 - 1 - 2 { list ZADD $key {*}$pairs }
        3 { list ZADD $key [one_of GT LT NX XX] CH {*}$pairs }
        4 { list ZINCRBY $key [expr {1 + [below 5]}] [element] }
        5 { list ZREM $key {*}[elements 6] }
        6 { list ZPOPMIN $key [below 4] }
        7 { list [one_of ZRANK ZREVRANK] $key [element] WITHSCORE }
        8 { list ZRANGE $key $low [expr {$low + 6}] BYSCORE WITHSCORES }
        9 { list ZRANGE $key ($low -inf BYSCORE REV LIMIT 1 5 }
        10 { list ZREMRANGEBYSCORE $key $low ($low.5 }
        11 { list ZREMRANGEBYRANK $key $low [expr {$low + 1}] }
        12 { list [one_of ZUNIONSTORE ZINTERSTORE] zset:stored 2 $key $other WEIGHTS 1 2 AGGREGATE [one_of MIN MAX SUM] }
        13 { list ZMSCORE $key {*}[elements 6] }
        14 { list ZCOUNT $key ($low +inf }
        default { list ZRANGE [one_of $key zset:stored] 0 -1 WITHSCORES }
    }
}

proc draw_stream {} {
    set key [key stream]
    set id [below 900]
    switch [below 14] {
        0 - 1 - 2 - 3 { list XADD $key [incr ::stream_id]-1 same [element] fields [element] }
        4 { list XADD $key [incr ::stream_id]-1 [element] [element] }
        5 { list XDEL $key $id-1 [below 900]-1 }
        6 { list XTRIM $key MAXLEN = [expr {20 + [below 40]}] }
        7 { list XTRIM $key MINID = [expr {$::stream_id - 200}] }
        8 { list XGROUP CREATE $key group $id MKSTREAM }
        9 { list XREADGROUP GROUP group [one_of one two] COUNT 5 STREAMS $key > }
        10 { list XACK $key group $id-1 [below 900]-1 }
        11 { list XPENDING $key group - + 10 }
        12 { list XREVRANGE $key + - COUNT 7 }
        default { list [one_of XLEN XRANGE] $key }
    }
}

proc draw_hyperloglog {} {
    switch [below 5] {
        0 - 1 - 2 { list PFADD [key hll] {*}[elements 12] }
        3 { list PFMERGE hll:merged [key hll] [key hll] }
        4 { list PFCOUNT [key hll] hll:merged }
    }
}

proc complete {command} {
    if {[lindex $command 0] eq "XRANGE"} { lappend command - + }
    return $command
}

# ---- Both runs --------------------------------------------------------------------------------------------------------

proc run {commands} {
    set client [default_client]
    $client FLUSHALL
    $client pipeline $commands
    set replies {}
    foreach command $commands reply [$client replies [llength $commands]] {
        switch [lindex $command 0] {
            HGETALL { set reply [lsort -stride 2 $reply] }
            HKEYS - HVALS - SMEMBERS - SINTER - SUNION - SDIFF { set reply [lsort $reply] }
            XPENDING {
                # The time since delivery may differ.
                set reply [lmap entry $reply {lreplace $entry 2 2}]
            }
        }
        lappend replies $reply
    }
    # Delivery times are part of a digest, and so are the bytes of a HyperLogLog: compare only the contents.
    foreach number {0 1 2} {
        $client pipeline [list [list XGROUP DESTROY stream:$number group] [list PFDEBUG GETREG hll:$number] \
            [list DEL hll:$number]]
        lappend replies [lindex [$client replies 3] 1]
    }
    $client DEL hll:merged
    return [list $replies [$client DEBUG DIGEST]]
}

proc same_as_first {commands first name} {
    lassign $first replies digest
    lassign [run $commands] now digest_now
    foreach command [concat $commands {registers registers registers}] one $replies other $now {
        if {$one ne $other} {
            fail "$name: [shorten $command] gave '[shorten $one]', and now '[shorten $other]'"
        }
    }
    if {$digest ne $digest_now} {
        fail "$name: the same replies, and other content"
    }
}

set most 9223372036854775807
set ends {
    list {
        {list-max-listpack-size -1} {list-max-listpack-size -5} {list-max-listpack-size 0} {list-max-listpack-size 1}
        {list-max-listpack-size 2147483647} {list-max-listpack-size -2147483648}
        {list-max-listpack-size 1 list-compress-depth 1} {list-max-listpack-size 3 list-compress-depth 1}
        {list-max-listpack-size -1 list-compress-depth 2147483647}
    }
    hash {
        {hash-max-listpack-entries 0} {hash-max-listpack-entries 1} {hash-max-listpack-entries MOST}
        {hash-max-listpack-value 0} {hash-max-listpack-value 1} {hash-max-listpack-value MOST}
        {hash-max-listpack-entries MOST hash-max-listpack-value MOST}
    }
    set {
        {set-max-intset-entries 0} {set-max-intset-entries 1} {set-max-intset-entries MOST}
        {set-max-listpack-entries 0} {set-max-listpack-entries 1} {set-max-listpack-entries MOST}
        {set-max-listpack-value 0} {set-max-listpack-value 1} {set-max-listpack-value MOST}
        {set-max-intset-entries 0 set-max-listpack-entries 0} {set-max-intset-entries 1 set-max-listpack-entries 1}
        {set-max-intset-entries MOST set-max-listpack-entries MOST set-max-listpack-value MOST}
    }
    zset {
        {zset-max-listpack-entries 0} {zset-max-listpack-entries 1} {zset-max-listpack-entries MOST}
        {zset-max-listpack-value 0} {zset-max-listpack-value 1} {zset-max-listpack-value MOST}
        {zset-max-listpack-entries MOST zset-max-listpack-value MOST}
    }
    stream {
        {stream-node-max-entries 0} {stream-node-max-entries 1} {stream-node-max-entries MOST}
        {stream-node-max-bytes 0} {stream-node-max-bytes 1} {stream-node-max-bytes MOST}
        {stream-node-max-entries 0 stream-node-max-bytes 0}
    }
    hyperloglog {
        {hll-sparse-max-bytes 0} {hll-sparse-max-bytes 1} {hll-sparse-max-bytes MOST}
    }
}

start_server {} {
    foreach {type settings} $ends {
        expr {srand(11)}
        set stream_id 0
        set commands {}
        for {set i 0} {$i < 800} {incr i} {
            lappend commands [complete [draw_$type]]
        }
        set first [run $commands]

        test "The replies about a $type are the same at every end of its settings" {
            foreach pairs $settings {
                set pairs [string map [list MOST $most] $pairs]
                with_config $pairs {
                    same_as_first $commands $first $pairs
                }
            }
        }

        test "The replies about a $type are the same where tables may not resize" {
            foreach pairs {{} {hash-max-listpack-entries 0 set-max-intset-entries 0 set-max-listpack-entries 0
                               zset-max-listpack-entries 0}} {
                with_config [list rdbcompression yes {*}$pairs] {
                    r DEBUG DICT-RESIZING 0
                    same_as_first $commands $first "still tables"
                    r DEBUG DICT-RESIZING 1
                    # Tables that could not grow are resized now, with the same contents.
                    assert_equal [lindex $first 1] [r DEBUG DIGEST]
                }
            }
        }
    }

    test "A large table that could not grow is whole, and grows when it may" {
        with_config {hash-max-listpack-entries 0 set-max-intset-entries 0 set-max-listpack-entries 0
                     zset-max-listpack-entries 0} {
            r FLUSHALL
            r DEBUG DICT-RESIZING 0
            for {set i 0} {$i < 4000} {incr i} {
                lappend fields $i v$i
                lappend members $i
            }
            r HSET hash {*}$fields
            r SADD set {*}$members
            r ZADD zset {*}$fields
            foreach at {0 1 1234 3999} {
                assert_equal v$at [r HGET hash $at]
                assert_equal 1 [r SISMEMBER set $at]
                assert_equal $at [r ZSCORE zset v$at]
                assert_equal $at [r ZRANK zset v$at]
            }
            set digest [r DEBUG DIGEST]
            r DEBUG DICT-RESIZING 1
            r HDEL hash none
            r SREM set none
            r ZREM zset none
            assert_equal $digest [r DEBUG DIGEST]
            # Nearly emptied while tables may not shrink.
            r DEBUG DICT-RESIZING 0
            r HDEL hash {*}[lrange $members 10 end]
            r SREM set {*}[lrange $members 10 end]
            r ZREMRANGEBYRANK zset 10 -1
            r DEBUG DICT-RESIZING 1
            assert_equal {0 1 2 3 4 5 6 7 8 9} [lsort [r HKEYS hash]]
            assert_equal {0 1 2 3 4 5 6 7 8 9} [lsort [r SMEMBERS set]]
            assert_equal {v0 v1 v2 v3 v4 v5 v6 v7 v8 v9} [r ZRANGE zset 0 -1]
        }
    }
}
