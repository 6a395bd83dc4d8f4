/* t_set_algebra.c -- intersections, unions and differences of sets: SINTER, SUNION, SDIFF and related commands.
 *
 * Members of one set are looked up in the others, in batches: a batch is hashed once, and dictPrefetch() looks all of
 * it up in each table in turn, so that no second lookup is needed.
 *
 *   SINTER    the smallest set, without members that are absent from any other
 *   SUNION    each set, without members of those before it; for many sets a result is built
 *   SDIFF     the first set, without members of any other; or, if that is more work, a result is built of the first set
 *             and the members of the others are removed from it
 *
 * Not here    commands of one set (t_set.c).
 * Threads     main.
 * Invariants  1. Sources are only read. A destination may be one of them: it is replaced when the result is done.
 *             2. A stored result has the encoding that Valkey gives it, which depends on how it was built.
 * Cost        one lookup for each member and set; with two tables of a million members, two cache lines each.
 * Tests       tests/type/set.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "commands.h"
#include "hash.h"
#include "dict.h"
#include "object_settings.h"
#include "typed_key.h"
#include "value_set.h"
#include "zmalloc.h"

#include <limits.h>
#include <stdlib.h>

#define SETS_INLINE 16
#define UNION_BY_LOOKUP_MAX 4 /* sets; for more, each member is looked up once, in a result that is built */

/* ---- The sets ---- */

/* The sets that exist, in the order of the arguments. */
typedef struct inputSets {
    const robj **sets; /* owns unless it is few */
    uint32_t count;
    bool missing;       /* one of the keys is absent */
    bool first_missing; /* the first key is absent */
    const robj *few[SETS_INLINE];
} inputSets;

static void inputsFree(inputSets *in) {
    if (in->sets != in->few) zfree(in->sets);
}

/* Returns false after an error reply. */
static bool inputsRead(client *c, uint32_t first, uint32_t count, inputSets *in) {
    in->sets = count > SETS_INLINE ? zmalloc(count * sizeof(*in->sets)) : in->few;
    in->count = 0;
    in->missing = in->first_missing = false;
    for (uint32_t i = 0, ready = 0; i < count; i++) {
        robj *o;
        if (i == ready) ready += keysPrefetch(c, first + i, 1, count - i);
        if (!typedKeyRead(c, clientKeyAt(c, first + i), OBJ_SET, &o)) {
            inputsFree(in);
            return false;
        }
        if (o) in->sets[in->count++] = o;
        else in->missing = true;
        if (!o && i == 0) in->first_missing = true;
    }
    return true;
}

static int bySize(const void *a, const void *b) {
    size_t left = setSize(*(const robj *const *)a), right = setSize(*(const robj *const *)b);
    return (left > right) - (left < right);
}

/* Moves the smallest set to the front (of equal ones the first) and sorts the others by size. */
static void sortInputs(inputSets *in) {
    uint32_t smallest = 0;
    for (uint32_t i = 1; i < in->count; i++)
        if (setSize(in->sets[i]) < setSize(in->sets[smallest])) smallest = i;
    const robj *o = in->sets[smallest];
    memmove(in->sets + 1, in->sets, smallest * sizeof(*in->sets));
    in->sets[0] = o;
    qsort(in->sets + 1, in->count - 1, sizeof(*in->sets), bySize);
}

#define MEMORY_SAMPLES 5

/* Reserves memory for a result of at most all members of the first `count` sets. Returns false after an error reply. */
static bool reserveResult(client *c, const inputSets *in, uint32_t count) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += objectMemUsage(in->sets[i], MEMORY_SAMPLES);
    return commandMemoryReserve(c, bytes);
}

/* ---- Batches ---- */

#define BATCH DICT_PREFETCH_MAX

typedef struct memberBatch {
    size_t count;
    uint64_t valid_bits; /* the bits of hash[] that are valid, see dictIterMany(); 0 if none is */
    bool integers;       /* all members are integers, in num[], ascending: they come from an intset */
    bool printed;        /* text[] is valid */
    slice text[BATCH];
    int64_t num[BATCH];
    uint64_t hash[BATCH];
    dictLookup lookups[BATCH];
    char digits[BATCH][LONG_STR_SIZE]; /* the texts of integers */
} memberBatch;

#define WHOLE_HASH UINT64_MAX

/* Reads the next members, at most `most`. All entries of a table are collected before the first of them is read,
 * because the iterator prefetches them. */
static bool batchFillUpTo(memberBatch *b, setIterator *it, size_t most) {
    const void *entries[BATCH];
    setMember m;
    b->count = 0;
    b->valid_bits = 0;
    b->integers = it->set->encoding == OBJ_ENC_INTSET;
    b->printed = !b->integers;
    if (b->integers) {
        for (; b->count < most && setIterNext(it, &m); b->count++) b->num[b->count] = m.num;
        return b->count > 0;
    }
    if (setIsTable(it->set)) {
        b->count = dictIterMany(&it->table, most, entries, b->hash, &b->valid_bits);
        for (size_t i = 0; i < b->count; i++) b->text[i] = setEntryText(entries[i]);
        return b->count > 0;
    }
    while (b->count < most && setIterNext(it, &m)) {
        b->text[b->count] = setMemberText(&m, b->digits[b->count]);
        b->count++;
    }
    return b->count > 0;
}

static bool batchFill(memberBatch *b, setIterator *it) { return batchFillUpTo(b, it, BATCH); }

/* Makes text[] valid for integers. Not needed while they are compared with integers only. */
static void batchPrint(memberBatch *b) {
    if (b->printed) return;
    for (size_t i = 0; i < b->count; i++) b->text[i] = sliceOf(b->digits[i], ll2string(b->digits[i], b->num[i]));
    b->printed = true;
}

/* Makes these bits of the hashes valid. Bits that the table stores need not be computed. */
static void batchHash(memberBatch *b, uint64_t bits) {
    if (b->valid_bits && (bits & ~b->valid_bits) == 0) return;
    for (size_t i = 0; i < b->count; i++) b->hash[i] = hashBytes(b->text[i].ptr, b->text[i].len);
    b->valid_bits = WHOLE_HASH;
}

/* Returns the whole hash of one member; the result may have become a table in the middle of a batch. */
static uint64_t memberHash(const memberBatch *b, size_t i) {
    return b->valid_bits == WHOLE_HASH ? b->hash[i] : hashBytes(b->text[i].ptr, b->text[i].len);
}

/* Looks up all members in a table; the results are in lookups[i].entry. */
static void batchFind(memberBatch *b, const dict *d) {
    batchHash(b, dictHashMask(d));
    for (size_t i = 0; i < b->count; i++)
        b->lookups[i] = (dictLookup){.d = d, .key = b->text[i], .hash = b->hash[i], .skip_value = true};
    dictPrefetch(b->lookups, b->count);
}

/* If the batch and the set have at least this many members, it is less work to hash the members of both than to compare
 * each pair. */
#define JOIN_BATCH_MIN 16
#define JOIN_SET_MIN 16

/* Sets has[i] to whether member i is in `o`: puts the batch into a hash table of twice its size, and looks up all
 * members of `o` there. */
static void batchHashJoin(memberBatch *b, const robj *o, bool has[BATCH]) {
    uint8_t table[2 * BATCH] = {0}; /* index of a member plus one; 0: a free slot */
    char digits[LONG_STR_SIZE];
    setIterator it;
    setMember m;
    static_assert(BATCH < UINT8_MAX && (BATCH & (BATCH - 1)) == 0, "a byte numbers members, a mask wraps around");

    batchHash(b, WHOLE_HASH);
    for (size_t i = 0; i < b->count; i++) {
        size_t at = b->hash[i] % sizeof(table);
        while (table[at]) at = (at + 1) % sizeof(table);
        table[at] = (uint8_t)(i + 1);
    }
    memset(has, 0, b->count * sizeof(*has));
    setIterBegin(&it, o);
    while (setIterNext(&it, &m)) {
        slice text = setMemberText(&m, digits);
        uint64_t hash = hashBytes(text.ptr, text.len);
        for (size_t at = hash % sizeof(table); table[at]; at = (at + 1) % sizeof(table)) {
            size_t i = table[at] - 1u;
            if (b->hash[i] == hash && sliceEq(b->text[i], text)) has[i] = true;
        }
    }
    setIterEnd(&it);
}

/* Sets has[i] to whether member i is in `o`. */
static void batchLookUp(memberBatch *b, const robj *o, bool has[BATCH]) {
    if (b->integers && o->encoding == OBJ_ENC_INTSET) {
        setHasIntegers(o, b->num, b->count, has);
        return;
    }
    batchPrint(b);
    if (setIsTable(o)) {
        batchFind(b, setTable(o));
        for (size_t i = 0; i < b->count; i++) has[i] = b->lookups[i].entry != NULL;
    } else if (o->encoding == OBJ_ENC_LISTPACK && b->count >= JOIN_BATCH_MIN && setSize(o) >= JOIN_SET_MIN) {
        batchHashJoin(b, o, has);
    } else {
        for (size_t i = 0; i < b->count; i++) has[i] = setHas(o, b->text[i], 0);
    }
}

/* Keeps the members that are in `o`, or those that are not. */
static void batchFilter(memberBatch *b, const robj *o, bool present) {
    bool has[BATCH];
    size_t kept = 0;
    batchLookUp(b, o, has);
    for (size_t i = 0; i < b->count; i++) {
        if (has[i] != present) continue;
        if (b->integers) b->num[kept] = b->num[i];
        if (b->printed) b->text[kept] = b->text[i];
        b->hash[kept++] = b->hash[i];
    }
    b->count = kept;
}

static void batchReply(client *c, const memberBatch *b) {
    for (size_t i = 0; i < b->count; i++) {
        if (b->printed) addReplyBulk(c, b->text[i]);
        else addReplyBulkLongLong(c, b->num[i]);
    }
}

/* Adds the batch to the result, in which no member is yet if `all_new`. Members of a batch are distinct, so adding one
 * does not make another one present. */
static void batchAdd(memberBatch *b, robj *result, bool all_new) {
    bool find = setIsTable(result) && !all_new;
    batchPrint(b);
    if (find) batchFind(b, setTable(result));
    if (setIsTable(result)) batchHash(b, WHOLE_HASH);
    for (size_t i = 0; i < b->count; i++) {
        bool table = setIsTable(result);
        uint64_t hash = table ? memberHash(b, i) : 0;
        if (!table || (!find && !all_new)) setAdd(result, b->text[i], hash);
        else if (all_new || !b->lookups[i].entry) setAddNew(result, b->text[i], hash);
    }
}

static void batchRemove(memberBatch *b, robj *result) {
    bool table = setIsTable(result);
    batchPrint(b);
    if (table) batchFind(b, setTable(result));
    if (table) batchHash(b, WHOLE_HASH);
    for (size_t i = 0; i < b->count; i++)
        if (!table || b->lookups[i].entry) setRemove(result, b->text[i], table ? b->hash[i] : 0);
}

/* ---- Results ---- */

/* Creates an empty result to which all members of `o` will be added: a table with capacity for them if they cannot be
 * compact. */
static robj *createResult(slice key, const robj *o) {
    size_t size = setSize(o);
    robj *result = setCreateCompact(key, OBJ_ENC_INTSET);
    bool compact = size <= (unsigned long long)object_settings.set_max_intset_entries ||
                   size <= (unsigned long long)object_settings.set_max_listpack_entries;
    if (!compact) setExpect(result, size);
    return result;
}

static void addAll(memberBatch *b, robj *result, const robj *o, bool all_new) {
    setIterator it;
    setIterBegin(&it, o);
    while (batchFill(b, &it)) batchAdd(b, result, all_new);
    setIterEnd(&it);
}

static void removeAll(memberBatch *b, robj *result, const robj *o) {
    setIterator it;
    setIterBegin(&it, o);
    while (setSize(result) && batchFill(b, &it)) batchRemove(b, result);
    setIterEnd(&it);
}

static void replyAll(client *c, memberBatch *b, const robj *o) {
    setIterator it;
    setIterBegin(&it, o);
    addReplySetLen(c, (long long)setSize(o));
    while (!replyIsDropped(c) && batchFill(b, &it)) batchReply(c, b);
    setIterEnd(&it);
}

/* Stores a result at the key and replies with its size; deletes the key if the result is empty (or NULL). */
static void storeResultTake(client *c, hashedKey key, robj *result, const char *event) {
    if (result && setSize(result)) {
        long long size = (long long)setSize(result);
        setKeyTake(c->db, result, key, false);
        keyChanged(c, key, NOTIFY_SET, event, 1);
        addReplyLongLong(c, size);
        return;
    }
    if (result) objectFree(result);
    deleteAndReport(c, key);
    addReplyZero(c);
}

/* ---- Intersection, union, difference ---- */

/* Reads the next members of the first set, at most `most`, and keeps those that all other sets have or, if `present` is
 * false, those that no other set has. Returns false at the end. */
static bool nextSelected(memberBatch *b, const inputSets *in, setIterator *it, size_t most, bool present) {
    if (!batchFillUpTo(b, it, most)) return false;
    for (uint32_t i = 1; i < in->count && b->count; i++)
        if (in->sets[i] != in->sets[0]) batchFilter(b, in->sets[i], present);
    return true;
}

/* Replies with those members. */
static void replySelected(client *c, memberBatch *b, const inputSets *in, bool present) {
    long long found = 0;
    setIterator it;
    void *deferred = addReplyDeferredLen(c);
    setIterBegin(&it, in->sets[0]);
    while (!replyIsDropped(c) && nextSelected(b, in, &it, BATCH, present)) {
        batchReply(c, b);
        found += (long long)b->count;
    }
    setIterEnd(&it);
    setDeferredSetLen(c, deferred, found);
}

/* Returns a new set of those members, with the given encoding as long as they fit it. */
static robj *selectedResult(memberBatch *b, slice key, const inputSets *in, bool present, int encoding) {
    robj *result = setCreateCompact(key, encoding);
    setIterator it;
    setIterBegin(&it, in->sets[0]);
    while (nextSelected(b, in, &it, BATCH, present)) batchAdd(b, result, true);
    setIterEnd(&it);
    return result;
}

static robj *interResult(memberBatch *b, slice key, const inputSets *in) {
    bool from_intset = in->sets[0]->encoding == OBJ_ENC_INTSET;
    robj *result = selectedResult(b, key, in, true, from_intset ? OBJ_ENC_INTSET : OBJ_ENC_LISTPACK);
    if (!from_intset) setSettle(result);
    return result;
}

static robj *unionResult(memberBatch *b, slice key, const inputSets *in) {
    const robj *largest = in->sets[0];
    for (uint32_t i = 1; i < in->count; i++)
        if (setSize(in->sets[i]) > setSize(largest)) largest = in->sets[i];
    robj *result = createResult(key, largest);
    for (uint32_t i = 0; i < in->count; i++) addAll(b, result, in->sets[i], i == 0);
    return result;
}

static void unionByLookup(client *c, memberBatch *b, const inputSets *in) {
    long long found = 0;
    void *deferred = addReplyDeferredLen(c);
    for (uint32_t i = 0; i < in->count && !replyIsDropped(c); i++) {
        setIterator it;
        setIterBegin(&it, in->sets[i]);
        while (!replyIsDropped(c) && batchFill(b, &it)) {
            for (uint32_t before = 0; before < i && b->count; before++) batchFilter(b, in->sets[before], false);
            batchReply(c, b);
            found += (long long)b->count;
        }
        setIterEnd(&it);
    }
    setDeferredSetLen(c, deferred, found);
}

/* Returns whether looking up the members of the first set in the others is less work than building a result. Half of
 * the lookups are assumed to be saved, because a member is found in an earlier set. */
static bool diffByLookup(const inputSets *in) {
    size_t lookups = setSize(in->sets[0]) * in->count / 2, moves = 0;
    for (uint32_t i = 0; i < in->count; i++) moves += setSize(in->sets[i]);
    return lookups <= moves;
}

static robj *diffResult(memberBatch *b, slice key, const inputSets *in) {
    if (diffByLookup(in)) return selectedResult(b, key, in, false, OBJ_ENC_INTSET);
    robj *result = createResult(key, in->sets[0]);
    addAll(b, result, in->sets[0], true);
    for (uint32_t i = 1; i < in->count && setSize(result); i++) removeAll(b, result, in->sets[i]);
    return result;
}

/* Returns true if the difference is empty and that can be seen without looking at members. */
static bool diffIsEmpty(const inputSets *in) {
    if (in->first_missing || in->count == 0) return true;
    for (uint32_t i = 1; i < in->count; i++)
        if (in->sets[i] == in->sets[0]) return true;
    return false;
}

/* ---- The commands ---- */

typedef enum { OP_INTER, OP_UNION, OP_DIFF } setOperation;

static robj *resultOf(memberBatch *b, setOperation op, slice key, const inputSets *in) {
    if (op == OP_INTER) return interResult(b, key, in);
    return op == OP_UNION ? unionResult(b, key, in) : diffResult(b, key, in);
}

/* Replies with the result if that is no more work than building it. Returns false if it is to be built first. */
static bool replyByLookup(client *c, memberBatch *b, setOperation op, const inputSets *in) {
    if (op == OP_UNION && in->count > UNION_BY_LOOKUP_MAX) return false;
    if (op == OP_DIFF && !diffByLookup(in)) return false;
    if (op == OP_UNION) unionByLookup(c, b, in);
    else replySelected(c, b, in, op == OP_INTER);
    return true;
}

/* Runs a command whose sets are the keys from argument `first` on. `event` is that of a command that stores the result
 * at its first key; else NULL. */
static void algebraGeneric(client *c, setOperation op, uint32_t first, const char *event) {
    inputSets in;
    memberBatch b;
    if (!inputsRead(c, first, c->argc - first, &in)) return;
    bool empty = op == OP_INTER ? in.missing : op == OP_UNION ? in.count == 0 : diffIsEmpty(&in);
    if (op == OP_INTER && !empty) sortInputs(&in);
    if (empty && event) {
        storeResultTake(c, clientKeyAt(c, 1), NULL, event);
    } else if (empty) {
        addReplySetLen(c, 0);
    } else if ((event || !replyByLookup(c, &b, op, &in)) && reserveResult(c, &in, op == OP_UNION ? in.count : 1)) {
        robj *result = resultOf(&b, op, event ? c->argv[1] : sliceOf(NULL, 0), &in);
        if (event) {
            storeResultTake(c, clientKeyAt(c, 1), result, event);
        } else {
            replyAll(c, &b, result);
            lazyfreeObject(result);
        }
    }
    inputsFree(&in);
}

/* SINTER key [key ...] */
void sinterCommand(client *c) { algebraGeneric(c, OP_INTER, 1, NULL); }

/* SINTERSTORE destination key [key ...] */
void sinterstoreCommand(client *c) { algebraGeneric(c, OP_INTER, 2, "sinterstore"); }
void sunionCommand(client *c) { algebraGeneric(c, OP_UNION, 1, NULL); }
void sunionstoreCommand(client *c) { algebraGeneric(c, OP_UNION, 2, "sunionstore"); }
void sdiffCommand(client *c) { algebraGeneric(c, OP_DIFF, 1, NULL); }
void sdiffstoreCommand(client *c) { algebraGeneric(c, OP_DIFF, 2, "sdiffstore"); }

/* Parses LIMIT of SINTERCARD, from argument `at` on. Returns false after an error reply. */
static bool parseLimit(client *c, uint32_t at, long long *limit) {
    *limit = 0;
    for (; at < c->argc; at += 2) {
        if (!sliceIs(c->argv[at], "limit") || at + 1 == c->argc) return addReplySyntaxError(c);
        if (!getPositiveLongFromArg(c, at + 1, limit, "LIMIT can't be negative")) return false;
    }
    return true;
}

/* SINTERCARD numkeys key [key ...] [LIMIT limit] */
void sintercardCommand(client *c) {
    inputSets in;
    memberBatch b;
    long long numkeys, limit, found = 0;
    if (!getRangeLongFromArg(c, 1, 1, LONG_MAX, &numkeys, "numkeys should be greater than 0")) return;
    if (numkeys > c->argc - 2) {
        addReplyError(c, "Number of keys can't be greater than number of args");
        return;
    }
    if (!parseLimit(c, 2 + (uint32_t)numkeys, &limit)) return;
    if (!inputsRead(c, 2, (uint32_t)numkeys, &in)) return;
    if (!in.missing) {
        setIterator it;
        sortInputs(&in);
        setIterBegin(&it, in.sets[0]);
        /* A small limit may be reached with few members, so batches begin small and grow. */
        size_t most = limit && limit < BATCH ? (size_t)limit : BATCH;
        while ((limit == 0 || found < limit) && nextSelected(&b, &in, &it, most, true)) {
            found += (long long)b.count;
            most = most < BATCH / 2 ? 2 * most : BATCH;
        }
        setIterEnd(&it);
    }
    addReplyLongLong(c, limit && found > limit ? limit : found);
    inputsFree(&in);
}
