# yield.tcl -- commands that run during a slow script must not break it.
#
# The setting `yield always` makes each script serve other clients at each of its steps, so that everything possible in
# the middle of a script happens in every run. `./runtest --yield always` runs the whole suite so.
#
# SPDX-License-Identifier: BSD-3-Clause

set two "redis.call('set','w0',1) redis.call('set','w1',1) "
set loop "local n=0 while n < 3000 do n=n+1 end return 'done'"

foreach policy {always everysec} {
    start_server [list overrides [list appendonly yes appendfsync $policy yield always] tags own-files] {
        foreach {name body} {
            EVAL {r EVAL "$two$loop" 0}
            FCALL {
                r FUNCTION LOAD REPLACE "#!lua name=l\nserver.register_function('f', function() $two$loop end)"
                r FCALL f 0
            }
            EXEC {
                r MULTI
                r SET w0 1
                r SET w1 1
                r EVAL $loop 0
                lindex [r EXEC] 2
            }
        } {
            test "A slow $name that has written twice lives with the append-only file ($policy)" {
                r DEL w0 w1
                assert_equal done [eval $body]
                assert_equal 2 [r EXISTS w0 w1]
                r DEBUG LOADAOF
                assert_equal 2 [r EXISTS w0 w1]
            }
        }

        test "The log ends with a whole transaction when a slow script is shut down ($policy)" {
            r FLUSHALL
            r SET before 1
            r CONFIG SET busy-reply-threshold 1
            with_clients slow {
                $slow send EVAL "$two while true do end" 0
                wait_for_condition 10 {[catch {r PING} error] && [string match "BUSY*" $error]}
                catch {r SHUTDOWN NOSAVE}
                assert_equal 0 [wait_exit [srv dir] 10]
            }
            restart_server
            assert_equal before [r KEYS *]
        }
    }
}

start_server {overrides {yield always} tags own-files} {
    test "The child of a rewrite that ends while a script runs" {
        r CONFIG SET appendonly yes
        wait_for_condition 10 {[info_field aof_enabled persistence] == 1 &&
            [info_field aof_rewrite_in_progress persistence] == 0}
        r BGREWRITEAOF
        assert_equal done [r EVAL "$two local n=0 while n < 100000 do n=n+1 end redis.call('set','w2',1) return 'done'" 0]
        wait_for_condition 10 {[info_field aof_rewrite_in_progress persistence] == 0}
        assert_equal ok [info_field aof_last_bgrewrite_status persistence]
        r DEBUG LOADAOF
        assert_equal 3 [r EXISTS w0 w1 w2]
        r CONFIG SET appendonly no
    }

    test "The first base of a log that ends while a script runs" {
        r FLUSHALL
        r CONFIG SET appendonly yes
        assert_equal done [r EVAL "$two local n=0 while n < 100000 do n=n+1 end redis.call('set','w2',1) return 'done'" 0]
        wait_for_condition 10 {[info_field aof_rewrite_in_progress persistence] == 0 &&
            [info_field aof_rewrite_scheduled persistence] == 0}
        r DEBUG LOADAOF
        assert_equal 3 [r EXISTS w0 w1 w2]
    }

    test "The log is turned off in a transaction that has written" {
        r MULTI
        r SET w0 1
        r CONFIG SET appendonly no
        r SET w1 1
        assert_equal {OK OK OK} [r EXEC]
        r CONFIG SET appendonly yes
        r MULTI
        r SET w0 1
        r CONFIG SET appendonly no
        assert_equal {OK OK} [r EXEC]
    }

    test "A client that waits for a key is served when the script that has filled it is over" {
        with_clients {waiting other} {
            waits $waiting BLPOP queue 0
            r CONFIG SET busy-reply-threshold 1
            r MULTI
            r RPUSH queue a
            r EVAL {local n=0 while n < 500000 do n=n+1 end return redis.call('LLEN', KEYS[1])} 1 queue
            r RPUSH queue b
            [default_client] send EXEC
            wait_for_condition 10 {[catch {$other GET x} error] && [string match "BUSY*" $error]}
            assert_equal (nil) [$other CLIENT GETNAME]
            assert_equal {1 1 2} [[default_client] reply]
            assert_equal {queue a} [$waiting reply]
            assert_equal b [r LRANGE queue 0 -1]
            r CONFIG SET busy-reply-threshold 5000
        }
    }

    test "A client gets no part of a reply before its transaction is over" {
        with_clients {slow} {
            r CONFIG SET busy-reply-threshold 1
            $slow MULTI
            $slow SET k 1
            $slow EVAL "while true do end" 0
            $slow send EXEC
            wait_for_condition 10 {[catch {r GET x} error] && [string match "BUSY*" $error]}
            set silent [$slow silent_for 20]
            r SCRIPT KILL
            assert $silent
            assert_match {OK *Script killed*} [$slow reply]
            r CONFIG SET busy-reply-threshold 5000
        }
    }
}
