/* bus_liveness_test.c -- when main counts as stuck.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_liveness.h"
#include "unit.h"

#define TIMEOUT_MS 4000

/* Looks each 100 ms, from after `from_ms` to `to_ms`. Returns the last judgment that was not RUNS, and its time. */
static mainLiveness lookUntil(livenessJudge *j, uint64_t count, uint64_t from_ms, uint64_t to_ms, uint64_t *at_ms) {
    mainLiveness found = MAIN_RUNS;
    for (uint64_t now = from_ms + 100; now <= to_ms; now += 100) {
        mainLiveness state = livenessLook(j, count, now, TIMEOUT_MS);
        if (state == MAIN_RUNS || state == found) continue;
        found = state;
        *at_ms = now;
    }
    return found;
}

TEST(liveness_main_that_counts_runs) {
    livenessJudge j = {0};
    for (uint64_t now = 1; now < 100000; now += 100) CHECK_EQ_INT(livenessLook(&j, now, now, TIMEOUT_MS), MAIN_RUNS);
}

TEST(liveness_silent_main_is_asked_and_then_stuck) {
    livenessJudge j = {0};
    uint64_t at_ms = 0;
    CHECK_EQ_INT(livenessLook(&j, 7, 1000, TIMEOUT_MS), MAIN_RUNS);
    CHECK_EQ_INT(lookUntil(&j, 7, 1000, 4900, &at_ms), MAIN_ASK);
    CHECK_EQ_INT(at_ms, 1000 + TIMEOUT_MS / 4);
    CHECK_EQ_INT(lookUntil(&j, 7, 4900, 9000, &at_ms), MAIN_STUCK);
    CHECK_EQ_INT(at_ms, 1000 + TIMEOUT_MS);
    CHECK_EQ_INT(livenessLook(&j, 8, 9100, TIMEOUT_MS), MAIN_RUNS);
    CHECK_EQ_INT(lookUntil(&j, 8, 9100, 9100 + TIMEOUT_MS - 100, &at_ms), MAIN_ASK);
}

TEST(liveness_main_that_gives_a_sign_is_not_stuck) {
    livenessJudge j = {0};
    uint64_t at_ms = 0, count = 0;
    for (uint64_t now = 0; now < 60000; now += 1500, count++)
        CHECK_EQ_INT(lookUntil(&j, count, now, now + 1500, &at_ms), MAIN_ASK);
}

TEST(liveness_time_in_which_the_process_was_stopped_does_not_count) {
    livenessJudge j = {0};
    uint64_t at_ms = 0;
    CHECK_EQ_INT(livenessLook(&j, 7, 1000, TIMEOUT_MS), MAIN_RUNS);
    CHECK_EQ_INT(lookUntil(&j, 7, 1000, 3000, &at_ms), MAIN_ASK);
    CHECK_EQ_INT(livenessLook(&j, 7, 60000, TIMEOUT_MS), MAIN_RUNS);
    CHECK_EQ_INT(lookUntil(&j, 7, 60000, 60000 + TIMEOUT_MS, &at_ms), MAIN_STUCK);
    CHECK_EQ_INT(at_ms, 60000 + TIMEOUT_MS);
}
