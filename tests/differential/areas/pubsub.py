"""pubsub.py -- channels, patterns, sharded channels, and keyspace notifications.

SPDX-License-Identifier: BSD-3-Clause
"""

NEEDS = ["subscribe", "psubscribe", "ssubscribe", "publish", "spublish", "pubsub"]
WAITS = False
GROUPS = True
SETTINGS = {"notify-keyspace-events": ["", "", "KEA", "KEAnm", "Elszt", "Kg$xn"]}

CHANNELS = ["news", "new", "n", "", "__keyspace@0__:a", "__keyevent@0__:del", "__keyevent@0__:lpush"]
PATTERNS = ["n*", "new?", "*", "n[^a]*", "news", "", "__key*__:*", "__keyspace@*__:[ab]", "__keyevent@0__:*", "\\*"]
SHARDED = ["news", "s1", "s2"]


def commands(d):
    channel, pattern, sharded = (lambda: d.one(*CHANNELS)), (lambda: d.one(*PATTERNS)), (lambda: d.one(*SHARDED))
    some = lambda draw: [draw() for _ in range(d.r.randint(1, 3))]
    return [
        (5, lambda: ["SUBSCRIBE"] + some(channel)), (5, lambda: ["PSUBSCRIBE"] + some(pattern)),
        (3, lambda: ["SSUBSCRIBE"] + some(sharded)),
        (3, lambda: ["UNSUBSCRIBE"] + some(channel)), (2, lambda: ["PUNSUBSCRIBE"] + some(pattern)),
        (2, lambda: ["SUNSUBSCRIBE"] + some(sharded)),
        (2, lambda: ["UNSUBSCRIBE"]), (2, lambda: ["PUNSUBSCRIBE"]), (2, lambda: ["SUNSUBSCRIBE"]),
        (2, lambda: ["RESET"]),
        (8, lambda: ["PUBLISH", channel(), d.one("hello", "", "x" * 300)]),
        (4, lambda: ["SPUBLISH", sharded(), "hello"]),
        (1, lambda: ["PUBSUB", "NUMPAT"]), (1, lambda: ["PUBSUB", "NUMSUB"] + d.one([], some(channel))),
        (1, lambda: ["PUBSUB", "SHARDNUMSUB"] + d.one([], some(sharded))),
        # The order is arbitrary: so the pattern matches only one name. The step "look" compares all channels.
        (1, lambda: ["PUBSUB", "CHANNELS", d.one("news", "__keyspace@0__:?", "")]),
        (1, lambda: ["PUBSUB", "SHARDCHANNELS", d.one("n*", "s1", "x")]),
        (0.2, lambda: ["PUBSUB", "NOSUCH"]), (0.2, lambda: ["PUBSUB", "NUMPAT", "x"]), (0.2, lambda: ["SUBSCRIBE"]),
        (0.2, lambda: ["PUBLISH", "x"]), (1, lambda: ["PING"] + d.one([], ["x"], ["x", "y"])),
        (0.3, lambda: ["HELLO", d.one("2", "3")]), (0.5, d.leave_or_hush), (1, lambda: ["MULTI"]),
        (2, lambda: ["EXEC"]),
    ]


def operator(d):
    return [
        (6, lambda: ["PUBLISH", d.one(*CHANNELS), "from above"]),
        (3, lambda: ["SPUBLISH", d.one(*SHARDED), "from above"]),
        (1, lambda: ["CLIENT", "KILL", "ID", d.client()]), (0.3, lambda: ["CLIENT", "KILL", "TYPE", "pubsub"]),
        (2, lambda: ["CONFIG", "SET", "notify-keyspace-events", d.one("", "KEA", "KEAnm", "K$", "Egx", "EAz", "KEh")]),
        (1, lambda: ["CONFIG", "GET", "notify-keyspace-events"]),
    ]
