"""fleet.py -- primaries and replicas over bad networks, and checks on all of them.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "crash"))
sys.dont_write_bytecode = True

from server import Connection, Server  # noqa: E402

from proxy import Proxy  # noqa: E402


class Node(Server):
    """One server, and the network by which its replicas reach it."""

    def __init__(self, name, binary, folder, port, arguments=()):
        super().__init__(binary, os.path.join(folder, name), port, arguments)
        self.name = name
        self.proxy = Proxy(port + 50, port)
        self.link = None

    def up(self, environment=None):
        self.start(environment)
        self.link = self.await_ready(180)
        return self

    def ask(self, *words, limit=60):
        """Returns the reply as Python values; an error as text that begins with -. Reconnects if the connection is
        closed."""
        command = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        for last in (False, True):
            try:
                if self.link is None:
                    self.link = Connection(self.port)
                self.link.sock.settimeout(limit)
                raw, value = self.link.ask(command)
                return raw.decode("utf-8", "replace").strip() if raw[:1] == b"-" else value
            except (OSError, ConnectionError):
                self.link = None
                if last:
                    raise
        return None

    def field(self, name, section="replication"):
        for line in self.ask("INFO", section).decode("utf-8", "replace").split("\r\n"):
            if line.startswith(name + ":"):
                return line.split(":", 1)[1]
        return None

    def die(self, with_children=True):
        self.kill(with_children)
        self.reap()
        self.link = None


def eventually(what, check, limit=60, pause=0.02):
    """Waits until check() is true; what() describes the condition in the error."""
    deadline = time.monotonic() + limit
    while time.monotonic() < deadline:
        try:
            if check():
                return
        except (OSError, ConnectionError, AttributeError):
            pass
        time.sleep(pause)
        pause = min(0.25, pause * 1.5)
    raise Fault("not within %d seconds: %s" % (limit, what() if callable(what) else what))


class Fault(Exception):
    """A check has failed."""


def in_step(primary, replicas, limit=120):
    """Waits, without writes, until each replica is connected and has the primary's offset."""
    def ready(node):
        offset = primary.field("master_repl_offset")
        return node.field("master_link_status") == "up" and node.field("slave_repl_offset") == offset

    for node in replicas:
        eventually(lambda: "%s in step with %s (%s of %s, link %s)" % (
            node.name, primary.name, node.field("slave_repl_offset"), primary.field("master_repl_offset"),
            node.field("master_link_status")), lambda: ready(node), limit)


def same_data(primary, replicas, limit=120):
    """Waits until all are in sync, and compares digests, and the keys if these differ."""
    in_step(primary, replicas, limit)
    for node in replicas:
        # Keys that have expired on the primary are deleted by its UNLINK; until then digests may differ.
        deadline = time.monotonic() + 20
        while True:
            digests = [server.ask("DEBUG", "DIGEST") for server in (primary, node)]
            if digests[0] == digests[1]:
                break
            if time.monotonic() > deadline:
                raise Fault("%s differs from %s: %s\n%s" % (node.name, primary.name, digests, difference(primary, node)))
            time.sleep(0.3)
            in_step(primary, [node], limit)
        libraries = [server.ask("FUNCTION", "LIST", "WITHCODE") for server in (primary, node)]
        if libraries[0] != libraries[1]:
            raise Fault("%s has other functions than %s" % (node.name, primary.name))


def difference(one, other):
    """Returns some keys that differ."""
    found = []
    databases = int(one.ask("CONFIG", "GET", "databases")[1])
    for number in range(databases):
        names = []
        for node in (one, other):
            node.ask("SELECT", number)
            names.append(set(node.ask("KEYS", "*")))
        for name in sorted(names[0] | names[1]):
            digests = [node.ask("DEBUG", "DIGEST-VALUE", name) for node in (one, other)]
            ends = [node.ask("PEXPIRETIME", name) for node in (one, other)]
            if digests[0] != digests[1] or ends[0] != ends[1]:
                found.append("  db %d %r: %s %s, times %s" % (number, name, one.ask("TYPE", name), digests, ends))
    for node in (one, other):
        node.ask("SELECT", 0)
    return "\n".join(found[:20]) or "  (no key differs)"


def complaints(nodes):
    """Returns lines of their logs that must not occur."""
    found = []
    for node in nodes:
        with open(node.log_path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        for word in ("BUG REPORT START", "ASSERTION FAILED", "AddressSanitizer", "ThreadSanitizer", "runtime error: ",
                     "== CRITICAL =="):
            if word in text:
                found.append("%s: %s in %s" % (node.name, word, node.log_path))
    return found
