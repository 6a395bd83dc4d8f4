#!/usr/bin/env python3
# growth.py -- checks that no request costs more than n log n: every command with 25,000 and 100,000 arguments, and
# values of every type with 250,000 and 1,000,000 elements.
#
#   tests/stress/growth.py [--server FILE] [--port N] [--only WORD] [--seed N] [--report FILE] [--quick]
#
# The commands and their arguments are those of COMMAND DOCS, so a new command is included automatically: each argument
# that may be repeated, and each option, is repeated. Keys are absent, all the same, or different (the larger values
# first, or in random order). The second part runs the requests of VALUE_REQUESTS on one large value.
#
# Cost is the CPU time of all threads of the server as the scheduler counts it, from the first byte of the request until
# the server is idle again. The larger size is four times the smaller one: n log n makes that 4.5 times as much work (up to
# 10 where the larger value does not fit the cache any more), n * n 16 times. A case fails above 12 times when the larger
# run takes more than 30 ms; the smallest of three runs counts.
# Other load on the machine changes neither figure much. A full run takes about ten minutes.
#
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import glob
import json
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time

FACTOR, LIMIT_RATIO, LIMIT_SECONDS, RUNS = 4, 12.0, 0.030, 3

# Commands that end the server or the connection, connect elsewhere, wait for others, or delete the dataset.
LEFT_OUT = """shutdown debug failover replicaof slaveof psync sync monitor quit flushall flushdb swapdb select reset auth hello
client|kill client|pause client|reply client|unblock client|setinfo acl|load acl|save config|rewrite bgsave bgrewriteaof save
script|kill function|kill script|debug module|load module|loadex wait waitaof migrate exec multi discard lolwut
restore-asking readonly readwrite cluster clusterscan asking""".split()

# Values of arguments by name; "#" is replaced by a running number.
VALUES = {
    "id": "#-1", "start": "0", "stop": "-1", "end": "-1", "min": "0", "max": "9", "score": "#", "longitude": "#.0001",
    "latitude": "1", "radius": "100", "width": "100", "height": "100", "timeout": "0.001", "cursor": "0",
    "milliseconds": "1", "count": "3", "numkeys": "N", "numfields": "N", "num-vertices": "N", "script": "return 1",
    "seconds": "1000", "parameter": "p#", "rule": "+get", "username": "u", "section": "server", "pattern": "p#",
    "command-name": "get", "event": "command", "encoding": "u8", "protover": "3", "unit": "km", "bit": "1", "sha1": "#",
    "group": "g", "consumer": "c", "index": "0", "increment": "1", "decrement": "1", "offset": "#", "weight": "#",
    "prefix": "p#:", "db": "0", "destination-db": "0", "command": "get", "category": "read",
}
EMBEDDED = {"string": "string", "bitmap": "string", "hyperloglog": "hll", "list": "list", "set": "set", "sorted-set": "zset",
            "geo": "geo", "hash": "hash", "stream": "stream", "generic": "set"}

# Builds small values at k0, k1, ... of varying sizes, the larger ones first if `order` says so.
BUILD_MANY = """
local n, kind, order = tonumber(ARGV[1]), ARGV[2], ARGV[3]
for i = 0, n - 1 do
    local k, size = 'k' .. i, order == 'falling' and 1 + math.floor(8 * (n - i) / n) or 1 + (i * 7919) % 8
    for j = 1, size do
        if kind == 'string' then redis.call('append', k, 'x')
        elseif kind == 'hll' then redis.call('pfadd', k, j)
        elseif kind == 'list' then redis.call('rpush', k, j)
        elseif kind == 'set' then redis.call('sadd', k, j == 1 and 'm' .. i or j)
        elseif kind == 'zset' then redis.call('zadd', k, j, j == 1 and 'm' .. i or j)
        elseif kind == 'geo' then redis.call('geoadd', k, j, j, 'm' .. j)
        elseif kind == 'hash' then redis.call('hset', k, j, j)
        elseif kind == 'stream' then redis.call('xadd', k, j .. '-1', 'f', j) end
    end
    if kind == 'stream' then redis.call('xgroup', 'create', k, 'g', 0) end
end
"""

# Builds one value of n elements at `ARGV[3]`.
BUILD_LARGE = """
local n, kind, k = tonumber(ARGV[1]), ARGV[2], ARGV[3]
local function each(name, fn)
    for i = 1, n, 1000 do
        local a = {}
        for j = i, math.min(i + 999, n) do fn(a, j) end
        redis.call(name, k, unpack(a))
    end
end
if kind == 'string' or kind == 'hll' then redis.call('setrange', k, n * 8, 'x')
elseif kind == 'list' then each('rpush', function(a, j) a[#a + 1] = 'e' .. j end)
elseif kind == 'set' then each('sadd', function(a, j) a[#a + 1] = 'm' .. j end)
elseif kind == 'intset' then each('sadd', function(a, j) a[#a + 1] = j end)
elseif kind == 'zset' then each('zadd', function(a, j) a[#a + 1] = j a[#a + 1] = 'm' .. j end)
elseif kind == 'zset same score' then each('zadd', function(a, j) a[#a + 1] = 1 a[#a + 1] = 'm' .. j end)
elseif kind == 'geo' then each('geoadd', function(a, j) a[#a + 1] = (j % 1000) / 100 a[#a + 1] = (j % 977) / 100 a[#a + 1] = 'm' .. j end)
elseif kind == 'hash' then each('hset', function(a, j) a[#a + 1] = 'f' .. j a[#a + 1] = 'v' .. j end)
elseif kind == 'hash with expires' then
    each('hset', function(a, j) a[#a + 1] = 'f' .. j a[#a + 1] = 'v' .. j end)
    for i = 1, n, 1000 do
        local a = {}
        for j = i, math.min(i + 999, n) do a[#a + 1] = 'f' .. j end
        redis.call('hexpire', k, 100000, 'fields', #a, unpack(a))
    end
elseif kind == 'stream' then
    for j = 1, n do redis.call('xadd', k, j .. '-1', 'f', j) end
    redis.call('xgroup', 'create', k, 'g', 0)
elseif kind == 'stream read' then
    for j = 1, n do redis.call('xadd', k, j .. '-1', 'f', j) end
    redis.call('xgroup', 'create', k, 'g', 0)
    redis.call('xreadgroup', 'group', 'g', 'c', 'streams', k, '>')
end
"""

ANY_TYPE = """OBJECT ENCODING v|DUMP v|COPY v w|RENAME v w|DEL v|UNLINK v|EXPIRE v 100|PERSIST v|MEMORY USAGE v SAMPLES 0|TYPE v
DEBUG OBJECT v|DEBUG DIGEST-VALUE v|MOVE v 1|SET v x|TOUCH v"""
VALUE_REQUESTS = {
    "string": """GET v|GETRANGE v 5 -5|SETRANGE v 5 x|APPEND v x|STRLEN v|GETDEL v|GETSET v x|BITCOUNT v|BITPOS v 1|BITPOS v 0
BITOP NOT w v|BITOP XOR w v v|SETBIT v 77 1|GETBIT v 77|BITFIELD v SET u8 #N 1|SETRANGE v #N x|LCS v short|DELIFEQ v x|PFCOUNT v|PFADD v a""",
    "list": """LRANGE v 0 -1|LINDEX v #M|LSET v #M x|LINSERT v BEFORE e#M x|LREM v 0 e#M|LREM v -1 e#M|LTRIM v 5 -5|LTRIM v 1 0
LPOP v #M|RPOP v #M|LPOS v e#M|LPOS v e#M COUNT 0|LMOVE v w LEFT RIGHT|LPUSH v x|RPUSH v x|LLEN v|SORT v ALPHA|SORT v ALPHA LIMIT 0 10
SORT v BY nothing GET #|SORT v ALPHA STORE w|LMPOP 1 v LEFT COUNT #M""",
    "set": """SMEMBERS v|SCARD v|SPOP v|SPOP v #M|SRANDMEMBER v #M|SRANDMEMBER v -#M|SREM v m5|SADD v new|SADD v 1|SMOVE v w m5|SINTER v v
SUNION v v|SDIFF v w|SINTERSTORE w v v|SUNIONSTORE w v v|SDIFFSTORE w v x|SINTERCARD 2 v v|SSCAN v 0 COUNT #N|SORT v ALPHA
SINTERCARD 2 v v LIMIT 1|SISMEMBER v m5|ZUNION 2 v v|ZINTER 2 v v|ZDIFF 2 v w|ZUNIONSTORE w 2 v v""",
    "zset": """ZRANGE v 0 -1|ZRANGE v 0 -1 REV WITHSCORES|ZRANGEBYSCORE v -inf +inf|ZRANGEBYSCORE v -inf +inf LIMIT #M 10
ZRANGE v - + BYLEX LIMIT #M 10|ZCOUNT v -inf +inf|ZLEXCOUNT v - +|ZRANK v m5|ZREVRANK v m5|ZREMRANGEBYRANK v 5 #M
ZREMRANGEBYSCORE v -inf +inf|ZREMRANGEBYLEX v - +|ZPOPMIN v #M|ZPOPMAX v #M|ZRANDMEMBER v #M|ZRANDMEMBER v -#M|ZADD v 1 new
ZADD v 7 m5|ZINCRBY v #N m5|ZREM v m5|ZUNION 2 v v|ZINTER 2 v v|ZDIFF 2 v w|ZUNIONSTORE w 2 v v|ZINTERSTORE w 2 v v
ZDIFFSTORE w 2 v x|ZRANGESTORE w v 0 -1|ZINTERCARD 2 v v|ZSCAN v 0 COUNT #N|SORT v ALPHA|ZMPOP 1 v MIN COUNT #M|GEOHASH v m5
GEORADIUS v 1 1 100 km|GEOSEARCH v FROMLONLAT 1 1 BYBOX 9999 9999 km""",
    "geo": """GEOSEARCH v FROMLONLAT 5 5 BYRADIUS 2000 km ASC|GEOSEARCH v FROMLONLAT 5 5 BYRADIUS 2000 km COUNT 10
GEOSEARCH v FROMLONLAT 5 5 BYBOX 2000 2000 km COUNT #M DESC|GEOSEARCHSTORE w v FROMLONLAT 5 5 BYRADIUS 2000 km STOREDIST
GEOSEARCH v FROMLONLAT 5 5 BYRADIUS 2000 km COUNT 5 ANY|GEORADIUS v 5 5 2000 km STORE w|GEOPOS v m5|GEODIST v m5 m9""",
    "hash": """HGETALL v|HKEYS v|HVALS v|HLEN v|HGET v f5|HSET v new x|HSET v f5 x|HDEL v f5|HRANDFIELD v #M|HRANDFIELD v -#M WITHVALUES
HSCAN v 0 COUNT #N|HINCRBY v new 1|HEXPIRE v 100 FIELDS 1 f5|HPEXPIRE v 1 FIELDS 1 f5|HPERSIST v FIELDS 1 f5|HTTL v FIELDS 1 f5
HGETEX v EX 100 FIELDS 1 f5|HGETDEL v FIELDS 1 f5|HSETEX v EX 100 FIELDS 1 f5 x""",
    "stream": """XRANGE v - +|XREVRANGE v + - COUNT 10|XLEN v|XADD v * f x|XADD v MAXLEN 10 * f x|XTRIM v MAXLEN 10|XTRIM v MAXLEN ~ 10
XTRIM v MINID #M|XDEL v 5-1|XREAD STREAMS v 0|XREADGROUP GROUP g c STREAMS v >|XREADGROUP GROUP g c STREAMS v 0|XINFO STREAM v FULL COUNT 0
XINFO GROUPS v|XPENDING v g|XPENDING v g - + #N|XPENDING v g IDLE 1 - + 10|XAUTOCLAIM v g d 0 0 COUNT #M|XCLAIM v g d 0 5-1
XACK v g 5-1|XGROUP DELCONSUMER v g c|XGROUP DESTROY v g|XGROUP SETID v g 5|XSETID v #N9-9|XAUTOCLAIM v g d 999999999 0 COUNT 10""",
}
KINDS = {"string": ["string"], "list": ["list"], "set": ["set", "intset"], "zset": ["zset", "zset same score"], "geo": ["geo"],
         "hash": ["hash", "hash with expires"], "stream": ["stream", "stream read"]}
# Settings under which values of any size have the compact encoding.
COMPACT = """hash-max-listpack-entries hash-max-listpack-value set-max-intset-entries set-max-listpack-entries
set-max-listpack-value zset-max-listpack-entries zset-max-listpack-value stream-node-max-entries""".split()

# Administrators choose this cost with the settings of the compact part: a listpack is walked for each lookup of a
# member, or by its number, as in Valkey. These cases are reported, and do not fail.
LOOKED_THROUGH = ["compact set: " + words for words in ("SUNION v v", "SINTERSTORE w v v", "SUNIONSTORE w v v",
                  "SDIFFSTORE w v x", "ZINTER 2 v v")] + [
                  "compact %s: %s" % (kind, words) for kind in ("zset", "zset same score")
                  for words in ("ZINTER 2 v v", "ZINTERSTORE w 2 v v", "ZINTERCARD 2 v v")] + [
                  "compact hash: HRANDFIELD v -#M WITHVALUES"]

# Requests that do not follow from COMMAND DOCS: several repeated arguments that belong together. Each takes n.
MORE = {
    "ZUNIONSTORE of n keys with weights": ("zset", lambda n: ["ZUNIONSTORE", "w", n] + keys(n) + ["WEIGHTS"] + [1] * n),
    "ZINTER of n keys with weights": ("zset", lambda n: ["ZINTER", n] + keys(n) + ["WEIGHTS"] + [1] * n),
    "ZDIFF of one key and n missing": ("zset", lambda n: ["ZDIFF", n + 1, "k0"] + ["no%d" % i for i in range(n)]),
    "ZDIFF of a large key and n missing": ("large zset", lambda n: ["ZDIFF", n + 1, "v"] + ["no%d" % i for i in range(n)]),
    "ZDIFFSTORE of a large key and n small": ("large zset", lambda n: ["ZDIFFSTORE", "w", n + 1, "v"] + keys(n)),
    "ZUNION of a large key and n small": ("large zset", lambda n: ["ZUNION", n + 1, "v"] + keys(n)),
    "ZINTERCARD of a large key and n small": ("large zset", lambda n: ["ZINTERCARD", n + 1, "v"] + keys(n)),
    "SDIFF of a large key and n missing": ("large set", lambda n: ["SDIFF", "v"] + ["no%d" % i for i in range(n)]),
    "SDIFF of a large key and n small": ("large set", lambda n: ["SDIFF", "v"] + keys(n)),
    "SUNIONSTORE of a large key and n small": ("large set", lambda n: ["SUNIONSTORE", "w", "v"] + keys(n)),
    "SINTER of a large key and n small": ("large set", lambda n: ["SINTER", "v"] + keys(n)),
    "BITFIELD with n operations": ("string", lambda n: ["BITFIELD", "k0"] + ["SET", "u8", "#7", 1] * n),
    "SORT with n GET": ("list", lambda n: ["SORT", "k0"] + ["GET", "#"] * n),
    "MSETEX of n keys": ("string", lambda n: ["MSETEX", n] + [x for k in keys(n) for x in (k, 1)] + ["EX", 100]),
    "HSETEX of n fields": ("hash", lambda n: ["HSETEX", "w", "EX", 100, "FIELDS", n] + [x for i in range(n) for x in (i, i)]),
    "HMGET of n fields of n": ("large hash", lambda n: ["HMGET", "v"] + ["f%d" % i for i in range(n)]),
    "HDEL of n fields of n": ("large hash", lambda n: ["HDEL", "v"] + ["f%d" % i for i in range(n)]),
    "HEXPIRE of n fields of n": ("large hash", lambda n: ["HEXPIRE", "v", 100, "FIELDS", n] + ["f%d" % i for i in range(n)]),
    "HPEXPIRE of n fields at once": ("large hash", lambda n: ["HPEXPIRE", "v", 0, "FIELDS", n] + ["f%d" % i for i in range(n)]),
    "ZREM of n members of n": ("large zset", lambda n: ["ZREM", "v"] + ["m%d" % i for i in range(n)]),
    "SREM of n members of n": ("large set", lambda n: ["SREM", "v"] + ["m%d" % i for i in range(n)]),
    "ZADD of n members downwards": ("zset", lambda n: ["ZADD", "w"] + [x for i in range(n) for x in (n - i, "m%d" % i)]),
    "GEOADD of n members": ("zset", lambda n: ["GEOADD", "w"] + [x for i in range(n) for x in (i % 100, 1, "m%d" % i)]),
    "GEOSEARCH with n vertices": ("geo", lambda n: ["GEOSEARCH", "k0", "BYPOLYGON", n] + [x for i in range(n) for x in (i % 90, i % 50)]),
    "XDEL of n entries of n": ("large stream", lambda n: ["XDEL", "v"] + ["%d-1" % i for i in range(1, n)]),
    "XDEL of n entries backwards": ("large stream", lambda n: ["XDEL", "v"] + ["%d-1" % i for i in range(n, 1, -1)]),
    "XACK of n entries of n": ("large stream read", lambda n: ["XACK", "v", "g"] + ["%d-1" % i for i in range(1, n)]),
    "XCLAIM of n entries of n": ("large stream read", lambda n: ["XCLAIM", "v", "g", "d", 0] + ["%d-1" % i for i in range(1, n)]),
    "XREADGROUP of n streams": ("stream", lambda n: ["XREADGROUP", "GROUP", "g", "c", "STREAMS"] + keys(n) + [">"] * n),
    "EVAL with n keys and arguments": ("string", lambda n: ["EVAL", "return #KEYS + #ARGV", n] + keys(n) + ["a"] * n),
    "EVAL that calls MGET": ("string", lambda n: ["EVAL", "for i = 1, #KEYS do redis.call('get', KEYS[i]) end", n] + keys(n)),
    "WATCH of the same key n times": ("string", lambda n: ["WATCH"] + ["k0"] * n),
    "SUBSCRIBE twice": ("string", lambda n: ["SUBSCRIBE"] + ["c%d" % (i % (n // 2)) for i in range(n)]),
    "ACL SETUSER with n keys": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["~p%d" % i for i in range(n)]),
    "ACL SETUSER with n channels": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["&p%d" % i for i in range(n)]),
    "ACL SETUSER with n passwords": ("string", lambda n: ["ACL", "SETUSER", "u"] + [">p%d" % i for i in range(n)]),
    "ACL SETUSER with n commands": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["+get", "-get"] * (n // 2)),
    "ACL SETUSER with n first arguments": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["+select|%d" % i for i in range(n)]),
    "ACL SETUSER with n selectors": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["(+get ~p%d)" % i for i in range(n)]),
    "ACL SETUSER with n databases": ("string", lambda n: ["ACL", "SETUSER", "u"] + ["db=%d" % (i % 16) for i in range(n)]),
    "CLIENT TRACKING with n prefixes": ("string", lambda n: ["CLIENT", "TRACKING", "ON", "BCAST"] + [x for i in range(n) for x in ("PREFIX", "p%06d" % i)]),
    "CLIENT KILL with n ids": ("string", lambda n: ["CLIENT", "KILL"] + [x for i in range(n) for x in ("ID", 1000000 + i)]),
    "CONFIG GET with n patterns": ("string", lambda n: ["CONFIG", "GET"] + ["p%d" % i for i in range(n)]),
    "COMMAND INFO of n": ("string", lambda n: ["COMMAND", "INFO"] + ["get"] * (n // 20)),
    "a pattern of n stars": ("string", lambda n: ["CONFIG", "GET", "a*" * n]),
    "KEYS with a long pattern": ("string", lambda n: ["SCAN", 0, "MATCH", "*a" * (n // 100) + "b", "COUNT", 10]),
    "LCS of n bytes and 100": ("string", lambda n: ["EVAL", "redis.call('set','a',string.rep('ab',tonumber(ARGV[1]))) redis.call('set','b',string.rep('b',50)) return redis.call('lcs','a','b','len')", 0, n]),
    "PFCOUNT of n keys": ("hll", lambda n: ["PFCOUNT"] + keys(n // 20)),
    "PFMERGE of n keys": ("hll", lambda n: ["PFMERGE", "w"] + keys(n // 20)),
    "an unknown command with n arguments": ("string", lambda n: ["NOTHING"] + ["x"] * n),
}


def keys(n):
    return ["k%d" % i for i in range(n)]


def encode(words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Server:
    def __init__(self, path, port):
        self.port, self.dir = port, tempfile.mkdtemp()
        self.process = subprocess.Popen([path, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.dir,
                                         "--enable-debug-command", "yes", "--latency-tracking", "no", "--loglevel", "warning",
                                         "--busy-reply-threshold", "0"], stdout=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.link = Link(port)
                return
            except OSError:
                time.sleep(0.05)
        sys.exit("the server does not answer")

    def cpu(self):
        total = 0
        for path in glob.glob("/proc/%d/task/*/schedstat" % self.process.pid):
            try:
                with open(path) as file:
                    total += int(file.read().split()[0])
            except OSError:
                pass
        return total / 1e9

    # Returns the CPU seconds once the server is idle: another thread may still free values.
    def settled(self):
        before = self.cpu()
        while True:
            time.sleep(0.01)
            now = self.cpu()
            if now - before < 0.002:
                return now
            before = now

    # Returns the CPU seconds of a request on a connection of its own, and the start of its reply.
    def cost(self, words):
        link = Link(self.port)
        request = encode(words)
        before = self.settled()
        reply = link.run(request)
        after = self.settled()
        link.close()
        return after - before, reply


class Link:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=300)
        self.number = 0
        self.run(encode(["HELLO", "3"]))

    # Returns the first bytes of the reply, after all of it has come.
    def run(self, request):
        self.number += 1
        mark = b"$8\r\nend%05d\r\n" % self.number
        self.socket.sendall(request + encode(["ECHO", mark[4:12]]))
        head, tail = b"", b""
        while not tail.endswith(mark):
            data = self.socket.recv(1 << 20)
            if not data:
                raise ConnectionError(head[:200])
            head = head if len(head) >= 200 else head + data[:200]
            tail = (tail + data)[-64:]
        return head[:100]

    def __call__(self, *words):
        return self.run(encode(words))

    def close(self):
        self.socket.close()


# ---- Requests from COMMAND DOCS -----------------------------------------------------------------------------------------

class Args:
    """One request: the argument `focus` (its path) is repeated n times, all others that are needed stand once."""

    def __init__(self, focus, n, key_of):
        self.focus, self.n, self.key_of, self.number = focus, n, key_of, 0

    def word(self, arg):
        self.number += 1
        if arg["type"] == "key":
            return self.key_of(self.number)
        value = VALUES.get(arg["name"], "1" if arg["type"] in ("integer", "double", "unix-time") else "m#")
        return value.replace("#", str(self.number))

    def once(self, arg, path):
        token = [arg["token"]] if arg.get("token") else []
        if arg["type"] == "pure-token":
            return token
        if arg["type"] == "oneof":
            chosen = [a for a in arg["arguments"] if self.focus[:len(path) + 1] == path + (a["name"],)] or arg["arguments"][:1]
            return token + self.several(chosen, path)
        if arg["type"] == "block":
            return token + self.several(arg["arguments"], path)
        return token + [self.word(arg)]

    def several(self, args, path=()):
        out = []
        together = [a for a in args if "multiple" in a.get("flags", []) and "optional" not in a.get("flags", [])]
        for arg in args:
            here = path + (arg["name"],)
            flags = arg.get("flags", [])
            times = 1
            if here == self.focus or (len(together) > 1 and arg in together and path + (together[0]["name"],) == self.focus):
                times = self.n
            elif "optional" in flags and self.focus[:len(here)] != here:
                continue
            if times == 1:
                out += self.once(arg, here)
            elif "multiple_token" in flags or "multiple" not in flags or arg["type"] == "oneof":
                for _ in range(times):
                    out += self.once(arg, here)
            else:
                out += [arg["token"]] if arg.get("token") else []
                plain = dict(arg, token=None)
                for _ in range(times):
                    out += self.once(plain, here)
        repeated = any(path + (a["name"],) == self.focus for a in args)
        return [str(self.n if repeated else 1) if word == "N" else word for word in out]


def paths(args, path=()):
    for arg in args:
        here = path + (arg["name"],)
        flags = arg.get("flags", [])
        if "multiple" in flags or "optional" in flags:
            yield here, arg
        yield from paths(arg.get("arguments", []), here)


def docs_of(path, port):
    cli = os.path.join(os.path.dirname(path), "valkey-cli")
    return json.loads(subprocess.check_output([cli, "-p", str(port), "-3", "--json", "COMMAND", "DOCS"]))


# Returns the commands that do not change the dataset.
def readers(options):
    cli = os.path.join(os.path.dirname(options.server), "valkey-cli")
    table = json.loads(subprocess.check_output([cli, "-p", str(options.port), "-3", "--json", "COMMAND"]))
    return {command[0] for command in table if "readonly" in command[2]}


def commands_of(docs, prefix=()):
    for name, doc in sorted(docs.items()):
        words = name.split("|")
        if name in LEFT_OUT or words[0] in LEFT_OUT:
            continue
        if "subcommands" in doc:
            yield from commands_of(doc["subcommands"])
        else:
            yield words, doc


def argument_cases(docs):
    for words, doc in commands_of(docs):
        kind = EMBEDDED.get(doc["group"], "string")
        for focus, arg in paths(doc.get("arguments", [])):
            has_keys = arg["type"] == "key" or any(a["type"] == "key" for a in arg.get("arguments", []))
            orders = ("missing", "same", "falling", "mixed") if has_keys and "multiple" in arg.get("flags", []) else ("same",)
            for order in orders:
                def request(n, words=words, doc=doc, focus=focus, order=order):
                    ways = {"missing": lambda i: "no%d" % i, "same": lambda i: "k0"}
                    key_of = ways.get(order, lambda i: "k%d" % (i - 1))
                    return [w.upper() for w in words] + Args(focus, n, key_of).several(doc.get("arguments", []))
                name = "%s, %s repeated%s" % (" ".join(words).upper(), ".".join(focus), ", keys " + order if has_keys else "")
                yield name, kind, order, request


# ---- Runs ---------------------------------------------------------------------------------------------------------------

class Sweep:
    def __init__(self, options):
        self.options = options
        self.server = Server(options.server, options.port)
        self.rows, self.bad = [], []
        self.reads = readers(options)
        self.loaded = None

    # Runs a case at n and at FACTOR * n, and takes the smallest of several runs. `prepare` and `request` take n.
    def case(self, name, n, prepare, request):
        if self.options.only and self.options.only.lower() not in name.lower():
            return
        small = large = None
        for _ in range(RUNS):
            costs = []
            for size in (n, FACTOR * n):
                prepare(size)
                words = request(size)
                costs.append(self.server.cost(words))
                if str(words[0]).lower() not in self.reads:
                    self.loaded = None
            small = min(small or 1e9, costs[0][0])
            large = min(large or 1e9, costs[1][0])
            if large < LIMIT_SECONDS or large < LIMIT_RATIO * small:
                break
        grows = large >= LIMIT_SECONDS and large >= LIMIT_RATIO * small
        bad = grows and name not in LOOKED_THROUGH
        ratio = large / small if small > 0.0005 else 0
        row = "%-6s %9.1f ms %9.1f ms  %5.1f  %s  %s" % ("GROWS" if bad else "known" if grows else "ok", small * 1e3, large * 1e3, ratio, name,
                                                       costs[1][1][:60])
        self.rows.append((large, row))
        if bad:
            self.bad.append(row)
        if bad or self.options.verbose:
            print(row, flush=True)

    # Builds values for a request of n arguments: FACTOR * most of them for any n, so that reads leave the rest in
    # place.
    def many(self, kind, order, most):
        def prepare(n):
            link = self.server.link
            wanted = (kind, order, n if kind.startswith("large ") else 0)
            if self.loaded == wanted:
                return
            self.loaded = wanted
            link("FLUSHALL", "SYNC")
            link("CLIENT", "TRACKING", "OFF")
            link("ACL", "DELUSER", "u")
            if kind.startswith("large "):
                link("EVAL", BUILD_LARGE, 0, n, kind[6:], "v")
                link("EVAL", BUILD_MANY, 0, n, {"stream read": "stream"}.get(kind[6:], kind[6:]), order)
            elif order != "missing":
                link("EVAL", BUILD_MANY, 0, 1 if order == "same" else FACTOR * most, kind, order)
        return prepare

    def arguments(self):
        docs = docs_of(self.options.server, self.options.port)
        cases = list(argument_cases(docs))
        random.Random(self.options.seed).shuffle(cases)
        cases.sort(key=lambda case: (case[1], case[2]))
        n = 5000 if self.options.quick else 25000
        for name, kind, order, request in cases:
            self.case(name, n, self.many(kind, order, n), request)
        for name, (kind, request) in MORE.items():
            for order in ("falling", "mixed"):
                self.case(name + ", " + order, n, self.many(kind, order, n), request)

    def values(self, compact):
        link = self.server.link
        for setting in COMPACT if compact else ():
            link("CONFIG", "SET", setting, 1000000000)
        if compact:
            link("CONFIG", "SET", "list-max-listpack-size", 1000000000)
        n = 5000 if compact else 50000 if self.options.quick else 250000
        for kind, text in VALUE_REQUESTS.items():
            for variant in KINDS[kind]:
                built = set()
                self.server.link("FLUSHALL", "SYNC")
                for line in (text + "|" + ANY_TYPE).replace("\n", "|").split("|"):
                    def prepare(size, variant=variant, built=built):
                        source = "source%d" % size
                        if size not in built:
                            link("EVAL", BUILD_LARGE, 0, size, variant, source)
                            built.add(size)
                        link("DEL", "w")
                        link("COPY", source, "v", "REPLACE")

                    def request(size, line=line):
                        words = line.replace("#M", str(size // 2)).replace("#N", str(size)).split()
                        return ["SET", "x", "x"] if not words else words
                    self.case("%s%s: %s" % ("compact " if compact else "", variant, line), n, prepare, request)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default=os.path.join(here, "../../src/valkey-server"))
    parser.add_argument("--port", type=int, default=21990)
    parser.add_argument("--only", default="")
    parser.add_argument("--seed", type=int, default=random.randrange(1000000))
    parser.add_argument("--report", default="")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sweep = Sweep(options)
    try:
        sweep.arguments()
        sweep.values(False)
        sweep.values(True)
    finally:
        sweep.server.process.terminate()
        sweep.server.process.wait()
    sweep.rows.sort(reverse=True)
    if options.report:
        with open(options.report, "w") as file:
            file.write("seed %d, %d cases\n" % (options.seed, len(sweep.rows)))
            file.writelines(row + "\n" for _, row in sweep.rows)
    print("growth: seed %d, %d cases, %d grow faster than n log n" % (options.seed, len(sweep.rows), len(sweep.bad)))
    sys.exit(1 if sweep.bad else 0)


if __name__ == "__main__":
    main()
