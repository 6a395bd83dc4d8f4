/* value_stream_groups.h -- consumer groups of a stream, their consumers, and what was delivered and not confirmed.
 *
 *   stream.groups --name--> streamGroup --+-- consumers --name--> streamConsumer
 *                                         |                            | blocks: in which it has entries
 *                                         +-- blocks --first ID--> [ ID consumer time count | ID ... | ... ]
 *
 * A pending entry stands in one place, in a block of the group, in order of IDs.
 *
 * Runs on: main; what takes const structures reads only.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_GROUPS_H
#define OBJECT_VALUE_STREAM_GROUPS_H

#include "value_stream.h"

#define STREAM_READ_UNKNOWN UINT64_MAX /* entries_read: it cannot be told */
#define STREAM_NEVER (-1)              /* active_ms */

typedef struct streamConsumer {
    int64_t seen_ms;   /* last attempt */
    int64_t active_ms; /* last success, STREAM_NEVER */
    size_t pending;
    rax *blocks; /* owns: the number of its entries in a block, by the block's key */
    size_t name_len;
    char name[];
} streamConsumer;

typedef struct streamPending {
    streamId id;
    streamConsumer *consumer; /* borrowed from the group */
    int64_t delivered_ms;
    uint64_t deliveries;
} streamPending;

/* Entries whose IDs are not below `key` and below the next block's. */
typedef struct streamBlock {
    streamId key;
    uint32_t count, room;
    streamPending entries[];
} streamBlock;

typedef struct streamGroup {
    streamId last_id;
    uint64_t entries_read; /* STREAM_READ_UNKNOWN */
    size_t pending;
    streamBlock *last; /* the block at the end, which is in `blocks`; NULL: none */
    rax *blocks;       /* owns */
    rax *consumers;    /* owns: streamConsumer */
} streamGroup;

/* ---- Groups and consumers ---- */

/* NULL: there is one of that name. */
streamGroup *streamGroupCreate(stream *s, slice name, streamId last, uint64_t entries_read);
streamGroup *streamGroupFind(const stream *s, slice name);
/* False: there is none. */
bool streamGroupDestroy(stream *s, slice name);
size_t streamGroupCount(const stream *s);
void streamGroupFree(streamGroup *g);
/* A copy of everything, for the copy `to` of a stream. */
void streamGroupsDup(stream *to, const stream *from);

/* NULL: there is one of that name, or a name that there is no memory for. */
streamConsumer *streamConsumerCreate(streamGroup *g, slice name, int64_t seen_ms);
streamConsumer *streamConsumerFind(const streamGroup *g, slice name);
/* Its pending entries go, too; how many these were. */
size_t streamConsumerDelete(streamGroup *g, streamConsumer *c);
static inline slice streamConsumerName(const streamConsumer *c) {
    return sliceOf(c->name, c->name_len);
}

/* How many entries were added up to this one; STREAM_READ_UNKNOWN when it cannot be told. */
uint64_t streamEntriesUpTo(const stream *s, streamId id);
/* The group has read this entry, the one behind last_id. */
void streamGroupAdvance(const stream *s, streamGroup *g, streamId id);
/* Entries that the group has not read; false: it cannot be told. */
bool streamGroupLag(const stream *s, const streamGroup *g, uint64_t *lag);

/* ---- Pending entries: valid until the next one is added or removed ---- */

streamPending *streamPendingFind(const streamGroup *g, streamId id);
/* An entry that is not there; the consumer may be NULL until streamPendingGive(). */
streamPending *streamPendingAdd(streamGroup *g, streamId id, streamConsumer *consumer);
/* False: there is none. */
bool streamPendingRemove(streamGroup *g, streamId id);
/* Another consumer has it now. */
void streamPendingGive(streamGroup *g, streamPending *p, streamConsumer *consumer);

/* Those of the group, or of one consumer (NULL: of all), from an ID on. After a change: begin again. */
typedef struct streamPendingWalk {
    const streamGroup *group;
    const streamConsumer *consumer;
    streamBlock *block; /* NULL: behind the last */
    uint32_t at;
} streamPendingWalk;
void streamPendingFrom(streamPendingWalk *w, const streamGroup *g, const streamConsumer *c, streamId from);
streamPending *streamPendingNext(streamPendingWalk *w); /* NULL: no more */

size_t streamGroupMemUsage(const streamGroup *g);
/* Assert what holds. */
void streamGroupCheck(const streamGroup *g);

#endif
