/* value_stream_node.h -- the layout of a node of a stream: a listpack of entries that share an ID and fields.
 *
 *   master  live  deleted  fields  field1 .. fieldN  0
 *   entry   flags  ms  seq  value1 .. valueN                                 count    with the master's fields
 *           flags  ms  seq  fields  field1  value1 .. fieldN  valueN         count
 *
 * ms and seq are each the difference to the node's key, modulo 2^64. flags: 1 deleted, 2 the master's fields.
 * count: the number of elements of the entry that it ends, for walking backwards.
 *
 * For value_stream*.c only. Functions that take a const node only read it, and rely on streamNodeValidate() if it came
 * from outside.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_STREAM_NODE_H
#define OBJECT_VALUE_STREAM_NODE_H

#include "value_stream.h"

typedef struct streamNodeMaster {
    bool bare; /* a full node without backlens, see listpackBare() */
    uint64_t live, deleted;
    size_t field_count;
    const uint8_t *fields;  /* the first field, or the 0 after the last */
    const uint8_t *entries; /* the first entry; NULL: none */
} streamNodeMaster;

typedef struct streamNodeEntry {
    const uint8_t *at; /* position of its flags */
    streamId id;
    bool deleted, same_fields;
    size_t field_count;
    const uint8_t *data; /* the first field, or the first value if the fields are the master's */
} streamNodeEntry;

/* Read the master, and the entry at `at`, of a node. */
void streamNodeReadMaster(const uint8_t *lp, bool bare, streamNodeMaster *m);
void streamNodeReadEntry(const streamNodeMaster *m, streamId key, const uint8_t *at, streamNodeEntry *e);
/* Return the next entry, and the previous one (not in a bare node); NULL if there is none. */
const uint8_t *streamNodeNextEntry(const streamNodeMaster *m, const streamNodeEntry *e);
const uint8_t *streamNodePrevEntry(const uint8_t *lp, const streamNodeMaster *m, const uint8_t *at);
/* Returns the last entry; NULL if there is none. */
const uint8_t *streamNodeLastEntry(const uint8_t *lp, const streamNodeMaster *m);
/* Finds the entry with that ID. Returns false if it is absent or deleted. */
bool streamNodeFind(const uint8_t *lp, bool bare, streamId key, streamId id, streamNodeEntry *e);

/* Return the number of live and deleted entries, of a node that is not bare. */
uint64_t streamNodeEntries(const uint8_t *lp);
/* Returns the number of live entries. */
uint64_t streamNodeLive(const uint8_t *lp);

/* Returns a node without entries with the fields of `pairs` (fields and values alternate) as the master's, and a
 * capacity of `capacity` bytes; NULL if there is no memory. */
uint8_t *streamNodeCreate(const slice *pairs, size_t count, size_t capacity) must_check;
/* Appends an entry and returns the node's address. Returns NULL if there is no memory, or it is too large: the node is
 * unchanged. */
uint8_t *streamNodeAppend(uint8_t *lp, streamId key, streamId id, const slice *pairs, size_t count) must_check;
/* Marks an entry as deleted and returns the node's address. */
uint8_t *streamNodeDelete(uint8_t *lp, const uint8_t *at) must_check;
/* Like streamNodeDelete(), in a bare node. Returns false if that is not possible in place. */
bool streamNodeDeleteBare(uint8_t *bare, const uint8_t *at) must_check;

/* Returns whether these bytes, from any source, are a node with that key. Its entries must ascend, above *after
 * (whatever that is if it is the `first` node), which becomes the last entry's ID. */
bool streamNodeValidate(const uint8_t *bytes, size_t size, streamId key, streamId *after, bool first) must_check;

#endif
