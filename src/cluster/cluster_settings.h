/* cluster_settings.h -- the settings of a cluster node: its file, its bus, what it announces, when it fails over.
 *
 * Settings that decide only how clients are redirected are those of the engine.
 *
 * Runs on: main. The bus thread gets copies.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_CLUSTER_SETTINGS_H
#define CLUSTER_CLUSTER_SETTINGS_H

#include "platform.h"

/* The choices for a node whose nodes.conf cannot be written. */
typedef enum { SAVE_OR_EXIT, SAVE_IF_POSSIBLE } saveBehavior;

typedef struct clusterSettings {
    /* The node. */
    bool enabled;
    char *config_file; /* owns */
    int save_behavior; /* saveBehavior */
    long long databases;
    bool slot_stats;
    /* The bus. */
    long long port;          /* 0: that of clients plus 10000 */
    long long node_timeout;  /* ms */
    long long ping_interval; /* ms; 0: half of the node timeout */
    long long gossip_percent;
    long long link_buffer_limit; /* bytes; 0: none */
    long long blacklist_ttl;     /* s */
    /* Announced to other nodes. */
    char *announce_ip;                                                     /* owns; NULL: the address that they see */
    char *human_name;                                                      /* owns; NULL or "": none */
    char *availability_zone;                                               /* owns: an sds; NULL: none */
    long long announce_port, announce_tls_port, announce_bus_port;         /* 0: the real one */
    char *announce_client_ipv4, *announce_client_ipv6, *announce_hostname; /* own; NULL or "": none */
    long long announce_client_port, announce_client_tls_port;              /* 0: the announced or the real one */
    /* Failover. */
    long long validity_factor;         /* in node timeouts; 0: data of any age */
    long long manual_failover_timeout; /* ms */
    long long migration_barrier;
    bool no_failover, replica_migration, require_full_coverage, protect_data;
    /* Slot migration. */
    long long migration_log_max_len;
    long long migration_max_repl_bytes; /* -1: any number */
} clusterSettings;
extern clusterSettings cluster_settings;

/* Registers the settings. Call at startup only. */
void clusterSettingsRegister(void);
/* Begins cluster mode: from then on CONFIG SET refuses texts that nodes.conf cannot hold, and calls `changed` after it
 * has changed settings. Returns false with *err if nodes.conf cannot hold a text that the configuration has. Call once,
 * at startup, after the configuration was read. */
bool clusterSettingsBegin(void (*changed)(void), const char **err) must_check;

#endif
