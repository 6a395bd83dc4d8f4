# hash.tcl -- the commands of hashes, option by option and error by error, in each encoding. Field TTLs are in
# hash_expire.tcl.
#
# SPDX-License-Identifier: BSD-3-Clause

set wrong_type {WRONGTYPE Operation against a key holding the wrong kind of value}
set wrong_number {ERR wrong number of arguments for '%s' command}
set not_integer {ERR value is not an integer or out of range}
set syntax {ERR syntax error}

proc limits {{entries 512} {value 64}} {
    r CONFIG SET hash-max-listpack-entries $entries hash-max-listpack-value $value
}

# Makes a hash of these pairs with encoding `encoding`, which the later thresholds do not change.
proc make_hash {key encoding pairs} {
    r DEL $key
    if {$encoding eq "hashtable"} {limits 0} else {limits 100000 100000}
    r HSET $key {*}$pairs
    limits
    assert_equal $encoding [r OBJECT ENCODING $key]
}

proc encoding {{key hash}} {
    r OBJECT ENCODING $key
}

proc pairs {count} {
    set list {}
    for {set i 0} {$i < $count} {incr i} {
        lappend list field:$i value:$i
    }
    return $list
}

proc sorted {pairs} {
    lsort -stride 2 $pairs
}

start_server {each {
    r FLUSHALL
    limits
}} {

    test "Counters and HSETNX find their place in a hash that becomes a table on the way" {
        foreach {value entries command result} {
            3 100 {HINCRBY hash n 900} 1000   3 100 {HINCRBYFLOAT hash n 0.25} 100.25   3 100 {HSETNX hash new long} 1
            10 3 {HINCRBY hash new 5} 5       10 3 {HINCRBYFLOAT hash new 0.5} 0.5      10 3 {HSETNX hash new 1} 1
        } {
            r DEL hash
            limits
            r HSET hash a 1 b 2 n 100
            assert_equal listpack [encoding hash]
            limits $entries $value
            assert_equal $result [r {*}$command]
            assert_equal hashtable [encoding hash]
            lassign $command - - field by
            assert_equal [expr {[lindex $command 0] eq "HSETNX" ? $by : $result}] [r HGET hash $field]
            assert_equal [expr {$field eq "n" ? 3 : 4}] [r HLEN hash]
            assert_equal 2 [r HGET hash b]
        }
    }

    # ---- In each encoding -------------------------------------------------------------------------------------

    foreach encoding {listpack hashtable} {
        test "HSET says how many fields are new ($encoding)" {
            make_hash hash $encoding {a 1 b 2}
            assert_equal 1 [r HSET hash b 3 c 4]
            assert_equal {a 1 b 3 c 4} [sorted [r HGETALL hash]]
            assert_equal 3 [r HLEN hash]
        }

        test "HMSET writes fields ($encoding)" {
            make_hash hash $encoding {a 1}
            assert_equal OK [r HMSET hash a 2 b 3]
            assert_equal {a 2 b 3} [sorted [r HGETALL hash]]
        }

        test "HSETNX writes a field only once ($encoding)" {
            make_hash hash $encoding {a 1}
            assert_equal 1 [r HSETNX hash b 2]
            assert_equal 0 [r HSETNX hash b 3]
            assert_equal 2 [r HGET hash b]
        }

        test "HGET, HMGET, HEXISTS and HSTRLEN find what is there ($encoding)" {
            make_hash hash $encoding {a 1 b "" long xxxxxxxxxx 12 34}
            assert_equal 1 [r HGET hash a]
            assert_equal 34 [r HGET hash 12]
            assert_equal "\$0\r\n\r\n" [[default_client] raw HGET hash b]
            assert_equal "\$-1\r\n" [[default_client] raw HGET hash nothing]
            assert_equal "*3\r\n\$1\r\n1\r\n\$-1\r\n\$1\r\n1\r\n" [[default_client] raw HMGET hash a nothing a]
            assert_equal {1 0} [list [r HEXISTS hash a] [r HEXISTS hash nothing]]
            assert_equal {10 2 0 0} [list [r HSTRLEN hash long] [r HSTRLEN hash 12] [r HSTRLEN hash b] \
                                         [r HSTRLEN hash nothing]]
        }

        test "HDEL says how many fields it took ($encoding)" {
            make_hash hash $encoding {a 1 b 2 c 3}
            assert_equal 2 [r HDEL hash a nothing c a]
            assert_equal {b 2} [r HGETALL hash]
        }

        test "HDEL of the last field deletes the key ($encoding)" {
            make_hash hash $encoding {a 1 b 2}
            assert_equal 2 [r HDEL hash a b a]
            assert_equal 0 [r EXISTS hash]
        }

        test "HKEYS and HVALS give one half each ($encoding)" {
            make_hash hash $encoding {a 1 b 2 c 3}
            assert_same_set {a b c} [r HKEYS hash]
            assert_same_set {1 2 3} [r HVALS hash]
        }

        test "HINCRBY counts ($encoding)" {
            make_hash hash $encoding {n 5 text abc float 1.5}
            assert_equal 12 [r HINCRBY hash n 7]
            assert_equal -3 [r HINCRBY hash new -3]
            assert_error {ERR hash value is not an integer} {r HINCRBY hash text 1}
            assert_error {ERR hash value is not an integer} {r HINCRBY hash float 1}
            assert_error {ERR increment or decrement would overflow} {r HINCRBY hash n 9223372036854775807}
            assert_error {ERR increment or decrement would overflow} {r HINCRBY hash new -9223372036854775807}
            assert_equal {float 1.5 n 12 new -3 text abc} [sorted [r HGETALL hash]]
        }

        test "HINCRBYFLOAT counts in decimals ($encoding)" {
            make_hash hash $encoding {n 10.50 text abc}
            assert_equal 10.75 [r HINCRBYFLOAT hash n 0.25]
            assert_equal 5010.75 [r HINCRBYFLOAT hash n 5.0e3]
            assert_equal -2 [r HINCRBYFLOAT hash new -2]
            assert_error {ERR hash value is not a float} {r HINCRBYFLOAT hash text 1}
            assert_equal {n 5010.75 new -2 text abc} [sorted [r HGETALL hash]]
        }

        test "HSCAN walks over all fields ($encoding)" {
            make_hash hash $encoding [pairs 300]
            set found {}
            set cursor 0
            while 1 {
                lassign [r HSCAN hash $cursor COUNT 20] cursor items
                lappend found {*}$items
                if {$cursor == 0} break
            }
            array set all $found
            assert_equal [sorted [pairs 300]] [sorted [array get all]]
            unset all
        }

        test "HSCAN filters names, and leaves values out ($encoding)" {
            make_hash hash $encoding {abc 1 abd 2 xyz abc}
            assert_equal {abc 1 abd 2} [sorted [lindex [r HSCAN hash 0 MATCH ab* COUNT 100] 1]]
            assert_same_set {abc abd xyz} [lindex [r HSCAN hash 0 NOVALUES COUNT 100] 1]
        }

        test "HRANDFIELD draws fields of the hash ($encoding)" {
            make_hash hash $encoding [pairs 100]
            assert_equal 1 [r HEXISTS hash [r HRANDFIELD hash]]
            assert_same_set [r HKEYS hash] [r HRANDFIELD hash 100]
            assert_same_set [r HKEYS hash] [r HRANDFIELD hash 1000]
            assert_equal {} [r HRANDFIELD hash 0]
            assert_equal 250 [llength [r HRANDFIELD hash -250]]
            foreach count {1 5 50 99} {
                set drawn [r HRANDFIELD hash $count]
                assert_equal $count [llength [lsort -unique $drawn]]
                assert_equal $count [llength $drawn]
            }
            foreach {field value} [r HRANDFIELD hash 10 WITHVALUES] {
                assert_equal $value [r HGET hash $field]
            }
        }

        test "HRANDFIELD draws every field about as often ($encoding)" {
            make_hash hash $encoding [pairs 10]
            foreach count {-5000 5} {
                array unset times
                for {set i 0} {$i < ($count < 0 ? 1 : 1000)} {incr i} {
                    foreach field [r HRANDFIELD hash $count] {
                        incr times($field)
                    }
                }
                assert_equal 10 [array size times]
                foreach field [array names times] {
                    assert_between 300 700 $times($field)
                }
            }
        }

        test "A copy is equal and apart ($encoding)" {
            make_hash hash $encoding [pairs 20]
            assert_equal 1 [r COPY hash copy]
            assert_equal $encoding [encoding copy]
            assert_equal [r DEBUG DIGEST-VALUE hash] [r DEBUG DIGEST-VALUE copy]
            r HSET copy field:1 other
            assert_equal value:1 [r HGET hash field:1]
        }

        test "DUMP and RESTORE keep a hash ($encoding)" {
            make_hash hash $encoding [pairs 20]
            if {$encoding eq "hashtable"} {limits 0}
            r RESTORE copy 0 [r DUMP hash]
            assert_equal $encoding [encoding copy]
            assert_equal [sorted [pairs 20]] [sorted [r HGETALL copy]]
        }

        test "Values of every size are kept, also when they grow and shrink ($encoding)" {
            make_hash hash $encoding {a 1}
            limits [expr {$encoding eq "listpack" ? 1000 : 0}] 1000000
            foreach size {0 1 13 14 126 127 128 129 300 5000 128 127 1 70000 0} {
                foreach field [list a [string repeat f 126] [string repeat f 127] [string repeat f 500]] {
                    r HSET hash $field [string repeat x $size]
                    assert_equal [string repeat x $size] [r HGET hash $field]
                }
            }
            assert_equal 4 [r HLEN hash]
        }

        test "Fields and values hold every byte ($encoding)" {
            set bytes ""
            for {set i 0} {$i < 256} {incr i} {
                append bytes [format %c $i]
            }
            make_hash hash $encoding [list $bytes $bytes]
            assert_equal $bytes [r HGET hash $bytes]
        }
    }

    # ---- Encodings --------------------------------------------------------------------------------------------

    test "A hash with too many fields becomes a table, and stays one" {
        limits 3
        r HSET hash a 1 b 2 c 3
        assert_equal listpack [encoding]
        r HSET hash c 4
        assert_equal listpack [encoding]
        r HSET hash d 5
        assert_equal hashtable [encoding]
        r HDEL hash a b c
        assert_equal hashtable [encoding]
    }

    test "A long field or value makes a table" {
        limits 100 5
        r HSET value a 12345
        r HSET field 12345 a
        assert_equal {listpack listpack} [list [encoding value] [encoding field]]
        r HSET value a 123456
        r HSET field 123456 a
        assert_equal {hashtable hashtable} [list [encoding value] [encoding field]]
        r HINCRBY number n 123456
        assert_equal hashtable [encoding number]
        r HINCRBYFLOAT float n 1.23456
        assert_equal hashtable [encoding float]
        r HSETNX nx n 123456
        assert_equal hashtable [encoding nx]
    }

    test "More pairs than a listpack may have make a table, also when they are of one field" {
        limits 2
        r HSET hash a 1 a 2 a 3
        assert_equal {hashtable 1} [list [encoding] [r HLEN hash]]
    }

    test "With bounds of 0 every hash is a table" {
        limits 0
        r HSET hash a 1
        assert_equal hashtable [encoding]
        limits 512 0
        r HSET hash2 a 1
        assert_equal hashtable [encoding hash2]
    }

    test "A command that is refused converts nothing" {
        limits 100 5
        r HSET hash a 1
        r HSETNX hash a 1234567
        assert_equal listpack [encoding]
    }

    # ---- Missing keys, other types, errors --------------------------------------------------------------------

    test "A missing key is an empty hash" {
        assert_equal "\$-1\r\n" [[default_client] raw HGET nothing a]
        assert_equal "*2\r\n\$-1\r\n\$-1\r\n" [[default_client] raw HMGET nothing a b]
        assert_equal {0 0 0 0} [list [r HLEN nothing] [r HSTRLEN nothing a] [r HEXISTS nothing a] [r HDEL nothing a]]
        assert_equal {{} {} {}} [list [r HKEYS nothing] [r HVALS nothing] [r HGETALL nothing]]
        assert_equal {0 {}} [r HSCAN nothing 0 NONSENSE]
        assert_equal "\$-1\r\n" [[default_client] raw HRANDFIELD nothing]
        assert_equal {} [r HRANDFIELD nothing 5]
        assert_equal 0 [r EXISTS nothing]
    }

    test "Commands of hashes refuse other types" {
        r SET key value
        foreach command {
            {HSET key a 1} {HMSET key a 1} {HSETNX key a 1} {HGET key a} {HMGET key a} {HDEL key a} {HLEN key}
            {HSTRLEN key a} {HKEYS key} {HVALS key} {HGETALL key} {HEXISTS key a} {HINCRBY key a 1}
            {HINCRBYFLOAT key a 1} {HRANDFIELD key} {HRANDFIELD key 1} {HSCAN key 0}
        } {
            assert_error $wrong_type {r {*}$command}
        }
        assert_equal value [r GET key]
    }

    test "Pairs that are not whole are refused" {
        assert_error [format $wrong_number hset] {r HSET hash a 1 b}
        assert_error [format $wrong_number hmset] {r HMSET hash a 1 b}
        assert_equal 0 [r EXISTS hash]
    }

    test "Numbers are looked at before the key" {
        r SET key value
        assert_error $not_integer {r HINCRBY key a 9223372036854775808}
        assert_error {ERR value is not a valid float} {r HINCRBYFLOAT key a abc}
        assert_error {ERR value is NaN or Infinity} {r HINCRBYFLOAT hash a inf}
        assert_error {ERR value is not a valid float} {r HINCRBYFLOAT hash a nan}
        assert_error {ERR invalid cursor} {r HSCAN key abc}
        assert_equal 0 [r EXISTS hash]
    }

    test "HRANDFIELD refuses counts out of range, and words it does not know" {
        r HSET hash a 1
        foreach key {hash nothing} {
            assert_error $not_integer {r HRANDFIELD $key abc}
            assert_error {ERR value is out of range, value must between -9223372036854775807 and 9223372036854775807} \
                {r HRANDFIELD $key -9223372036854775808}
            assert_error {ERR value is out of range} {r HRANDFIELD $key -9223372036854775807 WITHVALUES}
            assert_error {ERR value is out of range} {r HRANDFIELD $key 9223372036854775807 WITHVALUES}
            assert_error $syntax {r HRANDFIELD $key 1 VALUES}
            assert_error $syntax {r HRANDFIELD $key 1 WITHVALUES more}
        }
        assert_equal a [r HRANDFIELD hash 9223372036854775807]
    }

    test "HSCAN refuses options of its sisters" {
        r HSET hash a 1
        assert_error {ERR NOSCORES option can only be used in ZSCAN} {r HSCAN hash 0 NOSCORES}
        assert_error $syntax {r HSCAN hash 0 TYPE hash}
        assert_error $syntax {r HSCAN hash 0 COUNT 0}
    }

    # ---- Shapes, changes --------------------------------------------------------------------------------------

    test "RESP3 has maps of fields, and pairs in pairs" {
        r HSET hash a 1
        r HELLO 3
        assert_equal "%1\r\n\$1\r\na\r\n\$1\r\n1\r\n" [[default_client] raw HGETALL hash]
        assert_equal "%0\r\n" [[default_client] raw HGETALL nothing]
        assert_equal "*1\r\n\$1\r\na\r\n" [[default_client] raw HKEYS hash]
        assert_equal "*1\r\n*2\r\n\$1\r\na\r\n\$1\r\n1\r\n" [[default_client] raw HRANDFIELD hash 1 WITHVALUES]
        assert_equal "*2\r\n\$1\r\n0\r\n*2\r\n\$1\r\na\r\n\$1\r\n1\r\n" [[default_client] raw HSCAN hash 0]
        assert_equal "_\r\n" [[default_client] raw HGET hash nothing]
        assert_equal "_\r\n" [[default_client] raw HRANDFIELD nothing]
        r HELLO 2
    }

    test "Every field written or deleted counts as a change" {
        set before [info_field rdb_changes_since_last_save persistence]
        r HSET hash a 1 b 2 a 3
        r HINCRBY hash n 1
        r HDEL hash a b nothing
        r HSETNX hash n 1
        assert_equal [expr {$before + 6}] [info_field rdb_changes_since_last_save persistence]
    }

    test "A large hash lives through growing and shrinking" {
        for {set i 0} {$i < 100} {incr i} {
            set pairs {}
            for {set j 0} {$j < 200} {incr j} {
                lappend pairs field:$i:$j $j
            }
            r HSET hash {*}$pairs
        }
        assert_equal 20000 [r HLEN hash]
        for {set i 0} {$i < 99} {incr i} {
            set fields {}
            for {set j 0} {$j < 200} {incr j} {
                lappend fields field:$i:$j
            }
            assert_equal 200 [r HDEL hash {*}$fields]
        }
        assert_equal 200 [r HLEN hash]
        assert_equal 7 [r HGET hash field:99:7]
        assert_equal 1 [r HEXISTS hash [r HRANDFIELD hash]]
    }

    test "HRANDFIELD: a number that no reply can have is refused" {
        r HSET key a 1 b 2
        assert_error "OOM *" {r HRANDFIELD key -4000000000000000000}
        with_clients c {
            $c write [string cat "CLIENT REPLY SKIP\r\n" "HRANDFIELD key -4000000000000\r\n" "PING\r\n"]
            assert_equal PONG [$c reply]
        }
    }
}
