"""settings.py -- settings of replication: valid values, names, and the output of CONFIG REWRITE.

SPDX-License-Identifier: BSD-3-Clause
"""

import os

VALUES = {
    "primaryauth": ("x", "", "a b", "\"q\""), "masterauth": ("x", ""), "primaryuser": ("x", "", "a b"),
        "masteruser": ("y", ""),
    "repl-timeout": ("1", "0", "-1", "x", "2147483647", "2147483648", ""),
    "repl-ping-replica-period": ("1", "0", "2147483647", "x"), "repl-ping-slave-period": ("3", "0"),
    "repl-backlog-size": ("1", "0", "16384", "16385", "1mb", "1gb", "x", "-1", "9223372036854775807",
        "9223372036854775808"),
    "repl-backlog-ttl": ("0", "1", "-1", "2147483647", "9223372036854775807", "x"),
    "repl-diskless-sync": ("yes", "no", "YES", "1", "x"), "repl-diskless-sync-delay": ("0", "5", "-1", "2147483647",
        "2147483648"),
    "repl-diskless-sync-max-replicas": ("0", "3", "-1", "2147483648"),
    "repl-diskless-load": ("disabled", "on-empty-db", "swapdb", "flush-before-load", "SWAPDB", "x", ""),
    "dual-channel-replication-enabled": ("yes", "no", "x"), "repl-disable-tcp-nodelay": ("yes", "no", "x"),
        "repl-mptcp": ("yes", "no"),
    "replica-read-only": ("no", "yes", "x"), "slave-read-only": ("no", "yes"), "replica-serve-stale-data": ("no",
        "yes"),
    "slave-serve-stale-data": ("no", "yes"), "replica-lazy-flush": ("no", "yes"), "slave-lazy-flush": ("yes",),
    "replica-ignore-maxmemory": ("no", "yes"), "slave-ignore-maxmemory": ("yes",),
        "replica-ignore-disk-write-errors": ("yes", "no"),
    "replica-priority": ("0", "100", "-1", "2147483647", "2147483648"), "slave-priority": ("7",),
        "replica-announced": ("no", "yes"),
    "replica-announce-ip": ("1.2.3.4", "host", "", "a b"), "slave-announce-ip": ("5.6.7.8", ""),
    "replica-announce-port": ("0", "65535", "65536", "-1"), "slave-announce-port": ("1", "0"),
    "min-replicas-to-write": ("0", "1", "-1", "2147483648"), "min-slaves-to-write": ("2", "0"),
    "min-replicas-max-lag": ("0", "10", "-1"), "min-slaves-max-lag": ("9",), "rdb-del-sync-files": ("yes", "no", "x"),
    "rdb-version-check": ("relaxed", "strict", "x"), "shutdown-timeout": ("0", "10", "-1", "x"),
        "propagation-error-behavior": (
        "ignore", "panic", "panic-on-replicas", "x"),
    "client-output-buffer-limit": ("replica 1mb 2mb 3", "slave 0 0 0", "slave 1 2", "replica x 0 0", "REPLICA 1kb 0 0"),
    "replicaof": ("127.0.0.1 1", ""), "slaveof": ("no one",), "tls-replication": ("no", "x"),
}


def values(b):
    s = b.server()
    for name in VALUES:
        b.see("GET " + name, s.ask("CONFIG", "GET", name))
        before = s.ask("CONFIG", "GET", name)
        for value in VALUES[name]:
            b.see("SET %s %r" % (name, value), s.ask("CONFIG", "SET", name, value))
            b.see("... GET", s.ask("CONFIG", "GET", name))
        if before.startswith(b"*2"):
            s.ask("CONFIG", "SET", name, before.split(b"\r\n")[4])
    for pattern in ("repl*", "slave*", "master*", "primary*", "min-*", "replica*"):
        found = s.ask("CONFIG", "GET", pattern).split(b"\r\n")
        ours_alone = (b"repl-slow-writers", b"replica-keep-from-empty")
        b.see("GET " + pattern, sorted(word for word in found[2::4] if word not in ours_alone))
    b.see("two at once", s.ask("CONFIG", "SET", "repl-timeout", "5", "repl-ping-slave-period", "2"))
    b.see("by both names", s.ask("CONFIG", "SET", "replica-priority", "5", "slave-priority", "2"))


def rewrite(b):
    s = b.server()
    s.kill()
    conf = os.path.join(s.dir, "conf")
    lines = ["# ours", "slave-priority 50", "masterauth secret", "repl-backlog-size 2mb", "slaveof 127.0.0.1 1",
        "min-slaves-to-write 1",
             "client-output-buffer-limit slave 10mb 5mb 60"]
    with open(conf, "w") as file:
        file.write("\n".join(lines) + "\n")
    s.begin()
    wanted = (b"repl", b"slave", b"master", b"primary", b"min-", b"client-output", b"# ours")

    def written():
        with open(conf, "rb") as file:
            lines = [line for line in file.read().splitlines() if line.startswith(wanted)]
        return sorted(line for line in lines if b"diskless-sync-delay" not in line)

    def see_written(what):
        found = written()
        b.see(what, [line for line in found if b"buffer-limit" not in line])
        b.see(what + ": limits", [line for line in found if b"buffer-limit" in line],
            "a line that says what holds is left alone")

    b.see("REWRITE of what was read", s.ask("CONFIG", "REWRITE"))
    see_written("...")
    s.ask("CONFIG", "SET", "replica-priority", "100", "primaryauth", "other", "repl-backlog-size", "1000",
        "replica-announce-ip", "1.2.3.4",
          "repl-diskless-load", "swapdb", "primaryuser", "me", "min-replicas-max-lag", "3")
    b.see("changed", s.ask("CONFIG", "REWRITE"))
    see_written("...")
    s.ask("REPLICAOF", "127.0.0.1", "2")
    s.ask("CONFIG", "REWRITE")
    see_written("another primary")
    s.ask("REPLICAOF", "NO", "ONE")
    s.ask("CONFIG", "REWRITE")
    see_written("none")


def at_start(b):
    """Options with which a start fails, and some with which it does not."""
    import subprocess
    s = b.server()
    for words in (["--replicaof", "127.0.0.1"], ["--replicaof", "127.0.0.1", "x"], ["--replicaof",
        "127.0.0.1 65536"], ["--replicaof", "no one"],
                  ["--replicaof", "a b c"], ["--slaveof", "127.0.0.1 -1"], ["--repl-timeout", "0"],
                  ["--repl-diskless-load", "x"]):
        done = None
        port = b.new_port()
        try:
            done = subprocess.run([b.binary, "--port", str(port), "--dir", b.home, "--save", "", *words],
            stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, timeout=1)
        except subprocess.TimeoutExpired:
            pass
        text = done.stdout if done else b""
        found = [line for line in text.split(b"\n") if line.startswith((b">>>", b"replicaof", b"Invalid", b"wrong",
            b"argument"))]
        b.see("%r" % words, ("ends" if done else "runs", found))
