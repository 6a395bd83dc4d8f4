# tracking.tcl -- client-side caching: receivers of invalidations, their keys, time, and position among replies.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the pushes of the client: {invalidate KEYS} and similar. A PING makes sure that everything sent before has
# arrived.
proc told {c} {
    $c PING
    return [$c take_pushes]
}

# Returns the keys of all invalidations that the client has got, in order.
proc invalidated {c} {
    set keys {}
    foreach push [told $c] {
        assert_equal invalidate [lindex $push 0]
        lappend keys {*}[lindex $push 1]
    }
    return $keys
}

# Returns the replies to COMMANDS, sent at once, and messages between them, in order: messages begin with ">".
proc heard {c count commands} {
    $c pipeline $commands
    set all {}
    for {set i 0} {$i < $count} {incr i} {
        lassign [$c decode] kind value
        lappend all [expr {$kind eq "push" ? [list > {*}$value] : $value}]
    }
    return $all
}

# Runs BODY with clients that have tracking on, in RESP3.
proc tracking {names options body} {
    uplevel 1 [list with_clients $names "
        foreach name_ {$names} {
            \[set \$name_\] HELLO 3
            \[set \$name_\] CLIENT TRACKING on $options
        }
        $body"]
}

proc totals {} {
    return [lmap field {tracking_clients tracking_total_keys tracking_total_items tracking_total_prefixes} {
        info_field $field
    }]
}

proc flags {c} {
    return [dict get [$c CLIENT TRACKINGINFO] flags]
}

# Waits until the clients of the previous test are closed.
proc nobody_tracks {} {
    wait_for_condition 10 {[info_field tracking_clients] == 0}
}

start_server {each {r FLUSHALL; r SELECT 0; r CONFIG SET tracking-table-max-keys 1000000; nobody_tracks}} {

    # ---- Which keys ---------------------------------------------------------------------------------------------

    test "a key that was read is told once when it changes" {
        tracking c {} {
            r SET k 1
            $c GET k
            $c GET k
            r SET k 2
            assert_equal {{invalidate k}} [told $c]
            r SET k 3
            assert_equal {} [told $c]
        }
    }

    test "a key that is not there is told when it comes" {
        tracking c {} {
            $c GET k
            r SET k 1
            assert_equal k [invalidated $c]
        }
    }

    foreach {what commands} {
        "deleted" {{DEL k}}
        "renamed" {{RENAME k other}}
        "moved to another database" {{MOVE k 1}}
        "given a time" {{EXPIRE k 100}}
        "given a time that is over" {{PEXPIRE k -1}}
        "overwritten" {{COPY other k REPLACE}}
        "changed in another database" {{SELECT 1} {SET k 1}}
        "changed in a transaction" {{MULTI} {APPEND k x} {APPEND k x} {EXEC}}
        "put where another one was" {{SET src 1} {RENAME src k}}
    } {
        test "a key that is $what is told" {
            tracking c {} {
                r MSET k 1 other 1
                $c GET k
                foreach command $commands {r {*}$command}
                r SELECT 0
                assert_equal k [invalidated $c]
            }
        }
    }

    test "reading, and writing that changes nothing, is not told" {
        tracking c {} {
            r SET k 1
            $c GET k
            r GET k
            r SETNX k 2
            r TOUCH k
            r HGETALL other
            assert_equal {} [told $c]
            assert_equal {1 1 1 0} [totals]
        }
    }

    foreach {count command} {
        1 {GET k} 2 {EXISTS k l} 1 {TYPE k} 1 {TTL k} 1 {TOUCH k} 1 {DUMP k} 1 {OBJECT ENCODING k} 1 {MEMORY USAGE k}
        1 {SORT_RO k} 1 {BITFIELD_RO k GET u8 0} 1 {PFCOUNT k} 1 {XREAD STREAMS k 0} 2 {SINTERCARD 2 k l} 2 {LCS k l}
        1 {GEORADIUS_RO k 1 1 1 km} 1 {HSCAN k 0} 3 {MGET k l m} 1 {MGET k k k} 1 {XINFO STREAM k} 1 {LLEN string}
        0 {KEYS *} 0 {SCAN 0} 0 {RANDOMKEY} 0 {DBSIZE} 0 {SORT k} 0 {GETSET k v} 0 {GETDEL k} 0 {GETEX k}
        0 {SET k v GET}
        0 {INCR k} 0 {BITFIELD k GET u8 0} 0 {BLPOP k 0.01} 0 {WATCH k} 0 {COPY k l} 0 {GET} 0 {OBJECT HELP}
        0 {ZRANGESTORE k l 0 1} 0 {XGROUP CREATE k g $ MKSTREAM}
    } {
        test "[lindex $command 0] remembers $count keys ($command)" {
            r SET string x
            tracking c {} {
                $c pipeline [list $command]
                $c tagged_reply
                assert_equal $count [lindex [totals] 1]
            }
        }
    }

    test "a key that expires is told, whoever meets it and though nobody does" {
        tracking c {} {
            r DEBUG SET-ACTIVE-EXPIRE 0
            r SET k 1 PX 50
            $c GET k
            after 100
            assert_equal {} [told $c]
            r GET k
            assert_equal k [invalidated $c]
            r DEBUG SET-ACTIVE-EXPIRE 1
            r SET k 1 PX 50
            $c GET k
            assert_equal {invalidate k} [$c next_push]
        }
    }

    test "a client that meets an expired key is told behind the reply" {
        tracking c {} {
            r DEBUG SET-ACTIVE-EXPIRE 0
            r MSET k 1 l 2
            r PEXPIRE k 50
            $c MGET k l
            after 100
            assert_equal {{(nil) 2} {> invalidate k} PONG} [heard $c 3 {{MGET k l} PING}]
            r DEBUG SET-ACTIVE-EXPIRE 1
        }
    }

    test "a field that expires is told" {
        if {[r COMMAND INFO HPEXPIRE] eq "(nil)"} {skip "no times of fields"}
        tracking c {} {
            r HSET k f 1 g 2
            r HPEXPIRE k 50 FIELDS 1 f
            $c HGETALL k
            assert_equal {invalidate k} [$c next_push]
        }
    }

    test "a key that is evicted is told" {
        tracking c {} {
            r SET k 1
            $c GET k
            with_config {maxmemory-policy allkeys-random} {
                with_config {maxmemory 1} {
                    assert_equal {invalidate k} [$c next_push]
                }
            }
        }
    }

    test "FLUSHALL and FLUSHDB, of whatever database, tell everybody to forget everything" {
        tracking {c d} {} {
            with_clients silent {
                $c GET k
                foreach {db command} {0 FLUSHALL 0 {FLUSHALL ASYNC} 0 FLUSHDB 1 FLUSHDB} {
                    r SELECT $db
                    r {*}$command
                    assert_equal {{{invalidate (nil)}} {{invalidate (nil)}}} [list [told $c] [told $d]]
                }
                assert_equal {} [told $silent]
                assert_equal {2 0 0 0} [totals]
                r SELECT 0
                r SET k 1
                assert_equal {} [told $c]
            }
        }
    }

    test "SWAPDB tells nobody, and forgets nothing" {
        tracking c {} {
            r SET k 1
            $c GET k
            r SWAPDB 0 1
            assert_equal {} [told $c]
            r SET k 1
            assert_equal k [invalidated $c]
            r SWAPDB 0 1
        }
    }

    # 9.1.2 reports only some, a fault that later releases have corrected.
    test "consumer groups: what changes them is told" {
        tracking c {} {
            r XADD k 1-1 f v
            foreach command {
                {XGROUP CREATE k g 0} {XGROUP SETID k g 0} {XGROUP CREATECONSUMER k g me}
                {XREADGROUP GROUP g me STREAMS k >} {XCLAIM k g you 0 1-1} {XACK k g 1-1} {XGROUP DESTROY k g}
            } {
                $c XINFO STREAM k
                r {*}$command
                assert_equal [list $command k] [list $command [invalidated $c]]
            }
        }
    }

    # ---- Order --------------------------------------------------------------------------------------------------

    test "what a client changes itself is told behind the reply, before that of the next command" {
        tracking c {} {
            assert_equal {(nil) OK {> invalidate k} 1 OK {> invalidate k} PONG} \
                [heard $c 7 {{GET k} {SET k 1} {GET k} {SET k 2} PING}]
            assert_equal {{2 (nil)} OK {> invalidate k} {> invalidate l} PONG} \
                [heard $c 5 {{MGET k l} {MSET k 1 l 2} PING}]
        }
    }

    test "of a transaction it is told behind the reply of EXEC" {
        tracking c {} {
            set queued [list OK {*}[lrepeat 5 QUEUED]]
            assert_equal [list {*}$queued {(nil) OK 1 OK (nil)} {> invalidate k} {> invalidate (nil)} PONG] \
                [heard $c 10 {MULTI {GET k} {SET k 1} {GET k} FLUSHALL {GET k} EXEC PING}]
            r SET k 5
            assert_equal k [invalidated $c]
        }
    }

    test "FLUSHALL: the own reply first" {
        tracking c {} {
            assert_equal {(nil) OK {> invalidate (nil)} PONG} [heard $c 4 {{GET k} FLUSHALL PING}]
        }
    }

    test "what others change while a transaction is queued comes between its replies" {
        tracking c {} {
            $c GET k
            $c MULTI
            r SET k 1
            assert_equal {invalidate k} [$c next_push]
            assert_equal {QUEUED 1} [list [$c GET k] [$c EXEC]]
        }
    }

    test "a client that waits is told at once, and of what its own command does behind its reply" {
        tracking c {} {
            $c LLEN l
            $c LLEN dst
            set before [info_field blocked_clients]
            $c send BLMOVE l dst LEFT LEFT 0
            wait_for_condition 10 {[info_field blocked_clients] == $before + 1}
            r RPUSH l x
            assert_equal {{> invalidate l} x {> invalidate dst} PONG} [heard $c 4 PING]
        }
    }

    test "XREAD BLOCK remembers its keys when it waits, and again when it is served" {
        tracking c OPTIN {
            $c CLIENT CACHING yes
            $c send XREAD BLOCK 0 STREAMS s $
            wait_for_condition 10 {[lindex [totals] 1] == 1}
            r XADD s 1-1 f v
            assert_equal {{> invalidate s} {s {{1-1 {f v}}}}} [heard $c 2 {}]
            r XADD s 1-2 f v
            assert_equal s [invalidated $c]
            assert_equal {on optin} [flags $c]
        }
    }

    test "messages come although replies are off" {
        tracking c {} {
            $c GET k
            $c send CLIENT REPLY OFF
            r SET k 1
            assert_equal {invalidate k} [$c next_push]
            $c pipeline {{GET k} {SET k 1} PING {CLIENT REPLY ON}}
            assert_equal {{> invalidate k} OK} [heard $c 2 {}]
            $c GET k
            assert_equal {{> invalidate k} PONG} [heard $c 2 {{CLIENT REPLY SKIP} {SET k 1} PING}]
        }
    }

    test "a message never stands within a reply, however long it is" {
        tracking c {} {
            set keys [lmap i [lrepeat 300 x] {incr n; string cat key $n}]
            foreach key $keys {r SET $key [string repeat $key 100]}
            $c MGET {*}$keys
            $c MULTI
            $c MGET {*}$keys
            $c MSET {*}[concat {*}[lmap key $keys {list $key 1}]]
            $c MGET {*}$keys
            assert_equal [list [lmap key $keys {string repeat $key 100}] OK [lrepeat 300 1]] [$c EXEC]
            assert_equal $keys [invalidated $c]
        }
    }

    # ---- NOLOOP, OPTIN, OPTOUT -----------------------------------------------------------------------------------

    test "NOLOOP: what a client changes itself is told to the others only, and forgotten" {
        tracking {c d} NOLOOP {
            $c GET k
            $d GET k
            $c SET k 1
            assert_equal {{} k} [list [invalidated $c] [invalidated $d]]
            $d SET k 2
            assert_equal {} [told $c]
            assert_equal {2 0 0 0} [totals]
        }
    }

    test "NOLOOP: FLUSHALL is told all the same" {
        tracking c NOLOOP {
            $c FLUSHALL
            assert_equal {{invalidate (nil)}} [told $c]
        }
    }

    # Returns the invalidations of keys k, l, m when each is changed after COMMANDS.
    proc remembered {options commands} {
        tracking c $options {
            r MSET k 1 l 2 m 3
            $c pipeline $commands
            foreach command $commands {$c tagged_reply}
            r MSET k 1 l 2 m 3
            return [invalidated $c]
        }
    }

    foreach {options commands keys} {
        OPTIN {{GET k}} {}
        OPTIN {{CLIENT CACHING yes} {GET k} {GET l}} k
        OPTIN {{client caching YES} {MGET k l} {GET m}} {k l}
        OPTIN {{CLIENT CACHING yes} PING {GET k}} {}
        OPTIN {{CLIENT CACHING yes} NOTHING {GET k}} {}
        OPTIN {{CLIENT CACHING yes} GET {GET k}} {}
        OPTIN {{CLIENT CACHING yes} {CLIENT NOTHING} {GET k}} {}
        OPTIN {{CLIENT CACHING yes} {CLIENT ID} {GET k}} k
        OPTIN {{CLIENT CACHING yes} {CLIENT CACHING} {GET k}} k
        OPTIN {{CLIENT CACHING yes} {CLIENT CACHING no} {GET k}} k
        OPTIN {{CLIENT CACHING yes} {CLIENT TRACKING on OPTIN} {GET k}} k
        OPTIN {{CLIENT CACHING yes} MULTI {GET k} {GET l} EXEC {GET m}} {k l}
        OPTIN {MULTI {GET k} {CLIENT CACHING yes} PING {GET l} EXEC {GET m}} l
        OPTIN {{CLIENT CACHING yes} MULTI DISCARD {GET k}} {}
        OPTIN {{CLIENT CACHING yes} MULTI {GET k} DISCARD {GET k}} {}
        OPTIN {{CLIENT CACHING yes} {WATCH k} MULTI {GET k} EXEC} {}
        OPTOUT {{GET k}} k
        OPTOUT {{CLIENT CACHING no} {GET k} {GET l}} l
        OPTOUT {{CLIENT CACHING no} MULTI {GET k} {GET l} EXEC {GET m}} m
        OPTOUT {MULTI {GET k} {CLIENT CACHING no} {GET l} EXEC {GET m}} {k m}
        {} {{CLIENT TRACKING off} {GET k} {CLIENT TRACKING on} {GET l}} l
        {} {{GET k} {CLIENT TRACKING off} {CLIENT TRACKING on} {GET l}} {k l}
    } {
        test "$options [join $commands {; }]: {$keys}" {
            assert_equal $keys [remembered $options $commands]
        }
    }

    # ---- BCAST ----------------------------------------------------------------------------------------------------

    test "BCAST tells of all keys, those of a command as one message in their order" {
        tracking c BCAST {
            r MSET zz 1 b 1 aaa 1 a 1
            assert_equal {{invalidate {a aaa b zz}}} [told $c]
            r SELECT 1
            r SET k 1
            r SELECT 0
            assert_equal k [invalidated $c]
            assert_equal {1 0 0 1} [totals]
        }
    }

    test "BCAST with prefixes tells of keys with one of them, a message for each" {
        tracking c {BCAST PREFIX foo: PREFIX bar:} {
            tracking d {BCAST PREFIX f PREFIX b} {
                r MSET foo:2 1 bar:1 1 zap 1 foo:1 2 foo 1 foo: 1
                assert_equal {{invalidate bar:1} {invalidate {foo: foo:1 foo:2}}} [told $c]
                assert_equal {{invalidate bar:1} {invalidate {foo foo: foo:1 foo:2}}} [told $d]
                assert_equal {2 0 0 4} [totals]
                $c CLIENT TRACKING off
                assert_equal {1 0 0 2} [totals]
                r SET foo:1 1
                assert_equal {{} foo:1} [list [invalidated $c] [invalidated $d]]
            }
        }
        wait_for_condition 10 {[totals] eq {0 0 0 0}}
    }

    test "BCAST: own changes behind the replies of all that came together, FLUSHALL at once" {
        tracking c BCAST {
            assert_equal {OK PONG OK OK {> invalidate {k l}}} [heard $c 5 {{SET k 1} PING {SET l 1} {SET k 2}}]
            assert_equal {OK OK {> invalidate (nil)} PONG {> invalidate k}} [heard $c 5 {{SET k 1} FLUSHALL PING}]
            assert_equal {OK QUEUED QUEUED {OK OK} PONG {> invalidate {k l}}} \
                [heard $c 6 {MULTI {SET k 1} {SET l 1} EXEC PING}]
        }
    }

    test "BCAST NOLOOP leaves out what the client was the last to change" {
        tracking {c d} {BCAST NOLOOP} {
            r SET k 1
            assert_equal {k k} [list [invalidated $c] [invalidated $d]]
            $c MSET k 2 l 2
            assert_equal {{} {{invalidate {k l}}}} [list [told $c] [told $d]]
        }
    }

    test "BCAST does not tell names of keys that the client's user may not read" {
        r ACL SETUSER u reset on nopass &* +@all ~a* %R~r* %W~w* (~in0* +get db=0)
        tracking c BCAST {
            $c AUTH u x
            $c CLIENT TRACKING off
            $c CLIENT TRACKING on BCAST
            r MSET a1 1 b1 1 r1 1 w1 1
            assert_equal {{invalidate {a1 r1}}} [told $c]
            r SET b1 2
            assert_equal {} [told $c]
            $c CLIENT TRACKING on BCAST NOLOOP
            $c SET a1 2
            r MSET a1 3 b1 3
            assert_equal a1 [invalidated $c]
            # The rules at this moment count.
            r ACL SETUSER u ~b*
            r SET b1 4
            assert_equal b1 [invalidated $c]
            r ACL SETUSER u +@all ~* &* alldbs
            r SET x 1
            assert_equal x [invalidated $c]
        }
        r ACL DELUSER u
    }

    test "BCAST: nor of databases that it may not read; where that is not known it forgets everything" {
        r ACL SETUSER u reset on nopass &* +@all ~* db=1
        tracking c BCAST {
            $c AUTH u x
            r SET k 1
            assert_equal {} [told $c]
            r SELECT 1
            r SET k 1
            assert_equal k [invalidated $c]
            r SELECT 0
            r MULTI
            r SET l 1
            r SELECT 1
            r SET m 1
            r EXEC
            assert_equal {{invalidate (nil)}} [told $c]
            r SELECT 0
        }
        r ACL DELUSER u
    }

    test "BCAST: no reading is remembered, and what was read before is not told twice" {
        tracking c {} {
            $c GET k
            $c CLIENT TRACKING off
            $c CLIENT TRACKING on BCAST
            $c GET l
            r MSET k 1 l 1
            assert_equal {{invalidate {k l}}} [told $c]
            assert_equal {1 0 0 1} [totals]
        }
    }

    test "BCAST that is turned off has nothing more to tell" {
        tracking c BCAST {
            assert_equal {OK OK PONG} [heard $c 3 {{SET k 1} {CLIENT TRACKING off} PING}]
            assert_equal {} [told $c]
        }
    }

    foreach {mode prefixes error} {
        {PREFIX a PREFIX ab} {} {Prefix 'a' overlaps with another provided prefix 'ab'}
        {PREFIX ab PREFIX a} {} {Prefix 'ab' overlaps with another provided prefix 'a'}
        {PREFIX a PREFIX b PREFIX a} {} {Prefix 'a' overlaps with another provided prefix 'a'}
        {PREFIX abc PREFIX x PREFIX ab PREFIX a} {} {Prefix 'abc' overlaps with another provided prefix 'ab'}
        {PREFIX b PREFIX ac PREFIX abd PREFIX a PREFIX ab} {} {Prefix 'ac' overlaps with another provided prefix 'a'}
        {PREFIX b PREFIX c PREFIX {} PREFIX b} {} {Prefix 'b' overlaps with another provided prefix ''}
        {PREFIX b} {foo bar} {}
        {PREFIX fo} {foo bar} {Prefix 'fo' overlaps with an existing prefix 'foo'}
        {PREFIX foo} {foo bar} {Prefix 'foo' overlaps with an existing prefix 'foo'}
        {PREFIX zap PREFIX food} {foo bar} {Prefix 'food' overlaps with an existing prefix 'foo'}
        {PREFIX {}} {foo bar} {Prefix '' overlaps with an existing prefix 'bar'}
        {PREFIX x} {{}} {Prefix 'x' overlaps with an existing prefix ''}
    } {
        if {$mode eq "PREFIX b"} {set error "Prefix 'b' overlaps with an existing prefix 'bar'"}
        test "$mode is refused beside {$prefixes}" {
            with_clients c {
                $c HELLO 3
                if {[llength $prefixes]} {
                    $c CLIENT TRACKING on BCAST {*}[concat {*}[lmap p $prefixes {list PREFIX $p}]]
                }
                set before [$c CLIENT TRACKINGINFO]
                assert_error "ERR $error. Prefixes for a single client must not overlap." {
                    $c CLIENT TRACKING on BCAST {*}$mode
                }
                assert_equal $before [$c CLIENT TRACKINGINFO]
            }
        }
    }

    test "prefixes add up, and BCAST without any stands for all keys" {
        tracking c {BCAST PREFIX foo PREFIX bar} {
            $c CLIENT TRACKING on BCAST PREFIX zap
            $c CLIENT TRACKING on BCAST
            $c CLIENT TRACKING on BCAST NOLOOP
            assert_equal {flags {on bcast noloop} redirect 0 prefixes {{} bar foo zap}} [$c CLIENT TRACKINGINFO]
            r MSET foo1 1 bar1 1 other 1
            assert_equal {{invalidate {bar1 foo1 other}} {invalidate bar1} {invalidate foo1}} [told $c]
        }
    }

    # ---- REDIRECT -------------------------------------------------------------------------------------------------

    # Returns the time of adding many prefixes, by the server's statistics.
    proc prefixes_us {c step} {
        set words {}
        for {set i 1} {$i <= 200000} {incr i} {lappend words PREFIX [format p%07d [expr {600000 + $step * $i}]]}
        $c CONFIG RESETSTAT
        $c CLIENT TRACKING on BCAST {*}$words
        assert {[regexp {cmdstat_client\|tracking:calls=1,usec=(\d+),} [$c INFO commandstats] -> us]}
        return $us
    }

    # It took a hundred times as long when each prefix moved all those after it.
    test "200,000 prefixes in falling order take no longer than in rising order" {
        set rising_us 0
        with_clients c {set rising_us [prefixes_us $c 2]}
        with_clients c {
            assert {[prefixes_us $c -2] < 20 * $rising_us}
            $c CLIENT TRACKING on BCAST PREFIX p0999999 PREFIX p0200003 PREFIX a PREFIX z
            set all [lindex [$c CLIENT TRACKINGINFO] 5]
            assert_equal {200004 a p0200000 p0200002 p0200003 p0599996 p0599998 p0999999 z} \
                [concat [llength $all] [lrange $all 0 3] [lrange $all end-3 end]]
            assert_equal $all [lsort $all]
        }
    }

    test "REDIRECT: another client gets the messages" {
        tracking c {} {
            with_clients {source other} {
                $source CLIENT TRACKING on REDIRECT [$c CLIENT ID]
                $source GET k
                r SET k 1
                assert_equal {k {}} [list [invalidated $c] [told $source]]
                $source GET k
                assert_equal {OK {> invalidate k} PONG} [heard $c 3 {{SET k 1} PING}]
                $source GET k
                assert_equal {OK QUEUED QUEUED {OK PONG} {> invalidate k}} [heard $c 5 {MULTI {SET k 1} PING EXEC}]
                $source GET k
                $c GET k
                r SET k 1
                assert_equal {k k} [invalidated $c]
            }
        }
    }

    test "REDIRECT NOLOOP: it is the reading client that is not told of its own changes" {
        tracking c {} {
            with_clients source {
                $source CLIENT TRACKING on NOLOOP REDIRECT [$c CLIENT ID]
                $source GET k
                $source SET k 1
                assert_equal {} [told $c]
                $source GET k
                $c SET k 1
                assert_equal k [invalidated $c]
            }
        }
    }

    test "REDIRECT to a RESP2 client: as a message of __redis__:invalidate while it is subscribed to something" {
        need_command SUBSCRIBE
        with_clients {source target} {
            $source CLIENT TRACKING on REDIRECT [$target CLIENT ID]
            $source GET k
            r SET k 1
            assert_equal PONG [$target PING]
            $target SUBSCRIBE __redis__:invalidate
            $source GET k
            r SET k 1
            set heading "*3\r\n\$7\r\nmessage\r\n\$20\r\n__redis__:invalidate\r\n"
            assert_equal "${heading}*1\r\n\$1\r\nk\r\n" [$target raw_reply]
            $source GET k
            $source SET k 1
            assert_equal {message __redis__:invalidate k} [$target reply]
            r FLUSHALL
            assert_equal "${heading}\$-1\r\n" [$target raw_reply]
            $target UNSUBSCRIBE
            $target SSUBSCRIBE x
            $source GET k
            r SET k 1
            assert_equal {message __redis__:invalidate k} [$target reply]
            $target SUNSUBSCRIBE
            $source GET k
            r SET k 1
            assert_equal PONG [$target PING]
        }
    }

    test "a RESP2 client without REDIRECT is told nothing" {
        with_clients c {
            $c CLIENT TRACKING on
            $c GET k
            assert_equal {1 1 1 0} [totals]
            r SET k 1
            r FLUSHALL
            assert_equal PONG [$c PING]
            assert_equal {1 0 0 0} [totals]
        }
    }

    test "a target that has gone: tracking-redir-broken for each message, until tracking is set anew" {
        tracking c {} {
            with_clients target {
                set id [$target CLIENT ID]
                $c CLIENT TRACKING on REDIRECT $id
                $target CLIENT TRACKING on REDIRECT [$c CLIENT ID]
            }
            wait_for_condition 10 {[r CLIENT LIST ID $id] eq ""}
            assert_equal {on} [flags $c]
            $c GET k
            r SET k 1
            assert_equal [list [list tracking-redir-broken $id]] [told $c]
            assert_equal [list {on broken_redirect} $id tR $id] [list [flags $c] [$c CLIENT GETREDIR] \
                [client_field [$c CLIENT INFO] flags] [client_field [$c CLIENT INFO] redir]]
            $c GET k
            assert_equal [list OK [list > tracking-redir-broken $id] PONG] [heard $c 3 {{SET k 1} PING}]
            r FLUSHALL
            assert_equal [list [list tracking-redir-broken $id]] [told $c]
            $c CLIENT TRACKING on
            assert_equal {on t} [list [flags $c] [client_field [$c CLIENT INFO] flags]]
        }
    }

    test "a RESP2 client whose target has gone is told nothing, and shows it" {
        with_clients c {
            with_clients target {
                set id [$target CLIENT ID]
                $c CLIENT TRACKING on BCAST REDIRECT $id
            }
            wait_for_condition 10 {[r CLIENT LIST ID $id] eq ""}
            r SET k 1
            assert_equal PONG [$c PING]
            assert_equal {on bcast broken_redirect} [dict get [$c CLIENT TRACKINGINFO] flags]
            assert_equal tRB [client_field [$c CLIENT INFO] flags]
        }
    }

    # ---- The commands ---------------------------------------------------------------------------------------------

    set not_switched "before disabling tracking for this client, and then re-enabling it with a different mode."
    set no_client "The client ID you want redirect to does not exist"
    foreach {was arguments error} [subst {
        {} {x} {syntax error}
        {} {on foo} {syntax error}
        {} {on REDIRECT} {syntax error}
        {} {on REDIRECT x} {value is not an integer or out of range}
        {} {on REDIRECT 99999} {$no_client}
        {} {on REDIRECT 0} {$no_client}
        {} {on REDIRECT -1} {$no_client}
        {} {off REDIRECT 99999} {$no_client}
        {} {off foo} {syntax error}
        {} {x foo} {syntax error}
        {} {on PREFIX} {syntax error}
        {} {on PREFIX a} {PREFIX option requires BCAST mode to be enabled}
        {BCAST} {on PREFIX a} {PREFIX option requires BCAST mode to be enabled}
        {} {on OPTIN OPTOUT} {You can't specify both OPTIN mode and OPTOUT mode}
        {} {on BCAST OPTIN} {OPTIN and OPTOUT are not compatible with BCAST}
        {} {on BCAST OPTOUT OPTIN} {OPTIN and OPTOUT are not compatible with BCAST}
        {NOLOOP} {on BCAST} {You can't switch BCAST mode on/off $not_switched}
        {NOLOOP} {on BCAST OPTIN} {You can't switch BCAST mode on/off $not_switched}
        {BCAST} {on} {You can't switch BCAST mode on/off $not_switched}
        {BCAST} {on OPTIN OPTOUT} {You can't switch BCAST mode on/off $not_switched}
        {OPTIN} {on OPTOUT} {You can't switch OPTIN/OPTOUT mode $not_switched}
        {OPTOUT} {on OPTIN} {You can't switch OPTIN/OPTOUT mode $not_switched}
        {OPTOUT} {on OPTIN OPTOUT} {You can't specify both OPTIN mode and OPTOUT mode}
    }] {
        test "CLIENT TRACKING $arguments is refused after $was" {
            with_clients c {
                $c HELLO 3
                if {$was ne ""} {$c CLIENT TRACKING on {*}$was}
                set before [$c CLIENT TRACKINGINFO]
                assert_error "ERR $error" {$c CLIENT TRACKING {*}$arguments}
                assert_equal $before [$c CLIENT TRACKINGINFO]
            }
        }
    }

    test "CLIENT TRACKING off reads its options, and takes no notice of them" {
        with_clients c {
            $c CLIENT TRACKING off
            $c CLIENT TRACKING off PREFIX a OPTIN OPTOUT
            assert_equal {flags off redirect -1 prefixes {}} [$c CLIENT TRACKINGINFO]
        }
    }

    test "CLIENT TRACKING: one client to redirect to" {
        with_clients {c target} {
            set id [$target CLIENT ID]
            assert_error "ERR A client can only redirect to a single other client" {
                $c CLIENT TRACKING on REDIRECT $id REDIRECT 0
            }
            $c CLIENT TRACKING on REDIRECT [$c CLIENT ID]
            assert_equal [$c CLIENT ID] [$c CLIENT GETREDIR]
            $c CLIENT TRACKING on
            assert_equal 0 [$c CLIENT GETREDIR]
            $c CLIENT TRACKING off
            assert_equal -1 [$c CLIENT GETREDIR]
        }
    }

    test "CLIENT CACHING: only where it has a meaning" {
        with_clients c {
            set error "ERR CLIENT CACHING can be called only when the client is in tracking mode with OPTIN or OPTOUT"
            append error " mode enabled"
            assert_error $error {$c CLIENT CACHING yes}
            assert_error $error {$c CLIENT CACHING foo}
            foreach {mode no_yes no_no} {{} 1 1 OPTIN 0 1 OPTOUT 1 0 BCAST 1 1} {
                $c CLIENT TRACKING on {*}$mode
                assert_error "ERR syntax error" {$c CLIENT CACHING foo}
                if {$no_yes} {
                    assert_error "ERR CLIENT CACHING YES is only valid when tracking is enabled in OPTIN mode." {
                        $c CLIENT CACHING yes
                    }
                }
                if {$no_no} {
                    assert_error "ERR CLIENT CACHING NO is only valid when tracking is enabled in OPTOUT mode." {
                        $c CLIENT CACHING no
                    }
                }
                $c CLIENT TRACKING off
            }
        }
    }

    test "CLIENT TRACKINGINFO shows all that is set" {
        with_clients {c target} {
            $c HELLO 3
            set id [$target CLIENT ID]
            foreach {mode caching flags} {
                {} {} on
                {NOLOOP OPTIN} {} {on optin noloop}
                {NOLOOP OPTIN} yes {on optin caching-yes noloop}
                {OPTOUT} no {on optout caching-no}
                {BCAST PREFIX b PREFIX a} {} {on bcast}
            } {
                $c CLIENT TRACKING on {*}$mode REDIRECT $id
                if {$caching ne ""} {$c CLIENT CACHING $caching}
                set prefixes [expr {"PREFIX" in $mode ? {a b} : {}}]
                assert_equal [list flags $flags redirect $id prefixes $prefixes] [$c CLIENT TRACKINGINFO]
                assert_equal $id [client_field [r CLIENT LIST ID [$c CLIENT ID]] redir]
                $c CLIENT TRACKING off
            }
        }
    }

    test "CLIENT LIST: flags, redir, and memory of prefixes" {
        with_clients c {
            proc field {name} {upvar c c; client_field [r CLIENT LIST ID [$c CLIENT ID]] $name}
            assert_equal {N -1} [list [field flags] [field redir]]
            $c CLIENT TRACKING on
            assert_equal {t 0} [list [field flags] [field redir]]
            $c CLIENT TRACKING off
            $c CLIENT TRACKING on BCAST PREFIX [string repeat x 10000]
            assert_equal tB [field flags]
            set with [field tot-mem]
            $c CLIENT TRACKING off
            assert {[field tot-mem] < $with - 9000}
        }
    }

    test "RESET ends tracking" {
        tracking c {} {
            $c GET k
            assert_equal {OK {> invalidate k} RESET PONG} [heard $c 4 {{SET k 1} RESET PING}]
            assert_equal {flags off redirect -1 prefixes {}} [$c CLIENT TRACKINGINFO]
            assert_equal 0 [lindex [totals] 0]
        }
    }

    # ---- How much -------------------------------------------------------------------------------------------------

    test "total items are readers of all keys; those of clients that have gone are found out late" {
        tracking c {} {
            tracking d {} {
                $c MGET a b c
                $d MGET a b
                assert_equal {2 3 5 0} [totals]
            }
            wait_for_condition 10 {[lindex [totals] 0] == 1}
            r MSET a 1 b 1
            assert_equal {1 1 1 0} [totals]
            assert_equal {a b} [invalidated $c]
        }
    }

    test "a key with many readers" {
        set clients {}
        for {set i 0} {$i < 40} {incr i} {
            lappend clients [connect]
            [lindex $clients end] HELLO 3
            [lindex $clients end] CLIENT TRACKING on
        }
        foreach c $clients {$c GET k; $c GET k}
        assert_equal {40 1 40 0} [totals]
        r SET k 1
        foreach c $clients {assert_equal k [invalidated $c]}
        foreach c $clients {$c GET k; $c destroy}
        wait_for_condition 10 {[lindex [totals] 0] == 0}
        r SET k 1
    }

    foreach there {1 0} {
        test "tracking-table-max-keys: what is too much is told as changed (keys that are there: $there)" {
            tracking c {} {
                set keys [lmap i [lrepeat 50 x] {incr n; string cat key $n}]
                if {$there} {r MSET {*}[concat {*}[lmap key $keys {list $key 1}]]}
                r CONFIG SET tracking-table-max-keys 7
                foreach key $keys {$c GET $key}
                wait_for_condition 10 {[totals] eq {1 7 7 0}}
                set forgotten [invalidated $c]
                assert_equal 43 [llength [lsort -unique $forgotten]]
                assert_equal 43 [llength $forgotten]
                r MSET {*}[concat {*}[lmap key $keys {list $key 2}]]
                assert_equal [lsort $keys] [lsort [concat $forgotten [invalidated $c]]]
                $c MGET {*}$keys
                wait_for_condition 10 {[totals] eq {1 7 7 0}}
            }
        }
    }

    test "What a transaction has changed is told to its own client in the protocol in which EXEC ends" {
        foreach {commands messages} {
            {{SET k 1} {HELLO 2}} {}
            {{SET k 1} {HELLO 2} {HELLO 3}} {{> invalidate k}}
            {{SET k 1} {CLIENT TRACKING OFF}} {{> invalidate k}}
            {FLUSHALL {HELLO 2}} {}
            {FLUSHALL {HELLO 2} {HELLO 3}} {{> invalidate (nil)}}
        } {
            r SET k v
            tracking c {} {
                $c GET k
                $c pipeline [list MULTI {*}$commands EXEC {PING end}]
                $c replies [expr {[llength $commands] + 2}]
                assert_equal end [$c reply]
                assert_equal $messages [lmap push [$c take_pushes] {list > {*}$push}]
            }
        }
    }

    test "What a transaction has changed is told to whom its client's messages go when EXEC ends" {
        with_clients {first second} {
            $first HELLO 3
            $second HELLO 3
            tracking c "REDIRECT [$first CLIENT ID]" {
                r SET k v
                r SET l v
                $c MGET k l
                $c MULTI
                $c SET k 1
                $c CLIENT TRACKING ON REDIRECT [$second CLIENT ID]
                $c SET l 1
                $c EXEC
                assert_equal {} [told $first]
                assert_equal {k l} [invalidated $second]
                $c GET k
                $c pipeline {MULTI {SET k 2} {CLIENT TRACKING OFF} {CLIENT GETREDIR} EXEC}
                assert_equal {OK OK -1} [lindex [$c replies 5] end]
                assert_equal {k} [invalidated $second]
                assert_equal {} [$c take_pushes]
                $c CLIENT TRACKING ON REDIRECT [$first CLIENT ID]
                $c GET k
                r CLIENT KILL ID [$first CLIENT ID]
                $c pipeline {MULTI {SET k 3} {CLIENT TRACKING OFF} EXEC {CLIENT INFO}}
                assert_equal R [client_field [lindex [$c replies 5] end] flags]
            }
        }
    }

    test "A client hears of all that its own transaction has changed, however much that is" {
        tracking c {} {
            set keys {}
            for {set i 0} {$i < 200} {incr i} {lappend keys [string repeat x 200]$i}
            $c MGET {*}$keys
            $c pipeline [list MULTI {*}[lmap key $keys {list SET $key 1}] EXEC]
            $c replies 202
            assert_equal $keys [invalidated $c]
        }
    }

    test "tracking-table-max-keys 1, in a transaction, with keys that go meanwhile" {
        r CONFIG SET tracking-table-max-keys 1
        tracking c {} {
            for {set i 0} {$i < 20} {incr i} {
                $c MULTI
                $c MGET a b c d
                $c SET a $i
                $c DEL b
                $c GET a
                assert_equal [list [list $i] 0] [list [lrange [$c EXEC] 3 end] [expr {[lindex [totals] 1] > 1000}]]
            }
            wait_for_condition 10 {[lindex [totals] 1] == 1}
        }
    }

    test "tracking-table-max-keys lowered: the rest goes by and by; 0 is no limit" {
        tracking c {} {
            r CONFIG SET tracking-table-max-keys 0
            $c pipeline [lmap i [lrepeat 3000 x] {incr n; list GET key$n}]
            $c replies 3000
            assert_equal 3000 [lindex [totals] 1]
            r CONFIG SET tracking-table-max-keys 10
            wait_for_condition 20 {[lindex [totals] 1] == 10}
            assert_equal 2990 [llength [invalidated $c]]
        }
    }

    test "a key that has a long name and is not there: whoever has read it may have to forget everything" {
        r CONFIG SET tracking-table-max-keys 1
        tracking c {} {
            $c GET [string repeat x 300]
            $c GET k
            $c GET l
            wait_for_condition 10 {[lindex [totals] 1] == 1}
            foreach push [told $c] {assert_equal invalidate [lindex $push 0]}
        }
    }

    test "many keys are forgotten by FLUSHALL without a pause" {
        tracking c {} {
            for {set round 0} {$round < 2} {incr round} {
                $c pipeline [lmap i [lrepeat 5000 x] {incr n; list GET key$n}]
                $c replies 5000
                assert_equal 5000 [lindex [totals] 1]
                r FLUSHALL
                assert_equal {1 0 0 0} [totals]
                assert_equal {{invalidate (nil)}} [told $c]
            }
        }
    }
}
