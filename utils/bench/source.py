"""source.py -- a primary that has only a replication stream, whose bytes were made before.

It needs one system call for some megabytes, so the replica limits the speed.

SPDX-License-Identifier: BSD-3-Clause
"""
import random
import socket

ID = 'b' * 40
EMPTY = b'REDIS0011\xff' + bytes(8)  # a snapshot without keys; a checksum of zeros is none
SELECT = b'*2\r\n$6\r\nSELECT\r\n$1\r\n0\r\n'
GETACK = b'*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n'


def sets(numbers, size):
    """SETs of the keys with these numbers, with the names that the generator uses and values of so many bytes."""
    value = b'$%d\r\n%s\r\n' % (size, b'x' * size)
    return b''.join(b'*3\r\n$3\r\nSET\r\n$16\r\nkey:%012d\r\n' % k + value for k in numbers)


def drawn(keys, count, seed=1):
    """`count` numbers below `keys`, the same each time."""
    draw = random.Random(seed)
    return [draw.randrange(keys) for _ in range(count)]


class Source:
    """One replica's primary."""

    def __init__(self, server):
        with socket.create_server(('127.0.0.1', 0)) as listener:
            listener.settimeout(60)
            server.call('REPLICAOF', '127.0.0.1', listener.getsockname()[1])
            self.sock, _ = listener.accept()
        self.sock.settimeout(600)
        self.file = self.sock.makefile('rb')
        self.sent = 0
        while self.answer() != b'PSYNC':
            pass
        self.sock.sendall(b'+FULLRESYNC %s 0\r\n$%d\r\n' % (ID.encode(), len(EMPTY)) + EMPTY)
        self.send(SELECT)
        self.flush()

    def request(self):
        """The words of the replica's next command. Skips empty lines, which only keep the connection alive."""
        line = self.file.readline()
        while line == b'\n':
            line = self.file.readline()
        if not line:
            raise ConnectionError('the replica closed the connection')
        if not line.startswith(b'*'):
            raise ValueError(f'not a request: {line!r}')
        words = []
        for _ in range(int(line[1:])):
            words.append(self.file.read(int(self.file.readline()[1:]) + 2)[:-2])
        return words

    def answer(self):
        """Reads and answers a command of the handshake. Returns its name."""
        words = self.request()
        name = words[0].upper()
        if name == b'PING':
            self.sock.sendall(b'+PONG\r\n')
        elif name != b'PSYNC' and words[1:2] != [b'ACK']:
            self.sock.sendall(b'+OK\r\n')
        return name

    def send(self, text, times=1):
        for _ in range(times):
            self.sock.sendall(text)
        self.sent += len(text) * times

    def flush(self):
        """Waits until the replica acknowledges all of the stream."""
        wanted = self.sent
        self.send(GETACK)
        while True:
            words = self.request()
            if words[0].upper() == b'REPLCONF' and words[1].upper() == b'ACK' and int(words[2]) >= wanted:
                return

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()
