# extremes.tcl -- scripts at the limits of the stack, memory, numbers and the parser.
#
# SPDX-License-Identifier: BSD-3-Clause

set where "script: on @user_script:1."

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

start_server {each {r FLUSHALL}} {

    # ---- Depth --------------------------------------------------------------------------------------------------

    test "Recursion ends with an error, which can be caught" {
        set endless {local function f(n) return 1 + f(n) end}
        assert_error "ERR user_script:1: stack overflow $where" {lua "$endless return f(1)"}
        assert_equal {user_script:1: stack overflow} [lua "$endless return select(2, pcall(f, 1))"]
    }

    test "Recursion through functions of C ends with an error" {
        foreach script {
            {local function f() return string.gsub('x', 'x', f) end f()}
            {local function f() table.sort({1, 2, 3}, f) end f()}
            {local function f() table.foreach({1}, f) end f()}
            {local function f() return coroutine.wrap(f)() end f()}
            {local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end return t.x}
            {local t = setmetatable({}, {}) getmetatable(t).__tostring = tostring return tostring(t)}
            {local t = setmetatable({}, {}) getmetatable(t).__eq = function(a, b) return a == b end
             return t == setmetatable({}, getmetatable(t))}
        } {
            assert_error "ERR *stack overflow*" {lua $script}
            assert_equal PONG [r PING]
        }
    }

    test "Recursion that catches each error ends as well" {
        foreach script {
            {local function f() pcall(f) end f() return 'ok'}
            {local function f() xpcall(f, f) end f() return 'ok'}
            {local function f() redis.pcall('ping') pcall(f) end f() return 'ok'}
            {local function f() coroutine.resume(coroutine.create(f)) end f() return 'ok'}
        } {
            assert_equal ok [lua $script]
        }
    }

    test "A chain of metatables that comes back to itself" {
        assert_error "ERR user_script:1: loop in gettable $where" \
            {lua {local t = setmetatable({}, {}) getmetatable(t).__index = t return t.x}}
        assert_error "ERR user_script:1: loop in gettable $where" \
            {lua {local a, b = {}, {} setmetatable(a, {__index = b}) setmetatable(b, {__index = a}) return a.x}}
        assert_error "ERR user_script:1: loop in settable $where" \
            {lua {local t = setmetatable({}, {}) getmetatable(t).__newindex = t t.x = 1}}
        assert_error "ERR user_script:1: attempt to call local 't' (a table value) $where" \
            {lua {local t = setmetatable({}, {}) getmetatable(t).__call = t t()}}
    }

    # ---- Many values --------------------------------------------------------------------------------------------

    test "unpack refuses more than the stack holds" {
        assert_error "ERR user_script:1: too many results to unpack $where" {lua {return unpack({}, 0, 2^31 - 1)}}
        foreach range {"0, 2^31 - 1" "1, 2^31 - 1" "-2^31, 2^31 - 1" "1, 1e6" "-2^31, 0"} {
            assert_equal {(nil) {too many results to unpack}} [lua "return {pcall(unpack, {}, $range)}"]
        }
        assert_equal 7000 [lua {return select('#', unpack({}, 1, 7000))}]
        assert_equal 1 [lua {return select('#', unpack({}, 2^31 - 1, 2^31 - 1))}]
        assert_equal 0 [lua {return select('#', unpack({}, 5, 1))}]
    }

    test "Too many values for the stack" {
        assert_equal {(nil) {stack overflow (string slice too long)}} \
            [lua {return {pcall(string.byte, string.rep('x', 10000000), 1, -1)}}]
        assert_error "ERR *" {lua {return string.char(string.byte(string.rep('x', 1000000), 1, -1))}}
        assert_equal 5 [lua {return select('#', string.byte('hello', 1, -1))}]
    }

    # ---- Strings ------------------------------------------------------------------------------------------------

    test "Long strings, and what is refused" {
        assert_equal 50000000 [lua {return #string.rep('x', 50000000)}]
        assert_equal {} [lua {return string.rep('x', -1)}]
        assert_equal {} [lua {return string.rep('', 1000)}]
        assert_equal 50000000 \
            [lua {local t = {} for i = 1, 50 do t[i] = string.rep('x', 1000000) end return #table.concat(t)}]
    }

    test "string.format refuses widths of more than two digits" {
        set error {(nil) {invalid format (width or precision too long)}}
        foreach format {%99999d %100d %.100f %100s %-100s} {
            assert_equal $error [lua "return {pcall(string.format, '$format', 1)}"]
        }
        assert_equal {99 101} [lua {return {#string.format('%99d', 1), #string.format('%.99f', 1)}}]
        assert_equal 417 [lua {return #string.format('%99.99f', -1e308) + 7}]
        assert_error "ERR user_script:1: invalid option '%y' to 'format' $where" {lua {string.format('%y', 1)}}
        assert_error "ERR user_script:1: invalid option '%' to 'format' $where" {lua {string.format('%', 1)}}
        foreach option {n p} {
            assert_error "ERR user_script:1: invalid option '%$option' to 'format' $where" \
                {lua "string.format('%$option', 'x')"}
        }
        assert_equal "a 5  2.50 ff \"q\\\"\\\n\\000\" A %" \
            [lua {return string.format('%s %d %5.2f %x %q %c %%', 'a', 5, 2.5, 255, 'q"\n\0', 65)}]
    }

    foreach {pattern error} {
        {[a} "malformed pattern (missing ']')"
        {%} "malformed pattern (ends with '%')"
        {%f} "missing '[' after '%f' in pattern"
        {%b} "unbalanced pattern"
        {(a} "unfinished capture"
        {(a))} "invalid pattern capture"
        {%2} "invalid capture index"
    } {
        test "The pattern $pattern" {
            assert_equal [list (nil) $error] [lua {return {pcall(string.find, 'a', ARGV[1])}} $pattern]
        }
    }

    test "More captures than there may be" {
        assert_equal {(nil) {too many captures}} [lua {return {pcall(string.find, 'a', string.rep('(', 33) .. 'a')}}]
        assert_equal {(nil) {invalid capture index}} [lua {return {pcall(string.gsub, 'a', 'a', '%2')}}]
    }

    test "Positions beyond all bounds" {
        foreach range {"-2^63, 2^63" "0, 2^53" "-2^53, -1" "1/0, -1/0" "0/0, 0/0"} {
            lua "string.sub('hello', $range) string.byte('hello', $range)"
        }
        assert_equal {hello lo {} {}} [lua {
            return {('hello'):sub(-100, 100), ('hello'):sub(-2), ('hello'):sub(6), ('hello'):sub(3, 2)}
        }]
        assert_error "ERR user_script:1: bad argument #1 to 'char' (invalid value) $where" {lua {string.char(256)}}
        assert_error "ERR user_script:1: bad argument #1 to 'char' (invalid value) $where" {lua {string.char(-1)}}
    }

    # ---- Tables -------------------------------------------------------------------------------------------------

    test "Keys of tables that are odd" {
        assert_error "ERR user_script:1: table index is NaN $where" {lua {local t = {} t[0/0] = 1}}
        assert_error "ERR user_script:1: table index is nil $where" {lua {local t = {} t[nil] = 1}}
        assert_equal 1 [lua {local t = {[2^53] = 1, [-1] = 1, [1/0] = 1, [0.5] = 1} return #t == 0}]
        assert_equal 2147483648 [lua {return table.maxn({[2^31] = 1})}]
        assert_equal 0 [lua {local t = {} table.remove(t, 2^31) return #t}]
        assert_error "ERR user_script:1: wrong number of arguments to 'insert' $where" \
            {lua {table.insert({}, 1, 2, 3)}}
    }

    test "table.concat and what it cannot join" {
        assert_error "ERR user_script:1: invalid value (table) at index 2 in table for 'concat' $where" \
            {lua {return table.concat({1, {}, 3})}}
        assert_equal {1,2.5,x} [lua {return table.concat({1, 2.5, 'x'}, ',')}]
    }

    test "table.sort by an order that is none" {
        catch {lua {local t = {} for i = 1, 1000 do t[i] = i end table.sort(t, function() return true end)}}
        catch {lua {local t = {3, 1, 'x', {}} table.sort(t)}}
        catch {lua {local t = {} for i = 1, 100 do t[i] = math.random() end
            table.sort(t, function(a, b) t[math.random(200)] = nil return math.random() < 0.5 end)}}
        assert_equal {1 2 3} [lua {local t = {3, 1, 2} table.sort(t) return t}]
    }

    # ---- The parser ---------------------------------------------------------------------------------------------

    test "Sources that nest, too deep" {
        foreach {script begin end} {
            {return BEGIN1END} ( )
            {return BEGINEND} \{ \}
            {BEGIN END} {do } {end }
            {return BEGINnil END} {function() return } { end}
            {return BEGIN1} {not } {}
            {return BEGIN1} {1 ^ } {}
            {return BEGIN'a'} {'a' .. } {}
        } {
            foreach depth {300 100000} {
                set parts [list BEGIN [string repeat $begin $depth] END [string repeat $end $depth]]
                set source [string map $parts $script]
                assert_error "ERR Error compiling script (new function): user_script:1: *" {r SCRIPT LOAD $source}
            }
        }
        assert_equal PONG [r PING]
    }

    test "Sources with too many locals, upvalues" {
        assert_error "ERR Error compiling script (new function): user_script:1: *" \
            {r SCRIPT LOAD "local [string repeat a, 300]a"}
        assert_equal 200 [lua "local [string repeat a, 199]b return 200"]
    }

    test "Sources that end early, anywhere" {
        set source "local t = {a = 'x', \[1\] = \[==\[long\]==\]} --\[\[c\]\] for i = 1, 2 do t.a = \"\\065\\n\" .. 0x1F end\
            repeat local function f(...) return ... end until f(1e5) ~= nil return t"
        assert_match * [r EVAL $source 0]
        for {set length 0} {$length < [string length $source]} {incr length} {
            catch {r SCRIPT LOAD [string range $source 0 $length]}
        }
        foreach tail [list \[ \[= \[== \[==\[ --\[==\[ ' \" '\\ '\\9 '\\99 0x 1e 1..2 .. ... \x00 \xff] {
            catch {r SCRIPT LOAD "return $tail"}
            catch {r SCRIPT LOAD "return $tail[string repeat = 100000]"}
        }
        assert_equal PONG [r PING]
    }
}
