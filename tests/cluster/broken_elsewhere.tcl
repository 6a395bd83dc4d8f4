# broken_elsewhere.tcl -- faults that other servers have had in cluster mode.
#
# Not here    orders of events (tests/sim/cluster); bytes of the bus and of the nodes file (tests/unit).
#
# SPDX-License-Identifier: BSD-3-Clause

# ---- One node ----

start_server [list overrides [list cluster-enabled yes cluster-port [free_port] save "" appendonly no]] {
    r CLUSTER ADDSLOTSRANGE 0 16383
    wait_for_condition 20 {[string match "*cluster_state:ok*" [r CLUSTER INFO]]}

    test "A script that has crossed slots does not spoil the next one" {
        r SET a 1
        assert_error "ERR Attempted to access a non local key in a cluster node*" {
            r EVAL {return redis.call('MSET', 'a', 1, 'b', 2)} 1 a
        }
        with_clients other {
            assert_equal 1 [$other EVAL {return 1} 0]
            assert_equal 1 [$other EVAL {return redis.call('GET', KEYS[1])} 1 a]
            assert_equal OK [$other EVAL {return redis.call('SET', KEYS[1], 2)} 1 b]
        }
    }

    test "EXEC runs nothing when a slot has left after a command was queued" {
        r SET foo 1
        r MULTI
        r INCR foo
        with_clients other {
            $other CLUSTER DELSLOTS 12182
            assert_error "CLUSTERDOWN Hash slot not served" {r EXEC}
            $other CLUSTER ADDSLOTS 12182
            wait_for_condition 20 {[string match "*cluster_state:ok*" [$other CLUSTER INFO]]}
        }
        assert_equal 1 [r GET foo]
    }

    test "A client that waits for a key of a slot that has left is answered" {
        with_clients waiting {
            waits $waiting BLPOP foo-list 0
            set slot [r CLUSTER KEYSLOT foo-list]
            r CLUSTER DELSLOTS $slot
            assert_error "CLUSTERDOWN*" {$waiting reply}
            assert_equal 0 [blocked_count]
            r CLUSTER ADDSLOTS $slot
            wait_for_condition 20 {[string match "*cluster_state:ok*" [r CLUSTER INFO]]}
        }
    }

    test "A script may ask for the slots" {
        assert_equal 1 [r EVAL {return #redis.call('CLUSTER', 'SLOTS')} 0]
        assert_equal 1 [r EVAL {return #redis.call('CLUSTER', 'SHARDS')} 0]
    }

    test "Numbers of slots at and beyond their limits" {
        foreach slot {-1 16384 65536 9223372036854775807 9223372036854775808 -9223372036854775808 1.5 "" x " 1"} {
            foreach command {{DELSLOTS %s} {ADDSLOTS %s} {SETSLOT %s STABLE} {ADDSLOTSRANGE 0 %s} {DELSLOTSRANGE %s 16383}} {
                assert_error "ERR Invalid or out of range slot" {r CLUSTER {*}[string map [list %s [list $slot]] $command]}
            }
            assert_error "ERR *" {r CLUSTER COUNTKEYSINSLOT $slot}
            assert_error "ERR *" {r CLUSTER GETKEYSINSLOT $slot 1}
        }
        assert_match "*cluster_slots_assigned:16384*" [r CLUSTER INFO]
    }

    test "The log of a transaction over several slots loads with each key once" {
        r FLUSHALL
        r CONFIG SET appendonly yes
        for {set i 0} {$i < 100} {incr i} {
            r SET k$i $i
            r MULTI
            r SET "{k$i}x" 1
            r INCR "{k$i}x"
            r EXEC
        }
        wait_for_condition 20 {[info_field aof_rewrite_in_progress persistence] == 0}
        set digest [r DEBUG DIGEST]
        r CONFIG REWRITE
        restart_server
        wait_for_condition 20 {[string match "*cluster_state:ok*" [r CLUSTER INFO]]}
        assert_equal 200 [r DBSIZE]
        assert_equal $digest [r DEBUG DIGEST]
        set slots {}
        for {set i 0} {$i < 100} {incr i} {
            dict set slots [r CLUSTER KEYSLOT k$i] 1
        }
        set counted 0
        foreach slot [dict keys $slots] {
            incr counted [r CLUSTER COUNTKEYSINSLOT $slot]
        }
        assert_equal 200 $counted
    }
}

# ---- The nodes file ----

test "Two servers do not share a nodes file, also after it has been saved" {
    start_server [list overrides [list cluster-enabled yes cluster-port [free_port]]] {
        r CLUSTER ADDSLOTS 1
        r CLUSTER SAVECONFIG
        set dir [dict get [lindex $srv::stack end] dir]
        lassign [run_to_end [list --port [free_port] --cluster-port [free_port] --dir $dir --cluster-enabled yes]] code text
        assert_equal 1 $code
        assert_match "*nodes.conf is already used by a different Cluster node*" $text
    }
}

test "A damaged nodes file is named with its line, and stays as it is" {
    set dir [make_server_dir]
    set f [open $dir/nodes.conf w]
    puts $f "0123456789012345678901234567890123456789 127.0.0.1:7000@17000 myself,master - 0 0 1 connected 0-16384"
    puts $f "vars currentEpoch 1 lastVoteEpoch 0"
    close $f
    set before [exec cat $dir/nodes.conf]
    lassign [run_to_end [list --port [free_port] --cluster-port [free_port] --dir $dir --cluster-enabled yes] $dir] code text
    assert_equal 1 $code
    assert_match "*nodes.conf*1*" $text
    assert_no_match "*STACK TRACE*" $text
    assert_equal $before [exec cat $dir/nodes.conf]
}

# ---- Several nodes ----

start_cluster 3 1 {} {
    test "A replica refuses to change slots" {
        assert_error "ERR *" {[node 3] CLUSTER DELSLOTS 1}
        assert_error "ERR *" {[node 3] CLUSTER ADDSLOTS 1}
        wait_for_condition 10 {[all_agree]}
    }

    test "The port in replies follows CONFIG SET port" {
        set old [lindex $cluster::ports 1]
        set new [free_port]
        [node 1] CONFIG SET port $new
        wait_for_condition 20 {[lindex [split [lindex [node_line 0 [node_id 1]] 1] @] 0] eq "127.0.0.1:$new"}
        assert_error "MOVED 7365 127.0.0.1:$new" {[node 0] GET c}
        [node 1] CONFIG SET port $old
        wait_for_condition 20 {[lindex [split [lindex [node_line 0 [node_id 1]] 1] @] 0] eq "127.0.0.1:$old"}
    }

    test "A failed primary keeps its slots in CLUSTER SHARDS until they have another owner" {
        set id [node_id 2]
        [node 5] CONFIG SET cluster-replica-no-failover yes
        exec kill -STOP [lindex $cluster::pids 2]
        wait_for_condition 20 {[lindex [node_line 0 $id] 2] eq "master,fail"}
        set ranges 0
        foreach shard [[node 0] CLUSTER SHARDS] {
            incr ranges [llength [dict get $shard slots]]
        }
        assert_equal 6 $ranges
        exec kill -CONT [lindex $cluster::pids 2]
        wait_for_condition 20 {[lindex [node_line 5 $id] 2] eq "master" && [lindex [node_line 0 $id] 2] eq "master"}
        [node 5] CONFIG SET cluster-replica-no-failover no
        wait_for_condition 20 {[all_agree]}
    }

    test "A disk that cannot be written stops no node by best effort" {
        for {set i 0} {$i < 6} {incr i} {
            [node $i] CONFIG SET cluster-config-save-behavior best-effort
        }
        set dir [lindex [[node 0] CONFIG GET dir] 1]
        set file $dir/[lindex [[node 0] CONFIG GET cluster-config-file] 1]
        file rename $file $file.away
        file mkdir $file/in-the-way
        catch {[node 0] CLUSTER BUMPEPOCH}
        [node 4] CLUSTER FAILOVER
        wait_for_condition 20 {[lindex [node_line 0 [node_id 4]] 2] eq "master"}
        assert_equal PONG [[node 0] PING]
        assert_equal ok [cluster_field 0 cluster_state]
        file delete -force $file
        wait_for_condition 20 {[file isfile $file]}
        wait_for_condition 20 {[all_agree]}
    }

    test "A failover by hand while keys expire and slot statistics are counted" {
        for {set i 0} {$i < 6} {incr i} {
            [node $i] CONFIG SET cluster-slot-stats-enabled yes
        }
        set primary [lindex [node_line 0 [node_id 1]] 2]
        lassign [expr {[string match "*master*" $primary] ? {1 4} : {4 1}}] old new
        set written 0
        while {![catch {[node $old] SET "{c}[expr {$written % 500}]" $written PX [expr {1 + $written % 20}]}]} {
            if {[incr written] == 300} {
                assert_equal OK [[node $new] CLUSTER FAILOVER]
            }
        }
        assert {$written >= 300}
        wait_for_condition 20 {[all_agree]}
        assert_equal OK [[node $new] SET "{c}x" 1]
        assert_equal 1 [llength [[node $new] CLUSTER SLOT-STATS ORDERBY network-bytes-in LIMIT 1]]
        wait_for_condition 20 {[[node $new] DBSIZE] == [[node $old] DBSIZE] && [[node $new] CLUSTER COUNTKEYSINSLOT 7365] == 1}
        assert_equal PONG [[node $old] PING]
    }

    test "A live node that is forgotten stays forgotten" {
        set id [node_id 5]
        [node 0] CLUSTER FORGET $id
        wait_for_condition 20 {[node_line 1 $id] eq {} && [node_line 2 $id] eq {}}
        for {set i 0} {$i < 30} {incr i} {
            foreach n {0 1 2 3 4} {
                assert_equal {} [node_line $n $id]
            }
            after 100
        }
    }
}
