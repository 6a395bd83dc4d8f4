/* latency.h -- the latency monitor: spikes of named events, and histograms of commands.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LATENCY_H
#define ENGINE_LATENCY_H

#include "command_table.h"
#include "engine_settings.h"

/* Call at boot: the store's events (store_latency.h) become samples. */
void latencyInit(void);
/* Add a sample of an event ("command", "fast-command", "expire-cycle", "eviction-cycle", "fork" ...). */
void latencyAddSample(const char *event, long long ms);
/* The usual guard: monitoring is on and the sample is at or above latency-monitor-threshold. */
static inline void latencyAddSampleIfNeeded(const char *event, long long ms) {
    if (engine_settings.latency_monitor_threshold_ms && ms >= engine_settings.latency_monitor_threshold_ms)
        latencyAddSample(event, ms);
}
/* A fork took so long while so much memory was in use: LATENCY DOCTOR tells the rate beside the event "fork". */
void latencyNoteFork(size_t used_bytes, uint64_t us);
/* Record one execution of a command in its histogram (latency-tracking). */
void latencyTrackCommand(commandStats *stats, uint64_t ns);

/* Handlers of LATENCY DOCTOR|GRAPH|HISTOGRAM|HISTORY|LATEST|RESET|HELP. */
void latencyDoctorCommand(client *c);
void latencyGraphCommand(client *c);
void latencyHistogramCommand(client *c);
void latencyHistoryCommand(client *c);
void latencyLatestCommand(client *c);
void latencyResetCommand(client *c);

#endif
