"""victims.py -- clients that wait, listen, watch, queue or track, and end in every way.

A victim brings a connection into a state, or into several, and then lets it be killed, reset, unblocked or closed. In
half of the cases it first asks the server which state that is, so that the load can say what it has met; in the others
the end comes while the state does. What a state promises to its end is checked: what is pushed behind CLIENT KILL in
one pipeline is for others, who is unblocked is told so and goes on, who is reset is a new client.

SPDX-License-Identifier: BSD-3-Clause
"""
import random
import time

from mixed_load import Connection, Wrong, encode

# "closed" with what the server has sent unread is a reset, too; "cut off" is always one.
FATES = ["killed", "killed by filter", "cut off", "closed", "RESET", "unblocked"]

# A letter of CLIENT LIST's flags, and what it stands for.
STATES = {"b": "waiting", "x": "in MULTI", "P": "listening", "t": "tracking", "B": "tracking by prefix",
          "O": "monitoring"}

CUT = "cut by a limit"

# What a load must have met to have shown something. Of "threads" and "paused" sessions.py takes note.
MUST_BE_MET = [(event, state) for event in FATES + ["threads", "paused"] for state in STATES.values()
               if event != "unblocked" or state == "waiting"]


def states_of(line):
    """The states of a line of CLIENT LIST."""
    fields = dict(word.split("=", 1) for word in line.decode().split() if "=" in word)
    return [STATES[flag] for flag in fields.get("flags", "") if flag in STATES]


class Victim:
    """One thread's connections, one after another; `note` is told what was met."""

    def __init__(self, port, rng, name, note):
        self.port, self.rng, self.base, self.note = port, rng, name, note
        self.other = Connection(port)
        self.other.call("CLIENT", "NO-EVICT", "ON")
        self.conn = self.number = self.name = None
        self.may_wait = False

    def close(self):
        self.other.close()

    def live(self):
        """A connection from its beginning to its end, which limits may bring as well."""
        self.conn, self.may_wait = Connection(self.port), False
        try:
            self.live_until_cut()
        except ConnectionError:
            self.note(CUT)
        self.conn.close()
        # Also shows that it was not `other` who was cut.
        self.other.call("UNLINK", *[self.name + suffix for suffix in ("", ":b", ":z", ":x", ":s", ":w0")])

    def live_until_cut(self):
        self.number = self.conn.call("CLIENT", "ID")
        self.name = "%s:%d" % (self.base, self.number)  # the server may not know yet that those before have gone
        if self.rng.random() < 0.5:
            self.send("HELLO", 3)
        first = self.rng.choice([self.waits, self.waits, self.queues, self.watches, self.listens, self.tracks,
                                 self.monitors])
        if first in (self.listens, self.tracks) and self.rng.random() < 0.5:
            first()
            first = self.rng.choice([self.waits, self.queues, self.listens, self.tracks])
        if first == self.waits and self.rng.random() < 0.3:
            self.kill_before_a_push()
        else:
            first()
            self.finish()

    def send(self, *words):
        self.conn.sock.sendall(encode(*words))

    def pause(self):
        if self.rng.random() < 0.3:
            time.sleep(self.rng.random() * 0.01)

    # -- states -------------------------------------------------------------------------------------------------------

    def ways_to_wait(self):
        """Requests, each with one that gives an element to it and one that takes such an element."""
        n = self.name
        push, pop = encode("RPUSH", n, "kept"), encode("LPOP", n)
        zadd, zpop = encode("ZADD", n + ":z", 1, "kept"), encode("ZPOPMIN", n + ":z")
        xadd, seen = encode("XADD", n + ":x", "1-1", "f", "kept"), encode("XREADGROUP", "GROUP", "g", "c", "STREAMS",
                                                                         n + ":x", ">")
        group = encode("XGROUP", "CREATE", n + ":x", "g", "0", "MKSTREAM")
        return [
            (b"", encode("BLPOP", n, n + ":b", 0), push, pop),
            (b"", encode("BRPOP", n + ":b", n, 0), push, pop),
            (b"", encode("BLMOVE", n, n + ":b", "LEFT", "RIGHT", 0), push, pop),
            (b"", encode("BLMPOP", 0, 2, n, n + ":b", "LEFT", "COUNT", 3), push, pop),
            (b"", encode("BZPOPMIN", n + ":z", n + ":b", 0), zadd, zpop),
            (b"", encode("BZMPOP", 0, 1, n + ":z", "MAX"), zadd, zpop),
            (b"", encode("XREAD", "BLOCK", 0, "STREAMS", n + ":x", n + ":b", "$", "$"), xadd, None),
            (group, encode("XREADGROUP", "GROUP", "g", "c", "BLOCK", 0, "STREAMS", n + ":x", ">"), xadd, seen),
        ]

    def waits(self):
        before, wait, _, _ = self.rng.choice(self.ways_to_wait())
        self.may_wait = True
        self.conn.sock.sendall(before + wait + encode("PING") * self.rng.randint(0, 3))
        if self.rng.random() < 0.5:
            time.sleep(self.rng.random() * 0.005)

    def queues(self):
        change = encode("SET", self.name + ":s", "x" * self.rng.choice([10, 5000, 100000]), "PX", 5000)
        if self.rng.random() < 0.5:
            self.send("WATCH", self.name + ":s", self.name + ":w")
        self.conn.sock.sendall(encode("MULTI") + change * self.rng.randint(1, 30) + encode("BLPOP", self.name, 0)
                               + encode("PUBLISH", self.name, "m") + encode("GET", self.name + ":s")
                               + (encode("EXEC") if self.rng.random() < 0.2 else b""))

    def watches(self):
        self.send("PING")
        while self.conn.reply() != b"+PONG":  # whatever HELLO has answered
            pass
        self.conn.call("WATCH", *["%s:w%d" % (self.name, k) for k in range(self.rng.randint(1, 50))])
        self.other.call("SET", self.name + ":w0", "changed")
        got = [self.conn.call("MULTI"), self.conn.call("INCR", self.name + ":n"), self.conn.call("EXEC")]
        if got != [b"+OK", b"+QUEUED", None]:
            raise Wrong("a transaction whose key has changed was not aborted: %r" % got)
        self.send("WATCH", self.name + ":w1")
        if self.rng.random() < 0.5:
            self.send("MULTI")

    def listens(self):
        channels = ["%s:%d" % (self.name, k) for k in range(self.rng.randint(1, 20))]
        ways = [encode("SUBSCRIBE", *channels), encode("PSUBSCRIBE", self.name + "*", "*"),
                encode("SSUBSCRIBE", *channels)]
        self.conn.sock.sendall(b"".join(self.rng.sample(ways, self.rng.randint(1, 3))))
        for _ in range(self.rng.randint(0, 20)):
            self.other.call(self.rng.choice(["PUBLISH", "SPUBLISH"]), self.rng.choice(channels),
                            "m" * self.rng.choice([1, 100, 20000]))

    def tracks(self):
        # Without RESP3 the messages are redirected, sometimes to a client that has gone.
        to = ["REDIRECT", self.other_number()] if self.rng.random() < 0.5 else []
        if not to:
            self.send("HELLO", 3)
        how = self.rng.choice([[], [], ["NOLOOP"], ["OPTIN"], ["OPTOUT"], ["BCAST"], ["BCAST", "NOLOOP"],
                               ["BCAST", "PREFIX", self.name, "PREFIX", "queue:"]])
        self.send("CLIENT", "TRACKING", "ON", *to, *how)
        reads = encode("CLIENT", "CACHING", "YES") if how == ["OPTIN"] else b""
        self.conn.sock.sendall(b"".join(reads + encode("GET", "%s:t%d" % (self.name, k)) for k in range(50)))
        for k in range(self.rng.randint(0, 50)):
            self.other.call("SET", "%s:t%d" % (self.name, k), "x", "PX", self.rng.randint(1, 2000))

    def other_number(self):
        if self.rng.random() < 0.5:
            return self.other.call("CLIENT", "ID")
        gone = Connection(self.port)
        number = gone.call("CLIENT", "ID")
        gone.close()
        time.sleep(self.rng.random() * 0.01)
        return number

    def monitors(self):
        self.send("MONITOR")

    # -- ends ---------------------------------------------------------------------------------------------------------

    def states(self):
        """What the server says that the connection is in; nothing in half of the cases, so as not to be late always."""
        if self.rng.random() < 0.5:
            return []
        return states_of(self.other.call("CLIENT", "LIST", "ID", self.number))

    def kill_before_a_push(self):
        """The client is killed and something comes in the same pipeline, or transaction: it must stay."""
        before, wait, push, pop = self.rng.choice([w for w in self.ways_to_wait() if w[3]])
        self.conn.sock.sendall(before + wait)
        if self.rng.random() < 0.5:
            time.sleep(self.rng.random() * 0.005)
        both = encode("CLIENT", "KILL", "ID", self.number) + push
        if self.rng.random() < 0.5:
            self.other.sock.sendall(encode("MULTI") + both + encode("EXEC") + pop)
            killed, kept = [self.other.reply() for _ in range(4)][-1][0], self.other.reply()
        else:
            self.other.sock.sendall(both + pop)
            killed, kept = [self.other.reply() for _ in range(2)][0], self.other.reply()
        # The group may not have been made yet.
        if killed == 1 and b"kept" not in repr(kept).encode() and b"NOGROUP" not in repr(kept).encode():
            raise Wrong("a killed client was given an element: %r" % kept)
        self.note("killed before a push")
        self.conn.close()

    def finish(self):
        """End the connection somehow."""
        fate = self.rng.choice(FATES)
        states = self.states()
        self.note(fate)
        for state in states:
            if fate != "unblocked":
                self.note((fate, state))
        if fate == "killed":
            self.other.call("CLIENT", "KILL", "ID", self.number)
        elif fate == "killed by filter":
            self.other.call("CLIENT", "KILL", *self.rng.choice([
                ["ADDR", "%s:%d" % self.conn.sock.getsockname()], ["ID", self.number, "SKIPME", "yes"],
                ["TYPE", "pubsub", "ID", self.number], ["TYPE", "normal", "ID", self.number]]))
        elif fate == "unblocked":
            self.unblock()
        elif fate == "RESET":
            self.reset()
        self.pause()
        self.conn.close(reset=fate == "cut off")

    def unblock(self):
        how = self.rng.choice(["TIMEOUT", "ERROR"])
        if self.other.call("CLIENT", "UNBLOCK", self.number, how) != 1:
            return
        self.note(("unblocked", "waiting"))
        seen, last = [], (self.name + " goes on").encode()
        self.send("PING", last)
        while not seen or seen[-1] not in (last, [b"pong", last]):
            seen.append(self.conn.reply())
        if how == "ERROR" and not any(isinstance(s, bytes) and s.startswith(b"-UNBLOCKED") for s in seen):
            raise Wrong("a client that was unblocked was not told so: %r" % seen)

    def reset(self):
        self.send("RESET")
        if self.may_wait:  # then RESET waits as well
            return
        while self.conn.reply() != b"+RESET":
            pass
        line = self.other.call("CLIENT", "LIST", "ID", self.number).decode()
        for expected in (" flags=N ", " sub=0 ", " psub=0 ", " ssub=0 ", " multi=-1 ", " watch=0 ", " redir=-1 ",
                         " resp=2 ", " db=0 "):
            if line and expected not in line:  # no line: evicted
                raise Wrong("a client that was reset: no%sin %s" % (expected, line))


def act(load, port, rng, name):
    """Victims, one after another, while the load runs."""
    victim = Victim(port, rng, name, load.note)
    while load.running():
        victim.live()
    victim.close()


def not_met(counts):
    """Ends in states that a load has not met."""
    return ["nobody met '%s' while %s" % pair for pair in MUST_BE_MET if not counts.get(pair)]


def describe(counts):
    """What has been met, on the console."""
    single = [what for what in counts if isinstance(what, str)]
    print("victims: " + ", ".join("%s %d" % (what, counts[what]) for what in sorted(single)))
    for event in FATES + ["threads", "paused"]:
        met = ["%s %d" % (state, counts[event, state]) for state in STATES.values() if (event, state) in counts]
        print("%s: %s" % (event, ", ".join(met)))
