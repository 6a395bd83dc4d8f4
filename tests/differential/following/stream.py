"""stream.py -- the propagation of each command to replicas: the cases of tests/support/propagation_cases.tcl, and more.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import subprocess
import time

from bench import encode
from wire import ROOT

# The cases in a format that is easily parsed: words of a command end in \1, commands in \2, columns in \3.
READ = r'''
proc words {lines} {
    set out ""
    foreach line [split $lines |] {
        set waits [expr {[string index $line 0] eq "@"}]
        if {$waits} {append out "@\1"; set line [string range $line 1 end]}
        foreach word $line {append out $word \1}
        append out \2
    }
    return $out
}
proc propagates {before commands args} {
    puts -nonewline "[words $before]\3[words $commands]\3$before > $commands\4"
}
fconfigure stdout -translation binary
source [lindex $argv 0]
'''

MEANT = "a rule of docs/design/persistence.md"


def _cases():
    path = os.path.join(ROOT, "tests", "support", "propagation_cases.tcl")
    raw = subprocess.run(["tclsh", "/dev/stdin", path], input=READ.encode(), stdout=subprocess.PIPE, check=True).stdout
    lines = lambda part: [line.split(b"\1")[:-1] for line in part.split(b"\2")[:-1]]
    for case in raw.split(b"\4")[:-1]:
        before, commands, name = case.split(b"\3")
        yield name.decode(), lines(before), lines(commands)


def _plain(data, dump):
    data = data.replace(b"$%d\r\n%s\r\n" % (len(dump), dump), b"$DUMP\r\n")
    data = re.sub(rb"\$13\r\n1\d{12}\r\n", b"$MS\r\n", data)
    data = re.sub(rb"\$\d+\r\n1\d{12}-(\d+)\r\n", rb"$ID-\1\r\n", data)
    return data


def _run(b, s, line, dump, waiting):
    if not line:
        return
    if line[0] == b"@":
        client = s.connect()
        client.send(*line[1:])
        waiting.append(client)
        s.await_field("blocked_clients", len(waiting), section="clients")
    elif line[0] == b"SLEEP":
        time.sleep(int(line[1]) / 1000)
    elif line[0] == b"AWAIT":
        b.wait(lambda: s.ask(*line[2:]) in (b":%s\r\n" % line[1], line[1]), "%r" % line)
    else:
        s.ask(*[dump if word == b"$DUMP" else word for word in line])


HIDDEN = [["HSETEX", "h", "PX", "1", "FIELDS", "2", "f", "1", "e", "1"], ["HSET", "h", "g", "1"], None]
GROUP = [["XADD", "x", "1-1", "f", "v"], ["XADD", "x", "2-1", "f", "v"], ["XGROUP", "CREATE", "x", "g", "0"]]

# Cases whose propagation in Valkey would give another dataset, so that this server propagates other commands.
OTHERWISE = (
    (HIDDEN, ["HDEL", "h", "f", "g"]), (HIDDEN, ["HGETDEL", "h", "FIELDS", "2", "f", "g"]),
    (HIDDEN, ["HEXPIRE", "h", "100", "FIELDS", "2", "f", "g"]),
    (HIDDEN, ["HSETEX", "h", "KEEPTTL", "FIELDS", "2", "f", "5", "g", "5"]), (HIDDEN, ["COPY", "h", "c"]),
    (GROUP + [["XGROUP", "SETID", "x", "g", "$"]], ["XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">"]),
    (GROUP + [["XREADGROUP", "GROUP", "g", "c", "STREAMS", "x", ">"]], ["XREADGROUP", "GROUP", "g", "c", "STREAMS",
        "x", "0"]),
    (GROUP, ["XCLAIM", "x", "g", "d", "0", "9-9"]), (GROUP, ["XAUTOCLAIM", "x", "g", "d", "0", "0"]),
    ([["SET", "k", "v", "PX", "1"], ["SET", "l", "v", "PX", "1"], None], ["SCAN", "0", "COUNT", "1000"]),
)


class _Stream:
    """A server with a fake replica, and the commands that this is sent."""

    def __init__(self, b):
        self.b = b
        self.server = b.server("--repl-diskless-sync", "yes", "--client-output-buffer-limit", "replica 0 0 0")
        self.server.ask("DEBUG", "SET-ACTIVE-EXPIRE", "0")
        self.server.ask("SET", "dumped", "1")
        self.dump = self.server.ask("DUMP", "dumped").split(b"\r\n", 1)[1][:-2]
        self.replica = b.replica(self.server)
        self.replica.full()
        self.marks = 0

    def begin(self):
        for words in (["FLUSHALL"], ["SELECT", "0"], ["CONFIG", "SET", "stream-node-max-entries", "100"]):
            self.server.ask(*words)

    def new(self):
        self.marks += 1
        end = encode(["PUBLISH", "marks", self.marks])
        self.server.ask("PUBLISH", "marks", self.marks)
        return _plain(self.replica.until(end)[:-len(end)], self.dump)


def cases_of_the_log(b):
    stream = _Stream(b)
    s = stream.server
    for name, before, commands in _cases():
        stream.begin()
        waiting = []
        for line in before:
            _run(b, s, line, stream.dump, waiting)
        s.ask("SET", "begin", "1")
        s.ask("DEL", "begin")
        stream.new()
        for line in commands:
            _run(b, s, line, stream.dump, waiting)
        s.ask("SELECT", "0")
        b.see(name, stream.new())
        for client in waiting:
            client.close()
        s.await_field("blocked_clients", 0, section="clients")


def what_is_written_otherwise(b):
    stream = _Stream(b)
    for before, command in OTHERWISE:
        stream.begin()
        for words in before:
            if words is None:
                time.sleep(0.03)
            else:
                stream.server.ask(*words)
        stream.new()
        stream.server.ask(*command)
        b.see("%s > %s" % (before, " ".join(command)), stream.new(), MEANT)


def eviction(b):
    stream = _Stream(b)
    s = stream.server
    s.ask("SET", "victim", "x" * 2000000, "EX", "1000")
    stream.new()
    s.ask("CONFIG", "SET", "maxmemory-policy", "volatile-ttl", "maxmemory", int(s.field("used_memory",
        "memory")) - 500000)
    s.ask("SET", "k", "v")
    s.ask("CONFIG", "SET", "maxmemory", "0")
    b.see("a key that is evicted", stream.new())
    for lazy in ("no", "yes"):
        s.ask("CONFIG", "SET", "lazyfree-lazy-eviction", lazy, "lazyfree-lazy-expire", lazy)
        s.ask("SELECT", "3")
        s.ask("SET", "timed", "v", "PX", "1")
        s.ask("SELECT", "0")
        s.ask("SET", "also", "v", "PX", "1")
        time.sleep(0.03)
        stream.new()
        s.ask("SELECT", "3")
        s.ask("GET", "timed")
        s.ask("SELECT", "0")
        s.ask("EXISTS", "also")
        b.see("keys whose time is over, lazyfree %s" % lazy, stream.new())


def other_writers(b):
    """Writes other than plain commands of a client."""
    stream = _Stream(b)
    s = stream.server
    stream.begin()
    stream.new()
    lib = "#!lua name=mine\nserver.register_function('mine', function(k, a) return server.call('SET', k[1], a[1]) end)"
    for words in (["FUNCTION", "LOAD", lib], ["function", "load", "replace", lib], ["FCALL", "mine", "1", "k", "v"],
                  ["FUNCTION", "LOAD", lib], ["FUNCTION", "DELETE", "mine"], ["FUNCTION", "FLUSH"], ["FUNCTION",
                  "FLUSH", "ASYNC"],
                  ["FUNCTION", "STATS"], ["SCRIPT", "FLUSH"], ["DEBUG", "SET-ACTIVE-EXPIRE", "0"], ["ACL",
                  "SETUSER", "x", "on"],
                  ["CONFIG", "SET", "hz", "12"], ["PING"], ["RESET"], ["PFCOUNT", "nothing"], ["ECHO", "x"],
                  ["SWAPDB", "1", "2"], ["OBJECT", "FREQ", "x"], ["SELECT", "7"],
                  ["FUNCTION", "FLUSH"], ["FLUSHALL"], ["FLUSHDB"], ["SELECT", "0"]):
        s.ask(*words)
        b.see("%s" % " ".join(words), stream.new())
    s.ask("PFADD", "p", "a", "b")
    s.ask("PFCOUNT", "p")
    b.see("PFCOUNT that stores what it has counted", stream.new())
    payload = s.ask("FUNCTION", "DUMP")
    payload = payload.split(b"\r\n", 1)[1][:-2]
    s.ask("FUNCTION", "RESTORE", payload)
    b.see("FUNCTION RESTORE", stream.new().replace(payload, b"PAYLOAD"))
    one, other = s.connect(), s.connect()
    one.send("CLIENT", "REPLY", "OFF")
    one.send("SET", "quiet", "1")
    one.close()
    b.wait(lambda: s.ask("EXISTS", "quiet") == b":1\r\n", "a write")
    b.see("of a client that takes no replies", stream.new())
    other.send("BLMOVE", "a", "b", "LEFT", "RIGHT", "0")
    third = s.connect()
    third.send("BZPOPMIN", "z", "0")
    s.await_field("blocked_clients", 2, section="clients")
    for words in (["MULTI"], ["ZADD", "z", "1", "m"], ["RPUSH", "a", "1"], ["EXEC"]):
        s.ask(*words)
    b.see("two who wait, and a transaction", stream.new())
    fourth = s.connect()
    s.ask("XGROUP", "CREATE", "xs", "g", "$", "MKSTREAM")
    stream.new()
    fourth.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "xs", ">")
    s.await_field("blocked_clients", 1, section="clients")
    s.ask("XADD", "xs", "1-1", "f", "v")
    fourth.heard()
    b.see("XREADGROUP that has waited", stream.new(), "a consumer that comes is written: " + MEANT)
    fifth = s.connect()
    fifth.send("BLPOP", "a", "0")
    s.await_field("blocked_clients", 1, section="clients")
    s.ask("SELECT", "2")
    s.ask("RPUSH", "a", "1")
    s.ask("MOVE", "a", "0")
    fifth.heard()
    b.see("by a key that is moved to it", stream.new())
