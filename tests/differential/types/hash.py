"""hash.py -- generators of the hash group, including field TTLs.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

TYPE = "hash"
SAME_DUMP = ("listpack",)

SETTINGS = {
    "hash-max-listpack-entries": [0, 1, 3, 8],
    "hash-max-listpack-value": [0, 1, 5, 63],
}


class TimesLeft:
    """The remaining TTL of each field: whether it has one, and about which."""

    def __init__(self, apart):
        self.apart = apart

    def judge(self, command, answers, ask):
        if answers[0][0] == answers[1][0]:
            return None
        ours, theirs = answers[0][1], answers[1][1]
        if not isinstance(ours, list) or not isinstance(theirs, list) or len(ours) != len(theirs):
            return "differs"
        for one, other in zip(ours, theirs):
            one, other = int(one.lstrip(b":")), int(other.lstrip(b":"))
            if one != other and (min(one, other) < 0 or abs(one - other) > self.apart):
                return "another time"
        return None


REPLIES = {
    "hgetall": ("order", rules.Unordered(pairs=True)),
    "hkeys": ("order", rules.Unordered()),
    "hvals": ("order", rules.Unordered()),
    "hscan": ("cursors and order", rules.Scanned(pairs=True)),
    "hrandfield": ("chance", rules.Drawn(lambda key: [b"HGETALL", key], b"WITHVALUES")),
    "httl": ("time that passes", TimesLeft(10)),
    "hpttl": ("time that passes", TimesLeft(10000)),
    "hexpiretime": ("counted from now", TimesLeft(10)),
    "hpexpiretime": ("counted from now", TimesLeft(10000)),
}


def read(key):
    return [[b"HGETALL", key], [b"HLEN", key]]


def commands(g):
    key = lambda: g.key("hash")
    field = g.member
    value = g.r.choice([g.member, g.text, g.text])

    def block(draw, low=1, high=4):
        """Returns FIELDS, the number of fields, which is rarely wrong, and the result of DRAW for each."""
        count = g.many(low, high)
        said = count if g.chance(0.95) else g.r.choice([0, -1, count + 1, count - 1, "abc", "9223372036854775807"])
        return [g.case("FIELDS"), said] + [word for _ in range(count) for word in draw()]

    def fields():
        return block(lambda: [field()])

    def condition():
        return [g.case(g.r.choice(["NX", "XX", "GT", "LT"])) for _ in range(g.r.choice([0, 0, 1, 1, 1, 2]))]

    def expire(number):
        return lambda: [key(), number()] + condition() + fields()

    def moment(unit):
        return lambda: g.moment(unit)

    def over():
        """Returns commands for expired fields that are not deleted yet."""
        return g.expired("HPEXPIRE", key(), "1", *block(lambda: [field()], 1, 6))

    def setex():
        return [key()] + g.options([g.word("NX", "XX"), g.word("FNX", "FXX"), lambda: g.life(keepttl=True)], 0.35) + \
            block(lambda: [field(), value()])

    return {
        "hset": (5, lambda: [key()] + g.pairs(field, value)),
        "hmset": lambda: [key()] + g.pairs(field, value),
        "hsetnx": lambda: [key(), field(), value()],
        "hget": lambda: [key(), field()],
        "hmget": lambda: [key()] + g.some(field, 1, 6),
        "hdel": (2, lambda: [key()] + [field() for _ in range(g.many())]),
        "hlen": lambda: [key()],
        "hstrlen": lambda: [key(), field()],
        "hkeys": lambda: [key()],
        "hvals": lambda: [key()],
        "hgetall": lambda: [key()],
        "hexists": lambda: [key(), field()],
        "hincrby": lambda: [key(), field(), g.number()],
        "hincrbyfloat": lambda: [key(), field(), g.score()],
        "hrandfield": lambda: [key()] + draws(g),
        "hscan": lambda: [key(), g.r.choice(["0", "0", "7", "x"])] + g.options(
            [lambda: [g.case("MATCH"), g.pattern()], lambda: [g.case("COUNT"), g.small()],
             g.word("NOVALUES", "NOVALUES", "NOSCORES", "TYPE")], 0.4),
        "hexpire": (2, expire(g.seconds)),
        "hpexpire": (1.5, lambda: over() if g.chance(0.4) else expire(g.milliseconds)()),
        "hexpireat": expire(moment(1)),
        "hpexpireat": expire(moment(1000)),
        "httl": lambda: [key()] + fields(),
        "hpttl": lambda: [key()] + fields(),
        "hexpiretime": lambda: [key()] + fields(),
        "hpexpiretime": lambda: [key()] + fields(),
        "hpersist": lambda: [key()] + fields(),
        "hgetex": (2, lambda: [key()] + g.options([lambda: g.life(persist=True)], 0.6) + fields()),
        "hsetex": (2, setex),
        "hgetdel": lambda: [key()] + fields(),
    }


def draws(g):
    """Returns HRANDFIELD's count, small enough for its reply to be sent, and its option."""
    if g.chance(0.2):
        return []
    count = g.r.choice([str(g.r.randrange(-8, 12)), "100", "1000", "-100", "9223372036854775807",
                        "-9223372036854775808", "9223372036854775808", "abc", ""])
    return [count] + ([g.case("WITHVALUES")] if g.chance(0.4) else [])
