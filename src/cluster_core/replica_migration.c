/* replica_migration.c -- a replica of a shard that has several moves to a primary that has lost its last one.
 *
 * All nodes must choose the same replica without a message about it: that with the smallest id among those of the
 * primaries that have the most.
 *
 * Not here    what becoming a replica does (ownership.c).
 * Threads     the caller's lock.
 * Cost        a tick of a replica is two passes over the nodes, and a third one while a primary is without replicas.
 * Tests       tests/unit/cluster_core/replica_migration_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define ORPHANED_MS 5000

/* Counts the replicas of each primary that have not failed, by seat. The caller frees the result. */
static unsigned *countReplicas(const clusterMachine *m) {
    unsigned *counts = zcalloc(m->seats, sizeof(*counts));
    EACH_NODE (m, n)
        if (nodeIsReplica(n) && !nodeHas(n, NODE_FAILED)) counts[n->primary]++;
    return counts;
}

/* Notes since when primaries are without replicas. Returns that which is so for longest, if that is for long enough. */
static clusterNode *findOrphan(clusterMachine *m, const unsigned *counts) {
    clusterNode *orphan = NULL;
    EACH_NODE (m, n) {
        bool is_orphaned = nodeIsVoting(n) && nodeHas(n, NODE_MIGRATE_TO) && !nodeHas(n, NODE_FAILED) &&
                           !counts[n->seat];
        if (!is_orphaned) n->orphaned_ms = 0;
        else if (!n->orphaned_ms) n->orphaned_ms = m->now.mono_ms;
        if (!is_orphaned || m->now.mono_ms - n->orphaned_ms <= ORPHANED_MS) continue;
        if (!orphan || n->orphaned_ms < orphan->orphaned_ms) orphan = n;
    }
    return orphan;
}

/* Returns whether this node's primary keeps enough replicas that answer. */
static bool canBeSpared(const clusterMachine *m) {
    unsigned answering = 0;
    EACH_NODE (m, n) answering += nodeIsReplica(n) && n->primary == m->myself->primary && !nodeIsOut(n);
    return answering > m->config.migration_barrier;
}

static bool isChosen(const clusterMachine *m, const unsigned *counts) {
    const clusterNode *me = m->myself;
    unsigned most = 0;
    EACH_NODE (m, n)
        if (nodeIsVoting(n) && counts[n->seat] > most) most = counts[n->seat];
    if (most < 2 || counts[me->primary] != most) return false;
    EACH_NODE (m, n) {
        bool is_candidate = nodeIsReplica(n) && !nodeHas(n, NODE_FAILED) && counts[n->primary] == most && n->primary &&
                            nodeIsVoting(nodeAt(m, n->primary));
        if (is_candidate && memcmp(&n->id, &me->id, sizeof(n->id)) < 0) return false;
    }
    return true;
}

void replicaMigrationTick(clusterMachine *m) {
    const clusterNode *me = m->myself;
    if (!nodeIsReplica(me) || !me->primary) return;
    unsigned *counts = countReplicas(m);
    clusterNode *orphan = findOrphan(m, counts);
    bool is_free = m->ok && m->config.allow_replica_migration && !m->manual.end_ms && !m->election.stage;
    if (orphan && is_free && canBeSpared(m) && isChosen(m, counts)) {
        machineLog(m, LL_NOTICE, "Migrating to orphaned primary %s in shard %.40s", nodeName(orphan),
                   orphan->shard.text);
        becomeReplicaOf(m, orphan);
        machineAnnounce(m);
    }
    zfree(counts);
}
