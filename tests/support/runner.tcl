# runner.tcl -- runs test files, several at a time, each in a process of its own.
#
# Usage: tclsh runner.tcl --server PATH [--clients N] [--only PATTERN] [--timeout SECONDS] [--slow FACTOR]
#                         [--base-port N] [--tmp DIR] [--quiet] [--result FILE] FILE... [-- SERVER-ARGUMENT...]
#
# The output of a file is shown when the file has ended: failures and skips always, the rest with --verbose. If no test
# of a file ends for --timeout seconds (of its own processes, patience.tcl), the file is ended with everything it
# started and counts as failed; its files stay in DIR. DIR/failed lists the failures, for a summary of several runs.
#
# Owns        the processes it starts. Each leads a session of its own, whose number is in DIR/groups, so that ./runtest
#             can end remaining processes when it is interrupted.
# Invariants  1. At most --clients files run at once, and each has a range of ports to itself.
#             2. Every file is counted exactly once, whether it ended, crashed or was ended.
#
# SPDX-License-Identifier: BSD-3-Clause

array set options {
    --server "" --clients 2 --only * --timeout 240 --slow 1 --base-port 22000 --tmp "" --result ""
}
set verbose 0
set files {}
set extra {}

proc usage_error {message} {
    puts stderr "runner.tcl: $message"
    exit 2
}

for {set i 0} {$i < [llength $argv]} {incr i} {
    set word [lindex $argv $i]
    if {$word eq "--"} {
        set extra [lrange $argv $i+1 end]
        break
    } elseif {$word eq "--verbose"} {
        set verbose 1
    } elseif {[info exists options($word)]} {
        set options($word) [lindex $argv [incr i]]
    } elseif {[string match --* $word]} {
        usage_error "unknown option '$word'"
    } elseif {![file exists $word]} {
        usage_error "no such test file '$word'"
    } else {
        lappend files $word
    }
}
if {![file executable $options(--server)]} {
    usage_error "no server binary at '$options(--server)'"
}

set support [file dirname [file normalize [info script]]]
source [file join $support patience.tcl]
set tests_dir [file dirname $support]
if {$options(--tmp) eq ""} {
    set options(--tmp) [file join $tests_dir tmp run-[pid]]
}
file mkdir $options(--tmp)

set total(passed) 0
set total(failed) 0
set total(skipped) 0
set waiting $files
set running 0
set finished 0
set free_slots {}
for {set slot 0} {$slot < $options(--clients)} {incr slot} {
    lappend free_slots $slot
}
set port_span [expr {min(100, 900 / $options(--clients))}]

# Returns the name of a file: its path below tests/.
proc name_of {file} {
    global tests_dir
    set path [file normalize $file]
    if {[string match $tests_dir/* $path]} {
        return [string range $path [string length $tests_dir]+1 end]
    }
    return $path
}

# An error in the runner ends it: without its handler and timer it would wait for a file without end.
proc bgerror {message} {
    puts stderr "runner.tcl: $::errorInfo"
    exit 2
}

proc start_next {} {
    global waiting running free_slots options support extra port_span state
    while {[llength $waiting] && [llength $free_slots]} {
        set waiting [lassign $waiting file]
        set free_slots [lassign $free_slots slot]
        set name [name_of $file]
        set root [file join $options(--tmp) [string map {/ - .tcl ""} $name]]
        set port [expr {$options(--base-port) + $slot * $port_span}]
        set channel [open |[list setsid [info nameofexecutable] $support/test_file.tcl [file normalize $file] \
            $options(--server) $root $port $port_span $options(--only) $options(--slow) {*}$extra 2>@1] r]
        fconfigure $channel -blocking 0 -translation binary
        set state($channel) [dict create name $name slot $slot root $root output "" started [clock milliseconds] \
            group [lindex [pid $channel] 0]]
        set groups [open $options(--tmp)/groups a]
        puts $groups [lindex [pid $channel] 0]
        close $groups
        be_patient $channel
        fileevent $channel readable [list more_output $channel]
        incr running
    }
}

# Returns the processes of the session that LEADER began: a test file's, with the servers it started.
proc session_pids {leader} {
    set pids {}
    foreach path [glob -nocomplain /proc/\[1-9\]*/stat] {
        set stat [patience::proc_file $path]
        if {[regexp {^(\d+) \(.*\) \S+ \d+ \d+ (\d+) } $stat whole pid session] && $session == $leader} {
            lappend pids $pid
        }
    }
    return $pids
}

# Begins the time limit of the next test of a file, or of the rest of the file.
proc be_patient {channel} {
    global state options
    set seconds [expr {$options(--timeout) * $options(--slow)}]
    dict set state($channel) limit [patience::start $seconds {*}[session_pids [dict get $state($channel) group]]]
    dict set state($channel) timer [after [expr {int(1000 * $seconds) + 100}] [list look_at_limit $channel]]
}

proc look_at_limit {channel} {
    global state
    if {[patience::over [dict get $state($channel) limit]]} {
        too_long $channel
    } else {
        dict set state($channel) timer [after 1000 [list look_at_limit $channel]]
    }
}

proc more_output {channel} {
    global state
    dict append state($channel) output [read $channel]
    if {[eof $channel]} {
        file_ended $channel
        return
    }
    # The sum is the last line of a file. Processes that it has left running would keep the channel open.
    if {[regexp {\[sum\] \d+ \d+ \d+\n$} [dict get $state($channel) output]]} {
        end_group [dict get $state($channel) group]
        return
    }
    after cancel [dict get $state($channel) timer]
    be_patient $channel
}

proc end_group {group} {
    catch {exec kill -KILL -- -$group 2>/dev/null}
}

proc too_long {channel} {
    global state options
    dict append state($channel) output \
        "\n\[fail\] no test ended for [expr {int($options(--timeout) * $options(--slow))}] seconds\n"
    end_group [dict get $state($channel) group]
    dict append state($channel) output [read $channel]
    file_ended $channel
}

# Records the failures of the file NAME with OUTPUT: the lines of each failed test, up to those of the next test.
proc note_failures {name output} {
    global options
    set notes [open $options(--tmp)/failed a]
    puts $notes "FAIL $name"
    set noted 0
    foreach line [split $output \n] {
        if {[regexp {^\[(ok|skip|fail)\] } $line all verdict]} {
            set noted [expr {$verdict eq "fail"}]
        }
        if {$noted && [string trim $line] ne ""} {
            puts $notes "       $line"
        }
    }
    close $notes
}

proc file_ended {channel} {
    global state total running free_slots verbose finished
    fileevent $channel readable {}
    after cancel [dict get $state($channel) timer]
    catch {fconfigure $channel -blocking 1; close $channel}
    set output [dict get $state($channel) output]
    set name [dict get $state($channel) name]
    set seconds [expr {([clock milliseconds] - [dict get $state($channel) started]) / 1000.0}]
    if {[regexp {\[sum\] (\d+) (\d+) (\d+)\n$} $output all passed failed skipped]} {
        set output [string range $output 0 end-[string length $all]]
    } else {
        set passed [regexp -all -line {^\[ok\] } $output]
        set skipped [regexp -all -line {^\[skip\] } $output]
        set failed [expr {max(1, [regexp -all -line {^\[fail\] } $output])}]
        append output "\n\[fail\] $name did not come to its end\n"
        end_group [dict get $state($channel) group]
    }
    puts [format "%-4s %-32s %3d passed, %d failed, %d skipped  (%.1f s)" \
        [expr {$failed ? "FAIL" : "ok"}] $name $passed $failed $skipped $seconds]
    foreach line [split $output \n] {
        if {$verbose || ![string match "\\\[ok\\] *" $line] && [string trim $line] ne ""} {
            puts "       $line"
        }
    }
    if {$failed} {
        puts "       (what it left: [dict get $state($channel) root])"
        note_failures $name $output
    }
    flush stdout
    incr total(passed) $passed
    incr total(failed) $failed
    incr total(skipped) $skipped
    lappend free_slots [dict get $state($channel) slot]
    unset state($channel)
    incr running -1
    incr finished
    start_next
}

start_next
while {$running > 0} {
    vwait finished
}
if {$options(--result) ne ""} {
    set result [open $options(--result) w]
    puts $result "$total(passed) $total(failed) $total(skipped)"
    close $result
} else {
    puts "$total(passed) passed, $total(failed) failed, $total(skipped) skipped"
}
if {$total(failed) == 0} {
    catch {file delete -force $options(--tmp)}
}
exit [expr {$total(failed) > 0}]
