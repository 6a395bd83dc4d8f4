# loaded_slots.tcl -- a primary starts with keys of slots that it does not own.
#
# SPDX-License-Identifier: BSD-3-Clause

proc restart_last_node {} {
    [lindex $cluster::clients 1] destroy
    restart_server
    lset cluster::clients 1 [RespClient new [lindex $cluster::ports 1]]
    wait_for_condition 20 {[cluster_field 1 cluster_state] eq "ok"}
}

proc dir_of {i} {return [lindex [[node $i] CONFIG GET dir] 1]}
proc files_of {i} {return [glob -nocomplain -directory [dir_of $i] slots-of-others-*.rdb]}

start_cluster 2 0 {save "" appendonly no} {
    test "Keys of slots that other nodes own are put aside before they are deleted" {
        assert_equal 12182 [[node 1] CLUSTER KEYSLOT foo]
        [node 1] SET foo old
        [node 1] SET x 1
        [node 1] SAVE
        [node 1] SET foo new
        [node 0] CLUSTER SETSLOT 12182 IMPORTING [node_id 1]
        [node 1] CLUSTER SETSLOT 12182 MIGRATING [node_id 0]
        assert_equal OK [[node 1] MIGRATE 127.0.0.1 [lindex $cluster::ports 0] foo 0 10000]
        [node 0] CLUSTER SETSLOT 12182 NODE [node_id 0]
        [node 1] CLUSTER SETSLOT 12182 NODE [node_id 0]
        restart_last_node
        wait_for_condition 20 {[[node 1] DBSIZE] == 1}
        assert_equal 1 [[node 1] GET x]
        assert_equal new [[node 0] GET foo]
        assert_match "*The dataset has 1 keys of 1 slots that other nodes own. The file slots-of-others-*" \
            [server_log [dir_of 1]]
        set file [files_of 1]
        assert_equal 1 [llength $file]
        start_server {} {
            file copy -force $file [file join [lindex [r CONFIG GET dir] 1] dump.rdb]
            r DEBUG RELOAD NOSAVE NOFLUSH
            assert_equal old [r GET foo]
            assert_equal 1 [r DBSIZE]
        }
    }

    test "Slots without an owner go to the primary that has their keys" {
        [node 1] SAVE
        set slot [[node 1] CLUSTER KEYSLOT x]
        foreach i {0 1} {[node $i] CLUSTER DELSLOTS $slot}
        wait_for_condition 20 {[cluster_field 0 cluster_slots_assigned] == 16383}
        restart_last_node
        assert_match "*The dataset has 1 keys of 1 slots without an owner: this node takes these slots.*" \
            [server_log [dir_of 1]]
        wait_for_condition 20 {[all_agree]}
        assert_equal 16384 [cluster_field 0 cluster_slots_assigned]
        assert_equal 1 [[node 1] GET x]
        assert_equal 1 [llength [files_of 1]]
    }
}
