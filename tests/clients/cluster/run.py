#!/usr/bin/env python3
"""run.py -- runs the program of one client library against a cluster, and fails the cluster over under its writes.

    run.py --server PATH --port N --name NAME -- PROGRAM...     (tests/clients/cluster.sh calls it for each library)

Starts six servers (tests/cluster/nodes.py) and PROGRAM PORT LOG. The program runs its cases, prints "load begins", and
writes as load() of load.py does: each key is new, and each acknowledged one is a line of LOG, as is each error. Under
this load, run.py
  1. has a replica of the first shard take over by CLUSTER FAILOVER: the library may report no error;
  2. waits until a replica of the second shard has all its writes (WAIT), and kills the primary with kill -9: the
     library must go on writing to all shards by itself; then the primary starts again;
  3. ends the load and compares: a key that was acknowledged is there, with its value. A key of the second shard
     may be missing only if it was acknowledged after the WAIT and before the end of the primary.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import binascii
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, "tests", "cluster"))

from nodes import SHARDS, SLOTS, Cluster, Connection, Fault, eventually  # noqa: E402

TIMEOUT_MS = 2000
LIMIT_S = 120
STEP = 50  # writes to each shard in each phase


def shard_of(key):
    slot = binascii.crc_hqx(key, 0) % SLOTS  # the keys of the load have no hash tags
    return next(s for s in range(SHARDS) if slot < SLOTS * (s + 1) // SHARDS)


class Program:
    """The client's process, and what it has written to its log so far."""

    def __init__(self, words, log):
        open(log, "wb").close()
        self.log = open(log, "rb")
        self.rest = b""
        self.acked = []   # (key, shard), in the order of the log
        self.counts = [0] * SHARDS
        self.errors = []
        self.loading = threading.Event()
        self.process = subprocess.Popen([*words, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.echo = threading.Thread(target=self.print_output, daemon=True)
        self.echo.start()

    def print_output(self):
        for line in self.process.stdout:
            if line.strip() == b"load begins":
                self.loading.set()
            else:
                print("    " + line.decode("utf-8", "replace").rstrip(), flush=True)

    def read(self):
        lines = (self.rest + self.log.read()).split(b"\n")
        self.rest = lines.pop()
        for line in lines:
            word, _, text = line.partition(b" ")
            if word == b"ok":
                shard = shard_of(text)
                self.acked.append((text, shard))
                self.counts[shard] += 1
            else:
                self.errors.append(text.decode("utf-8", "replace"))

    def await_load(self):
        deadline = time.monotonic() + LIMIT_S
        while not self.loading.wait(0.05):
            if self.process.poll() is not None:
                raise Fault("the program has ended, exit code %d" % self.process.returncode)
            if time.monotonic() > deadline:
                raise Fault("the cases do not end")

    def progress(self, what, shards=range(SHARDS)):
        """Waits until the program has written to each shard."""
        self.read()
        goals = [count + STEP for count in self.counts]
        deadline = time.monotonic() + LIMIT_S
        while any(self.counts[s] < goals[s] for s in shards):
            if self.process.poll() is not None:
                raise Fault("%s: the program has ended, exit code %d" % (what, self.process.returncode))
            if time.monotonic() > deadline:
                raise Fault("%s: no progress: %s of %s; last errors: %s" % (
                    what, self.counts, goals, self.errors[-5:]))
            time.sleep(0.01)
            self.read()

    def stop(self):
        """Ends the load; returns the exit code of the program."""
        self.process.stdin.write(b"stop\n")
        self.process.stdin.close()
        code = self.process.wait(LIMIT_S)
        self.echo.join(10)
        self.read()
        return code

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def primary_of(cluster, shard):
    """Returns the primary and the replica that shard has now."""
    primary = next(row[2] for row in cluster.all[2].slots() if row[0] == SLOTS * shard // SHARDS)
    return next(pair for pair in cluster.pairs() if pair[0].id == primary.decode())


def unlisted(cluster):
    """Returns a text if a node does not list each replica: CLUSTER SLOTS has none whose offset is not known."""
    for node in cluster.all:
        if any(len(row[3]) != 1 for row in node.slots()):
            return "%s lists %s" % (node.name, node.slots())
    return None


def manual_failover(cluster, program):
    _, replica = primary_of(cluster, 0)
    replica.must("CLUSTER", "FAILOVER")
    eventually("the replica has taken over", lambda: None if replica.ask("ROLE")[0] == b"master" else "not yet")
    program.progress("after CLUSTER FAILOVER")
    eventually("the former primary follows", lambda: None if primary_of(cluster, 0)[0] is replica else "not yet")
    if program.errors:
        raise Fault("%d errors during CLUSTER FAILOVER, the first: %s" % (len(program.errors), program.errors[0]))


def kill_primary(cluster, program, only_moved):
    """Returns (from, to, seconds): the part of the log in which keys of the second shard may be lost, and how long
    the shard took no writes."""
    primary, replica = primary_of(cluster, 1)
    tag = cluster.tag_of(1)

    def barrier():
        program.read()
        barrier.position = len(program.acked)
        primary.must("SET", b"barrier:{%s}" % tag, "1")
        return None if primary.ask("WAIT", 1, 1000) == b":1" else "no replica has the writes"

    eventually("a replica has the writes of the second shard", barrier)
    primary.die()
    program.read()
    killed, began = len(program.acked), time.monotonic()
    if only_moved:
        eventually("a replica has taken over", lambda: None if replica.ask("ROLE")[0] == b"master" else "not yet")
        primary.up()
    while program.counts[1] == sum(shard == 1 for _, shard in program.acked[:killed]):
        if time.monotonic() - began > LIMIT_S:
            raise Fault("no write to the shard of the killed primary; last errors: %s\n%s" % (
                program.errors[-5:], cluster.picture()))
        time.sleep(0.01)
        program.read()
    took = time.monotonic() - began
    program.progress("after kill -9 of a primary")
    if not only_moved:
        primary.up()
    program.progress("after the start of the killed primary")
    return barrier.position, killed, took


def compare(cluster, program, window):
    """Compares the keys of the cluster with the log."""
    values = {}
    for shard in range(SHARDS):
        node = primary_of(cluster, shard)[0]
        link = Connection(node.port)
        keys = link.ask([b"KEYS", b"load:*"])[1]
        for at in range(0, len(keys), 1000):
            part = keys[at:at + 1000]
            link.send([[b"GET", key] for key in part])
            for key in part:
                values[key] = link.reply()[1]
        link.close()
    begin, killed = window
    # The last replies of the killed primary may be logged after its end: one of each writer.
    late, may_lose = set(), set()
    for at, (key, shard) in enumerate(program.acked):
        writer = key.split(b":")[1]
        if at >= killed and writer not in late:
            late.add(writer)
            if shard == 1:
                may_lose.add(key)
        elif begin <= at < killed and shard == 1:
            may_lose.add(key)
    lost = [key for key, _ in program.acked if values.get(key) != key]
    wrong = [key for key in lost if key not in may_lose or key in values]
    if wrong:
        raise Fault("%d of %d acknowledged writes are lost, among them %s (window of the kill: %s)" % (
            len(wrong), len(program.acked), wrong[:5], window))
    return len(lost)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--port", type=int, required=True, help="of the first of six nodes; buses are 100 above")
    parser.add_argument("--name", required=True)
    parser.add_argument("--only-moved", action="store_true",
                        help="the library looks for nodes after MOVED alone: the killed one starts again at once")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(os.path.join(ROOT, "tests", "tmp"), exist_ok=True)
    folder = tempfile.mkdtemp(prefix="clients-cluster-", dir=os.path.join(ROOT, "tests", "tmp"))
    cluster = Cluster(["ours"] * (2 * SHARDS), {"ours": os.path.abspath(options.server)}, folder, options.port, TIMEOUT_MS)
    program, failed, began = None, True, time.monotonic()
    try:
        cluster.up()
        eventually("all nodes list all replicas", lambda: unlisted(cluster))
        started = time.monotonic() - began
        program = Program([*options.program, str(options.port)], os.path.join(folder, "acknowledged"))
        program.await_load()
        loaded = time.monotonic() - began
        program.progress("at the start")
        manual_failover(cluster, program)
        begin, killed, took = kill_primary(cluster, program, options.only_moved)
        code = program.stop()
        cluster.await_agreement()
        lost = compare(cluster, program, (begin, killed))
        cluster.alarms()
        failed = code != 0
        print("%s: %d writes; after kill -9 the shard took none for %.1f s (%d errors), %d lost that no WAIT covered; "
              "%.1f s to start, %.1f s of cases, %.1f s in all" % (
                  options.name, len(program.acked), took, len(program.errors), lost, started, loaded - started,
                  time.monotonic() - began))
    except Fault as problem:
        print("[fail] %s: %s" % (options.name, problem))
    finally:
        if program:
            program.end()
        cluster.end()
    if failed:
        print("[fail] %s: logs are in %s" % (options.name, folder))
        return 1
    shutil.rmtree(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
