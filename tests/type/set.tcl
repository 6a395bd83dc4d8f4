# set.tcl -- the commands of sets, option by option and error by error, in each encoding.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}
set thresholds {set-max-intset-entries 512 set-max-listpack-entries 128 set-max-listpack-value 64}

proc numbers {from to} {
    set list {}
    for {set i $from} {$i <= $to} {incr i} {
        lappend list $i
    }
    return $list
}

proc words {from to} {
    set list {}
    for {set i $from} {$i <= $to} {incr i} {
        lappend list member:$i
    }
    return $list
}

# Makes a set of exactly these members with encoding `encoding`, which the later thresholds do not change.
proc make_set {key encoding members} {
    r DEL $key
    switch $encoding {
        intset {r CONFIG SET set-max-intset-entries 100000}
        listpack {r CONFIG SET set-max-intset-entries 0 set-max-listpack-entries 100000 set-max-listpack-value 100000}
        hashtable {r CONFIG SET set-max-intset-entries 0 set-max-listpack-entries 0}
    }
    r SADD $key {*}$members
    r CONFIG SET {*}$::thresholds
    assert_equal $encoding [r OBJECT ENCODING $key]
}

proc limits {intset listpack {value 64}} {
    r CONFIG SET set-max-intset-entries $intset set-max-listpack-entries $listpack set-max-listpack-value $value
}

proc encoding {{key set}} {
    r OBJECT ENCODING $key
}

start_server {each {
    r FLUSHALL
    r CONFIG SET {*}$::thresholds
}} {

    # ---- SADD, SREM, SCARD ------------------------------------------------------------------------------------

    test "SADD says how many members are new" {
        assert_equal 3 [r SADD set a b a c]
        assert_equal 1 [r SADD set a d]
        assert_equal 0 [r SADD set a d]
        assert_same_set {a b c d} [r SMEMBERS set]
        assert_equal 4 [r SCARD set]
    }

    test "SADD, SREM and SCARD refuse other types" {
        r SET key value
        assert_error $wrong_type {r SADD key a}
        assert_error $wrong_type {r SREM key a}
        assert_error $wrong_type {r SCARD key}
        assert_equal value [r GET key]
    }

    test "SCARD of a missing key is 0" {
        assert_equal 0 [r SCARD nothing]
    }

    test "TYPE of a set is set" {
        r SADD set a
        assert_equal set [r TYPE set]
    }

    foreach encoding {intset listpack hashtable} {
        test "SREM says how many members it took ($encoding)" {
            make_set set $encoding {1 2 3}
            assert_equal 2 [r SREM set 3 7 1 x 3]
            assert_same_set 2 [r SMEMBERS set]
        }

        test "SREM of the last member deletes the key ($encoding)" {
            make_set set $encoding {1 2}
            assert_equal 2 [r SREM set 1 2 1 2]
            assert_equal 0 [r EXISTS set]
        }

        test "Members are found, those that are not there are not ($encoding)" {
            make_set set $encoding [numbers 1 20]
            assert_equal 1 [r SISMEMBER set 20]
            assert_equal 0 [r SISMEMBER set 21]
            assert_equal 0 [r SISMEMBER set x]
            assert_equal 0 [r SISMEMBER set 01]
            assert_equal 0 [r SISMEMBER set ""]
            assert_equal {1 0 1 0} [r SMISMEMBER set 1 x 7 " 7"]
            assert_same_set [numbers 1 20] [r SMEMBERS set]
        }

        test "A copy is equal and apart ($encoding)" {
            make_set set $encoding [numbers 1 20]
            assert_equal 1 [r COPY set copy]
            assert_equal $encoding [encoding copy]
            assert_equal [r DEBUG DIGEST-VALUE set] [r DEBUG DIGEST-VALUE copy]
            r SREM copy 1
            assert_equal 1 [r SISMEMBER set 1]
        }

        test "DUMP and RESTORE give the same members ($encoding)" {
            make_set set $encoding [numbers 1 20]
            r RESTORE copy 0 [r DUMP set]
            assert_same_set [numbers 1 20] [r SMEMBERS copy]
            assert_equal [r DEBUG DIGEST-VALUE set] [r DEBUG DIGEST-VALUE copy]
        }

        test "A set has an expire and keeps it when members change ($encoding)" {
            make_set set $encoding {1 2 3}
            r PEXPIRE set 100000
            r SADD set 4 x
            r SREM set 1
            assert_between 1 100000 [r PTTL set]
        }
    }

    test "A set whose time is over is not there" {
        r SADD set a b c
        r PEXPIRE set 1
        after 20
        assert_equal 0 [r SISMEMBER set a]
        assert_equal 1 [r SADD set a]
        assert_equal -1 [r TTL set]
        assert_equal 1 [r SCARD set]
    }

    foreach size {0 1 63 64 65 127 128 129 255 4095 4096 70000} {
        test "A member of $size bytes comes back as it was" {
            set member [string repeat m $size]
            assert_equal 1 [r SADD set $member]
            assert_equal 0 [r SADD set $member]
            assert_equal [list $member] [r SMEMBERS set]
            assert_equal 1 [r SISMEMBER set $member]
            assert_equal 1 [r SADD set other]
            assert_equal 1 [r SREM set $member]
            assert_equal other [r SMEMBERS set]
        }
    }

    test "Members hold every byte" {
        set members {}
        for {set i 0} {$i < 256} {incr i} {
            lappend members [format %c $i] x[format %c $i]
        }
        assert_equal 512 [r SADD set {*}$members]
        assert_same_set $members [r SMEMBERS set]
        r RESTORE copy 0 [r DUMP set]
        assert_same_set $members [r SMEMBERS copy]
    }

    test "Integers at the ends of 16, 32 and 64 bits are members" {
        set members {-32768 32767 32768 -32769 2147483647 -2147483648 2147483648 -2147483649
            9223372036854775807 -9223372036854775808}
        r SADD set {*}$members
        assert_equal intset [encoding]
        assert_same_set $members [r SMEMBERS set]
        r SADD set 9223372036854775808
        assert_equal listpack [encoding]
        assert_same_set [concat $members 9223372036854775808] [r SMEMBERS set]
    }

    test "What only looks like an integer is text" {
        r SADD set 1
        assert_equal 4 [r SADD set 01 +1 " 1" 1.0]
        assert_equal listpack [encoding]
        assert_equal {1 1 0} [r SMISMEMBER set 1 01 001]
    }

    # ---- Encodings --------------------------------------------------------------------------------------------

    test "Integers are an intset, up to its threshold" {
        limits 4 2
        r SADD set 1 2 3 4
        assert_equal intset [encoding]
        r SADD set 5
        assert_equal hashtable [encoding]
    }

    test "Words are a listpack, up to its threshold" {
        limits 4 4
        r SADD set a b c d
        assert_equal listpack [encoding]
        r SADD set e
        assert_equal hashtable [encoding]
    }

    test "A member that is too long makes a table" {
        limits 4 4 5
        r SADD set 12345
        r SADD set abcde
        assert_equal listpack [encoding]
        r SADD set abcdef
        assert_equal hashtable [encoding]
    }

    test "A word makes an intset a listpack, where that has room for the longest integer" {
        limits 8 4 3
        r SADD set 1 2 3
        r SADD set a
        assert_equal listpack [encoding]
        r SADD other 1000
        r SADD other a
        assert_equal hashtable [encoding other]
        r SADD many 1 2 3 4
        r SADD many a
        assert_equal hashtable [encoding many]
    }

    test "As many members as one command brings decide about the encoding, also of a set that is there" {
        limits 2 4
        r SADD new 1 1 1
        assert_equal listpack [encoding new]
        r SADD more a a a a a
        assert_equal hashtable [encoding more]
        r SADD set 1
        r SADD set 1 1
        assert_equal intset [encoding]
        r SADD set 1 1 1
        assert_equal hashtable [encoding]
    }

    test "A table does not become compact again" {
        make_set set hashtable [numbers 1 100]
        r SREM set {*}[numbers 2 100]
        assert_equal hashtable [encoding]
        assert_equal 1 [r SMEMBERS set]
    }

    foreach {intset listpack value expected} {
        0 0 0 {hashtable hashtable}
        1 0 0 {intset hashtable}
        0 1 64 {listpack listpack}
        0 1 0 {hashtable hashtable}
        9223372036854775807 9223372036854775807 9223372036854775807 {intset listpack}
    } {
        test "Thresholds of $intset, $listpack and $value are followed" {
            limits $intset $listpack $value
            r SADD integer 1
            r SADD word a
            assert_equal $expected [list [encoding integer] [encoding word]]
            assert_equal 3 [r SADD integer 2 a 3]
            assert_same_set {1 2 3 a} [r SMEMBERS integer]
            r SUNIONSTORE both integer word
            assert_same_set {1 2 3 a} [r SMEMBERS both]
        }
    }

    test "The longest integer of an intset, of either sign, decides what a word makes of it" {
        foreach {integers expected} {{-100 5} hashtable   {-5 1000} hashtable   {-10 100} listpack   {100 101} listpack} {
            limits 512 128 3
            r DEL set
            r SADD set {*}$integers
            assert_equal intset [encoding]
            r SADD set x
            assert_equal "$integers $expected" "$integers [encoding]"
            assert_same_set [list {*}$integers x] [r SMEMBERS set]
        }
    }

    # ---- SISMEMBER, SMISMEMBER, SMEMBERS ----------------------------------------------------------------------

    test "Reading a missing key finds nothing" {
        assert_equal 0 [r SISMEMBER nothing a]
        assert_equal {0 0} [r SMISMEMBER nothing a b]
        assert_equal {} [r SMEMBERS nothing]
    }

    test "Reading refuses other types" {
        r SET key value
        assert_error $wrong_type {r SISMEMBER key a}
        assert_error $wrong_type {r SMISMEMBER key a b}
        assert_error $wrong_type {r SMEMBERS key}
    }

    test "SMISMEMBER of a thousand members of a table" {
        r SADD set {*}[words 1 1000]
        assert_equal [lrepeat 1000 1] [r SMISMEMBER set {*}[words 1 1000]]
        assert_equal [lrepeat 1000 0] [r SMISMEMBER set {*}[words 1001 2000]]
    }

    test "Members come as a set in RESP3" {
        r SADD set a
        r HELLO 3
        assert_equal "~1\r\n\$1\r\na\r\n" [[default_client] raw SMEMBERS set]
        assert_equal "~0\r\n" [[default_client] raw SMEMBERS nothing]
        assert_equal "~1\r\n\$1\r\na\r\n" [[default_client] raw SINTER set]
        assert_equal "~1\r\n\$1\r\na\r\n" [[default_client] raw SUNION set]
        assert_equal "~1\r\n\$1\r\na\r\n" [[default_client] raw SDIFF set]
        assert_equal "*1\r\n\$1\r\na\r\n" [[default_client] raw SRANDMEMBER set 1]
        assert_equal "~1\r\n\$1\r\na\r\n" [[default_client] raw SPOP set 1]
        assert_equal "~0\r\n" [[default_client] raw SPOP set 1]
        assert_equal "_\r\n" [[default_client] raw SPOP set]
        r HELLO 2
    }

    # ---- SMOVE ------------------------------------------------------------------------------------------------

    foreach from {intset listpack hashtable} {
        foreach to {intset listpack hashtable} {
            test "SMOVE from $from to $to" {
                make_set source $from {1 2 3}
                make_set target $to {4 5}
                assert_equal 1 [r SMOVE source target 2]
                assert_same_set {1 3} [r SMEMBERS source]
                assert_same_set {2 4 5} [r SMEMBERS target]
            }
        }
    }

    test "SMOVE of a word into an intset" {
        r SADD source a
        r SADD target 1 2
        assert_equal 1 [r SMOVE source target a]
        assert_equal 0 [r EXISTS source]
        assert_same_set {1 2 a} [r SMEMBERS target]
        assert_equal listpack [encoding target]
    }

    test "SMOVE to a key that is not there makes a set" {
        r SADD source 1 2
        assert_equal 1 [r SMOVE source target 1]
        assert_equal intset [encoding target]
    }

    test "SMOVE of a member that the target has takes it from the source" {
        r SADD source a b
        r SADD target a
        assert_equal 1 [r SMOVE source target a]
        assert_equal {b a} [concat [r SMEMBERS source] [r SMEMBERS target]]
    }

    test "SMOVE of what is not there changes nothing" {
        r SADD source a
        assert_equal 0 [r SMOVE source target b]
        assert_equal 0 [r SMOVE nothing target b]
        assert_equal 0 [r EXISTS target]
    }

    test "SMOVE within one set only looks" {
        r SADD set a
        assert_equal 1 [r SMOVE set set a]
        assert_equal 0 [r SMOVE set set b]
        assert_equal a [r SMEMBERS set]
    }

    test "SMOVE refuses other types, but from a key that is not there" {
        r SADD set a
        r SET key value
        assert_error $wrong_type {r SMOVE key set a}
        assert_error $wrong_type {r SMOVE set key a}
        assert_error $wrong_type {r SMOVE set key z}
        assert_equal 0 [r SMOVE nothing key a]
        assert_equal a [r SMEMBERS set]
    }

    # ---- SINTER, SUNION, SDIFF --------------------------------------------------------------------------------

    foreach first {intset listpack hashtable} {
        foreach second {intset listpack hashtable} {
            test "What $first and $second have in common, together, and not" {
                make_set one $first [numbers 1 300]
                make_set two $second [numbers 201 600]
                assert_same_set [numbers 201 300] [r SINTER one two]
                assert_same_set [numbers 1 600] [r SUNION one two]
                assert_same_set [numbers 1 200] [r SDIFF one two]
                assert_same_set [numbers 301 600] [r SDIFF two one]
                assert_equal 100 [r SINTERCARD 2 one two]
                assert_equal 100 [r SINTERSTORE into one two]
                assert_same_set [numbers 201 300] [r SMEMBERS into]
                assert_equal 600 [r SUNIONSTORE into one two]
                assert_same_set [numbers 1 600] [r SMEMBERS into]
                assert_equal 200 [r SDIFFSTORE into one two]
                assert_same_set [numbers 1 200] [r SMEMBERS into]
            }
        }
    }

    test "Words and integers in listpacks of few and many members" {
        foreach size {1 15 16 17 127 128 129 300} {
            foreach other {1 15 16 128 200} {
                make_set one listpack [concat [words 1 $size] [numbers -$size -1] [numbers 1 $size]]
                make_set two listpack [concat [words 1 $other] [numbers 1 $other] {{} 007 -}]
                set common [expr {min($size, $other)}]
                assert_same_set [concat [words 1 $common] [numbers 1 $common]] [r SINTER one two]
                assert_equal [expr {3 * $size + 2 * ($other - $common) + 3}] [llength [lsort -unique [r SUNION one two]]]
                assert_same_set [concat [words [expr {$size + 1}] $other] [numbers [expr {$size + 1}] $other] {{} 007 -}] [r SDIFF two one]
            }
        }
    }

    test "Words and integers in tables that are small and large" {
        make_set one hashtable [concat [words 1 1000] [numbers 1 1000]]
        make_set two hashtable [concat [words 991 1200] [numbers 995 1000]]
        set common [concat [words 991 1000] [numbers 995 1000]]
        assert_same_set $common [r SINTER one two]
        assert_same_set $common [r SINTER two one]
        assert_same_set [concat [words 1 1200] [numbers 1 1000]] [r SUNION one two]
        assert_same_set [words 1001 1200] [r SDIFF two one]
    }

    test "Many sets at once" {
        set keys {}
        for {set i 1} {$i <= 40} {incr i} {
            r SADD set:$i {*}[numbers $i 100] word:$i
            lappend keys set:$i
        }
        assert_same_set [numbers 40 100] [r SINTER {*}$keys]
        assert_equal 140 [llength [r SUNION {*}$keys]]
        assert_same_set {1 word:1} [r SDIFF {*}$keys]
        assert_equal 140 [r SUNIONSTORE into {*}$keys]
        assert_equal 2 [r SDIFFSTORE into {*}$keys]
        assert_equal 61 [r SINTERSTORE into {*}$keys]
    }

    test "SDIFF of a large set and many small ones, which is built and cut down" {
        set keys {}
        for {set i 1} {$i <= 20} {incr i} {
            r SADD small:$i $i
            lappend keys small:$i
        }
        r SADD large {*}[numbers 1 1000]
        assert_same_set [numbers 21 1000] [r SDIFF large {*}$keys]
        assert_equal 980 [r SDIFFSTORE into large {*}$keys]
        assert_same_set [numbers 21 1000] [r SMEMBERS into]
    }

    test "A key named twice, and the destination among the sources" {
        r SADD one a b c
        r SADD two b c d
        assert_same_set {a b c} [r SINTER one one]
        assert_same_set {a b c} [r SUNION one one]
        assert_equal {} [r SDIFF one one]
        assert_equal 2 [r SINTERSTORE one one two]
        assert_same_set {b c} [r SMEMBERS one]
        assert_equal 3 [r SUNIONSTORE two one two]
        assert_equal 1 [r SDIFFSTORE two two one]
        assert_equal d [r SMEMBERS two]
        assert_equal 0 [r SDIFFSTORE two two two]
        assert_equal 0 [r EXISTS two]
    }

    test "Keys that are not there are empty sets" {
        r SADD one a b
        assert_equal {} [r SINTER one nothing]
        assert_equal {} [r SINTER nothing one]
        assert_same_set {a b} [r SUNION nothing one nothing]
        assert_equal {} [r SUNION nothing nothing]
        assert_same_set {a b} [r SDIFF one nothing]
        assert_equal {} [r SDIFF nothing one]
        assert_equal 0 [r SINTERCARD 2 one nothing]
    }

    test "An empty result deletes the destination" {
        foreach command {SINTERSTORE SUNIONSTORE SDIFFSTORE} {
            r SET into value
            assert_equal 0 [r $command into nothing nothing]
            assert_equal 0 [r EXISTS into]
        }
    }

    test "A result replaces whatever the destination held, its expire too" {
        r SADD one a
        r SET into value EX 100
        assert_equal 1 [r SUNIONSTORE into one]
        assert_equal -1 [r TTL into]
        assert_equal a [r SMEMBERS into]
    }

    test "Other types are refused wherever they stand, and the destination is as it was" {
        r SADD one a
        r SADD into z
        r SET key value
        foreach keys {{one key} {key one} {nothing key} {key nothing} {one nothing key}} {
            foreach command {SINTER SUNION SDIFF} {
                assert_error $wrong_type {r $command {*}$keys}
                assert_error $wrong_type {r ${command}STORE into {*}$keys}
            }
            assert_error $wrong_type {r SINTERCARD [llength $keys] {*}$keys}
        }
        assert_equal z [r SMEMBERS into]
    }

    test "The encoding of a stored intersection is that of its members" {
        make_set one hashtable [concat [numbers 1 200] [words 1 200]]
        make_set two hashtable [concat [numbers 1 3] [words 300 400]]
        make_set three listpack {1 2 member:1}
        r SINTERSTORE into one two
        assert_equal intset [encoding into]
        r SINTERSTORE into one three
        assert_equal listpack [encoding into]
        limits 512 2
        r SINTERSTORE into one three
        assert_equal hashtable [encoding into]
    }

    test "The encoding of a stored difference shows how it was made" {
        limits 9 0
        r SADD one {*}[numbers 1 9]
        r SADD one 10
        for {set i 1} {$i <= 9} {incr i} {
            r SADD small:$i $i
        }
        r SADD most {*}[numbers 1 9]
        r SDIFFSTORE into one most
        assert_equal intset [encoding into]
        r SDIFFSTORE into one small:1 small:2 small:3 small:4
        assert_equal hashtable [encoding into]
        assert_same_set [numbers 5 10] [r SMEMBERS into]
    }

    # ---- SINTERCARD -------------------------------------------------------------------------------------------

    test "SINTERCARD with a limit counts on where the first members are in one set only" {
        foreach {kind first} {listpack m intset {}} {
            set members {}
            for {set i 0} {$i < 100} {incr i} {
                lappend members $first$i
            }
            r DEL a b
            r SADD a {*}$members
            r SADD b {*}[lrange $members 40 end] ${first}1000
            foreach {limit count} {1 1 2 2 59 59 60 60 61 60 0 60} {
                assert_equal $count [r SINTERCARD 2 a b LIMIT $limit]
                assert_equal $count [r ZINTERCARD 2 a b LIMIT $limit]
            }
        }
    }

    test "SINTERCARD counts up to LIMIT" {
        r SADD one {*}[numbers 1 1000]
        r SADD two {*}[numbers 501 1500]
        assert_equal 500 [r SINTERCARD 2 one two]
        assert_equal 500 [r SINTERCARD 2 one two LIMIT 0]
        assert_equal 10 [r SINTERCARD 2 one two LIMIT 10]
        assert_equal 500 [r SINTERCARD 2 one two LIMIT 501]
        assert_equal 3 [r SINTERCARD 2 one two LIMIT 10 limit 3]
        assert_equal 1000 [r SINTERCARD 1 one]
    }

    test "SINTERCARD refuses bad arguments" {
        r SADD one a
        foreach {arguments message} {
            {0 one} {ERR numkeys should be greater than 0}
            {-1 one} {ERR numkeys should be greater than 0}
            {x one} {ERR numkeys should be greater than 0}
            {2 one} {ERR Number of keys can't be greater than number of args}
            {9223372036854775807 one} {ERR Number of keys can't be greater than number of args}
            {1 one LIMIT} {ERR syntax error}
            {1 one two} {ERR syntax error}
            {1 one LIMIT -1} {ERR LIMIT can't be negative}
            {1 one LIMIT x} {ERR LIMIT can't be negative}
        } {
            assert_error $message {r SINTERCARD {*}$arguments}
        }
    }

    # ---- SPOP -------------------------------------------------------------------------------------------------

    foreach encoding {intset listpack hashtable} {
        test "SPOP takes each member once ($encoding)" {
            make_set set $encoding [numbers 1 50]
            set popped {}
            for {set i 0} {$i < 50} {incr i} {
                lappend popped [r SPOP set]
            }
            assert_same_set [numbers 1 50] $popped
            assert_equal 0 [r EXISTS set]
            assert_equal (nil) [r SPOP set]
        }

        foreach count {0 1 2 5 50 82 83 84 90 99 100 101 9223372036854775807} {
            test "SPOP of $count of a hundred members ($encoding)" {
                make_set set $encoding [numbers 1 100]
                set popped [r SPOP set $count]
                assert_equal [expr {min($count, 100)}] [llength $popped]
                assert_same_set [numbers 1 100] [concat $popped [r SMEMBERS set]]
                assert_equal [expr {$count < 100}] [r EXISTS set]
            }
        }

        # Each of 10 members is expected 300 times in 3000; the limits are 12 standard deviations away.
        test "SPOP is fair ($encoding)" {
            for {set i 0} {$i < 10} {incr i} {
                set taken($i) 0
            }
            make_set origin $encoding [numbers 0 9]
            for {set round 0} {$round < 3000} {incr round} {
                r COPY origin set REPLACE
                incr taken([r SPOP set])
            }
            for {set i 0} {$i < 10} {incr i} {
                assert_between 100 500 $taken($i)
            }
        }

        test "SPOP with a count is fair ($encoding)" {
            foreach count {2 5 9} {
                for {set i 0} {$i < 10} {incr i} {
                    set taken($i) 0
                }
                make_set origin $encoding [numbers 0 9]
                for {set round 0} {$round < 1000} {incr round} {
                    r COPY origin set REPLACE
                    foreach member [r SPOP set $count] {
                        incr taken($member)
                    }
                }
                for {set i 0} {$i < 10} {incr i} {
                    assert_between [expr {100 * $count - 180}] [expr {100 * $count + 180}] $taken($i)
                }
            }
        }
    }

    test "What few members SPOP leaves of a table are compact" {
        make_set set hashtable [words 1 100]
        r SPOP set 83
        assert_equal hashtable [encoding]
        make_set set hashtable [words 1 100]
        r SPOP set 84
        assert_equal listpack [encoding]
        make_set set hashtable [numbers 1 100]
        r SPOP set 99
        assert_equal listpack [encoding]
    }

    test "SPOP refuses bad counts and other types" {
        r SADD set a
        r SET key value
        foreach count {-1 x 9223372036854775808 -9223372036854775808} {
            assert_error {ERR value is out of range, must be positive} {r SPOP set $count}
            assert_error {ERR value is out of range, must be positive} {r SPOP key $count}
        }
        assert_error $syntax {r SPOP set 1 2}
        assert_error $wrong_type {r SPOP key}
        assert_error $wrong_type {r SPOP key 0}
        assert_equal {} [r SPOP nothing 5]
        assert_equal 1 [r SCARD set]
    }

    # ---- SRANDMEMBER ------------------------------------------------------------------------------------------

    foreach encoding {intset listpack hashtable} {
        foreach count {1 2 5 30 33 34 50 99 100 101 100000} {
            test "SRANDMEMBER of $count of a hundred: different ones ($encoding)" {
                make_set set $encoding [numbers 1 100]
                set picked [r SRANDMEMBER set $count]
                assert_equal [expr {min($count, 100)}] [llength $picked]
                assert_equal [llength $picked] [llength [lsort -unique $picked]]
                foreach member $picked {
                    assert_between 1 100 $member
                }
                assert_equal 100 [r SCARD set]
            }
        }

        test "SRANDMEMBER with a negative count may repeat members ($encoding)" {
            make_set set $encoding {1 2 3}
            set picked [r SRANDMEMBER set -1000]
            assert_equal 1000 [llength $picked]
            assert_same_set {1 2 3} [lsort -unique $picked]
        }

        test "SRANDMEMBER is fair ($encoding)" {
            for {set i 0} {$i < 100} {incr i} {
                set times($i) 0
            }
            make_set set $encoding [numbers 0 99]
            foreach member [r SRANDMEMBER set -30000] {
                incr times($member)
            }
            for {set i 0} {$i < 1000} {incr i} {
                incr times([r SRANDMEMBER set])
                foreach member [r SRANDMEMBER set 10] {
                    incr times($member)
                }
                foreach member [r SRANDMEMBER set 50] {
                    incr times($member)
                }
            }
            # 910 are expected.
            for {set i 0} {$i < 100} {incr i} {
                assert_between 500 1400 $times($i)
            }
        }
    }

    test "SRANDMEMBER of a missing key is null, or nothing" {
        assert_equal (nil) [r SRANDMEMBER nothing]
        assert_equal {} [r SRANDMEMBER nothing 5]
        assert_equal {} [r SRANDMEMBER nothing -5]
    }

    test "SRANDMEMBER refuses bad counts and other types" {
        r SADD set a
        r SET key value
        assert_equal {} [r SRANDMEMBER set 0]
        assert_error $not_integer {r SRANDMEMBER set x}
        assert_error $not_integer {r SRANDMEMBER set 9223372036854775808}
        assert_error {ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807} {
            r SRANDMEMBER set -9223372036854775808
        }
        assert_equal a [r SRANDMEMBER set 9223372036854775807]
        assert_error $syntax {r SRANDMEMBER set 1 2}
        assert_error $wrong_type {r SRANDMEMBER key}
        assert_error $wrong_type {r SRANDMEMBER key 0}
    }

    test "A table that is nearly empty gives random members at once" {
        r SADD set {*}[words 1 50000]
        r SREM set {*}[words 4 50000]
        for {set i 0} {$i < 100} {incr i} {
            assert {[r SRANDMEMBER set] in [words 1 3]}
        }
        assert_same_set [words 1 3] [concat [r SPOP set] [r SPOP set] [r SPOP set]]
    }

    # ---- SSCAN ------------------------------------------------------------------------------------------------

    foreach encoding {intset listpack hashtable} {
        test "SSCAN sees every member ($encoding)" {
            make_set set $encoding [numbers 1 200]
            set cursor 0
            set seen {}
            while 1 {
                lassign [r SSCAN set $cursor COUNT 7] cursor members
                lappend seen {*}$members
                if {$cursor == 0} {
                    break
                }
            }
            assert_equal [lsort [numbers 1 200]] [lsort -unique $seen]
        }

        test "SSCAN with MATCH sees those that match ($encoding)" {
            make_set set $encoding [numbers 1 200]
            assert_same_set {1 10 11 12 13 14 15 16 17 18 19} [lindex [r SSCAN set 0 MATCH {1[0-9]} COUNT 1000] 1]\ 1
            assert_equal {0 {}} [r SSCAN set 0 MATCH x* COUNT 1000]
        }
    }

    test "A set that has no table is scanned in one call, whatever the cursor" {
        r SADD set 1 2 3
        assert_equal {0 {1 2 3}} [r SSCAN set 0 COUNT 1]
        assert_equal {0 {1 2 3}} [r SSCAN set 99]
    }

    test "SSCAN of a missing key has seen all, whatever the options" {
        assert_equal {0 {}} [r SSCAN nothing 0 COUNT 0]
    }

    test "SSCAN refuses bad arguments and other types" {
        r SADD set a
        r SET key value
        assert_error {ERR invalid cursor} {r SSCAN set x}
        assert_error {ERR invalid cursor} {r SSCAN key x}
        assert_error $wrong_type {r SSCAN key 0}
        assert_error $syntax {r SSCAN set 0 COUNT 0}
        assert_error $syntax {r SSCAN set 0 COUNT}
        assert_error $syntax {r SSCAN set 0 TYPE set}
        assert_error {ERR NOVALUES option can only be used in HSCAN} {r SSCAN set 0 NOVALUES}
        assert_error {ERR NOSCORES option can only be used in ZSCAN} {r SSCAN set 0 NOSCORES}
    }

    # ---- Payloads ---------------------------------------------------------------------------------------------

    test "A set that is restored follows the thresholds" {
        r SADD integers 1 2 3
        r SADD words a b c
        set integers [r DUMP integers]
        set words [r DUMP words]
        limits 2 2
        r RESTORE one 0 $integers
        r RESTORE two 0 $words
        assert_equal {hashtable hashtable} [list [encoding one] [encoding two]]
        set integers [r DUMP one]
        set words [r DUMP two]
        limits 3 3
        r RESTORE three 0 $integers
        r RESTORE four 0 $words
        assert_equal {intset listpack} [list [encoding three] [encoding four]]
    }

    test "Changes count as many members as come or go" {
        proc changes {} {
            regexp {rdb_changes_since_last_save:(\d+)} [r INFO persistence] all n
            return $n
        }
        foreach {command count} {
            {SADD set a b c d a} 4
            {SADD set a} 0
            {SREM set a x} 1
            {SMOVE set other b} 2
            {SMOVE set set c} 0
            {SUNIONSTORE into set other} 1
            {SINTERSTORE into set nothing} 1
            {SINTERSTORE into set nothing} 0
            {SPOP set 1} 1
            {SPOP set 9} 1
            {SPOP set} 0
            {SADD many 1 2 3 4 5 6 7 8 9} 9
            {SPOP many 2} 2
            {SPOP many 6} 6
        } {
            set before [changes]
            r {*}$command
            assert_equal [list $command $count] [list $command [expr {[changes] - $before}]]
        }
    }

    test "SRANDMEMBER: a number that no reply can have is refused" {
        r SADD key a b
        assert_error "OOM *" {r SRANDMEMBER key -4000000000000000000}
        with_clients c {
            $c write [string cat "CLIENT REPLY SKIP\r\n" "SRANDMEMBER key -4000000000000\r\n" "PING\r\n"]
            assert_equal PONG [$c reply]
        }
    }
}
