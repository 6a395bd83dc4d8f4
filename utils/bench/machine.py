"""machine.py -- the facts about the machine that figures depend on. No host names, no paths.

SPDX-License-Identifier: BSD-3-Clause
"""
import os
import re
import subprocess
import time
from pathlib import Path


def first(path, pattern):
    try:
        found = re.search(pattern, Path(path).read_text(), re.M)
    except OSError:
        return ''
    return found.group(1).strip() if found else ''


def cache(level):
    return first(f'/sys/devices/system/cpu/cpu0/cache/index{level}/size', r'(\S+)')


def facts():
    memory = int(first('/proc/meminfo', r'^MemTotal:\s+(\d+)') or 0)
    return {
        'processors': str(os.cpu_count()),
        'model': first('/proc/cpuinfo', r'^model name\s*:\s*(.+)$') or os.uname().machine,
        'virtual machine': 'yes' if first('/proc/cpuinfo', r'^flags\s*:.*\b(hypervisor)\b') else 'no',
        'caches': ', '.join(f'{name} {cache(i)}' for i, name in ((2, 'L2'), (3, 'L3')) if cache(i)),
        'memory': f'{memory / (1 << 20):.0f} GB',
        'kernel': re.match(r'[0-9.]+', os.uname().release).group(0),
        'huge pages': first('/sys/kernel/mm/transparent_hugepage/enabled', r'\[(\w+)\]') or 'not offered',
        'date': time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime()),
    }


def version(path):
    try:
        text = subprocess.run([str(path), '--version'], capture_output=True, text=True, timeout=20, check=False).stdout
    except OSError:
        return ''
    found = re.search(r'\bv=(\S+)', text)
    return found.group(1) if found else ''


def products(pairs):
    return [{'name': name, 'version': version(path)} for name, path in pairs]
