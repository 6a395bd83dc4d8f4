/* schedule_test.c -- the schedule of a rate, and the timer that ends a loop's wait.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "schedule.h"
#include "unit.h"

TEST(schedule_has_places_at_equal_distances) {
    schedule p;
    uint64_t due;
    scheduleInit(&p, 1000, 0, 0);
    scheduleBegin(&p, 5000000);
    CHECK(scheduleIsOn(&p));
    CHECK(!scheduleTake(&p, 4999999, &due));
    for (uint64_t k = 0; k < 3; k++) {
        CHECK(scheduleTake(&p, 5000000 + k * 1000000, &due));
        CHECK_EQ_INT(due, 5000000 + k * 1000000);
        CHECK(!scheduleTake(&p, 5000000 + k * 1000000, &due));
    }
}

/* A pipeline that is taken late keeps the time at which it was due. */
TEST(schedule_does_not_wait_for_who_is_late) {
    schedule p;
    uint64_t due;
    scheduleInit(&p, 1000, 0, 0);
    scheduleBegin(&p, 1000000);
    CHECK_EQ_INT(scheduleMissed(&p, 999999), 0);
    CHECK_EQ_INT(scheduleMissed(&p, 1000000), 1);
    CHECK_EQ_INT(scheduleMissed(&p, 10000000), 10);
    for (uint64_t k = 0; k < 10; k++) {
        if (!CHECK(scheduleTake(&p, 10000000, &due))) return;
        CHECK_EQ_INT(due, 1000000 + k * 1000000);
    }
    CHECK(!scheduleTake(&p, 10000000, &due));
    CHECK_EQ_INT(scheduleMissed(&p, 10000000), 0);
}

TEST(schedule_errors_do_not_add_up) {
    schedule p;
    scheduleInit(&p, 3, 0, 0);
    scheduleBegin(&p, 1);
    p.taken = 3000000000u;
    CHECK_EQ_INT(scheduleDue(&p), 1 + 1000000000000000000);
}

TEST(schedule_of_threads_is_shifted) {
    schedule p;
    scheduleInit(&p, 10, 0, 0.25);
    scheduleBegin(&p, 1000);
    CHECK_EQ_INT(scheduleDue(&p), 1000 + 25000000);
}

TEST(schedule_without_a_rate_is_off) {
    schedule p;
    scheduleInit(&p, 0, 0, 0);
    CHECK(!scheduleIsOn(&p));
    CHECK_EQ_INT(scheduleMissed(&p, 1000000), 0);
}

/* The wait ends when the next pipeline is due, not before. */
TEST(schedule_alarm_ends_the_wait) {
    clockInit();
    aeEventLoop *loop = aeCreateEventLoop(64);
    schedule p;
    uint64_t due;
    scheduleInit(&p, 200, clockTicks(), 0);
    if (!CHECK(loop && scheduleStart(&p, loop) == C_OK)) return;
    scheduleBegin(&p, scheduleNow(&p));
    CHECK(scheduleTake(&p, scheduleNow(&p), &due));
    for (int k = 0; k < 3; k++) {
        while (!scheduleTake(&p, scheduleNow(&p), &due)) {
            scheduleSetAlarm(&p, true);
            aeProcessEvents(loop, AE_ALL_EVENTS);
        }
        CHECK(scheduleNow(&p) >= due);
    }
    scheduleSetAlarm(&p, true);
    scheduleSetAlarm(&p, false);
    while (scheduleNow(&p) < scheduleDue(&p)) continue;
    CHECK_EQ_INT(aeProcessEvents(loop, AE_FILE_EVENTS | AE_DONT_WAIT), 0);
    scheduleStop(&p);
    aeDeleteEventLoop(loop);
}
