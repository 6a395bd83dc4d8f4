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
#include "panic.h"

#include <stdio.h>

/* ---- Walks ---- */

void dbIterBegin(dbIterator *it, serverDb *db, bool safe) {
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    *it = (dbIterator){.db = db, .slot = -1, .last = HASH_SLOTS - 1, .safe = safe};
    if (db->slots) it->slot = slotDictsNext(db->slots, 0);
    dictIterBegin(&it->it, it->slot > 0 ? slotDictsAt(db->slots, it->slot) : db->keys, safe);
}

void dbIterBeginSlot(dbIterator *it, serverDb *db, int slot, bool safe) {
    debugAssert(db->slots);
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    *it = (dbIterator){.db = db, .slot = slot, .last = slot, .safe = safe};
    dictIterBegin(&it->it, slotDictsAt(db->slots, slot), safe);
}

/* Continues with the next slot that has keys. Returns false at the end of the walk. */
static bool nextSlot(dbIterator *it) {
    if (it->slot < 0 || it->slot == it->last) return false;
    it->slot = slotDictsNext(it->db->slots, it->slot + 1);
    if (it->slot < 0) return false;
    dictIterEnd(&it->it);
    dictIterBegin(&it->it, slotDictsAt(it->db->slots, it->slot), it->safe);
    return true;
}

robj *dbIterNext(dbIterator *it) {
    robj *o;
    do o = dictIterNext(&it->it);
    while (!o && nextSlot(it));
    return o;
}

#define MANY_MAX 64

size_t dbIterMany(dbIterator *it, size_t max, const robj **entries) {
    const void *found[MANY_MAX];
    uint64_t hashes[MANY_MAX], known;
    size_t n;
    do n = dictIterMany(&it->it, max < MANY_MAX ? max : MANY_MAX, found, hashes, &known);
    while (n == 0 && nextSlot(it));
    for (size_t i = 0; i < n; i++) {
        prefetchRead(found[i]);
        entries[i] = found[i];
    }
    return n;
}

void dbIterEnd(dbIterator *it) { dictIterEnd(&it->it); }

uint64_t dbScanSlots(const serverDb *db, int first, int last, uint64_t cursor, void (*fn)(void *arg, void **ref),
                     void *arg) {
    keyspaceTouched(db, 0, TOUCH_READ_ALL);
    if (db->slots) return slotDictsScanRead(db->slots, first, last, cursor, fn, arg);
    return dictScanRead(db->keys, cursor, fn, arg);
}

uint64_t dbScan(const serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg) {
    return dbScanSlots(db, 0, HASH_SLOTS - 1, cursor, fn, arg);
}

uint64_t dbScanDefrag(serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg, blockMover *move) {
    if (db->slots) return slotDictsScanDefrag(db->slots, cursor, fn, arg, move);
    return dictScanDefrag(db->keys, cursor, fn, arg, move);
}

/* ---- Figures ---- */

/* Returns the figures of all dicts of keys. */
static slotDictsFigures figuresOfKeys(const serverDb *db) {
    const dict *d = db->keys;
    if (db->slots) return slotDictsGetFigures(db->slots);
    return (slotDictsFigures){.dicts = 1,
                              .own_bytes = dictMemEmpty(),
                              .tables_bytes = dictMemTables(d),
                              .rehashing = dictIsRehashing(d),
                              .rehashing_bytes = dictMemRehashing(d)};
}

dbFigures dbGetFigures(const serverDb *db) {
    slotDictsFigures keys = figuresOfKeys(db);
    size_t indexes = dueKeysMemUsage(&db->due) + dueKeysMemUsage(&db->due_items);
    size_t tables_of_times = dictMemTables(db->expires) + dictMemTables(db->volatile_items) + indexes;
    return (dbFigures){
        .keys = dbSize(db),
        .expires = dictSize(db->expires),
        .volatile_items = dictSize(db->volatile_items),
        .keys_bytes = keys.own_bytes + keys.tables_bytes,
        .expires_bytes = 2 * dictMemEmpty() + tables_of_times,
        .tables_bytes = keys.tables_bytes + tables_of_times,
        .rehashing = keys.rehashing + (size_t)dictIsRehashing(db->expires) +
                     (size_t)dictIsRehashing(db->volatile_items),
        .rehashing_bytes = keys.rehashing_bytes + dictMemRehashing(db->expires) + dictMemRehashing(db->volatile_items),
        .due_entries = dueKeysSize(&db->due) + dueKeysSize(&db->due_items),
        .due_bytes = indexes,
        .avg_ttl_ms = db->avg_ttl_ms,
        .in_use = db->selected || dbSize(db) > 0,
    };
}

size_t dbTableStats(const serverDb *db, bool expires, char *out, size_t size, bool full) {
    if (expires || !db->slots) return dictStats(expires ? db->expires : db->keys, out, size, full);
    slotDictsFigures f = slotDictsGetFigures(db->slots);
    int len = snprintf(out, size, "Hash tables of %zu slots:\n table size: %zu\n number of entries: %zu\n", f.dicts,
                       slotDictsCapacity(db->slots), dbSize(db));
    return len < (int)size ? (size_t)len : size - 1;
}
