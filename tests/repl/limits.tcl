# limits.tcl -- replicas that lag: their memory, when they are disconnected, and the write throttle before that.
#
# The limits themselves are tested without the throttle, which is on by default.
#
# SPDX-License-Identifier: BSD-3-Clause

# More than the kernel keeps for a connection that does not read.
set much [expr {40 << 20}]

# Makes a connection that gets the replication stream from here on, and reads none of it.
proc lag {c primary} {
    set id [repl_field $primary master_replid]
    assert_match "CONTINUE *" [ask_psync $c $id [expr {[repl_field $primary master_repl_offset] + 1}]]
}

proc write_much {client bytes} {
    set value [string repeat x 100000]
    for {set i 0} {$i < $bytes} {incr i 100000} {$client SET key $value}
}

# Starts the replication stream.
proc begin_stream {client} {
    with_clients {c} {
        ask_psync $c ? -1
        $client SET key 1
    }
}

proc sent_away {} {
    return [info_field client_output_buffer_limit_disconnections stats]
}

start_server [list overrides [list {*}$quick repl-backlog-size 16kb repl-slow-writers no]] {
    set primary [default_client]
    begin_stream $primary
    r SET key [string repeat x 100000]

    test "Three that lag cost what one does" {
        set costs {}
        set before [info_field used_memory]
        with_clients {first second third} {
            lag $first $primary
            write_much r $much
            lappend costs [expr {[info_field used_memory] - $before}]
            assert_equal [repl_field $primary connected_slaves] 1
        }
        wait_for_condition 10 {[info_field used_memory] - $before < 2000000}
        with_clients {first second third} {
            foreach c [list $first $second $third] {lag $c $primary}
            write_much r $much
            lappend costs [expr {[info_field used_memory] - $before}]
            assert_between [expr {$much / 2}] [expr {2 * $much}] [info_field mem_total_replication_buffers]
        }
        lassign $costs one three
        assert_between [expr {$one * 3 / 4}] [expr {$one * 5 / 4}] $three
        wait_for_condition 10 {[info_field used_memory] - $before < 2000000}
    }

    test "One that is behind by more than the hard limit is sent away, the others are not" {
        r CONFIG SET client-output-buffer-limit "replica 20mb 0 0"
        with_clients {reads lags} {
            lag $reads $primary
            lag $lags $primary
            set before [sent_away]
            set value [string repeat y 100000]
            for {set i 0} {$i < $much} {incr i 100000} {
                r SET key $value
                $reads raw_bytes 100000
            }
            wait_for_condition 10 {[sent_away] > $before}
            assert [$lags closed_within 5000]
            assert_equal 1 [repl_field $primary connected_slaves]
            assert_equal [expr {$before + 1}] [sent_away]
        }
    }

    test "... or than the soft limit for so many seconds" {
        r CONFIG SET client-output-buffer-limit "replica 0 20mb 1"
        with_clients {lags} {
            lag $lags $primary
            set before [sent_away]
            write_much r $much
            assert_equal $before [sent_away]
            wait_for_condition 8 {[sent_away] == $before + 1}
            assert [$lags closed_within 5000]
        }
    }

    test "... but no limit is lower than the backlog, which is kept anyway" {
        r CONFIG SET client-output-buffer-limit "replica 20mb 20mb 1" repl-backlog-size 200mb
        with_clients {lags} {
            lag $lags $primary
            set before [sent_away]
            write_much r $much
            after 2000
            assert_equal $before [sent_away]
            assert_equal 1 [repl_field $primary connected_slaves]
        }
        r CONFIG SET repl-backlog-size 16kb
    }

    test "repl-slow-writers: writers wait instead, and go on when the replica reads" {
        r CONFIG SET client-output-buffer-limit "replica 20mb 0 0" repl-slow-writers yes
        with_clients {lags writer} {
            lag $lags $primary
            set before [sent_away]
            set value [string repeat z 100000]
            set count [expr {$much / 100000}]
            $writer pipeline [lrepeat $count [list SET key $value]]
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            wait_for_condition 10 {[info_field paused_actions clients] eq "write"}
            assert_equal PONG [r PING]
            after 1000
            assert_equal $before [sent_away]
            set read 0
            while {$read < $much - 2000000} {
                $lags raw_bytes 1000000
                incr read 1000000
            }
            assert_equal [lrepeat $count OK] [$writer replies $count]
            assert_equal $before [sent_away]
        }
        wait_for_condition 5 {[info_field paused_reason clients] eq "none"}
        assert_equal OK [r SET key 1]
    }

    test "... and so do many, who all have something to write when they may go on" {
        r CONFIG SET client-output-buffer-limit "replica 1mb 0 0" repl-slow-writers yes
        with_clients {lags} {
            lag $lags $primary
            set before [sent_away]
            set writers [lmap i [lrepeat 40 x] {connect}]
            foreach writer $writers {$writer pipeline [lrepeat 400 [list SET key [string repeat z 5000]]]}
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            for {set i 0} {$i < 4} {incr i} {
                $lags write [resp::encode [list REPLCONF ACK 1]] ;# it is alive
                after 500
            }
            assert_equal $before [sent_away]
            r CONFIG SET repl-slow-writers no
            foreach writer $writers {
                assert_equal [lrepeat 400 OK] [$writer replies 400]
                $writer destroy
            }
        }
        r CONFIG SET client-output-buffer-limit "replica 20mb 0 0" repl-slow-writers yes
    }

    test "... and go on when it has gone" {
        with_clients {lags writer} {
            lag $lags $primary
            $writer pipeline [lrepeat 500 [list SET key [string repeat z 100000]]]
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            $lags destroy
            assert_equal [lrepeat 500 OK] [$writer replies 500]
        }
    }

    # It would slow them down until repl-timeout, although it may never come back.
    test "... and when it has given no sign of life for some seconds: then it is sent away" {
        with_clients {lags writer} {
            lag $lags $primary
            set before [sent_away]
            $writer pipeline [lrepeat 500 [list SET key [string repeat z 100000]]]
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            set begin [clock milliseconds]
            assert_equal [lrepeat 500 OK] [$writer replies 500]
            assert {[clock milliseconds] - $begin < 30000} ;# repl-timeout is 60 s
            wait_for_condition 10 {[sent_away] == $before + 1}
        }
    }

    # A slow link has megabytes in its buffers when the primary has written them all.
    test "... but not while it may still receive or load the dataset" {
        with_clients {loads writer} {
            assert_equal FULLRESYNC [lindex [ask_psync $loads ? -1] 0]
            wait_for_condition 10 {[string match "*state=online*" [repl_field $primary slave0]]}
            set before [sent_away]
            $writer pipeline [lrepeat 500 [list SET key [string repeat z 100000]]]
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            after 7000
            assert_equal $before [sent_away]
            # Writers run for a moment in each window.
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            $loads destroy
            assert_equal [lrepeat 500 OK] [$writer replies 500]
        }
    }

    test "... or when they are asked to" {
        with_clients {lags writer} {
            lag $lags $primary
            $writer pipeline [lrepeat 500 [list SET key [string repeat z 100000]]]
            wait_for_condition 10 {[info_field paused_reason clients] eq "slow_replica"}
            r CONFIG SET repl-slow-writers no
            assert_equal [lrepeat 500 OK] [$writer replies 500]
        }
    }
}

# Without the throttle it would be disconnected in each synchronization.
foreach limit {"replica 10mb 0 0" "replica 10mb 1mb 1" "replica 0 10mb 1"} {
    start_server [list overrides [list {*}$quick repl-backlog-size 16kb rdb-key-save-delay 3000 \
        client-output-buffer-limit $limit]] {
        set primary [default_client]
        set port [srv port]
    r DEBUG POPULATE 1000 key 100
        with_clients {writer} {
            start_server {} {
                set replica [default_client]

                test "By default a replica gets the dataset once, however much is written meanwhile ($limit)" {
                    $replica REPLICAOF 127.0.0.1 $port
                    wait_for_condition 10 {[string match "*state=wait_bgsave*" [repl_field $primary slave0]]}
                    $writer pipeline [lrepeat 400 [list SET meanwhile [string repeat z 100000]]]
                    is_up $replica
                    assert_equal [lrepeat 400 OK] [$writer replies 400]
                    assert_same_data $primary $replica
                    assert_equal {1 0} [syncs_of $primary]
                }
            }
        }
    }
}

foreach slow {no yes} {
    start_server [list overrides [list {*}$quick repl-backlog-size 16kb repl-slow-writers $slow \
        client-output-buffer-limit "replica 1mb 0 0"]] {
        set primary [default_client]
        set port [srv port]
        start_server {} {
            set replica [default_client]
            follow $replica $port

            # It may break the link, and then a full synchronization follows.
            test "A value that is larger than the limit comes to an end (repl-slow-writers $slow)" {
                for {set i 0} {$i < 3} {incr i} {
                    $primary SET large:$i [string repeat $i 5000000]
                    is_up $replica
                    assert_same_data $primary $replica
                    assert_equal OK [$primary SET small:$i 1]
                    assert_same_data $primary $replica
                    assert {[lindex [syncs_of $primary] 0] <= 2 + $i}
                }
            }
        }
    }
}

start_server [list overrides [list {*}$quick repl-timeout 2 repl-ping-replica-period 1 repl-backlog-ttl 2]] {
    set primary [default_client]
    begin_stream $primary

    test "A replica that says nothing for repl-timeout seconds is sent away, one that acknowledges is not" {
        with_clients {silent talks} {
            lag $silent $primary
            lag $talks $primary
            for {set i 0} {$i < 8} {incr i} {
                $talks write [resp::encode [list REPLCONF ACK [repl_field $primary master_repl_offset]]]
                after 500
            }
            assert [$silent closed_within 5000]
            assert_equal 1 [repl_field $primary connected_slaves]
        }
    }

    test "A repl-backlog-ttl that is longer than any number of milliseconds is not over soon" {
        $primary CONFIG SET repl-backlog-ttl 18446744073709552
        with_clients {c} {
            lag $c $primary
        }
        wait_for_condition 10 {[repl_field $primary connected_slaves] == 0}
        set second [info_field uptime_in_seconds server]
        wait_for_condition 20 {[info_field uptime_in_seconds server] >= $second + 4} ;# it is checked each second
        assert_equal 1 [repl_field $primary repl_backlog_active]
        $primary CONFIG SET repl-backlog-ttl 2
    }

    test "What nobody has come back for in repl-backlog-ttl seconds is given up, with its name" {
        set name [repl_field $primary master_replid]
        assert_equal 1 [repl_field $primary repl_backlog_active]
        wait_for_condition 10 {[repl_field $primary repl_backlog_active] == 0}
        assert_not_equal $name [repl_field $primary master_replid]
        assert_equal 0 [repl_field $primary repl_backlog_histlen]
    }
}
