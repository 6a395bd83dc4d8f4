# slices.tcl -- commands on large values, which serve other clients between two slices.
#
# With `yield always` each of them serves others after each element, so that everything possible in its middle happens.
# A value has so many elements that some short commands fit into that time on any machine.
#
# SPDX-License-Identifier: BSD-3-Clause

set elements 8000

# Makes a hash, a set, a list and a sorted set, named by their type.
proc large_values {n} {
    for {set i 0} {$i < $n} {incr i 1000} {
        set pairs {}
        set members {}
        set scores {}
        for {set j $i} {$j < $i + 1000} {incr j} {
            lappend pairs f$j v$j
            lappend members m$j
            lappend scores $j m$j
        }
        r HSET hash {*}$pairs
        r SADD set {*}$members
        r RPUSH list {*}$members
        r ZADD zset {*}$scores
    }
}

# Lets SLOW run a command, and OTHER run COMMANDS (a list of lists) 20 times in one pipeline; the server finds both
# requests when it goes on. Returns how many of the 20 ran between two slices of the former: in the server's order, as
# replies of different clients may arrive in another one.
proc served_during {slow words other commands} {
    set before [r INFO stats]
    lappend commands {INFO stats}
    exec kill -STOP [srv pid]
    $slow send {*}$words
    $other pipeline [concat {*}[lrepeat 20 $commands]]
    exec kill -CONT [srv pid]
    set n 0
    for {set i 0} {$i < 20} {incr i} {
        set after [lindex [$other replies [llength $commands]] end]
        incr n [expr {[field_of $after slices_between_commands] > [field_of $before slices_between_commands]
                      && [field_of $after sliced_commands] == [field_of $before sliced_commands]}]
    }
    return $n
}

# Runs COMMANDS on the default connection. Returns their replies, and whether a long command that began when BEFORE were
# over was still running then: in the server's order, as replies of different clients may arrive in another one.
proc replies_during {before commands} {
    set c [default_client]
    $c pipeline [concat $commands {{INFO stats}}]
    set replies [$c replies [llength $commands]]
    return [list $replies [expr {[field_of [$c reply] sliced_commands] == $before}]]
}

# Lets SLOW run a command, and returns when others are served in its middle.
proc begin_long {slow words} {
    set before [info_field slices_between_commands stats]
    $slow send {*}$words
    set limit [patience::start 10 {*}[server_pids]]
    while {[info_field slices_between_commands stats] == $before} {
        if {[patience::over $limit]} { fail "nobody is served while $words runs" }
    }
}

set long_commands {
    {HGETALL hash} {HKEYS hash} {HVALS hash} {SMEMBERS set} {LRANGE list 0 -1} {ZRANGE zset 0 -1 WITHSCORES}
    {ZREVRANGEBYSCORE zset +inf -inf} {ZRANGEBYLEX zset - +} {DUMP hash} {DUMP set} {DUMP list} {DUMP zset}
}

start_server {overrides {yield always list-max-listpack-size 4} tags own-files} {
    large_values $elements

    foreach words $long_commands {
        test "Other clients run commands while [lrange $words 0 1] runs, and its reply is the same" {
            with_clients {slow other} {
                r CONFIG SET slice-large-values no
                set whole [r {*}$words]
                r CONFIG SET slice-large-values yes
                set before [info_field sliced_commands stats]
                # The server may take the requests in any order.
                for {set runs 1} {$runs <= 500} {incr runs} {
                    set n [served_during $slow $words $other {{PING} {SET other 1} {GET other} {HGET hash f1}}]
                    assert {$whole eq [$slow reply]}
                    if {$n > 0} break
                }
                assert_between 1 20 $n
                assert_equal [expr {$before + $runs}] [info_field sliced_commands stats]
            }
        }
    }

    foreach {words write} {
        {HGETALL hash} {HSET hash new 1}  {SMEMBERS set} {SADD set new}  {LRANGE list 0 -1} {LPUSH list new}
        {ZRANGE zset 0 -1} {ZADD zset -1 new}  {HGETALL hash} {DEL hash}  {SMEMBERS set} {RENAME set other}
        {LRANGE list 0 -1} {RENAMENX other list}  {ZRANGE zset 0 -1} {SET zset string}  {HKEYS hash} {FLUSHDB}
        {HVALS hash} {SWAPDB 0 1}  {SMEMBERS set} {SPOP set 3}  {LRANGE list 0 -1} {SORT set ALPHA STORE list}
        {ZRANGE zset 0 -1} {EVAL {return redis.call('zadd', KEYS[1], -1, 'new')} 1 zset}
        {HVALS hash} {SAVE}  {HKEYS hash} {COPY set hash REPLACE}
    } {
        test "[lrange $write 0 1] waits until [lindex $words 0] is over, and so do the commands after it" {
            r FLUSHALL
            large_values $::elements
            with_clients {slow other} {
                set whole [r {*}$words]
                set over [info_field sliced_commands stats]
                begin_long $slow $words
                $other pipeline [list {PING} $write {PING}]
                assert_equal PONG [$other reply]
                r SET third 1
                lassign [replies_during $over {{HLEN hash} {SCARD set} {LLEN list} {ZCARD zset}}] counts running
                if {$running} { assert_equal [lrepeat 4 $::elements] $counts }
                assert {$whole eq [$slow reply]}
                catch {$other reply}
                assert_equal PONG [$other reply]
            }
        }
    }

    foreach type {hash set list zset} {
        test "COPY and RESTORE of a $type let others run, and their result is the same" {
            r FLUSHALL
            large_values $::elements
            with_clients {slow other} {
                set dump [r DUMP $type]
                set digest [r DEBUG DIGEST-VALUE $type]
                r SET taken before
                foreach words [list [list COPY $type copy] [list COPY $type taken REPLACE]                         [list RESTORE restored 0 $dump] [list RESTORE taken 0 $dump REPLACE]] {
                    set target [lindex $words [expr {[lindex $words 0] eq "COPY" ? 2 : 1}]]
                    set present [r EXISTS $target]
                    set over [info_field sliced_commands stats]
                    begin_long $slow $words
                    $other pipeline [list {SET third 1} [list APPEND $target x] {PING}]
                    assert_equal OK [$other reply]
                    lassign [replies_during $over [list [list EXISTS $target] [list GET third]]] replies running
                    if {$running} { assert_equal [list $present 1] $replies }
                    assert {[$slow reply] in {1 OK}}
                    catch {$other reply}
                    assert_equal PONG [$other reply]
                    assert_equal $digest [r DEBUG DIGEST-VALUE $target]
                }
                assert_equal 0 [$slow COPY $type copy]
                catch {$slow RESTORE copy 0 $dump} error
                assert_match BUSYKEY* $error
                catch {$slow RESTORE bad 0 [string replace $dump end end "\x00"]} error
                assert_match {*checksum are wrong*} $error
                assert_equal 0 [r EXISTS bad]
            }
        }
    }

    test "COPY of a key that is deleted meanwhile copies nothing" {
        r FLUSHALL
        large_values $elements
        r DEBUG SET-ACTIVE-EXPIRE 0
        with_clients {slow} {
            # Whether the key expires in the middle of the command depends on the machine: most do it in some runs.
            for {set runs 0; set deleted 0} {!$deleted && $runs < 50} {incr runs} {
                r COPY hash hash2 REPLACE
                set over [info_field sliced_commands stats]
                r PEXPIRE hash2 [expr {1 + $runs}]
                $slow send COPY hash2 copy REPLACE
                while {[$slow silent_for 0]} {
                    lassign [replies_during $over {{EXISTS hash2}}] exists running
                    if {$running && !$exists} { set deleted 1 }
                }
                set copied [$slow reply]
                if {$deleted} { assert_equal 0 $copied }
            }
        }
        r DEBUG SET-ACTIVE-EXPIRE 1
    }

    test "A transaction with a long command is one step, and that of another client waits" {
        r FLUSHALL
        large_values $elements
        with_clients {slow other} {
            set whole [r HGETALL hash]
            set before [info_field sliced_commands stats]
            $slow MULTI
            $slow HGETALL hash
            $slow EVAL {return redis.call('HGETALL', KEYS[1])} 1 hash
            $slow SMEMBERS set
            assert_equal 3 [llength [$slow EXEC]]
            assert_equal $before [info_field sliced_commands stats]
            $other MULTI
            $other SET other 1
            begin_long $slow {HGETALL hash}
            $other send EXEC
            lassign [replies_during $before {{EXISTS other}}] exists running
            if {$running} { assert_equal 0 $exists }
            assert {$whole eq [$slow reply]}
            assert_equal OK [$other reply]
            r DEL other
        }
    }

    test "Several long commands run one after the other, each client's commands in their order" {
        with_clients {a b c short} {
            set hash [r HGETALL hash]
            set set [r SMEMBERS set]
            set zset [r ZRANGE zset 0 -1]
            $a pipeline {{HGETALL hash} {SET at a1} {SMEMBERS set} {GET at}}
            $b pipeline {{SMEMBERS set} {HGETALL hash} {ZRANGE zset 0 -1}}
            $c pipeline {{SET mine c1} {ZRANGE zset 0 -1} {GET mine} {SMEMBERS set} {INCR mine2} {HGETALL hash}}
            set n 0
            while {[$b silent_for 0]} {
                $short INCR short
                incr n
            }
            assert_between 1 10000000 $n
            foreach {client expected} [list $a [list $hash OK $set a1] $b [list $set $hash $zset] \
                    $c [list OK $zset c1 $set 1 $hash]] {
                foreach one $expected {
                    assert {$one eq [$client reply]}
                }
            }
        }
    }

    test "A client that is killed, or closes its connection, in the middle of its long command" {
        with_clients {slow other} {
            set id [$slow CLIENT ID]
            begin_long $slow {HGETALL hash}
            assert_equal 1 [$other CLIENT KILL ID $id]
            assert [$slow closed_within 5000]
        }
        with_clients {slow} {
            begin_long $slow {SMEMBERS set}
            $slow destroy
            wait_for_condition 10 {[info_field connected_clients clients] == 1}
        }
        assert_equal $elements [llength [r SMEMBERS set]]
    }

    test "Fields that expire meanwhile do not change the reply; the key may expire, too" {
        with_clients {slow other} {
            r COPY hash hash2
            set fields {}
            for {set i 0} {$i < 1000} {incr i} { lappend fields f$i }
            r DEBUG SET-ACTIVE-EXPIRE 0
            foreach client {r} { r HPEXPIRE hash2 20 FIELDS 1000 {*}$fields }
            set reply [$slow HGETALL hash2]
            assert {[llength $reply] in [list [expr {2 * $::elements}] [expr {2 * ($::elements - 1000)}]]}
            foreach {long command} {{HGETALL hash2} HGETALL {SMEMBERS set2} SMEMBERS} {
                # On a loaded machine the key may have expired before the command begins.
                for {set runs 0; set n 0} {$n == 0 && $runs < 50} {incr runs} {
                    r COPY hash hash2 REPLACE
                    r COPY set set2 REPLACE
                    r PEXPIRE [lindex $long 1] [expr {30 + 20 * $runs}]
                    $slow send {*}$long
                    while {[$slow silent_for 0]} { r EXISTS hash2 set2 }
                    set n [llength [$slow reply]]
                }
                assert_equal [expr {$::elements * ([lindex $long 0] eq "HGETALL" ? 2 : 1)}] $n
                wait_for_condition 10 {[r EXISTS [lindex $long 1]] == 0}
            }
            r DEBUG SET-ACTIVE-EXPIRE 1
        }
    }

    test "Push messages come after the reply; a tracking client learns that the key was deleted meanwhile" {
        with_clients {slow other} {
            $slow HELLO 3
            $slow CLIENT TRACKING on
            $slow send SUBSCRIBE news
            $slow next_push
            r COPY set set2
            $slow send SMEMBERS set2
            set n 0
            while {[$slow silent_for 0]} {
                r PUBLISH news [incr n]
                if {$n == 3} { r PEXPIRE set2 1 }
            }
            assert_equal $elements [llength [$slow reply]]
            r DEL set2
            $slow PING
            set pushes [$slow take_pushes]
            assert_match {*invalidate set2*} $pushes
            for {set i 1} {$i <= $n} {incr i} { assert {[lsearch $pushes "message news $i"] >= 0} }
        }
    }

    test "The time of other clients does not count as the command's" {
        with_clients {slow other} {
            r CONFIG RESETSTAT
            r CONFIG SET slowlog-log-slower-than 0
            begin_long $slow {HGETALL hash}
            $other PING
            $slow reply
            assert_equal 1 [regexp {calls=(\d+),usec=(\d+)} [info_field cmdstat_hgetall commandstats] - calls usec]
            assert_equal 1 $calls
            assert_match {*HGETALL hash*} [r SLOWLOG GET 10]
            r CONFIG SET slowlog-log-slower-than 10000
        }
    }
}

foreach policy {always everysec} {
    start_server [list overrides [list appendonly yes appendfsync $policy yield always] tags own-files] {
        test "Writes of others in the middle of a long command are in the log, in their order ($policy)" {
            large_values 5000
            r SET expiring 1 PX 1
            after 2
            with_clients {slow other} {
                set n 0
                foreach words $long_commands {
                    $slow send {*}$words
                    while {[$slow silent_for 0]} {
                        $other pipeline [list [list INCR n] [list RPUSH log $n] [list SADD set2 $n] [list GET expiring]]
                        $other replies 4
                        incr n
                    }
                    $slow reply
                }
                assert_equal $n [r GET n]
                set dump [r DUMP zset]
                foreach words [list {COPY hash hash3} {COPY list list3} {COPY set set3} {COPY hash hash3} \
                        [list RESTORE zset3 0 $dump] [list RESTORE zset3 0 $dump] [list RESTORE zset4 100000 $dump] \
                        [list RESTORE damaged 0 "[string repeat x 16000000][string range $dump end-9 end]"]] {
                    $slow send {*}$words
                    while {[$slow silent_for 0]} {
                        $other pipeline [list [list INCR n] [list RPUSH log $n] [list SADD set2 $n]]
                        $other replies 3
                        incr n
                    }
                    catch {$slow reply}
                }
                foreach path [glob -directory [srv dir]/appendonlydir *.incr.aof] {
                    assert {[string first damaged [read_file $path]] < 0}
                }
                set digest [r DEBUG DIGEST]
                r DEBUG LOADAOF
                assert_equal $digest [r DEBUG DIGEST]
                assert_equal $n [r LLEN log]
            }
        }
    }
}
