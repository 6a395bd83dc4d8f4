#!/usr/bin/env python3
"""sessions.py -- clients in MULTI, waiting or subscribed, that end in every way: is anything lost, doubled or left?

Producers push numbered elements, alone and in transactions; consumers wait for them in every blocking way. Victims
wait, watch, queue or listen, and are killed, reset, unblocked or just go, while CLIENT PAUSE comes and goes and options
that move connections and main's role change. What is pushed in one pipeline behind a victim's CLIENT KILL must stay.

At the end: each element has come to exactly one consumer, nobody is left waiting, watching or listening, and the
memory is that of the beginning. Exit code 0: so it was.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import random
import sys
import threading
import time

from mixed_load import Connection, Wrong, encode


class Sessions:
    def __init__(self, options):
        self.port, self.seed, self.clients = options.port, options.seed, options.clients
        self.end = time.time() + options.seconds
        self.lock = threading.Lock()
        self.errors, self.pushed, self.popped, self.endings = [], [], [], {}
        self.producing = True
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

    def note(self, ending):
        with self.lock:
            self.endings[ending] = self.endings.get(ending, 0) + 1

    # -- elements -----------------------------------------------------------------------------------------------------

    def producer(self, i):
        rng, n = random.Random("%d producer %d" % (self.seed, i)), 0
        conn, mine = Connection(self.port), []
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
            elif rng.random() < 0.5:
                conn.call("ZADD", "zqueue", *[x for e in elements for x in (rng.randint(0, 9), e)])
            else:
                conn.call("LPUSH" if rng.random() < 0.5 else "RPUSH", queue, *elements)
            if rng.random() < 0.3:
                time.sleep(rng.random() * 0.01)
        with self.lock:
            self.pushed += mine
        conn.close()

    def consumer(self, i):
        rng = random.Random("%d consumer %d" % (self.seed, i))
        conn, mine = Connection(self.port), []
        queues = ["queue:%d" % k for k in range(4)]
        empty = 0
        while empty < 6 and not self.errors:
            rng.shuffle(queues)
            kind, side = rng.randint(0, 3), rng.choice(["LEFT", "RIGHT"])
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

    # -- clients that end ---------------------------------------------------------------------------------------------

    def victim(self, i):
        rng = random.Random("%d victim %d" % (self.seed, i))
        other = Connection(self.port)
        kinds = [self.waits, self.queues, self.watches]
        if self.has("SUBSCRIBE"):
            kinds.append(self.listens)
        if self.has("CLIENT|TRACKING"):
            kinds.append(self.tracks)
        while self.running():
            conn = Connection(self.port)
            number = conn.call("CLIENT", "ID")
            rng.choice(kinds)(rng, conn, other, number, "victim:%d" % i)
        other.close()

    def finish(self, rng, conn, other, number):
        """End a connection somehow."""
        fate = rng.choice(["killed", "reset", "closed", "killed", "reset command", "unblocked"])
        self.note(fate)
        if fate == "killed":
            other.call("CLIENT", "KILL", "ID", number)
        elif fate == "unblocked":
            other.call("CLIENT", "UNBLOCK", number, rng.choice(["TIMEOUT", "ERROR"]))
        elif fate == "reset command":
            conn.sock.sendall(encode("RESET"))
        if rng.random() < 0.3:
            time.sleep(rng.random() * 0.01)
        conn.close(reset=fate == "reset")

    def waits(self, rng, conn, other, number, name):
        name = "%s:%d" % (name, number)  # the server may not know yet that those before have gone
        conn.sock.sendall(encode("BLPOP", name, name + ":b", 0) + encode("PING") * rng.randint(0, 3))
        if rng.random() < 0.5:
            time.sleep(rng.random() * 0.005)
        if rng.random() < 0.3:  # killed, and something comes in the same pipeline: it must stay
            other.sock.sendall(encode("CLIENT", "KILL", "ID", number) + encode("RPUSH", name, "kept")
                               + encode("LPOP", name))
            killed, pushed, kept = other.reply(), other.reply(), other.reply()
            if killed == 1 and (pushed, kept) != (1, b"kept"):
                raise Wrong("a killed client was given an element")
            self.note("killed before a push")
            conn.close()
        else:
            self.finish(rng, conn, other, number)

    def queues(self, rng, conn, other, number, name):
        change = encode("SET", name + ":s", "x" * rng.choice([10, 5000, 100000]))
        conn.sock.sendall(encode("MULTI") + change * rng.randint(1, 30)
                          + encode("BLPOP", name, 0) + (encode("EXEC") if rng.random() < 0.3 else b""))
        self.finish(rng, conn, other, number)

    def watches(self, rng, conn, other, number, name):
        conn.call("WATCH", *["%s:w%d" % (name, k) for k in range(rng.randint(1, 50))])
        other.call("SET", name + ":w0", "changed")
        if [conn.call("MULTI"), conn.call("INCR", name + ":n"), conn.call("EXEC")] != [b"+OK", b"+QUEUED", None]:
            raise Wrong("a transaction whose key has changed was not aborted")
        conn.sock.sendall(encode("WATCH", name + ":w1"))
        self.finish(rng, conn, other, number)

    def listens(self, rng, conn, other, number, name):
        conn.sock.sendall(encode("SUBSCRIBE", *["%s:%d" % (name, k) for k in range(rng.randint(1, 20))])
                          + encode("PSUBSCRIBE", name + "*") + encode("SSUBSCRIBE", name))
        for _ in range(rng.randint(0, 20)):
            other.call("PUBLISH", "%s:%d" % (name, rng.randint(0, 20)), "m" * rng.choice([1, 100, 20000]))
        self.finish(rng, conn, other, number)

    def tracks(self, rng, conn, other, number, name):
        conn.sock.sendall(encode("HELLO", 3) + encode("CLIENT", "TRACKING", "ON")
                          + b"".join(encode("GET", "%s:t%d" % (name, k)) for k in range(50)))
        for k in range(rng.randint(0, 50)):
            other.call("SET", "%s:t%d" % (name, k), "x")
        self.finish(rng, conn, other, number)

    # -- the others ---------------------------------------------------------------------------------------------------

    def settings(self):
        rng = random.Random("%d settings" % self.seed)
        conn = Connection(self.port)
        while self.running():
            name, value = rng.choice([
                ("io-threads", rng.randint(1, 6)), ("io-threads-always-active", rng.choice(["yes", "yes", "no"])),
                ("main-role", rng.choice(["auto", "move", "keep"])), ("main-role", "move"),
                ("prefetch-batch-max-size", rng.choice([0, 1, 2, 16, 128]))])
            got = conn.call("CONFIG", "SET", name, value)
            if got != b"+OK" and b"nknown" not in got:
                raise Wrong("CONFIG SET %s %s: %r" % (name, value, got))
            if rng.random() < 0.1:
                conn.call("CLIENT", "PAUSE", rng.randint(1, 40), rng.choice(["WRITE", "ALL"]))
            time.sleep(rng.random() * 0.1)
        conn.call("CLIENT", "UNPAUSE")
        for name, value in (("io-threads", 1), ("prefetch-batch-max-size", 16)):
            conn.call("CONFIG", "SET", name, value)
        conn.close()

    def guard(self, body, *args):
        try:
            body(*args)
        except Exception as e:  # whatever it is, the load has failed
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
        conn = Connection(self.port)
        before = int(self.fields(conn)["used_memory"])
        consumers = self.start(self.consumer, max(2, self.clients // 3))
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
        """What must hold when all are gone."""
        left = [e.decode() for k in range(4) for e in conn.call("LRANGE", "queue:%d" % k, 0, -1)]
        left += [e.decode() for e in conn.call("ZRANGE", "zqueue", 0, -1)]
        print("%d elements are left" % len(left))
        got = sorted(self.popped + left)
        if got != sorted(self.pushed):
            lost, more = set(self.pushed) - set(got), len(got) - len(set(got))
            self.errors.append("%d elements pushed, %d lost, %d doubled" % (len(self.pushed), len(lost), more))
        conn.call("FLUSHALL")
        limit = time.time() + 30
        while True:
            now = self.fields(conn)
            wrong = ["%s is %s" % (name, now[name]) for name in (
                "blocked_clients", "watching_clients", "clients_in_timeout_table", "pubsub_clients", "tracking_clients",
                "total_blocking_keys", "total_watched_keys") if int(now.get(name, 0)) != 0]
            if int(now["connected_clients"]) != 1:
                wrong.append("%s clients are connected" % now["connected_clients"])
            # Spare blocks of replies and requests and the tables of those who were there stay: 3.4 MB after a minute,
            # 3.8 MB after seven.
            if int(now["used_memory"]) > before + 6000000:
                wrong.append("used_memory was %d and is %s" % (before, now["used_memory"]))
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
    print("%d elements pushed, %d popped; victims by their end: %s" % (
        len(load.pushed), len(load.popped), ", ".join("%s %d" % e for e in sorted(load.endings.items()))))
    for error in load.errors[:10]:
        print("WRONG %s" % error)
    sys.exit(1 if load.errors else 0)


if __name__ == "__main__":
    main()
