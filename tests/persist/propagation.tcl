# propagation.tcl -- the exact propagation of each command to the append-only file: propagation_cases.tcl.
#
# SPDX-License-Identifier: BSD-3-Clause

own_files
source [file join $support propagated.tcl]

proc increment_file {} {
    return [lindex [glob -nocomplain [file join [srv dir] appendonlydir *.incr.aof]] 0]
}

proc propagates {before commands want {streamed ""}} {
    test "$before > $commands" {
        if {[increment_file] eq ""} {skip "no append-only file is written"}
        begin_case $before
        set from [file size [increment_file]]
        run_case $commands
        assert_equal $want [shown_commands [string range [read_file [increment_file]] $from end]]
    }
}

start_server {
    overrides {appendonly yes aof-use-rdb-preamble no appendfsync always}
    each {r FLUSHALL; r SELECT 0; r CONFIG SET stream-node-max-entries 100}
} {
    r DEBUG SET-ACTIVE-EXPIRE 0
    r SET dumped 1
    set dump [r DUMP dumped]

    source [file join $support propagation_cases.tcl]

    # Commands that no Valkey has are propagated as commands that each Valkey reads.
    propagates {SET k v} {DELEX k IFEQ v} {DEL k}
    propagates {RPUSH l v} {DELEX l} {DEL l}
    propagates {SET k v} {DELEX k IFNE v} {}
    propagates {SET k v} {set k w IFNE a} {SET k w}
    propagates {SET k v} {SET k w IFDNE ffffffffffffffff GET KEEPTTL} {SET k w KEEPTTL}
    propagates {SET k v} {SET k w IFDEQ f7042be43fb80714 EX 100} {SET k w PXAT MS}
    propagates {} {SET k w GET IFNE v PXAT 33177117420000} {SET k w PXAT 33177117420000}
    propagates {SET k v} {SET k w IFDEQ ffffffffffffffff GET} {}
    propagates $pending {XDELEX x IDS 2 1-1 9-9} {XDEL x 1-1}
    propagates $pending {XDELEX x ACKED IDS 2 1-1 9-9} {}
    propagates $pending {XDELEX x DELREF IDS 1 1-1} {MULTI; XACK x g 1-1; XDEL x 1-1; EXEC}
    propagates $pending {XDEL x 1-1|XDELEX x DELREF IDS 1 1-1} {XDEL x 1-1; XACK x g 1-1}
    propagates $pending {XACKDEL x g IDS 2 1-1 3-1} {MULTI; XACK x g 1-1; XDEL x 1-1; EXEC}
    propagates $pending {XTRIM x MAXLEN 2 KEEPREF} {XTRIM x MAXLEN 2}
    propagates $pending {XTRIM x DELREF MAXLEN ~ 2} {MULTI; XACK x g 1-1; XTRIM x MAXLEN = 2; EXEC}
    propagates "$pending|XACK x g 2-1" {XTRIM x MAXLEN 0 ACKED} {XDEL x 2-1}
    propagates "$pending|XACK x g 2-1" {XADD x ACKED MAXLEN 0 4-1 f v} {MULTI; XADD x 4-1 f v; XDEL x 2-1; EXEC}
    propagates $pending {XADD x MAXLEN 3 DELREF 4-1 f v} {MULTI; XACK x g 1-1; XADD x MAXLEN 3 4-1 f v; EXEC}
    propagates {} {XADD x KEEPREF 4-1 delref acked} {XADD x 4-1 delref acked}

    propagates "$pending|XDEL x 2-1" {XREADGROUP GROUP g d CLAIM 0 NOACK COUNT 1 STREAMS x >} \
        {XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1}
    propagates $pending {XREADGROUP GROUP g c CLAIM 100000 STREAMS x >} {MULTI; XCLAIM x g c 0 3-1 TIME MS RETRYCOUNT\
        1 FORCE JUSTID LASTID 3-1; XGROUP SETID x g 3-1 ENTRIESREAD 3; EXEC}
    propagates {MSET a abc b a} {BITOP DIFF to a b} "SET to \x00bc"
    propagates {SET to v} {BITOP ONE to a b|BITOP ONE to a b} {DEL to}

    # No Valkey has commands for what producers have sent, so these are propagated as Redis 8.6 does it.
    set sent {XADD x 33177117420000-1 f v|XIDMPRECORD x p i 33177117420000-1}
    set next 33177117420000-2
    propagates $sent {XADD x IDMP p i * f w} {XADD x IDMP p i * f w}
    propagates $sent {XADD x IDMP p j MAXLEN ~ 9 KEEPREF * f w} "XADD x IDMP p j MAXLEN = 2 $next f w"
    propagates $sent {XADD x IDMP keepref delref * f w} "XADD x IDMP keepref delref $next f w"
    propagates $sent {XADD x IDMPAUTO p * f w} "XADD x IDMPAUTO p $next f w"
    propagates $sent {XADD x IDMPAUTO p ACKED MAXLEN 9 * f w} "XADD x IDMPAUTO p $next f w"
    propagates $sent {XADD x IDMP p j ACKED MAXLEN 9 * f w} "XADD x IDMP p j $next f w"
    propagates $sent {XIDMPRECORD x p i 33177117420000-1|XIDMPRECORD x q i 33177117420000-1} \
        {XIDMPRECORD x q i 33177117420000-1}
    propagates $sent {XCFGSET x IDMP-DURATION 100|XCFGSET x IDMP-DURATION 99} {XCFGSET x IDMP-DURATION 99}

    test "A log that is rewritten as commands keeps what producers have sent, also of deleted entries" {
        r FLUSHALL
        set id [r XADD x IDMP p 1 * f v]
        r XADD x IDMP [string repeat q 300] [string repeat n 300] * f v
        r XCFGSET x IDMP-DURATION 5000
        set id [r XADD x IDMP p 1 * f v]
        set auto [r XADD x IDMPAUTO p * f v]
        r XDEL x $id
        foreach rewrite {no yes} {
            if {$rewrite} {
                r BGREWRITEAOF
                wait_for_condition 20 {[field_of [r INFO persistence] aof_rewrite_in_progress] eq "0"}
                wait_for_condition 20 {[field_of [r INFO persistence] aof_rewrite_scheduled] eq "0"}
            }
            assert_equal OK [r DEBUG LOADAOF]
            assert_equal [list $id $auto] [list [r XADD x IDMP p 1 * f v] [r XADD x IDMPAUTO p * f v]]
            assert_equal 5000 [dict get [r XINFO STREAM x] idmp-duration]
        }
        assert_equal 3 [r XLEN x]
    }

    test "Keys that SCAN or RANDOMKEY finds expired are no transaction, those of a command that names them are" {
        if {[increment_file] eq ""} {skip "no append-only file is written"}
        foreach {command transaction} {{SCAN 0} 0 RANDOMKEY 0 {MGET k1 k2} 1 {EVAL "redis.call('scan', 0) return 1" 0} 1} {
            r FLUSHALL
            foreach key {k1 k2} {r SET $key v PX 1}
            after 5
            set from [file size [increment_file]]
            r {*}$command
            set written [commands_of [string range [read_file [increment_file]] $from end]]
            set want {{UNLINK k1} {UNLINK k2}}
            if {$transaction} {
                assert_equal {MULTI EXEC} [list [lindex $written 0] [lindex $written end]]
                set written [lrange $written 1 end-1]
            }
            assert_equal $want [lsort $written]
        }
    }

    test "A key that is evicted goes before the command that needs the room" {
        if {[increment_file] eq ""} {skip "no append-only file is written"}
        r SET victim [string repeat x 500000] EX 1000
        set from [file size [increment_file]]
        set counted [expr {[info_field used_memory memory] - [info_field mem_aof_buffer memory]}]
        r CONFIG SET maxmemory-policy volatile-ttl maxmemory [expr {$counted - 200000}]
        r SET k v
        r CONFIG SET maxmemory 0
        set got [commands_of [string range [read_file [increment_file]] $from end]]
        assert_equal {{UNLINK victim} {SET k v}} $got
    }

    # Arguments of some kilobytes are referred to, those of 32 KB and more have separate allocations, which values take
    # over; in a transaction such a value may be deleted before the end.
    foreach length {3000 5000 20000 40000 300000} {
        test "Arguments of $length bytes are read again as they were" {
            if {[increment_file] eq ""} {skip "no append-only file is written"}
            set long [string repeat abcde [expr {$length / 5}]]
            foreach line {
                {SET k $long} {SET e $long EX 1000} {SET g $long} {SET g x$long GET} {GETSET g y$long}
                {SETEX x 1000 $long}
                {MSETEX 2 m $long n $long EX 1000} {APPEND a $long} {HSET h $long $long f $long}
                {HSETEX i EX 1000 FIELDS 2 f $long $long g} {RPUSH l $long $long} {LMPOP 1 l RIGHT COUNT 1}
                {SADD s $long} {SADD t $long u} {SPOP s} {ZADD z 1 $long 2 y$long} {XADD q * f $long}
                {SET $long key} {EXPIRE $long 1000}
                MULTI {SET p $long} {APPEND p y$long} {SET p2 $long} {SET p2 small}
                {HSETEX i EX 1000 FIELDS 1 h $long} EXEC
                MULTI {SET r $long} {GET r} EXEC
                MULTI {SET r2 $long EX 1000} EXEC
            } {
                r {*}[subst $line]
            }
            set digest [r DEBUG DIGEST]
            restart_server
            assert_equal $digest [r DEBUG DIGEST]
            assert_equal $long$long [string map {y ""} [r GET p]]
        }
    }
}
