# function_commands.tcl -- FUNCTION: libraries listed, dumped, restored, flushed, killed, and kept in files.
#
# SPDX-License-Identifier: BSD-3-Clause

set busy "BUSY Valkey is busy running a script. You can only call FUNCTION KILL or SHUTDOWN NOSAVE."
set killed "ERR Script killed by user with FUNCTION KILL. script: on @user_function:2."

proc library {body {name lib}} {
    return "#!lua name=$name\n$body"
}

proc returning {what {function f} {name lib}} {
    return [library "redis.register_function('$function', function() return $what end)" $name]
}

proc libraries {} {
    return [lsort [lmap library [r FUNCTION LIST] {dict get $library library_name}]]
}

# Waits until C runs a function that does not end.
proc wait_until_busy {} {
    wait_for_condition 10 {[catch {r PING} message] && [string match BUSY* $message]}
}

start_server {each {r FLUSHALL; r FUNCTION FLUSH}} {

    # ---- LIST and STATS ------------------------------------------------------------------------------------------

    test "FUNCTION LIST in RESP2 and RESP3" {
        set code [library "redis.register_function{function_name='f', callback=function() end, description='d', flags={'no-writes','allow-oom'}}"]
        r FUNCTION LOAD $code
        assert_equal "*1\r\n*6\r\n\$12\r\nlibrary_name\r\n\$3\r\nlib\r\n\$6\r\nengine\r\n\$3\r\nLUA\r\n\$9\r\nfunctions\r\n*1\r\n*6\r\n\$4\r\nname\r\n\$1\r\nf\r\n\$11\r\ndescription\r\n\$1\r\nd\r\n\$5\r\nflags\r\n*2\r\n+no-writes\r\n+allow-oom\r\n" \
            [[default_client] raw FUNCTION LIST]
        with_clients c {
            $c HELLO 3
            assert_equal "*1\r\n%4\r\n\$12\r\nlibrary_name\r\n\$3\r\nlib\r\n\$6\r\nengine\r\n\$3\r\nLUA\r\n\$9\r\nfunctions\r\n*1\r\n%3\r\n\$4\r\nname\r\n\$1\r\nf\r\n\$11\r\ndescription\r\n\$1\r\nd\r\n\$5\r\nflags\r\n~2\r\n+no-writes\r\n+allow-oom\r\n\$12\r\nlibrary_code\r\n\$[string length $code]\r\n$code\r\n" \
                [$c raw FUNCTION LIST WITHCODE]
        }
    }

    test "FUNCTION LIST by a pattern, and its errors" {
        foreach {name function} {lib f LIB2 g other h} {r FUNCTION LOAD [returning 1 $function $name]}
        assert_equal {LIB2 lib} [lsort [lmap l [r FUNCTION LIST LIBRARYNAME li*] {lindex $l 1}]]
        assert_equal {} [r FUNCTION LIST withcode LIBRARYNAME nosuch]
        assert_equal [returning 1 h other] [dict get [lindex [r FUNCTION LIST LIBRARYNAME OTHER WITHCODE] 0] library_code]
        assert_error "ERR Unknown argument withcode" {r FUNCTION LIST WITHCODE withcode}
        assert_error "ERR library name argument was not given" {r FUNCTION LIST LIBRARYNAME}
        assert_error "ERR Unknown argument LIBRARYNAME" {r FUNCTION LIST LIBRARYNAME a LIBRARYNAME b}
        assert_error "ERR Unknown argument xx" {r FUNCTION LIST xx}
    }

    test "FUNCTION STATS and INFO count" {
        assert_equal {running_script (nil) engines {LUA {libraries_count 0 functions_count 0}}} [r FUNCTION STATS]
        set empty [info_field used_memory_functions]
        r FUNCTION LOAD [library "redis.register_function('f', function() end) redis.register_function('g', function() end)"]
        r FUNCTION LOAD [returning 1 h two]
        assert_equal {running_script (nil) engines {LUA {libraries_count 2 functions_count 3}}} [r FUNCTION STATS]
        assert_equal {3 2} [list [info_field number_of_functions] [info_field number_of_libraries]]
        assert {[info_field used_memory_functions] > $empty}
        assert_equal [info_field used_memory_vm_total] [expr {[info_field used_memory_vm_eval] + [info_field used_memory_vm_functions]}]
        assert_equal [info_field used_memory_scripts] [expr {[info_field used_memory_scripts_eval] + [info_field used_memory_functions]}]
        r FUNCTION FLUSH
        assert_equal {0 0} [list [info_field number_of_functions] [info_field number_of_libraries]]
        assert_equal $empty [info_field used_memory_functions]
    }

    test "FUNCTION FLUSH and DELETE" {
        foreach words {{} SYNC sync ASYNC async} {
            r FUNCTION LOAD [returning 1]
            assert_equal OK [r FUNCTION FLUSH {*}$words]
            assert_equal {} [r FUNCTION LIST]
            assert_error "ERR Function not found" {r FCALL f 0}
        }
        assert_error "ERR FUNCTION FLUSH only supports SYNC|ASYNC option" {r FUNCTION FLUSH x}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'FLUSH'. Try FUNCTION HELP." {r FUNCTION FLUSH SYNC ASYNC}
        assert_error "ERR Library not found" {r FUNCTION DELETE lib}
        assert_error "ERR wrong number of arguments for 'function|delete' command" {r FUNCTION DELETE}
    }

    test "FUNCTION HELP" {
        assert_match "FUNCTION <subcommand>*" [lindex [r FUNCTION HELP] 0]
        assert {[llength [r FUNCTION HELP]] > 10}
    }

    test "Memory of what was flushed comes back" {
        r FUNCTION LOAD [returning 1]
        set before [info_field used_memory_vm_functions]
        for {set i 0} {$i < 200} {incr i} {
            r FUNCTION LOAD REPLACE [library "local t = {} for i = 1, 2000 do t\[i] = i end redis.register_function('f', function() return #t end)"]
            assert_equal 2000 [r FCALL f 0]
            if {$i % 20 == 0} {r FUNCTION FLUSH}
        }
        r FUNCTION FLUSH
        assert {[info_field used_memory_vm_functions] <= $before}
    }

    # ---- DUMP and RESTORE ----------------------------------------------------------------------------------------

    test "A dump is restored as its policy says" {
        r FUNCTION LOAD [returning 1]
        set dump [r FUNCTION DUMP]
        assert_error "ERR Library lib already exists" {r FUNCTION RESTORE $dump}
        assert_error "ERR Library lib already exists" {r FUNCTION RESTORE $dump append}
        r FUNCTION LOAD REPLACE [returning 2]
        assert_equal OK [r FUNCTION RESTORE $dump replace]
        assert_equal 1 [r FCALL f 0]
        r FUNCTION LOAD [returning 3 g other]
        assert_equal OK [r FUNCTION RESTORE $dump FLUSH]
        assert_equal {lib 1} [list [libraries] [r FCALL f 0]]
        r FUNCTION FLUSH
        r FUNCTION LOAD [returning 4 f other]
        assert_error "ERR Function f already exists" {r FUNCTION RESTORE $dump}
        assert_error "ERR Function f already exists" {r FUNCTION RESTORE $dump REPLACE}
        assert_equal {other 4} [list [libraries] [r FCALL f 0]]
    }

    test "A dump of several libraries is restored as a whole or not at all" {
        foreach {name function} {a f b g c h} {r FUNCTION LOAD [returning 1 $function $name]}
        set dump [r FUNCTION DUMP]
        r FUNCTION FLUSH
        r FUNCTION LOAD [returning 2 h other]
        assert_error "ERR Function h already exists" {r FUNCTION RESTORE $dump}
        assert_equal other [libraries]
        # The functions of a replaced library may be in another one.
        r FUNCTION FLUSH
        r FUNCTION LOAD [returning 2 f c]
        assert_error "ERR Library c already exists" {r FUNCTION RESTORE $dump}
        assert_equal OK [r FUNCTION RESTORE $dump REPLACE]
        assert_equal {{a b c} 1 1 1} [list [libraries] [r FCALL f 0] [r FCALL g 0] [r FCALL h 0]]
    }

    test "No libraries are a dump as well" {
        assert_equal 500092b195d1912dc52e [binary encode hex [r FUNCTION DUMP]]
        assert_equal OK [r FUNCTION RESTORE [binary decode hex 500092b195d1912dc52e]]
        r FUNCTION LOAD [returning 1]
        assert_equal OK [r FUNCTION RESTORE [binary decode hex 500092b195d1912dc52e] FLUSH]
        assert_equal {} [libraries]
    }

    test "A dump of another server" {
        # FUNCTION DUMP of Valkey 9.1.2: redis.register_function('f', function() return redis.call('get','x') end)
        set dump [binary decode base64 9cNAU0BYHyMhbHVhIG5hbWU9bGliCnJlZGlzLnJlZ2lzdGVyX2Z1C25jdGlvbignZicsIOAADQcpIHJldHVybiAGQC4TY2FsbCgnZ2V0JywneCcpIGVuZClQACZywX2qPQWV]
        assert_equal OK [r FUNCTION RESTORE $dump]
        assert_equal [library "redis.register_function('f', function() return redis.call('get','x') end)"] \
            [dict get [lindex [r FUNCTION LIST WITHCODE] 0] library_code]
        r SET x 5
        assert_equal 5 [r FCALL f 0]
    }

    test "What is no dump" {
        set error "ERR DUMP payload version or checksum are wrong"
        r FUNCTION LOAD [returning 1]
        set dump [r FUNCTION DUMP]
        assert_error $error {r FUNCTION RESTORE ""}
        assert_error $error {r FUNCTION RESTORE foo}
        assert_error $error {r FUNCTION RESTORE [string replace $dump 3 3 \xff]}
        assert_error $error {r FUNCTION RESTORE [string range $dump 0 end-1]}
        assert_error "ERR Wrong restore policy given, value should be either FLUSH, APPEND or REPLACE." {r FUNCTION RESTORE foo x}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'RESTORE'. Try FUNCTION HELP." {r FUNCTION RESTORE foo FLUSH x}
        assert_error "ERR wrong number of arguments for 'function|restore' command" {r FUNCTION RESTORE}
        assert_error "ERR wrong number of arguments for 'function|dump' command" {r FUNCTION DUMP x}
        r SET x 1
        assert_error "ERR given type is not a function" {r FUNCTION RESTORE [r DUMP x]}
        assert_equal lib [libraries]
    }

    # ---- Long ones -----------------------------------------------------------------------------------------------

    test "While a function runs for long others get BUSY, until FUNCTION KILL" {
        r FUNCTION LOAD [returning "(function() while true do end end)()"]
        with_config {busy-reply-threshold 10} {
            with_clients c {
                $c send FCALL f 1 a b
                wait_until_busy
                assert_error $busy {r PING}
                assert_error $busy {r FUNCTION LIST}
                assert_error $busy {r SCRIPT KILL}
                assert_error "ERR wrong number of arguments for 'function|kill' command" {r FUNCTION KILL x}
                set stats [dict get [r FUNCTION STATS] running_script]
                assert_equal {name f command {FCALL f 1 a b}} [lrange $stats 0 3]
                assert {[dict get $stats duration_ms] >= 10}
                assert_equal OK [r FUNCTION KILL]
                assert_error $killed {$c reply}
                assert_error "NOTBUSY No scripts in execution right now." {r FUNCTION KILL}
            }
        }
    }

    test "No pcall outlives FUNCTION KILL" {
        r FUNCTION LOAD [library "redis.register_function('f', function() while true do pcall(function() while true do end end) end end)"]
        with_config {busy-reply-threshold 10} {
            with_clients c {
                $c send FCALL f 0
                wait_until_busy
                assert_equal OK [r FUNCTION KILL]
                assert_error $killed {$c reply}
            }
        }
    }

    test "FUNCTION KILL and STATS are not for a script" {
        set error "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
        with_config {busy-reply-threshold 10} {
            with_clients c {
                $c send EVAL "while true do end" 0
                wait_until_busy
                assert_error $error {r FUNCTION KILL}
                assert_error $error {r FUNCTION STATS}
                assert_equal OK [r SCRIPT KILL]
                assert_error "ERR Script killed by user with SCRIPT KILL.*" {$c reply}
            }
        }
    }

    test "A function that has written is not killed" {
        r FUNCTION LOAD [library "redis.register_function('f', function(keys) redis.call('set', keys\[1], 1) local to = os.clock() + 1 while os.clock() < to do end return 'done' end)"]
        with_config {busy-reply-threshold 10} {
            with_clients c {
                $c send FCALL f 1 k
                wait_until_busy
                assert_error "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command." \
                    {r FUNCTION KILL}
                assert_equal done [$c reply]
                assert_equal 1 [r GET k]
            }
        }
    }
}

# ---- Files ----------------------------------------------------------------------------------------------------------

start_server {tags own-files} {
    test "Libraries stay in a snapshot, and over DEBUG RELOAD" {
        r FUNCTION LOAD [library "local n = 7 redis.register_function{function_name='f', callback=function() n = n + 1 return n end, flags={'no-writes'}}"]
        r FUNCTION LOAD [returning 1 g two]
        assert_equal 8 [r FCALL f 0]
        set list [lsort [r FUNCTION LIST WITHCODE]]
        assert_equal OK [r DEBUG RELOAD]
        assert_equal $list [lsort [r FUNCTION LIST WITHCODE]]
        assert_equal {8 1} [list [r FCALL f 0] [r FCALL g 0]]
        assert {[info_field rdb_changes_since_last_save] == 0}
        r FUNCTION DELETE two
        assert_equal 1 [info_field rdb_changes_since_last_save]
        assert_equal OK [r SAVE]
        restart_server
        assert_equal {8 lib} [list [r FCALL_RO f 0] [libraries]]
    }
}

foreach preamble {yes no} {
    start_server [list tags own-files overrides [list appendonly yes aof-use-rdb-preamble $preamble]] {
        test "The append-only file has what changes libraries (aof-use-rdb-preamble $preamble)" {
            r FUNCTION LOAD [returning 1]
            r FUNCTION LOAD [returning 2 g two]
            set dump [r FUNCTION DUMP]
            r FUNCTION FLUSH
            r FUNCTION RESTORE $dump
            r FUNCTION LOAD REPLACE [returning 3]
            r FUNCTION DELETE two
            catch {r FUNCTION LOAD nothing}
            restart_server
            assert_equal {lib 3} [list [libraries] [r FCALL f 0]]
        }

        test "Its rewrite has libraries (aof-use-rdb-preamble $preamble)" {
            r FUNCTION LOAD [returning 4 h three]
            r SET k v
            r BGREWRITEAOF
            wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0 && [info_field aof_last_bgrewrite_status] eq "ok"}
            r FUNCTION LOAD [returning 5 i four]
            restart_server
            assert_equal {{four lib three} 3 4 5 v} [list [libraries] [r FCALL f 0] [r FCALL h 0] [r FCALL i 0] [r GET k]]
        }
    }
}

start_server {tags own-files overrides {appendonly yes}} {
    test "What a function writes is in the log, and the call is not" {
        r FUNCTION LOAD [library "redis.register_function('f', function(keys) redis.call('set', keys\[1], 1) redis.call('incr', keys\[1]) end)"]
        r FCALL f 1 k
        r FUNCTION FLUSH
        restart_server
        assert_equal 2 [r GET k]
        set log [read_file [lindex [glob [srv dir]/appendonlydir/*.incr.aof] 0]]
        assert_match "*FUNCTION*LOAD*MULTI*set*incr*EXEC*FUNCTION*FLUSH*" $log
        assert_no_match "*FCALL*" $log
    }
}
