/* gates_test.c -- gates run in their order, only if enabled, and the first that does not pass decides.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "gates.h"

#include "command_table.h"
#include "unit.h"

static char asked[64];
static gateResult answers[GATE_STAGES + 1];
static gateStage arms = GATE_STAGES; /* stage that GATE_REPLICAS enables for the client */

static gateResult note(client *c, gateStage stage) {
    size_t n = strlen(asked);
    asked[n] = (char)('a' + stage);
    asked[n + 1] = '\0';
    if (stage == GATE_REPLICAS && arms != GATE_STAGES) gateEnableClient(c, arms, true);
    return answers[stage];
}

static gateResult onAcl(client *c) { return note(c, GATE_ACL); }
static gateResult onReplicas(client *c) { return note(c, GATE_REPLICAS); }
static gateResult onQueue(client *c) { return note(c, GATE_QUEUE); }
static gateResult onProtected(client *c) { return note(c, GATE_PROTECTED); }

static client someone;
static parsedCommand request;

static gateResult ask(void) {
    asked[0] = '\0';
    return gatesRun(&someone, GATE_AUTH, GATE_STAGES - 1);
}

static void begin(void) {
    static bool set;
    someone.req = &request;
    if (set) return;
    set = true;
    gateSet(GATE_QUEUE, onQueue); /* not in the order of the stages */
    gateSet(GATE_ACL, onAcl);
    gateSet(GATE_REPLICAS, onReplicas);
    gateSet(GATE_PROTECTED, onProtected);
}

TEST(gates_run_in_order_while_enabled) {
    begin();
    CHECK(!gatesEnabledFor(&someone));
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "");
    gateEnableClient(&someone, GATE_QUEUE, true);
    gateEnable(GATE_REPLICAS, true);
    gateEnable(GATE_ACL, true);
    CHECK(gatesEnabledFor(&someone));
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "dip");
    gateEnableClient(&someone, GATE_ACL, true); /* enabled in both ways: runs once */
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "dip");
    answers[GATE_REPLICAS] = GATE_REFUSED;
    CHECK_EQ_INT(ask(), GATE_REFUSED);
    CHECK_EQ_STR(asked, "di");
    gateEnable(GATE_REPLICAS, false);
    answers[GATE_QUEUE] = GATE_DIVERTED;
    CHECK_EQ_INT(ask(), GATE_DIVERTED);
    asked[0] = '\0';
    CHECK_EQ_INT(gatesRun(&someone, GATE_ACL, GATE_ACL), GATE_PASSED); /* a subset of the stages */
    CHECK_EQ_STR(asked, "d");
    gateEnable(GATE_ACL, false);
    gateEnableClient(&someone, GATE_ACL, false);
    gateEnableClient(&someone, GATE_QUEUE, false);
    CHECK(!gatesEnabledFor(&someone));
    answers[GATE_QUEUE] = answers[GATE_REPLICAS] = GATE_PASSED;
}

TEST(gates_enabled_by_an_earlier_gate_run) {
    begin();
    gateEnable(GATE_REPLICAS, true);
    arms = GATE_QUEUE;
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "ip");
    arms = GATE_STAGES;
    gateEnableClient(&someone, GATE_QUEUE, false);
    gateEnable(GATE_REPLICAS, false);
}

TEST(gates_of_a_protected_command) {
    begin();
    request.flags = REQ_GATED;
    CHECK(!gatesEnabledFor(&someone));
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "b");
    request.flags = 0;
}

static gateResult onAclOfScript(client *c) { return note(c, GATE_STAGES); /* 'q' */ }

TEST(gates_of_a_script_have_an_order_and_entries_of_their_own) {
    begin();
    gateSetForScript(GATE_ACL, onAclOfScript);
    request.flags = REQ_GATED;
    gateEnable(GATE_REPLICAS, true);
    gateEnable(GATE_QUEUE, true); /* scripts do not run it */
    gateEnableClient(&someone, GATE_ACL, true);
    asked[0] = '\0';
    CHECK_EQ_INT(gatesRunForScript(&someone, ~0u), GATE_PASSED);
    CHECK_EQ_STR(asked, "qbi");
    asked[0] = '\0';
    CHECK_EQ_INT(gatesRunForScript(&someone, ~(1u << GATE_PROTECTED)), GATE_PASSED);
    CHECK_EQ_STR(asked, "qi");
    CHECK_EQ_INT(ask(), GATE_PASSED);
    CHECK_EQ_STR(asked, "bdip");
    answers[GATE_PROTECTED] = GATE_REFUSED;
    asked[0] = '\0';
    CHECK_EQ_INT(gatesRunForScript(&someone, ~0u), GATE_REFUSED);
    CHECK_EQ_STR(asked, "qb");
    answers[GATE_PROTECTED] = GATE_PASSED;
    request.flags = 0;
    gateEnable(GATE_REPLICAS, false);
    gateEnable(GATE_QUEUE, false);
    gateEnableClient(&someone, GATE_ACL, false);
}
