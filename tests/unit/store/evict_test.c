/* evict_test.c -- every policy brings memory below the limit, and evicts only keys that it may evict.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
#include "db_internal.h"
#include "evict.h"
#include "store_support.h"
#include "zmalloc.h"

#include <stdio.h>

#define STAY 1000
#define VOLATILE 3000

static void fill(void) {
    for (long i = 0; i < STAY; i++) dbAddTake(dbGet(0), stringEntry(keyN("stay", i), i, 600), keyN("stay", i));
    for (long i = 0; i < VOLATILE; i++) {
        robj *o = objectSetExpireTake(stringEntry(keyN("ttl", i), i, 600), 2000000 + i * 1000);
        dbAddTake(dbGet(i % 2), o, keyN("ttl", i));
    }
}

static long countOf(const char *prefix, long n) {
    long found = 0;
    for (long i = 0; i < n; i++) found += dbExists(dbGet(0), keyN(prefix, i)) || dbExists(dbGet(1), keyN(prefix, i));
    return found;
}

static evictResult evictAll(void) {
    evictResult r;
    int calls = 0;
    while ((r = evictPerform()) == EVICT_RUNNING && calls++ < 100000) {
    }
    return r;
}

static void limitTo(size_t less_bytes) { store_settings.maxmemory = (long long)(zmallocUsed() - less_bytes); }

STORE_TEST(evict_every_policy_gets_below_the_limit) {
    static const struct {
        int policy;
        const char *name;
    } policies[] = {{MAXMEMORY_VOLATILE_LRU, "volatile-lru"},    {MAXMEMORY_VOLATILE_LFU, "volatile-lfu"},
                    {MAXMEMORY_VOLATILE_TTL, "volatile-ttl"},    {MAXMEMORY_VOLATILE_RANDOM, "volatile-random"},
                    {MAXMEMORY_ALLKEYS_LRU, "allkeys-lru"},      {MAXMEMORY_ALLKEYS_LFU, "allkeys-lfu"},
                    {MAXMEMORY_ALLKEYS_RANDOM, "allkeys-random"}};
    for (size_t p = 0; p < array_len(policies); p++) {
        for (int lazy = 0; lazy < 2; lazy++) {
            storeReset();
            store_settings.maxmemory_policy = policies[p].policy;
            store_settings.lazyfree_eviction = lazy;
            fill();
            limitTo(600 * 1000);
            size_t over;
            CHECK(evictOverLimit(&over) && over >= 590 * 1000);
            if (!CHECK_EQ_INT(evictAll(), EVICT_OK)) printf("policy %s\n", policies[p].name);
            CHECK(!evictOverLimit(NULL));
            long stay = countOf("stay", STAY), ttl = countOf("ttl", VOLATILE);
            if (!(policies[p].policy & MAXMEMORY_FLAG_ALLKEYS)) CHECK_EQ_INT(stay, STAY);
            else CHECK(stay < STAY);
            long gone = STAY + VOLATILE - stay - ttl;
            CHECK(gone >= 800 && gone <= 1100);
            CHECK_EQ_INT(store_stats.evicted_keys, gone);
            CHECK_EQ_INT(ears.evicted, gone);
            CHECK_EQ_INT(ears.removed_by_eviction, gone);
            dbCheck(dbGet(0)), dbCheck(dbGet(1));
        }
    }
}

STORE_TEST(evict_volatile_fails_when_only_lasting_keys_are_left) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_VOLATILE_LRU;
    fill();
    store_settings.maxmemory = 1000;
    CHECK_EQ_INT(evictAll(), EVICT_FAIL);
    CHECK_EQ_INT(countOf("stay", STAY), STAY);
    CHECK_EQ_INT(countOf("ttl", VOLATILE), 0);
    CHECK(evictExceededUs() > 0);
    store_settings.maxmemory = 0;
    CHECK_EQ_INT(evictPerform(), EVICT_OK);
    CHECK_EQ_INT(evictExceededUs(), 0);
    CHECK(store_stats.eviction_exceeded_us > 0);
    CHECK(evictPerform() != EVICT_RUNNING);
}

STORE_TEST(evict_noeviction_removes_nothing) {
    storeReset();
    fill();
    limitTo(1000);
    CHECK_EQ_INT(evictPerform(), EVICT_FAIL);
    CHECK_EQ_INT(store_stats.evicted_keys, 0);
    CHECK_EQ_INT(countOf("stay", STAY) + countOf("ttl", VOLATILE), STAY + VOLATILE);
    storeReset();
    evictPerform();
}

STORE_TEST(evict_waits_while_the_dataset_stands_still) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LRU;
    fill();
    limitTo(100000);
    stand_still = true;
    CHECK_EQ_INT(evictPerform(), EVICT_OK);
    CHECK(evictPerform() != EVICT_RUNNING);
    CHECK_EQ_INT(store_stats.evicted_keys, 0);
    CHECK_EQ_INT(evictExceededUs(), 0);
    CHECK(evictOverLimit(NULL));
    stand_still = false;
    CHECK_EQ_INT(evictAll(), EVICT_OK);
    CHECK(store_stats.evicted_keys > 0);
}

static size_t uncounted_bytes; /* half of it by each of two functions */
static size_t oneHalf(void) { return uncounted_bytes / 2; }
static size_t otherHalf(void) { return uncounted_bytes - uncounted_bytes / 2; }

STORE_TEST(evict_leaves_out_what_does_not_count) {
    storeReset();
    fill();
    static bool added;
    if (!added) {
        evictAddUncounted(oneHalf);
        evictAddUncounted(otherHalf);
        added = true;
    }
    limitTo(100000);
    uncounted_bytes = 200000;
    CHECK_EQ_INT(evictPerform(), EVICT_OK);
    uncounted_bytes = 60000;
    size_t over;
    CHECK(evictOverLimit(&over));
    CHECK(over > 30000 && over < 50000);
    uncounted_bytes = 0;
    CHECK(evictOverLimit(&over));
    CHECK(over > 90000);
}

/* Recently used keys stay if others are idle; the same for frequently used keys, and for those that expire late. */
STORE_TEST(evict_prefers_what_is_worth_least) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LRU;
    store_settings.maxmemory_samples = 10;
    fill();
    lruClockRefresh(1000000 + 100000);
    for (long i = 0; i < STAY; i++) lookupKeyRead(dbGet(0), keyN("stay", i));
    limitTo(600 * 1000);
    CHECK_EQ_INT(evictAll(), EVICT_OK);
    CHECK(countOf("stay", STAY) > STAY - 10);

    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LFU;
    store_settings.maxmemory_samples = 10;
    fill();
    for (int use = 0; use < 20; use++)
        for (long i = 0; i < STAY; i++) lookupKeyRead(dbGet(0), keyN("stay", i));
    limitTo(600 * 1000);
    CHECK_EQ_INT(evictAll(), EVICT_OK);
    CHECK(countOf("stay", STAY) > STAY - 10);

    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_VOLATILE_TTL;
    store_settings.maxmemory_samples = 10;
    fill();
    limitTo(300 * 1000);
    CHECK_EQ_INT(evictAll(), EVICT_OK);
    long late = 0;
    for (long i = VOLATILE - 1000; i < VOLATILE; i++) late += dbExists(dbGet(i % 2), keyN("ttl", i));
    CHECK(late > 980);
}

/* ---- Reused addresses ------------ */

/* Returns a name as long as `like` whose hash has the same tag (the top byte) and other low bits. */
static hashedKey lookAlike(hashedKey like) {
    static char text[64];
    for (unsigned long n = 0;; n++) {
        int len = snprintf(text, sizeof(text), "%0*lu", (int)like.name.len, n);
        hashedKey key = hashedKeyOf(sliceOf(text, (size_t)len));
        if (!CHECK((size_t)len == like.name.len)) return like;
        uint64_t differs = key.hash ^ like.hash;
        if (differs >> 56 == 0 && (differs & 0x7f)) return key;
    }
}

/* Deletes a key and adds another at the same address, with any allocator: the name is exchanged within the
 * allocation. */
static void renameInPlace(serverDb *db, hashedKey old, hashedKey new) {
    robj *o = dbUnlink(db, old);
    if (!CHECK(o != NULL)) return;
    memcpy((char *)(uintptr_t)objectKey(o).ptr, new.name.ptr, new.name.len);
    dbAddTake(db, o, new);
}

enum { FEW = 6 }; /* fit into one bucket of `expires` and into the pool */

static void addFewVolatile(void) {
    for (long i = 0; i < FEW; i++) {
        robj *o = objectSetExpireTake(stringEntry(keyN("candidate", i), i, 600), 2000000 + i);
        lruSetIdle(o, 10 + i);
        dbAddTake(dbGet(0), o, keyN("candidate", i));
    }
}

/* One eviction samples all keys, takes one and leaves the others in the pool. Then each of these becomes a key that a
 * single bucket cannot distinguish from the old one, but many buckets can. After that one key is sampled at a time: its
 * entry in the pool is corrected, those of the others stay. */
static void exchangeCandidates(void) {
    store_settings.maxmemory_samples = 64;
    limitTo(100);
    CHECK_EQ_INT(evictAll(), EVICT_OK);
    CHECK_EQ_INT(store_stats.evicted_keys, 1);
    long exchanged = 0;
    for (long i = 0; i < FEW; i++) {
        hashedKey old = keyN("candidate", i);
        if (!dbExists(dbGet(0), old)) continue;
        renameInPlace(dbGet(0), old, lookAlike(old));
        exchanged++;
    }
    CHECK_EQ_INT(exchanged, FEW - 1);
    store_settings.maxmemory_samples = 1;
    for (long i = 2; i < FEW; i++) {
        limitTo(100);
        CHECK_EQ_INT(evictAll(), EVICT_OK);
        CHECK_EQ_INT(store_stats.evicted_keys, i);
        dbCheck(dbGet(0));
    }
}

enum { ROUNDS = 5 }; /* a round meets no stale entry in one case of 120: when each sample is the best candidate */

TEST(evict_volatile_knows_another_key_at_a_pooled_address) {
    for (int round = 0; round < ROUNDS; round++) {
        storeReset();
        store_settings.maxmemory_policy = MAXMEMORY_VOLATILE_TTL;
        for (long i = 0; i < STAY; i++) dbAddTake(dbGet(0), stringEntry(keyN("stay", i), i, 0), keyN("stay", i));
        addFewVolatile();
        CHECK(dictSlots(dbGet(0)->expires) < 10 && dictSlots(dbGet(0)->keys) > STAY);
        exchangeCandidates();
        CHECK_EQ_INT(countOf("stay", STAY), STAY);
    }
}

TEST(evict_allkeys_leaves_nothing_dead_in_expires) {
    for (int round = 0; round < ROUNDS; round++) {
        storeReset();
        store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LRU;
        addFewVolatile();
        dictPauseRehash(dbGet(0)->keys); /* both tables stay as they are */
        CHECK(dictExpand(dbGet(0)->expires, 5000));
        while (dictRehash(dbGet(0)->expires, 100)) {
        }
        dictPauseRehash(dbGet(0)->expires);
        CHECK(dictSlots(dbGet(0)->keys) < 10);
        exchangeCandidates();
        dictResumeRehash(dbGet(0)->keys);
        dictResumeRehash(dbGet(0)->expires);
    }
}

/* ---- A model ---- */

enum { MODEL_KEYS = 400 };

typedef struct modelEntry {
    bool there, has_expire;
} modelEntry;
static modelEntry evict_model[2][MODEL_KEYS];
static uint64_t evict_state;
static long evicted_lasting; /* keys without an expire whose removal observers saw */

static size_t pickBelow(size_t n) { return (size_t)(unitRandom(&evict_state) % n); }

/* All names have the same length and tag, so that a dict often cannot distinguish two keys at the same address. */
static char model_names[MODEL_KEYS][9];

static void makeModelNames(void) {
    unsigned long n = 0;
    for (size_t i = 0; i < MODEL_KEYS;) {
        snprintf(model_names[i], sizeof(model_names[i]), "m%07lu", n++ % 10000000);
        if (hashedKeyOf(sliceStr(model_names[i])).hash >> 56 == 7) i++;
    }
}

static hashedKey modelName(size_t i) { return hashedKeyOf(sliceStr(model_names[i])); }

/* The model learns of evictions only by the observers. */
static void modelHearsRemoved(serverDb *db, slice key, bool evicted) {
    if (!evicted || db->id > 1) return;
    for (size_t i = 0; i < MODEL_KEYS; i++) {
        if (!sliceEq(key, sliceStr(model_names[i]))) continue;
        modelEntry *k = &evict_model[db->id][i];
        CHECK(k->there);
        evicted_lasting += !k->has_expire;
        *k = (modelEntry){0};
        return;
    }
}

static void modelStep(void) {
    int id = (int)pickBelow(2);
    /* A few keys are used most, so that both dicts are sometimes small and addresses are reused. */
    size_t i = pickBelow(pickBelow(4) ? 40 : MODEL_KEYS);
    serverDb *db = dbGet(id);
    modelEntry *k = &evict_model[id][i];
    hashedKey key = modelName(i);
    switch (pickBelow(9)) {
    case 0:
    case 1:
    case 2: {
        bool has_expire = pickBelow(4) == 0;
        robj *o = stringEntry(key, (long)i, pickBelow(6) ? 100 + pickBelow(20) : pickBelow(100000));
        if (has_expire) o = objectSetExpireTake(o, 2000000 + (int64_t)pickBelow(1000));
        setKeyTake(db, o, key, false);
        *k = (modelEntry){true, has_expire};
        break;
    }
    case 3:
        CHECK_EQ_INT(dbDelete(db, key), k->there);
        *k = (modelEntry){0};
        break;
    case 4: {
        robj *o = lookupKeyWrite(db, key);
        if (!o) break;
        if (k->has_expire) CHECK(dbRemoveExpire(db, o, key));
        else dbSetExpire(db, o, key, 3000000);
        k->has_expire = !k->has_expire;
        break;
    }
    case 5:
    case 6:
    case 7: {
        size_t j = pickBelow(MODEL_KEYS);
        if (!k->there || evict_model[id][j].there) break;
        renameInPlace(db, key, modelName(j));
        evict_model[id][j] = *k;
        *k = (modelEntry){0};
        break;
    }
    default:
        if (pickBelow(100)) break;
        CHECK(dbSwap(0, 1));
        for (size_t n = 0; n < MODEL_KEYS; n++) {
            modelEntry was = evict_model[0][n];
            evict_model[0][n] = evict_model[1][n];
            evict_model[1][n] = was;
        }
    }
}

static void modelEvict(void) {
    size_t lasting = 0, may_go = 0;
    bool allkeys = store_settings.maxmemory_policy & MAXMEMORY_FLAG_ALLKEYS;
    for (int id = 0; id < 2; id++)
        for (size_t n = 0; n < MODEL_KEYS; n++) {
            const modelEntry *k = &evict_model[id][n];
            lasting += k->there && !k->has_expire;
            may_go += k->there && (allkeys || k->has_expire);
        }
    evicted_lasting = 0;
    long long before = store_stats.evicted_keys;
    limitTo(1 + pickBelow(pickBelow(30) ? 300 : 4000));
    evictResult result = evictAll();
    long long gone = store_stats.evicted_keys - before;
    store_settings.maxmemory = 0;
    CHECK(gone <= (long long)may_go);
    if (result != EVICT_OK)
        CHECK(result == EVICT_FAIL &&
              (store_settings.maxmemory_policy == MAXMEMORY_NO_EVICTION || gone == (long long)may_go));
    if (!allkeys) CHECK_EQ_INT(evicted_lasting, 0);
    CHECK(evicted_lasting <= (long)lasting);
}

static void modelAgrees(void) {
    for (int id = 0; id < 2; id++) {
        dbCheck(dbGet(id));
        size_t there = 0;
        for (size_t n = 0; n < MODEL_KEYS; n++) {
            const modelEntry *k = &evict_model[id][n];
            hashedKey key = modelName(n);
            robj *o = lookupKeyReadWithFlags(dbGet(id), key, LOOKUP_NOTOUCH);
            CHECK_EQ_INT(o != NULL, k->there);
            if (o) CHECK_EQ_INT(objectExpire(o) != -1, k->has_expire);
            there += k->there;
        }
        CHECK_EQ_INT(dbSize(dbGet(id)), there);
    }
}

STORE_TEST(evict_random_commands_match_a_model_under_all_policies) {
    static const int policies[] = {MAXMEMORY_VOLATILE_LRU,    MAXMEMORY_VOLATILE_LFU, MAXMEMORY_VOLATILE_TTL,
                                   MAXMEMORY_VOLATILE_RANDOM, MAXMEMORY_ALLKEYS_LRU,  MAXMEMORY_ALLKEYS_LFU,
                                   MAXMEMORY_ALLKEYS_RANDOM,  MAXMEMORY_NO_EVICTION};
    evict_state = unitRandomSeed();
    storeReset();
    static bool listening;
    makeModelNames();
    if (!listening) storeObserveRemoved(modelHearsRemoved);
    listening = true;
    memset(evict_model, 0, sizeof(evict_model));
    for (int step = 0; step < 40000; step++) {
        if (step % 500 == 0) {
            store_settings.maxmemory_policy = policies[pickBelow(array_len(policies))];
            store_settings.maxmemory_samples = 1 + (long long)pickBelow(pickBelow(2) ? 3 : 64);
            store_settings.lazyfree_eviction = pickBelow(2);
        }
        lruClockRefresh(1000000 + step * 1000);
        modelStep();
        if (pickBelow(6) == 0) modelEvict();
        dbCheck(dbGet(0));
        dbCheck(dbGet(1));
        if (step % 1000 == 0) modelAgrees();
    }
    modelAgrees();
    storeReset();
}

/* Addresses in the pool outlive their keys: deleting and creating keys between evictions must not mislead it. */
STORE_TEST(evict_pool_survives_deletes_flushes_and_swaps) {
    storeReset();
    uint64_t state = unitRandomSeed();
    store_settings.maxmemory_samples = 3;
    for (int round = 0; round < 60; round++) {
        fill();
        static const int policies[] = {MAXMEMORY_ALLKEYS_LRU, MAXMEMORY_VOLATILE_TTL, MAXMEMORY_VOLATILE_LRU};
        store_settings.maxmemory_policy = policies[unitRandom(&state) % 3];
        limitTo(30000);
        CHECK_EQ_INT(evictAll(), EVICT_OK);
        store_settings.maxmemory = 0;
        switch (unitRandom(&state) % 3) {
        case 0: dbSwap(0, 1); break;
        case 1: break;
        default:
            for (long i = 0; i < 200; i++) dbDelete(dbGet(0), keyN("stay", i));
            for (long i = 0; i < 200; i++)
                setKeyTake(dbGet(1), stringEntry(keyN("stay", i), i, 600), keyN("stay", i), false);
        }
        dbCheck(dbGet(0)), dbCheck(dbGet(1));
        dbEmpty(-1, unitRandom(&state) % 2);
    }
    storeReset();
}
