# slot_stats.tcl -- CLUSTER SLOT-STATS: what commands of a slot cost. The figures are those of Valkey 9.1.2.
#
# SPDX-License-Identifier: BSD-3-Clause

set FOO 12182

# Returns {keys in out} of a slot of node 0.
proc figures {slot} {
    set row [lindex [[node 0] CLUSTER SLOT-STATS SLOTSRANGE $slot $slot] 0]
    assert_equal $slot [lindex $row 0]
    set f [lindex $row 1]
    return [list [dict get $f key-count] [dict get $f network-bytes-in] [dict get $f network-bytes-out]]
}

proc cpu_usec {slot} {
    return [dict get [lindex [[node 0] CLUSTER SLOT-STATS SLOTSRANGE $slot $slot] 0 1] cpu-usec]
}

# Runs commands on an empty server and returns the figures of the slot of "foo".
proc figures_of {args} {
    [node 0] FLUSHALL
    [node 0] CONFIG RESETSTAT
    foreach command $args {
        catch {[node 0] {*}$command}
    }
    return [figures $::FOO]
}

start_cluster 1 0 {save "" cluster-require-full-coverage no} {
    test "Without cluster-slot-stats-enabled there are keys only" {
        [node 0] SET foo bar
        assert_equal {{12182 {key-count 1}}} [[node 0] CLUSTER SLOT-STATS SLOTSRANGE $FOO $FOO]
        assert_equal {{12182 {key-count 1}}} [[node 0] CLUSTER SLOT-STATS ORDERBY key-count LIMIT 1]
        assert_error "ERR Unrecognized sort metric for ORDERBY." {[node 0] CLUSTER SLOT-STATS ORDERBY cpu-usec}
        [node 0] CONFIG SET cluster-slot-stats-enabled yes
        assert_equal {1 0 0} [figures $FOO]
    }

    test "Commands count with their request and their reply" {
        assert_equal {1 31 5} [figures_of {SET foo bar}]
        assert_equal {1 53 14} [figures_of {SET foo bar} {GET foo}]
        assert_equal {1 62 73} [figures_of {SET foo bar} {LPUSH foo 1}]
        assert_equal {0 0 0} [figures_of PING {GET foo bar} {NOSUCH foo} {MSET foo 1 b 2}]
        assert_equal {1 106 22} [figures_of {SET foo bar} {OBJECT ENCODING foo} {MEMORY USAGE foo}]
        assert_equal {0 0 0} [figures_of PING]
        assert_equal 0 [cpu_usec $FOO]
        [node 0] EVAL "for i = 1, 200000 do end" 1 foo
        assert {[cpu_usec $FOO] > 0}
    }

    test "A transaction counts once, a queued request when it comes" {
        assert_equal {1 60 9} [figures_of MULTI {SET foo bar} EXEC]
        assert_equal {1 82 25} [figures_of MULTI {SET foo bar} PING {GET foo} EXEC]
        assert_equal {0 31 0} [figures_of MULTI {SET foo bar} DISCARD]
        assert_equal {0 0 0} [figures_of MULTI PING EXEC]
        assert_equal {1 84 14} [figures_of {WATCH foo} MULTI {SET foo bar} EXEC]
        # A transaction that was refused leaves nothing for the next one.
        assert_equal {0 31 0} [figures_of MULTI {SET foo bar} NOSUCH EXEC MULTI PING EXEC]
    }

    test "A script counts as one command" {
        assert_equal {1 97 5} [figures_of {EVAL "redis.call('get',KEYS[1]) return redis.call('set',KEYS[1],1)" 1 foo}]
        assert_equal {1 0 0} [figures_of {EVAL "return redis.call('set','foo',1)" 0}]
    }

    test "A blocked command counts when it is served" {
        [node 0] FLUSHALL
        [node 0] CONFIG RESETSTAT
        set c [RespClient new [srv port]]
        $c send BLPOP foo 0
        wait_for_condition 10 {[regexp {blocked_clients:1\r} [[node 0] INFO clients]]}
        assert_equal {0 0 0} [figures $FOO]
        [node 0] LPUSH foo x
        assert_equal {foo x} [$c read]
        assert_equal {0 62 24} [figures $FOO]
        $c destroy
    }

    test "Messages of shard channels count for each subscriber" {
        set subscribers {}
        [node 0] CONFIG RESETSTAT
        for {set i 0} {$i < 3} {incr i} {
            set c [RespClient new [srv port]]
            $c SSUBSCRIBE foo
            lappend subscribers $c
        }
        assert_equal {0 90 102} [figures $FOO]
        [node 0] SPUBLISH foo hello
        assert_equal {0 128 220} [figures $FOO]
        foreach c $subscribers {
            $c destroy
        }
    }

    test "ORDERBY sorts, limits, and shows equal slots by number" {
        [node 0] FLUSHALL
        [node 0] SET foo 1
        [node 0] MSET "{06S}a" 1 "{06S}b" 1
        set slots {}
        foreach row [[node 0] CLUSTER SLOT-STATS ORDERBY key-count LIMIT 4] {
            lappend slots [lindex $row 0]
        }
        assert_equal {0 12182 1 2} $slots
        set rows [[node 0] CLUSTER SLOT-STATS ORDERBY key-count ASC]
        assert_equal 16384 [llength $rows]
        assert_equal {1 2 12182 0} [list [lindex $rows 0 0] [lindex $rows 1 0] [lindex $rows end-1 0] [lindex $rows end 0]]
    }

    test "Wrong words of SLOT-STATS" {
        foreach {words error} {
            {SLOTSRANGE 0} "ERR unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP."
            {SLOTSRANGE 0 1 2} "ERR unknown subcommand or wrong number of arguments for 'SLOT-STATS'. Try CLUSTER HELP."
            {SLOTSRANGE 1 0} "ERR Start slot number 1 is greater than end slot number 0"
            {SLOTSRANGE a 0} "ERR Invalid or out of range slot"
            {SLOTSRANGE 0 16384} "ERR Invalid or out of range slot"
            {ORDERBY x LIMIT 0} "ERR Unrecognized sort metric for ORDERBY."
            {ORDERBY key-count LIMIT} "ERR syntax error"
            {ORDERBY key-count LIMIT 0} "ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."
            {ORDERBY key-count LIMIT x} "ERR Limit has to lie in between 1 and 16384 (maximum number of slots)."
            {ORDERBY key-count LIMIT 1 LIMIT 1} "ERR Multiple filters of the same type are disallowed."
            {ORDERBY key-count ASC DESC} "ERR Multiple filters of the same type are disallowed."
            {ORDERBY key-count FOO} "ERR syntax error"
        } {
            assert_error $error {[node 0] CLUSTER SLOT-STATS {*}$words}
        }
    }

    test "Switched off the figures are freed, in a transaction too; a slot that is given up loses them" {
        assert_equal {1 31 5} [figures_of {SET foo bar}]
        [node 0] CONFIG SET cluster-slot-stats-enabled no
        [node 0] GET foo
        [node 0] CONFIG SET cluster-slot-stats-enabled yes
        assert_equal {1 0 0} [figures $FOO]
        [node 0] MULTI
        [node 0] GET foo
        [node 0] CONFIG SET cluster-slot-stats-enabled no
        [node 0] GET foo
        [node 0] CONFIG SET cluster-slot-stats-enabled yes
        [node 0] GET foo
        assert_equal {bar OK bar OK bar} [[node 0] EXEC]
        assert_equal {1 0 0} [figures $FOO]
        assert_equal bar [[node 0] GET foo]
        assert_equal {1 22 9} [figures $FOO]
        [node 0] CLUSTER DELSLOTS $FOO
        assert_equal {} [[node 0] CLUSTER SLOT-STATS SLOTSRANGE $FOO $FOO]
        [node 0] CLUSTER ADDSLOTS $FOO
        assert_equal {1 0 0} [figures $FOO]
    }
}

start_cluster 1 1 {save "" cluster-slot-stats-enabled yes} {
    test "What replicas get counts as output" {
        wait_for_condition 20 {[string match "*state=online*" [[node 0] INFO replication]]}
        assert_equal {1 62 72} [figures_of {SET foo bar} {SET foo baz}]
        assert_equal {1 48 66} [figures_of {SET foo bar EX 100}]
        assert_equal {2 86 99} [figures_of MULTI {SET foo bar} {INCR "{foo}2"} EXEC]
        assert_equal {0 38 4} [figures_of {SPUBLISH foo hello}]
    }
}
