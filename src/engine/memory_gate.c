/* memory_gate.c -- maxmemory before commands: make room, or refuse those that need some.
 *
 * Used memory is a sum over all threads, whose counters lie in lines that they write: too dear for every command, and
 * for every batch while the limit is far away. A command of less than COMMAND_MEMORY_LARGE that has nothing reserved
 * takes less than that, so the room left below the limit says for how many batches nobody need look. Near the limit
 * the stage is armed: within the batch the room is diminished by what this thread has allocated since (its own counters
 * cost nothing) and by what came with each command, which other threads have allocated before; when nothing is left
 * the sum is taken again. A command that takes more says so.
 *
 * Not here    what is removed (store/evict.c).
 * Owns        the room left in the batch.
 * Threads     main.
 * Invariants  1. At or above the limit every command looks again.
 *             2. Where the stage is not armed a batch of ordinary commands stays below the limit.
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
#define BATCHES_MAX 64 /* without a look: what others take, and give back, shows soon */

static struct {
    long long limit;  /* when it was looked at */
    unsigned batches; /* that may still begin without a look; the stage is not armed then */
    size_t room;      /* below the limit when it was looked at; 0: look again */
    size_t came;      /* with the commands since */
    int64_t held_at;  /* by this thread then */
} headroom;

/* Take the sum, and remove what is too much. False when that could not be done. */
static bool look(void) {
    bool enough = evictPerform() != EVICT_FAIL;
    headroom.room = evictRoom();
    headroom.came = 0;
    headroom.held_at = zmallocThreadHeld();
    return enough;
}

/* How many batches the room is enough for. */
static unsigned batchesWithin(size_t room) {
    size_t batch = (size_t)engine_settings.prefetch_batch_max_size;
    if (batch < BATCH_COMMANDS_MIN) batch = BATCH_COMMANDS_MIN;
    size_t batches = room / (batch * COMMAND_MEMORY_LARGE);
    return batches < BATCHES_MAX ? (unsigned)batches : BATCHES_MAX;
}

void memoryGateUpdate(void) {
    assertMainRole();
    bool limited = store_settings.maxmemory != 0;
    headroom.limit = store_settings.maxmemory;
    headroom.batches = 0;
    if (limited) look();
    if (limited) headroom.batches = batchesWithin(headroom.room);
    gateArm(GATE_MEMORY, limited && headroom.batches == 0);
}

void memoryGateBatch(void) {
    assertMainRole();
    if (likely(store_settings.maxmemory == headroom.limit)) {
        if (likely(store_settings.maxmemory == 0)) return;
        if (headroom.batches > 0 && --headroom.batches > 0) return;
    }
    memoryGateUpdate();
}

static bool roomIsLeft(const client *c) {
    headroom.came += c->req->wire_len;
    int64_t taken = zmallocThreadHeld() - headroom.held_at + (int64_t)headroom.came;
    return taken < 0 || (size_t)taken < headroom.room;
}

bool memoryGateIsFull(const client *c) {
    assertMainRole();
    return unlikely(gates_armed >> GATE_MEMORY & 1) && !roomIsLeft(c) && !look();
}

gateResult memoryGate(client *c) {
    assertMainRole();
    bool fits = roomIsLeft(c) || look();
    if (unlikely(c->flags & CLIENT_PUSHES_HELD)) trackingReleasePushes(c); /* of evictions: before it runs */
    if (fits || !(commandFlagsNow(c) & CMD_DENYOOM)) return GATE_PASSED;
    const char *error = "-OOM command not allowed when used memory > 'maxmemory'.";
    transactionRefuse(c, error);
    return GATE_REFUSED;
}
