# role.tcl -- REPLICAOF, ROLE and what a replica refuses.
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
