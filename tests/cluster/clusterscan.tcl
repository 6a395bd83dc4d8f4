# clusterscan.tcl -- CLUSTERSCAN walks the keys of all slots; SCAN and KEYS walk one slot if their pattern names it.
#
# SPDX-License-Identifier: BSD-3-Clause

start_cluster 2 1 {cluster-databases 4 repl-ping-replica-period 3600} {
    # Slots 0 to 8191 are node 0's, the others node 1's. {06S} is a tag of slot 0, {460} of 5, {6ZJ} of 16383.

    # Asks the primary that owns the slot of the cursor.
    proc ask {args} {
        if {[catch {[node 0] CLUSTERSCAN {*}$args} reply]} {
            if {![string match "MOVED *" $reply]} {
                error $reply
            }
            return [[node 1] CLUSTERSCAN {*}$args]
        }
        return $reply
    }

    # Returns the keys of a whole walk. Each call may return ten times as many keys as the COUNT that it has.
    proc walk {count args} {
        set keys {}
        set cursor 0
        for {set calls 0} {$calls == 0 || $cursor ne "0"} {incr calls} {
            lassign [ask $cursor COUNT $count {*}$args] cursor part
            assert {[llength $part] <= $count + 20}
            assert {$calls < 3000}
            lappend keys {*}$part
        }
        return $keys
    }

    proc fill {} {
        [node 0] FLUSHALL
        [node 1] FLUSHALL
        set keys {}
        for {set i 0} {$i < 200} {incr i} {
            foreach key [list key:$i "{06S}$i" "{6ZJ}$i"] {
                [node [expr {[[node 0] CLUSTER KEYSLOT $key] > 8191}]] SET $key $i
                lappend keys $key
            }
        }
        return $keys
    }

    test "CLUSTERSCAN meets every key of the cluster" {
        set keys [lsort [fill]]
        foreach count {1 7 100 100000} {
            assert_equal $keys [lsort -unique [walk $count]]
        }
        assert_equal $keys [lsort [walk 100000]]
        assert_equal [lsort [lsearch -all -inline -glob $keys "*9*"]] [lsort -unique [walk 10 MATCH *9*]]
        [node 0] RPUSH "{06S}list" a
        assert_equal [list "{06S}list"] [walk 100 TYPE list]
        assert_equal $keys [lsort -unique [walk 10 TYPE STRING]]
        [node 0] FLUSHALL
        [node 1] FLUSHALL
        assert_equal {} [walk 1]
    }

    test "CLUSTERSCAN leads from the slots of a node to the next slot" {
        assert_error "MOVED 13907 *" {[node 0] CLUSTERSCAN 0}
        assert_equal {0-{06S}-0 {}} [[node 1] CLUSTERSCAN 0]
        set next [lindex [[node 0] CLUSTERSCAN "0-{06S}-0"] 0]
        assert_match "0-{*}-0" $next
        assert_equal 8192 [[node 0] CLUSTER KEYSLOT $next]
        assert_equal {0 {}} [[node 1] CLUSTERSCAN $next]
        [node 0] SET "{06S}a" 1
        [node 0] SET "{460}b" 1
        lassign [[node 0] CLUSTERSCAN "0-{06S}-0" COUNT 1] cursor keys
        assert_equal [list "{06S}a"] $keys
        assert {[regexp {^[A-Za-z0-9]{6}-\{460\}-5$} $cursor]}
        assert_equal [list $next [list "{460}b"]] [[node 0] CLUSTERSCAN $cursor COUNT 1]
        assert_equal [list $next [list "{06S}a" "{460}b"]] [[node 0] CLUSTERSCAN "0-{06S}-0" COUNT 2]
    }

    test "CLUSTERSCAN SLOT walks that slot only" {
        assert_equal {0-{460}-0 {}} [ask 0 SLOT 5]
        assert_equal {0-{6ZJ}-0 {}} [ask 0 SLOT 16383]
        assert_equal [list "{460}b"] [walk 10 SLOT 5]
        assert_equal {} [walk 10 SLOT 16383]
        assert_equal [list 0 [list "{460}b"]] [[node 0] CLUSTERSCAN "0-{460}-0" COUNT 1 SLOT 5]
        assert_error "ERR Cursor slot mismatch with SLOT argument" {ask "0-{06S}-0" SLOT 5}
    }

    test "CLUSTERSCAN with a hash tag in its pattern goes to the slot at once" {
        assert_equal {0-{460}-0 {}} [ask 0 MATCH "{460}*"]
        assert_equal {0-{460}-0 {}} [ask "0-{06S}-0" MATCH "{460}*"]
        assert_equal {0-{6ZJ}-0 {}} [ask "0-{06S}-0" MATCH "{6ZJ}*"]
        assert_equal {0 {}} [ask "0-{6ZJ}-0" MATCH "{460}*"]
        assert_equal [list 0 [list "{460}b"]] [ask "0-{460}-0" MATCH "{460}*"]
        assert_equal {0 {}} [ask "0-{460}-0" MATCH "{460}c"]
        assert_equal {0 {}} [ask 0 MATCH "{460}*" SLOT 7]
        assert_equal {0-{460}-0 {}} [ask 0 MATCH "{460}*" SLOT 5]
        assert_equal [list "{460}b"] [walk 10 MATCH "{460}?"]
        assert_equal [list "{460}b"] [walk 10 MATCH "\[{]460}b"]
    }

    test "CLUSTERSCAN of another process starts the slot again" {
        [node 0] DEL "{06S}a"
        for {set i 0} {$i < 300} {incr i} {
            [node 0] SET "{06S}$i" 1
        }
        lassign [[node 0] CLUSTERSCAN "0-{06S}-0" COUNT 200] cursor first
        set rest [lindex [[node 0] CLUSTERSCAN $cursor COUNT 1000] 1]
        assert_equal 301 [llength [lsort -unique [concat $first $rest]]]
        assert {[llength $rest] < 150}
        set other "not-[string range $cursor [string first - $cursor]+1 end]"
        assert_equal 301 [llength [lindex [[node 0] CLUSTERSCAN $other COUNT 1000] 1]]
    }

    test "CLUSTERSCAN checks its arguments" {
        foreach {error words} {
            "ERR wrong number of arguments for 'clusterscan' command" {}
            "ERR syntax error" {x FOO}
            "ERR syntax error" {x COUNT 0}
            "ERR syntax error" {x COUNT}
            "ERR syntax error" {x SLOT}
            "ERR value is not an integer or out of range" {x COUNT y}
            "ERR unknown type name 'y'" {x TYPE y SLOT y}
            "ERR Invalid or out of range slot" {x SLOT y}
            "ERR Invalid or out of range slot" {x SLOT 16384}
            "ERR Invalid or out of range slot" {x SLOT 05}
            "ERR SLOT option can only be specified once" {x SLOT 5 SLOT y}
            "ERR NOVALUES option can only be used in HSCAN" {x NOVALUES}
            "ERR Invalid cursor" {x}
            "ERR Invalid cursor" {x SLOT 5}
            "ERR Invalid cursor" {{}}
            "ERR Invalid cursor" {00}
            "ERR Invalid cursor" {0-{06S}}
            "ERR Invalid cursor" {0-{06S}-}
            "ERR Invalid cursor" {0-{06S}-x}
            "ERR Invalid cursor" {0-{06S}--1}
            "ERR Invalid cursor" {0-{06S}-1-1}
            "ERR Invalid cursor" {0-{06S}-18446744073709551616}
        } {
            assert_error $error {ask {*}$words}
        }
        assert_error "MOVED 16287 *" {[node 0] CLUSTERSCAN x FOO}
    }

    test "CLUSTERSCAN walks the selected database, in transactions and scripts too" {
        [node 0] SELECT 1
        [node 0] SET "{06S}second" 1
        assert_equal [list "{06S}second"] [lindex [[node 0] CLUSTERSCAN "0-{06S}-0" SLOT 0] 1]
        [node 0] MULTI
        [node 0] CLUSTERSCAN "0-{06S}-0" SLOT 0
        [node 0] SET "{06S}third" 1
        [node 0] CLUSTERSCAN "0-{06S}-0" SLOT 0
        assert_equal [list [list 0 [list "{06S}second"]] OK] [lrange [[node 0] EXEC] 0 1]
        [node 0] MULTI
        [node 0] CLUSTERSCAN "0-{06S}-0"
        [node 0] CLUSTERSCAN "0-{460}-0"
        assert_error "CROSSSLOT*" {[node 0] EXEC}
        assert_equal 2 [llength [lindex [[node 0] EVAL "return server.call('clusterscan','0-{06S}-0','slot','0')" 0] 1]]
        assert_error "*non local key*" {[node 0] EVAL "return server.call('clusterscan','0-{6ZJ}-0')" 0}
        [node 0] SELECT 0
    }

    test "CLUSTERSCAN of a replica needs READONLY" {
        [node 0] WAIT 1 10000
        assert_error "MOVED 0 *" {[node 2] CLUSTERSCAN "0-{06S}-0"}
        [node 2] READONLY
        assert_equal [lsort [lindex [[node 0] CLUSTERSCAN "0-{06S}-0" COUNT 1000] 1]] \
            [lsort [lindex [[node 2] CLUSTERSCAN "0-{06S}-0" COUNT 1000] 1]]
        assert_equal 8192 [[node 0] CLUSTER KEYSLOT [lindex [[node 2] CLUSTERSCAN "0-{06S}-0" COUNT 1000] 0]]
        assert_error "MOVED 16383 *" {[node 2] CLUSTERSCAN "0-{6ZJ}-0"}
        [node 2] READWRITE
    }

    test "SCAN and KEYS with a hash tag walk its slot only" {
        foreach pattern {"{460}*" "{460}b" "{460}\[a-c]"} {
            assert_equal [list 0 [list "{460}b"]] [[node 0] SCAN 0 COUNT 1 MATCH $pattern]
            assert_equal [list "{460}b"] [[node 0] KEYS $pattern]
        }
        assert_equal {0 {}} [[node 0] SCAN 6 COUNT 1 MATCH "{460}*"]
        assert_equal [list 0 [list "{460}b"]] [[node 0] SCAN 16384 COUNT 1 MATCH "{460}*"]
        assert_equal {0 {}} [[node 0] SCAN 0 COUNT 1 MATCH "{6ZJ}*"]
        foreach pattern {"*{460}*" "\\{460}*" "\[{]460}*" "{4?0}b"} {
            assert_equal [list "{460}b"] [[node 0] KEYS $pattern]
        }
        assert {[lindex [[node 0] SCAN 0 COUNT 1 MATCH "\\{460}*"] 0] != 0}
        assert_equal 300 [llength [[node 0] KEYS "{06S}*"]]
        set keys {}
        set cursor 0
        while {$cursor ne "0" || $keys eq {}} {
            lassign [[node 0] SCAN $cursor MATCH "{06S}*" COUNT 20] cursor part
            lappend keys {*}$part
        }
        assert_equal 300 [llength [lsort -unique $keys]]
    }

    test "CLUSTERSCAN of a slot that is being moved" {
        [node 0] CLUSTER SETSLOT 5 MIGRATING [node_id 1]
        [node 1] CLUSTER SETSLOT 5 IMPORTING [node_id 0]
        [node 1] ASKING
        [node 1] SET "{460}moved" 1
        assert_error "ASK 5 *" {[node 0] CLUSTERSCAN "0-{460}-0"}
        assert_error "MOVED 5 *" {[node 1] CLUSTERSCAN "0-{460}-0"}
        # The target has no other slot of these: the walk returns to the owner for the next one.
        [node 1] ASKING
        assert_equal [list 0-{1Y7}-0 [list "{460}moved"]] [[node 1] CLUSTERSCAN "0-{460}-0"]
        [node 1] ASKING
        assert_equal [list 0 [list "{460}moved"]] [[node 1] CLUSTERSCAN "0-{460}-0" SLOT 5]
        [node 0] CLUSTER SETSLOT 5 STABLE
        [node 1] CLUSTER SETSLOT 5 STABLE
    }

    test "CLUSTERSCAN stops before a slot without an owner" {
        [node 0] CONFIG SET cluster-require-full-coverage no
        [node 0] CLUSTER DELSLOTS 6 7
        assert_equal [list 0-{1Y7}-0 [list "{460}b"]] [[node 0] CLUSTERSCAN "0-{460}-0"]
        assert_error "CLUSTERDOWN Hash slot not served" {[node 0] CLUSTERSCAN "0-{1Y7}-0"}
        [node 0] CLUSTER ADDSLOTS 6 7
        assert_equal 8192 [[node 0] CLUSTER KEYSLOT [lindex [[node 0] CLUSTERSCAN "0-{460}-0"] 0]]
    }
}
