# replicas.tcl -- servers that follow each other, as tests see them.
#
# A test keeps the default connections of its servers in variables: the innermost server is the one that was started last.
#
# SPDX-License-Identifier: BSD-3-Clause

# Settings of a primary that loses no time.
set quick {repl-diskless-sync-delay 0}

proc repl_field {client name} {
    return [field_of [$client INFO replication] $name]
}

# REPLICA follows the server at PORT, and is up.
proc follow {replica port} {
    assert_equal OK [$replica REPLICAOF 127.0.0.1 $port]
    is_up $replica
}

proc is_up {replica} {
    wait_for_condition 30 {[repl_field $replica master_link_status] eq "up"}
}

# What PRIMARY has written by now REPLICA has applied.
proc in_step {primary replica} {
    wait_for_condition 30 {[repl_field $replica slave_repl_offset] eq [repl_field $primary master_repl_offset]}
}

# The same keys with the same content, times and libraries.
proc assert_same_data {one other} {
    in_step $one $other
    assert_equal [$one DEBUG DIGEST] [$other DEBUG DIGEST]
    assert_equal [$one FUNCTION LIST WITHCODE] [$other FUNCTION LIST WITHCODE]
}

# How often PRIMARY has had to give its whole dataset, and parts of the stream.
proc syncs_of {primary} {
    set text [$primary INFO stats]
    return [list [field_of $text sync_full] [field_of $text sync_partial_ok]]
}

# Break the link of REPLICA to its primary, and see it made again.
proc cut_link {replica} {
    $replica CLIENT KILL TYPE primary
    is_up $replica
}

# A connection that acts as a replica: handshake up to the answer to PSYNC, which is returned.
proc ask_psync {client id offset} {
    foreach words {{PING} {REPLCONF listening-port 7777} {REPLCONF capa eof capa psync2} {REPLCONF version 9.1.2}} {
        $client {*}$words
    }
    return [$client PSYNC $id $offset]
}

# A line as it comes, without its end; and the next one that is not empty.
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

# A snapshot up to its mark, which is taken off.
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

# Some keys of each type, in two databases, with times.
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

# Listen for replicas: the port. They are met by next_replica.
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

# The default client's server follows whoever listens at PORT, from now on and at once; connections that it has made
# before are not taken for those to come.
proc follow_anew {port} {
    wait_for_condition 10 {![catch {r REPLICAOF NO ONE}]} ;# refused while a snapshot is loaded, if only the half of one
    r CONFIG SET replica-announce-port [incr ::announced]
    r REPLICAOF 127.0.0.1 $port
}
set announced 20000

# Answer what a replica says up to PSYNC, which is not answered: its two arguments. Nothing: it is one of those before.
# It says all of REPLCONF at once, and gets the answers at once.
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

# The next replica that has asked for the stream: a client whose replies are its requests, and what it has asked for.
proc next_replica {} {
    while 1 {
        wait_for_condition 60 {[resp::pause; llength $::arrived] > 0}
        set ::arrived [lassign $::arrived channel]
        set replica [RespClient new -channel $channel]
        if {![catch {hear_out $replica} asked] && [llength $asked]} {return [list $replica {*}$asked]}
        $replica destroy
    }
}

# The header of a snapshot and what ends it: of known length, or with a mark.
proc framed {snapshot with_mark} {
    set mark [string repeat 7 40]
    if {$with_mark} {return "\$EOF:$mark\r\n$snapshot$mark"}
    return "\$[string length $snapshot]\r\n$snapshot"
}

# The dataset of the server of CLIENT, as its replicas get it.
proc snapshot_of {client} {
    with_clients {c} {
        ask_psync $c ? -1
        return [read_marked $c]
    }
}
