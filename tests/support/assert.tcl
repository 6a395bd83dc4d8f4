# assert.tcl -- the commands that tests are written with: test, skip, and the assertions.
#
# A failed assertion is a Tcl error, so it ends only its own test. Each test prints one line that the runner counts;
# nothing else on the standard output starts with "[".
#
# SPDX-License-Identifier: BSD-3-Clause

namespace eval testing {
    variable only *
    variable passed 0
    variable failed 0
    variable skipped 0
    variable before_each {}
    variable any_encoding 0
    variable bad_names {}
}

# Runs BODY in the caller's scope as the test NAME, after the script that the enclosing start_server requested with
# `each`. After a failure the default connection is replaced, so that unread replies do not affect the next test.
proc test {name body} {
    if {![string match -nocase $testing::only $name]} {
        return
    }
    set started [clock milliseconds]
    set code [catch {
        persist_mode::before_test
        eval_at_global $testing::before_each
        uplevel 1 $body
        persist_mode::after_test
    } message options]
    set took [expr {[clock milliseconds] - $started}]
    if {$code == 1 && [lindex [dict get $options -errorcode] 0] eq "SKIP"} {
        incr testing::skipped
        puts "\[skip\] $name: $message"
    } elseif {$code == 1} {
        incr testing::failed
        puts "\[fail\] $name"
        puts "       $message"
        if {[lindex [dict get $options -errorcode] 0] ne "ASSERT"} {
            puts "       [string map {\n "\n       "} [dict get $options -errorinfo]]"
        }
        forget_default_client
    } else {
        incr testing::passed
        puts "\[ok\] $name (${took} ms)"
    }
    flush stdout
}

proc eval_at_global {script} {
    uplevel #0 $script
}

# Skips the running test, which depends on the encodings of values, for a server whose encodings are pinned.
proc needs_free_encodings {} {
    if {$testing::any_encoding} {
        skip "settings are pinned"
    }
}

# Skips the running test if a program cannot be run at a terminal.
proc needs_terminal {} {
    if {[auto_execok script] eq ""} {
        skip "no script(1)"
    }
    if {[catch {exec script -qec true /dev/null </dev/null}]} {
        skip "no pseudo-terminal can be opened here (/dev/pts)"
    }
}

# Ends the running test without a verdict; WHY is what is missing.
proc skip {why} {
    return -code error -errorcode SKIP $why
}

proc fail {message} {
    return -code error -errorcode ASSERT $message
}

proc shorten {text} {
    set text [string map {\r \\r \n \\n} $text]
    if {[string length $text] > 600} {
        return "[string range $text 0 599]... ([string length $text] characters)"
    }
    return $text
}

proc assert {condition} {
    if {![uplevel 1 [list expr $condition]]} {
        fail "does not hold: $condition"
    }
}

# With pinned encodings (./runtest --pin) only encodings may differ from EXPECTED.
proc same_but_encodings {expected actual} {
    if {!$testing::any_encoding || [catch {llength $expected} count] || [catch {llength $actual} actual_count]
        || $count != $actual_count} {
        return 0
    }
    set names {intset listpack hashtable quicklist skiplist sparse dense}
    foreach one $expected other $actual {
        if {$one ne $other && !($one in $names && $other in $names)} {
            return 0
        }
    }
    return 1
}

proc assert_equal {expected actual} {
    if {$expected ne $actual && ![same_but_encodings $expected $actual]} {
        fail "expected '[shorten $expected]', got '[shorten $actual]'"
    }
}

proc assert_not_equal {unwanted actual} {
    if {$unwanted eq $actual} {
        fail "got '[shorten $actual]', which must not be"
    }
}

# PATTERN is a glob.
proc assert_match {pattern actual} {
    if {![string match $pattern $actual]} {
        fail "expected something like '[shorten $pattern]', got '[shorten $actual]'"
    }
}

proc assert_no_match {pattern actual} {
    if {[string match $pattern $actual]} {
        fail "got '[shorten $actual]', which must not look like '[shorten $pattern]'"
    }
}

proc assert_regexp {pattern actual} {
    if {![regexp -- $pattern $actual]} {
        fail "expected something like /[shorten $pattern]/, got '[shorten $actual]'"
    }
}

# LOW <= ACTUAL <= HIGH
proc assert_between {low high actual} {
    if {![string is double -strict $actual] || $actual < $low || $actual > $high} {
        fail "expected a number from $low to $high, got '[shorten $actual]'"
    }
}

# BODY must end in an error reply that matches PATTERN (a glob; brackets in it are literal).
proc assert_error {pattern body} {
    set pattern [string map {\[ \\\[ \] \\\]} $pattern]
    if {![catch {uplevel 1 $body} message options]} {
        fail "expected the error '$pattern', got the reply '[shorten $message]'"
    }
    if {![string match $pattern $message]} {
        fail "expected the error '$pattern', got the error '[shorten $message]'"
    }
}

# Both lists must have the same elements, in any order.
proc assert_same_set {expected actual} {
    assert_equal [lsort $expected] [lsort $actual]
}

# Waits until CONDITION (an expr) holds, checking it every 20 ms; fails after SECONDS of this process and the servers.
# It does not hold as long as a server that it asks is loading a dataset.
proc wait_for_condition {seconds condition} {
    set limit [patience::start [expr {$seconds * $srv::slow}] {*}[server_pids]]
    while {[catch {uplevel 1 [list expr $condition]} holds options] || !$holds} {
        if {[dict get $options -code] && ![string match "LOADING *" $holds]} {
            return -options $options $holds
        }
        if {[patience::over $limit]} {
            fail "not within $seconds seconds: $condition"
        }
        after 20
    }
}

# Runs BODY, which compares times of the server with the clock of the test. If it fails and took longer than
# MILLISECONDS, only the machine was busy: it is run again.
proc unhurried {milliseconds body} {
    for {set round 0} {$round < 100} {incr round} {
        set started [clock milliseconds]
        if {![catch {uplevel 1 $body} message options]} {
            return
        }
        if {[clock milliseconds] - $started <= $milliseconds} {
            break
        }
        after [expr {20 * min($round, 25)}]
    }
    return -options $options $message
}

# Returns the milliseconds that BODY takes.
proc elapsed_ms {body} {
    set started [clock milliseconds]
    uplevel 1 $body
    return [expr {[clock milliseconds] - $started}]
}
