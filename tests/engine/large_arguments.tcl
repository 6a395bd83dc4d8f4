# large_arguments.tcl -- arguments in separate allocations: stored, read, refused, dropped, on one thread and on
# several.
#
# SPDX-License-Identifier: BSD-3-Clause

set mb [expr {1024 * 1024}]

proc pattern {len salt} {
    set unit "[string repeat "0123456789abcdef $salt " 1000]\r\n"
    return [string range [string repeat $unit [expr {$len / [string length $unit] + 1}]] 0 [expr {$len - 1}]]
}

proc bulk {s} {
    return "\$[string length $s]\r\n$s\r\n"
}

foreach threads {1 4} {
    start_server [list overrides [list io-threads $threads io-threads-always-active yes] each {r FLUSHALL}] {

        test "Commands that store a large argument, io-threads $threads" {
            foreach len [list 32767 32768 32769 65536 100001 [expr {3 * $mb + 7}]] {
                set v [pattern $len a]
                set w [pattern $len b]
                assert_equal OK [r SET k $v]
                assert_equal $v [r GET k]
                assert_equal raw [r OBJECT ENCODING k]
                assert_equal $v [r GETSET k $w]
                assert_equal $w [r SET k $v GET]
                assert_equal OK [r SET k $w EX 100]
                assert_between 1 100 [r TTL k]
                assert_equal OK [r SETEX k 100 $v]
                assert_equal OK [r PSETEX k 100000 $w]
                assert_equal $w [r GET k]
                assert_equal 0 [r SETNX k $v]
                assert_equal 1 [r SETNX other $v]
                assert_equal OK [r MSET a $v b small c $w]
                assert_equal [list $v small $w] [r MGET a b c]
                assert_equal 0 [r MSETNX a $w new $v]
                assert_equal 1 [r MSETNX new1 $w new2 $v]
                assert_equal [list $v $w] [r MGET new2 new1]
                assert_equal $len [r APPEND fresh $v]
                assert_equal [expr {2 * $len}] [r APPEND fresh $w]
                assert_equal $v$w [r GET fresh]
                r FLUSHALL
            }
        }

        test "Commands that read a large argument, io-threads $threads" {
            set v [pattern 200000 a]
            set w [pattern 200000 b]
            assert_equal $v [r ECHO $v]
            assert_equal 200010 [r SETRANGE k 10 $v]
            assert_equal $v [r GETRANGE k 10 -1]
            r SET k $v
            assert_equal (nil) [r SET k $w IFEQ $w]
            assert_equal OK [r SET k $w IFEQ $v]
            assert_equal $w [r GET k]
            assert_equal (nil) [r SET k $v NX]
            assert_equal $w [r GET k]
            r SET $v $w
            assert_equal $w [r GET $v]
            assert_equal 1 [r DEL $v]
            assert_error "ERR unknown command*" {r $v}
            assert_error "ERR syntax error" {r SET k $v $w}
            assert_error "ERR wrong number*" {r MSET k $v x}
            assert_equal $w [r GET k]
        }

        test "A key that comes twice in a command keeps the last value, and MONITOR shows both, io-threads $threads" {
            set v [pattern 50000 a]
            with_clients m {
                assert_equal OK [$m MONITOR]
                r MSET k $v k short
                assert_equal short [r GET k]
                assert_match "*\"MSET\" \"k\" \"0123456789abcdef a *\" \"k\" \"short\"*" [$m reply]
            }
        }

        test "A value stored from an argument is changed as any other, io-threads $threads" {
            set v [pattern 70000 a]
            r SET k $v
            r APPEND k tail
            r SETRANGE k 0 HEAD
            assert_equal "HEAD[string range $v 4 end]tail" [r GET k]
            r MSET k $v
            r SETRANGE k 69999 X
            assert_equal "[string range $v 0 end-1]X" [r GET k]
            r COPY k copy
            r RENAME k moved
            assert_equal [r GET copy] [r GET moved]
        }

        test "Large requests between small ones in one pipeline, io-threads $threads" {
            with_clients c {
                set v [pattern 40000 a]
                set w [pattern 300000 b]
                set wire ""
                set want {}
                for {set i 0} {$i < 20} {incr i} {
                    append wire "PING\r\n*3\r\n[bulk SET][bulk k$i][bulk $v]"
                    append wire "*2\r\n[bulk GET][bulk k$i]*5\r\n[bulk MSET][bulk x][bulk $w][bulk y][bulk $v$i]"
                    append wire "*2\r\n[bulk STRLEN][bulk x]*2\r\n[bulk DEL][bulk x]*2\r\n[bulk GETDEL][bulk y]"
                    lappend want PONG OK $v OK 300000 1 $v$i
                }
                $c write $wire
                foreach w $want {
                    assert_equal $w [$c reply]
                }
                assert_equal 20 [r DBSIZE]
            }
        }

        test "A large request in pieces, with the end of the connection at some of them, io-threads $threads" {
            set v [pattern 100000 a]
            set wire "*5\r\n[bulk MSET][bulk a][bulk $v][bulk b][bulk $v]"
            foreach piece {40000 33000 99999 100037 199000} {
                with_clients c {
                    for {set at 0} {$at < [string length $wire]} {incr at $piece} {
                        $c write [string range $wire $at [expr {$at + $piece - 1}]]
                        after 5
                    }
                    assert_equal OK [$c reply]
                }
                assert_equal [list $v $v] [r MGET a b]
                r DEL a b
                set c [connect]
                $c write [string range $wire 0 $piece]
                $c destroy
            }
            assert_equal 0 [r DBSIZE]
        }

        test "An announced length costs nothing, and what has come is shown, io-threads $threads" {
            set before [info_field used_memory memory]
            set clients {}
            for {set i 0} {$i < 10} {incr i} {
                set c [connect]
                lappend clients $c
                $c write "*3\r\n[bulk SET][bulk announced]\$500000000\r\n[string repeat x 2000000]"
            }
            wait_for_condition 10 {
                [regexp -all {qbuf=20000\d\d } [r CLIENT LIST]] == 10
            }
            # Some of the earlier memory may have been freed meanwhile: so the lower bound is smaller.
            assert_between 18000000 [expr {26 * $mb}] [expr {[info_field used_memory memory] - $before}]
            foreach line [split [string trim [r CLIENT LIST]] "\n"] {
                if {![regexp {qbuf=20000.*qbuf-free=(\d+) .*tot-mem=(\d+)} $line -> free memory]} {
                    continue
                }
                assert_between 0 40000 $free
                assert_between 2000000 2200000 $memory
            }
            foreach c $clients {
                $c destroy
            }
            wait_for_condition 10 {[info_field used_memory memory] < $before + 2 * $mb}
            assert_equal 0 [r EXISTS announced]
        }
    }
}

start_server {overrides {maxmemory 30mb maxmemory-policy allkeys-lru}} {

    test "An announced length evicts nothing; large values make room as they come" {
        for {set i 0} {$i < 1000} {incr i} {
            r SET key:$i [string repeat x 1000]
        }
        with_clients c {
            $c write "*3\r\n[bulk SET][bulk announced]\$400000000\r\n[string repeat x 1500000]"
            wait_for_condition 10 {[regexp {qbuf=15000\d\d } [r CLIENT LIST]]}
            for {set i 0} {$i < 100} {incr i} {
                r SET key:$i [string repeat y 1000]
            }
            assert_equal 0 [info_field evicted_keys stats]
            assert_equal 1000 [r DBSIZE]
        }
        for {set i 0} {$i < 20} {incr i} {
            r SET large:$i [string repeat x [expr {5 * $mb}]]
            # Memory to be freed in the background does not count for eviction, although it is in used_memory a moment
            # longer.
            wait_for_condition 10 {[info_field used_memory memory] <= 32 * $mb}
        }
        # Which of them were evicted for the others is random.
        set large {}
        for {set i 0} {$i < 20} {incr i} {
            lappend large large:$i
        }
        assert_between 2 6 [r EXISTS {*}$large]
    }
}

start_server {} {

    test "maxmemory-clients counts what has come of a large argument" {
        with_config {maxmemory-clients 5mb} {
            set few [connect]
            $few write "*3\r\n[bulk SET][bulk k]\$400000000\r\n[string repeat x 1500000]"
            with_clients c {
                catch {
                    $c write "*3\r\n[bulk SET][bulk k]\$400000000\r\n"
                    for {set i 0} {$i < 100} {incr i} {
                        $c write [string repeat x 100000]
                        after 2
                    }
                }
                assert [$c closed_within 10000]
            }
            assert_match "*qbuf=15000*" [r CLIENT LIST]
            $few destroy
        }
        assert_equal 1 [info_field evicted_clients stats]
    }
}
