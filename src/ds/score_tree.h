/* score_tree.h -- the ordered half of a sorted set: entries by score and member, and the rank of each.
 *
 * An order-statistic B+ tree over entries that belong to the dict beside it. An entry is a block of its own, which
 * begins with its score, a double, that is written nowhere else; where the member is only `compare` knows. Order is by
 * score, then by member. -0.0 and 0.0 are equal; NaN must never come. No two entries of a tree have equal members.
 *
 * While an entry is in a tree it stays where it is, with its member and its score: scoreTreeUpdate() writes a new
 * score, scoreTreeEntryMoved() tells of a new address. Addresses are below 2^48.
 *
 * Ranks count from 0. Functions that take a const tree write nothing. Nodes are of two and four kilobytes, allocated by
 * zmalloc(): no call fails for want of memory.
 *
 * Threads     one owner at a time; a tree that nobody changes may be read by any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SCORE_TREE_H
#define DS_SCORE_TREE_H

#include "zmalloc_move.h"

typedef struct scoreTree scoreTree;

/* Order of the members of two entries: negative, 0, positive, as memcmp(). */
typedef int scoreTreeCompare(const void *a, const void *b);

#define SCORE_TREE_NONE SIZE_MAX

scoreTree *scoreTreeCreate(scoreTreeCompare *compare);
/* Frees the nodes. Entries are neither freed nor read: they may be gone already. NULL is allowed. On any thread. */
void scoreTreeFree(scoreTree *t);
/* The same in pieces: frees at least `nodes` nodes, or all. True when the tree is gone; until then nothing else may be
 * done with it. */
bool scoreTreeFreeSome(scoreTree *t, size_t nodes);

size_t scoreTreeSize(const scoreTree *t);
size_t scoreTreeNodes(const scoreTree *t);    /* the effort of freeing it */
size_t scoreTreeMemUsage(const scoreTree *t); /* bytes, without entries */

/* Add an entry whose member is not in the tree. */
void scoreTreeInsert(scoreTree *t, void *entry);
/* Add an entry that lies behind, or before, all others: for loading what is sorted. False, and nothing has changed, if
 * it does not. Leaves get as full as they can be. */
bool scoreTreeAppend(scoreTree *t, void *entry) must_check;
bool scoreTreePrepend(scoreTree *t, void *entry) must_check;
/* Take an entry out. False, and nothing has changed, if it is not in the tree. */
bool scoreTreeRemove(scoreTree *t, const void *entry);
/* Give an entry another score; in place where its neighbours allow it. False, and nothing has changed, if it is not in
 * the tree. */
bool scoreTreeUpdate(scoreTree *t, void *entry, double score);
/* Take out the entries of ranks first .. last (both included; what is beyond the end is left out). `removed`, which
 * may be NULL, is called for each in order, when the tree holds it no more; it may free the entry, but not use the
 * tree. Returns how many. */
size_t scoreTreeRemoveRanks(scoreTree *t, size_t first, size_t last, void (*removed)(void *arg, void *entry),
                            void *arg);

/* Rank of an entry, SCORE_TREE_NONE if it is not in the tree. */
size_t scoreTreeRank(const scoreTree *t, const void *entry);

/* A bound of a range. The entries before it are those with a lower score, or, with `after_equal`, a score that is lower
 * or the same. A range from a to b, both included, begins behind {a, false} and ends at {b, true}; exclusive ends are
 * the other way round. */
typedef struct scoreBound {
    double score;
    bool after_equal;
} scoreBound;
/* How many entries lie before the bound: the rank of the first that does not. */
size_t scoreTreeCountBelow(const scoreTree *t, scoreBound bound);
/* The same for a bound that a callback knows, say one of members where all scores are equal: `before` holds for a
 * number of entries from the first on, and for none behind those. */
typedef bool scoreTreeBefore(const void *entry, const void *arg);
size_t scoreTreeCountBefore(const scoreTree *t, scoreTreeBefore *before, const void *arg);

/* A place between two entries. scoreTreeNext() returns the entry behind it and steps over it, scoreTreePrev() the one
 * before it; NULL at the end. Valid until the tree changes. Entries ahead in the direction of travel are prefetched. */
typedef struct scoreTreeIter {
    const void *leaf; /* borrowed from the tree; NULL: the tree is empty */
    uint32_t slot;
} scoreTreeIter;
/* The place before the entry of that rank; behind the last one if there are not so many. */
scoreTreeIter scoreTreeSeekRank(const scoreTree *t, size_t rank);
/* The place behind all entries that lie before the bound. */
scoreTreeIter scoreTreeSeekBound(const scoreTree *t, scoreBound bound);
scoreTreeIter scoreTreeSeekBefore(const scoreTree *t, scoreTreeBefore *before, const void *arg);
void *scoreTreeNext(scoreTreeIter *it);
void *scoreTreePrev(scoreTreeIter *it);

/* One of many lookups that are walked in turns. The caller fills the first block and owns it until the call returns;
 * the tree fills the second. */
typedef struct scoreTreeLookup {
    const scoreTree *t; /* borrowed */
    const void *entry;  /* borrowed */

    size_t rank; /* SCORE_TREE_NONE: not there */
    const void *node;
    uint32_t level;
} scoreTreeLookup;
#define SCORE_TREE_LOOKUPS_MAX 128
/* Ranks of up to SCORE_TREE_LOOKUPS_MAX entries, of one tree or many, so that their cache misses overlap. What each
 * walk touches is in the cache then, for changes too. Changes nothing. */
void scoreTreeRankMany(scoreTreeLookup *lookups, size_t n);

/* Defragmentation. An entry has moved: the tree holds its new address from now on; `from` is not read. False if it was
 * not in the tree. */
bool scoreTreeEntryMoved(scoreTree *t, const void *from, void *to);
/* Offer the leaf at `rank` to `move`, and the nodes above it of which it is the first leaf. Returns the rank at which
 * to go on, 0 when all have been offered. */
size_t scoreTreeDefragNodes(scoreTree *t, size_t rank, blockMover *move);

/* Assert the numbered invariants at the top of score_tree.c. Every entry is read. */
void scoreTreeCheck(const scoreTree *t);

#endif
