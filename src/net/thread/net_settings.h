/* net_settings.h -- the settings of the net layer, and its counters.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_SETTINGS_H
#define NET_NET_SETTINGS_H

#include "platform.h"

#include <stdatomic.h>

#define BIND_MAX 16

/* Which thread executes (main_policy.c): chosen by load, always main's own thread, or another thread for each batch. */
enum { MAIN_ROLE_AUTO, MAIN_ROLE_KEEP, MAIN_ROLE_MOVE };

typedef struct netSettings {
    long long port, tcp_backlog, timeout_s, tcp_keepalive_s, maxclients;
    long long unixsocketperm, socket_mark_id, max_new_connections_per_cycle;
    long long io_threads;
    long long proto_max_bulk_len, client_query_buffer_limit, maxmemory_clients;
    int main_role; /* a MAIN_ROLE_ value */
    bool protected_mode, mptcp, io_threads_always_active;
    char *unixsocket, *unixsocketgroup, *bind_source_addr;
    char *cpulist;        /* owns; processors of main and the I/O threads (server-cpulist); NULL: any */
    char *bind[BIND_MAX]; /* owns */
    int bind_count;
} netSettings;
extern netSettings net_settings;

/* Copies for the owner threads of connections, stored by main when a setting changes. Relaxed: a request read meanwhile
 * may see either value. */
typedef struct netShared {
    _Atomic long long proto_max_bulk_len, client_query_buffer_limit;
    _Atomic int tls_user_field; /* like tls_settings.auth_clients_user */
} netShared;
extern netShared net_shared;
/* Stores them, and the size limit of strings (engine_settings.h). */
void netShareSettings(void);

/* Call at startup. */
void netSettingsRegister(void);

/* Counters for INFO; of main. */
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

/* A counter that one thread writes and others read, relaxed. Adding takes no locked instruction. */
static inline uint64_t netCounterGet(const _Atomic uint64_t *counter) {
    return atomic_load_explicit(counter, memory_order_relaxed);
}
static inline void netCounterAdd(_Atomic uint64_t *counter, uint64_t n) {
    atomic_store_explicit(counter, netCounterGet(counter) + n, memory_order_relaxed);
}

#endif
