# patience.tcl -- time limits that a busy machine does not break.
#
# A limit is there to end a wait for something that will never come. On a machine whose processors are wanted by
# others, a server that is well may take many times longer than by itself; that must not read as a failure. So the
# time that the processes in question stood ready and were not run, which the kernel counts for each thread in
# /proc/PID/task/*/schedstat, is not counted; and what was stolen from a virtual machine as a whole is not either.
# A limit ends for good when `factor` times its length has passed. Where the kernel does not count, time is time.
#
#   set limit [patience::start 10 $pid ...]     ten seconds of this process and those
#   patience::over $limit                       have they passed?
#
# Invariants  1. over answers 0 while less than the limit has passed by the clock, 1 when factor times it has.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval patience {
    variable factor 20

    # What a file of /proc says, "" if its process is gone: it may go between the open and the read, too.
    proc proc_file {path} {
        set text ""
        if {![catch {open $path} file]} {
            catch {set text [read $file]}
            close $file
        }
        return $text
    }

    # Milliseconds that PID has stood ready without being run: each of its threads' as a flat list TID MS ...
    proc waits {pid} {
        set all {}
        if {[catch {glob -nocomplain /proc/$pid/task/*/schedstat} paths]} {
            set paths {} ;# it has gone while it was looked at
        }
        foreach path $paths {
            if {[regexp {^\d+ (\d+) } [proc_file $path] whole ns]} {
                lappend all [file tail [file dirname $path]] [expr {$ns / 1000000}]
            }
        }
        return $all
    }

    # Milliseconds that another tenant of the machine had of ours, by processor.
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

    # Milliseconds since LIMIT began that are not to be counted. The processes wait for each other, so theirs add up;
    # the threads of one run side by side, so the one that waited longest stands for it.
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

    # A limit of SECONDS that begins now, for this process and PIDS.
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
