# reload.tcl -- DEBUG RELOAD: the dataset is saved and loaded again.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server {overrides {hide-user-data-from-log no} each {r FLUSHALL; r SELECT 0}} {

    test "DEBUG RELOAD keeps keys of every type, in every database, with their times" {
        r SET s hello
        r SET n 12345 PXAT 4102444800000
        r SET long [string repeat xyz 1000]
        r RPUSH l a b 3
        r SADD i 1 2 70000
        r SADD m a b 1
        r HSET h f v
        r HPEXPIREAT h 4102444800000 FIELDS 1 f
        r ZADD z 1 a 2.5 b
        r XADD x 1-1 f v
        r XGROUP CREATE x g 0
        r SELECT 9
        for {set i 0} {$i < 3000} {incr i} {r SET key:$i $i}
        set before [r DEBUG DIGEST]
        assert_equal OK [r DEBUG RELOAD]
        assert_equal $before [r DEBUG DIGEST]
        assert_equal 3000 [r DBSIZE]
        r SELECT 0
        assert_equal 9 [r DBSIZE]
        assert_equal 4102444800000 [r PEXPIRETIME n]
        assert_equal 4102444800000 [r HPEXPIRETIME h FIELDS 1 f]
        assert_equal 3009 [info_field rdb_last_load_keys_loaded persistence]
        assert_equal 0 [info_field rdb_changes_since_last_save persistence]
        assert_equal 0 [info_field loading persistence]
    }

    test "DEBUG RELOAD NOSAVE brings back what was saved" {
        r SET a old
        r DEBUG RELOAD
        r SET a new
        r SET b new
        assert_equal OK [r DEBUG RELOAD NOSAVE]
        assert_equal old [r GET a]
        assert_equal 0 [r EXISTS b]
    }

    test "DEBUG RELOAD NOSAVE NOFLUSH MERGE replaces keys that are in the file, and keeps the others" {
        r SET a old
        r DEBUG RELOAD
        r SET a new
        r SET b new
        assert_equal OK [r DEBUG RELOAD NOSAVE NOFLUSH MERGE]
        assert_equal {old new} [r MGET a b]
    }

    test "DEBUG RELOAD knows no other words" {
        assert_error "ERR DEBUG RELOAD only supports the MERGE, NOFLUSH and NOSAVE options." {r DEBUG RELOAD NOW}
    }

    test "DEBUG RELOAD of a file that is none leaves the dataset alone" {
        r SET a old
        write_file [srv dir]/dump.rdb "HELLO WORLD"
        assert_error "ERR Error trying to load *" {r DEBUG RELOAD NOSAVE}
        assert_equal old [r GET a]
        file delete [srv dir]/dump.rdb
        assert_error "ERR Error trying to load *" {r DEBUG RELOAD NOSAVE}
        assert_equal old [r GET a]
    }

    test "clients that watch a key are told, and those that wait go on waiting" {
        with_clients {a b} {
            r SET k v
            $a WATCH k
            waits $b BLPOP list 0
            r DEBUG RELOAD
            $a MULTI
            $a GET k
            assert_equal (nil) [$a EXEC]
            r RPUSH list x
            assert_equal {list x} [$b reply]
        }
    }

    test "others are told while DEBUG RELOAD lasts" {
        r CONFIG SET key-load-delay 500 loading-process-events-interval-bytes 1024
        r DEBUG POPULATE 2000
        with_clients {a b} {
            $a send DEBUG RELOAD
            wait_for_condition 10 {[catch {$b GET key:1} message] && [string match LOADING* $message]}
            assert_error "LOADING *" {$b DEBUG RELOAD}
            assert_error "LOADING *" {$b DEBUG LOADAOF}
            assert_equal OK [$a reply]
            assert_equal value:1 [$b GET key:1]
        }
        r CONFIG SET key-load-delay 0
    }

    test "DEBUG RELOAD NOSAVE NOFLUSH stops at a key that is there" {
        r SET a old
        r DEBUG RELOAD
        assert_error "ERR Error trying to load the RDB dump, check server logs." {r DEBUG RELOAD NOSAVE NOFLUSH}
        assert_match "*RDB has duplicated key in DB 0*" [srv log]
        assert_equal old [r GET a]
    }
}
