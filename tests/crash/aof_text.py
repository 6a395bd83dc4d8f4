"""aof_text.py -- finds the ends of complete propagation units in an append-only file of commands.

SPDX-License-Identifier: BSD-3-Clause
"""

import os
import re
import shlex


def request(data, at):
    """Returns (end, words) of the command at AT; end is None if it is not complete, words None for an annotation."""
    if data[at:at + 1] == b"#":
        end = data.find(b"\n", at)
        return (end + 1, None) if end >= 0 else (None, None)
    head = re.compile(rb"\*([0-9]{1,7})\r\n").match(data, at)
    if not head or not int(head[1]):
        return None, None
    at, words = head.end(), []
    for _ in range(int(head[1])):
        size = re.compile(rb"\$([0-9]{1,9})\r\n").match(data, at)
        if not size:
            return None, None
        begin, end = size.end(), size.end() + int(size[1])
        if data[end:end + 2] != b"\r\n":
            return None, None
        words.append(data[begin:end])
        at = end + 2
    return at, words


def units(data):
    """Returns the ends of the units: a command, or all from MULTI to EXEC; an annotation belongs to the next unit."""
    ends, at, inside = [], 0, False
    while at < len(data):
        end, words = request(data, at)
        if end is None:
            break
        at = end
        if words is None:
            continue
        name = words[0].upper()
        if name == b"MULTI":
            inside = True
        elif name == b"EXEC":
            inside = False
        if not inside:
            ends.append(at)
    return ends


def increments(folder):
    """Returns the paths of the increments that the manifest in FOLDER (appendonlydir) names, in order."""
    names = []
    for entry in os.listdir(folder) if os.path.isdir(folder) else []:
        if entry.endswith(".manifest") and not entry.startswith("temp"):
            with open(os.path.join(folder, entry)) as file:
                for line in file:
                    words = shlex.split(line)
                    fields = dict(zip(words[::2], words[1::2]))
                    if fields.get("type") == "i":
                        names.append((int(fields["seq"]), os.path.join(folder, fields["file"])))
    return [path for _, path in sorted(names)]


def cut_tail(path):
    """Removes everything after the last complete unit. Returns the number of bytes removed."""
    with open(path, "rb") as file:
        data = file.read()
    ends = units(data)
    good = ends[-1] if ends else 0
    os.truncate(path, good)
    return len(data) - good
