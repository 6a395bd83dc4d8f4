# blocking.tcl -- blocked clients: which client is served, in what order, and every way in which a block ends.
#
# SPDX-License-Identifier: BSD-3-Clause

start_server {each {r FLUSHALL; r SELECT 0}} {

    # ---- Replies of each command --------------------------------------------------------------------------------

    foreach {command feed reply} {
        {BLPOP k 0} {RPUSH k a b} {k a}
        {BRPOP k 0} {RPUSH k a b} {k b}
        {BLPOP other k 0} {RPUSH k a} {k a}
        {BLMOVE k dst LEFT RIGHT 0} {RPUSH k a b} a
        {BRPOPLPUSH k dst 0} {RPUSH k a b} b
        {BLMPOP 0 2 other k LEFT} {RPUSH k a b c} {k a}
        {BLMPOP 0 1 k RIGHT COUNT 2} {RPUSH k a b c} {k {c b}}
        {BZPOPMIN k 0} {ZADD k 1 a 2 b} {k a 1}
        {BZPOPMAX other k 0} {ZADD k 1 a 2 b} {k b 2}
        {BZMPOP 0 1 k MIN COUNT 2} {ZADD k 1 a 2 b 3 c} {k {{a 1} {b 2}}}
        {XREAD BLOCK 0 STREAMS k $} {XADD k 5-1 f v} {{k {{5-1 {f v}}}}}
        {XREAD COUNT 1 BLOCK 0 STREAMS other k 0 0} {XADD k 5-1 f v} {{k {{5-1 {f v}}}}}
        {XREAD BLOCK 0 STREAMS k +} {XADD k 5-1 f v} {{k {{5-1 {f v}}}}}
    } {
        test "[lindex $command 0] waits ($command)" {
            with_clients c {
                waits $c {*}$command
                r {*}$feed
                assert_equal $reply [$c reply]
                nobody_waits
            }
        }

        test "[lindex $command 0] does not wait when there is something ($command)" {
            if {[string match *STREAMS* $command]} return
            with_clients c {
                r {*}$feed
                assert_equal $reply [$c {*}$command]
            }
        }
    }

    test "A command that waits counts as a call when its wait has ended, however that was" {
        r CONFIG RESETSTAT
        with_clients c {
            set id [$c CLIENT ID]
            waits $c BLPOP k 0
            assert_equal "" [info_field cmdstat_blpop]
            r RPUSH k a
            $c reply
            assert_match "calls=1,*,rejected_calls=0,failed_calls=0" [info_field cmdstat_blpop]
            $c BLPOP k 0.01
            assert_match "calls=2,*,rejected_calls=0,failed_calls=0" [info_field cmdstat_blpop]
            waits $c BLPOP k 0
            r CLIENT UNBLOCK $id TIMEOUT
            $c reply
            assert_match "calls=3,*,rejected_calls=0,failed_calls=0" [info_field cmdstat_blpop]
            waits $c BLPOP k 0
            r CLIENT UNBLOCK $id ERROR
            catch {$c reply}
            assert_match "calls=4,*,rejected_calls=1,failed_calls=0" [info_field cmdstat_blpop]
        }
    }

    test "XREADGROUP BLOCK waits for what the group has not seen" {
        r XGROUP CREATE k g $ MKSTREAM
        with_clients c {
            waits $c XREADGROUP GROUP g me BLOCK 0 STREAMS k >
            assert_equal 1 [info_field total_blocking_keys_on_nokey clients]
            r XADD k 5-1 f v
            assert_equal {{k {{5-1 {f v}}}}} [$c reply]
            assert_equal 1 [lindex [r XPENDING k g] 0]
            nobody_waits
        }
    }

    test "\$ is what the stream ended with when the wait began, also with several streams" {
        r XADD a 1-1 f old
        r XADD b 7-7 f old
        with_clients c {
            waits $c XREAD BLOCK 0 STREAMS a b \$ \$
            r XADD b 7-8 f new
            assert_equal {{b {{7-8 {f new}}}}} [$c reply]
        }
    }

    # Blocks on + of `k`, which then becomes a stream with entries IDS, of which GONE are deleted.
    proc plus_of_a_stream_that_becomes {ids gone} {
        with_clients {c other} {
            waits $c XREAD BLOCK 0 STREAMS k +
            $other SELECT 1
            foreach id $ids {$other XADD k $id f v}
            if {[llength $gone]} {$other XDEL k {*}$gone}
            r SWAPDB 0 1
            if {[llength $gone]} {
                assert [$c silent_for 50]
                r XADD k 9-9 f v
            }
            return [$c reply]
        }
    }

    test "+ where there is no stream waits for what will be the last entry" {
        assert_equal {{k {{3-3 {f v}}}}} [plus_of_a_stream_that_becomes {1-1 2-2 3-3} {}]
        r FLUSHALL
        assert_equal {{k {{9-9 {f v}}}}} [plus_of_a_stream_that_becomes {1-1 2-2 3-3} 3-3]
    }

    test "+ of a stream that has been emptied waits for the last entry, whatever its ID" {
        foreach ids {{2-0 2-1 2-2 2-3} {1-0 1-1}} {
            r FLUSHALL
            r XADD k 2-1 f v
            r XDEL k 2-1
            assert_equal [list [list k [list [list [lindex $ids end] {f v}]]]] [plus_of_a_stream_that_becomes $ids {}]
        }
    }

    test "XREADGROUP ends when its stream expires, though nobody sends anything" {
        r XGROUP CREATE k g $ MKSTREAM
        with_clients c {
            waits $c XREADGROUP GROUP g me BLOCK 0 STREAMS k >
            r PEXPIRE k 50
            assert_error "NOGROUP *" {$c reply}
        }
    }

    # ---- Order --------------------------------------------------------------------------------------------------

    test "who came first is served first, each with one element" {
        with_clients {a b c} {
            foreach client {a b c} {waits [set $client] BLPOP k 0}
            r RPUSH k 1 2
            assert_equal {{k 1} {k 2}} [list [$a reply] [$b reply]]
            assert [$c silent_for 50]
            r RPUSH k 3
            assert_equal {k 3} [$c reply]
        }
    }

    test "of several keys the first one that has something, as if the command came now" {
        with_clients {a b} {
            waits $a BLPOP one two 0
            waits $b BLPOP two one 0
            r MULTI
            r RPUSH two x
            r RPUSH one y
            r EXEC
            assert_equal {one y} [$a reply]
            assert_equal {two x} [$b reply]
        }
    }

    test "what is pushed and taken again in one transaction wakes nobody" {
        with_clients c {
            waits $c BLPOP k 0
            r MULTI
            r RPUSH k a
            r DEL k
            r EXEC
            assert [$c silent_for 50]
            r RPUSH k b
            assert_equal {k b} [$c reply]
        }
    }

    test "a chain of moves, of any length" {
        set clients {}
        for {set i 0} {$i < 50} {incr i} {
            set c [connect]
            lappend clients $c
            waits $c BLMOVE list:$i list:[expr {$i + 1}] LEFT RIGHT 0
        }
        r RPUSH list:0 x
        foreach c $clients {
            assert_equal x [$c reply]
            $c destroy
        }
        assert_equal x [r LRANGE list:50 0 -1]
    }

    test "a ring of moves goes round once" {
        with_clients {a b} {
            waits $a BLMOVE x y LEFT RIGHT 0
            waits $b BLMOVE y x LEFT RIGHT 0
            r RPUSH x v
            assert_equal {v v} [list [$a reply] [$b reply]]
            assert_equal v [r LRANGE x 0 -1]
        }
    }

    test "commands behind one that waits come after it" {
        with_clients c {
            $c pipeline {{SET before 1} {BLPOP k 0} {SET after 1} {BLPOP k 0} {GET after}}
            assert_equal OK [$c reply]
            wait_for_condition 10 {[blocked_count] == 1}
            assert_equal 0 [r EXISTS after]
            r RPUSH k x
            assert_equal {{k x} OK} [$c replies 2]
            assert [$c silent_for 50]
            r RPUSH k y
            assert_equal {{k y} 1} [$c replies 2]
        }
    }

    test "in a transaction nobody waits" {
        r MULTI
        foreach command {{BLPOP k 0} {BLMOVE a b LEFT LEFT 0} {BZPOPMIN k 0} {XREAD BLOCK 0 STREAMS k $}} {r {*}$command}
        assert_equal {(nil) (nil) (nil) (nil)} [r EXEC]
        nobody_waits
    }

    # ---- Other ways in which a key becomes ready ----------------------------------------------------------------

    foreach {title prepare feed} {
        "LPUSH" {} {LPUSH k v}
        "RENAME" {r RPUSH src v} {RENAME src k}
        "COPY" {r RPUSH src v} {COPY src k}
        "COPY over another type" {r RPUSH src v; r SET k text} {COPY src k REPLACE}
        "LMOVE" {r RPUSH src v} {LMOVE src k LEFT LEFT}
        "SORT STORE" {r RPUSH src v} {SORT src ALPHA STORE k}
        "MOVE" {r SELECT 3; r RPUSH k v} {MOVE k 0}
        "SWAPDB" {r SELECT 3; r RPUSH k v} {SWAPDB 0 3}
    } {
        test "$title serves those who wait for a list" {
            with_clients c {
                waits $c BLPOP k 0
                eval $prepare
                r {*}$feed
                assert_equal {k v} [$c reply]
            }
        }
    }

    test "RESTORE serves those who wait for a list" {
        with_clients c {
            r RPUSH src v
            waits $c BLPOP k 0
            r RESTORE k 0 [r DUMP src]
            assert_equal {k v} [$c reply]
        }
    }

    test "a key of another type, or another database, leaves a client waiting" {
        with_clients {c other} {
            waits $c BLPOP k 0
            r SET k v
            r DEL k
            r ZADD k 1 m
            $other SELECT 1
            $other RPUSH k elsewhere
            assert [$c silent_for 50]
            r DEL k
            r RPUSH k v
            assert_equal {k v} [$c reply]
        }
    }

    test "clients of two types wait for one key" {
        with_clients {l z} {
            waits $l BLPOP k 0
            waits $z BZPOPMIN k 0
            r ZADD k 1 m
            assert_equal {k m 1} [$z reply]
            r RPUSH k v
            assert_equal {k v} [$l reply]
        }
    }

    test "BLMOVE to a key of another type is an error when it is served" {
        with_clients c {
            waits $c BLMOVE src dst LEFT LEFT 0
            r SET dst text
            r RPUSH src v
            assert_error "WRONGTYPE*" {$c reply}
            assert_equal v [r LRANGE src 0 -1]
        }
    }

    foreach {title change error} {
        "deleted" {DEL k} {NOGROUP *}
        "overwritten" {SET k v} {WRONGTYPE *}
        "flushed" {FLUSHALL} {NOGROUP *}
        "exchanged by SWAPDB" {SWAPDB 0 1} {NOGROUP *}
        "without its group" {XGROUP DESTROY k g} {NOGROUP *}
        "renamed" {RENAME k l} {NOGROUP *}
    } {
        test "XREADGROUP ends when its stream is $title" {
            with_clients c {
                r XGROUP CREATE k g $ MKSTREAM
                waits $c XREADGROUP GROUP g me BLOCK 0 STREAMS k >
                r {*}$change
                assert_error $error {$c reply}
                nobody_waits
            }
        }
    }

    # ---- During a pause -----------------------------------------------------------------------------------------

    # Only changes of a transaction that contains the CLIENT PAUSE can make a key ready in a pause.
    proc in_a_pause {kind args} {
        r MULTI
        r CLIENT PAUSE 100000 $kind
        foreach command $args {r {*}$command}
        r EXEC
    }

    foreach {command feed reply} {
        {BLPOP k 0} {RPUSH k a b} {k a}
        {BLMOVE k dst LEFT RIGHT 0} {RPUSH k a b} a
        {BZMPOP 0 1 k MIN} {ZADD k 1 m} {k {{m 1}}}
    } {
        test "[lindex $command 0] takes nothing while writes are paused, and is the first when the pause is over" {
            with_clients {c d} {
                set id [$c CLIENT ID]
                waits $c {*}$command
                in_a_pause WRITE $feed
                waits $d DEL k
                assert [$c silent_for 50]
                assert_equal {1 0} [list [r EXISTS k] [r EXISTS dst]]
                assert_equal b [client_field [r CLIENT LIST ID $id] flags]
                assert_equal {2 0} [list [blocked_count] [info_field total_blocking_keys clients]]
                assert_equal 0 [r CLIENT UNBLOCK $id]
                r CLIENT UNPAUSE
                assert_equal $reply [$c reply]
                $d reply
                nobody_waits
            }
        }
    }

    test "Who waits with XREAD is served while writes are paused, not while all is" {
        with_clients {c} {
            waits $c XREAD BLOCK 0 STREAMS k $
            in_a_pause WRITE {XADD k 5-1 f v}
            assert_equal {{k {{5-1 {f v}}}}} [$c reply]
            r CLIENT UNPAUSE
            waits $c XREAD BLOCK 0 STREAMS k $
            r MULTI
            r CLIENT PAUSE 300 ALL
            r XADD k 6-1 f v
            r EXEC
            assert [$c silent_for 50]
            assert_equal {{k {{6-1 {f v}}}}} [$c reply]
            nobody_waits
        }
    }

    test "Who gets nothing when the pause is over waits on, for what is left of the time" {
        with_clients {a b c} {
            waits $a BLPOP k 0
            waits $b BLPOP k 0.5
            waits $c BLPOP other k 0
            in_a_pause WRITE {RPUSH k x}
            assert_equal 0 [info_field clients_in_timeout_table clients]
            r CLIENT UNPAUSE
            assert_equal {k x} [$a reply]
            assert_equal (nil) [$b reply]
            assert_equal {1 2} [list [blocked_count] [info_field total_blocking_keys clients]]
            r RPUSH other y
            assert_equal {other y} [$c reply]
            nobody_waits
        }
    }

    test "A chain that begins in a pause runs when it is over, before what others have sent" {
        with_clients {a b d} {
            waits $a BLMOVE k next LEFT RIGHT 0
            waits $b BLPOP next 0
            in_a_pause WRITE {RPUSH k x}
            waits $d DEL next
            assert [$b silent_for 50]
            r CLIENT UNPAUSE
            assert_equal {x {next x} 0} [list [$a reply] [$b reply] [$d reply]]
            nobody_waits
        }
    }

    test "What has come in a pause is kept for nobody who is killed when it ends" {
        with_clients {a} {
            set id [$a CLIENT ID]
            waits $a BLPOP k 0
            in_a_pause WRITE {RPUSH k x}
            r pipeline [list [list CLIENT KILL ID $id] {CLIENT UNPAUSE}]
            assert_equal {1 OK} [r replies 2]
            assert_equal "" [$a raw_until_eof]
            assert_equal x [r LPOP k]
            nobody_waits
        }
    }

    test "What has come in a pause is kept for nobody who goes, or may not write any more" {
        with_clients {a} {
            with_clients gone {
                waits $gone BLPOP k 0
                waits $a BLPOP k 0
                in_a_pause WRITE {RPUSH k x}
                assert_equal 2 [blocked_count]
            }
            wait_for_condition 10 {[blocked_count] == 1}
            r REPLICAOF 127.0.0.1 1
            r CLIENT UNPAUSE
            assert_error "READONLY*" {$a reply}
            r REPLICAOF NO ONE
            assert_equal {x PONG} [list [r LPOP k] [$a PING]]
            nobody_waits
        }
    }

    # ---- Ways out -----------------------------------------------------------------------------------------------

    foreach {command reply} {
        {BLPOP k 0.05} (nil) {BRPOP k l 0.05} (nil) {BLMOVE k l LEFT LEFT 0.05} (nil) {BRPOPLPUSH k l 0.05} (nil)
        {BLMPOP 0.05 1 k LEFT} (nil) {BZPOPMIN k 0.05} (nil) {BZMPOP 0.05 1 k MAX} (nil) {XREAD BLOCK 50 STREAMS k $} (nil)
    } {
        test "a time that is over ends [lindex $command 0]" {
            assert_equal $reply [r {*}$command]
            nobody_waits
        }
    }

    test "times end in their own order, not in that of the commands" {
        with_clients {a b c} {
            $a send BLPOP k 0.3
            $b send BLPOP k 0.1
            $c send BLPOP k 0.2
            foreach client {b c a} {assert_equal (nil) [[set $client] reply]}
            nobody_waits
        }
    }

    test "a time that is centuries away keeps nobody awake" {
        with_clients {a b c} {
            waits $a BLPOP k 9000000000000000
            waits $b BLPOP k 1000000000
            waits $c BLPOP k 999999999
            set before [info_field eventloop_cycles stats]
            after 300
            assert {[info_field eventloop_cycles stats] - $before < 100}
            assert_equal 3 [info_field clients_in_timeout_table clients]
            r RPUSH k 1 2 3
            assert_equal {{k 1} {k 2} {k 3}} [list [$a reply] [$b reply] [$c reply]]
        }
    }

    test "timeouts that are none" {
        foreach {timeout error} {
            -1 "ERR timeout is negative" -inf "ERR timeout is negative" x "ERR timeout is not a float or out of range"
            nan "ERR timeout is not a float or out of range" inf "ERR timeout is out of range" 1e300 "ERR timeout is out of range"
            9223372036854775 "ERR timeout is out of range"
        } {
            assert_error $error {r BLPOP k $timeout}
            assert_error $error {r BZMPOP $timeout 1 k MIN}
        }
        assert_error "ERR timeout is negative" {r XREAD BLOCK -1 STREAMS k 0}
        assert_error "ERR timeout is not an integer or out of range" {r XREAD BLOCK 1.5 STREAMS k 0}
        nobody_waits
    }

    foreach {way timeout end} {
        "an element" 0 {r RPUSH k a}
        "a time that is over" 0.3 {}
        "CLIENT UNBLOCK" 0 {r CLIENT UNBLOCK $id ERROR}
    } {
        test "CLIENT REPLY SKIP silences a command that waits, and no other: $way" {
            with_clients c {
                set id [$c CLIENT ID]
                $c send CLIENT REPLY SKIP
                waits $c BLPOP k $timeout
                $c send PING
                eval $end
                assert_equal PONG [$c reply]
                assert_equal next [$c ECHO next]
            }
        }
    }

    test "CLIENT UNBLOCK ends a wait as its time would, or by an error" {
        with_clients c {
            set id [$c CLIENT ID]
            assert_equal 0 [r CLIENT UNBLOCK $id]
            waits $c BLPOP k 0
            assert_equal b [client_field [r CLIENT LIST ID $id] flags]
            assert_equal 1 [r CLIENT UNBLOCK $id]
            assert_equal (nil) [$c reply]
            waits $c BLPOP k 0
            assert_equal 1 [r CLIENT UNBLOCK $id ERROR]
            assert_error "UNBLOCKED client unblocked via CLIENT UNBLOCK" {$c reply}
            waits $c BLPOP k 0
            assert_equal {0 0 0} [list [r CLIENT UNBLOCK 999999] [r CLIENT UNBLOCK 0] [r CLIENT UNBLOCK -$id]]
            assert_error "ERR CLIENT UNBLOCK reason should be TIMEOUT or ERROR" {r CLIENT UNBLOCK $id x}
            assert_error "ERR value is not an integer or out of range" {r CLIENT UNBLOCK x}
            assert_equal 1 [r CLIENT UNBLOCK $id timeout]
            assert_equal (nil) [$c reply]
            nobody_waits
        }
    }

    test "who was killed in the same pipeline is nobody any more" {
        foreach wait {0 1} {
            set c [connect]
            set id [$c CLIENT ID]
            if {$wait} {waits $c BLPOP k 0}
            r write [join [lmap command [list {MULTI} "CLIENT KILL ID $id" "CLIENT UNBLOCK $id" "CLIENT KILL ID $id" \
                "CLIENT TRACKING ON REDIRECT $id" {RPUSH k v} {EXEC} {LPOP k}] {string cat $command "\r\n"}] ""]
            for {set i 0} {$i < 6} {incr i} {r reply}
            assert_equal {1 0 0 {(error) ERR The client ID you want redirect to does not exist} 1} [r reply]
            assert_equal v [r reply]
            catch {$c destroy}
        }
    }

    foreach {title way} {
        "is killed" {r CLIENT KILL ID $id}
        "hangs up" {$c destroy}
    } {
        test "a client that waits and $title is forgotten" {
            set c [connect]
            set id [$c CLIENT ID]
            waits $c BLPOP k l m 100
            eval $way
            wait_for_condition 10 {[blocked_count] == 0}
            nobody_waits
            r RPUSH k v
            assert_equal v [r LRANGE k 0 -1]
            catch {$c destroy}
        }
    }

    # Commands that are written separately are separate messages to the executing thread, which limits how far ahead a
    # connection is read.
    proc send_apart {c commands} {
        foreach command $commands {
            $c pipeline [list $command]
            r PING
            after 1
        }
    }

    set ends {"hangs up" {$c destroy}}
    if {![over_tls]} {
        lappend ends "closes its half" {$c half_close}
    }
    foreach {title way} $ends {
        test "a client that waits, has sent much behind, and $title is forgotten with it" {
            set c [connect]
            waits $c BLPOP k 0
            send_apart $c [lrepeat 50 {RPUSH behind x}]
            eval $way
            wait_for_condition 10 {[blocked_count] == 0}
            nobody_waits
            r RPUSH k v
            assert_equal v [r LRANGE k 0 -1]
            assert_equal 0 [r EXISTS behind]
            catch {$c destroy}
        }

        test "a client that $title while the server is busy, and then comes to wait, is forgotten" {
            set c [connect]
            set busy [connect]
            $busy pipeline {{DEBUG SLEEP 0.3}}
            after 50
            foreach write [concat {{{RPUSH before x} {BLPOP k 0} {RPUSH behind x}}} [lrepeat 20 {{RPUSH behind x}}]] {
                $c pipeline $write
                after 2
            }
            eval $way
            $busy reply
            wait_for_condition 10 {[r EXISTS before] && [blocked_count] == 0}
            r RPUSH k v
            assert_equal v [r LRANGE k 0 -1]
            assert_equal 0 [r EXISTS behind]
            catch {$c destroy}
            $busy destroy
        }
    }

    test "a client that is killed in the same breath gets nothing" {
        with_clients c {
            set id [$c CLIENT ID]
            waits $c BLPOP k 0
            r pipeline [list [list CLIENT KILL ID $id] {RPUSH k v} {LRANGE k 0 -1}]
            assert_equal {1 1 v} [r replies 3]
        }
    }

    test "many keys, some of them twice" {
        with_clients c {
            set keys {}
            for {set i 0} {$i < 500} {incr i} {lappend keys key:[expr {$i % 300}]}
            waits $c BLPOP {*}$keys 0
            assert_equal 300 [info_field total_blocking_keys clients]
            r RPUSH key:299 v
            assert_equal {key:299 v} [$c reply]
            nobody_waits
        }
    }

    # Each of these took more than ten seconds when the command was retried for each key marked as ready.
    test "a command that names one key thousands of times runs again once, and is one of its key's waiters" {
        with_clients {c next} {
            r XADD k 5-0 f v
            waits $c XREAD BLOCK 0 STREAMS {*}[lrepeat 10000 k] {*}[lrepeat 10000 9-0]
            assert {[elapsed_ms {r XADD k 6-0 f v}] < 3000}
            assert [$c silent_for 50]
            r XADD k 9-1 f v
            assert_equal [lrepeat 10000 {k {{9-1 {f v}}}}] [$c reply]
            waits $c BLPOP {*}[lrepeat 1000 l] l 0
            waits $next BLPOP l 0
            r RPUSH l 1 2
            assert_equal {{l 1} {l 2}} [list [$c reply] [$next reply]]
            nobody_waits
        }
    }

    test "a command whose thousands of keys change at once runs again once" {
        with_clients c {
            set keys [lmap i [lrepeat 10000 x] {incr n; string cat s $n}]
            unset n
            waits $c XREAD BLOCK 0 STREAMS {*}$keys {*}[lrepeat 10000 5-0]
            r pipeline [list MULTI {*}[lmap key $keys {list XADD $key 1-1 f v}]]
            r replies 10001
            assert {[elapsed_ms {r EXEC}] < 3000}
            assert [$c silent_for 50]
            r MULTI
            r XADD s7777 4-1 f v
            r XADD s5555 6-1 f v
            r EXEC
            assert_equal {{s5555 {{6-1 {f v}}}}} [$c reply]
            nobody_waits
        }
    }

    test "what a client that waits makes the server hold is counted as its memory" {
        with_clients c {
            set id [$c CLIENT ID]
            set used [info_field used_memory memory]
            set before [client_field [r CLIENT LIST ID $id] tot-mem]
            for {set i 0} {$i < 20000} {incr i} {lappend keys "a name of a key $i"}
            waits $c BLPOP {*}$keys 0
            wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] qbuf] == 0}
            set counted [expr {[client_field [r CLIENT LIST ID $id] tot-mem] - $before}]
            assert_between 2500000 6000000 $counted
            r RPUSH "a name of a key 77" x
            $c reply
            assert_between -100000 100000 [expr {[client_field [r CLIENT LIST ID $id] tot-mem] - $before}]
        }
    }

    test "requests that follow one that waits are counted with the blocks that hold them" {
        with_clients c {
            set id [$c CLIENT ID]
            waits $c BLPOP key 0
            set before [client_field [r CLIENT LIST ID $id] tot-mem]
            for {set i 1} {$i <= 3} {incr i} {
                $c send PING
                wait_for_condition 10 {[client_field [r CLIENT LIST ID $id] tot-mem] - $before >= $i * 24000}
            }
            r RPUSH key x
            assert_equal {{key x} PONG PONG PONG} [$c replies 4]
            assert_between -1000 1000 [expr {[client_field [r CLIENT LIST ID $id] tot-mem] - $before}]
        }
    }

    test "a thousand clients on one key get one element each" {
        set clients {}
        for {set i 0} {$i < 1000} {incr i} {
            set c [connect]
            lappend clients $c
            $c send BLPOP k 0
        }
        wait_for_condition 20 {[blocked_count] == 1000}
        set elements {}
        for {set i 0} {$i < 1000} {incr i} {lappend elements $i}
        r RPUSH k {*}$elements
        set got [lmap c $clients {lindex [$c reply] 1}]
        foreach c $clients {$c destroy}
        assert_equal $elements [lsort -integer $got]
        assert_equal 0 [r EXISTS k]
    }

    foreach {command change} {
        {BLPOP k 0} {RPUSH k a}   {BLMOVE k other LEFT LEFT 0} {RPUSH k a}   {BLMPOP 0 1 k LEFT} {RPUSH k a}
        {BZPOPMIN k 0} {ZADD k 1 a}   {BZMPOP 0 1 k MAX} {ZADD k 1 a}   {XREAD BLOCK 0 STREAMS k 0} {XADD k * a b}
    } {
        test "[lindex $command 0] is not served with a key that has expired within the transaction that made it" {
            r DEBUG SET-ACTIVE-EXPIRE 0
            with_clients c {
                waits $c {*}$command
                r MULTI
                r {*}$change
                r PEXPIRE k 1
                r DEBUG SLEEP 0.01
                r EXEC
                assert_equal 0 [r EXISTS k]
                assert_equal 1 [blocked_count]
                r {*}$change
                assert_not_equal {} [$c reply]
            }
            r DEBUG SET-ACTIVE-EXPIRE 1
        }
    }

    test "CLIENT LIST shows who is unblocked and has not gone on yet" {
        with_clients c {
            set id [$c CLIENT ID]
            waits $c BLPOP k 0
            assert_equal b [client_field [r CLIENT LIST ID $id] flags]
            r pipeline [list {RPUSH k v} [list CLIENT LIST ID $id]]
            assert_equal u [client_field [lindex [r replies 2] 1] flags]
            assert_equal N [client_field [r CLIENT LIST ID $id] flags]
            $c reply
        }
    }

    test "MONITOR and the counters know a command that waited once" {
        with_clients {watcher c} {
            r CONFIG RESETSTAT
            $watcher MONITOR
            waits $c BLPOP k 0
            r RPUSH k v
            $c reply
            r PING done
            set shown {}
            while {![string match *done* [set line [$watcher reply]]]} {
                if {[string match {*"BLPOP"*} $line]} {incr shown_blpop}
            }
            assert_equal 1 $shown_blpop
            assert_match "calls=1,*" [info_field cmdstat_blpop]
        }
    }

    test "SLOWLOG and LATENCY HISTOGRAM have a command when its wait has ended, as it was sent" {
        with_clients c {
            with_config {slowlog-log-slower-than 0} {
                r CONFIG RESETSTAT
                r SLOWLOG RESET
                waits $c XREAD BLOCK 0 STREAMS stream $
                r XADD stream 1-1 f v
                assert_equal {{stream {{1-1 {f v}}}}} [$c reply]
                assert_equal (nil) [$c BLPOP k 0.01]
                assert_equal 0 [$c WAIT 100 10]
                waits $c BLPOP k 0
                r CLIENT UNBLOCK [client_field [lsearch -inline [split [r CLIENT LIST] \n] *cmd=blpop*] id]
                assert_equal (nil) [$c reply]
                set shown {}
                foreach entry [lreverse [r SLOWLOG GET -1]] {
                    if {[lindex $entry 3 0] in {XREAD BLPOP WAIT}} {
                        lappend shown [lindex $entry 3]
                    }
                }
                assert_equal {{XREAD BLOCK 0 STREAMS stream {$}} {BLPOP k 0.01} {WAIT 100 10} {BLPOP k 0}} $shown
                foreach {command calls} {xread 1 blpop 2 wait 1} {
                    assert_match "$command {calls $calls *}" [r LATENCY HISTOGRAM $command]
                }
            }
        }
    }
}
