"""server.py -- a server process that is started again and again on one folder, and killed.

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
    """The process has ended instead of serving; the text is the end of its log."""


class Server:
    """binary is started on folder; its log, of all lives, is folder + ".log"."""

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
        """A connection to the server, which has loaded its data."""
        deadline = time.monotonic() + limit
        pause = 0.002
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                # A connection of somebody has the port for its own end; nothing has been loaded yet.
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
        """What this life has logged."""
        with open(self.log_path, "rb") as file:
            file.seek(self.log_from)
            return file.read().decode("utf-8", "replace")

    def is_alive(self):
        return self.process is not None and self.process.poll() is None

    def kill(self, with_children=True):
        """kill -9, of the children as well or of the server only."""
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
        """Wait for the end; its exit code."""
        try:
            code = self.process.wait(limit)
        finally:
            self.log.close()
        return code

    def children_left(self):
        """Processes of the group that the server led."""
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
    """A port from FIRST on that nobody listens at."""
    for port in range(first, first + count):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
                return port
            except OSError:
                continue
    raise SystemExit("no free port from %d on" % first)
