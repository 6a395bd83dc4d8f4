# check_aof.tcl -- valkey-check-aof from the outside: its verdict, exit code and changes for given files.
#
# The program in the folder of the server binary is tested. tests/differential/check_aof compares it with a real one.
#
# SPDX-License-Identifier: BSD-3-Clause

set tool [file join [file dirname $srv::binary] valkey-check-aof]
set seed [expr {[info exists ::env(CHECK_AOF_SEED)] ? $::env(CHECK_AOF_SEED) : [clock microseconds] & 0xffffff}]
set rounds [expr {[info exists ::env(CHECK_AOF_ROUNDS)] ? $::env(CHECK_AOF_ROUNDS) : 16}]

# Returns a command in the format of the file.
proc resp {args} {
    set out "*[llength $args]\r\n"
    foreach word $args {
        append out "\$[string length $word]\r\n$word\r\n"
    }
    return $out
}

# Makes a directory of files: name content ...
proc files {args} {
    set dir [make_server_dir]
    foreach {name content} $args {
        write_file $dir/$name $content
    }
    return $dir
}

# Runs the tool in DIR with INPUT on stdin. Returns {EXIT-CODE STDOUT STDERR}.
proc check_with {dir input args} {
    write_file $dir/.stdin $input
    set code 0
    set command [list timeout 60 $::tool {*}$args <$dir/.stdin >$dir/.stdout 2>$dir/.stderr]
    if {[catch {exec sh -c {cd "$0" && exec "$@"} $dir {*}$command} message options]} {
        set code [lindex [dict get $options -errorcode] 2]
    }
    return [list $code [read_file $dir/.stdout] [read_file $dir/.stderr]]
}

proc check {dir args} {
    return [lrange [check_with $dir "" {*}$args] 0 1]
}

# Returns the exit code and the lines after the first one.
proc verdict {dir args} {
    lassign [check $dir {*}$args] code out
    return [list $code [join [lrange [split [string trimright $out \n] \n] 1 end] \n]]
}

set set_k [resp SET k v]

if {![file executable $tool]} {
    test "valkey-check-aof is there" {skip "no $tool"}
    return
}

# ---- One file -------------------------------------------------------------------------------------------------

test "A good file, an empty one, one that is not there" {
    set dir [files good $set_k empty ""]
    assert_equal [list 0 "Start checking Old-Style AOF\nAOF analyzed: filename=good, size=27, ok_up_to=27,\
        ok_up_to_line=8, diff=0\nAOF good is valid\n"] [check $dir good]
    assert_equal [list 0 "Start checking Old-Style AOF\nAOF empty is empty\n"] [check $dir empty]
    assert_equal [list 1 "Cannot open file none: No such file or directory\n"] [check $dir none]
    assert_equal [list 1 "Cannot read file: .\n"] [check $dir .]
}

test "Words that are no options" {
    set dir [files good $set_k]
    foreach words {{} {--yes good} {--fix --fix good} {--fix --truncate-to-timestamp 5 good} {a b c} {--stats x good}} {
        lassign [check $dir {*}$words] code out
        assert_equal 1 $code
        assert_match "Usage: *" $out
    }
    assert_equal [list 1 "Invalid timestamp, aborting...\n"] [check $dir --truncate-to-timestamp 5x good]
    assert_equal 0 [lindex [check $dir --help] 0]
    assert_match {valkey-check-aof v=*} [lindex [check $dir --version] 1]
}

test "A snapshot in front, of either name; what only looks like one" {
    set snapshot_end \xff\0\0\0\0\0\0\0\0
    foreach head {REDIS0011 VALKEY080} {
        set dir [files log $head$snapshot_end$set_k bare $head$snapshot_end]
        lassign [check $dir log] code out
        assert_equal 0 $code
        assert_match "*RDB preamble is OK*AOF analyzed: filename=log, size=45, ok_up_to=45, ok_up_to_line=8,\
            diff=0\nAOF log is valid\n" $out
        assert_equal 0 [lindex [check $dir bare] 0]
    }
    foreach head {REDIX0011 VALKEX080} {
        assert_equal [list 1 "AOF log format error\nAOF analyzed: filename=log, size=45, ok_up_to=0, ok_up_to_line=1,\
            diff=45\nAOF log is not valid. Use the --fix option to try fixing it."] \
            [verdict [files log $head$snapshot_end$set_k] log]
    }
}

test "A file that ends early, or goes on with something else" {
    set good $set_k
    foreach {tail told} {
        "*3\r\n\$3\r\nSE" "0x              23: Expected to read 5 bytes, got 2 bytes"
        "*3" "0x              1b: Expected \\r\\n, got: 0000"
        "*3\r\nx" "0x              1f: Expected prefix '\$', got: 'x'"
        "*1\r\n\$-5\r\n" "0x              1f: Expected to read string of -5 bytes, which is not in the suitable range"
        "x" "AOF f format error"
        "\0\0" "AOF f format error"
    } {
        lassign [verdict [files f $good$tail] f] code out
        assert_equal 1 $code
        assert_equal $told [lindex [split $out \n] 0]
        assert_match "*\nAOF analyzed: *, ok_up_to=27, *" $out
        assert_match "*\nAOF f is not valid. Use the --fix option to try fixing it." $out
    }
}

test "Zeros at the end are noted, and --fix removes them" {
    set dir [files f $set_k[string repeat "\0" 4096] g $set_k]
    lassign [check_with $dir "" f] code out notes
    assert_equal 1 $code
    assert_match "Note: AOF f ends with 4096 zero bytes,*" $notes
    lassign [check_with $dir "" g] code out notes
    assert_equal {0 {}} [list $code $notes]
    assert_equal 0 [lindex [check_with $dir y --fix f] 0]
    assert_equal $set_k [read_file $dir/f]
}

test "Transactions: one without end, one inside of another, an end without one" {
    set multi [resp MULTI]
    set exec [resp EXEC]
    foreach {tail told} [list \
        $multi$set_k "0x              42: Reached EOF before reading EXEC for MULTI" \
        $multi$set_k$multi$set_k$exec "0x              4d: Unexpected MULTI in AOF f" \
        $exec "0x              23: Unexpected EXEC in AOF f"] {
        lassign [verdict [files f $set_k$tail] f] code out
        assert_equal 1 $code
        assert_equal $told [lindex [split $out \n] 0]
        assert_match "*\nAOF analyzed: *, ok_up_to=27, *" $out
    }
}

test "A length that is a lie takes no memory" {
    set dir [files f "$set_k*2000000000\r\n\$999999999999\r\nx"]
    lassign [check_with $dir "" f] code out
    assert_equal 1 $code
    assert_match "*Expected to read 1000000000001 bytes, got 1 bytes*" $out
    # A hole of four gigabytes is skipped, with less memory than that.
    set dir [files f "*2\r\n\$4\r\nECHO\r\n\$4294967296\r\n"]
    exec truncate -s +4294967296 $dir/f
    set channel [open $dir/f ab]
    puts -nonewline $channel "\r\n"
    close $channel
    write_file $dir/limited "ulimit -v [expr {$srv::slow > 1 ? "unlimited" : 2000000}]; exec $tool f"
    set out [exec sh -c {cd "$0" && exec sh limited} $dir]
    assert_match "*AOF f is valid" $out
    file delete $dir/f
}

# ---- --fix ----------------------------------------------------------------------------------------------------

test "--fix asks, cuts behind the last whole unit, and a second look finds nothing" {
    set dir [files f "$set_k[resp MULTI]$set_k*3\r\n"]
    foreach answer {"" "n\n" " y\n" "\n"} {
        lassign [check_with $dir $answer --fix f] code out
        assert_equal 1 $code
        assert_match "*This will shrink the AOF f from 73 bytes, with 46 bytes, to 27 bytes\nContinue? \\\[y/N\\\]:\
            Aborting...\n" $out
        assert_equal 73 [file size $dir/f]
    }
    lassign [check_with $dir "y\n" --fix f] code out
    assert_equal 0 $code
    assert_match "*Continue? \\\[y/N\\\]: Successfully truncated AOF f\n" $out
    assert_equal $set_k [read_file $dir/f]
    assert_equal 0 [lindex [check_with $dir "" --fix f] 0]
}

test "What is good is not opened for writing" {
    set dir [files f $set_k]
    file attributes $dir/f -permissions 0444
    set before [file mtime $dir/f]
    assert_equal 0 [lindex [check $dir --fix f] 0]
    assert_equal $before [file mtime $dir/f]
}

test "Nothing is cut from a file that has grown meanwhile" {
    set dir [files f "$set_k*3\r\n"]
    set channel [open |[list sh -c {cd "$0" && exec "$@"} $dir $tool --fix f 2>@1] r+]
    fconfigure $channel -buffering line
    set out ""
    while {![string match "*Continue?*" $out] && ![eof $channel]} {
        append out [read $channel 1]
    }
    set file [open $dir/f ab]
    puts -nonewline $file "\$3\r\nDEL\r\n"
    close $file
    puts $channel y
    append out [read $channel]
    assert_equal 1 [catch {close $channel}]
    assert_match "*Failed to truncate AOF f: it has changed since it was read*" $out
    assert_equal 40 [file size $dir/f]
}

# ---- Timestamps -----------------------------------------------------------------------------------------------

set timed "#TS:1000\r\n$set_k#TS:2000\r\n$set_k#TS:3000\r\n$set_k"

test "--truncate-to-timestamp cuts before the first that is greater" {
    foreach {time size} {1000 37 1999 37 2000 74 3000 111} {
        set dir [files f $timed]
        lassign [verdict $dir --truncate-to-timestamp $time f] code out
        assert_equal 0 $code
        assert_equal [expr {$size == 111 ? "Truncate nothing in AOF f to timestamp 3000\nAOF f is valid" :
            "Successfully truncated AOF f to timestamp $time"}] $out
        assert_equal $size [file size $dir/f]
    }
    set dir [files f $timed]
    assert_equal {1 {AOF f has nothing before timestamp 999, aborting...}} [verdict $dir --truncate-to-timestamp 999 f]
    assert_equal {1 {Invalid timestamp annotation}} [verdict [files f "#TS:9x\r\n"] --truncate-to-timestamp 5 f]
}

test "--truncate-to-timestamp leaves no half of a transaction" {
    set dir [files f "#TS:1000\r\n$set_k[resp MULTI]$set_k#TS:2000\r\n$set_k[resp EXEC]"]
    assert_equal 0 [lindex [check $dir --truncate-to-timestamp 1500 f] 0]
    assert_equal "#TS:1000\r\n$set_k" [read_file $dir/f]
}

# ---- Manifests ------------------------------------------------------------------------------------------------

proc manifest {args} {
    set text ""
    foreach {name seq type} $args {
        append text "file $name seq $seq type $type\n"
    }
    return $text
}

test "A manifest: base, increments, the lines counted through, history left out" {
    set dir [files list [manifest b 1 b none 1 h i1 1 i i2 2 i] b $set_k i1 "" i2 $set_k]
    assert_equal [list 0 [join {
        "Start checking Multi Part AOF"
        "Start to check BASE AOF (RESP format)."
        "AOF analyzed: filename=b, size=27, ok_up_to=27, ok_up_to_line=8, diff=0"
        "BASE AOF b is valid"
        "Start to check INCR files."
        "INCR AOF i1 is empty"
        "AOF analyzed: filename=i2, size=27, ok_up_to=27, ok_up_to_line=15, diff=0"
        "INCR AOF i2 is valid"
        "All AOF files and manifest are valid"
        ""
    } \n]] [check $dir list]
    assert_equal [check $dir list] [check [file dirname $dir] [file tail $dir]/list]
}

test "Only the last file is cut; it is the last too when empty ones follow" {
    set bad "$set_k*1\r\n"
    set dir [files list [manifest i1 1 i i2 2 i i3 3 i] i1 $bad i2 $set_k i3 ""]
    lassign [check_with $dir "y\n" --fix list] code out
    assert_equal 1 $code
    assert_match "*\nFailed to truncate AOF i1 because it is not the last file\n" $out
    assert_equal $bad [read_file $dir/i1]
    write_file $dir/i1 $set_k
    write_file $dir/i2 $bad
    lassign [check_with $dir "y\n" --fix list] code out
    assert_equal 0 $code
    assert_match "*Successfully truncated AOF i2\nINCR AOF i3 is empty\nAll AOF files and manifest are valid\n" $out
    assert_equal $set_k [read_file $dir/i2]
}

test "--truncate-to-timestamp does not cut what other files follow" {
    set dir [files list [manifest i1 1 i i2 2 i] i1 $::timed i2 $set_k]
    lassign [check $dir --truncate-to-timestamp 1500 list] code out
    assert_equal 1 $code
    assert_match "*Failed to truncate AOF ./i1 to timestamp 1500 to offset 37 because it is not the last file.\n*" $out
    assert_equal $::timed [read_file $dir/i1]
}

test "A manifest with a fault, and files that are missing" {
    foreach {text told} {
        "file a seq 1 type b\nfile b seq 2 type b\n" {*at line 2*Found duplicate base file information*}
        "file a seq 1 type x\n" {*Unknown AOF file type*}
        "file ../a seq 1 type b\n" {*File can't be a path, just a filename*}
        "file a seq 1" {*The AOF manifest file contains too long line*}
    } {
        lassign [check [files list $text a $set_k b ""] list] code out
        assert_equal 1 $code
        assert_match "Start checking Multi Part AOF\n*FATAL AOF MANIFEST FILE ERROR*" $out
        assert_match $told $out
    }
    assert_match {1 {*Cannot open file ./none: No such file or directory
}} [check [files list [manifest none 1 b]] list]
    assert_match {1 {*Cannot open file ./none: No such file or directory, aborting...
}} [check [files list [manifest a 1 b none 1 i] a $set_k] list]
}

# ---- Beyond Valkey's ------------------------------------------------------------------------------------------

test "--stats counts commands by name, and tells the time that they cover" {
    set dir [files f "#TS:1000\r\n[resp set k v][resp SET k v][resp XGROUP CREATE s g 0][resp NoSuch]#TS:1700000000\r\n"]
    lassign [check_with $dir "" --stats f] code out err
    assert_equal 0 $code
    foreach {name count bytes} {set 2 54 xgroup|create 1 49 nosuch 1 16 (all) 4 119} {
        assert_regexp "(?n)^[string map {| \\| ( \\( ) \\)} $name] +$count +$bytes\$" $out
    }
    assert_match "*first timestamp  1000 (1970-01-01 00:16:40 UTC)\nlast timestamp   1700000000\
        (2023-11-14 22:13:20 UTC)\n" $out
}

test "A command that the server does not know is noted, and is no fault" {
    set dir [files f "$set_k[resp NOSUCH a]$set_k"]
    lassign [check_with $dir "" f] code out err
    assert_equal 0 $code
    assert_match "Note: AOF f, offset 27: unknown command \"NOSUCH\"*" $err
    lassign [check_with [files f [resp SET k]] "" f] code out err
    assert_match "*wrong number of arguments for \"SET\"*" $err
    lassign [check_with [files f [resp XGROUP x]] "" f] code out err
    assert_match "*unknown subcommand of \"XGROUP\"*" $err
}

test "A bar is shown on a terminal, and only there" {
    needs_terminal
    set dir [files f [string repeat $set_k 20000]]
    assert_equal "" [lindex [check_with $dir "" f] 2]
    set shown [exec script -qfec "cd $dir && $tool f" /dev/null <@stdin]
    assert_match {*\[*of 0.5 MB*AOF f is valid*} $shown
}

# ---- Agreement with the server --------------------------------------------------------------------------------

proc units {} {
    set units {}
    for {set i 0} {$i < 12} {incr i} {
        set one [resp SET key:$i "value\r\n$i"]
        switch [expr {int(rand() * 4)}] {
            0 {lappend units "#TS:170000000$i\r\n$one"}
            1 {lappend units [resp MULTI]$one[resp SET key:$i again][resp EXEC]}
            default {lappend units $one}
        }
    }
    return $units
}

# Starts a server on the log in DIR. Returns the digest and how many of KEYS exist; "refused" or the output if it does
# not start.
proc start_on {dir truncated keys} {
    set copy [make_server_dir]
    file copy $dir $copy/appendonlydir
    set port [free_port]
    set pid [launch $copy [list --port $port --bind 127.0.0.1 --dir $copy --save "" --appendonly yes \
        --aof-load-truncated $truncated --enable-debug-command yes]]
    set server [dict create dir $copy port $port pid $pid expect_exit 0]
    if {[catch {await_ready $server}]} {
        assert_equal 1 [wait_exit $copy 10]
        return refused
    }
    lappend srv::stack $server
    set answer [list [r DEBUG DIGEST] [expr {[llength $keys] ? [r EXISTS {*}$keys] : 0}]]
    forget_default_client
    set srv::stack [lrange $srv::stack 0 end-1]
    assert_equal {} [stop_server $server]
    return $answer
}

# A log with random damage: the check must predict the result of a start, and a start after --fix must have every unit
# before the damage.
proc agree {round} {
    expr {srand($round)}
    set units [units]
    set log [join $units ""]
    set at [expr {int(rand() * [string length $log])}]
    if {rand() < 0.6} {
        set damaged [string range $log 0 $at-1]
    } else {
        set byte [string index "*\$#\r\n0 9" [expr {int(rand() * 8)}]]
        if {rand() < 0.5} {
            set byte [format %c [expr {int(rand() * 256)}]]
        }
        set damaged [string replace $log $at $at $byte]
    }
    set keys {}
    set end 0
    foreach unit $units {
        incr end [string length $unit]
        if {$end <= $at} {
            lappend keys key:[llength $keys]
        }
    }
    set dir [files appendonly.aof.manifest [manifest b 1 b i 1 i] b [resp SET base 1] i $damaged]
    lassign [check_with $dir "" appendonly.aof.manifest] code out note
    set strict [start_on $dir no $keys]
    if {[string match "*Unexpected*" $out]} {
        assert_equal 1 $code ;# the server skips such words
    } else {
        assert_equal [expr {$code == 0 && $note eq ""}] [expr {$strict ne "refused"}]
    }
    set lenient [start_on $dir yes $keys]
    lassign [check_with $dir "y\n" --fix appendonly.aof.manifest] code out
    assert_equal 0 $code
    lassign [check_with $dir "" appendonly.aof.manifest] code out note
    assert_equal {0 1} [list $code [string match "*All AOF files and manifest are valid*" $out]]
    set mended [start_on $dir no $keys]
    assert_equal [expr {$note eq ""}] [expr {$mended ne "refused"}]
    if {$mended ne "refused"} {
        assert_equal [llength $keys] [lindex $mended 1]
    }
    if {$strict eq "refused" && $lenient ne "refused"} {
        assert_equal $lenient $mended
    }
}

test "What the check says and what a start does agree (CHECK_AOF_SEED=$seed)" {
    for {set i 0} {$i < $rounds} {incr i} {
        if {[catch {agree [expr {$seed + $i}]} message options]} {
            return -options $options "CHECK_AOF_SEED=[expr {$seed + $i}] CHECK_AOF_ROUNDS=1: $message"
        }
    }
}
