/* sim_net.c -- links of the bus: connections, frames in order for each link, partitions, half-open links.
 *
 * A frame that meets a partition waits in its link, as TCP would send it again; when the partition ends, the link
 * either delivers the frames that it has, or is reset.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

static simConn *hold(simConn *c) {
    c->refs++;
    return c;
}

void netRelease(simConn *c) {
    if (--c->refs) return;
    for (unsigned d = 0; d < 2; d++) {
        for (size_t i = 0; i < c->stuck_count[d]; i++) frameBlockRelease(c->stuck[d][i]);
        zfree(c->stuck[d]);
    }
    zfree(c);
}

simTime netDelay(simWorld *w) { return w->delay + w->extra_delay + worldBelow(&w->net, w->jitter + 1); }
bool netReaches(const simWorld *w, unsigned from, unsigned to) { return !w->blocked[from * w->count + to]; }

simNode *netNodeAt(simWorld *w, const char *ip, uint16_t port, bool bus) {
    unsigned high, low;
    if (w->options->cost && sscanf(ip, "10.1.%u.%u", &high, &low) == 2) return &w->nodes[high * 200 + low - 1];
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        if ((bus ? n->bus_port : n->port) == port && !strcmp(n->ip, ip)) return n;
    }
    return NULL;
}

/* The ends of a node by link number. */
static simConn **endOf(const simNode *n, uint64_t number) {
    if (number > CLUSTER_LINK_ACCEPTED) {
        uint64_t i = number - CLUSTER_LINK_ACCEPTED;
        return i < n->in_count ? &n->in[i] : NULL;
    }
    return number < n->out_count ? &n->out[number] : NULL;
}

simConn *netConnOf(const simNode *n, uint64_t number) {
    simConn **at = endOf(n, number);
    return at ? *at : NULL;
}

static void endOpen(simNode *n, simConn *c, unsigned end, uint64_t number) {
    bool accepted = number > CLUSTER_LINK_ACCEPTED;
    uint64_t i = accepted ? number - CLUSTER_LINK_ACCEPTED : number;
    simConn ***list = accepted ? &n->in : &n->out;
    size_t *count = accepted ? &n->in_count : &n->out_count;
    size_t *capacity = accepted ? &n->in_capacity : &n->out_capacity;
    while (*count <= i) {
        *list = zgrowArray(*list, *count, capacity, sizeof(**list));
        (*list)[(*count)++] = NULL;
    }
    serverAssert(!(*list)[i]); /* a number is never used again */
    (*list)[i] = hold(c);
    n->open_ends++;
    c->end[end] = (simLinkEnd){n->index, n->incarnation, number, true};
}

/* The end's process does not use it any more. */
static void endClose(simWorld *w, simConn *c, unsigned end) {
    simLinkEnd *e = &c->end[end];
    if (!e->open) return;
    e->open = false;
    simNode *n = &w->nodes[e->node];
    simConn **at = n->incarnation == e->incarnation ? endOf(n, e->number) : NULL;
    if (at && *at == c) {
        *at = NULL;
        n->open_ends--;
        netRelease(c);
    }
}

static void downLater(simWorld *w, simConn *c, unsigned end, simTime at) {
    if (planted(w, PLANT_LINK_DOWN_LOST)) return;
    if (at < c->last_arrival[!end]) at = c->last_arrival[!end];
    worldAt(w, at,
            (simEvent){.kind = SIM_LINK_DOWN,
                       .conn = hold(c),
                       .number = end,
                       .node = c->end[end].node,
                       .incarnation = c->end[end].incarnation});
}

static simNode *resolve(simWorld *w, const char *name) {
    for (unsigned i = 0; i < w->count; i++)
        if (!strcmp(w->nodes[i].hostname, name)) return &w->nodes[i];
    return NULL;
}

void netConnect(simWorld *w, simNode *n, uint64_t number, const char *ip, uint16_t port, const char *name) {
    simConn *c = zcalloc(1, sizeof(*c));
    c->refs = 1;
    endOpen(n, c, 0, number);
    w->stats.connects++;
    simNode *to = name ? resolve(w, name) : netNodeAt(w, ip, port, true);
    c->end[1].node = to ? to->index : n->index;
    bool lost = to && !netReaches(w, n->index, to->index);
    if (!to || lost || w->refuses) {
        /* No answer at all, or a refusal. */
        bool silent = lost || worldChance(&w->net, 0.3);
        simTime wait = silent ? worldBetween(&w->net, 500 * MS, 5 * SECOND) : 2 * netDelay(w);
        downLater(w, c, 0, w->now + wait);
    } else {
        worldAt(w, w->now + netDelay(w), (simEvent){.kind = SIM_CONNECT, .conn = hold(c), .node = to->index});
    }
    netRelease(c);
}

/* A connection request has arrived. */
static void connectArrives(simWorld *w, simEvent *e) {
    simConn *c = e->conn;
    simNode *to = &w->nodes[e->node];
    unsigned from = c->end[0].node;
    if (!c->end[0].open) return;
    simTime back = w->now + netDelay(w);
    if (!to->alive || !netReaches(w, to->index, from)) {
        downLater(w, c, 0, to->alive ? w->now + worldBetween(&w->net, 500 * MS, 5 * SECOND) : back);
        return;
    }
    uint64_t number = CLUSTER_LINK_ACCEPTED + ++to->links_accepted;
    endOpen(to, c, 1, number);
    c->last_arrival[0] = w->now; /* nothing arrives before the links are known */
    c->last_arrival[1] = back;
    worldAt(w, w->now,
            (simEvent){.kind = SIM_ACCEPTED, .conn = hold(c), .node = to->index, .incarnation = to->incarnation});
    worldAt(w, back,
            (simEvent){.kind = SIM_LINK_UP, .conn = hold(c), .node = from, .incarnation = c->end[0].incarnation});
}

void netClose(simWorld *w, simNode *n, uint64_t number) {
    simConn **at = endOf(n, number);
    if (!at || !*at) return;
    simConn *c = hold(*at);
    unsigned end = number > CLUSTER_LINK_ACCEPTED;
    endClose(w, c, end);
    if (c->end[!end].open && !c->vanishing[end]) {
        if (netReaches(w, n->index, c->end[!end].node)) downLater(w, c, !end, w->now + netDelay(w));
        else c->vanishing[end] = true; /* the other end learns nothing */
    }
    netRelease(c);
}

void netReset(simWorld *w, simConn *c) {
    for (unsigned end = 0; end < 2; end++)
        if (c->end[end].open) downLater(w, c, end, w->now + netDelay(w));
    c->vanishing[0] = c->vanishing[1] = true;
}

void netKilled(simWorld *w, simNode *n, bool silently) {
    for (unsigned side = 0; side < 2; side++) {
        size_t count = side ? n->in_count : n->out_count;
        for (size_t i = 0; i < count; i++) {
            simConn *c = (side ? n->in : n->out)[i];
            if (!c) continue;
            hold(c);
            endClose(w, c, side);
            c->vanishing[side] = true;
            if (!silently && c->end[!side].open && netReaches(w, n->index, c->end[!side].node))
                downLater(w, c, !side, w->now + netDelay(w));
            netRelease(c);
        }
    }
    zfree(n->out);
    zfree(n->in);
    n->out = n->in = NULL;
    n->out_count = n->out_capacity = n->in_count = n->in_capacity = 0;
    n->links_accepted = n->open_ends = 0;
}

/* A copy of a frame with damage that a receiver must notice, or that changes nothing. */
static frameBlock *damaged(simWorld *w, const frameBlock *frame, bool *cut) {
    rng *r = &w->fault[FAULT_FORGE];
    frameBlock *b = zcalloc(1, sizeof(*b));
    b->references = 1;
    b->bytes = sdsDup(frame->bytes);
    size_t len = sdsLen(b->bytes);
    uint8_t *p = (uint8_t *)b->bytes;
    *cut = false;
    switch (worldBelow(r, 8)) {
    case 0: /* the link ends in the middle of it */ *cut = true; break;
    case 1: p[worldBelow(r, 4)] ^= 0x21; break; /* signature */
    case 2: p[4] = 0xff; break;                 /* a length without bounds */
    case 3: p[9] = 2; break;                    /* another version */
    case 4: p[13] = (uint8_t)(11 + worldBelow(r, 200)); break;
    case 5: /* more gossip than there is */
        if (len >= BUS_HEADER_BYTES && p[13] <= BUS_MEET) p[14] = 0x7f, p[15] = 0xff;
        else *cut = true;
        break;
    case 6: /* a sender that no node knows, with great epochs */
        if (len >= BUS_HEADER_BYTES && p[13] != BUS_MEET) {
            for (unsigned i = 0; i < NODE_ID_LEN; i++) p[40 + i] = (uint8_t) "0123456789abcdef"[worldBelow(r, 16)];
            p[17] = 0xff;
            p[25] = 0xff;
        } else {
            *cut = true;
        }
        break;
    case 7: /* the last bytes are missing, and the length agrees */
        if (len > BUS_HEADER_BYTES + 8) {
            sdsIncrLen(b->bytes, -(ptrdiff_t)(1 + worldBelow(r, 7)));
            busEnd(b->bytes);
        } else {
            *cut = true;
        }
        break;
    }
    w->stats.damaged_frames++;
    return b;
}

/* Sends bytes in the direction of end `d`, in order. */
static void sendOn(simWorld *w, simConn *c, unsigned d, frameBlock *frame) {
    simTime at = w->now + netDelay(w);
    if (at < c->last_arrival[d]) at = c->last_arrival[d];
    c->last_arrival[d] = at;
    worldAt(w, at,
            (simEvent){.kind = SIM_FRAME,
                       .conn = hold(c),
                       .number = d,
                       .frame = frame,
                       .node = c->end[!d].node,
                       .incarnation = c->end[!d].incarnation});
}

/* Planted: changes or drops what leaves. Returns false if it is dropped. */
static bool plantOnSend(simWorld *w, simNode *n, simConn *c, unsigned d, frameBlock **frame) {
    unsigned type = (uint8_t)(*frame)->bytes[13];
    if (planted(w, PLANT_VOTES_LOST) && type == BUS_VOTE) return false;
    if (planted(w, PLANT_PONG_LOST) && type == BUS_PONG && n->index == 1 && c->end[!d].node == 0) return false;
    if (planted(w, PLANT_FRAME_DAMAGED) && type <= BUS_MEET && worldBelow(&w->net, 100) == 0) {
        frameBlock *b = zcalloc(1, sizeof(*b));
        b->references = 1;
        b->bytes = sdsDup((*frame)->bytes);
        b->bytes[80 + worldBelow(&w->net, 2048)] ^= 1;
        frameBlockRelease(*frame);
        *frame = b;
    }
    return true;
}

void netSend(simWorld *w, simNode *n, uint64_t number, frameBlock *frame) {
    simConn **at = endOf(n, number);
    unsigned d = number > CLUSTER_LINK_ACCEPTED;
    size_t len = sdsLen(frame->bytes);
    n->frames_sent++;
    n->bytes_sent += len;
    w->stats.frames++;
    w->stats.bytes += len;
    if (!at || !*at || !plantOnSend(w, n, *at, d, &frame)) {
        frameBlockRelease(frame);
        return;
    }
    simConn *c = *at;
    const simLinkEnd *far = &c->end[!d];
    if (c->vanishing[d] || !far->open) {
        /* The other process does not know the link: its host refuses it, if there is one. */
        bool answers = w->nodes[far->node].alive && netReaches(w, n->index, far->node) &&
                       netReaches(w, far->node, n->index);
        if (!far->open && far->incarnation && answers) downLater(w, c, d, w->now + 2 * netDelay(w));
        frameBlockRelease(frame);
        return;
    }
    bool cut = false;
    if (worldHas(w, FAULT_FORGE) && w->phase == PHASE_STORM && worldChance(&w->fault[FAULT_FORGE], 0.002)) {
        frameBlock *b = damaged(w, frame, &cut);
        frameBlockRelease(frame);
        frame = b;
    }
    if (cut) {
        frameBlockRelease(frame);
        netReset(w, c);
        return;
    }
    sendOn(w, c, d, frame);
}

/* Reads the bytes that have arrived, as the bus does, and steps the machine. */
static void frameRead(simWorld *w, simNode *n, simConn *c, unsigned d, const frameBlock *block) {
    static busFrame frame;
    char why[200];
    const uint8_t *p = (const uint8_t *)block->bytes;
    size_t len = sdsLen(block->bytes);
    if (busFrameLength(p, 64 << 20) != len) {
        if (simTraces(w, n->index)) simTrace(w, n, "a frame without a length: the link is closed");
        netReset(w, c);
        return;
    }
    busVerdict verdict = busFrameRead(sliceOf(block->bytes, len), &frame, why, sizeof(why));
    if (verdict != BUS_READ) {
        if (simTraces(w, n->index)) simTrace(w, n, "a frame is ignored: %s", verdict == BUS_IGNORED ? why : "version");
        if (!worldHas(w, FAULT_FORGE))
            simFault(w, nodeBit(n->index) | nodeBit(c->end[d].node), "frames are valid", "%s", why);
        return;
    }
    uint64_t number = c->end[!d].number;
    if (simTraces(w, n->index)) {
        simTrace(
            w, n, "<- n%u %s%s link %lld E=%llu/%llu offset %llu flags %04x marks %x slots %zu primary %.4s%s%.4s %llu",
            c->end[d].node, frame.light ? "light " : "", busTypeName(frame.type), (long long)number,
            (unsigned long long)frame.header.current_epoch, (unsigned long long)frame.header.config_epoch,
            (unsigned long long)frame.header.offset, frame.header.flags, frame.header.marks,
            slotSetCount(&frame.header.slots), frame.header.primary.text, nodeIdIsNone(&frame.subject) ? "" : " about ",
            frame.subject.text, (unsigned long long)frame.subject_epoch);
    }
    if (!frame.light) checkHeard(w, n, &frame.header.sender);
    clusterEvent e = {.kind = CLUSTER_FRAME, .link = number, .frame = &frame};
    nodeStep(w, n, &e);
}

static void frameArrives(simWorld *w, simEvent *e) {
    simConn *c = e->conn;
    unsigned d = (unsigned)e->number;
    unsigned from = c->end[d].node, to = c->end[!d].node;
    if (!c->end[!d].open || c->vanishing[d]) return;
    if (c->stuck_count[d] || !netReaches(w, from, to)) {
        c->stuck[d] = zgrowArray(c->stuck[d], c->stuck_count[d], &c->stuck_capacity[d], sizeof(*c->stuck[d]));
        c->stuck[d][c->stuck_count[d]++] = e->frame;
        e->frame = NULL;
        return;
    }
    frameRead(w, &w->nodes[to], c, d, e->frame);
}

bool netIsCalm(const simWorld *w) {
    const simEvent *events = w->events.at;
    for (size_t i = 0; i < w->events.count; i++)
        if (events[i].kind == SIM_FRAME && events[i].at > w->now + w->delay + 500 * MS) return false;
    return true;
}

void netHandle(simWorld *w, simEvent *e) {
    simConn *c = e->conn;
    simNode *n = &w->nodes[e->node];
    clusterEvent event = {0};
    switch (e->kind) {
    case SIM_CONNECT: connectArrives(w, e); break;
    case SIM_FRAME: frameArrives(w, e); break;
    case SIM_ACCEPTED:
        if (!c->end[1].open) break;
        if (simTraces(w, n->index)) simTrace(w, n, "accepted from n%u", c->end[0].node);
        event = (clusterEvent){
            .kind = CLUSTER_ACCEPTED, .link = c->end[1].number, .ip = n->ip, .peer_ip = w->nodes[c->end[0].node].ip};
        nodeStep(w, n, &event);
        break;
    case SIM_LINK_UP:
        if (!c->end[0].open) break;
        if (simTraces(w, n->index))
            simTrace(w, n, "link %llu to n%u is up", (unsigned long long)c->end[0].number, c->end[1].node);
        event = (clusterEvent){
            .kind = CLUSTER_LINK_UP, .link = c->end[0].number, .ip = n->ip, .peer_ip = w->nodes[c->end[1].node].ip};
        nodeStep(w, n, &event);
        break;
    case SIM_LINK_DOWN: {
        unsigned end = (unsigned)e->number;
        if (!c->end[end].open) break;
        uint64_t number = c->end[end].number;
        endClose(w, c, end);
        if (simTraces(w, n->index)) simTrace(w, n, "link %lld with n%u is down", (long long)number, c->end[!end].node);
        event = (clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = number};
        nodeStep(w, n, &event);
        break;
    }
    default: break;
    }
}

/* Calls `f` for each link that has an open end, once. */
static void eachConn(simWorld *w, void (*f)(simWorld *, simConn *)) {
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        for (size_t k = 0; k < n->out_count; k++)
            if (n->out[k]) f(w, n->out[k]);
        for (size_t k = 0; k < n->in_count; k++)
            if (n->in[k] && !n->in[k]->end[0].open) f(w, n->in[k]);
    }
}

simConn *netPick(simWorld *w, rng *r) {
    for (unsigned try = 0; try < 20; try++) {
        simNode *n = &w->nodes[worldBelow(r, w->count)];
        if (!n->out_count) continue;
        simConn *c = n->out[worldBelow(r, n->out_count)];
        if (c && c->end[0].open && c->end[1].open) return c;
    }
    return NULL;
}

static void unblock(simWorld *w, simConn *c) {
    for (unsigned d = 0; d < 2; d++) {
        if (!c->stuck_count[d] || !netReaches(w, c->end[d].node, c->end[!d].node)) continue;
        if (worldChance(&w->net, 0.5)) {
            netReset(w, c);
            return;
        }
        size_t count = c->stuck_count[d];
        c->stuck_count[d] = 0;
        c->last_arrival[d] = w->now;
        for (size_t i = 0; i < count; i++) sendOn(w, c, d, c->stuck[d][i]);
    }
}

void netUnblock(simWorld *w) { eachConn(w, unblock); }

/* Ends a link of which one end knows nothing any more, as TCP's keepalive does. */
static void heal(simWorld *w, simConn *c) {
    if (c->vanishing[0] || c->vanishing[1] || !c->end[0].open || (!c->end[1].open && c->end[1].incarnation))
        netReset(w, c);
}

void netHeal(simWorld *w) {
    netUnblock(w);
    eachConn(w, heal);
}
