# check_rdb.tcl -- valkey-check-rdb from the outside: its output for valid and damaged snapshots, and its exit codes.
#
# SPDX-License-Identifier: BSD-3-Clause

set checker [file join [file dirname $srv::binary] valkey-check-rdb]

# Returns {EXIT-CODE STDOUT STDERR}.
proc check_rdb {args} {
    set err [file join $srv::root check-stderr]
    set code 0
    if {[catch {exec -keepnewline timeout 120 $::checker {*}$args </dev/null 2>$err} out options]} {
        set code [lindex [dict get $options -errorcode] 2]
        regsub {(\n)?child process exited abnormally$} $out {\1} out
    }
    return [list $code $out [read_file $err]]
}

# A file of these bytes.
proc rdb_file {bytes} {
    set path [file join $srv::root check.rdb]
    write_file $path $bytes
    return $path
}

# Returns the figures of a table in CSV: {"db.0.keys.total" {7 1 ..}}.
proc figures_of {csv} {
    set out {}
    foreach line [split $csv \n] {
        if {[string match db.* $line]} {dict set out {*}[regexp -inline {^[^,]+} $line] [lrange [split $line ,] 1 end]}
    }
    return $out
}

if {![file executable $checker]} {
    test "valkey-check-rdb is there" {skip "no $checker"}
    return
}

# This server cannot make a library of functions and a foreign magic: they are in rdb_files.txt.
set here [file dirname [file normalize [info script]]]
foreach line [split [read_file $here/rdb_files.txt] \n] {
    switch -- [lindex $line 0] {
        file {set name [lindex $line 1]; set refused {}}
        refused {lappend refused [lindex $line 1]}
        rdb {
            set bytes [binary decode base64 [lindex $line 1]]
            test "a file of another server: $name" {
                lassign [check_rdb [rdb_file $bytes]] code out
                if {"relaxed" in $refused} {
                    assert_equal 1 $code
                    assert_match "*--- RDB ERROR DETECTED ---*Check RDB returned error code 1*" $out
                } elseif {"strict" in $refused} {
                    assert_equal 0 $code
                    assert_match "*Foreign RDB version 13 detected*loading requires config 'rdb-version-check relaxed'*" $out
                    assert_match "*1 items of modules, which a load leaves out*" $out
                } else {
                    assert_equal 0 $code
                    assert_match "*\\\\o/ RDB looks OK! \\\\o/*" $out
                }
            }
        }
    }
}

test "lines of an empty file of the field, to the byte" {
    set path [rdb_file [binary format a*cca*H* VALKEY080 -6 10 valkey-ver 05392e312e32ff0000000000000000]]
    lassign [check_rdb $path] code out err
    assert_equal 0 $code
    assert_equal "\[offset 0\] Checking RDB file $path
\[offset 27\] AUX FIELD valkey-ver = '9.1.2'
\[offset 36\] RDB file was saved with checksum disabled: no check performed.
\[offset 36\] Check RDB returned error code 0 (0 means success)
\[offset 36\] \\o/ RDB looks OK! \\o/
\[info\] 0 keys read
\[info\] 0 expires
\[info\] 0 already expired
\[info\] 0 functions
" $out
    assert_equal "" $err
}

test "lines of a file that is cut within a value, to the byte" {
    set path [rdb_file [binary format a*H* VALKEY080 fe030005612762005c0568656c]]
    lassign [check_rdb $path] code out err
    assert_equal 1 $code
    assert_equal "\[offset 0\] Checking RDB file $path
\[offset 11\] Selecting DB ID 3
--- RDB ERROR DETECTED ---
\[offset 19\] Unexpected EOF reading RDB file
\[additional info\] While doing: read-object-value
\[additional info\] Reading key 'a'b\\x00\\\\'
\[additional info\] Reading type 0 (string)
\[info\] 1 keys read
\[info\] 0 expires
\[info\] 0 already expired
\[info\] 0 functions
\[offset 19\] Check RDB returned error code 1 (0 means success)
" $out
}

test "what cannot be opened or read" {
    lassign [check_rdb /does/not/exist] code out err
    assert_equal 1 $code
    assert_equal "\[offset 0\] Checking RDB file /does/not/exist
\[offset 0\] Check RDB returned error code 1 (0 means success)
" $out
    assert_match "*No such file*" $err
    lassign [check_rdb $srv::root] code out
    assert_equal 1 $code
    assert_match "*Is a directory*" $out
    lassign [check_rdb /dev/null] code out
    assert_equal 1 $code
    assert_match "*\\\[offset 0\\\] Unexpected EOF*While doing: start*" $out
}

test "a terminal shows how far it is, a file does not" {
    needs_terminal
    set path [rdb_file [binary format a*H* VALKEY080 ff0000000000000000]]
    set out [exec script -qec "$checker $path" /dev/null </dev/null]
    assert_match "*\\\[[string repeat = 40]\\\] 100% of *?\033\\\[K*looks OK!*" $out
    assert_no_match "*100%*" [join [check_rdb $path]]
}

test "command lines that are wrong" {
    foreach words {{} {f g} {f --format xml} {f --format} {f --output} {f --biggest -1} {f --biggest 1001} {f --biggest x} {f --bogus 1}} {
        lassign [check_rdb {*}$words] code out err
        assert_equal 1 $code
        assert_equal "" $out
        assert_match "Usage: *valkey-check-rdb FILE *" $err
    }
    foreach word {-h --help} {
        lassign [check_rdb $word] code out err
        assert_equal {0 {}} [list $code $err]
        assert_match "Usage: *valkey-check-rdb FILE *" $out
    }
    lassign [check_rdb --version] code out
    assert_equal 0 $code
    assert_match "valkey-check-rdb v=* sha=*:* malloc=* bits=64 build=*\n" $out
    file delete -force $srv::root/redis-check-rdb
    file link -symbolic $srv::root/redis-check-rdb [file normalize [file join [file dirname $::checker] valkey-server]]
    assert_match "valkey-check-rdb v=*" [exec $srv::root/redis-check-rdb -v]
}

start_server {each {r FLUSHALL}} {
    # Saves the dataset and returns the name of the file.
    proc saved {} {
        r SAVE
        return [file join [config_value dir] [config_value dbfilename]]
    }

    test "figures of each type" {
        r SET s1 12345
        r SET s2 [string repeat x 100] PXAT 4102444800000
        r RPUSH l a bbb 12345678901
        r SADD s 1 22 333
        r ZADD z 1.5 member 2 abc
        r HSET h f vvvv ff w
        r XADD x 1-1 f v g hh
        r XADD x 1-2 other v
        r SELECT 2
        r SET other 1
        r SELECT 0
        lassign [check_rdb [saved] --stats --format csv] code out
        assert_equal 0 $code
        set f [figures_of $out]
        foreach {name values} {
            type.name {string list set zset hash module stream}
            keys.total {2 1 1 1 1 0 1}
            expire_keys.total {1 0 0 0 0 0 0}
            already_expired.total {0 0 0 0 0 0 0}
            keys.size {4 1 1 1 1 0 1}
            keys.value_size {105 15 6 13 8 0 11}
            elements.total {2 3 3 2 2 0 2}
            elements.size {105 15 6 13 8 0 11}
            elements.num.max {1 3 3 2 2 0 2}
            elements.num.avg {1.00 3.00 3.00 2.00 2.00 0.00 2.00}
            elements.num.p99 {1.00 3.00 3.00 2.00 2.00 0.00 2.00}
            elements.num.p90 {1.00 3.00 3.00 2.00 2.00 0.00 2.00}
            elements.num.p50 {1.00 3.00 3.00 2.00 2.00 0.00 2.00}
            elements.size.max {100 11 3 9 5 0 6}
            elements.size.avg {52.50 5.00 2.00 6.50 4.00 0.00 5.50}
            elements.size.p99 {100.00 11.00 3.00 9.00 5.00 0.00 6.00}
            elements.size.p90 {100.00 11.00 3.00 9.00 5.00 0.00 6.00}
            elements.size.p50 {5.00 3.00 2.00 4.00 3.00 0.00 5.00}
        } {
            assert_equal "$name $values" "$name [dict get $f db.0.$name]"
        }
        assert_equal {0 0 0 0 0 0 0} [dict get $f db.1.keys.total]
        assert_equal {1 0 0 0 0 0 0} [dict get $f db.2.keys.total]
        assert_equal 0 [dict exists $f db.3.keys.total]
    }

    test "figures as a table, and as lines of info" {
        r SET key value
        set path [saved]
        set out [lindex [check_rdb $path --stats] 1]
        assert_match "*\ndb.0.type.name                \tstring\tlist \tset  \tzset \thash \tmodule\tstream\n*" $out
        assert_match "*\ndb.0.elements.size.avg        \t5.00 \t0.00 \t*" $out
        set out [lindex [check_rdb $path --format info --stats] 1]
        assert_match "*\n\\\[info\\\] db.0.type.string.keys.value_size:5\n*" $out
        assert_no_match "*type.name*" $out
        assert_no_match "*db.0*" [lindex [check_rdb $path] 1]
    }

    test "an average that is half a digit, and digits of scores" {
        foreach n {1 2 1 1 1 1 1 1 1 1} {r RPUSH l [string repeat x $n]}
        for {set i 0} {$i < 40} {incr i} {r SET key:$i [string repeat x [expr {$i ? 13 : 2}]]}
        r ZADD z 100000000000000 m 0.1 m2
        set f [figures_of [lindex [check_rdb [saved] --stats --format csv] 1]]
        assert_equal {12.73 1.10} [lrange [dict get $f db.0.elements.size.avg] 0 1]
        assert_equal 11 [lindex [dict get $f db.0.elements.size] 3]
    }

    test "--output takes the figures, and nothing else" {
        r SET key value
        set path [saved]
        set to [file join $srv::root figures.csv]
        lassign [check_rdb $path --stats --format csv --output $to] code out
        assert_equal 0 $code
        assert_no_match "*db.0*" $out
        assert_match "*RDB looks OK!*" $out
        assert_match "db.0.type.name,*\ndb.0.elements.size.p50,5.00,0.00,0.00,0.00,0.00,0.00,0.00\n" [read_file $to]
        lassign [check_rdb $path --stats --output /does/not/exist] code out err
        assert_equal 1 $code
        assert_match "*Can't write *" $err
        lassign [check_rdb $path --stats --output /dev/full] code out err
        assert_equal 1 $code
    }

    test "percentiles of many keys are within a thousandth" {
        for {set i 1} {$i <= 1000} {incr i} {r SET key:$i [string repeat x [expr {10 * $i}]]}
        set f [figures_of [lindex [check_rdb [saved] --stats --format csv] 1]]
        foreach {name exact} {p50 5000 p90 9000 p99 9900} {
            assert_between $exact [expr {$exact * 1.001}] [lindex [dict get $f db.0.elements.size.$name] 0]
        }
        assert_equal 10000 [lindex [dict get $f db.0.elements.size.max] 0]
        assert_equal 5005.00 [lindex [dict get $f db.0.elements.size.avg] 0]
    }

    test "--biggest names the keys that take most of the file" {
        r CONFIG SET rdbcompression no
        foreach n {3 1 2} {r SET key:$n [string repeat x [expr {$n * 1000}]]}
        r RPUSH "a list\n" {*}[lrepeat 50 [string repeat y 100]]
        set path [saved]
        set lines [lsearch -all -inline [split [lindex [check_rdb $path --biggest 2] 1] \n] {\[biggest\]*}]
        assert_equal 2 [llength $lines]
        assert_match {*bytes, 50 elements, type 18 (quicklist-v2), offset *, db 0, key 'a list\\n'} [lindex $lines 0]
        assert_match {* 3008 bytes, 1 elements, type 0 (string), offset *, db 0, key 'key:3'} [lindex $lines 1]
        r CONFIG SET rdbcompression yes
    }

    test "--format json is one object" {
        r SET key "\"va\\lue\"" PX 100000
        r SADD "set\n" a b c
        set path [saved]
        lassign [check_rdb $path --format json] code out
        assert_equal 0 $code
        assert_equal 1 [regexp -all \n $out]
        assert_match "\{\"file\":\"*\",\"ok\":true,\"version\":80,\"needs_relaxed\":false,\"checksum\":true,\"offset\":[file size $path],\"error\":null,*\}\n" $out
        assert_match {*,"keys":2,"expires":1,"already_expired":0,"empty":0,*} $out
        assert_match {*"aux":\[{"name":"valkey-ver","value":"*"},*} $out
        assert_match {*"databases":\[{"db":0,"keys":2,"expires":1,"already_expired":0,"types":{"string":{"keys.total":1,*},"set":{*"elements.total":3,*}}}\],*} $out
        assert_match {*"key":"set\\\\n","type":"set-listpack","bytes":*,"elements":3,"offset":*} $out
        set bytes [read_file $path]
        lassign [check_rdb [rdb_file [string range $bytes 0 end-9]] --format json --biggest 0] code out
        assert_equal 1 $code
        assert_match {*"ok":false,*"error":{"offset":*,"text":"Unexpected EOF reading RDB file","doing":"read-type","key":null,"type":null},*"biggest":\[\]\}*} $out
    }

    test "a file that is cut is never good, and nobody crashes" {
        r SET a [string repeat abc 30]
        r ZADD b 1 x 2 y
        r HSET c f v
        r XADD d 1-1 f v
        set bytes [read_file [saved]]
        for {set i 0} {$i < [string length $bytes]} {incr i 7} {
            lassign [check_rdb [rdb_file [string range $bytes 0 $i-1]]] code out err
            assert_equal 1 $code
            assert_match "*--- RDB ERROR DETECTED ---*Check RDB returned error code 1 (0 means success)\n" $out
            assert_equal "" $err
        }
    }

    test "a declared length takes no memory" {
        foreach value {0080ffffffff 00817fffffffffffffff 02817fffffffffffffff 00c304817fffffffffffffff 0e81ffffffffffffffff} {
            set path [rdb_file [binary format a*H*a* VALKEY080 [string range $value 0 1]016b[string range $value 2 end] abcd]]
            set limit [expr {$srv::slow > 1 ? "unlimited" : 400000}] ;# a sanitizer uses terabytes of address space
            set code [catch {exec sh -c "ulimit -v $limit; exec \"\$@\"" sh $::checker $path} out]
            assert_equal 1 $code
            assert_match "*--- RDB ERROR DETECTED ---*error code 1*" $out
        }
    }
}
