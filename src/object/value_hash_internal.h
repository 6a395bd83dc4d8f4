/* value_hash_internal.h -- the structure of a hash, for value_hash*.c.
 *
 * listpack: the block itself, field, value, field, value. hashtable: a hashTableRoot.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_HASH_INTERNAL_H
#define OBJECT_VALUE_HASH_INTERNAL_H

#include "time_index.h"
#include "value_hash.h"

typedef struct hashTableRoot {
    dict *fields;     /* owned; entries are hashField */
    timeIndex *times; /* owned; fields that have a time; NULL: none has */
} hashTableRoot;

/* Returns an empty table with capacity for `fields` fields. */
hashTableRoot *hashRootCreate(size_t fields);
void hashRootFree(hashTableRoot *root);
/* Adds a field. Returns false if it is present. */
bool hashRootAdd(hashTableRoot *root, slice field, slice value, int64_t when_ms);
/* Returns a table of a listpack's pairs; NULL if a field is repeated. */
hashTableRoot *hashRootOfListpack(const uint8_t *lp);

/* The RDB format, for hash_type_ops. */
uint8_t hashRdbType(const void *structure, int encoding);
void hashRdbWrite(struct rdbWriter *w, const void *structure, int encoding);
struct rdbReader;
void *hashRdbRead(struct rdbReader *r, unsigned rdb_type, int *encoding);

#endif
