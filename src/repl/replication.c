/* replication.c -- the layer as a whole: its parts wired to each other and to those below.
 *
 * Threads     main, at boot.
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
#include "repl_cron.h"
#include "repl_settings.h"
#include "replicas.h"
#include "role_cmds.h"
#include "session_output.h"
#include "setting.h"
#include "rdb_transfer.h"
#include "snapshot.h"
#include "repl_stream.h"
#include "wait_commands.h"
#include "write_throttle.h"

#include <string.h>

/* A file says where its dataset stands in the stream, if that is kept. */
static bool describePlace(rdbReplication *out) {
    if (!replStreamIsKept()) return false;
    int db = primaryLinkWanted() ? streamApplyDb() : replStreamDb();
    debugAssert(db < dbCount());
    *out = (rdbReplication){
        .stream_db = db < 0 ? 0 : db, .id = replicationIds()->id, .offset = (long long)replStreamOffset()};
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

/* What a replica, or an importing server, does with memory and clients. */
static bool followingChanged(const char **err) {
    unused(err);
    primaryLinkApplySettings();
    return true;
}

/* What is kept for replicas beyond the backlog goes by itself: nothing is evicted for it. */
static size_t replStreamMemory(void) {
    size_t all = replStreamIsKept() ? replStreamBacklog()->memory : 0, own = (size_t)repl_settings.backlog_size;
    return all > own ? all - own : 0;
}

void replInit(aeEventLoop *loop, bool (*hide_user_data)(void)) {
    assertMainThread();
    static const char *const following[] = {"replica-serve-stale-data", "replica-read-only",
                                            "replica-ignore-maxmemory", "import-mode",
                                            "min-replicas-to-write",    "min-replicas-max-lag"};
    replStreamInit();
    replicasInit();
    replicasOnClose(fullSyncForget);
    rdbTransfersInit(loop);
    fullSyncInit(hide_user_data);
    psyncInit(replicaClientGate, streamApplyAsked);
    primaryLinkInit(loop, hide_user_data);
    applyFaultsInit(hide_user_data);
    roleCommandsInit(hide_user_data);
    failoverInit();
    waitCommandsInit();
    writeThrottleInit();
    settingOnApply("repl-backlog-size", backlogSizeChanged);
    for (size_t i = 0; i < array_len(following); i++) settingOnApply(following[i], followingChanged);
    applyBacklogSize();
    snapshotSetReplication(describePlace);
    sessionsSetFeeder(replFeed);
    evictAddUncounted(replStreamMemory);
}
