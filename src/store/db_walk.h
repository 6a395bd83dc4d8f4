/* db_walk.h -- a database as a whole: every key of it, and what its tables cost.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_WALK_H
#define STORE_DB_WALK_H

#include "db.h"

/* All entries, expired ones too. Safe and not safe mean what they mean to a dictIterator. */
typedef struct dbIterator {
    dictIterator it;
} dbIterator;
void dbIterBegin(dbIterator *it, serverDb *db, bool safe);
robj *dbIterNext(dbIterator *it); /* borrowed; NULL after the last */
void dbIterEnd(dbIterator *it);
/* The next entries, `max` at most (64 if it is more), not yet read, but asked for from memory. Returns how many, 0 at
 * the end. */
size_t dbIterMany(dbIterator *it, size_t max, const robj **entries);

/* As dictScanRead(): a part of the entries for each call, from cursor 0 until the result is 0. */
uint64_t dbScan(const serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);

typedef struct dbFigures {
    size_t keys, expires;              /* entries */
    size_t volatile_items;             /* entries whose elements have times */
    size_t keys_bytes, expires_bytes;  /* what the dicts cost, without entries */
    size_t tables_bytes;               /* of these bytes: tables and chained buckets, which come and go with the keys */
    size_t rehashing, rehashing_bytes; /* tables that are being left: how many, and their part of tables_bytes */
    long long avg_ttl_ms;              /* estimate, 0: none */
    bool in_use;                       /* has keys, or a client has named it */
} dbFigures;
dbFigures dbGetFigures(const serverDb *db);
/* As dictStats(), of the table of keys or that of expires. */
size_t dbTableStats(const serverDb *db, bool expires, char *out, size_t size, bool full);

#endif
