"""sentinel.py -- tests three sentinels that watch a primary with two replicas, under load.

The primary is killed: one replica must be promoted, the other becomes its replica, clients that ask the sentinels
continue to write, and the old primary becomes a replica when it is back. Then the same by SENTINEL FAILOVER, with all
servers running. No write that WAIT has confirmed may be lost, except in a failover of running servers that is not
COORDINATED, by sentinels before 9.0: the old primary does not know of it yet, and its other replica confirms its
writes.

The sentinels are Valkey's or Redis's: --sentinel is the program, under the name with which it runs as one.

SPDX-License-Identifier: BSD-3-Clause
"""

import argparse
import os
import shutil
import subprocess
import tempfile
import threading
import time

from fleet import Connection, Fault, Node, complaints, eventually, same_data

GROUP = "themaster"
WATCH = """port %d
bind 127.0.0.1
dir %s
sentinel monitor %s 127.0.0.1 %d 2
sentinel down-after-milliseconds %s 1000
sentinel failover-timeout %s 6000
"""


class Watcher:
    """One sentinel."""

    def __init__(self, number, program, folder, port, primary):
        self.port = port
        path = os.path.join(folder, "sentinel-%d" % number)
        os.makedirs(path)
        conf = os.path.join(path, "sentinel.conf")
        with open(conf, "w", encoding="utf-8") as file:
            file.write(WATCH % (port, path, GROUP, primary, GROUP, GROUP))
        self.log = open(os.path.join(path, "log"), "wb")
        name = "redis-sentinel" if "redis" in os.path.basename(program) else "valkey-sentinel"
        self.process = subprocess.Popen([name, conf, "--sentinel"], executable=program, stdout=self.log,
                                        stderr=self.log, stdin=subprocess.DEVNULL)

    def ask(self, *words):
        link = Connection(self.port)
        try:
            return link.ask([word.encode() for word in words])[1]
        finally:
            link.close()

    def fails_over(self, *words):
        return self.ask("SENTINEL", "FAILOVER", GROUP, *words) == b"+OK"

    def primary(self):
        return int(self.ask("SENTINEL", "GET-MASTER-ADDR-BY-NAME", GROUP)[1])

    def sees(self):
        """Returns (replicas, other sentinels) that it knows to be alive."""
        alive = lambda rows: sum(b"s_down" not in dict(zip(row[::2], row[1::2]))[b"flags"] for row in rows)
        return alive(self.ask("SENTINEL", "REPLICAS", GROUP)), alive(self.ask("SENTINEL", "SENTINELS", GROUP))


class Writer(threading.Thread):
    """Writes to the primary that the sentinels name, and notes what WAIT has confirmed."""

    def __init__(self, number, watchers):
        super().__init__(daemon=True)
        self.number, self.watchers = number, watchers
        self.confirmed = {}
        self.longest_s = 0.0
        self.ends = False

    def run(self):
        link, count, last = None, 0, time.monotonic()
        while not self.ends:
            try:
                if link is None:
                    link = Connection(self.watchers[count % 3].primary())
                    link.sock.settimeout(3)
                count += 1
                key = b"w%d:%d" % (self.number, count % 500)
                replies = self.write(link, key, count)
                if replies[0].startswith(b"-"):
                    raise ConnectionError(replies[0])
                if int(replies[1][1:]) >= 1:
                    self.confirmed[key] = count
                    self.longest_s = max(self.longest_s, time.monotonic() - last)
                    last = time.monotonic()
            except (OSError, ConnectionError, ValueError, TypeError):
                if link:
                    link.close()
                link = None
                time.sleep(0.05)

    @staticmethod
    def write(link, key, count):
        link.send([[b"SET", key, b"%d" % count], [b"WAIT", b"1", b"1000"]])
        return [link.reply()[0], link.reply()[0]]


def check_confirmed(primary, writers):
    for writer in writers:
        for key, count in writer.confirmed.items():
            value = primary.ask("GET", key)
            if value is None or int(value) < count:
                raise Fault("%s was confirmed with %d, and is %s on %s" % (key, count, value, primary.name))


def settled(watchers, nodes):
    """Returns the primary on which the sentinels agree, once the others are its replicas."""
    def primary():
        return next(node for node in nodes if node.port == watchers[0].primary())

    def agreed():
        new = primary()
        return all(w.primary() == new.port and w.sees() == (2, 2) for w in watchers) and \
            new.field("role") == "master" and \
            all(node is new or node.field("master_port") == str(new.port) for node in nodes)

    eventually(lambda: "one primary for all: %s, %s" % (
        [(w.primary(), w.sees()) for w in watchers],
        [(node.name, node.field("role"), node.field("master_port")) for node in nodes]), agreed, 120)
    return primary()


def stop(writers):
    for writer in writers:
        writer.ends = True
    for writer in writers:
        writer.join(10)


def promoted_from(watchers, nodes, old):
    eventually("another primary than %s" % old.name, lambda: watchers[0].primary() != old.port, 60)
    return next(node for node in nodes if node.port == watchers[0].primary())


def run(options, folder):
    nodes = [Node("node-%d" % i, options.server, folder, options.port + i,
                  ["--repl-diskless-sync-delay", "0", "--save", "", "--io-threads", "2",
                   "--repl-ping-replica-period", "1"])
             for i in range(3)]
    first = nodes[0]
    watchers = []
    try:
        for node in nodes:
            node.up()
        for node in nodes[1:]:
            node.ask("REPLICAOF", "127.0.0.1", first.port)
        for node in nodes[1:]:
            eventually("%s is up" % node.name, lambda: node.field("master_link_status") == "up")
        watchers = [Watcher(i, options.sentinel, folder, options.port + 10 + i, first.port) for i in range(3)]
        eventually("the sentinels see each other", lambda: all(w.sees() == (2, 2) for w in watchers), 60)
        coordinated = False
        for way in ("kill", "asked"):
            writers = [Writer(i, watchers) for i in range(4)]
            for writer in writers:
                writer.start()
            time.sleep(3)
            old = next(node for node in nodes if node.port == watchers[0].primary())
            if way == "kill":
                old.die()
            else:
                coordinated = watchers[0].fails_over("COORDINATED")
                if not coordinated:
                    eventually("a failover begins", watchers[0].fails_over, 30)
            new = promoted_from(watchers, nodes, old)
            time.sleep(3)
            if way == "kill":
                old.up()
            last = settled(watchers, nodes)
            stop(writers)
            last = settled(watchers, nodes)
            if not any(writer.confirmed for writer in writers):
                raise Fault("nothing was written")
            # A sentinel on a busy machine may consider a living primary down; then the failover is not coordinated.
            if last is new and (way == "kill" or coordinated):
                check_confirmed(new, writers)
            same_data(last, [node for node in nodes if node is not last])
            print("%s: %s took over from %s; %d writes confirmed, at most %.1f s apart" % (
                way + " and coordinated" * coordinated, new.name, old.name,
                sum(max(writer.confirmed.values(), default=0) for writer in writers),
                max(writer.longest_s for writer in writers)))
        faults = complaints(nodes)
        if faults:
            raise Fault("\n".join(faults))
    finally:
        for watcher in watchers:
            watcher.process.kill()
        for node in nodes:
            node.end()


def main():
    parser = argparse.ArgumentParser(description="A primary, two replicas, three sentinels.")
    parser.add_argument("--server", required=True)
    parser.add_argument("--sentinel", required=True, help="a program that is a sentinel with --sentinel")
    parser.add_argument("--port", type=int, default=24600)
    options = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="sentinel-", dir=os.environ.get("TMPDIR"))
    try:
        run(options, folder)
    except Fault as fault:
        print("FAILED: %s\n(logs: %s)" % (fault, folder))
        raise SystemExit(1) from None
    shutil.rmtree(folder)


if __name__ == "__main__":
    main()
