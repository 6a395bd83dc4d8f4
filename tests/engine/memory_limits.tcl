# memory_limits.tcl -- commands without enough memory: an error or the end of the connection, never of the server.
#
# The limit is on the address space of the process, set on a running server, in addition to the memory in use.
#
# SPDX-License-Identifier: BSD-3-Clause

# Without memory OpenSSL rightly ends the connection, but these cases need the replies to their commands.
set srv::tls_certificates ""

own_files ;# a reload needs more memory than they have

set mb [expr {1024 * 1024}]

proc address_space {} {
    if {![regexp {VmSize:\s+(\d+) kB} [read_file /proc/[srv pid]/status] -> kilobytes]} {
        fail "no VmSize of the server"
    }
    return [expr {$kilobytes * 1024}]
}

# Limits the server to so many more bytes.
proc limit_server {more} {
    if {![file exists /proc/self/status] || $srv::slow > 1 || [auto_execok prlimit] eq ""} {
        skip "needs Linux, prlimit, and a build without a sanitizer"
    }
    exec prlimit --pid [srv pid] --as=[expr {[address_space] + $more}]:
}

proc still_alive {} {
    with_clients c {
        assert_equal PONG [$c PING]
    }
}

# A payload of a few MB that expands to 400.
set bomb ""
start_server {} {
    test "DUMP of a large value of zeros is small" {
        r SETRANGE zeros [expr {400 * $mb}] x
        set bomb [r DUMP zeros]
        assert_between 100000 [expr {16 * $mb}] [string length $bomb]
    }
}

start_server {} {

    test "Values that cannot be had: an error, and nothing has changed" {
        limit_server [expr {200 * $mb}]
        assert_error "OOM *" {r SETRANGE new [expr {400 * $mb}] x}
        assert_equal 0 [r EXISTS new]
        assert_equal [expr {90 * $mb + 1}] [r SETRANGE big [expr {90 * $mb}] x]
        assert_error "OOM *" {r SETRANGE big [expr {300 * $mb}] x}
        assert_error "OOM *" {r COPY big copy}
        assert_equal 0 [r EXISTS copy]
        assert_error "OOM *" {r DUMP big}
        assert_error "ERR Bad data format" {r RESTORE bomb 0 $bomb}
        assert_equal 0 [r EXISTS bomb]
        assert_equal [expr {90 * $mb + 1}] [r STRLEN big]
        r DEL big
        still_alive
    }
}

start_server {} {

    test "LCS: a table that cannot be had, or is larger than a value may be" {
        limit_server [expr {4 * $mb}]
        r SETRANGE a 11000 x
        r SETRANGE b 11000 y
        assert_equal 11000 [r LCS a b LEN]
        assert_error "ERR Insufficient memory, failed allocating transient memory for LCS" {r LCS a b IDX}
        r SETRANGE a 39999 x
        r SETRANGE b 39999 y
        assert_error "ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len" {r LCS a b LEN}
        r DEL a b
        still_alive
    }
}

start_server {} {

    test "A request that cannot be held is refused and its connection closed" {
        limit_server [expr {100 * $mb}]
        with_clients c {
            set part [string repeat x 1000000]
            catch {
                $c write "SET before 1\r\n*3\r\n\$3\r\nSET\r\n\$1\r\nk\r\n\$400000000\r\n"
                for {set i 0} {$i < 400} {incr i} {
                    $c write $part
                }
            }
            assert [$c closed_within 10000]
        }
        assert_equal 1 [r GET before]
        assert_equal 0 [r EXISTS k]
        still_alive
    }
}

start_server {} {

    test "Copies of large arguments: an error or done, and the server lives" {
        limit_server [expr {50 * $mb}]
        set large [string repeat x [expr {10 * $mb}]]
        r SET k v
        foreach command [list \
            [list SET k2 $large] [list APPEND k2 $large] [list MSET m1 $large m2 $large] [list SETRANGE k2 5 $large] \
            [list RENAME k2 $large] [list COPY k $large] [list CLIENT SETNAME $large] \
            [list CLIENT SETINFO lib-name $large] [list CONFIG SET requirepass $large$large] [list CLIENT $large] \
            [list $large] [list ECHO $large] \
            [list KEYS $large] [list SCAN 0 MATCH $large] [list GETSET k2 $large] [list SET k2 $large GET] \
            [list COMMAND GETKEYS SET $large v] [list DEBUG POPULATE 1 key [expr {400 * $mb}]] \
            [list MSET {*}[lrepeat 100000 k]] [list DEL {*}[lrepeat 200000 k]] \
        ] {
            with_clients c {
                if {[catch {$c {*}$command} message]} {
                    assert_regexp {^(ERR|OOM|WRONGTYPE) |closed|pipe|reset} [string range $message 0 200]
                }
            }
            catch {r CONFIG SET requirepass ""}
            assert_equal PONG [r PING]
        }
    }
}

start_server {} {

    test "Replies that cannot be had: an error in place of a copy, the end of the connection for the rest" {
        r SETRANGE big [expr {50 * $mb}] x
        for {set i 0} {$i < 20000} {incr i 1000} {
            set pairs {}
            for {set k $i} {$k < $i + 1000} {incr k} {
                lappend pairs [string repeat x 1000]:$k v
            }
            r MSET {*}$pairs
        }
        limit_server [expr {80 * $mb}]
        with_config {io-threads-reply-offload no} {
            with_clients c {
                set replies [$c MGET big big big big big [string repeat x 1000]:7]
                assert_equal v [lindex $replies 5]
                set refused 0
                foreach reply [lrange $replies 0 4] {
                    if {$reply eq "(error) OOM command not allowed: there is not enough memory for it"} {
                        incr refused
                    } else {
                        assert_equal [expr {50 * $mb + 1}] [string length $reply]
                    }
                }
                assert_between 1 4 $refused
            }
        }
        # The reply of each KEYS is 20 MB that are not read.
        set silent {}
        for {set i 0} {$i < 12} {incr i} {
            set c [connect]
            lappend silent $c
            catch {$c send KEYS *}
            wait_for_condition 20 {[r DBSIZE] == 20001}
        }
        still_alive
        assert_regexp {scheduled to be closed: there is no memory} [srv log]
        foreach c $silent {
            $c destroy
        }
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
        still_alive
    }
}

# ---- Types ----------------------------------------------------------------------------------------------------------

# Returns the number of elements of the keys below: a digest of large ones takes long.
proc how_many {} {
    return [list [r DBSIZE] [r LLEN list] [r HLEN hash] [r SCARD set] [r ZCARD zset] [r XLEN stream] \
        [r LLEN other] [r STRLEN hll] [r HSTRLEN hash f] [r ZSCORE zset b]]
}

# A command either does all its work, or is refused and has changed nothing.
proc done_or_refused {command} {
    set before [how_many]
    set result done
    with_clients c {
        if {[catch {$c {*}$command} message]} {
            assert_regexp {^(ERR|OOM) |closed|pipe|reset} [string range $message 0 200]
            assert_equal $before [how_many]
            set result refused
        }
    }
    return $result
}

start_server {} {

    test "Bits far away that cannot be had: an error, and nothing has changed" {
        r SET small abc
        limit_server [expr {200 * $mb}]
        set far [expr {400 * $mb}]
        foreach key {new small} {
            set before [r DEBUG DIGEST-VALUE $key]
            assert_error "OOM *" {r SETBIT $key [expr {8 * $far}] 1}
            assert_error "OOM *" {r BITFIELD $key SET u8 0 1 SET u8 #$far 1}
            assert_error "OOM *" {r BITFIELD $key INCRBY i64 [expr {8 * $far}] 1}
            assert_equal $before [r DEBUG DIGEST-VALUE $key]
        }
        assert_equal 0 [r EXISTS new]
        r SETBIT half [expr {8 * 120 * $mb}] 1
        assert_error "OOM *" {r BITOP NOT other half}
        assert_equal 0 [r EXISTS other]
        r DEL half
        still_alive
    }
}

# One element of so many zeros in each type, as a DUMP payload: a hundredth of that.
set element_bytes [expr {24 * $mb}]
set bombs {}
start_server {} {
    test "DUMP of large elements of zeros is small" {
        set zeros [string repeat \0 $element_bytes]
        foreach {name command} {
            list {RPUSH key ZEROS}   set {SADD key ZEROS}   field {HSET key ZEROS value}   value {HSET key field ZEROS}
            zset {ZADD key 1 ZEROS}   stream {XADD key 1-1 field ZEROS}
        } {
            r {*}[lmap word $command {expr {$word eq "ZEROS" ? $zeros : $word}}]
            dict set bombs $name [r DUMP key]
            assert_between 50000 [expr {2 * $mb}] [string length [dict get $bombs $name]]
            r DEL key
        }
        unset zeros
    }
}

# Some limits suffice for the element that is read, but not for the larger block in which it is stored.
foreach room {16 40 50 52 54 56 64} {
    start_server {} {
        test "RESTORE of large elements with room for $room MB: refused, or there" {
            limit_server [expr {$room * $mb}]
            dict for {name bomb} $bombs {
                with_clients c {
                    set refused [catch {$c RESTORE key 0 $bomb} message]
                }
                if {$refused} {
                    # With very little left the payload itself may not fit, beside the reserves of threads.
                    assert_regexp {^ERR (Bad data format|Protocol error: out of memory)$} "$message"
                    assert_equal "$name 0" "$name [r EXISTS key]"
                } else {
                    assert_between $element_bytes [expr {3 * $element_bytes}] [r MEMORY USAGE key]
                    if {[catch {r COPY key copy} message]} {
                        assert_match "OOM *" $message
                    }
                    r DEL key copy
                }
                assert_equal "$name PONG" "$name [r PING]"
            }
            still_alive
        }
    }
}

start_server {} {

    test "Large elements of each type: done, or refused and nothing has changed" {
        set large [string repeat x $mb]
        foreach name {list hash set zset stream} command {
            {RPUSH list a b} {HSET hash f v n 1} {SADD set 1 2} {ZADD zset 1 a} {XADD stream 1-1 f v}
        } {
            r {*}$command
        }
        r XGROUP CREATE stream group 0
        limit_server [expr {24 * $mb}]
        set done 0
        set refused 0
        foreach i {0 1} {
            foreach command [list \
                [list RPUSH list $i$large] [list LPUSH list $i$large $large] [list LSET list 0 $large] \
                [list LINSERT list BEFORE b $large] {LMOVE list other RIGHT LEFT} {COPY list copied} \
                [list HSET hash f $i$large g $large] [list HSET hash $i$large v] [list HSETNX hash m$i $large] \
                {COPY hash copied} [list SADD set $i$large 3] {SUNIONSTORE stored set set} {SMOVE set other:set 3} \
                [list ZADD zset 1 $i$large 2 b] [list ZINCRBY zset 1 x$large] {ZUNIONSTORE stored:z 2 zset zset} \
                {ZRANGESTORE stored:r zset 0 -1} [list XADD stream * f $large] [list XADD stream * $large v] \
                [list XGROUP CREATE stream $i$large 0] [list XREADGROUP GROUP group $i$large STREAMS stream >] \
                {COPY stream copied:s} {SORT list ALPHA STORE sorted} [list PFADD hll $large] \
            ] {
                incr [done_or_refused $command]
                assert_equal PONG [r PING]
            }
            r UNLINK copied stored stored:z stored:r copied:s sorted other
        }
        assert {$done > 10 && $refused > 10}
        still_alive
    }
}

start_server {} {

    test "COPY of many large blocks, with room for nearly all of them" {
        set large [string repeat x [expr {2 * $mb + 100}]]
        for {set i 0} {$i < 8} {incr i} {
            r RPUSH list $large
            r HSET hash $i $large
        }
        foreach key {list hash} {
            set usage [r MEMORY USAGE $key SAMPLES 0]
            foreach percent {95 100 101 103 106 110 115 120 125 130 140} {
                limit_server [expr {$usage * $percent / 100}]
                if {[catch {r COPY $key copy} message]} {
                    assert_match "OOM *" $message
                } else {
                    assert_equal [r MEMORY USAGE $key SAMPLES 0] [r MEMORY USAGE copy SAMPLES 0]
                }
                r DEL copy
            }
        }
        still_alive
    }
}
