/* check_rdb_biggest.h -- collects the largest keys of a snapshot, by their bytes in the file.
 *
 * Runs on: one thread at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_CHECK_RDB_BIGGEST_H
#define PERSIST_CHECK_RDB_BIGGEST_H

#include "sds.h"
#include "slice.h"

#define CHECK_RDB_BIGGEST_MAX 1000

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
