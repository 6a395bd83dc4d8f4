/* bus_liveness.h -- whether main still runs its loop, judged by another thread.
 *
 * Main counts its loop iterations. A main that waits for events does not count, and is alive: when the count is old, a
 * wakeup makes it run an iteration, as a sign. It is stuck if the sign does not come. Time in which
 * the judging thread did not run itself (the process was stopped) says nothing about main.
 *
 * Runs on: the bus thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_BUS_LIVENESS_H
#define CLUSTER_BUS_LIVENESS_H

#include "platform.h"

typedef enum {
    MAIN_RUNS,
    MAIN_ASK,   /* it runs as far as is known: wake it */
    MAIN_STUCK, /* for the whole timeout */
} mainLiveness;

/* Initialize to zero. */
typedef struct livenessJudge {
    uint64_t count;    /* main's, when it was looked at last */
    uint64_t since_ms; /* since when main has that count */
    uint64_t asked_ms; /* when it was asked for a sign; 0: it was not */
    uint64_t now_ms;   /* when main was looked at last */
} livenessJudge;

/* Judges main by its present count. Call every 100 ms or so. */
mainLiveness livenessLook(livenessJudge *j, uint64_t count, uint64_t now_ms, uint64_t timeout_ms);

#endif
