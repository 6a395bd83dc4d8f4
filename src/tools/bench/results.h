/* results.h -- the measurements of the tests of a run, kept until they are written.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef BENCH_RESULTS_H
#define BENCH_RESULTS_H

#include "histogram.h"
#include "sds.h"
#include <time.h>

#define RATE_POINTS_MAX 400

/* An interval of a test: the replies between two readings of the counters. */
typedef struct ratePoint {
    uint64_t from_us, to_us;       /* since the start of the test */
    uint64_t requests, latency_us; /* latency_us is the sum over the requests */
} ratePoint;

/* The intervals of a test. They become longer with the test, so that their number is bounded. */
typedef struct rateSeries {
    ratePoint points[RATE_POINTS_MAX];
    int count;
    uint64_t step_us;              /* minimum length of a point but the last */
    uint64_t requests, latency_us; /* of all points */
} rateSeries;

void rateSeriesStart(rateSeries *s, uint64_t step_us); /* empties the series */
/* Adds the counters as read `at_us` microseconds after the start; readings must come in order. */
void rateSeriesRead(rateSeries *s, uint64_t at_us, uint64_t requests, uint64_t latency_us);

typedef struct testResult {
    sds title;            /* owns */
    int payload;          /* bytes */
    uint64_t requests;    /* that got a reply */
    uint64_t unsent;      /* that were due but not sent when the test ended (--rps) */
    uint64_t elapsed_us;  /* from the first request to the last reply */
    histogram *latencies; /* owns; microseconds */
    rateSeries rates;
} testResult;

typedef struct resultList {
    testResult **tests; /* owns */
    int count;
    time_t started;
} resultList;

/* Frees all results; a new run begins. */
void resultListClear(resultList *list);
/* Takes ownership of `result`. */
void resultListAdd(resultList *list, testResult *result);
void testResultFree(testResult *result);
double testResultRate(const testResult *result); /* requests per second */

/* Settings and version of the server. A member is NULL if the server does not report it. */
typedef struct hostSettings {
    char *save, *appendonly, *name, *version; /* own */
} hostSettings;

#endif
