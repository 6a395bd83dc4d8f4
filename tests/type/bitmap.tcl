# bitmap.tcl -- strings as rows of bits: one bit, ranges, combinations, and integers of any width.
#
# SPDX-License-Identifier: BSD-3-Clause

set not_integer {ERR value is not an integer or out of range}
set bad_offset {ERR bit offset is not an integer or out of range}
set bad_field {ERR Invalid bitfield type. Use something like i16 u8. Note that u64 is not supported but i64 is.}
set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set syntax {ERR syntax error}

# Returns the number of changes that the script counts.
proc changes {script} {
    set before [info_field rdb_changes_since_last_save]
    uplevel 1 $script
    return [expr {[info_field rdb_changes_since_last_save] - $before}]
}

proc info_field {name} {
    regexp "$name:(\[^\r\]*)" [r INFO] all value
    return $value
}

# Returns BYTES as zeros and ones.
proc bits {bytes} {
    binary scan $bytes B* digits
    return $digits
}

# Returns DIGITS, zeros and ones, as bytes.
proc unbits {digits} {
    return [binary format B* $digits]
}

# Returns COUNT random bytes, with stretches of 00 and FF.
proc random_bytes {count} {
    set bytes ""
    while {[string length $bytes] < $count} {
        set run [expr {1 + int(rand() * 40)}]
        switch [expr {int(rand() * 3)}] {
            0 {append bytes [string repeat \x00 $run]}
            1 {append bytes [string repeat \xff $run]}
            2 {for {set i 0} {$i < $run} {incr i} {append bytes [format %c [expr {int(rand() * 256)}]]}}
        }
    }
    return [string range $bytes 0 [expr {$count - 1}]]
}

# Returns FIRST..LAST of LENGTH as GETRANGE interprets them; {} if empty.
proc clamp {first last length} {
    if {$first < 0 && $last < 0 && $first > $last} {
        return {}
    }
    if {$first < 0} {set first [expr {max(0, $first + $length)}]}
    if {$last < 0} {set last [expr {max(0, $last + $length)}]}
    set last [expr {min($last, $length - 1)}]
    return [expr {$first > $last ? {} : [list $first $last]}]
}

start_server {each {r FLUSHALL}} {

    # ---- SETBIT and GETBIT ------------------------------------------------------------------------------------

    test "SETBIT returns the old bit and writes the new one" {
        assert_equal 0 [r SETBIT key 1 1]
        assert_equal 1 [r SETBIT key 1 0]
        assert_equal 0 [r SETBIT key 7 1]
        assert_equal \x01 [r GET key]
    }

    test "Bit 0 is the highest of the first byte" {
        r SETBIT key 0 1
        r SETBIT key 9 1
        assert_equal \x80\x40 [r GET key]
    }

    test "SETBIT fills up with zeros, also where the bit is 0" {
        assert_equal 0 [r SETBIT key 100 0]
        assert_equal [string repeat \x00 13] [r GET key]
        r SET key ab
        r SETBIT key 31 1
        assert_equal ab\x00\x01 [r GET key]
    }

    foreach {value encoding} {12345 int short embstr} {
        test "SETBIT changes a value that was $encoding" {
            r SET key $value
            assert_equal $encoding [r OBJECT ENCODING key]
            assert_equal 0 [r SETBIT key 0 1]
            assert_equal raw [r OBJECT ENCODING key]
            assert_equal 1[string range [bits $value] 1 end] [bits [r GET key]]
        }
    }

    test "SETBIT counts as a change only when a bit or the length changes" {
        assert_equal 1 [changes {r SETBIT key 5 0}]
        assert_equal 0 [changes {r SETBIT key 5 0}]
        assert_equal 1 [changes {r SETBIT key 5 1}]
        assert_equal 0 [changes {r SETBIT key 5 1}]
        assert_equal 1 [changes {r SETBIT key 8 0}]
    }

    test "SETBIT keeps the expire time" {
        r SET key value EX 100
        r SETBIT key 2 0
        assert_between 90 100 [r TTL key]
    }

    test "SETBIT of a key whose time is over starts anew" {
        r SET key \xff PX 1
        after 20
        assert_equal 0 [r SETBIT key 0 1]
        assert_equal \x80 [r GET key]
        assert_equal -1 [r TTL key]
    }

    test "SETBIT reaches the last bit of the longest string and no further" {
        too_large_to_keep
        assert_equal 0 [r SETBIT key 4294967295 1]
        assert_equal 536870912 [r STRLEN key]
        assert_equal 1 [r GETBIT key 4294967295]
        assert_equal 1 [r BITCOUNT key]
        assert_equal 4294967295 [r BITPOS key 1]
        assert_error $bad_offset {r SETBIT key 4294967296 1}
        assert_error $bad_offset {r GETBIT key 4294967296}
    }

    test "proto-max-bulk-len bounds the offset" {
        r CONFIG SET proto-max-bulk-len 1mb
        r SETBIT key 8388607 1
        assert_error $bad_offset {r SETBIT key 8388608 1}
        assert_error $bad_offset {r GETBIT key 8388608}
        assert_error $bad_offset {r BITFIELD key GET u8 8388608}
        r BITFIELD key SET u8 8388607 1
        assert_equal 1048577 [r STRLEN key]
        r CONFIG SET proto-max-bulk-len 512mb
    }

    test "SETBIT checks the offset, then the bit, then the type" {
        r SET key value
        foreach offset {-1 4294967296 abc "" 1.5 99999999999999999999 #1} {
            assert_error $bad_offset {r SETBIT key $offset 7}
            assert_error $bad_offset {r GETBIT key $offset}
        }
        foreach bit {2 -1 abc "" 10} {
            assert_error "ERR bit is not an integer or out of range" {r SETBIT key 5 $bit}
        }
        assert_equal value [r GET key]
    }

    test "GETBIT is 0 behind the end and where no key is" {
        r SET key \xff
        assert_equal 1 [r GETBIT key 7]
        assert_equal 0 [r GETBIT key 8]
        assert_equal 0 [r GETBIT key 4294967295]
        assert_equal 0 [r GETBIT nothing 0]
    }

    test "GETBIT reads the digits of a number and leaves it one" {
        r SET key 1
        assert_equal {0 0 1 1 0 0 0 1} [lmap i {0 1 2 3 4 5 6 7} {r GETBIT key $i}]
        assert_equal int [r OBJECT ENCODING key]
    }

    # ---- BITCOUNT ---------------------------------------------------------------------------------------------

    test "BITCOUNT counts all bits, and none where no key is" {
        r SET key foobar
        assert_equal 26 [r BITCOUNT key]
        assert_equal 0 [r BITCOUNT nothing]
        r SET key ""
        assert_equal 0 [r BITCOUNT key]
        r SET key 12345
        assert_equal 17 [r BITCOUNT key]
    }

    test "BITCOUNT of a range, in bytes or bits, from either end" {
        r SET key foobar
        assert_equal 4 [r BITCOUNT key 0 0]
        assert_equal 6 [r BITCOUNT key 1 1 BYTE]
        assert_equal 17 [r BITCOUNT key 5 30 bit]
        assert_equal 7 [r BITCOUNT key -2 -1]
        assert_equal 22 [r BITCOUNT key 1]
        assert_equal 26 [r BITCOUNT key -9223372036854775808 9223372036854775807]
        assert_equal 0 [r BITCOUNT key 3 2]
        assert_equal 0 [r BITCOUNT key -1 -2]
        assert_equal 0 [r BITCOUNT key 6 100]
    }

    test "BITCOUNT refuses what is no range" {
        r SET key foobar
        assert_error $not_integer {r BITCOUNT key a}
        assert_error $not_integer {r BITCOUNT key 1 b}
        assert_error $not_integer {r BITCOUNT key 1 BIT}
        assert_error $not_integer {r BITCOUNT nothing a b}
        assert_error $syntax {r BITCOUNT key 1 2 WORD}
        assert_error $syntax {r BITCOUNT key 1 2 BIT more}
        assert_error $syntax {r BITCOUNT nothing 1 2 WORD}
    }

    test "BITCOUNT and BITPOS agree with counting one by one" {
        for {set round 0} {$round < 150} {incr round} {
            set value [random_bytes [expr {int(rand() * ($round % 10 ? 50 : 3000))}]]
            r SET key $value
            foreach {unit digits} [list BYTE [bits $value] BIT [bits $value]] {
                set step [expr {$unit eq "BIT" ? 1 : 8}]
                set length [expr {[string length $digits] / $step}]
                set first [expr {int(rand() * ($length + 4) * 2) - $length - 4}]
                set last [expr {int(rand() * ($length + 4) * 2) - $length - 4}]
                set part ""
                set range [clamp $first $last $length]
                if {[llength $range]} {
                    set from [expr {[lindex $range 0] * $step}]
                    set part [string range $digits $from [expr {([lindex $range 1] + 1) * $step - 1}]]
                }
                assert_equal [expr {[llength [split $part 1]] - ($part ne "")}] [r BITCOUNT key $first $last $unit]
                foreach bit {0 1} {
                    set found [string first $bit $part]
                    if {$found != -1} {
                        incr found $from
                    }
                    assert_equal $found [r BITPOS key $bit $first $last $unit]
                }
            }
        }
    }

    # ---- BITPOS -----------------------------------------------------------------------------------------------

    test "BITPOS finds the first bit of a kind" {
        r SET key \xff\xf0\x00
        assert_equal 12 [r BITPOS key 0]
        assert_equal 0 [r BITPOS key 1]
        assert_equal 16 [r BITPOS key 0 2]
        assert_equal -1 [r BITPOS key 1 2]
        assert_equal 8 [r BITPOS key 1 8 -1 BIT]
        assert_equal 13 [r BITPOS key 0 13 14 BIT]
    }

    test "BITPOS of 0 goes on behind a string of ones unless an end is named" {
        r SET key \xff\xff
        assert_equal 16 [r BITPOS key 0]
        assert_equal 16 [r BITPOS key 0 1]
        assert_equal -1 [r BITPOS key 0 0 -1]
        assert_equal -1 [r BITPOS key 0 0 -1 BIT]
        assert_equal -1 [r BITPOS key 0 2]
    }

    test "BITPOS where no key is" {
        assert_equal 0 [r BITPOS nothing 0]
        assert_equal -1 [r BITPOS nothing 1]
        assert_equal 0 [r BITPOS nothing 0 5 6]
        assert_equal -1 [r BITPOS nothing 1 5]
        r SET key ""
        assert_equal -1 [r BITPOS key 0]
        assert_equal -1 [r BITPOS key 1]
    }

    test "BITPOS refuses other bits and what is no range" {
        r SET key foobar
        assert_error "ERR The bit argument must be 1 or 0." {r BITPOS key 2}
        assert_error $not_integer {r BITPOS key a}
        assert_error $not_integer {r BITPOS key 1 a}
        assert_error $not_integer {r BITPOS key 1 1 BIT}
        assert_error $syntax {r BITPOS key 1 1 2 WORD}
        assert_error $syntax {r BITPOS key 1 1 2 BIT 4}
        assert_error $syntax {r BITPOS key 1 a b BIT 4}
        assert_error $syntax {r BITPOS key 1 1 b WORD}
        assert_error $syntax {r BITCOUNT key 1 b WORD}
    }

    # ---- BITOP ------------------------------------------------------------------------------------------------

    test "BITOP combines strings, the shorter ones filled up with zeros" {
        r MSET a \xff\x0f\xaa b \x0f\xff
        assert_equal 3 [r BITOP AND to a b]
        assert_equal \x0f\x0f\x00 [r GET to]
        r BITOP or to a b
        assert_equal \xff\xff\xaa [r GET to]
        r BITOP XOR to a b
        assert_equal \xf0\xf0\xaa [r GET to]
        r BITOP NOT to a
        assert_equal \x00\xf0\x55 [r GET to]
        assert_equal raw [r OBJECT ENCODING to]
    }

    test "BITOP with DIFF, DIFF1, ANDOR and ONE compares a string with the others" {
        need_command XCFGSET
        r MSET a \xf0\xf0\x0f b \xcc c \xaa\x0f
        foreach {operation want one} [list DIFF \x10\xf0\x0f \xf0\xf0\x0f diff1 \x0e\x0f\x00 \x00\x00\x00 \
            ANDOR \xe0\x00\x00 \x00\x00\x00 ONE \x16\xff\x0f \xf0\xf0\x0f] {
            assert_equal 3 [r BITOP $operation to a b c]
            assert_equal $want [r GET to]
            assert_equal 3 [r BITOP $operation to a nothing]
            assert_equal $one [r GET to]
        }
        r SET large [string repeat \x0f 10000]
        foreach {operation byte} [list DIFF \x00 DIFF1 \x00 ANDOR \x0f ONE \x00] {
            assert_equal 10000 [r BITOP $operation large large large]
            assert_equal [string repeat $byte 10000] [r GET large]
            r SET large [string repeat \x0f 10000]
        }
        foreach operation {DIFF DIFF1 ANDOR} {
            assert_error "ERR BITOP $operation must be called with at least two source keys." {r BITOP $operation to a}
            assert_equal 1 [changes {assert_equal 0 [r BITOP $operation to x y]}]
            assert_equal 0 [r EXISTS to]
            r SET to v
        }
        assert_equal 3 [r BITOP ONE to a]
    }

    test "BITOP treats a missing key as zeros" {
        r SET a \xff\x01
        assert_equal 2 [r BITOP AND to a nothing]
        assert_equal \x00\x00 [r GET to]
        assert_equal 2 [r BITOP OR to nothing a nothing]
        assert_equal \xff\x01 [r GET to]
    }

    test "BITOP of nothing deletes the destination" {
        r SET to value
        assert_equal 1 [changes {assert_equal 0 [r BITOP AND to x y]}]
        assert_equal 0 [r EXISTS to]
        assert_equal 0 [changes {r BITOP NOT to x}]
        r SET empty ""
        assert_equal 0 [r BITOP OR to empty x]
    }

    test "BITOP may store into one of its sources, and drops the expire time" {
        r SET a \xf0 EX 100
        r BITOP NOT a a
        assert_equal \x0f [r GET a]
        assert_equal -1 [r TTL a]
        r BITOP XOR a a a
        assert_equal \x00 [r GET a]
    }

    test "BITOP reads numbers by their digits" {
        r MSET a 1 b 2
        r BITOP OR to a b
        assert_equal 3 [r GET to]
    }

    test "BITOP agrees with combining one by one" {
        for {set round 0} {$round < 60} {incr round} {
            set count [expr {1 + int(rand() * 12)}]
            set keys {}
            set values {}
            set longest 0
            for {set i 0} {$i < $count} {incr i} {
                set value [random_bytes [expr {int(rand() * ($round % 10 ? 40 : 9000))}]]
                r SET key:$i $value
                lappend keys key:$i
                binary scan $value cu* bytes
                lappend values $bytes
                set longest [expr {max($longest, [llength $bytes])}]
            }
            foreach {operation symbol} {AND & OR | XOR ^} {
                set want {}
                for {set i 0} {$i < $longest} {incr i} {
                    set all [lmap bytes $values {expr {$i < [llength $bytes] ? [lindex $bytes $i] : 0}}]
                    lappend want [expr [join $all $symbol]]
                }
                assert_equal $longest [r BITOP $operation to {*}$keys]
                assert_equal [binary format c* $want] [expr {$longest ? [r GET to] : ""}]
            }
        }
    }

    test "BITOP refuses other operations and NOT of several" {
        r SET a value
        foreach operation {NAND DIFF2 ""} {
            assert_error $syntax {r BITOP $operation to a a}
        }
        assert_error "ERR BITOP NOT must be called with a single source key." {r BITOP NOT to a a}
        assert_error "ERR wrong number of arguments for 'bitop' command" {r BITOP NOT to}
        assert_equal 0 [r EXISTS to]
    }

    # ---- BITFIELD ---------------------------------------------------------------------------------------------

    test "BITFIELD writes and reads integers at any bit" {
        assert_equal {0 0} [r BITFIELD key SET u8 4 200 SET i5 20 -3]
        assert_equal {200 -3 29} [r BITFIELD key GET u8 4 GET i5 20 GET u5 20]
        assert_equal [unbits 00001100100000000000111010000000] [r GET key]
    }

    test "BITFIELD counts offsets with # in fields" {
        r BITFIELD key SET u8 #0 65 SET u8 #1 66 SET u16 #1 17220
        assert_equal ABCD [r GET key]
    }

    test "BITFIELD SET returns the old value, INCRBY the new one" {
        assert_equal {0 5 15 15} [r BITFIELD key SET u8 0 5 GET u8 0 INCRBY u8 0 10 GET u8 0]
    }

    test "BITFIELD without operations is an empty reply and makes no key" {
        assert_equal {} [r BITFIELD key]
        assert_equal 0 [r BITFIELD key GET u8 0]
        assert_equal {} [r BITFIELD key OVERFLOW SAT]
        assert_equal 0 [r EXISTS key]
    }

    test "BITFIELD GET reads zeros behind the end, and leaves a number one" {
        r SET key 1
        assert_equal {49 12544 0} [r BITFIELD key GET u8 0 GET u16 0 GET i64 4294967000]
        assert_equal int [r OBJECT ENCODING key]
    }

    foreach {rule field value increment reply left} {
        WRAP u8 250 10 4 4          WRAP u8 5 -10 251 251       WRAP i8 120 10 -126 -126    WRAP i8 -120 -10 126 126
        SAT u8 250 10 255 255       SAT u8 5 -10 0 0            SAT i8 120 10 127 127       SAT i8 -120 -10 -128 -128
        FAIL u8 250 10 (nil) 250    FAIL u8 5 -10 (nil) 5       FAIL i8 120 10 (nil) 120    FAIL i8 -120 -10 (nil) -120
        WRAP u1 1 1 0 0             SAT u1 1 1 1 1              WRAP i1 0 1 -1 -1           SAT i1 -1 -1 -1 -1
        WRAP i64 9223372036854775807 1 -9223372036854775808 -9223372036854775808
        SAT i64 9223372036854775807 1 9223372036854775807 9223372036854775807
        FAIL i64 -9223372036854775808 -1 (nil) -9223372036854775808
        SAT i64 -9223372036854775808 -9223372036854775808 -9223372036854775808 -9223372036854775808
        WRAP u63 9223372036854775807 9223372036854775807 9223372036854775806 9223372036854775806
        SAT u63 9223372036854775807 9223372036854775807 9223372036854775807 9223372036854775807
        SAT u63 1 -9223372036854775808 0 0
    } {
        test "BITFIELD INCRBY $increment of $value in $field with OVERFLOW $rule" {
            r BITFIELD key SET $field 3 $value
            assert_equal $reply [r BITFIELD key OVERFLOW $rule INCRBY $field 3 $increment]
            assert_equal $left [r BITFIELD key GET $field 3]
        }
    }

    foreach {rule field value left} {
        WRAP u8 256 0    WRAP u8 -1 255    WRAP i8 200 -56    SAT u8 256 255    SAT u8 -1 255
        SAT i8 200 127   SAT i8 -200 -128  FAIL u8 256 7      FAIL u8 -1 7      FAIL i8 -200 7
    } {
        test "BITFIELD SET of $value in $field with OVERFLOW $rule" {
            r BITFIELD key SET $field 0 7
            assert_equal [expr {$rule eq "FAIL" ? "(nil)" : 7}] [r BITFIELD key OVERFLOW $rule SET $field 0 $value]
            assert_equal $left [r BITFIELD key GET $field 0]
        }
    }

    test "BITFIELD OVERFLOW holds for what comes after it" {
        assert_equal {255 (nil) 0} [r BITFIELD key OVERFLOW SAT INCRBY u8 0 300 OVERFLOW FAIL INCRBY u8 0 1 \
                                        OVERFLOW WRAP INCRBY u8 0 1]
    }

    test "BITFIELD agrees with arithmetic without bounds" {
        array set fields {}
        for {set round 0} {$round < 600} {incr round} {
            set signed [expr {int(rand() * 2)}]
            set width [expr {1 + int(rand() * ($signed ? 64 : 63))}]
            set type [expr {$signed ? "i" : "u"}]$width
            set at [expr {int(rand() * 200)}]
            set low [expr {$signed ? -(1 << ($width - 1)) : 0}]
            set high [expr {$low + (1 << $width) - 1}]
            set old [r BITFIELD key GET $type $at]
            set by [expr {int((rand() - 0.5) * 2 ** int(rand() * 64))}]
            set sum [expr {$old + $by}]
            set rule [lindex {WRAP SAT FAIL} [expr {int(rand() * 3)}]]
            switch $rule {
                WRAP {set want [expr {($sum - $low) % (1 << $width) + $low}]}
                SAT {set want [expr {min($high, max($low, $sum))}]}
                FAIL {set want [expr {$sum < $low || $sum > $high ? "(nil)" : $sum}]}
            }
            assert_equal $want [r BITFIELD key OVERFLOW $rule INCRBY $type $at $by]
            assert_equal [expr {$want eq "(nil)" ? $old : $want}] [r BITFIELD key GET $type $at]
        }
    }

    test "BITFIELD counts writes that change something" {
        assert_equal 3 [changes {r BITFIELD key SET u8 0 0 SET u8 0 0 SET u8 0 0}]
        assert_equal 0 [changes {r BITFIELD key SET u8 0 0 INCRBY u8 0 0 GET u8 0}]
        assert_equal 2 [changes {r BITFIELD key SET u8 0 1 INCRBY u8 0 1 OVERFLOW FAIL INCRBY u8 0 300}]
    }

    test "BITFIELD that is kept from writing still grows the string, and tells of it" {
        assert_equal 1 [changes {assert_equal (nil) [r BITFIELD key OVERFLOW FAIL SET u8 8 300]}]
        assert_equal \x00\x00 [r GET key]
    }

    test "BITFIELD keeps the expire time" {
        r SET key a EX 100
        r BITFIELD key SET u8 0 66
        assert_equal B [r GET key]
        assert_between 90 100 [r TTL key]
    }

    test "An argument that is wrong anywhere leaves all as it was" {
        r SET key A
        foreach {message words} [list $bad_field {SET u64 0 1} $bad_field {SET i65 0 1} $bad_field {SET u0 0 1} \
            $bad_field {SET x8 0 1} $bad_field {SET I8 0 1} $bad_field {SET i08 0 1} $bad_field {SET "" 0 1} \
            $bad_offset {SET u8 -1 1} $bad_offset {SET u8 #-1 1} $bad_offset {SET u8 # 1} $bad_offset {SET u8 4294967296 1} \
            $bad_offset {SET u8 #536870912 1} $bad_offset {SET u8 #9223372036854775807 1} $not_integer {SET u8 0 x} \
            $not_integer {INCRBY u8 0 9223372036854775808} $syntax {SET u8 0} $syntax {GET u8} $syntax {ADD u8 0 1} \
            $syntax {OVERFLOW} {ERR Invalid OVERFLOW type specified} {OVERFLOW MOST}] {
            assert_error $message {r BITFIELD key SET u8 0 66 {*}$words}
        }
        assert_equal A [r GET key]
    }

    test "BITFIELD_RO reads, and nothing else" {
        r SET key A
        assert_equal {65 4} [r BITFIELD_RO key GET u8 0 OVERFLOW SAT GET u4 #0]
        assert_equal 0 [r BITFIELD_RO nothing GET i8 100]
        assert_equal {} [r BITFIELD_RO key]
        assert_error "ERR BITFIELD_RO only supports the GET subcommand" {r BITFIELD_RO key SET u8 0 1}
        assert_error "ERR BITFIELD_RO only supports the GET subcommand" {r BITFIELD_RO key GET u8 0 INCRBY u8 0 1}
        assert_error $bad_field {r BITFIELD_RO key SET u8 0 1 SET u64 0 1}
    }

    test "BITFIELD that only reads is known to" {
        foreach {flags words} {
            {RO access} {GET u8 0}    {RO access} {OVERFLOW SAT GET u8 0}    {RO access} {}
            {RW access update} {GET u8 0 SET u8 0 1}    {RW access update} {GET}    {RW access update} {INCRBY u8 0 1}
        } {
            assert_equal [list [list key $flags]] [r COMMAND GETKEYSANDFLAGS BITFIELD key {*}$words]
        }
    }

    # ---- Other types ------------------------------------------------------------------------------------------

    test "Keys of another type are refused after the arguments" {
        need_command RPUSH
        r RPUSH list a
        foreach words {
            {SETBIT list 0 1} {GETBIT list 0} {BITCOUNT list} {BITCOUNT list 0 1 BIT} {BITPOS list 1} {BITOP NOT to list}
            {BITOP AND to nothing list} {BITFIELD list} {BITFIELD list GET u8 0} {BITFIELD list SET u8 0 1} {BITFIELD_RO list}
        } {
            assert_error $wrong_type {r {*}$words}
        }
        assert_error $bad_offset {r SETBIT list -1 1}
        assert_error $not_integer {r BITCOUNT list a b}
        assert_error $syntax {r BITFIELD list SET}
        r SET a value
        assert_equal 5 [r BITOP OR list a]
        assert_equal value [r GET list]
    }
}
