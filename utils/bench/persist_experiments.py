"""persist_experiments.py -- experiments about the dataset on disk: snapshots, the append-only file, forks. In the form
of experiments.py, which has a table of them.

Files are in the folder of temporary files (TMPDIR), which must be on a disk: a file system in memory syncs nothing. The
report names the disk.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import shutil
import struct
import subprocess
import tempfile
import time
from pathlib import Path

import forks
from load import Load, LoadError, get, key_command, put
from pinger import Pinger
from server import Fleet, ServerError

MB = 1 << 20
OURS = 'this server'
LOG = ['--appendonly', 'yes', '--auto-aof-rewrite-percentage', '0', '--appendfsync']
IN_MEMORY = ('tmpfs', 'ramfs')
FIFTY = range(50)
# 200K of each, with 50 elements: all servers store and write them as one listpack.
COLLECTIONS = ['hset hash:__rand_int__ ' + ' '.join(f'field:{i} value:{i}' for i in FIFTY),
               'sadd set:__rand_int__ ' + ' '.join(f'element:{i}' for i in FIFTY),
               'zadd zset:__rand_int__ ' + ' '.join(f'{i} element:{i}' for i in FIFTY)]


# ---- The disk --------------------------------------------------------------------------------------------------------
def mount_of(path, mounts):
    """(type, device) of the file system of a real path, from the text of /proc/self/mountinfo."""
    best, found = '', ('unknown', 'unknown')
    for line in mounts.splitlines():
        left, _, right = line.partition(' - ')
        point = left.split()[4].encode().decode('unicode_escape')
        inside = path == point or path.startswith(point.rstrip('/') + '/')
        if inside and len(point) >= len(best):
            best, found = point, tuple(right.split()[:2])
    return found


def disk(ctx, size=0):
    """Records the disk; raises an error if it is none, or if it has fewer free bytes than `size`."""
    folder = os.path.realpath(tempfile.gettempdir())
    kind, device = mount_of(folder, Path('/proc/self/mountinfo').read_text())
    if kind in IN_MEMORY:
        raise RuntimeError(f'temporary files are in memory ({kind}): set TMPDIR to a folder on a disk')
    free = shutil.disk_usage(folder).free
    if free < size * 1.2:
        raise RuntimeError(f'{size / MB:,.0f} MB of files are needed, and {free / MB:,.0f} MB free: set TMPDIR')
    ctx.note(f'{ctx.experiment}: files on {device} ({kind})')


# ---- Snapshots -------------------------------------------------------------------------------------------------------
def fill_strings(ctx, server, n):
    ctx.generator.fill(server.port, n, 512)


def fill_collections(ctx, server, n):
    for words in COLLECTIONS:
        ctx.generator.fill_with(server.port, n, words)


# name: (fill function, keys, keys for each number, bytes of a key in memory, in the file)
DATASETS = {'strings': (fill_strings, 5_000_000, 1, 700, 540),
            'collections': (fill_collections, 200_000, 3, 1000, 800)}


def snapshots(ctx):
    """5M strings of 512 B, and 200K hashes, sets and sorted sets of 50: CPU of a child that saves, time to load."""
    for name, (fill, full, keys_each, bytes_each, file_each) in DATASETS.items():
        n = ctx.keys(full, full // 20, bytes_each * keys_each, len(ctx.products))
        disk(ctx, n * keys_each * file_each * (len(ctx.products) + 1))
        with tempfile.TemporaryDirectory(prefix='valkey-bench-files.') as folder:
            files = {}
            with ctx.fleet() as fleet:
                for s in fleet.servers:
                    ctx.say(f'    filling {s.name}: {name}, {n * keys_each:,} keys')
                    fill(ctx, fleet.turn(s), n)
                saving(ctx, fleet, name)
                for s in fleet.servers:
                    files[s.name] = shutil.copyfile(Path(s.dir) / 'dump.rdb', f'{folder}/{s.name}.rdb')
            if ctx.wanted(('33',)):
                loading(ctx, files, name, n * keys_each)


def saving(ctx, fleet, name):
    """A BGSAVE of each server in turn. If only loading is measured, once, to have the file."""
    rounds = ctx.rounds if ctx.wanted(('34',)) else 1
    for number in range(1, rounds + 1):
        line = []
        for s in fleet.servers:
            fleet.turn(s)
            before = forks.child_seconds(s.info())
            s.call('BGSAVE')
            info = forks.wait(s)
            forks.must_be_ok(s, info)
            used = forks.child_seconds(info) - before
            ctx.record(s, f'save {name}', number, child_s=used, file_bytes=(Path(s.dir) / 'dump.rdb').stat().st_size)
            line.append(f'{s.name} {used:.2f} s')
        ctx.say(f'    {number}/{rounds}  CPU of a child that saves {name}: ' + ' | '.join(line))


def two_cores():
    """The words before a command line that limit it to two cores."""
    if os.cpu_count() <= 2:
        return []
    if not shutil.which('taskset'):
        raise RuntimeError('taskset (util-linux) is needed to give a server two cores')
    return ['taskset', '-c', ','.join(map(str, sorted(os.sched_getaffinity(0))[:2]))]


def read_through(path):
    """Reads the file, so that it is in the page cache."""
    with open(path, 'rb', buffering=0) as f:
        while f.read(4 * MB):
            pass


def start_with(ctx, product, path, keys):
    """Starts a server that loads a snapshot: (seconds until it serves, CPU seconds). ServerError if it cannot."""
    options = ['--dir', os.path.dirname(path), '--dbfilename', os.path.basename(path)]
    server = ctx.server(product, options=options, under=two_cores())
    read_through(path)
    begin = time.monotonic()
    with Fleet([server]):  # replies PONG only when the dataset is loaded
        took = time.monotonic() - begin
        cpu = forks.process_seconds(server.info())
        found = server.call('DBSIZE')
        if found != keys:
            raise RuntimeError(f'{server.name} has read {found:,} keys of {keys:,}')
    return server, took, cpu


def loading(ctx, files, name, keys):
    """All servers load the file of the first peer; one that cannot loads its own file of the same dataset."""
    first = list(files)[1 if len(files) > 1 else 0]
    file_of = {}
    for number in range(1, ctx.rounds + 1):
        line = []
        for product in ctx.products:
            whose = file_of.get(product[0], first)
            try:
                server, took, cpu = start_with(ctx, product, files[whose], keys)
            except ServerError:
                if whose == product[0]:
                    raise
                whose = product[0]
                server, took, cpu = start_with(ctx, product, files[whose], keys)
            file_of[product[0]] = whose
            ctx.record(server, f'load {name}', number, load_s=took, cpu_s=cpu, keys=keys, file=whose)
            line.append(f'{server.name} {took:.2f} s ({cpu:.2f} s of CPU)')
        ctx.say(f'    {number}/{ctx.rounds}  loading {name}: ' + ' | '.join(line))
    for product, whose in file_of.items():
        if whose != first:
            ctx.note(f'snapshots: {product} cannot read the {name} of {first} and reads its own')


# ---- The append-only file --------------------------------------------------------------------------------------------
def everysec(ctx):
    """SET in pipelines of 16, 512 B, appendfsync everysec, beside no append-only file: CPU of the main thread."""
    disk(ctx, 5000 * MB)
    servers = [ctx.server(ctx.products[0], 'off')] + [ctx.server(p, 'everysec', LOG + ['everysec'])
                                                      for p in ctx.products]
    with Fleet(servers) as fleet:
        n = ctx.keys(1_000_000, 200_000, 900, len(servers))
        ctx.fill(fleet, n, 512)
        load = put('SET P16', pipeline=16, keys=n)
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                got = ctx.measure(fleet.turn(s), load, number)
                forks.must_be_ok(s, s.info())
                line.append(f'{s.name} {s.variant} {got["main_ns"]:.0f} ns on main ({got["rps"] / 1000:.0f}k)')
            ctx.say(f'    {number}/{ctx.rounds}  SET P16: ' + ' | '.join(line))


def always(ctx):
    """SET of 50 clients without a pipeline, appendfsync always: requests per second."""
    disk(ctx, 2000 * MB)
    with ctx.fleet({'always': LOG + ['always']}) as fleet:
        ctx.rounds_of(fleet, [put('SET 50 clients', keys=100_000)])


def slow_disk(ctx):
    """SETs at a fixed rate, appendfsync everysec, on a disk that answers a sync after 200 ms: p99.9."""
    disk(ctx, 2000 * MB)
    source = Path(__file__).resolve().parents[2] / 'tests/crash/disk_shim.c'
    with tempfile.TemporaryDirectory(prefix='valkey-bench-shim.') as folder:
        shim, control = f'{folder}/disk_shim.so', f'{folder}/control'
        subprocess.run([os.environ.get('CC', 'gcc'), '-std=gnu11', '-O2', '-shared', '-fPIC', '-o', shim, source,
                        '-ldl'], check=True)
        # Its `struct control`: each (-1) sync is delayed by so many microseconds, and nothing else fails.
        Path(control).write_bytes(struct.pack('<10q', 0, 0, 0, 0, 0, 0, 0, 200_000, 0, -1).ljust(4096, b'\0'))
        root = os.path.realpath(tempfile.gettempdir())
        under = ['env', f'LD_PRELOAD={shim}', f'DISK_SHIM_ROOT={root}', f'DISK_SHIM_CONTROL={control}']
        with Fleet([ctx.server(p, 'everysec', LOG + ['everysec'], under) for p in ctx.products]) as fleet:
            for s in fleet.servers:
                must_be_late(fleet.turn(s))
            load = put('SET', keys=100_000, rps=10_000)
            for number in range(1, ctx.rounds + 1):
                line = []
                for s in fleet.servers:
                    got = ctx.measure(fleet.turn(s), load, number, seconds=4 if ctx.quick else 10)
                    line.append(f'{s.name} p99.9 {got["p999_ms"]} ms, longest {got["max_ms"]}')
                ctx.say(f'    {number}/{ctx.rounds}  SET: ' + ' | '.join(line))


def must_be_late(server):
    """Checks that the shim is loaded: with `always` one SET waits for the disk."""
    server.config('appendfsync', 'always')
    begin = time.monotonic()
    server.call('SET', 'late', '')
    took = time.monotonic() - begin
    server.config('appendfsync', 'everysec')
    if took < 0.15:
        raise RuntimeError(f'{server.name}: a sync has taken {took * 1000:.0f} ms; the shim does not work')


# ---- Forks -----------------------------------------------------------------------------------------------------------
def pings(ctx):
    """A pinging client while half of 20,000 requests a second write: p99.9 of the time in which a child saves once."""
    seconds = 4 if ctx.quick else 12
    load = Load('half writes', key_command('get KEY ; set KEY DATA'), rps=20_000)
    with ctx.fleet({'everysec': LOG + ['everysec']}) as fleet:
        load.keys = n = ctx.keys(2_000_000, 200_000, 900, len(fleet.servers))
        disk(ctx, n * 560 * 4 * len(fleet.servers) + 20_000 * 560 * seconds * ctx.rounds)
        ctx.fill(fleet, n, 512)
        for number in range(1, ctx.rounds + 1):
            for command in ('BGREWRITEAOF', 'BGSAVE'):
                line = []
                for s in fleet.servers:
                    got = pinged(ctx, fleet.turn(s), load, command, seconds)
                    ctx.record(s, command, number, **got)
                    line.append(f'{s.name} p99.9 {got["p999_ms"]:.2f} ms, longest {got["max_ms"]:.1f}, '
                                f'fork {got["fork_ms"]:.1f}, child {got["child_seconds"]:.1f} s')
                ctx.say(f'    {number}/{ctx.rounds}  {command}: ' + ' | '.join(line))


def pinged(ctx, server, load, command, seconds):
    """The times of a pinging client in so many seconds, in which a command has forked once."""
    beside = ctx.generator.start(server.port, load, seconds + 2)
    pinger = None
    try:
        time.sleep(0.5)
        pinger = Pinger(server.port, seconds)
        time.sleep(0.5)
        begin = time.monotonic()
        server.call(command)
        info = forks.wait(server, pause=0.1)
        child = time.monotonic() - begin
        got = pinger.finish()
        rate = beside.finish()['rps']
    except BaseException:
        for process in (pinger, beside):
            if process and process.process.returncode is None:
                process.kill()
        raise
    forks.must_be_ok(server, info)
    if child > seconds - 0.5:
        ctx.note(f'pings: {server.name}: {command} has taken {child:.1f} s, longer than the pinging client')
    return {**got, 'load_rps': rate, 'fork_ms': int(info['latest_fork_usec']) / 1000, 'child_seconds': child}


def shared_pages(ctx):
    """GETs in pipelines of 16 while a child saves: memory that is no longer shared, as a share of the dataset."""
    with ctx.fleet() as fleet:
        n = ctx.keys(3_000_000, 200_000, 900, len(fleet.servers))
        disk(ctx, n * 560 * 2 * len(fleet.servers))
        ctx.fill(fleet, n, 512)
        load = get('GET P16', pipeline=16, keys=n)
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                got = copied(ctx, fleet.turn(s), load)
                ctx.record(s, 'GET P16', number, keys=n, **got)
                line.append(f'{s.name} {got["copied_percent"]:.2f} % ({got["seconds"]:.1f} s)')
            ctx.say(f'    {number}/{ctx.rounds}  memory copied: ' + ' | '.join(line))


def copied(ctx, server, load):
    dataset = int(server.info()['used_memory_dataset'])
    beside = ctx.generator.start(server.port, load, 600)
    try:
        time.sleep(0.5)
        if beside.process.poll() is not None:
            raise LoadError('the generator has ended early')
        growth = forks.Growth(server)
        begin = time.monotonic()
        server.call('BGSAVE')
        info = forks.wait(server, growth.look, 0.05)
        took = time.monotonic() - begin
    finally:
        beside.kill()
    forks.must_be_ok(server, info)
    told = int(info['rdb_last_cow_size'])
    return {'copied_percent': 100 * max(growth.most, told) / dataset, 'smaps_bytes': growth.most, 'info_bytes': told,
            'seconds': took}


# name: (function, figures that need it)
ALL = {
    'snapshots': (snapshots, ('33', '34')),
    'everysec': (everysec, ('35',)),
    'always': (always, ('36',)),
    'pings': (pings, ('37',)),
    'shared_pages': (shared_pages, ('38',)),
    'slow_disk': (slow_disk, ('39',)),
}
