# cli_debugger.tcl -- valkey-cli --ldb: debugging a script with lines of stdin.
#
# The program in the folder of the server binary is tested.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]

# Debugs SCRIPT with the commands of INPUT. Returns {EXIT-CODE STDOUT}.
proc debug {script input args} {
    set file [file join $srv::root script.lua]
    set in [file join $srv::root cli-stdin]
    write_file $file $script
    write_file $in $input
    set code 0
    if {[catch {exec timeout 20 $::cli -p [srv port] --eval $file {*}$args <$in 2>@1} out options]} {
        set code [lindex [dict get $options -errorcode] 2]
    }
    return [list $code $out]
}

start_server {each {r FLUSHALL}} {
    if {![file executable $cli]} {
        test "valkey-cli is there" {skip "no $cli"}
        return
    }

    test "Each line is a command of the debugger" {
        lassign [debug "local a = 41\na = a + 1\nreturn a" "s\np a\n\neval 1 + 'x'..2\nc\n" --ldb] code out
        assert_equal 0 $code
        assert_match "*-> 1   local a = 41*-> 2   a = a + 1*<value> 41*(integer) 42*" $out
        assert_match "*<error> ldb_eval:1: attempt to perform arithmetic*" $out
    }

    test "Keys and arguments stand after --eval" {
        lassign [debug "local a = 1\nreturn a" "p KEYS\np ARGV\nc\n" --ldb k1 k2 , v] code out
        assert_match "*<value> {k1; k2; }*<value> {v; }*" $out
    }

    test "What the script changes is taken back" {
        debug "redis.call('set', 'k', 1)\nreturn 1" "c\n" --ldb
        assert_equal 0 [r EXISTS k]
    }

    test "In sync mode it stays" {
        debug "redis.call('set', 'k', 1)\nreturn 1" "c\n" --ldb-sync-mode
        assert_equal 1 [r GET k]
    }

    test "restart begins again, quit ends" {
        lassign [debug "local a = 1\nreturn a" "s\nrestart\nquit\n" --ldb] code out
        assert_equal 0 $code
        assert_equal 2 [regexp -all {Stopped at 1,} $out]
        assert_equal 1 [regexp -all {Stopped at 2,} $out]
    }

    test "The end of input ends it" {
        assert_equal 0 [lindex [debug "local a = 1\nreturn a" "" --ldb] 0]
        assert_equal PONG [r PING]
    }

    test "An error of the script is shown" {
        lassign [debug "local a = 1\nerror('boom')" "c\n" --ldb] code out
        assert_match "*(error) ERR user_script:2: boom*" $out
    }

    test "--ldb without a script makes no sense" {
        assert_equal 1 [catch {exec $cli -p [srv port] --ldb PING 2>@1} out]
        assert_match "*--eval*" $out
    }
}
