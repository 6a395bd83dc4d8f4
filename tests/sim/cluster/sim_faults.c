/* sim_faults.c -- what a seed draws, and the faults of network, processes, disks and clocks.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

/* ---- Drawing ---- */

static void drawConfig(simWorld *w) {
    static const uint64_t timeouts[] = {500, 1000, 2000, 2000, 3000, 5000, 15000};
    rng *r = &w->draw;
    clusterConfig *c = &w->config;
    c->node_timeout_ms = timeouts[worldBelow(r, 7)];
    c->ping_interval_ms = 0;
    c->manual_failover_timeout_ms = worldChance(r, 0.7) ? 5000 : 1000;
    c->blacklist_ttl_s = worldBetween(r, 1, 60);
    c->replica_validity_factor = worldChance(r, 0.7) ? 10 : 0;
    c->replica_ping_period_ms = 10000;
    c->migration_barrier = 1;
    c->gossip_percent = worldChance(r, 0.8) ? 10 : 50;
    c->allow_replica_migration = worldChance(r, 0.7);
    c->protect_data = w->seed % 4 != 0;
    c->require_full_coverage = worldChance(r, 0.7);
    c->save_best_effort = false;
}

/* Has a quarter of the seeds run with nodes of Valkey 9.1.2 among the others. Faults from which a Valkey does not
 * recover by itself are left out there: commands without sense, moved nodes, answers that are lost on a link that
 * stays. */
static void drawValkeys(simWorld *w) {
    rng *r = &w->draw_valkeys;
    const simOptions *o = w->options;
    const uint64_t left_out = UINT64_C(1) << FAULT_SLOTS | UINT64_C(1) << FAULT_RESETS | UINT64_C(1) << FAULT_MEMBERS |
                              UINT64_C(1) << FAULT_TAKEOVERS | UINT64_C(1) << FAULT_MOVES |
                              UINT64_C(1) << FAULT_REPLICATES | UINT64_C(1) << FAULT_ADDRESS |
                              UINT64_C(1) << FAULT_FORGE;
    bool draws = worldChance(r, 0.25);
    double part = o->valkeys ? (o->valkeys - 1) / 100.0 : draws ? 0.2 + 0.6 * rngDouble(r) : 0;
    for (unsigned i = 0; i < w->count; i++) w->is_mixed |= w->nodes[i].is_valkey = worldChance(r, part);
    if (w->is_mixed) w->faults &= ~left_out;
}

void faultsDraw(simWorld *w) {
    rng *r = &w->draw;
    const simOptions *o = w->options;
    drawConfig(w);
    simTime t = w->config.node_timeout_ms * MS;
    /* Delays of a network that works: far below the timeout. */
    w->delay = worldBetween(r, 50, worldChance(r, 0.7) ? 2 * MS : t / 40);
    w->jitter = worldBetween(r, 0, worldChance(r, 0.7) ? MS : t / 40);
    simTime talk_ms = 20 * (w->delay + w->jitter) / MS;
    if (w->config.manual_failover_timeout_ms < talk_ms) w->config.manual_failover_timeout_ms = talk_ms;
    w->save_time = worldBetween(r, 200, worldChance(r, 0.7) ? 5 * MS : 100 * MS);
    w->pull_interval = worldBetween(r, 10 * MS, 60 * MS);
    w->clients = (unsigned)worldBetween(r, 0, 4);
    w->client_gap = worldBetween(r, 20 * MS, 300 * MS);
    w->storm_length = worldBetween(r, 20 * SECOND, 90 * SECOND) + 4 * t;
    if (o->storm) w->storm_length = o->storm * SECOND;
    w->storm_from_start = worldChance(r, 0.15);
    double density = 0.1 + 0.5 * rngDouble(r);
    for (unsigned k = 0; k < FAULT_KINDS; k++) {
        bool has = worldChance(r, density);
        double gap = worldChance(r, 0.5) ? 1 : 4;
        if (k >= FAULT_TAKEOVERS && worldChance(r, 0.4)) has = false;
        if (has) w->faults |= UINT64_C(1) << k;
        w->fault_gap[k] = (simTime)(gap * (double)(500 * MS + worldBelow(r, 2 * t + 2 * SECOND)));
    }
    w->faults &= ~o->without;
    if (o->only) w->faults = o->only;
    drawValkeys(w);
    w->all_have_names = worldChance(r, 0.3);
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        n->ip_is_announced = worldChance(r, 0.2);
        if (w->all_have_names || worldChance(r, 0.2)) snprintf(n->hostname, sizeof(n->hostname), "host%u.example", i);
        if (worldHas(w, FAULT_CLOCK)) {
            n->drift = (rngDouble(r) - 0.5) * 0.02;
            n->wall_offset_ms = (int64_t)worldBelow(r, 200000) - 100000;
        }
    }
}

static void schedule(simWorld *w, unsigned kind) {
    if (w->healed) return;
    simTime gap = w->fault_gap[kind];
    worldAt(w, w->now + worldBetween(&w->fault[kind], gap / 4, 2 * gap),
            (simEvent){.kind = SIM_DISTURB, .number = kind});
}

void faultsBegin(simWorld *w) {
    for (unsigned k = 0; k < FAULT_KINDS; k++)
        if (worldHas(w, k)) schedule(w, k);
}

/* ---- Partitions ---- */

static void partitionApply(simWorld *w, unsigned i, int change) {
    const bool *side = w->cut[i].side;
    for (unsigned a = 0; a < w->count; a++)
        for (unsigned b = 0; b < w->count; b++) {
            if (side[a] == side[b] || (w->cut[i].one_way && !side[a])) continue;
            w->blocked[a * w->count + b] = (uint8_t)(w->blocked[a * w->count + b] + change);
        }
}

static void partitionEnd(simWorld *w, unsigned i) {
    if (!w->cut[i].side) return;
    partitionApply(w, i, -1);
    zfree(w->cut[i].side);
    w->cut[i].side = NULL;
    netUnblock(w);
}

static void later(simWorld *w, unsigned kind, simTime wait, uint64_t what, unsigned node) {
    worldAt(
        w, w->now + wait,
        (simEvent){
            .kind = SIM_RELENT, .number = kind | what << 8, .node = node, .incarnation = w->nodes[node].incarnation});
}

static void partitionBegin(simWorld *w, unsigned kind) {
    rng *r = &w->fault[kind];
    unsigned i = kind == FAULT_ONE_WAY ? 2 : 0;
    if (w->cut[i].side) i++;
    if (w->cut[i].side) return;
    w->cut[i].side = zcalloc(w->count, sizeof(bool));
    w->cut[i].one_way = kind == FAULT_ONE_WAY;
    if (worldChance(r, 0.5)) {
        w->cut[i].side[worldBelow(r, w->count)] = true; /* one node */
    } else {
        for (unsigned n = 0; n < w->count; n++) w->cut[i].side[n] = worldChance(r, 0.4);
    }
    partitionApply(w, i, 1);
    if (simTraces(w, 99)) {
        sds text = sdsEmpty();
        for (unsigned n = 0; n < w->count; n++)
            if (w->cut[i].side[n]) text = sdsCatPrintf(text, " %u", n);
        simTrace(w, NULL, "partition %u%s:%s", i, w->cut[i].one_way ? " (what these send)" : "", text);
        sdsFree(text);
    }
    later(w, kind, worldBetween(r, 200 * MS, 4 * w->config.node_timeout_ms * MS), i, 0);
}

/* ---- Other faults ---- */

static simNode *anyAlive(simWorld *w, rng *r) {
    for (unsigned try = 0; try < 20; try++) {
        simNode *n = &w->nodes[worldBelow(r, w->count)];
        if (n->alive && !n->stopped) return n;
    }
    return NULL;
}

static void newAddress(simWorld *w, simNode *n) {
    rng *r = &w->fault[FAULT_ADDRESS];
    char left[NODE_IP_LEN];
    simNode *other = &w->nodes[worldBelow(r, w->count)];
    /* Sometimes the address of another node that is down: the two change places. */
    if (other != n && !other->alive && worldChance(r, 0.5)) {
        memcpy(left, n->ip, sizeof(left));
        uint16_t port = n->port, bus = n->bus_port;
        memcpy(n->ip, other->ip, sizeof(left));
        n->port = other->port, n->bus_port = other->bus_port;
        memcpy(other->ip, left, sizeof(left));
        other->port = port, other->bus_port = bus;
    } else {
        uint64_t a = ++w->next_address;
        snprintf(n->ip, sizeof(n->ip), "10.2.%u.%u", (unsigned)(a / 200 % 250), (unsigned)(1 + a % 200));
    }
}

static void killOne(simWorld *w, unsigned kind) {
    rng *r = &w->fault[kind];
    simNode *n = anyAlive(w, r);
    if (!n) return;
    nodeKill(w, n, worldChance(r, 0.3));
    if (kind == FAULT_ADDRESS) newAddress(w, n);
    simTime wait = worldChance(r, 0.3) ? worldBetween(r, 1 * MS, 200 * MS)
                                       : worldBetween(r, 200 * MS, 5 * w->config.node_timeout_ms * MS);
    worldAt(w, w->now + wait, (simEvent){.kind = SIM_START, .number = n->index, .version = n->incarnation});
}

static void configureOne(simWorld *w) {
    rng *r = &w->fault[FAULT_CONFIGURE];
    simNode *n = anyAlive(w, r);
    if (!n) return;
    clusterConfig c = nodeConfig(w, n);
    char name[32];
    snprintf(name, sizeof(name), "name%llu", (unsigned long long)worldBelow(r, 1000));
    if (worldChance(r, 0.3)) c.human_name = sliceStr(name);
    if (worldChance(r, 0.3)) c.zone = sliceStr("az-a");
    c.replica_no_failover = worldChance(r, 0.2);
    clusterEvent e = {.kind = CLUSTER_CONFIGURE, .config = &c};
    nodeStep(w, n, &e);
}

static void mainIsBusy(const simWorld *w, simNode *n, simTime until) {
    simTime end = w->phase_began + w->storm_length;
    n->server.main_free = w->phase == PHASE_STORM && until > end ? end : until;
}

static void disturbNode(simWorld *w, unsigned kind, simTime t) {
    rng *r = &w->fault[kind];
    simNode *n = anyAlive(w, r);
    if (!n) return;
    if (simTraces(w, n->index)) simTrace(w, n, "fault: %s", sim_fault_names[kind]);
    switch (kind) {
    case FAULT_STALL: nodeStop(w, n, worldBetween(r, 100 * MS, 3 * t)); break;
    case FAULT_BUSY:
        if (n->is_valkey) nodeStop(w, n, worldBetween(r, 50 * MS, 2 * t)); /* its main thread serves the bus */
        else mainIsBusy(w, n, w->now + worldBetween(r, 50 * MS, 2 * t));
        break;
    case FAULT_DISK_SLOW:
        n->disk_delay = worldBetween(r, 10 * MS, 3 * SECOND);
        later(w, kind, worldBetween(r, SECOND, 4 * t), 0, n->index);
        break;
    case FAULT_DISK_FAIL:
        n->disk_fails = true;
        later(w, kind, worldBetween(r, SECOND, 4 * t), 0, n->index);
        break;
    case FAULT_CLOCK: n->wall_offset_ms += (int64_t)worldBelow(r, 2000000) - 1000000; break;
    case FAULT_REPLICATION:
        n->server.link_is_up = false;
        n->server.sync_until = 0;
        n->server.next_try = w->now + worldBetween(r, 0, 3 * t);
        break;
    default: break;
    }
}

static void disturb(simWorld *w, unsigned kind) {
    rng *r = &w->fault[kind];
    simTime t = w->config.node_timeout_ms * MS;
    simConn *c;
    switch (kind) {
    case FAULT_DELAY:
        w->extra_delay = worldBetween(r, 0, worldChance(r, 0.3) ? t : t / 8);
        later(w, kind, worldBetween(r, 100 * MS, 2 * t), 0, 0);
        break;
    case FAULT_RESET:
        for (unsigned i = 0, many = (unsigned)worldBetween(r, 1, 2 * w->count); i < many; i++)
            if ((c = netPick(w, r))) netReset(w, c);
        break;
    case FAULT_REFUSE:
        w->refuses = true;
        later(w, kind, worldBetween(r, 100 * MS, 2 * t), 0, 0);
        break;
    case FAULT_PARTITION:
    case FAULT_ONE_WAY: partitionBegin(w, kind); break;
    case FAULT_HALF_OPEN:
        if (!(c = netPick(w, r))) break;
        c->vanishing[worldBelow(r, 2)] = true;
        if (worldChance(r, 0.5)) c->vanishing[0] = c->vanishing[1] = true;
        break;
    case FAULT_KILL:
    case FAULT_ADDRESS: killOne(w, kind); break;
    case FAULT_CONFIGURE: configureOne(w); break;
    case FAULT_FORGE:
    case FAULT_AMNESIA: break; /* part of other events */
    default:
        if (kind >= FAULT_FAILOVERS) operatorDisturb(w, kind);
        else disturbNode(w, kind, t);
    }
}

static void relent(simWorld *w, simEvent *e) {
    unsigned kind = e->number & 0xff;
    simNode *n = &w->nodes[e->node];
    switch (kind) {
    case FAULT_DELAY: w->extra_delay = 0; break;
    case FAULT_REFUSE: w->refuses = false; break;
    case FAULT_PARTITION:
    case FAULT_ONE_WAY: partitionEnd(w, (unsigned)(e->number >> 8)); break;
    case FAULT_DISK_SLOW: n->disk_delay = 0; break;
    case FAULT_DISK_FAIL: n->disk_fails = false; break;
    default: break;
    }
}

void faultsHandle(simWorld *w, simEvent *e) {
    if (e->kind == SIM_RELENT) {
        relent(w, e);
    } else if (!w->healed) {
        disturb(w, (unsigned)e->number);
        schedule(w, (unsigned)e->number);
    }
}

void faultsHeal(simWorld *w) {
    w->healed = true;
    w->extra_delay = 0;
    w->refuses = false;
    for (unsigned i = 0; i < 4; i++) partitionEnd(w, i);
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        n->disk_delay = 0;
        n->disk_fails = false;
        if (n->server.main_free > w->now) n->server.main_free = w->now;
        if (n->server.next_try > w->now) n->server.next_try = w->now;
        nodeResume(w, n);
        if (!n->alive) nodeStart(w, n);
        clusterConfig c = nodeConfig(w, n);
        clusterEvent e = {.kind = CLUSTER_CONFIGURE, .config = &c};
        nodeStep(w, n, &e);
    }
    netHeal(w);
}
