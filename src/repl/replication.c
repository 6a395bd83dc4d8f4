/* replication.c -- startup of the layer: connects its parts to each other and to the layers below.
 *
 * Threads     main, at startup.
 * Tests       tests/repl/sync.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replication.h"

#include "apply_faults.h"
#include "db.h"
#include "evict.h"
#include "failover.h"
#include "full_sync.h"
#include "monitor.h"
#include "output_limits.h"
#include "panic.h"
#include "primary_link.h"
#include "stream_apply.h"
#include "psync.h"
#include "repl_settings.h"
#include "replicas.h"
#include "role_cmds.h"
#include "session_output.h"
#include "setting.h"
#include "rdb_transfer.h"
#include "slot_states.h"
#include "slot_stats.h"
#include "snapshot.h"
#include "sync_cause.h"
#include "repl_stream.h"
#include "wait_commands.h"
#include "write_throttle.h"

#include <string.h>

/* Sets `out` to the replication ID, offset and database that an RDB file records. Returns false without a backlog. */
static bool describePosition(rdbReplication *out) {
    if (!replStreamIsKept()) return false;
    int db = primaryLinkIsOn() ? streamApplyDb() : replStreamDb();
    debugAssert(db < dbCount());
    *out = (rdbReplication){.stream_db = db < 0 ? 0 : db,
                            .id = replicationIds()->id,
                            .offset = (long long)replStreamOffset(),
                            .slot_states = slotStatesRecorded(),
                            .node = primaryLinkStreamNode()};
    return true;
}

static void applyBacklogSize(void) {
    replStreamApplySize();
    outputLimitsSetReplicaFloor((unsigned long long)repl_settings.backlog_size);
}

static bool backlogSizeChanged(const char **err) {
    unused(err);
    if (repl_settings.backlog_size < REPL_BACKLOG_MIN) repl_settings.backlog_size = REPL_BACKLOG_MIN;
    applyBacklogSize();
    return true;
}

/* Applies settings that decide how a replica, or a server with import-mode, treats memory limits and clients. */
static bool followingChanged(const char **err) {
    unused(err);
    primaryLinkApplySettings();
    return true;
}

/* Returns the bytes of the backlog beyond repl-backlog-size. They are kept for slow replicas and freed later, so no
 * keys are evicted for them. */
static size_t replStreamMemory(void) {
    size_t all = replStreamIsKept() ? replStreamBacklog()->memory : 0, own = (size_t)repl_settings.backlog_size;
    return all > own ? all - own : 0;
}

static void replicaClosed(replicaState *r) {
    syncCauseNoteLoss(r);
    fullSyncForget(r);
}

void replInit(aeEventLoop *loop) {
    assertMainThread();
    static const char *const following[] = {"replica-serve-stale-data", "replica-read-only",
                                            "replica-ignore-maxmemory", "import-mode",
                                            "min-replicas-to-write",    "min-replicas-max-lag"};
    replStreamInit();
    replicasInit();
    replicasOnClose(replicaClosed);
    rdbTransfersInit(loop);
    fullSyncInit();
    psyncInit(replicaClientGate, streamApplyOnGetack);
    primaryLinkInit(loop);
    applyFaultsInit();
    failoverInit();
    waitCommandsInit();
    writeThrottleInit();
    settingOnApply("repl-backlog-size", backlogSizeChanged);
    for (size_t i = 0; i < array_len(following); i++) settingOnApply(following[i], followingChanged);
    applyBacklogSize();
    snapshotSetReplication(describePosition);
    sessionsSetAppender(replFeed);
    slotStatsSetReplicas(replicasCount);
    evictAddUncounted(replStreamMemory);
}
