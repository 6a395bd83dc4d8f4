"""server.py -- generators of the connection and server groups, and of an unknown command.

They change the server's state and not its dataset: a small part of a round.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

WEIGHT = 0.2

REPLIES = {
    **{name + "|help": ("prose; server_compare.py compares the names", rules.kind)
       for name in "client config memory debug slowlog commandlog latency command".split()},
    "time": ("time", rules.kind),
    "lastsave": ("time", rules.kind),
    "hello": ("id and modules", lambda raw, value: raw if raw[:1] == b"-" else raw[:1]),
    "lolwut": ("art", rules.kind),
    "client|id": ("id", rules.kind),
    "client|info": ("id, address, time, memory", rules.kind),
    "client|list": ("id, address, time, memory", rules.kind_or_error),
    "info": ("values", rules.kind),
    "memory|usage": ("memory", rules.kind_or_error),
    "memory|stats": ("memory", rules.kind),
    "memory|doctor": ("prose", rules.kind),
    "memory|malloc-stats": ("memory", rules.kind),
    "debug|object": ("addresses", rules.kind_or_error),
    "slowlog|get": ("time", rules.kind),
    "slowlog|len": ("time", rules.kind),
    "commandlog|get": ("time", rules.kind),
    "commandlog|len": ("time", rules.kind),
    "latency|latest": ("time", rules.kind),
    "latency|histogram": ("time", rules.kind),
    "latency|doctor": ("prose", rules.kind),
    "command": ("one table may be larger", rules.kind),
    "command|count": ("one table may be larger", rules.kind),
    "command|list": ("one table may be larger", rules.kind),
    "command|docs": ("prose; server_compare.py compares the facts", rules.kind),
    "command|info": ("order within flag sets, notes; server_compare.py compares the facts", rules.kind),
}


def commands(g):
    return {
        "ping": lambda: g.options([lambda: [g.text()]], 0.5),
        "echo": lambda: [g.text()],
        "time": lambda: [],
        "reset": lambda: [],
        "auth": lambda: g.some(g.text, 1, 3),
        "hello": lambda: [g.r.choice(["2", "3", "3", "4", "x"])] + g.options(
            [lambda: ["SETNAME", g.text()], lambda: ["AUTH", "default", "x"], lambda: ["NOPE"]], 0.2),
        "client": g.form(
            lambda: ["GETNAME"], lambda: ["SETNAME", g.text()], lambda: ["ID"], lambda: ["INFO"],
            lambda: ["NO-EVICT", g.r.choice(["on", "OFF", "x"])], lambda: ["NO-TOUCH", g.r.choice(["on", "OFF", "x"])],
            lambda: ["SETINFO", g.r.choice(["lib-name", "LIB-VER", "x"]), g.text()],
            lambda: ["LIST"] + g.options([lambda: ["TYPE", g.r.choice(["normal", "pubsub", "x"])],
                                          lambda: ["ID", g.number()], lambda: ["NOPE", "1"],
                                          lambda: ["DB", g.number()], lambda: ["USER", "nobody"]], 0.3),
            lambda: ["KILL"] + g.r.choice([["ID", "99999"], ["1.2.3.4:5"], ["TYPE", "nope"], ["ID", "x"], ["USER", "no"],
                                           ["SKIPME", "x"], ["ADDR", "1.2.3.4:5"], ["MAXAGE", "x"], ["NAME", "zzz"],
                                           ["DB", "99"], ["LIB-NAME", "zzz"], ["IDLE", "9999"], ["FLAGS", "x"],
                                           ["IP", "9.9.9.9"], ["CAPA", "r"], ["ID", "-5"], ["DB", "x"], ["NOT-ID", "3"]]),
            lambda: ["UNPAUSE"], lambda: ["PAUSE", g.r.choice(["x", "-1", "0"])], lambda: ["PAUSE", "0", "x"],
            lambda: ["REPLY", g.r.choice(["ON", "x"])], lambda: ["CAPA", g.r.choice(["redirect", "x"])],
            lambda: ["UNBLOCK", g.number()], lambda: ["HELP"], lambda: ["NOPE"], lambda: ["GETREDIR"]),
        "config": g.form(
            lambda: ["GET", g.r.choice(["maxmemory", "maxmemory*", "hz", "nosuch", "io-threads", "save", "timeout",
                                        "client-output-buffer-limit", "appendonly", "LogLevel", "max*y-*", "[hm]z",
                                        "databases", "tcp-*", "proto-max-bulk-len", "slowlog-*", "lazyfree-*", "lfu-*",
                                        "active-expire-effort", "latency-*", "maxclients", "notify-keyspace-events"])],
            lambda: ["GET", "hz", "maxmemory", "hz"],
            lambda: ["SET", g.r.choice(["maxmemory-samples", "hz", "timeout", "lfu-log-factor", "nosuch", "databases",
                                        "slowlog-max-len"]), g.small()],
            lambda: ["SET", "maxmemory", g.r.choice(["0", "100mb", "1gb", "1g", "x", "-1", "10xb", "200m", "1.5gb", ""])],
            lambda: ["SET", "maxmemory-policy", g.r.choice(["allkeys-lru", "noeviction", "x", "VOLATILE-TTL"])],
            lambda: ["SET", "appendfsync", g.r.choice(["always", "no", "sometimes"])],
            lambda: ["SET", "lazyfree-lazy-user-del", g.r.choice(["yes", "no", "x", "YES"])],
            lambda: ["SET", "notify-keyspace-events", g.r.choice(["KEA", "", "Kg$", "zz", "Ex"])],
            lambda: ["SET", "client-output-buffer-limit",
                     g.r.choice(["normal 0 0 0", "normal 1gb 512mb 60", "x 1 2 3", "normal 1 2", "pubsub a b c"])],
            lambda: ["SET", "hz", "20", "timeout", g.small()], lambda: ["SET", "hz", "20", "hz", "30"],
            lambda: ["SET", "hz", "20", "timeout"], lambda: ["RESETSTAT"], lambda: ["REWRITE"], lambda: ["HELP"],
            lambda: ["NOPE"]),
        "info": lambda: g.options([lambda: [g.r.choice(["server", "all", "everything", "nosuch", "stats"])]], 0.6),
        "memory": g.form(lambda: ["USAGE", g.key()], lambda: ["USAGE", g.key(), "SAMPLES", g.number()],
                             lambda: ["USAGE", g.key(), "NOPE", "1"], lambda: ["STATS"], lambda: ["DOCTOR"],
                             lambda: ["PURGE"], lambda: ["HELP"], lambda: ["NOPE"]),
        "slowlog": g.form(lambda: ["LEN"], lambda: ["RESET"], lambda: ["GET"], lambda: ["GET", g.number()],
                              lambda: ["HELP"], lambda: ["NOPE"]),
        "commandlog": g.form(lambda: ["LEN", g.r.choice(["slow", "large-request", "large-reply", "x"])],
                                 lambda: ["RESET", g.r.choice(["slow", "large-request", "x"])],
                                 lambda: ["GET", g.number(), g.r.choice(["slow", "large-reply", "x"])],
                                 lambda: ["HELP"], lambda: ["NOPE"]),
        "latency": g.form(lambda: ["LATEST"], lambda: ["HISTORY", "command"], lambda: ["RESET"], lambda: ["HELP"],
                              lambda: ["RESET", "a", "b"], lambda: ["GRAPH", "nope"], lambda: ["NOPE"],
                              lambda: ["HISTOGRAM", "nosuch"]),
        "command": g.form(lambda: ["COUNT"], lambda: ["INFO", "get"], lambda: ["INFO", "nosuch"], lambda: ["HELP"],
                              lambda: ["LIST", "FILTERBY", g.r.choice(["MODULE", "NOPE"]), "x"], lambda: ["NOPE"],
                              lambda: ["GETKEYS", "get", g.key()], lambda: ["GETKEYS", "mset", "a", "1", "b", "2"],
                              lambda: ["GETKEYS", "ping"], lambda: ["GETKEYS", "nosuch", "x"], lambda: ["GETKEYS", "get"],
                              lambda: ["GETKEYSANDFLAGS", "set", "a", "b"], lambda: ["GETKEYS"],
                              lambda: ["GETKEYS", "lcs", "a", "b"], lambda: ["GETKEYSANDFLAGS", "rename", "a", "b"],
                              lambda: ["DOCS", "nosuch"], lambda: ["GETKEYS", "copy", "a", "b"]),
        "debug": g.form(lambda: ["OBJECT", g.key()], lambda: ["SLEEP", "0"], lambda: ["NOPE"],
                            lambda: ["PROTOCOL", g.r.choice(["string", "integer", "double", "null", "bignum", "array",
                                                             "set", "map", "verbatim", "true", "false", "nope"])]),
        "nosuch": lambda: g.some(g.text, 0, 4),
    }
