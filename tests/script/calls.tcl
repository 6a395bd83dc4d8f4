# calls.tcl -- server.call: the commands a script may run, and how they behave there.
#
# SPDX-License-Identifier: BSD-3-Clause

set where "script: on @user_script:1."
set refused "ERR This Valkey command is not allowed from script"

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

# Returns a script that calls a command.
proc called {args} {
    return "return redis.call([join [lmap word $args {expr {"'$word'"}}] {, }])"
}

start_server {each {r FLUSHALL; r SELECT 0}} {

    # ---- Arguments ----------------------------------------------------------------------------------------------

    test "A command's name is in any case, and may be that of a container with its subcommand behind it" {
        foreach name {get GET gEt} {
            assert_equal (nil) [lua "return redis.call('$name', 'k')"]
        }
        assert_equal embstr [lua {redis.call('set', 'k', 'v') return redis.call('OBJECT', 'encoding', 'k')}]
    }

    foreach {number text} {
        10 10 -7 -7 3.0 3 -0.0 0 1.5 1.5 0.1 0.1 1/3 0.3333333333333333 -1.5e-10 -1.5e-10 123456789.125 123456789.125
        1e15 1000000000000000 1e17 100000000000000000 1e20 1e+20 2^53 9007199254740992 2^62 4611686018427387904
        2^63 9223372036854776000 1/0 inf -1/0 -inf
    } {
        test "The number $number as an argument is $text" {
            assert_equal $text [lua "return redis.call('echo', $number)"]
        }
    }

    test "Arguments are strings or numbers" {
        set error "ERR Command arguments must be strings or integers"
        foreach value {nil true false {{}} {{'x'}} redis.call cjson.null {coroutine.create(function() end)}} {
            assert_error "$error $where" {lua "return redis.call('get', $value)"}
            assert_error "$error $where" {lua "return redis.call($value, 'k')"}
            assert_error $error {lua "return redis.pcall('get', $value)"}
        }
        assert_error "$error $where" \
            {lua {return redis.call('get', setmetatable({}, {__tostring = function() return 'k' end}))}}
    }

    test "At least a name is wanted" {
        set error "ERR Please specify at least one argument for this call"
        assert_error "$error $where" {lua {return redis.call()}}
        assert_error $error {lua {return redis.pcall()}}
    }

    test "Arguments may be any bytes, of any size, and many" {
        assert_equal "\x00\r\n\xff" [lua {return redis.call('echo', ARGV[1])} "\x00\r\n\xff"]
        assert_equal 3000000 [lua {redis.call('set', 'k', string.rep('x', 3000000)) return redis.call('strlen', 'k')}]
        assert_equal 7000 [lua {
            local words = {'rpush', 'l'}
            for i = 1, 7000 do words[#words + 1] = i end
            return redis.call(unpack(words))
        }]
        assert_equal 7000 [r LINDEX l -1]
    }

    # Lua's stack has 8000 slots for one function.
    test "A call takes as many arguments as unpack() gives" {
        assert_equal {7999 7999 1} [lua {
            local words = {}
            for i = 1, 7999 do words[i] = i end
            return {redis.call('rpush', 'all', unpack(words)), #redis.call('mget', unpack(words)),
                    redis.acl_check_cmd('rpush', 'all', unpack(words))}
        }]
        assert_error "ERR user_script:1: too many results to unpack $where" \
            {lua {local t = {} for i = 1, 8000 do t[i] = i end redis.call('rpush', 'all', unpack(t))}}
    }

    test "A set that SORT leaves in its order comes in the order of its members' bytes" {
        set words {10 9 alpha bravo charlie delta echo foxtrot}
        foreach members [list $words [concat $words [string repeat z 100]]] {
            r DEL s
            r SADD s {*}[lreverse $members]
            set sorted [lsort $members]
            foreach command {sort sort_ro} {
                assert_equal $sorted [lua "return redis.call('$command', 's', 'by', 'nosort')"]
                assert_equal [lreverse $sorted] [lua "return redis.call('$command', 's', 'by', 'nosort', 'desc')"]
                assert_equal [lrange $sorted 2 4] \
                    [lua "return redis.call('$command', 's', 'by', 'x', 'limit', 2, 3, 'get', '#')"]
            }
        }
        r RPUSH list c a b
        assert_equal {c a b} [lua {return redis.call('sort', 'list', 'by', 'nosort')}]
    }

    test "Many calls, and what they return is let go" {
        r SET k [string repeat x 100000]
        set before [info_field used_memory_vm_eval]
        assert_equal 100000 [lua {local n; for i = 1, 5000 do n = #redis.call('get', 'k') end return n}]
        assert {[info_field used_memory_vm_eval] < $before + 100000000}
    }

    # ---- Unknown commands ---------------------------------------------------------------------------------------

    foreach {call error} {
        "'nosuch'" "ERR Unknown command called from script"
        "''" "ERR Unknown command called from script"
        "5" "ERR Unknown command called from script"
        "'get ', 'k'" "ERR Unknown command called from script"
        "'config|get', 'port'" "ERR Unknown command called from script"
        "'get'" "ERR Wrong number of args calling command from script"
        "'get', 'a', 'b'" "ERR Wrong number of args calling command from script"
        "'client'" "ERR Wrong number of args calling command from script"
        "'object', 'encoding'" "ERR Wrong number of args calling command from script"
        "'client', 'nosuch'" "ERR unknown subcommand 'nosuch'. Try CLIENT HELP."
        "'config', 'nosuch', 'x'" "ERR unknown subcommand 'nosuch'. Try CONFIG HELP."
    } {
        test "redis.call($call)" {
            assert_error "$error $where" {lua "return redis.call($call)"}
            assert_error $error {lua "return redis.pcall($call)"}
        }
    }

    # ---- Commands that are not for scripts ----------------------------------------------------------------------

    foreach name {
        acl|cat acl|deluser acl|dryrun acl|genpass acl|getuser acl|list acl|load acl|log acl|save acl|setuser acl|users
        acl|whoami auth bgrewriteaof bgsave client|caching client|capa client|getname client|getredir client|id
        client|import-source client|info client|kill client|list client|no-evict client|no-touch client|pause
        client|reply client|setinfo client|setname client|tracking client|trackinginfo client|unblock client|unpause
        cluster|reset config|get config|resetstat config|rewrite config|set debug discard eval eval_ro evalsha
        evalsha_ro failover fcall fcall_ro function|delete function|dump function|flush function|kill
        function|list function|load function|restore function|stats hello latency|doctor latency|graph
        latency|histogram latency|history latency|latest latency|reset module|list module|load module|loadex
        module|unload monitor multi psubscribe psync punsubscribe quit replconf replicaof reset role save
        script|debug script|exists script|flush script|kill script|load script|show shutdown slaveof ssubscribe
        subscribe sunsubscribe sync unsubscribe unwatch watch exec
    } {
        test "A script may not run [string toupper [string map {| { }} $name]]" {
            set row [lindex [r COMMAND INFO $name] 0]
            if {$row in {{} (nil)}} {skip "this server has no command $name"}
            assert {"noscript" in [lindex $row 2]}
            set words [split $name |]
            while {[llength $words] < abs([lindex $row 1])} {lappend words x}
            assert_error "$refused $where" {lua [called {*}$words]}
            assert_error $refused {lua [string map {.call .pcall} [called {*}$words]]}
            assert_equal PONG [r PING]
        }
    }

    test "Every other command is for scripts, and each has an answer" {
        set left {}
        foreach row [r COMMAND] {
            set name [lindex $row 0]
            if {"noscript" in [lindex $row 2] || [llength [lindex $row 9]]} continue
            set words $name
            while {[llength $words] < abs([lindex $row 1])} {lappend words x}
            catch {lua [called {*}$words]} reply
            if {[string match "*not allowed from script*" $reply]} {lappend left $name}
        }
        assert_equal {} $left
        assert_equal PONG [r PING]
    }

    # ---- Commands that wait -------------------------------------------------------------------------------------

    foreach {command reply} {
        {BLPOP none 0} (nil)
        {BRPOP none 0} (nil)
        {BLMPOP 0 1 none LEFT} (nil)
        {BLMOVE none b LEFT RIGHT 0} (nil)
        {BRPOPLPUSH none b 0} (nil)
        {BZPOPMIN none 0} (nil)
        {BZPOPMAX none 0} (nil)
        {BZMPOP 0 1 none MIN} (nil)
        {XREAD BLOCK 0 STREAMS none $} (nil)
        {WAIT 1 0} 0
        {WAITAOF 0 0 0} {[info_field aof_enabled persistence] 0}
    } {
        test "$command in a script does not wait" {
            assert_equal [subst $reply] [lua [called {*}$command]]
            assert_equal 0 [info_field blocked_clients]
        }
    }

    test "XREADGROUP in a script does not wait" {
        r XGROUP CREATE x g $ MKSTREAM
        assert_equal (nil) [lua {return redis.call('xreadgroup', 'group', 'g', 'c', 'block', '0', 'streams', 'x', '>')}]
    }

    test "Commands that wait take what is there" {
        assert_equal {l a} [lua {redis.call('rpush', 'l', 'a', 'b') return redis.call('blpop', 'l', 0)}]
        assert_equal {z m 1} [lua {redis.call('zadd', 'z', 1, 'm') return redis.call('bzpopmin', 'z', 0)}]
        assert_equal b [lua {return redis.call('blmove', 'l', 'other', 'left', 'right', 0)}]
    }

    # ---- Databases ----------------------------------------------------------------------------------------------

    test "SELECT in a script holds until its end, and its client stays where it was" {
        assert_equal v [lua {redis.call('select', 5) redis.call('set', 'k', 'v') return redis.call('get', 'k')}]
        assert_equal (nil) [r GET k]
        assert_equal (nil) [lua {return redis.call('get', 'k')}]
        r SELECT 5
        assert_equal v [r GET k]
        assert_error "ERR DB index is out of range $where" {lua {return redis.call('select', 99)}}
        assert_error "ERR value is not an integer or out of range $where" {lua {return redis.call('select', 'x')}}
        assert_equal v [r GET k]
    }

    test "An error behind a SELECT leaves the client where it was, too" {
        assert_error "ERR user_script:1: x $where" {lua {redis.call('select', 5) error('x')}}
        r SET k zero
        assert_equal zero [r GET k]
        r SELECT 5
        assert_equal (nil) [r GET k]
    }

    test "SWAPDB, FLUSHALL, RANDOMKEY, SCAN, KEYS" {
        r SET k v
        assert_equal {k 0 k OK (nil)} [lua {
            return {
                redis.call('randomkey'), redis.call('scan', 0)[1], redis.call('keys', '*')[1],
                redis.call('swapdb', 0, 1), redis.call('randomkey')
            }
        }]
        assert_equal OK [lua {return redis.call('flushall')}]
        r SELECT 1
        assert_equal 0 [r DBSIZE]
    }

    test "A script sees its own writes, types change under it" {
        assert_equal {string list none 3} [lua {
            local seen = {}
            redis.call('set', 'k', 'v')
            seen[1] = redis.call('type', 'k').ok
            redis.call('del', 'k')
            redis.call('rpush', 'k', 1, 2, 3)
            seen[2] = redis.call('type', 'k').ok
            redis.call('ltrim', 'k', 5, 5)
            seen[3] = redis.call('type', 'k').ok
            seen[4] = #seen
            return seen
        }]
    }

    # ---- Transactions, messages, tracking -----------------------------------------------------------------------

    test "Scripts in a transaction: each has its place, and its own error" {
        r MULTI
        r EVAL {return redis.call('incr', KEYS[1])} 1 n
        r EVAL {return redis.call('multi')} 0
        r EVALSHA abc 0
        r EVAL "return +" 0
        r EVAL "return 1" x
        r GET n
        set error "(error) ERR Error compiling script (new function): user_script:1: unexpected symbol near '+'"
        assert_equal [list 1 "(error) $refused $where" "(error) NOSCRIPT No matching script." $error \
            "(error) ERR value is not an integer or out of range" 1] [r EXEC]
    }

    test "A script in a transaction whose words are too few ends it" {
        r MULTI
        assert_error "ERR wrong number of arguments for 'eval' command" {r EVAL "return 1"}
        assert_error "EXECABORT Transaction discarded because of previous errors." {r EXEC}
    }

    test "SCRIPT LOAD, EXISTS and FLUSH go into a transaction" {
        r SCRIPT FLUSH
        r MULTI
        r SCRIPT LOAD "return 1"
        r SCRIPT EXISTS e0e1f9fabfc9d4800c877a703b823ac0578ff8db
        r EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        r SCRIPT FLUSH
        r EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 0
        assert_equal {e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 1 OK {(error) NOSCRIPT No matching script.}} [r EXEC]
    }

    test "A script's write is a change to those who watch, a script that reads is none" {
        foreach {script keys reply} {
            {return redis.call('incr', 'k')} 0 (nil)
            {return redis.call('set', KEYS[1], 'v')} {1 k} (nil)
            {return redis.call('get', KEYS[1])} {1 k} PONG
            {return redis.call('del', 'other')} {1 k} PONG
            {return 1} {1 k} PONG
        } {
            with_clients other {
                r DEL k
                r WATCH k
                $other EVAL $script {*}$keys
                r MULTI
                r PING
                assert_equal $reply [r EXEC]
            }
        }
    }

    test "One's own script counts as well" {
        r WATCH k
        lua {return redis.call('set', 'k', 1)}
        r MULTI
        assert_equal (nil) [r EXEC]
    }

    test "PUBLISH from a script, in order, to the caller as well" {
        with_clients {listener both} {
            $listener SUBSCRIBE c
            $both HELLO 3
            $both send SUBSCRIBE c
            assert_equal {subscribe c 1} [$both next_push]
            assert_equal 2 [lua {redis.call('publish', 'c', 'one') return redis.call('publish', 'c', 'two')}]
            assert_equal {message c one} [$listener reply]
            assert_equal {message c two} [$listener reply]
            $both EVAL {return redis.call('publish', 'c', 'three')} 0
            $both PING
            assert_equal {one two three} [lmap push [$both take_pushes] {lindex $push 2}]
            assert_equal {message c three} [$listener reply]
        }
    }

    test "Keys that a script reads are tracked, whether they were named or not" {
        with_clients {c other} {
            $c HELLO 3
            $c CLIENT TRACKING ON
            $c EVAL {redis.call('get', KEYS[1]) return redis.call('get', 'unnamed')} 2 named unread
            $other SET unread 1
            $other SET named 1
            $other SET unnamed 1
            assert_equal {invalidate named} [$c next_push]
            assert_equal {invalidate unnamed} [$c next_push]
            $c PING
            assert_equal {} [$c take_pushes]
        }
    }

    test "What a script writes is told to those who track it, after its own reply when they are the caller" {
        with_clients {c other} {
            $c HELLO 3
            $c CLIENT TRACKING ON
            $c GET k
            $other EVAL {return redis.call('set', 'k', 1)} 0
            assert_equal {invalidate k} [$c next_push]
            $c GET k
            assert_equal OK [$c EVAL {return redis.call('set', 'k', 2)} 0]
            $c PING
            assert_equal {{invalidate k}} [$c take_pushes]
        }
    }

    test "OPTIN: CLIENT CACHING YES counts for the script behind it" {
        with_clients {c other} {
            $c HELLO 3
            $c CLIENT TRACKING ON OPTIN
            $c EVAL {return redis.call('get', 'a')} 0
            $c CLIENT CACHING YES
            $c EVAL {return redis.call('get', 'b')} 0
            $other MSET a 1 b 1
            $c PING
            assert_equal {{invalidate b}} [$c take_pushes]
        }
    }

    test "COMMAND GETKEYS knows the keys of a script" {
        foreach command {EVAL EVALSHA EVAL_RO EVALSHA_RO} {
            assert_equal {a b} [r COMMAND GETKEYS $command s 2 a b c]
            assert_equal {} [r COMMAND GETKEYS $command s 0 a]
            set flags [expr {[string match *_RO $command] ? {RO access} : {RW access update}}]
            assert_equal [list [list a $flags]] [r COMMAND GETKEYSANDFLAGS $command s 1 a b]
        }
    }
}
