# replicas.tcl -- primaries and replicas for tests.
#
# A test stores the default connections of its servers in variables: the innermost server is the one started last.
#
# SPDX-License-Identifier: BSD-3-Clause

# Settings of a primary that starts a synchronization without delay.
set quick {repl-diskless-sync-delay 0}

proc repl_field {client name} {
    return [field_of [$client INFO replication] $name]
}

# Makes REPLICA a replica of the server at PORT and waits until the link is up.
proc follow {replica port} {
    assert_equal OK [$replica REPLICAOF 127.0.0.1 $port]
    is_up $replica
}

proc is_up {replica} {
    wait_for_condition 30 {[repl_field $replica master_link_status] eq "up"}
}

# Waits until REPLICA has applied everything that PRIMARY has written by now.
proc in_step {primary replica} {
    wait_for_condition 30 {[repl_field $replica slave_repl_offset] eq [repl_field $primary master_repl_offset]}
}

# Both servers must have the same keys, values, expires and libraries.
proc assert_same_data {one other} {
    in_step $one $other
    assert_equal [$one DEBUG DIGEST] [$other DEBUG DIGEST]
    assert_equal [$one FUNCTION LIST WITHCODE] [$other FUNCTION LIST WITHCODE]
}

# Returns the numbers of full and partial synchronizations of PRIMARY.
proc syncs_of {primary} {
    set text [$primary INFO stats]
    return [list [field_of $text sync_full] [field_of $text sync_partial_ok]]
}

# Breaks the link of REPLICA to its primary, and waits until it is connected again.
proc cut_link {replica} {
    $replica CLIENT KILL TYPE primary
    is_up $replica
}

# Does the handshake of a replica over a connection up to PSYNC, whose reply is returned.
proc introduce {client} {
    foreach words {{PING} {REPLCONF listening-port 7777} {REPLCONF capa eof capa psync2} {REPLCONF version 9.1.2}} {
        $client {*}$words
    }
}

proc ask_psync {client id offset} {
    introduce $client
    return [$client PSYNC $id $offset]
}

# Read a line without its end; and the next line that is not empty.
proc read_line {c} {
    set line ""
    while {[set byte [$c raw_bytes 1]] ne "\n"} {
        append line $byte
    }
    return [string trimright $line "\r"]
}

proc read_behind_newlines {c} {
    while {[set line [read_line $c]] eq ""} continue
    return $line
}

# Reads a snapshot up to its mark and returns it without the mark.
proc read_marked {c} {
    set header [read_behind_newlines $c]
    assert_regexp {^\$EOF:[0-9a-f]{40}$} $header
    set mark [string range $header 5 end]
    set bytes ""
    while {[string range $bytes end-39 end] ne $mark} {
        append bytes [$c raw_bytes 1]
    }
    return [string range $bytes 0 end-40]
}

# Adds some keys of each type, in two databases, some with an expire.
proc fill {client {count 20}} {
    for {set i 0} {$i < $count} {incr i} {
        $client SET string:$i [string repeat x [expr {$i * 37}]]
        $client RPUSH list:$i a b c $i
        $client SADD set:$i 1 2 $i
        $client HSET hash:$i f $i g [string repeat y $i]
        $client ZADD zset:$i $i a 2.5 b
        $client XADD stream:$i * f $i
        $client SET timed:$i $i EX 1000
    }
    $client HEXPIRE hash:0 1000 FIELDS 1 f
    $client XGROUP CREATE stream:0 group 0
    $client XREADGROUP GROUP group me STREAMS stream:0 >
    $client SELECT 9
    $client SET elsewhere 1
    $client SELECT 0
    $client FUNCTION LOAD REPLACE "#!lua name=mine\nserver.register_function{function_name='mine',
        callback=function() return 1 end, flags={'no-writes'}}"
}

# ---- A primary that is the test ----

# Listens for replicas and returns the port. next_replica accepts them.
proc listen_for_replicas {} {
    set ::arrived {}
    set ::listener [socket -server {apply {{channel args} {
        fconfigure $channel -translation binary -blocking 0
        lappend ::arrived $channel
        resp::wake
    }}} -myaddr 127.0.0.1 0]
    return [lindex [fconfigure $::listener -sockname] 2]
}

proc no_more_replicas {} {
    close $::listener
    foreach channel $::arrived {close $channel}
    set ::arrived {}
}

# Makes the default client's server a replica of the listener at PORT, at once; connections that it made before are
# ignored.
proc follow_anew {port} {
    wait_for_condition 10 {![catch {r REPLICAOF NO ONE}]} ;# refused while a snapshot is loaded, even a partial one
    r CONFIG SET replica-announce-port [incr ::announced]
    r REPLICAOF 127.0.0.1 $port
}
set announced 20000

# Replies to the handshake of a replica up to PSYNC, and returns the two arguments of PSYNC without replying to it.
# Returns nothing for an earlier connection. The replica sends all REPLCONF commands at once, and gets the replies at
# once.
proc hear_out {replica} {
    set answers ""
    while 1 {
        set words [$replica reply]
        switch -- [string toupper [lindex $words 0]] {
            PING {$replica write "+PONG\r\n"}
            PSYNC {return [lrange $words 1 2]}
            default {
                if {[lindex $words 1] eq "listening-port" && [lindex $words 2] != $::announced} {return}
                append answers "+OK\r\n"
                if {[lindex $words 1] eq "version"} {$replica write $answers}
            }
        }
    }
}

# Waits for the next replica that has sent PSYNC. Returns a client, whose replies are the replica's requests, and the
# arguments of PSYNC.
proc next_replica {} {
    while 1 {
        wait_for_condition 60 {[resp::pause; llength $::arrived] > 0}
        set ::arrived [lassign $::arrived channel]
        set replica [RespClient new -channel $channel]
        if {![catch {hear_out $replica} asked] && [llength $asked]} {return [list $replica {*}$asked]}
        $replica destroy
    }
}

# Returns a snapshot with its header and end: with a known length, or with a mark.
proc framed {snapshot with_mark} {
    set mark [string repeat 7 40]
    if {$with_mark} {return "\$EOF:$mark\r\n$snapshot$mark"}
    return "\$[string length $snapshot]\r\n$snapshot"
}

# Returns the dataset of CLIENT's server as its replicas get it.
proc snapshot_of {client} {
    with_clients {c} {
        ask_psync $c ? -1
        return [read_marked $c]
    }
}
