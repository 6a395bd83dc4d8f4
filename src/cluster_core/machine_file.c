/* machine_file.c -- the machine's state as a nodes file, and a nodes file as the machine's state.
 *
 * A file may be older than the program, or written by a Valkey, with lines that contradict each other. They are settled
 * here, so that the machine begins with its invariants: a replica has the shard of its primary and no slots, a replica
 * of a replica follows the primary above, and an open slot that names an unknown node, or that goes the wrong way, is
 * dropped. Nodes whose handshake has not ended are neither written nor read.
 *
 * Not here    the syntax (nodes_file.h); when a file is written.
 * Threads     the caller's lock.
 * Tests       tests/unit/cluster_core/machine_file_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

/* The flags of other nodes that are taken from the file, beside their roles. */
#define FILE_FLAGS (NODE_SUSPECTED | NODE_FAILED | NODE_NO_ADDRESS | NODE_NO_FAILOVER)

/* ---- Reading ---- */

static void setText(sds *field, sds text) { nodeSetText(field, text ? sdsSlice(text) : sliceOf("", 0)); }

/* Reads all of a line but role, slots and epoch. Its times count from now on. */
static void loadNode(const clusterMachine *m, clusterNode *n, const nodeRecord *r) {
    memcpy(n->ip, r->ip, sizeof(n->ip));
    n->port = r->port;
    n->tls_port = r->tls_port;
    n->bus_port = r->bus_port;
    n->client_port = r->client_port;
    n->client_tls_port = r->client_tls_port;
    setText(&n->hostname, r->hostname);
    setText(&n->human_name, r->human_name);
    setText(&n->client_ipv4, r->client_ipv4);
    setText(&n->client_ipv6, r->client_ipv6);
    setText(&n->zone, r->zone);
    if (!nodeIdIsNone(&r->shard)) n->shard = r->shard;
    if (nodeIsMyself(n)) return;
    if (r->ping_sent_ms) n->ping_sent_ms = m->now.mono_ms;
    if (r->pong_received_ms) n->pong_ms = m->now.mono_ms;
    if (nodeHas(n, NODE_FAILED)) n->failed_ms = m->now.mono_ms;
}

static bool isLoaded(const nodeRecord *r) { return !(r->flags & NODE_HANDSHAKE); }

/* Adds the node of a line, as a primary or replica without a primary. */
static void loadMember(clusterMachine *m, const nodeRecord *r) {
    clusterNode *n = m->myself;
    if (r->flags & NODE_MYSELF) {
        nodeRename(m, n, &r->id);
    } else {
        n = nodeAdd(m, &r->id, r->flags & FILE_FLAGS);
        if (!n) return;
    }
    if (r->flags & NODE_REPLICA) nodeSetReplica(m, n, 0);
    else if (r->flags & NODE_PRIMARY) nodeSetPrimary(m, n);
    loadNode(m, n, r);
    if (!nodeIsPrimary(n)) return;
    n->config_epoch = r->config_epoch;
    epochSeen(m, r->config_epoch);
}

/* Returns the primary that a line names. One without a line is a node of the replica's shard, without an address. */
static clusterNode *namedPrimary(clusterMachine *m, const nodeRecord *r) {
    clusterNode *n = nodeById(m, &r->primary);
    if (n) return n;
    n = nodeAdd(m, &r->primary, NODE_PRIMARY | NODE_NO_ADDRESS);
    if (n && !nodeIdIsNone(&r->shard)) n->shard = r->shard;
    return n;
}

/* Links a replica to its primary. The first pass links those of primaries, the second those that the file calls
 * replicas of replicas: to the primary above, if there is one. */
static void linkReplica(clusterMachine *m, const nodeRecord *r, bool is_second) {
    clusterNode *n = nodeById(m, &r->id);
    if (!n || !nodeIsReplica(n) || nodeIdIsNone(&r->primary)) return;
    clusterNode *primary = namedPrimary(m, r);
    if (!primary || primary == n || is_second != nodeIsReplica(primary)) return;
    if (is_second && primary->primary && primary->primary != n->seat) primary = nodeAt(m, primary->primary);
    nodeSetReplica(m, n, primary->seat);
    n->shard = primary->shard;
}

static void loadSlots(clusterMachine *m, const nodeRecord *r) {
    const clusterNode *n = nodeById(m, &r->id);
    if (!n || !nodeIsPrimary(n)) return;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (slotSetHas(&r->slots, slot)) slotSetOwner(m, slot, n->seat);
}

static void loadOpenSlot(clusterMachine *m, const openSlot *open) {
    const clusterNode *me = m->myself, *other = nodeById(m, &open->other);
    unsigned mine = nodeIsReplica(me) && me->primary ? me->primary : me->seat;
    if (!other || other == me || other->seat == mine || m->migrating[open->slot] || m->importing[open->slot]) return;
    if (open->importing == (m->owner[open->slot] == mine)) return;
    (open->importing ? m->importing : m->migrating)[open->slot] = other->seat;
    m->open_slots++;
}

void machineLoad(clusterMachine *m, const nodesFile *file) {
    const nodeRecord *nodes = file->nodes;
    m->current_epoch = file->current_epoch;
    m->last_vote_epoch = file->last_vote_epoch;
    for (size_t i = 0; i < file->count; i++)
        if (nodes[i].flags & NODE_MYSELF) loadMember(m, &nodes[i]);
    for (size_t i = 0; i < file->count; i++)
        if (isLoaded(&nodes[i]) && !(nodes[i].flags & NODE_MYSELF)) loadMember(m, &nodes[i]);
    for (size_t i = 0; i < file->count; i++) linkReplica(m, &nodes[i], false);
    for (size_t i = 0; i < file->count; i++) linkReplica(m, &nodes[i], true);
    for (size_t i = 0; i < file->count; i++) loadSlots(m, &nodes[i]);
    for (size_t i = 0; i < file->open_count; i++) loadOpenSlot(m, &file->open[i]);
    if (m->last_vote_epoch > m->current_epoch) m->current_epoch = m->last_vote_epoch;
}

/* ---- Writing ---- */

/* The texts of the record are borrowed. */
static nodeRecord recordOf(const clusterMachine *m, const clusterNode *n, clusterTime now) {
    const clusterNode *primary = nodeIsReplica(n) && n->primary ? nodeAt(m, n->primary) : n;
    nodeRecord r = {.id = n->id,
                    .shard = primary->shard,
                    .port = n->port,
                    .tls_port = n->tls_port,
                    .bus_port = n->bus_port,
                    .client_port = n->client_port,
                    .client_tls_port = n->client_tls_port,
                    .flags = n->flags,
                    .hostname = n->hostname,
                    .human_name = n->human_name,
                    .client_ipv4 = n->client_ipv4,
                    .client_ipv6 = n->client_ipv6,
                    .zone = n->zone,
                    .ping_sent_ms = clusterWallTime(now, n->ping_sent_ms),
                    .pong_received_ms = clusterWallTime(now, n->pong_ms),
                    .config_epoch = primary->config_epoch,
                    .connected = nodeIsMyself(n) || n->link_out_ms};
    memcpy(r.ip, n->ip, sizeof(r.ip));
    if (primary != n) r.primary = primary->id;
    if (n->slots) r.slots = *n->slots;
    return r;
}

static void addOpenSlots(const clusterMachine *m, nodesFile *file) {
    if (!m->open_slots) return;
    file->open = zmalloc(m->open_slots * sizeof(*file->open));
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        unsigned other = m->importing[slot] ? m->importing[slot] : m->migrating[slot];
        if (!other) continue;
        serverAssert(file->open_count < m->open_slots);
        file->open[file->open_count++] =
            (openSlot){.slot = slot, .importing = m->importing[slot] != 0, .other = nodeAt(m, other)->id};
    }
}

sds clusterFileText(clusterMachine *m, clusterTime now, uint64_t *version) {
    nodesFile file = {.current_epoch = m->current_epoch, .last_vote_epoch = m->last_vote_epoch};
    file.nodes = zmalloc(m->node_count * sizeof(*file.nodes));
    EACH_NODE (m, n)
        if (!nodeHas(n, NODE_HANDSHAKE)) file.nodes[file.count++] = recordOf(m, n, now);
    addOpenSlots(m, &file);
    sds text = nodesFileText(&file);
    zfree(file.nodes);
    zfree(file.open);
    machineTell(m, &m->saving);
    m->saving_version = *version = m->version;
    return text;
}
