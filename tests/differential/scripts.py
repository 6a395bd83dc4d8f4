"""scripts.py -- random scripts of several clients: what the areas draw, put together.

An area is a module of tests/differential/areas: what it has is described in README.md. Its commands are drawn for
single clients; how they are interleaved, piped, wrapped in MULTI and EXEC and cut off is drawn here.

SPDX-License-Identifier: BSD-3-Clause
"""

import random

from stage import IdOf, Script, Step

KEYS = ["a", "b", "c", "d"]
# Keys that nobody waits for: what overwrites a key of another type serves at once here, and later in the reference
# server (docs/design/blocking.md), so SORT ... STORE and its kin write these where somebody may wait.
ASIDE = ["stored:1", "stored:2"]


class Short(list):
    """A command after which something lives for a millisecond: alone or in a transaction, and then a rest."""


class Timed(list):
    """A command that waits for some milliseconds: alone, and the barrier lasts until its time is over."""


class Alone(list):
    """A command that is never in a pipeline."""


class Draw:
    """Draws that all areas share. A script is the same wherever it is drawn from the same seed."""

    def __init__(self, seed, clients):
        self.r = random.Random(seed)
        self.clients = clients
        # Whether anybody waits for keys in this script, and whether keys may live for a millisecond.
        self.waiting = False
        self.brief = False
        # Whether streams have groups and XSETID. Not together with tracking: to the reference server a change of a group,
        # and of the last ID, is no change of the key.
        self.groups = self.chance(0.5)
        # Clients either quit or ask for no replies: a client that gets none is not let go by the reference server's
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
        """A key for what SORT STORE and its kin make."""
        return self.r.choice(ASIDE) if self.waiting else self.key()

    def number(self):
        return str(self.r.randint(0, 9))

    def end(self):
        return self.r.choice(["LEFT", "RIGHT"])

    def leave_or_hush(self):
        """QUIT, or CLIENT REPLY."""
        return Alone(["QUIT"]) if self.quits else Alone(["CLIENT", "REPLY", self.one("ON", "ON", "SKIP", "OFF")])

    def tick(self):
        """A number that grows: IDs of streams."""
        self.ticks += 1
        return self.ticks

    def client(self):
        """The ID of some client, as a word."""
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
        # What a transaction that has begun a pause writes to a key whose time is over: to 9.1.2 it is over as well.
        self.transacts = not (d.brief and self.pauses)
        d.groups &= all(area.GROUPS for area in areas)
        version = d.r.choice([2, 3, None])
        self.protocols = [version or d.r.choice([2, 3]) for _ in range(d.clients + 1)]
        self.settings = {name.encode(): d.r.choice(values).encode() for area in areas
                         for name, values in area.SETTINGS.items()}
        # What other clients do to the keys meanwhile belongs to all areas.
        self.tables = [[area.commands(d), 1] for area in areas]
        self.changes = every.changes(d)
        self.operations = [row for area in areas for row in area.operator(d)]

    def choose(self, areas):
        """Mostly one or two areas, so that what belongs together meets; sometimes all."""
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
        """A command that may stand in a pipeline."""
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
