"""transactions.py -- MULTI and related commands, one at a time: those of other clients come in between.

scripts.py draws complete transactions in one write, in every area.

SPDX-License-Identifier: BSD-3-Clause
"""

NEEDS = ["multi", "exec", "discard", "watch", "unwatch"]
WAITS = False
GROUPS = True
SETTINGS = {}


def commands(d):
    k = d.key
    return [
        (6, lambda: ["MULTI"]), (9, lambda: ["EXEC"]), (1, lambda: ["DISCARD"]),
        (6, lambda: ["WATCH"] + d.keys(3)), (2, lambda: ["UNWATCH"]), (1, lambda: ["RESET"]),
        # Errors of their own.
        (0.3, lambda: ["MULTI", "x"]), (0.3, lambda: ["EXEC", "x"]), (0.3, lambda: ["WATCH"]),
        (0.3, lambda: ["UNWATCH", k()]),
        (0.3, lambda: ["DISCARD", k()]),
        # Commands in a transaction that do not concern keys.
        (0.3, lambda: ["CONFIG", "SET", "hash-max-listpack-entries", d.one("128", "512", "x")]),
        (0.3, lambda: ["CLIENT", "SETNAME", d.one("n", "a b", "")]), (0.3, lambda: ["CLIENT", "GETNAME"]),
        (0.3, lambda: ["CLIENT", "NO-TOUCH", d.one("ON", "OFF")]), (0.3, lambda: ["COMMAND", "GETKEYS", "GET", k()]),
        (0.3, lambda: ["HELLO", d.one("2", "3", "4")]), (0.5, d.leave_or_hush),
        (0.3, lambda: ["CLIENT", "KILL", "ID", d.client()]), (0.2, lambda: ["OBJECT", "HELP", "x"]),
        (0.2, lambda: ["CLIENT", "UNBLOCK", d.client()]),
    ]


def operator(d):
    return [(1, lambda: ["CLIENT", "KILL", "ID", d.client()]), (3, lambda: ["INCR", d.key()]),
            (3, lambda: ["DEL", d.key()]), (2, lambda: ["SWAPDB", "0", "1"]), (1, lambda: ["FLUSHALL"])]
