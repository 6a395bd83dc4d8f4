/* server_stats.c -- counters as CONFIG RESETSTAT lets clients see them.
 *
 * Owns        the values of growing counters at the last reset.
 * Threads     main.
 * Invariants  a shown counter never is negative: threads that have ended take their counts away, and then 0 is shown.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_stats.h"

#include "call.h"
#include "client_eviction.h"
#include "config.h"
#include "evict.h"
#include "lazyfree.h"
#include "metrics.h"
#include "net.h"
#include "reply.h"

static struct {
    ioTotals totals;
    uint64_t active_ns[IO_THREADS_MAX];
} at_reset;

static uint64_t growth(uint64_t now, uint64_t then) {
    return now > then ? now - then : 0;
}

void statsIoTotals(ioTotals *out) {
    const ioTotals *base = &at_reset.totals;
    ioTotals now;
    ioThreadsTotals(&now);
    out->reads = growth(now.reads, base->reads);
    out->writes = growth(now.writes, base->writes);
    out->freed = growth(now.freed, base->freed);
    out->polls = growth(now.polls, base->polls);
    out->net_input = growth(now.net_input, base->net_input);
    out->net_output = growth(now.net_output, base->net_output);
    out->main_reads = growth(now.main_reads, base->main_reads);
    out->main_writes = growth(now.main_writes, base->main_writes);
}

static uint64_t activeNs(unsigned thread) {
    if (thread == 0) return net_stats.main_active_ns;
    const ioThread *t = ioThreadGet(thread);
    return t ? ioThreadActiveNs(t) : 0;
}

uint64_t statsActiveNs(unsigned thread) {
    return growth(activeNs(thread), at_reset.active_ns[thread]);
}

static void resetNet(void) {
    /* What the balance of threads is judged by stays. */
    net_stats.lent_commands = 0;
    net_stats.connections_received = net_stats.rejected_connections = 0;
    net_stats.prefetch_batches = net_stats.prefetch_entries = 0;
    net_stats.cycles = net_stats.cycle_ns = net_stats.command_cycles_ns = 0;
    clientEvictionResetStats();
}

static void resetStore(void) {
    long long dirty = store_stats.dirty; /* no statistic: it decides when to save */
    store_stats = (storeStats){.dirty = dirty};
    lazyfreeResetStats();
}

static void resetClients(void) {
    client_state.unexpected_error_replies = client_state.total_error_replies = 0;
    client_state.output_limit_disconnections = client_state.query_limit_disconnections = 0;
    clientErrorStatsReset();
}

static void resetEngine(void) {
    /* command_ns stays: a turn of the loop measures its growth. */
    engine_stats.commands_processed = 0;
    engine_stats.acl_denied_auth = engine_stats.acl_denied_cmd = 0;
    commandStatsResetAll();
}

static void resetAll(void) {
    ioThreadsTotals(&at_reset.totals);
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) at_reset.active_ns[i] = activeNs(i);
    resetNet();
    resetStore();
    resetClients();
    resetEngine();
    metricsReset();
}

void serverStatsRegisterReset(void) {
    configOnResetStat(resetAll);
}
