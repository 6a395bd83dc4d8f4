/* machine_commands.c -- what an operator's commands change: members, slots, roles, epochs.
 *
 * A command either changes all that it names or replies with an error and changes nothing. Its reply is there at once;
 * other nodes hear of a change when the nodes file that has it is on disk (toldState, machineAnnounce()).
 *
 * Two replies differ from Valkey's: a replica refuses ADDSLOTS and DELSLOTS, which would leave it with a view of the
 * slots that nothing corrects, and BUMPEPOCH on a replica changes nothing, as its epoch is its primary's.
 *
 * Not here    arity, integers and addresses, which the caller checks; the text of errors about them; the log line with
 *             the client that has sent a command.
 * Threads     the caller's lock.
 * Cost        a command about nodes: a pass over the nodes and slots. One about slots: those slots.
 * Tests       tests/unit/cluster_core/machine_commands_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#include <stdarg.h>

/* Each command returns its reply, NULL for "+OK". */
static __attribute__((format(printf, 1, 2))) sds reply(const char *format, ...) {
    va_list args;
    va_start(args, format);
    sds text = sdsCatVprintf(sdsEmpty(), format, args);
    va_end(args);
    return text;
}

static sds unknownNode(const nodeId *id) { return reply("-ERR Unknown node %.40s", id->text); }

/* Call when a command has changed slots. */
static void slotsChanged(clusterMachine *m) {
    machineChanged(m);
    machineViewChanged(m);
}

/* ---- Members ---- */

static sds meet(clusterMachine *m, const clusterCommand *c) {
    uint16_t port = m->config.uses_tls ? 0 : c->port, tls_port = m->config.uses_tls ? c->port : 0;
    bool started = handshakeStart(m, c->ip, port, tls_port, c->bus_port, true);
    return started ? NULL : reply("-ERR The table of nodes is full (%d)", CLUSTER_NODES_MAX);
}

/* The other nodes forget the node too, because pings list the ids that this one has forgotten. It is announced, so that
 * they do so at about the same time. */
static sds forget(clusterMachine *m, const clusterCommand *c) {
    clusterNode *n = nodeById(m, &c->node), *me = m->myself;
    if (!n) return forgottenHas(m, &c->node) ? NULL : unknownNode(&c->node);
    if (n == me) return reply("-ERR I tried hard but I can't forget myself...");
    if (nodeIsReplica(me) && me->primary == n->seat) return reply("-ERR Can't forget my master!");
    if (!nodeHas(n, NODE_HANDSHAKE)) forgottenAdd(m, &n->id, m->config.blacklist_ttl_s);
    nodeForget(m, n);
    machineAnnounce(m);
    return NULL;
}

/* ---- Roles ---- */

static sds replicate(clusterMachine *m, const clusterCommand *c) {
    clusterNode *n = nodeById(m, &c->node), *me = m->myself;
    if (!n) return unknownNode(&c->node);
    if (n == me) return reply("-ERR Can't replicate myself");
    if (!nodeIsPrimary(n) || nodeHas(n, NODE_HANDSHAKE))
        return reply("-ERR I can only replicate a master, not a replica.");
    if (nodeIsReplica(me) && me->primary == n->seat) return NULL;
    if (nodeIsPrimary(me) && (me->slot_count || !m->local.is_empty))
        return reply("-ERR To set a master the node must be empty and without assigned slots.");
    becomeReplicaOf(m, n);
    return NULL;
}

static void enterNewShard(clusterMachine *m) {
    m->myself->shard = nodeRandomId(m);
    machineLog(m, LL_NOTICE, "Moving myself to a new shard %.40s.", m->myself->shard.text);
    slotsChanged(m);
}

static sds replicateNoOne(clusterMachine *m) {
    if (nodeIsPrimary(m->myself)) return NULL;
    becomeEmptyPrimary(m);
    enterNewShard(m);
    machineAnnounce(m);
    return NULL;
}

static void forgetAll(clusterMachine *m) {
    EACH_NODE (m, n)
        if (!nodeIsMyself(n)) nodeForget(m, n);
    m->forgotten_count = 0;
    slotsRelease(m, m->myself);
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++) slotClose(m, slot);
}

/* This node becomes another one, of which no frame leaves before a file has it. A save that is under way is of the old
 * one. */
static void becomeAnother(clusterMachine *m) {
    m->current_epoch = m->last_vote_epoch = m->own_epoch = m->myself->config_epoch = 0;
    machineLog(m, LL_NOTICE, "configEpoch set to 0 via CLUSTER RESET HARD");
    nodeId id = nodeRandomId(m);
    nodeRename(m, m->myself, &id);
    machineLog(m, LL_NOTICE, "Node hard reset, now I'm %.40s", id.text);
    m->saved_version = m->saving_version = 0;
    m->first_version = m->version;
}

static sds reset(clusterMachine *m, const clusterCommand *c) {
    if (nodeIsPrimary(m->myself) && !m->local.is_empty)
        return reply("-ERR CLUSTER RESET can't be called with master nodes containing keys");
    bool main_replicates = m->promote_version != 0; /* until a takeover is on disk, which is given up now */
    if (nodeIsReplica(m->myself)) becomeEmptyPrimary(m);
    else if (main_replicates) machineAct(m, CLUSTER_BECOME_PRIMARY);
    electionReset(m);
    m->vote_count = 0;
    forgetAll(m);
    enterNewShard(m);
    if (c->hard) becomeAnother(m);
    return NULL;
}

static sds failover(clusterMachine *m, const clusterCommand *c) {
    const char *error = manualStart(m, c);
    return error ? sdsNew(error) : NULL;
}

/* ---- Slots ---- */

static sds refusal(const clusterCommand *c) { return c->refusal ? sdsNew(c->refusal) : NULL; }

/* Checks that each slot has an owner, or that none has one. */
static sds checkSlots(const clusterMachine *m, const clusterCommand *c, bool have_owner) {
    size_t count = c->order ? c->order_count : CLUSTER_SLOTS;
    for (size_t i = 0; i < count; i++) {
        unsigned slot = c->order ? c->order[i] : (unsigned)i;
        if (!slotSetHas(c->slots, slot) || (m->owner[slot] != 0) == have_owner) continue;
        return have_owner ? reply("-ERR Slot %u is already unassigned", slot)
                          : reply("-ERR Slot %u is already busy", slot);
    }
    return refusal(c);
}

static sds addSlots(clusterMachine *m, const clusterCommand *c) {
    if (nodeIsReplica(m->myself)) return reply("-ERR Please use ADDSLOTS only with masters.");
    sds error = checkSlots(m, c, false);
    if (error) return error;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!slotSetHas(c->slots, slot)) continue;
        slotClose(m, slot);
        slotSetOwner(m, slot, m->myself->seat);
    }
    slotsChanged(m);
    return NULL;
}

static sds delSlots(clusterMachine *m, const clusterCommand *c) {
    if (nodeIsReplica(m->myself)) return reply("-ERR Please use DELSLOTS only with masters.");
    sds error = checkSlots(m, c, true);
    if (error) return error;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!slotSetHas(c->slots, slot)) continue;
        if (m->migrating[slot]) slotClose(m, slot);
        slotSetOwner(m, slot, 0);
    }
    slotsChanged(m);
    return NULL;
}

static sds flushSlots(clusterMachine *m) {
    if (!m->local.is_empty) return reply("-ERR DB must be empty to perform CLUSTER FLUSHSLOTS.");
    slotsRelease(m, m->myself);
    return NULL;
}

/* Takes slots under an epoch that is the greatest, so that each node that hears of it agrees. */
static void takeSlots(clusterMachine *m, const slotSet *slots) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!slotSetHas(slots, slot)) continue;
        slotClose(m, slot);
        slotSetOwner(m, slot, m->myself->seat);
    }
    epochBump(m);
    slotsChanged(m);
    machineAnnounce(m);
}

static sds takeImported(clusterMachine *m, const clusterCommand *c) {
    if (nodeIsReplica(m->myself)) return reply("-ERR Slot migration can only be used on primary nodes.");
    takeSlots(m, c->slots);
    return NULL;
}

static sds pingNode(clusterMachine *m, const clusterCommand *c) {
    clusterNode *n = nodeById(m, &c->node);
    if (!n || n == m->myself) return unknownNode(&c->node);
    n->awaited_ms = m->now.mono_ms;
    handshakePing(m, n);
    return NULL;
}

/* ---- SETSLOT ---- */

/* The replica of a primary that has executed SETSLOT executes it too, whatever it knows of the slot's owner: its view
 * may be older than the replication stream. */
static bool followsPrimary(const clusterMachine *m, const clusterCommand *c) {
    return c->from_primary && nodeIsReplica(m->myself);
}

static sds refuseRole(const clusterMachine *m, const clusterCommand *c) {
    if (nodeIsPrimary(m->myself) || followsPrimary(m, c)) return NULL;
    return reply("-ERR Please use SETSLOT only with masters.");
}

/* Returns the primary of this node's shard, as far as it is known. */
static clusterNode *shardPrimary(const clusterMachine *m) {
    clusterNode *me = m->myself;
    return nodeIsReplica(me) && me->primary ? nodeAt(m, me->primary) : me;
}

/* Returns the node as the client has named it. */
static slice nameIn(const clusterCommand *c) {
    return c->name.ptr ? c->name : sliceOf(c->node.text, sizeof(c->node.text));
}

static sds setOpen(clusterMachine *m, const clusterCommand *c, bool importing) {
    clusterNode *n = nodeById(m, &c->node), *mine = shardPrimary(m);
    bool is_owner = m->owner[c->slot] == mine->seat, checks = !followsPrimary(m, c);
    if (checks && !importing && !is_owner) return reply("-ERR I'm not the owner of hash slot %u", c->slot);
    if (checks && importing && is_owner) return reply("-ERR I'm already the owner of hash slot %u", c->slot);
    if (!n) return reply("-ERR I don't know about node %.*s", (int)nameIn(c).len, nameIn(c).ptr);
    if (n == mine || n == m->myself) return reply("-ERR Target node is myself");
    if (!nodeIsPrimary(n)) return reply("-ERR Target node is not a master");
    if (c->refusal || c->only_checks) return refusal(c);
    machineLog(m, LL_NOTICE, "%s slot %u %s node %s", importing ? "Importing" : "Migrating", c->slot,
               importing ? "from" : "to", nodeName(n));
    slotClose(m, c->slot);
    (importing ? m->importing : m->migrating)[c->slot] = n->seat;
    m->open_slots++;
    slotsChanged(m);
    return NULL;
}

static sds setStable(clusterMachine *m, const clusterCommand *c) {
    if (c->refusal || c->only_checks) return refusal(c);
    slotClose(m, c->slot);
    return NULL;
}

/* This node has lost its last slot to `n`, whose replica it becomes. */
static void followLastSlot(clusterMachine *m, clusterNode *n) {
    machineLog(m, LL_NOTICE,
               "Lost my last slot during slot migration. Reconfiguring myself as a replica of %s in shard %.40s",
               nodeName(n), n->shard.text);
    becomeReplicaOf(m, n);
}

static void takeSlot(clusterMachine *m, unsigned slot) {
    slotSet one = {{0}};
    slotSetAdd(&one, slot);
    takeSlots(m, &one);
    machineLog(m, LL_NOTICE, "ConfigEpoch updated after importing slot %u", slot);
}

static sds setOwner(clusterMachine *m, const clusterCommand *c) {
    clusterNode *n = nodeById(m, &c->node), *me = m->myself, *mine = shardPrimary(m);
    bool was_mine = m->owner[c->slot] == mine->seat;
    if (!n) return reply("-ERR Unknown node %.*s", (int)nameIn(c).len, nameIn(c).ptr);
    if (!nodeIsPrimary(n)) return reply("-ERR Target node is not a master");
    if (was_mine && n != mine && c->slot_has_keys && !followsPrimary(m, c))
        return reply("-ERR Can't assign hashslot %u to a different node while I still hold keys for this hash slot.",
                     c->slot);
    if (c->refusal || c->only_checks) return refusal(c);
    if (n == me && (!was_mine || m->importing[c->slot])) {
        if (m->importing[c->slot]) slotImported(m, c->slot, &nodeAt(m, m->importing[c->slot])->shard);
        takeSlot(m, c->slot);
        return NULL;
    }
    /* An import that has been decided for another node stays open: this node may hold keys of the slot. So does a
     * migration, if the slot is given to its owner before the last key has left. */
    bool closes = n == mine ? m->importing[c->slot] || !c->slot_has_keys : m->migrating[c->slot] != 0;
    if (closes) slotClose(m, c->slot);
    slotSetOwner(m, c->slot, n->seat);
    slotsChanged(m);
    if (was_mine && n != me && nodeIsPrimary(me) && !me->slot_count && m->config.allow_replica_migration)
        followLastSlot(m, n);
    return NULL;
}

static sds setSlot(clusterMachine *m, const clusterCommand *c) {
    sds error = refuseRole(m, c);
    if (error) return error;
    switch (c->kind) {
    case CLUSTER_SET_MIGRATING: return setOpen(m, c, false);
    case CLUSTER_SET_IMPORTING: return setOpen(m, c, true);
    case CLUSTER_SET_STABLE: return setStable(m, c);
    default: return setOwner(m, c);
    }
}

/* Slots that are open here and not at the primary are left from a SETSLOT that the primary did not execute. */
static sds setOpenSlots(clusterMachine *m, const clusterCommand *c) {
    const clusterNode *mine = shardPrimary(m);
    if (nodeIsPrimary(m->myself)) return NULL; /* the role has changed since the load */
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++) slotClose(m, slot);
    for (size_t i = 0; i < c->open_count; i++) {
        const openSlot *o = &c->open[i];
        const clusterNode *n = nodeById(m, &o->other);
        if (!n || n == mine || n == m->myself || m->migrating[o->slot] || m->importing[o->slot]) continue;
        (o->importing ? m->importing : m->migrating)[o->slot] = n->seat;
        m->open_slots++;
        slotsChanged(m);
    }
    return NULL;
}

/* ---- Epochs ---- */

static sds bumpEpoch(clusterMachine *m) {
    bool bumped = nodeIsPrimary(m->myself) && epochBump(m);
    if (bumped) machineAnnounce(m);
    return reply("+%s %llu", bumped ? "BUMPED" : "STILL", (unsigned long long)shardPrimary(m)->config_epoch);
}

static sds setConfigEpoch(clusterMachine *m, const clusterCommand *c) {
    if (m->node_count > 1)
        return reply("-ERR The user can assign a config epoch only when the node does not know any other node.");
    if (m->myself->config_epoch) return reply("-ERR Node config epoch is already non-zero");
    m->myself->config_epoch = c->epoch;
    epochSeen(m, c->epoch);
    slotsChanged(m);
    machineLog(m, LL_NOTICE, "configEpoch set to %llu via CLUSTER SET-CONFIG-EPOCH", (unsigned long long)c->epoch);
    return NULL;
}

/* ---- Messages ---- */

static sds publish(clusterMachine *m, const clusterCommand *c) {
    sendPublish(m, c);
    return NULL;
}

static sds sendToModules(clusterMachine *m, const clusterCommand *c) {
    if (!nodeIdIsNone(&c->node) && !nodeById(m, &c->node)) return unknownNode(&c->node);
    sendModule(m, c);
    return NULL;
}

static sds execute(clusterMachine *m, const clusterCommand *c) {
    switch (c->kind) {
    case CLUSTER_MEET: return meet(m, c);
    case CLUSTER_FORGET: return forget(m, c);
    case CLUSTER_REPLICATE: return replicate(m, c);
    case CLUSTER_REPLICATE_NO_ONE: return replicateNoOne(m);
    case CLUSTER_ADD_SLOTS: return addSlots(m, c);
    case CLUSTER_DEL_SLOTS: return delSlots(m, c);
    case CLUSTER_FLUSH_SLOTS: return flushSlots(m);
    case CLUSTER_SET_MIGRATING:
    case CLUSTER_SET_IMPORTING:
    case CLUSTER_SET_STABLE:
    case CLUSTER_SET_OWNER: return setSlot(m, c);
    case CLUSTER_SET_OPEN_SLOTS: return setOpenSlots(m, c);
    case CLUSTER_TAKE_SLOTS: return takeImported(m, c);
    case CLUSTER_PING_NODE: return pingNode(m, c);
    case CLUSTER_BUMP_EPOCH: return bumpEpoch(m);
    case CLUSTER_SET_CONFIG_EPOCH: return setConfigEpoch(m, c);
    case CLUSTER_RESET: return reset(m, c);
    case CLUSTER_FAILOVER: return failover(m, c);
    case CLUSTER_PUBLISH: return publish(m, c);
    case CLUSTER_SEND_MODULE: return sendToModules(m, c);
    }
    return reply("-ERR syntax error");
}

void machineCommand(clusterMachine *m, const clusterCommand *c) {
    sds text = execute(m, c);
    machineAct(m, CLUSTER_REPLY)->text = text ? text : sdsNew("+OK");
}
