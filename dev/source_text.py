"""dev/source_text.py -- split sources into comments and code, for the checks beside it.

SPDX-License-Identifier: BSD-3-Clause"""

import functools
import os
import re

C_PIECES = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text):
    """The text with spaces for all but its line ends, so that the text after it keeps its line and column."""
    return re.sub(r"[^\n]", " ", text)


def only_comments(text):
    """C source with everything but its comments blanked."""
    out, end = [], 0
    for piece in C_PIECES.finditer(text):
        out.append(blank(text[end:piece.start()]))
        word = piece.group(0)
        out.append(word if word.startswith("/") else blank(word))
        end = piece.end()
    out.append(blank(text[end:]))
    return "".join(out)


@functools.cache
def only_code(text):
    """C source with its comments and strings blanked."""
    return C_PIECES.sub(lambda piece: blank(piece.group(0)), text)


def hash_comments(text):
    """The comment lines of a script, and Python's first docstring."""
    keep = [line if re.match(r"\s*#(?!!|include\b|define\b|if|endif\b)", line) else "" for line in text.split("\n")]
    docstring = re.match(r"#!.*?\n(\"\"\".*?\"\"\")", text, re.S)
    if docstring:
        for i, line in enumerate(docstring.group(1).split("\n"), 1):
            keep[i] = line
    return "\n".join(keep)


def prose_of(path, text):
    """The comments or the text of a file, with the rest blanked; None for a file without prose."""
    name = os.path.basename(path)
    if name.endswith(".md"):
        return text
    if name.endswith((".c", ".h", ".def")):
        return only_comments(text)
    if name.endswith((".py", ".tcl", ".sh", ".conf")) or name in ("Makefile", "LAYERS") or text.startswith("#!"):
        return hash_comments(text)
    return None
