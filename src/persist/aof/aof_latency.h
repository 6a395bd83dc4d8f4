/* aof_latency.h -- how long the disk takes for the append-only file, as events of LATENCY.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_AOF_LATENCY_H
#define PERSIST_AOF_LATENCY_H

#include "platform.h"

typedef enum { AOF_LATENCY_WRITE, AOF_LATENCY_SYNC_ALWAYS, AOF_LATENCY_EVENTS } aofLatencyEvent;

/* One that began at `began_us` of the monotonic clock is over. Any thread. */
void aofLatencyNote(aofLatencyEvent event, uint64_t began_us);
/* Each tick: the longest since the last one go to LATENCY, if they are as long as it wants. Main. */
void aofLatencyReport(void);

#endif
