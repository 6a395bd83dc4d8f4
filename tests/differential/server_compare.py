#!/usr/bin/env python3
"""server_compare.py HOST:PORT HOST:PORT -- compares the introspection of two servers.

Compares INFO (sections and fields, in their order), the replies of DEBUG, MEMORY, ROLE and CONFIG RESETSTAT, in both
protocols, and COMMAND and HELP for the commands that both know. The first server is the reference. Numbers are compared
if both must count the same, and otherwise only by their position. Prose may differ: of summaries, notes and histories
only the presence (and the versions) is compared, of complexities the O() terms, of HELP the lines that name subcommands
and options. Databases are emptied. Prints each difference; the exit code is their number, at most 100.

Start both anew with the same arguments, with --enable-debug-command yes, --save "", one thread and a port each.
SPDX-License-Identifier: BSD-3-Clause"""
import difflib
import re
import socket
import sys

SETUP = [
    "FLUSHALL", "CONFIG RESETSTAT", "SET text value", "SET number 1234", "SET volatile x EX 1000",
    "SET long " + "ab" * 500, "SELECT 3", "SET other 1", "SELECT 0", "GET text", "GET missing",
    "NOSUCH", "GETRANGE text",
]
TYPES = "string integer double null array set map attrib push verbatim true false bignum nosuch".split()
SAME = ["DEBUG PROTOCOL " + t for t in TYPES] + [
    "DEBUG", "DEBUG NOSUCH", "DEBUG PROTOCOL", "DEBUG ERROR hello", "DEBUG ERROR hello world",
    "DEBUG LOG line", "DEBUG SLEEP 0", "DEBUG SLEEP x", "DEBUG SET-ACTIVE-EXPIRE 1",
    "DEBUG PAUSE-CRON 0", "DEBUG DICT-RESIZING 1", "DEBUG LEAK x", "DEBUG CHANGE-REPL-ID",
    "DEBUG HTSTATS", "DEBUG HTSTATS 99", "DEBUG HTSTATS x", "DEBUG HTSTATS-KEY text",
    "DEBUG HTSTATS-KEY missing", "DEBUG DIGEST", "DEBUG DIGEST-VALUE",
    "DEBUG DIGEST-VALUE text number missing volatile", "DEBUG OBJECT missing", "DEBUG OBJECT",
    "DEBUG POPULATE 10 made 100", "DEBUG POPULATE 3", "DEBUG POPULATE 3 made 2",
    "DEBUG POPULATE 2 cut 4", "GET cut:1", "DEBUG POPULATE x", "DEBUG POPULATE -1",
    "DEBUG POPULATE 1 2 3 4", "GET made:1", "GET key:0", "DEBUG DIGEST", "DEBUG MALLCTL nosuch",
    "DEBUG STRUCTSIZE x", "MEMORY USAGE missing", "MEMORY USAGE text SAMPLES",
    "MEMORY USAGE text SAMPLES -1", "MEMORY USAGE text SAMPLES x", "MEMORY USAGE text NOSUCH 1",
    "MEMORY NOSUCH", "MEMORY PURGE", "MEMORY", "ROLE",
    "INFO nosuch", "INFO cluster", "INFO errorstats", "INFO replication_nosuch modules",
    "LASTSAVE x", "ROLE x", "CONFIG RESETSTAT",
]
SAME_SHAPE = [
    "DEBUG OBJECT text", "DEBUG OBJECT number", "DEBUG OBJECT long FAST", "DEBUG HTSTATS 0",
    "DEBUG HTSTATS 0 full", "MEMORY USAGE text", "MEMORY STATS", "LASTSAVE",
]
SECTIONS = [
    "", "default", "all", "everything", "server", "TLS", "clients", "memory", "persistence",
    "stats", "replication", "cpu", "modules", "module_list", "cluster", "cluster_info",
    "scriptingengines", "keyspace", "keyspace server nosuch",
]
# INFO fields that must have the same values after SETUP.
COUNTED = [
    "connected_clients", "maxclients", "maxmemory", "maxmemory_policy", "keyspace_hits",
    "keyspace_misses", "expired_keys", "evicted_keys", "total_error_replies",
    "unexpected_error_replies", "total_connections_received", "total_commands_processed",
    "rdb_changes_since_last_save", "repl_backlog_size", "hz", "arch_bits", "db3",
    "io_threads_active", "errorstat_ERR", "role", "paused_actions", "rejected_connections",
]


class Server:
    def __init__(self, where, protocol):
        host, port = where.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)), timeout=60)
        self.file = self.sock.makefile("rb")
        self("HELLO %d" % protocol)

    def __call__(self, line):
        words = line.encode().split()
        self.sock.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        return self.reply()

    def reply(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind in b"$=" and int(rest) >= 0:
            return line + self.file.read(int(rest) + 2)
        if kind in b"*~%>|":
            parts = int(rest) * (2 if kind in b"%|" else 1)
            line += b"".join(self.reply() for _ in range(parts))
            return line + self.reply() if kind == b"|" else line
        return line


def body(reply):
    text = reply.split(b"\r\n", 1)[1].decode("utf-8", "replace")
    return text[4:] if reply[:1] == b"=" else text


def names(reply):
    lines = body(reply).split("\r\n")
    return [re.sub(":.*", "", line) for line in lines if not line.startswith(("cmdstat_", "latency_"))]


def fields(server):
    return dict(line.split(":", 1) for line in body(server("INFO everything")).split("\r\n") if ":" in line)


def shape(reply):
    return re.sub(rb"-?[0-9]+(\.[0-9]+)?(e[+-][0-9]+)?", b"N", re.sub(rb"0x[0-9a-f]+", b"X", reply))


def parsed(raw):
    """Returns a reply as Python values; maps as dicts, also if RESP2 has them as arrays."""
    at = 0

    def take():
        nonlocal at
        end = raw.index(b"\r\n", at)
        kind, rest = raw[at:at + 1], raw[at + 1:end]
        at = end + 2
        if kind in b"*~>":
            return [take() for _ in range(int(rest))]
        if kind == b"%":
            return {take(): take() for _ in range(int(rest))}
        if kind == b"$" and int(rest) >= 0:
            at += int(rest) + 2
            return raw[at - int(rest) - 2:at - 2].decode()
        return rest.decode()

    return take()


def terms(text):
    """Returns the O() terms of a complexity."""
    found = []
    for start in (match.start() for match in re.finditer(r"\bO\(", text)):
        depth = 0
        for end in range(start + 1, len(text)):
            depth += (text[end] == "(") - (text[end] == ")")
            if depth == 0:
                found.append(text[start:end + 1].replace(" ", ""))
                break
    return sorted(set(found))


def facts(value):
    """Returns COMMAND DOCS or COMMAND INFO with prose replaced by its facts."""
    if isinstance(value, list):
        return [facts(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {}
    for name, item in value.items():
        if name == "complexity":
            found[name] = terms(item)
        elif name == "history":
            found[name] = [since for since, _ in item]
        elif name in ("summary", "notes", "replaced_by"):
            found[name] = bool(item)
        elif name != "subcommands":
            found[name] = facts(item)
    return found


def described(server):
    """Returns {name: facts} of commands and subcommands."""
    found = {}

    def add(docs):
        for name, item in docs.items():
            found[name + " DOCS"] = facts(item)
            add(item.get("subcommands", {}))

    def add_info(infos):
        for info in infos:
            name, arity, flags, first, last, step, categories, tips, specs, subcommands = info
            found[name + " INFO"] = [arity, sorted(flags), first, last, step, sorted(categories), tips,
                                     [{**facts(spec), "flags": sorted(spec["flags"])} for spec in specs]]
            add_info(subcommands)

    add(parsed(server("COMMAND DOCS")))
    add_info(parsed(server("COMMAND INFO")))
    return found


def help_names(server, container):
    """Returns the lines of a HELP that name subcommands and their options."""
    lines = parsed(server(container + " HELP"))
    names_options = [line for line in lines if not line.startswith(" ") or line.lstrip().startswith(("* ", "["))]
    return [re.sub(r"(\* \S+): .*", r"\1", line) for line in names_options]


def compare_descriptions(reference, server, differs):
    theirs, ours = described(reference), described(server)
    for name in sorted(ours):
        if name not in theirs:
            info = ours.get(name.split(" ")[0] + " INFO")
            if not info or "not_in_valkey" not in info[6]:
                differs(name, "not there", "there")
        elif theirs[name] != ours[name]:
            differs(name, theirs[name], ours[name])
    for name in sorted(ours):
        if not name.endswith("|help DOCS") and name != "debug DOCS":
            continue
        container = name.split("|")[0].split(" ")[0]
        theirs_help = help_names(reference, container)
        more = [line for line in help_names(server, container) if line not in theirs_help]
        if more:
            differs(container + " HELP", "has not", more)


def compare(reference, server, protocol):
    wrong = 0

    def differs(what, a, b):
        nonlocal wrong
        wrong += 1
        print("%s\n  reference: %s\n  server:    %s" % (what, a, b))

    for line in SETUP:
        a, b = reference(line), server(line)
        if a != b:
            differs(line, a, b)
    a, b = fields(reference), fields(server)
    for field in COUNTED:
        if a.get(field) != b.get(field):
            differs("INFO " + field, a.get(field), b.get(field))
    for section in SECTIONS:
        a, b = names(reference("INFO " + section)), names(server("INFO " + section))
        if a != b:
            differs("INFO " + section, "", "\n".join(difflib.unified_diff(a, b, lineterm="", n=0)))
    for line in SAME_SHAPE:
        a, b = reference(line), server(line)
        if shape(a) != shape(b):
            differs(line, a, b)
    for line in SAME:
        a, b = reference(line), server(line)
        # A push may follow the reply of the command that requests it.
        if line == "DEBUG PROTOCOL push" and a[:1] == b"$":
            a, b = a + reference.reply(), b + server.reply()
        if a != b:
            differs(line, a, b)
    if protocol == 3:
        compare_descriptions(reference, server, differs)
    return wrong


def main():
    wrong = 0
    for protocol in (2, 3):
        wrong += compare(Server(sys.argv[1], protocol), Server(sys.argv[2], protocol), protocol)
    print("%d differences" % wrong)
    return min(wrong, 100)


if __name__ == "__main__":
    sys.exit(main())
