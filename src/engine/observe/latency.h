/* latency.h -- the latency monitor: spikes of named events, and histograms of commands.
 *
 * Runs on: main, but for latencyPeakNote().
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_LATENCY_H
#define ENGINE_LATENCY_H

#include "command_table.h"
#include "engine_settings.h"

/* Call at startup: makes samples of the store's latency events (store_latency.h). */
void latencyInit(void);
/* Adds a sample of an event ("command", "fast-command", "expire-cycle", "eviction-cycle", "fork" ...). */
void latencyAddSample(const char *event, long long ms);
/* Adds a sample if monitoring is on and `ms` is at least latency-monitor-threshold. */
static inline void latencyAddSampleIfNeeded(const char *event, long long ms) {
    if (engine_settings.latency_monitor_threshold_ms && ms >= engine_settings.latency_monitor_threshold_ms)
        latencyAddSample(event, ms);
}
/* The longest duration of an event on threads other than main, until main reports it. LATENCY keeps the longest of each
 * second, so nothing is lost by reports at each tick. */
typedef struct latencyPeak {
    const char *event;
    _Atomic uint64_t us;
} latencyPeak;
/* Any thread. Costs no write unless it is the longest so far. */
void latencyPeakNote(latencyPeak *peak, uint64_t us);
/* Adds a sample if one is needed, and begins anew. */
void latencyPeakReport(latencyPeak *peak);
/* Records that a fork took `us` while `used_bytes` of memory were in use; LATENCY DOCTOR shows the rate. */
void latencyNoteFork(size_t used_bytes, uint64_t us);
/* Records one execution of a command in its histogram (latency-tracking). */
void latencyTrackCommand(commandStats *stats, uint64_t ns);

commandHandler latencyDoctorCommand, latencyGraphCommand, latencyHistogramCommand, latencyHistoryCommand,
    latencyLatestCommand, latencyResetCommand;

#endif
