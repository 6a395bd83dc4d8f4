"""wire.py -- a server process of a differential test, and connections to it.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import socket
import subprocess
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

# Settings that rounds may have changed. fresh() resets them, and those that modules vary (remember()).
DEFAULTS = {b"maxmemory": b"0", b"maxmemory-policy": b"noeviction", b"hz": b"10", b"timeout": b"0",
            b"slowlog-log-slower-than": b"-1", b"maxmemory-samples": b"5", b"lfu-log-factor": b"10",
            b"lazyfree-lazy-user-del": b"yes"}


def tmp_dir():
    path = os.path.join(ROOT, "tests", "tmp")
    os.makedirs(path, exist_ok=True)
    return path

# The start of a line of a monitor: time, database, client.
MONITORED = re.compile(rb"\+\d+\.\d{6} \[(\d+) ([^] ]+)\] ")


class Connection:
    """A connection to PORT; input is read as complete replies (reply()) or as bytes (take())."""

    def __init__(self, port):
        self.sock = socket.create_connection(("127.0.0.1", port), 5)
        self.sock.settimeout(60)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = bytearray()
        # Bytes of this connection so far, which the server counts in tot-net-in and tot-net-out.
        self.sent = 0
        self.received = 0

    def address(self):
        """Returns its address as the server has it."""
        return b"%s:%d" % (self.sock.getsockname()[0].encode(), self.sock.getsockname()[1])

    def close(self):
        self.sock.close()

    def send(self, commands):
        out = bytearray()
        for command in commands:
            out += b"*%d\r\n" % len(command)
            for word in command:
                out += b"$%d\r\n%s\r\n" % (len(word), word)
        self.sock.sendall(out)
        self.sent += len(out)

    def ask(self, command):
        self.send([command])
        return self.reply()

    def fill(self):
        chunk = self.sock.recv(65536)
        if not chunk:
            raise ConnectionError("closed by the server")
        self.buf += chunk
        self.received += len(chunk)

    def take(self, received=None):
        """Returns the unread bytes, up to RECEIVED in all; without a number, all until the server closes the
        connection."""
        try:
            while received is None or self.received < received:
                self.fill()
        except ConnectionError:
            if received is not None:
                raise
        end = len(self.buf) if received is None else len(self.buf) - (self.received - received)
        raw = bytes(self.buf[:end])
        del self.buf[:end]
        return raw

    def reply(self):
        """Returns one reply as its raw bytes and as nested Python values."""
        at, value = self.decode(0)
        raw = bytes(self.buf[:at])
        del self.buf[:at]
        if raw[:1] == b">" or MONITORED.match(raw):
            return self.reply()
        return raw, value

    def line(self, at):
        while True:
            end = self.buf.find(b"\r\n", at)
            if end >= 0:
                return end + 2, bytes(self.buf[at:end])
            self.fill()

    def decode(self, at):
        at, line = self.line(at)
        kind, rest = line[:1], line[1:]
        if kind in b"$=!":
            length = int(rest)
            if length < 0:
                return at, None
            while len(self.buf) < at + length + 2:
                self.fill()
            return at + length + 2, bytes(self.buf[at:at + length])
        if kind in b"*~>%|":
            count = int(rest) * (2 if kind in b"%|" else 1)
            if count < 0:
                return at, None
            items = []
            for _ in range(count):
                at, item = self.decode(at)
                items.append(item)
            return at, items
        return at, None if kind == b"_" else line


class Server:
    """A server process with a connection of its own; every fresh() empties it."""

    def __init__(self, binary, port, extra):
        self.port = port
        self.dir = tempfile.mkdtemp(prefix="differential-", dir=tmp_dir())
        self.log = open(os.path.join(self.dir, "log"), "wb")
        self.process = subprocess.Popen(
            [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", self.dir,
             "--enable-debug-command", "yes", *extra],
            stdout=self.log, stderr=self.log, stdin=subprocess.DEVNULL)
        self.link = None
        self.defaults = dict(DEFAULTS)
        self.await_ready()

    def await_ready(self):
        deadline = time.time() + 120
        while time.time() < deadline:
            if self.process.poll() is not None:
                break
            try:
                socket.create_connection(("127.0.0.1", self.port), 1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise SystemExit("the server did not start:\n" + self.log_text()[-2000:])

    def log_text(self):
        self.log.flush()
        with open(self.log.name, "rb") as file:
            return file.read().decode("utf-8", "replace")

    def connect(self):
        if self.link:
            self.link.close()
        self.link = Connection(self.port)

    def remember(self, setting):
        """Makes fresh() reset SETTING to its present value. Returns None if the server has no such setting."""
        value = self.ask([b"CONFIG", b"GET", setting])[1]
        if not value:
            return None
        self.defaults[setting] = value[1]
        return value[1]

    def fresh(self, protocol, settings=()):
        """Empties the server, resets its settings, applies SETTINGS (name, value), and returns a new connection.

        Keys and fields expire only when they are accessed: the active expire cycle would act on one server before the
        other.
        """
        self.connect()
        wanted = {**self.defaults, **dict(settings)}
        config = [word for pair in wanted.items() for word in pair]
        for command in ([b"CLIENT", b"UNPAUSE"], [b"FLUSHALL"], [b"CONFIG", b"RESETSTAT"], [b"SLOWLOG", b"RESET"],
                        [b"CONFIG", b"SET", *config], [b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0"]):
            raw = self.ask(command)[0]
            if raw.startswith(b"-") and command[0] == b"CONFIG":
                raise SystemExit("port %d: %r: %r" % (self.port, command, raw))
        if protocol == 3:
            self.ask([b"HELLO", b"3"])

    def ask(self, command):
        return self.link.ask(command)

    def changes(self):
        """rdb_changes_since_last_save"""
        for line in self.ask([b"INFO", b"persistence"])[1].split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name == b"rdb_changes_since_last_save":
                return int(value)
        return 0

    def send(self, commands):
        self.link.send(commands)

    def reply(self):
        return self.link.reply()

    def stop(self):
        if self.link:
            self.link.close()
        self.process.terminate()
        try:
            code = self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        self.log.close()
        return code
