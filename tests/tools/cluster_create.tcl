# cluster_create.tcl -- valkey-cli --cluster create, check, info, add-node, del-node, call, set-timeout.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support cluster.tcl]
source [file join $support cluster_manager.tcl]

test "--cluster: words that are wrong" {
    assert_equal [list 1 "" "Unknown --cluster subcommand\n"] [manage bogus 127.0.0.1:1]
    set wrong "\[ERR\] Wrong number of arguments for specified --cluster sub command\n"
    foreach words {check {check a 1 b} create {add-node 127.0.0.1:1} {call 127.0.0.1:1} {set-timeout 127.0.0.1:1}} {
        assert_equal [list 1 "" $wrong] [manage {*}$words]
    }
    foreach address {127.0.0.1 127.0.0.1: 127.0.0.1:0 127.0.0.1:65536 :7000 127.0.0.1:x} {
        assert_match "1 {} {*Invalid arguments*}" [manage check $address]
        assert_equal [list 1 "" "Invalid address format: $address\n"] [manage create $address]
    }
    assert_match "1 {} {Could not connect to Valkey at 127.0.0.1:1: Connection refused\n}" [manage check 127.0.0.1:1]
    assert_equal 1 [lindex [manage set-timeout 127.0.0.1:1 99] 0]
    assert_match "1 {} {Unknown option*--cluster-yes*}" [manage check 127.0.0.1:1 --cluster-yess]
    lassign [manage help] code out err
    assert_equal {1 {}} [list $code $err]
    foreach name {create check info add-node del-node call set-timeout reshard rebalance fix import backup} {
        assert_match "*\n  $name *" $out
    }
}

start_server {} {
    test "--cluster refuses a server that is not in cluster mode" {
        set refusal "\[ERR\] Node 127.0.0.1:[srv port] is not configured as a cluster node.\n"
        assert_equal [list 1 $refusal ""] [manage check 127.0.0.1:[srv port]]
        assert_equal [list 1 $refusal ""] [manage create 127.0.0.1:[srv port]]
    }
}

fresh_nodes 8 {} {
    test "create asks before it makes anything" {
        lassign [manage create [at 0] [at 1]] code out err
        assert_equal {1 {}} [list $code $err]
        assert_match "Requested to create a cluster with 2 primaries and 0 replicas per primary.\n*(type 'yes' to accept): \n" $out
        lassign [manage_with "no\n" create [at 0] [at 1] [at 2]] code out err
        assert_equal {0 {}} [list $code $err]
        assert_match "*Primary\\\[1\\\] -> Slots 5461 - 10922\n*(type 'yes' to accept): " $out
        assert_equal 0 [lindex [manage_with "Yes\n" create [at 0] [at 1] [at 2]] 0]
        assert_equal 0 [cluster_field 0 cluster_slots_assigned]
        assert_equal 1 [lindex [manage create [at 0] --cluster-replicas 1 --cluster-yes] 0]
        assert_equal 1 [lindex [manage create [at 0] [at 0] [at 1] --cluster-yes] 0]
        assert_match "1 * {Could not connect*}" [manage create [at 0] 127.0.0.1:1 [at 1] --cluster-yes]
    }

    test "create makes a cluster" {
        set out [managed create {*}[lmap i {0 1 2 3 4 5 6} {at $i}] --cluster-replicas 1 --cluster-yes]
        assert_match "*>>> Performing hash slots allocation on 7 node(s)...*" $out
        assert_match "*\\\[WARNING\\\] Some replicas are in the same host as their primary\n*" $out
        assert_match "*>>> Performing Cluster Check (using node [at 0])\n*" $out
        assert_match "*\n\\\[OK\\\] All nodes agree about slots configuration.\n>>> Check for open slots...\n>>> Check\
            slots coverage...\n\\\[OK\\\] All 16384 slots covered.\n" $out
        assert_match "*\nM: [node_id 1] [at 1]\n   slots:\\\[5461-10922\\\] (5462 slots) master\n   1 additional replica(s)\n*" $out
        assert_match "*\nS: [node_id 3] [at 3]\n   slots: (0 slots) slave\n   replicates *" $out
        assert {[string first "\033" $out] < 0}
        set replicas {}
        for {set i 0} {$i < 7} {incr i} {
            assert_equal ok [cluster_field $i cluster_state]
            assert_equal 7 [cluster_field $i cluster_known_nodes]
            if {$i < 3} {assert_equal [expr {$i + 1}] [cluster_field $i cluster_my_epoch]}
            if {$i >= 3} {lappend replicas [lindex [node_line $i [node_id $i]] 3]}
        }
        foreach i {0 1 2} {
            assert {[llength [lsearch -all $replicas [node_id $i]]] >= 1}
        }
    }

    test "create refuses nodes that know others" {
        lassign [manage create [at 7] [at 0] [at 1] --cluster-yes] code out err
        assert_equal 1 $code
        assert_match "\\\[ERR\\\] Node [at 0] is not empty. Either the node already knows other nodes*" $out
        assert_equal 0 [cluster_field 7 cluster_slots_assigned]
    }

    test "info and check print keys, slots and replicas" {
        [node 0] SET "{06S}a" 1
        [node 0] SET "{06S}b" 1
        set lines {}
        foreach i {0 1 2} {
            set keys [[node $i] DBSIZE]
            set slots [expr {$i == 1 ? 5462 : 5461}]
            lappend lines "[at $i] \\([string range [node_id $i] 0 7]\\.\\.\\.\\) -> $keys keys \\| $slots slots \\| \[12\] replicas\\.\n"
        }
        foreach args [list [list info [at 4]] [list check 127.0.0.1 [port 4]] [list check [at 0]]] {
            set out [managed {*}$args]
            foreach line $lines {
                assert {[regexp $line $out]}
            }
            assert_match "*\\\[OK\\\] 2 keys in 3 primaries.\n0.00 keys per slot on average.\n*" $out
        }
        assert_match "*>>> Check for multiple slot owners...\n\\\[OK\\\] No multiple owners found.\n" \
            [managed check [at 0] --cluster-search-multiple-owners]
    }

    test "call runs a command on all nodes, or on one kind" {
        set out [managed call [at 0] config get port]
        assert_match ">>> Calling config get port\n*" $out
        for {set i 0} {$i < 7} {incr i} {
            assert_match "*\n[at $i]: port\n[port $i]\n*" $out
        }
        set out [managed call [at 0] dbsize --cluster-only-primaries]
        assert_equal 4 [llength [split [string trim $out] \n]]
        assert_match "*\n[at 0]: 2\n*" $out
        set out [lindex [cli_at 1 --cluster-only-replicas --cluster call [at 0] ping] 1]
        assert_equal 5 [llength [split [string trim $out] \n]]
        assert_match "*: MOVED *" [managed call [at 0] lrange key 0 -1]
    }

    test "set-timeout sets and saves" {
        assert_match "*>>> New node timeout set. 7 OK, 0 ERR.\n" [managed set-timeout [at 0] 7777]
        assert_equal {cluster-node-timeout 7777} [[node 6] CONFIG GET cluster-node-timeout]
    }

    test "add-node adds a primary, with the functions of the others" {
        [node 1] FUNCTION LOAD "#!lua name=lib\nserver.register_function('f', function() return 7 end)"
        set out [managed add-node [at 7] [at 1]]
        assert_match ">>> Adding node [at 7] to cluster [at 1]\n*\\\[OK\\\] New node added correctly.\n" $out
        assert_equal 8 [cluster_field 7 cluster_known_nodes]
        assert_equal 8 [cluster_field 3 cluster_known_nodes]
        assert_match "*lib*" [[node 7] FUNCTION LIST]
        assert_equal 1 [lindex [manage add-node [at 7] [at 1]] 0]
        assert_match "1 *Node [at 0] is not empty! Reshard data away and try again.*" [manage del-node [at 1] [node_id 0]]
        assert_match "1 *No such node ID xyz*" [manage del-node [at 1] xyz]
        set id [node_id 7]
        assert_match "*\\\[OK\\\] Node $id removed from the cluster.\n" [managed del-node [at 1] $id]
        assert_equal 7 [cluster_field 2 cluster_known_nodes]
        assert_equal 1 [cluster_field 7 cluster_known_nodes]
    }

    test "add-node adds a replica; a primary that is deleted leaves its replicas to others" {
        [node 7] CLUSTER RESET HARD
        [node 7] FLUSHALL
        assert_match "1 *No such primary ID xyz*" [manage add-node [at 7] [at 0] --cluster-replica --cluster-primary-id xyz]
        assert_match "1 *No such primary ID *" [manage add-node [at 7] [at 0] --cluster-primary-id [node_id 4]]
        managed add-node [at 7] [at 0] --cluster-replica --cluster-primary-id [node_id 1]
        assert_equal [node_id 1] [lindex [node_line 7 [node_id 7]] 3]
        wait_for_condition 20 {[lindex [node_line 0 [node_id 7]] 3] eq [node_id 1]}
        managed del-node [at 0] [node_id 7]
        [node 7] CLUSTER RESET HARD
        set out [managed add-node [at 7] [at 0] --cluster-replica]
        assert {[regexp {Automatically selected primary 127.0.0.1:(\d+)\n} $out -> primary]}
        assert {$primary in [list [port 0] [port 1] [port 2]]}
    }
}

fresh_nodes 3 {requirepass secret masterauth secret} {
    test "The password is used for every node" {
        foreach client $cluster::clients {
            $client AUTH secret
        }
        assert_match "1 *NOAUTH*" [manage create [at 0] [at 1] [at 2] --cluster-yes]
        assert_match "1 {} {*AUTH failed at [at 0]*}" [manage create [at 0] [at 1] [at 2] -a wrong --no-auth-warning]
        managed create [at 0] [at 1] [at 2] -a secret --no-auth-warning --cluster-yes
        assert_match "*\n[at 2]: PONG\n*" [managed call [at 0] ping --user default --pass secret --no-auth-warning]
    }

    test "A node that cannot be reached is left out, and can be deleted when it has no slots" {
        set login {-a secret --no-auth-warning}
        set refused "Could not connect to Valkey at [at 2]: Connection refused\n"
        set id [node_id 2]
        catch {[node 2] SHUTDOWN NOSAVE}
        lassign [manage call [at 0] ping {*}$login] code out err
        assert_equal [list 0 ">>> Calling ping\n[at 0]: PONG\n[at 1]: PONG\n" $refused] [list $code $out $err]
        lassign [manage check [at 0] {*}$login] code out err
        assert_equal [list 1 $refused] [list $code $err]
        assert_match "*\\\[ERR\\\] Not all 16384 slots are covered by nodes.\n" $out
        assert_match "1 *is not empty*" [manage del-node [at 0] $id {*}$login]
        [node 0] CLUSTER DELSLOTSRANGE 10923 16383
        assert_match "0 *removed from the cluster.*" [manage del-node [at 0] $id {*}$login]
        assert_equal 2 [cluster_field 1 cluster_known_nodes]
    }
}

if {[auto_execok openssl] ne ""} {
    source [file join $support certificates.tcl]
    set certs [file join $srv::root certs]
    certificates::authority $certs
    certificates::pair $certs server
    fresh_nodes 3 [certificates::settings $certs tls-auth-clients no tls-cluster yes tls-port 0] {
        test "All nodes are reached over TLS, at their TLS ports" {
            set tls {}
            foreach client $cluster::clients {
                lappend tls [free_port]
                $client CONFIG SET tls-port [lindex $tls end]
            }
            set options [list --tls --cacert $certs/ca.crt --cluster-yes]
            managed create {*}[lmap port $tls {string cat 127.0.0.1: $port}] {*}$options
            wait_for_condition 20 {[all_agree]}
            set out [managed call 127.0.0.1:[lindex $tls 1] ping {*}$options]
            foreach port $tls {
                assert_match "*\n127.0.0.1:$port: PONG\n*" $out
            }
            assert_match "1 * {Could not connect*}" [manage check 127.0.0.1:[lindex $tls 0] --tls]
        }
    }
}
