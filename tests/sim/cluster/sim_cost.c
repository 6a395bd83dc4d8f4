/* sim_cost.c -- what a large cluster costs: time of a step, frames and bytes, whole and with a quarter of it dead.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

static void idOf(nodeId *id, unsigned i) {
    char text[NODE_ID_LEN + 1];
    uint64_t words[2] = {i, 17};
    snprintf(text, sizeof(text), "%016llx%016llx%08x", (unsigned long long)xxh3(words, 16),
             (unsigned long long)xxh3(words, 8), i);
    memcpy(id, text, sizeof(*id));
}

/* Gives each node a nodes file that has all of them. */
static void makeFiles(simWorld *w) {
    nodesFile file = {.count = w->count, .current_epoch = w->primaries};
    file.nodes = zcalloc(w->count, sizeof(*file.nodes));
    for (unsigned i = 0; i < w->count; i++) {
        nodeRecord *r = &file.nodes[i];
        unsigned p = i % w->primaries;
        idOf(&r->id, i);
        idOf(&r->shard, p + 100000);
        memcpy(r->ip, w->nodes[i].ip, sizeof(r->ip));
        r->port = w->nodes[i].port;
        r->bus_port = w->nodes[i].bus_port;
        r->flags = i < w->primaries ? NODE_PRIMARY : NODE_REPLICA;
        if (i >= w->primaries) idOf(&r->primary, p);
        if (i >= w->primaries) continue;
        r->config_epoch = i + 1;
        for (unsigned s = CLUSTER_SLOTS * i / w->primaries; s < CLUSTER_SLOTS * (i + 1) / w->primaries; s++)
            slotSetAdd(&r->slots, s);
    }
    for (unsigned i = 0; i < w->count; i++) {
        file.nodes[i].flags |= NODE_MYSELF;
        w->nodes[i].disk.text = nodesFileText(&file);
        file.nodes[i].flags &= (uint16_t)~NODE_MYSELF;
    }
    zfree(file.nodes);
}

static void advance(simWorld *w, simTime until) {
    while (w->events.count && ((simEvent *)w->events.at)->at < until && !w->fault_found.found) simNext(w);
}

static void measure(simWorld *w, const char *title, unsigned s) {
    simStats before = w->stats;
    uint64_t step_ns = w->step_ns;
    unsigned alive = 0;
    for (unsigned i = 0; i < w->count; i++) alive += w->nodes[i].alive;
    advance(w, w->now + s * SECOND);
    double steps = (double)(w->stats.steps - before.steps), frames = (double)(w->stats.frames - before.frames);
    double bytes = (double)(w->stats.bytes - before.bytes), per = (double)alive * s;
    clusterSummary sum = {0};
    for (unsigned i = 0; i < w->count && !sum.known_nodes; i++)
        if (w->nodes[i].alive) sum = clusterSummarize(w->nodes[i].machine);
    printf("%-28s %3u s: %6.0f steps/s, %5.0f frames/s, %8.0f bytes/s, %6.2f us a step, %6.3f %% of a core a node; "
           "failed %u, "
           "suspected %u, connects %.0f/s\n",
           title, s, steps / per, frames / per, bytes / per, (double)(w->step_ns - step_ns) / steps / 1e3,
           (double)(w->step_ns - step_ns) / per / 1e7, sum.nodes_failed, sum.nodes_suspected,
           (double)(w->stats.connects - before.connects) / per);
}

int simCost(const simOptions *o) {
    static simWorld w;
    simInit(&w, o, o->seed);
    w.primaries = (w.count + 2) / 3;
    w.config = (clusterConfig){.node_timeout_ms = 15000,
                               .manual_failover_timeout_ms = 5000,
                               .blacklist_ttl_s = 60,
                               .replica_validity_factor = 10,
                               .replica_ping_period_ms = 10000,
                               .migration_barrier = 1,
                               .gossip_percent = 10,
                               .allow_replica_migration = true,
                               .protect_data = true,
                               .require_full_coverage = true};
    w.delay = 200;
    w.jitter = 300;
    w.save_time = 5 * MS;
    w.pull_interval = SECOND;
    w.phase = PHASE_SETTLE;
    makeFiles(&w);
    for (unsigned i = 0; i < w.count; i++) nodeStart(&w, &w.nodes[i]);
    printf("%u nodes, %u primaries, node timeout 15 s; figures of one node\n", w.count, w.primaries);
    measure(&w, "start", 5);
    measure(&w, "settling", 20);
    measure(&w, "steady", 20);
    for (unsigned i = 0; i < w.count; i++)
        if (i % 4 == 1) nodeKill(&w, &w.nodes[i], false);
    measure(&w, "a quarter has died", 10);
    measure(&w, "suspected, failed", 30);
    measure(&w, "with a quarter dead", 20);
    for (unsigned i = 0; i < w.count; i++)
        if (i % 4 == 1) nodeStart(&w, &w.nodes[i]);
    measure(&w, "all start again", 20);
    measure(&w, "steady", 20);
    int bad = w.fault_found.found;
    if (bad) printf("FAULT %s: %s\n", w.fault_found.rule, w.fault_found.text);
    simEnd(&w);
    return bad;
}
