"""hyperloglog.py -- generators of the hyperloglog group.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

SETTINGS = {"hll-sparse-max-bytes": [0, 18, 20, 40, 300, 16000]}


class Counted:
    """PFCOUNT of one key stores the count there, and that is a change; here it only reads. So that values and changes go
    on alike, the count is written here too, when there it was."""

    def judge(self, command, answers, ask):
        if answers[0][0] != answers[1][0]:
            return "differs"
        if len(command) == 2 and answers[0][0][:1] == b":":
            counts = [ask(i, [b"GETRANGE", command[1], b"8", b"15"])[1] for i in (0, 1)]
            if counts[0] != counts[1]:
                ask(0, [b"SETRANGE", command[1], b"8", counts[1]])
        return None


REPLIES = {
    "pfcount": ("the stored count", Counted()),
    "pfadd": ("encoding after no change", rules.Levelled()),
}


def commands(g):
    names = ["hll:1", "hll:2", "hll:3"]
    key = lambda: g.r.choice(names) if g.chance(0.95) else g.key()
    # Few elements meet often, many make it dense.
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
