/* histogram.c -- counts of durations in log-linear buckets, for percentiles with bounded error.
 *
 * Each value below 2^m has its own counter, where 2^m is at least twice 10^digits; each further doubling of the range
 * is cut into 2^(m-1) steps of equal width. The counters form one array:
 *
 *     values   0 .. 2^m-1      2^m .. 2^(m+1)-1    2^(m+1) .. 2^(m+2)-1
 *     step     1               2                   4                      (times 2^unit, from `lowest`)
 *     counters 2^m             2^(m-1)             2^(m-1)
 *
 * so the index of a value is a shift and an addition, found from the position of its highest bit.
 *
 * Not here    the meaning of values; locks: there is one owner at a time.
 * Cost        record O(1); percentiles and walks O(counters).
 * Tests       tests/unit/ds/histogram_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "histogram.h"
#include "panic.h"
#include "zmalloc.h"
#include <math.h>
#include <string.h>

struct histogram {
    int unit;           /* log2 of the finest step */
    int half;           /* m - 1 */
    uint64_t fine_mask; /* values without a higher bit are in the first 2^m counters */
    size_t len;
    int64_t highest;
    int64_t total, min, max; /* empty: min > max */
    double beyond;           /* sum of how far values exceed `highest`: for the mean */
    int64_t counts[];
};

/* Sets all fields but the counters. */
static void setLayout(histogram *h, int64_t lowest, int64_t highest, int significant_digits) {
    serverAssert(lowest >= 1 && lowest <= INT64_MAX / 4 && highest >= 2 * lowest);
    serverAssert(significant_digits >= 1 && significant_digits <= 4);
    int64_t fine = 2;
    for (int i = 0; i < significant_digits; i++) fine *= 10;
    int m = 64 - __builtin_clzll((uint64_t)fine - 1);
    int unit = 63 - __builtin_clzll((uint64_t)lowest);
    /* Doublings needed until the range covers `highest`. */
    size_t ranges = 1;
    for (int bits = m + unit; bits < 63 && ((int64_t)1 << bits) <= highest; bits++) ranges++;
    *h = (histogram){.unit = unit,
                     .half = m - 1,
                     .fine_mask = (((uint64_t)1 << m) - 1) << unit,
                     .len = (ranges + 1) << (m - 1),
                     .highest = highest,
                     .min = INT64_MAX};
}

static histogram *makeHistogram(int64_t lowest, int64_t highest, int significant_digits, bool must) {
    histogram layout, *h;
    setLayout(&layout, lowest, highest, significant_digits);
    size_t bytes = sizeof(layout) + layout.len * sizeof(layout.counts[0]);
    h = must ? zcalloc(1, bytes) : ztrycalloc(1, bytes);
    if (h) *h = layout;
    return h;
}

histogram *histogramCreate(int64_t lowest, int64_t highest, int significant_digits) {
    return makeHistogram(lowest, highest, significant_digits, true);
}

histogram *histogramTryCreate(int64_t lowest, int64_t highest, int significant_digits) {
    return makeHistogram(lowest, highest, significant_digits, false);
}

void histogramFree(histogram *h) { zfree(h); }

void histogramReset(histogram *h) {
    memset(h->counts, 0, h->len * sizeof(h->counts[0]));
    h->total = 0;
    h->beyond = 0;
    h->min = INT64_MAX;
    h->max = 0;
}

/* Returns which doubling of the range holds `value`: 0 for the first 2^m steps. */
static int rangeOf(const histogram *h, int64_t value) {
    return 63 - __builtin_clzll((uint64_t)value | h->fine_mask) - h->unit - h->half;
}

static size_t indexOf(const histogram *h, int64_t value) {
    int range = rangeOf(h, value);
    return ((size_t)range << h->half) + (size_t)(value >> (range + h->unit));
}

/* Returns the least value that counts at `index`; *width becomes the number of values that share the counter. */
static int64_t valueAt(const histogram *h, size_t index, int64_t *width) {
    size_t range = index >> h->half;
    size_t step = index & (((size_t)1 << h->half) - 1);
    if (range > 0) {
        step += (size_t)1 << h->half;
        range--;
    }
    int shift = (int)range + h->unit;
    *width = (int64_t)1 << shift;
    return (int64_t)step << shift;
}

/* Returns the number of counters up to the last that is not 0. */
static size_t usedLen(const histogram *h) { return indexOf(h, h->total ? h->max : 0) + 1; }

size_t histogramCopyBytes(const histogram *h) { return sizeof(*h) + usedLen(h) * sizeof(h->counts[0]); }

histogram *histogramCopyInto(void *memory, const histogram *h) {
    histogram *copy = memory;
    memcpy(copy, h, histogramCopyBytes(h));
    copy->highest = h->total ? h->max : 0;
    copy->len = usedLen(h);
    return copy;
}

static int64_t lowestEquivalent(const histogram *h, int64_t value) {
    int shift = rangeOf(h, value) + h->unit;
    return value >> shift << shift;
}

static int64_t highestEquivalent(const histogram *h, int64_t value) {
    return lowestEquivalent(h, value) + (((int64_t)1 << (rangeOf(h, value) + h->unit)) - 1);
}

bool histogramRecordMany(histogram *h, int64_t value, int64_t count) {
    if (value < 0 || count < 0) return false;
    bool in_range = value <= h->highest;
    if (unlikely(!in_range)) {
        h->beyond += ((double)value - (double)h->highest) * (double)count;
        value = h->highest;
    }
    h->counts[indexOf(h, value)] += count;
    h->total += count;
    if (count > 0) {
        h->min = value < h->min ? value : h->min;
        h->max = value > h->max ? value : h->max;
    }
    return in_range;
}

bool histogramRecord(histogram *h, int64_t value) { return histogramRecordMany(h, value, 1); }

void histogramAdd(histogram *into, const histogram *from) {
    serverAssert(into->len == from->len && into->unit == from->unit && into->half == from->half);
    for (size_t i = 0; i < from->len; i++) into->counts[i] += from->counts[i];
    into->total += from->total;
    into->beyond += from->beyond;
    if (from->min < into->min) into->min = from->min;
    if (from->max > into->max) into->max = from->max;
}

int64_t histogramTotal(const histogram *h) { return h->total; }
int64_t histogramMin(const histogram *h) { return h->total ? lowestEquivalent(h, h->min) : 0; }
int64_t histogramMax(const histogram *h) { return h->total ? highestEquivalent(h, h->max) : 0; }

/* Returns the middle of a counter's range, which stands for each of its values. */
static double middleAt(const histogram *h, size_t index) {
    int64_t width, low = valueAt(h, index, &width);
    return (double)(low + width / 2);
}

static double sumOfCounters(const histogram *h) {
    double sum = 0;
    for (size_t i = 0; i < h->len; i++) {
        if (h->counts[i]) sum += middleAt(h, i) * (double)h->counts[i];
    }
    return sum;
}

double histogramMean(const histogram *h) { return h->total ? (sumOfCounters(h) + h->beyond) / (double)h->total : 0; }

double histogramStddev(const histogram *h) {
    if (h->total == 0) return 0;
    double mean = sumOfCounters(h) / (double)h->total, sum = 0;
    for (size_t i = 0; i < h->len; i++) {
        if (!h->counts[i]) continue;
        double off = middleAt(h, i) - mean;
        sum += off * off * (double)h->counts[i];
    }
    return sqrt(sum / (double)h->total);
}

int64_t histogramPercentile(const histogram *h, double percentile) {
    if (h->total == 0) return 0;
    if (percentile > 100) percentile = 100;
    int64_t want = (int64_t)(percentile / 100 * (double)h->total + 0.5), cumulative = 0;
    if (want < 1) want = 1;
    if (want > h->total) want = h->total;
    for (size_t i = 0; i < h->len; i++) {
        cumulative += h->counts[i];
        if (cumulative < want) continue;
        int64_t width, low = valueAt(h, i, &width);
        return low + width - 1;
    }
    return 0;
}

int64_t histogramCountUpTo(const histogram *h, int64_t value, int64_t *last) {
    *last = highestEquivalent(h, value);
    size_t end = value < h->highest ? indexOf(h, value) + 1 : h->len;
    int64_t cumulative = 0;
    for (size_t i = 0; i < end; i++) cumulative += h->counts[i];
    return cumulative;
}

/* A bound is reported as the highest value that is counted together with it: counters are not finer than that. */
void histogramIterLog(const histogram *h, int64_t first_bound, double log_base,
                      void (*fn)(void *arg, int64_t bound, int64_t step_count, int64_t cumulative), void *arg) {
    serverAssert(first_bound >= 1 && log_base > 1);
    int64_t cumulative = 0;
    size_t next = 0;
    for (double level = (double)first_bound; cumulative < h->total; level *= log_base) {
        bool beyond = level >= (double)h->highest;
        int64_t value = beyond ? h->highest : (int64_t)level;
        size_t end = beyond ? h->len : indexOf(h, value) + 1;
        int64_t step = 0;
        for (; next < end; next++) step += h->counts[next];
        cumulative += step;
        fn(arg, highestEquivalent(h, value), step, cumulative);
        if (beyond) break;
    }
}

/* Steps halve with each halving of the distance to 100 %: with one tick 0, 50, 75, 87.5 ... Several steps may report
 * the same value; the last value gets one step and then the line for 100 %. */
void histogramIterPercentiles(const histogram *h, int ticks_per_half,
                              void (*fn)(void *arg, double percentile, int64_t value, int64_t cumulative), void *arg) {
    serverAssert(ticks_per_half > 0);
    double tick = 0;
    int64_t cumulative = 0;
    for (size_t i = 0; i < h->len && cumulative < h->total; i++) {
        if (!h->counts[i]) continue;
        cumulative += h->counts[i];
        int64_t width, low = valueAt(h, i, &width);
        bool last = cumulative == h->total;
        while (tick <= 100.0 * (double)cumulative / (double)h->total) {
            fn(arg, tick, low + width - 1, cumulative);
            double halvings = floor(log2(100.0 / (100.0 - tick))) + 1;
            tick += 100.0 / (ticks_per_half * exp2(halvings));
            if (last || tick >= 100) break;
        }
        if (last) fn(arg, 100.0, low + width - 1, cumulative);
    }
}
