# sync_cause.tcl -- why a full synchronization begins: the log line that says what would have avoided it, the counters.
#
# SPDX-License-Identifier: BSD-3-Clause

# Asks with one ID and offset as a new replica, and returns the first word of the reply.
proc ask_once {id offset} {
    with_clients {c} {
        return [lindex [ask_psync $c $id $offset] 0]
    }
}

# Returns the last line about the cause of a full synchronization.
proc last_cause {} {
    set lines [lsearch -all -inline -glob [split [srv log] "\n"] "*Full synchronization of replica*"]
    return [lindex [split [lindex $lines end] "*"] end]
}

proc causes {} {
    set text [r INFO stats]
    return [lmap name {new_replica other_history backlog_size backlog_new output_limit} {field_of $text sync_full_$name}]
}

set from "Full synchronization of replica 127.0.0.1:7777: "

start_server [list overrides [list {*}$quick repl-backlog-size 16kb repl-slow-writers no]] {
    set primary [default_client]

    test "A replica that has nothing yet" {
        assert_equal {0 0 0 0 0} [causes]
        assert_equal FULLRESYNC [ask_once ? -1]
        assert_match "*${from}it has asked for the whole dataset*" [last_cause]
        assert_equal {1 0 0 0 0} [causes]
    }

    test "A replica of another history, and one that is ahead" {
        assert_equal FULLRESYNC [ask_once [string repeat a 40] 1]
        assert_match "*${from}its dataset has a replication ID that this server does not know*" [last_cause]
        set end [repl_field $primary master_repl_offset]
        assert_equal FULLRESYNC [ask_once [repl_field $primary master_replid] [expr {$end + 1001}]]
        assert_match "*${from}it has 1000 bytes that this server has lost*" [last_cause]
        assert_equal {1 2 0 0 0} [causes]
    }

    r CONFIG RESETSTAT
    test "A backlog that is too small: the line tells the size that is enough" {
        assert_equal {0 0 0 0 0} [causes]
        set id [repl_field $primary master_replid]
        foreach round {1 2} {
            set offset [repl_field $primary master_repl_offset]
            for {set i 0} {$i < 30} {incr i} {r SET key [string repeat x 100000]}
            if {$round == 2} break
            set missing [expr {[repl_field $primary repl_backlog_first_byte_offset] - $offset - 1}]
            assert_equal FULLRESYNC [ask_once $id [expr {$offset + 1}]]
            assert_match "*${from}the backlog begins $missing bytes after what it has*" [last_cause]
            assert [regexp {'repl-backlog-size (\d+mb)' or more} [last_cause] -> size]
            r CONFIG SET repl-backlog-size $size
        }
        assert_equal CONTINUE [ask_once $id [expr {$offset + 1}]]
        assert_equal {0 0 1 0 0} [causes]
        r CONFIG SET repl-backlog-size 16kb
    }

    test "A replica that was disconnected at its output limit" {
        r CONFIG SET client-output-buffer-limit "replica 20mb 0 0"
        set id [repl_field $primary master_replid]
        set offset [expr {[repl_field $primary master_repl_offset] + 1}]
        with_clients {lags} {
            assert_equal CONTINUE [lindex [ask_psync $lags $id $offset] 0]
            for {set i 0} {$i < 400} {incr i} {r SET key [string repeat x 100000]}
            assert [$lags closed_within 5000]
        }
        assert_equal FULLRESYNC [ask_once $id $offset]
        assert_match "*${from}its connection was closed * seconds ago, when * bytes were kept for it: its output limit*" \
            [last_cause]
        assert_match "*'client-output-buffer-limit replica'*, or 'repl-slow-writers yes'." [last_cause]
        assert_equal {0 0 1 0 1} [causes]

        assert_equal FULLRESYNC [ask_once ? -1] ;# that was no consequence of it
        assert_match "*it has asked for the whole dataset*" [last_cause]
    }

    test "The same during a synchronization" {
        r CONFIG SET rdb-key-save-delay 5000
        r DEBUG POPULATE 1000 key 100
        with_clients {waits} {
            assert_equal FULLRESYNC [lindex [ask_psync $waits ? -1] 0]
            for {set i 0} {$i < 400} {incr i} {r SET key [string repeat x 100000]}
            assert [$waits closed_within 5000]
        }
        r CONFIG SET rdb-key-save-delay 0 client-output-buffer-limit "replica 256mb 64mb 60"
        assert_equal FULLRESYNC [ask_once ? -1]
        assert_match "*bytes were kept for it during a full synchronization: its output limit*" [last_cause]
    }
}

start_server [list overrides [list {*}$quick repl-backlog-size 1mb save "3600 1"]] {
    test "A backlog that was begun later, after a start from a snapshot" {
        set primary [default_client]
        assert_equal FULLRESYNC [ask_once ? -1]
        r SET key 1
        set id [repl_field $primary master_replid]
        restart_server
        set primary [default_client]
        assert_equal FULLRESYNC [ask_once $id 1]
        assert_match "*${from}the backlog of this server was begun * bytes after what it has*" [last_cause]
        assert_equal {0 0 0 1 0} [causes]
    }
}
