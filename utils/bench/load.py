"""load.py -- drive a server with valkey-benchmark and read its report.

Every server gets the load of the same generator, ours. Latencies are parsed from its text report, which has more
percentiles than its CSV. Its own CPU time is that of wait4(): a run in which it was busy all the time measured the
generator, not the server.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import tempfile
import time
from dataclasses import dataclass, field

GENERATOR_FULL = 0.95  # share of a core at which the generator counts as the limit


@dataclass
class Load:
    """One workload. `command` has the words after `--`; with `standard`, options like ['-t', 'get']."""
    name: str
    command: list
    size: int = 512
    clients: int = 50
    pipeline: int = 1
    keys: int = 0
    rps: int = 0
    threads: int = 0
    tracking: bool = False
    user: str = ''            # with the password "bench"; '': the default user
    tls: tuple = ()           # (port, file of the authority): over TLS
    rows: tuple = ()          # figures of the headline table that need it
    what: dict = field(default_factory=dict)

    def arguments(self, port):
        args = ['-p', str(self.tls[0] if self.tls else port), '-d', str(self.size), '-c', str(self.clients), '-P', str(self.pipeline)]
        if self.keys:
            args += ['-r', str(self.keys)]
        if self.rps:
            args += ['--rps', str(self.rps)]
        if self.threads:
            args += ['--threads', str(self.threads)]
        if self.tracking:
            args.append('--enable-tracking')
        if self.user:
            args += ['--user', self.user, '-a', 'bench']
        if self.tls:
            args += ['--tls', '--cacert', str(self.tls[1])]
        return args


class LoadError(Exception):
    pass


class Running:
    """A running generator."""

    def __init__(self, program, args, threads=1):
        self.out = tempfile.TemporaryFile()
        self.threads = threads
        self.begin = time.monotonic()
        self.process = subprocess.Popen([str(program)] + args, stdout=self.out, stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL)

    def finish(self):
        try:
            _, status, usage = os.wait4(self.process.pid, 0)
        except BaseException:
            self.kill()
            raise
        wall = time.monotonic() - self.begin
        self.process.returncode = os.waitstatus_to_exitcode(status)
        self.out.seek(0)
        text = self.out.read().decode('latin-1')
        self.out.close()
        if self.process.returncode != 0:
            raise LoadError(f'{" ".join(self.process.args)}: {text[-500:]}')
        result = parse_report(text)
        result['generator_cpu'] = (usage.ru_utime + usage.ru_stime) / wall / self.threads
        result['generator_limited'] = result['generator_cpu'] >= GENERATOR_FULL
        return result

    def kill(self):
        self.process.kill()
        os.wait4(self.process.pid, 0)
        self.process.returncode = -9


def parse_report(text):
    """Rate and latencies (ms) of the text report of valkey-benchmark."""
    text = text.rsplit('\r', 1)[-1]
    rate = re.search(r'throughput summary: ([0-9.]+) requests per second', text)
    if not rate:
        raise LoadError(f'no rate in the report of valkey-benchmark: {text[-500:]}')
    result = {'rps': float(rate.group(1))}
    steps = [(float(p), float(ms)) for p, ms in
             re.findall(r'^([0-9.]+)% <= ([0-9.]+) milliseconds \(cumulative', text.split('Cumulative')[0], re.M)]
    for name, percent in (('p50_ms', 50), ('p99_ms', 99), ('p999_ms', 99.9)):
        result[name] = next((ms for p, ms in steps if p >= percent), None)
    result['max_ms'] = steps[-1][1] if steps else None
    return result


def key_command(words, prefix='key:'):
    """The words of a command with KEY and DATA replaced by placeholders of the generator."""
    return [{'KEY': prefix + '__rand_int__', 'DATA': '__data__'}.get(w, w) for w in words.split()]


def get(name, **more):
    return Load(name, key_command('get KEY'), what={'command': 'GET'}, **more)


def put(name, **more):
    return Load(name, key_command('set KEY DATA'), what={'command': 'SET'}, **more)


def mget(name, count, **more):
    return Load(name, ['mget'] + key_command('KEY') * count, what={'command': f'MGET of {count}'}, **more)


def mset(name, count, **more):
    return Load(name, ['mset'] + key_command('KEY DATA') * count, what={'command': f'MSET of {count}'}, **more)


class Generator:
    def __init__(self, program):
        self.program = program

    def fill(self, port, keys, size):
        """Sets every key of the range once, so that each GET finds its key."""
        bulky = size * 64 > 1 << 20
        args = ['-p', str(port), '-d', str(size), '-r', str(keys), '-n', str(keys), '--sequential', '-c', '10',
                '-P', '1' if bulky else '64', '--'] + key_command('set KEY DATA')
        Running(self.program, args).finish()

    def fill_with(self, port, n, words):
        """Sends a command N times; the placeholder of a number counts up."""
        args = ['-p', str(port), '-r', str(n), '-n', str(n), '--sequential', '-c', '10', '-P', '64', '--'] + words.split()
        Running(self.program, args).finish()

    def start(self, port, load, seconds=None, requests=None):
        amount = ['--duration', str(seconds)] if seconds else ['-n', str(requests)]
        return Running(self.program, load.arguments(port) + amount + ['--'] + load.command, load.threads or 1)

    def run(self, port, load, seconds=None, requests=None):
        return self.start(port, load, seconds, requests).finish()
