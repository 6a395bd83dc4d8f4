/* value_zset_internal.h -- the memory layout of sorted sets, for value_zset*.c only.
 *
 *   entry       +-------+--------+--------------+
 *               | score | length | member bytes |    in the table and in the tree
 *               | 8     | 1 3 9  |              |
 *               +-------+--------+--------------+
 *
 *   length      below 254: itself; 254: two bytes follow; 255: eight do
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef OBJECT_VALUE_ZSET_INTERNAL_H
#define OBJECT_VALUE_ZSET_INTERNAL_H

#include "value_zset.h"

#include "listpack.h"
#include "rdb_value.h"

typedef struct zsetTree {
    dict *table;       /* owned, with its entries */
    scoreTree *scores; /* owned; its entries are borrowed from the table */
} zsetTree;

typedef struct zsetEntry {
    double score;
    uint8_t rest[]; /* length, bytes */
} zsetEntry;

enum { ENTRY_LEN_16 = 254, ENTRY_LEN_64 = 255 };
#define ENTRY_MEMBER_WITHIN (sizeof(double) + 9) /* largest offset of the member */

/* Returns the member of an entry. */
static inline slice zsetMemberOf(const zsetEntry *entry) {
    const uint8_t *rest = entry->rest;
    uint16_t len16;
    uint64_t len64;
    if (likely(rest[0] < ENTRY_LEN_16)) return sliceOf(rest + 1, rest[0]);
    if (rest[0] == ENTRY_LEN_16) {
        memcpy(&len16, rest + 1, sizeof(len16));
        return sliceOf(rest + 1 + sizeof(len16), len16);
    }
    memcpy(&len64, rest + 1, sizeof(len64));
    return sliceOf(rest + 1 + sizeof(len64), len64);
}

/* Returns an entry; NULL if there is no memory. */
zsetEntry *zsetEntryCreate(slice member, double score);

/* Returns an empty skiplist with capacity for `expected` members. */
zsetTree *zsetTreeCreate(size_t expected);

/* Returns whether a set of `members` members, the longest of `longest` bytes, is a listpack by the settings. */
bool zsetFitsListpack(size_t members, size_t longest);
/* Returns the score at this position of a listpack; 0 if it is not a number. */
double zsetListpackScore(const uint8_t *at);
/* Appends a pair to a listpack, which may move. Returns false if it does not fit, or there is no memory; its content is
 * unchanged. */
bool zsetListpackAppend(uint8_t **lp, slice member, double score) must_check;
/* Returns a skiplist of the same members; NULL if there is no memory, or a member is repeated. */
zsetTree *zsetTreeOfListpack(const uint8_t *lp);

/* Ends the builder; returns the structure that was built, and its encoding. */
void *zsetBuildStructure(zsetBuilder *b, int *encoding);

/* In value_zset_rdb.c, for zset_type_ops. */
uint8_t zsetRdbType(const void *structure, int encoding);
void zsetRdbWrite(struct rdbWriter *w, const void *structure, int encoding);
void *zsetRdbRead(rdbReader *r, unsigned rdb_type, int *encoding);
void zsetDigest(const void *structure, int encoding, struct digest *d);

#endif
