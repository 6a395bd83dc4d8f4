# insecure_api.tcl -- lua-enable-insecure-api: getfenv(), setfenv() and newproxy() for scripts that still need them.
#
# SPDX-License-Identifier: BSD-3-Clause

set where "script: on @user_script:1."

proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

proc kinds {} {
    return [lua {
        local kinds = {}
        for i, name in ipairs{'getfenv', 'setfenv', 'newproxy'} do
            kinds[i] = select(2, pcall(function() return type(_G[name]) end))
        end
        return kinds
    }]
}

set three_functions {function function function}

start_server {overrides {enable-protected-configs yes}} {
    test "The functions come and go at run time, under both names of the setting" {
        assert_match "*nonexistent global variable 'getfenv'" [lindex [kinds] 0]
        r CONFIG SET lua-enable-insecure-api yes
        assert_equal $three_functions [kinds]
        assert_equal {lua-enable-deprecated-api yes} [r CONFIG GET lua-enable-deprecated-api]
        r CONFIG SET lua-enable-deprecated-api no
        assert_match "*nonexistent global variable 'newproxy'" [lindex [kinds] 2]
    }

    test "A change flushes scripts, the same value again does not" {
        set sha [r SCRIPT LOAD {return 1}]
        r CONFIG SET lua-enable-insecure-api yes
        assert_equal 0 [r SCRIPT EXISTS $sha]
        set sha [r SCRIPT LOAD {return 1}]
        r CONFIG SET lua-enable-insecure-api yes
        assert_equal 1 [r SCRIPT EXISTS $sha]
    }

    test "Functions of libraries follow with FUNCTION FLUSH" {
        set library {#!lua name=lib
            redis.register_function('f', function() return (pcall(function() return getfenv end)) end)}
        r CONFIG SET lua-enable-insecure-api no
        r FUNCTION FLUSH
        r FUNCTION LOAD $library
        r CONFIG SET lua-enable-insecure-api yes
        assert_equal (nil) [r FCALL f 0]
        r FUNCTION FLUSH
        r FUNCTION LOAD $library
        assert_equal 1 [r FCALL f 0]
    }

    test "A function gets an environment of its own" {
        assert_equal 5 [lua {local f = function() return y end setfenv(f, {y = 5}) return f()}]
        assert_equal PONG [lua {setfenv(1, {r = redis}) return r.call('ping')}]
        assert_equal {1 1 1} [lua {return {getfenv(1) == _G, getfenv(0) == _G, getfenv(pairs) == _G}}]
    }

    test "The globals stay protected" {
        assert_error "ERR user_script:1: Attempt to modify a readonly table $where" {lua {getfenv(0).x = 1}}
        assert_error "ERR user_script:1: Attempt to modify a readonly table $where" {lua {getfenv(pairs).x = 1}}
        assert_error "ERR Attempt to modify a readonly table $where" {lua {rawset(getfenv(1), 'x', 1)}}
        assert_error "ERR user_script:1: 'setfenv' cannot change environment of given object $where" \
            {lua {setfenv(pairs, {})}}
    }

    test "What setfenv(0) exchanges is back after the script" {
        r FUNCTION FLUSH
        r FUNCTION LOAD {#!lua name=lib
            redis.register_function('g', function() setfenv(0, {}) return 1 end)}
        assert_equal 1 [lua {setfenv(0, {}) return 1}]
        assert_equal $three_functions [kinds]
        assert_equal 1 [r FCALL g 0]
        r FUNCTION LOAD {#!lua name=other
            redis.register_function('h', function() return type(redis) end)}
        assert_equal table [r FCALL h 0]
    }

    test "newproxy gives objects with metatables, and no finalizers" {
        assert_equal 7 [lua {local p = newproxy(true) getmetatable(p).__index = {a = 7} return p.a}]
        assert_equal 9 [lua {local p = newproxy(true) getmetatable(p).__len = function() return 9 end return #p}]
        assert_equal {1 (nil) userdata} [lua {
            local p = newproxy(true)
            return {getmetatable(p) == getmetatable(newproxy(p)), getmetatable(newproxy()) or false, type(newproxy())}
        }]
        foreach wrong {1 'x' {{}} newproxy()} {
            assert_error "ERR user_script:1: bad argument #1 to 'newproxy' (boolean or proxy expected) $where" \
                {lua "newproxy($wrong)"}
        }
        lua {
            local m = getmetatable(newproxy(true))
            m.__gc = function() redis.call('set', 'collected', 1) end
            pcall(rawset, m, '__gc', m.__gc)
            for i = 1, 10000 do local t = {} end
            collectgarbage()
        }
        r SCRIPT FLUSH SYNC
        assert_equal 0 [r EXISTS collected]
    }
}
