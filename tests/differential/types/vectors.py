"""vectors.py -- runs the commands that made the values of tests/type/vectors.txt, and restores the dump of one server
in the other.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "type", "vectors.txt")
FOOTER = 10  # bytes of version and checksum
WEIGHT = 0.3
# A command of each type: a payload is useful if both servers have the type.
COMMAND_OF = {"list": "rpush", "set": "sadd", "hash": "hset", "zset": "zadd", "stream": "xadd"}


def unfold(word):
    """Returns the raw bytes of a word of vectors.txt."""
    folded = re.fullmatch(r"\((\w+)\*(\d+)\)", word)
    if folded:
        return folded[1].encode() * int(folded[2])
    if word == '""':
        return b""
    return re.sub(rb"\\x(..)", lambda found: bytes([int(found[1], 16)]), word.encode())


def read_vectors():
    """Returns (type, commands, payload) of each vector."""
    return [vector[1:] for vector in read_named()]


def read_payloads():
    """Returns (name, payload) of each vector."""
    return [(name, payload) for name, _, _, payload in read_named()]


def read_named():
    vectors = []
    with open(PATH, encoding="ascii") as file:
        for line in file:
            words = line.split()
            if words[:1] == ["vector"]:
                vectors.append((words[1], "", [], bytearray()))
            elif words[:1] == ["type"]:
                vectors[-1] = (vectors[-1][0], words[1], *vectors[-1][2:])
            elif words[:1] == ["do"]:
                vectors[-1][2].append([unfold(word) for word in words[1:]])
            elif words[:1] == ["payload"]:
                vectors[-1][3].extend(bytes.fromhex("".join(unfold(word).decode() for word in words[1:])))
    return vectors


def commands(g):
    # Commands that store the time would differ between two servers, and so would missing ones.
    made = {}
    for kind, steps, _ in read_vectors():
        if steps and not {step[0] for step in steps} & {b"VADD", b"XREADGROUP", b"XCLAIM", b"XGROUP"}:
            made.setdefault(steps[0][0].decode().lower(), []).append((kind, steps))

    def sequence(name):
        kind, steps = g.r.choice(made[name])
        key = g.key(kind)
        return g.sequence(["DEL", key], *([key if word == b"k" else word.decode("latin-1") for word in step]
                                          for step in steps))

    def restore():
        return [g.key(), "0", bytes(g.r.choice(payloads))] + g.options([g.word("REPLACE")], 0.8)

    # Times of consumers are in the payload, so that both have the same.
    # Valkey does not take those of Redis 7.4 and later.
    payloads = [payload for kind, _, payload in read_vectors()
                if COMMAND_OF.get(kind, "set") in g.known and payload[-FOOTER:-FOOTER + 2] not in (b"\x0c\0", b"\x0d\0")]
    return {**{name: (lambda name=name: sequence(name)) for name in made}, "restore": (4, restore)}
