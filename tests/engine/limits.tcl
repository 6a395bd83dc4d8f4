# limits.tcl -- limits of clients: their number, requests, output, and idle time.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server {overrides {maxclients 20} each {r FLUSHALL}} {

    test "maxclients: one more is told so and let go" {
        set held {}
        for {set i 0} {$i < 19} {incr i} {
            lappend held [connect]
            [lindex $held end] PING
        }
        if {[over_tls]} {
            assert_error "handshake failed: *" {connect}
        } else {
            set extra [connect]
            assert_equal "-ERR max number of clients reached\r\n" [$extra raw_until_eof]
            $extra destroy
        }
        assert_equal PONG [r PING]
        assert_between 1 100 [info_field rejected_connections stats]
        foreach c $held {
            $c destroy
        }
    }

    test "maxclients: a place that is free again is given again" {
        wait_for_condition 5 {[info_field connected_clients clients] < 5}
        with_clients c {
            assert_equal PONG [$c PING]
        }
    }

    test "maxclients can be changed while the server runs" {
        assert_equal OK [r CONFIG SET maxclients 30]
        set held {}
        for {set i 0} {$i < 25} {incr i} {
            lappend held [connect]
            assert_equal PONG [[lindex $held end] PING]
        }
        foreach c $held {
            $c destroy
        }
        r CONFIG SET maxclients 20
    }
}

start_server {each {r FLUSHALL}} {

    test "client-query-buffer-limit: who asks for more than it is let go" {
        with_config {client-query-buffer-limit 1048576} {
            with_clients c {
                catch {
                    $c write "*3\r\n\$3\r\nSET\r\n\$1\r\nk\r\n\$10000000\r\n"
                    for {set i 0} {$i < 40} {incr i} {
                        $c write [string repeat x 100000]
                        after 2
                    }
                }
                assert [$c closed_within 5000]
            }
            assert_equal 0 [r EXISTS k]
            assert_between 1 10 [info_field client_query_buffer_limit_disconnections stats]
        }
    }

    test "client-output-buffer-limit: past the hard limit a client is let go" {
        r SET key [string repeat x 1000000]
        r CONFIG RESETSTAT
        with_config {client-output-buffer-limit "normal 5000000 0 0"} {
            with_clients c {
                catch {
                    for {set i 0} {$i < 100} {incr i} {
                        $c send GET key
                    }
                }
                wait_for_condition 10 {[info_field client_output_buffer_limit_disconnections stats] >= 1}
                assert [$c closed_within 10000]
            }
        }
        assert_equal PONG [r PING]
    }

    test "client-output-buffer-limit: a client below the limit is left alone" {
        r SET key [string repeat x 100000]
        with_config {client-output-buffer-limit "normal 50000000 0 0"} {
            with_clients c {
                for {set i 0} {$i < 20} {incr i} {
                    $c send GET key
                }
                after 100
                for {set i 0} {$i < 20} {incr i} {
                    assert_equal 100000 [string length [$c reply]]
                }
            }
        }
    }

    test "client-output-buffer-limit: past the soft limit for its seconds a client is let go" {
        r SET key [string repeat x 1000000]
        r CONFIG RESETSTAT
        with_config {client-output-buffer-limit "normal 0 3000000 1"} {
            with_clients c {
                set before [clock milliseconds]
                for {set i 0} {$i < 30} {incr i} {
                    $c send GET key
                }
                after 300
                set gone [info_field client_output_buffer_limit_disconnections stats]
                if {[clock milliseconds] - $before < 1000} {
                    assert_equal 0 $gone
                }
                wait_for_condition 10 {[info_field client_output_buffer_limit_disconnections stats] >= 1}
                assert [$c closed_within 10000]
            }
        }
    }

    test "What waits for a slow client shows in CLIENT LIST and counts in memory" {
        r SET key [string repeat x 1000000]
        with_clients c {
            set id [$c CLIENT ID]
            for {set i 0} {$i < 30} {incr i} {
                $c send GET key
            }
            # The kernel takes some megabytes; the others wait in the server.
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] omem] > 15000000}
            set line [r CLIENT LIST ID $id]
            assert_between 1 30 [client_field $line oll]
            assert {[client_field $line tot-mem] >= [client_field $line omem]}
            assert {[info_field mem_clients_normal memory] >= [client_field $line omem]}
            for {set i 0} {$i < 30} {incr i} {
                $c reply
            }
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] oll] == 0}
        }
    }

    test "What waits shows in CLIENT LIST as it is allocated, and goes when it is read" {
        r SET key [string repeat x 50]
        with_clients c {
            set id [$c CLIENT ID]
            $c pipeline [lrepeat 100000 {GET key}]
            wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] omem] > 1000000}
            set line [r CLIENT LIST ID $id]
            assert_between 1 10000 [client_field $line oll]
            assert_between 1 16384 [client_field $line obl]
            assert {[client_field $line tot-mem] > [client_field $line omem]}
            assert_equal rw [client_field $line events]
            for {set i 0} {$i < 100000} {incr i} {
                $c reply
            }
            wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] omem] == 0}
            set line [r CLIENT LIST ID $id]
            assert_equal 0 [client_field $line oll]
            assert_equal 0 [client_field $line obl]
        }
    }

    test "timeout: who is silent for so long is let go, who speaks stays" {
        with_clients {silent} {
            $silent PING
            r CONFIG SET timeout 2
            set spoke [clock milliseconds]
            set id [$silent CLIENT ID]
            wait_for_condition 30 {
                [r CLIENT LIST ID $id] eq "" && [clock milliseconds] - $spoke >= 4000
            }
            assert [$silent closed_within 3000]
            assert_equal PONG [r PING]
            r CONFIG SET timeout 0
        }
    }

    # For SECONDS, one client sends a request in small pieces, one reads a large reply in small pieces, a third has the
    # same reply and does not read. Returns {written read left gap}: whether the request was completed and got its
    # reply, whether the second could continue to read, whether the third was closed, and the longest pause of this
    # process in milliseconds.
    proc move_bytes_slowly {seconds} {
        set writer [connect]
        set pieces [expr {$seconds * 50}]
        $writer write "*3\r\n\$3\r\nSET\r\n\$4\r\nslow\r\n\$$pieces\r\n"
        foreach name {reader stalled} {
            set $name [socket 127.0.0.1 [srv port]]
            fconfigure [set $name] -translation binary -blocking 0 -buffersize 1000000
            puts -nonewline [set $name] "GET large\r\n"
            flush [set $name]
        }
        set gap 0
        set last [clock milliseconds]
        for {set i 0} {$i < $pieces} {incr i} {
            after 20
            r PING
            catch {$writer write x}
            read $reader 400000 ;# makes space, so that the server can write
            set now [clock milliseconds]
            set gap [expr {max($gap, $now - $last)}]
            set last $now
        }
        catch {$writer write \r\n}
        set written [expr {![catch {$writer reply} reply] && $reply eq "OK"}]
        set read [expr {![eof $reader]}]
        # The stalled client can read the bytes that were sent to it, and then the end.
        set left 0
        for {set i 0} {$i < 1000 && !$left} {incr i} {
            set left [expr {[catch {read $stalled 1000000} piece] || [eof $stalled]}]
            if {!$left && $piece eq ""} {
                after 10
                r PING
            }
        }
        close $reader
        close $stalled
        $writer destroy
        return [list $written $read $left $gap]
    }

    # Returns the additional memory due to a client that has sent `commands` and reads nothing, and the memory counted
    # for it, once it has executed `writes` commands of the name `name`.
    proc held_by {c commands name writes} {
        set id [$c CLIENT ID]
        r CONFIG RESETSTAT
        set before [info_field used_memory memory]
        $c pipeline $commands
        wait_for_condition 30 {
            [regexp "calls=(\\d+)" [info_field cmdstat_$name commandstats] -> calls] && $calls == $writes
        }
        wait_for_condition 10 {[info_field lazyfree_pending_objects memory] == 0}
        set held [expr {[info_field used_memory memory] - $before}]
        return [list $held [client_field [r CLIENT LIST ID $id] tot-mem]]
    }

    test "Replies that send small parts of a large value do not hold the versions that writes replace" {
        r SETRANGE v 19999999 x
        with_clients c {
            set commands {}
            for {set i 0} {$i < 30} {incr i} {
                lappend commands [list GETRANGE v [expr {$i * 1000}] [expr {$i * 1000 + 299999}]] {SETBIT v 0 1}
            }
            lassign [held_by $c $commands setbit 30] held counted
            assert {$held < 2 * 30 * 300000}
            assert {$held < $counted + 2000000}
        }
    }

    test "A whole value that a slow client is owed is copied once, however many writes follow, and the client is charged" {
        r SETRANGE v 19999999 x
        with_clients c {
            set round [list {GET v} {*}[lrepeat 200 {SETBIT v 0 1}]]
            lassign [held_by $c [concat $round $round $round] setbit 600] held counted
            assert {$held < 3 * 20000000 + 4000000}
            assert {$counted > $held - 4000000}
        }
        wait_for_condition 10 {[info_field used_memory memory] < 40000000}
        r DEL v
    }

    # Messages to clients that do not read: the message, how often it is sent, and about how many bytes that is.
    set text [string repeat x 1000]
    set large [string repeat x 100000]
    foreach {what mode command count bytes} [list \
        "short messages"         {{SUBSCRIBE ch}}                            [list PUBLISH ch $text]   10000 1040 \
        "large messages"         {{SUBSCRIBE ch}}                            [list PUBLISH ch $large]  100   100040 \
        "lines of a monitor"     {MONITOR}                                   [list SET k $large]       100   100060 \
        "short names of changed keys" {{HELLO 3} {CLIENT TRACKING ON BCAST}} [list SET $text v]        10000 1040 \
        "long names of changed keys"  {{HELLO 3} {CLIENT TRACKING ON BCAST}} [list SET $large v]       100   100040] {

        test "Clients that do not read hold no more than they are owed and charged for: $what" {
            r {*}$command
            with_clients {a b} {
                set ids {}
                foreach c {a b} {
                    lappend ids [[set $c] CLIENT ID]
                    foreach m $mode {
                        [set $c] {*}$m
                    }
                }
                set before [info_field used_memory memory]
                r pipeline [lrepeat $count $command]
                r replies $count
                wait_for_condition 10 {[info_field lazyfree_pending_objects memory] == 0}
                set held [expr {[info_field used_memory memory] - $before}]
                set counted 0
                foreach id $ids {
                    incr counted [client_field [r CLIENT LIST ID $id] tot-mem]
                }
                set owed [expr {2 * $count * $bytes}]
                assert {$held < 1.25 * $owed + 1000000}
                assert {$held < $counted + 1000000}
                assert {$counted < 1.25 * $owed + 1000000}
            }
        }
    }

    test "timeout: who sends or reads piece by piece is not silent, who reads nothing is" {
        r SET large [string repeat x 100000000]
        with_config {timeout 2} {
            # If this process was stopped for half the time, the result proves nothing.
            for {set try 0} {$try < 10} {incr try} {
                lassign [move_bytes_slowly 4] written read left gap
                if {$gap < 1000} {
                    break
                }
            }
        }
        assert_equal {1 1 1} [list $written $read $left]
        r DEL large
    }

    test "idle counts the seconds without a command and without a byte" {
        with_clients c {
            set id [$c CLIENT ID]
            after 2100
            assert {[client_field [r CLIENT LIST ID $id] idle] >= 2}
            assert {[string match "*id=$id *" [r CLIENT LIST IDLE 2]]}
            # Every piece restarts the time: this process would have to be stopped for two seconds to change the result.
            for {set try 0} {$try < 10} {incr try} {
                set asked [clock milliseconds]
                $c write "*1\r\n\$1000\r\n"
                after 50
                set idle [client_field [r CLIENT LIST ID $id] idle]
                set listed [string match "*id=$id *" [r CLIENT LIST IDLE 2]]
                if {[clock milliseconds] - $asked < 900} {
                    break
                }
                after 2000
            }
            assert_equal {0 0} [list $idle $listed]
        }
    }

    test "tcp-keepalive and tcp-backlog are settings" {
        assert_equal 300 [config_value tcp-keepalive]
        assert_equal OK [r CONFIG SET tcp-keepalive 60]
        assert_equal 511 [config_value tcp-backlog]
        assert_error "ERR CONFIG SET failed (possibly related to argument 'tcp-backlog') - can't set immutable config" {
            r CONFIG SET tcp-backlog 100
        }
    }

    test "maxmemory-clients lets the largest go" {
        with_config {maxmemory-clients 8mb} {
            with_clients {small large} {
                $small PING
                r CLIENT NO-EVICT on
                catch {
                    $large write "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$50000000\r\n"
                    for {set i 0} {$i < 120} {incr i} {
                        $large write [string repeat x 100000]
                        after 1
                    }
                }
                wait_for_condition 10 {[info_field evicted_clients stats] >= 1}
                assert [$large closed_within 10000]
                assert_equal PONG [$small PING]
                r CLIENT NO-EVICT off
            }
        }
    }

    test "maxmemory-clients spares who has said CLIENT NO-EVICT on, however large" {
        with_config {maxmemory-clients 8mb} {
            with_clients {spared large} {
                set id [$spared CLIENT ID]
                r CONFIG RESETSTAT
                assert_equal OK [$spared CLIENT NO-EVICT on]
                $spared write "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$20000000\r\n[string repeat x 19999999]"
                wait_for_condition 20 {[client_field [r CLIENT LIST ID $id] tot-mem] > 19000000}
                catch {$large write "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$20000000\r\n[string repeat y 12000000]"}
                assert [$large closed_within 10000]
                # The limit was checked, and only one client exceeded it.
                assert_equal 1 [info_field evicted_clients stats]
                $spared write "x\r\n"
                assert_equal OK [$spared reply]
                assert_equal OK [$spared CLIENT NO-EVICT off]
                catch {$spared write "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$20000000\r\n[string repeat x 12000000]"}
                assert [$spared closed_within 10000]
                assert_equal 2 [info_field evicted_clients stats]
                assert_equal 20000000 [r STRLEN key]
                r DEL key
            }
        }
    }
}

# Returns a value of /proc/PID/status of the innermost server, in bytes.
proc process_memory {field} {
    if {![regexp "$field:\\s+(\\d+) kB" [read_file /proc/[srv pid]/status] -> kilobytes]} {
        fail "no $field of the server"
    }
    return [expr {$kilobytes * 1024}]
}

# The kernel sums up counters of threads: a peak that is read later may be some pages lower.
set pages -65536

# Resident memory is the limit, and some for the server's own growth: pools of blocks, outstanding requests.
proc limited_memory {limit} {
    return [expr {int(1.3 * $limit) + 4 * 1024 * 1024}]
}

start_server {overrides {client-output-buffer-limit "normal 8388608 0 0"}} {

    # Each loop iteration makes a separate chain of replies for the monitor.
    test "A monitor that does not read holds no more than its limit" {
        if {![file exists /proc/self/status] || $srv::slow > 1} {
            skip "resident memory means something only on Linux, without a sanitizer"
        }
        r SET key value
        with_clients {monitor} {
            $monitor MONITOR
            set before [process_memory VmRSS]
            set turns 0
            while {[info_field client_output_buffer_limit_disconnections stats] == 0} {
                for {set i 0} {$i < 500} {incr i} {
                    [default_client] pipeline [lrepeat 4 {GET key}]
                    for {set k 0} {$k < 4} {incr k} {
                        [default_client] reply
                    }
                }
                assert {[incr turns] < 200}
            }
            assert_between $pages [limited_memory 8388608] [expr {[process_memory VmHWM] - $before}]
        }
    }
}

start_server {overrides {client-output-buffer-limit "normal 8388608 0 0"}} {

    test "A client that does not read its small replies holds no more than its limit" {
        if {![file exists /proc/self/status] || $srv::slow > 1} {
            skip "resident memory means something only on Linux, without a sanitizer"
        }
        r SET key [string repeat x 50]
        with_clients {c} {
            set before [process_memory VmRSS]
            catch {
                for {set i 0} {$i < 400} {incr i} {
                    $c pipeline [lrepeat 1000 {GET key}]
                }
            }
            wait_for_condition 20 {[info_field client_output_buffer_limit_disconnections stats] == 1}
            assert_between $pages [limited_memory 8388608] [expr {[process_memory VmHWM] - $before}]
        }
    }
}

start_server {} {

    # One command whose reply far exceeds the limit. Commands after it do not run, and the client gets no part of the
    # reply.
    foreach {what command} {
        "many long names"             {KEYS *}
        "many long names in one step" {SCAN 0 COUNT 100000}
        "one value many times"        {MGET}
        "a part of a value"           {GETRANGE whole 1 -1}
    } {
        test "A reply that breaks the limit while it is built: $what" {
            r FLUSHALL
            r DEBUG POPULATE 20000 [string repeat n 1000] 10
            r SET whole [string repeat x 20000000]
            if {$command eq "MGET"} {
                lappend command {*}[lrepeat 200 whole]
            }
            r CONFIG RESETSTAT
            with_config {client-output-buffer-limit "normal 1048576 0 0"} {
                with_clients {c} {
                    set id [$c CLIENT ID]
                    set before 0
                    if {[file exists /proc/self/status]} {
                        set before [process_memory VmHWM]
                    }
                    $c pipeline [list $command {SET behind 1}]
                    assert_equal "" [$c raw_until_eof]
                    wait_for_condition 10 {[r CLIENT LIST ID $id] eq ""}
                }
                assert_equal 1 [info_field client_output_buffer_limit_disconnections stats]
                assert_equal 0 [r EXISTS behind]
                if {[file exists /proc/self/status] && $srv::slow == 1} {
                    assert_between $pages [limited_memory 1048576] [expr {[process_memory VmHWM] - $before}]
                }
            }
            assert_equal PONG [r PING]
        }
    }

    test "A reply below the limit arrives whole, however it is built" {
        r FLUSHALL
        r DEBUG POPULATE 900 [string repeat n 1000] 10
        with_config {client-output-buffer-limit "normal 1048576 0 0"} {
            with_clients {c} {
                assert_equal 900 [llength [$c KEYS *]]
                assert_equal 900 [llength [lindex [$c SCAN 0 COUNT 10000] 1]]
                assert_equal PONG [$c PING]
            }
        }
    }
}

start_server {} {

    # The value is referred to, so unread output costs little; each reference counts with its full size.
    test "Who asks for ever more and does not read is not served until it has read" {
        set len 100000
        set count 12000
        r SET key [string repeat x $len]
        set before [process_memory VmRSS]
        set greedy {}
        for {set i 0} {$i < 10} {incr i} {
            set channel [socket 127.0.0.1 [srv port]]
            fconfigure $channel -translation binary -blocking 0 -buffersize 1000000
            puts -nonewline $channel "CLIENT SETNAME greedy$i\r\n[string repeat "GET key\r\n" $count]PING\r\n"
            flush $channel
            lappend greedy $channel
        }
        wait_for_condition 30 {[regexp -all {name=greedy\d [^\n]* omem=1\d{9} } [r CLIENT LIST]] == 10}
        foreach line [split [string trim [r CLIENT LIST]] \n] {
            if {[string match greedy* [client_field $line name]]} {
                assert_between 5000 [expr {$count - 1}] [client_field $line tot-cmds]
                assert_between 1000000000 1200000000 [client_field $line omem]
            }
        }
        if {[file exists /proc/self/status] && $srv::slow == 1} {
            assert_between 0 67108864 [expr {[process_memory VmRSS] - $before}]
        }
        set channel [lindex $greedy 0]
        set null [open /dev/null wb]
        fconfigure $channel -blocking 1
        assert_equal "+OK\r" [gets $channel]
        set reply_bytes [expr {[string length "\$$len\r\n"] + $len + 2}]
        assert_equal [expr {$count * $reply_bytes}] [fcopy $channel $null -size [expr {$count * $reply_bytes}]]
        assert_equal "+PONG\r" [gets $channel]
        close $null
        foreach channel $greedy {
            close $channel
        }
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
    }
}
