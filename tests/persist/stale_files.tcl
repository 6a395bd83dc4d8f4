# stale_files.tcl -- temporary files of a killed process are deleted at the next start.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns whether a process runs; an ended one exists until its parent has waited for it.
proc runs {pid} {
    return [expr {![catch {read_file /proc/$pid/stat} stat] && ![regexp {\) [ZX] } $stat]}]
}

test "A start removes temporary files of processes that are gone, and nothing else" {
    set dir [make_server_dir]
    set gone [exec sh -c {echo $$}]
    set mine [list temp-$gone.rdb temp-rewriteaof-$gone.aof temp-rewriteaof-bg-$gone.aof appendonlydir/temp-appendonly.aof.incr \
        appendonlydir/temp-appendonly.aof.manifest]
    set others [list temp-[pid].rdb temp-rewriteaof-[pid].aof temp-0$gone.rdb temp-$gone.rdb.bak xtemp-$gone.rdb temp-.rdb \
        temp-rewriteaof-x$gone.aof temp-$gone.aof temp-99999999999999999999.rdb appendonlydir/temp-other.aof.incr]
    file mkdir $dir/appendonlydir $dir/temp-rewriteaof-bg-[pid].aof
    foreach name [concat $mine $others] {
        write_file $dir/$name "half a dataset"
    }
    file mkdir $dir/folder
    file link -symbolic $dir/temp-1$gone.rdb $dir/folder
    start_server [list args [list --dir $dir]] {
        foreach name $mine {
            assert_equal "$name 0" "$name [file exists $dir/$name]"
        }
        foreach name [concat $others temp-1$gone.rdb] {
            assert_equal "$name 1" "$name [file exists $dir/$name]"
        }
        assert_match "*Removed the temporary file temp-$gone.rdb (14 bytes) of a process that has ended*" [srv log]
    }
}

start_server {overrides {}} {
    test "A server that is killed while its child writes leaves nothing for good" {
        r SET a 1
        r CONFIG SET rdb-key-save-delay 10000000
        foreach command {BGSAVE BGREWRITEAOF} {
            r $command
            wait_for_condition 10 {[llength [glob -nocomplain -directory [srv dir] temp-*]] == 1}
            exec kill -KILL [srv pid]
            wait_exit [srv dir] 5
            expect_exit 137
            set child [lindex [regexp -all -inline {started by pid (\d+)} [srv log]] end]
            wait_for_condition 10 {![runs $child]}
            restart_server
            expect_exit 0
            assert_equal {} [glob -nocomplain -directory [srv dir] temp-*]
            r SET a 1
            r CONFIG SET rdb-key-save-delay 10000000
        }
    }
}
