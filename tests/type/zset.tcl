# zset.tcl -- the commands of sorted sets, option by option and error by error, in both encodings.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_number {ERR wrong number of arguments for '%s' command}
set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}

# Returns every reply of a command as bytes.
proc raw {args} {
    return [[default_client] raw {*}$args]
}

start_server {each {r FLUSHALL; r HELLO 2}} {

foreach encoding {listpack skiplist} {
    r CONFIG SET zset-max-listpack-entries [expr {$encoding eq "listpack" ? 128 : 0}]

    # ---- ZADD ---------------------------------------------------------------------------------------------------

    test "$encoding: ZADD adds members in the order of scores, then of bytes" {
        assert_equal 4 [r ZADD key 2 two 1 one -1.5 minus 1 another]
        assert_equal $encoding [r OBJECT ENCODING key]
        assert_equal {minus another one two} [r ZRANGE key 0 -1]
        assert_equal zset [r TYPE key]
    }

    test "$encoding: ZADD gives a member another score, and counts only new ones" {
        r ZADD key 1 a 2 b
        assert_equal 1 [r ZADD key 5 a 3 c]
        assert_equal {b 2 c 3 a 5} [r ZRANGE key 0 -1 WITHSCORES]
    }

    test "$encoding: ZADD with CH counts what has changed too" {
        r ZADD key 1 a 2 b
        assert_equal 2 [r ZADD key CH 5 a 2 b 3 c]
    }

    test "$encoding: ZADD takes the last score of a member that comes twice" {
        assert_equal 1 [r ZADD key 1 a 2 a]
        assert_equal 2 [r ZSCORE key a]
    }

    test "$encoding: ZADD with NX leaves members as they are, XX adds none" {
        r ZADD key 1 a
        assert_equal 1 [r ZADD key NX 9 a 2 b]
        assert_equal {a 1 b 2} [r ZRANGE key 0 -1 WITHSCORES]
        assert_equal 0 [r ZADD key XX 3 a 4 c]
        assert_equal {b 2 a 3} [r ZRANGE key 0 -1 WITHSCORES]
        assert_equal 0 [r ZADD none XX 1 a]
        assert_equal 0 [r EXISTS none]
    }

    test "$encoding: ZADD with GT only raises, with LT only lowers, both add" {
        r ZADD key 5 a 5 b
        assert_equal 1 [r ZADD key GT CH 4 a 6 b]
        assert_equal {a 5 b 6} [r ZRANGE key 0 -1 WITHSCORES]
        assert_equal 2 [r ZADD key LT CH 4 a 7 b 1 c]
        assert_equal {c 1 a 4 b 6} [r ZRANGE key 0 -1 WITHSCORES]
        assert_equal 0 [r ZADD key XX GT 9 d]
        assert_equal (nil) [r ZADD key GT INCR 0 a]
        assert_equal (nil) [r ZADD key LT INCR 0 a]
        assert_equal 4.5 [r ZADD key GT INCR 0.5 a]
    }

    test "$encoding: ZADD with INCR adds and gives the score, null where it does nothing" {
        assert_equal 1.5 [r ZADD key INCR 1.5 a]
        assert_equal 4 [r ZADD key INCR 2.5 a]
        assert_equal (nil) [r ZADD key NX INCR 1 a]
        assert_equal (nil) [r ZADD key XX INCR 1 b]
        assert_equal (nil) [r ZADD key GT INCR -1 a]
        assert_equal 3 [r ZADD key LT INCR -1 a]
    }

    test "$encoding: ZINCRBY makes a set and a member, and refuses what is no number" {
        assert_equal 3 [r ZINCRBY key 3 a]
        assert_equal 1.5 [r ZINCRBY key -1.5 a]
        r ZADD key inf top
        assert_error "ERR resulting score is not a number (NaN)" {r ZINCRBY key -inf top}
        assert_error "ERR resulting score is not a number (NaN)" {r ZADD key INCR -inf top}
        assert_equal inf [r ZSCORE key top]
    }

    test "$encoding: a refused ZADD has changed nothing" {
        r ZADD key 1 a
        assert_error "ERR value is not a valid float" {r ZADD key 2 b x c}
        foreach score {nan 1x {} { 1} 0x10 1e400} {
            assert_error "ERR value is not a valid float" {r ZADD key $score b}
        }
        assert_error $syntax {r ZADD key 1 a 2}
        assert_error $syntax {r ZADD key NX XX}
        assert_error "ERR XX and NX options at the same time are not compatible" {r ZADD key NX XX 1 b}
        foreach words {{NX GT} {NX LT} {GT LT}} {
            assert_error "ERR GT, LT, and/or NX options at the same time are not compatible" {r ZADD key {*}$words 1 b}
        }
        assert_error "ERR INCR option supports a single increment-element pair" {r ZADD key INCR 1 b 2 c}
        assert_error [format $wrong_number zadd] {r ZADD key 1}
        assert_equal {a 1} [r ZRANGE key 0 -1 WITHSCORES]
    }

    test "$encoding: members hold every byte, and may be empty or look like numbers" {
        set bytes ""
        for {set i 0} {$i < 60} {incr i} {
            append bytes [format %c [expr {$i * 4}]]
        }
        r ZADD key 1 "" 2 $bytes 3 12345 4 -7 5 007
        assert_equal [list "" $bytes 12345 -7 007] [r ZRANGE key 0 -1]
        assert_equal 3 [r ZSCORE key 12345]
        assert_equal (nil) [r ZSCORE key 7]
    }

    # ---- Scores as text -------------------------------------------------------------------------------------------

    foreach {score text} {1 1 1.0 1 -0 0 3.5 3.5 0.1 0.1 1e3 1000 1e20 1e+20 1e21 1e+21 1e-7 1e-7
            1.5e-10 1.5e-10 inf inf +inf inf -Infinity -inf 4611686018427387904 4611686018427387904
            0.30000000000000004 0.30000000000000004 17179869184.5 17179869184.5} {
        test "$encoding: the score $score is shown as $text" {
            r ZADD key $score a
            if {$score eq "-0" && [r OBJECT ENCODING key] eq "skiplist"} {
                set text -0
            }
            assert_equal $text [r ZSCORE key a]
            assert_equal [list a $text] [r ZRANGE key 0 -1 WITHSCORES]
        }
    }

    # ---- Looking up ---------------------------------------------------------------------------------------------

    test "$encoding: ZCARD, ZSCORE, ZMSCORE" {
        r ZADD key 1 a 2.5 b
        assert_equal 2 [r ZCARD key]
        assert_equal 2.5 [r ZSCORE key b]
        assert_equal (nil) [r ZSCORE key c]
        assert_equal {1 (nil) 2.5} [r ZMSCORE key a c b]
        assert_equal {(nil) (nil)} [r ZMSCORE none a b]
        assert_equal 0 [r ZCARD none]
        assert_equal (nil) [r ZSCORE none a]
    }

    test "$encoding: ZRANK and ZREVRANK count from either end" {
        r ZADD key 1 a 2 b 3 c
        assert_equal {0 1 2} [list [r ZRANK key a] [r ZRANK key b] [r ZRANK key c]]
        assert_equal {2 1 0} [list [r ZREVRANK key a] [r ZREVRANK key b] [r ZREVRANK key c]]
        assert_equal {1 2} [r ZRANK key b WITHSCORE]
        assert_equal {2 1} [r ZREVRANK key a WITHSCORE]
        assert_equal "\$-1\r\n" [raw ZRANK key d]
        assert_equal "*-1\r\n" [raw ZRANK key d WITHSCORE]
        assert_equal "*-1\r\n" [raw ZRANK none d WITHSCORE]
        assert_error $syntax {r ZRANK key b WITHSCORES}
        assert_error [format $wrong_number zrank] {r ZRANK key b WITHSCORE b}
    }

    # ---- ZREM, ZPOPMIN, ZPOPMAX, ZMPOP ------------------------------------------------------------------------------

    test "$encoding: ZREM takes members out, and the key with the last" {
        r ZADD key 1 a 2 b 3 c
        assert_equal 2 [r ZREM key a c d a]
        assert_equal b [r ZRANGE key 0 -1]
        assert_equal 1 [r ZREM key b]
        assert_equal 0 [r EXISTS key]
        assert_equal 0 [r ZREM key b]
    }

    test "$encoding: ZPOPMIN and ZPOPMAX take from the ends" {
        r ZADD key 1 a 2 b 3 c 4 d 5 e
        assert_equal {a 1} [r ZPOPMIN key]
        assert_equal {e 5} [r ZPOPMAX key]
        assert_equal {d 4 c 3} [r ZPOPMAX key 2]
        assert_equal {} [r ZPOPMIN key 0]
        assert_equal {b 2} [r ZPOPMIN key 10]
        assert_equal 0 [r EXISTS key]
        assert_equal {} [r ZPOPMIN key]
        foreach count {-1 x} {
            assert_error "ERR value is out of range, must be positive" {r ZPOPMIN key $count}
        }
        assert_error $syntax {r ZPOPMIN key 1 2}
    }

    test "$encoding: ZMPOP takes from the first key that has members" {
        r ZADD two 1 a 2 b 3 c
        r ZADD three 1 z
        assert_equal {two {{a 1}}} [r ZMPOP 3 one two three MIN]
        assert_equal {two {{c 3} {b 2}}} [r ZMPOP 3 one two three MAX COUNT 9]
        assert_equal {three {{z 1}}} [r ZMPOP 3 one two three MAX COUNT 1]
        assert_equal "*-1\r\n" [raw ZMPOP 3 one two three MIN]
        assert_error "ERR numkeys should be greater than 0" {r ZMPOP 0 key MIN}
        assert_error "ERR count should be greater than 0" {r ZMPOP 1 key MIN COUNT 0}
        assert_error [format $wrong_number zmpop] {r ZMPOP 1 key}
        assert_error $syntax {r ZMPOP 2 key MIN}
        assert_error $syntax {r ZMPOP 1 key MIN COUNT 1 COUNT 1}
        assert_error $syntax {r ZMPOP 1 key MIDDLE}
    }

    # ---- Ranges -----------------------------------------------------------------------------------------------------

    test "$encoding: ZRANGE by rank, from either end" {
        r ZADD key 1 a 2 b 3 c 4 d
        assert_equal {a b c d} [r ZRANGE key 0 -1]
        assert_equal {b c} [r ZRANGE key 1 2]
        assert_equal {c d} [r ZRANGE key -2 -1]
        assert_equal {a b c d} [r ZRANGE key -100 100]
        assert_equal {} [r ZRANGE key 2 1]
        assert_equal {} [r ZRANGE key 4 9]
        assert_equal {} [r ZRANGE key 0 -5]
        assert_equal {d c} [r ZRANGE key 0 1 REV]
        assert_equal {d 4 c 3} [r ZREVRANGE key 0 1 WITHSCORES]
        assert_equal {} [r ZRANGE none 0 -1]
    }

    test "$encoding: ZRANGE BYSCORE with bounds in and out of the range" {
        r ZADD key -inf low 1 a 2 b 2 c 3 d inf high
        assert_equal {a b c d} [r ZRANGE key 1 3 BYSCORE]
        assert_equal {b c} [r ZRANGE key (1 (3 BYSCORE]
        assert_equal {low a} [r ZRANGE key -inf (2 BYSCORE]
        assert_equal {d high} [r ZRANGE key (2 +inf BYSCORE]
        assert_equal {d c b a} [r ZRANGE key 3 1 BYSCORE REV]
        assert_equal {} [r ZRANGE key 3 1 BYSCORE]
        assert_equal {} [r ZRANGE key (2 (2 BYSCORE]
        assert_equal {b 2 c 2} [r ZRANGEBYSCORE key 2 2 WITHSCORES]
        assert_equal {c b a} [r ZREVRANGEBYSCORE key 2 1]
    }

    test "$encoding: LIMIT leaves out the first and the rest" {
        r ZADD key 1 a 2 b 3 c 4 d 5 e
        assert_equal {b c} [r ZRANGEBYSCORE key 1 5 LIMIT 1 2]
        assert_equal {d c} [r ZREVRANGEBYSCORE key 5 1 LIMIT 1 2]
        assert_equal {c d e} [r ZRANGEBYSCORE key 1 5 LIMIT 2 -1]
        assert_equal {} [r ZRANGEBYSCORE key 1 5 LIMIT 5 1]
        assert_equal {} [r ZRANGEBYSCORE key 1 5 LIMIT 0 0]
        assert_equal {b 2} [r ZRANGE key 1 5 BYSCORE WITHSCORES LIMIT 1 1]
        set listpack [expr {[r OBJECT ENCODING key] eq "listpack"}]
        assert_equal [expr {$listpack ? {} : {d e}}] [r ZRANGE key 1 5 BYSCORE LIMIT -2 9]
    }

    test "$encoding: ZRANGE BYLEX where scores are equal" {
        r ZADD key 0 a 0 b 0 c 0 d 0 e
        assert_equal {a b c d e} [r ZRANGE key - + BYLEX]
        assert_equal {b c} [r ZRANGE key \[b (d BYLEX]
        assert_equal {c} [r ZRANGEBYLEX key (b (d]
        assert_equal {} [r ZRANGEBYLEX key + -]
        assert_equal {d c} [r ZRANGE key \[d (b BYLEX REV]
        assert_equal {d c} [r ZREVRANGEBYLEX key + - LIMIT 1 2]
        assert_equal 3 [r ZLEXCOUNT key (a \[d]
        foreach bound {x {} -x} {
            assert_error "ERR min or max not valid string range item" {r ZRANGEBYLEX key $bound +}
        }
    }

    test "$encoding: ZCOUNT" {
        r ZADD key 1 a 2 b 3 c
        assert_equal 3 [r ZCOUNT key -inf +inf]
        assert_equal 1 [r ZCOUNT key (1 (3]
        assert_equal 0 [r ZCOUNT key 3 1]
        assert_equal 0 [r ZCOUNT none 0 1]
        foreach bound {x nan (nan {1 } 0x1} {
            assert_error "ERR min or max is not a float" {r ZCOUNT key $bound 1}
        }
    }

    test "$encoding: what ZRANGE and its older names refuse" {
        r ZADD key 1 a
        set only "ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX"
        assert_error $only {r ZRANGE key 0 -1 LIMIT 0 1}
        assert_error "ERR syntax error, WITHSCORES not supported in combination with BYLEX" \
            {r ZRANGE key - + BYLEX WITHSCORES}
        assert_error $syntax {r ZRANGE key 0 1 BYSCORE BYLEX}
        assert_error $syntax {r ZRANGE key 0 1 BYSCORE LIMIT 0}
        assert_error $syntax {r ZREVRANGE key 0 1 REV}
        assert_error $syntax {r ZRANGEBYSCORE key 0 1 BYSCORE}
        assert_error $not_integer {r ZRANGE key a 1}
        assert_error $not_integer {r ZRANGE key 0 1 BYSCORE LIMIT x 1}
        assert_error $syntax {r ZRANGESTORE dst key 0 1 WITHSCORES}
    }

    test "$encoding: ZREMRANGEBYRANK, ZREMRANGEBYSCORE, ZREMRANGEBYLEX" {
        r ZADD key 1 a 2 b 3 c 4 d 5 e 6 f
        assert_equal 2 [r ZREMRANGEBYRANK key 0 1]
        assert_equal 1 [r ZREMRANGEBYRANK key -1 -1]
        assert_equal 1 [r ZREMRANGEBYSCORE key (3 4]
        assert_equal {c e} [r ZRANGE key 0 -1]
        assert_equal 0 [r ZREMRANGEBYSCORE key 10 20]
        assert_equal 2 [r ZREMRANGEBYRANK key 0 -1]
        assert_equal 0 [r EXISTS key]
        r ZADD key 0 a 0 b 0 c
        assert_equal 2 [r ZREMRANGEBYLEX key (a +]
        assert_equal a [r ZRANGE key 0 -1]
    }

    test "$encoding: ZRANGESTORE replaces the destination, and deletes it when nothing is left" {
        r ZADD key 1 a 2 b 3 c 4 d
        r SET dst text
        assert_equal 2 [r ZRANGESTORE dst key 1 2]
        assert_equal {b 2 c 3} [r ZRANGE dst 0 -1 WITHSCORES]
        assert_equal $encoding [r OBJECT ENCODING dst]
        assert_equal 2 [r ZRANGESTORE dst key 4 3 BYSCORE REV]
        assert_equal {c d} [r ZRANGE dst 0 -1]
        assert_equal 0 [r ZRANGESTORE dst key 9 10]
        assert_equal 0 [r EXISTS dst]
        assert_equal 2 [r ZRANGESTORE key key 0 1]
        assert_equal {a b} [r ZRANGE key 0 -1]
    }

    # ---- Several sets -------------------------------------------------------------------------------------------------

    test "$encoding: ZUNION, ZINTER, ZDIFF" {
        r ZADD one 1 a 2 b 3 c
        r ZADD two 10 b 20 c 30 d
        assert_equal {a 1 b 12 c 23 d 30} [r ZUNION 2 one two WITHSCORES]
        assert_equal {b 12 c 23} [r ZINTER 2 one two WITHSCORES]
        assert_equal {a 1} [r ZDIFF 2 one two WITHSCORES]
        assert_equal {a b c d} [r ZUNION 3 one none two]
        assert_equal {} [r ZINTER 3 one none two]
        assert_equal {a b c} [r ZDIFF 2 one none]
        assert_equal {} [r ZDIFF 2 none one]
        assert_equal {a 2 b 4 c 6} [r ZUNION 2 one one WITHSCORES]
    }

    test "Of many sources the smaller come first, and those of the same size in their order" {
        # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in the last digit.
        set keys {}
        for {set i 0} {$i < 30} {incr i} {
            r ZADD large:$i 0 m {*}[concat {*}[lmap n {1 2 3} {list 1 $i.$n}]]
            lappend keys large:$i
        }
        foreach {key score} {one 0.1 two 0.2 three 0.3} {
            r ZADD $key $score m
        }
        set expected [expr {0.1 + 0.2 + 0.3}]
        assert_equal [list m $expected] [r ZINTER 33 {*}$keys one two three WITHSCORES]
        assert_equal [list m $expected] [r ZINTER 33 one {*}$keys two three WITHSCORES]
        assert_equal [list m [expr {0.3 + 0.2 + 0.1}]] [r ZINTER 33 three two {*}$keys one WITHSCORES]
        assert_equal {3.1 3.2 3.3} [r ZDIFF 35 large:3 none one {*}[lrange $keys 4 end] {*}[lrange $keys 0 2] none two three]
    }

    test "$encoding: WEIGHTS and AGGREGATE" {
        r ZADD one 1 a 2 b
        r ZADD two 10 b 3 c
        assert_equal {a 2 c 9 b 34} [r ZUNION 2 one two WEIGHTS 2 3 WITHSCORES]
        assert_equal {a 1 b 2 c 3} [r ZUNION 2 one two AGGREGATE MIN WITHSCORES]
        assert_equal {a 1 c 3 b 10} [r ZUNION 2 one two AGGREGATE MAX WITHSCORES]
        assert_equal {b 12} [r ZINTER 2 one two AGGREGATE SUM WITHSCORES]
        assert_error "ERR weight value is not a float" {r ZUNION 2 one two WEIGHTS 1 x}
        assert_error $syntax {r ZUNION 2 one two WEIGHTS 1}
        assert_error $syntax {r ZUNION 2 one two AGGREGATE AVG}
        assert_error $syntax {r ZDIFF 2 one two WEIGHTS 1 1}
        assert_error $syntax {r ZUNIONSTORE dst 2 one two WITHSCORES}
    }

    test "$encoding: a sum that is no number is 0, in whatever order" {
        r ZADD one inf a -inf b
        r ZADD two -inf a inf b
        assert_equal {a 0 b 0} [r ZUNION 2 one two WITHSCORES]
        assert_equal {a 0 b 0} [r ZINTER 2 two one WITHSCORES]
        assert_equal {a 0 b 0} [r ZUNION 1 one WEIGHTS 0 WITHSCORES]
        assert_equal [r ZUNION 2 one two WEIGHTS 0 1 WITHSCORES] [r ZUNION 2 two one WEIGHTS 1 0 WITHSCORES]
    }

    test "$encoding: ZUNIONSTORE, ZINTERSTORE, ZDIFFSTORE" {
        r ZADD one 1 a 2 b
        r ZADD two 10 b 3 c
        r SET dst text
        assert_equal 3 [r ZUNIONSTORE dst 2 one two]
        assert_equal {a 1 c 3 b 12} [r ZRANGE dst 0 -1 WITHSCORES]
        assert_equal $encoding [r OBJECT ENCODING dst]
        assert_equal 1 [r ZINTERSTORE dst 2 one two]
        assert_equal {b 12} [r ZRANGE dst 0 -1 WITHSCORES]
        assert_equal 1 [r ZDIFFSTORE dst 2 one two]
        assert_equal {a 1} [r ZRANGE dst 0 -1 WITHSCORES]
        assert_equal 0 [r ZINTERSTORE dst 2 one none]
        assert_equal 0 [r EXISTS dst]
        assert_equal 3 [r ZUNIONSTORE one 2 one two]
        assert_equal {a 1 c 3 b 12} [r ZRANGE one 0 -1 WITHSCORES]
    }

    test "$encoding: ZINTERCARD with a limit counts on where the first members are in one set only" {
        r DEL few many
        foreach size {20 300} {
            for {set i 0} {$i < $size} {incr i} {
                r ZADD few $i m$i
                r ZADD many [expr {$i * 2}] m[expr {$i + 6}] $i other$i
            }
            foreach limit {1 3 10 100} {
                assert_equal [expr {min($limit, $size - 6)}] [r ZINTERCARD 2 few many LIMIT $limit]
            }
        }
    }

    test "$encoding: members of a set have the score 1" {
        r ZADD one 5 a 7 b
        r SADD two a c 12
        assert_equal {12 1 c 1 a 6 b 7} [r ZUNION 2 one two WITHSCORES]
        assert_equal {a 7} [r ZINTER 2 one two WEIGHTS 1 2 WITHSCORES]
        assert_equal {b 7} [r ZDIFF 2 one two WITHSCORES]
        assert_equal {12 1 c 1} [r ZDIFF 2 two one WITHSCORES]
        assert_equal {12 1 a 1 c 1} [r ZUNION 1 two WITHSCORES]
        assert_equal 1 [r ZINTERCARD 2 two one]
        assert_equal 3 [r ZUNIONSTORE two 1 two]
        assert_equal zset [r TYPE two]
    }

    test "$encoding: ZINTERCARD counts up to a limit" {
        r ZADD one 1 a 2 b 3 c
        r ZADD two 1 a 2 b 3 c 4 d
        assert_equal 3 [r ZINTERCARD 2 one two]
        assert_equal 2 [r ZINTERCARD 2 one two LIMIT 2]
        assert_equal 3 [r ZINTERCARD 2 one two LIMIT 0]
        assert_error "ERR LIMIT can't be negative" {r ZINTERCARD 2 one two LIMIT -1}
        assert_error $syntax {r ZINTERCARD 2 one two WITHSCORES}
    }

    test "$encoding: numkeys is a number, and not more than there are" {
        assert_error "ERR at least 1 input key is needed for 'zunion' command" {r ZUNION 0 key}
        assert_error "ERR at least 1 input key is needed for 'zdiffstore' command" {r ZDIFFSTORE dst -1 key}
        assert_error $not_integer {r ZINTER x key}
        assert_error $syntax {r ZUNION 2 key}
    }

    # ---- ZRANDMEMBER, ZSCAN -------------------------------------------------------------------------------------------

    test "$encoding: ZRANDMEMBER draws members" {
        r ZADD key 1 a 2 b 3 c 4 d 5 e
        for {set i 0} {$i < 100} {incr i} {
            incr seen([r ZRANDMEMBER key])
        }
        assert_same_set {a b c d e} [array names seen]
        assert_same_set {a b c d e} [r ZRANDMEMBER key 9]
        assert_equal 3 [llength [lsort -unique [r ZRANDMEMBER key 3]]]
        assert_equal 1 [llength [r ZRANDMEMBER key 1]]
        assert_equal 50 [llength [r ZRANDMEMBER key -50]]
        foreach {member score} [r ZRANDMEMBER key -20 WITHSCORES] {
            assert_equal [r ZSCORE key $member] $score
        }
        assert_equal {} [r ZRANDMEMBER key 0]
        assert_equal (nil) [r ZRANDMEMBER none]
        assert_equal {} [r ZRANDMEMBER none 5]
    }

    test "$encoding: ZRANDMEMBER at the ends of the scale" {
        r ZADD key 1 a
        assert_equal a [r ZRANDMEMBER key 9223372036854775807]
        assert_error "ERR value is out of range" {r ZRANDMEMBER key 9223372036854775807 WITHSCORES}
        assert_error "ERR value is out of range" {r ZRANDMEMBER key -9223372036854775807 WITHSCORES}
        assert_error "ERR value is out of range, value must between *" {r ZRANDMEMBER key -9223372036854775808}
        assert_error $not_integer {r ZRANDMEMBER key x}
        assert_error $syntax {r ZRANDMEMBER key 1 SCORES}
    }

    test "$encoding: a ZRANDMEMBER without end stops where nobody hears it" {
        r ZADD key 1 a
        with_clients c {
            $c pipeline {{CLIENT REPLY OFF} {ZRANDMEMBER key -4611686018427387904} {CLIENT REPLY ON}}
            assert_equal OK [$c reply]
            $c pipeline {{CLIENT REPLY SKIP} {ZRANDMEMBER key -4611686018427387904} {ECHO behind}}
            assert_equal behind [$c reply]
        }
    }

    test "$encoding: a ZRANDMEMBER without end stops when the client is closed for it" {
        r ZADD key 1 a
        with_config {client-output-buffer-limit "normal 1mb 0 0"} {
            with_clients c {
                $c send ZRANDMEMBER key -100000000
                assert [$c closed_within 10000]
            }
        }
        assert_equal PONG [r PING]
    }

    test "$encoding: ZSCAN visits every member" {
        for {set i 0} {$i < 100} {incr i} {
            r ZADD key $i m:$i
        }
        set cursor 0
        array unset found
        while 1 {
            lassign [r ZSCAN key $cursor COUNT 7] cursor elements
            array set found $elements
            if {$cursor eq "0"} break
        }
        assert_equal 100 [array size found]
        assert_equal 42 $found(m:42)
        assert_equal {0 {m:42 42}} [lreplace [r ZSCAN key 0 MATCH m:42 COUNT 1000] 0 0 0]
        assert_equal {0 m:42} [lreplace [r ZSCAN key 0 MATCH m:42 COUNT 1000 NOSCORES] 0 0 0]
        assert_equal {0 {}} [r ZSCAN none 0]
        assert_error "ERR invalid cursor" {r ZSCAN key x}
        assert_error $syntax {r ZSCAN key 0 COUNT 0}
    }

    # ---- RESP3 --------------------------------------------------------------------------------------------------------

    test "$encoding: RESP3 has doubles, and a pair for each member with its score" {
        r ZADD key 1 a 2.5 b
        r HELLO 3
        foreach {command reply} {
            {ZSCORE key b} ",2.5|"
            {ZSCORE key c} "_|"
            {ZMSCORE key a c} "*2|,1|_|"
            {ZRANGE key 0 -1 WITHSCORES} "*2|*2|\$1|a|,1|*2|\$1|b|,2.5|"
            {ZRANK key b WITHSCORE} "*2|:1|,2.5|"
            {ZRANK key c WITHSCORE} "_|"
            {ZINCRBY key 1 a} ",2|"
            {ZADD key INCR -1 a} ",1|"
            {ZUNION 1 key WITHSCORES} "*2|*2|\$1|a|,1|*2|\$1|b|,2.5|"
            {ZRANDMEMBER key 5} "*2|*"
            {ZPOPMIN key} "*2|\$1|a|,1|"
            {ZPOPMAX key 1} "*1|*2|\$1|b|,2.5|"
            {ZMPOP 1 key MIN} "_|"
        } {
            assert_match [string map {| \r\n} $reply] [raw {*}$command]
        }
    }

    # ---- Copies, dumps ------------------------------------------------------------------------------------------------

    test "$encoding: COPY, RENAME and DUMP keep members and scores" {
        r ZADD key 1 a 2.5 b inf c 1e300 d -7 12
        set all [r ZRANGE key 0 -1 WITHSCORES]
        r COPY key copy
        r ZADD key 9 other
        assert_equal $all [r ZRANGE copy 0 -1 WITHSCORES]
        r RESTORE restored 0 [r DUMP copy]
        assert_equal $all [r ZRANGE restored 0 -1 WITHSCORES]
        assert_equal $encoding [r OBJECT ENCODING restored]
        r RENAME copy moved
        assert_equal $all [r ZRANGE moved 0 -1 WITHSCORES]
        assert_equal [r DEBUG DIGEST-VALUE moved] [r DEBUG DIGEST-VALUE restored]
    }

    test "$encoding: a set whose time is over is gone, and ZADD begins a new one" {
        r ZADD key 1 a
        r PEXPIRE key 1
        after 20
        assert_equal {} [r ZRANGE key 0 -1]
        assert_equal 1 [r ZADD key 2 b]
        assert_equal b [r ZRANGE key 0 -1]
        assert_equal -1 [r TTL key]
    }

    test "$encoding: a random walk agrees with a model" {
        expr {srand(7)}
        array unset model
        for {set i 0} {$i < 2000} {incr i} {
            set member m[expr {int(rand() * 60)}]
            set score [expr {int(rand() * 20)}]
            switch [expr {int(rand() * 4)}] {
                0 - 1 { r ZADD key $score $member; set model($member) $score }
                2 {
                    assert_equal [info exists model($member)] [r ZREM key $member]
                    unset -nocomplain model($member)
                }
                3 {
                    foreach {popped its_score} [r ZPOPMIN key] {
                        assert_equal $model($popped) $its_score
                        unset model($popped)
                    }
                }
            }
        }
        set want {}
        foreach {member score} [array get model] {
            lappend want [list $score $member]
        }
        set sorted {}
        foreach pair [lsort -index 0 -integer [lsort -index 1 $want]] {
            lappend sorted [lindex $pair 1] [lindex $pair 0]
        }
        assert_equal $sorted [r ZRANGE key 0 -1 WITHSCORES]
    }
}

    r CONFIG SET zset-max-listpack-entries 128

    # ---- Encodings --------------------------------------------------------------------------------------------------

    test "A set is a listpack up to zset-max-listpack-entries members" {
        with_config {zset-max-listpack-entries 3} {
            r ZADD key 1 a 2 b 3 c
            assert_equal listpack [r OBJECT ENCODING key]
            r ZADD key 5 a
            assert_equal listpack [r OBJECT ENCODING key]
            r ZADD key 4 d
            assert_equal skiplist [r OBJECT ENCODING key]
            r ZREM key d
            assert_equal skiplist [r OBJECT ENCODING key]
            r ZUNIONSTORE dst 1 key
            assert_equal listpack [r OBJECT ENCODING dst]
        }
    }

    test "A member longer than zset-max-listpack-value makes it a skiplist" {
        r ZADD key 1 [string repeat x 64]
        assert_equal listpack [r OBJECT ENCODING key]
        r ZADD key 1 [string repeat x 65]
        assert_equal skiplist [r OBJECT ENCODING key]
    }

    test "A new key that is given more pairs than fit is a skiplist from the beginning" {
        with_config {zset-max-listpack-entries 3} {
            r ZADD key 1 a 2 a 3 a 4 a
            assert_equal skiplist [r OBJECT ENCODING key]
        }
    }

    test "With a bound of 0 there are only skiplists" {
        with_config {zset-max-listpack-entries 0} {
            r ZADD key 1 a
            assert_equal skiplist [r OBJECT ENCODING key]
            r ZRANGESTORE dst key 0 -1
            assert_equal skiplist [r OBJECT ENCODING dst]
        }
        with_config {zset-max-listpack-value 0} {
            r ZADD other 1 ""
            assert_equal listpack [r OBJECT ENCODING other]
            r ZADD other 1 a
            assert_equal skiplist [r OBJECT ENCODING other]
        }
    }

    test "RESTORE chooses the encoding by the bounds of today" {
        r ZADD key 1 a 2 b 3 c
        set dump [r DUMP key]
        with_config {zset-max-listpack-entries 2} {
            r RESTORE restored 0 $dump
            assert_equal skiplist [r OBJECT ENCODING restored]
            set dump [r DUMP restored]
        }
        r RESTORE back 0 $dump
        assert_equal listpack [r OBJECT ENCODING back]
        assert_equal {a 1 b 2 c 3} [r ZRANGE back 0 -1 WITHSCORES]
    }

    # ---- Common errors ----------------------------------------------------------------------------------------------

    test "Sorted-set commands refuse other types" {
        r SET text x
        r ZADD key 1 a
        foreach command {
            {ZADD text 1 a} {ZINCRBY text 1 a} {ZREM text a} {ZCARD text} {ZSCORE text a} {ZMSCORE text a}
            {ZRANK text a} {ZREVRANK text a} {ZCOUNT text 0 1} {ZLEXCOUNT text - +} {ZRANGE text 0 -1}
            {ZREVRANGE text 0 -1} {ZRANGEBYSCORE text 0 1} {ZREVRANGEBYSCORE text 1 0} {ZRANGEBYLEX text - +}
            {ZREVRANGEBYLEX text + -} {ZRANGESTORE dst text 0 -1} {ZREMRANGEBYRANK text 0 1}
            {ZREMRANGEBYSCORE text 0 1} {ZREMRANGEBYLEX text - +} {ZPOPMIN text} {ZPOPMAX text 1} {ZMPOP 1 text MIN}
            {ZRANDMEMBER text} {ZRANDMEMBER text 1} {ZSCAN text 0} {ZUNION 2 key text} {ZINTER 2 none text}
            {ZDIFF 2 key text} {ZINTERCARD 1 text} {ZUNIONSTORE dst 1 text} {ZINTERSTORE dst 2 key text}
            {ZDIFFSTORE dst 1 text}
        } {
            assert_error $wrong_type {r {*}$command}
        }
        assert_equal x [r GET text]
        assert_error $wrong_type {r GET key}
    }

    test "Scores are read before the key" {
        r SET text x
        assert_error "ERR value is not a valid float" {r ZADD text x a}
        assert_error "ERR value is not a valid float" {r ZINCRBY text x a}
        assert_error "ERR value is not a valid float" {r ZADD key 1 a x b}
        assert_equal 0 [r EXISTS key]
    }

    test "Each member that comes, changes or goes is a change" {
        foreach {changes command} {
            3 {ZADD key 1 a 2 b 3 c}   2 {ZADD key 1 a 5 b 4 d}   0 {ZADD key 1 a}   0 {ZADD key NX 9 a}   1 {ZINCRBY key 1 a}
            0 {ZADD key GT 1 a}   2 {ZREM key a b x}   0 {ZREM key x}   1 {ZPOPMIN key}   0 {ZPOPMIN key 0}
            2 {ZADD key 1 e 2 f}   2 {ZREMRANGEBYRANK key 0 1}   0 {ZREMRANGEBYSCORE key 100 200}   1 {ZPOPMAX key 9}
        } {
            set before [info_field rdb_changes_since_last_save]
            r {*}$command
            assert_equal "$changes $command" "[expr {[info_field rdb_changes_since_last_save] - $before}] $command"
        }
    }

    test "A large set: ranks, ranges and its end" {
        set words {}
        for {set i 0} {$i < 20000} {incr i} {
            lappend words [expr {$i * 7919 % 20000}] member:$i
        }
        assert_equal 20000 [r ZADD key {*}$words]
        for {set i 0} {$i < 20000} {incr i 997} {
            assert_equal [expr {$i * 7919 % 20000}] [r ZRANK key member:$i]
        }
        assert_equal 101 [llength [r ZRANGEBYSCORE key 5000 5100]]
        assert_equal 5000 [r ZREMRANGEBYSCORE key 0 4999]
        assert_equal 15000 [r ZCARD key]
        assert_equal 15000 [r ZUNIONSTORE dst 2 key key WEIGHTS 1 -1]
        assert_equal 15000 [r ZCOUNT dst 0 0]
        assert_equal 15000 [r ZREMRANGEBYRANK key 0 -1]
        assert_equal 0 [r EXISTS key]
    }

    test "ZRANDMEMBER: a number that no reply can have is refused" {
        r ZADD key 1 a 2 b
        assert_error "OOM *" {r ZRANDMEMBER key -4000000000000000000}
        with_clients c {
            $c write [string cat "CLIENT REPLY SKIP\r\n" "ZRANDMEMBER key -4000000000000\r\n" "PING\r\n"]
            assert_equal PONG [$c reply]
        }
    }
}
