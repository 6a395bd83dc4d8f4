# hash_large.tcl -- hashes with values of many kilobytes: replies, and values that an unread reply refers to.
#
# SPDX-License-Identifier: BSD-3-Clause

# On both sides of every limit for copying, referring and taking over values.
set sizes {100 16383 16384 16385 32767 32768 65536 100000 1500000}

proc value_of {size} {
    return [string range [string repeat "<$size:0123456789abcdef>" [expr {$size / 16}]] 0 $size-1]
}

proc make_sizes {key} {
    global sizes

    foreach size $sizes {
        r HSET $key f$size [value_of $size]
    }
}

# PAIRS must have COUNT fields and values of make_sizes.
proc assert_right {pairs count} {
    assert_equal $count [expr {[llength $pairs] / 2}]
    foreach {field value} $pairs {
        assert {$value eq [value_of [string range $field 1 end]]}
    }
}

# PAIRS must be all of them.
proc assert_sizes {pairs} {
    assert_right $pairs [llength $::sizes]
    assert_same_set [field_names] [dict keys $pairs]
}

proc zip {names values} {
    set pairs {}
    foreach name $names value $values {
        lappend pairs $name $value
    }
    return $pairs
}

proc field_names {} {
    global sizes

    return [lmap size $sizes {string cat f $size}]
}

proc scanned {key} {
    set pairs {}
    set cursor 0
    while 1 {
        lassign [r HSCAN $key $cursor] cursor some
        lappend pairs {*}$some
        if {$cursor eq "0"} {
            return $pairs
        }
    }
}

# Opens a connection that sends COMMANDS and does not read. The replies exceed the kernel's buffers, so the server keeps
# the values they refer to.
proc ask_and_wait {commands} {
    set channel [socket 127.0.0.1 [srv port]]
    fconfigure $channel -translation binary -blocking 1 -buffersize 1000000
    lappend ::slow_channels $channel
    puts -nonewline $channel "CLIENT SETNAME slow\r\n[join $commands \r\n]\r\nECHO sent\r\n"
    flush $channel
    wait_for_condition 30 {[regexp {name=slow [^\n]* omem=\d{7,} [^\n]*cmd=echo} [r CLIENT LIST]]}
    return $channel
}

# Reads now, and must get BYTES.
proc read_on {channel bytes} {
    set expected "+OK\r\n$bytes\$4\r\nsent\r\n"
    set got [read $channel [string length $expected]]
    assert_equal [string length $expected] [string length $got]
    assert {$got eq $expected}
    close $channel
}

# Closes connections of a failed test, whose memory would disturb the next one.
proc close_slow {} {
    foreach channel $::slow_channels {
        catch {close $channel}
    }
    set ::slow_channels {}
}
set slow_channels {}

proc bulk {value} {
    return "\$[string length $value]\r\n$value\r\n"
}

set asked 100

# Makes a hash of COUNT fields with values of 200,000 bytes in `big` and few in the others. Requests its field f0, and
# runs BODY meanwhile.
proc while_referred {count body} {
    global asked

    set value [value_of 200000]
    r FLUSHALL
    for {set i 0} {$i < $count} {incr i} {
        r HSET big f$i [expr {$i < 3 ? $value : "short"}]
    }
    set before [used]
    set channel [ask_and_wait [lrepeat $asked "HGET big f0"]]
    if {[llength [r CONFIG GET io-threads-reply-offload]]} {
        wait_for_condition 10 {[used] - $before < 2000000}
    }
    uplevel 1 $body
    r SET filler [string repeat y 200000]
    read_on $channel [string repeat [bulk $value] $asked]
}

proc used {} {
    return [expr {[info_field used_memory memory] - [info_field mem_aof_buffer memory]}]
}

# All keys are deleted and their memory freed.
proc assert_memory_back {before} {
    r FLUSHALL
    wait_for_condition 20 {[used] < $before + 150000 && [info_field connected_clients clients] == 1}
}

start_server {each {close_slow; r FLUSHALL}} {

    foreach offload {yes no} {
        test "Large values come back whole from every command (reply offload $offload)" {
            need_config io-threads-reply-offload
            with_config [list io-threads-reply-offload $offload] {
                make_sizes hash
                foreach size $sizes {
                    assert {[r HGET hash f$size] eq [value_of $size]}
                    assert_equal $size [r HSTRLEN hash f$size]
                }
                foreach proto {2 3} {
                    r HELLO $proto
                    assert_sizes [r HGETALL hash]
                    assert_sizes [scanned hash]
                    assert_sizes [concat {*}[r HRANDFIELD hash 100 WITHVALUES]]
                    assert_right [concat {*}[r HRANDFIELD hash -50 WITHVALUES]] 50
                }
                r HELLO 2
                assert_sizes [zip [field_names] [r HMGET hash {*}[field_names]]]
                assert_sizes [zip [r HKEYS hash] [r HVALS hash]]
                assert_sizes [zip [field_names] [r HGETEX hash EX 100 FIELDS [llength $sizes] {*}[field_names]]]
                assert_sizes [r HGETALL hash]
                assert_sizes [zip [field_names] [r HGETEX hash PERSIST FIELDS [llength $sizes] {*}[field_names]]]
                r COPY hash copy
                assert_equal [r DEBUG DIGEST-VALUE hash] [r DEBUG DIGEST-VALUE copy]
                r RESTORE restored 0 [r DUMP hash]
                assert_equal [r DEBUG DIGEST-VALUE hash] [r DEBUG DIGEST-VALUE restored]
                r RPUSH order sh
                assert_equal [list [value_of 16384] [value_of 100000]] \
                    [r SORT order BY nosort GET ha*->f16384 GET ha*->f100000]
                assert_sizes [zip [field_names] [r HGETDEL hash FIELDS [llength $sizes] {*}[field_names]]]
                assert_equal 0 [r EXISTS hash]
                assert_sizes [r HGETALL copy]
                assert_sizes [r HGETALL restored]
            }
        }
    }

    test "Every way to write a large value writes all of it" {
        foreach size $sizes {
            set value [value_of $size]
            r DEL hash
            foreach command {
                {HSET hash f $value} {HMSET hash f $value} {HSETEX hash FIELDS 1 f $value}
                {HSETEX hash EX 100 FIELDS 1 f $value} {HSETEX hash KEEPTTL FIELDS 1 f $value}
            } {
                foreach before {"" abc 12 20000 300000} {
                    if {$before ne ""} {
                        r HSET hash f [expr {[string length $before] > 4 ? [value_of $before] : $before}]
                    }
                    r {*}[subst $command]
                    assert {[r HGET hash f] eq $value}
                }
            }
            r HDEL hash f
            assert_equal 1 [r HSETNX hash f $value]
            assert_equal 0 [r HSETNX hash f other]
            assert {[r HGET hash f] eq $value}
            r HSET hash f first f $value g $value f last
            assert_equal last [r HGET hash f]
            assert {[r HGET hash g] eq $value}
            r HSET hash f $value f $value g $value g 7
            assert {[r HGET hash f] eq $value}
            assert_equal 8 [r HINCRBY hash g 1]
            assert_error {*not an integer*} {r HINCRBY hash f 1}
        }
    }

    test "MONITOR and the slow log see large values as they were sent" {
        set value [value_of 100000]
        with_config {commandlog-execution-slower-than 0} {
            with_clients {watcher} {
                $watcher MONITOR
                r HSET hash f $value
                assert_match "*\"HSET\" \"hash\" \"f\" \"$value\"" [$watcher read]
                assert_match "*HSET hash f*more bytes*" [r SLOWLOG GET 5]
            }
        }
    }
}

start_server {each {close_slow; r FLUSHALL}} {

    set warm 0
    foreach {what body} {
        "overwritten with as much" {r HSET big f0 [string repeat x 200000]}
        "overwritten with more, again and again" {
            for {set i 0} {$i < 20} {incr i} {
                r HSET big f0 [string repeat x [expr {$i * 100000}]]
            }
        }
        "overwritten with less" {r HSET big f0 x}
        "overwritten with a number that is counted up" {
            r HSET big f0 7
            assert_equal 8 [r HINCRBY big f0 1]
            assert_equal 8.5 [r HINCRBYFLOAT big f0 0.5]
        }
        "given a time, and another" {
            r HEXPIRE big 1000 FIELDS 1 f0
            r HPEXPIREAT big 281474976710655000 FIELDS 1 f0
            r HPERSIST big FIELDS 1 f0
        }
        "gone, because its time has come" {
            r HPEXPIRE big 20 FIELDS 1 f0
            wait_for_condition 10 {[r HLEN big] == $count - 1}
        }
        "deleted as a field" {r HDEL big f0}
        "deleted and got" {assert_equal 200000 [string length [r HGETDEL big FIELDS 1 f0]]}
        "deleted with its key" {r DEL big}
        "unlinked with its key" {r UNLINK big}
        "renamed with its key, and deleted" {
            r RENAME big other
            r DEL other
        }
        "replaced by another type" {r SET big x}
        "copied, and the original deleted" {
            r COPY big other
            r DEL big
            assert_equal [value_of 200000] [r HGET other f0]
        }
        "gone with its key, whose time has come" {
            r PEXPIRE big 20
            wait_for_condition 10 {[r DBSIZE] == 0}
        }
        "gone with the database, at once" {r FLUSHALL SYNC}
        "gone with the database, in the background" {r FLUSHALL ASYNC}
        "moved to another database, which is flushed" {
            r MOVE big 9
            r SELECT 9
            r FLUSHDB ASYNC
            r SELECT 0
        }
    } {
        # Few fields are freed at once, more of them in the background.
        foreach count {3 100} {
            test "A value that a reply refers to stays while it is $what ($count fields)" {
                if {!$warm} {
                    while_referred $count {}
                    set warm 1
                    r FLUSHALL
                    wait_for_condition 10 {[info_field connected_clients clients] == 1}
                }
                set before [used]
                while_referred $count $body
                assert_memory_back $before
            }
        }
    }

    test "Replies of whole hashes refer to all of their values, which go while they wait" {
        set before [used]
        set value [value_of 200000]
        set expected ""
        for {set i 0} {$i < 100} {incr i} {
            r HSET big f$i $value
        }
        set channel [ask_and_wait {"HVALS big" "HVALS big"}]
        r UNLINK big
        read_on $channel [string repeat "*100\r\n[string repeat [bulk $value] 100]" 2]
        assert_memory_back $before
    }

    test "Who hangs up leaves no references behind" {
        set before [used]
        foreach body {{r UNLINK big} {r FLUSHALL ASYNC} {r HDEL big f0} {}} {
            for {set i 0} {$i < 100} {incr i} {
                r HSET big f$i [value_of 200000]
            }
            set channel [ask_and_wait [lrepeat $asked "HGET big f0"]]
            eval $body
            close $channel
            assert_memory_back $before
        }
    }
}
