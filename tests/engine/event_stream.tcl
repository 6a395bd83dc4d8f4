# event_stream.tcl -- notify-keyspace-events-stream: keyspace events as entries of a stream.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files
source [file join $support propagated.tcl]
source [file join $support replicas.tcl]
source [file join $support waiting.tcl]

set dump ""

# Returns the entries of the stream as dictionaries.
proc entries {{key events}} {
    return [lmap entry [r XRANGE $key - +] {lindex $entry 1}]
}

# Returns the entries as "event key" each.
proc events {{key events}} {
    return [lmap entry [entries $key] {list [dict get $entry event] [dict get $entry key]}]
}

# Returns the commands that the log got since OFFSET, without SELECT.
proc logged {offset} {
    r WAITAOF 1 0 0
    return [shown_commands [string range [read_file $::aof] $offset end]]
}

proc log_size {} {
    r WAITAOF 1 0 0
    return [file size $::aof]
}

proc same_after_restart {} {
    set before [r DEBUG DIGEST]
    r DEBUG LOADAOF
    assert_equal $before [r DEBUG DIGEST]
}

start_server {overrides {appendonly yes auto-aof-rewrite-percentage 0 notify-keyspace-events-stream events notify-keyspace-events A}
    each {r FLUSHALL; r SELECT 0}} {
    set aof [file join [srv dir] appendonlydir appendonly.aof.1.incr.aof]

    test "Events become entries, without K and E" {
        r SET a 1
        r RPUSH list 1 2
        r LPOP list 2
        r DEL a
        r DEL a
        assert_equal {{set a} {rpush list} {lpop list} {del list} {del a}} [events]
        assert_equal {event set key a} [lindex [entries] 0]
        set ids [lmap entry [r XRANGE events - +] {lindex $entry 0}]
        assert_equal [lsort -unique -dictionary $ids] $ids
        assert {abs([lindex [split [lindex $ids 0] -] 0] - [clock milliseconds]) < 60000}
    }

    test "Only the classes of notify-keyspace-events are recorded, and never keymiss" {
        with_config {notify-keyspace-events lm} {
            r SET a 1
            r RPUSH list 1
            r GET nothing
            assert_equal {{rpush list}} [events]
        }
        with_config {notify-keyspace-events ""} {
            r RPUSH list 2
            assert_equal {{rpush list}} [events]
        }
        with_config {notify-keyspace-events KEA} {
            with_clients {s} {
                $s HELLO 3
                $s raw PSUBSCRIBE __key*
                r SET b 1
                r PING
                $s PING
                # The messages are those of SET; the entry itself causes none.
                assert_equal {{pmessage __key* __keyspace@0__:b set} {pmessage __key* __keyevent@0__:set b}} [$s take_pushes]
            }
        }
    }

    test "The value of an expired string is in its entry, up to a size; of other types only the type" {
        r CONFIG SET notify-keyspace-events x
        with_config {notify-keyspace-events-stream-value-max 10} {
            r SET text "ten bytes!" PX 1
            r SET number 12345 PX 1
            r SET empty "" PX 1
            r SET long "eleven byte" PX 1
            r RPUSH list 1
            r PEXPIRE list 1
            wait_for_condition 10 {[r XLEN events] == 5}
            set got [dict create]
            foreach entry [entries] {dict set got [dict get $entry key] $entry}
            foreach {key value} {text "ten bytes!" number 12345 empty ""} {
                assert_equal [list event expired key $key type string value $value] [dict get $got $key]
            }
            assert_equal {event expired key long type string} [dict get $got long]
            assert_equal {event expired key list type list} [dict get $got list]
        }
        r CONFIG SET notify-keyspace-events A
    }

    test "A key that a lookup finds expired, one that gets a TTL in the past, expired fields" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        r SET a old PX 1
        r SET b old
        r HSET hash f 1 g 2
        after 10
        r DEL events
        set at [log_size]
        assert_equal (nil) [r GET a]
        r PEXPIREAT b 1
        r HPEXPIREAT hash 1 FIELDS 1 f
        r DEBUG SET-ACTIVE-EXPIRE 1
        assert_equal {{expired a} {expired b} {hexpired hash}} [events]
        assert_equal {event expired key b type string value old} [lindex [entries] 1]
        assert_equal "MULTI; UNLINK a; XADD events ID event expired key a type string value old; EXEC;\
            MULTI; UNLINK b; XADD events ID event expired key b type string value old; EXEC;\
            MULTI; HDEL hash f; XADD events ID event hexpired key hash; EXEC" [logged $at]
        same_after_restart
    }

    test "Entries and what caused them are one unit of the log" {
        set at [log_size]
        r SET a 1
        r SET a 2 PX 100000000
        r MULTI
        r INCR n
        r PING
        r DEL n nothing
        r EXEC
        r EVAL {redis.call("SET", "x", "1"); redis.call("GET", "x"); return redis.call("APPEND", "x", "2")} 0
        assert_equal "MULTI; SET a 1; XADD events ID event set key a; EXEC;\
            MULTI; SET a 2 PXAT MS; XADD events ID event set key a; XADD events ID event expire key a; EXEC;\
            MULTI; INCR n; XADD events ID event incrby key n; DEL n nothing; XADD events ID event del key n; EXEC;\
            MULTI; SET x 1; XADD events ID event set key x; APPEND x 2; XADD events ID event append key x; EXEC" \
            [logged $at]
        same_after_restart
    }

    test "Keys that expire by themselves: their removals and entries are one unit" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        for {set i 0} {$i < 20} {incr i} {r SET k$i v PX 1}
        r HSET hash f 1
        r HPEXPIRE hash 1 FIELDS 1 f
        r DEL events
        after 10
        set at [log_size]
        r DEBUG SET-ACTIVE-EXPIRE 1
        wait_for_condition 10 {[r XLEN events] == 22}
        assert_equal 0 [expr {[r DBSIZE] - 1}]
        set within 0
        set removed {}
        foreach command [split [string map {"; " \n} [logged $at]] \n] {
            switch -glob $command {
                MULTI {set within 1}
                EXEC {
                    assert_equal {} $removed
                    set within 0
                }
                "UNLINK *" - "HDEL *" {
                    assert_equal 1 $within
                    lappend removed [lindex $command 1]
                }
                "XADD events ID event *expired *" {
                    set i [lsearch $removed [lindex $command 6]]
                    assert {$i >= 0}
                    set removed [lreplace $removed $i $i]
                }
                "XADD events ID event del key hash" {
                    set i [lsearch $removed hash]
                    set removed [lreplace $removed $i $i]
                }
                default {fail $command}
            }
        }
        same_after_restart
    }

    test "Events of the stream itself are not recorded" {
        r SET a 1
        r XADD events * own entry
        r XTRIM events MAXLEN 1
        r XGROUP CREATE events g 0
        r EXPIRE events 1000
        r RENAME events other
        r SET b 1
        assert_equal {{rename_to other} {set b}} [events]
        assert_equal {{own entry}} [entries other]
        r DEL events
        assert_equal 0 [r EXISTS events]
        r SET events text
        assert_equal text [r GET events]
    }

    test "The stream is trimmed, and so is what one command may collect" {
        with_config {notify-keyspace-events-stream-maxlen 300} {
            r CONFIG RESETSTAT
            r MULTI
            for {set i 0} {$i < 2000} {incr i} {r SET k$i v}
            r EXEC
            assert_between 300 [expr {300 + [config_value stream-node-max-entries]}] [r XLEN events]
            assert_equal {set k1999} [lindex [events] end]
            assert_equal 2000 [info_field keyspace_event_entries]
            r DEL {*}[lmap i [lsearch -all [lrepeat 2000 x] x] {set i k$i}]
            assert_between 300 [expr {300 + [config_value stream-node-max-entries]}] [r XLEN events]
            assert_equal {del k1999} [lindex [events] end]
            set lost [info_field keyspace_event_entries_lost]
            assert_between 1000 1700 $lost
            assert_equal [expr {4000 - $lost}] [info_field keyspace_event_entries]
            same_after_restart
            r SET k 1
            same_after_restart
        }
    }

    test "Each database has a stream for its events" {
        r SET a 1
        r SELECT 3
        r SET b 1
        r MOVE b 0
        assert_equal {{set b} {move_from b}} [events]
        r SWAPDB 0 3
        assert_equal {{set a} {move_to b}} [events]
        r SET c 1
        assert_equal {set c} [lindex [events] end]
        r FLUSHDB
        assert_equal 0 [r EXISTS events]
        r SELECT 0
        assert_equal {{set b} {move_from b}} [events]
        same_after_restart
    }

    test "Blocked readers are woken, also by keys that expire by themselves" {
        r XGROUP CREATE events workers $ MKSTREAM
        with_clients {worker} {
            foreach command {{XREADGROUP GROUP workers w COUNT 1 BLOCK 20000 STREAMS events >} {XREAD BLOCK 20000 STREAMS events $}} {
                waits $worker {*}$command
                r SET a 1
                assert_equal {event set key a} [lindex [$worker reply] 0 1 0 1]
                r CONFIG SET notify-keyspace-events ""
                r SET b job PX 300
                r CONFIG SET notify-keyspace-events A
                waits $worker {*}$command
                assert_equal {event expired key b type string value job} [lindex [$worker reply] 0 1 0 1]
            }
        }
        assert_equal 2 [lindex [r XPENDING events workers] 0]
        r XACK events workers {*}[lmap entry [r XRANGE events - +] {lindex $entry 0}]
        same_after_restart
    }

    test "A transaction that watches the stream fails, and caches learn of it" {
        with_clients {c} {
            $c HELLO 3
            $c CLIENT TRACKING ON
            r SET first 1
            $c XLEN events
            $c WATCH events
            r SET a 1
            $c PING
            assert_equal {{invalidate events}} [$c take_pushes]
            $c MULTI
            $c PING
            assert_equal (nil) [$c EXEC]
        }
    }

    test "A key of another type is left alone, counted, and logged once" {
        r CONFIG RESETSTAT
        with_config {notify-keyspace-events ""} {r SET events text}
        r SET a 1
        r SET b 1
        assert_equal text [r GET events]
        assert_equal {2 0} [list [info_field keyspace_event_entries_lost] [info_field keyspace_event_entries]]
        assert_equal 1 [regexp -all {Keyspace events of database 0 are not recorded: .* of type string} [srv log]]
        r DEL events
        r SET c 1
        assert_equal {{set c}} [events]
        assert_equal 1 [info_field keyspace_event_entries]
        r CONFIG RESETSTAT
        assert_equal 0 [info_field keyspace_event_entries]
        r SET [string repeat k 2000000] v
        assert_equal {1 0} [list [info_field keyspace_event_entries_lost] [info_field keyspace_event_entries]]
    }

    test "The option can be changed at any time" {
        r SET a 1
        r CONFIG SET notify-keyspace-events-stream other
        r SET b 1
        r CONFIG SET notify-keyspace-events-stream ""
        r SET c 1
        assert_equal {{set a}} [events]
        assert_equal {{set b}} [events other]
        assert_equal {notify-keyspace-events-stream {}} [r CONFIG GET notify-keyspace-events-stream]
        set at [log_size]
        r SET d 1
        assert_equal "SET d 1" [logged $at]
        r CONFIG SET notify-keyspace-events-stream events
        r SET e 1
        assert_equal {{set a} {set e}} [events]
        assert_error "ERR CONFIG SET failed*" {r CONFIG SET notify-keyspace-events-stream-maxlen 0}
    }

    test "Evicted keys" {
        r CONFIG SET notify-keyspace-events e
        for {set i 0} {$i < 300} {incr i} {r SETEX k$i 1000 [string repeat x 20000]}
        set at [log_size]
        with_config {maxmemory-policy volatile-lru lazyfree-lazy-eviction no} {
            with_config [list maxmemory [expr {[info_field used_memory] - 3000000}]] {
                wait_for_condition 10 {[info_field evicted_keys] > 20}
                r GET nothing
                set kinds [lmap e [events] {lindex $e 0}]
                assert {[llength $kinds] > 20}
                assert_equal evicted [lsort -unique $kinds]
            }
        }
        set removed [regexp -all {(^|; )DEL } [logged $at]]
        assert_equal $removed [regexp -all {XADD events} [logged $at]]
        assert_no_match {DEL *} [logged $at] ;# none is alone
        r CONFIG SET notify-keyspace-events A
        same_after_restart
    }

    test "A server without a log and replicas records as well, and after kill -9 nothing is recorded twice" {
        r SET a 1 PX 100
        wait_for_condition 10 {[r XLEN events] == 3}
        set before [r XRANGE events - +]
        r WAITAOF 1 0 0
        exec kill -KILL [srv pid]
        wait_exit [srv dir] 5
        expect_exit 137
        restart_server
        expect_exit 0
        assert_equal $before [r XRANGE events - +]
        r CONFIG SET appendonly no
        r SET b 1 PX 100
        wait_for_condition 10 {[llength [events]] == 6}
        assert_equal {{set b} {expire b} {expired b}} [lrange [events] 3 end]
        r CONFIG SET appendonly yes
        wait_for_condition 10 {[info_field aof_rewrite_in_progress] == 0}
    }
}

start_server [list overrides [concat $quick {notify-keyspace-events A notify-keyspace-events-stream events}]] {
    set primary [default_client]
    set port [srv port]
    start_server {overrides {notify-keyspace-events A notify-keyspace-events-stream events}} {
        set replica [default_client]

        test "Replicas get the entries of their primary and add none" {
            $primary SET before 1
            follow $replica $port
            $primary SET a 1
            $primary SET b job PX 50
            $primary EVAL {redis.call("SET", "x", "1"); redis.call("DEL", "x")} 0
            wait_for_condition 10 {[lindex [$primary XREVRANGE events + - COUNT 1] 0 1 1] eq "expired"}
            in_step $primary $replica
            assert_equal [$primary XRANGE events - +] [$replica XRANGE events - +]
            assert_same_data $primary $replica
            assert_equal 0 [info_field keyspace_event_entries]
            assert_equal 7 [$replica XLEN events]
        }

        test "A replica that becomes a primary goes on in the same stream" {
            $replica REPLICAOF NO ONE
            $replica SET c 1
            assert_equal 8 [$replica XLEN events]
            assert_equal {event set key c} [lindex [$replica XREVRANGE events + - COUNT 1] 0 1]
        }
    }
}
