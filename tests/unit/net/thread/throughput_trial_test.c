/* throughput_trial_test.c -- A/B trials of changes that pay and that do not, and the pause before the next trial.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "throughput_trial.h"
#include "unit.h"

#define WINDOW_NS 10000000ull
#define MS_OF_A_TRIAL 80 /* 20 that are ignored, 60 that count */

static const throughput usual = {.commands = 10000, .ns = 100000000}; /* a hundred per millisecond */

static throughput window(long long per_ms) { return (throughput){.commands = per_ms * 10, .ns = WINDOW_NS}; }

/* Runs a whole trial with this throughput. */
static trialState trial(throughputTrial *t, int percent, long long per_ms) {
    throughputTrialBegin(t, usual, percent);
    for (int ms = 10; ms < MS_OF_A_TRIAL; ms += 10) CHECK_EQ_INT(throughputTrialWindow(t, window(per_ms)), TRIAL_RUNS);
    return throughputTrialWindow(t, window(per_ms));
}

/* Returns the milliseconds until the next trial may begin. */
static int rests(throughputTrial *t) {
    int ms = 0;
    for (; !throughputTrialMayBegin(t); ms += 10) CHECK_EQ_INT(throughputTrialWindow(t, window(100)), TRIAL_NONE);
    return ms;
}

TEST(trial_keeps_what_pays) {
    throughputTrial t = {0};
    CHECK(throughputTrialMayBegin(&t));
    CHECK_EQ_INT(trial(&t, 105, 105), TRIAL_PASSED);
    CHECK(throughputTrialMayBegin(&t));
    CHECK_EQ_INT(trial(&t, 105, 104), TRIAL_FAILED);
    CHECK(!throughputTrialMayBegin(&t));
    CHECK_EQ_INT(rests(&t), 1000);
    CHECK_EQ_INT(trial(&t, 98, 98), TRIAL_PASSED);
    CHECK_EQ_INT(rests(&t), 0);
    CHECK_EQ_INT(trial(&t, 98, 97), TRIAL_FAILED);
    CHECK_EQ_INT(rests(&t), 1000); /* after a trial that paid, the pause is short again */
}

TEST(trial_that_fails_again_waits_longer) {
    throughputTrial t = {0};
    static const int expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (size_t i = 0; i < array_len(expected); i++) {
        CHECK_EQ_INT(trial(&t, 105, 100), TRIAL_FAILED);
        CHECK_EQ_INT(rests(&t), expected[i]);
    }
}

/* The disturbance by the change itself does not count, neither against nor for it. */
TEST(trial_does_not_count_its_beginning) {
    throughputTrial t = {0};
    throughputTrialBegin(&t, usual, 105);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(0)), TRIAL_RUNS);
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(110)), TRIAL_RUNS);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(110)), TRIAL_PASSED);
    throughputTrialBegin(&t, usual, 105);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(100000)), TRIAL_RUNS);
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(100)), TRIAL_RUNS);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(100)), TRIAL_FAILED);
}

/* Iterations of main may be long: windows are counted by their actual time. */
TEST(trial_counts_time_not_windows) {
    throughputTrial t = {0};
    const throughput second = {.commands = 200000, .ns = 1000000000};
    throughputTrialBegin(&t, usual, 105);
    CHECK_EQ_INT(throughputTrialWindow(&t, second), TRIAL_RUNS);
    CHECK_EQ_INT(throughputTrialWindow(&t, second), TRIAL_PASSED);
}

TEST(trial_forgotten_has_no_end) {
    throughputTrial t = {0};
    throughputTrialBegin(&t, usual, 105);
    CHECK(!throughputTrialMayBegin(&t));
    throughputTrialCancel(&t);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(0)), TRIAL_NONE);
    CHECK(throughputTrialMayBegin(&t));
}
