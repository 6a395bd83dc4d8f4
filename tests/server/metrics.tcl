# metrics.tcl -- the metrics port: figures equal to INFO, HTTP, permissions, the cost for main.
#
# SPDX-License-Identifier: BSD-3-Clause

# Opens a connection to the metrics port in use. Its number is not requested from the server, as main may be busy.
proc web_connect {{address 127.0.0.1}} {
    set channel [socket $address $::web_port]
    fconfigure $channel -translation binary -buffering none
    return $channel
}

# Sends TEXT and returns the response until the connection ends.
proc web {text {address 127.0.0.1}} {
    set channel [web_connect $address]
    puts -nonewline $channel $text
    set answer [read $channel]
    close $channel
    return $answer
}

proc web_get {path {fields ""} {address 127.0.0.1}} {
    return [web "GET $path HTTP/1.1\r\nHost: a\r\nConnection: close\r\n$fields\r\n" $address]
}

proc status_of {answer} {
    return [lindex [split [lindex [split $answer \r] 0]] 1]
}

proc body_of {answer} {
    return [string range $answer [string first \r\n\r\n $answer]+4 end]
}

# Returns the next response on a channel that is kept alive.
proc next_answer {channel} {
    set head ""
    while {[gets $channel line] >= 0 && $line ne "\r"} {
        append head $line \n
    }
    regexp -nocase {content-length: (\d+)} $head -> length
    return [list $head [read $channel $length]]
}

proc scrape {{fields ""}} {
    set answer [web_get /metrics $fields]
    assert_equal 200 [status_of $answer]
    return [body_of $answer]
}

# Returns the samples of a text: {name{labels} value ...}
proc samples_of {text} {
    set samples {}
    foreach line [split $text \n] {
        if {$line ne "" && [string index $line 0] ne "#"} {
            set at [string last " " $line]
            dict set samples [string range $line 0 $at-1] [string range $line $at+1 end]
        }
    }
    return $samples
}

proc sample {name} {
    set samples [samples_of [scrape]]
    if {![dict exists $samples $name]} {
        fail "no sample $name"
    }
    return [dict get $samples $name]
}

# Returns a scrape whose figures were taken after this call began.
proc fresh_scrape {} {
    set begun [lindex [r TIME] 0].[format %06d [lindex [r TIME] 1]]
    set limit [patience::start 20 {*}[server_pids]]
    while {1} {
        set text [scrape "Accept: application/openmetrics-text\r\n"]
        if {[dict get [samples_of $text] valkey_snapshot_timestamp_seconds] > $begun} {
            return $text
        }
        if {[patience::over $limit]} {
            fail "no new figures"
        }
        after 20
    }
}

# Returns addresses of this machine other than loopback.
proc other_addresses {} {
    set found {}
    set before ""
    foreach line [split [read_file /proc/net/fib_trie] \n] {
        if {[string match "*/32 host LOCAL*" $line] && ![string match 127.* $before]} {
            lappend found $before
        }
        regexp {(\d+\.\d+\.\d+\.\d+)} $line -> before
    }
    return $found
}

start_server {} {
    test "The metrics port is off unless it is asked for" {
        assert_equal {metrics-bind {127.0.0.1 -::1} metrics-names valkey metrics-port 0} [lsort -stride 2 [r CONFIG GET metrics-*]]
    }
}

set web_port [free_port]
start_server [list overrides [list metrics-port $web_port]] {

    test "Each number of INFO is there, with its value" {
        r SET key value
        r SET other value EX 1000
        r SELECT 9
        r GET key
        r SELECT 0
        catch {r NOSUCH}
        set before [r INFO everything]
        set text [fresh_scrape]
        set after [r INFO everything]
        set samples [samples_of $text]

        # The HELP of each family has its INFO field, and the divisor.
        foreach {whole name field scale} [regexp -all -inline -line {^# HELP (\S+) .*\(INFO: (\S+)(?: / (\d+))?\)$} $text] {
            set type [lindex [regexp -inline -line "^# TYPE $name (\\S+)$" $text] 1]
            dict set families $field [list $name[expr {$type eq "counter" ? "_total" : ""}] $type [expr {$scale eq "" ? 1 : $scale}]]
        }
        set count 0
        foreach line [split $before \n] {
            set line [string trim $line]
            set at [string first : $line]
            set field [string range $line 0 $at-1]
            set value [string trimright [string range $line $at+1 end] %]
            if {![regexp {^-?\d+(\.\d+)?$} $value] || $field in {redis_git_sha1 redis_git_dirty master_replid2} ||
                [string match *_human $field] || $field in {arch_bits uptime_in_days}} continue ;# a label; in seconds
            incr count
            if {![dict exists $families $field]} {
                fail "no family for $field"
            }
            lassign [dict get $families $field] name type scale
            set got [expr {[dict get $samples $name] * $scale}]
            set later [string trimright [field_of $after $field] %]
            if {$type eq "counter"} {
                assert {$got >= $value - 1e-3 && $got <= $later + 1e-3}
            } elseif {$value == $later && ![regexp {memory|mem_|allocator|rss|instantaneous|recent_max} $field]} {
                assert_equal "$field [expr {$value * 1.0}]" "$field [expr {$got * 1.0}]"
            }
        }
        assert {$count > 150}
        assert_equal 2 [dict get $samples {valkey_db_keys{db="0"}}]
        assert_equal 1 [dict get $samples {valkey_db_expires{db="0"}}]
        assert_equal 2 [dict get $samples {valkey_command_calls_total{cmd="set"}}]
        assert_equal 2 [dict get $samples {valkey_command_duration_seconds_count{cmd="set"}}]
        assert_equal 1 [dict get $samples {valkey_errors_total{err="ERR"}}]
        assert {[dict exists $samples {valkey_thread_busy_seconds_total{thread="main"}}]}
        assert_match {*valkey_replication_info{role="master",*} 1*} $text
        assert_match "*\n# EOF\n" $text
    }

    test "The older format is for who does not ask for OpenMetrics" {
        set answer [web_get /metrics]
        assert_match "*\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n*" $answer
        assert_match "*\n# TYPE valkey_keyspace_hits_total counter\nvalkey_keyspace_hits_total *" $answer
        assert_no_match "*# EOF*" $answer
        set answer [web_get /metrics "Accept: application/openmetrics-text;version=1.0.0\r\n"]
        assert_match "*\r\nContent-Type: application/openmetrics-text; version=1.0.0; charset=utf-8\r\n*" $answer
        assert_match "*\n# TYPE valkey_keyspace_hits counter\nvalkey_keyspace_hits_total *" $answer
    }

    test "With metrics-names redis the figures have the names of the common exporter" {
        r SET key value
        r CONFIG SET maxmemory 1gb
        fresh_scrape
        with_config {metrics-names redis} {
            set text [scrape]
            assert_no_match "*valkey_*" [regsub -all {valkey_version|valkey_release_stage|/valkey-server} $text ""]
            set samples [samples_of $text]
            foreach name {redis_up redis_uptime_in_seconds redis_start_time_seconds redis_connected_clients
                redis_blocked_clients redis_memory_used_bytes redis_memory_used_rss_bytes redis_memory_used_peak_bytes
                redis_memory_max_bytes redis_mem_fragmentation_ratio redis_commands_processed_total
                redis_commands_total{cmd="set"} redis_commands_duration_seconds_total{cmd="set"}
                redis_commands_rejected_calls_total{cmd="set"} redis_commands_failed_calls_total{cmd="set"}
                redis_commands_latencies_usec_count{cmd="set"} redis_keyspace_hits_total redis_keyspace_misses_total
                redis_net_input_bytes_total redis_net_output_bytes_total redis_db_keys{db="db0"}
                redis_db_keys_expiring{db="db0"} redis_db_avg_ttl_seconds{db="db0"} redis_expired_keys_total
                redis_evicted_keys_total redis_connected_slaves redis_cpu_sys_seconds_total redis_cpu_user_seconds_total
                redis_rdb_changes_since_last_save redis_rdb_last_save_timestamp_seconds redis_rdb_last_bgsave_status
                redis_aof_enabled redis_loading_dump_file redis_rejected_connections_total
                redis_connections_received_total redis_pubsub_channels redis_pubsub_patterns
                redis_replication_backlog_bytes redis_config_maxclients redis_config_maxmemory
                redis_exporter_scrapes_total} {
                if {![dict exists $samples $name]} {
                    fail "no sample $name"
                }
            }
            assert_match {*redis_instance_info{role="master",redis_version="7.2.4",redis_mode="standalone",*} 1*} $text
            assert_equal 1073741824 [dict get $samples redis_memory_max_bytes]
            assert {abs([clock seconds] - [dict get $samples redis_uptime_in_seconds] \
                - [dict get $samples redis_start_time_seconds]) <= 3}
            assert_match "*\nvalkey_up 1\n*" [body_of [web_get /metrics?names=valkey]]
        }
        assert_match "*\nvalkey_up 1\n*" [scrape]
        assert_match "*\nredis_up 1\n*" [body_of [web_get /metrics?names=redis]]
        r CONFIG SET maxmemory 0
    }

    test "HEAD tells the length of what GET has" {
        set head [web "HEAD /metrics HTTP/1.0\r\n\r\n"]
        assert_equal 200 [status_of $head]
        assert_equal "" [body_of $head]
        assert_regexp {Content-Length: \d{5}} $head
    }

    foreach {what request status} {
        "a path that is not there" "GET /nosuch HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n" 404
        "a method that nobody needs" "DELETE /metrics HTTP/1.1\r\nHost: a\r\n\r\n" 405
        "a body" "GET /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello" 413
        "no Host" "GET /metrics HTTP/1.1\r\n\r\n" 400
        "a command of the other port" "*1\r\n\$4\r\nPING\r\n" 400
        "another version" "GET /metrics HTTP/3.0\r\n\r\n" 505
    } {
        test "The status for $what is $status" {
            set answer [web [subst -nocommands -novariables $request]]
            assert_equal $status [status_of $answer]
            assert_match "*\r\nConnection: close\r\n*" $answer
        }
    }

    test "What is too long is refused before it has ended" {
        assert_equal 414 [status_of [web "GET /[string repeat a 5000]"]]
        assert_equal 431 [status_of [web "GET / HTTP/1.1\r\nHost: a\r\nlong: [string repeat a 9000]"]]
    }

    test "Requests in one piece are answered one after the other" {
        set one "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
        set all [web "[string repeat $one 20]GET /end HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n$one"]
        assert_equal 20 [regexp -all {HTTP/1.1 200 OK} $all]
        assert_equal 1 [regexp -all {HTTP/1.1 404 } $all]
        assert_equal 20 [regexp -all -line {^valkey_up 1$} $all]
    }

    test "Who does not read keeps nobody from it, and has it all in the end" {
        set slow [web_connect]
        fconfigure $slow -blocking 0
        puts -nonewline $slow "[string repeat "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n" 60]GET / HTTP/1.0\r\n\r\n"
        for {set i 0} {$i < 20} {incr i} {
            scrape
        }
        fconfigure $slow -blocking 1
        set all [read $slow]
        close $slow
        assert_equal 61 [regexp -all {HTTP/1.1 200 OK} $all]
    }

    test "Main takes figures once a second at most, however many look" {
        set channel [web_connect]
        foreach round {first last} {
            for {set i 0} {$i < 500} {incr i} {
                puts -nonewline $channel "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n"
                lassign [next_answer $channel] head body
                if {[string match -nocase "*connection: close*" $head]} {
                    close $channel ;# a burst of requests lasts 20 s at most, and these take longer on a loaded machine
                    set channel [web_connect]
                }
                if {$i == 0 && $round eq "first"} {
                    set first [samples_of $body]
                }
            }
        }
        close $channel
        set last [samples_of $body]
        foreach name {valkey_snapshots_total valkey_snapshot_timestamp_seconds} {
            set $name [expr {[dict get $last $name] - [dict get $first $name]}]
        }
        assert {$valkey_snapshots_total <= $valkey_snapshot_timestamp_seconds + 1}
    }

    test "While main is busy the last figures are told" {
        scrape
        with_clients {sleeper} {
            $sleeper send DEBUG SLEEP 3
            set oldest 0
            set limit [patience::start 20 {*}[server_pids]]
            while {$oldest < 1.2 && ![patience::over $limit]} {
                set taken [sample valkey_snapshot_timestamp_seconds]
                set oldest [expr {max($oldest, [clock milliseconds] / 1000.0 - $taken)}]
            }
            assert_equal OK [$sleeper reply]
            assert {$oldest >= 1.2}
        }
    }

    test "The page is served with a policy that allows what stands in it" {
        set answer [web_get /]
        assert_equal 200 [status_of $answer]
        assert_match "*\r\nContent-Type: text/html; charset=utf-8\r\n*" $answer
        assert_match "*\r\nX-Content-Type-Options: nosniff\r\n*" $answer
        assert_regexp {Content-Security-Policy: default-src 'none'; .*script-src 'sha256-.{43}='; style-src 'sha256-} $answer
        regexp {ETag: (\S+)} $answer -> tag
        assert_equal 304 [status_of [web_get / "If-None-Match: $tag\r\n"]]
        assert_equal 200 [status_of [web_get / "If-None-Match: \"other\"\r\n"]]
    }

    # ---- Permissions -----

    test "With a password a user's name and password are asked for" {
        with_config {requirepass secret} {
            wait_for_condition 10 {[status_of [web_get /metrics]] == 401}
            assert_match "*\r\nWWW-Authenticate: Basic realm=\"valkey\"*" [web_get /metrics]
            assert_equal 401 [status_of [web_get / "Authorization: Basic [binary encode base64 default:wrong]\r\n"]]
            assert_equal 200 [status_of [web_get /metrics "Authorization: Basic [binary encode base64 default:secret]\r\n"]]
            assert_equal 401 [status_of [web_get /nosuch]]
        }
        wait_for_condition 10 {[status_of [web_get /metrics]] == 200}
    }

    test "A user looks who may run INFO, and as long as there is one" {
        with_config {requirepass secret} {
            set may "Authorization: Basic [binary encode base64 collector:word]\r\n"
            r ACL SETUSER collector on >word +info
            wait_for_condition 10 {[status_of [web_get /metrics $may]] == 200}
            r ACL SETUSER collector -info +get
            wait_for_condition 10 {[status_of [web_get /metrics $may]] == 403}
            r ACL SETUSER collector +info
            wait_for_condition 10 {[status_of [web_get /metrics $may]] == 200}
            r ACL DELUSER collector
            wait_for_condition 10 {[status_of [web_get /metrics $may]] == 401}
        }
        wait_for_condition 10 {[status_of [web_get /metrics]] == 200}
    }

    test "Keys that HOTKEYS has found are shown to who may ask it" {
        set of_key {valkey_hot_key_net_bytes{key="a\\x00b"}}
        assert_equal 0 [dict exists [samples_of [fresh_scrape]] $of_key]
        r HOTKEYS START METRICS 2 CPU NET
        r SET a\x00b [string repeat v 1000]
        wait_for_condition 10 {[dict exists [samples_of [fresh_scrape]] $of_key]}
        assert_equal [lindex [dict get [lindex [r HOTKEYS GET] 0] by-net-bytes] 1] \
            [dict get [samples_of [fresh_scrape]] $of_key]
        with_config {requirepass secret} {
            set may "Authorization: Basic [binary encode base64 collector:word]\r\n"
            r ACL SETUSER collector on >word +info
            wait_for_condition 10 {[status_of [web_get /metrics $may]] == 200}
            # Mostly of the same figures: one scrape for a user who may see keys, then one for a user who may not.
            set all "Authorization: Basic [binary encode base64 default:secret]\r\n"
            for {set i 0} {$i < 5} {incr i} {
                assert_match "*valkey_hot_key*" [scrape $all]
                assert_no_match "*valkey_hot_key*" [scrape $may]
            }
            r ACL SETUSER collector +hotkeys|get
            wait_for_condition 10 {[string match *valkey_hot_key_net_bytes* [scrape $may]]}
            r ACL DELUSER collector
        }
        r HOTKEYS STOP
        r HOTKEYS RESET
        wait_for_condition 10 {[status_of [web_get /metrics]] == 200}
        wait_for_condition 10 {![string match *valkey_hot_key* [fresh_scrape]]}
    }

    # ---- Where ----

    test "Protected mode turns away who comes from elsewhere, while there is no password" {
        set addresses [other_addresses]
        if {![llength $addresses]} {
            skip "this machine has no address but its loopback's"
        }
        set address [lindex $addresses 0]
        with_config {metrics-bind *} {
            set answer [web_get /metrics "" $address]
            assert_equal 403 [status_of $answer]
            assert_match "*Protected mode is on*" $answer
            scrape
            with_config {protected-mode no} {
                wait_for_condition 10 {[status_of [web_get /metrics "" $address]] == 200}
            }
            with_config {requirepass secret} {
                wait_for_condition 10 {[status_of [web_get /metrics "" $address]] == 401}
            }
        }
        assert {[catch {web_get /metrics "" $address}]}
    }

    test "Figures are taken while a dataset is loaded, too" {
        r FLUSHALL
        with_config {key-load-delay 1000 loading-process-events-interval-bytes 1024} {
            r DEBUG POPULATE 2500
            with_clients c {
                $c send DEBUG RELOAD
                wait_for_condition 10 {[sample valkey_loading] == 1}
                assert_equal OK [$c reply]
            }
        }
        wait_for_condition 10 {[sample valkey_loading] == 0}
    }

    test "The port can be changed, turned off and on while the server runs" {
        set old $::web_port
        set new [free_port]
        r CONFIG SET metrics-port $new
        assert {[catch {web_get /}]}
        set ::web_port $new
        scrape
        r CONFIG SET metrics-port 0
        assert {[catch {web_get /}]}
        set ::web_port $old
        r CONFIG SET metrics-port $old
        scrape
        assert_error "*Unable to open the metrics port*" {r CONFIG SET metrics-port [srv port]}
        assert_equal $old [config_value metrics-port]
        scrape
        assert_error "*metrics-bind needs at least one address*" {r CONFIG SET metrics-bind ""}
        assert_error "*Unable to open the metrics port*" {r CONFIG SET metrics-bind 192.0.2.1}
        scrape
    }
}
