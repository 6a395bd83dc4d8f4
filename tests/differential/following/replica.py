"""replica.py -- a fake primary sends every valid reply, and many invalid ones.

SPDX-License-Identifier: BSD-3-Clause
"""

from bench import EMPTY, ID, NOBODY, OTHER_ID, encode, snapshot

DATA = snapshot((b"key", b"value"), (b"k", b"1"))
ACK0 = encode(["REPLCONF", "ACK", "0"])
STATE = ("role", "master_link_status", "master_sync_in_progress", "slave_read_repl_offset", "slave_repl_offset",
         "master_replid", "master_replid2", "master_repl_offset", "second_repl_offset", "repl_backlog_active",
         "repl_backlog_first_byte_offset", "repl_backlog_histlen", "connected_slaves")
LOGGED = ("PRIMARY <-> REPLICA sync started", "PRIMARY <-> REPLICA sync: Loading", "PRIMARY <-> REPLICA sync: Finished",
          "PRIMARY <-> REPLICA sync: Primary accepted", "PRIMARY <-> REPLICA sync: Swapping",
          "PRIMARY <-> REPLICA sync: Discarding", "Connecting to PRIMARY", "Reconnecting to PRIMARY",
              "Non blocking", "Full resync from primary", "Successful partial", "Primary replication ID changed",
          "Trying a partial", "Partial resynchronization not possible", "Primary replied to PING", "Done loading RDB",
          "Primary does not support", "PRIMARY aborted", "Connection with primary lost", "Caching the disconnected",
          "Unable to AUTH", "Setting secondary", "Before turning")


def _follow(b, s, p):
    """Makes it a replica; returns its next connection."""
    b.see("REPLICAOF", s.ask("REPLICAOF", "127.0.0.1", p.port))
    return p.session()


def _up(b, *options, data=DATA, offset=0, stream=b""):
    """Returns a server with a link that is up, and the session."""
    s = b.server(*options)
    p = b.primary()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    m = p.session()
    m.until_psync()
    m.give(data, offset, stream)
    s.await_field("master_link_status", "up")
    return s, p, m


# ---- The handshake -----------------------------------------------------------------------------------------------


def handshakes(b):
    for what, options in (
            ("plain", []), ("port", ["--replica-announce-port", 1234]), ("ip", ["--replica-announce-ip", "10.1.2.3"]),
            ("both", ["--replica-announce-ip", "my.host", "--replica-announce-port", 65535]),
            ("password", ["--primaryauth", "secret"]), ("user", ["--primaryauth", "secret", "--primaryuser", "me"]),
            ("user without a password", ["--primaryuser", "me"]), ("old names", ["--masterauth", "x y",
            "--masteruser", "m"]),
            ("dual channel", ["--dual-channel-replication-enabled", "yes"]),
            ("diskless", ["--repl-diskless-load", "flush-before-load"]),
            ("diskless, dual", ["--repl-diskless-load", "swapdb", "--dual-channel-replication-enabled", "yes"]),
            ("append-only", ["--appendonly", "yes"]), ("not announced", ["--replica-announced", "no"])):
        p = b.primary()
        s = b.server(*options)
        m = _follow(b, s, p)
        b.see(what + ": by command", m.until_psync())
        b.see(what + ": ROLE", s.ask("ROLE"))
        s.stop()
        m.close()
        s = b.server("--replicaof", "127.0.0.1 %d" % p.port, *options)
        m = p.session()
        b.see(what + ": from the start", m.until_psync())
        b.see_replication(s, what)
        s.stop()
        p.close()


def handshake_refusals(b):
    """The effect of each reply: whether it continues, and its next request."""
    for word, answers in (
            (b"PING", [b"+PONG\r\n", b"+anything\r\n", b"-NOAUTH x\r\n", b"-NOPERM x\r\n",
            b"-ERR operation not permitted\r\n",
                       b"-LOADING x\r\n", b"-MASTERDOWN x\r\n", b"-ERR other\r\n", b"-BUSY x\r\n", b":1\r\n",
                       b"$4\r\nPONG\r\n",
                       b"\r\n", b"+\n"]),
            (b"listening-port", [b"-ERR x\r\n", b":1\r\n"]), (b"capa", [b"-ERR x\r\n"]), (b"version", [b"-ERR x\r\n"])):
        for answer in answers:
            p = b.primary()
            s = b.server()
            s.ask("REPLICAOF", "127.0.0.1", p.port)
            m = p.session()
            said = []
            m.sock.settimeout(5)
            try:
                said = m.until_psync({word: answer})
            except Exception as error:
                said = type(error).__name__
            b.see("%s: %r" % (word.decode(), answer), said if isinstance(said, str) else len(said))
            s.stop()
            p.close()
    for options in (["--primaryauth", "a"], ["--primaryauth", "a", "--primaryuser", "u"]):
        for answer in (b"-WRONGPASS x\r\n", b"-ERR Client sent AUTH, but no password is set\r\n", b"+OK\r\n",
            b":1\r\n"):
            p = b.primary()
            s = b.server(*options)
            s.ask("REPLICAOF", "127.0.0.1", p.port)
            m = p.session()
            try:
                said = len(m.until_psync({b"AUTH": answer}))
            except Exception as error:
                said = type(error).__name__
            b.see("AUTH %r" % answer, said)
            b.see("logged", s.lines("Unable to AUTH", "Error reply to PING"))
            s.stop()
            p.close()


def psync_answers(b):
    """Each reply to PSYNC: its next request, and whether it reconnects."""
    malformed = "a malformed answer: there it waits for ever, or goes on under a wrong name; here it comes again"
    for answer, but in ((b"-LOADING x\r\n", None), (b"-NOMASTERLINK x\r\n", None),
                        (b"-ERR unknown command 'PSYNC'\r\n", None), (b"-NOAUTH x\r\n", None), (b"-NOPERM x\r\n", None),
                        (b"+OK\r\n", None), (b"?\r\n", None), (b"+FULLRESYNC\r\n", malformed),
                        (b"+FULLRESYNC abc 1\r\n", malformed), (b"+FULLRESYNC " + ID + b"\r\n", malformed),
                        (b"+FULLRESYNC " + ID + b" x\r\n", malformed), (b"+CONTINUE abc\r\n", malformed),
                        (b"+DUALCHANNELSYNC\r\n", malformed), (b"\n\n\n-LOADING x\r\n", None)):
        p = b.primary()
        s = b.server()
        s.ask("REPLICAOF", "127.0.0.1", p.port)
        m = p.session()
        m.until_psync()
        m.raw(answer)
        try:
            m.sock.settimeout(3)
            while len(m.buf) < 6:
                m.fill(3)
            said = m.take(6)
        except Exception as error:
            said = type(error).__name__
        b.see("%r" % answer, said, but)
        if said == b"SYNC\r\n" and not but:
            s.await_field("master_sync_in_progress", 1)
        b.see("... INFO", s.fields("master_link_status", "master_sync_in_progress"), but)
        b.see("... logged", s.lines("Primary does not support", "Retrying with SYNC"), but)
        s.stop()
        p.close()


def old_style_sync(b):
    s = b.server()
    p = b.primary()
    s.ask("SET", "mine", "1")
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    m = p.session()
    m.until_psync()
    m.raw(b"-ERR unknown command\r\n")
    b.see("then", m.line())
    m.raw(b"\n\n$%d\r\n" % len(DATA) + DATA + encode(["SET", "a", "1"]))
    s.await_field("master_link_status", "up")
    b.see("GET", s.ask("GET", "key"))
    b.wait(lambda: s.ask("GET", "a") == b"$1\r\n1\r\n", "the stream")
    b.see("ROLE", s.ask("ROLE"))
    b.see("INFO", s.fields("role", "master_link_status", "slave_read_repl_offset", "slave_repl_offset",
        "repl_backlog_active"))
    b.see("INFO", s.fields("master_repl_offset"), "what this server itself counts begins at 0")
    m.raw(encode(["REPLCONF", "GETACK", "*"]))
    b.see("what it says", m.command())
    m.raw(encode(["REPLCONF", "GETACK", "*"]))
    b.see("... and then", m.command())
    m.close()
    m = p.session()
    b.see("it comes again", m.until_psync()[-1],
        "an old-style primary tells no name: there is an empty one in its place")


# ---- The dataset -------------------------------------------------------------------------------------------------


def dataset(b):
    for load in ("disabled", "on-empty-db", "flush-before-load", "swapdb"):
        for mark in (None, b"f" * 40):
            for own in (False, True):
                what = "%s%s%s" % (load, ", marked" if mark else "", ", own data" if own else "")
                s = b.server("--repl-diskless-load", load)
                if own:
                    s.ask("SET", "mine", "1")
                p = b.primary()
                s.ask("REPLICAOF", "127.0.0.1", p.port)
                m = p.session()
                b.see(what + ": PSYNC", m.until_psync()[-1])
                m.give(DATA, 100, b"" if mark else encode(["SET", "a", "1"]), mark=mark)
                first = m.command()
                b.see(what + ": first", first)
                if mark:
                    m.raw(encode(["SET", "a", "1"]))
                b.wait(lambda: s.ask("GET", "a") == b"$1\r\n1\r\n", "the stream")
                b.see(what + ": keys", [s.ask("GET", key) for key in ("key", "k", "mine", "a")])
                b.see_replication(s, what)
                b.see(what + ": ROLE", s.ask("ROLE"))
                acks = m.acks(encode(["REPLCONF", "ACK", "127"]))
                # The first one may repeat: there is one each second, whether the replication stream has arrived or not.
                b.see(what + ": second", [one for one in acks if one != first])
                b.see(what + ": logged", s.lines(*LOGGED))
                b.see(what + ": the old place", s.lines("Discarding"))
                s.stop()
                p.close()


def aux_of_the_dataset(b):
    """The database of the replication stream is that in the snapshot, if it has one."""
    for aux, wanted in (((), b"0"), (((b"repl-stream-db", b"3"),), b"3"),
                        (((b"repl-stream-db", b"3"), (b"repl-id", OTHER_ID), (b"repl-offset", b"77")), b"3"),
                        (((b"repl-stream-db", b"99"),), b"0"), (((b"repl-stream-db", b"-1"),), b"0"),
                        (((b"repl-id", OTHER_ID), (b"repl-offset", b"77")), b"0")):
        s, p, m = _up(b, data=snapshot((b"key", b"v"), aux=aux), offset=5)
        m.raw(encode(["SET", "a", "1"]))
        s.await_field("slave_repl_offset", 32)
        found = []
        for db in ("0", "3"):
            s.ask("SELECT", db)
            found.append((db, s.ask("EXISTS", "a")))
        b.see("%r" % (aux,), found)
        b.see("INFO", s.fields(*STATE))
        s.stop()
        p.close()


def states_of_a_transfer(b):
    names = STATE + ("master_last_io_seconds_ago", "master_sync_total_bytes", "master_sync_read_bytes",
                     "master_sync_left_bytes", "master_sync_perc", "master_link_down_since_seconds")
    for mark in (None, b"f" * 40):
        s = b.server()
        s.ask("SET", "mine", "1")
        p = b.primary()
        b.see("before", s.ask("ROLE"))
        m = _follow(b, s, p)
        b.wait(lambda: b"handshake" in s.ask("ROLE"), "ROLE handshake")
        b.see("handshake: ROLE", s.ask("ROLE"))
        b.see("handshake: INFO", s.fields(*names))
        m.until_psync()
        m.raw(b"\n")
        b.see("psync: ROLE", s.ask("ROLE"))
        b.see("psync: INFO", s.fields(*names))
        m.raw(b"+FULLRESYNC %s 50\r\n" % ID)
        s.await_field("master_sync_in_progress", 1)
        b.see("transfer: ROLE", s.ask("ROLE"))
        b.see("transfer: INFO", s.fields(*names))
        m.raw(b"\n\n" + (b"$EOF:%s\r\n" % mark if mark else b"$%d\r\n" % len(DATA)))
        s.await_field("master_sync_total_bytes", 0 if mark else len(DATA))
        b.see("header: INFO", s.fields(*names))
        m.raw(DATA[:20])
        if not mark:
            s.await_field("master_sync_read_bytes", 20)
        steady = [name for name in names if not mark or "bytes" not in name and "perc" not in name]
        b.see("some bytes: INFO", s.fields(*steady))
        b.see("what is there is served", s.ask("GET", "mine"))
        b.see("writes", s.ask("SET", "a", "1"))
        b.see("WAIT", s.ask("WAIT", "0", "0"))
        m.raw(DATA[20:] + (mark or b""))
        s.await_field("master_link_status", "up")
        b.see("up: ROLE", s.ask("ROLE"))
        b.see("up: INFO", s.fields(*[name for name in names[:-1] if "last_io" not in name]))
        b.see("ACK", m.command())
        m.close()
        m = p.session()
        m.command()
        b.wait(lambda: b"handshake" in s.ask("ROLE"), "ROLE handshake")
        b.see("again: ROLE", s.ask("ROLE"))
        b.see("again: INFO", s.fields(*STATE))
        s.stop()
        p.close()


def broken_transfers(b):
    """The dataset after an interrupted transfer, and its next request."""
    for load in ("disabled", "flush-before-load", "swapdb"):
        for what, data in (("nothing", b""), ("newlines", b"\n\n"), ("error", b"-ERR no\r\n"), ("no header",
            b"abc\r\n"),
                           ("half a header", b"$12"), ("some", b"$1000\r\n" + DATA[:15]), ("magic", b"$1000\r\nREDI"),
                           ("marked", b"$EOF:" + b"f" * 40 + b"\r\n" + DATA[:25]), ("short mark",
                           b"$EOF:abc\r\n" + DATA)):
            s = b.server("--repl-diskless-load", load)
            s.ask("SET", "mine", "1")
            p = b.primary()
            s.ask("REPLICAOF", "127.0.0.1", p.port)
            m = p.session()
            m.until_psync()
            m.raw(b"+FULLRESYNC %s 50\r\n" % ID + data)
            if what in ("some", "marked"):
                import time
                time.sleep(0.3)
            m.close()
            m = p.session()
            but = None
            if load == "flush-before-load" and what in ("some", "magic", "marked"):
                but = "the dataset stays until another one has begun to come"
            if load != "disabled" and what == "short mark":
                but = "a header that is none is no length"
            b.see("%s, %s: then" % (load, what), m.until_psync()[-1], but)
            b.see("%s, %s: keys" % (load, what), (s.ask("GET", "mine"), s.ask("DBSIZE")), but)
            b.see("%s, %s: INFO" % (load, what), s.fields(*STATE), but)
            s.stop()
            p.close()


def foreign_versions(b):
    for magic in (b"REDIS0014", b"REDIS0079", b"VALKEY011", b"VALKEY081", b"REDIS0080", b"NONSENSE0", b"VALKEY080",
        b"REDIS0001"):
        for check in ("strict", "relaxed"):
            for load in ("disabled", "flush-before-load"):
                s = b.server("--repl-diskless-load", load, "--rdb-version-check", check)
                s.ask("SET", "mine", "1")
                p = b.primary()
                s.ask("REPLICAOF", "127.0.0.1", p.port)
                m = p.session()
                m.until_psync()
                m.give(snapshot((b"key", b"value"), magic=magic), 50)
                what = "%s %s %s" % (magic.decode(), check, load)
                try:
                    b.see(what + ": then", m.command())
                    b.see(what + ": keys", (s.ask("GET", "mine"), s.ask("GET", "key")))
                except Exception as error:
                    b.see(what + ": then", "closed")
                    b.see(what + ": keys", (s.ask("GET", "mine"), s.ask("GET", "key")))
                    m = p.session()
                    b.see(what + ": asks", m.until_psync()[-1], "a snapshot that was refused has changed nothing: "
                          "the dataset keeps its place in the stream")
                s.stop()
                p.close()


# ---- The stream --------------------------------------------------------------------------------------------------


def acknowledgements(b):
    for aof in ("no", "yes"):
        s, p, m = _up(b, "--appendonly", aof)
        b.see("aof %s: first" % aof, m.command())
        if aof == "yes":
            s.await_field("aof_rewrite_in_progress", 0, section="persistence")
            s.await_field("aof_rewrite_scheduled", 0, section="persistence")
        m.raw(encode(["SET", "a", "1"]))
        wanted = ["REPLCONF", "ACK", "27"] + (["FACK", "27"] if aof == "yes" else [])
        found = m.acks(encode(wanted))
        b.see("aof %s: in the end" % aof, found[-1])
        m.raw(encode(["REPLCONF", "GETACK", "*"]))
        b.see("aof %s: the answer to GETACK" % aof, [ack for ack in m.acks(encode(
            ["REPLCONF", "ACK", "64"] + (["FACK", "64"] if aof == "yes" else []))) if b"\r\n27\r\n" in ack])
        m.raw(encode(["MULTI"]) + encode(["SET", "b", "1"]) + encode(["REPLCONF", "GETACK", "*"])[:20])
        s.await_field("slave_read_repl_offset", lambda value: int(value) > 64)
        import time
        time.sleep(1.2)
        b.see("an open transaction counts for nothing", s.fields("slave_repl_offset", "master_repl_offset"))
        b.see("... its keys", s.ask("GET", "b"))
        b.see("... ROLE", s.ask("ROLE"))
        m.close()
        m = p.session()
        b.see("asks from before it", m.until_psync()[-1])
        m.raw(b"+CONTINUE\r\n")
        s.await_field("master_link_status", "up")
        b.see("INFO", s.fields(*STATE))
        m.raw(encode(["MULTI"]) + encode(["SET", "b", "1"]) + encode(["SET", "c", "1"]) + encode(["EXEC"]))
        s.await_field("slave_repl_offset", 64 + 15 + 27 + 27 + 14)
        b.see("... keys", (s.ask("GET", "b"), s.ask("GET", "c")))
        b.see("EXEC runs once", s.ask("GET", "b"))
        s.stop()
        p.close()


def getack_in_places(b):
    s, p, m = _up(b)
    b.see("first", m.command())
    get = encode(["REPLCONF", "GETACK", "*"])
    m.raw(encode(["SET", "a", "1"]) + get + encode(["SET", "a", "2"]) + get)
    b.see("each by its place", m.acks(encode(["REPLCONF", "ACK", "91"])))
    m.raw(encode(["MULTI"]) + encode(["SET", "b", "1"]) + get + encode(["EXEC"]))
    b.see("in a transaction", [ack for ack in m.acks(encode(["REPLCONF", "ACK", str(128 + 15 + 27 + 37 + 14)]))])
    m.raw(encode(["replconf", "getack", "x"]))
    b.see("another word", m.command())
    b.see("INFO", s.fields(*STATE))


def select_of_the_stream(b):
    s, p, m = _up(b)
    m.raw(encode(["SELECT", "3"]) + encode(["SET", "a", "1"]))
    s.await_field("slave_repl_offset", 23 + 27)
    m.close()
    m = p.session()
    m.until_psync()
    m.raw(b"+CONTINUE %s\r\n" % ID + encode(["SET", "b", "1"]))
    s.await_field("slave_repl_offset", 23 + 27 + 27)
    s.ask("SELECT", "3")
    b.see("the database is kept over a lost link", (s.ask("GET", "a"), s.ask("GET", "b")))


def continue_with_another_id(b):
    s, p, m = _up(b)
    sub = b.replica(s)
    b.see("a replica of it", sub.full()[0])
    m.raw(encode(["SET", "a", "1"]))
    b.see("what it is sent", sub.until(encode(["SET", "a", "1"])))
    m.close()
    m = p.session()
    b.see("asks", m.until_psync()[-1])
    b.see("meanwhile: the replica's", s.field("connected_slaves"))
    other = b.replica(s)
    b.see("meanwhile: PSYNC", other.ask("PSYNC", "?", "-1"))
    m.raw(b"+CONTINUE %s\r\n" % OTHER_ID)
    s.await_field("master_link_status", "up")
    b.see("its replica is sent away", sub.end())
    b.see("INFO", s.fields(*STATE))
    sub = b.replica(s)
    sub.send("PSYNC", ID, "28")
    b.see("the old name, to its end", sub.line())
    sub = b.replica(s)
    sub.send("PSYNC", ID, "29")
    b.see("... beyond it", sub.filled_line())
    sub = b.replica(s)
    sub.send("PSYNC", OTHER_ID, "28")
    b.see("the new name", sub.line())
    b.see("logged", s.lines(*LOGGED))


def links_that_break(b):
    """Its request after each kind of broken link."""
    bad = "there a link on which no protocol is spoken stays until the primary closes it"
    for what, data in (("closed", None), ("bad: protocol", b"*x\r\n"), ("bad: bulk", b"*1\r\n$-5\r\n"),
        ("bad: an inline line", b"SET i 1\r\n"),
                       ("bad: a reply", b"+OK\r\n"), ("an unknown command", encode(["NOSUCH", "1"])),
                       ("wrong number of words", encode(["SET", "a"])), ("wrong type", encode(["LPUSH", "key", "1"])),
                       ("bad: an empty line", b"\r\n"), ("bad: a newline", b"\n")):
        s, p, m = _up(b)
        m.command()
        if data:
            m.raw(data + encode(["SET", "z", "1"]))
            import time
            time.sleep(0.5)
            b.see(what + ": INFO", s.fields(*STATE[:5]), bad if what.startswith("bad: ") else None)
            b.see(what + ": z", s.ask("GET", "z"), bad if what.startswith("bad: ") else None)
            b.see(what + ": errors", s.fields("unexpected_error_replies", section="stats"),
                  bad if what.startswith("bad: ") else None)
            if b"up" != s.field("master_link_status") or what.startswith("bad: "):
                m.close()
                m = p.session()
                b.see(what + ": asks", m.until_psync()[-1], bad if what.startswith("bad: ") else None)
                b.see(what + ": INFO", s.fields(*STATE), bad if what.startswith("bad: ") else None)
            b.see(what + ": CRITICAL", [line.split(b": '")[0] for line in s.lines("== CRITICAL")],
                  bad if what.startswith("bad: ") else None)
        else:
            m.close()
            m = p.session()
            b.see(what + ": asks", m.until_psync()[-1])
            b.see(what + ": INFO", s.fields(*STATE))
        b.see(what + ": logged", s.lines("Connection with primary", "Caching", "Discarding"),
              bad if what.startswith("bad: ") else None)
        s.stop()
        p.close()


def kill_primary(b):
    for words in (["TYPE", "master"], ["TYPE", "primary"], ["TYPE", "replica"]):
        s, p, m = _up(b)
        m.command()
        keep = (b"flags", b"db", b"cmd", b"user", b"resp", b"name", b"multi", b"sub", b"redir", b"capa")
        b.see("CLIENT LIST", [[(name, c.get(name)) for name in keep] for c in s.clients("primary")])
        b.see("... TYPE normal", len(s.clients("normal")))
        b.see("CLIENT KILL %r" % words, s.ask("CLIENT", "KILL", *words))
        if words[1] != "replica":
            m = p.session()
            b.see("asks", m.until_psync()[-1])
            b.see("INFO", s.fields(*STATE))
        s.stop()
        p.close()


def timeouts(b):
    s = b.server("--repl-timeout", "1")
    p = b.primary()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    m = p.session()
    m.command()
    b.see("handshake: it is left", m.end())
    m = p.session()
    m.until_psync()
    m.raw(b"+FULLRESYNC %s 5\r\n" % ID)
    b.see("before the header: it is left", m.end())
    m = p.session()
    m.until_psync()
    m.give(DATA, 5)
    m.command()
    b.see("stream: it is left", [ack for ack in m.end().split(b"*3") if ack and b"ACK" not in ack])
    m = p.session()
    b.see("asks", m.until_psync()[-1])
    b.see("logged", s.lines("Timeout connecting", "Timeout receiving", "PRIMARY timeout", *LOGGED))


def empty_lines_keep_it(b):
    import time
    s = b.server("--repl-timeout", "2")
    p = b.primary()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    m = p.session()
    m.until_psync()
    for _ in range(8):
        m.raw(b"\n")
        time.sleep(0.5)
    m.raw(b"+FULLRESYNC %s 5\r\n" % ID)
    for _ in range(8):
        m.raw(b"\n")
        time.sleep(0.5)
    m.raw(b"$%d\r\n" % len(DATA) + DATA)
    s.await_field("master_link_status", "up")
    b.see("logged", s.lines("Timeout connecting", "Timeout receiving", "PRIMARY timeout", *LOGGED))


# ---- Commands on a replica ---------------------------------------------------------------------------------------


REFUSED = (["SET", "a", "1"], ["GET", "key"], ["DEL", "nothing"], ["PING"], ["DBSIZE"], ["INFO", "nothing"],
    ["ROLE"], ["SELECT", "1"],
           ["EVAL", "return 1", "0"], ["EVAL", "return redis.call('SET', 'a', 1)", "0"],
           ["EVAL", "return redis.call('GET', 'key')", "0"], ["EVAL", "#!lua\nreturn 1", "0"],
           ["EVAL", "#!lua flags=no-writes\nreturn 1", "0"], ["EVAL", "#!lua flags=allow-stale\nreturn 1", "0"],
           ["EVAL", "#!lua flags=allow-stale,no-writes\nreturn 1", "0"],
           ["EVAL", "#!lua flags=allow-stale,no-writes\nreturn redis.call('GET', 'key')", "0"],
           ["EVAL_RO", "return 1", "0"], ["EVAL", "return redis.pcall('SET', 'a', 1)", "0"],
           ["PUBLISH", "a", "b"], ["SPUBLISH", "a", "b"], ["SUBSCRIBE", "a"], ["FUNCTION", "FLUSH"], ["FUNCTION",
           "LIST"],
           ["SCRIPT", "LOAD", "return 1"], ["SCRIPT", "FLUSH"], ["CONFIG", "GET", "port"], ["PFCOUNT", "a"],
           ["SORT", "a", "STORE", "b"], ["SORT_RO", "a"],
           ["GEORADIUS", "a", "1", "1", "1", "m", "STORE", "b"], ["GEORADIUS", "a", "1", "1", "1", "m"],
           ["BLPOP", "a", "0.01"], ["BLMOVE", "a", "b", "LEFT", "LEFT", "0"], ["XREADGROUP", "GROUP", "g", "c",
           "STREAMS", "x", ">"],
           ["XREAD", "BLOCK", "1", "STREAMS", "x", "$"], ["WAIT", "0", "0"], ["WAITAOF", "0", "0", "0"],
           ["FLUSHALL"], ["SWAPDB", "0", "1"],
           ["MIGRATE", "h", "1", "a", "0", "1"], ["GETEX", "key"], ["GETEX", "key", "EX", "10"], ["TOUCH", "key"],
           ["OBJECT", "ENCODING", "key"],
           ["DEBUG", "SLEEP", "0"], ["KEYS", "*"], ["SCAN", "0"], ["RANDOMKEY"], ["MULTI"], ["WATCH", "a"],
           ["CLIENT", "ID"], ["ECHO", "a"],
           ["TIME"], ["LASTSAVE"], ["MEMORY", "USAGE", "key"], ["MEMORY", "PURGE"], ["COMMAND", "COUNT"], ["SAVE"],
           ["BGREWRITEAOF"], ["NOSUCH"],
           ["FAILOVER"], ["FAILOVER", "ABORT"], ["RESTORE", "a", "0", "x"], ["DUMP", "key"], ["EXPIRE", "key", "0"],
           ["LOLWUT"], ["ACL", "WHOAMI"],
           ["HELLO"], ["RESET"], ["READONLY"], ["READWRITE"], ["PSYNC", "?", "-1"], ["SYNC"], ["LATENCY", "RESET"],
           ["OBJECT", "FREQ", "key"], ["BITFIELD", "key", "GET", "u8", "0"], ["BITFIELD", "key", "SET", "u8", "0", "1"],
           ["BITFIELD_RO", "key", "GET", "u8", "0"], ["LCS", "key", "k"], ["SHUTDOWN", "ABORT"], ["REPLCONF"],
           ["REPLICAOF", "127.0.0.1", "x"])


def _see_refusals(b, s, what):
    for words in REFUSED:
        client = s.connect()
        answer = client.ask(*words)
        kind = answer if answer[:1] in b"-+:" and words[0] not in ("TIME", "LASTSAVE", "CLIENT",
            "LATENCY") else answer[:1]
        if words[0] == "COMMAND":
            kind = answer[:1]
        b.see("%s: %s" % (what, " ".join(words)), kind)
        client.close()


def refusals_when_up(b):
    s, p, m = _up(b)
    _see_refusals(b, s, "up")
    s.ask("CONFIG", "SET", "replica-read-only", "no")
    b.see("writable", [s.ask(*words) for words in (
        ["SET", "mine", "1"], ["SET", "key", "2"], ["GET", "key"], ["WAIT", "0", "0"], ["EVAL",
            "return redis.call('SET', 'b', 1)", "0"],
        ["PUBLISH", "a", "b"], ["INFO", "nothing"])])
    b.see("INFO", s.fields(*STATE, "slave_read_only"))


def refusals_when_stale(b):
    s = b.server("--replica-serve-stale-data", "no")
    s.ask("SET", "key", "1")
    p = b.primary()
    p.close()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    _see_refusals(b, s, "stale")
    s.ask("CONFIG", "SET", "replica-read-only", "no")
    b.see("writable", [s.ask(*words) for words in (["SET", "mine", "1"], ["GET", "key"], ["EVAL", "return 1", "0"])])


def refusals_when_down(b):
    s = b.server()
    s.ask("SET", "key", "1")
    p = b.primary()
    p.close()
    s.ask("REPLICAOF", "127.0.0.1", p.port)
    _see_refusals(b, s, "down")


def refusals_when_loading(b):
    """In Valkey, loading from a stalled connection blocks all clients; loading from a file serves them between
    pieces."""
    for load in ("disabled",):
        s = b.server("--repl-diskless-load", load, "--key-load-delay", "30000",
            "--loading-process-events-interval-bytes", "1024")
        p = b.primary()
        s.ask("REPLICAOF", "127.0.0.1", p.port)
        m = p.session()
        m.until_psync()
        m.give(snapshot(*[(b"key%d" % i, b"v" * 60) for i in range(3000)]), 50)
        s.await_field("loading", 1, section="persistence")
        b.see("ROLE", s.ask("ROLE"))
        b.see("INFO", s.fields("role", "master_link_status", "master_sync_in_progress", "slave_repl_offset"))
        b.see("INFO persistence", s.fields("loading", "async_loading", section="persistence"))
        for words in (["PING"], ["GET", "key1"], ["SET", "a", "1"], ["ROLE"], ["REPLICAOF", "NO", "ONE"], ["PSYNC",
            "?", "-1"], ["SYNC"],
                      ["EVAL", "return 1", "0"], ["CONFIG", "SET", "repl-diskless-load", "swapdb"], ["CONFIG",
                      "GET", "port"], ["ECHO", "a"],
                      ["WAIT", "0", "0"], ["SELECT", "1"], ["MULTI"], ["DBSIZE"], ["KEYS", "*"], ["REPLCONF"],
                      ["FAILOVER"], ["PUBLISH", "a", "b"],
                      ["SCRIPT", "LOAD", "return 1"], ["NOSUCH"], ["GET"]):
            client = s.connect()
            answer = client.ask(*words)
            b.see("loading: %s" % " ".join(words), answer if answer[:1] in b"-+:" else answer[:1])
            client.close()
        b.see("still loading", s.fields("loading", section="persistence"))
        s.stop()
        p.close()


def redirected(b):
    s, p, m = _up(b)
    client = s.connect()
    client.ask("CLIENT", "CAPA", "redirect")
    for words in (["GET", "key"], ["SET", "a", "1"], ["PING"], ["DBSIZE"], ["EVAL", "return 1", "0"], ["EVAL_RO",
        "return 1", "0"],
                  ["EVAL", "return redis.call('GET', 'key')", "0"], ["MULTI"], ["GET", "key"], ["EXEC"],
                  ["READONLY"], ["GET", "key"],
                  ["SET", "a", "1"], ["EVAL_RO", "return 1", "0"], ["READWRITE"], ["GET", "key"], ["PUBLISH", "a",
                  "b"], ["SUBSCRIBE", "c"],
                  ["WAIT", "0", "0"], ["KEYS", "*"], ["SCAN", "0"], ["RANDOMKEY"], ["FLUSHALL"], ["INFO", "x"]):
        b.see("CAPA redirect: %s" % " ".join(words), client.ask(*words))
    for words in (["CLIENT", "CAPA"], ["CLIENT", "CAPA", "x"], ["CLIENT", "CAPA", "redirect", "x"], ["CLIENT",
        "CAPA", "REDIRECT"]):
        b.see("%r" % words, s.ask(*words))


# ---- Keys with expires -------------------------------------------------------------------------------------------


def expired_keys(b):
    import time
    s, p, m = _up(b)
    m.command()
    past, soon = int(time.time() * 1000) - 5000, int(time.time() * 1000) + 300
    stream = b"".join(encode(words) for words in (
        ["SET", "past", "1", "PXAT", past], ["SET", "k1", "1"], ["PEXPIREAT", "k1", past], ["SET", "soon", "1",
            "PXAT", soon],
        ["RPUSH", "list", "1"], ["PEXPIREAT", "list", soon], ["HSET", "h", "f", "1", "g", "2"],
        ["HPEXPIREAT", "h", soon, "FIELDS", "1", "f"], ["SADD", "set", "1"], ["PEXPIREAT", "set", soon], ["SET",
            "stays", "1"]))
    m.raw(stream)
    s.await_field("slave_repl_offset", len(stream))
    b.see("DBSIZE", s.ask("DBSIZE"))
    time.sleep(0.6)
    for words in (["GET", "past"], ["GET", "k1"], ["GET", "soon"], ["EXISTS", "soon"], ["TTL", "soon"], ["PTTL",
        "k1"], ["EXPIRETIME", "soon"],
                  ["TYPE", "list"], ["LLEN", "list"], ["HGET", "h", "f"], ["HLEN", "h"], ["HGETALL", "h"], ["HTTL",
                  "h", "FIELDS", "2", "f", "g"],
                  ["SMEMBERS", "set"], ["DBSIZE"], ["KEYS", "*"], ["OBJECT", "ENCODING", "soon"], ["DUMP", "soon"],
                  ["MGET", "soon", "stays"], ["STRLEN", "soon"], ["SORT_RO", "list"], ["TOUCH", "soon"],
                  ["HEXISTS", "h", "f"], ["HRANDFIELD", "h", "5"], ["OBJECT", "FREQ", "soon"]):
        answer = s.ask(*words)
        if words[0] == "KEYS":
            answer = sorted(answer.split(b"\r\n"))
        b.see("%s" % " ".join(words), answer)
    scanned = sorted(s.ask("SCAN", "0", "COUNT", "100").split(b"\r\n"))
    b.see("SCAN", scanned)
    b.see("expired_keys", s.fields("expired_keys", section="stats"))
    more = b"".join(encode(words) for words in (
        ["INCR", "soon"], ["APPEND", "past", "2"], ["RPUSH", "list", "2"], ["HINCRBY", "h", "f", "5"], ["PERSIST",
            "soon"],
        ["PERSIST", "list"], ["PERSIST", "past"], ["SADD", "set", "2"], ["PERSIST", "set"], ["RENAME", "k1", "k2"],
            ["PERSIST", "k2"],
        ["HPERSIST", "h", "FIELDS", "1", "f"]))
    m.raw(more)
    s.await_field("slave_repl_offset", len(stream) + len(more))
    b.see("what the primary does to them is done", [s.ask(*words) for words in (
        ["GET", "soon"], ["GET", "past"], ["LRANGE", "list", "0", "-1"], ["HGET", "h", "f"], ["SCARD", "set"],
            ["GET", "k2"])])
    s.ask("CONFIG", "SET", "replica-read-only", "no")
    b.see("writable", [s.ask(*words) for words in (
        ["SET", "own", "1", "PX", "1"], ["SET", "own2", "1", "PX", "100000"], ["EXPIRE", "stays", "-1"], ["EXISTS",
            "stays"])])
    time.sleep(1.5)
    b.see("... its own keys", [s.ask(*words) for words in (["EXISTS", "own"], ["EXISTS", "own2"])])
    b.see("... go", s.ask("DBSIZE"))


def eviction(b):
    s, p, m = _up(b, "--maxmemory", "1mb", "--maxmemory-policy", "allkeys-lru")
    m.command()
    stream = b"".join(encode(["SET", "key%d" % i, "x" * 1000]) for i in range(3000))
    m.raw(stream)
    s.await_field("slave_repl_offset", len(stream))
    b.see("nothing is evicted", (s.ask("DBSIZE"), s.fields("evicted_keys", section="stats")))
    b.see("INFO", [name for name, value in s.info("memory").items() if name == b"maxmemory" and value != b"0"])


# ---- Roles change ------------------------------------------------------------------------------------------------


def promotion(b):
    s, p, m = _up(b, offset=100)
    m.command()
    sub = b.replica(s)
    sub.full()
    m.raw(encode(["SELECT", "3"]) + encode(["SET", "a", "1"]))
    sub.until(encode(["SET", "a", "1"]))
    b.see("REPLICAOF NO ONE", s.ask("REPLICAOF", "NO", "ONE"))
    b.see("its replica", sub.end())
    b.see("its link", [ack for ack in m.end().split(b"*3") if ack and b"ACK" not in ack])
    b.see_replication(s, "promoted")
    b.see("ROLE", s.ask("ROLE"))
    for name, offset in ((ID, 151), (ID, 152), (ID, 101), (ID, 120), (ID, 100)):
        sub = b.replica(s)
        sub.send("PSYNC", name, offset)
        b.see("PSYNC of the old name at %d" % offset, sub.filled_line())
        sub.close()
        s.await_field("connected_slaves", 0)
    s.ask("SET", "b", "1")
    sub = b.replica(s)
    sub.send("PSYNC", ID, 151)
    b.see("PSYNC of the old name", sub.line())
    b.see("what was written since", sub.until(encode(["SET", "b", "1"])))
    b.see("INFO", s.fields(*STATE))
    b.see("again NO ONE", s.ask("REPLICAOF", "NO", "ONE"))
    b.see("... and again", s.ask("SLAVEOF", "no", "one"))
    b.see("INFO", s.fields(*STATE))
    b.see("logged", [line.split(b"from")[0] for line in s.lines("Setting secondary", "PRIMARY MODE",
        "Connection with primary",
                                                              "Caching", "Discarding")])
    s2 = b.primary()
    m = _follow(b, s, s2)
    b.see("a replica again: asks", m.until_psync()[-1])
    b.see("INFO", s.fields(*STATE))
    b.see("sub", s.field("connected_slaves"))
    m.raw(b"+CONTINUE\r\n")
    s.await_field("master_link_status", "up")
    b.see("INFO", s.fields(*STATE))


def another_primary(b):
    s, p, m = _up(b, offset=100)
    m.command()
    sub = b.replica(s)
    sub.full()
    second = b.primary()
    m2 = _follow(b, s, second)
    b.see("asks", m2.until_psync()[-1])
    b.see("INFO", s.fields(*STATE))
    b.see("the same again", s.ask("REPLICAOF", "127.0.0.1", second.port))
    b.see("the old link", [ack for ack in m.end().split(b"*3") if ack and b"ACK" not in ack])
    m2.give(snapshot((b"other", b"1")), 7, name=OTHER_ID)
    s.await_field("master_link_status", "up")
    b.see("its replica", sub.end())
    b.see("INFO", s.fields(*STATE))
    b.see("keys", (s.ask("GET", "key"), s.ask("GET", "other")))


def blocked_clients(b):
    s = b.server()
    p = b.primary()
    plain = s.connect()
    plain.send("BLPOP", "x", "0")
    moved = s.connect()
    moved.ask("CLIENT", "CAPA", "redirect")
    moved.send("BLPOP", "x", "0")
    waits = s.connect()
    waits.send("WAIT", "1", "0")
    reads = s.connect()
    reads.send("XREAD", "BLOCK", "0", "STREAMS", "x", "$")
    group = s.connect()
    s.ask("XGROUP", "CREATE", "xs", "g", "$", "MKSTREAM")
    group.send("XREADGROUP", "GROUP", "g", "c", "BLOCK", "0", "STREAMS", "xs", ">")
    sub = s.connect()
    sub.ask("SUBSCRIBE", "c")
    watch = s.connect()
    watch.ask("WATCH", "w")
    watch.ask("MULTI")
    watch.ask("SET", "w", "1")
    script = s.connect()
    s.await_field("blocked_clients", 5, section="clients")
    m = _follow(b, s, p)
    for name, client in (("plain", plain), ("redirect", moved), ("WAIT", waits), ("XREAD", reads), ("XREADGROUP",
        group)):
        b.see(name, client.heard())
        b.see(name + ": then", client.ask("PING"))
    b.see("EXEC", watch.ask("EXEC"))
    b.see("subscriber", sub.ask("PING"))
    b.see("blocked", s.fields("blocked_clients", section="clients"))
    late = s.connect()
    b.see("waits on a replica", late.ask("BLPOP", "x", "0.01"))
    late.send("XREAD", "BLOCK", "0", "STREAMS", "xs", "$")
    s.await_field("blocked_clients", 1, section="clients")
    m.until_psync()
    m.give(DATA, 0, encode(["XADD", "xs", "1-1", "f", "v"]))
    b.see("XREAD on a replica is served", late.heard())
    late.send("XREAD", "BLOCK", "0", "STREAMS", "xs", "$")
    s.await_field("blocked_clients", 1, section="clients")
    b.see("NO ONE", s.ask("REPLICAOF", "NO", "ONE"))
    b.see("who waits stays", s.fields("blocked_clients", section="clients"))
    s.ask("XADD", "xs", "2-1", "f", "v")
    b.see("... and is served", late.heard())


def started_as_replica(b):
    """Starts from a snapshot with and without a replication offset."""
    import os
    for what, aux in (("whole", ((b"repl-stream-db", b"2"), (b"repl-id", ID), (b"repl-offset", b"500"))),
                      ("no db", ((b"repl-id", ID), (b"repl-offset", b"500"))), ("no offset", ((b"repl-stream-db",
                      b"2"), (b"repl-id", ID))),
                      ("nothing", ())):
        for follows in (True, False):
            s = b.server()
            s.kill()
            with open(os.path.join(s.dir, "dump.rdb"), "wb") as file:
                file.write(snapshot((b"key", b"1"), aux=aux))
            p = b.primary()
            s.begin(*(["--replicaof", "127.0.0.1 %d" % p.port] if follows else []))
            s.await_field("loading", 0, section="persistence")
            b.see("%s: key" % what, s.ask("GET", "key"))
            if follows:
                m = p.session()
                b.see("%s: asks" % what, m.until_psync()[-1])
                b.see("%s: INFO" % what, s.fields(*[name for name in STATE if "backlog" not in name]))
                b.see("%s: INFO" % what, s.fields("repl_backlog_active", "repl_backlog_first_byte_offset"),
                      "the stream is kept from the start on" if what == "whole" else None)
                if what == "whole":
                    m.raw(b"+CONTINUE\r\n" + encode(["SET", "a", "1"]))
                    s.await_field("slave_repl_offset", 527)
                    s.ask("SELECT", "2")
                    b.see("%s: its database" % what, s.ask("GET", "a"))
            else:
                b.see("%s: INFO as primary" % what, s.fields(*[n for n in STATE if n != "master_replid"]))
            s.stop()
            p.close()


def replicas_of_a_replica(b):
    s, p, m = _up(b, offset=40)
    m.command()
    sub = b.replica(s)
    b.see("line", sub.full()[0])
    b.see_replication(s, "with one of its own")
    text = encode(["SELECT", "2"]) + encode(["sEt", "a", "1"]) + encode(["ping"]) + encode(["REPLCONF", "GETACK", "*"])
    m.raw(text)
    b.see("bytes go on as they came", sub.take(len(text)))
    half = encode(["MULTI"]) + encode(["SET", "b", "1"])
    m.raw(half)
    s.await_field("slave_read_repl_offset", 40 + len(text) + len(half))
    b.see("nothing of an open transaction", s.fields("master_repl_offset"))
    m.raw(encode(["EXEC"]))
    b.see("then all of it", sub.take(len(half) + 14))
    m.close()
    m = p.session()
    m.until_psync()
    b.see("its replica stays while the link is down", s.fields("connected_slaves", "master_link_status"))
    other = b.replica(s)
    b.see("another one is refused", [other.ask("PSYNC", "?", "-1"), other.ask("PSYNC", ID, "41"), other.ask("SYNC")])
    m.give(DATA, 1000)
    b.see("a new dataset: it is sent away", sub.end())
    s.await_field("master_link_status", "up")
    b.see_replication(s, "then")
    b.see("ROLE", s.ask("ROLE"))


# ---- Two connections ---------------------------------------------------------------------------------------------


def dual_channel(b):
    for load in ("disabled", "flush-before-load"):
        for ip in (None, "10.1.1.1"):
            s = b.server("--dual-channel-replication-enabled", "yes", "--repl-diskless-load", load, "--primaryauth",
            "pw",
                         *(["--replica-announce-ip", ip] if ip else []))
            p = b.primary()
            s.ask("REPLICAOF", "127.0.0.1", p.port)
            m = p.session()
            what = "%s %s" % (load, ip)
            b.see(what + ": first", m.until_psync())
            m.raw(b"+DUALCHANNELSYNC\r\n")
            d = p.session()
            said = []
            while True:
                request = d.command()
                said.append(request)
                if request == b"SYNC\r\n":
                    break
                d.raw(b"+OK\r\n")
            b.see(what + ": second", said)
            b.see(what + ": ROLE", s.ask("ROLE"))
            d.raw(b"\n$ENDOFF:200 %s 3 77\r\n" % ID)
            b.see(what + ": first", m.command())
            m.raw(b"+OK\r\n")
            b.see(what + ": first", m.command())
            m.raw(b"+CONTINUE %s\r\n" % ID + encode(["SET", "a", "1"]))
            d.raw(b"$EOF:" + b"f" * 40 + b"\r\n" + DATA[:30])
            import time
            time.sleep(0.3)
            b.see(what + ": ROLE", s.ask("ROLE") if load == "disabled" else None)
            d.raw(DATA[30:] + b"f" * 40)
            b.see(what + ": ACK", m.acks(encode(["REPLCONF", "ACK", "227"]))[-1])
            b.see(what + ": second ends", d.end())
            s.await_field("master_link_status", "up")
            b.wait(lambda: s.field("slave_repl_offset") == b"227", "the stream")
            s.ask("SELECT", "3")
            b.see(what + ": the stream is in its database", s.ask("GET", "a"))
            b.see(what + ": INFO", s.fields(*STATE[:-3]))
            b.see(what + ": INFO", s.fields(*STATE[-3:]),
            "what came of the stream beside the dataset is kept for others")
            s.stop()
            p.close()


def dual_channel_failures(b):
    """The effect of each failure: both connections end, and it reconnects."""
    def begin(*options):
        s = b.server("--dual-channel-replication-enabled", "yes", *options)
        s.ask("SET", "mine", "1")
        p = b.primary()
        s.ask("REPLICAOF", "127.0.0.1", p.port)
        m = p.session()
        m.until_psync()
        m.raw(b"+DUALCHANNELSYNC\r\n")
        return s, p, m

    def second(p):
        d = p.session()
        while d.command() != b"SYNC\r\n":
            d.raw(b"+OK\r\n")
        return d

    def both_end(what, s, p, *wires):
        for wire in wires:
            b.see(what, b"(closed)" in wire.end())
        m = p.session()
        b.see(what + ": comes again", m.until_psync()[-1])
        b.see(what + ": keys", s.ask("GET", "mine"))
        s.stop()
        p.close()

    s, p, m = begin()
    d = p.session()
    d.command()
    d.raw(b"-ERR no\r\n")
    both_end("REPLCONF refused", s, p, d, m)
    s, p, m = begin()
    d = second(p)
    d.close()
    both_end("closed behind SYNC", s, p, m)
    s, p, m = begin()
    d = second(p)
    d.raw(b"-ERR no\r\n")
    both_end("SYNC refused", s, p, d, m)
    s, p, m = begin()
    d = second(p)
    d.raw(b"$ENDOFF:x y z\r\n")
    both_end("bad $ENDOFF", s, p, d, m)
    s, p, m = begin()
    d = second(p)
    d.raw(b"$ENDOFF:200 %s 0 77\r\n" % ID)
    m.command()
    m.raw(b"+OK\r\n")
    m.command()
    m.raw(b"-ERR no\r\n")
    both_end("PSYNC refused", s, p, d, m)
    s, p, m = begin()
    d = second(p)
    d.raw(b"$ENDOFF:200 %s 0 77\r\n" % ID)
    m.close()
    both_end("first closed", s, p, d)
    s, p, m = begin()
    d = second(p)
    d.raw(b"$ENDOFF:200 %s 0 77\r\n" % ID)
    m.command()
    m.raw(b"+OK\r\n")
    m.command()
    m.raw(b"+CONTINUE %s\r\n" % ID)
    d.raw(b"$1000\r\n" + DATA[:20])
    d.close()
    both_end("snapshot cut", s, p, m)
