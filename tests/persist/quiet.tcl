# quiet.tcl -- forks: which of them wait for a quiet moment (save-when-quiet), and the forecast of their cost.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc persistence {name} {
    return [info_field $name persistence]
}

proc saved {} {
    wait_for_condition 20 {[persistence rdb_bgsave_in_progress] == 0}
}

proc rewritten {} {
    wait_for_condition 20 {[regexp {aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s} [r INFO persistence]]}
}

# Runs BODY as under a load that never pauses.
proc under_load {body} {
    with_config {quiet-commands-per-ms -1} {uplevel 1 $body}
}

# Waits for a fork that a quiet moment brings. On a machine so busy that main's timers come late no moment is quiet: then
# the bound brings it.
proc soon {condition} {
    with_config {save-when-quiet 10} {
        wait_for_condition 40 $condition
    }
}

proc waits_ended {} {
    return [expr {[persistence forks_at_quiet_moment] + [persistence forks_at_quiet_bound]}]
}

# Asks for a snapshot that is only scheduled, and waits until it waits.
proc schedule {} {
    r MULTI
    r BGSAVE
    assert_equal {{Background saving scheduled}} [r EXEC]
    wait_for_condition 10 {[persistence fork_waits_for_quiet] == 1}
}

start_server {overrides {save-when-quiet 3600} each {r FLUSHALL; r CONFIG RESETSTAT}} {

    test "A scheduled snapshot waits while commands run, and is in progress for those who poll" {
        under_load {
            schedule
            assert_equal 1 [persistence rdb_bgsave_in_progress]
            after 300
            assert_equal 1 [persistence rdb_bgsave_in_progress]
            assert_equal 0 [persistence rdb_saves]
            assert_equal 0 [info_field total_forks stats]
        }
        soon {[persistence rdb_saves] == 1}
        saved
        assert_equal 0 [persistence fork_waits_for_quiet]
        assert_equal 1 [waits_ended]
    }

    test "It waits no longer than its bound, also one that is lowered meanwhile" {
        foreach seconds {1 0} {
            r CONFIG RESETSTAT
            under_load {
                schedule
                with_config [list save-when-quiet $seconds] {
                    wait_for_condition 20 {[persistence rdb_saves] == 1}
                    assert_equal 0 [persistence forks_at_quiet_moment]
                    saved
                }
            }
        }
    }

    test "BGSAVE and SAVE do not wait" {
        under_load {
            assert_equal "Background saving started" [r BGSAVE]
            saved
            assert_equal 1 [persistence rdb_saves]
            schedule
            assert_equal "Background saving started" [r BGSAVE]
            assert_equal 0 [persistence fork_waits_for_quiet]
            saved
            assert_equal 2 [persistence rdb_saves]
            schedule
            assert_equal OK [r SAVE]
            assert_equal 3 [persistence rdb_saves]
            assert_equal "Scheduled background saving cancelled" [r BGSAVE CANCEL]
        }
    }

    test "BGSAVE CANCEL ends the wait" {
        under_load {
            schedule
            assert_equal "Scheduled background saving cancelled" [r BGSAVE CANCEL]
            assert_equal 0 [persistence rdb_bgsave_in_progress]
            wait_for_condition 10 {[persistence fork_waits_for_quiet] == 0}
            assert_error "ERR Background saving is currently not in progress or scheduled" {r BGSAVE CANCEL}
        }
        after 300
        assert_equal 0 [persistence rdb_saves]
    }

    test "A snapshot of a save point waits a tenth of the point's time at most" {
        under_load {
            r SET k v
            with_config {save {1 1}} {
                wait_for_condition 20 {[persistence rdb_saves] >= 1}
            }
            assert_equal 0 [persistence forks_at_quiet_moment]
        }
        saved
    }

    test "A rewrite of a log that has grown waits" {
        with_config {auto-aof-rewrite-min-size 1000} {
            r CONFIG SET appendonly yes
            rewritten
            r CONFIG RESETSTAT
            under_load {
                r SET k [string repeat x 100000]
                wait_for_condition 10 {[persistence fork_waits_for_quiet] == 1}
                after 300
                assert_equal 0 [info_field total_forks stats]
            }
            soon {[persistence aof_rewrites] == 1}
            rewritten
            assert_equal 1 [waits_ended]
            r CONFIG SET appendonly no
        }
    }

    test "BGREWRITEAOF and CONFIG SET appendonly yes do not wait" {
        under_load {
            assert_equal "Background append only file rewriting started" [r BGREWRITEAOF]
            rewritten
            r CONFIG SET appendonly yes
            rewritten
            assert_equal 2 [persistence aof_rewrites]
            assert_equal {0 0} [list [persistence forks_at_quiet_moment] [persistence forks_at_quiet_bound]]
            r CONFIG SET appendonly no
        }
    }

    test "Commands of 40 ms that follow each other are no quiet moment" {
        set cli [file join [file dirname $srv::binary] valkey-cli]
        exec $cli -p [srv port] -r 20 DEBUG SLEEP 0.04 >/dev/null &
        wait_for_condition 10 {[string match "*cmd=debug*" [r CLIENT LIST]]}
        r MULTI
        r BGSAVE
        r EXEC
        soon {[persistence rdb_saves] == 1}
        saved
        assert_equal 1 [waits_ended]
    }

    test "A wait does not hold up a shutdown, which saves" {
        r SET k v
        r CONFIG SET save "3600 1"
        r CONFIG SET quiet-commands-per-ms -1
        schedule
        catch {r SHUTDOWN}
        restart_server
        assert_equal v [r GET k]
    }
}

start_server [list overrides {repl-diskless-sync-delay 0 save-when-quiet 3600}] {
    set primary [default_client]
    set port [srv port]

    foreach diskless {no yes} {
        test "A full synchronization does not wait, with repl-diskless-sync $diskless" {
            $primary CONFIG SET repl-diskless-sync $diskless
            $primary SET k v
            under_load {
                schedule
                start_server {} {
                    set replica [default_client]
                    $replica REPLICAOF 127.0.0.1 $port
                    wait_for_condition 30 {[field_of [$replica INFO replication] master_link_status] eq "up"}
                    assert_equal v [$replica GET k]
                }
                assert_equal 0 [field_of [$primary INFO persistence] forks_at_quiet_moment]
            }
            catch {$primary BGSAVE CANCEL} ;# the snapshot for a replica may have been it
            wait_for_condition 20 {[field_of [$primary INFO persistence] rdb_bgsave_in_progress] == 0}
        }
    }
}

start_server {} {

    test "INFO has the cost of the next fork, which follows from the last one" {
        set empty [persistence next_fork_memory_limit]
        r DEBUG POPULATE 100000 key 500
        assert_between 500 10000000 [persistence next_fork_expected_usec]
        assert {[persistence next_fork_memory_limit] > $empty + 50000000}
        assert {[persistence next_fork_expected_memory] <= [persistence next_fork_memory_limit]}
        r BGSAVE
        saved
        set fork [info_field latest_fork_usec stats]
        assert_between [expr {$fork / 2}] [expr {$fork * 2}] [persistence next_fork_expected_usec]
        # CONFIG RESETSTAT forgets the fork, but not what is known of the next one.
        r CONFIG RESETSTAT
        assert_equal 0 [info_field latest_fork_usec stats]
        assert_between [expr {$fork / 2}] [expr {$fork * 2}] [persistence next_fork_expected_usec]
    }

    test "Without a load a scheduled snapshot is made soon" {
        assert_equal 5 [config_value save-when-quiet]
        set saves [persistence rdb_saves]
        r MULTI
        r BGSAVE
        r EXEC
        wait_for_condition 20 {[persistence rdb_saves] == $saves + 1}
        saved
    }
}
