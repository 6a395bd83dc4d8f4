# tls.tcl -- valkey-cli and valkey-benchmark over TLS.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $::support certificates.tcl]
set bin [file dirname $srv::binary]
if {[auto_execok openssl] eq "" || ![file executable $bin/valkey-cli] || ![file executable $bin/valkey-benchmark]} {
    test "TLS of the tools" {
        skip "the openssl program (deps/install --dev) and both tools are needed"
    }
    return
}

set certs [file join $srv::root tool-certs]
certificates::authority $certs
certificates::authority $certs other
certificates::pair $certs server
certificates::pair $certs client {subject /CN=client}
certificates::pair $certs stranger {by other}
certificates::pair $certs late {days -1}

# Runs a tool against PORT with INPUT on stdin. Returns {EXIT-CODE STDOUT STDERR}.
proc tool_with {name port input args} {
    set err [file join $srv::root tool-stderr]
    set in [file join $srv::root tool-stdin]
    write_file $in $input
    set code 0
    if {[catch {exec -keepnewline timeout 60 $::bin/valkey-$name -p $port {*}$args <$in 2>$err} out options]} {
        set code [lindex [dict get $options -errorcode] 2]
        regsub {(\n)?child process exited abnormally$} $out {\1} out
    }
    return [list $code $out [read_file $err]]
}

proc tls_cli {args} {
    return [tool_with cli [config_value tls-port] "" {*}$args]
}

proc tls_benchmark {args} {
    return [tool_with benchmark [config_value tls-port] "" {*}$args]
}

proc tls_server {settings body} {
    global certs
    set all [certificates::settings $certs {*}$settings]
    uplevel 1 [list start_server [list overrides $all each {r FLUSHALL}] $body]
}

set pong [list 0 "PONG\n" {}]
set trust [list --tls --cacert $certs/ca.crt]
set own [list --cert $certs/client.crt --key $certs/client.key]

tls_server {tls-auth-clients no} {
    test "valkey-cli over TLS: replies of any size, many commands, the pipe" {
        assert_equal $pong [tls_cli {*}$trust PING]
        set large [string repeat "0123456789" 300000]
        lassign [tool_with cli [config_value tls-port] $large {*}$trust -x SET large] code out
        assert_equal [list 0 "OK\n"] [list $code $out]
        assert_equal "$large\n" [lindex [tls_cli {*}$trust GET large] 1]
        set commands ""
        for {set i 0} {$i < 5000} {incr i} {
            append commands "SET key:$i [string repeat $i 20]\n"
        }
        assert_match "*errors: 0, replies: 5000*" [lindex [tool_with cli [config_value tls-port] $commands {*}$trust --pipe] 1]
        assert_equal 5001 [r DBSIZE]
        assert_equal 5001 [llength [lindex [tls_cli {*}$trust --scan] 1]]
        assert_match "*Biggest string*large*" [lindex [tls_cli {*}$trust --bigkeys] 1]
    }

    test "valkey-cli over TLS: the dataset, and the stream behind it" {
        set file [file join $srv::root tls-out.rdb]
        r SET large [string repeat "0123456789" 300000]
        r CONFIG SET repl-diskless-sync-delay 0 rdbcompression no
        foreach diskless {yes no} {
            r CONFIG SET repl-diskless-sync $diskless
            lassign [tls_cli {*}$trust --rdb $file] code out err
            assert_equal [list 0 "Transfer finished with success after [file size $file] bytes\n"] [list $code $err]
            assert_between 3000000 3001000 [file size $file]
        }
        file delete $file
        set channel [open [list |$bin/valkey-cli -p [config_value tls-port] {*}$trust --replica 2>@1] r]
        fconfigure $channel -blocking 0
        wait_for_condition 20 {[string match "*state=online*" [info_field slave0]]}
        r SET large now
        set said ""
        wait_for_condition 20 {[string match "*\"SET\",\"large\",\"now\"\n" [append said [read $channel]]]}
        exec kill [pid $channel]
        catch {close $channel}
        r CONFIG SET rdbcompression yes
    }

    test "A URI says it as well" {
        set port [config_value tls-port]
        foreach scheme {valkeys rediss} {
            assert_equal $pong [tls_cli -u $scheme://127.0.0.1:$port --cacert $certs/ca.crt PING]
        }
    }

    test "A server of nobody who is trusted is refused, but with --insecure" {
        foreach options [list {} [list --cacert $certs/other.crt]] {
            lassign [tls_cli --tls {*}$options PING] code out err
            assert_equal 1 $code
            assert_match "Could not connect to Valkey at 127.0.0.1:*: SSL_connect failed: *certificate verify failed*" $err
        }
        assert_equal $pong [tls_cli --tls --insecure PING]
        lassign [tls_benchmark --tls -n 10 -q -t ping] code out err
        assert_equal 1 $code
        assert_match "Could not connect to server at 127.0.0.1:*: SSL_connect failed: *certificate verify failed*" $err
    }

    test "A certificate that is over is refused" {
        r CONFIG SET tls-cert-file $certs/late.crt tls-key-file $certs/late.key
        lassign [tls_cli {*}$trust PING] code out err
        assert_equal 1 $code
        assert_match "*certificate has expired*" $err
        r CONFIG SET tls-cert-file $certs/server.crt tls-key-file $certs/server.key
        assert_equal 0 [lindex [tls_cli {*}$trust PING] 0]
    }

    test "A folder of authorities" {
        set folder [file join $srv::root authorities]
        file mkdir $folder
        set hash [certificates::openssl x509 -hash -noout -in $certs/ca.crt]
        file copy -force $certs/ca.crt $folder/$hash.0
        assert_equal $pong [tls_cli --tls --cacertdir $folder PING]
    }

    test "Files and names that make no sense are told before anything is sent" {
        foreach {options what} [list \
            [list --cacert $certs/none] CA  [list --cert $certs/none --key $certs/client.key] certificate \
            [list --cert $certs/client.crt --key $certs/ca.key] key \
            [list --tls-ciphers NONSENSE] ciphers  [list --tls-ciphersuites NONSENSE] ciphersuites \
        ] {
            foreach tool {cli benchmark} {
                lassign [tool_with $tool [config_value tls-port] "" --tls {*}$options {*}[expr {$tool eq "cli" ? "PING" : "-n 1"}]] \
                    code out err
                assert_equal "$tool $options 1" "$tool $options $code"
                assert_match "Could not negotiate a TLS connection: *$what*" $err
            }
        }
        lassign [tls_cli --tls --cacert] code out err
        assert_equal "1 Option '--cacert' requires a value.\n" "$code $err"
    }

    test "Ciphers and suites are those that were asked for" {
        assert_equal 0 [lindex [tls_cli {*}$trust --tls-ciphersuites TLS_CHACHA20_POLY1305_SHA256 PING] 0]
        r CONFIG SET tls-protocols TLSv1.2 tls-ciphers ECDHE-ECDSA-AES256-GCM-SHA384
        assert_equal 0 [lindex [tls_cli {*}$trust --tls-ciphers ECDHE-ECDSA-AES256-GCM-SHA384 PING] 0]
        lassign [tls_cli {*}$trust --tls-ciphers ECDHE-ECDSA-AES128-GCM-SHA256 PING] code out err
        assert_equal 1 $code
        assert_match "*SSL_connect failed: *handshake failure*" $err
        r CONFIG SET tls-protocols "" tls-ciphers ""
    }

    test "A plain server behind the port: told, not waited for" {
        lassign [tool_with cli [srv port] "" -t 1 {*}$trust PING] code out err
        assert_equal 1 $code
        assert_match "Could not connect to Valkey at *: the TLS handshake timed out after 1000 ms*" $err
    }

    test "A plain client is sent away by a server that speaks TLS" {
        assert_equal 1 [lindex [tls_cli PING] 0]
    }

    test "valkey-benchmark over TLS: each request is answered, large ones too, by threads too" {
        foreach options {{-n 2000 -t set -r 100} {-n 2000 -t set -r 100 -P 16} {-n 500 -t set -d 100000 -P 4 --threads 3}
            {-n 200 -t set -k 0}} {
            r CONFIG RESETSTAT
            lassign [tls_benchmark {*}$trust {*}$options -q] code out err
            assert_equal "0 {}" [list $code [expr {"-k" in $options ? "" : $err}]]
            regexp {cmdstat_set:calls=(\d+)} [r INFO commandstats] all calls
            set wanted [lindex $options 1]
            assert_between $wanted [expr {$wanted + 50 * 16}] $calls
        }
        lassign [tls_benchmark {*}$trust -n 500 -t get -d 100000 -q] code
        assert_equal 0 $code
    }
}

tls_server {} {
    test "A server that asks for a certificate gets it" {
        assert_equal $pong [tls_cli {*}$trust {*}$own PING]
        assert_equal 0 [lindex [tls_benchmark {*}$trust {*}$own -n 100 -q -t set] 0]
        set both [file join $certs both.pem]
        write_file $both [read_file $certs/client.crt][read_file $certs/client.key]
        assert_equal $pong [tls_cli {*}$trust --cert $both PING]
    }

    test "No certificate, or a stranger's: refused" {
        foreach options [list {} [list --cert $certs/stranger.crt --key $certs/stranger.key]] {
            lassign [tls_cli {*}$trust {*}$options PING] code out err
            assert_equal 1 $code
            assert {$err ne ""}
            assert_equal 1 [lindex [tls_benchmark {*}$trust {*}$options -n 10 -q -t set] 0]
        }
    }

    test "--sni is the name that the server hears" {
        set heard [file join $srv::root hello]
        set listener [socket -server [list apply {{file channel host port} {
            fconfigure $channel -translation binary -blocking 0
            after 300
            write_file $file [read $channel]
            close $channel
        }} $heard] -myaddr 127.0.0.1 0]
        set port [lindex [fconfigure $listener -sockname] 2]
        foreach {options expected} {{--sni asked.example} 1 {} 0} {
            file delete $heard
            exec timeout 5 $bin/valkey-cli -p $port {*}$trust {*}$options PING >/dev/null 2>/dev/null </dev/null &
            wait_for_condition 20 {[update; file exists $heard]}
            assert_equal $expected [string match "*asked.example*" [read_file $heard]]
        }
        close $listener
    }
}
