# good_replicas.tcl -- min-replicas-to-write: the last good replica is lost in the middle of a script.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server [list overrides [list {*}$quick busy-reply-threshold 10]] {
    set primary [default_client]

    # Runs SCRIPT, whose replica is lost when it has become slow, and returns its result. It has the function lost(),
    # which returns when the server has noticed. The limit of its loop only ends a failing test.
    proc lose_replica {script} {
        with_clients {replica slow} {
            ask_psync $replica ? -1
            read_marked $replica
            $replica write [resp::encode {REPLCONF ACK 0}]
            wait_for_condition 10 {[string match "*state=online*" [repl_field $::primary slave0]]}
            r CONFIG SET min-replicas-to-write 1
            $slow send EVAL "local function lost()
                for i = 1, 1000000 do
                    if string.find(redis.call('INFO', 'replication'), 'min_slaves_good_slaves:0') then return end
                end
            end
            $script" 0
            wait_for_condition 10 {[catch {r GET x} error] && [string match "BUSY*" $error]}
            $replica destroy
            catch {$slow reply} answer
            wait_for_condition 10 {[repl_field $::primary connected_slaves] == 0}
            r CONFIG SET min-replicas-to-write 0
            return $answer
        }
    }

    test "A script that has not written yet is refused its first write" {
        assert_match "NOREPLICAS Not enough good replicas to write.*" [lose_replica "lost() return redis.call('SET', 'a', 1)"]
        assert_equal 0 [r EXISTS a]
    }

    test "... and one that has written goes on" {
        assert_equal done [lose_replica "redis.call('SET', 'a', 1) lost() redis.call('SET', 'b', 2) return 'done'"]
        assert_equal {1 2} [r MGET a b]
    }
}
