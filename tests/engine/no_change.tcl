# no_change.tcl -- write commands without effect: no change is counted or propagated, and WATCH and tracking are not
# notified.
#
# Not here    effects of commands that change something (notifications.tcl, persist/propagation.tcl, transaction.tcl).
#
# SPDX-License-Identifier: BSD-3-Clause

own_files

set keys {s n f sx l bl st st1 si bs h bh z bz x p p2 geo bit nokey nokey2 dest}

proc increment_file {} {
    return [lindex [glob -nocomplain [file join [srv dir] appendonlydir *.incr.aof]] 0]
}

proc written {} {
    return [expr {[increment_file] eq "" ? 0 : [file size [increment_file]]}]
}

proc make_keys {} {
    set ten {}
    foreach name {a b c d e f g h i j} {lappend ten [incr score] $name}
    foreach {score name} $ten {lappend names $name}
    foreach command {
        {SET s v} {SET n 10} {SET f 1.5} {SET sx v EX 10000} {RPUSH l a b c} {SADD st a b c} {SADD si 1 2 3}
        {SADD st1 a} {HSET h f v g 1 d 1.5} {ZADD z 1 a 2 b 3 c} {XADD x 1-1 a b} {XADD x 2-1 a b} {XGROUP CREATE x g 0}
        {PFADD p a b} {PFADD p2 a} {GEOADD geo 13.361389 38.115556 Palermo} {SETBIT bit 7 1}
    } {
        r {*}$command
    }
    r HSET bh {*}$ten
    r ZADD bz {*}$ten
    r SADD bs {*}$names
    r RPUSH bl {*}$names
}

# Returns the effects of COMMAND: counted changes, bytes of the log, keys reported to WATCH and tracking, events.
proc effects_of {watcher tracker command} {
    $watcher WATCH {*}$::keys
    set changes [info_field rdb_changes_since_last_save]
    set bytes [written]
    $tracker PING
    $tracker take_pushes
    catch {r {*}$command}
    $tracker PING
    set invalid {}
    set events {}
    foreach push [$tracker take_pushes] {
        if {[lindex $push 0] eq "invalidate"} {lappend invalid [lindex $push 1]}
        if {[lindex $push 0] eq "pmessage"} {lappend events [lindex $push 3]}
    }
    $watcher MULTI
    set changes [expr {[info_field rdb_changes_since_last_save] - $changes}]
    return [list changes $changes bytes [expr {[written] - $bytes}] \
        watch [expr {[$watcher EXEC] eq "(nil)"}] invalid $invalid events $events]
}

start_server {
    overrides {
        appendonly yes appendfsync always notify-keyspace-events KEA
        hash-max-listpack-entries 8 zset-max-listpack-entries 8 set-max-listpack-entries 8
    }
} {
    r DEBUG SET-ACTIVE-EXPIRE 0
    make_keys
    set watcher [connect]
    set tracker [connect]
    $tracker HELLO 3
    $tracker CLIENT TRACKING ON BCAST
    $tracker raw PSUBSCRIBE __keyevent@*

    test "A command that changes nothing leaves no trace" {
        set wrong {}
        foreach command {
            {SET s v NX} {SET nokey v XX} {SET s v NX GET} {SET s v IFEQ w} {SETNX s v} {GETDEL nokey}
            {GETEX nokey PERSIST} {GETEX s} {GETEX s PERSIST} {SETRANGE s 0 ""} {SETRANGE nokey 0 ""}
            {SETRANGE nokey 5 ""} {MSETNX s v nokey w} {INCR s} {SETBIT bit 7 1} {SETBIT s 0 0}
            {BITFIELD bit SET u8 0 1} {BITFIELD bit INCRBY u8 0 0} {BITFIELD bit GET u8 0} {BITFIELD nokey GET u8 0}
            {BITFIELD bit OVERFLOW FAIL INCRBY u8 0 255} {BITOP AND dest nokey} {BITOP AND dest nokey nokey2}
            {DEL nokey} {UNLINK nokey} {EXPIRE nokey 10} {EXPIRE sx 1000 NX} {EXPIRE s 100 XX} {EXPIRE sx 10 GT}
            {EXPIRE sx 10000 LT} {PERSIST s} {PERSIST nokey} {RENAME s s} {RENAMENX s s} {RENAMENX s n}
            {RENAME nokey s} {COPY s s} {COPY nokey s} {COPY s n} {COPY nokey n REPLACE} {MOVE s 0} {MOVE nokey 1}
            {RESTORE s 0 x} {RESTORE s 0 x REPLACE} {TOUCH s} {TOUCH nokey} {SORT nokey STORE dest} {LPUSHX nokey a}
            {RPUSHX nokey a} {LTRIM nokey 0 -1} {LSET l 5 a} {LSET nokey 0 a} {LREM l 0 zz} {LREM nokey 0 a}
            {LINSERT l BEFORE zz a} {LINSERT nokey BEFORE a b} {LPOP nokey} {LPOP nokey 2} {LPOP l 0} {RPOP l 0}
            {RPOPLPUSH nokey l} {LMOVE nokey l LEFT LEFT} {LMPOP 1 nokey LEFT} {BLPOP nokey 0.01}
            {BLMPOP 0.01 1 nokey LEFT} {BLMOVE nokey l LEFT LEFT 0.01} {SADD st a} {SADD st a b} {SADD si 1}
            {SADD bs a} {SREM st zz} {SREM nokey a} {SMOVE st st a} {SMOVE st st1 zz} {SMOVE nokey st a}
            {SMOVE st nokey zz} {SPOP nokey} {SPOP nokey 2} {SPOP st 0} {SINTERSTORE dest nokey}
            {SUNIONSTORE dest nokey} {SDIFFSTORE dest st st} {HSETNX h f w} {HDEL h zz} {HDEL nokey f}
            {HEXPIRE h 100 FIELDS 1 zz} {HEXPIRE nokey 100 FIELDS 1 f} {HEXPIRE h 100 XX FIELDS 1 f}
            {HEXPIRE h 0 FIELDS 1 zz} {HPERSIST h FIELDS 1 f} {HPERSIST h FIELDS 1 zz} {HPERSIST nokey FIELDS 1 f}
            {HSETEX h FXX FIELDS 1 zz v} {HSETEX h FNX FIELDS 1 f v} {HSETEX nokey FXX FIELDS 1 f v}
            {HGETEX h FIELDS 1 f} {HGETEX h PERSIST FIELDS 1 f} {HGETEX h PERSIST FIELDS 1 zz}
            {HGETEX nokey EX 10 FIELDS 1 f} {HGETEX h EX 10 FIELDS 1 zz} {HGETDEL h FIELDS 1 zz} {ZADD z 1 a}
            {ZADD z NX 9 a} {ZADD z XX 1 a} {ZADD z XX 1 zz} {ZADD nokey XX 1 a} {ZADD z GT 0 a} {ZADD z LT 9 a}
            {ZADD z XX CH 1 a} {ZADD z CH 1 a} {ZADD z INCR 0 a} {ZADD z NX INCR 1 a} {ZADD nokey XX INCR 1 a}
            {ZADD bz 1 a} {ZINCRBY z 0 a} {ZREM z zz} {ZREM nokey a} {ZREMRANGEBYRANK z 5 9}
            {ZREMRANGEBYRANK nokey 0 -1} {ZREMRANGEBYSCORE z 50 90} {ZREMRANGEBYSCORE nokey 0 1}
            {ZREMRANGEBYLEX z [x [z} {ZREMRANGEBYLEX nokey - +} {ZPOPMIN nokey} {ZPOPMIN z 0} {ZPOPMAX z 0}
            {ZMPOP 1 nokey MIN} {BZPOPMIN nokey 0.01} {BZMPOP 0.01 1 nokey MIN} {ZUNIONSTORE dest 1 nokey}
            {ZINTERSTORE dest 2 z nokey} {ZDIFFSTORE dest 2 z z} {ZRANGESTORE dest nokey 0 -1}
            {ZRANGESTORE dest z 5 9} {GEOADD geo 13.361389 38.115556 Palermo} {GEOADD geo NX 1 1 Palermo}
            {GEOADD geo XX 1 1 nope} {GEOADD geo XX CH 13.361389 38.115556 Palermo} {GEORADIUS geo 0 0 1 m STORE dest}
            {GEOSEARCHSTORE dest geo FROMLONLAT 0 0 BYRADIUS 1 m} {XADD nokey NOMKSTREAM 1-1 a b} {XTRIM x MAXLEN 10}
            {XTRIM x MAXLEN ~ 10} {XTRIM nokey MAXLEN 1} {XTRIM x MINID 0} {XDEL x 9-9} {XDEL nokey 1-1}
            {XDELEX x IDS 1 9-9} {XDELEX x ACKED IDS 1 1-1} {XACKDEL x g IDS 1 1-1} {XTRIM x MAXLEN 0 ACKED}
            {XCFGSET x IDMP-DURATION 100} {XCFGSET nokey IDMP-DURATION 9} {XIDMPRECORD x p i 9-9}
            {XSETID nokey 1-1} {XGROUP CREATE x g 0} {XGROUP CREATE nokey g 0} {XGROUP DESTROY x nog}
            {XGROUP DELCONSUMER x g noc} {XACK x g 1-1} {XACK nokey g 1-1} {XACK x nog 1-1} {XCLAIM nokey g c 0 1-1}
            {XAUTOCLAIM nokey g c 0 0} {PFADD p a} {PFADD p} {PFADD p a b} {PFCOUNT nokey} {EVAL return(1) 0}
            {EVAL return(redis.call('del','nokey')) 0} {DELIFEQ s w} {DELIFEQ nokey w} {DELEX s IFEQ w}
            {DELEX s IFDEQ 0} {DELEX nokey} {SET s v IFNE v} {SET s w IFDEQ 0000000000000000} {SET s w GET IFDEQ 0} {GETDEL l} {SETRANGE l 0 x}
            {SET s v EX 0} {SETEX s 0 v} {GETEX s EX 0} {MSETEX 1 nokey v XX} {MSETEX 1 s v NX} {HSET h} {LPUSH s a}
            {INCRBYFLOAT s 1} {LREM l -1 zz} {LREM bl 0 zz} {SREM bs zz} {HDEL bh zz} {ZREM bz zz}
            {ZREMRANGEBYSCORE bz 50 60} {SMOVE bs bs a} {SADD bs a b} {ZADD bz GT 1 a} {EXPIRE nokey -1}
            {HPEXPIREAT h 1 FIELDS 1 zz} {LMPOP 1 l LEFT COUNT 0} {XGROUP DELCONSUMER x g c} {XACK x g 9-9}
        } {
            set effects [effects_of $watcher $tracker $command]
            if {$effects ne "changes 0 bytes 0 watch 0 invalid {} events {}"} {lappend wrong $command $effects}
        }
        assert_equal {} $wrong
    }

    test "LTRIM that removes nothing leaves its event alone" {
        foreach command {
            {LTRIM l 0 -1} {LTRIM l 0 2} {LTRIM l 0 100} {LTRIM l -3 -1} {LTRIM bl 0 -1} {LTRIM bl -100 100}
            {EVAL return(redis.call('ltrim','l',0,-1)) 0}
        } {
            set key [expr {[string match EVAL* $command] ? "l" : [lindex $command 1]}]
            assert_equal "changes 0 bytes 0 watch 0 invalid {} events $key" [effects_of $watcher $tracker $command]
        }
    }
}
