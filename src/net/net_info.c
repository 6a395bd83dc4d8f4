/* net_info.c -- INFO fields about connections, threads and loops.
 *
 * Some counters are written by other threads, or are read by code that needs them to grow; these are never reset. INFO
 * shows how much they have grown since the last reset.
 *
 * Owns        the values of growing counters at the last reset.
 * Threads     main.
 * Invariants  a shown counter is never negative: a thread that ends takes its counts with it, and then 0 is shown.
 * Tests       tests/server/info.tcl, tests/differential/server_compare.py
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net.h"

#include "client_cron.h"
#include "client_eviction.h"
#include "info_table.h"
#include "io_threads.h"
#include "main_role.h"
#include "listen.h"
#include "net_settings.h"
#include "tls_settings.h"
#include "rebalance.h"
#include "record_prefetch.h"

#include <stdio.h>

static struct {
    ioTotals totals;
    uint64_t active_ns[IO_THREADS_MAX];
    uint64_t client_moves, role_moves, command_ns;
} at_reset;

/* --- since the last reset -------------------------------------------------------------------------- */

static uint64_t growth(uint64_t now, uint64_t then) { return now > then ? now - then : 0; }

static ioTotals totalsNow(void) {
    const ioTotals *base = &at_reset.totals;
    ioTotals now;
    ioThreadsTotals(&now);
    return (ioTotals){
        .reads = growth(now.reads, base->reads),
        .writes = growth(now.writes, base->writes),
        .freed = growth(now.freed, base->freed),
        .polls = growth(now.polls, base->polls),
        .net_input = growth(now.net_input, base->net_input),
        .net_output = growth(now.net_output, base->net_output),
        .main_reads = growth(now.main_reads, base->main_reads),
        .main_writes = growth(now.main_writes, base->main_writes),
    };
}

/* Returns the nanoseconds that a thread (0: main's own) has worked; 0 if there is no such thread. */
static uint64_t activeNs(unsigned thread) {
    if (thread == 0) return net_stats.main_active_ns;
    const ioThread *t = ioThreadGet(thread);
    return t ? ioThreadActiveNs(t) : 0;
}

static void resetStats(void) {
    ioThreadsTotals(&at_reset.totals);
    at_reset.client_moves = rebalanceMoves();
    at_reset.role_moves = mainRoleMoves();
    for (unsigned i = 0; i < IO_THREADS_MAX; i++) at_reset.active_ns[i] = activeNs(i);
    /* Counters used for load balancing are not reset. */
    net_stats.delegated_commands = 0;
    net_stats.connections_received = net_stats.rejected_connections = 0;
    prefetch_stats = (prefetchStats){0};
    net_stats.cycles = net_stats.cycle_ns = 0;
    at_reset.command_ns = net_stats.command_ns;
    clientEvictionResetStats();
    clientCronResetStats();
}

/* --- fields ---------------------------------------------------------------------------------------- */

static void loopApi(infoOut *o) { infoLine(o, "multiplexing_api:%s", aeApiName(ioThreadOwner(ioThreadMain())->loop)); }

static void port(infoOut *o) {
    infoGauge(o, "tcp_port", net_settings.port ? net_settings.port : tls_settings.port,
              "Port for clients, the one with TLS if there is no other.");
}

static void activeThreads(infoOut *o) {
    infoGauge(o, "io_threads_active", netActiveThreads(), "Whether threads beside the main thread handle clients.");
}

static void listeners(infoOut *o) {
    char listener[512];
    for (int i = 0; i < LISTENER_KINDS; i++)
        if (listenInfo(i, listener, sizeof(listener))) infoLine(o, "listener%d:%s", i, listener);
}

static void maxClients(infoOut *o) {
    infoGauge(o, "maxclients", net_settings.maxclients, "Clients that may be connected at once.");
}

static void received(infoOut *o) {
    infoCounter(o, "total_connections_received", net_stats.connections_received, "Connections that were accepted.",
                .family = "connections_received");
}

static void netInfoRejected(infoOut *o) {
    infoCounter(o, "rejected_connections", net_stats.rejected_connections,
                "Connections that were refused: too many, or protected mode.");
}

static void traffic(infoOut *o) {
    ioTotals io = totalsNow();
    infoCounter(o, "total_net_input_bytes", io.net_input, "Bytes that clients have sent.", .family = "net_input_bytes");
    infoCounter(o, "total_net_output_bytes", io.net_output, "Bytes that clients were sent.",
                .family = "net_output_bytes");
}

static void netInfoEvicted(infoOut *o) {
    infoCounter(o, "evicted_clients", clientEvictionCount(),
                "Clients that were disconnected to keep below maxmemory-clients.");
}

static void threads(infoOut *o) {
    ioTotals io = totalsNow();
    infoCounter(o, "total_reads_processed", io.main_reads + io.reads, "Reads from sockets.",
                .family = "reads_processed");
    infoCounter(o, "total_writes_processed", io.main_writes + io.writes, "Writes to sockets.",
                .family = "writes_processed");
    infoCounter(o, "io_threaded_reads_processed", io.reads, "Reads from sockets by I/O threads.");
    infoCounter(o, "io_threaded_writes_processed", io.writes, "Writes to sockets by I/O threads.");
    infoCounter(o, "io_threaded_freed_objects", io.freed,
                "Objects that were freed by the I/O threads that had made them.");
    infoCounter(o, "io_threaded_accept_processed", 0, "Connections that I/O threads have accepted."); /* main accepts */
    infoCounter(o, "io_threaded_poll_processed", io.polls, "Loop iterations of I/O threads.");
    infoCounter(o, "io_threaded_total_prefetch_batches", prefetch_stats.batches,
                "Batches of commands whose keys were looked up together.", .family = "io_threaded_prefetch_batches");
    infoCounter(o, "io_threaded_total_prefetch_entries", prefetch_stats.entries, "Keys that were looked up in batches.",
                .family = "io_threaded_prefetch_entries");
    infoCounter(o, "io_threads_client_moves", growth(rebalanceMoves(), at_reset.client_moves),
                "Clients that were moved to another thread.");
    infoCounter(o, "main_role_moves", growth(mainRoleMoves(), at_reset.role_moves),
                "Times that another thread began to execute commands.");
    infoCounter(o, "main_role_lent_commands", net_stats.delegated_commands,
                "Commands that were executed by I/O threads.");
}

static void cycles(infoOut *o) {
    infoCounter(o, "eventloop_cycles", net_stats.cycles, "Loop iterations of main.");
    infoCounter(o, "eventloop_duration_sum", net_stats.cycle_ns / 1000,
                "Time that main has worked, whichever thread was main.", .family = "eventloop_duration_seconds",
                .shift = 6);
    infoCounter(o, "eventloop_duration_cmd_sum", growth(net_stats.command_ns, at_reset.command_ns) / 1000,
                "Time in which main has executed commands.", .family = "eventloop_duration_cmd_seconds", .shift = 6);
    clientCronStats cron = clientCronGetStats();
    infoCounter(o, "client_cron_looks", cron.checks, "Periodic checks of clients.");
    infoGauge(o, "client_cron_looks_max", cron.checks_max, "Most periodic checks of clients in one step.");
    infoGauge(o, "client_cron_usec_max", cron.ns_max / 1000,
              "Longest step of the periodic checks of clients, in microseconds.");
}

static void activeTime(infoOut *o, const char *name, unsigned thread) {
    uint64_t ns = growth(activeNs(thread), at_reset.active_ns[thread]);
    infoLine(o, "used_active_time_%s:%llu.%06llu", name, (unsigned long long)(ns / 1000000000),
             (unsigned long long)(ns / 1000 % 1000000));
}

static void activeTimes(infoOut *o) {
    activeTime(o, "main_thread", 0);
    for (unsigned i = 1; i < (unsigned)ioThreadsCount(); i++) {
        char name[32];
        snprintf(name, sizeof(name), "io_thread_%u", i);
        activeTime(o, name, i);
    }
}

/* --- of each thread, for charts; never reset ---------------------------------------------------------- */

static void threadLine(infoOut *o, const char *name, const ioOwnerStats *s, uint64_t active_ns, uint64_t acting_ns) {
    infoLine(o,
             "thread_%s:active=%llu.%06llu,acting=%llu.%06llu,turns=%llu,reads=%llu,writes=%llu,input=%llu,output=%llu,"
             "freed=%llu",
             name, (unsigned long long)(active_ns / 1000000000), (unsigned long long)(active_ns / 1000 % 1000000),
             (unsigned long long)(acting_ns / 1000000000), (unsigned long long)(acting_ns / 1000 % 1000000),
             (unsigned long long)netCounterGet(&s->polls), (unsigned long long)netCounterGet(&s->reads),
             (unsigned long long)netCounterGet(&s->writes), (unsigned long long)netCounterGet(&s->net_input),
             (unsigned long long)netCounterGet(&s->net_output), (unsigned long long)netCounterGet(&s->freed));
}

/* Main's own thread acts as main whenever it works. */
static void eachThread(infoOut *o) {
    for (unsigned i = 0; i < IO_THREADS_ALL; i++) {
        ioThread *t = i ? ioThreadGet(i) : ioThreadMain();
        if (!t) continue;
        char name[16];
        snprintf(name, sizeof(name), i == 0 ? "main" : i == IO_THREAD_HANDSHAKER ? "greeter" : "io%u", i);
        uint64_t active_ns = i ? ioThreadActiveNs(t) : net_stats.main_active_ns;
        threadLine(o, name, &ioThreadOwner(t)->stats, active_ns, i ? ioThreadActingNs(t) : active_ns);
    }
}

void netInfoRegister(void) {
    tlsInfoRegister();
    static const infoSection sections[] = {{"threads", "Threads", 135, INFO_BY_NAME}, {.name = NULL}};
    static const infoFields fields[] = {{"server", 120, loopApi},       {"server", 170, port},
                                        {"server", 270, activeThreads}, {"server", 290, listeners},
                                        {"clients", 30, maxClients},    {"stats", 10, received},
                                        {"stats", 40, traffic},         {"stats", 140, netInfoRejected},
                                        {"stats", 250, netInfoEvicted}, {"stats", 500, threads},
                                        {"stats", 630, cycles},         {"cpu", 70, activeTimes},
                                        {"threads", 10, eachThread},    {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
}
