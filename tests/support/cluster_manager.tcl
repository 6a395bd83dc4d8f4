# cluster_manager.tcl -- runs valkey-cli --cluster on the nodes of a test (cluster.tcl, cli.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

set cli_seconds 120 ;# nodes that join wait for each other, and each change of a slot for the disk

# Starts COUNT nodes that do not know each other, and evaluates BODY.
proc fresh_nodes {count overrides body} {
    set cluster::clients [set cluster::pids [set cluster::ports {}]]
    with_cluster_nodes $count $overrides #[expr {[info level] - 1}] $body
}

proc port {i} {
    return [lindex $cluster::ports $i]
}

proc at {i} {
    return 127.0.0.1:[port $i]
}

# Runs --cluster with ARGS and an empty stdin. Returns {EXIT-CODE STDOUT STDERR}.
proc manage {args} {
    return [cli_at 1 --cluster {*}$args]
}

# Like manage, with TEXT on stdin.
proc manage_with {text args} {
    set in [file join $srv::root manager-input]
    write_file $in $text
    return [cli_run 1 $in --cluster {*}$args]
}

# Returns the stdout of a subcommand that must succeed.
proc managed {args} {
    lassign [manage {*}$args] code out err
    if {$code != 0 || $err ne ""} {
        error "--cluster $args: exit code $code, $err, [string range $out end-1000 end]"
    }
    return $out
}
