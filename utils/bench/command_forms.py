"""command_forms.py -- the forms of commands that command_sweep measures: each command with usual and with small
arguments, on small and on medium values, and the work of scripts.

A group has commands that fill the dataset, and forms. A form is a line of words, or a tuple of words if one of them has
blanks. Several commands joined by " ; " are one form: one adds back what another removes. {i} is a number that grows
with each command, {r} a number below 1000 in a fixed order, {d10}, {d100}, {d1000} and {d10000} are data of that size.

SPDX-License-Identifier: BSD-3-Clause
"""
from dataclasses import dataclass


@dataclass
class Group:
    name: str
    fill: list
    forms: list
    after: str = ''  # sent after the dataset has been filled, such as HELLO 3


def many(text, n):
    """The template for i = 0 .. n-1, on one line."""
    return ' '.join(text.replace('#', str(i)) for i in range(n))


STRINGS = Group('strings', [
    'SET s10 {d10}', 'SET s100 {d100}', 'SET s1000 {d1000}', 'SET s10000 {d10000}', 'SET n 100', 'SET f 1.5',
    'SET bits {d1000}', 'SET bits2 {d1000}', 'MSET ' + many('k:# v#', 1000), 'SET lcs1 ohmytext{d10}',
    'SET lcs2 mynewtext{d10}',
    'SET lcs3 {d100}ohmytext', 'SET lcs4 mynewtext{d100}',
], [
    'GET s10', 'GET s100', 'GET s1000', 'GET s10000', 'GET none', 'GET k:{r}', 'SET s10 {d10}', 'SET t {d100}',
    'SET t {d1000}', 'SET t {d10000}', 'SET t:{r} {d10}', 'SET t v EX 100', 'SET t v PX 100000', 'SET t v XX',
    'SET n1 v NX', 'SET t v GET', 'SET t v KEEPTTL', 'SETNX s10 x', 'SETEX t 100 {d10}', 'PSETEX t 100000 {d10}',
    'GETSET t {d10}', 'GETEX s10', 'GETEX s10 EX 1000', 'GETEX s10 PERSIST', 'SET t v ; GETDEL t', 'APPEND a x ; DEL a',
    'STRLEN s100', 'SETRANGE s100 5 abc', 'GETRANGE s100 5 20', 'GETRANGE s10000 0 -1', 'SUBSTR s100 1 3',
    'INCR n', 'DECR n', 'INCRBY n 7', 'DECRBY n 7', 'INCRBYFLOAT f 1.5', 'INCR cnt:{r}', 'MGET s10 s100',
    'MGET ' + many('k:#', 10), 'MGET ' + many('k:#', 100), 'MGET ' + many('none:#', 10), 'MSET ' + many('m:# v', 10),
    'MSET ' + many('m:# v', 100), 'MSETNX s10 1 zz 2', 'LCS lcs1 lcs2', 'LCS lcs1 lcs2 LEN', 'LCS lcs1 lcs2 IDX',
    'LCS lcs3 lcs4', 'LCS lcs3 lcs4 LEN', 'LCS lcs3 lcs4 IDX WITHMATCHLEN', 'SETBIT bits 777 1', 'GETBIT bits 777',
    'BITCOUNT bits', 'BITCOUNT bits 0 10', 'BITCOUNT s10000', 'BITPOS bits 1', 'BITPOS bits 0 5',
    'BITOP AND bo bits bits2',
    'BITOP OR bo bits bits2', 'BITOP XOR bo bits bits2', 'BITOP NOT bo bits', 'BITFIELD bits GET u8 0',
    'BITFIELD bits SET i5 100 3 GET u4 0', 'BITFIELD bits INCRBY u8 16 1', 'BITFIELD_RO bits GET u8 0',
    'GET n',
])

KEYS = Group('keys', [
    'MSET ' + many('k:# v#', 1000), 'SET s v', 'SET e v EX 10000', 'RPUSH l a b c', 'HSET h a 1 b 2', 'SADD set a b c',
    'ZADD z 1 a 2 b', 'RPUSH sortl ' + many('#', 100), 'MSET ' + many('w:# #', 100),
], [
    'EXISTS s', 'EXISTS none', 'EXISTS ' + many('k:#', 10), 'TYPE s', 'TYPE none', 'TTL e', 'TTL s', 'PTTL e',
    'EXPIRETIME e', 'PEXPIRETIME e', 'EXPIRE e 10000', 'PEXPIRE e 10000000', 'EXPIREAT e 33177117420',
    'EXPIRE e 20000 GT', 'EXPIRE e 100 XX', 'PERSIST s', 'EXPIRE s 1000 ; PERSIST s', 'SET x v ; DEL x',
    'SET x v ; UNLINK x',
    'DEL none', 'TOUCH s', 'OBJECT ENCODING s', 'OBJECT REFCOUNT s', 'OBJECT IDLETIME s', 'RENAME s s2 ; RENAME s2 s',
    'RENAMENX s k:1', 'COPY s copy REPLACE', 'COPY l copyl REPLACE', 'DUMP s', 'DUMP l', 'RANDOMKEY', 'SCAN 0',
    'SCAN 0 COUNT 100', 'SCAN 0 MATCH k:1*', 'SCAN 0 TYPE list', 'DBSIZE', 'KEYS k:1?', 'SORT sortl',
    'SORT sortl LIMIT 0 5',
    'SORT sortl BY nosort', 'SORT sortl BY w:* GET #', 'SORT sortl ALPHA DESC', 'SORT_RO sortl',
    'SORT sortl STORE sorted',
    'MEMORY USAGE s', 'MEMORY USAGE h', 'MOVE none 1', 'WAIT 0 0', 'DEBUG OBJECT s', 'OBJECT HELP', 'SELECT 0',
    'SWAPDB 3 4', 'DELIFEQ none v', 'OBJECT FREQ none',
])

LISTS = Group('lists', [
    'RPUSH l ' + many('e#', 10), 'RPUSH m ' + many('element:#', 1000), 'RPUSH big {d1000} {d1000} {d1000}',
], [
    'LPUSH x a ; LPOP x', 'RPUSH x a ; RPOP x', 'RPUSH x a b c ; LPOP x 3', 'LPUSH y {d10} ; RPOP y', 'LPUSHX none a',
    'RPUSHX none a', 'LLEN l', 'LLEN m', 'LRANGE l 0 -1', 'LRANGE m 0 9', 'LRANGE m 0 99', 'LRANGE m 490 510',
    'LRANGE m 0 -1', 'LRANGE m -10 -1', 'LRANGE l 5 2', 'LRANGE none 0 -1', 'LRANGE big 0 -1', 'LINDEX l 3',
    'LINDEX m 0',
    'LINDEX m 500', 'LINDEX m -1', 'LSET l 3 e3', 'LSET m 500 element:500', 'LINSERT l BEFORE e5 new ; LREM l 1 new',
    'LREM l 0 none', 'LREM m 1 none', 'LTRIM l 0 100', 'RPUSH x a b c d ; LTRIM x 1 0', 'LPOS l e5',
    'LPOS m element:500',
    'LPOS l e5 COUNT 0', 'LMOVE l l LEFT RIGHT', 'RPOPLPUSH l l', 'RPUSH x a ; LMOVE x y2 LEFT LEFT ; LPOP y2',
    'RPUSH x a b ; LMPOP 1 x LEFT COUNT 2', 'LMPOP 2 none none2 LEFT', 'RPUSH x a ; BLPOP x 0', 'RPUSH x a ; BRPOP x 0',
    'RPUSH x a ; BLMPOP 0 1 x LEFT', 'BLMOVE l l LEFT RIGHT 0', 'LPOP none', 'LPOP none 3',
])

HASHES = Group('hashes', [
    'HSET h ' + many('f# v#', 10), 'HSET m ' + many('field:# value:#', 1000), 'HSET n c 1 f 1.5',
    'HSET big a {d1000} b {d1000}', 'HSET e a 1 b 2', 'HEXPIRE e 10000 FIELDS 1 a',
], [
    'HGET h f3', 'HGET h none', 'HGET m field:500', 'HGET none f', 'HGET big a', 'HSET h f3 v3',
    'HSET m field:{r} value',
    'HSET h f1 a f2 b f3 c', 'HSETNX h f1 x', 'HMSET h f1 a f2 b', 'HMGET h f1 f2 f3', 'HMGET m ' + many('field:#', 10),
    'HMGET m ' + many('field:#', 100), 'HGETALL h', 'HGETALL m', 'HGETALL big', 'HKEYS h', 'HVALS h', 'HKEYS m',
    'HVALS m',
    'HLEN h', 'HLEN m', 'HEXISTS h f3', 'HEXISTS m field:3', 'HSTRLEN h f3', 'HINCRBY n c 1', 'HINCRBYFLOAT n f 1.5',
    'HSET x f v ; HDEL x f', 'HSET m zz v ; HDEL m zz', 'HRANDFIELD h', 'HRANDFIELD h 3', 'HRANDFIELD h -3',
    'HRANDFIELD m 10',
    'HRANDFIELD h 3 WITHVALUES', 'HSCAN h 0', 'HSCAN m 0', 'HSCAN m 0 COUNT 100', 'HSCAN m 0 NOVALUES',
    'HEXPIRE e 10000 FIELDS 1 a', 'HTTL e FIELDS 1 a', 'HPTTL e FIELDS 2 a b', 'HEXPIRETIME e FIELDS 1 a',
    'HPERSIST e FIELDS 1 b', 'HGETEX e FIELDS 1 a', 'HSETEX e EX 10000 FIELDS 1 a 1',
    'HSET x f v ; HGETDEL x FIELDS 1 f',
])

SETS = Group('sets', [
    'SADD s ' + many('m#', 10), 'SADD t ' + many('m#', 5), 'SADD i ' + many('#', 10),
    'SADD m ' + many('member:#', 1000),
    'SADD m2 ' + many('member:#', 500), 'SADD im ' + many('#', 500), 'SADD h1 ' + many('a#', 100),
    'SADD h2 ' + many('b#', 100), 'SADD i2 ' + many('1#', 10), 'SADD im2 ' + many('7#', 500),
    'SADD s50 ' + many('m#', 50), 'SADD t50 ' + many('n#', 50),
], [
    'SADD s m3', 'SADD m member:{r}', 'SADD x a ; SREM x a', 'SADD m zz ; SREM m zz', 'SADD x a b c ; SPOP x 3',
    'SADD x a ; SPOP x', 'SADD m zz ; SPOP m', 'SCARD s', 'SCARD m', 'SISMEMBER s m3', 'SISMEMBER s none',
    'SISMEMBER i 5',
    'SISMEMBER im 250', 'SISMEMBER m member:3', 'SMISMEMBER s m1 m2 x', 'SMISMEMBER m ' + many('member:#', 10),
    'SMEMBERS s',
    'SMEMBERS i', 'SMEMBERS m', 'SRANDMEMBER s', 'SRANDMEMBER m', 'SRANDMEMBER s 3', 'SRANDMEMBER s -3',
    'SRANDMEMBER m 10',
    'SINTER s t', 'SINTER m m2', 'SINTERCARD 2 s t', 'SINTERCARD 2 m m2', 'SINTERCARD 2 m m2 LIMIT 1',
    'SINTERCARD 2 s t LIMIT 1',
    'SUNION i i2', 'SUNION im im2', 'SUNION s50 t50', 'SUNION s i', 'SUNION s', 'SUNION i', 'SUNION m', 'SUNION im',
    'SUNION s none', 'SUNION s50 s50', 'SINTER i i2', 'SINTER im im2', 'SINTER s50 t50', 'SINTER s50 s50', 'SDIFF i i2',
    'SDIFF im im2', 'SDIFF s50 t50', 'SINTER s i', 'SDIFF s i',
    'SUNION s t', 'SUNION h1 h2', 'SUNION m m2', 'SDIFF s t', 'SDIFF m m2', 'SINTERSTORE d s t', 'SUNIONSTORE d s t',
    'SDIFFSTORE d s t', 'SMOVE s t m1 ; SMOVE t s m1', 'SSCAN s 0', 'SSCAN m 0', 'SSCAN m 0 COUNT 100',
    'SADD x 1 2 3 ; DEL x',
])

ZSETS = Group('sorted sets', [
    'ZADD z ' + many('# m#', 10), 'ZADD m ' + many('# member:#', 1000), 'ZADD y ' + many('# m#', 5),
    'ZADD lex ' + many('0 w#', 100), 'SADD plain m1 m2 m3',
], [
    'ZADD z 3 m3', 'ZADD z 4 m3 ; ZADD z 3 m3', 'ZADD m 5 member:{r}', 'ZADD z NX 1 m1', 'ZADD z GT 1 m1',
    'ZADD z CH 3 m3', 'ZADD z INCR 0 m3',
    'ZADD x 1 a ; ZREM x a', 'ZADD m 1 zz ; ZREM m zz', 'ZINCRBY z 0 m3', 'ZINCRBY m 1 member:5', 'ZSCORE z m3',
    'ZSCORE m member:500',
    'ZMSCORE z m1 m2 none', 'ZCARD z', 'ZCARD m', 'ZCOUNT z 2 5', 'ZCOUNT m 100 800', 'ZRANK z m3',
    'ZRANK m member:500',
    'ZRANK m member:500 WITHSCORE', 'ZREVRANK m member:500', 'ZRANGE z 0 -1', 'ZRANGE z 0 -1 WITHSCORES',
    'ZRANGE m 0 9', 'ZRANGE m 0 99 WITHSCORES',
    'ZRANGE m 500 510', 'ZRANGE m 0 -1', 'ZREVRANGE z 0 -1', 'ZREVRANGE m 0 9', 'ZRANGEBYSCORE z 2 5',
    'ZRANGEBYSCORE m 100 110',
    'ZRANGEBYSCORE m -inf +inf LIMIT 0 10', 'ZRANGEBYSCORE m -inf +inf LIMIT 500 10',
    'ZRANGEBYSCORE m -inf +inf LIMIT 5000 10',
    'ZRANGEBYSCORE z -inf +inf LIMIT 50 10', 'ZRANGEBYSCORE z -inf +inf LIMIT 0 1', 'ZREVRANGEBYSCORE m 110 100',
    'ZRANGE m 100 110 BYSCORE',
    'ZRANGEBYLEX lex [w1 [w3', 'ZREVRANGEBYLEX lex [w3 [w1', 'ZLEXCOUNT lex [w1 [w3',
    'ZRANGE lex [w1 [w3 BYLEX LIMIT 0 3',
    'ZRANGESTORE d z 0 -1', 'ZRANDMEMBER z', 'ZRANDMEMBER m 10', 'ZRANDMEMBER z -3 WITHSCORES',
    'ZADD x 1 a ; ZPOPMIN x', 'ZADD x 1 a ; ZPOPMAX x',
    'ZADD x 1 a 2 b ; ZPOPMIN x 2', 'ZADD m -1 zz ; ZPOPMIN m', 'ZADD x 1 a ; BZPOPMIN x 0',
    'ZADD x 1 a ; ZMPOP 1 x MIN', 'ZINTER 2 z y',
    'ZINTER 2 z y WITHSCORES', 'ZUNION 2 z y', 'ZUNION 2 z plain WEIGHTS 1 2', 'ZDIFF 2 z y', 'ZINTERSTORE d 2 z y',
    'ZUNIONSTORE d 2 z y', 'ZUNIONSTORE d 2 m y',
    'ZDIFFSTORE d 2 z y', 'ZINTERCARD 2 z y', 'ZINTERCARD 2 z y LIMIT 1', 'ZSCAN z 0', 'ZSCAN m 0',
    'ZADD x 1 a 2 b ; ZREMRANGEBYRANK x 0 -1',
    'ZADD x 1 a 2 b ; ZREMRANGEBYSCORE x 0 9', 'ZADD x 0 a 0 b ; ZREMRANGEBYLEX x - +',
])

GEO = Group('geo', [
    'GEOADD g 13.361389 38.115556 Palermo 15.087269 37.502669 Catania 14.2 37.3 Gela',
    'GEOADD m ' + ' '.join(f'{-180 + i * 0.359:.3f} {-80 + (i * 37 % 160):.3f} p{i}' for i in range(1000)),
    'GEOADD l ' + ' '.join(f'{13 + i * 0.05:.3f} {37 + i * 7 % 50 * 0.03:.3f} p{i}' for i in range(50)),
], [
    'GEOADD g 13.361389 38.115556 Palermo', 'GEOPOS g Palermo', 'GEOPOS g Palermo Catania none',
    'GEODIST g Palermo Catania km', 'GEOHASH g Palermo Catania',
    'GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km',
    'GEOSEARCH g FROMLONLAT 15 37 BYRADIUS 200 km ASC WITHCOORD WITHDIST',
    'GEOSEARCH g FROMMEMBER Palermo BYBOX 400 400 km', 'GEOSEARCH m FROMLONLAT 15 37 BYRADIUS 2000 km',
    'GEOSEARCH m FROMLONLAT 15 37 BYRADIUS 5000 km COUNT 5',
    'GEOSEARCH g FROMLONLAT 100 10 BYRADIUS 200 km', 'GEOSEARCH l FROMLONLAT 15 0 BYRADIUS 100 km',
    'GEOSEARCH l FROMLONLAT 14.2 39.5 BYRADIUS 20 km', 'GEOSEARCH m FROMLONLAT 0.5 0.5 BYRADIUS 1 km',
    'GEOSEARCH none FROMLONLAT 15 37 BYRADIUS 200 km', 'GEOSEARCH l FROMLONLAT 14.2 37.7 BYRADIUS 1000 km',
    'GEOSEARCH l FROMLONLAT 14.2 37.7 BYRADIUS 1000 km ASC WITHDIST',
    'GEOSEARCH l FROMLONLAT 14.2 37.7 BYBOX 1000 1000 km DESC COUNT 5',
    'GEOSEARCH l FROMMEMBER p20 BYRADIUS 30 km ASC', 'GEOSEARCH m FROMLONLAT 0.5 0.5 BYRADIUS 30000 km ASC WITHDIST',
    'GEORADIUS g 15 37 200 km', 'GEORADIUSBYMEMBER g Palermo 200 km',
    'GEOSEARCHSTORE gd g FROMLONLAT 15 37 BYRADIUS 200 km',
])

STREAMS = Group('streams', [
    'XADD s 1-1 f v', 'XADD s 2-1 f v',
    'XADD s 3-1 f v'] + [f'XADD m {i + 1}-1 field value{i}' for i in range(1000)] + [
    'COPY m cut', 'XGROUP CREATE s g 0', 'XREADGROUP GROUP g c STREAMS s >', 'XGROUP CREATE m g 0',
    'XREADGROUP GROUP g c COUNT 500 STREAMS m >',
], [
    'XADD x MAXLEN 100 * f v', 'XADD x MAXLEN ~ 100 * f v', 'XADD x MAXLEN 10 * f1 v1 f2 v2 f3 v3',
    'XADD y * f v ; XTRIM y MAXLEN 0', 'XADD cut * field v ; XTRIM cut MAXLEN 1000', 'XTRIM cut MAXLEN ~ 1000',
    'XLEN s', 'XRANGE s - +',
    'XRANGE m - + COUNT 10', 'XRANGE m 500-1 510-1', 'XREVRANGE m + - COUNT 10', 'XREVRANGE m + - COUNT 1',
    'XRANGE m - +', 'XREAD COUNT 10 STREAMS m 0', 'XREAD STREAMS s 0', 'XREAD STREAMS s $',
    'XADD y * f v ; XDEL y 1-1', 'XINFO STREAM s', 'XINFO GROUPS s', 'XINFO CONSUMERS s g', 'XPENDING s g',
    'XPENDING s g - + 10', 'XPENDING m g - + 10', 'XACK s g 9-9', 'XCLAIM s g c2 0 1-1',
    'XAUTOCLAIM s g c 0 0', 'XAUTOCLAIM m g c 0 0 COUNT 10', 'XAUTOCLAIM m g c 0 0', 'XAUTOCLAIM m g c 0 0 JUSTID',
    'XAUTOCLAIM m g c2 0 0 JUSTID ; XAUTOCLAIM m g c 0 0 JUSTID', 'XAUTOCLAIM m g c 9999999 0',
    'XAUTOCLAIM m g c 9999999 0 COUNT 10', 'XAUTOCLAIM s g c 9999999 0', 'XAUTOCLAIM m g c 0 900-0',
    'XCLAIM m g c 0 5-1 6-1 7-1 8-1 9-1', 'XCLAIM m g c 0 5-1 JUSTID', 'XCLAIM m g c 9999999 5-1 6-1',
    'XREADGROUP GROUP g c COUNT 100 STREAMS m 0', 'XPENDING m g IDLE 9999999 - + 10', 'XPENDING m g - + 100 c',
    'XADD y 1-1 f v ; XGROUP CREATE y g 0 ; XREADGROUP GROUP g c STREAMS y > ; XACK y g 1-1 ; DEL y',
    'XREADGROUP GROUP g c STREAMS s >', 'XREADGROUP GROUP g c STREAMS s 0', 'XSETID s 3-1',
    'XADD z * f v ; DEL z', 'XGROUP CREATECONSUMER s g c9',
])

PF = Group('hyperloglog', ['PFADD p ' + many('e#', 10), 'PFADD q ' + many('e#', 5000)], [
    'PFADD p e1', 'PFADD q e1', 'PFADD q x{i}', 'PFCOUNT p', 'PFCOUNT q', 'PFCOUNT p q', 'PFMERGE d p q',
    'PFADD n{r} a',
])

CONNECTION = Group('connection, transactions, messages', ['SET k v'], [
    'PING', 'PING hello', 'ECHO hello', 'CLIENT ID', 'CLIENT GETNAME', 'CLIENT SETNAME x', 'CLIENT INFO', 'CLIENT LIST',
    'CLIENT NO-EVICT off',
    'CLIENT TRACKINGINFO', 'CLIENT GETREDIR', 'CLIENT SETINFO LIB-NAME x', 'HELLO', 'HELLO 2',
    'MULTI ; SET k v ; GET k ; EXEC', 'MULTI ; EXEC', 'MULTI ; DISCARD',
    'WATCH k ; UNWATCH', 'PUBLISH ch x', 'SPUBLISH ch x', 'PUBSUB CHANNELS', 'PUBSUB NUMSUB a b', 'PUBSUB NUMPAT',
    'UNSUBSCRIBE none', 'ACL WHOAMI', 'ACL LIST', 'ACL CAT', 'ACL GETUSER default',
    'ACL DRYRUN default GET k', 'ACL USERS', 'AUTH default x', 'RESET', 'UNKNOWN x', 'GET', 'LPUSH k a',
])

SERVER = Group('server', ['MSET ' + many('k:# v#', 1000)], [
    'INFO', 'INFO all', 'INFO everything', 'INFO server', 'INFO clients', 'INFO memory', 'INFO persistence',
    'INFO stats', 'INFO replication', 'INFO cpu', 'INFO commandstats',
    'INFO errorstats', 'INFO latencystats', 'INFO keyspace', 'INFO cluster', 'INFO modules', 'CONFIG GET maxmemory',
    'CONFIG GET *', 'CONFIG GET max*', 'CONFIG SET hz 10', 'COMMAND', 'COMMAND COUNT', 'COMMAND LIST',
    'COMMAND INFO get', 'COMMAND DOCS get', 'COMMAND DOCS', 'COMMAND GETKEYS set a b',
    'COMMAND GETKEYSANDFLAGS set a b', 'COMMAND LIST FILTERBY ACLCAT string', 'TIME', 'LASTSAVE', 'ROLE',
    'MEMORY STATS', 'MEMORY DOCTOR', 'SLOWLOG GET', 'SLOWLOG LEN', 'COMMANDLOG LEN slow',
    'LATENCY LATEST', 'LATENCY HISTOGRAM get', 'LATENCY DOCTOR', 'LOLWUT', 'MODULE LIST', 'FUNCTION LIST',
    'FUNCTION STATS', 'SCRIPT EXISTS 0123456789012345678901234567890123456789',
])


def lua(script, *more):
    return ('EVAL', script, *(more or ('0',)))


LIBRARY = '''#!lua name=lib
redis.register_function('f0', function(keys, args) return 1 end)
redis.register_function('f1', function(keys, args) return redis.call('GET', keys[1]) end)
redis.register_function{function_name='f2', callback=function(keys, args) return args[1] end, flags={'no-writes'}}
'''
ROWS = '[' + ','.join('{"id":%d,"name":"name %d","f":[1.5,true,null]}' % (i, i) for i in range(50)) + ']'
LOOP = 'for i = 1, 100 do %s end return 1'
SCRIPTS = Group('scripts', [
    'SET k v', 'SET n 1', 'HSET h a 1 b 2 c 3', 'RPUSH l ' + many('e#', 10), ('FUNCTION', 'LOAD', LIBRARY),
], [
    lua('return 1'), lua('return KEYS[1]', '1', 'k'), lua('return ARGV', '0', 'a', 'b', 'c'),
    lua("return redis.call('GET', KEYS[1])", '1', 'k'),
    lua("return redis.call('SET', KEYS[1], ARGV[1])", '1', 'k', 'v'),
    lua("return redis.call('INCR', KEYS[1])", '1', 'n'),
    lua("return redis.call('HGETALL', KEYS[1])", '1', 'h'),
    lua("return redis.call('LRANGE', KEYS[1], 0, -1)", '1', 'l'),
    lua("return redis.pcall('NONE')"), lua("return redis.error_reply('ERR x')"), lua("return redis.status_reply('x')"),
    lua("return {1, 2, {3, 'x'}}"),
    lua("return redis.sha1hex('abc')"), lua("redis.log(redis.LOG_DEBUG, 'x') return 1"),
    lua("redis.setresp(3) return redis.call('HGETALL', KEYS[1])", '1', 'h'),
    lua(LOOP % "redis.call('GET', KEYS[1])", '1', 'k'), lua(LOOP % "redis.call('SET', KEYS[1], i)", '1', 'k'),
    lua(LOOP % "redis.call('INCRBY', KEYS[1], 1)", '1', 'n'),
    lua('local b = bit ' + LOOP % 'b.band(i, 0xff)'), lua(LOOP % 'local x = bit.bxor(i, 7) + bit.lshift(i, 3)'),
    lua(LOOP % 'local x = bit.tohex(i)'), lua(LOOP % 'local x = bit.bnot(i) + bit.rshift(i, 1)'),
    lua(LOOP % "struct.pack('>I4', i)"), lua(LOOP % "struct.pack('<HBi8d', i, 1, 2, 3.5)"),
    lua("local s = struct.pack('>I4I4', 1, 2) " + LOOP % "struct.unpack('>I4I4', s)"),
    lua(LOOP % "struct.size('>I4I4')"),
    lua(LOOP % "struct.pack('s', 'hello')"),
    lua('local t = {} for i = 1, 100 do t[i] = i end return #t'),
    lua("local t = {} for i = 1, 100 do t['k' .. i] = i end return 1"),
    lua('local t = {} for i = 1, 100 do t[#t + 1] = i end return #t'),
    lua('local t = {} for i = 1, 100 do table.insert(t, i) end return #t'),
    lua('local t = {} for i = 1, 100 do t[i] = {i} end return #t'),
    lua('local t = {} for i = 1, 1000 do t[i] = i end return t[1000]'),
    lua("local t = {} for i = 1, 100 do t[i] = 'x' end return table.concat(t, ',')"),
    lua('local t = {} for i = 1, 100 do t[i] = 100 - i end table.sort(t) return t[1]'),
    lua('local t = {} for i = 1, 100 do t[i] = i end return t'),
    lua("return cjson.encode({a = 1, b = {1, 2, 3}, c = 'text'})"),
    lua("return cjson.decode('{\"a\":1,\"b\":[1,2,3],\"c\":\"text\"}').c"),
    lua("return #cjson.decode(ARGV[1])", '0', ROWS),
    lua("return #cjson.decode(ARGV[1])", '0', '[' + ','.join(str(i) for i in range(200)) + ']'),
    lua("return cjson.decode(ARGV[1]).k1", '0', '{' + ','.join('"k%d":"value %d"' % (i, i) for i in range(100)) + '}'),
    lua('local t = {} for i = 1, 100 do t[i] = {id = i} end return cjson.encode(t)'),
    lua('return cmsgpack.pack({1, 2, 3})'), lua('return #cmsgpack.unpack(cmsgpack.pack({1, 2, 3}))'),
    lua("local t = {} for i = 1, 100 do t[i] = 'v' .. i end return #cmsgpack.unpack(cmsgpack.pack(t))"),
    lua("local n = 0 for i = 1, 1000 do n = n + i end return n"),
    lua("local function f(n) return n + 1 end local n = 0 for i = 1, 1000 do n = f(n) end return n"),
    lua("local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end return fib(12)"),
    lua(LOOP % "string.format('%d:%s', i, 'x')"), lua(LOOP % "string.find('hello world', 'wor')"),
    lua(LOOP % "string.gsub('hello world', 'o', '0')"), lua(LOOP % "local x = tostring(i)"),
    lua(LOOP % "local x = tonumber('12')"),
    lua(LOOP % "local x = math.floor(i / 3)"), lua(LOOP % "local x = math.random(10)"),
    lua("local s = '' for i = 1, 50 do s = s .. 'x' end return s"),
    lua("for w in string.gmatch('one two three', '%a+') do local x = w end return 1"),
    ('EVAL_RO', "return redis.call('GET', KEYS[1])", '1', 'k'), ('FCALL', 'f0', '0'), ('FCALL', 'f1', '1', 'k'),
    ('FCALL', 'f2', '0', 'x'), ('FCALL_RO', 'f2', '0', 'x'),
    ('SCRIPT', 'LOAD', 'return 7'), ('EVALSHA', '0' * 40, '0'),
])

RESP3 = Group('RESP3', ['HSET h ' + many('f# v#', 10), 'ZADD z ' + many('# m#', 10), 'SADD s ' + many('m#', 10)], [
    'HGETALL h', 'ZRANGE z 0 -1 WITHSCORES', 'SMEMBERS s', 'ZSCORE z m1', 'HRANDFIELD h 3 WITHVALUES', 'INFO server',
    'CONFIG GET maxmemory', 'COMMAND INFO get', 'GET none',
], after='HELLO 3')

GROUPS = [STRINGS, KEYS, LISTS, HASHES, SETS, ZSETS, GEO, STREAMS, PF, CONNECTION, SERVER, SCRIPTS, RESP3]
