/* metrics_snapshot.h -- what main leaves for those who look at figures: its state at one moment, as it is at hand.
 *
 * Main writes down and nothing else; what is made of it (open_metrics.h) another thread makes.
 *
 * Threads     metricsSnapshotMake(): main. Whoever has one owns it.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_METRICS_SNAPSHOT_H
#define WEB_METRICS_SNAPSHOT_H

#include "histogram.h"
#include "sds.h"

/* How long the calls of a command took. */
typedef struct commandLatency {
    const char *name;  /* the command's full name, for good */
    histogram *spread; /* borrowed from the snapshot's block: nanoseconds */
} commandLatency;

typedef struct metricsSnapshot {
    void *block;               /* owns: the rest is in it */
    sds text;                  /* owns: "# section\r\nfield:value\r\n..." for all sections of INFO */
    commandLatency *latencies; /* borrowed from the block */
    size_t latencies_count;
    uint64_t number; /* how many were made before it */
    int64_t wall_ms; /* when it was made */
    uint64_t monotonic_ms;
    uint64_t cost_ns; /* of making it */
} metricsSnapshot;

metricsSnapshot *metricsSnapshotMake(void);
void metricsSnapshotFree(metricsSnapshot *s); /* NULL is fine */

#endif
