# config_rewrite.tcl -- a server starts with the file of CONFIG REWRITE and has the same settings and users; otherwise
# CONFIG REWRITE fails.
#
# SPDX-License-Identifier: BSD-3-Clause

# Starts a server with the file in $dir and more words, runs BODY with the connection `c`, ends the server.
proc with_file {dir words body} {
    set server [dict create dir $dir port $::rewrite_port expect_exit 0 \
        pid [launch $dir [list $dir/main.conf {*}$words]]]
    wait_for_condition 20 {![catch {RespClient new $::rewrite_port} c]}
    set failed [catch {uplevel 1 [list apply [list {c dir} $body] $c $dir]} result options]
    $c destroy
    assert_equal {} [stop_server $server]
    if {$failed} {return -options $options $result}
    return $result
}

# Makes a folder with main.conf, which contains TEXT, and the files of PAIRS.
proc make_files {text args} {
    set dir [make_server_dir]
    set ::rewrite_port [free_port]
    set text [string map [list DIR $dir] $text]
    write_file $dir/main.conf "port $::rewrite_port\nbind 127.0.0.1\nsave \"\"\n$text"
    foreach {name content} $args {
        file mkdir [file dirname $dir/$name]
        write_file $dir/$name [string map [list DIR $dir] $content]
    }
    return $dir
}

proc read_all {path} {
    set f [open $path rb]
    set text [read $f]
    close $f
    return $text
}

test "Users of includes stay there, others come into the file, and all are there after a restart" {
    set dir [make_files "include DIR/a.conf\nuser main on nopass +ping\n" \
        a.conf "include DIR/d/*.conf\nuser one on nopass ~* +get\ntimeout 9\n" \
        d/1.conf "user two on nopass ~two:* +set\n" d/2.conf "user \"th\\x01ree\" on >secret +ping\nhz 17\n"]
    set users [with_file $dir {} {
        $c ACL SETUSER main +get ~x
        $c ACL SETUSER "a\"\xffb" on {>p w'} +get {~k"*}
        $c CONFIG SET hz 10
        assert_equal OK [$c CONFIG REWRITE]
        assert_equal OK [$c CONFIG REWRITE]
        $c ACL LIST
    }]
    assert_equal 1 [regexp -all {user main } [read_all $dir/main.conf]]
    assert_equal 0 [regexp -all {user (one|two)} [read_all $dir/main.conf]]
    with_file $dir {} [string map [list USERS [list $users]] {
        assert_equal USERS [$c ACL LIST]
        assert_equal {hz 10 timeout 9} [$c CONFIG GET hz timeout]
        assert_equal OK [$c CONFIG REWRITE]
    }]
}

test "CONFIG REWRITE is refused where an include says something else of a user, and the file stays" {
    set dir [make_files "include DIR/a.conf\n" a.conf "user one on nopass ~* +get\n"]
    set old [read_all $dir/main.conf]
    with_file $dir {} {
        $c ACL SETUSER one +set
        assert_error "ERR Rewriting config file: user 'one' would have other rules than now" {$c CONFIG REWRITE}
        $c ACL DELUSER one
        assert_error "ERR Rewriting config file: user 'one', which was deleted, would be created again" {$c CONFIG REWRITE}
    }
    assert_equal $old [read_all $dir/main.conf]
    assert_equal {} [glob -nocomplain $dir/main.conf.*]
}

test "Users and renamed commands of the command line are not written into the file" {
    set words {--user anna on nopass +ping --rename-command keys {}}
    set dir [make_files "rename-command flushall gone\nrename-command flushdb flushall\nuser berta on\n"]
    with_file $dir $words {
        assert_equal OK [$c CONFIG REWRITE]
    }
    assert_equal 0 [regexp {anna|keys} [read_all $dir/main.conf]]
    with_file $dir $words {
        assert_equal {anna berta default} [$c ACL USERS]
        assert_equal OK [$c FLUSHALL]
        assert_error "ERR unknown command*" {$c FLUSHDB}
    }
}

test "CONFIG REWRITE is refused where the file was given a line that does not start" {
    set dir [make_files ""]
    with_file $dir {} {
        set old [read_all $dir/main.conf]
        foreach {line why} {
            "nosuch 1"            "Bad directive or wrong number of arguments"
            "user x on\nuser x on" "Error in user declaration 'x': Duplicate user found*"
            "loadmodule m.so"     "Modules are not supported by this version"
            "rename-command x y"  "No such command in rename-command"
            "include /nosuch/x"   "can't open config file '/nosuch/x': No such file or directory"
        } {
            write_file $dir/main.conf "$old$line\n"
            if {[string match user* $line]} {
                # User lines belong to the server: those of users that do not exist are removed.
                assert_equal OK [$c CONFIG REWRITE]
                continue
            }
            assert_error "ERR Rewriting config file: the server would not start with the new file: *$why" {$c CONFIG REWRITE}
            assert_equal "$old$line\n" [read_all $dir/main.conf]
        }
        write_file $dir/main.conf $old
    }
}

test "CONFIG REWRITE and a restart keep values of every kind, beside includes, stdin and the command line" {
    set dir [make_files "timeout 5\ninclude DIR/a.conf\n" \
        a.conf "timeout 9\nsave 1 1\nsave 2 2\nprimaryauth included\nclient-output-buffer-limit normal 1 1 1\nmaxmemory 5mb\n"]
    set long [string repeat "\"x\\ 'y" 20000]
    set body {
        foreach {name value} [list timeout 7 save {3 3} primaryauth "a\"'\n\0\xff b" availability-zone LONG \
            maxmemory 0 client-output-buffer-limit "normal 0 0 0 pubsub 3mb 1 9" notify-keyspace-events KEA \
            latency-tracking-info-percentiles "" shutdown-on-sigterm "now force" proc-title-template {{title} "x} \
            lua-time-limit 77 tracking-table-max-keys 5 repl-backlog-size 16384] {
            $c CONFIG SET $name $value
        }
        $c CONFIG SET save ""
        assert_equal OK [$c CONFIG REWRITE]
        $c CONFIG GET *
    }
    set before [with_file $dir {--hz 33} [string map [list LONG [list $long]] $body]]
    set after [with_file $dir {--hz 33} {$c CONFIG GET *}]
    dict for {name value} $before {
        assert_equal [list $name $value] [list $name [dict get $after $name]]
    }
    assert_equal 1 [regexp -all {timeout 7} [read_all $dir/main.conf]]
}

test "A user with an empty name is in quotes in the file, and there after a restart" {
    set dir [make_files ""]
    set users [with_file $dir {} {
        $c ACL SETUSER "" on nopass ~* +get
        assert_equal OK [$c CONFIG REWRITE]
        $c ACL LIST
    }]
    assert_match "*\nuser \"\" on nopass*" [read_all $dir/main.conf]
    with_file $dir {} [string map [list USERS [list $users]] {
        assert_equal USERS [$c ACL LIST]
    }]
}

test "Lines of users that a file with an aclfile was given are removed" {
    set dir [make_files "aclfile DIR/users.acl\n" users.acl "user joe on nopass ~* +get\n"]
    with_file $dir {} {
        write_file $dir/main.conf "[read_all $dir/main.conf]# before\nuser eve on nopass ~* +set\n# after\n"
        assert_equal OK [$c CONFIG REWRITE]
    }
    assert_match "*# before\n\n# after\n*" [read_all $dir/main.conf]
    with_file $dir {} {
        assert_equal {default joe} [lsort [$c ACL USERS]]
    }
}

test "A server that has its configuration from standard input alone has no file to rewrite" {
    set dir [make_files ""]
    set binary $srv::binary
    set srv::binary sh
    set pid [launch $dir [list -c {exec "$0" - <main.conf} $binary]]
    set srv::binary $binary
    set server [dict create dir $dir port $::rewrite_port expect_exit 0 pid $pid]
    wait_for_condition 20 {![catch {RespClient new $::rewrite_port} c]}
    catch {$c CONFIG REWRITE} message
    $c destroy
    assert_equal {} [stop_server $server]
    assert_equal "ERR The server is running without a config file" $message
}
