/* machine_read.c -- what other layers read of the machine, and the check of its invariants.
 *
 * Threads     the caller's lock.
 * Cost        clusterSummarize(): a pass over the nodes. clusterCheck(): nodes, links and slots.
 * Tests       tests/unit/cluster_core/machine_read_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

/* ---- Reading ---- */

const clusterNode *clusterMyself(const clusterMachine *m) { return m->myself; }

const clusterNode *clusterNodeNext(const clusterMachine *m, const clusterNode *n) {
    for (unsigned seat = n ? n->seat + 1U : 1; seat < m->seats; seat++)
        if (m->nodes[seat]) return m->nodes[seat];
    return NULL;
}

const clusterNode *clusterNodeById(const clusterMachine *m, const nodeId *id) { return nodeById(m, id); }
const clusterNode *clusterNodeBySeat(const clusterMachine *m, unsigned seat) {
    return seat < m->seats ? nodeAt(m, seat) : NULL;
}

const clusterNode *clusterOwner(const clusterMachine *m, unsigned slot) { return nodeAt(m, m->owner[slot]); }
const clusterNode *clusterMigratingTo(const clusterMachine *m, unsigned slot) { return nodeAt(m, m->migrating[slot]); }
const clusterNode *clusterImportingFrom(const clusterMachine *m, unsigned slot) {
    return nodeAt(m, m->importing[slot]);
}

bool clusterKnowsPeer(const clusterMachine *m, uint64_t link) {
    const clusterLink *l = linkByNumber(m, link);
    return l && l->seat;
}

unsigned clusterFailureReports(const clusterMachine *m, const clusterNode *n, clusterTime now) {
    unsigned count = 0;
    (void)m;
    for (uint32_t i = 0; i < n->report_count; i++) count += n->reports[i].until_ms > now.mono_ms;
    return count;
}

static void summarizeNode(clusterSummary *s, const clusterNode *n) {
    bool is_voting = nodeIsVoting(n);
    if (nodeHas(n, NODE_FAILED)) {
        s->slots_failed += n->slot_count;
        s->nodes_failed++;
        s->voting_failed += is_voting;
    } else if (nodeHas(n, NODE_SUSPECTED)) {
        s->slots_suspected += n->slot_count;
        s->nodes_suspected++;
        s->voting_suspected += is_voting;
    } else {
        s->slots_ok += n->slot_count;
    }
}

clusterSummary clusterSummarize(const clusterMachine *m) {
    const clusterNode *me = m->myself, *primary = nodeIsReplica(me) && me->primary ? nodeAt(m, me->primary) : me;
    clusterSummary s = {.ok = m->ok,
                        .minority = m->minority,
                        .protects = m->silent_until_ms != 0,
                        .slots_assigned = m->slots_assigned,
                        .known_nodes = m->node_count,
                        .size = m->size,
                        .current_epoch = m->current_epoch,
                        .my_epoch = primary->config_epoch,
                        .last_vote_epoch = m->last_vote_epoch};
    EACH_NODE (m, n) summarizeNode(&s, n);
    return s;
}

/* ---- Checking ---- */

static void checkRole(const clusterMachine *m, const clusterNode *n) {
    serverAssert(!nodeIsPrimary(n) || !nodeIsReplica(n));
    serverAssert(!n->primary || (nodeIsReplica(n) && n->primary != n->seat && nodeAt(m, n->primary)));
    serverAssert(!nodeIsReplica(n) || (!n->slot_count && !n->config_epoch));
    serverAssert(!n->slot_count || nodeIsPrimary(n));
    serverAssert(!nodeHas(n, NODE_HANDSHAKE) || (!n->slot_count && !n->primary && !n->replicas));
    serverAssert(nodeIsMyself(n) == (n == m->myself));
    serverAssert(n->config_epoch <= m->current_epoch);
    if (n != m->myself) return;
    serverAssert(nodeIsPrimary(n) || nodeIsReplica(n));
    serverAssert(!nodeHas(n, NODE_SUSPECTED | NODE_FAILED | NODE_HANDSHAKE | NODE_NO_ADDRESS | NODE_MEET));
    serverAssert(!n->link_out && !n->link_in && !n->ping_sent_ms && !n->pong_ms);
}

static void checkReports(const clusterMachine *m, const clusterNode *n) {
    serverAssert(n->report_count <= n->report_capacity);
    for (uint32_t i = 0; i < n->report_count; i++) {
        const failureReport *r = &n->reports[i];
        serverAssert(r->seat && r->seat < m->seats && nodeAt(m, r->seat) && r->seat != n->seat);
        for (uint32_t k = 0; k < i; k++) serverAssert(n->reports[k].seat != r->seat);
    }
}

static void checkLinksOf(const clusterMachine *m, const clusterNode *n) {
    const clusterLink *out = n->link_out ? linkByNumber(m, n->link_out) : NULL;
    const clusterLink *in = n->link_in ? linkByNumber(m, n->link_in) : NULL;
    serverAssert(!n->link_out || (out && out->seat == n->seat && !out->is_inbound));
    serverAssert(!n->link_in || (in && in->seat == n->seat && in->is_inbound));
    serverAssert((n->link_out_ms != 0) == (out && out->is_up));
    serverAssert(!n->ponged || n->link_out_ms);
}

static void checkLinks(const clusterMachine *m) {
    dictIterator it;
    dictIterBegin(&it, m->links, false);
    for (const clusterLink *l; (l = dictIterNext(&it));) {
        const clusterNode *n = l->seat ? clusterNodeBySeat(m, l->seat) : NULL;
        serverAssert(l->number && l->is_inbound == (l->number > CLUSTER_LINK_ACCEPTED));
        serverAssert(l->is_inbound || (n && l->number <= m->last_link));
        serverAssert(!l->seat || (n && (l->is_inbound ? n->link_in : n->link_out) == l->number));
    }
    dictIterEnd(&it);
}

/* The owner table, the sets and the counts say the same. */
static void checkSlots(const clusterMachine *m) {
    unsigned assigned = 0, open = 0, mine = 0;
    const clusterNode *me = m->myself;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *n = clusterNodeBySeat(m, m->owner[slot]);
        unsigned to = m->migrating[slot], from = m->importing[slot];
        serverAssert(!m->owner[slot] || (n && n->slots && slotSetHas(n->slots, slot)));
        serverAssert(n || !slotSetHas(&m->unclaimed, slot));
        serverAssert(n != me || !slotSetHas(&m->unclaimed, slot));
        serverAssert(!to || (clusterNodeBySeat(m, to) && to != me->seat));
        serverAssert(!from || (clusterNodeBySeat(m, from) && from != me->seat));
        serverAssert(!to || !from);
        /* A replica has heard of its primary's open slots, perhaps before it has heard of the owners. */
        serverAssert(nodeIsReplica(me) || !to || n == me);
        serverAssert(nodeIsReplica(me) || !from || n != me);
        assigned += n != NULL;
        mine += n == me;
        open += to || from;
    }
    serverAssert(assigned == m->slots_assigned && open == m->open_slots && mine == me->slot_count);
}

static void checkNodes(const clusterMachine *m) {
    unsigned count = 0, slots = 0, voting = 0, *replicas = zcalloc(m->seats, sizeof(*replicas));
    serverAssert(m->seats <= CLUSTER_NODES_MAX && m->nodes[0] == NULL && m->myself);
    EACH_NODE (m, n) {
        serverAssert(n->seat == seat_ && nodeById(m, &n->id) == n && nodeIdIsValid(&n->id) && nodeIdIsValid(&n->shard));
        serverAssert(n->slot_count == (n->slots ? slotSetCount(n->slots) : 0));
        checkRole(m, n);
        checkReports(m, n);
        checkLinksOf(m, n);
        count++;
        slots += n->slot_count;
        voting += nodeIsVoting(n);
        if (n->primary) replicas[n->primary]++;
    }
    EACH_NODE (m, n) serverAssert(n->replicas == replicas[seat_]);
    zfree(replicas);
    serverAssert(count == m->node_count && count == dictSize(m->by_id));
    serverAssert(slots == m->slots_assigned && voting == m->size);
}

static bool toldEqual(const toldState *a, const toldState *b) {
    return a->current_epoch == b->current_epoch && a->config_epoch == b->config_epoch && nodeIdEqual(&a->id, &b->id) &&
           nodeIdEqual(&a->primary, &b->primary) && nodeIdEqual(&a->shard, &b->shard) &&
           a->is_replica == b->is_replica && !memcmp(&a->slots, &b->slots, sizeof(a->slots));
}

/* Headers say what the saved file has. If all is saved, that is the present state: each change has been counted. */
static void checkTold(const clusterMachine *m) {
    serverAssert(m->saved_version <= m->version && m->saving_version <= m->version);
    serverAssert(m->announce_version <= m->version && m->promote_version <= m->version);
    serverAssert(m->election.version <= m->version && m->last_vote_epoch <= m->current_epoch);
    for (unsigned i = 0; i < m->vote_count; i++) {
        serverAssert(m->votes[i].version <= m->version && m->votes[i].version > m->saved_version);
        serverAssert(m->votes[i].epoch <= m->current_epoch);
    }
    serverAssert(!m->announce_version || m->announce_version > m->saved_version);
    if (m->saved_version < m->version) return;
    toldState now;
    machineTell(m, &now);
    serverAssert(toldEqual(&m->told, &now));
}

static void checkElection(const clusterMachine *m) {
    serverAssert(m->election.stage == ELECTION_NONE || nodeIsReplica(m->myself));
    /* A takeover is in memory at once, and main hears of it when it is on disk. */
    serverAssert(!m->promote_version || (nodeIsPrimary(m->myself) && m->promote_version > m->saved_version));
    if (m->election.stage == ELECTION_RUNS) {
        serverAssert(m->election.epoch <= m->current_epoch);
        serverAssert(m->election.votes == slotSetCount(&m->election.voters_seats));
    }
    if (!m->manual.end_ms) return;
    serverAssert(m->manual.by_me == nodeIsReplica(m->myself));
    serverAssert(m->manual.by_me || clusterNodeBySeat(m, m->manual.replica));
}

void clusterCheck(const clusterMachine *m) {
    checkNodes(m);
    checkLinks(m);
    checkSlots(m);
    checkTold(m);
    checkElection(m);
    serverAssert(m->forgotten_count <= m->forgotten_capacity);
}
