# turn_on.tcl -- CONFIG SET appendonly yes: the log begins with a rewrite, and exists when that has ended; DEBUG
# LOADAOF.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set never 10000000 ;# microseconds for each key: a child that does not end by itself

proc aof_path {name} {
    return [file join [srv dir] appendonlydir $name]
}

proc aof_files {} {
    return [lsort -dictionary [lmap path [glob -nocomplain -directory [file join [srv dir] appendonlydir] *] {file tail $path}]]
}

proc manifest {} {
    return [read_file [aof_path appendonly.aof.manifest]]
}

# Returns the temporary files of a rewrite.
proc temporaries {} {
    return [lsort [concat [glob -nocomplain -tails -directory [srv dir] temp*] [lsearch -all -inline [aof_files] temp*]]]
}

proc child_pid {} {
    return [lindex [regexp -all -inline {started by pid (\d+)} [srv log]] end]
}

proc started {} {
    wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 1 && [llength [temporaries]] == 2}
}

# Returns whether a rewrite is running or scheduled.
proc rewriting {} {
    return [expr {![regexp {aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s} [r INFO persistence]]}]
}

# Waits until the log is on, and unneeded files are deleted.
proc is_on {} {
    wait_for_condition 20 {![rewriting]}
    assert_equal {1 ok} [list [info_field aof_enabled] [info_field aof_last_bgrewrite_status]]
    wait_for_condition 5 {[temporaries] eq "" && [llength [aof_files]] == 3}
}

proc is_off {} {
    assert_equal {0 0} [list [info_field aof_enabled] [info_field aof_rewrite_scheduled]]
    # The thread that takes a base may have begun before.
    wait_for_condition 5 {[info_field aof_rewrite_in_progress] == 0}
    wait_for_condition 5 {[temporaries] eq ""}
}

# Kills the server, which has passed all writes to the system, and runs BODY with one that starts from its log.
proc after_kill {body} {
    wait_for_condition 5 {[info_field aof_buffer_length] == 0}
    exec kill -KILL [srv pid]
    wait_exit [srv dir] 5
    expect_exit 137
    forget_default_client
    uplevel 1 [list start_server [list args [list --dir [srv dir] --appendonly yes]] $body]
}

foreach {form preamble policy} {rdb yes everysec aof no always} {
    start_server [list overrides [list aof-use-rdb-preamble $preamble appendfsync $policy]] {
        test "base.$form, $policy: nothing is a log before its base is complete" {
            r SET before 1
            r SELECT 2
            r RPUSH list a b
            r SELECT 0
            r CONFIG SET rdb-key-save-delay $never
            assert_equal OK [r CONFIG SET appendonly yes]
            assert_equal 1 [info_field aof_enabled]
            started
            assert_equal temp-appendonly.aof.incr [aof_files]
            r SET meanwhile 2
            wait_for_condition 5 {[file size [aof_path temp-appendonly.aof.incr]] > 0}
            assert_equal temp-appendonly.aof.incr [aof_files]
            assert {[info_field aof_current_size] > 0}
        }

        test "base.$form, $policy: then all of it is, what was written meanwhile included" {
            r CONFIG SET appendonly no
            is_off
            assert_equal {} [aof_files]
            r DEL meanwhile
            r CONFIG SET rdb-key-save-delay 20000
            for {set i 0} {$i < 20} {incr i} {r SET key:$i $i}
            r CONFIG SET appendonly yes
            set n 0
            while {[rewriting]} {
                r MULTI
                r INCR counter
                r SELECT 5
                r RPUSH counted x
                r SELECT 0
                r EXEC
                incr n
            }
            is_on
            assert_equal "file appendonly.aof.1.base.$form seq 1 type b\nfile appendonly.aof.1.incr.aof seq 1 type i\n" [manifest]
            assert_equal $n [r GET counter]
            r SET after 3
            set digest [r DEBUG DIGEST]
            after_kill {
                assert_equal $digest [r DEBUG DIGEST]
                assert_equal {1 3} [r MGET before after]
                assert_equal $n [r GET counter]
            }
        }
    }
}

start_server {overrides {appendfsync always}} {
    test "In a transaction the rewrite begins behind it" {
        r SET a 1
        r MULTI
        r INCR a
        r CONFIG SET appendonly yes
        r INCR a
        assert_equal {2 OK 3} [r EXEC]
        r INCR a
        is_on
        r INCR a
        set digest [r DEBUG DIGEST]
        after_kill {
            assert_equal 5 [r GET a]
            assert_equal $digest [r DEBUG DIGEST]
        }
    }
}

start_server {overrides {}} {
    test "With a snapshot's child it waits until that has ended" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay $never
        r BGSAVE
        assert_equal OK [r CONFIG SET appendonly yes]
        assert_equal {1 0 1} [list [info_field aof_enabled] [info_field aof_rewrite_in_progress] [info_field aof_rewrite_scheduled]]
        r SET b 2
        r CONFIG SET rdb-key-save-delay 0
        r BGSAVE CANCEL
        is_on
        r CONFIG SET appendonly no
    }

    test "A rewrite without a log gives way: its base has not what follows" {
        r CONFIG SET rdb-key-save-delay $never
        r BGREWRITEAOF
        set first [child_pid]
        r SET c 3
        assert_equal OK [r CONFIG SET appendonly yes rdb-key-save-delay 0]
        is_on
        assert_not_equal $first [child_pid]
        set digest [r DEBUG DIGEST]
        after_kill {
            assert_equal $digest [r DEBUG DIGEST]
        }
    }
}

start_server {overrides {appendfsync always}} {
    test "Turned on, off and on again at any moment it is what was said last" {
        for {set i 0} {$i < 200} {incr i} {r SET key:$i $i}
        for {set i 0} {$i < 24} {incr i} {
            r CONFIG SET rdb-key-save-delay [expr {$i % 3 * 100}]
            r CONFIG SET appendonly yes
            with_clients {a} {
                $a send SET moment $i
                after [expr {$i * 5 % 70}]
                r CONFIG SET appendonly no
                r CONFIG SET appendonly yes
                $a send SET moment again:$i
                assert_equal {OK OK} [list [$a reply] [$a reply]]
            }
            if {$i % 4} {
                r CONFIG SET appendonly no
            } else {
                is_on
                r CONFIG SET appendonly no
                assert_equal again:$i [r GET moment]
            }
        }
        is_off
        r CONFIG SET rdb-key-save-delay 0 appendonly yes
        is_on
        r SET last one
        set digest [r DEBUG DIGEST]
        after_kill {
            assert_equal $digest [r DEBUG DIGEST]
        }
    }

}

# ---- The earlier state ----------------------------------------------------------------------------------------------

start_server {overrides {appendonly yes appendfsync always}} {
    test "An older log stays until the switch; then its numbers go on and its files are deleted" {
        r SET old 1
        r CONFIG SET appendonly no
        set old [manifest]
        r SET new 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        r SET newer 1
        assert_equal $old [manifest]
        r CONFIG SET appendonly no rdb-key-save-delay 0
        is_off
        assert_equal $old [manifest]
        write_file [aof_path appendonly.aof.2.base.rdb] "somebody's"
        write_file [aof_path appendonly.aof.2.incr.aof] "somebody's"
        r CONFIG SET appendonly yes
        wait_for_condition 20 {[manifest] eq
            "file appendonly.aof.3.base.rdb seq 3 type b\nfile appendonly.aof.3.incr.aof seq 3 type i\n"}
        wait_for_condition 5 {[llength [aof_files]] == 5}
        assert_equal "somebody's" [read_file [aof_path appendonly.aof.2.incr.aof]]
        assert_equal "somebody's" [read_file [aof_path appendonly.aof.2.base.rdb]]
        set digest [r DEBUG DIGEST]
        after_kill {
            assert_equal $digest [r DEBUG DIGEST]
        }
    }
}

start_server {overrides {appendonly yes appendfsync always}} {
    test "A kill before the switch leaves the older log, and a start removes what was not complete" {
        r SET old 1
        r CONFIG SET appendonly no
        r SET new 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        r SET newer 1
        after_kill {
            assert_equal {1 (nil) (nil)} [r MGET old new newer]
            assert_equal {} [temporaries]
        }
    }
}

start_server {overrides {}} {
    test "Without one nothing is a log" {
        r SET new 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        after_kill {
            assert_equal 0 [r DBSIZE]
            assert_equal {} [temporaries]
        }
    }
}

proc assert_refused {} {
    assert_error "ERR CONFIG SET failed (possibly related to argument 'appendonly') - Unable to turn on AOF. Check server\
        logs." {r CONFIG SET appendonly yes}
    assert_equal {appendonly no} [r CONFIG GET appendonly]
    is_off
    assert_equal err [info_field aof_last_bgrewrite_status]
}

start_server {overrides {}} {
    test "A manifest that cannot be read is not written over" {
        r SET a 1
        file mkdir [file join [srv dir] appendonlydir]
        write_file [aof_path appendonly.aof.manifest] "file a/b seq 1 type b\n"
        assert_refused
        assert_match "*File can't be a path, just a filename*" [srv log]
        assert_equal "file a/b seq 1 type b\n" [manifest]
        file delete [aof_path appendonly.aof.manifest]
        r CONFIG SET appendonly yes
        is_on
    }

    test "A folder that cannot be made is an error of CONFIG SET, and nothing has changed" {
        r CONFIG SET appendonly no
        file delete -force [file join [srv dir] appendonlydir]
        write_file [file join [srv dir] appendonlydir] "a file"
        assert_refused
        r CONFIG SET appendfsync always
        assert_error "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled." {r WAITAOF 1 0 0}
        assert_match "*Can't open or create append-only dir [file join [srv dir] appendonlydir]: Not a directory*" [srv log]
    }

    test "One that is lost before the first rewrite begins is told, and tried again" {
        file delete [file join [srv dir] appendonlydir]
        r CONFIG SET rdb-key-save-delay $never
        r BGSAVE
        r CONFIG SET appendonly yes rdb-key-save-delay 0
        assert_equal {1 0 1} [list [info_field aof_enabled] [info_field aof_rewrite_in_progress] \
            [info_field aof_rewrite_scheduled]]
        assert_equal {0 0} [r WAITAOF 1 0 10]
        file delete -force [file join [srv dir] appendonlydir]
        write_file [file join [srv dir] appendonlydir] "a file"
        r BGSAVE CANCEL
        wait_for_condition 10 {[info_field aof_rewrites_consecutive_failures] == 3}
        assert_match "*Can't open or create append-only dir [file join [srv dir] appendonlydir]: Not a directory*" [srv log]
        assert_equal PONG [r PING]
        wait_for_condition 5 {[temporaries] eq ""}
        file delete [file join [srv dir] appendonlydir]
        r BGREWRITEAOF
        is_on
    }
}

# ---- Tries that fail ------------------------------------------------------------------------------------------------

start_server {overrides {appendfsync always auto-aof-rewrite-percentage 0}} {
    test "A child that is killed is followed by another one; after three there is a wait" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        for {set i 1} {$i <= 3} {incr i} {
            wait_for_condition 10 {[info_field aof_rewrites] == $i}
            started
            r INCR tries
            exec kill -KILL [child_pid]
            wait_for_condition 10 {[info_field aof_rewrites_consecutive_failures] == $i}
        }
        wait_for_condition 5 {[temporaries] eq ""}
        assert_equal {1 0 1 err} [list [info_field aof_enabled] [info_field aof_rewrite_in_progress] \
            [info_field aof_rewrite_scheduled] [info_field aof_last_bgrewrite_status]]
        assert_match "*The append-only file could not be enabled yet. The next attempt begins in 60 seconds.*" [srv log]
        r INCR tries
        r CONFIG SET rdb-key-save-delay 0
        r BGREWRITEAOF
        is_on
        r INCR tries
        after_kill {
            assert_equal 5 [r GET tries]
        }
    }
}

# Limits the size of files of the process, its log included.
proc limit_files {bytes} {
    exec prlimit --pid [srv pid] --fsize=$bytes:unlimited
}

foreach policy {always everysec} {
    start_server [list overrides [list appendfsync $policy auto-aof-rewrite-percentage 0]] {
        test "$policy: a full disk ends the try; clients hear nothing of it" {
            r SET a 1
            r CONFIG SET rdb-key-save-delay $never appendonly yes
            started
            r CONFIG SET rdb-key-save-delay 0
            limit_files 50000
            assert_equal OK [r SET large [string repeat x 100000]]
            wait_for_condition 20 {[info_field aof_rewrites_consecutive_failures] >= 1}
            assert_match "*Can't write the first AOF incr file: No space left on device.*" [srv log]
            assert_equal PONG [r PING]
            assert_equal OK [r SET b 2]
            assert_equal ok [info_field aof_last_write_status]
            limit_files unlimited
            is_on
            set digest [r DEBUG DIGEST]
            after_kill {
                assert_equal $digest [r DEBUG DIGEST]
            }
        }
    }
}

# ---- Meanwhile ------------------------------------------------------------------------------------------------------

start_server {overrides {appendfsync always}} {
    test "Other work on the dataset answers as beside any rewrite" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        assert_error "ERR Background append only file rewriting already in progress" {r BGREWRITEAOF}
        assert_error "ERR Another child process is active (AOF?): can't BGSAVE*" {r BGSAVE}
        assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN}
        assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN NOSAVE}
        exec kill -TERM [srv pid]
        wait_for_condition 5 {[string match "*Received SIGTERM*Writing initial AOF, can't exit.*" [srv log]]}
        assert_equal 1 [info_field aof_rewrite_in_progress]
        r CONFIG SET appendonly no rdb-key-save-delay 0
        is_off
    }

    test "What FLUSHALL and DEBUG RELOAD leave is what the log has" {
        r SET gone 1
        for {set i 0} {$i < 50} {incr i} {r SET key:$i $i}
        r CONFIG SET rdb-key-save-delay 20000 appendonly yes
        started
        exec kill -STOP [child_pid]
        r FLUSHALL
        r SET b 1
        r CONFIG SET rdb-key-save-delay 0
        r DEBUG RELOAD
        r SET c 1
        assert_equal 1 [info_field aof_rewrite_in_progress]
        exec kill -CONT [child_pid]
        is_on
        r SET d 1
        after_kill {
            assert_equal {b c d} [lsort [r KEYS *]]
        }
    }
}

start_server {overrides {}} {
    test "SHUTDOWN FORCE ends it and leaves nothing of it" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        catch {r SHUTDOWN FORCE}
        assert_equal 0 [wait_exit [srv dir] 10]
        assert_equal {} [temporaries]
        assert_equal {} [aof_files]
    }
}

# ---- DEBUG LOADAOF --------------------------------------------------------------------------------------------------

start_server {overrides {appendonly yes appendfsync always save "3600 1"}} {
    test "DEBUG LOADAOF brings back what the log has, and the log goes on" {
        r SET a 1
        r SELECT 3
        r RPUSH l x
        for {set i 0} {$i < 2000} {incr i} {r SET key:$i $i}
        set digest [r DEBUG DIGEST]
        set size [info_field aof_current_size]
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal $digest [r DEBUG DIGEST]
        assert_equal 0 [info_field rdb_changes_since_last_save]
        r SET b 2
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal 2 [r GET b]
        r DEL b
        assert {[info_field aof_current_size] < $size + 200}
        after_kill {
            assert_equal $digest [r DEBUG DIGEST]
        }
    }
}

start_server {overrides {appendonly yes appendfsync always}} {
    test "With the log off, or turning on, it loads the one that is there" {
        r SET a 1
        r CONFIG SET appendonly no
        r SET b 2
        r DEBUG LOADAOF
        assert_equal {1 (nil)} [r MGET a b]
        r SET b 2
        r CONFIG SET rdb-key-save-delay $never appendonly yes
        started
        r CONFIG SET rdb-key-save-delay 0
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal {1 (nil)} [r MGET a b]
        r SET c 3
        is_on
        after_kill {
            assert_equal {1 (nil) 3} [r MGET a b c]
        }
    }
}

start_server {overrides {}} {
    test "Without files DEBUG LOADAOF keeps the dataset; what is wrong in one leaves nothing" {
        r SET a 1
        assert_error "ERR Error trying to load the AOF files, check server logs." {r DEBUG LOADAOF}
        assert_equal 1 [r GET a]
        assert_equal 0 [file exists [file join [srv dir] appendonlydir]]
        r CONFIG SET appendonly yes
        is_on
        r CONFIG SET appendonly no
        r FUNCTION LOAD "#!lua name=one\nserver.register_function('f', function() return 1 end)"
        write_file [aof_path appendonly.aof.1.incr.aof] "no command"
        assert_error "ERR Error trying to load the AOF files, check server logs." {r DEBUG LOADAOF}
        assert_equal 0 [r DBSIZE]
        assert_equal {} [r FUNCTION LIST]
    }
}

start_server {overrides {appendonly yes appendfsync always aof-use-rdb-preamble no}} {
    test "DEBUG LOADAOF has the libraries of the log, and no other" {
        r FUNCTION LOAD "#!lua name=one\nserver.register_function('f', function() return 1 end)"
        r BGREWRITEAOF
        wait_for_condition 20 {[info_field aof_rewrite_in_progress] == 0}
        r FUNCTION LOAD "#!lua name=two\nserver.register_function('g', function() return 2 end)"
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal {1 2} [list [r FCALL f 0] [r FCALL g 0]]
        assert_equal 0 [regexp -all CRITICAL [server_log [srv dir]]]
        r CONFIG SET appendonly no
        r FUNCTION LOAD "#!lua name=three\nserver.register_function('h', function() return 3 end)"
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal 2 [llength [r FUNCTION LIST]]
    }
}

start_server {overrides {appendonly yes appendfsync always save "3600 1"}} {
    set incr [aof_path appendonly.aof.1.incr.aof]

    test "A load that fails and leaves nothing keeps the log as it was, until another one succeeds" {
        r SET a 1
        set good [read_file $incr]
        set broken "${good}no command"
        write_file $incr $broken
        assert_error "ERR Error trying to load the AOF files, check server logs." {r DEBUG LOADAOF}
        assert_equal {0 0} [list [r DBSIZE] [info_field aof_enabled]]
        assert_error "ERR WAITAOF cannot be used when numlocal is set but appendonly is disabled." {r WAITAOF 1 0 0}
        r SET lost 1
        assert_equal $broken [read_file $incr]
        write_file $incr $good
        assert_equal OK [r DEBUG LOADAOF]
        assert_equal {1 (nil)} [r MGET a lost]
        is_on
        write_file [srv dir]/dump.rdb "REDIS0011no snapshot"
        assert_error "ERR Error trying to load the RDB dump, check server logs." {r DEBUG RELOAD NOSAVE}
        assert_equal {0 0} [list [r DBSIZE] [info_field aof_enabled]]
        restart_server
        assert_equal {1 (nil)} [r MGET a lost]
        assert_equal "REDIS0011no snapshot" [read_file [srv dir]/dump.rdb]
    }

    test "CONFIG SET appendonly no and yes end that, too" {
        assert_error "ERR Error trying to load the RDB dump, check server logs." {r DEBUG RELOAD NOSAVE}
        r CONFIG SET appendonly yes
        assert_equal 0 [info_field aof_enabled]
        r CONFIG SET appendonly no
        is_off
        r CONFIG SET appendonly yes
        is_on
        r SET b 1
        r CONFIG SET save ""
        restart_server
        assert_equal {(nil) 1} [r MGET a b]
    }
}
