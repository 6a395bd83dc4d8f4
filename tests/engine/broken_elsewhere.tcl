# broken_elsewhere.tcl -- a test for each fault that servers with batching, prefetching and references to values have
# had.
#
# Such a server parses ahead of execution, looks up keys before their commands run, and sends a value's own memory while
# later commands change it. Clients must get the same replies as without all this.
#
# Not here    random load on all of this at once (tests/stress, tests/linear).
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the replies of COMMANDS, sent in one write by a separate connection.
proc in_one_pipeline {commands} {
    with_clients c {
        $c pipeline $commands
        return [$c replies [llength $commands]]
    }
}

# Returns a value of SIZE bytes without equal parts, so that shifted or torn bytes are noticed.
proc patterned {size {seed 0}} {
    set parts {}
    for {set i 0} {$i * 8 < $size} {incr i} {
        lappend parts [format %08x [expr {($i * 2654435761 + $seed) & 0xffffffff}]]
    }
    return [string range [join $parts ""] 0 $size-1]
}

proc client_line {id} {
    return [r CLIENT LIST ID $id]
}

# CLIENT sends COMMANDS and does not read; returns when all of them have run and output waits. REFUSED of them never
# run.
proc ask_and_wait {client id commands {refused 0}} {
    set before [client_field [client_line $id] tot-cmds]
    $client pipeline $commands
    set want [expr {$before + [llength $commands] - $refused}]
    wait_for_condition 10 {[client_field [client_line $id] tot-cmds] >= $want}
    wait_for_condition 10 {[client_field [client_line $id] omem] > 0}
}

# Waits, as other threads may free values a moment later.
proc memory_comes_back_to {limit} {
    wait_for_condition 10 {[info_field used_memory memory] < $limit}
}

proc expect_replies {expected actual} {
    foreach want $expected got $actual {
        if {$want ne $got} {
            fail "expected [shorten $want], got [shorten $got]"
        }
    }
    assert_equal [llength $expected] [llength $actual]
}

proc wrong_arity {name} {
    return "(error) ERR wrong number of arguments for '$name' command"
}

foreach batch {16 128} {
    start_server [list each {r FLUSHALL} overrides [list prefetch-batch-max-size $batch]] {

        test "Batch of $batch: commands of wrong arity do not reach the search for their keys" {
            set commands {}
            set expected {}
            for {set i 0} {$i < 20} {incr i} {
                foreach {command reply} [list \
                    {GET} [wrong_arity get]                   [list SET k $i] OK \
                    {SET k} [wrong_arity set]                 {GET k} $i \
                    {MSET} [wrong_arity mset]                 {MSET a 1 b} [wrong_arity mset] \
                    {MGET} [wrong_arity mget]                 {DEL} [wrong_arity del] \
                    {GET k k} [wrong_arity get]               {RENAME k} [wrong_arity rename] \
                    {SETRANGE k} [wrong_arity setrange]       {LCS a} [wrong_arity lcs] \
                    {COPY a} [wrong_arity copy]               {MSETNX a} [wrong_arity msetnx] \
                    {EXPIRE} [wrong_arity expire]             {OBJECT ENCODING} [wrong_arity object|encoding] \
                    {GETRANGE k 1} [wrong_arity getrange]     {EXISTS k} 1] {
                    lappend commands $command
                    lappend expected $reply
                }
            }
            expect_replies $expected [in_one_pipeline $commands]
        }

        test "Batch of $batch: a key that an earlier command of the batch deletes or replaces" {
            set commands {}
            set expected {}
            for {set i 0} {$i < 30} {incr i} {
                set long [patterned 3000 $i]
                foreach {command reply} [list \
                    [list SET k $long] OK   {GET k} $long   {DEL k} 1        {GET k} (nil) \
                    [list SET k $i] OK      {GET k} $i      {UNLINK k} 1     {STRLEN k} 0 \
                    [list SET k $long] OK   {GETDEL k} $long {APPEND k new} 3 {GET k} new \
                    {RENAME k other} OK     {GET k} (nil)   {GET other} new  [list SET other $long GET] new \
                    {GETSET other x} $long  {GET other} x   {PEXPIRE other -1} 1 {GET other} (nil)] {
                    lappend commands $command
                    lappend expected $reply
                }
            }
            expect_replies $expected [in_one_pipeline $commands]
        }

        test "Batch of $batch: a key whose time comes between prefetch and execution" {
            set value [patterned 3000]
            set commands [list [list SET k $value PX 20] {DEBUG SLEEP 0.05}]
            set expected {OK OK}
            foreach {command reply} {{GET k} (nil) {EXISTS k} 0 {MGET k k} {(nil) (nil)} {SET k new XX} (nil)
                {TTL k} -2 {APPEND k x} 1 {GET k} x} {
                lappend commands $command
                lappend expected $reply
            }
            for {set round 0} {$round < 5} {incr round} {
                r DEL k
                expect_replies $expected [in_one_pipeline $commands]
            }
        }

        test "Batch of $batch: keys evicted between prefetch and execution" {
            set value [patterned 2000]
            with_config {maxmemory-policy allkeys-random} {
                for {set i 0} {$i < 400} {incr i} {
                    r SET old:$i $value
                }
                r CONFIG RESETSTAT
                set limit [expr {[info_field used_memory memory] + 200000}]
                with_config [list maxmemory $limit] {
                    set commands {}
                    for {set i 0} {$i < 400} {incr i} {
                        lappend commands [list SET new:$i [patterned 10000 $i]] [list GET old:$i] [list STRLEN old:$i]
                    }
                    set replies [in_one_pipeline $commands]
                    assert {[info_field evicted_keys stats] > 50}
                    foreach {stored got length} $replies {
                        assert {$stored eq "OK" || [string match "(error) OOM*" $stored]}
                        if {$got ne $value && $got ne "(nil)"} {
                            fail "got [shorten $got]"
                        }
                        # Each command evicts before it runs, so the key may be evicted between the two; it does not
                        # return.
                        if {$length != 0 && ($length != 2000 || $got ne $value)} {
                            fail "length $length beside [shorten $got]"
                        }
                    }
                }
            }
        }

        test "Batch of $batch: the keyspace is emptied and grows again inside a pipeline" {
            set commands {}
            set expected {}
            for {set round 0} {$round < 3} {incr round} {
                lappend commands [lindex {FLUSHALL {FLUSHALL ASYNC} FLUSHDB} $round] {GET key:1}
                lappend expected OK (nil)
                for {set i 0} {$i < 2000} {incr i} {
                    lappend commands [list SET key:$i $round:$i] [list GET key:[expr {$i / 2}]]
                    lappend expected OK $round:[expr {$i / 2}]
                }
            }
            expect_replies $expected [in_one_pipeline $commands]
            assert_equal 2000 [r DBSIZE]
        }

        test "Batch of $batch: the keyspace shrinks inside a pipeline" {
            set commands {}
            set expected {}
            for {set i 0} {$i < 3000} {incr i} {
                lappend commands [list SET key:$i $i]
                lappend expected OK
            }
            for {set i 0} {$i < 2990} {incr i} {
                lappend commands [list DEL key:$i] [list GET key:2995] [list GET key:$i]
                lappend expected 1 2995 (nil)
            }
            expect_replies $expected [in_one_pipeline $commands]
            assert_equal 10 [r DBSIZE]
        }

        test "Batch of $batch: databases change places inside a pipeline" {
            r SET k zero
            r SET only-zero 0
            with_clients c {
                $c SELECT 1
                $c SET k one
            }
            set commands {}
            set expected {}
            for {set i 0} {$i < 40} {incr i} {
                set here [expr {$i % 2 ? "zero" : "one"}]
                set there [expr {$i % 2 ? "one" : "zero"}]
                lappend commands {SWAPDB 0 1} {GET k} {EXISTS only-zero} {SELECT 1} {GET k} {SELECT 0}
                lappend expected OK $here [expr {$i % 2}] OK $there OK
            }
            expect_replies $expected [in_one_pipeline $commands]
        }
    }
}

start_server {each {r FLUSHALL; r FLUSHALL SYNC}} {

    test "A client killed with large replies pending gives their memory back, though the value changes meanwhile" {
        set value [patterned 10000000]
        set base [info_field used_memory memory]
        foreach change {{SET big tiny} {DEL big} {APPEND big x} {SETRANGE big 5 zz} {FLUSHALL}} {
            r SET big $value
            with_clients {slow other} {
                set id [$slow CLIENT ID]
                ask_and_wait $slow $id [lrepeat 5 {GET big}]
                r {*}$change
                assert_equal 1 [r CLIENT KILL ID $id]
                r SET big [patterned 1000 7]
                assert_equal [patterned 1000 7] [$other GET big]
            }
            r DEL big
            memory_comes_back_to [expr {$base + 3000000}]
        }
    }

    test "A client killed while its pipeline is being executed: none of it runs when KILL has answered" {
        r SET n 0
        for {set round 0} {$round < 20} {incr round} {
            with_clients {victim} {
                set id [$victim CLIENT ID]
                set before [r GET n]
                $victim pipeline [concat [lrepeat 200 {INCR n}] {{GET n}} [lrepeat 200 {INCR n}]]
                r CLIENT KILL ID $id
                set n [r GET n]
                assert_between $before [expr {$before + 400}] $n
                wait_for_condition 5 {[client_line $id] eq ""}
                assert_equal $n [r GET n]
                # The replies match the executed commands, up to where the output was cut.
                set done ""
                for {set i 1} {$before + $i <= $n} {incr i} {
                    append done ":[expr {$before + $i}]\r\n"
                    if {$i == 200} {
                        set whole [expr {$before + 200}]
                        append done "\$[string length $whole]\r\n$whole\r\n"
                    }
                }
                set told [$victim raw_until_eof]
                assert {$told eq [string range $done 0 [string length $told]-1]}
            }
        }
    }

    test "A client that ends itself: what stands behind in its pipeline does not run" {
        with_clients c {
            set id [$c CLIENT ID]
            $c pipeline [list {SET k before} {GET k} {QUIT} {SET k after}]
            assert_equal "+OK\r\n\$6\r\nbefore\r\n+OK\r\n" [$c raw_until_eof]
        }
        with_clients c {
            set id [$c CLIENT ID]
            $c pipeline [list {GET k} [list CLIENT KILL ID $id SKIPME no] {SET k after}]
            assert_match "\$6\r\nbefore\r\n*" [$c raw_until_eof]
        }
        assert_equal before [r GET k]
    }

    test "The hard output limit counts bytes that are referenced, not copied" {
        r SET big [patterned 1000000]
        with_config {client-output-buffer-limit "normal 40000000 0 0"} {
            with_clients c {
                set id [$c CLIENT ID]
                ask_and_wait $c $id [lrepeat 30 {GET big}]
                assert_between 10000000 31000000 [client_field [client_line $id] omem]
                catch {$c pipeline [lrepeat 40 {GET big}]}
                wait_for_condition 10 {[client_line $id] eq ""}
                assert [$c closed_within 5000]
            }
        }
        assert_equal PONG [r PING]
    }

    test "Below the output limit a client is left alone, and nothing is counted that was written" {
        set value [patterned 1000000]
        r SET big $value
        with_config {client-output-buffer-limit "normal 20000000 0 0"} {
            with_clients c {
                set id [$c CLIENT ID]
                for {set round 0} {$round < 10} {incr round} {
                    $c pipeline [lrepeat 8 {GET big}]
                    foreach reply [$c replies 8] {
                        assert {$reply eq $value}
                    }
                }
                wait_for_condition 5 {[client_field [client_line $id] omem] == 0}
            }
        }
    }

    test "Large and small replies keep their order when the socket takes them in parts" {
        set big [patterned 3000000]
        set middle [patterned 20000 1]
        r MSET big $big middle $middle small s
        with_clients c {
            set id [$c CLIENT ID]
            set commands {}
            set expected {}
            for {set i 1} {$i <= 6} {incr i} {
                lappend commands {GET big} [list ECHO a$i] {INCR n} {GET middle} {GET small} {GET none} \
                    [list ECHO [string repeat $i 15000]] {MGET small big middle} {NONSENSE}
                lappend expected $big a$i $i $middle s (nil) [string repeat $i 15000] [list s $big $middle] \
                    "(error) ERR unknown command 'NONSENSE', with args beginning with: "
            }
            ask_and_wait $c $id $commands 6
            expect_replies $expected [$c replies [llength $commands]]
            assert [$c silent_for 20]
        }
    }

    set big_value [patterned 8000000]
    set other_value [patterned 5000000 9]

    # An unsent reply has the value at the time of the command, whatever happens to the key afterwards.
    foreach change {
        {APPEND big tail} {SETRANGE big 100 zzzz} {SETRANGE big 30000000 z} {SETBIT big 7 1} {SET big new}
        {GETSET big new} {SET big new XX} {MSET big x number 1} {GETDEL big} {DEL big} {UNLINK big} {RENAME big other}
        {RENAME other big} {COPY other big REPLACE} {PEXPIRE big -1} {GETEX big PX 1} {MOVE big 1} {SWAPDB 0 1}
        {FLUSHALL SYNC} {FLUSHALL ASYNC} {FLUSHDB} {INCR number} {INCRBYFLOAT number 0.5} {APPEND number 9}
    } {
        test "A slow reader gets the bytes from before: $change" {
            need_command [lindex $change 0]
            set big $big_value
            set middle [patterned 30000 3]
            r MSET big $big middle $middle number 12345 other $other_value
            with_clients c {
                set id [$c CLIENT ID]
                ask_and_wait $c $id {{GET big} {GET number} {GET big} {GET middle} {GET number} {GET big}}
                r {*}$change
                r APPEND middle x
                catch {r INCR number}
                expect_replies [list $big 12345 $big $middle 12345 $big] [$c replies 6]
            }
        }
    }

    test "A slow reader gets the bytes from before: eviction" {
        set big $big_value
        r SET big $big
        with_clients c {
            set id [$c CLIENT ID]
            ask_and_wait $c $id [lrepeat 4 {GET big}]
            with_config {maxmemory-policy allkeys-random maxmemory 1000000} {
                wait_for_condition 5 {[r DBSIZE] == 0}
            }
            for {set i 0} {$i < 100} {incr i} {
                r SET filler:$i [string repeat ! 100000]
            }
            expect_replies [lrepeat 4 $big] [$c replies 4]
        }
    }

    test "One value that many readers wait for survives its key" {
        set big [patterned 4000000]
        set base [info_field used_memory memory]
        r SET big $big
        set readers {}
        for {set i 0} {$i < 8} {incr i} {
            set c [connect]
            ask_and_wait $c [$c CLIENT ID] [lrepeat 4 {GET big}]
            lappend readers $c
        }
        assert {[info_field used_memory memory] < $base + 60000000}
        r SET big [string repeat ! 4000000]
        foreach c [lrange $readers 0 3] {
            $c destroy
        }
        foreach c [lrange $readers 4 end] {
            expect_replies [lrepeat 4 $big] [$c replies 4]
            $c destroy
        }
        r DEL big
        memory_comes_back_to [expr {$base + 3000000}]
    }
}

# Returns the CPU time of the innermost server, in seconds.
proc cpu_seconds {} {
    set text [r INFO cpu]
    return [expr {[field_of $text used_cpu_user] + [field_of $text used_cpu_sys]}]
}

# Returns a channel on which TEXT was sent and nothing is read; with HOW half-closed, its sending half is closed.
proc deaf {text {how ""}} {
    set channel [socket 127.0.0.1 [srv port]]
    fconfigure $channel -translation binary -blocking 0 -buffersize 1000000
    puts -nonewline $channel $text
    flush $channel
    if {$how eq "half-closed"} {
        close $channel write
    }
    return $channel
}

foreach threads {1 4} {
    start_server [list overrides [list io-threads $threads io-threads-always-active yes]] {

        # Sockets that are not read, are half-closed, or whose clients are blocked, must not be polled in a busy loop.
        test "Odd clients that do nothing cost no processor time, $threads threads" {
            r SET big [string repeat x 20000000]
            set odd {}
            lappend odd [deaf [string repeat "GET big\r\n" 20]]
            lappend odd [deaf "GET big\r\n" half-closed]
            lappend odd [deaf "GET big\r\nQUIT\r\nGET big\r\n"]
            lappend odd [deaf "GET big\r\n*1\r\n!\r\nGET big\r\n"]
            lappend odd [deaf "GET big\r\n*3\r\n\$3\r\nSET\r\n\$1\r\nk\r\n\$1000000\r\nhalf"]
            lappend odd [deaf "GET big\r\n*3\r\n\$3\r\nSET\r\n" half-closed]
            r CLIENT PAUSE 100000 WRITE
            lappend odd [deaf "[string repeat "SET k 1\r\n" 1000]GET big\r\n"]
            lappend odd [deaf "SET k 1\r\n" half-closed]
            after 300
            set before [cpu_seconds]
            after 3000
            assert_between 0 0.3 [expr {[cpu_seconds] - $before}]
            r CLIENT UNPAUSE
            foreach channel $odd {
                close $channel
            }
            wait_for_condition 20 {[info_field connected_clients clients] == 1}
            set before [cpu_seconds]
            after 1500
            assert_between 0 0.2 [expr {[cpu_seconds] - $before}]
        }
    }
}

start_server {each {r FLUSHALL; r CONFIG SET maxmemory 0}} {

    test "RANDOMKEY answers when all keys are over and none may be deleted" {
        r DEBUG SET-ACTIVE-EXPIRE 0
        for {set i 0} {$i < 20} {incr i} {
            r SET key:$i x PX 1
        }
        r CLIENT PAUSE 100000 WRITE
        after 20
        for {set i 0} {$i < 50} {incr i} {
            assert_match "key:*" [r RANDOMKEY]
        }
        r CLIENT UNPAUSE
        assert_equal (nil) [r RANDOMKEY]
        r DEBUG SET-ACTIVE-EXPIRE 1
    }

    test "RANDOMKEY finds what is left in a table of nearly nothing" {
        r DEBUG POPULATE 200000
        for {set i 3} {$i < 200000} {incr i 1000} {
            set names {}
            for {set k $i} {$k < $i + 1000 && $k < 200000} {incr k} {
                lappend names key:$k
            }
            r DEL {*}$names
        }
        set seen {}
        for {set i 0} {$i < 100} {incr i} {
            lappend seen [r RANDOMKEY]
        }
        assert_equal {key:0 key:1 key:2} [lsort -unique $seen]
    }

    test "A pattern of many stars takes no time to fail" {
        r SET [string repeat a 20000] x
        set pattern [string repeat a* 200]b
        assert_equal "" [r KEYS $pattern]
        assert_equal "" [lindex [r SCAN 0 MATCH $pattern COUNT 1000] 1]
        assert_equal "" [r CONFIG GET $pattern]
    }

    test "More samples than there are keys" {
        with_config {maxmemory-policy allkeys-lru maxmemory-samples 64} {
            for {set i 0} {$i < 5} {incr i} {
                r SET key:$i [string repeat x 1000000]
            }
            set counted [expr {[info_field used_memory memory] - [info_field mem_not_counted_for_evict memory]}]
            r CONFIG SET maxmemory [expr {$counted - 2000000}]
            wait_for_condition 5 {[r DBSIZE] <= 3}
            r CONFIG SET maxmemory 1
            wait_for_condition 5 {[r DBSIZE] == 0}
        }
    }

    test "Of an option that is given twice, the last counts, for every part of the command" {
        r SET a 1
        assert_equal 1 [r COPY a b DB 1 DB 2]
        with_clients c {
            $c SELECT 1
            assert_equal (nil) [$c GET b]
            $c SELECT 2
            assert_equal 1 [$c GET b]
        }
    }

    test "Lines of a request do not become lines of a reply" {
        with_clients c {
            foreach command [list [list "no\r\n+OK\r\nsuch" "a\r\nb"] [list CLIENT "x\r\n:1"] [list CONFIG SET "a\r\n+b" 1] \
                [list OBJECT "x\n+OK"] [list HELLO 3 "x\r\n+y"] [list SCAN 0 TYPE "x\r\n+y"] [list CLIENT KILL "x\r\ny"] \
                [list DEBUG "x\r\n+y"] [list CLIENT LIST USER "x\r\n+y"] [list CLIENT KILL TYPE "x\r\n+y"]] {
                catch {$c {*}$command} reply
                assert_no_match "*\n*" $reply
                assert_equal PONG [$c PING]
            }
        }
    }
}

# ---- Memory that one client can make the server keep --------------------------------------------------------------------

proc used_memory {} {
    return [info_field used_memory memory]
}

# Returns COUNT different names of 30 bytes.
proc names {count} {
    set all {}
    for {set i 0} {$i < $count} {incr i} {lappend all [format "a name among many, %012d" $i]}
    return $all
}

start_server {each {r FLUSHALL}} {

    foreach {what replies commands} {
        "channels" 30000 {[list SUBSCRIBE {*}[names 30000]]}
        "shard channels" 30000 {[list SSUBSCRIBE {*}[names 30000]]}
        "patterns" 30000 {[list PSUBSCRIBE {*}[names 30000]]}
        "patterns with a star first" 30000 {[list PSUBSCRIBE {*}[lmap name [names 30000] {string cat * $name}]]}
        "watched keys" 1 {[list WATCH {*}[names 30000]]}
        "keys that are waited for" 0 {[list BLPOP {*}[names 30000] 0]}
        "prefixes" 1 {[list CLIENT TRACKING on BCAST {*}[concat {*}[lmap name [lreverse [names 30000]] {list PREFIX $name}]]]}
        "queued commands" 30001 {MULTI {*}[lmap name [names 30000] {list SET $name $name}]}
    } {
        test "30,000 $what of one client are counted as its memory, and leave nothing behind" {
            if {$srv::slow > 1} {
                skip "a sanitizer's allocator gives memory back when it likes"
            }
            for {set round 0} {$round < 2} {incr round} {
                set before [used_memory]
                set c [connect]
                $c HELLO 3
                set id [$c CLIENT ID]
                set own [client_field [client_line $id] tot-mem]
                $c pipeline [subst -nobackslashes "\[list $commands\]"]
                for {set i 0} {$i < $replies} {incr i} {$c decode}
                wait_for_condition 20 {[client_field [client_line $id] tot-mem] - $own > 1000000}
                # Threads return memory, above all to a sanitizer's allocator, a moment later.
                wait_for_condition 20 {
                    [set counted [expr {[client_field [client_line $id] tot-mem] - $own}]] > 0 &&
                    [set used [expr {[used_memory] - $before}]] > 0 &&
                    double($counted) / $used > 0.65 && double($counted) / $used < 2
                }
                $c destroy
                # The first round fills buffers that are kept for all clients.
                if {$round} {memory_comes_back_to [expr {$before + 200000}]} else {memory_comes_back_to [expr {$before + 3000000}]}
            }
        }
    }

    set large [string repeat n 1000000]
    foreach {what before command told} {
        "the name of a channel" {{HELLO 2} {PSUBSCRIBE *}} {PUBLISH $large x} {[list pmessage * $large x]}
        "the name of a channel, and a payload" {{HELLO 3} {PSUBSCRIBE *}} {PUBLISH $large $large} {[list pmessage * $large $large]}
        "a key that many have read" {{HELLO 3} {CLIENT TRACKING on} {GET $large}} {SET $large x} {[list invalidate [list $large]]}
        "a key that is told to all" {{HELLO 3} {CLIENT TRACKING on BCAST}} {SET $large x} {[list invalidate [list $large]]}
        "many keys that are told to all" {{HELLO 3} {CLIENT TRACKING on BCAST}} {} {[list invalidate [names 10000]]}
        "many keys that another client has changed" {{HELLO 3} {CLIENT TRACKING on BCAST NOLOOP}} {} {[list invalidate [names 10000]]}
        "a command that monitors are shown" {{HELLO 3} MONITOR} {SET k $large} {*"SET" "k" "$large"}
    } {
        test "What many clients are told is in memory once: $what" {
            set clients [lmap i [lrepeat 30 x] {connect}]
            foreach c $clients {
                foreach one $before {
                    $c send {*}[subst $one]
                    $c decode
                }
            }
            # The clients of the previous test are closed, with their output.
            wait_for_condition 10 {[info_field connected_clients clients] == 31}
            wait_for_condition 10 {[info_field lazyfree_pending_objects] == 0}
            set used [used_memory]
            if {$command eq ""} {
                set arguments {}
                foreach name [names 10000] {lappend arguments $name x}
                r MSET {*}$arguments
            } else {
                r {*}[subst $command]
            }
            set grown [expr {[used_memory] - $used}]
            set expected [subst $told]
            foreach c $clients {
                set got [lindex [$c decode] 1]
                # A monitor also shows the commands before.
                while {[string match *MONITOR $before] && ![string match {*"SET"*} $got]} {set got [lindex [$c decode] 1]}
                if {$got ne $expected && !([string match *MONITOR $before] && [string match $expected $got])} {
                    fail "got [shorten $got]"
                }
                $c destroy
            }
            assert_between 0 8000000 $grown
        }
    }

    test "100,000 arguments leave no room for as many behind" {
        set before [used_memory]
        assert_equal 0 [r EXISTS {*}[lrepeat 100000 k]]
        memory_comes_back_to [expr {$before + 1000000}]
    }
}

# ---- Transactions, waiting, messages -------------------------------------------------------------------------------------

start_server {each {r CLIENT UNPAUSE; r FLUSHALL; r SELECT 0}} {

    test "Of those who wait for a key the second is killed while the first is served" {
        with_clients {a b c} {
            set second [$b CLIENT ID]
            foreach client [list $a $b $c] {waits $client BLPOP k 0}
            r pipeline [list MULTI {RPUSH k 1 2} [list CLIENT KILL ID $second] {RPUSH k 3} EXEC]
            assert_equal {2 1 3} [lindex [r replies 5] 4]
            assert_equal {{k 1} {k 2}} [list [$a reply] [$c reply]]
            assert [$b closed_within 5000]
            nobody_waits
            assert_equal 3 [r LRANGE k 0 -1]
        }
    }

    test "Who is served with more than its output limit allows is sent away, and the next one is served" {
        with_config {client-output-buffer-limit {normal 1mb 0 0}} {
            with_clients {a b} {
                waits $a BLPOP k 0
                waits $b BLPOP k 0
                r RPUSH k [string repeat x 3000000] small
                assert_equal {k small} [$b reply]
                assert [$a closed_within 5000]
                nobody_waits
            }
        }
    }

    test "A client that waits for much is evicted by maxmemory-clients, and its keys with it" {
        with_clients {a b} {
            $a send BLPOP {*}[names 30000] 0
            waits $b BLPOP "a name among many, 000000000007" 0
            with_config {maxmemory-clients 2mb} {
                assert [$a closed_within 10000]
                wait_for_condition 10 {[blocked_count] == 1}
                assert_equal 1 [info_field total_blocking_keys clients]
                r RPUSH "a name among many, 000000000007" x
                assert_equal {{a name among many, 000000000007} x} [$b reply]
            }
            nobody_waits
        }
    }

    test "Three watch a key, of the second it was over when it was watched" {
        with_clients {a b c} {
            r DEBUG SET-ACTIVE-EXPIRE 0
            $a WATCH k
            r SET k 1 PX 1
            after 10
            $b WATCH k
            $c WATCH k other
            r SET k 2
            r DEBUG SET-ACTIVE-EXPIRE 1
            foreach client [list $a $b $c] {
                $client MULTI
                assert_equal (nil) [$client EXEC]
            }
            assert_equal 0 [info_field total_watched_keys]
        }
    }

    foreach {command refused} {FLUSHALL {1 1 1} {FLUSHDB} {1 0 1} {SWAPDB 0 1} {1 1 1} {SWAPDB 1 2} {0 1 1}} {
        test "Clients that watch several keys of several databases: $command" {
            with_clients {a b c} {
                foreach db {0 1} {
                    r SELECT $db
                    r MSET k 1 l 1
                }
                r SELECT 0
                $a WATCH k l none k
                $b SELECT 1
                $b WATCH l none k
                $c WATCH none k l
                $c SELECT 1
                $c WATCH k l none
                r {*}$command
                set got {}
                foreach client [list $a $b $c] {
                    $client MULTI
                    lappend got [expr {[$client EXEC] eq "(nil)"}]
                }
                assert_equal $refused $got
                assert_equal {0 0} [list [info_field watching_clients] [info_field total_watched_keys]]
            }
        }
    }

    test "A time that is shorter than the clock can tell is no time for ever" {
        foreach timeout {0.0001 0.0009 0.001 1e-9} {
            assert {[elapsed_ms {assert_equal (nil) [r BLPOP k $timeout]}] < 3000}
            assert_equal (nil) [r BZMPOP $timeout 1 k MIN]
        }
        nobody_waits
    }

    test "CLIENT PAUSE before and during a wait does not take its time away" {
        with_clients {a b} {
            waits $a BLPOP k 0.3
            r CLIENT PAUSE 600 WRITE
            $b send BLPOP k 0.2
            assert {[elapsed_ms {assert_equal {(nil) (nil)} [list [$a reply] [$b reply]]}] < 5000}
            nobody_waits
        }
    }

    test "CLIENT UNBLOCK leaves a client alone that is paused" {
        with_clients c {
            set id [$c CLIENT ID]
            r CLIENT PAUSE 100000 WRITE
            $c send SET k v
            assert [$c silent_for 100]
            assert_equal {0 0} [list [r CLIENT UNBLOCK $id] [r CLIENT UNBLOCK $id ERROR]]
            assert [$c silent_for 100]
            assert_equal 0 [r EXISTS k]
            r CLIENT UNPAUSE
            assert_equal OK [$c reply]
        }
    }

    test "A command waits for its keys, and for none of its other arguments" {
        with_clients {a b c} {
            waits $a BZMPOP 0 1 k MIN COUNT 3
            waits $b BLMPOP 0 2 k k2 LEFT
            waits $c XREAD COUNT 7 BLOCK 0 STREAMS k3 5-0
            assert_equal 3 [info_field total_blocking_keys clients]
            foreach key {MIN COUNT 0 1 3} {r ZADD $key 1 m}
            foreach key {LEFT 2} {r RPUSH $key m}
            foreach key {STREAMS 5-0 BLOCK 7} {r XADD $key 9-9 f v}
            foreach client [list $a $b $c] {assert [$client silent_for 30]}
            r ZADD k 1 m
            assert_equal {k {{m 1}}} [$a reply]
            r RPUSH k2 m
            assert_equal {k2 m} [$b reply]
            r XADD k3 6-0 f v
            assert_equal {{k3 {{6-0 {f v}}}}} [$c reply]
        }
    }

    test "maxmemory that is reached while clients wait: they are served all the same, or told" {
        with_clients {a b c} {
            r RPUSH src v w x
            waits $a BLMOVE k dst LEFT LEFT 0
            waits $b BLPOP k 0
            waits $c BZPOPMIN z 0
            with_config {maxmemory-policy noeviction maxmemory 1} {
                assert_error "OOM*" {r RPUSH k v}
                r RENAME src k
                catch {$a reply} told
                assert {$told eq "v" || [string match "OOM*" $told]}
                assert_equal [list k [expr {$told eq "v" ? "w" : "v"}]] [$b reply]
                assert_equal 1 [blocked_count]
                assert_error "OOM*" {r ZADD z 1 m}
            }
            r ZADD z 1 m
            assert_equal {z m 1} [$c reply]
            nobody_waits
        }
    }

    test "What stands in an argument is no line of MONITOR's" {
        with_clients c {
            $c MONITOR
            r SET "k\r\n+OK" "a\"b\x00"
            assert_match {*] "SET" "k\\r\\n+OK" "a\\"b\\x00"} [$c reply]
        }
    }

    test "A subscriber is killed in a transaction that publishes to it" {
        with_clients {a b} {
            set id [$a CLIENT ID]
            foreach client [list $a $b] {
                $client HELLO 3
                foreach command {{SUBSCRIBE x} {PSUBSCRIBE x*} {SSUBSCRIBE x}} {
                    $client send {*}$command
                    $client decode
                }
            }
            r pipeline [list MULTI {PUBLISH x 1} {SPUBLISH x 1} [list CLIENT KILL ID $id] {PUBLISH x 2} {SPUBLISH x 2} EXEC]
            assert_equal {4 2 1 2 1} [lindex [r replies 7] 6]
            set got [lmap i {1 2 3 4 5 6} {lindex [$b decode] 1}]
            assert_equal {{message x 1} {pmessage x* x 1} {smessage x 1} {message x 2} {pmessage x* x 2} {smessage x 2}} $got
            assert [$a closed_within 5000]
            assert_equal {x 1} [r PUBSUB NUMSUB x]
        }
    }

    test "Everybody waits for the same keys, and everything goes at once" {
        set clients [lmap i [lrepeat 300 x] {connect}]
        r XGROUP CREATE s g $ MKSTREAM
        set i 0
        foreach c $clients {
            $c send {*}[lindex {{BLPOP k l 0} {BZPOPMIN k z 0} {XREADGROUP GROUP g c BLOCK 0 STREAMS s >} {BLMOVE l k LEFT LEFT 0}} \
                [expr {[incr i] % 4}]]
        }
        wait_for_condition 20 {[blocked_count] == 300}
        r FLUSHALL
        wait_for_condition 20 {[blocked_count] == 225}
        r pipeline {MULTI {RPUSH k a} {ZADD z 1 m} {RPUSH l b} {SWAPDB 0 1} {FLUSHALL} {CLIENT KILL TYPE normal} EXEC}
        assert_equal 300 [lindex [r replies 8] 7 5]
        foreach c $clients {$c destroy}
        nobody_waits
        assert_equal 0 [r DBSIZE]
    }
}

start_server {overrides {requirepass secret}} {

    test "HELLO whose AUTH fails changes nothing" {
        with_clients c {
            assert_error "WRONGPASS*" {$c HELLO 3 AUTH default wrong SETNAME stranger}
            assert_error "NOAUTH*" {$c PING}
            $c AUTH secret
            assert_equal (nil) [$c CLIENT GETNAME]
            assert_match "* resp=2 *" [$c CLIENT INFO]
            assert_error "WRONGPASS*" {$c HELLO 3 AUTH default wrong SETNAME stranger}
            assert_match "* name= *resp=2 *" [$c CLIENT INFO]
        }
    }
}
