/* fork_forecast_test.c -- the cost of the next fork follows from the last one and from today's size.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "fork_forecast.h"

#include "unit.h"

#define MB ((size_t)1 << 20)
#define GB ((size_t)1 << 30)

static bool near(double value, double expected) { return value > expected * 0.95 && value < expected * 1.05; }

static uint64_t stall(forkFacts f) { return forkForecastOf(&f).stall_us; }

TEST(before_the_first_fork_a_gigabyte_takes_23_ms) {
    CHECK_EQ_INT(stall((forkFacts){0}), 0);
    CHECK(near((double)stall((forkFacts){.rss = GB}), 23552));
    CHECK(near((double)stall((forkFacts){.rss = 10 * GB}), 235520));
}

TEST(huge_pages_hardly_count) {
    CHECK(near((double)stall((forkFacts){.rss = 2 * GB, .huge = GB}), 23600));
    CHECK(stall((forkFacts){.rss = GB, .huge = GB}) < 100);
    CHECK(stall((forkFacts){.rss = GB, .huge = 3 * GB}) < 100); /* of a larger size than today's */
}

TEST(a_fork_is_scaled_to_todays_size) {
    forkFacts f = {.rss = 4 * GB, .forked_rss = 2 * GB, .fork_us = 30000};
    CHECK(near((double)stall(f), 60000));
    f.rss = GB;
    CHECK(near((double)stall(f), 15000));
    f.rss = 0;
    CHECK_EQ_INT(stall(f), 0);
}

/* Of 500 us for 8 MB most are not for pages. */
TEST(a_small_fork_does_not_give_the_rate_of_a_large_one) {
    forkFacts f = {.rss = 8 * GB, .forked_rss = 8 * MB, .fork_us = 500};
    CHECK(near((double)stall(f), 189000));
    f.rss = 8 * MB;
    CHECK_EQ_INT(stall(f), 500);
}

TEST(without_changes_a_child_takes_its_tables) {
    forkFacts f = {.rss = 4 * GB};
    forkForecast c = forkForecastOf(&f);
    CHECK_EQ_INT(c.memory, 8 * MB);
    CHECK_EQ_INT(c.memory_limit, 4 * GB + 8 * MB);
}

TEST(memory_grows_with_changes_and_never_beyond_the_limit) {
    forkFacts f = {.rss = 3 * GB};
    size_t last = 0;
    for (f.changes_per_s = 100; f.changes_per_s < 1e12; f.changes_per_s *= 10) {
        forkForecast c = forkForecastOf(&f);
        CHECK(c.memory >= last && c.memory <= c.memory_limit);
        last = c.memory;
    }
    CHECK(last > 3 * GB);
    f.changes_per_s = 1000; /* 20.5 s, two pages each: 160 MB, and 6 MB of tables */
    CHECK(near((double)forkForecastOf(&f).memory, 160e6 + 6e6));
}

/* 2 GB in 10 s with 200,000 changes copied 400 MB: about half a page for each. */
TEST(what_the_last_child_took_is_expected_of_the_next) {
    forkFacts f = {.rss = 2 * GB,
                   .changes_per_s = 20000,
                   .saved_rss = 2 * GB,
                   .saved_us = 10000000,
                   .copied = 400 * MB,
                   .changes = 200000};
    CHECK(near((double)forkForecastOf(&f).memory, 404.0 * (double)MB));
    f.rss = 4 * GB; /* it takes twice as long */
    CHECK(near((double)forkForecastOf(&f).memory, 808.0 * (double)MB));
    f.changes_per_s = 0;
    CHECK_EQ_INT(forkForecastOf(&f).memory, 8 * MB);
}

TEST(any_facts_give_a_forecast) {
    uint64_t x = 88172645463325252ULL;
    for (int i = 0; i < 100000; i++) {
        uint64_t v[8];
        for (size_t j = 0; j < array_len(v); j++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            v[j] = (x >> 33) % 4 ? (x >> 20) % (64 * GB) : (x >> 40) % 3;
        }
        forkFacts f = {.rss = v[0],
                       .huge = v[1],
                       .changes_per_s = (double)v[2],
                       .forked_rss = v[3],
                       .fork_us = v[4],
                       .saved_rss = v[5],
                       .saved_us = v[6],
                       .copied = v[7],
                       .changes = (long long)(v[4] / 7)};
        forkForecast c = forkForecastOf(&f);
        CHECK(c.memory <= c.memory_limit && c.memory_limit <= f.rss + f.rss / 512 + 1);
        CHECK(c.memory <= c.memory_limit);
    }
}
