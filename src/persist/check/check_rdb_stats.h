/* check_rdb_stats.h -- how many keys a snapshot has, of which types, and how large they are.
 *
 * Runs on: one thread at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_STATS_H
#define PERSIST_CHECK_RDB_STATS_H

#include "object.h"

/* What percentiles are asked of: each value counts for itself until there are many, then in steps of a thousandth. */
typedef struct checkRdbSamples checkRdbSamples;

typedef struct checkRdbTypeStats {
    uint64_t keys, expire_keys, expired_keys;
    uint64_t key_bytes;      /* of names */
    uint64_t value_bytes;    /* of elements, as clients see them */
    uint64_t elements;       /* a string is one; so is an entry of a stream */
    uint64_t elements_max;   /* of a key */
    uint64_t element_max;    /* bytes of an element */
    checkRdbSamples *counts; /* owns: elements of a key */
    checkRdbSamples *sizes;  /* owns: bytes of an element */
} checkRdbTypeStats;

typedef struct checkRdbStats checkRdbStats;

typedef struct checkRdbKey {
    uint32_t db;
    objectTypeId type;
    size_t name_bytes, file_bytes;
    const robj *value; /* NULL: of a module, or with nothing in it */
    bool has_expire, is_expired;
} checkRdbKey;

checkRdbStats *checkRdbStatsCreate(void);
void checkRdbStatsFree(checkRdbStats *s);
/* Count a key with all its elements; how many these are. A module's value is one, of the bytes it has in the file. */
uint64_t checkRdbStatsAdd(checkRdbStats *s, const checkRdbKey *key);
/* Databases that have keys, in the order of their numbers; *next is the place of the walk, 0 at first. */
bool checkRdbStatsNextDb(const checkRdbStats *s, size_t *next, uint32_t *db);
/* Of a type in a database; NULL: no such key. */
const checkRdbTypeStats *checkRdbStatsOf(const checkRdbStats *s, uint32_t db, objectTypeId type);
/* Keys that are counted nowhere, because they are in more databases than are told apart. */
uint64_t checkRdbStatsLeftOut(const checkRdbStats *s);
/* At that percentile; 0 when there is none. */
uint64_t checkRdbPercentile(const checkRdbSamples *s, double percentile);

#endif
