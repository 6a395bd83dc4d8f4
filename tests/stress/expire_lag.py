#!/usr/bin/env python3
"""expire_lag.py -- how late expired keys are deleted: from the time of their TTL until the event "expired" arrives.

    tests/stress/expire_lag.py PORT [--keys 1000000] [--due 5000] [--seconds 20] [--wait 60] [--command "CONFIG SET ..."]

Fills the server (all of it: FLUSHALL) with --keys keys that expire in one to two hours, and with keys of which --due are
due in each millisecond-spread second of --seconds. Prints the lag of their events at p50, p99 and the worst, how many
came within --wait seconds after the last was due, and how long a PING took at worst meanwhile.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import socket
import sys
import threading
import time


class Connection:
    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port))
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.sock.makefile("rb", 1 << 20)

    def send(self, *words):
        out = [b"*%d\r\n" % len(words)]
        for word in words:
            word = word if isinstance(word, bytes) else str(word).encode()
            out.append(b"$%d\r\n%s\r\n" % (len(word), word))
        self.sock.sendall(b"".join(out))

    def read(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b"$":
            return self.file.read(int(rest) + 2)[:-2] if int(rest) >= 0 else None
        if kind in (b"*", b">"):
            return [self.read() for _ in range(int(rest))]
        if kind == b"-":
            sys.exit("expire_lag: " + rest.decode())
        return rest

    def ask(self, *words):
        self.send(*words)
        return self.read()


def fill(connection, commands):
    """Sends commands, each a list of bytes, 500 at a time."""
    batch = []
    for command in commands:
        batch.append(b"*%d\r\n" % len(command) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in command))
        if len(batch) == 500:
            flush(connection, batch)
            batch = []
    flush(connection, batch)


def flush(connection, batch):
    connection.sock.sendall(b"".join(batch))
    for _ in batch:
        connection.read()


def ping(port, until, worst):
    connection = Connection(port)
    while time.time() < until[0]:
        before = time.time()
        connection.ask("PING")
        worst.append(time.time() - before)
        time.sleep(0.001)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("port", type=int)
    parser.add_argument("--keys", type=int, default=1000000)
    parser.add_argument("--due", type=int, default=5000)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--wait", type=float, default=60)
    parser.add_argument("--command", action="append", default=[])
    options = parser.parse_args()

    control = Connection(options.port)
    control.ask("FLUSHALL")
    control.ask("CONFIG", "SET", "notify-keyspace-events", "Ex")
    for command in options.command:
        control.ask(*command.split())
    value = b"v" * 64
    fill(control, ([b"SET", b"key:%d" % i, value, b"EX", b"%d" % (3600 + i * 3600 // max(options.keys, 1))]
                   for i in range(options.keys)))
    total = int(options.due * options.seconds)
    begin_ms = int(time.time() * 1000) + 3000 + total // 20  # 20,000 keys a second are set
    times = [begin_ms + int(i * 1000 / options.due) for i in range(total)]
    subscriber = Connection(options.port)
    subscriber.ask("SUBSCRIBE", "__keyevent@0__:expired")
    fill(control, ([b"SET", b"due:%d:%d" % (i, when), b"v", b"PXAT", b"%d" % when] for i, when in enumerate(times)))
    if time.time() * 1000 > begin_ms:
        print("expire_lag: setting the keys took too long: the first ones were due by then")

    until, pings = [times[-1] / 1000 + options.wait], []
    pinger = threading.Thread(target=ping, args=(options.port, until, pings))
    while time.time() * 1000 < begin_ms - 100:
        time.sleep(0.01)
    pinger.start()
    lags = []
    while len(lags) < total and time.time() < until[0]:
        subscriber.sock.settimeout(max(0.01, until[0] - time.time()))
        try:
            message = subscriber.read()
        except TimeoutError:
            break
        now_ms = time.time() * 1000
        name = message[2].split(b":")
        if name[0] == b"due":
            lags.append(now_ms - int(name[2]))
    until[0] = 0
    pinger.join()
    lags.sort()
    pings.sort()
    if not lags:
        sys.exit("expire_lag: no event came")
    print("%d of %d events; lag p50 %.0f ms, p99 %.0f ms, worst %.0f ms; PING p99.9 %.2f ms, worst %.2f ms" % (
        len(lags), total, lags[len(lags) // 2], lags[len(lags) * 99 // 100], lags[-1],
        pings[len(pings) * 999 // 1000] * 1000, pings[-1] * 1000))
    for field in control.ask("INFO", "ALL").decode().splitlines():
        if field.split(":")[0] in ("used_memory", "expire_index_bytes", "expire_index_entries", "expire_cycle_cpu_milliseconds"):
            print(field)


main()
