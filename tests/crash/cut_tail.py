#!/usr/bin/env python3
"""cut_tail.py -- cuts an append-only file at any byte: complete units are kept, and later writes survive.

Clients write a short log (load.py). For each length of its last increment the server starts on it and must have exactly
the complete units; gets a write, in any database; is killed; and must have that write and the rest at the next start.
With aof-load-truncated no, it must refuse an incomplete file, and change nothing.

    cut_tail.py --server PATH --cuts 100 --seed 7        100 lengths; 0: each

Exit code 0: no failure. 1: the first failing case is kept and named.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import bisect
import os
import random
import shutil
import sys
import tempfile

import aof_text
import contents
from history import Lost
from load import DATABASES, Load, now_ns
from power_loss import digests
from server import DidNotStart, Server, free_port

# Otherwise a server may keep acknowledged writes in memory for some milliseconds.
SETTINGS = ("--appendonly", "yes", "--appendfsync", "always", "--save", "", "--auto-aof-rewrite-percentage", "0")


class Cuts:
    def __init__(self, options):
        self.options = options
        self.rng = random.Random("cut %d" % options.seed)
        self.top = tempfile.mkdtemp(prefix="cut-%d-" % options.seed)
        self.folder = os.path.join(self.top, "data")
        form = self.rng.choice(["yes", "no"])
        self.settings = [*SETTINGS, "--aof-use-rdb-preamble", form, "--aof-timestamp-enabled",
                         self.rng.choice(["yes", "no"])]
        self.seen = {}  # number of complete units: the dataset

    def write_log(self):
        server = Server(self.options.server, self.folder, self.options.port, self.settings)
        server.start().await_ready().close()
        self.load = Load(self.rng, self.options.port, clients=2, queues=1)
        self.load.connect()
        for _ in range(self.options.pipelines):
            self.load.players[self.rng.randrange(2)].play()
            if not self.load.settle():
                raise Lost("no answers")
        server.kill()
        self.load.drain()
        server.reap()
        self.path = aof_text.increments(os.path.join(self.folder, "appendonlydir"))[-1]
        with open(self.path, "rb") as file:
            self.data = file.read()
        self.ends = [0] + aof_text.units(self.data)

    def lengths(self):
        """Returns lengths near the ends of units, or any."""
        every = range(len(self.data) + 1)
        if not self.options.cuts or self.options.cuts > len(every):
            return list(every)
        near = {min(len(self.data), max(0, end + by)) for end in self.ends for by in (-1, 0, 1, 3)}
        half = self.options.cuts // 2
        chosen = set(self.rng.sample(sorted(near), min(half, len(near))))
        return sorted(chosen | set(self.rng.sample(every, self.options.cuts - len(chosen))) | {len(self.data)})

    def check(self, length):
        """Checks one length. Raises Lost or DidNotStart."""
        folder = os.path.join(self.top, "cut-%d" % length, "data")
        shutil.copytree(self.folder, folder)
        path = os.path.join(folder, os.path.relpath(self.path, self.folder))
        os.truncate(path, length)
        server = Server(self.options.server, folder, self.options.port, self.settings)
        try:
            if self.rng.random() < 0.1:
                self.check_refusal(server, folder, length)
            link = server.start().await_ready()
            found = contents.read(link)
            self.check_found(found, length)
            place = (self.rng.randrange(DATABASES), b"after")
            link.ask([b"SELECT", b"%d" % place[0]])
            if link.ask([b"SET", place[1], b"value"])[0] != b"+OK\r\n":
                raise Lost("a write is refused")
            server.end()
            again = contents.read(server.start().await_ready())
            found[place] = ("string", b"value", -1)
            if self.lasting(again) != self.lasting(found):
                raise Lost("after another write and start %s differs" % sorted(
                    key for key in {*again, *found} if again.get(key) != found.get(key))[:5])
        finally:
            server.end()
        shutil.rmtree(os.path.dirname(folder))

    def check_found(self, found, length):
        units = bisect.bisect_right(self.ends, length) - 1
        contents.verify(self.load, found, now_ns() if length == len(self.data) else None, now_ns())
        lasting = self.lasting(found)
        if self.seen.setdefault(units, lasting) != lasting:
            raise Lost("not the same as with another length that has the same %d units" % units)

    @staticmethod
    def lasting(found):
        """Returns the keys that cannot expire meanwhile."""
        return {place: value for place, value in found.items() if b":soon" not in place[1]}

    def check_refusal(self, server, folder, length):
        if length in self.ends:
            return
        before = digests(folder)
        try:
            server.start(more=["--aof-load-truncated", "no"]).await_ready()
        except DidNotStart as problem:
            if "exit 1" not in str(problem) or digests(folder) != before:
                raise Lost("refused otherwise, or with a change: %s" % problem) from None
            server.end()
            return
        # A file that ends after an annotation is complete.
        if b"#TS" not in self.data:
            raise Lost("aof-load-truncated is no, and it starts")
        server.end()
        shutil.copyfile(self.path, os.path.join(folder, os.path.relpath(self.path, self.folder)))
        os.truncate(os.path.join(folder, os.path.relpath(self.path, self.folder)), length)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--port", type=int, default=24550)
    parser.add_argument("--cuts", type=int, default=60)
    parser.add_argument("--pipelines", type=int, default=12, help="how much is written")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    options = parser.parse_args()
    options.server = os.path.abspath(options.server)
    options.port = free_port(options.port)
    print("seed %d" % options.seed, flush=True)
    cuts = Cuts(options)
    cuts.write_log()
    lengths = cuts.lengths()
    for length in lengths:
        try:
            cuts.check(length)
        except (Lost, DidNotStart, ConnectionError) as problem:
            print("LOST with %d of %d bytes: %s: %s\nfolder: %s/cut-%d" % (
                length, len(cuts.data), type(problem).__name__, problem, cuts.top, length))
            return 1
    print("%d lengths of a log of %d bytes, %d units" % (len(lengths), len(cuts.data), len(cuts.ends) - 1))
    shutil.rmtree(cuts.top)
    return 0


if __name__ == "__main__":
    sys.exit(main())
