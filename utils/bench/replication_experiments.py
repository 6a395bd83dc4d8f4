"""replication_experiments.py -- experiments about replication. In the form of experiments.py, which has a table of them.

Where replicas are not measured, connections of followers.py take their place, the same for all servers: they take nearly
nothing of the two processors of a small machine.

SPDX-License-Identifier: BSD-3-Clause
"""
import time
from collections import deque
from contextlib import ExitStack

import forks
import stats
from followers import Followers
from load import GENERATOR_FULL, Load, put
from server import Fleet
from source import Source, drawn, sets
from writers import Writers

MB = 1 << 20
OURS = 'this server'
LONG = 600
# No client is closed for its output or for a timeout: servers that are not in turn are frozen.
PATIENT = ['--repl-diskless-sync-delay', '0', '--repl-timeout', '3600', '--client-output-buffer-limit', 'replica 0 0 0']


def wait_for(what, ready, timeout=LONG):
    deadline = time.monotonic() + timeout
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError(f'{what}: not within {timeout} s')
        time.sleep(0.02)


def online(info):
    """The number of replicas that the server reports."""
    return sum(name.startswith('slave') and name[5:].isdigit() and 'state=online' in value
               for name, value in info.items())


def must_follow(server, count):
    found = online(server.info())
    if found != count:
        raise RuntimeError(f'{server.name}: {found} replicas instead of {count}')


def following(server, count, stall=False):
    """A context with so many replicas that store nothing, whose full synchronization is done."""
    crowd = Followers(server.port, count, stall)
    wait_for(f'{server.name}: replicas', lambda: online(server.info()) == count)
    return crowd


# ---- The cost of a replica -------------------------------------------------------------------------------------------
COUNTS = {'none': 0, '1 replica': 1, '3 replicas': 3}


def replicas(ctx):
    """SET P16 of 512 B with no, one and three replicas, io-threads 2: what the main thread pays for them."""
    servers = []
    for variant in COUNTS:
        for product in ctx.products:
            more = ['--main-role', 'keep'] if product[0] == OURS else []
            servers.append(ctx.server(product, variant, PATIENT + ['--io-threads', '2'] + more))
    with Fleet(servers) as fleet, ExitStack() as stack:
        for s in servers:  # while the dataset is empty: a fork of a large one would leave pages to be copied later
            fleet.turn(s)
            if COUNTS[s.variant]:
                stack.enter_context(following(s, COUNTS[s.variant]))
                have_all(s)
        n = ctx.keys(1_000_000, 50_000, 900, len(servers))
        ctx.fill(fleet, n, 512)
        load = put('SET P16', pipeline=16, keys=n)
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in servers:
                fleet.turn(s)
                have_all(s)
                got = ctx.measure(s, load, number, settle=lambda s=s: have_all(s))
                line.append(f'{s.name} {s.variant} {got["main_ns"]:.0f} ns ({got["rps"] / 1000:.0f}k)')
            ctx.say(f'    {number}/{ctx.rounds}  SET P16, on main: ' + ' | '.join(line))


def have_all(server):
    """Waits until its replicas have everything: the cost of sending it late counts, too."""
    count = COUNTS[server.variant]
    must_follow(server, count)
    if count and server.call('WAIT', count, LONG * 1000) != count:
        raise TimeoutError(f'{server.name}: its replicas do not follow')


def lagging(ctx):
    """Memory of one and of three replicas that are 100 MB behind."""
    size = 10_240
    load = Load('', 'set lagging __data__'.split(), size=size, clients=10)
    for number in range(1, (1 if ctx.quick else 3) + 1):
        line = []
        for product in ctx.products:
            for variant in ('1 replica', '3 replicas'):
                options = PATIENT + ['--repl-backlog-size', '1mb']
                with Fleet([ctx.server(product, variant, options)]) as fleet:
                    s, = fleet.servers
                    ctx.generator.run(s.port, load, requests=2000)
                    with following(s, COUNTS[variant], stall=True):
                        time.sleep(0.3)
                        resident, used = s.rss(), int(s.info()['used_memory'])
                        ctx.generator.run(s.port, load, requests=100 * MB // size)
                        time.sleep(0.3)
                        resident, used = s.rss() - resident, int(s.info()['used_memory']) - used
                        must_follow(s, COUNTS[variant])
                ctx.record(s, 'lagging', number, resident_mb=resident / MB, used_mb=used / MB)
                line.append(f'{s.name} {variant} {resident / MB:.0f} MB resident, {used / MB:.0f} by its own count')
        ctx.say(f'    {number}  100 MB behind: ' + ' | '.join(line))


# ---- The whole dataset -----------------------------------------------------------------------------------------------
class InStep:
    """Tells when a replica is in sync: it has the offset that its primary had a tenth of a second ago."""

    BEHIND = 0.1

    def __init__(self):
        self.seen = deque()

    def reached(self, now, primary, replica):
        """Returns whether it is in sync now, by both current offsets; that of a disconnected replica is None."""
        self.seen.append((now, primary))
        while len(self.seen) > 1 and self.seen[1][0] <= now - self.BEHIND:
            self.seen.popleft()
        return replica is not None and self.seen[0][0] <= now - self.BEHIND and replica >= self.seen[0][1]


def full_sync(ctx):
    """2 GB of strings of 512 B to an empty replica, diskless, under 50,000 writes a second: until it is in step."""
    with Fleet([ctx.server(p, options=PATIENT) for p in ctx.products]) as fleet:
        n = ctx.keys(4_000_000, 100_000, 900, len(fleet.servers) + 2)
        ctx.fill(fleet, n, 512)
        for number in range(1, (ctx.rounds if ctx.quick else 3) + 1):
            line = []
            for product, primary in zip(ctx.products, fleet.servers):
                fleet.turn(primary)
                options = PATIENT + ['--repl-diskless-load', 'on-empty-db']
                with Fleet([ctx.server(product, options=options)]) as one:
                    got = followed(ctx, primary, one.servers[0], put('', pipeline=16, keys=n, rps=50_000))
                ctx.record(primary, 'full sync', number, keys=n, **got)
                line.append(f'{primary.name} {got["sync_s"]:.2f} s ({got["cpu_s"]:.2f} s of CPU, '
                            f'{got["writes_per_second"] / 1000:.0f}k writes/s)')
            ctx.say(f'    {number}  in step after: ' + ' | '.join(line))


def seconds_of(*infos):
    """CPU of servers, threads and children that have ended included."""
    return sum(forks.process_seconds(i) + forks.child_seconds(i) for i in infos)


def followed(ctx, primary, replica, load):
    """Makes one server replicate the other while clients write."""
    writes = ctx.generator.start(primary.port, load, LONG * 2)
    try:
        time.sleep(0.5)
        info = primary.info()
        done = int(info['total_commands_processed'])
        cpu = seconds_of(info, replica.info())
        step, begin = InStep(), time.monotonic()
        replica.call('REPLICAOF', '127.0.0.1', primary.port)
        while True:
            ours, theirs = primary.info(), replica.info()
            now = time.monotonic()
            at = int(theirs['slave_repl_offset']) if theirs.get('master_link_status') == 'up' else None
            if step.reached(now, int(ours['master_repl_offset']), at):
                break
            if now - begin > LONG:
                raise TimeoutError(f'{primary.name}: its replica is not in step after {LONG} s')
            if writes.process.poll() is not None:
                raise RuntimeError('the generator has ended early')
            time.sleep(0.02)
        done = int(ours['total_commands_processed']) - done
        cpu = seconds_of(ours, theirs) - cpu
    finally:
        writes.kill()
    if replica.call('DBSIZE') != load.keys:
        raise RuntimeError(f'{replica.name}: the replica has {replica.call("DBSIZE"):,} keys of {load.keys:,}')
    return {'sync_s': now - begin, 'cpu_s': cpu, 'writes_per_second': done / (now - begin),
            'full_syncs': int(ours['sync_full'])}


# ---- The stream ------------------------------------------------------------------------------------------------------
def applied(ctx):
    """A replica gets SETs of 512 B as fast as it takes them, one thread and two: commands a second."""
    with ctx.fleet({'1 thread': PATIENT, '2 threads': PATIENT + ['--io-threads', '2']}) as fleet, ExitStack() as stack:
        n = ctx.keys(1_000_000, 100_000, 900, len(fleet.servers))
        count = min(n, 100_000)
        text, sources, times = sets(drawn(n, count), 512), {}, {}
        for s in fleet.servers:
            fleet.turn(s)
            source = sources[s] = stack.enter_context(Source(s))
            for first in range(0, n, count):
                source.send(sets(range(first, min(n, first + count)), 512))
            source.flush()
            if s.call('DBSIZE') != n:
                raise RuntimeError(f'{s.name} has applied {s.call("DBSIZE"):,} SETs of {n:,}')
            times[s] = max(1, round(sent(s, source, text, 1, count)['rps'] * ctx.seconds / count))
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                got = sent(fleet.turn(s), sources[s], text, times[s], count * times[s])
                ctx.record(s, 'SET', number, keys=n, size=512, **got)
                line.append(f'{s.name} {s.variant} {got["rps"] / 1000:.0f}k{"*" if got["generator_limited"] else ""} '
                            f'{got["cpu_ns"]:.0f} ns')
            ctx.say(f'    {number}/{ctx.rounds}  SETs applied: ' + ' | '.join(line))


def sent(server, source, text, times, n):
    cpu, main = server.cpu()
    begin, own = time.monotonic(), time.thread_time()
    source.send(text, times)
    source.flush()
    took, own = time.monotonic() - begin, time.thread_time() - own
    cpu2, main2 = server.cpu()
    return {'rps': n / took, 'cpu_ns': (cpu2 - cpu) / n, 'main_ns': (main2 - main) / n, 'requests': n,
            'generator_cpu': own / took, 'generator_limited': own / took >= GENERATOR_FULL}


# ---- The role --------------------------------------------------------------------------------------------------------
def failover(ctx):
    """FAILOVER, there and back, while 16 clients write and follow: the longest time without a successful write."""
    times = 1 if ctx.quick else 4
    options = PATIENT + ['--repl-backlog-size', '64mb']
    with Fleet([ctx.server(p, v, options) for p in ctx.products for v in ('a', 'b')]) as fleet:
        pairs = [fleet.servers[i:i + 2] for i in range(0, len(fleet.servers), 2)]
        for primary, replica in pairs:
            only(fleet, primary, replica)
            replica.call('REPLICAOF', '127.0.0.1', primary.port)
            wait_for(f'{primary.name}: its replica', lambda: is_pair(primary, replica))
        for number in range(1, ctx.rounds + 1):
            line = []
            for pair in pairs:
                only(fleet, *pair)
                writers = Writers([s.port for s in pair])
                try:
                    got = []
                    for _ in range(times):
                        got.append(handed_over(*pair, writers))
                        pair.reverse()
                finally:
                    writers.close()
                values = {name: stats.median([g[name] for g in got]) for name in got[0]}
                ctx.record(pair[0], 'FAILOVER', number, **values)
                ctx.results['records'][-1]['variant'] = ''
                line.append(f'{pair[0].name} {values["gap_ms"]:.1f} ms (a client {values["client_ms"]:.1f}), '
                            f'{values["writes_per_second"] / 1000:.0f}k writes/s')
            ctx.say(f'    {number}/{ctx.rounds}  FAILOVER: ' + ' | '.join(line))


def only(fleet, first, second):
    """Lets both run."""
    fleet.turn(first)
    second.thaw()


def is_pair(primary, replica):
    ours, theirs = primary.info(), replica.info()
    return (ours['role'], theirs['role'], theirs.get('master_link_status')) == ('master', 'slave', 'up') and \
        ours['master_failover_state'] == theirs['master_failover_state'] == 'no-failover' and online(ours) == 1


def handed_over(primary, replica, writers):
    """The result of the writers for one failover."""
    time.sleep(0.5)
    begin, before = time.monotonic(), writers.since()
    if not before['written']:
        raise RuntimeError(f'{primary.name}: nothing is written')
    primary.call('FAILOVER', 'TIMEOUT', LONG * 1000)
    wait_for(f'{primary.name}: FAILOVER', lambda: is_pair(replica, primary))
    time.sleep(0.5)
    got = writers.since()
    if not got['refused'] or not got['written']:
        raise RuntimeError(f'{primary.name}: the clients have not followed')
    return {'gap_ms': got['gap_ms'], 'client_ms': got['client_ms'],
            'writes_per_second': got['written'] / (time.monotonic() - begin)}


# name: (function, figures that need it)
ALL = {
    'replicas': (replicas, ('46',)),
    'lagging': (lagging, ('47',)),
    'full_sync': (full_sync, ('48',)),
    'applied': (applied, ('49',)),
    'failover': (failover, ('50',)),
}
