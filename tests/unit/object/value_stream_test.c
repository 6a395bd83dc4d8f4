/* value_stream_test.c -- compares streams with arrays of entries, groups with arrays of pending entries; RDB, valid and
 * damaged.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "object_internal.h"
#include "object_settings.h"
#include "rdb_value.h"
#include "unit.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "value_stream_internal.h"
#include "value_stream_node.h"
#include "zmalloc.h"
#include <stdio.h>
#include <stdlib.h>

enum { ENTRIES_MAX = 6000, PENDING_MAX = 4000 };

static void registerOnce(void) {
    static bool done;
    if (!done) objectRegisterType(OBJ_STREAM, &stream_type_ops);
    done = true;
}

static void checkStream(const stream *s) {
    registerOnce();
    objectOps(OBJ_STREAM)->check(s, OBJ_ENC_STREAM);
}

/* ---- The model --------------------------------------------------------------------------------------------------- */

typedef struct modelEntry {
    streamId id;
    unsigned fields, kind; /* kind: which names and values it has */
} modelEntry;

typedef struct model {
    stream *s;
    modelEntry entries[ENTRIES_MAX];
    size_t count;
    uint64_t added, random;
    streamId last, max_deleted;
    defragCursor defrag;
} model;

static uint64_t below(model *m, uint64_t n) { return unitRandom(&m->random) % n; }

static slice word(char *buf, unsigned kind, unsigned i) {
    switch (kind % 5) {
    case 0: return sliceOf(buf, (size_t)sprintf(buf, "field%u", i));
    case 1: return sliceOf(buf, (size_t)sprintf(buf, "%u", kind * 7919 + i));
    case 2: return sliceOf(buf, (size_t)sprintf(buf, "-%u000000%u", kind % 1000 + 1, i));
    case 3: memset(buf, 'x', kind % 300); return sliceOf(buf, kind % 300);
    default: return sliceOf(buf, (size_t)sprintf(buf, "%u:%u", kind, i));
    }
}

/* Most entries have the same field names. */
static slice fieldName(char *buf, const modelEntry *e, unsigned i) {
    return word(buf, e->kind % 4 == 3 ? e->kind : 0, i);
}

static slice fieldValue(char *buf, const modelEntry *e, unsigned i) { return word(buf, e->kind + i, i); }

static void modelAdd(model *m) {
    static char texts[64][320];
    slice pairs[64];
    modelEntry e = {.id = m->last, .fields = 1 + (unsigned)below(m, 4), .kind = (unsigned)below(m, 5000)};
    if (m->count == ENTRIES_MAX) return;
    switch (below(m, 4)) {
    case 0:
        e.id.ms += 1 + below(m, 3);
        e.id.seq = below(m, 5);
        break;
    case 1:
        e.id.ms += below(m, 2) ? 70000 : 5000000000;
        e.id.seq = 0;
        break;
    default: e.id.seq += 1 + below(m, 3); break;
    }
    for (unsigned i = 0; i < e.fields; i++) {
        pairs[2 * i] = fieldName(texts[2 * i], &e, i);
        pairs[2 * i + 1] = fieldValue(texts[2 * i + 1], &e, i);
    }
    CHECK(streamAppend(m->s, e.id, pairs, 2 * (size_t)e.fields));
    m->entries[m->count++] = e;
    m->last = e.id;
    m->added++;
}

static void removeAt(model *m, size_t at, size_t n) {
    memmove(m->entries + at, m->entries + at + n, (m->count - at - n) * sizeof(m->entries[0]));
    m->count -= n;
}

static bool has(const stream *s, streamId id) {
    streamIterator it;
    size_t fields;
    streamFindBegin(&it, s);
    return streamFind(&it, id, &fields);
}

static void modelDelete(model *m) {
    if (m->count == 0 || below(m, 8) == 0) {
        streamId nowhere = {m->last.ms, m->last.seq + 1 + below(m, 9)};
        CHECK(!streamDelete(m->s, nowhere));
        return;
    }
    size_t at = (size_t)below(m, 3) ? (size_t)below(m, m->count) : below(m, 2) ? 0 : m->count - 1;
    streamId id = m->entries[at].id;
    CHECK(has(m->s, id));
    CHECK(streamDelete(m->s, id));
    CHECK(!has(m->s, id) && !streamDelete(m->s, id));
    if (streamIdCmp(id, m->max_deleted) > 0) m->max_deleted = id;
    removeAt(m, at, 1);
}

static size_t countBelow(const model *m, streamId id) {
    size_t n = 0;
    while (n < m->count && streamIdCmp(m->entries[n].id, id) < 0) n++;
    return n;
}

static void modelTrim(model *m) {
    streamTrimSpec spec = {.kind = below(m, 2) ? STREAM_TRIM_MAXLEN : STREAM_TRIM_MINID, .approximate = below(m, 2)};
    size_t exact = 0;
    if (spec.kind == STREAM_TRIM_MAXLEN) {
        spec.maxlen = below(m, 4) ? m->count - m->count / 8 : below(m, m->count + 2);
        if (m->count > spec.maxlen) exact = m->count - (size_t)spec.maxlen;
    } else {
        spec.minid = m->count ? m->entries[below(m, below(m, 8) ? m->count / 8 + 1 : m->count)].id : m->last;
        if (below(m, 4) == 0) spec.minid.seq++;
        exact = countBelow(m, spec.minid);
    }
    if (spec.approximate && below(m, 2)) spec.limit = 1 + below(m, 40);
    size_t gone = (size_t)streamTrim(m->s, &spec);
    if (spec.approximate) CHECK(gone <= exact && (spec.limit == 0 || gone <= spec.limit));
    else CHECK_EQ_INT(gone, exact);
    if (gone <= m->count) removeAt(m, 0, gone);
}

static void checkEntry(streamIterator *it, const modelEntry *e, streamId id, size_t fields) {
    char a[LONG_STR_SIZE], b[LONG_STR_SIZE], want[320];
    CHECK(streamIdCmp(id, e->id) == 0);
    if (!CHECK_EQ_INT(fields, e->fields)) return;
    for (unsigned i = 0; i < fields; i++) {
        slice field, value;
        streamIterField(it, &field, &value, a, b);
        CHECK(sliceEq(field, fieldName(want, e, i)));
        CHECK(sliceEq(value, fieldValue(want, e, i)));
    }
}

/* Checks ranges in both directions, whose ends are entries or between entries. */
static void modelRange(model *m) {
    streamId start = STREAM_ID_MIN, end = STREAM_ID_MAX, id;
    if (m->count && below(m, 4)) start = m->entries[below(m, m->count)].id;
    if (m->count && below(m, 4)) end = m->entries[below(m, m->count)].id;
    if (below(m, 3) == 0) start.seq += below(m, 4);
    bool backward = below(m, 2);
    size_t from = countBelow(m, start), to = countBelow(m, end), fields;
    if (to < m->count && streamIdCmp(m->entries[to].id, end) == 0) to++;
    streamIterator it;
    streamIterBegin(&it, m->s, start, end, backward);
    size_t at = backward ? to : from;
    while (streamIterNext(&it, &id, &fields)) {
        if (!CHECK(backward ? at > from : at < to)) break;
        if (backward) at--;
        if (below(m, 3)) checkEntry(&it, &m->entries[at], id, fields);
        else CHECK(streamIdCmp(id, m->entries[at].id) == 0);
        if (!backward) at++;
    }
    if (from < to) CHECK_EQ_INT(at, backward ? from : to);
    CHECK(!streamIterNext(&it, &id, &fields));
    streamIterEnd(&it);
}

/* Finds entries by ID, ascending with steps of all sizes, and sometimes from another position. */
static void modelFind(model *m) {
    streamIterator it;
    streamFindBegin(&it, m->s);
    size_t at = 0, step = 1 + (size_t)below(m, 3) * (size_t)below(m, 60);
    for (int i = 0; i < 40 && m->count; i++) {
        if (at >= m->count || below(m, 20) == 0) at = (size_t)below(m, m->count);
        streamId id = m->entries[at].id;
        size_t fields;
        if (below(m, 6) == 0) {
            bool another = at + 1 < m->count && m->entries[at + 1].id.ms == id.ms &&
                           m->entries[at + 1].id.seq == id.seq + 1;
            id.seq++;
            if (!another) CHECK(!streamFind(&it, id, &fields));
        } else if (CHECK(streamFind(&it, id, &fields)) && below(m, 2)) {
            checkEntry(&it, &m->entries[at], id, fields);
        }
        at += below(m, step) + below(m, 2);
    }
}

static void modelCheck(const model *m) {
    const stream *s = m->s;
    checkStream(s);
    CHECK_EQ_INT(s->length, m->count);
    CHECK_EQ_INT(s->entries_added, m->added);
    CHECK(streamIdCmp(s->last_id, m->last) == 0);
    CHECK(streamIdCmp(s->max_deleted_id, m->max_deleted) == 0);
    CHECK(streamIdCmp(s->first_id, m->count ? m->entries[0].id : STREAM_ID_MIN) == 0);
    CHECK(streamIdCmp(streamLastEntry(s), m->count ? m->entries[m->count - 1].id : STREAM_ID_MIN) == 0);
}

/* ---- Nodes of the plain tree, counted one by one ----------------------------------------------------------------- */

static int commonBytes(const uint8_t *a, const uint8_t *b) {
    int n = 0;
    while (n < STREAM_ID_BYTES && a[n] == b[n]) n++;
    return n;
}

/* Returns the number of nodes for keys [from, to) from byte `depth` on: a run if all of them share bytes, then a leaf,
 * or a branch for each next byte. */
static uint64_t shapeOf(uint8_t (*keys)[STREAM_ID_BYTES], size_t from, size_t to, int depth) {
    int part = to - from == 1 ? STREAM_ID_BYTES : commonBytes(keys[from], keys[to - 1]);
    uint64_t nodes = (part > depth) + 1;
    if (to - from == 1) return nodes;
    for (size_t i = from; i < to;) {
        size_t end = i;
        while (end < to && keys[end][part] == keys[i][part]) end++;
        nodes += shapeOf(keys, i, end, part + 1);
        i = end;
    }
    return nodes;
}

static void checkShape(const stream *s) {
    static uint8_t keys[ENTRIES_MAX + 1][STREAM_ID_BYTES];
    size_t n = 0;
    if (s->nodes) {
        raxIterator it;
        for (bool on = raxIterFirst(&it, s->nodes); on; on = raxIterNext(&it))
            memcpy(keys[n++], raxIterKey(&it).ptr, STREAM_ID_BYTES);
        raxIterEnd(&it);
    }
    if (s->tail) streamIdBytes(s->tail_key, keys[n++]);
    CHECK_EQ_INT(streamNodeCount(s), n);
    CHECK_EQ_INT(streamTreeNodes(s), n ? shapeOf(keys, 0, n, 0) : 1);
}

/* ---- RDB --------------------------------------------------------------------------------------------------------- */

static robj *readPayload(slice bytes) {
    rdbReader r = {bytes.ptr, bytes.ptr + bytes.len};
    registerOnce();
    robj *o = rdbReadValue(&r, sliceStr("k"), false);
    if (o && r.p != r.end) {
        objectFree(o);
        return NULL;
    }
    return o;
}

static sds payloadOf(const stream *s, bool compress) {
    rdbWriter w;
    rdbWriterBegin(&w, compress, 64);
    rdbWriteByte(&w, streamRdbType(s, OBJ_ENC_STREAM));
    streamRdbWrite(&w, s, OBJ_ENC_STREAM);
    return rdbWriterTake(&w);
}

static void checkRoundTrip(const stream *s) {
    for (int compress = 0; compress < 2; compress++) {
        sds bytes = payloadOf(s, compress);
        robj *o = readPayload(sliceOf(bytes, sdsLen(bytes)));
        if (CHECK(o)) {
            const stream *back = objectStructure(o);
            checkStream(back);
            checkShape(back);
            sds again = payloadOf(back, compress);
            CHECK_EQ_INT(sdsLen(again), sdsLen(bytes));
            CHECK(sliceEq(sliceOf(again, sdsLen(again)), sliceOf(bytes, sdsLen(bytes))));
            sdsFree(again);
            objectFree(o);
        }
        sdsFree(bytes);
    }
    stream *copy = streamDup(s);
    checkStream(copy);
    sds a = payloadOf(s, false), b = payloadOf(copy, false);
    CHECK(sliceEq(sliceOf(a, sdsLen(a)), sliceOf(b, sdsLen(b))));
    sdsFree(a);
    sdsFree(b);
    streamFree(copy);
}

/* Defragments a piece, moving everything. */
static void defragStreamPiece(model *m) {
    void *structure = m->s;
    zmallocMoveAll(true);
    if (stream_type_ops.defrag(&structure, &m->defrag, 1 + below(m, 20), zmallocMover)) m->defrag = (defragCursor){0};
    zmallocMoveAll(false);
    m->s = structure;
}

TEST(stream_defragmentation_meets_every_node) {
    static model m;
    m = (model){.s = streamCreate(), .random = unitRandomSeed()};
    while (m.count < 5000) modelAdd(&m);
    long long before = zmallocMoverCounts()->moved, pieces = 0;
    do {
        defragStreamPiece(&m);
        pieces++;
    } while (m.defrag.at || m.defrag.phase);
    CHECK_EQ_INT(zmallocMoverCounts()->moved - before, streamNodeCount(m.s) + 1);
    CHECK(pieces > 1);
    modelCheck(&m);
    streamFree(m.s);
}

TEST(stream_knows_what_it_has_allocated) {
    static model m;
    size_t used = zmallocUsed();
    m = (model){.s = streamCreate(), .random = unitRandomSeed()};
    CHECK_EQ_INT(stream_type_ops.memUsage(m.s, 0), zmallocUsed() - used);
    while (m.count < 2000) modelAdd(&m);
    CHECK(streamNodeCount(m.s) > 10);
    size_t all = stream_type_ops.memUsage(m.s, 0);
    CHECK_EQ_INT(all, zmallocUsed() - used);
    size_t judged_by_one_node = stream_type_ops.memUsage(m.s, 1);
    CHECK(judged_by_one_node > all / 4 && judged_by_one_node < all * 4);
    streamFree(m.s);
    CHECK_EQ_INT(zmallocUsed(), used);
}

static void runModel(long long entries_max, long long bytes_max, int operations) {
    static model m;
    objectSettings saved = object_settings;
    object_settings.stream_node_max_entries = entries_max;
    object_settings.stream_node_max_bytes = bytes_max;
    m = (model){.s = streamCreate(), .random = unitRandomSeed()};
    for (int i = 0; i < operations; i++) {
        if (i % 3 == 0) defragStreamPiece(&m);
        uint64_t what = below(&m, 100);
        if (what < 75) modelAdd(&m);
        else if (what < 90) modelDelete(&m);
        else if (what < 92) modelTrim(&m);
        else if (what < 94) checkShape(m.s);
        else if (below(&m, 3)) modelRange(&m);
        else modelFind(&m);
        if (i % 64 == 0) modelCheck(&m);
        if (i % 500 == 0) checkRoundTrip(m.s);
    }
    modelCheck(&m);
    while (m.count) modelDelete(&m);
    modelCheck(&m);
    checkRoundTrip(m.s);
    CHECK(streamNodeCount(m.s) <= 1); /* 1: left by a trim, see stream_trim_leaves_a_node_of_deleted_entries */
    modelAdd(&m);
    modelCheck(&m);
    streamFree(m.s);
    object_settings = saved;
}

/* As in Valkey: a trim by ID keeps a node whose last entry, a deleted one, is not below the limit. */
TEST(stream_trim_leaves_a_node_of_deleted_entries) {
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    for (uint64_t seq = 1; seq <= 5; seq++) CHECK(streamAppend(s, (streamId){1, seq}, pair, 2));
    CHECK(streamDelete(s, (streamId){1, 5}));
    CHECK_EQ_INT(streamTrim(s, &(streamTrimSpec){.kind = STREAM_TRIM_MINID, .minid = {1, 5}}), 4);
    CHECK(s->length == 0 && streamNodeCount(s) == 1);
    CHECK(streamAppend(s, (streamId){2, 1}, pair, 2));
    CHECK(s->length == 1 && streamIdCmp(s->first_id, (streamId){2, 1}) == 0);
    CHECK(streamDelete(s, (streamId){2, 1}));
    CHECK(s->length == 0 && streamNodeCount(s) == 0);
    streamFree(s);
}

TEST(stream_random_operations_small_nodes) { runModel(5, 4096, 6000); }
TEST(stream_random_operations_one_entry_a_node) {
    runModel(1, 4096, 3000);
    runModel(0, 1, 3000);
}
TEST(stream_random_operations_nodes_of_the_default_size) { runModel(100, 4096, 8000); }
TEST(stream_random_operations_nodes_of_more_than_128_entries) { runModel(400, 0, 8000); }
TEST(stream_random_operations_nodes_on_both_sides_of_bare) { runModel(0, LISTPACK_BARE_MAX + 300, 8000); }
TEST(stream_random_operations_nodes_without_bound) { runModel(0, 0, 4000); }

TEST(stream_ids_have_neighbours) {
    streamId id = {7, UINT64_MAX};
    CHECK(streamIdNext(&id) && id.ms == 8 && id.seq == 0);
    CHECK(streamIdPrev(&id) && id.ms == 7 && id.seq == UINT64_MAX);
    id = STREAM_ID_MAX;
    CHECK(!streamIdNext(&id));
    id = STREAM_ID_MIN;
    CHECK(!streamIdPrev(&id));
    char buf[STREAM_ID_TEXT_SIZE];
    CHECK(sliceEq(streamIdText(STREAM_ID_MAX, buf), sliceStr("18446744073709551615-18446744073709551615")));
}

TEST(stream_the_first_and_the_last_id_lie_in_one_node) {
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    CHECK(streamAppend(s, (streamId){0, 1}, pair, 2));
    CHECK(streamAppend(s, (streamId){1, UINT64_MAX}, pair, 2));
    CHECK(streamAppend(s, (streamId){UINT64_MAX, 0}, pair, 2));
    CHECK(streamAppend(s, STREAM_ID_MAX, pair, 2));
    CHECK(has(s, (streamId){1, UINT64_MAX}) && has(s, STREAM_ID_MAX));
    checkStream(s);
    checkRoundTrip(s);
    streamFree(s);
}

TEST(stream_a_full_node_takes_its_bytes_only) {
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("field"), sliceStr("a value of some bytes")};
    for (uint64_t i = 1; i <= 1000; i++) CHECK(streamAppend(s, (streamId){i, 0}, pair, 2));
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->nodes); on; on = raxIterNext(&it)) {
        bool bare;
        const uint8_t *bytes = streamNodeBytes(raxIterValue(&it), &bare);
        CHECK(bare);
        CHECK_EQ_INT(zmallocSize(bytes), zmallocGoodSize(listpackBytes(bytes)));
    }
    raxIterEnd(&it);
    streamFree(s);
}

/* ---- Pending entries --------------------------------------------------------------------------------------------- */

enum { CONSUMERS = 5 };

typedef struct pendingModel {
    streamGroup *g;
    streamConsumer *consumers[CONSUMERS];
    struct {
        streamId id;
        int consumer;
        uint64_t deliveries;
    } entries[PENDING_MAX];
    size_t count;
    uint64_t random;
} pendingModel;

static size_t pendingPlace(const pendingModel *m, streamId id) {
    size_t n = 0;
    while (n < m->count && streamIdCmp(m->entries[n].id, id) < 0) n++;
    return n;
}

static void pendingPut(pendingModel *m, streamId id, int consumer) {
    size_t at = pendingPlace(m, id);
    bool there = at < m->count && streamIdCmp(m->entries[at].id, id) == 0;
    streamPending *p = streamPendingFind(m->g, id);
    CHECK(there == (p != NULL));
    if (there) {
        streamPendingGive(m->g, p, m->consumers[consumer]);
        p->deliveries++;
        m->entries[at].consumer = consumer;
        m->entries[at].deliveries++;
        return;
    }
    if (m->count == PENDING_MAX) return;
    p = streamPendingAdd(m->g, id, m->consumers[consumer]);
    p->deliveries = 1;
    memmove(m->entries + at + 1, m->entries + at, (m->count - at) * sizeof(m->entries[0]));
    m->entries[at].id = id;
    m->entries[at].consumer = consumer;
    m->entries[at].deliveries = 1;
    m->count++;
}

static void pendingTake(pendingModel *m, streamId id) {
    size_t at = pendingPlace(m, id);
    bool there = at < m->count && streamIdCmp(m->entries[at].id, id) == 0;
    CHECK(streamPendingRemove(m->g, id) == there);
    if (!there) return;
    memmove(m->entries + at, m->entries + at + 1, (m->count - at - 1) * sizeof(m->entries[0]));
    m->count--;
}

/* Checks a walk over the pending entries of all consumers (-1) or of one, from an ID on. */
static void pendingWalkCheck(const pendingModel *m, int consumer, streamId from) {
    streamPendingWalk w;
    streamPendingFrom(&w, m->g, consumer < 0 ? NULL : m->consumers[consumer], from);
    for (size_t at = pendingPlace(m, from); at < m->count; at++) {
        if (consumer >= 0 && m->entries[at].consumer != consumer) continue;
        const streamPending *p = streamPendingNext(&w);
        if (!CHECK(p)) return;
        CHECK(streamIdCmp(p->id, m->entries[at].id) == 0);
        CHECK(p->consumer == m->consumers[m->entries[at].consumer]);
        CHECK_EQ_INT(p->deliveries, m->entries[at].deliveries);
    }
    CHECK(!streamPendingNext(&w));
}

static void pendingNewConsumer(pendingModel *m, int i) {
    char name[16];
    snprintf(name, sizeof(name), "c%d", i);
    m->consumers[i] = streamConsumerCreate(m->g, sliceStr(name), i);
    CHECK(m->consumers[i] && !streamConsumerCreate(m->g, sliceStr(name), i));
}

static void pendingDropConsumer(pendingModel *m, int i) {
    size_t kept = 0;
    for (size_t at = 0; at < m->count; at++) {
        if (m->entries[at].consumer != i) m->entries[kept++] = m->entries[at];
    }
    CHECK_EQ_INT(streamConsumerDelete(m->g, m->consumers[i]), m->count - kept);
    m->count = kept;
    pendingNewConsumer(m, i);
}

TEST(stream_pending_entries_random_operations) {
    static pendingModel m;
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    m = (pendingModel){.g = streamGroupCreate(s, sliceStr("g"), STREAM_ID_MIN, 0), .random = unitRandomSeed()};
    CHECK(streamAppend(s, (streamId){1, 1}, pair, 2));
    CHECK(!streamGroupCreate(s, sliceStr("g"), STREAM_ID_MIN, 0));
    for (int i = 0; i < CONSUMERS; i++) pendingNewConsumer(&m, i);
    streamId top = STREAM_ID_MIN;
    for (int i = 0; i < 30000; i++) {
        uint64_t what = unitRandom(&m.random) % 1000;
        int consumer = (int)(unitRandom(&m.random) % CONSUMERS);
        bool growing = i / 5000 % 2 == 0;
        streamId any = {unitRandom(&m.random) % (top.ms + 2), unitRandom(&m.random) % 3};
        if (what < (growing ? 600 : 200)) {
            top.ms += unitRandom(&m.random) % 2;
            top.seq += 1;
            pendingPut(&m, top, consumer);
        } else if (what < 700) {
            pendingPut(&m, any, consumer);
        } else if (what < 990) {
            if (m.count && what % 3) any = m.entries[what % 2 ? 0 : unitRandom(&m.random) % m.count].id;
            pendingTake(&m, any);
        } else if (what < 993 && !growing) {
            pendingDropConsumer(&m, consumer);
        } else {
            pendingWalkCheck(&m, what % 2 ? consumer : -1, what % 3 ? any : STREAM_ID_MIN);
        }
        if (i % 250 == 0) streamGroupCheck(m.g);
        if (i % 5000 == 0) checkRoundTrip(s);
        CHECK_EQ_INT(m.g->pending, m.count);
    }
    for (int i = 0; i < CONSUMERS; i++) pendingWalkCheck(&m, i, STREAM_ID_MIN);
    while (m.count) pendingTake(&m, m.entries[unitRandom(&m.random) % m.count].id);
    streamGroupCheck(m.g);
    CHECK(m.g->last == NULL);
    CHECK(streamGroupDestroy(s, sliceStr("g")) && !streamGroupDestroy(s, sliceStr("g")));
    streamFree(s);
}

TEST(stream_groups_know_how_far_they_are_where_it_can_be_known) {
    stream *s = streamCreate();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    uint64_t lag;
    for (uint64_t i = 1; i <= 10; i++) CHECK(streamAppend(s, (streamId){i, 0}, pair, 2));
    streamGroup *g = streamGroupCreate(s, sliceStr("g"), STREAM_ID_MIN, STREAM_READ_UNKNOWN);
    CHECK(streamGroupLag(s, g, &lag) && lag == 10);
    for (uint64_t i = 1; i <= 4; i++) streamGroupAdvance(s, g, (streamId){i, 0});
    CHECK_EQ_INT(g->entries_read, 4);
    CHECK(streamGroupLag(s, g, &lag) && lag == 6);
    CHECK(streamDelete(s, (streamId){8, 0}));
    CHECK(!streamGroupLag(s, g, &lag));
    for (uint64_t i = 5; i <= 10; i++) {
        if (i != 8) streamGroupAdvance(s, g, (streamId){i, 0});
    }
    CHECK_EQ_INT(g->entries_read, 10);
    CHECK(streamGroupLag(s, g, &lag) && lag == 0);
    streamFree(s);
}

/* ---- Bytes of files ---------------------------------------------------------------------------------------------- */

static const struct {
    const char *name, *hex;
} vectors[] = {
    {"stream-1", "150110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
                 "0401ff010101010100000100"},
    {"stream-samefields", "15011000000000000003e800000000000000002d2d00000012000201000102018161028162020001020100010001"
                          "010102010501020101010501030104010501ff0243e90543e80000000200"},
    {"stream-difffields", "15011000000000000000050000000000000001353500000013000201000101018161020001020100010001010104"
                          "01000100010101020181620202018163028568656c6c6f060801ff020502050100000200"},
    {"stream-deleted", "15011000000000000000050000000000000001313100000014000201010101018161020001020100010001010104"
                       "010301000101010201040102010101dfff0203010401ff020600050105020300"},
    {"stream-nodes", "1503100000000000000001000000000000000026260000000f000201000101018161020001020100010001010104"
                     "0102010101000102010401ff100000000000000003000000000000000026260000000f0002010001010181610200"
                     "010201000100010301040102010101000104010401ff10000000000000000500000000000000001c1c0000000a00"
                     "010100010101816102000102010001000105010401ff050500010000000500"},
    {"stream-trim", "150110000000000000000100000000000000004044440000001e0002010301010181610200010301000100010101"
                    "040103010101000102010401030102010001030104010201030100010401040102010401000105010401ff020500"
                    "040000000500"},
    {"stream-empty-mkstream", "15000000000000000000010167000081ffffffffffffffff0000"},
    {"stream-group-0", "150110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
                       "0401ff0101010101000001010167000081ffffffffffffffff0000"},
    {"stream-group-entriesread",
     "1501100000000000000001000000000000000128280000000f000201000101018166020001020100010001817602"
     "04010201010100018176020401ff02020101010000020101670101010000"},
    {"stream-group-mid", "15011000000000000000010000000000000001c32833073300000014000201400007816602000103010020010481"
                         "760204014015e0000a0002a00a0101ff0203010201010103010167020181ffffffffffffffff0000"},
    {"stream-pel", "1501100000000000000001000000000000000128280000000f000201000101018166020001020100010001817602"
                   "04010201010101018177020401ff0202020101000002010367727002020202000000000000000100000000000000"
                   "0100806e8774010000070000000000000002000000000000000201806e8774010000090205616c6963650ea7d4fe"
                   "a10100000ea7d4fea1010000010000000000000001000000000000000103626f620ea7d4fea10100000ea7d4fea1"
                   "0100000100000000000000020000000000000002"},
    {"stream-consumer-idle",
     "150110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
     "0401ff0101010101000001010167000081ffffffffffffffff000102633114a7d4fea1010000ffffffffffffffff"
     "00"},
    {"stream-bigid", "150110ffffffffffffffffffffffffffffffff1d1d0000000a000101000101018166020001020100010001817602"
                     "0401ff0181ffffffffffffffff81ffffffffffffffff81ffffffffffffffff81ffffffffffffffff00000100"},
    {"stream-xsetid", "150110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
                      "0401ff010909010104043700"},
    {"r8-stream-idmp",
     "1a0110000001a21aaeb8310000000000000000c3323f113f0000001900040100010101816602000102200a050001817602"
     "04200a0032e0010a0065e0010a01c0ca202740210101ff0481000001a21aaeb8fb0081000001a21aaeb831000000040040"
     "6440640302703301106e95729ee727f0814aedffba5573007981000001a21aaeb8fb0003707232010369647881000001a2"
     "1aaeb896000470726f64020369643181000001a21aaeb831000369643281000001a21aaeb863000401"},
    {"legacy-stream-15", "0f0110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
                         "0401ff01010100"},
    {"legacy-stream-15-group",
     "0f0110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
     "0401ff0101010101670101010000000000000001000000000000000100806e877401000003010163f4816e877401"
     "00000100000000000000010000000000000001"},
    {"legacy-stream-19-group",
     "130110000000000000000100000000000000011d1d0000000a000101000101018166020001020100010001817602"
     "0401ff0101010101000001010167010101010000000000000001000000000000000100806e877401000003010163"
     "f4816e87740100000100000000000000010000000000000001"}};

static sds unhex(const char *hex) {
    sds bytes = sdsNew("");
    for (; *hex; hex += 2) {
        unsigned b;
        if (sscanf(hex, "%2x", &b) != 1) break;
        char byte = (char)b;
        bytes = sdsCatLen(bytes, &byte, 1);
    }
    return bytes;
}

TEST(stream_payloads_of_other_servers_are_read) {
    for (size_t i = 0; i < array_len(vectors); i++) {
        sds bytes = unhex(vectors[i].hex);
        robj *o = readPayload(sliceOf(bytes, sdsLen(bytes)));
        if (CHECK(o)) {
            const stream *s = objectStructure(o);
            checkStream(s);
            checkShape(s);
            sds again = payloadOf(s, true);
            /* Another encoder compresses the nodes here: the result must not be larger, and the same if nodes are not
             * compressed. */
            if (bytes[0] == RDB_TYPE_STREAM_3) CHECK(sdsLen(again) <= sdsLen(bytes));
            sds plain = payloadOf(s, false);
            robj *packed = readPayload(sdsSlice(again));
            sds plain_again = packed ? payloadOf(objectStructure(packed), false) : sdsEmpty();
            CHECK(sliceEq(sdsSlice(plain), sdsSlice(plain_again)));
            if (packed) objectFree(packed);
            sdsFree(plain);
            sdsFree(plain_again);
            sdsFree(again);
            objectFree(o);
        } else {
            printf("    %s\n", vectors[i].name);
        }
        sdsFree(bytes);
    }
}

/* Any accepted stream must be usable. */
static void useStream(stream *s) {
    streamIterator it;
    streamId id;
    size_t fields;
    slice pair[2] = {sliceStr("f"), sliceStr("v")}, field, value;
    char a[LONG_STR_SIZE], b[LONG_STR_SIZE];
    checkStream(s);
    checkRoundTrip(s);
    for (int backward = 0; backward < 2; backward++) {
        streamIterBegin(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, backward);
        while (streamIterNext(&it, &id, &fields)) {
            for (; fields; fields--) streamIterField(&it, &field, &value, a, b);
        }
        streamIterEnd(&it);
    }
    id = s->last_id;
    if (streamIdNext(&id)) CHECK(streamAppend(s, id, pair, 2));
    if (s->length) streamDelete(s, s->first_id);
    streamTrim(s, &(streamTrimSpec){.kind = STREAM_TRIM_MAXLEN, .maxlen = 1});
    checkStream(s);
}

static void tryPayload(slice bytes) {
    robj *o = readPayload(bytes);
    if (!o) return;
    useStream(objectStructure(o));
    objectFree(o);
}

TEST(stream_payloads_that_are_cut_or_changed_are_refused_or_sane) {
    uint64_t random = unitRandomSeed();
    for (size_t i = 0; i < array_len(vectors); i++) {
        sds bytes = unhex(vectors[i].hex);
        size_t len = sdsLen(bytes);
        for (size_t cut = 0; cut < len; cut++) {
            /* Separately allocated, so that a read beyond its end is detected. */
            char *copy = zmalloc(cut ? cut : 1);
            memcpy(copy, bytes, cut);
            CHECK(!readPayload(sliceOf(copy, cut)));
            zfree(copy);
        }
        for (size_t at = 0; at < len; at++) {
            for (int bit = 0; bit < 8; bit++) {
                bytes[at] = (char)(bytes[at] ^ 1 << bit);
                tryPayload(sliceOf(bytes, len));
                bytes[at] = (char)(bytes[at] ^ 1 << bit);
            }
        }
        for (int n = 0; n < 300; n++) {
            sds copy = sdsNewLen(bytes, len);
            for (int changes = 0; changes < 3; changes++) copy[unitRandom(&random) % len] = (char)unitRandom(&random);
            tryPayload(sliceOf(copy, len));
            sdsFree(copy);
        }
        sdsFree(bytes);
    }
}

/* Returns the payload of a stream of one node with the key 1-1, whose listpack has these integers and texts. */
static sds payloadOfNode(const char *const *items, uint64_t length, uint64_t last_ms) {
    uint8_t key[STREAM_ID_BYTES], *lp = listpackCreate(0);
    for (; *items; items++) lp = listpackAppend(lp, sliceStr(*items));
    rdbWriter w;
    rdbWriterBegin(&w, false, 64);
    rdbWriteByte(&w, RDB_TYPE_STREAM_3);
    rdbWriteLength(&w, 1);
    rdbWriteString(&w, streamIdBytes((streamId){1, 1}, key));
    rdbWriteString(&w, sliceOf(lp, listpackBytes(lp)));
    rdbWriteLength(&w, length);
    for (int i = 0; i < 8; i++) rdbWriteLength(&w, i == 0 ? last_ms : 0);
    listpackFree(lp);
    return rdbWriterTake(&w);
}

TEST(stream_nodes_that_lie_are_refused) {
    static const struct {
        const char *why;
        bool good;
        uint64_t length, last_ms;
        const char *items[24];
    } cases[] = {
        {"sound", true, 1, 1000, {"1", "0", "1", "f", "0", "2", "0", "0", "v", "4"}},
        {"deleted one", true, 1, 1000, {"1", "1", "1", "f", "0", "3", "0", "0", "v", "4", "2", "0", "1", "v", "4"}},
        {"other fields", true, 1, 1000, {"1", "0", "1", "f", "0", "0", "0", "0", "1", "g", "v", "6"}},
        {"length", false, 2, 1000, {"1", "0", "1", "f", "0", "2", "0", "0", "v", "4"}},
        {"last id", false, 1, 0, {"1", "0", "1", "f", "0", "2", "0", "0", "v", "4"}},
        {"live", false, 1, 1000, {"2", "0", "1", "f", "0", "2", "0", "0", "v", "4"}},
        {"deleted", false, 1, 1000, {"1", "1", "1", "f", "0", "2", "0", "0", "v", "4"}},
        {"fields", false, 1, 1000, {"1", "0", "2", "f", "0", "2", "0", "0", "v", "4"}},
        {"no fields", false, 1, 1000, {"1", "0", "-1", "f", "0", "2", "0", "0", "v", "4"}},
        {"end of the master", false, 1, 1000, {"1", "0", "1", "f", "1", "2", "0", "0", "v", "4"}},
        {"flags", false, 1, 1000, {"1", "0", "1", "f", "0", "4", "0", "0", "v", "4"}},
        {"text for a number", false, 1, 1000, {"1", "0", "1", "f", "0", "2", "x", "0", "v", "4"}},
        {"count", false, 1, 1000, {"1", "0", "1", "f", "0", "2", "0", "0", "v", "5"}},
        {"fields of an entry", false, 1, 1000, {"1", "0", "1", "f", "0", "0", "0", "0", "9", "g", "v", "6"}},
        {"an id below the key", false, 1, 1000, {"1", "0", "1", "f", "0", "2", "0", "-1", "v", "4"}},
        {"an id that wraps", false, 1, 1000, {"1", "0", "1", "f", "0", "2", "-2", "0", "v", "4"}},
        {"ids twice", false, 2, 1000, {"2", "0", "1", "f", "0", "2", "0", "1", "v", "4", "2", "0", "1", "v", "4"}},
        {"ids that fall", false, 2, 1000, {"2", "0", "1", "f", "0", "2", "5", "1", "v", "4", "2", "0", "1", "v", "4"}},
        {"no entry", false, 0, 1000, {"0", "0", "1", "f", "0"}},
        {"nothing", false, 0, 1000, {NULL}},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        sds bytes = payloadOfNode(cases[i].items, cases[i].length, cases[i].last_ms);
        robj *o = readPayload(sliceOf(bytes, sdsLen(bytes)));
        if (!CHECK((o != NULL) == cases[i].good)) printf("    %s\n", cases[i].why);
        if (o) objectFree(o);
        sdsFree(bytes);
    }
}

/* Reads a stream without entries and with one group: its pending IDs, and those of its two consumers. */
static bool readsGroup(const char *pending, const char *first, const char *second, const char *second_name) {
    char head[] = {RDB_TYPE_STREAM_3, 0, 0, 9, 0, 0, 0, 0, 0, 0, 1, 1, 'g', 9, 0, 0};
    rdbWriter w;
    rdbWriterBegin(&w, false, 64);
    rdbWriteBytes(&w, sliceOf(head, sizeof(head)));
    const char *ids[3] = {pending, first, second};
    for (int i = 0; i < 3; i++) {
        if (i == 1) rdbWriteLength(&w, 2);
        if (i > 0) {
            rdbWriteString(&w, sliceStr(i == 1 ? "a" : second_name));
            rdbWriteMs(&w, 1);
            rdbWriteMs(&w, 1);
        }
        rdbWriteLength(&w, strlen(ids[i]));
        for (const char *p = ids[i]; *p; p++) {
            uint8_t id[STREAM_ID_BYTES];
            rdbWriteBytes(&w, streamIdBytes((streamId){(uint64_t)*p, 0}, id));
            if (i > 0) continue;
            rdbWriteMs(&w, 5);
            rdbWriteLength(&w, 1);
        }
    }
    sds out = rdbWriterTake(&w);
    robj *o = readPayload(sliceOf(out, sdsLen(out)));
    sdsFree(out);
    if (o) objectFree(o);
    return o != NULL;
}

TEST(stream_groups_that_lie_are_refused) {
    CHECK(readsGroup("1234", "13", "24", "b"));
    CHECK(readsGroup("", "", "", "b"));
    CHECK(!readsGroup("1134", "13", "4", "b"));    /* pending twice */
    CHECK(!readsGroup("1234", "13", "2", "b"));    /* owned by no consumer */
    CHECK(!readsGroup("1234", "13", "1234", "b")); /* owned by two consumers */
    CHECK(!readsGroup("1234", "133", "24", "b"));
    CHECK(!readsGroup("1234", "13", "245", "b")); /* owned by a consumer, but not pending */
    CHECK(!readsGroup("1234", "13", "24", "a"));  /* duplicate consumer */
}

/* ---- Idle entries ------------------------------------------------------------------------------------------------ */

static int byDeliveryThenId(const void *a, const void *b) {
    const streamIdle *x = a, *y = b;
    if (x->delivered_ms != y->delivered_ms) return x->delivered_ms < y->delivered_ms ? -1 : 1;
    return streamIdCmp(x->id, y->id);
}

TEST(stream_finds_idle_entries_like_a_sorted_array) {
    static streamIdle all[2000];
    uint64_t random = unitRandomSeed();
    slice pair[2] = {sliceStr("f"), sliceStr("v")};
    for (int round = 0; round < 40; round++) {
        stream *s = streamCreate();
        streamGroup *g = streamGroupCreate(s, sliceStr("g"), STREAM_ID_MIN, 0);
        streamConsumer *c = streamConsumerCreate(g, sliceStr("c"), 0);
        size_t entries = unitRandom(&random) % array_len(all), due = 0, max = unitRandom(&random) % 50;
        int64_t until_ms = (int64_t)(unitRandom(&random) % 300), next_ms = INT64_MAX, got_next_ms;
        for (uint64_t i = 0; i < entries; i++) {
            streamIdle this = {(int64_t)(unitRandom(&random) % 300), {i + 1, 0}};
            CHECK(streamAppend(s, this.id, pair, 2));
            streamPendingDeliver(g, streamPendingAdd(g, this.id, c), this.delivered_ms);
            bool is_deleted = unitRandom(&random) % 4 == 0;
            if (is_deleted) CHECK(streamDelete(s, this.id));
            if (this.delivered_ms > until_ms && this.delivered_ms < next_ms) next_ms = this.delivered_ms;
            if (this.delivered_ms <= until_ms && !is_deleted) all[due++] = this;
        }
        qsort(all, due, sizeof(*all), byDeliveryThenId);
        if (round % 5 == 0) max = SIZE_MAX;
        streamIdle *found;
        size_t count = max ? streamPendingIdle(s, g, until_ms, max, &found, &got_next_ms) : 0;
        if (max == 0) {
            streamFree(s);
            continue;
        }
        CHECK_EQ_INT(count, due < max ? due : max);
        CHECK_EQ_INT(got_next_ms, next_ms);
        for (size_t i = 0; i < count; i++) {
            CHECK(byDeliveryThenId(&found[i], &all[i]) == 0);
            streamPendingDeliver(g, streamPendingFind(g, found[i].id), 1000);
        }
        zfree(found);
        /* Again: what is left, by what the first time has found out. */
        size_t left = due - count, more = streamPendingIdle(s, g, until_ms, SIZE_MAX, &found, &got_next_ms);
        CHECK_EQ_INT(more, left);
        for (size_t i = 0; i < more; i++) {
            CHECK(byDeliveryThenId(&found[i], &all[count + i]) == 0);
            streamPendingDeliver(g, streamPendingFind(g, found[i].id), 1000);
        }
        zfree(found);
        CHECK_EQ_INT(streamPendingIdle(s, g, until_ms, 5, &found, &got_next_ms), 0);
        CHECK(got_next_ms > until_ms && got_next_ms <= (next_ms < 1000 ? next_ms : INT64_MAX));
        zfree(found);
        streamFree(s);
    }
}

/* ---- Entries that producers have sent ---------------------------------------------------------------------------- */

typedef struct modelSent {
    unsigned producer, name;
    streamId id;
    bool is_there;
} modelSent;

enum { SENT_MAX = 2000, PRODUCERS = 5, SENT_NAMES = 40 };

static slice sentText(char *buf, unsigned n) { return sliceOf(buf, (size_t)sprintf(buf, "%u%0*u", n, n % 3 * 150, n)); }

/* Returns the newest entry of the model by this name; NULL if there is none. */
static modelSent *modelSentFind(modelSent *all, size_t count, unsigned producer, unsigned name) {
    for (size_t i = count; i-- > 0;)
        if (all[i].is_there && all[i].producer == producer && all[i].name == name) return &all[i];
    return NULL;
}

static void modelSentLimit(modelSent *all, size_t count, unsigned producer, size_t max) {
    size_t there = 0;
    for (size_t i = count; i-- > 0;) {
        if (!all[i].is_there || all[i].producer != producer) continue;
        if (++there > max) all[i].is_there = false;
    }
}

static void checkSent(const stream *s, modelSent *all, size_t count) {
    char a[600], b[600];
    size_t there = 0;
    for (unsigned p = 0; p < PRODUCERS; p++) {
        for (unsigned n = 0; n < SENT_NAMES; n++) {
            const streamSent *sent = streamSentFind(s, sentText(a, p), sentText(b, n));
            const modelSent *want = modelSentFind(all, count, p, n);
            CHECK((sent != NULL) == (want != NULL));
            if (sent && want) CHECK(streamIdCmp(sent->id, want->id) == 0);
            there += want != NULL;
        }
    }
    CHECK_EQ_INT(s->idmp->count, there);
    uint64_t producers, entries;
    streamSentCount(s->idmp, 0, &producers, &entries);
    CHECK(entries == there && producers <= PRODUCERS);
    checkStream(s);
}

TEST(stream_remembers_what_producers_have_sent_like_the_model) {
    static modelSent all[SENT_MAX];
    uint64_t random = unitRandomSeed();
    char a[600], b[600];
    stream *s = streamCreate();
    streamIdmpConfigure(s, 10, 7);
    for (size_t count = 0; count < SENT_MAX; count++) {
        modelSent *new = &all[count];
        *new = (modelSent){(unsigned)(unitRandom(&random) % PRODUCERS),
                           (unsigned)(unitRandom(&random) % SENT_NAMES),
                           {100 * (count + 1), 1},
                           true};
        modelSent *old = modelSentFind(all, count, new->producer, new->name);
        if (old) old->is_there = false;
        CHECK(streamSentAdd(s, sentText(a, new->producer), sentText(b, new->name), new->id));
        modelSentLimit(all, count + 1, new->producer, 7);
        if (count % 50 != 0) continue;
        int64_t now_ms = 100 * (int64_t)count + (int64_t)(unitRandom(&random) % 10000);
        for (int n = 0; n < 20; n++) streamSentExpire(s, now_ms);
        for (size_t i = 0; i <= count; i++)
            if ((int64_t)all[i].id.ms + 10000 < now_ms) all[i].is_there = false;
        checkSent(s, all, count + 1);
        s->last_id = new->id;
        checkRoundTrip(s);
    }
    CHECK_EQ_INT(s->idmp->added, SENT_MAX);
    size_t bytes = objectOps(OBJ_STREAM)->memUsage(s, 0);
    CHECK(bytes > s->idmp->count * 100);
    streamFree(s);
}

TEST(stream_of_redis_without_producers_remains_one_of_valkey) {
    static const struct {
        const char *tail; /* after the groups */
        unsigned type;
    } cases[] = {{"4064406400"
                  "0000",
                  RDB_TYPE_STREAM_3},
                 {"4064406300"
                  "0000",
                  RDB_TYPE_REDIS_STREAM},
                 {"0a40640000"
                  "00",
                  RDB_TYPE_REDIS_STREAM},
                 {"4064406400"
                  "0100",
                  RDB_TYPE_REDIS_STREAM},
                 {"4064406400"
                  "0001",
                  RDB_TYPE_REDIS_STREAM},
                 {"4064406401"
                  "017001016e0501"
                  "0100",
                  RDB_TYPE_REDIS_STREAM}};
    for (size_t i = 0; i < array_len(cases); i++) {
        sds hex = sdsCat(sdsNew("1a00000100000000000000"), cases[i].tail), bytes = unhex(hex);
        robj *o = readPayload(sdsSlice(bytes));
        if (CHECK(o)) {
            CHECK_EQ_INT(rdbTypeOf(o), cases[i].type);
            checkRoundTrip(objectStructure(o));
            objectFree(o);
        }
        sdsFree(bytes);
        sdsFree(hex);
    }
}
