/* histogram.h -- counts of durations in log-linear buckets, for percentiles with bounded error.
 *
 * The layout is that of an HDR histogram (Gil Tene, HdrHistogram.org) with the same parameters, so percentiles print as
 * existing clients know them. Values above the highest count as the highest, except in the mean.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef DS_HISTOGRAM_H
#define DS_HISTOGRAM_H

#include "platform.h"

typedef struct histogram histogram;

/* Creates an empty one. `lowest` >= 1, `highest` >= 2 * lowest, 1..4 significant digits: the parameters of hdr_init. */
histogram *histogramCreate(int64_t lowest, int64_t highest, int significant_digits);
/* Like histogramCreate(); returns NULL if there is no memory. */
histogram *histogramTryCreate(int64_t lowest, int64_t highest, int significant_digits) must_check;
void histogramFree(histogram *h);
void histogramReset(histogram *h);
/* Counts a value in O(1). Returns false if it is out of range. */
bool histogramRecord(histogram *h, int64_t value);
/* Counts a value `count` times. Returns false if it is out of range. */
bool histogramRecordMany(histogram *h, int64_t value, int64_t count);
void histogramAdd(histogram *into,
                  const histogram *from); /* adds the counts of `from`, which has the same parameters */
int64_t histogramTotal(const histogram *h);
int64_t histogramMin(const histogram *h); /* 0 if it is empty */
int64_t histogramMax(const histogram *h);
double histogramMean(const histogram *h);
double histogramStddev(const histogram *h);
/* Returns the highest value that counts like the one at that percentile (0..100); 0 if it is empty. */
int64_t histogramPercentile(const histogram *h, double percentile);
/* Returns how many values were recorded that are at most `value` or share its counter; *last becomes the highest of
 * these. */
int64_t histogramCountUpTo(const histogram *h, int64_t value, int64_t *last);
/* A copy for reading in memory of the caller's. It has only the counters in use, so it is smaller than the original.
 * Returns the bytes that it needs, a multiple of their alignment. */
size_t histogramCopyBytes(const histogram *h);
/* Writes the copy to `memory`, which is also returned. */
histogram *histogramCopyInto(void *memory, const histogram *h);

/* Calls `fn` for a series of bounds (LATENCY HISTOGRAM): first_bound, then each times log_base, with the number of
 * values above the last bound and up to this one, and their running total. Ends when all values are counted. */
void histogramIterLog(const histogram *h, int64_t first_bound, double log_base,
                      void (*fn)(void *arg, int64_t bound, int64_t step_count, int64_t cumulative), void *arg);
/* Calls `fn` for percentiles 0, 50, 75, 87.5 ..., with `ticks_per_half` steps for each halving of the distance to 100,
 * for the benchmark. */
void histogramIterPercentiles(const histogram *h, int ticks_per_half,
                              void (*fn)(void *arg, double percentile, int64_t value, int64_t cumulative), void *arg);

#endif
