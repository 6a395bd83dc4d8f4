# keys.tcl -- the commands for keys of any type, and for whole databases.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_number {ERR wrong number of arguments for '%s' command}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}

proc scan_all {args} {
    set cursor 0
    set found {}
    while 1 {
        lassign [r SCAN $cursor {*}$args] cursor keys
        lappend found {*}$keys
        if {$cursor eq "0"} {
            return [lsort -unique $found]
        }
    }
}

start_server {each {r FLUSHALL; r SELECT 0}} {

    # ---- DEL UNLINK EXISTS TOUCH TYPE -------------------------------------------------------------------------

    foreach command {DEL UNLINK} {
        test "$command deletes keys and counts those that were there" {
            r MSET a 1 b 2 c 3
            assert_equal 2 [r $command a none c]
            assert_equal b [r KEYS *]
            assert_equal 0 [r $command a]
        }

        test "$command of one key twice counts it once" {
            r SET a 1
            assert_equal 1 [r $command a a]
        }

        test "$command refuses to be without a key" {
            assert_error [format $wrong_number [string tolower $command]] {r $command}
        }

        test "$command of a large value" {
            r SET big [string repeat x 5000000]
            assert_equal 1 [r $command big]
            assert_equal 0 [r EXISTS big]
        }
    }

    test "EXISTS counts each mention of an existing key" {
        r MSET a 1 b 2
        assert_equal 1 [r EXISTS a]
        assert_equal 0 [r EXISTS none]
        assert_equal 4 [r EXISTS a a b none a]
        assert_error [format $wrong_number exists] {r EXISTS}
    }

    test "TOUCH counts existing keys" {
        r MSET a 1 b 2
        assert_equal 2 [r TOUCH a none b]
        assert_equal 0 [r TOUCH none]
        assert_error [format $wrong_number touch] {r TOUCH}
    }

    test "TYPE of a string and of nothing" {
        r SET key value
        assert_equal string [r TYPE key]
        assert_equal none [r TYPE nothing]
        assert_equal "+string\r\n" [[default_client] raw TYPE key]
    }

    # ---- RENAME RENAMENX COPY MOVE ----------------------------------------------------------------------------

    test "RENAME moves the value, replaces the target and takes the expire time along" {
        r SET a 1 EX 100
        r SET b 2
        assert_equal OK [r RENAME a b]
        assert_equal 1 [r GET b]
        assert_equal 0 [r EXISTS a]
        assert_between 90 100 [r TTL b]
    }

    test "RENAME over a key with an expire time drops that time" {
        r SET a 1
        r SET b 2 EX 100
        r RENAME a b
        assert_equal -1 [r TTL b]
    }

    test "RENAME to itself keeps the key" {
        r SET a 1
        assert_equal OK [r RENAME a a]
        assert_equal 1 [r GET a]
    }

    test "RENAME of a missing key is an error" {
        assert_error "ERR no such key" {r RENAME none other}
        assert_error "ERR no such key" {r RENAME none none}
        assert_error "ERR no such key" {r RENAMENX none other}
    }

    test "RENAMENX renames only to a free name" {
        r MSET a 1 b 2
        assert_equal 0 [r RENAMENX a b]
        assert_equal 0 [r RENAMENX a a]
        assert_equal {1 2} [r MGET a b]
        assert_equal 1 [r RENAMENX a c]
        assert_equal {(nil) 2 1} [r MGET a b c]
    }

    test "COPY copies the value and the expire time" {
        r SET a value EX 100
        assert_equal 1 [r COPY a b]
        assert_equal {value value} [r MGET a b]
        assert_between 90 100 [r TTL b]
    }

    test "COPY makes values that do not share their future" {
        r SET a [string repeat x 300]
        r COPY a b
        r APPEND a y
        assert_equal [string repeat x 300] [r GET b]
    }

    test "COPY replaces an existing key only with REPLACE" {
        r MSET a 1 b 2
        assert_equal 0 [r COPY a b]
        assert_equal 2 [r GET b]
        assert_equal 1 [r COPY a b REPLACE]
        assert_equal 1 [r GET b]
    }

    test "COPY to another database" {
        r SET a 1
        assert_equal 1 [r COPY a a DB 3]
        r SELECT 3
        assert_equal 1 [r GET a]
        assert_equal 1 [r COPY a b DB 3 REPLACE]
    }

    test "COPY of a missing key is 0" {
        assert_equal 0 [r COPY none b]
    }

    test "COPY refuses to copy onto itself and bad databases" {
        r SET a 1
        assert_error "ERR source and destination objects are the same" {r COPY a a}
        assert_error "ERR source and destination objects are the same" {r COPY a a DB 0 REPLACE}
        assert_error "ERR DB index is out of range" {r COPY a b DB 1000}
        assert_error "ERR DB index is out of range" {r COPY a b DB -1}
        assert_error $not_integer {r COPY a b DB x}
        assert_error $syntax {r COPY a b DB}
        assert_error $syntax {r COPY a b OTHER}
    }

    test "MOVE takes a key and its expire time to another database" {
        r SET a 1 EX 100
        assert_equal 1 [r MOVE a 5]
        assert_equal 0 [r EXISTS a]
        r SELECT 5
        assert_equal 1 [r GET a]
        assert_between 90 100 [r TTL a]
    }

    test "MOVE of a missing key or onto an existing one is 0" {
        assert_equal 0 [r MOVE none 1]
        r SET a 1
        r COPY a a DB 1
        assert_equal 0 [r MOVE a 1]
        assert_equal 1 [r EXISTS a]
    }

    test "MOVE refuses the same database and bad ones" {
        r SET a 1
        assert_error "ERR source and destination objects are the same" {r MOVE a 0}
        assert_error "ERR DB index is out of range" {r MOVE a 16}
        assert_error "ERR DB index is out of range" {r MOVE a -1}
        assert_error $not_integer {r MOVE a x}
    }

    # ---- Expire times -----------------------------------------------------------------------------------------

    test "EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT set an expire time" {
        r SET key value
        assert_equal 1 [r EXPIRE key 100]
        assert_between 90000 100000 [r PTTL key]
        assert_equal 1 [r PEXPIRE key 20000]
        assert_between 10000 20000 [r PTTL key]
        set when [expr {[clock seconds] + 1000}]
        assert_equal 1 [r EXPIREAT key $when]
        assert_equal $when [r EXPIRETIME key]
        assert_equal ${when}000 [r PEXPIRETIME key]
        assert_equal 1 [r PEXPIREAT key ${when}001]
        assert_equal ${when}001 [r PEXPIRETIME key]
    }

    foreach {command future past} {
        EXPIRE 100 -1  PEXPIRE 100000 -1  EXPIREAT 99999999999 1  PEXPIREAT 9999999999999 1
    } {
        test "$command on a missing key is 0" {
            assert_equal 0 [r $command none $future]
        }

        test "$command with a time in the past deletes the key" {
            r SET key value
            assert_equal 1 [r $command key $past]
            assert_equal 0 [r EXISTS key]
        }

        test "$command refuses what is no integer and unknown options" {
            r SET key value
            set name [string tolower $command]
            assert_error $not_integer {r $command key soon}
            assert_error $not_integer {r $command key 1.5}
            assert_error "ERR Unsupported option OTHER" {r $command key $future OTHER}
            assert_error [format $wrong_number $name] {r $command key}
            assert_equal -1 [r TTL key]
        }

        test "$command refuses a time that overflows" {
            r SET key value
            if {$command ne "PEXPIREAT"} {
                assert_error "ERR invalid expire time in '[string tolower $command]' command" {
                    r $command key 9223372036854775807
                }
            }
            if {$command eq "EXPIRE" || $command eq "EXPIREAT"} {
                assert_error "ERR invalid expire time in '[string tolower $command]' command" {
                    r $command key -9223372036854775808
                }
            }
            assert_equal -1 [r TTL key]
        }

        test "$command NX sets only where no time is set" {
            r SET key value
            assert_equal 1 [r $command key $future NX]
            assert_equal 0 [r $command key $future NX]
        }

        test "$command XX sets only where a time is set" {
            r SET key value
            assert_equal 0 [r $command key $future XX]
            assert_equal -1 [r TTL key]
            r EXPIRE key 50
            assert_equal 1 [r $command key $future XX]
            assert_between 99 99999999999 [r TTL key]
        }

        test "$command GT sets only a later time; a key without one lives for ever" {
            r SET key value
            assert_equal 0 [r $command key $future GT]
            r EXPIRE key 50
            assert_equal 1 [r $command key $future GT]
            assert_equal 0 [r $command key $past GT]
            assert_equal 1 [r EXISTS key]
        }

        test "$command LT sets only an earlier time; a key without one lives for ever" {
            r SET key value
            assert_equal 1 [r $command key $future LT]
            assert_equal 0 [r $command key 99999999999999 LT]
            assert_equal 1 [r $command key $past LT]
            assert_equal 0 [r EXISTS key]
        }

        test "$command refuses options that contradict each other" {
            r SET key value
            set nx "ERR NX and XX, GT or LT options at the same time are not compatible"
            assert_error $nx {r $command key $future NX XX}
            assert_error $nx {r $command key $future NX GT}
            assert_error $nx {r $command key $future LT NX}
            assert_error "ERR GT and LT options at the same time are not compatible" {r $command key $future GT LT}
        }

        test "$command XX goes together with GT or LT" {
            r SET key value EX 10
            assert_equal 1 [r $command key $future XX GT]
            assert_equal 0 [r $command key $future XX LT]
        }
    }

    test "TTL, PTTL, EXPIRETIME and PEXPIRETIME of no key and of no time" {
        r SET key value
        foreach command {TTL PTTL EXPIRETIME PEXPIRETIME} {
            assert_equal -2 [r $command none]
            assert_equal -1 [r $command key]
            assert_error [format $wrong_number [string tolower $command]] {r $command}
        }
    }

    test "TTL rounds to the nearest second" {
        unhurried 300 {
            r SET key value PX 10900
            assert_equal 11 [r TTL key]
            r PEXPIRE key 10300
            assert_equal 10 [r TTL key]
        }
    }

    test "PERSIST drops the expire time" {
        r SET key value EX 100
        assert_equal 1 [r PERSIST key]
        assert_equal -1 [r TTL key]
        assert_equal 0 [r PERSIST key]
        assert_equal 0 [r PERSIST none]
    }

    # ---- KEYS SCAN RANDOMKEY DBSIZE ---------------------------------------------------------------------------

    foreach {pattern expected} {
        * {abc abd axc b*c bcd {}}   a* {abc abd axc}   ??? {abc abd axc b*c bcd}   a?c {abc axc}
        {a[bx]c} {abc axc}   {a[^b]c} axc   {a[a-m]c} abc   {b\*c} b*c   *c* {abc axc b*c bcd}   abc abc
        nothing* {}   {[} {}   {a[b-} {}   a** {abc abd axc}   "" {{}}   {[^a]*} {b*c bcd}
    } {
        test "KEYS '$pattern'" {
            r MSET abc 1 abd 2 axc 3 b*c 4 bcd 5 "" 6
            assert_same_set $expected [r KEYS $pattern]
        }
    }

    test "KEYS does not list what has expired" {
        r MSET a 1 b 2
        r PEXPIRE a 1
        after 20
        assert_equal b [r KEYS *]
    }

    test "KEYS of an empty database" {
        assert_equal "*0\r\n" [[default_client] raw KEYS *]
    }

    test "KEYS and DBSIZE agree over many keys" {
        r DEBUG POPULATE 3000
        assert_equal 3000 [r DBSIZE]
        assert_equal 3000 [llength [r KEYS *]]
        assert_equal 100 [llength [r KEYS key:1??]]
    }

    test "SCAN visits each key" {
        r DEBUG POPULATE 1000
        assert_equal 1000 [llength [scan_all]]
    }

    test "SCAN of an empty database ends at once" {
        assert_equal {0 {}} [r SCAN 0]
    }

    test "SCAN COUNT changes the size of a step, not the answer" {
        r DEBUG POPULATE 500
        foreach count {1 7 100 1000} {
            assert_equal 500 [llength [scan_all COUNT $count]]
        }
        assert_equal 0 [lindex [r SCAN 0 COUNT 10000] 0]
    }

    test "SCAN MATCH returns what matches" {
        r DEBUG POPULATE 500
        r MSET other:1 a other:2 b
        assert_same_set {other:1 other:2} [scan_all MATCH other:*]
        assert_equal 502 [llength [scan_all MATCH *]]
        assert_equal {} [scan_all MATCH none]
        assert_equal other:1 [scan_all MATCH other:1]
    }

    test "SCAN TYPE returns keys of the type" {
        r MSET a 1 b 2
        assert_same_set {a b} [scan_all TYPE string]
        assert_same_set {a b} [scan_all TYPE STRING]
        assert_equal {} [scan_all TYPE list]
        assert_same_set a [scan_all MATCH a TYPE string COUNT 100]
    }

    test "SCAN sees a key that is there from start to end, whatever else happens" {
        for {set i 0} {$i < 200} {incr i} {
            r SET stays:$i x
        }
        set cursor 0
        set seen {}
        set step 0
        while 1 {
            lassign [r SCAN $cursor COUNT 10] cursor keys
            lappend seen {*}$keys
            if {$cursor eq "0"} break
            if {$step < 40} {
                for {set i 0} {$i < 50} {incr i} {
                    r SET new:$step:$i x
                }
            } else {
                catch {r DEL {*}[lrange [r KEYS new:*] 0 99]}
            }
            incr step
        }
        assert_equal 200 [llength [lsort -unique [lsearch -all -inline $seen stays:*]]]
    }

    test "SCAN does not return what has expired" {
        r MSET a 1 b 2
        r PEXPIRE a 1
        after 20
        assert_equal b [scan_all]
    }

    test "SCAN refuses bad cursors and options" {
        assert_error "ERR invalid cursor" {r SCAN x}
        assert_error "ERR invalid cursor" {r SCAN ""}
        assert_error "ERR invalid cursor" {r SCAN 99999999999999999999}
        assert_error $syntax {r SCAN 0 COUNT}
        assert_error $syntax {r SCAN 0 COUNT 0}
        assert_error $syntax {r SCAN 0 COUNT -1}
        assert_error $not_integer {r SCAN 0 COUNT x}
        assert_error $syntax {r SCAN 0 MATCH}
        assert_error $syntax {r SCAN 0 OTHER x}
        assert_error [format $wrong_number scan] {r SCAN}
    }

    test "RANDOMKEY returns each key sooner or later, and null where there is none" {
        assert_equal (nil) [r RANDOMKEY]
        r MSET a 1 b 2 c 3
        set seen {}
        for {set i 0} {$i < 200} {incr i} {
            lappend seen [r RANDOMKEY]
        }
        assert_equal {a b c} [lsort -unique $seen]
    }

    # ---- Databases --------------------------------------------------------------------------------------------

    test "SELECT changes the database of its connection only" {
        with_clients other {
            r SELECT 3
            r SET key three
            assert_equal (nil) [$other GET key]
            $other SELECT 3
            assert_equal three [$other GET key]
        }
    }

    test "SELECT refuses databases that do not exist" {
        assert_error "ERR DB index is out of range" {r SELECT 16}
        assert_error "ERR DB index is out of range" {r SELECT -1}
        assert_error $not_integer {r SELECT x}
        assert_error $not_integer {r SELECT 9223372036854775808}
        assert_equal OK [r SELECT 15]
    }

    foreach how {"" SYNC ASYNC} {
        test "FLUSHDB $how empties its database only" {
            r MSET a 1 b 2
            r SELECT 1
            r SET c 3
            assert_equal OK [r FLUSHDB {*}$how]
            assert_equal 0 [r DBSIZE]
            r SELECT 0
            assert_equal 2 [r DBSIZE]
        }

        test "FLUSHALL $how empties all databases" {
            r MSET a 1 b 2
            r SELECT 1
            r SET c 3 EX 100
            assert_equal OK [r FLUSHALL {*}$how]
            assert_equal 0 [r DBSIZE]
            r SELECT 0
            assert_equal 0 [r DBSIZE]
            assert_equal "" [info_field db0 keyspace]
        }
    }

    test "FLUSHALL SYNC lets others be served while a thread frees, and replies after it" {
        with_clients slow {
            r CONFIG RESETSTAT
            set seen 0
            for {set round 1} {!$seen && $round <= 20} {incr round} {
                # The thread has to free other keys before, so that the wait is long enough to be seen.
                r DEBUG POPULATE 200000
                r FLUSHDB ASYNC
                r SET a 1
                $slow send FLUSHALL SYNC
                $slow send PING
                while {!$seen && [$slow silent_for 0]} {
                    set seen [expr {[info_field blocked_clients clients] == 1}]
                }
                if {$seen} { assert_equal 0 [r DBSIZE] }
                assert_equal {OK PONG} [$slow replies 2]
            }
            set rounds [expr {$round - 1}]
            assert_equal 1 $seen
            assert_equal [expr {200000 * $rounds}] [info_field lazyfreed_objects memory]
            assert_match "calls=$rounds,*" [info_field cmdstat_flushall commandstats]
        }
    }

    test "FLUSHALL SYNC of a client that closes at once, and in a transaction" {
        for {set i 0} {$i < 20} {incr i} {
            r DEBUG POPULATE 2000
            with_clients gone { $gone send FLUSHALL SYNC }
        }
        r SET a 1
        r MULTI
        r FLUSHDB SYNC
        r SET b 2
        assert_equal {OK OK} [r EXEC]
        assert_equal b [r KEYS *]
    }

    test "FLUSHDB and FLUSHALL refuse other options" {
        r SET a 1
        assert_error $syntax {r FLUSHDB LATER}
        assert_error $syntax {r FLUSHALL LATER}
        assert_error $syntax {r FLUSHALL SYNC ASYNC}
        assert_equal 1 [r DBSIZE]
    }

    test "A database can be filled again while ASYNC frees the old one" {
        r DEBUG POPULATE 20000
        r FLUSHDB ASYNC
        r DEBUG POPULATE 20000
        assert_equal 20000 [r DBSIZE]
        assert_equal value:19999 [r GET key:19999]
    }

    test "SWAPDB exchanges two databases for all connections" {
        with_clients other {
            r SET key zero
            r SELECT 1
            r SET key one EX 100
            r SELECT 0
            $other SELECT 1
            assert_equal OK [r SWAPDB 0 1]
            assert_equal one [r GET key]
            assert_equal zero [$other GET key]
            assert_between 90 100 [r TTL key]
            assert_equal -1 [$other TTL key]
        }
    }

    test "SWAPDB with itself, bad indexes" {
        assert_equal OK [r SWAPDB 0 0]
        assert_error "ERR invalid first DB index" {r SWAPDB x 0}
        assert_error "ERR invalid second DB index" {r SWAPDB 0 x}
        assert_error "ERR DB index is out of range" {r SWAPDB 0 16}
        assert_error "ERR DB index is out of range" {r SWAPDB -1 0}
    }

    test "INFO keyspace counts keys and those with an expire time, per database" {
        r MSET a 1 b 2
        r EXPIRE a 100
        r SELECT 9
        r SET c 1
        assert_match "keys=2,expires=1,avg_ttl=*" [info_field db0 keyspace]
        assert_match "keys=1,expires=0,avg_ttl=0*" [info_field db9 keyspace]
        assert_equal "" [info_field db1 keyspace]
    }

    # ---- Changes -----------------------------------------------------------------------------------------------

    # SETUP is commands separated by bars; then the command, and how many changes it adds to
    # rdb_changes_since_last_save.
    set changes {
{} {SET k v} 1
        {SET k v} {SET k v NX} 0
        {SET k v} {SET k w XX EX 100} 1
        {SET k v} {SETNX k v} 0
        {SET k v} {GETSET k w} 1
        {} {APPEND k x} 1
        {SET k v} {APPEND k x} 1
        {SET k v} {APPEND k ""} 1
        {SET k v} {SETRANGE k 0 x} 1
        {SET k v} {SETRANGE k 0 ""} 0
        {} {INCR k} 1
        {} {INCRBYFLOAT k 1} 1
        {SET k v} {GETDEL k} 1
        {} {GETDEL k} 0
        {SET k v EX 100} {GETEX k} 0
        {SET k v EX 100} {GETEX k PERSIST} 1
        {SET k v} {GETEX k EX 10} 1
        {} {MSET a 1 b 2 c 3} 3
        {} {MSETNX a 1 b 2} 2
        {SET a 1} {MSETNX a 1 b 2} 0
        {MSET a 1 b 2} {DEL a b c} 2
        {MSET a 1 b 2} {UNLINK a b c} 2
        {SET k v} {EXPIRE k 100} 1
        {SET k v} {EXPIRE k 100 XX} 0
        {SET k v} {EXPIRE k -1} 1
        {SET k v EX 100} {PERSIST k} 1
        {SET k v} {PERSIST k} 0
        {SET k v} {RENAME k l} 1
        {SET k v} {RENAMENX k k} 0
        {SET k v} {COPY k l} 1
        {SET k v} {MOVE k 1} 1
        {SET k v} {TOUCH k} 0
        {MSET a 1 b 2} FLUSHDB 2
        {MSET a 1 b 2} FLUSHALL 2
        {} {RPUSH l a b c} 3
        {} {LPUSHX l a} 0
        {RPUSH l a b c} {LPOP l 2} 2
        {RPUSH l a a c} {LREM l 0 a} 2
        {RPUSH l a b c} {LREM l 0 x} 0
        {RPUSH l a b c} {LTRIM l 1 1} 2
        {RPUSH l a b} {LSET l 0 x} 1
        {RPUSH l a b} {LMOVE l m LEFT RIGHT} 1
        {RPUSH l a} {LINSERT l BEFORE a b} 1
        {RPUSH l a} {LINSERT l BEFORE x b} 0
        {RPUSH l 2 1} {SORT l STORE d} 2
        {SADD s a} {SADD s a b c} 2
        {SADD s a b c} {SREM s a b x} 2
        {SADD s a b c} {SPOP s 2} 2
        {SADD s a} {SMOVE s t a} 2
        {SADD s a b} {SUNIONSTORE d s} 1
        {SADD d a} {SUNIONSTORE d s} 1
        {} {SUNIONSTORE d s} 0
        {HSET h a 1} {HSET h a 1 b 2} 2
        {HSET h a 1} {HSETNX h a 2} 0
        {HSET h a 1 b 2} {HDEL h a b c} 2
        {} {HINCRBY h a 1} 1
        {ZADD z 1 a} {ZADD z 1 a 2 b} 1
        {ZADD z 1 a} {ZADD z 2 a} 1
        {ZADD z 1 a} {ZINCRBY z 1 a} 1
        {ZADD z 1 a 2 b} {ZREM z a b c} 2
        {ZADD z 1 a 2 b} {ZPOPMIN z 2} 2
        {ZADD z 1 a 2 b} {ZREMRANGEBYRANK z 0 -1} 2
        {ZADD z 1 a} {ZRANGESTORE d z 0 -1} 1
        {} {GEOADD g 1 1 a 2 2 b} 2
        {} {XADD x * a 1} 1
        {XADD x 1-1 a 1} {XDEL x 1-1 2-2} 1
        {XADD x 1-1 a 1|XADD x 2-1 a 1} {XTRIM x MAXLEN 0} 2
        {XADD x 1-1 a 1} {XGROUP CREATE x g 0} 1
        {} {SETBIT b 1 1} 1
        {} {BITFIELD b SET u8 0 1 SET u8 8 1} 2
        {SET b a} {BITFIELD b GET u8 0} 0
        {SET a 1} {BITOP NOT d a} 1
        {PFADD p a} {PFADD p a} 0
        {} {PUBLISH c m} 0
    }

    test "How many changes each command counts as" {
        set wrong {}
        foreach {setup command expected} $changes {
            r FLUSHALL
            foreach line [split $setup |] {
                r {*}$line
            }
            set before [info_field rdb_changes_since_last_save persistence]
            r {*}$command
            set counted [expr {[info_field rdb_changes_since_last_save persistence] - $before}]
            if {$counted != $expected} {
                lappend wrong "$command after $setup: $counted, not $expected"
            }
        }
        assert_equal {} $wrong
    }

    # ---- DUMP RESTORE --------------------------------------------------------------------------------------------

    test "RESTORE makes what DUMP has read, with a time that counts from now, or from 1970" {
        r SET key value
        set payload [r DUMP key]
        assert_equal (nil) [r DUMP none]
        assert_equal OK [r RESTORE copy 0 $payload]
        assert_equal {value -1} [list [r GET copy] [r TTL copy]]
        assert_equal OK [r RESTORE timed 100000 $payload]
        assert_between 90000 100000 [r PTTL timed]
        assert_equal OK [r RESTORE until 99999999999999 $payload ABSTTL]
        assert_equal {value 99999999999999} [list [r GET until] [r PEXPIRETIME until]]
        assert_equal OK [r RESTORE over 1 $payload ABSTTL]
        assert_equal 0 [r EXISTS over]
        r SET dead value PX 1
        after 5
        assert_equal (nil) [r DUMP dead]
    }

    test "RESTORE leaves a key that is there alone, unless it is to REPLACE it" {
        r SET key value
        set payload [r DUMP key]
        r RPUSH list a
        assert_error "BUSYKEY Target key name already exists." {r RESTORE list 0 $payload}
        assert_equal a [r LRANGE list 0 -1]
        assert_equal OK [r RESTORE list 0 $payload REPLACE]
        assert_equal value [r GET list]
        r SET late other
        assert_equal OK [r RESTORE late 1 $payload ABSTTL REPLACE]
        assert_equal 0 [r EXISTS late]
        r SET gone x PX 1
        after 5
        assert_equal OK [r RESTORE gone 0 $payload]
    }

    test "RESTORE sets how long, or how often, a key has been used" {
        r SET key value
        set payload [r DUMP key]
        r RESTORE idle 0 $payload IDLETIME 1000
        assert_between 1000 1060 [r OBJECT IDLETIME idle]
        with_config {maxmemory-policy allkeys-lfu} {
            r RESTORE often 0 $payload FREQ 100
            assert_between 99 100 [r OBJECT FREQ often]
        }
    }

    test "RESTORE refuses what it does not understand, and creates no key" {
        r SET key value
        set payload [r DUMP key]
        set flipped [string replace $payload end end [format %c [expr {[scan [string index $payload end] %c] ^ 1}]]]
        foreach {words error} [list \
            [list -1 $payload] "ERR Invalid TTL value, must be >= 0" \
            [list x $payload] $not_integer \
            [list 0 $payload IDLETIME -1] "ERR Invalid IDLETIME value, must be >= 0" \
            [list 0 $payload FREQ 256] "ERR Invalid FREQ value, must be >= 0 and <= 255" \
            [list 0 $payload FREQ -1] "ERR Invalid FREQ value, must be >= 0 and <= 255" \
            [list 0 $payload FREQ x] $not_integer \
            [list 0 $payload IDLETIME 1 FREQ 1] $syntax \
            [list 0 $payload FREQ 1 IDLETIME 1] $syntax \
            [list 0 $payload IDLETIME] $syntax \
            [list 0 $payload NOSUCH] $syntax \
            [list 0 $flipped] "ERR DUMP payload version or checksum are wrong" \
            [list 0 [string range $payload 0 end-1]] "ERR DUMP payload version or checksum are wrong" \
            [list 0 ""] "ERR DUMP payload version or checksum are wrong" \
            [list 0] [format $wrong_number restore]] {
            assert_error $error {r RESTORE other {*}$words}
            assert_equal 0 [r EXISTS other]
        }
    }

    # ---- OBJECT -----------------------------------------------------------------------------------------------

    test "OBJECT ENCODING and REFCOUNT of a key, null of nothing" {
        r SET key value
        assert_equal embstr [r OBJECT ENCODING key]
        assert_equal 1 [r OBJECT REFCOUNT key]
        assert_equal (nil) [r OBJECT ENCODING none]
        assert_equal (nil) [r OBJECT REFCOUNT none]
        assert_equal (nil) [r OBJECT IDLETIME none]
    }

    test "OBJECT IDLETIME counts seconds since the last use" {
        r SET key value
        assert_between 0 1 [r OBJECT IDLETIME key]
    }

    test "OBJECT FREQ needs an LFU policy, OBJECT IDLETIME needs another" {
        r SET key value
        assert_error "ERR An LFU maxmemory policy is not selected, access frequency not tracked.*" {r OBJECT FREQ key}
        with_config {maxmemory-policy allkeys-lfu} {
            r SET key value
            assert_between 1 255 [r OBJECT FREQ key]
            assert_error "ERR An LFU maxmemory policy is selected, idle time not tracked.*" {r OBJECT IDLETIME key}
        }
    }

    test "OBJECT HELP lists its subcommands, others are refused" {
        assert_match "OBJECT <subcommand>*ENCODING <key>*" [join [r OBJECT HELP] \n]
        assert_error "ERR unknown subcommand 'NOPE'. Try OBJECT HELP." {r OBJECT NOPE key}
        assert_error [format $wrong_number object] {r OBJECT}
        assert_error [format $wrong_number object|encoding] {r OBJECT ENCODING}
    }

    test "A random walk over keys and expire times agrees with a model" {
        expr {srand(99)}
        array unset model
        array unset timed
        for {set i 0} {$i < 3000} {incr i} {
            set key k[expr {int(rand() * 60)}]
            set other k[expr {int(rand() * 60)}]
            set here [info exists model($key)]
            switch [expr {int(rand() * 7)}] {
                0 { r SET $key $i; set model($key) $i; unset -nocomplain timed($key) }
                1 { assert_equal $here [r DEL $key]; unset -nocomplain model($key) timed($key) }
                2 { assert_equal $here [r EXPIRE $key 1000]; if {$here} { set timed($key) 1 } }
                3 { assert_equal [info exists timed($key)] [r PERSIST $key]; unset -nocomplain timed($key) }
                4 {
                    if {$here && $key ne $other} {
                        r RENAME $key $other
                        set model($other) $model($key)
                        unset -nocomplain timed($other)
                        if {[info exists timed($key)]} { set timed($other) 1 }
                        unset -nocomplain model($key) timed($key)
                    }
                }
                5 {
                    if {$here && $key ne $other} {
                        assert_equal 1 [r COPY $key $other REPLACE]
                        set model($other) $model($key)
                        unset -nocomplain timed($other)
                        if {[info exists timed($key)]} { set timed($other) 1 }
                    }
                }
                6 { assert_equal $here [r EXISTS $key] }
            }
        }
        assert_same_set [array names model] [r KEYS *]
        assert_match "keys=[array size model],expires=[array size timed],*" [info_field db0 keyspace]
        foreach key [array names model] {
            assert_equal $model($key) [r GET $key]
            assert_equal [info exists timed($key)] [expr {[r TTL $key] > 0}]
        }
    }

    test "GT and LT refuse the time that is there already" {
        set when [expr {[clock seconds] + 1000}]
        r SET key x EXAT $when
        foreach condition {GT LT} {
            assert_equal 0 [r EXPIREAT key $when $condition]
        }
        assert_equal 1 [r EXPIREAT key [expr {$when + 1}] GT]
        assert_equal 1 [r EXPIREAT key $when LT]
    }
}
