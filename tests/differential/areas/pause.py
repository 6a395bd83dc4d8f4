"""pause.py -- CLIENT PAUSE: which clients wait, what continues meanwhile, and the order in which clients resume.

Pauses have no timeout here: a command or the observer ends them (stage.py).

SPDX-License-Identifier: BSD-3-Clause
"""

from scripts import Alone

NEEDS = ["client|pause", "client|unpause", "monitor"]
WAITS = True
PAUSES = True
GROUPS = True
# The number of commands in one batch here; a longer pipeline yields to those of others.
SETTINGS = {"prefetch-batch-max-size": ["128"]}


def pause(d):
    return ["CLIENT", "PAUSE", d.one("3000000", "2000000")] + d.one(["WRITE"], ["WRITE"], ["write"], ["ALL"], [])


def commands(d):
    k = d.key
    return [
        (4, lambda: pause(d)),
        # If another pause follows in one write, 9.1.2 releases the paused clients and pauses them again, after others.
        (1, lambda: Alone(["CLIENT", "UNPAUSE"])),
        (0.5, lambda: ["CLIENT", "PAUSE"] + d.one(["x"], ["-1"], ["9" * 19], ["9" * 20], ["1", "x"], ["0"])),
        # Commands that count as writes, and others.
        (2, lambda: ["PUBLISH", d.one("news", "n"), "m"]), (1, lambda: ["SPUBLISH", "news", "m"]),
        (1, lambda: ["PFCOUNT"] + d.one(["none"], ["none", "none"])), (1, lambda: ["TOUCH", k()]),
        (1, lambda: ["GETEX", k()]), (1, lambda: ["FLUSHALL"]), (1, lambda: ["SORT", k(), "ALPHA"]),
        (1, lambda: ["SORT_RO", k(), "ALPHA"]), (1, lambda: ["XREAD", "STREAMS", k(), "0"]),
        (1, lambda: ["OBJECT", "FREQ", k()]), (1, lambda: ["KEYS", "nothing*"]), (1, lambda: ["WAIT", "0", "0"]),
        (1, lambda: ["DBSIZE"]), (1, lambda: ["RANDOMKEY", "x"]),
        # Errors that are detected before or after the pause.
        (1, lambda: ["SET", k()]), (1, lambda: ["INCRBY", k(), "x"]),
        # Two kinds of blocking.
        (2, lambda: ["BLPOP", k(), "0"]), (2, lambda: ["BLMOVE", k(), k(), "LEFT", "RIGHT", "0"]),
        (1, lambda: ["BZPOPMIN", k(), "0"]), (2, lambda: ["XREAD", "BLOCK", "0", "STREAMS", k(), "$"]),
        (1, lambda: ["CLIENT", "UNBLOCK", d.client()]),
        # Other states of a client meanwhile.
        (2, lambda: ["MULTI"]), (3, lambda: ["EXEC"]), (1, lambda: ["DISCARD"]),
        (2, lambda: ["WATCH", k()]),
        (1, lambda: ["SUBSCRIBE", "news"]), (1, lambda: ["UNSUBSCRIBE", "news"]), (1, lambda: ["SSUBSCRIBE", "news"]),
        (1, lambda: ["MONITOR"]), (1, lambda: ["RESET"]), (1, d.leave_or_hush),
        (1, lambda: ["CLIENT", "NO-EVICT", d.one("ON", "OFF")]), (1, lambda: ["CLIENT", "INFO"]),
        (1, lambda: ["HELLO", d.one("2", "3")]), (0.5, lambda: ["CLIENT", "KILL", "ID", d.client()]),
        (1, lambda: ["CLIENT", "TRACKING", d.one("ON", "OFF")]), (1, lambda: ["SELECT", d.one("0", "1")]),
    ]


def operator(d):
    k = d.key
    return [
        (1, lambda: pause(d)), (2, lambda: ["CLIENT", "UNPAUSE"]), (1, lambda: ["MONITOR"]), (1, lambda: ["RESET"]),
        (2, lambda: ["CLIENT", "UNBLOCK", d.client()] + d.one([], ["TIMEOUT"], ["ERROR"])),
        (1, lambda: ["CLIENT", "KILL", "ID", d.client()]), (1, lambda: ["CLIENT", "LIST"]),
        (2, lambda: ["RPUSH", k(), "1", "2"]), (1, lambda: ["ZADD", k(), "1", "m"]), (1, lambda: ["DEL", k()]),
        (1, lambda: ["XADD", k(), "%d-1" % d.tick(), "f", "v"]),
    ]
