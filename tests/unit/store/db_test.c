/* db_test.c -- compares the keyspace with an array: random commands, and a clock that the test sets.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "db_internal.h"
#include "defrag.h"
#include "lazyfree.h"
#include "lru.h"
#include "store_support.h"
#include "zmalloc.h"

#include <pthread.h>
#include <stdio.h>

#define KEYS 300

typedef struct modelKey {
    bool there;
    long n;     /* number of its value */
    size_t len; /* minimum length of its value */
    int64_t expire;
} modelKey;

static modelKey model[TEST_DBS][KEYS];
static uint64_t state;
static int64_t now_ms;

static size_t pick(size_t below) { return (size_t)(unitRandom(&state) % below); }

static bool alive(const modelKey *k) { return k->there && (k->expire == -1 || now_ms <= k->expire); }

/* Returns a key; lengths differ, so that all layouts of entries occur. */
static hashedKey name(size_t i) {
    static const char *const prefixes[] = {"k", "a-key-of-middle-length:", "a-key-that-is-so-long-as-few-keys-are:::"};
    return keyN(prefixes[i % 3], (long)i);
}

static bool sameValue(const robj *o, const modelKey *k) {
    robj *want = stringEntry(keyOf(""), k->n, k->len);
    char a[LONG_STR_SIZE], b[LONG_STR_SIZE];
    bool same = CHECK(sliceEq(objectString(o, a), objectString(want, b)));
    same &= CHECK_EQ_INT(objectExpire(o), k->expire);
    decrRefCount(want);
    return same;
}

static bool lookup(int id, size_t i) {
    modelKey *k = &model[id][i];
    serverDb *db = dbGet(id);
    robj *o = pick(2) ? lookupKeyRead(db, name(i)) : lookupKeyWrite(db, name(i));
    if (!CHECK_EQ_INT(o != NULL, alive(k))) return false;
    if (o) return sameValue(o, k);
    k->there = false;
    return true;
}

static void set(int id, size_t i) {
    modelKey *k = &model[id][i];
    bool keep = pick(3) == 0, was = alive(k);
    modelKey next = {true, (long)pick(100000), pick(5) ? pick(140) : pick(100000), -1};
    hashedKey key = name(i);
    robj *entry = stringEntry(key, next.n, next.len);
    if (pick(4) == 0) {
        next.expire = now_ms + (int64_t)pick(1000);
        entry = objectSetExpireTake(entry, next.expire);
    }
    if (keep && was && k->expire != -1) next.expire = k->expire;
    CHECK_EQ_INT(setKeyTake(dbGet(id), entry, key, keep), !was);
    *k = next;
}

static void expireKey(int id, size_t i) {
    modelKey *k = &model[id][i];
    serverDb *db = dbGet(id);
    robj *o = lookupKeyWrite(db, name(i));
    if (!o) {
        k->there = false;
        return;
    }
    if (pick(3) == 0) {
        CHECK_EQ_INT(dbRemoveExpire(db, o, name(i)), k->expire != -1);
        k->expire = -1;
    } else {
        k->expire = now_ms + (int64_t)pick(2000);
        o = dbSetExpire(db, o, name(i), k->expire);
        CHECK(dbFindByHash(db, name(i).hash) == o);
    }
}

static void change(int id, size_t i) {
    modelKey *k = &model[id][i];
    serverDb *db = dbGet(id);
    robj *o = lookupKeyWrite(db, name(i));
    if (!o) {
        k->there = false;
        return;
    }
    size_t len = objectStringLen(o);
    robj *changed = objectMakeWritableTake(o, len + 1);
    objectWritableBytes(changed)[len] = '.';
    objectSetStringLen(changed, len + 1);
    dbReplaceEntry(db, o, changed, name(i));
    k->len = len + 1;
}

static void moveKey(int id, size_t i) {
    int to = (int)pick(TEST_DBS);
    modelKey *k = &model[id][i];
    robj *o = dbUnlink(dbGet(id), name(i));
    CHECK_EQ_INT(o != NULL, o ? k->there : alive(k));
    if (!o) {
        k->there = false;
        return;
    }
    dbDelete(dbGet(to), name(i));
    dbAddTake(dbGet(to), o, name(i));
    modelKey moved = *k;
    k->there = false;
    model[to][i] = moved;
}

static void deleteKey(int id, size_t i) {
    serverDb *db = dbGet(id);
    size_t how = pick(3);
    bool was = how == 0 ? dbDelete(db, name(i)) : how == 1 ? dbDeleteSync(db, name(i)) : dbDeleteAsync(db, name(i));
    if (alive(&model[id][i])) CHECK(was);
    model[id][i].there = false;
}

static void rare(void) {
    int a = (int)pick(TEST_DBS), b = (int)pick(TEST_DBS);
    if (pick(2)) {
        CHECK(dbSwap(a, b));
        modelKey tmp[KEYS];
        memcpy(tmp, model[a], sizeof(tmp));
        memcpy(model[a], model[b], sizeof(tmp));
        memcpy(model[b], tmp, sizeof(tmp));
    } else {
        long long size = (long long)dbSize(dbGet(a));
        CHECK_EQ_INT(dbEmpty(a, pick(2)), size);
        for (size_t i = 0; i < KEYS; i++) model[a][i].there = false;
    }
}

/* Runs a slice of defragmentation in which everything moves. */
static void defragSome(void) {
    defragTick();
    CHECK(defragRun() > 0);
}

STORE_TEST(db_random_commands_match_a_model) {
    storeReset();
    store_settings.activedefrag = store_settings.active_defrag_all = true;
    store_settings.active_defrag_cycle_us = 0;
    state = unitRandomSeed();
    memset(model, 0, sizeof(model));
    now_ms = 1000000;
    for (int step = 0; step < 60000; step++) {
        int id = (int)pick(TEST_DBS);
        size_t i = pick(KEYS), what = pick(100);
        if (what < 30) set(id, i);
        else if (what < 60) lookup(id, i);
        else if (what < 75) expireKey(id, i);
        else if (what < 85) change(id, i);
        else if (what < 88) moveKey(id, i);
        else if (what < 97) deleteKey(id, i);
        else if (what < 99) storeSetNowMs(now_ms += (int64_t)pick(60));
        else if (pick(20) == 0) rare();
        if (step % 8 == 0) defragSome();
        dbCheck(dbGet(id));
        if (step % 10000 == 9999) {
            for (int d = 0; d < TEST_DBS; d++) {
                for (size_t k = 0; k < KEYS; k++)
                    if (!lookup(d, k)) return;
            }
        }
    }
    store_settings.activedefrag = false;
    CHECK_EQ_INT(defragRun(), 0);
}

STORE_TEST(db_counts_hits_misses_and_events) {
    storeReset();
    serverDb *db = dbGet(0);
    CHECK(!lookupKeyRead(db, keyOf("k")));
    CHECK(!lookupKeyReadWithFlags(db, keyOf("k"), LOOKUP_NOSTATS | LOOKUP_NONOTIFY));
    CHECK(!lookupKeyWrite(db, keyOf("k")));
    CHECK_EQ_INT(ears.miss, 1);
    CHECK_EQ_INT(store_stats.keyspace_misses, 1);
    CHECK(setKeyTake(db, stringEntry(keyOf("k"), 1, 0), keyOf("k"), false));
    CHECK(!setKeyTake(db, stringEntry(keyOf("k"), 2, 0), keyOf("k"), false));
    CHECK_EQ_INT(ears.new, 1);
    CHECK_EQ_INT(ears.modified, 0); /* the caller reports it */
    CHECK(lookupKeyRead(db, keyOf("k")));
    CHECK(lookupKeyReadWithFlags(db, keyOf("k"), LOOKUP_NOSTATS));
    CHECK(lookupKeyWriteWithFlags(db, keyOf("k"), LOOKUP_NONE));
    CHECK_EQ_INT(store_stats.keyspace_hits, 1);
    CHECK(dbGet(-1) == NULL && dbGet(TEST_DBS) == NULL);
    CHECK(!dbSwap(0, TEST_DBS));
}

static robj *volatileEntry(const char *key, int64_t when_ms) {
    return objectSetExpireTake(stringEntry(keyOf(key), 1, 0), when_ms);
}

STORE_TEST(db_deletes_an_expired_key_that_is_met) {
    storeReset();
    serverDb *db = dbGet(0);
    dbAddTake(db, volatileEntry("k", 1000000), keyOf("k"));
    CHECK(lookupKeyRead(db, keyOf("k"))); /* still alive in its last millisecond */
    storeSetNowMs(1000001);
    CHECK(!lookupKeyReadWithFlags(db, keyOf("k"), LOOKUP_NOEXPIRE));
    CHECK(dbExists(db, keyOf("k")));
    CHECK(!lookupKeyRead(db, keyOf("k")));
    CHECK(!dbExists(db, keyOf("k")));
    CHECK_EQ_INT(ears.expired, 1);
    CHECK_EQ_INT(ears.removed, 1);
    CHECK_EQ_INT(ears.removed_by_eviction, 0);
    CHECK_EQ_INT(store_stats.expired_keys, 1);
    dbCheck(db);
}

STORE_TEST(db_only_hides_expired_keys_while_it_stands_still) {
    storeReset();
    serverDb *db = dbGet(0);
    dbAddTake(db, volatileEntry("k", 999), keyOf("k"));
    stand_still = true;
    CHECK(!lookupKeyRead(db, keyOf("k")));
    CHECK(lookupKeyWriteWithFlags(db, keyOf("k"), LOOKUP_HIDDEN));
    CHECK(dbExists(db, keyOf("k")));
    CHECK(dbRandomKey(db) != NULL);
    storeSetExpireIgnored(true);
    CHECK(lookupKeyRead(db, keyOf("k")));
    storeSetExpireIgnored(false);
    CHECK(setKeyTake(db, stringEntry(keyOf("k"), 2, 0), keyOf("k"), true)); /* hidden, so this key is new */
    CHECK(lookupKeyRead(db, keyOf("k")));
    CHECK_EQ_INT(store_stats.expired_keys, 0);
    dbAddTake(db, volatileEntry("w", 999), keyOf("w"));
    CHECK(!lookupKeyWrite(db, keyOf("w"))); /* a write needs a new entry */
    CHECK(!dbExists(db, keyOf("w")));
    CHECK_EQ_INT(store_stats.expired_keys, 1);
    dbCheck(db);
}

STORE_TEST(db_random_key_passes_expired_ones) {
    storeReset();
    serverDb *db = dbGet(0);
    CHECK(dbRandomKey(db) == NULL);
    for (long i = 0; i < 50; i++) dbAddTake(db, volatileEntry(keyN("v", i).name.ptr, 999), keyN("v", i));
    dbAddTake(db, stringEntry(keyOf("live"), 1, 0), keyOf("live"));
    for (int i = 0; i < 20; i++) CHECK(sliceEq(objectKey(dbRandomKey(db)), sliceStr("live")));
}

STORE_TEST(db_flush_keeps_what_replies_refer_to) {
    storeReset();
    serverDb *db = dbGet(1);
    for (int async = 0; async < 2; async++) {
        for (long i = 0; i < 1000; i++) dbAddTake(db, stringEntry(keyN("k", i), i, 600), keyN("k", i));
        robj *held = lookupKeyRead(db, keyN("k", 7));
        incrRefCount(held);
        CHECK_EQ_INT(dbEmpty(async ? 1 : -1, async), 1000);
        CHECK_EQ_INT(ears.flushed, async + 1);
        CHECK_EQ_INT(ears.flushed_id, async ? 1 : -1);
        CHECK_EQ_INT(dbSize(db), 0);
        CHECK_EQ_INT(objectStringLen(held), 600);
        CHECK_MEM(objectString(held, NULL).ptr, "value7.", 7);
        objectReleaseBorrowed(held);
    }
}

/* A second dataset that is filled beside the first: dropping it frees every byte, installing it replaces the old
 * one. */
STORE_TEST(db_shadow_is_dropped_or_taken_whole) {
    storeReset();
    size_t empty = zmallocUsed();
    for (int taken = 0; taken < 2; taken++) {
        for (int id = 0; id < TEST_DBS; id++) {
            serverDb *db = dbGet(id);
            for (long i = 0; i < 100; i++) dbAddTake(db, stringEntry(keyN("old", i), i, 300), keyN("old", i));
        }
        size_t before = zmallocUsed();
        dbShadowBegin();
        for (int id = 0; id < TEST_DBS; id++) {
            serverDb *db = dbShadow(id);
            for (long i = 0; i <= id; i++) {
                hashedKey key = keyN("new", i);
                loadedKey loaded = {.entry = stringEntry(key, i, 300), .hash = key.hash, .use = 0};
                CHECK_EQ_INT(dbAddLoaded(db, &loaded, 1), 1);
            }
        }
        CHECK(!dbShadow(-1) && !dbShadow(TEST_DBS));
        if (taken) dbShadowTake(false);
        else dbShadowDrop(false);
        bioDrain(BIO_LAZY_FREE);
        lazyfreeCollect();
        if (!taken) CHECK_EQ_INT(zmallocUsed(), before);
        for (int id = 0; id < TEST_DBS; id++) {
            CHECK_EQ_INT(dbSize(dbGet(id)), taken ? id + 1 : 100);
            CHECK_EQ_INT(lookupKeyRead(dbGet(id), keyN("new", id)) != NULL, taken);
            dbCheck(dbGet(id));
        }
        dbEmpty(-1, false);
    }
    bioDrain(BIO_LAZY_FREE);
    lazyfreeCollect();
    CHECK_EQ_INT(zmallocUsed(), empty);
}

STORE_TEST(db_lookup_touches_lru) {
    storeReset();
    serverDb *db = dbGet(0);
    dbAddTake(db, stringEntry(keyOf("k"), 1, 0), keyOf("k"));
    lruClockRefresh(1000000 + 5000);
    robj *o = lookupKeyReadWithFlags(db, keyOf("k"), LOOKUP_NOTOUCH);
    CHECK_EQ_INT(lruIdleMs(o), 5000);
    lookupKeyRead(db, keyOf("k"));
    CHECK_EQ_INT(lruIdleMs(o), 0);
    lruClockRefresh(1000000 + 9000);
    lruSetFrozen(LRU_FROZEN_BY_CHILD, true);
    lookupKeyRead(db, keyOf("k"));
    CHECK_EQ_INT(lruIdleMs(o), 4000);
}

/* ---- dbCheck itself ---- */

typedef void damageFn(serverDb *db);

static void expireSlotWithoutDict(serverDb *db) {
    dictPopEntry(db->expires, dictFind(db->keys, keyOf("v").name, keyOf("v").hash), keyOf("v").hash);
}
static void dictWithoutExpire(serverDb *db) {
    dictAddNew(db->expires, dictFind(db->keys, keyOf("k").name, keyOf("k").hash), keyOf("k").hash);
}
static void expiresOfNoKey(serverDb *db) {
    dictPopEntry(db->keys, dictFind(db->keys, keyOf("v").name, keyOf("v").hash), keyOf("v").hash);
}
static void noUse(serverDb *db) { ((robj *)dictFind(db->keys, keyOf("k").name, keyOf("k").hash))->lru = 0; }

static void checkDamaged(void *arg) {
    damageFn **make = arg;
    serverDb *db = dbGet(0);
    dbCheck(db);
    printf("sound\n");
    fflush(stdout);
    (*make)(db);
    dbCheck(db);
}

static void freeNothing(void *structure) { unused(structure); }

static bool hasTtls(const void *structure) { return *(const int *)structure != 0; }

static int64_t ttlBound(void *structure, int64_t **noted) {
    static int64_t variable = INT64_MAX;
    unused(structure);
    *noted = &variable;
    return 1ll << 50;
}

/* A collection has no space for an expire until it gets one; then it is a new entry, in all three tables. */
STORE_TEST(db_moves_a_collection_that_gets_an_expire) {
    static const objectTypeOps ops = {.free = freeNothing, .hasTtls = hasTtls, .ttlBound = ttlBound};
    static int structure;
    objectRegisterType(OBJ_HASH, &ops);
    storeReset();
    serverDb *db = dbGet(0);
    for (structure = 0; structure < 2; structure++) {
        hashedKey key = keyOf(structure ? "with times" : "without");
        dbAddTake(db, objectCreateTake(key.name, OBJ_HASH, OBJ_ENC_HASHTABLE, &structure), key);
        dbFieldTtlsChanged(db, lookupKeyWrite(db, key), key);
        robj *o = dbSetExpire(db, lookupKeyWrite(db, key), key, 1ll << 50);
        CHECK(lookupKeyWrite(db, key) == o);
        CHECK(objectStructure(o) == &structure);
        CHECK_EQ_INT(objectExpire(o), 1ll << 50);
        dbCheck(db);
        CHECK(dbRemoveExpire(db, o, key));
        CHECK(dbSetExpire(db, o, key, 1ll << 51) == o); /* the space stays */
        dbCheck(db);
        CHECK(dbDelete(db, key));
        dbCheck(db);
    }
    storeReset();
}

TEST(db_check_finds_damage) {
    storeReset();
    serverDb *db = dbGet(0);
    dbAddTake(db, stringEntry(keyOf("k"), 1, 0), keyOf("k"));
    dbAddTake(db, volatileEntry("v", 2000000), keyOf("v"));
    static struct {
        damageFn *make;
        const char *expected;
    } kinds[] = {{expireSlotWithoutDict, "in_expires"},
                 {dictWithoutExpire, "in_expires"},
                 {expiresOfNoKey, "with_expire"},
                 {noUse, "lru"}};
    for (size_t i = 0; i < array_len(kinds); i++) {
        char out[4096];
        CHECK(unitInChild(checkDamaged, &kinds[i].make, out, sizeof(out)) != 0);
        CHECK(strstr(out, "sound\n") != NULL);
        if (!CHECK(strstr(out, kinds[i].expected) != NULL)) printf("%s", out);
    }
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static void passGate(void *arg) {
    unused(arg);
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
}

/* No command prepares the pages of a table of 2 MiB or more: while the background is busy, keys are added to the chains
 * of the old table. */
TEST(db_large_tables_are_made_ready_in_the_background) {
    enum { FIRST = 98000, LAST = 210000 }; /* 2 MiB are needed from 97,484 keys on, 4 MiB from 194,969 */
    storeReset();
    serverDb *db = dbGet(3);
    long n = 0;
    pthread_mutex_lock(&gate);
    bioSubmit(BIO_LAZY_FREE, passGate, NULL);
    for (; n < FIRST; n++) dbAddTake(db, stringEntry(keyN("k", n), n, 0), keyN("k", n));
    CHECK(!dictIsRehashing(db->keys));
    CHECK_EQ_INT(dictSlots(db->keys), 7 * 16384);
    CHECK(dictMemUsage(db->keys) > (3 << 20)); /* 1 MiB, its chains, and the prepared table */
    pthread_mutex_unlock(&gate);
    bioDrain(BIO_LAZY_FREE);
    dbAddTake(db, stringEntry(keyN("k", n), n, 0), keyN("k", n));
    CHECK(dictIsRehashing(db->keys));
    for (n++; n < LAST; n++) dbAddTake(db, stringEntry(keyN("k", n), n, 0), keyN("k", n));
    for (int i = 0; i < 3; i++) {
        bioDrain(BIO_LAZY_FREE);
        dbAddTake(db, stringEntry(keyN("k", n), n, 0), keyN("k", n));
        while (dictRehash(db->keys, 1000)) {
        }
        n++;
    }
    CHECK_EQ_INT(dictSlots(db->keys), 7 * 65536);
    dbCheck(db);
    dbEmpty(3, true);
}

static void addUpTo(serverDb *db, long *n, size_t keys) {
    for (; (size_t)*n < keys; ++*n) {
        dbAddTake(db, stringEntry(keyN("k", *n), *n, 0), keyN("k", *n));
        while (dictRehash(db->keys, 1000)) {
        }
    }
}

/* Keys are not evicted for a larger table. */
TEST(db_tables_do_not_grow_past_maxmemory_before_chains_are_long) {
    storeReset();
    serverDb *db = dbGet(1);
    long n = 0;
    addUpTo(db, &n, 3000);
    size_t slots = dictSlots(db->keys);
    store_settings.maxmemory = (long long)zmallocUsed();
    addUpTo(db, &n, 2 * slots - 100);
    CHECK_EQ_INT(dictSlots(db->keys), slots);
    addUpTo(db, &n, 2 * slots + 100);
    CHECK(dictSlots(db->keys) > slots);
    slots = dictSlots(db->keys);
    addUpTo(db, &n, slots + 100);
    CHECK_EQ_INT(dictSlots(db->keys), slots);
    store_settings.maxmemory = (long long)zmallocUsed() + (64 << 20);
    addUpTo(db, &n, slots + 200);
    CHECK(dictSlots(db->keys) > slots);
    store_settings.maxmemory = 0;
}

TEST(db_resize_tick_shrinks_and_goes_on) {
    storeReset();
    serverDb *db = dbGet(2);
    for (long i = 0; i < 20000; i++) dbAddTake(db, stringEntry(keyN("k", i), i, 0), keyN("k", i));
    size_t slots = dictSlots(db->keys);
    for (long i = 0; i < 19900; i++) dbDelete(db, keyN("k", i));
    for (int i = 0; i < 100; i++) dbResizeTick();
    CHECK(dictSlots(db->keys) < slots / 4);
    CHECK(!dictIsRehashing(db->keys));
    CHECK(lookupKeyRead(db, keyN("k", 19950)) != NULL);
}

/* A counter without expire gets a new entry when it gets an expire. */
STORE_TEST(db_gives_a_counter_an_expire) {
    storeReset();
    serverDb *db = dbGet(1);
    for (long i = 0; i < 200; i++) {
        hashedKey key = keyN("counter:", i);
        dbAddTake(db, objectCreateInteger(key.name, i, false, 0), key);
        robj *o = dbSetExpire(db, lookupKeyWrite(db, key), key, 2000000 + i);
        CHECK(lookupKeyRead(db, key) == o);
        dbReplaceEntry(db, o, objectSetIntegerTake(o, i + 1), key);
        if (i % 2) CHECK(dbRemoveExpire(db, lookupKeyWrite(db, key), key));
    }
    dbCheck(db);
    for (long i = 0; i < 200; i++) {
        robj *o = lookupKeyRead(db, keyN("counter:", i));
        if (!CHECK(o) || !CHECK_EQ_INT(objectInteger(o), i + 1)) break;
        CHECK_EQ_INT(objectExpire(o), i % 2 ? -1 : 2000000 + i);
    }
    /* Overwritten with its TTL kept. */
    hashedKey key = keyN("counter:", 0);
    setKeyTake(db, objectCreateInteger(key.name, 7, false, 0), key, true);
    CHECK_EQ_INT(objectExpire(lookupKeyRead(db, key)), 2000000);
    dbCheck(db);
}
