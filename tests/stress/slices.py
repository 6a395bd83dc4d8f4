#!/usr/bin/env python3
# slices.py -- random commands while long ones read large values in slices: are replies, replicas and the log right?
#
#   tests/stress/slices.py --server FILE [--port N] [--seconds N] [--seed N] [--elements N]
#
# With `yield always`, a long command serves others after each element. Some clients read whole values; others write to
# them and to other keys, in transactions and scripts too. Each value has invariants that every single command keeps:
# all fields of a hash have the same value and there are as many as one of them says; a set, a list and a sorted set have
# the members 0 to N - 1, each of which belongs to the same generation. A reader checks them in each reply. At the end
# the dataset of a replica, and the one that the append-only file gives, must have the digest of the primary's.
#
# SPDX-License-Identifier: BSD-3-Clause
import argparse
import os
import random
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time


def encode(words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = str(word).encode("latin1")
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Client:
    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.file = self.socket.makefile("rb")

    def send(self, *words):
        self.socket.sendall(encode(words))

    def reply(self):
        line = self.file.readline()
        if not line:
            raise ConnectionError("closed")
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return None if rest == b"-1" else self.file.read(int(rest) + 2)[:-2].decode("latin1")
        if kind in b"*~>%":
            count = int(rest) * (2 if kind == b"%" else 1)
            return None if count < 0 else [self.reply() for _ in range(count)]
        if kind == b"-":
            return "(error) " + rest.decode()
        return rest.decode()

    def run(self, *words):
        self.send(*words)
        return self.reply()


class Failure(Exception):
    pass


def check(holds, *what):
    if not holds:
        raise Failure(" ".join(str(w)[:300] for w in what))


def start(path, port, folder, *options):
    os.makedirs(folder, exist_ok=True)
    log = open(os.path.join(folder, "log"), "a")
    process = subprocess.Popen([os.path.abspath(path), "--port", str(port), "--dir", folder, "--save", "", "--yield",
                                "always", "--enable-debug-command", "yes"] + list(options), stdout=log, stderr=log)
    for _ in range(600):
        try:
            if Client(port).run("PING") == "PONG":
                return process
        except OSError:
            pass
        time.sleep(0.1)
    raise Failure("the server does not start: " + folder)


# A generation of each value, written by one command or one transaction.
def generation(c, kind, key, n, g, how):
    if kind == "hash":
        words = ["HSET", key] + [w for i in range(n) for w in (i, g)]
    elif kind == "zset":
        words = ["ZADD", key] + [w for i in range(n) for w in (g, i)]
    elif kind == "set":
        words = ["SADD", key] + ["%d:%d" % (g, i) for i in range(n)]
    else:
        words = ["RPUSH", key] + ["%d:%d" % (g, i) for i in range(n)]
    if kind in ("hash", "zset"):
        check(not str(c.run(*words)).startswith("(error)"), words[:3])
        return
    if how == 0:
        c.run("MULTI")
        c.run("DEL", key)
        c.run(*words)
        check(c.run("EXEC") is not None, "EXEC")
    elif how == 1:
        c.run("DEL", key + ":new:%d" % g)
        c.run(words[0], key + ":new:%d" % g, *words[2:])
        c.run("RENAME", key + ":new:%d" % g, key)
    else:
        c.run("EVAL", "redis.call('DEL', KEYS[1]) for i = 0, ARGV[2] - 1 do redis.call('%s', KEYS[1], ARGV[1] .. ':' "
              ".. i) end" % words[0], 1, key, g, n)


def check_value(reply, kind, n):
    if kind in ("hash", "zset"):
        pairs = dict(zip(reply[::2], reply[1::2]))
        check(len(pairs) in (0, n) and len(set(pairs.values())) <= 1, kind, len(pairs), set(pairs.values()))
    else:
        check(len(reply) in (0, n) and len(set(m.split(":")[0] for m in reply)) <= 1, kind, len(reply),
              set(m.split(":")[0] for m in reply))
        check(kind == "set" or [int(m.split(":")[1]) for m in reply] == list(range(len(reply))), "order of a list")


READ = {"hash": ["HGETALL"], "zset": ["ZRANGE", "0", "-1", "WITHSCORES"], "set": ["SMEMBERS"],
        "list": ["LRANGE", "0", "-1"]}
KINDS = sorted(READ)


def reader(options, port, rng, until, count):
    c = Client(port)
    while time.time() < until:
        kinds = [rng.choice(KINDS) for _ in range(rng.randrange(1, 4))]
        number = rng.randrange(1000000)
        for kind in kinds:
            words = READ[kind]
            c.send(words[0], "%s:%d" % (kind, rng.randrange(2)), *words[1:])
            c.send("ECHO", number)
        for kind in kinds:
            reply = c.reply()
            check(isinstance(reply, list), kind, reply)
            check_value(reply, kind, options.elements)
            check(c.reply() == str(number), "order of replies")
            count[0] += 1
        if rng.random() < 0.05:
            c.send("HGETALL", "hash:0")
            c.socket.close()
            c = Client(port)


def writer(options, port, rng, until, count):
    c = Client(port)
    while time.time() < until:
        kind = rng.choice(KINDS)
        key = "%s:%d" % (kind, rng.randrange(2))
        what = rng.random()
        if what < 0.6:
            generation(c, kind, key, options.elements, rng.randrange(1000000000), rng.randrange(3))
        elif what < 0.62:
            c.run(rng.choice(["DEL", "UNLINK"]), key)
        elif what < 0.64:
            c.run("PEXPIRE", key, rng.randrange(200))
        elif what < 0.7:
            c.run("COPY", key, "%s:%d" % (kind, rng.randrange(2)), "REPLACE")
        elif what < 0.72:
            payload = c.run("DUMP", key)
            if payload is not None:
                words = ["RESTORE", "%s:%d" % (kind, rng.randrange(2)), rng.choice([0, 0, 50]), payload, "REPLACE"]
                check(c.run(*words) == "OK", "RESTORE")
                check("BUSYKEY" in str(c.run(*words[:-1])) or words[2], "RESTORE without REPLACE")
        elif what < 0.74:
            c.run("PERSIST", key)
        elif what < 0.77:
            c.run("BLMOVE", "list:9", "list:8", "LEFT", "LEFT", "0.01")
        else:
            for _ in range(20):
                rng.choice([lambda: c.run("INCR", "n:%d" % rng.randrange(50)),
                            lambda: c.run("SET", "s:%d" % rng.randrange(50), rng.random(), "PX", rng.randrange(1, 50)),
                            lambda: c.run("GET", "s:%d" % rng.randrange(50)),
                            lambda: c.run("RPUSH", "list:9", rng.random()),
                            lambda: c.run("HSET", "h:1", rng.randrange(100), rng.random()),
                            lambda: c.run("OBJECT", "ENCODING", key)])()
        count[1] += 1


def guarded(f, errors, *args):
    try:
        f(*args)
    except Exception as e:  # every failure of a thread has to be seen
        errors.append(e)


def digest(c):
    return c.run("DEBUG", "DIGEST")


def compare(options, primary, replica):
    """Lets everything expire that may, then compares the three datasets."""
    time.sleep(0.5)
    for _ in range(300):
        if primary.run("WAIT", "1", "1000") == "1":
            break
    one, other = digest(primary), digest(replica)
    for _ in range(100):
        if one == other:
            break
        time.sleep(0.1)
        one, other = digest(primary), digest(replica)
    check(one == other, "the replica has another dataset", one, other)
    check(primary.run("DEBUG", "LOADAOF") == "OK", "DEBUG LOADAOF")
    check(digest(primary) == one, "the log has another dataset")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--server", default="build/debug/bin/valkey-server")
    parser.add_argument("--port", type=int, default=24010)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--seed", type=int, default=random.randrange(1000000))
    parser.add_argument("--elements", type=int, default=300)
    parser.add_argument("--io-threads", default="1")
    options = parser.parse_args()
    print("slices.py: seed %d" % options.seed)
    folder = tempfile.mkdtemp(prefix="slices")
    processes, errors, count = [], [], [0, 0]
    small = ["--hash-max-listpack-entries", "16", "--set-max-listpack-entries", "16", "--zset-max-listpack-entries",
             "16", "--list-max-listpack-size", "4", "--io-threads", options.io_threads]
    try:
        processes.append(start(options.server, options.port, folder + "/primary", "--appendonly", "yes", *small))
        processes.append(start(options.server, options.port + 1, folder + "/replica", "--replicaof",
                               "127.0.0.1 %d" % options.port, *small))
        primary, replica = Client(options.port), Client(options.port + 1)
        while "master_link_status:up" not in replica.run("INFO", "replication"):
            time.sleep(0.1)
        for kind in KINDS:
            for i in range(2):
                generation(primary, kind, "%s:%d" % (kind, i), options.elements, i, 0)
        until = time.time() + options.seconds
        threads = []
        for i in range(7):
            port = options.port + (i == 0)
            f = reader if i < 4 else writer
            rng = random.Random(options.seed * 100 + i)
            threads.append(threading.Thread(target=guarded, args=(f, errors, options, port, rng, until, count)))
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        if not errors:
            sliced = [line for line in primary.run("INFO", "stats").split("\r\n") if "slice" in line]
            print("slices.py: %d values read, %d times written; %s" % (count[0], count[1], ", ".join(sliced)))
            check(not sliced[0].endswith(":0"), "no command ran in slices")
            compare(options, primary, replica)
    except Exception as e:
        errors.append(e)
    finally:
        for p in processes:
            p.terminate()
        for p in processes:
            if p.wait() not in (0, -15):
                errors.append(Failure("a server ended with %d" % p.returncode))
    for e in errors:
        print("slices.py: FAILED: %s: %s (seed %d, logs in %s)" % (type(e).__name__, e, options.seed, folder))
    if not errors:
        shutil.rmtree(folder)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
