#!/usr/bin/env python3
"""power_loss.py -- checks the dataset after a loss of power, at many instants.

A server writes under disk_shim.c while clients load it (load.py). From the log disk_log.py makes states that may be on
disk if the power fails at some instant. The server is started on each, and must have:

  always     all that was answered before that instant is there
  everysec   all that was answered two seconds before it
  no         what is there is a prefix
  snapshots  the last snapshot that was answered for, or a later one, whole
  switched   CONFIG SET changes appendfsync and turns the log off and on: all that was answered before the last write
             that `always` has confirmed, or before the log was turned off

and in each case the dataset is a prefix of the operations, with complete transactions. The server must start. It may
refuse in only one case, and must not have changed a file then: pages in the middle of the unsynced part of an increment
are missing. The part of the file before them must then start, and have all promised writes.

    power_loss.py --server PATH --shim disk_shim.so --seconds 3 --states 100 --seed 7 [--way always]

Exit code 0: each state was right. 1: the first failing one is kept and named.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import hashlib
import os
import random
import re
import shutil
import sys
import tempfile
import time

import aof_text
import contents
from disk_log import MKDIR, OPEN, RENAME, SYNC_END, UNLINK, Disk, put, read_log
from history import Lost
from load import ErrorReply, Load, now_ns
from server import DidNotStart, Server, free_port

PROMISED_MS = 2000
WAYS = ("always", "everysec", "no", "snapshots", "switched")
SWITCHES = [[b"CONFIG", b"SET", name, value] for name, value in (
    (b"appendfsync", b"always"), (b"appendfsync", b"always"), (b"appendfsync", b"everysec"), (b"appendfsync", b"no"),
    (b"appendonly", b"no"), (b"appendonly", b"yes"), (b"appendonly", b"yes"))]
# The error texts for a file with a hole.
HOLE = re.compile(r"Bad file format reading|Error reading the append only file|Unexpected end of file reading")


def settings_of(rng, way):
    arguments = ["--io-threads", rng.choice(["1", "4"]), "--save", ""]
    if way == "snapshots":
        return arguments + ["--appendonly", "no"], [[b"SAVE"], [b"BGSAVE"], [b"BGSAVE"]]
    policy = "always" if way == "switched" else way
    arguments += ["--appendonly", "yes", "--appendfsync", policy, "--aof-use-rdb-preamble", rng.choice(["yes", "no"]),
                  "--auto-aof-rewrite-percentage", rng.choice(["0", "50"]), "--auto-aof-rewrite-min-size", "16kb"]
    if way == "switched":
        return arguments, SWITCHES + [[b"INFO", b"persistence"], [b"BGREWRITEAOF"]]
    return arguments, rng.choice([[[b"BGREWRITEAOF"]], [[b"BGREWRITEAOF"]], [[b"BGREWRITEAOF"], [b"BGSAVE"]], []])


class Recording:
    """A server's life under the shim, and the histories of its clients."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.rng = random.Random("power " + name)
        self.way = options.way or self.rng.choice(WAYS)
        self.arguments, self.chores = settings_of(self.rng, self.way)
        self.top = os.path.realpath(tempfile.mkdtemp(prefix="power-%s-" % name))
        self.root = os.path.join(self.top, "data")
        self.log = os.path.join(self.top, "shim.log")
        self.server = Server(options.server, self.root, options.port, self.arguments)
        self.load = Load(self.rng, options.port, clients=self.rng.choice([2, 4, 8]), queues=1)
        self.snapshots = []  # (when it was known to be complete, time before which acknowledged writes are in it)

    def record(self):
        if not self.options.first_start:
            self.server.start()
            self.server.await_ready().ask([b"SET", b"c-none", b"x"])
            self.server.process.terminate()
            self.server.reap()
        self.disk = Disk(self.root, self.options.any_order)
        arguments = self.options.server_arguments or []
        self.server.start({"LD_PRELOAD": self.options.shim, "DISK_SHIM_ROOT": self.root, "DISK_SHIM_LOG": self.log,
                           "DISK_SHIM_PLANT": self.options.plant or ""}, arguments)
        try:
            self.server.await_ready().ask([b"DEL", b"c-none"])
            self.begun = now_ns()
            self.load.connect(self.chores + [[b"INFO", b"persistence"]])
            # A light load, as each write is a state, and each state is checked.
            self.load.run(self.options.seconds, pace=0.002)
            self.load.settle(10)
        finally:
            self.server.kill()
            self.load.drain()
            self.server.reap()
        self.note_snapshots()
        self.records = read_log(self.log)

    def note_snapshots(self):
        asked = None
        for words, sent, answered, answer in self.load.chores.seen:
            if words[0] in (b"SAVE", b"BGSAVE") and isinstance(answer, bytes) and not isinstance(answer, ErrorReply):
                if words[0] == b"SAVE":
                    self.snapshots.append((answered, sent))
                else:
                    asked = sent
            elif words[0] == b"INFO" and asked and b"rdb_bgsave_in_progress:0" in answer:
                if b"rdb_last_bgsave_status:ok" in answer:
                    self.snapshots.append((answered, asked))
                asked = None

    def instants(self):
        """Returns the numbers of records after which the power fails: at changes of names and syncs, or anywhere."""
        turns = [n for n, r in enumerate(self.records) if r.op in (OPEN, SYNC_END, RENAME, UNLINK, MKDIR)]
        names = [n for n in turns if self.records[n].op in (RENAME, UNLINK, MKDIR, OPEN)]
        chosen = []
        for _ in range(self.options.states):
            way = self.rng.random()
            where = self.rng.choice(names if way < 0.5 and names else turns if way < 0.7 and turns else
                                    range(len(self.records)))
            chosen.append(min(len(self.records) - 2, max(0, where + self.rng.choice((-1, -1, 0, 1, 2)))))
        return sorted(chosen)

    def promised(self, when):
        if self.way == "always":
            return when
        if self.way == "everysec":
            return when - self.options.slack_ms * 1000000
        if self.way == "switched":
            return self.promised_by_switches(when)
        if self.way == "snapshots":
            return max((covers for complete, covers in self.snapshots if complete < when), default=None)
        return None

    def promised_by_switches(self, when):
        """Returns the promises of changing settings at that time, from the clients' view of the order of events."""
        promised, is_on, turning, always_since = 0, True, False, self.begun
        for words, sent, answered, answer in self.load.chores.seen:
            if sent > when:
                break
            known = answered <= when and not isinstance(answer, ErrorReply)
            if words[:2] == [b"CONFIG", b"SET"]:
                if is_on and always_since is not None:
                    promised = max(promised, self.last_confirmed(always_since, sent))
                if words[2] == b"appendfsync":
                    always_since = answered if known and words[3] == b"always" else None
                elif words[3] == b"no":
                    if is_on and known:
                        promised = max(promised, sent)
                    is_on = turning = False
                elif known and not is_on:
                    turning = True
            elif turning and known and b"aof_enabled:1" in answer and b"aof_rewrite_in_progress:0" in answer \
                    and b"aof_rewrite_scheduled:0" in answer:
                is_on, turning = True, False
                always_since = always_since and answered
        if is_on and always_since is not None:
            promised = max(promised, self.last_confirmed(always_since, when))
        return promised

    def last_confirmed(self, since, until):
        """Returns the time just after the last reply, before `until`, to a write sent after `since`."""
        times = [at for history in self.load.histories for sent, at in zip(history.sent, history.acked)
                 if sent > since and at is not None and at < until]
        return max(times) + 1 if times else 0

    def check(self):
        """Gives the disk the records up to each instant. Returns (number of states, None or (folder, text))."""
        fed = tried = 0
        for at in self.instants():
            while fed <= at:
                self.disk.feed(self.records[fed])
                fed += 1
            # Just before the next operation on the disk.
            when = self.records[at + 1].time
            state, holes, less = self.disk.state(self.rng)
            tried += 1
            folder = os.path.join(self.top, "state-%d" % tried, "data")
            put(state, self.root, folder)
            older = aof_text.increments(os.path.join(folder, "appendonlydir"))[:-1]
            if self.options.like_9_1 and less & {os.path.join(self.root, os.path.relpath(p, folder)) for p in older}:
                self.passed_over += 1
                continue
            problem = self.check_state(folder, when, {os.path.relpath(path, self.root) for path in holes})
            if problem:
                return tried, (folder, "after record %d (%r) %s" % (at, self.records[at], problem))
            shutil.rmtree(os.path.dirname(folder))
        return tried, None

    def check_state(self, folder, when, holes):
        shutil.copytree(folder, folder + ".before")
        server = Server(self.options.server, folder, self.options.port + 1, self.arguments)
        try:
            try:
                link = server.start().await_ready()
            except DidNotStart as problem:
                link = self.after_refusal(server, folder, holes, str(problem))
            found = contents.read(link)
            link.close()
            found.pop((0, b"c-none"), None)
            contents.verify(self.load, found, self.promised(when), when, bool(holes))
        except (Lost, DidNotStart, ConnectionError) as problem:
            return "%s: %s" % (type(problem).__name__, problem)
        finally:
            server.end()
        return None

    def after_refusal(self, server, folder, holes, text):
        """Checks that the server may refuse the state; returns a link to the server started on the complete part."""
        server.end()
        torn = [path for path in holes if "incr" in path]
        if not torn or not HOLE.search(text):
            raise Lost("it does not start: %s" % text)
        if digests(folder) != digests(folder + ".before"):
            raise Lost("it has refused to start and changed files: %s" % text)
        for path in torn:
            aof_text.cut_tail(os.path.join(folder, path))
        self.refused += 1
        return server.start().await_ready()

    refused = passed_over = 0

    def remove(self):
        shutil.rmtree(self.top)


def digests(folder):
    """Returns digests of the data files."""
    out = {}
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                out[os.path.relpath(os.path.join(base, name), folder)] = hashlib.sha256(file.read()).hexdigest()
    return {name: digest for name, digest in out.items() if not os.path.basename(name).startswith("temp")}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--shim", required=True, help="disk_shim.c, built (run does it)")
    parser.add_argument("--port", type=int, default=24700)
    parser.add_argument("--seconds", type=float, default=3, help="of a recording")
    parser.add_argument("--states", type=int, default=60, help="of a recording")
    parser.add_argument("--recordings", type=int, default=4)
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--slack-ms", type=int, default=PROMISED_MS, help="what everysec may lose")
    parser.add_argument("--first-start", action="store_true", help="record from the first start in an empty folder on")
    parser.add_argument("--any-order", action="store_true", help="changes of names come to the disk in any order")
    parser.add_argument("--like-9.1", dest="like_9_1", action="store_true",
                        help="pass over states in which an increment that is not the last one has lost its end")
    parser.add_argument("--plant", help="a fault of disk_shim.c that is to be found")
    parser.add_argument("--server-arguments", nargs="*", help="for the recorded life only")
    parser.add_argument("--keep", action="store_true")
    return parser


def prepare(options):
    options.server, options.shim = os.path.abspath(options.server), os.path.abspath(options.shim)
    options.port = free_port(options.port)
    return options


def play_recordings(options):
    """Returns (number of states, None or (recording, folder, text))."""
    states = 0
    for number in range(options.recordings):
        recording = Recording(options, "%d.%d" % (options.seed, number))
        begun = time.monotonic()
        recording.record()
        tried, found = recording.check()
        states += tried
        print("recording %s: %s, %d answers, %d records, %d states (%d refused for a hole, %d passed over), %.0f s" % (
            recording.name, recording.way, recording.load.answers, len(recording.records), tried, recording.refused,
            recording.passed_over, time.monotonic() - begun), flush=True)
        if found:
            return states, (recording, *found)
        if not options.keep:
            recording.remove()
    return states, None


def main():
    options = prepare(arguments().parse_args())
    print("seed %d" % options.seed, flush=True)
    states, found = play_recordings(options)
    if found:
        recording, folder, text = found
        print("LOST in state %d of recording %s (%s): %s" % (states, recording.name, recording.way, text))
        print("settings: %s\nfolder: %s.before" % (" ".join(repr(word) for word in recording.arguments), folder))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
