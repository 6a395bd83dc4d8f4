/* write_commands_test.c -- every write command of the table reports its changes.
 *
 * Each command has an example that changes something and one that does not. A comparison of the dataset before and
 * after gives the changed keys; the observers record the keys that the command has reported. Both must be equal, and
 * rdb_changes must have grown exactly then. The test fails for a write command without both examples, so that a new one
 * cannot be forgotten.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "client/client_fixture.h"
#include "command_fixture.h"
#include "call.h"
#include "clock.h"
#include "command_record.h"
#include "commands.h"
#include "db_walk.h"
#include "panic.h"
#include "rdb_value.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

/* Setup commands (separated by '|'); the command; whether it changes anything. $DUMP is a payload. */
typedef struct example {
    const char *setup, *line;
    bool changes;
    const char *events; /* reported events, without "new"; NULL: not checked */
} example;

#define EMPTY_HLL "set a \"HYLL\\x01\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x80\\x7f\\xff\""

static const example examples[] = {
    /* string.def */
    {"", "set a 1", true, "set a;"},
    {"set a 1", "set a 2 ex 100", true, "set a;expire a;"},
    {"set a 1", "set a 2 pxat 1", true, "expired a;"},
    {"set a 1", "set a 2 nx", false, ""},
    {"", "set a 1 pxat 1", false, ""},
    {"", "setnx a 1", true, "set a;"},
    {"set a 1", "setnx a 2", false, ""},
    {"", "setex a 100 1", true, "set a;expire a;"},
    {"", "setex a 0 1", false, ""},
    {"", "psetex a 100000 1", true, "set a;expire a;"},
    {"", "psetex a -1 1", false, ""},
    {"set a 1", "getset a 2", true, "set a;"},
    {"", "getset a", false, ""},
    {"set a 1", "getdel a", true, "del a;"},
    {"", "getdel a", false, ""},
    {"set a 1", "getex a ex 100", true, "expire a;"},
    {"set a 1", "getex a pxat 1", true, "expired a;"},
    {"set a 1 ex 100", "getex a persist", true, "persist a;"},
    {"set a 1", "getex a persist", false, ""},
    {"set a 1", "getex a", false, ""},
    {"set a 1", "append a x", true, "append a;"},
    {"", "append a x", true, "append a;"},
    {"", "append a", false, ""},
    {"set a 1", "setrange a 3 x", true, "setrange a;"},
    {"", "setrange a 3 x", true, "setrange a;"},
    {"set a 1", "setrange a 3 \"\"", false, ""},
    {"set a 1", "incr a", true, "incrby a;"},
    {"set a x", "incr a", false, ""},
    {"", "decr a", true, "incrby a;"},
    {"set a x", "decr a", false, ""},
    {"", "incrby a 5", true, "incrby a;"},
    {"", "incrby a x", false, ""},
    {"", "decrby a 5", true, "incrby a;"},
    {"", "decrby a x", false, ""},
    {"set a 1 ex 100", "incrbyfloat a 1.5", true, "incrbyfloat a;"},
    {"set a x", "incrbyfloat a 1.5", false, ""},
    {"set a 0", "mset a 1 b 2", true, "set a;set b;"},
    {"", "mset a 1 b", false, ""},
    {"", "msetnx a 1 b 2", true, "set a;set b;"},
    {"set b 1", "msetnx a 1 b 2", false, ""},
    {"", "msetex 2 a 1 b 2 ex 100", true, "set a;expire a;set b;expire b;"},
    {"", "msetex 2 a 1 b 2 xx", false, ""},
    {"set a 1", "delifeq a 1", true, "del a;"},
    {"set a 1", "delifeq a 2", false, ""},
    {"set a 1", "delex a ifne 2", true, "del a;"},
    {"set a 1", "delex a ifeq 2", false, ""},
    /* bitmap.def */
    {"", "setbit a 9 0", true, "setbit a;"},
    {"set a 1", "setbit a 0 1", true, "setbit a;"},
    {"set a 1", "setbit a 3 1", false, ""},
    {"set a 1", "setbit a 3 2", false, ""},
    {"mset a 1 b 2", "bitop or c a b", true, "set c;"},
    {"mset a 1 b 2", "bitop not a a", true, "set a;"},
    {"mset a 1 b 2", "bitop and a x y", true, "del a;"},
    {"mset a 1 b 2", "bitop and x y z", false, ""},
    {"", "bitfield a set u8 0 0", true, "setbit a;"},
    {"", "bitfield a overflow fail set u8 0 300", true, ""},
    {"set a 1", "bitfield a set u8 0 50 incrby u8 0 1", true, "setbit a;"},
    {"set a 1", "bitfield a set u8 0 49 overflow fail incrby u8 0 300 get u16 0", false, ""},
    {"set a 1", "bitfield a set u8 0 50 set u64 0 1", false, ""},
    {"", "bitfield a get u8 100", false, ""},
    /* generic.def */
    {"mset a 1 b 2 c 3", "del a b z", true, "del a;del b;"},
    {"mset a 1 b 2 c 3", "del x y z", false, ""},
    {"mset a 1 b 2 c 3", "unlink a b z", true, "del a;del b;"},
    {"", "unlink x", false, ""},
    {"set a 1 ex 100", "rename a b", true, "rename_from a;rename_to b;"},
    {"mset a 1 b 2", "rename a b", true, "rename_from a;rename_to b;"},
    {"set a 1", "rename a a", false, ""},
    {"", "rename a b", false, ""},
    {"set a 1", "renamenx a b", true, "rename_from a;rename_to b;"},
    {"mset a 1 b 2", "renamenx a b", false, ""},
    {"set a 1", "move a 3", true, "move_from a;move_to a;"},
    {"", "move a 3", false, ""},
    {"set a 1", "copy a b", true, "copy_to b;"},
    {"mset a 1 b 2", "copy a b replace", true, "copy_to b;"},
    {"set a 1", "copy a a db 3", true, "copy_to a;"},
    {"mset a 1 b 2", "copy a b", false, ""},
    {"set a 1", "expire a 100", true, "expire a;"},
    {"set a 1", "expire a -1", true, "expired a;"},
    {"set a 1", "expire a 100 xx", false, ""},
    {"set a 1", "pexpire a 100000", true, "expire a;"},
    {"", "pexpire a 100000", false, ""},
    {"set a 1", "expireat a 99999999999", true, "expire a;"},
    {"", "expireat a 1", false, ""},
    {"set a 1", "pexpireat a 1", true, "expired a;"},
    {"", "pexpireat a 1", false, ""},
    {"set a 1 ex 100", "persist a", true, "persist a;"},
    {"set a 1", "persist a", false, ""},
    {"", "restore a 0 $DUMP", true, "restore a;"},
    {"set a 1", "restore a 0 $DUMP replace", true, "restore a;"},
    {"set a 1", "restore a 1 $DUMP replace absttl", true, "del a;"},
    {"set a 1", "restore a 0 $DUMP", false, ""},
    {"", "restore a 1 $DUMP absttl", false, ""},
    {"", "restore a 0 rubbish", false, ""},
    {"", "restore-asking a 0 $DUMP", true, "restore a;"},
    {"set a 1", "restore-asking a 0 $DUMP", false, ""},
    /* hash.def */
    {"", "hset a f 1 g 2", true, "hset a;"},
    {"hset a f 1", "hset a f 2", true, "hset a;"},
    {"set a 1", "hset a f 1", false, ""},
    {"", "hmset a f 1", true, "hset a;"},
    {"", "hmset a f", false, ""},
    {"hset a f 1", "hsetnx a g 1", true, "hset a;"},
    {"hset a f 1", "hsetnx a f 1", false, ""},
    {"hset a f 1 g 2", "hdel a f x", true, "hdel a;"},
    {"hset a f 1 g 2", "hdel a f g", true, "hdel a;del a;"},
    {"hset a f 1", "hdel a x", false, ""},
    {"", "hincrby a f 1", true, "hincrby a;"},
    {"hset a f x", "hincrby a f 1", false, ""},
    {"hset a f 1", "hincrbyfloat a f 1.5", true, "hincrbyfloat a;"},
    {"hset a f x", "hincrbyfloat a f 1", false, ""},
    {"hset a f 1", "hexpire a 100 fields 2 f x", true, "hexpire a;"},
    {"hset a f 1 g 2", "hexpire a 0 fields 2 f x", true, "hexpired a;"},
    {"hset a f 1", "hexpire a 0 fields 1 f", true, "hexpired a;del a;"},
    {"hset a f 1", "hexpire a 100 xx fields 1 f", false, ""},
    {"hset a f 1", "hpexpire a 100000 fields 1 f", true, "hexpire a;"},
    {"hset a f 1", "hpexpire a 100000 fields 1 x", false, ""},
    {"hset a f 1", "hexpireat a 33177117420 fields 1 f", true, "hexpire a;"},
    {"", "hexpireat a 33177117420 fields 1 f", false, ""},
    {"hset a f 1", "hpexpireat a 1 fields 1 f", true, "hexpired a;del a;"},
    {"hset a f 1", "hpexpireat a x fields 1 f", false, ""},
    {"hsetex a ex 100 fields 1 f 1", "hpersist a fields 1 f", true, "hpersist a;"},
    {"hset a f 1", "hpersist a fields 1 f", false, ""},
    {"hset a f 1", "hgetex a ex 100 fields 1 f", true, "hexpire a;"},
    {"hsetex a ex 100 fields 1 f 1", "hgetex a persist fields 1 f", true, "hpersist a;"},
    {"hset a f 1 g 1", "hgetex a pxat 1 fields 1 f", true, "hexpired a;"},
    {"hset a f 1", "hgetex a fields 1 f", false, ""},
    {"hset a f 1", "hgetex a persist fields 1 f", false, ""},
    {"", "hsetex a fields 1 f 1", true, "hset a;"},
    {"hset a f 1", "hsetex a ex 100 fields 1 f 1", true, "hset a;hexpire a;"},
    {"hset a f 1", "hsetex a pxat 1 fields 1 f 1", true, "hset a;hexpire a;hexpired a;del a;"},
    {"", "hsetex a pxat 1 fields 1 f 1", false, "hset a;hexpire a;hexpired a;del a;"},
    {"hset a f 1", "hsetex a fnx fields 1 f 1", false, ""},
    {"hset a f 1 g 1", "hgetdel a fields 1 f", true, "hdel a;"},
    {"hset a f 1", "hgetdel a fields 1 f", true, "hdel a;del a;"},
    {"hset a f 1", "hgetdel a fields 1 x", false, ""},
    {"sadd a 2 1", "sort a store b", true, "sortstore b;"},
    {"sadd a 2 1", "sort a by nosort store a", true, "sortstore a;"},
    {"set b 1", "sort a store b", true, "del b;"},
    {"sadd a 2 1", "sort a", false, ""},
    {"sadd a x", "sort a store b", false, ""},
    {"", "sort a store b", false, ""},
    /* list.def */
    {"", "lpush a x y", true, "lpush a;"},
    {"set a 1", "lpush a x", false, ""},
    {"", "rpush a x y", true, "rpush a;"},
    {"rpush a x", "rpush a", false, ""},
    {"rpush a x", "lpushx a y", true, "lpush a;"},
    {"", "lpushx a y", false, ""},
    {"rpush a x", "rpushx a y", true, "rpush a;"},
    {"", "rpushx a y", false, ""},
    {"rpush a x y", "lpop a", true, "lpop a;"},
    {"rpush a x", "lpop a", true, "lpop a;del a;"},
    {"rpush a x y", "lpop a 5", true, "lpop a;del a;"},
    {"rpush a x", "lpop a 0", false, ""},
    {"rpush a x y", "rpop a", true, "rpop a;"},
    {"", "rpop a", false, ""},
    {"rpush a x y", "lset a 1 z", true, "lset a;"},
    {"rpush a x y", "lset a 2 z", false, ""},
    {"rpush a x y", "linsert a before y z", true, "linsert a;"},
    {"rpush a x y", "linsert a before q z", false, ""},
    {"rpush a x y", "ltrim a 1 -1", true, "ltrim a;"},
    {"rpush a x y", "ltrim a 5 6", true, "ltrim a;del a;"},
    {"", "ltrim a 5 6", false, ""},
    {"rpush a x y x", "lrem a 0 x", true, "lrem a;"},
    {"rpush a x x", "lrem a 0 x", true, "lrem a;del a;"},
    {"rpush a x", "lrem a 0 q", false, ""},
    {"rpush a x y", "lmove a b left right", true, "rpush b;lpop a;"},
    {"rpush a x", "lmove a b left right", true, "rpush b;lpop a;del a;"},
    {"rpush a x y", "lmove a a left right", true, "rpush a;lpop a;"},
    {"", "lmove a b left right", false, ""},
    {"rpush a x y", "rpoplpush a b", true, "lpush b;rpop a;"},
    {"rpush a x|set b 1", "rpoplpush a b", false, ""},
    {"rpush b x y", "lmpop 2 a b left", true, "lpop b;"},
    {"", "lmpop 2 a b left", false, ""},
    {"rpush b x", "blpop a b 0", true, "lpop b;del b;"},
    {"", "blpop a 0", false, ""},
    {"rpush a x y", "brpop a 0", true, "rpop a;"},
    {"set a 1", "brpop a 0", false, ""},
    {"rpush a x y", "blmove a b left right 0", true, "rpush b;lpop a;"},
    {"", "blmove a b left right 0", false, ""},
    {"rpush a x", "brpoplpush a b 0", true, "lpush b;rpop a;del a;"},
    {"", "brpoplpush a b 0", false, ""},
    {"rpush b x y z", "blmpop 0 2 a b left count 2", true, "lpop b;"},
    {"", "blmpop 0 1 a left", false, ""},
    /* set.def */
    {"", "sadd a 1 2", true, "sadd a;"},
    {"sadd a 1", "sadd a 2", true, "sadd a;"},
    {"sadd a 1", "sadd a 1", false, ""},
    {"set a 1", "sadd a 1", false, ""},
    {"sadd a 1 2", "srem a 1 3", true, "srem a;"},
    {"sadd a 1 2", "srem a 1 2", true, "srem a;del a;"},
    {"sadd a 1 2", "srem a 3", false, ""},
    {"sadd a 1 2", "smove a b 1", true, "srem a;sadd b;"},
    {"sadd a 1", "smove a b 1", true, "srem a;del a;sadd b;"},
    {"sadd a 1 2|sadd b 1", "smove a b 1", true, "srem a;"},
    {"sadd a 1 2", "smove a b 3", false, ""},
    {"sadd a 1 2", "smove a a 1", false, ""},
    {"sadd a 1 2", "spop a", true, "spop a;"},
    {"sadd a 1", "spop a", true, "spop a;del a;"},
    {"sadd a 1 2 3", "spop a 2", true, "spop a;"},
    {"sadd a 1 2 3 4 5 6 7", "spop a 6", true, "spop a;"},
    {"sadd a 1 2 3", "spop a 9", true, "spop a;del a;"},
    {"sadd a 1 2 3", "spop a 0", false, ""},
    {"", "spop a", false, ""},
    {"sadd a 1 2|sadd b 2 3", "sinterstore c a b", true, "sinterstore c;"},
    {"sadd a 1 2|sadd b 2 3", "sinterstore a a b", true, "sinterstore a;"},
    {"sadd a 1 2|set b 1", "sinterstore b a x", true, "del b;"},
    {"sadd a 1 2", "sinterstore c a b", false, ""},
    {"sadd a 1 2|sadd b 2 3", "sunionstore c a b", true, "sunionstore c;"},
    {"set a 1", "sunionstore a b c", true, "del a;"},
    {"", "sunionstore a b c", false, ""},
    {"sadd a 1 2|sadd b 2 3", "sdiffstore c a b", true, "sdiffstore c;"},
    {"sadd a 1 2", "sdiffstore a a a", true, "del a;"},
    {"sadd a 1 2|set b 1", "sdiffstore c a b", false, ""},
    /* sorted_set.def */
    {"", "zadd a 1 x 2 y", true, "zadd a;"},
    {"zadd a 1 x", "zadd a 2 x", true, "zadd a;"},
    {"zadd a 1 x", "zadd a incr 1 x", true, "zincr a;"},
    {"zadd a 1 x", "zadd a 1 x", false, ""},
    {"zadd a 1 x", "zadd a nx 2 x", false, ""},
    {"", "zadd a xx 2 x", false, ""},
    {"zadd a 1 x", "zincrby a 1 x", true, "zincr a;"},
    {"zadd a 1 x", "zincrby a 0 x", false, ""},
    {"zadd a 1 x 2 y", "zrem a x z", true, "zrem a;"},
    {"zadd a 1 x 2 y", "zrem a x y", true, "zrem a;del a;"},
    {"zadd a 1 x", "zrem a y", false, ""},
    {"zadd a 1 x 2 y", "zpopmin a", true, "zpopmin a;"},
    {"zadd a 1 x", "zpopmin a", true, "zpopmin a;del a;"},
    {"", "zpopmin a", false, ""},
    {"zadd a 1 x 2 y", "zpopmax a 5", true, "zpopmax a;del a;"},
    {"zadd a 1 x", "zpopmax a 0", false, ""},
    {"zadd b 1 x 2 y", "zmpop 2 a b max", true, "zpopmax b;"},
    {"zadd b 1 x", "zmpop 2 a b min count 5", true, "zpopmin b;del b;"},
    {"", "zmpop 1 a min", false, ""},
    {"zadd b 1 x 2 y", "bzpopmin a b 0", true, "zpopmin b;"},
    {"", "bzpopmin a 0", false, ""},
    {"zadd a 1 x", "bzpopmax a 0", true, "zpopmax a;del a;"},
    {"", "bzpopmax a 0", false, ""},
    {"zadd a 1 x 2 y", "bzmpop 0 1 a max", true, "zpopmax a;"},
    {"", "bzmpop 0 1 a max", false, ""},
    {"zadd a 1 x 2 y", "zremrangebyrank a 0 0", true, "zremrangebyrank a;"},
    {"zadd a 1 x 2 y", "zremrangebyrank a 2 3", false, ""},
    {"zadd a 1 x 2 y", "zremrangebyscore a 1 9", true, "zremrangebyscore a;del a;"},
    {"zadd a 1 x 2 y", "zremrangebyscore a 3 9", false, ""},
    {"zadd a 1 x 1 y", "zremrangebylex a - (y", true, "zremrangebylex a;"},
    {"zadd a 1 x 1 y", "zremrangebylex a (y +", false, ""},
    {"zadd a 1 x 2 y", "zrangestore b a 0 -1", true, "zrangestore b;"},
    {"set b 1", "zrangestore b a 0 -1", true, "del b;"},
    {"zadd a 1 x", "zrangestore b a 5 6", false, ""},
    {"zadd a 1 x|zadd b 2 y", "zunionstore c 2 a b", true, "zunionstore c;"},
    {"set c 1", "zunionstore c 2 a b", true, "del c;"},
    {"", "zunionstore c 2 a b", false, ""},
    {"zadd a 1 x|zadd b 2 x", "zinterstore a 2 a b", true, "zinterstore a;"},
    {"zadd a 1 x|zadd b 2 y", "zinterstore a 2 a b", true, "del a;"},
    {"zadd a 1 x|zadd b 2 y", "zinterstore c 2 a b", false, ""},
    {"zadd a 1 x|zadd b 2 y", "zdiffstore b 2 a b", true, "zdiffstore b;"},
    {"zadd a 1 x", "zdiffstore c 2 a a", false, ""},
    /* geo.def */
    {"", "geoadd a 1 2 x 3 4 y", true, "zadd a;"},
    {"geoadd a 1 2 x", "geoadd a ch 3 4 x", true, "zadd a;"},
    {"geoadd a 1 2 x", "geoadd a 1 2 x", false, ""},
    {"geoadd a 1 2 x", "geoadd a nx 3 4 x", false, ""},
    {"", "geoadd a xx 3 4 x", false, ""},
    {"", "geoadd a 3 4 x 200 4 y", false, ""},
    {"geoadd a 1 2 x", "geosearchstore b a frommember x byradius 1 m", true, "geosearchstore b;"},
    {"geoadd a 1 2 x", "geosearchstore a a frommember x bybox 1 1 m storedist", true, "geosearchstore a;"},
    {"set b 1", "geosearchstore b a fromlonlat 1 2 byradius 1 m", true, "del b;"},
    {"geoadd a 1 2 x", "geosearchstore b a fromlonlat 3 4 byradius 1 m", false, ""},
    {"geoadd a 1 2 x", "georadius a 1 2 1 m store b", true, "georadiusstore b;"},
    {"geoadd a 1 2 x", "georadius a 1 2 1 m", false, ""},
    {"geoadd a 1 2 x", "georadiusbymember a x 1 m storedist b", true, "georadiusstore b;"},
    {"set b 1", "georadiusbymember a x 1 m store b", true, "del b;"},
    {"geoadd a 1 2 x", "georadiusbymember a x 1 m", false, ""},
    /* hyperloglog.def */
    {"", "pfadd a", true, "pfadd a;"},
    {"", "pfadd a x y", true, "pfadd a;"},
    {EMPTY_HLL, "pfadd a z", true, "pfadd a;"},
    {EMPTY_HLL, "pfadd a", false, ""},
    {"set a 1", "pfadd a x", false, ""},
    {"", "pfmerge a", true, "pfadd a;"},
    {EMPTY_HLL, "pfmerge b a", true, "pfadd b;"},
    {"set a 1", "pfmerge b a", false, ""},
    {EMPTY_HLL, "pfdebug todense a", true, ""},
    {EMPTY_HLL, "pfdebug getreg a", true, ""},
    {EMPTY_HLL, "pfdebug decode a", false, ""},
    /* server.def: a change of a whole database is reported as such */
    {"set a 1", "flushdb", true, ""},
    {"set a 1", "flushdb later", false, ""},
    {"set a 1", "flushall sync", true, ""},
    {"set a 1", "flushall now", false, ""},
    {"set a 1", "swapdb 0 3", true, ""},
    {"set a 1", "swapdb 0 99", false, ""},
/* stream.def */
#define STREAM_OF_TWO "xadd a 1-1 f v|xadd a 2-1 f v"
#define GROUP_OF_TWO STREAM_OF_TWO "|xgroup create a g 0|xgroup createconsumer a g c|xgroup createconsumer a g d"
#define PENDING_OF_TWO GROUP_OF_TWO "|xreadgroup group g c streams a >"
    {"", "xadd a 1-1 f v", true, "xadd a;"},
    {STREAM_OF_TWO, "xadd a maxlen 1 3-1 f v", true, "xadd a;xtrim a;"},
    {STREAM_OF_TWO, "xadd a 1-5 f v", false, ""},
    {"", "xadd a nomkstream 1-1 f v", false, ""},
    {STREAM_OF_TWO, "xdel a 1-1", true, "xdel a;"},
    {STREAM_OF_TWO, "xdel a 1-2", false, ""},
    {STREAM_OF_TWO, "xdelex a ids 2 1-1 1-2", true, "xdel a;"},
    {STREAM_OF_TWO, "xdelex a acked ids 1 1-2", false, ""},
    {STREAM_OF_TWO, "xtrim a maxlen 1 acked", true, "xtrim a;"},
    {STREAM_OF_TWO, "xcfgset a idmp-maxsize 5", true, ""},
    {STREAM_OF_TWO, "xcfgset a idmp-maxsize 100", false, ""},
    {STREAM_OF_TWO, "xidmprecord a p i 1-1", true, ""},
    {STREAM_OF_TWO, "xidmprecord a p i 1-2", false, ""},
    {STREAM_OF_TWO, "xadd a idmp p i * f v", true, "xadd a;"},
    {STREAM_OF_TWO, "xtrim a maxlen 1", true, "xtrim a;"},
    {STREAM_OF_TWO, "xtrim a maxlen 2", false, ""},
    {STREAM_OF_TWO, "xsetid a 5-1", true, "xsetid a;"},
    {STREAM_OF_TWO, "xsetid a 1-1", false, ""},
    {STREAM_OF_TWO, "xgroup create a g $", true, "xgroup-create a;"},
    {"", "xgroup create a g $ mkstream", true, "xgroup-create a;"},
    {"", "xgroup create a g $", false, ""},
    {GROUP_OF_TWO, "xgroup create a g $", false, ""},
    {GROUP_OF_TWO, "xgroup setid a g 1-1", true, "xgroup-setid a;"},
    {STREAM_OF_TWO, "xgroup setid a g 1-1", false, ""},
    {GROUP_OF_TWO, "xgroup destroy a g", true, "xgroup-destroy a;"},
    {GROUP_OF_TWO, "xgroup destroy a h", false, ""},
    {GROUP_OF_TWO, "xgroup createconsumer a g e", true, "xgroup-createconsumer a;"},
    {GROUP_OF_TWO, "xgroup createconsumer a g c", false, ""},
    {PENDING_OF_TWO, "xgroup delconsumer a g c", true, "xgroup-delconsumer a;"},
    {GROUP_OF_TWO, "xgroup delconsumer a g e", false, ""},
    {GROUP_OF_TWO, "xreadgroup group g c streams a >", true, ""},
    {GROUP_OF_TWO, "xreadgroup group h c streams a >", false, ""},
    {PENDING_OF_TWO, "xack a g 1-1 2-1", true, ""},
    {PENDING_OF_TWO, "xack a g 7-1", false, ""},
    {PENDING_OF_TWO, "xackdel a g ids 1 1-1", true, "xdel a;"},
    {PENDING_OF_TWO, "xackdel a g ids 1 7-1", false, ""},
    {PENDING_OF_TWO, "xclaim a g d 0 1-1", true, ""},
    {PENDING_OF_TWO, "xclaim a g d 100000 1-1", false, ""},
    {PENDING_OF_TWO, "xautoclaim a g d 0 0", true, ""},
    {PENDING_OF_TWO, "xautoclaim a h d 0 0", false, ""},
};

/* ---- The dataset ---------------------------------------------------------------------------------- */

typedef struct keyState {
    int db;
    sds name, value; /* own */
    int64_t expire;
} keyState;

typedef struct snapshot {
    keyState keys[16];
    size_t count;
} snapshot;

static void takeSnapshot(snapshot *s) {
    s->count = 0;
    for (int id = 0; id < dbCount(); id++) {
        dbIterator it;
        dbIterBegin(&it, dbGet(id), false);
        for (robj *o; (o = dbIterNext(&it));) {
            if (!CHECK(s->count < array_len(s->keys))) break;
            s->keys[s->count++] = (keyState){.db = id,
                                             .name = sdsNewLen(objectKey(o).ptr, objectKey(o).len),
                                             .value = rdbValueBytes(o, false),
                                             .expire = objectExpire(o)};
        }
        dbIterEnd(&it);
    }
}

static void freeSnapshot(snapshot *s) {
    for (size_t i = 0; i < s->count; i++) {
        sdsFree(s->keys[i].name);
        sdsFree(s->keys[i].value);
    }
}

static const keyState *findKey(const snapshot *s, const keyState *k) {
    for (size_t i = 0; i < s->count; i++)
        if (s->keys[i].db == k->db && sdsCmp(s->keys[i].name, k->name) == 0) return &s->keys[i];
    return NULL;
}

static bool sameKey(const keyState *a, const keyState *b) {
    return a && b && a->expire == b->expire && sdsCmp(a->value, b->value) == 0;
}

/* ---- The reports ---------------------------------------------------------------------------------- */

typedef struct toldKey {
    int db;
    char name[32];
} toldKey;

static struct {
    toldKey keys[16];
    size_t count;
    int databases; /* flushed or swapped */
    bool by_server;
    sds events;
} told;

static void noteModified(serverDb *db, hashedKey key, changeCause cause) {
    if (!CHECK(told.count < array_len(told.keys))) return;
    toldKey *k = &told.keys[told.count++];
    k->db = dbId(db);
    snprintf(k->name, sizeof(k->name), "%.*s", (int)key.name.len, key.name.ptr);
    told.by_server |= cause != CHANGED_BY_COMMAND && cause != CHANGED_GROUPS;
}

static void noteEvent(serverDb *db, int event_class, const char *event, slice key) {
    unused(db);
    if (told.events && event_class != NOTIFY_NEW && event_class != NOTIFY_KEY_MISS)
        told.events = sdsCatPrintf(told.events, "%s %.*s;", event, (int)key.len, key.ptr);
}

static void noteFlushed(int dbid, bool async) {
    unused(dbid), unused(async);
    told.databases++;
}

static void noteSwapped(int a, int b) {
    unused(a), unused(b);
    told.databases++;
}

static bool wasTold(const keyState *k) {
    for (size_t i = 0; i < told.count; i++)
        if (told.keys[i].db == k->db && strcmp(told.keys[i].name, k->name) == 0) return true;
    return false;
}

static void forget(void) {
    told.count = 0;
    told.databases = 0;
    told.by_server = false;
    sdsClear(told.events);
}

/* ---- Running -------------------------------------------------------------------------------------- */

static sds payload; /* the reply of a DUMP */

/* Runs one command, as a connection would, and returns the reply. */
static sds runLine(client *c, const char *line) {
    alignas(16) char room[4096];
    recordArena arena;
    recordCache cache = {0};
    int argc;
    sds *words = sdsSplitArgs(line, &argc);
    recordArenaInit(&arena, room, sizeof(room));
    parsedCommand *p = recordCreate(&arena, (size_t)argc);
    for (int i = 0; i < argc; i++) p->argv[i] = strcmp(words[i], "$DUMP") ? sdsSlice(words[i]) : sdsSlice(payload);
    recordComplete(&arena, &cache, p, 0);
    monotime now = clockTicks();
    if (CHECK(p->cmd != NULL)) CHECK_EQ_INT(processCommand(c, p, &now), CALL_DONE);
    if (p->value) decrRefCount(p->value);
    recordArenaFree(&arena);
    sdsFreeSplitRes(words, argc);
    return fixtureReplies(c);
}

static void runSetup(client *c, const char *setup) {
    dbEmpty(-1, false);
    while (*setup) {
        size_t len = strcspn(setup, "|");
        sds line = sdsNewLen(setup, len), reply = runLine(c, line);
        CHECK(reply[0] != '-');
        sdsFree(reply);
        sdsFree(line);
        setup += len + (setup[len] == '|');
    }
}

static void init(void) {
    static bool done;
    if (done) return;
    done = true;
    panicSetMainThread();
    fixtureInit();
    objectTypesRegister();
    fixtureCommands();
    storeObserveModified(noteModified);
    storeObserveEvents(noteEvent);
    storeObserveFlushed(noteFlushed);
    storeObserveSwapped(noteSwapped);
    told.events = sdsEmpty();
}

static client *startUp(void) {
    init();
    store_settings.notify_events = ~0;
    storeSetNowMs(clockWallMs());
    client *c = fixtureClient(2);
    c->authenticated = true;
    c->flags |= CLIENT_DENY_BLOCKING; /* a blocking command returns at once */
    if (!payload) {
        runSetup(c, "set a dumped");
        sds reply = runLine(c, "dump a");
        char *body = strchr(reply, '\n') + 1;
        payload = sdsNewLen(body, sdsLen(reply) - (size_t)(body - reply) - 2);
        sdsFree(reply);
    }
    return c;
}

/* ---- The tests ------------------------------------------------------------------------------------ */

static bool runExample(client *c, const example *e) {
    snapshot before, after;
    runSetup(c, e->setup);
    takeSnapshot(&before);
    long long dirty = store_stats.dirty;
    forget();
    sdsFree(runLine(c, e->line));
    takeSnapshot(&after);

    size_t changed = 0;
    bool good = CHECK(!told.by_server);
    good &= CHECK(keyspaceAllNotified());
    for (size_t i = 0; i < before.count + after.count; i++) {
        bool old = i < before.count;
        const keyState *k = old ? &before.keys[i] : &after.keys[i - before.count];
        const keyState *other = findKey(old ? &after : &before, k);
        if (!old && other) continue; /* already checked */
        bool same = sameKey(k, other);
        changed += !same;
        good &= told.databases ? true : CHECK_EQ_INT(wasTold(k), !same);
    }
    good &= CHECK_EQ_INT(changed > 0, e->changes);
    good &= CHECK_EQ_INT(told.databases > 0 || told.count > 0, e->changes);
    good &= told.databases ? CHECK_EQ_INT(told.count, 0) : CHECK_EQ_INT(told.count, changed);
    good &= CHECK_EQ_INT(store_stats.dirty > dirty, e->changes);
    good &= CHECK_EQ_STR(told.events, e->events);
    freeSnapshot(&before);
    freeSnapshot(&after);
    return good;
}

TEST(write_commands_tell_what_they_change) {
    client *c = startUp();
    for (size_t i = 0; i < array_len(examples); i++)
        if (!runExample(c, &examples[i])) printf("    %s -> %s\n", examples[i].setup, examples[i].line);
    clientFree(c);
}

static int ready_seen;

static void sawReady(serverDb *db, hashedKey key, int type) {
    unused(db), unused(key), unused(type);
    ready_seen++;
}

/* Clients blocked on a key are woken when it is created, and on a stream when it has more entries or loses a group. */
TEST(write_commands_tell_of_keys_that_others_wait_for) {
    static const struct {
        const char *setup, *line;
        int ready;
    } cases[] = {
        {"", "rpush a x", 1},
        {"", "zadd a 1 x", 1},
        {"", "xadd a 1-0 f v", 1},
        {"xadd a 1-0 f v", "xadd a 2-0 f v", 1},
        {"xadd a 1-0 f v", "xadd a 1-0 f v", 0},
        {"xadd a 1-0 f v|xgroup create a g 0", "xgroup destroy a g", 1},
        {"xadd a 1-0 f v", "xgroup destroy a g", 0},
        {"", "sadd a x", 0},
    };
    client *c = startUp();
    storeObserveReady(sawReady);
    for (size_t i = 0; i < array_len(cases); i++) {
        runSetup(c, cases[i].setup);
        ready_seen = 0;
        sdsFree(runLine(c, cases[i].line));
        if (!CHECK_EQ_INT(ready_seen, cases[i].ready)) printf("    %s -> %s\n", cases[i].setup, cases[i].line);
    }
    clientFree(c);
}

/* Returns whether the line begins with the command's name, of a subcommand with both words. */
static bool isOf(const char *line, const serverCommand *cmd) {
    const char *name = cmd->fullname;
    for (; *name; name++, line++)
        if (*line != (*name == '|' ? ' ' : *name)) return false;
    return *line == ' ' || !*line;
}

static size_t examplesOf(const serverCommand *cmd, bool changes) {
    size_t n = 0;
    for (size_t i = 0; i < array_len(examples); i++) n += examples[i].changes == changes && isOf(examples[i].line, cmd);
    return n;
}

static void askForExamples(void *arg, serverCommand *cmd) {
    if (cmd->flags & CMD_WRITE) {
        (*(size_t *)arg)++;
        bool both = CHECK(cmd->proc);
        both &= CHECK(examplesOf(cmd, true));
        both &= CHECK(examplesOf(cmd, false));
        if (!both) printf("    %s needs an example that changes something and one that does not\n", cmd->fullname);
    }
    for (int i = 0; i < cmd->nsubcommands; i++) askForExamples(arg, &cmd->subcommands[i]);
}

TEST(every_write_command_of_the_table_has_examples) {
    init();
    size_t commands = 0;
    commandEach(askForExamples, &commands);
    CHECK(commands >= 30);
}
