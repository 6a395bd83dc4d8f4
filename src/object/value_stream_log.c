/* value_stream_log.c -- the log of a stream: nodes of entries, in the order of their IDs.
 *
 *   stream --- nodes: rax   first ID -> node   first ID -> node   first ID -> node
 *          \-- tail: the last node, which is not in the tree
 *
 * What is appended goes to the tail without a way through the tree. A tail that is full is cut to its size and put
 * there, and the next begins with as much room as that one took.
 *
 * Not here    the layout of a node (value_stream_node.c), groups (value_stream_groups.c), RDB (value_stream_rdb.c), the
 *             operations of the type (value_stream_type.c).
 * Owns        nothing: a stream belongs to its entry in the keyspace.
 * Threads     as object.c.
 * Invariants  1. Without a tail there is no node and no entry.
 *             2. A node's key is not above its entries; the next node's key is above them. last_id is not below any.
 *             3. length is the sum of the nodes' live entries. Only a trim can leave a node with deleted ones alone:
 *                when the last of these is above what was asked for.
 *             4. first_id is the first live entry, 0-0 without one.
 * Cost        append: a node's worth at most. Range: O(log nodes) and a node before the first entry.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "endian.h"
#include "object_settings.h"
#include "panic.h"
#include "value_stream_internal.h"
#include "value_stream_node.h"
#include "zmalloc.h"

/* ---- IDs --------------------------------------------------------------------------------------------------------- */

bool streamIdNext(streamId *id) {
    if (++id->seq != 0) return true;
    return ++id->ms != 0;
}

bool streamIdPrev(streamId *id) {
    if (id->seq-- != 0) return true;
    return id->ms-- != 0;
}

slice streamIdText(streamId id, char buf[STREAM_ID_TEXT_SIZE]) {
    size_t len = ull2string(buf, id.ms);
    buf[len++] = '-';
    return sliceOf(buf, len + ull2string(buf + len, id.seq));
}

void streamIdToBytes(streamId id, uint8_t out[STREAM_ID_BYTES]) {
    storeLe64(out, __builtin_bswap64(id.ms));
    storeLe64(out + 8, __builtin_bswap64(id.seq));
}

streamId streamIdFromBytes(const uint8_t in[STREAM_ID_BYTES]) {
    return (streamId){__builtin_bswap64(loadLe64(in)), __builtin_bswap64(loadLe64(in + 8))};
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

stream *streamCreate(void) {
    stream *s = zmalloc(sizeof(*s));
    *s = (stream){.tree_nodes = streamShapeEmpty()};
    return s;
}

static bool hasNodes(const stream *s) {
    return s->nodes && raxSize(s->nodes) > 0;
}

size_t streamNodeCount(const stream *s) {
    return (s->nodes ? raxSize(s->nodes) : 0) + (s->tail ? 1 : 0);
}

uint64_t streamTreeNodes(const stream *s) {
    return s->tail ? s->tree_nodes + (uint64_t)streamShapeAdded(s->nodes, s->tail_key) : s->tree_nodes;
}

void streamKeepTail(stream *s) {
    uint8_t key[STREAM_ID_BYTES];
    if (!s->nodes) s->nodes = raxCreate();
    streamIdToBytes(s->tail_key, key);
    s->tree_nodes += (uint64_t)streamShapeAdded(s->nodes, s->tail_key);
    s->tail = listpackShrinkToFit(s->tail);
    raxResult added = raxTryInsert(s->nodes, sliceOf(key, sizeof(key)), s->tail, NULL);
    serverAssert(added == RAX_ADDED);
    s->tail = NULL;
}

/* Take a node out of the tree and free it. */
static void dropNode(stream *s, streamId key) {
    uint8_t bytes[STREAM_ID_BYTES];
    void *lp;
    streamIdToBytes(key, bytes);
    bool there = raxRemove(s->nodes, sliceOf(bytes, sizeof(bytes)), &lp);
    serverAssert(there);
    s->tree_nodes -= (uint64_t)streamShapeAdded(s->nodes, key);
    listpackFree(lp);
}

/* The tail has gone: the last node of the tree is the tail now. */
static void dropTail(stream *s) {
    listpackFree(s->tail);
    s->tail = NULL;
    if (!hasNodes(s)) return;
    raxIterator it;
    raxIterBegin(&it, s->nodes);
    bool found = raxIterSeek(&it, RAX_SEEK_LAST, sliceStr(""));
    serverAssert(found);
    s->tail_key = streamIdFromBytes((const uint8_t *)raxIterKey(&it).ptr);
    s->tail = raxIterValue(&it);
    raxRemove(s->nodes, raxIterKey(&it), NULL);
    raxIterEnd(&it);
    s->tree_nodes -= (uint64_t)streamShapeAdded(s->nodes, s->tail_key);
}

/* The node that would hold this ID; NULL: none does. `place`: where its address stands. */
static uint8_t *nodeOf(const stream *s, streamId id, streamId *key, void ***place) {
    if (place) *place = NULL;
    if (!s->tail) return NULL;
    if (streamIdCmp(s->tail_key, id) <= 0) {
        *key = s->tail_key;
        return s->tail;
    }
    if (!hasNodes(s)) return NULL;
    uint8_t bytes[STREAM_ID_BYTES], *lp = NULL;
    raxIterator it;
    streamIdToBytes(id, bytes);
    raxIterBegin(&it, s->nodes);
    if (raxIterSeek(&it, RAX_SEEK_LE, sliceOf(bytes, sizeof(bytes)))) {
        *key = streamIdFromBytes((const uint8_t *)raxIterKey(&it).ptr);
        lp = raxIterValue(&it);
        if (place) *place = raxFindRef(s->nodes, raxIterKey(&it));
    }
    raxIterEnd(&it);
    return lp;
}

/* The node at the front; NULL: none. */
static uint8_t *firstNode(const stream *s, streamId *key) {
    if (!hasNodes(s)) {
        *key = s->tail_key;
        return s->tail;
    }
    raxIterator it;
    raxIterBegin(&it, s->nodes);
    bool found = raxIterSeek(&it, RAX_SEEK_FIRST, sliceStr(""));
    serverAssert(found);
    *key = streamIdFromBytes((const uint8_t *)raxIterKey(&it).ptr);
    uint8_t *lp = raxIterValue(&it);
    raxIterEnd(&it);
    return lp;
}

/* ---- Append ------------------------------------------------------------------------------------------------------ */

/* Has the tail no place for an entry of so many bytes? */
static bool tailIsFull(const stream *s, size_t bytes) {
    size_t bytes_max = LISTPACK_BYTES_MAX;
    if (object_settings.stream_node_max_bytes && (uint64_t)object_settings.stream_node_max_bytes < bytes_max)
        bytes_max = (size_t)object_settings.stream_node_max_bytes;
    if (listpackBytes(s->tail) + bytes >= bytes_max) return true;
    uint64_t entries_max = (uint64_t)object_settings.stream_node_max_entries;
    return entries_max && streamNodeEntries(s->tail) >= entries_max;
}

#define ENTRY_OVERHEAD 64 /* of numbers in a node and an entry */

size_t streamAppendNeeds(const stream *s, size_t bytes, size_t count) {
    size_t node = 2 * bytes + 20 * count + ENTRY_OVERHEAD;
    return s && s->tail ? node + listpackBytes(s->tail) : node;
}

static size_t bytesOf(const slice *pairs, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += pairs[i].len;
    return bytes;
}

#define ROOM_AHEAD_MAX 65536

bool streamAppend(stream *s, streamId id, const slice *pairs, size_t count) {
    size_t bytes = bytesOf(pairs, count), room = 0;
    debugAssert(streamIdCmp(id, s->last_id) > 0);
    uint8_t *lp = s->tail;
    streamId key = s->tail_key;
    if (lp && tailIsFull(s, bytes)) {
        room = listpackBytes(lp);
        if (room > ROOM_AHEAD_MAX) room = ROOM_AHEAD_MAX;
        lp = NULL;
    }
    if (lp) {
        lp = streamNodeAppend(lp, key, id, pairs, count);
        if (!lp) return false;
        s->tail = lp;
    } else {
        uint8_t *fresh = streamNodeCreate(pairs, count, room);
        if (!fresh) return false;
        lp = streamNodeAppend(fresh, id, id, pairs, count);
        if (!lp) {
            listpackFree(fresh);
            return false;
        }
        if (s->tail) streamKeepTail(s);
        s->tail = lp;
        s->tail_key = id;
    }
    if (s->length == 0) s->first_id = id;
    s->length++;
    s->entries_added++;
    s->last_id = id;
    return true;
}

void streamSetId(stream *s, streamId last, const uint64_t *entries_added, const streamId *max_deleted) {
    s->last_id = last;
    if (entries_added) s->entries_added = *entries_added;
    if (max_deleted) s->max_deleted_id = *max_deleted;
}

/* ---- Delete and trim --------------------------------------------------------------------------------------------- */

void streamFindFirst(stream *s) {
    streamIterator it;
    size_t fields;
    streamIterBegin(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, false);
    if (!streamIterNext(&it, &s->first_id, &fields)) s->first_id = STREAM_ID_MIN;
    streamIterEnd(&it);
}

bool streamHas(const stream *s, streamId id) {
    streamId key;
    streamNodeEntry e;
    const uint8_t *lp = nodeOf(s, id, &key, NULL);
    return lp && streamNodeFind(lp, key, id, &e);
}

/* Store where a node is after a change. */
static void nodeMoved(stream *s, void **place, uint8_t *lp) {
    if (place) *place = lp;
    else s->tail = lp;
}

bool streamDelete(stream *s, streamId id) {
    streamId key;
    streamNodeEntry e;
    void **place;
    uint8_t *lp = nodeOf(s, id, &key, &place);
    if (!lp || !streamNodeFind(lp, key, id, &e)) return false;
    if (streamNodeLive(lp) > 1) {
        lp = streamNodeDelete(lp, e.at);
        serverAssert(lp);
        nodeMoved(s, place, lp);
    } else if (place) {
        dropNode(s, key);
    } else {
        dropTail(s);
    }
    s->length--;
    if (streamIdCmp(id, s->max_deleted_id) > 0) s->max_deleted_id = id;
    if (streamIdCmp(id, s->first_id) == 0) streamFindFirst(s);
    return true;
}

streamId streamLastEntry(const stream *s) {
    streamIterator it;
    streamId id;
    size_t fields;
    streamIterBegin(&it, s, STREAM_ID_MIN, STREAM_ID_MAX, true);
    if (!streamIterNext(&it, &id, &fields)) id = STREAM_ID_MIN;
    streamIterEnd(&it);
    return id;
}

static streamId lastOfNode(const uint8_t *lp, streamId key) {
    streamNodeMaster m;
    streamNodeEntry e;
    streamNodeReadMaster(lp, &m);
    streamNodeReadEntry(&m, key, streamNodeLastEntry(lp, &m), &e);
    return e.id;
}

/* Does all of a node at the front go? */
static bool wholeNodeGoes(const stream *s, const streamTrimSpec *spec, const uint8_t *lp, streamId key) {
    if (spec->kind == STREAM_TRIM_MAXLEN) return s->length - streamNodeLive(lp) >= spec->maxlen;
    return streamIdCmp(lastOfNode(lp, key), spec->minid) < 0;
}

static bool entryGoes(const stream *s, const streamTrimSpec *spec, streamId id) {
    if (spec->kind == STREAM_TRIM_MAXLEN) return s->length > spec->maxlen;
    return streamIdCmp(id, spec->minid) < 0;
}

/* Mark the first entries of the first node, the last of which stays, be it live or not. */
static uint64_t trimFirstNode(stream *s, const streamTrimSpec *spec, uint8_t *lp, streamId key) {
    uint64_t gone = 0;
    void **place = NULL;
    if (lp != s->tail) {
        uint8_t bytes[STREAM_ID_BYTES];
        streamIdToBytes(key, bytes);
        place = raxFindRef(s->nodes, sliceOf(bytes, sizeof(bytes)));
    }
    streamNodeMaster m;
    streamNodeEntry e;
    streamNodeReadMaster(lp, &m);
    for (const uint8_t *at = m.entries; at && streamNodeLive(lp) > 0; at = streamNodeNextEntry(&e)) {
        streamNodeReadEntry(&m, key, at, &e);
        if (!entryGoes(s, spec, e.id)) break;
        if (e.deleted) continue;
        /* The node may move, and what is in it. */
        size_t offset = (size_t)(at - lp), before = listpackBytes(lp);
        lp = streamNodeDelete(lp, at);
        serverAssert(lp);
        streamNodeReadMaster(lp, &m);
        streamNodeReadEntry(&m, key, lp + offset + (listpackBytes(lp) - before), &e);
        s->length--;
        gone++;
    }
    nodeMoved(s, place, lp);
    return gone;
}

uint64_t streamTrim(stream *s, const streamTrimSpec *spec) {
    uint64_t gone = 0;
    if (spec->kind == STREAM_TRIM_NONE) return 0;
    if (spec->kind == STREAM_TRIM_MAXLEN ? s->length <= spec->maxlen : streamIdCmp(s->first_id, spec->minid) >= 0)
        return 0;
    while (s->tail) {
        streamId key;
        uint8_t *lp = firstNode(s, &key);
        uint64_t live = streamNodeLive(lp);
        if (spec->kind == STREAM_TRIM_MAXLEN && s->length <= spec->maxlen) break;
        if (spec->limit && gone + live > spec->limit) break;
        if (!wholeNodeGoes(s, spec, lp, key)) {
            if (!spec->approximate) gone += trimFirstNode(s, spec, lp, key);
            break;
        }
        if (lp == s->tail) dropTail(s);
        else dropNode(s, key);
        s->length -= live;
        gone += live;
    }
    if (gone) streamFindFirst(s);
    return gone;
}

/* ---- Iterator ---------------------------------------------------------------------------------------------------- */

/* Enter a node; where the range begins in it is found on the way. */
static void enterNode(streamIterator *it, streamId key, const uint8_t *lp) {
    streamNodeMaster m;
    streamNodeReadMaster(lp, &m);
    it->key = key;
    it->lp = lp;
    it->fields = m.fields;
    it->field_count = m.field_count;
    it->entries = m.entries;
    it->next = it->backward ? streamNodeLastEntry(lp, &m) : m.entries;
}

static void enterTail(streamIterator *it) {
    it->in_tail = true;
    enterNode(it, it->s->tail_key, it->s->tail);
}

static void enterTreeNode(streamIterator *it) {
    it->in_tail = false;
    enterNode(it, streamIdFromBytes((const uint8_t *)raxIterKey(&it->nodes).ptr), raxIterValue(&it->nodes));
}

static void walkTree(streamIterator *it) {
    if (it->walking) return;
    raxIterBegin(&it->nodes, it->s->nodes);
    it->walking = true;
}

/* Go to the node behind, or before. */
static bool nextNode(streamIterator *it) {
    if (!it->backward) {
        if (it->in_tail) return false;
        if (raxIterNext(&it->nodes)) enterTreeNode(it);
        else enterTail(it);
        return true;
    }
    if (it->in_tail && !hasNodes(it->s)) return false;
    bool more;
    if (it->in_tail) {
        walkTree(it);
        more = raxIterSeek(&it->nodes, RAX_SEEK_LAST, sliceStr(""));
    } else {
        more = raxIterPrev(&it->nodes);
    }
    if (more) enterTreeNode(it);
    return more;
}

void streamIterBegin(streamIterator *it, const stream *s, streamId start, streamId end, bool backward) {
    it->s = s;
    it->start = start;
    it->end = end;
    it->backward = backward;
    it->in_tail = true;
    it->walking = false;
    it->next = NULL;
    it->left = 0;
    it->lp = NULL;
    if (!s->tail || streamIdCmp(start, end) > 0) return;
    streamId from = backward ? end : start;
    if (!hasNodes(s) || streamIdCmp(s->tail_key, from) <= 0) {
        enterTail(it);
        return;
    }
    uint8_t bytes[STREAM_ID_BYTES];
    streamIdToBytes(from, bytes);
    walkTree(it);
    if (raxIterSeek(&it->nodes, RAX_SEEK_LE, sliceOf(bytes, sizeof(bytes)))) enterTreeNode(it);
    else if (!backward && raxIterSeek(&it->nodes, RAX_SEEK_FIRST, sliceStr(""))) enterTreeNode(it);
}

bool streamIterNext(streamIterator *it, streamId *id, size_t *fields) {
    streamNodeMaster m = {.field_count = it->field_count, .fields = it->fields, .entries = it->entries};
    streamNodeEntry e;
    for (;;) {
        if (!it->next) {
            /* Nothing was entered, or all of a node has been seen. */
            if (!it->lp) return false;
            if (!nextNode(it)) {
                it->lp = NULL;
                return false;
            }
            m = (streamNodeMaster){.field_count = it->field_count, .fields = it->fields, .entries = it->entries};
            continue;
        }
        streamNodeReadEntry(&m, it->key, it->next, &e);
        it->next = it->backward ? streamNodePrevEntry(it->lp, &m, e.at) : streamNodeNextEntry(&e);
        bool before = streamIdCmp(e.id, it->start)<0, behind = streamIdCmp(e.id, it->end)> 0;
        if (it->backward ? before : behind) {
            it->next = NULL;
            it->lp = NULL;
            return false;
        }
        if (!before && !behind && !e.deleted) break;
    }
    it->at = e.at;
    it->same_fields = e.same_fields;
    it->field_at = e.same_fields ? it->fields : e.data;
    it->value_at = e.same_fields ? e.data : NULL;
    it->left = e.field_count;
    *id = e.id;
    *fields = e.field_count;
    return true;
}

void streamIterField(streamIterator *it, slice *field, slice *value, char field_buf[LONG_STR_SIZE],
                     char value_buf[LONG_STR_SIZE]) {
    debugAssert(it->left > 0);
    it->left--;
    *field = listpackText(it->field_at, field_buf);
    const uint8_t *value_at = it->same_fields ? it->value_at : listpackNext(it->field_at);
    *value = listpackText(value_at, value_buf);
    if (it->same_fields) {
        it->field_at = listpackNext(it->field_at);
        it->value_at = listpackNext(value_at);
    } else {
        it->field_at = listpackNext(value_at);
    }
}

void streamIterEnd(streamIterator *it) {
    if (it->walking) raxIterEnd(&it->nodes);
}
