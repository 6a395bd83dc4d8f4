"""stage.py -- several connections to each of two servers, and a script that runs on both in the same order.

A script is a list of steps. After each step there is a barrier: the next one begins when both servers have finished
their reaction, which is determined by commands and not by a delay. CLIENT LIST has for every connection how many bytes
the server has read from it and written to it, what is queued in both directions and whether it is blocked. When all is
read (or the client blocked), nothing is queued, and a second CLIENT LIST shows the same, exactly that many bytes are
read. So the number of replies and pushes of a step does not matter: a missing one is a difference and not a hang.

Compared after each step: the bytes of every connection, and its line of CLIENT LIST (FACTS). At the end, and after a
step "look": counters of INFO, channels; at the end keys, and the number of changes.

SPDX-License-Identifier: BSD-3-Clause
"""

import collections
import re
import time

from wire import MONITORED, Connection

# kind: "send"    sends the commands in one write, unless the client is blocked (on the peer)
#       "behind"  the same, blocked or not
#       "wait"    like "send"; the barrier lasts until the client is not blocked: for short timeouts
#       "close"   the client closes its connection, and another one replaces it
#       "look"    compares counters of INFO and channels
#       "go on"   the observer ends a pause
# client: 0, 1, ...; the last one is the operator, which the generators never block.
# rest: a pause follows, in which a TTL of a millisecond expires.
Step = collections.namedtuple("Step", "kind client commands rest", defaults=([], False))
# protocols: of each client. steps: as above. pauses: whether CLIENT PAUSE may occur.
Script = collections.namedtuple("Script", "protocols settings steps pauses")
# at: number of the step (after the last: at the end); where: "client 1" ...; answers: the server's, the peer's.
Difference = collections.namedtuple("Difference", "at where answers")


class IdOf(collections.namedtuple("IdOf", "client")):
    """A word of a command: the ID of a client of the script."""


FACTS = (b"flags", b"db", b"sub", b"psub", b"ssub", b"multi", b"watch", b"cmd", b"redir", b"resp")
TRAFFIC = (b"tot-net-in", b"tot-net-out", b"qbuf", b"obl", b"oll", b"omem")
COUNTS = (b"connected_clients", b"blocked_clients", b"clients_in_timeout_table", b"watching_clients",
          b"total_watched_keys", b"total_blocking_keys", b"total_blocking_keys_on_nokey", b"pubsub_clients",
          b"tracking_clients", b"pubsub_channels", b"pubsub_patterns", b"pubsubshard_channels",
          b"tracking_total_prefixes", b"expired_keys", b"total_error_replies", b"paused_reason", b"paused_actions")
PATIENCE_S = 10
REST_S = 0.003
DATABASES = (b"0", b"1")


class Host:
    """One of the two servers, with the connections of a script."""

    def __init__(self, server, known):
        self.server = server
        # Commands that both servers have.
        self.known = known
        self.clients = []
        self.protocols = []
        self.facts = []
        self.ids = []
        # Names by address, as monitors show addresses.
        self.names = {}
        # Whether a command with a timeout may have begun in a pause.
        self.timed = False

    # ---- Coming and going ----

    def enter(self, settings):
        """Empties the server, to which only the observer is connected; returns the ID of that connection."""
        for client in self.clients:
            client.close()
        self.clients = []
        self.await_empty()
        self.end_rules()
        self.server.fresh(2, settings)
        self.await_empty()
        # Clients that have just closed may have been served by the commands of fresh().
        self.server.ask([b"FLUSHALL"])
        self.server.ask([b"CONFIG", b"RESETSTAT"])
        return int(self.server.ask([b"CLIENT", b"ID"])[1][1:])

    def await_empty(self):
        """Waits until only the observer is left. A command that waited for the end of a pause may have begun another
        one."""
        deadline = time.time() + PATIENCE_S
        while len(self.list_clients()) > 1:
            self.server.ask([b"CLIENT", b"UNPAUSE"])
            # Clients whose close was not noticed: only a difference in this script, not in all later ones.
            self.server.ask([b"CLIENT", b"KILL", b"SKIPME", b"yes"])
            if time.time() > deadline:
                raise TimeoutError("clients do not go: %r" % self.list_clients())

    def end_rules(self):
        """Ends pauses, password and the observer's MONITOR."""
        for command in ([b"CLIENT", b"UNPAUSE"], [b"CONFIG", b"SET", b"requirepass", b""], [b"RESET"]):
            self.server.ask(command)

    def has_pause(self):
        return self.pauses and b"paused_actions:none" not in self.info()

    def skip_ids(self, count):
        """Uses up COUNT client IDs."""
        for _ in range(count):
            passer = Connection(self.server.port)
            passer.ask([b"PING"])
            passer.close()

    def populate(self, protocols, pauses):
        self.pauses = pauses
        self.timed = False
        self.names = {self.server.link.address(): b"observer"}
        if pauses:
            # So that it is not paused.
            self.server.ask([b"MONITOR"])
        self.protocols = protocols
        self.clients = [None] * len(protocols)
        self.ids = [None] * len(protocols)
        self.facts = [{}] * len(protocols)
        for n in range(len(protocols)):
            self.connect(n)

    def connect(self, n):
        """Connects client N and waits only until the server has accepted it: it may be paused, or need a password."""
        client = Connection(self.server.port)
        address = client.address()
        deadline = time.time() + PATIENCE_S
        while address not in (listed := {fields[b"addr"]: i for i, fields in self.list_clients().items()}):
            if time.time() > deadline:
                raise TimeoutError("a client does not come in")
        self.ids[n] = listed[address]
        self.names[address] = b"client-%d" % n
        self.clients[n] = client
        self.facts[n] = {}
        if self.protocols[n] == 3:
            client.send([[b"HELLO", b"3"]])

    # ---- A step ----

    def list_clients(self):
        """Returns CLIENT LIST by client ID."""
        found = {}
        for line in self.server.ask([b"CLIENT", b"LIST"])[1].splitlines():
            fields = fields_of(line)
            found[fields[b"id"]] = fields
        return found

    def is_blocked(self, n):
        return b"b" in self.facts[n].get(b"flags", b"")

    def send(self, n, commands):
        self.clients[n].send([[self.ids[word.client] if isinstance(word, IdOf) else word for word in command]
                              for command in commands])

    def settle(self, awaited=None, gone=None):
        """Waits until nothing more will happen; AWAITED must not be blocked, GONE must be closed. Returns a list of the
        bytes that each client has received. A closed client is replaced, which is awaited, too, as monitors may show
        it."""
        # In a pause a command that waits for a time may be held first: no time runs then, and when the pause is over
        # it does.
        if awaited is not None and self.has_pause():
            awaited = None
            self.timed = True
        listed = self.await_rest(awaited, gone)
        self.timed = self.timed and self.has_pause()
        received = [self.collect(n, listed.get(i), n == gone) for n, i in enumerate(self.ids)]
        absent = [n for n, i in enumerate(self.ids) if i not in listed]
        for n in absent:
            self.connect(n)
        if absent:
            self.await_rest(None, None)
        return received

    def await_rest(self, awaited, gone):
        """Returns CLIENT LIST when nothing more will happen."""
        deadline = time.time() + PATIENCE_S
        before, over = None, not self.timed
        while True:
            listed = self.list_clients()
            now = [[listed[i][name] for name in FACTS + TRAFFIC] if i in listed else None for i in self.ids]
            if now == before and all(self.is_quiet(n, listed.get(i), n == awaited, n == gone)
                                     for n, i in enumerate(self.ids)):
                if over:
                    return listed
                over, now = b"clients_in_timeout_table:0" in self.info(), None
            if time.time() > deadline:
                raise TimeoutError("does not come to rest: %r" % [listed.get(i) for i in self.ids])
            before = now

    def is_quiet(self, n, fields, awaited, gone):
        if fields is None or gone:
            return fields is None
        flags = fields[b"flags"]
        if fields[b"obl"] != b"0" or fields[b"oll"] != b"0" or b"c" in flags or b"A" in flags:
            return False
        if int(fields[b"tot-net-in"]) != self.clients[n].sent:
            return False
        if b"b" in flags and fields[b"cmd"] in (b"flushall", b"flushdb") and not self.has_pause():
            return False  # it waits for a thread that frees memory, and for nothing that a client may do
        return not awaited if b"b" in flags else fields[b"qbuf"] == b"0"

    def collect(self, n, fields, gone):
        """Returns the bytes that client N has received, once all that was written has arrived."""
        if fields is not None:
            self.facts[n] = fields
            return self.clients[n].take(int(fields[b"tot-net-out"]))
        raw = b"" if gone else self.clients[n].take() + b"(closed)"
        self.clients[n].close()
        return raw

    # ---- Other data that are compared -------

    def info(self):
        return self.server.ask([b"INFO"])[1].splitlines()

    def look(self):
        """Returns counters and channels by name."""
        found = dict(line.split(b":", 1) for line in self.info() if b":" in line)
        found = {name: found[name] for name in COUNTS if name in found}
        for command in ([b"PUBSUB", b"CHANNELS"], [b"PUBSUB", b"SHARDCHANNELS"], [b"PUBSUB", b"NUMPAT"]):
            if "pubsub" in self.known:
                value = self.server.ask(command)[1]
                found[b" ".join(command)] = sorted(value) if isinstance(value, list) else value
        return found

    def keys(self):
        """Returns all keys with their contents, by database."""
        self.end_rules()
        found = []
        for database in DATABASES:
            self.server.ask([b"SELECT", database])
            for key in sorted(self.server.ask([b"KEYS", b"*"])[1]):
                found.append((database, key, self.server.ask([b"TYPE", key])[1],
                              self.server.ask([b"DEBUG", b"DIGEST-VALUE", key])[1]))
        self.server.ask([b"SELECT", b"0"])
        return found


class Stage:
    """Two hosts, the server under test first, on which a script runs."""

    def __init__(self, servers, known):
        self.hosts = [Host(server, known) for server in servers]
        # Number of writes for each client since it was blocked.
        self.behind = collections.Counter()
        # Clients that were sent "unsubscribe from everything": order_messages().
        self.left_all = set()

    def play(self, script):
        """The first Difference, or None."""
        try:
            self.prepare(script)
        except (OSError, ValueError) as error:
            return Difference(0, "connecting: %s" % error, (b"", b""))
        for at, step in enumerate(script.steps):
            try:
                found = self.play_step(step)
            except (OSError, ValueError) as error:
                found = "no answer: %s" % error, (b"", b"")
            if found:
                return Difference(at, *found)
        try:
            found = self.compare_ends()
        except (OSError, ValueError) as error:
            found = "no answer: %s" % error, (b"", b"")
        return Difference(len(script.steps), *found) if found else None

    def prepare(self, script):
        """Makes the client IDs equal on both, so that replies with IDs are equal."""
        self.left_all = set()
        self.behind = collections.Counter()
        ids = [host.enter(script.settings) for host in self.hosts]
        for host, own in zip(self.hosts, ids):
            host.skip_ids(max(ids) - own)
        for host in self.hosts:
            host.changes = host.server.changes()
            host.populate(script.protocols, script.pauses)
            host.settle()

    def may_send(self, step):
        """Returns whether the client may send; the peer determines whether it is blocked. After a blocking command only
        two writes, and the HELLO of a connection made in a pause, may follow: the server under test leaves others
        unread until the client resumes, and they would run later than commands of other waiting clients."""
        if not self.hosts[1].is_blocked(step.client):
            self.behind[step.client] = 0
            return True
        self.behind[step.client] += step.kind == "behind"
        return step.kind == "behind" and self.behind[step.client] <= 2

    def play_step(self, step):
        """None, or (where, answers)."""
        n = step.client
        if step.kind == "look":
            return self.look()
        if step.kind == "go on":
            for host in self.hosts:
                host.server.ask([b"CLIENT", b"UNPAUSE"])
        elif step.kind == "close":
            for host in self.hosts:
                host.clients[n].close()
        elif not self.may_send(step):
            return None
        else:
            self.left_all |= {n} if any(leaves_all(command) for command in step.commands) else set()
            for host in self.hosts:
                host.send(n, step.commands)
        received = [host.settle(awaited=n if step.kind == "wait" else None, gone=n if step.kind == "close" else None)
                    for host in self.hosts]
        if step.rest or ends_pause(step):
            time.sleep(REST_S)
        for client in range(len(received[0])):
            raws = [MODULES.sub(rb"\1*0\r\n", order_messages(raw[client], client in self.left_all)) for raw in received]
            raws = [invalidations_last(ALL_KEYS.sub(rb"\1_\r\n", raw)) for raw in raws]
            raws = [told_of_clients(raw, host.names) for host, raw in zip(self.hosts, raws)]
            found = differing("client %d" % client, raws)
            if found:
                return found
        for client in range(len(received[0])):
            found = differing("CLIENT LIST, client %d" % client, [facts_of(host.facts[client]) for host in self.hosts])
            if found:
                return found
        return None

    def look(self):
        """Compares counters that both servers have; server_compare.py reports missing INFO fields."""
        found = [host.look() for host in self.hosts]
        both = [name for name in found[1] if name in found[0]]
        return differing("INFO, PUBSUB", [[(name, counts[name]) for name in both] for counts in found])

    def end_pauses(self):
        """Ends pauses; a resumed client may begin another one."""
        found = None
        while not found and any([host.has_pause() for host in self.hosts]):
            found = self.play_step(Step("go on", None))
        return found

    def compare_ends(self):
        return (self.end_pauses() or self.look() or
                differing("changes", [host.server.changes() - host.changes for host in self.hosts]) or
                differing("keys", [host.keys() for host in self.hosts]))


def ends_pause(step):
    """Returns whether paused commands may begin now, and with them the millisecond of a key's TTL."""
    return step.kind == "go on" or any(b"UNPAUSE" in command for command in step.commands)


def fields_of(line):
    """Returns the properties in a line of CLIENT LIST."""
    return dict(field.partition(b"=")[::2] for field in line.split(b" "))


def facts_of(fields):
    """Returns FACTS of a line of CLIENT LIST. multi= is that of a transaction that may run: outside of MULTI the
    reference server has -1 or 0, depending on earlier use of WATCH or MULTI (here it is -1), and it drops a queue at
    once when a watched key changes (here at EXEC).
    """
    flags = fields.get(b"flags", b"")
    return [(name, fields.get(name)) for name in FACTS if name != b"multi" or (b"x" in flags and b"d" not in flags)]


def differing(where, answers):
    """Returns None, or (where, replies), of lists only the different elements."""
    if answers[0] == answers[1]:
        return None
    if isinstance(answers[0], list):
        answers = [[item for item in mine if item not in other]
                   for mine, other in ((answers[0], answers[1]), (answers[1], answers[0]))]
    return where, answers


# ---- Permitted differences ---------------------------------------------------------------------------------------


def leaves_all(command):
    return len(command) == 1 and command[0].upper() in (b"UNSUBSCRIBE", b"PUNSUBSCRIBE", b"SUNSUBSCRIBE")


# HELLO lists modules; a module of the reference server (Lua) may be built into another server.
MODULES = re.compile(rb"(\$7\r\nmodules\r\n)\*1\r\n[%*]\d\r\n\$4\r\nname\r\n\$3\r\nlua\r\n.*?\*0\r\n", re.DOTALL)


# Lines of CLIENT LIST or CLIENT INFO in a reply. Their order is that left by the timer.
LISTED = re.compile(rb"[$=]\d+\r\n(?:txt:)?((?:id=\d+ addr=[^\n]*\n)+)\r\n")


# How often the observer polls depends on timeouts.
LOOKS = re.compile(rb'\+\[\d+ observer\] "INFO"\r\n')


def told_of_clients(raw, names):
    """Returns RAW with FACTS in place of lines of CLIENT LIST, and in the output of monitors without times and with
    NAMES in place of addresses."""
    def facts(match):
        found = sorted([fields_of(line) for line in match[1].splitlines()], key=lambda fields: int(fields[b"id"]))
        return b"%r\r\n" % [(fields[b"id"], fields[b"name"], facts_of(fields)) for fields in found
                            if names.get(fields[b"addr"]) != b"observer"]

    raw = LISTED.sub(facts, raw)
    raw = MONITORED.sub(lambda match: b"+[%s %s] " % (match[1], names.get(match[2], match[2])), raw)
    return LOOKS.sub(b"", raw)


# All keys may have changed: 9.1.2 sends this in the protocol of the client whose messages are redirected, which may not
# be that of the receiver.
ALL_KEYS = re.compile(rb"(\$10\r\ninvalidate\r\n|\$20\r\n__redis__:invalidate\r\n)(?:_|\$-1)\r\n")


def invalidations_last(raw):
    """Returns RAW with each run of pushes in a fixed order: those of channels, then that a redirection is broken, then
    invalidations. In the reference server the order of a change's messages differs from command to command, and for
    messages about all keys from client to client.
    """
    lines, out, at = raw.split(b"\r\n"), [], 0
    while at < len(lines):
        others, broken, invalidations = [], [], []
        while True:
            size, kind = 0, others
            if lines[at:at + 1] == [b">4"] and lines[at + 2] == b"pmessage":
                size = 9
            elif lines[at:at + 1] == [b">3"] and lines[at + 2] == b"message":
                size = 7
            elif lines[at:at + 1] == [b">2"] and lines[at + 2] == b"tracking-redir-broken":
                size, kind = 4, broken
            elif lines[at:at + 1] == [b">2"] and lines[at + 2] == b"invalidate":
                size, kind = 4 + (2 * int(lines[at + 3][1:]) if lines[at + 3][:1] == b"*" else 0), invalidations
            if size == 0:
                break
            kind.extend(lines[at:at + size])
            at += size
        out += others + broken + invalidations + lines[at:at + 1]
        at += 1
    return b"\r\n".join(out)


def order_messages(raw, left_all):
    """Returns RAW without the order of tables: of the patterns that match a message, and, for a client that has
    LEFT_ALL, of the names in a run of unsubscribe messages (the counts after them keep their positions).
    """
    lines = raw.split(b"\r\n")
    at = 0
    while at < len(lines):
        size, name, end = 1, 0, at + 1
        if lines[at] in (b"*4", b">4") and lines[at + 2:at + 3] == [b"pmessage"]:
            size, name = 9, 5
        elif left_all and lines[at] in (b"*3", b">3") and lines[at + 2].endswith(b"unsubscribe") and \
                lines[at + 3] not in (b"_", b"$-1"):
            size, name = 6, 5
        if size > 1:
            # A run: frames that are equal except the name; the count at the end of an unsubscribe message is separate.
            same = lambda i: lines[i:i + 3] + (lines[i + name:i + size] if size == 9 else [])
            end = at + size
            while same(end) == same(at):
                end += size
            names = sorted(tuple(lines[i + 3:i + name]) for i in range(at, end, size))
            for i, words in zip(range(at, end, size), names):
                lines[i + 3:i + name] = words
        at = end
    return b"\r\n".join(lines)
