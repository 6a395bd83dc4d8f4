/* repl_cron.c -- periodic work of replication, and its work before output is sent.
 *
 * Threads     main.
 * Tests       tests/repl/wait.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replication.h"

#include "client_describe.h"
#include "clock.h"
#include "failover.h"
#include "full_sync.h"
#include "log.h"
#include "log_limit.h"
#include "pause.h"
#include "primary_link.h"
#include "stream_apply.h"
#include "repl_settings.h"
#include "replicas.h"
#include "reply.h"
#include "repl_stream.h"
#include "target_link.h"
#include "wait_commands.h"
#include "write_throttle.h"

#define CURSOR_GRACE_MS 5000

static uint64_t cursor_grace_ms = CURSOR_GRACE_MS;

static struct {
    uint64_t second_ms, ping_ms;
    uint64_t alone_since_ms; /* since when there is a backlog but no replica; 0 otherwise */
} cron;

/* ---- Before output is sent ---- */

void replRequestAcks(void) {
    if (replicasCount() && failoverNow() == FAILOVER_NONE)
        replStreamAppend(sliceStr("*3\r\n$8\r\nREPLCONF\r\n$6\r\nGETACK\r\n$1\r\n*\r\n"));
}

void replFeed(void) {
    if (unlikely(waitWantsAcks()) && !pauseInForce()) { /* a pause stops the replication stream, too */
        waitAcksRequested();
        replRequestAcks();
    }
    replicasFeed();
    writeThrottleCheck();
}

/* ---- Each second ---- */

static void ping(uint64_t now_ms) {
    if (!cron.ping_ms) cron.ping_ms = now_ms; /* the first ping is sent after a whole period */
    if (primaryLinkIsOn() || !replicasCount() || failoverNow() != FAILOVER_NONE) return;
    if (now_ms - cron.ping_ms < (uint64_t)repl_settings.ping_period_s * 1000) return;
    cron.ping_ms = now_ms;
    replStreamAppend(sliceStr("*1\r\n$4\r\nping\r\n"));
}

static bool isSilent(const replicaState *r, uint64_t now_ms) {
    uint64_t limit_ms = (uint64_t)repl_settings.timeout_s * 1000;
    return now_ms - r->acked_ms > limit_ms && clientIdleNs(r->c) / 1000000 > limit_ms;
}

static void checkOnline(replicaState *r, uint64_t now_ms) {
    bool waits = r->phase == REPLICA_WAIT_START || (r->phase == REPLICA_WAIT_END && !fullSyncIsDirect());
    if (waits) addReplyProto(r->c, "\n", 1);
    if (r->phase != REPLICA_ONLINE || r->old_style || !isSilent(r, now_ms)) return;
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas that timed out",
                "Disconnecting timedout replica (streaming sync): %s", replicaName(r));
    clientCloseAsap(r->c);
}

/* Closes an RDB channel whose replica has received the dataset but does not request the replication stream. */
static void checkRdbChannel(replicaState *r, uint64_t now_ms) {
    if (!r->is_rdb_channel || r->phase != REPLICA_SNAPSHOT_SENT || !r->has_cursor) return;
    if (now_ms - r->sent_ms <= cursor_grace_ms) return;
    LOG_LIMITED(LL_WARNING, LOG_LIMIT_FEW, "replicas that did not ask for the stream",
                "Dual channel replication: disconnecting replica %s, because it did not request the replication stream "
                "after its dataset",
                replicaName(r));
    clientCloseAsap(r->c);
}

static void checkReplicas(uint64_t now_ms) {
    for (replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        checkOnline(r, now_ms);
        checkRdbChannel(r, now_ms);
    }
}

/* Frees the backlog after repl-backlog-ttl without replicas, and changes the replication ID, so that a replica that
 * connects later gets a full synchronization. */
static void forgetStream(uint64_t now_ms) {
    bool alone = replStreamIsKept() && !replicasCount() && !primaryLinkIsOn() && repl_settings.backlog_ttl_s;
    if (!alone) {
        cron.alone_since_ms = 0;
        return;
    }
    if (!cron.alone_since_ms) cron.alone_since_ms = now_ms;
    uint64_t alone_s = (now_ms - cron.alone_since_ms + 999) / 1000; /* the setting in ms could overflow */
    if (alone_s <= (uint64_t)repl_settings.backlog_ttl_s) return;
    replStreamNewId();
    replStreamDrop();
    serverLog(LL_NOTICE, "Replication backlog freed after %lld seconds without connected replicas.",
              repl_settings.backlog_ttl_s);
}

void replSetCursorGrace(uint64_t seconds) { cursor_grace_ms = seconds * 1000; }

void replTick(void) {
    uint64_t now_ms = clockMonotonicMs();
    fullSyncTick();
    failoverStep();
    streamApplyAckChanges();
    writeThrottleCheck();
    if (now_ms - cron.second_ms < 1000) return;
    cron.second_ms = now_ms;
    primaryLinkTick();
    ping(now_ms);
    checkReplicas(now_ms);
    forgetStream(now_ms);
    targetsTick();
}
