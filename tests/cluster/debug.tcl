# debug.tcl -- DEBUG's words for tests of clusters: links that are closed, frames that are dropped.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns when the link of node I in that direction to the node with ID was made; empty if there is none.
proc link_made {i direction id} {
    foreach link [[node $i] CLUSTER LINKS] {
        if {[dict get $link direction] eq $direction && [dict get $link node] eq $id} {
            return [dict get $link create-time]
        }
    }
    return {}
}

proc frames_received {i type} {
    if {[catch {cluster_field $i cluster_stats_messages_${type}_received} count]} {
        return 0
    }
    return $count
}

start_cluster 2 0 {} {
    set peer [node_id 1]
    wait_for_condition 20 {[link_made 0 to $peer] ne {} && [link_made 0 from $peer] ne {}}

    test "DEBUG CLUSTERLINK checks the node, then the direction" {
        assert_error "ERR Unknown node xx" {[node 0] DEBUG CLUSTERLINK KILL foo xx}
        assert_error "ERR Unknown node [string repeat 0 40]" {[node 0] DEBUG CLUSTERLINK KILL to [string repeat 0 40]}
        assert_error "ERR Cannot free cluster link(s) to myself" {[node 0] DEBUG CLUSTERLINK KILL foo [node_id 0]}
        assert_error "ERR Unknown direction foo" {[node 0] DEBUG CLUSTERLINK KILL foo $peer}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'CLUSTERLINK'. Try DEBUG HELP." {
            [node 0] DEBUG CLUSTERLINK FOO to $peer
        }
    }

    test "A link that is killed is not there any more, and comes again unless reconnection is off" {
        foreach i {0 1} {
            assert_equal OK [[node $i] DEBUG DISABLE-CLUSTER-RECONNECTION 1]
        }
        assert_equal OK [[node 0] DEBUG CLUSTERLINK KILL TO $peer]
        assert_equal {} [link_made 0 to $peer]
        assert {[link_made 0 from $peer] ne {}}
        assert_equal disconnected [lindex [node_line 0 $peer] 7]
        wait_for_condition 20 {[link_made 1 from [node_id 0]] eq {}}
        assert_equal OK [[node 0] DEBUG CLUSTERLINK KILL from $peer]
        assert_equal {} [link_made 0 from $peer]
        wait_for_condition 20 {[link_made 1 to [node_id 0]] eq {}}
        assert_equal {} [[node 0] CLUSTER LINKS]
        foreach i {0 1} {
            assert_equal OK [[node $i] DEBUG DISABLE-CLUSTER-RECONNECTION 0]
        }
        wait_for_condition 20 {[link_made 0 to $peer] ne {} && [link_made 0 from $peer] ne {}}
        set before [list [link_made 0 to $peer] [link_made 0 from $peer]]
        assert_equal OK [[node 0] DEBUG CLUSTERLINK KILL all $peer]
        wait_for_condition 20 {
            [link_made 0 to $peer] ni [list {} [lindex $before 0]] && [link_made 0 from $peer] ni [list {} [lindex $before 1]]
        }
        wait_for_condition 20 {[all_agree]}
    }

    test "Frames of the type that is dropped do not arrive, all others do" {
        set subscriber [RespClient new [lindex $cluster::ports 1]]
        $subscriber SUBSCRIBE news
        set before [frames_received 1 publish]
        assert_equal OK [[node 1] DEBUG DROP-CLUSTER-PACKET-FILTER 4]
        [node 0] PUBLISH news lost
        wait_for_condition 20 {[frames_received 1 publish] > $before}
        assert_equal OK [[node 1] DEBUG DROP-CLUSTER-PACKET-FILTER 99999999999]
        [node 0] PUBLISH news hello
        assert_equal {message news hello} [$subscriber reply]
        $subscriber destroy
        foreach number {x 9223372036854775808} {
            assert_error "ERR value is not an integer or out of range" {[node 1] DEBUG DROP-CLUSTER-PACKET-FILTER $number}
        }
    }

    test "A node that drops all frames fails for itself, and comes back" {
        assert_equal OK [[node 1] DEBUG DROP-CLUSTER-PACKET-FILTER -2]
        wait_for_condition 30 {[cluster_field 1 cluster_state] eq "fail"}
        assert_equal OK [[node 1] DEBUG DROP-CLUSTER-PACKET-FILTER -1]
        wait_for_condition 30 {[all_agree]}
    }

    test "A dropped frame closes its link if that is wanted" {
        set me [node_id 0]
        wait_for_condition 20 {[link_made 1 from $me] ne {}}
        [node 0] DEBUG DISABLE-CLUSTER-RECONNECTION 1
        [node 1] DEBUG CLOSE-CLUSTER-LINK-ON-PACKET-DROP 1
        [node 1] DEBUG DROP-CLUSTER-PACKET-FILTER 4
        [node 0] PUBLISH news lost
        wait_for_condition 20 {[link_made 1 from $me] eq {} && [link_made 0 to $peer] eq {}}
        assert {[link_made 1 to $me] ne {}}
        [node 1] DEBUG CLOSE-CLUSTER-LINK-ON-PACKET-DROP 0
        [node 1] DEBUG DROP-CLUSTER-PACKET-FILTER -1
        [node 0] DEBUG DISABLE-CLUSTER-RECONNECTION 0
        assert_equal OK [[node 0] DEBUG DISABLE-CLUSTER-RANDOM-PING 1]
        wait_for_condition 30 {[link_made 1 from $me] ne {} && [all_agree]}
    }
}
