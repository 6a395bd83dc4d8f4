# effects.tcl -- effects of a script: in the append-only file, in notifications and counters, on blocked clients; and
# its clock.
#
# In the append-only file SELECT is left out and MS stands for a time in milliseconds of today.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set where "script: on @user_script:1."

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

proc increment_file {} {
    return [lindex [glob -nocomplain [file join [srv dir] appendonlydir *.incr.aof]] 0]
}

# Returns the commands in BYTES as a list of texts.
proc commands_of {bytes} {
    set commands {}
    set at 0
    while {$at < [string length $bytes]} {
        set words {}
        set end [string first "\r\n" $bytes $at]
        set left [string range $bytes $at+1 $end-1]
        for {set at [expr {$end + 2}]} {$left > 0} {incr left -1} {
            set end [string first "\r\n" $bytes $at]
            set length [string range $bytes $at+1 $end-1]
            set word [string range $bytes $end+2 [expr {$end + 1 + $length}]]
            lappend words [regsub {^1\d{12}$} $word MS]
            set at [expr {$end + 4 + $length}]
        }
        if {[lindex $words 0] ne "SELECT"} {lappend commands [join $words]}
    }
    return $commands
}

# Returns the commands that BODY adds to the append-only file.
proc propagated {body} {
    r SET begin 1
    r DEL begin
    set from [file size [increment_file]]
    uplevel 1 $body
    return [join [commands_of [string range [read_file [increment_file]] $from end]] "; "]
}

start_server {
    overrides {appendonly yes aof-use-rdb-preamble no appendfsync always}
    each {r FLUSHALL; r SELECT 0; r SET k v}
} {
    r DEBUG SET-ACTIVE-EXPIRE 0

    # ---- The append-only file -----------------------------------------------------------------------------------

    foreach {script want} {
        {return redis.call('get', 'k')} {}
        {return 1} {}
        {redis.call('incr', 'n')} {incr n}
        {redis.call('INCR', 'n')} {INCR n}
        {redis.call('incr', 'n') redis.call('get', 'k')} {incr n}
        {redis.call('incr', 'n') redis.call('incr', 'n')} {MULTI; incr n; incr n; EXEC}
        {redis.call('incr', 'n') redis.pcall('incr', 'k') redis.call('set', 'a', 1)} {MULTI; incr n; set a 1; EXEC}
        {redis.call('set', 'a', 1, 'EX', 100)} {set a 1 PXAT MS}
        {redis.call('expire', 'k', 100)} {PEXPIREAT k MS}
        {redis.call('set', 'a', 1) redis.call('expire', 'a', 100)} {MULTI; set a 1; PEXPIREAT a MS; EXEC}
        {redis.call('incrbyfloat', 'f', 1.5)} {SET f 1.5 KEEPTTL}
        {redis.call('del', 'none')} {}
        {redis.call('sadd', 's', 'a', 'b') redis.call('spop', 's', 2)} {MULTI; sadd s a b; UNLINK s; EXEC}
        {redis.call('sadd', 's', 'm') redis.call('spop', 's')} {MULTI; sadd s m; SREM s m; EXEC}
        {redis.call('rpush', 'l', 1, 2) redis.call('blpop', 'l', 0)} {MULTI; rpush l 1 2; LPOP l; EXEC}
        {redis.call('set', 'a', 3.0)} {set a 3}
        {redis.call('flushall')} {flushall}
        {redis.call('publish', 'c', 'x')} {}
        {redis.call('incr', 'n') error('x')} {incr n}
        {redis.call('incr', 'n') redis.call('incr', 'n') error('x')} {MULTI; incr n; incr n; EXEC}
        {redis.set_repl(redis.REPL_NONE) redis.call('incr', 'n')} {}
        {redis.set_repl(redis.REPL_REPLICA) redis.call('incr', 'n')} {}
        {redis.set_repl(redis.REPL_AOF) redis.call('incr', 'n')} {incr n}
        {redis.call('incr', 'a') redis.set_repl(redis.REPL_NONE) redis.call('incr', 'b')
         redis.set_repl(redis.REPL_ALL) redis.call('incr', 'c')} {MULTI; incr a; incr c; EXEC}
        {redis.replicate_commands() redis.call('incr', 'n')} {incr n}
    } {
        test "The append-only file gets '$want' of: [regsub -all {\s+} $script { }]" {
            assert_equal $want [propagated {catch {lua $script}}]
        }
    }

    test "What set_repl has set holds for its script alone" {
        lua {redis.set_repl(redis.REPL_NONE)}
        assert_equal "incr n" [propagated {lua {redis.call('incr', 'n')}}]
    }

    test "SELECT in a script: each write goes to its database, and the next to its own" {
        r DEBUG RELOAD
        lua {redis.call('set', 'a', 0) redis.call('select', 3) redis.call('set', 'a', 3) redis.call('select', 5)}
        r SET b 0
        r DEBUG LOADAOF
        assert_equal {0 0} [r MGET a b]
        r SELECT 3
        assert_equal {a 3} [list [r KEYS *] [r GET a]]
        r SELECT 5
        assert_equal 0 [r DBSIZE]
    }

    test "Scripts in a transaction: one MULTI, one EXEC" {
        assert_equal "MULTI; SET a 1; incr n; incr n; SET b 2; EXEC" [propagated {
            r MULTI
            r SET a 1
            r EVAL {redis.call('incr', 'n') redis.call('incr', 'n')} 0
            r SET b 2
            r EXEC
        }]
        assert_equal "incr n" [propagated {
            r MULTI
            r EVAL {redis.call('incr', 'n')} 0
            r EXEC
        }]
        assert_equal {} [propagated {
            r MULTI
            r EVAL {return redis.call('get', 'n')} 0
            r EXEC
        }]
    }

    test "EVALSHA, SCRIPT LOAD and FLUSH are not in the file" {
        assert_equal "incr n" [propagated {
            set digest [r SCRIPT LOAD {return redis.call('incr', 'n')}]
            r EVALSHA $digest 0
            r SCRIPT FLUSH
        }]
    }

    test "A key that is over when a script meets it goes with the script's effects" {
        assert_equal "SET old 1 PXAT MS; MULTI; UNLINK old; set a 1; EXEC" [propagated {
            r SET old 1 PX 1
            after 20
            lua {redis.call('get', 'old') redis.call('set', 'a', 1)}
        }]
    }

    test "The file gives the same keys" {
        lua {
            for i = 1, 200 do
                redis.call('hset', 'h', i, math.random(1000))
                redis.call('sadd', 's', math.random(1000))
                redis.call('spop', 's')
                redis.call('zadd', 'z', math.random(), i)
                redis.call('xadd', 'x', '*', 'f', i)
                redis.call('incrbyfloat', 'f', math.random())
            end
        }
        set before [r DEBUG DIGEST]
        r DEBUG LOADAOF
        assert_equal $before [r DEBUG DIGEST]
    }

    # ---- Changes and notifications ------------------------------------------------------------------------------

    test "Each write of a script is a change" {
        r SAVE
        lua {redis.call('set', 'a', 1) redis.call('rpush', 'l', 1, 2, 3)}
        lua {redis.call('get', 'a') redis.call('del', 'none')}
        assert_equal 4 [info_field rdb_changes_since_last_save persistence]
        lua {redis.set_repl(redis.REPL_NONE) redis.call('set', 'a', 1)}
        assert_equal 5 [info_field rdb_changes_since_last_save persistence]
    }

    test "Each write of a script is told to those who listen to keys, in order" {
        with_config {notify-keyspace-events KEA} {
            with_clients listener {
                $listener PSUBSCRIBE __keyevent@*
                lua {
                    redis.call('set', 'a', 1)
                    redis.call('select', 2)
                    redis.call('rpush', 'l', 1)
                    redis.call('lpop', 'l')
                    redis.call('get', 'a')
                }
                r SET end 1
                set heard {}
                while {[set message [lrange [$listener reply] 2 3]] ne "__keyevent@0__:set end"} {
                    lappend heard $message
                }
                assert_equal [list {*}{
                    {__keyevent@0__:set a} {__keyevent@2__:rpush l} {__keyevent@2__:lpop l} {__keyevent@2__:del l}
                }] $heard
            }
        }
    }

    # ---- Time ---------------------------------------------------------------------------------------------------

    # A script that takes longer than the TTL of the key that it creates.
    set linger {
        local begin = os.clock()
        repeat until os.clock() - begin > 0.05
    }

    test "Time stands still in a script: a key does not end under it" {
        assert_equal {1 1 v} [lua "
            redis.call('set', 'a', 'v', 'px', 10)
            local left = redis.call('pttl', 'a')
            $linger
            return {redis.call('exists', 'a'), left == redis.call('pttl', 'a'), redis.call('get', 'a')}
        "]
        after 20
        assert_equal 0 [r EXISTS a]
    }

    test "A key that a script finds over stays so" {
        r SET a v PX 1
        after 20
        assert_equal {0 0} [lua "
            local first = redis.call('exists', 'a')
            $linger
            return {first, redis.call('exists', 'a')}
        "]
    }

    test "TIME is the same all through a script, and goes on behind it" {
        assert_equal 1 [lua "local a = redis.call('time') $linger local b = redis.call('time')
            return a\[1\] == b\[1\] and a\[2\] == b\[2\]"]
        set first [lua {return redis.call('time')}]
        after 2
        assert_not_equal $first [lua {return redis.call('time')}]
    }

    test "... and in a script that is slow it goes on, so that the script may wait for it; times of keys do not" {
        set threshold [lindex [r CONFIG GET busy-reply-threshold] 1]
        r CONFIG SET busy-reply-threshold 1
        assert_equal {20 1000} [lua {redis.call('set', 'a', 1, 'px', 1000)
            local function now() local t = redis.call('time') return t[1] * 1000000 + t[2] end
            local start, n = now(), 0
            repeat n = n + 1 until now() > start + 20000 or n == 10000000
            return {now() > start + 20000 and 20 or 0, redis.call('pttl', 'a')}}]
        r CONFIG SET busy-reply-threshold $threshold
    }

    # ---- Clients that wait --------------------------------------------------------------------------------------

    test "Who waits for a list is served when the script is over" {
        with_clients c {
            waits $c BLPOP l 0
            assert_equal {2 2} [lua {return {redis.call('rpush', 'l', 'a', 'b'), redis.call('llen', 'l')}}]
            assert_equal {l a} [$c reply]
            assert_equal b [r LRANGE l 0 -1]
        }
    }

    test "What a script pushes and takes away again wakes nobody" {
        with_clients c {
            waits $c BLPOP l 0
            lua {redis.call('rpush', 'l', 'a') redis.call('del', 'l')}
            lua {redis.call('rpush', 'l', 'a') return redis.call('blpop', 'l', 0)}
            assert [$c silent_for 50]
            r RPUSH l x
            assert_equal {l x} [$c reply]
        }
    }

    test "Several that wait are served in their order, for lists, sorted sets and streams" {
        with_clients {a b z x} {
            waits $a BLPOP l 0
            waits $b BLPOP l 0
            waits $z BZPOPMIN z 0
            waits $x XREAD BLOCK 0 STREAMS x $
            lua {
                redis.call('xadd', 'x', '1-1', 'f', 'v')
                redis.call('zadd', 'z', 2, 'two', 1, 'one')
                redis.call('rpush', 'l', 'first', 'second', 'third')
            }
            assert_equal {{l first} {l second} {z one 1} {{x {{1-1 {f v}}}}}} [lmap c [list $a $b $z $x] {$c reply}]
        }
        nobody_waits
    }

    test "The file has a script's writes before what those take who waited" {
        with_clients c {
            waits $c BLPOP l 0
            assert_equal "MULTI; rpush l a b; set n 1; EXEC; LPOP l" [propagated {
                lua {redis.call('rpush', 'l', 'a', 'b') redis.call('set', 'n', 1)}
                $c reply
            }]
        }
    }

    test "A script that fails serves those who wait with what it has pushed" {
        with_clients c {
            waits $c BLPOP l 0
            assert_error "ERR user_script:1: x $where" {lua {redis.call('rpush', 'l', 'a') error('x')}}
            assert_equal {l a} [$c reply]
        }
    }
}
