# backup.tcl -- BACKUP: what is copied between START and END starts, and has all writes before the seal.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc folder {} {
    return [file join [srv dir] appendonlydir]
}

proc files_now {} {
    return [lsort -dictionary [lmap path [glob -nocomplain -directory [folder] *] {file tail $path}]]
}

proc manifest {} {
    return [read_file [file join [folder] appendonly.aof.manifest]]
}

# Copies what a listing names into a new server's directory, in a random order, and returns that directory.
proc copy_listed {listing} {
    set dir [make_server_dir]
    set to [file join $dir appendonlydir]
    file mkdir $to
    foreach entry [lsort -command {apply {{a b} {expr {rand() < 0.5 ? -1 : 1}}}} [dict get $listing files]] {
        lassign $entry name size
        exec head -c $size [file join [dict get $listing folder] $name] > [file join $to $name]
        assert_equal $size [file size [file join $to $name]]
    }
    write_file [file join $to [dict get $listing manifest]] [dict get $listing manifest-text]
    return $dir
}

# Runs BODY with a server that has loaded a copy.
proc with_copy {dir body} {
    start_server [list overrides {appendonly yes aof-load-truncated no} args [list --dir $dir]] [list uplevel 1 $body]
}

proc write_once {} {
    r MULTI
    r INCR counter
    r RPUSH counted [string repeat x 100]
    r EXEC
}

proc rewritten {} {
    wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0 && [info_field aof_rewrite_scheduled] == 0}
}

start_server {overrides {appendonly yes appendfsync everysec auto-aof-rewrite-percentage 0} each {catch {r BACKUP END}}} {
    test "BACKUP lists the files, seals what was written, and ends" {
        r SET before 1
        set started [r BACKUP START]
        assert_equal {id state folder manifest manifest-text files bytes} [dict keys $started]
        assert_equal started [dict get $started state]
        assert_equal [file normalize [folder]] [file normalize [dict get $started folder]]
        assert_equal appendonly.aof.manifest [dict get $started manifest]
        assert_equal [manifest] [dict get $started manifest-text]
        assert_equal {appendonly.aof.1.base.rdb appendonly.aof.1.incr.aof} [lmap f [dict get $started files] {lindex $f 0}]
        r SELECT 3
        r SET between 2
        set sealed [r BACKUP SEAL]
        assert_equal sealed [dict get $sealed state]
        assert_equal [dict get $started id] [dict get $sealed id]
        assert_equal [dict get $started manifest-text] [dict get $sealed manifest-text]
        assert {[dict get $sealed bytes] > [dict get $started bytes]}
        foreach entry [dict get $sealed files] {
            lassign $entry name size
            assert_equal $size [file size [file join [folder] $name]]
        }
        r SET after 3
        r SELECT 0
        r SET in:0 4
        with_copy [copy_listed $sealed] {
            assert_equal 1 [r GET before]
            r SELECT 3
            assert_equal 2 [r GET between]
            assert_equal (nil) [r GET after]
        }
        assert_equal OK [r BACKUP END]
        assert_equal {appendonly.aof.1.base.rdb appendonly.aof.1.incr.aof appendonly.aof.2.incr.aof appendonly.aof.manifest} \
            [files_now]
        restart_server
        assert_equal 4 [r GET in:0]
        r SELECT 3
        assert_equal 3 [r GET after]
        r SELECT 0
    }

    test "BACKUP's errors" {
        assert_error "ERR No backup is under way. BACKUP START begins one." {r BACKUP SEAL}
        assert_error "ERR No backup is under way. BACKUP START begins one." {r BACKUP END}
        assert_error "ERR The number of a backup is*" {r BACKUP END x}
        assert_error "ERR syntax error" {r BACKUP END 1 2}
        assert_error "ERR wrong number of arguments*" {r BACKUP START 1}
        assert_error "ERR unknown subcommand*" {r BACKUP NONE}
        r MULTI
        assert_error "ERR Command 'backup|start' not allowed inside a transaction" {r BACKUP START}
        r DISCARD
        set id [dict get [r BACKUP START] id]
        assert_error "ERR A backup is under way. BACKUP STATUS shows*" {r BACKUP START}
        foreach command {SEAL END} {
            assert_error "ERR The backup that is under way has another number.*" {r BACKUP $command [expr {$id - 1}]}
        }
        assert_equal sealed [dict get [r BACKUP SEAL $id] state]
        assert_equal sealed [dict get [r BACKUP SEAL] state]
        assert_equal OK [r BACKUP END $id]
        assert_error "ERR No backup is under way. BACKUP START begins one." {r BACKUP END $id}
        assert_equal [dict create state none id 0 seconds 0 timeout 0 bytes 0] [r BACKUP STATUS]
    }

    test "INFO shows a backup, and CONFIG RESETSTAT sets its counters back" {
        r CONFIG RESETSTAT
        set last [info_field aof_last_backup_time]
        assert_equal {0 -1 0} [lmap f {in_progress time_sec bytes} {info_field aof_backup_$f}]
        r BACKUP START
        assert_equal 1 [info_field aof_backup_in_progress]
        assert {[info_field aof_backup_time_sec] >= 0}
        set bytes [dict get [r BACKUP SEAL] bytes]
        assert_equal $bytes [info_field aof_backup_bytes]
        assert_equal [list sealed $bytes 3600] \
            [lmap f {state bytes timeout} {dict get [r BACKUP STATUS] $f}]
        r BACKUP END
        assert_equal {0 -1 0} [lmap f {in_progress time_sec bytes} {info_field aof_backup_$f}]
        assert {[info_field aof_last_backup_time] >= $last}
        assert_equal 1 [info_field aof_backups]
        r CONFIG RESETSTAT
        assert_equal 0 [info_field aof_backups]
    }

    test "No rewrite begins during a backup; one that was asked for begins after it" {
        set id [dict get [r BACKUP START] id]
        assert_equal "Background append only file rewriting scheduled" [r BGREWRITEAOF]
        set files [files_now]
        r SET a 1
        after 300
        assert_equal 1 [info_field aof_rewrite_scheduled]
        assert_equal 0 [info_field aof_rewrite_in_progress]
        assert_equal $files [files_now]
        r BACKUP END $id
        rewritten
        wait_for_condition 5 {[llength [files_now]] == 3}
        assert_not_equal $files [files_now]
    }

    test "A rewrite that ends during a backup takes effect after it" {
        r CONFIG SET rdb-key-save-delay 10000
        for {set i 0} {$i < 20} {incr i} {r SET k$i v}
        r BGREWRITEAOF
        set started [r BACKUP START]
        r CONFIG SET rdb-key-save-delay 0
        set files [files_now]
        wait_for_condition 20 {[string match "*Background AOF rewrite terminated with success*" [srv log]]}
        r SET a 2
        set sealed [r BACKUP SEAL]
        r SET a 3
        after 300
        assert_equal 1 [info_field aof_rewrite_in_progress]
        assert_error "ERR Background append only file rewriting already in progress" {r BGREWRITEAOF}
        foreach name $files {assert {$name in [files_now]}}
        with_copy [copy_listed $sealed] {assert_equal 2 [r GET a]}
        r BACKUP END
        rewritten
        assert_equal ok [info_field aof_last_bgrewrite_status]
        wait_for_condition 5 {[lsearch [files_now] [lindex [dict get $started files] 0 0]] < 0}
        assert_equal {} [glob -nocomplain -directory [srv dir] temp*]
        # Replaced files are deleted one after the other, by another thread.
        wait_for_condition 5 {[info_field aof_current_size] == [tcl::mathop::+ {*}[lmap name [files_now] {
            expr {$name eq "appendonly.aof.manifest" || [catch {file size [file join [folder] $name]} size] ? 0 : $size}}]]}
        restart_server
        assert_equal 3 [r GET a]
        assert_equal v [r GET k19]
    }

    test "The log or the server stops while a rewrite waits for the end of a backup" {
        foreach how {off restart} {
            r CONFIG SET rdb-key-save-delay 10000
            set ended [regexp -all {rewrite terminated with success} [srv log]]
            r BGREWRITEAOF
            r BACKUP START
            r CONFIG SET rdb-key-save-delay 0
            wait_for_condition 20 {[regexp -all {rewrite terminated with success} [srv log]] > $ended}
            r SELECT 3
            r SET how $how
            set sealed [r BACKUP SEAL]
            r SET after $how
            r SELECT 0
            assert_equal 1 [info_field aof_rewrite_in_progress]
            if {$how eq "off"} {
                r CONFIG SET appendonly no
                assert_equal 0 [info_field aof_rewrite_in_progress]
                with_copy [copy_listed $sealed] {assert_equal 3 [r GET a]}
                r BACKUP END
            }
            restart_server
            r SELECT 3
            assert_equal [list $how $how] [r MGET how after]
            r SELECT 0
            assert_equal 3 [r GET a]
            wait_for_condition 5 {[llength [files_now]] == 4} ;# the sealed increment belongs to the new base
            assert_equal {} [glob -nocomplain -directory [srv dir] temp*]
        }
    }

    test "A backup that no command uses is given up; STATUS uses it" {
        r CONFIG SET backup-timeout 2
        r CONFIG RESETSTAT
        set id [dict get [r BACKUP START] id]
        for {set i 0} {$i < 5} {incr i} {
            after 800
            assert_equal started [dict get [r BACKUP STATUS] state]
        }
        wait_for_condition 20 {[info_field aof_backup_in_progress] == 0}
        assert_equal 1 [info_field aof_backups_given_up]
        assert_equal 0 [info_field aof_backups]
        assert_match "*is given up: no BACKUP command came for 2 seconds*" [srv log]
        foreach command {SEAL END} {
            assert_error "ERR The backup was given up after backup-timeout seconds*" {r BACKUP $command $id}
        }
        r CONFIG SET backup-timeout 0
        r BACKUP START
        after 1500
        assert_equal OK [r BACKUP END]
        r CONFIG SET backup-timeout 3600
    }

    test "The connection that began a backup may close" {
        with_clients {c} {
            $c BACKUP START
        }
        assert_equal started [dict get [r BACKUP STATUS] state]
        r BACKUP SEAL
        assert_equal OK [r BACKUP END]
    }

    test "The log is turned off and on during a backup: what was sealed stays" {
        r SET a 5
        r BACKUP START
        set sealed [r BACKUP SEAL]
        r CONFIG SET appendonly no
        assert_error "ERR BACKUP is about the append-only file, which is off.*" {r BACKUP SEAL}
        assert_equal "Background append only file rewriting scheduled" [r BGREWRITEAOF]
        r SET a 6
        r CONFIG SET appendonly yes
        wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0}
        with_copy [copy_listed $sealed] {assert_equal 5 [r GET a]}
        with_copy [copy_listed [r BACKUP SEAL]] {assert_equal 6 [r GET a]}
        r BACKUP END
        rewritten
        wait_for_condition 5 {[llength [files_now]] == 3}
    }

    test "A server that is killed during a backup starts, and keeps no file that it does not need" {
        foreach moment {started sealed rewritten} {
            if {$moment eq "rewritten"} {
                r CONFIG SET rdb-key-save-delay 1000
                r BGREWRITEAOF
            }
            r BACKUP START
            r SET moment $moment
            if {$moment ne "started"} {r BACKUP SEAL}
            if {$moment eq "rewritten"} {
                r CONFIG SET appendonly no
                r CONFIG SET appendonly yes
                wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0}
                assert {[llength [files_now]] > 4}
            }
            r SET later $moment
            r WAITAOF 1 0 0
            exec kill -KILL [srv pid]
            wait_exit [srv dir] 5
            expect_exit 137
            restart_server
            expect_exit 0
            assert_equal $moment [r GET moment]
            assert_equal $moment [r GET later]
            assert_equal none [dict get [r BACKUP STATUS] state]
            wait_for_condition 5 {![regexp {type h} [manifest]]}
            set named [lmap {all name} [regexp -all -inline {file (\S+) seq} [manifest]] {set name}]
            wait_for_condition 5 {[lsort [list {*}$named appendonly.aof.manifest]] eq [lsort [files_now]]}
            assert_equal {} [glob -nocomplain -directory [srv dir] temp*]
        }
    }
}

foreach policy {always everysec no} {
    start_server [list overrides [list appendonly yes appendfsync $policy auto-aof-rewrite-percentage 0]] {
        test "Backups under load, with rewrites: each copy has what was written before its seal ($policy)" {
            set load [exec [file join [file dirname $srv::binary] valkey-benchmark] -p [srv port] -q -n 10000000 -r 5000 -d 200 \
                -c 20 -t set,rpush,zadd >/dev/null 2>/dev/null &]
            set copies {}
            for {set round 0} {$round < 4} {incr round} {
                for {set i 0} {$i < 50} {incr i} write_once
                if {$round % 2} {r BGREWRITEAOF}
                set started [r BACKUP START]
                for {set i 0} {$i < 50} {incr i} write_once
                set written [r GET counter]
                with_clients {other} {
                    $other send BACKUP SEAL
                    for {set i 0} {$i < 50} {incr i} write_once
                    set sealed [$other reply]
                }
                for {set i 0} {$i < 50} {incr i} write_once
                lappend copies [copy_listed $sealed] $written
                # The whole folder, without the listing: its last file ends anywhere.
                set dir [make_server_dir]
                file delete -force [file join $dir appendonlydir]
                exec cp -r [folder] $dir
                assert_equal OK [r BACKUP END [dict get $sealed id]]
                lappend copies $dir [expr {$written + 50}]
                rewritten
            }
            exec kill $load
            foreach {dir written} $copies {
                start_server [list overrides {appendonly yes} args [list --dir $dir]] {
                    assert {[r GET counter] >= $written}
                    assert_equal [r GET counter] [r LLEN counted]
                }
            }
            set counter [r GET counter]
            restart_server
            assert_equal $counter [r GET counter]
        }
    }
}

start_server {overrides {appendonly no}} {
    test "Without an append-only file BACKUP says what to do" {
        assert_error "ERR BACKUP is about the append-only file, which is off. A snapshot needs no BACKUP*" {r BACKUP START}
        assert_error "ERR No backup is under way*" {r BACKUP SEAL}
        assert_equal none [dict get [r BACKUP STATUS] state]
    }

    test "While the log is being turned on BACKUP says so" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay 1000000
        r CONFIG SET appendonly yes
        assert_error "ERR The append-only file is being turned on.*" {r BACKUP START}
        r CONFIG SET rdb-key-save-delay 0
        r CONFIG SET appendonly no
    }
}

start_server {overrides {appendonly yes repl-diskless-sync-delay 0}} {
    set primary [connect]
    set primary_port [srv port]
    start_server {overrides {appendonly yes}} {
        test "A replica makes backups, also across a full synchronization" {
            $primary SET a 1
            r REPLICAOF 127.0.0.1 $primary_port
            wait_for_condition 20 {[r GET a] eq 1 && [info_field aof_rewrite_in_progress] == 0}
            r BACKUP START
            set sealed [r BACKUP SEAL]
            r REPLICAOF NO ONE
            $primary SET a 2
            r REPLICAOF 127.0.0.1 $primary_port
            wait_for_condition 20 {[r GET a] eq 2}
            with_copy [copy_listed $sealed] {assert_equal 1 [r GET a]}
            assert_equal OK [r BACKUP END]
        }
    }
}
