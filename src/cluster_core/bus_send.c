/* bus_send.c -- the frames that this node sends: headers, gossip, extensions, messages.
 *
 * Headers say what is on disk (`told`). Gossip tells of a few random nodes, and of nodes that are suspected: a failure
 * is agreed upon by what gossip says. The number of suspected ones is bounded, from a random one on, so that the bytes
 * of a ping do not grow with the number of nodes that have failed at once.
 *
 * Not here    when a frame is sent (handshake.c, election.c ...); bytes (bus_write.c).
 * Threads     the caller's lock.
 * Cost        a frame with gossip: its entries. A broadcast: one frame per node.
 * Tests       tests/unit/cluster_core/machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define GOSSIP_LEAST 3
#define GOSSIP_SUSPECTED_MAX 64

/* ---- Headers ---- */

static unsigned headerFlags(const clusterMachine *m) {
    const clusterNode *me = m->myself;
    unsigned flags = me->flags & ~(unsigned)(NODE_PRIMARY | NODE_REPLICA | NODE_PRIMARY_FAILED);
    flags |= m->told.is_replica ? NODE_REPLICA : NODE_PRIMARY;
    bool primary_failed = nodeIsReplica(me) && me->primary && nodeHas(nodeAt(m, me->primary), NODE_FAILED);
    return primary_failed && m->told.is_replica ? flags | NODE_PRIMARY_FAILED : flags;
}

/* A slot that this primary has given up is not claimed any more, though the file on disk has it: the node that has
 * taken it may have a lower epoch. After a crash this node claims the slot again. */
static void leaveOutGivenUp(const clusterMachine *m, slotSet *slots) {
    const clusterNode *me = m->myself;
    if (m->told.is_replica || !nodeIsPrimary(me)) return;
    for (size_t i = 0; i < sizeof(slots->bytes); i++) slots->bytes[i] &= me->slots ? me->slots->bytes[i] : 0;
}

static void headerOfMyself(const clusterMachine *m, busHeader *h, unsigned marks) {
    const clusterConfig *c = &m->config;
    const toldState *told = &m->told;
    *h = (busHeader){.sender = told->id,
                     .primary = told->primary,
                     .slots = told->slots,
                     .current_epoch = told->current_epoch,
                     .config_epoch = told->config_epoch,
                     .offset = m->myself->offset,
                     .flags = (uint16_t)headerFlags(m),
                     .port = c->uses_tls ? c->tls_port : c->port,
                     .other_port = c->uses_tls ? c->port : c->tls_port,
                     .bus_port = c->bus_port,
                     .state = m->ok ? 0 : 1,
                     .marks = (uint8_t)(marks | (m->manual.is_paused ? BUS_MARK_PAUSED : 0))};
    leaveOutGivenUp(m, &h->slots);
    memcpy(h->ip, c->ip, sizeof(h->ip));
}

/* ---- Blocks ---- */

static frameBlock *blockTake(sds bytes) {
    frameBlock *b = zmalloc(sizeof(*b));
    *b = (frameBlock){.references = 1, .bytes = bytes};
    return b;
}

/* Sends a block, of which the caller keeps its reference, unless this node is silent (data_protection.c). */
static void sendBlock(clusterMachine *m, const clusterLink *l, frameBlock *b) {
    if (m->silent_until_ms) return;
    clusterAction *a = machineAct(m, CLUSTER_SEND);
    a->link = l->number;
    a->frame = b;
    b->references++;
}

static void sendTake(clusterMachine *m, const clusterLink *l, sds bytes) {
    frameBlock *b = blockTake(bytes);
    sendBlock(m, l, b);
    frameBlockRelease(b);
}

static sds beginFrame(const clusterMachine *m, busType type, unsigned marks) {
    busHeader h;
    headerOfMyself(m, &h, marks);
    return busBegin(sdsEmpty(), type, &h);
}

/* Returns the link to a node on which a broadcast reaches it, or NULL. */
static clusterLink *broadcastLink(const clusterMachine *m, const clusterNode *n) {
    if (nodeHas(n, NODE_MYSELF | NODE_HANDSHAKE) || !n->link_out_ms) return NULL;
    return linkTo(m, n);
}

static void broadcastTake(clusterMachine *m, sds bytes) {
    frameBlock *b = blockTake(bytes);
    EACH_NODE (m, n) {
        clusterLink *l = broadcastLink(m, n);
        if (l) sendBlock(m, l, b);
    }
    frameBlockRelease(b);
}

/* ---- Gossip ---- */

/* Returns a monotonic time in seconds since 1970, 0 for 0. */
static uint32_t wallSeconds(const clusterMachine *m, uint64_t mono_ms) {
    if (!mono_ms) return 0;
    return (uint32_t)((m->now.wall_ms - (int64_t)(m->now.mono_ms - mono_ms)) / 1000);
}

static sds addEntry(const clusterMachine *m, sds out, clusterNode *n) {
    bool tls = m->config.uses_tls;
    busGossip g = {.id = n->id,
                   .ping_sent_s = wallSeconds(m, n->ping_sent_ms),
                   .pong_received_s = wallSeconds(m, n->pong_ms),
                   .port = tls ? n->tls_port : n->port,
                   .other_port = tls ? n->port : n->tls_port,
                   .bus_port = n->bus_port,
                   .flags = n->flags};
    memcpy(g.ip, n->ip, sizeof(g.ip));
    n->gossip_round = m->gossip_round;
    return busAddGossip(out, &g);
}

/* Returns whether a frame for the node at seat `to` may tell of this node. */
static bool mayTellOf(const clusterMachine *m, const clusterNode *n, unsigned to) {
    if (n->seat == to || n->gossip_round == m->gossip_round || nodeHas(n, NODE_MYSELF | NODE_HANDSHAKE)) return false;
    return !nodeHas(n, NODE_NO_ADDRESS) && n->bus_port && (n->link_out_ms || n->slot_count);
}

static sds addRandomNodes(clusterMachine *m, sds out, unsigned to) {
    unsigned wanted = m->node_count * m->config.gossip_percent / 100;
    if (wanted < GOSSIP_LEAST) wanted = GOSSIP_LEAST;
    if (wanted + 2 > m->node_count) wanted = m->node_count > 2 ? m->node_count - 2 : 0;
    for (unsigned tries = 3 * wanted; wanted && tries; tries--) {
        clusterNode *n = nodeAt(m, 1 + (unsigned)machineRandom(m, m->seats - 1));
        if (!n || nodeHas(n, NODE_SUSPECTED) || !mayTellOf(m, n, to)) continue;
        out = addEntry(m, out, n);
        wanted--;
    }
    return out;
}

static sds addSuspectedNodes(clusterMachine *m, sds out, unsigned to) {
    unsigned first = (unsigned)machineRandom(m, m->seats - 1), left = GOSSIP_SUSPECTED_MAX;
    for (unsigned i = 0; left && i < m->seats - 1; i++) {
        clusterNode *n = nodeAt(m, 1 + (first + i) % (m->seats - 1));
        if (!n || !nodeHas(n, NODE_SUSPECTED) || n->seat == to) continue;
        if (nodeHas(n, NODE_HANDSHAKE | NODE_NO_ADDRESS)) continue;
        out = addEntry(m, out, n);
        left--;
    }
    return out;
}

static slice textOf(sds s) { return s ? sdsSlice(s) : sliceOf("", 0); }

static sds addExtensions(const clusterMachine *m, sds out) {
    const clusterNode *me = m->myself;
    busExtensions e = {.hostname = textOf(me->hostname),
                       .human_name = textOf(me->human_name),
                       .client_ipv4 = textOf(me->client_ipv4),
                       .client_ipv6 = textOf(me->client_ipv6),
                       .zone = textOf(me->zone),
                       .client_port = me->client_port,
                       .client_tls_port = me->client_tls_port,
                       .shard = m->told.shard};
    for (size_t i = 0; i < m->forgotten_count && e.forgotten_count < BUS_FORGOTTEN_MAX; i++) {
        const forgottenNode *f = &m->forgotten[i];
        if (f->until_ms < m->now.mono_ms + 1000) continue;
        uint64_t left_s = (f->until_ms - m->now.mono_ms) / 1000;
        e.forgotten[e.forgotten_count++] = (busForgotten){.id = f->id, .left_s = left_s};
    }
    return busAddExtensions(out, &e);
}

void sendPing(clusterMachine *m, clusterLink *l, busType type) {
    if (!m->saved_version) return;
    clusterNode *n = l->seat ? nodeAt(m, l->seat) : NULL;
    sds out = beginFrame(m, type, BUS_MARK_EXTENSIONS);
    m->gossip_round++;
    out = addRandomNodes(m, out, l->seat);
    out = addSuspectedNodes(m, out, l->seat);
    if (l->reads_extensions || (n && nodeHas(n, NODE_EXTENSIONS))) out = addExtensions(m, out);
    busEnd(out);
    if (n && type == BUS_PING) nodeAsked(m, n);
    sendTake(m, l, out);
}

static bool isOfMyShard(const clusterMachine *m, const clusterNode *n) {
    return nodeIdEqual(&n->shard, &m->myself->shard);
}

void broadcastPong(clusterMachine *m, bool own_shard_only) {
    EACH_NODE (m, n) {
        clusterLink *l = broadcastLink(m, n);
        if (l && (!own_shard_only || isOfMyShard(m, n))) sendPing(m, l, BUS_PONG);
    }
}

/* ---- Other frames ---- */

void sendUpdate(clusterMachine *m, clusterLink *l, const clusterNode *about) {
    slotSet slots;
    if (!l->is_up) return;
    slotsClaimed(m, about, &slots);
    sds out = busAddUpdate(beginFrame(m, BUS_UPDATE, 0), about->config_epoch, &about->id, &slots);
    busEnd(out);
    sendTake(m, l, out);
}

void broadcastFail(clusterMachine *m, const clusterNode *failed) {
    sds out = busAddSubject(beginFrame(m, BUS_FAIL, 0), &failed->id);
    busEnd(out);
    broadcastTake(m, out);
}

void broadcastVoteRequest(clusterMachine *m, unsigned marks) {
    sds out = beginFrame(m, BUS_VOTE_REQUEST, marks);
    busEnd(out);
    broadcastTake(m, out);
}

void sendBare(clusterMachine *m, clusterLink *l, busType type, unsigned marks) {
    if (!l->is_up) return;
    sds out = beginFrame(m, type, marks);
    busEnd(out);
    sendTake(m, l, out);
}

/* ---- Messages ---- */

typedef struct messageForms {
    frameBlock *full, *light; /* made when the first node needs it; NULL: not yet */
} messageForms;

static frameBlock *makeForm(const clusterMachine *m, const clusterCommand *c, bool light) {
    bool is_module = c->kind == CLUSTER_SEND_MODULE;
    busType type = is_module ? BUS_MODULE : c->shard ? BUS_PUBLISH_SHARD : BUS_PUBLISH;
    if (light && is_module) return blockTake(busLightModule(c->module_id, c->module_type, c->message));
    if (light) return blockTake(busLightPublish(type, c->channel, c->message));
    sds out = beginFrame(m, type, 0);
    if (is_module) out = busAddModule(out, c->module_id, c->module_type, c->message);
    else out = busAddPublish(out, c->channel, c->message);
    busEnd(out);
    return blockTake(out);
}

static void sendForm(clusterMachine *m, const clusterNode *n, const clusterCommand *c, messageForms *forms) {
    clusterLink *l = broadcastLink(m, n);
    if (!l) return;
    bool knows_me = n->ponged && n->link_in; /* a node answers the pings of strangers, too */
    bool light = knows_me && nodeHas(n, c->kind == CLUSTER_SEND_MODULE ? NODE_LIGHT_MODULE : NODE_LIGHT_PUBLISH);
    frameBlock **form = light ? &forms->light : &forms->full;
    if (!*form) *form = makeForm(m, c, light);
    sendBlock(m, l, *form);
}

static void releaseForms(messageForms *forms) {
    if (forms->full) frameBlockRelease(forms->full);
    if (forms->light) frameBlockRelease(forms->light);
}

void sendPublish(clusterMachine *m, const clusterCommand *c) {
    messageForms forms = {0};
    EACH_NODE (m, n)
        if (!c->shard || isOfMyShard(m, n)) sendForm(m, n, c, &forms);
    releaseForms(&forms);
}

void sendModule(clusterMachine *m, const clusterCommand *c) {
    messageForms forms = {0};
    EACH_NODE (m, n)
        if (nodeIdIsNone(&c->node) || nodeIdEqual(&c->node, &n->id)) sendForm(m, n, c, &forms);
    releaseForms(&forms);
}
