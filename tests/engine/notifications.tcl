# notifications.tcl -- keyspace notifications: each event of each command, classes, databases, and the order of events.
#
# SPDX-License-Identifier: BSD-3-Clause

# Returns the events that a subscriber has got by the last reply: {EVENT KEY ...} of database 0, which must come once in
# the key's channel and once in the event's.
proc told {client} {
    set all {}
    foreach {by_key by_event} [$client take_pushes] {
        lassign $by_key kind - channel event
        regexp {^__keyspace@0__:(.*)$} $channel - key
        lappend all $event $key
        assert_equal [list pmessage __key* __keyevent@0__:$event $key] $by_event
    }
    return $all
}

# Returns the events of COMMAND after the commands of SETUP, which are separated by bars.
proc events_of {client setup command} {
    $client FLUSHALL
    foreach line [split $setup |] {$client {*}$line}
    $client PING
    $client take_pushes
    catch {$client {*}$command}
    $client PING
    return [told $client]
}

# Runs BODY with $s, a subscriber to all events, with classes CLASSES.
proc with_subscriber {classes body} {
    upvar s s
    with_config [list notify-keyspace-events $classes] {
        uplevel 1 [list with_clients s "
            \$s HELLO 3
            \$s raw PSUBSCRIBE __key*
            $body
        "]
    }
}

# Returns COUNT messages of SUBSCRIBER as {CHANNEL MESSAGE}.
proc take {subscriber count} {
    set all {}
    while {[llength $all] < $count} {lappend all [lrange [$subscriber next_push] 2 3]}
    return $all
}

start_server {each {r FLUSHALL; r SELECT 0}} {

    # ---- Events of each command ---------------------------------------------------------------------------------

    set examples {
{} {set a 1} {new a set a}
        {set a 1} {set a 2 ex 100} {set a expire a}
        {set a 1} {set a 2 pxat 1} {expired a}
        {} {setnx a 1} {new a set a}
        {} {setex a 100 1} {new a set a expire a}
        {} {psetex a 100000 1} {new a set a expire a}
        {set a 1} {getset a 2} {set a}
        {set a 1} {getdel a} {del a}
        {set a 1} {getex a ex 100} {expire a}
        {set a 1} {getex a pxat 1} {expired a}
        {set a 1 ex 100} {getex a persist} {persist a}
        {set a 1} {append a x} {append a}
        {} {append a x} {new a append a}
        {set a 1} {setrange a 3 x} {setrange a}
        {} {setrange a 3 x} {new a setrange a}
        {set a 1} {incr a} {incrby a}
        {} {decr a} {new a incrby a}
        {} {incrby a 5} {new a incrby a}
        {} {decrby a 5} {new a incrby a}
        {set a 1 ex 100} {incrbyfloat a 1.5} {incrbyfloat a}
        {set a 0} {mset a 1 b 2} {set a new b set b}
        {} {msetnx a 1 b 2} {new a set a new b set b}
        {} {msetex 2 a 1 b 2 ex 100} {new a set a expire a new b set b expire b}
        {set a 1} {delifeq a 1} {del a}
        {set a 1} {delex a ifeq 1} {del a}
        {rpush a 1} {delex a} {del a}
        {set a 1} {set a 2 ifne 2 ex 100} {set a expire a}
        {} {setbit a 9 0} {new a setbit a}
        {set a 1} {setbit a 0 1} {setbit a}
        {mset a 1 b 2} {bitop or c a b} {new c set c}
        {mset a 1 b 2} {bitop not a a} {set a}
        {mset a 1 b 2} {bitop and a x y} {keymiss x keymiss y del a}
        {} {bitfield a set u8 0 0} {new a setbit a}
        {} {bitfield a overflow fail set u8 0 300} {new a}
        {set a 1} {bitfield a set u8 0 50 incrby u8 0 1} {setbit a}
        {mset a 1 b 2 c 3} {del a b z} {del a del b}
        {mset a 1 b 2 c 3} {unlink a b z} {del a del b}
        {set a 1 ex 100} {rename a b} {new b rename_from a rename_to b}
        {set a 1} {renamenx a b} {new b rename_from a rename_to b}
        {set a 1} {copy a b} {new b copy_to b}
        {set a 1} {expire a 100} {expire a}
        {set a 1} {expire a -1} {expired a}
        {set a 1} {pexpire a 100000} {expire a}
        {set a 1} {expireat a 99999999999} {expire a}
        {set a 1} {pexpireat a 1} {expired a}
        {set a 1 ex 100} {persist a} {persist a}
        {} {hset a f 1 g 2} {new a hset a}
        {hset a f 1} {hset a f 2} {hset a}
        {} {hmset a f 1} {new a hset a}
        {hset a f 1} {hsetnx a g 1} {hset a}
        {hset a f 1 g 2} {hdel a f x} {hdel a}
        {hset a f 1 g 2} {hdel a f g} {hdel a del a}
        {} {hincrby a f 1} {new a hincrby a}
        {hset a f 1} {hincrbyfloat a f 1.5} {hincrbyfloat a}
        {hset a f 1} {hexpire a 100 fields 2 f x} {hexpire a}
        {hset a f 1 g 2} {hexpire a 0 fields 2 f x} {hexpired a}
        {hset a f 1} {hexpire a 0 fields 1 f} {hexpired a del a}
        {hset a f 1} {hpexpire a 100000 fields 1 f} {hexpire a}
        {hset a f 1} {hexpireat a 33177117420 fields 1 f} {hexpire a}
        {hset a f 1} {hpexpireat a 1 fields 1 f} {hexpired a del a}
        {hsetex a ex 100 fields 1 f 1} {hpersist a fields 1 f} {hpersist a}
        {hset a f 1} {hgetex a ex 100 fields 1 f} {hexpire a}
        {hsetex a ex 100 fields 1 f 1} {hgetex a persist fields 1 f} {hpersist a}
        {hset a f 1 g 1} {hgetex a pxat 1 fields 1 f} {hexpired a}
        {} {hsetex a fields 1 f 1} {new a hset a}
        {hset a f 1} {hsetex a ex 100 fields 1 f 1} {hset a hexpire a}
        {hset a f 1} {hsetex a pxat 1 fields 1 f 1} {hset a hexpire a hexpired a del a}
        {} {hsetex a pxat 1 fields 1 f 1} {new a hset a hexpire a hexpired a del a}
        {hset a f 1 g 1} {hgetdel a fields 1 f} {hdel a}
        {hset a f 1} {hgetdel a fields 1 f} {hdel a del a}
        {sadd a 2 1} {sort a store b} {new b sortstore b}
        {sadd a 2 1} {sort a by nosort store a} {sortstore a}
        {set b 1} {sort a store b} {keymiss a del b}
        {} {lpush a x y} {new a lpush a}
        {} {rpush a x y} {new a rpush a}
        {rpush a x} {lpushx a y} {lpush a}
        {rpush a x} {rpushx a y} {rpush a}
        {rpush a x y} {lpop a} {lpop a}
        {rpush a x} {lpop a} {lpop a del a}
        {rpush a x y} {rpop a} {rpop a}
        {rpush a x y} {lset a 1 z} {lset a}
        {rpush a x y} {linsert a before y z} {linsert a}
        {rpush a x y} {ltrim a 1 -1} {ltrim a}
        {rpush a x y} {ltrim a 5 6} {ltrim a del a}
        {rpush a x y x} {lrem a 0 x} {lrem a}
        {rpush a x x} {lrem a 0 x} {lrem a del a}
        {rpush a x y} {rpoplpush a b} {new b lpush b rpop a}
        {rpush b x y} {lmpop 2 a b left} {lpop b}
        {rpush b x} {blpop a b 0} {lpop b del b}
        {rpush a x y} {brpop a 0} {rpop a}
        {rpush a x} {brpoplpush a b 0} {new b lpush b rpop a del a}
        {rpush b x y z} {blmpop 0 2 a b left count 2} {lpop b}
        {} {sadd a 1 2} {new a sadd a}
        {sadd a 1} {sadd a 2} {sadd a}
        {sadd a 1 2} {srem a 1 3} {srem a}
        {sadd a 1 2} {srem a 1 2} {srem a del a}
        {sadd a 1 2} {spop a} {spop a}
        {sadd a 1} {spop a} {spop a del a}
        {sadd a 1 2|sadd b 2 3} {sinterstore c a b} {new c sinterstore c}
        {sadd a 1 2|sadd b 2 3} {sinterstore a a b} {sinterstore a}
        {sadd a 1 2|set b 1} {sinterstore b a x} {keymiss x del b}
        {sadd a 1 2|sadd b 2 3} {sunionstore c a b} {new c sunionstore c}
        {set a 1} {sunionstore a b c} {keymiss b keymiss c del a}
        {sadd a 1 2|sadd b 2 3} {sdiffstore c a b} {new c sdiffstore c}
        {sadd a 1 2} {sdiffstore a a a} {del a}
        {} {zadd a 1 x 2 y} {new a zadd a}
        {zadd a 1 x} {zadd a 2 x} {zadd a}
        {zadd a 1 x} {zadd a incr 1 x} {zincr a}
        {zadd a 1 x} {zincrby a 1 x} {zincr a}
        {zadd a 1 x 2 y} {zrem a x z} {zrem a}
        {zadd a 1 x 2 y} {zrem a x y} {zrem a del a}
        {zadd a 1 x 2 y} {zpopmin a} {zpopmin a}
        {zadd a 1 x} {zpopmin a} {zpopmin a del a}
        {zadd a 1 x 2 y} {zpopmax a 5} {zpopmax a del a}
        {zadd b 1 x 2 y} {zmpop 2 a b max} {zpopmax b}
        {zadd b 1 x} {zmpop 2 a b min count 5} {zpopmin b del b}
        {zadd b 1 x 2 y} {bzpopmin a b 0} {zpopmin b}
        {zadd a 1 x} {bzpopmax a 0} {zpopmax a del a}
        {zadd a 1 x 2 y} {bzmpop 0 1 a max} {zpopmax a}
        {zadd a 1 x 2 y} {zremrangebyrank a 0 0} {zremrangebyrank a}
        {zadd a 1 x 2 y} {zremrangebyscore a 1 9} {zremrangebyscore a del a}
        {zadd a 1 x 1 y} {zremrangebylex a - (y} {zremrangebylex a}
        {zadd a 1 x 2 y} {zrangestore b a 0 -1} {new b zrangestore b}
        {set b 1} {zrangestore b a 0 -1} {keymiss a del b}
        {zadd a 1 x|zadd b 2 y} {zunionstore c 2 a b} {new c zunionstore c}
        {set c 1} {zunionstore c 2 a b} {keymiss a keymiss b del c}
        {zadd a 1 x|zadd b 2 x} {zinterstore a 2 a b} {zinterstore a}
        {zadd a 1 x|zadd b 2 y} {zinterstore a 2 a b} {del a}
        {zadd a 1 x|zadd b 2 y} {zdiffstore b 2 a b} {zdiffstore b}
        {} {geoadd a 1 2 x 3 4 y} {new a zadd a}
        {geoadd a 1 2 x} {geoadd a ch 3 4 x} {zadd a}
        {geoadd a 1 2 x} {geosearchstore b a frommember x byradius 1 m} {new b geosearchstore b}
        {geoadd a 1 2 x} {geosearchstore a a frommember x bybox 1 1 m storedist} {geosearchstore a}
        {set b 1} {geosearchstore b a fromlonlat 1 2 byradius 1 m} {keymiss a del b}
        {geoadd a 1 2 x} {georadius a 1 2 1 m store b} {new b georadiusstore b}
        {geoadd a 1 2 x} {georadiusbymember a x 1 m storedist b} {new b georadiusstore b}
        {set b 1} {georadiusbymember a x 1 m store b} {keymiss a del b}
        {} {pfadd a} {new a pfadd a}
        {} {pfmerge a} {keymiss a new a pfadd a}
        {} {xadd a 1-1 f v} {new a xadd a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xadd a maxlen 1 3-1 f v} {xadd a xtrim a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xdel a 1-1} {xdel a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xtrim a maxlen 1} {xtrim a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xtrim a maxlen 0 acked} {xtrim a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xadd a delref maxlen 1 3-1 f v} {xadd a xtrim a}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xdelex a ids 2 1-1 2-1} {xdel a}
        {xadd a 1-1 f v|xgroup create a g 0|xreadgroup group g c streams a >} {xackdel a g ids 1 1-1} {xdel a}
        {xadd a idmp p 1 * f v} {xadd a idmp p 1 * f v} {} {xadd a 1-1 f v} {xadd a idmp p 1 * f v} {xadd a}
        {xadd a 1-1 f v} {xcfgset a idmp-maxsize 5} {} {xadd a 1-1 f v} {xidmprecord a p 1 1-1} {}
        {xadd a 1-1 f v|xadd a 2-1 f v} {xsetid a 5-1} {xsetid a}
        {xgroup create a g $ mkstream} {xgroup setid a g 1-1} {xgroup-setid a}
        {xgroup create a g $ mkstream} {xgroup destroy a g} {xgroup-destroy a}
        {xgroup create a g $ mkstream} {xgroup createconsumer a g e} {xgroup-createconsumer a}
        {xgroup create a g $ mkstream|xgroup createconsumer a g c} {xgroup delconsumer a g c} {xgroup-delconsumer a}
        {} {getset a 1} {keymiss a new a set a}
        {} {incr a} {new a incrby a}
        {} {incrbyfloat a 1} {new a incrbyfloat a}
        {} {hincrbyfloat a f 1} {new a hincrbyfloat a}
        {} {hsetnx a f 1} {new a hset a}
        {} {hsetex a ex 10 fields 1 f 1} {new a hset a hexpire a}
        {} {zincrby a 1 x} {new a zincr a}
        {} {pfmerge a b} {keymiss a keymiss b new a pfadd a}
        {set a 1} {set a 2 get} {set a}
        {} {set a 1 get} {keymiss a new a set a}
        {} {set a 1 px 100000} {new a set a expire a}
        {hset h f 1 g 2} {hgetex h pxat 1 fields 2 f g} {hexpired h del h}
        {hset h f 1} {hsetex h keepttl fields 2 f 1 g 2} {hset h}
        {rpush l 1 2} {lmpop 2 x l left count 2} {lpop l del l}
        {zadd z 1 a|set d x} {zrangestore d z 5 6} {del d}
        {sadd a 1 2 3|sadd b 9|sadd d 5} {sinterstore d a b} {del d}
        {xadd s 1-1 f v|xgroup create s g 0} {xreadgroup group g c streams s >} {xgroup-createconsumer s}
        {xadd s 1-1 f v|xgroup create s g 0} {xclaim s g d 0 1-1} {xgroup-createconsumer s}
        {xadd s 1-1 f v|xgroup create s g 0} {xautoclaim s g d 0 0} {xgroup-createconsumer s}
        {set a 1|set b 2} {mset a 1 a 2 c 3} {set a set a new c set c}
        {set d 1} {bitop not d nosuch} {keymiss nosuch del d}
        {geoadd g 13 38 p 15 37 c|set d 1} {georadius g 100 37 1 km store d} {del d}
        {set a 1} {msetex 2 a 1 b 2} {set a new b set b}
        {set a 1 ex 100} {msetex 1 a 1 keepttl} {set a}
        {zadd z 1 a|zadd z2 2 b} {zunionstore z 2 z z2} {zunionstore z}
        {hset h a 1} {hincrby h a 0} {hincrby h}
        {set a 1} {incrby a 0} {incrby a}
        {rpush l 1} {rpop l 5} {rpop l del l}
        {hset h f 1 g 2} {hpexpire h 0 nx fields 1 f} {hexpired h}
    }

    test "events of commands that change something, in their order" {
        with_subscriber KEAnm {
            foreach {setup command events} $::examples {
                assert_equal "$command: $events" "$command: [events_of $s $setup $command]"
            }
        }
    }

    test "a key that is not there is told to who asks for it" {
        with_subscriber KEAnm {
            foreach command {
                {getdel a} {bitfield a get u8 100} {sort a store b} {get a} {getrange a 0 1} {substr a 0 1}
                {strlen a} {exists a} {ttl a} {pttl a} {expiretime a} {pexpiretime a} {type a} {touch a}
                {dump a} {sort_ro a} {copy a b} {getex a} {getbit a 1} {bitcount a} {bitpos a 1}
                {bitfield_ro a get u8 0} {llen a} {lindex a 0} {lrange a 0 -1} {lpos a x} {sismember a 1}
                {smismember a 1 2} {scard a} {smembers a} {srandmember a} {sscan a 0} {hget a f} {hmget a f g}
                {hgetall a} {hkeys a} {hvals a} {hlen a} {hexists a f} {hstrlen a f} {hrandfield a} {hscan a 0}
                {httl a fields 1 f} {hpttl a fields 1 f} {hexpiretime a fields 1 f} {hpexpiretime a fields 1 f}
                {hgetex a fields 1 f} {zscore a x} {zmscore a x y} {zcard a} {zcount a 0 1} {zlexcount a - +}
                {zrank a x} {zrevrank a x} {zrange a 0 -1} {zrevrange a 0 -1} {zrangebyscore a 0 1}
                {zrevrangebyscore a 1 0} {zrangebylex a - +} {zrevrangebylex a + -} {zscan a 0} {zrandmember a}
                {zrangestore b a 0 1} {geopos a x} {geodist a x y} {geohash a x} {georadius a 1 2 1 m}
                {georadiusbymember a x 1 m} {georadius_ro a 1 2 1 m} {georadiusbymember_ro a x 1 m}
                {geosearch a fromlonlat 1 2 byradius 1 m} {geosearchstore b a fromlonlat 1 2 byradius 1 m}
                {pfcount a} {xlen a} {xrange a - +} {xrevrange a + -} {xinfo stream a}
                {xreadgroup group g c streams a >} {xack a g 1-1} {xpending a g} {xclaim a g c 0 1-1}
                {xautoclaim a g c 0 0}
            } {
                assert_equal "$command: keymiss a" "$command: [events_of $s {} $command]"
            }
            foreach {command events} {
                {bitop and x y z} {keymiss y keymiss z}
                {zunionstore c 2 a b} {keymiss a keymiss b}
                {mget a b} {keymiss a keymiss b}
                {exists a b} {keymiss a keymiss b}
                {touch a b} {keymiss a keymiss b}
                {lcs a b} {keymiss a keymiss b}
                {sinter a b} {keymiss a keymiss b}
                {sintercard 2 a b} {keymiss a keymiss b}
                {sunion a b} {keymiss a keymiss b}
                {sdiff a b} {keymiss a keymiss b}
                {sinterstore c a b} {keymiss a keymiss b}
                {sdiffstore c a b} {keymiss a keymiss b}
                {zunion 2 a b} {keymiss a keymiss b}
                {zinter 2 a b} {keymiss a keymiss b}
                {zdiff 2 a b} {keymiss a keymiss b}
                {zintercard 2 a b} {keymiss a keymiss b}
                {zinterstore c 2 a b} {keymiss a keymiss b}
                {zdiffstore c 2 a b} {keymiss a keymiss b}
                {pfcount a b} {keymiss a keymiss b}
                {xread streams a 0} {keymiss a keymiss a}
                {bitop not d nosuch} {keymiss nosuch}
            } {
                assert_equal "$command: $events" "$command: [events_of $s {} $command]"
            }
        }
    }

    test "looking at a key that is there tells nothing" {
        with_subscriber KEAnm {
            foreach {setup command} {
                {set a 1} {get a}                     {set a 1} {ttl a}                {set a 1} {getex a}
                {rpush a 1} {lrange a 0 -1}           {rpush a 1} {get a}              {hset a f 1} {hget a g}
                {zadd a 1 x} {zrange a 0 -1}          {sadd a 1} {sadd a 1}            {set a 1} {setnx a 2}
                {rpush a 1} {lpop a 0}                {zadd a 1 x} {zadd a nx 2 x}     {} {del a}
                {} {exists}                           {set a 1} {persist a}            {} {scan 0}
            } {
                assert_equal "$command: " "$command: [events_of $s $setup $command]"
            }
        }
    }

    # ---- Classes ------------------------------------------------------------------------------------------------

    test "only the classes that are set are told, to keys, events or both" {
        foreach {classes expected} {
            K  {}
            E  {}
            K$ {{__keyspace@0__:s set}}
            E$ {{__keyevent@0__:set s}}
            Kl {{__keyspace@0__:l rpush} {__keyspace@0__:l lpop}}
            Eg {{__keyevent@0__:del l} {__keyevent@0__:expire s} {__keyevent@0__:del s}}
            En {{__keyevent@0__:new s} {__keyevent@0__:new l}}
            Em {{__keyevent@0__:keymiss nosuch}}
            KE {}
            A  {}
            KEh {}
        } {
            with_subscriber $classes {
                r FLUSHALL
                foreach command {{SET s 1} {RPUSH l 1} {LPOP l} {EXPIRE s 100} {GET nosuch} {DEL s}} {r {*}$command}
                $s PING
                assert_equal "$::classes $::expected" "$::classes [lmap push [$s take_pushes] {lrange $push 2 3}]"
            }
        }
    }

    test "A is all classes but those of new keys and of misses" {
        with_subscriber KEA {
            assert_equal {set a expire a} [events_of $s {} {set a 1 ex 100}]
            assert_equal {} [events_of $s {} {get a}]
        }
    }

    test "the channel names the database in which it happens" {
        with_subscriber KE$ {
            r SELECT 3
            r SET k v
            assert_equal {{__keyspace@3__:k set} {__keyevent@3__:set k}} [take $s 2]
            r SELECT 0
        }
    }

    test "keys of any bytes and of any length" {
        with_subscriber KE$ {
            foreach key [list "" "a b\r\n" "\x00\xff" [string repeat k 600] [string repeat k 100000]] {
                r SET $key v
                assert_equal [list [list __keyspace@0__:$key set] [list __keyevent@0__:set $key]] [take $s 2]
            }
        }
    }

    # ---- Events of the server itself ----------------------------------------------------------------------------

    test "keys expire, whether somebody asks for them or not" {
        with_subscriber KEx {
            r SET k v PX 1
            assert_equal {{__keyspace@0__:k expired} {__keyevent@0__:expired k}} [take $s 2]
            r MSET a 1 b 1
            r PEXPIRE a 1
            r EXPIRE b 0
            assert_same_set {{__keyevent@0__:expired a} {__keyspace@0__:a expired} {__keyevent@0__:expired b}
                {__keyspace@0__:b expired}} [take $s 4]
        }
    }

    test "fields of a hash expire, and the hash goes with the last one" {
        with_subscriber KEAn {
            r HSET h f 1 g 2
            r HPEXPIRE h 1 FIELDS 1 f
            assert_equal {new hset hexpire hexpired} [lmap {by_key by_event} [take $s 8] {lindex $by_key 1}]
            r HPEXPIRE h 1 FIELDS 1 g
            assert_equal {hexpire hexpired del} [lmap {by_key by_event} [take $s 6] {lindex $by_key 1}]
            assert_equal 0 [r EXISTS h]
        }
    }

    test "keys that are evicted" {
        with_config {maxmemory 0 maxmemory-policy allkeys-random} {
            r SET k v
            with_subscriber KEe {
                r CONFIG SET maxmemory 1
                catch {r SET other v}
                assert_equal {{__keyspace@0__:k evicted} {__keyevent@0__:evicted k}} [take $s 2]
                r CONFIG SET maxmemory 0
            }
        }
    }

    # ---- Order --------------------------------------------------------------------------------------------------

    test "events of one's own command follow its reply, those of a transaction the reply of EXEC" {
        with_subscriber KEAnm {
            $s pipeline {{SET a 1} {GET a} MULTI {SET b 2} {GET c} {DEL b} EXEC {GET a}}
            set order {}
            for {set i 0} {$i < 20} {incr i} {
                lassign [$s decode] kind value
                lappend order [expr {$kind eq "push" ? [lindex $value 3] : "<$value>"}]
            }
            assert_equal {<OK> new a set a <1> <OK> <QUEUED> <QUEUED> <QUEUED>} [lrange $order 0 9]
            assert_equal {{<OK (nil) 1>} new b set b keymiss c del b <1>} [lrange $order 10 end]
        }
    }

    test "what a wake-up does comes behind what woke, in its order" {
        with_subscriber KEAn {
            with_clients c {
                $c HELLO 3
                $c raw SUBSCRIBE __keyevent@0__:lpop
                $c send BLPOP l 0
                wait_for_condition 10 {[info_field blocked_clients clients] == 1}
                r MULTI
                r RPUSH l x
                r SET k v
                r EXEC
                assert_equal {new l rpush l new k set k lpop l del l} \
                    [concat {*}[lmap {by_key by_event} [take $s 12] {list [lindex $by_key 1] [lindex $by_event 1]}]]
                assert_equal {array {l x}} [$c decode]
                assert_equal {push {message __keyevent@0__:lpop l}} [$c decode]
            }
        }
    }

    test "a subscriber of RESP2, of one key and of one event" {
        with_config {notify-keyspace-events KEA} {
            with_clients c {
                $c SUBSCRIBE __keyspace@0__:a
                $c SUBSCRIBE __keyevent@0__:del
                r MSET a 1 b 2
                r DEL a b
                assert_equal {{message __keyspace@0__:a set} {message __keyspace@0__:a del}} [$c replies 2]
                assert_equal {{message __keyevent@0__:del a}} [$c replies 1]
                assert_equal {{message __keyevent@0__:del b}} [$c replies 1]
            }
        }
    }
}
