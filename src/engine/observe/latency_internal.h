/* latency_internal.h -- the time series of latency.c, as latency_report.c reads them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LATENCY_INTERNAL_H
#define ENGINE_LATENCY_INTERNAL_H

#include "latency.h"

#define LATENCY_SAMPLES 160

typedef struct latencySample {
    int64_t time_s; /* 0: not used yet */
    long long ms;
} latencySample;

/* The spikes of one event: a ring with the worst spike of each of the last seconds that had one. */
typedef struct latencySeries {
    sds event; /* owns */
    size_t count, next;
    long long worst_ms, sum_ms, added; /* of all spikes, not only of those in the ring */
    latencySample samples[LATENCY_SAMPLES];
} latencySeries;

/* Returns the series of an event, or NULL. */
latencySeries *latencySeriesFind(slice event);
/* Calls `fn` for each series, in the order of their first spikes. */
void latencySeriesEach(void (*fn)(void *arg, const latencySeries *series), void *arg);
/* Returns the i-th sample in the ring, oldest first; i < series->count. */
const latencySample *latencySampleAt(const latencySeries *series, size_t i);
/* Does the same as latencyAddSample() for a given second, for tests. */
void latencyAddSampleAt(const char *event, long long ms, int64_t time_s);

/* Return the text of LATENCY GRAPH and LATENCY DOCTOR at the second `now_s`. The caller owns it. */
sds latencyGraph(const latencySeries *series, int64_t now_s);
sds latencyDoctor(int64_t now_s);

#endif
