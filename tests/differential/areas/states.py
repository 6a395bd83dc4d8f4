"""states.py -- all states of a connection at once: in MULTI, watching, subscribed, tracking, without replies, in both
protocols; and commands that end them, in pipelines and within transactions.

SPDX-License-Identifier: BSD-3-Clause
"""

NEEDS = ["multi", "watch", "subscribe", "client|tracking", "client|reply", "reset"]
WAITS = True
GROUPS = False
SETTINGS = {"notify-keyspace-events": ["", "", "KEA"]}


def commands(d):
    k = d.key
    channel = lambda: d.one("news", "__redis__:invalidate", "__keyspace@0__:a")
    return [
        (6, lambda: ["MULTI"]), (6, lambda: ["EXEC"]), (2, lambda: ["DISCARD"]), (3, lambda: ["WATCH", k()]),
        (1, lambda: ["UNWATCH"]), (0.5, lambda: [d.one("EXEC", "MULTI", "DISCARD", "WATCH", "RESET"), "x"]),
        (3, lambda: ["SUBSCRIBE", channel()]), (1, lambda: ["PSUBSCRIBE", d.one("n*", "*")]),
        (1, lambda: ["SSUBSCRIBE", "news"]), (2, lambda: ["UNSUBSCRIBE", channel()]),
        (1, lambda: ["PUNSUBSCRIBE", d.one("n*", "*")]), (1, lambda: ["SUNSUBSCRIBE", "news"]),
        (3, lambda: ["PUBLISH", "news", "m"]), (1, lambda: ["SPUBLISH", "news", "m"]),
        (4, lambda: ["HELLO", d.one("2", "3")]), (0.3, lambda: ["HELLO", d.one("4", "x")]), (2, lambda: ["RESET"]),
        (3, lambda: ["CLIENT", "TRACKING", "ON"] + d.one([], ["NOLOOP"], ["BCAST"], ["OPTIN"], ["OPTOUT"],
                                                        ["REDIRECT", d.client()])),
        (1, lambda: ["CLIENT", "TRACKING", "OFF"]), (2, lambda: ["CLIENT", "CACHING", d.one("YES", "NO")]),
        (1, lambda: ["CLIENT", "TRACKINGINFO"]), (0.5, lambda: ["CLIENT", "GETREDIR"]),
        (2, lambda: ["QUIT"] if d.quits else ["CLIENT", "REPLY", "ON"]),
        (3, lambda: ["PING"] if d.quits else ["CLIENT", "REPLY", d.one("OFF", "SKIP", "SKIP", "x")]),
        (2, lambda: ["CLIENT", "INFO"]), (1, lambda: ["CLIENT", "LIST", "ID", d.client()]),
        (1, lambda: ["CLIENT", "SETNAME", d.one("n", "")]), (1, lambda: ["CLIENT", "NO-TOUCH", d.one("ON", "OFF")]),
        (1, lambda: ["SELECT", d.one("0", "1")]), (2, lambda: ["GET", k()]), (2, lambda: ["SET", k(), d.number()]),
        (1, lambda: ["PING"] + d.one([], ["x"])), (0.5, lambda: ["AUTH", "x"]), (0.5, lambda: ["NOSUCH"]),
        (0.5, lambda: ["MONITOR"]), (0.5, lambda: ["BLPOP", k(), "0"]),
        (0.5, lambda: ["XREAD", "BLOCK", "0", "STREAMS", k(), "$"]),
    ]


def operator(d):
    k = d.key
    return [
        (3, lambda: ["SET", k(), d.number()]), (2, lambda: ["DEL", k()]),
        (3, lambda: ["PUBLISH", "news", "from above"]),
        (1, lambda: ["SWAPDB", "0", "1"]), (1, lambda: ["FLUSHALL"]), (1, lambda: ["CLIENT", "KILL", "ID", d.client()]),
        (2, lambda: ["RPUSH", k(), "1"]), (1, lambda: ["XADD", k(), "%d-1" % d.tick(), "f", "v"]),
        (1, lambda: ["CLIENT", "UNBLOCK", d.client()]),
    ]
