/* node_table.c -- the nodes that the machine knows, their seats and links, and the ids that are to be forgotten.
 *
 * Not here    why a node is added or forgotten.
 * Owns        nodes, links.
 * Threads     the caller's lock.
 * Invariants  1. nodes[n->seat] == n, and by_id finds n by its id. 2. A link in `links` whose seat is not 0 is the
 *             link_out or link_in of that node, and the other way round. 3. n->replicas is the number of nodes whose
 *             primary is n.
 * Cost        nodeForget() is a pass over the slots and the nodes.
 * Tests       tests/unit/cluster_core/machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define TTL_MAX_S (UINT64_C(1) << 32) /* of a forgotten id */

/* ---- Nodes ---- */

nodeId nodeRandomId(clusterMachine *m) {
    nodeId id;
    for (size_t i = 0; i < NODE_ID_LEN; i++) id.text[i] = "0123456789abcdef"[rngBelow(&m->random, 16)];
    return id;
}

static slice idSlice(const nodeId *id) { return sliceOf(id->text, sizeof(id->text)); }

clusterNode *nodeById(const clusterMachine *m, const nodeId *id) {
    slice key = idSlice(id);
    return dictFind(m->by_id, key, dictHash(m->by_id, key));
}

static void indexNode(clusterMachine *m, clusterNode *n) {
    dictAddNew(m->by_id, n, dictHash(m->by_id, idSlice(&n->id)));
}

static void unindexNode(clusterMachine *m, const clusterNode *n) {
    dictPop(m->by_id, idSlice(&n->id), dictHash(m->by_id, idSlice(&n->id)));
}

/* Returns a free seat, 0 if there are too many nodes. */
static unsigned freeSeat(clusterMachine *m) {
    if (m->node_count < m->seats - 1)
        for (unsigned seat = 1; seat < m->seats; seat++)
            if (!m->nodes[seat]) return seat;
    if (m->seats == CLUSTER_NODES_MAX) return 0;
    if ((m->seats & (m->seats - 1)) == 0) m->nodes = zrealloc(m->nodes, 2 * (size_t)m->seats * sizeof(*m->nodes));
    m->nodes[m->seats] = NULL;
    return m->seats++;
}

clusterNode *nodeAdd(clusterMachine *m, const nodeId *id, unsigned flags) {
    unsigned seat = freeSeat(m);
    if (!seat) return NULL;
    clusterNode *n = zcalloc(1, sizeof(*n));
    n->id = id ? *id : nodeRandomId(m);
    n->shard = nodeRandomId(m);
    n->seat = (uint16_t)seat;
    n->flags = (uint16_t)flags;
    n->created_ms = n->inbound_missing_ms = m->now.mono_ms;
    m->nodes[seat] = n;
    m->node_count++;
    indexNode(m, n);
    return n;
}

void nodeRelease(clusterNode *n) {
    sdsFree(n->hostname);
    sdsFree(n->human_name);
    sdsFree(n->client_ipv4);
    sdsFree(n->client_ipv6);
    sdsFree(n->zone);
    zfree(n->slots);
    zfree(n->reports);
    zfree(n);
}

/* Frees all slots that name a node. */
static void forgetSlots(clusterMachine *m, clusterNode *n) {
    slotsRelease(m, n);
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++)
        if (m->migrating[slot] == n->seat || m->importing[slot] == n->seat) slotClose(m, slot);
}

void nodeForget(clusterMachine *m, clusterNode *n) {
    debugAssert(!nodeIsMyself(n));
    clusterLink *out = linkTo(m, n), *in = n->link_in ? linkByNumber(m, n->link_in) : NULL;
    if (out) linkClose(m, out);
    if (in) linkClose(m, in);
    forgetSlots(m, n);
    failureReportsForget(m, n->seat);
    if (n->primary) nodeAt(m, n->primary)->replicas--;
    EACH_NODE (m, other)
        if (other->primary == n->seat) other->primary = 0;
    if (m->manual.replica == n->seat) manualReset(m);
    electionForgetVoter(m, n->seat);
    m->nodes[n->seat] = NULL;
    m->node_count--;
    unindexNode(m, n);
    if (!nodeHas(n, NODE_HANDSHAKE)) machineChanged(m);
    machineViewChanged(m);
    nodeRelease(n);
}

void nodeRename(clusterMachine *m, clusterNode *n, const nodeId *id) {
    unindexNode(m, n);
    n->id = *id;
    indexNode(m, n);
    machineChanged(m);
    machineViewChanged(m);
}

/* ---- Roles, texts, addresses ---- */

static void leavePrimary(clusterMachine *m, clusterNode *n) {
    if (n->primary) nodeAt(m, n->primary)->replicas--;
    n->primary = 0;
}

bool nodeSetPrimary(clusterMachine *m, clusterNode *n) {
    if (nodeIsPrimary(n)) return false;
    leavePrimary(m, n);
    n->flags = (uint16_t)((n->flags & ~(NODE_REPLICA | NODE_PRIMARY_FAILED)) | NODE_PRIMARY);
    if (n->replicas) n->flags |= NODE_MIGRATE_TO;
    machineChanged(m);
    machineViewChanged(m);
    return true;
}

bool nodeSetReplica(clusterMachine *m, clusterNode *n, unsigned primary) {
    if (nodeIsReplica(n) && n->primary == primary) return false;
    leavePrimary(m, n);
    n->flags = (uint16_t)((n->flags & ~(NODE_PRIMARY | NODE_MIGRATE_TO)) | NODE_REPLICA);
    n->primary = (uint16_t)primary;
    if (primary) {
        nodeAt(m, primary)->replicas++;
        if (nodeIsPrimary(nodeAt(m, primary))) nodeAt(m, primary)->flags |= NODE_MIGRATE_TO;
    }
    machineChanged(m);
    machineViewChanged(m);
    return true;
}

bool nodeSetText(sds *field, slice text) {
    slice present = *field ? sdsSlice(*field) : sliceOf("", 0);
    if (sliceEq(present, text)) return false;
    sdsFree(*field);
    *field = text.len ? sdsFromSlice(text) : NULL;
    return true;
}

bool nodeSetAddress(clusterMachine *m, clusterNode *n, const char *ip, uint16_t port, uint16_t tls_port,
                    uint16_t bus_port) {
    bool moved = strcmp(n->ip, ip) || n->bus_port != bus_port;
    if (!moved && n->port == port && n->tls_port == tls_port) return false;
    snprintf(n->ip, sizeof(n->ip), "%s", ip);
    n->port = port;
    n->tls_port = tls_port;
    n->bus_port = bus_port;
    n->flags &= (uint16_t)~NODE_NO_ADDRESS;
    clusterLink *out = linkTo(m, n);
    if (moved && out) linkClose(m, out);
    if (moved) n->connect_ms = 0;
    if (!nodeHas(n, NODE_HANDSHAKE)) machineChanged(m);
    machineViewChanged(m);
    if (m->myself->primary == n->seat) nodeFollow(m, n, true);
    return true;
}

void nodeFollow(clusterMachine *m, const clusterNode *primary, bool same_shard) {
    clusterAction *a = machineAct(m, CLUSTER_FOLLOW);
    a->node = primary->id;
    memcpy(a->ip, primary->ip, sizeof(a->ip));
    a->port = primary->port;
    a->same_shard = same_shard;
}

const char *nodeName(const clusterNode *n) {
    static _Thread_local char ring[4][NODE_ID_LEN + 300];
    static _Thread_local unsigned next;
    char *out = ring[next++ % 4];
    snprintf(out, sizeof(ring[0]), "%.40s (%.256s)", n->id.text, n->human_name ? n->human_name : "");
    return out;
}

/* ---- Links ---- */

static slice numberSlice(const uint64_t *number) { return sliceOf(number, sizeof(*number)); }

clusterLink *linkByNumber(const clusterMachine *m, uint64_t number) {
    slice key = numberSlice(&number);
    return dictFind(m->links, key, dictHash(m->links, key));
}

clusterLink *linkAdd(clusterMachine *m, uint64_t number, clusterNode *n, bool is_inbound) {
    clusterLink *l = zcalloc(1, sizeof(*l));
    l->number = number;
    l->is_inbound = is_inbound;
    dictAddNew(m->links, l, dictHash(m->links, numberSlice(&number)));
    if (!n) return l;
    l->seat = n->seat;
    if (is_inbound) n->link_in = number;
    else n->link_out = number;
    return l;
}

void linkForget(clusterMachine *m, clusterLink *l) {
    clusterNode *n = l->seat ? nodeAt(m, l->seat) : NULL;
    if (n && n->link_out == l->number) {
        n->link_out = n->link_out_ms = 0;
        n->ponged = false;
    }
    if (n && n->link_in == l->number) {
        n->link_in = 0;
        n->inbound_missing_ms = m->now.mono_ms;
    }
    slice key = numberSlice(&l->number);
    dictDelete(m->links, key, dictHash(m->links, key));
}

void linkClose(clusterMachine *m, clusterLink *l) {
    machineAct(m, CLUSTER_CLOSE)->link = l->number;
    linkForget(m, l);
}

/* ---- Forgotten ids ---- */

static void dropOld(clusterMachine *m) {
    size_t kept = 0;
    for (size_t i = 0; i < m->forgotten_count; i++)
        if (m->forgotten[i].until_ms > m->now.mono_ms) m->forgotten[kept++] = m->forgotten[i];
    m->forgotten_count = kept;
}

void forgottenAdd(clusterMachine *m, const nodeId *id, uint64_t seconds) {
    uint64_t until_ms = m->now.mono_ms + (seconds < TTL_MAX_S ? seconds : TTL_MAX_S) * 1000;
    dropOld(m);
    for (size_t i = 0; i < m->forgotten_count; i++) {
        if (!nodeIdEqual(&m->forgotten[i].id, id)) continue;
        m->forgotten[i].until_ms = until_ms;
        return;
    }
    if (m->forgotten_count == CLUSTER_NODES_MAX) return;
    if (m->forgotten_count == m->forgotten_capacity) {
        m->forgotten_capacity = m->forgotten_capacity ? 2 * m->forgotten_capacity : 8;
        m->forgotten = zrealloc(m->forgotten, m->forgotten_capacity * sizeof(*m->forgotten));
    }
    m->forgotten[m->forgotten_count++] = (forgottenNode){.id = *id, .until_ms = until_ms};
}

bool forgottenHas(clusterMachine *m, const nodeId *id) {
    dropOld(m);
    for (size_t i = 0; i < m->forgotten_count; i++)
        if (nodeIdEqual(&m->forgotten[i].id, id)) return true;
    return false;
}

void forgottenDrop(clusterMachine *m, const nodeId *id) {
    for (size_t i = 0; i < m->forgotten_count; i++)
        if (nodeIdEqual(&m->forgotten[i].id, id)) m->forgotten[i].until_ms = 0;
    dropOld(m);
}
