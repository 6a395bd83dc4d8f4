/* command_memory.c -- memory a command is sure of before it begins.
 *
 * A command that runs out of memory halfway would have to undo what it has done, and everything it calls would have to
 * be able to fail. So whoever knows that a command will take much, because of a size that came from a client, has it
 * reserved (zmallocReserve) before anything is changed. The reserve is not touched: it costs addresses and no pages,
 * and serves only when an allocation would fail otherwise.
 *
 * Not here    maxmemory (store/evict.c), requests that are too large to be read (net).
 * Owns        main's reserve, from a command's asking to its end.
 * Threads     main. Others may take memory meanwhile, but not what is reserved.
 * Invariants  (clientCheck() asserts it)
 *             1. CLIENT_RESERVED is set only on clients whose command is running.
 *             2. While one of them is, nothing that was reserved is given back.
 * Tests       tests/unit/client/command_memory_test.c, tests/engine/memory_limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

/* Of all commands that are under way: a long one may let others in between. */
static struct {
    int commands;
    size_t bytes;
} reserved;

bool commandMemoryTry(client *c, size_t bytes) {
    assertMainRole();
    if (bytes < COMMAND_MEMORY_LARGE) return true;
    bool begins = !(c->flags & CLIENT_RESERVED);
    size_t want = begins ? reserved.bytes + bytes : bytes;
    if (want < bytes || !zmallocReserve(want)) return false;
    if (want > reserved.bytes) reserved.bytes = want;
    reserved.commands += begins;
    c->flags |= CLIENT_RESERVED;
    return true;
}

bool commandMemoryReserve(client *c, size_t bytes) {
    if (commandMemoryTry(c, bytes)) return true;
    addReplyNoMemory(c);
    return false;
}

void commandMemoryEnd(client *c) {
    assertMainRole();
    serverAssert(reserved.commands > 0);
    if (--reserved.commands == 0) {
        zmallocUnreserve(0);
        reserved.bytes = 0;
    }
    c->flags &= ~CLIENT_RESERVED;
}
