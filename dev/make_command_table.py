#!/usr/bin/env python3
"""Write src/commands/table/GROUP.def, and src/LAYER/table/LAYER_commands.def for commands whose handlers are in another
layer, from what a running server says of its commands.

    dev/make_command_table.py HOST:PORT GROUP... [--out DIR]

COMMAND INFO and COMMAND DOCS hold all that the table needs but five things, which stand below: which commands have
their handler in another layer than src/commands, which have a function that finds their keys, which build their value ahead,
which flags are not shown, and which commands are left out. src/commands/commands.h is made anew from all .def files.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import glob
import os
import re
import socket
import sys

# Left out: their subsystem has no handlers here. A container's name alone leaves out the whole of it.
WITHOUT = set("""
    migrate sort sort_ro wait waitaof asking cluster readonly readwrite
    client|caching client|tracking
    acl|deluser acl|dryrun acl|load acl|log acl|save acl|setuser
    bgrewriteaof bgsave clusterscan failover module psync replconf replicaof restore-asking save slaveof sync
""".split())
# The layer that has the handler and registers the row, where it is not `commands`.
LAYER = {"commandlog": "engine", "latency": "engine", "monitor": "engine", "slowlog": "engine", "shutdown": "server"}
for name in "config debug info lastsave lolwut memory role".split():
    LAYER[name] = "admin"
GET_KEYS = {"set": "setGetKeys"}
# Argument that holds the value, for commands whose value an I/O thread may build.
VALUE_ARG = {"set": 2, "setnx": 2, "getset": 2, "setex": 3, "psetex": 3}
HIDDEN_FLAGS = {"debug": ["protected"], "module": ["protected"]}
for name in "flushall cluster|cancelslotmigrations cluster|flushslot cluster|migrateslots".split():
    HIDDEN_FLAGS[name] = ["all_dbs"]
for name in "eval evalsha fcall publish spublish pfcount script|load".split():
    HIDDEN_FLAGS[name] = ["may_replicate"]


class Server:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self.sock = socket.create_connection((host, int(port)))
        self.file = self.sock.makefile("rb")

    def call(self, *args):
        parts = [b"*%d\r\n" % len(args)]
        for a in args:
            parts.append(b"$%d\r\n%s\r\n" % (len(a.encode()), a.encode()))
        self.sock.sendall(b"".join(parts))
        return self.read()

    def read(self):
        line = self.file.readline()[:-2]
        kind, rest = line[:1], line[1:].decode()
        if kind == b"-":
            sys.exit("server: " + rest)
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        count = int(rest)
        if count < 0:
            return None
        if kind == b"$":
            return self.file.read(count + 2)[:-2].decode()
        return [self.read() for _ in range(count)]


def as_map(flat):
    return dict(zip(flat[::2], flat[1::2]))


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def wrapped(head, text, indent, tail=","):
    """A string initializer, continued on further lines where it is long."""
    line = indent + head + quote(text) + tail
    if len(line) <= 120:
        return [line]
    pad = indent + " " * (9 if head.startswith("DOCS(") else 4)
    lines, words, at = [], text.split(" "), ""
    for i, word in enumerate(words):
        word += " " if i < len(words) - 1 else ""
        if at and len(pad + quote(at + word)) > 116:
            lines.append(pad + quote(at))
            at = ""
        at += word
    lines.append(pad + quote(at) + tail)
    return [indent + head.rstrip()] + lines


def names(prefix, words):
    return " | ".join(prefix + w.upper().replace("-", "_") for w in words)


def folded(text, indent, deeper="    "):
    """Break `A | B | ...` or `a, b, ...` so that brackets may follow before column 120."""
    if len(indent + text) <= 112:
        return [indent + text]
    cut = max(text.rfind(s, 0, 112 - len(indent)) for s in (", ", "| "))
    return [indent + text[:cut + 1]] + folded(text[cut + 2:], indent + deeper, "")


class Writer:
    def __init__(self):
        self.lines = []

    def spec(self, s, indent):
        s = as_map(s)
        begin, find = as_map(s["begin_search"]), as_map(s["find_keys"])
        bs, fs = as_map(begin["spec"]), as_map(find["spec"])
        parts = []
        if begin["type"] == "index":
            parts.append("KEYS_AT(%d)" % bs["index"])
        elif begin["type"] == "keyword":
            parts.append("KEYS_AFTER(%s, %d)" % (quote(bs["keyword"]), bs["startfrom"]))
        if find["type"] == "range":
            parts.append("KEYS_RANGE(%d, %d, %d)" % (fs["lastkey"], fs["keystep"], fs["limit"]))
        elif find["type"] == "keynum":
            parts.append("KEYS_COUNTED(%d, %d, %d)" % (fs["keynumidx"], fs["firstkey"], fs["keystep"]))
        parts.append(".flags = " + names("KEY_", s["flags"]))
        out = folded("{" + ", ".join(parts), indent)
        if s.get("notes"):
            out[-1] += ","
            out += wrapped(".notes = ", s["notes"], indent + " ", "")
        out[-1] += "},"
        return out

    def arg(self, a, indent):
        a = as_map(a)
        kind = a["type"]
        parts = [".name = " + quote(a["name"]), ".type = " + quote(kind)]
        if "key_spec_index" in a:
            parts.append(".key_spec_index = %d" % a["key_spec_index"])
        for field, key in ("token", "token"), ("since", "since"), ("deprecated_since", "deprecated_since"):
            if key in a:
                parts.append(".%s = %s" % (field, quote(a[key])))
        if a.get("display_text", None) is not None:
            parts.append(".display = " + ("SAME" if a["display_text"] == a["name"] else quote(a["display_text"])))
        if a.get("flags"):
            parts.append(".flags = " + names("CMD_ARG_", a["flags"]))
        if parts[-1] == ".display = SAME":
            parts.pop()
            parts = ["SHOWN(%s)" % quote(a["name"])] + parts[1:]
        elif ".display = SAME" in parts:
            parts.remove(".display = SAME")
            parts = ["SHOWN(%s)" % quote(a["name"])] + parts[1:]
        macro = "KEY_ARG" if "key_spec_index" in a else "ARG"
        out = folded("%s(%s" % (macro, ", ".join(parts)), indent)
        if "summary" in a:
            out[-1] += ","
            out += wrapped(".summary = ", a["summary"], indent + "    ", "")
        if "arguments" in a:
            out[-1] += ","
            out += self.args(a["arguments"], indent + "    ", ".sub", ".nsub", "SUB_ARGS")
            out[-1] = out[-1][:-1]
        out[-1] += "),"
        return out

    def args(self, args, indent, *_, macro="ARGS"):
        macro = _[-1] if _ else macro
        out = [indent + macro + "("]
        for a in args:
            out += self.arg(a, indent + "    ")
        out[-1] = out[-1][:-1] + "),"
        return out

    def command(self, info, docs, indent):
        name, arity, flags, _, _, _, acl, tips, specs, subs = info
        top = name.split("|")[0]
        inner = indent + "    "
        out = [indent + "{", inner + ".name = %s," % quote(name.split("|")[-1])]
        if not (subs and name != "command"):
            out.append(inner + ".proc = %s," % handler(name))
        out.append(inner + ".arity = %d," % arity)
        if name in VALUE_ARG:
            out.append(inner + ".value_arg = %d," % VALUE_ARG[name])
        shown = flags + HIDDEN_FLAGS.get(name, []) + (["builds_value"] if name in VALUE_ARG else [])
        if shown:
            flag_text = names("CMD_", shown).replace("MOVABLEKEYS", "MOVABLE_KEYS")
            out += folded(".flags = %s," % flag_text, inner)
        out += folded(".acl_categories = %s," % names("ACL_", [c[1:] for c in acl]), inner)
        if name in GET_KEYS:
            out.append(inner + ".get_keys = %s," % GET_KEYS[name])
        if specs:
            out.append(inner + "KEY_SPECS(")
            for s in specs:
                out += self.spec(s, inner + "    ")
            out[-1] = out[-1][:-1] + "),"
        if tips:
            out += folded("TIPS(%s)," % ", ".join(quote(t) for t in tips), inner)
        out += self.docs(docs, inner)
        if subs:
            out.append(inner + "SUBCOMMANDS(")
            kept = sorted((s for s in subs if s[0] not in WITHOUT), key=lambda s: s[0])
            sub_docs = as_map(docs["subcommands"])
            for s in kept:
                out += self.command(s, as_map(sub_docs[s[0]]), inner + "    ")
            out[-1] = out[-1][:-1] + "),"
        return out + [indent + "},"]

    def docs(self, d, indent):
        inner = indent + "     "
        out = wrapped("DOCS(.summary = ", d["summary"], indent)
        out.append(inner + ".since = %s, .group = %s," % (quote(d["since"]), quote(d["group"])))
        if "complexity" in d:
            out += wrapped(".complexity = ", d["complexity"], inner)
        if d.get("doc_flags"):
            out.append(inner + ".doc_flags = %s," % names("DOC_", d["doc_flags"]))
        for field in "deprecated_since", "replaced_by":
            if field in d:
                out += wrapped(".%s = " % field, d[field], inner)
        if d.get("history"):
            out.append(inner + "HISTORY(")
            for since, text in d["history"]:
                out += wrapped(quote(since) + ", ", text, inner + "    ")
            out[-1] = out[-1][:-1] + "),"
        if d.get("arguments"):
            out += self.args(d["arguments"], inner)
        out[-1] = out[-1][:-1] + "),"
        return out


def handler(name):
    words = re.split(r"[|_-]", name)
    return words[0] + "".join(w.capitalize() for w in words[1:]) + "Command"


def write_groups(server, groups, infos, out_dir):
    writer, files = Writer(), {}
    for info in sorted(infos, key=lambda i: i[0]):
        docs = as_map(as_map(server.call("COMMAND", "DOCS", info[0]))[info[0]])
        group, layer = docs["group"], LAYER.get(info[0], "commands")
        if group not in groups:
            continue
        if layer == "commands":
            path, what = os.path.join(out_dir, group.replace("-", "_") + ".def"), "of group " + group
        else:
            path = os.path.join(out_dir, "..", "..", layer, "table", layer + "_commands.def")
            what = "whose handlers are in this layer"
        files.setdefault((path, what), []).extend(writer.command(info, docs, ""))
    for (path, what), lines in files.items():
        with open(path, "w") as f:
            f.write("/* %s -- the commands %s; written by dev/make_command_table.py.\n *\n"
                    % (os.path.basename(path), what))
            f.write(" * SPDX-License-Identifier: BSD-3-Clause */\n")
            f.write("\n".join(lines) + "\n")
        print(path, sum(1 for l in lines if l == "{"), "commands")


def write_header(out_dir):
    lines = []
    for path in sorted(glob.glob(os.path.join(out_dir, "*.def"))):
        with open(path) as f:
            procs = re.findall(r"\.proc = (\w+),", f.read())
        if procs:
            lines += ["", "/* %s */" % os.path.basename(path)]
            lines += ["void %s(client *c);" % p for p in procs]
    path = os.path.join(os.path.dirname(out_dir.rstrip("/")), "commands.h")
    with open(path, "w") as f:
        f.write(HEADER % "\n".join(lines))
    print(path)


HEADER = """/* commands.h -- the handlers that the rows of table/ name; written by dev/make_command_table.py.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_COMMANDS_H
#define COMMANDS_COMMANDS_H

#include "client.h"
%s

#endif
"""


def main():
    parser = argparse.ArgumentParser(description="Write the command table from a running server.")
    parser.add_argument("server", metavar="HOST:PORT")
    parser.add_argument("groups", nargs="+", metavar="GROUP")
    here = os.path.dirname(os.path.abspath(__file__))
    parser.add_argument("--out", default=os.path.join(here, "..", "src", "commands", "table"))
    options = parser.parse_args()
    server = Server(options.server)
    infos = [i for i in server.call("COMMAND") if i[0] not in WITHOUT]
    write_groups(server, options.groups, infos, options.out)
    write_header(os.path.normpath(options.out))


if __name__ == "__main__":
    main()
