# observed.tcl -- how a script shows in MONITOR, the command logs, INFO and CLIENT LIST.
#
# SPDX-License-Identifier: BSD-3-Clause

set one e0e1f9fabfc9d4800c877a703b823ac0578ff8db

# Returns calls, rejected and failed calls of a command from INFO.
proc counts_of {command} {
    set line [info_field cmdstat_$command commandstats]
    if {$line eq ""} {return none}
    return [lmap name {calls rejected_calls failed_calls} {regexp "$name=(\\d+)" $line whole n; set n}]
}

# Returns the error counters of INFO: NAME COUNT ...
proc errors_counted {} {
    set all {}
    foreach {line name count} [regexp -all -inline -line {^errorstat_(\w+):count=(\d+)} [r INFO errorstats]] {
        lappend all $name $count
    }
    return $all
}

start_server {each {r FLUSHALL; r SET k v; r CONFIG RESETSTAT}} {

    # ---- MONITOR ------------------------------------------------------------------------------------------------

    # Returns the next COUNT lines of a monitor, without time, and with addresses as ADDR.
    proc monitored {watcher count} {
        set shown {}
        for {set i 0} {$i < $count} {incr i} {
            regexp {^[0-9.]+ (.*)$} [$watcher reply] whole line
            lappend shown [regsub {127.0.0.1:\d+} $line ADDR]
        }
        return $shown
    }

    test "MONITOR shows a script, and then what it calls" {
        with_clients watcher {
            $watcher MONITOR
            r EVAL {redis.call('set', KEYS[1], ARGV[1]) redis.call('get', 'x')} 1 k "a\nb"
            assert_equal [list {*}{
                {[0 ADDR] "EVAL" "redis.call('set', KEYS[1], ARGV[1]) redis.call('get', 'x')" "1" "k" "a\nb"}
                {[0 lua] "set" "k" "a\nb"} {[0 lua] "get" "x"}
            }] [monitored $watcher 3]
        }
    }

    test "MONITOR shows the database a script has selected" {
        with_clients watcher {
            $watcher MONITOR
            r EVAL {redis.call('select', 3) redis.call('get', 'x')} 0
            r GET x
            assert_match {*EVAL*} [monitored $watcher 1]
            monitored $watcher 1
            assert_equal {{[3 lua] "get" "x"} {[0 ADDR] "GET" "x"}} [monitored $watcher 2]
        }
    }

    test "MONITOR shows calls that fail as they run, not those that are refused" {
        with_clients watcher {
            $watcher MONITOR
            r EVAL {
                redis.pcall('nosuch') redis.pcall('get') redis.pcall('config', 'get', 'x')
                redis.pcall('lpush', 'k', 'x')
            } 0
            catch {r EVALSHA abc 0}
            catch {r EVAL "return +" 0}
            catch {r EVAL "return 1" x}
            r SCRIPT LOAD "return 1"
            monitored $watcher 1
            assert_equal [list {*}{
                {[0 lua] "lpush" "k" "x"} {[0 ADDR] "EVALSHA" "abc" "0"} {[0 ADDR] "EVAL" "return +" "0"}
                {[0 ADDR] "EVAL" "return 1" "x"} {[0 ADDR] "SCRIPT" "LOAD" "return 1"}
            }] [monitored $watcher 5]
        }
    }

    test "MONITOR and a script in a transaction" {
        with_clients watcher {
            $watcher MONITOR
            r MULTI
            r EVAL {return redis.call('incr', 'n')} 0
            r GET n
            r EXEC
            assert_equal [list {*}{
                {[0 ADDR] "MULTI"} {[0 ADDR] "EVAL" "return redis.call('incr', 'n')" "0"} {[0 lua] "incr" "n"}
                {[0 ADDR] "GET" "n"} {[0 ADDR] "EXEC"}
            }] [monitored $watcher 5]
        }
    }

    # ---- Logs ---------------------------------------------------------------------------------------------------

    test "The slow log has a script, and before it what it called" {
        with_config {slowlog-log-slower-than 0} {
            r SLOWLOG RESET
            r EVAL {redis.call('set', 'k', 'v') return redis.call('get', 'k')} 2 k l
            set logged [lmap entry [r SLOWLOG GET] {lindex $entry 3}]
        }
        assert_equal [list {EVAL {redis.call('set', 'k', 'v') return redis.call('get', 'k')} 2 k l} {get k} {set k v}] \
            [lrange $logged 0 2]
    }

    test "COMMANDLOG: a script's large request, and its large reply" {
        with_config {commandlog-request-larger-than 1000 commandlog-reply-larger-than 1000} {
            r COMMANDLOG RESET large-request
            r COMMANDLOG RESET large-reply
            r EVAL {return #ARGV[1]} 0 [string repeat x 2000]
            r EVAL {return string.rep('x', 2000)} 0
            set requests [lmap entry [r COMMANDLOG GET -1 large-request] {lindex $entry 3 0}]
            set replies [lmap entry [r COMMANDLOG GET -1 large-reply] {lindex $entry 3 0}]
        }
        assert_equal {EVAL EVAL} [list {*}$requests {*}$replies]
    }

    # ---- Counts -------------------------------------------------------------------------------------------------

    test "A script and what it calls are counted each" {
        r EVAL {redis.call('set', 'k', 'v') redis.call('get', 'k') return redis.call('get', 'k')} 0
        assert_equal {{1 0 0} {1 0 0} {2 0 0} {}} \
            [list [counts_of eval] [counts_of set] [counts_of get] [errors_counted]]
        r EVAL "return 1" 0
        r EVALSHA $one 0
        r EVAL_RO "return 1" 0
        r EVALSHA_RO $one 0
        assert_equal {{2 0 0} {1 0 0} {1 0 0} {1 0 0}} \
            [lmap name {eval evalsha eval_ro evalsha_ro} {counts_of $name}]
    }

    # Counters for each script: of EVAL, of the command it calls, and errors.
    foreach {script command counts called errors} {
        {return redis.call('lpush', 'k', 'x')} lpush {1 0 1} {1 0 1} {WRONGTYPE 1}
        {return redis.pcall('lpush', 'k', 'x')} lpush {1 0 1} {1 0 1} {WRONGTYPE 1}
        {redis.pcall('lpush', 'k', 'x') return 1} lpush {1 0 0} {1 0 1} {WRONGTYPE 1}
        {local ok, e = pcall(redis.call, 'lpush', 'k', 'x') return e} lpush {1 0 0} {1 0 1} {WRONGTYPE 1}
        {error(redis.pcall('lpush', 'k', 'x'))} lpush {1 0 1} {1 0 1} {WRONGTYPE 1}
        {return redis.call('get')} get {1 0 1} {0 1 0} {ERR 1}
        {return redis.call('config', 'get', 'x')} config|get {1 0 1} {0 1 0} {ERR 1}
        {return redis.call('config', 'nosuch', 'x')} config|nosuch {1 0 1} none {ERR 1}
        {return redis.call('nosuch')} nosuch {1 0 1} none {ERR 1}
        {redis.pcall('nosuch') return redis.pcall('nosuch')} nosuch {1 0 1} none {ERR 2}
        {return redis.error_reply('MY x')} nosuch {1 0 1} none {MY 1}
        {return {err = 'MY x'}} nosuch {1 0 1} none {MY 1}
        {return {err = 'MY x', ignore_error_stats_update = true}} nosuch {1 0 1} none {}
        {return {1, {err = 'MY x'}}} nosuch {1 0 1} none {MY 1}
        {error('x')} nosuch {1 0 1} none {ERR 1}
        {error({err = 'MY x'})} nosuch {1 0 1} none {MY 1}
        {return +} nosuch {1 0 1} none {ERR 1}
    } {
        test "Counts after $script" {
            catch {r EVAL $script 0}
            assert_equal [list $counts $called $errors] [list [counts_of eval] [counts_of $command] [errors_counted]]
            set sum 0
            foreach {name n} $errors {incr sum $n}
            assert_equal $sum [info_field total_error_replies stats]
        }
    }

    test "Counts of EVALSHA without a script, and of what may not be run" {
        catch {r EVALSHA abc 0}
        assert_equal {{1 0 1} {NOSCRIPT 1}} [list [counts_of evalsha] [errors_counted]]
        r CONFIG RESETSTAT
        catch {r EVAL_RO {return redis.call('set', 'k', 1)} 0}
        assert_equal {{1 0 1} {0 1 0} {ERR 1}} [list [counts_of eval_ro] [counts_of set] [errors_counted]]
        r CONFIG RESETSTAT
        catch {r EVAL "return 1"}
        assert_equal {{0 1 0} {ERR 1}} [list [counts_of eval] [errors_counted]]
    }

    test "Hits and misses inside a script count" {
        r EVAL {redis.call('get', 'k') redis.call('get', 'none') redis.call('exists', 'none')} 0
        assert_equal {1 2} [list [info_field keyspace_hits stats] [info_field keyspace_misses stats]]
    }

    test "Commands processed: a script is one, what it calls are others" {
        set before [info_field total_commands_processed stats]
        r EVAL {for i = 1, 10 do redis.call('incr', 'n') end} 0
        assert_between 12 12 [expr {[info_field total_commands_processed stats] - $before}]
    }

    # ---- Clients ------------------------------------------------------------------------------------------------

    test "A script is its caller's one command, and no client is made for it" {
        with_clients c {
            set before [info_field connected_clients clients]
            $c EVAL {redis.call('get', 'k') return redis.call('get', 'k')} 0
            set line [r CLIENT LIST ID [$c CLIENT ID]]
            assert_equal {client|id} [client_field $line cmd]
            $c EVAL {redis.call('get', 'k')} 0
            set id [lindex [regexp -inline {id=(\d+)} $line] 1]
            assert_equal eval [client_field [r CLIENT LIST ID $id] cmd]
            assert_equal $before [info_field connected_clients clients]
        }
    }

    test "LATENCY HISTOGRAM has the script and its calls" {
        r EVAL {return redis.call('get', 'k')} 0
        assert_same_set {eval get} [dict keys [r LATENCY HISTOGRAM eval get]]
    }
}
