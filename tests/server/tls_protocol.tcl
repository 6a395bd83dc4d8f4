# tls_protocol.tcl -- TLS with openssl s_client and faulty peers: renegotiation, compression, sessions, garbage.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $::support certificates.tcl]
if {[auto_execok openssl] eq ""} {
    test "The protocol of TLS" {
        skip "the openssl program is needed (deps/install --dev)"
    }
    return
}

set certs [file join $srv::root certs]
certificates::authority $certs
certificates::pair $certs server {extensions {"subjectAltName=DNS:localhost"}}

# Returns the output of openssl for a connection on which INPUT is sent.
proc s_client {input args} {
    catch {exec timeout 20 openssl s_client -connect 127.0.0.1:[config_value tls-port] \
        -CAfile $::certs/ca.crt {*}$args <<$input 2>@1} text
    return $text
}

# Opens a plain socket to the TLS port, for bytes that are not TLS.
proc raw {} {
    set channel [socket 127.0.0.1 [config_value tls-port]]
    fconfigure $channel -translation binary -buffering none
    return $channel
}

# Returns the bytes of a ClientHello, taken from openssl by a listener that never responds.
proc client_hello {} {
    set ::hello ""
    set listener [socket -server {apply {{channel args} {
        fconfigure $channel -translation binary -blocking 0
        fileevent $channel readable [list apply {{channel} {
            append ::hello [read $channel]
            if {[string length $::hello] >= 5} {
                binary scan $::hello @3Su length
                if {[string length $::hello] >= 5 + $length} {
                    close $channel
                    set ::complete 1
                }
            }
        }} $channel]
    }}} -myaddr 127.0.0.1 0]
    set port [lindex [fconfigure $listener -sockname] 2]
    exec timeout 20 openssl s_client -connect 127.0.0.1:$port </dev/null >/dev/null 2>/dev/null &
    vwait ::complete
    close $listener
    return $::hello
}

start_server [list overrides [certificates::settings $certs tls-auth-clients no]] {
    test "Nothing is compressed, and nothing negotiated again" {
        foreach version {-tls1_2 -tls1_3} {
            assert_match "*Compression: NONE*" [s_client "" $version -comp]
        }
        assert_match "*no renegotiation*" [s_client "R\n" -tls1_2]
        assert_equal PONG [r PING]
    }

    test "A session is taken up again if the settings allow it, and not else" {
        set file [file join $srv::root session]
        foreach {caching words} {yes "*Reused, TLSv1.2*" no "*New, TLSv1.2*"} {
            with_config [list tls-session-caching $caching] {
                s_client "" -tls1_2 -sess_out $file
                assert_match $words [s_client "" -tls1_2 -sess_in $file]
            }
        }
    }

    test "Sessions of TLS 1.3 are resumed by whichever thread makes the handshake" {
        set resumed [info_field tls_handshakes_resumed tls]
        set completed [info_field tls_handshakes_completed tls]
        # Waits for the ticket, which follows the handshake.
        exec python3 [file join $::support tls_sessions.py] [config_value tls-port] $::certs/ca.crt 10
        wait_for_condition 10 {[info_field tls_handshakes_completed tls] == $completed + 11}
        assert_equal 10 [expr {[info_field tls_handshakes_resumed tls] - $resumed}]
        with_config {tls-session-caching no} {
            exec python3 [file join $::support tls_sessions.py] [config_value tls-port] $::certs/ca.crt 10
            wait_for_condition 10 {[info_field tls_handshakes_completed tls] == $completed + 22}
        }
        assert_equal 10 [expr {[info_field tls_handshakes_resumed tls] - $resumed}]
    }

    test "A handshake that is cut off anywhere, or damaged, ends its own connection only" {
        set hello [client_hello]
        set length [string length $hello]
        assert {$length > 100}
        for {set cut 0} {$cut < $length} {incr cut 7} {
            set channel [raw]
            puts -nonewline $channel [string range $hello 0 $cut]
            close $channel
        }
        set seed 4711
        for {set i 0} {$i < 100} {incr i} {
            set seed [expr {($seed * 1103515245 + 12345) & 0x7fffffff}]
            set at [expr {$seed % $length}]
            set damaged [string replace $hello $at $at [format %c [expr {($seed >> 8) & 255}]]]
            set channel [raw]
            puts -nonewline $channel $damaged
            puts -nonewline $channel [string repeat "\xff" 64]
            close $channel
        }
        assert_equal PONG [r PING]
        wait_for_condition 20 {[info_field connected_clients] == 1}
    }

    test "Garbage behind the hello ends the connection" {
        set channel [raw]
        puts -nonewline $channel "[client_hello][string repeat \xff 100]"
        read $channel
        assert [eof $channel]
        close $channel
        wait_for_condition 20 {[string match "*Error accepting a client connection: *" [srv log]]}
    }

    # Opens connections that ask for a handshake, while the server is stopped, so that they wait in the kernel.
    set tls_port [config_value tls-port]
    proc asking {count hello} {
        set channels {}
        for {set i 0} {$i < $count} {incr i} {
            set channel [socket 127.0.0.1 $::tls_port]
            fconfigure $channel -translation binary -buffering none
            puts -nonewline $channel $hello
            lappend channels $channel
        }
        return $channels
    }

    # Runs BODY while the server is stopped.
    proc while_stopped {body} {
        exec kill -STOP [srv pid]
        try {
            uplevel 1 $body
        } finally {
            exec kill -CONT [srv pid]
        }
    }

    proc handshakes {what} {
        return [info_field tls_handshakes_$what tls]
    }

    # Asserts that all of these connections are answered by a ServerHello, or all closed without a byte.
    proc assert_answers {expected channels} {
        foreach channel $channels {
            assert_equal $expected [read $channel 3]
            close $channel
        }
    }

    test "Handshakes of clients that have gone are not begun" {
        set hello [client_hello]
        r CONFIG RESETSTAT
        while_stopped {
            foreach channel [asking 30 $hello] {
                close $channel
            }
            set staying [asking 10 $hello]
        }
        assert_answers "\x16\x03\x03" $staying
        wait_for_condition 10 {[handshakes dropped_gone] == 30}
        assert_equal {10 0 0} [list [handshakes begun] [handshakes dropped_late] [handshakes waiting]]
        assert_match "*Dropped a TLS handshake: the peer has closed the connection before its turn (addr=127.0.0.1:*" [srv log]
        assert_equal PONG [r PING]
    }

    test "If many wait, none that has waited longer than tls-handshake-max-wait is begun" {
        r CONFIG RESETSTAT
        with_config {tls-handshake-max-wait 400} {
            while_stopped {
                set late [asking 100 $hello]
                after 500
                set in_time [asking 20 $hello]
            }
            assert_answers "\x16\x03\x03" $in_time
            set begun 0
            foreach channel $late {
                incr begun [expr {[read $channel 3] ne ""}]
                close $channel
            }
            # Few may wait when the server finds the first of them, and again at the end.
            assert {$begun < 20}
        }
        assert_equal [expr {20 + $begun}] [handshakes begun]
        assert_equal [expr {100 - $begun}] [handshakes dropped_late]
        assert_equal 0 [handshakes dropped_gone]
        assert_match "*Dropped a TLS handshake: *" [srv log]
    }

    test "Handshakes are begun however late, if few wait or without a limit" {
        foreach {limit count} {100 4 0 50} {
            with_config [list tls-handshake-max-wait $limit] {
                while_stopped {
                    set patient [asking $count $hello]
                    after 300
                }
                assert_answers "\x16\x03\x03" $patient
            }
        }
    }

    test "Clients that connect long before their handshake are not late" {
        r CONFIG RESETSTAT
        with_config {tls-handshake-max-wait 200} {
            set early [asking 50 ""]
            after 300
            foreach channel $early {
                puts -nonewline $channel $hello
            }
            assert_answers "\x16\x03\x03" $early
        }
        assert_equal 0 [handshakes dropped_late]
    }

    test "A handshake of single bytes is answered when it is whole" {
        set channel [raw]
        foreach byte [split [client_hello] ""] {
            puts -nonewline $channel $byte
        }
        assert_equal "\x16\x03\x03" [read $channel 3]
        close $channel
    }
}
