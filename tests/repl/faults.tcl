# faults.tcl -- a replica that cannot execute a command of its primary: its log, and whether it continues.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

# Makes the next LPUSH to `key` fail on the replica, which has a string there.
proc diverge {primary replica} {
    $primary DEL key
    in_step $primary $replica
    $replica CONFIG SET replica-read-only no
    $replica SET key string
    $replica CONFIG SET replica-read-only yes
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port

        test "The link to the primary is shown as what it is" {
            assert_match "* flags=M * user=(superuser) *" [$replica CLIENT LIST TYPE primary]
        }

        test "A command of the primary that fails on the replica is counted and logged, and the replica goes on" {
            diverge $primary $replica
            $primary LPUSH key value
            in_step $primary $replica
            assert_equal 1 [field_of [$replica INFO stats] unexpected_error_replies]
            assert_match "*== CRITICAL == This replica is sending an error to its primary: '*' after processing the\
                command 'lpush'*" [server_log [srv dir]]
            assert_equal up [repl_field $replica master_link_status]
        }

        test "... or ends, with propagation-error-behavior panic-on-replicas" {
            $replica CONFIG SET propagation-error-behavior panic-on-replicas
            diverge $primary $replica
            expect_exit 1
            $primary LPUSH key value
            wait_exit [srv dir] 10
            assert_match "*== CRITICAL ==*propagation-error-behavior*" [server_log [srv dir]]
        }
    }

    foreach ignore {yes no} {
        start_server [list overrides [list save "3600 100000" replica-ignore-disk-write-errors $ignore \
        enable-protected-configs yes]] {
            set replica [default_client]
            follow $replica $port

            test "A disk that fails, with replica-ignore-disk-write-errors $ignore" {
                $primary SET before 1
                in_step $primary $replica
                set dir [srv dir]
                file mkdir $dir/gone
                $replica CONFIG SET dir $dir/gone
                file delete -force $dir/gone
                catch {$replica BGSAVE}
                wait_for_condition 10 {[field_of [$replica INFO persistence] rdb_last_bgsave_status] eq "err"}
                if {$ignore} {
                    $primary SET after 1
                    in_step $primary $replica
                    assert_equal 1 [$replica GET after]
                    assert_match "*although they cannot be written to disk*" [server_log $dir]
                    $replica CONFIG SET save "" dir $dir
                } else {
                    expect_exit 1
                    $primary SET after 1
                    wait_exit $dir 10
                    assert_match "*replica-ignore-disk-write-errors is no*" [server_log $dir]
                }
            }
        }
    }
}

start_server [list overrides [list {*}$quick repl-timeout 2 repl-ping-replica-period 1]] {
    set primary [default_client]

    test "A newline from a replica that loads its dataset is a sign of life" {
        with_clients {c} {
            ask_psync $c ? -1
            wait_for_condition 10 {[string match "*state=online*" [repl_field $primary slave0]]}
            for {set i 0} {$i < 9} {incr i} {
                $c write "\n"
                after 500
            }
            assert_equal 1 [repl_field $primary connected_slaves]
            assert [$c closed_within 8000]
        }
    }

    test "What replicas were sent stays in the count when they have gone" {
        set sent [info_field total_net_repl_output_bytes]
        assert {$sent > 0}
        with_clients {c} {
            ask_psync $c ? -1
            wait_for_condition 10 {[string match "*state=online*" [repl_field $primary slave0]]}
        }
        assert {[info_field total_net_repl_output_bytes] > $sent}
        assert_equal 0 [info_field total_net_repl_input_bytes]
    }
}
