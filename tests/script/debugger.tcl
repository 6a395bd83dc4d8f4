# debugger.tcl -- SCRIPT DEBUG: a script that its client runs line by line.
#
# The output for each command is an array of simple strings; after <endsession> the reply of EVAL follows, and then the
# end of the connection.
#
# SPDX-License-Identifier: BSD-3-Clause

# Runs BODY with a connection `d`, whose EVAL of SCRIPT has started the debugger; `said` has its first output.
proc debugging {mode script body {keys {}} {arguments {}}} {
    uplevel 1 {with_clients d} [list "
        assert_equal OK \[\$d SCRIPT DEBUG $mode\]
        set said \[\$d EVAL [list $script] [llength $keys] $keys $arguments\]
        $body
    "]
}

# Returns the line at which the debugger has stopped, from its output.
proc stop_of {said} {
    foreach line $said {
        if {[regexp {^\* Stopped at (\d+), stop reason = (.*)$} $line - number reason]} {
            return [list $number $reason]
        }
    }
    return $said
}

# Returns the last output of the debugger, and the reply or error of EVAL.
proc last_words {d said} {
    assert_equal <endsession> [lindex $said end]
    set failed [catch {$d reply} reply]
    assert {[$d closed_within 5000]}
    return [list $failed $reply]
}

# Returns the child processes of the server that have not ended.
proc children {} {
    set count 0
    foreach stat [glob -nocomplain /proc/\[0-9\]*/stat] {
        if {![catch {read_file $stat} text] && [regexp {\) (\S) (\d+) } $text - state parent]} {
            incr count [expr {$parent == [srv pid] && $state ne "Z"}]
        }
    }
    return $count
}

set five "local a = 1
local b = 2
local c = a + b

return c"

start_server {each {r FLUSHALL}} {

    # ---- SCRIPT DEBUG -------------------------------------------------------------------------------------------

    test "A mode is yes, sync or no, in any case, of the one engine" {
        foreach words {{YES} {sync} {no} {yes lua} {Sync LUA} {NO}} {
            assert_equal OK [r SCRIPT DEBUG {*}$words]
        }
        assert_error "ERR Use SCRIPT DEBUG YES/SYNC/NO" {r SCRIPT DEBUG x}
        assert_error "ERR No scripting engine found with name 'perl' to enable debug" {r SCRIPT DEBUG yes perl}
        assert_error "ERR wrong number of arguments for 'script|debug' command" {r SCRIPT DEBUG}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'DEBUG'. Try SCRIPT HELP." {
            r SCRIPT DEBUG yes lua x
        }
    }

    test "It is refused within a pipeline, a transaction and a script" {
        with_clients c {
            $c pipeline {PING {SCRIPT DEBUG YES}}
            assert_equal PONG [$c reply]
            assert_error "ERR SCRIPT DEBUG must be called outside a pipeline" {$c reply}
            $c MULTI
            $c SCRIPT DEBUG YES
            assert_match "*ERR SCRIPT DEBUG must be called outside a pipeline*" [catch {$c EXEC} e]$e
            assert_error "ERR This Valkey command is not allowed from script*" {
                $c EVAL "return redis.call('script', 'debug', 'no')" 0
            }
        }
    }

    test "EVALSHA is not debugged" {
        set sha [r SCRIPT LOAD "return 1"]
        with_clients c {
            $c SCRIPT DEBUG YES
            assert_error "ERR Please use EVAL instead of EVALSHA for debugging" {$c EVALSHA $sha 0}
            $c SCRIPT DEBUG NO
            assert_equal 1 [$c EVALSHA $sha 0]
        }
    }

    test "Without a session nothing stops, and nothing is shown" {
        assert_equal (nil) [r EVAL "return redis.breakpoint()" 0]
        assert_equal (nil) [r EVAL "return redis.debug(1)" 0]
    }

    # ---- Line by line -------------------------------------------------------------------------------------------

    test "It stops before the first line; each step is a line" {
        debugging YES $::five {
            assert_equal {{* Stopped at 1, stop reason = step over} {-> 1   local a = 1}} $said
            assert_equal {{* Stopped at 2, stop reason = step over} {-> 2   local b = 2}} [$d step]
            assert_equal {3 {step over}} [stop_of [$d s]]
            assert_equal {5 {step over}} [stop_of [$d next]]
            assert_equal {0 3} [last_words $d [$d n]]
        }
    }

    test "continue runs to the end" {
        debugging YES $::five {
            assert_equal {0 3} [last_words $d [$d continue]]
        }
    }

    test "continue runs to a breakpoint, again and again" {
        debugging YES "local sum = 0\nfor i = 1, 2 do\n  sum = sum + i\nend\nreturn sum" {
            assert_equal {{   2   for i = 1, 2 do} {  #3     sum = sum + i} {   4   end}} [$d break 3]
            assert_equal {{* Stopped at 3, stop reason = break point} {->#3     sum = sum + i}} [$d c]
            assert_equal {{<value> 1}} [$d print i]
            assert_equal {3 {break point}} [stop_of [$d c]]
            assert_equal {{<value> 2}} [$d p i]
            assert_equal {0 3} [last_words $d [$d c]]
        }
    }

    test "Breakpoints are set, shown and removed" {
        debugging YES $::five {
            assert_equal {{No breakpoints set. Use 'b <line>' to add one.}} [$d b]
            $d b 5
            $d b 2
            assert_equal {{2 breakpoints set:} {  #5   return c} {  #2   local b = 2}} [$d break]
            assert_equal {{Breakpoint removed.}} [$d b -5]
            assert_equal {{No breakpoint in the specified line.}} [$d b -5]
            assert_equal {{All breakpoints removed.}} [$d b 0]
            assert_equal {{Wrong line number.}} [$d b 6]
            assert_equal {{Invalid argument:'x'}} [$d b x]
            assert_equal {0 3} [last_words $d [$d c]]
        }
    }

    test "There are 64 breakpoints at most" {
        set lines [lmap i [lrepeat 70 x] {string cat "local a = 1"}]
        debugging YES [join $lines \n] {
            for {set i 1} {$i <= 64} {incr i} {$d b $i}
            assert_equal {{Too many breakpoints set.}} [$d b 65]
        }
    }

    test "A script stops itself by redis.breakpoint()" {
        debugging YES "local a = redis.breakpoint()\nlocal b = 1\nreturn a" {
            assert_equal {2 {server.breakpoint() called}} [stop_of [$d c]]
            assert_equal {{<value> a = true}} [$d p]
            assert_equal {0 1} [last_words $d [$d c]]
        }
    }

    test "redis.debug() shows values with the next stop" {
        debugging YES "redis.debug('a', 1, {2, x = true}, nil)\nlocal b = 1\nreturn b" {
            assert_equal "<debug> line 1: a, 1, {\[1\]=2; \[x\]=true; }, nil" [lindex [$d s] 0]
            assert_equal {0 1} [last_words $d [$d c]]
        }
    }

    test "A script that does not compile ends at once" {
        debugging YES "local a = = 1" {
            assert_match {1 {ERR Error compiling script*}} [last_words $d $said]
        }
    }

    # ---- Printing -----------------------------------------------------------------------------------------------

    test "list shows lines around one, whole shows all" {
        debugging YES [join [lmap i {1 2 3 4 5 6 7 8 9 10 11 12 13} {string cat "local v$i = $i"}] \n] {
            assert_equal {{-> 1   local v1 = 1} {   2   local v2 = 2} {   3   local v3 = 3}} [lrange [$d l] 0 2]
            assert_equal 6 [llength [$d list]]
            assert_equal {{   9   local v9 = 9} {   10  local v10 = 10} {   11  local v11 = 11}} [$d l 10 1]
            assert_equal 11 [llength [$d l 7]]
            assert_equal {} [$d l 100]
            assert_equal 13 [llength [$d w]]
            assert_equal 13 [llength [$d whole]]
        }
    }

    test "print shows all locals, or one" {
        debugging YES "local a, b = 'text', {1, 'two', {x = false}}\nlocal f = nil\nreturn a" {
            assert_equal {{No local variables in the current context.}} [$d p]
            $d s
            assert_equal {{<value> a = text} {<value> b = {1; two; {[x]=false; }; }}} [$d p]
            assert_equal {{<value> text}} [$d print a]
            assert_equal {{<value> {k1; k2; }}} [$d p KEYS]
            assert_equal {{<value> {v; }}} [$d p ARGV]
            assert_equal {{No such variable.}} [$d p nosuch]
            $d s
            assert_match {<value> f = nil} [lindex [$d p] 2]
        } {k1 k2} v
    }

    test "print finds variables of the callers, and of the functions around" {
        debugging YES "local outer = 7
local function f(x)
  local y = x
  return y + outer
end
local z = f(1)
return z" {
            $d b 4
            $d c
            assert_equal {{<value> x = 1} {<value> y = 1}} [$d p]
            assert_equal {{<value> 7}} [$d p outer]
            assert_equal {{In f:} {->#4     return y + outer} {From top level:} {   6   local z = f(1)}} [$d trace]
            assert_equal {0 8} [last_words $d [$d c]]
        }
    }

    test "A table that contains itself is shown to some depth" {
        debugging YES "local t = {}\nt.t = t\nreturn 1" {
            $d s
            $d s
            assert_match {*max recursion level reached*} [$d p t]
        }
    }

    test "A table that contains itself many times is shown to some length" {
        debugging YES "local t = {}\nfor i = 1, 50 do t\[i\] = t end\nredis.breakpoint()\nreturn 1" {
            $d maxlen 0
            $d c
            assert {[string length [$d p t]] < 3000000}
        }
    }

    test "Long values are cut, and maxlen says where" {
        debugging YES "local s = string.rep('x', 300)\nreturn 1" {
            $d s
            set said [$d p s]
            assert_equal "<value> [string repeat x 248] ..." [lindex $said 0]
            assert_match <hint>* [lindex $said 1]
            assert_equal 1 [llength [$d p s]]
            assert_equal {{Current maxlen is 256}} [$d maxlen]
            assert_equal {{<value> replies are truncated at 60 bytes.}} [$d maxlen 10]
            assert_equal "{<value> [string repeat x 52] ...}" [$d p s]
            assert_equal {{<value> replies are not truncated.}} [$d max 0]
            assert_equal "{<value> [string repeat x 300]}" [$d p s]
            assert_equal {{<error> Invalid maxlen value.}} [$d max x]
        }
    }

    test "help lists the commands" {
        debugging YES $::five {
            assert {[llength [$d help]] > 10}
            assert {[llength [$d h]] > 10}
        }
    }

    test "What is no command is told so" {
        debugging YES $::five {
            foreach words {nosuch {s x} {p a b} {b 1 2} {w x} e r {a x} {l 1 2 3}} {
                assert_equal {{<error> Unknown debugger command or wrong number of arguments.}} [$d {*}$words]
            }
        }
    }

    # ---- Commands meanwhile -------------------------------------------------------------------------------------

    test "eval runs an expression or statements" {
        debugging YES $::five {
            assert_equal {{<retval> 3}} [$d eval "1+2"]
            assert_equal {{<retval> 3}} [$d e 1 + 2]
            assert_equal {{<retval> {1; 2; }}} [$d e "return {1,2}"]
            assert_equal {{<retval> nil}} [$d e "local x = 1"]
            assert_match {{<error> ldb_eval:1: boom}} [$d e "error('boom')"]
            assert_match {{Error compiling code: *}} [$d e "one two"]
            assert_match {*nonexistent global variable 'a'*} [$d e a]
            assert_equal {0 3} [last_words $d [$d c]]
        }
    }

    test "redis runs a command" {
        debugging YES $::five {
            assert_equal {{<command> set k v} {<reply> "+OK"}} [$d redis set k v]
            assert_equal {{<command> get k} {<reply> "v"}} [$d r get k]
            assert_equal {{<command> rpush l a b} {<reply> 2}} [$d server rpush l a b]
            assert_equal {{<command> lrange l 0 -1} {<reply> ["a","b"]}} [$d valkey lrange l 0 -1]
            assert_equal {{<command> get x} {<reply> NULL}} [$d v get x]
            assert_match {*<reply> "-WRONGTYPE *<error> -WRONGTYPE*} [$d r incr l]
            assert_match {*<error> *not allowed from script*} [$d r multi]
        }
    }

    test "Replies of RESP3 are shown as such" {
        debugging YES "redis.setresp(3)\nredis.call('hset', 'h', 'f', 'v')\nredis.call('zadd', 'z', 1.5, 'm')\nreturn 1" {
            $d s
            $d s
            $d s
            assert_equal {<reply> {"f" => "v"}} [lindex [$d r hgetall h] 1]
            assert_equal {<reply> (double) 1.5} [lindex [$d r zscore z m] 1]
            assert_equal {<reply> (null)} [lindex [$d r get nosuch] 1]
        }
    }

    test "A step over a command shows it and its reply" {
        debugging YES "redis.call('set', KEYS\[1\], 5)\nlocal v = redis.call('get', KEYS\[1\])\nreturn v" {
            assert_equal {{<command> set k 5} {<reply> "+OK"}} [lrange [$d s] 0 1]
            assert_equal {{<command> get k} {<reply> "5"}} [lrange [$d s] 0 1]
            assert_equal {0 5} [last_words $d [$d s]]
        } k
    }

    # ---- Its end ------------------------------------------------------------------------------------------------

    test "abort ends the script, whatever it catches" {
        debugging YES "local ok = pcall(function()\n  local a = 1\n  return a\nend)\nreturn ok" {
            $d b 2
            $d c
            assert_match {1 {ERR script aborted for user request*}} [last_words $d [$d abort]]
        }
    }

    test "An error of the script ends the session" {
        debugging YES "local a = 1\nerror('boom')" {
            assert_equal {1 {ERR user_script:2: boom script: on @user_script:2.}} [last_words $d [$d c]]
        }
    }

    foreach bytes {"step\r\n" "*1\r\nxx\r\n" "*0\r\n" "*1\r\n\$-1\r\n" "*1\r\n\$0\r\n\r\n" "*99999999\r\n\$1\r\n"} {
        test "Nonsense ends the session ([string map {\r\n { }} $bytes])" {
            debugging YES $::five {
                $d write $bytes
                assert_match {1 {ERR protocol error*}} [last_words $d [$d reply]]
            }
        }
    }

    test "A loop without an end stops by itself" {
        with_config {busy-reply-threshold 100} {
            debugging YES "local i = 0\nwhile true do i = i + 1 end" {
                assert_equal {2 {timeout reached, infinite loop?}} [stop_of [$d c]]
                assert_match {1 {ERR script aborted*}} [last_words $d [$d a]]
            }
        }
    }

    # ---- Processes ----------------------------------------------------------------------------------------------

    test "What a session changes is gone with it" {
        r SET k before
        debugging YES "redis.call('set', 'k', 'after')\nreturn redis.call('get', 'k')" {
            $d s
            assert_equal before [r GET k]
            assert_equal {0 after} [last_words $d [$d c]]
        }
        assert_equal before [r GET k]
    }

    test "Meanwhile others are served, and write" {
        debugging YES "local v = redis.call('get', 'k')\nreturn v" {
            r SET k new
            for {set i 0} {$i < 2000} {incr i} {lappend pairs key:$i $i}
            r MSET {*}$pairs
            assert_equal {0 (nil)} [last_words $d [$d c]]
        }
        assert_equal new [r GET k]
    }

    test "A synchronous session keeps what it changes, abort or not" {
        debugging SYNC "redis.call('set', 'k', 1)\nlocal a = 1\nreturn a" {
            $d s
            assert_equal {0 1} [last_words $d [$d c]]
        }
        assert_equal 1 [r GET k]
        debugging SYNC "redis.call('set', 'k', 2)\nlocal a = 1\nreturn a" {
            $d s
            assert_match {1 {ERR script aborted*}} [last_words $d [$d a]]
        }
        assert_equal 2 [r GET k]
    }

    test "A script whose client has gone in a synchronous session runs on" {
        debugging SYNC "redis.call('set', 'k', 1)\nredis.call('set', 'k', 2)\nreturn 1" {
            $d s
        }
        assert_equal 2 [r GET k]
        assert_equal 1 [r EVAL "return 1" 0]
    }

    test "A script whose client has gone in a child goes with it" {
        for {set i 0} {$i < 5} {incr i} {
            debugging YES "while true do redis.call('incr', 'k') end" {
                $d s
            }
        }
        wait_for_condition 10 {[children] == 0}
        assert_equal 0 [r EXISTS k]
    }

    test "Several sessions at once" {
        with_clients {a b} {
            foreach c {a b} {
                [set $c] SCRIPT DEBUG YES
                [set $c] EVAL "local me = ARGV\[1\]\nreturn me" 0 $c
            }
            $a s
            $b s
            assert_equal {{<value> a}} [$a p me]
            assert_equal {{<value> b}} [$b p me]
            assert_equal {0 b} [last_words $b [$b c]]
            assert_equal {0 a} [last_words $a [$a c]]
        }
    }

    test "A session begins although the reply before it is on its way" {
        foreach mode {YES SYNC} {
            with_clients d {
                $d pipeline [list "SCRIPT DEBUG $mode" {EVAL "return 7" 0}]
                # The earlier reply may come before the debugger's output or after it.
                set before [$d reply]
                if {$before eq "OK"} {
                    lappend before [$d reply]
                }
                assert_match "*Stopped at 1*" $before
                $d send c
                set behind [$d replies [expr {4 - ("OK" in $before ? 2 : 1)}]]
                assert_same_set {OK <endsession> 7} [concat [lsearch -all -inline $before OK] $behind]
                assert {[$d closed_within 5000]}
            }
        }
    }

    test "EVAL in a transaction is debugged" {
        with_clients d {
            $d SCRIPT DEBUG YES
            $d MULTI
            $d EVAL "local a = 1\nreturn a" 0
            assert_equal {1 {step over}} [stop_of [$d EXEC]]
            assert_equal {0 1} [last_words $d [$d c]]
        }
    }

    test "EVAL_RO is debugged, and may not write" {
        with_clients d {
            $d SCRIPT DEBUG YES
            $d EVAL_RO "local a = 1\nreturn a" 0
            assert_match {*Write commands are not allowed from read-only scripts.*} [$d r set k v]
            assert_equal {0 1} [last_words $d [$d c]]
        }
    }

    test "Functions are not debugged" {
        r FUNCTION LOAD REPLACE "#!lua name=lib\nredis.register_function('f', function() return 1 end)"
        with_clients c {
            $c SCRIPT DEBUG YES
            assert_equal 1 [$c FCALL f 0]
        }
        r FUNCTION FLUSH
    }

    test "A large database goes in the child without those who free in the background" {
        r DEBUG POPULATE 1000 x 100
        debugging YES "redis.call('flushall', 'async')\nfor i = 1, 3000 do redis.call('rpush', 'l', i) end\nredis.call('unlink', 'l')\nreturn redis.call('dbsize')" {
            assert_equal {0 0} [last_words $d [$d c]]
        }
        assert_equal 1000 [r DBSIZE]
    }
}

start_server {tags own-files} {
    test "SHUTDOWN ends the sessions" {
        with_clients d {
            $d SCRIPT DEBUG YES
            $d EVAL "while true do local a = 1 end" 0
            assert_equal 1 [children]
            catch {r SHUTDOWN NOSAVE}
            assert {[$d closed_within 5000]}
        }
    }
}

start_server {} {
    test "An empty script has one line, at which nothing stops" {
        debugging YES "" {
            set said [expr {[lindex $said end] eq "<endsession>" ? $said : [$d c]}]
            assert_equal {0 (nil)} [last_words $d $said]
        }
    }
}

# Returns names, sizes and times of all files in the server's folder but the log.
proc files_of_server {} {
    set files {}
    foreach path [lsort [glob -nocomplain -directory [dir_of_server] * */*]] {
        if {[file isfile $path] && [file tail $path] ne "stdout"} {
            lappend files [list $path [file size $path] [file mtime $path] [md5_of $path]]
        }
    }
    return $files
}

proc dir_of_server {} {
    return [lindex [r CONFIG GET dir] 1]
}

proc md5_of {path} {
    return [lindex [exec md5sum $path] 0]
}

start_server {overrides {appendonly yes save {3600 1000} enable-debug-command yes}} {
    test "A session in a child leaves files, children, other servers and subscribers alone" {
        r SET kept v
        r SAVE
        r CONFIG SET rdb-key-save-delay 10000000
        r SET more v
        r BGSAVE
        set before [children]
        set reached 0
        set other [socket -server [list apply {{args} {set ::reached 1}}] -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $other -sockname] 2]
        with_clients s {
            $s SUBSCRIBE ch
            set files [lsearch -all -inline -not -regexp [files_of_server] {temp-}]
            debugging YES $::five {
                $d redis set other v
                assert_match "*-IOERR*" [$d redis migrate 127.0.0.1 $port kept 0 200]
                $d redis publish ch message
                assert_equal {{<command> flushall} {<reply> "+OK"}} [$d redis flushall]
                assert_equal {{<command> dbsize} {<reply> 0}} [$d redis dbsize]
                assert_equal {0 3} [last_words $d [$d continue]]
            }
            r PUBLISH ch end
            assert_equal {message ch end} [$s reply]
        }
        update
        close $other
        assert_equal 0 $reached
        assert_equal $files [lsearch -all -inline -not -regexp [files_of_server] {temp-}]
        assert_equal $before [children]
        assert_equal 1 [info_field rdb_bgsave_in_progress persistence]
        assert_equal {kept more} [lsort [r KEYS *]]
        r CONFIG SET rdb-key-save-delay 0
    }

    test "A session in a child runs no noscript command, also where scripts may" {
        assert_equal OK [r DEBUG SET-DISABLE-DENY-SCRIPTS 1]
        assert_equal {hz 10} [r EVAL {return redis.call('config', 'get', 'hz')} 0]
        set before [children]
        set files [files_of_server]
        set dir [dir_of_server]
        with_clients other {
            debugging YES $::five {
                foreach words {{config rewrite} {config set logfile made} {config set appendonly no} {config set dir /}
                               {config set dbfilename made.rdb} {config set port 0} {acl save} {acl setuser made} {save}
                               {bgsave} {bgrewriteaof} {shutdown nosave} {replicaof 127.0.0.1 1} {failover}
                               {client kill type normal} {client pause 10000} {module load x} {debug segfault}
                               {debug sleep 1} {debug reload} {script kill} {function flush} {monitor} {sync}} {
                    assert_match "*This Valkey command is not allowed from script*" [$d redis {*}$words]
                }
                assert_equal {0 3} [last_words $d [$d continue]]
            }
            assert_equal PONG [$other PING]
        }
        assert_equal $files [files_of_server]
        assert_equal $before [children]
        assert_equal [list $dir -1] [list [dir_of_server] [lsearch [r ACL USERS] made]]
        assert_equal OK [r DEBUG SET-DISABLE-DENY-SCRIPTS 0]
    }

    test "A session in a child writes more than the log's queue holds" {
        debugging YES "for i = 1, 200 do redis.call('set', 'k' .. i, string.rep('x', 100000)) end\nreturn 1" {
            assert_equal {0 1} [last_words $d [$d continue]]
        }
        assert_equal 0 [r EXISTS k1]
    }
}
