# waitaof.tcl -- WAITAOF and WAIT: how long a client waits for its writes to be safe, and how a wait ends.
#
# With appendfsync no nothing is synced, so that clients are sure to wait; a change to another policy syncs everything.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set log {appendonly yes aof-use-rdb-preamble no}
set off "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled."

# Syncs everything so far, and nothing afterwards.
proc sync_all {} {
    r CONFIG SET appendfsync always
    assert_equal {1 0} [r WAITAOF 1 0 0]
    r CONFIG SET appendfsync no
}

# Returns the ids of waiting clients, the oldest connection first.
proc waiting_ids {} {
    set ids {}
    foreach line [split [string trim [r CLIENT LIST]] \n] {
        if {[string match *b* [client_field $line flags]]} {
            lappend ids [client_field $line id]
        }
    }
    return $ids
}

proc end_wait {args} {
    foreach id [waiting_ids] {
        assert_equal 1 [r CLIENT UNBLOCK $id {*}$args]
    }
}

# ---- Words and numbers ------------------------------------------------------------------------------------------

start_server [list overrides $log] {
    foreach {arguments error} {
        {} "wrong number of arguments for 'waitaof' command"
        {1 0} "wrong number of arguments for 'waitaof' command"
        {1 0 0 0} "wrong number of arguments for 'waitaof' command"
        {x 0 0} "value is not an integer or out of range"
        {01 0 0} "value is not an integer or out of range"
        {2 0 0} "value is out of range, value must between 0 and 1"
        {-1 -1 -1} "value is out of range, value must between 0 and 1"
        {0 -1 -1} "value is out of range, must be positive"
        {0 x 0} "value is out of range, must be positive"
        {0 9223372036854775808 0} "value is out of range, must be positive"
        {0 0 -1} "timeout is negative"
        {0 0 1.5} "timeout is not an integer or out of range"
        {0 0 9223372036854775807} "timeout is out of range"
    } {
        test "WAITAOF $arguments: $error" {
            assert_error "ERR $error" {r WAITAOF {*}$arguments}
        }
    }

    foreach {arguments error} {
        {1} "wrong number of arguments for 'wait' command"
        {x 0} "value is not an integer or out of range"
        {-1 -1} "timeout is negative"
        {0 x} "timeout is not an integer or out of range"
        {1 9223372036854775807} "timeout is out of range"
    } {
        test "WAIT $arguments: $error" {
            assert_error "ERR $error" {r WAIT {*}$arguments}
        }
    }

    test "Who has written nothing does not wait" {
        assert_equal {1 0} [r WAITAOF 1 0 0]
        assert_equal {1 0} [r WAITAOF 0 0 0]
        assert_equal 0 [r WAIT 0 0]
        assert_equal 0 [r WAIT -1 0]
    }

    test "Nobody is ever a replica: whoever waits for one waits until the time is over" {
        assert_equal 0 [r WAIT 1 10]
        assert_equal {1 0} [r WAITAOF 1 1 10]
        assert_equal {1 0} [r WAITAOF 0 9223372036854775807 10]
        nobody_waits
    }
}

start_server {} {
    test "Without a log nothing is on the disk" {
        r SET k v
        assert_error $off {r WAITAOF 1 0 0}
        assert_error "ERR timeout is negative" {r WAITAOF 1 0 -1}
        assert_equal {0 0} [r WAITAOF 0 0 0]
        assert_equal {0 0} [r WAITAOF 0 1 10]
    }
}

# ---- When a wait ends -------------------------------------------------------------------------------------------

foreach policy {always everysec} {
    start_server [list overrides [list {*}$log appendfsync $policy]] {
        test "$policy: a wait ends with the sync" {
            for {set i 0} {$i < 3} {incr i} {
                r SET k $i
                assert_equal {1 0} [r WAITAOF 1 0 0]
                assert_equal {1 0} [r WAITAOF 0 0 0]
            }
            nobody_waits
        }

        test "$policy: in a pipeline replies keep their order" {
            with_clients {a b} {
                for {set i 1} {$i <= 4} {incr i} {
                    foreach client [list $a $b] {
                        $client pipeline [list {INCR n} {WAITAOF 1 0 0} {PING} {WAITAOF 1 0 0}]
                    }
                }
                foreach client [list $a $b] {
                    for {set i 1} {$i <= 4} {incr i} {
                        assert_between 1 8 [$client reply]
                        assert_equal {{1 0} PONG {1 0}} [$client replies 3]
                    }
                }
            }
        }
    }
}

start_server [list overrides [list {*}$log appendfsync no]] {
    test "A write that is not synced is waited for, and another policy syncs it" {
        foreach policy {everysec always} {
            r CONFIG SET appendfsync no
            with_clients c {
                $c SET k v
                assert_equal {0 0} [$c WAITAOF 0 0 0]
                assert_equal {0 0} [$c WAITAOF 1 0 20]
                waits $c WAITAOF 1 0 0
                assert_equal 0 [info_field clients_in_timeout_table clients]
                assert [$c silent_for 50]
                r CONFIG SET appendfsync $policy
                assert_equal {1 0} [$c reply]
                assert_equal {1 0} [$c WAITAOF 0 0 0]
                nobody_waits
            }
        }
    }

    test "A wait is for the client's own writes" {
        sync_all
        r SET k v
        with_clients c {
            assert_equal {1 0} [$c WAITAOF 1 0 0]
            $c GET k
            $c SET new v XX
            $c DEL nothing
            $c PUBLISH channel message
            assert_equal {1 0} [$c WAITAOF 1 0 0]
        }
        assert_equal {0 0} [r WAITAOF 0 0 0]
    }

    # Commands that count as writes: each is sent by a client without other writes.
    foreach {what prepare commands} {
        "a transaction" {} {MULTI {SET a 1} {SET b 1} EXEC}
        "the removal of a key whose time is over" {{DEBUG SET-ACTIVE-EXPIRE 0} {SET e 1 PX 1}} {{GET e}}
        "an element that was waited for" {} {{BLPOP l 0}}
        "a flush" {{SET k v}} {FLUSHALL}
    } {
        test "A write is also $what" {
            with_clients {c other} {
                foreach command $prepare {
                    $other {*}$command
                }
                sync_all
                after 5
                foreach command $commands {
                    if {[string match BLPOP* $command]} {
                        waits $c {*}$command
                        $other RPUSH l 1
                        $c reply
                    } else {
                        $c {*}$command
                    }
                }
                assert_equal {0 0} [$c WAITAOF 0 0 0]
                sync_all
                assert_equal {1 0} [$c WAITAOF 0 0 0]
                r DEBUG SET-ACTIVE-EXPIRE 1
            }
        }
    }

    test "In a transaction nobody waits" {
        r SET k v
        r MULTI
        r WAITAOF 1 0 0
        r WAITAOF 1 1 0
        r WAIT 1 0
        assert_equal {{0 0} {0 0} 0} [r EXEC]
    }

    # ---- How a wait ends ----------------------------------------------------------------------------------------

    foreach {command over} {{WAITAOF 1 0} {0 0} {WAITAOF 1 1} {0 0} {WAITAOF 0 1} {0 0} {WAIT 1} 0} {
        test "$command: by its time" {
            with_clients c {
                $c SET k v
                assert_equal $over [$c {*}$command 20]
                waits $c {*}$command 100000
                assert_equal 1 [info_field clients_in_timeout_table clients]
                end_wait
                assert_equal $over [$c reply]
            }
            nobody_waits
        }

        test "$command: by CLIENT UNBLOCK" {
            with_clients c {
                set id [$c CLIENT ID]
                $c SET k v
                waits $c {*}$command 0
                assert_match "*flags=b *cmd=[string tolower [lindex $command 0]] *" [r CLIENT LIST ID $id]
                assert_equal 1 [r CLIENT UNBLOCK $id]
                assert_equal $over [$c reply]
                waits $c {*}$command 0
                assert_equal 1 [r CLIENT UNBLOCK $id ERROR]
                assert_error "UNBLOCKED client unblocked via CLIENT UNBLOCK" {$c reply}
                assert_equal 0 [r CLIENT UNBLOCK $id]
                assert_equal PONG [$c PING]
            }
            nobody_waits
        }

        test "$command: by the end of the client" {
            with_clients {c d} {
                $c SET k v
                $d SET k v
                waits $c {*}$command 0
                waits $d {*}$command 100000
                r CLIENT KILL ID [lindex [waiting_ids] 0]
                assert_equal "" [$c raw_until_eof]
            }
            nobody_waits
            sync_all
        }

        test "$command: what has ended counts as a call" {
            r CONFIG RESETSTAT
            set name [string tolower [lindex $command 0]]
            with_clients c {
                $c SET k v
                waits $c {*}$command 0
                assert_equal "" [info_field cmdstat_$name]
                end_wait
                $c reply
                assert_match "calls=1,*,rejected_calls=0,failed_calls=0" [info_field cmdstat_$name]
                waits $c {*}$command 0
                end_wait ERROR
                catch {$c reply}
                assert_match "calls=2,*,rejected_calls=1,failed_calls=0" [info_field cmdstat_$name]
            }
        }
    }

    test "What was sent behind a wait runs when it has ended" {
        with_clients c {
            $c SET k v
            $c pipeline {{WAITAOF 1 0 20} {SET k w} {WAIT 1 20} {GET k}}
            assert_equal {{0 0} OK 0 w} [$c replies 4]
        }
    }
}

start_server [list overrides [list {*}$log appendfsync no]] {
    test "The log is turned off: who waits for it gets an error, who waits for replicas goes on" {
        with_clients {local both others replicas writer} {
            foreach {client command} [list $local {WAITAOF 1 0 0} $both {WAITAOF 1 1 100000} $others {WAITAOF 0 1 0} \
                $replicas {WAIT 1 0}] {
                $client SET k v
                waits $client {*}$command
            }
            r CONFIG RESETSTAT
            r CONFIG SET appendonly no
            assert_error $off {$local reply}
            assert_error $off {$both reply}
            assert_match "calls=2,*,rejected_calls=0,*" [info_field cmdstat_waitaof]
            assert_equal 2 [info_field blocked_clients]
            assert_error $off {$local WAITAOF 1 0 0}
            end_wait
            assert_equal {0 0} [$others reply]
            assert_equal 0 [$replicas reply]
            nobody_waits
        }
    }
}

start_server [list overrides [list {*}$log appendfsync no]] {
    test "The server ends: who waits is told nothing" {
        with_clients {local both replicas} {
            foreach {client command} [list $local {WAITAOF 1 0 0} $both {WAITAOF 1 1 100000} $replicas {WAIT 1 0}] {
                $client SET k v
                waits $client {*}$command
            }
            expect_exit 0
            catch {r SHUTDOWN}
            foreach client [list $local $both $replicas] {
                assert_equal "" [$client raw_until_eof]
            }
        }
    }
}

start_server [list overrides [list {*}$log appendfsync everysec]] {
    test "A disk that does not take the write is waited for" {
        r SET k v
        assert_equal {1 0} [r WAITAOF 1 0 0]
        exec prlimit --pid [srv pid] --fsize=20000:unlimited
        with_clients {c before} {
            $before SET small 1
            assert_equal {1 0} [$before WAITAOF 1 0 0]
            $c SET large [string repeat x 30000]
            assert_equal {0 0} [$c WAITAOF 1 0 1500]
            assert_equal {1 0} [$before WAITAOF 1 0 0]
            waits $c WAITAOF 1 0 0
            exec prlimit --pid [srv pid] --fsize=unlimited:unlimited
            assert_equal {1 0} [$c reply]
        }
    }
}

# ---- While the log is being turned on ---------------------------------------------------------------------------

start_server {overrides {appendfsync no rdb-key-save-delay 0}} {
    # Turns the log on, with a rewrite that lasts until release_rewrite.
    proc turn_on_slowly {} {
        r CONFIG SET rdb-key-save-delay 10000000
        r CONFIG SET appendonly yes
        wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 1}
    }

    # Kills the child; the next one is fast.
    proc release_rewrite {} {
        r CONFIG SET rdb-key-save-delay 0
        exec kill -KILL [lindex [regexp -all -inline {started by pid (\d+)} [srv log]] end]
    }

    test "Who waits for a log that is being turned on has its writes in it in the end" {
        with_clients {before during everywhere} {
            $before SET k 1
            turn_on_slowly
            $during SET k 2
            assert_equal {0 0} [$during WAITAOF 0 0 0]
            assert_equal {0 0} [$during WAITAOF 1 0 20]
            waits $before WAITAOF 1 0 0
            waits $during WAITAOF 1 0 0
            waits $everywhere WAITAOF 1 1 0
            release_rewrite
            assert_equal {1 0} [$before reply]
            assert_equal {1 0} [$during reply]
            assert_equal 1 [info_field blocked_clients]
            end_wait
            assert_equal {1 0} [$everywhere reply]
        }
    }

    test "It is turned off before it was there: who waits gets an error" {
        r CONFIG SET appendonly no
        with_clients {local both} {
            turn_on_slowly
            $local SET k 3
            waits $local WAITAOF 1 0 0
            waits $both WAITAOF 1 1 100000
            r CONFIG SET appendonly no
            assert_error $off {$local reply}
            assert_error $off {$both reply}
            nobody_waits
        }
    }
}
