/* memory_gate.c -- maxmemory before commands: make room, or refuse those that need some.
 *
 * Used memory is a sum over all threads, whose counters lie in lines that they write: too dear for every command. So it
 * is taken once a batch, which gives the room left below the limit. Within the batch the room is diminished by what
 * this thread has allocated since (its own counters cost nothing) and by what came with each command, which other
 * threads have allocated before; when nothing is left the sum is taken again.
 *
 * Not here    what is removed (store/evict.c).
 * Owns        the room left in the batch.
 * Threads     main.
 * Invariants  1. At or above the limit every command looks again.
 * Cost        a call, two loads and an addition per command with maxmemory set; without it nothing.
 * Tests       tests/unit/engine/memory_gate_test.c, tests/engine/maxmemory.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "memory_gate.h"

#include "command_table.h"
#include "evict.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

static struct {
    size_t room;     /* below the limit when it was looked at; 0: look again */
    size_t came;     /* with the commands since */
    int64_t held_at; /* by this thread then */
} headroom;

/* Take the sum, and remove what is too much. False when that could not be done. */
static bool look(void) {
    bool enough = evictPerform() != EVICT_FAIL;
    headroom.room = evictRoom();
    headroom.came = 0;
    headroom.held_at = zmallocThreadHeld();
    return enough;
}

void memoryGateBatch(void) {
    assertMainRole();
    bool limited = store_settings.maxmemory != 0;
    if (likely(!limited && !(gates_armed & 1u << GATE_MEMORY))) return;
    gateArm(GATE_MEMORY, limited);
    look();
}

static bool roomIsLeft(const client *c) {
    headroom.came += c->req->wire_len;
    int64_t taken = zmallocThreadHeld() - headroom.held_at + (int64_t)headroom.came;
    return taken < 0 || (size_t)taken < headroom.room;
}

gateResult memoryGate(client *c) {
    assertMainRole();
    if (roomIsLeft(c) || look() || !(c->cmd->flags & CMD_DENYOOM)) return GATE_PASSED;
    addReplyError(c, "-OOM command not allowed when used memory > 'maxmemory'.");
    return GATE_REFUSED;
}
