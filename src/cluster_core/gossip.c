/* gossip.c -- what a ping says of other nodes: that they exist, where they are, and whether its sender reaches them.
 *
 * Not here    which nodes a frame names (bus_send.c); what reports lead to (failure.c).
 * Threads     the caller's lock.
 * Cost        the entries of the frame.
 * Tests       tests/unit/cluster_core/machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define FUTURE_MAX_MS 500 /* clocks of nodes differ */

static bool isOutThere(const busGossip *g) { return (g->flags & (NODE_SUSPECTED | NODE_FAILED)) != 0; }

static void report(clusterMachine *m, clusterNode *n, const clusterNode *sender, const busGossip *g) {
    if (!nodeIsVoting(sender)) return;
    if (isOutThere(g)) failureReportAdd(m, n, sender);
    else failureReportRemove(m, n, sender);
}

/* Takes over a newer time of a pong, so that not every node has to ping every other one all the time. A primary that
 * serves asks the other ones itself: it has to know when it does not reach a majority. */
static void learnPong(const clusterMachine *m, clusterNode *n, const busGossip *g) {
    if (nodeIsVoting(m->myself) && nodeIsVoting(n) && !isPlain(m)) return;
    if (isOutThere(g) || nodeIsOut(n) || n->ping_sent_ms || n->report_count || !g->pong_received_s) return;
    int64_t age_ms = m->now.wall_ms - (int64_t)g->pong_received_s * 1000;
    if (age_ms < -FUTURE_MAX_MS) return;
    uint64_t age = age_ms < 0 ? 0 : (uint64_t)age_ms;
    if (age < m->now.mono_ms && m->now.mono_ms - age > n->pong_ms) n->pong_ms = m->now.mono_ms - age;
}

/* A node that this one does not reach, but its peer does, may have moved. */
static void learnAddress(clusterMachine *m, clusterNode *n, const busGossip *g) {
    bool tls = m->config.uses_tls;
    if (!nodeIsOut(n) && !nodeHas(n, NODE_NO_ADDRESS)) return;
    if (isOutThere(g) || g->flags & (NODE_NO_ADDRESS | NODE_HANDSHAKE) || !g->ip[0] || !g->bus_port) return;
    uint16_t port = tls ? g->other_port : g->port, tls_port = tls ? g->port : g->other_port;
    nodeSetAddress(m, n, g->ip, port, tls_port, g->bus_port);
}

static void learnNode(clusterMachine *m, const busGossip *g) {
    unsigned kept = NODE_NO_FAILOVER | NODE_EXTENSIONS | NODE_LIGHT_PUBLISH | NODE_LIGHT_MODULE | NODE_FAILED;
    if (g->flags & (NODE_NO_ADDRESS | NODE_HANDSHAKE) || !g->ip[0] || !g->bus_port) return;
    if (forgottenHas(m, &g->id)) return;
    clusterNode *n = nodeAdd(m, &g->id, g->flags & kept);
    if (!n) return;
    if (g->flags & NODE_REPLICA) nodeSetReplica(m, n, 0);
    else nodeSetPrimary(m, n);
    if (nodeHas(n, NODE_FAILED)) n->failed_ms = m->now.mono_ms;
    bool tls = m->config.uses_tls;
    nodeSetAddress(m, n, g->ip, tls ? g->other_port : g->port, tls ? g->port : g->other_port, g->bus_port);
}

void gossipRead(clusterMachine *m, clusterNode *sender, const busFrame *f) {
    if (f->gossip_invalid)
        machineLog(m, LL_DEBUG, "Node %s gossiped %zu nodes with invalid IDs.", nodeName(sender), f->gossip_invalid);
    for (size_t i = 0; i < f->gossip_count; i++) {
        busGossip g = busGossipAt(f, i);
        clusterNode *n = nodeById(m, &g.id);
        if (!n) {
            learnNode(m, &g);
        } else if (!nodeIsMyself(n) && !nodeHas(n, NODE_HANDSHAKE)) {
            report(m, n, sender, &g);
            learnPong(m, n, &g);
            learnAddress(m, n, &g);
        }
    }
}
