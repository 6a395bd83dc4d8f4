# stream.tcl -- the commands of streams and of their groups, option by option and error by error.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}
set bad_id {ERR Invalid stream ID specified as stream command argument}

proc add_entries {key from to} {
    for {set i $from} {$i <= $to} {incr i} {
        r XADD $key $i-0 number $i
    }
}

# Returns the IDs in a reply of entries.
proc ids {entries} {
    lmap entry $entries {lindex $entry 0}
}

proc info_of {key field} {
    dict get [r XINFO STREAM $key] $field
}

proc group_of {key field {index 0}} {
    dict get [lindex [r XINFO GROUPS $key] $index] $field
}

proc numbers {last} {
    set all {}
    for {set i 1} {$i <= $last} {incr i} {
        lappend all $i
    }
    return $all
}

start_server {each {r FLUSHALL}} {

    # ---- XADD -------------------------------------------------------------------------------------------------

    test "XADD makes a stream and answers with the id" {
        assert_equal 1-1 [r XADD s 1-1 f v]
        assert_equal stream [r TYPE s]
        assert_equal stream [r OBJECT ENCODING s]
        assert_equal {{1-1 {f v}}} [r XRANGE s - +]
    }

    test "XADD keeps fields and values in order, also a field twice" {
        r XADD s 1-1 b 1 a 2 b 3
        assert_equal {{1-1 {b 1 a 2 b 3}}} [r XRANGE s - +]
    }

    test "XADD with an id of the server's counts up, also in one millisecond" {
        for {set i 0} {$i < 200} {incr i} {
            lappend made [r XADD s * f v]
        }
        assert_equal $made [lsort -dictionary -unique $made]
        assert_equal $made [ids [r XRANGE s - +]]
    }

    test "XADD goes on behind an id that is ahead of the clock" {
        r XADD s 99999999999999-7 f v
        assert_equal 99999999999999-8 [r XADD s * f v]
        r XADD s 99999999999999-18446744073709551615 f v
        assert_equal 100000000000000-0 [r XADD s * f v]
    }

    test "XADD counts the second part where it is left to it" {
        assert_equal 0-1 [r XADD s 0-* f v]
        assert_equal 5-0 [r XADD s 5-* f v]
        assert_equal 5-1 [r XADD s 5-* f v]
        assert_equal 6-0 [r XADD s 6 f v]
        r XADD s 6-18446744073709551615 f v
        assert_error "ERR The ID specified in XADD is equal or smaller than the target stream top item" {
            r XADD s 6-* f v
        }
    }

    test "XADD takes rising ids only" {
        r XADD s 5-5 f v
        foreach id {5-5 5-4 4-9 5 4-* 0-1} {
            assert_error "ERR The ID specified in XADD is equal or smaller than the target stream top item" {
                r XADD s $id f v
            }
        }
        assert_error "ERR The ID specified in XADD must be greater than 0-0" {r XADD s 0-0 f v}
        assert_error "ERR The ID specified in XADD must be greater than 0-0" {r XADD other 0 f v}
        assert_equal 1 [r XLEN s]
        assert_equal 0 [r EXISTS other]
    }

    test "XADD behind the largest id there can be is an error" {
        r XADD s 18446744073709551615-18446744073709551615 f v
        foreach id {* 18446744073709551615-* 18446744073709551615-18446744073709551615 1-1} {
            assert_error "ERR The stream has exhausted the last possible ID, unable to add more items" {
                r XADD s $id f v
            }
        }
    }

    foreach id {x 1-x 1-1-1 - + 1- -1 18446744073709551616 1-18446744073709551616 "" 1.5 "1 "} {
        test "XADD with the id '$id' is an error" {
            assert_error $bad_id {r XADD s $id f v}
            assert_equal 0 [r EXISTS s]
        }
    }

    test "XADD wants a value for each field" {
        foreach words {{1-1} {1-1 f} {1-1 f v g} {MAXLEN 5 1-1 f} {NOMKSTREAM 1-1}} {
            assert_error "ERR wrong number of arguments for 'xadd' command" {r XADD s {*}$words}
        }
    }

    test "XADD NOMKSTREAM makes no stream" {
        assert_equal "\$-1\r\n" [[default_client] raw XADD s NOMKSTREAM 1-1 f v]
        assert_equal 0 [r EXISTS s]
        r XADD s 1-1 f v
        assert_equal 2-1 [r XADD s NOMKSTREAM 2-1 f v]
    }

    test "XADD MAXLEN keeps the newest entries" {
        add_entries s 1 10
        assert_equal 11-0 [r XADD s MAXLEN 3 11-0 f v]
        assert_equal {9-0 10-0 11-0} [ids [r XRANGE s - +]]
        r XADD s MAXLEN = 1 12-0 f v
        assert_equal 12-0 [ids [r XRANGE s - +]]
        r XADD s MAXLEN 0 13-0 f v
        assert_equal 0 [r XLEN s]
        assert_equal 13-0 [info_of s last-generated-id]
    }

    test "XADD MINID keeps what is not below" {
        add_entries s 1 10
        r XADD s MINID 9 11-0 f v
        assert_equal {9-0 10-0 11-0} [ids [r XRANGE s - +]]
    }

    test "XADD of another type, of a bad option" {
        r SET s text
        assert_error $wrong_type {r XADD s 1-1 f v}
        assert_error $not_integer {r XADD t MAXLEN x 1-1 f v}
        assert_error "ERR The MAXLEN argument must be >= 0." {r XADD t MAXLEN -1 1-1 f v}
        assert_error "ERR The LIMIT argument must be >= 0." {r XADD t MAXLEN ~ 1 LIMIT -1 1-1 f v}
        assert_error "ERR syntax error, MAXLEN and MINID options at the same time are not compatible" {
            r XADD t MAXLEN 1 MINID 1 1-1 f v
        }
        assert_error "ERR syntax error, LIMIT cannot be used without the special ~ option" {
            r XADD t MAXLEN 1 LIMIT 1 1-1 f v
        }
        assert_error "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy" {
            r XADD t LIMIT 1 1-1 f v
        }
    }

    test "Values of any bytes, sizes and numbers come back as they were" {
        set values {}
        foreach n {0 127 128 -1 4095 4096 -4096 -4097 32767 32768 2147483648 -2147483649 9223372036854775807
                   9223372036854775808 -0 1.0x} {
            lappend values $n
        }
        foreach size {0 1 63 64 4095 4096 70000} {
            lappend values [string repeat x $size]
        }
        lappend values "a\0b\r\nc\xff"
        set i 0
        foreach v $values {
            r XADD s [incr i]-0 field $v
            r XADD s $i-1 $v value
        }
        set i 0
        foreach v $values {
            incr i
            assert_equal [list [list $i-0 [list field $v]] [list $i-1 [list $v value]]] [r XRANGE s $i $i]
        }
    }

    test "An entry of a thousand fields" {
        for {set i 0} {$i < 1000} {incr i} {
            lappend pairs field$i $i
        }
        r XADD s 1-1 {*}$pairs
        r XADD s 2-1 {*}$pairs
        assert_equal $pairs [lindex [r XRANGE s 2-1 2-1] 0 1]
    }

    # ---- Nodes ------------------------------------------------------------------------------------------------

    foreach {entries bytes} {0 0 1 4096 3 4096 100 4096 0 1 0 100 9223372036854775807 1} {
        test "Nodes of $entries entries and $bytes bytes at most hold what they are given" {
            r CONFIG SET stream-node-max-entries $entries stream-node-max-bytes $bytes
            for {set i 1} {$i <= 250} {incr i} {
                r XADD s $i-0 a $i b [string repeat v [expr {$i % 50}]]
            }
            assert_equal 250 [r XLEN s]
            assert_equal [ids [r XRANGE s - +]] [lreverse [ids [r XREVRANGE s + -]]]
            for {set i 1} {$i <= 250} {incr i 3} {
                assert_equal 1 [r XDEL s $i-0]
            }
            assert_equal 166 [llength [r XRANGE s - +]]
            assert_equal 100 [r XTRIM s MAXLEN 66]
            assert_equal 66 [llength [r XREVRANGE s + -]]
            set digest [r DEBUG DIGEST-VALUE s]
            r RESTORE t 0 [r DUMP s]
            assert_equal $digest [r DEBUG DIGEST-VALUE t]
            r COPY s u
            assert_equal $digest [r DEBUG DIGEST-VALUE u]
            r CONFIG SET stream-node-max-entries 100 stream-node-max-bytes 4096
        }
    }

    test "XINFO STREAM tells of nodes" {
        needs_free_encodings
        r CONFIG SET stream-node-max-entries 10
        add_entries s 1 95
        assert_equal 10 [info_of s radix-tree-keys]
        assert_equal 22 [info_of s radix-tree-nodes]
        r CONFIG SET stream-node-max-entries 100
    }

    # ---- XLEN, XRANGE, XREVRANGE ------------------------------------------------------------------------------

    test "XLEN counts entries" {
        assert_equal 0 [r XLEN s]
        add_entries s 1 3
        assert_equal 3 [r XLEN s]
    }

    test "XRANGE reads between two ids, both included" {
        add_entries s 1 9
        assert_equal {3-0 4-0 5-0} [ids [r XRANGE s 3 5]]
        assert_equal {3-0 4-0} [ids [r XRANGE s 3-0 (5-0]]
        assert_equal {4-0 5-0} [ids [r XRANGE s (3-0 5-0]]
        assert_equal {8-0 9-0} [ids [r XRANGE s 7-1 +]]
        assert_equal {1-0 2-0} [ids [r XRANGE s - 2-5]]
        assert_equal {} [r XRANGE s 5 3]
        assert_equal {} [r XRANGE s + -]
    }

    test "An id without a second part is the first of its millisecond at the start, the last at the end" {
        r XADD s 5-3 f v
        r XADD s 5-9 f v
        assert_equal {5-3 5-9} [ids [r XRANGE s 5 5]]
        assert_equal {5-9 5-3} [ids [r XREVRANGE s 5 5]]
    }

    test "XREVRANGE reads the other way" {
        add_entries s 1 9
        assert_equal {5-0 4-0 3-0} [ids [r XREVRANGE s 5 3]]
        assert_equal {9-0 8-0} [ids [r XREVRANGE s + - COUNT 2]]
    }

    test "COUNT ends a range; 0 or less is a null" {
        add_entries s 1 9
        assert_equal {1-0 2-0} [ids [r XRANGE s - + COUNT 2]]
        assert_equal "*-1\r\n" [[default_client] raw XRANGE s - + COUNT 0]
        assert_equal "*-1\r\n" [[default_client] raw XRANGE s - + COUNT -1]
        assert_equal "*0\r\n" [[default_client] raw XRANGE nothing - + COUNT 0]
    }

    test "XRANGE with bad arguments" {
        add_entries s 1 2
        assert_error $bad_id {r XRANGE s x +}
        assert_error $bad_id {r XRANGE s - (+}
        assert_error $syntax {r XRANGE s - + COUNT}
        assert_error $syntax {r XRANGE s - + NOPE 1}
        assert_error $not_integer {r XRANGE s - + COUNT x}
        assert_error "ERR invalid start ID for the interval" {
            r XRANGE s (18446744073709551615-18446744073709551615 +
        }
        assert_error "ERR invalid end ID for the interval" {r XRANGE s - (0-0}
        r SET s text
        assert_error $wrong_type {r XRANGE s - +}
        assert_error $wrong_type {r XLEN s}
    }

    # ---- XDELEX XACKDEL, and trimming that regards groups -----------------------------------------------------

    test "XDELEX deletes entries, with DELREF also where they are pending" {
        need_command XDELEX
        add_entries s 1 5
        foreach group {g h} {
            r XGROUP CREATE s $group 0
            r XREADGROUP GROUP $group c COUNT 3 STREAMS s >
        }
        assert_equal {1 -1} [r XDELEX s IDS 2 1-0 9-0]
        assert_equal {1 1 -1} [r XDELEX s DELREF IDS 3 2-0 4-0 2-0]
        assert_equal {3-0 5-0} [ids [r XRANGE s - +]]
        assert_equal {1-0 3-0} [list [lindex [r XPENDING s g] 1] [lindex [r XPENDING s h] 2]]
        assert_equal {-1 -1} [r XDELEX nothing IDS 2 1-0 x]
    }

    test "XDELEX with ACKED leaves what a group has not read or not acknowledged" {
        need_command XDELEX
        add_entries s 1 5
        foreach group {g h} {r XGROUP CREATE s $group 0}
        r XREADGROUP GROUP g c COUNT 4 STREAMS s >
        r XREADGROUP GROUP h c COUNT 3 STREAMS s >
        r XACK s g 1-0 2-0 4-0
        r XACK s h 2-0 3-0
        assert_equal {2 1 2 2 2} [r XDELEX s ACKED IDS 5 1-0 2-0 3-0 4-0 5-0]
        r XGROUP DESTROY s g
        r XGROUP DESTROY s h
        assert_equal {1 -1} [r XDELEX s ACKED IDS 2 1-0 1-0]
    }

    test "XACKDEL acknowledges for one group and deletes" {
        need_command XACKDEL
        add_entries s 1 4
        foreach group {g h} {
            r XGROUP CREATE s $group 0
            r XREADGROUP GROUP $group c COUNT 3 STREAMS s >
        }
        assert_equal {1 -1 -1} [r XACKDEL s g IDS 3 1-0 1-0 4-0]
        assert_equal {2 -1} [r XACKDEL s g ACKED IDS 2 2-0 2-0]
        assert_equal {1 1} [r XACKDEL s h ACKED IDS 2 2-0 1-0]
        assert_equal 1 [r XACKDEL s g DELREF IDS 1 3-0]
        assert_equal {0 0 1} [list [lindex [r XPENDING s g] 0] [lindex [r XPENDING s h] 0] [r XLEN s]]
        assert_equal {-1 -1} [list [r XACKDEL s nogroup IDS 1 x] [r XACKDEL nothing g IDS 1 x]]
    }

    test "XDELEX and XACKDEL check their arguments before they delete" {
        need_command XDELEX
        add_entries s 1 2
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r RPUSH list a
        foreach {words error} [list {IDS 2 1-0 x} $bad_id {IDS 0 1-0} "ERR Number of IDs must be a positive integer" \
            {IDS x 1-0} "ERR Number of IDs must be a positive integer" \
            {IDS 2 1-0} "ERR The `numids` parameter must match the number of arguments" \
            {IDS 1 1-0 2-0} "ERR syntax error" {ACKED DELREF IDS 1 1-0} "ERR syntax error" \
            {IDS 1 1-0 KEEPREF KEEPREF} "ERR syntax error" {FORCE IDS 1 1-0} "ERR syntax error"] {
            assert_error $error {r XDELEX s {*}$words}
            assert_error $error {r XACKDEL s g {*}$words}
            assert_error WRONGTYPE* {r XDELEX list {*}$words}
        }
        assert_equal {2 2} [list [r XLEN s] [lindex [r XPENDING s g] 0]]
    }

    test "Ten thousand ids of XACKDEL" {
        need_command XACKDEL
        add_entries s 1 100
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        set found [r XACKDEL s g IDS 10000 {*}[lmap n [numbers 10000] {expr {"$n-0"}}]]
        assert_equal {10000 1 -1} [list [llength $found] [lindex $found 0] [lindex $found end]]
        assert_equal 0 [r XLEN s]
    }

    test "XTRIM and XADD with ACKED trim between entries that groups refer to" {
        need_command XDELEX
        add_entries s 1 6
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 4 STREAMS s >
        r XACK s g 2-0 4-0
        assert_equal 1 [r XTRIM s ACKED MAXLEN 5]
        assert_equal {1-0 3-0 4-0 5-0 6-0} [ids [r XRANGE s - +]]
        r XADD s MAXLEN 0 ACKED 7-0 f v
        assert_equal {1-0 3-0 5-0 6-0 7-0} [ids [r XRANGE s - +]]
        r XACK s g 1-0 3-0
        assert_equal 1 [r XTRIM s MINID 3 ACKED]
        assert_equal {3-0 5-0 6-0 7-0} [ids [r XRANGE s - +]]
    }

    test "XTRIM and XADD with DELREF remove pending entries, with KEEPREF they stay" {
        need_command XDELEX
        add_entries s 1 6
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 5 STREAMS s >
        assert_equal 1 [r XTRIM s MAXLEN 5 KEEPREF]
        assert_equal 1 [r XTRIM s MAXLEN 4 DELREF]
        r XADD s DELREF MAXLEN ~ 3 7-0 f v
        assert_equal {5-0 6-0 7-0} [ids [r XRANGE s - +]]
        assert_equal {2 1-0 5-0} [lrange [r XPENDING s g] 0 2]
        assert_error "ERR syntax error" {r XTRIM s MAXLEN 1 DELREF ACKED}
        assert_error $bad_id {r XADD s DELREF ACKED 9-0 f v}
    }

    # ---- XREADGROUP with CLAIM ----------------------------------------------------------------------------------

    # Returns each entry of a reply of one stream, with zero in place of the time that it was idle.
    proc claimed {reply} {
        lmap entry [lindex $reply 0 1] {list [lindex $entry 0] [expr {[lindex $entry 2] >= 0}] [lindex $entry 3]}
    }

    test "XREADGROUP with CLAIM reads idle entries before new ones" {
        need_command XCFGSET
        add_entries s 1 4
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g a COUNT 2 STREAMS s >
        assert_equal {{3-0 1 0}} [claimed [r XREADGROUP GROUP g b CLAIM 100000 COUNT 1 STREAMS s >]]
        after 30
        assert_equal {{1-0 1 1} {2-0 1 1}} [claimed [r XREADGROUP GROUP g b CLAIM 20 COUNT 2 STREAMS s >]]
        assert_equal {4 1-0 4-0 {{b 4}}} [lrange [concat [r XREADGROUP GROUP g b CLAIM 10000 STREAMS s >] \
            [r XPENDING s g]] end-3 end]
        r XDEL s 2-0
        assert_equal {{1-0 1 2} {3-0 1 1} {4-0 1 1}} [lsort [claimed [r XREADGROUP GROUP g c CLAIM 0 NOACK STREAMS s >]]]
        assert_equal {{b 1} {c 3}} [lindex [r XPENDING s g] 3]
        assert_equal {{{1-0 {number 1}}}} [lmap found [r XREADGROUP GROUP g c CLAIM 0 COUNT 1 STREAMS s 0] {lindex $found 1}]
        assert_equal (nil) [r XREADGROUP GROUP g c CLAIM 9223372036854775807 STREAMS s >]
    }

    test "XREADGROUP with CLAIM takes those first that were delivered first" {
        need_command XCFGSET
        add_entries s 1 300
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g a STREAMS s >
        foreach {id idle} {7 5000 200 9000 30 7000 299 6000 1 8000} {r XCLAIM s g a 0 $id-0 IDLE $idle}
        assert_equal {200-0 1-0 30-0} [ids [lindex [r XREADGROUP GROUP g b CLAIM 4000 COUNT 3 STREAMS s >] 0 1]]
        assert_equal {299-0 7-0} [ids [lindex [r XREADGROUP GROUP g b CLAIM 4000 COUNT 3 STREAMS s >] 0 1]]
    }

    test "XREADGROUP with CLAIM and BLOCK waits until an entry is idle, or there is a new one" {
        need_command XCFGSET
        add_entries s 1 1
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g a STREAMS s >
        set begin [clock milliseconds]
        assert_equal {{1-0 1 1}} [claimed [r XREADGROUP GROUP g b CLAIM 200 BLOCK 60000 STREAMS s >]]
        assert {[clock milliseconds] - $begin < 30000}
        with_clients {c d} {
            waits $c XREADGROUP GROUP g c CLAIM 100000 BLOCK 60000 STREAMS s >
            # On a busy machine it is served before a test would see it blocked.
            $d send XREADGROUP GROUP g d CLAIM 300 BLOCK 60000 STREAMS s >
            r XADD s 2-0 f v
            assert_equal {{2-0 1 0}} [claimed [$c reply]]
            assert_equal {1-0 1 2} [lindex [claimed [$d reply]] 0]
            $c send XREADGROUP GROUP g c CLAIM 100000 BLOCK 50 STREAMS s >
            assert_equal (nil) [$c reply]
        }
    }

    test "XREADGROUP with CLAIM checks its arguments" {
        need_command XCFGSET
        add_entries s 1 1
        r XGROUP CREATE s g 0
        foreach value {x 1.5 99999999999999999999} {
            assert_error "ERR min-idle-time is not an integer or out of range" {r XREADGROUP GROUP g a CLAIM $value STREAMS s >}
        }
        assert_error "ERR min-idle-time must be a positive integer" {r XREADGROUP GROUP g a CLAIM -1 STREAMS s >}
        assert_error "ERR The CLAIM option is only supported by XREADGROUP. You called XREAD instead." \
            {r XREAD CLAIM 1 STREAMS s 0}
    }

    # ---- Producers: XADD with IDMP and IDMPAUTO, XCFGSET, XIDMPRECORD -----------------------------------------

    test "XADD with IDMP adds an entry once for each producer and name" {
        need_command XCFGSET
        set id [r XADD s IDMP p 1 * f v]
        assert_equal $id [r XADD s NOMKSTREAM IDMP p 1 MAXLEN 0 * g w]
        set other [r XADD s IDMP p 2 * f v]
        set third [r XADD s IDMP q 1 MAXLEN 2 * f v]
        assert_equal [list $other $third] [ids [r XRANGE s - +]]
        r XDEL s $other
        assert_equal $other [r XADD s IDMP p 2 * f v]
        assert_equal {100 100 2 3 3 2} [lmap field {idmp-duration idmp-maxsize pids-tracked iids-tracked iids-added \
            iids-duplicates} {info_of s $field}]
        assert_equal (nil) [r XADD none NOMKSTREAM IDMP p 1 * f v]
        assert_equal 0 [r EXISTS none]
    }

    test "XADD with IDMPAUTO recognizes the same fields in any order" {
        need_command XCFGSET
        set id [r XADD s IDMPAUTO p * a 1 b 2]
        assert_equal $id [r XADD s IDMPAUTO p * b 2 a 1]
        foreach other {{a 1 b 3} {a 1} {a 2 b 1} {a 1 b 2 b 2} {a1 "" b 2} {a 1b b 2}} {
            assert {[r XADD s IDMPAUTO p * {*}$other] ne $id}
        }
        assert {[r XADD s IDMPAUTO q * a 1 b 2] ne $id}
        assert_equal 8 [r XLEN s]
    }

    test "An entry is recognized for the duration after the time of its ID" {
        need_command XCFGSET
        r XADD s 1-1 f v
        r XADD s IDMP p 1 * f v
        r XCFGSET s IDMP-DURATION 1
        assert_equal 0 [info_of s iids-tracked]
        set id [r XADD s IDMP p 1 * f v]
        assert_equal $id [r XADD s IDMP p 1 * f v]
        wait_for_condition 10 {[r XADD s IDMP p 1 * f v] ne $id}
        r XIDMPRECORD s old 1 1-1
        assert_equal {1 1} [list [info_of s iids-tracked] [info_of s pids-tracked]]
        assert {[r XADD s IDMP old 1 * f v] ne "1-1"}
    }

    test "Of each producer as many entries are recognized as XCFGSET says" {
        need_command XCFGSET
        r XADD s 1-1 f v
        r XCFGSET s IDMP-MAXSIZE 2
        foreach name {1 2 3} {set sent($name) [r XADD s IDMP p $name * f v]}
        r XADD s IDMP q 1 * f v
        assert_equal $sent(2) [r XADD s IDMP p 2 * f v]
        assert {[r XADD s IDMP p 1 * f v] ne $sent(1)}
        assert {[r XADD s IDMP p 2 * f v] ne $sent(2)}
        assert_equal {2 3} [list [info_of s pids-tracked] [info_of s iids-tracked]]
    }

    test "XCFGSET forgets what was sent only if a limit changes" {
        need_command XCFGSET
        set id [r XADD s IDMP p 1 * f v]
        assert_equal OK [r XCFGSET s IDMP-DURATION 100 IDMP-MAXSIZE 100]
        assert_equal $id [r XADD s IDMP p 1 * f v]
        assert_equal OK [r XCFGSET s idmp-maxsize 99]
        assert {[r XADD s IDMP p 1 * f v] ne $id}
        assert_equal {100 99} [list [info_of s idmp-duration] [info_of s idmp-maxsize]]
    }

    test "Streams take their limits from the settings when the first producer is named" {
        need_command XCFGSET
        r CONFIG SET stream-idmp-duration 7 stream-idmp-maxsize 1
        r XADD s IDMP p 1 * f v
        r CONFIG SET stream-idmp-duration 100 stream-idmp-maxsize 100
        assert_equal {7 1} [list [info_of s idmp-duration] [info_of s idmp-maxsize]]
        assert_error "*must be between 1 and 86400*" {r CONFIG SET stream-idmp-duration 86401}
        assert_error "*must be between 1 and 10000*" {r CONFIG SET stream-idmp-maxsize 0}
    }

    test "XADD with a producer checks its arguments before it adds" {
        need_command XCFGSET
        set twice "ERR syntax error, IDMP/IDMPAUTO specified multiple times"
        set not_auto "ERR syntax error, IDMP/IDMPAUTO can be used only with auto-generated IDs"
        foreach {words error} [list {IDMP p 1 IDMP p 1 * f v} $twice {IDMPAUTO p IDMP p 1 * f v} $twice \
            {IDMP p 1 1-1 f v} $not_auto {IDMP p 1 1-* f v} $not_auto {IDMPAUTO p 1-1 f} $not_auto \
            {IDMP {} 1 * f v} "ERR syntax error, IDMP requires a non-empty producer ID" \
            {IDMP p {} * f v} "ERR syntax error, IDMP requires a non-empty idempotent ID" \
            {IDMPAUTO {} * f v} "ERR syntax error, IDMPAUTO requires a non-empty producer ID" \
            {IDMP p 1 * f} "ERR wrong number of arguments for 'xadd' command" {IDMP p * f v} $bad_id] {
            assert_error $error {r XADD s {*}$words}
        }
        assert_equal 0 [r EXISTS s]
        r SET text v
        assert_error $wrong_type {r XADD text IDMP p 1 * f v}
    }

    test "XCFGSET and XIDMPRECORD check their arguments before they change" {
        need_command XCFGSET
        set none "ERR no such key"
        assert_error $none {r XCFGSET s IDMP-DURATION x}
        assert_error $none {r XIDMPRECORD s p 1 1-1}
        r XADD s 1-1 f v
        r XADD s 2-1 f v
        foreach {words error} [list {} "ERR At least one parameter must be specified" {IDMP-MAXSIZE} $syntax \
            {IDMP-DURATION 0} "ERR IDMP-DURATION must be between 1 and 86400 seconds" {OTHER 1} $syntax \
            {IDMP-MAXSIZE 10001} "ERR IDMP-MAXSIZE must be between 1 and 10000 entries" \
            {IDMP-MAXSIZE 5 IDMP-DURATION x} $not_integer {IDMP-MAXSIZE 5 OTHER} $syntax \
            {IDMP-MAXSIZE 5 IDMP-MAXSIZE 6} "ERR IDMP-MAXSIZE specified multiple times"] {
            assert_error $error {r XCFGSET s {*}$words}
        }
        foreach {words error} [list {{} 1 1-1} "ERR producer ID must be non-empty" {p 1 x} $bad_id \
            {{} {} x} $bad_id {p {} 1-1} "ERR idempotent ID must be non-empty" {p 1 3-1} "ERR No such message in stream"] {
            assert_error $error {r XIDMPRECORD s {*}$words}
        }
        assert_equal {OK OK} [list [r XIDMPRECORD s p 1 1-1] [r XIDMPRECORD s p 1 1-1]]
        set other_id "ERR IID already exists for this producer with a different stream ID"
        assert_error $other_id {r XIDMPRECORD s p 1 2-1}
        assert_equal 1 [info_of s iids-added]
        r SET text v
        assert_error $wrong_type {r XCFGSET text}
        assert_error $wrong_type {r XIDMPRECORD text p 1 1-1}
    }

    test "COPY, RENAME, DUMP and RELOAD keep what producers have sent, and plain streams are dumped as before" {
        need_command XCFGSET
        set id [r XADD s IDMP p [string repeat n 300] * f v]
        r XCFGSET s IDMP-DURATION 1000 IDMP-MAXSIZE 7
        set id [r XADD s IDMP p [string repeat n 300] * f v]
        set before [r MEMORY USAGE s]
        r XADD s IDMP q [string repeat n 3000] * f v
        assert {[r MEMORY USAGE s] > $before + 3000}
        r COPY s copied
        r RESTORE restored 0 [r DUMP s]
        r RENAME s renamed
        if {![catch {r DEBUG RELOAD} error]} {assert_equal OK $error}
        foreach key {copied restored renamed} {
            assert_equal $id [r XADD $key IDMP p [string repeat n 300] * f v]
            assert_equal {2 1000 7 3 1} [lmap field {iids-tracked idmp-duration idmp-maxsize iids-added \
                iids-duplicates} {info_of $key $field}]
        }
        r XADD plain 1-1 f v
        assert_equal "\x15" [string index [r DUMP plain] 0]
        assert {![dict exists [r XINFO STREAM plain] idmp-duration]}
    }

    # ---- XDEL -------------------------------------------------------------------------------------------------

    test "XDEL deletes entries and counts those that were there" {
        add_entries s 1 5
        assert_equal 2 [r XDEL s 2 4-0 4-0 9-9]
        assert_equal {1-0 3-0 5-0} [ids [r XRANGE s - +]]
        assert_equal {5-0 3-0 1-0} [ids [r XREVRANGE s + -]]
        assert_equal 4-0 [info_of s max-deleted-entry-id]
        assert_equal 0 [r XDEL nothing 1]
    }

    test "XDEL of a bad id deletes nothing" {
        add_entries s 1 5
        assert_error $bad_id {r XDEL s 1 2 x}
        assert_equal 5 [r XLEN s]
    }

    test "A stream whose entries have all gone stays, with its last id" {
        add_entries s 1 3
        r XDEL s 1 2 3
        assert_equal 1 [r EXISTS s]
        assert_equal 0-0 [info_of s recorded-first-entry-id]
        assert_error "ERR The ID specified in XADD is equal or smaller*" {r XADD s 3-0 f v}
        assert_equal 3-1 [r XADD s 3-1 f v]
    }

    # ---- XTRIM ------------------------------------------------------------------------------------------------

    test "XTRIM by one goes through large nodes: counts of deleted entries outgrow their bytes, entries are missing" {
        r CONFIG SET stream-node-max-entries 400
        for {set i 1} {$i <= 1000} {incr i} {
            lappend adds [list XADD key $i-1 f $i]
        }
        [default_client] pipeline $adds
        [default_client] replies 1000
        # Entries 3, 6, 9 ... are deleted.
        r XDEL key {*}[lmap n [numbers 999] {expr {$n % 3 ? [continue] : "$n-1"}}]
        set length [r XLEN key]
        set first 1
        while {$length > 2} {
            incr length -1
            incr first [expr {$first % 3 == 2 ? 2 : 1}]
            if {$first % 2} {
                assert_equal 1 [r XTRIM key MAXLEN $length]
            } else {
                assert_equal 1 [r XTRIM key MINID $first]
            }
            assert_equal [list [list $first-1 [list f $first]]] [r XRANGE key - + COUNT 1]
            assert_equal $first-1 [dict get [r XINFO STREAM key] recorded-first-entry-id]
        }
        assert_equal 2 [r XLEN key]
        r CONFIG SET stream-node-max-entries 100
    }

    test "XTRIM says how many entries have gone" {
        add_entries s 1 10
        assert_equal 0 [r XTRIM s MAXLEN 10]
        assert_equal 4 [r XTRIM s MAXLEN = 6]
        assert_equal {5-0 6-0 7-0 8-0 9-0 10-0} [ids [r XRANGE s - +]]
        assert_equal 0 [r XTRIM s MINID 5]
        assert_equal 2 [r XTRIM s MINID 7-0]
        assert_equal 0-0 [info_of s max-deleted-entry-id]
        assert_equal 7-0 [info_of s recorded-first-entry-id]
        assert_equal 0 [r XTRIM nothing MAXLEN 0]
    }

    test "XTRIM MINID never drops what is not below, however far apart ids are" {
        r XADD s 1-0 f v
        r XADD s 5000000000-0 f v
        r XADD s 9000000000000000000-18446744073709551615 f v
        r XADD s 18446744073709551615-0 f v
        assert_equal 1 [r XTRIM s MINID 5000000000]
        assert_equal 0 [r XTRIM s MINID = 5000000000-0]
        assert_equal 1 [r XTRIM s MINID 9000000000000000000-18446744073709551615]
        assert_equal 2 [r XLEN s]
    }

    test "XTRIM about drops whole nodes, within LIMIT" {
        needs_free_encodings
        r CONFIG SET stream-node-max-entries 10
        add_entries s 1 100
        assert_equal 60 [r XTRIM s MAXLEN ~ 35]
        assert_equal 20 [r XTRIM s MAXLEN ~ 0 LIMIT 25]
        assert_equal 0 [r XTRIM s MAXLEN ~ 0 LIMIT 5]
        assert_equal 10 [r XTRIM s MINID ~ 95]
        assert_equal 10 [r XLEN s]
        assert_equal 10 [r XTRIM s MAXLEN ~ 0 LIMIT 0]
        r CONFIG SET stream-node-max-entries 100
    }

    test "XTRIM with bad arguments" {
        add_entries s 1 2
        assert_error "ERR wrong number of arguments for 'xtrim' command" {r XTRIM s MAXLEN}
        assert_error $syntax {r XTRIM s NOPE 1}
        assert_error $syntax {r XTRIM s MAXLEN 1 2}
        assert_error $syntax {r XTRIM s NOMKSTREAM MAXLEN 1}
        assert_error $not_integer {r XTRIM s MAXLEN x}
        assert_error $bad_id {r XTRIM s MINID x}
        assert_error "ERR The MAXLEN argument must be >= 0." {r XTRIM s MAXLEN -1}
        assert_error "ERR syntax error, LIMIT cannot be used without specifying a trimming strategy" {r XTRIM s LIMIT 1}
        r SET t text
        assert_error $wrong_type {r XTRIM t MAXLEN 1}
    }

    # ---- XSETID -----------------------------------------------------------------------------------------------

    test "XSETID says what was last, and what was counted" {
        add_entries s 1 3
        assert_equal OK [r XSETID s 9-9]
        assert_equal 9-9 [info_of s last-generated-id]
        assert_equal OK [r XSETID s 9-9 ENTRIESADDED 100 MAXDELETEDID 5]
        assert_equal 100 [info_of s entries-added]
        assert_equal 5-0 [info_of s max-deleted-entry-id]
        assert_equal OK [r XSETID s 9-9 MAXDELETEDID 0]
        assert_equal 5-0 [info_of s max-deleted-entry-id]
    }

    test "XSETID with bad arguments" {
        add_entries s 1 3
        assert_error "ERR no such key" {r XSETID nothing 1}
        assert_error $bad_id {r XSETID s x}
        assert_error $syntax {r XSETID s 9 ENTRIESADDED}
        assert_error $syntax {r XSETID s 9 NOPE 1}
        assert_error $not_integer {r XSETID s 9 ENTRIESADDED x}
        assert_error "ERR entries_added must be positive" {r XSETID s 9 ENTRIESADDED -1}
        assert_error "ERR The ID specified in XSETID is smaller than the target stream top item" {r XSETID s 2}
        assert_error "ERR The entries_added specified in XSETID is smaller than the target stream length" {
            r XSETID s 9 ENTRIESADDED 2
        }
        assert_error "ERR The ID specified in XSETID is smaller than the provided max_deleted_entry_id" {
            r XSETID s 9 MAXDELETEDID 10
        }
        r XSETID s 9 MAXDELETEDID 8
        assert_error "ERR The ID specified in XSETID is smaller than current max_deleted_entry_id" {r XSETID s 7}
        assert_equal OK [r XSETID s 8]
        assert_equal OK [r XSETID s 8 ENTRIESADDED 3 MAXDELETEDID 8]
        r SET t text
        assert_error $wrong_type {r XSETID t 1}
    }

    # ---- XREAD ------------------------------------------------------------------------------------------------

    test "XREAD reads what comes behind an id, of several streams" {
        add_entries s 1 4
        add_entries t 1 4
        assert_equal {{s {{4-0 {number 4}}}} {t {{3-0 {number 3}} {4-0 {number 4}}}}} [r XREAD STREAMS s t 3 2]
        assert_equal {{t {{1-0 {number 1}}}}} [r XREAD COUNT 1 STREAMS s nothing t $ 0 0]
        assert_equal "*-1\r\n" [[default_client] raw XREAD STREAMS s t 4 $]
        assert_equal "*-1\r\n" [[default_client] raw XREAD STREAMS nothing 0]
    }

    test "XREAD + reads the last entry" {
        add_entries s 1 4
        assert_equal {{s {{4-0 {number 4}}}}} [r XREAD STREAMS s +]
        assert_equal "*-1\r\n" [[default_client] raw XREAD STREAMS nothing +]
    }

    test "XREAD in RESP3 is a map, and null where there is nothing" {
        add_entries s 1 1
        r HELLO 3
        assert_equal "%1\r\n\$1\r\ns\r\n*1\r\n*2\r\n\$3\r\n1-0\r\n*2\r\n\$6\r\nnumber\r\n\$1\r\n1\r\n" \
            [[default_client] raw XREAD STREAMS s 0]
        assert_equal "_\r\n" [[default_client] raw XREAD STREAMS s 1]
        r HELLO 2
    }

    test "XREAD COUNT of 0 or less is no bound" {
        add_entries s 1 4
        assert_equal 4 [llength [lindex [r XREAD COUNT 0 STREAMS s 0] 0 1]]
        assert_equal 4 [llength [lindex [r XREAD COUNT -7 STREAMS s 0] 0 1]]
    }

    test "XREAD BLOCK with something to read reads it" {
        add_entries s 1 2
        assert_equal {{s {{2-0 {number 2}}}}} [r XREAD BLOCK 0 STREAMS s 1]
        assert_error "ERR timeout is negative" {r XREAD BLOCK -1 STREAMS s 0}
        assert_error "ERR timeout is not an integer or out of range" {r XREAD BLOCK x STREAMS s 0}
    }

    test "XREAD with bad arguments" {
        add_entries s 1 2
        assert_error $syntax {r XREAD NOPE STREAMS s 0}
        assert_error $syntax {r XREAD COUNT 1 STREAMS}
        assert_error $not_integer {r XREAD COUNT x STREAMS s 0}
        assert_error $bad_id {r XREAD STREAMS s x}
        assert_error "ERR Unbalanced 'xread' list of streams: for each stream key an ID or '\$' must be specified." {
            r XREAD STREAMS s t 0
        }
        assert_error "ERR The > ID can be specified only when calling XREADGROUP using the GROUP*" {
            r XREAD STREAMS s >
        }
        assert_error "ERR The GROUP option is only supported by XREADGROUP. You called XREAD instead." {
            r XREAD GROUP g c STREAMS s 0
        }
        assert_error "ERR The NOACK option is only supported by XREADGROUP. You called XREAD instead." {
            r XREAD NOACK STREAMS s 0
        }
        r SET t text
        assert_error $wrong_type {r XREAD STREAMS s t 0 0}
    }

    # ---- XGROUP -----------------------------------------------------------------------------------------------

    test "XGROUP CREATE makes a group that reads behind an id" {
        add_entries s 1 5
        assert_equal OK [r XGROUP CREATE s g 3]
        assert_equal {4-0 5-0} [ids [lindex [r XREADGROUP GROUP g c STREAMS s >] 0 1]]
        assert_equal OK [r XGROUP CREATE s h $]
        assert_equal 5-0 [group_of s last-delivered-id 1]
        assert_error "BUSYGROUP Consumer Group name already exists" {r XGROUP CREATE s g 0}
    }

    test "XGROUP CREATE MKSTREAM makes an empty stream" {
        set error "ERR The XGROUP subcommand requires the key to exist.*MKSTREAM option*"
        assert_error $error {r XGROUP CREATE s g $}
        assert_equal OK [r XGROUP CREATE s g $ MKSTREAM]
        assert_equal 0 [r XLEN s]
        assert_equal 1 [r EXISTS s]
    }

    test "XGROUP SETID lets a group read again" {
        add_entries s 1 5
        r XGROUP CREATE s g $
        assert_equal OK [r XGROUP SETID s g 3 ENTRIESREAD 3]
        assert_equal 3 [group_of s entries-read]
        assert_equal {4-0 5-0} [ids [lindex [r XREADGROUP GROUP g c STREAMS s >] 0 1]]
        assert_error "NOGROUP No such consumer group 'nope' for key name 's'" {r XGROUP SETID s nope 0}
    }

    test "XGROUP DESTROY deletes a group, with what is pending" {
        add_entries s 1 5
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        assert_equal 1 [r XGROUP DESTROY s g]
        assert_equal 0 [r XGROUP DESTROY s g]
        assert_equal {} [r XINFO GROUPS s]
    }

    test "XGROUP CREATECONSUMER and DELCONSUMER" {
        add_entries s 1 5
        r XGROUP CREATE s g 0
        assert_equal 1 [r XGROUP CREATECONSUMER s g c]
        assert_equal 0 [r XGROUP CREATECONSUMER s g c]
        r XREADGROUP GROUP g c COUNT 3 STREAMS s >
        r XREADGROUP GROUP g d STREAMS s >
        assert_equal 3 [r XGROUP DELCONSUMER s g c]
        assert_equal 0 [r XGROUP DELCONSUMER s g c]
        assert_equal {2 4-0 5-0 {{d 2}}} [r XPENDING s g]
    }

    test "XGROUP with bad arguments" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        assert_error $bad_id {r XGROUP CREATE s h x}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'CREATE'. Try XGROUP HELP." {
            r XGROUP CREATE s h 0 NOPE
        }
        assert_error "ERR unknown subcommand or wrong number of arguments for 'SETID'. Try XGROUP HELP." {
            r XGROUP SETID s g 0 MKSTREAM
        }
        assert_error "ERR value for ENTRIESREAD must be positive or -1" {r XGROUP CREATE s h 0 ENTRIESREAD -2}
        assert_error "NOGROUP No such consumer group 'h' for key name 's'" {r XGROUP CREATECONSUMER s h c}
        assert_error "NOGROUP No such consumer group 'h' for key name 's'" {r XGROUP DELCONSUMER s h c}
        r SET t text
        assert_error $wrong_type {r XGROUP CREATE t g 0}
        assert_error $wrong_type {r XGROUP DESTROY t g}
        assert_match "XGROUP <subcommand>*" [lindex [r XGROUP HELP] 0]
    }

    # ---- XREADGROUP, XACK -------------------------------------------------------------------------------------

    test "Each entry goes to one consumer of a group, and to each group" {
        add_entries s 1 4
        r XGROUP CREATE s g 0
        r XGROUP CREATE s h 0
        assert_equal {1-0 2-0} [ids [lindex [r XREADGROUP GROUP g c COUNT 2 STREAMS s >] 0 1]]
        assert_equal {3-0 4-0} [ids [lindex [r XREADGROUP GROUP g d STREAMS s >] 0 1]]
        assert_equal "*-1\r\n" [[default_client] raw XREADGROUP GROUP g c STREAMS s >]
        assert_equal 4 [llength [lindex [r XREADGROUP GROUP h c STREAMS s >] 0 1]]
    }

    test "A consumer reads what it has not confirmed, of what was deleted the id alone" {
        add_entries s 1 4
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XDEL s 2
        assert_equal 1 [r XACK s g 3 3 9]
        assert_equal {{s {{1-0 {number 1}} {2-0 (nil)} {4-0 {number 4}}}}} [r XREADGROUP GROUP g c STREAMS s 0]
        assert_equal "*1\r\n*2\r\n\$1\r\ns\r\n*1\r\n*2\r\n\$3\r\n2-0\r\n*-1\r\n" \
            [[default_client] raw XREADGROUP GROUP g c COUNT 1 STREAMS s 1]
        assert_equal {{s {}}} [r XREADGROUP GROUP g c STREAMS s 4]
        assert_equal {{s {}}} [r XREADGROUP GROUP g other STREAMS s 0]
    }

    test "XREADGROUP NOACK leaves nothing pending" {
        add_entries s 1 4
        r XGROUP CREATE s g 0
        assert_equal 4 [llength [lindex [r XREADGROUP GROUP g c NOACK STREAMS s >] 0 1]]
        assert_equal {0 (nil) (nil) (nil)} [r XPENDING s g]
    }

    test "A group that was set back takes over what others have" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XGROUP SETID s g 0
        r XREADGROUP GROUP g d STREAMS s >
        assert_equal {2 1-0 2-0 {{d 2}}} [r XPENDING s g]
    }

    test "XREADGROUP with bad arguments" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        assert_error "NOGROUP No such key 's' or consumer group 'h' in XREADGROUP with GROUP option" {
            r XREADGROUP GROUP h c STREAMS s >
        }
        assert_error "NOGROUP No such key 't' or consumer group 'g' in XREADGROUP with GROUP option" {
            r XREADGROUP GROUP g c STREAMS s t > >
        }
        assert_error "ERR Missing GROUP option for XREADGROUP" {r XREADGROUP COUNT 1 NOACK STREAMS s >}
        assert_error "ERR The \$ ID is meaningless in the context of XREADGROUP*" {r XREADGROUP GROUP g c STREAMS s $}
        assert_error "ERR The + ID is meaningless in the context of XREADGROUP*" {r XREADGROUP GROUP g c STREAMS s +}
        assert_error "ERR Unbalanced 'xreadgroup' list of streams: for each stream key an ID or '>' must be specified." {
            r XREADGROUP GROUP g c STREAMS s > >
        }
        assert_equal 2 [group_of s lag]
        r SET t text
        assert_error $wrong_type {r XREADGROUP GROUP g c STREAMS t >}
    }

    test "XACK of what is not there" {
        assert_equal 0 [r XACK nothing g x]
        add_entries s 1 2
        assert_equal 0 [r XACK s nope x]
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        assert_error $bad_id {r XACK s g 1 x}
        assert_equal 2 [lindex [r XPENDING s g] 0]
        r SET t text
        assert_error $wrong_type {r XACK t g 1}
    }

    foreach n {1 49 50 51 100 101 5000} {
        test "$n pending entries, confirmed in any order" {
            r XGROUP CREATE s g 0 MKSTREAM
            add_entries s 1 $n
            foreach c {a b c} {
                r XREADGROUP GROUP g $c COUNT [expr {$n / 3 + 1}] STREAMS s >
            }
            assert_equal $n [lindex [r XPENDING s g] 0]
            assert_equal $n [llength [r XPENDING s g - + 10000]]
            set odd {}
            for {set i 1} {$i <= $n} {incr i 2} {
                lappend odd $i
            }
            assert_equal [llength $odd] [r XACK s g {*}[lreverse $odd]]
            assert_equal [expr {$n / 2}] [lindex [r XPENDING s g] 0]
            foreach c {a b c} {
                assert_equal [llength [lindex [r XREADGROUP GROUP g $c STREAMS s 0] 0 1]] \
                    [llength [r XPENDING s g - + 10000 $c]]
            }
        }
    }

    # ---- XPENDING ---------------------------------------------------------------------------------------------

    test "XPENDING in full: id, consumer, idle time, deliveries" {
        add_entries s 1 5
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 3 STREAMS s >
        r XREADGROUP GROUP g d COUNT 1 STREAMS s >
        assert_equal {4 1-0 4-0 {{c 3} {d 1}}} [r XPENDING s g]
        assert_equal {1-0 2-0 3-0 4-0} [ids [r XPENDING s g - + 10]]
        assert_equal {2-0 3-0} [ids [r XPENDING s g (1-0 3 10]]
        assert_equal {4-0} [ids [r XPENDING s g - + 10 d]]
        assert_equal {} [r XPENDING s g - + 10 nobody]
        assert_equal {1-0 2-0} [ids [r XPENDING s g - + 2]]
        assert_equal {} [r XPENDING s g - + -1]
        assert_equal {} [r XPENDING s g IDLE 10000000 - + 10]
        assert_equal 4 [llength [r XPENDING s g IDLE 0 - + 10]]
        lassign [lindex [r XPENDING s g - + 1] 0] id consumer idle deliveries
        assert_equal {1-0 c 1} [list $id $consumer $deliveries]
        assert_between 0 100000 $idle
    }

    test "XPENDING with bad arguments" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        assert_error $syntax {r XPENDING s g -}
        assert_error $syntax {r XPENDING s g - +}
        assert_error $syntax {r XPENDING s g IDLE 5 - +}
        assert_error $syntax {r XPENDING s g IDLE 5 - + 1 c d}
        assert_error $not_integer {r XPENDING s g - + x}
        assert_error $not_integer {r XPENDING s g IDLE x - + 1}
        assert_error $bad_id {r XPENDING s g x + 1}
        assert_error "NOGROUP No such key 's' or consumer group 'h'" {r XPENDING s h}
        assert_error "NOGROUP No such key 'nothing' or consumer group 'g'" {r XPENDING nothing g}
        r SET t text
        assert_error $wrong_type {r XPENDING t g}
    }

    # ---- XCLAIM, XAUTOCLAIM -----------------------------------------------------------------------------------

    test "XCLAIM gives entries to another consumer" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        assert_equal {{2-0 {number 2}}} [r XCLAIM s g d 0 2 9]
        assert_equal {{c 2} {d 1}} [lindex [r XPENDING s g] 3]
        assert_equal 2 [lindex [r XPENDING s g 2 2 1] 0 3]
        assert_equal 3-0 [r XCLAIM s g d 0 3 JUSTID]
        assert_equal 1 [lindex [r XPENDING s g 3 3 1] 0 3]
        assert_equal {} [r XCLAIM s g d 10000000 1]
    }

    test "Reading the history delivers again" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        assert_equal {2-0 3-0} [ids [lindex [r XREADGROUP GROUP g c STREAMS s 1] 0 1]]
        assert_equal {1 2 2} [lmap entry [r XPENDING s g - + 10] {lindex $entry 3}]
        r XREADGROUP GROUP g c COUNT 1 STREAMS s 0
        assert_equal {2 2 2} [lmap entry [r XPENDING s g - + 10] {lindex $entry 3}]
    }

    test "XREADGROUP behind the last possible id reads what is new" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        set last 18446744073709551615-18446744073709551615
        assert_equal {1-0 2-0} [ids [lindex [r XREADGROUP GROUP g c STREAMS s $last] 0 1]]
        assert_equal (nil) [r XREADGROUP GROUP g c STREAMS s $last]
    }

    test "XCLAIM and XAUTOCLAIM make a consumer active where they give it something" {
        add_entries s 1 2
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        foreach command {{XCLAIM s g d 0 9} {XAUTOCLAIM s g d 1000000 0}} {
            r {*}$command
            assert_equal -1 [dict get [lindex [r XINFO CONSUMERS s g] 1] inactive]
        }
        foreach {name command} {e {XCLAIM s g e 0 1} f {XAUTOCLAIM s g f 0 0}} {
            r {*}$command
            assert_equal $name [dict get [lindex [r XINFO CONSUMERS s g] end] name]
            assert_between 0 100000 [dict get [lindex [r XINFO CONSUMERS s g] end] inactive]
        }
    }

    test "XAUTOCLAIM looks at ten entries for each that it may claim" {
        add_entries s 1 12
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XCLAIM s g c 0 10 12 IDLE 5000000 JUSTID
        assert_equal {11-0 10-0 {}} [r XAUTOCLAIM s g d 4000000 0 COUNT 1 JUSTID]
        assert_equal {11-0 {} {}} [r XAUTOCLAIM s g d 4000000 0 COUNT 1 JUSTID]
        assert_equal {0-0 12-0 {}} [r XAUTOCLAIM s g d 4000000 11 COUNT 1 JUSTID]
    }

    test "What is delivered, claimed or set is a change" {
        r XGROUP CREATE s g 0 MKSTREAM
        foreach {changes command} {
            1 {XADD s 1-0 f v}   1 {XADD s 2-0 f v}   1 {XADD s 3-0 f v}   2 {XREADGROUP GROUP g c STREAMS s >}
            1 {XREADGROUP GROUP g c STREAMS s 0}   2 {XACK s g 1-0 2-0 9-0}   0 {XACK s g 1-0}
            2 {XCLAIM s g d 0 3-0 LASTID 1-0}   1 {XCLAIM s g d 0 9-0 LASTID 7-0}   0 {XCLAIM s g d 0 9-0}
            2 {XDEL s 1-0 2-0 9-0}   0 {XDEL s 1-0}   1 {XTRIM s MAXLEN 0}   0 {XTRIM s MAXLEN 0}
        } {
            set before [info_field rdb_changes_since_last_save]
            r {*}$command
            assert_equal "$changes $command" "[expr {[info_field rdb_changes_since_last_save] - $before}] $command"
        }
    }

    test "XCLAIM sets times and counts" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XCLAIM s g c 0 1 IDLE 5000000 RETRYCOUNT 77
        lassign [lindex [r XPENDING s g 1 1 1] 0] id consumer idle deliveries
        assert_between 5000000 5100000 $idle
        assert_equal 77 $deliveries
        assert_equal 1-0 [r XCLAIM s g d 4000000 1 2 3 JUSTID]
        r XCLAIM s g c 0 2 TIME 1000
        assert_equal 1 [llength [r XPENDING s g IDLE 10000000 - + 10]]
        r XCLAIM s g c 0 3 TIME 99999999999999
        assert_between 0 100000 [lindex [r XPENDING s g 3 3 1] 0 2]
        assert_between 1 9999999999999 [lindex [dict get [lindex [dict get [r XINFO STREAM s FULL] groups] 0] pending] 2 2]
    }

    test "XCLAIM FORCE makes entries pending that were not" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        assert_equal {} [r XCLAIM s g c 0 1]
        assert_equal {{1-0 {number 1}}} [r XCLAIM s g c 0 1 9 FORCE]
        assert_equal {1 1-0 1-0 {{c 1}}} [r XPENDING s g]
    }

    test "XCLAIM takes off what was deleted, and moves the group with LASTID" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 2 STREAMS s >
        r XDEL s 1
        assert_equal {} [r XCLAIM s g d 0 1 LASTID 3]
        assert_equal {1 2-0 2-0 {{c 1}}} [r XPENDING s g]
        assert_equal 3-0 [group_of s last-delivered-id]
        r XCLAIM s g d 0 2 LASTID 1
        assert_equal 3-0 [group_of s last-delivered-id]
    }

    test "XCLAIM with bad arguments" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        assert_error "ERR Invalid min-idle-time argument for XCLAIM" {r XCLAIM s g c x 1}
        assert_error "ERR Unrecognized XCLAIM option 'x'" {r XCLAIM s g c 0 1 x}
        assert_error "ERR Unrecognized XCLAIM option 'IDLE'" {r XCLAIM s g c 0 1 IDLE}
        foreach option {IDLE TIME RETRYCOUNT} {
            assert_error "ERR Invalid $option option argument for XCLAIM" {r XCLAIM s g c 0 1 $option x}
        }
        assert_error $bad_id {r XCLAIM s g c 0 1 LASTID x}
        assert_error "NOGROUP No such key 's' or consumer group 'h'" {r XCLAIM s h c 0 1}
        assert_equal 0 [group_of s consumers]
        r SET t text
        assert_error $wrong_type {r XCLAIM t g c 0 1}
    }

    test "XAUTOCLAIM walks what is pending" {
        add_entries s 1 5
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        assert_equal {3-0 {{1-0 {number 1}} {2-0 {number 2}}} {}} [r XAUTOCLAIM s g d 0 - COUNT 2]
        r XDEL s 4
        assert_equal {0-0 {3-0 5-0} 4-0} [r XAUTOCLAIM s g d 0 3 COUNT 100 JUSTID]
        assert_equal {0-0 {} {}} [r XAUTOCLAIM s g e 10000000 0]
        assert_equal {4 1-0 5-0 {{d 4}}} [r XPENDING s g]
    }

    test "XAUTOCLAIM of many entries that have gone" {
        add_entries s 1 300
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XTRIM s MAXLEN 0
        set reply [r XAUTOCLAIM s g d 0 0 COUNT 250]
        assert_equal {251-0 {}} [lrange $reply 0 1]
        assert_equal 250 [llength [lindex $reply 2]]
        assert_equal 50 [llength [lindex [r XAUTOCLAIM s g d 0 0 COUNT 100000] 2]]
    }

    test "XAUTOCLAIM with bad arguments" {
        add_entries s 1 3
        r XGROUP CREATE s g 0
        assert_error "ERR Invalid min-idle-time argument for XAUTOCLAIM" {r XAUTOCLAIM s g c x 0}
        assert_error $bad_id {r XAUTOCLAIM s g c 0 x}
        assert_error $syntax {r XAUTOCLAIM s g c 0 0 NOPE}
        assert_error $syntax {r XAUTOCLAIM s g c 0 0 COUNT}
        foreach count {-1 0 x 9223372036854775807} {
            assert_error "ERR COUNT must be > 0" {r XAUTOCLAIM s g c 0 0 COUNT $count}
        }
        assert_error "NOGROUP No such key 's' or consumer group 'h'" {r XAUTOCLAIM s h c 0 0}
    }

    # ---- XINFO ------------------------------------------------------------------------------------------------

    test "XINFO STREAM" {
        needs_free_encodings
        add_entries s 1 3
        r XDEL s 2
        assert_equal [list length 2 radix-tree-keys 1 radix-tree-nodes 2 last-generated-id 3-0 max-deleted-entry-id 2-0 \
            entries-added 3 recorded-first-entry-id 1-0 groups 0 first-entry {1-0 {number 1}} \
            last-entry {3-0 {number 3}}] [r XINFO STREAM s]
    }

    test "XINFO STREAM FULL shows entries, groups and consumers" {
        add_entries s 1 20
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 15 STREAMS s >
        set info [r XINFO STREAM s FULL]
        assert_equal 10 [llength [dict get $info entries]]
        set group [lindex [dict get $info groups] 0]
        assert_equal {15 15 5} [list [dict get $group entries-read] [dict get $group pel-count] [dict get $group lag]]
        assert_equal 10 [llength [dict get $group pending]]
        set consumer [lindex [dict get $group consumers] 0]
        assert_equal {c 15} [list [dict get $consumer name] [dict get $consumer pel-count]]
        assert_equal 20 [llength [dict get [r XINFO STREAM s FULL COUNT 0] entries]]
        assert_equal 3 [llength [dict get [r XINFO STREAM s FULL COUNT 3] entries]]
    }

    test "XINFO GROUPS: what was read, and what was not, where it can be told" {
        add_entries s 1 10
        r XGROUP CREATE s g 0
        assert_equal {(nil) 10} [list [group_of s entries-read] [group_of s lag]]
        r XREADGROUP GROUP g c COUNT 4 STREAMS s >
        assert_equal {4 6} [list [group_of s entries-read] [group_of s lag]]
        r XDEL s 7
        assert_equal {4 (nil)} [list [group_of s entries-read] [group_of s lag]]
        r XREADGROUP GROUP g c STREAMS s >
        assert_equal {10 0} [list [group_of s entries-read] [group_of s lag]]
        r XTRIM s MAXLEN 0
        r XGROUP CREATE s h 5
        assert_equal 0 [group_of s lag 1]
    }

    test "XINFO CONSUMERS tells of attempts and of successes" {
        add_entries s 1 1
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c STREAMS s >
        r XREADGROUP GROUP g d STREAMS s >
        set consumers [r XINFO CONSUMERS s g]
        assert_equal {c d} [lmap c $consumers {dict get $c name}]
        assert_equal {1 0} [lmap c $consumers {dict get $c pending}]
        assert_equal -1 [dict get [lindex $consumers 1] inactive]
        assert_between 0 100000 [dict get [lindex $consumers 0] inactive]
    }

    test "XINFO with bad arguments" {
        assert_error "ERR no such key" {r XINFO STREAM s}
        assert_error "ERR no such key" {r XINFO GROUPS s}
        assert_error "ERR no such key" {r XINFO CONSUMERS s g}
        add_entries s 1 1
        assert_error "NOGROUP No such consumer group 'g' for key name 's'" {r XINFO CONSUMERS s g}
        foreach words {NOPE {FULL COUNT} {FULL NOPE 1} {FULL COUNT 1 2}} {
            assert_error "ERR unknown subcommand or wrong number of arguments for 'STREAM'. Try XINFO HELP." {
                r XINFO STREAM s {*}$words
            }
        }
        assert_error $not_integer {r XINFO STREAM s FULL COUNT x}
        r SET t text
        assert_error $wrong_type {r XINFO STREAM t}
        assert_match "XINFO <subcommand>*" [lindex [r XINFO HELP] 0]
    }

    # ---- Keys -------------------------------------------------------------------------------------------------

    test "A copy shares nothing with what it was made of" {
        add_entries s 1 150
        r XGROUP CREATE s g 0
        r XREADGROUP GROUP g c COUNT 70 STREAMS s >
        r COPY s t
        r XACK s g 1 2 3
        r XDEL s 1 2 3
        assert_equal 150 [r XLEN t]
        assert_equal 70 [lindex [r XPENDING t g] 0]
        r DEL s
        assert_equal 70 [llength [lindex [r XREADGROUP GROUP g c STREAMS t 0] 0 1]]
    }

    test "DUMP and RESTORE keep groups" {
        add_entries s 1 150
        r XGROUP CREATE s g 0
        r XGROUP CREATE s h 100
        r XREADGROUP GROUP g c COUNT 70 STREAMS s >
        r XREADGROUP GROUP g d COUNT 20 STREAMS s >
        set payload [r DUMP s]
        r RESTORE t 0 $payload
        assert_equal $payload [r DUMP t]
        assert_equal [r XINFO GROUPS s] [r XINFO GROUPS t]
        assert_equal [r XPENDING s g] [r XPENDING t g]
    }

    test "A stream whose time is over is gone" {
        r XADD s 1-1 f v
        r PEXPIREAT s 1000
        assert_equal {} [r XRANGE s - +]
        assert_equal 1-0 [r XADD s 1 f v]
        assert_equal -1 [r PTTL s]
        r PEXPIRE s 100000
        r XADD s 2 f v
        assert {[r PTTL s] > 0}
    }

    test "MEMORY USAGE grows with entries" {
        add_entries s 1 10
        set small [r MEMORY USAGE s]
        add_entries s 11 1000
        assert {[r MEMORY USAGE s] > $small + 5000}
        assert_between [expr {[r MEMORY USAGE s SAMPLES 0] * 8 / 10}] [expr {[r MEMORY USAGE s SAMPLES 0] * 12 / 10}] \
            [r MEMORY USAGE s]
    }
}
