/* time_index_test.c -- compares entries by time with a plain array.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "time_index.h"
#include "unit.h"
#include "zmalloc.h"

#define MODEL_MAX 6000

typedef struct item {
    int64_t time;
    bool in;
} item;

static int64_t itemTime(const void *entry) { return ((const item *)entry)->time; }

static int64_t earliestOf(const item *items, size_t n) {
    int64_t earliest = INT64_MAX;
    for (size_t i = 0; i < n; i++)
        if (items[i].in && items[i].time < earliest) earliest = items[i].time;
    return earliest;
}

/* Takes all due entries in calls of `bite`; each must be due, and none may be left. */
static void reap(timeIndex *t, item *items, size_t n, int64_t before, size_t bite) {
    void *out[100];
    size_t got;
    while ((got = timeIndexTakeBefore(t, before, out, bite)) > 0) {
        CHECK(got <= bite);
        for (size_t i = 0; i < got; i++) {
            item *it = out[i];
            if (!CHECK(it->in && it->time < before)) return;
            it->in = false;
        }
        timeIndexCheck(t);
    }
    CHECK(earliestOf(items, n) >= before);
}

/* Runs the model with at most `spread` different times; 1 makes all equal. */
static void runModel(uint64_t spread, size_t n, size_t rounds) {
    static item items[MODEL_MAX];
    uint64_t seed = unitRandomSeed() + spread;
    timeIndex *t = timeIndexCreate(itemTime);
    size_t in = 0;
    for (size_t i = 0; i < n; i++) items[i] = (item){0};
    for (size_t round = 0; round < rounds; round++) {
        item *it = &items[unitRandom(&seed) % n];
        bool growing = round / n % 2 == 0;
        if (it->in && (!growing || unitRandom(&seed) % 4 == 0)) {
            int64_t time = it->time;
            it->time = -1; /* removed entries are not read */
            timeIndexRemove(t, it, time);
            it->in = false;
            in--;
        } else if (!it->in && (growing || unitRandom(&seed) % 4 == 0)) {
            *it = (item){.time = (int64_t)(unitRandom(&seed) % spread), .in = true};
            timeIndexAdd(t, it);
            in++;
        }
        if (round % 997 == 0) {
            timeIndexCheck(t);
            CHECK_EQ_INT(timeIndexSize(t), in);
        }
        if (round % 1009 == 0) {
            zmallocMoveAll(true);
            for (size_t leaf = unitRandom(&seed) % 3; (leaf = timeIndexDefrag(t, leaf, zmallocMover));) {
            }
            zmallocMoveAll(false);
            timeIndexCheck(t);
        }
        if (round % 5003 == 0) {
            size_t bite = 1 + unitRandom(&seed) % 100;
            reap(t, items, n, (int64_t)(unitRandom(&seed) % (spread + 2)), bite);
            in = timeIndexSize(t);
        }
    }
    reap(t, items, n, INT64_MAX, 1);
    CHECK_EQ_INT(timeIndexSize(t), 0);
    timeIndexFree(t);
}

TEST(time_index_agrees_with_an_array) {
    runModel(1, MODEL_MAX, 30000);
    runModel(3, MODEL_MAX, 30000);
    runModel(1000000, MODEL_MAX, 60000);
    runModel(100, 20, 20000);
}

TEST(time_index_takes_the_extremes_of_time) {
    item items[4] = {{.time = 0}, {.time = INT64_MAX}, {.time = INT64_MAX - 1}, {.time = 1}};
    timeIndex *t = timeIndexCreate(itemTime);
    void *out[4];
    for (int i = 0; i < 4; i++) timeIndexAdd(t, &items[i]);
    CHECK_EQ_INT(timeIndexTakeBefore(t, INT64_MAX, out, 4), 3);
    CHECK_EQ_INT(timeIndexSize(t), 1);
    timeIndexCheck(t);
    timeIndexRemove(t, &items[1], INT64_MAX);
    timeIndexFree(t);
}

/* Times in ascending order, in random order, and all equal. */
TEST(time_index_costs_eight_bytes_an_entry) {
    enum { N = 200000 };
    item *items = zmalloc(N * sizeof(*items));
    for (int kind = 0; kind < 3; kind++) {
        uint64_t seed = unitRandomSeed();
        timeIndex *t = timeIndexCreate(itemTime);
        for (int64_t i = 0; i < N; i++) {
            items[i].time = kind == 0 ? i : kind == 1 ? (int64_t)(unitRandom(&seed) % 3600000) : 5;
            timeIndexAdd(t, &items[i]);
        }
        CHECK(timeIndexMemUsage(t) <= 8 * (size_t)N + 8 * (size_t)N / 20);
        timeIndexCheck(t);
        timeIndexFree(t);
    }
    zfree(items);
}
