/* value_zset.h -- sorted sets: members with a score each, in the order of scores.
 *
 *   listpack    member, score, member, score ... ascending: few and short members (object_settings)
 *   skiplist    a table of entries {score, member} and a scoreTree over the same entries
 *
 * A set never becomes a listpack again. Members of equal score are in the order of their bytes. Scores are never NaN.
 * An entry of a keyspace that is empty after a change is for the caller to delete.
 *
 * Functions that take a const robj change nothing. A hash is that of the member in a dict (clientElementHash(), or
 * zsetHash() where there is no argument); only the skiplist looks at it.
 *
 * Threads     main, or the one that alone knows the value.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_ZSET_H
#define OBJECT_VALUE_ZSET_H

#include "dict.h"
#include "object.h"
#include "score_tree.h"

extern const objectTypeOps zset_type_ops;

/* ---- One member ---- */

/* An empty set that is about to get `members`, the longest of so many bytes: as a listpack if they fit. */
robj *zsetCreate(slice key, size_t members, size_t longest);
/* A set is about to get `members`, whether they are there or not: it becomes a skiplist if so many are none of a
 * listpack. */
void zsetExpect(robj *o, size_t members, size_t longest);

size_t zsetCount(const robj *o);
uint64_t zsetHash(slice member);
bool zsetScore(const robj *o, slice member, uint64_t hash, double *score);
/* Its place from the lowest score, or, `reverse`, from the highest, and its score; SIZE_MAX: it is not there. */
size_t zsetRank(const robj *o, slice member, uint64_t hash, bool reverse, double *score);

enum {
    ZSET_NX = 1,   /* only members that are not there */
    ZSET_XX = 2,   /* only members that are */
    ZSET_GT = 4,   /* of those that are there, only to a higher score */
    ZSET_LT = 8,   /* only to a lower score */
    ZSET_INCR = 16 /* add to the score that is there */
};
typedef enum {
    ZSET_ADDED,
    ZSET_UPDATED,
    ZSET_SAME,    /* the score is that already */
    ZSET_REFUSED, /* by NX, XX, GT or LT */
    ZSET_NAN      /* the sum is no number */
} zsetAddResult;
/* Give a member a score. `*result` is what it has then; not set when refused. May change the encoding. */
zsetAddResult zsetAdd(robj *o, slice member, uint64_t hash, double score, int flags, double *result);
/* Bytes that adding a member of that length may allocate in one go. */
size_t zsetAddNeeds(const robj *o, size_t member_len);
bool zsetRemove(robj *o, slice member, uint64_t hash);

/* The table of a skiplist, to look members up ahead or to scan it; NULL: a listpack. Its entries: */
dict *zsetTable(const robj *o);
slice zsetEntryMember(const void *entry);
double zsetEntryScore(const void *entry);

/* ---- Ranges ---- */

typedef struct zsetScoreRange {
    double min, max;
    bool min_open, max_open; /* the bound itself is not in the range */
} zsetScoreRange;

/* An end of a range of members, which makes sense where all scores are equal. */
typedef struct zsetLexEnd {
    enum { ZSET_LEX_LOWEST, ZSET_LEX_MEMBER, ZSET_LEX_HIGHEST } kind;
    bool open;
    slice member; /* borrowed */
} zsetLexEnd;
typedef struct zsetLexRange {
    zsetLexEnd min, max;
} zsetLexRange;

/* The members of ranks first .. first + count - 1. */
typedef struct zsetRanks {
    size_t first, count;
} zsetRanks;
zsetRanks zsetRanksByScore(const robj *o, const zsetScoreRange *range);
zsetRanks zsetRanksByLex(const robj *o, const zsetLexRange *range);
/* Sets counts[i] to the number of members before bounds[i]. The bounds must ascend: a listpack is walked once. */
void zsetCountBelow(const robj *o, const scoreBound *bounds, size_t n, size_t *counts);
/* Take them out; they are in the set. The table may shrink. */
void zsetRemoveRanks(robj *o, zsetRanks ranks);

/* ---- Walking ---- */

typedef struct zsetElement {
    slice member; /* borrowed from the set, or from the iterator until the next step */
    double score;
} zsetElement;

/* Walks by rank, upward or downward. The set must not change meanwhile. What lies ahead is prefetched.
 *
 *     zsetIter it = zsetIterAt(o, ranks.first, false);
 *     for (size_t i = 0; i < ranks.count && zsetIterNext(&it, &e); i++) */
typedef struct zsetIter {
    const uint8_t *lp, *at; /* listpack: the pair that comes next, NULL behind the last */
    scoreTreeIter place;
    bool backward;
    char digits[LONG_STR_SIZE];
} zsetIter;
/* Begins with the member of that rank (counted from the lowest score, whatever the direction). */
zsetIter zsetIterAt(const robj *o, size_t rank, bool backward);
bool zsetIterNext(zsetIter *it, zsetElement *e);

/* ---- Making a whole set ---- */

/* Collects members in any order; then they can be read in the order of a sorted set, or become one. Nothing needs to be
 * known beforehand: what comes sorted, either way, is not sorted again. */
typedef struct zsetBuilder {
    void **entries; /* owns them, until one of the two ends */
    dict *table;    /* owns; NULL: no member was looked up */
    size_t count, room, longest;
} zsetBuilder;
void zsetBuildBegin(zsetBuilder *b, size_t expected);
/* A member that is not in it yet. */
void zsetBuildAdd(zsetBuilder *b, slice member, double score);
/* The score of a member, which is added with score 0 (*is_new) if it is not in it. All members must have come by this
 * function then. NULL: no memory. */
double *zsetBuildScore(zsetBuilder *b, slice member, uint64_t hash, bool *is_new);
/* Ask for what zsetBuildScore() will need for these; at most DICT_PREFETCH_MAX. */
void zsetBuildPrefetch(const zsetBuilder *b, const slice *members, const uint64_t *hashes, size_t n);
/* Bring the entries into their order; then they may be read. */
void zsetBuildSort(zsetBuilder *b);
/* The set of at least one member, in the encoding that it has by the settings. Ends the builder. */
robj *zsetBuildObject(zsetBuilder *b, slice key);
void zsetBuildDrop(zsetBuilder *b);

#endif
