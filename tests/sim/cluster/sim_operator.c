/* sim_operator.c -- the operator: makes the cluster, gives commands at bad moments, and drills when all is well.
 *
 *   create -> join -> replicate -> settle -> storm (faults) -> heal -> drill -> recover -> end
 *
 * Each phase but the storm has a bound of time, and ends when all nodes agree for a second.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

enum { DRILL_NONE, DRILL_KILL, DRILL_FAILOVER, DRILL_FORCE, DRILL_ADDRESSES, DRILL_STALL, DRILLS };

static simTime timeout(const simWorld *w) { return w->config.node_timeout_ms * MS; }

static void phaseBegin(simWorld *w, simPhase phase) {
    w->phase = phase;
    w->phase_began = w->now;
    w->agreed_since = 0;
    w->operated = 0;
    if (simTraces(w, 99)) simTrace(w, NULL, "phase %s", sim_phase_names[phase]);
}

/* ---- Commands ---- */

static bool ok(const char *reply) { return reply && reply[0] == '+'; }

static bool meet(simWorld *w, simNode *n, const simNode *other) {
    clusterCommand c = {.kind = CLUSTER_MEET, .ip = other->ip, .port = other->port, .bus_port = other->bus_port};
    return ok(nodeCommand(w, n, &c));
}

static bool replicate(simWorld *w, simNode *n, const simNode *primary) {
    clusterCommand c = {.kind = CLUSTER_REPLICATE, .node = primary->id};
    return ok(nodeCommand(w, n, &c));
}

static bool addSlots(simWorld *w, simNode *n, const slotSet *slots) {
    clusterCommand c = {.kind = CLUSTER_ADD_SLOTS, .slots = slots};
    return ok(nodeCommand(w, n, &c));
}

static bool failover(simWorld *w, simNode *n, bool force, bool takeover) {
    clusterCommand c = {.kind = CLUSTER_FAILOVER, .force = force, .takeover = takeover};
    return ok(nodeCommand(w, n, &c));
}

static simNode *anyNode(simWorld *w, rng *r) { return &w->nodes[worldBelow(r, w->count)]; }

static simNode *anyOfRole(simWorld *w, rng *r, bool replica) {
    for (unsigned try = 0; try < 30; try++) {
        simNode *n = anyNode(w, r);
        if (n->alive && !n->stopped && n->is_replica == replica) return n;
    }
    return NULL;
}

static bool takesKeys(const simNode *n) { return n->alive && !n->stopped && n->server.is_primary && !n->is_replica; }

/* One step of moving a slot from one primary to another, as tools do it. */
static void move(simWorld *w, rng *r) {
    simNode *from = &w->nodes[w->move_from], *to = &w->nodes[w->move_to];
    unsigned slot = (unsigned)w->move_slot;
    clusterCommand c = {.slot = slot};
    if (w->move_step == 0 || worldChance(r, 0.05)) { /* sometimes one is left half done */
        w->move_step = 0;
        w->move_slot = worldChance(r, 0.5) ? worldBelow(r, SIM_KEYS) * (CLUSTER_SLOTS / SIM_KEYS)
                                           : worldBelow(r, CLUSTER_SLOTS);
        from = anyOfRole(w, r, false);
        to = anyOfRole(w, r, false);
        if (!from || !to || from == to) return;
        const clusterNode *owner = clusterOwner(from->machine, (unsigned)w->move_slot);
        if (!owner || !nodeIdEqual(&owner->id, &from->id)) return;
        w->move_from = from->index;
        w->move_to = to->index;
        w->exempt[w->move_slot / (CLUSTER_SLOTS / SIM_KEYS)] = true;
        w->move_step = 1;
        return;
    }
    simNode *at = w->move_step == 1 || w->move_step == 4 ? to : from;
    c.kind = w->move_step == 1 ? CLUSTER_SET_IMPORTING : w->move_step == 2 ? CLUSTER_SET_MIGRATING : CLUSTER_SET_OWNER;
    c.node = w->move_step == 1 ? from->id : to->id;
    /* The reply to the target's SETSLOT counts when it is on disk there: the server holds it back until then. */
    if (w->move_step == 5 && !slotSetHas(&to->disk.slots, slot)) {
        w->move_step = 4;
        return;
    }
    /* A target that has been replaced meanwhile is not named to others any more. */
    if (w->move_step > 4 && to->is_replica) {
        w->move_step = 0;
        return;
    }
    if (w->move_step == 3) {
        if (takesKeys(from) && takesKeys(to)) serverMoveKeys(w, from, to, slot);
    } else if (w->move_step <= 5) {
        if (!ok(nodeCommand(w, at, &c))) return; /* the same again */
        serverObey(w, at, &c);
    } else {
        for (unsigned i = 0; i < w->count; i++)
            if (w->nodes[i].alive && !w->nodes[i].is_replica) nodeCommand(w, &w->nodes[i], &c);
    }
    w->move_step = (w->move_step + 1) % 7;
}

/* Returns the node that owns a slot: the primary that claims it under the greatest epoch, running or on disk. */
static const simNode *trueOwner(const simWorld *w, unsigned slot) {
    const simNode *owner = NULL;
    uint64_t best = 0;
    for (unsigned i = 0; i < w->count; i++) {
        const simNode *n = &w->nodes[i];
        const clusterNode *me = n->alive ? clusterMyself(n->machine) : NULL;
        bool claims = me ? me->slots && slotSetHas(me->slots, slot)
                         : slotSetHas(&n->disk.slots, slot) && nodeIdIsNone(&n->disk.primary);
        uint64_t epoch = me ? me->config_epoch : n->disk.my_epoch;
        if (!claims || epoch < best) continue;
        best = epoch;
        owner = n;
    }
    return owner;
}

/* Notes the slots that a command may leave without an owner. DELSLOTS of a former primary does not: its successor has
 * the slots. */
static void noteDeleted(simWorld *w, const simNode *n, const clusterCommand *c) {
    bool is_exact = c->kind == CLUSTER_DEL_SLOTS;
    if (c->kind == CLUSTER_FLUSH_SLOTS) memset(&w->deleted, 0xff, sizeof(w->deleted));
    for (unsigned s = 0; s < CLUSTER_SLOTS; s++) {
        if (!slotSetHas(c->slots, s)) continue;
        const simNode *owner = is_exact ? trueOwner(w, s) : NULL;
        if (!owner || owner == n) slotSetAdd(&w->deleted, s);
    }
}

static void strangeSlots(simWorld *w, rng *r, simNode *n) {
    static const clusterCommandKind kinds[] = {CLUSTER_ADD_SLOTS,     CLUSTER_DEL_SLOTS,  CLUSTER_SET_MIGRATING,
                                               CLUSTER_SET_IMPORTING, CLUSTER_SET_STABLE, CLUSTER_SET_OWNER,
                                               CLUSTER_FLUSH_SLOTS,   CLUSTER_TAKE_SLOTS};
    slotSet slots = {{0}};
    unsigned first = (unsigned)worldBelow(r, CLUSTER_SLOTS);
    for (unsigned s = first; s < CLUSTER_SLOTS && s < first + 50; s++) slotSetAdd(&slots, s);
    clusterCommand c = {.kind = kinds[worldBelow(r, 8)], .slots = &slots, .slot = first, .node = anyNode(w, r)->id};
    if (c.kind == CLUSTER_FLUSH_SLOTS && worldChance(r, 0.8)) return;
    w->slots_may_go = w->data_may_go = w->epochs_may_clash = true;
    if (c.kind != CLUSTER_ADD_SLOTS) noteDeleted(w, n, &c);
    nodeCommand(w, n, &c);
}

static void members(simWorld *w, rng *r, simNode *n) {
    simNode *other = anyNode(w, r);
    w->members_change = w->data_may_go = true;
    if (worldChance(r, 0.4)) {
        meet(w, n, other);
    } else if (worldChance(r, 0.2)) {
        clusterCommand c = {.kind = CLUSTER_MEET, .ip = "10.9.9.9", .port = 7000, .bus_port = 17000};
        nodeCommand(w, n, &c);
    } else {
        w->slots_may_go = w->epochs_may_clash = true;
        clusterCommand c = {.kind = CLUSTER_FORGET, .node = other->id};
        nodeCommand(w, n, &c);
    }
}

static void reset(simWorld *w, rng *r, simNode *n) {
    clusterCommand c = {.kind = worldChance(r, 0.3) ? CLUSTER_REPLICATE_NO_ONE : CLUSTER_RESET,
                        .hard = worldChance(r, 0.5)};
    w->members_change = w->data_may_go = w->slots_may_go = w->epochs_may_clash = true;
    for (unsigned i = 0; i < w->count; i++) w->nodes[i].epoch_may_fall = true;
    nodeCommand(w, n, &c);
}

void operatorDisturb(simWorld *w, unsigned kind) {
    rng *r = &w->fault[kind];
    if (w->phase != PHASE_STORM) return;
    simNode *n = anyOfRole(w, r, kind == FAULT_FAILOVERS || (kind == FAULT_RESETS && worldChance(r, 0.7)));
    clusterCommand bump = {.kind = CLUSTER_BUMP_EPOCH};
    if (!n) return;
    switch (kind) {
    case FAULT_FAILOVERS: {
        bool force = worldChance(r, 0.4);
        if (force && !n->server.has_dataset) w->data_may_go = true; /* a person wants it so */
        failover(w, n, force, false);
        break;
    }
    case FAULT_TAKEOVERS:
        w->epochs_may_clash = w->data_may_go = true;
        if (worldChance(r, 0.5)) nodeCommand(w, n, &bump);
        else if ((n = anyOfRole(w, r, true))) failover(w, n, true, true);
        break;
    case FAULT_REPLICATES:
        n = anyNode(w, r);
        replicate(w, n, anyNode(w, r));
        break;
    case FAULT_MOVES: move(w, r); break;
    case FAULT_MEMBERS: members(w, r, n); break;
    case FAULT_RESETS: reset(w, r, n); break;
    case FAULT_SLOTS: strangeSlots(w, r, n); break;
    default: break;
    }
}

/* ---- Making the cluster ---- */

static void create(simWorld *w) {
    for (unsigned i = 0; i < w->primaries; i++) {
        slotSet slots = {{0}};
        for (unsigned s = CLUSTER_SLOTS * i / w->primaries; s < CLUSTER_SLOTS * (i + 1) / w->primaries; s++)
            slotSetAdd(&slots, s);
        clusterCommand epoch = {.kind = CLUSTER_SET_CONFIG_EPOCH, .epoch = i + 1};
        if (!ok(nodeCommand(w, &w->nodes[i], &epoch)) || !addSlots(w, &w->nodes[i], &slots))
            simFault(w, nodeBit(i), "a cluster can be made", "n%u: %s", i, w->nodes[i].reply);
    }
    phaseBegin(w, PHASE_JOIN);
}

static bool allKnow(simWorld *w) {
    for (unsigned i = 0; i < w->count; i++) {
        const simNode *n = &w->nodes[i];
        if (!n->alive || clusterSummarize(n->machine).known_nodes != w->count) return false;
        for (unsigned j = 0; j < w->count; j++)
            if (!clusterNodeById(n->machine, &w->nodes[j].id)) return false;
    }
    return true;
}

static void join(simWorld *w) {
    bool again = w->storm_from_start && w->now - w->operated >= 5 * SECOND;
    if (!w->operated || again)
        for (unsigned i = 1; i < w->count; i++) meet(w, &w->nodes[0], &w->nodes[i]);
    if (!w->operated || again) w->operated = w->now;
    if (allKnow(w)) phaseBegin(w, PHASE_REPLICATE);
}

/* Returns the primary that node `i` is to follow. A storm from the start may have given its slots to a replica. */
static const simNode *primaryOf(simWorld *w, unsigned i) {
    const simNode *first = &w->nodes[i % w->primaries];
    const simNode *now = first->is_replica ? nodeOfId(w, &first->primary_id) : NULL;
    return now ? now : first;
}

static void replicateAll(simWorld *w) {
    bool all = true;
    for (unsigned i = w->primaries; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        if (!n->alive || n->stopped) all = false;
        else if (!n->is_replica && !clusterMyself(n->machine)->slot_count && !replicate(w, n, primaryOf(w, i)))
            all = false;
    }
    if (all) phaseBegin(w, w->storm_from_start ? PHASE_STORM : PHASE_SETTLE);
}

/* ---- Repairs after commands that drop nodes or slots ---- */

/* Ids that no node has any more, after a hard reset, have to be forgotten by hand. */
static void forgetGhosts(simWorld *w) {
    for (unsigned i = 0; i < w->count; i++) {
        nodeId ghosts[SIM_NODES_MAX];
        unsigned count = 0;
        const clusterMachine *m = w->nodes[i].machine;
        for (const clusterNode *c = clusterNodeNext(m, NULL); c; c = clusterNodeNext(m, c))
            if (!(c->flags & NODE_HANDSHAKE) && !nodeOfId(w, &c->id) && count < SIM_NODES_MAX) ghosts[count++] = c->id;
        for (unsigned k = 0; k < count; k++) {
            clusterCommand c = {.kind = CLUSTER_FORGET, .node = ghosts[k]};
            const char *reply = nodeCommand(w, &w->nodes[i], &c);
            /* A replica of a primary that is no more gets another one. */
            simNode *p = anyOfRole(w, &w->operator_, false);
            if (!ok(reply) && p) replicate(w, &w->nodes[i], p);
        }
    }
}

/* Nodes that have all moved without a name that leads to them do not find each other. */
static bool needsMeets(const simWorld *w) { return worldHas(w, FAULT_ADDRESS) && !w->all_have_names; }

static void meetMoved(simWorld *w) {
    for (unsigned i = 0; i < w->count; i++)
        for (unsigned j = 0; j < w->count; j++) {
            const clusterNode *seen = clusterNodeById(w->nodes[i].machine, &w->nodes[j].id);
            if (i != j && seen && !seen->link_out_ms) meet(w, &w->nodes[i], &w->nodes[j]);
        }
}

/* A slot without an owner has been taken from it by a command. */
static void checkOwned(simWorld *w) {
    const unsigned others[] = {FAULT_MEMBERS, FAULT_RESETS,     FAULT_TAKEOVERS, FAULT_MOVES,
                               FAULT_AMNESIA, FAULT_REPLICATES, FAULT_ADDRESS,   FAULT_FORGE};
    for (unsigned i = 0; i < sizeof(others) / sizeof(others[0]); i++)
        if (worldHas(w, others[i])) return;
    for (unsigned s = 0; s < CLUSTER_SLOTS; s++) {
        bool owned = slotSetHas(&w->deleted, s);
        for (unsigned i = 0; i < w->count && !owned; i++) owned = clusterOwner(w->nodes[i].machine, s) != NULL;
        if (!owned) simFault(w, UINT64_MAX, "a slot keeps its owner", "slot %u has none", s);
    }
}

static void repair(simWorld *w) {
    if (w->now - w->operated < 2 * SECOND) return;
    w->operated = w->now;
    if (w->members_change || w->storm_from_start)
        for (unsigned i = 0; i < w->count; i++)
            for (unsigned j = 0; j < w->count; j++)
                if (i != j && !clusterNodeById(w->nodes[i].machine, &w->nodes[j].id))
                    meet(w, &w->nodes[i], &w->nodes[j]);
    if (w->members_change) forgetGhosts(w);
    if (needsMeets(w) && w->now - w->phase_began > 3 * timeout(w)) meetMoved(w);
    if (!w->slots_may_go || w->now - w->phase_began < 2 * timeout(w)) return;
    checkOwned(w);
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        slotSet none = {{0}};
        for (unsigned s = 0; s < CLUSTER_SLOTS; s++)
            if (!clusterOwner(n->machine, s)) slotSetAdd(&none, s);
        if (n->is_replica || !slotSetCount(&none) || clusterSummarize(n->machine).known_nodes != w->count) continue;
        addSlots(w, n, &none);
        break;
    }
}

/* ---- Drills ---- */

/* A primary whose replicas are all well. Sets *replica to one of them. */
static simNode *drillPrimary(simWorld *w, simNode **replica) {
    for (unsigned try = 0; try < 50; try++) {
        simNode *n = anyOfRole(w, &w->operator_, true);
        simNode *p = n ? nodeOfId(w, &n->primary_id) : NULL;
        if (!p || !clusterMyself(p->machine)->slot_count || !n->server.link_is_up || !clusterSummarize(n->machine).ok)
            continue;
        *replica = n;
        return p;
    }
    return NULL;
}

static void drillBegin(simWorld *w) {
    simNode *replica = NULL, *p = drillPrimary(w, &replica);
    w->drill = (unsigned)worldBelow(&w->operator_, DRILLS);
    if (!p && w->drill != DRILL_ADDRESSES) w->drill = DRILL_NONE;
    /* Two primaries have no majority when one is down. */
    bool stops = w->drill == DRILL_KILL || w->drill == DRILL_STALL;
    if (stops && clusterSummarize(w->nodes[0].machine).size < 3) w->drill = DRILL_FAILOVER;
    phaseBegin(w, PHASE_DRILL);
    if (w->drill == DRILL_NONE) return;
    if (simTraces(w, 99))
        simTrace(w, NULL, "drill %u of n%u, replica n%u", w->drill, p ? p->index : 0, replica ? replica->index : 0);
    w->drill_old = p ? p->index : 0;
    w->drill_node = replica ? replica->index : 0;
    w->drill_lost = w->stats.lost;
    /* Losses of earlier failovers do not count. */
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        int owner = w->nodes[0].server.owner[k];
        if (owner >= 0) w->accepted[k] = w->nodes[owner].server.version[k];
    }
    switch (w->drill) {
    case DRILL_KILL: nodeKill(w, p, worldChance(&w->operator_, 0.5)); break;
    case DRILL_STALL: p->stopped = true, p->stops++; break;
    case DRILL_FAILOVER:
    case DRILL_FORCE:
        if (!failover(w, replica, w->drill == DRILL_FORCE, false))
            simFault(w, nodeBit(replica->index), "a failover can be asked for", "%s", replica->reply);
        break;
    case DRILL_ADDRESSES:
        /* All move at once; without host names all but one. */
        for (unsigned i = 0, stays = (unsigned)worldBelow(&w->operator_, w->count); i < w->count; i++) {
            uint64_t a = ++w->next_address;
            if (i == stays && !w->all_have_names) continue;
            nodeKill(w, &w->nodes[i], false);
            snprintf(w->nodes[i].ip, NODE_IP_LEN, "10.3.%u.%u", (unsigned)(a / 200 % 250), (unsigned)(1 + a % 200));
        }
        for (unsigned i = 0; i < w->count; i++)
            if (!w->nodes[i].alive) nodeStart(w, &w->nodes[i]);
        break;
    default: break;
    }
}

/* Returns whether another node of the shard serves its slots, and the others know it. Sets *without to one that does
 * not. */
static bool replaced(simWorld *w, unsigned *without) {
    const simNode *old = &w->nodes[w->drill_old];
    unsigned good = 0, alive = 0;
    for (unsigned i = 0; i < w->count; i++) {
        const simNode *n = &w->nodes[i];
        if (!n->alive || n->stopped) continue;
        alive++;
        clusterSummary s = clusterSummarize(n->machine);
        bool known = s.ok && n->server.view_ok && s.slots_failed == 0;
        for (unsigned k = 0; k < SIM_KEYS && known; k++)
            known = n->server.owner[k] != (int)old->index && (n->server.owner[k] >= 0 || w->slots_may_go);
        good += known;
        if (!known) *without = i;
    }
    return good == alive;
}

static simTime drillBound(const simWorld *w) {
    if (w->drill == DRILL_FAILOVER || w->drill == DRILL_FORCE)
        return w->config.manual_failover_timeout_ms * MS + SECOND;
    /* With the votes split, none of the candidates may have the majority; each tries again after twice the election
     * timeout. */
    simTime two = 2 * timeout(w) > 2 * SECOND ? 2 * timeout(w) : 2 * SECOND;
    return 3 * timeout(w) + 3 * SECOND + (w->drill_is_split ? 2 * two + SECOND : 0);
}

static void drillLook(simWorld *w) {
    bool change = w->drill != DRILL_NONE && w->drill != DRILL_ADDRESSES;
    simTime passed = w->now - w->phase_began;
    unsigned without = 0;
    if (change && !replaced(w, &without)) {
        if (passed > drillBound(w))
            simFault(w, nodeBit(w->drill_old) | nodeBit(w->drill_node) | nodeBit(without), "a failover is done in time",
                     "drill %u of n%u by n%u: not for n%u", w->drill, w->drill_old, w->drill_node, without);
        return;
    }
    if (change && passed > w->stats.drill_max) w->stats.drill_max = passed;
    if (w->drill == DRILL_FAILOVER && w->stats.lost != w->drill_lost)
        simFault(w, nodeBit(w->drill_old) | nodeBit(w->drill_node), "a manual failover loses nothing", "%llu keys",
                 (unsigned long long)(w->stats.lost - w->drill_lost));
    simNode *old = &w->nodes[w->drill_old];
    if (!old->alive) nodeStart(w, old);
    nodeResume(w, old);
    phaseBegin(w, PHASE_RECOVER);
}

/* ---- Looking ---- */

static simTime bound(const simWorld *w) {
    simTime t = timeout(w), two = 2 * t > 2 * SECOND ? 2 * t : 2 * SECOND;
    switch (w->phase) {
    case PHASE_CREATE:
    case PHASE_JOIN:
    case PHASE_REPLICATE:
    case PHASE_SETTLE: return (w->storm_from_start ? 3 * w->storm_length : 0) + 3 * t + 10 * SECOND;
    case PHASE_HEAL: {
        /* Elections are tried again after twice the election timeout; replicas migrate after 5 s; a primary that was in
         * a minority waits up to 5 s; forgotten nodes are forgotten for a time. */
        simTime members = w->members_change ? w->config.blacklist_ttl_s * SECOND + 4 * t : 0;
        if (needsMeets(w)) members += 6 * t;
        if (worldHas(w, FAULT_FAILOVERS)) members += w->config.manual_failover_timeout_ms * MS;
        return 3 * t + 2 * two + 15 * SECOND + members + (w->slots_may_go ? 6 * t + 10 * SECOND : 0);
    }
    case PHASE_RECOVER: return 3 * t + two + 12 * SECOND;
    default: return UINT64_MAX;
    }
}

static void agreed(simWorld *w) {
    simTime took = w->agreed_since - w->phase_began;
    switch (w->phase) {
    case PHASE_SETTLE:
        if (took > w->stats.settle_max) w->stats.settle_max = took;
        phaseBegin(w, PHASE_STORM);
        break;
    case PHASE_HEAL:
        if (took > w->stats.heal_max) w->stats.heal_max = took;
        drillBegin(w);
        break;
    case PHASE_RECOVER:
        for (unsigned i = 0; i < w->count; i++)
            if (w->now < w->nodes[i].server.paused_until)
                simFault(w, nodeBit(i), "writes are resumed", "n%u is paused for %.1f s more after drill %u", i,
                         (double)(w->nodes[i].server.paused_until - w->now) / 1e6, w->drill);
        checkEnd(w);
        phaseBegin(w, PHASE_END);
        break;
    default: break;
    }
}

static void lookForAgreement(simWorld *w) {
    uint64_t nodes;
    const char *why = checkAgreement(w, &nodes);
    if (!why && !w->agreed_since) w->agreed_since = w->now;
    if (why) w->agreed_since = 0;
    /* A manual failover of the storm may still run: the drill would change nothing. */
    bool waits = w->phase == PHASE_HEAL &&
                 (w->now - w->phase_began < w->config.manual_failover_timeout_ms * MS + SECOND || !netIsCalm(w));
    if (!why && !waits && w->now - w->agreed_since >= SECOND) agreed(w);
    else if (why && w->now - w->phase_began > bound(w))
        simFault(w, nodes, "all agree in time", "%s: %s", sim_phase_names[w->phase], why);
}

static void stormBegin(simWorld *w) {
    w->operated = w->now;
    for (unsigned i = 0; i < w->clients; i++)
        worldAt(w, w->now + worldBelow(&w->client, w->client_gap), (simEvent){.kind = SIM_CLIENT, .number = i});
    if (!w->storm_from_start) faultsBegin(w);
}

void operatorLook(simWorld *w) {
    switch (w->phase) {
    case PHASE_CREATE:
        if (w->storm_from_start) faultsBegin(w);
        create(w);
        break;
    case PHASE_JOIN: join(w); break;
    case PHASE_REPLICATE: replicateAll(w); break;
    case PHASE_STORM:
        if (!w->operated) stormBegin(w);
        if (w->now - w->phase_began < w->storm_length) break;
        phaseBegin(w, PHASE_HEAL);
        faultsHeal(w);
        break;
    case PHASE_HEAL: repair(w); break;
    case PHASE_DRILL: drillLook(w); break;
    default: break;
    }
    bool waits = w->phase == PHASE_SETTLE || w->phase == PHASE_HEAL || w->phase == PHASE_RECOVER;
    if (waits) lookForAgreement(w);
    else if (w->phase < PHASE_STORM && w->now - w->phase_began > bound(w))
        simFault(w, UINT64_MAX, "a cluster can be made", "phase %s takes too long", sim_phase_names[w->phase]);
    /* A storm from the start may hold up the making for as long as it lasts. */
    if (w->storm_from_start && w->phase < PHASE_STORM && w->now > 2 * w->storm_length && !w->healed) faultsHeal(w);
    if (w->phase != PHASE_END) worldAt(w, w->now + 200 * MS, (simEvent){.kind = SIM_OPERATE});
}
