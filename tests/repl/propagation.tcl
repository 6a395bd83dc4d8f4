# propagation.tcl -- the exact propagation of each command to replicas: propagation_cases.tcl.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

source [file join $support propagated.tcl]

# Returns the replication stream up to now. The command that marks its end leaves no key.
proc streamed {} {
    set mark [resp::encode [list PUBLISH marks [incr ::marks]]]
    r PUBLISH marks $::marks
    return [string range [$::stream raw_bytes_until $mark] 0 end-[string length $mark]]
}

proc propagates {before commands want {sent -}} {
    test "$before > $commands" {
        begin_case $before
        streamed
        run_case $commands
        assert_equal [expr {$sent eq "-" ? $want : $sent}] [shown_commands [streamed]]
    }
}

start_server [list \
    overrides [list {*}$quick repl-ping-replica-period 3600 client-output-buffer-limit "replica 0 0 0"] \
    each {r FLUSHALL; r SELECT 0; r CONFIG SET stream-node-max-entries 100} \
] {
    r DEBUG SET-ACTIVE-EXPIRE 0
    r SET dumped 1
    set dump [r DUMP dumped]
    set stream [connect]
    ask_psync $stream ? -1
    read_marked $stream
    wait_for_condition 10 {[string match "*state=online*" [repl_field [default_client] slave0]]}
    $stream write [resp::encode {REPLCONF ACK 0}]

    source [file join $support propagation_cases.tcl]

    test "A key that is evicted goes before the command that needs the room" {
        r SET victim [string repeat x 500000] EX 1000
        streamed
        r CONFIG SET maxmemory-policy volatile-ttl maxmemory [expr {[info_field used_memory memory] - 200000}]
        r SET k v
        r CONFIG SET maxmemory 0
        assert_equal {UNLINK victim; SET k v} [shown_commands [streamed]]
    }

    test "SELECT stands where the database changes, also within a transaction" {
        streamed
        r SELECT 3
        r SET a 1
        r PUBLISH c m
        r SELECT 0
        r MULTI
        r SET b 1
        r SELECT 4
        r SET c 1
        r EXEC
        r SELECT 0
        set got [join [lmap words [commands_of [streamed]] {join $words}] "; "]
        assert_equal "SELECT 3; SET a 1; PUBLISH c m; MULTI; SELECT 0; SET b 1; SELECT 4; SET c 1; EXEC; SELECT 0" $got
    }
}
