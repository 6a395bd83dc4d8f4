# received_base.tcl -- a snapshot that a replica has received to disk becomes the base of its append-only file.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc log_is_on {} {
    wait_for_condition 20 {[regexp {aof_enabled:1\s.*aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s}\
        [r INFO persistence]]}
}

# Returns the files in the manifest, without numbers.
proc log_files {} {
    set text [read_file [file join [srv dir] appendonlydir appendonly.aof.manifest]]
    return [regexp -all -inline {[a-z]+\.(?:rdb|aof)(?= seq)} $text]
}

start_server [list overrides [list {*}$quick appendonly yes]] {
    set primary [default_client]
    set port [srv port]
    fill $primary

    foreach {load preamble rewrites files snapshots} {
        disabled yes 0 {base.rdb incr.aof} 0
        disabled no 1 {base.aof incr.aof} 1
        flush-before-load yes 1 {base.rdb incr.aof} 1
    } {
        start_server [list overrides [list appendonly yes repl-diskless-load $load aof-use-rdb-preamble $preamble]] {
            set replica [default_client]
            $replica SET mine 1
            $replica SAVE

            test "repl-diskless-load $load, aof-use-rdb-preamble $preamble: [expr {$rewrites ? {a child writes the base} : {the received file is the base}}]" {
                follow $replica $port
                $primary INCR later
                log_is_on
                assert_equal 1 [lindex [$primary WAITAOF 0 1 10000] 1]
                assert_equal $files [log_files]
                assert_equal $rewrites [info_field aof_rewrites persistence]
                assert_equal ok [info_field aof_last_bgrewrite_status persistence]
                assert_equal {} [glob -nocomplain -directory [srv dir] temp-*]
                assert_equal [expr {!$rewrites}] [string match "*Reused RDB file from primary sync as AOF base file: appendonly.aof.2.base.rdb\n*" [server_log [srv dir]]]
            }

            test "... the snapshot of the dataset before is [expr {$snapshots ? {there} : {not there any more}}]" {
                assert_equal $snapshots [file exists [srv dir]/dump.rdb]
            }

            test "... and a start finds what has come since" {
                in_step $primary $replica
                assert_equal 1 [lindex [$primary WAITAOF 0 1 10000] 1]
                set digest [$primary DEBUG DIGEST]
                restart_server
                assert_equal $digest [r DEBUG DIGEST]
                assert_equal 1 [r FCALL_RO mine 0]
            }
        }
    }
}

start_server [list overrides $quick] {
    r SET theirs 1
    set snapshot [snapshot_of [default_client]]
}

# A restart would load them as commands.
start_server {overrides {appendonly yes}} {
    set port [listen_for_replicas]

    test "A received file with bytes after its end is no base" {
        follow_anew $port
        lassign [next_replica] link
        $link write "+FULLRESYNC [string repeat ab 20] 100\r\n[framed $snapshot[resp::encode {SET more 1}] 0]"
        is_up [default_client]
        log_is_on
        assert_equal {0 1} [list [r EXISTS more] [info_field aof_rewrites persistence]]
        $link destroy
        restart_server
        assert_equal {1 0} [list [r EXISTS theirs] [r EXISTS more]]
    }
    no_more_replicas
}
