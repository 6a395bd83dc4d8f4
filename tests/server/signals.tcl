# signals.tcl -- the effects of signals on a running server, and the watchdog.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the stack reports in the log, each a list of lines from its reason to its end.
proc stack_reports {} {
    set reports {}
    set report {}
    foreach line [split [srv log] \n] {
        if {[regexp { # (Received SIGALRM|--- WATCHDOG TIMER EXPIRED ---)$} $line all reason]} {
            set report [list $reason]
        } elseif {[llength $report]} {
            lappend report $line
            if {[string match "*STACK TRACE DONE*" $line]} {
                lappend reports $report
                set report {}
            }
        }
    }
    return $reports
}

proc child_pid {} {
    regexp {\d+} [exec ps --ppid [srv pid] -o pid=] pid
    return $pid
}

# Runs BODY until the log has another report, and returns it.
proc next_report {body} {
    set before [llength [stack_reports]]
    wait_for_condition 30 {[uplevel 1 $body; llength [stack_reports]] > $before}
    lindex [stack_reports] end
}

# Returns {name blocked-signals} of each thread of the server but its first.
proc thread_masks {} {
    set masks {}
    foreach task [glob -nocomplain -directory /proc/[srv pid]/task *] {
        if {[file tail $task] eq [srv pid] || [catch {read_file $task/status} text]} {
            continue
        }
        regexp -line {^Name:\s+(\S+)$} $text all name
        regexp -line {^SigBlk:\s+(\S+)$} $text all mask
        lappend masks [list $name [expr {"0x$mask"}]]
    }
    return $masks
}

start_server {overrides {io-threads 3 appendonly yes}} {
    test "SIGALRM logs the stack of each thread, and the server goes on" {
        set report [next_report {exec kill -ALRM [srv pid]; after 50}]
        assert_match "Received SIGALRM" [lindex $report 0]
        set names {main bio_aof bio_lazy_free bio_close_file aof}
        for {set i 1} {$i < [lindex [r CONFIG GET io-threads] 1]} {incr i} {
            lappend names io_thd_$i
        }
        foreach name $names {
            assert_equal 1 [llength [lsearch -all -regexp $report "# \\d+ $name\\M(?!.*has not)"]]
        }
        assert_regexp {# (\d+)/\1 expected stacktraces} [join $report \n]
        assert_no_match "*BUG REPORT*" [srv log]
        assert_equal PONG [r PING]
    }

    test "SIGHUP, SIGUSR2 and SIGPIPE do nothing" {
        foreach signal {HUP USR2 PIPE} {
            exec kill -$signal [srv pid]
            assert_equal PONG [r PING]
        }
    }

    test "Signals of the process are for its first thread: all others block them" {
        if {![file readable /proc/self/task]} {skip "threads are seen in /proc"}
        # A silent primary keeps the thread of the link running.
        set silent [socket -server [list apply {{args} {}}] -myaddr 127.0.0.1 0]
        r REPLICAOF 127.0.0.1 [lindex [fconfigure $silent -sockname] 2]
        wait_for_condition 10 {"repl_link" in [lmap t [thread_masks] {lindex $t 0}]}
        foreach thread [thread_masks] {
            lassign $thread name mask
            foreach {signal bit} {HUP 0x1 INT 0x2 USR1 0x200 USR2 0x800 ALRM 0x2000 TERM 0x4000} {
                # The watchdog thread waits for this signal.
                if {"$name $signal" ne "watchdog ALRM" && !($mask & $bit)} {fail "thread $name does not block $signal"}
            }
        }
        r REPLICAOF NO ONE
        close $silent
    }

    test "SIGALRM does not end a child process" {
        r CONFIG SET rdb-key-save-delay 10000000
        r SET k v

        r BGSAVE
        set child [child_pid]
        exec kill -ALRM $child
        r CONFIG SET rdb-key-save-delay 0
        assert_equal $child [child_pid]
        exec kill -USR1 $child
        wait_for_condition 10 {[info_field rdb_bgsave_in_progress persistence] == 0}
    }
}

start_server {} {
    test "CONFIG SET watchdog-period: at least two ticks, seen by its name only" {
        assert_equal {watchdog-period 0} [r CONFIG GET watchdog-period]
        r CONFIG SET watchdog-period 1
        assert_equal {watchdog-period 200} [r CONFIG GET watchdog-period]
        assert_equal {} [r CONFIG GET watchdog*]
        assert_error "*argument must be between 0 and 2147483647 inclusive" {r CONFIG SET watchdog-period -1}
        r CONFIG SET watchdog-period 0
    }

    test "A command that holds main up for watchdog-period is seen in the log, once" {
        # A busy machine may stop main for some hundred milliseconds: such a report would count here.
        r CONFIG SET watchdog-period 1000
        set slept 0
        set report [next_report {r DEBUG SLEEP 1.3; incr slept}]
        assert_equal "--- WATCHDOG TIMER EXPIRED ---" [lindex $report 0]
        assert_match "*main \\* (has the main role)*" $report
        assert {[llength [stack_reports]] <= $slept}
        r CONFIG SET watchdog-period 0
        set before [llength [stack_reports]]
        r DEBUG SLEEP 0.3
        assert_equal $before [llength [stack_reports]]
    }
}

start_server {overrides {watchdog-period 100}} {
    test "watchdog-period of the configuration counts as well" {
        assert_equal {watchdog-period 200} [r CONFIG GET watchdog-period]
        next_report {r DEBUG SLEEP 0.3}
    }
}
