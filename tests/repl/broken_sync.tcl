# broken_sync.tcl -- an interrupted synchronization does not change the replica's files.
#
# The primary is the test, which sends any bytes.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set id [string repeat ab 20]

proc library {name} {
    return "#!lua name=$name\nserver.register_function('f', function() return 1 end)"
}

start_server [list overrides $quick] {
    r SET theirs 1
    r FUNCTION LOAD [library theirs]
    set snapshot [snapshot_of [default_client]]
}

proc give {link snapshot} {
    $link write "+FULLRESYNC $::id 100\r\n[framed $snapshot 1]"
}

# Makes the next synchronization send a snapshot that is damaged at its end. LEFT is the number of keys that remain.
proc break_sync {port left} {
    follow_anew $port
    lassign [next_replica] link
    give $link [string range $::snapshot 0 end-20]
    assert [$link closed_within 10000]
    $link destroy
    wait_for_condition 10 {![catch {r DBSIZE} size] && $size == $left}
}

# Does a complete synchronization. Another name of the same host avoids the wait after a failure.
proc sync_well {port} {
    r REPLICAOF 127.1 $port
    lassign [next_replica] link
    give $link $::snapshot
    is_up [default_client]
    return $link
}

proc log_is_on {} {
    wait_for_condition 20 {[regexp {aof_enabled:1\s.*aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s}\
        [r INFO persistence]]}
}

# Returns the contents of the log's folder, without files that are being deleted.
proc log_bytes {} {
    return [lmap path [lsort [glob -directory [file join [srv dir] appendonlydir] *]] {read_file $path}]
}

foreach load {disabled flush-before-load swapdb} {
    set left [expr {$load eq "swapdb"}]
    set flushes [expr {!$left}]

    start_server [list overrides [list appendonly yes appendfsync always repl-diskless-load $load]] {
        set port [listen_for_replicas]
        r SET mine 1
        r FUNCTION LOAD [library mine]
        set before [log_bytes]

        test "A broken synchronization leaves the append-only file to the next start ($load)" {
            break_sync $port $left
            assert_equal [lrange mine 0 $left-1] [lmap one [r FUNCTION LIST] {lindex $one 1}]
            assert_equal $left [info_field aof_enabled persistence]
            assert_equal {appendonly yes} [r CONFIG GET appendonly]
            assert {[info_field aof_current_size persistence] > 0}
            assert_equal $before [log_bytes]
            restart_server
            assert_equal 1 [r GET mine]
        }

        test "... and the log begins anew with the one that succeeds ($load)" {
            break_sync $port $left
            set link [sync_well $port]
            log_is_on
            $link write "[resp::encode {SELECT 0}][resp::encode {SET more 1}]"
            wait_for_condition 10 {[r GET more] eq "1"}
            assert_equal {(nil) 1} [r MGET mine theirs]
            $link destroy
        }

        test "... or with REPLICAOF NO ONE ($load)" {
            break_sync $port [expr {$left * 2}]
            r REPLICAOF NO ONE
            log_is_on
            r SET own 1
            assert_equal {1 0} [r WAITAOF 1 0 0]
            restart_server
            assert_equal [list [expr {$left ? 1 : "(nil)"}] 1] [r MGET more own]
        }
        no_more_replicas
    }

    start_server [list overrides [list save "3600 1" repl-diskless-load $load]] {
        set port [listen_for_replicas]
        r SET mine 1
        r SAVE
        r SET later 1

        test "A broken synchronization leaves the snapshot to the next start ($load)" {
            set bytes [read_file [srv dir]/dump.rdb]
            break_sync $port [expr {$left * 2}]
            assert_equal $bytes [read_file [srv dir]/dump.rdb]
            restart_server
            assert_equal [list 1 [expr {$left ? 1 : "(nil)"}]] [r MGET mine later]
        }

        test "... which a command, or REPLICAOF NO ONE, makes one to be replaced ($load)" {
            r SET later 1
            break_sync $port [expr {$left * 2}]
            assert_equal OK [r SAVE]
            if {$flushes} {assert_equal (nil) [r GET mine]}
            r REPLICAOF NO ONE
            r SET own 1
            restart_server
            assert_equal 1 [r GET own]
        }
        no_more_replicas
    }
}

start_server [list overrides [list dbfilename in_the_way appendonly yes aof-use-rdb-preamble no]] {
    set port [listen_for_replicas]

    test "A synchronization whose file cannot become the snapshot is good all the same" {
        file mkdir [file join [srv dir] in_the_way]
        r CONFIG SET replica-announce-port $announced
        set link [sync_well $port]
        log_is_on
        assert_equal 1 [r GET theirs]
        assert_match "*Failed trying to rename the temp DB into in_the_way*" [server_log [srv dir]]
        assert_equal {} [glob -nocomplain -directory [srv dir] temp-*.rdb]
        $link destroy
    }
    no_more_replicas
}
