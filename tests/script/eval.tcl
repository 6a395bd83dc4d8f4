# eval.tcl -- EVAL, EVALSHA and their read-only forms: arguments of a script, and the flags in its first line.
#
# SPDX-License-Identifier: BSD-3-Clause

# The digest of "return 1".
set one e0e1f9fabfc9d4800c877a703b823ac0578ff8db
set oom "OOM command not allowed when used memory > 'maxmemory'."
set no_write "ERR Write commands are not allowed from read-only scripts."

start_server {each {r FLUSHALL; r SCRIPT FLUSH}} {

    # ---- Arguments ----------------------------------------------------------------------------------------------

    test "The number of keys divides the words behind it into KEYS and ARGV" {
        set script {return {#KEYS, #ARGV, KEYS[1] or '-', KEYS[2] or '-', ARGV[1] or '-', ARGV[2] or '-'}}
        assert_equal {0 0 - - - -} [r EVAL $script 0]
        assert_equal {0 2 - - a b} [r EVAL $script 0 a b]
        assert_equal {1 1 a - b -} [r EVAL $script 1 a b]
        assert_equal {2 0 a b - -} [r EVAL $script 2 a b]
        assert_equal {2 2 a b c d} [r EVAL $script 2 a b c d]
    }

    test "Arguments may be any bytes, and are strings" {
        set bytes "\x00\r\n\xff"
        assert_equal [list $bytes {} string] [r EVAL {return {KEYS[1], ARGV[1], type(ARGV[2])}} 1 $bytes {} 5]
    }

    test "KEYS and ARGV are the script's own, and new ones for the next script" {
        assert_equal {3 x} [r EVAL {KEYS[3] = 'x'; return {#KEYS, KEYS[3]}} 2 a b]
        assert_equal {2 (nil)} [r EVAL {return {#KEYS, KEYS[3] or false}} 2 a b]
    }

    foreach {numkeys words error} {
        x {} "ERR value is not an integer or out of range"
        "" {} "ERR value is not an integer or out of range"
        " 1" a "ERR value is not an integer or out of range"
        1.0 a "ERR value is not an integer or out of range"
        99999999999999999999 a "ERR value is not an integer or out of range"
        -1 {} "ERR Number of keys can't be negative"
        1 {} "ERR Number of keys can't be greater than number of args"
        3 {a b} "ERR Number of keys can't be greater than number of args"
        9223372036854775807 a "ERR Number of keys can't be greater than number of args"
    } {
        test "'$numkeys' is no number of keys before '$words'" {
            assert_error $error {r EVAL "return 1" $numkeys {*}$words}
            assert_error $error {r EVAL_RO "return 1" $numkeys {*}$words}
            r EVAL "return 1" 0
            assert_error $error {r EVALSHA $one $numkeys {*}$words}
        }
    }

    foreach command {EVAL EVALSHA EVAL_RO EVALSHA_RO} {
        test "$command without a number of keys" {
            set error "ERR wrong number of arguments for '[string tolower $command]' command"
            assert_error $error {r $command}
            assert_error $error {r $command "return 1"}
        }
    }

    test "A large script, many arguments, large arguments" {
        assert_equal 200000 [r EVAL "return [string repeat { } 1000000]#ARGV\[1\]" 0 [string repeat x 200000]]
        set words [lrepeat 20000 k]
        assert_equal {20000 k} [r EVAL {return {#KEYS, KEYS[20000]}} 20000 {*}$words]
        assert_equal {0 20000 k} [r EVAL {return {#KEYS, #ARGV, ARGV[20000]}} 0 {*}$words]
    }

    test "Long strings may have two brackets in them" {
        assert_equal {a[[b} [r EVAL {return [[a[[b]]} 0]
        assert_equal {a[[x]=} [r EVAL {return [[a[[x]=]]} 0]
        assert_equal [list 1 {a[[b} 4] [r EVAL "--\[\[ x\[\[ \]\]\nlocal s = \[\[a\[\[b\]\]\nreturn {1, s, #s}" 0]
        assert_equal {a[[b} [r EVAL {return loadstring('return [[a[[b]]')()} 0]
        assert_error "ERR user_script:3: x *" {r EVAL "local s = \[\[\na\[\[b\]\]\nerror('x')" 0}
    }

    # ---- Invalid scripts ----------------------------------------------------------------------------------------

    foreach {script error} {
        "return +" "unexpected symbol near '+'"
        "xx" "'=' expected near '<eof>'"
        "return 'a" "unfinished string near '<eof>'"
        "return 1 2" "'<eof>' expected near '2'"
        "for i=1,2 do" "'end' expected near '<eof>'"
        "break" "no loop to break near '<eof>'"
        "# comment" "unexpected symbol near '#'"
        "\x1bLua" "unexpected symbol near 'char(27)'"
    } {
        test "'[string map [list \x1b {\x1b}] $script]' is refused before it runs, and not kept" {
            assert_error "ERR Error compiling script (new function): user_script:1: $error" {r EVAL $script 0}
            assert_error "ERR Error compiling script (new function): user_script:1: $error" {r EVAL_RO $script 0}
            assert_error "ERR Error compiling script (new function): user_script:1: $error" {r SCRIPT LOAD $script}
            assert_equal 0 [info_field number_of_cached_scripts]
        }
    }

    test "An error names the line" {
        assert_error "ERR Error compiling script (new function): user_script:3: unexpected symbol near '+'" \
            {r EVAL "\n\nreturn +" 0}
        assert_error "ERR user_script:3: x script: on @user_script:3." {r EVAL "\n\nerror('x')" 0}
    }

    test "A script may be empty" {
        foreach script {"" return "-- nothing"} {
            assert_equal (nil) [r EVAL $script 0]
        }
    }

    # ---- By digest ----------------------------------------------------------------------------------------------

    test "EVALSHA runs a script that EVAL has run" {
        assert_error "NOSCRIPT No matching script." {r EVALSHA $one 0}
        assert_error "NOSCRIPT No matching script." {r EVALSHA_RO $one 0}
        assert_equal 1 [r EVAL "return 1" 0]
        assert_equal 1 [r EVALSHA $one 0]
        assert_equal 1 [r EVALSHA_RO $one 0]
        assert_equal 1 [r EVALSHA [string toupper $one] 0]
    }

    test "EVALSHA gives keys and arguments too" {
        r EVAL {return {KEYS[1], ARGV[1]}} 1 a b
        assert_equal {c d} [r EVALSHA [r SCRIPT LOAD {return {KEYS[1], ARGV[1]}}] 1 c d]
    }

    test "EVALSHA knows a script that has failed when it ran" {
        assert_error "ERR user_script:1: x script: on @user_script:1." {r EVAL "error('x')" 0}
        assert_error "ERR user_script:1: x script: on @user_script:1." {r EVALSHA [r SCRIPT LOAD "error('x')"] 0}
        assert_equal 1 [info_field number_of_cached_scripts]
    }

    test "What is not as long as a digest is no script, whatever the number of keys" {
        foreach digest [list abc {} [string range $one 0 38] ${one}0 "return 1"] {
            foreach numkeys {0 -1 x 5} {
                assert_error "NOSCRIPT No matching script." {r EVALSHA $digest $numkeys}
            }
        }
        assert_error "NOSCRIPT No matching script." {r EVALSHA [string repeat z 40] 0}
        assert_error "ERR Number of keys can't be negative" {r EVALSHA [string repeat z 40] -1}
    }

    # ---- Read only ----------------------------------------------------------------------------------------------

    test "EVAL_RO and EVALSHA_RO refuse commands that write" {
        r SET k v
        foreach {script reply} {
            {return redis.call('get', KEYS[1])} v
            {return redis.call('strlen', KEYS[1])} 1
            {return redis.call('ttl', KEYS[1])} -1
        } {
            assert_equal $reply [r EVAL_RO $script 1 k]
            assert_equal $reply [r EVALSHA_RO [r SCRIPT LOAD $script] 1 k]
        }
        foreach command {"'set', KEYS[1], 1" "'del', KEYS[1]" "'publish', 'c', 'x'" "'pfcount', KEYS[1]" "'flushall'"} {
            set script "return redis.call($command)"
            assert_error "$no_write script: on @user_script:1." {r EVAL_RO $script 1 k}
            assert_error "$no_write script: on @user_script:1." {r EVALSHA_RO [r SCRIPT LOAD $script] 1 k}
            assert_error $no_write {r EVAL_RO "return redis.pcall($command)" 1 k}
        }
        assert_equal v [r GET k]
    }

    test "A script that is refused at its first write has not changed anything, one may go on behind a pcall" {
        assert_equal {(nil)} [r EVAL_RO {redis.pcall('set', KEYS[1], 1); return redis.call('get', KEYS[1])} 1 k]
        assert_equal 0 [r DBSIZE]
    }

    # ---- The first line -----------------------------------------------------------------------------------------

    foreach {line reply} {
        "#!lua" 1
        "#!LUA" 1
        "#!lua " 1
        "#!lua\r" 1
        "#!lua flags=" 1
        "#!lua flags=no-writes" 1
        "#!lua flags=allow-oom" 1
        "#!lua flags=allow-stale" 1
        "#!lua flags=no-cluster" 1
        "#!lua flags=allow-cross-slot-keys" 1
        "#!lua flags=no-writes,allow-oom,allow-stale,no-cluster,allow-cross-slot-keys" 1
        "#!lua flags=allow-oom,allow-oom" 1
        "#!lua flags=nosuch" "ERR Unexpected flag in script shebang: nosuch"
        "#!lua flags=NO-WRITES" "ERR Unexpected flag in script shebang: NO-WRITES"
        "#!lua flags=no-writes," "ERR Unexpected flag in script shebang: "
        "#!lua flags=no-writes, allow-oom" "ERR Unexpected flag in script shebang: "
        "#!lua flags=allow-oom,nosuch" "ERR Unexpected flag in script shebang: nosuch"
        "#!lua name=x" "ERR Unknown lua shebang option: name=x"
        "#!lua FLAGS=no-writes" "ERR Unknown lua shebang option: FLAGS=no-writes"
        "#!lua nosuch" "ERR Unknown lua shebang option: nosuch"
        "#! lua" "ERR Unknown lua shebang option: lua"
        "#!nosuch" "ERR Could not find scripting engine 'nosuch'"
        "#!" "ERR Could not find scripting engine ''"
        "#!lua 'x" "ERR Invalid engine in script shebang"
    } {
        test "The first line '[string map {\r \\r} $line]'" {
            foreach command {EVAL EVAL_RO} {
                if {$command eq "EVAL_RO" && ![string match *no-writes* $line] && $reply eq 1} {
                    assert_error "ERR Can not execute a script with write flag using \\*_ro command." \
                        {r EVAL_RO "$line\nreturn 1" 0}
                } elseif {$reply eq 1} {
                    assert_equal 1 [r $command "$line\nreturn 1" 0]
                } else {
                    assert_error $reply {r $command "$line\nreturn 1" 0}
                    assert_error $reply {r SCRIPT LOAD "$line\nreturn 1"}
                }
            }
        }
    }

    test "A first line that is not ended" {
        foreach script {"#!" "#!lua" "#!lua flags=no-writes"} {
            assert_error "ERR Invalid script shebang" {r EVAL $script 0}
            assert_error "ERR Invalid script shebang" {r SCRIPT LOAD $script}
        }
        assert_equal (nil) [r EVAL "#!lua\n" 0]
    }

    test "Only the very first line is one" {
        assert_error "ERR Error compiling script (new function): user_script:1: unexpected symbol near '#'" \
            {r EVAL " #!lua\nreturn 1" 0}
        assert_error "ERR Error compiling script (new function): user_script:2: unexpected symbol near '#'" \
            {r EVAL "\n#!lua\nreturn 1" 0}
    }

    test "The first line counts as a line" {
        assert_error "ERR Error compiling script (new function): user_script:3: unexpected symbol near '+'" \
            {r EVAL "#!lua\n\nreturn +" 0}
        assert_error "ERR user_script:2: x script: on @user_script:2." {r EVAL "#!lua\nerror('x')" 0}
    }

    test "flags=no-writes: writes are refused" {
        set script "#!lua flags=no-writes\nreturn redis.call('set', KEYS\[1\], 1)"
        assert_error "$no_write script: on @user_script:2." {r EVAL $script 1 k}
        assert_error $no_write {r EVAL [string map {.call .pcall} $script] 1 k}
        assert_equal (nil) [r EVAL "#!lua flags=no-writes\nreturn redis.call('get', KEYS\[1\])" 1 k]
        assert_equal (nil) [r EVAL_RO "#!lua flags=no-writes\nreturn redis.call('get', KEYS\[1\])" 1 k]
        assert_equal 0 [r DBSIZE]
    }

    # ---- maxmemory ----------------------------------------------------------------------------------------------

    test "Beyond maxmemory a script without a first line runs until it asks for memory" {
        r SET k v
        with_config {maxmemory 1} {
            assert_equal 1 [r EVAL {return 1} 0]
            assert_equal v [r EVAL {return redis.call('get', KEYS[1])} 1 k]
            assert_error "$oom script: on @user_script:1." {r EVAL {return redis.call('set', KEYS[1], 'w')} 1 k}
            assert_error $oom {r EVAL {return redis.pcall('set', KEYS[1], 'w')} 1 k}
            assert_equal v [r GET k]
        }
    }

    test "Want of memory is named before want of permission" {
        r ACL SETUSER u on nopass allkeys +@all -set
        with_config {maxmemory 1} {
            with_clients c {
                $c AUTH u x
                assert_error "$oom*" {$c EVAL {redis.call('set', 'k', 1)} 0}
            }
        }
        r ACL DELUSER u
    }

    test "Beyond maxmemory what has begun to write may go on" {
        r SET k v
        with_config {maxmemory 1} {
            assert_equal OK [r EVAL {redis.call('del', KEYS[1]); return redis.call('set', KEYS[1], 'w')} 1 k]
            assert_equal w [r GET k]
        }
    }

    test "Beyond maxmemory a script with a first line does not begin, unless it says allow-oom or no-writes" {
        r SET k v
        with_config {maxmemory 1} {
            set script "return redis.call('get', KEYS\[1\])"
            assert_error $oom {r EVAL "#!lua\n$script" 1 k}
            assert_error $oom {r EVAL "#!lua flags=allow-stale\n$script" 1 k}
            assert_equal v [r EVAL "#!lua flags=allow-oom\n$script" 1 k]
            assert_equal v [r EVAL "#!lua flags=no-writes\n$script" 1 k]
            assert_equal v [r EVAL_RO "#!lua flags=no-writes\n$script" 1 k]
            assert_equal OK [r EVAL "#!lua flags=allow-oom\nreturn redis.call('set', KEYS\[1\], 'w')" 1 k]
            assert_equal w [r GET k]
        }
    }

    test "A command is not charged for what its script does before it" {
        r CONFIG RESETSTAT
        r EVAL "for i = 1, 2000000 do end return redis.call('ping')" 0
        regexp {usec=(\d+)} [info_field cmdstat_ping commandstats] - command
        regexp {usec=(\d+)} [info_field cmdstat_eval commandstats] - script
        assert {$command * 2 < $script}
    }

    test "Beyond maxmemory a transaction is refused as its script would be" {
        with_config {maxmemory 1} {
            r MULTI
            assert_equal QUEUED [r EVAL {return redis.call('set', KEYS[1], 1)} 1 k]
            assert_equal QUEUED [r EVAL "#!lua flags=allow-oom\nreturn redis.call('set', KEYS\[1\], 2)" 1 k]
            assert_equal [list "(error) $oom script: on @user_script:1." OK] [r EXEC]
            r MULTI
            assert_error $oom {r EVAL "#!lua\nreturn 1" 0}
            assert_error "EXECABORT *" {r EXEC}
        }
    }
}
