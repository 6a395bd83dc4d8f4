"""sort.py -- generators of SORT and SORT_RO, with keys that their patterns name.

SPDX-License-Identifier: BSD-3-Clause
"""

import rules

WEIGHT = 0.5

# Elements of a table have any order, and so do elements that compare equal: by ALPHA with weights, or unsorted.


class Sorted:
    """The peer's SORT converts the listpack of a sorted set that it reads to a skiplist, even if it fails afterwards;
    the rule does the same here.
    """

    def judge(self, command, answers, ask):
        if len(command) > 1:
            encodings = [ask(i, [b"OBJECT", b"ENCODING", command[1]])[1] for i in (0, 1)]
            if encodings == [b"listpack", b"skiplist"]:
                rules.take_over(command[1], ask, b"zset-max-listpack-entries", b"0")
        return self.compare(command, answers)

    def compare(self, command, answers):
        if answers[0][0] == answers[1][0]:
            return None
        words = [word.upper() for word in command]
        loose = b"ALPHA" in words or b"BY" in words and b"STORE" not in words
        if not loose or any(not isinstance(value, list) for _, value in answers):
            return "differs"
        width = max(1, words.count(b"GET"))
        rows = [sorted((value[i:i + width] for i in range(0, len(value), width)), key=repr) for _, value in answers]
        return None if rows[0] == rows[1] else "differs"


REPLIES = {
    "sort": ("order of what compares equal", Sorted()),
    "sort_ro": ("order of what compares equal", Sorted()),
}


def commands(g):
    source = lambda: g.r.choice(["list:1", "list:2", "list:3", "set:1", "set:2", "set:3", "zset:1", "zset:2", "none"])
    name = lambda prefix: prefix + g.member()

    def sort(store):
        words = []
        by = g.r.choice([None, None, "w_*", "w_*", "h_*->f", "nosort", "*", "none_*", "h_*->", "w_*_*"])
        alpha = g.chance(0.5)
        if by:
            words.append([g.case("BY"), by])
        if alpha:
            words.append([g.case("ALPHA")])
        elif g.chance(0.4) and by != "nosort":
            words.append([g.case("LIMIT"), g.count(), g.count()])
        for _ in range(g.r.choice([0, 0, 1, 2, 3])):
            words.append([g.case("GET"), g.r.choice(["#", "#", "w_*", "h_*->f", "h_*->x", "*", "none", "h_*"])])
        if g.chance(0.4):
            words.append([g.case(g.r.choice(["ASC", "DESC"]))])
        if store and not (by and (alpha or "*" not in by)):
            words.append([g.case("STORE"), g.key("list")])
        if g.chance(0.05):
            words.append([g.r.choice(["NOPE", "STORE", "BY", "LIMIT"])])
        g.r.shuffle(words)
        return [source()] + [word for option in words for word in option]

    with_weights = [["SET", lambda: name("w_")], ["SET", lambda: name("w_")]]
    if "hset" in g.known:
        with_weights.append(["HSET", lambda: name("h_")])

    def weights():
        made = []
        for _ in range(g.r.randrange(1, 6)):
            command, key = g.r.choice(with_weights)
            field = ["f"] if command == "HSET" else []
            value = str(g.r.randrange(-9, 9)) if g.chance(0.9) else g.text()
            made.append([command, key(), *field, value])
        if g.chance(0.3) and "rpush" in g.known:
            made.append(["RPUSH", g.key("list"), *(g.member() for _ in range(g.many()))])
        return g.sequence(*made, ["SORT", *sort(g.chance(0.3))])

    return {
        "sort": (3, lambda: weights() if g.chance(0.3) else sort(g.chance(0.4))),
        "sort_ro": lambda: sort(False),
    }
