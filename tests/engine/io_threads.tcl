# io_threads.tcl -- many clients at once while the threads that serve them start and stop.
#
# Replies are complete and in order with any number of threads; the settings that move work between threads may change
# at any time. Tests of settings that a server lacks are skipped.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns COUNT connections in a list.
proc crowd {count} {
    set all {}
    for {set i 0} {$i < $count} {incr i} {
        lappend all [connect]
    }
    return $all
}

proc dismiss {clients} {
    foreach c $clients {
        catch {$c destroy}
    }
}

# Returns a value of SIZE bytes that contains the name of its writer.
proc value_of {who number size} {
    return [string range [string repeat "<$who:$number>" [expr {$size / 4 + 1}]] 0 $size-1]
}

# Each of CLIENTS writes and reads COUNT keys of its own in one pipeline, with values of SIZES in rotation. MEANWHILE
# runs between sending and reading. Every reply must be right and at the right position.
proc write_and_read {clients count sizes {meanwhile {}}} {
    set who 0
    foreach c $clients {
        set commands {}
        for {set i 0} {$i < $count} {incr i} {
            set value [value_of $who $i [lindex $sizes [expr {($i + $who) % [llength $sizes]}]]]
            lappend commands [list SET k:$who:$i $value] [list GET k:$who:$i] [list STRLEN k:$who:$i]
        }
        $c pipeline $commands
        incr who
    }
    uplevel 1 $meanwhile
    set who 0
    foreach c $clients {
        for {set i 0} {$i < $count} {incr i} {
            set size [lindex $sizes [expr {($i + $who) % [llength $sizes]}]]
            lassign [$c replies 3] stored value length
            if {$stored ne "OK" || $value ne [value_of $who $i $size] || $length ne $size} {
                fail "client $who, key $i of $size bytes: [shorten $stored] [shorten $value] [shorten $length]"
            }
        }
        incr who
    }
}

# Returns the number of threads in the system: INFO does not show one that has yet to end.
proc io_threads_running {} {
    set count 0
    foreach name [glob -nocomplain /proc/[srv pid]/task/*/comm] {
        incr count [string match "io_thd_*" [patience::proc_file $name]]
    }
    return $count
}

start_server {each {r FLUSHALL}} {

    # Accepted output is sent before the connection is closed, in whatever way it ends.
    foreach threads {1 4} {
        test "Every byte arrives before the end of a connection, $threads threads" {
            need_config main-role ;# other servers drop replies at the end of input
            with_config [list io-threads $threads io-threads-always-active yes] {
                set size 150000
                r SET large [string repeat x $size]
                set one [expr {$size + [string length "\$$size\r\n\r\n"]}]
                set junk [string repeat "PING\r\n" 60000]
                # Input after the requests, whether the client's sending half is closed, the minimum number of replies
                # besides the values.
                foreach {tail half rest} [list \
                    "" 1 0 \
                    "PING\r\n" 1 7 \
                    "QUIT\r\n" 0 5 \
                    "QUIT\r\n" 1 5 \
                    "QUIT\r\n$junk" 0 5 \
                    "*1\r\n\$x\r\n$junk" 0 30] {
                    if {$half && [over_tls]} {
                        continue
                    }
                    foreach count {1 10 60} {
                        with_clients c {
                            $c write [string repeat "GET large\r\n" $count]$tail
                            if {$half} {
                                $c half_close
                            }
                            after 20
                            set got [string length [$c raw_until_eof]]
                            assert {$got >= $count * $one + $rest}
                        }
                    }
                }
            }
        }
    }

    test "Many clients with pipelines of mixed sizes" {
        set clients [crowd 30]
        write_and_read $clients 40 {1 10 100 1000 5000 20000}
        dismiss $clients
    }

    test "Many clients one request at a time" {
        set clients [crowd 50]
        for {set round 0} {$round < 20} {incr round} {
            foreach c $clients {
                $c send INCR counter
            }
            foreach c $clients {
                $c reply
            }
        }
        assert_equal 1000 [r GET counter]
        dismiss $clients
    }

    test "A counter that many pipelines raise loses nothing, and each client sees it grow" {
        set clients [crowd 10]
        foreach c $clients {
            $c pipeline [lrepeat 500 {INCR counter}]
        }
        set seen {}
        foreach c $clients {
            set last 0
            foreach value [$c replies 500] {
                assert {$value > $last}
                set last $value
                lappend seen $value
            }
        }
        assert_equal 5000 [llength [lsort -unique $seen]]
        assert_equal 5000 [r GET counter]
        dismiss $clients
    }

    test "Values of some megabytes to many clients at once" {
        set value [value_of big 0 3000000]
        r SET big $value
        set clients [crowd 10]
        foreach c $clients {
            $c pipeline {{GET big} {PING} {GET big}}
        }
        foreach c $clients {
            lassign [$c replies 3] one pong two
            assert {$one eq $value && $two eq $value}
            assert_equal PONG $pong
        }
        dismiss $clients
    }

    test "A value that is overwritten, appended to or deleted while it is on its way arrives as it was" {
        set size 2000000
        set before [string repeat a $size]
        foreach change {{SET big new} {APPEND big tail} {SETRANGE big 0 zzzz} {DEL big} {UNLINK big} {FLUSHALL} {GETDEL big}
            {RENAME big other} {PEXPIRE big 1} {FLUSHALL ASYNC} {INCRBY n 1} {COPY other big REPLACE}} {
            r SET big $before
            r SET other x
            with_clients {a b} {
                for {set i 0} {$i < 5} {incr i} {
                    $a send GET big
                }
                $a send PING
                after 10
                $b {*}$change
                set answers [$a replies 5]
                assert_equal PONG [$a reply]
                foreach answer $answers {
                    if {$answer ne $before} {
                        assert {$answer eq "(nil)" || [string length $answer] < 100 ||
                            $answer in [list ${before}tail zzzz[string range $before 4 end]]}
                    }
                }
            }
        }
    }

    test "One pipeline that reads, changes and reads a value" {
        with_clients c {
            set value [string repeat v 200000]
            $c pipeline [list [list SET k $value] {GET k} {APPEND k x} {GET k} {SETRANGE k 0 y} {GET k} {DEL k} {GET k}]
            assert {[list OK $value 200001 ${value}x 200001 y[string range ${value}x 1 end] 1 (nil)] eq [$c replies 8]}
        }
    }

    test "MGET of many keys of mixed sizes" {
        set command MSET
        set keys {}
        set values {}
        for {set i 0} {$i < 300} {incr i} {
            lappend keys m:$i
            lappend values [value_of m $i [expr {$i * 37}]]
            lappend command m:$i [lindex $values end]
        }
        r {*}$command
        set clients [crowd 5]
        foreach c $clients {
            $c send MGET {*}$keys missing
        }
        foreach c $clients {
            assert {[$c reply] eq [concat $values (nil)]}
        }
        dismiss $clients
    }

    test "Clients killed in flight leave the others right" {
        set clients [crowd 20]
        set victims [crowd 20]
        set ids [lmap c $victims {$c CLIENT ID}]
        r SET big [string repeat x 500000]
        foreach c $victims {
            $c pipeline [lrepeat 20 {GET big}]
        }
        write_and_read $clients 20 {10 3000} {
            assert_equal 20 [r CLIENT KILL ID {*}$ids]
        }
        foreach c $victims {
            assert [$c closed_within 5000]
        }
        dismiss [concat $clients $victims]
        wait_for_condition 5 {[info_field connected_clients clients] == 1}
    }

    test "Clients that leave in flight leave the others right" {
        set clients [crowd 10]
        r SET big [string repeat x 500000]
        write_and_read $clients 20 {10 3000} {
            for {set i 0} {$i < 30} {incr i} {
                set quitter [connect]
                $quitter pipeline [lrepeat 10 {GET big}]
                if {$i % 2} {
                    after 1
                }
                $quitter destroy
            }
        }
        dismiss $clients
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
        assert_equal PONG [r PING]
    }

    test "CONFIG SET io-threads while clients are connected and asking" {
        need_config io-threads
        set before [config_value io-threads]
        if {[catch {r CONFIG SET io-threads 2} message]} {
            skip "io-threads cannot be changed here: $message"
        }
        set clients [crowd 12]
        foreach threads {1 2 3 1 4 2 1 3} {
            write_and_read $clients 15 {5 500 20000} [list r CONFIG SET io-threads $threads]
            assert_equal $threads [config_value io-threads]
        }
        r CONFIG SET io-threads $before
        write_and_read $clients 15 {5 500 20000}
        dismiss $clients
    }

    test "Threads are started while there are more connections than a loop has room for at first" {
        need_config io-threads
        set before [config_value io-threads]
        if {[config_value maxclients] < 1200} {skip "no room for so many clients"}
        if {[catch {r CONFIG SET io-threads [expr {$before + 2}]} message]} {
            skip "io-threads cannot be changed here: $message"
        }
        r CONFIG SET io-threads $before
        set idle [exec python3 -c {
import resource, socket, sys
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
idle = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(1100)]
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as c:
    c.sendall(b"PING\r\nCONFIG SET io-threads %d\r\n" % int(sys.argv[2]))
    told = b""
    while not told.endswith(b"+OK\r\n") and (more := c.recv(100)):
        told += more
    c.sendall(b"PING\r\n")
    print((told + c.recv(100)).decode().split())
        } [srv port] [expr {$before + 6}]]
        assert_equal "\['+PONG', '+OK', '+PONG'\]" $idle
        r CONFIG SET io-threads $before
    }

    test "CONFIG SET io-threads refuses bad numbers" {
        need_config io-threads
        foreach bad {0 -1 257 x} {
            assert_error "ERR CONFIG SET failed (possibly related to argument 'io-threads') - *" {
                r CONFIG SET io-threads $bad
            }
        }
    }

    test "CONFIG SET prefetch-batch-max-size while clients are asking" {
        need_config prefetch-batch-max-size
        set clients [crowd 12]
        foreach size {0 1 2 16 128 7 0 16} {
            write_and_read $clients 15 {5 500 5000} [list r CONFIG SET prefetch-batch-max-size $size]
            assert_equal $size [config_value prefetch-batch-max-size]
        }
        assert_error "ERR CONFIG SET failed*argument must be between 0 and 128 inclusive*" {
            r CONFIG SET prefetch-batch-max-size 129
        }
        dismiss $clients
    }

    test "Commands of one batch see each other's changes" {
        # Keys that were prefetched may be deleted, replaced or new when their command runs.
        with_clients {a b} {
            for {set round 0} {$round < 20} {incr round} {
                set commands {}
                for {set i 0} {$i < 20} {incr i} {
                    lappend commands [list SET x $i] {GET x} {DEL x} {GET x} {SETNX x n} {GETDEL x} {EXISTS x} \
                        {FLUSHDB} [list SET x $round] {RENAME x y} {GET x} {GET y} {FLUSHALL ASYNC}
                }
                $a pipeline $commands
                for {set i 0} {$i < 20} {incr i} {
                    assert_equal [list OK $i 1 (nil) 1 n 0 OK OK OK (nil) $round OK] [$a replies 13]
                }
            }
        }
    }

    test "A batch over several databases" {
        with_clients c {
            set commands {}
            for {set db 0} {$db < 16} {incr db} {
                lappend commands [list SELECT $db] [list SET key in-$db]
            }
            for {set db 15} {$db >= 0} {incr db -1} {
                lappend commands [list SELECT $db] {GET key} [list MOVE key [expr {($db + 1) % 16}]]
            }
            $c pipeline $commands
            assert_equal [lrepeat 32 OK] [$c replies 32]
            for {set db 15} {$db >= 0} {incr db -1} {
                lassign [$c replies 3] selected value moved
                assert_equal in-$db $value
            }
        }
    }

    test "Reply offload toggles while clients read large values" {
        need_config io-threads-reply-offload
        set clients [crowd 8]
        with_config {io-threads-reply-offload yes} {
            foreach value {no yes no yes} {
                write_and_read $clients 10 {1 60 100 2000 20000 100000} [list r CONFIG SET io-threads-reply-offload $value]
            }
        }
        dismiss $clients
    }

    # Unsent output of a client that does not read is a counted reference to the value, or a copy of it.
    foreach {offload whole} {yes 1 no 0} {
        test "Replies refer to values and do not copy them: io-threads-reply-offload $offload" {
            need_config io-threads-reply-offload
            set value [value_of large 1 1000000]
            r SET large $value
            with_config [list io-threads-reply-offload $offload] {
                with_clients c {
                    set id [$c CLIENT ID]
                    $c pipeline [lrepeat 30 {GET large}]
                    wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] tot-cmds] >= 32}
                    assert_equal $whole [expr {[r OBJECT REFCOUNT large] > 1}]
                    foreach reply [$c replies 30] {
                        assert {$reply eq $value}
                    }
                }
                wait_for_condition 5 {[r OBJECT REFCOUNT large] == 1}
            }
        }
    }

    test "io-threads-always-active toggles while clients are asking" {
        need_config io-threads-always-active
        set before [config_value io-threads-always-active]
        set clients [crowd 8]
        foreach value {yes no yes no} {
            write_and_read $clients 10 {100 20000} [list r CONFIG SET io-threads-always-active $value]
        }
        r CONFIG SET io-threads-always-active $before
        dismiss $clients
    }

    test "Clients pause, speak RESP3 and are silenced under load" {
        set clients [crowd 6]
        foreach c $clients {
            $c HELLO 3
        }
        write_and_read $clients 30 {10 3000} {
            r CLIENT PAUSE 100 WRITE
        }
        foreach c $clients {
            $c send CLIENT REPLY OFF
            $c pipeline [lrepeat 50 {INCR silent}]
            $c send CLIENT REPLY ON
        }
        foreach c $clients {
            assert_equal OK [$c reply]
        }
        assert_equal 300 [r GET silent]
        dismiss $clients
    }

    test "What threads have read and written stays counted when they have ended" {
        set fields {total_net_input_bytes total_net_output_bytes io_threaded_reads_processed io_threaded_writes_processed}
        with_config {io-threads 4 io-threads-always-active yes} {
            wait_for_condition 10 {[info_field used_active_time_io_thread_3 cpu] ne ""}
            set clients [crowd 8]
            write_and_read $clients 10 {100 20000}
            dismiss $clients
            set before [r INFO stats]
            assert {[io_threads_running] >= 3}
            r CONFIG SET io-threads 1
            wait_for_condition 10 {[io_threads_running] == 0}
            set after [r INFO stats]
            assert {[field_of $before total_net_output_bytes] > 700000}
            foreach field $fields {
                assert {[field_of $after $field] >= [field_of $before $field]}
            }
        }
    }

    test "The fields of INFO that tell about threads are there" {
        foreach field {io_threads_active io_threaded_reads_processed io_threaded_writes_processed
            io_threaded_freed_objects io_threaded_total_prefetch_batches io_threaded_total_prefetch_entries} {
            assert_regexp {^[0-9]+$} [info_field $field]
        }
    }

    test "With active I/O threads reads and writes go through them" {
        need_config io-threads-always-active
        if {[config_value io-threads-always-active] ne "yes" || [config_value io-threads] < 2} {
            skip "the I/O threads are not forced to be active in this run"
        }
        r CONFIG RESETSTAT
        set clients [crowd 8]
        write_and_read $clients 20 {100}
        assert {[info_field io_threaded_reads_processed stats] > 0}
        assert {[info_field io_threaded_writes_processed stats] > 0}
        dismiss $clients
    }

    test "Connections that come and go quickly" {
        for {set i 0} {$i < 300} {incr i} {
            with_clients c {
                assert_equal $i [$c ECHO $i]
            }
        }
        wait_for_condition 5 {[info_field connected_clients clients] == 1}
    }
}

start_server {args {--io-threads 9 --io-threads-always-active yes}} {

    # Memory allocated by eight threads is reused when one thread replaces the values: no holes are left.
    test "Memory that eight threads have loaded serves the one that overwrites it" {
        if {![string match jemalloc* [info_field mem_allocator memory]]} {
            skip "the allocator tells nothing of its pages"
        }
        set clients [crowd 8]
        set value [string repeat x 200]
        for {set from 0} {$from < 10000} {incr from 1000} {
            set who 0
            foreach c $clients {
                set commands {}
                for {set i $from} {$i < $from + 1000} {incr i} {
                    lappend commands [list SET k:[expr {8 * $i + $who}] $value]
                }
                $c pipeline $commands
                incr who
            }
            foreach c $clients {
                for {set i 0} {$i < 1000} {incr i} {
                    $c reply
                }
            }
        }
        set one [lindex $clients 0]
        for {set from 0} {$from < 60000} {incr from 1000} {
            set commands {}
            for {set i $from} {$i < $from + 1000} {incr i} {
                lappend commands [list SET k:[expr {$i * 48271 % 80000}] $value]
            }
            $one pipeline $commands
            for {set i 0} {$i < 1000} {incr i} {
                $one reply
            }
        }
        assert_equal 80000 [r DBSIZE]
        # Allocated memory includes reserves of each thread: so holes are compared with the data.
        assert_between -1000000 [expr {[info_field used_memory memory] * 15 / 100}] [info_field allocator_frag_bytes]
        dismiss $clients
    }
}
