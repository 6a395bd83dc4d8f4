/* value_zset_range.c -- ranges of sorted sets: as ranks, walks, and their removal.
 *
 * Whether a range is given by rank, score or member, it is converted to ranks: the number of members before its lower
 * end, and before its upper end. So there is one way to count it, to reverse it, to cut it (LIMIT), to read it
 * and to remove it.
 *
 * Not here    the syntax of ranges in commands (commands/zset/t_zset_range.c).
 * Owns        nothing.
 * Threads     main, or a thread that alone knows the value.
 * Cost        skiplist: the logarithm of its size for each end; listpack: a walk.
 * Tests       tests/unit/object/value_zset_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_zset_internal.h"

#include "dict.h"
#include "panic.h"
#include "zmalloc.h"

/* ---- Ends of ranges ---- */

/* Returns whether `member` is before the end of a range. If the end is included, an equal member is before an upper end
 * (`upper`), but not before a lower one; if it is excluded, the other way round. */
static bool memberIsBefore(slice member, const zsetLexEnd *end, bool upper) {
    if (end->kind != ZSET_LEX_MEMBER) return end->kind == ZSET_LEX_HIGHEST;
    int order = sliceCmp(member, end->member);
    return order < 0 || (order == 0 && end->open != upper);
}

static zsetRanks ranksBetween(size_t first, size_t end) { return (zsetRanks){first, end > first ? end - first : 0}; }

static bool isBelow(double score, scoreBound bound) {
    return bound.after_equal ? score <= bound.score : score < bound.score;
}

/* Sets counts[i] to the number of pairs with a score below bounds[i]; the bounds ascend. Comparing the last pair first
 * saves the walk for bounds above all pairs. */
static void listpackCountBelow(const uint8_t *lp, const scoreBound *bounds, size_t n, size_t *counts) {
    size_t pairs = listpackCount(lp) / 2, rank = 0, i = 0;
    const uint8_t *at = listpackFirst(lp);
    if (at) {
        double last = zsetListpackScore(listpackLast(lp));
        while (n > 0 && isBelow(last, bounds[n - 1])) counts[--n] = pairs;
    }
    for (; at && i < n; rank++) {
        const uint8_t *value = listpackNext(at);
        double score = zsetListpackScore(value);
        while (i < n && !isBelow(score, bounds[i])) counts[i++] = rank;
        at = listpackNext(value);
    }
    while (i < n) counts[i++] = pairs;
}

void zsetCountBelow(const robj *o, const scoreBound *bounds, size_t n, size_t *counts) {
    if (o->encoding == OBJ_ENC_LISTPACK) {
        listpackCountBelow(objectStructure(o), bounds, n, counts);
        return;
    }
    const scoreTree *t = ((const zsetTree *)objectStructure(o))->scores;
    for (size_t i = 0; i < n; i++) counts[i] = scoreTreeCountBelow(t, bounds[i]);
}

zsetRanks zsetRanksByScore(const robj *o, const zsetScoreRange *range) {
    scoreBound ends[2] = {{range->min, range->min_open}, {range->max, !range->max_open}};
    size_t counts[2];
    zsetCountBelow(o, ends, 2, counts);
    return ranksBetween(counts[0], counts[1]);
}

static zsetRanks walkMembers(const robj *o, const zsetLexRange *range) {
    zsetIter it = zsetIterAt(o, 0, false);
    zsetElement e;
    zsetRanks ranks = {0, 0};
    bool more = zsetIterNext(&it, &e);
    for (; more && memberIsBefore(e.member, &range->min, false); ranks.first++) more = zsetIterNext(&it, &e);
    for (; more && memberIsBefore(e.member, &range->max, true); ranks.count++) more = zsetIterNext(&it, &e);
    return ranks;
}

typedef struct lexBound {
    const zsetLexEnd *end;
    bool upper;
} lexBound;

static bool entryIsBefore(const void *entry, const void *arg) {
    const lexBound *bound = arg;
    return memberIsBefore(zsetMemberOf(entry), bound->end, bound->upper);
}

zsetRanks zsetRanksByLex(const robj *o, const zsetLexRange *range) {
    if (o->encoding == OBJ_ENC_LISTPACK) return walkMembers(o, range);
    const scoreTree *t = ((const zsetTree *)objectStructure(o))->scores;
    size_t first = scoreTreeCountBefore(t, entryIsBefore, &(lexBound){&range->min, false});
    return ranksBetween(first, scoreTreeCountBefore(t, entryIsBefore, &(lexBound){&range->max, true}));
}

/* ---- Walking ---- */

zsetIter zsetIterAt(const robj *o, size_t rank, bool backward) {
    zsetIter it;
    it.backward = backward;
    it.lp = NULL;
    if (o->encoding == OBJ_ENC_LISTPACK) {
        it.lp = objectStructure(o);
        it.at = listpackIndex(it.lp, (long)(rank * 2));
        return it;
    }
    const scoreTree *t = ((const zsetTree *)objectStructure(o))->scores;
    it.tree_at = scoreTreeSeekRank(t, rank + backward);
    return it;
}

bool zsetIterNext(zsetIter *it, zsetElement *e) {
    if (likely(!it->lp)) {
        const zsetEntry *entry = it->backward ? scoreTreePrev(&it->tree_at) : scoreTreeNext(&it->tree_at);
        if (!entry) return false;
        e->member = zsetMemberOf(entry);
        e->score = entry->score;
        return true;
    }
    if (!it->at) return false;
    const uint8_t *score = listpackNext(it->at);
    e->member = listpackText(it->at, it->digits);
    e->score = zsetListpackScore(score);
    if (it->backward) {
        it->at = listpackPrev(it->lp, it->at);
        if (it->at) it->at = listpackPrev(it->lp, it->at);
    } else {
        it->at = listpackNext(score);
    }
    return true;
}

/* ---- Removing -- ---- */

/* For entries that were removed from the tree: removes them from the table. */
typedef struct removal {
    dict *table;
    size_t n;
    zsetEntry *entries[DICT_PREFETCH_MAX / 2];
} removal;

static void removalFlush(removal *l) {
    dictLookup lookups[array_len(l->entries)];
    for (size_t i = 0; i < l->n; i++) {
        slice member = zsetMemberOf(l->entries[i]);
        lookups[i] = (dictLookup){.d = l->table, .key = member, .hash = zsetHash(member), .skip_value = true};
    }
    if (l->n > 1) dictPrefetch(lookups, l->n);
    for (size_t i = 0; i < l->n; i++) {
        serverAssert(dictPopEntry(l->table, l->entries[i], lookups[i].hash));
        zfree(l->entries[i]);
    }
    l->n = 0;
}

static void removalAdd(void *arg, void *entry) {
    removal *l = arg;
    l->entries[l->n++] = entry;
    if (l->n == array_len(l->entries)) removalFlush(l);
}

void zsetRemoveRanks(robj *o, zsetRanks ranks) {
    debugAssert(ranks.first + ranks.count <= zsetCount(o));
    if (ranks.count == 0) return;
    if (o->encoding == OBJ_ENC_LISTPACK) {
        uint8_t *lp = listpackDeleteRange(objectStructure(o), (long)(ranks.first * 2), ranks.count * 2);
        objectSetStructure(o, OBJ_ENC_LISTPACK, lp);
        return;
    }
    zsetTree *z = objectStructure(o);
    removal l = {.table = z->table};
    size_t done = scoreTreeRemoveRanks(z->scores, ranks.first, ranks.first + ranks.count - 1, removalAdd, &l);
    serverAssert(done == ranks.count);
    removalFlush(&l);
    dictShrinkIfNeeded(z->table);
}
