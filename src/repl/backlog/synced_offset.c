/* synced_offset.c -- up to which offset the replication stream is on this replica's disk.
 *
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. `synced` never exceeds the offset up to which the present replication stream is on the disk.
 * Tests       tests/unit/repl/backlog/synced_offset_test.c (random orders of events beside a model),
 *             tests/repl/wait.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "synced_offset.h"

#include "panic.h"

void syncedOffsetForget(syncedOffset *p) { *p = (syncedOffset){0}; }

static void takeNoted(syncedOffset *p, bool (*is_synced)(uint64_t log_offset)) {
    if (!p->offset || !is_synced(p->log_offset)) return;
    p->synced = p->offset;
    p->offset = 0;
}

uint64_t syncedOffsetUpdate(syncedOffset *p, uint64_t offset, uint64_t log_offset,
                            bool (*is_synced)(uint64_t log_offset)) {
    debugAssert(offset >= p->offset && offset >= p->synced); /* offsets are of one stream, and only grow */
    takeNoted(p, is_synced);
    if (p->offset) return p->synced;
    p->offset = offset;
    p->log_offset = log_offset;
    takeNoted(p, is_synced);
    debugAssert(p->synced <= offset && (p->offset == 0 || p->offset >= p->synced));
    return p->synced;
}
