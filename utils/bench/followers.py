"""followers.py -- replicas that store nothing: a process that replicates a server over COUNT connections.

Each does the handshake of a replica, receives the dataset and discards the replication stream in large pieces, without
copying it out of the kernel (MSG_TRUNC), so that it takes nearly no CPU from the measured server. It acknowledges once a
second, and at once when nothing more comes. With `stall` it does not read the replication stream.

    followers.py PORT COUNT [stall]        prints "ready" when all get the replication stream; ends with its input

SPDX-License-Identifier: BSD-3-Clause
"""
import select
import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

BITE = 1 << 18
QUIET, IDLE = 0.05, 0.2
STALLED_WINDOW = 1 << 16


def wire(*words):
    parts = [str(w).encode() for w in words]
    return b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts)


class Follower:
    def __init__(self, port, stall=False):
        self.sock = socket.socket()
        self.sock.settimeout(60)
        if stall:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, STALLED_WINDOW)
        self.sock.connect(('127.0.0.1', port))
        self.offset = self.acked = 0
        self.acked_at = time.monotonic()
        self.seen = b''

    # ---- The dataset -------------------------------------------------------------------------------------------------
    def more(self):
        got = self.sock.recv(1 << 20)
        if not got:
            raise ConnectionError('the server closed the connection')
        self.seen += got

    def line(self):
        """The next line. Empty lines only keep the connection alive and are skipped."""
        while True:
            while b'\n' not in self.seen:
                self.more()
            line, _, self.seen = self.seen.partition(b'\n')
            if line.strip():
                return line.strip()

    def ask(self, *words):
        self.sock.sendall(wire(*words))
        answer = self.line()
        if not answer.startswith(b'+'):
            raise ConnectionError(f'{words[0]}: {answer.decode()}')
        return answer.decode()

    def synchronize(self):
        self.ask('PING')
        self.ask('REPLCONF', 'listening-port', 1)
        self.ask('REPLCONF', 'capa', 'eof', 'capa', 'psync2')
        self.offset = int(self.ask('PSYNC', '?', -1).split()[2])
        head = self.line()
        if head.startswith(b'$EOF:'):
            mark = head[5:]
            while mark not in self.seen:
                self.seen = self.seen[-len(mark):]
                self.more()
            self.seen = self.seen.partition(mark)[2]
        else:
            left = int(head[1:])
            while len(self.seen) < left:
                left, self.seen = left - len(self.seen), b''
                self.more()
            self.seen = self.seen[left:]
        self.offset += len(self.seen)
        self.ack()

    # ---- The stream --------------------------------------------------------------------------------------------------
    def ack(self):
        self.sock.sendall(wire('REPLCONF', 'ACK', self.offset))
        self.acked, self.acked_at = self.offset, time.monotonic()

    def read(self, buffer):
        """The number of bytes read."""
        self.sock.setblocking(False)
        try:
            got = self.sock.recv_into(buffer, len(buffer), socket.MSG_TRUNC)
        except BlockingIOError:
            return 0
        finally:
            self.sock.settimeout(60)
        if got == 0:
            raise ConnectionError('the server closed the connection')
        self.offset += got
        return got


def follow(port, count, stall, ready, ended):
    """Runs until the file `ended` has data or ends."""
    with ExitStack() as stack:
        followers = {}
        for _ in range(count):
            f = Follower(port, stall)
            stack.enter_context(f.sock)
            f.synchronize()
            followers[f.sock.fileno()] = f
        ready()
        discard(followers, stall, ended)


def discard(followers, stall, ended):
    """Handles the input of all followers, {descriptor: follower}."""
    poll = select.epoll()
    poll.register(ended, select.EPOLLIN | select.EPOLLHUP)
    for fd, f in followers.items():
        if not stall:
            f.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, BITE)
            poll.register(fd, select.EPOLLIN)
    buffer = bytearray(BITE * 4)
    while True:
        behind = any(f.offset > f.acked for f in followers.values())
        woken = [fd for fd, _ in poll.poll(QUIET if behind else IDLE)]
        if ended.fileno() in woken:
            return
        quiet = not woken
        for fd in followers if quiet and not stall else woken:
            followers[fd].read(buffer)
        now = time.monotonic()
        for f in followers.values():
            if now - f.acked_at >= 1 or quiet and f.offset > f.acked:
                f.ack()


class Followers:
    """Such a process. When the constructor returns, all its connections get the replication stream."""

    def __init__(self, port, count, stall=False):
        self.process = subprocess.Popen([sys.executable, '-B', Path(__file__).resolve(), str(port), str(count),
                                         *(['stall'] if stall else [])],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != 'ready\n':
            self.close()
            raise RuntimeError('the replicas cannot follow')

    def close(self):
        self.process.communicate()
        return self.process.returncode

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


if __name__ == '__main__':
    follow(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:] == ['stall'], lambda: print('ready', flush=True), sys.stdin)
