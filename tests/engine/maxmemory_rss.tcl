# maxmemory_rss.tcl -- resident memory: what is given back after values have shrunk, and maxmemory-rss-percent.
#
# SPDX-License-Identifier: BSD-3-Clause

proc memory {name} {
    return [info_field $name memory]
}

# Stores 40,000 values of 2000 bytes, and makes each, or every second one, half as large.
proc fill_and_shrink {every} {
    r DEBUG POPULATE 40000 k 2000
    set half [string repeat x 1000]
    with_clients c {
        for {set i 0} {$i < 40000} {incr i 1000} {
            set commands {}
            for {set j $i} {$j < $i + 1000} {incr j $every} {
                lappend commands [list SET k:$j $half]
            }
            $c pipeline $commands
            $c replies [llength $commands]
        }
    }
}

proc needs_jemalloc {} {
    if {![string match "jemalloc*" [memory mem_allocator]]} {skip "libc's allocator"}
}

set quiet {maxmemory 0 maxmemory-policy noeviction maxmemory-rss-percent 0 activedefrag no}

start_server {each {r CONFIG SET {*}$::quiet; r FLUSHALL; r MEMORY PURGE; r CONFIG RESETSTAT}} {

    test "Without maxmemory-rss-percent resident memory does not matter" {
        assert_equal 0 [config_value maxmemory-rss-percent]
        assert_equal {0 0} [list [memory maxmemory_rss_target] [memory maxmemory_in_force]]
        r CONFIG SET maxmemory 100mb
        assert_equal {0 104857600} [list [memory maxmemory_rss_target] [memory maxmemory_in_force]]
        r CONFIG SET maxmemory-rss-percent 150
        assert_equal {157286400 104857600} [list [memory maxmemory_rss_target] [memory maxmemory_in_force]]
    }

    test "Values that have all shrunk by half: free pages are given back" {
        needs_jemalloc
        fill_and_shrink 1
        wait_for_condition 40 {[memory used_memory_rss] < 1.6 * [memory used_memory]}
    }

    test "Above the target keys are evicted in slices, and at most half of maxmemory" {
        needs_jemalloc
        fill_and_shrink 2
        set used [memory used_memory]
        assert {[memory used_memory_rss] > 1.3 * $used}
        with_config [list maxmemory [expr {$used + 1000000}] maxmemory-policy allkeys-random maxmemory-rss-percent 110] {
            assert_equal 0 [info_field evicted_keys stats]
            wait_for_condition 30 {[info_field evicted_keys stats] > 100}
            assert_between [expr {$used * 9 / 10 - 1000000}] [expr {$used + 999999}] [memory maxmemory_in_force]
            assert_match "*more than maxmemory-rss-percent allows*" [srv log]
            wait_for_condition 60 {[memory maxmemory_in_force] < $used * 9 / 10}
            wait_for_condition 30 {[memory used_memory] < $used * 95 / 100}
            assert {[memory maxmemory_in_force] > ($used + 1000000) / 2}
            assert {[r DBSIZE] > 20000}
            # It ends with the option.
            r CONFIG SET maxmemory-rss-percent 0
            wait_for_condition 10 {[memory maxmemory_in_force] == $used + 1000000}
            wait_for_condition 10 {[string match "*allows all of maxmemory*" [srv log]]}
        }
    }

    test "With noeviction writes are refused while resident memory is above the target" {
        needs_jemalloc
        fill_and_shrink 2
        with_config [list maxmemory [expr {[memory used_memory] + 1000000}] maxmemory-rss-percent 110] {
            wait_for_condition 30 {[catch {r SET key value}]}
            assert_error "OOM *" {r SET key value}
            assert_equal 0 [info_field evicted_keys stats]
            r CONFIG SET maxmemory-rss-percent 0
            wait_for_condition 10 {![catch {r SET key value}]}
        }
    }

    test "Active defragmentation runs below its thresholds, and the limit rises again" {
        needs_jemalloc
        fill_and_shrink 2
        set digest [r DEBUG DIGEST]
        set limit [expr {[memory used_memory] + 1000000}]
        with_config [list maxmemory $limit maxmemory-rss-percent 135 activedefrag yes \
                active-defrag-ignore-bytes 1000gb active-defrag-threshold-lower 1000] {
            wait_for_condition 60 {[info_field active_defrag_hits stats] > 1000}
            wait_for_condition 60 {[memory used_memory_rss] < [memory maxmemory_rss_target]}
            wait_for_condition 90 {[memory maxmemory_in_force] == $limit}
        }
        assert_equal $digest [r DEBUG DIGEST]
    }

    test "MEMORY DOCTOR names the cause" {
        needs_jemalloc
        r DEBUG POPULATE 150000 k 2000
        with_clients c {
            for {set i 0} {$i < 150000} {incr i 1000} {
                set keys {}
                for {set j $i} {$j < $i + 1000} {incr j} {
                    if {$j % 4} {lappend keys k:$j}
                }
                $c UNLINK {*}$keys
            }
        }
        wait_for_condition 20 {[memory lazyfree_pending_objects] == 0}
        assert_equal OK [r MEMORY PURGE]
        # The report's figures may be a tenth of a second old.
        set cause "* MB are resident and * MB in use; the largest part of the difference, * MB, is gaps between values*"
        wait_for_condition 10 {[string match $cause [r MEMORY DOCTOR]]}
    }
}
