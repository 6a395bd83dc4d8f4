/* time_wheel_test.c -- compares a wheel with a plain array of times.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "time_wheel.h"
#include "unit.h"
#include "zmalloc.h"

#include <stdio.h>

#define MODEL_MAX 4000
#define TAKE_MAX 50

static uint64_t seed;

/* A number is an index of this array. */
typedef struct model {
    int64_t times[MODEL_MAX]; /* 0: not in the wheel */
    int64_t comes[MODEL_MAX]; /* the time, or that of its addition */
    size_t n, in;
    int64_t now_ms;
    timeWheel *w;
} model;

static void add(model *m, uint64_t number, int64_t when_ms) {
    m->times[number] = when_ms;
    m->comes[number] = when_ms > m->now_ms ? when_ms : m->now_ms;
    m->in++;
    timeWheelAdd(m->w, when_ms, number);
}

/* Takes what has come, at most `bite` at once, and adds the rest again. All that is due must have come. */
static void take(model *m, size_t bite) {
    uint64_t out[TAKE_MAX];
    size_t got;
    int64_t over_ms = m->now_ms / TIME_WHEEL_GRAIN_MS * TIME_WHEEL_GRAIN_MS;
    while ((got = timeWheelTake(m->w, m->now_ms, out, bite)) > 0) {
        CHECK(got <= bite);
        for (size_t i = 0; i < got; i++) {
            if (!CHECK(out[i] < m->n && m->times[out[i]] != 0)) return;
            if (m->times[out[i]] < over_ms) {
                m->times[out[i]] = 0;
                m->in--;
            } else {
                timeWheelAdd(m->w, m->times[out[i]], out[i]);
            }
        }
    }
    timeWheelCheck(m->w);
    int64_t first_ms = INT64_MAX;
    for (size_t i = 0; i < m->n; i++) {
        if (m->times[i] == 0) continue;
        CHECK(m->comes[i] >= over_ms);
        if (m->comes[i] < first_ms) first_ms = m->comes[i];
    }
    CHECK_EQ_INT(timeWheelSize(m->w), m->in);
    /* A caller that waits until then is not late. */
    int64_t next_ms = timeWheelNextMs(m->w);
    CHECK(first_ms > m->now_ms + 2000 || next_ms <= first_ms + TIME_WHEEL_GRAIN_MS);
    CHECK(next_ms > m->now_ms);
}

/* Times of every distance: a few milliseconds to years. */
static int64_t randomDistance(void) {
    int64_t limit = (int64_t)1 << (1 + unitRandom(&seed) % 40);
    return (int64_t)(unitRandom(&seed) % (uint64_t)limit);
}

static void run(int64_t begin_ms, int64_t longest_step_ms) {
    static model m;
    m = (model){.n = MODEL_MAX, .now_ms = begin_ms, .w = timeWheelCreate(begin_ms)};
    for (int round = 0; round < 3000; round++) {
        for (int i = 0; i < 20; i++) {
            uint64_t number = unitRandom(&seed) % m.n;
            if (m.times[number] == 0) add(&m, number, m.now_ms + 1 + randomDistance());
        }
        if (round % 7 == 0) {
            uint64_t number = unitRandom(&seed) % m.n;
            if (m.times[number] == 0) add(&m, number, m.now_ms > 1000 ? m.now_ms - 900 : 1); /* overdue */
        }
        m.now_ms += (int64_t)(unitRandom(&seed) % (uint64_t)longest_step_ms);
        if (round % 3 == 0) take(&m, 1 + unitRandom(&seed) % TAKE_MAX);
    }
    m.now_ms += (int64_t)1 << 42;
    take(&m, TAKE_MAX);
    CHECK_EQ_INT(timeWheelSize(m.w), 0);
    timeWheelFree(m.w);
}

TEST(time_wheel_like_an_array) {
    size_t before = zmallocUsed();
    seed = unitRandomSeed();
    run(1700000000000, 10);
    run(1700000000000, 900);
    run(1700000000000, 100000);
    run(1700000000000, 1 << 30);
    run(0, 50);
    CHECK_EQ_INT(zmallocUsed(), before);
}

TEST(time_wheel_takes_what_comes_every_tick) {
    model m = {.n = 2000, .now_ms = 5000000, .w = timeWheelCreate(5000000)};
    for (uint64_t i = 0; i < m.n; i++) add(&m, i, m.now_ms + 1 + (int64_t)i * 37);
    for (int tick = 0; tick < 1000; tick++) {
        m.now_ms += 100;
        take(&m, TAKE_MAX);
    }
    CHECK_EQ_INT(m.in, 0);
    timeWheelFree(m.w);
}

TEST(time_wheel_stands_still_when_the_clock_goes_back) {
    uint64_t out[4];
    timeWheel *w = timeWheelCreate(100000);
    CHECK_EQ_INT(timeWheelClockMs(w), 100000 / TIME_WHEEL_GRAIN_MS * TIME_WHEEL_GRAIN_MS);
    timeWheelAdd(w, 100100, 7);
    CHECK_EQ_INT(timeWheelTake(w, 50000, out, 4), 0);
    timeWheelAdd(w, 50010, 8);
    timeWheelAdd(w, -5, 9);
    timeWheelCheck(w);
    CHECK_EQ_INT(timeWheelTake(w, 100064, out, 4), 2);
    CHECK_EQ_INT(timeWheelTake(w, 100128, out, 4), 1);
    CHECK_EQ_INT(out[0], 7);
    timeWheelAdd(w, INT64_MAX, 1);
    timeWheelCheck(w);
    timeWheelFree(w);
}

static void countBytes(int64_t longest_ms, double limit) {
    enum { KEYS = 1000000 };
    timeWheel *w = timeWheelCreate(1700000000000);
    for (uint64_t i = 0; i < KEYS; i++)
        timeWheelAdd(w, 1700000000000 + (int64_t)(unitRandom(&seed) % (uint64_t)longest_ms), i);
    double each = (double)timeWheelMemUsage(w) / KEYS;
    if (!CHECK(each <= limit)) printf("%.2f bytes each\n", each);
    timeWheelFree(w);
}

TEST(time_wheel_takes_less_than_ten_bytes_each) {
    countBytes(1, 8.1);
    countBytes(60000, 9.5);
    countBytes(3600000, 9);
    countBytes(86400000, 9);
}

static int64_t earliest_place_ms;

static void notePlace(void *arg, uint64_t number, int64_t from_ms) {
    if (number == *(const uint64_t *)arg) earliest_place_ms = from_ms;
}

/* The clock has stood still for longer than the ring of a level, and the caller takes a few numbers only: the places of
 * the others are still those of their times. */
TEST(time_wheel_keeps_places_in_a_late_visit) {
    uint64_t second = 2, out[1];
    timeWheel *w = timeWheelCreate(1000000);
    timeWheelAdd(w, 1000000 + 20, 1);
    timeWheelAdd(w, 1000000 + 500, second);
    CHECK_EQ_INT(timeWheelTake(w, 1000000 + 10000, out, 1), 1);
    CHECK_EQ_INT(out[0], 1);
    earliest_place_ms = INT64_MAX;
    timeWheelEach(w, notePlace, &second);
    CHECK(earliest_place_ms <= 1000000 + 500);
    timeWheelCheck(w);
    CHECK_EQ_INT(timeWheelTake(w, 1000000 + 10000, out, 1), 1);
    CHECK_EQ_INT(out[0], second);
    CHECK_EQ_INT(timeWheelTake(w, 1000000 + 10000, out, 1), 0);
    timeWheelFree(w);
}
