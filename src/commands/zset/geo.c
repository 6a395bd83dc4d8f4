/* geo.c -- sorted sets of positions on earth: GEOADD, GEOPOS, GEODIST, GEOHASH.
 *
 * A member's score is a geohash, the number of its position (ds/geohash.h): all commands of sorted sets work on it.
 *
 * Not here    searches (geo_search.c).
 * Threads     main.
 * Tests       tests/type/geo.tcl, tests/unit/ds/geohash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "geo_args.h"

#include "command_memory.h"
#include "commands.h"
#include "propagate.h"
#include "typed_key.h"
#include "value_zset.h"
#include <math.h>

/* ---- Arguments and replies --------------------------------------------------------------------------------------- */

bool getPointFromArgs(client *c, uint32_t index, geoPoint *out) {
    if (!getDoubleFromArg(c, index, &out->lon, NULL) || !getDoubleFromArg(c, index + 1, &out->lat, NULL)) return false;
    if (geoPointIsValid(*out)) return true;
    return addReplyErrorFormat(c, "invalid longitude,latitude pair %f,%f", out->lon, out->lat);
}

bool getUnitFromArg(client *c, uint32_t index, double *metres) {
    static const struct {
        const char *word;
        double metres;
    } units[] = {{"m", 1}, {"km", 1000}, {"ft", 0.3048}, {"mi", 1609.34}};
    for (size_t i = 0; i < array_len(units); i++) {
        if (!sliceIs(c->argv[index], units[i].word)) continue;
        *metres = units[i].metres;
        return true;
    }
    return addReplyError(c, "unsupported unit provided. please use M, KM, FT, MI");
}

uint64_t geoNumberOfScore(double score) {
    if (score >= 0) return score < 0x1p64 ? (uint64_t)score : 0;
    return score > -0x1p63 ? (uint64_t)(int64_t)score : (uint64_t)1 << 63;
}

void addReplyPoint(client *c, geoPoint p) {
    addReplyArrayLen(c, 2);
    addReplyHumanLongDouble(c, p.lon);
    addReplyHumanLongDouble(c, p.lat);
}

void addReplyDistance(client *c, double distance) {
    char text[FIXED_SHORT_SIZE];
    unsigned long long units = (unsigned long long)llrint(distance * 1e4); /* with 4 decimals, rounded */
    addReplyBulk(c, sliceOf(text, decimal2string(text, units, 4)));
}

/* ---- GEOADD ------------------------------------------------------------------------------------------------------ */

/* Parses the options of GEOADD. Returns the index of the first argument that is no option. */
static uint32_t parseAddOptions(const client *c, int *flags, bool *changed) {
    uint32_t at = 2;
    for (; at < c->argc; at++) {
        if (sliceIs(c->argv[at], "nx")) *flags |= ZSET_NX;
        else if (sliceIs(c->argv[at], "xx")) *flags |= ZSET_XX;
        else if (sliceIs(c->argv[at], "ch")) *changed = true;
        else break;
    }
    return at;
}

/* Checks the positions from argument `first` on. Sets *bytes to the memory that adding them may take, *longest to the
 * length of the longest member. Returns false after an error reply. */
static bool checkPositions(client *c, uint32_t first, size_t *bytes, size_t *longest) {
    geoPoint p;
    *bytes = *longest = 0;
    for (uint32_t at = first; at < c->argc; at += 3) {
        size_t len = c->argv[at + 2].len;
        if (!getPointFromArgs(c, at, &p)) return false;
        *bytes += zsetAddNeeds(NULL, len);
        if (len > *longest) *longest = len;
    }
    return true;
}

/* Propagates ZADD with the numbers of the positions as scores. */
static void propagatePositions(client *c, uint32_t first) {
    geoPoint p;
    if (!propagateInstead(c, "ZADD")) return;
    propagateArgs(c, 1, first);
    for (uint32_t at = first; at < c->argc; at += 3) {
        if (!getPointFromArgs(c, at, &p)) break; /* not reached: checkPositions() has checked it */
        propagateNumber((long long)geoEncode(p));
        propagateArg(c->argv[at + 2]);
    }
    propagateDone();
}

void geoaddCommand(client *c) {
    long long added = 0, updated = 0;
    bool changed = false;
    int flags = 0;
    size_t bytes, longest;
    uint32_t first = parseAddOptions(c, &flags, &changed), count = (c->argc - first) / 3;
    robj *o;

    if ((c->argc - first) % 3 || ((flags & ZSET_NX) && (flags & ZSET_XX))) {
        addReplySyntaxError(c);
        return;
    }
    if (!checkPositions(c, first, &bytes, &longest)) return;
    hashedKey key = clientKeyAt(c, 1);
    if (!typedKeyWrite(c, key, OBJ_ZSET, &o)) return;
    if (count == 0 || (!o && (flags & ZSET_XX))) {
        addReplyZero(c);
        return;
    }
    bytes += zsetAddNeeds(o, 0);
    if (bytes >= COMMAND_MEMORY_LARGE && !commandMemoryReserve(c, 2 * bytes)) return;
    bool is_new = !o;
    if (is_new) o = zsetCreate(key.name, count, longest);
    else zsetExpect(o, count, longest);
    for (uint32_t at = first; at < c->argc; at += 3) {
        geoPoint p;
        double score;
        if (!getPointFromArgs(c, at, &p)) break; /* not reached: checkPositions() has checked it */
        zsetAddResult result =
            zsetAdd(o, c->argv[at + 2], clientElementHash(c, at + 2), (double)geoEncode(p), flags, &score);
        added += result == ZSET_ADDED;
        updated += result == ZSET_UPDATED;
    }
    if (is_new) dbAddTake(c->db, o, key);
    if (added || updated) {
        keyChanged(c, key, NOTIFY_ZSET, "zadd", added + updated);
        propagatePositions(c, first);
    }
    addReplyLongLong(c, added + (changed ? updated : 0));
}

/* ---- Positions of members ---------------------------------------------------------------------------------------- */

static bool positionOf(const client *c, const robj *o, uint32_t index, uint64_t *number) {
    double score;
    if (!o || !zsetScore(o, c->argv[index], clientElementHash(c, index), &score)) return false;
    *number = geoNumberOfScore(score);
    return true;
}

static void replyPositions(client *c, void (*add)(client *c, uint64_t number), void (*absent)(client *c)) {
    uint64_t number;
    robj *o;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2; i < c->argc && !replyIsDropped(c); i++) {
        if (positionOf(c, o, i, &number)) add(c, number);
        else absent(c);
    }
}

static void addPosition(client *c, uint64_t number) { addReplyPoint(c, geoDecode(number)); }

static void addGeohash(client *c, uint64_t number) {
    char text[GEO_TEXT_LEN];
    geoText(text, number);
    addReplyBulk(c, sliceOf(text, sizeof(text)));
}

void geoposCommand(client *c) { replyPositions(c, addPosition, addReplyNullArray); }
void geohashCommand(client *c) { replyPositions(c, addGeohash, addReplyNull); }

void geodistCommand(client *c) {
    double metres = 1;
    uint64_t from, to;
    robj *o;

    if (c->argc > 5) {
        addReplySyntaxError(c);
        return;
    }
    if (c->argc == 5 && !getUnitFromArg(c, 4, &metres)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    if (positionOf(c, o, 2, &from) && positionOf(c, o, 3, &to))
        addReplyDistance(c, geoDistance(geoDecode(from), geoDecode(to)) / metres);
    else addReplyNull(c);
}
