"""stream.py -- generators of the stream group.

IDs of entries come from a small growing range, so that commands find each other's entries; IDs of the clock are not
used, because they would differ between the servers.

SPDX-License-Identifier: BSD-3-Clause
"""

TYPE = "stream"

SETTINGS = {
    "stream-node-max-entries": [0, 1, 3, 5],
    # The peer aborts if a node has fewer bytes than an entry takes.
    "stream-node-max-bytes": [0, 300, 1000],
}

GROUPS = ["g1", "g2", "g3"]
CONSUMERS = ["alice", "bob", "carol", "dave"]
FIELDS = ["f", "g", "temperature", "17", "", "long-" + "x" * 70]
VALUES = ["v", "0", "127", "128", "-1", "-4097", "65536", "-9223372036854775808", "9223372036854775808", "007", "",
          "w" * 63, "w" * 64, "w" * 200]
BAD_IDS = ["x", "", "-", "+", "$", ">", "1-", "-1", "1-1-1", "1-x", "(1", "(", "(-", "1-*", "0-*", "0", "0-0",
           "18446744073709551615-18446744073709551615", "18446744073709551615", "18446744073709551616", " 1", "+1-+2",
           "0000000001-001", "(18446744073709551615-18446744073709551615", "(0-0", "1.5", "1-18446744073709551615"]
BAD_NUMBERS = ["-1", "x", "", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "0", "1.5"]
OLD_MS = "1000"  # time of delivery: idle for longer than any test runs
LONG_IDLE = "100000000000"
CLOCKS = (b"seen-time", b"active-time", b"idle", b"inactive")


def without_times(value, before=None):
    """Replaces times by a word; the absence of a time, or one long past, is exact."""
    if isinstance(value, list):
        return [without_times(part, value[i - 1] if i else None) for i, part in enumerate(value)]
    if isinstance(value, bytes) and value[:1] == b":" and value != b":-1":
        if before in CLOCKS or int(value[1:]) > 10 ** 12:
            return "time"
    return value


def timed(raw, value):
    return (raw[:1], without_times(value)) if isinstance(value, list) else raw


def idle(raw, value):
    """Compares rows of ID, consumer, idle time, deliveries; or a summary."""
    if not isinstance(value, list):
        return raw
    return [row[:2] + [int(row[2][1:]) > 10 ** 11] + row[3:] if isinstance(row, list) and len(row) == 4 else row
            for row in value]


REPLIES = {
    "xinfo|stream": ("times of deliveries and of consumers", timed),
    "xinfo|consumers": ("times of consumers", timed),
    "xinfo|help": ("prose", lambda raw, value: raw[:1]),
    "xgroup|help": ("prose", lambda raw, value: raw[:1]),
    "xpending": ("idle times", idle),
}


def read(key):
    return [[b"XRANGE", key, b"-", b"+"], [b"XREVRANGE", key, b"+", b"-"],
            [b"XINFO", b"STREAM", key, b"FULL", b"COUNT", b"0"],
            [b"XINFO", b"GROUPS", key]]


class Words:
    """Draws words that follow the names of commands."""

    def __init__(self, g):
        self.g = g
        self.rng = g.r
        self.top = 1

    def key(self):
        return self.g.key("stream")

    def group(self):
        return self.rng.choice(GROUPS)

    def consumer(self):
        return self.rng.choice(CONSUMERS)

    def number(self, top=20):
        if self.rng.random() < 0.05:
            return self.rng.choice(BAD_NUMBERS)
        return str(self.rng.randrange(top))

    def id(self):
        r = self.rng.random()
        if r < 0.03:
            return self.rng.choice(BAD_IDS)
        ms = self.rng.randrange(self.top + 3)
        if r < 0.6:
            return "%d-%d" % (ms, self.rng.randrange(4))
        return str(ms)

    def bound(self):
        r = self.rng.random()
        if r < 0.3:
            return self.rng.choice("-+")
        return ("(" if r > 0.85 else "") + self.id()

    def ids(self, most=6):
        n = 60 if self.rng.random() < 0.02 else self.rng.randrange(1, most)
        return [self.id() for _ in range(n)]

    def new_id(self):
        r = self.rng.random()
        if r < 0.05:
            return self.id()
        if self.rng.random() < 0.5:
            self.top += self.rng.choice([0, 1, 1, 2, 3])
        if r < 0.4:
            return "%d-*" % self.top
        return "%d-%d" % (self.top, self.rng.randrange(5))

    def pairs(self):
        n = self.rng.choice([1, 1, 1, 2, 2, 3, 5])
        if self.rng.random() < 0.005:
            n = 200
        if self.rng.random() < 0.6:
            fields = ["a", "b", "c", "d", "e"][:n] if n <= 5 else ["f%d" % i for i in range(n)]
        else:
            fields = [self.rng.choice(FIELDS) for _ in range(n)]
        out = []
        for f in fields:
            out += [f, self.rng.choice(VALUES)]
        if self.rng.random() < 0.01:
            out.pop()
        return out

    def trim(self):
        out = [self.rng.choice(["MAXLEN", "MAXLEN", "MINID"])]
        if self.rng.random() < 0.6:
            out.append(self.rng.choice("~="))
        out.append(self.number(60) if out[0] == "MAXLEN" else self.id())
        if self.rng.random() < 0.3:
            out += ["LIMIT", self.number(30)]
        if self.rng.random() < 0.02:
            out += [self.rng.choice(["MAXLEN", "LIMIT", "NOMKSTREAM", "FOO"])]
        return out

    def xadd(self):
        out = [self.key()]
        if self.rng.random() < 0.1:
            out.append("NOMKSTREAM")
        if self.rng.random() < 0.15:
            out += self.trim()
        return out + [self.new_id()] + self.pairs()

    def xtrim(self):
        return [self.key()] + self.trim()

    def xrange(self, whole):
        bounds = [self.bound(), self.bound()]
        if self.rng.random() < 0.4:
            bounds = whole
        out = [self.key()] + bounds
        if self.rng.random() < 0.4:
            out += ["COUNT", self.number()]
        return out

    def xdel(self):
        return [self.key()] + self.ids()

    def xsetid(self):
        out = [self.key(), self.new_id()]
        if self.rng.random() < 0.4:
            out += ["ENTRIESADDED", self.number(400)]
        if self.rng.random() < 0.4:
            out += ["MAXDELETEDID", self.id()]
        return out

    def xread(self):
        out = []
        if self.rng.random() < 0.5:
            out += ["COUNT", self.number()]
        if self.rng.random() < 0.02:
            out += [self.rng.choice(["NOACK", "FOO", "COUNT"])]
        n = self.rng.choice([1, 1, 2, 3])
        out += ["STREAMS"] + [self.key() for _ in range(n)]
        out += [self.rng.choice(["$", "+", "+", self.id(), self.id(), self.id()]) for _ in range(n)]
        if self.rng.random() < 0.02:
            out.append("0")
        return out

    def xreadgroup(self):
        out = ["GROUP", self.group(), self.consumer()]
        if self.rng.random() < 0.7:
            out += ["COUNT", self.number(8)]
        if self.rng.random() < 0.1:
            out.append("NOACK")
        n = self.rng.choice([1, 1, 1, 2])
        out += ["STREAMS"] + [self.key() for _ in range(n)]
        out += [self.rng.choice([">", ">", ">", self.id(), "0"]) for _ in range(n)]
        return out

    def xack(self):
        return [self.key(), self.group()] + self.ids()

    def xgroup(self):
        r = self.rng.random()
        key, group = self.key(), self.group()
        if r < 0.4:
            out = ["CREATE", key, group, self.rng.choice(["$", "0", self.id()])]
            if self.rng.random() < 0.5:
                out.append("MKSTREAM")
            if self.rng.random() < 0.3:
                out += ["ENTRIESREAD", self.number(60)]
            return out
        if r < 0.6:
            out = ["SETID", key, group, self.rng.choice(["$", "0", "-", "+", self.id(), self.id()])]
            if self.rng.random() < 0.3:
                out += ["ENTRIESREAD", self.number(60)]
            return out
        if r < 0.7:
            return ["DESTROY", key, group]
        if r < 0.85:
            return ["CREATECONSUMER", key, group, self.consumer()]
        return ["DELCONSUMER", key, group, self.consumer()]

    def xpending(self):
        out = [self.key(), self.group()]
        r = self.rng.random()
        if r < 0.3:
            return out
        if r < 0.6:
            out += ["IDLE", self.rng.choice(["0", LONG_IDLE, self.number()]) if r < 0.5 else LONG_IDLE]
        out += [self.bound(), self.bound(), self.number()] if r < 0.7 else ["-", "+", self.number()]
        if self.rng.random() < 0.5:
            out.append(self.consumer())
        return out

    def min_idle(self):
        if self.rng.random() < 0.03:
            return self.rng.choice(BAD_NUMBERS)
        return self.rng.choice(["0", "0", LONG_IDLE])

    def xclaim(self):
        out = [self.key(), self.group(), self.consumer(), self.min_idle()] + self.ids(8)
        if self.rng.random() < 0.4:
            out += ["TIME", OLD_MS]
        if self.rng.random() < 0.3:
            out.append("FORCE")
        if self.rng.random() < 0.3:
            out.append("JUSTID")
        if self.rng.random() < 0.2:
            out += ["RETRYCOUNT", self.number()]
        if self.rng.random() < 0.1:
            out += ["LASTID", self.id()]
        if self.rng.random() < 0.05:
            out += ["IDLE", self.number()]
        if self.rng.random() < 0.02:
            out.append(self.rng.choice(["FOO", "IDLE", "TIME", "LASTID", "RETRYCOUNT"]))
        return out

    def xautoclaim(self):
        out = [self.key(), self.group(), self.consumer(), self.min_idle(),
               self.rng.choice(["-", "0", self.bound()])]
        if self.rng.random() < 0.6:
            out += ["COUNT", self.number(8)]
        if self.rng.random() < 0.3:
            out.append("JUSTID")
        return out

    def xinfo(self):
        r = self.rng.random()
        if r < 0.3:
            return ["STREAM", self.key()]
        if r < 0.6:
            return ["STREAM", self.key(), "FULL"] + (["COUNT", self.number(8)] if r < 0.5 else [])
        if r < 0.8:
            return ["GROUPS", self.key()]
        return ["CONSUMERS", self.key(), self.group()]


def commands(g):
    words = Words(g)
    return {
        "xadd": (20, words.xadd),
        "xtrim": (2, words.xtrim),
        "xlen": lambda: [words.key()],
        "xrange": (2, lambda: words.xrange(["-", "+"])),
        "xrevrange": (2, lambda: words.xrange(["+", "-"])),
        "xdel": (3, words.xdel),
        "xsetid": (0.5, words.xsetid),
        "xread": (3, words.xread),
        "xreadgroup": (7, words.xreadgroup),
        "xack": (3, words.xack),
        "xgroup": (3, words.xgroup),
        "xpending": (3, words.xpending),
        "xclaim": (4, words.xclaim),
        "xautoclaim": (2, words.xautoclaim),
        "xinfo": (3, words.xinfo),
    }
