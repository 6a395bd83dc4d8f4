/* aof_gather.c -- decides how long a sync waits for more writes.
 *
 * Not here    the wait itself (aof_thread.c).
 * Owns        nothing.
 * Threads     the AOF thread.
 * Invariants  1. A wait is no longer than a sync takes; after waits without a result, waits become rare.
 * Tests       tests/unit/persist/aof/aof_gather_test.c, thread_always_waits_for_released_clients in aof_thread_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "aof_gather.h"

#include "panic.h"

#define MIN_US 50        /* a shorter wait is not possible */
#define SKIP_SHIFT_MAX 6 /* 64 syncs */

static void gatherCheck(const aofGather *g) {
    debugAssert(g->fruitless <= SKIP_SHIFT_MAX && g->skip <= 1u << g->fruitless);
    debugAssert(g->released == 0 || g->max_us > 0);
    unused(g);
}

void aofGatherInit(aofGather *g, uint64_t max_us) { *g = (aofGather){.max_us = max_us}; }

void aofGatherSynced(aofGather *g, uint64_t units, uint64_t took_us) {
    g->sync_us = g->sync_us ? (7 * g->sync_us + took_us) / 8 : took_us;
    g->released = units;
    gatherCheck(g);
}

uint64_t aofGatherBegin(aofGather *g, uint64_t *more) {
    uint64_t us = g->sync_us < g->max_us ? g->sync_us : g->max_us;
    *more = g->released;
    g->released = 0;
    gatherCheck(g);
    if (*more == 0 || us < MIN_US) return 0;
    if (g->skip > 0) {
        g->skip--;
        return 0;
    }
    return us;
}

void aofGatherEnd(aofGather *g, uint64_t more, uint64_t arrived) {
    debugAssert(more > 0 && g->skip == 0); /* the wait was granted by aofGatherBegin() */
    if (arrived >= more - more / 2) {
        g->fruitless = 0;
        return;
    }
    if (g->fruitless < SKIP_SHIFT_MAX) g->fruitless++;
    g->skip = 1u << g->fruitless;
    gatherCheck(g);
}
