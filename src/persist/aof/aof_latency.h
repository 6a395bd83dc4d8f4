/* aof_latency.h -- records how long writes and syncs of the append-only file take, as events of LATENCY.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_LATENCY_H
#define PERSIST_AOF_LATENCY_H

#include "platform.h"

typedef enum { AOF_LATENCY_WRITE, AOF_LATENCY_SYNC_ALWAYS, AOF_LATENCY_EVENTS } aofLatencyEvent;

/* Records an event that began at `began_us` of the monotonic clock and ends now. Any thread. */
void aofLatencyNote(aofLatencyEvent event, uint64_t began_us);
/* Call at each tick: adds the longest of each event since the last call to LATENCY, if it reaches its threshold.
 * Main. */
void aofLatencyReport(void);

#endif
