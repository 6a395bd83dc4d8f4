# tls.tcl -- TLS for clients and administrators: valid and invalid certificates, users by certificate, reload, many at
# once.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $::support certificates.tcl]
if {[catch {package require tls}] || [auto_execok openssl] eq ""} {
    test "TLS" {
        skip "the Tcl package tls and the openssl program are needed (deps/install --dev)"
    }
    return
}

set certs [file join $srv::root certs]
certificates::authority $certs
certificates::authority $certs other
certificates::pair $certs server {extensions {"subjectAltName=DNS:localhost" "extendedKeyUsage=serverAuth"}}
certificates::pair $certs second {subject /CN=second}
certificates::pair $certs locked {pass secret}
certificates::pair $certs alice {subject /CN=alice extensions {"subjectAltName=URI:urn:user:alice,URI:urn:user:second" \
    "extendedKeyUsage=clientAuth"}}
certificates::pair $certs nobody {subject /CN=nobody}
certificates::pair $certs stranger {subject /CN=alice by other}
certificates::pair $certs expired {subject /CN=alice days -1}

# Connects to the innermost server's TLS port; ARGS are those of tls::socket.
proc tls_connect {args} {
    global certs
    set channel [tls::socket -command tls_told -cafile $certs/ca.crt {*}$args 127.0.0.1 [config_value tls-port]]
    fconfigure $channel -blocking 1
    if {[catch {tls::handshake $channel} message]} {
        close $channel
        error $message
    }
    return [RespClient new -channel $channel]
}

proc as {name} {
    global certs
    return [list -certfile $certs/$name.crt -keyfile $certs/$name.key]
}

# Returns the reply to PING for a client with this certificate. Under TLS 1.3 it learns of a refusal after its own
# handshake.
proc answer {args} {
    if {[catch {
        set client [tls_connect {*}$args]
        set reply [$client PING]
        $client destroy
    } message]} {
        return refused
    }
    return $reply
}

# A client gets the error before it is logged.
proc assert_logged {pattern} {
    wait_for_condition 10 {[string match $pattern [srv log]]}
}

proc tls_server {settings body} {
    global certs
    set all [certificates::settings $certs {*}$settings]
    uplevel 1 [list start_server [list overrides $all] $body]
}

tls_server {} {
    set silent [socket 127.0.0.1 [config_value tls-port]] ;# used by the last of these tests
    set silent_since [clock milliseconds]

    test "A client with a certificate of the authority is served, all others are refused" {
        assert_equal PONG [answer {*}[as alice]]
        assert_equal PONG [answer {*}[as nobody]]
        assert_equal refused [answer]
        assert_equal refused [answer {*}[as stranger]]
        assert_equal refused [answer {*}[as expired]]
        assert_equal refused [answer {*}[as server]]
        assert_logged "*Error accepting a client connection: *peer did not return a certificate (addr=127.0.0.1:* laddr=127.0.0.1:*"
        assert_logged "*certificate has expired*"
        assert_logged "*unsuitable certificate purpose*"
    }

    test "tls-auth-clients no and optional" {
        with_config {tls-auth-clients no} {
            assert_equal PONG [answer]
            assert_equal PONG [answer {*}[as stranger]]
        }
        with_config {tls-auth-clients optional} {
            assert_equal PONG [answer]
            assert_equal PONG [answer {*}[as alice]]
            assert_equal refused [answer {*}[as stranger]]
        }
        assert_equal refused [answer]
    }

    test "INFO tells of the certificates and the listener" {
        assert_match {[0-9A-F]*} [info_field tls_server_cert_serial tls]
        assert_equal none [info_field tls_client_cert_serial tls]
        assert_match {[0-9A-F]*} [info_field tls_ca_cert_serial tls]
        set left [info_field tls_server_cert_expires_in_seconds tls]
        assert {$left > 9 * 86400 && $left <= 10 * 86400}
        assert_equal "name=tls,bind=127.0.0.1,port=[config_value tls-port]" [info_field listener2 server]
    }

    test "What is no TLS is closed with a word in the log" {
        set channel [socket 127.0.0.1 [config_value tls-port]]
        fconfigure $channel -translation binary -buffering none
        puts -nonewline $channel "PING\r\n"
        read $channel
        assert [eof $channel]
        close $channel
        wait_for_condition 5 {[string match "*Error accepting a client connection: *wrong version number*" [srv log]]}
    }

    test "Large requests and replies, and many small ones, arrive as they were sent" {
        set client [tls_connect {*}[as alice]]
        set value [string repeat "0123456789abcdef" 200000]
        assert_equal OK [$client SET large $value]
        assert_equal $value [$client GET large]
        foreach size {16383 16384 16385 40000} {
            $client SET key [string range $value 1 $size]
            $client pipeline [lrepeat 50 {GET key}]
            for {set i 0} {$i < 50} {incr i} {
                assert_equal [string range $value 1 $size] [$client reply]
            }
        }
        set count 5000
        $client pipeline [lrepeat $count {ECHO hello}]
        for {set i 0} {$i < $count} {incr i} {
            assert_equal hello [$client reply]
        }
        $client destroy
    }

    test "Requests that lie decrypted in a thread are not forgotten when their client moves" {
        set clients {}
        for {set i 0} {$i < 4} {incr i} {
            lappend clients [tls_connect {*}[as alice]]
        }
        set threads [config_value io-threads]
        foreach n {1 4 2 3 1} {
            set commands [lrepeat 1000 [list ECHO [string repeat x 100]]]
            foreach client $clients {
                $client pipeline $commands
            }
            r CONFIG SET io-threads $n
            foreach client $clients {
                for {set i 0} {$i < 1000} {incr i} {
                    assert_equal 100 [string length [$client reply]]
                }
            }
        }
        r CONFIG SET io-threads $threads
        foreach client $clients {
            $client destroy
        }
    }

    # Returns what a client gets that connects with openssl: the bytes that it sends are never executed.
    proc told {} {
        global certs
        catch {exec -ignorestderr timeout 10 openssl s_client -quiet -connect 127.0.0.1:[config_value tls-port] \
            -CAfile $certs/ca.crt -cert $certs/alice.crt -key $certs/alice.key << "SET told 1\r\n" 2>/dev/null} text
        return $text
    }

    test "maxclients holds for TLS, too, and a few clients are told so" {
        r PING
        r DEL told
        set before [info_field rejected_connections]
        set received [info_field total_connections_received]
        set connected [info_field connected_clients]
        with_config [list maxclients $connected] {
            assert_match "-ERR max number of clients reached*" [told]
            wait_for_condition 10 {[info_field connected_clients] == $connected}
            assert_equal refused [answer {*}[as alice]]
            wait_for_condition 10 {[info_field connected_clients] == $connected}
        }
        assert_equal 0 [r EXISTS told]
        assert_equal $received [info_field total_connections_received]
        assert_equal [expr {$before + 2}] [info_field rejected_connections]
    }

    test "Beyond a few in a second, and four at once, clients over maxclients cost no handshake" {
        set connected [info_field connected_clients]
        with_config [list maxclients $connected] {
            r CONFIG RESETSTAT
            set idle {}
            for {set i 0} {$i < 40} {incr i} {
                lappend idle [socket 127.0.0.1 [config_value tls-port]]
            }
            wait_for_condition 10 {[info_field rejected_connections] == 40}
            assert {[info_field connected_clients] <= $connected + 4}
            assert_equal refused [answer {*}[as alice]]
            assert_equal 0 [info_field tls_handshakes_begun tls]
            foreach channel $idle {
                close $channel
            }
            wait_for_condition 10 {[info_field connected_clients] == $connected}
        }
        assert_equal PONG [answer {*}[as alice]]
    }

    test "Others are served while many make their handshakes" {
        with_config {tls-auth-clients no tls-handshake-max-wait 0} {
            set count [expr {min(1000, [config_value maxclients] - 50)}]
            assert_equal $count [exec python3 [file join $::support tls_handshakes.py] [srv port] \
                [config_value tls-port] $certs/ca.crt $count]
        }
    }

    test "Protocols and ciphers are what the settings say" {
        proc version {args} {
            global certs
            catch {exec -ignorestderr openssl s_client -connect 127.0.0.1:[config_value tls-port] \
                -CAfile $certs/ca.crt -cert $certs/alice.crt -key $certs/alice.key {*}$args </dev/null 2>@1} text
            return $text
        }
        assert_match "*TLSv1.3, Cipher is*" [version]
        with_config {tls-protocols TLSv1.2} {
            assert_match "*TLSv1.2, Cipher is*" [version]
            assert_no_match "*TLSv1.3, Cipher is TLS*" [version -tls1_3]
        }
        with_config {tls-protocols TLSv1.3 tls-ciphersuites TLS_AES_128_GCM_SHA256} {
            assert_match "*Cipher is TLS_AES_128_GCM_SHA256*" [version]
            assert_no_match "*Cipher is ECDHE*" [version -tls1_2]
        }
        with_config {tls-ciphers ECDHE-ECDSA-AES128-GCM-SHA256} {
            assert_match "*Cipher is ECDHE-ECDSA-AES128-GCM-SHA256*" [version -tls1_2]
        }
    }

    test "A setting that does not fit is refused and changes nothing" {
        foreach {name value} [list tls-cert-file $certs/none.crt tls-key-file $certs/alice.key tls-protocols TLSv1.9 \
            tls-ciphers nonsense tls-ciphersuites nonsense tls-ca-cert-file $certs/none.crt tls-dh-params-file /nowhere] {
            set before [config_value $name]
            assert_error "ERR CONFIG SET failed (possibly related to argument '$name') - Unable to update TLS configuration. Check server logs." {
                r CONFIG SET $name $value
            }
            assert_equal $before [config_value $name]
            assert_equal PONG [answer {*}[as alice]]
        }
        assert_error "*argument(s) must be one of the following: no, yes, optional" {r CONFIG SET tls-auth-clients maybe}
    }

    test "A connection that begins no handshake is let go after half a minute" {
        fconfigure $silent -blocking 0
        wait_for_condition 60 {[read $silent] eq "" && [eof $silent]}
        assert {[clock milliseconds] - $silent_since >= 29000}
        close $silent
        assert_logged "*the TLS handshake timed out*"
    }
}

tls_server {tls-auth-clients-user CN} {
    test "A certificate's common name is a user, without a password" {
        r ACL SETUSER alice on >secret ~* &* +@all
        set client [tls_connect {*}[as alice]]
        assert_equal alice [$client ACL WHOAMI]
        $client destroy
        assert_equal 0 [info_field acl_access_denied_tls_cert]
    }

    test "Whoever is no user, or one switched off, is the default user and in ACL LOG" {
        r ACL LOG RESET
        set client [tls_connect {*}[as nobody]]
        assert_equal default [$client ACL WHOAMI]
        $client destroy
        assert_equal 1 [info_field acl_access_denied_tls_cert]
        set entry [lindex [r ACL LOG] 0]
        assert_equal tls-cert [dict get $entry reason]
        assert_equal toplevel [dict get $entry context]
        assert_equal "" [dict get $entry object]
        assert_equal nobody [dict get $entry username]
        r ACL SETUSER alice off
        set client [tls_connect {*}[as alice]]
        assert_equal default [$client ACL WHOAMI]
        $client destroy
        assert_equal 2 [info_field acl_access_denied_tls_cert]
        r ACL SETUSER alice on
    }

    test "With a password for all others the certificate is enough for a first request of any size" {
        r CONFIG SET requirepass word
        set client [tls_connect {*}[as alice]]
        assert_equal 30 [$client RPUSH list {*}[lrepeat 30 [string repeat x 2000]]]
        $client destroy
        set client [tls_connect {*}[as nobody]]
        assert_error "NOAUTH*" {$client PING}
        $client destroy
        r CONFIG SET requirepass ""
    }

    test "A URI of the certificate is a user" {
        r CONFIG SET tls-auth-clients-user URI
        set client [tls_connect {*}[as alice]]
        assert_equal default [$client ACL WHOAMI]
        $client destroy
        r ACL SETUSER urn:user:second on nopass ~* +@all
        set client [tls_connect {*}[as alice]]
        assert_equal urn:user:second [$client ACL WHOAMI]
        $client destroy
    }
}

tls_server {tls-auth-clients no} {
    test "CONFIG SET of another certificate is for new connections, and drops none" {
        set client [tls_connect]
        set serial [info_field tls_server_cert_serial tls]
        assert_equal OK [r CONFIG SET tls-cert-file $certs/second.crt tls-key-file $certs/second.key]
        assert {[info_field tls_server_cert_serial tls] ne $serial}
        assert_equal PONG [$client PING]
        set fresh [tls_connect]
        assert_equal PONG [$fresh PING]
        $fresh destroy
        $client destroy
    }

    test "A key with a password" {
        assert_error "*Unable to update TLS configuration*" {
            r CONFIG SET tls-cert-file $certs/locked.crt tls-key-file $certs/locked.key
        }
        r CONFIG SET tls-cert-file $certs/locked.crt tls-key-file $certs/locked.key tls-key-file-pass secret
        assert_equal PONG [answer]
        r CONFIG SET tls-cert-file $certs/server.crt tls-key-file $certs/server.key tls-key-file-pass ""
    }

    test "The port can be opened, moved and closed while the server runs" {
        set client [tls_connect]
        set old [config_value tls-port]
        r CONFIG SET tls-port 0
        assert [catch {socket 127.0.0.1 $old}]
        assert_equal PONG [$client PING]
        assert_equal "" [info_field listener2 server]
        r CONFIG SET tls-port [free_port]
        assert_equal PONG [answer]
        assert_error "*argument 'tls-port') - Unable to listen on this port. Check server logs." {
            r CONFIG SET tls-port [srv port]
        }
        assert_equal PONG [answer]
        $client destroy
    }

    # Returns the id of the server's thread of this name, or nothing.
    proc thread_named {name} {
        foreach task [glob -nocomplain -directory /proc/[srv pid]/task *] {
            if {![catch {exec cat $task/comm} comm] && $comm eq $name} {return [file tail $task]}
        }
        return ""
    }

    # Return the bytes that a thread has read; its nice value.
    proc thread_read {thread} {
        regexp {rchar: (\d+)} [exec cat /proc/[srv pid]/task/$thread/io] all bytes
        return $bytes
    }
    proc thread_nice {thread} {
        return [lindex [regsub {^.*\) } [exec cat /proc/[srv pid]/task/$thread/stat] ""] 16]
    }

    test "With I/O threads a thread of its own makes the handshakes, gives way to others, and reads nothing else" {
        if {![file readable /proc/[srv pid]/task]} {skip "threads are seen in /proc"}
        set threads [config_value io-threads]
        if {$threads == 1} {
            assert_equal "" [thread_named tls_greet]
            r CONFIG SET io-threads 2
        }
        wait_for_condition 5 {[set greeter [thread_named tls_greet]] ne ""}
        assert_equal [expr {min([thread_nice [srv pid]] + 10, 19)}] [thread_nice $greeter]
        set before [thread_read $greeter]
        set clients {}
        for {set i 0} {$i < 20} {incr i} {
            lappend clients [tls_connect]
        }
        # A ClientHello has more than 200 bytes; a wakeup of the thread takes 8 each time.
        set shaken [thread_read $greeter]
        assert {$shaken - $before > 20 * 200}
        foreach client $clients {
            assert_equal [string repeat x 100000] [$client ECHO [string repeat x 100000]]
        }
        assert {[thread_read $greeter] - $shaken < 10000}
        # Connections in the middle of a handshake finish it on the thread before it ends.
        set half [socket 127.0.0.1 [config_value tls-port]]
        fconfigure $half -translation binary -buffering none
        set connected [expr {20 + 2}]
        wait_for_condition 5 {[info_field connected_clients] >= $connected}
        r CONFIG SET tls-port 0
        assert_equal $greeter [thread_named tls_greet]
        puts -nonewline $half "nonsense, which is no hello"
        read $half
        close $half
        wait_for_condition 5 {[thread_named tls_greet] eq ""}
        foreach client $clients {
            assert_equal PONG [$client PING]
            $client destroy
        }
        r CONFIG SET tls-port [free_port]
        wait_for_condition 5 {[thread_named tls_greet] ne ""}
        assert_equal PONG [answer]
        if {$threads == 1} {
            r CONFIG SET io-threads 1
            assert_equal PONG [answer]
            wait_for_condition 5 {[thread_named tls_greet] eq ""}
            assert_equal PONG [answer]
        }
    }

    test "Changed files are read again by tls-auto-reload-interval, when they fit" {
        foreach kind {crt key} {
            file copy -force $certs/server.$kind $certs/live.$kind
        }
        r CONFIG SET tls-cert-file $certs/live.crt tls-key-file $certs/live.key tls-auto-reload-interval 1
        set client [tls_connect]
        set serial [info_field tls_server_cert_serial tls]
        file copy -force $certs/second.crt $certs/live.crt
        wait_for_condition 10 {[string match "*cannot use the changed files*" [srv log]]}
        assert_equal $serial [info_field tls_server_cert_serial tls]
        assert_equal PONG [answer]
        file copy -force $certs/second.key $certs/live.key
        wait_for_condition 10 {[info_field tls_server_cert_serial tls] ne $serial}
        assert_equal PONG [answer]
        assert_equal PONG [$client PING]
        $client destroy
    }
}

test "A server whose TLS cannot be made does not start" {
    foreach {arguments words} [list \
        {} "No tls-cert-file configured!" \
        [list --tls-cert-file $certs/server.crt] "No tls-key-file configured!" \
        [list --tls-cert-file $certs/server.crt --tls-key-file $certs/server.key] \
            "Either tls-ca-cert-file or tls-ca-cert-dir must be specified" \
        [list --tls-cert-file $certs/server.crt --tls-key-file $certs/alice.key] "key values mismatch" \
        [list --tls-cert-file $certs/locked.crt --tls-key-file $certs/locked.key] "Failed to load private key"] {
        lassign [run_to_end [list --port 0 --tls-port [free_port] {*}$arguments]] code output
        assert_equal 1 $code
        assert_match "*$words*Failed to configure TLS. Check logs for more info.*" $output
    }
}
