# right_primary.tcl -- a replica takes data from the node that it follows, and counts them as that node's when they are.
#
# SPDX-License-Identifier: BSD-3-Clause

proc info_of {i field} {
    regexp "$field:(\[^\r\n\]*)" [[node $i] INFO replication] -> value
    return $value
}

proc log_of {i} {
    return [server_log [lindex [[node $i] CONFIG GET dir] 1]]
}

# Returns the offset that node I knows of the node with ID.
proc offset_of {i id} {
    foreach shard [[node $i] CLUSTER SHARDS] {
        foreach node [dict get $shard nodes] {
            if {[dict get $node id] eq $id} {
                return [dict get $node replication-offset]
            }
        }
    }
}

start_cluster 3 1 {save ""} {
    test "A replica does not synchronize with another node at its primary's address" {
        [node 0] SET "{06S}a" 1
        [node 1] SET c 1
        wait_for_condition 10 {[[node 3] DBSIZE] == 1}
        # Node 0 says that it is where node 1 is.
        [node 0] CONFIG SET cluster-announce-port [lindex $cluster::ports 1]
        wait_for_condition 20 {[info_of 3 master_link_status] eq "down"}
        wait_for_condition 20 {[string match "*is node [node_id 1], not the primary of this replica, node [node_id 0]*" [log_of 3]]}
        assert_equal 1 [[node 3] CLUSTER COUNTKEYSINSLOT [[node 0] CLUSTER KEYSLOT "{06S}a"]]
        assert_equal 1 [[node 3] DBSIZE]
        [node 0] CONFIG SET cluster-announce-port 0
        wait_for_condition 20 {[info_of 3 master_link_status] eq "up"}
        wait_for_condition 20 {[all_agree]}
    }

    test "A primary that was replaced announces no offset before it has synchronized" {
        [node 0] SET "{06S}b" 1
        exec kill -STOP [lindex $cluster::pids 0]
        wait_for_condition 20 {[lindex [node_line 1 [node_id 3]] 2] eq "master"}
        # The successor refuses the former primary.
        [node 3] CONFIG SET requirepass secret
        [node 3] CONFIG SET masterauth secret
        exec kill -CONT [lindex $cluster::pids 0]
        wait_for_condition 20 {[string match "*slave*" [lindex [node_line 1 [node_id 0]] 2]]}
        wait_for_condition 20 {[offset_of 1 [node_id 0]] == 0}
        [node 0] CONFIG SET masterauth secret
        wait_for_condition 20 {[offset_of 1 [node_id 0]] > 0}
        [node 3] CONFIG SET requirepass ""
    }

    test "A replica that gets a primary of another shard announces no offset before it has synchronized" {
        set id [node_id 4]
        wait_for_condition 20 {[offset_of 2 $id] > 0}
        [node 2] CONFIG SET requirepass secret
        [node 4] CLUSTER REPLICATE [node_id 2]
        wait_for_condition 20 {[lindex [node_line 2 $id] 3] eq [node_id 2]}
        wait_for_condition 20 {[offset_of 2 $id] == 0}
        [node 4] CONFIG SET masterauth secret
        wait_for_condition 20 {[offset_of 2 $id] > 0}
    }
}

# Restarts the last node with the dataset that it has saved.
proc restart_last_node {} {
    [node 5] SAVE
    [node 5] destroy
    restart_server
    lset cluster::clients 5 [RespClient new [srv port]]
    lset cluster::pids 5 [srv pid]
    wait_for_condition 20 {[cluster_field 5 cluster_state] eq "ok"}
}

start_cluster 3 1 {save "" cluster-allow-replica-migration no} {
    test "A primary that was replaced counts no offset from its file after a restart" {
        [node 5] CLUSTER FAILOVER
        wait_for_condition 20 {[all_agree] && [lindex [node_line 0 [node_id 5]] 2] eq "master"}
        wait_for_condition 20 {[info_of 2 master_link_status] eq "up"}
        [node 5] SET foo 1
        exec kill -STOP [lindex $cluster::pids 5]
        wait_for_condition 20 {[lindex [node_line 0 [node_id 2]] 2] eq "master"}
        [node 2] CONFIG SET requirepass secret
        [node 2] CONFIG SET masterauth secret
        exec kill -CONT [lindex $cluster::pids 5]
        wait_for_condition 20 {[lindex [node_line 5 [node_id 5]] 2] eq "myself,slave"}
        restart_last_node
        assert_equal 1 [[node 5] DBSIZE]
        assert_equal 0 [offset_of 5 [node_id 5]]
        wait_for_condition 20 {[info_of 5 master_link_status] eq "down"}
        assert_equal 0 [offset_of 5 [node_id 5]]
        [node 5] CONFIG SET masterauth secret
        wait_for_condition 20 {[info_of 5 master_link_status] eq "up"}
        wait_for_condition 20 {[offset_of 1 [node_id 5]] > 0}
    }

    test "A replica counts the offset of a file that is its primary's" {
        restart_last_node
        assert_equal "" [lindex [[node 5] CONFIG GET masterauth] 1]
        assert_equal down [info_of 5 master_link_status]
        assert {[offset_of 5 [node_id 5]] > 0}
    }
}
