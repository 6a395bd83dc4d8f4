/* value_zset_rdb.c -- sorted sets in the RDB format, and their digest.
 *
 *   17  listpack   the block; 12, old: a ziplist
 *    5  skiplist   number of members; each: string, 8 bytes of score; from the highest to the lowest
 *    3  old        the same with scores as text: one byte for its length (253 nan, 254 inf, 255 -inf), the digits
 *
 * Input is not trusted. Repeated members and NaN scores are rejected. A listpack that is
 * not in order is accepted, as in the reference server.
 *
 * Not here    lengths and strings (rdb_string.c).
 * Owns        nothing.
 * Threads     any.
 * Tests       tests/unit/object/value_zset_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_zset_internal.h"

#include "digest.h"
#include "listpack.h"
#include "long_loop.h"
#include "object_settings.h"

#include <math.h>

/* ---- Writing ---- */

uint8_t zsetRdbType(const void *structure, int encoding) {
    unused(structure);
    return encoding == OBJ_ENC_LISTPACK ? RDB_TYPE_ZSET_LISTPACK : RDB_TYPE_ZSET_2;
}

void zsetRdbWrite(rdbWriter *w, const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) {
        rdbWriteString(w, sliceOf(structure, listpackBytes(structure)));
        return;
    }
    const zsetTree *z = structure;
    size_t count = scoreTreeSize(z->scores);
    rdbWriteLength(w, count);
    scoreTreeIter it = scoreTreeSeekRank(z->scores, count);
    for (const zsetEntry *entry; (entry = scoreTreePrev(&it)) != NULL;) {
        rdbWriteString(w, zsetMemberOf(entry));
        rdbWriteDouble(w, entry->score);
        longLoopStep();
    }
}

/* ---- Reading ---- */

enum { TEXT_NAN = 253, TEXT_INF = 254, TEXT_NEGATIVE_INF = 255 };

static bool readTextScore(rdbReader *r, double *score) {
    if (r->p == r->end) return false;
    unsigned len = (unsigned char)*r->p++;
    if (len == TEXT_NAN) return false;
    if (len >= TEXT_INF) {
        *score = len == TEXT_INF ? HUGE_VAL : -HUGE_VAL;
        return true;
    }
    if ((size_t)(r->end - r->p) < len) return false;
    const char *digits = r->p;
    r->p += len;
    return string2d(digits, len, score);
}

/* Reads one member into the builder. Returns false if it is malformed or repeated. */
static bool readMember(rdbReader *r, bool text_score, zsetBuilder *b) {
    rdbText member;
    double score, *stored;
    bool is_new = false;
    if (!rdbReadText(r, &member)) return false;
    if (!(text_score ? readTextScore(r, &score) : rdbReadDouble(r, &score))) {
        rdbTextFree(&member);
        return false;
    }
    stored = zsetBuildScore(b, member.text, zsetHash(member.text), &is_new);
    rdbTextFree(&member);
    if (!stored || !is_new) return false;
    *stored = score;
    return true;
}

static void *readMembers(rdbReader *r, bool text_score, int *encoding) {
    uint64_t count;
    zsetBuilder b;
    size_t bytes_min = text_score ? 2 : 1 + sizeof(double);
    if (!rdbReadCount(r, &count) || count == 0 || count > (size_t)(r->end - r->p) / bytes_min) return NULL;
    zsetBuildBegin(&b, count);
    for (uint64_t i = 0; i < count; i++) {
        if (!readMember(r, text_score, &b)) {
            zsetBuildDrop(&b);
            return NULL;
        }
        longLoopStep();
    }
    return zsetBuildStructure(&b, encoding);
}

/* Returns whether all entries are pairs, and no score is NaN. */
static bool pairsAreSound(const uint8_t *lp) {
    const uint8_t *at = listpackFirst(lp);
    if (!at) return false;
    for (; at; at = listpackNext(at)) {
        at = listpackNext(at);
        if (!at || isnan(zsetListpackScore(at))) return false;
    }
    return true;
}

/* Returns a value from a listpack whose entries are valid (NULL: none); takes it. */
static void *valueOfListpackTake(uint8_t *lp, int *encoding) {
    if (!lp) return NULL;
    size_t members = listpackRecount(lp) / 2;
    bool compact = (long long)members <= object_settings.zset_max_listpack_entries, sound = pairsAreSound(lp);
    zsetTree *z = NULL;
    *encoding = compact ? OBJ_ENC_LISTPACK : OBJ_ENC_SKIPLIST;
    if (sound && compact && !listpackHasDuplicates(lp, 2 * members, 2)) return lp;
    if (sound && !compact) z = zsetTreeOfListpack(lp);
    listpackFree(lp);
    return z;
}

void *zsetRdbRead(rdbReader *r, unsigned rdb_type, int *encoding) {
    switch (rdb_type) {
    case RDB_TYPE_ZSET: return readMembers(r, true, encoding);
    case RDB_TYPE_ZSET_2: return readMembers(r, false, encoding);
    case RDB_TYPE_ZSET_LISTPACK: return valueOfListpackTake(rdbReadListpack(r, NULL), encoding);
    case RDB_TYPE_ZSET_ZIPLIST: return valueOfListpackTake(rdbReadListpack(r, ziplistToListpack), encoding);
    default: return NULL;
    }
}

/* ---- Digest ---- */

static void digestMember(digest *d, slice member, double score) {
    char digits[DOUBLE_STR_SIZE];
    digest element = {{0}};
    digestMix(&element, member);
    digestMix(&element, sliceOf(digits, d2shortest(digits, sizeof(digits), score)));
    digestXor(d, sliceOf(element.bytes, sizeof(element.bytes)));
}

void zsetDigest(const void *structure, int encoding, digest *d) {
    if (encoding == OBJ_ENC_LISTPACK) {
        for (const uint8_t *at = listpackFirst(structure); at; at = listpackNext(at)) {
            char digits[LONG_STR_SIZE];
            slice member = listpackText(at, digits);
            at = listpackNext(at);
            digestMember(d, member, zsetListpackScore(at));
        }
        return;
    }
    scoreTreeIter it = scoreTreeSeekRank(((const zsetTree *)structure)->scores, 0);
    for (const zsetEntry *entry; (entry = scoreTreeNext(&it)) != NULL;)
        digestMember(d, zsetMemberOf(entry), entry->score);
}
