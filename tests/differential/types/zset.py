"""zset.py -- generators of the sorted-set group.

SPDX-License-Identifier: BSD-3-Clause
"""

import struct

import rules

TYPE = "zset"
SAME_DUMP = ("listpack",)

SETTINGS = {
    "zset-max-listpack-entries": [0, 1, 3, 8, 1000000],
    "zset-max-listpack-value": [0, 1, 5, 20, 1000000],
}

REPLIES = {
    "zscan": ("cursors and order", rules.Scanned(pairs=True)),
    "zrandmember": ("chance", rules.Drawn(lambda key: [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], b"WITHSCORES")),
}


def read(key):
    return [[b"ZCARD", key], [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"], [b"ZREVRANGE", key, b"0", b"-1"],
            [b"ZCOUNT", key, b"-inf", b"+inf"]]


def commands(g):
    odd = ["inf", "-inf", "+inf", "nan", "abc", "", " 1", "1x", "0x10", "1e400", "1e-5", "1e20", "123456.125",
           "9007199254740993", "4611686018427387904", "4611686018427388416", "-4611686018427387904", "5000000000000000000",
           "1e18", ".5", "5.", "1e300", "-1e300", "infinity", "-0", "-0.0", "5e-324", "1e21", "-1e-400"]

    def score():
        kind = g.r.random()
        if kind < 0.7:
            return str(g.r.randrange(-5, 12))
        if kind < 0.85:
            return repr(g.r.randrange(-400, 400) / 8)
        if kind < 0.9:
            return repr(struct.unpack("<d", g.r.randbytes(8))[0])
        return g.r.choice(odd) if kind < 0.97 else g.score()

    def bound():
        return g.r.choice(["", "", "", "("]) + score()

    def lex():
        kind = g.r.random()
        if kind < 0.15:
            return g.r.choice(["-", "+"])
        return g.r.choice(["[", "[", "("]) + g.member() if kind < 0.96 else g.r.choice(["", "x", "-x", "+x", "(", "["])

    key = lambda: g.key("zset")
    member = g.member
    limit = lambda: [g.case("LIMIT"), g.small(), g.small()]
    scores = lambda: [g.case("WITHSCORES")]
    pair = lambda: [score(), member()]
    pairs = lambda: [word for _ in range(g.many()) for word in pair()]

    def bounds(kind, reverse=False):
        draw = {"rank": g.small, "score": bound, "lex": lex}[kind]
        low, high = draw(), draw()
        return [low, high]

    # A range by members is undefined if scores differ: they are made equal first.
    def even(*command):
        k = command[2] if command[0].lower() == "zrangestore" else command[1]
        return g.sequence(["ZUNIONSTORE", k, "2", k, k, "WEIGHTS", "0", "-0.0"], list(command))

    def ranged(name, *keys):
        kind = g.r.choice(["rank", "score", "lex"])
        words = [*keys] + bounds(kind)
        if kind != "rank":
            words.append(g.case({"score": "BYSCORE", "lex": "BYLEX"}[kind]))
        some = [g.word("REV")]
        if kind != "rank" or g.chance(0.05):
            some.append(limit)
        if (len(keys) == 1 and kind != "lex") or g.chance(0.03):
            some.append(scores)
        words += g.options(some, 0.4)
        return even(name, *words) if kind == "lex" else words

    def sources(with_scores, weighted=True, store=False):
        n = g.r.randrange(1, 4)
        words = [str(n) if g.chance(0.95) else g.small()] + [g.key("zset" if g.chance(0.8) else "set") for _ in range(n)]
        some = []
        if weighted:
            some += [lambda: [g.case("WEIGHTS")] + [g.r.choice(["1", "2", "0.5", "-0.0", "0", "inf", "x"]) if g.chance(0.5)
                                                    else "1" for _ in range(n)],
                     lambda: [g.case("AGGREGATE"), g.case(g.r.choice(["SUM", "MIN", "MAX", "SUM", "AVG"]))]]
        if with_scores:
            some.append(scores)
        return words + g.options(some, 0.4)

    return {
        "zadd": (8, lambda: [key()] + g.options(
            [g.word("NX"), g.word("XX"), g.word("GT"), g.word("LT"), g.word("CH"), g.word("INCR")], 0.08) +
            (pairs() if g.chance(0.7) else pair())),
        "zincrby": (2, lambda: [key(), score(), member()]),
        "zrem": (2, lambda: [key()] + [member() for _ in range(g.many())]),
        "zcard": lambda: [key()],
        "zscore": lambda: [key(), member()],
        "zmscore": lambda: [key()] + [member() for _ in range(g.many())],
        "zrank": lambda: [key(), member()] + g.options([g.word("WITHSCORE")], 0.3),
        "zrevrank": lambda: [key(), member()] + g.options([g.word("WITHSCORE")], 0.3),
        "zcount": lambda: [key()] + bounds("score"),
        "zrange": (4, lambda: ranged("ZRANGE", key())),
        "zrangestore": (2, lambda: ranged("ZRANGESTORE", key(), key())),
        "zrevrange": lambda: [key()] + bounds("rank") + g.options([scores], 0.4),
        "zrangebyscore": (2, lambda: [key()] + bounds("score") + g.options([scores, limit], 0.4)),
        "zrevrangebyscore": (2, lambda: [key()] + bounds("score") + g.options([scores, limit], 0.4)),
        "zremrangebyrank": lambda: [key()] + bounds("rank"),
        "zremrangebyscore": lambda: [key()] + bounds("score"),
        "zpopmin": lambda: [key()] + g.options([g.small], 0.4),
        "zpopmax": lambda: [key()] + g.options([g.small], 0.4),
        "zmpop": lambda: (lambda n: [str(n) if g.chance(0.95) else g.small()] + [key() for _ in range(n)] +
                          [g.case(g.r.choice(["MIN", "MAX"]))] +
                          g.options([lambda: [g.case("COUNT"), g.small()]], 0.4))(g.r.randrange(1, 4)),
        "zrandmember": lambda: [key()] + g.options([g.count]) + g.options([scores], 0.2),
        "zscan": lambda: [key(), g.r.choice(["0", "0", "0", "7", "x"])] + g.options(
            [lambda: [g.case("MATCH"), g.pattern()], lambda: [g.case("COUNT"), g.small()], g.word("NOSCORES")], 0.3),
        "zunion": lambda: sources(True),
        "zinter": lambda: sources(True),
        "zdiff": lambda: sources(True, weighted=g.chance(0.05)),
        "zintercard": lambda: sources(False, weighted=False) + g.options([lambda: [g.case("LIMIT"), g.small()]], 0.4),
        "zunionstore": (2, lambda: [key()] + sources(g.chance(0.05))),
        "zinterstore": (2, lambda: [key()] + sources(g.chance(0.05))),
        "zdiffstore": (2, lambda: [key()] + sources(g.chance(0.05), weighted=g.chance(0.05))),
        "zlexcount": lambda: even("ZLEXCOUNT", key(), *bounds("lex")),
        "zrangebylex": lambda: even("ZRANGEBYLEX", key(), *bounds("lex"), *g.options([limit], 0.4)),
        "zrevrangebylex": lambda: even("ZREVRANGEBYLEX", key(), *bounds("lex"), *g.options([limit], 0.4)),
        "zremrangebylex": lambda: even("ZREMRANGEBYLEX", key(), *bounds("lex")),
    }
