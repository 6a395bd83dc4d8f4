/* expire_test.c -- the active expire cycle with a clock that the test sets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_internal.h"
#include "expire.h"
#include "replica_expires.h"
#include "store_support.h"
#include "value_hash.h"

#include <stdio.h>

static void fill(int id, const char *prefix, long n, int64_t when_ms) {
    for (long i = 0; i < n; i++) {
        robj *o = stringEntry(keyN(prefix, i), i, (size_t)(i % 130));
        if (when_ms != -1) o = objectSetExpireTake(o, when_ms);
        dbAddTake(dbGet(id), o, keyN(prefix, i));
    }
}

STORE_TEST(expire_cycle_removes_what_is_over_and_nothing_else) {
    storeReset();
    for (int id = 0; id < TEST_DBS; id++) {
        fill(id, "stay", 500, -1);
        fill(id, "later", 500, 2000000);
        fill(id, "over", 3000, 1000500);
    }
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(store_stats.expired_keys, 0);
    storeSetNowMs(1000501);
    expireSetActive(false);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    expireSetActive(true);
    stand_still = true;
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    stand_still = false;
    CHECK_EQ_INT(store_stats.expired_keys, 0);
    /* A step leaves a db if few of the visited keys had expired, so the last keys need several calls. */
    for (int i = 0; i < 3000 && store_stats.expired_keys < TEST_DBS * 3000; i++) activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(store_stats.expired_keys, TEST_DBS * 3000);
    CHECK_EQ_INT(ears.expired, TEST_DBS * 3000);
    CHECK_EQ_INT(ears.removed, TEST_DBS * 3000);
    CHECK_EQ_INT(ears.removed_by_eviction, 0);
    for (int id = 0; id < TEST_DBS; id++) {
        CHECK_EQ_INT(dbSize(dbGet(id)), 1000);
        CHECK_EQ_INT(dictSize(dbGet(id)->expires), 500);
        dbCheck(dbGet(id));
        CHECK(dbGet(id)->avg_ttl_ms > 900000 && dbGet(id)->avg_ttl_ms <= 1000000);
    }
    CHECK(store_stats.expired_stale_perc > 0 && store_stats.expired_stale_perc <= 100);
    CHECK(store_stats.expire_cycle_cpu_us > 0);
}

/* A single key with an expire among keys without one is deleted at the first call. */
STORE_TEST(expire_cycle_finds_a_lone_key_at_once) {
    storeReset();
    fill(3, "stay", 2000, -1);
    fill(3, "over", 1, 999);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(dbSize(dbGet(3)), 2000);
    /* All visited keys had expired, which counts for a twentieth; then there are none. */
    CHECK(store_stats.expired_stale_perc > 4.99 && store_stats.expired_stale_perc < 5.01);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK(store_stats.expired_stale_perc > 4.74 && store_stats.expired_stale_perc < 4.76);
}

/* Does all the work of a tick. */
static void tick(void) {
    for (bool more = activeExpireCycle(EXPIRE_CYCLE_SLOW); more;) more = activeExpireCycle(EXPIRE_CYCLE_REST);
}

/* A tick has a quarter of a second here, enough to delete all of these keys; no call deletes so many. */
/* A replica's dataset deletes no expired keys, except those to which its own clients gave an expire: they are checked
 * in each call until they have expired, and forgotten if their expire changes or the key is deleted. */
STORE_TEST(expire_cycle_removes_own_keys_while_it_follows) {
    storeReset();
    serverDb *db = dbGet(2);
    fill(2, "theirs", 1, 1000500);
    storeSetFollowing((storeFollowing){.on = true});
    const char *const own[] = {"own0", "own1", "own2"};
    for (int i = 0; i < 3; i++) {
        dbAddTake(db, stringEntry(keyOf(own[i]), i, 10), keyOf(own[i]));
        dbSetExpire(db, lookupKeyWrite(db, keyOf(own[i])), keyOf(own[i]), 1000500);
    }
    CHECK_EQ_INT(replicaExpiresCount(), 3);
    for (int i = 0; i < 3; i++) activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(replicaExpiresCount(), 3);
    CHECK_EQ_INT(dbSize(db), 4);
    dbSetExpire(db, lookupKeyWrite(db, keyOf(own[1])), keyOf(own[1]), 2000000);
    CHECK(dbDelete(db, keyOf(own[2])));
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(replicaExpiresCount(), 2);
    storeSetNowMs(1000501);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(replicaExpiresCount(), 1);
    CHECK(!dbExists(db, keyOf(own[0])));
    CHECK(dbExists(db, keyOf(own[1])));
    CHECK(dbExists(db, keyN("theirs", 0)));
    CHECK_EQ_INT(store_stats.expired_keys, 1);
    storeSetFollowing((storeFollowing){0});
    replicaExpiresClear();
    dbCheck(db);
}

STORE_TEST(expire_cycle_works_in_slices) {
    enum { KEYS = 60000 };
    storeReset();
    store_settings.hz = 1;
    fill(0, "over", KEYS, 999);
    CHECK(activeExpireCycle(EXPIRE_CYCLE_SLOW));
    CHECK(dbSize(dbGet(0)) > 0);
    CHECK_EQ_INT(store_stats.expired_time_cap_reached, 0);
    long long expired = store_stats.expired_keys;
    CHECK(expired > 0);
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_FAST)); /* not between the slow calls */
    CHECK_EQ_INT(store_stats.expired_keys, expired);
    int slices = 1;
    while (activeExpireCycle(EXPIRE_CYCLE_REST)) slices++;
    CHECK(slices > 2);
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_REST));
    expired = store_stats.expired_keys;
    stand_still = true;
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_SLOW));
    stand_still = false;
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_REST));
    CHECK_EQ_INT(store_stats.expired_keys, expired);
    for (int i = 0; i < 200 && dbSize(dbGet(0)); i++) tick();
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
}

STORE_TEST(expire_cycle_is_cut_short_and_the_fast_one_goes_on) {
    storeReset();
    store_settings.hz = 500; /* gives a slow call half a millisecond */
    fill(0, "over", 60000, 999);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK(store_stats.expired_time_cap_reached >= 1);
    long long after_slow = store_stats.expired_keys;
    CHECK(after_slow > 0 && after_slow < 60000);
    activeExpireCycle(EXPIRE_CYCLE_FAST);
    CHECK(store_stats.expired_keys > after_slow);
    store_settings.hz = 10;
    for (int i = 0; i < 200 && dbSize(dbGet(0)); i++) tick();
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
}

/* ---- Field TTLs -------------------------- */

static slice fieldN(long i, char *buf, size_t size) {
    return sliceOf(buf, (size_t)snprintf(buf, size, "field:%ld", i));
}

/* Adds a hash of `fields` fields that expire at `when_ms`, and one more without a TTL if `stays`. */
static void addHash(int id, hashedKey key, long fields, int64_t when_ms, bool stays) {
    char buf[32];
    robj *o = hashCreate(key.name);
    for (long i = 0; i < fields; i++) {
        slice field = fieldN(i, buf, sizeof(buf));
        hashSet(o, field, hashBytes(field.ptr, field.len), sliceStr("value"), when_ms);
    }
    slice field = sliceStr("stays");
    if (stays) hashSet(o, field, hashBytes(field.ptr, field.len), sliceStr("value"), HASH_NO_TIME);
    dbAddTake(dbGet(id), o, key);
}

STORE_TEST(expire_cycle_takes_elements_that_are_over) {
    storeReset();
    objectTypesRegister();
    for (long i = 0; i < 200; i++) addHash(0, keyN("small", i), 1 + i % 3, 1000500, i % 2);
    addHash(0, keyN("later", 0), 100, 2000000, false);
    addHash(0, keyN("large", 0), 20000, 1000500, true);
    addHash(1, keyN("emptied", 0), 20000, 1000500, false);
    dbCheck(dbGet(0));
    CHECK_EQ_INT(dictSize(dbGet(0)->volatile_items), 202);
    tick();
    CHECK_EQ_INT(store_stats.expired_fields, 0);
    storeSetNowMs(1000501);
    for (int i = 0; i < 3000 && store_stats.expired_fields < 40399; i++) tick();
    CHECK_EQ_INT(store_stats.expired_fields, 40399);
    CHECK_EQ_INT(dbSize(dbGet(0)), 102);
    CHECK_EQ_INT(dbSize(dbGet(1)), 0);
    CHECK_EQ_INT(dictSize(dbGet(0)->volatile_items), 1);
    CHECK_EQ_INT(store_stats.expired_keys, 0);
    dbCheck(dbGet(0));
    dbCheck(dbGet(1));
    CHECK(store_stats.elements_stale_perc > 0);
    storeReset();
}

STORE_TEST(keys_with_timed_elements_are_known_wherever_they_go) {
    storeReset();
    objectTypesRegister();
    hashedKey a = keyN("a", 0), b = keyN("b", 0);
    addHash(0, a, 3, 2000000, false);
    robj *moved = objectRenameTake(dbUnlink(dbGet(0), a), b.name);
    CHECK_EQ_INT(dictSize(dbGet(0)->volatile_items), 0);
    dbAddTake(dbGet(0), moved, b);
    dbSwap(0, 1);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 1);
    dbCheck(dbGet(1));
    dbAddTake(dbGet(1), objectDup(moved, a.name), a);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 2);
    setKeyTake(dbGet(1), stringEntry(b, 1, 5), b, false);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 1);
    setKeyTake(dbGet(1), objectDup(lookupKeyRead(dbGet(1), a), b.name), b, false);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 2);
    dbCheck(dbGet(1));
    CHECK(dbDelete(dbGet(1), b));
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 1);
    robj *o = lookupKeyWrite(dbGet(1), a);
    char buf[32];
    for (long i = 0; i < 3; i++) {
        slice field = fieldN(i, buf, sizeof(buf));
        hashSetTime(o, field, hashBytes(field.ptr, field.len), HASH_NO_TIME);
    }
    dbFieldTtlsChanged(dbGet(1), o, a);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 0);
    dbCheck(dbGet(1));
    addHash(1, keyN("c", 0), 3, 2000000, false);
    dbEmpty(1, true);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 0);
    dbSwap(0, 1);

    addHash(1, a, 3, 2000000, false);
    robj *unlinked = dbUnlink(dbGet(1), a);
    loadedKey loaded = {.entry = unlinked, .hash = a.hash, .use = -1, .has_ttls = true};
    dbShadowBegin();
    CHECK_EQ_INT(dbAddLoaded(dbShadow(1), &loaded, 1), 1);
    addHash(1, b, 3, 2000000, false);
    addHash(1, keyN("c", 0), 3, 2000000, false);
    dbShadowTake(false);
    CHECK_EQ_INT(dictSize(dbGet(1)->volatile_items), 1);
    dbCheck(dbGet(1));
    storeReset();
}
