/* results_test.c -- the rate over time, with a bounded number of points.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "results.h"
#include "unit.h"
#include "zmalloc.h"

/* Checks that points follow each other from 0 on, and add up to the counters. */
static void checkSeries(const rateSeries *s, uint64_t end_us, uint64_t requests, uint64_t latency_us) {
    uint64_t at = 0, sum = 0, latency = 0;
    for (int i = 0; i < s->count; i++) {
        CHECK_EQ_INT(s->points[i].from_us, at);
        at = s->points[i].to_us;
        sum += s->points[i].requests;
        latency += s->points[i].latency_us;
    }
    CHECK_EQ_INT(at, end_us);
    CHECK_EQ_INT(sum, requests);
    CHECK_EQ_INT(latency, latency_us);
    CHECK(s->count <= RATE_POINTS_MAX);
}

TEST(rate_series_keeps_readings) {
    rateSeries s;
    rateSeriesStart(&s, 100);
    rateSeriesRead(&s, 100, 10, 50);
    rateSeriesRead(&s, 200, 30, 90);
    rateSeriesRead(&s, 250, 31, 95);
    CHECK_EQ_INT(s.count, 3);
    CHECK_EQ_INT(s.points[1].requests, 20);
    CHECK_EQ_INT(s.points[1].latency_us, 40);
    CHECK_EQ_INT(s.points[2].to_us, 250);
    checkSeries(&s, 250, 31, 95);
}

TEST(rate_series_joins_what_is_shorter_than_a_step) {
    rateSeries s;
    rateSeriesStart(&s, 100);
    for (uint64_t at = 30; at <= 300; at += 30) rateSeriesRead(&s, at, at, 2 * at);
    CHECK_EQ_INT(s.points[0].to_us, 120);
    checkSeries(&s, 300, 300, 600);
}

TEST(rate_series_counts_what_comes_without_time) {
    rateSeries s;
    rateSeriesStart(&s, 100);
    rateSeriesRead(&s, 100, 10, 10);
    rateSeriesRead(&s, 100, 15, 20);
    rateSeriesRead(&s, 90, 16, 21);
    CHECK_EQ_INT(s.count, 1);
    checkSeries(&s, 100, 16, 21);
}

TEST(rate_series_is_bounded) {
    static rateSeries s;
    uint64_t at = 0, requests = 0, state = unitRandomSeed();
    rateSeriesStart(&s, 100);
    for (int i = 0; i < 20 * RATE_POINTS_MAX; i++) {
        at += 100 + unitRandom(&state) % 50;
        requests += unitRandom(&state) % 1000;
        rateSeriesRead(&s, at, requests, 3 * requests);
    }
    checkSeries(&s, at, requests, 3 * requests);
    CHECK(s.count >= RATE_POINTS_MAX / 4);
    CHECK((uint64_t)s.count * s.step_us >= at / 4);
    for (int i = 0; i + 1 < s.count; i++) CHECK(s.points[i].to_us - s.points[i].from_us >= s.step_us);
}
