/* net_stats.h -- counters of the net layer, for INFO.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_STATS_H
#define NET_NET_STATS_H

#include "platform.h"

typedef struct netStats {
    long long connections_received, rejected_connections;
    uint64_t cycles, cycle_ns;    /* eventloop_*: of iterations that have ended */
    uint64_t command_ns;          /* engine_stats.command_ns at the end of the last iteration; never reset */
    uint64_t main_active_ns;      /* working time of main's own thread */
    uint64_t busy_ns;             /* working time of main, on any thread; never reset */
    long long executed;           /* commands; never reset */
    long long delegated_commands; /* executed by I/O threads that had the main role */
} netStats;
extern netStats net_stats;

#endif
