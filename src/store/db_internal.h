/* db_internal.h -- the tables of a database; for the files of this folder and their tests.
 *
 *   one dict, or one per slot
 *            keys                    expires
 *   name --> entry <---------------- the same entry, if it has an expire
 *            (key, expire, value)    volatile_items
 *               ^------------------- the same entry, if elements of its value have a TTL
 *                                    due: the hash of its key, at its expire or before
 *
 * All other code uses keys (db.h), walks over all of them (db_walk.h) and a table for prefetching (dbDict()), so that
 * only this folder depends on the number of tables.
 *
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_INTERNAL_H
#define STORE_DB_INTERNAL_H

#include "db.h"
#include "due_keys.h"
#include "slot_dicts.h"

struct serverDb {
    int id;
    dict *keys;             /* owns; entries are robj with a key. With slots: that of slot 0, borrowed from `slots` */
    uint64_t slots_mask;    /* of slotDictsOf() */
    slotDicts *slots;       /* owns; a dict like `keys` for each slot; NULL: slots are off */
    dict *expires;          /* owned; the same entries, those with an expire: borrowed from keys */
    dict *volatile_items;   /* owned; the same entries, those whose elements have a TTL (robj.in_volatile) */
    dueKeys due;            /* owned; index of `expires` by time */
    dueKeys due_items;      /* owned; the same for `volatile_items` */
    uint64_t expire_cursor; /* of the active expire cycle */
    uint64_t ttls_cursor;   /* of the cycle's part for elements */
    long long avg_ttl_ms;   /* estimate, for INFO */
    bool selected;          /* a client has selected it; number 0 is always in use */
};

/* Returns the dict that has the key with that hash if the database has it, to be searched. Only db.c adds and removes
 * entries: it counts those of a slot. */
static inline dict *dbKeysOf(const serverDb *db, uint64_t hash) { return slotDictsOf(db->keys, db->slots_mask, hash); }

/* Returns a dict of keys for drawing random ones: with slots that of a slot, with a chance proportional to its keys. */
static inline const dict *dbDrawDict(const serverDb *db) {
    return likely(!db->slots) ? db->keys : slotDictsDraw(db->slots);
}

/* Returns the hash of an entry's key. */
static inline uint64_t entryHash(const robj *entry) { return hashedKeyOf(objectKey(entry)).hash; }

/* For defrag.c, in db_walk.c: like dictScanDefrag(), over all dicts of keys, with cursors like dbScan(). */
uint64_t dbScanDefrag(serverDb *db, uint64_t cursor, void (*fn)(void *arg, void **ref), void *arg, blockMover *move);
/* For defrag.c, within dbScanDefrag(): offers the entry at *ref, to which there is no other reference, to
 * `move`, and updates all structures that know its address. Returns the entry's address. */
robj *dbDefragEntry(serverDb *db, void **ref, blockMover *move);

#endif
