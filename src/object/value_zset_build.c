/* value_zset_build.c -- builds whole sorted sets: unions, stored ranges, sets that are read from RDB.
 *
 * Members are collected in an array; the tree is built by appending the sorted array, an order of magnitude cheaper
 * than inserting members one by one, and its leaves are as full as possible. If members may repeat,
 * they are in a table from the beginning, which then becomes the set's.
 *
 * Not here    choosing the members (commands/zset/t_zset_algebra.c, commands/zset/t_zset_range.c).
 * Owns        the entries of a builder, until it is ended.
 * Threads     main, or a thread that alone knows the builder.
 * Invariants  Every entry is in the array; if there is a table, all were added by zsetBuildScore() and are in it, too.
 * Tests       tests/unit/object/value_zset_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_zset_internal.h"

#include "dict.h"
#include "panic.h"
#include "zmalloc.h"

#include <stdlib.h>

enum { PREFETCH_AHEAD = 8, TABLE_BATCH = 32 };

void zsetBuildBegin(zsetBuilder *b, size_t expected) {
    *b = (zsetBuilder){.capacity = expected < 16 ? 16 : expected};
    b->entries = ztrymalloc(b->capacity * sizeof(*b->entries));
    if (!b->entries) b->capacity = 0;
}

static bool buildPush(zsetBuilder *b, zsetEntry *entry, size_t member_len) {
    if (unlikely(b->count == b->capacity)) {
        size_t capacity = b->capacity ? b->capacity * 2 : 16;
        void **more = ztryrealloc(b->entries, capacity * sizeof(*more));
        if (!more) return false;
        b->entries = more;
        b->capacity = capacity;
    }
    b->entries[b->count++] = entry;
    if (member_len > b->longest) b->longest = member_len;
    return true;
}

void zsetBuildAdd(zsetBuilder *b, slice member, double score) {
    debugAssert(!b->table);
    zsetEntry *entry = zsetEntryCreate(member, score);
    serverAssert(entry && buildPush(b, entry, member.len));
}

double *zsetBuildScore(zsetBuilder *b, slice member, uint64_t hash, bool *is_new) {
    debugAssert(b->table || b->count == 0);
    if (unlikely(!b->table)) {
        zsetTree *z = zsetTreeCreate(b->capacity);
        b->table = z->table;
        scoreTreeFree(z->scores);
        zfree(z);
    }
    zsetEntry *entry = dictFind(b->table, member, hash);
    *is_new = !entry;
    if (entry) return &entry->score;
    entry = zsetEntryCreate(member, 0);
    if (!entry) return NULL;
    if (!buildPush(b, entry, member.len)) {
        zfree(entry);
        return NULL;
    }
    dictAddNew(b->table, entry, hash);
    return &entry->score;
}

void zsetBuildPrefetch(const zsetBuilder *b, const slice *members, const uint64_t *hashes, size_t n) {
    dictLookup lookups[DICT_PREFETCH_MAX];
    if (!b->table || n < 2) return;
    for (size_t i = 0; i < n; i++)
        lookups[i] = (dictLookup){.d = b->table, .key = members[i], .hash = hashes[i], .skip_value = true};
    dictPrefetch(lookups, n);
}

/* ---- Sorting ---- */

/* An entry with its score as an integer of the same order, so that sorting reads entries only if scores are equal. */
typedef struct scoredEntry {
    uint64_t ordinal;
    zsetEntry *entry;
} scoredEntry;

static uint64_t ordinalOf(double score) {
    uint64_t u;
    score += 0.0; /* -0.0 becomes 0.0 */
    memcpy(&u, &score, sizeof(u));
    return u >> 63 ? ~u : u | UINT64_C(1) << 63;
}

static int compareEntries(const zsetEntry *a, const zsetEntry *b) {
    if (a->score != b->score) return a->score < b->score ? -1 : 1;
    return sliceCmp(zsetMemberOf(a), zsetMemberOf(b));
}

static int compareScored(const void *pa, const void *pb) {
    const scoredEntry *a = pa, *b = pb;
    if (a->ordinal != b->ordinal) return a->ordinal < b->ordinal ? -1 : 1;
    return sliceCmp(zsetMemberOf(a->entry), zsetMemberOf(b->entry));
}

/* Returns whether all neighbours are in this order (-1: ascending, 1: descending). */
static bool isOrdered(const zsetBuilder *b, int order) {
    for (size_t i = 1; i < b->count; i++) {
        if (i + PREFETCH_AHEAD < b->count) prefetchRead(b->entries[i + PREFETCH_AHEAD]);
        if (compareEntries(b->entries[i - 1], b->entries[i]) * order <= 0) return false;
    }
    return true;
}

static void reverseEntries(zsetBuilder *b) {
    for (size_t i = 0, k = b->count - 1; i < k; i++, k--) {
        void *entry = b->entries[i];
        b->entries[i] = b->entries[k];
        b->entries[k] = entry;
    }
}

enum { DIGITS = 8, DIGIT_VALUES = 256, RADIX_MIN = 512 };

static unsigned digitOf(uint64_t ordinal, int digit) { return (unsigned)(ordinal >> 8 * digit) & (DIGIT_VALUES - 1); }

/* Sorts by ordinal, in passes of eight bits from the lowest; a digit that is the same in all ordinals costs nothing,
 * and integers have several of these. Returns which of the two arrays has the result. */
static scoredEntry *radixSort(scoredEntry *row, scoredEntry *spare, size_t n) {
    size_t counts[DIGITS][DIGIT_VALUES] = {{0}};
    for (size_t i = 0; i < n; i++)
        for (int digit = 0; digit < DIGITS; digit++) counts[digit][digitOf(row[i].ordinal, digit)]++;
    for (int digit = 0; digit < DIGITS; digit++) {
        size_t *start = counts[digit], sum = 0;
        if (start[digitOf(row[0].ordinal, digit)] == n) continue;
        for (int value = 0; value < DIGIT_VALUES; value++) {
            size_t count = start[value];
            start[value] = sum;
            sum += count;
        }
        for (size_t i = 0; i < n; i++) spare[start[digitOf(row[i].ordinal, digit)]++] = row[i];
        scoredEntry *sorted = spare;
        spare = row;
        row = sorted;
    }
    return row;
}

/* Sorts entries of equal scores by member. */
static void sortEqual(scoredEntry *row, size_t n) {
    for (size_t i = 0, end; i < n; i = end) {
        for (end = i + 1; end < n && row[end].ordinal == row[i].ordinal;) end++;
        if (end - i > 1) qsort(row + i, end - i, sizeof(*row), compareScored);
    }
}

static void sortEntries(zsetBuilder *b) {
    size_t n = b->count;
    bool radix = n >= RADIX_MIN;
    scoredEntry *row = zmalloc((radix ? 2 : 1) * n * sizeof(*row)), *sorted = row;
    for (size_t i = 0; i < n; i++) {
        if (i + PREFETCH_AHEAD < n) prefetchRead(b->entries[i + PREFETCH_AHEAD]);
        zsetEntry *entry = b->entries[i];
        row[i] = (scoredEntry){ordinalOf(entry->score), entry};
    }
    if (radix) {
        sorted = radixSort(row, row + n, n);
        sortEqual(sorted, n);
    } else {
        qsort(row, n, sizeof(*row), compareScored);
    }
    for (size_t i = 0; i < n; i++) b->entries[i] = sorted[i].entry;
    zfree(row);
}

void zsetBuildSort(zsetBuilder *b) {
    if (b->count < 2 || isOrdered(b, -1)) return;
    if (isOrdered(b, 1)) reverseEntries(b);
    else sortEntries(b);
}

/* ---- Ends ---- */

void zsetBuildDrop(zsetBuilder *b) {
    if (b->table) {
        dictRelease(b->table);
    } else {
        for (size_t i = 0; i < b->count; i++) zfree(b->entries[i]);
    }
    zfree(b->entries);
    *b = (zsetBuilder){.entries = NULL};
}

/* Returns NULL if it does not fit. */
static uint8_t *buildListpack(const zsetBuilder *b) {
    uint8_t *lp = listpackCreate(0);
    for (size_t i = 0; i < b->count; i++) {
        const zsetEntry *entry = b->entries[i];
        if (zsetListpackAppend(&lp, zsetMemberOf(entry), entry->score)) continue;
        listpackFree(lp);
        return NULL;
    }
    return lp;
}

static void fillTable(dict *table, zsetBuilder *b) {
    dictLookup lookups[TABLE_BATCH];
    for (size_t i = 0; i < b->count; i += TABLE_BATCH) {
        size_t n = b->count - i < TABLE_BATCH ? b->count - i : TABLE_BATCH;
        for (size_t k = 0; k < n; k++) {
            if (i + k + PREFETCH_AHEAD < b->count) prefetchRead(b->entries[i + k + PREFETCH_AHEAD]);
            slice member = zsetMemberOf(b->entries[i + k]);
            lookups[k] = (dictLookup){.d = table, .key = member, .hash = zsetHash(member), .skip_value = true};
        }
        dictPrefetch(lookups, n);
        for (size_t k = 0; k < n; k++) dictAddNew(table, b->entries[i + k], lookups[k].hash);
    }
}

static zsetTree *buildTree(zsetBuilder *b) {
    zsetTree *z = zsetTreeCreate(b->table ? 0 : b->count);
    if (b->table) {
        dictRelease(z->table);
        z->table = b->table;
    } else {
        fillTable(z->table, b);
    }
    for (size_t i = 0; i < b->count; i++) {
        if (i + PREFETCH_AHEAD < b->count) prefetchRead(b->entries[i + PREFETCH_AHEAD]);
        serverAssert(scoreTreeAppend(z->scores, b->entries[i]));
    }
    return z;
}

void *zsetBuildStructure(zsetBuilder *b, int *encoding) {
    serverAssert(b->count > 0);
    zsetBuildSort(b);
    uint8_t *lp = zsetFitsListpack(b->count, b->longest) ? buildListpack(b) : NULL;
    if (lp) {
        zsetBuildDrop(b);
        *encoding = OBJ_ENC_LISTPACK;
        return lp;
    }
    zsetTree *z = buildTree(b);
    zfree(b->entries);
    *b = (zsetBuilder){.entries = NULL};
    *encoding = OBJ_ENC_SKIPLIST;
    return z;
}

robj *zsetBuildObject(zsetBuilder *b, slice key) {
    int encoding;
    void *structure = zsetBuildStructure(b, &encoding);
    return objectCreateTake(key, OBJ_ZSET, encoding, structure);
}
