/* keyspace_events_test.c -- which observers are notified of which change.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "keyspace_events_internal.h"
#include "store_support.h"

TEST(notify_passes_only_classes_that_are_on) {
    storeReset();
    store_settings.notify_events = NOTIFY_EXPIRED;
    notifyKeyspaceEvent(dbGet(0), NOTIFY_NEW, "new", sliceStr("k"));
    CHECK_EQ_INT(ears.new, 0);
    notifyKeyspaceEvent(dbGet(0), NOTIFY_EXPIRED, "expired", sliceStr("k"));
    CHECK_EQ_INT(ears.expired, 1);
}

/* ---- Notifications  */

TEST(a_change_is_counted_and_told_to_all) {
    storeReset();
    store_settings.notify_events = NOTIFY_STRING | NOTIFY_GENERIC;
    serverDb *db = dbGet(1);
    dbKeyChanged(db, keyOf("k"), NOTIFY_STRING, "set", 1);
    dbKeyEvent(db, keyOf("k"), NOTIFY_GENERIC, "expire");
    CHECK_EQ_INT(ears.modified, 1);
    CHECK_EQ_INT(ears.by_command, 1);
    CHECK_EQ_INT(ears.events, 2);
    CHECK_EQ_STR(ears.last_key, "k");
    CHECK_EQ_INT(store_stats.dirty, 1);
    dbKeyChanged(db, keyOf("l"), NOTIFY_LIST, "lpush", 5); /* class is off: no event, everything else */
    CHECK_EQ_INT(ears.modified, 2);
    CHECK_EQ_INT(ears.events, 2);
    CHECK_EQ_INT(store_stats.dirty, 6);
    dbKeyChanged(db, keyOf("m"), 0, NULL, 0); /* not propagated, but watchers are notified */
    CHECK_EQ_INT(ears.modified, 3);
    CHECK_EQ_INT(store_stats.dirty, 6);
}

static int ready_lists, ready_others;

static void hearReady(serverDb *db, hashedKey key, int type) {
    CHECK_EQ_INT(dbId(db), 0);
    CHECK(sliceEq(key.name, sliceStr("waited")));
    if (type == OBJ_LIST) ready_lists++;
    else ready_others++;
}

static void nothing(void *structure) { unused(structure); }

/* Any command that creates a list wakes clients blocked on the key; strings have no blocked clients. */
TEST(a_value_that_can_be_waited_for_is_told_as_ready) {
    static const objectTypeOps ops = {.free = nothing};
    static int structure;
    objectRegisterType(OBJ_LIST, &ops);
    storeObserveReady(hearReady);
    storeReset();
    hashedKey key = keyOf("waited");
    dbAddTake(dbGet(0), objectCreateString(key.name, sliceStr("x"), false, 0), key);
    CHECK_EQ_INT(ready_lists, 0);
    setKeyTake(dbGet(0), objectCreateTake(key.name, OBJ_LIST, OBJ_ENC_QUICKLIST, &structure), key, false);
    CHECK_EQ_INT(ready_lists, 1);
    dbDelete(dbGet(0), key);
    dbAddTake(dbGet(0), objectCreateTake(key.name, OBJ_LIST, OBJ_ENC_QUICKLIST, &structure), key);
    CHECK_EQ_INT(ready_lists, 2);
    dbKeyReady(dbGet(0), key, OBJ_STREAM);
    CHECK_EQ_INT(ready_others, 1);
    storeReset();
    ready_lists = ready_others = 0;
}

TEST(a_move_is_one_change_of_two_keys) {
    storeReset();
    store_settings.notify_events = NOTIFY_GENERIC;
    dbKeyMoved(dbGet(0), keyOf("a"), "move_from", dbGet(2), keyOf("b"), "move_to");
    CHECK_EQ_INT(ears.by_command, 2);
    CHECK_EQ_INT(ears.events, 2);
    CHECK_EQ_STR(ears.last_key, "b");
    CHECK_EQ_INT(store_stats.dirty, 1);
    CHECK_EQ_INT(ears.removed, 0);
}

/* A key that a command expires is propagated by the command; a key that the server expires needs a DEL. */
TEST(expiry_is_propagated_once) {
    storeReset();
    serverDb *db = dbGet(0);
    for (int by_command = 0; by_command < 2; by_command++) {
        ears = (heard){0};
        store_stats = (storeStats){0};
        robj *o = objectSetExpireTake(stringEntry(keyOf("k"), 1, 0), 5);
        dbAddTake(db, o, keyOf("k"));
        if (by_command) dbExpireNow(db, o, keyOf("k"));
        else CHECK(!lookupKeyRead(db, keyOf("k")));
        CHECK(!dbExists(db, keyOf("k")));
        CHECK_EQ_INT(ears.expired, 1);
        CHECK_EQ_INT(ears.modified, 1);
        CHECK_EQ_INT(ears.by_command, by_command);
        CHECK_EQ_INT(ears.removed, !by_command);
        CHECK_EQ_INT(store_stats.dirty, by_command);
        CHECK_EQ_INT(store_stats.expired_keys, 1);
    }
}

TEST(flush_and_swap_are_told_before_they_happen) {
    storeReset();
    dbAddTake(dbGet(1), stringEntry(keyOf("a"), 1, 0), keyOf("a"));
    dbAddTake(dbGet(1), stringEntry(keyOf("b"), 1, 0), keyOf("b"));
    CHECK(!dbSwap(1, TEST_DBS));
    CHECK_EQ_INT(ears.swapped, 0);
    CHECK(dbSwap(1, 2));
    CHECK_EQ_INT(ears.swapped, 1);
    CHECK_EQ_INT(ears.swapped_ids, 102);
    CHECK_EQ_INT(ears.swapped_first_size, 2);
    CHECK_EQ_INT(store_stats.dirty, 1);
    CHECK_EQ_INT(dbEmpty(2, false), 2);
    CHECK_EQ_INT(ears.flushed, 1);
    CHECK_EQ_INT(store_stats.dirty, 3);
    CHECK_EQ_INT(dbEmpty(-1, true), 0); /* reported all the same: the command is propagated */
    CHECK_EQ_INT(ears.flushed, 2);
    CHECK_EQ_INT(ears.flushed_id, -1);
    CHECK_EQ_INT(store_stats.dirty, 3);
}

#ifdef DEBUG_ASSERTIONS
static bool owesAfter(void (*change)(serverDb *db, hashedKey key)) {
    serverDb *db = dbGet(0);
    hashedKey key = keyOf("k");
    robj *o = objectSetExpireTake(stringEntry(key, 1, 0), 2000000);
    setKeyTake(db, o, key, false);
    dbKeyChanged(db, key, NOTIFY_STRING, "set", 1);
    if (!CHECK(keyspaceAllNotified())) return false;
    change(db, key);
    bool owes = !keyspaceAllNotified();
    dbKeyChanged(dbGet(1), key, NOTIFY_STRING, "set", 1); /* a key of that name in another database */
    CHECK_EQ_INT(!keyspaceAllNotified(), owes);
    dbKeyChanged(db, key, NOTIFY_STRING, "set", 1);
    CHECK(keyspaceAllNotified());
    return owes;
}

static void overwrite(serverDb *db, hashedKey key) { setKeyTake(db, stringEntry(key, 2, 0), key, false); }
static void deleteIt(serverDb *db, hashedKey key) { dbDelete(db, key); }
static void takeOut(serverDb *db, hashedKey key) {
    robj *o = lookupKeyWrite(db, key);
    CHECK(dbTakeEntry(db, o, key.hash));
    objectRelease(o);
}
static void deleteAndAdd(serverDb *db, hashedKey key) {
    dbDeleteSync(db, key);
    dbAddTake(db, stringEntry(key, 3, 0), key);
}
static void setExpire(serverDb *db, hashedKey key) { dbSetExpire(db, lookupKeyWrite(db, key), key, 3000000); }
static void persist(serverDb *db, hashedKey key) { CHECK(dbRemoveExpire(db, lookupKeyWrite(db, key), key)); }
static void grow(serverDb *db, hashedKey key) {
    robj *o = lookupKeyWrite(db, key);
    dbReplaceEntry(db, o, objectMakeWritableTake(o, 100), key);
}
static void look(serverDb *db, hashedKey key) {
    CHECK(lookupKeyWrite(db, key) && lookupKeyRead(db, key) && dbExists(db, key));
}
static void expire(serverDb *db, hashedKey key) { dbExpireNow(db, lookupKeyWrite(db, key), key); }

TEST(the_ledger_knows_what_has_not_been_told) {
    storeReset();
    CHECK(owesAfter(overwrite));
    CHECK(owesAfter(deleteIt));
    CHECK(owesAfter(takeOut));
    CHECK(owesAfter(deleteAndAdd));
    CHECK(owesAfter(setExpire));
    CHECK(owesAfter(persist));
    CHECK(owesAfter(grow));
    CHECK(!owesAfter(look));
    CHECK(!owesAfter(expire)); /* the keyspace has reported it itself */
    dbDelete(dbGet(0), keyOf("k"));
    dbEmpty(0, false);
    CHECK(keyspaceAllNotified());
}

/* When the ledger is full, it remembers that there were more keys. */
TEST(the_ledger_is_full_until_a_flush) {
    enum { MANY = 1000 };
    serverDb *db = dbGet(0);
    storeReset();
    for (long i = 0; i < MANY; i++) setKeyTake(db, stringEntry(keyN("k", i), i, 0), keyN("k", i), false);
    for (long i = 0; i < MANY; i++) dbKeyChanged(db, keyN("k", i), NOTIFY_STRING, "set", 1);
    CHECK(!keyspaceAllNotified());
    dbEmpty(0, false);
    CHECK(keyspaceAllNotified());
}
#endif
