/* check_rdb_stats.h -- statistics of a snapshot: its keys by database and type, their sizes, and the largest keys.
 *
 * Runs on: one thread at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_STATS_H
#define PERSIST_CHECK_RDB_STATS_H

#include "object.h"
#include "sds.h"

/* Values of which percentiles are computed: exact values while they are few, then a histogram with steps of a
 * thousandth. */
typedef struct checkRdbSamples checkRdbSamples;

typedef struct checkRdbTypeStats {
    uint64_t keys, expire_keys, expired_keys;
    uint64_t key_bytes;      /* of the names of keys */
    uint64_t value_bytes;    /* of elements, in the form that clients see */
    uint64_t elements;       /* a string is one element; so is an entry of a stream */
    uint64_t elements_max;   /* most elements of a key */
    uint64_t element_max;    /* size of the largest element, in bytes */
    checkRdbSamples *counts; /* owns: numbers of elements of keys */
    checkRdbSamples *sizes;  /* owns: bytes of elements */
} checkRdbTypeStats;

typedef struct checkRdbStats checkRdbStats;

typedef struct checkRdbKey {
    uint32_t db;
    objectTypeId type;
    size_t name_bytes, file_bytes;
    const robj *value; /* NULL if it belongs to a module or is empty */
    bool has_expire, is_expired;
} checkRdbKey;

checkRdbStats *checkRdbStatsCreate(void);
void checkRdbStatsFree(checkRdbStats *s);
/* Counts a key with all its elements, and returns the number of elements. A module's value is one element of its size
 * in the file. */
uint64_t checkRdbStatsAdd(checkRdbStats *s, const checkRdbKey *key);
/* Walks over the databases that have keys, in the order of their numbers: sets *db and returns true, or returns false
 * at the end. *next is the state of the walk, 0 at first. */
bool checkRdbStatsNextDb(const checkRdbStats *s, size_t *next, uint32_t *db);
/* Returns the statistics of a type in a database, or NULL if there are no such keys. */
const checkRdbTypeStats *checkRdbStatsOf(const checkRdbStats *s, uint32_t db, objectTypeId type);
/* Returns the number of keys that are in no other figure, because there are more databases than are distinguished. */
uint64_t checkRdbStatsLeftOut(const checkRdbStats *s);
/* Returns the value at the percentile; 0 if there are no samples (`s` is NULL). */
uint64_t checkRdbPercentile(const checkRdbSamples *s, double percentile);

#define CHECK_RDB_BIGGEST_MAX 1000

/* One of the largest keys, by their bytes in the file. */
typedef struct checkRdbBig {
    uint64_t bytes; /* of name and value in the file */
    uint64_t elements;
    uint64_t offset; /* in the file */
    uint32_t db;
    int rdb_type;
    sds name; /* owns: in the form of checkRdbText() */
} checkRdbBig;

typedef struct checkRdbBiggest {
    checkRdbBig *keys;      /* owns: a heap before checkRdbBiggestSort() */
    size_t count, capacity; /* capacity: at most CHECK_RDB_BIGGEST_MAX; set it before adding a key */
} checkRdbBiggest;

/* Adds a key if it is among the largest so far; of equal ones the first is kept. Sets `big->name` of the copy from
 * `name`. */
void checkRdbBiggestAdd(checkRdbBiggest *b, const checkRdbBig *big, slice name);
/* Sorts the keys, the largest first. Do not add keys afterwards. */
void checkRdbBiggestSort(checkRdbBiggest *b);
void checkRdbBiggestFree(checkRdbBiggest *b);

#endif
