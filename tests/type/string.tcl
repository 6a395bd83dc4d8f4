# string.tcl -- the commands of string values, option by option and error by error.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_number {ERR wrong number of arguments for '%s' command}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}

start_server {each {r FLUSHALL}} {

    # ---- GET and SET ------------------------------------------------------------------------------------------

    test "GET of a missing key is null" {
        assert_equal "\$-1\r\n" [[default_client] raw GET nothing]
    }

    test "SET stores a value that GET returns" {
        assert_equal OK [r SET key value]
        assert_equal value [r GET key]
    }

    test "SET replaces a value" {
        r SET key one
        r SET key two
        assert_equal two [r GET key]
    }

    test "The empty string is a value, not a missing key" {
        r SET key ""
        assert_equal "\$0\r\n\r\n" [[default_client] raw GET key]
        assert_equal 1 [r EXISTS key]
    }

    test "The empty string is a key" {
        r SET "" value
        assert_equal value [r GET ""]
    }

    test "Keys and values hold every byte" {
        set bytes ""
        for {set i 0} {$i < 256} {incr i} {
            append bytes [format %c $i]
        }
        r SET $bytes $bytes$bytes
        assert_equal $bytes$bytes [r GET $bytes]
    }

    foreach size {1 15 16 31 32 44 45 63 64 127 128 129 500 4095 4096 16383 16384 16385 65536 1000000} {
        test "A value of $size bytes comes back as it was" {
            set value [string repeat "v" [expr {$size - 1}]]!
            r SET key $value
            assert_equal $value [r GET key]
            assert_equal $size [r STRLEN key]
        }
    }

    test "Command names and options are read in any case" {
        r SET key old
        assert_equal OK [r sEt key value xX]
    }

    test "SET with XX on a missing key stores nothing and returns null" {
        assert_equal (nil) [r SET key value XX]
        assert_equal 0 [r EXISTS key]
    }

    test "SET with XX replaces an existing value" {
        r SET key one
        assert_equal OK [r SET key two XX]
        assert_equal two [r GET key]
    }

    test "SET with NX stores where nothing is" {
        assert_equal OK [r SET key value NX]
        assert_equal value [r GET key]
    }

    test "SET with NX on an existing key changes nothing and returns null" {
        r SET key one
        assert_equal (nil) [r SET key two NX]
        assert_equal one [r GET key]
    }

    test "SET with NX after the key has expired stores" {
        r SET key one PX 1
        after 20
        assert_equal OK [r SET key two NX]
    }

    test "SET with GET returns the old value and stores the new one" {
        r SET key old
        assert_equal old [r SET key new GET]
        assert_equal new [r GET key]
    }

    test "SET with GET on a missing key returns null and stores" {
        assert_equal (nil) [r SET key new GET]
        assert_equal new [r GET key]
    }

    test "SET with NX and GET returns the value that was in the way" {
        r SET key old
        assert_equal old [r SET key new NX GET]
        assert_equal old [r GET key]
    }

    test "SET with NX and GET on a missing key returns null and stores" {
        assert_equal (nil) [r SET key new NX GET]
        assert_equal new [r GET key]
    }

    test "SET with XX and GET on a missing key returns null and stores nothing" {
        assert_equal (nil) [r SET key new XX GET]
        assert_equal (nil) [r GET key]
    }

    test "SET with IFEQ replaces a value that is equal" {
        r SET key one
        assert_equal OK [r SET key two IFEQ one]
        assert_equal two [r GET key]
    }

    test "SET with IFEQ leaves a value that differs" {
        r SET key one
        assert_equal (nil) [r SET key two IFEQ other]
        assert_equal one [r GET key]
    }

    test "SET with IFEQ on a missing key stores nothing" {
        assert_equal (nil) [r SET key two IFEQ one]
        assert_equal 0 [r EXISTS key]
    }

    test "SET with IFEQ compares bytes, also where the value is a number" {
        r SET key 10
        assert_equal (nil) [r SET key x IFEQ 010]
        assert_equal OK [r SET key x IFEQ 10]
    }

    test "SET with IFEQ and GET returns the old value, stored or not" {
        r SET key one
        assert_equal one [r SET key two IFEQ one GET]
        assert_equal two [r SET key three IFEQ one GET]
        assert_equal two [r GET key]
    }

    test "SET with IFEQ and an expire time sets both" {
        r SET key one
        assert_equal OK [r SET key two IFEQ one EX 100]
        assert_between 90 100 [r TTL key]
    }

    test "SET refuses IFEQ without a value to compare" {
        assert_error $syntax {r SET key value IFEQ}
    }

    test "SET drops the expire time the key had" {
        r SET key one EX 100
        r SET key two
        assert_equal -1 [r TTL key]
    }

    test "SET with KEEPTTL keeps the expire time the key had" {
        r SET key one EX 100
        r SET key two KEEPTTL
        assert_equal two [r GET key]
        assert_between 90 100 [r TTL key]
    }

    test "SET with KEEPTTL on a key without expire time sets none" {
        r SET key one
        r SET key two KEEPTTL
        assert_equal -1 [r TTL key]
    }

    test "SET with EX sets an expire time in seconds" {
        assert_equal OK [r SET key value EX 100]
        assert_between 90000 100000 [r PTTL key]
    }

    test "SET with PX sets an expire time in milliseconds" {
        r SET key value PX 55000
        assert_between 45000 55000 [r PTTL key]
    }

    test "SET with EXAT sets the second of expiry" {
        set when [expr {[clock seconds] + 100}]
        r SET key value EXAT $when
        assert_equal $when [r EXPIRETIME key]
    }

    test "SET with PXAT sets the millisecond of expiry" {
        set when [expr {[clock milliseconds] + 100001}]
        r SET key value PXAT $when
        assert_equal $when [r PEXPIRETIME key]
    }

    test "SET with an EXAT or PXAT in the past leaves no key" {
        r SET key value
        assert_equal OK [r SET key value EXAT 1]
        assert_equal 0 [r EXISTS key]
        assert_equal OK [r SET key value PXAT 1]
        assert_equal 0 [r EXISTS key]
    }

    foreach option {EX PX EXAT PXAT} {
        test "SET $option refuses zero and negative times" {
            assert_error "ERR invalid expire time in 'set' command" {r SET key value $option 0}
            assert_error "ERR invalid expire time in 'set' command" {r SET key value $option -1}
            assert_equal 0 [r EXISTS key]
        }

        test "SET $option refuses what is no integer" {
            assert_error $not_integer {r SET key value $option ten}
            assert_error $not_integer {r SET key value $option 1.5}
            assert_error $not_integer {r SET key value $option ""}
            assert_error $not_integer {r SET key value $option 9223372036854775808}
        }

        test "SET $option refuses to be without a time" {
            assert_error $syntax {r SET key value $option}
        }
    }

    test "SET EX refuses a time that overflows in milliseconds" {
        assert_error "ERR invalid expire time in 'set' command" {r SET key value EX 9223372036854775807}
        assert_error "ERR invalid expire time in 'set' command" {r SET key value PX 9223372036854775807}
    }

    test "SET refuses an unknown option" {
        assert_error $syntax {r SET key value UPSERT}
        assert_error $syntax {r SET key value NX extra}
    }

    # Options of one line exclude each other; a repeated option has no further effect, except IFEQ.
    foreach {command groups others} {
        {SET key value} {{NX XX {IFEQ old}} {{EX 100} {PX 100000} {EXAT 99999999999} {PXAT 99999999999999} KEEPTTL}} {GET}
        {MSETEX 1 key value} {{NX XX} {{EX 100} {PX 100000} {EXAT 99999999999} {PXAT 99999999999999} KEEPTTL}} {}
        {GETEX key} {{{EX 100} {PX 100000} {EXAT 99999999999} {PXAT 99999999999999} PERSIST}} {}
    } {
        test "[lindex $command 0]: every two of its options, in either order" {
            need_command [lindex $command 0]
            set options [concat {*}$groups $others]
            set pairs 0
            foreach one $options {
                foreach other $options {
                    set clash [expr {$one eq $other && [lindex $one 0] eq "IFEQ"}]
                    foreach group $groups {
                        set clash [expr {$clash || ($one ne $other && $one in $group && $other in $group)}]
                    }
                    r DEL key
                    r SET key old
                    set refused [catch {r {*}$command {*}$one {*}$other} message]
                    assert_equal "$one $other: $clash" "$one $other: $refused"
                    if {$clash} {
                        assert_equal "$one $other: ERR syntax error" "$one $other: $message"
                        assert_equal {old -1} [list [r GET key] [r TTL key]]
                    }
                    incr pairs
                }
            }
            assert_equal [expr {[llength $options] ** 2}] $pairs
        }
    }

    test "SET takes its options in any order" {
        r SET key old
        assert_equal old [r SET key new GET EX 100 XX]
        assert_between 90 100 [r TTL key]
    }

    test "SET and GET refuse a wrong number of arguments" {
        assert_error [format $wrong_number set] {r SET key}
        assert_error [format $wrong_number set] {r SET}
        assert_error [format $wrong_number get] {r GET}
        assert_error [format $wrong_number get] {r GET one two}
    }

    # ---- SETNX SETEX PSETEX GETSET GETDEL GETEX DELIFEQ -------------------------------------------------------

    test "SETNX stores only where nothing is" {
        assert_equal 1 [r SETNX key one]
        assert_equal 0 [r SETNX key two]
        assert_equal one [r GET key]
    }

    test "SETNX leaves the expire time alone where it does not store" {
        r SET key one EX 100
        r SETNX key two
        assert_between 90 100 [r TTL key]
    }

    test "SETEX stores a value and seconds to live" {
        assert_equal OK [r SETEX key 100 value]
        assert_equal value [r GET key]
        assert_between 90 100 [r TTL key]
    }

    test "PSETEX stores a value and milliseconds to live" {
        assert_equal OK [r PSETEX key 50000 value]
        assert_equal value [r GET key]
        assert_between 40000 50000 [r PTTL key]
    }

    foreach {command} {SETEX PSETEX} {
        test "$command refuses zero, negative and non-integer times" {
            set name [string tolower $command]
            assert_error "ERR invalid expire time in '$name' command" {r $command key 0 value}
            assert_error "ERR invalid expire time in '$name' command" {r $command key -10 value}
            assert_error $not_integer {r $command key soon value}
            assert_error [format $wrong_number $name] {r $command key 10}
            assert_equal 0 [r EXISTS key]
        }
    }

    test "GETSET returns the old value, stores the new one and drops the expire time" {
        assert_equal (nil) [r GETSET key one]
        r EXPIRE key 100
        assert_equal one [r GETSET key two]
        assert_equal two [r GET key]
        assert_equal -1 [r TTL key]
    }

    test "GETDEL returns the value and deletes the key" {
        r SET key value
        assert_equal value [r GETDEL key]
        assert_equal 0 [r EXISTS key]
        assert_equal (nil) [r GETDEL key]
    }

    test "GETEX without options changes nothing" {
        r SET key value EX 100
        assert_equal value [r GETEX key]
        assert_between 90 100 [r TTL key]
        assert_equal (nil) [r GETEX nothing]
    }

    test "GETEX sets an expire time in each of its units" {
        r SET key value
        assert_equal value [r GETEX key EX 100]
        assert_between 90 100 [r TTL key]
        assert_equal value [r GETEX key PX 50000]
        assert_between 40000 50000 [r PTTL key]
        set when [expr {[clock seconds] + 1000}]
        r GETEX key EXAT $when
        assert_equal $when [r EXPIRETIME key]
        r GETEX key PXAT ${when}123
        assert_equal ${when}123 [r PEXPIRETIME key]
    }

    test "GETEX with PERSIST drops the expire time" {
        r SET key value EX 100
        assert_equal value [r GETEX key PERSIST]
        assert_equal -1 [r TTL key]
    }

    test "GETEX with a time in the past returns the value and deletes the key" {
        r SET key value
        assert_equal value [r GETEX key PXAT 1]
        assert_equal 0 [r EXISTS key]
    }

    test "GETEX on a missing key sets nothing" {
        assert_equal (nil) [r GETEX key EX 100]
        assert_equal 0 [r EXISTS key]
    }

    test "GETEX refuses options that contradict each other or do not exist" {
        r SET key value
        assert_error $syntax {r GETEX key EX}
        assert_error $syntax {r GETEX key KEEPTTL}
        assert_error $syntax {r GETEX key NX}
        assert_error $syntax {r GETEX key GET}
        assert_error "ERR invalid expire time in 'getex' command" {r GETEX key EX 0}
        assert_error "ERR invalid expire time in 'getex' command" {r GETEX key PX -1}
        assert_error $not_integer {r GETEX key EX ten}
        assert_equal -1 [r TTL key]
    }

    test "DELIFEQ deletes a key whose value is equal" {
        need_command DELIFEQ
        r SET key value
        assert_equal 1 [r DELIFEQ key value]
        assert_equal 0 [r EXISTS key]
    }

    test "DELIFEQ leaves a value that differs and a missing key" {
        need_command DELIFEQ
        r SET key value
        assert_equal 0 [r DELIFEQ key other]
        assert_equal 0 [r DELIFEQ key valu]
        assert_equal 0 [r DELIFEQ nothing value]
        assert_equal value [r GET key]
    }

    test "DELIFEQ compares numbers by their bytes" {
        need_command DELIFEQ
        r SET key 100
        assert_equal 0 [r DELIFEQ key 0100]
        assert_equal 1 [r DELIFEQ key 100]
        assert_error [format $wrong_number delifeq] {r DELIFEQ key}
    }

    # ---- DELEX DIGEST, and SET that compares ------------------------------------------------------------------

    test "DIGEST is the XXH3 hash of the bytes, in hexadecimal" {
        need_command DIGEST
        foreach {value digest} {v f7042be43fb80714 12345 f34099ede96b5581 "" 2d06800538d394c2} {
            r SET key $value
            assert_equal $digest [r DIGEST key]
        }
        assert_equal (nil) [r DIGEST nothing]
        r LPUSH list a
        assert_error WRONGTYPE* {r DIGEST list}
    }

    test "DELEX without a condition deletes a key of any type" {
        need_command DELEX
        r SET key value
        r LPUSH list a
        assert_equal {1 1 0} [list [r DELEX key] [r DELEX list] [r DELEX list]]
    }

    test "DELEX deletes a string that compares with a value or a digest as asked" {
        need_command DELEX
        foreach {condition deleted} {
            {IFEQ v} 1 {IFEQ w} 0 {IFNE v} 0 {ifne w} 1 {IFDEQ f7042be43fb80714} 1 {IFDEQ F7042BE43FB80714} 1
            {IFDEQ 0000000000000000} 0 {IFDNE f7042be43fb80714} 0 {IFDNE 0000000000000000} 1 {IFDNE zzzzzzzzzzzzzzzz} 1
        } {
            r SET key v
            assert_equal $deleted [r DELEX key {*}$condition]
            assert_equal [expr {!$deleted}] [r EXISTS key]
            assert_equal 0 [r DELEX nothing {*}$condition]
        }
    }

    test "DELEX refuses a wrong condition only if the key exists" {
        need_command DELEX
        r SET key v
        r LPUSH list a
        assert_error [format $wrong_number delex] {r DELEX key IFEQ}
        assert_error [format $wrong_number delex] {r DELEX nothing IFEQ a b}
        assert_error "ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE" {r DELEX key NX v}
        assert_error "ERR must be exactly 16 hexadecimal characters" {r DELEX key IFDEQ f7042be43fb8071}
        assert_error "ERR Key should be of string type if conditions are specified" {r DELEX list IFNE v}
        assert_equal {0 0} [list [r DELEX nothing NX v] [r DELEX nothing IFDEQ short]]
        assert_equal 2 [r EXISTS key list]
    }

    test "SET with IFNE, IFDEQ and IFDNE compares, and a missing key differs from everything" {
        need_command DELEX
        foreach {condition stored} {
            {IFNE v} 0 {IFNE w} 1 {IFDEQ F7042be43fb80714} 1 {IFDEQ 0000000000000000} 0 {IFDNE f7042be43fb80714} 0
            {IFDNE 0000000000000000} 1
        } {
            r SET key v
            assert_equal [expr {$stored ? "OK" : "(nil)"}] [r SET key new {*}$condition]
            assert_equal [expr {$stored ? "new" : "v"}] [r GET key]
            r SET key v
            assert_equal v [r SET key new {*}$condition GET]
            r DEL key
            assert_equal [expr {[string match IF*NE* $condition] ? "OK" : "(nil)"}] [r SET key new {*}$condition]
        }
    }

    test "SET refuses a digest of another length, with one reply also with GET" {
        need_command DELEX
        r SET key v
        assert_error "ERR must be exactly 16 hexadecimal characters" {r SET key w IFDEQ f7042be43fb8071}
        assert_error "ERR must be exactly 16 hexadecimal characters" {r SET key w IFDNE f7042be43fb80714a GET}
        assert_equal PONG [r PING]
        assert_equal v [r GET key]
        r LPUSH list a
        assert_error WRONGTYPE* {r SET list w IFDNE short}
        assert_error WRONGTYPE* {r SET list w IFNE v GET}
    }

    test "SET has one condition" {
        need_command DELEX
        foreach words {{IFNE a NX} {XX IFNE a} {IFEQ a IFNE a} {IFNE a IFNE a} {IFDEQ a IFDNE a} IFNE IFDEQ IFDNE} {
            assert_error "ERR syntax error" {r SET key v {*}$words}
        }
    }

    # ---- MGET MSET MSETNX MSETEX ------------------------------------------------------------------------------

    test "MGET returns values in the order of the keys, null where nothing is" {
        r MSET a 1 b two c ""
        assert_equal {two (nil) 1 {} two} [r MGET b none a c b]
    }

    test "MGET of many keys" {
        set pairs {}
        set keys {}
        set values {}
        for {set i 0} {$i < 1000} {incr i} {
            lappend pairs key:$i value:$i
            lappend keys key:$i
            lappend values value:$i
        }
        r MSET {*}$pairs
        assert_equal $values [r MGET {*}$keys]
        assert_equal 1000 [r DBSIZE]
    }

    test "MSET stores all pairs and replaces what was there" {
        r SET a old EX 100
        assert_equal OK [r MSET a 1 b 2 c 3]
        assert_equal {1 2 3} [r MGET a b c]
        assert_equal -1 [r TTL a]
    }

    test "MSET with a key twice stores the last value" {
        r MSET a 1 a 2
        assert_equal 2 [r GET a]
        assert_equal 1 [r DBSIZE]
    }

    test "MSET, MSETNX and MGET refuse a wrong number of arguments" {
        assert_error [format $wrong_number mset] {r MSET a}
        assert_error [format $wrong_number mset] {r MSET a 1 b}
        assert_error [format $wrong_number msetnx] {r MSETNX a 1 b}
        assert_error [format $wrong_number mget] {r MGET}
        assert_equal 0 [r DBSIZE]
    }

    test "MSETNX stores all where nothing is" {
        assert_equal 1 [r MSETNX a 1 b 2]
        assert_equal {1 2} [r MGET a b]
    }

    test "MSETNX stores none where one key exists" {
        r SET b old
        assert_equal 0 [r MSETNX a 1 b 2 c 3]
        assert_equal {(nil) old (nil)} [r MGET a b c]
    }

    test "MSETNX with a key twice stores the last value" {
        assert_equal 1 [r MSETNX a 1 a 2]
        assert_equal 2 [r GET a]
    }

    test "MSETEX stores pairs that share an expire time" {
        need_command MSETEX
        assert_equal 1 [r MSETEX 2 a 1 b 2 EX 100]
        assert_equal {1 2} [r MGET a b]
        assert_between 90 100 [r TTL a]
        assert_between 90 100 [r TTL b]
    }

    test "MSETEX without an expire time stores for good" {
        need_command MSETEX
        r SET a 0 EX 100
        assert_equal 1 [r MSETEX 1 a 1]
        assert_equal -1 [r TTL a]
    }

    test "MSETEX knows PX, EXAT, PXAT and KEEPTTL" {
        need_command MSETEX
        r MSETEX 1 a 1 PX 50000
        assert_between 40000 50000 [r PTTL a]
        set when [expr {[clock seconds] + 100}]
        r MSETEX 1 a 2 EXAT $when
        assert_equal $when [r EXPIRETIME a]
        r MSETEX 1 a 3 PXAT ${when}500
        assert_equal ${when}500 [r PEXPIRETIME a]
        r MSETEX 1 a 4 KEEPTTL
        assert_equal ${when}500 [r PEXPIRETIME a]
    }

    test "MSETEX with NX stores all or none" {
        need_command MSETEX
        r SET a old
        assert_equal 0 [r MSETEX 2 a 1 b 2 NX]
        assert_equal {old (nil)} [r MGET a b]
        assert_equal 1 [r MSETEX 2 b 1 c 2 NX EX 10]
    }

    test "MSETEX with XX stores all or none" {
        need_command MSETEX
        r SET a old
        assert_equal 0 [r MSETEX 2 a 1 b 2 XX]
        assert_equal {old (nil)} [r MGET a b]
        r SET b old
        assert_equal 1 [r MSETEX 2 a 1 b 2 XX]
        assert_equal {1 2} [r MGET a b]
    }

    test "MSETEX refuses bad counts and options" {
        need_command MSETEX
        foreach count {0 -1 x 99999999999} {
            assert_error "ERR invalid numkeys value or out of range" {r MSETEX $count a 1}
        }
        assert_error $syntax {r MSETEX 2 a 1}
        assert_error $syntax {r MSETEX 1 a 1 NX XX}
        assert_error $syntax {r MSETEX 1 a 1 b 2}
        assert_error $syntax {r MSETEX 1 a 1 EX 1 KEEPTTL}
        assert_error "ERR invalid expire time in 'msetex' command" {r MSETEX 1 a 1 EX 0}
        assert_equal 0 [r DBSIZE]
    }

    # ---- APPEND STRLEN SETRANGE GETRANGE SUBSTR ---------------------------------------------------------------

    test "APPEND creates a value and then lengthens it" {
        assert_equal 3 [r APPEND key foo]
        assert_equal 6 [r APPEND key bar]
        assert_equal foobar [r GET key]
    }

    test "APPEND to a number makes text of it" {
        r SET key 12
        assert_equal 4 [r APPEND key 34]
        assert_equal 1234 [r GET key]
        assert_equal 1235 [r INCR key]
    }

    test "APPEND of nothing to nothing makes an empty value" {
        assert_equal 0 [r APPEND key ""]
        assert_equal 1 [r EXISTS key]
    }

    test "APPEND keeps the expire time" {
        r SET key a EX 100
        r APPEND key b
        assert_between 90 100 [r TTL key]
    }

    test "APPEND over many sizes" {
        set value ""
        for {set i 1} {$i < 200} {incr i} {
            append value [string repeat x $i]
            assert_equal [string length $value] [r APPEND key [string repeat x $i]]
        }
        assert_equal $value [r GET key]
    }

    test "STRLEN counts bytes, of a number too" {
        assert_equal 0 [r STRLEN nothing]
        r SET key hello
        assert_equal 5 [r STRLEN key]
        r SET key -12345
        assert_equal 6 [r STRLEN key]
    }

    test "SETRANGE overwrites, extends and pads with zero bytes" {
        r SET key "Hello World"
        assert_equal 11 [r SETRANGE key 6 There]
        assert_equal "Hello There" [r GET key]
        assert_equal 8 [r SETRANGE new 5 abc]
        assert_equal "\0\0\0\0\0abc" [r GET new]
    }

    test "SETRANGE of nothing changes nothing and makes no key" {
        assert_equal 0 [r SETRANGE key 5 ""]
        assert_equal 0 [r EXISTS key]
        r SET key abc
        assert_equal 3 [r SETRANGE key 10 ""]
        assert_equal abc [r GET key]
    }

    test "SETRANGE on a number makes text of it" {
        r SET key 1234
        assert_equal 4 [r SETRANGE key 1 99]
        assert_equal 1994 [r GET key]
    }

    test "SETRANGE refuses negative offsets, what is no integer, and values beyond the limit" {
        assert_error "ERR offset is out of range" {r SETRANGE key -1 x}
        assert_error $not_integer {r SETRANGE key x x}
        assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {r SETRANGE key 536870912 x}
        assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {
            r SETRANGE key 9223372036854775807 x
        }
        assert_equal 0 [r EXISTS key]
    }

    test "APPEND refuses to exceed proto-max-bulk-len" {
        with_config {proto-max-bulk-len 1048576} {
            r SET key [string repeat x 1048570]
            assert_error "ERR string exceeds maximum allowed size (proto-max-bulk-len)" {r APPEND key 1234567}
            assert_equal 1048576 [r APPEND key 123456]
        }
    }

    foreach {start end expected} {
        0 3 This  0 -1 {This is a string}  -3 -1 ing  10 100 string  0 0 T  -1 -1 g  5 2 {}  100 200 {}
        -100 3 This  -100 -100 T  -1 -3 {}  3 -100 {}  0 -100 T
    } {
        test "GETRANGE $start $end of a text is '$expected'" {
            r SET key "This is a string"
            assert_equal $expected [r GETRANGE key $start $end]
            assert_equal $expected [r SUBSTR key $start $end]
        }
    }

    test "GETRANGE of a missing key is empty, of a number its digits" {
        assert_equal "" [r GETRANGE nothing 0 -1]
        r SET key 1234567
        assert_equal 345 [r GETRANGE key 2 4]
    }

    test "GETRANGE refuses what is no integer" {
        assert_error $not_integer {r GETRANGE key a 1}
        assert_error $not_integer {r GETRANGE key 1 b}
        assert_error [format $wrong_number getrange] {r GETRANGE key 1}
        assert_error [format $wrong_number substr] {r SUBSTR key 1}
    }

    test "GETRANGE agrees with Tcl for random ranges" {
        set value [string repeat "0123456789abcdef" 20]
        r SET key $value
        expr {srand(7)}
        for {set i 0} {$i < 300} {incr i} {
            set from [expr {int(rand() * 700) - 350}]
            set to [expr {int(rand() * 700) - 350}]
            set first [expr {$from < 0 ? max(0, 320 + $from) : $from}]
            set last [expr {$to < 0 ? max(0, 320 + $to) : min($to, 319)}]
            set expected [string range $value $first $last]
            if {$from < 0 && $to < 0 && $from > $to} {
                set expected ""
            }
            assert_equal $expected [r GETRANGE key $from $to]
        }
    }

    # ---- Counters ---------------------------------------------------------------------------------------------

    test "INCR and DECR count from zero where nothing is" {
        assert_equal 1 [r INCR up]
        assert_equal -1 [r DECR down]
    }

    test "INCR, DECR, INCRBY and DECRBY change a number that SET stored" {
        r SET key 100
        assert_equal 101 [r INCR key]
        assert_equal 100 [r DECR key]
        assert_equal 120 [r INCRBY key 20]
        assert_equal 90 [r DECRBY key 30]
        assert_equal 95 [r DECRBY key -5]
        assert_equal 95 [r GET key]
    }

    test "Counters keep the expire time" {
        r SET key 1 EX 100
        r INCR key
        assert_between 90 100 [r TTL key]
    }

    test "Counters work over 32 bit" {
        r SET key 17179869184
        assert_equal 17179869185 [r INCR key]
        assert_equal 34359738369 [r INCRBY key 17179869184]
    }

    test "Counters refuse to overflow and leave the value" {
        r SET key 9223372036854775807
        assert_error "ERR increment or decrement would overflow" {r INCR key}
        assert_equal 9223372036854775807 [r GET key]
        r SET key -9223372036854775808
        assert_error "ERR increment or decrement would overflow" {r DECR key}
        assert_error "ERR increment or decrement would overflow" {r INCRBY key -1}
        assert_equal -9223372036854775808 [r GET key]
    }

    test "DECRBY refuses the one number that has no opposite" {
        assert_error "ERR decrement would overflow" {r DECRBY key -9223372036854775808}
    }

    foreach value {abc "" " 1" "1 " 1.0 0x10 +1 01 -0 9223372036854775808 "1\0"} {
        test "INCR refuses the value '[string map {\0 \\0} $value]'" {
            r SET key $value
            assert_error $not_integer {r INCR key}
            assert_equal $value [r GET key]
        }
    }

    test "INCRBY and DECRBY refuse an amount that is no integer" {
        assert_error $not_integer {r INCRBY key x}
        assert_error $not_integer {r DECRBY key 1.5}
        assert_error $not_integer {r INCRBY key 9223372036854775808}
        assert_error [format $wrong_number incrby] {r INCRBY key}
        assert_equal 0 [r EXISTS key]
    }

    test "INCRBYFLOAT adds and answers without needless digits" {
        assert_equal 1.5 [r INCRBYFLOAT key 1.5]
        assert_equal 3 [r INCRBYFLOAT key 1.5]
        assert_equal 3 [r GET key]
        assert_equal 203 [r INCRBYFLOAT key 2.0e2]
        assert_equal 202.89999999999999999 [r INCRBYFLOAT key -0.1]
    }

    test "INCRBYFLOAT works on integers and INCR on its integer results" {
        r SET key 5
        assert_equal 6 [r INCRBYFLOAT key 1]
        assert_equal 7 [r INCR key]
        r INCRBYFLOAT key 0.5
        assert_error $not_integer {r INCR key}
    }

    test "INCRBYFLOAT refuses texts, NaN and infinity" {
        r SET key abc
        assert_error "ERR value is not a valid float" {r INCRBYFLOAT key 1}
        r SET key " 1"
        assert_error "ERR value is not a valid float" {r INCRBYFLOAT key 1}
        r SET key 1
        assert_error "ERR value is not a valid float" {r INCRBYFLOAT key x}
        assert_error "ERR value is not a valid float" {r INCRBYFLOAT key nan}
        assert_error "ERR increment would produce NaN or Infinity" {r INCRBYFLOAT key +inf}
        assert_equal 1 [r GET key]
    }

    test "INCRBYFLOAT keeps the expire time" {
        r SET key 1 EX 100
        r INCRBYFLOAT key 0.25
        assert_between 90 100 [r TTL key]
    }

    # ---- LCS --------------------------------------------------------------------------------------------------

    test "LCS returns the longest common subsequence" {
        r MSET a ohmytext b mynewtext
        assert_equal mytext [r LCS a b]
        assert_equal 6 [r LCS a b LEN]
    }

    test "LCS IDX returns the matching ranges, last first" {
        r MSET a ohmytext b mynewtext
        assert_equal {matches {{{4 7} {5 8}} {{2 3} {0 1}}} len 6} [r LCS a b IDX]
        assert_equal {matches {{{4 7} {5 8} 4} {{2 3} {0 1} 2}} len 6} [r LCS a b IDX WITHMATCHLEN]
        assert_equal {matches {{{4 7} {5 8}}} len 6} [r LCS a b IDX MINMATCHLEN 4]
        assert_equal {matches {{{4 7} {5 8} 4}} len 6} [r LCS a b IDX MINMATCHLEN 3 WITHMATCHLEN]
    }

    test "LCS of missing keys is empty" {
        assert_equal "" [r LCS a b]
        assert_equal 0 [r LCS a b LEN]
        assert_equal {matches {} len 0} [r LCS a b IDX]
        r SET a text
        assert_equal "" [r LCS a b]
    }

    test "LCS refuses LEN with IDX and unknown options" {
        r MSET a x b y
        assert_error "ERR If you want both the length and indexes, please just use IDX." {r LCS a b LEN IDX}
        assert_error $syntax {r LCS a b OTHER}
        assert_error $syntax {r LCS a b MINMATCHLEN}
        assert_error $not_integer {r LCS a b IDX MINMATCHLEN x}
        assert_error [format $wrong_number lcs] {r LCS a}
    }

    test "LCS of long strings is that of the table of lengths, where rows end at 64 columns and beside" {
        expr {srand(17)}
        foreach {m n} {1 64 64 63 65 64 40 65 66 128 20 129 130 127} {
            foreach name {a b} len [list $m $n] {
                set $name ""
                for {set i 0} {$i < $len} {incr i} {
                    append $name [string index abc [expr {int(rand() * 3)}]]
                }
            }
            r MSET a $a b $b
            set rows [list [set row [lrepeat [expr {$n + 1}] 0]]]
            foreach x [split $a ""] {
                set next 0
                set j 0
                foreach y [split $b ""] {
                    set left [lindex $next end]
                    set up [lindex $row [incr j]]
                    lappend next [expr {$x eq $y ? [lindex $row $j-1] + 1 : max($left, $up)}]
                }
                lappend rows [set row $next]
            }
            set common ""
            for {set i $m; set j $n} {$i > 0 && $j > 0} {} {
                if {[string index $a $i-1] eq [string index $b $j-1]} {
                    set common [string index $a $i-1]$common
                    incr i -1
                    incr j -1
                } elseif {[lindex $rows $i-1 $j] > [lindex $rows $i $j-1]} {
                    incr i -1
                } else {
                    incr j -1
                }
            }
            assert_equal $common [r LCS a b]
            assert_equal [string length $common] [r LCS a b LEN]
            assert_equal [string length $common] [lindex [r LCS a b IDX] end]
        }
    }

    test "LCS agrees with a plain implementation for random texts" {
        proc lcs_length {a b} {
            set previous [lrepeat [expr {[string length $b] + 1}] 0]
            foreach x [split $a ""] {
                set row 0
                set i 0
                foreach y [split $b ""] {
                    lappend row [expr {$x eq $y ? [lindex $previous $i] + 1 :
                        max([lindex $previous $i+1], [lindex $row $i])}]
                    incr i
                }
                set previous $row
            }
            return [lindex $previous end]
        }
        expr {srand(11)}
        for {set round 0} {$round < 30} {incr round} {
            foreach name {one other} {
                set $name ""
                for {set i [expr {int(rand() * 30)}]} {$i > 0} {incr i -1} {
                    append $name [string index abcd [expr {int(rand() * 4)}]]
                }
                r SET $name [set $name]
            }
            assert_equal [lcs_length $one $other] [r LCS one other LEN]
            assert_equal [lcs_length $one $other] [string length [r LCS one other]]
        }
    }

    # ---- Encodings of values ----------------------------------------------------------------------------------

    test "OBJECT ENCODING tells numbers, short and long texts apart" {
        r MSET number 12345 negative -9223372036854775808 short [string repeat x 20] long [string repeat x 200]
        assert_equal int [r OBJECT ENCODING number]
        assert_equal int [r OBJECT ENCODING negative]
        assert_equal embstr [r OBJECT ENCODING short]
        assert_equal raw [r OBJECT ENCODING long]
    }

    test "A value that APPEND or SETRANGE has changed is raw" {
        r SET a 12
        r APPEND a 3
        assert_equal raw [r OBJECT ENCODING a]
        r SET b xyz
        r SETRANGE b 0 a
        assert_equal raw [r OBJECT ENCODING b]
    }

    test "A random walk over the string commands agrees with a model" {
        expr {srand(42)}
        array unset model
        for {set i 0} {$i < 3000} {incr i} {
            set key k[expr {int(rand() * 40)}]
            set text [string repeat [string index abcdefgh [expr {int(rand() * 8)}]] [expr {int(rand() * rand() * 300)}]]
            switch [expr {int(rand() * 6)}] {
                0 { r SET $key $text; set model($key) $text }
                1 { r APPEND $key $text; append model($key) $text }
                2 { r DEL $key; unset -nocomplain model($key) }
                3 {
                    set expected (nil)
                    if {[info exists model($key)]} { set expected $model($key) }
                    assert_equal $expected [r GET $key]
                }
                4 {
                    set expected (nil)
                    if {[info exists model($key)]} { set expected $model($key) }
                    assert_equal $expected [r GETSET $key $text]
                    set model($key) $text
                }
                5 {
                    if {![info exists model($key)]} { r SETNX $key $text; set model($key) $text }
                    assert_equal [string length $model($key)] [r STRLEN $key]
                }
            }
        }
        assert_equal [array size model] [r DBSIZE]
        foreach key [array names model] {
            assert_equal $model($key) [r GET $key]
        }
    }
}
