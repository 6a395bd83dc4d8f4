"""monitor.py -- clients that monitor the commands of others, and commands with arguments that are hidden.

SPDX-License-Identifier: BSD-3-Clause
"""

NEEDS = ["monitor", "reset", "client|info"]
WAITS = False
GROUPS = True
SETTINGS = {}

def commands(d):
    k = d.key
    odd = lambda: d.one("a b", "\"\\", "\x00\xff\x07\r\n\t", "", "x" * 300)
    hello = lambda: ["HELLO"] + d.one([], ["2"], ["3"], ["4"], ["x"]) + d.one(
        [], [], ["SETNAME", d.one("n", "a b")], ["AUTH", d.one("default", "u"), "p"], ["AUTH", "p"],
        ["AUTH", "default", "p", "SETNAME", "n"], ["SETNAME", "a b", "AUTH", "default", "p"], ["SETNAME"])
    return [
        (7, lambda: ["MONITOR"]), (2, lambda: ["RESET"]), (0.2, lambda: ["MONITOR", "x"]), (1, d.leave_or_hush),
        # Secrets, and refused commands.
        (2, lambda: ["AUTH"] + d.one(["p"], ["default", "p"], ["u", "p"], ["a", "b", "c"], [])), (3, hello),
        (0.5, lambda: ["CONFIG", "SET", d.one("hash-max-listpack-entries", "hz"), d.one("100", "x")]),
        (0.5, lambda: ["CONFIG", "GET", "hash-max-listpack-entries"]),
        (1, lambda: ["SET", k(), odd()]), (1, lambda: [d.one("NOSUCH", odd() or "x")] + d.one([], [odd()])),
        (1, lambda: ["ECHO", odd()]), (1, lambda: ["SELECT", d.one("0", "1", "2", "99", "-1")]),
        (1, lambda: ["PING"] + d.one([], [odd()])),
        # About the connection.
        (2, lambda: ["CLIENT", "INFO"]), (1, lambda: ["CLIENT", "LIST", "ID", d.client()]),
        (1, lambda: ["CLIENT", "LIST"] + d.one([], ["TYPE", "replica"], ["TYPE", "normal"], ["TYPE", "pubsub"])),
        (1, lambda: ["CLIENT", "SETNAME", d.one("n", "a b", "")]), (0.5, lambda: ["CLIENT", "GETNAME"]),
        (0.5, lambda: ["CLIENT", "SETINFO", d.one("LIB-NAME", "LIB-VER", "x"), "v"]),
        (0.5, lambda: ["CLIENT", "NO-EVICT", d.one("ON", "OFF", "x")]),
        (0.5, lambda: ["CLIENT", "NO-TOUCH", d.one("ON", "OFF")]), (0.5, lambda: ["CLIENT", "NOSUCH"]),
        (0.5, lambda: ["CLIENT", "UNBLOCK", d.client()]), (0.5, lambda: ["CLIENT", "ID"]),
        (0.3, lambda: ["CLIENT", "KILL", "ID", d.client()]),
        (0.5, lambda: ["CLIENT", "TRACKING", d.one("ON", "ON", "OFF")]), (0.5, lambda: ["CLIENT", "CACHING", "YES"]),
        (1, d.leave_or_hush),
        # Activities of others.
        (2, lambda: ["MULTI"]), (3, lambda: ["EXEC"]), (1, lambda: ["DISCARD"]),
        (1, lambda: ["WATCH", k()]),
        (1, lambda: ["SUBSCRIBE", d.one("news", "n")]), (1, lambda: ["PSUBSCRIBE", "n*"]),
        (1, lambda: ["UNSUBSCRIBE", "news"]), (2, lambda: ["PUBLISH", d.one("news", "n"), d.one("a b", "\"\\", "")]),
        (0.5, lambda: ["OBJECT", "HELP", "x"]), (0.5, lambda: ["COMMAND", "GETKEYS", "GET", k()]),
        (0.5, lambda: ["SLOWLOG", "LEN"]), (0.5, lambda: ["LATENCY", "RESET"]), (0.5, lambda: ["ACL", "WHOAMI"]),
        (0.5, lambda: ["PUBSUB", "NUMPAT"]),
    ]

def operator(d):
    return [
        (2, lambda: ["SET", d.key(), d.number()]), (2, lambda: ["MONITOR"]), (1, lambda: ["RESET"]),
        (1, lambda: ["PUBLISH", "news", "from above"]), (1, lambda: ["CLIENT", "KILL", "ID", d.client()]),
        (0.5, lambda: ["CLIENT", "KILL", "TYPE", d.one("replica", "pubsub")]), (1, lambda: ["CLIENT", "LIST"]),
        # A password for some steps: clients that connected before stay logged in.
        (1, lambda: ["CONFIG", "SET", "requirepass", d.one("", "", "p")]),
    ]
