# config.tcl -- settings: read, changed together or not at all, written back, and given in file or on the command line.
#
# SPDX-License-Identifier: BSD-3-Clause

set failed "ERR CONFIG SET failed (possibly related to argument '%s') - %s"

# Runs the server with a file that contains TEXT, which it must refuse: returns its output.
proc refused {text} {
    set dir [make_server_dir]
    write_file $dir/valkey.conf $text
    lassign [run_to_end [list $dir/valkey.conf] $dir] code output
    assert_equal 1 $code
    return $output
}

start_server {overrides {maxmemory 10mb}} {

    # ---- GET --------------------------------------------------------------------------------------------------

    test "CONFIG GET of one setting" {
        assert_equal {maxmemory 10485760} [r CONFIG GET maxmemory]
    }

    test "CONFIG GET of nothing that exists is empty" {
        assert_equal {} [r CONFIG GET nosuch]
        assert_equal {} [r CONFIG GET nosuch*]
    }

    test "CONFIG GET knows a name in any case and repeats it as it was asked" {
        assert_equal {MaxMemory 10485760} [r CONFIG GET MaxMemory]
        assert_equal {maxmemory-policy noeviction} [r CONFIG GET MAXMEMORY-POL*]
    }

    test "CONFIG GET with patterns" {
        set names [dict keys [r CONFIG GET maxmemory*]]
        foreach name {maxmemory maxmemory-clients maxmemory-eviction-tenacity maxmemory-policy maxmemory-samples} {
            assert {$name in $names}
        }
        assert_equal {hz} [dict keys [r CONFIG GET {[hx]z}]]
        assert {[dict size [r CONFIG GET *]] > 150}
    }

    test "CONFIG GET of several names and patterns lists each setting once" {
        assert_equal {hz maxmemory timeout} [lsort [dict keys [r CONFIG GET hz maxmemory timeout hz nosuch h?]]]
    }

    test "CONFIG GET refuses to be without a name" {
        assert_error "ERR wrong number of arguments for 'config|get' command" {r CONFIG GET}
    }

    # ---- SET --------------------------------------------------------------------------------------------------

    test "CONFIG SET of one setting" {
        assert_equal OK [r CONFIG SET timeout 17]
        assert_equal 17 [config_value timeout]
        r CONFIG SET timeout 0
    }

    test "CONFIG: what has a NUL in it is no name and no integer, and a password is kept whole" {
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'hz'" {r CONFIG SET "hz\0x" 11}
        assert_error [format $failed hz "argument couldn't be parsed into an integer"] {r CONFIG SET hz "11\0x"}
        assert_error [format $failed hz "argument couldn't be parsed into an integer"] {r CONFIG SET hz "11\0"}
        assert_error [format $failed latency-tracking-info-percentiles \
            "Invalid latency-tracking-info-percentiles parameters"] \
            {r CONFIG SET latency-tracking-info-percentiles "50\0x 99"}
        assert_equal {hz 10} [r CONFIG GET hz]
        assert_equal {} [r CONFIG GET "hz\0x"]
        assert_equal {} [r CONFIG GET "hz\0*"]
        assert_equal {hz 10} [r CONFIG GET "h?\0x"]
        foreach name {requirepass masterauth availability-zone} {
            r CONFIG SET $name "x\0y"
            assert_equal [list $name "x\0y"] [r CONFIG GET $name]
        }
        assert_error "WRONGPASS *" {r AUTH x}
        assert_error "WRONGPASS *" {r AUTH "x\0z"}
        assert_equal OK [r AUTH "x\0y"]
        assert_match "*availability_zone x\0y" [r HELLO]
        r CONFIG SET requirepass "" masterauth "" availability-zone ""
    }

    test "CONFIG SET of several settings" {
        assert_equal OK [r CONFIG SET timeout 100 maxmemory-samples 7 HZ 15]
        assert_equal {100 7 15} [list [config_value timeout] [config_value maxmemory-samples] [config_value hz]]
        r CONFIG SET timeout 0 maxmemory-samples 5 hz 10
    }

    test "CONFIG SET of several settings sets none where one is refused" {
        assert_error [format $::failed maxmemory-samples *] {r CONFIG SET timeout 99 maxmemory-samples 0 hz 50}
        assert_equal {0 5 10} [list [config_value timeout] [config_value maxmemory-samples] [config_value hz]]
    }

    test "CONFIG SET refuses to save and not to save at a signal" {
        foreach name {shutdown-on-sigterm shutdown-on-sigint} {
            assert_error [format $::failed $name "shutdown options SAVE and NOSAVE can't be used simultaneously"] \
                {r CONFIG SET $name "nosave save"}
            assert_equal default [config_value $name]
        }
    }

    test "CONFIG SET takes back what was set where a later setting cannot take effect" {
        with_clients c {
            set port [srv port]
            set blocker [socket -server none -myaddr 127.0.0.1 [set taken [free_port]]]
            assert_error "ERR CONFIG SET failed (possibly related to argument 'port') - *" {
                $c CONFIG SET maxmemory-samples 9 port $taken
            }
            close $blocker
            assert_equal 5 [config_value maxmemory-samples]
            assert_equal $port [config_value port]
            with_clients d {
                assert_equal PONG [$d PING]
            }
        }
    }

    test "CONFIG SET refuses an unknown setting and sets nothing" {
        assert_error "ERR Unknown option or number of arguments for CONFIG SET - 'nosuch'" {
            r CONFIG SET timeout 5 nosuch 1
        }
        assert_equal 0 [config_value timeout]
    }

    test "CONFIG SET refuses a setting named twice" {
        assert_error [format $::failed timeout "duplicate parameter"] {r CONFIG SET timeout 5 timeout 6}
    }

    test "CONFIG SET refuses a name without a value" {
        assert_error "ERR wrong number of arguments for 'config|set' command" {r CONFIG SET timeout}
        assert_error "ERR syntax error" {r CONFIG SET timeout 1 hz}
    }

    foreach {name value why} {
        maxclients abc            "argument couldn't be parsed into an integer"
        maxmemory-samples 0       "argument must be between 1 and 64 inclusive"
        maxmemory-samples 65      "argument must be between 1 and 64 inclusive"
        port 70000                "argument must be between 0 and 65535 inclusive"
        appendonly maybe          "argument must be 'yes' or 'no'"
        loglevel nope             "argument(s) must be one of the following: debug, verbose, notice, warning, nothing"
        maxmemory-policy nope     "argument(s) must be one of the following: volatile-lru, volatile-lfu, volatile-random, volatile-ttl, allkeys-lru, allkeys-lfu, allkeys-random, noeviction"
        maxmemory abc             "argument must be a memory value"
        maxmemory 10xb            "argument must be a memory value"
        lfu-log-factor -1         "argument must be between 0 and 2147483647 inclusive"
        databases 4               "can't set immutable config"
        unixsocketperm 700        "can't set immutable config"
        dir /                     "can't set protected config"
        bind 300.1.1.1            "Failed to bind to specified addresses."
        save abc                  "Invalid save parameters"
        client-output-buffer-limit {x 1 2 3}      "Invalid client class specified in buffer limit configuration."
        client-output-buffer-limit {normal 1 2}   "Wrong number of arguments in buffer limit configuration."
        client-output-buffer-limit {normal 1 x 3} "Error in hard, soft or soft_seconds setting in buffer limit configuration."
    } {
        test "CONFIG SET $name refuses '$value'" {
            set before [config_value $name]
            assert_error [format $::failed $name $why] {r CONFIG SET $name $value}
            assert_equal $before [config_value $name]
        }
    }

    foreach {given bytes} {
        1000 1000  1k 1000  1K 1000  1kb 1024  1KB 1024  1m 1000000  1mb 1048576  2g 2000000000  2gb 2147483648
        100b 100  0 0
    } {
        test "A memory value of $given is $bytes bytes" {
            r CONFIG SET repl-backlog-size 1mb maxmemory-clients $given
            assert_equal $bytes [config_value maxmemory-clients]
            r CONFIG SET maxmemory-clients 0
        }
    }

    test "maxmemory-clients takes a percentage" {
        r CONFIG SET maxmemory-clients 5%
        assert_equal 5% [config_value maxmemory-clients]
        r CONFIG SET maxmemory-clients 0
    }

    test "Yes and no are read in any case and answered in lower case" {
        r CONFIG SET lazyfree-lazy-expire NO
        assert_equal no [config_value lazyfree-lazy-expire]
        r CONFIG SET lazyfree-lazy-expire Yes
        assert_equal yes [config_value lazyfree-lazy-expire]
    }

    test "client-output-buffer-limit changes only the classes that are named" {
        set before [config_value client-output-buffer-limit]
        r CONFIG SET client-output-buffer-limit "normal 100mb 50mb 10"
        assert_match "normal 104857600 52428800 10 slave 268435456 67108864 60 pubsub 33554432 8388608 60" \
            [config_value client-output-buffer-limit]
        r CONFIG SET client-output-buffer-limit $before
    }

    test "save is shown as it was set" {
        r CONFIG SET save "3600 1 300 100"
        assert_equal "3600 1 300 100" [config_value save]
        r CONFIG SET save ""
        assert_equal "" [config_value save]
    }

    test "notify-keyspace-events is shown in its own order of letters" {
        r CONFIG SET notify-keyspace-events KEA
        assert_equal AKE [config_value notify-keyspace-events]
        r CONFIG SET notify-keyspace-events "\$Kg"
        assert_equal "g\$K" [config_value notify-keyspace-events]
        r CONFIG SET notify-keyspace-events ""
        assert_equal "" [config_value notify-keyspace-events]
    }

    test "CONFIG SET port moves the server; connections stay" {
        set old [srv port]
        set new [free_port]
        r CONFIG SET port $new
        assert_equal PONG [r PING]
        set c [RespClient new $new]
        assert_equal PONG [$c PING]
        assert [catch {socket 127.0.0.1 $old}]
        $c CONFIG SET port $old
        $c destroy
    }

    # ---- RESETSTAT HELP REWRITE -------------------------------------------------------------------------------

    test "CONFIG RESETSTAT sets the counters to zero" {
        r SET key value
        r GET key
        r GET missing
        catch {r NOSUCH}
        assert {[info_field keyspace_hits stats] > 0}
        assert_equal OK [r CONFIG RESETSTAT]
        assert_between 0 3 [info_field total_commands_processed stats]
        foreach field {keyspace_hits keyspace_misses expired_keys evicted_keys total_error_replies rejected_connections} {
            assert_equal 0 [info_field $field stats]
        }
        assert_equal "" [info_field cmdstat_set commandstats]
    }

    test "CONFIG HELP lists the subcommands" {
        assert_match "CONFIG <subcommand>*GET <pattern>*SET <directive> <value>*RESETSTAT*REWRITE*" \
            [join [r CONFIG HELP] \n]
    }

    test "CONFIG REWRITE writes what was changed and keeps the rest of the file" {
        r CONFIG SET maxmemory 50mb timeout 33 maxmemory-policy allkeys-lru
        assert_equal OK [r CONFIG REWRITE]
        set text [read_file [srv conf]]
        assert_match "*# written by tests/support/server.tcl*" $text
        assert_match "*\nmaxmemory 50mb\n*" $text
        assert_match "*\ntimeout 33\n*" $text
        assert_match "*\nmaxmemory-policy allkeys-lru\n*" $text
        assert_equal 1 [regexp -all -line {^maxmemory } $text]
    }

    test "CONFIG REWRITE twice changes nothing more" {
        r CONFIG REWRITE
        set once [read_file [srv conf]]
        r CONFIG REWRITE
        assert_equal $once [read_file [srv conf]]
    }

    test "What CONFIG REWRITE wrote is what the server starts with" {
        set values {timeout 44 maxmemory-samples 9 hz 33 loglevel verbose lazyfree-lazy-expire no
            maxmemory-clients 10% proc-title-template {{title} x y} notify-keyspace-events AKE
            client-output-buffer-limit {normal 1024 512 5 slave 0 0 0 pubsub 1 1 1} slowlog-log-slower-than -1}
        r CONFIG SET {*}$values
        r CONFIG REWRITE
        set before [r CONFIG GET *]
        restart_server
        set after [r CONFIG GET *]
        foreach name [dict keys $before] {
            assert_equal "$name [dict get $before $name]" "$name [dict get $after $name]"
        }
    }

    test "CONFIG REWRITE keeps a line whose setting is back at its default, and adds none for others" {
        r CONFIG SET hz 10
        r CONFIG REWRITE
        set text [read_file [srv conf]]
        assert_equal 1 [regexp -all -line {^hz 10$} $text]
        assert_equal 0 [regexp -all -line {^tcp-keepalive } $text]
    }
}

# ---- The file and the command line ------------------------------------------------------------------------------

start_server {} {
    test "A file's line may be empty, a comment, indented, and quoted" {
        set dir [make_server_dir]
        set port [free_port]
        set lines "\n# a comment\n   port $port   \n\tmaxmemory 3mb\nmaxmemory-policy \"allkeys-lru\"\n"
        append lines "requirepass 'it\\'s secret'\nbind 127.0.0.1\nsave \"\"\nTIMEOUT 12\nproc-title-template \"{title}\\x20z\"\n"
        write_file $dir/valkey.conf $lines
        set server [dict create dir $dir port $port pid [launch $dir [list $dir/valkey.conf]] expect_exit 0]
        await_ready $server
        set c [RespClient new $port]
        $c AUTH "it's secret"
        assert_equal {maxmemory 3145728} [$c CONFIG GET maxmemory]
        assert_equal {timeout 12} [$c CONFIG GET timeout]
        assert_equal {proc-title-template {{title} z}} [$c CONFIG GET proc-title-template]
        $c destroy
        assert_equal {} [stop_server $server]
    }

    test "An option of several words may have none, and quoted text is joined with what it touches" {
        set dir [make_server_dir]
        set port [free_port]
        set lines "port $port\nbind 127.0.0.1\nsave \nclient-output-buffer-limit pubsub 1mb 2mb 60\n"
        append lines "client-output-buffer-limit \nlatency-tracking-info-percentiles \nprimaryauth \"foo\"bar\n"
        append lines "availability-zone a'b c'\"d\"\nshutdown-on-sigint \" save  now\"\nsentinel\n"
        write_file $dir/valkey.conf $lines
        set server [dict create dir $dir port $port pid [launch $dir [list $dir/valkey.conf]] expect_exit 0]
        await_ready $server
        set c [RespClient new $port]
        foreach {name value} {
            save {} latency-tracking-info-percentiles {} primaryauth foobar availability-zone {ab cd}
            client-output-buffer-limit {normal 0 0 0 slave 268435456 67108864 60 pubsub 1048576 2097152 60}
            shutdown-on-sigint {save now}
        } {
            assert_equal [list $name $value] [$c CONFIG GET $name]
        }
        $c destroy
        assert_equal {} [stop_server $server]
    }

    test "include reads another file at that place; the last line for a setting wins" {
        set dir [make_server_dir]
        set port [free_port]
        write_file $dir/more.conf "timeout 5\nhz 20\n"
        write_file $dir/valkey.conf "timeout 1\nhz 50\nport $port\nbind 127.0.0.1\nsave \"\"\ninclude $dir/more.conf\nhz 40\n"
        set server [dict create dir $dir port $port pid [launch $dir [list $dir/valkey.conf]] expect_exit 0]
        await_ready $server
        set c [RespClient new $port]
        assert_equal {timeout 5} [$c CONFIG GET timeout]
        assert_equal {hz 40} [$c CONFIG GET hz]
        $c destroy
        assert_equal {} [stop_server $server]
    }

    test "Options of the command line win over the file" {
        set dir [make_server_dir]
        set port [free_port]
        write_file $dir/valkey.conf "timeout 1\nport 1\nbind 127.0.0.1\n"
        set server [dict create dir $dir port $port expect_exit 0 pid [launch $dir [list $dir/valkey.conf \
            --port $port --timeout 9 --save "" --maxmemory 2mb --client-output-buffer-limit normal 100 50 10]]]
        await_ready $server
        set c [RespClient new $port]
        assert_equal {timeout 9} [$c CONFIG GET timeout]
        assert_equal {maxmemory 2097152} [$c CONFIG GET maxmemory]
        assert_match "*normal 100 50 10*" [$c CONFIG GET client-output-buffer-limit]
        $c destroy
        assert_equal {} [stop_server $server]
    }

    test "A file may come from the standard input" {
        set dir [make_server_dir]
        set port [free_port]
        write_file $dir/input "port $port\nbind 127.0.0.1\nsave \"\"\ntimeout 21\n"
        set pid [exec sh -c {cd "$0"; "$1" - <input >stdout 2>stderr & echo $!} $dir $srv::binary]
        wait_for_condition 10 {[string match "*Ready to accept*" [server_log $dir]]}
        set c [RespClient new $port]
        assert_equal {timeout 21} [$c CONFIG GET timeout]
        catch {$c SHUTDOWN NOSAVE}
        $c destroy
        wait_for_condition 5 {[catch {exec kill -0 $pid}]}
    }
}

# ---- valkey.conf ------------------------------------------------------------------------------------------------

set valkey_conf [file join [file dirname [file normalize [info script]]] .. .. valkey.conf]

# Returns the option lines of valkey.conf, most of them in comments: those from a line of "#" alone up to an empty line.
proc conf_options {text} {
    set options {}
    set inside 0
    foreach line [lrange [split $text \n] [lsearch -glob [split $text \n] "# ====*"] end] {
        if {$line eq "#"} {
            set inside 1
        } elseif {$line eq ""} {
            set inside 0
        } elseif {$inside} {
            lappend options [regsub {^# } $line ""]
        }
    }
    return $options
}

# Returns CONFIG GET * of a server started with this file, or none, without values that depend on the place.
proc settings_of {text} {
    set dir [make_server_dir]
    set port [free_port]
    set arguments [list --port $port --bind 127.0.0.1 --pidfile ""]
    if {$text ne ""} {
        write_file $dir/valkey.conf $text
        set arguments [list $dir/valkey.conf {*}$arguments]
    }
    set server [dict create dir $dir port $port expect_exit 0 pid [launch $dir $arguments]]
    await_ready $server
    set c [RespClient new $port]
    set settings [$c CONFIG GET *]
    $c destroy
    assert_equal {} [stop_server $server]
    return [dict remove $settings dir port bind]
}

test "valkey.conf changes nothing, and its options, uncommented, are the defaults" {
    set text [read_file $valkey_conf]
    set options [lsearch -all -inline -not -regexp [conf_options $text] {^(include|rename-command|replicaof|port|bind) }]
    assert {[llength $options] > 150}
    set defaults [settings_of ""]
    foreach given [list $text [join $options \n]] {
        set wrong {}
        dict for {name value} [settings_of $given] {
            if {$value ne [dict get $defaults $name]} {
                lappend wrong "$name: $value, not [dict get $defaults $name]"
            }
        }
        assert_equal {} $wrong
    }
}

test "Lines of valkey.conf that packages edit are there once, and an edited file starts" {
    set text [read_file $valkey_conf]
    set dir [make_server_dir]
    set port [free_port]
    file mkdir $dir/data
    foreach {line edited} [list "bind 127.0.0.1 -::1" "bind 127.0.0.1" "protected-mode yes" "protected-mode no" \
        "port 6379" "port $port" "daemonize no" "daemonize no" "pidfile /var/run/valkey_6379.pid" "pidfile $dir/pid" \
        "loglevel notice" "loglevel verbose" {logfile ""} "logfile $dir/data/log" "databases 16" "databases 4" \
        "dbfilename dump.rdb" "dbfilename other.rdb" "dir ./" "dir $dir/data" "appendonly no" "appendonly yes"] {
        # Some packages replace the value wherever it stands, and others the whole line.
        set name [lindex [split $line] 0]
        assert_equal "1 $line" "[regsub -all -line "^$name .*$" $text $edited text] $line"
    }
    foreach value {/var/run/valkey_6379.pid "dir ./"} {
        assert_equal 1 [regexp -all -- $value [read_file $valkey_conf]]
    }
    write_file $dir/valkey.conf $text
    set server [dict create dir $dir port $port expect_exit 0 pid [launch $dir [list $dir/valkey.conf]]]
    wait_for_condition 10 {![catch {set c [RespClient new $port]}]}
    foreach {name value} [list dir $dir/data databases 4 dbfilename other.rdb appendonly yes loglevel verbose \
        protected-mode no bind 127.0.0.1] {
        assert_equal [list $name $value] [$c CONFIG GET $name]
    }
    assert_equal [dict get $server pid] [string trim [read_file $dir/pid]]
    assert {[file exists $dir/data/log]}
    $c destroy
    assert_equal {} [stop_server $server]
    assert {![file exists $dir/pid]}
}

start_server {} {
    test "valkey.conf names every option but the older names" {
        set named [list dir port bind]
        foreach line [conf_options [read_file $valkey_conf]] {
            lappend named [lindex [split $line] 0]
        }
        set missing {}
        foreach name [dict keys [r CONFIG GET *]] {
            if {$name ni $named && ![regexp {_|slave|^master|ziplist|^slowlog-|^lua-time-limit$} $name]} {
                lappend missing $name
            }
        }
        assert_equal {} $missing
    }
}

test "The log of a start names options that nothing reads, when they were set" {
    set dir [make_server_dir]
    set port [free_port]
    write_file $dir/valkey.conf "port $port\nbind 127.0.0.1\nhz 20\ncluster-slot-migration-log-max-len 7\nslot-migration-max-failover-repl-bytes 3\ncluster-node-timeout 3\nignore-warnings \"\"\n\
        enable-debug-assert yes\nbind-source-addr 127.0.0.1\nlocale-collate C\n"
    set server [dict create dir $dir port $port expect_exit 0 pid [launch $dir [list $dir/valkey.conf]]]
    await_ready $server
    set log [server_log $dir]
    assert_equal {} [stop_server $server]
    assert_match "*cluster-slot-migration-log-max-len*" $log
    assert_match "*slot-migration-max-failover-repl-bytes*" $log
    assert_match "*enable-debug-assert*" $log
    foreach name {ignore-warnings bind-source-addr locale-collate cluster-node-timeout} {
        assert_no_match "*$name*" $log
    }
    assert_no_match "* hz*" $log
}

test "A bad line ends the server with its number and text" {
    set output [refused "hz 10\n\nnosuchsetting 1\n"]
    assert_match "*\n*** FATAL CONFIG FILE ERROR (*) ***\nReading the configuration file, at line 3\n>>> 'nosuchsetting 1'\nBad directive or wrong number of arguments\n*" \n$output
}

foreach {text why} {
    "port abc"                 "argument couldn't be parsed into an integer"
    "port 99999"               "argument must be between 0 and 65535 inclusive"
    "appendonly perhaps"       "argument must be 'yes' or 'no'"
    "maxmemory ten"            "argument must be a memory value"
    "hz"                       "wrong number of arguments"
    "hz 1 2"                   "wrong number of arguments"
    "loglevel nope"            "argument(s) must be one of the following: debug, verbose, notice, warning, nothing"
    "requirepass \"open"       "Unbalanced quotes in configuration line"
    "shutdown-on-sigint"       "argument(s) must be one of the following: default, save, nosave, now, force, safe, failover"
    "oom-score-adj-values"     "wrong number of arguments"
    "replicaof ''"             "wrong number of arguments"
    "replicaof a 12x"          "Invalid primary port"
    "user"                     "Bad directive or wrong number of arguments"
    "user anna on (~x"         "Error in user declaration 'anna': Wrong format"
    "user anna on ~x y"        "Error in user declaration 'anna': Syntax error"
    {cluster-announce-ip "a\x00b"} "cluster-announce-ip contains invalid character"
} {
    test "In a file '$text' is refused: $why" {
        set output [refused "$text\n"]
        assert_match "*Reading the configuration file, at line 1\n>>> *" $output
        assert {[string first $why $output] >= 0}
    }
}

test "A file that is not there ends the server" {
    lassign [run_to_end {/nonexistent/valkey.conf}] code output
    assert_equal 1 $code
    assert_match "*Fatal error, can't open config file '/nonexistent/valkey.conf': No such file or directory*" $output
}

test "A bad option of the command line ends the server" {
    lassign [run_to_end {--nosuchoption 1}] code output
    assert_equal 1 $code
    assert_match "*FATAL CONFIG FILE ERROR*'nosuchoption \"1\"'*Bad directive or wrong number of arguments*" $output
}
