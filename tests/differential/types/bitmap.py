"""bitmap.py -- generators of the bitmap group.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

WORDS = ["AND", "OR", "XOR", "NOT", "and", "xor", "NAND", "ANDS", ""]

# After a SETBIT or BITFIELD without a change a number keeps its encoding here; in Valkey it becomes raw.
REPLIES = {name: ("encoding after no change", rules.Levelled()) for name in ("setbit", "bitfield")}


def commands(g):
    key = lambda: g.key("string")

    def offset():
        kind = g.r.random()
        if kind < 0.8:
            return str(g.r.randrange(0, g.r.choice([8, 60, 300])))
        return g.r.choice(["100000", "4294967296", "-1"]) if kind < 0.9 else g.number()

    def small_offset():
        return ("#" if g.chance(0.3) else "") + (str(g.r.randrange(0, 90)) if g.chance(0.97) else g.number()[:6])

    def field():
        if g.chance(0.05):
            return g.r.choice(["u64", "i65", "u0", "i", "x8", "", "U8", "i08"])
        return g.r.choice(["u%d" % g.r.randrange(1, 64), "i%d" % g.r.randrange(1, 65), "u8", "i8"])

    def operation():
        kind = g.r.random()
        if kind < 0.35:
            return [g.case("GET"), field(), small_offset()]
        if kind < 0.6:
            return [g.case("SET"), field(), small_offset(), g.number()]
        if kind < 0.9:
            return [g.case("INCRBY"), field(), small_offset(), g.number()]
        # The first write makes the string grow: if OVERFLOW FAIL then rejects everything, this server reports the
        # growth, Valkey does not.
        return [g.case("SET"), "u1", "7000", "0", g.case("OVERFLOW"), g.r.choice(["WRAP", "sat", "FAIL", "fail", "NOPE"])]

    unit = lambda: g.options([g.word("BYTE", "BIT", "BIT", "NOPE")], 0.6)
    ends = lambda: g.r.choice([lambda: [], lambda: [g.small()], lambda: [g.small(), g.small()] + unit()])()
    return {
        "setbit": (3, lambda: [key(), offset(), g.r.choice(["0", "1", "1", "2"])]),
        "getbit": (2, lambda: [key(), offset()]),
        "bitcount": (2, lambda: [key()] + ends()),
        "bitpos": (2, lambda: [key(), g.r.choice(["0", "1", "1", "2"])] + ends()),
        "bitop": (2, lambda: [g.r.choice(WORDS[:4] * 3 + WORDS), key()] + g.some(key, 1, 4)),
        "bitfield": (3, lambda: [key()] + [word for _ in range(g.r.randrange(0, 5)) for word in operation()]),
        "bitfield_ro": lambda: [key()] + [word for _ in range(g.r.randrange(0, 4))
                                          for word in ([g.case("GET"), field(), small_offset()] if g.chance(0.95)
                                                       else operation())],
    }
