"""geo.py -- generators of the geo group. The keys are those of sorted sets.

SPDX-License-Identifier: BSD-3-Clause
"""
import math


class Ties:
    """COUNT without ANY takes the nearest; of several at the same distance the choice depends on the sort."""

    def judge(self, command, answers, ask):
        words = [word.upper() for word in command]
        if answers[0][0] == answers[1][0]:
            return None
        if b"COUNT" not in words or b"ANY" in words or b"STORE" in words or not isinstance(answers[0][1], list):
            return "differs"
        found = [value for _, value in answers]
        if not isinstance(found[1], list) or len(found[0]) != len(found[1]):
            return "differs"
        if b"WITHDIST" in words and [hit[1] for hit in found[0]] != [hit[1] for hit in found[1]]:
            return "other distances"
        return None


REPLIES = {name: ("order of what is equally far", Ties()) for name in (
    "geosearch", "georadius", "georadius_ro", "georadiusbymember", "georadiusbymember_ro")}


def middle_is_beyond(vertices):
    """Returns whether the polygon's center is outside the valid range: the peer's result is random then."""
    try:
        points = [[math.radians(float(word)) for word in vertex] for vertex in vertices]
        x = sum(math.cos(lat) * math.cos(lon) for lon, lat in points)
        y = sum(math.cos(lat) * math.sin(lon) for lon, lat in points)
        z = sum(math.sin(lat) for _, lat in points)
    except ValueError:  # not a number, or infinite
        return False
    return abs(math.degrees(math.atan2(z, math.hypot(x, y)))) > 85.05


def commands(g):
    key = lambda: g.key("zset")
    member = g.member
    # The positions of a round are near to or far from a common center.
    middle = (g.r.choice([0, 15, -122, 179.999, g.r.uniform(-180, 180)]), g.r.choice([0, 38, -67, 81, g.r.uniform(-85, 85)]))
    spread = 10 ** g.r.uniform(-4, 2)

    def place():
        if g.chance(0.03):
            return [g.score(), g.score()]
        lon, lat = (at + g.r.uniform(-spread, spread) for at in middle)
        return [repr(min(180.0, max(-180.0, lon))), repr(min(85.05112878, max(-85.05112878, lat)))]

    unit = lambda: g.r.choice(["m", "km", "KM", "ft", "mi", "m", "km"]) if g.chance(0.97) else "yd"
    # A distance in meters or another unit.
    size = lambda: repr(spread * 111000 * 10 ** g.r.uniform(-5, 1)) if g.chance(0.93) else g.score()
    reply = lambda: g.options([g.word("WITHDIST"), g.word("WITHCOORD"), g.word("WITHHASH")], 0.25) if g.chance(0.6) else []
    count = lambda: g.options([lambda: [g.case("COUNT"), g.count()] + g.options([g.word("ANY")], 0.6)], 0.4)
    order = lambda: g.options([g.word("ASC", "DESC", "asc")], 0.4)

    def shape():
        kind = g.r.random()
        source = [g.case("FROMMEMBER"), member()] if g.chance(0.4) else [g.case("FROMLONLAT")] + place()
        if kind < 0.4:
            return source + [g.case("BYRADIUS"), size(), unit()]
        if kind < 0.7:
            return source + [g.case("BYBOX"), size(), size(), unit()]
        vertices = [place() for _ in range(g.r.randrange(3, 7))]
        if middle_is_beyond(vertices):
            return source + [g.case("BYBOX"), size(), size(), unit()]
        return [g.case("BYPOLYGON"), str(len(vertices))] + [word for vertex in vertices for word in vertex]

    # With COUNT, a tie in distance would store different ones: so it is used with ANY, which takes them in order.
    any_count = lambda: g.options([lambda: [g.case("COUNT"), g.count(), "ANY"]], 0.3)
    store = lambda: [g.r.choice(["STORE", "storedist"]), key()]
    return {
        "geoadd": (5, lambda: [key()] + g.options([g.word("NX"), g.word("XX"), g.word("CH")], 0.15) +
                   [word for _ in range(g.many()) for word in place() + [member()]]),
        "geopos": lambda: [key()] + g.some(member, 0, 4),
        "geohash": lambda: [key()] + g.some(member, 0, 4),
        "geodist": lambda: [key(), member(), member()] + g.options([lambda: [unit()]], 0.5),
        "geosearch": (4, lambda: [key()] + shape() + count() + order() + reply()),
        "geosearchstore": (2, lambda: [key(), key()] + shape() + g.options([g.word("STOREDIST")], 0.4) + any_count()),
        "georadius": (2, lambda: [key()] + place() + [size(), unit()] +
                      (store() + any_count() if g.chance(0.3) else count() + order() + reply())),
        "georadius_ro": lambda: [key()] + place() + [size(), unit()] + count() + order() + reply(),
        "georadiusbymember": (2, lambda: [key(), member(), size(), unit()] +
                              (store() + any_count() if g.chance(0.3) else count() + order() + reply())),
        "georadiusbymember_ro": lambda: [key(), member(), size(), unit()] + count() + order() + reply(),
    }
