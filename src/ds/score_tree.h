/* score_tree.h -- the ordered half of a sorted set: entries by score and member, and the rank of each.
 *
 * An order-statistic B+ tree over entries that belong to a dict. An entry is a block of its own, which
 * begins with its score, a double, that is stored nowhere else; only `compare` knows where the member is. Order is by
 * score, then by member. -0.0 and 0.0 are equal; NaN is not allowed. No two entries of a tree have equal members.
 *
 * While an entry is in a tree its address, member and score must not change: scoreTreeUpdate() writes a new
 * score, scoreTreeEntryMoved() sets a new address. Addresses are below 2^48.
 *
 * Ranks count from 0. Functions that take a const tree write nothing. Nodes are of two and four kilobytes, allocated by
 * zmalloc(): no call fails for lack of memory.
 *
 * Threads     one owner at a time; a tree that is not being changed may be read by any thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SCORE_TREE_H
#define DS_SCORE_TREE_H

#include "zmalloc_move.h"

typedef struct scoreTree scoreTree;

/* Compares the members of two entries: negative, 0, positive, as memcmp(). */
typedef int scoreTreeCompare(const void *a, const void *b);

#define SCORE_TREE_NONE SIZE_MAX

scoreTree *scoreTreeCreate(scoreTreeCompare *compare);
/* Frees the nodes. Entries are neither freed nor read: they may have been freed already. NULL is allowed. On any
 * thread. */
void scoreTreeFree(scoreTree *t);
/* Frees the tree in pieces: at least `nodes` nodes, or all. Returns true when the tree is freed; until then nothing
 * else may use it. */
bool scoreTreeFreeSome(scoreTree *t, size_t nodes);

size_t scoreTreeSize(const scoreTree *t);
size_t scoreTreeNodes(const scoreTree *t);    /* the number of blocks to free */
size_t scoreTreeMemUsage(const scoreTree *t); /* bytes, without entries */

/* Adds an entry whose member is not in the tree. */
void scoreTreeInsert(scoreTree *t, void *entry);
/* Adds an entry that is greater than all others, for loading sorted data. Returns false if it is not; nothing has
 * changed. Leaves get as full as possible. */
bool scoreTreeAppend(scoreTree *t, void *entry) must_check;
/* Removes an entry. Returns false if it is not in the tree; nothing has changed. */
bool scoreTreeRemove(scoreTree *t, const void *entry);
/* Gives an entry another score, in place if its neighbours allow that. Returns false if it is not in the tree; nothing
 * has changed. */
bool scoreTreeUpdate(scoreTree *t, void *entry, double score);
/* Removes the entries of ranks first .. last (inclusive; ranks past the end are ignored) and returns their number.
 * `removed`, which may be NULL, is called for each in order after its removal; it may free the entry, but not use the
 * tree. */
size_t scoreTreeRemoveRanks(scoreTree *t, size_t first, size_t last, void (*removed)(void *arg, void *entry),
                            void *arg);

/* Returns the rank of an entry, SCORE_TREE_NONE if it is not in the tree. */
size_t scoreTreeRank(const scoreTree *t, const void *entry);

/* A bound of a range: it is before the entries with this score, or after them with `after_equal`. A range from a to b,
 * both included, begins at {a, false} and ends at {b, true}; exclusive ends are the other way round. */
typedef struct scoreBound {
    double score;
    bool after_equal;
} scoreBound;
/* Returns how many entries are before the bound: the rank of the first that is not. */
size_t scoreTreeCountBelow(const scoreTree *t, scoreBound bound);
/* Like scoreTreeCountBelow(), for a bound that a callback defines, such as one of members if all scores are equal:
 * `before` is true for some number of first entries, and false for all after them. */
typedef bool scoreTreeBefore(const void *entry, const void *arg);
size_t scoreTreeCountBefore(const scoreTree *t, scoreTreeBefore *before, const void *arg);

/* A position between two entries. scoreTreeNext() returns the entry after it and steps over that, scoreTreePrev() the
 * one before it; NULL at the end. Valid until the tree changes. Prefetches entries in the direction of the walk. */
typedef struct scoreTreeIter {
    const void *leaf; /* borrowed from the tree; NULL: the tree is empty */
    uint32_t slot;
} scoreTreeIter;
/* Returns the position before the entry of that rank; the end if there are not so many. */
scoreTreeIter scoreTreeSeekRank(const scoreTree *t, size_t rank);
void *scoreTreeNext(scoreTreeIter *it);
void *scoreTreePrev(scoreTreeIter *it);

/* One of many lookups that are interleaved. The caller sets the first group of fields and owns the lookup until the
 * call returns; the tree uses the second. */
typedef struct scoreTreeLookup {
    const scoreTree *t; /* borrowed */
    const void *entry;  /* borrowed */

    size_t rank; /* SCORE_TREE_NONE: absent */
    const void *node;
    uint32_t level;
} scoreTreeLookup;
#define SCORE_TREE_LOOKUPS_MAX 128
/* Looks up the ranks of up to SCORE_TREE_LOOKUPS_MAX entries, of one or more trees, so that their cache misses overlap.
 * The lines that a change would touch are in the cache afterwards. Changes nothing. */
void scoreTreeRankMany(scoreTreeLookup *lookups, size_t n);

/* For defragmentation: replaces the address of an entry that has moved; `from` is not read. Returns false if it was not
 * in the tree. */
bool scoreTreeEntryMoved(scoreTree *t, const void *from, void *to);
/* For defragmentation: offers the leaf at `rank` to `move`, and the nodes above it of which it is the first leaf.
 * Returns the rank at which to continue, 0 when all have been offered. */
size_t scoreTreeDefragNodes(scoreTree *t, size_t rank, blockMover *move);

/* Asserts the numbered invariants at the top of score_tree.c. Reads every entry. */
void scoreTreeCheck(const scoreTree *t);

#endif
