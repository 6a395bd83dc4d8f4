"""hyperloglog.py -- generators of the hyperloglog group.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

SETTINGS = {"hll-sparse-max-bytes": [0, 18, 20, 40, 300, 16000]}


REPLIES = {
    "pfadd": ("encoding after no change", rules.Levelled()),
}


def commands(g):
    names = ["hll:1", "hll:2", "hll:3"]
    key = lambda: g.r.choice(names) if g.chance(0.95) else g.key()
    # Few elements repeat often, many make it dense.
    space = g.r.choice([10, 300, 5000])
    element = lambda: str(g.r.randrange(space)) if g.chance(0.95) else g.text()
    many = lambda: g.r.choice([0, 1, 1, 1, 2, 3, 40])
    return {
        "pfadd": (5, lambda: [key()] + [element() for _ in range(many())]),
        "pfcount": (2, lambda: g.some(key, 1, 3)),
        "pfmerge": (2, lambda: g.some(key, 1, 4)),
        "pfdebug": g.form(lambda: ["DECODE", key()], lambda: ["ENCODING", key()], lambda: ["todense", key()],
                          lambda: ["NOPE", key()], lambda: ["SIMD", g.r.choice(["ON", "off"])]),
    }
