# foreign.tcl -- commands that other servers propagate, and servers of this project never do.
#
# The primary is this test: it sends an empty dataset and a replication stream.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set id [string repeat 0123456789 4]
# Version 11, empty, without a checksum.
set empty "REDIS0011\xff[string repeat \0 8]"
set listener [socket -server accepted -myaddr 127.0.0.1 0]
set port [lindex [fconfigure $listener -sockname] 2]
set stream ""

proc accepted {channel address port} {
    fconfigure $channel -blocking 0 -translation binary -buffering none
    set ::stream $channel
    fileevent $channel readable [list answer $channel]
}

proc answer {channel} {
    set text [read $channel]
    if {[eof $channel]} {
        close $channel
        return
    }
    if {[string match "*PING*" $text]} {puts -nonewline $channel "+PONG\r\n"}
    # Acknowledgments get no reply.
    foreach word [regexp -all -inline {listening-port|capa\r\n.{2,4}eof|version} $text] {
        puts -nonewline $channel "+OK\r\n"
    }
    if {[string match "*PSYNC*" $text]} {
        puts -nonewline $channel "+FULLRESYNC $::id 0\r\n\$[string length $::empty]\r\n$::empty"
    }
}

proc await {condition} {
    for {set i 0} {$i < 6000 && ![uplevel 1 [list expr $condition]]} {incr i} {
        after 10
        update
    }
    assert {$i < 6000}
}

# Sends a command of the primary.
proc propagate {args} {
    set bytes "*[llength $args]\r\n"
    foreach word $args {append bytes "\$[string length $word]\r\n$word\r\n"}
    puts -nonewline $::stream $bytes
}

start_server [list overrides [list appendonly yes]] {
    set replica [default_client]
    $replica REPLICAOF 127.0.0.1 $port
    await {[repl_field $replica master_link_status] eq "up"}

    test "PFCOUNT of a primary stores the count, and changes the key" {
        propagate SELECT 0
        propagate PFADD sketch a b c
        await {[$replica EXISTS sketch]}
        set stale [$replica GET sketch]
        assert_equal \x80 [string index $stale 15]
        $replica PFCOUNT sketch
        assert_equal $stale [$replica GET sketch]
        set changes [field_of [$replica INFO persistence] rdb_changes_since_last_save]
        propagate PFCOUNT sketch
        propagate PFCOUNT sketch
        propagate PFCOUNT missing
        propagate SET done 1
        await {[$replica EXISTS done]}
        assert_equal [string replace $stale 8 15 \3[string repeat \0 7]] [$replica GET sketch]
        assert_equal [expr {$changes + 2}] [field_of [$replica INFO persistence] rdb_changes_since_last_save]
        assert_equal 0 [field_of [$replica INFO stats] unexpected_error_replies]
    }

    test "... also in a transaction" {
        propagate MULTI
        propagate PFADD sketch d
        propagate PFCOUNT sketch
        propagate EXEC
        propagate SET done 2
        await {[$replica GET done] eq "2"}
        assert_equal \4[string repeat \0 7] [$replica GETRANGE sketch 8 15]
    }

    test "PFADD of a primary goes as far as it can, although the value is damaged behind that" {
        propagate APPEND sketch \x80\x80
        propagate SET done 3
        await {[$replica GET done] eq "3"}
        set before [$replica GET sketch]
        propagate PFADD sketch e f g
        propagate SET done 4
        await {[$replica GET done] eq "4"}
        assert {[$replica GET sketch] ne $before}
        assert_equal 0 [field_of [$replica INFO stats] unexpected_error_replies]
    }

    test "Both are in the append-only file" {
        set before [$replica GET sketch]
        $replica REPLICAOF NO ONE
        wait_for_condition 10 {[field_of [$replica INFO persistence] aof_rewrite_in_progress] == 0}
        $replica DEBUG LOADAOF
        assert_equal $before [$replica GET sketch]
        # A server does not shut down while it writes its first log.
        wait_for_condition 10 {[field_of [$replica INFO persistence] aof_rewrite_in_progress] == 0}
    }
}
close $listener
