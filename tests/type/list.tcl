# list.tcl -- the commands of lists, option by option and error by error, in both encodings.
#
# SPDX-License-Identifier: BSD-3-Clause

set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}
set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}

proc all {key} {
    r LRANGE $key 0 -1
}

proc fresh {key args} {
    r DEL $key
    r RPUSH $key {*}$args
}

start_server {each {r FLUSHALL}} {

    # ---- Both encodings -----------------------------------------------------------------------------------------

    foreach {encoding size} {listpack -2 quicklist 2} {
        with_config [list list-max-listpack-size $size] {

            test "RPUSH appends, LPUSH prepends one after the other, both return the length ($encoding)" {
                assert_equal 3 [r RPUSH key a b c]
                assert_equal 5 [r LPUSH key y z]
                assert_equal {z y a b c} [all key]
                assert_equal $encoding [r OBJECT ENCODING key]
            }

            test "LPUSHX and RPUSHX push to a list that is there only ($encoding)" {
                assert_equal 0 [r LPUSHX key a]
                assert_equal 0 [r RPUSHX key a]
                assert_equal 0 [r EXISTS key]
                fresh key a b c
                assert_equal 5 [r LPUSHX key x y]
                assert_equal 6 [r RPUSHX key z]
                assert_equal {y x a b c z} [all key]
            }

            test "LPOP and RPOP take an element from their end ($encoding)" {
                fresh key a b c d
                assert_equal a [r LPOP key]
                assert_equal d [r RPOP key]
                assert_equal {b c} [all key]
            }

            test "LPOP and RPOP with a count return so many, or what there is ($encoding)" {
                fresh key a b c d e f
                assert_equal {a b} [r LPOP key 2]
                assert_equal {f e} [r RPOP key 2]
                assert_equal {} [r LPOP key 0]
                assert_equal {d c} [r RPOP key 9223372036854775807]
                assert_equal 0 [r EXISTS key]
            }

            test "LINDEX counts from either end ($encoding)" {
                fresh key a b c d e
                foreach {index element} {0 a 1 b 4 e -1 e -5 a 5 (nil) -6 (nil)} {
                    assert_equal $element [r LINDEX key $index]
                }
                assert_equal (nil) [r LINDEX key 9223372036854775807]
                assert_equal (nil) [r LINDEX key -9223372036854775808]
            }

            test "LRANGE returns what lies between start and end, both included ($encoding)" {
                fresh key a b c d e
                foreach {start end elements} {
                    0 -1 {a b c d e}   1 3 {b c d}   -2 -1 {d e}   -100 1 {a b}   3 100 {d e}
                    0 5 {a b c d e}   4 5 e   3 2 {}   5 9 {}   5 5 {}   2 2 c   -1 -2 {}   -9223372036854775808 9223372036854775807 {a b c d e}
                } {
                    assert_equal $elements [r LRANGE key $start $end]
                }
            }

            test "LSET puts an element in the place of another ($encoding)" {
                fresh key a b c d
                assert_equal OK [r LSET key 1 new]
                assert_equal OK [r LSET key -1 17]
                assert_equal {a new c 17} [all key]
                foreach index {4 -5 9223372036854775807 -9223372036854775808 4294967296} {
                    assert_error {ERR index out of range} {r LSET key $index x}
                }
                assert_equal {a new c 17} [all key]
            }

            test "LINSERT puts an element beside the first one that is equal ($encoding)" {
                fresh key a b 3 b
                assert_equal 5 [r LINSERT key BEFORE b x]
                assert_equal 6 [r LINSERT key after b y]
                assert_equal 7 [r LINSERT key BEFORE a first]
                assert_equal 8 [r LINSERT key AFTER 3 four]
                assert_equal {first a x b y 3 four b} [all key]
                assert_equal -1 [r LINSERT key BEFORE nothing x]
            }

            test "LREM takes out equal elements, as many as asked for, from the end asked for ($encoding)" {
                fresh key a b a c a 7 a
                assert_equal 2 [r LREM key 2 a]
                assert_equal {b c a 7 a} [all key]
                assert_equal 1 [r LREM key -1 a]
                assert_equal {b c a 7} [all key]
                assert_equal 1 [r LREM key 0 7]
                assert_equal 0 [r LREM key 0 07]
                assert_equal 1 [r LREM key -9223372036854775807 a]
                assert_equal {b c} [all key]
                r LREM key 0 b
                assert_equal 1 [r LREM key 0 c]
                assert_equal 0 [r EXISTS key]
                fresh key a 1 a 2 a 3 a 4 a
                assert_equal 1 [r LREM key -1 a]
                assert_equal {a 1 a 2 a 3 a 4} [all key]
                assert_equal 3 [r LREM key -3 a]
                assert_equal {a 1 2 3 4} [all key]
            }

            test "LTRIM keeps what lies between start and end ($encoding)" {
                foreach {start end kept} {
                    0 -1 {a b c d e}   1 3 {b c d}   -2 -1 {d e}   0 0 a   -1 -1 e   2 100 {c d e}   -100 -4 {a b}
                } {
                    fresh key a b c d e
                    assert_equal OK [r LTRIM key $start $end]
                    assert_equal $kept [all key]
                }
                foreach {start end} {3 2 5 9 -1 -2 9223372036854775807 -9223372036854775808} {
                    fresh key a b c d e
                    assert_equal OK [r LTRIM key $start $end]
                    assert_equal 0 [r EXISTS key]
                }
            }

            test "LPOS finds the first element that is equal ($encoding)" {
                fresh key a b 10 c b b
                assert_equal 1 [r LPOS key b]
                assert_equal 2 [r LPOS key 10]
                assert_equal (nil) [r LPOS key 010]
                assert_equal (nil) [r LPOS key nothing]
            }

            test "LPOS with RANK goes on to a later one, from the end if negative ($encoding)" {
                fresh key a b 10 c b b
                foreach {rank number} {1 1 2 4 3 5 4 (nil) -1 5 -2 4 -3 1 -4 (nil)} {
                    assert_equal $number [r LPOS key b RANK $rank]
                }
            }

            test "LPOS with COUNT returns several, 0 is all ($encoding)" {
                fresh key a b 10 c b b
                assert_equal {1 4} [r LPOS key b COUNT 2]
                assert_equal {1 4 5} [r LPOS key b COUNT 0]
                assert_equal {5 4 1} [r LPOS key b COUNT 0 RANK -1]
                assert_equal {4 1} [r LPOS key b RANK -2 COUNT 9]
                assert_equal {} [r LPOS key nothing COUNT 0]
            }

            test "LPOS with MAXLEN looks at so many elements ($encoding)" {
                fresh key a b 10 c b b
                assert_equal (nil) [r LPOS key b MAXLEN 1]
                assert_equal 1 [r LPOS key b MAXLEN 2]
                assert_equal {1} [r LPOS key b COUNT 0 MAXLEN 4]
                assert_equal {5 4} [r LPOS key b COUNT 0 MAXLEN 3 RANK -1]
                assert_equal {1 4 5} [r LPOS key b COUNT 0 MAXLEN 0]
            }

            test "LMOVE takes from one end of a list and pushes to an end of another ($encoding)" {
                foreach {from to value source target} {
                    LEFT LEFT a {b c} {a x y z}   LEFT RIGHT a {b c} {x y z a}
                    RIGHT LEFT c {a b} {c x y z}   RIGHT RIGHT c {a b} {x y z c}
                } {
                    fresh one a b c
                    fresh two x y z
                    assert_equal $value [r LMOVE one two $from $to]
                    assert_equal $source [all one]
                    assert_equal $target [all two]
                }
            }

            test "LMOVE within a list turns it ($encoding)" {
                foreach {from to value elements} {
                    LEFT RIGHT a {b c a}   RIGHT LEFT c {c a b}   LEFT LEFT a {a b c}   RIGHT RIGHT c {a b c}
                } {
                    fresh key a b c
                    assert_equal $value [r LMOVE key key $from $to]
                    assert_equal $elements [all key]
                }
            }

            test "RPOPLPUSH takes the last element and prepends it ($encoding)" {
                fresh one a b c
                assert_equal c [r RPOPLPUSH one two]
                assert_equal b [r RPOPLPUSH one two]
                assert_equal {b c} [all two]
                assert_equal a [r RPOPLPUSH one one]
                assert_equal a [r RPOPLPUSH one two]
                assert_equal 0 [r EXISTS one]
            }

            test "LMPOP takes from the first list that is there ($encoding)" {
                fresh key a b c d e
                assert_equal {key a} [r LMPOP 2 none key LEFT]
                assert_equal {key {e d}} [r LMPOP 2 key none RIGHT COUNT 2]
                assert_equal {key {b c}} [r LMPOP 1 key LEFT COUNT 10]
                assert_equal 0 [r EXISTS key]
                assert_equal (nil) [r LMPOP 2 key none LEFT]
            }

            test "Elements hold every byte, and integers come back as they were ($encoding)" {
                set elements {}
                for {set i 0} {$i < 256} {incr i} {
                    lappend elements [format %c $i]
                }
                lappend elements "" 0 -1 127 128 4095 -4096 32767 -32769 8388608 2147483648 9223372036854775807 \
                    -9223372036854775808 9223372036854775808 1.0
                fresh key {*}$elements
                set got [all key]
                set popped [lreverse [r RPOP key [llength $elements]]]
                assert_equal [llength $elements] [llength $got]
                foreach element $elements one $got other $popped {
                    assert_equal $element $one
                    assert_equal $element $other
                }
            }

            test "Text that is nearly an integer stays as it is ($encoding)" {
                fresh key 007 +1 -0
                assert_equal "*3\r\n\$3\r\n007\r\n\$2\r\n+1\r\n\$2\r\n-0\r\n" [[default_client] raw LRANGE key 0 -1]
            }
        }
    }

    # ---- Replies of nothing, types, errors ------------------------------------------------------------------------

    test "A list that is not there is empty" {
        set c [default_client]
        assert_equal "\$-1\r\n" [$c raw LPOP nothing]
        assert_equal "*-1\r\n" [$c raw LPOP nothing 3]
        assert_equal "*-1\r\n" [$c raw LMPOP 1 nothing LEFT]
        assert_equal "\$-1\r\n" [$c raw LMOVE nothing other LEFT LEFT]
        assert_equal "\$-1\r\n" [$c raw LINDEX nothing 0]
        assert_equal "*0\r\n" [$c raw LRANGE nothing 0 -1]
        assert_equal "\$-1\r\n" [$c raw LPOS nothing a]
        assert_equal "*0\r\n" [$c raw LPOS nothing a COUNT 0]
        assert_equal 0 [r LLEN nothing]
        assert_equal 0 [r LREM nothing 0 a]
        assert_equal OK [r LTRIM nothing 0 1]
        assert_equal 0 [r LINSERT nothing BEFORE a b]
        assert_error {ERR no such key} {r LSET nothing 0 a}
        assert_error {ERR no such key} {r LSET nothing x a}
        assert_equal 0 [r DBSIZE]
    }

    test "RESP3 has one null" {
        with_clients c {
            $c HELLO 3
            assert_equal "_\r\n" [$c raw LPOP nothing]
            assert_equal "_\r\n" [$c raw LPOP nothing 3]
            assert_equal "_\r\n" [$c raw LMPOP 1 nothing LEFT]
        }
    }

    test "Commands of lists refuse other types" {
        r SET text value
        r RPUSH key a
        foreach command {
            {LPUSH text a} {RPUSH text a} {LPUSHX text a} {LPOP text} {RPOP text 0} {LLEN text} {LINDEX text 0}
            {LINDEX text x} {LRANGE text 0 1} {LSET text x a} {LINSERT text BEFORE a b} {LTRIM text 0 1} {LREM text 0 a}
            {LPOS text a} {LMOVE text key LEFT LEFT} {LMOVE key text LEFT LEFT} {RPOPLPUSH key text}
            {LMPOP 2 nothing text LEFT}
        } {
            assert_error $wrong_type {r {*}$command}
        }
        assert_equal a [all key]
    }

    test "Numbers are read before the key" {
        r SET text value
        foreach command {{LRANGE text x 1} {LRANGE text 0 x} {LTRIM text x 1} {LREM text x a}} {
            assert_error $not_integer {r {*}$command}
        }
        assert_error {ERR value is out of range, must be positive} {r LPOP text -1}
        assert_error {ERR value is out of range, must be positive} {r RPOP nothing x}
        assert_error {ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807} {
            r LREM key -9223372036854775808 a
        }
        assert_error "ERR wrong number of arguments for 'lpop' command" {r LPOP key 1 2}
    }

    test "LINSERT and LMOVE know two words each" {
        assert_error $syntax {r LINSERT nothing BESIDE a b}
        assert_error $syntax {r LMOVE nothing other LEFT UP}
        assert_error $syntax {r LMOVE nothing other UP LEFT}
    }

    test "LPOS refuses options that mean nothing" {
        assert_error {ERR RANK can't be zero: use 1 to start from the first match, 2 from the second ... or use\
            negative to start from the end of the list} {r LPOS key a RANK 0}
        assert_error {ERR value is out of range*} {r LPOS key a RANK -9223372036854775808}
        assert_error {ERR COUNT can't be negative} {r LPOS key a COUNT -1}
        assert_error {ERR MAXLEN can't be negative} {r LPOS key a MAXLEN -1}
        assert_error $syntax {r LPOS key a RANK}
        assert_error $syntax {r LPOS key a FIRST 1}
    }

    test "LMPOP refuses numbers below one and words it does not know" {
        foreach keys {0 -1 x} {
            assert_error {ERR numkeys should be greater than 0} {r LMPOP $keys key LEFT}
        }
        foreach count {0 -1 x} {
            assert_error {ERR count should be greater than 0} {r LMPOP 1 key LEFT COUNT $count}
        }
        foreach words {{2 key LEFT} {1 key UP} {1 key LEFT COUNT} {1 key LEFT COUNT 1 COUNT 2} {1 key LEFT 3}
            {9223372036854775807 key LEFT}} {
            assert_error $syntax {r LMPOP {*}$words}
        }
    }

    test "A list whose time is over is not there" {
        r RPUSH key a b
        r PEXPIRE key 1
        after 20
        assert_equal 1 [r RPUSH key new]
        assert_equal -1 [r TTL key]
    }

    test "A list keeps its time to live while it has elements" {
        r RPUSH key a b
        r EXPIRE key 100
        r LPOP key
        r RPUSH key c
        assert_between 90 100 [r TTL key]
    }

    # ---- Changes ---------------------------------------------------------------------------------------------------

    test "Each element that comes or goes is a change" {
        foreach {changes command} {
            3 {RPUSH key a b c}   2 {LPUSHX key x y}   1 {LPOP key}   2 {RPOP key 2}   0 {LPOP key 0}   1 {LSET key 0 q}
            1 {LINSERT key BEFORE q p}   0 {LINSERT key BEFORE nothing p}   0 {LREM key 0 nothing}   1 {LREM key 0 q}
            0 {LTRIM key 0 -1}   1 {LMOVE key other LEFT LEFT}   1 {RPOPLPUSH other other}   1 {LMPOP 1 other LEFT}
            0 {LRANGE key 0 -1}   0 {LMPOP 1 other LEFT}
        } {
            set before [info_field rdb_changes_since_last_save]
            r {*}$command
            assert_equal "$changes $command" "[expr {[info_field rdb_changes_since_last_save] - $before}] $command"
        }
    }

    # ---- Encodings -------------------------------------------------------------------------------------------------

    test "A list is a listpack up to so many elements" {
        with_config {list-max-listpack-size 3} {
            fresh key a b c
            assert_equal listpack [r OBJECT ENCODING key]
            r RPUSH key d
            assert_equal quicklist [r OBJECT ENCODING key]
            assert_equal {a b c d} [all key]
        }
    }

    test "A list is a listpack up to so many bytes" {
        foreach {size bytes} {-1 4096 -2 8192 -3 16384 -4 32768 -5 65536 -100 65536 100 8192} {
            with_config [list list-max-listpack-size $size] {
                fresh key [string repeat x [expr {$bytes - 7}]]
                assert_equal "$size listpack" "$size [r OBJECT ENCODING key]"
                fresh key [string repeat x [expr {$bytes - 6}]]
                assert_equal "$size quicklist" "$size [r OBJECT ENCODING key]"
            }
        }
    }

    test "A list that has become small is a listpack again, from half of the size on" {
        with_config {list-max-listpack-size 4} {
            foreach shrink {{LPOP key 2} {RPOP key 2} {LTRIM key 2 -1} {LREM key 2 x}} {
                fresh key x x a b c
                r RPOP key
                assert_equal quicklist [r OBJECT ENCODING key]
                r {*}$shrink
                assert_equal "$shrink listpack" "$shrink [r OBJECT ENCODING key]"
                assert_equal 2 [r LLEN key]
            }
        }
    }

    test "LSET with an element as large as a node, and back" {
        fresh key a b c
        r LSET key 1 [string repeat x 10000]
        assert_equal quicklist [r OBJECT ENCODING key]
        assert_equal [list a [string repeat x 10000] c] [all key]
        r LSET key 1 b
        assert_equal {a b c} [all key]
        r LREM key 1 a
        assert_equal {b c} [all key]
    }

    test "A setting that changes does not touch lists that are there" {
        with_config {list-max-listpack-size 2} {
            fresh key a b c d e
        }
        assert_equal quicklist [r OBJECT ENCODING key]
        r LTRIM key 0 1
        assert_equal listpack [r OBJECT ENCODING key]
    }

    foreach depth {0 1 2} {
        test "A long list gives back what was put into it, compressed $depth nodes from the ends" {
            with_config [list list-compress-depth $depth list-max-listpack-size -1] {
                set elements {}
                for {set i 0} {$i < 2000} {incr i} {
                    lappend elements "element $i [string repeat [expr {$i % 7}] [expr {$i % 90}]]"
                }
                r RPUSH key {*}$elements
                assert_equal $elements [all key]
                foreach i {0 1 999 1500 1999} {
                    assert_equal [lindex $elements $i] [r LINDEX key $i]
                    assert_equal $i [r LPOS key [lindex $elements $i]]
                    assert_equal $i [r LPOS key [lindex $elements $i] RANK -1]
                }
                assert_equal [lrange $elements 700 1300] [r LRANGE key 700 1300]
                r LINSERT key AFTER [lindex $elements 1000] new
                r LSET key 500 [string repeat y 6000]
                set elements [linsert [lreplace $elements 500 500 [string repeat y 6000]] 1001 new]
                assert_equal $elements [all key]
                r COPY key copy
                assert_equal [r DEBUG DIGEST-VALUE key] [r DEBUG DIGEST-VALUE copy]
                r RESTORE restored 0 [r DUMP key]
                assert_equal [r DEBUG DIGEST-VALUE key] [r DEBUG DIGEST-VALUE restored]
                assert_equal $elements [all restored]
                while {[r LLEN key] > 100} {
                    r LPOP key 37
                    r RPOP key 41
                }
                assert_equal [lrange $elements [expr {37 * 25}] end-[expr {41 * 25}]] [all key]
            }
        }
    }

    test "DEBUG OBJECT describes the nodes of a quicklist" {
        needs_free_encodings
        with_config {list-max-listpack-size 2} {
            fresh key a b c
            assert_match {*encoding:quicklist * ql_nodes:2 ql_avg_node:1.50 ql_listpack_max:2 ql_compressed:0\
                ql_uncompressed_size:23} [r DEBUG OBJECT key]
        }
        fresh key a
        assert_no_match *ql_* [r DEBUG OBJECT key]
    }

    test "DEBUG QUICKLIST-PACKED-THRESHOLD makes shorter elements nodes of their own" {
        needs_free_encodings
        assert_equal OK [r DEBUG QUICKLIST-PACKED-THRESHOLD 3b]
        with_config {list-max-listpack-size 2} {
            fresh key a b aa bbb c
            assert_match *ql_nodes:4* [r DEBUG OBJECT key]
            assert_equal {a b aa bbb c} [all key]
            r LSET key 0 long
            r LSET key 3 b
            assert_equal {long b aa b c} [all key]
        }
        assert_error {ERR argument must be a memory value bigger than 1 and smaller than 4gb} {
            r DEBUG QUICKLIST-PACKED-THRESHOLD 5gb
        }
        assert_equal OK [r DEBUG QUICKLIST-PACKED-THRESHOLD 0]
    }

    test "DEBUG LISTPACK and QUICKLIST want values of that encoding" {
        needs_free_encodings
        fresh key a b
        assert_match {Listpack structure*} [r DEBUG LISTPACK key]
        assert_error {ERR Not a quicklist encoded object.} {r DEBUG QUICKLIST key}
        assert_error {ERR no such key} {r DEBUG LISTPACK nothing}
        r RPUSH key [string repeat x 9000]
        assert_match {Quicklist structure*} [r DEBUG QUICKLIST key 1]
        assert_error {ERR Not a listpack encoded object.} {r DEBUG LISTPACK key}
    }

    test "MEMORY USAGE of a list grows with it" {
        needs_free_encodings
        fresh key a
        set small [r MEMORY USAGE key]
        fresh key {*}[lrepeat 5000 [string repeat x 50]]
        assert {[r MEMORY USAGE key SAMPLES 0] > $small + 250000}
        assert {[r MEMORY USAGE key SAMPLES 5] > $small + 200000}
    }

    test "A list of many elements is pushed and popped as a queue" {
        set elements {}
        for {set i 0} {$i < 500} {incr i} {
            lappend elements "job $i [string repeat j 60]"
        }
        for {set round 0} {$round < 20} {incr round} {
            r RPUSH key {*}$elements
            if {$round >= 2} {
                assert_equal $elements [r LPOP key 500]
            }
        }
        assert_equal 1000 [r LLEN key]
    }
}
