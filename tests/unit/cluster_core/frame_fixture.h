/* frame_fixture.h -- frames that other nodes send to a machine of machine_fixture.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_FRAME_FIXTURE_H
#define TESTS_FRAME_FIXTURE_H

#include "machine_fixture.h"

static busFrame fixture_frame; /* the next one, and what the last one was */

static inline clusterNode *fixtureNode(clusterMachine *m, const char *id) {
    nodeId value = fixtureId(id);
    return nodeById(m, &value);
}

static inline void fixtureSlots(slotSet *set, unsigned first, unsigned last) {
    *set = (slotSet){{0}};
    for (unsigned slot = first; slot <= last; slot++) slotSetAdd(set, slot);
}

/* Begins a PING of a primary that claims the slots first to last; none if last < first. */
static inline busHeader *fixtureHeader(const char *id, uint64_t config_epoch, unsigned first, unsigned last) {
    fixture_frame = (busFrame){.type = BUS_PING,
                               .header = {.sender = fixtureId(id),
                                          .current_epoch = config_epoch > 7 ? config_epoch : 7,
                                          .config_epoch = config_epoch,
                                          .flags = NODE_PRIMARY | NODE_EXTENSIONS,
                                          .marks = BUS_MARK_EXTENSIONS}};
    if (first <= last) fixtureSlots(&fixture_frame.header.slots, first, last);
    return &fixture_frame.header;
}

/* The same of a replica. */
static inline busHeader *fixtureReplicaHeader(const char *id, const char *primary, uint64_t config_epoch) {
    busHeader *h = fixtureHeader(id, config_epoch, 1, 0);
    h->flags ^= NODE_PRIMARY | NODE_REPLICA;
    h->primary = fixtureId(primary);
    return h;
}

/* Has the machine read the frame on the node's inbound link. */
static inline void fixtureHear(clusterMachine *m) {
    static uint64_t last;
    const clusterNode *n = nodeById(m, &fixture_frame.header.sender);
    uint64_t link = n && n->link_in ? n->link_in : CLUSTER_LINK_ACCEPTED + ++last;
    busHeader *h = &fixture_frame.header;
    if (n) {
        h->port = n->port;
        h->bus_port = n->bus_port;
    }
    if (!n || !n->link_in)
        fixtureStep(m,
                    (clusterEvent){.kind = CLUSTER_ACCEPTED, .link = link, .ip = "127.0.0.1", .peer_ip = "127.0.0.1"});
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_FRAME, .link = link, .frame = &fixture_frame});
}

/* The machine's connections are made. */
static inline void fixtureLinksUp(clusterMachine *m) {
    EACH_NODE (m, n)
        if (n->link_out && !n->link_out_ms)
            fixtureStep(m,
                        (clusterEvent){
                            .kind = CLUSTER_LINK_UP, .link = n->link_out, .ip = "127.0.0.1", .peer_ip = "127.0.0.1"});
}

/* Connects the machine to all nodes. */
static inline void fixtureConnect(clusterMachine *m) {
    fixtureTick(m, 100);
    fixtureLinksUp(m);
}

/* The node answers a ping, with the header that the machine has of it. */
static inline void fixtureAnswer(clusterMachine *m, const char *id) {
    clusterNode *n = fixtureNode(m, id), *primary = n->primary ? nodeAt(m, n->primary) : NULL;
    if (primary) fixtureReplicaHeader(id, primary->id.text, primary->config_epoch);
    else fixtureHeader(id, n->config_epoch, 1, 0);
    if (!primary && n->slots) fixture_frame.header.slots = *n->slots;
    if (primary && primary->slots) fixture_frame.header.slots = *primary->slots;
    fixture_frame.header.current_epoch = m->current_epoch;
    fixture_frame.header.port = n->port;
    fixture_frame.header.bus_port = n->bus_port;
    fixture_frame.type = BUS_PONG;
    fixtureStep(m, (clusterEvent){.kind = CLUSTER_FRAME, .link = n->link_out, .frame = &fixture_frame});
}

/* Returns the frame of that type which the last step has sent to a node; NULL: none. */
static inline const busFrame *fixtureSent(clusterMachine *m, const char *to, busType type) {
    static busFrame f;
    char why[200];
    const clusterNode *n = fixtureNode(m, to);
    for (size_t i = 0; i < fixture_actions.count; i++) {
        const clusterAction *a = &fixture_actions.list[i];
        if (a->kind != CLUSTER_SEND || (a->link != n->link_out && a->link != n->link_in)) continue;
        if (busFrameRead(sdsSlice(a->frame->bytes), &f, why, sizeof(why)) == BUS_READ && f.type == type) return &f;
    }
    return NULL;
}

/* Returns whether the last step has logged a text. */
static inline bool fixtureLogged(const char *text) {
    for (size_t i = 0; i < fixture_actions.count; i++)
        if (fixture_actions.list[i].kind == CLUSTER_LOG && strstr(fixture_actions.list[i].text, text)) return true;
    return false;
}

/* Returns the first characters of the ids of the owners of the slots first to last, "-" for none. */
static inline const char *fixtureOwners(clusterMachine *m, unsigned first, unsigned last) {
    static char text[64];
    size_t len = 0;
    for (unsigned slot = first; slot <= last && len + 1 < sizeof(text); slot++)
        text[len++] = m->owner[slot] ? nodeAt(m, m->owner[slot])->id.text[0] : '-';
    text[len] = 0;
    return text;
}

#endif
