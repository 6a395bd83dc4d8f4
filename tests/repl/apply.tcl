# apply.tcl -- a replica applying commands of the replication stream: slow ones are logged, and do not delay later ones.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

# Returns the arguments of command NAME in CLIENT's COMMANDLOG.
proc logged_words {client name} {
    set rows {}
    foreach row [$client COMMANDLOG GET -1 slow] {
        if {[string equal -nocase [lindex $row 3 0] $name]} {
            lappend rows [lindex $row 3]
        }
    }
    return $rows
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {overrides {commandlog-execution-slower-than -1}} {
        set replica [default_client]
        follow $replica $port

        test "A command of the stream that takes too long is in the replica's own log and latency history" {
            $replica CONFIG SET commandlog-execution-slower-than 0
            $primary RPUSH queue a b c
            $primary EVAL {redis.call('set', KEYS[1], 'by a script') redis.call('incr', KEYS[2])} 2 text number
            in_step $primary $replica
            $replica CONFIG SET commandlog-execution-slower-than -1
            assert_equal {{RPUSH queue a b c}} [logged_words $replica rpush]
            assert_equal {{set text {by a script}}} [logged_words $replica set]
            assert_equal {{incr number}} [logged_words $replica incr]
            assert_match {*cmdstat_rpush:calls=1,*} [$replica INFO commandstats]
        }

        foreach {what ends} {FLUSHALL {FLUSHALL} FLUSHDB {FLUSHDB} UNLINK {UNLINK big:set}} {
            test "$what of the stream: what it ends is freed behind it, and the stream goes on" {
                $primary EVAL {
                    for i = 1, 2000 do
                        redis.call('hset', 'h:' .. i, 'field', i)
                        redis.call('sadd', KEYS[1], 'member ' .. i)
                    end
                } 1 big:set
                in_step $primary $replica
                $replica CONFIG RESETSTAT
                set keys [$replica DBSIZE]
                $primary {*}$ends
                $primary SET behind $what
                in_step $primary $replica
                assert_equal $what [$replica GET behind]
                set freed [expr {$what eq "UNLINK" ? 1 : $keys}]
                wait_for_condition 20 {[field_of [$replica INFO memory] lazyfree_pending_objects] == 0}
                assert {[field_of [$replica INFO memory] lazyfreed_objects] >= $freed}
                $primary FLUSHALL
            }
        }
    }
}
