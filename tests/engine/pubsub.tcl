# pubsub.tcl -- channels, patterns and shard channels: receivers and order of messages, and the commands that a
# subscriber may send.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns COUNT messages or replies of CLIENT in both protocols: only the first byte distinguishes pushes from replies.
proc messages {client count} {
    set all {}
    for {set i 0} {$i < $count} {incr i} {
        lappend all [lindex [$client decode] 1]
    }
    return $all
}

# Sends COMMAND, which has COUNT replies.
proc ask {client count args} {
    $client send {*}$args
    return [messages $client $count]
}

proc subscriptions {client_id} {
    set line [r CLIENT LIST ID $client_id]
    return [lmap field {sub psub ssub} {client_field $line $field}]
}

proc only_allowed {command} {
    return "ERR Can't execute '$command': only (P|S)SUBSCRIBE / (P|S)UNSUBSCRIBE / PING / QUIT / RESET are allowed in this context"
}

# A closed connection stays subscribed until the server has noticed the close.
start_server {each {wait_for_condition 10 {[info_field pubsub_clients clients] == 0}}} {

    foreach resp {2 3} {

        # ---- Subscribing ----------------------------------------------------------------------------------------

        test "RESP$resp: SUBSCRIBE, PSUBSCRIBE and SSUBSCRIBE tell of each name and how many there are" {
            with_clients c {
                $c HELLO $resp
                assert_equal {{subscribe a 1} {subscribe b 2} {subscribe a 2}} [ask $c 3 SUBSCRIBE a b a]
                assert_equal {{psubscribe a* 3} {psubscribe * 4} {psubscribe a* 4}} [ask $c 3 PSUBSCRIBE a* * a*]
                assert_equal {{ssubscribe a 1} {ssubscribe s 2} {ssubscribe a 2}} [ask $c 3 SSUBSCRIBE a s a]
                assert_equal {{unsubscribe b 3} {unsubscribe none 3}} [ask $c 2 UNSUBSCRIBE b none]
                assert_equal {{punsubscribe * 2} {punsubscribe none 2}} [ask $c 2 PUNSUBSCRIBE * none]
                assert_equal {{sunsubscribe s 1} {sunsubscribe b 1}} [ask $c 2 SUNSUBSCRIBE s b]
                assert_equal {{unsubscribe a 1}} [ask $c 1 UNSUBSCRIBE]
                assert_equal {{punsubscribe a* 0}} [ask $c 1 PUNSUBSCRIBE]
                assert_equal {{sunsubscribe a 0}} [ask $c 1 SUNSUBSCRIBE]
            }
        }

        test "RESP$resp: who is subscribed to nothing is told so" {
            with_clients c {
                $c HELLO $resp
                foreach command {UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE} {
                    assert_equal [list [list [string tolower $command] (nil) 0]] [ask $c 1 $command]
                }
            }
        }

        test "RESP$resp: without a name all names are left, each told with what is left" {
            with_clients c {
                $c HELLO $resp
                set names [lmap i [split [string repeat x 50] ""] {incr n}]
                ask $c 50 SUBSCRIBE {*}$names
                set told [ask $c 50 UNSUBSCRIBE]
                assert_equal [lreverse [lsort -integer [concat 0 [lrange $names 0 end-1]]]] [lmap t $told {lindex $t 2}]
                assert_same_set $names [lmap t $told {lindex $t 1}]
                unset n
            }
        }

        # ---- Messages -------------------------------------------------------------------------------------------

        test "RESP$resp: a message goes to subscribers of the channel and of patterns, once for each" {
            with_clients {c d} {
                $c HELLO $resp
                ask $c 2 SUBSCRIBE news other
                ask $c 3 PSUBSCRIBE n?ws * x*
                ask $d 1 SUBSCRIBE news
                assert_equal 4 [r PUBLISH news hello]
                assert_equal {{message news hello}} [messages $d 1]
                assert_equal {message news hello} [lindex [set got [messages $c 3]] 0]
                assert_same_set {{pmessage n?ws news hello} {pmessage * news hello}} [lrange $got 1 2]
                assert_equal 1 [r PUBLISH nothing there]
                assert_equal {{pmessage * nothing there}} [messages $c 1]
            }
        }

        test "RESP$resp: the bytes of a message" {
            set begin [expr {$resp == 3 ? ">" : "*"}]
            with_clients c {
                $c HELLO $resp
                assert_equal "${begin}3\r\n\$9\r\nsubscribe\r\n\$1\r\na\r\n:1\r\n" [$c raw SUBSCRIBE a]
                assert_equal "${begin}3\r\n\$10\r\nssubscribe\r\n\$1\r\na\r\n:1\r\n" [$c raw SSUBSCRIBE a]
                r PUBLISH a "x\r\ny"
                assert_equal "${begin}3\r\n\$7\r\nmessage\r\n\$1\r\na\r\n\$4\r\nx\r\ny\r\n" [$c raw_reply]
                r SPUBLISH a ""
                assert_equal "${begin}3\r\n\$8\r\nsmessage\r\n\$1\r\na\r\n\$0\r\n\r\n" [$c raw_reply]
                $c raw UNSUBSCRIBE
                $c raw PSUBSCRIBE "\\a"
                r PUBLISH a b
                assert_equal "${begin}4\r\n\$8\r\npmessage\r\n\$2\r\n\\a\r\n\$1\r\na\r\n\$1\r\nb\r\n" [$c raw_reply]
                assert_equal "${begin}3\r\n\$12\r\npunsubscribe\r\n\$2\r\n\\a\r\n:0\r\n" [$c raw PUNSUBSCRIBE]
                $c raw SUNSUBSCRIBE
                assert_equal "${begin}3\r\n\$11\r\nunsubscribe\r\n[expr {$resp == 3 ? "_" : "\$-1"}]\r\n:0\r\n" [$c raw UNSUBSCRIBE]
            }
        }

        test "RESP$resp: messages of any size arrive whole, to several subscribers" {
            with_clients {a b} {
                foreach c {a b} {
                    [set $c] HELLO $resp
                    ask [set $c] 1 SUBSCRIBE big
                    ask [set $c] 1 PSUBSCRIBE b*
                }
                foreach size {0 1 100 4095 4096 16384 40000 1000000 3000000} {
                    set text [string repeat z $size]
                    assert_equal 4 [r PUBLISH big $text]
                    foreach c {a b} {
                        assert_equal [list [list message big $text] [list pmessage b* big $text]] [messages [set $c] 2]
                    }
                }
            }
        }
    }

    test "shard channels are names apart from channels and patterns" {
        with_clients c {
            ask $c 1 SUBSCRIBE a
            ask $c 1 PSUBSCRIBE *
            ask $c 1 SSUBSCRIBE a
            assert_equal 1 [r SPUBLISH a x]
            assert_equal {{smessage a x}} [messages $c 1]
            assert_equal 0 [r SPUBLISH b x]
            assert_equal 2 [r PUBLISH a x]
        }
    }

    test "channels and patterns may be empty, and have any bytes" {
        with_clients c {
            ask $c 2 SUBSCRIBE "" "\x00\xff"
            ask $c 2 PSUBSCRIBE "" "\xff?"
            assert_equal 2 [r PUBLISH "" e]
            assert_equal {{message {} e} {pmessage {} {} e}} [messages $c 2]
            r PUBLISH "\x00\xff" "\x00"
            assert_equal [list [list message "\x00\xff" "\x00"]] [messages $c 1]
            r PUBLISH "\xff\x00" m
            assert_equal [list [list pmessage "\xff?" "\xff\x00" m]] [messages $c 1]
        }
    }

    test "patterns of every form match what they should" {
        foreach {pattern matches not} {
            h?llo {hello hallo} {hllo heello}
            h*llo {hllo heeeello} {hllox}
            h[ae]llo {hello hallo} {hillo}
            h[^e]llo {hallo} {hello}
            h[a-c]llo {hbllo} {hdllo}
            h\\?llo {h?llo} {hello}
            literal {literal} {literally litera}
            {[unclosed} {u n} {[unclosed}
            * {anything} {{}}
            ** {anything} {{}}
            *tail {tail longtail} {tails}
            new* {new news} {ne xnew}
        } {
            with_clients c {
                ask $c 1 PSUBSCRIBE $pattern
                foreach channel $matches {
                    assert_equal "$channel 1" "$channel [r PUBLISH $channel x]"
                    messages $c 1
                }
                foreach channel $not {
                    assert_equal "$channel 0" "$channel [r PUBLISH $channel x]"
                }
                ask $c 1 PUNSUBSCRIBE $pattern ;# the server notices later that the connection is closed
            }
        }
    }

    # A time of the product of the lengths would be minutes for each.
    test "a pattern is compared with a channel in the time that it takes to read both" {
        with_clients c {
            set many [string repeat a 1000000]
            ask $c 3 PSUBSCRIBE *${many}b *${many}b* *[string repeat ?a 400000]b
            assert {[elapsed_ms {assert_equal 0 [r PUBLISH $many$many x]}] < 5000}
            assert {[elapsed_ms {assert_equal 3 [r PUBLISH ${many}${many}b x]}] < 5000}
        }
    }

    # ---- Subscribers of RESP2 -----------------------------------------------------------------------------------

    test "a subscriber of RESP2 may only change its subscriptions, ask for life, and leave" {
        with_clients c {
            ask $c 1 SSUBSCRIBE a
            foreach command {{GET x} {SET x 1} MULTI {HELLO 3} {CLIENT ID} {PUBLISH a x} {PUBSUB NUMPAT} {AUTH x} DISCARD MONITOR} {
                set name [string tolower [lindex $command 0]]
                if {$name in {client pubsub}} {append name |[string tolower [lindex $command 1]]}
                assert_error [only_allowed $name] {$c {*}$command}
            }
            assert_error "EXECABORT Transaction discarded because of: [string range [only_allowed exec] 4 end]" {$c EXEC}
            assert_error "ERR unknown command 'NOSUCH', with args beginning with: " {$c NOSUCH}
            assert_error "ERR wrong number of arguments for 'get' command" {$c GET}
            assert_equal {pong {}} [$c PING]
            assert_equal {pong hello} [$c PING hello]
            assert_equal {{unsubscribe (nil) 0}} [ask $c 1 UNSUBSCRIBE]
            assert_error [only_allowed get] {$c GET x}
            ask $c 1 SUNSUBSCRIBE
            assert_equal (nil) [$c GET x]
            assert_equal PONG [$c PING]
        }
    }

    test "a subscriber of RESP3 may ask for anything" {
        with_clients c {
            $c HELLO 3
            $c raw SUBSCRIBE a
            assert_equal (nil) [$c GET x]
            assert_equal PONG [$c PING]
            assert_equal 1 [$c PUBLISH a x]
            assert_equal {message a x} [$c next_push]
            $c HELLO 2
            assert_error [only_allowed get] {$c GET x}
        }
    }

    # ---- Order --------------------------------------------------------------------------------------------------

    test "a message to oneself follows the reply of PUBLISH, that of EXEC in a transaction" {
        with_clients c {
            $c HELLO 3
            $c raw SUBSCRIBE a
            $c send PUBLISH a 1
            assert_equal {1 {message a 1}} [messages $c 2]
            $c MULTI
            foreach command {{PUBLISH a 2} {GET x} {PUBLISH a 3}} {$c {*}$command}
            $c send EXEC
            assert_equal {{1 (nil) 1} {message a 2} {message a 3}} [messages $c 3]
        }
    }

    test "a large message to oneself does not tear the reply" {
        with_clients c {
            $c HELLO 3
            $c raw SUBSCRIBE a
            foreach size {1000 20000 5000000} {
                set text [string repeat m $size]
                r SET x $text
                $c pipeline [list MULTI {GET x} [list PUBLISH a $text] {GET x} EXEC {GET x}]
                assert_equal [list OK QUEUED QUEUED QUEUED [list $text 1 $text] [list message a $text] $text] [messages $c 7]
            }
            r DEL x
        }
    }

    test "SUBSCRIBE in a transaction replies in its place" {
        with_clients c {
            $c pipeline {MULTI {SUBSCRIBE a b} {PUBLISH a x} UNSUBSCRIBE PING EXEC}
            assert_equal {OK QUEUED QUEUED QUEUED QUEUED} [messages $c 5]
            assert_equal "*4\r\n" [$c raw_bytes 4]
            assert_equal {{subscribe a 1} {subscribe b 2} 1} [messages $c 3]
            assert_equal {1 0} [lmap told [messages $c 2] {lindex $told 2}]
            assert_equal {PONG {message a x}} [messages $c 2]
        }
    }

    test "SSUBSCRIBE does not go into a transaction" {
        with_clients c {
            $c pipeline {MULTI {SSUBSCRIBE a} SUNSUBSCRIBE EXEC}
            assert_equal {OK QUEUED QUEUED {{(error) ERR SSUBSCRIBE isn't allowed for a DENY BLOCKING client} {sunsubscribe (nil) 0}}} \
                [messages $c 4]
        }
    }

    test "messages reach a client that waits for a key" {
        with_clients c {
            $c HELLO 3
            $c raw SUBSCRIBE a
            $c send BLPOP list 0
            wait_for_condition 10 {[info_field blocked_clients clients] == 1}
            r PUBLISH a x
            assert_equal {{message a x}} [messages $c 1]
            r RPUSH list e
            assert_equal {{list e}} [messages $c 1]
        }
    }

    # ---- CLIENT REPLY -------------------------------------------------------------------------------------------

    test "what subscribers are told comes although replies are off" {
        foreach resp {2 3} {
            with_clients c {
                $c HELLO $resp
                $c send CLIENT REPLY OFF
                $c send PING
                assert_equal {{subscribe a 1}} [ask $c 1 SUBSCRIBE a]
                r PUBLISH a x
                assert_equal {{message a x}} [messages $c 1]
                if {$resp == 3} {assert_equal {{message a self}} [ask $c 1 PUBLISH a self]}
                assert_equal {{unsubscribe a 0}} [ask $c 1 UNSUBSCRIBE]
                assert_equal {OK} [ask $c 1 CLIENT REPLY ON]
                $c send CLIENT REPLY SKIP
                assert_equal {{subscribe a 1}} [ask $c 1 SUBSCRIBE a]
            }
        }
    }

    # ---- The end of subscriptions -------------------------------------------------------------------------------

    test "subscriptions end with RESET, with QUIT, with the connection and with CLIENT KILL" {
        with_clients {a b c d} {
            set all [list $a $b $c $d]
            foreach client $all {
                ask $client 2 SUBSCRIBE x y
                ask $client 1 PSUBSCRIBE x*
                ask $client 1 SSUBSCRIBE x
            }
            assert_equal {x 4 y 4} [r PUBSUB NUMSUB x y]
            assert_equal RESET [ask $a 1 RESET]
            assert_equal PONG [$a PING]
            assert_equal {x 3} [r PUBSUB NUMSUB x]
            $b QUIT
            $c destroy
            wait_for_condition 10 {[r PUBSUB NUMSUB x y] eq {x 1 y 1}}
            r pipeline {{CLIENT KILL TYPE pubsub} {PUBLISH x y} {PUBSUB CHANNELS}}
            assert_equal {1 0 {}} [r replies 3]
            assert_equal {0 {}} [list [r PUBSUB NUMPAT] [r PUBSUB SHARDCHANNELS]]
            assert_equal 0 [r PUBLISH x y]
        }
    }

    # ---- Introspection ------------------------------------------------------------------------------------------

    test "PUBSUB tells of channels, their subscribers, and patterns" {
        with_clients {c d} {
            ask $c 3 SUBSCRIBE one two three
            ask $d 1 SUBSCRIBE one
            ask $c 2 PSUBSCRIBE t* o*
            ask $d 1 PSUBSCRIBE t*
            ask $d 2 SSUBSCRIBE one four
            assert_same_set {one two three} [r PUBSUB CHANNELS]
            assert_same_set {two three} [r PUBSUB CHANNELS t*]
            assert_equal {} [r PUBSUB CHANNELS x*]
            assert_equal {one 2 nosuch 0 two 1 one 2} [r PUBSUB NUMSUB one nosuch two one]
            assert_equal {} [r PUBSUB NUMSUB]
            assert_equal 2 [r PUBSUB NUMPAT]
            assert_same_set {one four} [r PUBSUB SHARDCHANNELS]
            assert_equal {four} [r PUBSUB SHARDCHANNELS f*]
            assert_equal {one 1 two 0} [r PUBSUB SHARDNUMSUB one two]
            assert_equal {} [r PUBSUB SHARDNUMSUB]
            assert_equal {3 2 2 2} [lmap f {pubsub_channels pubsub_patterns pubsubshard_channels pubsub_clients} {info_field $f}]
        }
        wait_for_condition 10 {[info_field pubsub_clients] == 0}
        assert_equal {0 0 0} [lmap f {pubsub_channels pubsub_patterns pubsubshard_channels} {info_field $f}]
    }

    test "PUBSUB refuses what it does not know" {
        assert_error "ERR unknown subcommand or wrong number of arguments for 'CHANNELS'. Try PUBSUB HELP." {r PUBSUB CHANNELS a b}
        assert_error "ERR unknown subcommand or wrong number of arguments for 'SHARDCHANNELS'. Try PUBSUB HELP." {
            r PUBSUB SHARDCHANNELS a b
        }
        assert_error "ERR unknown subcommand 'X'. Try PUBSUB HELP." {r PUBSUB X}
        assert_error "ERR wrong number of arguments for 'pubsub|numpat' command" {r PUBSUB NUMPAT x}
        assert_equal "PUBSUB <subcommand> \[<arg> \[value\] \[opt\] ...\]. Subcommands are:" [lindex [r PUBSUB HELP] 0]
    }

    test "CLIENT LIST shows what a client is subscribed to" {
        with_clients c {
            set id [$c CLIENT ID]
            ask $c 3 SUBSCRIBE a b c
            ask $c 2 PSUBSCRIBE a* b*
            ask $c 1 SSUBSCRIBE a
            assert_equal {3 2 1} [subscriptions $id]
            assert_equal P [client_field [r CLIENT LIST ID $id] flags]
            assert_equal $id [client_field [r CLIENT LIST TYPE pubsub] id]
            ask $c 3 UNSUBSCRIBE
            ask $c 2 PUNSUBSCRIBE
            assert_equal P [client_field [r CLIENT LIST ID $id] flags]
            ask $c 1 SUNSUBSCRIBE
            assert_equal {0 0 0} [subscriptions $id]
            assert_equal N [client_field [r CLIENT LIST ID $id] flags]
        }
    }

    # ---- Limits -------------------------------------------------------------------------------------------------
    # (the reference server counts neither large messages that subscribers share nor the names of channels)

    # Publishes MESSAGE to `a` until its one subscriber, which does not read, is closed. Returns the additional memory
    # that the server has used at most.
    proc publish_until_closed {message batch} {
        set before [info_field used_memory]
        set most 0
        for {set i 0} {$i < 200} {incr i} {
            r pipeline [concat [lrepeat $batch [list PUBLISH a $message]] [list {INFO memory}]]
            set most [expr {max($most, [field_of [lindex [r replies [expr {$batch + 1}]] end] used_memory] - $before)}]
            if {[r PUBSUB NUMSUB a] eq {a 0}} {
                return $most
            }
        }
        fail "the subscriber was not closed"
    }

    foreach {what message batch} [list large [string repeat m 1000000] 1 small [string repeat m 100] 1000] {
        test "a subscriber that does not read is closed at the limit of its class ($what messages)" {
            with_config {client-output-buffer-limit {pubsub 8mb 0 0}} {
                with_clients {c other} {
                    $c send SUBSCRIBE a
                    $other HELLO 3
                    wait_for_condition 10 {[r PUBSUB NUMSUB a] eq {a 1}}
                    assert_between 4000000 16000000 [publish_until_closed $message $batch]
                    assert_equal 1 [info_field client_output_buffer_limit_disconnections]
                    assert_equal PONG [$other PING]
                }
                r CONFIG RESETSTAT
            }
        }
    }

    test "a large message is in memory once, however many have not read it" {
        with_config {client-output-buffer-limit {pubsub 100mb 0 0}} {
            with_clients {a b c d e} {
                foreach client [list $a $b $c $d $e] {ask $client 1 SUBSCRIBE a}
                set before [info_field used_memory]
                assert_equal 5 [r PUBLISH a [string repeat m 20000000]]
                assert_between 15000000 50000000 [expr {[info_field used_memory] - $before}]
                foreach client [list $a $b $c $d $e] {
                    assert_equal 20000000 [string length [lindex [messages $client 1] 0 2]]
                }
            }
        }
    }

    test "what a client is subscribed to is counted as its memory" {
        with_clients c {
            set id [$c CLIENT ID]
            set before [client_field [r CLIENT LIST ID $id] tot-mem]
            foreach command {SUBSCRIBE PSUBSCRIBE SSUBSCRIBE} {
                set names {}
                for {set i 0} {$i < 1000} {incr i} {lappend names "name of a channel or pattern, some bytes $i"}
                ask $c 1000 $command {*}$names
            }
            assert_between 20000 1000000 [expr {[client_field [r CLIENT LIST ID $id] tot-mem] - $before}]
            foreach command {UNSUBSCRIBE PUNSUBSCRIBE SUNSUBSCRIBE} {ask $c 1000 $command}
            assert_between -50000 120000 [expr {[client_field [r CLIENT LIST ID $id] tot-mem] - $before}]
        }
    }

    test "a client is evicted for what it is subscribed to, unless it must not be" {
        with_config {maxmemory-clients 2mb} {
            with_clients {spared c} {
                $spared CLIENT NO-EVICT on
                foreach client [list $spared $c] {
                    set names {}
                    for {set i 0} {$i < 1000} {incr i} {lappend names [string repeat n 4000]$i}
                    catch {$client send SUBSCRIBE {*}$names}
                }
                assert [$c closed_within 10000]
                assert_equal 1000 [llength [messages $spared 1000]]
                assert_equal 1000 [info_field pubsub_channels]
            }
        }
    }

    # ---- Many ---------------------------------------------------------------------------------------------------

    test "20,000 channels, shard channels and patterns of a client, and their end" {
        with_clients c {
            set names {}
            for {set i 0} {$i < 20000} {incr i} {lappend names $i.*}
            foreach {command many} {SUBSCRIBE 20000 PSUBSCRIBE 40000 SSUBSCRIBE 20000} {
                assert_equal [list [string tolower $command] 19999.* $many] [lindex [ask $c 20000 $command {*}$names] end]
            }
            assert_equal 1 [r PUBLISH 777.x m]
            assert_equal 2 [r PUBLISH 7777.* m]
            messages $c 3
            $c destroy
            wait_for_condition 30 {[info_field pubsub_clients] == 0}
            assert_equal {0 0 0} [lmap f {pubsub_channels pubsub_patterns pubsubshard_channels} {info_field $f}]
        }
    }
}
