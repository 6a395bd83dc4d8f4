# sync.tcl -- a replica gets the dataset, from disk or directly, to disk or directly, and then the replication stream.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

foreach {sent diskless} {"from disk" no "directly" yes} {
    foreach load {disabled on-empty-db flush-before-load swapdb} {
        start_server [list overrides [list {*}$quick repl-diskless-sync $diskless]] {
            set primary [default_client]
            set port [srv port]
            fill $primary
            start_server [list overrides [list repl-diskless-load $load]] {
                set replica [default_client]
                $replica SET mine 1

                test "A snapshot sent $sent, with repl-diskless-load $load: the replica has what the primary has" {
                    follow $replica $port
                    assert_same_data $primary $replica
                    assert_equal 0 [$replica EXISTS mine]
                    assert_equal 1 [$replica FCALL_RO mine 0]
                }

                test "... and what is written from then on, in every database" {
                    $primary SET later 1
                    $primary SELECT 3
                    $primary SET there 1
                    $primary SELECT 0
                    $primary EVAL "for i = 1, 100 do redis.call('LPUSH', 'many', i) end" 0
                    $primary MULTI
                    $primary INCR later
                    $primary DEL string:1
                    $primary EXEC
                    $primary SET big [string repeat z 3000000]
                    assert_same_data $primary $replica
                    assert_equal 2 [$replica GET later]
                }

                test "... under the same name" {
                    assert_equal [repl_field $primary master_replid] [repl_field $replica master_replid]
                }

                test "... and the primary knows how far it is" {
                    wait_for_condition 10 {[string match "*offset=[repl_field $primary master_repl_offset],*" \
                        [repl_field $primary slave0]]}
                    assert_match "ip=127.0.0.1,port=[srv port],state=online,*,type=replica" [repl_field $primary slave0]
                    assert_equal 1 [$primary WAIT 1 5000]
                }
            }
        }
    }
}

start_server [list overrides [list repl-diskless-sync-delay 1]] {
    set primary [default_client]
    set port [srv port]
    fill $primary
    start_server {} {
        set first [default_client]
        start_server {} {
            set second [default_client]

            test "Two replicas that come together get their dataset from one child" {
                set forks [field_of [$primary INFO stats] total_forks]
                $first REPLICAOF 127.0.0.1 $port
                $second REPLICAOF 127.0.0.1 $port
                is_up $first
                is_up $second
                assert_same_data $primary $first
                assert_same_data $primary $second
                assert_equal [expr {$forks + 1}] [field_of [$primary INFO stats] total_forks]
                assert_equal {2 0} [syncs_of $primary]
            }
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    fill $primary
    start_server [list overrides $quick] {
        set middle [default_client]
        set middle_port [srv port]
        start_server {} {
            set last [default_client]

            test "A replica of a replica has the same, byte for byte" {
                follow $middle $port
                follow $last $middle_port
                $primary SET a 1
                $primary MULTI
                $primary SELECT 5
                $primary SET b 2
                $primary EXEC
                $primary SELECT 0
                $primary SET c [string repeat c 100000]
                assert_same_data $primary $middle
                assert_same_data $primary $last
                assert_equal [repl_field $primary master_repl_offset] [repl_field $last master_repl_offset]
            }

            test "... also when the link between the first two breaks" {
                cut_link $middle
                $primary SET d 4
                assert_same_data $primary $last
                assert_equal {1 1} [syncs_of $primary]
                assert_equal {1 0} [syncs_of $middle]
            }

            test "... and when the middle one is let go it goes on from there" {
                $middle REPLICAOF NO ONE
                wait_for_condition 10 {[repl_field $last master_replid] eq [repl_field $middle master_replid]}
                $middle SET alone 1
                in_step $middle $last
                assert_equal 1 [$last GET alone]
                assert_equal {1 1} [syncs_of $middle]
            }
        }
    }
}

start_server [list overrides [list {*}$quick appendonly yes]] {
    set primary [default_client]
    set port [srv port]
    fill $primary
    start_server [list overrides [list appendonly yes]] {
        set replica [default_client]

        test "A replica with an append-only file begins it anew, and a start finds the primary's data" {
            $replica SET mine 1
            follow $replica $port
            $primary SET later 1
            assert_same_data $primary $replica
            wait_for_condition 20 {[info_field aof_rewrite_in_progress persistence] == 0 &&
                [info_field aof_enabled persistence] == 1 && [info_field aof_rewrite_scheduled persistence] == 0}
            assert_equal {1 1} [$primary WAITAOF 1 1 10000]
            set digest [$primary DEBUG DIGEST]
            restart_server
            assert_equal $digest [r DEBUG DIGEST]
        }
    }
}

start_server [list overrides $quick] {
    set primary [default_client]
    set port [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port

        test "Keys whose time is over are hidden on a replica, and go when the primary says so" {
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            $primary SET short 1 PX 50
            $primary RPUSH list 1
            $primary PEXPIRE list 50
            in_step $primary $replica
            after 100
            assert_equal (nil) [$replica GET short]
            assert_equal 0 [$replica EXISTS list]
            assert_equal -2 [$replica TTL short]
            assert_equal 2 [$replica DBSIZE]
            assert_equal (nil) [$primary GET short]
            in_step $primary $replica
            assert_equal 1 [$replica DBSIZE]
            $primary DEBUG SET-ACTIVE-EXPIRE 1
            wait_for_condition 10 {[$replica DBSIZE] == 0}
        }

        test "What the primary says of a key whose time seems over is done" {
            $primary DEBUG SET-ACTIVE-EXPIRE 0
            # Long enough for the key to exist until the primary sends its next command.
            for {set life 60} {1} {set life [expr {$life * 3}]} {
                $primary SET n 1 PX $life
                in_step $primary $replica
                if {[$primary INCR n] == 2 && [$primary PERSIST n] == 1} {break}
            }
            after [expr {$life + 40}]
            in_step $primary $replica
            assert_equal 2 [$replica GET n]
            $primary DEBUG SET-ACTIVE-EXPIRE 1
        }
    }
}

start_server [list overrides {repl-diskless-sync-delay 0 rdb-key-save-delay 300}] {
    set primary [default_client]
    set port [srv port]
    start_server [list overrides {repl-diskless-load swapdb}] {
        set replica [default_client]
        fill $primary 5
        follow $replica $port

        test "swapdb: an older dataset of the same stream is served while the new one comes" {
            $primary DEBUG POPULATE 5000 key 10
            $primary SET old new
            $primary CONFIG SET repl-backlog-size 16kb
            $replica REPLICAOF NO ONE
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 20 {[info_field async_loading persistence] == 1 || [info_field loading persistence] == 1}
            is_up $replica
            assert_same_data $primary $replica
        }

        test "... and commands that cannot go together with it are refused" {
            $primary DEBUG POPULATE 5000 more 10
            exec kill -STOP [srv pid]
            $primary CLIENT KILL TYPE replica
            for {set i 0} {$i < 500} {incr i} {
                $primary SET fill [string repeat x 1000]
            }
            exec kill -CONT [srv pid]
            wait_for_condition 20 {[info_field async_loading persistence] == 1}
            assert_equal new [$replica GET old]
            assert_error "READONLY*" {$replica SET a 1}
            assert_error "LOADING*" {$replica BGSAVE}
            # A script that does not end: other clients get an error, it can be killed, and the dataset keeps arriving.
            $replica CONFIG SET busy-reply-threshold 50
            with_clients c {
                $c send EVAL "while true do end" 0
                wait_for_condition 20 {[catch {$replica GET old} message] && [string match BUSY* $message]}
                assert_error "BUSY*" {$replica CONFIG GET port}
                assert_equal OK [$replica SCRIPT KILL]
                assert_error "ERR Script killed by user*" {$c reply}
            }
            assert_equal new [$replica GET old]
            assert_equal 1 [info_field async_loading persistence]
            is_up $replica
            assert_same_data $primary $replica
        }

        test "A snapshot that is cut off leaves what there was" {
            set digest [$replica DEBUG DIGEST]
            $primary CONFIG SET rdb-key-save-delay 1000
            exec kill -STOP [srv pid]
            $primary CLIENT KILL TYPE replica
            for {set i 0} {$i < 500} {incr i} {
                $primary SET fill [string repeat y 1000]
            }
            exec kill -CONT [srv pid]
            wait_for_condition 20 {[info_field async_loading persistence] == 1}
            $primary CLIENT KILL TYPE replica
            wait_for_condition 20 {[info_field async_loading persistence] == 0}
            assert_equal new [$replica GET old]
            assert_equal 1 [expr {[$replica DEBUG DIGEST] eq $digest}]
            $primary CONFIG SET rdb-key-save-delay 0
            is_up $replica
            assert_same_data $primary $replica
        }
    }
}

# Neither side has persistence; the file contains the dataset of both.
start_server [list overrides [list {*}$quick repl-diskless-sync no]] {
    set primary [default_client]
    set port [srv port]
    set primary_dir [srv dir]
    fill $primary
    start_server {overrides {repl-diskless-load disabled}} {
        set replica [default_client]
        foreach {removes there} {no 1 yes 0} {
            test "rdb-del-sync-files $removes" {
                $primary CONFIG SET rdb-del-sync-files $removes
                $replica CONFIG SET rdb-del-sync-files $removes
                $replica REPLICAOF NO ONE
                $replica SET mine 1
                follow $replica $port
                assert_same_data $primary $replica
                assert_equal $there [file exists $primary_dir/dump.rdb]
                assert_equal $there [file exists [srv dir]/dump.rdb]
            }
        }

        test "... but not where there are save points" {
            $primary CONFIG SET save "3600 1000000"
            $replica CONFIG SET save "3600 1000000"
            $replica REPLICAOF NO ONE
            $replica SET mine 1
            follow $replica $port
            assert_same_data $primary $replica
            assert_equal {1 1} [list [file exists $primary_dir/dump.rdb] [file exists [srv dir]/dump.rdb]]
        }
    }
}

# `dir` and `dbfilename` change while a snapshot is sent: first in the child, then to the replica's disk.
start_server [list overrides [list {*}$quick enable-protected-configs yes repl-diskless-sync no rdb-del-sync-files yes]] {
    set primary [default_client]
    set port [srv port]
    set primary_dir [srv dir]
    fill $primary
    $primary SAVE
    file mkdir $primary_dir/other
    file rename $primary_dir/dump.rdb $primary_dir/other/kept.rdb
    $primary SET later 1
    start_server {overrides {repl-diskless-load disabled enable-protected-configs yes}} {
        set replica [default_client]
        file mkdir [srv dir]/other

        test "A replica gets the file that was saved for it, wherever the primary saves from then on" {
            $primary CONFIG SET rdb-key-save-delay 3000
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 20 {[field_of [$primary INFO persistence] rdb_bgsave_in_progress] == 1}
            $primary CONFIG SET dir $primary_dir/other
            $primary CONFIG SET dbfilename kept.rdb
            assert_equal 1 [field_of [$primary INFO persistence] rdb_bgsave_in_progress]
            is_up $replica
            assert_same_data $primary $replica
        }

        test "... and that file is the one that rdb-del-sync-files removes" {
            assert_equal 0 [file exists $primary_dir/dump.rdb]
            assert_equal 1 [file exists $primary_dir/other/kept.rdb]
        }

        test "A replica finds what it has received, wherever its files are from then on" {
            $primary CONFIG SET repl-diskless-sync yes
            $replica REPLICAOF NO ONE
            $replica SET mine 1
            $replica REPLICAOF 127.0.0.1 $port
            wait_for_condition 20 {[glob -nocomplain -directory [srv dir] temp-*.rdb] ne ""}
            $replica CONFIG SET dir [srv dir]/other
            $primary CONFIG SET rdb-key-save-delay 0
            is_up $replica
            assert_same_data $primary $replica
            assert_equal {} [glob -nocomplain -directory [srv dir] temp-*.rdb]
            assert_equal 1 [file exists [srv dir]/other/dump.rdb]
        }
    }
}

# Loading replaces the dataset: it must not begin while a script uses it.
foreach {load dual} {disabled no on-empty-db no flush-before-load no swapdb no disabled yes} {
    start_server [list overrides [list {*}$quick repl-diskless-sync yes dual-channel-replication-enabled $dual]] {
        set primary [default_client]
        set port [srv port]
        fill $primary
        start_server [list overrides [list repl-diskless-load $load dual-channel-replication-enabled $dual \
            busy-reply-threshold 10]] {
            set replica [default_client]
            test "A dataset that comes while a script runs is loaded after it: $load[expr {$dual ? ", two connections" : ""}]" {
                with_clients {slow} {
                    follow $replica $port
                    $primary SET later 1
                    in_step $primary $replica
                    $primary DEBUG CHANGE-REPL-ID
                    set syncs [lindex [syncs_of $primary] 0]
                    $replica CLIENT KILL TYPE primary
                    $slow send EVAL "local n = redis.call('DBSIZE') while true do
                        if redis.call('DBSIZE') ~= n then return 'changed' end end" 0
                    wait_for_condition 10 {[catch {$replica GET x} error] && [string match "BUSY*" $error]}
                    after 300
                    $replica SCRIPT KILL
                    assert_error "*Script killed*" {$slow reply}
                    is_up $replica
                    wait_for_condition 10 {[lindex [syncs_of $primary] 0] > $syncs}
                    assert_same_data $primary $replica
                }
            }
        }
    }
}
