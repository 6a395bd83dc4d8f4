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
