# acl_table.tcl -- every command of the table, sent by users without permission for the command, one of its keys, the
# access to it, or the database.
#
# Then names of options are used as names of keys, groups and values: the keys that are found must be those that are
# used. Debug builds (engine/key_check.h) detect a handler that accesses other keys than those it names.
#
# SPDX-License-Identifier: BSD-3-Clause

# A complete request for each command with keys; all words that begin with "k:" are keys, and there are no others. There
# is one for each option that names keys or changes the access to them; options that may be repeated are in it twice
# (the first of two names is no key if the last one counts).
set requests {
    {bitcount k:1} {bitfield k:1 get u8 0} {bitfield k:1 set u8 0 1} {bitfield k:1 get u8 0 set u8 0 1 get u8 0} {bitfield_ro k:1 get u8 0} {bitop and k:1 k:2 k:3}
    {bitpos k:1 1} {getbit k:1 7} {setbit k:1 7 1}
    {copy k:1 k:2} {copy k:1 k:2 db 0 replace} {copy k:1 k:2 db 1 db 0} {del k:1 k:2} {dump k:1} {exists k:1 k:2} {expire k:1 100}
    {expireat k:1 9999999999} {expiretime k:1} {move k:1 1} {object encoding k:1} {object freq k:1} {object idletime k:1}
    {object refcount k:1} {persist k:1} {pexpire k:1 100000} {pexpireat k:1 9999999999999} {pexpiretime k:1} {pttl k:1}
    {rename k:1 k:2} {renamenx k:1 k:2} {restore k:1 0 x} {restore-asking k:1 0 x} {sort k:1} {sort k:1 store k:2} {sort k:1 alpha STORE k:2 desc}
    {sort k:1 store other store k:2} {sort k:1 by other limit 0 1 get other store k:2 desc} {sort_ro k:1 by other get other}
    {migrate 127.0.0.1 1 k:1 0 1} {migrate 127.0.0.1 1 k:1 0 1 copy auth keys} {migrate 127.0.0.1 1 {} 0 1 keys k:1 k:2}
    {migrate 127.0.0.1 1 {} 0 1 auth keys auth2 keys keys keys k:1 k:2}
    {sort_ro k:1} {touch k:1 k:2} {ttl k:1} {type k:1} {unlink k:1 k:2} {memory usage k:1}
    {geoadd k:1 1 1 m} {geodist k:1 m n} {geohash k:1 m} {geopos k:1 m} {georadius k:1 1 1 1 km}
    {georadius k:1 1 1 1 km store k:2} {georadius k:1 1 1 1 km STOREDIST k:2}
    {georadius k:1 1 1 1 km store other storedist k:2} {georadius k:1 1 1 1 km count 1 any store k:2}
    {georadius_ro k:1 1 1 1 km}
    {georadiusbymember k:1 m 1 km} {georadiusbymember k:1 m 1 km store k:2} {georadiusbymember k:1 m 1 km storedist k:2}
    {georadiusbymember_ro k:1 m 1 km} {geosearch k:1 fromlonlat 1 1 byradius 1 km}
    {geosearchstore k:1 k:2 fromlonlat 1 1 byradius 1 km}
    {hdel k:1 f} {hexists k:1 f} {hexpire k:1 100 fields 1 f} {hexpireat k:1 9999999999 fields 1 f}
    {hexpiretime k:1 fields 1 f} {hget k:1 f} {hgetall k:1} {hgetdel k:1 fields 1 f} {hgetex k:1 fields 1 f}
    {hgetex k:1 ex 100 fields 1 f} {hincrby k:1 f 1} {hincrbyfloat k:1 f 1} {hkeys k:1} {hlen k:1} {hmget k:1 f}
    {hmset k:1 f 1} {hpersist k:1 fields 1 f} {hpexpire k:1 100000 fields 1 f}
    {hpexpireat k:1 9999999999999 fields 1 f} {hpexpiretime k:1 fields 1 f} {hpttl k:1 fields 1 f} {hrandfield k:1}
    {hscan k:1 0} {hset k:1 f 1} {hsetex k:1 fields 1 f 1} {hsetnx k:1 f 1} {hstrlen k:1 f} {httl k:1 fields 1 f}
    {hvals k:1}
    {pfadd k:1 x} {pfcount k:1 k:2} {pfdebug getreg k:1} {pfmerge k:1} {pfmerge k:1 k:2 k:3}
    {blmove k:1 k:2 left left 0.01} {blmpop 0.01 2 k:1 k:2 left} {blpop k:1 k:2 0.01} {brpop k:1 k:2 0.01}
    {brpoplpush k:1 k:2 0.01} {lindex k:1 0} {linsert k:1 before x y} {llen k:1} {lmove k:1 k:2 left left}
    {lmpop 2 k:1 k:2 left} {lpop k:1} {lpos k:1 x} {lpush k:1 x} {lpushx k:1 x} {lrange k:1 0 -1} {lrem k:1 0 x}
    {lset k:1 0 x} {ltrim k:1 0 0} {rpop k:1} {rpoplpush k:1 k:2} {rpush k:1 x} {rpushx k:1 x}
    {sadd k:1 x} {scard k:1} {sdiff k:1 k:2} {sdiffstore k:1 k:2 k:3} {sinter k:1 k:2} {sintercard 2 k:1 k:2}
    {sinterstore k:1 k:2 k:3} {sismember k:1 x} {smembers k:1} {smismember k:1 x} {smove k:1 k:2 x} {spop k:1}
    {srandmember k:1} {srem k:1 x} {sscan k:1 0} {sunion k:1 k:2} {sunionstore k:1 k:2 k:3}
    {bzmpop 0.01 2 k:1 k:2 min} {bzpopmax k:1 k:2 0.01} {bzpopmin k:1 k:2 0.01} {zadd k:1 1 m} {zcard k:1}
    {zcount k:1 0 1} {zdiff 2 k:1 k:2} {zdiffstore k:1 2 k:2 k:3} {zincrby k:1 1 m} {zinter 2 k:1 k:2}
    {zintercard 2 k:1 k:2} {zinterstore k:1 2 k:2 k:3} {zlexcount k:1 - +} {zmpop 2 k:1 k:2 min} {zmscore k:1 m}
    {zpopmax k:1} {zpopmin k:1} {zrandmember k:1} {zrange k:1 0 -1} {zrangebylex k:1 - +} {zrangebyscore k:1 0 1}
    {zrangestore k:1 k:2 0 -1} {zrank k:1 m} {zrem k:1 m} {zremrangebylex k:1 - +} {zremrangebyrank k:1 0 1}
    {zremrangebyscore k:1 0 1} {zrevrange k:1 0 -1} {zrevrangebylex k:1 + -} {zrevrangebyscore k:1 1 0} {zrevrank k:1 m}
    {zscan k:1 0} {zscore k:1 m} {zunion 2 k:1 k:2} {zunionstore k:1 2 k:2 k:3 weights 1 2}
    {xack k:1 g 1-1} {xadd k:1 * f 1} {xautoclaim k:1 g c 0 0} {xclaim k:1 g c 0 1-1} {xdel k:1 1-1}
    {xdelex k:1 ids 1 1-1} {xackdel k:1 g ids 1 1-1} {xadd k:1 acked maxlen 1 * f 1} {xtrim k:1 maxlen 1 delref}
    {xadd k:1 idmp p i * f 1} {xcfgset k:1 idmp-maxsize 5} {xidmprecord k:1 p i 1-1}
    {xgroup create k:1 g $ mkstream} {xgroup createconsumer k:1 g c} {xgroup delconsumer k:1 g c} {xgroup destroy k:1 g}
    {xgroup setid k:1 g 0} {xinfo consumers k:1 g} {xinfo groups k:1} {xinfo stream k:1} {xlen k:1} {xpending k:1 g}
    {xrange k:1 - +} {xread streams k:1 k:2 0 0} {xread count 1 count 2 streams k:1 0}
    {xread block 1 count 1 streams k:1 k:2 0 0} {xreadgroup group g c streams k:1 k:2 > >} {xreadgroup count 1 group g c streams k:1 >}
    {xreadgroup count 1 group g c noack block 1 streams k:1 k:2 > 0} {xrevrange k:1 + -}
    {xsetid k:1 9-9} {xtrim k:1 maxlen 1}
    {append k:1 x} {decr k:1} {decrby k:1 1} {delifeq k:1 x} {delex k:1} {delex k:1 ifeq x} {digest k:1} {get k:1} {getdel k:1} {getex k:1} {getex k:1 ex 100}
    {getrange k:1 0 1} {getset k:1 x} {incr k:1} {incrby k:1 1} {incrbyfloat k:1 1} {lcs k:1 k:2} {mget k:1 k:2}
    {mset k:1 x k:2 y} {msetex 2 k:1 x k:2 y} {msetnx k:1 x k:2 y} {psetex k:1 100000 x} {set k:1 x} {set k:1 x get} {set k:1 x nx get} {set k:1 x GET keepttl}
    {setex k:1 100 x} {setnx k:1 x} {setrange k:1 1 x} {strlen k:1} {substr k:1 0 1}
    {watch k:1 k:2}
    {eval "return 1" 2 k:1 k:2 x} {eval_ro "return 1" 2 k:1 k:2 x} {evalsha 0 2 k:1 k:2 x} {evalsha_ro 0 2 k:1 k:2 x}
    {fcall f 2 k:1 k:2 x} {fcall_ro f 2 k:1 k:2 x}
}

# Arguments of these requests that are not keywords: members, fields, groups, values, patterns.
set names {m n f g c x y other}

# Names of options. A key, a group or a member may have any of these names.
set words {STREAMS STORE STOREDIST KEYS GET BY LIMIT COUNT GROUP AUTH}

# The test prints its seed when it fails; set KEYS_SEED to run it again.
set seed [expr {[info exists env(KEYS_SEED)] ? $env(KEYS_SEED) : [clock microseconds] % 1000000}]

proc below {n} {
    return [expr {int(rand() * $n)}]
}

proc one_of {list} {
    return [lindex $list [below [llength $list]]]
}

# Returns the options of REQUEST that precede names.
proc options_of {request} {
    return [lmap word $request {expr {[string toupper $word] in $::words ? [string toupper $word] : [continue]}}]
}

# Returns REQUEST with names of options as its keys and names, in either case. The keys are stored in the variable KEYS.
proc with_words {request keys} {
    upvar $keys used
    set used {}
    set filled [list [lindex $request 0]]
    set own [options_of $request]
    foreach word [lrange $request 1 end] {
        set is_key [string match k:* $word]
        if {$is_key || $word in $::names} {
            set word [one_of [expr {[llength $own] && [below 2] ? $own : $::words}]]
        }
        if {[below 2]} {
            set word [string tolower $word]
        } elseif {[string toupper $word] in $::words} {
            set word [string toupper $word]
        }
        if {$is_key} {
            lappend used $word
        }
        lappend filled $word
    }
    return $filled
}

# Returns REQUEST with an argument replaced, removed or added.
proc changed {request} {
    set new [one_of [concat $::words [string tolower $::words] 0 1 2 >]]
    set at [expr {1 + [below [expr {max(1, [llength $request] - 1)}]]}]
    switch [below 3] {
        0 { return [lreplace $request $at $at $new] }
        1 { return [lreplace $request $at $at] }
        2 { return [linsert $request $at $new] }
    }
}

# Returns a command that stores TEXT at KEY as a value of TYPE.
proc value_command {type key text} {
    switch $type {
        string { return [list SET $key $text] }
        list { return [list RPUSH $key $text $text] }
        set { return [list SADD $key $text 1] }
        zset { return [list ZADD $key 1 $text 2 1] }
        hash { return [list HSET $key $text $text] }
        stream { return [list XADD $key 1-1 f $text] }
    }
}

# Returns the name in a user's rules: "config|get".
proc full_name {request} {
    lassign $request name sub
    set found [lindex [r COMMAND INFO $name|$sub] 0]
    return [expr {$found in {{} (nil)} ? $name : "$name|$sub"}]
}

proc keys_of {request} {
    return [lsearch -all -inline $request k:*]
}

# Returns commands and subcommands, with their information.
proc all_commands {} {
    set found {}
    foreach command [r COMMAND] {
        dict set found [lindex $command 0] $command
        foreach sub [lindex $command 9] {
            dict set found [lindex $sub 0] $sub
        }
    }
    return $found
}

# Returns a request with the minimum number of words.
proc some_request {name arity} {
    set words [split $name |]
    while {[llength $words] < abs($arity)} {
        lappend words 1
    }
    return $words
}

proc is_refused {c request} {
    return [expr {[catch {$c {*}$request} message] && [string match "NOPERM*" $message]}]
}

# Runs BODY with a connection of user u, who has RULES and may run all commands.
proc with_rules {rules body} {
    upvar c c
    r ACL SETUSER u reset on >p +@all {*}$rules
    with_clients c {
        assert_equal OK [$c AUTH u p]
        uplevel 1 $body
    }
}

start_server {tags own-files overrides {enable-module-command yes}} {
    set table [all_commands]

    test "A user without the permission is refused each command, and each with it alone is not" {
        # Logging in as another user is always permitted.
        set always {auth hello quit reset}
        set asked 0
        with_rules {~* &*} {
            dict for {name info} $table {
                lassign $info - arity
                set subs [lindex $info 9]
                if {$subs ne "" && $arity < -1} {
                    continue ;# a container is not executed
                }
                r ACL SETUSER u +@all -$name
                set request [some_request $name $arity]
                set why "User u has no permissions to run the '$name' command"
                if {$name in $always} {
                    assert_equal OK [r ACL DRYRUN u {*}$request]
                    continue
                }
                assert_equal $why [r ACL DRYRUN u {*}$request]
                assert_error [expr {$name eq "exec" ? "EXECABORT *: NOPERM $why" : "NOPERM $why"}] {$c {*}$request}
                r ACL SETUSER u -@all +$name
                assert_equal OK [r ACL DRYRUN u {*}$request]
                assert_no_match OK [r ACL DRYRUN u {*}[expr {$name eq "get" ? "set 1 1" : "get 1"}]]
                incr asked
            }
        }
        assert {$asked > 300}
    }

    test "All commands that name keys stand in this file" {
        set here [lsort -unique [lmap request $requests {full_name $request}]]
        set there {}
        dict for {name info} $table {
            lassign $info - - flags - - - - - specs
            set names_keys [expr {"movablekeys" in $flags}]
            foreach spec $specs {
                if {"not_key" ni [dict get $spec flags]} {
                    set names_keys 1
                }
            }
            if {$names_keys} {
                lappend there $name
            }
        }
        assert_equal {} [lmap name $there {expr {$name in $here ? [continue] : $name}}]
        assert_equal {} [lmap name $here {
            expr {$name in $there || ![dict exists $table $name] ? [continue] : $name}
        }]
    }

    test "Keys are found where keys, groups, members and values are spelled like options" {
        expr {srand($seed)}
        set asked {}
        set expected {}
        foreach request $requests {
            for {set i 0} {$i < 12} {incr i} {
                lappend asked [with_words $request keys]
                lappend expected [lsort $keys]
            }
        }
        set wrong {}
        [default_client] pipeline [lmap request $asked {concat COMMAND GETKEYS $request}]
        foreach request $asked keys $expected found [[default_client] replies [llength $asked]] {
            if {[lsort $found] ne $keys} {
                lappend wrong "$request: $found"
            }
        }
        assert_equal {} [expr {[llength $wrong] ? "seed $seed: [lrange $wrong 0 4]" : {}}]
    }

    # The user may access keys in upper case, but not those in lower case; both are named like options. In no request
    # may the user read or change a key of the second kind. MIGRATE would connect.
    foreach type {string list set zset hash stream} {
        test "Random requests show and change no key that the user may not use: $type" {
            expr {srand($seed)}
            set closed [string tolower $words]
            set make [list FLUSHALL]
            foreach key $words {
                lappend make [value_command $type $key plain] [value_command $type [string tolower $key] secret]
            }
            if {$type eq "stream"} {
                foreach key [concat $words $closed] {
                    foreach group [concat $words $closed] {
                        lappend make [list XGROUP CREATE $key $group 0]
                    }
                }
            }
            set dump [lmap key $closed {list DUMP $key}]
            set any [lmap request $requests {expr {[lindex $request 0] eq "migrate" ? [continue] : $request}}]
            set movable [lmap request $any {expr {[llength [options_of $request]] ? $request : [continue]}}]
            with_rules [lmap key $words {string cat ~ $key}] {
                for {set round 0} {$round < 20} {incr round} {
                    r pipeline [concat $make $dump]
                    set before [lrange [r replies [expr {[llength $make] + [llength $dump]}]] [llength $make] end]
                    set asked {}
                    for {set i 0} {$i < 100} {incr i} {
                        set request [with_words [one_of [expr {[below 4] ? $movable : $any}]] -]
                        for {set n [below 3]} {$n > 0} {incr n -1} {
                            set request [changed $request]
                        }
                        # A script does not block.
                        if {[regexp {^(b|xread)} $request]} {
                            set request [list EVAL {return redis.pcall(unpack(ARGV))} 0 {*}$request]
                        }
                        lappend asked $request
                    }
                    $c pipeline $asked
                    set shown {}
                    foreach request $asked reply [$c replies [llength $asked]] {
                        if {[string match *secret* $reply]} {
                            lappend shown "$request: [shorten $reply]"
                        }
                    }
                    assert_equal {} [expr {[llength $shown] ? "seed $seed: $shown" : {}}]
                    r pipeline $dump
                    if {[r replies [llength $dump]] ne $before} {
                        fail "seed $seed: one of these has changed a key: $asked"
                    }
                }
            }
        }
    }

    test "All commands about channels: those that name some are refused for each" {
        set named {publish spublish subscribe ssubscribe psubscribe}
        set others {unsubscribe sunsubscribe punsubscribe pubsub|channels pubsub|numpat pubsub|numsub pubsub|shardchannels
            pubsub|shardnumsub}
        assert_same_set [concat $named $others] [r ACL CAT pubsub]
        with_rules {~* &yes.* &yes} {
            foreach {request refused} {
                {publish no x} 1 {spublish no x} 1 {subscribe yes no} 1 {ssubscribe yes.1 no} 1 {psubscribe yes.* no*} 1
                {psubscribe yes.1*} 1 {psubscribe *} 1 {publish yes.1 x} 0 {spublish yes x} 0
            } {
                assert_equal $refused [is_refused $c $request]
            }
        }
    }

    test "Where a database is named that the user may not use, or all are, the command is refused" {
        with_rules {~* &* db=0,1} {
            foreach {request refused} {
                {select 2} 1 {swapdb 0 2} 1 {swapdb 2 1} 1 {move k:1 2} 1 {copy k:1 k:2 db 2} 1
                {copy k:1 k:2 replace DB 2} 1 {copy k:1 k:2 db 2 db 0} 1 {copy k:1 k:2 db 0 db 2} 1 {flushall} 1 {flushall async} 1 {select 1} 0 {flushdb} 0 {swapdb 0 1} 0
                {copy k:1 k:2 db 0} 0 {move k:1 0} 0
            } {
                assert_equal $refused [is_refused $c $request]
            }
        }
        # Every command that reads or writes the keyspace needs permission for the selected database.
        r ACL SETUSER u reset on +@all ~* &* db=1
        set open {}
        dict for {name info} $table {
            lassign $info - arity flags
            set verdict [expr {"write" in $flags || "readonly" in $flags || $name in {keys scan randomkey dbsize}
                ? [r ACL DRYRUN u {*}[some_request $name $arity]] : "no database"}]
            if {$verdict eq "OK"} {
                lappend open $name
            }
        }
        assert_equal {swapdb} $open ;# SWAPDB 1 1
    }

    foreach request $requests {
        test "[string toupper [lindex $request 0]][string range $request [string length [lindex $request 0]] end]: refused for each key, for what is done to it, and in another database" {
            need_command [lindex $request 0]
            set keys [keys_of $request]
            set listed [r COMMAND GETKEYSANDFLAGS {*}$request]
            assert_same_set $keys [lmap entry $listed {lindex $entry 0}]
            set all [lmap key $keys {string cat ~ $key}]
            foreach entry $listed {
                lassign $entry key flags
                set others [lmap other $keys {expr {$other eq $key ? [continue] : [string cat ~ $other]}}]
                # No access, and access of the wrong kind.
                set too_few [list {}]
                if {"access" in $flags} {
                    lappend too_few %W~$key
                }
                if {"insert" in $flags || "update" in $flags || "delete" in $flags} {
                    lappend too_few %R~$key
                }
                foreach rule $too_few {
                    with_rules [list {*}$others {*}$rule] {
                        assert_error "NOPERM No permissions to access a key" {$c {*}$request}
                    }
                }
            }
            with_rules [list {*}$all db=1] {
                assert_error "NOPERM No permissions to access database" {$c {*}$request}
            }
            with_rules $all {
                assert {![is_refused $c $request]}
            }
        }
    }
}
