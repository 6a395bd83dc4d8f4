/* score_tree_internal.h -- the leaf of a scoreTree, for score_tree.c and score_leaf.c only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SCORE_TREE_INTERNAL_H
#define DS_SCORE_TREE_INTERNAL_H

#include "score_tree.h"

#include "panic.h"
#include <string.h>

enum { LEAF_MAX = 200 }; /* places of a leaf: 2032 bytes, of size class 2048 */

/* An address without its upper 16 bits, which are 0: no system gives a process higher ones unless it asks. */
typedef struct packedPointer {
    uint16_t part[3];
} packedPointer;

typedef struct scoreLeaf {
    uint32_t n;
    uint32_t shift; /* a code is (ordinal >> shift) - start */
    uint64_t start;
    struct scoreLeaf *prev, *next;
    uint32_t code[LEAF_MAX];
    packedPointer entry[LEAF_MAX]; /* borrowed from the dict beside the tree */
} scoreLeaf;

static_assert(sizeof(scoreLeaf) <= 2048, "a leaf fills its size class");

/* What a search looks for. `address` may be the only thing that is left of an entry (scoreTreeEntryMoved). */
typedef struct scoreKey {
    double score;
    const void *entry;   /* may be read */
    const void *address; /* a place with this pointer holds the entry itself */
} scoreKey;

static inline double scoreOf(const void *entry) {
    return *(const double *)entry;
}

static inline void scoreSet(void *entry, double score) {
    *(double *)entry = score;
}

static inline void *scoreLeafEntry(const scoreLeaf *leaf, uint32_t slot) {
    const uint16_t *part = leaf->entry[slot].part;
    return (void *)(uintptr_t)(part[0] | (uint64_t)part[1] << 16 | (uint64_t)part[2] << 32);
}

static inline void scoreLeafSetEntry(scoreLeaf *leaf, uint32_t slot, const void *entry) {
    uint64_t p = (uintptr_t)entry;
    serverAssert(p >> 48 == 0);
    leaf->entry[slot] = (packedPointer){{(uint16_t)p, (uint16_t)(p >> 16), (uint16_t)(p >> 32)}};
}

/* Scores in their order as integers; those of both zeros are the same. */
static inline uint64_t scoreOrdinal(double score) {
    uint64_t u;
    score += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&u, &score, sizeof(u));
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static inline bool scoreLeafReaches(const scoreLeaf *leaf, uint64_t ord) {
    uint64_t v = ord >> leaf->shift;
    return v >= leaf->start && v - leaf->start <= UINT32_MAX;
}

static inline uint32_t scoreLeafCode(const scoreLeaf *leaf, uint64_t ord) {
    return (uint32_t)((ord >> leaf->shift) - leaf->start);
}

/* Give the leaf codes that reach from ordinal `low` to `high` and are not finer than `shift`, beside what it has. Reads
 * no entry: coarser codes follow from finer ones. */
void scoreLeafWiden(scoreLeaf *leaf, uint64_t low, uint64_t high, uint32_t shift);
/* Codes that have come so near together that they say little are made anew from the scores. That happens to a leaf that
 * had a far outlier, or a wide range many splits ago. */
void scoreLeafTighten(scoreLeaf *leaf);

/* Of the slots from .. to - 1, the first that does not lie before the key; `*found` says whether it is the key. */
uint32_t scoreLeafSlotOfKey(scoreTreeCompare *compare, const scoreLeaf *leaf, uint32_t from, uint32_t to,
                            const scoreKey *key, bool *found);
/* The first slot that does not lie before the bound. */
uint32_t scoreLeafSlotOfBound(const scoreLeaf *leaf, scoreBound b);
uint32_t scoreLeafSlotBefore(const scoreLeaf *leaf, scoreTreeBefore *before, const void *arg);
/* Order of (score, entry) and what is in a slot. The entry there is read only where its code says nothing. */
int scoreLeafCompare(scoreTreeCompare *compare, double score, const void *entry, const scoreLeaf *leaf, uint32_t slot);

/* Move `n` entries within a leaf. */
void scoreLeafMove(scoreLeaf *leaf, uint32_t to, uint32_t from, uint32_t n);
/* Make `to` reach as far as `n` slots of `from`, and no finer, so that it can take them. */
void scoreLeafPrepare(scoreLeaf *to, const scoreLeaf *from, uint32_t i, uint32_t n);
/* From one leaf into free places of another that is prepared for it. */
void scoreLeafTake(scoreLeaf *to, uint32_t at, const scoreLeaf *from, uint32_t i, uint32_t n);

#endif
