/* db_walk.h -- a database as a whole: all its keys, and the memory of its tables.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_WALK_H
#define STORE_DB_WALK_H

#include "db.h"

/* A walk over all entries, including expired ones. `safe` is that of a dictIterator. */
typedef struct dbIterator {
    dictIterator it; /* of the dict of `slot`, if slots are on */
    const serverDb *db;
    int slot, last; /* slots from this one to the last are still to be walked; slot: -1 if none has keys */
    bool safe;
} dbIterator;
void dbIterBegin(dbIterator *it, serverDb *db, bool safe); /* end it by dbIterEnd() */
/* Begins a walk over the entries of one slot. Slots must be on (dbSetSlots()). */
void dbIterBeginSlot(dbIterator *it, serverDb *db, int slot, bool safe);
robj *dbIterNext(dbIterator *it); /* borrowed; NULL at the end */
void dbIterEnd(dbIterator *it);
/* Writes the next entries, at most `max` (and 64), prefetched, but not yet read. Returns their number, 0 at the end. */
size_t dbIterMany(dbIterator *it, size_t max, const robj **entries);

/* Like dictScanRead(): visits a part of the entries per call, from cursor 0 until it returns 0. */
uint64_t dbScan(const serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg);
/* Like dbScan(), over the keys of the slots from `first` to `last`, if slots are on. The low 14 bits of a cursor are
 * the slot where it goes on: one before `first` means `first`, and one after `last` ends the walk. The number of a slot
 * is the cursor that begins there. */
uint64_t dbScanSlots(const serverDb *db, int first, int last, uint64_t cursor, void (*fn)(void *arg, void **ref),
                     void *arg);

typedef struct dbFigures {
    size_t keys, expires;             /* entries */
    size_t volatile_items;            /* entries whose elements have a TTL */
    size_t keys_bytes, expires_bytes; /* bytes of the dicts, without entries */
    size_t tables_bytes; /* part of these bytes: tables and chained buckets, which grow and shrink with the keys */
    size_t rehashing,
        rehashing_bytes;           /* tables that a rehash is emptying: their number, and their part of tables_bytes */
    size_t due_entries, due_bytes; /* of the index by time; the bytes are part of expires_bytes */
    long long avg_ttl_ms;          /* estimate, 0: none */
    bool in_use;                   /* has keys, or a client has selected it */
} dbFigures;
dbFigures dbGetFigures(const serverDb *db); /* O(1) */
/* Like dictStats(), for the table of keys or that of expires. */
size_t dbTableStats(const serverDb *db, bool expires, char *out, size_t size, bool full);

#endif
