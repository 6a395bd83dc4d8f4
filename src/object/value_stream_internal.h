/* value_stream_internal.h -- what the files of the stream type have from each other.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_INTERNAL_H
#define OBJECT_VALUE_STREAM_INTERNAL_H

#include "value_stream.h"

/* The tail is full: put it into the tree. A new one must follow. */
void streamKeepTail(stream *s);
/* The bytes of a node that stands in the tree, and whether they are bare. */
uint8_t *streamNodeBytes(const void *node, bool *bare);
/* Find first_id anew. */
void streamFindFirst(stream *s);

/* value_stream_shape.c: nodes of the tree that XINFO describes, of the keys in `nodes` (may be NULL) when there are
 * none; and how many more there are with `key`, which is not among them. */
uint64_t streamShapeEmpty(void);
int64_t streamShapeAdded(const rax *nodes, streamId key);

/* value_stream_pending.c: take out all entries of a consumer. */
struct streamGroup;
struct streamConsumer;
void streamPendingRemoveAllOf(struct streamGroup *g, struct streamConsumer *c);

/* value_stream_rdb.c */
uint8_t streamRdbType(const void *structure, int encoding);
void streamRdbWrite(struct rdbWriter *w, const void *structure, int encoding);
void *streamRdbRead(struct rdbReader *r, unsigned rdb_type, int *encoding);

#endif
