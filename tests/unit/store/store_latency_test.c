/* store_latency_test.c -- which events the latency monitor gets, and that it gets none without a threshold.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_latency.h"

#include "evict.h"
#include "expire.h"
#include "store_support.h"
#include "zmalloc.h"

#include <stdio.h>

static int cycles, expires, evict_cycles, evictions, others;

static void count(const char *event, uint64_t us) {
    unused(us);
    if (strcmp(event, "expire-cycle") == 0) cycles++;
    else if (strcmp(event, "expire-del") == 0) expires++;
    else if (strcmp(event, "eviction-cycle") == 0) evict_cycles++;
    else if (strcmp(event, "eviction-del") == 0) evictions++;
    else others++;
}

static void begin(bool measure) {
    storeReset();
    storeObserveLatency(count);
    storeMeasureLatency(measure);
    cycles = expires = evict_cycles = evictions = others = 0;
}

static void add(const char *prefix, long n, int64_t when_ms) {
    for (long i = 0; i < n; i++) {
        robj *o = stringEntry(keyN(prefix, i), i, 200);
        if (when_ms != -1) o = objectSetExpireTake(o, when_ms);
        dbAddTake(dbGet(0), o, keyN(prefix, i));
    }
}

static void check(int want_cycles, int want_expires, int want_evict_cycles, int want_evictions) {
    CHECK_EQ_INT(cycles, want_cycles);
    CHECK_EQ_INT(expires, want_expires);
    CHECK_EQ_INT(evict_cycles, want_evict_cycles);
    CHECK_EQ_INT(evictions, want_evictions);
    CHECK_EQ_INT(others, 0);
    storeMeasureLatency(false);
}

TEST(a_lookup_that_expires_a_key_is_an_event) {
    for (int measure = 0; measure <= 1; measure++) {
        begin(measure);
        add("key", 2, 1000500);
        lookupKeyRead(dbGet(0), keyN("key", 0));
        storeSetNowMs(1000501);
        lookupKeyRead(dbGet(0), keyN("key", 0));
        lookupKeyWrite(dbGet(0), keyN("key", 1));
        check(0, 2 * measure, 0, 0);
    }
}

TEST(the_expire_cycle_is_an_event_and_so_is_each_key_it_deletes) {
    for (int measure = 0; measure <= 1; measure++) {
        begin(measure);
        add("key", 3, 1000500);
        storeSetNowMs(1000501);
        activeExpireCycle(EXPIRE_CYCLE_SLOW);
        CHECK_EQ_INT(store_stats.expired_keys, 3);
        check(measure, 3 * measure, 0, 0);
    }
}

TEST(an_eviction_cycle_is_an_event_and_so_is_each_key_it_evicts) {
    for (int measure = 0; measure <= 1; measure++) {
        begin(measure);
        add("key", 5, -1);
        store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_RANDOM;
        store_settings.maxmemory = 1;
        evictPerform();
        store_settings.maxmemory = 0;
        evictPerform(); /* below the limit: no cycle */
        CHECK_EQ_INT(store_stats.evicted_keys, 5);
        check(0, 0, measure, 5 * measure);
    }
}
