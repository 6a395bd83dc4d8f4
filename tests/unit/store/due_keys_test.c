/* due_keys_test.c -- the index of keys by time, beside a model, in every way in which keys enter, change and leave.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "db_internal.h"
#include "defrag.h"
#include "expire.h"
#include "store_support.h"
#include "value_hash.h"
#include "zmalloc.h"

#include <stdio.h>

#define KEYS 200
#define DBS 3 /* of TEST_DBS */
#define ABSENT (-2)

static int64_t expires[DBS][KEYS]; /* ABSENT, -1: no expire */
static uint64_t seed;
static int64_t now_ms;
static int exact_ticks;
static int64_t latest_ms; /* the clock was set back from there, or an index made then */

static size_t pick(size_t below) { return (size_t)(unitRandom(&seed) % below); }

static hashedKey name(size_t i) { return keyN(i % 2 ? "k" : "a-key-of-middle-length:", (long)i); }

/* Does all the work of a tick. */
static void tick(void) {
    for (bool more = activeExpireCycle(EXPIRE_CYCLE_SLOW); more;) more = activeExpireCycle(EXPIRE_CYCLE_REST);
}

/* Does ticks until all indexes that are wanted are complete. */
static void tickUntilFilled(void) {
    bool filling = true;
    for (int i = 0; i < 1000 && filling; i++) {
        tick();
        filling = false;
        for (int id = 0; id < TEST_DBS; id++) filling |= dbGet(id)->due.coming != NULL;
    }
    CHECK(!filling);
}

static void setNow(int64_t ms) { storeSetNowMs(now_ms = ms); }

static void setBack(int64_t ms) {
    if (now_ms > latest_ms) latest_ms = now_ms;
    setNow(now_ms - ms);
}

static int64_t randomWhen(void) { return now_ms + 1 + (int64_t)pick(pick(2) ? 300 : pick(2) ? 20000 : 2000000); }

static bool isOver(int64_t when_ms) { return when_ms != -1 && when_ms < now_ms; }

/* Returns the live entry of a key, which the model must have as well. */
static robj *live(int id, size_t i) {
    robj *o = lookupKeyWrite(dbGet(id), name(i));
    int64_t *when = &expires[id][i];
    CHECK_EQ_INT(o != NULL, *when != ABSENT && !isOver(*when));
    if (!o) *when = ABSENT;
    else CHECK_EQ_INT(objectExpire(o), *when);
    return o;
}

static robj *entryWith(size_t i, int64_t when_ms) {
    robj *o = stringEntry(name(i), (long)i, pick(2) ? 10 : 200);
    return when_ms == -1 ? o : objectSetExpireTake(o, when_ms);
}

static void overwrite(int id, size_t i) {
    int64_t was = expires[id][i], when_ms = pick(3) ? randomWhen() : -1;
    bool keep = pick(3) == 0, is = was != ABSENT && !isOver(was);
    setKeyTake(dbGet(id), entryWith(i, when_ms), name(i), keep);
    expires[id][i] = keep && is && was != -1 ? was : when_ms;
}

static void change(int id, size_t i) {
    robj *o = live(id, i);
    if (!o) return;
    serverDb *db = dbGet(id);
    size_t len = objectStringLen(o);
    switch (pick(4)) {
    case 0:
        dbRemoveExpire(db, o, name(i));
        expires[id][i] = -1;
        break;
    case 1: {
        robj *changed = objectMakeWritableTake(o, len + 1);
        objectSetStringLen(changed, len);
        dbReplaceEntry(db, o, changed, name(i));
        break;
    }
    default: dbSetExpire(db, o, name(i), expires[id][i] = randomWhen());
    }
}

static void moveKey(int id, size_t i) {
    int to = (int)pick(DBS);
    size_t as = pick(KEYS);
    if (!live(id, i) || (to == id && as == i)) return;
    robj *o = objectRenameTake(dbUnlink(dbGet(id), name(i)), name(as).name);
    int64_t when_ms = expires[id][i];
    expires[id][i] = ABSENT;
    dbDelete(dbGet(to), name(as));
    dbAddTake(dbGet(to), o, name(as));
    expires[to][as] = when_ms;
}

/* Replaces all databases by loaded ones, or adds loaded keys. */
static void load(void) {
    bool beside = pick(2);
    if (beside) {
        dbShadowBegin();
        for (int id = 0; id < DBS; id++)
            for (size_t i = 0; i < KEYS; i++) expires[id][i] = ABSENT;
    }
    for (int id = 0; id < DBS; id++) {
        for (size_t i = 0; i < KEYS; i++) {
            if (expires[id][i] != ABSENT || pick(3)) continue;
            int64_t when_ms = pick(3) ? randomWhen() : -1;
            loadedKey k = {.hash = name(i).hash, .use = 0, .has_expire = when_ms != -1};
            k.entry = entryWith(i, when_ms);
            serverDb *db = beside ? dbShadow(id) : dbGet(id);
            CHECK_EQ_INT(dbAddLoaded(db, &k, 1), 1);
            expires[id][i] = when_ms;
        }
    }
    if (beside && pick(2)) {
        dbShadowTake(pick(2));
    } else if (beside) {
        dbShadowDrop(pick(2));
        dbEmpty(-1, pick(2));
        for (int id = 0; id < DBS; id++)
            for (size_t i = 0; i < KEYS; i++) expires[id][i] = ABSENT;
    }
}

static void swapOrEmpty(void) {
    int a = (int)pick(DBS), b = (int)pick(DBS);
    if (pick(2)) {
        dbEmpty(a, pick(2));
        for (size_t i = 0; i < KEYS; i++) expires[a][i] = ABSENT;
        return;
    }
    dbSwap(a, b);
    for (size_t i = 0; i < KEYS; i++) {
        int64_t was = expires[a][i];
        expires[a][i] = expires[b][i];
        expires[b][i] = was;
    }
}

/* Does a tick. If there was an index before, no key is later than its grain then; those that are not over are there. */
static void tickAndCheck(void) {
    const timeWheel *wheels[DBS];
    for (int id = 0; id < DBS; id++) wheels[id] = dbGet(id)->due.wheel;
    long long cuts = store_stats.expired_time_cap_reached; /* if other programs take the processor for a whole tick */
    tick();
    bool complete = store_stats.expired_time_cap_reached == cuts;
    for (int id = 0; id < DBS; id++) {
        bool exact = complete && now_ms >= latest_ms + TIME_WHEEL_GRAIN_MS && wheels[id] &&
                     wheels[id] == dbGet(id)->due.wheel;
        dbCheck(dbGet(id));
        if (!exact && now_ms > latest_ms) latest_ms = now_ms;
        exact_ticks += exact;
        for (size_t i = 0; i < KEYS; i++) {
            int64_t *when = &expires[id][i];
            if (*when == ABSENT) continue;
            bool there = dbExists(dbGet(id), name(i));
            if (!isOver(*when)) CHECK(there);
            else if (exact) CHECK(!there || *when >= now_ms - TIME_WHEEL_GRAIN_MS);
            if (!there) *when = ABSENT;
        }
    }
}

static void step(void) {
    int id = (int)pick(DBS);
    size_t i = pick(KEYS), what = pick(100);
    if (what < 35) overwrite(id, i);
    else if (what < 60) change(id, i);
    else if (what < 65) moveKey(id, i);
    else if (what < 75 && live(id, i)) CHECK(dbDelete(dbGet(id), name(i)));
    else if (what >= 99 && pick(20) == 0) pick(2) ? load() : swapOrEmpty();
    else if (what >= 99 && pick(20) == 0) store_settings.expire_precise = (int)pick(3);
    else if (what >= 99 && pick(20) == 0) setBack(1 + (int64_t)pick(5000));
    if (what >= 65 && what < 75) expires[id][i] = ABSENT;
}

STORE_TEST(due_keys_match_a_model) {
    storeReset();
    store_settings.activedefrag = store_settings.active_defrag_all = true;
    store_settings.active_defrag_cycle_us = 0;
    seed = unitRandomSeed();
    latest_ms = 0;
    setNow(1000000);
    for (int id = 0; id < DBS; id++)
        for (size_t i = 0; i < KEYS; i++) expires[id][i] = ABSENT;
    for (int n = 0; n < 100000; n++) {
        step();
        if (n % 50 == 0) dbCheck(dbGet((int)pick(DBS)));
        if (n % 100 != 0) continue;
        setNow(now_ms + (int64_t)pick(pick(2) ? 50 : 5000));
        defragTick();
        CHECK(defragRun() > 0);
        tickAndCheck();
    }
    CHECK(exact_ticks > 500);
    store_settings.activedefrag = false;
    CHECK_EQ_INT(defragRun(), 0);
    storeReset();
}

static void addKeys(int id, const char *prefix, long n, int64_t when_ms) {
    for (long i = 0; i < n; i++) {
        robj *o = objectSetExpireTake(stringEntry(keyN(prefix, i), i, 10), when_ms);
        dbAddTake(dbGet(id), o, keyN(prefix, i));
    }
}

static int reported;

static void noteReport(void) { reported++; }

/* The case for which the index is made: the walk over samples would find few of these keys. */
STORE_TEST(due_keys_are_deleted_at_once_among_many_others) {
    storeReset();
    setNow(1000000);
    addKeys(0, "later", 10000, 9000000);
    addKeys(2, "later", 10000, 9000000);
    tickUntilFilled();
    CHECK(dbGet(0)->due.wheel && dbGet(2)->due.wheel && !dbGet(1)->due.wheel);
    reported = 0;
    dueKeysOnEarlier(noteReport);
    addKeys(0, "over", 1000, 1000200);
    addKeys(2, "over", 1000, 1000200);
    dueKeysOnEarlier(NULL);
    CHECK_EQ_INT(reported, 1);
    CHECK_EQ_INT(expireNextDueMs(), 1000208);
    setNow(1000208);
    for (int i = 0; i < 100 && store_stats.expired_keys < 2000; i++) { /* a slow build may need several ticks */
        while (activeExpireCycle(EXPIRE_CYCLE_DUE)) {
        }
        if (store_stats.expired_keys < 2000) activeExpireCycle(EXPIRE_CYCLE_SLOW);
    }
    CHECK_EQ_INT(store_stats.expired_keys, 2000);
    CHECK_EQ_INT(ears.expired, 2000);
    CHECK_EQ_INT(expireLagMs(), 8);
    CHECK_EQ_INT(expireNextDueMs(), INT64_MAX);
    setNow(1000208 + 2000);
    CHECK_EQ_INT(expireLagMs(), 0);
    dbCheck(dbGet(0));
    dbCheck(dbGet(2));
    storeReset();
}

STORE_TEST(due_keys_keep_to_the_time_of_a_tick) {
    bool is_slice = false;
    for (int i = 0; i < 20 && !is_slice; i++) { /* other programs may take the processor for a whole tick */
        storeReset();
        setNow(1000000);
        addKeys(0, "over", 50000, 1000100);
        tickUntilFilled();
        setNow(1000200);
        is_slice = activeExpireCycle(EXPIRE_CYCLE_DUE);
    }
    CHECK(is_slice);
    CHECK(dbSize(dbGet(0)) > 0 && dbSize(dbGet(0)) < 50000);
    store_settings.hz = 500; /* half a millisecond for a tick */
    addKeys(1, "over", 50000, 1000100);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    while (activeExpireCycle(EXPIRE_CYCLE_REST)) {
    }
    while (activeExpireCycle(EXPIRE_CYCLE_DUE)) {
    }
    long long expired = store_stats.expired_keys;
    CHECK(store_stats.expired_time_cap_reached > 0);
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_DUE));
    CHECK_EQ_INT(store_stats.expired_keys, expired);
    CHECK_EQ_INT(expireNextDueMs(), INT64_MAX); /* not before the next tick */
    storeReset();
}

STORE_TEST(due_keys_stay_while_none_may_be_deleted) {
    storeReset();
    setNow(1000000);
    addKeys(0, "over", 100, 1000100);
    tickUntilFilled();
    setNow(1000200);
    expireSetActive(false);
    tickUntilFilled();
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_DUE) && expireNextDueMs() == INT64_MAX);
    expireSetActive(true);
    stand_still = true;
    tickUntilFilled();
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_DUE) && expireNextDueMs() == INT64_MAX);
    stand_still = false;
    CHECK_EQ_INT(dbSize(dbGet(0)), 100);
    dbCheck(dbGet(0));
    storeSetFollowing((storeFollowing){.on = true});
    tickUntilFilled();
    CHECK(!dbGet(0)->due.wheel); /* a replica has none */
    storeSetFollowing((storeFollowing){0});
    CHECK_EQ_INT(dbSize(dbGet(0)), 100);
    tickUntilFilled();
    setNow(1000216);
    tickUntilFilled();
    CHECK_EQ_INT(dbSize(dbGet(0)), 0);
    storeReset();
}

/* Keys that are deleted, and times that go to and fro, leave numbers behind, of which there are never too many. */
STORE_TEST(due_keys_index_is_made_again_before_it_is_too_large) {
    storeReset();
    setNow(1000000);
    addKeys(0, "stays", 1000, 9000000);
    tickUntilFilled();
    serverDb *db = dbGet(0);
    for (int i = 0; i < 100000; i++) {
        hashedKey key = keyN(i % 2 ? "deleted" : "stays", i / 2 % 1000);
        if (i % 2) {
            dbAddTake(db, objectSetExpireTake(stringEntry(key, i, 10), 8000000), key);
            CHECK(dbDelete(db, key));
        } else {
            robj *o = dbSetExpire(db, lookupKeyWrite(db, key), key, 5000000);
            dbSetExpire(db, o, key, 9000000);
        }
        if (i % 1000 == 0) tick();
        CHECK(dueKeysSize(&db->due) <= 8200);
    }
    dbCheck(db);
    /* Later times alone cost nothing. */
    tickUntilFilled();
    size_t size = dueKeysSize(&db->due);
    for (long i = 0; i < 10000; i++) {
        hashedKey key = keyN("stays", i % 1000);
        setKeyTake(db, objectSetExpireTake(stringEntry(key, i, 10), 9000000 + i), key, false);
    }
    CHECK_EQ_INT(dueKeysSize(&db->due), size);
    dbCheck(db);
    storeReset();
}

STORE_TEST(due_keys_index_is_on_and_off_as_the_option_says) {
    enum { MANY = 40000 };
    storeReset();
    setNow(1000000);
    serverDb *db = dbGet(0);
    size_t before = zmallocUsed();
    addKeys(0, "k", MANY, 9000000);
    size_t without = zmallocUsed();
    CHECK_EQ_INT(store_settings.expire_precise, EXPIRE_PRECISE_AUTO);
    tickUntilFilled();
    CHECK(db->due.wheel && !db->due.coming);
    CHECK_EQ_INT(dueKeysSize(&db->due), MANY);
    CHECK_EQ_INT(dueKeysMemUsage(&db->due), zmallocUsed() - without);
    CHECK(dueKeysMemUsage(&db->due) < MANY * 10);
    store_settings.expire_precise = EXPIRE_PRECISE_NO;
    tickUntilFilled();
    bioDrain(BIO_LAZY_FREE);
    CHECK_EQ_INT(zmallocUsed(), without);
    CHECK(!db->due.wheel && !db->due.coming);
    /* With `auto` it takes at most a sixteenth of maxmemory, and a half of that to begin with. */
    store_settings.expire_precise = EXPIRE_PRECISE_AUTO;
    store_settings.maxmemory = MANY * 8 * 16;
    tickUntilFilled();
    CHECK(!db->due.wheel);
    store_settings.maxmemory *= 2;
    tickUntilFilled();
    CHECK(db->due.wheel);
    store_settings.maxmemory /= 2;
    tickUntilFilled();
    CHECK(db->due.wheel);
    store_settings.maxmemory--;
    tickUntilFilled();
    CHECK(!db->due.wheel);
    store_settings.expire_precise = EXPIRE_PRECISE_YES;
    tickUntilFilled();
    CHECK(db->due.wheel);
    dbEmpty(-1, true);
    CHECK(!db->due.wheel);
    storeReset();
    CHECK(zmallocUsed() <= before);
}

/* While it is filled, keys come, go and get other times. */
STORE_TEST(due_keys_index_is_filled_in_slices) {
    enum { MANY = 60000 };
    storeReset();
    setNow(1000000);
    serverDb *db = dbGet(0);
    addKeys(0, "k", MANY, 9000000);
    store_settings.hz = 500;
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK(!db->due.wheel && db->due.coming);
    seed = unitRandomSeed();
    int slices = 1;
    for (; !db->due.wheel && slices < 10000; slices++) {
        for (int n = 0; n < 50; n++) {
            hashedKey key = keyN("k", (long)pick(MANY));
            robj *o = lookupKeyWrite(db, key);
            if (!o) dbAddTake(db, objectSetExpireTake(stringEntry(key, n, 10), 7000000), key);
            else if (n % 2) CHECK(dbDelete(db, key));
            else dbSetExpire(db, o, key, 8000000);
        }
        activeExpireCycle(EXPIRE_CYCLE_SLOW);
    }
    CHECK(slices > 2);
    dbCheck(db);
    storeReset();
}

/* ---- Elements with a TTL ---- */

#define HASHES 60
#define FIELDS 6

static int64_t field_times[HASHES][FIELDS]; /* ABSENT, HASH_NO_TIME */

static hashedKey fieldName(size_t i) { return keyN("field", (long)i); }

static void setField(size_t h, size_t f, int64_t when_ms) {
    serverDb *db = dbGet(0);
    hashedKey key = keyN("hash", (long)h), field = fieldName(f);
    robj *o = lookupKeyWrite(db, key);
    if (!o) {
        o = hashCreate(key.name);
        hashSet(o, field.name, field.hash, sliceStr("value"), when_ms);
        dbAddTake(db, o, key);
    } else {
        hashSet(o, field.name, field.hash, sliceStr("value"), when_ms);
        dbFieldTtlsChanged(db, o, key);
    }
    field_times[h][f] = when_ms;
}

static void forgetHash(size_t h) {
    for (size_t f = 0; f < FIELDS; f++) field_times[h][f] = ABSENT;
}

static void changeHash(size_t h) {
    serverDb *db = dbGet(0);
    hashedKey key = keyN("hash", (long)h);
    robj *o = lookupKeyWrite(db, key);
    switch (o ? pick(6) : 0) {
    case 0: setField(h, pick(FIELDS), pick(4) ? randomWhen() : HASH_NO_TIME); break;
    case 1:
        CHECK(dbDelete(db, key));
        forgetHash(h);
        break;
    case 2: { /* gives the entry another address */ dbSetExpire(db, o, key, now_ms + 900000000); break;
    }
    case 3: {
        size_t to = pick(HASHES);
        if (to == h) break;
        robj *copy = objectDup(o, keyN("hash", (long)to).name);
        copy->lru = 0;
        setKeyTake(db, copy, keyN("hash", (long)to), false);
        memcpy(field_times[to], field_times[h], sizeof(field_times[h]));
        break;
    }
    default:
        for (size_t f = 0; f < FIELDS; f++)
            if (field_times[h][f] != ABSENT && pick(2)) setField(h, f, pick(4) ? randomWhen() : HASH_NO_TIME);
    }
}

/* Returns how many fields that have passed by more than the grain are still there. */
static int lateFields(void) {
    int late = 0;
    for (size_t h = 0; h < HASHES; h++) {
        robj *o = lookupKeyWrite(dbGet(0), keyN("hash", (long)h));
        for (size_t f = 0; o && objectHasTtls(o) && f < FIELDS; f++) {
            int64_t *noted, when = field_times[h][f], bound_ms = objectTtlBound(o, &noted);
            late += when >= 0 && when < now_ms - TIME_WHEEL_GRAIN_MS && bound_ms <= when;
        }
    }
    return late;
}

STORE_TEST(due_keys_have_hashes_by_their_first_field) {
    storeReset();
    objectTypesRegister();
    seed = unitRandomSeed();
    setNow(1000000);
    for (size_t h = 0; h < HASHES; h++) forgetHash(h);
    setField(0, 0, now_ms + 900000000);
    tickUntilFilled();
    for (int n = 0; n < 40000; n++) {
        changeHash(pick(HASHES));
        if (n % 10 == 0) dbCheck(dbGet(0));
        if (n % 2000 == 1999) {
            store_settings.expire_precise = n / 2000 % 3 == 0 ? EXPIRE_PRECISE_NO : EXPIRE_PRECISE_YES;
            tickUntilFilled();
        }
        if (n % 40 != 0) continue;
        setNow(now_ms + 20 + (int64_t)pick(pick(2) ? 50 : 5000));
        bool exact = dbGet(0)->due_items.wheel && n % 2000 > 100;
        tick();
        dbCheck(dbGet(0));
        if (exact) CHECK_EQ_INT(lateFields(), 0);
        /* The model follows: a field that is due and was removed. */
        for (size_t h = 0; h < HASHES; h++) {
            robj *o = lookupKeyWrite(dbGet(0), keyN("hash", (long)h));
            for (size_t f = 0; f < FIELDS; f++) {
                int64_t *when = &field_times[h][f];
                if (*when >= 0 && *when < now_ms && (!o || !objectHasTtls(o) || exact)) *when = ABSENT;
            }
        }
    }
    storeReset();
}

/* The case of keys, for hashes: a large one among them is finished in slices. */
STORE_TEST(due_keys_expire_few_hashes_among_many) {
    storeReset();
    objectTypesRegister();
    setNow(1000000);
    for (long i = 0; i < 5000; i++) {
        robj *o = hashCreate(keyN("later", i).name);
        hashSet(o, fieldName(0).name, fieldName(0).hash, sliceStr("value"), 9000000);
        dbAddTake(dbGet(0), o, keyN("later", i));
    }
    tickUntilFilled();
    for (long i = 0; i < 301; i++) {
        robj *o = hashCreate(keyN("due", i).name);
        for (size_t f = 0; f < (i < 300 ? 1 : 5000); f++)
            hashSet(o, fieldName(f).name, fieldName(f).hash, sliceStr("value"), 1000100);
        dbAddTake(dbGet(0), o, keyN("due", i));
    }
    setNow(1000112);
    for (int i = 0; i < 500 && store_stats.expired_fields < 5300; i++) {
        while (activeExpireCycle(EXPIRE_CYCLE_DUE)) {
        }
        setNow(now_ms + TIME_WHEEL_GRAIN_MS);
        if (i % 5 == 4) activeExpireCycle(EXPIRE_CYCLE_SLOW);
    }
    CHECK_EQ_INT(store_stats.expired_fields, 5300);
    CHECK_EQ_INT(dbSize(dbGet(0)), 5000);
    dbCheck(dbGet(0));
    storeReset();
}
