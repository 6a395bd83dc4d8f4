# protect_data.tcl -- a primary that starts without its keys leaves its slots to a replica that has them.
#
# SPDX-License-Identifier: BSD-3-Clause

# Restarts the last node, which saves nothing.
proc restart_last_node {} {
    [node 5] destroy
    restart_server
    lset cluster::clients 5 [RespClient new [srv port]]
    lset cluster::pids 5 [srv pid]
}

# Replicas of this server would keep their data for a minute by themselves; those of Valkey do not.
start_cluster 3 1 {save "" rdb-del-sync-files yes replica-keep-from-empty 0} {
    test "A primary that starts without its keys becomes a replica of one that has them" {
        [node 5] CLUSTER FAILOVER
        wait_for_condition 20 {[all_agree] && [lindex [node_line 0 [node_id 5]] 2] eq "master"}
        assert_equal OK [[node 5] SET foo 1]
        wait_for_condition 10 {[[node 5] WAIT 1 100] == 1}
        restart_last_node
        assert_equal yes [lindex [[node 5] CONFIG GET cluster-protect-data] 1]
        assert_equal fail [cluster_field 5 cluster_state]
        wait_for_condition 40 {[lindex [node_line 0 [node_id 2]] 2] eq "master"}
        wait_for_condition 20 {[cluster_field 2 cluster_state] eq "ok"}
        assert_equal 1 [[node 2] GET foo]
        wait_for_condition 40 {[all_agree]}
        [node 5] READONLY
        wait_for_condition 20 {[[node 5] GET foo] eq 1}
        assert_match "*has started without data*A replica has taken over*" [server_log [dict get [lindex $srv::stack end] dir]]
    }

    test "Without cluster-protect-data it serves at once" {
        [node 5] CLUSTER FAILOVER
        wait_for_condition 20 {[all_agree] && [lindex [node_line 0 [node_id 5]] 2] eq "master"}
        [node 5] CONFIG SET cluster-protect-data no
        [node 5] CONFIG REWRITE
        restart_last_node
        wait_for_condition 20 {[all_agree]}
        assert_match "*master*" [lindex [node_line 0 [node_id 5]] 2]
        assert_equal (nil) [[node 5] GET foo]
    }
}
