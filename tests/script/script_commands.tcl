# script_commands.tcl -- SCRIPT, and the script cache.
#
# Scripts of SCRIPT LOAD are kept until SCRIPT FLUSH. Of the scripts of EVAL, the 500 used last are kept.
#
# Not here    SCRIPT KILL of a script that runs.
#
# SPDX-License-Identifier: BSD-3-Clause

set one e0e1f9fabfc9d4800c877a703b823ac0578ff8db
set two 7f923f79fe76194c868d7e1d0820de36700eb649

# Returns which of the scripts "return FIRST" .. "return LAST" are in the cache, as ranges.
proc cached {first last} {
    set ranges {}
    set i $first
    foreach there [r SCRIPT EXISTS {*}[lrange $::digests $first $last]] {
        if {$there && [llength $ranges] && [lindex $ranges end] == $i - 1} {
            lset ranges end $i
        } elseif {$there} {
            lappend ranges $i $i
        }
        incr i
    }
    return $ranges
}

# Returns the number of cached and of evicted scripts.
proc kept_and_evicted {} {
    return [list [info_field number_of_cached_scripts] [info_field evicted_scripts]]
}

# Runs "return FIRST" .. "return LAST" by EVAL.
proc eval_numbers {first last} {
    set commands {}
    for {set i $first} {$i <= $last} {incr i} {lappend commands [list EVAL "return $i" 0]}
    with_clients c {
        $c pipeline $commands
        $c replies [llength $commands]
    }
}

start_server {each {r FLUSHALL; r SCRIPT FLUSH SYNC; r CONFIG RESETSTAT}} {
    # Element i is the digest of "return i".
    set digests [r EVAL {local all = {} for i = 0, 503 do all[i + 1] = redis.sha1hex('return ' .. i) end return all} 0]

    # ---- LOAD, EXISTS, SHOW -------------------------------------------------------------------------------------

    test "SCRIPT LOAD gives the digest, and does not run the script" {
        assert_equal $one [r SCRIPT LOAD "return 1"]
        assert_equal $one [r script load "return 1"]
        r SCRIPT LOAD "redis.call('set', 'k', 'v')"
        assert_equal 0 [r EXISTS k]
        assert_equal 1 [r EVALSHA $one 0]
        assert_equal da39a3ee5e6b4b0d3255bfef95601890afd80709 [r SCRIPT LOAD ""]
    }

    test "SCRIPT LOAD refuses what does not compile" {
        assert_error "ERR Error compiling script (new function): user_script:1: unexpected symbol near '+'" \
            {r SCRIPT LOAD "return +"}
        assert_equal 0 [info_field number_of_cached_scripts]
    }

    test "SCRIPT EXISTS, of several, in any case" {
        assert_equal {0 0} [r SCRIPT EXISTS $one $two]
        r SCRIPT LOAD "return 1"
        r EVAL "return 2" 0
        assert_equal {1 1 0 1 0 0} [r SCRIPT EXISTS $one $two abc [string toupper $one] "" [string range $one 0 38]]
    }

    test "SCRIPT SHOW gives the text" {
        r SCRIPT LOAD "return 1"
        r EVAL "#!lua flags=no-writes\nreturn 2 -- \x00\xff" 0
        assert_equal "return 1" [r SCRIPT SHOW $one]
        assert_equal "return 1" [r SCRIPT SHOW [string toupper $one]]
        set digest [r SCRIPT LOAD "#!lua flags=no-writes\nreturn 2 -- \x00\xff"]
        assert_equal "#!lua flags=no-writes\nreturn 2 -- \x00\xff" [r SCRIPT SHOW $digest]
        foreach missing [list $two abc "" [string range $one 0 38]] {
            assert_error "NOSCRIPT No matching script." {r SCRIPT SHOW $missing}
        }
    }

    # ---- FLUSH --------------------------------------------------------------------------------------------------

    test "SCRIPT FLUSH forgets all" {
        foreach mode {{} SYNC ASYNC sync async} {
            r SCRIPT LOAD "return 1"
            r EVAL "return 2" 0
            assert_equal OK [r SCRIPT FLUSH {*}$mode]
            assert_equal {0 0 0} [list {*}[r SCRIPT EXISTS $one $two] [info_field number_of_cached_scripts]]
            assert_error "NOSCRIPT No matching script." {r EVALSHA $one 0}
            assert_equal 1 [r EVAL "return 1" 0]
        }
    }

    test "SCRIPT FLUSH and what it is not" {
        foreach words {x {SYNC ASYNC} {ASYNC x} ""} {
            assert_error "ERR SCRIPT FLUSH only support SYNC|ASYNC option" \
                {r SCRIPT FLUSH {*}[expr {$words eq "" ? {{}} : $words}]}
        }
    }

    test "FLUSHALL leaves scripts, so does a failed EVALSHA" {
        r SCRIPT LOAD "return 1"
        r FLUSHALL
        catch {r EVALSHA $two 0}
        assert_equal 1 [r SCRIPT EXISTS $one]
    }

    test "Flushed and loaded again, at once and many times" {
        for {set i 0} {$i < 50} {incr i} {
            r SCRIPT FLUSH [lindex {SYNC ASYNC} [expr {$i % 2}]]
            r SCRIPT LOAD "return $i"
            assert_equal $i [r EVAL "return $i" 0]
        }
        assert_equal 1 [info_field number_of_cached_scripts]
    }

    test "Memory of scripts comes back" {
        set vm [info_field used_memory_vm_eval]
        set commands {}
        for {set i 0} {$i < 200} {incr i} {lappend commands [list SCRIPT LOAD "return '[string repeat x 10000]$i'"]}
        with_clients c {
            $c pipeline $commands
            $c replies 200
        }
        assert {[info_field used_memory_scripts_eval] > 2000000}
        assert {[info_field used_memory_vm_eval] > $vm + 2000000}
        r SCRIPT FLUSH SYNC
        assert_equal 0 [info_field used_memory_scripts_eval]
        assert {[info_field used_memory_vm_eval] < $vm + 100000}
    }

    # ---- KILL, DEBUG, HELP --------------------------------------------------------------------------------------

    test "SCRIPT KILL without a script" {
        assert_error "NOTBUSY No scripts in execution right now." {r SCRIPT KILL}
    }

    test "SCRIPT DEBUG NO, and what is no mode" {
        assert_equal OK [r SCRIPT DEBUG NO]
        assert_equal OK [r script debug no]
        assert_error "ERR Use SCRIPT DEBUG YES/SYNC/NO" {r SCRIPT DEBUG x}
    }

    test "SCRIPT HELP" {
        set lines [r SCRIPT HELP]
        assert_equal "SCRIPT <subcommand> \[<arg> \[value\] \[opt\] ...\]. Subcommands are:" [lindex $lines 0]
        foreach name {EXISTS FLUSH KILL LOAD SHOW HELP} {
            assert {[lsearch -glob $lines $name*] > 0}
        }
    }

    foreach {words error} {
        {} "ERR wrong number of arguments for 'script' command"
        {NOSUCH} "ERR unknown subcommand 'NOSUCH'. Try SCRIPT HELP."
        {LOAD} "ERR wrong number of arguments for 'script|load' command"
        {LOAD a b} "ERR wrong number of arguments for 'script|load' command"
        {EXISTS} "ERR wrong number of arguments for 'script|exists' command"
        {SHOW} "ERR wrong number of arguments for 'script|show' command"
        {SHOW a b} "ERR wrong number of arguments for 'script|show' command"
        {KILL x} "ERR wrong number of arguments for 'script|kill' command"
        {DEBUG} "ERR wrong number of arguments for 'script|debug' command"
        {HELP x} "ERR wrong number of arguments for 'script|help' command"
    } {
        test "SCRIPT $words" {
            assert_error $error {r SCRIPT {*}$words}
        }
    }

    # ---- The cache ----------------------------------------------------------------------------------------------

    test "Of scripts that EVAL has brought the last 500 stay" {
        eval_numbers 1 500
        assert_equal {{1 500} 500 0} [list [cached 1 500] {*}[kept_and_evicted]]
        eval_numbers 501 503
        assert_equal {{4 503} 500 3} [list [cached 1 503] {*}[kept_and_evicted]]
        assert_error "NOSCRIPT No matching script." {r EVALSHA $one 0}
        assert_equal 1 [r EVAL "return 1" 0]
        assert_equal {1 1 5 503} [cached 1 503]
    }

    test "A use keeps a script, a look does not" {
        eval_numbers 1 500
        assert_equal 1 [r EVAL "return 1" 0]
        assert_equal 2 [r EVALSHA $two 0]
        assert_equal 1 [r SCRIPT EXISTS [lindex $digests 3]]
        assert_equal "return 4" [r SCRIPT SHOW [lindex $digests 4]]
        eval_numbers 501 503
        assert_equal {1 2 6 503} [cached 1 503]
    }

    test "What SCRIPT LOAD has brought stays, and does not count" {
        r SCRIPT LOAD "return 1"
        r EVAL "return 2" 0
        r SCRIPT LOAD "return 2"
        r EVAL "return 1" 0
        eval_numbers 3 503
        assert_equal {{1 2 4 503} 502 1} [list [cached 1 503] {*}[kept_and_evicted]]
    }

    test "EVAL_RO brings scripts as EVAL does, a script that fails as it runs too" {
        eval_numbers 1 499
        r EVAL_RO "return 500" 0
        catch {r EVAL "error('x')" 0}
        assert_equal {{2 500} 500 1} [list [cached 1 500] {*}[kept_and_evicted]]
    }

    test "Thousands of generated scripts, and memory does not grow" {
        eval_numbers 1 3000
        set before [info_field used_memory_vm_eval]
        eval_numbers 3001 12000
        assert_equal {500 11500} [kept_and_evicted]
        assert {[info_field used_memory_vm_eval] < 2 * $before + 100000}
    }

    # ---- INFO ---------------------------------------------------------------------------------------------------

    test "INFO memory adds up" {
        r EVAL "return '[string repeat x 1000]'" 0
        r SCRIPT LOAD "return 1"
        foreach field {used_memory_lua used_memory_vm_eval used_memory_scripts_eval number_of_cached_scripts
            number_of_functions number_of_libraries used_memory_vm_functions used_memory_vm_total used_memory_functions
            used_memory_scripts} {
            set $field [info_field $field memory]
            assert {[string is integer -strict [set $field]]}
        }
        assert_equal {2 0 0} [list $number_of_cached_scripts $number_of_functions $number_of_libraries]
        assert_equal $used_memory_vm_eval $used_memory_lua
        assert_equal $used_memory_vm_total [expr {$used_memory_vm_eval + $used_memory_vm_functions}]
        assert_equal $used_memory_scripts [expr {$used_memory_scripts_eval + $used_memory_functions}]
        assert {$used_memory_scripts_eval > 1000 && $used_memory_vm_eval > 1000}
        foreach field {used_memory_lua_human used_memory_vm_total_human used_memory_scripts_human} {
            assert_regexp {^[0-9.]+[BKM]$} [info_field $field memory]
        }
    }

    test "INFO scriptingengines: Lua" {
        assert_equal "# Scripting Engines" [lindex [split [r INFO scriptingengines] \r] 0]
        assert_equal 1 [info_field engines_count scriptingengines]
        assert_match "name=LUA,module=lua,abi_version=*,used_memory=*,memory_overhead=*" \
            [info_field engine_0 scriptingengines]
        assert_equal [info_field used_memory_vm_total memory] [info_field engines_total_used_memory scriptingengines]
    }
}
