# cluster_import.tcl -- valkey-cli --cluster import and backup.
#
# SPDX-License-Identifier: BSD-3-Clause

source [file join $support cli.tcl]
source [file join $support cluster.tcl]
source [file join $support cluster_manager.tcl]

start_cluster 3 0 {} {
    start_server {overrides {requirepass pass}} {
        set from [list --cluster-from 127.0.0.1:[srv port]]
        r AUTH pass
        for {set i 0} {$i < 50} {incr i} {
            r SET key:$i $i
        }
        r PEXPIRE key:7 10000000

        test "import needs a source that lets it in and is no cluster node" {
            assert_match "1 {} {*--cluster-from* is required*}" [manage import [at 0]]
            assert_match "1 * {Invalid address format: xyz\n}" [manage import [at 0] --cluster-from xyz]
            assert_match "1 * {Could not connect*}" [manage import [at 0] --cluster-from 127.0.0.1:1]
            assert_match "1 *does not say by INFO*" [manage import [at 0] {*}$from]
            assert_match "1 * {AUTH failed*}" [manage import [at 0] {*}$from --cluster-from-pass wrong]
            assert_match "1 *is a cluster node itself*" [manage import [at 0] --cluster-from [at 1]]
        }

        test "import --cluster-copy copies each key to the owner of its slot" {
            set out [managed import [at 1] {*}$from --cluster-from-pass pass --cluster-copy]
            assert_match "*\n\\*\\*\\* Importing 50 keys from DB 0\nMigrating key:* to 127.0.0.1:*: OK\n*" $out
            assert_equal 50 [regexp -all {Migrating key:\d+ to 127.0.0.1:\d+: OK\n} $out]
            assert_equal 50 [r DBSIZE]
            assert_match "*\\\[OK\\\] 50 keys in 3 primaries.*" [managed info [at 0]]
            managed check [at 0] --cluster-search-multiple-owners
        }

        test "import stops at a key that is there, and moves it with --cluster-replace" {
            r SET key:7 new KEEPTTL
            lassign [manage import [at 1] {*}$from --cluster-from-user default --cluster-from-pass pass] code out
            assert_equal 1 $code
            assert_match "*BUSYKEY*" $out
            assert_equal 50 [r DBSIZE]
            managed import [at 1] {*}$from --cluster-from-pass pass --cluster-replace
            assert_equal 0 [r DBSIZE]
            set slot [[node 0] CLUSTER KEYSLOT key:7]
            set owner [node [expr {$slot * 3 / 16384}]]
            assert_equal new [$owner GET key:7]
            assert {[$owner PTTL key:7] > 9000000}
        }
    }

    test "backup saves the datasets, and nodes.json" {
        set dir [make_server_dir]
        lassign [manage backup [at 0] $dir] code out err
        assert_equal 0 $code
        assert_match "*>>> Node [at 2] -> Saving RDB...\n*Saving cluster configuration to: $dir/nodes.json\n\\\[OK\\\] Backup created into: $dir\n" $out
        foreach i {0 1 2} {
            set file $dir/valkey-node-127.0.0.1-[port $i]-[node_id $i].rdb
            assert_match REDIS* [read_file $file]
            assert_match "*\"name\": \"[node_id $i]\",\n    \"host\": \"127.0.0.1\",\n    \"port\": [port $i],\n    \"replicate\": null,*" [read_file $dir/nodes.json]
        }
        assert_match "*\"slots\": \\\[\\\[5461,10921\\\]\\\],\n    \"slots_count\": 5461,\n    \"flags\": \"master\",*" [read_file $dir/nodes.json]
        assert {![string match *cluster_errors* [read_file $dir/nodes.json]]}
        assert_match "1 *xyz is not a valid directory*" [manage backup [at 0] $dir/xyz]
        [node 1] CLUSTER SETSLOT 0 IMPORTING [node_id 0]
        lassign [manage backup [at 0] $dir] code out
        assert_equal 0 $code
        assert_match "*The cluster has faults*" $out
        assert_match "*\"cluster_errors\": 1,\n    \"importing\": {\"0\": \"[node_id 0]\"}\n*" [read_file $dir/nodes.json]
    }
}
