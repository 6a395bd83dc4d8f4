/* t_zset.c -- commands on members of a sorted set: add, remove, look up, pop, draw at random, scan.
 *
 * Not here    ranges (t_zset_range.c); several sets (t_zset_algebra.c); encodings (object/value_zset.c).
 * Threads     main.
 * Invariants  1. A command that replies with an error has changed nothing.
 *             2. A command looks up its key once, and each member once.
 * Tests       tests/type/zset.tcl, tests/differential/types/zset.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "t_zset.h"

#include "command_memory.h"
#include "commands.h"
#include "dict.h"
#include "multi_pop.h"
#include "rng.h"
#include "random_reply.h"
#include "scan.h"
#include "zmalloc.h"

/* ---- ZADD, ZINCRBY ---- */

/* More scores than this are in allocated memory. */
#define SCORES_ON_STACK 32

/* Reserves memory for the members to be added, and sets *longest to the length of the longest one. Returns false after
 * an error reply. */
static bool reservePairs(client *c, const robj *o, uint32_t first_member, uint32_t pairs, size_t *longest) {
    size_t bytes = zsetAddNeeds(o, 0);
    *longest = 0;
    for (uint32_t i = 0; i < pairs; i++) {
        size_t len = c->argv[first_member + 2 * i].len;
        bytes += zsetAddNeeds(NULL, len);
        if (len > *longest) *longest = len;
    }
    return bytes < COMMAND_MEMORY_LARGE || commandMemoryReserve(c, 2 * bytes);
}

/* Parses the options of ZADD. Returns the index of the first argument that is no option. */
static uint32_t parseAddOptions(const client *c, int *flags, bool *changed) {
    uint32_t at = 2;
    for (; at < c->argc; at++) {
        slice word = c->argv[at];
        if (sliceIs(word, "nx")) *flags |= ZSET_NX;
        else if (sliceIs(word, "xx")) *flags |= ZSET_XX;
        else if (sliceIs(word, "gt")) *flags |= ZSET_GT;
        else if (sliceIs(word, "lt")) *flags |= ZSET_LT;
        else if (sliceIs(word, "incr")) *flags |= ZSET_INCR;
        else if (sliceIs(word, "ch")) *changed = true;
        else break;
    }
    return at;
}

/* Checks that the options are compatible. Returns false after an error reply. */
static bool checkAddOptions(client *c, int flags, uint32_t rest) {
    bool nx = flags & ZSET_NX, gt = flags & ZSET_GT, lt = flags & ZSET_LT;
    if (rest == 0 || rest % 2) addReplySyntaxError(c);
    else if (nx && (flags & ZSET_XX)) addReplyError(c, "XX and NX options at the same time are not compatible");
    else if ((nx && (gt || lt)) || (gt && lt))
        addReplyError(c, "GT, LT, and/or NX options at the same time are not compatible");
    else if ((flags & ZSET_INCR) && rest > 2) addReplyError(c, "INCR option supports a single increment-element pair");
    else return true;
    return false;
}

typedef struct addResult {
    long long added, updated;
    zsetAddResult last;
    double score; /* of the last pair */
} addResult;

/* Adds `pairs` pairs of score and member, the first member in argument `at`, to the set at the key. Returns false after
 * an error reply. */
static bool addPairs(client *c, hashedKey key, robj *o, uint32_t at, uint32_t pairs, const double *scores, int flags,
                     addResult *out) {
    *out = (addResult){.last = ZSET_REFUSED};
    if (!o && (flags & ZSET_XX)) return true;
    size_t longest;
    if (!reservePairs(c, o, at, pairs, &longest)) return false;
    bool is_new = !o;
    if (is_new) o = zsetCreate(key.name, pairs, longest);
    else zsetExpect(o, pairs, longest);
    for (uint32_t i = 0; i < pairs; i++, at += 2) {
        out->last = zsetAdd(o, c->argv[at], clientElementHash(c, at), scores[i], flags, &out->score);
        out->added += out->last == ZSET_ADDED;
        out->updated += out->last == ZSET_UPDATED;
    }
    if (is_new) dbAddTake(c->db, o, key);
    if (out->last == ZSET_NAN) return addReplyError(c, "resulting score is not a number (NaN)");
    if (out->added || out->updated)
        keyChanged(c, key, NOTIFY_ZSET, flags & ZSET_INCR ? "zincr" : "zadd", out->added + out->updated);
    return true;
}

static void replyAdded(client *c, int flags, bool changed, const addResult *result) {
    if (!(flags & ZSET_INCR)) addReplyLongLong(c, result->added + (changed ? result->updated : 0));
    else if (result->last == ZSET_REFUSED) addReplyNull(c);
    else addReplyDouble(c, result->score);
}

/* Adds the pairs of score and member from argument `first` on. */
static void addGeneric(client *c, uint32_t first, int flags, bool changed) {
    double on_stack[SCORES_ON_STACK], *scores = on_stack;
    uint32_t pairs = (c->argc - first) / 2;
    addResult result;
    robj *o;
    if (pairs > SCORES_ON_STACK && !(scores = ztrymalloc(pairs * sizeof(*scores)))) {
        addReplyNoMemory(c);
        return;
    }
    for (uint32_t i = 0; i < pairs; i++)
        if (!getDoubleFromArg(c, first + 2 * i, &scores[i], NULL)) goto cleanup;
    hashedKey key = clientKeyAt(c, 1);
    if (!typedKeyWrite(c, key, OBJ_ZSET, &o)) goto cleanup;
    if (addPairs(c, key, o, first + 1, pairs, scores, flags, &result)) replyAdded(c, flags, changed, &result);
cleanup:
    if (scores != on_stack) zfree(scores);
}

void zaddCommand(client *c) {
    int flags = 0;
    bool changed = false;
    uint32_t first = parseAddOptions(c, &flags, &changed);
    if (checkAddOptions(c, flags, c->argc - first)) addGeneric(c, first, flags, changed);
}

void zincrbyCommand(client *c) { addGeneric(c, 2, ZSET_INCR, false); }

/* ---- ZREM ---- */

void zremCommand(client *c) {
    hashedKey key = clientKeyAt(c, 1);
    size_t removed = 0;
    robj *o;
    if (!typedKeyWrite(c, key, OBJ_ZSET, &o)) return;
    for (uint32_t i = 2; o && i < c->argc; i++) {
        removed += zsetRemove(o, c->argv[i], clientElementHash(c, i));
        if (zsetCount(o) == 0) break;
    }
    if (removed) zsetShrunk(c, key, o, "zrem", removed);
    addReplyLongLong(c, (long long)removed);
}

/* ---- Looking up ---- */

void zcardCommand(client *c) { replyWithCount(c, OBJ_ZSET, zsetCount); }

static void replyScore(client *c, const robj *o, uint32_t index) {
    double score;
    if (o && zsetScore(o, c->argv[index], clientElementHash(c, index), &score)) addReplyDouble(c, score);
    else addReplyNull(c);
}

void zscoreCommand(client *c) {
    robj *o;
    if (typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) replyScore(c, o, 2);
}

/* Prefetches the entries of the members in argument `at` and after it. Returns the first argument that was not
 * prefetched. */
static uint32_t membersPrefetch(client *c, const robj *o, uint32_t at) {
    dictLookup lookups[DICT_PREFETCH_MAX];
    const dict *d = o ? zsetTable(o) : NULL;
    size_t n = 0;
    if (!d) return c->argc;
    for (; at < c->argc && n < array_len(lookups); at++, n++)
        lookups[n] = (dictLookup){.d = d, .key = c->argv[at], .hash = clientElementHash(c, at), .skip_value = true};
    if (n > 1) dictPrefetch(lookups, n);
    return at;
}

void zmscoreCommand(client *c) {
    robj *o;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    addReplyArrayLen(c, c->argc - 2);
    for (uint32_t i = 2, ready = 2; i < c->argc && !replyIsDropped(c); i++) {
        if (i == ready) ready = membersPrefetch(c, o, i);
        replyScore(c, o, i);
    }
}

static void rankGeneric(client *c, bool reverse) {
    bool with_score = c->argc == 4;
    double score;
    robj *o;
    if (c->argc > 4) {
        addReplyErrorArity(c);
        return;
    }
    if (with_score && !sliceIs(c->argv[3], "withscore")) {
        addReplySyntaxError(c);
        return;
    }
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    size_t rank = o ? zsetRank(o, c->argv[2], clientElementHash(c, 2), reverse, &score) : SIZE_MAX;
    if (rank == SIZE_MAX) {
        if (with_score) addReplyNullArray(c);
        else addReplyNull(c);
        return;
    }
    if (with_score) addReplyArrayLen(c, 2);
    addReplyLongLong(c, (long long)rank);
    if (with_score) addReplyDouble(c, score);
}

void zrankCommand(client *c) { rankGeneric(c, false); }
void zrevrankCommand(client *c) { rankGeneric(c, true); }

/* ---- Popping ---- */

/* Replies with `count` members from the lowest or highest score on, and removes them. With `nested` each member is an
 * array with its score. */
static void popFrom(client *c, hashedKey key, robj *o, bool highest, size_t count, bool nested) {
    size_t size = zsetCount(o);
    zsetIter it = zsetIterAt(o, highest ? size - 1 : 0, highest);
    zsetElement e;
    for (size_t i = 0; i < count && zsetIterNext(&it, &e); i++) {
        if (nested) addReplyArrayLen(c, 2);
        addReplyBulk(c, e.member);
        addReplyDouble(c, e.score);
    }
    zsetRanks ranks = {highest ? size - count : 0, count};
    zsetDeleteRanks(c, key, o, ranks, highest ? "zpopmax" : "zpopmin");
}

static void popGeneric(client *c, bool highest) {
    long long max = 1;
    bool nested = c->argc == 3 && c->resp >= 3;
    robj *o;
    if (c->argc > 3) {
        addReplySyntaxError(c);
        return;
    }
    if (c->argc == 3 && !getPositiveLongFromArg(c, 2, &max, NULL)) return;
    hashedKey key = clientKeyAt(c, 1);
    if (!typedKeyWrite(c, key, OBJ_ZSET, &o)) return;
    if (!o || max == 0) {
        addReplyEmptyArray(c);
        return;
    }
    size_t count = zsetCount(o);
    if ((unsigned long long)max < count) count = (size_t)max;
    addReplyArrayLen(c, (long long)count * (nested ? 1 : 2));
    popFrom(c, key, o, highest, count, nested);
}

void zpopminCommand(client *c) { popGeneric(c, false); }
void zpopmaxCommand(client *c) { popGeneric(c, true); }

static const popKind of_zset = {OBJ_ZSET, {"min", "max"}, {"ZPOPMIN", "ZPOPMAX"}, 3, zsetCount, popFrom};

void zmpopCommand(client *c) { multiPop(c, &of_zset); }

void bzmpopCommand(client *c) { multiPopBlocking(c, &of_zset); }

void bzpopminCommand(client *c) { firstPopBlocking(c, &of_zset, false); }
void bzpopmaxCommand(client *c) { firstPopBlocking(c, &of_zset, true); }

/* ---- ZRANDMEMBER ---- */

static void replyRank(client *c, const robj *o, size_t rank, bool with_scores) {
    zsetIter it = zsetIterAt(o, rank, false);
    zsetElement e;
    if (zsetIterNext(&it, &e)) addReplyMember(c, e.member, e.score, with_scores);
}

/* Finding a rank in a listpack takes a walk from one end. If many ranks are needed, all members are listed in an array
 * first. */
typedef struct memberRow {
    zsetElement *elements; /* owns; members are borrowed from the set or from digits */
    char (*digits)[LONG_STR_SIZE];
} memberRow;
#define ROW_RANKS_MIN 4

static bool rowOfListpack(const robj *o, memberRow *row) {
    size_t size = zsetCount(o);
    zsetIter it = zsetIterAt(o, 0, false);
    row->elements = ztrymalloc(size * sizeof(*row->elements));
    row->digits = ztrymalloc(size * sizeof(*row->digits));
    if (!row->elements || !row->digits) {
        zfree(row->elements);
        zfree(row->digits);
        return false;
    }
    for (size_t i = 0; i < size && zsetIterNext(&it, &row->elements[i]); i++) {
        slice *member = &row->elements[i].member;
        if (member->ptr < it.digits || member->ptr >= it.digits + sizeof(it.digits)) continue;
        memcpy(row->digits[i], member->ptr, member->len);
        member->ptr = row->digits[i];
    }
    return true;
}

/* Replies with the members of `n` ranks: those in `ranks`, or random ones if that is NULL. */
static void replyRanks(client *c, const robj *o, const size_t *ranks, size_t n, bool with_scores) {
    size_t size = zsetCount(o);
    memberRow row = {NULL, NULL};
    if (!zsetTable(o) && n >= ROW_RANKS_MIN && !rowOfListpack(o, &row)) {
        addReplyNoMemory(c);
        return;
    }
    addReplyMembersLen(c, n, with_scores);
    for (size_t i = 0; i < n && !randomReplyDropped(c); i++) {
        size_t rank = ranks ? ranks[i] : rngBelow(rngThread(), size);
        if (row.elements) addReplyMember(c, row.elements[rank].member, row.elements[rank].score, with_scores);
        else replyRank(c, o, rank, with_scores);
    }
    zfree(row.elements);
    zfree(row.digits);
}

/* Draws `n` distinct ranks below `size`, in random order. If `size` is less than about three times `n`, it shuffles all
 * ranks; else it draws and keeps drawn ranks in a hash table. Returns false if there is no memory. */
static bool drawRanks(size_t *out, size_t n, size_t size) {
    bool shuffle = size / 3 < n;
    size_t slots = shuffle ? size : 1;
    while (!shuffle && slots < 2 * n) slots *= 2;
    size_t *table = ztrycalloc(slots, sizeof(*table));
    if (!table) return false;
    for (size_t i = 0; shuffle && i < size; i++) table[i] = i;
    for (size_t i = 0; i < n;) {
        if (shuffle) {
            size_t k = i + rngBelow(rngThread(), size - i);
            out[i++] = table[k];
            table[k] = table[i - 1];
            continue;
        }
        size_t rank = rngBelow(rngThread(), size), slot = rank & (slots - 1);
        while (table[slot] && table[slot] != rank + 1) slot = (slot + 1) & (slots - 1);
        if (table[slot]) continue;
        table[slot] = rank + 1;
        out[i++] = rank;
    }
    zfree(table);
    return true;
}

static void replyDifferent(client *c, const robj *o, size_t n, bool with_scores) {
    size_t *ranks = ztrymalloc(n * sizeof(*ranks));
    if (ranks && drawRanks(ranks, n, zsetCount(o))) replyRanks(c, o, ranks, n, with_scores);
    else addReplyNoMemory(c);
    zfree(ranks);
}

void zrandmemberCommand(client *c) {
    long long count = 0;
    bool with_scores, has_count = c->argc > 2;
    robj *o;
    if (!randomArgsParse(c, "withscores", &count, &with_scores)) return;
    if (!typedKeyRead(c, clientKeyAt(c, 1), OBJ_ZSET, &o)) return;
    if (!o) {
        if (has_count) addReplyEmptyArray(c);
        else addReplyNull(c);
    } else if (!has_count) {
        replyRank(c, o, rngBelow(rngThread(), zsetCount(o)), false);
    } else if (count == 0) {
        addReplyEmptyArray(c);
    } else if (count < 0) {
        size_t n = (size_t)-count;
        if (randomReplyReserve(c, with_scores ? 2 * n : n)) replyRanks(c, o, NULL, n, with_scores);
    } else {
        size_t size = zsetCount(o);
        replyDifferent(c, o, (unsigned long long)count < size ? (size_t)count : size, with_scores);
    }
}

/* ---- ZSCAN ---- */

/* In both protocols the score of a table's entry is a bulk string, with as many digits as a double may need. */
static void zsetAddEntry(client *c, const void *entry, bool members_only) {
    char digits[DOUBLE_STR_SIZE];
    addReplyBulk(c, zsetEntryMember(entry));
    if (!members_only)
        addReplyBulk(c, sliceOf(digits, ld2string(digits, sizeof(digits), zsetEntryScore(entry), false)));
}

static long long addMatching(client *c, const robj *o, const scanOptions *options) {
    char digits[DOUBLE_STR_SIZE];
    zsetIter it = zsetIterAt(o, 0, false);
    zsetElement e;
    long long found = 0;
    while (zsetIterNext(&it, &e)) {
        if (!scanMatches(options, e.member)) continue;
        addReplyBulk(c, e.member);
        if (!options->keys_only) addReplyBulk(c, sliceOf(digits, d2string(digits, sizeof(digits), e.score)));
        found++;
    }
    return found;
}

/* ZSCAN key cursor [MATCH pattern] [COUNT count] [NOSCORES] */
void zscanCommand(client *c) {
    static const scanElements elements = {SCAN_ZSET, OBJ_ZSET, 2, NULL, zsetAddEntry, addMatching};
    scanValue(c, &elements);
}
