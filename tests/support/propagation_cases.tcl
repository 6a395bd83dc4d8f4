# propagation_cases.tcl -- the exact propagation of each command to the append-only file and to replicas.
#
# A case has setup commands, the commands under test (separated by '|'; "@" before one that blocks, on a client of its
# own; SLEEP in milliseconds; AWAIT a reply), the commands that are logged, and, if they differ, those that replicas are
# sent. In these MS stands for a time of today in milliseconds, ID for one as an ID, $DUMP for a payload. SELECT is left
# out. The same cases hold for Valkey 9.1 (tests/differential/replication); for the differences of this server see
# tests/unit/commands/propagated_test.c.
#
# A file that sources this must define `dump`, and the command `propagates`, which takes a case.
#
# SPDX-License-Identifier: BSD-3-Clause

set over "SET k v PX 1|SET l v PX 1|SLEEP 30"
set hidden "HSETEX h PX 1 FIELDS 2 f 1 e 1|HSET h g 1|SLEEP 30"
set group "XADD x 1-1 f v|XADD x 2-1 f v|XADD x 3-1 f v|XGROUP CREATE x g 0"
set pending "$group|XREADGROUP GROUP g c COUNT 2 STREAMS x >"
set nodes "CONFIG SET stream-node-max-entries 2"
foreach id {1-1 2-1 3-1 4-1 5-1} {append nodes "|XADD x $id f v"}

# ---- Strings ----------------------------------------------------------------------------------------------------

propagates {} {SET k v} {SET k v}
propagates {} {sEt k v} {sEt k v}
propagates {SET k 1} {SET k 1} {SET k 1}
propagates {} {SET k v NX} {SET k v NX}
propagates {SET k v} {SET k w NX} {}
propagates {SET k v} {SET k w XX GET} {SET k w XX}
propagates {SET k v} {Set k get GET IFEQ v} {Set k get IFEQ v}
propagates {SET k v} {SET k w KEEPTTL GET} {SET k w KEEPTTL}
propagates {SET k v EX 100} {SET k w KEEPTTL} {SET k w KEEPTTL}
propagates {} {SET k v EX 100} {SET k v PXAT MS}
propagates {} {sEt k v px 100000} {sEt k v PXAT MS}
propagates {} {set k v px 100000 nx get} {SET k v PXAT MS}
propagates {} {SET k v EXAT 33177117420} {SET k v PXAT 33177117420000}
propagates {} {set k v pxat 33177117420000} {set k v pxat 33177117420000}
propagates {SET k 1} {set k v XX GET pxat 33177117420000} {set k v XX GET pxat 33177117420000}
propagates {SET k v} {SET k w EX 100 XX} {SET k w PXAT MS}
propagates {SET k v} {SET k w PXAT 1} {UNLINK k}
propagates {} {SET k w PXAT 1} {}
propagates {SET k v} {SET k w EXAT 1 GET} {UNLINK k}
propagates {} {SETEX k 100 v} {SET k v PXAT MS}
propagates {} {PSETEX k 100000 v} {SET k v PXAT MS}
propagates {} {SETNX k v} {SETNX k v}
propagates {SET k v} {SETNX k w} {}
propagates {SET k v} {GETSET k w} {SET k w}
propagates {} {GETSET k w} {SET k w}
propagates {SET k v} {GETDEL k} {DEL k}
propagates {} {GETDEL k} {}
propagates {SET k v} {DELIFEQ k v} {DEL k}
propagates {SET k v} {DELIFEQ k w} {}
propagates {SET k v} {GETEX k} {}
propagates {SET k v} {GETEX k EX 100} {PEXPIREAT k MS}
propagates {SET k v} {getex k pxat 33177117420000} {PEXPIREAT k 33177117420000}
propagates {SET k v} {GETEX k PXAT 1} {UNLINK k}
propagates {SET k v EX 100} {GETEX k PERSIST} {PERSIST k}
propagates {SET k v} {GETEX k PERSIST} {}
propagates {} {APPEND k v} {APPEND k v}
propagates {SET k v} {APPEND k ""} {APPEND k ""}
propagates {SET k v} {SETRANGE k 3 x} {SETRANGE k 3 x}
propagates {SET k v} {SETRANGE k 3 ""} {}
propagates {} {INCR k} {INCR k}
propagates {} {INCRBY k 0} {INCRBY k 0}
propagates {} {DECR k} {DECR k}
propagates {} {DECRBY k 5} {DECRBY k 5}
propagates {SET k x} {INCR k} {}
propagates {} {INCRBYFLOAT k 1.5} {SET k 1.5 KEEPTTL}
propagates {SET k 1 EX 100} {INCRBYFLOAT k 1.5} {SET k 2.5 KEEPTTL}
propagates {} {MSET a 1 b 2} {MSET a 1 b 2}
propagates {} {MSETNX a 1 b 2} {MSETNX a 1 b 2}
propagates {SET b 1} {MSETNX a 1 b 2} {}
propagates {} {MSETEX 2 a 1 b 2} {MSETEX 2 a 1 b 2}
propagates {} {MSETEX 2 a 1 b 2 EX 100} {MSETEX 2 a 1 b 2 PXAT MS}
propagates {} {msetex 2 a 1 b 2 NX px 100000} {msetex 2 a 1 b 2 NX PXAT MS}
propagates {} {MSETEX 2 a 1 b 2 EXAT 33177117420 NX} {MSETEX 2 a 1 b 2 PXAT 33177117420000 NX}
propagates {} {MSETEX 1 a 1 PXAT 33177117420000} {MSETEX 1 a 1 PXAT 33177117420000}
propagates {SET a 1} {MSETEX 1 a 1 XX KEEPTTL} {MSETEX 1 a 1 XX KEEPTTL}
propagates {} {MSETEX 1 a 1 XX} {}
propagates {} {SETBIT k 3 1} {SETBIT k 3 1}
propagates {SET k 1} {SETBIT k 3 1} {}
propagates {} {BITFIELD k SET u8 0 5 GET u8 0} {BITFIELD k SET u8 0 5 GET u8 0}
propagates {SET k 1} {BITFIELD k GET u8 0} {}
propagates {SET k 1} {BITFIELD k SET u8 0 49} {}
propagates {MSET a 1 b 2} {BITOP AND c a b} {BITOP AND c a b}
propagates {SET c 1} {BITOP AND c x y} {BITOP AND c x y}
propagates {} {BITOP AND c x y} {}
propagates {} {PFADD k a b} {PFADD k a b}
propagates {PFADD k a} {PFADD k a} {}
propagates {} {PFADD k} {PFADD k}
propagates {PFADD k a|PFADD l b} {PFMERGE m k l} {PFMERGE m k l}

# ---- Keys and databases -----------------------------------------------------------------------------------------

propagates {MSET a 1 b 2} {DEL a b z} {DEL a b z}
propagates {} {DEL a} {}
propagates {SET a 1} {UNLINK a z} {UNLINK a z}
propagates {SET a 1} {RENAME a b} {RENAME a b}
propagates {SET a 1} {RENAME a a} {}
propagates {SET a 1} {RENAMENX a b} {RENAMENX a b}
propagates {SET a 1} {MOVE a 3} {MOVE a 3}
propagates {SET a 1} {COPY a b} {COPY a b}
propagates {SET a 1} {COPY a a DB 3} {COPY a a DB 3}
propagates {MSET a 1 b 1} {COPY a b} {}
propagates {MSET a 1 b 1} {COPY a b REPLACE} {COPY a b REPLACE}
propagates {SET a 1} {EXPIRE a 100} {PEXPIREAT a MS}
propagates {SET a 1} {expire a 100 nx} {PEXPIREAT a MS nx}
propagates {SET a 1 EX 10} {EXPIRE a 100 GT} {PEXPIREAT a MS GT}
propagates {SET a 1} {EXPIRE a 100 XX} {}
propagates {SET a 1} {PEXPIRE a 100000} {PEXPIREAT a MS}
propagates {SET a 1} {EXPIREAT a 33177117420} {PEXPIREAT a 33177117420000}
propagates {SET a 1} {pexpireat a 33177117420000 nx} {pexpireat a 33177117420000 nx}
propagates {SET a 1} {PEXPIREAT a 33177117420000|PEXPIREAT a 33177117420000} \
    {PEXPIREAT a 33177117420000; PEXPIREAT a 33177117420000}
propagates {SET a 1} {EXPIRE a -1} {UNLINK a}
propagates {SET a 1} {PEXPIREAT a 1} {UNLINK a}
propagates {} {EXPIRE a 100} {}
propagates {SET a 1 EX 100} {PERSIST a} {PERSIST a}
propagates {SET a 1} {PERSIST a} {}
propagates {SET a 1} {SWAPDB 0 1} {SWAPDB 0 1}
propagates {} {SWAPDB 2 2} {SWAPDB 2 2}
propagates {SET a 1} {FLUSHALL} {FLUSHALL}
propagates {} {flushall async} {flushall async}
propagates {} {FLUSHDB} {FLUSHDB}
propagates {} {FLUSHDB SYNC} {FLUSHDB SYNC}
propagates {RPUSH l 3 1 2} {SORT l STORE d} {SORT l STORE d}
propagates {SET d 1} {SORT l STORE d} {SORT l STORE d}
propagates {} {SORT l STORE d} {}
propagates {RPUSH l 3 1 2} {SORT l} {}
propagates {SET a 1} {RESTORE b 0 $DUMP} {RESTORE b 0 $DUMP}
propagates {SET a 1} {RESTORE b 100000 $DUMP} {RESTORE b MS $DUMP ABSTTL}
propagates {SET a 1} {RESTORE b 33177117420000 $DUMP ABSTTL} {RESTORE b 33177117420000 $DUMP ABSTTL}
propagates {SET a 1} {restore a 100000 $DUMP REPLACE IDLETIME 5} {restore a MS $DUMP REPLACE IDLETIME 5 ABSTTL}
propagates {SET a 1} {RESTORE a 1 $DUMP REPLACE ABSTTL} {UNLINK a}
propagates {} {RESTORE a 1 $DUMP ABSTTL} {}

# ---- Lists ------------------------------------------------------------------------------------------------------

propagates {} {LPUSH l a b} {LPUSH l a b}
propagates {} {RPUSH l a} {RPUSH l a}
propagates {} {LPUSHX l a} {}
propagates {RPUSH l a} {RPUSHX l b} {RPUSHX l b}
propagates {RPUSH l a b c} {LPOP l} {LPOP l}
propagates {RPUSH l a b c} {RPOP l 2} {RPOP l 2}
propagates {RPUSH l a} {LPOP l 0} {}
propagates {RPUSH l a b} {LSET l 0 z} {LSET l 0 z}
propagates {RPUSH l a b} {LINSERT l BEFORE b z} {LINSERT l BEFORE b z}
propagates {RPUSH l a b} {LINSERT l BEFORE q z} {}
propagates {RPUSH l a b} {LTRIM l 0 0} {LTRIM l 0 0}
propagates {RPUSH l a b} {LTRIM l 0 -1} {}
propagates {RPUSH l a a} {LREM l 0 a} {LREM l 0 a}
propagates {RPUSH l a} {LREM l 0 b} {}
propagates {RPUSH l a b} {LMOVE l m LEFT RIGHT} {LMOVE l m LEFT RIGHT}
propagates {RPUSH l a b} {RPOPLPUSH l m} {RPOPLPUSH l m}
propagates {RPUSH l a b} {LMPOP 2 k l LEFT} {LPOP l 1}
propagates {RPUSH l a b} {lmpop 1 l right COUNT 9} {RPOP l 2}
propagates {RPUSH l a b} {BLPOP k l 0} {LPOP l}
propagates {RPUSH l a b} {brpop l 0} {RPOP l}
propagates {RPUSH l a b} {BLMOVE l m left right 0} {LMOVE l m left right}
propagates {RPUSH l a b} {BRPOPLPUSH l m 0} {RPOPLPUSH l m}
propagates {RPUSH l a b} {BLMPOP 0 1 l LEFT COUNT 2} {LPOP l 2}
propagates {} {@BLPOP l 0|RPUSH l a b} {RPUSH l a b; LPOP l}
propagates {} {@BLMOVE l m LEFT RIGHT 0|RPUSH l a} {RPUSH l a; LMOVE l m LEFT RIGHT}
propagates {} {@BLMOVE l m LEFT RIGHT 0|@BRPOPLPUSH m n 0|RPUSH l a} \
    {RPUSH l a; LMOVE l m LEFT RIGHT; RPOPLPUSH m n}
propagates {} {@BLPOP l 0|MULTI|RPUSH l a b|SET k v|EXEC} {MULTI; RPUSH l a b; SET k v; EXEC; LPOP l}
propagates {} {@BLMPOP 0 1 l RIGHT COUNT 2|RPUSH l a b c|SET k v} {RPUSH l a b c; RPOP l 2; SET k v}

# ---- Sets -------------------------------------------------------------------------------------------------------

propagates {} {SADD s a b} {SADD s a b}
propagates {SADD s a} {SADD s a} {}
propagates {SADD s a b} {SREM s a z} {SREM s a z}
propagates {SADD s a} {SREM s z} {}
propagates {SADD s a b} {SMOVE s t a} {SMOVE s t a}
propagates {SADD s a b} {SMOVE s s a} {}
propagates {SADD s a} {SPOP s} {SREM s a}
propagates {SADD s 1} {SPOP s} {SREM s 1}
propagates {SADD s a} {SPOP s 1} {UNLINK s}
propagates {SADD s a b} {SPOP s 5} {UNLINK s}
propagates {SADD s a a1} {SPOP s 0} {}
propagates {SADD s a b|SADD t b} {SINTERSTORE d s t} {SINTERSTORE d s t}
propagates {SET d 1} {SINTERSTORE d s t} {SINTERSTORE d s t}
propagates {} {SUNIONSTORE d s t} {}
propagates {SADD s a} {SDIFFSTORE d s t} {SDIFFSTORE d s t}

# ---- Sorted sets, and geo ---------------------------------------------------------------------------------------

propagates {} {ZADD z 1 a 2 b} {ZADD z 1 a 2 b}
propagates {ZADD z 1 a} {ZADD z 1 a} {}
propagates {ZADD z 1 a} {ZADD z XX CH 2 a} {ZADD z XX CH 2 a}
propagates {ZADD z 1 a} {ZADD z INCR 2 a} {ZADD z INCR 2 a}
propagates {ZADD z 1 a} {ZINCRBY z 1.5 a} {ZINCRBY z 1.5 a}
propagates {ZADD z 1 a} {ZREM z a b} {ZREM z a b}
propagates {ZADD z 1 a 2 b} {ZPOPMIN z} {ZPOPMIN z}
propagates {ZADD z 1 a 2 b} {ZPOPMAX z 5} {ZPOPMAX z 5}
propagates {ZADD z 1 a 2 b} {ZMPOP 2 y z MIN} {ZPOPMIN z 1}
propagates {ZADD z 1 a 2 b} {zmpop 1 z max count 5} {ZPOPMAX z 2}
propagates {ZADD z 1 a 2 b} {BZPOPMIN y z 0} {ZPOPMIN z}
propagates {ZADD z 1 a 2 b} {bzpopmax z 0} {ZPOPMAX z}
propagates {ZADD z 1 a 2 b} {BZMPOP 0 1 z MIN COUNT 2} {ZPOPMIN z 2}
propagates {} {@BZPOPMIN z 0|ZADD z 1 a 2 b} {ZADD z 1 a 2 b; ZPOPMIN z}
propagates {ZADD z 1 a 2 b} {ZREMRANGEBYSCORE z 1 1} {ZREMRANGEBYSCORE z 1 1}
propagates {ZADD z 1 a} {ZREMRANGEBYRANK z 5 6} {}
propagates {ZADD z 1 a 2 b} {ZRANGESTORE d z 0 -1} {ZRANGESTORE d z 0 -1}
propagates {SET d 1} {ZRANGESTORE d z 0 -1} {ZRANGESTORE d z 0 -1}
propagates {ZADD z 1 a} {ZUNIONSTORE d 1 z} {ZUNIONSTORE d 1 z}
propagates {ZADD z 1 a} {ZINTERSTORE d 2 z y} {}
propagates {ZADD z 1 a} {ZDIFFSTORE d 1 z} {ZDIFFSTORE d 1 z}
propagates {} {GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania} \
    {ZADD g 3479099956230698 Palermo 3479447370796909 Catania}
propagates {} {geoadd g nx ch 13.361389 38.115556 P} {ZADD g nx ch 3479099956230698 P}
propagates {GEOADD g 13.361389 38.115556 P} {GEOADD g 13.361389 38.115556 P} {}
propagates {GEOADD g 13.361389 38.115556 P} {GEOSEARCHSTORE d g FROMMEMBER P BYRADIUS 1 km} \
    {GEOSEARCHSTORE d g FROMMEMBER P BYRADIUS 1 km}
propagates {GEOADD g 13.361389 38.115556 P} {GEORADIUS g 13 38 500 km STORE d} {GEORADIUS g 13 38 500 km STORE d}

# ---- Hashes -----------------------------------------------------------------------------------------------------

propagates {} {HSET h f v g w} {HSET h f v g w}
propagates {HSET h f v} {hset h f v} {hset h f v}
propagates {} {HMSET h f v} {HMSET h f v}
propagates {} {HSETNX h f v} {HSETNX h f v}
propagates {HSET h f v} {HSETNX h f v} {}
propagates {HSET h f v g w} {HDEL h f x} {HDEL h f x}
propagates {HSET h f v} {HDEL h x} {}
propagates {} {HINCRBY h f 5} {HINCRBY h f 5}
propagates {HSET h f 1} {hincrby h f 0} {hincrby h f 0}
propagates {} {HINCRBYFLOAT h f 1.5} {HSET h f 1.5}
propagates {HSETEX h EX 100 FIELDS 1 f 1} {HINCRBY h f 5} {HSETEX h PXAT MS FIELDS 1 f 6}
propagates {HSETEX h EX 100 FIELDS 1 f 1} {HINCRBYFLOAT h f 1.5} {HSETEX h PXAT MS FIELDS 1 f 2.5}
propagates {HSET h f v g w} {HGETDEL h FIELDS 1 f} {HGETDEL h FIELDS 1 f}
propagates {HSET h f v} {HGETDEL h FIELDS 2 f x} {HGETDEL h FIELDS 2 f x}
propagates {HSET h f v} {HGETDEL h FIELDS 1 x} {}
propagates {} {HSETEX h FIELDS 1 f v} {HSETEX h FIELDS 1 f v}
propagates {} {hsetex h ex 100 fields 1 f v} {hsetex h PXAT MS fields 1 f v}
propagates {} {HSETEX h FNX PXAT 33177117420000 FIELDS 2 f v g w} {HSETEX h PXAT 33177117420000 FIELDS 2 f v g w}
propagates {HSET h f v} {HSETEX h XX FXX KEEPTTL FIELDS 1 f w} {HSETEX h KEEPTTL FIELDS 1 f w}
propagates {HSET h f v} {HSETEX h FNX FIELDS 1 f w} {}
propagates {HSET h f v g w} {HSETEX h PXAT 1 FIELDS 2 f v x y} {HDEL h f}
propagates {HSET h f v} {HSETEX h PXAT 1 FIELDS 1 f v} {HDEL h f}
propagates {} {HSETEX h PXAT 1 FIELDS 1 f v} {}
propagates {HSET h f v g w} {HEXPIRE h 100 FIELDS 1 f} {HPEXPIREAT h MS FIELDS 1 f}
propagates {HSET h f v g w} {HEXPIRE h 100 FIELDS 2 f x} {HPEXPIREAT h MS FIELDS 2 f x}
propagates {HSET h f v g w} {hpexpire h 100000 nx fields 2 f g} {HPEXPIREAT h MS nx fields 2 f g}
propagates {HSETEX h EX 10 FIELDS 1 f v|HSET h g w} {HEXPIRE h 100 XX FIELDS 2 f g} \
    {HPEXPIREAT h MS XX FIELDS 2 f g}
propagates {HSET h f v} {HEXPIREAT h 33177117420 FIELDS 1 f} {HPEXPIREAT h 33177117420000 FIELDS 1 f}
propagates {HSET h f v} {hpexpireat h 33177117420000 fields 1 f} {hpexpireat h 33177117420000 fields 1 f}
propagates {HSET h f v g w} {HEXPIRE h 0 FIELDS 2 f x} {HDEL h f}
propagates {HSET h f v} {HPEXPIREAT h 1 FIELDS 1 f} {HDEL h f}
propagates {HSET h f v} {HEXPIRE h 100 XX FIELDS 1 f} {}
propagates {HSETEX h EX 100 FIELDS 1 f v|HSET h g w} {HPERSIST h FIELDS 2 f g} {HPERSIST h FIELDS 2 f g}
propagates {HSET h f v} {HPERSIST h FIELDS 1 f} {}
propagates {HSET h f v g w} {HGETEX h EX 100 FIELDS 2 f x} {HPEXPIREAT h MS FIELDS 1 f}
propagates {HSETEX h EX 100 FIELDS 1 f v|HSET h g w} {HGETEX h PERSIST FIELDS 2 f g} {HPERSIST h FIELDS 1 f}
propagates {HSET h f v g w} {HGETEX h PXAT 1 FIELDS 2 f x} {HDEL h f}
propagates {HSET h f v} {HGETEX h FIELDS 1 f} {}

# ---- Expired fields that are still present ----------------------------------------------------------------------

propagates $hidden {HSET h f 2} {HSET h f 2}
propagates $hidden {HSETNX h f 2} {HSET h f 2}
propagates $hidden {HINCRBY h f 2} {HSET h f 2}
propagates $hidden {HINCRBYFLOAT h f 2} {HSET h f 2}
propagates $hidden {HDEL h f} {}
propagates $hidden {HEXPIRE h 0 FIELDS 2 f g} {HDEL h g}
propagates $hidden {HGETEX h EX 100 FIELDS 2 f g} {HPEXPIREAT h MS FIELDS 1 g}
propagates $hidden {HSETEX h FNX FIELDS 1 f 5} {HSETEX h FIELDS 1 f 5}
propagates $hidden {HSETEX h PXAT 1 FIELDS 2 f 5 g 1} {HDEL h f g}

# ---- Streams ----------------------------------------------------------------------------------------------------

propagates {} {XADD x * f v} {XADD x ID f v}
propagates {} {XADD x 5-* f v} {XADD x 5-0 f v}
propagates {} {XADD x 5-1 f v} {XADD x 5-1 f v}
propagates {} {xadd x NOMKSTREAM * f v} {}
propagates {XADD x 1-1 f v} {xadd x NOMKSTREAM * f v} {xadd x NOMKSTREAM ID f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MAXLEN 1 3-1 f v} {XADD x MAXLEN 1 3-1 f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MAXLEN = 1 * f v} {XADD x MAXLEN = 1 ID f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MAXLEN ~ 1 3-1 f v} {XADD x MAXLEN = 3 3-1 f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MAXLEN ~ 1 LIMIT 100 * f v} \
    {XADD x MAXLEN = 3 LIMIT 100 ID f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MINID ~ 2 * f v} {XADD x MINID = 1-1 ID f v}
propagates {XADD x 1-1 f v|XADD x 2-1 f v} {XADD x MINID 2 * f v} {XADD x MINID 2 ID f v}
propagates $nodes {XTRIM x MAXLEN ~ 3} {XTRIM x MAXLEN = 3}
propagates $nodes {XTRIM x MAXLEN ~ 3 LIMIT 100} {XTRIM x MAXLEN = 3 LIMIT 100}
propagates $nodes {xtrim x minid ~ 3-1} {xtrim x minid = 3-1}
propagates $nodes {XTRIM x MAXLEN 3} {XTRIM x MAXLEN 3}
propagates $nodes {XTRIM x MINID = 3-1} {XTRIM x MINID = 3-1}
propagates $nodes {XTRIM x MAXLEN ~ 5} {}
propagates $nodes {XTRIM x MINID ~ 9} {XTRIM x MINID = 18446744073709551615-18446744073709551615}
propagates $nodes {XADD x MAXLEN ~ 3 * f v} {XADD x MAXLEN = 4 ID f v}
propagates $nodes {XADD x MINID ~ 3 6-1 f v} {XADD x MINID = 3-1 6-1 f v}
propagates $nodes {XTRIM x MAXLEN ~ 0} {XTRIM x MAXLEN = 0}
propagates {XADD x 1-1 f v} {XDEL x 1-1 7-7} {XDEL x 1-1 7-7}
propagates {XADD x 1-1 f v} {XDEL x 7-7} {}
propagates {XADD x 1-1 f v} {XSETID x 5-5} {XSETID x 5-5}
propagates {XADD x 1-1 f v} {XGROUP CREATE x g $} {XGROUP CREATE x g $}
propagates {} {XGROUP CREATE x g $ MKSTREAM} {XGROUP CREATE x g $ MKSTREAM}
propagates $group {XREADGROUP GROUP g c STREAMS x >} \
    {MULTI; XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 1-1;\
    XCLAIM x g c 0 2-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g c 0 3-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 3-1; XGROUP SETID x g 3-1 ENTRIESREAD 3; EXEC}
propagates $group {xreadgroup group g c count 1 streams x >} \
    {MULTI; XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 1-1;\
    XGROUP SETID x g 1-1 ENTRIESREAD 1; EXEC}
propagates $group {XREADGROUP GROUP g c COUNT 1 NOACK STREAMS x >} \
    {MULTI; XGROUP CREATECONSUMER x g c; XGROUP SETID x g 1-1 ENTRIESREAD 1; EXEC}
propagates $group {XGROUP CREATECONSUMER x g c} {XGROUP CREATECONSUMER x g c}
propagates $group {XGROUP SETID x g $} {XGROUP SETID x g $}
propagates $group {XGROUP DESTROY x g} {XGROUP DESTROY x g}
propagates $group {XCLAIM x g d 0 1-1 FORCE} {XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 0-0}
propagates $pending {XREADGROUP GROUP g c STREAMS x >} \
    {MULTI; XCLAIM x g c 0 3-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 3-1;\
    XGROUP SETID x g 3-1 ENTRIESREAD 3; EXEC}
propagates $pending {XREADGROUP GROUP g c NOACK STREAMS x >} {XGROUP SETID x g 3-1 ENTRIESREAD 3}
propagates $pending {XACK x g 1-1 7-7} {XACK x g 1-1 7-7}
propagates $pending {XACK x g 7-7} {}
propagates $pending {XCLAIM x g d 0 1-1 2-1} \
    {MULTI; XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g d 0 2-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1; EXEC}
propagates $pending {XCLAIM x g d 0 1-1 RETRYCOUNT 7 IDLE 0 JUSTID} \
    {XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 7 FORCE JUSTID LASTID 2-1}
propagates $pending {XCLAIM x g c 0 1-1 LASTID 2-5} \
    {XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-5}
propagates $pending {XAUTOCLAIM x g d 0 0 COUNT 1} \
    {XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1}
propagates $pending {XAUTOCLAIM x g d 0 0 JUSTID} \
    {MULTI; XCLAIM x g d 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g d 0 2-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1; EXEC}
propagates $pending {XDEL x 1-1|XCLAIM x g d 0 1-1 2-1} \
    {XDEL x 1-1; MULTI; XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g d 0 2-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1; EXEC}
propagates $pending {XDEL x 1-1|XAUTOCLAIM x g d 0 0} \
    {XDEL x 1-1; MULTI; XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g d 0 2-1 TIME MS RETRYCOUNT 2 FORCE JUSTID LASTID 2-1; EXEC}
propagates $pending {XGROUP DELCONSUMER x g c} {XGROUP DELCONSUMER x g c}
propagates $pending {XGROUP SETID x g 1-1|XREADGROUP GROUP g d STREAMS x >} \
    {XGROUP SETID x g 1-1; MULTI; XCLAIM x g d 0 2-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 2-1;\
    XCLAIM x g d 0 3-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 3-1; XGROUP SETID x g 3-1 ENTRIESREAD 3; EXEC}
propagates \
    {XADD x 1-1 f v|XADD x 2-1 f v|XADD x 3-1 f v|XGROUP CREATE x g 0|XGROUP CREATE y g $ MKSTREAM|XADD y 1-1 f v} \
    {XREADGROUP GROUP g c COUNT 1 STREAMS x y > >} \
    {MULTI; XCLAIM x g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 1-1;\
    XGROUP SETID x g 1-1 ENTRIESREAD 1; XCLAIM y g c 0 1-1 TIME MS RETRYCOUNT 1 FORCE JUSTID LASTID 1-1;\
    XGROUP SETID y g 1-1 ENTRIESREAD 1; EXEC}

# ---- Transactions -----------------------------------------------------------------------------------------------

propagates {} {MULTI|EXEC} {}
propagates {} {MULTI|GET x|EXEC} {}
propagates {} {MULTI|SET k v|GET x|EXEC} {SET k v}
propagates {} {MULTI|SET k v|SET l w|EXEC} {MULTI; SET k v; SET l w; EXEC}
propagates {} {MULTI|SET k v|SELECT 3|SET l w|SELECT 0|EXEC} {MULTI; SET k v; SET l w; EXEC}
propagates {} {MULTI|SET k v|DISCARD} {}
propagates {} {MULTI|SET k v|INCR k|EXEC} {SET k v}
propagates {SADD s a b|HSET h f 1} {MULTI|SET k v EX 100|SPOP s 5|HGETEX h EX 100 FIELDS 1 f|EXEC} \
    {MULTI; SET k v PXAT MS; UNLINK s; HPEXPIREAT h MS FIELDS 1 f; EXEC}
propagates {} {MULTI|PUBLISH c m|EXEC} {} {PUBLISH c m}
propagates {} {MULTI|PUBLISH c m|SET k v|EXEC} {SET k v} {MULTI; PUBLISH c m; SET k v; EXEC}
propagates {} {MULTI|publish c m|spublish c m|EXEC} {} {MULTI; publish c m; spublish c m; EXEC}
propagates {} {PUBLISH c m} {} {PUBLISH c m}
propagates {} {SPUBLISH c m} {} {SPUBLISH c m}
propagates {} {MULTI|LPUSH l a|GET x|SADD s b|EXEC} {MULTI; LPUSH l a; SADD s b; EXEC}
propagates {SET k v} {MULTI|INCR k|SET l 1|EXEC} {SET l 1}

# ---- Scripts and functions --------------------------------------------------------------------------------------

propagates {} {EVAL "redis.call('set', KEYS\[1], 1)" 1 k} {set k 1}
propagates {} {EVAL "redis.call('SET', KEYS\[1], 1) redis.call('incr', KEYS\[1])" 1 k} {MULTI; SET k 1; incr k; EXEC}
propagates {} {EVAL "return redis.call('GET', KEYS\[1])" 1 k} {}
propagates {} {EVAL "redis.call('SET', KEYS\[1], 1, 'EX', 100)" 1 k} {SET k 1 PXAT MS}
propagates {} {EVAL "redis.call('SET', KEYS\[1], 1) redis.call('NOSUCH')" 1 k} {SET k 1}
propagates {} {EVAL "return redis.call('PUBLISH', 'c', 'm')" 0} {} {PUBLISH c m}
propagates {} {EVAL "redis.call('PUBLISH', 'c', 'm') redis.call('SET', KEYS\[1], 1)" 1 k} {SET k 1} \
    {MULTI; PUBLISH c m; SET k 1; EXEC}
propagates {} {MULTI|EVAL "redis.call('SET', KEYS\[1], 1)" 1 k|SET l 1|EXEC} {MULTI; SET k 1; SET l 1; EXEC}
propagates {} {SCRIPT LOAD "return 1"|SCRIPT FLUSH} {}
propagates $over {EVAL "redis.call('GET', KEYS\[1]) redis.call('SET', 'm', 1)" 1 k} {MULTI; UNLINK k; SET m 1; EXEC}
propagates {} {FUNCTION FLUSH} {FUNCTION FLUSH}
propagates {} {FUNCTION DELETE nothing} {}
propagates {} {@BLPOP l 0|EVAL "redis.call('RPUSH', KEYS\[1], 'a', 'b') redis.call('SET', 'k', 1)" 1 l} \
    {MULTI; RPUSH l a b; SET k 1; EXEC; LPOP l}
propagates {} {SELECT 3|SET k v|SELECT 0} {SET k v}

# ---- Removals by the server -------------------------------------------------------------------------------------

propagates $over {GET k} {UNLINK k}
propagates $over {EXISTS k l} {MULTI; UNLINK k; UNLINK l; EXEC}
propagates $over {MGET k l} {MULTI; UNLINK k; UNLINK l; EXEC}
propagates $over {SET k w} {MULTI; UNLINK k; SET k w; EXEC}
propagates $over {INCR k} {MULTI; UNLINK k; INCR k; EXEC}
propagates $over {DEL k l} {MULTI; UNLINK k; UNLINK l; EXEC}
propagates $over {RENAME k m} {UNLINK k}
propagates $over {KEYS *} {}
propagates $over {MULTI|GET k|EXEC} {UNLINK k}
propagates $over {MULTI|GET k|GET l|EXEC} {MULTI; UNLINK k; UNLINK l; EXEC}
propagates $over {MULTI|GET k|SET m 1|EXEC} {MULTI; UNLINK k; SET m 1; EXEC}
propagates $over {SET k w NX} {MULTI; UNLINK k; SET k w NX; EXEC}
propagates $over {LPUSH k a} {MULTI; UNLINK k; LPUSH k a; EXEC}
propagates $over {SINTERSTORE d k l} {MULTI; UNLINK k; UNLINK l; EXEC}
propagates $over {SORT k STORE d} {UNLINK k}
propagates $over {TTL k} {UNLINK k}
propagates {CONFIG SET lazyfree-lazy-expire no|SET k v PX 1|SET l v PX 1|SLEEP 30} \
    {GET k|SET l 1 XX|CONFIG SET lazyfree-lazy-expire yes} \
    {DEL k; DEL l}
propagates {CONFIG SET lazyfree-lazy-expire no|SET k v} {EXPIRE k -1|CONFIG SET lazyfree-lazy-expire yes} {DEL k}
propagates {CONFIG SET lazyfree-lazy-server-del no|SADD s a} {SPOP s 5|CONFIG SET lazyfree-lazy-server-del yes} \
    {DEL s}
propagates $over {DEBUG SET-ACTIVE-EXPIRE 1|AWAIT 0 DBSIZE|DEBUG SET-ACTIVE-EXPIRE 0} {UNLINK k; UNLINK l}
propagates $hidden {DEBUG SET-ACTIVE-EXPIRE 1|AWAIT 1 HLEN h|DEBUG SET-ACTIVE-EXPIRE 0} {HDEL h e f}
propagates {HSETEX h PX 1 FIELDS 2 f 1 e 1|SLEEP 30} \
    {DEBUG SET-ACTIVE-EXPIRE 1|AWAIT 0 DBSIZE|DEBUG SET-ACTIVE-EXPIRE 0} \
    {MULTI; HDEL h e f; UNLINK h; EXEC}
propagates {} {PING|CONFIG SET hz 10|CLIENT SETNAME x|DEBUG POPULATE 3} {}
