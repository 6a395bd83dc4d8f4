/* value_stream_groups.h -- consumer groups of a stream, their consumers, and pending entries: delivered, not
 * acknowledged.
 *
 *   stream.groups --name--> streamGroup --+-- consumers --name--> streamConsumer
 *                                         |                            | blocks: in which it has entries
 *                                         +-- blocks --first ID--> [ ID consumer time count | ID ... | ... ]
 *
 * A pending entry is stored once, in a block of the group, in the order of IDs.
 *
 * Runs on: main; functions that take const structures change nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_GROUPS_H
#define OBJECT_VALUE_STREAM_GROUPS_H

#include "value_stream.h"

#define STREAM_READ_UNKNOWN UINT64_MAX /* entries_read: not known */
#define STREAM_NEVER (-1)              /* active_ms */

typedef struct streamConsumer {
    int64_t seen_ms;   /* last attempt, in milliseconds since 1970 */
    int64_t active_ms; /* last success, or STREAM_NEVER */
    size_t pending;
    rax *blocks; /* owned: by the key of a block, the number of the consumer's entries in it */
    size_t name_len;
    char name[];
} streamConsumer;

typedef struct streamPending {
    streamId id;
    streamConsumer *consumer; /* borrowed from the group */
    int64_t delivered_ms;
    uint64_t deliveries;
} streamPending;

/* Entries with IDs from `key` up to the next block's key. */
typedef struct streamBlock {
    streamId key;
    uint32_t count, capacity;
    streamPending entries[];
} streamBlock;

typedef struct streamGroup {
    streamId last_id;
    uint64_t entries_read; /* or STREAM_READ_UNKNOWN */
    size_t pending;
    int64_t idle_floor_ms; /* no entry that can be claimed was delivered before it */
    streamBlock *last;     /* the last block, which is in `blocks`; NULL: none */
    rax *blocks;           /* owns */
    rax *consumers;        /* owns: streamConsumer */
} streamGroup;

/* ---- Groups and consumers ---- */

/* Creates a group. Returns NULL if the name is taken. */
streamGroup *streamGroupCreate(stream *s, slice name, streamId last, uint64_t entries_read);
streamGroup *streamGroupFind(const stream *s, slice name); /* NULL if absent */
/* Deletes a group. Returns false if it is absent. */
bool streamGroupDestroy(stream *s, slice name);
size_t streamGroupCount(const stream *s);
void streamGroupFree(streamGroup *g);
/* Copies all groups to `to`, a copy of the stream `from`. */
void streamGroupsDup(stream *to, const stream *from);

/* Creates a consumer. Returns NULL if the name is taken, or if there is no memory for it. */
streamConsumer *streamConsumerCreate(streamGroup *g, slice name, int64_t seen_ms);
streamConsumer *streamConsumerFind(const streamGroup *g, slice name); /* NULL if absent */
/* Deletes a consumer with its pending entries. Returns their number. */
size_t streamConsumerDelete(streamGroup *g, streamConsumer *c);
static inline slice streamConsumerName(const streamConsumer *c) { return sliceOf(c->name, c->name_len); }

/* Returns how many entries were added up to this one; STREAM_READ_UNKNOWN if that is not known. */
uint64_t streamEntriesUpTo(const stream *s, streamId id);
/* Call when the group has read this entry, the one after last_id. */
void streamGroupAdvance(const stream *s, streamGroup *g, streamId id);
/* Computes how many entries the group has not read. Returns false if that is not known. */
bool streamGroupLag(const stream *s, const streamGroup *g, uint64_t *lag);

/* ---- Pending entries: valid until the next one is added or removed ---- */

streamPending *streamPendingFind(const streamGroup *g, streamId id); /* NULL if absent */
/* Adds a pending entry that is absent; the consumer may be NULL until streamPendingGive(). */
streamPending *streamPendingAdd(streamGroup *g, streamId id, streamConsumer *consumer);
/* Sets when a pending entry was delivered. */
static inline void streamPendingDeliver(streamGroup *g, streamPending *p, int64_t delivered_ms) {
    p->delivered_ms = delivered_ms;
    if (delivered_ms < g->idle_floor_ms) g->idle_floor_ms = delivered_ms;
}
/* Removes a pending entry. Returns false if it is absent. */
bool streamPendingRemove(streamGroup *g, streamId id);
/* Assigns the entry to another consumer. */
void streamPendingGive(streamGroup *g, streamPending *p, streamConsumer *consumer);

/* A walk over the entries of the group, or of one consumer (NULL: of all), from an ID on. Begin again after a
 * change. */
typedef struct streamPendingWalk {
    const streamGroup *group;
    const streamConsumer *consumer;
    streamBlock *block; /* NULL at the end */
    uint32_t at;
} streamPendingWalk;
/* Begins a walk at an ID; `c` NULL: over all consumers. */
void streamPendingFrom(streamPendingWalk *w, const streamGroup *g, const streamConsumer *c, streamId from);
streamPending *streamPendingNext(streamPendingWalk *w); /* NULL at the end */

/* A pending entry that is idle, by streamPendingIdle(). */
typedef struct streamIdle {
    int64_t delivered_ms;
    streamId id;
} streamIdle;
/* Finds pending entries that were delivered at `until_ms` or before and that the stream still has: at most `count` of
 * them, those delivered first. Returns their number and stores them to *found, in that order; the caller delivers them,
 * and frees the array by zfree(). *next_ms becomes a time before which no other entry after `until_ms` was delivered,
 * INT64_MAX if there is none. Reads all that is pending, unless it is known from the last time that nothing is idle. */
size_t streamPendingIdle(const stream *s, streamGroup *g, int64_t until_ms, size_t count, streamIdle **found,
                         int64_t *next_ms);

/* Asserts the invariants. */
void streamGroupCheck(const streamGroup *g);

#endif
