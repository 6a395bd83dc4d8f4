#!/usr/bin/env python3
"""busy.py -- long scripts, while roles, links, files and settings of their server change.

Three servers with random settings get random requests of six clients: scripts and functions that read, write or only
compute, in and out of transactions, and at the same time the operations that a server may only do between two commands:
BGREWRITEAOF, BGSAVE, REPLICAOF, FAILOVER, DEBUG RELOAD, CONFIG SET of the ways to synchronize and to log, CLIENT KILL
and PAUSE, FLUSHALL, SCRIPT KILL. A slow script lets the event loop run, so all of these arrive in the middle of one.

A round has passed if no server has ended by itself, all of them reply at its end, two of them become replicas of the
first and have its dataset, and the first, after kill -9, has all writes acknowledged under `appendfsync always`.

    busy.py --server PATH --seconds 600 --seed 7            rounds of 40 seconds; odd seeds with `yield always`
    busy.py --server PATH --quick                           two rounds of 10 seconds
    busy.py --server PATH --other PATH --seconds 600        the second server is another program, which may crash

The seed determines the requests of a round, but not their order among the clients. Exit code 0: all rounds have passed.
1: one has failed; the folder with the logs is named.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import os
import random
import shutil
import socket
import sys
import tempfile
import threading
import time

from fleet import Connection, Fault, Node, complaints, eventually, same_data

CLIENTS = 6
WRITE = """for i = 1, tonumber(ARGV[1]) do
  redis.call('set', 'k' .. (i % 100) .. ':' .. ARGV[2], i)
  redis.call('lpush', 'l', i)
end
redis.call('del', 'l')
return 1"""
READ = "for i = 1, tonumber(ARGV[1]) do redis.call('get', 'k' .. i) end return 1"
COMPUTE = "local n = 0 for i = 1, tonumber(ARGV[1]) * 200 do n = n + 1 end return n"
LIBRARY = """#!lua name=busy
server.register_function('busy', function(keys, args)
  for i = 1, tonumber(args[1]) do redis.call('incr', 'c' .. (i % 50)) end
  return 1
end)"""
SWITCHES = ["dual-channel-replication-enabled", "repl-diskless-sync", "aof-use-rdb-preamble", "replica-serve-stale-data"]
LOADS = ["disabled", "swapdb", "on-empty-db", "flush-before-load"]


def requests(rng, ports):
    """Returns one random request, or several that are sent together."""
    steps = rng.choice([10, 3000, 30000, 100000])
    return rng.choice([
        lambda: [["EVAL", rng.choice([WRITE, READ, COMPUTE]), 0, steps, rng.randrange(5)]],
        lambda: [["EVAL", rng.choice([WRITE, READ, COMPUTE]), 0, steps, rng.randrange(5)]],
        lambda: [["EVAL", rng.choice([WRITE, READ, COMPUTE]), 0, steps, rng.randrange(5)]],
        lambda: [["FUNCTION", "LOAD", "REPLACE", LIBRARY]],
        lambda: [["FCALL", "busy", 0, steps]],
        lambda: [["FCALL", "busy", 0, steps]],
        lambda: [["MULTI"], ["SET", "a", 1], ["EVAL", WRITE, 0, steps, 1],
                 *rng.choice([[], [["BGREWRITEAOF"]], [["CONFIG", "SET", "appendonly", "no"]]]), ["EXEC"]],
        lambda: [["BGREWRITEAOF"]],
        lambda: [["BGSAVE"]],
        lambda: [["REPLICAOF", "127.0.0.1", rng.choice(ports)]],
        lambda: [["REPLICAOF", "NO", "ONE"]],
        lambda: [["FAILOVER"]],
        lambda: [["CONFIG", "SET", "appendonly", rng.choice(["yes", "no"])]],
        lambda: [["CONFIG", "SET", "appendfsync", rng.choice(["always", "everysec", "no"])]],
        lambda: [["CONFIG", "SET", "repl-diskless-load", rng.choice(LOADS)]],
        lambda: [["CONFIG", "SET", rng.choice(SWITCHES), rng.choice(["yes", "no"])]],
        lambda: [["DEBUG", "RELOAD"]],
        lambda: [["CLIENT", "KILL", "TYPE", rng.choice(["replica", "primary", "normal", "pubsub"])]],
        lambda: [["CLIENT", "PAUSE", rng.choice([10, 200]), rng.choice(["WRITE", "ALL"])]],
        lambda: [["FLUSHALL", rng.choice(["SYNC", "ASYNC"])]],
        lambda: [[rng.choice(["SCRIPT", "FUNCTION"]), "KILL"]],
        lambda: [["WAITAOF", rng.choice([0, 1]), 1, 100]],
        lambda: [["WAIT", 1, 100]],
        lambda: [rng.choice([["BLPOP", "q", 1], ["RPUSH", "q", 1]])],
        lambda: [["INFO", "ALL"]],
    ])()


def encode(words):
    words = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words)


class Client(threading.Thread):
    """Sends requests to random servers; often it disconnects before the reply has come."""

    def __init__(self, seed, ports, end):
        super().__init__(daemon=True)
        self.rng, self.ports, self.end, self.sent = random.Random(seed), ports, end, 0

    def run(self):
        while time.monotonic() < self.end:
            words = requests(self.rng, self.ports)
            try:
                with socket.create_connection(("127.0.0.1", self.rng.choice(self.ports)), 1) as link:
                    link.settimeout(self.rng.choice([0.01, 0.1, 3]))
                    link.sendall(b"".join(encode(one) for one in words))
                    link.recv(65536)
                    self.sent += 1
            except OSError:
                pass
            time.sleep(self.rng.random() * 0.02)


class Round:
    def __init__(self, options, seed, yields):
        self.options, self.seed, self.yields = options, seed, yields
        self.rng = random.Random(seed)
        self.folder = tempfile.mkdtemp(prefix="busy-", dir=os.environ.get("TMPDIR"))
        ours = ["--yield", "always"] if yields else []
        self.nodes = []
        for at in range(3):
            other = options.other if at == 1 else None
            settings = ["--save", "", "--busy-reply-threshold", "20", "--hide-user-data-from-log", "no", "--repl-diskless-sync-delay", "0",
                        "--appendonly", self.rng.choice(["yes", "yes", "no"]),
                        "--appendfsync", self.rng.choice(["always", "everysec", "no"]),
                        "--io-threads", str(self.rng.choice([1, 3]))]
            node = Node("n%d" % at, other or options.server, self.folder, options.port + at,
                        settings + ([] if other else ours))
            node.foreign = bool(other)
            self.nodes.append(node)

    def play(self, seconds):
        for node in self.nodes:
            node.up()
        end = time.monotonic() + seconds
        ports = [node.port for node in self.nodes]
        clients = [Client(self.seed * 100 + at, ports, end) for at in range(CLIENTS)]
        for client in clients:
            client.start()
        while any(client.is_alive() for client in clients):
            self.look_alive()
            time.sleep(0.2)
        self.look_alive()
        self.settle()
        self.kill_and_load()
        return sum(client.sent for client in clients)

    def look_alive(self):
        for node in self.nodes:
            if node.is_alive():
                continue
            if not node.foreign:
                raise Fault("%s has ended by itself: %s" % (node.name, node.log_path))
            node.reap()
            node.link = None
            node.start()

    def settle(self):
        """Waits until no script runs, no role changes, and all servers reply; then makes two of them replicas of the
        first."""
        for node in self.nodes:
            node.link = None
            for words in (["SCRIPT", "KILL"], ["FUNCTION", "KILL"], ["CLIENT", "UNPAUSE"]):
                self.try_to_ask(node, words)
            eventually("%s answers" % node.name, lambda: not str(self.try_to_ask(node, ["DBSIZE"])).startswith(
                ("-BUSY", "-LOADING", "None")), 120)
            node.ask("FAILOVER", "ABORT")
            node.ask("CONFIG", "SET", "replica-serve-stale-data", "yes")
        first, *others = self.nodes
        first.ask("REPLICAOF", "NO", "ONE")
        for node in others:
            node.ask("REPLICAOF", "127.0.0.1", first.port)
        same_data(first, others)

    @staticmethod
    def try_to_ask(node, words):
        try:
            return node.ask(*words, limit=5)
        except (OSError, ConnectionError):
            node.link = None
            return None

    def kill_and_load(self):
        first = self.nodes[0]
        first.ask("CONFIG", "SET", "appendfsync", "always")
        reply = first.ask("CONFIG", "SET", "appendonly", "yes")
        if reply != b"+OK":
            raise Fault("appendonly yes: %s" % reply)
        eventually("the append-only file is whole", lambda: first.field("aof_rewrite_in_progress", "persistence") == "0"
                   and first.field("aof_rewrite_scheduled", "persistence") == "0", 120)
        first.ask("EVAL", WRITE, 0, 20000, 9)
        first.ask("SET", "last", 1)
        before = first.ask("DEBUG", "DIGEST")
        first.die()
        first.arguments += ["--appendonly", "yes"]
        first.up()
        after = first.ask("DEBUG", "DIGEST")
        if before != after:
            raise Fault("after kill -9 the first has another dataset: %s, not %s" % (after, before))

    def end(self):
        for node in self.nodes:
            node.end()
            node.proxy.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", required=True)
    parser.add_argument("--other", help="the second server")
    parser.add_argument("--port", type=int, default=24900)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    end = time.monotonic() + options.seconds
    count = 0
    print("seed %d" % options.seed, flush=True)
    while count < 2 if options.quick else time.monotonic() < end:
        seed = options.seed + count
        this = Round(options, seed, yields=seed % 2 == 1)
        problem = None
        try:
            sent = this.play(10 if options.quick else 40)
        except Exception as fault:  # after any exception the logs are needed
            problem = "%s: %s" % (type(fault).__name__, fault)
        this.end()
        found = complaints([node for node in this.nodes if not node.foreign])
        if problem or found:
            print("FAILED (--seed %d): %s\nlogs: %s" % (seed, problem or found, this.folder), flush=True)
            return 1
        print("round of seed %d: %d requests were sent%s" % (
            seed, sent, ", yield always" if this.yields else ""), flush=True)
        shutil.rmtree(this.folder)
        count += 1
    print("%d rounds" % count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
