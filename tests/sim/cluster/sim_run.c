/* sim_run.c -- one run: makes the world of a seed, and passes its events in order until it ends or a rule is broken.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <stdio.h>

static bool before(const void *a, const void *b) {
    const simEvent *x = a, *y = b;
    return x->at != y->at ? x->at < y->at : x->sequence < y->sequence;
}
static const heapType event_heap = {sizeof(simEvent), before, NULL};

static void seedRng(rng *r, uint64_t seed, uint64_t stream) {
    uint64_t words[2] = {seed, stream};
    rngSeed(r, xxh3(words, sizeof(words)));
}

void simInit(simWorld *w, const simOptions *o, uint64_t seed) {
    uint8_t key[16] = {o->hash_key};
    hashSetKey(key);
    *w = (simWorld){.options = o, .seed = seed};
    w->events.type = &event_heap;
    w->now = SECOND;
    seedRng(&w->draw, seed, 1);
    seedRng(&w->net, seed, 2);
    seedRng(&w->disk, seed, 3);
    seedRng(&w->client, seed, 4);
    seedRng(&w->operator_, seed, 5);
    seedRng(&w->draw_valkeys, seed, 6);
    for (unsigned k = 0; k < FAULT_KINDS; k++) seedRng(&w->fault[k], seed, 100 + k);
    unsigned count = 3 + (unsigned)worldBelow(&w->draw, worldChance(&w->draw, 0.8) ? 8 : 28);
    w->count = o->nodes ? o->nodes : count;
    w->primaries = 1 + (unsigned)worldBelow(&w->draw, (w->count + 1) / 2);
    if (w->primaries < 3 && w->count > 4 && worldChance(&w->draw, 0.9)) w->primaries = 3;
    w->nodes = zcalloc(w->count, sizeof(*w->nodes));
    w->blocked = zcalloc((size_t)w->count * w->count, 1);
    for (unsigned i = 0; i < w->count; i++) nodeInit(w, &w->nodes[i]);
}

void simDispatch(simWorld *w, simEvent *e) {
    if (e->kind <= SIM_OBEY) {
        simNode *n = &w->nodes[e->node];
        if (!n->alive || n->incarnation != e->incarnation) return;
        if (n->stopped) {
            nodeDefer(n, e);
            return;
        }
    }
    switch (e->kind) {
    case SIM_TICK:
    case SIM_DIES:
    case SIM_SAVED: nodeHandle(w, e); break;
    case SIM_ACCEPTED:
    case SIM_LINK_UP:
    case SIM_LINK_DOWN:
    case SIM_FRAME:
    case SIM_CONNECT: netHandle(w, e); break;
    case SIM_MAIN:
    case SIM_PULL:
    case SIM_OBEY: serverHandle(w, e); break;
    case SIM_RESUME: {
        simNode *n = &w->nodes[e->number];
        if (n->incarnation == e->version && n->stops == e->incarnation) nodeResume(w, n);
        break;
    }
    case SIM_START: {
        simNode *n = &w->nodes[e->number];
        if (!n->alive && n->incarnation == e->version) nodeStart(w, n);
        break;
    }
    case SIM_CLIENT: serverClient(w, e); break;
    case SIM_WAITED: serverWaited(w, e); break;
    case SIM_DISTURB:
    case SIM_RELENT: faultsHandle(w, e); break;
    case SIM_OPERATE: operatorLook(w); break;
    }
}

void simNext(simWorld *w) {
    simEvent e = *(simEvent *)w->events.at;
    heapRemove(&w->events, 0);
    w->now = e.at;
    simDispatch(w, &e);
    worldRelease(&e);
}

void simRun(simWorld *w, const simOptions *o, uint64_t seed) {
    simInit(w, o, seed);
    faultsDraw(w);
    for (unsigned i = 0; i < w->count; i++) nodeStart(w, &w->nodes[i]);
    worldAt(w, w->now + 200 * MS, (simEvent){.kind = SIM_OPERATE});
    while (w->events.count && w->phase != PHASE_END && !w->fault_found.found) simNext(w);
}

void simEnd(simWorld *w) {
    while (w->events.count) {
        simEvent e = *(simEvent *)w->events.at;
        heapRemove(&w->events, 0);
        worldRelease(&e);
    }
    zfree(w->events.at);
    for (unsigned i = 0; i < w->count; i++) {
        simNode *n = &w->nodes[i];
        if (n->alive) netKilled(w, n, true);
        nodeEnd(n);
    }
    for (unsigned i = 0; i < 4; i++) zfree(w->cut[i].side);
    zfree(w->nodes);
    zfree(w->blocked);
    zfree(w->votes);
}
