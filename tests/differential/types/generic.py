"""generic.py -- generators of the generic group: commands on keys of any type, and on whole databases.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

# Invalid dumps: empty, only a footer, version 9999, a wrong checksum.
BAD_DUMPS = ["", "\x00", "\x00\x03abc", "\x00\x03abc\x0b\x00" + "\x00" * 8, "\xff" * 12, "\x00\x01a\x0f\x27" + "\x00" * 8]

REPLIES = {
    "scan": ("cursors and order", rules.Scanned(at=1)),
    "keys": ("order", rules.unordered),
    "randomkey": ("chance", rules.Met()),
    "object|freq": ("chance", rules.kind_or_error),
    "object|idletime": ("time", rules.kind_or_error),
    "object|help": ("prose; server_compare.py compares the names", rules.kind),
    # contents.py compares dumps, and restores each on the other server.
    "dump": ("the layout leaves choices", rules.kind_or_error),
    "pttl": ("time", rules.time_left),
    "ttl": ("time", rules.time_left),
    "pexpiretime": ("time", rules.time_left),
    "expiretime": ("time", rules.time_left),
}


def commands(g):
    expire_options = lambda: g.options([g.word("NX"), g.word("XX"), g.word("GT"), g.word("LT")], 0.2)
    kinds = lambda: g.r.choice(["string", "list", "set", "zset", "hash", "stream", "LIST", "nope"])
    restore_options = lambda: g.options(
        [g.word("REPLACE"), g.word("ABSTTL"), lambda: [g.case("IDLETIME"), g.small()],
         lambda: [g.case("FREQ"), g.number()], g.word("NOPE")], 0.25)
    life = lambda: g.r.choice([[g.case("EXPIRE"), g.key(), "-1"], [g.case("PEXPIREAT"), g.key(), "1000"],
                               [g.case("EXPIREAT"), g.key(), "0"]])
    return {
        "del": lambda: g.some(g.key, 1, 3),
        "unlink": lambda: g.some(g.key, 1, 3),
        "exists": lambda: g.some(g.key, 1, 4),
        "touch": lambda: g.some(g.key, 1, 4),
        "type": lambda: [g.key()],
        "rename": lambda: [g.key(), g.key()],
        "renamenx": lambda: [g.key(), g.key()],
        "copy": (3, lambda: [g.key(), g.key()] + g.options(
            [g.word("REPLACE"), lambda: [g.case("DB"), g.database()]], 0.5)),
        "move": lambda: [g.key(), g.database()],
        "expire": lambda: [g.key(), g.seconds()] + expire_options(),
        "pexpire": (2, lambda: g.expired("PEXPIRE", g.key(), "1") if g.chance(0.4) else
                    [g.key(), g.milliseconds()] + expire_options()),
        "expireat": lambda: [g.key(), g.moment(1)] + expire_options(),
        "pexpireat": (2, lambda: g.sequence(life()) if g.chance(0.3) else
                      [g.key(), g.moment(1000)] + expire_options()),
        "ttl": lambda: [g.key()],
        "pttl": lambda: [g.key()],
        "expiretime": lambda: [g.key()],
        "pexpiretime": lambda: [g.key()],
        "persist": lambda: [g.key()],
        "keys": lambda: [g.pattern()],
        "scan": lambda: [g.r.choice(["0", "0", "0", "x", "-1", "99999999999999999999"])] + g.options(
            [lambda: [g.case("MATCH"), g.pattern()], lambda: [g.case("COUNT"), g.small()],
             lambda: [g.case("TYPE"), kinds()]], 0.4),
        "randomkey": lambda: [],
        "dbsize": lambda: [],
        "select": (0.3, lambda: [g.database()]),
        "swapdb": (0.2, lambda: [g.database(), g.database()]),
        "flushdb": (0.1, lambda: g.options([g.word("SYNC", "ASYNC", "NOW")], 0.5)),
        "flushall": (0.1, lambda: g.options([g.word("SYNC", "ASYNC", "NOW")], 0.5)),
        "object": (3, g.form(lambda: ["ENCODING", g.key()], lambda: ["ENCODING", g.key()], lambda: ["REFCOUNT", g.key()],
                             lambda: ["FREQ", g.key()], lambda: ["IDLETIME", g.key()], lambda: ["HELP"],
                             lambda: ["NOPE", g.key()])),
        "dump": (0.5, lambda: [g.key()]),
        "restore": lambda: [g.key(), g.r.choice(["0", "0", g.milliseconds()]), g.r.choice(BAD_DUMPS)] +
        restore_options(),
    }
