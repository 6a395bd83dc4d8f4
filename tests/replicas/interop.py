"""interop.py -- replication between servers of this project and real ones, under load and over bad links.

A case is a chain of servers, each a replica of the one before it, and a way to get the whole dataset:

    valkey-ours, ours-valkey, redis-ours, ours-ours, and mixed chains of three     (KINDS: the first is the primary)
    from disk, diskless with each repl-diskless-load, by two connections           (WAYS)

Writers (writers.py) change everything all the time. The steps of a case: a full synchronization in that way, links cut
in the middle of commands (partial synchronizations must follow), each replica shut down and restarted (the same),
killed, and the next in the chain promoted. --storm does all this at random, with stalls, slow links, other settings and
other positions in the tree, until the time is up.

At the end of each step the writers stop, all servers must get in sync, and each replica must have the primary's
dataset, key by key (divergence.py). No log may have lines that a correct server does not write.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import os
import random
import shutil
import tempfile
import time

import divergence
from fleet import Fault, Node, complaints, eventually, in_step
from writers import Load

CHAINS = ["valkey-ours", "ours-valkey", "redis-ours", "ours-ours", "ours-ours-ours", "valkey-ours-valkey",
          "ours-valkey-ours", "valkey-ours-ours", "ours-ours-valkey", "redis-ours-valkey", "redis-ours-ours"]
QUICK = [("valkey-ours", "swapdb"), ("ours-valkey", "dual"), ("redis-ours", "disk")]
YES, NO = ["--repl-diskless-sync", "yes"], ["--repl-diskless-sync", "no"]
DUAL = YES + ["--dual-channel-replication-enabled", "yes"]
TO_DISK, TO_PARSER = "EOF to disk", "EOF to parser"


def loading(how):
    return ["--repl-diskless-load", how]


# name: (settings of all, text in the primary's log, text in the replica's)
WAYS = {
    "disk": (NO + loading("disabled"), "target: disk", "bytes from primary to disk"),
    "disk-swapdb": (NO + loading("swapdb"), "target: disk", "bytes from primary to parser"),
    "diskless": (YES + loading("disabled"), "target: replicas sockets", TO_DISK),
    "on-empty-db": (YES + loading("on-empty-db"), "target: replicas sockets", TO_PARSER),
    "swapdb": (YES + loading("swapdb"), "target: replicas sockets", TO_PARSER),
    "flush-before-load": (YES + loading("flush-before-load"), "target: replicas sockets", TO_PARSER),
    "dual": (DUAL + loading("disabled"), "using: dual-channel", TO_DISK),
    "dual-swapdb": (DUAL + loading("swapdb"), "using: dual-channel", TO_PARSER),
    "dual-on-empty-db": (DUAL + loading("on-empty-db"), "using: dual-channel", TO_PARSER),
}
# Settings that Redis lacks.
NOT_OF_REDIS = {"--dual-channel-replication-enabled": ["no"], "--repl-diskless-load": ["flush-before-load"]}
COMMON = ["--save", "", "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "100mb", "--hz", "20",
          "--repl-ping-replica-period", "1", "--repl-timeout", "40"]
EVIDENCE = ["--appendonly", "yes", "--auto-aof-rewrite-percentage", "0"]


def settings_for(kind, words):
    if kind != "redis":
        return words
    out = []
    for name, value in zip(words[::2], words[1::2]):
        if name == "--dual-channel-replication-enabled":
            continue
        if name == "--repl-diskless-load" and value == "flush-before-load":
            value = "swapdb"
        out += [name, value]
    return out


def known(kinds, difference):
    """Returns whether a difference also occurs between servers of the primary's kind (README.md)."""
    if "valkey" not in kinds and "redis" not in kinds:
        return False
    if difference["kind"] == "consumer":
        return True
    if difference["kind"] == "pending":
        # The same entry of the same consumer, with another delivery.
        rows = [difference["one"][:1], difference["other"][:1]]
        return all(rows) and (difference["what"].endswith("times of delivery") or rows[0][0][:2] == rows[1][0][:2])
    return "redis" in kinds and difference["kind"] == "group" and difference["what"].endswith(("entries-read", "lag"))


class Tree:
    """Servers, their replication tree, and the load on the primary."""

    def __init__(self, kinds, programs, folder, port, seed, more, evidence=False):
        self.r = random.Random("tree %s" % seed)
        self.kinds, self.seed = kinds, seed
        self.nodes = []
        for at, kind in enumerate(kinds):
            own = [] if kind == "redis" else ["--io-threads", self.r.choice(["1", "2", "3"]),
                                              "--hide-user-data-from-log", "no"]
            self.nodes.append(Node("%d-%s" % (at, kind), programs[kind], folder, port + at,
                                   COMMON + own + settings_for(kind, more) +
                                   (EVIDENCE if evidence and at == 0 else [])))
        self.head = self.nodes[0]
        self.kinds_of_primaries = {kinds[0]}
        self.passed_over = 0
        self.parent = dict(zip(self.nodes[1:], self.nodes))
        self.load = None
        self.checked_keys = 0

    def up(self):
        for node in self.nodes:
            node.up()
        known = set.intersection(*({name.decode().lower() for name in node.ask("COMMAND", "LIST")}
                                   for node in self.nodes))
        self.load = Load(self.seed, lambda: self.head.port, known, self.kinds)

    def kind(self, node):
        return self.kinds[int(node.name.split("-")[0])]

    def replicas(self):
        """Returns the replicas, parents first."""
        out = [self.head]
        while True:
            more = [node for node in self.nodes if node not in out and self.parent.get(node) in out]
            if not more:
                return out[1:]
            out += more

    def follow(self, node):
        """Makes node a replica; retried, as REPLICAOF is refused while it loads."""
        self.tell(node, "127.0.0.1", self.parent[node].proxy.port)

    def tell(self, node, *words):
        eventually("%s takes REPLICAOF %s" % (node.name, words),
                   lambda: node.ask("REPLICAOF", *words)[:3] == b"+OK")

    def is_linked(self, node):
        return node.field("role") == "slave" and node.field("master_link_status") == "up"

    def await_links(self, limit=150):
        for node in self.replicas():
            eventually(lambda: "%s is linked to %s\n%s" % (node.name, self.parent[node].name, self.picture()),
                       lambda: self.alive() and self.is_linked(node), limit)

    def alive(self):
        for node in self.nodes:
            if node.process is not None and node.process.poll() is not None:
                raise Fault("%s has ended: exit %d\n%s" % (node.name, node.process.returncode, node.log_text()[-1500:]))
        return True

    def picture(self):
        """Describes the state of all servers, for an error message."""
        out = []
        for node in self.nodes:
            try:
                out.append("  %s: %s" % (node.name, " ".join("%s=%s" % (name, node.field(name)) for name in (
                    "role", "master_port", "master_link_status", "master_sync_in_progress", "slave_repl_offset",
                    "master_replid", "master_replid2", "master_repl_offset", "second_repl_offset"))))
            except (OSError, AttributeError) as problem:
                out.append("  %s: %s" % (node.name, problem))
        return "\n".join(out)

    def count(self, node, name):
        return int(node.field(name, "stats"))

    def fulls(self):
        return {node.name: self.count(node, "sync_full") for node in self.nodes}

    def check(self, what):
        """Stops the writers and checks that all servers are in sync and equal."""
        self.load.hold()
        self.await_links()
        in_step(self.head, self.replicas(), 180)
        for node in self.replicas():
            comparison = divergence.Comparison(["127.0.0.1:%d" % self.head.port, "127.0.0.1:%d" % node.port],
                                               limit_s=60, pause=True, most=200)
            try:
                found = comparison.run()
            except divergence.Inconclusive as why:
                raise Fault("%s: %s and %s: %s\n%s" % (what, self.head.name, node.name, why, self.picture())) from None
            finally:
                comparison.close()
            count = len(found)
            found = [difference for difference in found if not known(self.kinds_of_primaries, difference)]
            self.passed_over += count - len(found)
            if found:
                raise Fault("%s: %s differs from %s:\n%s" % (what, node.name, self.head.name, "\n".join(
                    "  db %s %s %s: %s | %s" % (row["database"], row["key"], row["what"], divergence.shown(row["one"]),
                                                divergence.shown(row["other"])) for row in found[:20])))
            self.checked_keys += comparison.keys
        self.load.resume()

    @staticmethod
    def ends(node, how):
        """Sends SHUTDOWN and returns whether it was accepted."""
        try:
            node.link.sock.settimeout(60)
            node.link.ask([b"SHUTDOWN", how.encode()])
            return False
        except (OSError, ConnectionError):
            return True

    def restart(self, node, how):
        """Ends the node in this way and starts it again as a replica."""
        if how == "KILL":
            node.die()
        else:
            node.ask("CONFIG", "SET", "shutdown-timeout", 0)
            # A log that is being created must be complete first.
            eventually("%s ends" % node.name, lambda: self.ends(node, how))
            node.link = None
            node.reap()
        node.start(more=["--replicaof", "127.0.0.1", str(self.parent[node].proxy.port)])
        node.link = None
        eventually("%s answers" % node.name, lambda: self.alive() and node.field("role") == "slave")

    def promote(self, node, old_stays=True):
        """Makes node the primary, and the old primary its replica."""
        old = self.head
        del self.parent[node]
        if old_stays:
            self.parent[old] = node
        self.tell(node, "NO", "ONE")
        self.head = node
        self.kinds_of_primaries.add(self.kind(node))
        if old_stays:
            self.follow(old)

    def end(self):
        if self.load:
            self.load.stop()
        for node in self.nodes:
            node.end()
            node.proxy.close()


# ---- A case ------------------------------------------------------------------------------------------------------


def run_case(tree, way):
    _, primary_says, replica_says = WAYS[way]
    tree.up()
    tree.load.start()
    time.sleep(1.5)
    for node in tree.nodes[1:]:
        tree.follow(node)
        # One after the other: a replica is asked for its data only when it has them.
        eventually(lambda: "%s is up\n%s" % (node.name, tree.picture()), lambda: tree.is_linked(node), 120)
    for node in tree.replicas():
        for where, word in ((tree.parent[node], primary_says), (node, replica_says)):
            if word not in where.log_text().replace("from master to", "from primary to"):
                raise Fault("%s says nothing of %r" % (where.name, word))
    tree.check("full synchronization")
    cut_links(tree)
    restart_replicas(tree)
    for node in reversed(tree.replicas()):
        tree.restart(node, "KILL")
    tree.check("replicas killed")
    promote_next(tree)


def cut_links(tree):
    """Cuts links at any byte; only partial synchronizations may follow."""
    before = tree.fulls()
    partials = sum(tree.count(node, "sync_partial_ok") for node in tree.nodes)
    cuts = 6
    for _ in range(cuts):
        node = tree.r.choice(tree.replicas())
        proxy = tree.parent[node].proxy
        if tree.r.random() < 0.3:
            proxy.cut()
        else:
            proxy.cut_within(tree.r.randrange(60000))
        time.sleep(0.15)
        tree.await_links()
    for node in tree.nodes:
        node.proxy.heal()
    tree.check("links cut")
    if tree.fulls() != before:
        raise Fault("a link that was cut had a full synchronization: %s, before %s" % (tree.fulls(), before))
    if sum(tree.count(node, "sync_partial_ok") for node in tree.nodes) == partials:
        raise Fault("no link was cut")


def restart_replicas(tree):
    """A replica that was shut down continues from its file."""
    for node in reversed(tree.replicas()):
        before = tree.count(tree.parent[node], "sync_full")
        tree.restart(node, "SAVE")
        tree.await_links()
        if tree.count(tree.parent[node], "sync_full") != before:
            raise Fault("%s had a full synchronization behind its shutdown" % node.name)
    tree.check("replicas restarted")


def promote_next(tree):
    """The next in the chain becomes the primary, and the old primary continues as its replica."""
    tree.load.hold()
    tree.await_links()
    old, new = tree.head, tree.nodes[1]
    # The primary must not add expired keys or pings from here until the other takes over.
    old.ask("CONFIG", "SET", "repl-ping-replica-period", "3600")
    old.ask("CLIENT", "PAUSE", "60000", "WRITE")
    in_step(old, tree.replicas())
    if tree.kind(old) == "redis":
        old.die()
        tree.nodes.remove(old)
        old.proxy.close()
    before = tree.count(new, "sync_full")
    tree.promote(new, old_stays=old in tree.nodes)
    if old in tree.nodes:
        old.ask("CLIENT", "UNPAUSE")
        old.ask("CONFIG", "SET", "repl-ping-replica-period", "1")
    tree.load.resume()
    time.sleep(0.5)
    tree.await_links()
    if tree.count(new, "sync_full") != before:
        raise Fault("full synchronizations with %s, which its replicas know: %s" % (new.name, tree.fulls()))
    tree.check("%s promoted" % new.name)


# ---- A storm -----------------------------------------------------------------------------------------------------


class Storm:
    """Random events of a tree, one after the other."""

    def __init__(self, tree, r):
        self.tree, self.r = tree, r
        self.happened = {}

    def node(self, but=()):
        return self.r.choice([node for node in self.tree.replicas() if node not in but])

    def proxy(self):
        return self.tree.parent[self.node()].proxy

    def cut(self):
        self.proxy().cut()

    def cut_within(self):
        self.proxy().cut_within(self.r.choice([10, 1000, 50000, 2000000]) + self.r.randrange(500))

    def stall(self):
        proxy = self.proxy()
        proxy.stalls = True
        time.sleep(self.r.uniform(0.2, 2))
        if self.r.random() < 0.5:
            proxy.cut()
        proxy.stalls = False

    def slow(self):
        proxy = self.proxy()
        proxy.bytes_per_s = self.r.choice([100000, 1000000, 5000000])
        time.sleep(self.r.uniform(0.5, 3))
        proxy.bytes_per_s = None

    def late(self):
        proxy = self.proxy()
        proxy.delay_s = self.r.choice([0.001, 0.02, 0.2])
        time.sleep(self.r.uniform(0.5, 2))
        proxy.delay_s = 0.0

    def refuse(self):
        proxy = self.proxy()
        proxy.refuse()
        time.sleep(self.r.uniform(0.2, 2))
        proxy.refuses = False

    def kill_links(self):
        self.r.choice(self.tree.nodes).ask("CLIENT", "KILL", "TYPE", self.r.choice(["replica", "master"]))

    def restart(self):
        self.tree.restart(self.node(), self.r.choice(["SAVE", "NOSAVE", "KILL"]))

    def save(self):
        self.r.choice(self.tree.nodes).ask(self.r.choice(["BGSAVE", "BGREWRITEAOF"]))

    def append(self):
        self.r.choice(self.tree.nodes).ask("CONFIG", "SET", "appendonly", self.r.choice(["yes", "no"]))

    def small_backlog(self):
        """Links cut while the backlog is small need a full synchronization."""
        node = self.r.choice(self.tree.nodes)
        node.ask("CONFIG", "SET", "repl-backlog-size", "16kb")
        self.proxy().cut()
        time.sleep(0.5)
        node.ask("CONFIG", "SET", "repl-backlog-size", "100mb")

    def other_way(self):
        words = WAYS[self.r.choice(storm_ways(self.tree.kinds))][0]
        for node in self.tree.nodes:
            if self.r.random() < 0.7:
                own = settings_for(self.tree.kind(node), words)
                for name, value in zip(own[::2], own[1::2]):
                    node.ask("CONFIG", "SET", name[2:], value)

    def elsewhere(self):
        """Makes a replica follow another server that is not below it."""
        tree, node = self.tree, self.node()
        below, grown = {node}, True
        while grown:
            more = {other for other in tree.nodes if tree.parent.get(other) in below} - below
            below |= more
            grown = bool(more)
        tree.parent[node] = self.r.choice([other for other in tree.nodes if other not in below])
        tree.follow(node)

    def detour(self):
        """Makes a replica a primary for a moment, which gives it a history of its own."""
        node = self.node()
        self.tree.tell(node, "NO", "ONE")
        if self.r.random() < 0.5:
            node.ask("SET", "written aside", "%d" % self.r.randrange(1000))
        self.tree.follow(node)

    def promote(self):
        tree, old = self.tree, self.tree.head
        if tree.kind(old) == "redis":
            return self.cut()
        node = self.node()
        way = self.r.choice(["in step", "writers go on", "killed"])
        if way == "in step":
            tree.load.hold()
        if way == "killed":
            old.die()
            tree.promote(node, old_stays=False)
            tree.parent[old] = node
            old.start(more=["--replicaof", "127.0.0.1", str(node.proxy.port)])
            eventually("%s answers" % old.name, lambda: old.field("role") == "slave")
        else:
            tree.promote(node)
        tree.load.resume()
        return None

    def event(self):
        ways = [(4, self.cut), (4, self.cut_within), (2, self.stall), (2, self.slow), (1, self.late), (2, self.refuse),
                (1, self.kill_links), (2, self.restart), (1, self.save), (0.5, self.append), (1, self.small_backlog),
                (1, self.other_way), (1, self.elsewhere), (1, self.detour), (1.5, self.promote)]
        way = self.r.choices([way for _, way in ways], [weight for weight, _ in ways])[0]
        self.happened[way.__name__] = self.happened.get(way.__name__, 0) + 1
        self.log.write("%.3f %s\n" % (time.time(), way.__name__))
        self.log.flush()
        way()

    def run(self, seconds, folder):
        tree = self.tree
        with open(os.path.join(folder, "storm.log"), "w", encoding="utf-8") as self.log:
            tree.up()
            tree.load.start()
            time.sleep(1)
            for node in tree.nodes[1:]:
                tree.follow(node)
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline:
                calm = min(deadline, time.monotonic() + self.r.choice([5, 15]))
                while time.monotonic() < calm:
                    self.event()
                    tree.alive()
                    time.sleep(self.r.choice([0, 0.05, 0.3, 1]))
                for node in tree.nodes:
                    node.proxy.heal()
                tree.check("behind %s" % self.told())

    def told(self):
        return ", ".join("%s %d" % row for row in sorted(self.happened.items()))


# ---- All of it ---------------------------------------------------------------------------------------------------


def find_programs(options, folder):
    """Returns {kind: program} and prints what is missing."""
    programs = {"ours": os.path.abspath(options.server)}
    if options.peer:
        programs["valkey"] = os.path.abspath(options.peer)
    else:
        print("skipped: cases with a real Valkey (VALKEY_PEER or --peer names none)")
    redis = options.redis or shutil.which("redis-server")
    if not redis:
        # The same program, under the name in Debian's redis-tools.
        redis = shutil.which("redis-check-rdb")
    if redis:
        programs["redis"] = os.path.join(folder, "redis-server")
        os.symlink(os.path.abspath(redis), programs["redis"])
    else:
        print("skipped: cases with Redis (REDIS_PEER or --redis names none, and there is no redis-server)")
    return programs


def can(kinds, way, programs):
    """Redis 7 has no dual channel, and cannot load the files of others."""
    return all(kind in programs for kind in kinds) and not ("redis" in kinds and way.startswith("dual"))


def storm_ways(kinds):
    """Excludes dual channel for a real Valkey below a replica, as it uses the wrong database then (README.md)."""
    return [way for way in WAYS if not way.startswith("dual") or not ("redis" in kinds or kinds.count("valkey") > 1)]


def cases_of(options, programs):
    """Returns (chain, way) of all requested cases that can be run."""
    chosen = options.only or CHAINS
    ways = options.way or list(WAYS)
    out = [(chain, way) for chain in chosen for way in ways if can(chain.split("-"), way, programs)]
    if options.quick:
        out = [("ours-ours-ours", way) for way in ("disk", "swapdb", "dual")]
        out += [(chain, way) for chain, way in QUICK if can(chain.split("-"), way, programs)]
    return out


class Failed(Exception):
    pass


def with_tree(name, kinds, programs, top, options, seed, more, do):
    folder = os.path.join(top, name.replace(" ", "-"))
    os.makedirs(folder)
    tree = Tree(kinds, programs, folder, options.port, seed, more, options.evidence)
    begin = time.monotonic()
    try:
        told = do(tree, folder) or ""
        faults = complaints([node for node in tree.nodes if tree.kind(node) == "ours"])
        if faults:
            raise Fault("\n".join(faults))
        print("%s: %d keys compared, %s%s%s (%d s)" % (
            name, tree.checked_keys, tree.load.told(), told,
            "; %d differences that other primaries are known for" % tree.passed_over if tree.passed_over else "",
            time.monotonic() - begin), flush=True)
    except (Fault, OSError, TimeoutError, divergence.Refused) as fault:
        print("FAILED: %s, seed %s: %s\n(logs: %s)" % (name, seed, fault, folder), flush=True)
        raise Failed from None
    finally:
        tree.end()
    shutil.rmtree(folder)


def run_all(options, top):
    programs = find_programs(options, top)
    failed = 0
    if options.storm:
        r = random.Random("storm %s" % options.seed)
        deadline = time.monotonic() + options.seconds
        chains = [chain for chain in options.only or CHAINS if can(chain.split("-"), "disk", programs)]
        number = 0
        while time.monotonic() < deadline:
            number += 1
            chain = chains[(number - 1) % len(chains)]
            seed = "%s/%d" % (options.seed, number)
            more = WAYS[r.choice(storm_ways(chain.split("-")))][0]
            length = min(options.length, max(5, deadline - time.monotonic()))

            def do(tree, folder):
                storm = Storm(tree, random.Random("events %s" % seed))
                storm.run(length, folder)
                return "; " + storm.told()
            try:
                with_tree("storm %d %s" % (number, chain), chain.split("-"), programs, top, options, seed, more, do)
            except Failed:
                failed += 1
    else:
        for chain, way in cases_of(options, programs):
            for round in range(options.rounds):
                seed = "%s/%s/%s/%d" % (options.seed, chain, way, round)
                try:
                    with_tree("%s by %s %d" % (chain, way, round), chain.split("-"), programs, top, options, seed,
                              WAYS[way][0], lambda tree, folder: run_case(tree, way))
                except Failed:
                    failed += 1
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--peer", default=os.environ.get("VALKEY_PEER"), help="a real Valkey 9.1")
    parser.add_argument("--redis", default=os.environ.get("REDIS_PEER"), help="a Redis 7 (the system's)")
    parser.add_argument("--port", type=int, default=24800)
    parser.add_argument("--seed", default=str(random.randrange(10 ** 6)))
    parser.add_argument("--only", action="append", metavar="CHAIN", help="such as valkey-ours-valkey; may be repeated")
    parser.add_argument("--way", action="append", choices=list(WAYS))
    parser.add_argument("--rounds", type=int, default=1, help="of each case")
    parser.add_argument("--quick", action="store_true", help="some cases")
    parser.add_argument("--evidence", action="store_true", help="the first primary logs each command, to be looked at")
    parser.add_argument("--storm", action="store_true")
    parser.add_argument("--seconds", type=float, default=60, help="how long the storm lasts")
    parser.add_argument("--length", type=float, default=45, help="seconds with one tree")
    options = parser.parse_args()
    print("seed %s" % options.seed, flush=True)
    top = tempfile.mkdtemp(prefix="interop-", dir=os.environ.get("TMPDIR"))
    if run_all(options, top):
        raise SystemExit(1)
    shutil.rmtree(top)


if __name__ == "__main__":
    main()
