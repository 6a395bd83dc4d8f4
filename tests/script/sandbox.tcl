# sandbox.tcl -- the parts of Lua that scripts have; they cannot change anything that outlives them.
#
# Not here    the members of server (library.tcl), sizes and depths (extremes.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

set readonly "Attempt to modify a readonly table"
set where "script: on @user_script:1."

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

# Returns the sorted names in the table of EXPRESSION.
proc names_in {expression} {
    return [lua "local names = {} for name in pairs($expression) do names\[#names + 1\] = tostring(name) end\
        table.sort(names) return names"]
}

start_server {each {r FLUSHALL}} {

    # ---- Contents -----------------------------------------------------------------------------------------------

    foreach {table names} {
        string {byte char dump find format gfind gmatch gsub len lower match rep reverse sub upper}
        table {concat foreach foreachi getn insert maxn remove setn sort}
        math {abs acos asin atan atan2 ceil cos cosh deg exp floor fmod frexp huge ldexp log log10 max min mod modf pi
            pow rad random randomseed sin sinh sqrt tan tanh}
        os {clock}
        coroutine {create resume running status wrap yield}
        bit {arshift band bnot bor bswap bxor lshift rol ror rshift tobit tohex}
        struct {pack size unpack}
        cmsgpack {_COPYRIGHT _DESCRIPTION _NAME _VERSION pack unpack unpack_limit unpack_one}
        cjson {_NAME _VERSION decode decode_invalid_numbers decode_max_depth encode encode_invalid_numbers
            encode_keep_buffer encode_max_depth encode_number_precision encode_sparse_array new null}
    } {
        test "The members of $table" {
            assert_equal [lsort $names] [names_in $table]
        }
    }

    test "The globals" {
        # The two error handlers are hidden from scripts.
        set names [lsearch -all -inline -not -glob [names_in _G] __*__err__handler]
        assert_equal [list {*}{
            ARGV KEYS _G _VERSION assert bit cjson cmsgpack collectgarbage coroutine error gcinfo getmetatable ipairs
            load loadstring math next os pairs pcall rawequal rawget rawset redis select server setmetatable string
            struct table tonumber tostring type unpack xpcall
        }] $names
    }

    foreach name {print newproxy loadfile dofile require io package module setfenv getfenv debug} {
        test "There is no $name" {
            assert_equal nil [lua "return type(rawget(_G, '$name'))"]
            assert_error "ERR user_script:1: Script attempted to access nonexistent global variable '$name' $where" \
                {lua "return $name"}
        }
    }

    test "Lua says that it is Lua 5.1" {
        assert_equal "Lua 5.1" [lua {return _VERSION}]
    }

    # ---- Globals ------------------------------------------------------------------------------------------------

    test "What is not there cannot be read, only asked for by rawget" {
        set error "ERR user_script:1: Script attempted to access nonexistent global variable 'x' $where"
        foreach script {{return x} {return _G.x} {return x.y} {x.y = 1} {local t = _G return t['x']}} {
            assert_error $error {lua $script}
        }
        assert_equal nil [lua {return type(rawget(_G, 'x'))}]
    }

    test "A global cannot be made" {
        foreach script {
            {x = 1} {_G.x = 1} {KEYS = {}} {ARGV = nil} {redis = nil} {function f() end}
            {local t = setmetatable({}, {__newindex = _G}) t.x = 1}
            {for name in pairs(_G) do _G[name] = nil end}
            {table.foreach(_G, function(name) _G[name] = 1 end)}
        } {
            assert_error "ERR user_script:1: $readonly $where" {lua $script}
        }
        assert_error "ERR \[string \"x = 1\"\]:1: $readonly *" {lua {return loadstring('x = 1')()}}
        assert_equal nil [lua {return type(rawget(_G, 'x'))}]
    }

    test "KEYS and ARGV are tables of the script's own" {
        assert_equal 1 [lua {KEYS.x = 1 return KEYS.x}]
        assert_equal dynamic [lua {setmetatable(ARGV, {__index = function() return 'dynamic' end}) return ARGV[1]}]
        assert_equal (nil) [lua {return ARGV[1]}]
        assert_equal nil [lua {return type(getmetatable(ARGV))}]
    }

    # ---- Nothing that is shared can be changed ------------------------------------------------------------------

    foreach table {_G string table math os coroutine bit struct cmsgpack cjson redis getmetatable('').__index} {
        test "$table cannot be changed, by any way" {
            set member [lindex [names_in $table] end]
            foreach script {
                {TABLE.new = 1} {TABLE.MEMBER = nil} {TABLE.MEMBER = 1} {TABLE[1] = 1}
                {rawset(TABLE, 'new', 1)} {rawset(TABLE, 'MEMBER', nil)}
                {setmetatable(TABLE, {})} {setmetatable(TABLE, nil)}
                {table.insert(TABLE, 1)} {table.insert(TABLE, 1, 1)}
                {local t = setmetatable({}, {__newindex = TABLE}) t.new = 1}
                {for name in pairs(TABLE) do TABLE[name] = nil end}
                {table.foreach(TABLE, function(name) TABLE[name] = 1 end)}
                {pcall(rawset, TABLE, 'MEMBER', 1) TABLE.MEMBER = 1}
                {coroutine.wrap(function() TABLE.MEMBER = 1 end)()}
            } {
                assert_error "ERR *$readonly *" {lua [string map [list TABLE $table MEMBER $member] $script]}
            }
            assert_equal $member [lindex [names_in $table] end]
        }
    }

    test "table.remove, table.sort, table.setn leave shared tables as they are" {
        foreach table {_G string redis} {
            set before [names_in $table]
            foreach script {{table.remove(TABLE)} {table.sort(TABLE)} {table.setn(TABLE, 5)}} {
                catch {lua [string map [list TABLE $table] $script]}
            }
            assert_equal $before [names_in $table]
        }
    }

    test "Of what is shared _G and strings have a metatable" {
        assert_equal {table table nil nil nil nil nil} [lua {
            local kinds = {}
            for i, value in ipairs({_G, '', redis, string, 1, true, cjson.null}) do
                kinds[i] = type(getmetatable(value))
            end
            return kinds
        }]
    }

    test "A metatable of _G or of strings cannot be changed" {
        foreach owner {_G ''} {
            foreach script {
                {getmetatable(OWNER).__index = nil} {getmetatable(OWNER).__newindex = nil}
                {getmetatable(OWNER).__add = function() end} {rawset(getmetatable(OWNER), '__index', nil)}
                {setmetatable(getmetatable(OWNER), {})}
            } {
                assert_error "ERR *$readonly *" {lua [string map [list OWNER $owner] $script]}
            }
        }
        assert_error "ERR user_script:1: bad argument #1 to 'setmetatable' (table expected, got string) $where" \
            {lua {setmetatable('', {})}}
        assert_equal xx [lua {return ('x'):rep(2)}]
    }

    test "One's own tables and metatables are one's own" {
        assert_equal {1 2 locked} [lua {
            local t = setmetatable({}, {__index = function() return 2 end, __metatable = 'locked'})
            t.a = 1
            rawset(t, 'b', nil)
            return {t.a, t.b, getmetatable(t)}
        }]
        assert_equal {(nil) {cannot change a protected metatable}} \
            [lua {return {pcall(setmetatable, setmetatable({}, {__metatable = 'locked'}), {})}}]
    }

    # ---- Programs within programs -------------------------------------------------------------------------------

    test "load and loadstring take source" {
        assert_equal 2 [lua {return loadstring('return 1 + 1')()}]
        assert_equal 7 [lua {
            local parts = {'return ', '7'}
            return load(function() return table.remove(parts, 1) end)()
        }]
        assert_equal {(nil) {chunk:1: x}} [lua {return {pcall(loadstring('error("x")', '=chunk'))}}]
        assert_equal {[string "return +"]:1: unexpected symbol near '+'} \
            [lua {return select(2, loadstring('return +'))}]
        assert_error "ERR \[string \"return x\"\]:1: Script attempted to access nonexistent global variable 'x'*" \
            {lua {return loadstring('return x')()}}
    }

    test "load and loadstring refuse compiled code" {
        foreach script {
            {return {loadstring(string.dump(function() return 1 end))}}
            {return {load(function() return string.dump(function() end) end)}}
            {local sent = false return {load(function() if not sent then sent = true return '\27Lua' end end)}}
            {return {loadstring('\27Lua')}}
            {return {loadstring('\27')}}
        } {
            assert_equal {} [lua $script]
        }
        assert_equal nil [lua {return type((loadstring(string.dump(function() return 1 end))))}]
    }

    # ---- Memory, numbers, time ----------------------------------------------------------------------------------

    test "__gc is never called" {
        assert_equal (nil) [lua {
            for i = 1, 100 do setmetatable({}, {__gc = function() redis.call('set', 'k', 'v') end}) end
            collectgarbage()
            return redis.call('get', 'k')
        }]
        assert_equal (nil) [lua {collectgarbage() return redis.call('get', 'k')}]
    }

    test "collectgarbage and gcinfo" {
        assert_equal 1 [lua {return collectgarbage('count') > 0 and gcinfo() > 0}]
        assert_equal 0 [lua {return collectgarbage()}]
        assert_error "ERR user_script:1: bad argument #1 to 'collectgarbage' (invalid option 'nosuch') $where" \
            {lua {collectgarbage('nosuch')}}
    }

    test "A collector that a script has stopped does not stay so" {
        set before [info_field used_memory_vm_eval]
        for {set i 0} {$i < 20} {incr i} {
            lua {collectgarbage('stop') local t = {} for i = 1, 100 do t[i] = string.rep(i, 10000) end}
        }
        wait_for_condition 10 {[lua {for i = 1, 1000 do local s = string.rep(i, 1000) end}] eq "(nil)" && \
            [info_field used_memory_vm_eval] < $before + 20000000}
    }

    test "A seed decides what math.random draws" {
        set three {return {math.random(1000), math.random(1000), math.random(1000)}}
        set first [lua "math.randomseed(1) $three"]
        assert_equal $first [lua "math.randomseed(1) $three"]
        assert_not_equal $first [lua "math.randomseed(2) $three"]
        foreach drawn [lua $three] {assert_between 1 1000 $drawn}
    }

    # Results of the generator that POSIX specifies for lrand48(): other servers return the same.
    test "math.random after a seed draws the numbers of lrand48" {
        set draw {return {string.format('%.15f', math.random()), math.random(1000), math.random(-5, 5)}}
        foreach {seed numbers} {
            0 {0.170828036112165 750 -4}
            1 {0.041630344484761 455 4}
            -1 {0.300025727273908 46 -2}
            42 {0.744525000334030 343 -4}
            4294967297 {0.041630344484761 455 4}
            1.9 {0.041630344484761 455 4}
            1e300 {0.170828036112165 750 -4}
        } {
            assert_equal $numbers [lua "math.randomseed($seed) $draw"]
        }
        assert_equal {745 343 0.11108528222474} \
            [lua {math.randomseed(42) return {math.random(1000), math.random(1000), tostring(math.random())}}]
    }

    test "The next script and SCRIPT FLUSH leave the generator where it is" {
        set four [lua {math.randomseed(5) return {math.random(1000), math.random(1000), math.random(1000)}}]
        lua {math.randomseed(5)}
        set drawn [lua {return math.random(1000)}]
        lappend drawn [lua {return math.random(1000)}]
        r SCRIPT FLUSH
        lappend drawn [lua {return math.random(1000)}]
        assert_equal $four $drawn
    }

    test "Bounds of math.random" {
        assert_equal {-572184556 -2147483648 1410065409} [lua {
            local t = {}
            for i, bounds in ipairs{{0, 2^31 - 1}, {-2^31, 2^31 - 1}, {1e10, 1e10 + 5}} do
                math.randomseed(7)
                t[i] = string.format('%.0f', math.random(unpack(bounds)))
            end
            return t
        }]
        set error "to 'random' (interval is empty) $where"
        assert_error "ERR user_script:1: bad argument #1 $error" {lua {math.random(0)}}
        assert_error "ERR user_script:1: bad argument #1 $error" {lua {math.random(2^31)}}
        assert_error "ERR user_script:1: bad argument #2 $error" {lua {math.random(2, 1)}}
        assert_error "ERR user_script:1: wrong number of arguments $where" {lua {math.random(1, 2, 3)}}
    }

    test "os.clock grows" {
        assert_equal 1 [lua {local a = os.clock() for i = 1, 1000000 do end return os.clock() >= a}]
    }

    # ---- Coroutines ---------------------------------------------------------------------------------------------

    test "Coroutines, with calls in them" {
        assert_equal {1 2 3 dead} [lua {
            local co = coroutine.create(function() for i = 1, 3 do coroutine.yield(redis.call('incr', 'n')) end end)
            local seen = {}
            for i = 1, 3 do seen[i] = select(2, coroutine.resume(co)) end
            coroutine.resume(co)
            seen[4] = coroutine.status(co)
            return seen
        }]
    }

    test "A coroutine that is never ended ends with its script" {
        assert_equal 1 [lua {
            coroutine.resume(coroutine.create(function()
                redis.call('set', 'k', 1)
                coroutine.yield()
                redis.call('set', 'k', 2)
            end))
            return redis.call('get', 'k') + 0
        }]
        assert_equal 50000 [lua {
            local all = {}
            for i = 1, 50000 do
                all[i] = coroutine.create(function() coroutine.yield() end)
                coroutine.resume(all[i])
            end
            return #all
        }]
        assert_equal 1 [r GET k]
    }

    test "A coroutine cannot resume itself, a script cannot yield" {
        assert_equal {1 (nil) {cannot resume running coroutine}} [lua {
            local co
            co = coroutine.create(function() return coroutine.resume(co) end)
            return {coroutine.resume(co)}
        }]
        assert_error "ERR attempt to yield across metamethod/C-call boundary $where" {lua {coroutine.yield()}}
    }
}
