# cli_progress.tcl -- long work of valkey-cli: it shows its progress at a terminal, nothing of it in a pipe, and prints
# the result so far after Ctrl-C.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support terminal.tcl]
set code_file [file join $srv::root cli-progress-code]

# Runs WORDS at a terminal that survives Ctrl-C, so that the exit code is written to a file.
proc at_terminal {words {input ""}} {
    file delete $::code_file
    terminal::stop
    set command "env -u NO_COLOR TERM=xterm $::cli -p [srv port] $words"
    terminal::start "sh -c 'trap : INT; $command $input; echo \$? >$::code_file.new; mv $::code_file.new $::code_file'" 100
}

proc exit_code {} {
    wait_for_condition 10 {[file exists $::code_file]}
    return [string trim [read_file $::code_file]]
}

# Stores 4000 keys: a walk takes about 400 calls of SCAN, and with "-i 60" it sleeps after 100 of them, long before its
# end.
proc many_keys {} {
    for {set i 0} {$i < 4000} {incr i} {
        lappend words key:$i x
    }
    r MSET {*}$words
    r CONFIG RESETSTAT
}

start_server {each {r FLUSHALL}} {
    if {![file executable $cli] || [auto_execok script] eq "" || [catch {exec script -qec true /dev/null}]} {
        test "valkey-cli and a pseudo-terminal are there" {skip "no $cli, no script(1), or none can be opened here"}
        return
    }

    foreach {mode summary} {
        --bigkeys "*Biggest string found '\"key:*' has 1 bytes*"
        --memkeys "*Biggest string found '\"key:*' has * bytes*Memory of a key\n  < * 100.00%  *"
        --keystats "*Heaviest keys*Memory of a key*"
        "--hotkeys --pattern \"*\"" "*hot key found with counter: *"
    } {
        test "[lindex $mode 0] tells a terminal how far it is, and at Ctrl-C what it has" {
            many_keys
            r CONFIG SET maxmemory-policy allkeys-lfu
            at_terminal "$mode -i 60"
            terminal::shows [expr {[llength $mode] > 1 ? "*Reading all keys*1??? keys" : "*Reading all keys*%  1??? of 4000 keys*"}]
            terminal::type <ctrl-c>
            terminal::shows $summary
            assert_equal 0 [exit_code]
            set screen [terminal::screen]
            assert_regexp {\nSampled 1\d\d\d keys in the keyspace!\n} $screen
            assert_regexp {Stopped by Ctrl-C: 1\d\d\d of about 4000 keys|Not all keys were scanned. Use --cursor \d+} $screen
            assert_no_match "*^C*" $screen
            assert_no_match "*% *keys*left*" $screen
            r CONFIG SET maxmemory-policy noeviction
        }
    }

    test "--keystats goes on from where it was ended" {
        many_keys
        at_terminal "--keystats -i 60"
        terminal::shows "*% * of 4000 keys*"
        terminal::type <ctrl-c>
        terminal::shows "*--cursor * to continue.*"
        regexp {Sampled (\d+) keys.*--cursor (\d+)} [terminal::screen] all first cursor
        regexp {Sampled (\d+) keys} [exec $cli -p [srv port] --keystats --cursor $cursor] all second
        assert_between 4000 4100 [expr {$first + $second}]
    }

    test "A pipe sees nothing of it" {
        many_keys
        foreach mode {--bigkeys --memkeys --keystats} {
            set err [file join $srv::root cli-stderr]
            set out [exec $cli -p [srv port] $mode 2>$err]
            assert_equal "" [read_file $err]
            assert_no_match "*\[\x1b\r\]*" $out
            assert_no_match "*% *of 4000*" $out
        }
        # Progress on stderr if stdout is a pipe, and if it is a file.
        assert_equal "" [exec script -qec "$cli -p [srv port] --bigkeys | cat >/dev/null" /dev/null </dev/null]
        assert_match "*0 of 4000 keys*" [exec script -qec "$cli -p [srv port] --bigkeys >/dev/null" /dev/null </dev/null]
        assert_no_match "*Memory of a key*" [exec $cli -p [srv port] --memkeys]
        assert_match "*Memory of a key*#####*" [exec $cli -p [srv port] --keystats]
    }

    test "--memkeys and --keystats draw their distribution" {
        many_keys
        r SET long [string repeat x 5000]
        foreach mode {--memkeys --keystats} {
            at_terminal $mode
            terminal::shows "*Memory of a key*"
            assert_equal 0 [exit_code]
            terminal::shows "*  < * 4000  99.98%  [string repeat \u2588 60]\n*  < * 1   0.02%  \u258f*"
        }
    }

    test "Ctrl-C ends --scan behind a whole name, as a signal" {
        many_keys
        set out [file join $srv::root cli-scan]
        set pid [exec $cli -p [srv port] --scan --count 300 -i 60 >$out 2>/dev/null &]
        wait_for_condition 10 {[file size $out] > 0}
        wait_for_condition 10 {[catch {exec kill -INT $pid}]}
        set names [split [string trimright [read_file $out]] \n]
        assert_between 200 500 [llength $names]
        foreach name $names {assert_regexp {^key:\d+$} $name}
        assert_equal 1 [r EXISTS [lindex $names end]]
    }

    test "--pipe tells a terminal how much it has sent, and at Ctrl-C what was answered" {
        lassign [fake_server] port pid
        exec kill -STOP $pid
        set input [file join $srv::root cli-input]
        write_file $input [string repeat "PING\r\n" 6000000]
        at_terminal "-p $port --pipe" "<$input"
        terminal::shows "*%  * of 34.33M*"
        terminal::type <ctrl-c>
        terminal::shows "errors: 0, replies: 0"
        assert_equal 1 [exit_code]
        exec kill -CONT $pid
        exec kill $pid
        file delete $input
    }

    test "Ctrl-C ends --latency and --intrinsic-latency with what they have" {
        at_terminal --latency
        terminal::shows "min: * samples)"
        terminal::type <ctrl-c>
        assert_equal 0 [exit_code]
        at_terminal "--intrinsic-latency 1000"
        terminal::shows "*%  * of 1000 s*"
        terminal::type <ctrl-c>
        terminal::shows "*Max latency so far: * microseconds.*total runs*Worst run took *"
        assert_equal 0 [exit_code]
        assert_no_match "* of 1000 s*" [terminal::screen]
    }
}
terminal::stop
