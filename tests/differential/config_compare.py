#!/usr/bin/env python3
"""config_compare.py HOST:PORT HOST:PORT [--except NAME,...] -- compares the settings of two servers.

Compares CONFIG GET * (names, aliases, values), CONFIG GET of each option, and the replies and effects of CONFIG SET
with valid and invalid values for every option. The first server is the reference. All values are restored. Options
whose values must differ (port, dir ...) are compared only by name and errors. Prints each difference; the exit code is
the number of options that differ, at most 100.

Start both with the same arguments, for instance --save "", and different ports.
SPDX-License-Identifier: BSD-3-Clause"""
import socket
import sys

# Values that depend on the place and arguments of the start.
OWN_VALUE = {"port", "bind", "dir", "logfile", "pidfile", "daemonize", "unixsocket"}
# Some probe values of these would close the connection, stop the server or change the machine.
UNTOUCHED = {"port", "bind", "requirepass", "maxclients", "maxmemory", "maxmemory-clients", "timeout", "appendonly",
             "protected-mode", "replicaof", "slaveof", "oom-score-adj", "client-query-buffer-limit"}
# Settings that only this server has.
EXTENSIONS = {"io-threads-reply-offload", "repl-slow-writers", "replica-keep-from-empty"}
HIDDEN = ["lua-enable-insecure-api", "key-load-delay", "rdb-key-save-delay", "io-threads-always-active",
          "enable-debug-assert", "debug-context", "min-io-threads-avoid-copy-reply", "min-string-size-avoid-copy-reply",
          "min-string-size-avoid-copy-reply-threaded", "cluster-ping-interval", "use-exit-on-panic",
          "loading-process-events-interval-bytes", "cluster-message-gossip-perc"]
PROBES = ["", "yes", "NO", "0", "1", "-1", "5", "10", "007", " 5", "5 ", "99", "100", "101", "256", "257", "1000", "1001",
          "65535", "65536", "2147483647", "2147483648", "4294967296", "9223372036854775807", "9223372036854775808",
          "-2147483648", "-2147483649", "1k", "1kb", "3mb", "1gb", "1tb", "50%", "101%", "x/y", "a b", "no-such-value",
          "3600 1", "3600 1 60", "normal 1gb 0 0", "normal 1 2", "0 1 2", "50 99.9", "KEA", "local", "optional",
          "always", "debug", "allkeys-lru", "now force", "save nosave", "::1", "1.2.3.4", "{title}", "{nothing}"]


class Server:
    def __init__(self, where):
        host, port = where.rsplit(":", 1)
        self.where = where
        self.sock = socket.create_connection((host, int(port)), timeout=60)
        self.file = self.sock.makefile("rb")

    def __call__(self, *words):
        out = b"*%d\r\n" % len(words)
        for w in words:
            w = w.encode("latin1")
            out += b"$%d\r\n%s\r\n" % (len(w), w)
        self.sock.sendall(out)
        return self.read()

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(self.where + " closed the connection")
        kind, rest = line[:1], line[1:-2].decode("latin1")
        if kind in b"+-":
            return kind.decode() + rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self.file.read(int(rest) + 2)[:-2].decode("latin1")
        return [self.read() for _ in range(int(rest) * (2 if kind == b"%" else 1))]

    def get(self, name):
        answer = self("CONFIG", "GET", name)
        return answer[1] if len(answer) == 2 else None


def all_options(server):
    flat = server("CONFIG", "GET", "*")
    return dict(zip(flat[::2], flat[1::2]))


def probe(server, name, value, before):
    """Returns the reply, and the resulting value; restores the old one."""
    answer = server("CONFIG", "SET", name, value)
    shown = server.get(name) if answer == "+OK" else None
    if answer == "+OK":
        server("CONFIG", "SET", name, before)
    return answer, shown


def compare_option(name, ref, mine):
    """Returns descriptions of the differences."""
    old_ref, old_mine = ref.get(name), mine.get(name)
    if old_mine is None:
        return ["is missing"]
    found = []
    if name not in OWN_VALUE and old_ref != old_mine:
        found.append("value: %r, not %r" % (old_mine, old_ref))
    if name in UNTOUCHED:
        return found
    for value in PROBES:
        want, got = probe(ref, name, value, old_ref), probe(mine, name, value, old_mine)
        if want != got:
            found.append("SET %r: %r, not %r" % (value, got, want))
        if "immutable" in want[0] or "protected" in want[0]:
            break
    return found


def compare_forms(ref, mine):
    """Compares requests whose replies do not depend on one option."""
    requests = [["GET"], ["SET"], ["SET", "timeout"], ["SET", "timeout", "1", "hz"], ["SET", "nosuch", "1"],
                ["SET", "timeout", "1", "timeout", "2"], ["SET", "timeout", "1", "nosuch", "2"],
                ["SET", "databases", "1", "nosuch", "2"], ["SET", "nosuch", "1", "databases", "2"],
                ["SET", "timeout", "x", "databases", "2"], ["SET", "hz", "x", "loglevel", "y"],
                ["SET", "hz", "11", "loglevel", "y"], ["GET", "hz"], ["GET", "HZ"], ["GET", "H[z]"], ["GET", "nosuch"],
                ["GET", "hz", "HZ", "h?"], ["GET", "h\\z"], ["GET", ""], ["HELP"], ["HELP", "x"], ["NOSUCH"],
                ["RESETSTAT"], ["RESETSTAT", "x"], ["REWRITE", "x"]]
    found = []
    for words in requests:
        want, got = ref("CONFIG", *words), mine("CONFIG", *words)
        if want != got:
            found.append("CONFIG %s: %r, not %r" % (" ".join(words), got, want))
    return found


def main(argv):
    skip = set(argv[4].split(",")) if len(argv) == 5 and argv[3] == "--except" else set()
    if len(argv) != 3 and not skip:
        print(__doc__)
        return 2
    ref, mine = Server(argv[1]), Server(argv[2])
    ref_all, mine_all = all_options(ref), all_options(mine)
    differing = 0
    for name in sorted(set(mine_all) - set(ref_all) - EXTENSIONS - skip):
        print("%s: only %s has it" % (name, mine.where))
        differing += 1
    for name in sorted(set(ref_all) - skip) + HIDDEN:
        found = compare_option(name, ref, mine)
        if name in HIDDEN and name in mine_all:
            found.append("is not hidden")
        for text in found:
            print("%s: %s" % (name, text))
        differing += bool(found)
    forms = compare_forms(ref, mine)
    print("\n".join(forms) if forms else "forms of CONFIG: equal")
    print("%d options compared, %d differ" % (len(ref_all) + len(HIDDEN), differing))
    return min(differing + len(forms), 100)


if __name__ == "__main__":
    sys.exit(main(sys.argv))
