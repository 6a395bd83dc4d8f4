"""pinger.py -- a client that sends PING at fixed times and reports the time of each; a process of its own.

A PING that is due while an earlier one has no reply is sent as well, and its time counts from when it was due: a server
that does nothing for 20 ms delays all PINGs that were due meanwhile, as it would delay as many clients. A client that
waited for each reply before the next PING would report one delay.

    pinger.py PORT SECONDS RATE        writes a line of JSON

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import select
import socket
import subprocess
import sys
import time
from collections import deque
from pathlib import Path

PONG = len(b'+PONG\r\n')


def percentile(ordered, percent):
    """The smallest of the sorted values that so many percent of them do not exceed; None if there is no value."""
    if not ordered:
        return None
    return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)]


def summary(seconds):
    """The summary of a list of times, in milliseconds."""
    ordered = sorted(s * 1000 for s in seconds)
    return {'pings': len(ordered), 'p50_ms': percentile(ordered, 50), 'p99_ms': percentile(ordered, 99),
            'p999_ms': percentile(ordered, 99.9), 'max_ms': ordered[-1] if ordered else None}


def ping(port, seconds, rate):
    """The times of all replies, in seconds. Returns when each PING has its reply."""
    sock = socket.create_connection(('127.0.0.1', port))
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    sock.setblocking(False)
    poll = select.epoll()
    poll.register(sock, select.EPOLLIN)
    due, times, partial = deque(), [], 0
    begin = time.monotonic()
    sent, wanted = 0, int(seconds * rate)
    while len(times) < wanted:
        now = time.monotonic()
        while sent < wanted and begin + sent / rate <= now:
            sock.sendall(b'PING\r\n')
            due.append(begin + sent / rate)
            sent += 1
        # epoll counts whole milliseconds: for a PING that is due sooner, sleep.
        rest = begin + sent / rate - time.monotonic() if sent < wanted else 10
        if not due and rest > 0:
            time.sleep(rest)
            continue
        if not poll.poll(max(0, min(rest, 10))):
            continue
        got = sock.recv(1 << 16)
        if not got:
            raise ConnectionError('the server closed the connection')
        partial += len(got)
        now = time.monotonic()
        while partial >= PONG:
            times.append(now - due.popleft())
            partial -= PONG
    sock.close()
    return times


class Pinger:
    """A running process of this kind."""

    def __init__(self, port, seconds, rate=1000):
        self.process = subprocess.Popen([sys.executable, '-B', Path(__file__).resolve(), str(port), str(seconds),
                                         str(rate)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)

    def finish(self):
        try:
            text, _ = self.process.communicate()
        except BaseException:
            self.kill()
            raise
        if self.process.returncode:
            raise RuntimeError('the pinging client failed')
        return json.loads(text)

    def kill(self):
        self.process.kill()
        self.process.wait()


if __name__ == '__main__':
    print(json.dumps(summary(ping(int(sys.argv[1]), float(sys.argv[2]), float(sys.argv[3])))))
