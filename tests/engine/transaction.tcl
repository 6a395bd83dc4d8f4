# transaction.tcl -- MULTI, EXEC, DISCARD, WATCH, UNWATCH: commands that run atomically, unless a watched key has
# changed.
#
# SPDX-License-Identifier: BSD-3-Clause

set aborted {EXECABORT Transaction discarded because of previous errors.}

# Queues COMMANDS and returns the replies of EXEC.
proc transaction {commands} {
    r MULTI
    foreach command $commands {
        assert_equal QUEUED [r {*}$command]
    }
    return [r EXEC]
}

# Watches KEYS, lets another client run BODY (as $other), and returns whether a transaction still runs.
proc survives {keys body} {
    upvar other other
    with_clients other {
        r WATCH {*}$keys
        uplevel 1 $body
        r MULTI
        r PING
        return [expr {[r EXEC] ne "(nil)"}]
    }
}

start_server {each {r CONFIG SET maxmemory 0; r FLUSHALL; r SELECT 0}} {

    # ---- Queue and run ------------------------------------------------------------------------------------------

    test "what is queued runs at EXEC, in order, and its replies come as one array" {
        assert_equal {OK 1 2 {} 2} [transaction {{SET n 1} {GET n} {INCR n} {LRANGE list 0 -1} {GET n}}]
    }

    test "nothing runs before EXEC" {
        with_clients other {
            r MULTI
            r SET k v
            assert_equal (nil) [$other GET k]
            r EXEC
            assert_equal v [$other GET k]
        }
    }

    test "an empty transaction is an empty array" {
        assert_equal {} [transaction {}]
    }

    test "an error while running does not keep the others from running" {
        assert_equal {OK {(error) WRONGTYPE Operation against a key holding the wrong kind of value} OK} \
            [transaction {{SET k v} {LPUSH k x} {SET after v}}]
        assert_equal v [r GET after]
    }

    test "DISCARD forgets what was queued" {
        r MULTI
        r SET k v
        assert_equal OK [r DISCARD]
        assert_equal 0 [r EXISTS k]
        assert_error "ERR EXEC without MULTI" {r EXEC}
    }

    test "EXEC and DISCARD want a MULTI" {
        assert_error "ERR EXEC without MULTI" {r EXEC}
        assert_error "ERR DISCARD without MULTI" {r DISCARD}
    }

    test "an EXEC that is refused ends the transaction, and says EXECABORT" {
        set arity {EXECABORT Transaction discarded because of: wrong number of arguments for 'exec' command}
        assert_error $arity {r EXEC x}
        r MULTI
        r SET k v
        assert_error $arity {r EXEC x}
        assert_equal {PONG 0} [list [r PING] [r EXISTS k]]
        r MULTI
        assert_error "ERR wrong number of arguments for 'discard' command" {r DISCARD x}
        assert_error $aborted {r EXEC}
        with_clients stranger {
            r CONFIG SET requirepass secret
            $stranger RESET
            catch {$stranger EXEC} first
            catch {$stranger EXEC x} second
            r CONFIG SET requirepass ""
            assert_equal "EXECABORT Transaction discarded because of: NOAUTH Authentication required." $first
            assert_equal $first $second
        }
    }

    test "a transaction in one write, and in as many as it has commands" {
        r pipeline {MULTI {SET a 1} {INCR a} {MSET b 1 c 2} {MGET a b c} EXEC}
        assert_equal {OK QUEUED QUEUED QUEUED QUEUED {OK 2 OK {2 1 2}}} [r replies 6]
        foreach command {MULTI {SET a 5} {INCR a}} {r {*}$command}
        assert_equal {OK 6} [r EXEC]
    }

    test "SELECT in a transaction moves what is behind it, and stays" {
        assert_equal {OK OK} [transaction {{SELECT 5} {SET k five}}]
        assert_equal five [r GET k]
        r SELECT 0
        assert_equal (nil) [r GET k]
    }

    test "HELLO in a transaction changes the protocol where it stands" {
        with_clients c {
            $c MULTI
            $c HGETALL none
            $c HELLO 3
            $c HGETALL none
            $c write [resp::encode EXEC]
            assert_equal "*3" [$c line]
            assert_equal "*0" [$c line]
            assert_match "%*" [$c line]
        }
    }

    # ---- Errors that prevent execution --------------------------------------------------------------------------

    foreach {title command error} {
        "an unknown command" {NOSUCH a} {ERR unknown command 'NOSUCH', with args beginning with: 'a' }
        "wrong arity" {GET} {ERR wrong number of arguments for 'get' command}
        "an unknown subcommand" {CLIENT NOSUCH} {ERR unknown subcommand 'NOSUCH'. Try CLIENT HELP.}
        "a MULTI in a MULTI" {MULTI} {ERR Command 'multi' not allowed inside a transaction}
        "WATCH" {WATCH k} {ERR Command 'watch' not allowed inside a transaction}
        "a command that does not go into one" {CLIENT REPLY OFF} {ERR Command 'client|reply' not allowed inside a transaction}
        "SHUTDOWN" {SHUTDOWN NOSAVE} {ERR Command 'shutdown' not allowed inside a transaction}
    } {
        test "$title while queueing makes EXEC fail" {
            r MULTI
            r SET k v
            assert_error [string map {* \\* ? \\? [ \\[} $error] {r {*}$command}
            assert_equal QUEUED [r SET k w]
            assert_error $aborted {r EXEC}
            assert_equal 0 [r EXISTS k]
            assert_error "ERR EXEC without MULTI" {r EXEC}
        }
    }

    test "a write that maxmemory refuses makes EXEC fail" {
        with_config {maxmemory-policy noeviction} {
            r CONFIG SET maxmemory 1
            r MULTI
            assert_error "OOM command not allowed*" {r SET k v}
            assert_error $aborted {r EXEC}
            r CONFIG SET maxmemory 0
            r MULTI
            r SET k v
            with_clients other {$other CONFIG SET maxmemory 1}
            assert_error "EXECABORT Transaction discarded because of: OOM command not allowed when used memory > 'maxmemory'." {r EXEC}
            assert_error "ERR EXEC without MULTI" {r EXEC}
            r MULTI
            r GET k
            assert_equal (nil) [r EXEC]
            r CONFIG SET maxmemory 0
        }
    }

    test "RESET leaves a transaction" {
        r MULTI
        r SET k v
        assert_equal RESET [r RESET]
        assert_error "ERR EXEC without MULTI" {r EXEC}
        assert_equal 0 [r EXISTS k]
    }

    test "a client that goes in the middle of a transaction leaves nothing" {
        foreach tail {{} QUIT} {
            with_clients c {
                $c MULTI
                $c SET k [string repeat v 100]
                $c SET large [string repeat v 100000]
                if {$tail ne ""} {assert_equal OK [$c $tail]}
            }
        }
        with_clients c {
            $c write [resp::encode MULTI][resp::encode {SET k v}][resp::encode {SET l w}]
            $c replies 3
        }
        wait_for_condition 10 {[info_field connected_clients clients] == 1}
        assert_equal 0 [r DBSIZE]
    }

    # ---- WATCH --------------------------------------------------------------------------------------------------

    # The TTL is longer than making a connection takes, over TLS on a busy machine: WATCH must find the key alive.
    foreach {title prepare change} {
        "written to" {r SET k 1} {$other SET k 1}
        "changed by an increment" {r SET k 1} {$other INCR k}
        "deleted" {r SET k 1} {$other DEL k}
        "created" {} {$other SET k 1}
        "given a time" {r SET k 1} {$other EXPIRE k 100}
        "renamed away" {r SET k 1} {$other RENAME k l}
        "renamed to" {r SET l 1} {$other RENAME l k}
        "copied to" {r SET l 1} {$other COPY l k}
        "moved away" {r SET k 1} {$other MOVE k 1}
        "the destination of SORT" {r RPUSH l 1} {$other SORT l STORE k}
        "deleted as it was emptied" {r RPUSH k 1} {$other LPOP k}
        "changed inside a hash" {r HSET k f 1} {$other HSET k f 2}
        "gone in FLUSHALL" {r SET k 1} {$other FLUSHALL}
        "gone in FLUSHDB" {r SET k 1} {$other FLUSHDB ASYNC}
        "gone in SWAPDB" {r SET k 1} {$other SWAPDB 0 1}
        "there after SWAPDB" {r SELECT 1; r SET k 1; r SELECT 0} {$other SWAPDB 0 1}
        "exchanged in SWAPDB" {r SET k 1; r SELECT 1; r SET k 1; r SELECT 0} {$other SWAPDB 1 0}
        "evicted or expired, deleted by a look" {r SET k 1 PX 1000} {after 1050; $other GET k}
        "over its time, not deleted yet" {r SET k 1 PX 1000} {after 1050}
        "the second of two" {} {$other SET two 1}
    } {
        test "EXEC is refused after a watched key was $title" {
            eval $prepare
            assert {![survives {k two} $change]}
        }
    }

    foreach {title prepare change} {
        "read" {r SET k 1} {$other GET k; $other EXISTS k; $other OBJECT ENCODING k}
        "given nothing new" {r SADD k m} {$other SADD k m; $other SREM k x; $other DEL missing}
        "left alone, others changed" {r SET k 1} {$other SET l 1}
        "changed in another database" {r SET k 1} {$other SELECT 1; $other SET k 2}
        "missing, in FLUSHALL" {} {$other FLUSHALL}
        "missing, in a SWAPDB of empty databases" {} {$other SWAPDB 0 1}
        "of other databases than those swapped" {r SET k 1} {$other SWAPDB 1 2}
        "of a database that is swapped with itself" {r SET k 1} {$other SWAPDB 0 0}
        "a stream, and its groups changed" {
            r XADD k 1-1 f v
            r XADD k 1-2 f v
            r XGROUP CREATE k g 0
            r XREADGROUP GROUP g c COUNT 1 STREAMS k >
        } {
            $other XREADGROUP GROUP g new STREAMS k >
            $other XACK k g 1-1
            $other XCLAIM k g other 0 1-2
            $other XAUTOCLAIM k g c 0 0
            $other XGROUP CREATE k h 0
            $other XGROUP CREATECONSUMER k g third
            $other XGROUP SETID k g 0
            $other XGROUP DELCONSUMER k g c
            $other XGROUP DESTROY k g
            $other XSETID k 5-5
        }
    } {
        test "EXEC runs after a watched key was $title" {
            eval $prepare
            assert {[survives k $change]}
        }
    }

    test "a key whose time was over when it was watched may be deleted" {
        with_clients other {
            r DEBUG SET-ACTIVE-EXPIRE 0
            r SET k 1 PX 1
            after 10
            r WATCH k
            $other GET k
            assert_equal PONG [transaction PING]
            r SET k 1 PX 1
            after 10
            r WATCH k
            $other SET k 2
            r MULTI
            assert_equal (nil) [r EXEC]
            r DEBUG SET-ACTIVE-EXPIRE 1
        }
    }

    test "one's own change counts too" {
        r WATCH k
        r SET k 1
        r MULTI
        assert_equal (nil) [r EXEC]
    }

    test "UNWATCH, EXEC and DISCARD end watching" {
        foreach ending {UNWATCH {MULTI EXEC} {MULTI DISCARD}} {
            with_clients other {
                r WATCH k
                foreach word $ending {r $word}
                $other SET k [incr count]
                assert_equal PONG [transaction PING]
            }
        }
    }

    test "a refused EXEC is a null array in RESP2 and a null in RESP3" {
        foreach {protocol null} {2 *-1 3 _} {
            with_clients c {
                $c HELLO $protocol
                $c WATCH k
                $c SET k v
                $c MULTI
                $c write [resp::encode EXEC]
                assert_equal $null [$c line]
            }
        }
    }

    test "INFO and CLIENT LIST tell who watches and what is queued" {
        with_clients {a b} {
            $a WATCH k l k
            $b WATCH l
            assert_equal {2 2} [list [info_field watching_clients] [info_field total_watched_keys]]
            assert_equal 2 [client_field [$a CLIENT INFO] watch]
            r SET l 1
            assert_equal {0 0} [list [info_field watching_clients] [info_field total_watched_keys]]
            $a UNWATCH
            $a MULTI
            $a SET k v
            $a GET k
            set line [lsearch -inline [split [r CLIENT LIST] \n] "*multi=2*"]
            assert_equal x [client_field $line flags]
            assert {[client_field $line multi-mem] > 40}
            $b WATCH k
            r SET k 1
            set line [r CLIENT LIST ID [$b CLIENT ID]]
            assert_equal d [client_field $line flags]
        }
    }

    test "a transaction that will not run keeps nothing of what was queued" {
        with_clients a {
            set id [$a CLIENT ID]
            $a MULTI
            $a SET k [string repeat v 1000]
            $a GET k
            assert_error "ERR unknown command*" {$a NOSUCH}
            $a SET k v
            set line [r CLIENT LIST ID $id]
            assert_equal {x 0 0} [list [client_field $line flags] [client_field $line multi] \
                                      [client_field $line multi-mem]]
            assert_error $aborted {$a EXEC}
        }
    }

    # ---- Beside the rest ----------------------------------------------------------------------------------------

    test "values of any size, kept as long as it takes" {
        set words {}
        r MULTI
        for {set i 0} {$i < 300} {incr i} {
            set size [expr {$i % 7 == 0 ? 40000 : $i % 5 == 0 ? 600 : 10}]
            r SET key:$i [string repeat [format %c [expr {97 + $i % 26}]] $size]
        }
        r EXEC
        for {set i 0} {$i < 300} {incr i} {
            set size [expr {$i % 7 == 0 ? 40000 : $i % 5 == 0 ? 600 : 10}]
            assert_equal [string repeat [format %c [expr {97 + $i % 26}]] $size] [r GET key:$i]
        }
    }

    test "thousands of commands in one write" {
        set commands MULTI
        for {set i 0} {$i < 5000} {incr i} {
            lappend commands [list SET key:$i value:$i] [list APPEND key:$i x]
        }
        r pipeline [list {*}$commands EXEC]
        set replies [r replies 10002]
        assert_equal 10000 [llength [lindex $replies end]]
        assert_equal value:4999x [r GET key:4999]
        assert_equal 5000 [r DBSIZE]
    }

    test "commands that only main's own thread runs go into a transaction" {
        assert_equal {OK {hz 20} OK OK} [transaction {{CONFIG SET hz 20} {CONFIG GET hz} {CONFIG SET hz 10} {SET k v}}]
    }

    test "MONITOR shows a transaction as it runs" {
        with_clients {watcher c} {
            $watcher MONITOR
            $c MULTI
            $c SET k v
            $c GET k
            $c EXEC
            set shown {}
            foreach i {1 2 3 4} {
                regexp {^[^"]*(".*)$} [$watcher reply] -> line
                lappend shown $line
            }
            assert_equal {{"MULTI"} {"SET" "k" "v"} {"GET" "k"} {"EXEC"}} $shown
        }
    }

    test "MONITOR shows an EXEC that is refused, as the end of its transaction" {
        with_clients {watcher c} {
            $watcher MONITOR
            $c MULTI
            assert_error "EXECABORT *" {$c EXEC x}
            $c SUBSCRIBE channel
            assert_error "EXECABORT *" {$c EXEC}
            set shown {}
            foreach i {1 2 3 4} {
                regexp {^[^"]*(".*)$} [$watcher reply] -> line
                lappend shown $line
            }
            assert_equal {{"MULTI"} {"EXEC" "x"} {"SUBSCRIBE" "channel"} {"EXEC"}} $shown
        }
    }

    test "CLIENT INFO in a transaction: it is EXEC that runs" {
        set info [lindex [transaction {{CLIENT INFO} {GET k}}] 0]
        assert_equal exec [client_field $info cmd]
        assert_equal {x 2} [list [client_field $info flags] [client_field $info multi]]
    }

    test "each command of a transaction is counted, and in the slow log" {
        r CONFIG RESETSTAT
        with_config {slowlog-log-slower-than 0} {
            transaction {{SET k v} {GET k} {GET k}}
            set logged [lmap entry [r SLOWLOG GET 4] {lindex $entry 3}]
            assert_equal {{GET k} {GET k} {SET k v}} [lrange $logged 0 2]
        }
        assert_match "calls=2,*" [info_field cmdstat_get]
        assert_match "calls=1,*" [info_field cmdstat_set]
        assert_match "calls=1,*" [info_field cmdstat_exec]
    }

    test "CLIENT PAUSE WRITE holds a transaction with a write at EXEC, and lets one pass that reads" {
        with_clients {c other} {
            $c MULTI
            $c SET k v
            $other MULTI
            $other GET k
            r CLIENT PAUSE 100000 WRITE
            assert_equal (nil) [$other EXEC]
            $c send EXEC
            assert [$c silent_for 100]
            r CLIENT UNPAUSE
            assert_equal OK [$c reply]
        }
    }

    test "a queue counts toward client-query-buffer-limit" {
        with_config {client-query-buffer-limit 1048576} {
            with_clients c {
                $c MULTI
                set code [catch {for {set i 0} {$i < 200} {incr i} {$c SET key:$i [string repeat v 10000]}}]
                assert {$code && $i > 50 && $i < 200}
            }
            assert_equal 0 [r DBSIZE]
        }
    }

    test "CLIENT KILL of oneself in a transaction lets it run to its end" {
        with_clients c {
            set id [$c CLIENT ID]
            $c MULTI
            $c SET before v
            $c CLIENT KILL ID $id SKIPME no
            $c SET after v
            catch {$c EXEC}
        }
        assert_equal {v v} [r MGET before after]
    }
}
