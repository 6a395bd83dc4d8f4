"""failures.py -- shortens failing inputs and prints them: shrink() and show_all().

SPDX-License-Identifier: BSD-3-Clause
"""

import time


def shrink(items, play, deadline):
    """Returns the shortest list found that still fails, and its outcome; drops halves, quarters, ... single items.

    play(items) returns None, or an outcome with .at, the index of the item at which it failed (beyond the last: after
    all). Returns (items, None) if it does not fail when repeated.
    """
    found = play(items)
    if found is None:
        return items, None
    items = items[:found.at + 1]
    chunk = max(1, len(items) // 2)
    while time.time() < deadline:
        at = 0
        changed = False
        while at < len(items) and time.time() < deadline:
            fewer = items[:at] + items[at + chunk:]
            outcome = play(fewer)
            if outcome is not None:
                items, found = fewer[:outcome.at + 1], outcome
                changed = True
            else:
                at += chunk
        if chunk == 1 and not changed:
            break
        chunk = max(1, chunk // 2)
    return items, found


def show(word):
    text = "".join(chr(b) if 32 < b < 127 and b not in (34, 92) else "\\x%02x" % b for b in word)
    if len(text) > 120:
        text = "%s...(%d bytes)" % (text[:100], len(word))
    return text if text and " " not in text and "\\" not in text else '"%s"' % text


def show_all(command):
    return " ".join(show(word) for word in command)
