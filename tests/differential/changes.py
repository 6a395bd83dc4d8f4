"""changes.py -- changes of keys while other clients watch them, block on them, subscribe to their events or cache them.

Commands are excluded whose replies are random, or depend on time or encodings (SORT changes the encoding in Valkey),
and those that overwrite a key of another type, except on keys without blocked clients: Draw.stored().

SPDX-License-Identifier: BSD-3-Clause
"""

from scripts import Short


def changes(d):
    """Returns rows (weight, thunk that draws a command)."""
    k = d.key
    stream_id = lambda: "%d-1" % d.tick()
    return [
        (3, lambda: ["SET", k(), d.number()]), (2, lambda: ["GET", k()]), (2, lambda: ["INCR", k()]),
        (1, lambda: ["SET", k(), "v", d.one("NX", "XX", "GET", "KEEPTTL")]), (1, lambda: ["GETDEL", k()]),
        (1, lambda: ["APPEND", k(), d.one("", "1")]), (1, lambda: ["SETRANGE", k(), "0", d.one("", "x")]),
        (1, lambda: ["MSET", k(), "1", k(), "2"]), (1, lambda: ["MSETNX", k(), "1", k(), "2"]),
        (1, lambda: ["MGET", k(), k()]), (1, lambda: ["SETBIT", k(), "7", d.one("0", "1")]),
        (1, lambda: ["GETEX", k()]), (1, lambda: ["GETEX", k(), "PERSIST"]),
        (3, lambda: ["LPUSH", k(), d.number()]), (2, lambda: ["RPUSH", k(), "x", "y"]),
        (1, lambda: ["RPUSH", k(), "z"]),
        (1, lambda: ["LPUSHX", k(), "q"]), (2, lambda: ["LPOP", k()]), (1, lambda: ["RPOP", k(), "2"]),
        (2, lambda: ["LMOVE", k(), k(), d.end(), d.end()]), (1, lambda: ["LINSERT", k(), "BEFORE", "x", "w"]),
        (1, lambda: ["LREM", k(), "0", "x"]), (1, lambda: ["LTRIM", k(), "1", "-1"]),
        (1, lambda: ["LSET", k(), "0", "s"]),
        (1, lambda: ["LMPOP", "2", k(), k(), d.end()]), (1, lambda: ["LRANGE", k(), "0", "-1"]),
        (1, lambda: ["SADD", k(), "m"]), (1, lambda: ["SREM", k(), "m"]), (1, lambda: ["SMOVE", k(), k(), "m"]),
        (1, lambda: ["SINTERSTORE", d.stored(), k(), k()]), (1, lambda: ["SCARD", k()]),
        (1, lambda: ["HSET", k(), "f", d.number()]), (1, lambda: ["HDEL", k(), "f"]), (1, lambda: ["HGET", k(), "f"]),
        (1, lambda: ["HINCRBY", k(), "f", "1"]), (1, lambda: ["HSETNX", k(), "f", "1"]),
        (1, lambda: ["HEXPIRE", k(), "100", "FIELDS", "1", "f"]), (1, lambda: ["HPERSIST", k(), "FIELDS", "1", "f"]),
        (1, lambda: ["HPEXPIREAT", k(), "1", "FIELDS", "1", "f"]), (1, lambda: ["HGETDEL", k(), "FIELDS", "1", "f"]),
        (1, lambda: ["HGETEX", k(), "PERSIST", "FIELDS", "1", "f"]),
        (1, lambda: ["HSETEX", k(), "EX", "100", "FIELDS", "1", "f", "v"]),
        (2, lambda: ["ZADD", k(), "1", "m"]), (1, lambda: ["ZADD", k(), "1", "n", "2", "o"]),
        (1, lambda: ["ZADD", k(), d.one("NX", "XX", "GT", "CH"), d.number(), "m"]), (1, lambda: ["ZPOPMIN", k()]),
        (1, lambda: ["ZPOPMAX", k()]), (1, lambda: ["ZREM", k(), "m"]), (1, lambda: ["ZINCRBY", k(), "0", "m"]),
        (1, lambda: ["ZRANGESTORE", d.stored(), k(), "0", "-1"]), (1, lambda: ["ZUNIONSTORE", d.stored(), "1", k()]),
        (1, lambda: ["ZMPOP", "1", k(), "MIN"]), (1, lambda: ["GEOADD", k(), "1", "1", "p"]),
        (1, lambda: ["ZREMRANGEBYRANK", k(), "0", "0"]),
        (2, lambda: ["XADD", k(), stream_id(), "f", "v"]),
        (1, lambda: ["XADD", k(), "NOMKSTREAM", stream_id(), "f", "v"]),
        (1, lambda: ["XADD", k(), "MAXLEN", "1", stream_id(), "f", "v"]), (1, lambda: ["XDEL", k(), "1-1"]),
        (1, lambda: ["XTRIM", k(), "MAXLEN", d.one("0", "1")]),
        (1 * d.groups, lambda: ["XSETID", k(), "%d-5" % d.tick()]),
        (2 * d.groups, lambda: ["XGROUP", "CREATE", k(), "g", d.one("$", "0"), "MKSTREAM"]),
        (1 * d.groups, lambda: ["XGROUP", "DESTROY", k(), "g"]),
        (1 * d.groups, lambda: ["XGROUP", "SETID", k(), "g", d.one("0", "$")]),
        (1 * d.groups, lambda: ["XGROUP", "CREATECONSUMER", k(), "g", "c"]),
        (1 * d.groups, lambda: ["XGROUP", "DELCONSUMER", k(), "g", "c"]),
        (1 * d.groups, lambda: ["XREADGROUP", "GROUP", "g", "c", "STREAMS", k(), d.one(">", "0")]),
        (1 * d.groups, lambda: ["XACK", k(), "g", "1-1"]), (1, lambda: ["XREAD", "STREAMS", k(), "0"]),
        (1 * d.groups, lambda: ["XCLAIM", k(), "g", "c2", "0", "1-1", "JUSTID"]), (1, lambda: ["XLEN", k()]),
        (1, lambda: ["PFADD", k(), "x"]),
        (1, lambda: ["SORT", k(), "ALPHA", "STORE", d.stored()]), (1, lambda: ["SORT", k(), "STORE", d.stored()]),
        (4, lambda: ["DEL", k()]), (1, lambda: ["UNLINK", k(), k()]), (1, lambda: ["DEL"] + d.keys(4)),
        (2, lambda: ["RENAME", k(), k()]), (1, lambda: ["RENAMENX", k(), k()]),
        (1, lambda: ["COPY", k(), k()] + d.one([], ["REPLACE"], ["DB", "1"], ["DB", "1", "REPLACE"])),
        (1, lambda: ["MOVE", k(), d.one("0", "1")]), (1, lambda: ["SELECT", d.one("0", "0", "1", "x")]),
        (1, lambda: ["SWAPDB", "0", d.one("0", "1", "1")]), (1, lambda: ["FLUSHDB"]),
        (1, lambda: ["FLUSHALL"] + d.one([], ["SYNC"], ["ASYNC"])),
        (1, lambda: ["EXISTS", k()]), (1, lambda: ["TYPE", k()]), (1, lambda: ["TOUCH", k()]),
        (1, lambda: ["DBSIZE"]), (1, lambda: ["PING"] + d.one([], ["x"])),
        (1, lambda: ["EXPIRE", k(), d.one("100000", "-1")] + d.one([], [], ["NX"], ["XX"])),
        (1, lambda: ["PEXPIREAT", k(), "1"]), (1, lambda: ["PERSIST", k()]),
        (1, lambda: ["SET", k(), "v", "EX", "1000"]),
        (1, lambda: ["EXPIRETIME", k(), "x"]),
        (4, lambda: Short(["SET", k(), "v", "PX", "1"])), (8, lambda: Short(["PEXPIRE", k(), "1"])),
        (2, lambda: Short(["HPEXPIRE", k(), "1", "FIELDS", "1", "f"])), (2, lambda: Short(["GETEX", k(), "PX", "1"])),
        (1, lambda: ["GET"]), (1, lambda: ["NOSUCH"]), (1, lambda: ["HSET", k(), "f"]),
        (1, lambda: ["SWAPDB", "0", "x"]),
    ]
