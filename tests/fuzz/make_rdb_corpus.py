#!/usr/bin/env python3
"""make_rdb_corpus.py -- creates tests/fuzz/corpus/rdb_load from tests/persist/rdb_files.txt: snapshots without their
magic.

Usage: tests/fuzz/make_rdb_corpus.py

The byte before each selects the magic. Run it again after adding snapshots.

SPDX-License-Identifier: BSD-3-Clause
"""

import base64
import os

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MAGICS = [b"VALKEY080", b"REDIS0011", b"REDIS0004", b"VALKEY200", b"REDIS0013"]  # as in rdb_load_fuzz.c


def main():
    folder = os.path.join(ROOT, "tests", "fuzz", "corpus", "rdb_load")
    os.makedirs(folder, exist_ok=True)
    name = ""
    with open(os.path.join(ROOT, "tests", "persist", "rdb_files.txt")) as lines:
        for line in lines:
            word, _, rest = line.strip().partition(" ")
            if word == "file":
                name = rest
            elif word == "rdb":
                data = base64.b64decode(rest)
                choice = MAGICS.index(data[:9]) if data[:9] in MAGICS else 1
                with open(os.path.join(folder, name), "wb") as file:
                    file.write(bytes([choice]) + data[9:])


main()
