/* check_rdb_biggest.h -- the keys of a snapshot that take the most bytes of it.
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
    sds name; /* owns: as checkRdbText() */
} checkRdbBig;

typedef struct checkRdbBiggest {
    checkRdbBig *keys;      /* owns: in no order before checkRdbBiggestSort() */
    size_t count, capacity; /* at most CHECK_RDB_BIGGEST_MAX, set before the first is added */
} checkRdbBiggest;

/* A key is kept when it is among the largest so far, of equal ones the first; `big->name` is set from `name` then. */
void checkRdbBiggestAdd(checkRdbBiggest *b, const checkRdbBig *big, slice name);
/* The largest first. Nothing is added afterwards. */
void checkRdbBiggestSort(checkRdbBiggest *b);
void checkRdbBiggestFree(checkRdbBiggest *b);

#endif
