/* bus_liveness.c -- whether main still runs its loop, judged by another thread.
 *
 * Threads     the bus thread.
 * Tests       tests/unit/cluster/bus_liveness_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bus_liveness.h"

#define GAP_MS 1000 /* a longer time between two looks: this thread did not run */

mainLiveness livenessLook(livenessJudge *j, uint64_t count, uint64_t now_ms, uint64_t timeout_ms) {
    bool did_not_run = j->now_ms == 0 || now_ms - j->now_ms > GAP_MS;
    j->now_ms = now_ms;
    if (count != j->count || did_not_run) {
        j->count = count;
        j->since_ms = now_ms;
        j->asked_ms = 0;
        return MAIN_RUNS;
    }
    uint64_t silent_ms = now_ms - j->since_ms;
    if (!j->asked_ms && silent_ms >= timeout_ms / 4) {
        j->asked_ms = now_ms;
        return MAIN_ASK;
    }
    return j->asked_ms && silent_ms >= timeout_ms ? MAIN_STUCK : MAIN_RUNS;
}
