# expire.tcl -- expired keys: they are never visible, and their memory is freed without access.
#
# SPDX-License-Identifier: BSD-3-Clause

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
