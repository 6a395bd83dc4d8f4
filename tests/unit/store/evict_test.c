/* evict_test.c -- every policy gets memory below the limit and takes the keys it may take.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bio.h"
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

static void limitTo(size_t less_bytes) {
    store_settings.maxmemory = (long long)(zmallocUsed() - less_bytes);
}

TEST(evict_every_policy_gets_below_the_limit) {
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

TEST(evict_volatile_fails_when_only_lasting_keys_are_left) {
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
    CHECK(!evictContinue());
}

TEST(evict_noeviction_removes_nothing) {
    storeReset();
    fill();
    limitTo(1000);
    CHECK_EQ_INT(evictPerform(), EVICT_FAIL);
    CHECK_EQ_INT(store_stats.evicted_keys, 0);
    CHECK_EQ_INT(countOf("stay", STAY) + countOf("ttl", VOLATILE), STAY + VOLATILE);
    storeReset();
    evictPerform();
}

static size_t allOfIt(void) {
    return 1u << 30;
}

TEST(evict_leaves_out_what_does_not_count) {
    storeReset();
    fill();
    limitTo(100000);
    evictSetUncounted(allOfIt);
    CHECK_EQ_INT(evictPerform(), EVICT_OK);
    evictSetUncounted(NULL);
    CHECK(evictOverLimit(NULL));
}

/* Keys used lately stay when others have been idle; the same for often used ones, and for late ends of life. */
TEST(evict_prefers_what_is_worth_least) {
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

/* Addresses in the pool outlive their keys: deleting and re-making keys between evictions must not mislead. */
TEST(evict_pool_survives_deletes_flushes_and_swaps) {
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
