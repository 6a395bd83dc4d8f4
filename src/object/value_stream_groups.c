/* value_stream_groups.c -- consumer groups and their consumers.
 *
 * Not here    pending entries (value_stream_pending.c).
 * Owns        nothing: groups belong to their stream.
 * Threads     as object.c.
 * Invariants  those of value_stream_pending.c.
 * Tests       tests/unit/object/value_stream_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "value_stream_groups.h"

#include "panic.h"
#include "value_stream_internal.h"
#include "zmalloc.h"

/* ---- Groups ------------------------------------------------------------------------------------------------------ */

streamGroup *streamGroupCreate(stream *s, slice name, streamId last, uint64_t entries_read) {
    streamGroup *g = zmalloc(sizeof(*g));
    *g = (streamGroup){.last_id = last, .entries_read = entries_read, .idle_floor_ms = INT64_MAX};
    if (!s->groups) s->groups = raxCreate();
    if (raxTryInsert(s->groups, name, g, NULL) != RAX_ADDED) {
        zfree(g);
        return NULL;
    }
    g->blocks = raxCreate();
    g->consumers = raxCreate();
    return g;
}

streamGroup *streamGroupFind(const stream *s, slice name) {
    void *g;
    return s->groups && raxFind(s->groups, name, &g) ? g : NULL;
}

static void freeConsumer(void *p) {
    streamConsumer *c = p;
    raxRelease(c->blocks, NULL);
    zfree(c);
}

void streamGroupFree(streamGroup *g) {
    raxRelease(g->consumers, freeConsumer);
    raxRelease(g->blocks, zfree);
    zfree(g);
}

bool streamGroupDestroy(stream *s, slice name) {
    void *g;
    if (!s->groups || !raxRemove(s->groups, name, &g)) return false;
    streamGroupFree(g);
    return true;
}

size_t streamGroupCount(const stream *s) { return s->groups ? raxSize(s->groups) : 0; }

static void dupGroup(stream *to, slice name, const streamGroup *from) {
    streamGroup *g = streamGroupCreate(to, name, from->last_id, from->entries_read);
    serverAssert(g);
    raxIterator it;
    for (bool on = raxIterFirst(&it, from->consumers); on; on = raxIterNext(&it)) {
        const streamConsumer *c = raxIterValue(&it);
        streamConsumer *copy = streamConsumerCreate(g, streamConsumerName(c), c->seen_ms);
        serverAssert(copy);
        copy->active_ms = c->active_ms;
    }
    raxIterEnd(&it);
    streamPendingWalk w;
    streamPendingFrom(&w, from, NULL, STREAM_ID_MIN);
    for (const streamPending *p; (p = streamPendingNext(&w));) {
        streamPending *copy = streamPendingAdd(g, p->id, streamConsumerFind(g, streamConsumerName(p->consumer)));
        streamPendingDeliver(g, copy, p->delivered_ms);
        copy->deliveries = p->deliveries;
    }
}

void streamGroupsDup(stream *to, const stream *from) {
    raxIterator it;
    for (bool on = raxIterFirst(&it, from->groups); on; on = raxIterNext(&it))
        dupGroup(to, raxIterKey(&it), raxIterValue(&it));
    raxIterEnd(&it);
}

/* ---- Read position of a group ------------------------------------------------------------------------------------ */

/* Returns whether an entry after `id` was deleted, so that the difference of counts is not the number of entries. */
static bool isDeletedAfter(const stream *s, streamId id) {
    if (s->length == 0 || streamIdIsZero(s->max_deleted_id)) return false;
    return streamIdCmp(id, s->max_deleted_id) <= 0;
}

uint64_t streamEntriesUpTo(const stream *s, streamId id) {
    if (s->entries_added == 0) return 0;
    if (s->length == 0 && streamIdCmp(id, s->last_id) < 1) return s->entries_added;
    if (!streamIdIsZero(id) && streamIdCmp(id, s->max_deleted_id) < 0) return STREAM_READ_UNKNOWN;
    int order = streamIdCmp(id, s->last_id);
    if (order == 0) return s->entries_added;
    if (order > 0) return STREAM_READ_UNKNOWN;
    bool no_gap = streamIdIsZero(s->max_deleted_id) || streamIdCmp(s->max_deleted_id, s->first_id) < 0;
    order = streamIdCmp(id, s->first_id);
    if (!no_gap || order > 0) return STREAM_READ_UNKNOWN;
    return s->entries_added - s->length + (order == 0 ? 1 : 0);
}

/* Returns whether the group's own count is valid for the entries after its position: not if some of these were
 * deleted. */
static bool countHolds(const stream *s, const streamGroup *g) {
    return g->entries_read != STREAM_READ_UNKNOWN && !isDeletedAfter(s, g->last_id);
}

void streamGroupAdvance(const stream *s, streamGroup *g, streamId id) {
    if (countHolds(s, g) && streamIdCmp(g->last_id, s->first_id) >= 0) g->entries_read++;
    else if (s->entries_added) g->entries_read = streamEntriesUpTo(s, id);
    g->last_id = id;
}

bool streamGroupLag(const stream *s, const streamGroup *g, uint64_t *lag) {
    uint64_t read = STREAM_READ_UNKNOWN;
    if (s->entries_added == 0) read = 0;
    else if (countHolds(s, g)) read = g->entries_read;
    else read = streamEntriesUpTo(s, g->last_id);
    *lag = s->entries_added - read;
    return read != STREAM_READ_UNKNOWN;
}

/* ---- Consumers --------------------------------------------------------------------------------------------------- */

streamConsumer *streamConsumerCreate(streamGroup *g, slice name, int64_t seen_ms) {
    streamConsumer *c = ztrymalloc(sizeof(*c) + name.len);
    if (!c) return NULL;
    *c = (streamConsumer){.seen_ms = seen_ms, .active_ms = STREAM_NEVER, .name_len = name.len};
    if (name.len) memcpy(c->name, name.ptr, name.len);
    if (raxTryInsert(g->consumers, name, c, NULL) != RAX_ADDED) {
        zfree(c);
        return NULL;
    }
    c->blocks = raxCreate();
    return c;
}

streamConsumer *streamConsumerFind(const streamGroup *g, slice name) {
    void *c;
    return raxFind(g->consumers, name, &c) ? c : NULL;
}

size_t streamConsumerDelete(streamGroup *g, streamConsumer *c) {
    size_t pending = c->pending;
    streamPendingRemoveAllOf(g, c);
    raxRemove(g->consumers, streamConsumerName(c), NULL);
    freeConsumer(c);
    return pending;
}
