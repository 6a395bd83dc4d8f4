# dual_channel.tcl -- two connections to the primary: one for the dataset, and one for the replication stream after it.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set two {dual-channel-replication-enabled yes}

# Opens the connection for the dataset and reads the line with its replication offset: {offset id db client}.
proc ask_for_dataset {c} {
    assert_equal OK [$c REPLCONF capa eof rdb-only 1 rdb-channel 1 listening-port 7777 version 9.1.2]
    $c write "SYNC\r\n"
    set line [read_behind_newlines $c]
    assert_regexp {^\$ENDOFF:\d+ [0-9a-f]{40} -?\d+ \d+$} $line
    return [string range $line 8 end]
}

proc say_dual {c} {
    $c REPLCONF listening-port 7777
    $c REPLCONF capa eof capa psync2 capa dual-channel
    $c REPLCONF version 9.1.2
}

proc kinds_of {client} {
    set kinds {}
    foreach line [split [$client INFO replication] "\n"] {
        if {[regexp {^slave\d+:.*state=(\w+),.*type=([\w-]+)} $line -> state kind]} {
            lappend kinds $kind/$state
        }
    }
    return [lsort $kinds]
}

start_server [list overrides [list {*}$quick {*}$two repl-backlog-size 16kb]] {
    set primary [default_client]
    r SET before 1

    test "What is not yet in any database is in -1" {
        with_clients {main data} {
            say_dual $main
            assert_equal DUALCHANNELSYNC [$main PSYNC ? -1]
            assert_equal -1 [lindex [ask_for_dataset $data] 2]
        }
    }

    test "PSYNC of who can do with two connections is told to make the second" {
        with_clients {main} {
            say_dual $main
            assert_equal DUALCHANNELSYNC [$main PSYNC ? -1]
            assert_equal PONG [$main PING]
            assert_equal 0 [repl_field $primary connected_slaves]
        }
    }

    test "... if the setting is on, and snapshots are not made on disk" {
        foreach {setting value} {dual-channel-replication-enabled no repl-diskless-sync no} {
            set before [lindex [r CONFIG GET $setting] 1]
            r CONFIG SET $setting $value
            with_clients {main} {
                say_dual $main
                assert_match "FULLRESYNC *" [$main PSYNC ? -1]
            }
            r CONFIG SET $setting $before
        }
    }

    test "The dataset by one, the stream from there by the other, whatever the size of the backlog is" {
        with_clients {main data} {
            say_dual $main
            assert_equal DUALCHANNELSYNC [$main PSYNC ? -1]
            lassign [ask_for_dataset $data] offset id db client
            assert_equal 1 [repl_field $primary replicas_waiting_psync]
            r SET between [string repeat x 500000]
            assert_equal OK [$main REPLCONF set-rdb-client-id $client]
            assert_equal "CONTINUE $id" [$main PSYNC $id [expr {$offset + 1}]]
            assert_match "*SELECT*SET*between*xxx*" [$main raw_bytes 500000]
            assert_equal 0 [repl_field $primary replicas_waiting_psync]
            assert_match "VALKEY080*before*" [read_marked $data]
            assert [$data closed_within 5000]

            wait_for_condition 5 {[kinds_of $primary] eq "main-channel/bg_transfer"}
            assert_equal 0 [r WAIT 1 10]
            $main write [resp::encode [list REPLCONF ACK $offset]]
            wait_for_condition 5 {[kinds_of $primary] eq "replica/online"}
        }
    }

    test "Both are shown while the dataset is on its way" {
        r CONFIG SET rdb-key-save-delay 200000
        with_clients {main data} {
            say_dual $main
            $main PSYNC ? -1
            lassign [ask_for_dataset $data] offset id db client
            assert_equal rdb-channel/wait_bgsave [kinds_of $primary]
            $main REPLCONF set-rdb-client-id $client
            $main PSYNC $id [expr {$offset + 1}]
            assert_equal {main-channel/bg_transfer rdb-channel/wait_bgsave} [kinds_of $primary]
        }
        r CONFIG SET rdb-key-save-delay 0
    }

    test "A client that gets no dataset for others is no place to begin from" {
        with_clients {main data} {
            foreach id [list 0 -1 [$data CLIENT ID] 99999] {
                assert_error "ERR Unrecognized RDB client id $id" {$main REPLCONF set-rdb-client-id $id}
            }
            assert_error "ERR value is not an integer or out of range" {$main REPLCONF set-rdb-client-id x}
            assert_error "ERR value is out of range, value must between 0 and 1" {$main REPLCONF rdb-channel 2}
        }
    }

    test "Who is not asked for the stream in some seconds loses the place" {
        with_clients {data} {
            lassign [ask_for_dataset $data] offset id db client
            read_marked $data
            # The mark may arrive before the primary knows that the sending process has ended.
            wait_for_condition 10 {[kinds_of $primary] eq "rdb-channel/rdb_transmitted"}
            assert [$data closed_within 10000]
            assert_equal 0 [repl_field $primary replicas_waiting_psync]
            with_clients {main} {
                assert_error "ERR Unrecognized RDB client id $client" {$main REPLCONF set-rdb-client-id $client}
            }
        }
    }

    test "... and who keeps more for it than its limit" {
        r CONFIG SET client-output-buffer-limit "replica 1mb 0 0"
        with_clients {data} {
            ask_for_dataset $data
            for {set i 0} {$i < 20} {incr i} {r SET between [string repeat y 100000]}
            assert [$data closed_within 5000]
        }
        r CONFIG SET client-output-buffer-limit "replica 256mb 64mb 60"
    }
}

foreach load {disabled flush-before-load swapdb} {
    start_server [list overrides [list {*}$quick {*}$two repl-backlog-size 16kb]] {
        set primary [default_client]
        set port [srv port]
        fill $primary
        start_server [list overrides [list {*}$two repl-diskless-load $load]] {
            set replica [default_client]

            test "A replica with two connections, repl-diskless-load $load: what is written meanwhile is there too" {
                $primary CONFIG SET rdb-key-save-delay 10000
                $replica REPLICAOF 127.0.0.1 $port
                wait_for_condition 10 {[string match "*main-channel/bg_transfer*" [kinds_of $primary]]}
                for {set i 0} {$i < 100} {incr i} {
                    $primary SELECT [expr {$i % 3}]
                    $primary SET meanwhile:$i [string repeat m 20000]
                }
                $primary SELECT 0
                wait_for_condition 10 {[repl_field $replica replicas_repl_buffer_size] > 1000000}
                is_up $replica
                assert_same_data $primary $replica
                assert_equal {1 1} [syncs_of $primary]
                assert_equal 0 [repl_field $replica replicas_repl_buffer_size]
                assert {[repl_field $replica replicas_repl_buffer_peak] > 1000000}
                wait_for_condition 5 {[kinds_of $primary] eq "replica/online"}
                assert_equal 1 [repl_field $primary connected_slaves]
            }

            test "... and goes on like any other: WAIT, a lost link" {
                $primary SET later 1
                assert_equal 1 [$primary WAIT 1 5000]
                cut_link $replica
                $primary SET later 2
                assert_same_data $primary $replica
                assert_equal {1 2} [syncs_of $primary]
            }
        }
    }
}

start_server [list overrides [list {*}$quick {*}$two rdb-key-save-delay 5000]] {
    set primary [default_client]
    set port [srv port]
    fill $primary
    start_server [list overrides [list {*}$two repl-diskless-load flush-before-load \
        client-output-buffer-limit "replica 1mb 0 0"]] {
        set replica [default_client]

        test "A replica keeps no more than its own limit for replicas: the rest waits at the primary" {
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 10 {[string match "*main-channel/bg_transfer*" [kinds_of $primary]]}
            for {set i 0} {$i < 100} {incr i} {$primary SET meanwhile:$i [string repeat m 100000]}
            is_up $replica
            assert_same_data $primary $replica
            assert {[repl_field $replica replicas_repl_buffer_peak] < 1200000}
            assert {[repl_field $replica replicas_repl_buffer_peak] > 800000}
        }

        test "The connection for the dataset breaks: both are made anew" {
            $primary SET new 1
            $replica REPLICAOF NO ONE
            $replica FLUSHALL
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 10 {[string match "*main-channel/bg_transfer*rdb-channel*" [kinds_of $primary]]}
            foreach line [split [string trim [$primary CLIENT LIST TYPE replica]] "\n"] {
                if {[regexp {^id=(\d+) .*cmd=sync } $line -> id]} {$primary CLIENT KILL ID $id}
            }
            $primary CONFIG SET rdb-key-save-delay 0
            is_up $replica
            assert_same_data $primary $replica
        }

        test "The connection for the stream breaks: it goes on from what has come of it" {
            $primary CONFIG SET rdb-key-save-delay 5000
            $replica REPLICAOF NO ONE
            $replica FLUSHALL
            set before [lindex [syncs_of $primary] 0]
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 10 {[string match "*main-channel/bg_transfer*" [kinds_of $primary]]}
            for {set i 0} {$i < 5} {incr i} {$primary SET again:$i [string repeat a 100000]}
            wait_for_condition 10 {[repl_field $replica replicas_repl_buffer_size] > 500000}
            foreach line [split [string trim [$primary CLIENT LIST TYPE replica]] "\n"] {
                if {[regexp {^id=(\d+) .*cmd=psync } $line -> id]} {$primary CLIENT KILL ID $id}
            }
            $primary SET again:last 1
            is_up $replica
            assert_same_data $primary $replica
            assert_equal [expr {$before + 1}] [lindex [syncs_of $primary] 0]
        }
    }
}
