# redirect.tcl -- clients that support redirections are redirected from a replica to its primary.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    r SET key value
    start_server {} {
        set replica [default_client]
        set there "REDIRECT 127.0.0.1:$port"

        test "CLIENT CAPA redirect on a primary changes nothing" {
            with_clients {c} {
                assert_equal OK [$c CLIENT CAPA redirect]
                assert_match "* capa=r *" [$c CLIENT LIST ID [$c CLIENT ID]]
                assert_equal OK [$c SET key 1]
                assert_equal 1 [$c GET key]
            }
        }

        test "READONLY and READWRITE are accepted anywhere, and shown" {
            with_clients {c} {
                assert_equal OK [$c READONLY]
                assert_match "* flags=r *" [$c CLIENT LIST ID [$c CLIENT ID]]
                assert_equal OK [$c READWRITE]
                assert_match "* flags=N *" [$c CLIENT LIST ID [$c CLIENT ID]]
            }
        }

        test "Who waits for a key when the server becomes a replica is sent to the primary, and stays" {
            with_clients {c plain} {
                $c CLIENT CAPA redirect
                $c send BLPOP no-such-list 0
                $plain send BLPOP no-such-list 0
                wait_for_condition 5 {[info_field blocked_clients] == 2}
                follow $replica $port
                assert_error $there {$c reply}
                assert_error "UNBLOCKED *" {$plain reply}
                assert_equal PONG [$c PING]
                assert [$plain closed_within 5000]
            }
        }

        test "On a replica all that reads or writes keys is sent to the primary" {
            with_clients {c} {
                $c CLIENT CAPA redirect
                foreach words {{GET key} {SET key 1} {DEL key} {DBSIZE} {EVAL_RO {return 1} 0}} {
                    assert_error $there {$c {*}$words}
                }
                foreach words {PING {ECHO 1} {EVAL {return 1} 0} {PUBLISH a b} {CLIENT ID} INFO} {
                    $c {*}$words
                }
            }
        }

        test "... but what is read behind READONLY" {
            with_clients {c} {
                $c CLIENT CAPA redirect
                $c READONLY
                assert_equal value [$c GET key]
                assert_error $there {$c SET key 1}
                $c READWRITE
                assert_error $there {$c GET key}
            }
        }

        test "... and who has not said that redirections are followed" {
            with_clients {c} {
                assert_equal value [$c GET key]
                assert_error "READONLY *" {$c SET key 1}
            }
        }

        test "In a transaction: what is queued, and EXEC of what was queued before" {
            with_clients {c} {
                $c CLIENT CAPA redirect
                $c MULTI
                assert_error $there {$c SET key 1}
                assert_error "EXECABORT *previous errors." {$c EXEC}
            }
            $replica REPLICAOF NO ONE
            with_clients {c} {
                $c CLIENT CAPA redirect
                $c MULTI
                assert_equal QUEUED [$c SET key 1]
                follow $replica $port
                assert_error $there {$c EXEC}
                assert_error "ERR EXEC without MULTI" {$c EXEC}
            }
        }
    }
}
