/* value_zset.h -- sorted sets: members ordered by score.
 *
 *   listpack    member, score, member, score ... ascending: for few and short members (object_settings)
 *   skiplist    a table of entries {score, member} and a scoreTree over the same entries
 *
 * A skiplist never becomes a listpack again. Members of equal score are in the order of their bytes. Scores are never
 * NaN. The caller deletes an entry of the keyspace that is empty after a change.
 *
 * Functions that take a const robj change nothing. `hash` is that of the member in a dict (clientElementHash(), or
 * zsetHash() if it is no argument); only the skiplist uses it.
 *
 * Threads     main, or a thread that alone knows the value.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_ZSET_H
#define OBJECT_VALUE_ZSET_H

#include "dict.h"
#include "object.h"
#include "score_tree.h"

extern const objectTypeOps zset_type_ops;

/* ---- One member ---- */

/* Returns an empty set for `members` members, the longest of `longest` bytes: a listpack if they fit into one. */
robj *zsetCreate(slice key, size_t members, size_t longest);
/* Call before adding `members` members, present or not: converts to a skiplist if they are too many for a listpack. */
void zsetExpect(robj *o, size_t members, size_t longest);

size_t zsetCount(const robj *o);
/* Returns the hash of a member that is no argument of the running command. */
uint64_t zsetHash(slice member);
bool zsetScore(const robj *o, slice member, uint64_t hash, double *score); /* false if the member is absent */
/* Returns the rank from the lowest score or, with `reverse`, from the highest, and the score; SIZE_MAX if the member is
 * absent. */
size_t zsetRank(const robj *o, slice member, uint64_t hash, bool reverse, double *score);

enum {
    ZSET_NX = 1,   /* only absent members */
    ZSET_XX = 2,   /* only present members */
    ZSET_GT = 4,   /* change a present member only to a higher score */
    ZSET_LT = 8,   /* change a present member only to a lower score */
    ZSET_INCR = 16 /* add to the present score */
};
typedef enum {
    ZSET_ADDED,
    ZSET_UPDATED,
    ZSET_SAME,    /* the member has that score already */
    ZSET_REFUSED, /* by NX, XX, GT or LT */
    ZSET_NAN      /* the sum is not a number */
} zsetAddResult;
/* Sets the score of a member. *result becomes its score, unless refused. May change the encoding. */
zsetAddResult zsetAdd(robj *o, slice member, uint64_t hash, double score, int flags, double *result);
/* Returns the bytes that adding a member of that length may allocate at once. */
size_t zsetAddNeeds(const robj *o, size_t member_len);
/* Removes a member. Returns false if it is absent. */
bool zsetRemove(robj *o, slice member, uint64_t hash);

/* Returns the table of a skiplist, to prefetch members or to scan it; NULL for a listpack. The other two read its
 * entries. */
dict *zsetTable(const robj *o);
slice zsetEntryMember(const void *entry);
double zsetEntryScore(const void *entry);

/* ---- Ranges ---- */

typedef struct zsetScoreRange {
    double min, max;
    bool min_open, max_open; /* the bound itself is excluded */
} zsetScoreRange;

/* An end of a range of members, for sets in which all scores are equal. */
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
/* Return the ranks of the members in a range of scores, or of members. */
zsetRanks zsetRanksByScore(const robj *o, const zsetScoreRange *range);
zsetRanks zsetRanksByLex(const robj *o, const zsetLexRange *range);
/* Sets counts[i] to the number of members before bounds[i]. The bounds must ascend: a listpack is walked once. */
void zsetCountBelow(const robj *o, const scoreBound *bounds, size_t n, size_t *counts);
/* Removes the members of these ranks, which exist. The table may shrink. */
void zsetRemoveRanks(robj *o, zsetRanks ranks);

/* ---- Walking ---- */

typedef struct zsetElement {
    slice member; /* borrowed from the set, or from the iterator until the next step */
    double score;
} zsetElement;

/* A walk by rank, in either direction. The set must not change meanwhile. Members ahead are prefetched.
 *
 *     zsetIter it = zsetIterAt(o, ranks.first, false);
 *     for (size_t i = 0; i < ranks.count && zsetIterNext(&it, &e); i++) ...
 */
typedef struct zsetIter {
    const uint8_t *lp, *at; /* listpack: the next pair, NULL at the end */
    scoreTreeIter tree_at;
    bool backward;
    char digits[LONG_STR_SIZE];
} zsetIter;
/* Begins with the member of that rank (counted from the lowest score in both directions). */
zsetIter zsetIterAt(const robj *o, size_t rank, bool backward);
bool zsetIterNext(zsetIter *it, zsetElement *e); /* false at the end */

/* ---- Building a whole set ---- */

/* Collects members in any order; afterwards they can be read in the order of a sorted set, or become one. Input that is
 * already sorted, ascending or descending, is not sorted again. */
typedef struct zsetBuilder {
    void **entries; /* owned, until the builder ends */
    dict *table;    /* owned; NULL: no member was looked up */
    size_t count, capacity, longest;
} zsetBuilder;
void zsetBuildBegin(zsetBuilder *b, size_t expected); /* about `expected` members will be added */
/* Adds a member that is not yet in the builder. */
void zsetBuildAdd(zsetBuilder *b, slice member, double score);
/* Returns the address of a member's score; adds the member with score 0 (*is_new) if it is absent. All members must be
 * added by this function then. Returns NULL if there is no memory. */
double *zsetBuildScore(zsetBuilder *b, slice member, uint64_t hash, bool *is_new);
/* Prefetches for zsetBuildScore() of these members; at most DICT_PREFETCH_MAX. */
void zsetBuildPrefetch(const zsetBuilder *b, const slice *members, const uint64_t *hashes, size_t n);
/* Sorts the entries; then they may be read. */
void zsetBuildSort(zsetBuilder *b);
/* Returns a set of the members, at least one, with the encoding that the settings select. Ends the builder. */
robj *zsetBuildObject(zsetBuilder *b, slice key);
/* Ends the builder and frees its members. */
void zsetBuildDrop(zsetBuilder *b);

#endif
