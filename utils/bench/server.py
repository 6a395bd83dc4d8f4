"""server.py -- start a server to be measured, query it, read its CPU time from the scheduler, stop it.

A program may be a wrapper script, so the process is the one that the server names in INFO (process_id), not the one that
was started. Its CPU time is the sum over /proc/PID/task/*/schedstat: the file of the process counts only its first
thread.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import signal
import socket
import subprocess
import tempfile
import shutil
import time
from pathlib import Path


class ServerError(Exception):
    pass


class Connection:
    """A plain client: one request, one reply."""

    def __init__(self, port, timeout=600):
        self.sock = socket.create_connection(('127.0.0.1', port), timeout)
        self.file = self.sock.makefile('rb')

    def call(self, *args):
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        self.sock.sendall(b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts))
        return self._reply()

    def _reply(self):
        line = self.file.readline()
        if not line:
            raise ServerError('the server closed the connection')
        kind, rest = line[:1], line[1:-2]
        if kind == b'-':
            raise ServerError(rest.decode())
        if kind == b':':
            return int(rest)
        if kind == b'$':
            if int(rest) < 0:
                return None
            return self.file.read(int(rest) + 2)[:-2].decode('latin-1')
        if kind == b'*':
            return [self._reply() for _ in range(int(rest))]
        return rest.decode()

    def close(self):
        self.file.close()
        self.sock.close()


class Server:
    """One running server. `name` is the product; `variant` distinguishes servers of one product."""

    def __init__(self, name, path, port, options=(), variant='', under=()):
        self.name, self.path, self.port, self.variant = name, path, port, variant
        self.options, self.under = list(options), list(under)
        self.process = self.pid = self.link = None
        self.dir = None
        self.stopped = False

    # ---- Life --------------------------------------------------------------------------------------------------------
    def start(self, timeout=600):
        """Starts the process and waits until it serves, and so has loaded its files."""
        self.dir = tempfile.mkdtemp(prefix='valkey-bench.')
        log = open(Path(self.dir) / 'log', 'wb')
        command = self.under + [str(self.path), '--port', str(self.port), '--bind', '127.0.0.1', '--save', '',
                                '--dir', self.dir] + self.options
        self.process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL, cwd=self.dir)
        log.close()
        deadline = time.monotonic() + timeout
        while True:
            if self.process.poll() is not None or time.monotonic() > deadline:
                words = (Path(self.dir) / 'log').read_text(errors='replace')[-2000:]
                self.stop()
                raise ServerError(f'{self.name} did not start: {" ".join(command)}\n{words}')
            try:
                self.link = Connection(self.port)
                if self.link.call('PING') == 'PONG':
                    break
            except (OSError, ServerError):
                time.sleep(0.005)
        self.pid = int(self.info()['process_id'])
        return self

    def stop(self):
        self.thaw()
        if self.link:
            try:
                self.link.sock.settimeout(20)
                self.link.call('SHUTDOWN', 'NOSAVE')
            except (OSError, ServerError):
                pass
            self.link.close()
            self.link = None
        if self.process:
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                for pid in {self.pid, self.process.pid} - {None}:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except OSError:
                        pass
                self.process.wait()
            self.process = None
        if self.dir:
            shutil.rmtree(self.dir, ignore_errors=True)
            self.dir = None

    def freeze(self):
        """Stops the process: then its timers take no CPU from the server that is measured."""
        if self.pid and not self.stopped:
            os.kill(self.pid, signal.SIGSTOP)
            self.stopped = True

    def thaw(self):
        if self.stopped:
            try:
                os.kill(self.pid, signal.SIGCONT)
            except OSError:
                pass
            self.stopped = False

    # ---- Questions ---------------------------------------------------------------------------------------------------
    def call(self, *args):
        return self.link.call(*args)

    def info(self):
        pairs = (line.split(':', 1) for line in self.call('INFO', 'all').splitlines() if ':' in line)
        return {k: v for k, v in pairs}

    def commands(self):
        return int(self.info()['total_commands_processed'])

    def config(self, name, value):
        return self.call('CONFIG', 'SET', name, value)

    def cpu(self):
        """(all threads, main thread) in nanoseconds since the start."""
        total = main = 0
        for task in os.listdir(f'/proc/{self.pid}/task'):
            try:
                ran = int(Path(f'/proc/{self.pid}/task/{task}/schedstat').read_text().split()[0])
            except OSError:
                continue
            total += ran
            if int(task) == self.pid:
                main = ran
        return total, main

    def rss(self):
        for line in Path(f'/proc/{self.pid}/status').read_text().splitlines():
            if line.startswith('VmRSS:'):
                return int(line.split()[1]) * 1024
        return 0


class Fleet:
    """Several servers that are measured in turns. All but the current one are frozen."""

    def __init__(self, servers):
        self.servers = servers

    def __enter__(self):
        try:
            for s in self.servers:
                s.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for s in self.servers:
            s.stop()

    def turn(self, server):
        for s in self.servers:
            if s is server:
                s.thaw()
            else:
                s.freeze()
        return server
