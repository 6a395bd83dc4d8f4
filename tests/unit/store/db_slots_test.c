/* db_slots_test.c -- the keys of one slot among those of others.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_slots.h"

#include "clock.h"
#include "db_internal.h"
#include "store_support.h"

#include <stdio.h>

static void begin(void) {
    with_slots = true;
    storeReset();
}

static void end(void) {
    with_slots = false;
    storeReset();
}

static void addTagged(serverDb *db, const char *prefix, long from, long to) {
    for (long i = from; i < to; i++) {
        robj *o = stringEntry(keyN(prefix, i), i, 0);
        dbAddTake(db, i % 3 ? o : objectSetExpireTake(o, 2000000 + i), keyN(prefix, i));
        dbKeyChanged(db, keyN(prefix, i), NOTIFY_STRING, "set", 1);
    }
}

TEST(db_slots_count_and_list_their_keys) {
    begin();
    serverDb *db = dbGet(1);
    int foo = keyHashSlot("foo", 3), bar = keyHashSlot("bar", 3);
    const robj *entries[200];
    CHECK_EQ_INT(dbSlotSize(db, foo), 0);
    CHECK_EQ_INT(dbSlotEntries(db, foo, entries, 200), 0);
    CHECK_EQ_INT(dbSlotNext(db, 0), -1);
    addTagged(db, "{foo}", 0, 100);
    addTagged(db, "{bar}", 0, 7);
    CHECK_EQ_INT(dbSlotSize(db, foo), 100);
    CHECK_EQ_INT(dbSlotSize(db, bar), 7);
    CHECK_EQ_INT(dbSlotEntries(db, foo, entries, 0), 0);
    CHECK_EQ_INT(dbSlotEntries(db, foo, entries, 40), 40);
    CHECK_EQ_INT(dbSlotEntries(db, foo, entries, 200), 100);
    bool seen[100] = {0};
    for (size_t i = 0; i < 100; i++) {
        int number;
        char text[64];
        snprintf(text, sizeof(text), "%.*s", (int)objectKey(entries[i]).len, objectKey(entries[i]).ptr);
        if (!CHECK_EQ_INT(sscanf(text, "{foo}%d", &number), 1) || !CHECK(!seen[number])) break;
        seen[number] = true;
    }
    CHECK_EQ_INT(dbSlotNext(db, 0), foo < bar ? foo : bar);
    CHECK_EQ_INT(dbSlotNext(db, (foo < bar ? foo : bar) + 1), foo < bar ? bar : foo);
    CHECK_EQ_INT(dbSlotNext(db, (foo < bar ? bar : foo) + 1), -1);
    CHECK_EQ_INT(dbSlotSize(dbGet(0), foo), 0);
    end();
}

static size_t reported;

static void report(void *arg, serverDb *db, hashedKey key) {
    unused(arg);
    CHECK(!dbExists(db, key));
    dbKeyChanged(db, key, NOTIFY_GENERIC, "del", 1);
    reported++;
}

/* Deletes in slices that end at once, while keys are added; no key of another slot is touched. */
TEST(db_slots_are_emptied_in_slices) {
    begin();
    serverDb *db = dbGet(0);
    int foo = keyHashSlot("foo", 3);
    addTagged(db, "{foo}", 0, 5000);
    addTagged(db, "other", 0, 500);
    long others = (long)(dbSize(db) - dbSlotSize(db, foo));
    reported = 0;
    int slices = 0;
    while (!dbSlotDelete(db, foo, 0, report, NULL)) {
        if (slices++ < 10) addTagged(db, "{foo}added", slices * 5, slices * 5 + 5);
        if (slices % 50 == 0) dbCheck(db);
        if (!CHECK(slices < 10000)) break;
    }
    CHECK(slices > 5000 / 64);
    CHECK_EQ_INT(reported, 5050);
    CHECK_EQ_INT(ears.modified, 5050 + 5000 + 500 + 50);
    CHECK(keyspaceAllNotified());
    CHECK_EQ_INT(dbSize(db), others);
    CHECK_EQ_INT(dbSlotSize(db, foo), 0);
    CHECK(dbSlotDelete(db, foo, 0, report, NULL));
    dbCheck(db);
    end();
}

/* With time enough, one call deletes all. */
TEST(db_slots_are_emptied_at_once) {
    begin();
    serverDb *db = dbGet(0);
    addTagged(db, "{foo}", 0, 3000);
    CHECK(dbSlotDelete(db, keyHashSlot("foo", 3), clockMonotonicUs() + 60000000, report, NULL));
    CHECK(keyspaceAllNotified());
    CHECK_EQ_INT(dbSize(db), 0);
    CHECK_EQ_INT(dictSize(db->expires), 0);
    dbCheck(db);
    end();
}
