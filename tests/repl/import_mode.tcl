# import_mode.tcl -- a primary that is being filled from another system: import-mode, CLIENT IMPORT-SOURCE.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

start_server {} {
    set source [connect]
    set other [connect]

    test "Without import-mode nobody imports" {
        assert_error "ERR Server is not in import mode" {$source CLIENT IMPORT-SOURCE ON}
        assert_equal OK [$source CLIENT IMPORT-SOURCE OFF]
        $source CONFIG SET import-mode yes
        assert_equal OK [$source CLIENT IMPORT-SOURCE ON]
        assert_error "ERR syntax error" {$source CLIENT IMPORT-SOURCE maybe}
        assert_match "* flags=I *" [$source CLIENT INFO]
        assert_match "* flags=N *" [$other CLIENT INFO]
        assert_equal OK [$source CLIENT IMPORT-SOURCE OFF]
        assert_match "* flags=N *" [$source CLIENT INFO]
        assert_equal OK [$source CLIENT IMPORT-SOURCE on]
        assert_match "* flags=I *" [$source CLIENT INFO]
    }

    test "Who imports sees keys and fields whose time is over; for others they are not there" {
        assert_equal OK [$source SET k v PXAT 1]
        $source HSET h f 1 g 2
        assert_equal 1 [$source HPEXPIREAT h 1 FIELDS 1 f]
        assert_equal {v 1 1 0} [list [$source GET k] [$source EXISTS k] [$source TOUCH k] [$source TTL k]]
        assert_equal {(nil) 0 -2 none} [list [$other GET k] [$other EXISTS k] [$other TTL k] [$other TYPE k]]
        assert_equal {h k} [lsort [$source KEYS *]]
        assert_equal h [$other KEYS *]
        assert_equal 1 [$source HGET h f]
        assert_equal {(nil) {g 2}} [list [$other HGET h f] [$other HGETALL h]]
        assert_equal 2 [$other DBSIZE]
    }

    test "A time in the past keeps the key, whoever gives it" {
        $source SET p 1
        assert_equal 1 [$source EXPIRE p -10]
        assert_equal 1 [$source GET p]
        assert_equal 0 [$other EXPIRE p 10]
        $other SET q 1
        assert_equal 1 [$other EXPIRE q -1]
        assert_equal {(nil) 1} [list [$other GET q] [$source GET q]]
        assert_equal 3 [$other DBSIZE]
        assert_equal 3 [$other DEL h p q none k] ;# DEL finds expired keys, too
        assert_equal 0 [$other DBSIZE]
    }

    test "Others write over a key whose time is over as if it were not there" {
        $source SET k1 old PXAT 1
        $source SET k2 old PXAT 1
        assert_equal OK [$other SET k1 new NX]
        assert_equal 3 [$other APPEND k2 new]
        assert_equal {new -1 new -1} [list [$source GET k1] [$source TTL k1] [$source GET k2] [$source TTL k2]]
    }

    test "Nothing goes by itself, neither for its time nor for memory" {
        $source FLUSHALL
        for {set i 0} {$i < 50} {incr i} {$source SET k$i v PXAT 1}
        $source SET gone v PX 1
        set ticks [info_field eventloop_cycles]
        wait_for_condition 10 {[info_field eventloop_cycles] > $ticks + 20 && [$other GET gone] eq "(nil)"}
        assert_equal 51 [$other DBSIZE]
        $source CONFIG SET maxmemory-policy allkeys-random maxmemory 1
        assert_error "OOM *" {$source SET x 1}
        assert_error "OOM *" {$other SET x 1}
        assert_equal 51 [$other DBSIZE]
        $source CONFIG SET maxmemory 0
    }

    test "When the import is over, so are the keys" {
        set before [info_field expired_keys]
        $source CONFIG SET import-mode no
        assert_equal (nil) [$source GET k1]
        wait_for_condition 10 {[$other DBSIZE] == 0}
        assert_equal 51 [expr {[info_field expired_keys] - $before}]
        assert_match "* flags=I *" [$source CLIENT INFO]
        $source RESET
        assert_match "* flags=N *" [$source CLIENT INFO]
    }
}
