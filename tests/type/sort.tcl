# sort.tcl -- SORT and SORT_RO, option by option and error by error.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set not_integer {ERR value is not an integer or out of range}
set not_number {ERR One or more scores can't be converted into double}
set syntax {ERR syntax error}

proc numbers {from to} {
    set list {}
    for {set i $from} {$i <= $to} {incr i} {
        lappend list $i
    }
    return $list
}

proc shuffled {list} {
    set seed 42
    set keyed {}
    foreach item $list {
        set seed [expr {($seed * 1103515245 + 12345) % 2147483648}]
        lappend keyed [list $seed $item]
    }
    return [lmap pair [lsort -integer -index 0 $keyed] {lindex $pair 1}]
}

start_server {each {r FLUSHALL} env {LC_ALL C}} {

    # ---- Order ------------------------------------------------------------------------------------------------

    test "SORT of a list whose inner nodes are compressed" {
        r CONFIG SET list-max-listpack-size 4 list-compress-depth 1
        set words {}
        for {set i 0} {$i < 200} {incr i} {
            lappend words [format "%03d-%s" [expr {$i * 77 % 200}] [string repeat w 60]]
        }
        r RPUSH list {*}$words
        assert_equal [lsort $words] [r SORT list ALPHA]
        assert_equal [lsort -decreasing $words] [r SORT list ALPHA DESC]
        assert_equal $words [r SORT list BY nosort]
        assert_equal 200 [r SORT list ALPHA STORE sorted]
        assert_equal [lsort $words] [r LRANGE sorted 0 -1]
        r CONFIG SET list-max-listpack-size -2 list-compress-depth 0
    }

    test "Numbers are sorted as numbers, either way" {
        r RPUSH list 3 1 2 10 -5
        assert_equal {-5 1 2 3 10} [r SORT list]
        assert_equal {-5 1 2 3 10} [r SORT list ASC]
        assert_equal {10 3 2 1 -5} [r SORT list DESC]
        assert_equal {-5 1 2 3 10} [r SORT list DESC ASC]
    }

    test "Fractions, exponents and infinities are numbers" {
        r RPUSH list 1.5 -1e3 inf .5 -Infinity 5. 0
        assert_equal {-Infinity -1e3 0 .5 1.5 5. inf} [r SORT list]
    }

    foreach text {abc nan "" 1x 0x10 1e400 "1 2"} {
        test "\"$text\" is not a number, unless ALPHA says that it need not be one" {
            r RPUSH list 1 $text
            assert_error $not_number {r SORT list}
            assert_error $not_number {r SORT list LIMIT 0 0}
            assert_error $not_number {r SORT list STORE to}
            assert_equal 0 [r EXISTS to]
            assert_same_set [list 1 $text] [r SORT list ALPHA]
        }
    }

    test "Equal numbers are in the order of their texts" {
        r RPUSH list 5 5.0 05 +5 5e0
        assert_equal {+5 05 5 5.0 5e0} [r SORT list]
        assert_equal {5e0 5.0 5 05 +5} [r SORT list DESC]
    }

    test "ALPHA sorts by bytes" {
        r RPUSH list b a C B 10 9
        assert_equal {10 9 B C a b} [r SORT list ALPHA]
        assert_equal {b a C B 9 10} [r SORT list ALPHA DESC]
    }

    test "ALPHA looks as far as a NUL byte; what is stored is sorted by all bytes" {
        r RPUSH list a\x00c a\x00b a
        assert_equal [list a\x00c a\x00b a] [r SORT list ALPHA]
        r SORT list ALPHA STORE to
        assert_equal [list a a\x00b a\x00c] [r LRANGE to 0 -1]
    }

    foreach {type command} {list RPUSH set SADD zset ZADD} {
        foreach size {1 2 12 13 100 600 5000} {
            test "A $type of $size numbers, whole and in parts" {
                foreach element [shuffled [numbers 1 $size]] {
                    lappend elements($type) {*}[expr {$type eq "zset" ? [list -$element $element] : $element}]
                }
                r $command key {*}$elements($type)
                unset elements
                assert_equal [numbers 1 $size] [r SORT key]
                assert_equal [lreverse [numbers 1 $size]] [r SORT key DESC]
                assert_equal [lsort [numbers 1 $size]] [r SORT key ALPHA]
                foreach {offset count} {0 1 0 10 3 4 90 20 4990 20} {
                    assert_equal [lrange [numbers 1 $size] $offset [expr {$offset + $count - 1}]] \
                        [r SORT key LIMIT $offset $count]
                }
            }
        }
    }

    test "Many equal elements" {
        r RPUSH list {*}[lrepeat 3000 1] {*}[lrepeat 3000 0]
        assert_equal [concat [lrepeat 3000 0] [lrepeat 3000 1]] [r SORT list]
        assert_equal [lrepeat 5 0] [r SORT list LIMIT 2990 5]
    }

    # ---- LIMIT ------------------------------------------------------------------------------------------------

    foreach {offset count expected} {
        0 2 {a b} 1 2 {b c} 2 100 {c d} 3 1 d 4 1 {} 100 5 {} 0 0 {} 1 -1 {b c d} 1 -7 {b c d} -1 2 {a b} -9 -9 {a b c d}
        9223372036854775807 9223372036854775807 {} 1 9223372036854775807 {b c d} -9223372036854775808 1 a
    } {
        test "LIMIT $offset $count" {
            r RPUSH list d b a c
            assert_equal $expected [r SORT list ALPHA LIMIT $offset $count]
            r DEL list
            r RPUSH list a b c d
            assert_equal $expected [r SORT list BY nosort LIMIT $offset $count]
            r DEL list
            r RPUSH list d c b a
            assert_equal $expected [r SORT list BY nosort DESC LIMIT $offset $count]
        }
    }

    test "The last LIMIT counts" {
        r RPUSH list 3 1 2
        assert_equal {1 2 3} [r SORT list LIMIT 0 1 LIMIT 0 3]
    }

    # ---- BY ---------------------------------------------------------------------------------------------------

    test "BY sorts by the values of other keys" {
        r RPUSH list 1 2 3
        r MSET weight_1 30 weight_2 10 weight_3 20
        assert_equal {2 3 1} [r SORT list BY weight_*]
        assert_equal {1 3 2} [r SORT list BY weight_* DESC]
        assert_equal {3} [r SORT list BY weight_* LIMIT 1 1]
    }

    test "BY with ALPHA sorts by text; what is not there is first, and equal ones stay in order" {
        r RPUSH list a b c d e
        r MSET w_a 10 w_b 9 w_d 9
        assert_equal {c e a b d} [r SORT list BY w_* ALPHA]
        assert_equal {b d a c e} [r SORT list BY w_* ALPHA DESC]
    }

    test "A weight that is not there is 0" {
        r RPUSH list a b c d
        r MSET w_a 1 w_b -1
        assert_equal {b c d a} [r SORT list BY w_*]
    }

    test "A weight that is no number is an error" {
        r RPUSH list a b
        r MSET w_a 1 w_b x
        assert_error $not_number {r SORT list BY w_*}
        r SET w_b ""
        assert_error $not_number {r SORT list BY w_*}
        assert_equal {b a} [r SORT list BY w_* ALPHA]
    }

    test "A weight of another type is none" {
        r RPUSH list a b
        r SET w_a -1
        r RPUSH w_b x
        assert_equal {a b} [r SORT list BY w_*]
    }

    test "A weight whose time is over is none" {
        r RPUSH list a b
        r SET w_a 5 PX 1
        after 20
        assert_equal {a b} [r SORT list BY w_*]
        assert_equal 0 [r EXISTS w_a]
    }

    test "A pattern has one star, the first; it may begin or end with it, or be it" {
        r RPUSH list 1 2
        r MSET 1 20 2 10 1_w 20 2_w 10 w_1_* 10 w_2_* 20
        assert_equal {2 1} [r SORT list BY *]
        assert_equal {2 1} [r SORT list BY *_w]
        assert_equal {1 2} [r SORT list BY w_*_*]
    }

    test "BY without a star leaves the order as it is, but DESC turns it round" {
        r RPUSH list 3 1 2
        assert_equal {3 1 2} [r SORT list BY nosort]
        assert_equal {2 1 3} [r SORT list BY nosort DESC]
        assert_equal {3 1 2} [r SORT list BY nosort BY weight_*]
        assert_equal {3 1 2} [r SORT list BY weight_* BY nosort]
        r RPUSH words b a
        assert_equal {b a} [r SORT words BY nosort]
    }

    test "Weights of a thousand elements" {
        set expected {}
        foreach i [shuffled [numbers 1 1000]] {
            r RPUSH list element:$i
            r SET weight:element:$i [expr {-$i}]
            r SET text:element:$i [format %05d $i]
        }
        for {set i 1000} {$i >= 1} {incr i -1} {
            lappend expected element:$i
        }
        assert_equal $expected [r SORT list BY weight:*]
        assert_equal [lreverse $expected] [r SORT list BY text:* ALPHA]
        assert_equal [lrange $expected 500 519] [r SORT list BY weight:* LIMIT 500 20]
    }

    # ---- GET --------------------------------------------------------------------------------------------------

    test "GET returns values of other keys, # the element" {
        r RPUSH list 2 1 3
        r MSET name_1 one name_3 three
        assert_equal {one (nil) three} [r SORT list GET name_*]
        assert_equal {1 2 3} [r SORT list GET #]
        assert_equal {1 one 1 2 (nil) 2 3 three 3} [r SORT list GET # GET name_* GET #]
        assert_equal {3 three} [r SORT list DESC LIMIT 0 1 GET # GET name_*]
        assert_equal {2 (nil) 1 one 3 three} [r SORT list BY nosort GET # GET name_*]
    }

    test "GET without a star, and of another type, is null" {
        r RPUSH list 1
        r SET name x
        r RPUSH list_1 x
        assert_equal {(nil) (nil)} [r SORT list GET name GET list_*]
    }

    test "GET of many patterns and many elements" {
        set arguments {}
        set expected {}
        for {set i 0} {$i < 200} {incr i} {
            r SET value:$i:7 $i
            lappend arguments GET value:$i:*
            lappend expected $i
        }
        r RPUSH list 7
        assert_equal $expected [r SORT list {*}$arguments]
        r RPUSH list 8
        assert_equal [concat $expected [lrepeat 200 (nil)]] [r SORT list {*}$arguments]
    }

    test "GET of large values, and of integers" {
        r RPUSH list 1 2
        r SET value_1 [string repeat x 100000]
        r SET value_2 12345
        assert_equal [list [string repeat x 100000] 12345] [r SORT list GET value_*]
        r SORT list GET value_* STORE to
        assert_equal [list [string repeat x 100000] 12345] [r LRANGE to 0 -1]
    }

    test "Long elements and long patterns" {
        set long [string repeat a 100000]
        r RPUSH list $long b
        r SET w_${long}_w 2
        r SET w_b_w 1
        assert_equal [list b $long] [r SORT list BY w_*_w]
        assert_equal {1 2} [r SORT list BY w_*_w GET w_*_w]
    }

    # ---- Fields of hashes -------------------------------------------------------------------------------------

    foreach {encoding more} {listpack 0 hashtable 600} {
        test "BY and GET of fields ($encoding)" {
            r RPUSH list a b c
            foreach {element weight} {a 20 b 10} {
                for {set i 0} {$i < $more} {incr i} {
                    lappend fields($element) other:$i $i
                }
                lappend fields($element) weight $weight name text:$element
                r HSET hash:$element:h {*}$fields($element)
                assert_equal $encoding [r OBJECT ENCODING hash:$element:h]
            }
            unset fields
            assert_equal {c b a} [r SORT list BY hash:*:h->weight]
            assert_equal {c b a} [r SORT list BY hash:*:h->weight ALPHA]
            assert_equal {text:a 20 text:b 10 (nil) (nil)} [r SORT list ALPHA GET hash:*:h->name GET hash:*:h->weight]
            assert_equal {(nil) (nil) (nil)} [r SORT list ALPHA GET hash:*:h->none]
            assert_equal 3 [r SORT list BY nosort GET hash:*:h->weight STORE to]
            assert_equal {20 10 {}} [r LRANGE to 0 -1]
        }
    }

    test "A field is all behind the first arrow that follows the star" {
        r RPUSH list a b
        r HSET h_a x->y 2 f* 1
        r HSET h_b x->y 1 f* 2
        r MSET a->x_a 2 a->x_b 1 h_a-> 2 h_b-> 1
        assert_equal {1 2} [r SORT list BY h_*->x->y GET h_*->x->y]
        assert_equal {1 2} [r SORT list BY h_*->f* GET h_*->f*]
        assert_equal {1 2} [r SORT list BY a->x_* GET a->x_*]
        assert_equal {1 2} [r SORT list BY h_*-> GET h_*->]
    }

    test "A field of what is no hash, and a hash without a field, are null" {
        r RPUSH list a
        r SET s_a x
        r HSET h_a f x
        assert_equal {(nil) (nil)} [r SORT list ALPHA GET s_*->f GET h_*]
    }

    test "A field whose time is over is null" {
        r RPUSH list a
        r HSET h_a f x g y
        r HPEXPIRE h_a 1 FIELDS 1 f
        after 20
        assert_equal {(nil) y} [r SORT list ALPHA GET h_*->f GET h_*->g]
    }

    # ---- STORE ------------------------------------------------------------------------------------------------

    test "STORE makes a list of what is shown, and says how long it is" {
        r RPUSH list 3 1 2
        r SET to value EX 100
        assert_equal 3 [r SORT list STORE to]
        assert_equal {1 2 3} [r LRANGE to 0 -1]
        assert_equal {list -1} [list [r TYPE to] [r TTL to]]
        assert_equal 2 [r SORT list DESC LIMIT 0 2 STORE to]
        assert_equal {3 2} [r LRANGE to 0 -1]
    }

    test "STORE over the source" {
        r RPUSH list 3 1 2
        assert_equal 3 [r SORT list STORE list]
        assert_equal {1 2 3} [r LRANGE list 0 -1]
        r SADD set b a
        assert_equal 2 [r SORT set ALPHA STORE set]
        assert_equal {a b} [r LRANGE set 0 -1]
    }

    test "STORE of values that are not there stores empty ones" {
        r RPUSH list 1 2
        r SET name_2 two
        assert_equal 4 [r SORT list GET name_* GET # STORE to]
        assert_equal {{} 1 two 2} [r LRANGE to 0 -1]
    }

    test "STORE of nothing deletes the destination" {
        r RPUSH to 1
        assert_equal 0 [r SORT nothing STORE to]
        assert_equal 0 [r EXISTS to]
        r SET to 1
        r RPUSH list 1
        assert_equal 0 [r SORT list LIMIT 5 5 STORE to]
        assert_equal 0 [r EXISTS to]
        assert_equal 0 [r SORT nothing STORE to]
    }

    test "The last STORE counts" {
        r RPUSH list 1
        r SORT list STORE one STORE two
        assert_equal {0 1} [list [r EXISTS one] [r EXISTS two]]
    }

    test "A set that is stored unsorted is sorted by text after all" {
        r SADD set foo bar baz zzz aaa qqq
        r SORT set BY nosort STORE to
        assert_equal {aaa bar baz foo qqq zzz} [r LRANGE to 0 -1]
        r SORT set BY nosort DESC LIMIT 0 3 STORE to
        assert_equal {zzz qqq foo} [r LRANGE to 0 -1]
    }

    test "What compares equal in a set is stored by text: a replica's set has another order" {
        set words [lmap n [numbers 1 200] {string cat m $n}]
        r SADD set {*}[shuffled $words]
        r SET w_m7 first
        assert_equal 200 [r SORT set BY none_* ALPHA STORE to]
        assert_equal [lsort $words] [r LRANGE to 0 -1]
        r SORT set BY none_* ALPHA DESC LIMIT 0 3 STORE to
        assert_equal [lrange [lsort -decreasing $words] 0 2] [r LRANGE to 0 -1]
        r SORT set BY w_* ALPHA DESC LIMIT 0 2 STORE to
        assert_equal {m7 m99} [r LRANGE to 0 -1]
        r SADD ends a\x00b a\x00c a\x00a a\x00e a\x00d
        r SORT ends ALPHA STORE to
        assert_equal [list a\x00a a\x00b a\x00c a\x00d a\x00e] [r LRANGE to 0 -1]
    }

    test "A stored result of many elements is a list like any other" {
        r RPUSH list {*}[shuffled [numbers 1 5000]]
        assert_equal 5000 [r SORT list STORE to]
        assert_equal [numbers 1 5000] [r LRANGE to 0 -1]
        assert_equal quicklist [r OBJECT ENCODING to]
    }

    # ---- Sorted sets ------------------------------------------------------------------------------------------

    foreach {encoding size} {listpack 5 skiplist 500} {
        test "A sorted set that is not sorted comes by score ($encoding)" {
            set expected {}
            for {set i 1} {$i <= $size} {incr i} {
                r ZADD zset [expr {-$i}] $i
                set expected [linsert $expected 0 $i]
            }
            assert_equal $encoding [r OBJECT ENCODING zset]
            assert_equal $expected [r SORT zset BY nosort]
            assert_equal [lreverse $expected] [r SORT zset BY nosort DESC]
            assert_equal [lrange $expected 1 3] [r SORT zset BY nosort LIMIT 1 3]
            assert_equal {2 3} [r SORT zset BY nosort DESC LIMIT 1 2]
            assert_equal {} [r SORT zset BY nosort DESC LIMIT $size 2]
            assert_equal [numbers 1 $size] [r SORT zset]
            assert_equal $size [r SORT zset BY nosort STORE to]
            assert_equal $expected [r LRANGE to 0 -1]
        }
    }

    test "A sorted set is sorted by weights, and stored over itself" {
        r ZADD zset 1 c 2 b 3 a
        r MSET w_a 2 w_b 1 w_c 3
        assert_equal {b a c} [r SORT zset BY w_*]
        assert_equal 3 [r SORT zset BY w_* STORE zset]
        assert_equal {b a c} [r LRANGE zset 0 -1]
    }

    # ---- SORT_RO, arguments, keys ------------------------------------------------------------------------------

    test "SORT_RO sorts, and does not store" {
        r RPUSH list 3 1 2
        r MSET w_1 3 w_2 2 w_3 1
        assert_equal {3 2} [r SORT_RO list BY w_* LIMIT 0 2 GET #]
        assert_error $syntax {r SORT_RO list STORE to}
    }

    test "A missing key has no elements" {
        assert_equal {} [r SORT nothing]
        assert_equal {} [r SORT_RO nothing BY w_* GET #]
    }

    test "Other types are refused" {
        r SET key value
        assert_error $wrong_type {r SORT key}
        assert_error $wrong_type {r SORT_RO key}
        assert_error $wrong_type {r SORT key STORE to}
    }

    test "Bad options are refused before the key is looked at" {
        r SET key value
        foreach options {FOO BY GET STORE LIMIT {LIMIT 1} {GET # BY} {ASC FOO}} {
            assert_error $syntax {r SORT key {*}$options}
        }
        foreach options {{LIMIT a 1} {LIMIT 1 a} {LIMIT 1 1.5} {LIMIT 9223372036854775808 1}} {
            assert_error $not_integer {r SORT key {*}$options}
        }
    }

    test "Options are read in any case" {
        r RPUSH list b a
        assert_equal a [r sort list Limit 0 1 get # alpha desc ASC]
    }

    test "The keys of SORT are its source and its last destination" {
        foreach {options keys} {
            {} list
            {BY w_* GET # STORE to} {list to}
            {STORE one STORE two} {list two}
            {BY STORE STORE to} {list to}
            {GET STORE} list
            {LIMIT STORE 1 STORE to} {list to}
            {STORE} list
        } {
            assert_equal $keys [r COMMAND GETKEYS SORT list {*}$options]
        }
        assert_equal list [r COMMAND GETKEYS SORT_RO list STORE to]
        assert_equal {{list {RO access}} {to {OW update}}} [r COMMAND GETKEYSANDFLAGS SORT list STORE to]
    }

    test "Each element that is stored is a change" {
        r RPUSH key 3 1 2
        foreach {changes command} {3 {SORT key STORE to}   1 {SORT nothing STORE to}   0 {SORT nothing STORE to}   0 {SORT key}} {
            set before [info_field rdb_changes_since_last_save]
            r {*}$command
            assert_equal "$changes $command" "[expr {[info_field rdb_changes_since_last_save] - $before}] $command"
        }
    }
}
