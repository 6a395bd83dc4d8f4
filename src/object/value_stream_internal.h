/* value_stream_internal.h -- functions that the files of the stream type share.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_INTERNAL_H
#define OBJECT_VALUE_STREAM_INTERNAL_H

#include "value_stream.h"

/* Moves the full tail to the tree. A new tail must follow. */
void streamKeepTail(stream *s);
/* Returns the bytes of a node in the tree, and whether they are bare. */
uint8_t *streamNodeBytes(const void *node, bool *bare);
/* Searches for first_id again. */
void streamFindFirst(stream *s);

/* In value_stream_shape.c: return the number of nodes of the tree that XINFO describes if it is empty, and how many
 * `key` adds, which is not among the keys of `nodes` (may be NULL). */
uint64_t streamShapeEmpty(void);
int64_t streamShapeAdded(const rax *nodes, streamId key);

/* In value_stream_pending.c: removes all entries of a consumer. */
struct streamGroup;
struct streamConsumer;
void streamPendingRemoveAllOf(struct streamGroup *g, struct streamConsumer *c);

/* In value_stream_rdb.c. */
uint8_t streamRdbType(const void *structure, int encoding);
void streamRdbWriteAs(struct rdbWriter *w, const stream *s, unsigned rdb_type);
void streamRdbWrite(struct rdbWriter *w, const void *structure, int encoding);
void *streamRdbRead(struct rdbReader *r, unsigned rdb_type, int *encoding);

#endif
