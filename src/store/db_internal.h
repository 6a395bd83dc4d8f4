/* db_internal.h -- what a database consists of; for the files of this folder and their tests.
 *
 *            keys                    expires
 *   name --> entry <---------------- the same entry, if it has an expire
 *            (key, expire, value)    timed
 *               ^------------------- the same entry, if elements of its value have times
 *
 * Everybody else sees keys (db.h), walks over all of them (db_walk.h) and a table to look ahead in (dbDict()), so that
 * how many tables a database has is decided here.
 *
 * Threads     main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DB_INTERNAL_H
#define STORE_DB_INTERNAL_H

#include "db.h"

struct serverDb {
    int id;
    dict *keys;             /* owns; entries are robj with a key */
    dict *expires;          /* owns; the same entries, those with an expire: borrowed from keys */
    dict *volatile_items;   /* owns; the same entries, those whose elements have times (robj.in_volatile) */
    uint64_t expire_cursor; /* of the active expire cycle */
    uint64_t timed_cursor;  /* of its part for elements */
    long long avg_ttl_ms;   /* estimate, for INFO */
    bool selected;          /* a client has named it; number 0 is always in use */
};

/* The keyspace's door for defrag.c, inside a dictScan() of db->keys: offer the entry at *ref, which nobody else refers
 * to, to `move`, and have all that knows its address learn the new one. Where the entry is now. */
robj *dbDefragEntry(serverDb *db, void **ref, blockMover *move);

#endif
