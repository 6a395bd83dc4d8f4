"""scripts.py -- random scripts of several clients, combined from the areas.

An area is a module of tests/differential/areas: see README.md. It draws commands for single clients; this module
interleaves and pipelines them, wraps them in MULTI and EXEC, and cuts them off.

SPDX-License-Identifier: BSD-3-Clause
"""

import random

from stage import IdOf, Script, Step

KEYS = ["a", "b", "c", "d"]
# Keys without blocked clients: overwriting a key of another type serves them at once here, and later in the reference
# server (docs/design/blocking.md), so SORT ... STORE and similar commands write these keys if clients may be blocked.
ASIDE = ["stored:1", "stored:2"]


class Short(list):
    """A command that sets a TTL of a millisecond: alone or in a transaction, followed by a pause."""


class Timed(list):
    """A command with a timeout of some milliseconds: alone, and the barrier lasts until the timeout."""


class Alone(list):
    """A command that is never in a pipeline."""


class Draw:
    """Draws that all areas share. A script is the same wherever it is drawn from the same seed."""

    def __init__(self, seed, clients):
        self.r = random.Random(seed)
        self.clients = clients
        # Whether clients block on keys in this script, and whether keys may expire in a millisecond.
        self.waiting = False
        self.brief = False
        # Whether streams have groups and XSETID. Not with tracking: in the reference server a change of a group, or of
        # the last ID, does not count as a change of the key.
        self.groups = self.chance(0.5)
        # Clients either quit or turn replies off: a client without replies is not closed by the reference server's
        # QUIT.
        self.quits = self.chance(0.5)
        self.ticks = 0

    def chance(self, p):
        return self.r.random() < p

    def one(self, *words):
        return self.r.choice(words)

    def key(self):
        return self.r.choice(KEYS)

    def keys(self, most):
        return [self.key() for _ in range(self.r.randint(1, most))]

    def stored(self):
        """Returns a destination key for SORT STORE and similar commands."""
        return self.r.choice(ASIDE) if self.waiting else self.key()

    def number(self):
        return str(self.r.randint(0, 9))

    def end(self):
        return self.r.choice(["LEFT", "RIGHT"])

    def leave_or_hush(self):
        """Returns QUIT or CLIENT REPLY."""
        return Alone(["QUIT"]) if self.quits else Alone(["CLIENT", "REPLY", self.one("ON", "ON", "SKIP", "OFF")])

    def tick(self):
        """Returns a growing number, for IDs of streams."""
        self.ticks += 1
        return self.ticks

    def client(self):
        """Returns the ID of a random client, as a word."""
        return IdOf(self.r.randrange(self.clients))


def to_word(word):
    return word if isinstance(word, (bytes, IdOf)) else str(word).encode("latin-1")


def to_words(command):
    return [to_word(word) for word in command]


class Writer:
    """Draws the steps of one script."""

    def __init__(self, seed, areas, every, known, count):
        self.d = Draw("%s/%d" % (seed, count), 0)
        d = self.d
        self.count = count
        self.known = known
        areas = self.choose(areas)
        d.clients = d.r.randint(2, 6)
        d.waiting = any(area.WAITS for area in areas)
        d.brief = d.chance(0.25)
        self.pauses = any(getattr(area, "PAUSES", False) for area in areas)
        # In 9.1.2 a key has expired for the writes of a transaction that has begun a pause.
        self.transacts = not (d.brief and self.pauses)
        d.groups &= all(area.GROUPS for area in areas)
        version = d.r.choice([2, 3, None])
        self.protocols = [version or d.r.choice([2, 3]) for _ in range(d.clients + 1)]
        self.settings = {name.encode(): d.r.choice(values).encode() for area in areas
                         for name, values in area.SETTINGS.items()}
        # Changes of keys by other clients belong to all areas.
        self.tables = [[area.commands(d), 1] for area in areas]
        self.changes = every.changes(d)
        self.operations = [row for area in areas for row in area.operator(d)]

    def choose(self, areas):
        """Selects mostly one or two areas, so that related commands meet; sometimes all."""
        many = self.d.r.choice([1, 1, 2, 2, len(areas)])
        return areas if many >= len(areas) else self.d.r.sample(areas, many)

    # ---- Commands ----

    def draw_row(self, rows):
        while True:
            command = self.d.r.choices(rows, [row[0] for row in rows])[0][1]()
            if (command[0].lower() in self.known or command[0] == "NOSUCH") and \
                    (self.d.brief or not isinstance(command, Short)) and (self.transacts or command[0] != "MULTI"):
                return command

    def command(self):
        if self.d.chance(0.4):
            return self.draw_row(self.changes)
        return self.draw_row(self.d.r.choice(self.tables)[0])

    def plain(self, allow_short=False):
        """Returns a command that may be in a pipeline."""
        while True:
            command = self.command()
            if not isinstance(command, (Timed, Alone)) and (allow_short or not isinstance(command, Short)):
                return command

    # ---- Steps ----

    def client_step(self):
        d = self.d
        n = d.r.randrange(d.clients)
        way = d.r.random()
        if way < 0.76:
            command = self.command()
            commands, kind = [command], "wait" if isinstance(command, Timed) else "send"
        elif way < 0.86 and self.transacts:
            inner = [self.plain(allow_short=True) for _ in range(d.r.randint(0, 5))]
            commands, kind = [["MULTI"]] + inner + [[d.one("EXEC", "EXEC", "EXEC", "DISCARD")]], "send"
        elif way < 0.95:
            commands, kind = [self.plain() for _ in range(d.r.randint(2, 5))], "send"
        else:
            commands, kind = [self.plain() for _ in range(d.r.randint(1, 3))], "behind"
        rest = d.brief and any(isinstance(command, Short) or command[0] == "EXEC" for command in commands)
        return Step(kind, n, [to_words(command) for command in commands], rest)

    def operator_step(self):
        command = self.draw_row(self.operations if self.operations and self.d.chance(0.6) else self.changes)
        return Step("send", self.d.clients, [to_words(command)], isinstance(command, Short))

    def write(self):
        steps = []
        while len(steps) < self.count:
            way = self.d.r.random()
            if way < 0.015:
                steps.append(Step("look", None))
            elif way < 0.03:
                steps.append(Step("close", self.d.r.randrange(self.d.clients)))
            elif way < 0.06 and self.pauses:
                steps.append(Step("go on", None))
            elif way < 0.2:
                steps.append(self.operator_step())
            else:
                steps.append(self.client_step())
        return Script(self.protocols, self.settings, steps, self.pauses)
