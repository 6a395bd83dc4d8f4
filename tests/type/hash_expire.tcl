# hash_expire.tcl -- field TTLs: setting and reading them, commands on fields with TTLs, and expired fields.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}
set numfields {ERR numfields should be greater than 0 and match the provided number of fields}

proc sorted {pairs} {
    lsort -stride 2 $pairs
}

proc times {key args} {
    r HTTL $key FIELDS [llength $args] {*}$args
}

proc changes {} {
    info_field rdb_changes_since_last_save persistence
}

# Makes expired fields a, b, c that are not deleted yet, and d without a TTL.
proc make_over {key} {
    r DEBUG SET-ACTIVE-EXPIRE 0
    r DEL $key
    r HSET $key a 1 b 2 c 3 d 4
    r HPEXPIRE $key 1 FIELDS 3 a b c
    after 5
}

start_server {each {
    r FLUSHALL
    r CONFIG RESETSTAT
    r CONFIG SET hash-max-listpack-entries 512 hash-max-listpack-value 64
    r DEBUG SET-ACTIVE-EXPIRE 1
}} {

    # ---- Setting and reading ----------------------------------------------------------------------------------

    test "A field gets a time, and the hash becomes a table" {
        r HSET hash a 1 b 2
        assert_equal listpack [r OBJECT ENCODING hash]
        assert_equal {1 -2} [r HEXPIRE hash 100 FIELDS 2 a nothing]
        assert_equal hashtable [r OBJECT ENCODING hash]
        assert_equal {100 -1 -2} [times hash a b nothing]
        assert_equal {a 1 b 2} [sorted [r HGETALL hash]]
    }

    test "A time that no field gets leaves a listpack" {
        r HSET hash a 1
        assert_equal -2 [r HEXPIRE hash 100 FIELDS 1 nothing]
        assert_equal 0 [r HEXPIRE hash 100 XX FIELDS 1 a]
        assert_equal listpack [r OBJECT ENCODING hash]
    }

    test "Times in seconds and milliseconds, relative and absolute, are the same time" {
        r HSET hash a 1 b 2
        assert_equal 1 [r HPEXPIREAT hash 33177117420123 FIELDS 1 a]
        assert_equal 33177117420123 [r HPEXPIRETIME hash FIELDS 1 a]
        assert_equal 33177117420 [r HEXPIRETIME hash FIELDS 1 a]
        assert_equal 1 [r HEXPIREAT hash 33177117420 FIELDS 1 a]
        assert_equal 33177117420000 [r HPEXPIRETIME hash FIELDS 1 a]
        assert_equal 1 [r HPEXPIRE hash 100000 FIELDS 1 a]
        assert_between 99 100 [r HTTL hash FIELDS 1 a]
        assert_between 99000 100000 [r HPTTL hash FIELDS 1 a]
        assert_equal {-1 -2} [r HPEXPIRETIME hash FIELDS 2 b nothing]
    }

    test "A missing key has no fields" {
        foreach command {{HEXPIRE nothing 10} {HPEXPIRE nothing 10} {HTTL nothing} {HPTTL nothing} {HEXPIRETIME nothing}
                         {HPEXPIRETIME nothing} {HPERSIST nothing}} {
            assert_equal {-2 -2} [r {*}$command FIELDS 2 a b]
        }
        assert_equal 0 [r EXISTS nothing]
    }

    test "NX, XX, GT and LT decide for each field" {
        r HSET hash a 1 b 2
        assert_equal 1 [r HEXPIRE hash 100 NX FIELDS 1 a]
        assert_equal {0 1} [r HEXPIRE hash 200 NX FIELDS 2 a b]
        r HPERSIST hash FIELDS 1 b
        assert_equal {1 0} [r HEXPIRE hash 300 XX FIELDS 2 a b]
        assert_equal {0 0} [r HEXPIRE hash 200 GT FIELDS 2 a b]
        assert_equal {1 0} [r HEXPIRE hash 400 GT FIELDS 2 a b]
        assert_equal {0 1} [r HEXPIRE hash 500 LT FIELDS 2 a b]
        assert_equal {1 1} [r HEXPIRE hash 50 LT FIELDS 2 a b]
        assert_equal {50 50} [times hash a b]
    }

    test "A time in the past takes the field out at once" {
        r HSET hash a 1 b 2 c 3
        assert_equal {2 -2} [r HEXPIRE hash 0 FIELDS 2 a nothing]
        assert_equal 2 [r HEXPIREAT hash 1 FIELDS 1 b]
        assert_equal {c 3} [r HGETALL hash]
        assert_equal listpack [r OBJECT ENCODING hash]
        assert_equal 2 [r HPEXPIREAT hash 1 FIELDS 1 c]
        assert_equal 0 [r EXISTS hash]
        assert_equal 3 [info_field expired_fields stats]
    }

    test "HPERSIST takes times off" {
        r HSET hash a 1 b 2
        r HEXPIRE hash 100 FIELDS 1 a
        assert_equal {1 -1 -2} [r HPERSIST hash FIELDS 3 a b nothing]
        assert_equal {-1 -1} [times hash a b]
        assert_equal hashtable [r OBJECT ENCODING hash]
    }

    test "Errors come in order: the word FIELDS, options, their number, the time, the key" {
        r SET key value
        assert_error $numfields {r HEXPIRE key abc FOO 1 a}
        assert_error {ERR Unsupported option FOO} {r HEXPIRE key abc FOO FIELDS x a}
        assert_error {ERR NX and XX, GT or LT options at the same time are not compatible} \
            {r HEXPIRE key abc NX GT FIELDS x a}
        assert_error {ERR GT and LT options at the same time are not compatible} {r HEXPIRE key abc GT LT FIELDS x a}
        assert_error $not_integer {r HEXPIRE key -1 FIELDS x a}
        assert_error $numfields {r HEXPIRE key -1 FIELDS 2 a}
        assert_error $numfields {r HEXPIRE key -1 FIELDS 0 a}
        assert_error $not_integer {r HEXPIRE key abc FIELDS 1 a}
        assert_error {ERR invalid expire time in 'hexpire' command} {r HEXPIRE key -1 FIELDS 1 a}
        assert_error $wrong_type {r HEXPIRE key 1 FIELDS 1 a}
    }

    test "HTTL and its kin answer a wrong number with a syntax error" {
        foreach command {HTTL HPTTL HEXPIRETIME HPEXPIRETIME} {
            assert_error $syntax {r $command hash FOO 1 a}
            assert_error $syntax {r $command hash FIELDS 2 a}
            assert_error $syntax {r $command hash FIELDS 9223372036854775807 a}
            assert_error $not_integer {r $command hash FIELDS x a}
        }
        assert_error $syntax {r HPERSIST hash FOO 1 a}
        assert_error $numfields {r HPERSIST hash FIELDS 2 a}
    }

    test "Times that would overflow are refused" {
        r HSET hash a 1
        assert_error {ERR invalid expire time in 'hexpire' command} {r HEXPIRE hash 9223372036854775807 FIELDS 1 a}
        assert_error {ERR invalid expire time in 'hpexpire' command} {r HPEXPIRE hash 9223372036854775807 FIELDS 1 a}
        assert_error {ERR invalid expire time in 'hexpireat' command} {r HEXPIREAT hash 9223372036854776 FIELDS 1 a}
        assert_equal 1 [r HEXPIREAT hash 9223372036854775 FIELDS 1 a]
        assert_equal 9223372036854775000 [r HPEXPIRETIME hash FIELDS 1 a]
        assert_equal 1 [r HPEXPIREAT hash 9223372036854775807 FIELDS 1 a]
        assert_equal 9223372036854775807 [r HPEXPIRETIME hash FIELDS 1 a]
    }

    # ---- Writing ----------------------------------------------------------------------------------------------

    test "HSET takes a time off, counters keep it" {
        r HSET hash a 1 b 2
        r HEXPIRE hash 100 FIELDS 2 a b
        r HINCRBY hash a 5
        r HINCRBYFLOAT hash a 5
        r HSETNX hash a 7
        assert_equal {11 100} [list [r HGET hash a] [times hash a]]
        r HSET hash a 1
        assert_equal {-1 100} [times hash a b]
    }

    test "HGETEX reads, and sets or takes off a time" {
        r HSET hash a 1 b 2
        assert_equal "*2\r\n\$1\r\n1\r\n\$-1\r\n" [[default_client] raw HGETEX hash FIELDS 2 a nothing]
        assert_equal 1 [r HGETEX hash EX 100 FIELDS 1 a]
        assert_equal 100 [times hash a]
        assert_equal 1 [r HGETEX hash PXAT 33177117420123 FIELDS 1 a]
        assert_equal 33177117420123 [r HPEXPIRETIME hash FIELDS 1 a]
        assert_equal {1 2} [r HGETEX hash PERSIST FIELDS 2 a b]
        assert_equal {-1 -1} [times hash a b]
        assert_equal {1 2} [r HGETEX hash EX 0 FIELDS 2 a b]
        assert_equal 0 [r EXISTS hash]
        assert_equal "*1\r\n\$-1\r\n" [[default_client] raw HGETEX nothing EX 10 FIELDS 1 a]
    }

    test "Keys and fields may have the names of options" {
        foreach key {FIELDS fields EX FNX} {
            assert_equal 1 [r HSETEX $key EX 100 FIELDS 2 FIELDS 1 EX 2]
            assert_equal {1 2} [r HGETEX $key PERSIST FIELDS 2 FIELDS EX]
            assert_equal {2 (nil)} [r HGETEX $key FIELDS 2 EX fields]
            assert_equal 1 [r HEXPIRE $key 100 NX FIELDS 1 FIELDS]
            assert_between 1 100 [r HTTL $key FIELDS 1 FIELDS]
            assert_equal {1 2} [r HGETDEL $key FIELDS 2 FIELDS EX]
            assert_equal 0 [r EXISTS $key]
        }
    }

    test "HSETEX writes with one time for all" {
        assert_equal 1 [r HSETEX hash EX 100 FIELDS 2 a 1 b 2]
        assert_equal {100 100} [times hash a b]
        assert_equal 1 [r HSETEX hash FIELDS 1 a 3]
        assert_equal {-1 100} [times hash a b]
        assert_equal 1 [r HSETEX hash KEEPTTL FIELDS 2 a 5 b 6]
        assert_equal {-1 100} [times hash a b]
        assert_equal {a 5 b 6} [sorted [r HGETALL hash]]
        assert_equal 1 [r HSETEX plain KEEPTTL FIELDS 1 a 1]
        assert_equal listpack [r OBJECT ENCODING plain]
    }

    test "HSETEX writes all fields or none" {
        r HSET hash a 1
        assert_equal 0 [r HSETEX hash FNX FIELDS 2 a 2 b 2]
        assert_equal 0 [r HSETEX hash FXX FIELDS 2 a 2 b 2]
        assert_equal 0 [r HSETEX hash NX FIELDS 1 b 2]
        assert_equal 0 [r HSETEX nothing XX FIELDS 1 b 2]
        assert_equal 0 [r HSETEX nothing FXX FIELDS 1 b 2]
        assert_equal {a 1} [r HGETALL hash]
        assert_equal 1 [r HSETEX hash XX FXX FIELDS 1 a 2]
        assert_equal 1 [r HSETEX hash FNX FIELDS 1 b 2]
        assert_equal {a 2 b 2} [sorted [r HGETALL hash]]
        assert_equal 0 [r EXISTS nothing]
    }

    test "HSETEX with a time in the past leaves nothing" {
        r HSET hash a 1 b 2
        set before [changes]
        assert_equal 1 [r HSETEX hash PXAT 1 FIELDS 2 a 2 new 2]
        assert_equal {b 2} [r HGETALL hash]
        assert_equal 1 [r HSETEX nothing EX 0 FIELDS 1 a 2]
        assert_equal 0 [r EXISTS nothing]
        assert_equal [expr {$before + 1}] [changes]
        assert_equal 1 [r HSETEX hash EX 0 FIELDS 1 b 2]
        assert_equal 0 [r EXISTS hash]
    }

    test "HGETEX and HSETEX refuse what does not go together" {
        r HSET hash a 1
        foreach command {
            {HGETEX hash EX 10 PX 10 FIELDS 1 a} {HGETEX hash PERSIST EX 10 FIELDS 1 a} {HGETEX hash KEEPTTL FIELDS 1 a}
            {HGETEX hash FOO FIELDS 1 a} {HGETEX hash EX FIELDS 1 a} {HSETEX hash NX XX FIELDS 1 a 1}
            {HSETEX hash FNX FXX FIELDS 1 a 1} {HSETEX hash EX 10 KEEPTTL FIELDS 1 a 1} {HSETEX hash PERSIST FIELDS 1 a 1}
        } {
            assert_error $syntax {r {*}$command}
        }
        foreach command {
            {HGETEX hash FOO BAR BAZ} {HGETEX hash FIELDS 2 a} {HGETEX hash FIELDS 1 a EX 10} {HGETEX hash FIELDS 0 a}
            {HSETEX hash FIELDS 1 a 1 b} {HSETEX hash FIELDS 2 a 1} {HSETEX hash FIELDS 1 a 1 FIELDS 1 b 1}
            {HSETEX hash EX 10 FIELDS 4611686018427387904 a 1}
        } {
            assert_error $numfields {r {*}$command}
        }
        assert_error {ERR invalid expire time in 'hgetex' command} {r HGETEX hash EX -1 FIELDS 1 a}
        assert_error {ERR invalid expire time in 'hsetex' command} {r HSETEX hash PX 9223372036854775807 FIELDS 1 a 1}
        assert_equal {a 1} [r HGETALL hash]
    }

    test "HGETDEL reads and deletes" {
        r HSET hash a 1 b 2
        assert_equal {1 (nil) (nil)} [r HGETDEL hash FIELDS 3 a a nothing]
        assert_equal {b 2} [r HGETALL hash]
        assert_equal 2 [r HGETDEL hash FIELDS 1 b]
        assert_equal 0 [r EXISTS hash]
        assert_equal {(nil) (nil)} [r HGETDEL hash FIELDS 2 a b]
        assert_error $syntax {r HGETDEL hash FOO 1 a}
        assert_error $numfields {r HGETDEL hash FIELDS 2 a}
    }

    test "Commands of times refuse other types" {
        r SET key value
        foreach command {
            {HEXPIRE key 1 FIELDS 1 a} {HPEXPIRE key 1 FIELDS 1 a} {HEXPIREAT key 1 FIELDS 1 a} {HPEXPIREAT key 1 FIELDS 1 a}
            {HTTL key FIELDS 1 a} {HPTTL key FIELDS 1 a} {HEXPIRETIME key FIELDS 1 a} {HPEXPIRETIME key FIELDS 1 a}
            {HPERSIST key FIELDS 1 a} {HGETEX key FIELDS 1 a} {HSETEX key FIELDS 1 a 1} {HGETDEL key FIELDS 1 a}
        } {
            assert_error $wrong_type {r {*}$command}
        }
    }

    # ---- Expired fields ---------------------------------------------------------------------------------------

    test "A field whose time is over is hidden, and HLEN still counts it" {
        make_over hash
        assert_equal 4 [r HLEN hash]
        assert_equal {d 4} [r HGETALL hash]
        assert_equal {d 4} [list [r HKEYS hash] [r HVALS hash]]
        assert_equal {(nil) 4} [r HMGET hash a d]
        assert_equal {(nil) 0 0} [list [r HGET hash a] [r HEXISTS hash a] [r HSTRLEN hash a]]
        assert_equal {0 {d 4}} [r HSCAN hash 0]
        assert_equal {d d {d d d}} [list [r HRANDFIELD hash] [r HRANDFIELD hash 10] [r HRANDFIELD hash -3]]
        assert_equal {-2 -1} [times hash a d]
        assert_equal {-2 -2} [r HPERSIST hash FIELDS 2 a b]
        assert_equal {-2 -2} [r HEXPIRE hash 100 FIELDS 2 a b]
        assert_equal -2 [r HEXPIRE hash 0 FIELDS 1 a]
        assert_equal {(nil) (nil)} [list [r HGETEX hash PERSIST FIELDS 1 a] [r HGETDEL hash FIELDS 1 a]]
        assert_equal 0 [r HDEL hash a]
        assert_equal 4 [r HLEN hash]
    }

    test "A write puts a new field in its place" {
        make_over hash
        assert_equal 1 [r HSET hash a 5]
        assert_equal 7 [r HINCRBY hash b 7]
        assert_equal 1 [r HSETNX hash c 8]
        assert_equal {-1 -1 -1} [times hash a b c]
        assert_equal {a 5 b 7 c 8 d 4} [sorted [r HGETALL hash]]
        assert_equal 3 [info_field expired_fields stats]
        make_over hash
        assert_equal 0 [r HSETEX hash FXX FIELDS 1 a 5]
        assert_equal 1 [r HSETEX hash FNX KEEPTTL FIELDS 1 a 5]
        assert_equal -1 [times hash a]
    }

    test "A hash may have nothing but fields whose time is over" {
        make_over hash
        r HDEL hash d
        assert_equal {1 3 {}} [list [r EXISTS hash] [r HLEN hash] [r HGETALL hash]]
        assert_equal {(nil) {} {} {}} [list [r HRANDFIELD hash] [r HRANDFIELD hash 3] [r HRANDFIELD hash -3] [r HKEYS hash]]
        r RENAME hash other
        assert_equal 3 [r HLEN other]
        assert_equal 1 [r HSET other a 1]
        assert_equal {a 1} [r HGETALL other]
    }

    test "What is over does not count in the digest" {
        make_over hash
        r HSET other d 4
        assert_equal [r DEBUG DIGEST-VALUE other] [r DEBUG DIGEST-VALUE hash]
    }

    test "The timer takes fields out whose time is over, and the key with the last" {
        r HSET hash a 1 b 2 c 3
        r HPEXPIRE hash 1 FIELDS 2 a b
        wait_for_condition 5 {[r HLEN hash] == 1}
        assert_equal 2 [info_field expired_fields stats]
        r HPEXPIRE hash 1 FIELDS 1 c
        wait_for_condition 5 {[r DBSIZE] == 0}
        assert_equal 3 [info_field expired_fields stats]
        assert_equal 0 [info_field expired_keys stats]
    }

    test "The timer works through large hashes and many of them" {
        set pairs {}
        for {set i 0} {$i < 2000} {incr i} {
            lappend pairs f$i $i
        }
        for {set i 0} {$i < 10} {incr i} {
            r HSETEX large:$i PX 1 FIELDS 2000 {*}$pairs
            r HSET large:$i stays 1
        }
        for {set i 0} {$i < 500} {incr i} {
            r HSETEX small:$i PX 1 FIELDS 1 a 1
        }
        wait_for_condition 20 {[r DBSIZE] == 10 && [info_field expired_fields stats] == 20500}
        for {set i 0} {$i < 10} {incr i} {
            assert_equal {stays 1} [r HGETALL large:$i]
        }
    }

    # ---- Keys with such fields ---------------------------------------------------------------------------------

    proc volatile_keys {{db 0}} {
        regexp {keys_with_volatile_items=(\d+)} [info_field db$db keyspace] -> count
        return $count
    }

    test "INFO counts keys with such fields" {
        r HSET hash a 1
        assert_equal 0 [volatile_keys]
        r HEXPIRE hash 100 FIELDS 1 a
        assert_equal 1 [volatile_keys]
        r HPERSIST hash FIELDS 1 a
        assert_equal 0 [volatile_keys]
        r HSETEX hash EX 100 FIELDS 2 a 1 b 1
        r HSET hash a 1
        assert_equal 1 [volatile_keys]
        r HDEL hash b
        assert_equal 0 [volatile_keys]
    }

    test "RENAME, COPY, MOVE, SWAPDB, RESTORE and overwriting keep that count right" {
        r HSETEX hash EX 1000 FIELDS 1 a 1
        r RENAME hash other
        r COPY other copy
        assert_equal 2 [volatile_keys]
        assert_equal {1000 1000} [list [times other a] [times copy a]]
        r SET copy text
        assert_equal 1 [volatile_keys]
        r RESTORE restored 0 [r DUMP other]
        assert_equal 2 [volatile_keys]
        r MOVE other 1
        assert_equal {1 1} [list [volatile_keys] [volatile_keys 1]]
        r HSET restored b 1
        r SWAPDB 0 1
        assert_equal {1 1} [list [volatile_keys] [volatile_keys 1]]
        assert_equal 1000 [times other a]
        r FLUSHALL
        r HSETEX hash EX 1000 FIELDS 1 a 1
        assert_equal 1 [volatile_keys]
        r UNLINK hash
        r SET key value
        assert_equal 0 [volatile_keys]
    }

    test "DUMP and RESTORE keep times, also those that are over" {
        make_over hash
        r HPEXPIREAT hash 33177117420123 FIELDS 1 d
        r RESTORE copy 0 [r DUMP hash]
        assert_equal {4 {d 4}} [list [r HLEN copy] [r HGETALL copy]]
        assert_equal 33177117420123 [r HPEXPIRETIME copy FIELDS 1 d]
    }

    test "A key's own end and those of its fields go side by side" {
        r HSETEX hash EX 1000 FIELDS 1 a 1
        r EXPIRE hash 2000
        assert_equal {1000 2000} [list [times hash a] [r TTL hash]]
        r PERSIST hash
        assert_equal {1000 -1} [list [times hash a] [r TTL hash]]
    }

    test "Times that come and go in a large hash" {
        set fields {}
        for {set i 0} {$i < 3000} {incr i} {
            lappend fields f$i
            r HSET hash f$i v$i
        }
        r HEXPIRE hash 1000 FIELDS 3000 {*}$fields
        for {set i 0} {$i < 3000} {incr i 3} {
            r HPEXPIRE hash [expr {1000000 + $i * 37 % 5000}] FIELDS 1 f$i
            r HSET hash f[expr {$i + 1}] [string repeat x [expr {$i % 200}]]
        }
        assert_equal 3000 [r HLEN hash]
        assert_equal -1 [times hash f1]
        assert_between 900 1000 [times hash f2]
        assert_equal 3000 [llength [r HPERSIST hash FIELDS 3000 {*}$fields]]
        assert_equal 0 [volatile_keys]
    }

    test "GT and LT refuse the time that a field has already" {
        set when [expr {[clock seconds] + 1000}]
        r HSET hash f v
        assert_equal 1 [r HEXPIREAT hash $when FIELDS 1 f]
        foreach condition {GT LT} {
            assert_equal 0 [r HEXPIREAT hash $when $condition FIELDS 1 f]
        }
        assert_equal 1 [r HEXPIREAT hash [expr {$when + 1}] GT FIELDS 1 f]
        assert_equal 1 [r HEXPIREAT hash $when LT FIELDS 1 f]
    }
}
