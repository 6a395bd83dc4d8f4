/* histogram_test.c -- compares percentiles with a sorted array, and the layout with known values of HDR histograms.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"
#include "unit.h"
#include "zmalloc.h"
#include <math.h>
#include <stdlib.h>

static int compare(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Returns true if the value is right: it may be too high by 1 part in 10^digits. */
static bool near(int64_t got, int64_t exact, int digits) {
    return got >= exact && (double)(got - exact) <= (double)exact * pow(10, -digits);
}

TEST(histogram_against_sorted_array) {
    enum { N = 5000 };
    static int64_t v[N];
    uint64_t rng = unitRandomSeed();
    for (int digits = 1; digits <= 4; digits++) {
        histogram *h = histogramCreate(1, (int64_t)1 << 40, digits);
        double sum = 0;
        for (int i = 0; i < N; i++) {
            v[i] = (int64_t)(unitRandom(&rng) >> (24 + unitRandom(&rng) % 40));
            sum += (double)v[i];
            CHECK(histogramRecord(h, v[i]));
        }
        qsort(v, N, sizeof(v[0]), compare);
        CHECK_EQ_INT(histogramTotal(h), N);
        for (int tenth = 0; tenth <= 1000; tenth++) {
            int64_t rank = (int64_t)(tenth / 1000.0 * N + 0.5);
            if (!CHECK(near(histogramPercentile(h, tenth / 10.0), v[rank > 0 ? rank - 1 : 0], digits))) break;
        }
        CHECK(near(histogramMax(h), v[N - 1], digits));
        CHECK(histogramMin(h) <= v[0] && near(v[0], histogramMin(h), digits));
        CHECK(fabs(histogramMean(h) - sum / N) <= sum / N * pow(10, -digits));
        histogramFree(h);
    }
}

TEST(histogram_edges) {
    histogram *h = histogramCreate(1, 1000000, 2), *other = histogramCreate(1, 1000000, 2);
    CHECK_EQ_INT(histogramPercentile(h, 50), 0);
    CHECK_EQ_INT(histogramMin(h), 0);
    CHECK_EQ_INT(histogramMax(h), 0);
    CHECK(histogramMean(h) == 0 && histogramStddev(h) == 0);
    CHECK(!histogramRecord(h, -1));
    CHECK_EQ_INT(histogramTotal(h), 0);
    CHECK(!histogramRecord(h, INT64_MAX)); /* counts as the largest */
    CHECK_EQ_INT(histogramTotal(h), 1);
    CHECK(near(histogramPercentile(h, 100), 1000000, 2));
    histogramReset(h);
    CHECK(histogramRecord(h, 0) && histogramRecord(h, 255) && histogramRecordMany(h, 256, 2));
    CHECK_EQ_INT(histogramPercentile(h, 0), 0);
    CHECK_EQ_INT(histogramPercentile(h, 50), 255);
    CHECK_EQ_INT(histogramPercentile(h, 100), 257);
    CHECK(histogramRecordMany(other, 7, 4));
    histogramAdd(h, other);
    CHECK_EQ_INT(histogramTotal(h), 8);
    CHECK_EQ_INT(histogramPercentile(h, 60), 7);
    histogramReset(other);
    histogramAdd(h, other);
    CHECK_EQ_INT(histogramMin(h), 0);
    CHECK_EQ_INT(histogramMax(h), 257);
    histogramReset(h);
    histogramRecordMany(h, 2, 2), histogramRecordMany(h, 4, 2);
    CHECK_EQ_DOUBLE(histogramMean(h), 3.0);
    CHECK_EQ_DOUBLE(histogramStddev(h), 1.0);
    /* The mean counts a value above the maximum unchanged; after histogramAdd() values above the maximum of both count
     * twice. */
    histogramReset(h);
    histogramRecordMany(h, 3000000, 3), histogramRecord(h, 100);
    CHECK(fabs(histogramMean(h) - 2250025) <= 22500);
    histogramReset(other);
    histogramAdd(other, h), histogramAdd(other, h);
    CHECK(fabs(histogramMean(other) - 2250025) <= 22500);
    histogramReset(h);
    CHECK(histogramMean(h) == 0);
    histogramFree(h);
    histogramFree(other);
}

typedef struct seen {
    int n;
    int64_t value[64], step[64], cumulative[64];
    double percentile[64];
} seen;

static void noteLog(void *arg, int64_t bound, int64_t step, int64_t cumulative) {
    seen *s = arg;
    if (s->n == 64) return;
    s->value[s->n] = bound;
    s->step[s->n] = step;
    s->cumulative[s->n++] = cumulative;
}

/* Bounds in nanoseconds, which LATENCY HISTOGRAM divides to microseconds: 1 2 4 8 16 33 66 132 264 ... */
TEST(histogram_iterates_by_doubling) {
    histogram *h = histogramCreate(1, 1000000000, 2);
    histogramRecordMany(h, 900, 3);
    histogramRecord(h, 1500);
    histogramRecord(h, 40000);
    seen s = {0};
    histogramIterLog(h, 1024, 2, noteLog, &s);
    static const int64_t bounds[] = {1, 2, 4, 8, 16, 33, 66}, counts[] = {3, 4, 4, 4, 4, 4, 5};
    if (!CHECK_EQ_INT(s.n, 7)) return;
    for (int i = 0; i < 7; i++) {
        CHECK_EQ_INT(s.value[i] / 1000, bounds[i]);
        CHECK_EQ_INT(s.cumulative[i], counts[i]);
        CHECK_EQ_INT(s.step[i], counts[i] - (i ? counts[i - 1] : 0));
    }
    histogramReset(h);
    s.n = 0;
    histogramIterLog(h, 1024, 2, noteLog, &s);
    CHECK_EQ_INT(s.n, 0);
    histogramRecord(h, 1000000000);
    histogramIterLog(h, 1024, 2, noteLog, &s);
    CHECK_EQ_INT(s.cumulative[s.n - 1], 1);
    histogramFree(h);
}

static void notePercentile(void *arg, double percentile, int64_t value, int64_t cumulative) {
    seen *s = arg;
    if (s->n == 64) return;
    s->percentile[s->n] = percentile;
    s->value[s->n] = value;
    s->cumulative[s->n++] = cumulative;
}

typedef struct steps {
    int64_t cumulative[64];
    size_t count;
} steps;

static void note(void *arg, int64_t bound, int64_t step_count, int64_t cumulative) {
    steps *s = arg;
    (void)bound, (void)step_count;
    s->cumulative[s->count++] = cumulative;
}

/* A copy gives the same results as the original, with any number of values. */
TEST(histogram_copy_reads_alike) {
    uint64_t rng = unitRandomSeed();
    for (int round = 0; round < 200; round++) {
        histogram *h = histogramCreate(1, 1000000000, 2), *copy;
        int64_t values = (int64_t)(unitRandom(&rng) % 50);
        unsigned shift = 34 + (unsigned)(unitRandom(&rng) % 30);
        for (int64_t i = 0; i < values; i++) histogramRecord(h, (int64_t)(unitRandom(&rng) >> shift));
        copy = histogramCopyInto(malloc(histogramCopyBytes(h)), h);
        steps a = {.count = 0}, b = {.count = 0};
        histogramIterLog(h, 1000, 2, note, &a);
        histogramIterLog(copy, 1000, 2, note, &b);
        CHECK_EQ_INT(b.count, a.count);
        CHECK_MEM(b.cumulative, a.cumulative, a.count * sizeof(a.cumulative[0]));
        CHECK_EQ_INT(histogramTotal(copy), values);
        CHECK_EQ_INT(histogramMax(copy), histogramMax(h));
        CHECK_EQ_DOUBLE(histogramMean(copy), histogramMean(h));
        for (int p = 0; p <= 100; p += 5) CHECK_EQ_INT(histogramPercentile(copy, p), histogramPercentile(h, p));
        CHECK(histogramCopyBytes(h) <= zmallocSize(h));
        histogramFree(h);
        free(copy);
    }
}

TEST(histogram_iterates_percentiles) {
    histogram *h = histogramCreate(1, 1000000, 3);
    seen s = {0};
    histogramIterPercentiles(h, 1, notePercentile, &s);
    CHECK_EQ_INT(s.n, 0);
    for (int v = 1; v <= 100; v++) histogramRecord(h, v);
    histogramIterPercentiles(h, 1, notePercentile, &s);
    static const double ticks[] = {0, 50, 75, 87.5, 93.75, 96.875, 98.4375, 99.21875, 100};
    static const int64_t values[] = {1, 50, 75, 88, 94, 97, 99, 100, 100};
    if (!CHECK_EQ_INT(s.n, 9)) return;
    for (int i = 0; i < 9; i++) {
        CHECK_EQ_DOUBLE(s.percentile[i], ticks[i]);
        CHECK_EQ_INT(s.value[i], values[i]);
        CHECK_EQ_INT(s.cumulative[i], values[i]);
    }
    histogramFree(h);
}
