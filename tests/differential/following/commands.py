"""commands.py -- primaries and replicas: FAILOVER, WAIT, WAITAOF, REPLICAOF, and their effects on clients.

SPDX-License-Identifier: BSD-3-Clause
"""

import time

from bench import ID, OURS_ALONE, encode

DIRECT = ("--repl-diskless-sync", "yes")


def _pair(b, *options):
    p, r = b.server(*DIRECT, *options), b.server(*DIRECT, *options)
    r.follow(p)
    p.await_field("master_repl_offset", 14)  # the ping at the start of a replication stream
    return p, r


def _in_step(p, r):
    p.bench.wait(lambda: p.field("master_repl_offset") == r.field("slave_repl_offset"), "the replica")
    p.await_field("slave0", lambda value: b"offset=%s," % p.field("master_repl_offset") in value)


# ---- REPLICAOF, ROLE ---------------------------------------------------------------------------------------------


def replicaof(b):
    s = b.server()
    for words in (["NO", "ONE"], ["no", "one"], ["No", "oNE"], ["127.0.0.1", "x"], ["127.0.0.1", ""], ["127.0.0.1",
        "65536"],
                  ["127.0.0.1", "-1"], ["127.0.0.1", "1.5"], ["127.0.0.1", " 1"], ["NO", "x"], ["x", "ONE"], ["",
                  "x"], ["no", "x"],
                  ["127.0.0.1", "99999999999999999999"]):
        b.see("REPLICAOF %r" % words, s.ask("REPLICAOF", *words))
        b.see("SLAVEOF %r" % words, s.ask("SLAVEOF", *words))
    p = b.primary()
    for words in (["127.0.0.1", p.port], ["127.0.0.1", p.port], ["localhost", p.port], ["LOCALHOST", p.port],
        ["127.0.0.1", "0"],
                  ["no.such.host.invalid", "1"], ["::1", "1"]):
        b.see("REPLICAOF %r" % words, b.plain(s.ask("REPLICAOF", *words)))
        b.see("... ROLE", s.ask("ROLE").split(b"\r\n")[:-4])
        b.see("... INFO", s.fields("role", "master_host", "master_port", "master_link_status"))
        b.see("... CONFIG GET", (s.ask("CONFIG", "GET", "replicaof"), s.ask("CONFIG", "GET", "slaveof")))
    b.see("in a transaction", [s.ask(*words) for words in (["MULTI"], ["REPLICAOF", "NO", "ONE"], ["ROLE"], ["EXEC"])])
    b.see("CONFIG SET", [s.ask("CONFIG", "SET", name, value) for name, value in (
        ("replicaof", "127.0.0.1 1"), ("slaveof", "no one"), ("replicaof", ""))])


def role(b):
    p, r = _pair(b)
    _in_step(p, r)
    b.see("ROLE", (p.ask("ROLE"), r.ask("ROLE")))
    for s, name in ((p, "primary"), (r, "replica")):
        s.ask("HELLO", "3")
        b.see("ROLE in RESP3, " + name, s.ask("ROLE"))
        b.see("HELLO, " + name, [word for word in s.ask("HELLO", "2").split(b"\r\n") if word in (b"master",
            b"replica", b"slave")])
    b.see_replication(p, "primary")
    b.see_replication(r, "replica")
    b.see("stats", (p.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats"),
                    r.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats")))
    b.see("CLIENT LIST", ([c[b"flags"] for c in p.clients("replica")], [c[b"flags"] for c in r.clients("primary")]))


def min_replicas(b):
    p, r = _pair(b)
    _in_step(p, r)
    for count, lag in (("1", "10"), ("2", "10"), ("2", "0"), ("0", "10"), ("2", "10")):
        b.see("min-replicas-to-write %s, lag %s" % (count, lag), p.ask(
            "CONFIG", "SET", "min-replicas-to-write", count, "min-replicas-max-lag", lag))
        b.see("INFO", p.fields("min_slaves_good_slaves"))
        for words in (["SET", "a", "1"], ["GET", "a"], ["DEL", "nothing"], ["EVAL", "return 1", "0"], ["EVAL",
            "#!lua\nreturn 1", "0"],
                      ["EVAL", "#!lua flags=no-writes\nreturn 1", "0"], ["EVAL", "return redis.call('SET', 'a', 1)",
                      "0"],
                      ["EVAL_RO", "return 1", "0"], ["PUBLISH", "a", "b"], ["PFCOUNT", "x"], ["FLUSHALL"], ["BLPOP",
                      "x", "0.01"],
                      ["SORT", "x", "STORE", "y"], ["SORT", "x"], ["GETEX", "a"], ["FUNCTION", "FLUSH"], ["SCRIPT",
                      "FLUSH"], ["SWAPDB", "0", "1"],
                      ["RESTORE", "a", "0", "x"], ["MIGRATE", "h", "1", "nokey", "0", "1"]):
            b.see("%s %s: %s" % (count, lag, " ".join(words)), p.ask(*words))
        b.see("a transaction", [p.ask(*words) for words in (["MULTI"], ["SET", "a", "1"], ["GET", "a"], ["EXEC"])])
    b.see("replicas are not asked", r.ask("CONFIG", "SET", "min-replicas-to-write", "5"))
    b.see("... READONLY", r.ask("SET", "a", "1"))
    b.see("... INFO", r.fields("min_slaves_good_slaves"))
    one = p.connect()
    one.ask("MULTI")
    p.ask("CONFIG", "SET", "min-replicas-to-write", "0")
    b.see("queued", one.ask("SET", "a", "1"))
    p.ask("CONFIG", "SET", "min-replicas-to-write", "5")
    b.see("EXEC then", one.ask("EXEC"))


# ---- WAIT, WAITAOF -----------------------------------------------------------------------------------------------


def wait(b):
    p, r = _pair(b)
    p.ask("SET", "a", "1")
    for words in (["1", "0"], ["0", "0"], ["2", "50"], ["1", "50"], ["-1", "50"], ["-5", "0"], ["x", "0"], ["1",
        "x"], ["1", "-1"],
                  ["1", ""], ["", "0"], ["1", "1.5"], ["9223372036854775807", "10"], ["9223372036854775808", "10"],
                  ["1", "9223372036854775807"], ["2", "9223372036854775808"]):
        b.see("WAIT %r" % words, p.ask("WAIT", *words))
    b.see("on a replica", r.ask("WAIT", "0", "0"))
    b.see("... WAITAOF", r.ask("WAITAOF", "0", "0", "0"))
    b.see("... errors come before", r.ask("WAIT", "x", "0"))
    r.kill()
    p.await_field("connected_slaves", 0)
    p.ask("SET", "a", "2")
    one = p.connect()
    one.send("WAIT", "1", "0")
    p.await_field("blocked_clients", 1, section="clients")
    b.see("CLIENT UNBLOCK", p.ask("CLIENT", "UNBLOCK",
        [c[b"id"] for c in p.clients("normal") if c[b"cmd"] == b"wait"][0]))
    b.see("... WAIT", one.heard())
    one.send("WAIT", "1", "0")
    p.await_field("blocked_clients", 1, section="clients")
    b.see("... ERROR", p.ask("CLIENT", "UNBLOCK",
        [c[b"id"] for c in p.clients("normal") if c[b"cmd"] == b"wait"][0], "ERROR"))
    b.see("... WAIT", one.heard())
    b.see("CLIENT LIST", [c[b"flags"] for c in p.clients("normal")])


def waitaof(b):
    p, r = _pair(b, "--appendonly", "yes", "--appendfsync", "always")
    r.await_field("aof_rewrite_in_progress", 0, section="persistence")
    r.await_field("aof_rewrite_scheduled", 0, section="persistence")
    p.ask("SET", "a", "1")
    for words in (["1", "1", "0"], ["0", "1", "0"], ["1", "0", "0"], ["0", "0", "0"], ["1", "2", "50"], ["2", "0",
        "0"], ["-1", "0", "0"],
                  ["x", "0", "0"], ["0", "-1", "0"], ["0", "x", "0"], ["0", "0", "-1"], ["0", "0", "x"]):
        b.see("WAITAOF %r" % words, p.ask("WAITAOF", *words))
    b.see("in a transaction", [p.ask(*words) for words in (["MULTI"], ["SET", "a", "2"], ["WAITAOF", "1", "1", "0"],
        ["EXEC"])][:3])
    one = p.connect()
    one.send("WAITAOF", "1", "9", "0")
    p.await_field("blocked_clients", 1, section="clients")
    p.ask("CONFIG", "SET", "appendonly", "no")
    b.see("the log is turned off", one.heard())
    b.see("... WAITAOF 1", p.ask("WAITAOF", "1", "0", "0"))
    b.see("... WAITAOF 0", p.ask("WAITAOF", "0", "1", "0"))
    r.ask("CONFIG", "SET", "appendonly", "no")
    b.see("... at the replica, too", p.ask("WAITAOF", "0", "2", "50"))


# ---- FAILOVER ----------------------------------------------------------------------------------------------------


def failover_errors(b):
    s = b.server(*DIRECT)
    variants = (
        [], ["ABORT"], ["abort", "x"], ["x"], ["TO"], ["TO", "h"], ["TO", "h", "x"], ["TO", "h", "1", "FORCE"],
            ["FORCE"],
        ["TIMEOUT"], ["TIMEOUT", "x"], ["TIMEOUT", "0"], ["TIMEOUT", "-1"], ["TIMEOUT", "5", "TIMEOUT", "6"],
            ["FORCE", "FORCE"],
        ["TO", "h", "1", "TO", "h", "2"], ["TO", "h", "1", "FORCE", "TIMEOUT", "10"], ["FORCE", "TIMEOUT", "10"],
        ["TIMEOUT", "10", "ABORT"], ["TO", "h", "1", "TIMEOUT", "0"], ["TO", "h", "1", "ABORT"], ["ABORT", "ABORT"])
    for words in variants:
        b.see("nobody: FAILOVER %r" % words, s.ask("FAILOVER", *words))
    r = b.replica(s)
    r.full()
    for words in variants[1:]:
        b.see("a replica: FAILOVER %r" % words, s.ask("FAILOVER", *words))
    b.see("TO who it is, under another port", s.ask("FAILOVER", "TO", "127.0.0.1", "1"))
    slow = b.server(*DIRECT, "--repl-diskless-sync-delay", "100")
    one = b.replica(slow)
    one.send("PSYNC", "?", "-1")
    slow.await_field("connected_slaves", 1)
    b.see("not online", slow.ask("FAILOVER", "TO", "127.0.0.1", "7777"))
    p = b.primary()
    s2 = b.server()
    s2.ask("REPLICAOF", "127.0.0.1", p.port)
    for words in variants:
        b.see("of a replica: FAILOVER %r" % words, s2.ask("FAILOVER", *words))


def failover_waits(b):
    s = b.server(*DIRECT)
    r = b.replica(s)
    r.full()
    s.ask("SET", "a", "1")
    r.until(encode(["SET", "a", "1"]))
    b.see("FAILOVER", s.ask("FAILOVER", "TO", "127.0.0.1", "7777", "TIMEOUT", "100000"))
    b.see_replication(s, "waits")
    b.see("paused", s.fields("paused_reason", "paused_actions", section="clients"))
    b.see("again", s.ask("FAILOVER"))
    b.see("REPLICAOF", (s.ask("REPLICAOF", "NO", "ONE"), s.ask("REPLICAOF", "127.0.0.1", "1")))
    other = b.replica(s)
    b.see("PSYNC", other.ask("PSYNC", "?", "-1"))
    b.see("ROLE", s.ask("ROLE"))
    b.see("reads", s.ask("GET", "a"))
    writer = s.connect()
    writer.send("SET", "b", "1")
    s.await_field("master_failover_state", "waiting-for-sync")
    b.see("ABORT", s.ask("FAILOVER", "ABORT"))
    b.see("the write", writer.heard())
    b.see_replication(s, "aborted")
    b.see("FAILOVER", s.ask("FAILOVER", "TO", "127.0.0.1", "7777", "TIMEOUT", "100"))
    s.await_field("master_failover_state", "no-failover")
    b.see("logged", [line for line in s.lines("FAILOVER") if b"requested" in line or b"aborted" in line])
    b.see("FAILOVER", s.ask("FAILOVER", "TIMEOUT", "100"))
    s.await_field("master_failover_state", "no-failover")
    b.see("logged", [line for line in s.lines("FAILOVER") if b"requested" in line or b"aborted" in line])


def _target(b, answer, force):
    """A failover to a fake replica: the requests that it gets, and the effect of its reply."""
    p = b.primary()
    s = b.server(*DIRECT)
    r = b.replica(s, port=p.port)
    r.full()
    s.ask("SET", "a", "1")
    r.until(encode(["SET", "a", "1"]))
    if not force:
        r.send("REPLCONF", "ACK", s.field("master_repl_offset"))
        s.await_field("slave0", lambda value: b"offset=64" in value)
    b.see("FAILOVER", s.ask("FAILOVER", "TO", "127.0.0.1", p.port, *(["FORCE", "TIMEOUT", "50"] if force else [])))
    m = p.session()
    b.see("is asked", m.until_psync())
    b.see_replication(s, "in progress")
    b.see("ROLE", s.ask("ROLE"))
    b.see("REPLICAOF", s.ask("REPLICAOF", "NO", "ONE"))
    b.see("READONLY", s.ask("SET", "a", "2"))
    moved = s.connect()
    moved.ask("CLIENT", "CAPA", "redirect")
    moved.send("SET", "a", "3")
    m.raw(answer)
    b.wait(lambda: s.field("master_failover_state") == b"no-failover", "the end of the failover")
    b.see("who is redirected", moved.heard())
    b.see("role", s.fields("role", "connected_slaves", "master_link_status", "master_replid", "master_replid2",
        "second_repl_offset"))
    gone = s.field("connected_slaves") == b"0"
    b.see("its replica", [line for line in r.end().split(b"\r\n") if b"(" in line] if gone else "stays")
    b.see("write", s.ask("SET", "a", "4"))
    b.see("logged", [line for line in s.lines("FAILOVER") if b"requested" in line or b"aborted" in line])
    return s, p, m


def failover_accepted(b):
    s, p, m = _target(b, b"+CONTINUE %s\r\n" % ID, False)
    b.see("the link", s.fields("master_link_status"))
    m.raw(encode(["SET", "b", "1"]))
    b.wait(lambda: s.ask("GET", "b") == b"$1\r\n1\r\n", "the stream")


def failover_rejected(b):
    _target(b, b"-ERR PSYNC FAILOVER replid must match my replid.\r\n", False)


def failover_loading(b):
    _target(b, b"-LOADING x\r\n", False)


def failover_forced(b):
    _target(b, b"+FULLRESYNC %s 5\r\n" % ID, True)


def failover_unreachable(b):
    p = b.primary()
    p.close()
    s = b.server(*DIRECT)
    r = b.replica(s, port=p.port)
    r.full()
    r.send("REPLCONF", "ACK", "14")
    s.await_field("slave0", lambda value: b"offset=14" in value)
    b.see("FAILOVER", s.ask("FAILOVER"))
    s.await_field("master_failover_state", "failover-in-progress")
    b.see_replication(s, "in progress")
    b.see("writes", s.ask("SET", "a", "1"))
    b.see("paused", s.fields("paused_reason", "paused_actions", section="clients"))
    b.see("ABORT", s.ask("FAILOVER", "ABORT"))
    b.see_replication(s, "aborted")
    b.see("writes", s.ask("SET", "a", "1"))
    b.see("logged", [line for line in s.lines("FAILOVER") if b"requested" in line or b"aborted" in line])


def failover_real(b):
    p, r = _pair(b)
    p.ask("SET", "a", "1")
    _in_step(p, r)
    waits = p.connect()
    waits.send("BLPOP", "x", "0")
    moved = p.connect()
    moved.ask("CLIENT", "CAPA", "redirect")
    moved.send("BLPOP", "x", "0")
    p.await_field("blocked_clients", 2, section="clients")
    old = p.field("master_replid")
    b.see("FAILOVER", p.ask("FAILOVER", "TO", "127.0.0.1", r.port, "TIMEOUT", "20000"))
    p.await_field("role", "slave")
    p.await_field("master_link_status", "up")
    b.see("who waited", (waits.heard(), waits.heard()))
    b.see("who waited, redirected", moved.heard())
    b.see("its second name", (r.field("master_replid2") == old, p.field("master_replid2") == old,
                              p.field("master_replid") == r.field("master_replid")))
    b.see("roles", (p.fields("role", "master_failover_state", "connected_slaves"), r.fields("role",
        "master_failover_state", "connected_slaves")))
    b.see("counted", (p.fields("sync_full", "sync_partial_ok", section="stats"), r.fields("sync_full",
        "sync_partial_ok", section="stats")))
    b.see("write", (r.ask("SET", "b", "1"), p.ask("SET", "b", "1")))
    b.see("logged", (p.lines("FAILOVER requested", "Before turning"),
        [line.split(b"'")[0] for line in r.lines("Failover request", "PRIMARY MODE")]))


def psync_failover(b):
    """PSYNC ... FAILOVER to a replica."""
    p = b.primary()
    s = b.server()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    m = p.session()
    m.until_psync()
    m.give(b"REDIS0011\xff" + bytes(8), 10)
    s.await_field("master_link_status", "up")
    one = b.replica(s)
    b.see("another name", one.ask("PSYNC", "1234567890123456789012345678901234567890", "11", "FAILOVER"))
    b.see("? ", one.ask("PSYNC", "?", "11", "FAILOVER"))
    b.see("role", s.fields("role"))
    one.send("PSYNC", ID, "11", "FAILOVER")
    b.see("its name", one.line())
    b.see_replication(s, "promoted")
    b.see("of a primary", b.replica(s).ask("PSYNC", ID, "11", "FAILOVER"))


# ---- Real pairs --------------------------------------------------------------------------------------------------


def chain(b):
    p, m, r = (b.server(*DIRECT) for _ in range(3))
    m.follow(p)
    r.follow(m)
    p.ask("SET", "a", "1")
    b.wait(lambda: r.ask("GET", "a") == b"$1\r\n1\r\n", "the chain")
    b.wait(lambda: p.field("master_repl_offset") == r.field("slave_repl_offset"), "the chain")
    m.await_field("slave0", lambda value: b"offset=64," in value)
    b.see_replication(m, "middle")
    b.see("names", [s.field("master_replid") == p.field("master_replid") for s in (m, r)])
    b.see("offsets", [s.field("master_repl_offset") for s in (p, m, r)])
    b.see("WAIT counts who is next", (p.ask("WAIT", "2", "100")))
    b.see("NO ONE in the middle", m.ask("REPLICAOF", "NO", "ONE"))
    r.await_field("master_link_status", "up")
    b.wait(lambda: r.field("master_replid") == m.field("master_replid"), "the last one to follow")
    b.see("counted", [s.fields("sync_full", "sync_partial_ok", "sync_partial_err", section="stats") for s in (p, m, r)])
    m.ask("SET", "b", "1")
    b.wait(lambda: r.ask("GET", "b") == b"$1\r\n1\r\n", "the new stream")
    b.see("back behind the first", m.ask("REPLICAOF", "127.0.0.1", p.port))
    m.await_field("master_link_status", "up")
    r.await_field("master_link_status", "up")
    b.wait(lambda: r.field("master_replid") == p.field("master_replid"), "the last one to follow")
    b.see("keys", [(s.ask("GET", "a"), s.ask("GET", "b")) for s in (p, m, r)])


def client_kill(b):
    p, r = _pair(b)
    _in_step(p, r)
    for s, words in ((p, ["TYPE", "replica"]), (p, ["TYPE", "slave"]), (r, ["TYPE", "primary"]), (r, ["TYPE",
        "master"]),
                     (p, ["TYPE", "primary"]), (r, ["TYPE", "replica"]), (p, ["TYPE", "slaves"])):
        before = int(p.field("sync_partial_ok", "stats"))
        answer = s.ask("CLIENT", "KILL", *words)
        b.see("%r" % words, answer)
        if answer == b":1\r\n":
            b.wait(lambda: int(p.field("sync_partial_ok", "stats")) > before, "the link")
            r.await_field("master_link_status", "up")
    b.see("counted", p.fields("sync_full", "sync_partial_err", section="stats"))
    me = r.clients("primary")[0]
    b.see("by address", r.ask("CLIENT", "KILL", "ADDR", me[b"addr"]))
    r.await_field("master_link_status", "up")
    me = r.clients("primary")[0]
    b.see("by ID", r.ask("CLIENT", "KILL", "ID", me[b"id"]))
    r.await_field("master_link_status", "up")
    b.see("of a kind, by USER", p.ask("CLIENT", "KILL", "USER", "default", "TYPE", "replica"))
    r.await_field("master_link_status", "up")


def pause_with_replicas(b):
    p, r = _pair(b)
    _in_step(p, r)
    b.see("PAUSE of a replica", r.ask("CLIENT", "PAUSE", "100000", "WRITE"))
    p.ask("SET", "a", "1")
    time.sleep(0.3)
    b.see("... the stream waits", r.ask("EXISTS", "a"))
    b.see("... UNPAUSE", r.ask("CLIENT", "UNPAUSE"))
    b.wait(lambda: r.ask("GET", "a") == b"$1\r\n1\r\n", "the stream")
    p.ask("CLIENT", "PAUSE", "100000", "WRITE")
    one = p.connect()
    one.send("WAIT", "1", "0")
    b.see("WAIT of one who has written nothing", one.heard())
    p.ask("CLIENT", "UNPAUSE")


def debug_and_others(b):
    p, r = _pair(b)
    _in_step(p, r)
    before = p.field("master_replid")
    b.see("DEBUG CHANGE-REPL-ID", p.ask("DEBUG", "CHANGE-REPL-ID"))
    b.see("another", before != p.field("master_replid"))
    b.see("replicas stay", p.fields("connected_slaves", "master_replid2", "second_repl_offset"))
    for words in (["DEBUG", "REPLICATE", "replica", "SET", "x", "1"], ["DEBUG", "REPLICATE", "AOF", "SET", "x", "1"],
                  ["DEBUG", "REPLICATE", "all", "SET", "x", "1"], ["DEBUG", "REPLICATE", "replica"], ["DEBUG",
                  "REPLICATE"],
                  ["DEBUG", "REPLICATE", "x", "SET", "x", "1"], ["DEBUG", "PAUSE-AFTER-FORK", "0"], ["DEBUG",
                  "DELAY-RDB-CLIENT-FREE-SECONDS", "5"],
                  ["DEBUG", "DICT-RESIZING", "1"], ["DEBUG", "REPLYBUFFER", "x"], ["DEBUG", "REPL-PAUSE", "x"],
                  ["DEBUG", "REPL-PAUSE", "clear"],
                  ["DEBUG", "SLEEP-AFTER-FORK-SECONDS", "0"], ["DEBUG", "WAIT-BEFORE-REAP"], 
                  ["DEBUG", "REPLICATE", "replica", "nosuch", "x", "1"]):
        b.see(" ".join(words), p.ask(*words))
    b.see("keys", (p.ask("GET", "x")))


def shutdown_pair(b):
    p, r = _pair(b)
    p.ask("SET", "a", "1")
    p.link.send("SHUTDOWN", "NOSAVE")
    b.see("exit", p.end())
    b.see("logged", p.lines("Waiting for replicas", "1 of", "0 of"))
    r.await_field("master_link_status", "down")
    b.see("the replica has it", r.ask("GET", "a"))
    b.see("INFO", r.fields("master_link_status", "master_sync_in_progress", "slave_repl_offset",
        "master_link_down_since_seconds")[:3])


def memory_fields(b):
    p, r = _pair(b)
    _in_step(p, r)
    names = [b"mem_clients_slaves", b"mem_replication_backlog", b"mem_total_replication_buffers",
        b"mem_replicas_repl_buffer",
             b"mem_clients_normal"]
    for s, what in ((p, "primary"), (r, "replica")):
        found = s.info("memory")
        b.see(what + ": order", [name for name in found if name in names])
        found = s.info("stats")
        b.see(what + ": stats", [name for name in found if (b"sync" in name or b"repl" in name or b"unexpected" in name)
                                 and not name.startswith(b"sync_full_")])
        b.see(what + ": replication", [name for name in s.info() if name not in OURS_ALONE])
        b.see(what + ": persistence", [name for name in s.info("persistence") if b"loading" in name])
