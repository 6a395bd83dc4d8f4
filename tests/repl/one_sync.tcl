# one_sync.tcl -- one dataset is sent at a time: a replica that comes meanwhile waits for the end, but not for ever.
#
# SPDX-License-Identifier: BSD-3-Clause

proc snapshots_begun {} {return [llength [lsearch -all -glob [split [srv log] "\n"] "*Starting BGSAVE for SYNC*"]]}

proc states_of {primary} {
    set text [$primary INFO replication]
    return [lmap line [lsearch -all -inline [split $text "\r\n"] slave*:ip=*] {
        regexp {state=(\w+)} $line -> state
        set state
    }]
}

# Reads the rest of a file whose header is still to come.
proc read_file_of {c} {
    set bytes [string range [read_behind_newlines $c] 1 end]
    while {$bytes > 0} {
        set n [expr {min($bytes, 1000000)}]
        $c raw_bytes $n
        incr bytes -$n
    }
}

start_server [list overrides [list {*}$quick repl-diskless-sync no rdbcompression no repl-timeout 60]] {
    set primary [default_client]
    # More than the kernel keeps for a connection that does not read.
    for {set i 0} {$i < 60} {incr i} {r SET large:$i [string repeat x 1000000]}

    test "A file is being sent to a replica: the next snapshot waits for its end, and is one for all" {
        with_clients {first second third} {
            assert_equal FULLRESYNC [lindex [ask_psync $first ? -1] 0]
            wait_for_condition 20 {[states_of $primary] eq "send_bulk"}
            foreach c {second third} {
                foreach words {{REPLCONF capa eof capa psync2} {REPLCONF version 9.1.2}} {[set $c] {*}$words}
                [set $c] pipeline {{PSYNC ? -1}}
            }
            wait_for_condition 20 {[states_of $primary] eq "send_bulk wait_bgsave wait_bgsave"}
            after 1500
            assert_equal 1 [snapshots_begun]
            assert_equal {send_bulk wait_bgsave wait_bgsave} [states_of $primary]
            read_file_of $first
            assert_match "+FULLRESYNC *" [read_behind_newlines $second]
            read_file_of $second
            assert_match "+FULLRESYNC *" [read_behind_newlines $third]
            assert_equal 2 [snapshots_begun]
        }
        wait_for_condition 20 {[states_of $primary] eq ""}
    }

    test "... but no longer than repl-timeout, if the other one is slow" {
        r CONFIG SET repl-timeout 5
        with_clients {slow other} {
            assert_equal FULLRESYNC [lindex [ask_psync $slow ? -1] 0]
            wait_for_condition 20 {[states_of $primary] eq "send_bulk"}
            set before [snapshots_begun]
            foreach words {{REPLCONF capa eof capa psync2} {REPLCONF version 9.1.2}} {$other {*}$words}
            set begin [clock milliseconds]
            $other pipeline {{PSYNC ? -1}}
            for {set i 1} {[snapshots_begun] == $before && $i < 200} {incr i} {
                if {$i % 10 == 0} {$slow raw_bytes 1000} ;# it is slow, and does not hang
                after 100
            }
            assert {[clock milliseconds] - $begin >= 4900}
            assert_equal send_bulk [lindex [states_of $primary] 0]
        }
        wait_for_condition 20 {[states_of $primary] eq ""}
        r CONFIG SET repl-timeout 60
    }

    test "... and not at all for a client that only copies the dataset" {
        with_clients {copies other} {
            $copies REPLCONF rdb-only 1
            assert_equal FULLRESYNC [lindex [ask_psync $copies ? -1] 0]
            wait_for_condition 20 {[states_of $primary] eq "send_bulk"}
            set before [snapshots_begun]
            # Empty lines may come before the reply, as to all that wait.
            introduce $other
            $other send PSYNC ? -1
            assert_match "+FULLRESYNC *" [read_behind_newlines $other]
            assert_equal [incr before] [snapshots_begun]
            assert_equal send_bulk [lindex [states_of $primary] 0]
        }
    }
}
