/* histogram.h -- counts of durations in log-linear buckets, for percentiles with bounded error.
 *
 * The layout is that of an HDR histogram (Gil Tene, HdrHistogram.org) of the same parameters, so percentiles print as
 * clients of the field know them. Values above the highest count as the highest, but the mean takes them as they are.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HISTOGRAM_H
#define DS_HISTOGRAM_H

#include "platform.h"

typedef struct histogram histogram;

/* `lowest` >= 1, `highest` >= 2*lowest, significant digits 1..4: as hdr_init's parameters. */
histogram *histogramCreate(int64_t lowest, int64_t highest, int significant_digits);
/* The same; NULL when there is no memory for it. */
histogram *histogramTryCreate(int64_t lowest, int64_t highest, int significant_digits) must_check;
void histogramFree(histogram *h);
void histogramReset(histogram *h);
/* O(1), no branch on the count. False when out of range. */
bool histogramRecord(histogram *h, int64_t value);
bool histogramRecordMany(histogram *h, int64_t value, int64_t count);
void histogramAdd(histogram *into, const histogram *from); /* same parameters */
int64_t histogramTotal(const histogram *h);
int64_t histogramMin(const histogram *h);
int64_t histogramMax(const histogram *h);
double histogramMean(const histogram *h);
double histogramStddev(const histogram *h);
/* Highest equivalent value at that percentile (0..100), 0 when empty. */
int64_t histogramPercentile(const histogram *h, double percentile);
/* Values recorded at or below `value` and those that count together with it; *last gets the highest of these. */
int64_t histogramCountUpTo(const histogram *h, int64_t value, int64_t *last);
size_t histogramMemUsage(const histogram *h);
/* A copy to read from, in room of the caller's: it has place for what was recorded and no more, so it is smaller than
 * the original. Bytes that it takes, a multiple of the alignment it needs; and the copy, which is `room` itself. */
size_t histogramCopyBytes(const histogram *h);
histogram *histogramCopyInto(void *room, const histogram *h);

/* Visit by doubling steps of the upper bound (LATENCY HISTOGRAM): first `bound` = first_bound, then times log_base;
 * fn gets each bound and the count of values at or below it that is new since the last bound. Ends when all are
 * counted. */
void histogramIterLog(const histogram *h, int64_t first_bound, double log_base,
                      void (*fn)(void *arg, int64_t bound, int64_t step_count, int64_t cumulative), void *arg);
/* Visit percentile ticks (0, 50, 75, 87.5 ...: `ticks_per_half` per halving distance), for the benchmark. */
void histogramIterPercentiles(const histogram *h, int ticks_per_half,
                              void (*fn)(void *arg, double percentile, int64_t value, int64_t cumulative), void *arg);

#endif
