/* throughput_trial_test.c -- changes that pay, changes that do not, and how long the next trial waits.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "throughput_trial.h"
#include "unit.h"

#define WINDOW_NS 10000000ull
#define MS_OF_A_TRIAL 80 /* 20 that do not count, 60 that do */

static const throughput usual = {.commands = 10000, .ns = 100000000}; /* a hundred a millisecond */

static throughput window(long long per_ms) {
    return (throughput){.commands = per_ms * 10, .ns = WINDOW_NS};
}

/* A trial from its begin to its end, in which so much is done. */
static trialState trial(throughputTrial *t, int percent, long long per_ms) {
    throughputTrialBegin(t, usual, percent);
    for (int ms = 10; ms < MS_OF_A_TRIAL; ms += 10)
        CHECK_EQ_INT(throughputTrialWindow(t, window(per_ms)), TRIAL_GOES_ON);
    return throughputTrialWindow(t, window(per_ms));
}

/* Milliseconds until the next one may begin. */
static int rests(throughputTrial *t) {
    int ms = 0;
    for (; !throughputTrialMayBegin(t); ms += 10) CHECK_EQ_INT(throughputTrialWindow(t, window(100)), TRIAL_NONE);
    return ms;
}

TEST(trial_keeps_what_pays) {
    throughputTrial t = {0};
    CHECK(throughputTrialMayBegin(&t));
    CHECK_EQ_INT(trial(&t, 105, 105), TRIAL_PAYS);
    CHECK(throughputTrialMayBegin(&t));
    CHECK_EQ_INT(trial(&t, 105, 104), TRIAL_FAILED);
    CHECK(!throughputTrialMayBegin(&t));
    CHECK_EQ_INT(rests(&t), 1000);
    CHECK_EQ_INT(trial(&t, 98, 98), TRIAL_PAYS);
    CHECK_EQ_INT(rests(&t), 0);
    CHECK_EQ_INT(trial(&t, 98, 97), TRIAL_FAILED);
    CHECK_EQ_INT(rests(&t), 1000); /* one that has paid makes the next rest short again */
}

TEST(trial_that_fails_again_waits_longer) {
    throughputTrial t = {0};
    static const int expected[] = {1000, 2000, 4000, 8000, 16000, 32000, 60000, 60000};
    for (size_t i = 0; i < array_len(expected); i++) {
        CHECK_EQ_INT(trial(&t, 105, 100), TRIAL_FAILED);
        CHECK_EQ_INT(rests(&t), expected[i]);
    }
}

/* What the change itself disturbs is not held against it; nor for it. */
TEST(trial_does_not_count_its_beginning) {
    throughputTrial t = {0};
    throughputTrialBegin(&t, usual, 105);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(0)), TRIAL_GOES_ON);
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(110)), TRIAL_GOES_ON);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(110)), TRIAL_PAYS);
    throughputTrialBegin(&t, usual, 105);
    for (int i = 0; i < 2; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(100000)), TRIAL_GOES_ON);
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(throughputTrialWindow(&t, window(100)), TRIAL_GOES_ON);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(100)), TRIAL_FAILED);
}

/* Turns of main may be long: a window is what it is. */
TEST(trial_counts_time_not_windows) {
    throughputTrial t = {0};
    const throughput second = {.commands = 200000, .ns = 1000000000};
    throughputTrialBegin(&t, usual, 105);
    CHECK_EQ_INT(throughputTrialWindow(&t, second), TRIAL_GOES_ON);
    CHECK_EQ_INT(throughputTrialWindow(&t, second), TRIAL_PAYS);
}

TEST(trial_forgotten_has_no_end) {
    throughputTrial t = {0};
    throughputTrialBegin(&t, usual, 105);
    CHECK(!throughputTrialMayBegin(&t));
    throughputTrialForget(&t);
    CHECK_EQ_INT(throughputTrialWindow(&t, window(0)), TRIAL_NONE);
    CHECK(throughputTrialMayBegin(&t));
}
