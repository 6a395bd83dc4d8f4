/* metrics.c -- rates and peaks, sampled by cron for INFO.
 *
 * Owns        rings of samples.
 * Threads     main.
 * Tests       tests/server/info.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "metrics.h"

#include "call.h"
#include "clock.h"
#include "io_threads.h"
#include "net.h"
#include "panic.h"
#include "replication.h"
#include "zmalloc.h"

#include <string.h>
#include <sys/resource.h>

#define SAMPLES 16
#define SAMPLE_MS 100

typedef struct series {
    uint64_t last_value, last_base; /* counters at the last sample */
    long long samples[SAMPLES];
    int next;
} series;

static struct {
    series of[METRICS];
    uint64_t last_sample_ms;
    size_t peak, startup;
    int64_t peak_time_s;
} metrics;

/* Adds a sample: the growth of `value` for each `scale` of growth of `base`. */
static void sample(metric m, uint64_t value, uint64_t base, uint64_t scale) {
    series *s = &metrics.of[m];
    uint64_t dv = value - s->last_value, db = base - s->last_base;
    s->last_value = value;
    s->last_base = base;
    s->samples[s->next] = db ? (long long)(dv * scale / db) : 0;
    s->next = (s->next + 1) % SAMPLES;
}

static void notePeak(void) {
    size_t used = zmallocUsed();
    if (used <= metrics.peak) return;
    metrics.peak = used;
    metrics.peak_time_s = clockWallMs() / 1000;
}

static struct rusage main_thread_usage;

void metricsMainThreadUsage(struct rusage *out) {
    if (panicOnMainThread()) getrusage(RUSAGE_THREAD, &main_thread_usage);
    *out = main_thread_usage;
}

void metricsCron(void) {
    getrusage(RUSAGE_THREAD, &main_thread_usage);
    notePeak();
    uint64_t now_ms = clockMonotonicMs();
    if (now_ms - metrics.last_sample_ms < SAMPLE_MS) return;
    metrics.last_sample_ms = now_ms;
    ioTotals io;
    ioThreadsTotals(&io);
    sample(METRIC_COMMANDS, (uint64_t)engine_stats.commands_processed, now_ms, 1000);
    sample(METRIC_NET_INPUT, io.net_input, now_ms, 1000);
    sample(METRIC_NET_OUTPUT, io.net_output, now_ms, 1000);
    replTraffic repl = replTrafficNow();
    sample(METRIC_REPL_INPUT, repl.input, now_ms, 1000);
    sample(METRIC_REPL_OUTPUT, repl.output, now_ms, 1000);
    sample(METRIC_CYCLES, net_stats.cycles, now_ms, 1000);
    sample(METRIC_CYCLE_DURATION, net_stats.cycle_ns, net_stats.cycles, 1);
}

long long metricsRate(metric m) {
    long long sum = 0;
    for (int i = 0; i < SAMPLES; i++) sum += metrics.of[m].samples[i];
    return sum / SAMPLES;
}

size_t metricsPeakMemory(void) {
    notePeak();
    return metrics.peak;
}

size_t metricsStartupMemory(void) { return metrics.startup; }

void metricsSetStartupMemory(void) { metrics.startup = zmallocUsed(); }

/* Takes a sample, so that the present counters are the base of the next one, and clears all samples. */
void metricsReset(void) {
    memset(metrics.of, 0, sizeof(metrics.of));
    metrics.last_sample_ms = 0;
    metricsCron();
    for (int m = 0; m < METRICS; m++) memset(metrics.of[m].samples, 0, sizeof(metrics.of[m].samples));
}
