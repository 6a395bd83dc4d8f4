/* value_stream_log.c -- the log of a stream: nodes of entries, in the order of their IDs.
 *
 *   stream --- nodes: rax   first ID -> node   first ID -> node   first ID -> node
 *          \-- tail: the last node, which is not in the tree
 *
 * Appending goes to the tail, without a search in the tree. A full tail is made bare (listpack.h),
 * which is a sixth to a third smaller, in a block of exactly its size, and added to the tree; the next tail begins with
 * the capacity of that one. A node of more than LISTPACK_BARE_MAX bytes stays a listpack.
 *
 * Not here    the layout of a node (value_stream_node.c), groups (value_stream_groups.c), RDB (value_stream_rdb.c), the
 *             operations of the type (value_stream_type.c).
 * Owns        nothing: a stream belongs to its entry in the keyspace.
 * Threads     as object.c.
 * Invariants  1. Without a tail there is no node and no entry.
 *             2. A node's key is not above its entries; the next node's key is above them. last_id is not below any
 *                entry.
 *             3. length is the sum of the nodes' live entries. Only a trim can leave a node without live entries:
 *                if its last entry is above the limit.
 *             4. first_id is the ID of the first live entry, 0-0 if there is none.
 * Cost        append: at most the copy of a node. Range: O(log nodes), and the entries of one node before the first.
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

slice streamIdBytes(streamId id, uint8_t buf[STREAM_ID_BYTES]) {
    storeLe64(buf, __builtin_bswap64(id.ms));
    storeLe64(buf + 8, __builtin_bswap64(id.seq));
    return sliceOf(buf, STREAM_ID_BYTES);
}

streamId streamIdFromBytes(const void *bytes) {
    const char *at = bytes;
    return (streamId){__builtin_bswap64(loadLe64(at)), __builtin_bswap64(loadLe64(at + 8))};
}

/* ---- Nodes ------------------------------------------------------------------------------------------------------- */

stream *streamCreate(void) {
    stream *s = zmalloc(sizeof(*s));
    *s = (stream){.tree_nodes = streamShapeEmpty()};
    return s;
}

static bool hasNodes(const stream *s) { return s->nodes && raxSize(s->nodes) > 0; }

size_t streamNodeCount(const stream *s) { return (s->nodes ? raxSize(s->nodes) : 0) + (s->tail ? 1 : 0); }

uint64_t streamTreeNodes(const stream *s) {
    return s->tail ? s->tree_nodes + (uint64_t)streamShapeAdded(s->nodes, s->tail_key) : s->tree_nodes;
}

/* Returns a full node's form in the tree: the lowest bit of the address is set if it is bare. */
static void *sealTake(uint8_t *lp) {
    if (listpackBytes(lp) > LISTPACK_BARE_MAX) return listpackShrinkToFit(lp);
    uint8_t *bare = listpackBare(lp);
    listpackFree(lp);
    return (void *)((uintptr_t)bare | 1);
}

uint8_t *streamNodeBytes(const void *node, bool *bare) {
    *bare = (uintptr_t)node & 1;
    return (uint8_t *)((uintptr_t)node & ~(uintptr_t)1);
}

static uint8_t *unsealTake(void *node) {
    bool bare;
    uint8_t *bytes = streamNodeBytes(node, &bare);
    if (!bare) return bytes;
    uint8_t *lp = listpackOfBare(bytes);
    listpackFree(bytes);
    return lp;
}

void streamKeepTail(stream *s) {
    uint8_t key[STREAM_ID_BYTES];
    if (!s->nodes) s->nodes = raxCreate();
    s->tree_nodes += (uint64_t)streamShapeAdded(s->nodes, s->tail_key);
    serverAssert(raxTryInsert(s->nodes, streamIdBytes(s->tail_key, key), sealTake(s->tail), NULL) == RAX_ADDED);
    s->tail = NULL;
}

/* Frees the tail: the last node of the tree becomes the tail. */
static void dropTail(stream *s) {
    listpackFree(s->tail);
    s->tail = NULL;
    if (!hasNodes(s)) return;
    raxIterator it;
    raxIterBegin(&it, s->nodes);
    serverAssert(raxIterSeek(&it, RAX_SEEK_LAST, sliceStr("")));
    s->tail_key = streamIdFromBytes(raxIterKey(&it).ptr);
    s->tail = unsealTake(raxIterValue(&it));
    raxRemove(s->nodes, raxIterKey(&it), NULL);
    raxIterEnd(&it);
    s->tree_nodes -= (uint64_t)streamShapeAdded(s->nodes, s->tail_key);
}

/* A node of a stream. */
typedef struct foundNode {
    streamId key;
    uint8_t *lp; /* NULL if not found */
    bool bare, in_tree;
} foundNode;

static foundNode tailNode(const stream *s) { return (foundNode){.key = s->tail_key, .lp = s->tail}; }

static foundNode treeNode(const raxIterator *it) {
    foundNode n = {.key = streamIdFromBytes(raxIterKey(it).ptr), .in_tree = true};
    n.lp = streamNodeBytes(raxIterValue(it), &n.bare);
    return n;
}

static void dropNode(stream *s, const foundNode *n) {
    if (n->in_tree) {
        uint8_t bytes[STREAM_ID_BYTES];
        serverAssert(raxRemove(s->nodes, streamIdBytes(n->key, bytes), NULL));
        s->tree_nodes -= (uint64_t)streamShapeAdded(s->nodes, n->key);
        listpackFree(n->lp);
    } else {
        dropTail(s);
    }
}

/* Returns the node that would contain this ID. */
static foundNode nodeOf(const stream *s, streamId id) {
    foundNode n = {.lp = NULL};
    if (!s->tail) return n;
    if (streamIdCmp(s->tail_key, id) <= 0) return tailNode(s);
    if (!hasNodes(s)) return n;
    uint8_t bytes[STREAM_ID_BYTES];
    raxIterator it;
    raxIterBegin(&it, s->nodes);
    if (raxIterSeek(&it, RAX_SEEK_LE, streamIdBytes(id, bytes))) n = treeNode(&it);
    raxIterEnd(&it);
    return n;
}

static foundNode firstNode(const stream *s) {
    if (!hasNodes(s)) return tailNode(s);
    raxIterator it;
    serverAssert(raxIterFirst(&it, s->nodes));
    foundNode n = treeNode(&it);
    raxIterEnd(&it);
    return n;
}

/* Updates the tree when a node has moved, or is no longer bare. */
static void setInTree(stream *s, streamId key, void *node) {
    uint8_t bytes[STREAM_ID_BYTES];
    void **ref = raxFindRef(s->nodes, streamIdBytes(key, bytes));
    serverAssert(ref);
    *ref = node;
}

/* ---- Append ------------------------------------------------------------------------------------------------------ */

/* Returns whether the tail is too full for an entry of this size. */
static bool tailIsFull(const stream *s, size_t bytes) {
    size_t bytes_max = LISTPACK_BYTES_MAX;
    if (object_settings.stream_node_max_bytes && (uint64_t)object_settings.stream_node_max_bytes < bytes_max)
        bytes_max = (size_t)object_settings.stream_node_max_bytes;
    if (listpackBytes(s->tail) + bytes >= bytes_max) return true;
    uint64_t entries_max = (uint64_t)object_settings.stream_node_max_entries;
    return entries_max && streamNodeEntries(s->tail) >= entries_max;
}

#define ENTRY_OVERHEAD 64 /* bytes of numbers in a node and an entry */

size_t streamAppendNeeds(const stream *s, size_t bytes, size_t count) {
    size_t node = 2 * bytes + 20 * count + ENTRY_OVERHEAD;
    return s && s->tail ? node + listpackBytes(s->tail) : node;
}

static size_t bytesOf(const slice *pairs, size_t count) {
    size_t bytes = 0;
    for (size_t i = 0; i < count; i++) bytes += pairs[i].len;
    return bytes;
}

#define CAPACITY_AHEAD_MAX 65536

bool streamAppend(stream *s, streamId id, const slice *pairs, size_t count) {
    size_t bytes = bytesOf(pairs, count), capacity = 0;
    debugAssert(streamIdCmp(id, s->last_id) > 0);
    uint8_t *lp = s->tail;
    streamId key = s->tail_key;
    if (lp && tailIsFull(s, bytes)) {
        capacity = listpackBytes(lp);
        if (capacity > CAPACITY_AHEAD_MAX) capacity = CAPACITY_AHEAD_MAX;
        lp = NULL;
    }
    if (lp) {
        lp = streamNodeAppend(lp, key, id, pairs, count);
        if (!lp) return false;
        s->tail = lp;
    } else {
        uint8_t *fresh = streamNodeCreate(pairs, count, capacity);
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

/* Marks an entry as deleted, in place if the node is bare and that is possible. Otherwise the node becomes a listpack,
 * which may move, and e->at is updated; the stream does not refer to it until closeNode(). */
static void markInNode(foundNode *n, streamNodeEntry *e) {
    if (n->bare) {
        if (streamNodeDeleteBare(n->lp, e->at)) return;
        streamId id = e->id;
        uint8_t *lp = listpackOfBare(n->lp);
        listpackFree(n->lp);
        n->lp = lp;
        n->bare = false;
        serverAssert(streamNodeFind(lp, false, n->key, id, e));
    }
    size_t offset = (size_t)(e->at - n->lp), before = listpackBytes(n->lp);
    n->lp = streamNodeDelete(n->lp, e->at);
    serverAssert(n->lp);
    e->at = n->lp + offset + (listpackBytes(n->lp) - before);
}

static void closeNode(stream *s, const foundNode *n) {
    if (n->bare) return;
    if (n->in_tree) setInTree(s, n->key, sealTake(n->lp));
    else s->tail = n->lp;
}

bool streamDelete(stream *s, streamId id) {
    streamNodeEntry e;
    foundNode n = nodeOf(s, id);
    if (!n.lp || !streamNodeFind(n.lp, n.bare, n.key, id, &e)) return false;
    if (streamNodeLive(n.lp) > 1) {
        markInNode(&n, &e);
        closeNode(s, &n);
    } else {
        dropNode(s, &n);
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

static streamId lastOfNode(const foundNode *n) {
    streamNodeMaster m;
    streamNodeEntry e;
    streamNodeReadMaster(n->lp, n->bare, &m);
    streamNodeReadEntry(&m, n->key, streamNodeLastEntry(n->lp, &m), &e);
    return e.id;
}

/* Returns whether the first entry, which has this ID, is within the limit of the trim. */
static bool isKept(const stream *s, const streamTrimSpec *spec, streamId first) {
    return spec->kind == STREAM_TRIM_MAXLEN ? s->length <= spec->maxlen : streamIdCmp(first, spec->minid) >= 0;
}

/* Marks entries at the start of the first node as deleted, but not its last one. *known: the next entry is the stream's
 * first one, and first_id is set. */
static uint64_t trimFirstNode(stream *s, const streamTrimSpec *spec, foundNode *n, bool *known) {
    uint64_t deleted = 0;
    streamNodeMaster m;
    streamNodeEntry e;
    bool stays = false;
    streamNodeReadMaster(n->lp, n->bare, &m);
    for (const uint8_t *at = m.entries; at && streamNodeLive(n->lp) > 0; at = streamNodeNextEntry(&m, &e)) {
        streamNodeReadEntry(&m, n->key, at, &e);
        stays = stays || isKept(s, spec, e.id);
        if (e.deleted) continue;
        if (stays) {
            s->first_id = e.id;
            *known = true;
            break;
        }
        markInNode(n, &e);
        if (!n->bare) {
            streamNodeReadMaster(n->lp, false, &m);
            streamNodeReadEntry(&m, n->key, e.at, &e);
        }
        s->length--;
        deleted++;
    }
    closeNode(s, n);
    return deleted;
}

uint64_t streamTrim(stream *s, const streamTrimSpec *spec) {
    uint64_t deleted = 0;
    bool first_known = false;
    if (spec->kind == STREAM_TRIM_NONE || isKept(s, spec, s->first_id)) return 0;
    while (s->tail) {
        foundNode n = firstNode(s);
        uint64_t live = streamNodeLive(n.lp);
        if (spec->kind == STREAM_TRIM_MAXLEN && s->length <= spec->maxlen) break;
        if (spec->limit && deleted + live > spec->limit) break;
        bool all = spec->kind == STREAM_TRIM_MAXLEN ? s->length - live >= spec->maxlen
                                                    : streamIdCmp(lastOfNode(&n), spec->minid) < 0;
        if (!all) {
            if (!spec->approximate) deleted += trimFirstNode(s, spec, &n, &first_known);
            break;
        }
        dropNode(s, &n);
        s->length -= live;
        deleted += live;
    }
    if (deleted && !first_known) streamFindFirst(s);
    return deleted;
}

/* ---- Iterator ---------------------------------------------------------------------------------------------------- */

/* Enters a node; the walk skips entries before the start of the range. */
static void enterNode(streamIterator *it, streamId key, const uint8_t *lp, bool bare) {
    streamNodeMaster m;
    streamNodeReadMaster(lp, bare, &m);
    it->key = key;
    it->lp = lp;
    it->bare = bare;
    it->fields = m.fields;
    it->field_count = m.field_count;
    it->entries = m.entries;
    it->next = it->backward ? streamNodeLastEntry(lp, &m) : m.entries;
}

static void enterTail(streamIterator *it) {
    it->in_tail = true;
    enterNode(it, it->s->tail_key, it->s->tail, false);
}

static void enterTreeNode(streamIterator *it) {
    foundNode n = treeNode(&it->nodes);
    it->in_tail = false;
    if (it->backward && n.bare) {
        listpackFree(it->copy);
        n.lp = it->copy = listpackOfBare(n.lp);
        n.bare = false;
    }
    enterNode(it, n.key, n.lp, n.bare);
}

static void walkTree(streamIterator *it) {
    if (it->walking) return;
    raxIterBegin(&it->nodes, it->s->nodes);
    it->walking = true;
}

/* Goes to the next node in the direction of the walk. */
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

static void valueLogReset(streamIterator *it, const stream *s, streamId start, streamId end, bool backward) {
    it->s = s;
    it->start = start;
    it->end = end;
    it->backward = backward;
    it->in_tail = true;
    it->walking = false;
    it->next = NULL;
    it->left = 0;
    it->bare = false;
    it->lp = it->fields = it->entries = NULL;
    it->field_count = 0;
    it->copy = NULL;
}

void streamIterBegin(streamIterator *it, const stream *s, streamId start, streamId end, bool backward) {
    valueLogReset(it, s, start, end, backward);
    if (!s->tail || streamIdCmp(start, end) > 0) return;
    streamId from = backward ? end : start;
    if (!hasNodes(s) || streamIdCmp(s->tail_key, from) <= 0) {
        enterTail(it);
        return;
    }
    uint8_t bytes[STREAM_ID_BYTES];
    walkTree(it);
    if (raxIterSeek(&it->nodes, RAX_SEEK_LE, streamIdBytes(from, bytes))) enterTreeNode(it);
    else if (!backward && raxIterSeek(&it->nodes, RAX_SEEK_FIRST, sliceStr(""))) enterTreeNode(it);
}

static inline streamNodeMaster masterOf(const streamIterator *it) {
    return (streamNodeMaster){
        .bare = it->bare, .field_count = it->field_count, .fields = it->fields, .entries = it->entries};
}

/* Makes the entry the current one, whose fields are read. */
static inline void valueLogTakeEntry(streamIterator *it, const streamNodeEntry *e) {
    it->at = e->at;
    it->same_fields = e->same_fields;
    it->field_at = e->same_fields ? it->fields : e->data;
    it->value_at = e->same_fields ? e->data : NULL;
    it->left = e->field_count;
}

bool streamIterNext(streamIterator *it, streamId *id, size_t *fields) {
    streamNodeMaster m = masterOf(it);
    streamNodeEntry e;
    for (;;) {
        if (!it->next) {
            /* No node was entered yet, or all of it has been visited. */
            if (!it->lp) return false;
            if (!nextNode(it)) {
                it->lp = NULL;
                return false;
            }
            m = masterOf(it);
            continue;
        }
        streamNodeReadEntry(&m, it->key, it->next, &e);
        it->next = it->backward ? streamNodePrevEntry(it->lp, &m, e.at) : streamNodeNextEntry(&m, &e);
        bool before = streamIdCmp(e.id, it->start)<0, after = streamIdCmp(e.id, it->end)> 0;
        if (it->backward ? before : after) {
            it->next = NULL;
            it->lp = NULL;
            return false;
        }
        if (!before && !after && !e.deleted) break;
    }
    valueLogTakeEntry(it, &e);
    *id = e.id;
    *fields = e.field_count;
    return true;
}

void streamFindBegin(streamIterator *it, const stream *s) { valueLogReset(it, s, STREAM_ID_MIN, STREAM_ID_MAX, false); }

/* Entries that are passed before the tree is searched for the ID's node. */
#define FIND_STEPS 8

/* Returns whether the search can continue: it->start is the previous ID, and it->next the first entry above it. */
static bool isAhead(const streamIterator *it, streamId id) {
    return it->next && streamIdCmp(id, it->start) > 0 && (it->in_tail || streamIdCmp(id, it->s->tail_key) < 0);
}

/* Enters the node that would contain the ID, unless the iterator is in it already. */
static void findNode(streamIterator *it, streamId id, bool is_inside) {
    foundNode n = nodeOf(it->s, id);
    if (is_inside && streamIdCmp(n.key, it->key) == 0) return;
    it->next = NULL;
    it->in_tail = !n.in_tree;
    if (n.lp) enterNode(it, n.key, n.lp, n.bare);
}

bool streamFind(streamIterator *it, streamId id, size_t *fields) {
    streamNodeEntry e;
    bool sought = !isAhead(it, id);
    it->start = id;
    if (sought) findNode(it, id, false);
    for (unsigned steps = 0;; steps++) {
        if (!sought && (!it->next || steps == FIND_STEPS)) {
            findNode(it, id, true);
            sought = true;
        }
        if (!it->next) return false;
        streamNodeMaster m = masterOf(it);
        streamNodeReadEntry(&m, it->key, it->next, &e);
        int order = streamIdCmp(e.id, id);
        if (order > 0) return false;
        it->next = streamNodeNextEntry(&m, &e);
        if (order == 0) break;
    }
    if (e.deleted) return false;
    valueLogTakeEntry(it, &e);
    *fields = e.field_count;
    return true;
}

static inline const uint8_t *nextIn(const streamIterator *it, const uint8_t *at) {
    return it->bare ? listpackBareNext(at) : listpackNext(at);
}

void streamIterField(streamIterator *it, slice *field, slice *value, char field_buf[LONG_STR_SIZE],
                     char value_buf[LONG_STR_SIZE]) {
    debugAssert(it->left > 0);
    it->left--;
    *field = listpackText(it->field_at, field_buf);
    const uint8_t *value_at = it->same_fields ? it->value_at : nextIn(it, it->field_at);
    *value = listpackText(value_at, value_buf);
    if (it->same_fields) {
        it->field_at = nextIn(it, it->field_at);
        it->value_at = nextIn(it, value_at);
    } else {
        it->field_at = nextIn(it, value_at);
    }
}

void streamIterEnd(streamIterator *it) {
    if (it->walking) raxIterEnd(&it->nodes);
    listpackFree(it->copy);
}
