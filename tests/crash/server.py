"""server.py -- a server process that is repeatedly started on one folder, and killed.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "differential"))
sys.dont_write_bytecode = True

from wire import Connection  # noqa: E402

START_LIMIT_S = 60


class DidNotStart(Exception):
    """The process has ended during the start; the text is the end of its log."""


class Server:
    """Runs binary on folder; the log of all its lives is folder + ".log"."""

    def __init__(self, binary, folder, port, arguments=()):
        self.binary, self.folder, self.port, self.arguments = binary, folder, port, list(arguments)
        self.log_path = folder + ".log"
        self.process = self.log = None
        os.makedirs(folder, exist_ok=True)

    def start(self, environment=None, more=()):
        self.how = environment, more
        self.log = open(self.log_path, "ab")
        self.log_from = self.log.tell()
        words = [self.binary, "--port", str(self.port), "--bind", "127.0.0.1", "--dir", self.folder,
                 "--enable-debug-command", "yes", *self.arguments, *more]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log,
                                        cwd=self.folder, start_new_session=True,
                                        env={**os.environ, **(environment or {})})
        return self

    def await_ready(self, limit=START_LIMIT_S):
        """Returns a connection to the server after it has loaded its data."""
        deadline = time.monotonic() + limit
        pause = 0.002
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                # The port is used as the local end of another connection; nothing has been loaded yet.
                if "Address already in use" in self.log_text():
                    self.reap()
                    time.sleep(0.2)
                    self.start(*self.how)
                    continue
                raise DidNotStart("exit %d\n%s" % (self.process.returncode, self.log_text()[-1500:]))
            try:
                link = Connection(self.port)
                if link.ask([b"PING"])[0] == b"+PONG\r\n":
                    return link
                link.close()
            except (OSError, ConnectionError):
                pass
            time.sleep(pause)
            pause = min(0.05, pause * 1.5)
        raise DidNotStart("it does not answer after %d s\n%s" % (limit, self.log_text()[-1500:]))

    def log_text(self):
        """Returns the log of this life."""
        with open(self.log_path, "rb") as file:
            file.seek(self.log_from)
            return file.read().decode("utf-8", "replace")

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, with_children=True):
        """Kills the server with kill -9, and its children as well if asked for."""
        if self.process is None:
            return
        try:
            if with_children:
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                self.process.kill()
        except ProcessLookupError:
            pass

    def reap(self, limit=60):
        """Waits for the end and returns the exit code."""
        try:
            code = self.process.wait(limit)
        finally:
            self.log.close()
        return code

    def children_left(self):
        """Returns the remaining processes of the server's group."""
        try:
            os.killpg(self.process.pid, 0)
            return True
        except (ProcessLookupError, PermissionError):
            return False

    def end(self):
        self.kill()
        if self.process is not None:
            self.reap()

    def resident_kb(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            for line in file:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1])
        return 0


def free_port(first, count=200):
    """Returns an unused port from FIRST on."""
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit("no free port from %d on" % first)
