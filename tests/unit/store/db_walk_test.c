/* db_walk_test.c -- operations on whole databases: iteration, scan, figures.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_walk.h"
#include "store_support.h"

#include <stdlib.h>

#define KEYS 1000

static void fill(serverDb *db) {
    for (long i = 0; i < KEYS; i++) {
        hashedKey key = keyN("k", i);
        robj *o = stringEntry(key, i, 0);
        dbAddTake(db, i % 4 ? o : objectSetExpireTake(o, 2000000 + i), key);
    }
}

static void mark(uint8_t *seen, const robj *o) { seen[atol(objectKey(o).ptr + 1)]++; }

static void markScanned(void *seen, void **ref) { mark(seen, *ref); }

STORE_TEST(db_walk_meets_every_key) {
    storeReset();
    serverDb *db = dbGet(1);
    fill(db);
    uint8_t seen[KEYS] = {0}, scanned[KEYS] = {0};
    dbIterator it;
    dbIterBegin(&it, db, false);
    for (robj *o; (o = dbIterNext(&it));) mark(seen, o);
    dbIterEnd(&it);
    uint64_t cursor = 0;
    size_t calls = 0;
    do cursor = dbScan(db, cursor, markScanned, scanned);
    while (cursor && ++calls < 10 * KEYS);
    CHECK_EQ_INT(cursor, 0);
    for (size_t i = 0; i < KEYS; i++)
        if (!CHECK_EQ_INT(seen[i], 1) || !CHECK(scanned[i] >= 1)) break;
    const robj *some[64];
    size_t total = 0, n;
    dbIterBegin(&it, db, false);
    while ((n = dbIterMany(&it, 1 + total % 70, some)) > 0) {
        CHECK(n <= 64 && n <= 1 + total % 70);
        for (size_t i = 0; i < n; i++) mark(seen, some[i]);
        total += n;
    }
    dbIterEnd(&it);
    CHECK_EQ_INT(total, KEYS);
    for (size_t i = 0; i < KEYS; i++)
        if (!CHECK_EQ_INT(seen[i], 2)) break;
    dbIterBegin(&it, dbGet(0), true);
    CHECK(dbIterNext(&it) == NULL);
    CHECK_EQ_INT(dbIterMany(&it, 5, some), 0);
    dbIterEnd(&it);
}

TEST(db_figures_count_keys_and_tables) {
    storeReset();
    serverDb *db = dbGet(2);
    dbFigures empty = dbGetFigures(db);
    CHECK_EQ_INT(empty.keys, 0);
    CHECK_EQ_INT(empty.expires, 0);
    CHECK_EQ_INT(empty.tables_bytes, 0);
    CHECK(empty.keys_bytes > 0); /* the dict itself */
    fill(db);
    dbFigures f = dbGetFigures(db);
    CHECK_EQ_INT(f.keys, KEYS);
    CHECK_EQ_INT(f.expires, KEYS / 4);
    CHECK(f.keys_bytes > KEYS * sizeof(void *) && f.keys_bytes > f.expires_bytes);
    CHECK(f.expires_bytes > KEYS / 4 * sizeof(void *));
    size_t dicts = empty.keys_bytes + empty.expires_bytes;
    CHECK_EQ_INT(f.tables_bytes, f.keys_bytes + f.expires_bytes - dicts);
    CHECK(f.rehashing_bytes <= f.tables_bytes);
    CHECK(f.rehashing <= 2 && (f.rehashing > 0) == (f.rehashing_bytes > 0));
    char text[4096];
    CHECK(dbTableStats(db, false, text, sizeof(text), false) > 0);
    CHECK(strstr(text, "1000"));
    CHECK(dbTableStats(db, true, text, sizeof(text), false) > 0);
    CHECK(strstr(text, "250"));
}

TEST(db_expand_makes_room_at_once) {
    storeReset();
    serverDb *db = dbGet(3);
    CHECK(dbExpand(db, 50000));
    size_t bytes = dbGetFigures(db).keys_bytes;
    fill(db);
    CHECK_EQ_INT(dbGetFigures(db).keys_bytes, bytes);
    CHECK_EQ_INT(dbGetFigures(db).rehashing, 0);
    hashedKey key = keyN("k", 5);
    CHECK(dictFind(dbDict(db, key.hash), key.name, key.hash) == lookupKeyRead(db, key));
}

STORE_TEST(db_counts_as_in_use_once_it_is_named_or_has_keys) {
    storeReset();
    CHECK(dbGetFigures(dbGet(0)).in_use);
    serverDb *db = dbGet(TEST_DBS - 1);
    bool before = dbGetFigures(db).in_use; /* an earlier test may have swapped it */
    dbAddTake(db, stringEntry(keyOf("k"), 1, 0), keyOf("k"));
    CHECK(dbGetFigures(db).in_use);
    dbEmpty(-1, false);
    CHECK_EQ_INT(dbGetFigures(db).in_use, before);
    CHECK(dbSelect(TEST_DBS - 1) == db);
    CHECK(dbGetFigures(db).in_use);
    CHECK(dbSelect(TEST_DBS) == NULL && dbSelect(-1) == NULL);
}
