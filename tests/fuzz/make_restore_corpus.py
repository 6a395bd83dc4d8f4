#!/usr/bin/env python3
"""make_restore_corpus.py -- creates tests/fuzz/corpus/restore from tests/type/vectors.txt: payloads without their
footers.

Usage: tests/fuzz/make_restore_corpus.py

One payload of up to 300 bytes for each RDB type and kind of content, after the byte that selects settings (0: the
defaults). Run it again after adding vectors.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "tests", "differential", "types"))
import vectors  # noqa: E402

FOOT = 10  # version and checksum
BYTES_MAX = 300
REDIS_TYPE_MIN = 23  # of the types that only Redis writes


def main():
    folder = os.path.join(ROOT, "tests", "fuzz", "corpus", "restore")
    os.makedirs(folder, exist_ok=True)
    taken = set()
    for name, payload in vectors.read_payloads():
        value = bytes(payload[:-FOOT])
        group = (value[:1], name.split("-")[0], name.split("-")[1][:4])
        as_others = name.startswith("r8-") and value[0] < REDIS_TYPE_MIN
        if len(value) > BYTES_MAX or as_others or group in taken:
            continue
        taken.add(group)
        with open(os.path.join(folder, name.replace(":", "_").replace("+", "plus")), "wb") as file:
            file.write(b"\0" + value)


main()
