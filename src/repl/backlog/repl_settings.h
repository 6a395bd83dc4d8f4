/* repl_settings.h -- the settings of replication.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_SETTINGS_H
#define REPL_REPL_SETTINGS_H

#include "platform.h"

typedef enum { DISKLESS_LOAD_OFF, DISKLESS_LOAD_ON_EMPTY, DISKLESS_LOAD_SWAPDB, DISKLESS_LOAD_FLUSH } disklessLoad;

typedef enum { ON_ERROR_IGNORE, ON_ERROR_PANIC, ON_ERROR_PANIC_ON_REPLICAS } onError;

typedef struct replSettings {
    /* As a replica. */
    char *primary_host; /* owns; NULL: it is none */
    long long primary_port;
    char *primary_auth; /* owns: an sds; NULL: none */
    char *primary_user; /* owns; NULL: the default user */
    char *announce_ip;  /* owns; NULL: what the primary sees */
    long long announce_port, priority;
    int diskless_load; /* disklessLoad */
    bool announced, read_only, serve_stale_data, ignore_maxmemory, lazy_flush, ignore_disk_errors, tls, mptcp;
    bool imports;       /* clients bring the dataset of another server */
    int error_behavior; /* onError */
    /* As a primary. */
    bool diskless_sync, dual_channel, no_tcp_nodelay, slow_writers;
    long long diskless_delay_s, diskless_max_replicas, ping_period_s, timeout_s;
    long long backlog_size, backlog_ttl_s;
    long long min_replicas, min_replicas_max_lag_s;
} replSettings;
extern replSettings repl_settings;

#define REPL_BACKLOG_MIN ((long long)16 << 10)

/* Boot only. */
void replSettingsRegister(void);
/* The primary is another one, or none (host NULL): copies. CONFIG REWRITE will write it. */
void replSettingsSetPrimary(const char *host, long long port);

#endif
