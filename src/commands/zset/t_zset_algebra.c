/* t_zset_algebra.c -- unions, intersections and differences of sorted sets.
 *
 * A source is read in batches, so that the cache misses of looking up its members in the other sources, or in the
 * present result, overlap. The result is collected first and sorted once; then it becomes the reply or the destination.
 *
 * Not here    making a set of the result (object/value_zset_build.c).
 * Threads     main.
 * Invariants  1. Sources are processed from the smallest to the largest. Scores are added in this order, as in Valkey,
 *                because the order can change the last digit of a sum.
 *             2. A sum that is NaN (inf - inf, 0 * inf) is 0.
 * Tests       tests/type/zset.tcl, tests/differential/types/zset.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "t_zset.h"

#include "command_memory.h"
#include "commands.h"
#include "dict.h"
#include "typed_key.h"
#include "value_set.h"
#include "zmalloc.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>

/* ---- Sources ---- */

/* A sorted set, or a set, whose members count as having the score 1. */
typedef struct source {
    const robj *o; /* borrowed; NULL if the key is absent */
    size_t count;
    double weight;
    uint32_t nth; /* position among the arguments */
} source;

typedef struct sourceIter {
    bool is_set;
    zsetIter sorted;
    setIterator set;
} sourceIter;

static bool isSet(const robj *o) { return o->type == OBJ_SET; }

/* Returns the table of the members; NULL if the value has none. */
static const dict *sourceTable(const robj *o) { return isSet(o) ? setTable(o) : zsetTable(o); }

static bool sourceScore(const robj *o, slice member, uint64_t hash, double *score) {
    if (!isSet(o)) return zsetScore(o, member, hash, score);
    *score = 1;
    return setHas(o, member, hash);
}

#define BATCH 32
static_assert(BATCH <= DICT_PREFETCH_MAX, "a batch is looked up at once");

/* Members that are processed together. Members that are filtered out are overwritten by those after them. */
typedef struct batch {
    size_t n;
    slice members[BATCH];
    double scores[BATCH];
    uint64_t hashes[BATCH];
    char digits[BATCH][LONG_STR_SIZE];
} batch;

static void sourceBegin(sourceIter *it, const source *s) {
    *it = (sourceIter){.is_set = s->o && isSet(s->o)};
    if (it->is_set) setIterBegin(&it->set, s->o);
    else if (s->o) it->sorted = zsetIterAt(s->o, 0, false);
}

static void sourceEnd(sourceIter *it) {
    if (it->is_set) setIterEnd(&it->set);
}

/* Reads one member. A text in the iterator is copied to `digits`; an integer is printed there. */
static bool sourceStep(sourceIter *it, zsetElement *e, char digits[LONG_STR_SIZE]) {
    if (it->is_set) {
        setMember m;
        if (!setIterNext(&it->set, &m)) return false;
        *e = (zsetElement){setMemberText(&m, digits), 1};
        return true;
    }
    const char *printed = it->sorted.digits;
    if (!zsetIterNext(&it->sorted, e)) return false;
    if (e->member.ptr >= printed && e->member.ptr < printed + LONG_STR_SIZE) {
        memcpy(digits, e->member.ptr, e->member.len);
        e->member.ptr = digits;
    }
    return true;
}

/* Reads the next members, at most `most`. Returns false at the end. */
static bool sourceNextUpTo(const source *s, sourceIter *it, batch *b, size_t most) {
    zsetElement e;
    if (!s->o) return false;
    for (b->n = 0; b->n < most && sourceStep(it, &e, b->digits[b->n]); b->n++) {
        double score = e.score * s->weight;
        b->members[b->n] = e.member;
        b->scores[b->n] = isnan(score) ? 0 : score;
        b->hashes[b->n] = zsetHash(e.member);
    }
    return b->n > 0;
}

static bool sourceNext(const source *s, sourceIter *it, batch *b) { return sourceNextUpTo(s, it, b, BATCH); }

static void tablePrefetch(const dict *table, const batch *b) {
    dictLookup lookups[BATCH];
    if (!table || b->n < 2) return;
    for (size_t i = 0; i < b->n; i++)
        lookups[i] = (dictLookup){.d = table, .key = b->members[i], .hash = b->hashes[i], .skip_value = true};
    dictPrefetch(lookups, b->n);
}

/* ---- Arguments ---- */

typedef enum { AGGREGATE_SUM, AGGREGATE_MIN, AGGREGATE_MAX } aggregation;
typedef enum { OP_UNION, OP_INTER, OP_DIFF } operation;

typedef struct request {
    operation op;
    bool store, cardinality;
    aggregation aggregate;
    bool with_scores;
    size_t limit;    /* ZINTERCARD stops counting there; 0: no limit */
    source *sources; /* owns */
    uint32_t keys;
} request;

/* Parses numkeys in argument `at`, and the keys after it. Returns false after an error reply. */
static bool parseSources(client *c, uint32_t at, request *q) {
    long long keys;
    if (!getRangeLongFromArg(c, at, LONG_MIN, LONG_MAX, &keys, NULL)) return false;
    if (keys < 1)
        return addReplyErrorFormat(c, "at least 1 input key is needed for '%s' command", clientCommandName(c->cmd));
    if (keys > (long long)(c->argc - at - 1)) return addReplySyntaxError(c);
    q->keys = (uint32_t)keys;
    q->sources = ztrymalloc(q->keys * sizeof(*q->sources));
    if (!q->sources) return addReplyNoMemory(c);
    for (uint32_t i = 0, ready = 0; i < q->keys; i++) {
        if (i == ready) ready += keysPrefetch(c, at + 1 + i, 1, q->keys - i);
        const robj *o = lookupKeyRead(c->db, clientKeyAt(c, at + 1 + i));
        if (o && !isSet(o) && checkType(c, o, OBJ_ZSET)) return false;
        size_t count = !o ? 0 : isSet(o) ? setSize(o) : zsetCount(o);
        q->sources[i] = (source){.o = o, .count = count, .weight = 1, .nth = i};
    }
    return true;
}

static bool parseWeights(client *c, uint32_t at, request *q) {
    for (uint32_t i = 0; i < q->keys; i++)
        if (!getDoubleFromArg(c, at + i, &q->sources[i].weight, "weight value is not a float")) return false;
    return true;
}

static bool parseAggregate(slice word, aggregation *out) {
    if (sliceIs(word, "sum")) *out = AGGREGATE_SUM;
    else if (sliceIs(word, "min")) *out = AGGREGATE_MIN;
    else if (sliceIs(word, "max")) *out = AGGREGATE_MAX;
    else return false;
    return true;
}

/* Parses the options from argument `at` on. Returns false after an error reply. */
static bool parseOptions(client *c, uint32_t at, request *q) {
    bool scored = q->op != OP_DIFF && !q->cardinality;
    while (at < c->argc) {
        slice word = c->argv[at];
        uint32_t left = c->argc - at - 1;
        if (scored && left >= q->keys && sliceIs(word, "weights")) {
            if (!parseWeights(c, at + 1, q)) return false;
            at += 1 + q->keys;
        } else if (scored && left >= 1 && sliceIs(word, "aggregate") &&
                   parseAggregate(c->argv[at + 1], &q->aggregate)) {
            at += 2;
        } else if (!q->store && !q->cardinality && sliceIs(word, "withscores")) {
            q->with_scores = true;
            at++;
        } else if (q->cardinality && left >= 1 && sliceIs(word, "limit")) {
            long long limit;
            if (!getRangeLongFromArg(c, at + 1, 0, LONG_MAX, &limit, "LIMIT can't be negative")) return false;
            q->limit = (size_t)limit;
            at += 2;
        } else {
            return addReplySyntaxError(c);
        }
    }
    return true;
}

static int smallerFirst(const void *a, const void *b) {
    const source *x = a, *y = b;
    if (x->count != y->count) return x->count < y->count ? -1 : 1;
    return x->nth < y->nth ? -1 : 1;
}

#define FEW_SOURCES 16 /* sorted by insertion: a call of qsort() costs more than the moves */

/* Sorts the sources from the smallest to the largest; those of equal size keep their order. A client may name hundreds
 * of thousands. */
static void sortSources(request *q) {
    if (q->keys > FEW_SOURCES) {
        qsort(q->sources, q->keys, sizeof(*q->sources), smallerFirst);
        return;
    }
    for (uint32_t i = 1; i < q->keys; i++) {
        source s = q->sources[i];
        uint32_t k = i;
        for (; k > 0 && q->sources[k - 1].count > s.count; k--) q->sources[k] = q->sources[k - 1];
        q->sources[k] = s;
    }
}

/* ---- Union ---- */

static void aggregate(double *into, double score, aggregation how) {
    if (how == AGGREGATE_SUM) {
        *into += score;
        if (isnan(*into)) *into = 0;
    } else if (how == AGGREGATE_MIN ? score < *into : score > *into) {
        *into = score;
    }
}

static bool addBatch(const request *q, zsetBuilder *out, const batch *b) {
    zsetBuildPrefetch(out, b->members, b->hashes, b->n);
    for (size_t i = 0; i < b->n; i++) {
        bool is_new;
        double *score = zsetBuildScore(out, b->members[i], b->hashes[i], &is_new);
        if (!score) return false;
        if (is_new) *score = b->scores[i];
        else aggregate(score, b->scores[i], q->aggregate);
    }
    return true;
}

/* Adds all members of the sources to the builder. Returns false if there is no memory. */
static bool unite(const request *q, const source *sources, uint32_t n, zsetBuilder *out) {
    bool ok = true;
    for (uint32_t i = 0; ok && i < n; i++) {
        sourceIter it;
        sourceBegin(&it, &sources[i]);
        for (batch b; ok && sourceNext(&sources[i], &it, &b);) {
            if (n > 1) ok = addBatch(q, out, &b);
            for (size_t k = 0; n == 1 && k < b.n; k++) zsetBuildAdd(out, b.members[k], b.scores[k]);
        }
        sourceEnd(&it);
    }
    return ok;
}

/* ---- Intersection ---- */

/* Keeps the members of the batch that are also in the source. A product that is NaN makes the sum 0, as in Valkey; in a
 * union the product counts as 0. */
static void keepCommon(const request *q, const source *s, batch *b) {
    size_t kept = 0;
    tablePrefetch(sourceTable(s->o), b);
    for (size_t i = 0; i < b->n; i++) {
        double score;
        if (!sourceScore(s->o, b->members[i], b->hashes[i], &score)) continue;
        b->members[kept] = b->members[i];
        b->hashes[kept] = b->hashes[i];
        b->scores[kept] = b->scores[i];
        aggregate(&b->scores[kept++], score * s->weight, q->aggregate);
    }
    b->n = kept;
}

/* Finds the members that all sources have; the sources are sorted. Adds them to `out` unless it is NULL, and returns
 * their number. */
static size_t intersect(const request *q, zsetBuilder *out) {
    size_t count = 0;
    bool more = q->sources[0].count > 0;
    /* A small limit may be reached with few members, so batches begin small and grow. */
    size_t most = q->limit && q->limit < BATCH ? q->limit : BATCH;
    sourceIter it;
    sourceBegin(&it, &q->sources[0]);
    for (batch b; more && sourceNextUpTo(&q->sources[0], &it, &b, most); most = most < BATCH / 2 ? 2 * most : BATCH) {
        for (uint32_t i = 1; i < q->keys && b.n; i++) keepCommon(q, &q->sources[i], &b);
        for (size_t i = 0; out && i < b.n; i++) zsetBuildAdd(out, b.members[i], b.scores[i]);
        count += b.n;
        more = !q->limit || count < q->limit;
    }
    sourceEnd(&it);
    return q->limit && count > q->limit ? q->limit : count;
}

/* ---- Difference ---- */

static void dropIfIn(const robj *o, const dict *table, batch *b) {
    size_t kept = 0;
    double score;
    tablePrefetch(table, b);
    for (size_t i = 0; i < b->n; i++) {
        if (o ? sourceScore(o, b->members[i], b->hashes[i], &score)
              : dictFind(table, b->members[i], b->hashes[i]) != NULL)
            continue;
        b->members[kept] = b->members[i];
        b->hashes[kept] = b->hashes[i];
        b->scores[kept++] = b->scores[i];
    }
    b->n = kept;
}

/* Adds the members of the first source that no other has. They are looked up in each other source; if there are many
 * small ones, in one table built of all of them. Returns false if there is no memory. */
static bool subtract(request *q, zsetBuilder *out) {
    const source *first = &q->sources[0];
    zsetBuilder others;
    size_t total = 0, present = 0;
    bool ok = true;
    for (uint32_t i = 1; i < q->keys; i++) {
        if (!q->sources[i].o) continue;
        total += q->sources[i].count;
        q->sources[++present] = q->sources[i];
        if (first->o && q->sources[i].o == first->o) return true; /* the difference is empty */
    }
    q->keys = (uint32_t)present + 1; /* empty sources are left out, as each batch visits all of them */
    bool merge = present > 2 && first->count / 2 > total / present;
    zsetBuildBegin(&others, merge ? total : 0);
    if (merge) ok = unite(&(request){.aggregate = AGGREGATE_MAX}, first + 1, q->keys - 1, &others);
    sourceIter it;
    sourceBegin(&it, first);
    for (batch b; ok && sourceNext(first, &it, &b);) {
        if (merge) dropIfIn(NULL, others.table, &b);
        for (uint32_t i = 1; !merge && i < q->keys && b.n; i++) {
            const robj *o = q->sources[i].o;
            dropIfIn(o, sourceTable(o), &b);
        }
        for (size_t i = 0; i < b.n; i++) zsetBuildAdd(out, b.members[i], b.scores[i]);
    }
    sourceEnd(&it);
    zsetBuildDrop(&others);
    return ok;
}

/* ---- The commands ---- */

/* Reserves the memory that the result may take. Returns false after an error reply. */
static bool reserveResult(client *c, const request *q) {
    size_t bytes = 0;
    for (uint32_t i = 0; i < q->keys; i++) {
        const source *s = &q->sources[i];
        if (!s->o || (q->op == OP_DIFF && i > 0)) continue;
        size_t needs = objectMemUsage(s->o, 5) + s->count * 5 * sizeof(void *);
        if (q->op != OP_INTER) bytes += needs;
        else if (i == 0) bytes = needs;
    }
    return bytes < COMMAND_MEMORY_LARGE || commandMemoryReserve(c, bytes);
}

static void replyBuilt(client *c, zsetBuilder *b, bool with_scores) {
    zsetBuildSort(b);
    addReplyMembersLen(c, b->count, with_scores);
    for (size_t i = 0; i < b->count && !replyIsDropped(c); i++) {
        const void *entry = b->entries[i];
        addReplyMember(c, zsetEntryMember(entry), zsetEntryScore(entry), with_scores);
    }
    zsetBuildDrop(b);
}

static size_t expectedCount(const request *q) {
    size_t largest = 0;
    if (q->op != OP_UNION) return q->op == OP_INTER ? q->sources[0].count : 0;
    for (uint32_t i = 0; i < q->keys; i++)
        if (q->sources[i].count > largest) largest = q->sources[i].count;
    return largest;
}

/* Makes the result and replies. All sources have been looked up and all options parsed. */
static void algebraExecute(client *c, request *q, const char *event) {
    zsetBuilder built;
    if (q->op != OP_DIFF) sortSources(q);
    if (q->cardinality) {
        addReplyLongLong(c, (long long)intersect(q, NULL));
        return;
    }
    if (!reserveResult(c, q)) return;
    bool ok = true;
    zsetBuildBegin(&built, expectedCount(q));
    switch (q->op) {
    case OP_UNION: {
        uint32_t empty = 0;
        while (empty + 1 < q->keys && q->sources[empty].count == 0) empty++;
        ok = unite(q, q->sources + empty, q->keys - empty, &built);
        break;
    }
    case OP_INTER: (void)intersect(q, &built); break;
    case OP_DIFF: ok = subtract(q, &built); break;
    }
    if (!ok) {
        zsetBuildDrop(&built);
        addReplyNoMemory(c);
    } else if (q->store) {
        zsetStoreBuilt(c, clientKeyAt(c, 1), &built, event);
    } else {
        replyBuilt(c, &built, q->with_scores);
    }
}

/* `event` is that of a command that stores; else NULL. */
static void algebraGeneric(client *c, operation op, bool cardinality, const char *event) {
    request q = {.op = op, .store = event != NULL, .cardinality = cardinality};
    uint32_t at = q.store ? 2 : 1;
    if (parseSources(c, at, &q) && parseOptions(c, at + 1 + q.keys, &q)) algebraExecute(c, &q, event);
    zfree(q.sources);
}

void zunionCommand(client *c) { algebraGeneric(c, OP_UNION, false, NULL); }
void zinterCommand(client *c) { algebraGeneric(c, OP_INTER, false, NULL); }
void zdiffCommand(client *c) { algebraGeneric(c, OP_DIFF, false, NULL); }
void zintercardCommand(client *c) { algebraGeneric(c, OP_INTER, true, NULL); }
void zunionstoreCommand(client *c) { algebraGeneric(c, OP_UNION, false, "zunionstore"); }
void zinterstoreCommand(client *c) { algebraGeneric(c, OP_INTER, false, "zinterstore"); }
void zdiffstoreCommand(client *c) { algebraGeneric(c, OP_DIFF, false, "zdiffstore"); }
