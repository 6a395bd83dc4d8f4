/* data_protection.c -- a primary that starts without its data leaves its slots to a replica that has them.
 *
 *     start as a primary with slots and replicas, without a key: silent
 *     silent --a replica has taken over--> its replica
 *     silent --no replica has data, or none takes over in time--> a primary that serves, as before
 *
 * If it served at once, its replicas would synchronize with it, and delete the last copies of the data. While it is
 * silent no frame leaves and no client is served: to the other nodes, of this server or of Valkey, it is a primary that
 * is down, and they elect a replica. Their frames are read: the successor's claim, and the offsets of replicas.
 *
 * Not here    the refusal of replicas (psync.c); the election (election.c).
 * Threads     the caller's lock.
 * Cost        a tick of a silent node: a pass over the nodes.
 * Tests       tests/unit/cluster_core/data_protection_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define SPARE_MS 5000 /* an election takes some seconds, whatever the node timeout is */

/* Suspicion, agreement and election take a node timeout each at most. */
static uint64_t longestSilence(const clusterMachine *m) { return 3 * m->config.node_timeout_ms + SPARE_MS; }

/* Counts the replicas of this node that may have data: those not heard yet, and those with an offset. */
static unsigned replicasWithData(const clusterMachine *m) {
    uint64_t silent_ms = m->now.mono_ms - m->started_ms;
    bool may_come = silent_ms < m->config.node_timeout_ms + SPARE_MS;
    unsigned count = 0;
    EACH_NODE (m, n) {
        if (!nodeIsReplica(n) || n->primary != m->myself->seat || nodeHas(n, NODE_FAILED | NODE_NO_FAILOVER)) continue;
        count += n->data_ms ? n->offset != 0 : may_come;
    }
    return count;
}

/* Returns whether the other primaries are enough to elect a replica. */
static bool othersCanElect(const clusterMachine *m) {
    unsigned voting = 0, working = 0;
    EACH_NODE (m, n) {
        voting += nodeIsVoting(n);
        working += nodeIsVoting(n) && !nodeIsMyself(n) && !nodeHas(n, NODE_FAILED);
    }
    return working >= voting / 2 + 1;
}

static bool hasToWait(const clusterMachine *m) {
    return m->config.protect_data && nodeIsVoting(m->myself) && m->local.is_empty && replicasWithData(m) &&
           othersCanElect(m);
}

void protectionBegin(clusterMachine *m) {
    if (!m->may_protect || m->local.is_loading) return;
    m->may_protect = false;
    if (!hasToWait(m)) return;
    m->silent_until_ms = m->now.mono_ms + longestSilence(m);
    machineLog(m, LL_WARNING,
               "This primary has started without data, and its replicas may have some: it leaves its slots to one of "
               "them, and serves them itself if none has taken over within %llu ms (cluster-protect-data).",
               (unsigned long long)longestSilence(m));
    machineViewChanged(m);
}

/* Their pings have not been answered, and are not sent again on the same link. */
static void closeInboundLinks(clusterMachine *m) {
    EACH_NODE (m, n)
        if (n->link_in) linkClose(m, linkByNumber(m, n->link_in));
}

void protectionTick(clusterMachine *m) {
    if (!m->silent_until_ms) return;
    bool in_time = m->now.mono_ms < m->silent_until_ms;
    if (in_time && hasToWait(m)) return;
    m->silent_until_ms = 0;
    closeInboundLinks(m);
    machineLog(m, LL_WARNING, "%s",
               nodeIsReplica(m->myself) ? "A replica has taken over the slots of this node, which had no data."
               : in_time                ? "No replica has data to protect: this primary serves its slots."
                         : "No replica has taken over in time: this primary serves its slots without data.");
    machineViewChanged(m);
}
