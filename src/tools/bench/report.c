/* report.c -- prints the progress and the results: distributions, summary, CSV.
 *
 * Scripts parse the formats, so words, order and digits must not change.
 *
 * Tests       tests/tools/benchmark.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "report.h"
#include "clock.h"
#include <stdio.h>

#define FINE_STEP_US 100
#define FINE_END_US 2100
#define COARSE_STEP_US 1000

static double ms(int64_t us) { return (double)us / 1000; }

static double reportRatio(double a, double b) { return b > 0 ? a / b : 0; }

/* ---- Progress --------------------------------------------------------------------------------------------------- */

void rateLineStart(rateLine *line) {
    *line = (rateLine){.started_us = clockMonotonicUs()};
    line->last_us = line->started_us;
}

void rateLineClear(rateLine *line) {
    printf("%*s\r", line->width, " ");
    line->width = 0;
}

void rateLineShow(rateLine *line, const char *title, generatorCounts counts, bool shows_time) {
    uint64_t now = clockMonotonicUs();
    double whole_s = (double)(now - line->started_us) / 1e6, step_s = (double)(now - line->last_us) / 1e6;
    uint64_t step = counts.finished - line->last.finished;
    uint64_t step_latency = counts.latency_us - line->last.latency_us;
    rateLineClear(line);
    line->width = printf("%s: rps=%.1f (overall: %.1f) avg_msec=%.3f (overall: %.3f) ", title,
                         reportRatio((double)step, step_s), reportRatio((double)counts.finished, whole_s),
                         reportRatio((double)step_latency, (double)step * 1000),
                         reportRatio((double)counts.latency_us, (double)counts.finished * 1000));
    line->width += shows_time ? printf("%.1f seconds\r", whole_s)
                              : printf("%llu requests\r", (unsigned long long)counts.finished);
    fflush(stdout);
    line->last = counts;
    line->last_us = now;
}

/* ---- Results ---------------------------------------------------------------------------------------------------- */

typedef struct printContext {
    int precision;
    int64_t total;
} printContext;

static void printPercentile(void *arg, double percentile, int64_t value, int64_t cumulative) {
    const printContext *p = arg;
    printf("%3.3f%% <= %.*f milliseconds (cumulative count %lld)\n", percentile, p->precision, ms(value),
           (long long)cumulative);
}

/* Returns the next bound at which the count can be higher: steps below the latency of the next request are skipped. */
static int64_t nextBound(const histogram *h, int64_t bound, int64_t seen, int64_t total) {
    if (bound < FINE_END_US) return bound + FINE_STEP_US;
    int64_t next = histogramPercentile(h, 100.0 * ((double)seen + 1) / (double)total) - bound;
    return bound + COARSE_STEP_US * (next > COARSE_STEP_US ? next / COARSE_STEP_US : 1);
}

/* Prints the distribution in fine steps where most latencies are, and in coarse steps beyond, without empty coarse
 * steps. */
static void printCumulative(const histogram *h, const printContext *p) {
    int64_t bound = FINE_STEP_US, before = -1, seen;
    do {
        int64_t last;
        seen = histogramCountUpTo(h, bound, &last);
        if (seen != before) {
            printf("%3.3f%% <= %.*f milliseconds (cumulative count %lld)\n", 100.0 * (double)seen / (double)p->total,
                   p->precision, ms(last), (long long)seen);
        }
        before = seen;
        bound = nextBound(h, bound, seen, p->total);
    } while (seen < p->total);
}

static void printLong(const benchOptions *o, const hostSettings *host, const testResult *r) {
    const histogram *h = r->latencies;
    printContext p = {o->precision, histogramTotal(h)};
    printf("====== %s ======\n", r->title);
    printf("  %llu requests completed in %.2f seconds\n", (unsigned long long)r->requests, (double)r->elapsed_us / 1e6);
    printf("  %d parallel clients\n", o->clients);
    printf("  %d bytes payload\n", r->payload);
    printf("  keep alive: %d\n", o->keep_alive);
    if (host->save && host->appendonly) {
        printf("  host configuration \"save\": %s\n", host->save);
        printf("  host configuration \"appendonly\": %s\n", host->appendonly);
    }
    printf("  multi-thread: %s\n", o->threads ? "yes" : "no");
    if (o->threads) printf("  threads: %d\n", o->threads);
    printf("\nLatency by percentile distribution:\n");
    histogramIterPercentiles(h, 1, printPercentile, &p);
    printf("\nCumulative distribution of latencies:\n");
    if (p.total) printCumulative(h, &p);
    printf("\nSummary:\n");
    printf("  throughput summary: %.2f requests per second\n", testResultRate(r));
    printf("  latency summary (msec):\n");
    printf("    %9s %9s %9s %9s %9s %9s\n", "avg", "min", "p50", "p95", "p99", "max");
    printf("    %9.*f %9.*f %9.*f %9.*f %9.*f %9.*f\n", p.precision, histogramMean(h) / 1000, p.precision,
           ms(histogramMin(h)), p.precision, ms(histogramPercentile(h, 50)), p.precision,
           ms(histogramPercentile(h, 95)), p.precision, ms(histogramPercentile(h, 99)), p.precision,
           ms(histogramMax(h)));
}

void reportCsvHeader(void) {
    printf("\"test\",\"rps\",\"avg_latency_ms\",\"min_latency_ms\",\"p50_latency_ms\",\"p95_latency_ms\","
           "\"p99_latency_ms\",\"max_latency_ms\"\n");
}

void reportResult(const benchOptions *o, const hostSettings *host, const testResult *r) {
    const histogram *h = r->latencies;
    if (benchOptionsUseStdout(o)) return;
    if (o->csv) {
        printf("\"%s\",\"%.2f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\",\"%.3f\"\n", r->title, testResultRate(r),
               histogramMean(h) / 1000, ms(histogramMin(h)), ms(histogramPercentile(h, 50)),
               ms(histogramPercentile(h, 95)), ms(histogramPercentile(h, 99)), ms(histogramMax(h)));
    } else if (o->quiet) {
        printf("%s: %.2f requests per second, p50=%.*f msec\n", r->title, testResultRate(r), o->precision,
               ms(histogramPercentile(h, 50)));
    } else {
        printLong(o, host, r);
    }
    fflush(stdout);
}
