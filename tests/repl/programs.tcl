# programs.tcl -- scripts, functions and users with replicas.
#
# Not here    propagation of scripts (tests/script/effects.tcl), stale replicas (role.tcl), WAIT (wait.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

source [file join $::support replicas.tcl]

set library "#!lua name=shelf
server.register_function('put', function(keys, args) return server.call('SET', keys\[1\], args\[1\]) end)
server.register_function{function_name='look', flags={'no-writes'},
    callback=function(keys) return server.call('GET', keys\[1\]) end}"

proc library_names {client} {
    return [lsort [lmap one [$client FUNCTION LIST] {dict get $one library_name}]]
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port

        test "What a script draws by chance is the same on a replica, and so are its times" {
            $primary EVAL {
                for i = 1, 100 do redis.call('SADD', KEYS[1], i) end
                for i = 1, 30 do redis.call('SPOP', KEYS[1]) end
                redis.call('SET', KEYS[2], redis.call('TIME')[2], 'EX', 1000)
                return redis.call('HSET', KEYS[3], 'f', redis.call('SRANDMEMBER', KEYS[1]))
            } 3 set time hash
            in_step $primary $replica
            assert_equal 70 [$replica SCARD set]
            assert_equal [$primary PEXPIRETIME time] [$replica PEXPIRETIME time]
            assert_same_data $primary $replica
        }

        test "redis.set_repl decides what replicas get" {
            foreach {where arrives} {REPL_NONE 0 REPL_AOF 0 REPL_SLAVE 1 REPL_REPLICA 1 REPL_ALL 1} {
                $primary EVAL "redis.set_repl(redis.$where) redis.call('SET', KEYS\[1\], 1)
                    redis.set_repl(redis.REPL_ALL) redis.call('SET', KEYS\[2\], 1)" 2 to:$where behind:$where
                in_step $primary $replica
                assert_equal $arrives [$replica EXISTS to:$where]
                assert_equal 1 [$replica EXISTS behind:$where]
            }
            $primary DEL to:REPL_NONE to:REPL_AOF
            assert_same_data $primary $replica
        }

        test "Libraries are loaded, deleted, flushed and restored on replicas, too" {
            assert_equal shelf [$primary FUNCTION LOAD $library]
            assert_equal OK [$primary FCALL put 1 book red]
            in_step $primary $replica
            assert_equal red [$replica FCALL look 1 book]
            assert_same_data $primary $replica
            set dump [$primary FUNCTION DUMP]
            foreach {command left} [list {FUNCTION DELETE shelf} {} [list FUNCTION RESTORE $dump] shelf \
                {FUNCTION FLUSH ASYNC} {} [list FUNCTION LOAD $library] shelf \
                {FUNCTION LOAD REPLACE "#!lua name=shelf\nserver.register_function('none', function() end)"} shelf \
                [list FUNCTION LOAD REPLACE $library] shelf] {
                $primary {*}$command
                in_step $primary $replica
                assert_equal $left [library_names $replica]
                assert_same_data $primary $replica
            }
            # A refused library is not loaded anywhere.
            assert_error "ERR Library 'shelf' already exists" {$primary FUNCTION LOAD $library}
            assert_error "ERR *" {$primary FUNCTION LOAD "#!lua name=bad\nnonsense("}
            assert_same_data $primary $replica
        }

        test "In a transaction a library comes before what calls it" {
            $primary FUNCTION FLUSH
            $primary MULTI
            $primary FUNCTION LOAD $library
            $primary FCALL put 1 book green
            assert_equal {shelf OK} [$primary EXEC]
            assert_same_data $primary $replica
            assert_equal green [$replica GET book]
        }

        test "A replica refuses to change libraries, and functions that may write" {
            set readonly "READONLY You can't write against a read only replica."
            foreach command [list [list FUNCTION LOAD REPLACE $library] {FUNCTION DELETE shelf} {FUNCTION FLUSH} \
                [list FUNCTION RESTORE [$primary FUNCTION DUMP] FLUSH]] {
                assert_error $readonly {$replica {*}$command}
            }
            assert_error $readonly {$replica FCALL put 1 book blue}
            assert_equal green [$replica FCALL_RO look 1 book]
            assert_error $readonly {$replica FCALL_RO put 1 book blue}
            assert_error "READONLY*" {$replica EVAL "#!lua\nreturn 1" 0}
            assert_equal green [$replica EVAL_RO "return redis.call('GET', KEYS\[1\])" 1 book]
            # Each server has its own script cache.
            assert_equal e0e1f9fabfc9d4800c877a703b823ac0578ff8db [$replica SCRIPT LOAD "return 1"]
            assert_equal OK [$replica SCRIPT FLUSH]
            assert_equal green [$replica GET book]
        }

        test "With too few replicas programs write nothing, and may read" {
            $primary CONFIG SET min-replicas-to-write 2
            set few "NOREPLICAS Not enough good replicas to write."
            foreach command [list {EVAL "return redis.call('SET', 'a', 1)" 0} {EVAL "#!lua\nreturn 1" 0} \
                {FCALL put 1 a b} [list FUNCTION LOAD REPLACE $library] {FUNCTION FLUSH}] {
                assert_error "$few*" {$primary {*}$command}
            }
            assert_equal "$few" [$primary EVAL "return redis.pcall('SET', 'a', 1).err" 0]
            assert_equal green [$primary EVAL "#!lua flags=no-writes\nreturn redis.call('GET', 'book')" 0]
            assert_equal green [$primary EVAL "return redis.call('GET', 'book')" 0]
            assert_equal green [$primary FCALL look 1 book]
            $primary CONFIG SET min-replicas-to-write 0
            assert_equal 0 [$primary EXISTS a]
            assert_equal shelf [library_names $primary]
            assert_same_data $primary $replica
        }

        test "A script that a replica runs for long keeps the stream, and a new dataset, waiting" {
            $replica CONFIG SET busy-reply-threshold 50
            with_clients c {
                $c send EVAL_RO "while redis.call('EXISTS', 'never') == 0 do end" 0
                wait_for_condition 20 {[catch {$replica GET book} message] && [string match BUSY* $message]}
                $primary SET book blue
                $primary FUNCTION FLUSH
                $primary DEBUG CHANGE-REPL-ID
                $primary CLIENT KILL TYPE replica
                assert_error "BUSY*" {$replica REPLICAOF NO ONE}
                assert_error "BUSY*" {$replica GET book}
                assert_equal OK [$replica SCRIPT KILL]
                assert_error "ERR Script killed by user*" {$c reply}
            }
            is_up $replica
            assert_same_data $primary $replica
            assert_equal {blue {}} [list [$replica GET book] [library_names $replica]]
        }
    }
}

# ---- Users -----------------------------------------------------------------------------------------------------------

set talkative {slowlog-log-slower-than 0 loglevel debug}

start_server [list overrides [list requirepass topsecret {*}$quick {*}$talkative]] {
    r AUTH topsecret
    set primary [default_client]
    set port [srv port]
    set primary_dir [srv dir]
    start_server [list overrides $talkative] {
        set replica [default_client]
        set watchers [list [RespClient new 127.0.0.1 $port] [connect]]
        [lindex $watchers 0] AUTH topsecret
        foreach watcher $watchers {
            $watcher MONITOR
        }

        test "Of a user for replicas PSYNC and REPLCONF are asked for like any command" {
            $primary ACL SETUSER copier on >copysecret +replconf +ping
            $replica CONFIG SET primaryuser copier
            $replica CONFIG SET primaryauth copysecret
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 20 {"psync" in [lmap entry [$primary ACL LOG] {dict get $entry object}]}
            assert_equal down [repl_field $replica master_link_status]
            $primary ACL SETUSER copier +psync
            is_up $replica
            assert_match "*user=copier*" [$primary CLIENT LIST TYPE replica]
            # An existing link stays; the permission is needed for the next PSYNC.
            $primary ACL SETUSER copier -psync
            $primary SET a 1
            in_step $primary $replica
            $primary ACL SETUSER copier +psync
        }

        test "A replica whose user is deleted is let go, and comes again when the user does" {
            $primary ACL DELUSER copier
            wait_for_condition 20 {[repl_field $replica master_link_status] eq "down"}
            $primary SET a 2
            $primary ACL SETUSER copier on >copysecret +psync +replconf +ping
            is_up $replica
            in_step $primary $replica
            assert_equal 2 [$replica GET a]
        }

        test "Passwords of replicas are in no log, no MONITOR, no SLOWLOG, no ACL LOG and no INFO" {
            $replica CONFIG SET primaryauth wrongsecret
            $replica CLIENT KILL TYPE primary
            wait_for_condition 20 {[string match "*WRONGPASS*" [srv log]]}
            $replica CONFIG SET primaryauth copysecret
            is_up $replica
            $primary MIGRATE 127.0.0.1 1 nothing 0 10 AUTH2 u movesecret
            $primary MIGRATE 127.0.0.1 1 nothing 0 10 AUTH movesecret
            set seen ""
            foreach watcher $watchers client [list $primary $replica] {
                $client ECHO "the last"
                while {![string match "*the last*" [set line [$watcher reply]]]} {
                    append seen $line \n
                }
                append seen [$client SLOWLOG GET -1] [$client COMMANDLOG GET -1 large-request] [$client INFO everything]
                $watcher destroy
            }
            append seen [$primary ACL LOG] [srv log] [server_log $primary_dir]
            foreach word {topsecret copysecret wrongsecret movesecret} {
                assert_no_match "*$word*" $seen
            }
            assert_match "*(redacted)*" $seen
        }
    }
}
