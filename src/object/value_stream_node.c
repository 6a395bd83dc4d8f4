/* value_stream_node.c -- the entries of one node of a stream.
 *
 * Not here    the sequence of nodes (value_stream_log.c).
 * Owns        nothing: a node belongs to its stream.
 * Threads     as object.c.
 * Invariants  1. live + deleted entries follow the master, in ascending order of their IDs.
 *             2. The count after an entry is the number of its elements.
 * Cost        append: the bytes of the entry and the master's fields. Find: the entries before it.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_stream_node.h"

#include "panic.h"

enum { FLAG_DELETED = 1, FLAG_SAME_FIELDS = 2, FLAGS_ALL = 3 };
enum { HEAD_ELEMENTS = 3, TAIL_ELEMENTS = 1 }; /* elements of an entry: flags, ms, seq; count */

/* Reads an entry that is known to be an integer. */
static inline int64_t integerAt(const uint8_t *at) {
    if (likely(*at < 128)) return *at;
    int64_t n = 0;
    (void)!listpackInteger(at, &n);
    return n;
}

static inline const uint8_t *nextIn(bool bare, const uint8_t *at) {
    return bare ? listpackBareNext(at) : listpackNext(at);
}

static const uint8_t *skip(bool bare, const uint8_t *at, size_t n) {
    for (; n; n--) at = nextIn(bare, at);
    return at;
}

/* ---- Reading ---- */

void streamNodeReadMaster(const uint8_t *lp, bool bare, streamNodeMaster *m) {
    const uint8_t *at = listpackFirst(lp);
    m->bare = bare;
    m->live = (uint64_t)integerAt(at);
    at = nextIn(bare, at);
    m->deleted = (uint64_t)integerAt(at);
    at = nextIn(bare, at);
    m->field_count = (size_t)integerAt(at);
    m->fields = nextIn(bare, at);
    m->entries = nextIn(bare, skip(bare, m->fields, m->field_count));
}

void streamNodeReadEntry(const streamNodeMaster *m, streamId key, const uint8_t *at, streamNodeEntry *e) {
    e->at = at;
    int64_t flags = integerAt(at);
    at = nextIn(m->bare, at);
    e->id.ms = key.ms + (uint64_t)integerAt(at);
    at = nextIn(m->bare, at);
    e->id.seq = key.seq + (uint64_t)integerAt(at);
    at = nextIn(m->bare, at);
    e->deleted = flags & FLAG_DELETED;
    e->same_fields = flags & FLAG_SAME_FIELDS;
    if (e->same_fields) {
        e->field_count = m->field_count;
    } else {
        e->field_count = (size_t)integerAt(at);
        at = nextIn(m->bare, at);
    }
    e->data = at;
}

const uint8_t *streamNodeNextEntry(const streamNodeMaster *m, const streamNodeEntry *e) {
    size_t values = e->same_fields ? e->field_count : 2 * e->field_count;
    return nextIn(m->bare, skip(m->bare, e->data, values));
}

/* Returns the start of an entry; `end` is the count after its elements. */
static const uint8_t *entryOfCount(const uint8_t *lp, const uint8_t *end) {
    const uint8_t *at = end;
    for (int64_t n = integerAt(end); n > 0; n--) at = listpackPrev(lp, at);
    return at;
}

const uint8_t *streamNodePrevEntry(const uint8_t *lp, const streamNodeMaster *m, const uint8_t *at) {
    return at == m->entries ? NULL : entryOfCount(lp, listpackPrev(lp, at));
}

const uint8_t *streamNodeLastEntry(const uint8_t *lp, const streamNodeMaster *m) {
    if (!m->entries) return NULL;
    if (!m->bare) return entryOfCount(lp, listpackLast(lp));
    const uint8_t *last = NULL;
    streamNodeEntry e;
    for (const uint8_t *at = m->entries; at; at = streamNodeNextEntry(m, &e)) {
        streamNodeReadEntry(m, STREAM_ID_MIN, at, &e);
        last = at;
    }
    return last;
}

bool streamNodeFind(const uint8_t *lp, bool bare, streamId key, streamId id, streamNodeEntry *e) {
    streamNodeMaster m;
    streamNodeReadMaster(lp, bare, &m);
    for (const uint8_t *at = m.entries; at; at = streamNodeNextEntry(&m, e)) {
        streamNodeReadEntry(&m, key, at, e);
        int order = streamIdCmp(e->id, id);
        if (order == 0) return !e->deleted;
        if (order > 0) return false;
    }
    return false;
}

uint64_t streamNodeEntries(const uint8_t *lp) {
    const uint8_t *at = listpackFirst(lp);
    return (uint64_t)integerAt(at) + (uint64_t)integerAt(listpackNext(at));
}

uint64_t streamNodeLive(const uint8_t *lp) { return (uint64_t)integerAt(listpackFirst(lp)); }

/* ---- Changing ---- */

/* Replaces the small integer at *at. Fails only if the new one takes more bytes. */
static uint8_t *setInteger(uint8_t *lp, const uint8_t **at, int64_t n) {
    return listpackInsertInteger(lp, at, LISTPACK_REPLACE, n);
}

uint8_t *streamNodeCreate(const slice *pairs, size_t count, size_t capacity) {
    size_t bytes = 4 * listpackEntryBytesMax(20);
    for (size_t i = 0; i < count; i += 2) bytes += listpackEntryBytesMax(pairs[i].len);
    uint8_t *lp = listpackCreate(LISTPACK_BYTES_MIN + bytes > capacity ? LISTPACK_BYTES_MIN + bytes : capacity);
    listpackWriter w;
    if (!lp) return NULL;
    if (!listpackWriteBegin(&w, lp, bytes)) {
        listpackFree(lp);
        return NULL;
    }
    listpackWriteInteger(&w, 0);
    listpackWriteInteger(&w, 0);
    listpackWriteInteger(&w, (int64_t)(count / 2));
    for (size_t i = 0; i < count; i += 2) listpackWriteText(&w, pairs[i]);
    listpackWriteInteger(&w, 0);
    return listpackWriteEnd(&w);
}

static bool hasFields(const streamNodeMaster *m, const slice *pairs, size_t count) {
    if (m->field_count != count / 2) return false;
    const uint8_t *at = m->fields;
    for (size_t i = 0; i < count; i += 2, at = listpackNext(at)) {
        if (!listpackEquals(at, pairs[i])) return false;
    }
    return true;
}

uint8_t *streamNodeAppend(uint8_t *lp, streamId key, streamId id, const slice *pairs, size_t count) {
    streamNodeMaster m;
    streamNodeReadMaster(lp, false, &m);
    bool same = hasFields(&m, pairs, count);
    int64_t ms = (int64_t)(id.ms - key.ms), seq = (int64_t)(id.seq - key.seq);
    int64_t elements = (int64_t)(same ? HEAD_ELEMENTS + count / 2 : HEAD_ELEMENTS + 1 + count);
    size_t step = same ? 2 : 1;

    /* Adds a byte, as the count of live entries may grow by one. */
    size_t bytes = 3 + listpackIntegerBytes(ms) + listpackIntegerBytes(seq) + listpackIntegerBytes(elements);
    if (!same) bytes += listpackIntegerBytes((int64_t)(count / 2));
    for (size_t i = same; i < count; i += step) bytes += listpackEntryBytesMax(pairs[i].len);

    listpackWriter w;
    if (!listpackWriteBegin(&w, lp, bytes)) return NULL;
    listpackWriteInteger(&w, same ? FLAG_SAME_FIELDS : 0);
    listpackWriteInteger(&w, ms);
    listpackWriteInteger(&w, seq);
    if (!same) listpackWriteInteger(&w, (int64_t)(count / 2));
    for (size_t i = same; i < count; i += step) listpackWriteText(&w, pairs[i]);
    listpackWriteInteger(&w, elements);
    lp = listpackWriteEnd(&w);
    const uint8_t *live = listpackFirst(lp);
    lp = setInteger(lp, &live, (int64_t)m.live + 1);
    serverAssert(lp);
    return lp;
}

uint8_t *streamNodeDelete(uint8_t *lp, const uint8_t *at) {
    int64_t flags = integerAt(at);
    lp = setInteger(lp, &at, flags | FLAG_DELETED);
    if (!lp) return NULL;
    const uint8_t *count = listpackFirst(lp);
    int64_t live = integerAt(count);
    lp = setInteger(lp, &count, live - 1);
    serverAssert(lp);
    count = listpackNext(count);
    return setInteger(lp, &count, integerAt(count) + 1);
}

bool streamNodeDeleteBare(uint8_t *bare, const uint8_t *at) {
    const uint8_t *live = listpackFirst(bare), *deleted = listpackBareNext(live);
    int64_t before = integerAt(live), flags = integerAt(at);
    if (!listpackBareSet(bare, live, before - 1)) return false;
    bool done = listpackBareSet(bare, deleted, integerAt(deleted) + 1);
    if (done && listpackBareSet(bare, at, flags | FLAG_DELETED)) return true;
    /* Restores the old value, which fits. */
    if (done) done = listpackBareSet(bare, deleted, integerAt(deleted) - 1);
    done = listpackBareSet(bare, live, before);
    serverAssert(done);
    return false;
}

/* ---- Trust ---- */

static bool takeInteger(const uint8_t **at, int64_t *n) {
    if (!*at || !listpackInteger(*at, n)) return false;
    *at = listpackNext(*at);
    return true;
}

/* Reads a count of the elements that follow, which cannot exceed the number of elements. */
static bool takeCount(const uint8_t **at, size_t elements, int64_t *n) {
    return takeInteger(at, n) && *n >= 0 && (uint64_t)*n <= elements;
}

static bool skipChecked(const uint8_t **at, size_t n) {
    for (; n && *at; n--) *at = listpackNext(*at);
    return n == 0;
}

/* Validates the entry at *at, and moves *at past it. */
static bool valueNodeTakeEntry(const uint8_t **at, size_t elements, size_t master_fields, streamId key, streamId *id,
                               bool *deleted) {
    int64_t flags, ms, seq, fields, count;
    if (!takeInteger(at, &flags) || flags < 0 || flags > FLAGS_ALL) return false;
    if (!takeInteger(at, &ms) || !takeInteger(at, &seq)) return false;
    bool same = flags & FLAG_SAME_FIELDS;
    *deleted = flags & FLAG_DELETED;
    *id = (streamId){key.ms + (uint64_t)ms, key.seq + (uint64_t)seq};
    if (same) fields = (int64_t)master_fields;
    else if (!takeCount(at, elements, &fields)) return false;
    size_t values = (size_t)fields * (same ? 1 : 2);
    if (!skipChecked(at, values) || !takeInteger(at, &count)) return false;
    return count == (int64_t)(HEAD_ELEMENTS + (same ? 0 : 1) + values);
}

bool streamNodeValidate(const uint8_t *bytes, size_t size, streamId key, streamId *after, bool first) {
    int64_t live, deleted, fields, zero, found[2] = {0, 0};
    if (!listpackValidate(bytes, size, true, NULL, NULL)) return false;
    size_t elements = listpackCount(bytes);
    const uint8_t *at = listpackFirst(bytes);
    if (!takeCount(&at, elements, &live) || !takeCount(&at, elements, &deleted)) return false;
    if (!takeCount(&at, elements, &fields) || !skipChecked(&at, (size_t)fields)) return false;
    if (!takeInteger(&at, &zero) || zero != 0) return false;
    for (; at; first = false) {
        streamId id;
        bool is_deleted;
        if (!valueNodeTakeEntry(&at, elements, (size_t)fields, key, &id, &is_deleted)) return false;
        if (streamIdCmp(id, key) < 0 || (!first && streamIdCmp(id, *after) <= 0)) return false;
        *after = id;
        found[is_deleted]++;
    }
    return found[0] == live && found[1] == deleted && live + deleted > 0;
}
