#!/usr/bin/env python3
"""tls_storm.py -- what a TLS server pays when thousands of clients reconnect at once and give up while they wait.

  tests/stress/tls_storm.py --server build/release/bin/valkey-server -- --io-threads 2
  tests/stress/tls_storm.py --server /usr/bin/valkey-server --key ec --most 1.2

Starts the server with a certificate that it makes, and measures its processor time twice:

  base    the same number of handshakes, one after another
  storm   all clients at once. Each closes its connection when it got no PONG in --timeout seconds, and connects again at
          once, until it has one. Then it keeps its connection.

Prints both, their ratio, the attempts, and when the clients were served; ends with 1 if the ratio exceeds --most or a client
was not served in --limit seconds. The clients need processor time too: with a key of RSA (the default) the server needs
several times as much.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import heapq
import multiprocessing
import os
import resource
import select
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time

KEYS = {"rsa2048": ["rsa:2048"], "rsa4096": ["rsa:4096"], "ec": ["ec", "-pkeyopt", "ec_paramgen_curve:P-256"]}


def options():
    parser = argparse.ArgumentParser(description="A storm of TLS clients that reconnect.")
    parser.add_argument("--server", required=True, help="the program")
    parser.add_argument("--port", type=int, default=26100, help="the plain port; the next one is for TLS")
    parser.add_argument("--clients", type=int, default=5000)
    parser.add_argument("--timeout", type=float, default=2.0, help="seconds after which a client gives up an attempt")
    parser.add_argument("--processes", type=int, default=2, help="of clients")
    parser.add_argument("--key", choices=KEYS, default="rsa2048")
    parser.add_argument("--resume", action="store_true", help="the clients have sessions to resume")
    parser.add_argument("--most", type=float, help="the ratio that is a failure if it is exceeded")
    parser.add_argument("--limit", type=float, default=120, help="seconds after which the storm ends")
    parser.add_argument("arguments", nargs="*", help="of the server, after --")
    return parser.parse_args()


class Server:
    def __init__(self, o, folder):
        subprocess.run(["openssl", "req", "-x509", "-newkey", *KEYS[o.key], "-nodes", "-days", "2", "-keyout",
                        folder + "/key", "-out", folder + "/crt", "-subj", "/CN=localhost"], check=True,
                       stderr=subprocess.DEVNULL)
        self.port = o.port
        self.process = subprocess.Popen(
            [o.server, "--port", str(o.port), "--tls-port", str(o.port + 1), "--tls-cert-file", folder + "/crt",
             "--tls-key-file", folder + "/key", "--tls-auth-clients", "no", "--save", "", "--dir", folder, "--maxclients",
             str(3 * o.clients), "--logfile", folder + "/log", *o.arguments])
        for _ in range(200):
            try:
                self.plain = socket.create_connection(("127.0.0.1", self.port))
                break
            except OSError:
                time.sleep(0.05)

    def cpu(self):
        """Returns the seconds of processor time of all threads."""
        total = 0
        for task in os.listdir(f"/proc/{self.process.pid}/task"):
            with open(f"/proc/{self.process.pid}/task/{task}/schedstat") as file:
                total += int(file.read().split()[0])
        return total / 1e9

    def info(self, section, word):
        self.plain.sendall(f"INFO {section}\r\n".encode())
        text = b""
        while not text.endswith(b"\r\n") or len(text) < int(text[1:text.index(b"\r\n")]) + 2:
            text += self.plain.recv(65536)
        return [line for line in text.decode().split("\r\n") if word in line]

    def end(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def context_of():
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def one_after_another(port, count, session_of):
    """Makes handshakes one after another, and returns the connections, which stay open."""
    context = context_of()
    kept = []
    session = session_of(context, port) if session_of else None
    for _ in range(count):
        raw = socket.create_connection(("127.0.0.1", port))
        client = context.wrap_socket(raw, session=session)
        client.sendall(b"PING\r\n")
        assert client.recv(100) == b"+PONG\r\n"
        kept.append(client)
    return kept


def get_session(context, port):
    with context.wrap_socket(socket.create_connection(("127.0.0.1", port))) as client:
        client.sendall(b"PING\r\n")
        client.recv(100)
        return client.session


class Storm:
    """Clients of one process, each in one state: connecting, in the handshake, waiting for its PONG."""

    def __init__(self, port, count, o, context, session):
        self.port, self.o, self.context, self.session = port, o, context, session
        self.poll = select.epoll()
        self.attempts = [0] * count
        self.clients = {}  # descriptor: [client, SSL socket, state]
        self.due = []      # (time, descriptor, client, attempt)
        self.served = {}
        self.kept = []
        self.begin = time.monotonic()

    def connect(self, client):
        raw = socket.socket()
        raw.setblocking(False)
        raw.connect_ex(("127.0.0.1", self.port))
        self.attempts[client] += 1
        self.clients[raw.fileno()] = [client, raw, "connect"]
        self.poll.register(raw.fileno(), select.EPOLLOUT)
        heapq.heappush(self.due, (time.monotonic() + self.o.timeout, raw.fileno(), client, self.attempts[client]))

    def again(self, fd):
        client, channel, _ = self.clients.pop(fd)
        channel.close()
        self.connect(client)

    def go_on(self, fd):
        entry = self.clients[fd]
        client, channel, state = entry
        if state == "connect":
            if channel.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
                self.again(fd)
                return
            entry[1] = self.context.wrap_socket(channel, do_handshake_on_connect=False, session=self.session)
            state = entry[2] = "handshake"
            self.poll.modify(fd, select.EPOLLIN)
        try:
            if state == "handshake":
                entry[1].do_handshake()
                entry[1].send(b"PING\r\n")
                entry[2] = "pong"
            elif entry[1].recv(100) == b"+PONG\r\n":
                self.served[client] = time.monotonic() - self.begin
                self.poll.unregister(fd)
                self.kept.append(self.clients.pop(fd)[1])
            else:
                self.again(fd)
        except ssl.SSLWantReadError:
            pass
        except OSError:
            self.again(fd)

    def run(self):
        count = len(self.attempts)
        for client in range(count):
            self.connect(client)
        while len(self.served) < count and time.monotonic() - self.begin < self.o.limit:
            now = time.monotonic()
            # All that has arrived is taken before anyone gives up: clients have processors of their own.
            for fd, _ in self.poll.poll(max(0, min(1, self.due[0][0] - now)) if self.due else 1, 2 * count):
                if fd in self.clients:
                    self.go_on(fd)
            while self.due and self.due[0][0] <= now:
                _, fd, client, attempt = heapq.heappop(self.due)
                entry = self.clients.get(fd)
                if entry and entry[0] == client and self.attempts[client] == attempt:
                    self.again(fd)


def storm_process(port, count, o, start, results, over):
    context = context_of()
    storm = Storm(port, count, o, context, get_session(context, port) if o.resume else None)
    start.wait()
    storm.begin = time.monotonic()
    storm.run()
    results.put((sum(storm.attempts), list(storm.served.values())))
    over.wait()


def report(name, cpu, wall, more=""):
    print(f"{name:6} server {cpu:7.2f} s of processor time in {wall:6.2f} s{more}", flush=True)


def measure_base(o, folder):
    server = Server(o, folder)
    one_after_another(o.port + 1, 1, None)
    before, begin = server.cpu(), time.monotonic()
    kept = one_after_another(o.port + 1, o.clients, get_session if o.resume else None)
    cpu = server.cpu() - before
    report("base", cpu, time.monotonic() - begin, f", {cpu / o.clients * 1e6:.0f} us a handshake")
    del kept
    server.end()
    return cpu


def measure_storm(o, folder):
    server = Server(o, folder)
    one_after_another(o.port + 1, 1, None)
    start, over, results = multiprocessing.Event(), multiprocessing.Event(), multiprocessing.Queue()
    parts = [o.clients // o.processes + (i < o.clients % o.processes) for i in range(o.processes)]
    processes = [multiprocessing.Process(target=storm_process, args=(o.port + 1, part, o, start, results, over))
                 for part in parts]
    for process in processes:
        process.start()
    time.sleep(1)
    before, begin = server.cpu(), time.monotonic()
    start.set()
    found = [results.get() for _ in processes]
    cpu, wall = server.cpu() - before, time.monotonic() - begin
    served = sorted(t for _, times in found for t in times)
    report("storm", cpu, wall, f", {len(served)} of {o.clients} served in {sum(a for a, _ in found)} attempts")
    if served:
        print("       served: half after %.2f s, 99 %% after %.2f s, the last after %.2f s"
              % (served[len(served) // 2], served[len(served) * 99 // 100], served[-1]))
    for line in server.info("tls", "handshakes") + server.info("stats", "rejected_connections"):
        print("       " + line)
    over.set()
    for process in processes:
        process.join()
    server.end()
    return cpu, len(served)


def main():
    o = options()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory() as folder:
        base = measure_base(o, folder)
        cpu, served = measure_storm(o, folder)
    print(f"ratio  {cpu / base:.2f}")
    if served < o.clients or (o.most and cpu > o.most * base):
        sys.exit(1)


if __name__ == "__main__":
    main()
