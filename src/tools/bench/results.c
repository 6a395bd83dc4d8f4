/* results.c -- the measurements of the tests of a run, kept until they are written.
 *
 * Not here    writing them: report.c, json_report.c, svg_report.c.
 * Invariants  1. The points of a series follow each other without a gap, and add up to its totals.
 * Tests       tests/unit/tools/results_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "results.h"
#include "zmalloc.h"

/* ---- Rates ------------------------------------------------------------------------------------------------------ */

void rateSeriesStart(rateSeries *s, uint64_t step_us) {
    s->count = 0;
    s->step_us = step_us;
    s->requests = s->latency_us = 0;
}

static ratePoint resultsJoin(ratePoint a, ratePoint b) {
    return (ratePoint){a.from_us, b.to_us, a.requests + b.requests, a.latency_us + b.latency_us};
}

/* Joins pairs of points, so that half as many are left, each twice as long. */
static void halve(rateSeries *s) {
    for (int i = 0; i < s->count / 2; i++) s->points[i] = resultsJoin(s->points[2 * i], s->points[2 * i + 1]);
    if (s->count % 2) s->points[s->count / 2] = s->points[s->count - 1];
    s->count = (s->count + 1) / 2;
    s->step_us *= 2;
}

void rateSeriesRead(rateSeries *s, uint64_t at_us, uint64_t requests, uint64_t latency_us) {
    ratePoint *last = s->count ? &s->points[s->count - 1] : NULL;
    uint64_t from_us = last ? last->to_us : 0;
    if (at_us <= from_us) at_us = from_us; /* no time has passed: joined with the last point */
    ratePoint next = {from_us, at_us, requests - s->requests, latency_us - s->latency_us};
    s->requests = requests;
    s->latency_us = latency_us;
    if (last && (last->to_us - last->from_us < s->step_us || at_us == from_us)) {
        *last = resultsJoin(*last, next);
        return;
    }
    if (s->count == RATE_POINTS_MAX) halve(s);
    s->points[s->count++] = next;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

void testResultFree(testResult *result) {
    sdsFree(result->title);
    histogramFree(result->latencies);
    zfree(result);
}

double testResultRate(const testResult *result) {
    return result->elapsed_us ? (double)result->requests * 1e6 / (double)result->elapsed_us : 0;
}

void resultListAdd(resultList *list, testResult *result) {
    list->tests = zrealloc(list->tests, sizeof(*list->tests) * (size_t)(list->count + 1));
    list->tests[list->count++] = result;
}

void resultListClear(resultList *list) {
    for (int i = 0; i < list->count; i++) testResultFree(list->tests[i]);
    zfree(list->tests);
    *list = (resultList){.started = time(NULL)};
}
