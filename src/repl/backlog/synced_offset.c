/* synced_offset.c -- how much of the primary's stream is on this server's disk.
 *
 * Owns        nothing.
 * Threads     main.
 * Invariants  1. `synced` never exceeds what is on the disk of the stream that is applied now.
 * Tests       tests/unit/repl/backlog/synced_offset_test.c (random orders of events beside a model),
 *             tests/repl/wait.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "synced_offset.h"

#include "panic.h"

void syncedOffsetForget(syncedOffset *p) {
    *p = (syncedOffset){0};
}

static void takeNoted(syncedOffset *p, bool (*is_synced)(uint64_t log_offset)) {
    if (!p->offset || !is_synced(p->log_offset)) return;
    p->synced = p->offset;
    p->offset = 0;
}

uint64_t syncedOffsetUpdate(syncedOffset *p, uint64_t offset, uint64_t log_offset,
                            bool (*is_synced)(uint64_t log_offset)) {
    debugAssert(offset >= p->offset && offset >= p->synced); /* of one stream, and it only grows */
    takeNoted(p, is_synced);
    if (p->offset) return p->synced;
    p->offset = offset;
    p->log_offset = log_offset;
    takeNoted(p, is_synced);
    debugAssert(p->synced <= offset && (p->offset == 0 || p->offset >= p->synced));
    return p->synced;
}
