# cluster_move.tcl -- valkey-cli --cluster reshard and rebalance.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support cluster.tcl]
source [file join $support cluster_manager.tcl]

# Returns which of the first three nodes owns SLOT, as each of them says of itself.
proc owners_of {slot} {
    set owners {}
    foreach i {0 1 2} {
        foreach range [lrange [node_line $i [node_id $i]] 8 end] {
            if {[regexp {^(\d+)(?:-(\d+))?$} $range -> first last]} {
                if {$last eq ""} {set last $first}
                if {$slot >= $first && $slot <= $last} {lappend owners $i}
            }
        }
    }
    return $owners
}

start_cluster 3 1 {cluster-databases 2} {
    # {06S} is a tag of slot 0.
    test "reshard moves slots with their keys, in all databases" {
        for {set i 0} {$i < 25} {incr i} {
            [node 0] SET "{06S}$i" $i
        }
        [node 0] SELECT 1
        [node 0] HSET "{06S}hash" field value
        [node 0] SELECT 0
        set out [managed reshard [at 2] --cluster-from [node_id 0] --cluster-to [node_id 1] --cluster-slots 3 --cluster-yes]
        assert_match "*\nReady to move 3 slots.\n  Source nodes:\n    M: [node_id 0] [at 0]\n*" $out
        assert_match "*    Moving slot range 0-2 from [node_id 0]\nMoving slot 0 from [at 0] to [at 1]\nMoving slot 1 from *" $out
        foreach slot {0 1 2} {
            assert_equal 1 [owners_of $slot]
        }
        assert_equal 0 [owners_of 3]
        assert_equal 25 [[node 1] CLUSTER COUNTKEYSINSLOT 0]
        assert_equal 7 [[node 1] GET "{06S}7"]
        [node 1] SELECT 1
        assert_equal value [[node 1] HGET "{06S}hash" field]
        [node 1] SELECT 0
        assert_error "MOVED 0 [at 1]" {[node 0] GET "{06S}7"}
        assert_equal 0 [[node 0] DBSIZE]
        wait_for_condition 20 {[all_agree]}
        managed check [at 0]
    }

    test "reshard asks for what is not given, and stops at the end of input" {
        set answers "0\n2\n[node_id 4]\n[node_id 0]\n[node_id 0]\n[node_id 1]\ndone\nyes\n"
        lassign [manage_with $answers reshard [at 0]] code out err
        assert_equal {0 {}} [list $code $err]
        assert_match "*The specified node ([node_id 4]) is not known or not a primary*" $out
        assert_match "*not possible to use the target node as source node*" $out
        assert_equal 0 [owners_of 0]
        assert_equal 0 [owners_of 1]
        assert_equal 1 [owners_of 2]
        foreach lines {0 1 2 3 4} {
            set answers [join [lrange [list 1 [node_id 1] all] 0 [expr {$lines - 1}]] \n]
            if {$answers ne ""} {append answers \n}
            lassign [manage_with $answers reshard [at 0]] code out err
            assert_equal 1 $code
            assert {[string length $out] < 5000}
        }
        assert_equal 0 [owners_of 0]
        assert_equal 1 [lindex [manage_with "1\n[node_id 1]\nall\nno\n" reshard [at 0]] 0]
    }

    test "reshard refuses wrong nodes and options" {
        set to [node_id 1]
        foreach {from to why} [list \
            [node_id 0] zzz "specified node (zzz) is not known" zzz $to "specified node (zzz) is not known" \
            [node_id 3] $to "not a primary" $to $to "not possible to use the target" [node_id 0],zzz $to "(zzz)"] {
            lassign [manage reshard [at 0] --cluster-from $from --cluster-to $to --cluster-slots 1 --cluster-yes] code out
            assert_equal 1 $code
            assert_match "*$why*" $out
        }
        assert_match "1 {} {*not supported yet*}" [manage reshard [at 0] --cluster-use-atomic-slot-migration]
        assert_equal 0 [owners_of 0]
        [node 1] CLUSTER SETSLOT 9 IMPORTING [node_id 0]
        lassign [manage reshard [at 0] --cluster-from all --cluster-to $to --cluster-slots 1 --cluster-yes] code out err
        assert_equal [list 1 "*** Please fix your cluster problems before resharding\n"] [list $code $err]
        assert_match "*\\\[WARNING\\\] Node [at 1] has slots in importing state 9.\n*" $out
        assert_match "*\\\[WARNING\\\] The following slots are open: 9.\n*" $out
        assert_match "1 *before rebalancing*" [manage rebalance [at 0]]
        [node 1] CLUSTER SETSLOT 9 STABLE
        wait_for_condition 20 {![string match "*9-<-*" [[node 4] CLUSTER NODES]]}
    }

    test "rebalance moves slots to those that have too few" {
        assert_match "*\\*\\*\\* No rebalancing needed! All nodes are within the 2.00% threshold.\n" [managed rebalance [at 0]]
        set out [managed rebalance [at 0] --cluster-threshold 0.001]
        assert_match "*>>> Rebalancing across 3 nodes. Total weight = 3.00\nMoving 1 slots from * to [at 0]\n#\n*" $out
        wait_for_condition 20 {[all_agree]}
        assert_match "*No rebalancing needed*" [managed rebalance [at 0] --cluster-threshold 0.02]
        set before [cluster_view 0]
        set out [managed rebalance [at 0] --cluster-weight [string range [node_id 2] 0 9]=0 --cluster-simulate]
        assert_match "*>>> Rebalancing across 2 nodes. Total weight = 2.00\nMoving 273* slots from [at 2] to *" $out
        assert_equal $before [cluster_view 0]
        assert_match "1 *No such primary node zz*" [manage rebalance [at 0] --cluster-weight zz=1]
        assert_match "1 *Invalid weight*" [manage rebalance [at 0] --cluster-weight [node_id 0]=x]
    }

    test "A key that both nodes have: equal values are merged, others need --cluster-replace" {
        [node 0] MSET "{06S}same" 1 "{06S}differs" old
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        foreach {key value} {same 1 differs new} {
            [node 1] ASKING
            [node 1] SET "{06S}$key" $value
        }
        lassign [manage fix [at 0]] code out
        assert_equal 1 $code
        assert_match "*The key \"{06S}differs\" has different values at [at 1] and [at 0]. --cluster-replace keeps that of [at 1].*" $out
        assert_equal old [[node 0] GET "{06S}differs"]
        [node 1] ASKING
        assert_equal 1 [[node 1] DEL "{06S}differs"]
        managed fix [at 0]
        assert_equal {1 old} [[node 0] MGET "{06S}same" "{06S}differs"]
        assert_equal 0 [[node 1] CLUSTER COUNTKEYSINSLOT 0]
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        [node 1] ASKING
        [node 1] SET "{06S}differs" new
        managed fix [at 0] --cluster-replace
        assert_equal {1 new} [[node 0] MGET "{06S}same" "{06S}differs"]
        assert_equal 0 [[node 1] CLUSTER COUNTKEYSINSLOT 0]
    }
}

fresh_nodes 2 {requirepass secret masterauth secret} {
    test "reshard logs in at all nodes" {
        foreach client $cluster::clients {
            $client AUTH secret
        }
        set login {-a secret --no-auth-warning --cluster-yes}
        managed create [at 0] [at 1] {*}$login
        wait_for_condition 20 {[all_agree]}
        [node 0] SET "{06S}a" 1
        managed reshard [at 0] {*}$login --cluster-from all --cluster-to [node_id 1] --cluster-slots 1
        assert_equal 1 [[node 1] GET "{06S}a"]
        managed reshard [at 0] --user default {*}$login --cluster-from [node_id 1] --cluster-to [node_id 0] --cluster-slots 1
        assert_equal 1 [[node 0] GET "{06S}a"]
    }
}
