/* value_stream_node.h -- the layout of a node of a stream: a listpack of entries that share an ID and fields.
 *
 *   master  live  deleted  fields  field1 .. fieldN  0
 *   entry   flags  ms  seq  value1 .. valueN                                 count    fields are the master's
 *           flags  ms  seq  fields  field1  value1 .. fieldN  valueN         count
 *
 * ms and seq are differences to the node's key, modulo 2^64, each for itself. flags: 1 deleted, 2 the master's fields.
 * count: elements of the entry before it, so that the way back is found.
 *
 * For value_stream*.c only. Functions that take a const node read it, and rely on streamNodeValidate() where it came
 * from outside.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_NODE_H
#define OBJECT_VALUE_STREAM_NODE_H

#include "value_stream.h"

typedef struct streamNodeMaster {
    bool bare; /* without what leads backwards: a full node, see listpackBare() */
    uint64_t live, deleted;
    size_t field_count;
    const uint8_t *fields;  /* the first, or the 0 behind none */
    const uint8_t *entries; /* the first entry; NULL: none */
} streamNodeMaster;

typedef struct streamNodeEntry {
    const uint8_t *at; /* its flags */
    streamId id;
    bool deleted, same_fields;
    size_t field_count;
    const uint8_t *data; /* the first field, or value where the fields are the master's */
} streamNodeEntry;

void streamNodeReadMaster(const uint8_t *lp, bool bare, streamNodeMaster *m);
void streamNodeReadEntry(const streamNodeMaster *m, streamId key, const uint8_t *at, streamNodeEntry *e);
/* The entry behind, or, in a node that is not bare, before; NULL: none. */
const uint8_t *streamNodeNextEntry(const streamNodeMaster *m, const streamNodeEntry *e);
const uint8_t *streamNodePrevEntry(const uint8_t *lp, const streamNodeMaster *m, const uint8_t *at);
/* The last entry; NULL: none. */
const uint8_t *streamNodeLastEntry(const uint8_t *lp, const streamNodeMaster *m);
/* The entry of that ID which is not deleted. */
bool streamNodeFind(const uint8_t *lp, bool bare, streamId key, streamId id, streamNodeEntry *e);

/* Live and deleted entries, of one that is not bare. */
uint64_t streamNodeEntries(const uint8_t *lp);
uint64_t streamNodeLive(const uint8_t *lp);

/* A node without entries whose fields are those of `pairs` (fields and values in turns), with room for `room` bytes.
 * NULL: no memory. */
uint8_t *streamNodeCreate(const slice *pairs, size_t count, size_t room) must_check;
/* Append an entry. NULL: no memory, or too large: the node is as it was. */
uint8_t *streamNodeAppend(uint8_t *lp, streamId key, streamId id, const slice *pairs, size_t count) must_check;
/* Mark an entry as deleted. */
uint8_t *streamNodeDelete(uint8_t *lp, const uint8_t *at) must_check;
/* The same in a bare one; false: it cannot be done where it lies. */
bool streamNodeDeleteBare(uint8_t *bare, const uint8_t *at) must_check;

/* Are these bytes, from wherever they come, a node of that key? Its entries are above `after` (NULL: any), which
 * becomes the last entry's ID, and ascend. */
bool streamNodeValidate(const uint8_t *bytes, size_t size, streamId key, streamId *after, bool first) must_check;

#endif
