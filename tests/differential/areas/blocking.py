"""blocking.py -- commands that block on keys, and events that end the block.

SPDX-License-Identifier: BSD-3-Clause
"""

from scripts import Timed

NEEDS = ["blpop", "client|unblock"]
WAITS = True
GROUPS = True
SETTINGS = {}


def commands(d):
    """Returns blocking commands: without timeout, an eighth with some milliseconds, and invalid ones."""
    k, end = d.key, d.end
    least = lambda: d.one("MIN", "MAX")
    count = lambda: d.one([], [], ["COUNT", "1"], ["COUNT", "2"])
    new = lambda: d.one("$", "$", "+", "0", "0-0")
    waits = [
        (3, lambda t: ["BLPOP"] + d.keys(3) + [t]), (3, lambda t: ["BRPOP"] + d.keys(3) + [t]),
        (3, lambda t: ["BLMOVE", k(), k(), end(), end(), t]), (2, lambda t: ["BRPOPLPUSH", k(), k(), t]),
        (1, lambda t: ["BLMPOP", t, "1", k(), end()] + count()),
        (2, lambda t: ["BLMPOP", t, "2", k(), k(), end()] + count()),
        (2, lambda t: ["BZPOPMIN"] + d.keys(3) + [t]), (2, lambda t: ["BZPOPMAX"] + d.keys(3) + [t]),
        (2, lambda t: ["BZMPOP", t, "2", k(), k(), least()] + count()),
    ]
    # Milliseconds, not seconds.
    streams = [
        (2, lambda t: ["XREAD", "BLOCK", t, "STREAMS", k(), new()]),
        (1, lambda t: ["XREAD"] + count() + ["BLOCK", t, "STREAMS", k(), k(), new(), new()]),
        (3 * d.groups, lambda t: ["XREADGROUP", "GROUP", "g", d.one("c", "c2"), "BLOCK", t, "STREAMS", k(), ">"]),
        (1 * d.groups, lambda t: ["XREADGROUP", "GROUP", "g", "c"] + count() +
         ["BLOCK", t, "NOACK", "STREAMS", k(), k(), ">", d.one(">", "0")]),
    ]
    endless = [(weight, lambda draw=draw: draw("0")) for weight, draw in waits + streams]
    timed = [(weight / 8, lambda draw=draw: Timed(draw(d.one("0.01", "0.02", "1e-2")))) for weight, draw in waits]
    timed += [(weight / 8, lambda draw=draw: Timed(draw("10"))) for weight, draw in streams]
    wrong = [(weight / 20, lambda draw=draw: draw(d.one("-1", "x", "", "1e400", "nan")))
             for weight, draw in waits + streams]
    return endless + timed + wrong + [
        (0.3, lambda: ["BLMPOP", "0", d.one("0", "3", "x"), k(), end()]),
        (0.3, lambda: ["BZMPOP", "0", "1", k(), "MIN", "COUNT", "0"]),
        (0.5, lambda: ["RESET"]), (0.2, lambda: ["WATCH", k()]),
        (0.3, lambda: ["CLIENT", "UNBLOCK", d.client()])]


def operator(d):
    """Returns commands that keep a script going: mostly they serve blocked clients or unblock them."""
    k = d.key
    return [
        (6, lambda: ["CLIENT", "UNBLOCK", d.client()] + d.one([], ["TIMEOUT"], ["ERROR"], ["ERROR"])),
        (0.3, lambda: ["CLIENT", "UNBLOCK", d.one("0", "x", "99999999"), "ERROR"]),
        (1, lambda: ["CLIENT", "KILL", "ID", d.client()]),
        (4, lambda: ["RPUSH", k(), "1", "2"]), (3, lambda: ["ZADD", k(), "1", "m", "2", "n"]),
        (3, lambda: ["XADD", k(), "%d-1" % d.tick(), "f", "v"]), (3, lambda: ["DEL", k()]),
        (2 * d.groups, lambda: ["XGROUP", "CREATE", k(), "g", "$", "MKSTREAM"]), (1, lambda: ["SWAPDB", "0", "1"]),
    ]
