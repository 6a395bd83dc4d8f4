"""victims.py -- clients that block, subscribe, watch, queue or track, and end in every way.

A victim brings a connection into one or several states, and then has it killed, reset, unblocked or closed. In half of
the cases it first asks the server for the state, so that the load can report which combinations have occurred; in the
others the end comes at the same time as the state. The guarantees at the end are checked: an element pushed after
CLIENT KILL in one pipeline is for others, an unblocked client gets the error and continues, a reset client is like a
new one.

SPDX-License-Identifier: BSD-3-Clause
"""
import random
import time

from mixed_load import Connection, Wrong, encode

# "closed" with unread output of the server is a reset, too; "cut off" is always one.
FATES = ["killed", "killed by filter", "cut off", "closed", "RESET", "unblocked"]

# The letters of CLIENT LIST's flags, and their meaning.
STATES = {"b": "waiting", "x": "in MULTI", "P": "listening", "t": "tracking", "B": "tracking by prefix",
          "O": "monitoring"}

CUT = "cut by a limit"

# The combinations that must have occurred in a load. sessions.py notes "threads" and "paused".
MUST_BE_MET = [(event, state) for event in FATES + ["threads", "paused"] for state in STATES.values()
               if event != "unblocked" or state == "waiting"]


def states_of(line):
    """Returns the states in a line of CLIENT LIST."""
    fields = dict(word.split("=", 1) for word in line.decode().split() if "=" in word)
    return [STATES[flag] for flag in fields.get("flags", "") if flag in STATES]


class Victim:
    """The connections of a thread, one after another; `note` is called with what occurred."""

    def __init__(self, port, rng, name, note):
        self.port, self.rng, self.base, self.note = port, rng, name, note
        self.other = Connection(port)
        self.other.call("CLIENT", "NO-EVICT", "ON")
        self.conn = self.number = self.name = None
        self.may_wait = False

    def close(self):
        self.other.close()

    def live(self):
        """Runs a connection from its beginning to its end, which a limit may cause as well."""
        self.conn, self.may_wait = Connection(self.port), False
        try:
            self.live_until_cut()
        except ConnectionError:
            self.note(CUT)
        self.conn.close()
        # Also shows that `other` was not closed.
        self.other.call("UNLINK", *[self.name + suffix for suffix in ("", ":b", ":z", ":x", ":s", ":w0")])

    def live_until_cut(self):
        self.number = self.conn.call("CLIENT", "ID")
        self.name = "%s:%d" % (self.base, self.number)  # an earlier one may not be closed yet
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
        """Returns blocking requests, each with one that provides an element and one that takes such an element."""
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
        while self.conn.reply() != b"+PONG":  # after any reply of HELLO
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
        # Without RESP3 the messages are redirected, sometimes to a client that has closed.
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
        """Returns the states of the connection as the server reports them; nothing in half of the cases, so that the
        end is not always late."""
        if self.rng.random() < 0.5:
            return []
        return states_of(self.other.call("CLIENT", "LIST", "ID", self.number))

    def kill_before_a_push(self):
        """Kills the client and pushes an element in the same pipeline or transaction: the element must stay."""
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
        # The group may not exist yet.
        if killed == 1 and b"kept" not in repr(kept).encode() and b"NOGROUP" not in repr(kept).encode():
            raise Wrong("a killed client was given an element: %r" % kept)
        self.note("killed before a push")
        self.conn.close()

    def finish(self):
        """Ends the connection in a random way."""
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
        if self.may_wait:  # RESET waits as well then
            return
        while self.conn.reply() != b"+RESET":
            pass
        line = self.other.call("CLIENT", "LIST", "ID", self.number).decode()
        for expected in (" flags=N ", " sub=0 ", " psub=0 ", " ssub=0 ", " multi=-1 ", " watch=0 ", " redir=-1 ",
                         " resp=2 ", " db=0 "):
            if line and expected not in line:  # no line if it was evicted
                raise Wrong("a client that was reset: no%sin %s" % (expected, line))


def act(load, port, rng, name):
    """Runs victims, one after another, while the load lasts."""
    victim = Victim(port, rng, name, load.note)
    while load.running():
        victim.live()
    victim.close()


def not_met(counts):
    """Returns the combinations of end and state that have not occurred."""
    return ["nobody met '%s' while %s" % pair for pair in MUST_BE_MET if not counts.get(pair)]


def describe(counts):
    """Prints what has occurred."""
    single = [what for what in counts if isinstance(what, str)]
    print("victims: " + ", ".join("%s %d" % (what, counts[what]) for what in sorted(single)))
    for event in FATES + ["threads", "paused"]:
        met = ["%s %d" % (state, counts[event, state]) for state in STATES.values() if (event, state) in counts]
        print("%s: %s" % (event, ", ".join(met)))
