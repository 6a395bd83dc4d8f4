"""thread_experiments.py -- experiments about threads: their cost where they cannot help, and the memory that eight of them
leave unused. In the form of experiments.py, which has a table of them.

SPDX-License-Identifier: BSD-3-Clause
"""
import random
import socket
import threading
import time
from contextlib import ExitStack, contextmanager

from load import get, put
from replication_experiments import PATIENT, following
from server import Fleet
from session_experiments import BODY, Subscribers, wire
from tls_experiments import certificate

SUBSCRIBERS, MESSAGES = 50, 200  # messages a second
COMPANY = ('subscribers', 'a replica', 'TLS', 'everysec')
THREADS = {'1 thread': 1, '2 threads': 2, '9 threads': 9}


class News:
    """Subscribers that read and a publisher, at a fixed rate; in this process, on a thread of its own."""

    def __init__(self, port):
        self.readers = Subscribers(port, SUBSCRIBERS)
        self.writer = socket.create_connection(('127.0.0.1', port))
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        delivered = SUBSCRIBERS * len(wire('message', 'news', BODY))
        due = time.monotonic()
        while not self.over.wait(max(0, due - time.monotonic())):
            self.writer.sendall(wire('PUBLISH', 'news', BODY))
            self.readers.read(delivered)
            self.writer.recv(64)
            due = max(due + 1 / MESSAGES, time.monotonic() - 1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()
        self.readers.close()
        self.writer.close()


@contextmanager
def in_company(ctx, company):
    """A fleet of our servers, one for each number of threads. With TLS each has .certs."""
    with ExitStack() as stack:
        certs = stack.enter_context(certificate()) if company == 'TLS' else None
        servers = []
        for variant, count in THREADS.items():
            port = ctx.port() if certs else 0
            more = {'a replica': PATIENT, 'everysec': ['--appendonly', 'yes', '--appendfsync', 'everysec'],
                    'TLS': ['--tls-port', str(port), '--tls-cert-file', f'{certs}/cert.pem', '--tls-key-file',
                            f'{certs}/key.pem', '--tls-ca-cert-file', f'{certs}/cert.pem', '--tls-auth-clients', 'no'],
                    'subscribers': []}[company]
            servers.append(ctx.server(ctx.products[0], variant, ['--io-threads', str(count), *more]))
            servers[-1].tls = (port, f'{certs}/cert.pem') if certs else ()
        fleet = stack.enter_context(Fleet(servers))
        if company == 'a replica':
            for s in servers:
                fleet.turn(s)
                stack.enter_context(following(s, 1))
        yield fleet


def beside(ctx):
    """GET and SET without pipelines, io-threads 1, 2 and 9, beside subscribers, a replica and a log, and over TLS."""
    for company in COMPANY:
        with in_company(ctx, company) as fleet:
            n = ctx.keys(300_000, 100_000, 900, len(fleet.servers))
            ctx.fill(fleet, n, 512)
            todo = [make(f'{word} {clients} clients, {company}', clients=clients, keys=n)
                    for clients in (50, 650) for make, word in ((get, 'GET'), (put, 'SET'))]
            for number in range(1, ctx.rounds + 1):
                for load in todo[:2] if ctx.quick else todo:
                    line = []
                    # A server pays for the writes that those before it left to the disk: each is first in one round.
                    first = number % len(fleet.servers)
                    for s in fleet.servers[first:] + fleet.servers[:first]:
                        fleet.turn(s)
                        load.tls = s.tls
                        with ExitStack() as stack:
                            if company == 'subscribers':
                                stack.enter_context(News(s.port))
                            got = ctx.measure(s, load, number)
                        line.append(f'{s.variant} {got["rps"] / 1000:.0f}k {got["cpu_ns"]:.0f} ns')
                    ctx.say(f'    {number}  {load.name}: ' + ' | '.join(line))


# ---- Memory ----------------------------------------------------------------------------------------------------------
def set_all(port, numbers, value):
    """Sends SETs of these keys on one connection, in pipelines."""
    with socket.create_connection(('127.0.0.1', port)) as s:
        s.settimeout(60)
        for at in range(0, len(numbers), 500):
            part = numbers[at:at + 500]
            s.sendall(b''.join(wire('SET', f'key:{i:012}', value) for i in part))
            left = len(part) * len(b'+OK\r\n')
            while left:
                left -= len(s.recv(left))


def overwritten(ctx):
    """Keys that eight threads have loaded, overwritten by one client in an order of chance: growth of memory, both ways."""
    for size in (512, 4096):
        n = (400_000 if size == 512 else 50_000) // (4 if ctx.quick else 1)
        for number in range(1, (1 if ctx.quick else 3) + 1):
            options = ['--io-threads', '9', '--io-threads-always-active', 'yes']
            with Fleet([ctx.server(ctx.products[0], '9 threads', options)]) as fleet:
                server, value = fleet.servers[0], b'v' * size
                empty = server.info()
                loaders = [threading.Thread(target=set_all, args=(server.port, range(k, n, 8), value)) for k in range(8)]
                for t in loaders:
                    t.start()
                for t in loaders:
                    t.join()
                order = list(range(n))
                random.Random(number).shuffle(order)
                set_all(server.port, order, value)
                time.sleep(12)  # until idle threads have given back their caches, and the allocator its free pages (ten seconds)
                info = server.info()
                rss, used = (int(info[name]) - int(empty[name]) for name in ('used_memory_rss', 'used_memory'))
                ctx.record(server, f'overwritten {size} B', number, rss_by_used=rss / used, keys=n, size=size)
                ctx.say(f'    {number}  {n:,} keys of {size} B: {rss / 1e6:.0f} MB resident, {used / 1e6:.0f} MB used')


# name: (function, figures that need it)
ALL = {
    'beside': (beside, ('51',)),
    'overwritten': (overwritten, ('53',)),
}
