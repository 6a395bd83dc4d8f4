# limits.tcl -- how many clients, how much they may ask, how much may wait for them, how long they may be silent.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server {overrides {maxclients 20} each {r FLUSHALL}} {

    test "maxclients: one more is told so and let go" {
        set held {}
        for {set i 0} {$i < 19} {incr i} {
            lappend held [connect]
            [lindex $held end] PING
        }
        set extra [connect]
        assert_equal "-ERR max number of clients reached\r\n" [$extra raw_until_eof]
        $extra destroy
        assert_equal PONG [r PING]
        assert_between 1 100 [info_field rejected_connections stats]
        foreach c $held {
            $c destroy
        }
    }

    test "maxclients: a place that is free again is given again" {
        wait_for_condition 5 {[info_field connected_clients clients] < 5}
        with_clients c {
            assert_equal PONG [$c PING]
        }
    }

    test "maxclients can be changed while the server runs" {
        assert_equal OK [r CONFIG SET maxclients 30]
        set held {}
        for {set i 0} {$i < 25} {incr i} {
            lappend held [connect]
            assert_equal PONG [[lindex $held end] PING]
        }
        foreach c $held {
            $c destroy
        }
        r CONFIG SET maxclients 20
    }
}

start_server {each {r FLUSHALL}} {

    test "client-query-buffer-limit: who asks for more than it is let go" {
        with_config {client-query-buffer-limit 1048576} {
            with_clients c {
                catch {
                    $c write "*3\r\n\$3\r\nSET\r\n\$1\r\nk\r\n\$10000000\r\n"
                    for {set i 0} {$i < 40} {incr i} {
                        $c write [string repeat x 100000]
                        after 2
                    }
                }
                assert [$c closed_within 5000]
            }
            assert_equal 0 [r EXISTS k]
            assert_between 1 10 [info_field client_query_buffer_limit_disconnections stats]
        }
    }

    test "client-output-buffer-limit: past the hard limit a client is let go" {
        r SET key [string repeat x 1000000]
        r CONFIG RESETSTAT
        with_config {client-output-buffer-limit "normal 5000000 0 0"} {
            with_clients c {
                catch {
                    for {set i 0} {$i < 100} {incr i} {
                        $c send GET key
                    }
                }
                wait_for_condition 10 {[info_field client_output_buffer_limit_disconnections stats] >= 1}
                assert [$c closed_within 10000]
            }
        }
        assert_equal PONG [r PING]
    }

    test "client-output-buffer-limit: a client below the limit is left alone" {
        r SET key [string repeat x 100000]
        with_config {client-output-buffer-limit "normal 50000000 0 0"} {
            with_clients c {
                for {set i 0} {$i < 20} {incr i} {
                    $c send GET key
                }
                after 100
                for {set i 0} {$i < 20} {incr i} {
                    assert_equal 100000 [string length [$c reply]]
                }
            }
        }
    }

    test "client-output-buffer-limit: past the soft limit for its seconds a client is let go" {
        r SET key [string repeat x 1000000]
        r CONFIG RESETSTAT
        with_config {client-output-buffer-limit "normal 0 3000000 1"} {
            with_clients c {
                for {set i 0} {$i < 30} {incr i} {
                    $c send GET key
                }
                after 300
                assert_equal 0 [info_field client_output_buffer_limit_disconnections stats]
                wait_for_condition 10 {[info_field client_output_buffer_limit_disconnections stats] >= 1}
                assert [$c closed_within 10000]
            }
        }
    }

    test "What waits for a slow client shows in CLIENT LIST and counts in memory" {
        r SET key [string repeat x 1000000]
        with_clients c {
            set id [$c CLIENT ID]
            for {set i 0} {$i < 30} {incr i} {
                $c send GET key
            }
            wait_for_condition 5 {
                [client_field [r CLIENT LIST ID $id] omem] > 1000000 || [client_field [r CLIENT LIST ID $id] oll] > 0
            }
            for {set i 0} {$i < 30} {incr i} {
                $c reply
            }
            wait_for_condition 5 {[client_field [r CLIENT LIST ID $id] oll] == 0}
        }
    }

    test "timeout: who is silent for so long is let go, who speaks stays" {
        with_clients {silent} {
            $silent PING
            r CONFIG SET timeout 1
            for {set i 0} {$i < 10} {incr i} {
                after 300
                r PING
            }
            assert [$silent closed_within 3000]
            assert_equal PONG [r PING]
            r CONFIG SET timeout 0
        }
    }

    test "tcp-keepalive and tcp-backlog are settings" {
        assert_equal 300 [config_value tcp-keepalive]
        assert_equal OK [r CONFIG SET tcp-keepalive 60]
        assert_equal 511 [config_value tcp-backlog]
        assert_error "ERR CONFIG SET failed (possibly related to argument 'tcp-backlog') - can't set immutable config" {
            r CONFIG SET tcp-backlog 100
        }
    }

    test "maxmemory-clients lets the largest go" {
        with_config {maxmemory-clients 8mb} {
            with_clients {small large} {
                $small PING
                r CLIENT NO-EVICT on
                catch {
                    $large write "*3\r\n\$3\r\nSET\r\n\$3\r\nkey\r\n\$50000000\r\n"
                    for {set i 0} {$i < 120} {incr i} {
                        $large write [string repeat x 100000]
                        after 1
                    }
                }
                wait_for_condition 10 {[info_field evicted_clients stats] >= 1}
                assert [$large closed_within 10000]
                assert_equal PONG [$small PING]
                r CLIENT NO-EVICT off
            }
        }
    }
}
