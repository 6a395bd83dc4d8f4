# cluster.tcl -- starts servers that form a cluster.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval cluster {
    variable clients {} ;# of the nodes, primaries first
    variable pids {}
    variable ports {}
}

# Starts COUNT servers in cluster mode and evaluates BODY in the frame LEVEL.
proc with_cluster_nodes {count overrides level body} {
    if {$count == 0} {
        return [uplevel $level $body]
    }
    start_server [list overrides [list cluster-enabled yes cluster-port [free_port] cluster-node-timeout [expr {2000 * $srv::slow}] \
        repl-diskless-sync-delay 0 {*}$overrides]] {
        lappend cluster::clients [RespClient new [srv port]]
        lappend cluster::pids [srv pid]
        lappend cluster::ports [srv port]
        with_cluster_nodes [expr {$count - 1}] $overrides $level $body
    }
}

# Starts a cluster of PRIMARIES shards with REPLICAS replicas each, and evaluates BODY when all nodes agree. In it
# [node 0] is the client of the first primary; replica R of primary P is node PRIMARIES + P * REPLICAS + R.
proc start_cluster {primaries replicas overrides body} {
    set cluster::clients [set cluster::pids [set cluster::ports {}]]
    with_cluster_nodes [expr {$primaries * (1 + $replicas)}] $overrides #[expr {[info level] - 1}] \
        "join_cluster $primaries $replicas\n$body"
}

proc node {i} {
    return [lindex $cluster::clients $i]
}

proc node_id {i} {
    return [[node $i] CLUSTER MYID]
}

proc cluster_field {i name} {
    if {![regexp "$name:(\[^\r\n\]*)" [[node $i] CLUSTER INFO] -> value]} {
        error "CLUSTER INFO has no field $name"
    }
    return $value
}

# Returns the words of the line that node I shows for the node with ID; empty if it does not know it.
proc node_line {i id} {
    foreach line [split [[node $i] CLUSTER NODES] \n] {
        if {[lindex $line 0] eq $id} {
            return $line
        }
    }
    return {}
}

# Returns what node I knows: each node's id, role, primary and slots, in the order of ids.
proc cluster_view {i} {
    set view {}
    foreach line [split [string trim [[node $i] CLUSTER NODES]] \n] {
        set flags [string map {myself, {}} [lindex $line 2]]
        lappend view [list [lindex $line 0] $flags [lindex $line 3] {*}[lrange $line 8 end]]
    }
    return [lsort $view]
}

proc all_agree {} {
    set first [cluster_view 0]
    for {set i 0} {$i < [llength $cluster::clients]} {incr i} {
        if {[cluster_view $i] ne $first || [cluster_field $i cluster_state] ne "ok"} {
            return 0
        }
    }
    return [expr {![string match "*fail*" $first] && ![string match "*handshake*" $first]}]
}

proc join_cluster {primaries replicas} {
    set count [llength $cluster::clients]
    for {set i 0} {$i < $primaries} {incr i} {
        [node $i] CLUSTER ADDSLOTSRANGE [expr {16384 * $i / $primaries}] [expr {16384 * ($i + 1) / $primaries - 1}]
        [node $i] CLUSTER SET-CONFIG-EPOCH [expr {$i + 1}]
    }
    set bus [lindex [[node 0] CONFIG GET cluster-port] 1]
    for {set i 1} {$i < $count} {incr i} {
        [node $i] CLUSTER MEET 127.0.0.1 [lindex $cluster::ports 0] $bus
    }
    wait_for_condition 20 {[all_agree] && [cluster_field 0 cluster_known_nodes] == $count}
    for {set i $primaries} {$i < $count} {incr i} {
        [node $i] CLUSTER REPLICATE [node_id [expr {($i - $primaries) / $replicas}]]
    }
    for {set i $primaries} {$i < $count} {incr i} {
        wait_for_condition 20 {[string match "*master_link_status:up*" [[node $i] INFO replication]]}
    }
    wait_for_condition 20 {[all_agree]}
}
