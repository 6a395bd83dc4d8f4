"""greeter.py -- open RATE TLS connections a second, each with a full handshake and one PING; a process of its own.

    greeter.py PORT CA_FILE SECONDS RATE        writes a line of JSON

SPDX-License-Identifier: BSD-3-Clause
"""
import json
import socket
import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

THREADS = 4  # a handshake waits for the server twice


def greet(context, port):
    with socket.create_connection(('127.0.0.1', port)) as plain, context.wrap_socket(plain) as sock:
        sock.sendall(b'PING\r\n')
        if sock.recv(64) != b'+PONG\r\n':
            raise ConnectionError('no PONG')


def run(port, authority, seconds, rate):
    """The number of connections, in all and per second."""
    context = ssl.create_default_context(cafile=authority)
    context.check_hostname = False
    begin, made, lock = time.monotonic(), [0], threading.Lock()

    def work(first):
        number = first
        while number < seconds * rate:
            rest = begin + number / rate - time.monotonic()
            if rest > 0:
                time.sleep(rest)
            if time.monotonic() - begin > seconds:
                return
            greet(context, port)
            with lock:
                made[0] += 1
            number += THREADS
    threads = [threading.Thread(target=work, args=(i,)) for i in range(THREADS)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    return {'handshakes': made[0], 'per_second': made[0] / (time.monotonic() - begin)}


class Greeter:
    """A running process of this kind."""

    def __init__(self, port, authority, seconds, rate):
        self.process = subprocess.Popen([sys.executable, '-B', Path(__file__).resolve(), str(port), str(authority),
                                         str(seconds), str(rate)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                                        text=True)

    def finish(self):
        try:
            text, _ = self.process.communicate()
        except BaseException:
            self.process.kill()
            self.process.wait()
            raise
        if self.process.returncode:
            raise RuntimeError('the client of handshakes failed')
        return json.loads(text)


if __name__ == '__main__':
    print(json.dumps(run(int(sys.argv[1]), sys.argv[2], float(sys.argv[3]), float(sys.argv[4]))))
