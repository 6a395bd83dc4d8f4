# patience.tcl -- time limits that a busy machine does not break.
#
# A limit ends a wait for an event that will never come. On a machine with a high load, a correct server may take many
# times longer than otherwise, which must not count as a failure. So the time for which the processes were runnable but
# not run, which the kernel counts for each thread in /proc/PID/task/*/schedstat, does not count, nor does time stolen
# from a virtual machine. A limit ends in any case when `factor` times its length has passed. If the kernel does not
# count that time, all time counts.
#
#   set limit [patience::start 10 $pid ...]     ten seconds of this process and those
#   patience::over $limit                       returns 1 if they have passed
#
# Invariants  1. over returns 0 while less than the limit has passed by the clock, 1 once factor times the limit has.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval patience {
    variable factor 20

    # Returns the contents of a file of /proc, "" if its process has ended, which may happen between open and read, too.
    proc proc_file {path} {
        set text ""
        if {![catch {open $path} file]} {
            catch {set text [read $file]}
            close $file
        }
        return $text
    }

    # Returns the milliseconds for which PID was runnable but not run: for each thread, as a flat list TID MS ...
    proc waits {pid} {
        set all {}
        if {[catch {glob -nocomplain /proc/$pid/task/*/schedstat} paths]} {
            set paths {} ;# it has ended meanwhile
        }
        foreach path $paths {
            if {[regexp {^\d+ (\d+) } [proc_file $path] whole ns]} {
                lappend all [file tail [file dirname $path]] [expr {$ns / 1000000}]
            }
        }
        return $all
    }

    # Returns the milliseconds that the host took from this virtual machine, by processor.
    proc stolen {} {
        set ticks 0
        set processors 1
        catch {
            set file [open /proc/stat]
            catch {set text [read $file]}
            close $file
            set ticks [lindex $text 8]
            set processors [expr {max(1, [regexp -all -line {^cpu\d} $text])}]
        }
        return [expr {10 * $ticks / $processors}]
    }

    proc snapshot {pids} {
        set now [dict create]
        foreach pid $pids {
            dict set now $pid [waits $pid]
        }
        return $now
    }

    # Returns the milliseconds since LIMIT began that do not count. The processes wait for each other, so their times
    # add up; the threads of one process run in parallel, so the longest time of a thread counts.
    proc starved {limit} {
        set sum [expr {[stolen] - [dict get $limit stolen]}]
        dict for {pid before} [dict get $limit waits] {
            set longest 0
            foreach {tid ms} [waits $pid] {
                set longest [expr {max($longest, $ms - ([dict exists $before $tid] ? [dict get $before $tid] : 0))}]
            }
            incr sum $longest
        }
        return $sum
    }

    # Begins a limit of SECONDS for this process and PIDS.
    proc start {seconds args} {
        return [dict create begin [clock milliseconds] length [expr {int($seconds * 1000)}] stolen [stolen] \
            waits [snapshot [linsert $args 0 [pid]]]]
    }

    proc over {limit} {
        variable factor
        set passed [expr {[clock milliseconds] - [dict get $limit begin]}]
        set length [dict get $limit length]
        if {$passed <= $length} {
            return 0
        }
        return [expr {$passed > $factor * $length || $passed - [starved $limit] > $length}]
    }
}
