/* quiet_moment_test.c -- a fork that is due begins between two bursts, and at the latest at its bound.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "quiet_moment.h"

#include "call.h"
#include "clock.h"
#include "panic.h"
#include "persist_settings.h"
#include "unit.h"

#include <unistd.h>

#define MS 1000
#define FEW 2
#define START_US 1000000
#define BOUND_US (2000 * MS)
#define SAMPLE_US (10 * MS)

/* Feeds a load and returns after how many microseconds the fork begins. `rate(ms)` is commands per millisecond; samples
 * are taken every `sample_us`. */
static uint64_t waitOf(quietWatch *w, double (*rate)(uint64_t ms), uint64_t sample_us, quietVerdict *verdict) {
    double commands = 0;
    uint64_t now_us = START_US, sampled_us = 0;
    /* The ticks before. */
    for (uint64_t t = 0; t < 50; t++) {
        for (int ms = 0; ms < 100; ms++) commands += rate(now_us / MS + (uint64_t)ms);
        now_us += 100 * MS;
        quietObserve(w, now_us, (uint64_t)commands);
    }
    uint64_t begin_us = now_us;
    for (;; now_us += MS) {
        commands += rate(now_us / MS);
        if (sampled_us && now_us - sampled_us < sample_us) continue;
        sampled_us = now_us;
        *verdict = quietStep(w, now_us, (uint64_t)commands, BOUND_US, FEW);
        CHECK_EQ_INT(w->waits, *verdict == QUIET_WAIT);
        if (*verdict != QUIET_WAIT) return now_us - begin_us;
    }
}

static double idle(uint64_t ms) { return ms == 0; }
static double pinger(uint64_t ms) { return ms > 0; } /* one per millisecond */
static double steady(uint64_t ms) { return ms ? 80 : 0; }
static double bursts(uint64_t ms) { return ms % 200 < 120 ? 80 : 0; } /* 80 ms between two */
static double burstsOverBase(uint64_t ms) { return ms % 200 < 120 ? 80 : 4; }
static double narrow(uint64_t ms) { return ms % 20 < 12 ? 80 : 0; } /* gaps shorter than a sample */
static double rareBurst(uint64_t ms) { return ms % 1000 < 900 ? 50 : 2.5; }

TEST(an_idle_server_forks_after_two_samples) {
    quietVerdict v;
    quietWatch w = {0};
    CHECK(waitOf(&w, idle, SAMPLE_US, &v) == 2 * SAMPLE_US);
    CHECK_EQ_INT(v, QUIET_FOUND);
    w = (quietWatch){0};
    CHECK(waitOf(&w, pinger, SAMPLE_US, &v) == 2 * SAMPLE_US);
    CHECK_EQ_INT(v, QUIET_FOUND);
}

TEST(a_steady_load_forks_at_the_bound) {
    quietVerdict v;
    quietWatch w = {0};
    CHECK(waitOf(&w, steady, SAMPLE_US, &v) >= BOUND_US);
    CHECK_EQ_INT(v, QUIET_MISSED);
    w = (quietWatch){0};
    CHECK(waitOf(&w, narrow, SAMPLE_US, &v) >= BOUND_US);
    CHECK_EQ_INT(v, QUIET_MISSED);
}

TEST(between_bursts_the_fork_begins) {
    double (*loads[])(uint64_t) = {bursts, burstsOverBase, rareBurst};
    for (size_t i = 0; i < array_len(loads); i++) {
        quietVerdict v;
        quietWatch w = {0};
        uint64_t waited_us = waitOf(&w, loads[i], SAMPLE_US, &v);
        CHECK_EQ_INT(v, QUIET_FOUND);
        CHECK(waited_us <= 1100 * MS);
        CHECK(loads[i]((START_US + 5000 * MS + waited_us) / MS) < 5);
    }
}

/* Samples that come late are those of a busy main. */
TEST(late_samples_are_not_quiet) {
    quietVerdict v;
    quietWatch w = {0};
    CHECK(waitOf(&w, idle, 40 * MS, &v) >= BOUND_US);
    CHECK_EQ_INT(v, QUIET_MISSED);
}

TEST(no_moment_is_quiet_if_no_rate_is) {
    quietWatch w = {0};
    for (uint64_t t = 0; t < BOUND_US; t += SAMPLE_US)
        CHECK_EQ_INT(quietStep(&w, START_US + t, 0, BOUND_US, -1), QUIET_WAIT);
    CHECK_EQ_INT(quietStep(&w, START_US + BOUND_US, 0, BOUND_US, -1), QUIET_MISSED);
}

TEST(without_a_bound_nothing_waits) {
    quietWatch w = {0};
    CHECK_EQ_INT(quietStep(&w, START_US, 0, 0, FEW), QUIET_MISSED);
    CHECK(!w.waits);
}

TEST(a_bound_that_is_lowered_ends_the_wait) {
    quietWatch w = {.peak_per_ms = 100};
    CHECK_EQ_INT(quietStep(&w, START_US, 0, BOUND_US, FEW), QUIET_WAIT);
    CHECK_EQ_INT(quietStep(&w, START_US + 500 * MS, 50000, BOUND_US, FEW), QUIET_WAIT);
    CHECK_EQ_INT(quietStep(&w, START_US + 510 * MS, 51000, 400 * MS, FEW), QUIET_MISSED);
}

TEST(two_calls_at_one_time_are_one_sample) {
    quietWatch w = {0};
    for (uint64_t i = 0; i < 3; i++) {
        CHECK_EQ_INT(quietStep(&w, START_US + i * 2 * MS, 0, BOUND_US, FEW), QUIET_WAIT);
        CHECK_EQ_INT(w.quiet, 0);
    }
    CHECK_EQ_INT(quietStep(&w, START_US + 10 * MS, 0, BOUND_US, FEW), QUIET_WAIT);
    CHECK_EQ_INT(quietStep(&w, START_US + 11 * MS, 0, BOUND_US, FEW), QUIET_WAIT);
    CHECK_EQ_INT(quietStep(&w, START_US + 20 * MS, 0, BOUND_US, FEW), QUIET_FOUND);
}

/* CONFIG RESETSTAT sets the number of commands back. */
TEST(a_reset_of_the_statistics_does_no_harm) {
    quietWatch w = {0};
    quietObserve(&w, START_US, 1000000);
    quietObserve(&w, START_US + 100 * MS, 5);
    CHECK(w.peak_per_ms == 0);
}

/* ---- The loop ---- */

static aeEventLoop *loop;
static bool due;
static int begun;

static void again(void) {
    if (!due || !quietMayFork(1000)) return;
    begun++;
    due = false;
}

static void setUp(void) {
    if (!loop) {
        panicSetMainThread();
        clockInit();
        quietInit(loop = aeCreateEventLoop(16), again);
    }
    quietEnd();
    quietResetStats();
    persist_settings.quiet_commands_per_ms = FEW;
    begun = 0;
    due = true;
}

/* Runs the loop until the fork has begun or so much time has passed; `per_ms` commands are executed meanwhile. */
static void iterate(uint64_t ms, long long per_iteration) {
    uint64_t end_us = clockMonotonicUs() + ms * 1000;
    while (!begun && clockMonotonicUs() < end_us) {
        engine_stats.commands_processed += per_iteration;
        aeProcessEvents(loop, AE_ALL_EVENTS | AE_DONT_WAIT);
        usleep(200);
    }
}

TEST(the_loop_asks_again_until_the_fork_begins) {
    setUp();
    again();
    CHECK(quietFiguresNow().waiting);
    iterate(5000, 0);
    CHECK_EQ_INT(begun, 1);
    quietFigures f = quietFiguresNow();
    CHECK(!f.waiting && f.found + f.missed == 1);
    iterate(50, 0);
    CHECK_EQ_INT(begun, 1);
}

TEST(a_wait_of_which_nothing_asks_is_over) {
    setUp();
    again();
    due = false;
    iterate(100, 0);
    CHECK(!quietFiguresNow().waiting);
    CHECK_EQ_INT(quietFiguresNow().found + quietFiguresNow().missed, 0);
}

TEST(another_fork_ends_the_wait_and_the_next_one_begins_anew) {
    setUp();
    again();
    iterate(5, 1000);
    quietEnd();
    CHECK(!quietFiguresNow().waiting);
    uint64_t begin_us = clockMonotonicUs();
    iterate(10000, 1000);
    CHECK_EQ_INT(begun, 1);
    CHECK_EQ_INT(quietFiguresNow().missed, 1);
    CHECK(clockMonotonicUs() - begin_us >= 900000);
}
