# fake_server.tcl -- a server with given replies, for programs that connect to servers which a test does not have.
#
# tclsh fake_server.tcl PORT LOG ?PATTERN REPLY ...?
#
# The words of each request, joined by blanks and in lower case, are appended to LOG as a line. The first PATTERN (a
# glob) that they match selects the reply; +OK if there is none. Instead of a reply, "close" closes the connection,
# "silent" sends nothing, "half TEXT" sends TEXT without a line end, "hex DIGITS" those bytes, "slow TEXT" TEXT after
# 300 ms, "twice TEXT" TEXT, and soon TEXT again, and "pieces FILE" the elements of the list in FILE, in hexadecimal,
# one by one, where "close" closes the connection. Ends when stdin is closed.
#
# SPDX-License-Identifier: BSD-3-Clause

set rules [lassign $argv port log_path]
set log [open $log_path a]
fconfigure $log -buffering line

proc accepted {channel address port} {
    fconfigure $channel -blocking 0 -translation binary -buffering none
    set ::input($channel) ""
    fileevent $channel readable [list readable $channel]
}

# Takes one request from the connection's input; returns an empty list if none is complete.
proc next_request {channel} {
    upvar #0 ::input($channel) input
    if {[regexp {^([^*][^\n]*)\n} $input line words]} {
        set input [string range $input [string length $line] end]
        return [split [string trimright $words "\r"]]
    }
    if {![regexp {^\*(\d+)\r\n} $input head count]} {return {}}
    set at [string length $head]
    set words {}
    for {set i 0} {$i < $count} {incr i} {
        if {![regexp -start $at {\A\$(\d+)\r\n} $input head length]} {return {}}
        incr at [string length $head]
        if {[string length $input] < $at + $length + 2} {return {}}
        lappend words [string range $input $at [expr {$at + $length - 1}]]
        incr at [expr {$length + 2}]
    }
    set input [string range $input $at end]
    return $words
}

# Returns false if the connection was closed.
proc send_pieces {channel path} {
    set file [open $path]
    set pieces [read $file]
    close $file
    foreach piece $pieces {
        if {$piece eq "close"} {
            close $channel
            return 0
        }
        puts -nonewline $channel [binary decode hex $piece]
        after 1
    }
    return 1
}

proc readable {channel} {
    append ::input($channel) [read $channel]
    if {[eof $channel]} {
        close $channel
        return
    }
    while {[llength [set words [next_request $channel]]]} {
        set request [string tolower [join $words " "]]
        puts $::log $request
        set reply "+OK"
        foreach {pattern answer} $::rules {
            if {[string match $pattern $request]} {
                set reply $answer
                break
            }
        }
        if {$reply eq "close"} {
            close $channel
            return
        }
        if {[string match "pieces *" $reply]} {
            if {![send_pieces $channel [string range $reply 7 end]]} return
        } elseif {[string match "half *" $reply]} {
            puts -nonewline $channel [string range $reply 5 end]
        } elseif {[string match "hex *" $reply]} {
            puts -nonewline $channel [binary format H* [string range $reply 4 end]]
        } elseif {[string match "slow *" $reply]} {
            after 300
            puts -nonewline $channel "[string range $reply 5 end]\r\n"
        } elseif {[string match "twice *" $reply]} {
            puts -nonewline $channel "[string range $reply 6 end]\r\n"
            after 50 [list catch [list puts -nonewline $channel "[string range $reply 6 end]\r\n"]]
        } elseif {$reply ne "silent"} {
            puts -nonewline $channel "$reply\r\n"
        }
    }
}

fconfigure stdin -blocking 0
fileevent stdin readable {if {[read stdin] eq "" && [eof stdin]} exit}
socket -server accepted -myaddr 127.0.0.1 $port
vwait forever
