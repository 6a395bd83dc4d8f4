# save_version.tcl -- rdb-save-version: snapshots in older versions, and what these do not hold.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc make_dataset {} {
    r MSET string value number 12345
    r SET volatile value PXAT 4102444800000
    foreach count {3 1500} {
        for {set i 0} {$i < $count} {incr i} {
            r RPUSH list:$count element:$i $i
            r SADD set:$count member:$i
            r SADD numbers:$count [expr {$i * 7}]
            r ZADD zset:$count [expr {$i * 1.1}] member:$i
            r HSET hash:$count field:$i $i
        }
    }
    r ZADD zset:3 inf a -inf b
    r RPUSH list:3 [string repeat x 20000]
    r SELECT 3
    r SET other 1
    r SELECT 0
}

proc make_stream {} {
    for {set i 1} {$i <= 150} {incr i} {r XADD stream $i-1 f $i}
    r XGROUP CREATE stream group 0
    r XREADGROUP GROUP group consumer COUNT 3 STREAMS stream >
}

proc file_begins {} {
    return [string range [read_file [file join [lindex [r CONFIG GET dir] 1] dump.rdb]] 0 8]
}

proc digest_after {version} {
    r CONFIG SET rdb-save-version $version
    assert_equal OK [r DEBUG RELOAD]
    return [list [r DEBUG DIGEST] [file_begins]]
}

start_server {each {r FLUSHALL; r FUNCTION FLUSH; r CONFIG SET rdb-save-version 80}} {
    if {[r CONFIG GET rdb-save-version] eq ""} {
        test "rdb-save-version" {skip "the server has no such option"}
        return
    }

    test "a dataset comes back from every version" {
        make_dataset
        set digest [r DEBUG DIGEST]
        foreach {version begins} {80 VALKEY080 13 REDIS0013 11 REDIS0011 10 REDIS0010 9 REDIS0009 auto REDIS0009} {
            assert_equal [list $digest $begins] [digest_after $version]
        }
        make_stream
        r FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        set digest [r DEBUG DIGEST]
        foreach {version begins} {80 VALKEY080 13 REDIS0013 11 REDIS0011 10 REDIS0010 auto REDIS0011} {
            assert_equal [list $digest $begins] [digest_after $version]
            assert_equal {3 1-1 3-1 {{consumer 3}}} [r XPENDING stream group]
            assert_equal 1 [r FCALL f 0]
        }
    }

    test "auto writes the lowest version that holds the dataset" {
        r SET k v
        assert_equal REDIS0009 [lindex [digest_after auto] 1]
        r FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        assert_equal REDIS0010 [lindex [digest_after auto] 1]
        r XADD stream 1-1 f v
        assert_equal REDIS0011 [lindex [digest_after auto] 1]
        assert_match "*RDB version 11 is the lowest that holds the dataset*" [srv log]
        r HSETEX hash EX 1000 FIELDS 1 f v
        assert_equal VALKEY080 [lindex [digest_after auto] 1]
        r DEL hash
        r XADD stream IDMP producer 1 * f v
        assert_equal VALKEY080 [lindex [digest_after auto] 1]
        r FUNCTION FLUSH
        r DEL stream
        assert_equal REDIS0009 [lindex [digest_after auto] 1]
    }

    test "a value that a version lacks makes the save fail, with its key in the log" {
        r CONFIG SET hide-user-data-from-log no
        r SET k v
        r SAVE
        set before [read_file [file join [lindex [r CONFIG GET dir] 1] dump.rdb]]
        foreach make {{HSETEX hash EX 1000 FIELDS 1 f v} {XADD stream IDMP producer 1 * f v}} {
            r {*}$make
            set key [lindex $make 1]
            foreach version {9 10 11} {
                r CONFIG SET rdb-save-version $version
                assert_error ERR* {r SAVE}
                assert_match "*Can't store key '$key' in RDB version $version\n*" [srv log]
            }
            r DEL $key
        }
        r FUNCTION LOAD "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        r CONFIG SET rdb-save-version 9
        assert_error ERR* {r SAVE}
        assert_match "*Can't store functions in RDB version 9\n*" [srv log]
        assert_equal $before [read_file [file join [lindex [r CONFIG GET dir] 1] dump.rdb]]
        r CONFIG SET rdb-save-version 10
        assert_equal OK [r SAVE]
    }

    test "version 13 keeps field TTLs and producers, as Redis 8 reads them" {
        r HSETEX hash PXAT 4102444800000 FIELDS 2 a 1 b 2
        r HPEXPIREAT hash 4102444900000 FIELDS 1 b
        r HSET hash c 3
        set id [r XADD stream IDMP producer 1 * f v]
        assert_equal REDIS0013 [lindex [digest_after 13] 1]
        assert_equal {4102444800000 4102444900000 -1} [r HPEXPIRETIME hash FIELDS 3 a b c]
        assert_equal $id [r XADD stream IDMP producer 1 * f v]
    }
}

start_server {overrides {appendonly yes rdb-save-version 10}} {
    test "the base of a log takes the next version that holds the dataset" {
        if {[r CONFIG GET rdb-save-version] eq ""} {skip "the server has no such option"}
        foreach {make begins} {{SET k v} REDIS0010 {XADD stream 1-1 f v} REDIS0011 {HSETEX hash EX 1000 FIELDS 1 f v} VALKEY080} {
            r {*}$make
            r BGREWRITEAOF
            wait_for_condition 20 {[field_of [r INFO persistence] aof_rewrite_in_progress] eq "0"}
            set bases [file join [lindex [r CONFIG GET dir] 1] appendonlydir *.base.rdb]
            wait_for_condition 20 {[llength [set base [glob $bases]]] == 1} ;# a thread deletes the old one
            assert_equal $begins [string range [read_file $base] 0 8]
            assert_equal OK [r DEBUG LOADAOF]
        }
        assert_equal 3 [r DBSIZE]
    }
}

# Other servers read these files.
foreach {name peer versions} {REDIS8_PEER "Redis 8" {13 11 10 9} VALKEY_PEER "Valkey 9.1" {11 10 9}} {
    if {![info exists env($name)]} {
        test "a $peer reads older versions" {skip "$name names none"}
        continue
    }
    foreach version $versions {
        test "a $peer reads version $version" {
            set dir [make_server_dir]
            start_server [list overrides [list dir $dir rdb-save-version $version]] {
                make_dataset
                make_stream
                if {$version == 13} {r HSETEX hash PXAT 4102444800000 FIELDS 2 a 1 b 2}
                if {$version == 13} {r XADD sent IDMP producer 1 * f v}
                set keys [lsort [r KEYS *]]
                set held [lmap key $keys {list $key [r TYPE $key] [r OBJECT ENCODING $key] [r PEXPIRETIME $key]}]
                set lists [list [r LRANGE list:3 0 -1] [r ZRANGE zset:1500 0 -1 WITHSCORES] [r XRANGE stream - +] \
                    [lsort [r SMEMBERS set:3]] [lsort [r HGETALL hash:3]] [r XPENDING stream group]]
                assert_equal OK [r SAVE]
            }
            set port [free_port]
            set pid [exec $env($name) --port $port --save "" --dir $dir >$dir/peer 2>@1 &]
            try {
                wait_for_condition 10 {![catch {RespClient new $port} other] && ![catch {$other PING}]}
                # The name of Redis 8 for a small hash with field TTLs.
                assert_equal $held [string map {listpackex hashtable} [lmap key [lsort [$other KEYS *]] {
                    list $key [$other TYPE $key] [$other OBJECT ENCODING $key] [$other PEXPIRETIME $key]}]]
                assert_equal $lists [list [$other LRANGE list:3 0 -1] [$other ZRANGE zset:1500 0 -1 WITHSCORES] \
                    [$other XRANGE stream - +] [lsort [$other SMEMBERS set:3]] [lsort [$other HGETALL hash:3]] \
                    [$other XPENDING stream group]]
                if {$version == 13} {assert_equal {4102444800000 4102444800000} [$other HPEXPIRETIME hash FIELDS 2 a b]}
            } finally {
                exec kill -KILL $pid
            }
        }
    }
}
