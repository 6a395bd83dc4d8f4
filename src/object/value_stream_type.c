/* value_stream_type.c -- the stream type's operations for the keyspace.
 *
 * Not here    entries (value_stream_log.c), groups (value_stream_groups.c), RDB (value_stream_rdb.c).
 * Owns        nothing.
 * Threads     a thread that alone knows a stream may free it; otherwise main.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "digest.h"
#include "panic.h"
#include "value_stream_groups.h"
#include "value_stream_idmp.h"
#include "value_stream_internal.h"
#include "value_stream_node.h"
#include "zmalloc.h"

static void freeNode(void *node) {
    bool bare;
    listpackFree(streamNodeBytes(node, &bare));
}

static void freeGroup(void *g) { streamGroupFree(g); }

void streamFree(stream *s) {
    if (s->nodes) raxRelease(s->nodes, freeNode);
    if (s->groups) raxRelease(s->groups, freeGroup);
    streamIdmpFree(s->idmp);
    listpackFree(s->tail);
    zfree(s);
}

static void freeStructure(void *structure) { streamFree(structure); }

/* Counts the nodes and the tree above them; for the groups, their number times the allocations of the first one. */
static size_t freeEffort(const void *structure) {
    const stream *s = structure;
    size_t effort = 1 + (s->nodes ? raxFreeEffort(s->nodes) + raxSize(s->nodes) : 0) + streamIdmpFreeEffort(s->idmp);
    raxIterator it;
    if (raxIterFirst(&it, s->groups)) {
        const streamGroup *g = raxIterValue(&it);
        effort += raxSize(s->groups) * (1 + raxSize(g->blocks) + raxSize(g->consumers));
    }
    raxIterEnd(&it);
    return effort;
}

/* Returns the bytes of all values of a tree, estimated from the first `samples` of them (0: all). */
static size_t sampledBytes(const rax *tree, size_t samples, size_t (*bytes_of)(const void *value)) {
    size_t n = 0, bytes = 0;
    raxIterator it;
    bool on = raxIterFirst(&it, tree);
    for (; on && (samples == 0 || n < samples); on = raxIterNext(&it), n++) bytes += bytes_of(raxIterValue(&it));
    raxIterEnd(&it);
    if (n && n < raxSize(tree)) bytes = (size_t)((double)bytes / (double)n * (double)raxSize(tree));
    return bytes;
}

static size_t consumerBytes(const void *consumer) {
    return zmallocSize(consumer) + raxMemUsage(((const streamConsumer *)consumer)->blocks);
}

static size_t groupBytes(const void *group) {
    const streamGroup *g = group;
    return zmallocSize(g) + raxMemUsage(g->blocks) + sampledBytes(g->blocks, 0, zmallocSize) +
           raxMemUsage(g->consumers) + sampledBytes(g->consumers, 0, consumerBytes);
}

static size_t nodeBytes(const void *node) {
    bool bare;
    return zmallocSize(streamNodeBytes(node, &bare));
}

static size_t memUsage(const void *structure, size_t samples) {
    const stream *s = structure;
    size_t bytes = zmallocSize(s) + (s->tail ? zmallocSize(s->tail) : 0) + streamIdmpBytes(s->idmp);
    if (s->nodes) bytes += raxMemUsage(s->nodes) + sampledBytes(s->nodes, samples, nodeBytes);
    if (s->groups) bytes += raxMemUsage(s->groups) + sampledBytes(s->groups, samples, groupBytes);
    return bytes;
}

static uint8_t *dupNode(const uint8_t *lp) {
    uint8_t *copy = listpackDup(lp);
    serverAssert(copy);
    return copy;
}

/* Returns a copy as a listpack. */
static uint8_t *dupTreeNode(const void *node) {
    bool bare;
    const uint8_t *bytes = streamNodeBytes(node, &bare);
    return bare ? listpackOfBare(bytes) : dupNode(bytes);
}

stream *streamDup(const stream *s) {
    stream *copy = streamCreate();
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->nodes); on; on = raxIterNext(&it)) {
        copy->tail_key = streamIdFromBytes(raxIterKey(&it).ptr);
        copy->tail = dupTreeNode(raxIterValue(&it));
        streamKeepTail(copy);
    }
    raxIterEnd(&it);
    copy->tail_key = s->tail_key;
    copy->tail = s->tail ? dupNode(s->tail) : NULL;
    copy->last_id = s->last_id;
    copy->first_id = s->first_id;
    copy->max_deleted_id = s->max_deleted_id;
    copy->length = s->length;
    copy->entries_added = s->entries_added;
    streamGroupsDup(copy, s);
    copy->idmp = streamIdmpDup(s->idmp);
    return copy;
}

static void *dupStructure(const void *structure) { return streamDup(structure); }

/* Prefetches the header, and the position of the next entry. */
static void prefetchHeader(const void *structure) {
    prefetchRead(structure);
    prefetchRead((const char *)structure + CACHE_LINE);
}

/* Digests entries in order: "ms.seq", fields and values. Groups are left out. */
static void digestStructure(const void *structure, int encoding, struct digest *d) {
    streamIterator it;
    streamId id;
    size_t fields;
    char text[STREAM_ID_TEXT_SIZE], field_buf[LONG_STR_SIZE], value_buf[LONG_STR_SIZE];
    unused(encoding);
    streamIterBegin(&it, structure, STREAM_ID_MIN, STREAM_ID_MAX, false);
    while (streamIterNext(&it, &id, &fields)) {
        slice id_text = streamIdText(id, text), field, value;
        *(char *)memchr(text, '-', id_text.len) = '.';
        digestMix(d, id_text);
        for (; fields; fields--) {
            streamIterField(&it, &field, &value, field_buf, value_buf);
            digestMix(d, field);
            digestMix(d, value);
        }
    }
    streamIterEnd(&it);
}

static void checkNode(const stream *s, streamId key, const uint8_t *lp, streamId *last, uint64_t *length) {
    serverAssert(streamIdIsZero(*last) || streamIdCmp(*last, key) < 0);
    serverAssert(streamNodeEntries(lp) > 0);
    serverAssert(streamNodeValidate(lp, listpackBytes(lp), key, last, true));
    serverAssert(streamIdCmp(*last, s->last_id) <= 0);
    *length += streamNodeLive(lp);
}

static void checkTreeNode(const stream *s, streamId key, const void *node, streamId *last, uint64_t *length) {
    uint8_t *lp = dupTreeNode(node);
    checkNode(s, key, lp, last, length);
    listpackFree(lp);
}

static void checkStructure(const void *structure, int encoding) {
    const stream *s = structure;
    streamId last = STREAM_ID_MIN;
    uint64_t length = 0;
    serverAssert(encoding == OBJ_ENC_STREAM);
    serverAssert(s->tail || !s->nodes || raxSize(s->nodes) == 0);
    raxIterator it;
    for (bool on = raxIterFirst(&it, s->nodes); on; on = raxIterNext(&it))
        checkTreeNode(s, streamIdFromBytes(raxIterKey(&it).ptr), raxIterValue(&it), &last, &length);
    raxIterEnd(&it);
    if (s->tail) checkNode(s, s->tail_key, s->tail, &last, &length);
    serverAssert(length == s->length);
    for (bool on = raxIterFirst(&it, s->groups); on; on = raxIterNext(&it)) streamGroupCheck(raxIterValue(&it));
    raxIterEnd(&it);
    streamIdmpCheck(s->idmp);
}

static void defragNode(raxIterator *it, rax *nodes, blockMover *move) {
    bool bare;
    uint8_t *moved = move(streamNodeBytes(raxIterValue(it), &bare));
    if (moved) raxIterSetValue(it, nodes, (void *)((uintptr_t)moved | bare));
}

/* Offers the header, the tail and `budget` of the nodes; the cursor is the ID of the next one. The tree itself and
 * groups do not move. */
static bool defragStream(void **structure, defragCursor *cursor, size_t budget, blockMover *move) {
    streamId from = {cursor->at, cursor->phase};
    if (streamIdIsZero(from)) {
        void *moved = move(*structure);
        if (moved) *structure = moved;
    }
    stream *s = *structure;
    uint8_t key[STREAM_ID_BYTES], *tail = s->tail && streamIdIsZero(from) ? move(s->tail) : NULL;
    if (tail) s->tail = tail;
    if (!s->nodes) return true;
    raxIterator it;
    raxIterBegin(&it, s->nodes);
    bool on = raxIterSeek(&it, RAX_SEEK_GE, streamIdBytes(from, key));
    for (; on && budget; on = raxIterNext(&it), budget--) defragNode(&it, s->nodes, move);
    if (on) from = streamIdFromBytes(raxIterKey(&it).ptr);
    raxIterEnd(&it);
    *cursor = (defragCursor){.at = from.ms, .phase = from.seq};
    return !on;
}

const objectTypeOps stream_type_ops = {
    .free = freeStructure,
    .freeEffort = freeEffort,
    .memUsage = memUsage,
    .dup = dupStructure,
    .prefetch = prefetchHeader,
    .digest = digestStructure,
    .rdbType = streamRdbType,
    .rdbWrite = streamRdbWrite,
    .rdbRead = streamRdbRead,
    .check = checkStructure,
    .defrag = defragStream,
};
