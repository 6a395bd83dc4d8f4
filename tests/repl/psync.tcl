# psync.tcl -- PSYNC, SYNC and REPLCONF as bytes: what is answered to whom.
#
# SPDX-License-Identifier: BSD-3-Clause

# The dataset has been loaded. What is said before the child has ended counts for nothing.
proc acknowledge {c offset} {
    wait_for_condition 10 {[string match "*state=online*" [repl_field [default_client] slave0]]}
    $c write [resp::encode [list REPLCONF ACK $offset]]
}

start_server [list overrides [list {*}$quick repl-diskless-sync yes]] {
    foreach {words error} {
        {REPLCONF capa} "ERR syntax error"
        {REPLCONF listening-port x} "ERR value is not an integer or out of range"
        {REPLCONF nonsense 1} "ERR Unrecognized REPLCONF option: nonsense"
        {REPLCONF version 9.1} "ERR Unrecognized version format: 9.1"
        {REPLCONF version 9.1.256} "ERR Unrecognized version format: 9.1.256"
        {REPLCONF version 9.1.2.3} "ERR Unrecognized version format: 9.1.2.3"
        {REPLCONF version ..} "ERR Unrecognized version format: .."
        {REPLCONF rdb-only 2} "ERR value is out of range, value must between 0 and 1"
        {REPLCONF rdb-filter-only keys} "ERR Unsupported rdb-filter-only option: keys"
        {REPLCONF set-cluster-node-id x} "ERR This instance has cluster support disabled"
        {PSYNC ? x} "ERR value is not an integer or out of range"
    } {
        test "$words: $error" {
            assert_error $error {r {*}$words}
        }
    }

    test "REPLCONF ip-address that is too long" {
        assert_error "ERR REPLCONF ip-address provided by replica instance is too long: 256 bytes" {
            r REPLCONF ip-address [string repeat x 256]
        }
    }

    test "REPLCONF without options, with those that nobody knows, and in any number" {
        assert_equal OK [r REPLCONF]
        assert_equal OK [r REPLCONF capa anything capa eof]
        assert_equal OK [r REPLCONF listening-port 1 capa psync2 ip-address ""]
    }

    test "REPLCONF ACK of a client that is no replica says nothing" {
        r send REPLCONF ACK 1
        r send REPLCONF GETACK *
        assert_equal PONG [r PING]
    }

    test "PSYNC with a name that nobody has: the dataset, where it stands, and then the stream" {
        with_clients {c} {
            assert_regexp {^FULLRESYNC [0-9a-f]{40} 0$} [ask_psync $c ? -1]
            assert_match "VALKEY080*" [read_marked $c]
            acknowledge $c 0
            assert_equal "*1\r\n\$4\r\nping\r\n" [$c raw_bytes 14]
            r SET a 1
            assert_equal "*2\r\n\$6\r\nSELECT\r\n\$1\r\n0\r\n*3\r\n\$3\r\nSET\r\n\$1\r\na\r\n\$1\r\n1\r\n" [$c raw_bytes 50]
            set ::id [repl_field [default_client] master_replid]
        }
    }

    test "PSYNC with an offset that is kept: the rest of the stream" {
        with_clients {c} {
            assert_equal "CONTINUE $::id" [ask_psync $c $::id 15]
            assert_match "*SELECT*SET*" [$c raw_bytes 50]
        }
        with_clients {c} {
            assert_equal "CONTINUE $::id" [ask_psync $c [string toupper $::id] 65]
            assert_equal {1 2} [syncs_of [default_client]]
        }
    }

    test "... or not kept: the dataset" {
        foreach offset {0 66 -5 9223372036854775807} {
            with_clients {c} {
                assert_match "FULLRESYNC $::id *" [ask_psync $c $::id $offset]
            }
        }
        with_clients {c} {
            assert_match "FULLRESYNC $::id *" [ask_psync $c [string repeat 0 40] 15]
        }
    }

    test "PSYNC of who does not know names is answered without one" {
        with_clients {c} {
            assert_equal CONTINUE [$c PSYNC $::id 15]
        }
    }

    test "One that has said it is older gets a snapshot of the old version" {
        with_clients {c} {
            $c REPLCONF capa eof capa psync2
            $c REPLCONF version 8.1.0
            $c PSYNC ? -1
            assert_match "REDIS0011*" [read_marked $c]
        }
    }

    test "SYNC: a snapshot of known length, and no word of names and offsets" {
        with_clients {c} {
            $c write "SYNC\r\n"
            set header [read_behind_newlines $c]
            assert_regexp {^\$[0-9]+$} $header
            assert_match "VALKEY080*" [$c raw_bytes [string range $header 1 end]]
            r SET b 2
            assert_match "*SELECT*SET*" [$c raw_bytes 50]
        }
    }

    test "rdb-only: the dataset, and the end" {
        with_clients {c} {
            assert_equal OK [$c REPLCONF capa eof rdb-only 1 version 9.1.2]
            $c write "SYNC\r\n"
            assert_match "VALKEY080*" [read_marked $c]
            assert [$c closed_within 5000]
        }
    }

    test "rdb-filter-only: functions alone, or nothing" {
        r FUNCTION LOAD "#!lua name=mine\nserver.register_function('mine', function() return 1 end)"
        foreach {filter has lacks} {functions "lua name=mine" string: "" VALKEY080 "lua name=mine"} {
            with_clients {c} {
                $c REPLCONF capa eof rdb-only 1 version 9.1.2 rdb-filter-only $filter
                $c write "SYNC\r\n"
                set bytes [read_marked $c]
                assert_match "*$has*" $bytes
                assert_no_match "*$lacks*" $bytes
            }
        }
        with_clients {c} {
            $c REPLCONF rdb-filter-only functions
            assert_error "ERR Filtered replica requires EOF capability" {$c SYNC}
        }
    }

    test "A command with a reply ends the link of a replica" {
        foreach words {PING {GET a} {REPLCONF capa eof} {SET a 2} INFO} {
            with_clients {c} {
                ask_psync $c $::id 65
                $c send {*}$words
                assert [$c closed_within 5000]
            }
        }
    }
}
