/* value_zset.c -- the sorted set: its two encodings, and the operations on one member.
 *
 * Only the name of the skiplist encoding is Valkey's; here it is a dict that finds an entry by its member and a
 * scoreTree that finds it by its score. Score and member are stored once, in the entry, and an entry does not move:
 * both refer to it.
 *
 *   {table, scores} --> table   buckets ---.
 *                   \                       v
 *                    -> scores  leaves --> entry {score, member}
 *
 * Not here    ranges and walks (value_zset_range.c); building whole sets (value_zset_build.c); RDB and digest
 *             (value_zset_rdb.c); the commands (commands/zset/t_zset*.c).
 * Owns        nothing: a value belongs to its entry in the keyspace.
 * Threads     main, or a thread that alone knows the value.
 * Invariants  1. A listpack has at least one pair of member and score; no member is repeated. Pairs ascend by
 *                score and member, unless RDB had them in another order (the reference server accepts that, too); no
 *                function relies on it for more than the order of a reply.
 *             2. Table and tree of a skiplist have the same entries.
 *             3. A skiplist does not become a listpack again.
 * Cost        docs/design/zset.md
 * Tests       tests/unit/object/value_zset_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_zset_internal.h"

#include "hash.h"
#include "dict.h"
#include "long_loop.h"
#include "object_internal.h"
#include "object_settings.h"
#include "panic.h"
#include "zmalloc.h"

#include <math.h>
#include <stdlib.h>

/* ---- Entries ---- */

static size_t entryHead(size_t len) {
    if (len < ENTRY_LEN_16) return 1;
    return 1 + (len <= UINT16_MAX ? sizeof(uint16_t) : sizeof(uint64_t));
}

zsetEntry *zsetEntryCreate(slice member, double score) {
    size_t head = entryHead(member.len);
    zsetEntry *entry = ztrymalloc(sizeof(*entry) + head + member.len);
    if (unlikely(!entry)) return NULL;
    entry->score = score;
    if (likely(head == 1)) {
        entry->rest[0] = (uint8_t)member.len;
    } else if (head == 1 + sizeof(uint16_t)) {
        entry->rest[0] = ENTRY_LEN_16;
        memcpy(entry->rest + 1, &(uint16_t){(uint16_t)member.len}, sizeof(uint16_t));
    } else {
        entry->rest[0] = ENTRY_LEN_64;
        memcpy(entry->rest + 1, &(uint64_t){member.len}, sizeof(uint64_t));
    }
    if (member.len) memcpy(entry->rest + head, member.ptr, member.len);
    return entry;
}

slice zsetEntryMember(const void *entry) { return zsetMemberOf(entry); }

double zsetEntryScore(const void *entry) { return ((const zsetEntry *)entry)->score; }

static const void *prefetchMember(const void *entry) { return lastByteBeyond(entry, zsetMemberOf(entry)); }

static const dictType table_type = {
    .entryKey = zsetEntryMember,
    .entryFree = zfree,
    .prefetchKey = prefetchMember,
    .key_within = ENTRY_MEMBER_WITHIN,
};

static int compareMembers(const void *a, const void *b) { return sliceCmp(zsetMemberOf(a), zsetMemberOf(b)); }

uint64_t zsetHash(slice member) { return hashBytes(member.ptr, member.len); }

/* ---- Trees ---- */

zsetTree *zsetTreeCreate(size_t expected) {
    zsetTree *z = zmalloc(sizeof(*z));
    z->table = dictCreate(&table_type);
    z->scores = scoreTreeCreate(compareMembers);
    if (expected) (void)dictExpand(z->table, expected);
    return z;
}

static void zsetTreeFree(zsetTree *z) {
    scoreTreeFree(z->scores);
    dictRelease(z->table);
    zfree(z);
}

/* Adds a member that is absent. Never fails: the caller has reserved memory for a large member. */
static void treeAdd(zsetTree *z, slice member, uint64_t hash, double score) {
    zsetEntry *entry = zsetEntryCreate(member, score);
    serverAssert(entry);
    dictAddNew(z->table, entry, hash);
    scoreTreeInsert(z->scores, entry);
}

/* ---- Listpacks ---- */

/* An integral score of at most half the range of 64 bits is stored as an integer. */
#define SCORE_INTEGER_MAX ((double)(INT64_MAX / 2))

static bool scoreIsInteger(double score) {
    return score >= -SCORE_INTEGER_MAX && score <= SCORE_INTEGER_MAX && score == (double)(int64_t)score;
}

double zsetListpackScore(const uint8_t *at) {
    listpackValue v = listpackGet(at);
    double score;
    char copy[DOUBLE_STR_SIZE];
    if (likely(!v.str)) return (double)v.num;
    if (string2d(v.str, v.len, &score)) return score;
    size_t len = v.len < sizeof(copy) - 1 ? v.len : sizeof(copy) - 1;
    memcpy(copy, v.str, len);
    copy[len] = '\0';
    return strtod(copy, NULL);
}

/* Inserts a score after the member at *at (LISTPACK_AFTER), or replaces the one there. */
static uint8_t *listpackPutScore(uint8_t *lp, const uint8_t **at, listpackWhere where, double score) {
    char digits[DOUBLE_STR_SIZE];
    if (scoreIsInteger(score)) return listpackInsertInteger(lp, at, where, (int64_t)score);
    return listpackInsert(lp, at, where, sliceOf(digits, d2string(digits, sizeof(digits), score)));
}

static const uint8_t *listpackFindMember(const uint8_t *lp, slice member) {
    return listpackFind(listpackFirst(lp), member, 1);
}

/* Compares a pair with (score, member). */
static int comparePair(const uint8_t *at, double score, slice member) {
    char digits[LONG_STR_SIZE];
    double there = zsetListpackScore(listpackNext(at));
    if (there != score) return there < score ? -1 : 1;
    return sliceCmp(listpackText(at, digits), member);
}

/* Inserts a pair before `before`, or at the end (NULL). Returns false if it does not fit, or there is no memory; the
 * listpack may have moved, but its content is unchanged. */
static bool listpackPutPair(uint8_t **lp, const uint8_t *before, slice member, double score) {
    const uint8_t *at = before;
    uint8_t *grown;
    if (!listpackMayGrow(*lp, listpackEntryBytes(member) + listpackEntryBytesMax(DOUBLE_STR_SIZE), SIZE_MAX))
        return false;
    if (before) {
        grown = listpackInsert(*lp, &at, LISTPACK_BEFORE, member);
    } else {
        grown = listpackAppend(*lp, member);
        if (grown) at = listpackLast(grown);
    }
    if (!grown) return false;
    *lp = grown;
    const uint8_t *added = at;
    grown = listpackPutScore(grown, &at, LISTPACK_AFTER, score);
    *lp = likely(grown) ? grown : listpackDelete(*lp, &added, 1);
    return grown != NULL;
}

bool zsetListpackAppend(uint8_t **lp, slice member, double score) { return listpackPutPair(lp, NULL, member, score); }

/* Returns the position before which a new pair belongs; NULL for the end. Searches from the end, where most new pairs
 * belong. */
static const uint8_t *insertPosition(const uint8_t *lp, slice member, double score) {
    const uint8_t *position = NULL, *at = listpackLast(lp);
    while (at) {
        const uint8_t *pair = listpackPrev(lp, at);
        if (comparePair(pair, score, member) < 0) break;
        position = pair;
        at = listpackPrev(lp, pair);
    }
    return position;
}

/* Changes the score of the pair at `at`, in place if its neighbours allow it. */
static uint8_t *listpackUpdate(uint8_t *lp, const uint8_t *at, slice member, double score) {
    const uint8_t *value = listpackNext(at), *next = listpackNext(value), *prev = listpackPrev(lp, at);
    if (prev) prev = listpackPrev(lp, prev);
    if ((!next || comparePair(next, score, member) > 0) && (!prev || comparePair(prev, score, member) < 0))
        return listpackPutScore(lp, &value, LISTPACK_REPLACE, score);
    lp = listpackDelete(lp, &at, 2);
    /* The size is unchanged, or the caller has reserved memory. */
    serverAssert(listpackPutPair(&lp, insertPosition(lp, member, score), member, score));
    return lp;
}

bool zsetFitsListpack(size_t members, size_t longest) {
    return (long long)members <= object_settings.zset_max_listpack_entries &&
           (long long)longest <= object_settings.zset_max_listpack_value;
}

zsetTree *zsetTreeOfListpack(const uint8_t *lp) {
    zsetTree *z = zsetTreeCreate(listpackCount(lp) / 2);
    for (const uint8_t *at = listpackFirst(lp); at; at = listpackNext(at)) {
        char digits[LONG_STR_SIZE];
        slice member = listpackText(at, digits);
        at = listpackNext(at);
        zsetEntry *entry = zsetEntryCreate(member, zsetListpackScore(at));
        if (!entry || dictAdd(z->table, entry, zsetHash(member)) != NULL) {
            zfree(entry);
            zsetTreeFree(z);
            return NULL;
        }
        if (!scoreTreeAppend(z->scores, entry)) scoreTreeInsert(z->scores, entry);
    }
    return z;
}

static void valueZsetConvert(robj *o) {
    uint8_t *lp = objectStructure(o);
    zsetTree *z = zsetTreeOfListpack(lp);
    serverAssert(z);
    objectSetStructure(o, OBJ_ENC_SKIPLIST, z);
    listpackFree(lp);
}

/* ---- One member ---- */

void zsetExpect(robj *o, size_t members, size_t longest) {
    if (o->encoding == OBJ_ENC_LISTPACK && !zsetFitsListpack(members, longest)) valueZsetConvert(o);
}

robj *zsetCreate(slice key, size_t members, size_t longest) {
    if (zsetFitsListpack(members, longest)) return objectCreateTake(key, OBJ_ZSET, OBJ_ENC_LISTPACK, listpackCreate(0));
    return objectCreateTake(key, OBJ_ZSET, OBJ_ENC_SKIPLIST, zsetTreeCreate(0));
}

size_t zsetCount(const robj *o) {
    if (o->encoding == OBJ_ENC_LISTPACK) return listpackCount(objectStructure(o)) / 2;
    return dictSize(((const zsetTree *)objectStructure(o))->table);
}

dict *zsetTable(const robj *o) {
    return o->encoding == OBJ_ENC_LISTPACK ? NULL : ((zsetTree *)objectStructure(o))->table;
}

bool zsetScore(const robj *o, slice member, uint64_t hash, double *score) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        const uint8_t *at = listpackFindMember(objectStructure(o), member);
        if (!at) return false;
        *score = zsetListpackScore(listpackNext(at));
        return true;
    }
    const zsetEntry *entry = dictFind(((zsetTree *)objectStructure(o))->table, member, hash);
    if (!entry) return false;
    *score = entry->score;
    return true;
}

static size_t listpackRank(const uint8_t *lp, slice member, double *score) {
    size_t rank = 0;
    for (const uint8_t *at = listpackFirst(lp); at; rank++) {
        const uint8_t *value = listpackNext(at);
        if (listpackEquals(at, member)) {
            *score = zsetListpackScore(value);
            return rank;
        }
        at = listpackNext(value);
    }
    return SIZE_MAX;
}

size_t zsetRank(const robj *o, slice member, uint64_t hash, bool reverse, double *score) {
    size_t rank;
    if (o->encoding == OBJ_ENC_LISTPACK) {
        rank = listpackRank(objectStructure(o), member, score);
        if (rank == SIZE_MAX) return rank;
    } else {
        const zsetTree *z = objectStructure(o);
        const zsetEntry *entry = dictFind(z->table, member, hash);
        if (!entry) return SIZE_MAX;
        *score = entry->score;
        rank = scoreTreeRank(z->scores, entry);
        serverAssert(rank != SCORE_TREE_NONE);
    }
    return reverse ? zsetCount(o) - 1 - rank : rank;
}

/* Decides on a change of a present member with score `now`: *score becomes its new score. */
static zsetAddResult decideChange(double now, int flags, double *score) {
    if (flags & ZSET_NX) return ZSET_REFUSED;
    if (flags & ZSET_INCR) {
        *score += now;
        if (isnan(*score)) return ZSET_NAN;
    }
    if (((flags & ZSET_LT) && *score >= now) || ((flags & ZSET_GT) && *score <= now)) return ZSET_REFUSED;
    return *score == now ? ZSET_SAME : ZSET_UPDATED;
}

static zsetAddResult treeSet(zsetTree *z, slice member, uint64_t hash, double score, int flags, double *result) {
    void **ref = dictFindRef(z->table, member, hash);
    if (ref) {
        zsetEntry *entry = *ref;
        zsetAddResult decision = decideChange(entry->score, flags, &score);
        if (decision == ZSET_UPDATED) serverAssert(scoreTreeUpdate(z->scores, entry, score));
        *result = score;
        return decision;
    }
    if (flags & ZSET_XX) return ZSET_REFUSED;
    treeAdd(z, member, hash, score);
    *result = score;
    return ZSET_ADDED;
}

/* Converts to a skiplist, because the listpack cannot hold the member, and sets it. */
static zsetAddResult convertAndSet(robj *o, slice member, uint64_t hash, double score, int flags, double *result) {
    valueZsetConvert(o);
    return treeSet(objectStructure(o), member, hash, score, flags, result);
}

zsetAddResult zsetAdd(robj *o, slice member, uint64_t hash, double score, int flags, double *result) {
    debugAssert(!isnan(score));
    if (o->encoding == OBJ_ENC_SKIPLIST) return treeSet(objectStructure(o), member, hash, score, flags, result);
    uint8_t *lp = objectStructure(o);
    const uint8_t *at = listpackFindMember(lp, member);
    if (!at) {
        if (flags & ZSET_XX) return ZSET_REFUSED;
        bool put = zsetFitsListpack(listpackCount(lp) / 2 + 1, member.len) &&
                   listpackPutPair(&lp, insertPosition(lp, member, score), member, score);
        objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
        if (!put) return convertAndSet(o, member, hash, score, flags, result);
        *result = score;
        return ZSET_ADDED;
    }
    double new_score = score;
    zsetAddResult decision = decideChange(zsetListpackScore(listpackNext(at)), flags, &new_score);
    *result = new_score;
    if (decision != ZSET_UPDATED) return decision;
    if (!listpackMayGrow(lp, listpackEntryBytesMax(DOUBLE_STR_SIZE), SIZE_MAX))
        return convertAndSet(o, member, hash, score, flags, result);
    lp = listpackUpdate(lp, at, member, new_score);
    serverAssert(lp);
    objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
    return ZSET_UPDATED;
}

size_t zsetAddNeeds(const robj *o, size_t member_len) {
    size_t needs = sizeof(zsetEntry) + entryHead(member_len) + member_len;
    /* The listpack may have to be moved, or to become a skiplist. */
    if (o && o->encoding == OBJ_ENC_LISTPACK) needs += 8 * listpackBytes(objectStructure(o));
    return needs;
}

bool zsetRemove(robj *o, slice member, uint64_t hash) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        uint8_t *lp = objectStructure(o);
        const uint8_t *at = listpackFindMember(lp, member);
        if (!at) return false;
        objectSetStructure(o, OBJ_ENC_LISTPACK, listpackDelete(lp, &at, 2));
        return true;
    }
    zsetTree *z = objectStructure(o);
    zsetEntry *entry = dictPop(z->table, member, hash);
    if (!entry) return false;
    serverAssert(scoreTreeRemove(z->scores, entry));
    zfree(entry);
    dictShrinkIfNeeded(z->table);
    return true;
}

/* ---- Operations of the type ---- */

static void zsetFree(void *structure) { zsetTreeFree(structure); }

static size_t freeEffort(const void *structure) {
    const zsetTree *z = structure;
    return dictSize(z->table) + scoreTreeNodes(z->scores);
}

static size_t memUsage(const void *structure, size_t samples) {
    const zsetTree *z = structure;
    scoreTreeIter it = scoreTreeSeekRank(z->scores, 0);
    size_t count = dictSize(z->table), seen = 0, bytes = 0;
    if (samples == 0 || samples > count) samples = count;
    for (const void *entry; seen < samples && (entry = scoreTreeNext(&it)) != NULL; seen++) {
        bytes += zmallocSize(entry);
        longLoopStep();
    }
    if (seen < count && seen) bytes = (size_t)((double)bytes / (double)seen * (double)count);
    return zmallocSize(z) + dictMemUsage(z->table) + scoreTreeMemUsage(z->scores) + bytes;
}

static void *zsetDup(const void *structure) {
    const zsetTree *from = structure;
    zsetTree *z = zsetTreeCreate(dictSize(from->table));
    scoreTreeIter it = scoreTreeSeekRank(from->scores, 0);
    for (const zsetEntry *entry; (entry = scoreTreeNext(&it)) != NULL;) {
        slice member = zsetMemberOf(entry);
        zsetEntry *copy = zsetEntryCreate(member, entry->score);
        serverAssert(copy);
        dictAddNew(z->table, copy, zsetHash(member));
        serverAssert(scoreTreeAppend(z->scores, copy));
        longLoopStep();
    }
    return z;
}

static const dict *zsetElements(const void *structure) { return ((const zsetTree *)structure)->table; }

static void checkListpack(const uint8_t *lp) {
    size_t count = 0;
    for (const uint8_t *at = listpackFirst(lp); at; at = listpackNext(at)) {
        at = listpackNext(at);
        serverAssert(at && !isnan(zsetListpackScore(at)));
        count++;
    }
    serverAssert(count > 0);
}

static void valueZsetCheck(const void *structure, int encoding) {
    if (encoding == OBJ_ENC_LISTPACK) {
        checkListpack(structure);
        return;
    }
    const zsetTree *z = structure;
    dictCheck(z->table);
    scoreTreeCheck(z->scores);
    serverAssert(dictSize(z->table) > 0 && dictSize(z->table) == scoreTreeSize(z->scores));
    scoreTreeIter it = scoreTreeSeekRank(z->scores, 0);
    for (const zsetEntry *entry; (entry = scoreTreeNext(&it)) != NULL;) {
        slice member = zsetMemberOf(entry);
        serverAssert(!isnan(entry->score) && dictFind(z->table, member, zsetHash(member)) == entry);
    }
}

typedef struct memberDefrag {
    zsetTree *z;
    blockMover *move;
} memberDefrag;

static void defragMember(void *arg, void **ref) {
    const memberDefrag *d = arg;
    void *old = *ref, *moved = d->move(old);
    if (!moved) return;
    *ref = moved;
    serverAssert(scoreTreeEntryMoved(d->z->scores, old, moved));
}

enum { DEFRAG_TABLE, DEFRAG_TREE };

static bool zsetDefrag(void **structure, defragCursor *cursor, size_t budget, blockMover *move) {
    void *moved = cursor->phase == DEFRAG_TABLE && cursor->at == 0 ? move(*structure) : NULL;
    if (moved) *structure = moved;
    zsetTree *z = *structure;
    if (cursor->phase == DEFRAG_TABLE) {
        if (cursor->at == 0) z->table = dictDefrag(z->table, move);
        if (objectDefragTable(z->table, cursor, budget, defragMember, &(memberDefrag){z, move}, move))
            cursor->phase = DEFRAG_TREE;
        return false;
    }
    do cursor->at = scoreTreeDefragNodes(z->scores, cursor->at, move);
    while (cursor->at && --budget);
    return cursor->at == 0;
}

const objectTypeOps zset_type_ops = {
    .free = zsetFree,
    .freeEffort = freeEffort,
    .memUsage = memUsage,
    .dup = zsetDup,
    .elements = zsetElements,
    .digest = zsetDigest,
    .rdbType = zsetRdbType,
    .rdbWrite = zsetRdbWrite,
    .rdbRead = zsetRdbRead,
    .check = valueZsetCheck,
    .defrag = zsetDefrag,
};
