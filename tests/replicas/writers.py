"""writers.py -- clients that change all data of a primary, while it has replicas.

Mixed     random commands on all types (tests/differential/types), alone, in pipelines and in transactions
Brief     keys and fields that expire within milliseconds or seconds
Programs  scripts and functions that write randomly and by the clock; libraries that are loaded and deleted
Queues    clients blocked on lists, sorted sets and streams, and clients that serve them
Large     values of megabytes, and of thousands of elements

Each is a thread with a connection to the present primary, in random databases. Commands may fail; the number of
failures is reported, because a load that only fails tests nothing. hold() pauses the writers, without an outstanding
command.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import glob
import importlib.util
import os
import random
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
DIFFERENTIAL = os.path.join(os.path.dirname(HERE), "differential")
sys.path.insert(0, DIFFERENTIAL)
sys.dont_write_bytecode = True

from arguments import EDGE_NUMBERS, FLOATS, MAKERS, ODD_NUMBERS, Random, Sequence  # noqa: E402
from wire import Connection  # noqa: E402

DATABASES = 6
# Commands that delete or exchange all data are rare; those that stop a server or change its settings are not used.
RARE = {"flushall": 0.002, "flushdb": 0.01, "swapdb": 0.1, "select": 0.3}
# Commands that make values as long as an offset.
FAR = {"setrange", "setbit", "bitfield"}
# Real Valkeys do not accept these from Redis 7.0: there RESTORE accepts payloads, and sorted sets and SORT accept
# numbers, that are rejected later.
NOT_PLAIN = {"restore"}
NUMBERS_PLAIN = ("z", "geo")
ODD_WORDS = set(ODD_NUMBERS + FLOATS + EDGE_NUMBERS) - {str(n) for n in range(-10, 200)}
# In other servers elements that compare equal have an arbitrary order, and the minimum integer saturates at the maximum
# (BITFIELD) or is an ordinary count (LREM of Redis 7).
TIES = {"BY", "ALPHA", "STORE"}
LEAST = str(-2 ** 63)
WITH_LEAST = {"bitfield", "lrem"}
NEVER = {"debug", "config", "client", "hello", "reset", "auth", "nosuch"}


def load_tables():
    modules = []
    for path in sorted(glob.glob(os.path.join(DIFFERENTIAL, "types", "*.py"))):
        name = os.path.basename(path)[:-3]
        if name == "server":
            continue
        spec = importlib.util.spec_from_file_location("replicas_types_" + name, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        modules.append(module)
    return modules


MODULES = load_tables()


def sorts_by_text(words):
    """Returns whether ALPHA is an option of a SORT, and not the argument of one."""
    at, words = 1, [str(word).upper() for word in words]
    while at < len(words):
        if words[at] == "ALPHA":
            return True
        at += {"BY": 2, "GET": 2, "STORE": 2, "LIMIT": 3}.get(words[at], 1)
    return False


def to_bytes(words):
    return [word if isinstance(word, bytes) else str(word).encode("latin-1") for word in words]


class Wide(Random):
    """Uses more keys than a round of tests/differential, so that there is something to synchronize."""

    def key(self, kind=None):
        name = super().key(kind)
        return name if self.chance(0.6) else "%s.%d" % (name, self.r.randrange(60))


class Writer(threading.Thread):
    """Base: draws pipelines (draw()) and sends them, until it is stopped."""

    pause_s = 0.002

    def __init__(self, load, number):
        super().__init__(daemon=True)
        self.load = load
        self.r = random.Random("%s/%s/%d" % (load.seed, type(self).__name__, number))
        self.number = number
        self.link = self.port = None

    def run(self):
        while not self.load.ends:
            if not self.load.may_go.wait(0.2):
                continue
            with self.load.counted():
                # hold() may have been called in between.
                if self.load.may_go.is_set():
                    self.turn()
            time.sleep(self.pause_s * self.load.slowness)

    def turn(self):
        try:
            port = self.load.primary()
            if self.link is None or port != self.port:
                self.drop()
                self.link, self.port = Connection(port), port
                self.link.sock.settimeout(20)
                self.link.ask([b"SELECT", b"%d" % self.r.randrange(DATABASES)])
            commands = [to_bytes(words) for words in self.draw()]
            self.link.send(commands)
            for command in commands:
                raw, value = self.link.reply()
                self.load.note(command, raw, value)
        except (OSError, ConnectionError, ValueError):
            self.drop()
            time.sleep(0.02)

    def drop(self):
        if self.link:
            self.link.close()
        self.link = None


class Mixed(Writer):
    def __init__(self, load, number):
        super().__init__(load, number)
        self.g = Wide("%s/%d" % (load.seed, number))
        self.g.known = load.known
        self.parts = []
        for module in MODULES:
            rows = []
            for name, row in module.commands(self.g).items():
                weight, thunk = row if isinstance(row, tuple) else (1, row)
                if name in load.known and name not in NEVER:
                    rows.append((weight, name, thunk))
            if rows:
                self.parts.append(rows)
        self.makes = [maker for maker in MAKERS if maker[0].lower() in load.known]

    def one(self):
        """Returns a command, or commands that belong together."""
        while True:
            rows = self.r.choice(self.parts)
            _, name, thunk = self.r.choices(rows, [row[0] for row in rows])[0]
            if name in RARE and self.r.random() > RARE[name]:
                continue
            words = thunk()
            # The pauses for keys that expire in a millisecond are only for tests that compare replies.
            commands = [[str(command[0]).lower()] + command[1:] for command in words] \
                if isinstance(words, Sequence) else [[name] + words]
            commands = [command for command in commands if command[0] in self.load.known and command[0] not in NEVER]
            if commands and all(self.is_fit(command[0], command[1:]) for command in commands):
                return commands

    def is_fit(self, name, words):
        if name in FAR and any(len(str(word)) > 7 and str(word).lstrip("#").isdigit() for word in words):
            return False
        return (not self.load.plain or self.is_plain(name, words)) and \
            (not self.load.foreign or self.is_settled(name, words))

    @staticmethod
    def is_settled(name, words):
        """Returns whether every server gives the same result."""
        if name == "sort":
            return not TIES <= {str(word).upper() for word in words}
        return name not in WITH_LEAST or LEAST not in words

    @staticmethod
    def is_plain(name, words):
        if name == "sort":
            return sorts_by_text(words)
        if name in NOT_PLAIN:
            return False
        return not name.startswith(NUMBERS_PLAIN) or not any(str(word).lstrip("(") in ODD_WORDS for word in words)

    def draw(self):
        way = self.r.random()
        if way < 0.02:
            return self.makes
        if way < 0.2:
            watch = [["WATCH", self.g.key()]] if self.r.random() < 0.3 else []
            inner = [command for _ in range(self.r.randrange(1, 6)) for command in self.one()]
            return watch + [["MULTI"]] + inner + [[self.r.choice(["EXEC", "EXEC", "EXEC", "EXEC", "DISCARD"])]]
        out = [command for _ in range(self.r.choice([1, 1, 3, 10, 30])) for command in self.one()]
        if self.r.random() < 0.1:
            out.append(["PEXPIRE", self.g.key(self.r.choice(["string", "hash", "list", "set", "zset", "stream"])),
                        self.r.choice([1, 50, 1000, 5000])])
        return out


class Brief(Writer):
    pause_s = 0.005

    def draw(self):
        r, known = self.r, self.load.known
        key = "brief:%d" % r.randrange(300)
        life = r.choice([1, 3, 20, 200, 1500, 20000])
        field = lambda: "f%d" % r.randrange(30)
        ways = [
            [["SET", key, r.random(), "PX", life]],
            [["SET", key, r.random()], ["PEXPIRE", key, life, r.choice(["NX", "GT", "XX", "LT"])]],
            [["RPUSH", key, *range(r.randrange(1, 9))], ["PEXPIREAT", key, int(time.time() * 1000) + life]],
            [["HSET", key, field(), r.random(), field(), 1], ["PEXPIRE", key, life]],
            [["GETEX", key, r.choice(["PERSIST", "EX"])] + (["9"] if r.random() < 0.2 else [])],
            [["PERSIST", key]], [["DEL", key]], [["GET", key]], [["HGETALL", key]], [["INCR", key]],
            [["PEXPIRE", key, -1]], [["SET", key, "kept", "KEEPTTL"]], [["RENAME", key, key + "!"]],
            [["SETEX", key, 1, "second"]], [["COPY", key, key + "?", "REPLACE"]],
        ]
        if "hpexpire" in known:
            hash_key = "fields:%d" % r.randrange(60)
            some = [field() for _ in range(r.randrange(1, 6))]
            block = ["FIELDS", len(some), *some]
            ways += 2 * [
                [["HSET", hash_key, *[word for name in some for word in (name, r.random())]],
                 ["HPEXPIRE", hash_key, life, *block]],
                [["HPEXPIRE", hash_key, life, r.choice(["NX", "XX", "GT", "LT"]), *block]],
                [["HSETEX", hash_key, "PX", life, "FIELDS", 1, field(), "v"]],
                [["HGETEX", hash_key, r.choice(["PERSIST", "EX"])] + (["1"] if r.random() < 0.3 else []) + block],
                [["HPERSIST", hash_key, *block]], [["HSET", hash_key, field(), "again"]],
                [["HGETALL", hash_key]], [["HINCRBYFLOAT", hash_key, "n", r.random()]], [["HDEL", hash_key, field()]],
                [["COPY", hash_key, "fields:%d" % r.randrange(60), "REPLACE"]],
            ]
        return r.choice(ways)


SCRIPTS = [
    "for i = 1, tonumber(ARGV[1]) do redis.call('rpush', KEYS[1], i, redis.call('time')[2]) end return 1",
    "redis.call('sadd', KEYS[2], ARGV[1], ARGV[2]) return redis.call('spop', KEYS[2], 2)",
    "redis.call('set', KEYS[3], math.random()) redis.call('pexpire', KEYS[3], ARGV[1]) redis.call('incr', KEYS[4])",
    "local k = redis.call('randomkey') if k then redis.call('set', KEYS[3], k) end return k",
    "redis.call('select', ARGV[1] % 6) redis.call('append', KEYS[3], ARGV[2]) return 1",
    "redis.pcall('lpush', KEYS[3], 1) redis.call('hset', KEYS[5], ARGV[1], ARGV[2]) return redis.error_reply('late')",
    "redis.call('hincrbyfloat', KEYS[5], 'sum', ARGV[1] / 7) redis.call('xadd', KEYS[6], '*', 'n', ARGV[1]) return 1",
    "redis.call('set', KEYS[3], 'x', 'ex', 100) redis.call('del', KEYS[3]) redis.call('nosuch')",
    "redis.call('lmove', KEYS[1], KEYS[7], 'left', 'right') redis.call('ltrim', KEYS[7], -50, -1) return 1",
]
LIBRARY = """#!lua name=%s
redis.register_function('%s_write', function(keys, args)
  redis.call('hset', keys[1], 'by', '%s', 'n', redis.call('time')[2])
  redis.call('zincrby', keys[2], args[1], args[2])
  return redis.call('spop', keys[3])
end)
redis.register_function{function_name='%s_read', callback=function(keys) return redis.call('exists', keys[1]) end,
  flags={'no-writes'}, description='version %d'}
"""


class Programs(Writer):
    pause_s = 0.01

    def __init__(self, load, number):
        super().__init__(load, number)
        self.payload = None

    def draw(self):
        r = self.r
        keys = ["prog:%s:%d" % (kind, r.randrange(20)) for kind in ("list", "set", "s", "n", "h", "x", "list2")]
        if self.payload is None or r.random() < 0.02:
            self.payload = self.link.ask([b"FUNCTION", b"DUMP"])[1]
        library = "lib%d" % r.randrange(4)
        way = r.random()
        if way < 0.55:
            return [["EVAL", r.choice(SCRIPTS), len(keys), *keys, r.randrange(1, 40), r.choice(["a", "b", "c"])]
                    for _ in range(r.choice([1, 1, 5]))]
        if way < 0.65:
            return [["MULTI"], ["EVAL", r.choice(SCRIPTS), len(keys), *keys, r.randrange(1, 5), "t"], ["INCR", keys[3]],
                    ["EXEC"]]
        if way < 0.88:
            return [["FCALL", library + "_write", 3, keys[4], "prog:z:%d" % r.randrange(9), keys[1], r.randrange(9),
                     "m%d" % r.randrange(30)]]
        if way < 0.96:
            return [["FUNCTION", "LOAD", "REPLACE", LIBRARY % (library, library, library, library, r.randrange(99))]]
        if way < 0.98:
            return [["FUNCTION", "DELETE", library]]
        if way < 0.995:
            return [["FUNCTION", "RESTORE", self.payload, r.choice(["REPLACE", "APPEND", "FLUSH"])]]
        return [["FUNCTION", "FLUSH"]]


class Waiting(Writer):
    """Blocks on keys, and is served."""

    def draw(self):
        r = self.r
        key, second = "queue:%d" % r.randrange(4), "queue:%d" % r.randrange(4)
        rank, stream = "ranks:%d" % r.randrange(3), "stream:queue:%d" % r.randrange(2)
        end = r.choice(["0.05", "0.2"])
        ways = [
            ["BLPOP", key, second, end], ["BRPOP", key, end], ["BLMOVE", key, second, "LEFT", "RIGHT", end],
            ["BRPOPLPUSH", key, "done", end], ["BLMPOP", end, 2, key, second, "LEFT", "COUNT", 3],
            ["BZPOPMIN", rank, end], ["BZPOPMAX", rank, end], ["BZMPOP", end, 1, rank, "MAX", "COUNT", 2],
            ["XREADGROUP", "GROUP", "g", "c%d" % self.number, "COUNT", 5, "BLOCK", 100, "STREAMS", stream, ">"],
            ["XREADGROUP", "GROUP", "g", "c%d" % self.number, "NOACK", "BLOCK", 50, "STREAMS", stream, ">"],
            ["WAIT", 1, 30],
        ]
        return [["SELECT", 0], r.choice(ways)]


class Serving(Writer):
    pause_s = 0.004

    def draw(self):
        r = self.r
        key, rank = "queue:%d" % r.randrange(4), "ranks:%d" % r.randrange(3)
        stream = "stream:queue:%d" % r.randrange(2)
        self.count = getattr(self, "count", 0) + 1
        what = "%d.%d" % (self.number, self.count)
        ways = [
            [["RPUSH", key, what]], [["LPUSH", key, what, what + "+"]], [["ZADD", rank, r.randrange(9), what]],
            [["MULTI"], ["RPUSH", key, what], ["ZADD", rank, 1, what], ["EXEC"]],
            [["XADD", stream, "MAXLEN", "~", 300, "*", "what", what]],
            [["XGROUP", "CREATE", stream, "g", "0", "MKSTREAM"]],
            [["XAUTOCLAIM", stream, "g", "taker", 20, "0", "COUNT", 3]],
            [["EVAL", "redis.call('rpush', KEYS[1], ARGV[1]) redis.call('zadd', KEYS[2], 2, ARGV[1])", 2, key, rank,
              what]],
            [["LTRIM", "done", 0, 20]], [["PUBLISH", "news", what]], [["DEL", key]],
        ]
        if r.random() < 0.005:
            ways = [[["DEL", stream]], [["XGROUP", "DESTROY", stream, "g"]]]
        return [["SELECT", 0]] + r.choice(ways)


class Large(Writer):
    pause_s = 0.15

    def draw(self):
        r = self.r
        key = "large:%d" % r.randrange(8)
        size = r.choice([20000, 300000, 2000000])
        count = r.choice([200, 3000])
        ways = [
            [["SET", key, r.choice([b"z", b"ab"]) * size]], [["SET", key, r.randbytes(size)]],
            [["APPEND", key, r.randbytes(20000)]], [["SETRANGE", key, r.randrange(3000000), "in the middle"]],
            [["DEL", key], ["RPUSH", key, *[r.random() for _ in range(count)]]],
            [["DEL", key], ["HSET", key, *[word for n in range(count) for word in ("f%d" % n, r.random())]]],
            [["DEL", key], ["SADD", key, *[r.randrange(10 ** 6) for _ in range(count)]]],
            [["DEL", key], ["ZADD", key, *[word for n in range(count) for word in (r.random(), n)]]],
            [["COPY", key, "large:%d" % r.randrange(8), "REPLACE"]], [["RENAME", key, "large:%d" % r.randrange(8)]],
            [["LPUSH", key, r.randbytes(100000), "small"]], [["SORT", key, "BY", "nosort", "STORE", "large:sorted"]],
            [["BITOP", "NOT", "large:bits", key]], [["UNLINK", key]], [["ZUNIONSTORE", "large:union", 1, key]],
            [["HSET", key, "one", r.randbytes(70000)]], [["MOVE", key, r.randrange(DATABASES)]],
        ]
        return r.choice(ways)


class Load:
    """All writers. primary() is the port to write to; known: commands that all servers have; kinds: the kinds of
    servers, so that only commands with the same result on each of them are used."""

    def __init__(self, seed, primary, known, kinds=("ours",), mixed=3):
        self.seed, self.primary, self.known = seed, primary, known
        self.plain = "redis" in kinds
        self.foreign = any(kind != "ours" for kind in kinds)
        self.ends = False
        self.slowness = 1
        self.may_go = threading.Event()
        self.busy = 0
        self.lock = threading.Condition()
        self.done = collections.Counter()
        self.refused = collections.Counter()
        kinds = [Mixed] * mixed + [Brief, Programs, Serving, Large] + [Waiting] * 3
        self.writers = [kind(self, number) for number, kind in enumerate(kinds)]

    def start(self):
        self.may_go.set()
        for writer in self.writers:
            writer.start()

    def counted(self):
        return self

    def __enter__(self):
        with self.lock:
            self.busy += 1

    def __exit__(self, *_):
        with self.lock:
            self.busy -= 1
            self.lock.notify_all()

    def hold(self):
        self.may_go.clear()
        with self.lock:
            self.lock.wait_for(lambda: self.busy == 0, 120)
            if self.busy:
                raise TimeoutError("writers that do not come to rest: no reply for two minutes")

    def resume(self):
        self.may_go.set()

    def stop(self):
        self.ends = True
        self.may_go.set()
        for writer in self.writers:
            writer.join(60)
            writer.drop()

    def note(self, command, raw, value):
        name = command[0].upper()
        if raw[:1] == b"-":
            self.refused[raw[1:40].split(b" ")[0]] += 1
        else:
            self.done[name] += 1

    def told(self):
        """Returns the numbers of commands and errors."""
        return "%d commands of %d kinds done, refused: %s" % (
            sum(self.done.values()), len(self.done),
            ", ".join("%s %d" % (name.decode("latin-1"), count) for name, count in self.refused.most_common(5)))
