/* score_tree_internal.h -- the leaf of a scoreTree, for score_tree.c and score_leaf.c only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_SCORE_TREE_INTERNAL_H
#define DS_SCORE_TREE_INTERNAL_H

#include "score_tree.h"

#include "panic.h"
#include <string.h>

enum { LEAF_MAX = 200 }; /* capacity of a leaf: 2032 bytes, of size class 2048 */

/* An address without its upper 16 bits, which are 0: no system gives a process higher addresses unless asked to. */
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

/* A search key. `address` may be all that is left of an entry (scoreTreeEntryMoved). */
typedef struct scoreKey {
    double score;
    const void *entry;   /* may be read */
    const void *address; /* a slot with this pointer holds the entry itself */
} scoreKey;

static inline double scoreOf(const void *entry) { return *(const double *)entry; }

static inline void scoreSet(void *entry, double score) { *(double *)entry = score; }

static inline void *scoreLeafEntry(const scoreLeaf *leaf, uint32_t slot) {
    const uint16_t *part = leaf->entry[slot].part;
    return (void *)(uintptr_t)(part[0] | (uint64_t)part[1] << 16 | (uint64_t)part[2] << 32);
}

static inline void scoreLeafSetEntry(scoreLeaf *leaf, uint32_t slot, const void *entry) {
    uint64_t p = (uintptr_t)entry;
    serverAssert(p >> 48 == 0);
    leaf->entry[slot] = (packedPointer){{(uint16_t)p, (uint16_t)(p >> 16), (uint16_t)(p >> 32)}};
}

/* Maps scores to integers of the same order; both zeros are the same. */
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

/* Extends the range of the codes to the ordinals `low` to `high`, not finer than `shift`. Reads no entry: coarser codes
 * follow from finer ones. */
void scoreLeafWiden(scoreLeaf *leaf, uint64_t low, uint64_t high, uint32_t shift);
/* Computes codes that are too close together again from the scores. That happens in a leaf that had a far outlier, or a
 * wide range many splits ago. */
void scoreLeafTighten(scoreLeaf *leaf);

/* Returns the first of the slots from .. to - 1 that is not before the key; *found says whether it is the key. */
uint32_t scoreLeafSlotOfKey(scoreTreeCompare *compare, const scoreLeaf *leaf, uint32_t from, uint32_t to,
                            const scoreKey *key, bool *found);
/* Returns the first slot that is not before the bound. */
uint32_t scoreLeafSlotOfBound(const scoreLeaf *leaf, scoreBound b);
uint32_t scoreLeafSlotBefore(const scoreLeaf *leaf, scoreTreeBefore *before, const void *arg);
/* Compares (score, entry) with a slot. Reads the entry there only if the codes are equal. */
int scoreLeafCompare(scoreTreeCompare *compare, double score, const void *entry, const scoreLeaf *leaf, uint32_t slot);

/* Moves `n` entries within a leaf. */
void scoreLeafMove(scoreLeaf *leaf, uint32_t to, uint32_t from, uint32_t n);
/* Extends the range of `to` so that it can take `n` slots of `from`, not finer than theirs. */
void scoreLeafPrepare(scoreLeaf *to, const scoreLeaf *from, uint32_t i, uint32_t n);
/* Copies slots to free slots of another leaf, which scoreLeafPrepare() has prepared. */
void scoreLeafTake(scoreLeaf *to, uint32_t at, const scoreLeaf *from, uint32_t i, uint32_t n);

#endif
