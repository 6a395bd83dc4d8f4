/* small_cluster.c -- see small_cluster.h.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"

#include "panic.h"
#include "zmalloc.h"

#include <stdio.h>
#include <stdlib.h>

static void ipOf(int node, char *ip) { snprintf(ip, NODE_IP_LEN, "10.0.0.%d", node + 1); }

static int nodeAtIp(const smallCluster *c, const char *ip) {
    int node = atoi(ip + strlen("10.0.0.")) - 1;
    return node >= 0 && node < c->count ? node : -1;
}

/* ---- Links ---- */

static smallLink *findLink(smallCluster *c, int node, uint64_t number) {
    for (size_t i = 0; i < c->link_count; i++) {
        smallLink *l = &c->links[i];
        if ((l->a == node && l->a_link == number) || (l->b == node && l->b_link == number)) return l;
    }
    return NULL;
}

static void otherEnd(const smallLink *l, int node, uint64_t number, int *other, uint64_t *other_number) {
    bool is_a = l->a == node && l->a_link == number;
    *other = is_a ? l->b : l->a;
    *other_number = is_a ? l->b_link : l->a_link;
}

static void closeLink(smallCluster *c, int node, uint64_t number) {
    smallLink *l = findLink(c, node, number);
    int other;
    uint64_t other_number;
    if (!l) return;
    otherEnd(l, node, number, &other, &other_number);
    *l = c->links[--c->link_count];
    smallStep(c, other, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = other_number});
}

static void connectNode(smallCluster *c, int node, const clusterAction *a) {
    int other = nodeAtIp(c, a->ip);
    char ip[NODE_IP_LEN], peer[NODE_IP_LEN];
    if (other < 0 || c->nodes[other].is_cut || c->nodes[node].is_cut || !c->nodes[other].m) {
        smallStep(c, node, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = a->link});
        return;
    }
    if (c->link_count == c->link_capacity) {
        c->link_capacity = c->link_capacity ? 2 * c->link_capacity : 64;
        c->links = zrealloc(c->links, c->link_capacity * sizeof(*c->links));
    }
    uint64_t accepted = CLUSTER_LINK_ACCEPTED + ++c->accepted;
    c->links[c->link_count++] = (smallLink){.a = node, .b = other, .a_link = a->link, .b_link = accepted};
    ipOf(node, ip);
    ipOf(other, peer);
    smallStep(c, other, &(clusterEvent){.kind = CLUSTER_ACCEPTED, .link = accepted, .ip = peer, .peer_ip = ip});
    smallStep(c, node, &(clusterEvent){.kind = CLUSTER_LINK_UP, .link = a->link, .ip = ip, .peer_ip = peer});
}

static void sendFrame(smallCluster *c, int node, const clusterAction *a) {
    smallLink *l = findLink(c, node, a->link);
    busFrame f;
    char why[200];
    int other;
    uint64_t number;
    serverAssert(busFrameLength((const uint8_t *)a->frame->bytes, SIZE_MAX) == sdsLen(a->frame->bytes));
    serverAssert(busFrameRead(sdsSlice(a->frame->bytes), &f, why, sizeof(why)) == BUS_READ);
    c->nodes[node].sent[f.type]++;
    if (!f.light) c->nodes[node].last_sent[f.type] = f.header;
    if (!l) return;
    otherEnd(l, node, a->link, &other, &number);
    smallStep(c, other, &(clusterEvent){.kind = CLUSTER_FRAME, .link = number, .frame = &f});
}

/* ---- Steps ---- */

static void pauseWrites(smallCluster *c, int node, const clusterAction *a) {
    smallNode *n = &c->nodes[node];
    n->paused++;
    n->last_pause = a->pause;
    if (n->main_waits) return;
    n->local.pause = a->pause;
    smallStep(c, node, &(clusterEvent){.kind = CLUSTER_LOCAL, .local = &n->local});
}

static void execute(smallCluster *c, int node, clusterAction *a) {
    smallNode *n = &c->nodes[node];
    switch (a->kind) {
    case CLUSTER_CONNECT: connectNode(c, node, a); break;
    case CLUSTER_CLOSE: closeLink(c, node, a->link); break;
    case CLUSTER_SEND: sendFrame(c, node, a); break;
    case CLUSTER_DELIVER: n->delivered++; break;
    case CLUSTER_BECOME_PRIMARY: n->became_primary++; break;
    case CLUSTER_FOLLOW:
        n->followed++;
        n->follows = n->local.follows = a->node;
        n->local.primary_link_is_up = n->local.has_dataset = true;
        break;
    case CLUSTER_REPLY:
        sdsFree(n->reply);
        n->reply = a->text;
        a->text = NULL;
        break;
    case CLUSTER_LOG: n->log = sdsCatPrintf(n->log, "%s\n", a->text); break;
    case CLUSTER_HEARD:
    case CLUSTER_VIEW_CHANGED:
    case CLUSTER_FLUSH: break;
    case CLUSTER_PAUSE_WRITES: pauseWrites(c, node, a); break;
    case CLUSTER_RESUME_WRITES:
        n->resumed++;
        n->local.pause = 0;
        break;
    }
}

static void saveNow(smallCluster *c, int node) {
    smallNode *n = &c->nodes[node];
    while (n->m && !n->disk_waits && !n->save_failed && clusterMustSave(n->m)) {
        uint64_t version;
        sdsFree(n->file);
        n->file = clusterFileText(n->m, c->now, &version);
        n->save_failed = n->disk_fails;
        clusterEventKind kind = n->disk_fails ? CLUSTER_SAVE_FAILED : CLUSTER_SAVED;
        smallStep(c, node, &(clusterEvent){.kind = kind, .version = version});
    }
}

void smallStep(smallCluster *c, int node, const clusterEvent *e) {
    clusterActions actions = {0};
    if (!c->nodes[node].m) return;
    clusterStep(c->nodes[node].m, c->now, e, &actions);
    clusterCheck(c->nodes[node].m);
    for (size_t i = 0; i < actions.count; i++) execute(c, node, &actions.list[i]);
    clusterActionsFree(&actions);
    saveNow(c, node);
}

void smallRun(smallCluster *c, uint64_t ms) {
    for (; ms >= 100; ms -= 100) {
        c->now.mono_ms += 100;
        c->now.wall_ms += 100;
        for (int i = 0; i < c->count; i++) {
            smallNode *n = &c->nodes[i];
            n->save_failed = false;
            n->local.primary_silent_ms = n->local.primary_link_is_up ? 0 : n->local.primary_silent_ms + 100;
            smallStep(c, i, &(clusterEvent){.kind = CLUSTER_TICK, .local = &n->local});
        }
    }
}

const char *smallCommand(smallCluster *c, int node, clusterCommand command) {
    smallStep(c, node, &(clusterEvent){.kind = CLUSTER_COMMAND, .command = &command});
    return c->nodes[node].reply;
}

/* ---- Life ---- */

static void startNode(smallCluster *c, int i, const nodesFile *file) {
    smallNode *n = &c->nodes[i];
    n->m = clusterCreate((uint64_t)i + 1, c->now, &n->config, file);
    saveNow(c, i);
}

void smallInit(smallCluster *c, int count) {
    memset(c, 0, sizeof(*c));
    c->now = (clusterTime){.mono_ms = 1000000, .wall_ms = 1700000000000};
    c->count = count;
    for (int i = 0; i < count; i++) {
        smallNode *n = &c->nodes[i];
        n->config = (clusterConfig){.node_timeout_ms = 2000,
                                    .manual_failover_timeout_ms = 5000,
                                    .blacklist_ttl_s = 60,
                                    .replica_validity_factor = 10,
                                    .replica_ping_period_ms = 10000,
                                    .migration_barrier = 1,
                                    .gossip_percent = 10,
                                    .allow_replica_migration = true,
                                    .require_full_coverage = true,
                                    .port = (uint16_t)(7000 + i),
                                    .bus_port = (uint16_t)(17000 + i)};
        n->local.is_empty = true;
        n->log = sdsEmpty();
        startNode(c, i, NULL);
    }
}

void smallFree(smallCluster *c) {
    for (int i = 0; i < c->count; i++) {
        smallNode *n = &c->nodes[i];
        if (n->m) clusterFree(n->m);
        sdsFree(n->file);
        sdsFree(n->reply);
        sdsFree(n->log);
    }
    zfree(c->links);
}

static void dropLinks(smallCluster *c, int node) {
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < c->link_count && !again; i++) {
            smallLink l = c->links[i];
            if (l.a != node && l.b != node) continue;
            again = true;
            c->links[i] = c->links[--c->link_count];
            smallStep(c, l.a, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = l.a_link});
            smallStep(c, l.b, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = l.b_link});
        }
    }
}

void smallCut(smallCluster *c, int node, bool cut) {
    c->nodes[node].is_cut = cut;
    c->nodes[node].local.primary_link_is_up = false;
    if (cut) dropLinks(c, node);
    for (int i = 0; cut && i < c->count; i++) {
        const clusterNode *n = smallRecord(c, i, node);
        if (n && c->nodes[i].m && clusterMyself(c->nodes[i].m)->primary == n->seat)
            c->nodes[i].local.primary_link_is_up = false;
    }
}

void smallConfigure(smallCluster *c, int node) {
    smallStep(c, node, &(clusterEvent){.kind = CLUSTER_CONFIGURE, .config = &c->nodes[node].config});
}

void smallRestart(smallCluster *c, int node) {
    smallNode *n = &c->nodes[node];
    nodesFile file;
    sds error = NULL;
    clusterFree(n->m);
    n->m = NULL;
    dropLinks(c, node);
    serverAssert(nodesFileParse(sdsSlice(n->file), &file, &error));
    startNode(c, node, &file);
    nodesFileFree(&file);
}

const clusterNode *smallRecord(smallCluster *c, int of, int about) {
    return clusterNodeById(c->nodes[of].m, &clusterMyself(c->nodes[about].m)->id);
}

void smallJoin(smallCluster *c, int primaries) {
    for (int i = 0; i < primaries; i++) {
        slotSet slots = {{0}};
        for (int s = CLUSTER_SLOTS * i / primaries; s < CLUSTER_SLOTS * (i + 1) / primaries; s++)
            slotSetAdd(&slots, (unsigned)s);
        smallCommand(c, i, (clusterCommand){.kind = CLUSTER_SET_CONFIG_EPOCH, .epoch = (uint64_t)i + 1});
        smallCommand(c, i, (clusterCommand){.kind = CLUSTER_ADD_SLOTS, .slots = &slots});
    }
    for (int i = 1; i < c->count; i++)
        smallCommand(c, i, (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.1", .port = 7000, .bus_port = 17000});
    smallRun(c, 5000);
}

void smallReplicate(smallCluster *c, int node, int of, uint64_t offset) {
    nodeId id = clusterMyself(c->nodes[of].m)->id;
    const char *reply = smallCommand(c, node, (clusterCommand){.kind = CLUSTER_REPLICATE, .node = id});
    serverAssert(!strcmp(reply, "+OK"));
    c->nodes[node].local.offset = offset;
    c->nodes[node].local.is_empty = false;
}

void smallReceive(smallCluster *c, int to, int from, const busFrame *f) {
    for (size_t i = 0; i < c->link_count; i++) {
        uint64_t number = c->links[i].b_link;
        if (c->links[i].a != from || c->links[i].b != to) continue;
        smallStep(c, to, &(clusterEvent){.kind = CLUSTER_FRAME, .link = number, .frame = f});
        return;
    }
    serverPanic("node %d has no link to node %d", from, to);
}
