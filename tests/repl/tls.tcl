# tls.tcl -- replication over TLS, with each way of sending the dataset.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

source [file join $::support certificates.tcl]
if {[auto_execok openssl] eq ""} {
    test "Replication over TLS" {skip "the openssl program is needed (deps/install --dev)"}
    return
}

set certs [file join $srv::root repl-certs]
certificates::authority $certs
certificates::pair $certs server

foreach {way of_both of_replica} {
    "a file" {repl-diskless-sync no} {}
    "directly" {} {repl-diskless-load flush-before-load}
    "beside the old one" {} {repl-diskless-load swapdb}
    "two connections" {dual-channel-replication-enabled yes} {}
    "two connections, directly" {dual-channel-replication-enabled yes} {repl-diskless-load flush-before-load}
} {
    set settings [certificates::settings $certs {*}$quick {*}$of_both tls-replication yes]
    start_server [list overrides $settings] {
        set primary [default_client]
        set port [config_value tls-port]
        fill $primary
        # More than the buffers of TLS and of sockets hold.
        for {set i 0} {$i < 3} {incr i} {$primary SET large:$i [string repeat $i 4000000]}
        set settings [certificates::settings $certs {*}$of_both {*}$of_replica tls-replication yes]
        start_server [list overrides $settings] {
            set replica [default_client]

            test "Over TLS, the dataset goes by: $way" {
                $replica REPLICAOF 127.0.0.1 $port
                $primary SET meanwhile [string repeat m 1000000]
                is_up $replica
                assert_same_data $primary $replica
                assert_match "*laddr=127.0.0.1:$port *" [$primary CLIENT LIST TYPE replica]
            }

            test "... and the stream behind it: WAIT, a lost link" {
                $primary SET later [string repeat l 3000000]
                assert_equal 1 [$primary WAIT 1 5000]
                lassign [syncs_of $primary] full
                cut_link $replica
                $primary SET later 2
                assert_same_data $primary $replica
                assert_equal $full [lindex [syncs_of $primary] 0]
            }
        }
    }
}
