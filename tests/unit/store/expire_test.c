/* expire_test.c -- the active cycle under a clock that the test moves.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "db_internal.h"
#include "expire.h"
#include "store_support.h"

static void fill(int id, const char *prefix, long n, int64_t when_ms) {
    for (long i = 0; i < n; i++) {
        robj *o = stringEntry(keyN(prefix, i), i, (size_t)(i % 130));
        if (when_ms != -1) o = objectSetExpireTake(o, when_ms);
        dbAddTake(dbGet(id), o, keyN(prefix, i));
    }
}

TEST(expire_cycle_removes_what_is_over_and_nothing_else) {
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
    /* A step leaves a db when few keys it met are over, so the last ones take some calls. */
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
    CHECK(store_stats.expired_stale_perc > 0);
    CHECK(store_stats.expire_cycle_cpu_us > 0);
}

/* One key, in a table otherwise of keys without expire, goes at the first call. */
TEST(expire_cycle_finds_a_lone_key_at_once) {
    storeReset();
    fill(3, "stay", 2000, -1);
    fill(3, "over", 1, 999);
    activeExpireCycle(EXPIRE_CYCLE_SLOW);
    CHECK_EQ_INT(dbSize(dbGet(3)), 2000);
}

/* All that a tick may do. */
static void tick(void) {
    for (bool more = activeExpireCycle(EXPIRE_CYCLE_SLOW); more;) more = activeExpireCycle(EXPIRE_CYCLE_REST);
}

/* A tick's time is a quarter of a second here, in which all of these would go; no call takes so many of them. */
TEST(expire_cycle_works_in_slices) {
    enum { KEYS = 60000 };
    storeReset();
    store_settings.hz = 1;
    fill(0, "over", KEYS, 999);
    CHECK(activeExpireCycle(EXPIRE_CYCLE_SLOW));
    CHECK(dbSize(dbGet(0)) > 0);
    CHECK_EQ_INT(store_stats.expired_time_cap_reached, 0);
    long long expired = store_stats.expired_keys;
    CHECK(expired > 0);
    CHECK(!activeExpireCycle(EXPIRE_CYCLE_FAST)); /* not between the slices */
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

TEST(expire_cycle_is_cut_short_and_the_fast_one_goes_on) {
    storeReset();
    store_settings.hz = 500; /* a slow call has half a millisecond */
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
