/* results.h -- what the tests of a run have measured, kept until it is written down.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "histogram.h"
#include "sds.h"
#include <time.h>

#define RATE_POINTS_MAX 400

/* A stretch of a test: what was answered from one reading of the counters to the next. */
typedef struct ratePoint {
    uint64_t from_us, to_us;       /* of the test */
    uint64_t requests, latency_us; /* the latter is the sum over the requests */
} ratePoint;

/* Readings that grow longer with the test, so that their number stays bounded. */
typedef struct rateSeries {
    ratePoint points[RATE_POINTS_MAX];
    int count;
    uint64_t step_us;              /* a point is at least so long, but for the last */
    uint64_t requests, latency_us; /* of all points */
} rateSeries;

void rateSeriesStart(rateSeries *s, uint64_t step_us);
/* The counters as they stand `at_us` behind the start; readings come in order. */
void rateSeriesRead(rateSeries *s, uint64_t at_us, uint64_t requests, uint64_t latency_us);

typedef struct testResult {
    sds title;            /* owns */
    int payload;          /* bytes */
    uint64_t requests;    /* that were answered */
    uint64_t unsent;      /* whose time had come when the test ended, by --rps */
    uint64_t elapsed_us;  /* from the first request to the last reply */
    histogram *latencies; /* owns; microseconds */
    rateSeries rates;
} testResult;

typedef struct resultList {
    testResult **tests; /* owns */
    int count;
    time_t started;
} resultList;

/* Forget what was measured; a new round begins. */
void resultListClear(resultList *list);
/* Takes `result`. */
void resultListAdd(resultList *list, testResult *result);
void testResultFree(testResult *result);
double testResultRate(const testResult *result); /* requests per second */

/* What the server says of itself. Each NULL when it did not say. */
typedef struct hostSettings {
    char *save, *appendonly, *name, *version; /* own */
} hostSettings;

#endif
