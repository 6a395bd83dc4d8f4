/* gates.c -- gates: the checks that may keep a command from running, in a fixed order, each with one check function.
 *
 * Not here    what a gate checks (the layer that owns it); which check functions there are (server/wiring.c).
 * Owns        the check functions and the bits of gates enabled for all; those of one client are in client.gates.
 * Threads     main.
 * Invariants  1. A gate that is enabled has a check function, and so has GATE_PROTECTED where a command is protected.
 * Cost        one branch when no gate is enabled; else a call for each enabled gate.
 * Tests       tests/unit/engine/table/gates_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "gates.h"

#include "panic.h"

static_assert(GATE_STAGES <= 32, "a bit of gates_enabled and client.gates each");

uint32_t gates_enabled;

static gateFn *entries[GATE_STAGES], *script_entries[GATE_STAGES];

/* Gates that have one check function for commands of clients and of scripts. */
#define SCRIPT_SHARES (1u << GATE_PROTECTED | 1u << GATE_DISK | 1u << GATE_REPLICAS)

void gateSet(gateStage stage, gateFn *fn) {
    serverAssert(stage < GATE_STAGES && !entries[stage]);
    entries[stage] = fn;
}

void gateSetForScript(gateStage stage, gateFn *fn) {
    serverAssert(stage < GATE_STAGES && !script_entries[stage]);
    script_entries[stage] = fn;
}

static void setBit(uint32_t *bits, gateStage stage, bool on) {
    serverAssert(stage < GATE_STAGES && (!on || entries[stage]));
    if (on) *bits |= 1u << stage;
    else *bits &= ~(1u << stage);
}

void gateEnable(gateStage stage, bool on) {
    assertMainRole();
    setBit(&gates_enabled, stage, on);
}

void gateEnableClient(client *c, gateStage stage, bool on) {
    assertMainRole();
    setBit(&c->gates, stage, on);
}

static unsigned enabledFor(const client *c) {
    return gates_enabled | c->gates | (c->req->flags & REQ_GATED ? 1u << GATE_PROTECTED : 0);
}

static gateResult runGates(client *c, unsigned wanted) {
    /* A check function may enable a later gate, so the bits are read again each time. */
    for (unsigned left; (left = enabledFor(c) & wanted) != 0;) {
        unsigned stage = (unsigned)__builtin_ctz(left);
        gateResult result = entries[stage](c);
        if (result != GATE_PASSED) return result;
        wanted &= ~((2u << stage) - 1);
    }
    return GATE_PASSED;
}

gateResult gatesRun(client *c, gateStage first, gateStage last) {
    assertMainRole();
    debugAssert(c->req && first <= last && last < GATE_STAGES);
    return runGates(c, (2u << last) - (1u << first));
}

gateResult gatesRunForScript(client *self, unsigned stages) {
    static const gateStage with_own_check[] = {GATE_MEMORY, GATE_ACL, GATE_CLUSTER, GATE_STALE};
    assertMainRole();
    unsigned wanted = enabledFor(self) & stages;
    for (size_t i = 0; i < array_len(with_own_check); i++) {
        gateStage stage = with_own_check[i];
        gateResult result = wanted >> stage & 1 ? script_entries[stage](self) : GATE_PASSED;
        if (result != GATE_PASSED) return result;
    }
    return runGates(self, wanted & SCRIPT_SHARES);
}
