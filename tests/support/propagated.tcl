# propagated.tcl -- shared by tests of propagation: runs a case (propagation_cases.tcl) and reads the result.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the commands in BYTES as a list of lists.
proc commands_of {bytes} {
    set commands {}
    set at 0
    while {$at < [string length $bytes]} {
        set words {}
        set end [string first "\r\n" $bytes $at]
        set left [string range $bytes $at+1 $end-1]
        for {set at [expr {$end + 2}]} {$left > 0} {incr left -1} {
            set end [string first "\r\n" $bytes $at]
            set length [string range $bytes $at+1 $end-1]
            lappend words [string range $bytes $end+2 [expr {$end + 1 + $length}]]
            set at [expr {$end + 4 + $length}]
        }
        lappend commands $words
    }
    return $commands
}

# Returns a word in the notation of the cases.
proc shown_word {word} {
    if {[regexp {^1\d{12}$} $word]} {return MS}
    if {[regexp {^1\d{12}-\d+$} $word]} {return ID}
    if {$word eq $::dump} {return "\$DUMP"}
    return [expr {$word eq "" ? "\"\"" : $word}]
}

proc run_line {line} {
    if {[string index $line 0] eq "@"} {
        set client [connect]
        lappend ::waiting $client
        waits $client {*}[string range $line 1 end]
    } elseif {[lindex $line 0] eq "SLEEP"} {
        after [lindex $line 1]
    } elseif {[lindex $line 0] eq "AWAIT"} {
        wait_for_condition 10 {[r {*}[lrange $line 2 end]] eq [lindex $line 1]}
    } elseif {[llength $line]} {
        catch {r {*}[lmap word $line {expr {$word eq "\$DUMP" ? $::dump : $word}}]}
    }
}

# Runs the setup commands of a case. Everything written afterwards belongs to the case.
proc begin_case {before} {
    set ::waiting {}
    foreach line [split $before |] {run_line $line}
    r SET begin 1
    r DEL begin
}

proc run_case {commands} {
    foreach line [split $commands |] {run_line $line}
    r SELECT 0
    foreach client $::waiting {catch {$client destroy}}
}

# Returns the commands in BYTES in the notation of the cases, without SELECT.
proc shown_commands {bytes} {
    set shown {}
    foreach words [commands_of $bytes] {
        if {[lindex $words 0] ne "SELECT"} {lappend shown [join [lmap word $words {shown_word $word}]]}
    }
    return [join $shown "; "]
}
