"""rules.py -- rules for comparing two replies to a command that need not be equal to the byte.

A rule is a function (raw, value) that reduces a reply to the part that must be equal, or an object with

    judge(command, answers, ask)    None, or what is wrong. The command is sent alone, not in a pipeline. answers is
                                    [(raw, value), (raw, value)]; ask(i, command) asks server i, on the same connection.
    further(command, answers, ask)  the same, beside __call__(raw, value): only where the command happens to be alone

where i is 0 for the server under test and 1 for the peer. value is nested lists of byte strings: maps are flat,
numbers keep the sign of their kind (b":5", b",1.5"), null is None.

SPDX-License-Identifier: BSD-3-Clause
"""

COMPACT = (b"listpack", b"intset")


def exact(raw, value):
    return raw


def kind(raw, value):
    """Compares only the kind of reply, as its contents are times, random, addresses or prose."""
    return raw[:1]


def kind_or_error(raw, value):
    """Compares errors to the byte, and of other replies only the kind."""
    return raw if raw[:1] in b"-_" or value is None else raw[:1]


def time_left(raw, value):
    """Compares a remaining time only roughly; its absence is exact."""
    return raw if raw in (b":-1\r\n", b":-2\r\n") or raw[:1] == b"-" else raw[:1]


def in_order(items):
    return sorted(items, key=repr)


def as_pairs(items):
    """Returns the pairs of a flat list, or of a list of pairs."""
    if items and all(isinstance(item, list) for item in items):
        return [tuple(item) for item in items]
    return list(zip(items[::2], items[1::2]))


def unordered(raw, value):
    """An array or set in any order."""
    return (raw[:1], in_order(value)) if isinstance(value, list) else raw


def unordered_pairs(raw, value):
    """A map, a flat list of pairs or a list of pairs in any order."""
    return (raw[:1], len(value), in_order(as_pairs(value))) if isinstance(value, list) else raw


class Unordered:
    """Elements of a table in any order; in the same order if the encoding of the key (argument AT) is ordered."""

    def __init__(self, pairs=False, at=1):
        self.reduce = unordered_pairs if pairs else unordered
        self.at = at

    def __call__(self, raw, value):
        return self.reduce(raw, value)

    def further(self, command, answers, ask):
        if answers[0][0] == answers[1][0] or len(command) <= self.at:
            return None
        encoding = ask(1, [b"OBJECT", b"ENCODING", command[self.at]])[1]
        return "another order, although the encoding is %s" % encoding.decode() if encoding in COMPACT else None


class Drawn:
    """Random members (SRANDMEMBER, HRANDFIELD, ZRANDMEMBER): as many as the peer's; all of them in the key; no
    duplicates unless the count is negative.

    CONTENT(key) is the command that reads the members, or the pairs with PAIR_WORD (WITHVALUES ...).
    """

    def __init__(self, content, pair_word=None):
        self.content = content
        self.pair_word = pair_word

    def judge(self, command, answers, ask):
        if not isinstance(answers[0][1], list) or not isinstance(answers[1][1], list):
            if answers[0][0][:1] != answers[1][0][:1] or answers[0][0][:1] == b"-":
                return None if answers[0][0] == answers[1][0] else "differs"
            if answers[0][1] is None or answers[1][1] is None:
                return None if answers[0][1] is None and answers[1][1] is None else "differs"
        pairs = bool(self.pair_word) and len(command) == 4 and command[3].upper() == self.pair_word
        for i, (raw, value) in enumerate(answers):
            content = flat(ask(i, self.content(command[1]))[1])
            known = set(as_pairs(content)) if self.pair_word else set(content)
            drawn = value if isinstance(value, list) else [value]
            if pairs:
                drawn = as_pairs(drawn)
            elif self.pair_word:
                known = {pair[0] for pair in known}
            for item in drawn:
                if item not in known:
                    return "%s: %r is not in the key" % (("server", "peer")[i], item)
            if len(command) > 2 and not command[2].startswith(b"-") and len(set(drawn)) != len(drawn):
                return "%s: something is there twice" % ("server", "peer")[i]
        if answers[0][0][:1] != answers[1][0][:1]:
            return "another kind of reply"
        if isinstance(answers[0][1], list):
            if len(answers[0][1]) != len(answers[1][1]):
                return "another number of members"
            if [isinstance(item, list) for item in answers[0][1]] != [isinstance(item, list) for item in answers[1][1]]:
                return "another shape"
        return None


class Popped:
    """Random members removed from a set (SPOP): as many as the peer's, none of them left in the key.

    Afterwards the server's members are put back and the peer's removed, so that both have the same members.
    """

    def judge(self, command, answers, ask):
        if answers[0][0][:1] != answers[1][0][:1] or answers[0][0][:1] == b"-":
            return None if answers[0][0] == answers[1][0] else "differs"
        taken = [value if isinstance(value, list) else [value] if value is not None else [] for _, value in answers]
        if len(taken[0]) != len(taken[1]):
            return "another number of members"
        key = command[1]
        left = [set(flat(ask(i, [b"SMEMBERS", key])[1])) for i in (0, 1)]
        for i in (0, 1):
            if len(set(taken[i])) != len(taken[i]) or left[i] & set(taken[i]):
                return "%s: a member is there twice, or still in the key" % ("server", "peer")[i]
        if left[0] | set(taken[0]) != left[1] | set(taken[1]):
            return "popped members are not of the key"
        if not left[1] or left[0] == left[1]:
            return None
        if ask(1, [b"OBJECT", b"ENCODING", key])[1] in COMPACT:
            take_over(key, ask)
        else:
            ask(0, [b"SADD", key, *taken[0]])
            ask(0, [b"SREM", key, *taken[1]])
        return None


def take_over(key, ask, settings=b"set-max-*", threshold=b"1000000"):
    """Replaces the server's key by the peer's, if randomness has made them different and the order of members is
    visible. It is compact, perhaps from a time when the thresholds were larger; or of a threshold of 0.
    """
    ends = ask(1, [b"PEXPIRETIME", key])[1].lstrip(b":")
    payload = ask(1, [b"DUMP", key])[1]
    thresholds = flat(ask(0, [b"CONFIG", b"GET", settings])[1])
    ask(0, [b"CONFIG", b"SET", *[word for name in thresholds[::2] for word in (name, threshold)]])
    ask(0, [b"RESTORE", key, b"0" if ends.startswith(b"-") else ends, payload, b"REPLACE", b"ABSTTL"])
    ask(0, [b"CONFIG", b"SET", *thresholds])


class Scanned:
    """SCAN, HSCAN, SSCAN, ZSCAN: cursors and order may differ. A scan from 0 is continued to its end on either server,
    and all its results must agree. AT is the cursor's argument: 1 in SCAN, 2 in the others.
    """

    def __init__(self, at=2, pairs=False):
        self.at = at
        self.pairs = pairs

    def judge(self, command, answers, ask):
        if any(raw[:1] == b"-" for raw, _ in answers):
            return None if answers[0][0] == answers[1][0] else "differs"
        if answers[0][0][:1] != answers[1][0][:1]:
            return "another kind of reply"
        if self.at == 1:
            meet_all(ask)
        if command[self.at] != b"0":
            return None
        pairs = self.pairs and not any(word.upper() in (b"NOVALUES", b"NOSCORES") for word in command[self.at:])
        found = []
        for i in (0, 1):
            cursor, items = answers[i][1]
            every = list(items)
            for _ in range(100000):
                if cursor == b"0":
                    break
                cursor, items = ask(i, command[:self.at] + [cursor] + command[self.at + 1:])[1]
                every += items
            else:
                return "%s: the scan has no end" % ("server", "peer")[i]
            found.append(set(as_pairs(every)) if pairs else set(every))
        if found[0] != found[1]:
            return "the server alone finds %r, the peer alone %r" % (in_order(found[0] - found[1])[:5],
                                                                   in_order(found[1] - found[0])[:5])
        return None


def meet_all(ask):
    """Expired keys count, in DBSIZE and among the changes of FLUSHALL, until a command accesses them. SCAN and
    RANDOMKEY access random ones: then a walk accesses all of them, on both servers. (KEYS only hides them.)
    """
    for i in (0, 1):
        cursor = b"0"
        while True:
            cursor = ask(i, [b"SCAN", cursor, b"COUNT", b"1000"])[1][0]
            if cursor == b"0":
                break


class Met:
    """RANDOMKEY: the kind of reply."""

    def judge(self, command, answers, ask):
        meet_all(ask)
        return None if answers[0][0][:1] == answers[1][0][:1] else "another kind of reply"


def flat(value):
    if isinstance(value, list):
        return [item for part in value for item in flat(part)]
    return [] if value is None else [value]


class Levelled:
    """The same reply; a string at argument 1 that only the peer has converted to raw is converted here, too."""

    def judge(self, command, answers, ask):
        if answers[0][0] != answers[1][0]:
            return "differs"
        if len(command) > 1 and answers[0][0][:1] != b"-":
            encodings = [ask(i, [b"OBJECT", b"ENCODING", command[1]])[1] for i in (0, 1)]
            if encodings[1] == b"raw" and encodings[0] in (b"int", b"embstr"):
                ask(0, [b"APPEND", command[1], b""])
        return None
