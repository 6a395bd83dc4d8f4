# aof.tcl -- the append-only file: its contents, loading it, and the replies to clients when writing fails.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set on {appendonly yes appendfsync always aof-use-rdb-preamble no}

# Returns a command in the format of the file.
proc resp {args} {
    set out "*[llength $args]\r\n"
    foreach word $args {
        append out "\$[string length $word]\r\n$word\r\n"
    }
    return $out
}

proc resp_all {commands} {
    set out ""
    foreach command $commands {
        append out [resp {*}$command]
    }
    return $out
}

proc aof_dir {dir} {
    return [file join $dir appendonlydir]
}

# Returns the path of the file that the running server is writing.
proc last_incr {} {
    return [lindex [lsort -dictionary [glob [aof_dir [srv dir]]/*.incr.aof]] end]
}

proc incr_text {} {
    return [read_file [last_incr]]
}

# Waits until the file contains exactly TEXT.
proc incr_is {text} {
    set limit [patience::start 5 [server_pids]]
    while {[incr_text] ne $text && ![patience::over $limit]} {
        after 5
    }
    assert_equal $text [incr_text]
}

# Makes a directory with a log: FILES is a list of name content; with a manifest of them unless one is given.
proc make_log {files {manifest ""}} {
    set dir [make_server_dir]
    file mkdir [aof_dir $dir]
    foreach {name content} $files {
        write_file [aof_dir $dir]/$name $content
        if {[regexp {\.(\d+)\.(base|incr)\.} $name -> seq kind]} {
            append lines "file $name seq $seq type [string index $kind 0]\n"
        }
    }
    if {$manifest eq "" && [info exists lines]} {
        set manifest $lines
    }
    if {$manifest ne "none"} {
        write_file [aof_dir $dir]/appendonly.aof.manifest $manifest
    }
    return $dir
}

set base appendonly.aof.1.base.aof
set incr appendonly.aof.1.incr.aof

proc launch_args {dir args} {
    set srv::log_port [free_port]
    return [list --port $srv::log_port --dir $dir --save "" --appendonly yes --aof-use-rdb-preamble no {*}$args]
}

# Starts a server on DIR, runs BODY with it, and stops it.
proc with_log {dir settings body} {
    uplevel 1 [list start_server [list args [list --dir $dir --appendonly yes --aof-use-rdb-preamble no {*}$settings]] \
        $body]
}

# Starts a server on DIR, which must exit with code 1 and log TEXT.
proc refuses {dir text args} {
    lassign [run_to_end [launch_args $dir {*}$args] $dir] code output
    assert_equal 1 $code
    assert_match "*$text*" $output
}

# ---- Writing --------------------------------------------------------------------------------------------------

start_server [list overrides $on] {
    test "A start without files makes a base, an increment and the manifest" {
        assert_equal "file $base seq 1 type b\nfile $incr seq 1 type i\n" \
            [read_file [aof_dir [srv dir]]/appendonly.aof.manifest]
        assert_equal "" [incr_text]
        assert_equal 1 [info_field aof_enabled]
        assert_equal 0 [info_field aof_current_size]
    }

    test "Files and folder may be read and written as the umask has it" {
        r SAVE
        set umask [scan [exec sh -c umask] %o]
        proc rights_of {path} {return [expr {[file attributes $path -permissions] & 0777}]}
        assert_equal [expr {0755 & ~$umask}] [rights_of [aof_dir [srv dir]]]
        foreach path [list [file join [srv dir] dump.rdb] {*}[glob -directory [aof_dir [srv dir]] *]] {
            assert_equal [expr {0644 & ~$umask}] [rights_of $path]
        }
    }

    test "Commands are written as they came, with SELECT where the database changes" {
        r set k v
        r get k
        r DEL nothing
        r SELECT 9
        r Incr n
        incr_is [resp_all {{SELECT 0} {set k v} {SELECT 9} {Incr n}}]
        r SELECT 0
    }

    test "A transaction is written between MULTI and EXEC, MULTI before the SELECT" {
        set before [incr_text]
        r MULTI
        r SET a 1
        r SET b 2
        r EXEC
        incr_is $before[resp_all {MULTI {SELECT 0} {SET a 1} {SET b 2} EXEC}]
    }

    test "One with one change is written bare, one without any not at all" {
        set before [incr_text]
        r MULTI
        r GET a
        r SET a 2
        r EXEC
        r MULTI
        r GET a
        r EXEC
        incr_is $before[resp_all {{SET a 2}}]
    }

    test "What was written is there after kill -9" {
        r RPUSH list a b c
        set digest [r DEBUG DIGEST]
        exec kill -KILL [srv pid]
        wait_exit [srv dir] 5
        expect_exit 137
        start_server [list args [list --dir [srv dir] {*}{--appendonly yes}]] {
            assert_equal $digest [r DEBUG DIGEST]
            r SELECT 9
            assert_equal 1 [r GET n]
        }
    }
}

start_server [list overrides [list {*}$on aof-timestamp-enabled yes]] {
    test "Timestamps stand before what was executed in their second, once" {
        r SET a 1
        r SET b 2
        assert_match "#TS:1*\r\n[resp SELECT 0][resp SET a 1]*[resp SET b 2]" [incr_text]
        assert_equal 1 [expr {[regexp -all {#TS:} [incr_text]] <= 2}]
        after 1100
        r MULTI
        r SET c 1
        r SET d 1
        r EXEC
        assert_match "*#TS:1*\r\n[resp MULTI][resp SET c 1][resp SET d 1][resp EXEC]" [incr_text]
    }
}

foreach policy {always everysec no} {
    start_server [list overrides [list appendonly yes aof-use-rdb-preamble no appendfsync $policy]] {
        test "$policy: a stop and a start keep everything" {
            for {set i 0} {$i < 2000} {incr i} {
                [default_client] send SET key:$i [string repeat $i 20]
            }
            for {set i 0} {$i < 2000} {incr i} {
                [default_client] reply
            }
            r ZADD z 1 a 2 b
            r HSET h f v
            r PEXPIRE h 1000000
            set digest [r DEBUG DIGEST]
            restart_server
            assert_equal $digest [r DEBUG DIGEST]
            r SET after restart
            restart_server
            assert_equal restart [r GET after]
        }
    }
}

start_server [list overrides [list appendonly yes aof-use-rdb-preamble no appendfsync everysec]] {
    test "The policy can be changed while there is a load" {
        with_clients {a b} {
            for {set i 0} {$i < 300} {incr i} {
                r CONFIG SET appendfsync [lindex {always no everysec} [expr {$i % 3}]]
                $a send SET k $i
                $b send GET k
                assert_equal OK [$a reply]
                $b reply
            }
        }
        set digest [r DEBUG DIGEST]
        restart_server
        assert_equal $digest [r DEBUG DIGEST]
    }

    test "Turned off it is complete, and not written to any more" {
        r SET last one
        r CONFIG SET appendonly no
        assert_equal 0 [info_field aof_enabled]
        set text [incr_text]
        assert_match "*[resp SET last one]" $text
        r SET more yes
        after 50
        assert_equal $text [incr_text]
    }
}

start_server [list overrides $on] {
    test "always: a pipeline gets all its replies in their order" {
        with_clients {a b} {
            for {set i 0} {$i < 5000} {incr i} {
                $a send INCR n
                if {$i % 10 == 0} {
                    $b send INCR m
                }
            }
            for {set i 1} {$i <= 5000} {incr i} {
                assert_equal $i [$a reply]
            }
            for {set i 1} {$i <= 500} {incr i} {
                assert_equal $i [$b reply]
            }
        }
    }

    test "always: a client that quits gets what it is owed, one that vanishes harms nobody" {
        with_clients {a b} {
            $a send SET q 1
            $a send QUIT
            assert_equal OK [$a reply]
            assert_equal OK [$a reply]
            for {set i 0} {$i < 100} {incr i} {
                $b send SET v $i
            }
        }
        r SET x y
        assert_equal y [r GET x]
    }

    test "always: clients move between threads with replies that wait" {
        need_config io-threads
        with_clients {a b c} {
            foreach threads {1 3 2 4} {
                r CONFIG SET io-threads $threads
                foreach client [list $a $b $c] {
                    for {set i 0} {$i < 200} {incr i} {
                        $client send APPEND $client$threads x
                    }
                }
                foreach client [list $a $b $c] {
                    for {set i 1} {$i <= 200} {incr i} {
                        assert_equal $i [$client reply]
                    }
                }
            }
        }
    }
}

# ---- Loading the files ------------------------------------------------------------------------------------------

set two [resp_all {{SELECT 0} {SET a 1} {RPUSH l x y}}]

test "Base and increments are loaded in their order" {
    set dir [make_log [list $base $two appendonly.aof.1.incr.aof [resp_all {{SELECT 1} {SET b 2}}] \
        appendonly.aof.2.incr.aof [resp_all {{SET c 3} {APPEND a 2}}]]]
    with_log $dir {} {
        assert_equal 12 [r GET a]
        assert_equal 3 [r GET c]
        r SELECT 1
        assert_equal 2 [r GET b]
        r SELECT 0
        assert_equal 0 [info_field rdb_changes_since_last_save]
        assert_equal [string length $two] [info_field aof_base_size]
    }
}

test "A tail that is cut anywhere is taken off, and what is written then is there at the next start" {
    set whole [resp_all {{SELECT 0} {SET a 1}}]
    set tail [resp_all {MULTI {SET b 2} {SET c 3} EXEC}]
    set step [expr {$srv::slow > 1 ? 17 : 5}]
    for {set cut 1} {$cut < [string length $tail]} {incr cut $step} {
        set dir [make_log [list $base "" $incr $whole[string range $tail 0 $cut-1]]]
        with_log $dir {} {
            assert_equal {1 (nil) (nil)} [r MGET a b c]
            assert_equal $whole [read_file [aof_dir $dir]/$incr]
            r SET d 4
            if {$cut == 1} {
                assert_match "*short read while loading the AOF file $incr*Truncating the AOF $incr at offset\
                    [string length $whole] *loaded anyway because aof-load-truncated is enabled*" [srv log]
            }
            if {$cut > 20} {
                assert_match "*Revert incomplete MULTI/EXEC transaction in AOF file $incr*" [srv log]
            }
        }
        with_log $dir {} {
            assert_equal {1 (nil) (nil) 4} [r MGET a b c d]
        }
    }
}

test "A tail that is cut is refused with aof-load-truncated no" {
    set dir [make_log [list $base "" $incr [string range $two 0 end-3]]]
    refuses $dir "Unexpected end of file reading the append only file $incr. You can: 1) Make a backup of your AOF file,\
        then use ./valkey-check-aof --fix <filename.manifest>. 2) Alternatively you can set the 'aof-load-truncated'\
        configuration option to yes and restart the server." --aof-load-truncated no
    assert_equal [string range $two 0 end-3] [read_file [aof_dir $dir]/$incr]
}

# A loss of power leaves them on ext4 and XFS, where the length of a file reaches the disk before its content does.
test "Zeros at the end of the last file count as missing, also within a command" {
    foreach {tail zeros} [list "" 1 "" 4096 "" 100000 [string range [resp SET b 2] 0 11] 4096 \
                             "*3\r\n\$3\r\nSET\r\n\$1\r\nb\r\n\$10000\r\n" 4096 [resp_all {MULTI {SET b 2}}] 512] {
        set dir [make_log [list $base "" $incr $two$tail[string repeat "\0" $zeros]]]
        refuses $dir "Unexpected end of file reading the append only file $incr." --aof-load-truncated no
        with_log $dir {} {
            assert_equal {1 (nil)} [r MGET a b]
            assert_equal $two [read_file [aof_dir $dir]/$incr]
            assert_match "*The AOF file $incr ends with $zeros zero bytes,*Truncating the AOF $incr at offset\
                [string length $two] *" [srv log]
            r SET d 4
        }
        with_log $dir {} {
            assert_equal {1 (nil) 4} [r MGET a b d]
        }
    }
}

test "A file that is all zeros is an empty one" {
    set dir [make_log [list $base $two $incr [string repeat "\0" 5000]]]
    with_log $dir {} {
        assert_equal {1 (nil)} [r MGET a b]
        assert_equal 0 [file size [aof_dir $dir]/$incr]
    }
}

test "Zeros within a value and before other bytes are data" {
    set value [string repeat "\0" 5000]
    set dir [make_log [list $base "" $incr $two[resp SET z $value]]]
    with_log $dir {} {
        assert_equal $value [r GET z]
        assert_no_match "*zero bytes*" [srv log]
    }
}

test "A file before the last one that is cut ends the start" {
    set dir [make_log [list $base "" $incr [string range $two 0 end-3] appendonly.aof.2.incr.aof [resp SET b 2]]]
    refuses $dir "Fatal error: the truncated file is not the last file"
}

test "What is no command ends the start" {
    foreach bad {"SET a 1\r\n" "*1\n\$4\nPING\n" "*0\r\n" "\0x\0\0" "*1\r\n+PING\r\n" "*2\r\n\$4\r\nPINGxx"} {
        set dir [make_log [list $base "" $incr $two$bad]]
        refuses $dir "Bad file format reading the append only file $incr: make a backup of your AOF file, then use\
            ./valkey-check-aof --fix <filename.manifest>"
        assert_equal $two$bad [read_file [aof_dir $dir]/$incr]
    }
    set dir [make_log [list $base "" $incr "#[string repeat x 1100]\r\n"]]
    refuses $dir "Bad file format"
}

set renamed {rename-command {SET FOO} rename-command {MULTI M} rename-command {EXEC E} rename-command {INCR ""}}

start_server [list overrides [list {*}$on {*}$renamed]] {
    test "rename-command: the log has the names that clients use, and what the server writes by its own names" {
        r FOO a 1
        r GETSET a 2
        r M
        r FOO b 1
        r foo c 1
        r E
        incr_is [resp_all {{SELECT 0} {FOO a 1} {SET a 2} MULTI {FOO b 1} {foo c 1} EXEC}]
    }

    test "rename-command: the log is read with both, also of a command that clients do not have" {
        write_file [last_incr] [incr_text][resp INCR a]
        restart_server
        assert_equal {3 1 1} [r MGET a b c]
        assert_error {ERR unknown command 'SET'*} {r SET a 1}
        assert_error {ERR unknown command 'INCR'*} {r INCR a}
    }

    test "rename-command: without it the names are unknown" {
        set dir [make_log [list $base "" $incr [incr_text]]]
        refuses $dir "Error reading the append only file $incr, error: unknown command 'FOO', with args beginning\
            with: 'a' '1' "
    }
}

test "A value that was let in when rdb-version-check was relaxed is there again" {
    start_server {overrides {appendonly yes}} {
        set foreign [binary format H* "0001615100190b9b79ecfbf3c9"] ;# of a version after the newest one
        r CONFIG SET rdb-version-check relaxed
        assert_equal OK [r RESTORE a 0 $foreign]
        r CONFIG SET rdb-version-check strict
        assert_error "*DUMP payload version or checksum are wrong*" {r RESTORE b 0 $foreign}
        restart_server
        assert_equal a [r GET a]
    }
}

test "A command that this server does not have ends the start" {
    foreach {command error} {
        {FOO x} "unknown command 'FOO', with args beginning with: 'x' "
        {XGROUP FOO k} "unknown subcommand 'FOO'. Try XGROUP HELP."
        {SET k} "wrong number of arguments for 'set' command"
    } {
        refuses [make_log [list $base "" $incr $two[resp {*}$command]]] \
            "Error reading the append only file $incr, error: $error"
        refuses [make_log [list $base "" $incr [resp MULTI][resp {*}$command][resp EXEC]]] $error
    }
}

test "Of a snapshot and a log one is loaded, and the log says of the other that it is not" {
    set dir [make_server_dir]
    start_server [list args [list --dir $dir --appendonly no]] {
        r SET a 1
        r SAVE
        assert_no_match "*not loaded*" [srv log]
    }
    with_log $dir {} {
        assert_equal 0 [r DBSIZE]
        assert_match "*dump.rdb was not loaded because appendonly is yes and there is no append-only file yet.*" [srv log]
        r SET b 1
    }
    with_log $dir {} {
        assert_equal b [r KEYS *]
        assert_no_match "*not loaded*" [srv log]
    }
    start_server [list args [list --dir $dir --appendonly no]] {
        assert_equal a [r KEYS *]
        assert_match "*The append-only file in appendonlydir was not loaded because appendonly is no*" [srv log]
    }
}

test "A file of the manifest that is not there ends the start" {
    refuses [make_log [list $base ""] "file $base seq 1 type b\nfile $incr seq 1 type i\n"] \
        "Unable to obtain the AOF file $incr length. stat: No such file or directory"
}

test "A manifest that is wrong ends the start" {
    refuses [make_log [list $base ""] "file a/b seq 1 type b\n"] "*FATAL AOF MANIFEST FILE ERROR*Reading the manifest\
        file, at line 1*>>> 'file a/b seq 1 type b'*File can't be a path, just a filename"
    set dir [make_log [list $base ""] "#"]
    write_file [aof_dir $dir]/appendonly.aof.manifest ""
    refuses $dir "Found an empty AOF manifest"
}

test "What does not fit is told and what follows is executed" {
    set dir [make_log [list $base "" $incr [resp_all {EXEC {SELECT 0} {SET a 1} {LPUSH a x} {SELECT 99} {SET b 2}
        {EVAL {return redis.call("RPUSH", "a", 1)} 0} MULTI MULTI {SET c 3} EXEC PING}]]]
    with_log $dir {--hide-user-data-from-log no} {
        assert_equal {1 2 3} [r MGET a b c]
        set told [lsearch -all -inline [split [srv log] \n] "*== CRITICAL ==*"]
        set end "' after processing the command '"
        foreach line $told want [list "EXEC without MULTI${end}exec'" "WRONGTYPE Operation against a key holding the wrong\
                kind of value${end}lpush'" "DB index is out of range${end}select'" "WRONGTYPE *${end}eval'"] {
            assert_match "*This server is sending an error to its AOF-loading-client: '$want" $line
        }
    }
    with_log $dir {} {
        assert_match "*AOF-loading-client: '\\*redacted\\*' after processing the command 'lpush'*" [srv log]
        assert_no_match "*WRONGTYPE*" [srv log]
    }
}

test "... or ends the start, with propagation-error-behavior panic; panic-on-replicas is for replicas only" {
    set dir [make_log [list $base "" $incr [resp_all {{SELECT 0} {SET a 1} {LPUSH a x} {SET b 2}}]]]
    refuses $dir "== CRITICAL ==*after processing the command 'lpush'*propagation-error-behavior" \
        --propagation-error-behavior panic
    with_log $dir {--propagation-error-behavior panic-on-replicas} {
        assert_equal {1 2} [r MGET a b]
    }
}

test "An annotation is skipped; one that is cut at the end is taken off" {
    set text "#TS:1\r\n$two#TS:2\r\n"
    set dir [make_log [list $base "" $incr "$text#TS:3"]]
    with_log $dir {} {
        assert_equal 1 [r GET a]
        assert_equal $text [read_file [aof_dir $dir]/$incr]
    }
}

test "Keys whose time is over stay until the log removes them" {
    set dir [make_log [list $base "" $incr [resp_all {{SELECT 0} {SET a 1 PXAT 1000} {PERSIST a} {SET b 1 PXAT 1000}
        {RENAME b c}}]]]
    with_log $dir {} {
        assert_equal 1 [r GET a]
        assert_equal (nil) [r GET c]
    }
}

test "An old single file becomes the base" {
    set dir [make_server_dir]
    write_file $dir/appendonly.aof $two
    with_log $dir {} {
        assert_equal 1 [r GET a]
        assert_match "*Successfully migrated an old-style AOF file (appendonly.aof) into the AOF directory\
            (appendonlydir).*" [srv log]
        assert_equal 0 [file exists $dir/appendonly.aof]
        assert_match "file appendonly.aof seq 1 type b\n*" [read_file [aof_dir $dir]/appendonly.aof.manifest]
        r SET b 2
    }
    write_file $dir/appendonly.aof [resp SET not this]
    with_log $dir {} {
        assert_equal {1 2 (nil)} [r MGET a b not]
    }
}

test "A crash between the manifest and the move of an old file is mended" {
    set dir [make_log {} "file appendonly.aof seq 1 type b\n"]
    write_file $dir/appendonly.aof $two
    with_log $dir {} {
        assert_equal 1 [r GET a]
        assert_equal $two [read_file [aof_dir $dir]/appendonly.aof]
    }
}

test "History is deleted" {
    set dir [make_log [list $base $two $incr "" appendonly.aof.9.incr.aof junk] \
        "file $base seq 1 type b\nfile appendonly.aof.9.incr.aof seq 9 type h\nfile $incr seq 1 type i\n"]
    with_log $dir {} {
        wait_for_condition 5 {![file exists [aof_dir $dir]/appendonly.aof.9.incr.aof]}
        wait_for_condition 5 {![string match *history* [read_file [aof_dir $dir]/appendonly.aof.manifest]]}
        assert_equal 1 [r GET a]
    }
}

# ---- A snapshot as base ---------------------------------------------------------------------------------------------

start_server {overrides {appendonly yes appendfsync always}} {
    test "With aof-use-rdb-preamble the first base is an empty snapshot" {
        assert_match "VALKEY080*aof-base*" [read_file [aof_dir [srv dir]]/appendonly.aof.1.base.rdb]
        assert_equal "file appendonly.aof.1.base.rdb seq 1 type b\nfile $incr seq 1 type i\n" \
            [read_file [aof_dir [srv dir]]/appendonly.aof.manifest]
        r SET a 1
        restart_server
        assert_equal 1 [r GET a]
        assert_equal 0 [info_field loading]
    }

    test "A base that is a snapshot is loaded, and its keys do not expire before the log has said more" {
        r SET kept 1 PX 1
        r SET a 2
        set dir [make_server_dir]
        file copy [aof_dir [srv dir]] [aof_dir $dir]
        with_log $dir {} {
            assert_equal {2 (nil)} [r MGET a kept]
        }
    }
}

test "An old single file that begins with a snapshot is loaded to its end" {
    set dir [make_server_dir]
    start_server {overrides {appendonly yes}} {
        file copy [aof_dir [srv dir]]/appendonly.aof.1.base.rdb $dir/appendonly.aof
    }
    write_file $dir/appendonly.aof [read_file $dir/appendonly.aof]$two
    with_log $dir {} {
        assert_equal 1 [r GET a]
        assert_match "*Reading the remaining AOF tail...*" [srv log]
    }
}

test "A base that is a snapshot and is cut ends the start" {
    set dir [make_server_dir]
    start_server {overrides {appendonly yes}} {
        file copy [aof_dir [srv dir]] [aof_dir $dir]
    }
    set name [aof_dir $dir]/appendonly.aof.1.base.rdb
    set snapshot [read_file $name]
    write_file $name [string range $snapshot 0 end-4]
    refuses $dir "Error reading the RDB preamble of the AOF file appendonly.aof.1.base.rdb, AOF loading aborted"
    assert_equal [string range $snapshot 0 end-4] [read_file $name]
}

# ---- A disk that does not take it ---------------------------------------------------------------------------------

# Limits the size of files of the process, its log included; the writing thread gets an error and no signal.
proc limit_files {bytes} {
    exec prlimit --pid [srv pid] --fsize=$bytes:unlimited
}

start_server {overrides {appendonly yes aof-use-rdb-preamble no appendfsync everysec}} {
    test "Writes and PING are refused while the file cannot be written, and work again when it can" {
        r SET before 1
        limit_files 20000
        r SET lost [string repeat x 30000]
        wait_for_condition 10 {[info_field aof_last_write_status] eq "err"}
        assert_error "MISCONF Errors writing to the AOF file: No space left on device" {r SET a 1}
        assert_error "MISCONF Errors writing to the AOF file: No space left on device" {r PING}
        assert_equal 1 [r GET before]
        r MULTI
        catch {r SET a 1}
        assert_error "EXECABORT*" {r EXEC}
        assert_equal 1 [expr {[info_field aof_buffer_length] > 10000}]
        assert_equal 1 [expr {[info_field mem_not_counted_for_evict memory] > 10000}]
        assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN}
        assert_match "*Can't write all commands to the append-only file in *: No space left on device*Writing the append-only file failed, can't exit.*" [srv log]
        exec kill -TERM [srv pid]
        wait_for_condition 10 {[string match "*Errors trying to shut down the server.*" [srv log]]}
        limit_files unlimited
        wait_for_condition 10 {[info_field aof_last_write_status] eq "ok"}
        assert_match "*AOF write error looks solved. The server can write again.*" [srv log]
        r SET after 2
        set digest [r DEBUG DIGEST]
        restart_server
        assert_equal $digest [r DEBUG DIGEST]
        assert_equal [string repeat x 30000] [r GET lost]
    }
}

start_server {overrides {appendonly yes aof-use-rdb-preamble no appendfsync everysec}} {
    test "A reply that waits for a write is sent when the write fails" {
        # After a command that takes 10 ms replies wait for the write of the same iteration.
        limit_files 20000
        [default_client] pipeline [list [list SET lost [string repeat x 30000]] {DEBUG SLEEP 0.01}]
        assert_equal {OK OK} [[default_client] replies 2]
        assert_error "MISCONF*" {r SET a 1}
        limit_files unlimited
    }
}

foreach word {NOSAVE FORCE} {
    start_server {overrides {appendonly yes aof-use-rdb-preamble no appendfsync everysec}} {
        test "SHUTDOWN $word ends a server whose file cannot be written, and what is not in it is lost" {
            r SET before 1
            assert_equal {1 0} [r WAITAOF 1 0 10000]
            limit_files 20000
            r SET lost [string repeat x 30000]
            wait_for_condition 10 {[info_field aof_last_write_status] eq "err"}
            assert_error "ERR Errors trying to SHUTDOWN. Check logs." {r SHUTDOWN NOW}
            catch {r SHUTDOWN $word}
            assert_equal 0 [wait_exit [srv dir] 10]
            assert_match "*Can't write the rest of the append-only file in *: No space left on device*" [srv log]
            restart_server
            assert_equal before [r KEYS *]
        }
    }
}

start_server {overrides {appendonly yes aof-use-rdb-preamble no appendfsync always}} {
    test "always: an error ends the process, and the write gets no reply" {
        r SET before 1
        limit_files 20000
        expect_exit 1
        assert_error * {r SET lost [string repeat x 30000]}
        assert_equal 1 [wait_exit [srv dir] 10]
        assert_match "*Can't recover from AOF write error when the AOF fsync policy is 'always'. Exiting...*" [srv log]
    }
}

# Messages to others because of a write: each listens on a client of its own, and must get nothing for a lost write. Two
# or more clients of a kind get the same bytes in another way than a single one.
foreach {how listen write} {
    "a keyspace event" {SUBSCRIBE __keyevent@0__:set} {{SET lost %s}}
    "a pattern of events" {PSUBSCRIBE __key*} {{SET lost %s}}
    "a message" {SUBSCRIBE news} {MULTI {SET lost %s} {PUBLISH news lost} EXEC}
    "an invalidation" {CLIENT TRACKING ON BCAST} {{SET lost %s}}
    "what MONITOR shows" {MONITOR} {{SET lost %s}}
    "the end of a wait" {BLPOP lost other 0} {{RPUSH lost %s %s}}
} {
    foreach listeners {1 3} {
        start_server {overrides {appendonly yes aof-use-rdb-preamble no appendfsync always
            notify-keyspace-events KEA}} {
            test "always: nobody hears of a write that is lost, $listeners by $how" {
                limit_files 20000
                expect_exit 1
                with_clients {a b c writer} {
                    set heard [lrange [list $a $b $c] 0 $listeners-1]
                    foreach client $heard {
                        $client HELLO 3
                    }
                    foreach client $heard {
                        if {[lindex $listen 0] eq "BLPOP"} {
                            waits $client {*}$listen
                        } else {
                            $client raw {*}$listen
                        }
                    }
                    foreach command $write {
                        append pipeline [resp {*}[string map [list %s [string repeat x 30000]] $command]]
                    }
                    catch {$writer write $pipeline} ;# the server may have exited before all of it is written
                    foreach client $heard {
                        assert_equal "" [$client raw_until_eof]
                    }
                    set told [$writer raw_until_eof]
                    if {"EXEC" in $write} {
                        regsub {^\+OK\r\n(\+QUEUED\r\n)*} $told "" told ;# nothing is written before EXEC
                    }
                    assert_equal "" $told
                }
                assert_equal 1 [wait_exit [srv dir] 10]
                unset pipeline
            }
        }
    }
}

start_server {overrides {appendonly yes appendfsync always notify-keyspace-events KEA}} {
    test "always: events, messages and replies keep their order when they wait" {
        with_clients {a b c writer} {
            foreach client [list $a $b $c] {
                $client SUBSCRIBE news
                $client SUBSCRIBE __keyevent@0__:incrby
            }
            for {set i 1} {$i <= 500} {incr i} {
                $writer send INCR n
                $writer send PUBLISH news $i
                if {$i % 7 == 0} {
                    $a send PING $i
                }
            }
            for {set i 1} {$i <= 500} {incr i} {
                assert_equal $i [$writer reply]
                assert_equal 3 [$writer reply]
            }
            foreach client [list $a $b $c] {
                set pongs 0
                for {set i 1} {$i <= 500} {incr i} {
                    foreach want [list "message __keyevent@0__:incrby n" "message news $i"] {
                        set got [$client reply]
                        while {[lindex $got 0] eq "pong"} {
                            assert_equal [incr pongs 7] [lindex $got 1]
                            set got [$client reply]
                        }
                        assert_equal $want $got
                    }
                }
            }
        }
    }
}

start_server {overrides {appendonly yes appendfsync always maxmemory-policy allkeys-lru}} {
    test "What a busy moment has put into the log takes no room from the dataset" {
        for {set i 0} {$i < 50} {incr i} {
            r SET key:$i [string repeat x 2000]
        }
        r CONFIG SET maxmemory [expr {[info_field used_memory memory] + 500000}]
        with_clients c {
            $c pipeline [lrepeat 2000 [list SETRANGE key:0 0 [string repeat y 2000]]]
            assert_equal [lrepeat 2000 2000] [$c replies 2000]
        }
        assert_equal {50 0} [list [r DBSIZE] [info_field evicted_keys stats]]
    }
}
