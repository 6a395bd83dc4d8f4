/* ownership.c -- which node owns a slot and under which epoch, and what that makes of this node.
 *
 *     a header, or UPDATE -> role and shard of the node -> its config epoch -> its claims, slot by slot
 *                                                                     -> this node follows, collides, or corrects it
 *
 * A slot changes its owner by a claim with a greater config epoch than its owner's, by a command, or because its owner
 * has given it up: a slot that the last frame of its owner did not claim (`unclaimed`) goes to the first node that
 * claims it. While none does it stays with its owner for some time, because a slot that is moved is given up before all
 * have heard of the new owner; then it has no owner, as other nodes see it.
 *
 * Frames of one node come on two links, so that an older one may be read after a newer one. The current epoch of a node
 * never falls: a frame with a lower one than the node had before says nothing, and neither does a claim under an epoch
 * below the node's known one, unless the node says nothing else for long.
 *
 * A node of the shard from which a slot was imported may win an election without knowing of that, under a greater epoch
 * than the one by which the slot was taken. The importing node, which has the keys, then takes a newer epoch.
 *
 * Two primaries with one config epoch: the one with the smaller id takes a new one. In one shard both claim the same
 * slots and only one dataset can stay, the one with the greater offset. A Valkey with the smaller id takes the next
 * epoch whatever its offset is; so the node with the greater offset takes the one after that, and the node with the
 * smaller offset gives way without waiting for it.
 *
 * Not here    elections (election.c); how frames are made (bus_send.c); commands (machine_commands.c).
 * Threads     the caller's lock.
 * Invariants  1. owner[slot] == n->seat if and only if n->slots has the slot.
 *             2. Only primaries own slots; a replica has config epoch 0.
 *             3. current_epoch is not below any config epoch.
 * Cost        a frame: a pass over two sets of slots (2 KB each); slots that differ.
 * Tests       tests/unit/cluster_core/ownership_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define WORD_SLOTS 64
#define RANGES_LOGGED_MAX 64 /* of one claim */
#define UNCLAIMED_LEAST_MS 10000
#define IMPORT_LEAST_MS 10000

static unsigned long long ull(uint64_t n) { return n; }

/* ---- Slots ---- */

/* Returns the primary of this node's shard, as far as it is known. */
static clusterNode *shardPrimary(const clusterMachine *m) {
    clusterNode *me = m->myself;
    return nodeIsReplica(me) && me->primary ? nodeAt(m, me->primary) : me;
}

static bool isSameShard(const clusterNode *a, const clusterNode *b) { return nodeIdEqual(&a->shard, &b->shard); }

void slotSetOwner(clusterMachine *m, unsigned slot, unsigned seat) {
    clusterNode *old = nodeAt(m, m->owner[slot]), *n = nodeAt(m, seat);
    slotSetRemove(&m->unclaimed, slot);
    if (old == n) return;
    if (old) {
        slotSetRemove(old->slots, slot);
        old->slot_count--;
        m->slots_assigned--;
    }
    if (n) {
        if (!n->slots) n->slots = zcalloc(1, sizeof(*n->slots));
        slotSetAdd(n->slots, slot);
        n->slot_count++;
        m->slots_assigned++;
    }
    m->owner[slot] = (uint16_t)seat;
    machineViewChanged(m);
}

void slotClose(clusterMachine *m, unsigned slot) {
    if (!m->migrating[slot] && !m->importing[slot]) return;
    m->migrating[slot] = m->importing[slot] = 0;
    m->open_slots--;
    machineChanged(m);
    machineViewChanged(m);
}

void slotsClaimed(const clusterMachine *m, const clusterNode *n, slotSet *slots) {
    *slots = n->slots ? *n->slots : (slotSet){{0}};
    for (size_t i = 0; i < sizeof(slots->bytes); i++) slots->bytes[i] &= (uint8_t)~m->unclaimed.bytes[i];
}

static void closeAll(clusterMachine *m) {
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++) slotClose(m, slot);
}

void slotsRelease(clusterMachine *m, clusterNode *n) {
    for (unsigned slot = 0; n->slot_count && slot < CLUSTER_SLOTS; slot++) {
        if (m->owner[slot] != n->seat) continue;
        if (m->migrating[slot]) slotClose(m, slot);
        slotSetOwner(m, slot, 0);
    }
    machineChanged(m);
}

/* Slots that come from, or go to, a node that has failed over come from its successor. */
static void moveOpenSlots(clusterMachine *m, const clusterNode *from, const clusterNode *to) {
    unsigned imports = 0, exports = 0;
    bool is_own_shard = to == m->myself || to == shardPrimary(m);
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++) {
        bool imported = m->importing[slot] == from->seat, exported = m->migrating[slot] == from->seat;
        if (!imported && !exported) continue;
        imports += imported;
        exports += exported;
        if (is_own_shard) slotClose(m, slot);
        else (imported ? m->importing : m->migrating)[slot] = to->seat;
    }
    if (!imports && !exports) return;
    machineChanged(m);
    machineViewChanged(m);
    if (imports)
        machineLog(m, LL_NOTICE,
                   "A failover occurred in migration source. Update importing source of %u slot(s) to node %s in shard "
                   "%.40s.",
                   imports, nodeName(to), to->shard.text);
    if (exports)
        machineLog(m, LL_NOTICE,
                   "A failover occurred in migration target. Update migrating target of %u slot(s) to node %s in shard "
                   "%.40s.",
                   exports, nodeName(to), to->shard.text);
}

/* A replica takes open slots from the replication stream, and owners from the bus: they may not fit when it takes
 * over. */
static void closeSlotsThatDoNotFit(clusterMachine *m) {
    for (unsigned slot = 0; m->open_slots && slot < CLUSTER_SLOTS; slot++) {
        bool is_mine = m->owner[slot] == m->myself->seat;
        if ((m->migrating[slot] && !is_mine) || (m->importing[slot] && is_mine)) slotClose(m, slot);
    }
}

void slotsMove(clusterMachine *m, clusterNode *from, clusterNode *to) {
    for (unsigned slot = 0; from->slot_count && slot < CLUSTER_SLOTS; slot++)
        if (m->owner[slot] == from->seat) slotSetOwner(m, slot, slotSetHas(&m->unclaimed, slot) ? 0 : to->seat);
    moveOpenSlots(m, from, to);
    if (to == m->myself) closeSlotsThatDoNotFit(m);
    machineChanged(m);
}

/* ---- Epochs ---- */

void epochSeen(clusterMachine *m, uint64_t epoch) {
    if (epoch <= m->current_epoch) return;
    m->current_epoch = epoch;
    machineChanged(m);
}

/* Returns whether this node's config epoch is the greatest of all epochs, and no other node has it. */
static bool hasGreatestEpoch(const clusterMachine *m) {
    uint64_t epoch = m->myself->config_epoch;
    if (!epoch || epoch < m->current_epoch) return false;
    EACH_NODE (m, n)
        if (n != m->myself && n->config_epoch == epoch) return false;
    return true;
}

/* Takes the epoch that is `by` above the current one. Returns false if there is none. */
static bool takeEpoch(clusterMachine *m, uint64_t by) {
    if (m->current_epoch > UINT64_MAX - by) return false;
    m->current_epoch += by;
    m->myself->config_epoch = m->current_epoch;
    machineChanged(m);
    return true;
}

bool epochBump(clusterMachine *m) {
    if (hasGreatestEpoch(m) || !takeEpoch(m, 1)) return false;
    machineLog(m, LL_NOTICE, "New configEpoch set to %llu", ull(m->current_epoch));
    return true;
}

static void setEpoch(clusterMachine *m, clusterNode *n, uint64_t epoch) {
    if (n->config_epoch == epoch) return;
    n->config_epoch = epoch;
    epochSeen(m, epoch);
    machineChanged(m);
}

/* ---- This node's role ---- */

static void changeRole(clusterMachine *m) {
    electionReset(m);
    manualReset(m);
    machineChanged(m);
    machineViewChanged(m);
    machineAnnounce(m);
}

/* Slots in migration stay open within a shard: this node may be promoted again. */
void becomeReplicaOf(clusterMachine *m, clusterNode *primary) {
    clusterNode *me = m->myself;
    bool same_shard = isSameShard(me, primary);
    if (nodeIsPrimary(me) || !same_shard) {
        m->offset_is_void = true;
        me->offset = 0;
    }
    slotsRelease(m, me);
    if (!same_shard) closeAll(m);
    if (me->config_epoch) m->own_epoch = me->config_epoch;
    me->config_epoch = 0;
    me->shard = primary->shard;
    nodeSetReplica(m, me, primary->seat);
    nodeFollow(m, primary, same_shard);
    changeRole(m);
}

void becomeEmptyPrimary(clusterMachine *m) {
    slotsRelease(m, m->myself);
    closeAll(m);
    nodeSetPrimary(m, m->myself);
    m->myself->config_epoch = m->own_epoch; /* nodes that have missed that it was a replica drop what has a lower one */
    machineAct(m, CLUSTER_BECOME_PRIMARY);
    machineAct(m, CLUSTER_FLUSH);
    changeRole(m);
}

static void followWinner(clusterMachine *m, clusterNode *n) {
    machineLog(m, LL_NOTICE,
               "Configuration change detected. Reconfiguring myself as a replica of node %s in shard %.40s",
               nodeName(n), n->shard.text);
    becomeReplicaOf(m, n);
}

/* ---- Claims ---- */

typedef struct slotClaim {
    clusterNode *node;
    const slotSet *slots;
    uint64_t epoch;
    bool is_whole;     /* slots that it leaves out are not claimed by the node */
    bool epoch_is_new; /* a frame of the node itself, whose last one had a lower epoch */
    bool wins_tie;     /* against this node with the same epoch */
} slotClaim;

/* Counts of what a claim has changed. */
typedef struct claimResult {
    const clusterNode *from; /* former owner of the present range */
    unsigned first, last, ranges;
    unsigned taken, changed;
    unsigned lost;                  /* by the primary of this node's shard */
    unsigned refused, refused_mine; /* refused_mine: slots of this node */
} claimResult;

/* Returns whether a person has decided at both ends that the node gets the slot: it is being moved there, and the node
 * has taken it under a new epoch. That may be below this node's, if a collision has raised this node's meanwhile. */
static bool wasMovedTo(const clusterMachine *m, unsigned slot, const slotClaim *c) {
    return c->epoch_is_new && m->migrating[slot] == c->node->seat && m->owner[slot] == m->myself->seat;
}

static bool mayTake(const clusterMachine *m, unsigned slot, const slotClaim *c) {
    const clusterNode *owner = nodeAt(m, m->owner[slot]);
    if (!owner || slotSetHas(&m->unclaimed, slot) || owner->config_epoch < c->epoch) return true;
    if (owner == m->myself && owner->config_epoch == c->epoch && c->wins_tie) return true;
    return wasMovedTo(m, slot, c);
}

/* A slot that is open here goes to another owner. */
static void changeOpenSlot(clusterMachine *m, unsigned slot, const clusterNode *to) {
    const clusterNode *target = nodeAt(m, m->migrating[slot]), *source = nodeAt(m, m->importing[slot]);
    bool is_own_shard = isSameShard(to, shardPrimary(m));
    if (target && !is_own_shard) {
        machineLog(m, LL_NOTICE, "Slot %u is no longer being migrated to node %s in shard %.40s.", slot,
                   nodeName(target), target->shard.text);
        slotClose(m, slot);
    } else if (source && !is_own_shard && isSameShard(to, source)) {
        m->importing[slot] = to->seat;
    } else if (source) {
        machineLog(m, LL_NOTICE, "Slot %u is no longer being imported from node %s in shard %.40s.", slot,
                   nodeName(source), source->shard.text);
        slotClose(m, slot);
    }
}

static void logRange(clusterMachine *m, const claimResult *r, const clusterNode *to) {
    if (!r->from || r->ranges > RANGES_LOGGED_MAX) return;
    machineLog(m, LL_NOTICE, "Slot range [%u, %u] is migrated from node %s in shard %.40s to node %s in shard %.40s.",
               r->first, r->last, nodeName(r->from), r->from->shard.text, nodeName(to), to->shard.text);
}

static void noteRange(clusterMachine *m, claimResult *r, unsigned slot, const slotClaim *c) {
    const clusterNode *from = nodeAt(m, m->owner[slot]);
    if (from && from == r->from && r->last + 1 == slot) {
        r->last = slot;
        return;
    }
    logRange(m, r, c->node);
    r->from = from;
    r->first = r->last = slot;
    r->ranges += from != NULL;
}

static void takeSlot(clusterMachine *m, unsigned slot, const slotClaim *c, claimResult *r) {
    noteRange(m, r, slot, c);
    r->taken++;
    r->lost += m->owner[slot] == shardPrimary(m)->seat;
    changeOpenSlot(m, slot, c->node);
    slotSetOwner(m, slot, c->node->seat);
}

/* Notes whether a slot of the node is claimed by it. Headers of its replicas depend on it. */
static void setClaimed(clusterMachine *m, unsigned slot, bool claimed, claimResult *r) {
    if (claimed != slotSetHas(&m->unclaimed, slot)) return;
    if (claimed) slotSetRemove(&m->unclaimed, slot);
    else slotSetAdd(&m->unclaimed, slot), m->unclaimed_ms = m->now.mono_ms;
    r->changed++;
    if (m->owner[slot] == m->myself->primary) machineChanged(m);
}

static void claimSlot(clusterMachine *m, unsigned slot, const slotClaim *c, claimResult *r) {
    bool claimed = slotSetHas(c->slots, slot);
    if (m->owner[slot] == c->node->seat) {
        if (claimed || c->is_whole) setClaimed(m, slot, claimed, r);
    } else if (claimed && mayTake(m, slot, c)) {
        takeSlot(m, slot, c, r);
    } else if (claimed) {
        r->refused++;
        r->refused_mine += m->owner[slot] == m->myself->seat;
    }
}

static uint64_t slotWord(const slotSet *s, unsigned first) {
    uint64_t word;
    memcpy(&word, s->bytes + first / 8, sizeof(word));
    return word;
}

static claimResult readClaims(clusterMachine *m, const slotClaim *c) {
    static const slotSet none = {{0}};
    claimResult r = {0};
    for (unsigned first = 0; first < CLUSTER_SLOTS; first += WORD_SLOTS) {
        uint64_t own = slotWord(c->node->slots ? c->node->slots : &none, first);
        if (slotWord(c->slots, first) == own && !(own & slotWord(&m->unclaimed, first))) continue;
        for (unsigned slot = first; slot < first + WORD_SLOTS; slot++) claimSlot(m, slot, c, &r);
    }
    logRange(m, &r, c->node);
    if (r.ranges > RANGES_LOGGED_MAX)
        machineLog(m, LL_NOTICE, "%u more ranges of slots are migrated to node %s.", r.ranges - RANGES_LOGGED_MAX,
                   nodeName(c->node));
    if (r.changed || r.refused)
        machineLog(m, LL_NOTICE, "Mismatch in topology information for sender node %s in shard %.40s",
                   nodeName(c->node), c->node->shard.text);
    if (r.taken) machineChanged(m);
    return r;
}

/* ---- Imported slots ---- */

/* Returns the entry of a shard, or the one that may be used for it: the one that ends first, an unused one before. */
static recentImport *importsOf(clusterMachine *m, const nodeId *shard) {
    recentImport *first = &m->imports[0];
    for (unsigned i = 0; i < RECENT_IMPORTS_MAX; i++) {
        recentImport *r = &m->imports[i];
        if (r->until_ms && nodeIdEqual(&r->shard, shard)) return r;
        if (r->until_ms < first->until_ms) first = r;
    }
    first->until_ms = 0;
    return first;
}

/* An election that did not know of the import is over by then: two election timeouts. */
void slotImported(clusterMachine *m, unsigned slot, const nodeId *shard) {
    recentImport *r = importsOf(m, shard);
    uint64_t wait_ms = 4 * m->config.node_timeout_ms;
    if (r->until_ms <= m->now.mono_ms) *r = (recentImport){.shard = *shard};
    slotSetAdd(&r->slots, slot);
    r->until_ms = m->now.mono_ms + (wait_ms > IMPORT_LEAST_MS ? wait_ms : IMPORT_LEAST_MS);
}

/* Counts the slots that this node has imported from the shard of `n` and that `n` claims. A slot that is to move on is
 * not among them. */
static unsigned importsClaimedBy(const clusterMachine *m, const clusterNode *n, const slotSet *slots) {
    unsigned count = 0;
    for (unsigned i = 0; i < RECENT_IMPORTS_MAX; i++) {
        const recentImport *r = &m->imports[i];
        if (r->until_ms <= m->now.mono_ms || !nodeIdEqual(&r->shard, &n->shard)) continue;
        for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
            count += slotSetHas(slots, slot) && slotSetHas(&r->slots, slot) && m->owner[slot] == m->myself->seat &&
                     !m->migrating[slot];
    }
    return count;
}

/* Takes an epoch that is greater than that of a claim to imported slots. */
static void defendImports(clusterMachine *m, const clusterNode *n, const slotSet *slots, uint64_t epoch) {
    clusterNode *me = m->myself;
    if (!nodeIsPrimary(me) || epoch <= me->config_epoch || isSameShard(n, me) || isPlain(m)) return;
    unsigned count = importsClaimedBy(m, n, slots);
    if (!count || !takeEpoch(m, 1)) return;
    machineLog(m, LL_NOTICE,
               "Node %s in shard %.40s claims %u slot(s) that this node has just imported from that shard. configEpoch "
               "set to %llu",
               nodeName(n), n->shard.text, count, ull(me->config_epoch));
    machineAnnounce(m);
}

void ownershipTick(clusterMachine *m) {
    uint64_t wait_ms = 2 * m->config.node_timeout_ms;
    unsigned released = 0;
    if (wait_ms < UNCLAIMED_LEAST_MS) wait_ms = UNCLAIMED_LEAST_MS;
    if (!m->unclaimed_ms || m->now.mono_ms - m->unclaimed_ms <= wait_ms || isPlain(m)) return;
    m->unclaimed_ms = 0;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (!slotSetHas(&m->unclaimed, slot)) continue;
        slotSetOwner(m, slot, 0);
        released++;
    }
    if (!released) return;
    machineLog(m, LL_WARNING, "%u slot(s) have no owner any more: no node claims them.", released);
    machineChanged(m);
}

/* The primary of this node's shard has lost slots to `n`: if it was the last one, this node follows the winner. */
static void afterClaims(clusterMachine *m, clusterNode *n, const claimResult *r) {
    const clusterNode *loser = shardPrimary(m);
    if (!r->lost) return;
    if (loser->slot_count) {
        if (nodeIsPrimary(m->myself)) closeSlotsThatDoNotFit(m);
        if (loser == m->myself)
            machineLog(m, LL_WARNING, "This node has lost %u slot(s) to node %s: their keys are deleted here.", r->lost,
                       nodeName(n));
    } else if (m->config.allow_replica_migration || isSameShard(loser, n)) {
        followWinner(m, n);
    } else {
        if (nodeIsPrimary(m->myself)) closeSlotsThatDoNotFit(m);
        machineLog(m, LL_WARNING, "The last slot of node %s has gone to node %s: it is left without slots.",
                   nodeName(loser), nodeName(n));
    }
}

/* ---- Collisions ---- */

/* Returns whether this node's offset is known: its dataset is loaded. */
static bool knowsOffset(const clusterMachine *m) {
    return !m->local.is_loading && m->now.mono_ms - m->started_ms >= OPERATION_TIMEOUT_MS;
}

/* Returns whether the node has more of the dataset that both claim to have. */
static bool hasBetterOffset(const clusterMachine *m, const busHeader *h) { return h->offset > m->myself->offset; }

static bool hasSmallerId(const clusterNode *a, const clusterNode *b) {
    return memcmp(&a->id, &b->id, sizeof(a->id)) < 0;
}

/* Gives the claimed slots to a primary of this shard with the same epoch. */
static void giveWay(clusterMachine *m, clusterNode *n, const busHeader *h) {
    machineLog(
        m, LL_WARNING,
        "configEpoch collision with node %s of this shard, which has the greater offset (%llu, here %llu): it keeps "
        "the slots.",
        nodeName(n), ull(h->offset), ull(m->myself->offset));
    claimResult r = readClaims(
        m, &(slotClaim){.node = n, .slots = &h->slots, .epoch = h->config_epoch, .is_whole = true, .wins_tie = true});
    afterClaims(m, n, &r);
}

static void resolveCollision(clusterMachine *m, clusterNode *n, const busHeader *h, bool claims_mine) {
    clusterNode *me = m->myself;
    if (!nodeIsPrimary(me) || !nodeIsPrimary(n) || n->config_epoch != me->config_epoch) return;
    bool is_smaller = hasSmallerId(me, n), takes = is_smaller;
    bool is_of_shard = claims_mine && isSameShard(me, n) && !isPlain(m);
    if (is_of_shard && !knowsOffset(m)) return;
    if (is_of_shard && h->offset != me->offset) {
        if (hasBetterOffset(m, h)) {
            giveWay(m, n, h);
            return;
        }
        takes = true;
    }
    if (!takes || !takeEpoch(m, is_smaller ? 1 : 2)) return;
    machineLog(m, LL_NOTICE, "configEpoch collision with node %s. configEpoch set to %llu", nodeName(n),
               ull(me->config_epoch));
    machineAnnounce(m);
}

/* ---- Reading headers ---- */

/* A replica that is a primary's has its shard. Replicas of a replica have the shard whose dataset they have. */
static void setShard(clusterMachine *m, clusterNode *n, const nodeId *shard) {
    if (nodeIdIsNone(shard) || nodeIdEqual(&n->shard, shard)) return;
    nodeId value = *shard;
    n->shard = value;
    EACH_NODE (m, replica)
        if (nodeIsPrimary(n) && replica->primary == n->seat) replica->shard = value;
    machineChanged(m);
    machineViewChanged(m);
}

/* Returns whether an old statement of a node is ignored. If it says nothing else for long, its frames are not late: its
 * nodes file was set back. */
static bool ignoresOld(clusterMachine *m, clusterNode *n, const busHeader *h) {
    if (!n->old_since_ms) n->old_since_ms = m->now.mono_ms;
    if (m->now.mono_ms - n->old_since_ms > 2 * m->config.node_timeout_ms) return false;
    machineLog(m, LL_DEBUG,
               "Ignore stale message from %s in shard %.40s; gossip config epoch: %llu, current config epoch: %llu",
               nodeName(n), n->shard.text, ull(h->config_epoch), ull(n->config_epoch));
    return true;
}

/* Returns whether a frame is older than others that the node has sent. A primary's config epoch falls only if it has
 * been a replica meanwhile: then its current epoch shows which frame is newer. */
static bool isOld(const clusterMachine *m, const clusterNode *n, const busHeader *h) {
    if (isPlain(m)) return false;
    if (h->current_epoch < n->current_epoch) return true;
    if (!nodeIdIsNone(&h->primary) || h->config_epoch >= n->config_epoch) return false;
    return h->current_epoch == n->current_epoch || h->current_epoch < n->config_epoch;
}

static void promoteNode(clusterMachine *m, clusterNode *n) {
    if (nodeSetPrimary(m, n))
        machineLog(m, LL_NOTICE, "Reconfiguring node %s as primary for shard %.40s", nodeName(n), n->shard.text);
}

/* A primary without slots that meets a newer one of its shard has missed its failover. */
static bool hasBeenReplaced(const clusterMachine *m, const clusterNode *n) {
    const clusterNode *me = m->myself;
    if (!nodeIsPrimary(me) || me->slot_count || !isSameShard(me, n)) return false;
    return n->config_epoch > me->config_epoch || (n->config_epoch == me->config_epoch && n->slot_count);
}

static void readPrimary(clusterMachine *m, clusterNode *n, const busFrame *f) {
    const busHeader *h = &f->header;
    bool epoch_is_new = h->config_epoch > n->config_epoch;
    n->old_since_ms = 0;
    promoteNode(m, n);
    setShard(m, n, &f->extensions.shard);
    if (epoch_is_new || !isPlain(m)) setEpoch(m, n, h->config_epoch);
    defendImports(m, n, &h->slots, h->config_epoch);
    claimResult r = readClaims(
        m,
        &(slotClaim){
            .node = n, .slots = &h->slots, .epoch = h->config_epoch, .is_whole = true, .epoch_is_new = epoch_is_new});
    afterClaims(m, n, &r);
    if (hasBeenReplaced(m, n)) followWinner(m, n);
    else resolveCollision(m, n, h, r.refused_mine > 0);
}

/* The former primary `n` of this node's shard follows this node. All others give the slots that it had to this node, so
 * this node takes those that `n` takes for its own; the rest has another owner. Whether their keys are here or not,
 * `n` replaces its dataset by this node's: a slot without an owner would keep no key. */
static void takeSlotsOfFormer(clusterMachine *m, const clusterNode *n, const busHeader *h) {
    unsigned count = 0;
    for (unsigned slot = 0; n->slot_count && slot < CLUSTER_SLOTS; slot++) {
        if (m->owner[slot] != n->seat || !slotSetHas(&h->slots, slot)) continue;
        slotSetOwner(m, slot, m->myself->seat);
        count++;
    }
    if (!count) return;
    closeSlotsThatDoNotFit(m);
    machineLog(m, LL_WARNING,
               "Node %s, which follows this node now, leaves it %u slot(s). Those of their keys that have not been "
               "replicated to this node are lost.",
               nodeName(n), count);
    machineChanged(m);
    machineAnnounce(m);
}

/* The former primary `n` follows `to`: within its shard, its slots are those of `to` now. Otherwise it has given them
 * up, and its frame says which of them `to` has. */
static void moveSlotsOfFormer(clusterMachine *m, clusterNode *n, clusterNode *to, const busHeader *h) {
    bool is_successor = to != m->myself && isSameShard(n, to);
    if (is_successor) promoteNode(m, to);
    if (to != m->myself && nodeIsPrimary(to)) {
        if (h->config_epoch > to->config_epoch) setEpoch(m, to, h->config_epoch);
        if (is_successor) {
            machineLog(m, LL_NOTICE,
                       "A failover occurred in shard %.40s; node %s lost %u slot(s) and failed over to node %s with a "
                       "config epoch of %llu",
                       n->shard.text, nodeName(n), n->slot_count, nodeName(to), ull(to->config_epoch));
            slotsMove(m, n, to);
            return;
        }
        claimResult r = readClaims(m, &(slotClaim){.node = to, .slots = &h->slots, .epoch = h->config_epoch});
        afterClaims(m, to, &r);
    }
    if (to == m->myself && isSameShard(n, to) && !isPlain(m)) takeSlotsOfFormer(m, n, h);
    if (!n->slot_count) return;
    machineLog(m, LL_NOTICE, "Node %s is no longer primary of shard %.40s; removed all %u slot(s) it used to own",
               nodeName(n), n->shard.text, n->slot_count);
    slotsRelease(m, n);
}

/* A primary says that it replicates `to` (NULL: a node that is not known yet). Returns false if that is old, or cannot
 * be understood yet. */
static bool demote(clusterMachine *m, clusterNode *n, clusterNode *to, const busHeader *h) {
    if (n->slot_count && (!to || (to == m->myself && nodeIsReplica(to)))) return false;
    bool is_old = n->slot_count && isSameShard(n, to) &&
                  (h->config_epoch < n->config_epoch || h->config_epoch < to->config_epoch);
    if (is_old && ignoresOld(m, n, h)) return false;
    if (n->slot_count) moveSlotsOfFormer(m, n, to, h);
    if (to && isSameShard(n, to)) moveOpenSlots(m, n, to);
    setEpoch(m, n, 0);
    return true;
}

/* A replica of this node's primary knows a newer epoch of it: without it this node would not be elected. Slots that the
 * primary has lost meanwhile are not claimed for it. */
static void learnEpochOfPrimary(clusterMachine *m, clusterNode *primary, const busHeader *h) {
    claimResult r = {0};
    if (primary->seat != m->myself->primary || h->config_epoch <= primary->config_epoch) return;
    if (!nodeIsPrimary(primary)) return;
    setEpoch(m, primary, h->config_epoch);
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (m->owner[slot] == primary->seat && !slotSetHas(&h->slots, slot)) setClaimed(m, slot, false, &r);
}

static void readReplica(clusterMachine *m, clusterNode *n, const busFrame *f) {
    const busHeader *h = &f->header;
    clusterNode *primary = nodeById(m, &h->primary);
    if (primary == n || (nodeIsPrimary(n) && !demote(m, n, primary, h))) return;
    n->old_since_ms = 0;
    nodeSetReplica(m, n, primary ? primary->seat : 0);
    setShard(m, n, primary ? &primary->shard : &f->extensions.shard);
    if (primary) learnEpochOfPrimary(m, primary, h);
}

/* A replica of a replica follows the primary itself. */
static void leaveReplica(clusterMachine *m) {
    clusterNode *old = shardPrimary(m), *n = old->primary ? nodeAt(m, old->primary) : NULL;
    if (old == m->myself || !n || n == m->myself || !nodeIsPrimary(n)) return;
    machineLog(m, LL_NOTICE, "I'm a sub-replica! Reconfiguring myself as a replica of %.40s from %.40s", n->id.text,
               old->id.text);
    becomeReplicaOf(m, n);
}

/* Returns the owner of a claimed slot whose epoch is greater than that of the claim; NULL: there is none. */
static const clusterNode *newerOwner(const clusterMachine *m, const clusterNode *claims, const busHeader *h) {
    bool knows = claims->slots && claims->config_epoch <= h->config_epoch;
    for (unsigned first = 0; first < CLUSTER_SLOTS; first += WORD_SLOTS) {
        uint64_t word = slotWord(&h->slots, first) & ~slotWord(&m->unclaimed, first);
        if (knows) word &= ~slotWord(claims->slots, first);
        for (unsigned slot = first; word && slot < first + WORD_SLOTS; slot++) {
            const clusterNode *owner = nodeAt(m, m->owner[slot]);
            if (!slotSetHas(&h->slots, slot) || slotSetHas(&m->unclaimed, slot)) continue;
            if (owner && owner->config_epoch > h->config_epoch) return owner;
        }
    }
    return NULL;
}

/* Returns whether a primary has an older epoch than it once had: it has followed another node meanwhile, and was made
 * an empty primary by an operator. Its frames count again when it has taken the epoch back. */
static bool hasLostEpoch(const clusterNode *n, const busHeader *h) {
    return nodeIsPrimary(n) && nodeIdIsNone(&h->primary) && h->config_epoch < n->config_epoch;
}

/* Sends UPDATE to a node that claims slots under an old epoch. If it is about this node, it must be on disk. */
static void correct(clusterMachine *m, const clusterNode *n, const busHeader *h) {
    const clusterNode *claims = nodeIsReplica(n) && n->primary ? nodeAt(m, n->primary) : n;
    const clusterNode *owner = newerOwner(m, claims, h);
    if (!owner && hasLostEpoch(n, h) && !isPlain(m)) owner = n;
    clusterLink *l = linkTo(m, n);
    if (!owner || !l || !l->is_up || (owner == m->myself && m->saved_version < m->version)) return;
    sendUpdate(m, l, owner);
}

void ownershipRead(clusterMachine *m, clusterNode *sender, const busFrame *f) {
    const busHeader *h = &f->header;
    epochSeen(m, h->current_epoch);
    epochSeen(m, h->config_epoch);
    if (!isOld(m, sender, h) || !ignoresOld(m, sender, h)) {
        sender->current_epoch = h->current_epoch;
        if (!nodeIdIsNone(&h->primary) || (h->flags & NODE_REPLICA)) readReplica(m, sender, f);
        else readPrimary(m, sender, f);
        leaveReplica(m);
    }
    correct(m, sender, h);
}

/* ---- UPDATE ---- */

/* Other nodes know a newer epoch of this node than it does itself: its nodes file is an old one. Slots that it has lost
 * since then are given up. */
static void rememberEpoch(clusterMachine *m, const busFrame *f) {
    clusterNode *me = m->myself;
    if (!nodeIsPrimary(me) || f->subject_epoch <= me->config_epoch || isPlain(m)) return;
    machineLog(m, LL_WARNING, "This node has had config epoch %llu, but its nodes file is older (epoch %llu).",
               ull(f->subject_epoch), ull(me->config_epoch));
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        if (m->owner[slot] != me->seat || slotSetHas(&f->subject_slots, slot)) continue;
        slotClose(m, slot);
        slotSetOwner(m, slot, 0);
    }
    setEpoch(m, me, f->subject_epoch);
}

void updateRead(clusterMachine *m, clusterNode *sender, const busFrame *f) {
    clusterNode *n = nodeById(m, &f->subject);
    if (!sender || !n) return;
    epochSeen(m, f->subject_epoch);
    if (n == m->myself) {
        rememberEpoch(m, f);
        return;
    }
    const clusterNode *primary = nodeIsReplica(n) && n->primary ? nodeAt(m, n->primary) : n;
    defendImports(m, n, &f->subject_slots, f->subject_epoch);
    if (f->subject_epoch <= n->config_epoch || f->subject_epoch <= primary->config_epoch) return;
    promoteNode(m, n);
    setEpoch(m, n, f->subject_epoch);
    claimResult r =
        readClaims(m, &(slotClaim){.node = n, .slots = &f->subject_slots, .epoch = f->subject_epoch, .is_whole = true});
    afterClaims(m, n, &r);
    leaveReplica(m);
}
