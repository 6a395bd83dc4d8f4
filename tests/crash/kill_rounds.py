#!/usr/bin/env python3
"""kill_rounds.py -- kills a server with kill -9 at random instants, restarts it, checks its dataset, and continues.

A game is one folder and one kind of persistence (drawn from the seed): append-only file with a policy, format of the
base, rewrites and snapshots; or snapshots alone; one thread or four. It has a few rounds: start (sometimes killed while
loading), compare the dataset with the clients' histories, run the load for a moment, kill (sometimes during a
SHUTDOWN). Each round continues with the dataset of the one before, so a tail that was cut wrongly shows in the next.

    kill_rounds.py --server PATH --rounds 2000 --seed 7
    kill_rounds.py --server PATH --game 7.12         that game again

Exit code 0: nothing was lost. 1: something was lost; the folder is kept and named.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import os
import random
import shutil
import sys
import tempfile
import time

import contents
from history import Lost
from load import Load, ErrorReply, now_ns
from server import DidNotStart, Server, free_port

ROUNDS_OF_A_GAME = 5
# Acknowledged writes of so many milliseconds may be missing after kill -9 if appendfsync is not always.
PROMISED_MS = 2000


def settings_of(rng, options):
    """Returns the persistence of a game: (a word for it, arguments)."""
    way = options.way or rng.choice(["always", "always", "everysec", "everysec", "no", "snapshots"])
    arguments = ["--io-threads", rng.choice(["1", "4"])]
    if way == "snapshots":
        arguments += ["--appendonly", "no", "--save", "1 1" if rng.random() < 0.5 else ""]
        arguments += ["--rdbcompression", rng.choice(["yes", "no"])]
    else:
        arguments += ["--appendonly", "yes", "--appendfsync", way, "--save", "",
                      "--aof-use-rdb-preamble", rng.choice(["yes", "yes", "no"]),
                      "--aof-timestamp-enabled", rng.choice(["no", "no", "yes"]),
                      "--auto-aof-rewrite-percentage", rng.choice(["0", "10", "100"]),
                      "--auto-aof-rewrite-min-size", "16kb"]
    if rng.random() < 0.5:
        arguments += ["--rdb-key-save-delay", rng.choice(["-10", "100", "1000"])]
    chores = {"snapshots": [[b"BGSAVE"]], "no": [[b"BGREWRITEAOF"], [b"BGSAVE", b"SCHEDULE"]]}.get(
        way, [[b"BGREWRITEAOF"], [b"BGREWRITEAOF"], [b"BGSAVE"]])
    if rng.random() < 0.3:
        chores = chores + [[b"DEBUG", b"SLEEP", b"0.01"]]
    return way, arguments, chores if way == "snapshots" or rng.random() < 0.7 else []


class Game:
    """One folder over several kills."""

    def __init__(self, options, name):
        self.options, self.name = options, name
        self.rng = random.Random("game " + name)
        self.way, self.arguments, self.chores = settings_of(self.rng, options)
        folder = os.path.realpath(tempfile.mkdtemp(prefix="kill-%s-" % name))
        self.server = Server(options.server, os.path.join(folder, "data"), options.port, self.arguments)
        self.load = Load(self.rng, options.port, clients=self.rng.choice([1, 4, 8, 12]))
        self.snapshot = None  # writes acknowledged before this time are in a complete snapshot
        self.killed_at = now_ns()
        self.oldest_lost_ms = 0.0
        self.rounds = 0

    # -- one round --------------------------------------------------------------------------------------------------

    def start(self):
        rng = self.rng
        if rng.random() < 0.1:  # killed during the start
            self.server.start(self.options.environment)
            time.sleep(rng.random() * 0.1)
            self.server.end()
        self.server.start(self.options.environment)
        return self.server.await_ready()

    def promised(self, whole):
        """Returns the time before which all acknowledged writes must be present."""
        if whole:
            return self.killed_at + 1
        if self.way == "snapshots":
            return self.snapshot
        if self.way == "always":
            return self.killed_at + 1
        return self.killed_at - self.options.slack_ms * 1000000

    def compare(self, link, whole):
        found = contents.read(link)
        kept = contents.verify(self.load, found, self.promised(whole), self.killed_at + 1)
        if self.way != "snapshots":
            self.measure(kept)
        contents.go_on(self.load, found, kept)
        self.snapshot = now_ns() if self.way == "snapshots" else None

    def measure(self, kept):
        """Measures how long before the end the oldest missing operation was acknowledged."""
        for history, last in zip(self.load.histories, kept):
            for at in history.acked[last - history.base:]:
                if at is not None:
                    self.oldest_lost_ms = max(self.oldest_lost_ms, (self.killed_at - at) / 1e6)

    def play(self):
        """Runs the load. Returns whether the server has shut down properly, so that nothing acknowledged may be
        missing."""
        rng = self.rng
        load = self.load
        load.connect(self.chores)
        load.run(rng.choice([0.05, 0.2, 0.5, 0.5, 1.0]) * rng.random() * self.options.length)
        shutdown = rng.random() < 0.15
        if shutdown:
            load.chores.pending.append(([b"SHUTDOWN"], now_ns()))
            load.chores.send(b"*1\r\n$8\r\nSHUTDOWN\r\n")
            load.run(rng.choice([0.005, 0.02, 0.1, 3.0]) * rng.random())
        self.note_snapshots()
        whole = shutdown and not self.server.is_alive() and self.server.process.returncode == 0
        with_children = not self.options.orphans or rng.random() < 0.5
        self.server.kill(with_children)
        load.drain()
        self.killed_at = now_ns()
        self.server.reap()
        if not with_children:
            self.await_orphans()
        return whole and (self.way != "snapshots" or "1 1" in self.arguments)

    def note_snapshots(self):
        """Notes that writes acknowledged before a successful BGSAVE are promised."""
        if self.way != "snapshots" or not self.server.is_alive():
            return
        last = None
        for words, sent, _, answer in self.load.chores.seen:
            if words[0] == b"BGSAVE" and isinstance(answer, bytes) and not isinstance(answer, ErrorReply):
                last = sent
        if last is None:
            return
        try:
            link = self.server.await_ready(5)
        except DidNotStart:
            return
        deadline = time.monotonic() + 2 * self.rng.random()
        while time.monotonic() < deadline:
            info = link.ask([b"INFO", b"persistence"])[1]
            if b"rdb_bgsave_in_progress:0" in info:
                if b"rdb_last_bgsave_status:ok" in info:
                    self.snapshot = last
                break
            time.sleep(0.01)
        link.close()

    def await_orphans(self):
        deadline = time.monotonic() + 10
        while self.server.children_left():
            if time.monotonic() > deadline:
                self.server.kill()
                raise Lost("a child outlives the server by 10 s")
            time.sleep(0.01)

    def run(self):
        """Runs the game. Raises Lost or DidNotStart."""
        whole = False
        try:
            for _ in range(ROUNDS_OF_A_GAME):
                link = self.start()
                self.compare(link, whole)
                link.close()
                whole = self.play()
                self.rounds += 1
            link = self.start()
            self.compare(link, whole)
            link.close()
        finally:
            self.server.end()

    def remove(self):
        shutil.rmtree(os.path.dirname(self.server.folder))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", required=True)
    parser.add_argument("--port", type=int, default=24500, help="the first of 200 that are tried")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=0, help="instead of a number of rounds")
    parser.add_argument("--seed", type=int, default=random.randrange(10 ** 6))
    parser.add_argument("--game", help="this one only, as it was printed")
    parser.add_argument("--way", choices=["always", "everysec", "no", "snapshots"], help="only this")
    parser.add_argument("--length", type=float, default=1.0, help="of a round, in seconds at most")
    parser.add_argument("--slack-ms", type=int, default=PROMISED_MS, help="what everysec and no may lose")
    parser.add_argument("--orphans", action="store_true", help="kill the server without its children, too")
    parser.add_argument("--keep", action="store_true")
    return parser


def prepare(options):
    options.server = os.path.abspath(options.server)
    options.port = free_port(options.port)
    options.environment = getattr(options, "environment", None)
    return options


def play_games(options):
    """Returns the number of rounds played, and None or (name of the game, text)."""
    deadline = time.monotonic() + options.seconds if options.seconds else None
    rounds, games, operations, oldest = 0, 0, 0, {}
    names = [options.game] if options.game else None
    while True:
        if names is not None and games == len(names):
            break
        if names is None and (time.monotonic() > deadline if deadline else rounds >= options.rounds):
            break
        game = Game(options, names[games] if names else "%d.%d" % (options.seed, games))
        games += 1
        try:
            game.run()
        except (Lost, DidNotStart, ConnectionError) as problem:
            return rounds, (game, "%s: %s" % (type(problem).__name__, problem))
        rounds += ROUNDS_OF_A_GAME
        operations += game.load.answers
        if game.way != "snapshots":
            oldest[game.way] = max(oldest.get(game.way, 0.0), game.oldest_lost_ms)
        if not options.keep:
            game.remove()
    print("%d rounds in %d games, %d answers; answered and lost at most before the kill: %s" % (
        rounds, games, operations, ", ".join("%s %.1f ms" % pair for pair in sorted(oldest.items()))))
    return rounds, None


def main():
    options = prepare(arguments().parse_args())
    print("seed %d" % options.seed, flush=True)
    rounds, found = play_games(options)
    if found:
        game, text = found
        print("LOST after %d rounds, in game %s (%s): %s" % (rounds, game.name, game.way, text))
        print("settings: %s\nfolder: %s (--game %s plays it again)" % (
            " ".join(repr(word) for word in game.arguments), game.server.folder, game.name))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
