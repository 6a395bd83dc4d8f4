/* store_latency.h -- reports to the latency monitor how long expiry, eviction and defragmentation took.
 *
 * The monitor is a layer above: it sets the observer at boot, and turns the measuring on while it has a threshold.
 *
 *     uint64_t began_us = storeLatencyBegin();
 *     ...
 *     storeLatencyEnd("expire-del", began_us);
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_STORE_LATENCY_H
#define STORE_STORE_LATENCY_H

#include "clock.h"

typedef void storeLatencyFn(const char *event, uint64_t us);

/* Sets the observer. Call at startup. It must not change the keyspace. */
void storeObserveLatency(storeLatencyFn *fn);
/* Starts or stops the measuring: without it no clock is read. */
void storeMeasureLatency(bool on);

/* For the inline functions below: NULL while measuring is off. */
extern storeLatencyFn *store_latency_observer;

/* Returns the time now, or 0 while measuring is off. */
static inline uint64_t storeLatencyBegin(void) {
    return unlikely(store_latency_observer != NULL) ? clockMonotonicUs() : 0;
}
/* Reports the time since `began_us`, unless that is 0 or the measuring has ended since. */
static inline void storeLatencyEnd(const char *event, uint64_t began_us) {
    if (unlikely(began_us && store_latency_observer)) store_latency_observer(event, clockMonotonicUs() - began_us);
}

#endif
