# cli_hotkeys.tcl -- valkey-cli --hotkeys: uses HOTKEYS if the server has it, and reads the counters key by key
# otherwise.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]

proc bulk {text} {
    return "\$[string length $text]\r\n$text\r\n"
}

# Returns an array reply of words; numbers become integers and words in braces arrays.
proc array_of {args} {
    set out "*[llength $args]\r\n"
    foreach word $args {
        if {[string is integer -strict $word]} {
            append out ":$word\r\n"
        } elseif {[string match "\\*\[0-9\]*" $word]} {
            append out $word
        } else {
            append out [bulk $word]
        }
    }
    return $out
}

# The reply of Redis 8.6.
set counted [string trimright [array_of [array_of tracking-active 1 sample-ratio 1 \
    all-commands-all-slots-us 200 net-bytes-all-commands-all-slots 1000 \
    collection-duration-ms 1500 total-net-bytes 1000 by-cpu-time-us [array_of hot 150 "a\nb" 30] \
    by-net-bytes [array_of "a\nb" 900 hot 50]]] "\r\n"]
set known [string trimright [array_of [array_of hotkeys -2]] "\r\n"]

# Runs BODY with a server that has HOTKEYS and replies by RULES first; its port is in `port`, and asked{} returns its
# requests.
proc with_counter {rules body} {
    lassign [fake_server {*}$rules "command info hotkeys" $::known "hotkeys get" $::counted] ::port pid ::log
    try {
        uplevel #0 $body
    } finally {
        exec kill $pid
    }
}

proc asked {} {
    set commands {}
    foreach line [split [string trimright [read_file $::log]] \n] {
        if {![string match "command info*" $line]} {lappend commands $line}
    }
    return $commands
}

start_server {each {r FLUSHALL}} {
    if {![file executable $cli]} {
        test "valkey-cli is there" {skip "no $cli"}
        return
    }

    test "A server that counts is asked to, for the time of -i" {
        with_counter {} {
            lassign [cli_at $port --hotkeys -i 0.05] code out err
            assert_equal {0 {}} [list $code $err]
            assert_equal {{hotkeys start metrics 2 cpu net count 16 duration 6} {hotkeys get} {hotkeys stop} {hotkeys reset}} [asked]
            assert_match "*-------- Summary --------\n\nCounted for 1.5 s: 200 us of CPU in commands, 1000 bytes on the network\n*" $out
            assert_match "*
hot key found with cpu us: 150 (75.00%)\tkeyname: \"hot\"
hot key found with cpu us: 30 (15.00%)\tkeyname: \"a\\\\nb\"

hot key found with net bytes: 900 (90.00%)\tkeyname: \"a\\\\nb\"
hot key found with net bytes: 50 (5.00%)\tkeyname: \"hot\"
" $out
        }
    }

    test "It keeps 64 keys at most" {
        with_counter {} {
            cli_at $port --hotkeys-count 1000 -i 0.01
            assert_match "*count 64 *" [lindex [asked] 0]
            cli_at $port --hotkeys-count 3 -i 0.01
            assert_match "*count 3 *" [lindex [asked] 4]
        }
    }

    test "Somebody else's count is shown and left alone" {
        with_counter {"hotkeys start*" "-ERR hotkey tracking session already in progress"} {
            lassign [cli_at $port --hotkeys -i 100] code out
            assert_equal 0 $code
            assert_match "*cpu us: 150*" $out
            assert_equal {{hotkeys get}} [lrange [asked] 1 end]
        }
    }

    test "A refusal, and a count that has gone, are told" {
        with_counter {"hotkeys start*" "-NOPERM no"} {
            assert_equal [list 1 "" "HOTKEYS START failed: NOPERM no\n"] [cli_at $port --hotkeys]
        }
        with_counter {"hotkeys get" "\$-1"} {
            assert_match "1 *HOTKEYS has no result: *" [cli_at $port --hotkeys -i 0.01]
        }
    }

    test "Options of a walk choose the walk" {
        with_counter {"dbsize" ":1" "scan 0 match k* count 5" "*2\r\n\$1\r\n0\r\n*1\r\n\$2\r\nk1" "object freq k1" ":7"} {
            assert_match "*hot key found with counter: 7\tkeyname: \"k1\"\n" [lindex [cli_at $port --hotkeys --pattern k* --count 5] 1]
            assert_equal {dbsize {scan 0 match k* count 5} {object freq k1}} [asked]
        }
    }

    test "A server without HOTKEYS is asked key by key" {
        r MSET k1 x k2 x
        r CONFIG SET maxmemory-policy noeviction
        assert_match "1 *An LFU maxmemory policy is not selected*" [cli_at [srv port] --hotkeys --pattern *]
        r CONFIG SET maxmemory-policy allkeys-lfu
        set out [lindex [cli_at [srv port] --hotkeys-count 1 --pattern *] 1]
        assert_regexp {Sampled 2 keys in the keyspace!\nhot key found with counter: \d+\tkeyname: "k[12]"\n$} $out
        r CONFIG SET maxmemory-policy noeviction
    }

    test "What this server counts is shown" {
        need_command HOTKEYS
        lassign [cli_at [srv port] --hotkeys -i 0.1] code out err
        assert_equal {0 {}} [list $code $err]
        assert_match "*Counted for *" $out
    }
}
