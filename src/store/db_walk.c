/* db_walk.c -- a database as a whole: all its keys, and the memory of its tables.
 *
 * Code that needs all keys, or counts bytes, uses these functions and so does not depend on the number of tables
 * of a database.
 *
 * Not here    single keys (db.c).
 * Threads     main.
 * Tests       tests/unit/store/db_walk_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_walk.h"

#include "db_internal.h"

void dbIterBegin(dbIterator *it, serverDb *db, bool safe) {
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    dictIterBegin(&it->it, db->keys, safe);
}

robj *dbIterNext(dbIterator *it) { return dictIterNext(&it->it); }

#define MANY_MAX 64

size_t dbIterMany(dbIterator *it, size_t max, const robj **entries) {
    const void *found[MANY_MAX];
    uint64_t hashes[MANY_MAX], known;
    size_t n = dictIterMany(&it->it, max < MANY_MAX ? max : MANY_MAX, found, hashes, &known);
    for (size_t i = 0; i < n; i++) {
        prefetchRead(found[i]);
        entries[i] = found[i];
    }
    return n;
}

void dbIterEnd(dbIterator *it) { dictIterEnd(&it->it); }

uint64_t dbScan(const serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg) {
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    return dictScanRead(db->keys, cursor, fn, arg);
}

dbFigures dbGetFigures(const serverDb *db) {
    size_t tables_of_keys = dictMemTables(db->keys);
    size_t tables_of_times = dictMemTables(db->expires) + dictMemTables(db->volatile_items);
    return (dbFigures){
        .keys = dictSize(db->keys),
        .expires = dictSize(db->expires),
        .volatile_items = dictSize(db->volatile_items),
        .keys_bytes = dictMemEmpty() + tables_of_keys,
        .expires_bytes = 2 * dictMemEmpty() + tables_of_times,
        .tables_bytes = tables_of_keys + tables_of_times,
        .rehashing = (size_t)dictIsRehashing(db->keys) + (size_t)dictIsRehashing(db->expires) +
                     (size_t)dictIsRehashing(db->volatile_items),
        .rehashing_bytes = dictMemRehashing(db->keys) + dictMemRehashing(db->expires) +
                           dictMemRehashing(db->volatile_items),
        .avg_ttl_ms = db->avg_ttl_ms,
        .in_use = db->selected || dictSize(db->keys) > 0,
    };
}

size_t dbTableStats(const serverDb *db, bool expires, char *out, size_t size, bool full) {
    return dictStats(expires ? db->expires : db->keys, out, size, full);
}
