"""primary.py -- a fake replica sends every valid request, and many invalid ones.

SPDX-License-Identifier: BSD-3-Clause
"""

import re

from bench import ID, NOBODY, OTHER_ID, encode

PING = b"*1\r\n$4\r\nping\r\n"
DIRECT = ("--repl-diskless-sync", "yes")
DISK = ("--repl-diskless-sync", "no")


# ---- REPLCONF ----------------------------------------------------------------------------------------------------


def replconf_replies(b):
    s = b.server()
    long = "x" * 256
    for words in (
            [], ["listening-port"], ["capa"], ["listening-port", "6379"], ["listening-port", "x"],
            ["listening-port", ""],
            ["listening-port", "-1"], ["listening-port", "70000"], ["listening-port", "99999999999999999999"],
            ["listening-port", "2147483648"], ["listening-port", " 1"], ["listening-port", "1.5"],
            ["LISTENING-PORT", "1"], ["ip-address", "1.2.3.4"], ["ip-address", ""], ["ip-address", long],
            ["ip-address", long[1:]], ["ip-address", "a b"], ["capa", "eof"], ["capa", "nothing"], ["CAPA", "EOF"],
            ["capa", "eof", "capa"], ["capa", "eof", "capa", "psync2", "capa", "dual-channel"], ["capa", ""],
            ["capa", "skip-rdb-checksum"], ["version", "9.1.2"], ["version", "9.1"], ["version", "9"], ["version", ""],
            ["version", "9.1.2.3"], ["version", "9.1.256"], ["version", "255.255.255"], ["version", "256.0.0"],
            ["version", "-1.0.0"], ["version", "a.b.c"], ["version", "9.1.2a"], ["version", "9.1.2-rc1"],
            ["version", " 9.1.2"], ["version", "9.1.2 "], ["version", "09.01.02"], ["version", "+9.1.2"],
            ["version", "9..2"], ["version", "..."], ["version", "9.1."], ["version", "0.0.0"],
            ["rdb-only", "0"], ["rdb-only", "1"], ["rdb-only", "2"], ["rdb-only", "-1"], ["rdb-only", "x"],
            ["rdb-only", ""], ["rdb-only", "9999999999999999999999"], ["rdb-channel", "0"], ["rdb-channel", "1"],
            ["rdb-channel", "2"], ["rdb-channel", "yes"], ["rdb-filter-only", ""], ["rdb-filter-only", "functions"],
            ["rdb-filter-only", "FUNCTIONS"], ["rdb-filter-only", "functions functions"],
            ["rdb-filter-only", " functions "], ["rdb-filter-only", "keys"], ["rdb-filter-only", "functions keys"],
            ["rdb-filter-only", "keys functions"], ["rdb-filter-only", "functions,keys"], ["rdb-filter-only", " "],
            ["rdb-filter-only", '"functions"'], ["rdb-filter-only", "\"functions"], ["rdb-filter-only", "'functions'"],
            ["rdb-filter-only", "functions\tfunctions"], ["set-rdb-client-id", "1"], ["set-rdb-client-id", "x"],
            ["set-rdb-client-id", "-1"], ["set-rdb-client-id", "0"], ["set-rdb-client-id", "18446744073709551616"],
            ["set-rdb-client-id", ""], ["set-cluster-node-id", "x"], ["set-cluster-node-id", ID],
            ["nonsense", "1"], ["", "1"], ["Nonsense", "1", "capa", "eof"], ["capa", "eof", "nonsense", "1"],
            ["non sense\r\n", "1"], ["x" * 300, "1"],
            ["version", "9.1.2", "listening-port", "x"], ["listening-port", "1", "version", "x", "capa", "eof"],
            ["ack"], ["getack"], ["ack", "1", "fack"]):
        client = s.connect()
        b.see("REPLCONF %r" % words, client.ask("REPLCONF", *words))
        client.close()
    for words in (["ack", "1"], ["ACK", "1"], ["ack", "x"], ["ack", "1", "fack", "2"], ["ack", "1", "fack", "x"],
                  ["ack", "1", "nonsense", "2"], ["getack", "*"], ["getack", ""], ["GETACK", "x"],
                  ["capa", "eof", "ack", "1"], ["nonsense", "1", "ack", "1"], ["ack", "1", "capa", "eof"],
                  ["getack", "*", "nonsense", "1"], ["listening-port", "1", "getack", "*"]):
        client = s.connect()
        client.send("REPLCONF", *words)
        client.send("PING")
        b.see("REPLCONF %r, PING" % words, client.reply())
        client.close()
    client = s.connect()
    client.send("MULTI")
    for words in (["listening-port", "1"], ["nonsense", "1"], ["ack", "1"]):
        client.send("REPLCONF", *words)
    client.send("EXEC")
    client.send("PING")
    b.see("REPLCONF in a transaction", [client.heard() for _ in range(6)])
    b.see("PSYNC in a transaction", [client.ask(*words) for words in (["MULTI"], ["PSYNC", "?", "-1"], ["SYNC"],
        ["EXEC"])])
    b.see("in a script", [s.ask("EVAL", "return redis.call(unpack(ARGV))", "0", *words) for words in (
        ["REPLCONF", "capa", "eof"], ["SYNC"], ["PSYNC", "?", "-1"], ["REPLICAOF", "NO", "ONE"], ["ROLE"], ["WAIT",
            "0", "0"],
        ["FAILOVER"], ["WAITAOF", "0", "0", "0"])])


def arity_and_arguments(b):
    s = b.server()
    for words in (["PSYNC"], ["PSYNC", "?"], ["PSYNC", "?", "x"], ["PSYNC", "?", ""], ["PSYNC", "?", "1.5"],
                  ["PSYNC", ID, "x"], ["PSYNC", "?", "99999999999999999999"], ["PSYNC", "?", "-1", "FAILOVER"],
                  ["PSYNC", ID, "1", "failover"], ["PSYNC", ID, "x", "FAILOVER"], ["SYNC", "x"], ["ROLE", "x"],
                  ["REPLICAOF"], ["REPLICAOF", "x"], ["REPLICAOF", "NO"], ["REPLICAOF", "a", "b", "c"]):
        client = s.connect()
        b.see("%r" % words, client.ask(*words))
        client.close()
    b.see("INFO stats", s.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats"))
    b.see_replication(s, "nobody has come")


def pending_output(b):
    s = b.server()
    s.ask("SET", "big", "x" * 20000000)
    client = s.connect()
    client.send("GET", "big")
    client.send("PSYNC", "?", "-1")
    reply = client.reply()
    b.see("the reply before", len(reply))
    b.see("PSYNC behind output that is not sent", client.heard())


# ---- The dataset, in each format ---------------------------------------------------------------------------------


def _full(b, s, what, **options):
    r = b.replica(s, **options)
    b.see(what + ": greeting", r.greeting)
    line, header, data = r.full()
    b.see(what + ": line", line)
    b.see(what + ": header", b"$EOF:" if header[:5] == b"$EOF:" else b"$(length)" if header[:1] == b"$" else header)
    b.see(what + ": magic", data[:9])
    b.see(what + ": mark", len(header))
    return r


def dataset_forms(b):
    for mode, options in (("direct", DIRECT), ("disk", DISK)):
        for what, kwargs in (("new", {}), ("8.1", {"version": "8.1.0"}), ("9.0", {"version": "9.0.0"}),
                             ("8.255", {"version": "8.255.255"}), ("no version", {"version": None}),
                             ("without eof", {"capa": ("psync2",)}), ("without psync2", {"capa": ("eof",)}),
                             ("without capa", {"capa": ()}), ("without capa and version", {"capa": (),
                             "version": None})):
            s = b.server(*options)
            s.ask("SET", "a", "1")
            what = mode + ", " + what
            r = _full(b, s, what, **kwargs)
            b.see(what + ": stream", r.stream("x"))
            b.see_replication(s, what, ("master_repl_offset",))
            b.see(what + ": ROLE", s.ask("ROLE"))
            s.stop()


def aux_fields(b):
    for before in ([], [["SET", "a", "1"]], [["SELECT", "3"], ["SET", "a", "1"]]):
        for options in (DIRECT, DISK):
            s = b.server(*options)
            first = b.replica(s)
            first.full()
            for words in before:
                s.ask(*words)
            s.ask("SELECT", "0")
            r = b.replica(s)
            line, _, data = r.full()
            names = []
            for name in (b"valkey-ver", b"redis-ver", b"redis-bits", b"ctime", b"used-mem", b"repl-stream-db",
            b"repl-id",
                         b"repl-offset", b"aof-base", b"slot-info"):
                at = data.find(bytes([len(name)]) + name)
                value = data[at + 1 + len(name):]
                value = value[:1 + value[0]] if at >= 0 and value[0] < 64 else value[:2] if at >= 0 else b"(none)"
                names.append((name, value if name in (b"repl-stream-db", b"repl-id", b"repl-offset", b"aof-base",
                                                      b"valkey-ver", b"redis-bits") else at >= 0))
            b.see("%r %r: line" % (before, options[1]), line)
            b.see("%r %r: fields" % (before, options[1]), names)
            s.stop()


def sync_old_style(b):
    for options in (DIRECT, DISK):
        for capa in ((), ("eof",), ("eof", "psync2")):
            s = b.server(*options)
            s.ask("SET", "a", "1")
            what = "%s, capa %r" % (options[1], capa)
            r = b.replica(s, capa=capa, port=7778)
            r.raw(b"SYNC\r\n")
            header, data = r.marked()
            b.see(what + ": header", header[:5])
            b.see(what + ": magic", data[:9])
            s.await_field("slave0", lambda value: b"state=online" in value)
            if header.startswith(b"$EOF"):
                r.send("REPLCONF", "ACK", "0")
            s.await_field("master_repl_offset", 14)
            b.see(what + ": stream", r.stream("x"))
            b.see_replication(s, what)
            b.see(what + ": ROLE", s.ask("ROLE"))
            s.stop()


def sync_without_a_word(b):
    s = b.server(*DISK)
    r = b.replica(s, hello=False)
    r.raw(b"SYNC\r\n")
    header, data = r.marked()
    b.see("magic", data[:9])
    s.await_field("master_repl_offset", 14)
    b.see("stream", r.stream("x"))
    b.see_replication(s, "SYNC alone")
    b.see("ROLE", s.ask("ROLE"))
    r.send("REPLCONF", "ACK", "5")
    b.see("... ACK", r.stream("y"))
    b.see_replication(s, "SYNC alone, ACK")


def rdb_only(b):
    for options in (DIRECT, DISK):
        for version in ("9.1.2", "8.0.0", None):
            for capa in ("eof", None):
                s = b.server(*options)
                s.ask("SET", "a", "1")
                r = b.replica(s, hello=False)
                words = ["REPLCONF", "rdb-only", "1"] + (["capa", capa] if capa else []) + (
                    ["version", version] if version else [])
                what = "%s %r" % (options[1], words[1:])
                b.see(what + ": reply", r.ask(*words))
                r.raw(b"SYNC\r\n")
                header, data = r.marked()
                b.see(what + ": header", header[:5])
                b.see(what + ": magic", data[:9])
                b.see(what + ": end", r.end())
                s.await_field("connected_slaves", 0)
                b.see_replication(s, what)
                s.stop()


def rdb_filters(b):
    s = b.server(*DIRECT)
    s.ask("SET", "a", "1")
    s.ask("FUNCTION", "LOAD", "#!lua name=mine\nserver.register_function('mine', function() return 1 end)")
    for text in ("", "functions", "functions functions"):
        for version in ("9.1.2", None):
            r = b.replica(s, hello=False)
            r.ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-filter-only", text,
                  *(["version", version] if version else []))
            r.raw(b"SYNC\r\n")
            header, data = r.marked()
            b.see("%r %r" % (text, version), (header[:5], data[:9], b"name=mine" in data, b"\x01a\xc0\x01" in data,
            r.end()))
    for words in (["rdb-filter-only", "functions"], ["rdb-filter-only", ""], ["rdb-filter-only", "functions",
        "rdb-only", "1"]):
        r = b.replica(s, hello=False)
        r.ask("REPLCONF", *words)
        b.see("%r without eof: SYNC" % words, r.ask("SYNC"))
        b.see("%r without eof: PSYNC" % words, r.ask("PSYNC", "?", "-1"))
    r = b.replica(s)
    r.ask("REPLCONF", "rdb-filter-only", "functions")
    line, header, data = r.full()
    b.see("a filter and a stream", (line, b"name=mine" in data, b"\x01a\xc0\x01" in data, r.stream("x")))
    b.see_replication(s, "with a filter")


# ---- PSYNC: partial synchronization ------------------------------------------------------------------------------


def partial(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    b.see("the first bytes of a stream", r.take(len(PING)))
    for i in range(3):
        s.ask("SET", "k%d" % i, "v")
    r.stream("x")
    own = s.field("master_replid")
    end = int(s.field("master_repl_offset"))
    for what, words, capa in (
            ("from the start", (own, 1), ("eof", "psync2")), ("from within", (own, 15), ("eof", "psync2")),
            ("the end", (own, end), ("eof", "psync2")), ("beyond the end by one", (own, end + 1), ("eof", "psync2")),
            ("upper case", (own.upper(), 15), ("eof", "psync2")), ("without psync2", (own, 15), ("eof",)),
            ("without capa", (own, 15), ()), ("another fourth word", (own, 15, "x"), ("eof", "psync2")),
            ("five words", (own, 15, "x", "y"), ("eof", "psync2")), ("leading plus", (own, "+15"), ("eof", "psync2"))):
        one = b.replica(s, capa=capa)
        one.send("PSYNC", *words)
        line = one.heard()
        b.see("%s: line" % what, line)
        if line.startswith(b"+CONTINUE"):
            b.see("%s: bytes" % what, one.stream("y"))
            b.see_replication(s, what, ("repl_backlog_histlen", "master_repl_offset"))
        one.close()
        s.await_field("connected_slaves", 1)
    for what, words in (("0", (own, 0)), ("-1", (own, -1)), ("-5", (own, -5)), ("far", (own, 10 ** 12)),
                        ("other", (OTHER_ID, 15)), ("nobody", (NOBODY, 1)), ("short", (b"abc", 1)), ("empty", (b"", 1)),
                        ("? with an offset", (b"?", 15)), ("?? ", (b"??", -1)), ("max", (own, 9223372036854775807)),
                        ("longer", (own + b"0", 15))):
        one = b.replica(s)
        one.send("PSYNC", *words)
        line = one.filled_line()
        b.see("%s: kind" % what, line.split(b" ")[0])
        one.close()
        s.await_field("connected_slaves", 1)
    b.see("counted", s.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats"))
    b.see("logged", s.first_lines("Partial resynchronization not accepted: Requested",
                                  "Partial resynchronization request", "Unable to partial", "Full resync requested",
                                  "Replication backlog"))


def second_psync(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    r.stream("x")
    own = s.field("master_replid")
    b.plain(own)
    for words in (["PSYNC", own, "1"], ["PSYNC", "?", "-1"], ["SYNC"], ["PSYNC", "?", "x"], ["PSYNC", own, "1",
        "FAILOVER"],
                  ["REPLCONF", "GETACK", "*"], ["REPLCONF", "ACK", "3"], ["REPLCONF", "ack", "x"]):
        r.send(*words)
        b.see("%r on the link" % [b.plain(word) for word in words], r.stream("y"))
    r.raw(b"\n\n\r\n")
    b.see("newlines on the link", r.stream("y"))
    b.see_replication(s, "after all that")


def replies_on_the_link(b):
    """Without CLIENT REPLY, which ends the replication stream in Valkey."""
    s = b.server(*DIRECT)
    for words in (["PING"], ["GET", "a"], ["SET", "a", "1"], ["REPLCONF", "capa", "eof"], ["REPLCONF"], ["NOSUCH"],
                  ["INFO"], ["QUIT"], ["RESET"], ["HELLO", "3"], ["AUTH", "x"], ["SELECT", "1"], ["CLIENT", "ID"],
                  ["REPLCONF", "listening-port", "1"], ["GET"], ["PSYNC"], ["REPLCONF", "nonsense", "1"],
                  ["SUBSCRIBE", "a"], ["MONITOR"], ["MULTI"], ["BLPOP", "x", "0"], ["WAIT", "1", "0"], ["EVAL",
                  "return 1", "0"], ["REPLICAOF", "NO", "ONE"],
                  ["REPLICAOF", "127.0.0.1", "1"]):
        r = b.replica(s)
        r.full()
        r.stream("x")
        r.send(*words)
        try:
            b.see("%r on the link" % words, r.stream("y"))
        except Exception as error:
            b.see("%r on the link" % words, "%s %r" % (type(error).__name__, bytes(r.buf)))
        r.close()
        s.await_field("connected_slaves", 0)


def before_it_is_online(b):
    s = b.server("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "5")
    own = s.field("master_replid")
    for words in (["PING"], ["GET", "a"], ["REPLCONF", "capa", "eof"], ["PSYNC", "?", "-1"], ["SYNC"]):
        r = b.replica(s)
        r.send("PSYNC", "?", "-1")
        s.await_field("connected_slaves", 1)
        b.see_replication(s, "waits")
        b.see("CLIENT LIST", [(c[b"flags"], c[b"cmd"], c[b"user"], c[b"db"], c[b"resp"]) for c in s.clients("replica")])
        b.see("ROLE", s.ask("ROLE"))
        r.send(*words)
        if words[0] in ("PING", "GET", "REPLCONF"):
            b.see("%r while it waits" % words, r.end().replace(b"\n", b""))
        else:
            b.see("%r while it waits" % words, s.field("connected_slaves"))
            r.close()
        s.await_field("connected_slaves", 0)
    b.see("own name", own == s.field("master_replid"))
    b.see_replication(s, "all have gone")


# ---- The replication stream, and acknowledgments -----------------------------------------------------------------


def acknowledgements(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.send("PSYNC", "?", "-1")
    b.see("line", r.filled_line())
    header, data = r.marked()
    s.await_field("slave0", lambda value: b"state=online" in value)
    b.see_replication(s, "before the first ACK")
    b.see("ROLE before it", s.ask("ROLE"))
    s.ask("SET", "a", "1")
    r.send("REPLCONF", "ACK", "0")
    b.see("what comes then", r.stream("x"))
    b.see_replication(s, "after it")
    for offset in ("10", "5", "0", "-7", "x", "999999", "30"):
        r.send("REPLCONF", "ACK", offset)
        r.stream("y")
        b.see("ACK %s" % offset, (b.plain(re.sub(rb"lag=.*", b"", s.field("slave0"))), s.ask("ROLE")))
    for words in (["ACK", "60", "FACK", "20"], ["ACK", "60", "FACK", "x"], ["ACK", "61", "fack", "40"],
                  ["ACK", "62", "other", "50"], ["ACK", "x", "FACK", "100"], ["ACK", "63", "FACK"]):
        r.send("REPLCONF", *words)
        try:
            r.stream("y")
        except Exception as error:
            b.see("%r" % words, "%s %r" % (type(error).__name__, bytes(r.buf)))
            break
        b.see("%r" % words, (s.field("slave0").split(b",")[3], s.ask("WAITAOF", "0", "1", "1")))


def wait_and_getack(b):
    s = b.server(*DIRECT)
    b.see("WAIT without anybody", s.ask("WAIT", "0", "0"))
    b.see("... that ends by time", s.ask("WAIT", "1", "10"))
    r = b.replica(s)
    r.full()
    s.ask("SET", "a", "1")
    s.link.send("WAIT", "1", "0")
    r.until(encode(["REPLCONF", "GETACK", "*"]))
    r.send("REPLCONF", "ACK", "1000")
    b.see("WAIT is over", s.link.reply())
    b.see("WAIT again", s.ask("WAIT", "1", "0"))
    b.see("WAIT more than there are", s.ask("WAIT", "5", "10"))
    b.see("... asks again", r.until(encode(["REPLCONF", "GETACK", "*"])))
    s.link.send("MULTI")
    s.link.send("SET", "a", "2")
    s.link.send("WAIT", "1", "0")
    s.link.send("EXEC")
    b.see("WAIT in a transaction", [s.link.reply() for _ in range(4)])
    b.see("the stream of it", r.stream("x"))
    b.see("WAITAOF", [s.ask("WAITAOF", *words) for words in (
        ["0", "0", "0"], ["1", "0", "0"], ["2", "0", "0"], ["0", "-1", "0"], ["0", "0", "-1"], ["0", "x", "0"],
        ["0", "1", "10"], ["0", "0", "x"], ["-1", "0", "0"])])
    b.see("WAIT", [s.ask("WAIT", *words) for words in (
        ["-1", "0"], ["x", "0"], ["0", "-1"], ["0", "x"], ["0", "1.5"], ["1", "99999999999999999999"],
        ["0", "9223372036854775807"])])


def select_and_order(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    r.stream("x")
    other = s.connect()
    for words in (["SELECT", "3"], ["SET", "a", "1"], ["SET", "b", "1"], ["SELECT", "0"], ["PUBLISH", "c", "m"],
                  ["SELECT", "5"], ["SPUBLISH", "c", "m"], ["FUNCTION", "FLUSH"], ["FLUSHALL"], ["SELECT", "0"],
                  ["SCRIPT", "LOAD", "return 1"], ["CONFIG", "SET", "hz", "11"], ["SET", "a", "1"]):
        other.ask(*words)
    b.see("several databases", r.stream("y"))
    for words in (["MULTI"], ["SELECT", "4"], ["SET", "a", "1"], ["SELECT", "6"], ["SET", "a", "1"], ["PUBLISH",
        "c", "m"],
                  ["EXEC"], ["MULTI"], ["PUBLISH", "c", "1"], ["PUBLISH", "c", "2"], ["EXEC"], ["SWAPDB", "0", "1"],
                  ["MOVE", "a", "9"], ["COPY", "a", "b", "DB", "2"]):
        other.ask(*words)
    b.see("in transactions", r.stream("y"))
    second = b.replica(s)
    second.full()
    b.see("SELECT again behind a snapshot", r.stream("z"))
    b.see("... for both", second.until(encode(["SET", "z", "1"])))


def pings(b):
    s = b.server("--repl-diskless-sync", "yes", "--repl-ping-replica-period", "1")
    r = b.replica(s)
    r.full()
    b.see("pings", r.until(PING * 3))
    s.ask("SELECT", "0")
    s.ask("SET", "a", "1")
    b.see("SELECT, then", r.until(encode(["SET", "a", "1"])).replace(PING, b""))
    r.until(PING)
    s.ask("SET", "a", "2")
    b.see("no SELECT behind a ping", r.until(encode(["SET", "a", "2"])).replace(PING, b""))


def two_at_once(b):
    """One child for replicas with equal requests, another for others."""
    s = b.server("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "1")
    s.ask("SET", "a", "1")
    ones = [b.replica(s), b.replica(s, port=7778), b.replica(s, version="8.0.0", port=7779)]
    for count, one in enumerate(ones):
        one.send("PSYNC", "?", "-1")
        s.await_field("connected_slaves", count + 1)
    for one in ones:
        b.see("line", one.filled_line())
        header, data = one.marked()
        b.see("magic", data[:9])
    b.see("forks", s.fields("total_forks", "sync_full", section="stats"))
    s.await_field("slave2", lambda value: b"state=online" in value)
    for one in ones:
        one.send("REPLCONF", "ACK", "0")
    s.await_field("master_repl_offset", 14)
    for one in ones:
        b.see("stream", one.stream("x")[:14])
    b.see_replication(s, "three")
    b.see("ROLE", s.ask("ROLE"))


def max_replicas(b):
    s = b.server("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "20",
        "--repl-diskless-sync-max-replicas", "2")
    ones = [b.replica(s), b.replica(s)]
    for one in ones:
        one.send("PSYNC", "?", "-1")
    for one in ones:
        b.see("line", one.filled_line())
        b.see("magic", one.marked()[1][:9])
    b.see("forks", s.fields("total_forks", section="stats"))


def joins_a_child(b):
    s = b.server("--repl-diskless-sync", "no", "--rdb-key-save-delay", "200000")
    for i in range(10):
        s.ask("SET", "k%d" % i, "v")
    first = b.replica(s)
    first.send("PSYNC", "?", "-1")
    b.see("the first", first.filled_line())
    second = b.replica(s, port=7778)
    s.ask("SET", "z", "1")
    second.send("PSYNC", "?", "-1")
    b.see("joins", second.filled_line())
    b.see_replication(s, "both wait")
    old = b.replica(s, capa=("psync2",), port=7779)
    old.send("PSYNC", "?", "-1")
    s.await_field("connected_slaves", 3)
    b.see("how many children", s.fields("total_forks", section="stats"))
    b.see_replication(s, "a third, who reads no mark")
    for one in (first, second):
        header, data = one.marked()
        b.see("header", header[:1] + header[-2:])
        b.see("stream", one.until(encode(["SET", "z", "1"])))
    s.ask("CONFIG", "SET", "rdb-key-save-delay", "0")
    b.see("the third", old.filled_line()[:12])


# ---- States, kills, timeouts -------------------------------------------------------------------------------------


def client_list(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    r.stream("x")
    r.send("REPLCONF", "ACK", "20")
    r.stream("y")
    keep = (b"name", b"flags", b"db", b"sub", b"psub", b"ssub", b"multi", b"watch", b"cmd", b"user", b"redir", b"resp",
            b"lib-name", b"lib-ver", b"capa", b"qbuf", b"argv-mem", b"multi-mem")
    for kind in ("replica", "slave", "normal", "master", "primary", "pubsub"):
        b.see("TYPE " + kind, [[(name, c.get(name)) for name in keep] for c in s.clients(kind)])
    b.see("INFO clients", s.fields("connected_clients", section="clients"))
    for words in (["TYPE", "nonsense"], ["TYPE", "slave", "SKIPME", "no"], ["TYPE", "Replica"], ["FLAGS", "S"],
                  ["NOT-FLAGS", "N"]):
        text = s.text("CLIENT", "LIST", *words)
        b.see("CLIENT LIST %r" % words, len(text.splitlines()) if text[:1] != b"-" else text)


def kill(b):
    s = b.server(*DIRECT)
    for words in (["TYPE", "replica"], ["TYPE", "slave"], ["TYPE", "master"], ["TYPE", "primary"], ["TYPE", "normal"],
                  ["TYPE", "nonsense"], ["TYPE", "replica", "SKIPME", "no"], ["TYPE", "REPLICA"]):
        r = b.replica(s)
        r.full()
        r.stream("x")
        b.see("CLIENT KILL %r" % words, s.ask("CLIENT", "KILL", *words))
        alive = s.clients("replica")
        if alive:
            b.see("... stays", len(alive))
            r.close()
        else:
            b.see("... gone", r.end())
        s.await_field("connected_slaves", 0)
        b.see_replication(s, "after it", ("repl_backlog_histlen", "master_repl_offset"))
    r = b.replica(s)
    r.full()
    r.stream("x")
    r.close()
    s.await_field("connected_slaves", 0)
    b.see("logged", s.first_lines("Connection with replica"))


def pauses(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    r.stream("x")
    other = s.connect()
    b.see("PAUSE", s.ask("CLIENT", "PAUSE", "100000", "WRITE"))
    b.see("INFO", s.fields("paused_reason", "paused_actions", section="clients"))
    other.send("SET", "p", "1")
    r.send("REPLCONF", "ACK", "50")
    r.send("REPLCONF", "GETACK", "*")
    s.await_field("slave0", lambda value: b"offset=50" in value)
    b.see("ROLE", s.ask("ROLE"))
    late = b.replica(s, port=7780)
    b.see("one who comes meanwhile", late.full()[0])
    b.see("WAIT", s.ask("WAIT", "2", "10"))
    b.see("UNPAUSE", s.ask("CLIENT", "UNPAUSE"))
    b.see("then", other.reply())
    b.see("stream", r.until(encode(["SET", "p", "1"])).replace(encode(["REPLCONF", "GETACK", "*"]), b""))
    b.see("PAUSE ALL", s.ask("CLIENT", "PAUSE", "1000", "ALL"))
    other.send("SET", "p", "2")
    r.send("REPLCONF", "ACK", "70")
    b.see("then", other.reply())
    b.see("ACK meanwhile", b.plain(s.field("slave0"))[-30:].split(b",")[-3:-2])


def timed_out(b):
    s = b.server("--repl-diskless-sync", "yes", "--repl-timeout", "1")
    r = b.replica(s)
    r.full()
    r.stream("x")
    b.see("says nothing any more", r.end())
    b.see("logged", s.lines("Disconnecting timedout", "Connection with replica"))
    b.see_replication(s, "it is gone")
    r = b.replica(s, capa=(), version=None)
    r.raw(b"SYNC\r\n")
    r.marked()
    r.stream("x")
    b.wait(lambda: b"lag=3" in s.field("slave0") or b"lag=4" in s.field("slave0"), "time")
    b.see("one of the old style stays", r.stream("y"))


def newlines_keep_it(b):
    import time
    s = b.server("--repl-diskless-sync", "yes", "--repl-timeout", "2")
    r = b.replica(s)
    r.full()
    r.stream("x")
    for _ in range(8):
        r.raw(b"\n")
        time.sleep(0.5)
    b.see("newlines for four seconds", r.stream("y"))
    b.see("logged", s.lines("Disconnecting timedout"))


def never_acknowledges(b):
    s = b.server("--repl-diskless-sync", "yes", "--repl-timeout", "1")
    r = b.replica(s)
    r.send("PSYNC", "?", "-1")
    r.filled_line()
    r.marked()
    b.see("no ACK at all", r.end())
    b.see("logged", s.lines("Disconnecting timedout"))


def output_limit(b):
    s = b.server("--repl-diskless-sync", "yes", "--client-output-buffer-limit", "replica 1mb 0 0",
        "--repl-backlog-size",
                 "16kb")
    b.see("the limit", s.ask("CONFIG", "GET", "client-output-buffer-limit"))
    s.ask("CONFIG", "SET", "repl-slow-writers", "no")  # Valkey does not have it
    r = b.replica(s)
    r.send("PSYNC", "?", "-1")
    r.filled_line()
    r.marked()
    s.await_field("slave0", lambda value: b"state=online" in value)
    for i in range(30):
        s.ask("SET", "a", "x" * 100000)
    s.await_field("connected_slaves", 0)
    b.see("counted", s.fields("client_output_buffer_limit_disconnections", section="stats"))
    b.see_replication(s, "too far behind", ("repl_backlog_histlen", "repl_backlog_first_byte_offset"))


def passwords(b):
    s = b.server(*DIRECT, "--requirepass", "secret")
    s.ask("AUTH", "secret")
    for words in (["PING"], ["REPLCONF", "listening-port", "1"], ["PSYNC", "?", "-1"], ["SYNC"], ["REPLCONF", "ACK",
        "1"],
                  ["REPLCONF"], ["ROLE"]):
        r = b.replica(s, hello=False)
        b.see("%r without a password" % words, r.ask(*words))
    s.ask("ACL", "SETUSER", "copier", "on", ">word", "+psync", "+replconf", "+ping")
    s.ask("ACL", "SETUSER", "weak", "on", ">word", "+ping")
    r = b.replica(s, hello=False)
    b.see("weak", [r.ask(*words) for words in (["AUTH", "weak", "word"], ["PING"], ["REPLCONF", "capa", "eof"],
                                                ["PSYNC", "?", "-1"], ["SYNC"])])
    r = b.replica(s, hello=False)
    b.see("copier", [r.ask(*words) for words in (["AUTH", "copier", "word"], ["PING"], ["REPLCONF", "capa", "eof",
        "capa", "psync2"])])
    b.see("its dataset", r.full()[0])
    r.stream("x")
    b.see("CLIENT LIST", [(c[b"user"], c[b"flags"]) for c in s.clients("replica")])
    b.see("ACL DELUSER", s.ask("ACL", "DELUSER", "copier"))
    b.see("its link", r.end())


# ---- The backlog -------------------------------------------------------------------------------------------------


BACKLOG = ("repl_backlog_active", "repl_backlog_size", "repl_backlog_first_byte_offset", "repl_backlog_histlen",
           "master_repl_offset", "second_repl_offset", "master_replid2")


def backlog(b):
    s = b.server(*DIRECT)
    s.ask("SET", "a", "1")
    b.see("before anybody came", s.fields(*BACKLOG))
    before = s.field("master_replid")
    r = b.replica(s)
    r.full()
    b.see("a new name with the first one", before == s.field("master_replid"))
    r.stream("x")
    b.see("with the first", s.fields(*BACKLOG))
    own = s.field("master_replid")
    r.close()
    s.await_field("connected_slaves", 0)
    s.ask("SET", "a", "2")
    b.see("writes without replicas are kept", s.fields(*BACKLOG))
    for size in ("1", "20000", "1mb", "100mb", "16384", "0", "-1", "x"):
        b.see("CONFIG SET repl-backlog-size " + size, s.ask("CONFIG", "SET", "repl-backlog-size", size))
        b.see("... GET", s.ask("CONFIG", "GET", "repl-backlog-size"))
        b.see("... INFO", s.fields(*BACKLOG))
    b.see("DEBUG CHANGE-REPL-ID", s.ask("DEBUG", "CHANGE-REPL-ID"))
    b.see("... INFO", s.fields(*BACKLOG, "master_replid"))
    b.see("... another", own != s.field("master_replid"))
    r = b.replica(s)
    r.send("PSYNC", own, "15")
    b.see("the old name", r.filled_line().split(b" ")[0])


def backlog_ttl(b):
    s = b.server(*DIRECT, "--repl-backlog-ttl", "1")
    r = b.replica(s)
    r.full()
    r.stream("x")
    own = s.field("master_replid")
    r.close()
    s.await_field("repl_backlog_active", 0)
    b.see("freed", s.fields(*BACKLOG))
    b.see("another name", own != s.field("master_replid"))
    s.ask("SET", "a", "1")
    b.see("writes", s.fields(*BACKLOG))
    b.see("logged", s.lines("Replication backlog freed"))
    r = b.replica(s)
    r.send("PSYNC", own, "15")
    b.see("the old name", r.filled_line())
    b.see("a backlog", s.fields(*BACKLOG))


def backlog_trim(b):
    """The bytes that are trimmed depend on blocks; but at least the size is kept, and at most a block more."""
    s = b.server(*DIRECT, "--repl-backlog-size", "16384")
    r = b.replica(s)
    r.full()
    for i in range(200):
        s.ask("SET", "k", "x" * 1000)
        r.send("REPLCONF", "ACK", s.field("master_repl_offset"))
    r.stream("x")
    import time
    time.sleep(1)
    s.ask("SET", "k", "1")
    kept = int(s.field("repl_backlog_histlen"))
    b.see("kept enough, and not too much", (kept >= 16384, kept <= 16384 * 2 + 2000))
    first = int(s.field("repl_backlog_first_byte_offset"))
    b.see("begin and length", first + kept - 1 == int(s.field("master_repl_offset")))
    one = b.replica(s)
    one.send("PSYNC", s.field("master_replid"), first)
    b.see("from the first byte", one.line().split(b" ")[0])
    one.close()
    one = b.replica(s)
    one.send("PSYNC", s.field("master_replid"), first - 1)
    b.see("from before it", one.filled_line().split(b" ")[0])


def restart(b):
    """The second replication ID after a restart from a snapshot, and the offsets from which a replica may continue."""
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    r.stream("x")
    own, end = s.field("master_replid"), int(s.field("master_repl_offset"))
    r.close()
    b.see("SAVE", s.ask("SAVE"))
    s.kill()
    s.begin()
    b.see("a new name", s.field("master_replid") != own)
    b.see("the old one is its second", s.field("master_replid2") == own)
    b.see("INFO", s.fields(*BACKLOG))
    for offset in (end + 1, end, end + 2, 1):
        r = b.replica(s)
        r.send("PSYNC", own, offset)
        b.see("from the end by %d" % (offset - end), r.filled_line().split(b" ")[0])
        if offset == end + 1:
            b.see("stream", r.stream("y"))
        r.close()
        s.await_field("connected_slaves", 0)
    b.see("logged", s.lines("Partial resynchronization", "Unable to partial"))


# ---- Two connections ---------------------------------------------------------------------------------------------


def _dual(b, s, **options):
    return b.replica(s, capa=("eof", "psync2", "dual-channel"), **options)


DUAL = ("--dual-channel-replication-enabled", "yes", "--repl-diskless-sync", "yes")


def dual_channel(b):
    for db in (None, "3"):
        s = b.server(*DUAL)
        if db:
            first = b.replica(s)
            first.full()
            s.ask("SELECT", db)
            s.ask("SET", "a", "1")
            first.close()
            s.ask("SELECT", "0")
            s.await_field("connected_slaves", 0)
        m = _dual(b, s)
        b.see("PSYNC", m.ask("PSYNC", "?", "-1"))
        b.see_replication(s, "reserved", ("master_repl_offset", "repl_backlog_histlen"))
        d = b.replica(s, hello=False)
        b.see("second: REPLCONF", d.ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1",
            "listening-port", 7777,
                                          "version", "9.1.2"))
        d.raw(b"SYNC\r\n")
        line = d.filled_line()
        words = line[8:].split()
        b.see("second: $ENDOFF", (line[:8], words[:3], len(words)))
        mine = [c for c in s.clients("replica")]
        b.see("its number is the client's", [c[b"id"] for c in mine] == [words[3]])
        header, data = d.marked()
        b.see("second: header", header[:5] + data[:9])
        s.await_field("slave0", lambda value: b"state=rdb_transmitted" in value)
        s.ask("SET", "later", "1")
        b.see_replication(s, "transmitted", ("master_repl_offset", "repl_backlog_histlen"))
        b.see("ROLE", s.ask("ROLE"))
        for bad in (b"0", b"999", b"x"):
            b.see("set-rdb-client-id %s" % bad, m.ask("REPLCONF", "set-rdb-client-id", bad))
        b.see("set-rdb-client-id", m.ask("REPLCONF", "set-rdb-client-id", words[3]))
        m.send("PSYNC", words[1], int(words[0]) + 1)
        b.see("first: PSYNC", m.line())
        b.see("first: stream", m.until(encode(["SET", "later", "1"])))
        b.see("second: end", d.end())
        b.see_replication(s, "beside", ("master_repl_offset", "repl_backlog_histlen"))
        b.see("ROLE", s.ask("ROLE"))
        m.send("REPLCONF", "ACK", int(words[0]))
        s.await_field("slave0", lambda value: b"state=online" in value)
        b.see_replication(s, "online", ("master_repl_offset", "repl_backlog_histlen"))
        b.see("stream", m.stream("x"))
        b.see("counted", s.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats"))
        b.see("logged", s.lines("Replica 127", "Full resync", "Starting BGSAVE", "Synchronization with",
                                "Background RDB transfer terminated", "Partial resync", "Replication backlog"))
        s.stop()


def dual_channel_early(b):
    """The first connection sends PSYNC before the dataset is sent."""
    s = b.server(*DUAL, "--rdb-key-save-delay", "100000")
    for i in range(20):
        s.ask("SET", "k%d" % i, "v")
    m = _dual(b, s)
    m.ask("PSYNC", "?", "-1")
    d = b.replica(s, hello=False)
    d.ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1", "version", "9.1.2")
    d.raw(b"SYNC\r\n")
    words = d.filled_line()[8:].split()
    b.see_replication(s, "the child writes")
    b.see("set-rdb-client-id", m.ask("REPLCONF", "set-rdb-client-id", words[3]))
    m.send("PSYNC", words[1], int(words[0]) + 1)
    b.see("first: PSYNC", m.line())
    b.see_replication(s, "and the stream flows")
    b.see("CLIENT LIST", [(c[b"flags"], c[b"cmd"], c[b"user"]) for c in s.clients("replica")])
    s.ask("SET", "z", "1")
    b.see("the stream", m.until(encode(["SET", "z", "1"])))
    b.see("WAIT", s.ask("WAIT", "1", "10"))
    m.send("REPLCONF", "ACK", int(words[0]) + 1)
    s.await_field("slave1", lambda value: b"state=online" in value)
    b.see_replication(s, "online before the other has its dataset", ("master_repl_offset", "repl_backlog_histlen"))
    s.ask("CONFIG", "SET", "rdb-key-save-delay", "0")


def dual_channel_refused(b):
    s = b.server("--dual-channel-replication-enabled", "yes", "--repl-diskless-sync", "no")
    m = _dual(b, s)
    m.send("PSYNC", "?", "-1")
    b.see("not diskless", m.filled_line().split(b" ")[0])
    b.see("logged", s.lines("Dual channel"))
    s = b.server("--repl-diskless-sync", "yes")
    m = _dual(b, s)
    m.send("PSYNC", "?", "-1")
    b.see("not enabled", m.filled_line().split(b" ")[0])
    d = b.replica(s, hello=False)
    b.see("rdb-channel though", d.ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1"))
    d.raw(b"SYNC\r\n")
    b.see("... gets", d.filled_line().split(b" ")[0][:8])
    s.ask("CONFIG", "SET", "dual-channel-replication-enabled", "yes")
    m2 = _dual(b, s)
    b.see("enabled now", m2.ask("PSYNC", "?", "-1"))
    b.see("... and asked again", m2.ask("PSYNC", "?", "-1"))
    s.ask("CONFIG", "SET", "repl-diskless-sync", "no")
    b.see("... not diskless meanwhile", m2.ask("PSYNC", "?", "-1").split(b" ")[0])
    for words in (["SYNC"],):
        m3 = _dual(b, s)
        m3.send(*words)
        b.see("%r of who can do with two" % words, m3.filled_line()[:5])


def _beside(b, s):
    """Returns a second connection that has got the dataset, and its $ENDOFF."""
    d = b.replica(s, hello=False)
    d.ask("REPLCONF", "capa", "eof", "rdb-only", "1", "rdb-channel", "1", "version", "9.1.2")
    d.raw(b"SYNC\r\n")
    words = d.filled_line()[8:].split()
    d.marked()
    return d, words


def dual_channel_without_id(b):
    s = b.server(*DUAL)
    m = _dual(b, s)
    m.ask("PSYNC", "?", "-1")
    d, words = _beside(b, s)
    s.await_field("slave0", lambda value: b"state=rdb_transmitted" in value)
    m.send("PSYNC", words[1], int(words[0]) + 1)
    b.see("PSYNC without set-rdb-client-id", m.line())
    b.see_replication(s, "it is")
    d.close()


def dual_channel_left_alone(b):
    s = b.server(*DUAL)
    m = _dual(b, s)
    m.ask("PSYNC", "?", "-1")
    d, words = _beside(b, s)
    b.see("nobody asks for the stream: its end", d.end())
    b.see_replication(s, "afterwards")
    b.see("too late", m.ask("REPLCONF", "set-rdb-client-id", words[3]).replace(words[3], b"CLIENT"))
    m.send("PSYNC", words[1], int(words[0]) + 1)
    b.see("PSYNC", m.line().split(b" ")[0])


# ---- Its end, and other roles ------------------------------------------------------------------------------------


def shutdown(b):
    for words in (["SHUTDOWN"], ["SHUTDOWN", "NOSAVE"], ["SHUTDOWN", "NOW"], ["SHUTDOWN", "NOSAVE", "NOW", "FORCE"]):
        s = b.server(*DIRECT, "--shutdown-timeout", "2")
        r = b.replica(s)
        r.full()
        s.ask("SET", "a", "1")
        r.until(encode(["SET", "a", "1"]))
        s.link.send(*words)
        b.see("%r: what it is sent" % words, r.end())
        b.see("... exit", s.end())
        b.see("... logged", [re.sub(rb"lag=-?\d+", b"lag=?", line) for line in s.lines(
            "Waiting for replicas", "Lagging replica", "0 of", "1 of", "Replicas", "All")])
    s = b.server(*DIRECT, "--shutdown-timeout", "20")
    r = b.replica(s)
    r.full()
    s.ask("SET", "a", "1")
    other = s.connect()
    s.link.send("SHUTDOWN")
    b.see("GETACK", r.until(encode(["REPLCONF", "GETACK", "*"]))[-37:])
    b.see("INFO", [line for line in other.ask("INFO",
        "server").split(b"\r\n") if line.startswith(b"shutdown_in")] != [])
    b.see("SHUTDOWN ABORT", other.ask("SHUTDOWN", "ABORT"))
    b.see("... its client", s.link.reply())
    b.see("again ABORT", other.ask("SHUTDOWN", "ABORT"))
    s = b.server(*DIRECT, "--shutdown-timeout", "20")
    r = b.replica(s)
    r.full()
    s.ask("SET", "a", "1")
    other = s.connect()
    s.connect().send("SHUTDOWN")
    s.await_field("paused_reason", "shutdown_in_progress", section="clients")
    other.send("SET", "late", "1")
    look = s.connect()
    while b"master_repl_offset:" in (text := look.ask("INFO", "replication")):
        r.send("REPLCONF", "ACK", text.split(b"master_repl_offset:")[1].split(b"\r\n")[0])
    b.see("... a write meanwhile", other.end())
    b.see("... exit", s.end())
    b.see("... logged", s.lines("1 of", "0 of"))
