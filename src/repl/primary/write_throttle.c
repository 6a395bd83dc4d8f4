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
 * The measure is the hard limit. As writers are slowed down before it, the soft limit does not cut a replica off, which
 * it would in every synchronization that takes longer than the soft limit's seconds. Without a hard limit it is the
 * measure, and holds.
 *
 * Only replicas that give signs of life count: input, or bytes that they accept. One that hangs is left to the limits:
 * it slows writers down for SILENT_MS, or for repl-timeout from the end of a transfer until it has loaded the dataset.
 *
 * Not here    the limits (client/output_limits.h), pauses (engine/wait/pause.h).
 * Owns        the window.
 * Threads     main.
 * Cost        with replicas a pass over them before output is sent.
 * Tests       tests/unit/repl/backlog/replicas_test.c, tests/repl/limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "write_throttle.h"

#include "client_describe.h"
#include "clock.h"
#include "log_limit.h"
#include "output_limits.h"
#include "panic.h"
#include "pause.h"
#include "repl_settings.h"
#include "rdb_transfer.h"
#include "replicas.h"
#include "repl_stream.h"

#define WINDOW_MS 50
#define SILENT_MS 5000 /* a replica acknowledges each second */
#define GROWTH_PART 64 /* a window allows the remaining capacity, divided by this */

static struct {
    uint64_t begin_ms; /* monotonic: start of the window */
    size_t allowed;    /* bytes that may be kept for one replica until the window ends */
    bool is_set;       /* there is an alarm, or writers are paused */
    bool holds;        /* writers are paused */
} throttle;

/* Returns the number of kept bytes that is not to be exceeded, or 0 without an output limit. It is below the limit,
 * because a transaction or a script runs to its end before its client is paused. */
static size_t writeThrottleMark(const outputLimit *limit) {
    unsigned long long bytes = limit->hard_bytes ? limit->hard_bytes : limit->soft_bytes;
    return (size_t)(bytes - bytes / 8);
}

/* ---- Signs of life ---- */

/* Returns whether the replica has its dataset still to come, from buffers of the network or its stream buffer, or loads
 * it: then it need not say anything. */
static bool mayBeSilent(const replicaState *r) { return r->awaits_ack || r->phase == REPLICA_LOADS_BESIDE; }

static bool hasSpoken(const replicaState *r, uint64_t now_ms) {
    uint64_t limit_ms = mayBeSilent(r) ? (uint64_t)repl_settings.timeout_s * 1000 : SILENT_MS;
    return now_ms - r->acked_ms <= limit_ms || now_ms - r->received_ms <= limit_ms ||
           clientIdleNs(r->c) / 1000000 <= limit_ms;
}

static bool isAlive(replicaState *r, uint64_t now_ms) {
    uint64_t received = replicaReceived(r), full_since_ms;
    if (received != r->received) {
        r->received = received;
        r->received_ms = now_ms;
    }
    switch (r->phase) {
    case REPLICA_WAIT_END: /* it has nothing to do but to wait, unless there are bytes for it */
    case REPLICA_SEND_FILE:
        full_since_ms = rdbTransferFullSince(r);
        return !full_since_ms || now_ms <= full_since_ms + SILENT_MS;
    case REPLICA_NONE:
    case REPLICA_WAIT_START:
    case REPLICA_ONLINE:
    case REPLICA_SNAPSHOT_SENT:
    case REPLICA_LOADS_BESIDE: break;
    }
    return hasSpoken(r, now_ms);
}

/* Returns the bytes kept for the replica that is furthest behind among those that are alive. Excuses these from the
 * soft limit if there is a hard one. */
static size_t keptForAlive(const outputLimit *limit) {
    size_t most = 0;
    uint64_t now_ms = clockMonotonicMs();
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        client *c = r->c;
        if (c->flags & CLIENT_CLOSE_ASAP || !isAlive(r, now_ms)) continue;
        if (limit->hard_bytes) c->soft_limit_since = 0;
        if (c->external_output > most) most = c->external_output;
    }
    return most;
}

/* ---- Pausing writers ---- */

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

/* Returns the bytes kept for one replica, as far as they matter: `goal` is not to be exceeded. */
static size_t keptNow(const outputLimit *limit, size_t goal) {
    size_t kept = goal ? replicasKeptForOne() : 0;
    bool matters = kept > goal / 2 || (limit->soft_bytes && kept >= limit->soft_bytes);
    return matters ? keptForAlive(limit) : kept;
}

void writeThrottleCheck(void) {
    if (likely(!replicasCount() && !throttle.is_set)) return;
    const outputLimit limit = outputLimitInForce(CLIENT_TYPE_REPLICA);
    size_t goal = repl_settings.slow_writers ? writeThrottleMark(&limit) : 0, kept = keptNow(&limit, goal),
           allowed = goal;
    if (kept > goal / 2) {
        uint64_t now_ms = clockMonotonicMs();
        if (now_ms - throttle.begin_ms >= WINDOW_MS) {
            throttle.begin_ms = now_ms;
            throttle.allowed = kept < goal ? kept + (goal - kept) / GROWTH_PART : 0;
        }
        allowed = throttle.allowed;
        if (kept > allowed) {
            throttle.is_set = true;
            hold();
            return;
        }
    }
    release();
    debugAssert(kept <= allowed);
    throttle.is_set = goal && replicasCount();
    replStreamSetAlarm(throttle.is_set ? replStreamOffset() + (allowed - kept) : UINT64_MAX);
}

void writeThrottleInit(void) { replStreamOnAlarm(hold); }
