# snapshot.tcl -- snapshots apart from the file: what starts one, reports about it, and the effects of a failure.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc persistence {name} {
    return [info_field $name persistence]
}

proc saving {} {
    return [expr {[persistence rdb_bgsave_in_progress] == 1}]
}

proc saved {} {
    wait_for_condition 20 {![saving]}
}

# Returns the child that the log names last.
proc child_pid {} {
    return [lindex [regexp -all -inline {Background saving started by pid \d+} [srv log]] end end]
}

proc alive {pid} {
    return [expr {[file exists /proc/$pid/stat] && ![string match {*) Z *} [read_file /proc/$pid/stat]]}]
}

proc temp_files {dir} {
    return [glob -nocomplain -directory $dir temp-*]
}

# Starts a BGSAVE so slow that only BODY or a timeout ends it. It has begun to write when BODY runs.
proc with_slow_save {body} {
    r CONFIG SET rdb-key-save-delay 1000000
    r MSET k1 1 k2 2 k3 3 k4 4 k5 5 k6 6 k7 7 k8 8 k9 9
    assert_match "Background saving started" [r BGSAVE]
    set code [catch {uplevel 1 $body} message options]
    r CONFIG SET rdb-key-save-delay 0
    if {[saving]} {
        catch {exec kill -USR1 [child_pid]}
        saved
    }
    return -options $options $message
}

# Makes a snapshot fail, and runs BODY in that state.
proc with_failed_save {body} {
    with_slow_save {
        exec kill -KILL [child_pid]
        saved
    }
    set code [catch {uplevel 1 $body} message options]
    r CONFIG SET save ""
    r SAVE
    return -options $options $message
}

# Reads big:FROM up to before big:TO, values of 1600 bytes each.
proc read_values {c from to} {
    for {set first $from} {$first < $to} {incr first 1000} {
        set reads {}
        for {set i $first} {$i < $first + 1000} {incr i} {
            lappend reads [list GET big:$i]
        }
        $c pipeline $reads
        assert_match "*value:[expr {$first + 999}]*" [$c raw_bytes [expr {1000 * 1609}]]
    }
}

proc private_kb {pid} {
    regexp {Private_Dirty: +(\d+) kB} [read_file /proc/$pid/smaps_rollup] whole kb
    return $kb
}

set misconf "MISCONF Valkey is configured to save RDB snapshots, but it's currently unable to persist to disk.\
    Commands that may modify the data set are disabled, because this instance is configured to report errors during\
    writes if RDB snapshotting fails (stop-writes-on-bgsave-error option). Please check the Valkey logs for details\
    about the RDB error."

start_server {each {r FLUSHALL}} {

    # ---- Replies ------------------------------------------------------------------------------------------------

    test "SAVE writes the file, and nothing counts as changed any more" {
        file delete [srv dir]/dump.rdb
        r SET k v
        assert_equal 1 [expr {[persistence rdb_changes_since_last_save] > 0}]
        set saves [persistence rdb_saves]
        assert_equal OK [r SAVE]
        assert [file exists [srv dir]/dump.rdb]
        assert_equal 0 [persistence rdb_changes_since_last_save]
        assert_equal [expr {$saves + 1}] [persistence rdb_saves]
        assert_equal [r LASTSAVE] [persistence rdb_last_save_time]
        assert_between [expr {[clock seconds] - 5}] [clock seconds] [r LASTSAVE]
        set last [r LASTSAVE]
        wait_for_condition 5 {[clock seconds] > $last}
        r SET k w
        assert_equal $last [r LASTSAVE]
        r SAVE
        assert {[r LASTSAVE] > $last}
    }

    test "BGSAVE writes the file in the background" {
        file delete [srv dir]/dump.rdb
        r SET k v
        set saves [persistence rdb_saves]
        set forks [info_field total_forks stats]
        assert_equal "Background saving started" [r BGSAVE]
        saved
        assert [file exists [srv dir]/dump.rdb]
        assert_equal {} [temp_files [srv dir]]
        assert_equal ok [persistence rdb_last_bgsave_status]
        assert_equal 0 [persistence rdb_changes_since_last_save]
        assert_equal [expr {$saves + 1}] [persistence rdb_saves]
        assert_equal [expr {$forks + 1}] [info_field total_forks stats]
        assert {[info_field latest_fork_usec stats] > 0}
        assert_between 0 2 [persistence rdb_last_bgsave_time_sec]
        assert {[persistence rdb_last_cow_size] > 0}
        assert_equal -1 [persistence rdb_current_bgsave_time_sec]
        assert_between [expr {[clock seconds] - 5}] [clock seconds] [r LASTSAVE]
        wait_for_condition 5 {[string match "*Background saving terminated with success*" [srv log]]}
    }

    test "Words that BGSAVE and SAVE do not know" {
        assert_error "ERR syntax error" {r BGSAVE x}
        assert_error "ERR syntax error" {r BGSAVE SCHEDULE CANCEL}
        assert_error "ERR wrong number of arguments for 'save' command" {r SAVE x}
        assert_error "ERR Background saving is currently not in progress or scheduled" {r BGSAVE CANCEL}
    }

    test "BGSAVE SCHEDULE starts at once when nothing is in the way" {
        assert_equal "Background saving started" [r BGSAVE SCHEDULE]
        saved
    }

    test "BGSAVE in MULTI is scheduled, and made after it" {
        set saves [persistence rdb_saves]
        r MULTI
        r BGSAVE
        r SET k v
        assert_equal {{Background saving scheduled} OK} [r EXEC]
        wait_for_condition 10 {[persistence rdb_saves] == $saves + 1 && ![saving]}
        assert_equal 0 [persistence rdb_changes_since_last_save]
    }

    test "A scheduled BGSAVE is cancelled" {
        set saves [persistence rdb_saves]
        r MULTI
        r BGSAVE
        r BGSAVE CANCEL
        assert_equal {{Background saving scheduled} {Scheduled background saving cancelled}} [r EXEC]
        after 300
        assert_equal $saves [persistence rdb_saves]
    }

    test "SAVE does not go into MULTI" {
        r MULTI
        assert_error "ERR Command 'save' not allowed inside a transaction" {r SAVE}
        assert_error "EXECABORT *" {r EXEC}
    }

    # ---- While it runs --------------------------------------------------------------------------------------------

    test "INFO tells of the child while it writes" {
        with_slow_save {
            assert_equal 1 [persistence rdb_bgsave_in_progress]
            assert_equal 9 [persistence current_save_keys_total]
            wait_for_condition 10 {[persistence current_save_keys_processed] >= 1}
            assert_regexp {^(11\.11|22\.22|33\.33|44\.44|55\.56|66\.67|77\.78|88\.89)$} [persistence current_fork_perc]
            wait_for_condition 10 {[persistence current_cow_size] > 0}
            assert {[persistence current_cow_peak] >= [persistence current_cow_size]}
            assert_between 0 5 [persistence current_cow_size_age]
            assert_between 0 20 [persistence rdb_current_bgsave_time_sec]
        }
        foreach field {cow_peak cow_size cow_size_age save_keys_processed save_keys_total} {
            assert_equal "$field 0" "$field [persistence current_$field]"
        }
        assert_equal 0.00 [persistence current_fork_perc]
    }

    test "One snapshot at a time" {
        with_slow_save {
            assert_error "ERR Background save already in progress" {r BGSAVE}
            assert_error "ERR Background save already in progress" {r BGSAVE SCHEDULE}
            assert_error "ERR Background save already in progress" {r SAVE}
            r MULTI
            r BGSAVE
            assert_match "*ERR Background save already in progress" [lindex [r EXEC] 0]
        }
    }

    test "BGSAVE CANCEL: as if it had not been" {
        r SAVE
        r SET k v
        set last [r LASTSAVE]
        with_slow_save {
            set changes [persistence rdb_changes_since_last_save]
            set pid [child_pid]
            wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
            assert_equal "Background saving cancelled" [r BGSAVE CANCEL]
            wait_for_condition 5 {![saving]}
            assert {![alive $pid]}
            assert_equal $changes [persistence rdb_changes_since_last_save]
            wait_for_condition 10 {[temp_files [srv dir]] eq {}}
        }
        assert_equal ok [persistence rdb_last_bgsave_status]
        assert_equal $last [r LASTSAVE]
    }

    test "What changes while a snapshot is written counts for the next" {
        r SAVE
        r CONFIG SET rdb-key-save-delay 300000
        r SET a 1
        r SET b 2
        r BGSAVE
        r SET c 3
        assert_equal 3 [persistence rdb_changes_since_last_save]
        saved
        r CONFIG SET rdb-key-save-delay 0
        assert_equal 1 [persistence rdb_changes_since_last_save]
    }

    test "Reads and writes go on beside the child" {
        foreach {size count} {10 100 600 100 20000 30 400000 4} {
            with_slow_save {
                for {set i 0} {$i < $count} {incr i} {
                    r SET big:$i [string repeat [expr {$i % 10}] $size]
                }
                assert_equal 1 [saving]
                for {set i 0} {$i < $count} {incr i} {
                    r SET big:$i [string repeat [expr {$i % 7}] $size]
                    assert_equal [string repeat [expr {$i % 7}] $size] [r GET big:$i]
                }
            }
        }
    }

    test "A key that is read beside the child does not count as used" {
        r SET k v
        wait_for_condition 10 {[r OBJECT IDLETIME k] >= 2}
        with_slow_save {
            r GET k
            assert {[r OBJECT IDLETIME k] >= 2}
        }
        r GET k
        assert_between 0 1 [r OBJECT IDLETIME k]
    }

    # Without a child, replies refer to values of this size: that would write to 1.5 MB of counts. The memory of the
    # replies themselves is written before the measurement.
    test "Reads copy no pages beside the child" {
        if {[string match *libc* [info_field mem_allocator memory]]} {
            skip "an allocator that writes when it frees"
        }
        r DEBUG POPULATE 30000 big 1600
        with_slow_save {
            with_clients c {
                read_values $c 0 3000
                set before [private_kb [child_pid]]
                read_values $c 3000 30000
                # Writing to the values would copy 43 MB; buffers for replies take some, more on a busy machine.
                assert_between 0 8000 [expr {[private_kb [child_pid]] - $before}]
            }
        }
    }

    test "The child has no socket, and tells what it is" {
        with_slow_save {
            set child [child_pid]
            wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
            foreach link [glob -nocomplain /proc/$child/fd/*] {
                assert_no_match "socket:*" [file readlink $link]
            }
            assert_match "valkey-rdb-bgsave *:[srv port]*" [string map {\0 " "} [read_file /proc/$child/cmdline]]
        }
    }

    # ---- Failure ----------------------------------------------------------------------------------------------------

    test "A child that is killed is a failed snapshot; what it has written goes" {
        r SAVE
        set last [r LASTSAVE]
        with_slow_save {
            set changes [persistence rdb_changes_since_last_save]
            wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
            exec kill -KILL [child_pid]
            saved
            assert_equal err [persistence rdb_last_bgsave_status]
            assert_equal $changes [persistence rdb_changes_since_last_save]
            assert_equal $last [r LASTSAVE]
            wait_for_condition 10 {[temp_files [srv dir]] eq {}}
            wait_for_condition 10 {[string match "*Background saving terminated by signal 9*" [srv log]]}
        }
        r SAVE
        assert_equal ok [persistence rdb_last_bgsave_status]
    }

    test "A child that is ended by SIGUSR1 is none" {
        with_slow_save {
            exec kill -USR1 [child_pid]
            saved
            assert_equal ok [persistence rdb_last_bgsave_status]
        }
    }

    test "After a failed snapshot writes and PING are refused" {
        r CONFIG SET save "3600 100000"
        with_failed_save {
            assert_error $misconf {r SET k v}
            assert_error $misconf {r PING}
            assert_error $misconf {r GETEX k1 PERSIST}
            assert_error $misconf {r FLUSHALL}
            foreach command {EVAL EVAL_RO} {
                assert_error $misconf {r $command "#!lua\nreturn 1" 0}
                assert_equal PONG [r $command "return redis.call('ping')" 0]
            }
            assert_equal 1 [r GET k1]
            assert_equal 0 [r PUBLISH channel message]
            r MULTI
            assert_error $misconf {r SET k v}
            assert_error "EXECABORT Transaction discarded because of previous errors." {r EXEC}
            r MULTI
            r GET k1
            assert_equal 1 [r EXEC]
        }
        assert_equal OK [r SET k v]
        assert_equal PONG [r PING]
    }

    test "What was queued before the failure is refused by EXEC" {
        r CONFIG SET save "3600 100000"
        with_clients c {
            $c MULTI
            $c SET k v
            with_failed_save {
                assert_error "EXECABORT Transaction discarded because of: MISCONF Valkey is configured to save *" {$c EXEC}
                assert_equal 0 [r EXISTS k]
            }
        }
    }

    foreach {what command} {
        "a snapshot" {r BGSAVE}
        "SAVE" {r SAVE}
        "no save points" {r CONFIG SET save ""}
        "the option" {r CONFIG SET stop-writes-on-bgsave-error no}
    } {
        test "Writes are allowed again by $what" {
            r CONFIG SET save "3600 100000"
            with_failed_save {
                assert_error $misconf {r SET k v}
                eval $command
                saved
                assert_equal OK [r SET k v]
            }
            r CONFIG SET stop-writes-on-bgsave-error yes
        }
    }

    test "Without save points a failed snapshot refuses nothing, until there are some" {
        with_failed_save {
            assert_equal err [persistence rdb_last_bgsave_status]
            assert_equal OK [r SET k v]
            r CONFIG SET save "3600 100000"
            assert_error $misconf {r SET k v}
        }
    }

    # ---- FLUSHALL ---------------------------------------------------------------------------------------------------

    test "FLUSHALL without save points leaves the file alone" {
        r SET k [string repeat x 3000]
        r SAVE
        set size [file size [srv dir]/dump.rdb]
        r FLUSHALL
        assert_equal $size [file size [srv dir]/dump.rdb]
    }

    test "FLUSHALL with save points empties the file, too" {
        r SET k [string repeat abcdefghij 300]
        r SAVE
        set size [file size [srv dir]/dump.rdb]
        r CONFIG SET save "3600 100000"
        r FLUSHDB
        assert_equal $size [file size [srv dir]/dump.rdb]
        r FLUSHALL
        assert {[file size [srv dir]/dump.rdb] < $size}
        r CONFIG SET save ""
    }

    test "FLUSHALL ends a child that writes what is no more" {
        with_slow_save {
            r FLUSHALL
            wait_for_condition 5 {![saving]}
            assert_equal ok [persistence rdb_last_bgsave_status]
        }
    }

    # ---- Nothing is left behind ---------------------------------------------------------------------------------------

    test "Snapshots leave no descriptors behind, whatever their end" {
        r BGSAVE
        saved
        r SAVE
        set before [llength [glob /proc/[srv pid]/fd/*]]
        for {set i 0} {$i < 10} {incr i} {
            r BGSAVE
            saved
            r SAVE
        }
        with_slow_save {r BGSAVE CANCEL}
        with_failed_save {}
        wait_for_condition 10 {[llength [glob /proc/[srv pid]/fd/*]] == $before}
        wait_for_condition 10 {[temp_files [srv dir]] eq {}}
    }
}

# 100 MB in pages of 4 KB: copying their page tables takes more than a millisecond on most machines.
test "A fork is an event of the latency monitor" {
    start_server {overrides {latency-monitor-threshold 1}} {
        r DEBUG POPULATE 200000 key 512
        r BGSAVE
        saved
        if {[info_field latest_fork_usec stats] < 1000} {
            skip "this machine forks in no time"
        }
        assert_match "*fork*" [r LATENCY LATEST]
        assert_match "*fork*Fork rate is *GB/sec*" [r LATENCY DOCTOR]
    }
}

# ---- Save points ------------------------------------------------------------------------------------------------------

start_server {overrides {save "1 2"}} {
    test "A save point asks for its changes and its time" {
        set saves [persistence rdb_saves]
        r SET a 1
        after 2500
        assert_equal $saves [persistence rdb_saves]
        r SET b 2
        wait_for_condition 10 {[persistence rdb_saves] == $saves + 1 && ![saving]}
        assert_equal 0 [persistence rdb_changes_since_last_save]
        assert_match "*2 changes in 1 seconds. Saving...*" [srv log]
        assert [file exists [srv dir]/dump.rdb]
    }

    test "A save point of no changes saves again and again" {
        r CONFIG SET save "1 0"
        set saves [persistence rdb_saves]
        wait_for_condition 20 {[persistence rdb_saves] >= $saves + 2}
        r CONFIG SET save ""
        saved
    }

    test "After a failed snapshot the next one is tried five seconds later" {
        r CONFIG SET save "1 1"
        with_slow_save {
            exec kill -KILL [child_pid]
            saved
        }
        set failed [clock milliseconds]
        assert_equal err [persistence rdb_last_bgsave_status]
        wait_for_condition 20 {[persistence rdb_last_bgsave_status] eq "ok"}
        assert_between 3500 15000 [expr {[clock milliseconds] - $failed}]
        r CONFIG SET save ""
    }
}

# ---- A disk that takes nothing ------------------------------------------------------------------------------------------

foreach {command words} {SAVE {} DEBUG RELOAD} {
    test "A folder that is not there any more fails SAVE, BGSAVE and DEBUG RELOAD, until another has a snapshot: $command" {
        start_server {overrides {enable-protected-configs yes save "3600 100000"}} {
            r SET k v
            set gone [srv dir]/gone
            file mkdir $gone
            r CONFIG SET dir $gone
            file delete -force $gone
            assert_error "ERR" {r SAVE}
            assert_equal ok [persistence rdb_last_bgsave_status]
            assert_equal "Background saving started" [r BGSAVE]
            saved
            assert_equal err [persistence rdb_last_bgsave_status]
            assert_error $misconf {r SET k v}
            assert_match "*Background saving error*" [srv log]
            assert_error "ERR" {r DEBUG RELOAD}
            assert_equal v [r GET k]
            r CONFIG SET dir [srv dir]
            assert_equal OK [r $command {*}$words]
            assert_equal OK [r SET k v]
            assert [file exists [srv dir]/dump.rdb]
        }
    }
}

# Mounts a small volume on DIR while BODY runs, if the system allows that.
proc with_small_volume {dir size body} {
    file mkdir $dir
    if {[catch {exec mount -t tmpfs -o size=$size tmpfs $dir}]} {
        skip "no volume can be mounted here"
    }
    set code [catch {uplevel 1 $body} message options]
    exec umount -l $dir
    return -options $options $message
}

test "A full disk is a failed snapshot, the old file stays, and room ends it" {
    start_server {overrides {enable-protected-configs yes save "3600 100000" rdbcompression no}} {
        with_small_volume [srv dir]/small 128k {
            r CONFIG SET dir [srv dir]/small
            r SET k v
            r SAVE
            set old [read_file [srv dir]/small/dump.rdb]
            for {set i 0} {$i < 1000} {incr i} {
                r SET k:$i [string repeat x 300]
            }
            assert_error "ERR" {r SAVE}
            r BGSAVE
            saved
            assert_equal err [persistence rdb_last_bgsave_status]
            assert_error $misconf {r SET k v}
            assert_equal $old [read_file [srv dir]/small/dump.rdb]
            wait_for_condition 10 {[temp_files [srv dir]/small] eq {}}
            exec mount -o remount,size=4m [srv dir]/small
            r BGSAVE
            saved
            assert_equal ok [persistence rdb_last_bgsave_status]
            assert_equal OK [r SET k v]
            r CONFIG SET dir [srv dir]
        }
    }
}

# A real Valkey is ended by the system's signal.
test "A file that the system lets not grow is a failed snapshot as well" {
    start_server {overrides {save "3600 100000" rdbcompression no}} {
        for {set i 0} {$i < 1000} {incr i} {
            r SET k:$i [string repeat x 300]
        }
        exec prlimit --pid [srv pid] --fsize=65536:65536
        assert_error "ERR" {r SAVE}
        r BGSAVE
        saved
        assert_equal err [persistence rdb_last_bgsave_status]
        assert_error $misconf {r SET k v}
        wait_for_condition 10 {[temp_files [srv dir]] eq {}}
        r CONFIG SET save ""
    }
}

# ---- The end of the process ---------------------------------------------------------------------------------------------

foreach {save words saves} {
    "" {} 0
    "" SAVE 1
    "" NOSAVE 0
    "3600 100000" {} 1
    "3600 100000" NOSAVE 0
    "3600 100000" {NOW FORCE} 1
    "" {SAVE NOW} 1
} {
    test "SHUTDOWN $words [expr {$saves ? "saves" : "does not save"}] with save \"$save\"" {
        start_server [list overrides [list save [expr {$save eq "" ? "\"\"" : $save}]]] {
            r SET k v
            with_clients c {
                $c send SHUTDOWN {*}$words
                assert_equal "" [$c raw_until_eof]
            }
            assert_equal 0 [wait_exit [srv dir] 10]
            assert_equal $saves [file exists [srv dir]/dump.rdb]
        }
    }
}

foreach {signal setting words saves} {
    TERM shutdown-on-sigterm default 1
    TERM shutdown-on-sigterm nosave 0
    INT shutdown-on-sigint default 1
    INT shutdown-on-sigint {nosave now} 0
} {
    test "SIG$signal [expr {$saves ? "saves" : "does not save"}] with $setting $words" {
        start_server {overrides {save {3600 100000}}} {
            r CONFIG SET $setting $words
            r SET k v
            exec kill -$signal [srv pid]
            assert_equal 0 [wait_exit [srv dir] 10]
            assert_equal $saves [file exists [srv dir]/dump.rdb]
        }
    }
}

test "A shutdown that cannot save is refused, unless it is forced" {
    start_server {overrides {enable-protected-configs yes save "3600 100000"}} {
        r SET k v
        set gone [srv dir]/gone
        file mkdir $gone
        r CONFIG SET dir $gone
        file delete -force $gone
        assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN}
        assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN SAVE NOW}
        assert_equal v [r GET k]
        exec kill -TERM [srv pid]
        wait_for_condition 10 {[string match "*Errors trying to shut down the server.*" [srv log]]}
        assert_equal v [r GET k]
        with_clients c {
            $c send SHUTDOWN FORCE
            assert_equal "" [$c raw_until_eof]
        }
        assert_equal 0 [wait_exit [srv dir] 10]
    }
}

test "Where the child runs, and what the kernel thinks of it" {
    start_server {overrides {bgsave-cpulist 1 oom-score-adj yes oom-score-adj-values "0 100 300" rdb-key-save-delay 300000}} {
        r MSET a 1 b 2 c 3 d 4
        r BGSAVE
        set child [child_pid]
        wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
        assert_equal 1 [exec awk {/^Cpus_allowed_list/ {print $2}} /proc/$child/status]
        assert_equal [expr {[read_file /proc/[srv pid]/oom_score_adj] + 300}] [string trim [read_file /proc/$child/oom_score_adj]]
        r BGSAVE CANCEL
        saved
    }
}

test "SHUTDOWN FAILOVER is for clusters" {
    start_server {} {
        assert_error "ERR SHUTDOWN FAILOVER is only supported in cluster mode." {r SHUTDOWN FAILOVER}
    }
}

test "A shutdown ends the child and removes its file" {
    foreach words {NOSAVE SAVE} {
        start_server {} {
            r CONFIG SET rdb-key-save-delay 300000
            r MSET a 1 b 2 c 3 d 4
            r BGSAVE
            set child [child_pid]
            wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
            r CONFIG SET rdb-key-save-delay 0
            with_clients c {
                $c send SHUTDOWN $words
                assert_equal "" [$c raw_until_eof]
            }
            assert_equal 0 [wait_exit [srv dir] 10]
            assert {![alive $child]}
            assert_equal {} [temp_files [srv dir]]
            assert_equal [expr {$words eq "SAVE"}] [file exists [srv dir]/dump.rdb]
        }
    }
}

test "The child ends when its parent is killed, and holds no connection meanwhile" {
    start_server {} {
        expect_exit 137
        with_clients c {
            r CONFIG SET rdb-key-save-delay 1000000
            r MSET a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8
            r BGSAVE
            set child [child_pid]
            wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
            exec kill -KILL [srv pid]
            assert_equal "" [$c raw_until_eof]
        }
        wait_for_condition 5 {![alive $child]}
        assert_equal 137 [wait_exit [srv dir] 10]
        close [socket -server none -myaddr 127.0.0.1 [srv port]]
    }
}

test "A second SIGINT ends the process at once, and its temporary files go" {
    start_server {overrides {save {3600 100000}}} {
        expect_exit 1
        r CONFIG SET rdb-key-save-delay 1000000
        r MSET a 1 b 2 c 3 d 4 e 5 f 6 g 7 h 8
        exec kill -INT [srv pid]
        wait_for_condition 10 {[llength [temp_files [srv dir]]] == 1}
        exec kill -INT [srv pid]
        assert_equal 1 [wait_exit [srv dir] 10]
        assert_equal {} [temp_files [srv dir]]
        assert_match "*You insist... exiting now.*" [srv log]
    }
}

test "A shutdown while the dataset is read leaves its file alone" {
    foreach end {{kill -TERM} {SHUTDOWN SAVE}} {
        set dir [make_server_dir]
        set port [free_port]
        start_server {} {
            r DEBUG POPULATE 20000
            r SAVE
            file rename [srv dir]/dump.rdb $dir/dump.rdb
        }
        set size [file size $dir/dump.rdb]
        set pid [launch $dir [list --port $port --save 3600 1 --dir $dir --key-load-delay 1000 \
            --loading-process-events-interval-bytes 1024 {*}$srv::extra]]
        wait_for_condition 20 {![catch {set c [RespClient new $port]}]}
        wait_for_condition 10 {[string match "*loading:1*" [$c INFO persistence]]}
        if {$end eq "kill -TERM"} {
            exec kill -TERM $pid
        } else {
            $c send {*}$end
        }
        assert_equal 0 [wait_exit $dir 15]
        $c destroy
        assert_equal $size [file size $dir/dump.rdb]
    }
}
