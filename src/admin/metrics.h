/* metrics.h -- rates and peaks, sampled by cron for INFO.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_METRICS_H
#define ADMIN_METRICS_H

#include "platform.h"

typedef enum {
    METRIC_COMMANDS,  /* instantaneous_ops_per_sec */
    METRIC_NET_INPUT, /* bytes */
    METRIC_NET_OUTPUT,
    METRIC_REPL_INPUT,
    METRIC_REPL_OUTPUT,
    METRIC_CYCLES,         /* instantaneous_eventloop_cycles_per_sec */
    METRIC_CYCLE_DURATION, /* average nanoseconds of a cycle */
    METRICS
} metric;

/* Call from cron: takes a sample if a tenth of a second has passed. */
void metricsCron(void);
/* Returns the mean of the last 16 samples. */
long long metricsRate(metric m);
/* Return the highest used memory seen, and the used memory when the server was ready (metricsSetStartupMemory()). */
size_t metricsPeakMemory(void);
size_t metricsStartupMemory(void);
void metricsSetStartupMemory(void);
void metricsReset(void); /* CONFIG RESETSTAT */

/* Sets *out to the processor time of main's own thread: now, if called on that thread, else at its last tick. */
struct rusage;
void metricsMainThreadUsage(struct rusage *out);

#endif
