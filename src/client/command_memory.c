/* command_memory.c -- memory that a command reserves before it changes anything.
 *
 * A command that ran out of memory halfway would have to undo its changes, and every function that it calls would have
 * to be able to fail. Therefore code that knows that a command needs much memory, because of a size that a client
 * chose, reserves it (zmallocReserve) before anything is changed. The reserve itself is not touched: it costs addresses
 * and no pages, and serves only if an allocation would fail otherwise.
 *
 * Not here    maxmemory (store/evict.c), requests that are too large to be read (net).
 * Owns        main's reserve, from a command's reservation to its end.
 * Threads     main. Other threads may allocate meanwhile, but not from the reserve.
 * Invariants  (clientCheck() asserts it)
 *             1. CLIENT_RESERVED is set only on clients whose command is running.
 *             2. While such a client exists, no part of the reserve is given back.
 * Tests       tests/unit/client/command_memory_test.c, tests/engine/memory_limits.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "command_memory.h"
#include "panic.h"
#include "reply.h"
#include "zmalloc.h"

/* The reserve of all commands that are running: a long one may let others run in between. */
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
