# link.tcl -- a replica's link to a primary with given replies: its requests, and its log.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set id [string repeat ab 20]
binary scan "\$18\r\nREDIS0011\xff\0\0\0\0\0\0\0\0" H* empty_snapshot
binary scan [resp::encode {REPLCONF GETACK *}] H* getack

# Runs BODY with a primary at $at that replies by RULES (fake_server.tcl); its requests are in the file `$told`.
proc with_fake_primary {rules body} {
    upvar at at told told
    lassign [fake_server {*}$rules] at pid told
    try {
        uplevel 1 $body
    } finally {
        catch {exec kill $pid}
    }
}

proc log_says {text} {
    wait_for_condition 20 {[string first $text [srv log]] >= 0}
}

start_server {overrides {repl-timeout 1}} {
    foreach {what rules line} {
        "that says nothing" {ping silent} "Timeout connecting to the PRIMARY..."
        "that does not answer PSYNC" {psync* silent} "Timeout connecting to the PRIMARY..."
        "whose dataset does not come" {psync* "+FULLRESYNC abababababababababababababababababababab 5"}
            "Timeout receiving bulk data from PRIMARY... If the problem persists try to set the 'repl-timeout' parameter\
             in valkey.conf to a larger value."
    } {
        test "A primary $what is left after repl-timeout, and the log says so" {
            restart_server
            with_fake_primary $rules {
                r REPLICAOF 127.0.0.1 $at
                log_says $line
                log_says "Reconnecting to PRIMARY 127.0.0.1:$at after failure"
                assert_equal 1 [regexp -all {Connecting to PRIMARY} [srv log]]
                r REPLICAOF NO ONE
            }
        }
    }
}

start_server {overrides {repl-diskless-sync-delay 0}} {
    set primary [default_client]
    set at [srv port]
    start_server {overrides {bind-source-addr 127.0.0.7}} {
        test "bind-source-addr is the address that a replica comes from" {
            follow r $at
            assert_match "*ip=127.0.0.7,*" [repl_field $primary slave0]
            r CONFIG SET bind-source-addr 127.0.0.8
            cut_link r
            assert_match "*ip=127.0.0.8,*" [repl_field $primary slave0]
            r CONFIG SET bind-source-addr ""
            cut_link r
            assert_match "*ip=127.0.0.1,*" [repl_field $primary slave0]
        }
    }
}

start_server {} {
    test "A primary without PSYNC: SYNC, and offsets that begin at -1" {
        with_fake_primary [list psync* "-ERR unknown command" sync "hex $empty_snapshot" "replconf ack -1" "hex $getack" \
            "replconf ack *" silent] {
            r REPLICAOF 127.0.0.1 $at
            is_up r
            wait_for_condition 20 {[string match "*replconf ack -1\nreplconf ack -1\nreplconf ack 36\n*" [read_file $told]]}
            assert_match {slave 127.0.0.1 * connected 73} [r ROLE]
            assert_equal 73 [repl_field r slave_repl_offset]
            r REPLICAOF NO ONE
        }
    }

    foreach reply {"-NOAUTH Authentication required." "-NOPERM no"} {
        test "PSYNC answered by $reply: it is asked for SYNC" {
            with_fake_primary [list psync* $reply] {
                r REPLICAOF 127.0.0.1 $at
                log_says "Unexpected reply to PSYNC from primary: $reply"
                wait_for_condition 20 {[string match "*\nsync\n*" [read_file $told]]}
                r REPLICAOF NO ONE
            }
        }
    }

    test "FAILOVER is over when the other has agreed, and does not wait for the dataset that comes" {
        with_fake_primary [list psync* "+FULLRESYNC $id 5"] {
            with_clients {replica} {
                $replica REPLCONF listening-port $at capa eof capa psync2
                $replica PSYNC [repl_field r master_replid] [expr {[repl_field r master_repl_offset] + 1}]
                assert_equal OK [r FAILOVER TO 127.0.0.1 $at FORCE TIMEOUT 10]
                wait_for_condition 20 {[string match "*failover*" [read_file $told]]}
                wait_for_condition 20 {[repl_field r master_failover_state] eq "no-failover"}
                assert_equal none [field_of [r INFO clients] paused_reason]
                assert_equal 1 [repl_field r master_sync_in_progress]
                r REPLICAOF NO ONE
            }
        }
    }
}

with_fake_primary {ping silent} {
    start_server [list overrides [list replicaof "127.0.0.1 $at"]] {
        test "The offset of a replica that has never had a dataset is 1" {
            assert_equal 1 [repl_field r slave_repl_offset]
            assert_equal 1 [repl_field r slave_read_repl_offset]
            assert_equal 0 [repl_field r master_repl_offset]
            r REPLICAOF NO ONE
            r REPLICAOF 127.0.0.1 $at
            assert_equal 0 [repl_field r slave_repl_offset]
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    set primary_dir [srv dir]
    start_server [list overrides {hide-user-data-from-log yes}] {
        set replica [default_client]

        test "The log of a replica: a link, a loss, and the way back" {
            follow $replica $port
            log_says "Connecting to PRIMARY 127.0.0.1:$port\n"
            log_says "Discarding previously cached primary state.\n"
            log_says "PRIMARY <-> REPLICA sync: Finished with success\n"
            cut_link $replica
            log_says "Connection with primary lost.\n"
            log_says "Caching the disconnected primary state.\n"
            log_says "Reconnecting to PRIMARY 127.0.0.1:$port\n"
            log_says "Successful partial resynchronization with primary.\n"
            assert_no_match "*after failure*" [srv log]
        }

        test "... and of what ends it" {
            $replica CLIENT SETNAME mine
            $replica REPLICAOF NO ONE
            assert_equal 2 [regexp -all {Connection with primary lost.\n} [srv log]]
            assert_equal 2 [regexp -all {Caching the disconnected primary state.\n} [srv log]]
            assert_equal 2 [regexp -all {Discarding previously cached primary state.\n} [srv log]]
            log_says "PRIMARY MODE enabled (user request from 'id="
            assert_match "*name=\\*redacted\\* user=\\*redacted\\* lib-name=*" [srv log]
            assert_no_match "*name=mine*" [srv log]
        }

        test "The primary's log says whom it has lost" {
            set line "Connection with replica 127.0.0.1:[srv port] lost.\n"
            wait_for_condition 10 {[regexp -all $line [server_log $primary_dir]] == 2}
        }
    }
}
