#!/usr/bin/env python3
"""faults.py -- replication over bad networks, with servers that are killed, full disks and roles that change.

A round is a run of a few servers under load, drawn from a seed, of one of the kinds below. Each ends in the same way:
the network is good again, all servers must be in sync with the primary and have the same dataset and the same bytes of
the replication stream at the same offsets, no log may have an error, there may be no more full synchronizations than
the faults explain, and writes that WAIT has confirmed must be on the servers that confirmed them.

    faults.py --server PATH --seconds 600 --seed 7
    faults.py --server PATH --quick                 each kind once or twice, with a fixed seed
    faults.py --server PATH --round 7.12            that round again
    faults.py --server PATH --only chain            rounds of this kind

Exit code 0: all rounds have passed. 1: one has failed; the folder with the logs is named.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import errno
import mmap
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time

from fleet import ROOT, Connection, Fault, Node, complaints, eventually, same_data

QUICK_SEED = 4
BACKLOG = 4 << 20
# Ways of sending a dataset: settings of all servers, and those of the receiver.
WAYS = {
    "file": ["--repl-diskless-sync", "no"],
    "file-flush": ["--repl-diskless-sync", "no", "--repl-diskless-load", "flush-before-load"],
    "direct": ["--repl-diskless-load", "disabled"],
    "direct-flush": ["--repl-diskless-load", "flush-before-load"],
    "direct-empty": ["--repl-diskless-load", "on-empty-db"],
    "direct-swap": ["--repl-diskless-load", "swapdb"],
    "dual": ["--dual-channel-replication-enabled", "yes", "--repl-diskless-load", "disabled"],
    "dual-flush": ["--dual-channel-replication-enabled", "yes", "--repl-diskless-load", "flush-before-load"],
    "dual-swap": ["--dual-channel-replication-enabled", "yes", "--repl-diskless-load", "swapdb"],
}
KINDS = {}


def kind(function):
    """Declares a kind of round: a function of a Round."""
    KINDS[function.__name__] = function
    return function


# ---- Load ----

class Writer(threading.Thread):
    """Writes to a server, and notes what WAIT has confirmed: each of its keys only grows."""

    def __init__(self, number, node, pause=0.004, value=100, sure=0.3):
        super().__init__(daemon=True)
        self.number, self.node, self.pause, self.value, self.sure = number, node, pause, value, sure
        self.rng = random.Random(number)
        self.confirmed = {}
        self.count = 0
        self.last = "nothing"
        self.ends = False

    def run(self):
        link = None
        while not self.ends:
            try:
                if link is None:
                    link = Connection(self.node.port)
                    link.sock.settimeout(30)
                self.write(link)
                time.sleep(self.pause)
            except (OSError, ConnectionError, ValueError) as error:
                self.last = str(error)
                if link:
                    link.close()
                link = None
                time.sleep(0.02)
        if link:
            link.close()

    def some(self):
        """Returns commands of all kinds, some in a transaction."""
        rng, text = self.rng, b"x" * self.rng.randrange(self.value)
        key = b"%d:%d" % (self.number, rng.randrange(300))
        own = [[[b"SET", b"s" + key, text]], [[b"SET", b"t" + key, text, b"PX", b"%d" % rng.randrange(1, 3000)]],
               [[b"INCR", b"n" + key]], [[b"RPUSH", b"l" + key, text, text], [b"LTRIM", b"l" + key, b"-20", b"-1"]],
               [[b"HSET", b"h" + key, b"%d" % rng.randrange(30), text]],
               [[b"HEXPIRE", b"h" + key, b"%d" % rng.randrange(1, 3), b"FIELDS", b"1", b"%d" % rng.randrange(30)]],
               [[b"ZADD", b"z" + key, b"%d" % rng.randrange(99), b"%d" % rng.randrange(99)]],
               [[b"XADD", b"x" + key, b"MAXLEN", b"30", b"*", b"f", text]],
               [[b"SADD", b"e" + key, b"%d" % rng.randrange(99)], [b"SPOP", b"e" + key]],
               [[b"DEL", b"l" + key, b"z" + key]],
               [[b"EVAL", b"for i=1,20 do redis.call('INCR', KEYS[1]..i) end", b"1", b"v" + key]],
               [[b"SELECT", b"%d" % rng.randrange(3)]]]
        commands = [command for _ in range(rng.randrange(1, 6)) for command in rng.choice(own)]
        return [[b"MULTI"], *commands, [b"EXEC"]] if rng.random() < 0.3 else commands

    def write(self, link):
        commands = self.some()
        sure = self.rng.random() < self.sure
        key = b"w%d:%d" % (self.number, self.count % 50)
        if sure:
            self.count += 1
            commands += [[b"SELECT", b"0"], [b"SET", key, b"%d" % self.count], [b"WAIT", b"1", b"100"]]
        count = self.count
        link.send(commands)
        replies = [link.reply()[0] for _ in commands]
        for reply in replies:
            if reply.startswith((b"-LOADING", b"-READONLY", b"-MISCONF", b"-MASTERDOWN", b"-OOM", b"-ERR WAIT")):
                raise ConnectionError(reply)
        if sure and int(replies[-1][1:]) >= 1:
            self.confirmed[key] = count


def check_confirmed(node, confirmed):
    node.ask("SELECT", 0)
    for key, count in confirmed.items():
        value = node.ask("GET", key)
        if value is None or int(value) < count:
            raise Fault("%s was confirmed with %d, and is %s on %s" % (key, count, value, node.name))


# ---- A round ----

class Round:
    """Servers and writers of a round, and the checks at its end."""

    def __init__(self, options, name, kind_name):
        self.options, self.name, self.kind = options, name, kind_name
        self.rng = random.Random("round %s" % name)
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="replicas-%s-" % name, dir=options.folder))
        self.nodes, self.writers, self.mounts = [], [], []
        self.notes = []
        self.names = 0

    def note(self, text, *values):
        self.notes.append(text % values)

    def node(self, *more, way=None, environment=None):
        number = len(self.nodes)
        arguments = ["--repl-diskless-sync-delay", "0", "--save", "", "--repl-ping-replica-period", "1",
                     "--repl-timeout", "10", "--repl-backlog-size", str(BACKLOG), "--loglevel", "debug",
                     "--shutdown-timeout", "1", "--rdbcompression", "no", *self.options.arguments, *(WAYS[way] if way else []), *map(str, more)]
        node = Node("node-%d" % number, self.options.server, self.folder, self.options.port + number, arguments)
        self.nodes.append(node)
        return node.up(environment)

    def pair(self, way, *more):
        """Starts a primary with data, and a server that is not its replica yet."""
        primary = self.node(*more, way=way)
        self.fill(primary)
        return primary, self.node(*more, way=way)

    def fill(self, node, keys=3000, size=500):
        node.ask("DEBUG", "POPULATE", keys, "filled", size)

    def follow(self, node, primary, direct=False):
        """Makes node a replica, by another name of the host each time, so that it connects at once."""
        self.names += 1
        answer = node.ask("REPLICAOF", ("127.0.0.1", "127.1")[self.names % 2], primary.port if direct else
                          primary.proxy.port)
        if answer != b"+OK":
            raise Fault("REPLICAOF: %s" % answer)

    def load(self, node, count=2, **how):
        fresh = [Writer(len(self.writers) + i, node, **how) for i in range(count)]
        self.writers += fresh
        for writer in fresh:
            writer.start()
        return fresh

    def stop(self):
        for writer in self.writers:
            writer.ends = True
        for writer in self.writers:
            writer.join(60)

    def confirmed(self):
        return {key: count for writer in self.writers for key, count in writer.confirmed.items()}

    def heal(self):
        for node in self.nodes:
            node.proxy.heal()

    def up(self, node, limit=60):
        eventually(lambda: "%s is up (%s)" % (node.name, node.log_text()[-600:]),
                   lambda: node.field("master_link_status") == "up", limit)

    def ends_well(self, primary, replicas, confirmed=True, fulls=None):
        """Ends the writes and the faults, and checks the result."""
        self.heal()
        self.stop()
        for node in replicas:
            self.wake(node)
        same_data(primary, replicas, 120)
        for node in replicas:
            same_stream(primary, node)
        if confirmed:
            for node in (primary, *replicas):
                check_confirmed(node, self.confirmed())
        if fulls is not None:
            self.bounded(primary, fulls)

    def wake(self, node):
        """Makes a replica reconnect at once: after many failures it would pause before the next try."""
        if node.field("master_link_status") != "up" and "in a row have failed" in node.log_text():
            host, port = node.field("master_host"), node.field("master_port")
            node.ask("REPLICAOF", "127.1" if host == "127.0.0.1" else "127.0.0.1", port)

    def bounded(self, primary, most):
        full = int(primary.field("sync_full", "stats"))
        if full > most:
            raise Fault("%d full synchronizations, at most %d were to be" % (full, most))

    def end(self):
        for writer in self.writers:
            writer.ends = True
        for node in self.nodes:
            node.end()
            node.proxy.close()
        for path in self.mounts:
            subprocess.run(["umount", "-l", path], check=False)

    def play(self):
        try:
            KINDS[self.kind](self)
            faults = complaints(self.nodes)
            if faults:
                raise Fault("\n".join(faults))
        finally:
            self.end()


def stream_part(node, name, begin, end):
    """Returns bytes of the replication stream as a replica of NODE gets them."""
    link = Connection(node.port)
    try:
        link.sock.settimeout(20)
        link.ask([b"REPLCONF", b"capa", b"eof", b"capa", b"psync2"])
        link.send([[b"PSYNC", name.encode(), b"%d" % (begin + 1)]])
        while b"\r\n" not in link.buf:
            link.fill()
        line, _, rest = bytes(link.buf).partition(b"\r\n")
        if not line.startswith(b"+CONTINUE"):
            raise Fault("%s does not know its own stream: %s" % (node.name, line))
        while len(rest) < end - begin:
            rest += link.sock.recv(1 << 16)
        return rest[:end - begin]
    finally:
        link.close()


def same_stream(one, other):
    """Checks that the backlogs of both have the same bytes at the same offsets."""
    names = [node.field("master_replid") for node in (one, other)]
    if names[0] != names[1]:
        raise Fault("%s and %s are in step in different streams" % (one.name, other.name))
    if "0" in (one.field("repl_backlog_active"), other.field("repl_backlog_active")):
        return
    begin = max(int(node.field("repl_backlog_first_byte_offset")) - 1 for node in (one, other))
    end = min(int(node.field("master_repl_offset")) for node in (one, other))
    if begin < end and stream_part(one, names[0], begin, end) != stream_part(other, names[0], begin, end):
        raise Fault("%s and %s have other bytes at the same offsets (%d to %d)" % (one.name, other.name, begin, end))


# ---- Networks ----

def disturb(game, proxies, seconds):
    """Disturbs the network for a while. Returns how often connections were broken."""
    rng, cuts = game.rng, 0
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        proxy = rng.choice(proxies)
        what = rng.choice(["cut", "cut within", "cut within", "delay", "throttle", "stall", "refuse", "good"])
        if what == "cut":
            proxy.cut()
            cuts += 1
        elif what == "cut within":
            proxy.cut_within(int(10 ** rng.uniform(0, 6.3)))
            cuts += 1
        elif what == "delay":
            proxy.delay_s = rng.uniform(0, 0.05)
        elif what == "throttle":
            proxy.bytes_per_s = int(10 ** rng.uniform(4.7, 7))
        elif what == "stall":
            proxy.stalls = True
            time.sleep(rng.uniform(0, 0.5))
            proxy.stalls = False
        elif what == "refuse":
            proxy.refuse()
            cuts += 1
            time.sleep(rng.uniform(0, 0.3))
            proxy.refuses = False
        else:
            proxy.heal()
        time.sleep(rng.uniform(0, 0.4))
    return cuts


@kind
def network(game):
    """A replica whose connections are delayed, throttled, stalled, refused, and cut at any byte."""
    way = game.way
    primary, replica = game.pair(way)
    game.load(primary)
    game.follow(replica, primary)
    cuts = disturb(game, [primary.proxy], game.rng.uniform(2, 5))
    game.note("%s, %d cuts", way, cuts)
    # Each cut may cause one, and so may wake() at the end.
    game.ends_well(primary, [replica], fulls=cuts + 2)


@kind
def chain(game):
    """A chain of three servers whose links are cut; each must have the same bytes."""
    way = game.way
    primary, middle = game.pair(way)
    last = game.node(way=way)
    game.load(primary)
    game.follow(middle, primary)
    game.follow(last, middle)
    game.up(last)
    before = [int(node.field("sync_full", "stats")) for node in (primary, middle)]
    for _ in range(game.rng.randrange(4, 12)):
        link = game.rng.choice([primary, middle]).proxy
        if game.rng.random() < 0.5:
            link.cut()
        else:
            link.cut_within(int(10 ** game.rng.uniform(0, 5)))
        time.sleep(game.rng.uniform(0.05, 0.4))
    game.ends_well(primary, [middle, last])
    # The backlog is larger than the writes during a reconnection.
    after = [int(node.field("sync_full", "stats")) for node in (primary, middle)]
    game.note("%s, full synchronizations %s, then %s", way, before, after)
    if after != before:
        raise Fault("full synchronizations for links that were cut: %s, then %s" % (before, after))


@kind
def overrun(game):
    """A link that hangs until the missing bytes are no longer in the backlog: exactly one more full synchronization."""
    way = game.way
    primary, replica = game.pair(way, "--repl-backlog-size", "64kb")
    game.load(primary, value=20000)
    game.follow(replica, primary)
    game.up(replica)
    for round_number in range(game.rng.randrange(1, 3)):
        primary.proxy.refuse()
        begin = int(primary.field("master_repl_offset"))
        eventually("400 kB are written", lambda: int(primary.field("master_repl_offset")) > begin + 400000)
        game.heal()
        game.up(replica)
    game.note("%s, %d times", way, round_number + 1)
    game.ends_well(primary, [replica], fulls=2 + round_number)


# ---- Deaths ----

def replica_state(primary):
    return (primary.field("slave0") or "") + (primary.field("slave1") or "")


def reach_handshake(game, primary, replica):
    primary.proxy.stalls = True
    game.follow(replica, primary)
    eventually("handshake", lambda: replica.ask("ROLE")[3] in (b"handshake", b"connecting"))


def reach_before_reply(game, primary, replica):
    """Reaches the phase in which the primary has got PSYNC and its reply is on the way."""
    primary.ask("CONFIG", "SET", "repl-diskless-sync-delay", 3)
    game.follow(replica, primary)
    eventually("it waits", lambda: "state=wait_bgsave" in replica_state(primary))


def reach_child(game, primary, replica):
    primary.ask("CONFIG", "SET", "rdb-key-save-delay", 300)
    game.follow(replica, primary)
    eventually("the child writes", lambda: primary.field("rdb_bgsave_in_progress", "persistence") == "1" or
               "state=wait_bgsave" in replica_state(primary))


def reach_transfer(game, primary, replica):
    primary.proxy.bytes_per_s = 400000
    game.follow(replica, primary)
    eventually("bytes come", lambda: int(replica.field("master_sync_read_bytes") or 0) > 10000)


def reach_loading(game, primary, replica):
    replica.ask("CONFIG", "SET", "key-load-delay", 500)
    game.follow(replica, primary)
    eventually("it loads", lambda: replica.field("loading", "persistence") == "1" or
               replica.field("async_loading", "persistence") == "1")


def reach_before_ack(game, primary, replica):
    """Reaches the phase in which the replica has loaded, and the primary does not know it."""
    game.follow(replica, primary)
    eventually("all is sent", lambda: primary.proxy.passed > 1000000)
    primary.proxy.deaf = True
    eventually("it has loaded", lambda: replica.field("master_link_status") == "up" or
               replica.field("loading", "persistence") == "0" and "Finished with success" in replica.log_text())


def reach_anything(game, primary, replica):
    game.follow(replica, primary)
    time.sleep(10 ** game.rng.uniform(-3, 0))


PHASES = [reach_handshake, reach_before_reply, reach_child, reach_transfer, reach_loading, reach_before_ack,
          reach_anything]


@kind
def kill(game):
    """kill -9 of either, at each phase of a synchronization."""
    rng, way = game.rng, game.way
    reach = game.draw(PHASES)
    victim_is_primary, persistent = rng.random() < 0.5, rng.random() < 0.5
    log = ["--appendonly", "yes", "--appendfsync", "always"] if persistent else []
    primary, replica = game.pair(way, *log, "--enable-protected-configs", "yes")
    game.load(primary)
    game.note("%s, %s of %s, %s", way, reach.__name__, "primary" if victim_is_primary else "replica",
              "with a log" if persistent else "without")
    reach(game, primary, replica)
    victim = primary if victim_is_primary else replica
    victim.die()
    if rng.random() < 0.5:
        game.heal()
    time.sleep(rng.choice([0, 0.3, 1.2]))
    victim.up()
    game.heal()
    for node in (primary, replica):
        node.ask("CONFIG", "SET", "rdb-key-save-delay", 0, "key-load-delay", 0, "repl-diskless-sync-delay", 0)
    if not victim_is_primary:
        game.follow(replica, primary)
    game.up(replica)
    time.sleep(0.3)
    # A primary without a log starts empty, and so do its replicas.
    game.ends_well(primary, [replica], confirmed=persistent or not victim_is_primary, fulls=3)


@kind
def promotion(game):
    """The middle or the end of a chain becomes the primary; the old one returns as a replica."""
    rng, way = game.rng, game.way
    primary, middle = game.pair(way)
    last = game.node(way=way)
    game.load(primary)
    game.follow(middle, primary)
    game.follow(last, middle)
    game.up(last)
    time.sleep(rng.uniform(0.2, 1))
    new = rng.choice([middle, last])
    killed = rng.random() < 0.5
    game.stop()
    if killed:
        primary.die()
    else:
        # It must lose its writes if no other server has them.
        primary.proxy.refuse()
        primary.ask("SET", "alone", "1")
    if new is middle:  # only writes that reached the promoted server are there then
        confirmed = {writer: dict(writer.confirmed) for writer in game.writers}
        for kept in confirmed.values():
            check_confirmed(middle, kept)
    else:
        eventually("the last has what the middle has",
                   lambda: last.field("master_repl_offset") == middle.field("master_repl_offset"))
    before = int(new.field("sync_full", "stats"))
    new.ask("REPLICAOF", "NO", "ONE")
    game.load(new, 1)
    other = last if new is middle else middle
    if new is last:
        game.follow(middle, last)
    if killed:
        primary.up()
    game.heal()
    game.follow(primary, new)
    game.up(primary)
    game.up(other)
    game.note("%s, %s, the old one %s", way, new.name, "was killed" if killed else "lived")
    # The old primary must lose some writes; the others need not.
    game.ends_well(new, [primary, other], fulls=before + 1)
    if primary.ask("EXISTS", "alone") != b":0":
        raise Fault("the old primary has a write that nobody else has")


@kind
def restart(game):
    """A replica that shuts down, or is killed after a snapshot, continues by a partial synchronization."""
    rng, way = game.rng, game.way
    primary, replica = game.pair(way, "--repl-backlog-size", "64mb")
    replica.arguments += ["--replicaof", "127.0.0.1 %d" % primary.proxy.port]
    game.load(primary)
    game.follow(replica, primary)
    game.up(replica)
    times = rng.randrange(1, 4)
    for _ in range(times):
        time.sleep(rng.uniform(0.1, 0.5))
        if rng.random() < 0.5:
            eventually("SAVE", lambda: replica.ask("SAVE") == b"+OK")
            time.sleep(rng.uniform(0, 0.3))
            replica.die()
        else:
            replica.ask("CONFIG", "SET", "save", "3600 1")
            replica.process.terminate()
            replica.reap()
            replica.link = None
        time.sleep(rng.uniform(0, 0.5))
        replica.up()
        game.up(replica)
    game.note("%s, %d times", way, times)
    game.ends_well(primary, [replica], fulls=1)


# ---- Roles ----

@kind
def swap(game):
    """Two servers that are replicas of each other, and one that is its own: they wait, and are released."""
    a, b = game.pair(game.way)
    single = game.node()
    game.follow(b, a)
    game.up(b)
    game.follow(a, b)
    single.ask("SET", "mine", "1")
    game.follow(single, single, direct=game.rng.random() < 0.5)
    time.sleep(2.5)
    for node in (a, b, single):
        if node.field("role") != "slave" or node.ask("PING") != b"+PONG":
            raise Fault("%s is %s" % (node.name, node.field("role")))
    if single.field("master_link_status") == "up" or single.ask("GET", "mine") != b"1":
        raise Fault("it follows itself")
    single.ask("REPLICAOF", "NO", "ONE")
    if single.ask("SET", "mine", "2") != b"+OK":
        raise Fault("it is no primary again")
    new, other = (a, b) if game.rng.random() < 0.5 else (b, a)
    new.ask("REPLICAOF", "NO", "ONE")
    game.load(new, 1)
    game.up(other)
    time.sleep(0.3)
    game.ends_well(new, [other], fulls=2)


@kind
def loading(game):
    """A primary that is loading itself: a replica gets an error, and keeps its dataset."""
    primary, replica = game.pair(game.way, "--enable-protected-configs", "yes")
    game.follow(replica, primary)
    game.up(replica)
    size = replica.ask("DBSIZE")
    primary.ask("CONFIG", "SET", "save", "3600 1")
    primary.process.terminate()
    primary.reap()
    primary.link = None
    primary.start(None, ["--key-load-delay", "500"])
    eventually("it is loading", lambda: "is loading" in primary.ask("GET", "x"))
    eventually("who asks is told", lambda: "unable to PSYNC" in replica.log_text() or
               primary.field("loading", "persistence") == "0")
    if replica.ask("DBSIZE") != size:
        raise Fault("it has thrown away what it had")
    primary.link = primary.await_ready(60)
    game.load(primary)
    game.up(replica)
    time.sleep(0.3)
    # It was in sync when the snapshot was made.
    game.ends_well(primary, [replica], fulls=0)


# ---- Limits ----

@kind
def slow(game):
    """A replica at a tenth of the speed of writers synchronizes, with one full synchronization."""
    primary, replica = game.pair(game.way, "--client-output-buffer-limit", "replica 8mb 0 0", "--repl-backlog-size",
                                 "64kb")
    writers = game.load(primary, 3, pause=0, value=50000, sure=0.03)
    begin = int(primary.field("master_repl_offset"))
    time.sleep(1)
    pace = int(primary.field("total_net_input_bytes", "stats"))
    primary.proxy.bytes_per_s = pace // 10
    game.follow(replica, primary)
    eventually("writers are slowed", lambda: primary.field("paused_reason", "clients") == "slow_replica")
    game.up(replica, 120)
    time.sleep(2)
    now = int(primary.field("master_repl_offset"))
    eventually(lambda: "writers go on: %s" % [writer.last for writer in writers],
               lambda: int(primary.field("master_repl_offset")) > now + 500000)
    game.note("%s, %d kB/s and a tenth of it, %d MB written", game.way, pace // 1000,
              (int(primary.field("master_repl_offset")) - begin) >> 20)
    game.stop()
    game.ends_well(primary, [replica], fulls=1)
    if primary.field("client_output_buffer_limit_disconnections", "stats") != "0":
        raise Fault("it was sent away for its limit")


@kind
def limit(game):
    """The output limit is reached during a synchronization, as writers are not slowed: the replica is closed, and
    synchronizes when the load is lower."""
    primary, replica = game.pair(game.way, "--client-output-buffer-limit", "replica 2mb 0 0", "--repl-backlog-size",
                                 "64kb", "--repl-slow-writers", "no")
    game.load(primary, 3, pause=0, value=50000, sure=0.03)
    primary.proxy.bytes_per_s = 300000
    game.follow(replica, primary)
    eventually("it is sent away", lambda: primary.field("client_output_buffer_limit_disconnections", "stats") != "0")
    time.sleep(1)
    game.stop()
    full = int(primary.field("sync_full", "stats"))
    game.note("%s, %d full synchronizations", game.way, full)
    game.ends_well(primary, [replica], confirmed=False, fulls=full + 2)


@kind
def large(game):
    """A value larger than the output limit reaches the replica."""
    primary, replica = game.pair(game.way, "--client-output-buffer-limit", "replica 1mb 0 0", "--repl-backlog-size",
                                 "64kb")
    game.follow(replica, primary)
    game.up(replica)
    game.load(primary, 1)
    for i in range(4):
        primary.ask("SET", "large:%d" % i, b"x" * game.rng.randrange(1 << 20, 6 << 20))
        time.sleep(0.3)
    # Output beyond the limit at once may break the link, but not again for the same value.
    game.ends_well(primary, [replica], fulls=1 + 4)
    game.note("%s, %s full synchronizations", game.way, primary.field("sync_full", "stats"))


@kind
def idle(game):
    """Idle servers sleep."""
    primary, replica = game.pair(game.way, "--io-threads", 3, "--io-threads-always-active", "yes", "--save", "")
    game.follow(replica, primary)
    game.up(replica)
    time.sleep(1.5)
    before = [switches(node) for node in (primary, replica)]
    time.sleep(2)
    rates = [(switches(node) - count) / 2 for node, count in zip((primary, replica), before)]
    game.note("%s, switches in a second: %s", game.way, rates)
    if max(rates) > 400:
        raise Fault("%s switches of threads in a second, with nothing to do" % rates)
    game.ends_well(primary, [replica], fulls=1)


def switches(node):
    """Returns how often its threads have been woken."""
    total = 0
    base = "/proc/%d/task" % node.process.pid
    for thread in os.listdir(base):
        with open("%s/%s/status" % (base, thread), encoding="ascii") as file:
            total += sum(int(line.split()[1]) for line in file if "ctxt_switches" in line)
    return total


# ---- Disks ----

class Unavailable(Exception):
    """A round cannot be run on this machine."""


class SmallDisk:
    """A small file system for a folder, which is filled up."""

    def __init__(self, game, path):
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", path], capture_output=True, check=False)
        if made.returncode:
            raise Unavailable("no file system can be mounted here")
        game.mounts.append(path)
        self.ballast = os.path.join(path, "ballast")
        self.environment = None

    def fill(self):
        with open(self.ballast, "ab", buffering=0) as file:
            try:
                while True:
                    file.write(b"x" * 65536)
            except OSError:
                return

    def clear(self):
        os.unlink(self.ballast)


class ShimDisk:
    """A disk that is full according to tests/crash/disk_shim.c."""

    def __init__(self, game, path):
        if not os.path.exists(game.options.shim):
            raise Unavailable("neither may a file system be mounted, nor is there a shim (--shim)")
        control = os.path.join(game.folder, "control")
        with open(control, "wb") as file:
            file.write(bytes(256))
        with open(control, "r+b") as file:
            self.control = mmap.mmap(file.fileno(), 256)
        self.environment = {"LD_PRELOAD": game.options.shim, "DISK_SHIM_ROOT": path, "DISK_SHIM_CONTROL": control}

    def fill(self):
        struct.pack_into("<q", self.control, 0, errno.ENOSPC)  # write_error
        struct.pack_into("<q", self.control, 8 * 9, -1)  # times

    def clear(self):
        struct.pack_into("<q", self.control, 8 * 9, 0)


def disk_for(game, path):
    os.makedirs(path)
    if game.options.no_mount:
        return ShimDisk(game, path)
    try:
        return SmallDisk(game, path)
    except Unavailable:
        return ShimDisk(game, path)


@kind
def disk(game):
    """A replica whose disk is full while it receives the snapshot or writes its log."""
    log = game.rng.random() < 0.5
    way = game.rng.choice(["file", "direct", "dual"])
    primary = game.node(way=way)
    game.fill(primary)
    folder = os.path.join(game.folder, "node-1")
    store = disk_for(game, folder)
    more = ["--appendonly", "yes", "--replica-ignore-disk-write-errors", "yes"] if log else []
    replica = game.node(*more, way=way, environment=store.environment)
    game.load(primary)
    if log:
        game.follow(replica, primary)
        game.up(replica)
        eventually("the log is on", lambda: "append-only file is enabled" in replica.log_text())
        store.fill()
        eventually("the log fails", lambda: "writing to the AOF file" in replica.log_text())
        time.sleep(1)
        game.up(replica)
    else:
        store.fill()
        game.follow(replica, primary)
        eventually("the snapshot fails", lambda: "No space left" in replica.log_text())
        if replica.ask("PING") != b"+PONG":
            raise Fault("it does not answer")
    store.clear()
    game.up(replica, 120)
    left = [name for name in os.listdir(folder) if name.startswith("temp-") and name.endswith(".rdb")]
    if left:
        raise Fault("files are left: %s" % left)
    game.note("%s, %s", way, "its log" if log else "the snapshot")
    game.ends_well(primary, [replica], fulls=6)
    if log:
        eventually("the log is good again", lambda: replica.field("aof_last_write_status", "persistence") == "ok")
        time.sleep(3.2)  # until no key has an expire
        same_data(primary, [replica])
        digest = replica.ask("DEBUG", "DIGEST")
        eventually("nothing waits", lambda: replica.field("aof_rewrite_in_progress", "persistence") == "0" and
                   replica.field("aof_rewrite_scheduled", "persistence") == "0")
        primary.end()
        replica.arguments += ["--replicaof", "127.0.0.1 %d" % primary.port]
        replica.process.terminate()
        replica.reap()
        replica.link = None
        replica.up()
        if replica.ask("DEBUG", "DIGEST") != digest:
            raise Fault("a start from the log finds something else")


# ---- Commands at odd times ----

# Commands that end the server or the connection, pause it, or change its role.
NOT_ASKED = {"shutdown", "monitor", "replicaof", "slaveof", "failover", "sync", "psync", "debug", "quit", "reset",
             "client", "subscribe", "psubscribe", "ssubscribe", "replconf", "config", "hello", "auth", "multi", "exec",
             "acl", "flushall", "flushdb", "save", "bgsave", "bgrewriteaof"}


@kind
def commands(game):
    """Each command to a replica that loads, that has lost its primary, and that waits for its snapshot."""
    primary, replica = game.pair(game.way, "--enable-protected-configs", "yes", "--replica-serve-stale-data", "no")
    game.fill(primary, 4000)
    table = [(row[0].decode(), abs(int(row[1][1:]))) for row in replica.ask("COMMAND")]
    state = game.draw(["loads", "waits", "stale"])
    if state == "loads":
        replica.ask("CONFIG", "SET", "key-load-delay", 2000)
        game.follow(replica, primary)
        eventually("it loads", lambda: replica.field("loading", "persistence") == "1" or
                   replica.field("async_loading", "persistence") == "1")
    elif state == "waits":
        primary.ask("CONFIG", "SET", "rdb-key-save-delay", 2000)
        game.follow(replica, primary)
        eventually("it waits", lambda: "state=wait_bgsave" in replica_state(primary))
    else:
        primary.proxy.refuse()
        game.follow(replica, primary)
    asked = 0
    for name, arity in table:
        if name.lower() in NOT_ASKED:
            continue
        for word in ("0", "k"):
            try:
                replica.ask(name, *[word] * (arity - 1), limit=30)
            except (OSError, ConnectionError) as error:
                raise Fault("%s: %s" % (name, error)) from None
            asked += 1
    for words in (("PSYNC", "?", "-1"), ("SYNC",), ("PSYNC", "x" * 40, "1", "FAILOVER"), ("FAILOVER",), ("SAVE",),
                  ("BGSAVE",), ("BGREWRITEAOF",), ("FLUSHALL",), ("DEBUG", "RELOAD"), ("DEBUG", "LOADAOF"),
                  ("CONFIG", "SET", "repl-diskless-load", "swapdb"), ("MULTI",), ("EXEC",)):
        link = Connection(replica.port)
        link.send([[word.encode() for word in words]])
        try:
            link.reply()
        except ConnectionError:
            pass  # the client was blocked or a replica, and was closed
        link.close()
        if replica.process.poll() is not None:
            raise Fault("it has ended, by %s" % " ".join(words))
    game.note("%s, %s: %d", game.way, state, asked)
    for node in (primary, replica):
        node.ask("CONFIG", "SET", "rdb-key-save-delay", 0, "key-load-delay", 0)
    game.heal()
    game.up(replica, 90)
    game.ends_well(primary, [replica])


# ---- All of them ----

# Each kind once, and kill at each phase.
QUICK = [name for name in KINDS for _ in range(len(PHASES) if name == "kill" else 1)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--port", type=int, default=24700, help="the first of 100")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--quick", action="store_true", help="a fixed seed, each kind once or twice")
    parser.add_argument("--round", help="this one only, as it was printed")
    parser.add_argument("--only", help="kinds, with commas between")
    parser.add_argument("--way", choices=sorted(WAYS), help="how the dataset goes")
    parser.add_argument("--arguments", default="", help="of all servers, beside those they have")
    parser.add_argument("--shim", default=os.path.join(ROOT, "build", "crash", "disk_shim.so"),
                        help="disk_shim.so of tests/crash, where no file system may be mounted")
    parser.add_argument("--no-mount", action="store_true", help="use it in any case")
    parser.add_argument("--keep", action="store_true")
    return parser


def rounds_of(options):
    """Yields (name, kind, number of earlier rounds of this kind), without end."""
    kinds = options.only.split(",") if options.only else QUICK if options.quick else list(KINDS)
    before = dict.fromkeys(KINDS, 0)
    number = 0
    while True:
        name = kinds[number % len(kinds)]
        yield "%d.%d" % (options.seed, number), name, before[name]
        before[name] += 1
        number += 1


def prepare(game, nth):
    """Selects way and phase in rotation, so that a few rounds cover all of them; the seed determines the start."""
    begin, ways = game.options.seed + nth, list(WAYS)
    game.way = game.options.way or ways[(begin + list(KINDS).index(game.kind)) % len(ways)]
    game.draw = lambda choices: choices[begin % len(choices)]


def play(options, name, kind_name, nth):
    game = Round(options, name, kind_name)
    prepare(game, nth)
    begun = time.monotonic()
    print("%-8s %-10s " % (name, kind_name), end="", flush=True)
    try:
        game.play()
        print("%4.1f s  %s" % (time.monotonic() - begun, "; ".join(game.notes)), flush=True)
    except Unavailable as reason:
        print("left out: %s" % reason, flush=True)
    except Exception as problem:  # after any exception the logs are needed
        print("FAILED (%s %s): %s: %s\nlogs: %s (--round %s plays it again)" % (
            game.way, "; ".join(game.notes), type(problem).__name__, problem, game.folder, name), flush=True)
        return False
    if not options.keep:
        shutil.rmtree(game.folder)
    return True


def main():
    options = arguments().parse_args()
    options.server = os.path.abspath(options.server)
    options.arguments = options.arguments.split()
    options.folder = os.environ.get("TMPDIR")
    if options.quick:
        options.seed = QUICK_SEED
    if options.round:
        seed, number = options.round.split(".")
        options.seed = int(seed)
    print("seed %d" % options.seed, flush=True)
    begun, count = time.monotonic(), 0
    for name, kind_name, nth in rounds_of(options):
        if options.round and name != options.round:
            continue
        if not play(options, name, kind_name, nth):
            return 1
        count += 1
        over = count >= len(QUICK) if options.quick else time.monotonic() - begun >= options.seconds
        if options.round or over:
            break
    print("%d rounds" % count)
    return 0


if __name__ == "__main__":
    sys.exit(main())
