# strange_primary.tcl -- a primary that sends invalid data: none of it crashes a replica, or makes it accept data that
# it does not have.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

# ---- A primary with given output -----------

namespace eval primary {
    variable answer "" channel "" input "" asked "" acks {} links 0
    # An empty dataset, without a checksum.
    variable empty "REDIS0011\xff\0\0\0\0\0\0\0\0"

    proc accepted {connection address port} {
        variable channel $connection
        variable input ""
        variable links
        incr links
        fconfigure $connection -blocking 0 -translation binary -buffering none
        fileevent $connection readable [list primary::readable $connection]
    }

    proc readable {connection} {
        variable channel
        variable input
        set bytes [read $connection]
        if {$bytes eq "" && [eof $connection]} {
            close $connection
            return
        }
        if {$connection ne $channel} return
        append input $bytes
        while {[llength [set words [next_request]]]} {
            answer $words
        }
    }

    proc next_request {} {
        variable input
        set input [string trimleft $input "\n"]
        if {![regexp {^\*(\d+)\r\n} $input head count]} {return {}}
        set at [string length $head]
        set words {}
        for {set i 0} {$i < $count} {incr i} {
            if {![regexp -start $at {\A\$(\d+)\r\n} $input head length]} {return {}}
            incr at [string length $head]
            if {[string length $input] < $at + $length + 2} {return {}}
            lappend words [string range $input $at [expr {$at + $length - 1}]]
            incr at [expr {$length + 2}]
        }
        set input [string range $input $at end]
        return $words
    }

    proc answer {words} {
        variable answer
        variable asked
        variable acks
        switch -nocase -- [lindex $words 0] {
            PSYNC {
                set asked $words
                say $answer
            }
            REPLCONF {
                if {[string equal -nocase [lindex $words 1] ACK]} {
                    lappend acks [lindex $words 2]
                } else {
                    say "+OK\r\n"
                }
            }
            default {say "+OK\r\n"}
        }
    }

    proc say {bytes} {
        variable channel
        puts -nonewline $channel $bytes
    }

    # Reads and replies to the replica's requests; conditions for waits begin with this.
    proc turn {} {
        update
        return 1
    }

    # Replies with an empty dataset at `offset`.
    proc dataset {offset} {
        variable empty
        return "+FULLRESYNC [string repeat a 40] $offset\r\n\$[string length $empty]\r\n$empty"
    }

    # Sends these commands, each a list of words.
    proc say_commands {args} {
        foreach words $args {
            say [resp::encode $words]
        }
    }
}

set listener [socket -server primary::accepted -myaddr 127.0.0.1 0]
set port [lindex [fconfigure $listener -sockname] 2]

# Makes REPLICA follow it from an empty dataset.
proc follow_strange {replica} {
    set primary::answer [primary::dataset 1000]
    assert_equal OK [$replica REPLICAOF 127.0.0.1 $::port]
    is_up $replica
    set primary::answer "-NOMASTERLINK not again\r\n"
}

proc leave {replica} {
    assert_equal OK [$replica REPLICAOF NO ONE]
}

# ---- Replies to PSYNC -------------

start_server [list overrides [list replicaof "127.0.0.1 $port"]] {
    set many [string repeat 9 1500]
    set id [string repeat a 40]

    foreach {answer line} [list \
        "+CONTINUE" "*replied with +CONTINUE to a request for a full synchronization*" \
        "+CONTINUE $id" "*replied with +CONTINUE to a request for a full synchronization*" \
        "+CONTINUE x" "*+CONTINUE that has no valid replication ID: +CONTINUE x*" \
        "+FULLRESYNC $id" "*wrong +FULLRESYNC syntax*" \
        "+FULLRESYNC $id -1" "*wrong +FULLRESYNC syntax*" \
        "+FULLRESYNC $id 9223372036854775807" "*wrong +FULLRESYNC syntax*" \
        "+FULLRESYNC ${id}a 1" "*wrong +FULLRESYNC syntax*" \
        "+DUALCHANNELSYNC" "*Unexpected reply to PSYNC from primary: +DUALCHANNELSYNC*" \
        "+$many" "*did not reply to PSYNC: Message too long*" \
        "+FULLRESYNC $id 1\r\n\$-1" "*Bad protocol from PRIMARY, the first byte is not '\$' (we received '\$-1')*" \
        "+FULLRESYNC $id 1\r\n\$9223372036854775808" "*(we received '\$9223372036854775808')*" \
        "+FULLRESYNC $id 1\r\n\$EOF:short" "*(we received '\$EOF:short')*" \
        "+FULLRESYNC $id 1\r\n-no" "*PRIMARY aborted replication with an error: no*"] {
        test "No link with a primary that replies \"[string map {\r\n " "} [string range $answer 0 60]]\"" {
            set primary::answer "$answer\r\n"
            restart_server
            set replica [default_client]
            wait_for_condition 20 {[primary::turn] && [string match $line [server_log [srv dir]]]}
            assert_equal down [repl_field $replica master_link_status]
            assert_equal {PSYNC ? -1} $primary::asked
        }
    }
}

start_server {} {
    set replica [default_client]

    # ---- Output that is no command ----

    test "The stream goes on behind commands that wait, or are for connections" {
        follow_strange $replica
        foreach words {{ACL WHOAMI} {BLPOP nothing 0} {XREAD BLOCK 0 STREAMS nothing $} {WAIT 1 0} {WAITAOF 0 1 0}
            {CLIENT REPLY OFF} {CLIENT REPLY SKIP} {HELLO 3} {AUTH wrong} {RESET} {MONITOR} {SUBSCRIBE a} {SSUBSCRIBE a}
            {CLIENT TRACKING ON} {WATCH key} {SCRIPT DEBUG YES} {EVAL "return 1" 0} {SELECT 99} {SELECT -1} {EXEC}
            {DISCARD} {MULTI} {MULTI} {SYNC} {NOSUCH} {EXEC} {REPLCONF} {REPLCONF ACK 5} {REPLCONF listening-port 5}
            {REPLCONF capa} {NOSUCH command} {CONFIG NOSUCH} {SET} {CLIENT INFO} {CLIENT NO-EVICT ON} {CLIENT PAUSE 1}
            {UNSUBSCRIBE} {PING} {ping x} {QUIT x y}} {
            if {[lindex $words 0] ne "QUIT"} {
                primary::say_commands $words
            }
        }
        set primary::acks {}
        primary::say_commands {SELECT 0} {SET key value} {REPLCONF GETACK *}
        wait_for_condition 10 {[$replica GET key] eq "value"}
        wait_for_condition 10 {[primary::turn] && [llength $primary::acks]}
        assert_equal up [repl_field $replica master_link_status]
        assert_equal 0 [repl_field $replica connected_slaves]
        leave $replica
    }

    test "An acknowledgment leaves all flags of the link as they are" {
        follow_strange $replica
        set flags [lindex [regexp -inline {flags=(\S+)} [$replica CLIENT LIST TYPE primary]] 1]
        # Flags below and above bit 31: NO-TOUCH is 11, NO-EVICT is 32.
        primary::say_commands {CLIENT NO-TOUCH ON} {CLIENT NO-EVICT ON} {SET key flagged}
        wait_for_condition 10 {[$replica GET key] eq "flagged"}
        set primary::acks {}
        primary::say_commands {REPLCONF GETACK *}
        wait_for_condition 10 {[primary::turn] && [llength $primary::acks]}
        set with [lindex [regexp -inline {flags=(\S+)} [$replica CLIENT LIST TYPE primary]] 1]
        assert_equal [lsort [split ${flags}eT {}]] [lsort [split $with {}]]
        leave $replica
    }

    test "A primary is no replica of its replica" {
        follow_strange $replica
        set id [string repeat a 40]
        primary::say_commands {SYNC} {PSYNC ? -1} "PSYNC $id 1001" "PSYNC $id 1001 FAILOVER" {SET key again}
        wait_for_condition 10 {[$replica GET key] eq "again"}
        assert_equal 0 [repl_field $replica connected_slaves]
        assert_equal slave [repl_field $replica role]
        leave $replica
    }

    foreach {name bytes} [list "An empty line" "\n" "One that ends as others do" "\r\n" "An empty array" "*0\r\n" \
        "No array" "*-1\r\n" "Many empty lines" [string repeat "\n" 100000]] {
        test "$name in the stream is passed over, and its bytes count as all do" {
            follow_strange $replica
            set links $primary::links
            set stream $bytes
            foreach words {{SELECT 0} {SET key before} MULTI {SET key within} EXEC {SET key behind}} {
                append stream [resp::encode $words] $bytes
            }
            set len [string length $stream]
            primary::say $stream
            wait_for_condition 10 {[primary::turn] && [lindex $primary::acks end] == 1000 + $len}
            assert_equal behind [$replica GET key]
            # Sub-replicas get them, too.
            with_clients {c} {
                assert_match "CONTINUE *" [ask_psync $c [repl_field $replica master_replid] 1001]
                assert_equal $stream [$c raw_bytes $len]
            }
            assert_equal $links $primary::links
            leave $replica
        }
    }

    foreach {name bytes} [list "An inline command" "SET key inline\r\n" "A wrong length" "*1\r\n\$-5\r\n" \
        "A length that no value has" "*1\r\n\$9223372036854775807\r\nx"] {
        test "$name in the stream: the link is closed, and the dataset asked for anew" {
            follow_strange $replica
            set links $primary::links
            primary::say_commands {SET key before}
            primary::say "$bytes[resp::encode {SET key behind}]"
            wait_for_condition 10 {[primary::turn] && $primary::links > $links && $primary::asked eq {PSYNC ? -1}}
            assert_not_equal behind [$replica GET key]
            leave $replica
        }
    }
}

start_server {overrides {save "3600 100000" replica-ignore-disk-write-errors yes enable-protected-configs yes}} {
    test "A command that nobody knows, while the disk fails" {
        set replica [default_client]
        set dir [srv dir]
        follow_strange $replica
        file mkdir $dir/gone
        $replica CONFIG SET dir $dir/gone
        file delete -force $dir/gone
        catch {$replica BGSAVE}
        wait_for_condition 10 {[field_of [$replica INFO persistence] rdb_last_bgsave_status] eq "err"}
        primary::say_commands {NOSUCH command} {SET key value}
        wait_for_condition 10 {[$replica GET key] eq "value"}
        $replica CONFIG SET save "" dir $dir
    }
}

close $listener
