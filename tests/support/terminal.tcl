# terminal.tcl -- runs a program at a pseudo-terminal, and keeps the contents of its screen.
#
# script(1), which every Debian has, creates the terminal. Its output is drawn here on rows that never scroll:
# characters, breaks at the last column like xterm's, the few cursor movements that line editors use, and which
# characters are grey. A test types, and waits until the screen has the expected contents.
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval terminal {
    variable channel "" columns 80 rows row col grey pending
}

# Starts COMMAND (a shell command line) at a terminal of WIDTH columns.
proc terminal::start {command {width 80}} {
    variable channel
    variable columns $width
    variable pending ""
    variable grey 0
    wipe
    set line "stty cols $width rows 24; exec $command"
    set channel [open [list |script -qfec $line /dev/null 2>@1] r+]
    fconfigure $channel -blocking 0 -buffering none -translation binary
}

proc terminal::stop {} {
    variable channel
    if {$channel eq ""} return
    catch {foreach pid [pid $channel] {exec kill $pid}}
    catch {close $channel}
    set channel ""
}

proc terminal::wipe {} {
    variable rows {}
    variable row 0
    variable col 0
}

# Types text, with names of keys between < and >.
proc terminal::type {text} {
    variable channel
    set map [list <enter> \r <tab> \t <escape> \x1b <back> \x7f \
        <left> "\x1b\[D" <right> "\x1b\[C" <up> "\x1b\[A" <down> "\x1b\[B" <home> "\x1b\[H" <end> "\x1b\[F" \
        <delete> "\x1b\[3~" <word-left> "\x1b\[1;5D" <paste> "\x1b\[200~" </paste> "\x1b\[201~" \
        <ctrl-a> \x01 <ctrl-c> \x03 <ctrl-d> \x04 <ctrl-e> \x05 <ctrl-k> \x0b <ctrl-l> \x0c \
        <ctrl-r> \x12 <ctrl-u> \x15 <ctrl-w> \x17 <ctrl-y> \x19 <ctrl-z> \x1a]
    puts -nonewline $channel [encoding convertto utf-8 [string map $map $text]]
}

proc terminal::put_char {char} {
    variable rows
    variable row
    variable col
    variable columns
    variable grey
    scan $char %c code
    set width [expr {$code >= 0x2e80 && $code <= 0xffdc ? 2 : 1}]
    if {$col + $width > $columns} {
        incr row
        set col 0
    }
    while {[llength $rows] <= $row} {lappend rows {}}
    set line [lindex $rows $row]
    while {[llength $line] < $col} {lappend line " "}
    set cell [expr {$grey ? "\u0001$char" : $char}]
    set line [lreplace $line $col [expr {$col + $width - 1}] $cell {*}[lrepeat [expr {$width - 1}] ""]]
    lset rows $row $line
    incr col $width
}

proc terminal::clear_below {} {
    variable rows
    variable row
    variable col
    if {$row >= [llength $rows]} return
    set line [lrange [lindex $rows $row] 0 [expr {$col - 1}]]
    set rows [concat [lrange $rows 0 [expr {$row - 1}]] [list $line]]
}

proc terminal::control {number final} {
    variable row
    variable col
    variable columns
    variable grey
    set n [expr {[string is integer -strict $number] ? $number : 1}]
    if {$final in {A B C D} && $col == $columns} {incr col -1}
    switch -- $final {
        A {set row [expr {max(0, $row - $n)}]}
        B {incr row $n}
        C {set col [expr {min($columns - 1, $col + $n)}]}
        D {set col [expr {max(0, $col - $n)}]}
        H {wipe}
        J {clear_below}
        m {set grey [expr {$number in {90 2}}]}
    }
}

# Reads the program's output and draws it.
proc terminal::draw {} {
    variable channel
    variable pending
    variable row
    variable col
    set bytes [read $channel]
    append pending $bytes
    # A character or sequence that is cut off waits for its rest.
    set whole [string length $pending]
    regexp -indices {(\x1b(\[[0-9;?]*)?|[\xc0-\xff][\x80-\xbf]*)$} $pending cut
    if {[info exists cut]} {
        set tail [string range $pending {*}$cut]
        set first [scan [string index $tail 0] %c]
        set need [expr {$first == 27 ? 99 : $first >= 0xf0 ? 4 : $first >= 0xe0 ? 3 : 2}]
        if {[string length $tail] < $need} {set whole [lindex $cut 0]}
    }
    set text [encoding convertfrom utf-8 [string range $pending 0 [expr {$whole - 1}]]]
    set pending [string range $pending $whole end]
    while {$text ne ""} {
        if {[regexp {^\x1b\[\??([0-9]*)[0-9;]*([@-~])} $text all number final]} {
            control $number $final
            set text [string range $text [string length $all] end]
            continue
        }
        set char [string index $text 0]
        set text [string range $text 1 end]
        switch -- $char {
            \r {set col 0}
            \n {incr row}
            \a {}
            \b {set col [expr {max(0, $col - 1)}]}
            default {put_char $char}
        }
    }
}

# Returns the rows as text, without grey characters, or with only these.
proc terminal::screen {{which black}} {
    variable rows
    set lines {}
    foreach line $rows {
        set text ""
        foreach cell $line {
            set is_grey [expr {[string index $cell 0] eq "\u0001"}]
            if {$is_grey == ($which eq "grey")} {append text [string trimleft $cell \u0001]}
        }
        lappend lines [string trimright $text]
    }
    set text [string trimright [join $lines \n] \n]
    return [expr {$which eq "grey" ? [string trimleft $text \n] : $text}]
}

# Waits until the screen (or its grey part) matches PATTERN. A failure shows the contents.
proc terminal::shows {pattern {which black}} {
    set end [expr {[clock milliseconds] + 30000 * $srv::slow}]
    while {1} {
        draw
        if {[string match $pattern [screen $which]]} return
        if {[clock milliseconds] > $end} {break}
        after 10
    }
    fail "the screen does not show '$pattern':\n[screen black]\n--- grey:\n[screen grey]"
}
