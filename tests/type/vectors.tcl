# vectors.tcl -- DUMP and RESTORE of every type, compared byte for byte with values that other servers have written.
#
# The values are in vectors.txt, which describes its lines.
#
# SPDX-License-Identifier: BSD-3-Clause

# A command of each type: a server without it lacks the type.
array set command_of {string SET list RPUSH set SADD hash HSET zset ZADD stream XADD vectorset VADD}

# Returns the raw bytes of WORD: (x*3) is xxx, and \x41 is A.
proc unfold {word} {
    if {$word eq {""}} {
        return ""
    }
    if {[regexp {^\((\w+)\*(\d+)\)$} $word -> unit count]} {
        return [string repeat $unit $count]
    }
    return [subst -nocommands -novariables $word]
}

proc from_hex {words} {
    return [binary format H* [join [lmap word $words {unfold $word}] ""]]
}

# Returns a list of dicts; "do" and "setting" are lists of the contents of their lines.
proc read_vectors {path} {
    set vectors {}
    foreach line [split [read_file $path] \n] {
        set words [regexp -all -inline {\S+} $line]
        set rest [lrange $words 1 end]
        switch -- [lindex $words 0] {
            "" - "#" {}
            vector {
                lappend vectors [dict create name [lindex $rest 0] type "" encoding "" do {} setting {} varies {} reply +OK]
            }
            type { dict set vector type [lindex $rest 0]; dict set vector encoding [lindex $rest 1] }
            do { dict lappend vector do [lmap word $rest {unfold $word}] }
            setting { dict lappend vector setting {*}$rest }
            payload - again { dict set vector [lindex $words 0] [from_hex $rest] }
            reply - relaxed { dict set vector [lindex $words 0] [join $rest " "] }
            value - xinfo { dict set vector [lindex $words 0] [lmap word $rest {unfold $word}] }
            becomes { dict set vector becomes [lindex $rest 0] }
            varies { dict set vector varies $rest }
            default { error "vectors.txt: [lindex $words 0]?" }
        }
        if {[llength $words] && [lindex $words 0] ni {# vector}} {
            lset vectors end $vector
        }
        set vector [lindex $vectors end]
    }
    return $vectors
}

# Returns the contents of a key as one list.
proc content {key} {
    switch -- [r TYPE $key] {
        string { return [list [r GET $key]] }
        list { return [r LRANGE $key 0 -1] }
        set { return [lsort [r SMEMBERS $key]] }
        hash { return [lsort -stride 2 [r HGETALL $key]] }
        zset { return [string map {Inf inf} [r ZRANGE $key 0 -1 WITHSCORES]] }
        stream {
            set entries {}
            foreach entry [r XRANGE $key - +] {
                lappend entries [lindex $entry 0] {*}[lindex $entry 1]
            }
            return $entries
        }
    }
}

proc in_order {type value} {
    switch -- $type {
        set { return [lsort $value] }
        hash { return [lsort -stride 2 $value] }
        zset {
            # A listpack is accepted in any order: a tree is ordered.
            return [expr {$testing::any_encoding ? [lsort -stride 2 $value] : $value}]
        }
        default { return $value }
    }
}

# Returns +OK or the error's text.
proc restore {key payload} {
    if {[catch {r RESTORE $key 0 $payload REPLACE} message]} {
        return -$message
    }
    return +$message
}

proc need_type {type} {
    if {$type ne ""} {
        need_command $::command_of($type)
    }
}

# Returns XINFO STREAM FULL without the server's internal figures.
proc xinfo_words {key} {
    set words {}
    foreach {name value} [r XINFO STREAM $key FULL] {
        if {![string match radix-tree-* $name]} {
            lappend words $name $value
        }
    }
    return [all_words $words]
}

# Returns every word of nested lists. No word in the vectors that use it contains a space.
proc all_words {nested} {
    return [regexp -all -inline {[^\s\{\}]+} $nested]
}

# Like with_config, for settings that may be none.
proc under {settings body} {
    if {[llength $settings] == 0} {
        return [uplevel 1 $body]
    }
    return [uplevel 1 [list with_config $settings $body]]
}

# Checks the DUMP of k. With pinned encodings the bytes differ, and only the contents count. Two LZF encoders need not
# give the same bytes: so the dumps must be equal without compression, and the compressed one not much longer.
proc assert_same_dump {expected dump} {
    if {$testing::any_encoding || $expected eq $dump} {
        return
    }
    with_config {rdbcompression no} {
        r RESTORE theirs 0 $expected REPLACE
        assert_equal [binary encode hex [r DUMP theirs]] [binary encode hex [r DUMP k]]
        assert {$dump ne [r DUMP k]}
    }
    assert {[string length $dump] <= 1.1 * [string length $expected]}
}

set vectors [read_vectors [file join [file dirname $test_file] vectors.txt]]

start_server {each {r FLUSHALL}} {
    # Expired fields of a payload must be found again, too.
    r DEBUG SET-ACTIVE-EXPIRE 0

    test "there are vectors" {
        assert_between 144 1000 [llength $vectors]
    }

    foreach vector $vectors {
        set relaxed [dict exists $vector relaxed]

        test "[dict get $vector name]: RESTORE says [dict get $vector reply]" {
            if {!$relaxed} {
                need_type [dict get $vector type]
            }
            assert_equal [dict get $vector reply] [restore k [dict get $vector payload]]
            assert_equal [expr {[dict get $vector reply] eq "+OK"}] [r EXISTS k]
        }

        if {$relaxed} {
            test "[dict get $vector name]: RESTORE says [dict get $vector relaxed] when foreign versions are let in" {
                need_config rdb-version-check
                if {[dict get $vector relaxed] eq "+OK"} {
                    need_type [dict get $vector type]
                }
                with_config {rdb-version-check relaxed} {
                    assert_equal [dict get $vector relaxed] [restore k [dict get $vector payload]]
                }
                if {[dict get $vector relaxed] eq "+OK"} {
                    assert_equal [dict get $vector type] [r TYPE k]
                }
            }
        }

        if {[dict get $vector reply] eq "+OK"} {
            test "[dict get $vector name]: type, encoding, content and DUMP of what was restored" {
                need_type [dict get $vector type]
                set settings [expr {[llength [dict get $vector do]] ? {} : [dict get $vector setting]}]
                under $settings {
                    r RESTORE k 0 [dict get $vector payload]
                }
                assert_equal [dict get $vector type] [r TYPE k]
                set encoding [dict get $vector encoding]
                if {[dict exists $vector becomes]} {
                    set encoding [dict get $vector becomes]
                }
                assert_equal $encoding [r OBJECT ENCODING k]
                if {[dict exists $vector value]} {
                    set type [dict get $vector type]
                    assert_equal [in_order $type [dict get $vector value]] [in_order $type [content k]]
                }
                if {[dict exists $vector xinfo]} {
                    assert_equal [all_words [dict get $vector xinfo]] [xinfo_words k]
                }
                set again [dict get $vector payload]
                if {[dict exists $vector again]} {
                    set again [dict get $vector again]
                }
                if {"order" ni [dict get $vector varies] && "lzf" ni [dict get $vector varies]} {
                    assert_same_dump $again [r DUMP k]
                }
            }
        }

        if {[llength [dict get $vector do]] && !$relaxed} {
            test "[dict get $vector name]: the commands that made it make it here" {
                foreach command [dict get $vector do] {
                    need_command [lindex $command 0]
                }
                under [dict get $vector setting] {
                    foreach command [dict get $vector do] {
                        r {*}$command
                    }
                    assert_equal [dict get $vector type] [r TYPE k]
                    assert_equal [dict get $vector encoding] [r OBJECT ENCODING k]
                    set dump [r DUMP k]
                }
                set made [content k]
                if {$testing::any_encoding && [string match HYLL* $made]} {
                    skip "the bytes of a HyperLogLog are its encoding"
                }
                set digest [r DEBUG DIGEST-VALUE k]
                if {[llength [dict get $vector varies]] == 0} {
                    assert_same_dump [dict get $vector payload] $dump
                }
                # Its own bytes and those of the other server give the same value.
                assert_equal +OK [restore own $dump]
                assert_equal +OK [restore theirs [dict get $vector payload]]
                foreach key {own theirs} {
                    assert_equal $made [content $key]
                    if {"time" ni [dict get $vector varies]} {
                        assert_equal $digest [r DEBUG DIGEST-VALUE $key]
                    }
                }
            }
        }
    }
}
