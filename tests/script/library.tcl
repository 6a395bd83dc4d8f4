# library.tcl -- the members of `server`, which is called `redis` as well.
#
# Not here    error_reply and status_reply (errors.tcl), the effect of set_repl.
#
# SPDX-License-Identifier: BSD-3-Clause

set where "script: on @user_script:1."

# Runs a script over the default connection.
proc lua {script args} {
    return [r EVAL $script 0 {*}$args]
}

proc last_log_line {} {
    return [lindex [split [string trim [srv log]] \n] end]
}

start_server {} {

    test "server and redis are the same table" {
        assert_equal 1 [lua {return server == redis}]
        assert_equal (nil) [lua {return server.call('get', 'none')}]
    }

    test "It has these members" {
        set members {
            local names = {}
            for name, value in pairs(server) do names[#names + 1] = name .. ' ' .. type(value) end
            table.sort(names)
            return names
        }
        set want {}
        foreach {name type} {
            LOG_DEBUG number LOG_NOTICE number LOG_VERBOSE number LOG_WARNING number REDIS_VERSION string
            REDIS_VERSION_NUM number REPL_ALL number REPL_AOF number REPL_NONE number REPL_REPLICA number
            REPL_SLAVE number SERVER_NAME string VALKEY_VERSION string VALKEY_VERSION_NUM number
            acl_check_cmd function breakpoint function call function debug function error_reply function log function
            pcall function replicate_commands function set_repl function setresp function sha1hex function
            status_reply function
        } {
            lappend want "$name $type"
        }
        assert_equal $want [lua $members]
    }

    test "Constants" {
        assert_equal {0 1 2 3} [lua {return {redis.LOG_DEBUG, redis.LOG_VERBOSE, redis.LOG_NOTICE, redis.LOG_WARNING}}]
        assert_equal {0 1 2 2 3} \
            [lua {return {redis.REPL_NONE, redis.REPL_AOF, redis.REPL_SLAVE, redis.REPL_REPLICA, redis.REPL_ALL}}]
    }

    test "Versions are those of INFO, as text and as a number" {
        foreach {name field} {VALKEY_VERSION valkey_version REDIS_VERSION redis_version} {
            set version [info_field $field server]
            lassign [split $version .] major minor patch
            assert_equal [list $version [expr {($major << 16) + ($minor << 8) + $patch}]] \
                [lua "return {redis.$name, redis.${name}_NUM}"]
        }
        assert_equal [info_field server_name server] [lua {return redis.SERVER_NAME}]
    }

    test "A member that is not there is nil" {
        assert_equal {nil nil} [lua {return {type(redis.nosuch), type(redis.register_function)}}]
    }

    # ---- sha1hex ------------------------------------------------------------------------------------------------

    test "sha1hex" {
        assert_equal da39a3ee5e6b4b0d3255bfef95601890afd80709 [lua {return redis.sha1hex('')}]
        assert_equal a9993e364706816aba3e25717850c26c9cd0d89d [lua {return redis.sha1hex('abc')}]
        assert_equal aa3e5dcdd77b153f2e59bd0d8794fde33cb4e486 [lua {return redis.sha1hex('\0\255')}]
        assert_equal 356a192b7913b04c54574d18c28d46e6395428ab [lua {return redis.sha1hex(1)}]
        assert_equal 34aa973cd4c4daa4f61eeb2bdbad27316534016f [lua {return redis.sha1hex(string.rep('a', 1000000))}]
        assert_equal da39a3ee5e6b4b0d3255bfef95601890afd80709 [lua {return redis.sha1hex({})}]
    }

    test "sha1hex is what EVALSHA calls a script" {
        assert_equal [r SCRIPT LOAD {return 'x'}] [lua {return redis.sha1hex("return 'x'")}]
    }

    test "sha1hex wants one argument" {
        foreach arguments {"" "'a', 'b'"} {
            assert_error "ERR wrong number of arguments $where" {lua "return redis.sha1hex($arguments)"}
        }
    }

    # ---- log ----------------------------------------------------------------------------------------------------

    test "log writes into the server's log" {
        assert_equal (nil) [lua {return redis.log(redis.LOG_WARNING, 'from a script', 'and', 5)}]
        assert_match "* # <lua> from a script and 5" [last_log_line]
        lua {redis.log(redis.LOG_NOTICE, 'a notice')}
        assert_match "* \\* <lua> a notice" [last_log_line]
    }

    test "log leaves out what is below the level of the log" {
        lua {redis.log(redis.LOG_NOTICE, 'before')}
        lua {redis.log(redis.LOG_VERBOSE, 'verbose') redis.log(redis.LOG_DEBUG, 'debug')}
        assert_match "*<lua> before" [last_log_line]
        with_config {loglevel debug} {
            lua {redis.log(redis.LOG_DEBUG, 'debug')}
            assert_match "* . <lua> debug*" [srv log]
        }
        with_config {loglevel warning} {
            lua {redis.log(redis.LOG_NOTICE, 'not now')}
            assert_no_match "*not now*" [srv log]
        }
    }

    foreach {arguments error} {
        "" "ERR server.log() requires two arguments or more."
        "3" "ERR server.log() requires two arguments or more."
        "'x', 'y'" "ERR First argument must be a number (log level)."
        "nil, 'y'" "ERR First argument must be a number (log level)."
        "-1, 'y'" "ERR Invalid log level."
        "4, 'y'" "ERR Invalid log level."
    } {
        test "redis.log($arguments)" {
            assert_error "$error $where" {lua "redis.log($arguments)"}
        }
    }

    # ---- Propagation --------------------------------------------------------------------------------------------

    test "replicate_commands is there for old scripts" {
        assert_equal 1 [lua {return redis.replicate_commands()}]
    }

    test "set_repl takes the four constants" {
        foreach value {REPL_ALL REPL_AOF REPL_REPLICA REPL_NONE} {
            assert_equal (nil) [lua "return redis.set_repl(redis.$value)"]
        }
        foreach value {-1 4 100} {
            assert_error "ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE. $where" \
                {lua "return redis.set_repl($value)"}
        }
        foreach arguments {"" "1, 2"} {
            assert_error "ERR server.set_repl() requires one argument. $where" {lua "return redis.set_repl($arguments)"}
        }
    }

    # ---- Debugger -----------------------------------------------------------------------------------------------

    test "breakpoint and debug do nothing where nobody debugs" {
        assert_equal {(nil) 1} [lua {return {redis.breakpoint(), 1}}]
        assert_equal (nil) [lua {return redis.debug('x')}]
    }

    # ---- Permissions of the caller ------------------------------------------------------------------------------

    test "acl_check_cmd asks what the caller may do" {
        r ACL SETUSER u reset on nopass ~a* &c +@all -set -config|set
        with_clients c {
            $c AUTH u x
            foreach {words allowed} {
                {get a} 1 {get b} (nil) {GET a} 1 {set a 1} (nil) {publish c x} 1 {publish d x} (nil) {get} 1
                {config get x} 1 {config set x 1} (nil) {ping} 1
            } {
                assert_equal $allowed [$c EVAL {return redis.acl_check_cmd(unpack(ARGV))} 0 {*}$words]
            }
            assert_equal 1 [r EVAL {return redis.acl_check_cmd('set', 'b', 1)} 0]
        }
    }

    test "acl_check_cmd of a command with too few arguments looks at no key that is not there" {
        r ACL SETUSER u reset on nopass ~a* +@all
        with_clients c {
            $c AUTH u x
            foreach words {{set} {sort} {sort_ro} {bitfield} {georadius} {migrate} {migrate x y} {xread}} {
                assert_equal 1 [$c EVAL {return redis.acl_check_cmd(unpack(ARGV))} 0 {*}$words]
            }
            assert_equal (nil) [$c EVAL {return redis.acl_check_cmd('set', 'b')} 0]
        }
    }

    test "acl_check_cmd and what is no command" {
        foreach words {{nosuch} {nosuch x} {config nosuch} {config|get x} {""}} {
            assert_error "ERR Invalid command passed to server.acl_check_cmd() $where" \
                {lua {return redis.acl_check_cmd(unpack(ARGV))} {*}$words}
        }
        assert_error "ERR Please specify at least one argument for this call $where" {lua {redis.acl_check_cmd()}}
        assert_error "ERR Command arguments must be strings or integers $where" {lua {redis.acl_check_cmd('get', {})}}
    }

    test "A script may do what its caller may" {
        r ACL LOG RESET
        r ACL SETUSER u reset on nopass ~a* &c +@all -set
        with_clients c {
            $c AUTH u x
            foreach {call reason} {
                "'set', 'a', 1" "User u has no permissions to run the 'set' command"
                "'get', 'b'" "No permissions to access a key"
                "'publish', 'd', 'x'" "No permissions to access a channel"
            } {
                assert_error "ERR ACL failure in script: $reason $where" {$c EVAL "return redis.call($call)" 0}
                assert_error "ERR ACL failure in script: $reason" {$c EVAL "return redis.pcall($call)" 0}
            }
            assert_equal (nil) [$c EVAL {return redis.call('get', 'a')} 0]
            assert_error "NOPERM No permissions to access a key" {$c EVAL "return 1" 1 b}
        }
        set seen [lmap entry [r ACL LOG] {lmap name {context reason object} {dict get $entry $name}}]
        assert_equal {{toplevel key b} {lua channel d} {lua key b} {lua command set}} $seen
    }
}
