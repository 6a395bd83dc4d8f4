"""forks.py -- the cost of a child that a server has forked: its CPU, and the memory that is no longer shared.

A page to which server or child writes after the fork is copied. So the child's private dirty memory is what the fork has
added to the memory in use, whichever of the two wrote.

SPDX-License-Identifier: BSD-3-Clause
"""
import re
import time
from pathlib import Path

BUSY = ('rdb_bgsave_in_progress', 'aof_rewrite_in_progress', 'aof_rewrite_scheduled')


def memory_of(text):
    """{field: bytes} of a smaps file, the sum over all mappings."""
    sums = {}
    for name, kilobytes in re.findall(r'^(\w+):\s+(\d+) kB', text, re.M):
        sums[name] = sums.get(name, 0) + int(kilobytes) * 1024
    return sums


def memory(pid):
    """The same of a process; empty if it has ended."""
    try:
        return memory_of(Path(f'/proc/{pid}/smaps_rollup').read_text())
    except OSError:
        return {}


def parent_of(stat):
    """Parses a line of /proc/PID/stat; the name in parentheses may contain any characters."""
    return int(stat.rpartition(')')[2].split()[1])


def child_of(pid):
    """The process that PID has forked, or None."""
    for path in Path('/proc').glob('[0-9]*/stat'):
        try:
            if parent_of(path.read_text()) == pid:
                return int(path.parent.name)
        except (OSError, ValueError, IndexError):
            continue
    return None


def child_seconds(info):
    """CPU of all children that have ended, from INFO of the server, which gets it from the scheduler."""
    return float(info['used_cpu_user_children']) + float(info['used_cpu_sys_children'])


def process_seconds(info):
    """CPU of the server itself, threads that have ended included."""
    return float(info['used_cpu_user']) + float(info['used_cpu_sys'])


def wait(server, look=None, pause=0.02, timeout=600):
    """Waits until the server has no child and none is due. Calls `look` repeatedly meanwhile."""
    deadline = time.monotonic() + timeout
    while True:
        info = server.info()
        if not any(int(info.get(name, 0)) for name in BUSY):
            return info
        if time.monotonic() > deadline:
            raise TimeoutError(f'{server.name}: its child does not end')
        if look:
            look()
        time.sleep(pause)


def must_be_ok(server, info):
    for name in ('rdb_last_bgsave_status', 'aof_last_bgrewrite_status', 'aof_last_write_status'):
        if info.get(name, 'ok') != 'ok':
            raise RuntimeError(f'{server.name}: {name} is {info[name]}')


class Growth:
    """The most private memory that a child had in any sample."""

    def __init__(self, server):
        self.pid, self.child, self.most = server.pid, None, 0

    def look(self):
        self.child = self.child or child_of(self.pid)
        if self.child:
            self.most = max(self.most, memory(self.child).get('Private_Dirty', 0))
        return self.most
