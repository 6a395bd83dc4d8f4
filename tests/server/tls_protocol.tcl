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

    test "A handshake of single bytes is answered when it is whole" {
        set channel [raw]
        foreach byte [split [client_hello] ""] {
            puts -nonewline $channel $byte
        }
        assert_equal "\x16\x03\x03" [read $channel 3]
        close $channel
    }
}
