"""callgrind.py -- count user instructions per command with valgrind, for the measured part only.

The server starts and is filled under callgrind with instrumentation off. Instrumentation is on during the load, and the
counters of each thread are dumped after it. A wrapper script is followed (--trace-children): the process that it becomes
by exec keeps its process ID.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import shutil
import subprocess
from pathlib import Path

TOOLS = ('valgrind', 'callgrind_control')


def missing():
    return [t for t in TOOLS if not shutil.which(t)]


def prefix(folder):
    """The words before a server's command line."""
    return ['valgrind', '-q', '--tool=callgrind', '--fair-sched=yes', '--separate-threads=yes', '--instr-atstart=no',
            '--trace-children=yes', f'--callgrind-out-file={folder}/out.%p']


def control(pid, *what):
    return subprocess.run(['callgrind_control', *what, str(pid)], capture_output=True, text=True, timeout=120)


def switch(pid, on):
    done = control(pid, '-i', 'on' if on else 'off')
    if 'Error' in done.stdout + done.stderr:
        raise RuntimeError(f'callgrind_control: {done.stdout}{done.stderr}')


def dump(pid, folder):
    """Instructions since the last dump: {thread number: count}."""
    before = set(Path(folder).iterdir())
    control(pid, '-d')
    counts = thread_totals(sorted(set(Path(folder).iterdir()) - before))
    if not sum(counts.values()):
        raise RuntimeError('callgrind counted nothing')
    return counts


def thread_totals(files):
    """The sum of the dump files of each thread; thread 1 is main. The line `totals` has the count: the `summary` of a
    part dumped with instrumentation off is 0."""
    totals = {}
    for path in files:
        text = path.read_text(errors='replace')
        found = re.search(r'^totals: (\d+)', text, re.M)
        thread = re.search(r'^thread: (\d+)', text, re.M)
        if found and thread:
            number = int(thread.group(1))
            totals[number] = totals.get(number, 0) + int(found.group(1))
    return totals
