/* write_throttle.c -- writers are slowed before a replica is sent away for its output limit (repl-slow-writers).
 *
 * A replica that is sent away for its limit comes again, needs all of the dataset, falls behind meanwhile, and so on
 * without end. Instead, from half of the limit on, what is kept for the one that is furthest behind may grow in each
 * window by a small part of the room that is left; past that, writes wait until the window is over. So writers run at
 * the pace of that replica, or, while it cannot take anything, get slower and slower, but never into the limit. Their
 * commands wait where pauses keep them: their holders read no more of them than that.
 *
 * A turn may have commands of all writers: so it is not only looked before output leaves, but an alarm of the stream
 * tells in the middle of it that enough is written.
 *
 * A replica that is dead holds writers back no longer than repl-timeout lets it live.
 *
 * Not here    the limits (client/output_limits.h), pauses (engine/wait/pause.h).
 * Owns        the window.
 * Threads     main.
 * Cost        nothing unless the setting is on; with it a look at each replica before output leaves.
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
#define GROWTH_PART 64 /* of the room that is left, in a window */

static struct {
    uint64_t begin_ms; /* monotonic: of the window */
    size_t allowed;    /* may be kept for one until it is over */
    bool holds;
} throttle;

/* What is aimed at: below the limit, because a transaction or a script ends before its writer waits. 0: there is
 * none. */
static size_t mark(void) {
    const outputLimit limit = outputLimitInForce(CLIENT_TYPE_REPLICA);
    unsigned long long least = limit.hard_bytes;
    if (limit.soft_bytes && (!least || limit.soft_bytes < least)) least = limit.soft_bytes;
    return (size_t)(least - least / 8);
}

static void hold(void) {
    throttle.holds = true;
    pauseClients(PAUSE_FOR_REPLICA, PAUSE_WRITES, PAUSE_WITHOUT_END);
    LOG_LIMITED(LL_NOTICE, 1, "writers were slowed for a replica (repl-slow-writers)",
                "Writers are slowed: a replica would be sent away for its output limit (repl-slow-writers).");
}

static void release(void) {
    if (!throttle.holds) return;
    debugAssert(pause_any);
    throttle.holds = false;
    unpauseClients(PAUSE_FOR_REPLICA);
}

static void enoughIsWritten(void) {
    hold();
}

void writeThrottleCheck(void) {
    size_t goal = repl_settings.slow_writers ? mark() : 0, kept = goal ? replicasKeptForOne() : 0, allowed = goal;
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

void writeThrottleInit(void) {
    replStreamOnAlarm(enoughIsWritten);
}
