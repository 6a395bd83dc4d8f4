/* hand_over.c -- a primary that shuts down lets one of its replicas take over (SHUTDOWN FAILOVER).
 *
 *     primary                                   replica
 *     writes are paused, all has arrived
 *     CLUSTER FAILOVER FORCE REPLICAID id ----> in the replication stream: election without delay
 *     votes, and waits for the claim <--------- claims the slots
 *     ends
 *
 * In Valkey the primary ends at once, so that it cannot vote, and clients get errors until the votes of others are
 * there; with three shards the loss of one more primary would let the failover fail.
 *
 * Not here    pausing, and for how long the shutdown waits (shutdown.c).
 * Threads     main.
 * Tests       tests/cluster/shutdown.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "hand_over.h"

#include "bus_frame.h"
#include "cluster.h"
#include "log.h"
#include "repl_stream.h"
#include "replicas.h"
#include "resp_format.h"

#define KNOWS_REPLICAID 0x00090000 /* 9.0.0, as in syncNeeds */

static const char *reason(const clusterNode *n, const replicaState *r) {
    if (r->phase != REPLICA_ONLINE) return "it synchronizes";
    if (nodeIdIsNone(&r->node_id) || !n) return "its node is not known";
    if (r->needs.version < KNOWS_REPLICAID) return "its version is below 9.0.0";
    if (n->flags & NODE_NO_FAILOVER) return "it has cluster-replica-no-failover";
    if (n->flags & NODE_FAILED) return "it is taken for failed";
    if (r->acked < (long long)replStreamOffset()) return "it does not have all writes";
    return NULL;
}

/* Returns the replica that takes over. An older one would close its link for a command that it does not know, so there
 * must be none. */
static const replicaState *successor(const clusterMachine *m) {
    const replicaState *found = NULL;
    for (const replicaState *r = NULL; (r = replicasNext(r)) != NULL;) {
        const char *why = reason(clusterNodeById(m, &r->node_id), r);
        if (!why && !found) found = r;
        if (why) serverLog(LL_NOTICE, "Replica %s cannot take over: %s.", replicaName(r), why);
        if (r->phase == REPLICA_ONLINE && r->needs.version < KNOWS_REPLICAID) return NULL;
    }
    return found;
}

static void appendFailover(const nodeId *id) {
    sds command = RESP_CAT_REQUEST(sdsEmpty(), sliceStr("CLUSTER"), sliceStr("FAILOVER"), sliceStr("FORCE"),
                                   sliceStr("REPLICAID"), sliceOf(id->text, sizeof(id->text)));
    replStreamAppend(sdsSlice(command));
    sdsFree(command);
}

bool clusterHandOver(void) {
    nodeId id = {{0}};
    const clusterMachine *m = clusterLock();
    const clusterNode *me = clusterMyself(m);
    bool serves = me->flags & NODE_PRIMARY && me->slot_count;
    const replicaState *r = serves ? successor(m) : NULL;
    if (r) id = r->node_id;
    clusterUnlock();
    if (!r) {
        serverLog(LL_NOTICE, serves ? "Unable to find a replica to perform the auto failover on shutdown."
                                    : "No failover on shutdown: this node serves no slots.");
        return false;
    }
    serverLog(LL_NOTICE, "Perform auto failover to replica %.40s on shutdown.", id.text);
    appendFailover(&id);
    return true;
}

bool clusterIsHandedOver(void) {
    bool is_primary = clusterMyself(clusterLock())->flags & NODE_PRIMARY;
    clusterUnlock();
    return !is_primary;
}
