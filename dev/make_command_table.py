#!/usr/bin/env python3
"""Write the rows of the command table, and commands.h beside them, from the descriptions src/commands/table/*.commands.

Commands of the layer `commands` get their rows in src/commands/table/GROUP.def; those whose handlers are in another layer
in src/LAYER/table/LAYER_commands.def.

    dev/make_command_table.py              write the files that differ
    dev/make_command_table.py --check      write nothing; print the files that differ and exit with 1 (CI)
    dev/make_command_table.py --list       print the commands that are described but have no handler yet

src/commands/table/README.md says how to write a description. An error in one is reported with file and line.

SPDX-License-Identifier: BSD-3-Clause
"""
import argparse
import glob
import os
import re
import shlex
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SRC = os.path.join(ROOT, "src")
DESCRIPTIONS = os.path.join(SRC, "commands", "table")
HEADER_PATH = os.path.join(SRC, "commands", "table", "commands.h")

# In the order of the bits in engine/table/command_table.h.
FLAGS = """write readonly denyoom admin pubsub noscript blocking loading stale skip_monitor skip_commandlog asking fast
    no_auth may_replicate no_mandatory_keys protected no_async_loading no_multi movablekeys allow_busy
    all_dbs secrets arbitrary_keys unscriptable""".split()
HIDDEN_FLAGS = "may_replicate protected all_dbs secrets arbitrary_keys unscriptable".split()
CATEGORIES = """keyspace read write set sortedset list hash string bitmap hyperloglog geo stream pubsub admin fast slow
    blocking dangerous connection transaction scripting""".split()
KEY_FLAGS = "RO RW OW RM access update insert delete not_key incomplete variable_flags".split()
ARG_TYPES = "string integer double key pattern unix-time pure-token oneof block".split()
ARG_FLAGS = "optional multiple multiple-token".split()

# Where a word is allowed, and whether more than once.
COMMAND_WORDS = {"handler": 1, "since": 1, "arity": 1, "flags": 1, "hidden": 1, "categories": 1, "value": 1, "elements": 1,
                 "get_keys": 1, "keys": 0, "tips": 1, "doc_flags": 1, "deprecated_since": 1, "arg": 0, "summary": 1,
                 "complexity": 1, "replaced_by": 1, "history": 0, "help": 0}
INNER_WORDS = {"keys": {"notes": 1}, "arg": {"summary": 1, "arg": 0}}
REQUIRED = ("since", "arity", "summary")
HELP_HANDLER = "containerHelpCommand"  # engine/table/command_table.h


# ---- Reading -------------------------------------------------------------------------------------------------------


class Node:
    """One line of a description: its first word, the rest, and the lines below it with a deeper indent."""

    def __init__(self, where, word, rest):
        self.where, self.word, self.rest, self.raw, self.inner = where, word, rest.strip(), rest, []

    def fail(self, problem):
        sys.exit("%s: %s" % (self.where, problem))

    def words(self):
        try:
            return shlex.split(self.rest)
        except ValueError as problem:
            self.fail(str(problem))

    def all(self, word):
        return [node for node in self.inner if node.word == word]

    def text(self, word):
        return next((node.rest for node in self.inner if node.word == word), None)

    def list(self, word, allowed):
        """The words of one line, in the order of `allowed`."""
        node = next(iter(self.all(word)), None)
        if node is None:
            return []
        for item in node.words():
            if item not in allowed:
                node.fail("no such word here: " + item)
        return sorted(node.words(), key=allowed.index)

    def check_words(self, allowed):
        seen = set()
        for node in self.inner:
            if node.word not in allowed:
                node.fail("%s does not belong to %s" % (node.word, self.word))
            if not node.rest:
                node.fail(node.word + " says nothing")
            if allowed[node.word] and node.word in seen:
                node.fail(node.word + " stands twice")
            seen.add(node.word)
            node.check_words(INNER_WORDS.get(node.word, {}))


def logical_lines(path):
    """(line number, text), without comments and empty lines; a line that ends in a backslash is joined with the next."""
    with open(path, encoding="ascii") as file:
        pending, start = "", 0
        for number, line in enumerate(file, 1):
            line = line.rstrip("\n")
            if not pending and (not line.strip() or line.lstrip().startswith("#")):
                continue
            start = start if pending else number
            line = pending + (line.lstrip() if pending else line)
            pending = line[:-1] if line.endswith("\\") else ""
            if not pending:
                yield start, line
        if pending:
            sys.exit("%s: ends within a line" % path)


def read_nodes(path):
    """The commands of a file, each with the lines below it."""
    top, stack = [], []
    for number, line in logical_lines(path):
        where = "%s:%d" % (os.path.relpath(path, ROOT), number)
        body = line.lstrip(" ")
        depth, odd = divmod(len(line) - len(body), 4)
        word, _, rest = body.partition(" ")
        node = Node(where, word, rest)
        if odd or depth > len(stack):
            node.fail("indented by other than one step of four spaces")
        del stack[depth:]
        if depth == 0 and word != "command":
            node.fail("only `command` starts at the margin")
        (stack[-1].inner if stack else top).append(node)
        stack.append(node)
    return top


class Command:
    """A command as its description has it, checked."""

    def __init__(self, node, group):
        self.node, self.group, self.subs = node, group, []
        self.words = node.rest.lower().split()
        if not 1 <= len(self.words) <= 2 or node.rest != node.rest.upper():
            node.fail("a command has one word or two, in capitals")
        node.check_words(COMMAND_WORDS)
        for word in REQUIRED:
            if not node.all(word):
                node.fail("%s has no %s" % (node.rest, word))
        self.name = self.words[-1]
        self.since = self.version(node, node.text("since"))
        self.arity = self.number(node, node.text("arity"))
        self.handler, _, self.function = (node.text("handler") or "").partition(" ")
        if self.handler and not os.path.isdir(os.path.join(SRC, self.handler)):
            node.fail("there is no layer " + self.handler)
        if self.function and not re.fullmatch(r"[a-z][A-Za-z0-9]*Command", self.function):
            node.fail("not the name of a handler: " + self.function)
        hidden = node.list("hidden", HIDDEN_FLAGS)
        self.flags = sorted(node.list("flags", [f for f in FLAGS if f not in hidden]) + hidden, key=FLAGS.index)
        self.value = self.number(node, node.text("value")) if node.all("value") else None
        self.elements = self.element_numbers(node) if node.all("elements") else None
        self.categories = self.all_categories()
        self.specs = [KeySpec(n) for n in node.all("keys")]
        self.args = [Argument(n, len(self.specs)) for n in node.all("arg")]
        self.doc_flags = node.list("doc_flags", ["syscmd"])
        if node.all("deprecated_since"):
            self.version(node, node.text("deprecated_since"))
            self.doc_flags = ["deprecated"] + self.doc_flags
        self.help = [n.raw for n in node.all("help")]  # a container: see add_help()
        self.history = []
        for entry in node.all("history"):
            since, _, text = entry.rest.partition(" ")
            self.version(entry, since)
            if not text:
                entry.fail("a version, then what came with it")
            self.history.append((since, text))

    def element_numbers(self, node):
        numbers = [self.number(node, word) for word in node.text("elements").split()]
        if len(numbers) != 2 or numbers[0] < 1 or numbers[1] < 0:
            node.fail("elements: the first argument, and how far the next is (0: there is none)")
        return numbers

    @staticmethod
    def number(node, text):
        if not re.fullmatch(r"-?[0-9]+", text):
            node.fail("not a number: " + text)
        return int(text)

    @staticmethod
    def version(node, text):
        if not re.fullmatch(r"[0-9]+\.[0-9]+\.[0-9]+", text):
            node.fail("not a version: " + text)
        return text

    def all_categories(self):
        """The categories that are named, and those that follow from flags."""
        named = set(self.node.list("categories", CATEGORIES))
        found = set(named)
        for flag, brings in (("write", ["write"]), ("admin", ["admin", "dangerous"]), ("pubsub", ["pubsub"]),
                             ("blocking", ["blocking"])):
            if flag in self.flags:
                found.update(brings)
        if "readonly" in self.flags and "scripting" not in named:
            found.add("read")
        found.add("fast" if "fast" in self.flags else "slow")
        return sorted(found, key=CATEGORIES.index)

    def add_help(self, subs):
        """Make the help text of a container from the lines of its subcommands, in the order of the file, and give it to
        the subcommand HELP, for which the server has one handler."""
        if not any(sub.help for sub in subs):
            return
        for sub in subs:
            if sub.name == "help":
                if not sub.handler:
                    sub.handler, sub.function = self.layer(), HELP_HANDLER
            elif sub.handler:
                if not sub.help or sub.help[0].split()[0] != sub.name.upper():
                    sub.node.fail("has no help that begins with " + sub.name.upper())
                self.help += sub.help

    def layer(self):
        """The layer that has its handler or those of its subcommands; None if it has no row yet."""
        layers = {command.handler for command in [self] + self.subs if command.handler}
        if len(layers) > 1:
            self.node.fail("handlers in several layers: " + " ".join(sorted(layers)))
        return next(iter(layers), None)

    def proc(self):
        if self.function:
            return self.function
        parts = re.split("[ _-]", " ".join(self.words))
        return parts[0] + "".join(part.capitalize() for part in parts[1:]) + "Command"


class KeySpec:
    def __init__(self, node):
        words = node.words()
        self.node, self.parts, self.notes = node, [], node.text("notes")

        def take(count):
            taken, words[:] = words[:count], words[count:]
            if len(taken) < count:
                node.fail("keys (at N | after WORD N | anywhere) (range LAST STEP LIMIT | counted N FIRST STEP | unknown)"
                          " FLAG...")
            return taken

        begin = take(1)[0]
        if begin == "at":
            self.parts.append("KEYS_AT(%d)" % Command.number(node, *take(1)))
        elif begin == "after":
            keyword, start = take(2)
            self.parts.append("KEYS_AFTER(%s, %d)" % (quote(keyword), Command.number(node, start)))
        elif begin != "anywhere":
            take(99)
        find = take(1)[0]
        if find in ("range", "counted"):
            numbers = tuple(Command.number(node, n) for n in take(3))
            self.parts.append(("KEYS_RANGE" if find == "range" else "KEYS_COUNTED") + "(%d, %d, %d)" % numbers)
        elif find != "unknown":
            take(99)
        for flag in words:
            if flag not in KEY_FLAGS:
                node.fail("no such key flag: " + flag)
        self.parts.append(".flags = " + names("CMD_KEY_", sorted(words, key=KEY_FLAGS.index)))


class Argument:
    def __init__(self, node, nspecs):
        words = node.words()
        if len(words) < 2 or words[1] not in ARG_TYPES:
            node.fail("arg NAME TYPE ..., where TYPE is one of: " + " ".join(ARG_TYPES))
        self.name, self.type = words[:2]
        self.fields, self.flags = {}, []
        for word in words[2:]:
            field, equals, value = word.partition("=")
            if equals and field in ("spec", "token", "display", "since", "deprecated_since"):
                self.fields[field] = value
            elif word in ARG_FLAGS:
                self.flags.append(word)
            else:
                node.fail("no such word here: " + word)
        self.spec = self.fields.get("spec", "0" if self.type == "key" else "none")
        if self.spec != "none" and Command.number(node, self.spec) >= nspecs:
            node.fail("there is no key spec " + self.spec)
        self.display = self.fields.get("display", "none" if self.type in ("block", "oneof") else self.name)
        self.summary = node.text("summary")
        self.args = [Argument(n, nspecs) for n in node.all("arg")]
        if bool(self.args) != (self.type in ("block", "oneof")):
            node.fail("block and oneof hold further arguments, others do not")


def read_group(path):
    """(group, commands sorted by name with their subcommands in them)."""
    group = os.path.basename(path)[:-len(".commands")].replace("_", "-")
    commands = {}
    for node in read_nodes(path):
        command = Command(node, group)
        if tuple(command.words) in commands:
            node.fail(node.rest + " is described twice")
        commands[tuple(command.words)] = command
    for words, command in sorted(commands.items()):
        if len(words) == 2:
            if words[:1] not in commands:
                command.node.fail("%s is not described in this file" % words[0].upper())
            commands[words[:1]].subs.append(command)
    for command in commands.values():
        command.add_help([sub for words, sub in commands.items() if len(words) == 2 and sub in command.subs])
    return group, [command for words, command in sorted(commands.items()) if len(words) == 1]


# ---- Writing -------------------------------------------------------------------------------------------------------


def quote(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def wrapped(head, text, indent, tail=","):
    """A string initializer, on several lines if it is long."""
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


def filled(head, items, indent):
    """`HELP(`, and below it the items, as many in a line as fit."""
    lines = [indent + head]
    for item in items:
        if lines[1:] and len(lines[-1]) + len(item) < 117:
            lines[-1] += " " + item + ","
        else:
            lines.append(indent + "    " + item + ",")
    return lines


def closed(lines, bracket):
    """Moves the comma of the last line after the bracket."""
    return lines[:-1] + [lines[-1][:-1] + bracket]


def spec_lines(spec, indent):
    out = folded("{" + ", ".join(spec.parts), indent)
    if spec.notes:
        out[-1] += ","
        out += wrapped(".notes = ", spec.notes, indent + " ", "")
    out[-1] += "},"
    return out


def arg_lines(arg, indent):
    if arg.display == arg.name:
        parts = ["SHOWN(%s)" % quote(arg.name)]
    else:
        parts = [".name = " + quote(arg.name)]
    parts.append(".type = " + quote(arg.type))
    if arg.spec != "none":
        parts.append(".key_spec_index = " + arg.spec)
    parts += [".%s = %s" % (field, quote(arg.fields[field])) for field in ("token", "since", "deprecated_since")
              if field in arg.fields]
    if arg.display not in ("none", arg.name):
        parts.append(".display = " + quote(arg.display))
    if arg.flags:
        parts.append(".flags = " + names("CMD_ARG_", arg.flags))
    out = folded("%s(%s" % ("ARG" if arg.spec == "none" else "KEY_ARG", ", ".join(parts)), indent)
    if arg.summary:
        out[-1] += ","
        out += wrapped(".summary = ", arg.summary, indent + "    ", "")
    if arg.args:
        out[-1] += ","
        out += closed(args_lines("SUB_ARGS(", arg.args, indent + "    "), "")
    out[-1] += "),"
    return out


def args_lines(macro, args, indent):
    out = [indent + macro]
    for arg in args:
        out += arg_lines(arg, indent + "    ")
    return closed(out, "),")


def docs_lines(command, indent):
    node, inner = command.node, indent + "     "
    out = wrapped("DOCS(.summary = ", node.text("summary"), indent)
    out.append(inner + ".since = %s, .group = %s," % (quote(command.since), quote(command.group)))
    if node.all("complexity"):
        out += wrapped(".complexity = ", node.text("complexity"), inner)
    if command.doc_flags:
        out.append(inner + ".doc_flags = %s," % names("CMD_DOC_", command.doc_flags))
    for field in "deprecated_since", "replaced_by":
        if node.all(field):
            out += wrapped(".%s = " % field, node.text(field), inner)
    if command.history:
        out.append(inner + "HISTORY(")
        for since, text in command.history:
            out += wrapped(quote(since) + ", ", text, inner + "    ")
        out = closed(out, "),")
    if command.args:
        out += args_lines("ARGS(", command.args, inner)
    if command.subs and command.help:
        out += closed(filled("HELP(", [quote(line) for line in command.help], inner), "),")
    return closed(out, "),")


def command_lines(command, indent):
    node, inner = command.node, indent + "    "
    out = [indent + "{", inner + ".name = %s," % quote(command.name)]
    if command.handler:
        out.append(inner + ".proc = %s," % command.proc())
    out.append(inner + ".arity = %d," % command.arity)
    if command.value is not None:
        out.append(inner + ".value_arg = %d," % command.value)
    if command.elements:
        out.append(inner + ".element_arg = %d," % command.elements[0])
        if command.elements[1]:
            out.append(inner + ".element_step = %d," % command.elements[1])
    flags = command.flags + (["builds_value"] if command.value is not None else [])
    if flags:
        out += folded(".flags = %s," % names("CMD_", flags).replace("MOVABLEKEYS", "MOVABLE_KEYS"), inner)
    out += folded(".acl_categories = %s," % names("ACL_CATEGORY_", command.categories), inner)
    if node.all("get_keys"):
        out.append(inner + ".get_keys = %s," % node.text("get_keys"))
    if command.specs:
        out.append(inner + "KEY_SPECS(")
        for spec in command.specs:
            out += spec_lines(spec, inner + "    ")
        out = closed(out, "),")
    if node.all("tips"):
        out += folded("TIPS(%s)," % ", ".join(quote(t) for t in node.text("tips").split()), inner)
    out += docs_lines(command, inner)
    subs = [sub for sub in command.subs if sub.handler]
    if subs:
        out.append(inner + "SUBCOMMANDS(")
        for sub in subs:
            out += command_lines(sub, inner + "    ")
        out = closed(out, "),")
    return out + [indent + "},"]


def rows_text(name, what, commands):
    lines = ["/* %s -- the commands %s; written by dev/make_command_table.py." % (name, what), " *",
             " * SPDX-License-Identifier: BSD-3-Clause */"]
    for command in commands:
        lines += command_lines(command, "")
    return "\n".join(lines) + "\n"


def header_text(files):
    """Declares the handlers of the layer `commands`; other layers declare theirs by hand."""
    lines = []
    for path, (_, commands) in files.items():
        procs = dict.fromkeys(c.proc() for top in commands for c in [top] + top.subs
                              if c.handler == "commands" and c.proc() != HELP_HANDLER)
        if procs:
            lines += ["", "/* %s */" % os.path.basename(path)] + ["void %s(client *c);" % proc for proc in procs]
    return HEADER % "\n".join(lines)


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


# ---- Main ----------------------------------------------------------------------------------------------------------


def bring_up_to_date(path, text, check):
    """Returns True if the file has this text, or has been written with it."""
    try:
        with open(path) as file:
            if file.read() == text:
                return True
    except FileNotFoundError:
        pass
    name = os.path.relpath(path, ROOT)
    if check:
        print("%s is not what its description says: run dev/make_command_table.py" % name)
        return False
    with open(path, "w") as file:
        file.write(text)
    print("wrote " + name)
    return True


def main():
    parser = argparse.ArgumentParser(description="Write the command table from its descriptions.")
    parser.add_argument("--check", action="store_true", help="write nothing, fail when a file is out of date")
    parser.add_argument("--list", action="store_true", help="name the commands that have no handler yet")
    options = parser.parse_args()

    described = [read_group(path) for path in sorted(glob.glob(os.path.join(DESCRIPTIONS, "*.commands")))]
    if options.list:
        for _, commands in described:
            for command in [c for top in commands for c in (top.subs or [top])]:
                if not command.handler:
                    print(command.node.rest)
        return 0
    files = {}
    for group, commands in described:
        for command in commands:
            layer = command.layer()
            if layer == "commands":
                name, what = group.replace("-", "_") + ".def", "of group " + group
            elif layer:
                name, what = layer + "_commands.def", "whose handlers are in this layer"
            if layer:
                files.setdefault(os.path.join(SRC, layer, "table", name), (what, []))[1].append(command)
    good = [bring_up_to_date(path, rows_text(os.path.basename(path), what, commands), options.check)
            for path, (what, commands) in files.items()]
    good.append(bring_up_to_date(HEADER_PATH, header_text(files), options.check))
    stray = sorted(set(glob.glob(os.path.join(SRC, "*", "table", "*.def"))) - set(files))
    for path in stray:
        print("%s has no description" % os.path.relpath(path, ROOT))
    return 0 if all(good) and not stray else 1


if __name__ == "__main__":
    sys.exit(main())
