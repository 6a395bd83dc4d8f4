/* geo_search.c -- positions within a circle, a box or a polygon: GEOSEARCH, GEORADIUS and related commands.
 *
 * The arguments are parsed into a geoSearch. The set is searched range by range (ds/geohash.h), and the positions found
 * are collected in a list, which is sorted if the command asks for that, and becomes the reply or a sorted set.
 *
 * Threads     main.
 * Invariants  1. A stored result is a new set, so the destination may be the source.
 * Cost        visits the members of up to nine cells; selecting k of n found positions takes n log k at most.
 * Tests       tests/type/geo.tcl, tests/unit/ds/geohash_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "geo_args.h"
#include "heap.h"
#include "typed_key.h"
#include "value_zset.h"
#include "zmalloc.h"
#include <limits.h>
#include <stdlib.h>

enum {
    FROM_NOTHING = 0,
    FROM_LONLAT = 1,
    FROM_MEMBER = 2,
};

typedef enum { SORT_NONE, SORT_ASC, SORT_DESC } sortOrder;

/* The properties of a command of this family. */
typedef struct searchCommand {
    bool geosearch;      /* center and shape are options; with GEORADIUS they are fixed arguments */
    bool by_member;      /* GEORADIUSBYMEMBER */
    bool may_store;      /* has the options STORE and STOREDIST with a key */
    uint32_t store_arg;  /* GEOSEARCHSTORE: the destination; else 0 */
    uint32_t source_arg; /* the key to search */
    const char *event;   /* of storing a result */
} searchCommand;

typedef struct geoSearch {
    geoShape shape;
    geoPoint *vertices; /* owns */
    double metres;      /* length of the unit of distances */
    int from;           /* FROM_ */
    bool has_shape;
    bool with_dist, with_hash, with_coord;
    bool any;
    sortOrder order;
    long long count;    /* 0: no limit */
    uint32_t store_arg; /* 0: the result is the reply */
    bool store_dist;
} geoSearch;

/* ---- Arguments --------------------------------------------------------------------------------------------------- */

/* Makes the position of the member in argument `index` the center. Returns false after an error reply. */
static bool centerFromMember(client *c, const robj *o, uint32_t index, geoSearch *s) {
    double score;
    slice member = c->argv[index];

    if (!o) return true;
    if (!zsetScore(o, member, clientElementHash(c, index), &score))
        return addReplyErrorFormat(c, "member %.*s does not exist", (int)(member.len < INT_MAX ? member.len : INT_MAX),
                                   member.ptr);
    s->shape.center = geoDecode(geoNumberOfScore(score));
    return true;
}

/* Parses radius and unit. */
static bool parseCircle(client *c, uint32_t index, geoSearch *s) {
    if (!getDoubleFromArg(c, index, &s->shape.radius, "need numeric radius")) return false;
    if (s->shape.radius < 0) return addReplyError(c, "radius cannot be negative");
    if (!getUnitFromArg(c, index + 1, &s->metres)) return false;
    s->shape.radius *= s->metres;
    s->shape.kind = GEO_CIRCLE;
    return true;
}

/* Parses width, height and unit. */
static bool parseBox(client *c, uint32_t index, geoSearch *s) {
    if (!getDoubleFromArg(c, index, &s->shape.width, "need numeric width")) return false;
    if (!getDoubleFromArg(c, index + 1, &s->shape.height, "need numeric height")) return false;
    if (s->shape.width < 0 || s->shape.height < 0) return addReplyError(c, "height or width cannot be negative");
    if (!getUnitFromArg(c, index + 2, &s->metres)) return false;
    s->shape.width *= s->metres;
    s->shape.height *= s->metres;
    s->shape.kind = GEO_BOX;
    return true;
}

/* Parses the number of vertices in argument `index` and the vertices after it. */
static bool parsePolygon(client *c, uint32_t index, geoSearch *s, uint32_t *taken) {
    int count;

    if (!getIntFromArg(c, index, &count, "invalid number of vertices")) return false;
    if (count < 3 || (uint32_t)count > (c->argc - index - 1) / 2)
        return addReplyError(c, "GEOSEARCH BYPOLYGON must have at least 3 vertices");
    size_t bytes = (size_t)count * sizeof(geoPoint);
    if (!commandMemoryReserve(c, bytes)) return false;
    zfree(s->vertices);
    s->vertices = zmalloc(bytes);
    for (int i = 0; i < count; i++) {
        if (!getPointFromArgs(c, index + 1 + 2 * (uint32_t)i, &s->vertices[i])) return false;
    }
    s->shape.kind = GEO_POLYGON;
    s->shape.vertices = s->vertices;
    s->shape.vertex_count = (size_t)count;
    s->shape.center = geoPolygonCenter(s->vertices, (size_t)count);
    s->metres = 1;
    *taken = 2 + 2 * (uint32_t)count;
    return true;
}

typedef enum { OPTION_UNKNOWN, OPTION_TAKEN, OPTION_ERROR } optionResult;

static optionResult takenIf(bool good) { return good ? OPTION_TAKEN : OPTION_ERROR; }

/* Parses an option that says where to search, at argument *at, and moves *at after it. */
static optionResult parseArea(client *c, const robj *o, uint32_t *at, geoSearch *s) {
    slice word = c->argv[*at];
    uint32_t first = *at + 1, left = c->argc - first, taken = 0;
    bool polygon = s->has_shape && s->shape.kind == GEO_POLYGON, good = false;

    if (sliceIs(word, "frommember") && left >= 1 && s->from != FROM_LONLAT && !polygon) {
        s->from = FROM_MEMBER;
        good = centerFromMember(c, o, first, s);
        taken = 2;
    } else if (sliceIs(word, "fromlonlat") && left >= 2 && s->from != FROM_MEMBER && !polygon) {
        s->from = FROM_LONLAT;
        good = getPointFromArgs(c, first, &s->shape.center);
        taken = 3;
    } else if (sliceIs(word, "byradius") && left >= 2 && (!s->has_shape || s->shape.kind == GEO_CIRCLE)) {
        good = parseCircle(c, first, s);
        s->has_shape = true;
        taken = 3;
    } else if (sliceIs(word, "bybox") && left >= 3 && (!s->has_shape || s->shape.kind == GEO_BOX)) {
        good = parseBox(c, first, s);
        s->has_shape = true;
        taken = 4;
    } else if (sliceIs(word, "bypolygon") && left >= 2 && (!s->has_shape || polygon) && s->from == FROM_NOTHING) {
        good = parsePolygon(c, first, s, &taken);
        s->has_shape = true;
    } else {
        return OPTION_UNKNOWN;
    }
    *at += taken;
    return takenIf(good);
}

static bool parseCount(client *c, uint32_t index, geoSearch *s) {
    if (!getLongLongFromArg(c, index, &s->count, NULL)) return false;
    if (s->count > 0) return true;
    return addReplyError(c, "COUNT must be > 0");
}

/* Parses an option that says what to do with the positions found. */
static optionResult parseResultOption(client *c, const searchCommand *cmd, uint32_t *at, geoSearch *s) {
    slice word = c->argv[*at];
    bool more = *at + 1 < c->argc;

    if (sliceIs(word, "withdist")) s->with_dist = true;
    else if (sliceIs(word, "withhash")) s->with_hash = true;
    else if (sliceIs(word, "withcoord")) s->with_coord = true;
    else if (sliceIs(word, "any")) s->any = true;
    else if (sliceIs(word, "asc")) s->order = SORT_ASC;
    else if (sliceIs(word, "desc")) s->order = SORT_DESC;
    else if (cmd->store_arg && sliceIs(word, "storedist")) s->store_dist = true;
    else if (more && sliceIs(word, "count")) {
        *at += 2;
        return takenIf(parseCount(c, *at - 1, s));
    } else if (more && cmd->may_store && (sliceIs(word, "store") || sliceIs(word, "storedist"))) {
        s->store_dist = !sliceIs(word, "store");
        s->store_arg = *at + 1;
        *at += 2;
        return OPTION_TAKEN;
    } else {
        return OPTION_UNKNOWN;
    }
    *at += 1;
    return OPTION_TAKEN;
}

/* Checks that the options are compatible and complete. Returns false after an error reply. */
static bool checkOptions(client *c, const searchCommand *cmd, const geoSearch *s) {
    bool polygon = s->has_shape && s->shape.kind == GEO_POLYGON;

    if (s->store_arg && (s->with_dist || s->with_hash || s->with_coord)) {
        addReplyErrorFormat(c, "%s is not compatible with WITHDIST, WITHHASH and WITHCOORD options",
                            cmd->geosearch ? "GEOSEARCHSTORE" : "STORE option in GEORADIUS");
    } else if (cmd->geosearch && s->from == FROM_NOTHING && !polygon) {
        addReplyErrorFormat(c, "exactly one of FROMMEMBER or FROMLONLAT can be specified for %s",
                            cmd->store_arg ? "geosearchstore" : "geosearch");
    } else if (cmd->geosearch && !s->has_shape) {
        addReplyErrorFormat(c, "exactly one of BYRADIUS, BYBOX and BYPOLYGON can be specified for %s",
                            cmd->store_arg ? "geosearchstore" : "geosearch");
    } else if (s->any && !s->count) {
        addReplyError(c, "the ANY argument requires COUNT argument");
    } else {
        return true;
    }
    return false;
}

/* Parses the arguments of GEORADIUS and GEORADIUSBYMEMBER before the options; *at is where the options begin. */
static bool parseFixed(client *c, const searchCommand *cmd, const robj *o, geoSearch *s, uint32_t *at) {
    s->has_shape = true;
    if (cmd->by_member) {
        *at = 5;
        return !o || (centerFromMember(c, o, 2, s) && parseCircle(c, 3, s));
    }
    *at = 6;
    return getPointFromArgs(c, 2, &s->shape.center) && parseCircle(c, 4, s);
}

/* Parses all arguments. Returns false after an error reply. */
static bool parseSearch(client *c, const searchCommand *cmd, const robj *o, geoSearch *s) {
    uint32_t at = cmd->source_arg + 1;

    *s = (geoSearch){.metres = 1, .store_arg = cmd->store_arg};
    if (!cmd->geosearch && !parseFixed(c, cmd, o, s, &at)) return false;
    while (at < c->argc) {
        optionResult result = parseResultOption(c, cmd, &at, s);
        if (result == OPTION_UNKNOWN && cmd->geosearch) result = parseArea(c, o, &at, s);
        if (result == OPTION_UNKNOWN) addReplySyntaxError(c);
        if (result != OPTION_TAKEN) return false;
    }
    return checkOptions(c, cmd, s);
}

/* ---- Searching --------------------------------------------------------------------------------------------------- */

typedef struct geoMatch {
    double distance, score;
    geoPoint point;
    const char *member; /* borrowed from the set; NULL if the text is in `digits` */
    size_t len;
    size_t nth; /* index in the order of being found */
    char digits[LONG_STR_SIZE];
} geoMatch;

/* The positions found. If only the first `bound` of them in some order are wanted, no more are kept, in a heap whose
 * root is the last one in that order; otherwise they are in the order in which they were found. */
typedef struct matchList {
    heap kept;                                  /* owns: places */
    size_t found;                               /* number of positions found, kept or not */
    size_t bound;                               /* 0: no limit */
    int (*compare)(const void *, const void *); /* the order; NULL if it is that of being found */
} matchList;

static int nearerFirst(const void *a, const void *b) {
    const geoMatch *p = a, *q = b;
    if (p->distance != q->distance) return p->distance < q->distance ? -1 : 1;
    return p->nth < q->nth ? -1 : 1;
}

static int fartherFirst(const void *a, const void *b) {
    const geoMatch *p = a, *q = b;
    if (p->distance != q->distance) return p->distance > q->distance ? -1 : 1;
    return p->nth < q->nth ? -1 : 1;
}

static bool isFarther(const void *a, const void *b) { return nearerFirst(a, b) > 0; }

static bool isNearer(const void *a, const void *b) { return fartherFirst(a, b) > 0; }

static const heapType farthest_type = {.size = sizeof(geoMatch), .before = isFarther};
static const heapType nearest_type = {.size = sizeof(geoMatch), .before = isNearer};

/* COUNT selects the nearest positions unless DESC is given; with ANY, the first ones found. */
static matchList listFor(const geoSearch *s) {
    bool chosen = s->count && !s->any;
    sortOrder order = s->order == SORT_NONE && chosen ? SORT_ASC : s->order;
    return (matchList){.kept.type = order == SORT_DESC ? &nearest_type : &farthest_type,
                       .bound = chosen ? (size_t)s->count : 0,
                       .compare = order == SORT_ASC    ? nearerFirst
                                  : order == SORT_DESC ? fartherFirst
                                                       : NULL};
}

#define MATCHES_AT_FIRST 16

/* Reserves memory for one more position. Returns false after an error reply. */
static bool geoSearchReserve(client *c, heap *kept) {
    if (kept->count < kept->capacity) return true;
    size_t capacity = kept->capacity ? 2 * kept->capacity : MATCHES_AT_FIRST;
    if (!commandMemoryReserve(c, capacity * sizeof(geoMatch))) return false;
    kept->at = zrealloc(kept->at, capacity * sizeof(geoMatch));
    kept->capacity = capacity;
    return true;
}

static geoMatch *matchAt(const matchList *list, size_t index) { return (geoMatch *)list->kept.at + index; }

static bool isFull(const matchList *list) { return list->bound && list->kept.count == list->bound; }

/* Adds `p`; if the list is full, `p` replaces the last one. Returns false after an error reply. */
static bool addMatch(client *c, matchList *list, const geoMatch *p) {
    if (isFull(list)) heapReplace(&list->kept, 0, p);
    else if (!geoSearchReserve(c, &list->kept)) return false;
    else if (list->bound) heapAdd(&list->kept, p);
    else *matchAt(list, list->kept.count++) = *p;
    return true;
}

/* A member is borrowed from the set. The text of an integer in a listpack is in the iterator, and is copied. */
static void keepMember(geoMatch *p, slice member, const zsetIter *it) {
    p->member = member.ptr;
    p->len = member.len;
    if (member.ptr < it->digits || member.ptr >= it->digits + sizeof(it->digits)) return;
    memcpy(p->digits, member.ptr, member.len);
    p->member = NULL;
}

static slice memberOf(const geoMatch *p) { return sliceOf(p->member ? p->member : p->digits, p->len); }

/* Adds the members in a range of ranks that are within the shape. Returns false after an error reply. */
static bool searchRanks(client *c, const robj *o, const geoSearch *s, zsetRanks ranks, matchList *list) {
    zsetElement e;

    if (ranks.count == 0) return true;
    zsetIter it = zsetIterAt(o, ranks.first, false);
    for (size_t i = 0; i < ranks.count && zsetIterNext(&it, &e); i++) {
        geoPoint point = geoDecode(geoNumberOfScore(e.score));
        geoMatch p = {.score = e.score, .point = point, .nth = list->found};
        if (!geoShapeHas(&s->shape, point, &p.distance)) continue;
        list->found++;
        if (isFull(list) && list->compare(&p, matchAt(list, 0)) > 0) continue;
        keepMember(&p, e.member, &it);
        if (!addMatch(c, list, &p)) return false;
        if (s->any && list->kept.count == (size_t)s->count) break;
    }
    return true;
}

/* Converts ranges of numbers, in any order, to ranges of ranks. The ends of all ranges are sorted first, so that a
 * listpack is walked only once. */
static void ranksOfRanges(const robj *o, const geoRange *ranges, int count, zsetRanks *ranks) {
    scoreBound ends[2 * GEO_RANGES_MAX];
    size_t below[2 * GEO_RANGES_MAX], n = 0;
    uint8_t of[2 * GEO_RANGES_MAX]; /* twice the index of the range, plus 1 for its upper end */

    for (; n < 2 * (size_t)count; n++) {
        double number = (double)(n % 2 ? ranges[n / 2].end : ranges[n / 2].first);
        size_t at = n;
        for (; at > 0 && ends[at - 1].score > number; at--) {
            ends[at] = ends[at - 1];
            of[at] = of[at - 1];
        }
        ends[at] = (scoreBound){number, false};
        of[at] = (uint8_t)n;
    }
    zsetCountBelow(o, ends, n, below);
    for (size_t i = 0; i < n; i++) {
        zsetRanks *r = &ranks[of[i] / 2];
        if (of[i] % 2) r->count = below[i] - r->first;
        else r->first = below[i];
    }
}

static bool searchAll(client *c, const robj *o, const geoSearch *s, matchList *list) {
    geoRange ranges[GEO_RANGES_MAX];
    zsetRanks ranks[GEO_RANGES_MAX];
    int count = geoShapeRanges(&s->shape, ranges);

    ranksOfRanges(o, ranges, count, ranks);
    for (int i = 0; i < count; i++) {
        if (!searchRanks(c, o, s, ranks[i], list)) return false;
        if (s->any && list->kept.count == (size_t)s->count) break;
    }
    return true;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

static void replyWith(client *c, const geoSearch *s, const matchList *list) {
    int parts = 1 + s->with_dist + s->with_hash + s->with_coord;

    addReplyArrayLen(c, (long long)list->kept.count);
    for (size_t i = 0; i < list->kept.count && !replyIsDropped(c); i++) {
        const geoMatch *p = matchAt(list, i);
        if (parts > 1) addReplyArrayLen(c, parts);
        addReplyBulk(c, memberOf(p));
        if (s->with_dist) addReplyDistance(c, p->distance / s->metres);
        if (s->with_hash) addReplyLongLong(c, (long long)geoNumberOfScore(p->score));
        if (s->with_coord) addReplyPoint(c, p->point);
    }
}

static void geoSearchStore(client *c, const searchCommand *cmd, const geoSearch *s, const matchList *list) {
    hashedKey key = clientKeyAt(c, s->store_arg);
    zsetBuilder b;
    size_t bytes = 0;

    if (list->kept.count == 0) {
        deleteAndReport(c, key);
        addReplyZero(c);
        return;
    }
    for (size_t i = 0; i < list->kept.count; i++) bytes += zsetAddNeeds(NULL, matchAt(list, i)->len);
    if (!commandMemoryReserve(c, 2 * bytes)) return;
    zsetBuildBegin(&b, list->kept.count);
    for (size_t i = 0; i < list->kept.count; i++) {
        const geoMatch *p = matchAt(list, i);
        zsetBuildAdd(&b, memberOf(p), s->store_dist ? p->distance / s->metres : p->score);
    }
    setKeyTake(c->db, zsetBuildObject(&b, key.name), key, false);
    keyChanged(c, key, NOTIFY_ZSET, cmd->event, (long long)list->kept.count);
    addReplyLongLong(c, (long long)list->kept.count);
}

static void geoSearchRun(client *c, const searchCommand *cmd) {
    geoSearch s;
    robj *o;

    if (!typedKeyRead(c, clientKeyAt(c, cmd->source_arg), OBJ_ZSET, &o)) return;
    bool parsed = parseSearch(c, cmd, o, &s);
    matchList list = listFor(&s);
    if (parsed && (!o || searchAll(c, o, &s, &list))) {
        if (list.compare && list.kept.count > 1) qsort(list.kept.at, list.kept.count, sizeof(geoMatch), list.compare);
        if (s.store_arg) geoSearchStore(c, cmd, &s, &list);
        else replyWith(c, &s, &list);
    }
    zfree(list.kept.at);
    zfree(s.vertices);
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

void geosearchCommand(client *c) { geoSearchRun(c, &(searchCommand){.geosearch = true, .source_arg = 1}); }

void geosearchstoreCommand(client *c) {
    geoSearchRun(c, &(searchCommand){.geosearch = true, .store_arg = 1, .source_arg = 2, .event = "geosearchstore"});
}

void georadiusCommand(client *c) {
    geoSearchRun(c, &(searchCommand){.may_store = true, .source_arg = 1, .event = "georadiusstore"});
}

void georadiusRoCommand(client *c) { geoSearchRun(c, &(searchCommand){.source_arg = 1}); }

void georadiusbymemberCommand(client *c) {
    geoSearchRun(c, &(searchCommand){.by_member = true, .may_store = true, .source_arg = 1, .event = "georadiusstore"});
}

void georadiusbymemberRoCommand(client *c) { geoSearchRun(c, &(searchCommand){.by_member = true, .source_arg = 1}); }
