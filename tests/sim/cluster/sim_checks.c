/* sim_checks.c -- what must hold after each step, and what all nodes agree on once faults are healed.
 *
 *   on disk before it is sent    a header's epochs, id and slots are those of the nodes file, or older
 *   one vote an epoch            no other VOTE of that node and epoch ever left, and lastVoteEpoch is saved
 *   a primary is one on disk     main stops replicating for slots whose file has the role and its epoch
 *   epochs grow                  a header's epochs are not below those that the id had, also across a kill
 *   one owner an epoch           two nodes do not serve a slot under one config epoch
 *   a minority does not serve    a primary that has heard no majority for the node timeout and two ticks is not `ok`
 *   an acknowledged write stays  a promoted node has each write that all nodes of the shard had
 *   all agree                    faults are healed: checkAgreement()
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

static unsigned slotOfKey(unsigned key) { return key * (CLUSTER_SLOTS / SIM_KEYS); }
#define ULL(x) ((unsigned long long)(x))

/* ---- The nodes file ---- */

void checkFile(simWorld *w, simNode *n) {
    if (w->options->cost) return;
    nodesFile file;
    sds error = NULL;
    simDisk *d = &n->disk;
    if (!nodesFileParse(sdsSlice(d->text), &file, &error)) {
        simFault(w, nodeBit(n->index), "a nodes file can be read", "%s", error);
    } else {
        d->current_epoch = file.current_epoch;
        d->last_vote_epoch = file.last_vote_epoch;
        for (size_t i = 0; i < file.count; i++) {
            const nodeRecord *r = &file.nodes[i];
            if (!(r->flags & NODE_MYSELF)) continue;
            d->my_epoch = r->config_epoch;
            d->id = r->id;
            d->primary = r->primary;
            d->slots = r->slots;
        }
        d->is_known = true;
    }
    sdsFree(error);
    nodesFileFree(&file);
}

/* ---- Frames that leave ---- */

static bool slotsWithin(const slotSet *a, const slotSet *b) {
    for (size_t i = 0; i < sizeof(a->bytes); i++)
        if (a->bytes[i] & ~b->bytes[i]) return false;
    return true;
}

static void checkVote(simWorld *w, simNode *n, const busHeader *h, const nodeId *target) {
    uint64_t bit = nodeBit(n->index);
    w->stats.votes++;
    if (n->disk.last_vote_epoch < h->current_epoch && !w->config.save_best_effort)
        simFault(w, bit, "a vote is on disk before it is sent", "epoch %llu, on disk %llu", ULL(h->current_epoch),
                 ULL(n->disk.last_vote_epoch));
    for (size_t i = 0; i < w->vote_count; i++) {
        const simVote *v = &w->votes[i];
        if (v->epoch != h->current_epoch || !nodeIdEqual(&v->voter, &h->sender)) continue;
        if (!nodeIdEqual(&v->target, target)) {
            const simNode *other = nodeOfId(w, &v->target);
            simFault(w, bit | (other ? nodeBit(other->index) : 0), "one vote an epoch", "epoch %llu, for %.8s and %.8s",
                     ULL(h->current_epoch), v->target.text, target->text);
        }
        return;
    }
    w->votes = zgrowArray(w->votes, w->vote_count, &w->vote_capacity, sizeof(*w->votes));
    w->votes[w->vote_count++] = (simVote){h->sender, *target, h->current_epoch};
}

void checkMemory(simWorld *w, simNode *n) {
    uint64_t voted = clusterSummarize(n->machine).last_vote_epoch;
    for (size_t i = 0; i < w->vote_count; i++)
        if (w->votes[i].epoch > voted && nodeIdEqual(&w->votes[i].voter, &n->id))
            simFault(w, nodeBit(n->index), "a vote is remembered", "epoch %llu, the last one is %llu",
                     ULL(w->votes[i].epoch), ULL(voted));
}

static void checkDisk(simWorld *w, simNode *n, const busHeader *h) {
    const simDisk *d = &n->disk;
    uint64_t bit = nodeBit(n->index);
    if (w->config.save_best_effort) return;
    bool is_primary = (h->flags & NODE_PRIMARY) != 0;
    if (!d->is_known || !nodeIdEqual(&d->id, &h->sender))
        simFault(w, bit, "on disk before it is sent", "id %.8s is not on disk", h->sender.text);
    else if (h->current_epoch > d->current_epoch)
        simFault(w, bit, "on disk before it is sent", "current epoch %llu, on disk %llu", ULL(h->current_epoch),
                 ULL(d->current_epoch));
    else if (is_primary && nodeIdIsNone(&d->primary) && h->config_epoch > d->my_epoch)
        simFault(w, bit, "on disk before it is sent", "config epoch %llu, on disk %llu", ULL(h->config_epoch),
                 ULL(d->my_epoch));
    else if (is_primary && !nodeIdIsNone(&d->primary) && slotSetCount(&h->slots))
        simFault(w, bit, "on disk before it is sent", "it claims slots, and is a replica on disk");
    else if (is_primary && h->config_epoch == d->my_epoch && !slotsWithin(&h->slots, &d->slots) && !w->slots_may_go)
        simFault(w, bit, "on disk before it is sent", "it claims slots that it does not have on disk");
}

static void checkEpochs(simWorld *w, simNode *n, const busHeader *h) {
    uint64_t bit = nodeBit(n->index);
    if (h->current_epoch < n->epoch_seen)
        simFault(w, bit, "epochs grow", "current epoch %llu after %llu", ULL(h->current_epoch), ULL(n->epoch_seen));
    n->epoch_seen = h->current_epoch;
    if (!(h->flags & NODE_PRIMARY)) return;
    if (h->config_epoch < n->my_epoch_seen && !n->epoch_may_fall)
        simFault(w, bit, "epochs grow", "config epoch %llu after %llu", ULL(h->config_epoch), ULL(n->my_epoch_seen));
    n->my_epoch_seen = h->config_epoch;
    if (h->config_epoch > h->current_epoch)
        simFault(w, bit, "a config epoch is an epoch", "%llu > %llu", ULL(h->config_epoch), ULL(h->current_epoch));
}

static uint64_t number(const uint8_t *p, unsigned bytes) {
    uint64_t value = 0;
    while (bytes--) value = value << 8 | *p++;
    return value;
}

/* Two replicas that request votes in one epoch of a drill split them. */
static void noteCandidate(simWorld *w, const busHeader *h) {
    w->stats.elections++;
    if (w->phase != PHASE_DRILL || h->current_epoch < w->drill_epoch) return;
    bool is_other = !nodeIdEqual(&w->drill_candidate, &h->sender);
    w->drill_is_split |= is_other && h->current_epoch == w->drill_epoch;
    w->drill_candidate = h->sender;
    w->drill_epoch = h->current_epoch;
}

void checkSend(simWorld *w, simNode *n, uint64_t link, const frameBlock *frame) {
    const uint8_t *p = (const uint8_t *)frame->bytes;
    if (w->options->cost || p[12]) return; /* light */
    static busHeader h;
    memcpy(&h.sender, p + 40, sizeof(h.sender));
    memcpy(&h.slots, p + 80, sizeof(h.slots));
    h.current_epoch = number(p + 16, 8);
    h.config_epoch = number(p + 24, 8);
    h.flags = (uint16_t)number(p + 2250, 2);
    if (!nodeIdEqual(&h.sender, &n->id)) return; /* a RESET that is not on disk yet */
    checkDisk(w, n, &h);
    checkEpochs(w, n, &h);
    if (p[13] == BUS_VOTE_REQUEST) noteCandidate(w, &h);
    const simConn *c = netConnOf(n, link);
    if (p[13] == BUS_VOTE && c) checkVote(w, n, &h, &w->nodes[c->end[link < CLUSTER_LINK_ACCEPTED].node].id);
}

/* Whichever node has the slots after a crash must be the one that clients were sent to. A node that becomes a primary
 * without slots (RESET, REPLICATE NO ONE) serves none. */
void checkBecomesPrimary(simWorld *w, simNode *n) {
    const simDisk *d = &n->disk;
    const clusterNode *me = clusterMyself(n->machine);
    if (w->options->cost || w->config.save_best_effort || !me->slot_count) return;
    bool is_there = d->is_known && nodeIdEqual(&d->id, &me->id) && nodeIdIsNone(&d->primary);
    if (is_there && d->my_epoch >= n->promoted_epoch && slotSetCount(&d->slots)) return;
    simFault(w, nodeBit(n->index), "a primary is one on disk", "epoch %llu, on disk it is a %s with epoch %llu",
             ULL(n->promoted_epoch), nodeIdIsNone(&d->primary) ? "primary" : "replica", ULL(d->my_epoch));
}

/* ---- Each step ---- */

static bool serves(const simNode *n) {
    if (!n->alive || n->is_replica || !n->server.is_primary || !n->server.view_ok) return false;
    return clusterMyself(n->machine)->slot_count > 0;
}

static void checkOwners(simWorld *w, simNode *n) {
    if (!serves(n) || !clusterSummarize(n->machine).ok) return;
    const clusterNode *me = clusterMyself(n->machine);
    for (unsigned i = 0; i < w->count; i++) {
        simNode *o = &w->nodes[i];
        if (o == n || !serves(o)) continue;
        const clusterNode *other = clusterMyself(o->machine);
        if (other->config_epoch != me->config_epoch || !clusterSummarize(o->machine).ok) continue;
        for (size_t b = 0; b < sizeof(me->slots->bytes); b++) {
            if (!(me->slots->bytes[b] & other->slots->bytes[b])) continue;
            simFault(w, nodeBit(n->index) | nodeBit(i), "one owner an epoch", "slot %zu or so, n%u and n%u, epoch %llu",
                     b * 8, n->index, i, ULL(me->config_epoch));
            return;
        }
    }
}

void checkStep(simWorld *w, simNode *n, bool view_changed) {
    if (w->options->cost) return;
    if (view_changed && !w->epochs_may_clash) checkOwners(w, n);
    if (n->steps % w->options->check_every == 0) clusterCheck(n->machine);
    const clusterNode *me = clusterMyself(n->machine);
    if (me->config_epoch > clusterSummarize(n->machine).current_epoch && n->steps % 16 == 0)
        simFault(w, nodeBit(n->index), "a config epoch is an epoch", "%llu", ULL(me->config_epoch));
}

void checkHeard(simWorld *w, simNode *n, const nodeId *sender) {
    if (w->options->cost) return;
    simNode *from = nodeOfId(w, sender);
    if (from) n->heard[from->index] = nodeTime(w, n).mono_ms;
}

/* A primary that has heard no majority for a node timeout must not be `ok`. */
static void checkMinority(simWorld *w, simNode *n) {
    clusterSummary s = clusterSummarize(n->machine);
    uint64_t now = nodeTime(w, n).mono_ms, limit = w->config.node_timeout_ms + 250;
    unsigned heard = 0, voting = 0;
    for (const clusterNode *c = clusterNodeNext(n->machine, NULL); c; c = clusterNodeNext(n->machine, c)) {
        simNode *other = nodeOfId(w, &c->id);
        bool votes = (c->flags & NODE_PRIMARY) && c->slot_count;
        if (other && !votes) n->voting_since[other->index] = 0;
        if (!votes) continue;
        voting++;
        if ((c->flags & NODE_MYSELF) || !other) { /* an id of before a reset may have been heard */
            heard++;
        } else {
            simTime *since = &n->voting_since[other->index];
            if (!*since) *since = now;
            simTime last = n->heard[other->index] > *since ? n->heard[other->index] : *since;
            heard += now - last <= limit;
        }
    }
    if (n->is_replica || n->is_valkey || !s.ok || !serves(n)) return;
    if (heard < voting / 2 + 1)
        simFault(w, nodeBit(n->index), "a minority does not serve", "it has heard %u of %u primaries within %llu ms",
                 heard, voting, ULL(limit));
}

void checkTick(simWorld *w, simNode *n) {
    if (w->options->cost) return;
    checkMinority(w, n);
    if (n->open_ends > 12 * w->count + 20)
        simFault(w, nodeBit(n->index), "links have a bound", "%llu are open", ULL(n->open_ends));
    if (n->connects_in_tick > 2 * w->count + 4)
        simFault(w, nodeBit(n->index), "connections have a bound", "%llu in a tick", ULL(n->connects_in_tick));
}

/* ---- Data ---- */

/* Returns whether no node of its shard, as it sees it, is of Valkey: the offsets that decide are those of all. */
static bool shardIsOurs(simWorld *w, const simNode *n) {
    const clusterNode *me = clusterMyself(n->machine);
    if (!w->is_mixed) return true;
    for (const clusterNode *c = clusterNodeNext(n->machine, NULL); c; c = clusterNodeNext(n->machine, c)) {
        const simNode *other = nodeOfId(w, &c->id);
        if (other && other->is_valkey && nodeIdEqual(&c->shard, &me->shard)) return false;
    }
    return true;
}

void checkPromotion(simWorld *w, simNode *n) {
    const clusterNode *me = clusterMyself(n->machine);
    if (!me->slots) return;
    bool is_promised = !w->data_may_go && shardIsOurs(w, n);
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        if (!slotSetHas(me->slots, slotOfKey(k))) continue;
        uint64_t has = n->server.version[k];
        if (w->exempt[k]) continue;
        if (has < w->accepted[k]) {
            w->stats.lost++;
            w->accepted[k] = has;
        }
        if (has < w->acked_majority[k]) w->stats.lost_majority++;
        if (has < w->acked[k] && is_promised)
            simFault(w, nodeBit(n->index), "an acknowledged write stays",
                     "key %u has version %llu, all acknowledged %llu at %.3f", k, ULL(has), ULL(w->acked[k]),
                     (double)w->acked_at[k] / 1e6);
    }
}

/* ---- Agreement ---- */

static char disagreement[300];
static uint64_t disagreed;
#define DISAGREE(a, b, ...) \
    return snprintf(disagreement, sizeof(disagreement), __VA_ARGS__), disagreed = nodeBit(a) | nodeBit(b), disagreement

static bool slotsEqual(const slotSet *a, const slotSet *b) {
    static const slotSet none;
    return !memcmp(a ? a : &none, b ? b : &none, sizeof(none));
}

/* Compares node i's record of node j with j's own. */
static const char *checkPair(simWorld *w, unsigned i, unsigned j) {
    simNode *a = &w->nodes[i], *b = &w->nodes[j];
    const clusterNode *seen = clusterNodeById(a->machine, &b->id), *self = clusterMyself(b->machine);
    const uint16_t bad = NODE_SUSPECTED | NODE_FAILED | NODE_HANDSHAKE | NODE_NO_ADDRESS | NODE_MEET;
    if (!seen) DISAGREE(i, j, "n%u does not know n%u", i, j);
    if (seen->flags & bad) DISAGREE(i, j, "n%u has flags %04x for n%u", i, seen->flags, j);
    if ((seen->flags ^ self->flags) & (NODE_PRIMARY | NODE_REPLICA))
        DISAGREE(i, j, "n%u has another role for n%u", i, j);
    const clusterNode *p = seen->primary ? clusterNodeBySeat(a->machine, seen->primary) : NULL;
    if (b->is_replica && (!p || !nodeIdEqual(&p->id, &b->primary_id)))
        DISAGREE(i, j, "n%u has another primary for n%u", i, j);
    if (!slotsEqual(seen->slots, self->slots))
        DISAGREE(i, j, "n%u has other slots (%u) for n%u (%u)", i, seen->slot_count, j, self->slot_count);
    if (!b->is_replica && seen->config_epoch != self->config_epoch)
        DISAGREE(i, j, "n%u has epoch %llu for n%u, which has %llu", i, ULL(seen->config_epoch), j,
                 ULL(self->config_epoch));
    if (i != j && (strcmp(seen->ip, b->ip) || seen->port != b->port || seen->bus_port != b->bus_port))
        DISAGREE(i, j, "n%u has address %s:%u@%u for n%u", i, seen->ip, seen->port, seen->bus_port, j);
    if (!nodeIdEqual(&seen->shard, &self->shard)) DISAGREE(i, j, "n%u has another shard for n%u", i, j);
    if (i != j && !seen->link_out_ms) DISAGREE(i, j, "n%u has no link to n%u", i, j);
    if (i != j && !seen->link_in) DISAGREE(i, j, "n%u has no link from n%u", i, j);
    return NULL;
}

static const char *checkAssigned(const simNode *n, unsigned assigned) {
    unsigned slot = 0;
    while (slot < CLUSTER_SLOTS && clusterOwner(n->machine, slot)) slot++;
    DISAGREE(n->index, n->index, "n%u: %u slots have an owner, slot %u has none", n->index, assigned, slot);
}

static const char *checkOne(simWorld *w, unsigned i) {
    simNode *n = &w->nodes[i];
    const clusterNode *me = clusterMyself(n->machine);
    clusterSummary s = clusterSummarize(n->machine);
    if (s.known_nodes != w->count) DISAGREE(i, i, "n%u knows %u nodes", i, s.known_nodes);
    if (n->is_replica) {
        const simNode *p = nodeOfId(w, &n->primary_id);
        if (!p) DISAGREE(i, i, "n%u has no primary", i);
        if (p->is_replica) DISAGREE(i, p->index, "n%u is a replica of the replica n%u", i, p->index);
        const clusterNode *primary = clusterMyself(p->machine);
        if (!nodeIdEqual(&primary->shard, &me->shard))
            DISAGREE(i, p->index, "n%u has another shard than n%u", i, p->index);
        if (me->slot_count) DISAGREE(i, i, "replica n%u has slots", i);
    }
    if (s.slots_assigned == CLUSTER_SLOTS && !s.ok) DISAGREE(i, i, "n%u: the cluster is down", i);
    if (s.current_epoch != clusterSummarize(w->nodes[0].machine).current_epoch)
        DISAGREE(i, 0, "n%u has current epoch %llu", i, ULL(s.current_epoch));
    if (s.slots_assigned != CLUSTER_SLOTS && !w->slots_may_go) return checkAssigned(n, s.slots_assigned);
    for (unsigned j = 0; j < i && !n->is_replica; j++) {
        const simNode *o = &w->nodes[j];
        if (!o->is_replica && me->slot_count && clusterMyself(o->machine)->slot_count &&
            clusterMyself(o->machine)->config_epoch == me->config_epoch)
            DISAGREE(i, j, "n%u and n%u have one config epoch", i, j);
    }
    return NULL;
}

static const char *checkServer(simWorld *w, unsigned i) {
    simNode *n = &w->nodes[i];
    const simServer *s = &n->server;
    if (s->is_primary == n->is_replica) DISAGREE(i, i, "main of n%u has another role than the machine", i);
    if (w->now < s->paused_until && w->phase == PHASE_HEAL) DISAGREE(i, i, "n%u does not take writes: paused", i);
    if (s->view_ok != clusterSummarize(n->machine).ok) DISAGREE(i, i, "main of n%u has another state", i);
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        const clusterNode *owner = clusterOwner(n->machine, slotOfKey(k));
        const simNode *o = owner ? nodeOfId(w, &owner->id) : NULL;
        if (s->owner[k] != (o ? (int)o->index : -1))
            DISAGREE(i, i, "main of n%u has another owner of slot %u", i, slotOfKey(k));
    }
    if (!n->is_replica) return NULL;
    const simNode *p = nodeOfId(w, &n->primary_id);
    if (!s->link_is_up || s->source != p->index) DISAGREE(i, p->index, "n%u does not replicate n%u", i, p->index);
    return NULL;
}

const char *checkAgreement(simWorld *w, uint64_t *nodes) {
    const char *why = NULL;
    disagreed = 0;
    for (unsigned i = 0; i < w->count && !why; i++) {
        if (!w->nodes[i].alive || w->nodes[i].stopped) why = "a node is down", disagreed = nodeBit(i);
    }
    for (unsigned i = 0; i < w->count && !why; i++) why = checkOne(w, i);
    for (unsigned i = 0; i < w->count && !why; i++) why = checkServer(w, i);
    for (unsigned i = 0; i < w->count && !why; i++)
        for (unsigned j = 0; j < w->count && !why; j++) why = checkPair(w, i, j);
    *nodes = disagreed;
    return why;
}

/* At the end: acknowledged writes are there, and replicas have what their primaries have had a moment ago. */
void checkEnd(simWorld *w) {
    for (unsigned k = 0; k < SIM_KEYS; k++) {
        const clusterNode *owner = clusterOwner(w->nodes[0].machine, slotOfKey(k));
        simNode *n = owner ? nodeOfId(w, &owner->id) : NULL;
        if (!n || w->exempt[k] || w->data_may_go || !n->server.is_primary) continue;
        if (n->server.version[k] < w->acked[k])
            simFault(w, nodeBit(n->index), "an acknowledged write stays",
                     "at the end key %u has version %llu, all acknowledged %llu at %.3f", k, ULL(n->server.version[k]),
                     ULL(w->acked[k]), (double)w->acked_at[k] / 1e6);
    }
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        const simServer *s = &n->server;
        if (s->is_primary || !s->link_is_up) continue;
        const simServer *p = &w->nodes[s->source].server;
        for (unsigned k = 0; k < SIM_KEYS && s->offset == p->offset; k++)
            if (s->version[k] != p->version[k])
                simFault(w, nodeBit(i) | nodeBit(s->source), "replicas have their primary's data",
                         "key %u of n%u and n%u", k, i, s->source);
    }
    for (unsigned i = 0; i < w->count; i++) clusterCheck(w->nodes[i].machine);
}
