/* lru_test.c -- the LRU clock and the LFU counter.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "lru.h"
#include "store_support.h"

static robj *any(void) { return objectCreateString(sliceStr("k"), sliceStr("v"), false, 0); }

TEST(lru_idle_time_survives_the_clocks_wrap) {
    storeReset();
    robj *o = any();
    int64_t span_ms = (int64_t)1000 << LRU_BITS;
    lruClockRefresh(span_ms - 3000);
    lruTouch(o);
    lruClockRefresh(span_ms + 4000);
    CHECK_EQ_INT(lruIdleMs(o), 7000);
    lruSetIdle(o, 100);
    CHECK_EQ_INT(lruIdleMs(o), 100000);
    lruSetIdle(o, 1LL << 40);
    CHECK_EQ_INT(lruIdleMs(o) / 1000, LRU_CLOCK_MAX - 1);
    decrRefCount(o);
}

TEST(lfu_counter_grows_slowly_and_decays) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LFU;
    robj *o = any();
    o->lru = lruInitialBits() & LRU_CLOCK_MAX;
    CHECK_EQ_INT(lfuFrequency(o), LFU_INITIAL);
    lruTouch(o);
    CHECK_EQ_INT(lfuFrequency(o), LFU_INITIAL + 1); /* the first use always counts */
    for (int i = 0; i < 1000; i++) lruTouch(o);
    CHECK(lfuFrequency(o) > 10 && lfuFrequency(o) < 40); /* about 18 for a thousand uses at factor 10 */
    lfuSetFrequency(o, 100);
    CHECK_EQ_INT(lfuFrequency(o), 100);
    lruClockRefresh(1000000 + 30 * 60000);
    CHECK_EQ_INT(lfuFrequency(o), 70);
    store_settings.lfu_decay_time = 10;
    CHECK_EQ_INT(lfuFrequency(o), 97);
    store_settings.lfu_decay_time = 0;
    CHECK_EQ_INT(lfuFrequency(o), 100);
    store_settings.lfu_decay_time = 1;
    lruClockRefresh(1000000 + 300 * 60000);
    CHECK_EQ_INT(lfuFrequency(o), 0);
    lfuSetFrequency(o, 255);
    lruTouch(o);
    CHECK_EQ_INT(lfuFrequency(o), 255);
    decrRefCount(o);
}

/* All 24 bits 0 mean "not set yet"; a frequency of 0 in minute 0 must not look like that. */
TEST(lfu_no_frequency_looks_unset) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_ALLKEYS_LFU;
    lruClockRefresh(0);
    robj *o = any();
    lfuSetFrequency(o, 0);
    CHECK(o->lru != 0);
    CHECK_EQ_INT(lfuFrequency(o), 0);
    decrRefCount(o);
}

TEST(lfu_factor_zero_counts_every_use) {
    storeReset();
    store_settings.maxmemory_policy = MAXMEMORY_VOLATILE_LFU;
    store_settings.lfu_log_factor = 0;
    robj *o = any();
    o->lru = lruInitialBits() & LRU_CLOCK_MAX;
    for (int i = 0; i < 300; i++) lruTouch(o);
    CHECK_EQ_INT(lfuFrequency(o), 255);
    decrRefCount(o);
}
