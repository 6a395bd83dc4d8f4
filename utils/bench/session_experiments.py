"""session_experiments.py -- experiments about channels, transactions, blocked clients, client-side caching and users. In
the form of experiments.py, which has a table of them.

SPDX-License-Identifier: BSD-3-Clause
"""
import resource
import select
import socket
import time
from contextlib import contextmanager

from load import Load, get
from server import Connection, Fleet

MB = 1 << 20
OURS = 'this server'
BODY = b'x' * 100


def wire(*words):
    parts = [w if isinstance(w, bytes) else str(w).encode() for w in words]
    return b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts)


# ---- Channels --------------------------------------------------------------------------------------------------------
class Subscribers:
    """Connections that are subscribed to `news` and read the messages, in this process."""

    def __init__(self, port, count):
        self.socks = {}
        self.poll = select.epoll()
        self.buffer = bytearray(1 << 18)
        for _ in range(count):
            s = socket.create_connection(('127.0.0.1', port))
            s.sendall(wire('SUBSCRIBE', 'news'))
            self.socks[s.fileno()] = s
        for fd, s in self.socks.items():
            s.recv(4096)
            s.setblocking(False)
            self.poll.register(fd, select.EPOLLIN)

    def read(self, size):
        """Reads so many bytes from all connections together."""
        while size > 0:
            for fd, _ in self.poll.poll(10):
                size -= self.socks[fd].recv_into(self.buffer)

    def close(self):
        for s in self.socks.values():
            s.close()
        self.poll.close()


def publish_of(ctx, fleet, count, total):
    """PUBLISH of 100 B to `count` subscribers, `total` messages delivered a round: one by one, and 16 in a pipeline."""
    delivered = len(wire('message', 'news', BODY))
    for number in range(1, ctx.rounds + 1):
        for name, pipeline in (('P16', 16), ('one by one', 1)):
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                readers, writer = Subscribers(s.port, count), socket.create_connection(('127.0.0.1', s.port))
                rounds, request = max(1, total // count // pipeline), wire('PUBLISH', 'news', BODY) * pipeline

                def run(times):
                    for _ in range(times):
                        writer.sendall(request)
                        readers.read(count * pipeline * delivered)
                        replies = 0
                        while replies < pipeline:
                            replies += writer.recv(1 << 16).count(b'\n')
                run(max(1, rounds // 10))
                cpu, main = s.cpu()
                run(rounds)
                cpu2, main2 = s.cpu()
                n = rounds * pipeline * count
                ctx.record(s, f'PUBLISH {name}', number, cpu_ns=(cpu2 - cpu) / n, main_ns=(main2 - main) / n,
                           clients=count, pipeline=pipeline, size=len(BODY))
                line.append(f'{s.name} {(cpu2 - cpu) / n:.0f} ns ({(main2 - main) / n:.0f} on main)')
                readers.close()
                writer.close()
            ctx.say(f'    {number}  PUBLISH {name}: ' + ' | '.join(line))


def publish(ctx):
    """PUBLISH of 100 B to 1,000 subscribers, one thread."""
    with ctx.fleet({'1 thread': []}) as fleet:
        publish_of(ctx, fleet, 1000, 100_000 if ctx.quick else 500_000)


def publish_on_main(ctx):
    """The same with io-threads 2: what the main thread pays for a delivered message."""
    with ctx.two_threads() as fleet:
        publish_of(ctx, fleet, 1000, 100_000 if ctx.quick else 500_000)


def deaf_subscriber(ctx):
    """A subscriber that does not read: resident memory until the server sends it away (pubsub limit 32 MB)."""
    request = wire('PUBLISH', 'news', b'y' * 1000) * 16
    for number in range(1, ctx.rounds + 1):
        for product in ctx.products:
            with Fleet([ctx.server(product)]) as fleet:
                s = fleet.servers[0]
                s.config('client-output-buffer-limit', 'pubsub 32mb 0 0')
                deaf, writer = Connection(s.port), socket.create_connection(('127.0.0.1', s.port))
                deaf.call('SUBSCRIBE', 'news')
                before = most = s.rss()
                for _ in range(100_000):
                    writer.sendall(request)
                    replies = b''
                    while replies.count(b'\n') < 16:
                        replies += writer.recv(1 << 16)
                    most = max(most, s.rss())
                    if b':0' in replies:
                        break
                deaf.close()
                writer.close()
                ctx.record(s, 'deaf subscriber', number, grown_mb=(most - before) / MB)
                ctx.say(f'    {number}  {s.name}: {(most - before) / MB:.1f} MB')


# ---- Transactions ----------------------------------------------------------------------------------------------------
def transactions(ctx):
    """MULTI, 10 x SET or GET, EXEC in one write, 50 connections: server CPU of a command of these twelve."""
    with ctx.fleet() as fleet:
        n = ctx.keys(1_000_000, 200_000, 300, len(fleet.servers))
        ctx.fill(fleet, n, 100)
        todo = [Load(f'10 x {name}', f'multi ; 10 {words} ; exec'.split(), size=100, keys=n, pipeline=1,
                     what={'command': f'MULTI, 10 x {name}, EXEC'})
                for name, words in (('SET', 'set key:__rand_int__ __data__'), ('GET', 'get key:__rand_int__'))]
        ctx.rounds_of(fleet, todo)


# ---- Blocked clients -------------------------------------------------------------------------------------------------
def hand_over(ctx):
    """LPUSH of 50 clients, BLPOP of 50 others: server CPU of an element."""
    n = 50_000 if ctx.quick else 500_000
    with ctx.fleet() as fleet:
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                fleet.turn(s).call('FLUSHALL', 'SYNC')
                cpu = s.cpu()[0]
                pops = ctx.generator.start(s.port, Load('', 'blpop jobs 0'.split(), size=3), requests=n)
                time.sleep(0.1)
                ctx.generator.run(s.port, Load('', 'lpush jobs __data__'.split(), size=3), requests=n)
                pops.finish()
                used = (s.cpu()[0] - cpu) / n
                ctx.record(s, 'LPUSH and BLPOP', number, cpu_ns=used, clients=100)
                line.append(f'{s.name} {used:.0f} ns')
            ctx.say(f'    {number}  LPUSH and BLPOP: ' + ' | '.join(line))


@contextmanager
def files_for(count):
    """Raises the limit of descriptors, here and in the servers that are started. Returns how many are allowed."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, max(count, before[1])))
    except (ValueError, PermissionError):
        count = before[1]
        resource.setrlimit(resource.RLIMIT_NOFILE, before[1:] * 2)
    try:
        yield count
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before[0], max(count, before[1])))


def waiting(ctx):
    """GET beside 100,000 clients that wait, each for a key of its own, and beside as many that are idle."""
    wanted = 2000 if ctx.quick else 100_000
    with files_for(wanted + 2000) as files:
        count = min(wanted, files - 2000)
        if count < wanted:
            ctx.note(f'waiting: {count:,} clients instead of {wanted:,}, as this machine does not allow more descriptors')
        waiting_of(ctx, count)


def waiting_of(ctx, count):
    load = get('GET', pipeline=16, size=64, keys=100_000)
    with Fleet([ctx.server(ctx.products[0], options=['--maxclients', str(count + 1000)])]) as fleet:
        s = fleet.servers[0]
        ctx.fill(fleet, load.keys, load.size)
        crowd = []
        for i in range(count):
            sock = socket.socket()
            sock.bind((f'127.0.1.{1 + i // 20_000}', 0))  # one address has fewer than 30,000 ports
            sock.connect(('127.0.0.1', s.port))
            crowd.append(sock)
        time.sleep(1)
        for number in range(1, ctx.rounds + 1):
            for i, sock in enumerate(crowd):
                sock.sendall(wire('BLPOP', f'own:{i}', 0))
            while int(s.info()['blocked_clients']) < count:
                time.sleep(0.05)
            wait = ctx.measure(s, load, number, variant='waiting')
            for i in range(0, count, 100):
                for k in range(i, min(i + 100, count)):
                    s.link.sock.sendall(wire('RPUSH', f'own:{k}', 'x'))
                for k in range(i, min(i + 100, count)):
                    s.link._reply()
                    crowd[k].recv(256)
            idle = ctx.measure(s, load, number, variant='idle')
            ctx.say(f'    {number}  GET: {wait["cpu_ns"]:.0f} ns beside {count:,} that wait, {idle["cpu_ns"]:.0f} idle')
        for sock in crowd:
            sock.close()


# ---- Client-side caching ---------------------------------------------------------------------------------------------
def tracking(ctx):
    """GET with tracking and without, 1M keys, io-threads 2: main thread; memory of a tracked key."""
    with ctx.two_threads() as fleet:
        n = ctx.keys(1_000_000, 200_000, 300, len(fleet.servers))
        ctx.fill(fleet, n, 64)
        for s in fleet.servers:
            fleet.turn(s).config('tracking-table-max-keys', 0)
            link = socket.create_connection(('127.0.0.1', s.port))
            link.sendall(wire('HELLO', 3) + wire('CLIENT', 'TRACKING', 'ON'))
            time.sleep(0.2)
            link.recv(1 << 16)
            before = int(s.info()['used_memory'])
            for first in range(0, n, 1000):
                link.sendall(b''.join(wire('EXISTS', f'key:{i:012d}') for i in range(first, first + 1000)))
                size = 4 * 1000
                while size > 0:
                    size -= len(link.recv(1 << 16))
            info = s.info()
            keys = int(info['tracking_total_keys'])
            ctx.record(s, 'tracked key', 1, bytes_per_key=(int(info['used_memory']) - before) / keys, keys=keys)
            ctx.say(f'    {s.name}: {(int(info["used_memory"]) - before) / keys:.1f} B for each of {keys:,} keys')
            link.close()
        plain = get('GET', pipeline=16, size=64, keys=n)
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                for variant in ('off', 'on'):
                    load = plain if variant == 'off' else get('GET', pipeline=16, size=64, keys=n, tracking=True)
                    got = ctx.measure(s, load, number, variant=variant)
                    line.append(f'{s.name} {variant} {got["main_ns"]:.0f} ns')
            ctx.say(f'    {number}  GET, tracking: ' + ' | '.join(line))


# ---- Users -----------------------------------------------------------------------------------------------------------
# Ten patterns, of which only the last matches; twenty rules about commands.
PATTERNS = [f'~app:{i}:*' for i in range(5)] + ['%R~cache:*', '%W~log:*', '~user:[0-9]*', '%R~?:shared', '~key:*']
RULES = ['+@read', '+@write', '+@connection', '-@dangerous', '-@admin', '+@hash', '+@list', '-@scripting', '+get', '+set',
         '+del', '+expire', '+select|0', '-flushall', '-flushdb', '-keys', '+info', '-swapdb', '+config|get', '-sort']


def users(ctx):
    """GET by a user with rules and by the default user, 1M keys, io-threads 2: main thread."""
    with ctx.two_threads() as fleet:
        n = ctx.keys(1_000_000, 200_000, 300, len(fleet.servers))
        ctx.fill(fleet, n, 64)
        for s in fleet.servers:
            fleet.turn(s).call('ACL', 'SETUSER', 'app', 'reset', 'on', '>bench', *PATTERNS, *RULES)
        loads = {user: get('GET', pipeline=16, size=64, keys=n, user=user) for user in ('', 'app')}
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                for user, load in loads.items():
                    got = ctx.measure(s, load, number, variant=user or 'default')
                    line.append(f'{s.name} {user or "default"} {got["main_ns"]:.0f} ns')
            ctx.say(f'    {number}  GET, user: ' + ' | '.join(line))


# name: (function, figures that need it)
ALL = {
    'publish': (publish, ('25',)),
    'publish_main': (publish_on_main, ('26',)),
    'deaf_subscriber': (deaf_subscriber, ('27',)),
    'transactions': (transactions, ('28',)),
    'hand_over': (hand_over, ('29',)),
    'waiting': (waiting, ('30',)),
    'tracking': (tracking, ('31', '32')),
    'users': (users, ('40',)),
}
