# hotkeys.tcl -- HOTKEYS: the keys that take the most time and bytes, on one thread and on several.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns a value of HOTKEYS GET over connection C.
proc found_by {c field} {
    return [dict get [lindex [$c HOTKEYS GET] 0] $field]
}

proc found {field} {
    return [found_by [default_client] $field]
}

proc no_session {} {
    r HOTKEYS STOP
    r HOTKEYS RESET
}

proc bytes_of {args} {
    set bytes [string length "*[llength $args]\r\n"]
    foreach word $args {
        incr bytes [string length "\$[string length $word]\r\n$word\r\n"]
    }
    return $bytes
}

start_server {each {r HELLO 2; r FLUSHALL; no_session}} {
    need_command hotkeys

    # ---- Arguments ---------------------------------------------------------------------------------------------

    foreach {arguments error} {
        {} "ERR METRICS parameter is required"
        {x} "ERR METRICS parameter is required"
        {METRICS} "ERR METRICS parameter is required"
        {COUNT 3 METRICS 1 CPU} "ERR METRICS parameter is required"
        {METRICS 0 CPU} "ERR METRICS count must be > 0 and <= 2"
        {METRICS 3 CPU NET CPU} "ERR METRICS count must be > 0 and <= 2"
        {METRICS x} "ERR METRICS count must be > 0 and <= 2"
        {METRICS 1} "ERR METRICS count does not match number of metric types provided"
        {METRICS 2 CPU} "ERR METRICS count does not match number of metric types provided"
        {METRICS 1 x} "ERR METRICS no valid metrics passed. Supported: CPU|NET"
        {METRICS 1 COUNT 5 CPU} "ERR METRICS no valid metrics passed. Supported: CPU|NET"
        {METRICS 2 CPU cpu} "ERR METRICS CPU defined more than once!"
        {METRICS 2 net NET} "ERR METRICS NET defined more than once!"
        {METRICS 1 CPU NET} "ERR syntax error"
        {METRICS 1 CPU METRICS 1 NET} "ERR syntax error"
        {METRICS 1 CPU COUNT} "ERR syntax error"
        {METRICS 1 CPU SLOTS} "ERR syntax error"
        {METRICS 1 CPU x 3} "ERR syntax error"
        {METRICS 1 CPU COUNT 0} "ERR COUNT must be between 1 and 64"
        {METRICS 1 CPU COUNT 65} "ERR COUNT must be between 1 and 64"
        {METRICS 1 CPU COUNT +5} "ERR COUNT must be between 1 and 64"
        {METRICS 1 CPU DURATION 0} "ERR DURATION must be between 1 and 1000000"
        {METRICS 1 CPU DURATION 1000001} "ERR DURATION must be between 1 and 1000000"
        {METRICS 1 CPU SAMPLE 0} "ERR SAMPLE ratio must be positive"
        {METRICS 1 CPU SAMPLE 2147483648} "ERR SAMPLE ratio must be positive"
        {METRICS 1 CPU SLOTS 1 5} "ERR SLOTS parameter cannot be used in non-cluster mode"
        {METRICS 1 CPU SLOTS 0 COUNT 65} "ERR SLOTS parameter cannot be used in non-cluster mode"
        {METRICS 1 CPU COUNT 65 SLOTS 0} "ERR COUNT must be between 1 and 64"
    } {
        test "HOTKEYS START $arguments: $error" {
            assert_error $error {r HOTKEYS START {*}$arguments}
            assert_equal {(nil)} [r HOTKEYS GET]
        }
    }

    foreach arguments {
        {METRICS 1 cpu}
        {metrics 2 Net cPu count 64 duration 1000000 sample 2147483647}
        {METRICS 1 CPU COUNT 64 COUNT 1 SAMPLE 2 SAMPLE 3}
        {METRICS 2 x NET}
    } {
        test "HOTKEYS START $arguments" {
            assert_equal OK [r HOTKEYS START {*}$arguments]
            assert_equal 1 [found tracking-active]
        }
    }

    test "HOTKEYS: other words and too many" {
        assert_error "ERR wrong number of arguments for 'hotkeys' command" {r HOTKEYS}
        assert_error "ERR unknown subcommand 'x'. Try HOTKEYS HELP." {r HOTKEYS x}
        foreach name {get stop reset help} {
            assert_error "ERR wrong number of arguments for 'hotkeys|$name' command" {r HOTKEYS $name x}
        }
        assert_match "HOTKEYS <subcommand>*" [lindex [r HOTKEYS HELP] 0]
    }

    # ---- A session ----------------------------------------------------------------------------------------------

    test "HOTKEYS: no session, an active one, one that is stopped" {
        foreach name {GET STOP} {
            assert_equal {(nil)} [r HOTKEYS $name]
        }
        assert_equal OK [r HOTKEYS RESET]
        assert_equal OK [r HOTKEYS START METRICS 1 NET]
        assert_error "ERR hotkey tracking session already in progress" {r HOTKEYS START}
        assert_error "ERR hotkey tracking session in progress, stop tracking first" {r HOTKEYS RESET}
        r SET a 1
        assert_equal OK [r HOTKEYS STOP]
        assert_equal {(nil)} [r HOTKEYS STOP]
        r SET b 1
        assert_equal {a 32} [found by-net-bytes]
        assert_equal 0 [found tracking-active]
        assert_error "ERR COUNT must be*" {r HOTKEYS START METRICS 1 CPU COUNT 0}
        assert_equal {a 32} [found by-net-bytes] ;# an error changes nothing
        assert_equal OK [r HOTKEYS START METRICS 1 NET]
        assert_equal {} [found by-net-bytes]
        r HOTKEYS STOP
        assert_equal OK [r HOTKEYS RESET]
        assert_equal {(nil)} [r HOTKEYS GET]
    }

    test "HOTKEYS START DURATION ends by itself" {
        r HOTKEYS START METRICS 1 NET DURATION 1
        r SET a 1
        assert_equal 1 [found tracking-active]
        wait_for_condition 10 {[found tracking-active] == 0}
        assert {[found collection-duration-ms] >= 1000}
        r SET b 1
        assert_equal {a 32} [found by-net-bytes]
        assert_equal {(nil)} [r HOTKEYS STOP]
    }

    # ---- The reply of GET ---------------------------------------------------------------------------------------

    test "HOTKEYS GET: its fields in their order, both protocols" {
        set common {
            tracking-active sample-ratio selected-slots all-commands-all-slots-us net-bytes-all-commands-all-slots
            collection-start-time-unix-ms collection-duration-ms
        }
        foreach protocol {2 3} {
            foreach {metrics own} {
                {2 NET CPU} {total-cpu-time-user-ms total-cpu-time-sys-ms total-net-bytes by-cpu-time-us by-net-bytes}
                {1 CPU} {total-cpu-time-user-ms total-cpu-time-sys-ms by-cpu-time-us}
                {1 NET} {total-net-bytes by-net-bytes}
            } {
                r HELLO $protocol
                r HOTKEYS START METRICS {*}$metrics SAMPLE 7
                set reply [r HOTKEYS GET]
                assert_equal 1 [llength $reply]
                assert_equal [list {*}$common {*}$own] [dict keys [lindex $reply 0]]
                assert_equal {7 {{0 16383}}} [list [found sample-ratio] [found selected-slots]]
                r HOTKEYS STOP
            }
        }
    }

    test "HOTKEYS GET: bytes of requests and replies, most first, as many as COUNT says" {
        r HOTKEYS START METRICS 1 NET COUNT 3
        set want {}
        foreach {key size} {small 1 large 40000 medium 500 tiny 0} {
            set value [string repeat x $size]
            r SET $key $value
            assert_equal $value [r GET $key]
            set bytes [expr {[bytes_of SET $key $value] + 5 + [bytes_of GET $key] + [string length "\$$size\r\n$value\r\n"]}]
            dict set want $key $bytes
        }
        set total [tcl::mathop::+ {*}[dict values $want]]
        assert_equal [concat large [dict get $want large] medium [dict get $want medium] small [dict get $want small]] \
            [found by-net-bytes]
        assert_equal [list $total $total] [list [found total-net-bytes] [found net-bytes-all-commands-all-slots]]
    }

    test "HOTKEYS GET: a command's keys share what it costs; without keys it does not count" {
        r HOTKEYS START METRICS 1 NET
        r MSET a 1 b 2 cc 3 ;# 57 and 5 bytes
        r EXISTS a a a ;# 37 and 4
        r PING
        r DBSIZE
        catch {r GET}
        catch {r NOSUCH a}
        assert_equal {a 59 b 20 cc 20} [found by-net-bytes]
        assert_equal {99 103} [list [found total-net-bytes] [found net-bytes-all-commands-all-slots]]
    }

    test "HOTKEYS GET: keys of any bytes, those of errors, those that are not there" {
        r HOTKEYS START METRICS 1 NET
        r SET "" x
        r GET "a\0b\r\n"
        catch {r LPUSH "" x}
        assert_equal [list "" [expr {31 + [bytes_of LPUSH "" x] + 68}] "a\0b\r\n" [expr {[bytes_of GET "a\0b\r\n"] + 5}]] \
            [found by-net-bytes]
    }

    test "HOTKEYS GET: time" {
        r HOTKEYS START METRICS 2 CPU NET
        r EVAL {for i = 1, 1000000 do end} 1 slow
        r SET fast x
        lassign [found by-cpu-time-us] key us
        assert_equal slow $key
        assert_between 100 [found all-commands-all-slots-us] $us
        assert_equal {slow fast} [dict keys [found by-net-bytes]]
    }

    test "HOTKEYS: a program counts for the keys it is given, a transaction for those of its commands" {
        r HOTKEYS START METRICS 1 NET
        r EVAL {redis.call('SET', 'inner', 'x'); return 1} 1 given
        assert_equal given [dict keys [found by-net-bytes]]
        foreach command {MULTI {SET in x} {GET in}} { ;# in separate blocks
            r {*}$command
        }
        r EXEC
        set client [default_client]
        $client pipeline {MULTI {SET one x} {HOTKEYS GET} EXEC} ;# and in one with EXEC, which may report it
        set last [lindex [$client replies 4] 3 1 0]
        r GET in
        assert_equal [expr {[bytes_of SET in x] + 5 + 2 * ([bytes_of GET in] + 7)}] [dict get [found by-net-bytes] in]
        assert_equal 34 [dict get $last by-net-bytes one]
        assert_equal [found total-net-bytes] [found net-bytes-all-commands-all-slots]
    }

    test "HOTKEYS GET behind commands of its pipeline tells of them" {
        r HOTKEYS START METRICS 1 NET
        set client [default_client]
        $client pipeline {{SET a 1} {SET b 22} {HOTKEYS GET} {SET c 333}}
        assert_equal {b 33 a 32} [dict get [lindex [$client replies 4] 2 0] by-net-bytes]
        assert_equal {c 34 b 33 a 32} [found by-net-bytes]
    }

    test "HOTKEYS: a command that has waited counts when it is served" {
        r HOTKEYS START METRICS 1 NET
        with_clients waiter {
            waits $waiter BLPOP q 0
            assert_equal {} [found by-net-bytes]
            r RPUSH q x
            assert_equal {q x} [$waiter read]
            assert_equal [list q [expr {[bytes_of BLPOP q 0] + 18 + [bytes_of RPUSH q x] + 4}]] [found by-net-bytes]
        }
    }

    test "HOTKEYS START SAMPLE: one command in so many is counted, and all are in the totals" {
        r HOTKEYS START METRICS 1 NET SAMPLE 10
        set client [default_client]
        $client pipeline [lrepeat 3000 {SET a 1}]
        $client replies 3000
        assert_equal 96000 [found net-bytes-all-commands-all-slots]
        set counted [found total-net-bytes]
        assert_equal [list a $counted] [found by-net-bytes]
        assert_between [expr {32 * 200}] [expr {32 * 400}] $counted
    }

    test "HOTKEYS takes memory while a session has counted something, and no longer" {
        r HOTKEYS START METRICS 2 CPU NET
        set before [info_field used_memory memory]
        r SET a 1
        assert {[info_field used_memory memory] - $before > 200000}
        r HOTKEYS STOP
        r HOTKEYS RESET
        wait_for_condition 10 {[info_field used_memory memory] - $before < 100000}
    }

    test "HOTKEYS is for administrators" {
        r ACL SETUSER visitor on nopass ~* +@all -@dangerous
        with_clients visitor {
            $visitor AUTH visitor x
            assert_error "NOPERM *'hotkeys|get' command" {$visitor HOTKEYS GET}
            assert_match "HOTKEYS *" [lindex [$visitor HOTKEYS HELP] 0]
        }
        r ACL DELUSER visitor
        assert_error "*not allowed from script*" {r EVAL {return redis.call('HOTKEYS', 'GET')} 0}
    }
}

# ---- Threads --------------------------------------------------------------------------------------------------

start_server {overrides {io-threads 4 io-threads-always-active yes} each {r FLUSHALL; no_session}} {
    need_command hotkeys

    proc load_by {clients count} {
        foreach c $clients {
            $c pipeline [lrepeat $count {SET hot xxxxxxxx} {GET hot} {GET cold}]
        }
        foreach c $clients {
            $c replies [expr {3 * $count}]
        }
    }

    set bytes_each [expr {[bytes_of SET hot xxxxxxxx] + 5 + [bytes_of GET hot] + 14}]

    test "HOTKEYS adds up what all threads have seen" {
        with_clients {a b c d e f} {
            r HOTKEYS START METRICS 2 CPU NET
            load_by [list $a $b $c $d $e $f] 200
            set hot [expr {6 * 200 * $bytes_each}]
            wait_for_condition 10 {[found total-net-bytes] == [found net-bytes-all-commands-all-slots]}
            assert_equal [list hot $hot cold [expr {6 * 200 * ([bytes_of GET cold] + 5)}]] [found by-net-bytes]
            # The longest time also depends on the machine: a thread may be delayed in any command.
            assert {"hot" in [found by-cpu-time-us]}
        }
    }

    # Returns the number of threads in the system.
    proc io_threads_running {} {
        set count 0
        foreach name [glob -nocomplain /proc/[srv pid]/task/*/comm] {
            incr count [string match "io_thd_*" [patience::proc_file $name]]
        }
        return $count
    }

    # Each change of io-threads moves connections and ends threads, which pass on their counts.
    test "HOTKEYS loses nothing while streams move and threads end" {
        with_clients {a b c d} {
            r HOTKEYS START METRICS 1 NET
            set rounds 0
            foreach threads {1 3 2 4 1 4} {
                r CONFIG SET io-threads $threads
                wait_for_condition 10 {[io_threads_running] == $threads - 1}
                foreach client [list $a $b $c $d] {
                    $client pipeline [lrepeat 50 {SET hot xxxxxxxx} {GET hot}]
                }
                foreach client [list $a $b $c $d] {
                    $client replies 100
                }
                incr rounds
            }
            wait_for_condition 10 {[found total-net-bytes] == [found net-bytes-all-commands-all-slots]}
            assert_equal [list hot [expr {$rounds * 4 * 50 * $bytes_each}]] [found by-net-bytes]
        }
    }

    test "HOTKEYS: sessions come and go under load" {
        with_clients {a b c} {
            for {set i 0} {$i < 20} {incr i} {
                foreach client [list $a $b $c] {
                    $client pipeline [lrepeat 50 {SET hot xxxxxxxx} {GET hot}]
                }
                r HOTKEYS START METRICS 2 CPU NET SAMPLE [expr {1 + $i % 3}]
                r HOTKEYS GET
                foreach client [list $a $b $c] {
                    $client replies 100
                }
                r HOTKEYS STOP
                if {$i % 2} {
                    r HOTKEYS RESET
                }
            }
            r HOTKEYS START METRICS 1 NET
            load_by [list $a $b $c] 10
            wait_for_condition 10 {[found total-net-bytes] == [found net-bytes-all-commands-all-slots]}
            assert_equal [expr {30 * $bytes_each}] [dict get [found by-net-bytes] hot]
        }
    }

    test "HOTKEYS RESET gives back the memory of all threads" {
        with_clients {a b c d e f} {
            load_by [list $a $b $c $d $e $f] 10 ;# so that most threads have their other buffers
            set before [info_field used_memory memory]
            r HOTKEYS START METRICS 2 CPU NET
            load_by [list $a $b $c $d $e $f] 10
            wait_for_condition 10 {[info_field used_memory memory] - $before > 240000} ;# a thread has two sketches
            r HOTKEYS STOP
            r HOTKEYS RESET
            wait_for_condition 10 {[info_field used_memory memory] - $before < 240000}
        }
    }
}
