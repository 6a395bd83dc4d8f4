# migrate.tcl -- MIGRATE: the keys that are sent and kept, and notifications.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

proc sockets {} {
    return [info_field migrate_cached_sockets stats]
}

# Makes keys a b c ... on an empty server.
proc make {args} {
    r FLUSHALL
    foreach key $args {r SET $key value:$key}
}

proc names {{client ""}} {
    return [lsort [expr {$client eq "" ? [r KEYS *] : [$client KEYS *]}]]
}

# Runs MIGRATE from the innermost server to PORT: returns the reply or the error.
proc migrate {port args} {
    if {[catch {r MIGRATE 127.0.0.1 $port {*}$args} reply]} {return "(error) $reply"}
    return $reply
}

# Runs BODY with a target at $port that replies by RULES (fake_server.tcl), +OK to all else; its log is $path.
proc with_target {rules body} {
    upvar 1 port port path path
    lassign [fake_server {*}$rules] port pid path
    try {
        uplevel 1 $body
    } finally {
        exec kill $pid
    }
}

# Returns the first words of each request to the target with the log PATH.
proc said {path {words 3}} {
    set lines {}
    foreach line [split [string trim [read_file $path]] \n] {
        if {[regexp {^(auth|select|restore) } $line]} {lappend lines [join [lrange [split $line] 0 $words-1]]}
    }
    return $lines
}

start_server {} {
    set target [default_client]
    set target_port [srv port]

    start_server {} {
        # ---- Values ------------------------------------------------------------------------------------------

        test "A key moves" {
            make a b
            assert_equal OK [migrate $target_port a 0 1000]
            assert_equal b [names]
            assert_equal value:a [$target GET a]
        }

        test "Values of all types, with times of keys and of fields" {
            r FLUSHALL
            $target FLUSHALL
            fill r 5
            r HSET large {*}[lmap i [lrepeat 2000 x] {string cat field[incr ::n]}]
            r HEXPIRE large 1000 FIELDS 2 field1 field3
            r SET long [string repeat long 300000] PX 900000
            r SELECT 9
            r DEL elsewhere
            r SELECT 0
            set keys [names]
            set digests [lmap key $keys {r DEBUG DIGEST-VALUE $key}]
            set times [lmap key $keys {r PEXPIRETIME $key}]
            set fields [r HPEXPIRETIME large FIELDS 3 field1 field3 field5]
            assert_equal OK [migrate $target_port "" 0 10000 KEYS {*}$keys]
            assert_equal {} [names]
            assert_equal $digests [lmap key $keys {$target DEBUG DIGEST-VALUE $key}]
            assert_equal $fields [$target HPEXPIRETIME large FIELDS 3 field1 field3 field5]
            foreach key $keys time $times {
                set there [$target PEXPIRETIME $key]
                if {$time == -1} {assert_equal -1 $there} else {assert_between $time [expr {$time + 2000}] $there}
            }
        }

        test "More keys than one round has, to another database" {
            r FLUSHALL
            $target FLUSHALL
            set keys {}
            for {set i 0} {$i < 2500} {incr i} {
                lappend keys key:$i
                r SET key:$i [string repeat $i 300]
            }
            set digest [r DEBUG DIGEST]
            assert_equal OK [migrate $target_port "" 0 10000 KEYS {*}$keys nothing]
            assert_equal 0 [r DBSIZE]
            assert_equal $digest [$target DEBUG DIGEST]
            make a
            assert_equal OK [migrate $target_port a 7 1000]
            $target SELECT 7
            assert_equal value:a [$target GET a]
            $target SELECT 0
        }

        test "Keys of the client's database move, and no others" {
            make a
            r SELECT 4
            r SET a four
            $target FLUSHALL
            assert_equal OK [migrate $target_port a 0 1000]
            assert_equal four [$target GET a]
            r SELECT 0
            assert_equal value:a [r GET a]
        }

        # ---- Options -----------------------------------------------------------------------------------------

        test "COPY leaves the key, REPLACE takes another one's place" {
            make a b
            $target FLUSHALL
            assert_equal OK [migrate $target_port a 0 1000 COPY]
            assert_equal {a b} [names]
            set busy "(error) ERR Target instance replied with error: BUSYKEY Target key name already exists."
            assert_equal $busy [migrate $target_port a 0 1000]
            assert_equal $busy [migrate $target_port "" 0 1000 KEYS a b]
            assert_equal a [names]
            assert_equal value:b [$target GET b]
            r SET a new
            assert_equal OK [migrate $target_port a 0 1000 copy replace]
            assert_equal OK [migrate $target_port a 0 1000 REPLACE]
            assert_equal {} [names]
            assert_equal new [$target GET a]
        }

        test "NOKEY: none of them is there, and the target hears nothing" {
            make a
            r PEXPIRE a 1
            after 20
            assert_equal NOKEY [migrate 1 nothing 0 1000]
            assert_equal NOKEY [migrate 1 "" 0 1000 KEYS nothing a nor-this]
            assert_equal NOKEY [migrate 1 "" 0 1000 KEYS]
        }

        test "The empty name is a key, alone and behind KEYS" {
            $target FLUSHALL
            make "" b
            assert_equal OK [migrate $target_port "" 0 1000]
            assert_equal b [names]
            make "" b
            assert_equal OK [migrate $target_port "" 0 1000 REPLACE KEYS "" b]
            assert_equal 0 [r DBSIZE]
        }

        test "Arguments that are none" {
            make a
            foreach arguments {{a 0 1 AUTH} {a 0 1 AUTH2 user} {a 0 1 nonsense} {"" 0 1 COPY a} {a x y nonsense}} {
                assert_equal "(error) ERR syntax error" [migrate 1 {*}$arguments]
            }
            foreach arguments {{a x 1} {a 0 x} {a 0 1.5} {a 0 99999999999999999999}} {
                assert_equal "(error) ERR value is not an integer or out of range" [migrate 1 {*}$arguments]
            }
            assert_equal "(error) ERR When using MIGRATE KEYS option, the key argument must be set to the empty string" \
                [migrate 1 a 0 1 KEYS a]
            assert_error "ERR wrong number of arguments for 'migrate' command" {r MIGRATE 127.0.0.1 1 a 0}
            assert_equal a [names]
        }

        test "AUTH and AUTH2; what was proved once counts for nobody else" {
            $target FLUSHALL
            $target CONFIG SET requirepass secret
            $target CLIENT KILL TYPE normal SKIPME yes ;# connections are closed
            $target ACL SETUSER mover on >moves allcommands allkeys
            make a b c d
            assert_equal "(error) ERR Target instance replied with error: NOAUTH Authentication required." \
                [migrate $target_port a 0 1000]
            assert_match "(error) ERR Target instance replied with error: WRONGPASS *" \
                [migrate $target_port a 0 1000 AUTH wrong]
            assert_match "(error) ERR Target instance replied with error: WRONGPASS *" \
                [migrate $target_port a 0 1000 AUTH2 mover wrong]
            assert_equal {a b c d} [names]
            assert_equal OK [migrate $target_port a 0 1000 AUTH secret]
            assert_equal OK [migrate $target_port "" 0 1000 AUTH2 mover moves KEYS b c]
            assert_match "*NOAUTH*" [migrate $target_port d 0 1000]
            assert_equal d [names]
            $target CONFIG SET requirepass ""
            $target ACL DELUSER mover
            $target CLIENT KILL TYPE normal SKIPME yes
        }

        # ---- Its connections ---------------------------------------------------------------------------------

        test "What is sent: SELECT only where the database is another one, and a relative time" {
            with_target {} {
                make a b c d
                r PEXPIRE c 100000
                migrate $port a 0 1000
                migrate $port b 0 1000 REPLACE
                migrate $port c 3 1000
                migrate $port d 3 1000 AUTH2 user word
                set lines [said $path]
                assert_equal {{select 0} {restore a 0} {restore b 0} {select 3}} [lrange $lines 0 3]
                assert_between 99000 100000 [lindex $lines 4 2]
                assert_equal {{auth user word} {select 3} {restore d 0}} [lrange $lines 5 end]
            }
        }

        test "A connection is kept for ten seconds" {
            wait_for_condition 20 {[sockets] == 0}
            make a b
            migrate $target_port a 0 1000 REPLACE
            assert_equal 1 [sockets]
            migrate $target_port b 0 1000 REPLACE
            assert_equal 1 [sockets]
            wait_for_condition 20 {[sockets] == 0}
        }

        test "At most 64 are kept" {
            with_target {} {
                make a
                for {set i 0} {$i < 70} {incr i} {
                    # Each spelling of the port counts as a separate target.
                    r MIGRATE 127.0.0.1 [string repeat 0 $i]$port a 0 1000 COPY
                }
                assert_equal 64 [sockets]
                # The last connection is still open.
                set before [llength [regexp -all -inline {select 0} [read_file $path]]]
                r MIGRATE 127.0.0.1 [string repeat 0 69]$port a 0 1000 COPY
                assert_equal $before [llength [regexp -all -inline {select 0} [read_file $path]]]
            }
        }

        test "A kept connection that has broken is made anew" {
            make a b
            $target FLUSHALL
            assert_equal OK [migrate $target_port a 0 1000]
            $target CLIENT KILL TYPE normal SKIPME yes
            assert_equal OK [migrate $target_port b 0 1000]
            assert_equal {a b} [names $target]
        }

        test "A target that closes before it has answered is tried once more, and no oftener" {
            with_target {"restore *" close} {
                make a
                assert_equal "(error) IOERR error or timeout reading to target instance" [migrate $port a 0 1000]
                assert_equal {{select 0} {restore a 0} {select 0} {restore a 0}} [said $path]
                assert_equal a [names]
            }
        }

        # ---- Errors ------------------------------------------------------------------------------------------

        test "Nobody listens" {
            make a
            assert_equal "(error) IOERR error or timeout writing to target instance" [migrate [free_port] a 0 1000]
            assert_error "IOERR error or timeout connecting to the client" {
                r MIGRATE no.such.host.invalid 1 a 0 1000
            }
            assert_error "IOERR error or timeout connecting to the client" {r MIGRATE "" 1 a 0 1000}
            assert_equal a [names]
        }

        test "A target that does not answer: no longer than the timeout, 0 for a second" {
            with_target {"restore *" silent} {
                make a
                foreach {timeout least} {200 200 0 1000} {
                    set took [elapsed_ms {
                        assert_equal "(error) IOERR error or timeout reading to target instance" \
                            [migrate $port a 0 $timeout]
                    }]
                    assert_between $least [expr {$least + 10000}] $took
                }
                assert_equal a [names]
            }
        }

        test "The timeout is for a reply, not for all of them" {
            with_target {"restore *" "slow +OK"} {
                make a b c d e
                set took [elapsed_ms {assert_equal OK [migrate $port "" 0 1000 KEYS a b c d e]}]
                assert_between 1500 15000 $took
            }
        }

        test "A target that answers half" {
            with_target {"restore a *" "half +O"} {
                make a
                assert_equal "(error) IOERR error or timeout reading to target instance" [migrate $port a 0 200]
                assert_equal a [names]
            }
        }

        test "A target that stops in the middle: what it has acknowledged is gone, the rest is here" {
            foreach ending {silent close} {
                with_target [list "restore c *" $ending "restore d *" silent] {
                    make a b c d
                    assert_equal "(error) IOERR error or timeout reading to target instance" \
                        [migrate $port "" 0 200 KEYS a b c d]
                    assert_equal {c d} [names]
                }
            }
        }

        test "Keys that the target refuses stay; the first error is told" {
            with_target {"restore b *" "-ERR not this one" "restore d *" "-ERR nor that"} {
                make a b c d e
                assert_equal "(error) ERR Target instance replied with error: ERR not this one" \
                    [migrate $port "" 0 1000 KEYS a b c d e]
                assert_equal {b d} [names]
                # After an error no state of the connection is assumed.
                migrate $port b 0 1000
                assert_equal {{select 0} {restore b 0}} [lrange [said $path] end-1 end]
            }
        }

        test "A database that the target refuses: nothing goes, and it is asked for again" {
            with_target {"select 5" "-ERR DB index is out of range"} {
                make a b
                for {set i 0} {$i < 2} {incr i} {
                    assert_equal "(error) ERR Target instance replied with error: ERR DB index is out of range" \
                        [migrate $port "" 5 1000 KEYS a b]
                }
                assert_equal {a b} [names]
                assert_equal {{select 5} {restore a 0} {restore b 0} {select 5} {restore a 0} {restore b 0}} [said $path]
            }
        }

        test "Only a good reply is taken for one" {
            foreach reply {"HTTP/1.1 400 Bad Request" ":1" "\$2\r\nOK" ""} {
                with_target [list "restore *" $reply] {
                    make a
                    assert_equal "(error) IOERR error or timeout reading to target instance" [migrate $port a 0 1000]
                    assert_equal a [names]
                }
            }
        }

        test "Bytes that nobody asked for are not taken for the reply to what comes next" {
            with_target {"restore a *" "+OK\r\n+OK" "restore b *" "-ERR no"} {
                make a b
                assert_equal OK [migrate $port a 0 1000]
                assert_equal "(error) ERR Target instance replied with error: ERR no" [migrate $port b 0 1000]
                assert_equal b [names]
            }
        }

        test "Nor are those that come while nobody listens" {
            with_target {"restore a *" "twice +OK" "restore b *" "-ERR no"} {
                make a b
                assert_equal OK [migrate $port a 0 1000]
                after 300
                assert_equal "(error) ERR Target instance replied with error: ERR no" [migrate $port b 0 1000]
                assert_equal b [names]
            }
        }

        test "While the target does not answer others are served, but for the keys that move" {
            with_clients {other reader writer} {
                with_target {"restore *" silent} {
                    make a b
                    r send MIGRATE 127.0.0.1 $port a 0 3000
                    wait_for_condition 20 {[regexp restore [read_file $path]]}
                    $reader send GET a
                    $writer send SET a new
                    assert_equal value:b [$other GET b]
                    assert_equal OK [$other SET c 1]
                    assert_equal 3 [$other DBSIZE]
                    assert_equal 1 [$reader silent_for 0]
                    assert_equal 1 [$writer silent_for 0]
                    assert_equal 1 [r silent_for 0]
                    assert_error "IOERR*" {r reply}
                    assert_equal 1 [expr {[$reader reply] in {value:a new}}]
                    assert_equal OK [$writer reply]
                    assert_equal new [r GET a]
                }
            }
        }

        test "Large values move while others are served, and are whole" {
            with_clients other {
                r FLUSHALL
                for {set i 0} {$i < 20000} {incr i 1000} {
                    set pairs {}
                    for {set j $i} {$j < $i + 1000} {incr j} { lappend pairs field:$j value:$j }
                    r HSET hash {*}$pairs
                }
                r SET small 1
                set digest [r DEBUG DIGEST-VALUE hash]
                r send MIGRATE 127.0.0.1 $target_port "" 0 20000 REPLACE KEYS hash small
                set n 0
                while {[r silent_for 0]} { $other SET other:[incr n] 1 }
                assert_equal OK [r reply]
                assert_equal 0 [r EXISTS hash small]
                assert_equal $n [llength [r KEYS other:*]]
                assert_equal $digest [$target DEBUG DIGEST-VALUE hash]
                assert_equal 1 [$target GET small]
            }
        }

        test "In a transaction others wait, for no longer than the timeout" {
            set other [connect]
            with_target {"restore *" silent} {
                make a
                r MULTI
                r MIGRATE 127.0.0.1 $port a 0 300
                r send EXEC
                assert_between 0 10000 [elapsed_ms {$other PING}]
                assert_match "*IOERR*" [r reply]
            }
            $other destroy
        }

        # ---- Notifications -----------------------------------------------------------------------------------

        test "Events, changes and WATCH" {
            with_target {"restore b *" "-ERR no"} {
                make a b c
                set listener [connect]
                set watcher [connect]
                with_config {notify-keyspace-events KEA} {
                    $listener PSUBSCRIBE __keyevent@0__:*
                    $watcher WATCH a
                    set before [info_field rdb_changes_since_last_save persistence]
                    migrate $port "" 0 1000 KEYS a b c
                    assert_equal 2 [expr {[info_field rdb_changes_since_last_save persistence] - $before}]
                    assert_equal {__keyevent@0__:del a} [lrange [$listener reply] 2 3]
                    assert_equal {__keyevent@0__:del c} [lrange [$listener reply] 2 3]
                    assert [$listener silent_for 100]
                    $watcher MULTI
                    $watcher PING
                    assert_equal (nil) [$watcher EXEC]
                }
                $listener destroy
                $watcher destroy
            }
        }

        test "Passwords are not shown" {
            with_target {} {
                make a b
                set monitor [connect]
                $monitor MONITOR
                with_config {slowlog-log-slower-than 0} {
                    r SLOWLOG RESET
                    migrate $port a 0 1000 AUTH2 someone hidden
                    r MULTI
                    r MIGRATE 127.0.0.1 $port b 0 1000 AUTH hidden
                    r EXEC
                    r EVAL {return redis.pcall('MIGRATE', '127.0.0.1', ARGV[1], 'b', 0, 1000, 'AUTH', 'hid' .. 'den')} \
                        1 b $port
                    assert_no_match *hidden* [r SLOWLOG GET 20]
                    assert_match "*a 0 1000 AUTH2 (redacted) (redacted)*" [r SLOWLOG GET 20]
                    r PING last
                }
                set seen {}
                while {![string match *last* [set line [$monitor reply]]]} {append seen $line\n}
                assert_no_match *hidden* $seen
                assert_no_match *someone* $seen
                assert_equal 3 [regexp -all {"MIGRATE".*?\(redacted\)} $seen]
                $monitor destroy
            }
            assert_no_match *hidden* [srv log]
        }

        test "In a transaction and in a script" {
            with_target {"restore b *" "-ERR no"} {
                make a b c
                r MULTI
                r MIGRATE 127.0.0.1 $port a 0 1000
                r MIGRATE 127.0.0.1 $port "" 0 1000 KEYS b c
                assert_equal {OK {(error) ERR Target instance replied with error: ERR no}} [r EXEC]
                assert_equal b [names]
                set script {return redis.call('MIGRATE', '127.0.0.1', ARGV[1], KEYS[1], 0, 1000)}
                assert_error "ERR Target instance replied with error: ERR no*" {r EVAL $script 1 b $port}
                r SET e 1
                assert_equal OK [r EVAL $script 1 e $port]
                assert_equal b [names]
            }
        }

        test "Which keys it is about: COMMAND GETKEYS, and users that may not touch all" {
            foreach {arguments keys} {
                {h 1 k 0 1} k
                {h 1 k 0 1 COPY AUTH KEYS} k
                {h 1 "" 0 1 KEYS a b} {a b}
                {h 1 "" 0 1 auth KEYS keys a b} {a b}
                {h 1 "" 0 1 AUTH2 KEYS KEYS KEYS a KEYS} {a KEYS}
                {h 1 "" 0 1 KEYS} {{}}
            } {
                assert_equal $keys [r COMMAND GETKEYS MIGRATE {*}$arguments]
            }
            assert_error "ERR Invalid arguments specified for command" {r COMMAND GETKEYS MIGRATE h 1 k 0 1 KEYS a}
            assert_equal {{a {RW access delete}}} [r COMMAND GETKEYSANDFLAGS MIGRATE h 1 "" 0 1 KEYS a]
            make a b c
            r ACL SETUSER limited on >word +@all ~a ~b
            set limited [connect]
            $limited AUTH limited word
            with_target {} {
                foreach arguments {{c 0 1} {"" 0 1 KEYS a c} {"" 0 1 AUTH KEYS KEYS c} {"" 0 1}} {
                    assert_error "NOPERM No permissions to access a key" {$limited MIGRATE 127.0.0.1 $port {*}$arguments}
                }
                assert_equal OK [$limited MIGRATE 127.0.0.1 $port "" 0 1000 KEYS a b]
            }
            assert_equal c [names]
            $limited destroy
            r ACL DELUSER limited
        }

        # ---- RESTORE-ASKING ----------------------------------------------------------------------------------

        test "RESTORE-ASKING is RESTORE" {
            make a
            set payload [r DUMP a]
            assert_equal OK [r RESTORE-ASKING b 0 $payload]
            assert_error "BUSYKEY Target key name already exists." {r RESTORE-ASKING b 0 $payload}
            assert_equal OK [r RESTORE-ASKING b 100000 $payload REPLACE]
            assert_between 90000 100000 [r PTTL b]
            assert_error "ERR DUMP payload version or checksum are wrong" {r RESTORE-ASKING c 0 x$payload}
            assert_equal {{restore-asking -4 {write denyoom asking} 1 1 1}} \
                [lmap row [r COMMAND INFO RESTORE-ASKING] {lrange $row 0 5}]
        }
    }
}

# ---- Those who follow ----------------------------------------------------------------------------------------------

start_server [list overrides [concat $quick {appendonly yes appendfsync always}]] {
    set primary [default_client]
    set port_of_primary [srv port]
    start_server {} {
        set replica [default_client]
        follow $replica $port_of_primary

        test "A replica and the log get DEL of what has gone, in the transaction it was in" {
            with_target {"restore b *" "-ERR no"} {
                foreach key {a b c d} {$primary SET $key 1}
                in_step $primary $replica
                set listener [connect]
                $listener MONITOR
                catch {$primary MIGRATE 127.0.0.1 $port "" 0 1000 KEYS a b c}
                $primary MIGRATE 127.0.0.1 $port nothing 0 1000
                $primary MIGRATE 127.0.0.1 $port d 0 1000 COPY
                $primary MULTI
                $primary MIGRATE 127.0.0.1 $port d 0 1000
                $primary SET e 1
                $primary EXEC
                $primary SET end 1
                set seen {}
                while {![string match {*"end"*} [set line [$listener reply]]]} {
                    regsub {^[^"]*} $line {} line
                    if {![string match -nocase {"ping"*} $line]} {append seen "$line "}
                }
                assert_equal {"DEL" "a" "c" "MULTI" "DEL" "d" "SET" "e" "1" "EXEC" } $seen
                assert_same_data $primary $replica
                $listener destroy
            }
            assert_equal {b e end} [names $primary]
            $primary DEBUG LOADAOF
            assert_equal {b e end} [names $primary]
        }

        test "A replica refuses to migrate" {
            assert_error "READONLY *" {$replica MIGRATE 127.0.0.1 1 b 0 1000}
        }
    }
}

# ---- TLS -----------------------------------------------------------------------------------------------------------

source [file join $::support certificates.tcl]
if {[auto_execok openssl] eq ""} {
    test "MIGRATE over TLS" {skip "the openssl program is needed (deps/install --dev)"}
    return
}

set certs [file join $srv::root migrate-certs]
certificates::authority $certs
certificates::authority $certs other
certificates::pair $certs server
certificates::pair $certs stranger {by other}

start_server [list overrides [certificates::settings $certs]] {
    set target [default_client]
    set secure [config_value tls-port]
    set plain [srv port]
    start_server [list overrides [certificates::settings $certs tls-cluster yes]] {
        test "tls-cluster yes: keys go over TLS, on a connection that is kept" {
            make a b c
            for {set i 0} {$i < 3} {incr i} {r SET long:$i [string repeat $i 3000000]}
            set digest [r DEBUG DIGEST]
            assert_equal OK [migrate $secure a 0 2000]
            assert_equal OK [migrate $secure b 0 2000]
            assert_equal OK [migrate $secure "" 0 10000 KEYS c long:0 long:1 long:2]
            assert_equal $digest [$target DEBUG DIGEST]
            assert_equal 0 [r DBSIZE]
            assert_equal 1 [sockets]
        }

        test "A kept TLS connection that has broken is made anew" {
            make a
            $target FLUSHALL
            $target CLIENT KILL TYPE normal SKIPME yes
            assert_equal OK [migrate $secure a 0 2000]
        }

        test "A target without TLS, and one that the authority does not know" {
            make a
            assert_match "(error) IOERR error or timeout *" [migrate $plain a 0 500]
            $target CONFIG SET tls-cert-file $certs/stranger.crt tls-key-file $certs/stranger.key
            $target CLIENT KILL TYPE normal SKIPME yes
            assert_match "(error) IOERR error or timeout *" [migrate $secure a 0 2000 REPLACE]
            assert_equal a [names]
        }

        test "tls-cluster no: without TLS again" {
            r CONFIG SET tls-cluster no
            assert_equal OK [migrate $plain a 0 1000 REPLACE]
        }
    }
}
