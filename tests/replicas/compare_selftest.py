"""compare_selftest.py -- verifies that tests/replicas/compare finds exactly the differences.

A primary has keys of all types, and a writable replica. On the replica one difference at a time is planted: compare
must find it, by digests and by reading, name its kind and its key, and find nothing else. It must report when a
comparison is not possible: continued writes, a link that is down, unrelated servers.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from fleet import HERE, Connection, Fault, Node, eventually

COMPARE = os.path.join(HERE, "compare")
FAR_MS = int(time.time() * 1000) + 10 ** 9
LIBRARY = "#!lua name=%s\nredis.register_function('%s_f', function() return %d end)\n"
MANY = 1700  # more elements than are read at once
LONG = 2500000

BASE = [
    ["SET", "string", "value"], ["SET", "long", "x" * LONG], ["SET", "number", "17"],
    ["SET", "ends", "value", "PXAT", FAR_MS], ["SET", "stays", "value"],
    ["RPUSH", "list", "a", "b", "c"], ["RPUSH", "long list", *range(MANY)],
    ["SADD", "set", "a", "b", "c"], ["SADD", "long set", *range(MANY)],
    ["ZADD", "zset", "1", "a", "2.5", "b", "2.5", "c"],
    ["ZADD", "long zset", *[word for n in range(MANY) for word in (n, "m%d" % n)]],
    ["HSET", "hash", "a", "1", "b", "2"], ["HSET", "timed hash", "a", "1", "b", "2", "c", "3"],
    ["HPEXPIREAT", "timed hash", FAR_MS, "FIELDS", "2", "a", "b"],
    ["HSET", "long hash", *[word for n in range(MANY) for word in ("f%d" % n, n)]],
    ["HPEXPIREAT", "long hash", FAR_MS, "FIELDS", "1", "f1699"],
    *[["XADD", "stream", "%d-1" % n, "field", n] for n in range(1, 9)],
    *[["XADD", "long stream", "%d-1" % n, "field", n] for n in range(1, MANY)],
    ["XGROUP", "CREATE", "long stream", "g", "0"], ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "long stream", ">"],
    ["XDEL", "stream", "2-1"],
    ["XGROUP", "CREATE", "stream", "g", "0"], ["XGROUP", "CREATE", "stream", "other", "3-1"],
    ["XREADGROUP", "GROUP", "g", "alice", "COUNT", "3", "STREAMS", "stream", ">"],
    ["XREADGROUP", "GROUP", "g", "bob", "COUNT", "1", "STREAMS", "stream", ">"],
    ["PFADD", "sketch", *range(300)], ["SET", "bin\0\r\n\xff", "\0\xff"],
    ["FUNCTION", "LOAD", LIBRARY % ("kept", "kept", 1)], ["FUNCTION", "LOAD", LIBRARY % ("old", "old", 2)],
    ["SELECT", "9"], ["SET", "string", "in nine"], ["RPUSH", "list", "x"],
]
# Changes on the replica: (kind, key, commands).
PLANTS = [
    ("value", "string", [["SET", "string", "Value"]]),
    ("value", "string", [["APPEND", "string", "!"]]),
    ("value", "long", [["SETRANGE", "long", LONG - 1, "y"]]),
    ("value", "sketch", [["PFADD", "sketch", "another one", "and more", "and so on", "1", "abc"]]),
    ("existence", "string", [["DEL", "string"]]),
    ("existence", "of the replica", [["SET", "of the replica", "1"]]),
    ("existence", "stays", [["MOVE", "stays", "4"]]),
    ("type", "string", [["DEL", "string"], ["RPUSH", "string", "value"]]),
    ("expiry", "ends", [["PEXPIREAT", "ends", FAR_MS + 1]]),
    ("expiry", "ends", [["PERSIST", "ends"]]),
    ("expiry", "stays", [["PEXPIREAT", "stays", FAR_MS]]),
    ("value", "list", [["LSET", "list", 1, "B"]]),
    ("value", "list", [["DEL", "list"], ["RPUSH", "list", "a", "c", "b"]]),
    ("value", "long list", [["LSET", "long list", MANY - 1, "-"]]),
    ("value", "long list", [["RPUSH", "long list", "one more"]]),
    ("value", "set", [["SREM", "set", "a"], ["SADD", "set", "A"]]),
    ("value", "long set", [["SADD", "long set", MANY]]),
    ("value", "zset", [["ZADD", "zset", "1.0000000000000002", "a"]]),
    ("value", "zset", [["ZREM", "zset", "b"]]),
    ("value", "long zset", [["ZINCRBY", "long zset", "0.5", "m1699"]]),
    ("value", "hash", [["HSET", "hash", "a", "one"]]),
    ("value", "hash", [["HDEL", "hash", "a"], ["HSET", "hash", "A", "1"]]),
    ("value", "long hash", [["HSET", "long hash", "f900", "x"]]),
    ("field-expiry", "timed hash", [["HPEXPIREAT", "timed hash", FAR_MS + 1, "FIELDS", "1", "b"]]),
    ("field-expiry", "timed hash", [["HPERSIST", "timed hash", "FIELDS", "1", "a"]]),
    ("field-expiry", "timed hash", [["HPEXPIREAT", "timed hash", FAR_MS, "FIELDS", "1", "c"]]),
    ("field-expiry", "hash", [["HPEXPIREAT", "hash", FAR_MS, "FIELDS", "1", "a"]]),
    ("field-expiry", "long hash", [["HPEXPIREAT", "long hash", FAR_MS - 1, "FIELDS", "1", "f1699"]]),
    ("value", "stream", [["XDEL", "stream", "5-1"]]),
    ("value", "long stream", [["XDEL", "long stream", "1500-1"]]),
    ("stream", "stream", [["XSETID", "stream", "8-2"]]),
    ("stream", "stream", [["XSETID", "stream", "8-1", "ENTRIESADDED", "30", "MAXDELETEDID", "2-1"]]),
    ("stream", "stream", [["XSETID", "stream", "8-1", "ENTRIESADDED", "8", "MAXDELETEDID", "4-4"]]),
    ("group", "stream", [["XGROUP", "CREATE", "stream", "third", "0"]]),
    ("group", "stream", [["XGROUP", "DESTROY", "stream", "other"]]),
    ("group", "stream", [["XGROUP", "SETID", "stream", "other", "4-1"]]),
    ("group", "stream", [["XGROUP", "SETID", "stream", "other", "3-1", "ENTRIESREAD", "1"]]),
    ("consumer", "stream", [["XGROUP", "CREATECONSUMER", "stream", "g", "carol"]]),
    ("pending", "stream", [["XACK", "stream", "g", "1-1"]]),
    # One more delivery, at the same time: (key, group, consumer, entry) of the claimed entry.
    ("pending", "stream", [["claim", "stream", "g", "alice", "3-1", 1, 0]]),
    ("pending", "stream", [["claim", "stream", "g", "alice", "3-1", 0, 5]]),
    ("pending", "stream", [["claim", "stream", "g", "bob", "3-1", 0, 0]]),
    ("pending", "long stream", [["claim", "long stream", "g", "c", "1600-1", 1, 0]]),
    ("library", None, [["FUNCTION", "DELETE", "old"]]),
    ("library", None, [["FUNCTION", "LOAD", LIBRARY % ("new", "new", 3)]]),
    ("library", None, [["FUNCTION", "LOAD", "REPLACE", LIBRARY % ("old", "old", 22)]]),
    ("value", "list", [["SELECT", "9"], ["RPUSH", "list", "y"]]),
    ("value", "bin\0\r\n\xff", [["SET", "bin\0\r\n\xff", "\0\xfe"]]),
]
ENCODED = ("encoding", "number", [["SET", "number", "1"], ["APPEND", "number", "7"]])
# Other differences that follow and are reported as well.
COMPANIONS = {"value": {"stream", "group"}, "stream": {"group"}}


def to_bytes(words):
    return [word if isinstance(word, bytes) else str(word).encode("latin-1") for word in words]


class Pair:
    def __init__(self, primary, replica, folder, port):
        more = ["--repl-diskless-sync-delay", "0", "--save", "", "--hz", "50"]
        self.primary = Node("primary", primary, folder, port, more)
        self.replica = Node("replica", replica, folder, port + 1, more + ["--replica-read-only", "no"])
        self.failed = 0

    def compare(self, *options, seconds=60):
        words = [sys.executable, COMPARE, "127.0.0.1:%d" % self.primary.port, "127.0.0.1:%d" % self.replica.port,
                 "--json", "--wait", str(seconds), *options]
        done = subprocess.run(words, capture_output=True, text=True, timeout=300)
        try:
            return done.returncode, json.loads(done.stdout)
        except ValueError:
            raise Fault("compare: exit %d\n%s%s" % (done.returncode, done.stdout, done.stderr)) from None

    def tell(self, good, what):
        if not good:
            self.failed += 1
            print("FAILED: %s" % what, flush=True)

    def fill(self):
        for node in (self.primary, self.replica):
            node.ask("REPLICAOF", "NO", "ONE")
        link = Connection(self.primary.port)
        for command in [["FLUSHALL"], ["FUNCTION", "FLUSH"], ["SELECT", "0"]] + BASE:
            raw = link.ask(to_bytes(command))[0]
            if raw[:1] == b"-" and command[0] not in self.unknown:
                raise Fault("%s: %s" % (command[:4], raw))
        link.close()
        self.replica.ask("REPLICAOF", "127.0.0.1", self.primary.port)
        eventually("the replica is up", lambda: self.replica.field("master_link_status") == "up")

    def plant(self, commands):
        link = Connection(self.replica.port)
        for command in commands:
            if command[0] == "claim":
                command = self.claim(link, *command[1:])
            raw = link.ask(to_bytes(command))[0]
            if raw[:1] == b"-":
                raise Fault("%s: %s" % (command[:4], raw))
        link.close()

    @staticmethod
    def claim(link, key, group, consumer, entry, more, later_ms):
        """Returns an XCLAIM that changes only deliveries, time or owner of a pending entry."""
        whole = link.ask(to_bytes(["XINFO", "STREAM", key, "FULL", "COUNT", 0]))[1]
        groups = dict(zip(whole[::2], whole[1::2]))[b"groups"]
        rows = [dict(zip(row[::2], row[1::2])) for row in groups]
        pending = next(row for row in rows if row[b"name"] == group.encode())[b"pending"]
        row = next(row for row in pending if row[0] == entry.encode())
        return ["XCLAIM", key, group, consumer, 0, entry, "TIME", int(row[2][1:]) + later_ms, "RETRYCOUNT",
                int(row[3][1:]) + more, "JUSTID"]

    def check_found(self, kind, key, commands, options):
        code, told = self.compare(*options)
        what = "%s of %r by %s, %s" % (kind, key, commands, " ".join(options) or "by digests")
        name = None if key is None else '"' + key.encode("unicode_escape").decode() + '"'
        kinds = {row["kind"] for row in told["differences"]}
        keys = {row["key"] for row in told["differences"]}
        # A list moved to another database is missing in one and additional in the other.
        self.tell(code == 1 and kind in kinds and keys == {name} and
                  kinds <= {kind} | COMPANIONS.get(kind, set()), "%s: exit %d, %s" % (what, code, told))

    def check_same(self, *options):
        code, told = self.compare(*options)
        self.tell(code == 0 and told["answer"] == "same" and told["keys"] == self.key_count and
                  told["libraries"] == 2, "the same %s: exit %d, %s" % (options, code, told))

    def run(self, quick):
        for node in (self.primary, self.replica):
            node.up()
        names = {word.upper() for node in (self.primary, self.replica)
                 for word in (b"HPEXPIREAT",) if node.ask("COMMAND", "INFO", word) == [None]}
        self.unknown = {name.decode() for name in names}
        plants = [plant for plant in PLANTS if not self.unknown or plant[0] != "field-expiry"]
        self.key_count = len({(command[1], number) for number, command in self.placed()})
        self.fill()
        self.check_same()
        self.check_same("--read")
        self.check_same("--pause")
        for kind, key, commands in plants[::4 if quick else 1]:
            self.fill()
            self.plant(commands)
            self.check_found(kind, key, commands, [])
            if not quick:
                self.check_found(kind, key, commands, ["--read"])
        self.fill()
        self.plant(ENCODED[2])
        self.check_found(*ENCODED, ["--encodings", "--db", "0"])
        self.check_same()
        self.check_no_answer()
        print("%s and %s: %d planted differences, %s" % (
            os.path.basename(self.primary.binary), os.path.basename(self.replica.binary),
            len(plants[::4 if quick else 1]) + 1, "%d FAILED" % self.failed if self.failed else "all found"))
        return self.failed == 0

    def placed(self):
        """Returns the commands of BASE that create keys, with their databases."""
        database = 0
        for command in BASE:
            if command[0] == "SELECT":
                database = int(command[1])
            elif command[0] not in ("FUNCTION", "XGROUP", "XREADGROUP"):
                yield database, command

    def check_no_answer(self):
        """Checks for exit code 2 and the reason."""
        self.fill()
        ends = threading.Event()

        def write():
            link = Connection(self.primary.port)
            count = 0
            while not ends.is_set():
                count += 1
                link.ask(to_bytes(["SET", "counter", count]))
                time.sleep(0.001)

        writer = threading.Thread(target=write)
        writer.start()
        code, told = self.compare(seconds=2)
        self.tell(code == 2 and ("writes go on" in told["why"] or "not in step" in told["why"]) and
                  told["answer"] == "none", "writes go on: exit %d, %s" % (code, told))
        code, told = self.compare("--pause")
        self.tell(code == 0, "writers that are held: exit %d, %s" % (code, told))
        before = self.primary.ask("GET", "counter")
        eventually("writers go on", lambda: self.primary.ask("GET", "counter") != before)
        ends.set()
        writer.join()
        self.replica.ask("REPLICAOF", "127.0.0.1", 1)
        code, told = self.compare(seconds=1)
        self.tell(code == 2 and "no link" in told["why"], "no link: exit %d, %s" % (code, told))
        self.replica.ask("REPLICAOF", "NO", "ONE")
        code, told = self.compare(seconds=1)
        self.tell(code == 2 and "neither is a replica" in told["why"], "two primaries: exit %d, %s" % (code, told))
        code, told = self.compare("--unrelated")
        self.tell(code == 0, "unrelated: exit %d, %s" % (code, told))
        self.primary.die()
        done = subprocess.run([sys.executable, COMPARE, "127.0.0.1:%d" % self.primary.port, "127.0.0.1:%d" %
                               self.replica.port], capture_output=True, timeout=60)
        self.tell(done.returncode == 2, "nobody there: exit %d" % done.returncode)

    def end(self):
        for node in (self.primary, self.replica):
            node.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--peer", default=os.environ.get("VALKEY_PEER"), help="a real server: pairs of both, too")
    parser.add_argument("--port", type=int, default=24700)
    parser.add_argument("--quick", action="store_true", help="one planted difference in four")
    options = parser.parse_args()
    pairs = [(options.server, options.server)]
    if options.peer:
        pairs += [(options.server, options.peer), (options.peer, options.server)]
    for at, (primary, replica) in enumerate(pairs):
        folder = tempfile.mkdtemp(prefix="compare-", dir=os.environ.get("TMPDIR"))
        pair = Pair(os.path.abspath(primary), os.path.abspath(replica), folder, options.port + 2 * at)
        try:
            good = pair.run(options.quick)
        except Fault as fault:
            print("FAILED: %s" % fault)
            good = False
        finally:
            pair.end()
        if not good:
            print("(logs: %s)" % folder)
            raise SystemExit(1)
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
