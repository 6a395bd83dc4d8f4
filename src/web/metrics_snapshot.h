/* metrics_snapshot.h -- a copy of the server's state at one moment, from which the metrics thread makes its texts.
 *
 * Main only copies, which is cheap; another thread formats the copy (open_metrics.h).
 *
 * Threads     metricsSnapshotMake(): main. A snapshot belongs to one thread at a time.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef WEB_METRICS_SNAPSHOT_H
#define WEB_METRICS_SNAPSHOT_H

#include "histogram.h"
#include "sds.h"

/* Distribution of the durations of a command's calls. */
typedef struct commandLatency {
    const char *name;     /* borrowed, forever: full name of the command */
    histogram *durations; /* in nanoseconds; borrowed: part of the snapshot's block */
} commandLatency;

typedef struct metricsSnapshot {
    void *block;               /* owns: memory of the histograms and their array */
    sds text;                  /* owns: "# section\r\nfield:value\r\n..." for all sections of INFO */
    commandLatency *latencies; /* borrowed from the block */
    size_t latencies_count;
    uint64_t number; /* number of snapshots made before it */
    int64_t wall_ms; /* wall clock when it was made */
    uint64_t monotonic_ms;
    uint64_t cost_ns; /* time that it took to make it */
} metricsSnapshot;

metricsSnapshot *metricsSnapshotMake(void);   /* the caller owns it */
void metricsSnapshotFree(metricsSnapshot *s); /* s may be NULL */

#endif
