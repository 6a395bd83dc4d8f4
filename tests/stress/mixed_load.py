#!/usr/bin/env python3
"""mixed_load.py -- puts a server under a load of everything at once, and checks every reply.

Many connections pipeline random commands on keys of their own, check every reply against a model, and end in every
possible way: closed with replies read, closed with replies unread, half closed, reset, killed by CLIENT KILL. Some
commands are called by scripts and functions. Slow readers request large values and change them while they are being
sent. Meanwhile settings that move connections between threads change several times a second, other databases are
emptied and swapped, scripts are flushed and libraries replaced. With --tls-port half of the connections are over TLS.

Exit code 0: all replies were right. 1: a wrong reply, a lost reply, or a connection that ended without reason.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import random
import socket
import struct
import sys
import threading
import time

import tls_client

REPLY_TIMEOUT_S = 60

LIBRARY = b"""#!lua name=stress
redis.register_function('stress_set', function(keys, args)
    redis.call('set', keys[1], args[1])
    return redis.call('strlen', keys[1])
end)
redis.register_function{function_name = 'stress_get', flags = {'no-writes'}, callback = function(keys)
    return redis.call('get', keys[1])
end}
"""
SCRIPT_GET = b"return redis.call('get', KEYS[1])"
SCRIPT_SET = b"redis.call('set', KEYS[1], ARGV[1]) return redis.call('strlen', KEYS[1])"
SCRIPT_MGET = b"local all = {} for i, key in ipairs(KEYS) do all[i] = redis.call('get', key) end return all"
SCRIPT_ADD = b"for i = 1, 10 do redis.call('incrby', KEYS[1], ARGV[1]) end return redis.call('get', KEYS[1])"
SCRIPT_FAIL = b"return redis.error_reply('MY ' .. ARGV[1])"
SCRIPT_LONG = b"local n = 0 for i = 1, 200000 do n = n + i % 7 end return n"


class Wrong(Exception):
    """The server gave a different reply than the model."""


def encode(*args):
    words = [a if isinstance(a, bytes) else str(a).encode() for a in args]
    return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)


class Connection:
    def __init__(self, port, receive_buffer=0, context=None):
        self.sock = socket.socket()
        if receive_buffer:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.sock.settimeout(REPLY_TIMEOUT_S)
        self.sock.connect(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if context:
            self.sock = tls_client.TlsSocket(self.sock, context)
        self.file = self.sock.makefile("rb")
        self.sender = None

    def send(self, data):
        """Large requests are sent by another thread while this one reads, so that the two sides do not block each
        other."""
        if len(data) < 30000:
            self.sock.sendall(data)
            return
        self.sender = threading.Thread(target=self._send_quietly, args=(data,), daemon=True)
        self.sender.start()

    def _send_quietly(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            pass

    def sent(self):
        if self.sender:
            self.sender.join(REPLY_TIMEOUT_S)
            self.sender = None

    def reply(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("end of stream inside a reply: %r" % line)
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            n = int(rest)
            if n < 0:
                return None
            body = self.file.read(n + 2)
            if len(body) != n + 2:
                raise ConnectionError("end of stream inside a reply of %d bytes after %d" % (n, len(body)))
            if body[-2:] != b"\r\n":
                raise Wrong("a bulk reply of %d bytes has no end" % n)
            return body[:-2]
        if kind in b"*>%":
            return None if rest == b"-1" else [self.reply() for _ in range(int(rest) * (2 if kind == b"%" else 1))]
        if kind == b"_":
            return None
        if kind == b":":
            return int(rest)
        if kind in b"+-":
            return line[:-2]
        raise Wrong("not a reply: %r" % line[:80])

    def call(self, *args):
        self.sock.sendall(encode(*args))
        return self.reply()

    def close(self, reset=False):
        if reset:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.file.close()
        self.sock.close()


class Load:
    def __init__(self, options):
        self.port, self.seed, self.clients = options.port, options.seed, options.clients
        self.no_half_close = options.no_half_close
        self.tls_port = options.tls_port
        self.context = tls_client.trusting(options.cacert) if options.tls_port else None
        self.end = time.time() + options.seconds
        self.lock = threading.Lock()
        self.errors, self.replies, self.endings = [], 0, {}
        self.next_id = 0
        self.victims = {}  # id of a connection that may be killed: an event that is set when it was

    def running(self):
        return time.time() < self.end and not self.errors

    def fail(self, who, what):
        with self.lock:
            self.errors.append("%s: %s" % (who, what))

    def count(self, replies, ending=None):
        with self.lock:
            self.replies += replies
            if ending:
                self.endings[ending] = self.endings.get(ending, 0) + 1

    def unique(self):
        with self.lock:
            self.next_id += 1
            return self.next_id

    # -- random commands with the reply that the model expects ------------------------------------------------

    @staticmethod
    def value(rng):
        size = rng.choice([0, 1, 10, 60, 100, 200, 500, 2000])
        if rng.random() < 0.05:
            size = rng.choice([5000, 20000, 70000, 300000])
        return bytes([65 + rng.randint(0, 25)]) * size

    def program(self, rng, prefix, model):
        """Returns a request that does the same by a script or a function."""
        key = b"%s:%d" % (prefix, rng.randint(0, 30))
        old = model.get(key)
        op = rng.random()
        if op < 0.2:
            return encode("EVAL", SCRIPT_GET, 1, key), old
        if op < 0.4:
            return encode("FCALL_RO", "stress_get", 1, key), old
        if op < 0.5:
            model[key] = self.value(rng)
            return encode("EVAL", SCRIPT_SET, 1, key, model[key]), len(model[key])
        if op < 0.6:
            model[key] = self.value(rng)
            return encode("FCALL", "stress_set", 1, key, model[key]), len(model[key])
        if op < 0.75:
            keys = [b"%s:%d" % (prefix, rng.randint(0, 30)) for _ in range(rng.randint(1, 20))]
            return encode("EVAL_RO", SCRIPT_MGET, len(keys), *keys), [model.get(k) for k in keys]
        if op < 0.9:
            number = b"%s:n%d" % (prefix, rng.randint(0, 3))
            model[number] = b"%d" % (int(model.get(number, b"0")) + 30)
            return encode("EVAL", SCRIPT_ADD, 1, number, 3), model[number]
        return encode("EVAL", SCRIPT_FAIL, 0, key), b"-MY " + key

    def command(self, rng, prefix, model):
        """Returns a request and its expected reply. `model` maps keys to values."""
        if rng.random() < 0.08:
            return self.program(rng, prefix, model)
        key = b"%s:%d" % (prefix, rng.randint(0, 30))
        old = model.get(key)
        op = rng.random()
        if op < 0.30:
            model[key] = self.value(rng)
            return encode("SET", key, model[key]), b"+OK"
        if op < 0.60:
            return encode("GET", key), old
        if op < 0.68:
            more = self.value(rng)[:3000] or b"."
            model[key] = (old or b"") + more
            return encode("APPEND", key, more), len(model[key])
        if op < 0.74 and old:
            at = rng.randint(0, len(old))
            model[key] = old[:at] + b"<>" + old[at + 2:]
            return encode("SETRANGE", key, at, b"<>"), len(model[key])
        if op < 0.80:
            number = b"%s:n%d" % (prefix, rng.randint(0, 3))
            model[number] = b"%d" % (int(model.get(number, b"0")) + 7)
            return encode("INCRBY", number, 7), int(model[number])
        if op < 0.84:
            model.pop(key, None)
            return encode("DEL", key), 1 if old is not None else 0
        if op < 0.90:
            keys = [b"%s:%d" % (prefix, rng.randint(0, 30)) for _ in range(rng.randint(1, 20))]
            return encode("MGET", *keys), [model.get(k) for k in keys]
        if op < 0.94:
            pairs = {b"%s:%d" % (prefix, rng.randint(0, 30)): self.value(rng) for _ in range(rng.randint(1, 8))}
            model.update(pairs)
            return encode("MSET", *[x for pair in pairs.items() for x in pair]), b"+OK"
        if op < 0.96:
            return encode("STRLEN", key), len(old or b"")
        if op < 0.97:
            return b"PING\r\n", b"+PONG"
        return encode("ECHO", key), key

    def pipeline(self, rng, prefix, model, length):
        requests, expected = [], []
        for _ in range(length):
            request, reply = self.command(rng, prefix, model)
            requests.append(request)
            expected.append(reply)
        return b"".join(requests), expected

    @staticmethod
    def check(conn, expected):
        for n, want in enumerate(expected):
            got = conn.reply()
            if got != want:
                raise Wrong("reply %d of %d is %r, not %r" % (n, len(expected), shorten(got), shorten(want)))

    def connect(self, rng, receive_buffer=0):
        if self.context and rng.random() < 0.5:
            self.count(0, "over TLS")
            return Connection(self.tls_port, receive_buffer, self.context)
        return Connection(self.port, receive_buffer)

    # -- one connection's life -----------------------------------------------------------------------------------

    def life(self, rng, name):
        conn = self.connect(rng, rng.choice([0, 0, 32768]))
        prefix, model = b"m:%d:%d" % (self.seed, self.unique()), {}
        victim = None
        if rng.random() < 0.2:
            victim = conn.call("CLIENT", "ID")
            self.victims[victim] = threading.Event()
        ending = "read"
        try:
            for _ in range(rng.randint(1, 30)):
                if not self.running():
                    break
                data, expected = self.pipeline(rng, prefix, model, rng.choice([1, 1, 2, 16, 60, 200]))
                fate = rng.random()
                if fate < 0.02:  # the last request is incomplete
                    conn.sock.settimeout(0.2)
                    conn._send_quietly(data[: rng.randint(1, len(data))])
                    ending = "cut"
                    break
                conn.send(data)
                if fate < 0.06:  # replies stay unread
                    ending = "unread"
                    break
                if fate < 0.10 and not self.no_half_close and len(data) < 30000:
                    conn.sock.shutdown(socket.SHUT_WR)
                    self.check(conn, expected)
                    if conn.file.read(1):
                        raise Wrong("more replies than requests")
                    self.count(len(expected))
                    ending = "half"
                    break
                self.check(conn, expected)
                conn.sent()
                self.count(len(expected))
                if rng.random() < 0.01:
                    if conn.call("QUIT") != b"+OK" or conn.file.read(1):
                        raise Wrong("QUIT")
                    ending = "quit"
                    break
        except (OSError, ValueError) as e:
            killed = victim is not None and self.victims[victim].is_set()
            if not killed or isinstance(e, socket.timeout):
                self.fail(name, "%s (pipeline of %d)" % (e or repr(e), len(expected)))
            ending = "killed"
        if victim is not None:
            self.victims.pop(victim, None)
        conn.close(reset=rng.random() < 0.2)
        self.count(0, ending)

    def worker(self, i):
        rng = random.Random("%d worker %d" % (self.seed, i))
        while self.running():
            try:
                self.life(rng, "client %d" % i)
            except Wrong as e:
                self.fail("client %d" % i, e)
            except OSError as e:
                self.fail("client %d" % i, "cannot connect: %s" % e)

    # -- the others ----------------------------------------------------------------------------------------------------

    def slow_reader(self, i):
        """Reads large values through a small buffer while the same value changes."""
        rng = random.Random("%d slow %d" % (self.seed, i))
        key = b"m:%d:slow:%d" % (self.seed, i)
        while self.running():
            reader, writer = self.connect(rng, 65536), self.connect(rng)
            value = bytes([97 + rng.randint(0, 25)]) * rng.choice([100000, 1000000, 2000000])
            if writer.call("SET", key, value) != b"+OK":
                raise Wrong("SET of a large value")
            gets = rng.randint(1, 4)
            reader.sock.sendall(encode("GET", key) * gets + encode("STRLEN", key))
            first = reader.file.read(16)  # the first GET has been executed
            time.sleep(rng.random() * 0.05)
            action = rng.random()
            if action < 0.3:
                writer.call("APPEND", key, b"tail")
            elif action < 0.6:
                writer.call("SETRANGE", key, 1000, b"CHANGED")
            elif action < 0.7:
                writer.call("DEL", key)
            elif action < 0.9:
                writer.call("SET", key, b"another")
            if rng.random() < 0.2:
                reader.close(reset=rng.random() < 0.5)
                writer.close()
                self.count(0, "slow unread")
                continue
            head = b"$%d\r\n" % len(value)
            body = head + value + b"\r\n"
            rest = first + reader.file.read(len(body) - len(first))
            if rest != body:
                raise Wrong("a value changed while it was being sent")
            for _ in range(gets - 1 + 1):
                reader.reply()
            reader.close()
            writer.close()
            self.count(gets + 1, "slow")

    def settings(self):
        rng = random.Random("%d settings" % self.seed)
        conn = Connection(self.port)
        while self.running():
            name, value = rng.choice([
                ("io-threads", rng.randint(1, 6)), ("io-threads", rng.randint(1, 6)),
                ("io-threads-always-active", rng.choice(["yes", "yes", "no"])),
                ("main-role", rng.choice(["auto", "move", "keep"])), ("main-role", "move"),
                ("prefetch-batch-max-size", rng.choice([0, 1, 2, 16, 64, 128])),
                ("io-threads-reply-offload", rng.choice(["yes", "no"])),
            ])
            got = conn.call("CONFIG", "SET", name, value)
            if got != b"+OK" and b"Unknown option" not in got and b"nknown" not in got:
                raise Wrong("CONFIG SET %s %s: %r" % (name, value, got))
            time.sleep(rng.random() * 0.15)
        for name, value in (("io-threads", 1), ("prefetch-batch-max-size", 16)):
            conn.call("CONFIG", "SET", name, value)
        conn.close()

    def killer(self):
        rng = random.Random("%d killer" % self.seed)
        conn = Connection(self.port)
        while self.running():
            time.sleep(rng.random() * 0.02)
            for victim, killed in list(self.victims.items())[:1]:
                killed.set()
                conn.call("CLIENT", "KILL", "ID", victim)
            conn.call("CLIENT", "LIST")
            conn.call("INFO")
        conn.close()

    def emptier(self):
        rng = random.Random("%d emptier" % self.seed)
        conn = Connection(self.port)
        while self.running():
            db = rng.randint(1, 5)
            conn.call("SELECT", db)
            for n in range(rng.randint(1, 200)):
                conn.call("SET", "k%d" % n, self.value(rng))
            conn.call("SWAPDB", db, rng.randint(1, 5))
            if rng.random() < 0.7:
                conn.call("FLUSHDB", rng.choice(["SYNC", "ASYNC"]))
        conn.close()

    def programmer(self):
        rng = random.Random("%d programmer" % self.seed)
        conn = Connection(self.port)
        while self.running():
            action = rng.random()
            if action < 0.3:
                conn.call("SCRIPT", "FLUSH", rng.choice(["SYNC", "ASYNC"]))
            elif action < 0.6:
                if conn.call("FUNCTION", "LOAD", "REPLACE", LIBRARY) != b"stress":
                    raise Wrong("FUNCTION LOAD REPLACE")
            elif action < 0.8:
                number = self.unique()
                if conn.call("EVAL", b"return %d" % number, 0) != number:
                    raise Wrong("a script of its own")
            elif conn.call("EVAL", SCRIPT_LONG, 0) != 599997:
                raise Wrong("a longer script")
            time.sleep(rng.random() * 0.05)
        conn.close()

    def guard(self, name, body, *args):
        try:
            body(*args)
        except Exception as e:  # any exception is a failure of the load
            self.fail(name, repr(e) if not isinstance(e, Wrong) else e)

    def run(self):
        jobs = [("client %d" % i, self.worker, i) for i in range(self.clients)]
        jobs += [("slow reader %d" % i, self.slow_reader, i) for i in range(max(1, self.clients // 6))]
        jobs += [("settings", self.settings), ("killer", self.killer), ("emptier", self.emptier)]
        jobs.append(("programmer", self.programmer))
        conn = Connection(self.port)
        conn.call("FUNCTION", "LOAD", "REPLACE", LIBRARY)
        conn.close()
        threads = [threading.Thread(target=self.guard, args=job, daemon=True) for job in jobs]
        for t in threads:
            t.start()
        late = self.end + 2 * REPLY_TIMEOUT_S
        for t in threads:
            t.join(max(0.1, late - time.time()))
            if t.is_alive():
                self.fail("load", "a thread hangs")
                break


def shorten(x):
    return x if not isinstance(x, bytes) or len(x) <= 60 else x[:50] + b"... (%d bytes)" % len(x)


def main():
    parser = argparse.ArgumentParser(description="Load a server in every way at once and check every reply.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--clients", type=int, default=12)
    parser.add_argument("--no-half-close", action="store_true", help="for servers that drop replies at a half close")
    parser.add_argument("--tls-port", type=int, default=0)
    parser.add_argument("--cacert", help="the authority of the server's certificate")
    load = Load(parser.parse_args())
    print("seed %d" % load.seed, flush=True)
    load.run()
    print("%d replies; connections by their end: %s" % (
        load.replies, ", ".join("%s %d" % e for e in sorted(load.endings.items()))))
    for error in load.errors[:10]:
        print("WRONG %s" % error)
    sys.exit(1 if load.errors else 0)


if __name__ == "__main__":
    main()
