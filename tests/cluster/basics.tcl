# basics.tcl -- a cluster of real servers: it forms, redirects, fails over, and remembers.
#
# SPDX-License-Identifier: BSD-3-Clause

start_cluster 3 1 {} {
    test "Six servers form a cluster" {
        for {set i 0} {$i < 6} {incr i} {
            assert_equal ok [cluster_field $i cluster_state]
            assert_equal 16384 [cluster_field $i cluster_slots_ok]
            assert_equal 6 [cluster_field $i cluster_known_nodes]
            assert_equal 3 [cluster_field $i cluster_size]
        }
        assert_match "*cluster_enabled:1*" [[node 0] INFO cluster]
        assert_match "*server_mode:cluster*" [[node 0] INFO server]
        assert_equal 3 [llength [[node 4] CLUSTER SLOTS]]
        assert_equal 3 [llength [[node 4] CLUSTER SHARDS]]
        assert_equal 10 [llength [[node 0] CLUSTER LINKS]]
    }

    test "A command for a slot of another node is redirected there" {
        assert_equal 12182 [[node 0] CLUSTER KEYSLOT foo]
        assert_error "MOVED 12182 127.0.0.1:[lindex $cluster::ports 2]" {[node 0] SET foo 1}
        assert_equal OK [[node 2] SET foo 1]
        assert_error "CROSSSLOT*" {[node 0] MSET a 1 b 2}
        assert_error "MOVED 12182 *" {[node 5] GET foo}
        [node 5] READONLY
        wait_for_condition 10 {[[node 5] GET foo] eq 1}
        assert_error "MOVED 12182 *" {[node 5] SET foo 2}
        [node 5] READWRITE
        assert_error "MOVED 12182 *" {[node 5] GET foo}
    }

    test "What has another form in a cluster is refused" {
        assert_error "ERR REPLICAOF not allowed in cluster mode." {[node 0] REPLICAOF NO ONE}
        assert_error "ERR FAILOVER not allowed in cluster mode.*" {[node 0] FAILOVER}
        assert_error "ERR SWAPDB is not allowed in cluster mode" {[node 0] SWAPDB 0 0}
        assert_error "ERR DB index is out of range" {[node 0] SELECT 1}
        assert_error "ERR I can only replicate a master, not a replica." {[node 0] CLUSTER REPLICATE [node_id 3]}
        assert_error "ERR You should send CLUSTER FAILOVER to a replica" {[node 0] CLUSTER FAILOVER}
        assert_error "ERR Unknown node xyz" {[node 0] CLUSTER FORGET xyz}
        assert_error "ERR Slot 5 is already busy" {[node 0] CLUSTER ADDSLOTS 5}
    }

    test "CLUSTER HELP lists the subcommands" {
        set lines [[node 0] CLUSTER HELP]
        foreach name {ADDSLOTS BUMPEPOCH COUNTKEYSINSLOT FAILOVER KEYSLOT NODES SETSLOT SHARDS SLOTS HELP} {
            assert {[lsearch $lines $name*] >= 0}
        }
    }

    test "A message reaches subscribers of all nodes" {
        set subscriber [RespClient new [lindex $cluster::ports 4]]
        $subscriber SUBSCRIBE news
        assert_equal 0 [[node 2] PUBLISH news hello]
        assert_equal {message news hello} [$subscriber reply]
        $subscriber destroy
    }

    test "REPLCONF takes the id of a node that is known" {
        foreach id [list [node_id 0] [node_id 1]] {
            assert_equal OK [[node 0] REPLCONF set-cluster-node-id $id]
        }
        foreach id [list x "" [string repeat 0 40] "[node_id 1]0" [string toupper [node_id 1]]] {
            assert_error "ERR Unknown node $id" {[node 0] REPLCONF set-cluster-node-id $id}
        }
    }

    test "A primary that hangs is replaced by its replica, and follows it later" {
        set old [node_id 2]
        exec kill -STOP [lindex $cluster::pids 2]
        wait_for_condition 20 {[lindex [node_line 0 [node_id 5]] 2] eq "master"}
        wait_for_condition 20 {[cluster_field 5 cluster_state] eq "ok"}
        assert_equal 1 [[node 5] GET foo]
        assert_equal OK [[node 5] SET foo 2]
        exec kill -CONT [lindex $cluster::pids 2]
        wait_for_condition 20 {[lindex [node_line 0 $old] 2] eq "slave"}
        wait_for_condition 20 {[all_agree]}
        [node 2] READONLY
        wait_for_condition 20 {[string match "*master_link_status:up*" [[node 2] INFO replication]]}
        wait_for_condition 10 {[[node 2] GET foo] eq 2}
        assert_error "MOVED 12182 127.0.0.1:[lindex $cluster::ports 5]" {[node 2] SET foo 3}
    }

    test "CLUSTER FAILOVER: a replica takes over without losing a write" {
        set primary [node 0]
        set written 0
        while {![catch {$primary SET "{06S}key" $written}]} {
            if {[incr written] == 100} {
                assert_equal OK [[node 3] CLUSTER FAILOVER]
            }
        }
        assert {$written >= 100}
        wait_for_condition 20 {[all_agree]}
        assert_equal [expr {$written - 1}] [[node 3] GET "{06S}key"]
        assert_equal slave [lindex [node_line 1 [node_id 0]] 2]
    }

    test "A node that is forgotten by one is forgotten by all" {
        set id [node_id 4]
        assert_equal OK [[node 0] CLUSTER FORGET $id]
        wait_for_condition 20 {[node_line 1 $id] eq {} || [node_line 5 $id] eq {}}
    }

    test "A reply to a command that changes nodes.conf comes when that is on disk" {
        set file [file join [lindex [[node 1] CONFIG GET dir] 1] [lindex [[node 1] CONFIG GET cluster-config-file] 1]]
        for {set i 0} {$i < 20} {incr i} {
            foreach {command slots} {DELSLOTS 5462-10921 ADDSLOTS 5461-10921} {
                assert_equal OK [[node 1] CLUSTER $command 5461]
                assert_match "*myself,master* $slots*" [read_file $file]
            }
        }
        wait_for_condition 20 {[cluster_field 1 cluster_slots_assigned] == 16384}
    }

    test "CLUSTER RESET makes a replica an empty node that knows no other" {
        set id [node_id 2]
        wait_for_condition 10 {[[node 2] DBSIZE] > 0}
        assert_error "ERR CLUSTER RESET can't be called with master nodes containing keys" {[node 5] CLUSTER RESET}
        assert_equal OK [[node 2] CLUSTER RESET]
        assert_equal 0 [[node 2] DBSIZE]
        assert_equal 1 [cluster_field 2 cluster_known_nodes]
        assert_equal {myself,master -} [lrange [node_line 2 $id] 2 3]
        assert_equal OK [[node 2] CLUSTER RESET HARD]
        assert {[node_id 2] ne $id}
    }
}

start_cluster 3 0 {} {
    test "Without its primary a slot is not served, and the cluster is down" {
        exec kill -STOP [lindex $cluster::pids 2]
        wait_for_condition 20 {[cluster_field 0 cluster_state] eq "fail"}
        assert_error "CLUSTERDOWN The cluster is down" {[node 0] GET "{06S}key"}
        exec kill -CONT [lindex $cluster::pids 2]
        wait_for_condition 20 {[all_agree]}
        assert_equal (nil) [[node 0] GET "{06S}key"]
    }
}
