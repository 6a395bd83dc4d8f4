"""bench.py -- servers, fake replicas and fake primaries for the cases of tests/differential/replication.

A case is a function of a Bench. It does the same with any server, and records its observations (see(), and those that
fakes record themselves). The program runs it once with each server and compares both lists.

Bench.plain() replaces everything that must differ: ports, replication IDs, marks, addresses.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import threading
import time

from wire import tmp_dir

PATIENCE_S = 30
HEX = re.compile(rb"(?<![0-9a-f])[0-9a-f]{40}(?![0-9a-f])")
NOBODY = b"0" * 40

# Snapshots of one key, `key` with `value`, and of none. Eight zeros: no checksum.
EMPTY = b"REDIS0011\xff" + bytes(8)


# INFO fields of section replication that only this server has.
OURS_ALONE = (b"replica_keeping_from_empty_primary", b"replica_keeping_from_empty_primary_seconds")


def snapshot(*pairs, magic=b"REDIS0011", aux=()):
    out = magic
    for name, value in aux:
        out += b"\xfa" + bytes([len(name)]) + name + bytes([len(value)]) + value
    if pairs:
        out += b"\xfe\x00\xfb\x80" + len(pairs).to_bytes(4, "big") + b"\x00"
        for key, value in pairs:
            out += b"\x00" + bytes([len(key)]) + key + bytes([len(value)]) + value
    return out + b"\xff" + bytes(8)


def encode(words):
    out = bytearray(b"*%d\r\n" % len(words))
    for word in words:
        word = word if isinstance(word, bytes) else str(word).encode()
        out += b"$%d\r\n%s\r\n" % (len(word), word)
    return bytes(out)


class Closed(Exception):
    pass


class Silent(Exception):
    pass


class Wire:
    """One end of a connection. Input is read as lines, counted bytes, replies or requests."""

    def __init__(self, sock):
        self.sock = sock
        sock.settimeout(PATIENCE_S)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buf = bytearray()
        self.closed = False

    def close(self):
        self.sock.close()

    def port(self):
        return self.sock.getsockname()[1]

    def raw(self, data):
        try:
            self.sock.sendall(data)
        except OSError:
            self.closed = True

    def send(self, *words):
        self.raw(encode(words))

    def fill(self, timeout=None):
        self.sock.settimeout(PATIENCE_S if timeout is None else timeout)
        try:
            chunk = self.sock.recv(65536)
        except socket.timeout:
            raise Silent("nothing came: %r" % bytes(self.buf[-200:]))
        except OSError:
            chunk = b""
        if not chunk:
            self.closed = True
            raise Closed("closed")
        self.buf += chunk

    def take(self, n):
        while len(self.buf) < n:
            self.fill()
        out = bytes(self.buf[:n])
        del self.buf[:n]
        return out

    def line(self):
        """Returns a line with its end."""
        while b"\n" not in self.buf:
            self.fill()
        return self.take(self.buf.index(b"\n") + 1)

    def filled_line(self):
        """Returns the next line that is not empty: empty lines keep a connection alive."""
        while True:
            line = self.line()
            if line != b"\n":
                return line

    def until(self, mark):
        """Returns the bytes up to and including MARK."""
        while mark not in self.buf:
            self.fill()
        return self.take(self.buf.index(mark) + len(mark))

    def reply(self):
        """Returns the bytes of one reply."""
        line = self.line()
        if line[:1] in b"$=!" and line[1:2] != b"-":
            return line + self.take(int(line[1:]) + 2)
        if line[:1] in b"*~>" and line[1:2] != b"-":
            return line + b"".join(self.reply() for _ in range(int(line[1:])))
        if line[:1] in b"%|":
            return line + b"".join(self.reply() for _ in range(2 * int(line[1:])))
        return line

    def ask(self, *words):
        """Sends a command and returns the bytes of the reply; if there is none, what happens to the connection."""
        self.send(*words)
        return self.heard()

    def heard(self):
        try:
            return self.reply()
        except Closed:
            return b"(closed)"
        except Silent:
            return b"(silence)"

    def command(self):
        """Returns the bytes of one request: an array, or a line. Skips empty lines, which keep a connection alive."""
        line = self.filled_line()
        if line[:1] == b"*":
            for _ in range(int(line[1:])):
                head = self.line()
                line += head + self.take(int(head[1:]) + 2)
        return line

    def end(self):
        """Returns all bytes until the connection is closed."""
        try:
            while True:
                self.fill()
        except Closed:
            out = bytes(self.buf)
            self.buf.clear()
            return out + b"(closed)"
        except Silent:
            return bytes(self.buf) + b"(silence)"

    def marked(self):
        """Returns (header, snapshot) of a snapshot that ends with a mark."""
        header = self.filled_line()
        if header.startswith(b"$EOF:"):
            mark = header[5:45]
            return header, self.until(mark)[:-40]
        if header.startswith(b"$"):
            return header, self.take(int(header[1:]))
        return header, b""


class Server:
    """A server process, and a connection for the commands of the case."""

    def __init__(self, bench, binary, options):
        self.bench = bench
        self.binary = binary
        self.options = options
        self.port = bench.new_port()
        self.dir = tempfile.mkdtemp(dir=bench.home)
        self.log_path = os.path.join(self.dir, "log")
        self.password = None
        self.begin()

    def begin(self, *more):
        argv = [self.binary]
        conf = os.path.join(self.dir, "conf")
        if os.path.exists(conf):
            argv.append(conf)
        argv += ["--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--dir", self.dir,
                 "--enable-debug-command", "yes", "--repl-diskless-sync-delay", "0", "--loglevel", "notice",
                 "--repl-ping-replica-period", "3600", *self.options, *more]
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(argv, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        deadline = time.time() + PATIENCE_S
        while True:
            try:
                self.link = Wire(socket.create_connection(("127.0.0.1", self.port), 5))
                return
            except OSError:
                if self.process.poll() is not None or time.time() > deadline:
                    raise RuntimeError("the server did not start: " + self.log()[-1500:].decode("utf-8", "replace"))
                time.sleep(0.02)

    def log(self):
        with open(self.log_path, "rb") as file:
            return file.read()

    def lines(self, *begins):
        """Returns the log lines that begin with these texts; in order, without time and process."""
        found = []
        for line in self.log().split(b"\n"):
            text = re.sub(rb"^\d+:[A-Z] \d+ \w+ \d+ [\d:.]+ [-.*#] ", b"", line)
            if text != line and any(text.startswith(start.encode()) for start in begins):
                found.append(self.bench.plain(text))
        return found

    def first_lines(self, *begins):
        """Like lines(), but only the first four of each beginning: this server writes four such lines a minute and
        counts the others."""
        found, seen = [], dict.fromkeys(begins, 0)
        for line in self.lines(*begins):
            begin = next(one for one in begins if line.startswith(one.encode()))
            seen[begin] += 1
            if seen[begin] <= 4:
                found.append(line)
        return found

    def logged(self, text):
        self.bench.wait(lambda: text.encode() in self.log(), "the log to say " + text)

    def connect(self):
        wire = Wire(socket.create_connection(("127.0.0.1", self.port), 5))
        self.bench.opened.append(wire)
        return wire

    def ask(self, *words):
        return self.link.ask(*words)

    def text(self, *words):
        """Returns the text of a bulk string reply."""
        raw = self.ask(*words)
        return raw[raw.index(b"\r\n") + 2:-2] if raw[:1] == b"$" else raw

    def info(self, section="replication"):
        return dict(line.split(b":", 1) for line in self.text("INFO", section).splitlines() if b":" in line)

    def field(self, name, section="replication"):
        return self.info(section).get(name.encode(), b"(none)")

    def fields(self, *names, section="replication"):
        found = self.info(section)
        return [(name, self.bench.plain(found.get(name.encode(), b"(none)"))) for name in names]

    def clients(self, kind):
        """Returns CLIENT LIST TYPE kind as a dict for each client."""
        text = self.text("CLIENT", "LIST", "TYPE", kind)
        return [dict(word.partition(b"=")[::2] for word in line.split(b" ")) for line in text.splitlines() if line]

    def await_field(self, name, value, section="replication"):
        value = value if callable(value) else (lambda now, wanted=str(value).encode(): now == wanted)
        self.bench.wait(lambda: value(self.field(name, section)), "INFO's %s" % name)

    def kill(self):
        self.link.close()
        self.process.kill()
        self.process.wait()

    def end(self):
        """Returns whether it has ended by itself, and how."""
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            return "runs"

    def stop(self):
        self.link.close()
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def follow(self, other):
        self.ask("REPLICAOF", "127.0.0.1", other.port)
        self.await_field("master_link_status", "up")


class Bench:
    """One run of a case: its server program, fakes, and observations."""

    def __init__(self, binary, ports):
        self.binary = binary
        self.ports = ports
        self.home = tempfile.mkdtemp(prefix="following-", dir=tmp_dir())
        self.seen = []
        self.servers = []
        self.opened = []
        self.names = {}  # text -> its replacement
        self.named = 0
        self.ids = {}

    # ---- Servers and connections 

    def new_port(self):
        port = self.ports.take()
        self.name_port(port)
        return port

    def name_port(self, port):
        self.named += 1
        self.names[b"%d" % port] = b"PORT-%d" % self.named

    def server(self, *options):
        server = Server(self, self.binary, [str(option) for option in options])
        self.servers.append(server)
        return server

    def replica(self, server, *options, **kwargs):
        return Replica(self, server, *options, **kwargs)

    def primary(self, **kwargs):
        return Primary(self, **kwargs)

    def close(self):
        for wire in self.opened:
            wire.close()
        for server in self.servers:
            server.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    # ---- Observations ----

    def plain(self, data):
        """Returns DATA without the parts that must differ."""
        if isinstance(data, (list, tuple)):
            return [self.plain(item) for item in data]
        if not isinstance(data, bytes):
            return data

        def name(match):
            text = match[0]
            if text == NOBODY:
                return b"ID-0"
            return self.ids.setdefault(text, b"ID-%d" % (len(self.ids) + 1))

        data = HEX.sub(name, data)
        for text, instead in self.names.items():
            data = re.sub(rb"(?<![0-9])%s(?![0-9])" % text, instead, data)
        return data

    def see(self, what, value, but=None):
        """Records an observation. BUT: why it need not be the same for the other server."""
        what = self.plain(what.encode()).decode()
        self.seen.append((what, self.plain(value), but))

    def wait(self, condition, what, seconds=PATIENCE_S):
        deadline = time.time() + seconds
        while not condition():
            if time.time() > deadline:
                raise TimeoutError("waited for " + what)
            time.sleep(0.02)

    def see_replication(self, server, what, without=()):
        """Records INFO replication; a number of seconds only as zero or not."""
        found = []
        for line in server.text("INFO", "replication").splitlines():
            name, colon, value = line.partition(b":")
            if name.decode() in without or name in OURS_ALONE:
                continue
            if name.endswith(b"_seconds_ago") or name.endswith(b"_since_seconds"):
                value = b"-1" if value == b"-1" else b"(seconds)"
            value = re.sub(rb"lag=-?\d+", b"lag=(n)", value)
            found.append(name + colon + value)
        self.see(what + ": INFO replication", found)


class Replica(Wire):
    """A fake replica of SERVER: a connection that sends the requests of a replica."""

    def __init__(self, bench, server, capa=("eof", "psync2"), port=7777, version="9.1.2", hello=True):
        super().__init__(socket.create_connection(("127.0.0.1", server.port), 5))
        bench.opened.append(self)
        bench.name_port(self.port())
        self.bench, self.server = bench, server
        if hello:
            words = ["PING"], ["REPLCONF", "listening-port", port]
            words += (["REPLCONF"] + [word for one in capa for word in ("capa", one)],) if capa else ()
            words += (["REPLCONF", "version", version],) if version else ()
            self.greeting = [self.ask(*one) for one in words]

    def full(self):
        """Sends PSYNC ? -1 and returns (line, header, snapshot); the replication stream follows."""
        self.send("PSYNC", "?", "-1")
        line = self.filled_line()
        header, data = self.marked()
        if header.startswith(b"$EOF"):
            self.online()
            self.send("REPLCONF", "ACK", line.split()[2] if b" " in line else 0)
        if self.server.field("role") == b"master":
            self.server.await_field("master_repl_offset", lambda value: value != b"0")  # by a ping
        return line, header, data

    def online(self):
        """Waits until the primary has reaped its child: acknowledgments before that are ignored."""
        def all_are():
            found = self.server.info()
            return all(b"state=online" in value for name,
            value in found.items() if name[:5] == b"slave" and b"state=" in value)

        self.bench.wait(all_are, "replicas to be online")

    def stream(self, marker):
        """Returns the replication stream until MARKER, which a client in database 0 writes."""
        self.server.ask("SET", marker, "1")
        return self.until(encode(["SET", marker, "1"]))[:-len(encode(["SET", marker, "1"]))]


class Primary:
    """A fake primary: it listens; session() accepts the next connection."""

    def __init__(self, bench):
        self.bench = bench
        self.sock = socket.socket()
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.port = bench.new_port()
        self.sock.bind(("127.0.0.1", self.port))
        self.sock.listen(16)
        self.sock.settimeout(PATIENCE_S)
        bench.opened.append(self.sock)

    def session(self):
        sock, _ = self.sock.accept()
        session = Session(sock, self.bench)
        self.bench.opened.append(session)
        return session

    def close(self):
        self.sock.close()


ID = b"abcdef0123456789abcdef0123456789abcdef01"
OTHER_ID = b"1234567890123456789012345678901234567890"


class Session(Wire):
    """A connection of a replica to a fake primary."""

    def __init__(self, sock, bench):
        super().__init__(sock)
        self.bench = bench

    def expect(self, answer=b"+OK\r\n"):
        """Returns the next request and replies to it."""
        request = self.command()
        if answer:
            self.raw(answer)
        return request

    def until_psync(self, answers=None):
        """Returns the handshake; each request gets +OK or the reply in ANSWERS (word in it -> bytes). It ends with
        PSYNC, which gets no reply."""
        said = []
        while True:
            request = self.command()
            said.append(request)
            if b"\r\nPSYNC\r\n" in request:
                return said
            answer = b"+PONG\r\n" if b"\r\nPING\r\n" in request else b"+OK\r\n"
            for word, other in (answers or {}).items():
                if word in request:
                    answer = other
            if answer:
                self.raw(answer)

    def give(self, data, offset=0, stream=b"", name=ID, mark=None):
        """Replies to PSYNC with the dataset DATA."""
        self.raw(b"+FULLRESYNC %s %d\r\n" % (name, offset))
        if mark:
            self.raw(b"$EOF:%s\r\n%s%s%s" % (mark, data, mark, stream))
        else:
            self.raw(b"$%d\r\n%s%s" % (len(data), data, stream))

    def acks(self, wanted):
        """Reads requests until one is WANTED. Returns the different ones, each once."""
        different = []
        while True:
            request = self.command()
            if request not in different:
                different.append(request)
            if request == wanted:
                return different


class Ports:
    """The ports of a range, one after the other, for both runs of all cases."""

    def __init__(self, first, count):
        self.first, self.count = first, count
        self.next = 0
        self.lock = threading.Lock()

    def take(self):
        with self.lock:
            for _ in range(self.count):
                port = self.first + self.next % self.count
                self.next += 1
                probe = socket.socket()
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind(("127.0.0.1", port))
                except OSError:
                    continue
                finally:
                    probe.close()
                return port
        raise RuntimeError("no port is free")
