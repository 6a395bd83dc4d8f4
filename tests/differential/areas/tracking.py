"""tracking.py -- client-side caching: which clients are notified of a changed key.

SPDX-License-Identifier: BSD-3-Clause
"""

NEEDS = ["client|tracking", "client|caching", "client|trackinginfo", "client|getredir", "subscribe"]
WAITS = False
GROUPS = False
SETTINGS = {}

PREFIXES = ["", "a", "b", "st", "stored:", "ab"]


def commands(d):
    k = d.key
    other = lambda: d.one(d.client(), d.client(), d.client(), "0", "99999999", "x")

    def on():
        """Returns TRACKING ON with options that are mostly consistent."""
        mode = d.one([], [], ["OPTIN"], ["OPTOUT"], ["BCAST"],
                     ["BCAST"] + [word for _ in range(d.r.randint(1, 2)) for word in ("PREFIX", d.one(*PREFIXES))],
                     ["PREFIX", "a"], ["OPTIN", "OPTOUT"], ["BCAST", "OPTIN"], ["BCAST", "PREFIX", "a", "PREFIX", "ab"])
        options = [mode, d.one([], [], ["NOLOOP"]), d.one([], [], ["REDIRECT", other()])]
        d.r.shuffle(options)
        return ["CLIENT", "TRACKING", d.one("ON", "on")] + [word for words in options for word in words]

    return [
        (8, on), (2, lambda: ["CLIENT", "TRACKING", "OFF"]),
        (4, lambda: ["CLIENT", "CACHING", d.one("YES", "YES", "NO")]),
        (0.3, lambda: ["CLIENT", "CACHING", "x"]), (0.3, lambda: ["CLIENT", "TRACKING", "x"]),
        (0.3, lambda: ["CLIENT", "TRACKING", "ON", d.one("NOSUCH", "REDIRECT", "PREFIX")]),
        (2, lambda: ["CLIENT", "TRACKINGINFO"]), (2, lambda: ["CLIENT", "GETREDIR"]),
        (4, lambda: ["SUBSCRIBE", "__redis__:invalidate"]), (1, lambda: ["UNSUBSCRIBE", "__redis__:invalidate"]),
        (0.5, lambda: ["PSUBSCRIBE", "*"]), (0.5, lambda: ["PUNSUBSCRIBE", "*"]),
        (5, lambda: ["GET", k()]), (3, lambda: ["MGET", k(), k(), k()]), (2, lambda: ["LRANGE", k(), "0", "-1"]),
        (1, lambda: ["HGET", k(), "f"]), (1, lambda: ["STRLEN", k()]), (1, lambda: ["TTL", "missing"]),
        (1, lambda: ["SINTER", k(), k()]), (1, lambda: ["EXISTS", k(), k()]), (1, lambda: ["LCS", k(), k()]),
        (1, lambda: ["ZRANGE", k(), "0", "-1"]), (1, lambda: ["XRANGE", k(), "-", "+"]),
        (1, lambda: ["MULTI"]), (2, lambda: ["EXEC"]), (1, lambda: ["WATCH", k()]),
        (1, lambda: ["RESET"]), (0.5, lambda: ["HELLO", d.one("2", "3")]), (0.5, d.leave_or_hush),
    ]


def operator(d):
    k = d.key
    return [(3, lambda: ["SET", k(), d.number()]), (2, lambda: ["DEL"] + d.keys(3)),
            (2, lambda: ["MSET", k(), "1", k(), "2"]),
            (1, lambda: ["CLIENT", "KILL", "ID", d.client()]), (1, lambda: ["FLUSHDB"]),
            (1, lambda: ["SWAPDB", "0", "1"])]
