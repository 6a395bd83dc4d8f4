"""set.py -- generators of the set group.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

TYPE = "set"
# A listpack made from a table has the members in the table's order.
SAME_DUMP = ("intset",)

SETTINGS = {
    # Not small: one integer too many makes a table, but a word first makes a listpack, so the result of SUNIONSTORE on
    # a table depends on its order. tests/type/set.tcl has the small ones.
    "set-max-intset-entries": [100000],
    "set-max-listpack-entries": [0, 1, 3, 8, 100000],
    "set-max-listpack-value": [0, 1, 4, 100000],
}

REPLIES = {
    "smembers": ("order", rules.unordered),
    "sinter": ("order", rules.unordered),
    "sunion": ("order", rules.unordered),
    "sdiff": ("order", rules.unordered),
    "sscan": ("cursors and order", rules.Scanned()),
    "srandmember": ("chance", rules.Drawn(lambda key: [b"SMEMBERS", key])),
    "spop": ("chance", rules.Popped()),
}


def read(key):
    return [[b"SMEMBERS", key], [b"SCARD", key]]


def commands(g):
    key = lambda: g.key("set")
    # In some rounds sets have only integers, as an intset is rare otherwise.
    member = g.r.choice([g.member, g.member, g.integer])
    members = lambda: [member() for _ in range(g.many())]
    keys = lambda: g.some(key, 1, 4)
    # A count of minus a million would make a reply of a million members.
    bounded = lambda: g.count() if g.chance(0.9) else g.r.choice(["-9223372036854775808", "9223372036854775807", "x"])

    def count():
        text = bounded()
        return "-100" if text.startswith("-") and text[1:].isdigit() and 1000 < int(text[1:]) < 2 ** 63 else text

    def intercard():
        names = keys()
        limit = g.options([lambda: [g.case("LIMIT"), g.count()]], 0.4)
        return [str(len(names)) if g.chance(0.9) else g.small(), *names, *limit]

    return {
        "sadd": (5, lambda: [key()] + members()),
        "srem": (2, lambda: [key()] + members()),
        "sismember": lambda: [key(), member()],
        "smismember": lambda: [key()] + members(),
        "scard": lambda: [key()],
        "smembers": lambda: [key()],
        "smove": (2, lambda: [key(), key(), member()]),
        "spop": (2, lambda: [key()] + g.options([count])),
        "srandmember": lambda: [key()] + g.options([count]),
        "sinter": lambda: keys(),
        "sinterstore": (2, lambda: [key()] + keys()),
        "sintercard": intercard,
        "sunion": lambda: keys(),
        "sunionstore": lambda: [key()] + keys(),
        "sdiff": lambda: keys(),
        "sdiffstore": lambda: [key()] + keys(),
        "sscan": lambda: [key(), g.r.choice(["0", "0", "7", "x", "-1"])] + g.options(
            [lambda: [g.case("MATCH"), g.pattern()], lambda: [g.case("COUNT"), g.small()], g.word("NOVALUES", "NOPE")],
            0.3),
    }
