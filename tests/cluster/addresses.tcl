# addresses.tcl -- where the cluster bus listens, and from where it connects, when the settings change.
#
# SPDX-License-Identifier: BSD-3-Clause

proc listens {address port} {
    if {[catch {socket $address $port} channel]} {
        return 0
    }
    close $channel
    return 1
}

start_cluster 2 0 {bind 127.0.0.1} {
    set bus [lindex [[node 0] CONFIG GET cluster-port] 1]
    set me [node_id 0]

    test "The bus listens where clients are listened to" {
        assert_equal 0 [listens 127.0.0.4 $bus]
        assert_equal OK [[node 0] CONFIG SET bind "127.0.0.1 127.0.0.4"]
        wait_for_condition 20 {[listens 127.0.0.4 $bus] && [listens 127.0.0.1 $bus]}
        wait_for_condition 20 {[all_agree]}
    }

    test "Links are made from bind-source-addr, and the others find the node there" {
        assert_equal OK [[node 0] CONFIG SET bind-source-addr 127.0.0.4]
        wait_for_condition 20 {
            [[node 0] DEBUG CLUSTERLINK KILL to [node_id 1]] eq "OK" && [string match 127.0.0.4:* [lindex [node_line 1 $me] 1]]
        }
        wait_for_condition 30 {[lindex [node_line 1 $me] 7] eq "connected" && [all_agree]}
        assert_equal OK [[node 0] CONFIG SET bind-source-addr ""]
    }

    test "An address that bind does not have any more is left" {
        assert_equal OK [[node 0] CONFIG SET bind 127.0.0.1]
        wait_for_condition 20 {![listens 127.0.0.4 $bus] && [listens 127.0.0.1 $bus]}
    }

    test "The port of the bus stays when that of clients changes" {
        set port [free_port]
        assert_equal OK [[node 0] CONFIG SET port $port]
        wait_for_condition 20 {[string match "*:$port@$bus" [lindex [node_line 1 $me] 1]]}
        assert_error "ERR CONFIG SET failed*can't set immutable config" {[node 0] CONFIG SET cluster-port 0}
    }
}
