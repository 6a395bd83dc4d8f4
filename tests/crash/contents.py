"""contents.py -- reads the dataset of a server, and checks that the histories of a load explain it.

SPDX-License-Identifier: BSD-3-Clause
"""

import time

from history import Lost, shorten
from load import DATABASES

# After so many keys the replies of a pipeline are read before the next one is sent.
AT_ONCE = 200


def read(link):
    """Returns {(database, key): (type, content, expire in ms or -1)} of all databases. link: wire.Connection."""
    found = {}
    for database in range(DATABASES):
        link.ask([b"SELECT", b"%d" % database])
        keys = link.ask([b"KEYS", b"*"])[1]
        for at in range(0, len(keys), AT_ONCE):
            read_keys(link, database, keys[at:at + AT_ONCE], found)
    return found


def read_keys(link, database, keys, found):
    link.send([command for key in keys for command in ([b"TYPE", key], [b"PEXPIRETIME", key])])
    answers = [link.reply()[1] for _ in range(2 * len(keys))]
    kinds = [kind.decode().lstrip("+") for kind in answers[::2]]
    ends = [int(end[1:]) for end in answers[1::2]]
    link.send([READERS[kind](key) for key, kind in zip(keys, kinds) if kind in READERS])
    for key, kind, end in zip(keys, kinds, ends):
        if kind in READERS:
            value = content(kind, link.reply()[1])
            # The key may have expired between two commands.
            if end != -2 and value is not None and value != () and value != frozenset():
                found[(database, key)] = (kind, value, end)


READERS = {
    "string": lambda key: [b"GET", key],
    "list": lambda key: [b"LRANGE", key, b"0", b"-1"],
    "hash": lambda key: [b"HGETALL", key],
    "set": lambda key: [b"SMEMBERS", key],
    "zset": lambda key: [b"ZRANGE", key, b"0", b"-1", b"WITHSCORES"],
    "stream": lambda key: [b"XRANGE", key, b"-", b"+"],
}


def content(kind, reply):
    if kind == "string":
        return reply
    if kind == "stream":
        return tuple((entry, tuple(fields)) for entry, fields in reply)
    if kind in ("hash", "zset"):
        return frozenset(zip(reply[::2], reply[1::2]))
    return tuple(reply) if kind == "list" else frozenset(reply)


def verify(load, found, promised, begun, torn=False):
    """Raises Lost unless the histories of LOAD explain FOUND.

    promised: operations with a reply before this time must be present (None: only the order is promised); begun: only
    operations sent before this time may be present. torn: unsynced pages may be zeros: only promised operations are
    checked, and values with zero bytes are skipped. Returns the number of operations of each history that are present.
    """
    promised = 0 if promised is None else promised
    now_ms = int(time.time() * 1000)
    found = dict(found)
    shared = {place: found.pop(place) for place in list(found) if not place[1].startswith(b"c")}
    known = {place for history in load.histories for place in history.versions}
    strangers = set(found) - known
    if strangers and not torn:
        raise Lost("nobody has written %s" % shorten(sorted(strangers)[:5]))
    ticket = number_of(shared, b"ticket")
    kept = []
    for number, history in enumerate(load.histories):
        low, high = history.floor(promised), history.ceiling(begun)
        low, high = by_ticket(history, ticket, low, high, torn)
        low, high = by_queue(load.queue_of(number), history, shared, (promised, begun), low, high, torn)
        kept.append(history.explain(low, high, found, now_ms, torn)[-1][1])
    if not torn:
        agree(shared)
        known_shared = {(0, b"ticket"), (1, b"pair:a"), (2, b"pair:b")} | {(0, b"sum:%d" % n) for n in range(8)} | \
            {(0, key) for queue in load.queues for key in (queue.key, queue.done)}
        if set(shared) - known_shared:
            raise Lost("nobody has written %s" % shorten(sorted(set(shared) - known_shared)[:5]))
    return kept


def number_of(shared, key):
    value = shared.get((0, key))
    return int(value[1]) if value and value[1].isdigit() else 0


def by_ticket(history, ticket, low, high, torn):
    """Operations with a ticket up to TICKET are present, those with a later one are not."""
    for operation, number in history.tickets.items():
        if number <= ticket and operation > low and not torn:
            low = operation
        if number > ticket and operation <= high:
            if operation <= low:
                raise Lost("%s: operation %d was ticket %d and is lost: the counter is at %d" %
                           (history.name, operation, number, ticket))
            high = operation - 1
    return low, high


def by_queue(queue, history, shared, times, low, high, torn):
    """The items of a queue tell how many the player has pushed."""
    if queue is None or torn:
        return low, high
    waiting = numbers(shared.get((0, queue.key)))
    taken = sum(1 for at in queue.popped if at < times[0])
    may_be_taken = sum(1 for at in queue.popped if at < times[1]) + 1
    if queue.moves:
        done = numbers(shared.get((0, queue.done)))
        if done != list(range(1, len(done) + 1)):
            raise Lost("%r is %s" % (queue.done, shorten(done)))
        if not taken <= len(done) <= may_be_taken:
            raise Lost("%r has %d items, the consumer was given %d" % (queue.done, len(done), taken))
        first = len(done) + 1
    else:
        first = waiting[0] if waiting else None
    if waiting and waiting != list(range(first, first + len(waiting))):
        raise Lost("%r is %s, taken were %d" % (queue.key, shorten(waiting), taken))
    if waiting and not taken + 1 <= first <= may_be_taken + 1:
        raise Lost("%r begins with %d, taken were %d" % (queue.key, first, taken))
    last = waiting[-1] if waiting else first - 1 if queue.moves else None
    # Nothing is left: all pushed items were taken.
    least, most = (last, last) if last is not None else (taken, may_be_taken)
    if least > len(queue.items):
        raise Lost("%r has %d items, pushed were %d" % (queue.key, least, len(queue.items)))
    if least:
        low = max(low, queue.items[least - 1])
    if most < len(queue.items):
        high = min(high, queue.items[most] - 1)
    if low > high:
        raise Lost("%s: the items %s of %r do not fit what else there is: operation %d to %d" %
                   (history.name, shorten(waiting), queue.key, low, high))
    return low, high


def numbers(value):
    return [int(item) for item in value[1]] if value else []


def agree(shared):
    total = sum(int(value[1]) for (database, key), value in shared.items() if key.startswith(b"sum:"))
    if total:
        raise Lost("the sum of the accounts is %d: half of a transaction" % total)
    pair = shared.get((1, b"pair:a")), shared.get((2, b"pair:b"))
    if pair[0] != pair[1]:
        raise Lost("a pair is %r and %r: half of a transaction" % pair)


def go_on(load, found, kept):
    """Ends the histories, after a crash, with the operations that are present."""
    for number, (history, last) in enumerate(zip(load.histories, kept)):
        queue = load.queue_of(number)
        if queue:
            queue.items = [operation for operation in queue.items if operation <= last]
            waiting = len(numbers(found.get((0, queue.key))))
            now = time.monotonic_ns()
            queue.popped = (queue.popped + [now] * len(queue.items))[:len(queue.items) - waiting]
        history.keep(last)
        if queue:
            queue.items = [min(operation, last) for operation in queue.items]
