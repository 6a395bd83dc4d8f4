# cluster_disabled.tcl -- cluster commands on a server that is not in a cluster: known by name, and refused.
#
# SPDX-License-Identifier: BSD-3-Clause

set disabled "ERR This instance has cluster support disabled"

# Returns a request with the fewest words that the arity permits, from the name with a bar.
proc shortest {name arity} {
    set words [split $name |]
    while {[llength $words] < abs($arity)} {lappend words 1}
    return $words
}

# Returns name and arity of each subcommand of CLUSTER.
proc cluster_subcommands {} {
    return [lmap row [lindex [r COMMAND INFO CLUSTER] 0 9] {lrange $row 0 1}]
}

start_server {} {

    test "Each subcommand of CLUSTER but KEYSLOT is refused, HELP too" {
        set subcommands [cluster_subcommands]
        assert_equal 34 [llength $subcommands]
        foreach row $subcommands {
            lassign $row name arity
            if {$name eq "cluster|keyslot"} continue
            assert_error $disabled {r {*}[shortest $name $arity]}
            if {$arity < 0} {
                assert_error $disabled {r {*}[shortest $name $arity] x y z}
            }
        }
        foreach command {{ASKING} {CLUSTERSCAN 0} {CLUSTERSCAN nonsense FOO}} {
            assert_error $disabled {r {*}$command}
        }
    }

    test "A wrong number of arguments is found before the cluster is asked for" {
        foreach row [cluster_subcommands] {
            lassign $row name arity
            set words [expr {$arity > 0 ? [concat [shortest $name $arity] x] : [lrange [shortest $name $arity] 0 end-1]}]
            if {[llength $words] > 1} {
                assert_error "ERR wrong number of arguments for '$name' command" {r {*}$words}
            }
        }
        foreach {command name} {CLUSTER cluster {ASKING x} asking CLUSTERSCAN clusterscan} {
            assert_error "ERR wrong number of arguments for '$name' command" {r {*}$command}
        }
    }

    test "CLUSTER names a subcommand that it does not know, with any number of arguments" {
        foreach {words shown} {{CLUSTER NoSuch} NoSuch {CLUSTER nosuch a b c} nosuch {CLUSTER {}} {}} {
            assert_error "ERR unknown subcommand '$shown'. Try CLUSTER HELP." {r {*}$words}
        }
    }

    test "CLUSTER KEYSLOT computes the slot without a cluster" {
        foreach {key slot} {
            abc 7638  1 9842  {{abc}x} 7638  {x{abc}y{z}} 7638  {{}x} 10595  x\{abc 7703  {{a}{b}} 15495
            \}\{x\} 16287  {} 0
        } {
            assert_equal $slot [r CLUSTER KEYSLOT $key]
        }
    }

    test "In a transaction they are queued, and refused when it runs" {
        r MULTI
        foreach command {{CLUSTER INFO} {CLUSTER KEYSLOT x} ASKING {CLUSTERSCAN 0} {CLUSTER FLUSHSLOT 1} {SET a b}} {
            assert_equal QUEUED [r {*}$command]
        }
        set refused "(error) $disabled"
        assert_equal [list $refused 16287 $refused $refused $refused OK] [r EXEC]
        r MULTI
        assert_error "ERR unknown subcommand 'nosuch'. Try CLUSTER HELP." {r CLUSTER nosuch}
        assert_error "EXECABORT*" {r EXEC}
    }

    test "A script gets the same refusals" {
        foreach call {'cluster','info' 'asking' 'clusterscan','0' 'cluster','flushslot','1' 'cluster','help'} {
            assert_error "$disabled script: on @user_script:1." {r EVAL "return server.call($call)" 0}
        }
        assert_equal 16287 [r EVAL "return server.call('cluster','keyslot','x')" 0]
        assert_error "ERR This Valkey command is not allowed from script*" {r EVAL "return server.call('cluster','reset')" 0}
        assert_error "ERR Write commands are not allowed from read-only scripts.*" \
            {r EVAL_RO "return server.call('cluster','flushslot','1')" 0}
    }

    test "Rules of users name them" {
        assert_equal OK [r ACL SETUSER u on nopass +@all -cluster -asking +cluster|info]
        assert_equal "+@all -cluster -asking +cluster|info" [dict get [r ACL GETUSER u] commands]
        assert_equal OK [r ACL DRYRUN u CLUSTER INFO]
        assert_equal "User u has no permissions to run the 'cluster|nodes' command" [r ACL DRYRUN u CLUSTER NODES]
        assert_error "*'+cluster|nosuch': Unknown command or category name in ACL" {r ACL SETUSER u +cluster|nosuch}
        # Its cursor is not a key, in spite of the key specification.
        assert_equal OK [r ACL SETUSER u resetkeys +clusterscan]
        assert_equal OK [r ACL DRYRUN u CLUSTERSCAN 0]
        r ACL DELUSER u
    }

    test "COMMAND GETKEYS finds no keys in them" {
        foreach command {{CLUSTER INFO} {CLUSTER KEYSLOT x} {CLUSTERSCAN 0} ASKING} {
            assert_error "ERR The command has no key arguments" {r COMMAND GETKEYS {*}$command}
        }
    }

    test "Refusals count as failed calls of the subcommand" {
        r CONFIG RESETSTAT
        catch {r CLUSTER INFO}
        catch {r CLUSTER INFO x}
        assert_match "*cmdstat_cluster|info:calls=1,*,rejected_calls=1,failed_calls=1*" [r INFO commandstats]
    }
}

start_server {overrides {requirepass secret}} {
    test "They ask for a password first" {
        with_clients c {
            foreach command {{CLUSTER INFO} CLUSTER {CLUSTER nosuch} ASKING {CLUSTERSCAN 0} {CLUSTER KEYSLOT x}} {
                assert_error "NOAUTH Authentication required." {$c {*}$command}
            }
        }
    }
}

start_server {overrides {
    rename-command {cluster hidden} rename-command {asking ""} rename-command {clusterscan ""}
    user {u on nopass ~* +@all -cluster}
}} {
    test "A server starts with lines that rename them and a user whose rules name them" {
        assert_error "ERR unknown command 'CLUSTER'*" {r CLUSTER INFO}
        assert_error "ERR unknown command 'ASKING'*" {r ASKING}
        assert_error $disabled {r HIDDEN INFO}
    }
}
