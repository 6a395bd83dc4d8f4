/* score_leaf.c -- the leaf of a scoreTree: up to two hundred codes in order, and how they are searched.
 *
 * A leaf holds no scores but codes of 32 bits: the score's bits, mapped to an integer of the same order (its ordinal),
 * shifted right, minus a start; each leaf has its own shift and start. Lower codes are lower scores; for equal codes
 * the entries are compared. A leaf with a range of at least 2^30 codes for its two hundred scores seldom has two equal
 * ones unless the scores are. When a score is out of the codes' range, they are made coarser, which reads no entry;
 * when a split leaves a leaf with a narrow range, they are computed again from the scores.
 *
 * Not here    which leaf it is, and what is above it (score_tree.c).
 * Owns        nothing.
 * Threads     as score_tree.c.
 * Invariants  A slot's code is (ordinal of its entry's score >> shift) - start, and fits into 32 bits.
 * Tests       tests/unit/ds/score_tree_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "score_tree_internal.h"

/* A leaf with a narrower range of codes computes them again from the scores. */
#define CODE_SPAN_MIN (1u << 16)
/* New codes use no more than this of 32 bits, so that the range can grow on both sides. */
#define CODE_SPAN_MAX (1u << 30)

/* ---- codes ---- */

/* Return the lowest and the highest ordinal that can have the code of a slot. */
static uint64_t lowestOfSlot(const scoreLeaf *leaf, uint32_t slot) {
    return (leaf->code[slot] + leaf->start) << leaf->shift;
}
static uint64_t highestOfSlot(const scoreLeaf *leaf, uint32_t slot) {
    return ((leaf->code[slot] + leaf->start + 1) << leaf->shift) - 1;
}

void scoreLeafWiden(scoreLeaf *leaf, uint64_t low, uint64_t high, uint32_t shift) {
    if (leaf->n) {
        if (lowestOfSlot(leaf, 0) < low) low = lowestOfSlot(leaf, 0);
        if (highestOfSlot(leaf, leaf->n - 1) > high) high = highestOfSlot(leaf, leaf->n - 1);
        if (leaf->shift > shift) shift = leaf->shift;
    }
    while ((high >> shift) - (low >> shift) > CODE_SPAN_MAX) shift++;
    uint64_t margin = (UINT32_MAX - ((high >> shift) - (low >> shift))) / 2;
    uint64_t start = low >> shift > margin ? (low >> shift) - margin : 0;
    for (uint32_t i = 0; i < leaf->n; i++)
        leaf->code[i] = (uint32_t)(((leaf->code[i] + leaf->start) >> (shift - leaf->shift)) - start);
    leaf->shift = shift;
    leaf->start = start;
}

void scoreLeafTighten(scoreLeaf *leaf) {
    uint32_t n = leaf->n, shift = leaf->shift;
    if (n == 0 || shift == 0 || leaf->code[n - 1] - leaf->code[0] >= CODE_SPAN_MIN) return;
    uint64_t low = scoreOrdinal(scoreOf(scoreLeafEntry(leaf, 0))),
             high = scoreOrdinal(scoreOf(scoreLeafEntry(leaf, n - 1)));
    leaf->n = 0;
    scoreLeafWiden(leaf, low, high, 0);
    leaf->n = n;
    serverAssert(leaf->shift < shift);
    for (uint32_t i = 0; i < n; i++) prefetchRead(scoreLeafEntry(leaf, i));
    for (uint32_t i = 0; i < n; i++)
        leaf->code[i] = scoreLeafCode(leaf, scoreOrdinal(scoreOf(scoreLeafEntry(leaf, i))));
}

/* ---- searching ---- */

/* Returns how many of `n` ascending codes are lower. Without branches that depend on codes, as those would be
 * mispredicted half of the time. */
static uint32_t codesBelow(const uint32_t *code, uint32_t n, uint32_t than) {
    uint32_t low = 0;
    if (n == 0) return 0;
    while (n > 1) {
        uint32_t half = n / 2;
        low += code[low + half - 1] < than ? half : 0;
        n -= half;
    }
    return low + (code[low] < than);
}

/* The slots first .. end - 1 have the code that is searched for: only these entries have to be compared. */
typedef struct slotRange {
    uint32_t first, end;
} slotRange;

/* Returns the slots within from .. to - 1 that have the code of an ordinal. */
static slotRange slotsOf(const scoreLeaf *leaf, uint32_t from, uint32_t to, uint64_t ord) {
    if (!scoreLeafReaches(leaf, ord)) {
        uint32_t slot = ord >> leaf->shift < leaf->start ? from : to;
        return (slotRange){slot, slot};
    }
    uint32_t code = scoreLeafCode(leaf, ord);
    uint32_t first = from + codesBelow(leaf->code + from, to - from, code), end = first;
    if (end < to && leaf->code[end] == code) end++;
    if (end < to && leaf->code[end] == code)
        end = code == UINT32_MAX ? to : end + codesBelow(leaf->code + end, to - end, code + 1);
    return (slotRange){first, end};
}

uint32_t scoreLeafSlotOfKey(scoreTreeCompare *compare, const scoreLeaf *leaf, uint32_t from, uint32_t to,
                            const scoreKey *key, bool *found) {
    slotRange r = slotsOf(leaf, from, to, scoreOrdinal(key->score));
    *found = false;
    while (r.first < r.end) {
        uint32_t middle = r.first + (r.end - r.first) / 2;
        const void *entry = scoreLeafEntry(leaf, middle);
        if (entry == key->address) {
            *found = true;
            return middle;
        }
        double score = leaf->shift ? scoreOf(entry) : key->score; /* codes without shift are exact */
        if (score < key->score || (score == key->score && compare(entry, key->entry) < 0)) r.first = middle + 1;
        else r.end = middle;
    }
    return r.first;
}

uint32_t scoreLeafSlotOfBound(const scoreLeaf *leaf, scoreBound b) {
    slotRange r = slotsOf(leaf, 0, leaf->n, scoreOrdinal(b.score));
    if (leaf->shift == 0) return b.after_equal ? r.end : r.first;
    while (r.first < r.end) {
        uint32_t middle = r.first + (r.end - r.first) / 2;
        double score = scoreOf(scoreLeafEntry(leaf, middle));
        if (score < b.score || (b.after_equal && score == b.score)) r.first = middle + 1;
        else r.end = middle;
    }
    return r.first;
}

uint32_t scoreLeafSlotBefore(const scoreLeaf *leaf, scoreTreeBefore *before, const void *arg) {
    uint32_t low = 0, high = leaf->n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before(scoreLeafEntry(leaf, middle), arg)) low = middle + 1;
        else high = middle;
    }
    return low;
}

int scoreLeafCompare(scoreTreeCompare *compare, double score, const void *entry, const scoreLeaf *leaf, uint32_t slot) {
    uint64_t v = scoreOrdinal(score) >> leaf->shift, there = leaf->code[slot] + leaf->start;
    if (v != there) return v < there ? -1 : 1;
    const void *other = scoreLeafEntry(leaf, slot);
    if (leaf->shift && score != scoreOf(other)) return score < scoreOf(other) ? -1 : 1;
    return compare(entry, other);
}

/* ---- moving ---- */

void scoreLeafMove(scoreLeaf *leaf, uint32_t to, uint32_t from, uint32_t n) {
    memmove(&leaf->code[to], &leaf->code[from], n * sizeof(leaf->code[0]));
    memmove(&leaf->entry[to], &leaf->entry[from], n * sizeof(leaf->entry[0]));
}

void scoreLeafPrepare(scoreLeaf *to, const scoreLeaf *from, uint32_t i, uint32_t n) {
    if (to->n == 0) {
        to->shift = from->shift;
        to->start = from->start;
        return;
    }
    uint64_t low = lowestOfSlot(from, i), high = highestOfSlot(from, i + n - 1);
    if (to->shift < from->shift || !scoreLeafReaches(to, low) || !scoreLeafReaches(to, high))
        scoreLeafWiden(to, low, high, from->shift);
}

void scoreLeafTake(scoreLeaf *to, uint32_t at, const scoreLeaf *from, uint32_t i, uint32_t n) {
    uint32_t coarser = to->shift - from->shift;
    for (uint32_t k = 0; k < n; k++)
        to->code[at + k] = (uint32_t)(((from->code[i + k] + from->start) >> coarser) - to->start);
    memcpy(&to->entry[at], &from->entry[i], n * sizeof(to->entry[0]));
}
