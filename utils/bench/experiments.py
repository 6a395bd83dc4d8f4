"""experiments.py -- the experiments. Each starts its servers, fills them, and adds one record per run.

An experiment is a function of a Context. Within a round every load runs on every server in turn, so that disturbances of
the machine affect all of them. Nothing is judged here: figures.py turns records into the headline table.

SPDX-License-Identifier: BSD-3-Clause
"""
import csv
import os
import resource
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import callgrind
import load as loads
import persist_experiments
import program_experiments
import replication_experiments
import session_experiments
import stats
import thread_experiments
import tls_experiments
import type_experiments
from load import Generator, Load, get, mget, mset, put
from server import Connection, Fleet, Server

OURS = 'this server'
MB = 1 << 20


class Context:
    """The options of a run, and the records that it has made so far."""

    def __init__(self, args, results):
        self.args, self.results = args, results
        self.quick = args.quick
        self.rows = None
        self.generator = Generator(Path(args.bin) / 'valkey-benchmark')
        self.products = [(OURS, str(Path(args.bin) / 'valkey-server'))] + args.peer
        self.begin = time.monotonic()
        self.next_port = args.port
        self.experiment = ''

    # ---- Amounts -----------------------------------------------------------------------------------------------------
    @property
    def rounds(self):
        if self.args.rounds:
            return self.args.rounds
        if not self.quick:
            return 5
        return 2 if time.monotonic() - self.begin < 130 else 1

    @property
    def seconds(self):
        return self.args.seconds or (1 if self.quick else 2)

    def keys(self, full, quick, bytes_per_key, servers):
        """The wanted number of keys, or as many as fit into 60 % of the free memory."""
        asked = quick if self.quick else full
        free = 0
        for line in Path('/proc/meminfo').read_text().splitlines():
            if line.startswith('MemAvailable'):
                free = int(line.split()[1]) * 1024
        fits = int(free * 0.6 / servers / bytes_per_key)
        if fits < asked:
            self.note(f'{self.experiment}: {fits:,} keys instead of {asked:,}, as more do not fit into memory')
        return min(asked, fits)

    def wanted(self, rows):
        return self.rows is None or bool(set(rows) & self.rows)

    def pick(self, candidates):
        return [c for c in candidates if self.wanted(c.rows)]

    # ---- Servers -----------------------------------------------------------------------------------------------------
    def port(self):
        """A free port, from a range of 90."""
        for _ in range(90):
            port = self.next_port
            self.next_port = self.args.port + (self.next_port + 1 - self.args.port) % 90
            with socket.socket() as s:
                s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    s.bind(('127.0.0.1', port))
                    return port
                except OSError:
                    continue
        raise RuntimeError('no free port')

    def server(self, product, variant='', options=(), under=()):
        name, path = product
        return Server(name, path, self.port(), options, variant, under)

    def fleet(self, variants=None, only_ours=False):
        """One server per product and variant ({variant: options})."""
        products = self.products[:1] if only_ours else self.products
        return Fleet([self.server(p, v, o) for v, o in (variants or {'': []}).items() for p in products])

    def two_threads(self):
        """One server per product, with two threads. In ours any thread would execute, so that the CPU time of its main
        thread would mean nothing: here the main thread keeps the main role."""
        options = ['--io-threads', '2']
        return Fleet([self.server(p, '2 threads', options + (['--main-role', 'keep'] if p[0] == OURS else []))
                      for p in self.products])

    def fill(self, fleet, keys, size):
        self.say(f'    filling {len(fleet.servers)} servers: {keys:,} keys of {stats.size_text(size)}')
        for s in fleet.servers:
            fleet.turn(s)
            s.call('FLUSHALL', 'SYNC')
            self.generator.fill(s.port, keys, size)

    # ---- Measuring ---------------------------------------------------------------------------------------------------
    def say(self, text):
        print(text, flush=True)

    def note(self, text):
        self.say('    note: ' + text)
        self.results['notes'].append(text)

    def record(self, server, load_name, number, **values):
        self.results['records'].append({'experiment': self.experiment, 'server': server.name,
                                        'variant': server.variant, 'load': load_name, 'round': number, **values})

    def measure(self, server, load, number, variant=None, seconds=None, requests=None, settle=None):
        """One run of one load, for a time or a number of requests: returns its record. CPU used in settle() counts, too."""
        before, cpu, main = server.info(), *server.cpu()
        report = self.generator.run(server.port, load, None if requests else seconds or self.seconds, requests)
        if settle:
            settle()
        cpu2, main2 = server.cpu()
        after = server.info()

        def grown(name):
            return int(after.get(name, 0)) - int(before.get(name, 0))
        n = grown('total_commands_processed')
        values = dict(requests=n, cpu_ns=stats.per_command(cpu2 - cpu, n), main_ns=stats.per_command(main2 - main, n),
                      io_ns=stats.per_command(cpu2 - cpu - (main2 - main), n), clients=load.clients,
                      pipeline=load.pipeline, size=load.size, keys=load.keys,
                      threaded_reads=grown('io_threaded_reads_processed'),
                      prefetch_batches=grown('io_threaded_total_prefetch_batches'), **load.what, **report)
        self.record(server, load.name, number, **values)
        if variant is not None:
            self.results['records'][-1]['variant'] = variant
        return values

    def rounds_of(self, fleet, candidates, servers_of=None):
        """Every load on every server in turn, round after round."""
        rounds = self.rounds
        for number in range(1, rounds + 1):
            for load in candidates:
                line = []
                for s in (servers_of(load) if servers_of else fleet.servers):
                    fleet.turn(s)
                    got = self.measure(s, load, number)
                    mark = '*' if got['generator_limited'] else ''
                    line.append(f'{s.name}{" " + s.variant if s.variant else ""} {got["rps"] / 1000:.0f}k{mark} '
                                f'{got["cpu_ns"]:.0f} ns')
                self.say(f'    {number}/{rounds}  {load.name}: ' + ' | '.join(line))


# ---- Experiments -----------------------------------------------------------------------------------------------------
def single(ctx):
    """One thread, 512 B, 3 million keys: with and without pipelines."""
    with ctx.fleet() as fleet:
        n = ctx.keys(3_000_000, 500_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        both = [(get, 'GET'), (put, 'SET')]
        todo = [make(f'{word} P16', pipeline=16, keys=n, rows=('1',)) for make, word in both]
        todo += [make(f'{word} 50 clients', keys=n, rows=('5',)) for make, word in both]
        todo += [make(f'{word} 650 clients', clients=650, keys=n, rows=('5',)) for make, word in both
                 if word == 'GET' or not ctx.quick]
        ctx.rounds_of(fleet, ctx.pick(todo))


def instructions(ctx):
    """User instructions per command under callgrind: one thread, pipelines of 16, 512 B."""
    if callgrind.missing():
        ctx.note(f'instructions not counted: {", ".join(callgrind.missing())} not installed (deps/install --dev)')
        return
    # The number of instructions hardly depends on the number of keys, and filling under valgrind is slow.
    n = ctx.keys(1_000_000, 50_000, 900, 1)
    requests = 20_000 if ctx.quick else 100_000
    for product in ctx.products:
        with tempfile.TemporaryDirectory(prefix='valkey-callgrind.') as folder:
            server = ctx.server(product, under=callgrind.prefix(folder))
            with Fleet([server]) as fleet:
                ctx.fill(fleet, n, 512)
                for load in (get('GET P16', pipeline=16, keys=n), put('SET P16', pipeline=16, keys=n)):
                    for number in range(1, (1 if ctx.quick else 3) + 1):
                        before = server.commands()
                        callgrind.switch(server.pid, True)
                        ctx.generator.run(server.port, load, requests=requests)
                        callgrind.switch(server.pid, False)
                        counts = callgrind.dump(server.pid, folder)
                        done = server.commands() - before
                        per = stats.per_command(sum(counts.values()), done)
                        ctx.record(server, load.name, number, requests=done, instructions=per, keys=n, size=512,
                                   pipeline=16, clients=50, **load.what)
                    ctx.say(f'    {server.name}  {load.name}: {per:,.0f} instructions')


def thread_variants(counts):
    return {f'{n} thread{"s" if n > 1 else ""}': ['--io-threads', str(n)] for n in counts}


def threads(ctx):
    """io-threads 1, 2 and 9, each product: rps, and what the server pays."""
    with ctx.fleet(thread_variants((1, 2, 9)), only_ours=ctx.rows is not None) as fleet:
        n = ctx.keys(1_000_000, 200_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        todo = [make(f'{word} P16', pipeline=16, keys=n, rows=('4',)) for make, word in ((get, 'GET'), (put, 'SET'))]
        for clients in (50,) if ctx.quick else (1, 10, 50, 650):
            name = f'{clients} client{"s" if clients > 1 else ""}'
            todo += [make(f'{word} {name}', clients=clients, keys=n, rows=('4',))
                     for make, word in ((get, 'GET'), (put, 'SET'))]

        def servers_of(load):
            # The peers only where a goal or a plot needs them.
            return [s for s in fleet.servers if s.name == OURS or load.clients == 50 and
                    (s.variant == '2 threads' or not ctx.quick)]
        ctx.rounds_of(fleet, ctx.pick(todo), servers_of)


def main_thread(ctx):
    """io-threads 2: what the main thread pays for a command, where it executes."""
    with ctx.two_threads() as fleet:
        n = ctx.keys(1_000_000, 200_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        todo = [make(f'{word} {name}', pipeline=pipeline, keys=n, rows=rows)
                for name, pipeline, rows in (('P16', 16, ('3',)), ('50 clients', 1, ()))
                for make, word in ((get, 'GET'), (put, 'SET'))]
        ctx.rounds_of(fleet, ctx.pick(todo))


def sizes(ctx):
    """One thread, GET and SET by value size."""
    with ctx.fleet() as fleet:
        for size in (16, 96, 2048, 4096, 16384, MB):
            big = size == MB
            rows = ('11',) if size >= 4096 else ()
            if not ctx.wanted(rows) or ctx.quick and size in (96, 2048):
                continue
            n = max(100, min(500_000 if ctx.quick else 1_000_000, 256 * MB // size))
            common = dict(size=size, keys=n, clients=10 if big else 50, pipeline=1 if big else 16)
            text = stats.size_text(size)
            todo = [get(f'GET {text}', rows=rows, **common), put(f'SET {text}', **common)]
            if size in (4096, 16384) and not ctx.quick:
                todo.append(get(f'GET {text} no pipeline', rows=rows, size=size, keys=n))
            if ctx.quick and size > 16:
                todo = todo[:1]
            ctx.fill(fleet, n, size)
            ctx.rounds_of(fleet, ctx.pick(todo))


def memory(ctx):
    """Resident memory per key after a fill: 16 B keys with 512 B and with 16 B values."""
    for number in range(1, (1 if ctx.quick else 3) + 1):
        for size in (512, 16):
            for product in ctx.products:
                n = ctx.keys(3_000_000, 1_000_000, size + 300, 1)
                with Fleet([ctx.server(product)]) as fleet:
                    server = fleet.servers[0]
                    server.info()
                    time.sleep(0.2)
                    before = server.rss()
                    ctx.generator.fill(server.port, n, size)
                    time.sleep(0.3)
                    used = (server.rss() - before) / n
                    ctx.record(server, f'fill {size} B', number, bytes_per_key=used, keys=n, size=size)
                    ctx.say(f'    {server.name}  16 B + {size} B: {used:.0f} B per key ({n:,} keys)')


def prefetch(ctx):
    """GET in pipelines of 16 from more keys than any cache holds, by prefetch-batch-max-size; and one hot key."""
    with ctx.fleet(only_ours=True) as fleet:
        server = fleet.servers[0]
        n = ctx.keys(10_000_000, 3_000_000, 260, 1)
        ctx.fill(fleet, n, 64)
        cold = get('GET 64 B', pipeline=16, keys=n, size=64, rows=('8',))
        hot = Load('GET hot key', ['get', 'key:000000000001'], pipeline=16, size=64, what={'command': 'GET'})
        rounds = max(2, ctx.rounds) if ctx.quick else ctx.rounds
        for number in range(1, rounds + 1):
            for load, batches in ((cold, (0, 1, 4, 16, 64)), (hot, (0, 16))):
                line = []
                for batch in batches:
                    server.config('prefetch-batch-max-size', batch)
                    got = ctx.measure(server, load, number, variant=str(batch))
                    line.append(f'{batch}: {got["rps"] / 1000:.0f}k{"*" if got["generator_limited"] else ""} '
                                f'{got["cpu_ns"]:.0f} ns')
                ctx.say(f'    {number}/{rounds}  {load.name} by batch: ' + ' | '.join(line))


def many_keys(ctx):
    """MGET and MSET of 10 and 100 keys from 5 million; MGET also with prefetching off."""
    with ctx.fleet() as fleet:
        n = ctx.keys(5_000_000, 1_000_000, 300, len(fleet.servers))
        ctx.fill(fleet, n, 64)
        todo = [mget('MGET 100', 100, keys=n, size=64, rows=('9',)), mget('MGET 10', 10, keys=n, size=64),
                mset('MSET 100', 100, keys=n, size=64), mset('MSET 10', 10, keys=n, size=64)]
        todo = ctx.pick(todo[:1] if ctx.quick else todo)
        ours = fleet.servers[0]
        for number in range(1, ctx.rounds + 1):
            for load in todo:
                line = []
                for s in fleet.servers:
                    fleet.turn(s)
                    got = ctx.measure(s, load, number)
                    line.append(f'{s.name} {got["rps"] / 1000:.1f}k{"*" if got["generator_limited"] else ""}')
                    if s is ours and load.name == 'MGET 100':
                        s.config('prefetch-batch-max-size', 0)
                        got = ctx.measure(s, load, number, variant='no prefetch')
                        s.config('prefetch-batch-max-size', 16)
                        line.append(f'without prefetch {got["rps"] / 1000:.1f}k')
                ctx.say(f'    {number}  {load.name}: ' + ' | '.join(line))


def offload(ctx):
    """io-threads 2, GET by value size: main-thread CPU per command, replies by reference on and off."""
    with ctx.two_threads() as fleet:
        ours = fleet.servers[0]
        for size in (512, 4096, 16384, 65536, MB):
            rows = ('10',) if size in (512, 65536) else ()
            if not ctx.wanted(rows) or ctx.quick and not rows:
                continue
            n = max(100, min(500_000, 256 * MB // size))
            ctx.fill(fleet, n, size)
            load = get(f'GET {stats.size_text(size)}', size=size, keys=n, clients=10 if size == MB else 50,
                       pipeline=1 if size == MB else 16)
            for number in range(1, ctx.rounds + 1):
                line = []
                for s in fleet.servers:
                    fleet.turn(s)
                    got = ctx.measure(s, load, number)
                    line.append(f'{s.name} {got["main_ns"]:.0f} ns on main')
                    if s is ours and ctx.rows is None:
                        s.config('io-threads-reply-offload', 'no')
                        got = ctx.measure(s, load, number, variant='2 threads, copied')
                        s.config('io-threads-reply-offload', 'yes')
                        line.append(f'copied {got["main_ns"]:.0f}')
                ctx.say(f'    {number}  {load.name}: ' + ' | '.join(line))


def latency(ctx):
    """Small GETs at a fixed rate beside clients that read a 10 MB value at a fixed rate."""
    seconds = 3 if ctx.quick else 4
    counts = (1,) if ctx.quick or ctx.rows else (1, 2)
    with ctx.fleet(thread_variants(counts)) as fleet:
        n = ctx.keys(200_000, 100_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        for s in fleet.servers:
            fleet.turn(s).call('SET', 'big', b'x' * (10 * MB))
        readers = Load('10 MB readers', ['get', 'big'], clients=4, rps=50)
        small = get('small GET', clients=20, keys=n, rps=4000)
        rounds = ctx.rounds
        for number in range(1, rounds + 1):
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                beside = ctx.generator.start(s.port, readers, seconds + 1)
                try:
                    time.sleep(0.4)
                    got = ctx.measure(s, small, number, seconds=seconds)
                finally:
                    report = beside.finish()
                ctx.results['records'][-1]['reader_rps'] = report['rps']
                line.append(f'{s.name} {s.variant} p99.9 {got["p999_ms"]} ms')
            ctx.say(f'    {number}/{rounds}  ' + ' | '.join(line))


def idle(ctx):
    """1,000 idle connections with io-threads 9: CPU of the server, as a share of a core."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 4096:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    seconds = 3 if ctx.quick else 10
    for number in range(1, (1 if ctx.quick else 3) + 1):
        for product in ctx.products:
            with Fleet([ctx.server(product, '9 threads', ['--io-threads', '9'])]) as fleet:
                server = fleet.servers[0]
                links = [Connection(server.port) for _ in range(1000)]
                for link in links:
                    link.call('PING')
                time.sleep(1.5)
                cpu, begin = server.cpu()[0], time.monotonic()
                time.sleep(seconds)
                share = (server.cpu()[0] - cpu) / ((time.monotonic() - begin) * 1e9) * 100
                ctx.record(server, '1000 idle', number, cpu_percent=share, clients=1000)
                ctx.say(f'    {server.name}: {share:.3f} % of a core')
                for link in links:
                    link.close()


def maxmemory(ctx):
    """GET with I/O threads that are always active, with and without a limit of memory that is far away."""
    threads = ['--io-threads', '9', '--io-threads-always-active', 'yes']
    with ctx.fleet({'none': threads, 'maxmemory': threads + ['--maxmemory', '8gb']}, only_ours=True) as fleet:
        n = ctx.keys(500_000, 100_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        ctx.rounds_of(fleet, [get('GET P16', pipeline=16, keys=n, rows=('14',))])


def stalled(ctx):
    """What a client that does not read costs before it is sent away: a monitor, and one that asks for small replies."""
    limit = 32 * MB
    options = ['--client-output-buffer-limit', 'normal 32mb 0 0']
    for number in range(1, (1 if ctx.quick else 3) + 1):
        for product in ctx.products:
            for load in ('monitor', 'pipeline'):
                with Fleet([ctx.server(product, options=options)]) as fleet:
                    server = fleet.servers[0]
                    server.call('SET', 'small', 'x' * 64)
                    with stall(server, load) as peak:
                        used = peak() / limit
                    ctx.record(server, load, number, rss_by_limit=used)
                    ctx.say(f'    {server.name}  {load}: {used:.2f} of its limit')


@contextmanager
def stall(server, load):
    """A client that does not read. Returns a function that runs until the client is closed and returns the most memory
    that it took."""
    deaf = Connection(server.port)
    before = server.rss()
    if load == 'monitor':
        deaf.call('MONITOR')
        talker = Connection(server.port)
        words = b'*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$64\r\n' + b'x' * 64 + b'\r\n'
    else:
        talker = deaf
        words = b'*2\r\n$3\r\nGET\r\n$5\r\nsmall\r\n'

    def peak():
        most = 0
        deadline = time.monotonic() + 60
        talker.sock.settimeout(1)
        while time.monotonic() < deadline:
            try:
                talker.sock.sendall(words * 200)
                if talker is not deaf:
                    for _ in range(200):
                        talker.file.readline()
            except OSError:
                pass
            most = max(most, server.rss() - before)
            if int(server.info().get('client_output_buffer_limit_disconnections', 0)):
                return most
        raise TimeoutError(f'{server.name}: the client was not sent away')

    try:
        yield peak
    finally:
        deaf.close()
        if talker is not deaf:
            talker.close()


def mixed(ctx):
    """A mixed load: 7 GET, 2 SET, 1 MGET of 10 in turn, one and two threads, pipelines of 2 such sequences."""
    counts = (2,) if ctx.quick else (1, 2)
    with ctx.fleet(thread_variants(counts)) as fleet:
        n = ctx.keys(1_000_000, 200_000, 900, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        words = '7 get KEY ; 2 set KEY DATA ; mget ' + 'KEY ' * 10
        load = Load('mixed', loads.key_command(words), keys=n, pipeline=2, what={'command': 'mixed'})
        ctx.rounds_of(fleet, [load])


def micro(ctx):
    """The micro-benchmarks in C (make microbench): interleaved dict lookups against one at a time, and more."""
    root = Path(__file__).resolve().parents[2]
    folders = [ctx.args.bin.parent / 'micro', root / 'build/release/micro']
    folder = next((f for f in folders if os.access(f / 'dict_bench', os.X_OK)), None)
    if not folder:
        ctx.note('micro: not run, as the programs are not built (make microbench-build)')
        return
    with tempfile.NamedTemporaryFile('r', suffix='.csv') as out:
        if ctx.quick:
            done = subprocess.run([folder / 'dict_bench', '10000000', 'small'], stdout=subprocess.PIPE, text=True,
                                  check=False)
            text = 'name,parameter,value,unit\n' + done.stdout
        else:
            done = subprocess.run([root / 'tests/bench/micro/run', folder, '--csv', out.name], text=True, check=False)
            text = Path(out.name).read_text()
    ctx.results['micro'] = [{**row, 'value': float(row['value'])} for row in csv.DictReader(text.splitlines())]
    if done.returncode:
        ctx.note('micro: a micro-benchmark failed')


# name: (function, figures that need it). A run has this order.
ALL = {
    'single': (single, ('1', '5')),
    'sizes': (sizes, ('11',)),
    'threads': (threads, ('4', '52')),
    'main_thread': (main_thread, ('3',)),
    'offload': (offload, ('10',)),
    'prefetch': (prefetch, ('8',)),
    'mget': (many_keys, ('9',)),
    'latency': (latency, ('12',)),
    'mixed': (mixed, ()),
    'memory': (memory, ('6',)),
    'idle': (idle, ('13',)),
    'maxmemory': (maxmemory, ('14',)),
    'stalled': (stalled, ('15',)),
    'instructions': (instructions, ('2',)),
    'micro': (micro, ('7',)),
    **type_experiments.ALL,
    **session_experiments.ALL,
    **persist_experiments.ALL,
    **program_experiments.ALL,
    **tls_experiments.ALL,
    **replication_experiments.ALL,
    **thread_experiments.ALL,
}


def chosen(words):
    """{experiment: rows or None} for --only; None stands for the whole experiment."""
    if not words:
        return {name: None for name in ALL}
    wanted = {}
    for word in words:
        if word in ALL:
            wanted[word] = None
            continue
        names = [name for name, (_, rows) in ALL.items() if word in rows]
        if not names:
            raise KeyError(word)
        if wanted.get(names[0], set()) is not None:
            wanted.setdefault(names[0], set()).add(word)
    return {name: wanted[name] for name in ALL if name in wanted}
