#!/usr/bin/env python3
"""sessions.py -- clients in every state that end in every way; checks that nothing is lost, duplicated or left.

Producers push numbered elements into lists, a sorted set and streams, alone and in transactions; consumers wait for
them by every blocking command, also as a consumer group; followers read a whole log. Victims (victims.py) block, watch,
queue, subscribe, track or monitor, and are killed, reset, unblocked, closed by a limit or close themselves, while
CLIENT PAUSE begins and ends and settings that move connections and the main role change.

At the end: exactly one consumer has each element, every follower has all entries of the log in order, no client is left
blocked, watching, subscribed or tracking, memory is as at the beginning, and each end has occurred in each state. Exit
code 0: all of this holds.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import random
import sys
import threading
import time

import victims
from mixed_load import Connection, Wrong, encode

FOLLOWERS = 2
BACKLOG = 3000


class Sessions:
    def __init__(self, options):
        self.port, self.seed, self.clients = options.port, options.seed, options.clients
        self.end = time.time() + options.seconds
        self.lock = threading.Lock()
        self.errors, self.pushed, self.popped, self.met = [], [], [], {}
        self.logged = {}  # number of entries that each producer has written to the log
        self.followed = [b"0-0"] * FOLLOWERS
        self.producing = True
        self.all_states = options.seconds >= 300  # rare events come once a minute under ThreadSanitizer
        conn = Connection(self.port)
        self.known = {name.upper() for name in conn.call("COMMAND", "LIST")}
        for name in ("SUBSCRIBE", "CLIENT|TRACKING"):
            if not self.has(name):
                self.errors.append("the server has no %s" % name)
        conn.close()

    def has(self, name):
        return name.encode() in self.known

    def running(self):
        return time.time() < self.end and not self.errors

    def note(self, what):
        with self.lock:
            self.met[what] = self.met.get(what, 0) + 1

    def connect(self):
        """Returns a connection that no memory limit closes."""
        conn = Connection(self.port)
        conn.call("CLIENT", "NO-EVICT", "ON")
        return conn

    # -- elements -----------------------------------------------------------------------------------------------------

    def producer(self, i):
        rng, n = random.Random("%d producer %d" % (self.seed, i)), 0
        conn, mine, log = self.connect(), [], 0
        while self.running():
            queue = "queue:%d" % rng.randint(0, 3)
            elements = ["%d.%d" % (i, n + k) for k in range(rng.randint(1, 4))]
            n += len(elements)
            mine += elements
            if rng.random() < 0.3:
                request = encode("MULTI") + b"".join(encode("RPUSH", queue, e) for e in elements) + encode("EXEC")
                conn.send(request)
                replies = [conn.reply() for _ in range(len(elements) + 2)]
                if not isinstance(replies[-1], list) or len(replies[-1]) != len(elements):
                    raise Wrong("EXEC: %r" % replies)
            elif rng.random() < 0.3:
                stream = "xqueue:%d" % rng.randint(0, 1)
                conn.send(b"".join(encode("XADD", stream, "*", "e", e) for e in elements))
                for _ in elements:
                    conn.reply()
            elif rng.random() < 0.5:
                conn.call("ZADD", "zqueue", *[x for e in elements for x in (rng.randint(0, 9), e)])
            else:
                conn.call("LPUSH" if rng.random() < 0.5 else "RPUSH", queue, *elements)
            if rng.random() < 0.3:
                self.write_log(rng, conn, i, log, 3)
                log += 3
                time.sleep(rng.random() * 0.01)
                while self.running() and self.backlog(conn) > BACKLOG:
                    time.sleep(0.05)
        with self.lock:
            self.pushed += mine
            self.logged[i] = log
        conn.close()

    @staticmethod
    def backlog(conn):
        """Returns about how many elements wait for a consumer."""
        return sum(conn.call(*words) for words in (
            ("LLEN", "queue:0"), ("LLEN", "queue:3"), ("ZCARD", "zqueue"), ("XLEN", "xqueue:0"), ("XLEN", "xqueue:1")))

    def write_log(self, rng, conn, i, n, more):
        """Writes several numbers at once, with or without a transaction."""
        entries = b"".join(encode("XADD", "log", "*", i, n + k) for k in range(more))
        if rng.random() < 0.5:
            conn.send(encode("MULTI") + entries + encode("EXEC"))
            for _ in range(more + 1):
                conn.reply()
            ids = conn.reply()
        else:
            conn.send(entries)
            ids = [conn.reply() for _ in range(more)]
        if ids != sorted(ids, key=lambda e: [int(part) for part in e.split(b"-")]):
            raise Wrong("IDs that do not rise: %r" % ids)
        if rng.random() < 0.1:
            conn.call("XTRIM", "log", "MINID", min(self.followed, key=lambda e: [int(part) for part in e.split(b"-")]))

    def follower(self, i):
        """Reads the whole log and checks its order."""
        rng, seen = random.Random("%d follower %d" % (self.seed, i)), {}
        conn, last, empty = self.connect(), b"0-0", 0
        while empty < 3 and not self.errors:
            done = not self.producing
            got = conn.call("XREAD", "COUNT", rng.randint(1, 20), "BLOCK", rng.randint(1, 50), "STREAMS", "log", last)
            for number, (producer, n) in got[0][1] if got else []:
                if int(n) != seen.get(int(producer), 0):
                    raise Wrong("a follower saw number %r of producer %r after %r" % (n, producer, seen))
                seen[int(producer)] = int(n) + 1
                last = self.followed[i] = number
            empty = 0 if got or not done else empty + 1
        if not self.errors and seen != {p: n for p, n in self.logged.items() if n}:
            raise Wrong("a follower saw %r of %r" % (seen, self.logged))
        conn.close()

    def consumer(self, i):
        rng = random.Random("%d consumer %d" % (self.seed, i))
        conn, mine = self.connect(), []
        queues = ["queue:%d" % k for k in range(4)]
        empty = 0
        while empty < 6 and not self.errors:
            rng.shuffle(queues)
            kind, side = rng.randint(0, 4), rng.choice(["LEFT", "RIGHT"])
            timeout = "0.%03d" % rng.randint(1, 60)
            if kind == 0:
                got = conn.call("BLPOP" if side == "LEFT" else "BRPOP", *queues, timeout)
                taken = got and [got[1]]
            elif kind == 1:
                got = conn.call("BLMPOP", timeout, 4, *queues, side, "COUNT", rng.randint(1, 5))
                taken = got and got[1]
            elif kind == 2:
                got = conn.call("BZPOPMIN", "zqueue", timeout)
                taken = got and [got[1]]
            elif kind == 3:
                taken = self.take_entries(rng, conn, i)
            else:
                own = "own:%d" % i
                got = conn.call("BLMOVE", queues[0], own, side, "RIGHT", timeout)
                taken = got and [conn.call("LPOP", own)]
            if taken:
                mine += [t.decode() for t in taken]
            empty = 0 if taken or self.producing else empty + 1
        with self.lock:
            self.popped += mine
        conn.close()

    @staticmethod
    def take_entries(rng, conn, i, block=True):
        """Takes elements from streams, as a consumer of their group."""
        noack = ["NOACK"] if rng.random() < 0.5 else []
        wait = ["BLOCK", rng.randint(1, 60)] if block else []
        got = conn.call("XREADGROUP", "GROUP", "g", "c%d" % i, "COUNT", rng.randint(1, 5), *wait, *noack,
                        "STREAMS", "xqueue:0", "xqueue:1", ">", ">")
        taken = []
        for stream, entries in got or []:
            ids = [number for number, _ in entries]
            taken += [fields[1] for _, fields in entries]
            acknowledged = conn.call("XACK", stream, "g", *ids)
            if acknowledged != (0 if noack else len(ids)):
                raise Wrong("XACK of %d entries: %r" % (len(ids), acknowledged))
            conn.call("XDEL", stream, *ids)
        return taken

    # -- the others ---------------------------------------------------------------------------------------------------

    def settings(self):
        rng = random.Random("%d settings" % self.seed)
        conn = self.connect()
        while self.running():
            name, value = rng.choice([
                ("io-threads", rng.randint(1, 6)), ("io-threads-always-active", rng.choice(["yes", "yes", "no"])),
                ("main-role", rng.choice(["auto", "move", "keep"])), ("main-role", "move"),
                ("prefetch-batch-max-size", rng.choice([0, 1, 2, 16, 128])),
                ("notify-keyspace-events", rng.choice(["", "KEA", "Kl"])),
                ("tracking-table-max-keys", rng.choice([10, 1000000])),
                ("maxmemory-clients", rng.choice(["0", "200kb", "500kb"])),
                ("client-output-buffer-limit", rng.choice(["pubsub 100kb 0 0", "pubsub 32mb 8mb 60"]))])
            if name.startswith("io-threads"):
                self.note_states(conn, "threads")
            got = conn.call("CONFIG", "SET", name, value)
            if got != b"+OK" and b"nknown" not in got:
                raise Wrong("CONFIG SET %s %s: %r" % (name, value, got))
            if rng.random() < 0.1:
                conn.call("CLIENT", "PAUSE", rng.randint(1, 40), rng.choice(["WRITE", "ALL"]))
                self.note_states(conn, "paused")
            time.sleep(rng.random() * 0.1)
        conn.call("CLIENT", "UNPAUSE")
        for name, value in (("io-threads", 1), ("prefetch-batch-max-size", 16), ("notify-keyspace-events", "")):
            conn.call("CONFIG", "SET", name, value)
        conn.close()

    def note_states(self, conn, event):
        """Notes the states of clients at a change of threads or a pause."""
        for line in conn.call("CLIENT", "LIST").splitlines():
            for state in victims.states_of(line):
                self.note((event, state))

    def victim(self, i):
        victims.act(self, self.port, random.Random("%d victim %d" % (self.seed, i)), "victim:%d" % i)

    def guard(self, body, *args):
        try:
            body(*args)
        except Exception as e:  # any exception is a failure of the load
            with self.lock:
                self.errors.append("%s: %r" % (body.__name__, e))

    def start(self, body, n):
        threads = [threading.Thread(target=self.guard, args=(body, i), daemon=True) for i in range(n)]
        for t in threads:
            t.start()
        return threads

    def join(self, threads):
        late = max(self.end, time.time()) + 120
        for t in threads:
            t.join(max(0.1, late - time.time()))
            if t.is_alive():
                self.errors.append("a thread hangs")
                return

    def fields(self, conn):
        lines = conn.call("INFO").decode().splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def run(self):
        conn = self.connect()
        before = int(self.fields(conn)["used_memory"])
        for k in range(2):
            conn.call("XGROUP", "CREATE", "xqueue:%d" % k, "g", "0", "MKSTREAM")
        consumers = self.start(self.consumer, max(2, self.clients // 3)) + self.start(self.follower, FOLLOWERS)
        others = self.start(self.producer, max(2, self.clients // 3))
        others += self.start(self.victim, max(2, self.clients // 3))
        others.append(threading.Thread(target=self.guard, args=(self.settings,), daemon=True))
        others[-1].start()
        self.join(others)
        self.producing = False
        self.join(consumers)
        if not self.errors:
            self.check(conn, before)

    def check(self, conn, before):
        """Checks the final state, when all clients have ended."""
        left = [e.decode() for k in range(4) for e in conn.call("LRANGE", "queue:%d" % k, 0, -1)]
        left += [e.decode() for e in conn.call("ZRANGE", "zqueue", 0, -1)]
        more = True
        while more:
            more = self.take_entries(random, conn, 0, block=False)
            left += [e.decode() for e in more]
        print("%d elements are left" % len(left))
        got = sorted(self.popped + left)
        if got != sorted(self.pushed):
            lost, more = set(self.pushed) - set(got), len(got) - len(set(got))
            self.errors.append("%d elements pushed, %d lost, %d doubled" % (len(self.pushed), len(lost), more))
        for state in victims.not_met(self.met) if self.all_states else []:
            self.errors.append(state)
        conn.call("FLUSHALL")
        limit = time.time() + 30
        while True:
            now = self.fields(conn)
            wrong = ["%s is %s" % (name, now[name]) for name in (
                "blocked_clients", "watching_clients", "clients_in_timeout_table", "pubsub_clients", "tracking_clients",
                "total_blocking_keys", "total_watched_keys") if int(now.get(name, 0)) != 0]
            if int(now["connected_clients"]) != 1:
                wrong.append("%s clients are connected" % now["connected_clients"])
            # Memory that stays: 64 spare blocks for requests (1.8 MB), a histogram of times for each of the 50 commands
            # that have run (1.5 MB), and spare blocks for replies (0.4 MB, and never more than 2).
            if int(now["used_memory"]) > before + 6000000:
                wrong.append("used_memory was %d and is %s" % (before, now["used_memory"]))
            cut = int(now["evicted_clients"]) + int(now["client_output_buffer_limit_disconnections"])
            if self.met.get(victims.CUT, 0) > cut:
                wrong.append("%d clients were cut, but by no limit" % (self.met[victims.CUT] - cut))
            if not wrong or time.time() > limit:
                break
            time.sleep(0.1)
        self.errors += wrong
        conn.close()


def main():
    parser = argparse.ArgumentParser(description="Sessions in every state that end in every way.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--clients", type=int, default=12)
    load = Sessions(parser.parse_args())
    print("seed %d" % load.seed, flush=True)
    load.run()
    print("%d elements pushed, %d popped, %d followed" % (
        len(load.pushed), len(load.popped), sum(load.logged.values())))
    victims.describe(load.met)
    for error in load.errors[:10]:
        print("WRONG %s" % error)
    sys.exit(1 if load.errors else 0)


if __name__ == "__main__":
    main()
