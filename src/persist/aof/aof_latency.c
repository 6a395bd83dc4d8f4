/* aof_latency.c -- records how long writes and syncs of the append-only file take.
 *
 * LATENCY belongs to main: durations on other threads are kept until the next tick.
 *
 * Owns        the longest duration of each event that was not reported yet.
 * Threads     any, but aofLatencyReport().
 * Cost        a clock reading; most events are not the longest so far and write nothing.
 * Tests       tests/unit/persist/aof/aof_thread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_thread.h"

#include "clock.h"
#include "latency.h"

static latencyPeak peaks[AOF_LATENCY_EVENTS] = {
    [AOF_LATENCY_WRITE] = {.event = "aof-write"}, [AOF_LATENCY_SYNC_ALWAYS] = {.event = "aof-fsync-always"}};

void aofLatencyNote(aofLatencyEvent event, uint64_t began_us) {
    latencyPeakNote(&peaks[event], clockMonotonicUs() - began_us);
}

void aofLatencyReport(void) {
    for (int i = 0; i < AOF_LATENCY_EVENTS; i++) latencyPeakReport(&peaks[i]);
}
