/* aof_gather_test.c -- the wait before a sync for further writes is as long as it can pay, and becomes rare if it saves
 * nothing.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_gather.h"
#include "unit.h"

#define MAX_US 5000

static aofGather g;
static uint64_t more;

/* Ends a sync, and returns how long the next one may wait. */
static uint64_t waitAfter(uint64_t units, uint64_t took_us) {
    aofGatherSynced(&g, units, took_us);
    return aofGatherBegin(&g, &more);
}

TEST(gather_waits_no_longer_than_a_sync) {
    aofGatherInit(&g, MAX_US);
    CHECK_EQ_INT(aofGatherBegin(&g, &more), 0); /* no client was resumed yet */
    CHECK_EQ_INT(waitAfter(25, 1000), 1000);
    CHECK_EQ_INT(more, 25);
    aofGatherEnd(&g, more, 25);
    CHECK_EQ_INT(aofGatherBegin(&g, &more), 0); /* once for each sync */
    CHECK_EQ_INT(waitAfter(50, 1800), 1100);    /* smoothed */
    aofGatherEnd(&g, more, 50);
    CHECK_EQ_INT(waitAfter(50, 1000000), MAX_US);
}

TEST(gather_does_not_wait_where_a_sync_is_quick_or_let_nobody_go) {
    aofGatherInit(&g, MAX_US);
    CHECK_EQ_INT(waitAfter(50, 20), 0);
    aofGatherInit(&g, MAX_US);
    CHECK_EQ_INT(waitAfter(0, 1000), 0);
}

/* Returns how many of `syncs` syncs waited, if `arrived` of ten clients return each time. */
static int waits(int syncs, uint64_t arrived) {
    int n = 0;
    for (int i = 0; i < syncs; i++) {
        if (waitAfter(10, 1000) == 0) continue;
        n++;
        aofGatherEnd(&g, more, arrived);
    }
    return n;
}

TEST(gather_becomes_rare_where_it_is_fruitless) {
    aofGatherInit(&g, MAX_US);
    CHECK_EQ_INT(waits(1000, 10), 1000);
    CHECK_EQ_INT(waits(1000, 5), 1000);
    int n = waits(1000, 4);
    CHECK(n >= 10 && n <= 25);
    CHECK(waits(65, 10) >= 1); /* tried again now and then */
    CHECK_EQ_INT(waits(100, 10), 100);
}
