# cluster_fix.tcl -- valkey-cli --cluster fix: each kind of damage is repaired, and no key is lost.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support cluster.tcl]
source [file join $support cluster_manager.tcl]

# Slot 0, of which {06S} is a tag, belongs to node 0 and has ten keys there.
proc fill {} {
    for {set i 0} {$i < 10} {incr i} {
        [node 0] SET "{06S}$i" $i
    }
}

# Moves key I of slot 0 from node FROM to node TO, which imports the slot.
proc move_key {i from to} {
    [node $from] MIGRATE 127.0.0.1 [port $to] "" 0 5000 KEYS "{06S}$i"
}

# Checks that node OWNER alone has slot 0 and all its keys, that nothing is open, and that all nodes agree. Then gives
# the slot back to node 0.
proc check_repaired {owner} {
    wait_for_condition 20 {[all_agree]}
    managed check [at 0] --cluster-search-multiple-owners
    foreach i {0 1 2} {
        assert_equal [expr {$i == $owner ? 10 : 0}] [[node $i] CLUSTER COUNTKEYSINSLOT 0]
    }
    for {set i 0} {$i < 10} {incr i} {
        assert_equal $i [[node $owner] GET "{06S}$i"]
    }
    if {$owner != 0} {
        managed reshard [at 0] --cluster-from [node_id $owner] --cluster-to [node_id 0] --cluster-slots 1 --cluster-yes
    }
    wait_for_condition 20 {[all_agree]}
    fill
}

start_cluster 3 1 {cluster-allow-replica-migration no} {
    fill

    test "fix: nothing to repair" {
        assert_match "*\\\[OK\\\] All 16384 slots covered.\n" [managed fix [at 0]]
    }

    test "fix: a target that imports, and a source that does not know" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        assert_match "1 *slots are open: 0.*" [manage check [at 0]]
        assert_match "*>>> Fixing open slot 0\n*" [managed fix [at 0]]
        check_repaired 0
    }

    test "fix: a move that was begun ends" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]
        move_key 3 0 1
        managed fix [at 2]
        check_repaired 1
    }

    test "fix: a move whose source forgot it is undone" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]
        move_key 3 0 1
        [node 0] CLUSTER SETSLOT 0 STABLE
        managed fix [at 2]
        check_repaired 0
    }

    test "fix: a move whose target forgot it is undone" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]
        move_key 3 0 1
        [node 1] CLUSTER SETSLOT 0 STABLE
        managed fix [at 2]
        check_repaired 0
    }

    test "fix: keys of a slot that is open nowhere come home" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]
        move_key 3 0 1
        foreach i {0 1} {[node $i] CLUSTER SETSLOT 0 STABLE}
        managed fix [at 2] --cluster-search-multiple-owners
        check_repaired 0
    }

    test "fix: slots without an owner and without keys, if the answer is yes" {
        [node 2] CLUSTER DELSLOTSRANGE 16000 16100
        lassign [manage check [at 0]] code out
        assert_equal 1 $code
        assert_match "*\\\[ERR\\\] Nodes don't agree about configuration!\n*Not all 16384 slots are covered by nodes.*" $out
        lassign [manage fix [at 0]] code out
        assert_equal 1 $code
        assert_match "*have no keys across the cluster:\n\\\[16000-16100\\\]\n*(type 'yes' to accept): *" $out
        assert_equal 1 [lindex [manage_with "no\n" fix [at 0]] 0]
        assert_equal 0 [lindex [manage_with "yes\n" fix [at 0]] 0]
        check_repaired 0
    }

    test "fix: a slot without an owner goes to the node with its keys" {
        [node 0] CLUSTER DELSLOTS 0
        assert_match "*have keys in just one node:\n\\\[0\\\]\n*" [managed fix [at 1] --cluster-yes]
        check_repaired 0
    }

    test "fix: a slot without an owner and with keys at two nodes" {
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]
        foreach i {0 1 2 3 4 5} {
            move_key $i 0 1
        }
        [node 0] CLUSTER SETSLOT 0 STABLE
        [node 0] CLUSTER DELSLOTS 0
        assert_match "*have keys in multiple nodes:\n\\\[0\\\]\n*" [managed fix [at 1] --cluster-yes]
        check_repaired 1
    }

    test "fix: slots of a primary that cannot be reached are given away only on request" {
        set lost [node_id 2]
        catch {[node 5] SHUTDOWN NOSAVE}
        catch {[node 2] SHUTDOWN NOSAVE}
        wait_for_condition 30 {[cluster_field 0 cluster_state] eq "fail"}
        lassign [manage fix [at 0] --cluster-yes] code out
        assert_equal 1 $code
        assert_match "*with 1 unreachable primaries is dangerous*" $out
        assert_equal 0 [lindex [manage fix [at 0] --cluster-yes --cluster-fix-with-unreachable-primaries] 0]
        wait_for_condition 20 {[cluster_field 0 cluster_state] eq "ok" && [cluster_field 1 cluster_state] eq "ok"}
        wait_for_condition 20 {[lindex [manage check [at 0]] 0] == 0}
        assert_equal 10 [[node 0] CLUSTER COUNTKEYSINSLOT 0]
        foreach id [list $lost] {
            assert_equal 0 [lindex [manage del-node [at 0] $id] 0]
        }
    }
}
