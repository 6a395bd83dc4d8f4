/* stream_args.h -- what the commands of streams share: IDs as clients write them, entries as they are shown.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_STREAM_ARGS_H
#define COMMANDS_STREAM_ARGS_H

#include "client.h"
#include "value_stream_groups.h"

typedef enum {
    STREAM_ARG_STRICT, /* "ms" or "ms-seq" */
    STREAM_ARG_ENDS,   /* and "-" and "+", the smallest and the largest */
} streamArgKind;

/* The ID in argument `index`, whose second part is `missing_seq` when it has none. False: the error was sent. */
bool getStreamIdFromArg(client *c, uint32_t index, streamArgKind kind, uint64_t missing_seq, streamId *id) must_check;
/* The same without an error. */
bool parseStreamId(slice arg, streamArgKind kind, uint64_t missing_seq, streamId *id) must_check;
/* "ms-*" of XADD: the first part. */
bool parseStreamIdAnySeq(slice arg, uint64_t *ms) must_check;
/* The bounds of an interval, "(" before one excludes it. */
bool getStreamStartFromArg(client *c, uint32_t index, streamId *id) must_check;
bool getStreamEndFromArg(client *c, uint32_t index, streamId *id) must_check;

void addReplyStreamId(client *c, streamId id);
/* An entry as the iterator has it: its ID, and an array of fields and values. */
void addReplyStreamEntry(client *c, streamIterator *it, streamId id, size_t fields);
/* An array of entries of the stream, `count` at most (0: all). How many. */
size_t addReplyStreamRange(client *c, const stream *s, streamId start, streamId end, bool backward, size_t count);
/* The entry of that ID, or nothing and false; `it` is from streamFindBegin(). */
bool addReplyStreamEntryOf(client *c, streamIterator *it, streamId id);

/* The stream under a key; false when it holds another type: then WRONGTYPE was sent. *out is NULL without a key. */
bool streamRead(client *c, hashedKey key, const stream **out) must_check;
bool streamWrite(client *c, hashedKey key, stream **out) must_check;
/* For commands that count as reading the key, a hit or a miss, although they may change it. */
bool streamReadToWrite(client *c, hashedKey key, stream **out) must_check;
/* What others get of groups: `group` and `consumer` are names.
 * XCLAIM: the consumer has this entry, which was delivered then and so often, or which the stream has not any more. */
void propagateClaim(const client *c, slice key, slice group, const streamGroup *g, const streamPending *p);
/* XGROUP SETID: what the group has read. */
void propagateGroupId(const client *c, slice key, slice group, const streamGroup *g);
/* XGROUP CREATECONSUMER: a consumer that has come, and of which nothing else tells. */
void propagateConsumer(const client *c, slice key, slice group, slice consumer);

/* A consumer of the group; it is made, and told of, where there is none. NULL: the error was sent. */
streamConsumer *streamConsumerWanted(client *c, hashedKey key, streamGroup *g, slice name);

#endif
