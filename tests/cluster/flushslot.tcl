# flushslot.tcl -- CLUSTER FLUSHSLOT deletes the keys of one slot.
#
# SPDX-License-Identifier: BSD-3-Clause

start_cluster 1 1 {cluster-databases 4 notify-keyspace-events KEA repl-ping-replica-period 3600} {
    set slot [[node 0] CLUSTER KEYSLOT "{a}"]

    proc fill {} {
        foreach db {0 2} {
            [node 0] SELECT $db
            [node 0] MSET "{a}1" 1 "{a}2" 2
            [node 0] RPUSH "{a}list" {*}[lrepeat 1000 element]
            [node 0] SET b 1
        }
        [node 0] SELECT 0
    }

    test "CLUSTER FLUSHSLOT empties the slot in all databases, here and at the replica" {
        foreach mode {{} ASYNC sync} {
            fill
            assert_equal OK [[node 0] CLUSTER FLUSHSLOT $slot {*}$mode]
            foreach db {0 2} {
                [node 0] SELECT $db
                assert_equal {} [[node 0] CLUSTER GETKEYSINSLOT $slot 10]
                assert_equal b [[node 0] KEYS *]
                assert_equal 0 [[node 0] CLUSTER COUNTKEYSINSLOT $slot]
            }
            [node 0] SELECT 0
            [node 0] WAIT 1 10000
            foreach db {0 2} {
                [node 1] SELECT $db
                assert_equal b [[node 1] KEYS *]
            }
        }
        assert_equal [[node 0] DEBUG DIGEST] [[node 1] DEBUG DIGEST]
    }

    test "CLUSTER FLUSHSLOT reports each key, and ends a transaction that watches one" {
        fill
        set subscriber [RespClient new [lindex $cluster::ports 0]]
        $subscriber PSUBSCRIBE __keyevent@0__:del
        [node 0] WATCH "{a}2"
        set other [RespClient new [lindex $cluster::ports 0]]
        $other CLUSTER FLUSHSLOT $slot
        $other destroy
        [node 0] MULTI
        [node 0] SET b 2
        assert_equal (nil) [[node 0] EXEC]
        set seen {}
        for {set i 0} {$i < 3} {incr i} {
            lappend seen [lindex [$subscriber reply] 3]
        }
        assert_equal {{{a}1} {{a}2} {{a}list}} [lsort $seen]
        $subscriber destroy
    }

    test "CLUSTER FLUSHSLOT in a transaction deletes the keys, whatever slot was used before" {
        fill
        [node 0] MULTI
        [node 0] SET b 2
        [node 0] CLUSTER FLUSHSLOT $slot
        assert_equal {OK OK} [[node 0] EXEC]
        assert_equal b [[node 0] KEYS *]
    }

    test "CLUSTER FLUSHSLOT without keys is no write" {
        set offset [lindex [[node 0] ROLE] 1]
        assert_equal OK [[node 0] CLUSTER FLUSHSLOT 5]
        assert_equal OK [[node 0] CLUSTER FLUSHSLOT $slot]
        assert_equal $offset [lindex [[node 0] ROLE] 1]
    }

    test "CLUSTER FLUSHSLOT checks its arguments" {
        assert_error "ERR Invalid or out of range slot" {[node 0] CLUSTER FLUSHSLOT 16384}
        assert_error "ERR Invalid or out of range slot" {[node 0] CLUSTER FLUSHSLOT x NOW}
        assert_error "ERR syntax error" {[node 0] CLUSTER FLUSHSLOT 5 NOW}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'FLUSHSLOT'*" {
            [node 0] CLUSTER FLUSHSLOT x SYNC ASYNC
        }
        assert_error "READONLY *" {[node 1] CLUSTER FLUSHSLOT $slot}
    }
}
