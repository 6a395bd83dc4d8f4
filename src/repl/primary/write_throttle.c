/* write_throttle.c -- slows writers down before a replica exceeds its output limit (repl-slow-writers).
 *
 * A replica that is disconnected for its output limit reconnects, needs a full synchronization, falls behind during it,
 * and so on without end. Instead, from half of the limit on, the bytes kept for the replica that is furthest behind may
 * grow in each window by a small part of the remaining capacity; beyond that, writes wait for the next window. So
 * writers run at the speed of that replica. While it accepts no bytes they get slower and slower, but the limit is
 * never reached. Their commands wait as in CLIENT PAUSE, and their owner threads read no further ones.
 *
 * One loop iteration may execute commands of all writers. So the check is not only made before output is sent: an alarm
 * of the replication stream pauses writers in the middle of the iteration.
 *
 * A replica that hangs slows writers down for at most repl-timeout; then it is disconnected.
 *
 * Not here    the limits (client/output_limits.h), pauses (engine/wait/pause.h).
 * Owns        the window.
 * Threads     main.
 * Cost        nothing unless the setting is on; then a pass over all replicas before output is sent.
 * Tests       tests/unit/repl/backlog/replicas_test.c, tests/repl/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "write_throttle.h"

#include "clock.h"
#include "log_limit.h"
#include "output_limits.h"
#include "panic.h"
#include "pause.h"
#include "repl_settings.h"
#include "replicas.h"
#include "repl_stream.h"

#define WINDOW_MS 50
#define GROWTH_PART 64 /* a window allows the remaining capacity, divided by this */

static struct {
    uint64_t begin_ms; /* monotonic: start of the window */
    size_t allowed;    /* bytes that may be kept for one replica until the window ends */
    bool holds;        /* writers are paused */
} throttle;

/* Returns the number of kept bytes that is not to be exceeded, or 0 without an output limit. It is below the limit,
 * because a transaction or a script runs to its end before its client is paused. */
static size_t writeThrottleMark(void) {
    const outputLimit limit = outputLimitInForce(CLIENT_TYPE_REPLICA);
    unsigned long long least = limit.hard_bytes;
    if (limit.soft_bytes && (!least || limit.soft_bytes < least)) least = limit.soft_bytes;
    return (size_t)(least - least / 8);
}

static void hold(void) {
    throttle.holds = true;
    pauseClients(PAUSE_FOR_REPLICA, PAUSE_WRITES, PAUSE_WITHOUT_END);
    LOG_LIMITED(LL_NOTICE, 1, "writers were slowed for a replica (repl-slow-writers)",
                "Slowing down writers, because a replica is close to its output limit (repl-slow-writers).");
}

static void release(void) {
    if (!throttle.holds) return;
    debugAssert(pause_any);
    throttle.holds = false;
    unpauseClients(PAUSE_FOR_REPLICA);
}

void writeThrottleCheck(void) {
    size_t goal = repl_settings.slow_writers ? writeThrottleMark() : 0, kept = goal ? replicasKeptForOne() : 0,
           allowed = goal;
    if (kept > goal / 2) {
        uint64_t now_ms = clockMonotonicMs();
        if (now_ms - throttle.begin_ms >= WINDOW_MS) {
            throttle.begin_ms = now_ms;
            throttle.allowed = kept < goal ? kept + (goal - kept) / GROWTH_PART : 0;
        }
        allowed = throttle.allowed;
        if (kept > allowed) {
            hold();
            return;
        }
    }
    release();
    debugAssert(kept <= allowed);
    replStreamSetAlarm(goal && replicasCount() ? replStreamOffset() + (allowed - kept) : UINT64_MAX);
}

void writeThrottleInit(void) { replStreamOnAlarm(hold); }
