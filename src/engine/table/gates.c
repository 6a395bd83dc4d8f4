/* gates.c -- what may keep a command from running: named stages in a fixed order, each with one entry.
 *
 * Not here    what a stage looks at (the layer that owns it); which entries there are (server/wiring.c).
 * Owns        the entries and what is armed for all; the bits of one client lie in client.gates.
 * Threads     main.
 * Invariants  1. A stage that is armed has an entry, and GATE_PROTECTED has one where a command is protected.
 * Cost        one branch when nothing is armed; else a call for each armed stage.
 * Tests       tests/unit/engine/table/gates_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "gates.h"

#include "panic.h"

static_assert(GATE_STAGES <= 32, "a bit of gates_armed and client.gates each");

uint32_t gates_armed;

static gateFn *entries[GATE_STAGES];

void gateSet(gateStage stage, gateFn *fn) {
    serverAssert(stage < GATE_STAGES && !entries[stage]);
    entries[stage] = fn;
}

static void setBit(uint32_t *bits, gateStage stage, bool on) {
    serverAssert(stage < GATE_STAGES && (!on || entries[stage]));
    if (on) *bits |= 1u << stage;
    else *bits &= ~(1u << stage);
}

void gateArm(gateStage stage, bool on) {
    assertMainRole();
    setBit(&gates_armed, stage, on);
}

void gateArmClient(client *c, gateStage stage, bool on) {
    assertMainRole();
    setBit(&c->gates, stage, on);
}

gateResult gatesAsk(client *c, gateStage first, gateStage last) {
    assertMainRole();
    unsigned wanted = (2u << last) - (1u << first);
    unsigned own = c->req->flags & REQ_GATED ? 1u << GATE_PROTECTED : 0;
    /* An entry may arm a stage behind it, so the bits are read again each time. */
    for (unsigned left; (left = (gates_armed | c->gates | own) & wanted) != 0;) {
        unsigned stage = (unsigned)__builtin_ctz(left);
        gateResult result = entries[stage](c);
        if (result != GATE_PASSED) return result;
        wanted &= ~((2u << stage) - 1);
    }
    return GATE_PASSED;
}
