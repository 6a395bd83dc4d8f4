# hyperloglog.tcl -- strings that count different elements: replies, and their bytes.
#
# SPDX-License-Identifier: BSD-3-Clause

set invalid {WRONGTYPE Key is not a valid HyperLogLog string value.}
set corrupt {INVALIDOBJ Corrupted HLL object detected}
set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}

proc changes {script} {
    set before [info_field rdb_changes_since_last_save]
    uplevel 1 $script
    return [expr {[info_field rdb_changes_since_last_save] - $before}]
}

proc info_field {name} {
    regexp "$name:(\[^\r\]*)" [r INFO] all value
    return $value
}

# Returns a sparse HyperLogLog with these bytes as runs, and an outdated cached count.
proc sparse {runs} {
    return "HYLL\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80$runs"
}

# Adds COUNT numbers from FROM on to KEY.
proc add_numbers {key from count} {
    for {set i $from} {$i < $from + $count} {incr i 500} {
        set elements {}
        for {set j $i} {$j < min($i + 500, $from + $count)} {incr j} {
            lappend elements $j
        }
        r PFADD $key {*}$elements
    }
}

proc assert_near {expected actual {share 0.05}} {
    assert_between [expr {floor($expected * (1 - $share))}] [expr {ceil($expected * (1 + $share))}] $actual
}

start_server {each {r FLUSHALL; r CONFIG SET hll-sparse-max-bytes 3000}} {

    # ---- PFADD ------------------------------------------------------------------------------------------------

    test "PFADD says whether something has changed" {
        assert_equal 1 [r PFADD key a b c]
        assert_equal 0 [r PFADD key a b c]
        assert_equal 1 [r PFADD key d]
        assert_equal 4 [r PFCOUNT key]
    }

    test "PFADD without elements makes an empty one" {
        assert_equal 1 [r PFADD key]
        assert_equal 0 [r PFADD key]
        assert_equal [sparse \x7f\xff] [r GET key]
        assert_equal 0 [r PFCOUNT key]
        assert_equal raw [r OBJECT ENCODING key]
    }

    test "The bytes are those that every server makes" {
        needs_free_encodings
        r PFADD key a b c
        assert_equal [sparse \x60\xf3\x80\x50\xb1\x84\x4b\xfb\x80\x42\x5a] [r GET key]
        r PFADD key d
        assert_equal [sparse \x5c\x7b\x80\x44\x76\x80\x50\xb1\x84\x4b\xfb\x80\x42\x5a] [r GET key]
    }

    test "PFADD counts a change for a new key and for each register" {
        assert_equal 1 [changes {r PFADD key}]
        assert_equal 0 [changes {r PFADD key}]
        assert_equal 3 [changes {r PFADD key a b c a b c}]
        assert_equal 4 [changes {r PFADD other a b c}]
    }

    test "PFADD keeps the expire time" {
        r PFADD key a
        r EXPIRE key 100
        r PFADD key b c
        assert_between 90 100 [r TTL key]
    }

    test "PFADD of a key whose time is over starts anew" {
        r PFADD key a b
        r PEXPIRE key 1
        after 20
        assert_equal 1 [r PFADD key a]
        assert_equal 1 [r PFCOUNT key]
        assert_equal -1 [r TTL key]
    }

    test "PFADD goes on with a value that was SET" {
        r PFADD key a b c
        r SET copy [r GET key]
        assert_equal 1 [r PFADD copy d]
        assert_equal 4 [r PFCOUNT copy]
        assert_equal 3 [r PFCOUNT key]
    }

    test "One that grows beyond hll-sparse-max-bytes becomes dense" {
        needs_free_encodings
        add_numbers key 0 500
        assert_equal sparse [r PFDEBUG ENCODING key]
        add_numbers key 500 2500
        assert_equal dense [r PFDEBUG ENCODING key]
        assert_equal 12304 [r STRLEN key]
        assert_near 3000 [r PFCOUNT key]
    }

    foreach {limit sparse} {0 0 20 0 21 1 3000 1} {
        test "hll-sparse-max-bytes $limit: one element makes it [expr {$sparse ? {sparse} : {dense}}]" {
            r CONFIG SET hll-sparse-max-bytes $limit
            r PFADD empty
            assert_equal sparse [r PFDEBUG ENCODING empty]
            r PFADD key a
            assert_equal [expr {$sparse ? "sparse" : "dense"}] [r PFDEBUG ENCODING key]
            assert_equal 1 [r PFCOUNT key]
        }
    }

    test "Both forms have the same registers" {
        r CONFIG SET hll-sparse-max-bytes 15000
        add_numbers sparse 0 4000
        r CONFIG SET hll-sparse-max-bytes 0
        add_numbers dense 0 4000
        assert_equal {sparse dense} [list [r PFDEBUG ENCODING sparse] [r PFDEBUG ENCODING dense]]
        assert_equal [r PFCOUNT sparse] [r PFCOUNT dense]
        assert_equal [r PFDEBUG GETREG sparse] [r PFDEBUG GETREG dense]
    }

    # ---- PFCOUNT ----------------------------------------------------------------------------------------------

    foreach count {1 10 100 1000 10000 100000} {
        test "PFCOUNT of $count elements is near" {
            add_numbers key 0 $count
            assert_near $count [r PFCOUNT key]
        }
    }

    test "PFCOUNT of missing keys is 0" {
        assert_equal 0 [r PFCOUNT nothing]
        assert_equal 0 [r PFCOUNT nothing nothing]
    }

    test "PFCOUNT of several keys counts what they have together" {
        r PFADD a 1 2 3
        r PFADD b 3 4 5
        add_numbers big 0 5000
        assert_equal 5 [r PFCOUNT a b]
        assert_equal 3 [r PFCOUNT a nothing]
        assert_near 5000 [r PFCOUNT a big b]
        assert_equal 0 [r EXISTS nothing]
    }

    test "What is in the unused bytes of a header stays there when the form changes" {
        foreach name {one other} {
            r PFADD $name a
            r SETBIT $name 49 1
        }
        r PFDEBUG TODENSE one
        assert_equal HYLL\0\0@\0 [r GETRANGE one 0 7]
        r PFMERGE other one
        assert_equal HYLL\0\0@\0 [r GETRANGE other 0 7]
        assert_equal 1 [r PFCOUNT other]
    }

    test "PFCOUNT stores the count, which counts as a change, and takes it as long as it is up to date" {
        r PFADD key a b c
        assert_equal \x80 [r GETRANGE key 15 15]
        assert_equal 1 [changes {r PFCOUNT key}]
        assert_equal \3[string repeat \0 7] [r GETRANGE key 8 15]
        set before [r GET key]
        assert_equal 0 [changes {r PFCOUNT key}]
        assert_equal $before [r GET key]
        r SETRANGE key 8 \x39\x05\x00\x00\x00\x00\x00\x00
        assert_equal 1337 [r PFCOUNT key]
        assert_equal 3 [r PFCOUNT key nothing]
        r PFADD key a
        assert_equal 1337 [r PFCOUNT key]
        r PFADD key d
        assert_equal 4 [r PFCOUNT key]
        assert_equal 4 [r PFCOUNT key]
    }

    test "PFCOUNT that stores the count ends a WATCH, and one that only reads it does not" {
        with_clients other {
            foreach expected {{} 4} {
                if {$expected eq ""} {
                    r PFADD key a b c d
                }
                $other WATCH key
                r PFCOUNT key
                $other MULTI
                $other PFCOUNT key
                assert_equal [expr {$expected eq "" ? "(nil)" : $expected}] [$other EXEC]
            }
        }
    }

    test "PFCOUNT of several keys stores nothing" {
        r PFADD key a b c
        r PFADD other d
        set before [r GET key]
        assert_equal 0 [changes {r PFCOUNT key other}]
        assert_equal $before [r GET key]
    }

    # ---- PFMERGE ----------------------------------------------------------------------------------------------

    test "PFMERGE unites its sources with what is there" {
        r PFADD a 1 2 3
        r PFADD b 3 4 5
        r PFADD to 6
        assert_equal OK [r PFMERGE to a b nothing]
        r PFADD same 6 1 2 3 4 5
        assert_equal [r GET same] [r GET to]
        assert_equal 6 [r PFCOUNT to]
        assert_equal sparse [r PFDEBUG ENCODING to]
    }

    test "PFMERGE without sources makes an empty one" {
        assert_equal OK [r PFMERGE key]
        assert_equal [sparse \x7f\xff] [r GET key]
        assert_equal 1 [changes {r PFMERGE key}]
    }

    test "PFMERGE is dense when one of them is" {
        add_numbers big 0 5000
        r PFADD small a b
        r PFMERGE small big
        assert_equal dense [r PFDEBUG ENCODING small]
        assert_near 5002 [r PFCOUNT small]
        r PFMERGE big other
        assert_equal dense [r PFDEBUG ENCODING big]
        add_numbers dense:two 0 10
        r PFDEBUG TODENSE dense:two
        r PFADD sparse c
        r PFMERGE into dense:two sparse
        assert_equal dense [r PFDEBUG ENCODING into]
        assert_near 11 [r PFCOUNT into]
    }

    test "PFMERGE of sparse ones may become dense" {
        for {set i 0} {$i < 10} {incr i} {
            add_numbers part:$i [expr {$i * 400}] 400
            assert_equal sparse [r PFDEBUG ENCODING part:$i]
        }
        r PFMERGE all {*}[lmap i {0 1 2 3 4 5 6 7 8 9} {set i part:$i}]
        assert_equal dense [r PFDEBUG ENCODING all]
        add_numbers same 0 4000
        assert_equal [r GET same] [r GET all]
    }

    test "PFMERGE keeps the expire time, and forgets the stored count" {
        r PFADD key a
        r EXPIRE key 100
        r SETRANGE key 8 \x39\x05\x00\x00\x00\x00\x00\x00
        r PFMERGE key key
        assert_equal 1 [r PFCOUNT key]
        assert_between 90 100 [r TTL key]
    }

    # ---- Invalid values ---------------------------------------------------------------------------------------

    test "Strings that are none are refused" {
        set dense "HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80[string repeat \x00 12287]"
        foreach value [list "" abc 12345 HYLL "HYLX[string range [sparse \x7f\xff] 4 end]" [string range [sparse ""] 0 14] \
            [string replace [sparse \x7f\xff] 4 4 \x02] $dense $dense\x00\x00] {
            r SET key $value
            r PFADD good a
            foreach words {
                {PFADD key} {PFADD key a} {PFCOUNT key} {PFCOUNT good key} {PFMERGE key good} {PFMERGE to good key}
                {PFDEBUG GETREG key} {PFDEBUG TODENSE key} {PFDEBUG DECODE key} {PFDEBUG NOPE key}
            } {
                assert_error $invalid {r {*}$words}
            }
            assert_equal $value [r GET key]
            assert_equal 0 [r EXISTS to]
        }
    }

    foreach {why runs} {
        "too few registers" \x7f\xfe
        "too many registers" \x7f\xff\x00
        "far too many registers" \x7f\xff\x7f\xff\x7f\xff\x7f\xff
        "a run that is cut off" \x7f
        "values beyond the last register" \x7f\xfe\x83
        "no run at all" ""
        "a run that ends behind the last register" \x00\x7f\xff
        "values all over" \xff\xff\xff\xff
    } {
        test "Corrupt: $why" {
            r SET key [sparse $runs]
            r PFADD good a b c
            set was [r GET good]
            assert_error $corrupt {r PFCOUNT key}
            assert_error $corrupt {r PFCOUNT good key}
            assert_error $corrupt {r PFADD key a b c d e f}
            assert_error $corrupt {r PFMERGE good key}
            assert_error $corrupt {r PFMERGE key good}
            assert_error $corrupt {r PFMERGE to good key}
            assert_error $corrupt {r PFDEBUG TODENSE key}
            assert_error $corrupt {r PFDEBUG GETREG key}
            assert_equal [sparse $runs] [r GET key]
            assert_equal $was [r GET good]
            assert_equal 0 [r EXISTS to]
            catch {r PFDEBUG DECODE key}
            catch {r PFADD key a}
            assert_equal PONG [r PING]
        }
    }

    test "Random bytes behind the header harm nothing" {
        for {set round 0} {$round < 400} {incr round} {
            set runs ""
            for {set i 0} {$i < rand() * 60} {incr i} {
                append runs [format %c [expr {int(rand() * 256)}]]
            }
            r SET key [sparse $runs]
            for {set i 0} {$i < 6} {incr i} {
                catch {r PFADD key $round:$i}
            }
            catch {r PFCOUNT key}
            catch {r PFMERGE to key}
            catch {r PFDEBUG DECODE key}
            catch {r PFDEBUG TODENSE key}
        }
        assert_equal PONG [r PING]
    }

    test "A dense one takes any bytes for registers" {
        set registers ""
        for {set i 0} {$i < 12288} {incr i} {
            append registers [format %c [expr {int(rand() * 256)}]]
        }
        r SET key "HYLL\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x80$registers"
        r PFCOUNT key
        r PFADD key a b c
        r PFMERGE to key
        assert_equal [r PFDEBUG GETREG key] [r PFDEBUG GETREG to]
    }

    test "Keys of another type are refused" {
        need_command RPUSH
        r RPUSH list a
        r PFADD good a
        foreach words {
            {PFADD list} {PFADD list a} {PFCOUNT list} {PFCOUNT good list} {PFMERGE list good} {PFMERGE good list}
            {PFDEBUG ENCODING list}
        } {
            assert_error $wrong_type {r {*}$words}
        }
    }

    # ---- PFDEBUG and PFSELFTEST -------------------------------------------------------------------------------

    test "PFDEBUG DECODE shows runs" {
        needs_free_encodings
        r PFADD key
        assert_equal Z:16384 [r PFDEBUG DECODE key]
        r PFADD key a b c
        assert_equal {Z:8436 v:1,1 Z:4274 v:2,1 Z:3068 v:1,1 Z:603} [r PFDEBUG DECODE key]
        r SET key [sparse \x3f\x87\x7f\xbb]
        assert_equal {z:64 v:2,4 Z:16316} [r PFDEBUG decode key]
    }

    test "PFDEBUG TODENSE says whether there was something to do" {
        needs_free_encodings
        r PFADD key a b
        assert_equal 1 [changes {assert_equal 1 [r PFDEBUG TODENSE key]}]
        assert_equal 0 [changes {assert_equal 0 [r PFDEBUG TODENSE key]}]
        assert_equal 2 [r PFCOUNT key]
        assert_error "ERR HLL encoding is not sparse" {r PFDEBUG DECODE key}
    }

    test "PFDEBUG GETREG gives all registers, of a dense one from then on" {
        r PFADD key a b c
        set registers [r PFDEBUG GETREG key]
        assert_equal 16384 [llength $registers]
        assert_equal {1 2 1} [lsearch -all -inline -not -exact $registers 0]
        assert_equal dense [r PFDEBUG ENCODING key]
    }

    test "PFDEBUG knows no others, and no missing key" {
        r PFADD key a
        assert_error "ERR Unknown PFDEBUG subcommand 'nope'" {r PFDEBUG nope key}
        assert_error "ERR The specified key does not exist" {r PFDEBUG ENCODING nothing}
        assert_equal {enabled disabled} [list [r PFDEBUG SIMD on] [r PFDEBUG simd OFF]]
        assert_error "ERR Argument must be ON or OFF" {r PFDEBUG SIMD maybe}
    }

    test "PFSELFTEST finds nothing" {
        assert_equal OK [r PFSELFTEST]
    }
}
