# expire.tcl -- expired keys: they are never visible, and their memory is freed without access.
#
# SPDX-License-Identifier: BSD-3-Clause

# Sets COUNT keys named PREFIX:N with the options OPTIONS of SET.
proc set_keys {prefix count args} {
    set commands {}
    for {set i 0} {$i < $count} {incr i} {lappend commands [list SET $prefix:$i value {*}$args]}
    with_clients c {
        $c pipeline $commands
        $c replies $count
    }
}

# Waits until the server has an index of all keys with a TTL, or none.
proc wait_for_index {kept} {
    wait_for_condition 10 {([info_field expire_index_entries stats] > 0) == $kept}
}

start_server {each {r FLUSHALL; r DEBUG SET-ACTIVE-EXPIRE 1}} {

    test "A key is gone the moment its time is up, for every command" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        foreach {command expected} {
            {GET key} (nil)  {EXISTS key} 0  {TYPE key} none  {TTL key} -2  {STRLEN key} 0  {MGET key} (nil)
            {DEL key} 0  {UNLINK key} 0  {GETDEL key} (nil)  {PERSIST key} 0  {EXPIRE key 10} 0  {COPY key b} 0
            {TOUCH key} 0  {GETRANGE key 0 -1} {}  {KEYS *} {}  {OBJECT ENCODING key} (nil)  {RANDOMKEY} (nil)
            {SETNX key x} 1  {APPEND key x} 1  {INCR key} 1  {SETRANGE key 0 ab} 2  {GETSET key x} (nil)
            {GETEX key} (nil)  {MOVE key 1} 0  {SET key x XX} (nil)  {SET key x GET} (nil)  {LCS key key LEN} 0
        } {
            r FLUSHALL
            r SET key value PX 1
            after 5
            assert_equal "$command $expected" "$command [r {*}$command]"
        }
    }

    test "LATENCY has the deletion of a large key that a read finds expired" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        r CONFIG SET lazyfree-lazy-expire no latency-monitor-threshold 1
        r EVAL {for i = 1, 100 do
            local t = {}
            for j = 1, 3000 do t[j] = i .. ':' .. j end
            redis.call('SADD', 'large', unpack(t))
        end} 0
        r PEXPIRE large 1
        after 5
        r LATENCY RESET
        r GET large
        set events [lsort [lmap event [r LATENCY LATEST] {lindex $event 0}]]
        set events [lsearch -all -inline -not $events aof-*] ;# ./runtest --persist
        r CONFIG SET lazyfree-lazy-expire yes latency-monitor-threshold 0
        assert_equal {expire-del fast-command} $events
    }

    test "A write after expiry starts without an expire time" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        r SET key 10 PX 1
        after 10
        assert_equal 1 [r INCR key]
        assert_equal -1 [r TTL key]
    }

    test "A key does not expire before its time" {
        set before [clock milliseconds]
        r SET key value PX 400
        assert_between -2 400 [r PTTL key]
        wait_for_condition 10 {[r GET key] eq "(nil)"}
        assert {[clock milliseconds] - $before >= 400}
    }

    test "PTTL runs down" {
        r SET key value PX 1000000
        set passed [elapsed_ms {
            set before [r PTTL key]
            after 50
            set after [r PTTL key]
        }]
        assert_between 49 [expr {$passed + 1}] [expr {$before - $after}]
    }

    test "Keys nobody touches are removed in the background" {
        set commands {}
        for {set i 0} {$i < 1000} {incr i} {
            lappend commands [list SET key:$i value PX [expr {1 + $i % 100}]]
        }
        with_clients c {
            $c pipeline $commands
            $c replies 1000
        }
        r SET stays value
        wait_for_condition 10 {[r DBSIZE] == 1}
        assert_equal value [r GET stays]
    }

    test "DEBUG SET-ACTIVE-EXPIRE 0 keeps the background from removing keys" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        r MSET a 1 b 2
        r PEXPIRE a 1
        r PEXPIRE b 1
        after 300
        assert_equal 2 [r DBSIZE]
        assert_equal (nil) [r GET a]
        assert_equal 1 [r DBSIZE]
        r DEBUG SET-ACTIVE-EXPIRE 1
        wait_for_condition 5 {[r DBSIZE] == 0}
    }

    test "Expired keys are counted" {
        r CONFIG RESETSTAT
        r DEBUG SET-ACTIVE-EXPIRE 0
        for {set i 0} {$i < 10} {incr i} {
            r SET key:$i value PX 1
        }
        after 20
        for {set i 0} {$i < 10} {incr i} {
            r GET key:$i
        }
        assert_equal 10 [info_field expired_keys stats]
    }

    foreach command {{SORT d STORE k} {SINTERSTORE k d d} {ZUNIONSTORE k 1 d} {ZRANGESTORE k d 0 -1} {BITOP AND k d d}} {
        test "A key whose time is up and for which nothing comes is deleted, not expired: [lindex $command 0]" {
            r FLUSHALL
            r DEBUG SET-ACTIVE-EXPIRE 0
            r SET k value PX 1
            after 20
            r CONFIG RESETSTAT
            set changes [info_field rdb_changes_since_last_save persistence]
            assert_equal 0 [r {*}$command]
            assert_equal {0 1} [list [info_field expired_keys stats] \
                [expr {[info_field rdb_changes_since_last_save persistence] - $changes}]]
            r DEBUG SET-ACTIVE-EXPIRE 1
        }
    }

    test "INFO keyspace counts keys with an expire time" {
        r MSET a 1 b 2 c 3
        r EXPIRE a 100
        r EXPIRE b 100
        assert_match "keys=3,expires=2,*" [info_field db0 keyspace]
        r PERSIST a
        assert_match "keys=3,expires=1,*" [info_field db0 keyspace]
        r DEL b
        assert_match "keys=2,expires=0,*" [info_field db0 keyspace]
    }

    test "Keys expire in every database" {
        foreach db {0 1 7 15} {
            r SELECT $db
            r SET key value PX 20
        }
        r SELECT 0
        wait_for_condition 10 {![regexp {db\d} [r INFO keyspace]]}
    }

    test "An expire time far in the future is kept to the millisecond" {
        r SET key value PXAT 32503680000123
        assert_equal 32503680000123 [r PEXPIRETIME key]
        assert_equal 32503680000 [r EXPIRETIME key]
    }

    test "A large number of keys with and without times keeps its order of life" {
        r DEBUG POPULATE 2000
        set commands {}
        for {set i 0} {$i < 2000} {incr i 2} {
            lappend commands [list PEXPIRE key:$i 1]
        }
        with_clients c {
            $c pipeline $commands
            $c replies 1000
        }
        wait_for_condition 10 {[r DBSIZE] == 1000}
        for {set i 1} {$i < 2000} {incr i 100} {
            assert_equal value:$i [r GET key:$i]
        }
    }
}

# ---- The index of keys by time ----------------------------------------------------------------------------------------

start_server {each {r FLUSHALL; r CONFIG SET expire-precise auto}} {

    test "Keys that are due together among many others are all deleted at once, and their events come" {
        set_keys later 10000 EX 10000
        wait_for_index 1
        with_config {notify-keyspace-events Ex} {
            with_clients s {
                $s HELLO 3
                $s raw SUBSCRIBE __keyevent@0__:expired
                $s PING
                set_keys due 1000 PXAT [expr {[clock milliseconds] + 500}]
                wait_for_condition 5 {[r DBSIZE] == 10000}
                $s PING
                set events [lsearch -all -inline -index 0 [$s take_pushes] message]
                assert_equal 1000 [llength [lsort -unique $events]]
            }
        }
        assert_equal 1000 [info_field expired_keys stats]
    }

    test "Fields that are due together among many other hashes are all deleted at once" {
        set commands {}
        for {set i 0} {$i < 10000} {incr i} {lappend commands [list HSETEX later:$i EX 10000 FIELDS 1 f v]}
        with_clients c {
            $c pipeline $commands
            $c replies 10000
            wait_for_index 1
            set at [expr {[clock milliseconds] + 500}]
            set commands {}
            for {set i 0} {$i < 1000} {incr i} {lappend commands [list HSETEX due:$i PXAT $at FIELDS 1 f v]}
            $c pipeline $commands
            $c replies 1000
        }
        r HSETEX later:0 PXAT $at FIELDS 1 g v
        wait_for_condition 5 {[r DBSIZE] == 10000}
        assert_equal 1 [r HLEN later:0]
    }

    test "Keys are due in time whatever became of them before" {
        set_keys later 5000 EX 10000
        set at [expr {[clock milliseconds] + 1000}]
        set_keys k 20 PXAT $at
        r RENAME k:0 renamed
        r COPY k:1 copied
        r MOVE k:2 3
        r GETEX k:3 PXAT [expr {$at + 200}]
        r RESTORE restored $at [r DUMP k:4] ABSTTL
        r APPEND k:5 more
        r SETRANGE k:6 100 more
        r INCR number
        r PEXPIREAT number $at
        r INCR number
        r SADD set a b c
        r PEXPIREAT set [expr {$at + 10000}]
        r PEXPIREAT set $at
        r PERSIST k:7
        r SET k:8 value
        r GETEX k:9 PERSIST
        r SET k:10 value KEEPTTL
        r DEL k:11
        r SET k:11 value EX 10000
        r SET k:12 value PX 100000
        r PEXPIREAT k:12 $at
        foreach key {k:13 k:14} {r SET $key value EX 10000}
        set stay {k:7 k:8 k:9 k:11 k:13 k:14}
        wait_for_condition 8 {[r DBSIZE] == 5000 + [llength $stay]}
        assert_equal [llength $stay] [r EXISTS {*}$stay]
        assert_no_match "*db3*" [r INFO keyspace]
    }

    test "Keys are due in time after a swap of databases, a flush, and a reload" {
        set_keys later 3000 EX 10000
        set at [expr {[clock milliseconds] + 1500}]
        set_keys k 100 PXAT $at
        r SWAPDB 0 1
        set_keys later 3000 EX 10000
        r FLUSHDB
        set_keys l 100 PXAT $at
        set_keys later 3000 EX 10000
        r DEBUG RELOAD
        set_keys m 100 PXAT $at
        wait_for_condition 8 {[r DBSIZE] == 3000}
        r SELECT 1
        wait_for_condition 2 {[r DBSIZE] == 3000}
        r SELECT 0
    }

    test "expire-precise switches while clients write" {
        set_keys later 20000 EX 10000
        set at [expr {[clock milliseconds] + 1500}]
        foreach {kept value} {0 no 1 yes 0 no 1 auto} {
            r CONFIG SET expire-precise $value
            set_keys $value 500 PXAT $at
            wait_for_index $kept
        }
        wait_for_condition 8 {[r DBSIZE] == 20000}
        assert_between 20000 50000 [info_field expire_index_entries stats]
        r CONFIG SET expire-precise no
        wait_for_index 0
        assert_equal 0 [info_field expire_index_bytes stats]
    }

    test "The index counts as memory of the table of keys with a TTL" {
        r CONFIG SET expire-precise no
        set_keys k 10000 EX 10000
        wait_for_index 0
        set before [dict get [dict get [r MEMORY STATS] db.0] overhead.hashtable.expires]
        r CONFIG SET expire-precise yes
        wait_for_index 1
        set bytes [info_field expire_index_bytes stats]
        set after [dict get [dict get [r MEMORY STATS] db.0] overhead.hashtable.expires]
        assert_equal $bytes [expr {$after - $before}]
        assert_between 80000 130000 $bytes
    }

    test "With auto the index takes at most a sixteenth of maxmemory" {
        set_keys k 10000 EX 10000
        wait_for_index 1
        with_config {maxmemory-policy noeviction maxmemory 1000000} {wait_for_index 0}
        wait_for_index 1
    }

    test "A paused server deletes nothing, and then all that is due" {
        set_keys later 2000 EX 10000
        set_keys k 100 PX 300
        r CLIENT PAUSE 1000 WRITE
        after 600
        assert_equal 2100 [r DBSIZE]
        wait_for_condition 5 {[r DBSIZE] == 2000}
    }

    test "expire_lag_milliseconds is small while few keys are due" {
        set_keys k 100 PX 200
        wait_for_condition 5 {[r DBSIZE] == 0}
        assert_between 0 3000 [info_field expire_lag_milliseconds stats]
        wait_for_condition 5 {[info_field expire_lag_milliseconds stats] == 0}
    }
}
