# conversion.tcl -- conversion of a script's result to a reply, and of a command's reply to a Lua value.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the reply's bytes, with a '|' for each line end.
proc bytes_of {client script args} {
    return [string map {\r\n |} [$client raw EVAL $script 0 {*}$args]]
}

# A Lua function `show` that returns a description of a value: its type, and the members of a table sorted by name.
set show {
    local function show(value)
        if type(value) ~= 'table' then return type(value) .. ' ' .. tostring(value) end
        local members = {}
        for name, member in pairs(value) do members[#members + 1] = tostring(name) .. '=' .. show(member) end
        table.sort(members)
        return '{' .. table.concat(members, ', ') .. '}'
    end
}

start_server {each {r FLUSHALL}} {

    # ---- Results of scripts -------------------------------------------------------------------------------------

    # The reply in RESP2, and in RESP3 if it differs.
    foreach {script resp2 resp3} {
        {return 1} :1| ""
        {return -7} :-7| ""
        {return 1.9} :1| ""
        {return -1.9} :-1| ""
        {return 2^53} :9007199254740992| ""
        {return 9007199254740993} :9007199254740992| ""
        {return -2^63} :-9223372036854775808| ""
        {return 'a'} $1|a| ""
        {return ''} $0|| ""
        {return '10'} $2|10| ""
        {return 'a\0b\r\n'} "\$5|a\x00b||" ""
        {return true} :1| ""
        {return false} $-1| _|
        {return nil} $-1| _|
        {return} $-1| _|
        {} $-1| _|
        {return 1, 2} :1| ""
        {return function() end} $-1| _|
        {return redis.call} $-1| _|
        {return coroutine.create(function() end)} $-1| _|
        {return cjson.null} $-1| _|

        {return {}} *0| ""
        {return {1, 2, 3}} *3|:1|:2|:3| ""
        {return {1, 'a', true, 1.5, {2, {3}}}} *5|:1|$1|a|:1|:1|*2|:2|*1|:3| ""
        {return {1, false, 3}} *3|:1|$-1|:3| *3|:1|_|:3|
        {return {1, function() end, 3}} *3|:1|$-1|:3| *3|:1|_|:3|
        {return {1, nil, 3}} *1|:1| ""
        {return {nil, 1}} *0| ""
        {return {[1] = 1, [3] = 3}} *1|:1| ""
        {return {[0] = 0, [1] = 1}} *1|:1| ""
        {return {a = 1}} *0| ""
        {return {1, 2, a = 3}} *2|:1|:2| ""
        {return {1, {nil, 2}, 3}} *3|:1|*0|:3| ""

        {return {ok = 'fine'}} +fine| ""
        {return {ok = ''}} +| ""
        {return {ok = 'a\r\nb\rc\nd'}} "+a  b c d|" ""
        {return {ok = 1}} *0| ""
        {return {ok = {}}} *0| ""
        {return {ok = 'x', 1, 2}} +x| ""
        {return {err = 'MY bad'}} "-MY bad|" ""
        {return {err = 'bad'}} -bad| ""
        {return {err = '-bad'}} --bad| ""
        {return {err = ''}} -| ""
        {return {err = 'a\r\nb\rc\nd'}} "-a  b c d|" ""
        {return {err = 1}} *0| ""
        {return {err = {}}} *0| ""
        {return {err = 'X y', ok = 'z'}} "-X y|" ""
        {return {1, {err = 'MY bad'}, {ok = 'x'}}} "*3|:1|-MY bad|+x|" ""
        {return {{err = 'a\r\n+forged'}}} "*1|-a  +forged|" ""

        {return {double = 1.5}} $3|1.5| ,1.5|
        {return {double = 3}} $1|3| ,3|
        {return {double = -2}} $2|-2| ,-2|
        {return {double = 1e100}} $6|1e+100| ,1e+100|
        {return {double = 1/0}} $3|inf| ,inf|
        {return {double = -1/0}} $4|-inf| ,-inf|
        {return {double = 0/0}} $3|nan| ,nan|
        {return {double = 'x'}} *0| ""

        {return {big_number = '123456789012345678901234567890'}} $30|123456789012345678901234567890|
            (123456789012345678901234567890|
        {return {big_number = '1\r\n+2'}} "$5|1  +2|" "(1  +2|"
        {return {big_number = 12}} *0| ""

        {return {verbatim_string = {string = 'abc', format = 'txt'}}} $3|abc| =7|txt:abc|
        {return {verbatim_string = {string = 'a\r\nb', format = 'mkd'}}} $4|a|b| =8|mkd:a|b|
        {return {verbatim_string = {string = '', format = 'txt'}}} $0|| =4|txt:|
        {return {verbatim_string = {string = 'abc', format = 'long'}}} $3|abc| =7|lon:abc|
        {return {verbatim_string = {string = 'abc', format = 't'}}} $3|abc| "=7|t  :abc|"
        {return {verbatim_string = {string = 'abc'}}} *0| ""
        {return {verbatim_string = {format = 'txt'}}} *0| ""
        {return {verbatim_string = 'x'}} *0| ""

        {return {map = {a = 1}}} *2|$1|a|:1| %1|$1|a|:1|
        {return {map = {[1] = 'x'}}} *2|:1|$1|x| %1|:1|$1|x|
        {return {map = {a = {map = {b = {1, {double = 2.5}}}}}}} *2|$1|a|*2|$1|b|*2|:1|$3|2.5|
            %1|$1|a|%1|$1|b|*2|:1|,2.5|
        {return {map = {[true] = false}}} *2|:1|$-1| %1|:1|_|
        {return {map = {}}} *0| %0|
        {return {map = 'x'}} *0| ""
        {return {set = {a = true}}} *1|$1|a| ~1|$1|a|
        {return {set = {'x'}}} *1|:1| ~1|:1|
        {return {set = {}}} *0| ~0|
        {return {set = 'x'}} *0| ""

        {return {err = 'x', ok = 'y', double = 1, map = {}, set = {}}} -x| ""
        {return {double = 1, map = {a = 1}}} $1|1| ,1|
        {return {map = {a = 1}, set = {b = true}}} *2|$1|a|:1| %1|$1|a|:1|
        {return {set = {b = true}, big_number = '5'}} $1|5| (5|
        {return {double = 2, big_number = '4', verbatim_string = {string = 's', format = 'txt'}}} $1|2| ,2|
    } {
        test [expr {$script eq "" ? "An empty script" : $script}] {
            with_clients c {
                assert_equal $resp2 [bytes_of $c $script]
                $c HELLO 3
                assert_equal [expr {$resp3 eq "" ? $resp2 : $resp3}] [bytes_of $c $script]
            }
        }
    }

    test "A map and a set of several members, in any order" {
        with_clients c {
            $c HELLO 3
            set script {return {map = {a = 1, b = 2, c = {set = {x = true, y = true}}}}}
            assert_match "%3|*" [bytes_of $c $script]
            set map [$c EVAL $script 0]
            assert_equal {1 2 {x y}} [list [dict get $map a] [dict get $map b] [lsort [dict get $map c]]]
        }
    }

    test "A reply is read from the table itself, its metatable is not asked" {
        assert_equal {} [r EVAL {return setmetatable({}, {__index = function(t, k) return k end})} 0]
        assert_equal {} [r EVAL {return setmetatable({}, {__index = {ok = 'from there'}})} 0]
        assert_equal {1 2} [r EVAL {return setmetatable({1, 2}, {__index = function(t, k) return k end})} 0]
        assert_equal {} [r EVAL {return setmetatable({}, {__index = function() error('asked') end})} 0]
        assert_equal {} [r EVAL {return setmetatable({}, {__len = function() return 5 end})} 0]
    }

    test "A table within itself ends somewhere, and the reply is whole" {
        with_clients c {
            $c write [resp::encode {EVAL "local t = {}; t\[1\] = t; return t" 0}]
            for {set depth 0} {[set line [$c line]] eq "*1"} {incr depth} {}
            assert_equal "-ERR reached lua stack limit" $line
            assert {$depth > 100}
            assert_equal PONG [$c PING]
        }
    }

    test "Tables within each other, deep" {
        with_clients c {
            $c write [resp::encode {EVAL "local t = {}; for i = 1, 1000 do t = {t} end; return t" 0}]
            for {set depth 0} {[set line [$c line]] eq "*1"} {incr depth} {}
            assert_equal {1000 *0} [list $depth $line]
            assert_equal PONG [$c PING]
        }
    }

    test "A long array, and a long string" {
        assert_equal 100000 [llength [r EVAL {local t = {}; for i = 1, 100000 do t[i] = i end; return t} 0]]
        assert_equal 5000000 [string length [r EVAL {return string.rep('x', 5000000)} 0]]
    }

    test "The reply of a command goes through unchanged" {
        r RPUSH l a b
        r HSET h f v
        with_clients c {
            assert_equal {*2|$1|a|$1|b|} [bytes_of $c {return redis.call('lrange', 'l', 0, -1)}]
            assert_equal {*2|$1|f|$1|v|} [bytes_of $c {return redis.call('hgetall', 'h')}]
            assert_equal +OK| [bytes_of $c {return redis.call('set', 'k', 'v')}]
            $c HELLO 3
            assert_equal {*2|$1|f|$1|v|} [bytes_of $c {return redis.call('hgetall', 'h')}]
            assert_equal {%1|$1|f|$1|v|} [bytes_of $c {redis.setresp(3); return redis.call('hgetall', 'h')}]
            assert_equal _| [bytes_of $c {return redis.call('get', 'none')}]
            assert_equal _| [bytes_of $c {redis.setresp(3); return redis.call('get', 'none')}]
        }
    }

    # ---- Replies to scripts -------------------------------------------------------------------------------------

    foreach {command resp2 resp3} {
        {SET k w} {{ok=string OK}} ""
        {PING} {{ok=string PONG}} ""
        {TYPE k} {{ok=string string}} ""
        {GET k} {string v} ""
        {GET none} {boolean false} {nil nil}
        {SET k w NX} {boolean false} {nil nil}
        {EXISTS k none} {number 1} ""
        {INCRBY big 9007199254740993} {number 9.007199254741e+15} ""
        {INCRBYFLOAT f 1.5} {string 1.5} ""
        {LRANGE l 0 -1} {{1=string a, 2=string b}} ""
        {LRANGE none 0 -1} {{}} ""
        {LPOP none 3} {boolean false} {nil nil}
        {MGET k none k} {{1=string v, 2=boolean false, 3=string v}} {{1=string v, 3=string v}}
        {HMGET none f} {{1=boolean false}} {{}}
        {HGETALL h} {{1=string f, 2=string v}} {{map={f=string v}}}
        {HGETALL none} {{}} {{map={}}}
        {SMEMBERS s} {{1=string m}} {{set={m=boolean true}}}
        {SPOP none 3} {{}} {{set={}}}
        {SISMEMBER s m} {number 1} ""
        {ZSCORE z m} {string 1.5} {{double=number 1.5}}
        {ZSCORE z none} {boolean false} {nil nil}
        {ZRANGE z 0 -1 WITHSCORES} {{1=string m, 2=string 1.5}} {{1={1=string m, 2={double=number 1.5}}}}
        {ZRANK z m WITHSCORE} {{1=number 0, 2=string 1.5}} {{1=number 0, 2={double=number 1.5}}}
        {ZADD z INCR 1 m} {string 2.5} {{double=number 2.5}}
        {ZADD z NX INCR 1 m} {boolean false} {nil nil}
        {ZMSCORE z m none} {{1=string 1.5, 2=boolean false}} {{1={double=number 1.5}}}
        {ZPOPMIN none} {{}} ""
        {LMPOP 1 none LEFT} {boolean false} {nil nil}
        {XREAD STREAMS x 0} {{1={1=string x, 2={1={1=string 1-1, 2={1=string f, 2=string v}}}}}}
            {{map={x={1={1=string 1-1, 2={1=string f, 2=string v}}}}}}
        {XREAD STREAMS x 9} {boolean false} {nil nil}
        {GEOPOS none a} {{1=boolean false}} {{}}
        {SELECT 0} {{ok=string OK}} ""
        {LPUSH k x} {{err=string WRONGTYPE Operation against a key holding the wrong kind of value,\
            ignore_error_stats_update=boolean true}} ""
    } {
        test "$command, as a script sees it" {
            foreach {protocol want} [list 2 $resp2 3 [expr {$resp3 eq "" ? $resp2 : $resp3}]] {
                r FLUSHALL
                r SET k v
                r RPUSH l a b
                r HSET h f v
                r SADD s m
                r ZADD z 1.5 m
                r XADD x 1-1 f v
                set script "$show redis.setresp($protocol) return show(redis.pcall(unpack(ARGV)))"
                assert_equal $want [r EVAL $script 0 {*}$command]
            }
        }
    }

    test "A verbatim string, and a map in it, as a script sees them" {
        set script "$show local reply = redis.call('LATENCY', 'HELP') return show(reply\[1\])"
        assert_match "\{ok=string LATENCY *" [r EVAL $script 0]
        set script "$show redis.setresp(3) local reply = redis.call('INFO', 'server').verbatim_string
            return {reply.format, type(reply.string)}"
        assert_equal {txt string} [r EVAL $script 0]
        assert_equal string [r EVAL {return type(redis.call('INFO', 'server'))} 0]
    }

    test "What one script has set by setresp is over with it" {
        r SADD s m
        assert_equal 1 [r EVAL {redis.setresp(3) return redis.call('smembers', 's').set.m} 0]
        assert_equal m [r EVAL {return redis.call('smembers', 's')} 0]
        assert_equal 1 [r EVAL {return redis.call('smembers', 's')[1] == 'm' and 1 or 0} 0]
    }

    test "A connection's protocol does not decide what a script sees" {
        r SADD s m
        with_clients c {
            $c HELLO 3
            assert_equal m [$c EVAL {return redis.call('smembers', 's')[1]} 0]
        }
    }

    test "setresp wants 2 or 3" {
        foreach version {2 3 '3' 2.5} {
            assert_equal (nil) [r EVAL "return redis.setresp($version)" 0]
        }
        set where "script: on @user_script:1."
        foreach version {1 4 'x' nil {{}} true} {
            assert_error "ERR RESP version must be 2 or 3. $where" {r EVAL "return redis.setresp($version)" 0}
        }
        foreach arguments {"" "2, 3"} {
            assert_error "ERR server.setresp() requires one argument. $where" \
                {r EVAL "return redis.setresp($arguments)" 0}
        }
    }
}
