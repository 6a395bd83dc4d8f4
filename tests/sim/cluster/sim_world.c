/* sim_world.c -- time, the heap of events, random numbers, the trace and the first fault.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "sim.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

const char *const sim_fault_names[FAULT_KINDS] = {
#define X(name, text) text,
    SIM_FAULTS(X)
#undef X
};
const char *const sim_plant_texts[PLANT_KINDS] = {
#define X(name, text) text,
    SIM_PLANTS(X)
#undef X
};
const char *const sim_phase_names[] = {"create", "join",  "replicate", "settle", "storm",
                                       "heal",   "drill", "recover",   "end"};

uint64_t worldBelow(rng *r, uint64_t n) { return rngBelow(r, n); }
bool worldChance(rng *r, double p) { return rngDouble(r) < p; }
simTime worldBetween(rng *r, simTime from, simTime to) { return from + rngBelow(r, to - from + 1); }

void worldAt(simWorld *w, simTime at, simEvent e) {
    e.at = at < w->now ? w->now : at;
    e.sequence = ++w->sequence;
    heapAdd(&w->events, &e);
}

void worldRelease(simEvent *e) {
    if (e->conn) netRelease(e->conn);
    if (e->frame) frameBlockRelease(e->frame);
    if (e->kind == SIM_MAIN && e->owned) {
        clusterAction *a = e->owned;
        if (a->frame) frameBlockRelease(a->frame);
        sdsFree(a->text);
    }
    zfree(e->owned);
}

void worldHash(simWorld *w, const void *bytes, size_t len) {
    w->hash = (w->hash ^ xxh3(bytes, len)) * UINT64_C(0x9e3779b97f4a7c15);
    w->hash ^= w->hash >> 29;
}

void simFault(simWorld *w, uint64_t nodes, const char *rule, const char *format, ...) {
    if (w->fault_found.found) return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(w->fault_found.text, sizeof(w->fault_found.text), format, ap);
    va_end(ap);
    w->fault_found.found = true;
    w->fault_found.rule = rule;
    w->fault_found.at = w->now;
    w->fault_found.nodes = nodes;
    if (w->options->trace || w->options->trace_from) simTrace(w, NULL, "FAULT %s: %s", rule, w->fault_found.text);
}

bool simTraces(const simWorld *w, unsigned node) {
    const simOptions *o = w->options;
    if (o->trace) return true;
    return o->trace_from && w->now >= o->trace_from && (node >= 64 || o->trace_nodes >> node & 1);
}

void simTrace(simWorld *w, const simNode *n, const char *format, ...) {
    va_list ap;
    printf("%10.4f ", (double)w->now / 1e6);
    if (n) printf("n%-2u %.4s ", n->index, n->id.text);
    else printf("--       ");
    va_start(ap, format);
    vprintf(format, ap);
    va_end(ap);
    printf("\n");
}
