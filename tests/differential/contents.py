"""contents.py -- compares all keys of two servers by all commands that read them.

Per key: TYPE, OBJECT ENCODING, DEBUG DIGEST-VALUE, whether it has a TTL (and about which), the reading commands of its
type's module. For some keys, the DUMP of either server is restored on both, and the result is compared with the
original.

SPDX-License-Identifier: BSD-3-Clause
"""

DATABASES = (b"0", b"1", b"2")
RESTORED = b"restored from a dump"
# Expires set by a duration and not by a time differ by the delay between the two servers.
APART_MS = 10000


def compare(servers, modules, same, crossings):
    """Returns None, or (command, replies) of the first difference.

    modules by their TYPE; same(command, replies, ask) is None or a text; crossings is the number of keys to DUMP per
    database.
    """
    ask = lambda i, command: servers[i].ask(command)

    def differs(command):
        answers = [ask(i, command) for i in (0, 1)]
        problem = same(command, answers, ask)
        return (problem, command, answers) if problem else None

    for database in DATABASES:
        for i in (0, 1):
            ask(i, [b"SELECT", database])
        found = differs([b"KEYS", b"*"])
        if found:
            return found
        keys = sorted(ask(1, [b"KEYS", b"*"])[1])
        for number, key in enumerate(keys):
            found = compare_key(key, modules, differs, ask)
            if not found and number % max(1, len(keys) // max(1, crossings)) == 0 and crossings:
                found = cross(key, modules, differs, ask)
            if found:
                return found
    return None


def reads(key, modules, ask):
    module = modules.get(ask(1, [b"TYPE", key])[1].decode().lstrip("+"))
    return [[b"TYPE", key], [b"OBJECT", b"ENCODING", key], [b"DEBUG", b"DIGEST-VALUE", key]] + \
        (module.read(key) if module else [])


def compare_key(key, modules, differs, ask):
    for command in reads(key, modules, ask):
        found = differs(command)
        if found:
            return found
    command = [b"PEXPIRETIME", key]
    answers = [ask(i, command) for i in (0, 1)]
    ends = [int(value.lstrip(b":")) for _, value in answers]
    if (min(ends) < 0 or abs(ends[0] - ends[1]) > APART_MS) and ends[0] != ends[1]:
        return "another end", command, answers
    return None


def cross(key, modules, differs, ask):
    """Restores the DUMP of either server on both."""
    module = modules.get(ask(1, [b"TYPE", key])[1].decode().lstrip("+"))
    payloads = [ask(i, [b"DUMP", key]) for i in (0, 1)]
    encoding = ask(1, [b"OBJECT", b"ENCODING", key])[1] or b""
    # LZF output (0xc3) differs between encoders.
    packed = any(b"\xc3" in p[1] for p in payloads if p[1])
    if encoding.decode() in getattr(module, "SAME_DUMP", ()) and not packed and payloads[0][0] != payloads[1][0]:
        return "other bytes", [b"DUMP", key], payloads
    if None in (payloads[0][1], payloads[1][1]):
        return "no dump", [b"DUMP", key], payloads
    for i in (0, 1):
        end = ask(1, [b"PEXPIRETIME", key])[1].lstrip(b":")
        command = [b"RESTORE", RESTORED, b"0" if end == b"-1" else end, payloads[i][1], b"REPLACE", b"ABSTTL"]
        answers = [ask(j, command) for j in (0, 1)]
        if answers[0][0] != answers[1][0]:
            return "the %s's DUMP of %r is not taken" % (("server", "peer")[i], key), command, answers
        if answers[0][0].startswith(b"-"):
            return "neither takes the %s's DUMP of %r" % (("server", "peer")[i], key), command, answers
        digests = [ask(1, [b"DEBUG", b"DIGEST-VALUE", name]) for name in (RESTORED, key)]
        if digests[0] != digests[1]:
            return "the %s's DUMP has become something else" % ("server", "peer")[i], command, digests
        for question in reads(RESTORED, modules, ask):
            found = differs(question)
            if found:
                return "restored from the %s's DUMP of %r: %s" % (("server", "peer")[i], key, found[0]), *found[1:]
    for i in (0, 1):
        ask(i, [b"DEL", RESTORED])
    return None
