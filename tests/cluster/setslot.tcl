# setslot.tcl -- SETSLOT is executed by replicas first, so that an open slot survives a failover of either end.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the open slots of node I, as CLUSTER NODES shows them of itself.
proc open_slots {i} {
    set out {}
    foreach word [lrange [node_line $i [node_id $i]] 8 end] {
        if {[string match {\[*} $word]} {lappend out $word}
    }
    return $out
}

proc replica_is_up {i} {
    return [string match "*master_link_status:up*" [[node $i] INFO replication]]
}

proc stop_node {i} {exec kill -STOP [lindex $cluster::pids $i]}
proc continue_node {i} {exec kill -CONT [lindex $cluster::pids $i]}

# Returns a client of node I whose command waits.
proc begin_wait {i args} {
    set client [RespClient new [lindex $cluster::ports $i]]
    $client send {*}$args
    wait_for_condition 20 {[string match "*flags=b *cmd=cluster|setslot*" [[node $i] CLIENT LIST]]}
    return $client
}

proc waits {i} {return [string match "*cmd=cluster|setslot*" [[node $i] CLIENT LIST]]}

proc failover_to {i} {
    [node $i] CLUSTER FAILOVER
    for {set j 0} {$j < 6} {incr j} {
        wait_for_condition 20 {[string match *master* [lindex [node_line $j [node_id $i]] 2]]}
    }
}

start_cluster 3 1 {save "" repl-diskless-sync-delay 0} {
    for {set i 3} {$i < 6} {incr i} {wait_for_condition 20 {[replica_is_up $i]}}

    assert_equal 3300 [[node 0] CLUSTER KEYSLOT b]

    test "Replicas have an open slot when the primary replies" {
        [node 0] SET "{06S}a" 1
        assert_equal OK [[node 0] CLUSTER SETSLOT 0 MIGRATING [node_id 1]]
        assert_equal [list "\[0->-[node_id 1]\]"] [open_slots 3]
        assert_equal OK [[node 1] CLUSTER setslot 0 importing [node_id 0] timeout 5000]
        assert_equal [list "\[0-<-[node_id 0]\]"] [open_slots 4]
        assert_error "ERR Please use SETSLOT only with masters." {[node 3] CLUSTER SETSLOT 0 STABLE}
    }

    test "Keys that have come stay when the import is given up, and are served when it is begun again" {
        set slot [[node 0] CLUSTER KEYSLOT bar]
        [node 0] SET bar 2
        proc open_again {slot} {
            assert_equal OK [[node 1] CLUSTER SETSLOT $slot IMPORTING [node_id 0]]
            assert_equal OK [[node 0] CLUSTER SETSLOT $slot MIGRATING [node_id 1]]
        }
        open_again $slot
        assert_equal OK [[node 0] MIGRATE 127.0.0.1 [lindex $cluster::ports 1] bar 0 5000]
        foreach i {0 1} {assert_equal OK [[node $i] CLUSTER SETSLOT $slot STABLE]}
        after 300 ;# a deletion would begin at once
        assert_equal 1 [[node 1] CLUSTER COUNTKEYSINSLOT $slot]
        assert_error "MOVED $slot *" {[node 1] GET bar}
        open_again $slot
        [node 1] ASKING
        assert_equal 2 [[node 1] GET bar]
        wait_for_condition 20 {[[node 4] CLUSTER COUNTKEYSINSLOT $slot] == 1}
        [node 1] ASKING
        assert_equal 1 [[node 1] DEL bar]
        foreach i {0 1} {assert_equal OK [[node $i] CLUSTER SETSLOT $slot STABLE]}
    }

    test "A command that the primary refuses reaches no replica" {
        assert_error "ERR I don't know about node [string repeat 0 40]" {
            [node 0] CLUSTER SETSLOT 1 MIGRATING [string repeat 0 40]
        }
        assert_error "ERR I'm not the owner of hash slot 9000" {[node 0] CLUSTER SETSLOT 9000 MIGRATING [node_id 1]}
        assert_error "ERR Missing timeout value" {[node 0] CLUSTER SETSLOT 0 STABLE TIMEOUT}
        assert_error "ERR timeout is negative" {[node 0] CLUSTER SETSLOT 0 STABLE TIMEOUT -1}
        assert_error "ERR timeout is not an integer or out of range" {[node 0] CLUSTER SETSLOT 0 STABLE TIMEOUT x}
        assert_equal [list "\[0->-[node_id 1]\]"] [open_slots 0]
        assert_equal [list "\[0->-[node_id 1]\]"] [open_slots 3]
    }

    test "SETSLOT in a transaction or a script does not wait, and replicas get it" {
        [node 0] MULTI
        assert_equal QUEUED [[node 0] CLUSTER SETSLOT 1 MIGRATING [node_id 1]]
        assert_equal OK [[node 0] EXEC]
        assert_equal OK [[node 0] EVAL "return redis.call('cluster', 'setslot', '2', 'migrating', ARGV\[1\])" 0 [node_id 1]]
        wait_for_condition 20 {[open_slots 3] eq [open_slots 0]}
        assert_equal 3 [llength [open_slots 3]]
        [node 0] CLUSTER SETSLOT 1 STABLE
        [node 0] CLUSTER SETSLOT 2 STABLE
        assert_equal 1 [llength [open_slots 3]]
    }

    test "The primary changes nothing before its replica has acknowledged" {
        stop_node 3
        set client [begin_wait 0 CLUSTER SETSLOT 3 MIGRATING [node_id 1] TIMEOUT 0]
        assert_equal 1 [llength [open_slots 0]]
        continue_node 3
        assert_equal OK [$client reply]
        assert_equal 2 [llength [open_slots 0]]
        assert_equal [open_slots 0] [open_slots 3]
        $client destroy
    }

    test "A SETSLOT that runs out of time is taken back at the replicas" {
        stop_node 3
        assert_error "NOREPLICAS Not enough good replicas to write." {
            [node 0] CLUSTER SETSLOT 3 STABLE TIMEOUT 10
        }
        assert_error "NOREPLICAS Not enough good replicas to write." {
            [node 0] CLUSTER SETSLOT 4 MIGRATING [node_id 1] TIMEOUT 10
        }
        assert_error "NOREPLICAS Not enough good replicas to write." {
            [node 0] CLUSTER SETSLOT 5 NODE [node_id 1] TIMEOUT 10
        }
        assert_equal 2 [llength [open_slots 0]]
        continue_node 3
        [node 0] SET b 1
        assert_equal 1 [[node 0] WAIT 1 0]
        assert_equal [open_slots 0] [open_slots 3]
    }

    test "A SETSLOT whose client leaves is taken back at the replicas" {
        stop_node 3
        set client [begin_wait 0 CLUSTER SETSLOT 4 MIGRATING [node_id 1] TIMEOUT 0]
        $client destroy
        wait_for_condition 20 {![waits 0]}
        continue_node 3
        [node 0] SET b 2
        assert_equal 1 [[node 0] WAIT 1 0]
        assert_equal 2 [llength [open_slots 0]]
        assert_equal [open_slots 0] [open_slots 3]
    }

    test "Two of one slot: the second is executed after the first was given up" {
        stop_node 3
        set first [begin_wait 0 CLUSTER SETSLOT 4 MIGRATING [node_id 1] TIMEOUT 0]
        set second [RespClient new [lindex $cluster::ports 0]]
        $second send CLUSTER SETSLOT 4 MIGRATING [node_id 2] TIMEOUT 0
        wait_for_condition 20 {[regexp -all {flags=b } [[node 0] CLIENT LIST]] == 2}
        $first destroy
        wait_for_condition 20 {[regexp -all {flags=b } [[node 0] CLIENT LIST]] == 1}
        continue_node 3
        assert_equal OK [$second reply]
        [node 0] SET b 3
        assert_equal 1 [[node 0] WAIT 1 0]
        assert_equal 3 [llength [open_slots 0]]
        assert_equal [open_slots 0] [open_slots 3]
        $second destroy
        [node 0] CLUSTER SETSLOT 4 STABLE
    }

    test "A replica that leaves during the wait is not waited for" {
        stop_node 3
        set client [begin_wait 0 CLUSTER SETSLOT 4 MIGRATING [node_id 1] TIMEOUT 0]
        assert_equal 1 [[node 0] CLIENT KILL TYPE replica]
        assert_equal OK [$client reply]
        continue_node 3
        wait_for_condition 20 {[replica_is_up 3]}
        assert_equal 3 [llength [open_slots 0]]
        wait_for_condition 20 {[open_slots 0] eq [open_slots 3]}
        [node 0] CLUSTER SETSLOT 4 STABLE
        [node 0] CLUSTER SETSLOT 3 STABLE
        $client destroy
    }

    foreach diskless {yes no} {
        test "A full synchronization brings the open slots of the primary (diskless: $diskless)" {
            [node 0] CONFIG SET repl-diskless-sync $diskless
            foreach {action open} {{MIGRATING %s} 2 STABLE 1} {
                stop_node 3
                [node 0] CLIENT KILL TYPE replica
                [node 0] CLUSTER SETSLOT 4 {*}[format $action [node_id 1]]
                [node 0] DEBUG CHANGE-REPL-ID
                continue_node 3
                wait_for_condition 20 {[replica_is_up 3]}
                assert_equal $open [llength [open_slots 0]]
                wait_for_condition 20 {[open_slots 0] eq [open_slots 3]}
            }
        }
    }

    test "ASK and TRYAGAIN are the same after a failover of the source" {
        failover_to 3
        assert_equal [list "\[0->-[node_id 1]\]"] [open_slots 3]
        wait_for_condition 20 {[open_slots 1] eq [list "\[0-<-[node_id 3]\]"]}
        assert_error "ASK 0 127.0.0.1:[lindex $cluster::ports 1]" {[node 3] GET "{06S}b"}
        assert_error "TRYAGAIN*" {[node 3] MGET "{06S}a" "{06S}b"}
        assert_equal 1 [[node 3] GET "{06S}a"]
    }

    test "ASKING works after a failover of the target" {
        failover_to 4
        wait_for_condition 20 {[open_slots 3] eq [list "\[0->-[node_id 4]\]"]}
        assert_equal [list "\[0-<-[node_id 3]\]"] [open_slots 4]
        assert_error "MOVED 0 127.0.0.1:[lindex $cluster::ports 3]" {[node 4] SET "{06S}b" 2}
        [node 4] ASKING
        assert_equal OK [[node 4] SET "{06S}b" 2]
    }

    test "The slot gets its new owner, and all nodes agree" {
        foreach key [[node 3] CLUSTER GETKEYSINSLOT 0 100] {
            assert_equal OK [[node 3] MIGRATE 127.0.0.1 [lindex $cluster::ports 4] $key 0 10000]
        }
        assert_equal OK [[node 4] CLUSTER SETSLOT 0 NODE [node_id 4]]
        assert_equal OK [[node 3] CLUSTER SETSLOT 0 NODE [node_id 4]]
        wait_for_condition 20 {[all_agree]}
        for {set i 0} {$i < 6} {incr i} {assert_equal {} [open_slots $i]}
        assert_equal {1 2} [[node 4] MGET "{06S}a" "{06S}b"]
        wait_for_condition 20 {[[node 1] CLUSTER COUNTKEYSINSLOT 0] == 2 && [[node 0] CLUSTER COUNTKEYSINSLOT 0] == 0}
    }
}
