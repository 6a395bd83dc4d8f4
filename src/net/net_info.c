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
#include "net_stats.h"
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
    infoLine(o, "tcp_port:%lld", net_settings.port ? net_settings.port : tls_settings.port);
}

static void activeThreads(infoOut *o) { infoLine(o, "io_threads_active:%d", netActiveThreads()); }

static void listeners(infoOut *o) {
    char listener[512];
    for (int i = 0; i < LISTENER_KINDS; i++)
        if (netListenerInfo(i, listener, sizeof(listener))) infoLine(o, "listener%d:%s", i, listener);
}

static void maxClients(infoOut *o) { infoLine(o, "maxclients:%lld", net_settings.maxclients); }

static void received(infoOut *o) { infoLine(o, "total_connections_received:%lld", net_stats.connections_received); }

static void netInfoRejected(infoOut *o) { infoLine(o, "rejected_connections:%lld", net_stats.rejected_connections); }

static void traffic(infoOut *o) {
    ioTotals io = totalsNow();
    infoLine(o, "total_net_input_bytes:%llu", (unsigned long long)io.net_input);
    infoLine(o, "total_net_output_bytes:%llu", (unsigned long long)io.net_output);
}

static void netInfoEvicted(infoOut *o) { infoLine(o, "evicted_clients:%lld", clientEvictionCount()); }

static void threads(infoOut *o) {
    ioTotals io = totalsNow();
    infoLine(o, "total_reads_processed:%llu", (unsigned long long)(io.main_reads + io.reads));
    infoLine(o, "total_writes_processed:%llu", (unsigned long long)(io.main_writes + io.writes));
    infoLine(o, "io_threaded_reads_processed:%llu", (unsigned long long)io.reads);
    infoLine(o, "io_threaded_writes_processed:%llu", (unsigned long long)io.writes);
    infoLine(o, "io_threaded_freed_objects:%llu", (unsigned long long)io.freed);
    infoLine(o, "io_threaded_accept_processed:0"); /* main accepts */
    infoLine(o, "io_threaded_poll_processed:%llu", (unsigned long long)io.polls);
    infoLine(o, "io_threaded_total_prefetch_batches:%lld", prefetch_stats.batches);
    infoLine(o, "io_threaded_total_prefetch_entries:%lld", prefetch_stats.entries);
    infoLine(o, "io_threads_client_moves:%llu", (unsigned long long)growth(rebalanceMoves(), at_reset.client_moves));
    infoLine(o, "main_role_moves:%llu", (unsigned long long)growth(mainRoleMoves(), at_reset.role_moves));
    infoLine(o, "main_role_lent_commands:%lld", net_stats.delegated_commands);
}

static void cycles(infoOut *o) {
    infoLine(o, "eventloop_cycles:%llu", (unsigned long long)net_stats.cycles);
    infoLine(o, "eventloop_duration_sum:%llu", (unsigned long long)(net_stats.cycle_ns / 1000));
    infoLine(o, "eventloop_duration_cmd_sum:%llu",
             (unsigned long long)(growth(net_stats.command_ns, at_reset.command_ns) / 1000));
    clientCronStats cron = clientCronGetStats();
    infoLine(o, "client_cron_looks:%llu", (unsigned long long)cron.looks);
    infoLine(o, "client_cron_looks_max:%llu", (unsigned long long)cron.looks_max);
    infoLine(o, "client_cron_usec_max:%llu", (unsigned long long)(cron.ns_max / 1000));
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

static unsigned long long statOf(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static void threadLine(infoOut *o, const char *name, const ioOwnerStats *s, uint64_t active_ns, uint64_t acting_ns) {
    infoLine(o,
             "thread_%s:active=%llu.%06llu,acting=%llu.%06llu,turns=%llu,reads=%llu,writes=%llu,input=%llu,output=%llu,"
             "freed=%llu",
             name, (unsigned long long)(active_ns / 1000000000), (unsigned long long)(active_ns / 1000 % 1000000),
             (unsigned long long)(acting_ns / 1000000000), (unsigned long long)(acting_ns / 1000 % 1000000),
             statOf(&s->polls), statOf(&s->reads), statOf(&s->writes), statOf(&s->net_input), statOf(&s->net_output),
             statOf(&s->freed));
}

/* Main's own thread acts as main whenever it works. */
static void eachThread(infoOut *o) {
    for (unsigned i = 0; i < IO_THREADS_ALL; i++) {
        ioThread *t = i ? ioThreadGet(i) : ioThreadMain();
        if (!t) continue;
        char name[16];
        snprintf(name, sizeof(name), i == 0 ? "main" : i == IO_THREAD_GREETER ? "greeter" : "io%u", i);
        uint64_t active_ns = i ? ioThreadActiveNs(t) : net_stats.main_active_ns;
        threadLine(o, name, &ioThreadOwner(t)->stats, active_ns, i ? ioThreadActingNs(t) : active_ns);
    }
}

static const infoMetric metrics[] = {
    {"tcp_port", NULL, INFO_GAUGE, 0, "Port for clients, the one with TLS if there is no other."},
    {"io_threads_active", NULL, INFO_GAUGE, 0, "Whether threads beside the main thread handle clients."},
    {"maxclients", NULL, INFO_GAUGE, 0, "Clients that may be connected at once."},
    {"total_connections_received", "connections_received", INFO_COUNTER, 0, "Connections that were accepted."},
    {"rejected_connections", NULL, INFO_COUNTER, 0, "Connections that were refused: too many, or protected mode."},
    {"total_net_input_bytes", "net_input_bytes", INFO_COUNTER, 0, "Bytes that clients have sent."},
    {"total_net_output_bytes", "net_output_bytes", INFO_COUNTER, 0, "Bytes that clients were sent."},
    {"evicted_clients", NULL, INFO_COUNTER, 0, "Clients that were disconnected to keep below maxmemory-clients."},
    {"total_reads_processed", "reads_processed", INFO_COUNTER, 0, "Reads from sockets."},
    {"total_writes_processed", "writes_processed", INFO_COUNTER, 0, "Writes to sockets."},
    {"io_threaded_reads_processed", NULL, INFO_COUNTER, 0, "Reads from sockets by I/O threads."},
    {"io_threaded_writes_processed", NULL, INFO_COUNTER, 0, "Writes to sockets by I/O threads."},
    {"io_threaded_freed_objects", NULL, INFO_COUNTER, 0,
     "Objects that were freed by the I/O threads that had made them."},
    {"io_threaded_accept_processed", NULL, INFO_COUNTER, 0, "Connections that I/O threads have accepted."},
    {"io_threaded_poll_processed", NULL, INFO_COUNTER, 0,
     "Turns of I/O threads: times that they have asked for ready sockets."},
    {"io_threaded_total_prefetch_batches", "io_threaded_prefetch_batches", INFO_COUNTER, 0,
     "Batches of commands whose keys were looked up together."},
    {"io_threaded_total_prefetch_entries", "io_threaded_prefetch_entries", INFO_COUNTER, 0,
     "Keys that were looked up in batches."},
    {"io_threads_client_moves", NULL, INFO_COUNTER, 0, "Clients that were moved to another thread."},
    {"main_role_moves", NULL, INFO_COUNTER, 0, "Times that another thread began to execute commands."},
    {"main_role_lent_commands", NULL, INFO_COUNTER, 0, "Commands that were executed by I/O threads."},
    {"eventloop_cycles", NULL, INFO_COUNTER, 0, "Turns of main."},
    {"eventloop_duration_sum", "eventloop_duration_seconds", INFO_COUNTER, 6,
     "Time that main has worked, whichever thread was main."},
    {"eventloop_duration_cmd_sum", "eventloop_duration_cmd_seconds", INFO_COUNTER, 6,
     "Time in which main has executed commands."},
    {"client_cron_looks", NULL, INFO_COUNTER, 0, "Clients that were looked after."},
    {"client_cron_looks_max", NULL, INFO_GAUGE, 0, "Most clients that were looked after at once."},
    {"client_cron_usec_max", NULL, INFO_GAUGE, 0, "Longest time for looking after clients at once, in microseconds."},
    {.field = NULL},
};

void netInfoRegister(void) {
    tlsInfoRegister();
    static const infoSection sections[] = {{"threads", "Threads", 135, INFO_BY_NAME}, {.name = NULL}};
    static const infoFields fields[] = {
        {"server", 120, .write = loopApi},       {"server", 170, .write = port},
        {"server", 270, .write = activeThreads}, {"server", 290, .write = listeners},
        {"clients", 30, .write = maxClients},    {"stats", 10, .write = received},
        {"stats", 40, .write = traffic},         {"stats", 140, .write = netInfoRejected},
        {"stats", 250, .write = netInfoEvicted}, {"stats", 500, .write = threads},
        {"stats", 630, .write = cycles},         {"cpu", 70, .write = activeTimes},
        {"threads", 10, .write = eachThread},    {.section = NULL}};
    infoTableAddSections(sections);
    infoTableAddFields(fields);
    infoTableOnReset(resetStats);
    infoTableAddMetrics(metrics);
}
