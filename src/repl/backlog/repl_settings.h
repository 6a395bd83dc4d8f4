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
    char *primary_host; /* owns; NULL for a primary */
    long long primary_port;
    char *primary_auth; /* owns: an sds; NULL without a password */
    char *primary_user; /* owns; NULL for the default user */
    char *announce_ip;  /* owns; NULL for the address that the primary sees */
    long long announce_port, priority;
    int diskless_load; /* disklessLoad */
    bool announced, read_only, serve_stale_data, ignore_maxmemory, lazy_flush, ignore_disk_errors, tls, mptcp;
    bool imports; /* import-mode: clients copy the dataset of another server into this one */
    long long keep_from_empty_s;
    int error_behavior; /* onError */
    /* As a primary. */
    bool diskless_sync, dual_channel, no_tcp_nodelay, slow_writers;
    long long diskless_delay_s, diskless_max_replicas, ping_period_s, timeout_s;
    long long backlog_size, backlog_ttl_s;
    long long min_replicas, min_replicas_max_lag_s;
} replSettings;
extern replSettings repl_settings;

#define REPL_BACKLOG_MIN ((long long)16 << 10)

/* Registers the settings of this layer. Call at startup only. */
void replSettingsRegister(void);
/* Sets the primary that CONFIG shows and CONFIG REWRITE writes; host NULL for none. Copies `host`. */
void replSettingsSetPrimary(const char *host, long long port);

#endif
