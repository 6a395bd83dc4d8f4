/* stream_args.h -- helpers that the commands of streams share: parsing IDs, replying with entries, propagation.
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
    STREAM_ARG_ENDS,   /* also "-" and "+", the smallest and the largest ID */
} streamArgKind;

/* Parses the ID in argument `index`. If it has no second part, that is `missing_seq`. Returns false after an error
 * reply. */
bool getStreamIdFromArg(client *c, uint32_t index, streamArgKind kind, uint64_t missing_seq, streamId *id) must_check;
/* Parses the ID `arg` likewise. Returns false, without an error reply, if it is none. */
bool parseStreamId(slice arg, streamArgKind kind, uint64_t missing_seq, streamId *id) must_check;
/* Parses "ms-*", an ID argument of XADD: sets *ms to the first part. Returns false if the argument is something
 * else. */
bool parseStreamIdAnySeq(slice arg, uint64_t *ms) must_check;
/* Checks that all arguments from `first` on are IDs. Returns false after an error reply. */
bool streamIdsCheck(client *c, uint32_t first) must_check;
/* Parse the bounds of an interval, of which "(" excludes the ID. Return false after an error reply. */
bool getStreamStartFromArg(client *c, uint32_t index, streamId *id) must_check;
bool getStreamEndFromArg(client *c, uint32_t index, streamId *id) must_check;

/* Adds the ID, "ms-seq". */
void addReplyStreamId(client *c, streamId id);
/* Adds the entry that the iterator has just returned: its ID, and an array of its `fields` fields and their values. */
void addReplyStreamEntry(client *c, streamIterator *it, streamId id, size_t fields);
/* Adds it likewise, with how long it was idle and how often it was delivered before (XREADGROUP with CLAIM). */
void addReplyStreamClaimed(client *c, streamIterator *it, streamId id, size_t fields, int64_t idle_ms,
                           uint64_t deliveries);
/* Adds an array with the entries of the range, at most `count` of them (0: all). Returns their number. */
size_t addReplyStreamRange(client *c, const stream *s, streamId start, streamId end, bool backward, size_t count);
/* Adds the entry with that ID. Returns false, without a reply, if it does not exist. `it` is from streamFindBegin(). */
bool addReplyStreamEntryOf(client *c, streamIterator *it, streamId id);

/* Look up the stream of a key; *out is NULL if the key is absent. Return false, after a WRONGTYPE reply, if it has
 * another type. Read counts hits and misses; some commands that change the stream do so, too. */
bool streamRead(client *c, hashedKey key, stream **out) must_check;
bool streamWrite(client *c, hashedKey key, stream **out) must_check;
/* Returns the group that argument 3 names, of the stream whose key is argument 2. Returns NULL after an error reply. */
streamGroup *streamGroupFromArg(client *c, const stream *s);
/* Adds the ID as an argument of the command that is being propagated. */
void propagateStreamId(streamId id);
/* Propagates XCLAIM: the pending entry `p` of group `g`, named `group`, with its consumer, time and number of
 * deliveries. A replica removes a pending entry that the stream no longer has. */
void propagateClaim(const client *c, slice key, slice group, const streamGroup *g, const streamPending *p);
/* Propagates XGROUP SETID: how far the group has read. */
void propagateGroupId(const client *c, slice key, slice group, const streamGroup *g);
/* Propagates XGROUP CREATECONSUMER: a new consumer that no other propagated command implies. */
void propagateConsumer(const client *c, slice key, slice group, slice consumer);

/* Returns the consumer of that name; creates it, and reports that, if the group has none. Returns NULL if there is no
 * memory for it; the second function has sent the error then. */
streamConsumer *streamConsumerTry(client *c, hashedKey key, streamGroup *g, slice name);
streamConsumer *streamConsumerOrReply(client *c, hashedKey key, streamGroup *g, slice name);

#endif
