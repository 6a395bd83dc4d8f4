"""writers.py -- clients that write to the current primary, and measure the longest time in which none could; a process.

Each client has one batch of SETs in flight. If the batch is refused, or the connection breaks, it sends the batch to the
other server; if that refuses it too, the client tries again a millisecond later. A time is that between two replies to
successful writes.

    writers.py CLIENTS BATCH SIZE PORT PORT        runs until its input ends, then writes a line of JSON

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import select
import socket
import subprocess
import sys
import time
from pathlib import Path

KEYS = 10_000
PAUSE = 0.001


class Gaps:
    """The longest time between two successful writes. The owner sets `longest` to 0 after it has reported it."""

    def __init__(self):
        self.last, self.longest = None, 0

    def success(self, now):
        if self.last is not None:
            self.longest = max(self.longest, now - self.last)
        self.last = now


class Writer:
    def __init__(self, number, batch, size, ports):
        self.ports, self.at = ports, 0
        self.number, self.batch, self.size = number, batch, size
        self.sock, self.seen, self.due = None, b'', 0
        self.gaps, self.written, self.refused = Gaps(), 0, 0
        self.next_key = number

    def request(self):
        text = b''
        for i in range(self.batch):
            key = b'key:%012d' % ((self.next_key + i) % KEYS)
            text += b'*3\r\n$3\r\nSET\r\n$16\r\n' + key + b'\r\n$%d\r\n' % self.size + b'x' * self.size + b'\r\n'
        return text

    def begin(self):
        """Connects if needed, and sends. Returns False if that is not possible now."""
        try:
            if not self.sock:
                self.sock = socket.create_connection(('127.0.0.1', self.ports[self.at]))
                self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.seen = b''
            self.sock.sendall(self.request())
            return True
        except OSError:
            self.leave()
            return False

    def leave(self):
        if self.sock:
            self.sock.close()
        self.sock, self.at = None, 1 - self.at

    def replies(self):
        """Reads replies. Returns None while some are missing, then whether all writes succeeded."""
        try:
            got = self.sock.recv(1 << 16)
        except OSError:
            got = b''
        if not got:
            return False
        self.seen += got
        if self.seen.count(b'\n') < self.batch:
            return None
        return self.seen == b'+OK\r\n' * self.batch


def write(clients, batch, size, ports, ended, asked=lambda: None):
    """Runs until the file `ended` ends. For each line in it, passes the results since the last line to asked()."""
    poll = select.epoll()
    poll.register(ended, select.EPOLLIN | select.EPOLLHUP)
    writers = [Writer(i, batch, size, ports) for i in range(clients)]
    waiting, busy = list(writers), {}
    everybody = Gaps()
    while True:
        now = time.monotonic()
        for w in [w for w in waiting if w.due <= now]:
            if w.begin():
                waiting.remove(w)
                busy[w.sock.fileno()] = w
                poll.register(w.sock, select.EPOLLIN)
            else:
                w.due = now + PAUSE
        for fd, _ in poll.poll(PAUSE if waiting else 1):
            if fd == ended.fileno():
                if not ended.readline():
                    for w in busy.values():
                        w.sock.close()
                    return
                asked(told(writers, everybody))
                everybody.longest = 0
                for w in writers:
                    w.gaps.longest = w.written = w.refused = 0
                continue
            w = busy[fd]
            good = w.replies()
            if good is None:
                continue
            now = time.monotonic()
            if good:
                w.gaps.success(now)
                everybody.success(now)
                w.written += batch
                w.next_key += batch * clients
                w.sock.sendall(w.request())
                w.seen = b''
                continue
            poll.unregister(fd)
            del busy[fd]
            w.leave()
            w.refused += 1
            w.due = now + (PAUSE if w.refused % 2 == 0 else 0)
            waiting.append(w)


def told(writers, everybody):
    return {'gap_ms': everybody.longest * 1000, 'client_ms': max(w.gaps.longest for w in writers) * 1000,
            'written': sum(w.written for w in writers), 'refused': sum(w.refused for w in writers)}


class Writers:
    """A running process of this kind."""

    def __init__(self, ports, clients=16, batch=4, size=100):
        self.process = subprocess.Popen([sys.executable, '-B', Path(__file__).resolve(), str(clients), str(batch),
                                         str(size), *map(str, ports)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def since(self):
        """The result since the last call."""
        self.process.stdin.write('\n')
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise RuntimeError('the writing clients failed')
        return json.loads(line)

    def close(self):
        self.process.communicate()


if __name__ == '__main__':
    write(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), [int(p) for p in sys.argv[4:]], sys.stdin.buffer.raw,
          lambda told: print(json.dumps(told), flush=True))
