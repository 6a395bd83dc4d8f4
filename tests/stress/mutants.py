#!/usr/bin/env python3
"""mutants.py -- restores damaged values, and checks that accepted ones do not break the server later.

Values of tests/type/vectors.txt are damaged -- bits flipped, bytes changed, cut, doubled, moved between values -- and
given a right checksum. Every command of the type (made by the modules of tests/differential/types) runs on an accepted
value, each on a fresh copy, under changing settings of encodings. Commands that only read must not change DUMP; a
value's own DUMP must always be accepted and give the same value.

Exit code 0: no error. 1: an error, or the server has ended. Sanitizers find other faults (tests/stress/run).

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import importlib.util
import glob
import os
import random
import socket
import struct
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
DIFFERENTIAL = os.path.join(ROOT, "tests", "differential")
sys.path.insert(0, DIFFERENTIAL)
sys.dont_write_bytecode = True

from arguments import Random, Sequence  # noqa: E402
from wire import Connection  # noqa: E402

KEY, OTHER = b"mutant", b"other"
FOOT = 10
VERSION = 80
VERSION_OF_REDIS = 13
TYPES_OF_REDIS = range(23, 27)  # which mean nothing, or something else, in payloads of Valkey
# These end the connection or the server, or their replies depend on the time.
NOT_ASKED = {"debug", "flushall", "flushdb", "swapdb", "select", "randomkey", "keys", "scan"}


class Wrong(Exception):
    """The server gave an invalid reply."""


# ---- Payloads ----------------------------------------------------------------------------------------------------


def crc64_table():
    table = []
    for byte in range(256):
        crc = byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x95AC9329AC4BC9B5 if crc & 1 else 0)
        table.append(crc)
    return table


TABLE = crc64_table()


def with_foot(value):
    crc = 0
    payload = value + struct.pack("<H", VERSION_OF_REDIS if value[0] in TYPES_OF_REDIS else VERSION)
    for byte in payload:
        crc = TABLE[(crc ^ byte) & 255] ^ (crc >> 8)
    return payload + struct.pack("<Q", crc)


def mutate(r, value, others):
    """Returns VALUE with some damage; its first byte, the type, is mostly kept."""
    out = bytearray(value)
    for _ in range(r.choice([1, 1, 1, 2, 3, 8])):
        at = r.randrange(0 if r.random() < 0.03 else 1, len(out) + 1)
        if at >= len(out):
            at = len(out) - 1
        way = r.randrange(9)
        if way <= 1:
            out[at] ^= 1 << r.randrange(8)
        elif way == 2:
            out[at] = r.choice([0, 1, 2, 3, 0x3F, 0x40, 0x7F, 0x80, 0x81, 0xC0, 0xC3, 0xF0, 0xF4, 0xFE, 0xFF])
        elif way == 3:
            out[at] = (out[at] + r.choice([1, -1, 2, -2])) % 256
        elif way == 4:
            del out[at:at + r.randrange(1, 12)]
        elif way == 5:
            out[at:at] = out[at:at + r.randrange(1, 24)]
        elif way == 6:
            out[at:at] = bytes(r.randrange(256) for _ in range(r.randrange(1, 9)))
        elif way == 7:
            other = r.choice(others)
            begin = r.randrange(len(other))
            out[at:at + r.randrange(0, 16)] = other[begin:begin + r.randrange(1, 24)]
        else:
            width = r.choice([2, 4, 8])
            out[at:at + width] = r.choice([0, 1, 2 ** (8 * width) - 1, 2 ** (8 * width - 1), len(out)]).to_bytes(width, "little")
        if not out:
            out += b"\0"
    return bytes(out)


# ---- The server ---------------------------------------------------------------------------------------------------


class Asker(Connection):
    """A connection to a server that is already running, and may be slow."""

    def __init__(self, port):
        super().__init__(port)
        self.sock.settimeout(120)

    def all(self, commands):
        self.send(commands)
        return [self.reply() for _ in commands]


def load_modules():
    modules = {}
    for path in sorted(glob.glob(os.path.join(DIFFERENTIAL, "types", "*.py"))):
        name = os.path.basename(path)[:-3]
        spec = importlib.util.spec_from_file_location("differential_types_" + name, path)
        modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(modules[name])
    return modules


class Mutants:
    def __init__(self, server, seed):
        self.server = server
        self.r = random.Random(seed)
        self.modules = load_modules()
        names = server.ask([b"COMMAND", b"LIST"])[1]
        self.known = {name.decode().lower() for name in names}
        self.reading = {name.decode().lower() for name in
                        server.ask([b"COMMAND", b"LIST", b"FILTERBY", b"ACLCAT", b"read"])[1]}
        # An expired field is present until the timer deletes it, which is not an effect of the commands.
        server.ask([b"DEBUG", b"SET-ACTIVE-EXPIRE", b"0"])
        self.values = [bytes(payload[:-FOOT]) for _, payload in self.modules["vectors"].read_payloads()]
        self.settings = {}
        for module in self.modules.values():
            for name, values in getattr(module, "SETTINGS", {}).items():
                found = server.ask([b"CONFIG", b"GET", name.encode()])[1]
                if found:
                    self.settings[name.encode()] = [found[1]] + [str(value).encode() for value in values]
        self.taken = {}
        self.refused = self.asked = 0

    def draw(self, kind):
        """Returns a command of each name that the type's module and the generic one have, on the key."""
        g = Random(self.r.randrange(2 ** 60))
        g.known = self.known
        g.key = lambda kind=None: KEY.decode() if g.chance(0.9) else OTHER.decode()
        commands = []
        for module in self.modules.values():
            if getattr(module, "TYPE", None) not in (kind, None) or module is self.modules["server"]:
                continue
            for name, row in module.commands(g).items():
                if name not in self.known or name in NOT_ASKED or (module is self.modules["vectors"]):
                    continue
                words = (row[1] if isinstance(row, tuple) else row)()
                if isinstance(words, Sequence):
                    commands += [command for command in words if command[0] != "DEBUG"]
                else:
                    commands.append([name] + words)
        self.r.shuffle(commands)
        return [[word if isinstance(word, bytes) else str(word).encode("latin-1") for word in command]
                for command in commands]

    def restore(self, key, payload):
        raw = self.server.ask([b"RESTORE", key, b"0", payload, b"REPLACE"])[0]
        if raw not in (b"+OK\r\n",) and not raw.startswith(b"-ERR Bad data format"):
            raise Wrong("RESTORE says %r" % raw)
        return raw == b"+OK\r\n"

    def look(self, key):
        return [value for _, value in self.server.all([[b"DUMP", key], [b"DEBUG", b"DIGEST-VALUE", key],
                                                       [b"OBJECT", b"ENCODING", key], [b"MEMORY", b"USAGE", key]])]

    def same_again(self, key):
        """Checks that the key's own DUMP is accepted and gives the same value."""
        dump, digest, _, _ = self.look(key)
        if dump is None:
            return
        if not self.restore(OTHER, dump):
            raise Wrong("its own DUMP is refused: %s" % dump.hex())
        # The TTL is part of the digest.
        if self.server.ask([b"PTTL", key])[1] == b":-1" and self.look(OTHER)[1] != digest:
            raise Wrong("its own DUMP is another value: %s" % dump.hex())

    def one(self):
        r = self.r
        if self.settings and r.random() < 0.05:
            self.server.ask([b"CONFIG", b"SET"] + [word for name, values in self.settings.items()
                                                   for word in (name, r.choice(values))])
        value = r.choice(self.values)
        if r.random() < 0.9:
            value = mutate(r, value, self.values)
        payload = with_foot(value)
        self.value = value
        if not self.restore(KEY, payload):
            self.refused += 1
            return
        kind = self.server.ask([b"TYPE", KEY])[1].decode().lstrip("+")
        self.taken[kind] = self.taken.get(kind, 0) + 1
        self.same_again(KEY)
        commands = self.draw(kind)
        self.asked += len(commands)
        # PFCOUNT has the flag readonly but stores the count, as in Valkey.
        reading = [command for command in commands
                   if command[0].decode().lower() in self.reading and command[0].lower() != b"pfcount"]
        before = self.look(KEY)
        self.server.all(reading)
        after = self.look(KEY)
        if before[:3] != after[:3]:
            raise Wrong("what only reads has changed it: %r, then %r" % (before[:3], after[:3]))
        script = []
        for command in commands:
            script += [command, [b"RESTORE", KEY, b"0", payload, b"REPLACE"]] if r.random() < 0.7 else [command]
        self.server.all(script)
        if self.server.ask([b"EXISTS", KEY])[1] == b":1":
            self.same_again(KEY)
        self.server.ask([b"FLUSHALL"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--clients", help="not used: one value at a time")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else random.randrange(10 ** 6)
    print("seed %d" % seed, flush=True)
    mutants = None
    tried = 0
    try:
        mutants = Mutants(Asker(options.port), seed)
        deadline = time.time() + options.seconds
        while time.time() < deadline:
            mutants.one()
            tried += 1
    except (Wrong, OSError, ValueError, socket.timeout) as problem:
        print("WRONG: %s\nvalue: %s" % (problem, getattr(mutants, "value", b"").hex()))
        return 1
    print("%d values: %d refused, taken: %s; %d commands" %
          (tried, mutants.refused, " ".join("%s %d" % pair for pair in sorted(mutants.taken.items())), mutants.asked))
    return 0


if __name__ == "__main__":
    sys.exit(main())
