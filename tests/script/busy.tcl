# busy.tcl -- a script that takes longer than busy-reply-threshold: the commands allowed meanwhile, and how it is
# killed.
#
# SPDX-License-Identifier: BSD-3-Clause

set busy "BUSY Valkey is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE."
set unkillable "UNKILLABLE Sorry the script already executed write commands against the dataset. You can either wait\
    the script termination or kill the server in a hard way using the SHUTDOWN NOSAVE command."
set killed "ERR Script killed by user with SCRIPT KILL. script: on @user_script:1."
set endless "while true do end"

# Waits until the default connection gets the error that the server is busy.
proc await_busy {} {
    wait_for_condition 10 {[catch {r PING} error] && $error eq $::busy}
}

# Ends a script that an earlier test may have left.
proc end_script {} {
    catch {r SCRIPT KILL}
    wait_for_condition 10 {![catch {r PING}]}
}

# Runs BODY while another connection runs SCRIPT, then kills the script.
proc while_busy {script body} {
    with_clients runner {
        $runner send EVAL $script 0
        set code [catch {
            await_busy
            uplevel 1 $body
        } message options]
        end_script
    }
    return -options $options $message
}

start_server {overrides {busy-reply-threshold 10} each {end_script; r FLUSHALL}} {

    # ---- While it runs ------------------------------------------------------------------------------------------

    test "Others are told that the server is busy" {
        while_busy $endless {
            foreach command {PING {GET k} {SET k v} {INFO} {CONFIG GET port} {CLIENT LIST} {EVAL "return 1" 0}
                {SCRIPT EXISTS x} {SCRIPT FLUSH} {SCRIPT LOAD x} {SHUTDOWN} {SHUTDOWN SAVE} {SUBSCRIBE c}} {
                assert_error $busy {r {*}$command}
            }
        }
    }

    test "What is no command, or has wrong words, is told so" {
        while_busy $endless {
            assert_error "ERR unknown command 'nosuch', with args beginning with: " {r nosuch}
            assert_error "ERR wrong number of arguments for 'get' command" {r GET}
            assert_error "ERR wrong number of arguments for 'script|kill' command" {r SCRIPT KILL x}
        }
    }

    test "What a connection says of itself is answered" {
        while_busy $endless {
            with_clients c {
                assert_match "*proto 3*" [$c HELLO 3]
                assert_match "*proto 2*" [$c HELLO 2]
                assert_error "ERR AUTH <password> called without any password*" {$c AUTH x}
                assert_equal OK [$c SELECT 1]
                assert {[$c CLIENT ID] > 0}
                assert_equal OK [$c CLIENT SETNAME name]
                assert_equal OK [$c CLIENT REPLY ON]
                assert_equal OK [$c UNWATCH]
                assert_equal RESET [$c RESET]
                assert_equal OK [$c QUIT]
            }
        }
    }

    test "Every command without the flag allow_busy is refused, and none of the others" {
        set table {}
        foreach row [r COMMAND] {
            foreach line [expr {[llength [lindex $row 9]] ? [lindex $row 9] : [list $row]}] {
                set words [split [lindex $line 0] |]
                while {[llength $words] < abs([lindex $line 1])} {lappend words x}
                lappend table $words [lindex $line 2]
            }
        }
        set odd {}
        while_busy $endless {
            foreach {words flags} $table {
                # These end the connection, the script or the server, return EXECABORT, or are tested separately.
                if {[lindex $words 0] in {quit shutdown module exec} || [lindex $words 1] in {kill stats}} continue
                with_clients c {
                    catch {$c {*}$words} reply
                    if {($reply eq $busy) == ("allow_busy" in $flags)} {lappend odd $words}
                }
            }
        }
        assert_equal {} $odd
    }

    test "Transactions: what is queued before stays out, EXEC fails and ends it" {
        with_clients {before during} {
            $before MULTI
            $before SET k v
            while_busy $endless {
                assert_error $busy {$before SET k w}
                assert_error "ERR Command 'multi' not allowed inside a transaction" {$before MULTI}
                assert_error "EXECABORT Transaction discarded because of: $busy" {$before EXEC}
                assert_error "ERR DISCARD without MULTI" {$before DISCARD}
                assert_equal OK [$during MULTI]
                assert_error $busy {$during SET k v}
                assert_equal OK [$during DISCARD]
                assert_equal OK [$during MULTI]
                assert_error "EXECABORT Transaction discarded because of: $busy" {$during EXEC}
            }
            assert_equal PONG [$before PING]
            assert_equal PONG [$during PING]
            assert_equal 0 [r EXISTS k]
        }
    }

    test "A transaction with a command that was refused does not run when the server is free again" {
        with_clients c {
            $c MULTI
            $c SET k v
            while_busy $endless {
                assert_error $busy {$c SET l v}
            }
            assert_equal QUEUED [$c SET m v]
            assert_error "EXECABORT Transaction discarded because of previous errors." {$c EXEC}
            assert_equal 0 [r DBSIZE]
        }
    }

    test "MULTI while the server is busy, EXEC when it is not" {
        with_clients c {
            while_busy $endless {
                $c MULTI
            }
            assert_equal QUEUED [$c SET k v]
            assert_equal OK [$c EXEC]
        }
    }

    test "New connections are served, a pipeline is refused command by command, in order" {
        while_busy $endless {
            with_clients c {
                $c pipeline {PING {GET k} {CLIENT SETNAME x} nosuch {ECHO x}}
                assert_equal [list "(error) $busy" "(error) $busy" OK \
                    "(error) ERR unknown command 'nosuch', with args beginning with: " "(error) $busy"] [$c replies 5]
            }
        }
    }

    test "The caller's own next commands wait" {
        with_clients c {
            $c pipeline [list [list EVAL $endless 0] PING {SET k v}]
            await_busy
            assert [$c silent_for 50]
            r SCRIPT KILL
            assert_equal [list "(error) $killed" PONG OK] [$c replies 3]
        }
    }

    test "A client that waits for a key goes on waiting" {
        with_clients c {
            waits $c BLPOP list 0
            while_busy $endless {
                assert [$c silent_for 50]
            }
            r RPUSH list x
            assert_equal {list x} [$c reply]
        }
    }

    # ---- Its end ------------------------------------------------------------------------------------------------

    foreach {title script} {
        "An endless loop" "while true do end"
        "One that reads keys" "while true do redis.call('get', 'k') end"
        "One that catches errors of calls" "while true do redis.pcall('get', 'k') end"
        "One in pcall" "while true do pcall(function() while true do end end) end"
        "One of calls in pcall" "while true do pcall(redis.call, 'get', 'k') end"
        "One in a coroutine" "coroutine.wrap(function() while true do end end)()"
        "One in coroutine after coroutine"
            "while true do coroutine.resume(coroutine.create(function() while true do end end)) end"
        "One in a comparison" "local t = {} for i = 1, 1000 do t\[i\] = i end while true do table.sort(t,\
            function(a, b) return a < b end) end"
        "One in a replacement" "while true do string.gsub(string.rep('x', 1000), '.', function() end) end"
        "One in a metamethod" "local t = setmetatable({}, {__index = function() while true do end end}) return t.x"
        "One of recursion" "local function f() while true do pcall(f) end end f()"
    } {
        test "SCRIPT KILL ends it: [string tolower $title 0 0]" {
            with_clients c {
                $c send EVAL $script 0
                await_busy
                assert_equal OK [r SCRIPT KILL]
                assert_error $killed {$c reply}
                assert_error "NOTBUSY No scripts in execution right now." {r SCRIPT KILL}
                assert_equal PONG [$c PING]
            }
        }
    }

    foreach command {EVAL EVAL_RO EVALSHA EVALSHA_RO} {
        test "SCRIPT KILL ends $command" {
            with_clients c {
                $c send $command [expr {[string match *SHA* $command] ? [r SCRIPT LOAD $endless] : $endless}] 0
                await_busy
                assert_equal OK [r SCRIPT KILL]
                assert_error $killed {$c reply}
            }
        }
    }

    test "SCRIPT KILL ends the script of a transaction, which goes on" {
        with_clients c {
            $c pipeline [list MULTI {GET k} [list EVAL $endless 0] {SET k v} EXEC]
            await_busy
            assert_equal OK [r SCRIPT KILL]
            assert_equal [list (nil) "(error) $killed" OK] [lindex [$c replies 5] 4]
        }
    }

    test "In a transaction a write that came before does not make the script unkillable" {
        with_clients c {
            $c pipeline [list MULTI {SET k v} [list EVAL $endless 0] EXEC]
            await_busy
            assert_equal OK [r SCRIPT KILL]
            assert_equal [list OK "(error) $killed"] [lindex [$c replies 4] 3]
        }
    }

    test "A script that was killed may run again" {
        with_clients c {
            foreach i {1 2} {
                $c send EVAL {while #ARGV == 0 do end return 'done'} 0
                await_busy
                r SCRIPT KILL
                assert_error $killed {$c reply}
                assert_equal done [$c EVAL {while #ARGV == 0 do end return 'done'} 0 x]
            }
        }
    }

    test "SCRIPT KILL before the threshold ends nothing that has ended by itself" {
        assert_equal 1 [r EVAL "return 1" 0]
        assert_error "NOTBUSY No scripts in execution right now." {r SCRIPT KILL}
    }

    test "A client that goes while its script runs: the script runs on, and can be killed" {
        with_clients c {
            $c send EVAL $endless 0
            await_busy
        }
        assert_error $busy {r PING}
        assert_equal OK [r SCRIPT KILL]
        wait_for_condition 10 {![catch {r PING}]}
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
    }

    test "A slow script that is left alone ends, with its reply" {
        assert_equal done [r EVAL {local begin = os.clock() repeat until os.clock() - begin > 0.1 return 'done'} 0]
        assert_equal v [r EVAL {
            redis.call('set', 'k', 'v')
            local begin = os.clock()
            repeat until os.clock() - begin > 0.1
            return redis.call('get', 'k')
        } 0]
    }

    test "A script that is slow is said in the log" {
        while_busy $endless {}
        assert_regexp {(?i)script [^\n]* \d+ (ms|milliseconds)} [srv log]
    }

    # ---- Settings -----------------------------------------------------------------------------------------------

    test "lua-time-limit is another name of busy-reply-threshold" {
        with_config {lua-time-limit 77} {
            assert_equal {77 77} [list [config_value lua-time-limit] [config_value busy-reply-threshold]]
        }
        assert_equal 10 [config_value lua-time-limit]
    }

    test "Threshold 0: nobody is told, they wait" {
        with_config {busy-reply-threshold 0} {
            with_clients {c other} {
                $c send EVAL {local begin = os.clock() repeat until os.clock() - begin > 0.2 return 'done'} 0
                $other send PING
                assert_equal PONG [$other reply]
                assert_equal done [$c reply]
            }
        }
    }

    test "A threshold that is not" {
        assert_error "ERR CONFIG SET failed*argument must be between 0 and 9223372036854775807 inclusive" \
            {r CONFIG SET busy-reply-threshold -1}
    }
}

# A script that has written, and does not end.
start_server {overrides {busy-reply-threshold 10} tags own-files} {
    test "A script that has written cannot be killed, SHUTDOWN NOSAVE ends it with the server" {
        with_clients {c other} {
            $c send EVAL {redis.call('set', 'k', 'v') while true do end} 0
            await_busy
            assert_error $unkillable {r SCRIPT KILL}
            assert_error $busy {r GET k}
            assert_error $busy {r SHUTDOWN}
            assert_error $busy {r SHUTDOWN SAVE}
            $other send SHUTDOWN NOSAVE
            assert [$other closed_within 10000]
            assert_equal 0 [wait_exit [srv dir] 10]
        }
    }
}

# A script that has only read.
start_server {overrides {busy-reply-threshold 10} tags own-files} {
    test "SHUTDOWN NOSAVE ends a script that has not written, too" {
        with_clients {c other} {
            $c send EVAL $endless 0
            await_busy
            $other send SHUTDOWN NOSAVE
            assert [$other closed_within 10000]
            assert_equal 0 [wait_exit [srv dir] 10]
        }
    }
}
