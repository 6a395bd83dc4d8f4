# shutdown.tcl -- SHUTDOWN FAILOVER: a replica takes over before the primary ends, and no write is lost.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns whether node I is a primary for node 1 or, if that is the one, for itself.
proc is_primary_for {seen_by i} {
    return [string match "*master*" [lindex [node_line $seen_by [node_id $i]] 2]]
}

proc log_in {dir text} {
    return [string match "*$text*" [server_log $dir]]
}

proc dir_of {i} {
    return [lindex [[node $i] CONFIG GET dir] 1]
}

start_cluster 3 1 {save "" cluster-allow-replica-migration no} {
    test "REPLICAID is for the replication stream only" {
        assert_error "ERR syntax error" {[node 3] CLUSTER FAILOVER FORCE REPLICAID [node_id 3]}
        assert_equal 0 [is_primary_for 1 3]
    }

    test "SHUTDOWN FAILOVER hands over with all writes" {
        set dir [dir_of 0]
        for {set i 0} {$i < 1000} {incr i} {
            [node 0] SET "{06S}$i" $i
        }
        catch {[node 0] SHUTDOWN FAILOVER}
        wait_for_condition 20 {[log_in $dir "A replica has taken over."]}
        wait_for_condition 20 {[is_primary_for 1 3] && [is_primary_for 3 3]}
        assert_equal 1000 [[node 3] DBSIZE]
        assert_equal 1000 [[node 3] CLUSTER COUNTKEYSINSLOT [[node 3] CLUSTER KEYSLOT "{06S}"]]
        assert [log_in $dir "bye bye"]
    }

    test "The primary that ends is one of the voters" {
        # Of three primaries two must vote: node 2 cannot.
        set dir [dir_of 1]
        exec kill -STOP [lindex $cluster::pids 2]
        catch {[node 1] SHUTDOWN FAILOVER}
        wait_for_condition 20 {[log_in $dir "A replica has taken over."]}
        wait_for_condition 20 {[is_primary_for 3 4]}
        exec kill -CONT [lindex $cluster::pids 2]
        wait_for_condition 20 {[cluster_field 3 cluster_state] eq "ok"}
    }

    test "SIGTERM hands over with shutdown-on-sigterm failover" {
        set dir [dir_of 2]
        [node 2] CONFIG SET shutdown-on-sigterm failover
        [node 2] SET "{foo}a" 1
        exec kill -TERM [lindex $cluster::pids 2]
        wait_for_condition 20 {[log_in $dir "A replica has taken over."]}
        wait_for_condition 20 {[is_primary_for 3 5] && [is_primary_for 5 5]}
        assert_equal 1 [[node 5] GET "{foo}a"]
    }

    test "SHUTDOWN FAILOVER ends a primary without replicas" {
        set dir [dir_of 5]
        catch {[node 5] SHUTDOWN FAILOVER}
        wait_for_condition 20 {[log_in $dir "bye bye"]}
        assert [log_in $dir "Unable to find a replica to perform the auto failover on shutdown."]
    }
}
