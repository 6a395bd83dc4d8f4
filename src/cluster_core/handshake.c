/* handshake.c -- links to other nodes: MEET, pings, and which node is at the other end of a link.
 *
 *     MEET of an operator -> node with a random id (HANDSHAKE, MEET) -> connect -> MEET frame -> PONG: its id is known
 *     MEET frame of a stranger -> node with a random id (HANDSHAKE) -> connect -> PING -> PONG: its id is known
 *
 * Each node connects to each other one. Requests go out on the outbound link, on which the PONG comes back; the
 * inbound link brings the peer's requests. A node is found by its id: the address that it is reached at follows from
 * where its pings come from, and a node that cannot be reached at its address is looked for by its host name.
 *
 * Not here    what the frames say of slots and epochs (ownership.c), suspicion (failure.c).
 * Threads     the caller's lock.
 * Cost        a tick is a pass over the nodes.
 * Tests       tests/unit/cluster_core/machine_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "machine_internal.h"

#define HANDSHAKE_LEAST_MS 1000
#define CONNECTS_PER_TICK 100
#define RANDOM_PINGS 5     /* nodes among which the one with the oldest pong is pinged each second */
#define STRANGERS_MAX 1024 /* nodes that have asked for a handshake: each costs a connection to the address it gives */
#define MEETS_MAX 5        /* that this node sends by itself to a node that does not connect */

static uint64_t since(const clusterMachine *m, uint64_t ms) { return m->now.mono_ms - ms; }

static uint64_t handshakeTimeout(const clusterMachine *m) {
    uint64_t timeout = m->config.node_timeout_ms;
    return timeout > HANDSHAKE_LEAST_MS ? timeout : HANDSHAKE_LEAST_MS;
}

/* ---- This node's own address ---- */

static bool someLinkHas(const clusterMachine *m, const char *local_ip) {
    EACH_NODE (m, n) {
        const clusterLink *out = linkTo(m, n), *in = n->link_in ? linkByNumber(m, n->link_in) : NULL;
        if ((out && out->is_up && !strcmp(out->local_ip, local_ip)) || (in && !strcmp(in->local_ip, local_ip)))
            return true;
    }
    return false;
}

/* Unless an address is announced, it is that of the sockets. It does not change while some link still has it. */
static void learnOwnAddress(clusterMachine *m, const clusterLink *l) {
    clusterNode *me = m->myself;
    if (m->config.ip[0] || !l->local_ip[0] || !strcmp(me->ip, l->local_ip)) return;
    if (me->ip[0] && someLinkHas(m, me->ip)) return;
    memcpy(me->ip, l->local_ip, sizeof(me->ip));
    machineLog(m, LL_NOTICE, "IP address for this node updated to %s", me->ip);
    machineChanged(m);
    machineViewChanged(m);
}

/* ---- Connecting and pinging ---- */

static void connectTo(clusterMachine *m, clusterNode *n) {
    clusterLink *l = linkAdd(m, ++m->last_link, n, false);
    clusterAction *a = machineAct(m, CLUSTER_CONNECT);
    a->link = l->number;
    memcpy(a->ip, n->ip, sizeof(a->ip));
    a->port = n->bus_port;
    n->connect_ms = m->now.mono_ms;
    n->connects++;
    bool looks_for_it = n->hostname && nodeIsOut(n) && n->connects % 2 && !isPlain(m);
    if (looks_for_it) a->text = sdsDup(n->hostname);
    nodeAsked(m, n);
}

void linkUp(clusterMachine *m, clusterLink *l) {
    l->is_up = true;
    if (l->is_inbound) return;
    clusterNode *n = nodeAt(m, l->seat);
    n->link_out_ms = m->now.mono_ms;
    n->ponged = false;
    n->connects = 0;
    n->asked_ms = m->now.mono_ms; /* what comes on this link answers what is sent on it */
    sendPing(m, l, nodeHas(n, NODE_MEET) ? BUS_MEET : BUS_PING);
    manualLinkUp(m, n);
}

/* A node that does not connect to this one does not know it (any more): MEET makes it. */
static void meetAgain(clusterMachine *m, clusterNode *n, clusterLink *l) {
    uint64_t wait_ms = handshakeTimeout(m);
    if (n->link_in || !nodeHas(n, NODE_LIGHT_MODULE) || (n->meets == MEETS_MAX && !isPlain(m))) return;
    if (since(m, n->inbound_missing_ms) <= wait_ms || since(m, n->link_out_ms) <= wait_ms) return;
    if (n->meet_ms && since(m, n->meet_ms) <= wait_ms) return;
    n->meet_ms = m->now.mono_ms;
    if (n->meets < MEETS_MAX) n->meets++;
    machineLog(m, LL_NOTICE, "Sending MEET packet to node %s because there is no inbound link for it", nodeName(n));
    sendPing(m, l, BUS_MEET);
}

/* Returns whether the link to a node has to be made anew. Between primaries that serve, other frames do not stand for
 * the answer: the ping may have been lost (failure.c). Nor do they for a node that is suspected: only an answer ends
 * that, and no ping is sent while one has no answer. */
static bool hangs(const clusterMachine *m, const clusterNode *n) {
    uint64_t timeout = m->config.node_timeout_ms;
    bool needs_answer = !isPlain(m) && (nodeIsOut(n) || (nodeIsVoting(m->myself) && nodeIsVoting(n)));
    bool is_silent = since(m, n->data_ms) > timeout / 2 || needs_answer;
    return since(m, n->link_out_ms) > timeout && n->ping_sent_ms && since(m, n->ping_sent_ms) > timeout / 2 &&
           is_silent;
}

static void pingIfDue(clusterMachine *m, clusterNode *n, clusterLink *l) {
    uint64_t interval = m->config.ping_interval_ms ? m->config.ping_interval_ms : m->config.node_timeout_ms / 2;
    bool is_due = since(m, n->pong_ms) > interval;
    /* A primary that serves has to be heard by the others (failure.c): a bit earlier, as ticks and answers take time.
     * */
    bool has_to_hear = nodeIsVoting(m->myself) && nodeIsVoting(n) && !isPlain(m);
    if (has_to_hear && since(m, n->heard_until_ms) >= m->config.node_timeout_ms * 2 / 5) is_due = true;
    if (!n->ping_sent_ms && is_due) sendPing(m, l, BUS_PING);
}

void handshakePing(clusterMachine *m, clusterNode *n) {
    clusterLink *l = linkTo(m, n);
    if (l && l->is_up && !n->ping_sent_ms) sendPing(m, l, BUS_PING);
}

static bool mayConnect(const clusterMachine *m, const clusterNode *n) {
    if (m->config.no_connects || n->link_out || nodeHas(n, NODE_NO_ADDRESS) || !n->ip[0] || !n->bus_port) return false;
    return !n->connect_ms || since(m, n->connect_ms) >= m->config.node_timeout_ms / 20;
}

/* Returns whether it has connected. */
static bool nodeTick(clusterMachine *m, clusterNode *n, bool may_connect) {
    if (nodeHas(n, NODE_HANDSHAKE) && since(m, n->created_ms) > handshakeTimeout(m)) {
        machineLog(m, LL_NOTICE, "Clusterbus handshake timeout %s:%d", n->ip, n->bus_port);
        nodeForget(m, n);
        return false;
    }
    if (mayConnect(m, n)) {
        if (may_connect) connectTo(m, n);
        return may_connect;
    }
    if (!n->link_out_ms) return false;
    clusterLink *l = linkTo(m, n);
    if (hangs(m, n)) {
        linkClose(m, l);
        return false;
    }
    meetAgain(m, n, l);
    pingIfDue(m, n, l);
    return false;
}

/* Each second: pings one of a few random nodes, the one that has not been heard of for longest. */
static void pingRandomNode(clusterMachine *m) {
    clusterNode *oldest = NULL;
    for (unsigned i = 0; i < RANDOM_PINGS; i++) {
        clusterNode *n = nodeAt(m, 1 + (unsigned)machineRandom(m, m->seats - 1));
        if (!n || !n->link_out_ms || n->ping_sent_ms || nodeHas(n, NODE_MYSELF | NODE_HANDSHAKE)) continue;
        if (!oldest || n->pong_ms < oldest->pong_ms) oldest = n;
    }
    if (oldest) sendPing(m, linkTo(m, oldest), BUS_PING);
}

void linksTick(clusterMachine *m) {
    unsigned connects = 0;
    if (!m->saved_version || m->silent_until_ms) return;
    EACH_NODE (m, n)
        if (!nodeIsMyself(n)) connects += nodeTick(m, n, connects < CONNECTS_PER_TICK);
    if (since(m, m->second_ms) >= 1000 && !m->config.no_random_pings) pingRandomNode(m);
}

/* ---- Which node is it? ---- */

typedef struct headerAddress {
    const char *ip;
    uint16_t port, tls_port, bus_port;
} headerAddress;

static headerAddress addressOf(const clusterMachine *m, const clusterLink *l, const busHeader *h) {
    bool tls = m->config.uses_tls;
    const clusterNode *n = l->seat ? nodeAt(m, l->seat) : NULL;
    return (headerAddress){.ip = h->ip[0]        ? h->ip
                                 : l->peer_ip[0] ? l->peer_ip
                                 : n             ? n->ip
                                                 : "",
                           .port = tls ? h->other_port : h->port,
                           .tls_port = tls ? h->port : h->other_port,
                           .bus_port = h->bus_port};
}

bool handshakeStart(clusterMachine *m, const char *ip, uint16_t port, uint16_t tls_port, uint16_t bus_port, bool meet) {
    unsigned strangers = 0;
    EACH_NODE (m, n) {
        if (nodeHas(n, NODE_HANDSHAKE) && !strcmp(n->ip, ip) && n->bus_port == bus_port) return true;
        strangers += nodeHas(n, NODE_HANDSHAKE) && !nodeHas(n, NODE_MEET);
    }
    if (!meet && strangers >= STRANGERS_MAX) return false;
    clusterNode *n = nodeAdd(m, NULL, NODE_HANDSHAKE | (meet ? NODE_MEET : 0));
    if (!n) return false;
    nodeSetAddress(m, n, ip, port, tls_port, bus_port);
    return true;
}

/* The first answer on the link to a node in handshake says which node it is. Returns the node, or NULL if it is known
 * already: then the link has been closed. */
static clusterNode *handshakeEnd(clusterMachine *m, clusterNode *n, clusterNode *sender, const busFrame *f) {
    if (sender) {
        nodeSetAddress(m, sender, n->ip, n->port, n->tls_port, n->bus_port);
        nodeForget(m, n);
        return NULL;
    }
    if (nodeHas(n, NODE_MEET)) forgottenDrop(m, &f->header.sender);
    nodeRename(m, n, &f->header.sender);
    n->flags &= (uint16_t) ~(NODE_HANDSHAKE | NODE_MEET);
    if (nodeIdIsNone(&f->header.primary)) nodeSetPrimary(m, n);
    else nodeSetReplica(m, n, 0);
    machineLog(m, LL_DEBUG, "Handshake with node %s (%s:%d) completed.", nodeName(n), n->ip, n->port);
    return n;
}

/* Another node answers at the address: that of `n` is not known any more. It will connect, or be found by gossip. */
static void losesAddress(clusterMachine *m, clusterNode *n, const busFrame *f) {
    machineLog(m, LL_DEBUG, "Node %s is not at %s:%d any more: %.40s answers there", nodeName(n), n->ip, n->bus_port,
               f->header.sender.text);
    n->flags |= NODE_NO_ADDRESS;
    n->ip[0] = 0;
    nodeAsked(m, n);
    linkClose(m, linkTo(m, n));
    machineChanged(m);
    machineViewChanged(m);
    if (!isPlain(m) || nodeHas(n, NODE_FAILED)) return;
    failureMark(m, n);
    broadcastFail(m, n);
}

/* The first frame on an inbound link says which node has connected. It replaces an older link of that node. */
static void bindInbound(clusterMachine *m, clusterLink *l, clusterNode *sender) {
    if (l->seat == sender->seat) return;
    if (l->seat) nodeAt(m, l->seat)->link_in = 0;
    if (sender->link_in) linkClose(m, linkByNumber(m, sender->link_in));
    l->seat = sender->seat;
    sender->link_in = l->number;
    sender->meets = 0;
}

void linkFindPeer(clusterMachine *m, clusterLink *l) {
    clusterNode *n = l->is_inbound && !l->seat ? nodeById(m, &l->peer) : NULL;
    if (n && !nodeHas(n, NODE_HANDSHAKE | NODE_MYSELF)) bindInbound(m, l, n);
}

/* Finds the node of an outbound link's answer. Returns false if the frame says no more. */
static bool identify(clusterMachine *m, clusterLink *l, clusterNode **sender, const busFrame *f) {
    clusterNode *n = nodeAt(m, l->seat);
    if (nodeHas(n, NODE_HANDSHAKE)) {
        *sender = handshakeEnd(m, n, *sender, f);
        return *sender != NULL;
    }
    if (nodeIdEqual(&n->id, &f->header.sender)) return true;
    losesAddress(m, n, f);
    return false;
}

/* ---- The sender of a ping ---- */

/* A node that pings from another address is there now. */
static void followAddress(clusterMachine *m, const clusterLink *l, clusterNode *sender, const busHeader *h) {
    headerAddress a = addressOf(m, l, h);
    if (!a.ip[0] || !nodeSetAddress(m, sender, a.ip, a.port, a.tls_port, a.bus_port)) return;
    machineLog(m, LL_NOTICE, "Address updated for node %s, now %s:%d", nodeName(sender), sender->ip, sender->port);
}

/* It was found by its host name. */
static void keepFoundAddress(clusterMachine *m, const clusterLink *l, clusterNode *n, const busHeader *h) {
    const char *ip = h->ip[0] ? h->ip : l->peer_ip;
    if (!ip[0] || !strcmp(n->ip, ip)) return;
    snprintf(n->ip, sizeof(n->ip), "%s", ip);
    machineChanged(m);
    machineViewChanged(m);
    if (m->myself->primary == n->seat) nodeFollow(m, n, true);
}

static void answered(clusterMachine *m, const clusterLink *l, clusterNode *n, const busHeader *h) {
    keepFoundAddress(m, l, n, h);
    n->pong_ms = m->now.mono_ms;
    if (n->ping_sent_ms) n->heard_until_ms = n->asked_ms;
    n->ping_sent_ms = 0;
    n->ponged = true;
    failureAnswered(m, n);
    if (!n->awaited_ms) return;
    if (n->heard_until_ms < n->awaited_ms) {
        handshakePing(m, n);
        return;
    }
    n->awaited_ms = 0;
    machineAct(m, CLUSTER_HEARD)->node = n->id;
}

static void readFlags(clusterMachine *m, clusterNode *sender, const busHeader *h) {
    unsigned copied = NODE_NO_FAILOVER | NODE_EXTENSIONS | NODE_LIGHT_PUBLISH | NODE_LIGHT_MODULE | NODE_PRIMARY_FAILED;
    unsigned flags = (sender->flags & ~copied) | (h->flags & copied);
    if (h->marks & BUS_MARK_EXTENSIONS) flags |= NODE_EXTENSIONS;
    if ((flags ^ sender->flags) & NODE_NO_FAILOVER) {
        machineChanged(m);
        machineViewChanged(m);
    }
    sender->flags = (uint16_t)flags;
}

static bool setPort(uint16_t *field, uint16_t port) {
    bool changed = *field != port;
    *field = port;
    return changed;
}

/* Reads what the sender calls itself. A name that is missing among the extensions is no name any more. */
static void readNames(clusterMachine *m, clusterNode *sender, const busExtensions *e) {
    bool changed = nodeSetText(&sender->hostname, e->hostname);
    changed |= nodeSetText(&sender->human_name, e->human_name);
    changed |= nodeSetText(&sender->client_ipv4, e->client_ipv4);
    changed |= nodeSetText(&sender->client_ipv6, e->client_ipv6);
    changed |= nodeSetText(&sender->zone, e->zone);
    changed |= setPort(&sender->client_port, e->client_port);
    changed |= setPort(&sender->client_tls_port, e->client_tls_port);
    if (!changed) return;
    machineChanged(m);
    machineViewChanged(m);
}

/* Forgets the nodes that the sender has forgotten by a command. */
static void readForgotten(clusterMachine *m, const clusterNode *sender, const busExtensions *e) {
    for (size_t i = 0; i < e->forgotten_count; i++) {
        clusterNode *n = nodeById(m, &e->forgotten[i].id);
        if (n && (n == sender || nodeIsMyself(n) || m->myself->primary == n->seat)) continue;
        forgottenAdd(m, &e->forgotten[i].id, e->forgotten[i].left_s);
        if (n) nodeForget(m, n);
    }
}

static bool hasExtensions(const busExtensions *e) {
    return !nodeIdIsNone(&e->shard) || e->forgotten_count || e->hostname.len || e->human_name.len || e->zone.len;
}

/* ---- The frames ---- */

/* A MEET of a stranger: connects to it, which shows its id. */
static void meetOfStranger(clusterMachine *m, const clusterLink *l, const busHeader *h) {
    headerAddress a = addressOf(m, l, h);
    if (a.ip[0] && a.bus_port) handshakeStart(m, a.ip, a.port, a.tls_port, a.bus_port, false);
}

/* A known node that sends MEET does not know this one: a new link to it begins with a ping. */
static void meetOfKnown(clusterMachine *m, clusterNode *sender) {
    clusterLink *out = linkTo(m, sender);
    if (out && out->is_up && since(m, sender->created_ms) > handshakeTimeout(m)) linkClose(m, out);
}

static void readPing(clusterMachine *m, clusterLink *l, clusterNode *sender, const busFrame *f) {
    if (!l->is_inbound && !identify(m, l, &sender, f)) return;
    if (!sender) return;
    if (l->is_inbound) {
        bindInbound(m, l, sender);
        if (f->type == BUS_PING) followAddress(m, l, sender, &f->header);
    } else if (f->type == BUS_PONG) {
        learnOwnAddress(m, l);
        answered(m, l, sender, &f->header);
    }
    readFlags(m, sender, &f->header);
    if (hasExtensions(&f->extensions)) {
        readNames(m, sender, &f->extensions);
        readForgotten(m, sender, &f->extensions);
    }
    ownershipRead(m, sender, f);
    gossipRead(m, sender, f);
}

/* The answer comes after the reading: a slot that the frame takes from this node is not claimed by the answer. */
static void answerPing(clusterMachine *m, uint64_t link, bool sender_was_known, const busFrame *f) {
    clusterLink *l = linkByNumber(m, link);
    if (!l) return;
    sendPing(m, l, BUS_PONG);
    clusterNode *sender = f->type == BUS_MEET && sender_was_known ? nodeById(m, &f->header.sender) : NULL;
    if (sender) meetOfKnown(m, sender);
}

void frameOfPing(clusterMachine *m, clusterLink *l, clusterNode *sender, const busFrame *f) {
    uint64_t link = l->number;
    bool is_request = f->type != BUS_PONG, is_meet = f->type == BUS_MEET, is_known = sender != NULL;
    if (is_meet && !is_known && forgottenHas(m, &f->header.sender) && !isPlain(m)) return;
    if (is_meet || (is_request && !m->myself->ip[0])) learnOwnAddress(m, l);
    if (is_meet && !is_known) meetOfStranger(m, l, &f->header);
    readPing(m, l, sender, f);
    if (is_request) answerPing(m, link, is_known, f);
}
