/* memory_gate.c -- applies maxmemory before commands: evicts keys, or refuses commands that need memory.
 *
 * Used memory is a sum of counters of all threads, in cache lines that these write: too expensive for every command,
 * and for every batch while the limit is far away. A command of less than COMMAND_MEMORY_LARGE that has nothing
 * reserved uses less than that, so the memory left below the limit determines for how many batches no check is needed.
 * Near the limit the gate is enabled. Within a batch, the allocations of this thread (its own counters cost nothing)
 * and the size of each command, which other threads have allocated, are then subtracted from what is left; when nothing
 * is left the sum is computed again. A command that uses more calls memoryGateUpdate().
 *
 * Not here    which keys are evicted (store/evict.c).
 * Owns        the count of the memory that is left in the batch.
 * Threads     main.
 * Invariants  1. At or above the limit every command computes the sum again.
 *             2. While the gate is disabled a batch of ordinary commands stays below the limit.
 * Cost        a counter per batch while the limit is far; near it a sum per batch, and a call, two loads and an
 *             addition per command.
 * Tests       tests/unit/engine/memory_gate_test.c, tests/engine/maxmemory.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_gate.h"

#include "command_memory.h"
#include "command_table.h"
#include "engine_settings.h"
#include "evict.h"
#include "panic.h"
#include "reply.h"
#include "tracking.h"
#include "transaction_queue.h"
#include "zmalloc.h"

#define BATCH_COMMANDS_MIN 16
#define BATCHES_MAX 64 /* most batches without a check: other threads' allocations are noticed soon */

static struct {
    long long limit;      /* maxmemory at the last check */
    unsigned batches;     /* that may still begin without a check; while > 0 the gate is disabled */
    size_t left;          /* below the limit at the last check; 0: check again */
    size_t command_bytes; /* bytes of the commands since then */
    int64_t held_before;  /* bytes allocated by this thread at that time */
} headroom;

/* Computes the sum and evicts keys if it is too large. Returns false if not enough could be evicted. */
static bool memoryGateMeasure(void) {
    bool enough = evictPerform() != EVICT_FAIL;
    headroom.left = evictAvailable();
    headroom.command_bytes = 0;
    headroom.held_before = zmallocThreadHeld();
    return enough;
}

/* Returns for how many batches that much memory is sufficient. */
static unsigned batchesWithin(size_t left) {
    size_t batch = (size_t)engine_settings.prefetch_batch_max_size;
    if (batch < BATCH_COMMANDS_MIN) batch = BATCH_COMMANDS_MIN;
    size_t batches = left / (batch * COMMAND_MEMORY_LARGE);
    return batches < BATCHES_MAX ? (unsigned)batches : BATCHES_MAX;
}

void memoryGateUpdate(void) {
    assertMainRole();
    bool limited = store_settings.maxmemory != 0;
    headroom.limit = store_settings.maxmemory;
    headroom.batches = 0;
    if (limited) {
        memoryGateMeasure();
        headroom.batches = batchesWithin(headroom.left);
    }
    gateEnable(GATE_MEMORY, limited && headroom.batches == 0);
}

void memoryGateBatch(void) {
    assertMainRole();
    if (likely(store_settings.maxmemory == headroom.limit)) {
        if (likely(store_settings.maxmemory == 0)) return;
        if (headroom.batches > 0 && --headroom.batches > 0) return;
    }
    memoryGateUpdate();
}

static bool memoryIsLeft(const client *c) {
    headroom.command_bytes += c->req->wire_len;
    int64_t taken = zmallocThreadHeld() - headroom.held_before + (int64_t)headroom.command_bytes;
    return taken < 0 || (size_t)taken < headroom.left;
}

bool memoryGateIsFull(const client *c) {
    assertMainRole();
    return unlikely(gates_enabled >> GATE_MEMORY & 1) && !memoryIsLeft(c) && !memoryGateMeasure();
}

gateResult memoryGate(client *c) {
    assertMainRole();
    bool fits = memoryIsLeft(c) || memoryGateMeasure();
    if (unlikely(c->flags & CLIENT_PUSHES_HELD)) trackingReleasePushes(c); /* of evicted keys: before the reply */
    if (fits || !(commandFlagsNow(c) & CMD_DENYOOM)) return GATE_PASSED;
    const char *error = "-OOM command not allowed when used memory > 'maxmemory'.";
    transactionRefuse(c, error);
    return GATE_REFUSED;
}
