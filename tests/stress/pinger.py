#!/usr/bin/env python3
"""pinger.py -- how long does one command on a large value keep other clients waiting?

Starts a server, makes values of N elements, and runs each command beside a client that sends PING, GET and SET of
another key, one each millisecond. Prints, in milliseconds, the longest wait of that client; the most processor time that
the server used during one wait, which other load on the machine changes little; and how long the command took itself. It
is the middle one of ROUNDS rounds. With more than one server, a column for each.

    tests/stress/pinger.py --server src/valkey-server --server /usr/bin/valkey-server --elements 500000

Not here    which commands may run meanwhile (tests/engine/slices.tcl).

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time

CHUNK = 2000


def encode(*words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


class Connection:
    """A client that sends requests and counts the bytes of replies."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.end = ("end of %d" % id(self)).encode()

    def run(self, *words):
        """Runs a command, followed by ECHO, and returns the bytes of its reply as soon as that of ECHO is there."""
        self.socket.sendall(encode(*words) + encode("ECHO", self.end))
        mark = b"$%d\r\n%s\r\n" % (len(self.end), self.end)
        data = bytearray()
        while not data.endswith(mark):
            data += self.socket.recv(1 << 20)
        reply = bytes(data[:-len(mark)])
        if reply.startswith(b"-"):
            raise RuntimeError("%r: %s" % (words[:2], reply[:200]))
        return reply


def processor_time(pid):
    """Returns the processor time of all threads of a process, in seconds, by its clock (clock_getcpuclockid(3))."""
    return time.clock_gettime((~pid << 3) | 2)


def ping(port, pid, ready, stop, result):
    """Until `stop` is set, sends a short command each millisecond. Reports the longest wait in seconds, and the most
    processor time."""
    c = socket.create_connection(("127.0.0.1", port))
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    requests = [encode("PING"), encode("GET", "short"), encode("SET", "short", "value")]
    longest = used = 0.0
    sent = 0
    while not stop.is_set():
        begin, begin_used = time.perf_counter(), processor_time(pid)
        c.sendall(requests[sent % len(requests)])
        c.recv(4096)
        used = max(used, processor_time(pid) - begin_used)
        longest = max(longest, time.perf_counter() - begin)
        sent += 1
        if sent == 50:
            longest = used = 0.0
            ready.set()
        time.sleep(0.001)
    result[0], result[1] = longest, used


class Server:
    def __init__(self, path, port):
        self.folder = tempfile.mkdtemp(prefix="pinger")
        self.port = port
        self.process = subprocess.Popen(
            [os.path.abspath(path), "--port", str(port), "--save", "", "--dir", self.folder, "--enable-debug-command",
             "yes", "--proto-max-bulk-len", "2gb"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(200):
            try:
                self.client = Connection(port)
                self.client.run("PING")
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError("%s does not start" % path)

    def stop(self):
        self.process.terminate()
        self.process.wait()
        shutil.rmtree(self.folder)

    def fill(self, kind, key, n):
        """Makes a value of `n` elements."""
        for first in range(0, n, CHUNK):
            numbers = range(first, min(first + CHUNK, n))
            if kind == "hash":
                words = [w for i in numbers for w in ("field:%d" % i, "value:%d" % i)]
                self.client.run("HSET", key, *words)
            elif kind == "set":
                self.client.run("SADD", key, *("member:%d" % i for i in numbers))
            elif kind == "list":
                self.client.run("RPUSH", key, *("element:%d" % i for i in numbers))
            elif kind == "zset":
                self.client.run("ZADD", key, *(w for i in numbers for w in (i, "member:%d" % i)))
            else:
                for i in numbers:
                    self.client.socket.sendall(encode("SET", "key:%d" % i, "value:%d" % i))
                for _ in numbers:
                    pass
                self.client.run("PING")

    def measure(self, words):
        """Returns the longest wait of the pinger, by the clock and by the processor, and the time of the command."""
        ready, stop, result = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Array("d", 2)
        pinger = multiprocessing.Process(target=ping, args=(self.port, self.process.pid, ready, stop, result))
        pinger.start()
        ready.wait()
        begin = time.perf_counter()
        self.client.run(*words)
        took = time.perf_counter() - begin
        time.sleep(0.1)
        stop.set()
        pinger.join()
        return result[0], result[1], took


def cases(server, n, wanted):
    """Yields (name, function that prepares and returns the words of the command)."""
    def fixed(*words):
        return lambda: words

    def refill(kind, *words):
        def prepare():
            server.client.run("COPY", kind, "victim", "REPLACE")
            return words
        return prepare

    def restore():
        reply = server.client.run("DUMP", "hash")
        head, payload = reply.split(b"\r\n", 1)
        server.client.run("UNLINK", "victim")
        return ("RESTORE", "victim", "0", payload[:int(head[1:])])

    def keys():
        server.client.run("DEBUG", "POPULATE", str(n), "populated")
        return ("FLUSHALL", "SYNC")

    everything = [
        ("HGETALL", fixed("HGETALL", "hash")), ("HKEYS", fixed("HKEYS", "hash")), ("HVALS", fixed("HVALS", "hash")),
        ("SMEMBERS", fixed("SMEMBERS", "set")), ("LRANGE", fixed("LRANGE", "list", "0", "-1")),
        ("ZRANGE", fixed("ZRANGE", "zset", "0", "-1", "WITHSCORES")),
        ("DUMP", fixed("DUMP", "hash")), ("COPY", lambda: (server.client.run("UNLINK", "copy"), ("COPY", "hash",
         "copy"))[1]),
        ("RESTORE", restore), ("DEL", refill("hash", "DEL", "victim")), ("UNLINK", refill("hash", "UNLINK", "victim")),
        ("SET over", refill("hash", "SET", "victim", "x")), ("FLUSHALL SYNC", keys)]
    return [(name, f) for name, f in everything if not wanted or name in wanted]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--server", action="append", required=True)
    parser.add_argument("--port", type=int, default=24000)
    parser.add_argument("--elements", type=int, default=500000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", action="append", help="a command; may be given several times")
    args = parser.parse_args()
    rows = {}
    for number, path in enumerate(args.server):
        server = Server(path, args.port + number)
        try:
            for kind in ("hash", "set", "list", "zset"):
                server.fill(kind, kind, args.elements)
            for name, prepare in cases(server, args.elements, args.only):
                found = []
                for _ in range(args.rounds):
                    words = prepare()
                    time.sleep(0.3)
                    found.append(server.measure(words))
                middle = [sorted(column)[len(found) // 2] for column in zip(*found)]
                rows.setdefault(name, []).append(" ".join("%7.1f" % (1000 * seconds) for seconds in middle))
        finally:
            server.stop()
    print("%-14s" % "ms" + "   ".join("   wait    used command" for _ in args.server))
    for name, columns in rows.items():
        print("%-14s" % name + "   ".join(columns))
    return 0


if __name__ == "__main__":
    sys.exit(main())
