# psync.tcl -- PSYNC, SYNC and REPLCONF as bytes, and their replies.
#
# SPDX-License-Identifier: BSD-3-Clause

# Acknowledges the dataset. Acknowledgments before the child has ended are ignored.
proc acknowledge {c offset} {
    wait_for_condition 10 {[string match "*state=online*" [repl_field [default_client] slave0]]}
    $c write [resp::encode [list REPLCONF ACK $offset]]
}

start_server [list overrides [list {*}$quick repl-diskless-sync yes]] {
    foreach {words error} {
        {REPLCONF capa} "ERR syntax error"
        {REPLCONF listening-port x} "ERR value is not an integer or out of range"
        {REPLCONF nonsense 1} "ERR Unrecognized REPLCONF option: nonsense"
        {REPLCONF version 9.1} "ERR Unrecognized version format: 9.1"
        {REPLCONF version 9.1.256} "ERR Unrecognized version format: 9.1.256"
        {REPLCONF version 9.1.2.3} "ERR Unrecognized version format: 9.1.2.3"
        {REPLCONF version ...} "ERR Unrecognized version format: ..."
        {REPLCONF version 9.1.2a} "ERR Unrecognized version format: 9.1.2a"
        {REPLCONF rdb-only 2} "ERR value is out of range, value must between 0 and 1"
        {REPLCONF rdb-filter-only keys} "ERR Unsupported rdb-filter-only option: keys"
        {REPLCONF rdb-filter-only "functions 'other words'"} "ERR Unsupported rdb-filter-only option: other words"
        {REPLCONF rdb-filter-only "\"functions"} "ERR Missing rdb-filter-only values"
        {REPLCONF set-cluster-node-id x} "ERR This instance has cluster support disabled"
        {PSYNC ? x} "ERR value is not an integer or out of range"
    } {
        test "$words: $error" {
            assert_error $error {r {*}$words}
        }
    }

    test "REPLCONF ip-address that is too long" {
        assert_error "ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes" {
            r REPLCONF ip-address [string repeat x 256]
        }
    }

    test "REPLCONF without options, with those that nobody knows, and in any number" {
        assert_equal OK [r REPLCONF]
        assert_equal OK [r REPLCONF capa anything capa eof]
        assert_equal OK [r REPLCONF listening-port 1 capa psync2 ip-address ""]
        assert_equal OK [r REPLCONF version 09.01.0002 rdb-filter-only "\"functions\" 'FUNCTIONS'"]
        assert_equal OK [r REPLCONF version .. rdb-filter-only ""]
    }

    test "REPLCONF ACK of a client that is no replica says nothing" {
        r send REPLCONF ACK 1
        r send REPLCONF GETACK *
        assert_equal PONG [r PING]
    }

    test "PSYNC with a name that nobody has: the dataset, where it stands, and then the stream" {
        with_clients {c} {
            assert_regexp {^FULLRESYNC [0-9a-f]{40} 0$} [ask_psync $c ? -1]
            assert_match "VALKEY080*" [read_marked $c]
            acknowledge $c 0
            assert_equal "*1\r\n\$4\r\nping\r\n" [$c raw_bytes 14]
            r SET a 1
            assert_equal "*2\r\n\$6\r\nSELECT\r\n\$1\r\n0\r\n*3\r\n\$3\r\nSET\r\n\$1\r\na\r\n\$1\r\n1\r\n" [$c raw_bytes 50]
            set ::id [repl_field [default_client] master_replid]
        }
    }

    test "PSYNC with an offset that is kept: the rest of the stream" {
        with_clients {c} {
            assert_equal "CONTINUE $::id" [ask_psync $c $::id 15]
            assert_match "*SELECT*SET*" [$c raw_bytes 50]
        }
        with_clients {c} {
            assert_equal "CONTINUE $::id" [ask_psync $c [string toupper $::id] 65]
            assert_equal {1 2} [syncs_of [default_client]]
        }
    }

    test "... or not kept: the dataset" {
        foreach offset {0 66 -5 9223372036854775807} {
            with_clients {c} {
                assert_match "FULLRESYNC $::id *" [ask_psync $c $::id $offset]
            }
        }
        with_clients {c} {
            assert_match "FULLRESYNC $::id *" [ask_psync $c [string repeat 0 40] 15]
        }
    }

    test "Who names no stream, but ? and more, asks for all: that is no part that was not to be had" {
        set before [field_of [r INFO stats] sync_partial_err]
        with_clients {c} {
            assert_match "FULLRESYNC $::id *" [ask_psync $c ?? 15]
        }
        assert_equal $before [field_of [r INFO stats] sync_partial_err]
    }

    test "PSYNC of who does not know names is answered without one" {
        with_clients {c} {
            assert_equal CONTINUE [$c PSYNC $::id 15]
        }
    }

    test "One that has said it is older gets a snapshot of the old version" {
        with_clients {c} {
            $c REPLCONF capa eof capa psync2
            $c REPLCONF version 8.1.0
            $c PSYNC ? -1
            assert_match "REDIS0011*" [read_marked $c]
        }
    }

    test "SYNC: a snapshot of known length, and no word of names and offsets" {
        with_clients {c} {
            $c write "SYNC\r\n"
            set header [read_behind_newlines $c]
            assert_regexp {^\$[0-9]+$} $header
            assert_match "VALKEY080*" [$c raw_bytes [string range $header 1 end]]
            r SET b 2
            assert_match "*SELECT*SET*" [$c raw_bytes 50]
        }
    }

    test "rdb-only: the dataset, and the end" {
        with_clients {c} {
            assert_equal OK [$c REPLCONF capa eof rdb-only 1 version 9.1.2]
            $c write "SYNC\r\n"
            assert_match "VALKEY080*" [read_marked $c]
            assert [$c closed_within 5000]
        }
    }

    test "rdb-filter-only: functions alone, or nothing" {
        r FUNCTION LOAD "#!lua name=mine\nserver.register_function('mine', function() return 1 end)"
        foreach {filter has lacks} {functions "lua name=mine" string: "" VALKEY080 "lua name=mine"} {
            with_clients {c} {
                $c REPLCONF capa eof rdb-only 1 version 9.1.2 rdb-filter-only $filter
                $c write "SYNC\r\n"
                set bytes [read_marked $c]
                assert_match "*$has*" $bytes
                assert_no_match "*$lacks*" $bytes
            }
        }
        with_clients {c} {
            $c REPLCONF rdb-filter-only functions
            assert_error "ERR Filtered replica requires EOF capability" {$c SYNC}
        }
    }

    # The link has only the replication stream: no replies and no errors.
    r ACL SETUSER copier on nopass +psync +replconf +ping
    foreach words {
        PING {GET a} {REPLCONF capa eof} {SET a 2} INFO NOSUCH {CLIENT NOSUCH} GET {SET a} PSYNC
        {REPLCONF ACK 1 FACK} {REPLCONF ACK} {DEBUG SLEEP 0} MULTI
    } {
        foreach user {default copier} {
            test "$words of user $user ends the link of a replica" {
                with_clients {c} {
                    $c AUTH $user any
                    set end [repl_field [default_client] master_repl_offset]
                    assert_equal "CONTINUE $::id" [ask_psync $c $::id [incr end]]
                    $c send {*}$words
                    assert_equal "" [string map [list [resp::encode ping] ""] [$c raw_until_eof]]
                }
            }
        }
    }

    foreach words {{PSYNC ? -1} SYNC MONITOR {REPLCONF ACK 5} {REPLCONF ACK x} {REPLCONF GETACK *}} {
        test "$words is nothing to the link of a replica" {
            with_clients {c} {
                set end [repl_field [default_client] master_repl_offset]
                assert_equal "CONTINUE $::id" [ask_psync $c $::id [incr end]]
                r SELECT 0
                $c send {*}$words
                $c send REPLCONF ACK 7000
                wait_for_condition 10 {[string match "*offset=7000,*" [r INFO replication]]}
                r SET mark $words
                set mark [resp::encode [list SET mark $words]]
                set got [$c raw_bytes_until $mark]
                assert_equal $mark [string map [list [resp::encode ping] "" [resp::encode {SELECT 0}] ""] $got]
            }
        }
    }

    test "DEBUG REPLICATE puts words into the stream, whatever they are" {
        with_clients {c} {
            set end [repl_field [default_client] master_repl_offset]
            assert_equal "CONTINUE $::id" [ask_psync $c $::id [incr end]]
            assert_equal OK [r DEBUG REPLICATE hello "a b"]
            assert_equal [resp::encode {hello "a b"}] [$c raw_bytes [string length [resp::encode {hello "a b"}]]]
            assert_equal [expr {$end - 1 + 24}] [repl_field [default_client] master_repl_offset]
        }
    }
}

# Returns the replication offset of a replica's dataset, and the client that has it.
proc ask_for_place {data} {
    set line [read_behind_newlines $data]
    assert_regexp {^\$ENDOFF:\d+ [0-9a-f]{40} -?\d+ \d+$} $line
    lassign [string range $line 8 end] offset id db client
    return [list $id [expr {$offset + 1}] $client]
}

start_server [list overrides [list {*}$quick repl-backlog-size 16kb rdb-key-save-delay 0]] {
    set primary [default_client]

    test "A connection for the dataset that gives its place away is no replica, whatever it has said" {
        with_clients {data main} {
            $data REPLCONF capa eof rdb-channel 1 version 9.1.2
            $data send PSYNC ? -1
            lassign [ask_for_place $data] id offset client
            $main REPLCONF capa eof capa psync2
            assert_equal OK [$main REPLCONF set-rdb-client-id $client]
            assert_equal "CONTINUE $id" [$main PSYNC $id $offset]
            read_marked $data
            $data send REPLCONF ACK 0
            assert [$data closed_within 5000]
            assert_equal PONG [r PING]
        }
    }

    test "Who comes while a snapshot is written that nobody has a place behind waits for the next" {
        for {set i 0} {$i < 20} {incr i} {
            r SET key:$i 1
        }
        r CONFIG SET rdb-key-save-delay 100000
        with_clients {data late} {
            $data REPLCONF rdb-channel 1 rdb-only 1
            $data write "SYNC\r\n"
            lassign [ask_for_place $data] id offset client
            with_clients {main} {
                $main REPLCONF capa eof capa psync2
                $main REPLCONF set-rdb-client-id $client
                assert_equal "CONTINUE $id" [$main PSYNC $id $offset]
                assert_equal 0 [repl_field $primary replicas_waiting_psync]
            }
            wait_for_condition 10 {[repl_field $primary connected_slaves] == 1}
            for {set i 0} {$i < 100} {incr i} {
                r SET large [string repeat x 1000]
            }
            assert {[repl_field $primary repl_backlog_first_byte_offset] > $offset}
            $late write "SYNC\r\n"
            wait_for_condition 10 {[repl_field $primary connected_slaves] == 2}
            r CONFIG SET rdb-key-save-delay 0
            assert_regexp {^\$[0-9]+$} [read_behind_newlines $late]
        }
    }
}

start_server [list overrides {repl-timeout 2 repl-diskless-sync-delay 1}] {
    test "Who does not take what it was sent before its dataset holds up nobody for longer than repl-timeout" {
        with_clients {stuck other} {
            $stuck HELLO 3
            $stuck send SUBSCRIBE channel
            $stuck next_push
            $stuck REPLCONF capa eof capa psync2 version 9.1.2
            $stuck send PSYNC ? -1
            wait_for_condition 10 {[info_field connected_slaves] == 1}
            for {set i 0} {$i < 24} {incr i} {
                r PUBLISH channel [string repeat x 1000000]
            }
            $other REPLCONF capa eof capa psync2 version 9.1.2
            $other send PSYNC ? -1
            assert_match "+FULLRESYNC *" [read_behind_newlines $other]
            assert_match "VALKEY080*" [read_marked $other]
            assert_match "*Disconnecting timedout replica (full sync): *" [server_log [srv dir]]
        }
    }
}

start_server [list overrides $quick] {
    test "The child of somebody else goes on when the replicas are killed whose child has ended" {
        r DEBUG POPULATE 3000 key 8000
        r CONFIG SET rdbcompression no
        with_clients {c} {
            ask_psync $c ? -1
            while {![string match "*Background RDB transfer terminated with success*" [server_log [srv dir]]]} {
                $c raw_bytes 250000
            }
            r CONFIG SET rdb-key-save-delay 300
            assert_equal "Background saving started" [r BGSAVE]
            assert_equal 1 [r CLIENT KILL TYPE replica]
        }
        wait_for_condition 10 {[info_field connected_slaves] == 0}
        wait_for_condition 60 {[info_field rdb_bgsave_in_progress] == 0}
        assert_equal ok [info_field rdb_last_bgsave_status]
        assert [file exists [srv dir]/dump.rdb]
    }
}

start_server [list overrides [list {*}$quick repl-ping-replica-period 600]] {
    test "The first ping of the stream is a period away, however long the machine has run" {
        with_clients {c} {
            ask_psync $c ? -1
            read_marked $c
            acknowledge $c 0
            # The time is checked each second: the lag of an online replica shows two checks.
            wait_for_condition 20 {[string match "*lag=2*" [repl_field [default_client] slave0]]}
            r SET a 1
            assert_equal [resp::encode ping][resp::encode {SELECT 0}][resp::encode {SET a 1}] \
                [$c raw_bytes_until [resp::encode {SET a 1}]]
        }
    }
}
