"""divergence.py -- compares two servers key by key, and gives the replication offset of the comparison.

A server is read by its commands only: DUMP and encodings may differ. If DEBUG DIGEST-VALUE of both is equal, a value is
not read; if not, the values decide, because other servers may compute another digest. Parts that no digest covers
(expires, field TTLs, groups of streams, libraries) are always read.

A comparison is valid if nothing has changed meanwhile: each server reports the same number of changes and the same
replicated state before and after. Differences are read again then, because a key may have expired between two reads.

Not here    command line and output: tests/replicas/compare.
Tests       tests/replicas/compare_selftest.py

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import socket
import ssl
import sys
import time
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "differential"))
sys.dont_write_bytecode = True

from wire import Connection  # noqa: E402

KEYS_AT_ONCE = 200
ITEMS_AT_ONCE = 500
BYTES_AT_ONCE = 1 << 20
HELD_S = 40
# For a stream with more entries or more pending entries, times of delivery are not read.
SMALL_STREAM = 5000
# Figures about a server's memory and time, and parts that are compared one by one.
NOT_COMPARED = {b"radix-tree-keys", b"radix-tree-nodes", b"groups", b"consumers", b"pending", b"first-entry",
                b"last-entry"}
SCANS = {"set": b"SSCAN", "hash": b"HSCAN"}


class Inconclusive(Exception):
    """The comparison is not possible, with the reason."""


class Refused(Exception):
    """A server has replied with an error."""


class Link(Connection):
    """A connection to HOST:PORT, or to a URI valkey://[user:password@]host:port; valkeys:// is TLS."""

    def __init__(self, address, cacert=None, limit=120):
        text = address if "://" in address else "valkey://" + address
        url = urllib.parse.urlsplit(text)
        if url.scheme not in ("valkey", "valkeys", "redis", "rediss") or not url.hostname:
            raise ValueError("no address: %s" % address)
        self.name = "%s:%d" % (url.hostname, url.port or 6379)
        self.sock = socket.create_connection((url.hostname, url.port or 6379), 10)
        self.sock.settimeout(limit)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if url.scheme.endswith("s"):
            self.sock = ssl.create_default_context(cafile=cacert).wrap_socket(self.sock, server_hostname=url.hostname)
        self.buf = bytearray()
        self.sent = self.received = 0
        self.database = 0
        if url.password is not None:
            user = [urllib.parse.unquote(url.username)] if url.username else []
            self.call("AUTH", *user, urllib.parse.unquote(url.password))
        # Reading must not change access times, if the server supports that.
        self.try_all([["CLIENT", "NO-TOUCH", "ON"], ["READONLY"]])

    def try_all(self, commands):
        """Returns the replies to all commands, errors as None."""
        self.send([[word if isinstance(word, bytes) else str(word).encode() for word in words] for words in commands])
        out = []
        for _ in commands:
            raw, value = self.reply()
            out.append(None if raw[:1] == b"-" else value)
        return out

    def call(self, *words):
        raw, value = self.ask([word if isinstance(word, bytes) else str(word).encode() for word in words])
        if raw[:1] == b"-":
            raise Refused("%s: %s: %s" % (self.name, " ".join(str(word) for word in words[:2]),
                                          raw.decode("utf-8", "replace").strip()))
        return value

    def select(self, number):
        if number != self.database:
            self.call("SELECT", number)
            self.database = number

    def info(self):
        """Returns all INFO fields of the sections that are needed."""
        text = b"".join(self.call("INFO", section) for section in ("replication", "persistence", "keyspace"))
        return dict(line.split(":", 1) for line in text.decode("utf-8", "replace").split("\r\n") if ":" in line)


def number(value):
    """Returns the number of an integer reply."""
    return int(value[1:] if value[:1] == b":" else value)


def pairs(flat):
    return dict(zip(flat[::2], flat[1::2]))


def shown(value, most=100):
    """Returns bytes, and structures of them, as readable text."""
    if isinstance(value, bytes):
        text = '"' + value[:most].decode("latin-1").encode("unicode_escape").decode() + '"'
        return text + " ... of %d bytes" % len(value) * (len(value) > most)
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(part, most) for part in value[:6]) + ", ..." * (len(value) > 6) + "]"
    return str(value)


# ---- Offsets of both servers -------------------------------------------------------------------------------------


class Standing:
    """The state of a server at one moment, from INFO."""

    def __init__(self, link):
        info = link.info()
        self.is_replica = info["role"] == "slave"
        self.history = info["master_replid"]
        self.offset = int(info["slave_repl_offset" if self.is_replica else "master_repl_offset"])
        self.is_up = not self.is_replica or info.get("master_link_status") == "up"
        # A save resets the number of changes.
        self.changes = (info["rdb_changes_since_last_save"], info["rdb_last_save_time"])
        self.databases = {int(name[2:]): pairs_of(value) for name, value in info.items()
                          if name[:2] == "db" and name[2:].isdigit()}


def pairs_of(text):
    return dict(part.split("=", 1) for part in text.split(",") if "=" in part)


class Comparison:
    """The comparison of two servers. limit_s: how long to wait until nothing changes any more."""

    def __init__(self, addresses, limit_s=60, related=True, pause=False, encodings=False, read_all=False,
                 databases=None, most=100, cacert=None):
        self.links = [Link(address, cacert) for address in addresses]
        self.limit_s, self.related, self.pause = limit_s, related, pause
        self.encodings, self.read_all, self.databases, self.most = encodings, read_all, databases, most
        self.notes = []
        self.keys = self.libraries = 0
        self.held_until = 0
        self.standings = None
        self.differences = []

    def close(self):
        for link in self.links:
            link.close()

    def run(self):
        """Returns the differences, each a dict; an empty list if there are none. Raises Inconclusive if that cannot be
        determined."""
        deadline = time.monotonic() + self.limit_s
        try:
            while True:
                self.hold_writers()
                began = time.monotonic()
                before = self.in_step(deadline)
                found = self.whole(before)
                found = self.lasting(found)
                after = self.in_step(deadline)
                if not self.moved(before, after):
                    self.standings = after
                    self.differences = found
                    return found
                if time.monotonic() > deadline:
                    raise Inconclusive(
                        "writes go on: %s, %s; in the last %d seconds %s" % (
                            *("%s from offset %d to %d and %s to %s changes" % (
                                link.name, old.offset, new.offset, old.changes[0], new.changes[0])
                              for link, old, new in zip(self.links, before, after)),
                            time.monotonic() - began, "%d differences" % len(found) if found else "no difference"))
        finally:
            if self.pause:
                for link in self.links:
                    link.try_all([["CLIENT", "UNPAUSE"]])

    def hold_writers(self):
        """Pauses writers for a short time, which is renewed during the comparison: writers do not wait long if the
        program ends."""
        if not self.pause or time.monotonic() < self.held_until - HELD_S * 3 / 4:
            return
        self.held_until = time.monotonic() + HELD_S
        for link in self.links:
            if not Standing(link).is_replica:
                link.call("CLIENT", "PAUSE", HELD_S * 1000, "WRITE")

    def in_step(self, deadline):
        """Returns the states of both when they have the same replication ID and offset."""
        while True:
            both = [Standing(link) for link in self.links]
            why = self.not_in_step(both)
            if why is None:
                return both
            if time.monotonic() > deadline:
                raise Inconclusive(why)
            time.sleep(0.05)

    def not_in_step(self, both):
        if not self.related:
            return None
        if not any(standing.is_replica for standing in both):
            return "neither is a replica (--unrelated compares them nevertheless)"
        for link, standing in zip(self.links, both):
            if not standing.is_up:
                return "%s has no link to its primary" % link.name
        if both[0].history != both[1].history:
            return "not of one history: %s has %s, %s has %s" % (self.links[0].name, both[0].history,
                                                                  self.links[1].name, both[1].history)
        if both[0].offset != both[1].offset:
            return "not in step: %s is at offset %d, %s at %d" % (self.links[0].name, both[0].offset,
                                                                  self.links[1].name, both[1].offset)
        return None

    def moved(self, before, after):
        """Returns whether data may have changed. The replication stream itself may have grown, as primaries ping."""
        return any(old.changes != new.changes or old.history != new.history
                   or (not self.related and old.offset != new.offset) for old, new in zip(before, after))

    # ---- All keys ----

    def both(self, commands):
        """Returns the replies of both servers to the same commands."""
        return [link.try_all(commands) for link in self.links]

    def whole(self, standings):
        self.notes.clear()
        self.keys = 0
        self.is_second_look = False
        found = self.compare_libraries()
        numbers = sorted(set(standings[0].databases) | set(standings[1].databases))
        for database in numbers:
            if self.databases and database not in self.databases:
                continue
            counts = [standing.databases.get(database, {}).get("keys_with_volatile_items") for standing in standings]
            self.no_field_times = counts == ["0", "0"]
            for link in self.links:
                link.select(database)
            for names in self.scan(0):
                self.keys += len(names)
                found += self.compare_keys(database, names)
            for names in self.scan(1):
                there = self.links[0].try_all([[b"EXISTS", name] for name in names])
                missing = [name for name, reply in zip(names, there) if reply == b":0"]
                self.keys += len(missing)
                found += self.compare_keys(database, missing)
            if len(found) >= self.most:
                break
        return found

    def scan(self, which):
        """Yields all keys of the database, some at a time, each once."""
        link, cursor, seen = self.links[which], b"0", set()
        while True:
            cursor, names = link.call("SCAN", cursor, "COUNT", 1000)
            names = [name for name in names if name not in seen]
            seen.update(names)
            for at in range(0, len(names), KEYS_AT_ONCE):
                yield names[at:at + KEYS_AT_ONCE]
            if cursor == b"0":
                return

    def lasting(self, found):
        """Returns the differences that remain when they are checked again."""
        out = []
        if any(difference["kind"] == "library" for difference in found):
            out += self.compare_libraries()
        again = {(difference["database"], difference["key"]) for difference in found if difference["key"] is not None}
        for database, key in sorted(again):
            for link in self.links:
                link.select(database)
            self.no_field_times = False
            self.is_second_look = True
            out += self.compare_keys(database, [key])
        return out

    # ---- Keys ----

    def compare_keys(self, database, names):
        if not names:
            return []
        self.hold_writers()
        questions = [[b"TYPE", name] for name in names] + [[b"PEXPIRETIME", name] for name in names]
        if self.encodings:
            questions += [[b"OBJECT", b"ENCODING", name] for name in names]
        questions.append([b"DEBUG", b"DIGEST-VALUE", *names] if not self.read_all else [b"PING"])
        answers = self.both(questions)
        count = len(names)
        digests = [answer[-1] if isinstance(answer[-1], list) else [None] * count for answer in answers]
        found = []
        for at, name in enumerate(names):
            tell = lambda kind, what, one, other, name=name: found.append(
                {"database": database, "key": name, "kind": kind, "what": what, "one": one, "other": other})
            types, ends = ([answer[at + skip] for answer in answers] for skip in (0, count))
            if types == [b"+none", b"+none"]:
                continue
            if b"+none" in types:
                tell("existence", "is only at %s" % self.links[types[0] == b"+none"].name,
                     *(kind[1:].decode() for kind in types))
                continue
            if types[0] != types[1]:
                tell("type", "type", *(kind[1:].decode() for kind in types))
                continue
            if ends[0] != ends[1]:
                tell("expiry", "end of life", *(number(end) for end in ends))
            if self.encodings and answers[0][at + 2 * count] != answers[1][at + 2 * count]:
                tell("encoding", "encoding", *(answer[at + 2 * count] for answer in answers))
            same = digests[0][at] is not None and digests[0][at] == digests[1][at]
            try:
                self.compare_value(types[0][1:].decode(), name, same, tell)
            except Refused as problem:
                # The key may have been deleted meanwhile; then it is checked again.
                if self.is_second_look:
                    raise
                tell("value", str(problem), None, None)
        return found

    def compare_value(self, kind, key, same, tell):
        """Compares a value. same: the digests agree, so that only the parts they do not cover are compared."""
        if kind == "string":
            same or self.compare_string(key, tell)
        elif kind == "list":
            same or self.compare_rows(key, [b"LLEN", key], lambda at, end: [b"LRANGE", key, at, end], 1, tell,
                                      "element")
        elif kind == "zset":
            same or self.compare_rows(key, [b"ZCARD", key], lambda at, end: [b"ZRANGE", key, at, end, b"WITHSCORES"], 2,
                                      tell, "member")
        elif kind == "set":
            same or self.compare_unordered(kind, key, tell)
        elif kind == "hash":
            self.compare_hash(key, same, tell)
        elif kind == "stream":
            self.compare_stream(key, same, tell)
        elif not same:
            note = "values of type %s cannot be read, and DEBUG DIGEST-VALUE does not say that they are the same" % kind
            if note not in self.notes:
                self.notes.append(note)

    def compare_string(self, key, tell):
        lengths = [link.call("STRLEN", key) for link in self.links]
        if lengths[0] != lengths[1]:
            tell("value", "length", *(number(length) for length in lengths))
        for at in range(0, min(number(length) for length in lengths), BYTES_AT_ONCE):
            one, other = (link.call("GETRANGE", key, at, at + BYTES_AT_ONCE - 1) for link in self.links)
            if one != other:
                where = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
                tell("value", "from byte %d on" % (at + where), one[where:where + 40], other[where:where + 40])
                return

    def compare_rows(self, key, counted, ranged, width, tell, word):
        """Compares elements in their order."""
        counts = [number(link.call(*counted)) for link in self.links]
        if counts[0] != counts[1]:
            tell("value", "%ss" % word, *counts)
        for at in range(0, max(counts), ITEMS_AT_ONCE):
            one, other = (self.rows_of(link.call(*ranged(at, at + ITEMS_AT_ONCE - 1)), width) for link in self.links)
            if one != other:
                where = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
                tell("value", "from %s %d on" % (word, at + where), one[where:where + 3], other[where:where + 3])
                return

    @staticmethod
    def rows_of(flat, width):
        """Converts scores to numbers: servers may write them with other digits, and compact encodings do not keep the
        sign of 0."""
        if width == 1:
            return flat
        return [(member, repr(float(score) + 0.0)) for member, score in zip(flat[::2], flat[1::2])]

    def read_unordered(self, link, kind, key):
        cursor, flat = b"0", []
        while True:
            cursor, part = link.call(SCANS[kind], key, cursor, "COUNT", ITEMS_AT_ONCE)
            flat += part
            if cursor == b"0":
                return pairs(flat) if kind == "hash" else dict.fromkeys(flat)

    def compare_unordered(self, kind, key, tell):
        one, other = (self.read_unordered(link, kind, key) for link in self.links)
        if one == other:
            return
        word = "fields" if kind == "hash" else "members"
        only = [sorted(set(a) - set(b)) for a, b in ((one, other), (other, one))]
        if only[0] or only[1]:
            tell("value", "%s that only one has" % word, *only)
        values = sorted(name for name in one if name in other and one[name] != other[name])
        if values:
            tell("value", "values of fields", *([(name, side[name]) for name in values] for side in (one, other)))

    def compare_hash(self, key, same, tell):
        if not same:
            self.compare_unordered("hash", key, tell)
        if self.no_field_times:
            return
        fields = sorted(set(self.read_unordered(self.links[0], "hash", key)) &
                        set(self.read_unordered(self.links[1], "hash", key)))
        differ = []
        for at in range(0, len(fields), ITEMS_AT_ONCE):
            some = fields[at:at + ITEMS_AT_ONCE]
            command = [b"HPEXPIRETIME", key, b"FIELDS", len(some), *some]
            # A server without the command has no such times.
            one, other = (answer[0] or [b":-1"] * len(some) for answer in self.both([command]))
            differ += [(field, number(a), number(b)) for field, a, b in zip(some, one, other) if a != b]
        if differ:
            tell("field-expiry", "ends of life of fields", [(name, a) for name, a, _ in differ],
                 [(name, b) for name, _, b in differ])

    # ---- Streams ----

    def compare_stream(self, key, same, tell):
        heads = [pairs(link.call("XINFO", "STREAM", key)) for link in self.links]
        self.compare_facts("stream", "", heads, tell)
        if not same:
            self.compare_entries(key, tell)
        groups = [{row[1]: pairs(row) for row in link.call("XINFO", "GROUPS", key)} for link in self.links]
        if groups[0].keys() != groups[1].keys():
            tell("group", "groups", *(sorted(side) for side in groups))
        common = sorted(groups[0].keys() & groups[1].keys())
        pending = max((number(side[name][b"pending"]) for side in groups for name in common), default=0)
        times = None
        if pending and max(pending, *(number(head[b"length"]) for head in heads)) <= SMALL_STREAM:
            times = [self.delivery_times(link, key) for link in self.links]
        elif pending:
            note = "of streams with more than %d entries times of delivery were not compared" % SMALL_STREAM
            if note not in self.notes:
                self.notes.append(note)
        for name in common:
            self.compare_facts("group", "group %s: " % shown(name), [side[name] for side in groups], tell)
            self.compare_group(key, name, times, tell)

    @staticmethod
    def compare_facts(kind, before, sides, tell):
        """Compares the replies of XINFO for a stream or a group; facts that only one server reports are ignored."""
        for fact in sorted((sides[0].keys() & sides[1].keys()) - NOT_COMPARED):
            if sides[0][fact] != sides[1][fact]:
                tell(kind, before + fact.decode(), sides[0][fact], sides[1][fact])

    def compare_entries(self, key, tell):
        begin = b"-"
        while True:
            one, other = (link.call("XRANGE", key, begin, "+", "COUNT", ITEMS_AT_ONCE) for link in self.links)
            if one != other:
                where = next((n for n, (a, b) in enumerate(zip(one, other)) if a != b), min(len(one), len(other)))
                tell("value", "entries", one[where:where + 1], other[where:where + 1])
                return
            if len(one) < ITEMS_AT_ONCE:
                return
            begin = b"(" + one[-1][0]

    @staticmethod
    def delivery_times(link, key):
        """Returns {(group, entry): time of its last delivery}."""
        whole = pairs(link.call("XINFO", "STREAM", key, "FULL", "COUNT", 0))
        groups = [pairs(row) for row in whole[b"groups"]]
        return {(group[b"name"], row[0]): number(row[2]) for group in groups for row in group[b"pending"]}

    def compare_group(self, key, name, times, tell):
        where = "group %s: " % shown(name)
        consumers = [{row[1]: pairs(row) for row in link.call("XINFO", "CONSUMERS", key, name)} for link in self.links]
        if consumers[0].keys() != consumers[1].keys():
            tell("consumer", where + "consumers", *(sorted(side) for side in consumers))
        begin = b"-"
        while True:
            rows = [[(entry, who, number(count)) for entry, who, _, count in
                     link.call("XPENDING", key, name, begin, "+", ITEMS_AT_ONCE)] for link in self.links]
            if rows[0] != rows[1]:
                at = next((n for n, (a, b) in enumerate(zip(*rows)) if a != b), min(map(len, rows)))
                tell("pending", where + "pending", rows[0][at:at + 1], rows[1][at:at + 1])
                return
            if len(rows[0]) < ITEMS_AT_ONCE:
                break
            begin = b"(" + rows[0][-1][0]
        if times:
            sides = [{entry: moment for (group, entry), moment in side.items() if group == name} for side in times]
            differ = sorted(entry for entry in sides[0] if sides[0][entry] != sides[1].get(entry))
            if differ:
                tell("pending", where + "times of delivery",
                     *([(entry, side.get(entry)) for entry in differ] for side in sides))

    # ---- Functions ----

    def compare_libraries(self):
        sides = []
        for link in self.links:
            listed = link.try_all([["FUNCTION", "LIST", "WITHCODE"]])[0]
            if listed is None:
                self.notes.append("%s does not tell its functions" % link.name)
            sides.append({pairs(row)[b"library_name"]: self.library(pairs(row)) for row in listed or []})
        self.libraries = len(sides[0])
        found = []
        for name in sorted(sides[0].keys() | sides[1].keys()):
            one, other = (side.get(name) for side in sides)
            if one == other:
                continue
            what = "is only at %s" % self.links[one is None].name if None in (one, other) else "is not the same"
            part = next((fact for fact in one if one[fact] != other[fact]), None) if one and other else None
            found.append({"database": None, "key": None, "kind": "library",
                          "what": "library %s %s" % (shown(name), what),
                          "one": one and (one[part] if part else "there"),
                          "other": other and (other[part] if part else "there")})
        return found

    @staticmethod
    def library(facts):
        functions = [{fact: sorted(value) if isinstance(value, list) else value for fact, value in pairs(row).items()}
                     for row in facts[b"functions"]]
        return {"engine": facts[b"engine"].lower(), "code": facts[b"library_code"],
                "functions": sorted(functions, key=lambda function: function[b"name"])}
