"""nodes.py -- a cluster of six server processes of any kind, and checks that all of them agree.

Three shards of a primary and a replica each. Node I is the first primary of shard I, and node 3 + I its first replica;
failovers exchange them. Client ports are PORT, PORT + 1 ..., those of the bus PORT + 100 ...

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "crash"))
sys.dont_write_bytecode = True

from server import Connection, Server  # noqa: E402

SHARDS = 3
SLOTS = 16384
BUS = 100
ALARMS = ("BUG REPORT START", "ASSERTION FAILED", "Sanitizer", "runtime error: ")


class Fault(Exception):
    """A check has failed."""


class Node(Server):
    """A server in cluster mode. Its log of writes survives kill -9, so that it starts again with its keys."""

    def __init__(self, name, binary, folder, port, timeout_ms):
        super().__init__(binary, os.path.join(folder, name), port, [
            "--cluster-enabled", "yes", "--cluster-port", str(port + BUS), "--cluster-node-timeout", str(timeout_ms),
            "--cluster-allow-replica-migration", "no", "--repl-diskless-sync-delay", "0", "--save", "",
            "--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"])
        self.name = name
        self.id = None
        self.link = None

    def up(self):
        self.start()
        self.link = self.await_ready()

    def die(self):
        """Kills the server with kill -9."""
        self.kill()
        self.reap()
        self.link = None

    def ask(self, *words, limit=5):
        """Returns the reply as Python values, an error as text that begins with -."""
        command = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        if self.link is None:
            self.link = Connection(self.port)
        try:
            self.link.sock.settimeout(limit)
            raw, value = self.link.ask(command)
        except (OSError, ConnectionError):
            self.link = None
            raise
        return raw.decode("utf-8", "replace").strip() if raw[:1] == b"-" else value

    def must(self, *words):
        reply = self.ask(*words)
        if reply not in (b"+OK", b"OK"):
            raise Fault("%s replied to %s: %r" % (self.name, words, reply))

    def field(self, name, *command):
        """Returns a field of INFO, or of CLUSTER INFO."""
        for line in self.ask(*command).decode().split("\r\n"):
            if line.startswith(name + ":"):
                return line.split(":", 1)[1]
        return None

    def nodes(self):
        """Returns what CLUSTER NODES shows of all nodes, without what is this node's own: {id: facts}."""
        view = {}
        for line in self.ask("CLUSTER", "NODES").decode().splitlines():
            words = line.split()
            flags = ",".join(flag for flag in words[2].split(",") if flag != "myself")
            view[words[0]] = {"address": words[1], "flags": flags, "primary": words[3], "epoch": int(words[6]),
                              "slots": words[8:]}
        return view

    def slots(self):
        """Returns what CLUSTER SLOTS shows: (first, last, the primary, the replicas)."""
        return sorted((int(row[0][1:]), int(row[1][1:]), row[2][2], sorted(node[2] for node in row[3:]))
                      for row in self.ask("CLUSTER", "SLOTS"))

    def shards(self):
        """Returns what CLUSTER SHARDS shows, without offsets."""
        out = []
        for shard in self.ask("CLUSTER", "SHARDS"):
            facts = dict(zip(shard[::2], shard[1::2]))
            members = []
            for node in facts[b"nodes"]:
                one = dict(zip(node[::2], node[1::2]))
                members.append((one[b"id"], one[b"port"], one[b"role"], one[b"health"]))
            out.append((facts[b"slots"], sorted(members)))
        return sorted(out, key=lambda shard: shard[1])


def eventually(what, check, limit=60):
    """Waits until check() returns nothing; else it returns the text of what is wrong."""
    deadline = time.monotonic() + limit
    pause = 0.02
    while True:
        try:
            wrong = check()
        except (OSError, ConnectionError) as problem:
            wrong = repr(problem)
        if not wrong:
            return
        if time.monotonic() > deadline:
            raise Fault("not within %d s: %s: %s" % (limit, what, wrong))
        time.sleep(pause)
        pause = min(0.25, pause * 1.5)


class Cluster:
    """Six nodes; kinds has the kind of each, and programs the binary of each kind."""

    def __init__(self, kinds, programs, folder, port, timeout_ms):
        self.timeout_s = timeout_ms / 1000
        self.kinds = kinds
        self.all = [Node("%d-%s" % (i, kind), programs[kind], folder, port + i, timeout_ms)
                    for i, kind in enumerate(kinds)]

    def up(self):
        for node in self.all:
            node.up()
            node.id = node.ask("CLUSTER", "MYID").decode()
        for i, node in enumerate(self.all):
            node.must("CLUSTER", "SET-CONFIG-EPOCH", i + 1)
            if i < SHARDS:
                node.must("CLUSTER", "ADDSLOTSRANGE", SLOTS * i // SHARDS, SLOTS * (i + 1) // SHARDS - 1)
            if i > 0:
                node.must("CLUSTER", "MEET", "127.0.0.1", self.all[0].port, self.all[0].port + BUS)
        eventually("all nodes know each other", lambda: self.disagreement(replicas=0))
        for i in range(SHARDS):
            self.all[SHARDS + i].must("CLUSTER", "REPLICATE", self.all[i].id)
        self.await_agreement()

    def end(self):
        for node in self.all:
            node.end()

    def named(self, identity):
        return next(node for node in self.all if node.id == identity)

    def name(self, identity):
        """Returns the name of a node, or the id itself if none of the servers has it."""
        return next((node.name for node in self.all if node.id == identity), identity)

    def tag_of(self, shard):
        """Returns a hash tag whose slot belongs to the shard."""
        for n in range(10000):
            slot = int(self.all[0].ask("CLUSTER", "KEYSLOT", n)[1:])
            if SLOTS * shard // SHARDS <= slot < SLOTS * (shard + 1) // SHARDS:
                return b"%d" % n
        raise Fault("shard %d has no tag" % shard)

    def pairs(self):
        """Returns (primary, replica) of each shard, in the view of the first node that answers."""
        view = self.all[0].nodes()
        return [(self.named(facts["primary"]), self.named(identity)) for identity, facts in sorted(view.items())
                if facts["primary"] != "-"]

    def disagreement(self, replicas=1):
        """Returns a text if the nodes do not agree on a whole cluster, None if they do."""
        first = self.all[0]
        view, slots, shards = first.nodes(), first.slots(), first.shards()
        if set(view) != {node.id for node in self.all}:
            return "%s knows %s" % (first.name, sorted(view))
        for node in self.all:
            state = node.field("cluster_state", "CLUSTER", "INFO")
            if state != "ok":
                return "%s: cluster_state:%s" % (node.name, state)
            other = node.nodes()
            for identity in {**view, **other}:
                if view.get(identity) != other.get(identity):
                    return "node %s is %s for %s, and %s for %s" % (
                        self.name(identity), view.get(identity), first.name, other.get(identity), node.name)
            if node.slots() != slots:
                return "CLUSTER SLOTS: %s of %s, %s of %s" % (slots, first.name, node.slots(), node.name)
            if node.shards() != shards:
                return "CLUSTER SHARDS: %s of %s, %s of %s" % (shards, first.name, node.shards(), node.name)
        for identity, facts in view.items():
            if facts["flags"] not in ("master", "slave"):
                return "%s is %s" % (self.name(identity), facts)
        primaries = [identity for identity, facts in view.items() if facts["slots"]]
        owned = sum(last - start + 1 for start, last, _, _ in slots)
        if len(primaries) != SHARDS or owned != SLOTS:
            return "%d primaries with %d slots" % (len(primaries), owned)
        for identity in primaries:
            followers = [facts for facts in view.values() if facts["primary"] == identity]
            if len(followers) != replicas:
                return "%s has %d replicas" % (self.name(identity), len(followers))
        return None

    def await_agreement(self):
        """Waits until all nodes agree, and each replica has its primary's offset. The limit is far above the time
        that a failover takes, so that a slow machine does not matter."""
        eventually("all nodes agree", self.disagreement, 30 + 10 * self.timeout_s)
        eventually("replicas are in sync", self.lag, 60)

    def lag(self):
        for primary, replica in self.pairs():
            wanted = primary.field("master_repl_offset", "INFO", "replication")
            link = replica.field("master_link_status", "INFO", "replication")
            offset = replica.field("slave_repl_offset", "INFO", "replication")
            if link != "up" or offset != wanted:
                return "%s has offset %s (link %s), its primary %s %s" % (
                    replica.name, offset, link, primary.name, wanted)
        return None

    def picture(self):
        """Returns the views of all nodes, for a message."""
        lines = []
        for node in self.all:
            try:
                text = node.ask("CLUSTER", "NODES").decode()
            except (OSError, ConnectionError) as problem:
                text = repr(problem)
            lines.append("%s (port %d)\n%s" % (node.name, node.port, text))
        return "\n".join(lines)

    def alarms(self):
        """Raises Fault if a log has a line that a correct server does not write."""
        for node in self.all:
            with open(node.log_path, encoding="utf-8", errors="replace") as file:
                text = file.read()
            for word in ALARMS:
                if word in text:
                    raise Fault("%s: %s in %s" % (node.name, word, node.log_path))
