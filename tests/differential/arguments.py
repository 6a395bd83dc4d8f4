"""arguments.py -- random arguments, shared by all modules of tests/differential/types.

A Random is made from a seed, so that a round is reproducible. Its pools are small: keys, fields and members repeat, and
commands of one type get keys of another.

SPDX-License-Identifier: BSD-3-Clause
"""

import random
import time

EDGE_NUMBERS = ["0", "1", "-1", "2", "10", "-10", "100", "127", "128", "255", "256", "32767", "65535", "65536",
                "2147483647", "2147483648", "-2147483648", "4294967295", "4294967296", "9223372036854775807",
                "-9223372036854775808", "9223372036854775808", "18446744073709551615", "18446744073709551616"]
ODD_NUMBERS = ["", " 1", "1 ", "+1", "01", "-0", "0x10", "1e3", "1.5", "abc", "--1", "1-", "nan", "inf", "1\x00"]
FLOATS = ["0", "1", "-1", "1.5", "-2.25", "0.1", "3.0e3", "1e-5", "1e20", "123456789.123456", "5e-324", "inf", "-inf",
          "nan", "1.7976931348623157e308", "0.30000000000000004", "abc", " 1", "1 ", ""]

# The keys of a round: those of a type (a module's TYPE), and those of no type.
COMMON_KEYS = ["a", "b", "c", "d", "e", "key:1", "key:2", "", "x" * 40, "bin\x00\r\n\xff"]
TYPES = ["list", "hash", "set", "zset", "stream"]
TYPE_KEYS = {name: [name + ":1", name + ":2", name + ":3", name[0]] for name in TYPES}
# Commands that create a key of each type, for modules that run without the others.
MAKERS = [["SET", "a", "text"], ["RPUSH", "list:1", "a", "b", "1"], ["HSET", "hash:1", "a", "1", "b", "text"],
          ["SADD", "set:1", "1", "2", "3"], ["ZADD", "zset:1", "1", "a", "2", "b"], ["XADD", "stream:1", "1-1", "a", "1"]]


class Sequence(list):
    """Complete commands in succession, as Random.expired() and similar functions return them."""


class Random:
    """Draws of arguments; each returns one string, or a list of words."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        # The number of different members of a round: a few repeat often, many cross the thresholds of encodings.
        self.spread = self.r.choice([4, 12, 12, 40, 200])
        self.texts = [self.text() for _ in range(8)]
        # Commands that both servers have.
        self.known = set()

    def chance(self, p):
        return self.r.random() < p

    # ---- Keys, and what is in them ----

    def key(self, kind=None):
        """Returns a key; with KIND ("hash" ...) mostly one that commands of this type write, so that types rarely
        mix."""
        if kind == "string" or (kind is None and self.chance(0.5)):
            return self.r.choice(COMMON_KEYS)
        if kind is None or self.chance(0.06):
            return self.r.choice(TYPE_KEYS[self.r.choice(TYPES)] + COMMON_KEYS[:3])
        return self.r.choice(TYPE_KEYS[kind])

    def member(self):
        """Returns a field of a hash, a member of a set, an element of a list, from a pool, so that it repeats."""
        kind = self.r.random()
        if kind < 0.45:
            return "m%d" % self.r.randrange(self.spread)
        if kind < 0.85:
            return str(self.r.randrange(-2, self.spread))
        if kind < 0.97:
            return self.r.choice(self.texts)
        return self.text()

    def integer(self):
        """Returns a member that fits in an intset."""
        return str(self.r.randrange(-3, self.spread)) if self.chance(0.8) else self.r.choice(EDGE_NUMBERS)

    def score(self):
        kind = self.r.random()
        if kind < 0.7:
            return str(self.r.randrange(-5, 12))
        if kind < 0.85:
            return repr(self.r.uniform(-100, 100))
        return self.r.choice(FLOATS)

    def count(self):
        """Returns a count for LIMIT or COUNT: mostly small, also negative, huge and not a number."""
        kind = self.r.random()
        if kind < 0.75:
            return str(self.r.randrange(-6, 12))
        return self.r.choice(["100", "1000", "-100"]) if kind < 0.85 else self.number()

    def index(self):
        return self.small()

    def many(self, low=1, high=6):
        """Returns the number of members of one command: few, but sometimes more than a default threshold."""
        if self.chance(0.02):
            return self.r.choice([127, 128, 129, 130, 511, 512, 513, 600])
        return self.r.randrange(low, high + 1)

    # ---- Texts and numbers ----

    def text(self):
        kind = self.r.random()
        if kind < 0.35:
            return self.number()
        if kind < 0.45:
            return self.r.choice(FLOATS)
        if kind < 0.5:
            return ""
        if kind < 0.55:
            return "v" * self.r.choice([43, 44, 45, 63, 64, 65, 127, 128, 1000, 20000, 70000])
        return "".join(self.r.choice("abcd \r\n\x00\xff01") for _ in range(self.r.randrange(1, 20)))

    def number(self):
        kind = self.r.random()
        if kind < 0.5:
            return str(self.r.randrange(-20, 200))
        return self.r.choice(EDGE_NUMBERS if kind < 0.85 else ODD_NUMBERS)

    def small(self):
        return str(self.r.randrange(-5, 30)) if self.chance(0.9) else self.number()

    def pattern(self):
        return self.r.choice(["*", "a*", "key:?", "[ab]", "[^a]", "*:*", "nothing", "", "[", "\\*", "b*n*", "?", "m*",
                              "*1*", "m?", "[0-9]*"])

    def database(self):
        return str(self.r.randrange(0, 3)) if self.chance(0.85) else self.r.choice(["15", "16", "-1", "x", "99999"])

    # ---- Times ----

    def not_soon(self, draw):
        """Returns a result of DRAW that is no TTL which expires within the round."""
        text = draw()
        return "abc" if text.isdigit() and 0 < int(text) < 10 ** 5 else text

    def seconds(self):
        return str(self.r.randrange(1000, 100000)) if self.chance(0.8) else self.not_soon(self.number)

    def milliseconds(self):
        return str(self.r.randrange(10 ** 6, 10 ** 8)) if self.chance(0.8) else self.not_soon(self.number)

    def moment(self, unit):
        """Returns a time since 1970: seconds (UNIT 1) or milliseconds (1000); far in the future, past, or invalid."""
        if self.chance(0.75):
            return str(int(time.time() * unit) + self.r.randrange(1000, 10 ** 6) * unit)
        return self.r.choice(["1", "0", "-1", "abc", "9223372036854775807", "99999999999999"])

    def life(self, keepttl=False, persist=False):
        """Returns an expire option with its time."""
        unit = self.r.choice(["EX", "PX", "EXAT", "PXAT"] + ["KEEPTTL"] * keepttl + ["PERSIST"] * persist)
        if unit in ("KEEPTTL", "PERSIST"):
            return [self.case(unit)]
        if unit == "EX":
            return [self.case(unit), self.seconds()]
        if unit == "PX":
            return [self.case(unit), self.milliseconds()]
        return [self.case(unit), self.moment(1 if unit == "EXAT" else 1000)]

    def expired(self, *command):
        """Returns COMMAND, which sets a TTL of 1 ms, and a pause in which it expires on both servers."""
        return Sequence([list(command), ["DEBUG", "SLEEP", "0.004"]])

    def sequence(self, *commands):
        """Returns commands that belong together."""
        return Sequence([list(command) for command in commands])

    # ---- Shapes ----

    def case(self, word):
        kind = self.r.random()
        return word if kind < 0.6 else word.lower() if kind < 0.9 else word.title()

    def word(self, *words):
        """Returns a thunk for options(): one of WORDS."""
        return lambda: [self.case(self.r.choice(words))]

    def some(self, draw, low, high):
        return [draw() for _ in range(self.r.randrange(low, high + 1))]

    def pairs(self, first, second, low=1, high=5):
        return [word for _ in range(self.many(low, high)) for word in (first(), second())]

    def options(self, choices, p=0.5):
        """Returns some of CHOICES (thunks), shuffled."""
        taken = [choice() for choice in choices if self.chance(p)]
        self.r.shuffle(taken)
        return [word for option in taken for word in option]

    def form(self, *forms):
        """Returns a thunk that calls one of FORMS, which are thunks: subcommands, or forms of one command."""
        return lambda: self.r.choice(forms)()
