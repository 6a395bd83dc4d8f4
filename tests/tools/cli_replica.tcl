# cli_replica.tcl -- valkey-cli as a replica: --rdb, --functions-rdb, --replica.
#
# The program in the folder of the server binary is tested. A fake server sends data that no server sends, or rarely.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

source [file join $support cli.tcl]
set folder [file join $srv::root cli-replica]
set out $folder/out.rdb
set mark 0123456789abcdef0123456789abcdef01234567

proc cli {args} {
    return [cli_at [srv port] {*}$args]
}

proc bytes_of_stdout {args} {
    set channel [open [list |$::cli {*}$args 2>/dev/null] rb]
    set bytes [read $channel]
    close $channel
    return $bytes
}

# Makes an empty folder, with an old file if CONTENT is given.
proc prepare {{content ""}} {
    file delete -force $::folder
    file mkdir $::folder
    if {$content ne ""} {
        write_file $::out $content
    }
}

proc files {} {
    return [lsort [glob -nocomplain -tails -directory $::folder *]]
}

proc success {bytes} {
    return [list 0 "" "Transfer finished with success after $bytes bytes\n"]
}

# Return a snapshot as a server sends it, in two formats.
proc marked {snapshot} {
    return "\$EOF:$::mark\r\n$snapshot$::mark"
}

proc counted {snapshot} {
    return "\$[string length $snapshot]\r\n$snapshot"
}

# Runs BODY with a server that replies to SYNC with `answer`, at `port`, with its `log`.
proc with_primary {rules body} {
    set ::pieces [file join $srv::root cli-replica-pieces]
    lassign [fake_server {*}$rules sync "pieces $::pieces"] ::port pid ::log
    try {
        uplevel 1 $body
    } finally {
        exec kill $pid
    }
}

proc answer {args} {
    set words {}
    foreach piece $args {
        if {$piece ne "close"} {
            set piece [binary encode hex $piece]
        }
        lappend words $piece
    }
    write_file $::pieces $words
}

# Starts valkey-cli and returns a channel.
proc cli_begins {port args} {
    set channel [open [list |$::cli -p $port {*}$args 2>@1] r]
    fconfigure $channel -blocking 0 -translation binary
    set ::said ""
    return $channel
}

proc says {channel} {
    return [append ::said [read $channel]]
}

# Ends it by a signal; returns how it ended.
proc cli_ends {channel signal} {
    exec kill -$signal [pid $channel]
    fconfigure $channel -blocking 1
    catch {close $channel} message options
    return [lrange [dict get $options -errorcode] 0 0][lrange [dict get $options -errorcode] 2 2]
}

proc one_of_each_type {} {
    r SET string [string repeat x 5000]
    r SET "bin\x00\xff\r\n" "\x00\x01\xfe"
    foreach command {{RPUSH list a b c} {HSET hash f v g w} {SADD set a b c d} {ZADD zset 1 a} {XADD stream 1-1 f v}} {
        need_command [lindex $command 0]
        r {*}$command
    }
    r SELECT 3
    r SET other 1 EX 1000
    r SELECT 0
    r FUNCTION LOAD REPLACE "#!lua name=lib\nserver.register_function('f', function() return 1 end)"
}

# Makes the server load FILE instead of its dataset.
proc take_snapshot_file {path} {
    file copy -force $path [config_value dir]/[config_value dbfilename]
    r DEBUG RELOAD NOSAVE
}

start_server {each {r FLUSHALL; r FUNCTION FLUSH} overrides {repl-diskless-sync-delay 0 unixsocket cli.sock} \
    tags no-persist} {
    if {![file executable $cli]} {
        test "valkey-cli is there" {skip "no $cli"}
        return
    }

    # ---- A server's dataset -----------------------------------------------------------------------------------

    test "--rdb saves the dataset" {
        prepare
        one_of_each_type
        set digest [r DEBUG DIGEST]
        lassign [cli --rdb $out] code text err
        assert_equal [success [file size $out]] [list $code $text $err]
        assert_equal {out.rdb} [files]
        assert_match "*\\\[info\\\] 8 keys read*" [exec [file dirname $srv::binary]/valkey-check-rdb $out]
        r FLUSHALL
        r FUNCTION FLUSH
        take_snapshot_file $out
        assert_equal $digest [r DEBUG DIGEST]
        assert_match "*lib*" [r FUNCTION LIST]
    }

    test "--rdb saves the dataset that a server sends from a file" {
        prepare
        one_of_each_type
        set digest [r DEBUG DIGEST]
        with_config {repl-diskless-sync no} {
            assert_equal 0 [lindex [cli --rdb $out] 0]
        }
        r FLUSHALL
        take_snapshot_file $out
        assert_equal $digest [r DEBUG DIGEST]
    }

    test "--rdb - writes it to stdout, and nothing else" {
        one_of_each_type
        set bytes [bytes_of_stdout -p [srv port] --rdb -]
        prepare $bytes
        set digest [r DEBUG DIGEST]
        r FLUSHALL
        take_snapshot_file $out
        assert_equal $digest [r DEBUG DIGEST]
        assert_match "REDIS0011*\xff????????" $bytes
    }

    test "--functions-rdb saves the functions only" {
        prepare
        one_of_each_type
        assert_equal 0 [lindex [cli --functions-rdb $out] 0]
        assert_no_match "*string*" [read_file $out]
        r FLUSHALL
        r FUNCTION FLUSH
        take_snapshot_file $out
        assert_equal 0 [r DBSIZE]
        assert_match "*lib*" [r FUNCTION LIST]
    }

    test "Fields that expire need the newer format, and get it" {
        prepare
        need_command HEXPIRE
        r HSET hash f v g w
        r HEXPIRE hash 1000 FIELDS 1 f
        lassign [cli --rdb $out] code text err
        assert_equal 0 $code
        assert_match "VALKEY*" [read_file $out]
        r FLUSHALL
        take_snapshot_file $out
        assert_between 900 1000 [lindex [r HTTL hash FIELDS 1 f] 0]
    }

    test "A replica without its primary has nothing to give" {
        prepare before
        r REPLICAOF 127.0.0.1 1
        foreach mode [list "--rdb $out" "--functions-rdb $out" --replica] {
            assert_equal [list 1 "" "SYNC failed: NOMASTERLINK Can't SYNC while not connected with my master\n"] [cli {*}$mode]
        }
        r REPLICAOF NO ONE
        assert_equal before [read_file $out]
        assert_equal {out.rdb} [files]
    }

    test "A user who may SYNC gets it, others do not" {
        prepare
        r SET key value
        r ACL SETUSER saver on >secret +sync +replconf
        r ACL SETUSER reader on >secret +@read ~*
        set login {--no-auth-warning --pass secret --user}
        assert_equal 0 [lindex [cli {*}$login saver --rdb $out] 0]
        assert_match "*value*" [read_file $out]
        write_file $out before
        assert_equal [list 1 "" "SYNC failed: NOPERM User reader has no permissions to run the 'sync' command\n"] \
            [cli {*}$login reader --rdb $out]
        lassign [cli --no-auth-warning -a wrong --user saver --rdb $out] code text err
        assert_equal {1 {}} [list $code $text]
        assert_match "AUTH failed: WRONGPASS *" $err
        r ACL DELUSER saver reader
        assert_equal before [read_file $out]
        assert_equal {out.rdb} [files]
    }

    test "A Unix socket, and a password from the environment" {
        prepare
        r SET key value
        with_config {requirepass secret} {
            set ::env(VALKEYCLI_AUTH) secret
            set done [exec $cli -s [config_value dir]/cli.sock --rdb $out 2>@1]
            unset ::env(VALKEYCLI_AUTH)
            assert_equal "Transfer finished with success after [file size $out] bytes" $done
            assert_match "*value*" [read_file $out]
            assert_equal [list 1 "" "SYNC failed: NOAUTH Authentication required.\n"] [cli --rdb $out]
        }
        assert_match "*value*" [read_file $out]
    }

    # ---- The file ---------------------------------------------------------------------------------------------

    test "A file that is there is replaced, with its rights; a link stays one" {
        prepare "something that is longer than the snapshot of an empty dataset [string repeat x 10000]"
        file attributes $out -permissions 0640
        file link -symbolic $folder/link.rdb $out
        lassign [cli --rdb $folder/link.rdb] code text err
        assert_equal [success [file size $out]] [list $code $text $err]
        assert_equal link [file type $folder/link.rdb]
        assert_match "REDIS*" [read_file $out]
        assert_equal 00640 [file attributes $out -permissions]
        assert_equal {link.rdb out.rdb} [files]
    }

    test "A new file is made as the umask says" {
        prepare
        exec sh -c "umask 027; exec $cli -p [srv port] --rdb $out 2>/dev/null"
        assert_equal 00640 [file attributes $out -permissions]
    }

    test "A pipe of that name is written as it comes" {
        prepare
        exec mkfifo $out
        r SET key value
        set pid [exec $cli -p [srv port] --rdb $out 2>/dev/null &]
        set bytes [read_file $out]
        assert_match "REDIS*value*" $bytes
        assert_equal fifo [file type $out]
    }

    test "Where nothing can be written the server is not asked" {
        prepare
        set syncs [info_field sync_full]
        assert_equal [list 1 "" "Cannot write '$folder/none/out.rdb': No such file or directory\n"] \
            [cli --rdb $folder/none/out.rdb]
        assert_equal [list 1 "" "Cannot write '$folder': Is a directory\n"] [cli --rdb $folder]
        assert_equal $syncs [info_field sync_full]
    }

    test "No room: it is said, and what was there stays" {
        prepare before
        r SET key [string repeat x 100000]
        with_config {rdbcompression no} {
            assert_equal [list 1 "" "Cannot write '/dev/full': No space left on device\n"] [cli --rdb /dev/full]
            set limited [list exec sh -c "ulimit -f 20; exec $cli -p [srv port] --rdb $out" 2>@1]
            assert_equal 1 [catch $limited message]
            assert_match "Cannot write '$out': File too large\n*" $message
            assert_equal 1 [catch {exec sh -c "exec $cli -p [srv port] --rdb - >/dev/full" 2>@1} message]
            assert_match "Cannot write '-': No space left on device\n*" $message
        }
        assert_equal before [read_file $out]
        assert_equal {out.rdb} [files]
    }

    test "Options of a transfer" {
        assert_equal [list 1 "" "Option '--rdb' requires a value.\n"] [cli --rdb]
        assert_equal [list 1 "" "Options '--rdb' and '--functions-rdb' cannot be used together.\n"] \
            [cli --rdb $out --functions-rdb $out]
    }

    # ---- Servers with unusual output --------------------------------------------------------------------------

    r FLUSHALL
    r SET key value
    prepare
    cli --rdb $out
    set snapshot [read_file $out]

    test "A transfer may be cut at every byte around the end of its header, its mark, its end" {
        with_primary {} {
            foreach {whole from to tail} [list [marked $snapshot] 44 49 42 [counted $snapshot] 1 8 3] {
                set length [string length $whole]
                for {set cut $from} {$cut < $length} {incr cut} {
                    if {$cut == $to} {
                        set cut [expr {$length - $tail}]
                    }
                    answer [string range $whole 0 $cut-1] [string range $whole $cut end]
                    assert_equal $snapshot [bytes_of_stdout -p $port --rdb -]
                }
            }
        }
    }

    test "A transfer may come byte by byte, behind newlines" {
        with_primary {} {
            foreach whole [list [marked $snapshot] [counted $snapshot]] {
                prepare
                answer \n \n\n {*}[split $whole {}]
                assert_equal [success [string length $snapshot]] [cli_at $port --rdb $out]
                assert_equal $snapshot [read_file $out]
            }
        }
    }

    test "What is behind a snapshot of known length is not saved" {
        with_primary {"replconf rdb-only*" "-ERR Unrecognized REPLCONF option: rdb-only"} {
            prepare
            answer "[counted $snapshot]*1\r\n\$4\r\nping\r\n"
            assert_equal [success [string length $snapshot]] [cli_at $port --rdb $out]
            assert_equal $snapshot [read_file $out]
        }
    }

    test "A snapshot that breaks off leaves what was there" {
        with_primary {} {
            foreach whole [list [marked $snapshot] [counted $snapshot]] {
                set length [string length $whole]
                foreach cut [list 0 1 20 60 [expr {$length - 41}] [expr {$length - 40}] [expr {$length - 1}]] {
                    prepare before
                    answer {*}[expr {$cut ? [list [string range $whole 0 $cut-1]] : {}}] close
                    lassign [cli_at $port --rdb $out] code text err
                    assert_equal {1 {}} [list $code $text]
                    assert_regexp {^(SYNC failed|Transfer interrupted after \d+ bytes): Server closed the connection\n$} $err
                    assert_equal before [read_file $out]
                    assert_equal {out.rdb} [files]
                }
            }
        }
    }

    test "A snapshot that is damaged leaves what was there" {
        with_primary {} {
            set at [expr {[string first value $snapshot] + 1}]
            foreach {bytes wrong} [list \
                [string replace $snapshot $at $at A] "its checksum is wrong" \
                [string replace $snapshot $at $at] "its checksum is wrong" \
                [string range $snapshot 0 end-8] "its checksum is wrong" \
                [string replace $snapshot 0 0 r] "it does not begin like an RDB file" \
                REDIS001 "it does not begin like an RDB file" \
                {} "it does not begin like an RDB file"] {
                foreach form {marked counted} {
                    prepare before
                    answer [$form $bytes]
                    assert_equal [list 1 "" "The received snapshot is not valid: $wrong\n"] [cli_at $port --rdb $out]
                    assert_equal before [read_file $out]
                    assert_equal {out.rdb} [files]
                }
            }
        }
    }

    test "A snapshot without a checksum is taken as it is" {
        with_primary {} {
            set plain [string range $snapshot 0 end-8][binary decode hex 0000000000000000]
            prepare
            answer [marked $plain]
            assert_equal [success [string length $plain]] [cli_at $port --rdb $out]
            assert_equal $plain [read_file $out]
        }
    }

    test "Answers that begin no dataset" {
        with_primary {} {
            foreach {line why} {
                "-LOADING Valkey is loading the dataset in memory" "LOADING Valkey is loading the dataset in memory"
                "-NOAUTH Authentication required." "NOAUTH Authentication required."
                "\n\n-ERR BGSAVE failed, replication can't continue" "ERR BGSAVE failed, replication can't continue"
                "+OK" "unexpected reply '+OK'"
                "\$-1" "unexpected reply '\$-1'"
                "\$EOF:0123" "unexpected reply '\$EOF:0123'"
            } {
                prepare before
                answer "[subst -nocommands -novariables $line]\r\n"
                foreach mode [list "--rdb $out" "--functions-rdb $out" --replica] {
                    assert_equal [list 1 "" "SYNC failed: $why\n"] [cli_at $port {*}$mode]
                }
                assert_equal before [read_file $out]
                assert_equal {out.rdb} [files]
            }
            answer [string repeat x 5000]
            assert_equal [list 1 "" "SYNC failed: Protocol error: line too long\n"] [cli_at $port --rdb $out]
        }
    }

    test "A server that cannot leave the keys out is not asked for functions" {
        with_primary {"replconf rdb-filter-only*" "-ERR Unrecognized REPLCONF option: rdb-filter-only"} {
            prepare before
            answer [marked $snapshot]
            assert_equal [list 1 "" \
                "REPLCONF rdb-filter-only functions failed: ERR Unrecognized REPLCONF option: rdb-filter-only\n"] \
                [cli_at $port --functions-rdb $out]
            assert_equal before [read_file $out]
            assert_no_match "*sync*" [read_file $log]
        }
    }

    test "A signal in the middle of a transfer leaves what was there" {
        with_primary {} {
            answer [string range [marked $snapshot] 0 120]
            foreach signal {INT TERM HUP} {
                prepare before
                set channel [cli_begins $port --rdb $out]
                wait_for_condition 10 {[llength [files]] == 2}
                wait_for_condition 10 {[file size [lindex [glob $out.part-*] 0]] > 0}
                assert_equal CHILDKILLEDSIG$signal [cli_ends $channel $signal]
                assert_equal before [read_file $out]
                assert_equal {out.rdb} [files]
            }
        }
    }

    test "A terminal sees how far it is" {
        source [file join $::support terminal.tcl]
        needs_terminal
        with_primary {} {
            prepare
            answer "\$2048\r\n[string repeat x 1024]"
            terminal::start "$cli -p $port --rdb $out"
            terminal::shows " 50.0%  1.00K of 2.00K"
            terminal::stop
            answer "\$EOF:$mark\r\n[string repeat x 1064]"
            terminal::start "$cli -p $port --rdb $out"
            terminal::shows "1.00K*"
            terminal::stop
        }
    }

    # ---- The replication stream -------------------------------------------------------------------------------

    # Runs BODY while valkey-cli acts as a replica of the server.
    proc following {options body} {
        set ::channel [cli_begins [srv port] {*}$options --replica]
        try {
            wait_for_condition 20 {[string match "*state=online*" [info_field slave0]]}
            uplevel 1 $body
        } finally {
            cli_ends $::channel TERM
            wait_for_condition 20 {[info_field connected_slaves] == 0}
        }
    }

    # Returns the stream without pings, whose times vary.
    proc stream {} {
        return [string map {"\"ping\"\n" ""} [says $::channel]]
    }

    test "--replica prints commands as they come, as CSV in every style" {
        foreach {disk options} {yes {} no {} yes --json yes --no-raw yes -3} {
            r SET before 1
            with_config [list repl-diskless-sync $disk] {
                following $options {
                    r SET "a\r\n\x00" "\"q\"\xff"
                    r MULTI
                    r INCR n
                    r LPUSH l x y
                    r EXEC
                    r SELECT 2
                    r DEL n
                    r SET n 1
                    r SELECT 0
                    set all "\"SELECT\",\"0\"\n\"SET\",\"a\\r\\n\\x00\",\"\\\"q\\\"\\xff\"\n\"MULTI\"\n\"INCR\",\"n\"\n"
                    append all "\"LPUSH\",\"l\",\"x\",\"y\"\n\"EXEC\"\n\"SELECT\",\"2\"\n\"SET\",\"n\",\"1\"\n"
                    wait_for_condition 20 {[stream] eq $all}
                }
            }
            r FLUSHALL
        }
    }

    test "--slave is its older name, and the commands of replicas mean it" {
        foreach words {--slave SYNC {psync ? -1}} {
            set channel [cli_begins [srv port] {*}$words]
            wait_for_condition 20 {[string match "*state=online*" [info_field slave0]]}
            assert_equal CHILDKILLEDSIGINT [cli_ends $channel INT]
        }
    }

    test "--replica finds the stream at every place behind the dataset" {
        set stream "*1\r\n\$4\r\nping\r\n*3\r\n\$3\r\nset\r\n\$1\r\nk\r\n\$2\r\n\r\n\r\n"
        with_primary {} {
            set whole [counted $snapshot]$stream
            set length [string length $whole]
            for {set cut [expr {$length - [string length $stream] - 2}]} {$cut < $length} {incr cut} {
                answer [string range $whole 0 $cut-1] [string range $whole $cut end] close
                assert_equal [list 1 "\"ping\"\n\"set\",\"k\",\"\\r\\n\"\n" "The replication stream has ended: Server closed the connection\n"] \
                    [cli_at $port --replica]
            }
        }
    }

    test "--replica tells that the dataset has come until the server hears it, and no more" {
        with_primary {"replconf ack*" silent} {
            answer [marked $snapshot]
            set channel [cli_begins $port --replica]
            wait_for_condition 20 {[regexp -all {replconf ack 0\n} [read_file $log]] >= 2}
            cli_ends $channel TERM
            assert_match "*replconf capa eof\nreplconf rdb-filter-only \nsync\nreplconf ack 0\n*" [read_file $log]
        }
        with_primary [list "replconf ack*" "*1\r\n\$4\r\nping"] {
            answer [marked $snapshot]
            set channel [cli_begins $port --replica]
            wait_for_condition 20 {[says $channel] eq "\"ping\"\n"}
            after 1500
            assert_equal 1 [regexp -all {replconf ack 0\n} [read_file $log]]
            cli_ends $channel TERM
        }
    }

    test "--replica ends when the dataset or the stream breaks off, or makes no sense" {
        with_primary {} {
            answer [string range [counted $snapshot] 0 end-1] close
            lassign [cli_at $port --replica] code text err
            assert_equal {1 {}} [list $code $text]
            assert_match "Transfer interrupted after * bytes: Server closed the connection\n" $err
            answer [counted $snapshot] "*1\r\n\$4\r\npi" close
            assert_equal [list 1 "" "The replication stream has ended: Server closed the connection\n"] [cli_at $port --replica]
            answer [counted $snapshot] "*1\r\n\$4\r\nping\r\n?\r\n"
            assert_equal [list 1 "\"ping\"\n" "The replication stream has ended: Protocol error: invalid reply\n"] \
                [cli_at $port --replica]
        }
    }

    test "--replica ends when nobody reads" {
        with_primary {} {
            answer "[counted $snapshot][string repeat "*1\r\n\$4\r\nping\r\n" 20000]"
            set line [exec sh -c "{ timeout 20 $cli -p $port --replica 2>&1; echo \$? >$log; } | head -n 1"]
            assert_equal "\"ping\"" $line
            assert_equal "1\n" [read_file $log]
            set said [exec sh -c "timeout 20 $cli -p $port --replica 2>&1 >/dev/full; echo \$?"]
            assert_equal "Cannot write to stdout: No space left on device\n1" $said
        }
    }
}
file delete -force $folder
