/* memory_gate_test.c -- the memory in use is summed up once a batch, and again if the batch may have used up the rest.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_gate.h"

#include "command_table.h"
#include "evict.h"
#include "unit.h"
#include "zmalloc.h"

static serverCommand reads = {.name = "reads"}, writes = {.name = "writes", .flags = CMD_DENYOOM};
static int sums; /* calls of countSum(): one each time that used memory is measured above the limit */

static size_t countSum(void) {
    sums++;
    return 0;
}

static client *clientWith(const serverCommand *cmd, uint32_t wire_len) {
    static client *c;
    static parsedCommand request;
    if (!c) {
        if (!dbGet(0)) dbInit(16);
        if (!client_state.clients) clientsInit();
        evictAddUncounted(countSum);
        gateSet(GATE_MEMORY, memoryGate);
        c = clientCreate(NULL, -1, "", "", false);
    }
    request = (parsedCommand){.cmd = cmd, .wire_len = wire_len};
    c->req = &request;
    c->cmd = cmd;
    return c;
}

#define RUN_GATE(cmd, bytes) gatesRun(clientWith(cmd, bytes), GATE_MEMORY, GATE_MEMORY)

TEST(memory_gate_without_a_limit_is_disabled) {
    client *c = clientWith(&reads, 10);
    store_settings.maxmemory = 0;
    memoryGateBatch();
    CHECK(!gatesEnabledFor(c));
}

TEST(memory_gate_measures_again_when_the_headroom_is_used) {
    zmallocThreadInit();
    client *c = clientWith(&reads, 10);
    store_settings.maxmemory = (long long)zmallocUsed() + 1000000;
    memoryGateBatch();
    CHECK(gatesEnabledFor(c));
    sums = 0;
    for (int i = 0; i < 100; i++) CHECK_EQ_INT(RUN_GATE(&writes, 100), GATE_PASSED);
    CHECK_EQ_INT(sums, 0);
    void *much = zmalloc(2000000); /* a command takes more than was left */
    CHECK_EQ_INT(RUN_GATE(&reads, 100), GATE_PASSED);
    CHECK(sums > 0); /* measured: above the limit, and nothing to evict */
    CHECK_EQ_INT(RUN_GATE(&writes, 100), GATE_REFUSED);
    CHECK_EQ_INT(RUN_GATE(&reads, 100), GATE_PASSED); /* a command that needs no memory may run */
    zfree(much);
    CHECK_EQ_INT(RUN_GATE(&writes, 100), GATE_PASSED);     /* at once, in the same batch */
    CHECK_EQ_INT(RUN_GATE(&writes, 3000000), GATE_PASSED); /* a large request: the next command measures again */
    sums = 0;
    much = zmalloc(2000000);
    CHECK_EQ_INT(RUN_GATE(&writes, 1), GATE_REFUSED);
    zfree(much);
    store_settings.maxmemory = 0;
    memoryGateBatch();
    CHECK(!gatesEnabledFor(c));
}

#define GIB ((size_t)1 << 30)

/* Returns the number of batches until the stage is enabled; -1 if not soon. */
static int batchesUntilEnabled(client *c) {
    for (int i = 0; i < 1000; i++) {
        if (gatesEnabledFor(c)) return i;
        memoryGateBatch();
    }
    return -1;
}

TEST(memory_gate_leaves_commands_alone_while_the_limit_is_far) {
    zmallocThreadInit();
    client *c = clientWith(&writes, 10);
    store_settings.maxmemory = (long long)(zmallocUsed() + GIB);
    memoryGateBatch();
    CHECK_EQ_INT(batchesUntilEnabled(c), -1);
    /* Memory that others have taken is noticed after a while, ... */
    char *much = zmalloc(2 * GIB); /* only address space, as it is not touched */
    int batches = batchesUntilEnabled(c);
    CHECK(batches > 0 && batches <= 64);
    CHECK_EQ_INT(RUN_GATE(&writes, 10), GATE_REFUSED);
    zfree(much);
    memoryGateBatch();
    CHECK(!gatesEnabledFor(c));
    /* ... memory that a command has taken at once, ... */
    much = zmalloc(2 * GIB);
    memoryGateUpdate();
    CHECK(gatesEnabledFor(c));
    zfree(much);
    memoryGateBatch();
    CHECK(!gatesEnabledFor(c));
    /* ... and so is a new limit. */
    store_settings.maxmemory = (long long)zmallocUsed() + 1000;
    memoryGateBatch();
    CHECK(gatesEnabledFor(c));
    store_settings.maxmemory = 0;
    memoryGateBatch();
    CHECK(!gatesEnabledFor(c));
}
