"""load.py -- many clients that write, and record their writes and the times of the replies.

One loop serves all connections. Each player pipelines operations on keys of its own (history.py): strings that grow,
counters, lists, hashes, sets, sorted sets, streams, expires, keys that are renamed and moved between databases,
transactions. Some keys are shared by players:

    sum:N     accounts; transactions move amounts between them, so that their sum stays 0
    pair:a,b  in two databases, set by one transaction, so always equal
    ticket    a counter that all increment: what was counted in is the same prefix for all
    q:N       a queue that player N fills in order and a consumer empties by BLPOP, or by BLMOVE to done:N

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import selectors
import socket
import time

from history import History, Lost

DATABASES = 4
FAR_MS = 3600 * 1000
REPLY_LIMIT_S = 60


def encode(words):
    out = [b"*%d\r\n" % len(words)]
    for word in words:
        out.append(b"$%d\r\n%s\r\n" % (len(word), word))
    return b"".join(out)


def now_ns():
    return time.monotonic_ns()


class Link:
    """A connection that calls on_reply for each reply."""

    def __init__(self, port, selector):
        self.sock = socket.create_connection(("127.0.0.1", port), 10)
        self.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.sock.setblocking(False)
        self.selector = selector
        self.out = b""
        self.buf = bytearray()
        self.open = True
        selector.register(self.sock, selectors.EVENT_READ, self)

    def send(self, data):
        self.out += data
        self.flush()

    def flush(self):
        try:
            while self.out and self.open:
                self.out = self.out[self.sock.send(self.out):]
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        if self.open:
            wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self.out else 0)
            if self.selector.get_key(self.sock).events != wanted:
                self.selector.modify(self.sock, wanted, self)

    def close(self):
        if self.open:
            self.open = False
            self.selector.unregister(self.sock)
            self.sock.close()

    def readable(self):
        try:
            while True:
                chunk = self.sock.recv(65536)
                if not chunk:
                    self.close()
                    break
                self.buf += chunk
                if len(chunk) < 65536:
                    break
        except BlockingIOError:
            pass
        except OSError:
            self.close()
        at = 0
        while True:
            end, value = parse(self.buf, at)
            if end is None:
                break
            at = end
            self.on_reply(value)
        del self.buf[:at]


def parse(buf, at):
    """Parses a RESP2 reply: returns its end and value; (None, None) while it is not complete."""
    end = buf.find(b"\r\n", at)
    if end < 0:
        return None, None
    kind, rest = buf[at], bytes(buf[at + 1:end])
    end += 2
    if kind == 36:  # $
        length = int(rest)
        if length < 0:
            return end, None
        if len(buf) < end + length + 2:
            return None, None
        return end + length + 2, bytes(buf[end:end + length])
    if kind == 42:  # *
        items = []
        for _ in range(max(0, int(rest))):
            end, item = parse(buf, end)
            if end is None:
                return None, None
            items.append(item)
        return end, items if int(rest) >= 0 else None
    if kind == 58:
        return end, int(rest)
    return end, ErrorReply(rest) if kind == 45 else rest


class ErrorReply(bytes):
    """An error reply."""


class Player(Link):
    """A connection with a history."""

    def __init__(self, load, number, history):
        super().__init__(load.port, load.selector)
        self.load, self.number, self.rng, self.history = load, number, load.rng, history
        self.db = 0
        self.pending = collections.deque()  # per outstanding reply: (operation it completes or None, is a ticket)

    # -- requests ---------------------------------------------------------------------------------------------------

    def play(self):
        """Sends the next pipeline."""
        data = []
        begun = now_ns()
        for _ in range(self.rng.choice((1, 1, 2, 4, 8, 16))):
            self.add(data, begun)
        self.send(b"".join(data))

    def add(self, data, begun):
        rng = self.rng
        if rng.random() < 0.1:
            self.db = rng.randrange(DATABASES)
            data.append(encode([b"SELECT", b"%d" % self.db]))
            self.pending.append((None, False))
        chance = rng.random()
        if chance < 0.12:
            self.transaction(data, begun)
        elif chance < 0.22:
            number = self.history.begin({}, begun)
            self.shared(data, number, [b"INCR", b"ticket"], True)
        elif chance < 0.30 and self.load.queue_of(self.number) is not None:
            queue = self.load.queue_of(self.number)
            number = self.history.begin({}, begun)
            self.shared(data, number, [b"RPUSH", queue.key, queue.push(number)], False)
        else:
            words, changes = self.own()
            number = self.history.begin(changes, begun)
            data.append(encode(words))
            self.pending.append((number, False))

    def shared(self, data, number, words, is_ticket):
        """Sends a request for database 0, which has the shared keys."""
        if self.db != 0:
            self.db = 0
            data.append(encode([b"SELECT", b"0"]))
            self.pending.append((None, False))
        data.append(encode(words))
        self.pending.append((number, is_ticket))

    def transaction(self, data, begun):
        rng = self.rng
        changes, queued = {}, []
        for _ in range(rng.choice((1, 2, 3))):
            words, changed = self.own({**self.history.state, **changes})
            changes.update(changed)
            queued.append(words)
        number = self.history.count + 1
        back = [b"SELECT", b"%d" % self.db]
        if rng.random() < 0.6:
            a, b = rng.sample(range(8), 2)
            amount = b"%d" % rng.randrange(1, 1000)
            queued += [[b"SELECT", b"0"], [b"DECRBY", b"sum:%d" % a, amount], [b"INCRBY", b"sum:%d" % b, amount], back]
        if rng.random() < 0.4:
            value = b"%d.%d" % (self.number, number)
            queued += [[b"SELECT", b"1"], [b"SET", b"pair:a", value], [b"SELECT", b"2"], [b"SET", b"pair:b", value],
                       back]
        number = self.history.begin(changes, begun)
        data.append(encode([b"MULTI"]) + b"".join(encode(words) for words in queued) + encode([b"EXEC"]))
        self.pending.extend([(None, False)] * (len(queued) + 1))
        self.pending.append((number, False))

    # -- operations on own keys: words, and what becomes of which key -----------------------------------------------

    def own(self, state=None):
        state = self.history.state if state is None else state
        kind = self.rng.choice(KINDS)
        key = b"c%d:%s%d" % (self.number, kind.encode(), self.rng.randrange(4))
        place = (self.db, key)
        self.fresh = b"%d.%d" % (self.number, self.history.count + 1)
        return getattr(self, "own_" + kind)(key, place, state.get(place), state)

    def text(self):
        size = self.rng.choice((0, 0, 10, 50, 200, 700, 3000))
        return self.fresh + b":" + b"x" * size

    def own_str(self, key, place, old, _):
        chance = self.rng.random()
        if old and chance < 0.2:
            return [b"DEL", key], {place: None}
        if old and chance < 0.5 and len(old[1]) < 20000:
            more = b"+" + self.fresh
            return [b"APPEND", key, more], {place: ("string", old[1] + more, old[2])}
        if old and chance < 0.6:
            return [b"SETRANGE", key, b"1", b"*" + self.fresh], {
                place: ("string", old[1][:1] + b"*" + self.fresh + old[1][2 + len(self.fresh):], old[2])}
        if chance < 0.7:
            end = int(time.time() * 1000) + FAR_MS + self.rng.randrange(1000)
            value = self.text()
            return [b"SET", key, value, b"PXAT", b"%d" % end], {place: ("string", value, end)}
        if old and old[2] >= 0 and chance < 0.8:
            return [b"PERSIST", key], {place: ("string", old[1], -1)}
        if old and chance < 0.9:
            end = int(time.time() * 1000) + FAR_MS + self.rng.randrange(1000)
            return [b"PEXPIREAT", key, b"%d" % end], {place: ("string", old[1], end)}
        value = self.text()
        return [b"SET", key, value], {place: ("string", value, -1)}

    def own_num(self, key, place, old, _):
        if self.rng.random() < 0.1:
            return [b"SET", key, b"0"], {place: ("string", b"0", -1)}
        by = self.rng.randrange(1, 100)
        words = [b"INCRBY", key, b"%d" % by] if self.rng.random() < 0.7 else [b"INCRBYFLOAT", key, b"%d" % by]
        return words, {place: ("string", b"%d" % (int(old[1] if old else 0) + by), -1)}

    def own_soon(self, key, place, old, _):
        """An expire during the round, or in the past."""
        end = int(time.time() * 1000) + self.rng.choice((-5, 20, 100, 500, 2000))
        value = self.text()
        return [b"SET", key, value, b"PXAT", b"%d" % end], {place: ("string", value, end)}

    def own_list(self, key, place, old, state):
        items = old[1] if old else ()
        chance = self.rng.random()
        if len(items) > 30:
            return [b"LTRIM", key, b"-10", b"-1"], {place: ("list", items[-10:], -1)}
        if items and chance < 0.2:
            return [b"LPOP", key], {place: ("list", items[1:], -1) if len(items) > 1 else None}
        if items and chance < 0.3:
            return [b"LSET", key, b"0", self.fresh], {place: ("list", (self.fresh,) + items[1:], -1)}
        if items and chance < 0.4:
            other = (place[0], key + b"'")
            moved = state.get(other)
            if moved and len(moved[1]) > 30:
                return [b"DEL", key + b"'"], {other: None}
            return [b"LMOVE", key, key + b"'", b"LEFT", b"RIGHT"], {
                place: ("list", items[1:], -1) if len(items) > 1 else None,
                other: ("list", (moved[1] if moved else ()) + items[:1], -1)}
        new = (self.text(), self.fresh) if chance < 0.7 else (self.fresh,)
        if chance < 0.9:
            return [b"RPUSH", key, *new], {place: ("list", items + new, -1)}
        return [b"LPUSH", key, *new], {place: ("list", new[::-1] + items, -1)}

    def own_hash(self, key, place, old, _):
        fields = dict(old[1]) if old else {}
        name = b"f%d" % self.rng.randrange(20)
        if name in fields and self.rng.random() < 0.3:
            del fields[name]
            return [b"HDEL", key, name], {place: ("hash", frozenset(fields.items()), -1) if fields else None}
        fields[name] = self.text() if self.rng.random() < 0.3 else self.fresh
        return [b"HSET", key, name, fields[name]], {place: ("hash", frozenset(fields.items()), -1)}

    def own_set(self, key, place, old, _):
        members = set(old[1]) if old else set()
        if len(members) > 20 or (members and self.rng.random() < 0.2):
            gone = sorted(members)[:len(members) // 2 + 1]
            members.difference_update(gone)
            return [b"SREM", key, *gone], {place: ("set", frozenset(members), -1) if members else None}
        members.add(self.fresh)
        return [b"SADD", key, self.fresh], {place: ("set", frozenset(members), -1)}

    def own_zset(self, key, place, old, _):
        scores = dict(old[1]) if old else {}
        member = b"m%d" % self.rng.randrange(15)
        if scores and self.rng.random() < 0.2:
            least = min(scores.items(), key=lambda pair: (int(pair[1]), pair[0]))[0]
            del scores[least]
            return [b"ZPOPMIN", key], {place: ("zset", frozenset(scores.items()), -1) if scores else None}
        scores[member] = b"%d" % (int(scores.get(member, 0)) + self.rng.randrange(1, 50))
        return [b"ZADD", key, scores[member], member], {place: ("zset", frozenset(scores.items()), -1)}

    def own_stream(self, key, place, old, _):
        entries = old[1] if old else ()
        if len(entries) > 30:
            return [b"XTRIM", key, b"MAXLEN", b"=", b"5"], {place: ("stream", entries[-5:], -1)}
        entry = b"%d-1" % (self.history.count + 1)
        if entries and int(entries[-1][0].split(b"-")[0]) >= self.history.count + 1:
            return [b"DEL", key], {place: None}
        entries += ((entry, (b"f", self.fresh)),)
        return [b"XADD", key, entry, b"f", self.fresh], {place: ("stream", entries, -1)}

    def own_away(self, key, place, old, state):
        """Renames keys and moves them to other databases."""
        other = ((place[0] + 1) % DATABASES, key)
        renamed = (place[0], key + b"'")
        chance = self.rng.random()
        if old and chance < 0.3:
            return [b"RENAME", key, key + b"'"], {place: None, renamed: old}
        if old and state.get(other) is None and chance < 0.6:
            return [b"MOVE", key, b"%d" % other[0]], {place: None, other: old}
        if old and chance < 0.8:
            return [b"COPY", key, key + b"'", b"REPLACE"], {renamed: old}
        value = self.text()
        return [b"SET", key, value], {place: ("string", value, -1)}

    # -- replies ----------------------------------------------------------------------------------------------------

    def on_reply(self, value):
        number, is_ticket = self.pending.popleft()
        if isinstance(value, ErrorReply) or (isinstance(value, list) and any(isinstance(v, ErrorReply) for v in value)):
            raise Lost("player %d: %r is the answer to operation %r" % (self.number, value, number))
        if number is None:
            return
        self.history.answered(number, now_ns())
        self.load.answers += 1
        if is_ticket:
            self.history.tickets[number] = value


KINDS = ("str", "str", "num", "soon", "list", "hash", "set", "zset", "stream", "away")


class Queue:
    """Items that one player pushes and a consumer takes, in order. Items are numbers."""

    def __init__(self, number, moves):
        self.key, self.done = b"q:%d" % number, b"done:%d" % number
        self.moves = moves
        self.items = []  # for item i: the operation that pushed it
        self.popped = []  # for item i: when the consumer got it

    def push(self, operation):
        self.items.append(operation)
        return self.last()

    def last(self):
        return b"%d" % len(self.items)


class Consumer(Link):
    def __init__(self, load, queue):
        super().__init__(load.port, load.selector)
        self.load, self.queue = load, queue

    def play(self):
        queue = self.queue
        if queue.moves:
            self.send(encode([b"BLMOVE", queue.key, queue.done, b"LEFT", b"RIGHT", b"0"]))
        else:
            self.send(encode([b"BLPOP", queue.key, b"0"]))

    def on_reply(self, value):
        queue = self.queue
        if isinstance(value, ErrorReply):
            raise Lost("a consumer is told %r" % value)
        item = value if queue.moves else value[1]
        if item != b"%d" % (len(queue.popped) + 1):
            raise Lost("%r gives %r and not item %d" % (queue.key, item, len(queue.popped) + 1))
        queue.popped.append(now_ns())
        self.load.answers += 1
        self.play()


class Chores(Link):
    """Sends one command from time to time and stores the replies."""

    def __init__(self, load, choices):
        super().__init__(load.port, load.selector)
        self.rng, self.choices, self.next_at = load.rng, choices, now_ns()
        self.pending, self.seen = collections.deque(), []

    def play_maybe(self):
        if not self.choices or now_ns() < self.next_at:
            return
        words = self.rng.choice(self.choices)
        self.pending.append((words, now_ns()))
        self.send(encode(words))
        self.next_at = now_ns() + int(self.rng.uniform(0.01, 0.15) * 1e9)

    def on_reply(self, value):
        words, sent = self.pending.popleft()
        self.seen.append((words, sent, now_ns(), value))


class Load:
    """All the clients and their histories, over several lives of a server."""

    def __init__(self, rng, port, clients, queues=2):
        self.rng, self.port, self.answers = rng, port, 0
        self.histories = [History("player %d" % n) for n in range(clients)]
        self.queues = [Queue(n, n % 2 == 1) for n in range(min(queues, clients))]
        self.selector = None
        self.players = []

    def queue_of(self, number):
        return self.queues[number] if number < len(self.queues) else None

    def connect(self, chores=()):
        self.selector = selectors.DefaultSelector()
        self.players = [Player(self, n, history) for n, history in enumerate(self.histories)]
        self.consumers = [Consumer(self, queue) for queue in self.queues]
        self.chores = Chores(self, list(chores))
        for consumer in self.consumers:
            consumer.play()

    def step(self, timeout):
        for key, events in self.selector.select(timeout):
            link = key.data
            if events & selectors.EVENT_WRITE:
                link.flush()
            if link.open and events & selectors.EVENT_READ:
                link.readable()

    def run(self, seconds, pace=0.0):
        """Runs until the time is up or the server has ended. pace: seconds between steps, for a light load."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and any(p.open for p in self.players):
            for player in self.players:
                if player.open and not player.pending and not player.out:
                    player.play()
            if self.chores.open:
                self.chores.play_maybe()
            self.step(min(0.02, max(0.0, end - time.monotonic())))
            if pace:
                time.sleep(pace)

    def settle(self, seconds=REPLY_LIMIT_S):
        """Waits for all replies. Returns False if they do not come."""
        end = time.monotonic() + seconds
        while any(p.pending for p in self.players if p.open):
            if time.monotonic() > end:
                return False
            self.step(0.02)
        return True

    def drain(self):
        """Reads the replies that the server sent before it ended: they count."""
        for link in self.players + self.consumers + [self.chores]:
            end = time.monotonic() + 5
            while link.open and time.monotonic() < end:
                link.readable()
            link.close()
        self.selector.close()
