# patience.tcl -- the time limits of the suite itself (tests/support/patience.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

# Runs BODY with MS as the time for which the processes of every limit have waited for a processor.
proc with_starvation {ms body} {
    rename patience::starved patience::starved_really
    proc patience::starved {limit} [list return $ms]
    set code [catch {uplevel 1 $body} message options]
    rename patience::starved ""
    rename patience::starved_really patience::starved
    if {$code == 1} {
        return -code error -errorcode [dict get $options -errorcode] $message
    }
}

# Returns a limit of 1 second that began so many milliseconds ago.
proc limit_since {ms} {
    set limit [patience::start 1]
    dict incr limit begin -$ms
    return $limit
}

test "A limit is over when its time has passed" {
    with_starvation 0 {
        assert_equal 0 [patience::over [limit_since 0]]
        assert_equal 1 [patience::over [limit_since 1010]]
    }
}

test "Time in which the processes stood ready is not counted" {
    with_starvation 4000 {
        assert_equal 0 [patience::over [limit_since 4000]]
        assert_equal 1 [patience::over [limit_since 5010]]
    }
}

test "There is an end for starved processes too" {
    with_starvation 1000000000 {
        assert_equal 0 [patience::over [limit_since 10000]]
        assert_equal 1 [patience::over [limit_since [expr {1000 * $patience::factor + 10}]]]
    }
}

# Two processes that are bound to one processor and never sleep: each waits while the other runs.
test "What a process waits for a processor is seen" {
    if {![file exists /proc/self/schedstat]} {
        skip "this kernel does not count it"
    }
    regexp {Cpus_allowed_list:\s*(\d+)} [read_file /proc/self/status] whole processor
    set loops {}
    for {set i 0} {$i < 2} {incr i} {
        lappend loops [exec taskset -c $processor sh -c {while :; do :; done} &]
    }
    set code [catch {
        set limit [patience::start 1 {*}$loops]
        wait_for_condition 60 {[patience::starved $limit] >= 500}
    } message options]
    foreach loop $loops {
        exec kill -KILL $loop
    }
    return -options $options $message
}

# open succeeds and read fails with ESRCH if a process ends while its threads are read.
test "A process that ends while it is looked at is one that has not waited" {
    set child [open "|cat" w+]
    set path /proc/[pid $child]/task/[pid $child]/schedstat
    rename open open_really
    proc open {args} {
        set file [open_really {*}$args]
        if {[string match /proc/*/schedstat [lindex $args 0]]} {
            catch {exec kill -KILL [pid $::child_that_ends]}
            catch {close $::child_that_ends}
        }
        return $file
    }
    set ::child_that_ends $child
    set code [catch {patience::proc_file $path} text]
    rename open ""
    rename open_really open
    assert_equal {0 {}} [list $code $text]
}

test "A wait for a condition ends in a failure that names it" {
    assert_error "not within 0.1 seconds: 1 == 2*" {wait_for_condition 0.1 {1 == 2}}
}

test "What compares clocks is run again only when it took long" {
    set rounds 0
    assert_error "no" {unhurried 60000 {incr rounds; fail no}}
    assert_equal 1 $rounds
    set rounds 0
    unhurried 10 {
        if {[incr rounds] < 3} {
            after 20
            fail no
        }
    }
    assert_equal 3 $rounds
}
