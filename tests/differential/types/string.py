"""string.py -- generators of the string group.

SPDX-License-Identifier: BSD-3-Clause
"""

from arguments import FLOATS

TYPE = "string"
SAME_DUMP = ("int", "embstr", "raw")


def read(key):
    return [[b"GET", key]]


def commands(g):
    key = lambda: g.key("string")
    word = g.word
    return {
        "get": lambda: [key()],
        "set": (3, lambda: [key(), g.text()] + g.options(
            [word("NX"), word("XX"), word("GET"), lambda: [g.case("IFEQ"), g.text()], lambda: g.life(True)], 0.25)),
        "setnx": lambda: [key(), g.text()],
        "setex": lambda: [key(), g.seconds(), g.text()],
        "psetex": lambda: [key(), g.milliseconds(), g.text()],
        "getset": lambda: [key(), g.text()],
        "getdel": lambda: [key()],
        "getex": lambda: [key()] + g.options([lambda: g.life(False, True), lambda: g.life(True, True)], 0.35),
        "delifeq": lambda: [key(), g.text()],
        "mget": lambda: g.some(g.key, 1, 6),
        "mset": lambda: [w for _ in range(g.r.randrange(1, 5)) for w in (key(), g.text())],
        "msetnx": lambda: [w for _ in range(g.r.randrange(1, 4)) for w in (key(), g.text())],
        "msetex": lambda: (lambda n: [str(n) if g.chance(0.85) else g.number()] +
                           [w for _ in range(n) for w in (key(), g.text())] +
                           g.options([word("NX"), word("XX"), lambda: g.life(True)], 0.35))(g.r.randrange(1, 4)),
        "append": lambda: [key(), g.text()],
        "strlen": lambda: [key()],
        "setrange": lambda: [key(), g.small() if g.chance(0.95) else "536870912", g.text()],
        "getrange": lambda: [key(), g.small(), g.small()],
        "substr": lambda: [key(), g.small(), g.small()],
        "incr": lambda: [key()],
        "decr": lambda: [key()],
        "incrby": lambda: [key(), g.number()],
        "decrby": lambda: [key(), g.number()],
        "incrbyfloat": lambda: [key(), g.r.choice(FLOATS)],
        "lcs": lambda: [key(), key()] + g.options(
            [word("LEN"), word("IDX"), word("WITHMATCHLEN"), lambda: [g.case("MINMATCHLEN"), g.small()]], 0.35),
    }
