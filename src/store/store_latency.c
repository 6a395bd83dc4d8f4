/* store_latency.c -- see store_latency.h.
 *
 * Threads     main.
 * Tests       tests/unit/store/store_latency_test.c, tests/engine/expire.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "store_latency.h"

#include "panic.h"

storeLatencyFn *store_latency_observer;
static storeLatencyFn *observer; /* const after boot */
static bool measuring;

void storeObserveLatency(storeLatencyFn *fn) {
    observer = fn;
    store_latency_observer = measuring ? observer : NULL;
}

void storeMeasureLatency(bool on) {
    assertMainRole();
    measuring = on;
    store_latency_observer = measuring ? observer : NULL;
}
