/* slot_stats.c -- what the commands of each slot cost: time and bytes (cluster-slot-stats-enabled).
 *
 * Owns        the figures, while they are enabled.
 * Threads     main.
 * Cost        while enabled, a few additions for a command; otherwise none (call_after.h).
 * Tests       tests/unit/engine/slots/slot_stats_test.c, tests/cluster/slot_stats.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_stats.h"

#include "cluster_types.h"
#include "hash.h"
#include "numbers.h"
#include "panic.h"
#include "zmalloc.h"

#define MULTI_BYTES 15 /* the request MULTI as client libraries send it; its length is not kept */

static struct {
    slotFigures *of; /* owns: CLUSTER_SLOTS; NULL: not enabled */
    size_t (*replicas)(void);
    size_t propagated;  /* bytes of the running command for each replica */
    const client *exec; /* borrowed: runs its queue; NULL: none does */
    int exec_slot;      /* of the last queue that was run and not counted yet; -1: none */
} stats = {.exec_slot = -1};

void slotStatsSetReplicas(size_t (*count)(void)) { stats.replicas = count; }

void slotStatsEnable(bool on) {
    assertMainRole();
    if (on && !stats.of) stats.of = zcalloc(CLUSTER_SLOTS, sizeof(*stats.of));
    if (!on) {
        zfree(stats.of);
        stats.of = NULL;
    }
    stats.propagated = 0;
    stats.exec_slot = -1;
    if (on) call_after |= CALL_AFTER_SLOT_STATS;
    else call_after &= ~CALL_AFTER_SLOT_STATS;
}

slotFigures slotStatsOf(unsigned slot) { return stats.of ? stats.of[slot] : (slotFigures){0}; }

void slotStatsForget(unsigned slot) {
    if (stats.of) stats.of[slot] = (slotFigures){0};
}

void slotStatsReset(void) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) slotStatsForget(slot);
}

/* INT64_MAX is the greatest number of a reply; no figure begins again at zero. */
static void add(uint64_t *to, uint64_t n) { *to = n > INT64_MAX - *to ? INT64_MAX : *to + n; }

/* Returns the bytes that replicas get of the running command. */
static uint64_t takePropagated(void) {
    uint64_t bytes = stats.propagated;
    stats.propagated = 0;
    return bytes && stats.replicas ? bytes * stats.replicas() : 0;
}

/* Returns the figures of the command's slot; NULL if it does not count by itself. */
static slotFigures *figuresOf(const client *c) {
    if (c->flags & CLIENT_FAKE || c == stats.exec || c->req->slot < 0) return NULL;
    return &stats.of[c->req->slot];
}

/* Counts an EXEC that has run a queue. */
static void execRan(const client *c, uint64_t ns, size_t reply_bytes) {
    slotFigures *f = &stats.of[stats.exec_slot];
    add(&f->ns, ns);
    add(&f->bytes_in, MULTI_BYTES + (uint64_t)c->req->wire_len);
    add(&f->bytes_out, reply_bytes + takePropagated());
    stats.exec_slot = -1;
}

void slotStatsRan(const client *c, uint64_t ns, size_t reply_bytes) {
    slotFigures *f = figuresOf(c);
    if (f) {
        add(&f->ns, ns);
        add(&f->bytes_in, c->req->wire_len);
        add(&f->bytes_out, reply_bytes + takePropagated());
    } else if (!stats.exec && !(c->flags & CLIENT_FAKE)) {
        if (stats.exec_slot >= 0) execRan(c, ns, reply_bytes);
        else stats.propagated = 0;
    }
}

void slotStatsWaits(const client *c, uint64_t ns) {
    slotFigures *f = figuresOf(c);
    if (f) add(&f->ns, ns);
}

void slotStatsQueued(const parsedCommand *req) {
    if (req->slot >= 0) add(&stats.of[req->slot].bytes_in, req->wire_len);
}

void slotStatsExecBegins(const client *c, parsedCommand *const *queue, uint32_t count) {
    debugAssert(!stats.exec);
    stats.exec = c;
    stats.exec_slot = -1;
    for (uint32_t i = 0; i < count && stats.exec_slot < 0; i++) stats.exec_slot = queue[i]->slot;
}

void slotStatsExecEnds(void) { stats.exec = NULL; }

void slotStatsPropagated(size_t bytes) { stats.propagated += bytes; }

/* Returns the bytes of a string of the protocol: "$3\r\nfoo\r\n". */
static size_t bulkBytes(slice text) { return 1 + sdigits10((long long)text.len) + 2 + text.len + 2; }

void slotStatsPublished(slice channel, slice payload, size_t receivers) {
    size_t bytes = strlen("*3\r\n") + bulkBytes(sliceStr("smessage")) + bulkBytes(channel) + bulkBytes(payload);
    add(&stats.of[keyHashSlot(channel.ptr, channel.len)].bytes_out, bytes * receivers);
}
