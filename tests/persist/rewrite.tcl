# rewrite.tcl -- BGREWRITEAOF: the log is rewritten, with any events meanwhile.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc aof_files {} {
    return [lsort -dictionary [lmap path [glob -nocomplain -directory [file join [srv dir] appendonlydir] *] {file tail $path}]]
}

proc manifest {} {
    return [read_file [file join [srv dir] appendonlydir appendonly.aof.manifest]]
}

proc temporaries {} {
    return [glob -nocomplain -directory [srv dir] temp*]
}

# Returns the child that the log names last.
proc child_pid {} {
    set pids [regexp -all -inline {started by pid (\d+)} [srv log]]
    return [lindex $pids end]
}

proc rewritten {} {
    wait_for_condition 20 {[regexp {aof_rewrite_in_progress:0\s+aof_rewrite_scheduled:0\s} [r INFO persistence]]}
}

proc rewrite {} {
    r BGREWRITEAOF
    rewritten
    assert_equal ok [info_field aof_last_bgrewrite_status]
}

# Stores small and large values of every type, with expires and field TTLs, groups with pending entries, in several
# databases.
proc fill {} {
    r SET string value
    r SET number 12345
    r SET timed gone PX 100000000
    r SET binary "\x00\r\n\xff*1\r\n"
    r SETRANGE large 100000 x
    foreach n {3 64 65 1000} {
        for {set i 0} {$i < $n} {incr i} {
            r RPUSH list:$n e$i [expr {$i * 7}]
            r SADD set:$n m$i
            r SADD ints:$n $i
            r ZADD zset:$n [expr {$i * 0.37}] m$i
            r HSET hash:$n f$i v$i
        }
    }
    r RPUSH list:wide [string repeat w 20000] [string repeat v 9000] small
    r ZADD zset:ends -inf low +inf high -0.0 zero 3.0e-300 tiny 17e200 huge
    r HSET hash:timed a 1 b 2 c 3
    r HPEXPIREAT hash:timed 4102444800000 FIELDS 2 a b
    r HSET hash:all a 1
    r HPEXPIREAT hash:all 4102444800000 FIELDS 1 a
    for {set i 1} {$i <= 200} {incr i} {
        r XADD stream $i-$i field $i other [string repeat x $i]
    }
    r XDEL stream 7-7
    r XTRIM stream MAXLEN 150
    r XGROUP CREATE stream group 0 ENTRIESREAD 3
    r XGROUP CREATE stream "second group" $ ENTRIESREAD 100
    r XREADGROUP GROUP group alice COUNT 5 STREAMS stream >
    r XREADGROUP GROUP group bob COUNT 70 STREAMS stream >
    r XGROUP CREATECONSUMER stream group idle
    r XADD emptied 5-5 a b
    r XDEL emptied 5-5
    r XGROUP CREATE emptied g 5-5
    r PFADD hll a b c
    r EXPIRE zset:3 100000
    r SELECT 3
    r SET other database
    r SELECT 0
}

# Returns details that DEBUG DIGEST does not cover.
proc details {} {
    set out [list [r DEBUG DIGEST]]
    foreach stream {stream emptied} {
        set groups [r XINFO GROUPS $stream]
        lappend out [r XINFO STREAM $stream] $groups
        foreach group $groups {
            set name [dict get $group name]
            lappend out [r XPENDING $stream $name] [lmap p [r XPENDING $stream $name - + 1000] {lreplace $p 2 2}]
            lappend out [lmap c [r XINFO CONSUMERS $stream $name] {dict get $c name}]
        }
    }
    foreach key {timed zset:3} {lappend out [r PEXPIRETIME $key]}
    return [list {*}$out [r HPEXPIRETIME hash:timed FIELDS 3 a b c]]
}

foreach {form preamble} {rdb yes aof no} {
    start_server [list overrides [list appendonly yes appendfsync everysec aof-use-rdb-preamble $preamble]] {
        test "base.$form: everything is there after a rewrite and a start" {
            fill
            set before [details]
            rewrite
            set now "file appendonly.aof.2.base.$form seq 2 type b\nfile appendonly.aof.2.incr.aof seq 2 type i\n"
            wait_for_condition 5 {[manifest] eq $now}
            wait_for_condition 5 {[aof_files] eq "appendonly.aof.2.base.$form appendonly.aof.2.incr.aof appendonly.aof.manifest"}
            assert_equal {} [temporaries]
            assert_equal 0 [file size [file join [srv dir] appendonlydir appendonly.aof.2.incr.aof]]
            assert_equal [info_field aof_base_size] [info_field aof_current_size]
            restart_server
            assert_equal $before [details]
        }

        test "base.$form: what is written meanwhile is there, and once" {
            r CONFIG SET rdb-key-save-delay 500
            r DEL counter
            r BGREWRITEAOF
            assert_equal 1 [info_field aof_rewrite_in_progress]
            while {[info_field aof_rewrite_in_progress]} {
                r MULTI
                r INCR counter
                r RPUSH counted x
                r EXEC
                r SELECT 5
                r INCR there
                r SELECT 0
            }
            r CONFIG SET rdb-key-save-delay 0
            assert_equal ok [info_field aof_last_bgrewrite_status]
            set before [details]
            assert_equal [r GET counter] [r LLEN counted]
            restart_server
            assert_equal $before [details]
        }
    }
}

start_server {overrides {appendonly yes appendfsync always aof-use-rdb-preamble yes}} {
    test "BGREWRITEAOF answers as it should, and waits for another child" {
        r SET k v
        r CONFIG SET rdb-key-save-delay 10000000
        assert_equal "Background append only file rewriting started" [r BGREWRITEAOF]
        assert_error "ERR Background append only file rewriting already in progress" {r BGREWRITEAOF}
        assert_error "ERR Another child process is active (AOF?): can't BGSAVE right now. Use BGSAVE SCHEDULE in order to\
            schedule a BGSAVE whenever possible." {r BGSAVE}
        assert_equal "Background saving scheduled" [r BGSAVE SCHEDULE]
        assert_equal "Scheduled background saving cancelled" [r BGSAVE CANCEL]
        assert_equal 1 [info_field aof_rewrite_in_progress]
        assert {[info_field aof_current_rewrite_time_sec] >= 0}
        exec kill -USR1 [child_pid]
        rewritten
        assert_equal ok [info_field aof_last_bgrewrite_status]
        assert_equal 0 [info_field aof_rewrites_consecutive_failures]
        wait_for_condition 5 {[temporaries] eq ""}
        r BGSAVE
        assert_equal "Background append only file rewriting scheduled" [r BGREWRITEAOF]
        assert_equal 1 [info_field aof_rewrite_scheduled]
        r CONFIG SET rdb-key-save-delay 0
        r BGSAVE CANCEL
        rewritten
        assert_equal 2 [info_field aof_rewrites]
        r MULTI
        r BGREWRITEAOF
        assert_equal {{Background append only file rewriting scheduled}} [r EXEC]
        rewritten
        assert_equal 3 [info_field aof_rewrites]
    }

    test "A child that is killed leaves the log as it was, with an increment more" {
        r CONFIG SET rdb-key-save-delay 10000000
        r SET before 1
        set files [aof_files]
        r BGREWRITEAOF
        r SET after 1
        wait_for_condition 5 {[temporaries] ne ""}
        exec kill -KILL [child_pid]
        rewritten
        assert_equal err [info_field aof_last_bgrewrite_status]
        assert_equal 1 [info_field aof_rewrites_consecutive_failures]
        wait_for_condition 5 {[temporaries] eq ""}
        assert_equal [expr {[llength $files] + 1}] [llength [aof_files]]
        r SET later 1
        r CONFIG RESETSTAT
        assert_equal {0 0 err} [lmap name {rewrites rewrites_consecutive_failures last_bgrewrite_status} {info_field aof_$name}]
        set digest [r DEBUG DIGEST]
        restart_server
        assert_equal $digest [r DEBUG DIGEST]
        rewrite
        wait_for_condition 5 {[llength [aof_files]] == 3}
        restart_server
        assert_equal $digest [r DEBUG DIGEST]
    }

    test "A shutdown ends a rewrite and leaves nothing of it" {
        r CONFIG SET rdb-key-save-delay 10000000
        r BGREWRITEAOF
        wait_for_condition 5 {[temporaries] ne ""}
        r SET last one
        restart_server
        assert_equal {} [temporaries]
        assert_equal one [r GET last]
        r CONFIG SET rdb-key-save-delay 0
    }

    test "The log that is turned off ends its rewrite, and is complete" {
        r CONFIG SET rdb-key-save-delay 10000000
        r BGREWRITEAOF
        wait_for_condition 5 {[temporaries] ne ""}
        r SET meanwhile 1
        r CONFIG SET appendonly no
        assert_equal 0 [info_field aof_rewrite_in_progress]
        wait_for_condition 5 {[temporaries] eq ""}
        set digest [r DEBUG DIGEST]
        r SET behind 1
        restart_server
        assert_equal $digest [r DEBUG DIGEST]
    }

    test "Turned off at any moment of a rewrite it is complete" {
        for {set i 0} {$i < 15} {incr i} {
            r CONFIG SET rdb-key-save-delay 0
            r BGREWRITEAOF
            r SET moment $i
            after [expr {$i * 7 % 60}]
            r SET moment after:$i
            r CONFIG SET appendonly no
            set digest [r DEBUG DIGEST]
            restart_server
            assert_equal $digest [r DEBUG DIGEST]
        }
    }

    test "With aof-disable-auto-gc history stays until it is turned off" {
        r CONFIG SET aof-disable-auto-gc yes
        rewrite
        assert_match "*type h\n*" [manifest]
        assert {[llength [aof_files]] > 3}
        r CONFIG SET aof-disable-auto-gc no
        wait_for_condition 5 {[llength [aof_files]] == 3 && ![string match "*type h*" [manifest]]}
    }

    test "The log is rewritten when it has grown enough" {
        rewrite
        set count [info_field aof_rewrites]
        r CONFIG SET auto-aof-rewrite-min-size 100000 auto-aof-rewrite-percentage 50
        for {set i 0} {$i < 300} {incr i} {
            r SET grow [string repeat x 1000]
        }
        wait_for_condition 10 {[info_field aof_rewrites] > $count}
        rewritten
        assert {[info_field aof_base_size] < 250000}
        r CONFIG SET auto-aof-rewrite-percentage 0
    }
}

start_server {overrides {appendonly yes aof-use-rdb-preamble yes}} {
    test "A base has the form that was set when its rewrite began" {
        for {set i 0} {$i < 10} {incr i} {r SET key:$i $i}
        foreach {form preamble other} {rdb yes no aof no yes} {
            r CONFIG SET rdb-key-save-delay 50000 aof-use-rdb-preamble $preamble
            r BGREWRITEAOF
            r CONFIG SET aof-use-rdb-preamble $other
            rewritten
            assert_match "file appendonly.aof.*.base.$form *" [manifest]
            restart_server
            assert_equal 10 [r DBSIZE]
        }
    }

    test "Rewrites leave no descriptors behind, whatever their end" {
        r CONFIG SET rdb-key-save-delay 0
        rewrite
        wait_for_condition 5 {[llength [aof_files]] == 3}
        set before [llength [glob /proc/[srv pid]/fd/*]]
        for {set i 0} {$i < 10} {incr i} {
            rewrite
        }
        r CONFIG SET appendonly no
        r CONFIG SET appendonly yes
        rewritten
        r CONFIG SET rdb-key-save-delay 10000000
        foreach signal {KILL USR1} {
            r BGREWRITEAOF
            exec kill -$signal [child_pid]
            rewritten
        }
        # $before may include a descriptor that was being closed; each of a dozen rewrites could leak one.
        wait_for_condition 10 {[llength [glob /proc/[srv pid]/fd/*]] <= $before}
        wait_for_condition 5 {[temporaries] eq ""}
    }

    test "After three rewrites in a row that failed none begins by itself for a while, but one that is asked for" {
        r CONFIG RESETSTAT
        r CONFIG SET rdb-key-save-delay 10000000 auto-aof-rewrite-min-size 1 auto-aof-rewrite-percentage 1
        r SET grow [string repeat x 100000]
        for {set n 1} {$n <= 3} {incr n} {
            wait_for_condition 10 {[info_field aof_rewrites] == $n}
            exec kill -KILL [child_pid]
            wait_for_condition 10 {[info_field aof_rewrites_consecutive_failures] == $n}
        }
        assert_match "*Background AOF rewrite has failed 3 times in a row. The next automatic one begins in 60 seconds at the earliest.*" [srv log]
        after 500 ;# some ticks
        assert_equal 3 [info_field aof_rewrites]
        assert_equal "Background append only file rewriting started" [r BGREWRITEAOF]
        exec kill -KILL [child_pid]
        wait_for_condition 10 {[info_field aof_rewrites_consecutive_failures] == 1}
        wait_for_condition 10 {[info_field aof_rewrites] == 5}
        r CONFIG SET auto-aof-rewrite-percentage 0
        exec kill -USR1 [child_pid]
    }
}

start_server {overrides {appendonly no}} {
    test "Without a log the base is made all the same" {
        r SET k v
        rewrite
        assert_equal "file appendonly.aof.1.base.rdb seq 1 type b\n" [manifest]
        rewrite
        wait_for_condition 5 {[manifest] eq "file appendonly.aof.2.base.rdb seq 2 type b\n"}
        wait_for_condition 5 {[aof_files] eq "appendonly.aof.2.base.rdb appendonly.aof.manifest"}
        assert_equal {} [temporaries]
    }
}
