# functions.tcl -- libraries of functions: their text, registered functions, arguments and permissions.
#
# SPDX-License-Identifier: BSD-3-Clause

set library_names "ERR Library names can only contain letters, numbers, or underscores(_) and must be at least one character long"
set function_names "ERR Function names can only contain letters, numbers, or underscores(_) and must be at least one character long"
set oom "OOM command not allowed when used memory > 'maxmemory'."
set no_write "ERR Write commands are not allowed from read-only scripts."

# Returns the text of a library NAME.
proc library {body {name lib}} {
    return "#!lua name=$name\n$body"
}

proc load_library {body {name lib}} {
    assert_equal $name [r FUNCTION LOAD REPLACE [library $body $name]]
}

# Returns a library with one function f without flags.
proc one_function {body {name lib}} {
    load_library "redis.register_function('f', function(keys, args) $body end)" $name
}

# Returns the functions of the only library from FUNCTION LIST.
proc registered {} {
    return [dict get [lindex [r FUNCTION LIST] 0] functions]
}

start_server {each {r CONFIG SET maxmemory 0; r FLUSHALL; r FUNCTION FLUSH}} {

    # ---- The text of a library ----------------------------------------------------------------------------------

    foreach {text error} [list \
        "" "ERR Missing library metadata" \
        "x" "ERR Missing library metadata" \
        "return 1" "ERR Missing library metadata" \
        " #!lua name=lib\n" "ERR Missing library metadata" \
        "#!lua" "ERR Invalid library metadata" \
        "#!lua name=lib" "ERR Invalid library metadata" \
        "#!lua name=\"lib\nreturn 1" "ERR Invalid library metadata" \
        "#!lua\n" "ERR Library name was not given" \
        "#!lua \nreturn 1" "ERR Library name was not given" \
        "#!\nreturn 1" "ERR Library name was not given" \
        "#!js\nreturn 1" "ERR Library name was not given" \
        "#!lua name=\nx" $library_names \
        "#!lua name=a-b\nx" $library_names \
        "#!js name=a-b\nx" $library_names \
        "#!lua name=lib name=lib2\nx" "ERR Invalid metadata value, name argument was given multiple times" \
        "#!lua foo=bar name=lib\nx" "ERR Invalid metadata value given: foo=bar" \
        "#!lua name=lib foo\nx" "ERR Invalid metadata value given: foo" \
        "#! lua name=lib\nx" "ERR Invalid metadata value given: lua" \
        "#!js name=lib\nx" "ERR Engine 'js' not found" \
        "#! name=lib\nx" "ERR Engine '' not found" \
        "#!lua name=lib\n" "ERR No functions registered" \
        "#!LUA NAME=lib\nreturn 1" "ERR No functions registered" \
        "#!lua name='lib'\nreturn 1" "ERR No functions registered" \
        "#!lua name=lib\nlocal s = ('a'):rep(10)" "ERR No functions registered" \
        "#!lua name=lib\nx" "ERR Error compiling function: user_function:2: '=' expected near '<eof>'" \
        "#!lua name=lib\nreturn 1 2" "ERR Error compiling function: user_function:2: '<eof>' expected near '2'" \
        "#!lua name=lib\nsyntax error" "ERR Error compiling function: user_function:2: '=' expected near 'error'" \
        "#!lua name=lib\n\x1bLua" "ERR Error compiling function: user_function:2: unexpected symbol near 'char(27)'" \
    ] {
        test "No library: '[string map {\n \\n \x1b \\x1b} $text]'" {
            assert_error $error {r FUNCTION LOAD $text}
            assert_error $error {r FUNCTION LOAD REPLACE $text}
            assert_equal {} [r FUNCTION LIST]
        }
    }

    test "The first line in other words" {
        foreach head {"#!LUA name=lib" "#!lua NAME=lib" "#!lua  'name=lib' " "#!lua\tname=lib" "#!lua name=lib\r"} {
            assert_equal lib [r FUNCTION LOAD REPLACE "$head\nredis.register_function('f', function() end)"]
        }
    }

    test "FUNCTION LOAD and its options" {
        assert_error "ERR wrong number of arguments for 'function|load' command" {r FUNCTION LOAD}
        assert_error "ERR Unknown option given: x" {r FUNCTION LOAD x [library ""]}
        assert_error "ERR Missing library metadata" {r FUNCTION LOAD REPLACE}
        assert_error "ERR No functions registered" {r FUNCTION LOAD replace REPLACE [library ""]}
        assert_error "ERR wrong number of arguments for 'function' command" {r FUNCTION}
        assert_error "ERR unknown subcommand 'NOSUCH'. Try FUNCTION HELP." {r FUNCTION NOSUCH}
    }

    # ---- While it is loaded -------------------------------------------------------------------------------------

    foreach {body error} {
        {local x = nil + 1} "user_function:2: attempt to perform arithmetic on a nil value"
        {local x = nil .. 1} "user_function:2: attempt to concatenate a nil value"
        {local t = {} t[nil] = 1} "user_function:2: table index is nil"
        {local function r() return 1 + r() end r()} "user_function:2: stack overflow"
        {redis.x = 1} "user_function:2: Attempt to modify a readonly table"
        {redis = nil} "user_function:2: Attempt to modify a readonly table"
        {local r = redis r.register_function = nil} "user_function:2: Attempt to modify a readonly table"
        {foo = 1} "user_function:2: Attempt to modify a readonly table"
        {_G = 1} "user_function:2: Attempt to modify a readonly table"
        {redis.register_function('f', function() end) local x = nil + 1} "user_function:2: attempt to perform arithmetic on a nil value"
    } {
        test "A text that fails is no library: $body" {
            assert_error "ERR Error registering functions: ERR $error" {r FUNCTION LOAD [library $body]}
            assert_equal {} [r FUNCTION LIST]
        }
    }

    foreach {name expression} {
        foo foo   error error('x')   pcall pcall()   _G _G   math math.random()   string string.rep('a',1)
        KEYS KEYS   tostring tostring(1)   setmetatable setmetatable   loadstring loadstring   table table
        call redis.call('ping')   pcall redis.pcall('ping')   setresp redis.setresp(3)   xx redis.xx
        sha1hex redis.sha1hex('')   REPL_ALL redis.REPL_ALL   set_repl redis.set_repl(1)   debug redis.debug
        breakpoint redis.breakpoint()   error_reply redis.error_reply('x')   status_reply redis.status_reply
        acl_check_cmd redis.acl_check_cmd   replicate_commands redis.replicate_commands
    } {
        test "No $expression while a library is loaded" {
            set error "ERR Error registering functions: ERR user_function:2: Script attempted to access nonexistent global variable '$name'"
            assert_error $error {r FUNCTION LOAD [library "local x = $expression"]}
        }
    }

    foreach {name value} {
        LOG_DEBUG 0 LOG_VERBOSE 1 LOG_NOTICE 2 LOG_WARNING 3 REDIS_VERSION 7.2.4 REDIS_VERSION_NUM 459268
        VALKEY_VERSION 9.1.2 VALKEY_VERSION_NUM 590082 SERVER_NAME valkey
    } {
        test "redis.$name while a library is loaded" {
            load_library "local x = server.$name redis.register_function('f', function() return x end)"
            assert_equal $value [r FCALL f 0]
        }
    }

    test "What a library takes from redis while it is loaded stays of that kind" {
        load_library {
            local r = redis
            redis.register_function('kind', function() return {type(r), r == redis and 'same' or 'other', type(server)} end)
            redis.register_function('call', function() return r.call('ping') end)
            redis.register_function('reg', function() return r.register_function('x', function() end) end)
            redis.register_function('reg0', function() return r.register_function() end)
            redis.register_function('reg2', function() return redis.register_function('x', function() end) end)
        }
        assert_equal {table other table} [r FCALL kind 0]
        assert_error "ERR user_function:5: Script attempted to access nonexistent global variable 'call' script: on @user_function:5." {r FCALL call 0}
        assert_error "ERR server.register_function can only be called on FUNCTION LOAD command script: on @user_function:6." {r FCALL reg 0}
        assert_error "ERR server.register_function can only be called on FUNCTION LOAD command script: on @user_function:7." {r FCALL reg0 0}
        assert_error "ERR user_function:8: attempt to call field 'register_function' (a nil value) script: on @user_function:8." {r FCALL reg2 0}
        assert_equal (nil) [r EVAL "return redis.register_function" 0]
    }

    test "A text that takes too long is stopped" {
        assert_error "ERR Error registering functions: ERR FUNCTION LOAD timeout" \
            {r FUNCTION LOAD [library "redis.register_function('f', function() end) while true do end"]}
        assert_equal {} [r FUNCTION LIST]
        assert_equal PONG [r PING]
    }

    # ---- redis.register_function --------------------------------------------------------------------------------

    foreach {arguments error} {
        {} "wrong number of arguments to server.register_function"
        {'f', function() end, 1} "wrong number of arguments to server.register_function"
        {'f', function() end, nil} "wrong number of arguments to server.register_function"
        {'f'} "calling server.register_function with a single argument is only applicable to Lua table (representing named arguments)."
        {1} "calling server.register_function with a single argument is only applicable to Lua table (representing named arguments)."
        {'f', 1} "second argument to server.register_function must be a function"
        {{}, function() end} "first argument to server.register_function must be a string"
        {{}} "server.register_function must get a function name argument"
        {{callback=function() end}} "server.register_function must get a function name argument"
        {{function_name='f'}} "server.register_function must get a callback argument"
        {{function_name={}, callback=function() end}} "function_name argument given to server.register_function must be a string"
        {{function_name='f', callback=1}} "callback argument given to server.register_function must be a function"
        {{function_name='f', callback=function() end, foo=1}} "unknown argument given to server.register_function"
        {{function_name='f', callback=function() end, [1]=1}} "unknown argument given to server.register_function"
        {{'f', function() end}} "unknown argument given to server.register_function"
        {{[{}]=1}} "named argument key given to server.register_function is not a string"
        {{function_name='f', callback=function() end, flags=1}} "flags argument to server.register_function must be a table representing function flags"
        {{function_name='f', callback=function() end, flags='no-writes'}} "flags argument to server.register_function must be a table representing function flags"
        {{function_name='f', callback=function() end, flags={'nope'}}} "unknown flag given"
        {{function_name='f', callback=function() end, flags={1}}} "unknown flag given"
        {{function_name='f', callback=function() end, flags={{}}}} "unknown flag given"
        {{function_name='f', callback=function() end, description={}}} "description argument given to server.register_function must be a string"
    } {
        test "redis.register_function($arguments) is refused" {
            assert_error "ERR Error registering functions: ERR $error" {r FUNCTION LOAD [library "redis.register_function($arguments)"]}
        }
    }

    foreach name {"" a-b "a b" a.b "a\\0b" "\\195\\164"} {
        test "'$name' is no function's name" {
            assert_error $function_names {r FUNCTION LOAD [library "redis.register_function('$name', function() end)"]}
            assert_error $function_names {r FUNCTION LOAD [library "redis.register_function{function_name='$name', callback=function() end}"]}
        }
    }

    foreach {arguments told} {
        {'f', function() end} {name f description (nil) flags {}}
        {1, function() end} {name 1 description (nil) flags {}}
        {{function_name=1, callback=function() end}} {name 1 description (nil) flags {}}
        {{function_name='f', callback=function() end, description='what it does'}} {name f description {what it does} flags {}}
        {{function_name='f', callback=function() end, description=1}} {name f description 1 flags {}}
        {{FUNCTION_NAME='f', Callback=function() end}} {name f description (nil) flags {}}
        {{function_name='f', callback=function() end, flags={}}} {name f description (nil) flags {}}
        {{function_name='f', callback=function() end, flags={'NO-WRITES','no-writes'}}} {name f description (nil) flags no-writes}
        {{function_name='f', callback=function() end, flags={a='no-writes'}}} {name f description (nil) flags {}}
        {{function_name='f', callback=function() end, flags={'no-writes',nil,'allow-oom'}}} {name f description (nil) flags no-writes}
        {{function_name='f', callback=function() end, flags={'allow-cross-slot-keys','no-cluster','allow-stale','allow-oom','no-writes'}}}
            {name f description (nil) flags {no-writes allow-oom allow-stale no-cluster allow-cross-slot-keys}}
    } {
        test "redis.register_function($arguments)" {
            load_library "redis.register_function($arguments)"
            assert_equal [list $told] [registered]
        }
    }

    test "A long name, and server.register_function" {
        set name [string repeat n 300]
        load_library "server.register_function('$name', function() return 1 end)"
        assert_equal 1 [r FCALL $name 0]
    }

    # ---- Names ---------------------------------------------------------------------------------------------------

    test "A function belongs to one library, and a name to one of a library" {
        one_function "return 1"
        assert_error "ERR Library 'lib' already exists" {r FUNCTION LOAD [library "while true do end"]}
        assert_error "ERR Function f already exists" {r FUNCTION LOAD [library "redis.register_function('f', function() end)" two]}
        assert_error "ERR Function F already exists" {r FUNCTION LOAD REPLACE [library "redis.register_function('F', function() end)" two]}
        assert_error "ERR Function already exists in the library" \
            {r FUNCTION LOAD [library "redis.register_function('g', function() end) redis.register_function('g', function() end)" two]}
        assert_equal 1 [llength [r FUNCTION LIST]]
        assert_equal 1 [r FCALL f 0]
    }

    test "Functions are called in any case; libraries have theirs" {
        one_function "return 1"
        assert_equal 1 [r FCALL F 0]
        load_library "redis.register_function('g', function() return 2 end)" LIB
        assert_equal 2 [llength [r FUNCTION LIST]]
        assert_error "ERR Library not found" {r FUNCTION DELETE Lib}
        assert_equal OK [r FUNCTION DELETE LIB]
        assert_error "ERR Function not found" {r FCALL g 0}
        assert_equal 1 [r FCALL f 0]
    }

    test "A library that is replaced takes its functions and what they kept along" {
        load_library "local n = 0 redis.register_function('count', function() n = n + 1 return n end) redis.register_function('old', function() return n end)"
        assert_equal {1 2 2} [list [r FCALL count 0] [r FCALL COUNT 0] [r FCALL old 0]]
        assert_error "ERR Error compiling function:*" {r FUNCTION LOAD REPLACE [library "error here"]}
        assert_equal 3 [r FCALL count 0]
        load_library "local n = 0 redis.register_function('count', function() n = n + 1 return n end)"
        assert_equal 1 [r FCALL count 0]
        assert_error "ERR Function not found" {r FCALL old 0}
    }

    # ---- Calling -------------------------------------------------------------------------------------------------

    test "Keys and arguments are what the function is called with" {
        one_function "return {#keys, #args, keys, args}"
        assert_equal {0 0 {} {}} [r FCALL f 0]
        assert_equal {2 2 {a b} {c d}} [r FCALL f 2 a b c d]
        load_library "redis.register_function('f', function(...) return {select('#', ...), type(...)} end)"
        assert_equal {2 table} [r FCALL f 0]
        one_function "return KEYS\[1]"
        assert_error "ERR user_function:2: Script attempted to access nonexistent global variable 'KEYS' script: on @user_function:2." {r FCALL f 1 a}
    }

    foreach command {FCALL FCALL_RO} {
        test "$command with what is no number of keys" {
            one_function "return 1"
            assert_error "ERR Bad number of keys provided" {r $command f x}
            assert_error "ERR Bad number of keys provided" {r $command f ""}
            assert_error "ERR Number of keys can't be negative" {r $command f -1}
            assert_error "ERR Number of keys can't be greater than number of args" {r $command f 3 a}
            assert_error "ERR Function not found" {r $command nosuch x}
            assert_error "ERR wrong number of arguments for '[string tolower $command]' command" {r $command f}
        }
    }

    foreach {body error} {
        {error('x')} "ERR user_function:2: x script: on @user_function:2."
        {error({err='MY text'})} "MY text script: on @user_function:2."
        {error({})} "ERR unknown error script: on @user_function:2."
        {return redis.error_reply('MY text')} "MY text"
        {local x = nil + 1} "ERR user_function:2: attempt to perform arithmetic on a nil value script: on @user_function:2."
        {return redis.call('nosuch')} "ERR Unknown command called from script script: on @user_function:2."
        {return redis.pcall('nosuch')} "ERR Unknown command called from script"
        {return redis.call('set','x')} "ERR Wrong number of args calling command from script script: on @user_function:2."
        {foo = 1} "ERR user_function:2: Attempt to modify a readonly table script: on @user_function:2."
        {redis.x = 1} "ERR user_function:2: Attempt to modify a readonly table script: on @user_function:2."
        {return foo} "ERR user_function:2: Script attempted to access nonexistent global variable 'foo' script: on @user_function:2."
        {return redis.call('fcall', 'f', 0)} "ERR This Valkey command is not allowed from script script: on @user_function:2."
        {return redis.call('eval', '', 0)} "ERR This Valkey command is not allowed from script script: on @user_function:2."
        {return redis.call('function', 'list')} "ERR This Valkey command is not allowed from script script: on @user_function:2."
        {return redis.call('function', 'stats')} "ERR This Valkey command is not allowed from script script: on @user_function:2."
    } {
        test "A function that fails: $body" {
            one_function $body
            assert_error $error {r FCALL f 0}
        }
    }

    test "What functions find among the globals" {
        load_library {
            local function names(t)
                local list = {}
                for k in pairs(t) do list[#list + 1] = k end
                table.sort(list)
                return list
            end
            redis.register_function('globals', function() return names(_G) end)
            redis.register_function('api', function() return names(redis) end)
        }
        # Libraries that some builds lack (cjson and others) are tested in their own files.
        assert_equal [list {*}{_G _VERSION assert collectgarbage coroutine error gcinfo getmetatable ipairs load loadstring math next os
            pairs pcall rawequal rawget rawset redis select server setmetatable string table tonumber tostring type unpack xpcall}] \
            [lmap name [r FCALL globals 0] {if {$name in {bit cjson cmsgpack struct}} continue; set name}]
        assert_equal [list {*}{LOG_DEBUG LOG_NOTICE LOG_VERBOSE LOG_WARNING REDIS_VERSION REDIS_VERSION_NUM REPL_ALL REPL_AOF REPL_NONE
            REPL_REPLICA REPL_SLAVE SERVER_NAME VALKEY_VERSION VALKEY_VERSION_NUM acl_check_cmd call error_reply log pcall
            set_repl setresp sha1hex status_reply}] [r FCALL api 0]
    }

    # ---- Flags ---------------------------------------------------------------------------------------------------

    set three {
        local run = function(keys, args) return redis.call(unpack(args)) end
        redis.register_function{function_name='ro', callback=run, flags={'no-writes'}}
        redis.register_function{function_name='oom', callback=run, flags={'allow-oom'}}
        redis.register_function('rw', run)
    }

    test "no-writes" {
        load_library $three
        r SET x 1
        assert_equal 1 [r FCALL ro 0 GET x]
        assert_equal 1 [r FCALL_RO ro 0 GET x]
        assert_error "$no_write script: on @user_function:3." {r FCALL ro 0 SET x 2}
        assert_error "$no_write script: on @user_function:3." {r FCALL_RO ro 0 SET x 2}
        assert_error "ERR Can not execute a script with write flag using *_ro command." {r FCALL_RO rw 0 GET x}
        assert_equal OK [r FCALL rw 0 SET x 2]
        assert_equal 2 [r GET x]
    }

    test "allow-oom" {
        load_library $three
        r CONFIG SET maxmemory-policy noeviction maxmemory 1
        assert_equal (nil) [r FCALL ro 0 GET x]
        assert_equal (nil) [r FCALL_RO ro 0 GET x]
        assert_error $oom {r FCALL rw 0 GET x}
        assert_error $oom {r FCALL_RO rw 0 GET x}
        assert_equal OK [r FCALL oom 0 SET x 1]
        assert_error $oom {r FUNCTION LOAD [library "" two]}
        assert_error $oom {r FUNCTION RESTORE x}
        assert_equal OK [r FUNCTION DELETE lib]
        assert_equal OK [r FUNCTION FLUSH]
        r CONFIG SET maxmemory 0
    }

    # ---- Users ---------------------------------------------------------------------------------------------------

    test "Functions and users" {
        load_library $three
        r ACL SETUSER u on nopass +fcall ~a*
        r ACL SETUSER v on nopass +@scripting +get ~a* -function|load
        with_clients {u v} {
            $u AUTH u x
            $v AUTH v x
            assert_error "NOPERM No permissions to access a key" {$u FCALL rw 1 b GET b}
            assert_error "ERR ACL failure in script: User u has no permissions to run the 'get' command script: on @user_function:3." \
                {$u FCALL rw 1 a GET a}
            assert_error "NOPERM User u has no permissions to run the 'fcall_ro' command" {$u FCALL_RO ro 1 a GET a}
            assert_error "NOPERM User u has no permissions to run the 'function|list' command" {$u FUNCTION LIST}
            assert_equal (nil) [$v FCALL rw 1 a GET a]
            assert_error "ERR ACL failure in script: No permissions to access a key script: on @user_function:3." {$v FCALL rw 1 a GET b}
            assert_error "NOPERM User v has no permissions to run the 'function|load' command" {$v FUNCTION LOAD x}
            assert_equal 1 [llength [$v FUNCTION LIST]]
        }
        r ACL DELUSER u v
    }

    test "Keys of FCALL" {
        assert_equal {a b} [r COMMAND GETKEYS FCALL f 2 a b c]
        assert_equal {} [r COMMAND GETKEYS FCALL f 0]
        assert_equal {} [r COMMAND GETKEYS FCALL_RO f 3 a]
    }

    test "In a transaction" {
        r MULTI
        r FUNCTION LOAD [library "redis.register_function('f', function() return 1 end)"]
        r FCALL f 0
        r FUNCTION DELETE lib
        r FCALL f 0
        r FUNCTION KILL
        assert_equal {lib 1 OK {(error) ERR Function not found} {(error) NOTBUSY No scripts in execution right now.}} [r EXEC]
    }
}
