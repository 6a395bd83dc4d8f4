# nodes_file.tcl -- nodes.conf and the disk: what was replied is there, and what was not is there after the end.
#
# A save that fails is tried again a second later. Within that second a change waits, as it does for a slow disk.
#
# SPDX-License-Identifier: BSD-3-Clause

start_cluster 2 0 {cluster-config-save-behavior best-effort cluster-require-full-coverage no} {
    set dir [lindex [[node 1] CONFIG GET dir] 1]
    set file [file join $dir [lindex [[node 1] CONFIG GET cluster-config-file] 1]]

    # Has a command of node 1 fail to save, and clears the way. The next attempt is made a second later.
    proc fail_once {args} {
        file delete $::file
        file mkdir $::file/in-the-way
        assert_equal OK [[node 1] CLUSTER {*}$args]
        file delete -force $::file
    }

    test "A reply waits for the disk, whatever else happens on the bus" {
        set subscriber [RespClient new [lindex $cluster::ports 1]]
        set waiting [RespClient new [lindex $cluster::ports 1]]
        $subscriber SUBSCRIBE news
        fail_once DELSLOTS 16000
        $waiting send CLUSTER DELSLOTS 16001
        wait_for_condition 10 {[cluster_field 1 cluster_slots_assigned] == 16382}
        [node 0] PUBLISH news hello
        assert_equal {message news hello} [$subscriber reply]
        assert_equal OK [$waiting read]
        assert_match "*myself,master* 8192-15999 16002-16383*" [read_file $file]
        $subscriber destroy
        $waiting destroy
    }

    test "A change that waits for the disk is saved at the end" {
        set id [node_id 1]
        fail_once DELSLOTS 16002
        [node 1] destroy
        restart_server
        lset cluster::clients 1 [RespClient new [srv port]]
        lset cluster::pids 1 [srv pid]
        assert_equal $id [node_id 1]
        assert_match "*myself,master* 8192-15999 16003-16383*" [[node 1] CLUSTER NODES]
    }
}
