# errors.tcl -- how a script fails, and how it gets the errors of its calls.
#
# SPDX-License-Identifier: BSD-3-Clause

set where "script: on @user_script:1."
set wrong_type "WRONGTYPE Operation against a key holding the wrong kind of value"

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

start_server {each {r FLUSHALL; r SET k v}} {

    # ---- A script that ends with an error -----------------------------------------------------------------------

    foreach {script error} {
        {error('x')} "ERR user_script:1: x"
        {error('MYERR text')} "ERR user_script:1: MYERR text"
        {error('x', 0)} "ERR x"
        {error('x', 2)} "ERR x"
        {error('')} "ERR user_script:1: "
        {error('a\r\nb')} "ERR user_script:1: a  b"
        {error(5)} "ERR user_script:1: 5"
        {error()} "ERR nil"
        {error(true)} "ERR true"
        {error({})} "ERR unknown error"
        {error({err = {}})} "ERR unknown error"
        {error({err = 'MY x'})} "MY x"
        {error({err = 'MY x'}, 0)} "MY x"
        {error({err = 'x'})} "x"
        {error({err = 5})} "5"
        {error({err = '-A B'})} "-A B"
        {error({err = 'A\r\nB'})} "A  B"
        {error(setmetatable({}, {__tostring = function() return 'x' end}))} "ERR unknown error"
        {assert(false)} "ERR user_script:1: assertion failed!"
        {assert(false, 'msg')} "ERR user_script:1: msg"
        {assert(nil, {err = 'MY x'})}
            "ERR user_script:1: bad argument #2 to 'assert' (string expected, got table)"
        {local x = nil; return x.y} "ERR user_script:1: attempt to index local 'x' (a nil value)"
        {local t = {}; return t.a.b} "ERR user_script:1: attempt to index field 'a' (a nil value)"
        {return ('x')()} "ERR user_script:1: attempt to call a string value"
        {local f; f()} "ERR user_script:1: attempt to call local 'f' (a nil value)"
        {return string.nosuch()} "ERR user_script:1: attempt to call field 'nosuch' (a nil value)"
        {return ('x'):nosuch()} "ERR user_script:1: attempt to call method 'nosuch' (a nil value)"
        {return 1 + nil} "ERR user_script:1: attempt to perform arithmetic on a nil value"
        {return {} .. 'x'} "ERR user_script:1: attempt to concatenate a table value"
        {return #5} "ERR user_script:1: attempt to get length of a number value"
        {return 1 < 'x'} "ERR user_script:1: attempt to compare number with string"
        {return {} < {}} "ERR user_script:1: attempt to compare two table values"
        {for i = 'a', 2 do end} "ERR user_script:1: 'for' initial value must be a number"
        {string.rep()} "ERR user_script:1: bad argument #1 to 'rep' (string expected, got no value)"
        {tonumber()} "ERR user_script:1: bad argument #1 to 'tonumber' (value expected)"
        {local t = setmetatable({}, {__index = function() error('idx') end}) return t.x} "ERR user_script:1: idx"
        {coroutine.wrap(function() error({err = 'MY x'}) end)()} "MY x"
        {coroutine.yield(1)} "ERR attempt to yield across metamethod/C-call boundary"
        {redis.call('lpush', 'k', 'x')} "WRONGTYPE Operation against a key holding the wrong kind of value"
        {pcall(redis.call, 'nosuch') redis.call('lpush', 'k', 'x')}
            "WRONGTYPE Operation against a key holding the wrong kind of value"
        {error(redis.pcall('lpush', 'k', 'x'))} "WRONGTYPE Operation against a key holding the wrong kind of value"
        {local ok, e = pcall(redis.call, 'lpush', 'k', 'x') error(e)}
            "ERR user_script:1: WRONGTYPE Operation against a key holding the wrong kind of value"
    } {
        test $script {
            assert_error [string map {* \\*} "$error $where"] {lua $script}
            assert_equal v [r GET k]
        }
    }

    test "An error names the line it came from" {
        assert_error "ERR user_script:3: x script: on @user_script:3." {lua "local a = 1\n\nerror('x')"}
        set error "ERR Unknown command called from script script: on @user_script:2."
        assert_error $error {lua "\nredis.call('nosuch')\n"}
        assert_error $error {lua "local function f()\nredis.call('nosuch')\nend\n\nf()"}
    }

    test "What a script has written before it failed stays" {
        assert_error "ERR user_script:1: x $where" {lua {redis.call('set', 'k', 'w') error('x')}}
        assert_equal w [r GET k]
    }

    test "An error returned, not raised, is told without a place" {
        assert_error $wrong_type {lua {return redis.pcall('lpush', 'k', 'x')}}
        assert_error "ERR Unknown command called from script" {lua {return redis.pcall('nosuch')}}
        assert_equal [list 1 "(error) $wrong_type" 3] [lua {return {1, redis.pcall('lpush', 'k', 'x'), 3}}]
    }

    # ---- Errors that a script gets ------------------------------------------------------------------------------

    test "redis.pcall gives a table: err, and that it is counted already" {
        set fields {
            local e = redis.pcall(unpack(ARGV))
            local names = {}
            for name in pairs(e) do names[#names + 1] = name end
            table.sort(names)
            return {table.concat(names, ' '), e.err, type(e.ignore_error_stats_update), tostring(getmetatable(e))}
        }
        assert_equal [list {err ignore_error_stats_update} $wrong_type boolean nil] [lua $fields lpush k x]
        assert_equal {{err ignore_error_stats_update} {ERR Unknown command called from script} boolean nil} \
            [lua $fields nosuch]
    }

    test "pcall gives the text of an error that is a table with err, and other values as they are" {
        assert_equal [list (nil) $wrong_type] [lua {return {pcall(redis.call, 'lpush', 'k', 'x')}}]
        assert_equal {(nil) {ERR Unknown command called from script}} [lua {return {pcall(redis.call, 'nosuch')}}]
        assert_equal {(nil) {MY x}} [lua {return {pcall(error, {err = 'MY x', code = 5})}}]
        assert_equal {(nil) {1 2}} [lua {return {pcall(error, {1, 2})}}]
        assert_equal {(nil) 5} [lua {return {pcall(error, 5)}}]
        assert_equal {(nil) x} [lua {return {pcall(error, 'x')}}]
        assert_equal {(nil) {user_script:1: x}} [lua {return {pcall(function() error('x') end)}}]
        assert_equal {1 a b} [lua {return {pcall(function(...) return ... end, 'a', 'b')}}]
        assert_equal {1 {(error) ERR Unknown command called from script}} [lua {return {pcall(redis.pcall, 'nosuch')}}]
    }

    test "pcall in pcall, and an error in what handles one" {
        assert_equal {1 (nil) {user_script:1: x}} [lua {return {pcall(pcall, function() error('x') end)}}]
        assert_equal {(nil) {handled table}} [lua {
            return {xpcall(function() redis.call('nosuch') end, function(e) return 'handled ' .. type(e) end)}
        }]
        assert_equal (nil) [lindex [lua {return {xpcall(function() error('x') end, function(e) error('y') end)}}] 0]
    }

    test "A script goes on behind an error that it has caught" {
        assert_equal {v 1} [lua {
            redis.pcall('lpush', 'k', 'x')
            pcall(redis.call, 'nosuch')
            pcall(error, {err = 'x'})
            return {redis.call('get', 'k'), redis.call('incr', 'n')}
        }]
    }

    test "An error in a coroutine is its own" {
        assert_equal {(nil) {user_script:1: x}} \
            [lua {return {coroutine.resume(coroutine.create(function() error('x') end))}}]
        assert_equal [list (nil) "(error) $wrong_type"] \
            [lua {return {coroutine.resume(coroutine.create(function() redis.call('lpush', 'k', 'x') end))}}]
    }

    # ---- Replies that are errors --------------------------------------------------------------------------------

    foreach {text error} {
        "'x'" "ERR x"
        "'-x'" "ERR x"
        "'--x'" "ERR -x"
        "''" "ERR "
        "'-'" "ERR "
        "'MY'" "ERR MY"
        "'MY text'" "MY text"
        "'-MY text'" "MY text"
        "'my text'" "my text"
        "'ERR text'" "ERR text"
        "" "ERR wrong number or type of arguments"
        "5" "ERR wrong number or type of arguments"
        "nil" "ERR wrong number or type of arguments"
        "{}" "ERR wrong number or type of arguments"
        "'a', 'b'" "ERR wrong number or type of arguments"
    } {
        test "redis.error_reply($text)" {
            assert_error $error {lua "return redis.error_reply($text)"}
            assert_equal $error [lua "return redis.error_reply($text).err"]
        }
    }

    test "A line break in an error is a blank to the client, and itself to the script" {
        assert_error "a b  c d e" {lua {return redis.error_reply('a b\r\nc\rd\ne')}}
        assert_error "a  b" {lua {return redis.error_reply('a \nb\r\n\r')}}
        assert_equal "a b\r\nc\rd\ne" [lua {return redis.error_reply('a b\r\nc\rd\ne').err}]
    }

    test "redis.error_reply makes a table with err, which may be raised too" {
        assert_equal {table err {ERR x}} [lua {local e = redis.error_reply('x') return {type(e), next(e)}}]
        assert_error "MY x $where" {lua {error(redis.error_reply('MY x'))}}
    }

    test "redis.status_reply" {
        with_clients c {
            assert_equal "+fine\r\n" [$c raw EVAL {return redis.status_reply('fine')} 0]
            assert_equal "+\r\n" [$c raw EVAL {return redis.status_reply('')} 0]
            assert_equal "+a  b\r\n" [$c raw EVAL {return redis.status_reply('a\r\nb')} 0]
        }
        assert_equal {table ok x} [lua {local s = redis.status_reply('x') return {type(s), next(s)}}]
        foreach text {"" 5 nil {{}} "'a', 'b'"} {
            assert_error "ERR wrong number or type of arguments" {lua "return redis.status_reply($text)"}
        }
    }

    # ---- Line breaks --------------------------------------------------------------------------------------------

    test "No text of an error or a status ends its line early" {
        foreach script {
            {return {err = ARGV[1]}}
            {return {ok = ARGV[1]}}
            {return redis.error_reply(ARGV[1])}
            {return redis.status_reply(ARGV[1])}
            {error(ARGV[1])}
            {error({err = ARGV[1]})}
            {redis.call(ARGV[1])}
            {return redis.pcall('client', ARGV[1])}
            {return redis.call('config', ARGV[1], 'x')}
            {return {big_number = ARGV[1]}}
            {return {{err = ARGV[1]}}}
            {return {{ok = ARGV[1]}}}
            {return nosuch[ARGV[1]]}
            {return loadstring(ARGV[1])()}
            {return _G[ARGV[1]]}
        } {
            foreach protocol {2 3} {
                with_clients c {
                    $c HELLO $protocol
                    $c pipeline [list [list EVAL $script 0 "x\r\n:1\r\n+forged\r\n"] {ECHO behind}]
                    $c raw_reply
                    assert_equal "behind" [$c reply]
                }
            }
        }
        foreach words {{EVAL "return '\r\n+forged" 0} {EVAL "#!lua x\r\n+forged\r\n" 0} {SCRIPT LOAD "a\r\n+forged\r\n"}
            {EVAL "#!a\r+b\nreturn 1" 0} {SCRIPT "x\r\n+forged\r\n"}} {
            with_clients c {
                $c pipeline [list [subst -nocommands -novariables $words] {ECHO behind}]
                assert_match "-*" [$c raw_reply]
                assert_equal "behind" [$c reply]
            }
        }
    }
}
