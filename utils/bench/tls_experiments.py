"""tls_experiments.py -- experiments about TLS. In the form of experiments.py, which has a table of them.

Each server listens for TLS beside its plain port, which serves INFO. Its certificate is new, with an RSA key of 2,048
bits; clients need none.

SPDX-License-Identifier: BSD-3-Clause
"""
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import stats
from greeter import Greeter
from load import get
from server import Fleet

OURS = 'this server'


@contextmanager
def certificate():
    """A folder with a certificate that is signed by itself, and its key."""
    with tempfile.TemporaryDirectory(prefix='valkey-bench.') as folder:
        subprocess.run(['openssl', 'req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '30', '-subj', '/CN=localhost',
                        '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', f'{folder}/key.pem', '-out',
                        f'{folder}/cert.pem'], check=True, stderr=subprocess.DEVNULL)
        yield Path(folder)


@contextmanager
def tls_fleet(ctx, certs, variant='', options=()):
    """One server of each product; each has .tls, the port for TLS."""
    servers = []
    for product in ctx.products:
        port = ctx.port()
        more = ['--main-role', 'keep'] if options and product[0] == OURS else []
        files = ['--tls-cert-file', certs / 'cert.pem', '--tls-key-file', certs / 'key.pem', '--tls-ca-cert-file',
                 certs / 'cert.pem', '--tls-auth-clients', 'no']
        servers.append(ctx.server(product, variant, ['--tls-port', str(port), *map(str, files), *options, *more]))
        servers[-1].tls = port
    with Fleet(servers) as fleet:
        yield fleet


def rounds_over_tls(ctx, fleet, certs, todo):
    """As ctx.rounds_of(), by the servers' ports for TLS."""
    for number in range(1, ctx.rounds + 1):
        for load in todo:
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                load.tls = s.tls, certs / 'cert.pem'
                got = ctx.measure(s, load, number)
                mark = '*' if got['generator_limited'] else ''
                line.append(f'{s.name} {got["rps"] / 1000:.0f}k{mark} {got["cpu_ns"]:.0f} ns ({got["main_ns"]:.0f} on main)')
            ctx.say(f'    {number}  {load.name} over TLS: ' + ' | '.join(line))


def tls_loads(n, size):
    return [get(f'GET P16 of {stats.size_text(size)}', pipeline=16, size=size, keys=n),
            get(f'GET of {stats.size_text(size)}', size=size, keys=n)]


def tls(ctx):
    """GET over TLS of 512 B and 16 KB, with and without pipelines, one thread."""
    with certificate() as certs, tls_fleet(ctx, certs) as fleet:
        for size, full in ((512, 1_000_000), (16384, 50_000)):
            n = ctx.keys(full, full // 10, size + 300, len(fleet.servers))
            ctx.fill(fleet, n, size)
            rounds_over_tls(ctx, fleet, certs, tls_loads(n, size))


def tls_main(ctx):
    """The same of 512 B with io-threads 2: what is left for the main thread."""
    with certificate() as certs, tls_fleet(ctx, certs, '2 threads', ['--io-threads', '2']) as fleet:
        n = ctx.keys(1_000_000, 100_000, 812, len(fleet.servers))
        ctx.fill(fleet, n, 512)
        rounds_over_tls(ctx, fleet, certs, tls_loads(n, 512))


def handshakes(ctx):
    """50 plain clients at 20,000 requests a second, beside 500 new TLS connections a second and without: p99."""
    seconds = ctx.seconds * 2
    with certificate() as certs, tls_fleet(ctx, certs, '2 threads', ['--io-threads', '2']) as fleet:
        n = ctx.keys(100_000, 100_000, 400, len(fleet.servers))
        ctx.fill(fleet, n, 64)
        load = get('GET', size=64, keys=n, rps=20_000)
        for number in range(1, ctx.rounds + 1):
            line = []
            for s in fleet.servers:
                fleet.turn(s)
                alone = ctx.measure(s, load, number, variant='alone', seconds=seconds)
                greeter = Greeter(s.tls, certs / 'cert.pem', seconds, 500)
                try:
                    beside = ctx.measure(s, load, number, variant='handshakes', seconds=seconds)
                finally:
                    made = greeter.finish()
                ctx.results['records'][-1].update(made)
                line.append(f'{s.name} {alone["p99_ms"]:.2f} ms, {beside["p99_ms"]:.2f} beside {made["per_second"]:.0f}/s')
            ctx.say(f'    {number}  GET: ' + ' | '.join(line))


# name: (function, figures that need it)
ALL = {
    'tls': (tls, ('43',)),
    'tls_main': (tls_main, ('44',)),
    'handshakes': (handshakes, ('45',)),
}
