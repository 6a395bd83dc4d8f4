# maxmemory.tcl -- which keys are evicted when memory is full, policy by policy.
#
# SPDX-License-Identifier: BSD-3-Clause

set oom "OOM command not allowed when used memory > 'maxmemory'."
set long [string repeat x 2000]

# Returns the memory that is compared with maxmemory: without buffers of the log.
proc counted {} {
    set info [r INFO memory]
    return [expr {[field_of $info used_memory] - [field_of $info mem_aof_buffer]}]
}

# Sets maxmemory to BYTES more than is used, once closed connections and deleted values have freed their memory.
proc leave_room {bytes} {
    wait_for_condition 5 {[info_field connected_clients clients] == 1 && [info_field lazyfree_pending_objects memory] == 0}
    set before -1
    set now [counted]
    for {set i 0} {$i < 50 && abs($now - $before) > 20000} {incr i} {
        set before $now
        after 50
        set now [counted]
    }
    r CONFIG SET maxmemory [expr {$now + $bytes}]
}

# Stores COUNT keys PREFIX:i of 2000 bytes and ignores errors. Options are passed to SET.
proc fill {prefix count args} {
    set commands {}
    for {set i 0} {$i < $count} {incr i} {
        lappend commands [list SET $prefix:$i $::long {*}$args]
    }
    with_clients c {
        $c pipeline $commands
        return [$c replies $count]
    }
}

proc count_keys {pattern} {
    return [llength [r KEYS $pattern]]
}

start_server {each {r CONFIG SET maxmemory 0 maxmemory-policy noeviction; r FLUSHALL; r CONFIG RESETSTAT}} {

    test "noeviction: writes that need memory are refused, the rest works" {
        r SET key value
        r SET number 1
        r CONFIG SET maxmemory 1
        foreach command {{SET other x} {SET key x} {INCR number} {APPEND key x} {MSET a 1} {SETRANGE key 0 x} {GETSET key x}
            {SETNX other x} {COPY key other} {INCRBYFLOAT number 1}} {
            assert_error $oom {r {*}$command}
        }
        assert_equal value [r GET key]
        assert_equal {value 1} [r MGET key number]
        assert_equal 1 [r EXPIRE key 100]
        assert_equal 1 [r PERSIST key]
        assert_equal OK [r RENAME key renamed]
        assert_equal 1 [r DEL renamed]
        assert_equal OK [r FLUSHALL]
        assert_equal PONG [r PING]
    }

    test "noeviction: nothing is evicted" {
        # Input buffers of the connection count as well, at most a few hundred kilobytes.
        leave_room 500000
        set replies [fill key 500]
        assert {[lsearch $replies "(error) $::oom"] > 0}
        set stored [llength [lsearch -all -exact $replies OK]]
        assert_equal $stored [r DBSIZE]
        assert_equal 0 [info_field evicted_keys stats]
    }

    test "The reply to a refused write is an error of its own kind" {
        r CONFIG SET maxmemory 1
        assert_equal "-$::oom\r\n" [[default_client] raw SET key value]
    }

    test "A limit holds for what stands behind it in its pipeline" {
        with_clients c {
            $c pipeline {{CONFIG SET maxmemory 1} {SET behind x} {GET behind} {CONFIG SET maxmemory 0} {SET behind y}}
            assert_equal [list OK \
                "(error) OOM command not allowed when used memory > 'maxmemory'." (nil) OK OK] [$c replies 5]
        }
    }

    # The limit is so far that a batch of ordinary commands does not check it.
    test "A large value that would break the limit is refused, however far the limit was" {
        leave_room 40000000
        assert_error *OOM* {r SET large [string repeat x 50000000]}
        assert_equal 0 [r EXISTS large]
    }

    test "What takes much is seen by the command behind it in its pipeline" {
        leave_room 40000000
        with_clients c {
            $c pipeline {{SETRANGE large 50000000 x} {SET behind x} {GET behind}}
            assert_equal [list 50000001 \
                "(error) OOM command not allowed when used memory > 'maxmemory'." (nil)] [$c replies 3]
        }
    }

    test "maxmemory 0 is no limit" {
        assert_equal [lrepeat 100 OK] [fill key 100]
    }

    foreach policy {allkeys-lru allkeys-lfu allkeys-random} {
        test "$policy: any key may go, and no write is refused" {
            r CONFIG SET maxmemory-policy $policy
            leave_room 500000
            assert_equal [lrepeat 1000 OK] [fill key 1000]
            assert_between 50 300 [r DBSIZE]
            # Both numbers are from one reply: at the limit every command may evict another key.
            set info [r INFO everything]
            assert {[regexp {evicted_keys:(\d+)} $info - evicted] && [regexp {db0:keys=(\d+)} $info - keys]}
            assert_equal 1000 [expr {$keys + $evicted}]
            assert {[counted] <= [config_value maxmemory] + 300000}
        }
    }

    foreach policy {volatile-lru volatile-lfu volatile-random volatile-ttl} {
        test "$policy: only keys with an expire time go" {
            r CONFIG SET maxmemory-policy $policy
            fill stays 50
            leave_room 300000
            assert_equal [lrepeat 500 OK] [fill goes 500 EX 1000]
            assert_equal 50 [count_keys stays:*]
            assert_between 10 250 [count_keys goes:*]
        }

        test "$policy: without keys that may go, writes are refused" {
            r CONFIG SET maxmemory-policy $policy
            leave_room 100000
            set replies [fill stays 600] ;# more than a thread may still have to free
            assert {[lsearch $replies "(error) $::oom"] > 0}
            assert_equal 0 [info_field evicted_keys stats]
        }
    }

    test "volatile-ttl: what would expire first goes first" {
        r CONFIG SET maxmemory-policy volatile-ttl maxmemory-samples 64
        fill early 100 EX 100
        fill late 100 EX 100000
        leave_room 0
        fill new 50 EX 1000000
        wait_for_condition 5 {[count_keys early:*] < 70}
        assert {[count_keys late:*] >= 95}
    }

    test "allkeys-lru: what was used last stays" {
        r CONFIG SET maxmemory-policy allkeys-lru maxmemory-samples 64
        fill old 100
        after 1200
        fill fresh 100
        leave_room 0
        fill new 50
        wait_for_condition 5 {[count_keys old:*] < 75}
        assert {[count_keys fresh:*] >= 90}
    }

    test "allkeys-lfu: what is used often stays" {
        r CONFIG SET maxmemory-policy allkeys-lfu maxmemory-samples 64
        fill often 50
        fill seldom 100
        set commands {}
        for {set round 0} {$round < 60} {incr round} {
            for {set i 0} {$i < 50} {incr i} {
                lappend commands [list GET often:$i]
            }
        }
        with_clients c {
            $c pipeline $commands
            $c replies 3000
        }
        leave_room 0
        fill new 50
        assert {[count_keys often:*] >= 48}
    }

    test "One large value makes room by many evictions" {
        r CONFIG SET maxmemory-policy volatile-lru ;# the large key itself must not be evicted
        fill key 500 EX 1000
        leave_room 100000
        r SET big [string repeat y 600000]
        r SET one more
        wait_for_condition 5 {[r DBSIZE] <= 450} ;# eviction continues in time slices
        assert_between 20 450 [r DBSIZE]
    }

    test "Lowering maxmemory evicts by itself" {
        r CONFIG SET maxmemory-policy allkeys-lru
        fill key 1000
        r CONFIG SET maxmemory [expr {[counted] - 1000000}]
        wait_for_condition 5 {[r DBSIZE] < 700}
    }

    test "While clients are paused nothing is evicted" {
        r CONFIG SET maxmemory-policy allkeys-lru
        fill key 500
        r CLIENT PAUSE 100000 WRITE
        r CONFIG SET maxmemory 1000000
        # Reads and loop iterations could evict.
        for {set i 0} {$i < 20} {incr i} {
            assert_equal 500 [r DBSIZE]
            after 10
        }
        assert_equal 0 [info_field evicted_keys stats]
        r CLIENT UNPAUSE
        wait_for_condition 5 {[r DBSIZE] < 450}
    }

    test "Large values on their way make room before they arrive" {
        r CONFIG SET maxmemory-policy allkeys-lru
        fill key 10000 ;# 20 MB and more
        leave_room 0
        with_clients {a b c d} {
            foreach client [list $a $b $c $d] {
                $client write "*3\r\n\$3\r\nSET\r\n\$5\r\nlarge\r\n\$3000000\r\n[string repeat x 2900000]"
            }
            # 12 MB are in buffers. Up to a mebibyte may not count, and half of one is for connections and tables.
            # Eviction continues in time slices.
            wait_for_condition 20 {[r DBSIZE] < 6500}
            wait_for_condition 20 {[counted] <= [config_value maxmemory] + 1572864}
            foreach client [list $a $b $c $d] {
                $client write "[string repeat x 100000]\r\n"
                assert_equal OK [$client reply]
            }
        }
    }

    test "Values in flight count: evicting under large pipelines ends well" {
        r CONFIG SET maxmemory-policy allkeys-random
        leave_room 3000000
        with_clients {a b} {
            set commands {}
            for {set i 0} {$i < 300} {incr i} {
                lappend commands [list SET big:$i [string repeat b 50000]] [list GET big:[expr {$i / 2}]]
            }
            $a pipeline $commands
            $b pipeline $commands
            foreach c [list $a $b] {
                foreach {set get} [$c replies 600] {
                    assert_equal OK $set
                    assert {$get eq "(nil)" || $get eq [string repeat b 50000]}
                }
            }
        }
        # Only three of 15 megabytes fit.
        wait_for_condition 5 {[r DBSIZE] <= 65}
        assert_between 235 600 [info_field evicted_keys stats]
        assert_between 20 65 [r DBSIZE]
    }
}
