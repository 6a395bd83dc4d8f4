/* net_settings.h -- the settings of the net layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_NET_SETTINGS_H
#define NET_NET_SETTINGS_H

#include "platform.h"

#include <stdatomic.h>

#define BIND_MAX 16

/* Who executes (main_policy.c): as the load asks for, always main's own thread, or another thread for each batch. */
enum { MAIN_ROLE_AUTO, MAIN_ROLE_KEEP, MAIN_ROLE_MOVE };

typedef struct netSettings {
    long long port, tcp_backlog, timeout_s, tcp_keepalive_s, maxclients;
    long long unixsocketperm, socket_mark_id, max_new_connections_per_cycle;
    long long io_threads;
    long long proto_max_bulk_len, client_query_buffer_limit, maxmemory_clients;
    int main_role; /* MAIN_ROLE_ */
    bool protected_mode, mptcp, io_threads_always_active;
    char *unixsocket, *unixsocketgroup, *bind_source_addr;
    char *cpulist;        /* owns; of main and the I/O threads (server-cpulist); NULL: any processor */
    char *bind[BIND_MAX]; /* own */
    int bind_count;
} netSettings;
extern netSettings net_settings;

/* Copies for the threads that hold streams, stored by main when a setting changes (relaxed: a
 * request read meanwhile may see either value). */
typedef struct netShared {
    _Atomic long long proto_max_bulk_len, client_query_buffer_limit;
    _Atomic int tls_user_field; /* as tls_settings.auth_clients_user */
} netShared;
extern netShared net_shared;
void netShareSettings(void);

/* Boot only. */
void netSettingsRegister(void);

#endif
