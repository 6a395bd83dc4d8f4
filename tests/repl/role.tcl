# role.tcl -- REPLICAOF, ROLE and the commands that a replica refuses.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set readonly "READONLY You can't write against a read only replica."
set masterdown "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'."

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]

        test "ROLE and HELLO of a primary and of a replica" {
            assert_equal {master 0 {}} [$primary ROLE]
            follow $replica $port
            $primary SET a 1
            in_step $primary $replica
            assert_equal 1 [$primary WAIT 1 5000]
            set offset [repl_field $primary master_repl_offset]
            assert_match [list master * [list [list 127.0.0.1 [srv port] *]]] [$primary ROLE]
            assert_match [list slave 127.0.0.1 $port connected *] [$replica ROLE]
            assert_match "*role replica*" [$replica HELLO 2]
            assert_match "*role master*" [$primary HELLO 2]
        }

        test "A replica refuses to write" {
            assert_error $readonly {$replica SET a 2}
            assert_error $readonly {$replica DEL nothing}
            assert_error "$readonly script:*" {$replica EVAL "redis.call('SET', 'a', 2)" 0}
            assert_equal 1 [$replica EVAL "return redis.call('GET', 'a')" 0]
            assert_error $readonly {$replica EVAL "#!lua\nreturn 1" 0}
            assert_equal 1 [$replica EVAL "#!lua flags=no-writes\nreturn 1" 0]
            assert_equal 1 [$replica GET a]
            $replica MULTI
            assert_error $readonly {$replica SET a 2}
            assert_error "EXECABORT*" {$replica EXEC}
        }

        test "A writable replica deletes keys of its own when their time is over, and those of its primary never" {
            $replica CONFIG SET replica-read-only no
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            $primary MSET theirs 1 both 1 prolonged 1
            in_step $primary $replica
            set size [$replica DBSIZE]
            $replica SET own 1 PX 1
            $replica SELECT 3
            $replica SET own 1 PX 1
            $replica SELECT 0
            $replica SET later 1 EX 1000
            $replica SET both 1 PX 1000000
            $replica PEXPIRE prolonged 1000000
            assert_equal 5 [info_field slave_expires_tracked_keys]
            $primary PEXPIRE theirs 1
            $primary SET both 2 PX 1
            $primary PERSIST prolonged
            in_step $primary $replica
            wait_for_condition 10 {[info_field slave_expires_tracked_keys] == [expr {[$primary EXISTS prolonged] + 1}]}
            assert_equal [expr {$size + 1}] [$replica DBSIZE]
            assert_equal {1 0 0 1} [lmap key {later theirs both prolonged} {$replica EXISTS $key}]
            assert_equal 0 [$replica EXISTS own]
            $primary DEL theirs both prolonged
            $replica DEL later
            in_step $primary $replica
            $primary DEBUG SET-ACTIVE-EXPIRE 1
            wait_for_condition 10 {[info_field slave_expires_tracked_keys] == 0}
            $replica CONFIG SET replica-read-only yes
        }

        test "A key whose time is over is there for a replica's client that deletes it, and for nobody else" {
            $replica CONFIG SET replica-read-only no
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            foreach key {gone:1 gone:2 gone:3} {$primary SET $key 1 PXAT [expr {[clock milliseconds] + 5}]}
            in_step $primary $replica
            wait_for_condition 10 {[$replica EXISTS gone:1 gone:2 gone:3] == 0}
            set before [info_field expired_keys]
            assert_equal 2 [$replica DEL gone:1 none gone:2]
            assert_equal 1 [$replica UNLINK gone:3]
            assert_equal 0 [$replica DEL gone:1]
            assert_equal $before [info_field expired_keys]
            $primary DEBUG SET-ACTIVE-EXPIRE 1
            $primary DEL gone:1 gone:2 gone:3
            in_step $primary $replica
            $replica CONFIG SET replica-read-only yes
        }

        test "A writable replica keeps what it writes for itself" {
            $replica CONFIG SET replica-read-only no
            $replica SET mine 1
            $replica SET a 2
            $replica SET over 1
            set size [$replica DBSIZE]
            assert_equal {1 0} [list [$replica EXPIRE over -1] [$replica EXISTS over]]
            assert_equal $size [$replica DBSIZE]
            assert_equal {OK 1} [list [$replica SET over 2 NX] [$replica DEL over]]
            assert_equal 0 [$primary EXISTS mine]
            assert_equal 1 [$primary GET a]
            $primary SET a 3
            in_step $primary $replica
            assert_equal 3 [$replica GET a]
            $replica CONFIG SET replica-read-only yes
        }

        test "REPLICAOF the same primary again, and mistakes" {
            assert_equal "OK Already connected to specified master" [$replica REPLICAOF 127.0.0.1 $port]
            assert_error "ERR Invalid master port" {$replica REPLICAOF 127.0.0.1 x}
            assert_error "ERR Invalid master port" {$replica REPLICAOF 127.0.0.1 65536}
            assert_equal OK [$primary REPLICAOF NO ONE]
            assert_error "ERR*can't set immutable config*" {$replica CONFIG SET replicaof "no one"}
            assert_equal "replicaof {127.0.0.1 $port}" [$replica CONFIG GET replicaof]
        }

        test "CLIENT LIST knows who is what" {
            assert_match "*flags=M *" [$replica CLIENT LIST TYPE primary]
            assert_match "*flags=S *" [$primary CLIENT LIST TYPE replica]
            assert_equal "" [string trim [$primary CLIENT LIST TYPE primary]]
        }

        test "Without its primary a replica serves what it has, or not" {
            $replica REPLICAOF 127.0.0.1 [free_port]
            assert_equal 3 [$replica GET a]
            assert_equal down [repl_field $replica master_link_status]
            $replica CONFIG SET replica-serve-stale-data no
            assert_error $masterdown {$replica GET a}
            assert_error $masterdown {$replica PING}
            assert_error $readonly {$replica SET a 1}
            assert_match "*role:slave*" [$replica INFO replication]
            assert_match {slave 127.0.0.1 * connect* -1} [$replica ROLE]
            assert_error $masterdown {$replica EVAL "return 1" 0}
            assert_equal 1 [$replica EVAL "#!lua flags=allow-stale,no-writes\nreturn 1" 0]
            assert_error "ERR Can not execute the command on a stale replica script: on *" {
                $replica EVAL "#!lua flags=allow-stale,no-writes\nreturn server.call('GET', 'a')" 0
            }
            $replica CONFIG SET replica-serve-stale-data yes
            assert_equal 3 [$replica GET a]
        }

        test "EXEC asks again whether a replica serves what it has" {
            set queued {
                {GET a} 1   {EVAL "#!lua flags=no-writes\nreturn 1" 0} 1
                {EVAL "#!lua flags=allow-stale,no-writes\nreturn 1" 0} 0   {PUBLISH channel message} 0   {INFO server} 0
            }
            foreach {command refused} $queued {
                with_clients {c} {
                    $c MULTI
                    $c {*}$command
                    $replica CONFIG SET replica-serve-stale-data no
                    if {$refused} {
                        assert_error "EXECABORT Transaction discarded because of: $masterdown" {$c EXEC}
                        assert_error "ERR EXEC without MULTI" {$c EXEC}
                    } else {
                        assert_equal 1 [llength [$c EXEC]]
                    }
                    $replica CONFIG SET replica-serve-stale-data yes
                }
            }
        }

        test "A script that writes is refused as a write, with *_RO too, also without its primary" {
            $replica CONFIG SET replica-serve-stale-data no
            foreach command {EVAL EVAL_RO} {
                assert_error $readonly {$replica $command "#!lua flags=allow-stale\nreturn 1" 0}
            }
            assert_error "ERR Write commands are not allowed from read-only scripts.*" {
                $replica EVAL "#!lua flags=allow-stale,no-writes\nreturn server.call('SET', 'a', 1)" 0
            }
            $replica CONFIG SET replica-serve-stale-data yes
        }

        test "Clients that wait on a server that becomes a replica are let go" {
            $replica REPLICAOF NO ONE
            with_clients {c} {
                waits $c BLPOP nothing 0
                $replica REPLICAOF 127.0.0.1 $port
                assert_error "UNBLOCKED force unblock from blocking operation, instance state changed*" {$c reply}
                assert [$c closed_within 5000]
            }
            is_up $replica
        }

        test "CONFIG REWRITE keeps whom it follows" {
            $replica CONFIG REWRITE
            assert_match "*\nreplicaof 127.0.0.1 $port\n*" [read_file [srv conf]]
            $replica REPLICAOF NO ONE
            $replica CONFIG REWRITE
            assert_no_match "*\nreplicaof *" [read_file [srv conf]]
        }
    }
}

start_server [list overrides {requirepass secret repl-diskless-sync-delay 0}] {
    r AUTH secret
    set primary [default_client]
    set port [srv port]
    $primary ACL SETUSER copier on >word +psync +replconf +ping
    start_server {} {
        set replica [default_client]

        test "A primary with a password: primaryauth, and a user of its own for replicas" {
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 10 {[string match "*NOAUTH*" [srv log]]}
            assert_equal down [repl_field $replica master_link_status]
            $replica CONFIG SET primaryauth secret
            is_up $replica
            $replica CONFIG SET primaryauth word primaryuser copier
            cut_link $replica
            $replica CONFIG SET primaryauth wrong
            $replica CLIENT KILL TYPE primary
            wait_for_condition 10 {[string match "*Unable to AUTH to PRIMARY: -WRONGPASS*" [srv log]]}
            assert_no_match "*wrong*" [string map {WRONGPASS ""} [srv log]]
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server [list overrides $quick] {
        set replica [default_client]
        follow $replica $port

        test "FLUSHDB of a database with nothing in it empties that of a replica" {
            $replica CONFIG SET replica-read-only no
            $replica SET mine 1
            $replica SELECT 5
            $replica SET mine 1
            $replica SELECT 0
            assert_equal 0 [$primary DBSIZE]
            $primary FLUSHDB
            in_step $primary $replica
            assert_equal 0 [$replica EXISTS mine]
            $primary FLUSHALL
            in_step $primary $replica
            assert_equal {} [$replica KEYS *]
            assert_equal "" [field_of [$replica INFO keyspace] db5]
        }

        test "PAUSE moves no offset, of a primary or of a replica" {
            foreach who [list $replica $primary] {
                foreach what {WRITE ALL} {
                    $who CLIENT PAUSE 200 $what
                    $primary SET paused $what
                    $primary RPUSH list [string repeat p 100000]
                    assert_same_data $primary $replica
                    assert_equal $what [$replica GET paused]
                }
            }
        }

        test "Keys that a writable replica has given a time go when it is the primary" {
            $replica SET mine 1 PX 600
            $replica SET kept 1
            $replica PEXPIRE kept 600
            $replica HSET hash f 1 g 2
            $replica HPEXPIRE hash 600 FIELDS 1 f
            $replica REPLICAOF NO ONE
            $replica CONFIG SET replica-read-only yes
            wait_for_condition 20 {[$replica DBSIZE] == 3 && [$replica HLEN hash] == 1}
            assert_equal {hash list paused} [lsort [$replica KEYS *]]
            assert_match "*db0:keys=3,expires=0,*,keys_with_volatile_items=0*" [$replica INFO keyspace]
        }

        test "A server that follows itself waits, and serves what it has" {
            $primary SET own 1
            $primary REPLICAOF 127.0.0.1 $port
            wait_for_condition 20 {[repl_field $primary master_link_status] eq "down" &&
                [string match "*NOMASTERLINK*" [server_log [dict get [lindex $srv::stack 0] dir]]]}
            assert_error $readonly {$primary SET own 2}
            assert_equal 1 [$primary GET own]
            assert_equal 0 [repl_field $primary connected_slaves]
            $primary REPLICAOF NO ONE
            assert_equal OK [$primary SET own 2]
        }

        test "Two that follow each other: nobody writes, until one is let go" {
            follow $replica $port
            $primary REPLICAOF 127.0.0.1 [srv port]
            after 1500
            foreach client [list $replica $primary] {
                assert_equal slave [repl_field $client role]
                assert_error $readonly {$client SET own 3}
                assert_equal 2 [$client GET own]
            }
            $replica REPLICAOF NO ONE
            is_up $primary
            $replica SET own 3
            assert_same_data $replica $primary
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]

        test "A replica has no index of keys by TTL, and makes one when it becomes a primary" {
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            $replica SET own 1 EX 1000
            wait_for_condition 10 {[info_field expire_index_entries stats] == 1}
            follow $replica $port
            for {set i 0} {$i < 100} {incr i} {$primary SET due:$i 1 PX 1}
            for {set i 0} {$i < 2000} {incr i} {$primary SET later:$i 1 EX 1000}
            in_step $primary $replica
            assert_equal 0 [info_field expire_index_entries stats]
            assert_equal 2100 [$replica DBSIZE]
            $replica REPLICAOF NO ONE
            wait_for_condition 10 {[$replica DBSIZE] == 2000}
            assert_between 2000 4000 [info_field expire_index_entries stats]
        }
    }
}
