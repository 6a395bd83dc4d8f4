/* sim_server.c -- the server around a machine: main's table of owners, the dataset, replication, and clients.
 *
 * Main executes actions in their order, some time after the step: its table and role are copies. Its reports (`local`)
 * are about the primary that the machine has now: what main knows of another one does not count.
 *
 * A write is a new version of a key; versions grow in the order of acceptance. A write is acknowledged by all if each
 * node of its primary's shard, alive or dead, has applied it within the client's wait: each replica by its own word,
 * and each node that the primary knows in its shard. A replica that still follows a former primary counts, as it can be
 * elected. It is acknowledged by a majority if more than half of the shard's nodes have it.
 *
 * Promise     a write that was acknowledged by all is in the dataset of each node that is promoted for its slot. A
 *             write that only a majority has is in it unless the replicas that have it do not take part in the
 *             election: such losses are counted, not found at fault. Neither holds for datasets that are not saved
 *             (amnesia), keys whose slot was moved by hand, and after TAKEOVER, RESET and the like, or when the only
 *             replica that could be elected has no dataset.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

#define LOG_MAX 4000

static unsigned slotOfKey(unsigned key) { return key * (CLUSTER_SLOTS / SIM_KEYS); }
static uint64_t newReplid(simWorld *w) { return ++w->last_replid; }

/* ---- Dataset ---- */

static void logAppend(simWorld *w, simServer *s, unsigned key, uint64_t version) {
    if (s->log_count == LOG_MAX) {
        memmove(s->log, s->log + LOG_MAX / 2, LOG_MAX / 2 * sizeof(*s->log));
        s->log_count = LOG_MAX / 2;
        s->log_start += LOG_MAX / 2;
    }
    s->log = zgrowArray(s->log, s->log_count, &s->log_capacity, sizeof(*s->log));
    s->log[s->log_count++] = (simLogEntry){key, version, w->now};
    s->version[key] = version;
    s->offset++;
}

static bool isEmpty(const simServer *s) {
    for (unsigned k = 0; k < SIM_KEYS; k++)
        if (s->version[k]) return false;
    return true;
}

static void logDrop(simServer *s) {
    s->log_count = 0;
    s->log_start = s->offset;
}

static void schedulePull(simWorld *w, simNode *n, simTime wait) {
    n->server.pulling = true;
    worldAt(w, w->now + wait, (simEvent){.kind = SIM_PULL, .node = n->index, .incarnation = n->incarnation});
}

static void copyView(simWorld *w, simNode *n) {
    simServer *s = &n->server;
    s->view_ok = clusterSummarize(n->machine).ok;
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        const clusterNode *owner = clusterOwner(n->machine, slotOfKey(k));
        simNode *found = owner ? nodeOfId(w, &owner->id) : NULL;
        s->owner[k] = found ? (int)found->index : -1;
        s->importing[k] = clusterImportingFrom(n->machine, slotOfKey(k)) != NULL;
        bool mine = s->owner[k] == (int)n->index;
        if (!s->is_primary || n->is_replica || mine || s->importing[k] || !s->version[k] || s->owner[k] < 0) continue;
        if (simTraces(w, n->index)) simTrace(w, n, "main deletes key %u of n%d", k, s->owner[k]);
        logAppend(w, s, k, 0);
    }
}

/* ---- Start and end ---- */

void serverStart(simWorld *w, simNode *n) {
    simServer *s = &n->server, *old = &n->saved_server;
    zfree(s->log);
    *s = (simServer){0};
    memset(s->owner, -1, sizeof(s->owner));
    s->is_primary = !n->is_replica;
    if (n->incarnation > 1 && !(worldHas(w, FAULT_AMNESIA) && !w->healed)) {
        memcpy(s->version, old->version, sizeof(s->version));
        s->replid = old->replid;
        s->replid2 = old->replid2;
        s->replid2_end = old->replid2_end;
        s->offset = s->log_start = old->offset;
        s->has_dataset = old->has_dataset;
    } else if (n->incarnation > 1) {
        w->data_may_go = true;
        if (worldChance(&w->fault[FAULT_AMNESIA], 0.5)) memcpy(s->version, old->version, sizeof(s->version));
    }
    if (s->is_primary || !s->replid) {
        /* A new history: an old one may have had writes that the files do not have. */
        s->replid = newReplid(w);
        s->replid2 = 0;
        if (s->is_primary) s->has_dataset = true;
    }
    s->loading_until = w->now + worldBetween(&w->disk, 1 * MS, 300 * MS);
    if (!w->options->cost) copyView(w, n);
    const clusterNode *me = clusterMyself(n->machine);
    const clusterNode *primary = me->primary ? clusterNodeBySeat(n->machine, me->primary) : NULL;
    if (!n->is_replica || !primary) return;
    s->has_primary = true;
    s->primary = primary->id;
    memcpy(s->primary_ip, primary->ip, sizeof(s->primary_ip));
    s->primary_port = primary->port;
    s->contact = w->now;
    schedulePull(w, n, w->pull_interval);
}

void serverKilled(simWorld *w, simNode *n) {
    (void)w;
    zfree(n->saved_server.log);
    n->saved_server = n->server;
    n->saved_server.log = NULL;
    n->saved_server.log_count = n->saved_server.log_capacity = 0;
}

/* ---- Reports of main ---- */

clusterLocal serverLocal(const simWorld *w, const simNode *n) {
    const simServer *s = &n->server;
    clusterLocal l = {
        .offset = s->offset, .is_loading = w->now < s->loading_until || s->sync_until > w->now, .is_empty = isEmpty(s)};
    if (w->now < s->paused_until) l.pause = s->pause;
    if (n->is_replica) {
        if (!s->is_primary && s->has_primary) l.follows = s->primary;
        l.primary_link_is_up = s->link_is_up;
        l.has_dataset = s->has_dataset;
        l.primary_silent_ms = (w->now - s->contact) / 1000;
        if (planted(w, PLANT_OFFSET_ZERO)) l.has_dataset = false, l.offset = 0;
    }
    return l;
}

static void reportLocal(simWorld *w, simNode *n) {
    clusterLocal local = serverLocal(w, n);
    clusterEvent e = {.kind = CLUSTER_LOCAL, .local = &local};
    nodeStep(w, n, &e);
}

/* ---- Main executes actions ---- */

void serverQueue(simWorld *w, simNode *n, const clusterAction *a) {
    simServer *s = &n->server;
    simTime at = w->now + worldBelow(&w->net, 2 * MS);
    if (at < s->main_free) at = s->main_free;
    if (at < s->main_last) at = s->main_last;
    s->main_last = at;
    clusterAction *copy = zmalloc(sizeof(*copy));
    *copy = *a;
    copy->frame = NULL;
    copy->text = NULL;
    worldAt(w, at, (simEvent){.kind = SIM_MAIN, .node = n->index, .incarnation = n->incarnation, .owned = copy});
}

static void becomePrimary(simWorld *w, simNode *n) {
    simServer *s = &n->server;
    if (s->is_primary) return;
    s->replid2 = s->replid;
    s->replid2_end = s->offset;
    s->replid = newReplid(w);
    s->is_primary = true;
    s->has_primary = s->link_is_up = false;
    s->sync_until = 0;
    w->stats.promotions++;
    /* It was the only one that could be elected. It says so in the log; what the others had is lost. */
    if (!s->has_dataset) w->stats.promotions_without_data++, w->data_may_go = true;
    s->has_dataset = true;
    checkPromotion(w, n);
}

static void follow(simWorld *w, simNode *n, const clusterAction *a) {
    simServer *s = &n->server;
    bool other = !s->has_primary || !nodeIdEqual(&s->primary, &a->node);
    if (!s->is_primary && planted(w, PLANT_FOLLOW_IGNORED) && s->has_primary) return;
    if (!a->same_shard && other) {
        s->replid = newReplid(w);
        s->replid2 = 0;
        s->has_dataset = false;
    }
    /* A former primary may have written what its successor does not have: its offset counts when it has continued. */
    if (s->is_primary && !n->is_valkey) s->has_dataset = false;
    s->is_primary = false;
    s->has_primary = true;
    s->primary = a->node;
    memcpy(s->primary_ip, a->ip, sizeof(s->primary_ip));
    s->primary_port = a->port;
    if (s->link_is_up || other) s->contact = w->now;
    s->link_is_up = false;
    s->sync_until = 0;
    s->next_try = 0;
    if (!s->pulling) schedulePull(w, n, w->pull_interval);
}

static void flush(simWorld *w, simNode *n) {
    simServer *s = &n->server;
    memset(s->version, 0, sizeof(s->version));
    s->replid = newReplid(w);
    s->replid2 = 0;
    logDrop(s);
}

static void mainExecutes(simWorld *w, simNode *n, const clusterAction *a) {
    simServer *s = &n->server;
    switch (a->kind) {
    case CLUSTER_HEARD: break;
    case CLUSTER_VIEW_CHANGED:
        if (w->options->cost) break;
        if (!planted(w, PLANT_VIEW_STALE) || w->phase < PHASE_STORM) copyView(w, n);
        break;
    case CLUSTER_BECOME_PRIMARY:
        if (!planted(w, PLANT_PROMOTION_IGNORED)) becomePrimary(w, n);
        break;
    case CLUSTER_FOLLOW: follow(w, n, a); break;
    case CLUSTER_FLUSH: flush(w, n); break;
    case CLUSTER_PAUSE_WRITES:
        s->paused_until = w->now + a->ms * MS;
        s->pause = a->pause;
        break;
    case CLUSTER_RESUME_WRITES:
        if (!planted(w, PLANT_RESUME_IGNORED)) s->paused_until = 0;
        break;
    default: break;
    }
    reportLocal(w, n);
}

/* ---- Replication ---- */

static void linkLost(simWorld *w, simServer *s) {
    if (s->link_is_up) s->contact = w->now;
    s->link_is_up = false;
    s->sync_until = 0;
    s->next_try = w->now + 300 * MS;
}

static bool canContinue(const simServer *r, const simServer *p) {
    bool same = r->replid == p->replid && r->offset <= p->offset;
    bool before = r->replid == p->replid2 && r->offset <= p->replid2_end;
    return (same || before) && r->offset >= p->log_start;
}

static simNode *sourceOf(simWorld *w, simNode *n) {
    const simServer *s = &n->server;
    simNode *p = netNodeAt(w, s->primary_ip, s->primary_port, false);
    if (p && !nodeIdEqual(&p->id, &s->primary)) return NULL; /* another node is at that address now */
    if (!p || !p->alive || p->stopped || !netReaches(w, n->index, p->index) || !netReaches(w, p->index, n->index))
        return NULL;
    return p;
}

static void syncBegin(simWorld *w, simNode *n, simNode *p) {
    simServer *s = &n->server;
    if (w->now < p->server.loading_until || !p->server.has_dataset || p == n) return;
    if (clusterSummarize(p->machine).protects) return;
    /* A primary that is a replica of another one has to have its stream. */
    if (!p->server.is_primary && !p->server.link_is_up) return;
    s->source = p->index;
    s->source_incarnation = p->incarnation;
    if (canContinue(s, &p->server)) {
        s->replid = p->server.replid;
        s->replid2 = p->server.replid2;
        s->replid2_end = p->server.replid2_end;
        s->link_is_up = true;
        s->has_dataset = true;
        s->contact = w->now;
        w->stats.partial_syncs++;
    } else {
        s->sync_until = w->now + worldBetween(&w->disk, 20 * MS, 2 * SECOND);
        w->stats.syncs++;
    }
}

static void syncEnd(simWorld *w, simNode *n, const simNode *p) {
    simServer *s = &n->server;
    w->stats.wiped += isEmpty(&p->server) && !isEmpty(s);
    memcpy(s->version, p->server.version, sizeof(s->version));
    s->replid = p->server.replid;
    s->replid2 = p->server.replid2;
    s->replid2_end = p->server.replid2_end;
    s->offset = p->server.offset;
    logDrop(s);
    s->sync_until = 0;
    s->link_is_up = s->has_dataset = true;
    s->contact = w->now;
    if (simTraces(w, n->index))
        simTrace(w, n, "full sync from n%u, offset %llu", p->index, (unsigned long long)s->offset);
}

/* Applies what the primary has produced until a moment ago. Returns whether there was something. */
static bool apply(simWorld *w, simServer *s, const simServer *p) {
    bool any = false;
    simTime until = w->now - (w->delay + w->extra_delay < w->now ? w->delay + w->extra_delay : 0);
    if (s->replid != p->replid) {
        if (!canContinue(s, p)) return linkLost(w, s), false;
        s->replid = p->replid;
        s->replid2 = p->replid2;
        s->replid2_end = p->replid2_end;
    }
    while (s->offset < p->offset && s->offset >= p->log_start) {
        const simLogEntry *entry = &p->log[s->offset - p->log_start];
        if (entry->at > until) break;
        logAppend(w, s, entry->key, entry->version);
        any = true;
    }
    if (s->offset < p->log_start) linkLost(w, s);
    return any;
}

static void pull(simWorld *w, simNode *n) {
    simServer *s = &n->server;
    if (s->is_primary || !s->has_primary) {
        s->pulling = false;
        return;
    }
    schedulePull(w, n, w->pull_interval);
    if (w->now < s->main_free) return;
    simNode *p = sourceOf(w, n);
    bool same = p && p->index == s->source && p->incarnation == s->source_incarnation;
    if (s->link_is_up || s->sync_until) {
        bool dead = !w->nodes[s->source].alive || w->nodes[s->source].incarnation != s->source_incarnation;
        if (dead || (s->link_is_up && w->now - s->contact > 60 * SECOND)) {
            linkLost(w, s);
        } else if (same && s->sync_until) {
            if (w->now >= s->sync_until) syncEnd(w, n, p);
            if (s->link_is_up) reportLocal(w, n);
        } else if (same) {
            bool any = apply(w, s, &p->server);
            if (any || w->now - s->contact >= w->config.replica_ping_period_ms * MS) s->contact = w->now;
            if (any) reportLocal(w, n);
        }
    } else if (p && w->now >= s->next_try) {
        syncBegin(w, n, p);
        if (!s->link_is_up && !s->sync_until) s->next_try = w->now + 300 * MS;
    }
}

void serverObey(simWorld *w, simNode *n, const clusterCommand *c) {
    for (unsigned i = 0; i < w->count; i++) {
        simNode *r = &w->nodes[i];
        const simServer *s = &r->server;
        if (!r->alive || s->is_primary || !s->link_is_up || s->source != n->index) continue;
        clusterCommand *copy = zmalloc(sizeof(*copy));
        *copy = *c;
        copy->from_primary = true;
        worldAt(w, w->now + netDelay(w) + w->pull_interval,
                (simEvent){.kind = SIM_OBEY, .node = i, .incarnation = r->incarnation, .owned = copy});
    }
}

void serverMoveKeys(simWorld *w, simNode *from, simNode *to, unsigned slot) {
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        if (slotOfKey(k) != slot || !from->server.version[k]) continue;
        logAppend(w, &to->server, k, from->server.version[k]);
        logAppend(w, &from->server, k, 0);
    }
}

void serverHandle(simWorld *w, simEvent *e) {
    simNode *n = &w->nodes[e->node];
    switch (e->kind) {
    case SIM_MAIN: mainExecutes(w, n, e->owned); break;
    case SIM_PULL: pull(w, n); break;
    case SIM_OBEY:
        if (!n->server.is_primary) nodeCommand(w, n, e->owned);
        break;
    default: break;
    }
}

/* ---- Clients ---- */

/* Returns whether main would take a write of that key. */
static bool takesWrites(const simWorld *w, const simNode *n, unsigned key) {
    const simServer *s = &n->server;
    if (!n->alive || n->stopped || w->now < s->main_free || w->now < s->loading_until) return false;
    if (w->now < s->paused_until && !planted(w, PLANT_PAUSE_IGNORED)) return false;
    return s->view_ok && s->is_primary && s->owner[key] == (int)n->index;
}

/* Tries a write on a node. Returns the node to go to next, -1 if that is all, -2 if it has been accepted. */
static int tryWrite(simWorld *w, simNode *n, unsigned key) {
    simServer *s = &n->server;
    if (!takesWrites(w, n, key)) {
        bool redirects = n->alive && !n->stopped && w->now >= s->main_free && s->view_ok &&
                         s->owner[key] != (int)n->index;
        return redirects && s->owner[key] >= 0 ? s->owner[key] : -1;
    }
    for (unsigned i = 0; i < w->count; i++)
        if (i != n->index && takesWrites(w, &w->nodes[i], key)) w->stats.split_writes++;
    logAppend(w, s, key, ++w->last_version);
    w->accepted[key] = w->last_version;
    w->stats.writes++;
    return -2;
}

void serverClient(simWorld *w, simEvent *e) {
    rng *r = &w->client;
    unsigned key = (unsigned)worldBelow(r, SIM_KEYS);
    int at = (int)worldBelow(r, w->count), next = at;
    for (unsigned hops = 0; hops < 6; hops++) {
        next = tryWrite(w, &w->nodes[at], key);
        if (next < 0) break;
        w->stats.redirections++;
        at = next;
    }
    if (next == -2) {
        const simServer *s = &w->nodes[at].server;
        simWrite *write = zmalloc(sizeof(*write));
        *write = (simWrite){(unsigned)at, key, s->replid, s->offset, s->version[key]};
        worldAt(w, w->now + worldBetween(r, 20 * MS, 400 * MS), (simEvent){.kind = SIM_WAITED, .owned = write});
    } else {
        w->stats.refused++;
    }
    worldAt(w, w->now + worldBetween(r, w->client_gap / 2, 3 * w->client_gap / 2),
            (simEvent){.kind = SIM_CLIENT, .number = e->number});
}

static bool isReplicaOf(const simNode *n, const simNode *p) {
    return n->is_replica && nodeIdEqual(&n->primary_id, &p->id);
}

/* Returns whether `p` has `n` as a node of its shard: it may follow a former primary, or have been promoted. */
static bool seesInShard(const simNode *p, const simNode *n) {
    const clusterNode *seen = clusterNodeById(p->machine, &n->id);
    return seen && nodeIdEqual(&seen->shard, &clusterMyself(p->machine)->shard);
}

/* A client's WAIT is over: counts the nodes that have the write. */
void serverWaited(simWorld *w, simEvent *e) {
    const simWrite *write = e->owned;
    const simNode *p = &w->nodes[write->node];
    const simServer *ps = &p->server;
    if (!p->alive || p->stopped || !ps->is_primary || ps->replid != write->replid) return;
    unsigned have = 1, all = 1;
    for (unsigned i = 0; i < w->count; i++) {
        const simNode *n = &w->nodes[i];
        const simServer *s = &n->server;
        if (i == p->index || !(isReplicaOf(n, p) || seesInShard(p, n))) continue;
        all++;
        have += n->alive && !s->is_primary && s->link_is_up && s->source == p->index && s->replid == write->replid &&
                s->offset >= write->offset;
    }
    if (all == 1) return; /* no replica: no failover */
    if (have > all / 2) {
        w->stats.acked_majority++;
        if (w->acked_majority[write->key] < write->version) w->acked_majority[write->key] = write->version;
    }
    if (have == all) {
        w->stats.acked_all++;
        if (w->acked[write->key] < write->version)
            w->acked[write->key] = write->version, w->acked_at[write->key] = w->now;
    }
}
