/* pace_test.c -- the schedule of a rate, and the timer that ends a loop's wait.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "pace.h"
#include "unit.h"

TEST(pace_has_places_at_equal_distances) {
    pace p;
    uint64_t due;
    paceInit(&p, 1000, 0, 0);
    paceBegin(&p, 5000000);
    CHECK(paceIsOn(&p));
    CHECK(!paceTake(&p, 4999999, &due));
    for (uint64_t k = 0; k < 3; k++) {
        CHECK(paceTake(&p, 5000000 + k * 1000000, &due));
        CHECK_EQ_INT(due, 5000000 + k * 1000000);
        CHECK(!paceTake(&p, 5000000 + k * 1000000, &due));
    }
}

/* A pipeline that is taken late keeps the time at which it was due. */
TEST(pace_does_not_wait_for_who_is_late) {
    pace p;
    uint64_t due;
    paceInit(&p, 1000, 0, 0);
    paceBegin(&p, 1000000);
    CHECK_EQ_INT(paceBehind(&p, 999999), 0);
    CHECK_EQ_INT(paceBehind(&p, 1000000), 1);
    CHECK_EQ_INT(paceBehind(&p, 10000000), 10);
    for (uint64_t k = 0; k < 10; k++) {
        if (!CHECK(paceTake(&p, 10000000, &due))) return;
        CHECK_EQ_INT(due, 1000000 + k * 1000000);
    }
    CHECK(!paceTake(&p, 10000000, &due));
    CHECK_EQ_INT(paceBehind(&p, 10000000), 0);
}

TEST(pace_errors_do_not_add_up) {
    pace p;
    paceInit(&p, 3, 0, 0);
    paceBegin(&p, 1);
    p.taken = 3000000000u;
    CHECK_EQ_INT(paceDue(&p), 1 + 1000000000000000000);
}

TEST(pace_of_threads_is_shifted) {
    pace p;
    paceInit(&p, 10, 0, 0.25);
    paceBegin(&p, 1000);
    CHECK_EQ_INT(paceDue(&p), 1000 + 25000000);
}

TEST(pace_without_a_rate_is_off) {
    pace p;
    paceInit(&p, 0, 0, 0);
    CHECK(!paceIsOn(&p));
    CHECK_EQ_INT(paceBehind(&p, 1000000), 0);
}

/* The wait ends when the next pipeline is due, not before. */
TEST(pace_alarm_ends_the_wait) {
    clockInit();
    aeEventLoop *loop = aeCreateEventLoop(64);
    pace p;
    uint64_t due;
    paceInit(&p, 200, clockTicks(), 0);
    if (!CHECK(loop && paceStart(&p, loop) == C_OK)) return;
    paceBegin(&p, paceNow(&p));
    CHECK(paceTake(&p, paceNow(&p), &due));
    for (int k = 0; k < 3; k++) {
        while (!paceTake(&p, paceNow(&p), &due)) {
            paceAlarm(&p, true);
            aeProcessEvents(loop, AE_ALL_EVENTS);
        }
        CHECK(paceNow(&p) >= due);
    }
    paceAlarm(&p, true);
    paceAlarm(&p, false);
    while (paceNow(&p) < paceDue(&p)) continue;
    CHECK_EQ_INT(aeProcessEvents(loop, AE_FILE_EVENTS | AE_DONT_WAIT), 0);
    paceStop(&p);
    aeDeleteEventLoop(loop);
}
