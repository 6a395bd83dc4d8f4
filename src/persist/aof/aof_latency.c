/* aof_latency.c -- records how long writes and syncs of the append-only file take.
 *
 * LATENCY belongs to main, and keeps the longest event of each second. Durations from other threads are kept here until
 * the next tick.
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
#include "panic.h"

#include <stdatomic.h>

static const char *const names[AOF_LATENCY_EVENTS] = {
    [AOF_LATENCY_WRITE] = "aof-write", [AOF_LATENCY_SYNC_ALWAYS] = "aof-fsync-always"};
static _Atomic uint64_t longest_us[AOF_LATENCY_EVENTS];

void aofLatencyNote(aofLatencyEvent event, uint64_t began_us) {
    uint64_t us = clockMonotonicUs() - began_us,
             longest = atomic_load_explicit(&longest_us[event], memory_order_relaxed);
    while (us > longest && !atomic_compare_exchange_weak_explicit(&longest_us[event], &longest, us,
                                                                  memory_order_relaxed, memory_order_relaxed))
        continue;
}

void aofLatencyReport(void) {
    assertMainRole();
    for (int i = 0; i < AOF_LATENCY_EVENTS; i++) {
        uint64_t us = atomic_exchange_explicit(&longest_us[i], 0, memory_order_relaxed);
        latencyAddSampleIfNeeded(names[i], (long long)(us / 1000));
    }
}
