"""history.py -- the operations of one client, and the states of its keys that they explain.

A client has keys of its own. Its operations are numbered from 1; a transaction is one operation. For each key the
history has its versions: the value from each operation on. The dataset after a crash is right if there is a number k
such that every key has the version of k: then exactly the first k operations are present, complete and in order. A
value that never existed, a gap, or half of a transaction leave no such k.

Times are those of CLOCK_MONOTONIC in nanoseconds, which a preloaded disk_shim.c uses too.

SPDX-License-Identifier: BSD-3-Clause
"""

import bisect

# A key that has expired, or will expire, within this time may be present or absent.
EXPIRY_SLACK_MS = 200


class Lost(Exception):
    """The dataset breaks a promise of the server."""


class History:
    """The operations of one client; `state` is the state of its keys after the last operation begun."""

    def __init__(self, name):
        self.name = name
        self.base = 0  # operations up to this number are durable
        self.count = 0
        self.sent = []  # times of sending; [0] is that of operation base + 1
        self.acked = []  # times of the replies; None while there is none
        self.tickets = {}  # operation: the reply of the shared counter, once it has come
        self.state = {}
        self.versions = {}  # key: [(operation, value)], ascending

    # ---- During the run ------

    def begin(self, changes, now):
        """Adds an operation that gives keys new values (None: deleted). Returns its number."""
        self.count += 1
        self.sent.append(now)
        self.acked.append(None)
        for key, value in changes.items():
            if key not in self.versions:
                self.versions[key] = [(self.base, None)]
            self.versions[key].append((self.count, value))
            self.state[key] = value
        return self.count

    def answered(self, number, now):
        self.acked[number - self.base - 1] = now

    # ---- After a crash ----

    def floor(self, before):
        """Returns the last operation that got its reply before that time."""
        number = self.count
        while number > self.base:
            at = self.acked[number - self.base - 1]
            if at is not None and at < before:
                return number
            number -= 1
        return self.base

    def ceiling(self, before):
        """Returns the last operation begun before that time."""
        return self.base + bisect.bisect_left(self.sent, before)

    def explain(self, low, high, found, now_ms, torn=False):
        """Returns the intervals of operations from LOW to HIGH after which the keys would be as in FOUND (key: value).

        Raises Lost. torn: values with zero bytes, which no client has written, are ignored.
        """
        ranges = [(low, high)]
        blame = "operations %d to %d are possible" % (low, high)
        for key, versions in self.versions.items():
            value = found.get(key)
            if torn and value is not None and b"\0" in repr_bytes(value):
                continue
            wanted = self.matching(versions, value, now_ms)
            narrowed = intersect(ranges, wanted)
            if not narrowed:
                raise Lost("%s: %r is %s: that is how it was after operations %s, but %s" % (
                    self.name, key, shorten(value), brief(wanted) or "of nobody", blame))
            if narrowed != ranges:
                blame = "only %s fit %r = %s" % (brief(narrowed), key, shorten(value))
                ranges = narrowed
        return ranges

    def matching(self, versions, value, now_ms):
        wanted = []
        for at, (number, version) in enumerate(versions):
            end = versions[at + 1][0] - 1 if at + 1 < len(versions) else self.count
            if number <= end and same(version, value, now_ms):
                wanted.append((number, end))
        return wanted

    def keep(self, number):
        """Ends the history with operation NUMBER."""
        for key in list(self.versions):
            versions = [v for v in self.versions[key] if v[0] <= number]
            self.versions[key] = [(number, versions[-1][1])]
            self.state[key] = versions[-1][1]
            if versions[-1][1] is None:
                del self.versions[key], self.state[key]
        self.base = self.count = number
        self.sent, self.acked, self.tickets = [], [], {}


def same(version, value, now_ms):
    """Returns whether a key with VERSION may be found as VALUE. Values: (type, content, expire in ms or -1) or None."""
    if version == value:
        return True
    return value is None and version[2] >= 0 and version[2] <= now_ms + EXPIRY_SLACK_MS


def intersect(a, b):
    out = []
    for low, high in a:
        for first, last in b:
            if first <= high and last >= low:
                out.append((max(low, first), min(high, last)))
    return out


def repr_bytes(value):
    content = value[1]
    if isinstance(content, bytes):
        return content
    parts = []
    stack = [content]
    while stack:
        item = stack.pop()
        if isinstance(item, bytes):
            parts.append(item)
        elif isinstance(item, (tuple, list, frozenset)):
            stack.extend(item)
    return b"".join(parts)


def shorten(value):
    text = repr(value)
    return text if len(text) < 120 else text[:80] + "... (%d characters)" % len(text)


def brief(ranges):
    text = ", ".join("%d-%d" % r if r[0] != r[1] else "%d" % r[0] for r in ranges[:4])
    return text + (", ..." if len(ranges) > 4 else "")
