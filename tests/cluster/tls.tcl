# tls.tcl -- the bus of a cluster over TLS.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $::support certificates.tcl]
if {[auto_execok openssl] eq ""} {
    test "TLS of the bus" {
        skip "the openssl program is needed (deps/install --dev)"
    }
    return
}

set certs [file join $srv::root certs]
certificates::authority $certs
certificates::authority $certs other
certificates::pair $certs server
certificates::pair $certs node
certificates::pair $certs stranger {by other}

# Returns whether the bus accepts a peer, with the certificate NAME or without one.
proc bus_accepts {port {name ""}} {
    global certs
    set shown [expr {$name eq "" ? {} : [list -cert $certs/$name.crt -key $certs/$name.key]}]
    catch {exec -ignorestderr timeout 10 openssl s_client -tls1_2 -connect 127.0.0.1:$port -CAfile $certs/ca.crt {*}$shown \
        </dev/null 2>@1} output
    return [expr {[regexp {Cipher *: (\S+)} $output -> cipher] && ![string match "0000*" $cipher] && \
        ![string match "*alert*" $output]}]
}

set bus [free_port]
start_server [list overrides [certificates::settings $certs tls-auth-clients no tls-cluster yes cluster-enabled yes cluster-port $bus]] {
    test "The bus demands a certificate, whatever tls-auth-clients says" {
        assert_equal 1 [bus_accepts [config_value tls-port]]
        assert_equal 1 [bus_accepts $bus node]
        assert_equal 0 [bus_accepts $bus]
        assert_equal 0 [bus_accepts $bus stranger]
    }

    test "The bus uses certificates that were replaced" {
        r CONFIG SET tls-ca-cert-file $certs/other.crt
        wait_for_condition 10 {[bus_accepts $bus stranger]}
        assert_equal 0 [bus_accepts $bus node]
    }
}

set bus [free_port]
start_server [list overrides [certificates::settings $certs tls-cluster no cluster-enabled yes cluster-port $bus]] {
    test "tls-cluster at run time: new links use TLS" {
        assert_equal 0 [bus_accepts $bus node]
        r CONFIG SET tls-cluster yes
        wait_for_condition 10 {[bus_accepts $bus node]}
        assert_equal 0 [bus_accepts $bus]
        r CONFIG SET tls-cluster no
        wait_for_condition 10 {![bus_accepts $bus node]}
    }
}
