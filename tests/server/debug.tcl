# debug.tcl -- DEBUG: permissions, and information about the dataset.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server {overrides {enable-debug-command yes}} {

    test "DEBUG DIGEST does not depend on the order in which keys came" {
        r SET a 1
        r SET b text
        r SET c x EX 1000
        set first [r DEBUG DIGEST]
        r FLUSHALL
        assert_equal [string repeat 0 40] [r DEBUG DIGEST]
        r SET c x EX 2000
        r SET b text
        r SET a 1
        assert_equal $first [r DEBUG DIGEST]
    }

    test "DEBUG DIGEST tells values, keys, databases and expires apart" {
        r FLUSHALL
        set seen {}
        foreach setup {{SET a 1} {SET a 2} {SET b 2} {EXPIRE a 1000} {MOVE a 3}} {
            r {*}$setup
            lappend seen [r DEBUG DIGEST]
        }
        assert_equal 5 [llength [lsort -unique $seen]]
    }

    test "DEBUG DIGEST-VALUE is the known one" {
        r SET a b
        assert_equal b78559cd22bce6e6df712eb99ce7f3b08e8f8f1f [r DEBUG DIGEST-VALUE a]
    }

    test "DEBUG POPULATE makes keys, and leaves those that exist" {
        r FLUSHALL
        r SET key:1 mine
        assert_equal OK [r DEBUG POPULATE 3]
        assert_equal OK [r DEBUG POPULATE 2 made 10]
        assert_equal {value:0 mine value:2} [r MGET key:0 key:1 key:2]
        assert_equal 10 [r STRLEN made:1]
        assert_equal 5 [r DBSIZE]
        assert_error "*must be positive*" {r DEBUG POPULATE -1}
    }

    test "DEBUG SET-ACTIVE-EXPIRE 0 leaves expired keys until they are met" {
        r FLUSHALL
        r DEBUG SET-ACTIVE-EXPIRE 0
        r SET gone x PX 1
        after 300
        assert_equal 1 [r DBSIZE]
        assert_equal 0 [r EXISTS gone]
        assert_equal 0 [r DBSIZE]
        r DEBUG SET-ACTIVE-EXPIRE 1
    }

    test "DEBUG ERROR is sent as it is and counts as no failure" {
        r CONFIG RESETSTAT
        assert_error "MYCODE" {r DEBUG ERROR MYCODE}
        assert_no_match "*errorstat_*" [r INFO errorstats]
    }

    test "DEBUG CLUSTERLINK is refused without a cluster" {
        assert_error "ERR Debug option only available for cluster mode enabled setup!" {r DEBUG CLUSTERLINK KILL all x}
        foreach word {CLOSE-CLUSTER-LINK-ON-PACKET-DROP DISABLE-CLUSTER-RANDOM-PING DISABLE-CLUSTER-RECONNECTION} {
            assert_equal OK [r DEBUG $word 1]
        }
        assert_equal OK [r DEBUG DROP-CLUSTER-PACKET-FILTER -2]
        assert_error "ERR value is not an integer or out of range" {r DEBUG DROP-CLUSTER-PACKET-FILTER x}
        foreach words {{} KILL {KILL all} {KEEP all x} {KILL all x y}} {
            assert_error "ERR unknown subcommand or wrong number of arguments for 'clusterlink'. Try DEBUG HELP." \
                {r DEBUG clusterlink {*}$words}
        }
    }

    test "DEBUG SET-DISABLE-DENY-SCRIPTS lets scripts run noscript commands" {
        set refused "ERR This Valkey command is not allowed from script*"
        assert_error $refused {r EVAL {return redis.call('config', 'get', 'hz')} 0}
        assert_equal OK [r DEBUG SET-DISABLE-DENY-SCRIPTS 1]
        assert_equal {hz 10} [r EVAL {return redis.call('config', 'get', 'hz')} 0]
        assert_equal OK [r EVAL {return redis.call('debug', 'sleep', '0')} 0]
        assert_equal OK [r EVAL {return redis.call('acl', 'setuser', 'made')} 0]
        assert_match "*cmd=eval*" [r EVAL {return redis.call('client', 'list')} 0]
        # A script can kill other clients; its own is skipped by default.
        assert_equal 0 [r EVAL {return redis.call('client', 'kill', 'id', ARGV[1])} 0 [r CLIENT ID]]
        with_clients other {
            assert_equal 1 [r EVAL {return redis.call('client', 'kill', 'id', ARGV[1])} 0 [$other CLIENT ID]]
            assert_error "*closed*" {$other PING}
        }
        with_clients other {
            assert_error "*closed*" {
                $other EVAL {redis.call('client', 'kill', 'skipme', 'no', 'id', ARGV[1])} 0 [$other CLIENT ID]
            }
        }
        # A separate setting disables MODULE.
        assert_error "ERR MODULE command not allowed*" {r EVAL {return redis.call('module', 'unload', 'x')} 0}
        foreach words {{MULTI} {WATCH k} {SUBSCRIBE x} {AUTH x} {HELLO 3} {RESET} {MONITOR} {SYNC} {SHUTDOWN NOSAVE}
                       {CLIENT TRACKING ON} {CLIENT REPLY OFF} {EVAL {return 1} 0} {SCRIPT FLUSH} {FUNCTION FLUSH}} {
            assert_error $refused {r EVAL {return redis.call(unpack(ARGV))} 0 {*}$words}
        }
        foreach word {RELOAD LOADAOF} {
            assert_error "ERR DEBUG $word is not allowed from script*" {r EVAL {return redis.call('DEBUG', ARGV[1])} 0 $word}
        }
        assert_equal OK [r DEBUG SET-DISABLE-DENY-SCRIPTS 0]
        assert_error $refused {r EVAL {return redis.call('config', 'get', 'hz')} 0}
        r ACL DELUSER made
    }

    test "DEBUG REPLYBUFFER PEAK-RESET-TIME says when the reply peak of a client is reset" {
        assert_equal OK [r DEBUG REPLYBUFFER PEAK-RESET-TIME never]
        r ECHO [string repeat x 5000]
        assert_equal 5009 [client_field [r CLIENT INFO] rbp]
        assert_equal OK [r DEBUG REPLYBUFFER peak-reset-time 1]
        wait_for_condition 5 {[client_field [r CLIENT INFO] rbp] < 5000}
        assert_equal OK [r DEBUG REPLYBUFFER PEAK-RESET-TIME RESET]
        assert_error "ERR value is not an integer or out of range" {r DEBUG REPLYBUFFER PEAK-RESET-TIME soon}
        foreach words {{} {PEAK-RESET-TIME} {RESIZING} {RESIZING 1 2} {x 1}} {
            assert_error "ERR unknown subcommand or wrong number of arguments for 'REPLYBUFFER'. Try DEBUG HELP." {
                r DEBUG REPLYBUFFER {*}$words
            }
        }
    }

    test "DEBUG takes switches of mechanisms that the server does not have" {
        foreach words {{REPLYBUFFER RESIZING 0} {REPLYBUFFER RESIZING 1} {HASHTABLE-CAN-ABORT-SHRINK 0}
                       {HASHTABLE-CAN-ABORT-SHRINK 1} {FORCE-FREE-PRIMARY-ASYNC 1} {FORCE-FREE-PRIMARY-ASYNC x}} {
            assert_equal OK [r DEBUG {*}$words]
        }
        assert_error "ERR unknown subcommand or wrong number of arguments*" {r DEBUG FORCE-FREE-PRIMARY-ASYNC}
    }
    test "DEBUG HELP lists what exists" {
        set help [r DEBUG HELP]
        assert {"PANIC" in $help}
        assert_error "*unknown subcommand or wrong number of arguments for 'nosuch'. Try DEBUG HELP." {r DEBUG nosuch}
        assert_error "*unknown subcommand or wrong number of arguments for 'digest'*" {r DEBUG digest x}
    }
}

start_server {tags own-files overrides {enable-debug-command yes}} {

    test "DEBUG SET-SKIP-CHECKSUM-VALIDATION 1 accepts payloads and snapshots with a wrong checksum" {
        r SET key value
        r FUNCTION LOAD "#!lua name=lib\nserver.register_function('f', function() return 1 end)"
        r SAVE
        set file [file join [srv dir] dump.rdb]
        foreach name {snapshot payload functions} bytes [list [read_file $file] [r DUMP key] [r FUNCTION DUMP]] {
            binary scan [string index $bytes end] c last
            set $name [string replace $bytes end end [binary format c [expr {$last ^ 1}]]]
        }
        write_file $file $snapshot
        set wrong "ERR DUMP payload version or checksum are wrong"
        foreach switch {0 1 0} {
            assert_equal OK [r DEBUG SET-SKIP-CHECKSUM-VALIDATION $switch]
            if {$switch} {
                assert_equal OK [r RESTORE other 0 $payload]
                assert_equal OK [r FUNCTION RESTORE $functions REPLACE]
                assert_equal OK [r DEBUG RELOAD NOSAVE]
                assert_equal {value 0} [list [r GET key] [r EXISTS other]]
                # Length and version are still checked.
                assert_error $wrong {r RESTORE other 0 [string range $payload end-8 end]}
                assert_error $wrong {r RESTORE other 0 [string replace $payload end-9 end-8 \xff\x7f]}
            } else {
                assert_error $wrong {r RESTORE other 0 $payload}
                assert_error $wrong {r FUNCTION RESTORE $functions REPLACE}
                assert_error "ERR Error trying to load the RDB dump*" {r DEBUG RELOAD NOSAVE}
            }
        }
    }
}

start_server {tags own-files overrides {enable-debug-command yes appendonly yes}} {

    test "A script that asks for a child gets it after its end" {
        r DEBUG SET-DISABLE-DENY-SCRIPTS 1
        set replies {{bgrewriteaof "Background append only file rewriting scheduled"}
                     {bgsave "Background saving scheduled"}
                     {config\ set\ appendonly\ yes OK}}
        foreach case $replies {
            lassign $case command reply
            r SET count 0
            if {[string match config* $command]} {
                r CONFIG SET appendonly no
            }
            assert_equal $reply [r EVAL {
                redis.call('incr', 'count')
                local reply = redis.call(unpack(ARGV))
                redis.call('incr', 'count')
                return reply
            } 0 {*}$command]
            wait_for_condition 10 {
                ![info_field aof_rewrite_scheduled persistence] && ![info_field aof_rewrite_in_progress persistence] &&
                ![info_field rdb_bgsave_in_progress persistence]
            }
            assert_equal OK [r DEBUG LOADAOF]
            assert_equal 2 [r GET count]
        }
        r ACL SETUSER leaves on nopass +@all ~*
        with_clients d {
            $d AUTH leaves x
            catch {$d EVAL {redis.call('acl', 'deluser', 'leaves'); return redis.call('sort', 'none', 'by', 'w_*')} 0}
        }
        r DEBUG SET-DISABLE-DENY-SCRIPTS 0
    }
}

start_server {overrides {enable-debug-command no}} {

    test "DEBUG is refused unless it is enabled" {
        assert_error "*DEBUG command not allowed*" {r DEBUG SLEEP 0}
    }

    test "A refused DEBUG counts as refused, not as a call" {
        r CONFIG RESETSTAT
        set before [client_field [r CLIENT INFO] tot-cmds]
        foreach i {1 2} {
            catch {r DEBUG SLEEP 0}
        }
        assert_match "calls=0,usec=0,usec_per_call=0.00,rejected_calls=2,failed_calls=0" [info_field cmdstat_debug commandstats]
        assert_equal [expr {$before + 2}] [client_field [r CLIENT INFO] tot-cmds]
        r SET key word
        catch {r INCR key}
        assert_match "calls=1,*,rejected_calls=0,failed_calls=1" [info_field cmdstat_incr commandstats]
    }
}

start_server {overrides {enable-debug-command local}} {

    test "DEBUG is allowed on a local connection when the option says so" {
        assert_equal OK [r DEBUG SLEEP 0]
    }
}
