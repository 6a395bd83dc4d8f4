/* latency_internal.h -- the time series of latency.c, as latency_report.c reads them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LATENCY_INTERNAL_H
#define ENGINE_LATENCY_INTERNAL_H

#include "latency.h"

#define LATENCY_SAMPLES 160

typedef struct latencySample {
    int64_t time_s; /* 0: place not used yet */
    long long ms;
} latencySample;

/* The spikes of one event: a ring of the worst of each of the last seconds that had one. */
typedef struct latencySeries {
    sds event; /* owns */
    size_t count, next;
    long long worst_ms, sum_ms, added; /* of all that were added, not only of those still in the ring */
    latencySample samples[LATENCY_SAMPLES];
} latencySeries;

latencySeries *latencySeriesFind(slice event); /* NULL: there is none */
/* Visit in the order in which the events came up. */
void latencySeriesEach(void (*fn)(void *arg, const latencySeries *series), void *arg);
/* The i-th sample that is kept, oldest first; i < series->count. */
const latencySample *latencySampleAt(const latencySeries *series, size_t i);
/* With the second given, for tests. */
void latencyAddSampleAt(const char *event, long long ms, int64_t time_s);

/* The text of LATENCY GRAPH and LATENCY DOCTOR at that second. */
sds latencyGraph(const latencySeries *series, int64_t now_s);
sds latencyDoctor(int64_t now_s);

#endif
