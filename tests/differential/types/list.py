"""list.py -- generators of the list group.

SPDX-License-Identifier: BSD-3-Clause
"""

TYPE = "list"
SAME_DUMP = ("listpack", "quicklist")

SETTINGS = {
    "list-max-listpack-size": [-5, -1, 0, 1, 2, 4, 16, 1000],
    "list-compress-depth": [1, 2],
}


def read(key):
    return [[b"LRANGE", key, b"0", b"-1"], [b"LLEN", key]]


def commands(g):
    key = lambda: g.key("list")
    element = g.member
    # Sometimes elements whose size is at the limits of a node.
    value = lambda: g.member() if g.chance(0.97) else "z" * g.r.choice([4080, 4088, 4096, 4097, 8184, 8185, 8192, 8193])
    values = lambda: [value() for _ in range(g.many())]
    side = lambda: g.case(g.r.choice(["LEFT", "RIGHT"]) if g.chance(0.97) else "MIDDLE")
    # Beyond 32 bits LSET of 9.1 changes another element than the named one: a sequence is not damaged.
    index = lambda: str(g.r.randrange(-8, 30)) if g.chance(0.97) else g.r.choice(["", "x", "1.5", "+1", "01", " 1"])
    return {
        "lpush": (3, lambda: [key()] + values()),
        "rpush": (3, lambda: [key()] + values()),
        "lpushx": lambda: [key()] + values(),
        "rpushx": lambda: [key()] + values(),
        "lpop": lambda: [key()] + g.options([g.count]),
        "rpop": lambda: [key()] + g.options([g.count]),
        "llen": lambda: [key()],
        "lindex": lambda: [key(), g.small()],
        "lset": (2, lambda: g.sequence([g.case("LSET"), key(), index(), value()])),
        "linsert": (2, lambda: [key(), g.case(g.r.choice(["BEFORE", "AFTER"]) if g.chance(0.97) else "AT"), element(),
                                value()]),
        "lrange": lambda: [key(), g.small(), g.small()],
        "ltrim": lambda: [key(), g.small(), g.small()],
        "lrem": lambda: [key(), g.count(), element()],
        "lpos": lambda: [key(), element()] + g.options(
            [lambda: [g.case("RANK"), g.count()], lambda: [g.case("COUNT"), g.count()],
             lambda: [g.case("MAXLEN"), g.count()]]),
        "lmove": lambda: [key(), key(), side(), side()],
        "rpoplpush": lambda: [key(), key()],
        "lmpop": lambda: (lambda keys: [str(len(keys)) if g.chance(0.95) else g.count()] + keys + [side()] + g.options(
            [lambda: [g.case("COUNT"), g.count()]]))(g.some(key, 1, 3)),
    }
