/* pending_settings.c -- settings of subsystems that do not exist yet: accepted, stored and shown, without effect.
 *
 * A configuration written for Valkey must load, and CONFIG GET, SET and REWRITE must reply as Valkey does. Each entry
 * has the flag SETTING_PENDING; settingFileWarnPending() names those that were set to a value that should have an
 * effect. A user who relies on one of them may lose data or secrets: at the end of startup pendingSettingsWarn() logs
 * which effects are missing. A subsystem that is added moves its entries to a table of its own, and removes its lines
 * from `missing`.
 *
 * Not here    settings that have an effect; they are in the tables of their layers.
 * Owns        `pending_settings`, the values. Only CONFIG reads them.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "log.h"
#include "numbers.h"
#include "panic.h"
#include "setting_text.h"
#include "zmalloc.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>

#define PORT_MAX 65535
#define HOSTNAME_MAX 255

/* One value for each setting below; its type is in the table. */
static struct {
    /* Cluster. */
    bool cluster_enabled, cluster_allow_pubsubshard_when_down, cluster_allow_reads_when_down;
    bool cluster_allow_replica_migration, cluster_replica_no_failover, cluster_require_full_coverage;
    bool cluster_slot_stats_enabled;
    char *cluster_config_file, *cluster_announce_client_ipv4, *cluster_announce_client_ipv6;
    char *cluster_announce_hostname, *cluster_announce_human_nodename, *cluster_announce_ip;
    int cluster_config_save_behavior, cluster_preferred_endpoint_type;
    long long cluster_announce_bus_port, cluster_announce_client_port, cluster_announce_client_tls_port;
    long long cluster_announce_port, cluster_announce_tls_port, cluster_blacklist_ttl, cluster_databases;
    long long cluster_link_sendbuf_limit, cluster_manual_failover_timeout, cluster_migration_barrier;
    long long cluster_node_timeout, cluster_ping_interval, cluster_port, cluster_replica_validity_factor;
    long long cluster_slot_migration_log_max_len, slot_migration_max_failover_repl_bytes;
    /* RDMA. */
    char *rdma_bind;
    long long rdma_completion_vector, rdma_port, rdma_rx_size;
    /* Replies by reference. */
    long long min_io_threads_avoid_copy_reply, min_string_size_avoid_copy_reply, min_string_size_avoid_copy_threaded;
} pending_settings;

/* ---- Names ---------------------------------------------------------------------------------------- */

static const settingName save_behavior_names[] = {{"sync", 0}, {"best-effort", 1}, {NULL, 0}};

/* ---- Checks --------------------------------------------------------------------------------------- */

static bool pendingSettingsRefuse(const char **err, const char *text) {
    *err = text;
    return false;
}

static bool checkClusterFile(const char *text, long long number, const char **err) {
    unused(number);
    return *text || pendingSettingsRefuse(err, "cluster-config-file can't be empty");
}

static bool checkIpv4(const char *text, long long number, const char **err) {
    struct in_addr addr;
    unused(number);
    return !*text || inet_pton(AF_INET, text, &addr) == 1 || pendingSettingsRefuse(err, "Invalid IPv4 address");
}

static bool checkIpv6(const char *text, long long number, const char **err) {
    struct in6_addr addr;
    unused(number);
    return !*text || inet_pton(AF_INET6, text, &addr) == 1 || pendingSettingsRefuse(err, "Invalid IPv6 address");
}

static bool checkHostname(const char *text, long long number, const char **err) {
    unused(number);
    if (strlen(text) > HOSTNAME_MAX) return pendingSettingsRefuse(err, "Hostnames must be less than 256 characters");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p > 127 || !(isalnum(*p) || *p == '-' || *p == '.'))
            return pendingSettingsRefuse(err, "Hostnames may only contain alphanumeric characters, hyphens or dots");
    return true;
}

/* Returns whether the text has no character that separates fields in the nodes file, and no control character. */
static bool fitsNodesFile(const char *text) {
    slice all = sdsSlice((sds)text);
    for (size_t i = 0; i < all.len; i++) {
        unsigned char c = (unsigned char)all.ptr[i];
        if (c < 32 || c == 127 || strchr(" !\"#$%&'()*+,;<=>?@[\\]^{|}~", c)) return false;
    }
    return true;
}

static bool checkNodeName(const char *text, long long number, const char **err) {
    unused(number);
    return fitsNodesFile(text) || pendingSettingsRefuse(err, "Announced human node name contained invalid character");
}

static bool checkNodeIp(const char *text, long long number, const char **err) {
    unused(number);
    return fitsNodesFile(text) || pendingSettingsRefuse(err, "cluster-announce-ip contains invalid character");
}

/* ---- Applying a value ------------------------------------------------------------------------------- */

static bool applyRdmaBind(const char **err) { return pendingSettingsRefuse(err, "No RDMA building support."); }

static bool applyRdmaPort(const char **err) {
    return !pending_settings.rdma_port || pendingSettingsRefuse(err, "No RDMA building support.");
}

/* ---- rdma-bind --------------------------------------------------------------------------------- */

static bool setRdmaBind(const setting *s, char **words, int count, const char **err) {
    unused(s), unused(err);
    sds joined = sdsJoin(words, count, " ");
    zfree(pending_settings.rdma_bind);
    pending_settings.rdma_bind = zstrdup(joined);
    sdsFree(joined);
    return true;
}

static sds getRdmaBind(const setting *s) {
    unused(s);
    return sdsNew(pending_settings.rdma_bind ? pending_settings.rdma_bind : "");
}

/* ---- Table ---------------------------------------------------------------------------------------- */

/* The flags of a row. CONFIG SET accepts KEPT and refuses FIXED; no pattern of CONFIG GET matches HIDDEN. */
enum { KEPT = SETTING_PENDING, FIXED = SETTING_PENDING | SETTING_IMMUTABLE, HIDDEN = SETTING_PENDING | SETTING_HIDDEN };

static const setting rows[] = {
    /* Cluster. */
    BOOL_SETTING("cluster-enabled", pending_settings.cluster_enabled, false, .flags = FIXED),
    STRING_SETTING("cluster-config-file", pending_settings.cluster_config_file, "nodes.conf", .flags = FIXED,
                   .check = checkClusterFile),
    ENUM_SETTING("cluster-config-save-behavior", pending_settings.cluster_config_save_behavior, 0, save_behavior_names,
                 .flags = KEPT),
    INT_SETTING("cluster-databases", pending_settings.cluster_databases, 1, 1, INT_MAX, .flags = FIXED),
    INT_SETTING("cluster-node-timeout", pending_settings.cluster_node_timeout, 15000, 0, LLONG_MAX, .flags = KEPT),
    INT_SETTING("cluster-ping-interval", pending_settings.cluster_ping_interval, 0, 0, LLONG_MAX, .flags = HIDDEN),
    INT_SETTING("cluster-port", pending_settings.cluster_port, 0, 0, PORT_MAX, .flags = FIXED),
    INT_SETTING("cluster-replica-validity-factor", pending_settings.cluster_replica_validity_factor, 10, 0, INT_MAX,
                .alias = "cluster-slave-validity-factor", .flags = KEPT),
    BOOL_SETTING("cluster-replica-no-failover", pending_settings.cluster_replica_no_failover, false,
                 .alias = "cluster-slave-no-failover", .flags = KEPT),
    INT_SETTING("cluster-migration-barrier", pending_settings.cluster_migration_barrier, 1, 0, INT_MAX, .flags = KEPT),
    BOOL_SETTING("cluster-allow-replica-migration", pending_settings.cluster_allow_replica_migration, true,
                 .flags = KEPT),
    BOOL_SETTING("cluster-require-full-coverage", pending_settings.cluster_require_full_coverage, true, .flags = KEPT),
    MEMORY_SETTING("cluster-link-sendbuf-limit", pending_settings.cluster_link_sendbuf_limit, 0, 0, .flags = KEPT),
    INT_SETTING("cluster-manual-failover-timeout", pending_settings.cluster_manual_failover_timeout, 5000, 1, INT_MAX,
                .flags = KEPT),
    INT_SETTING("cluster-blacklist-ttl", pending_settings.cluster_blacklist_ttl, 60, LLONG_MIN, LLONG_MAX,
                .flags = KEPT),
    BOOL_SETTING("cluster-slot-stats-enabled", pending_settings.cluster_slot_stats_enabled, false, .flags = KEPT),
    INT_SETTING("cluster-slot-migration-log-max-len", pending_settings.cluster_slot_migration_log_max_len, 1000, 0,
                LLONG_MAX, .flags = KEPT),
    MEMORY_SETTING("slot-migration-max-failover-repl-bytes", pending_settings.slot_migration_max_failover_repl_bytes, 0,
                   -1, .flags = KEPT),
    STRING_SETTING("cluster-announce-ip", pending_settings.cluster_announce_ip, NULL, .flags = KEPT,
                   .empty_is_null = true, .check = checkNodeIp),
    INT_SETTING("cluster-announce-port", pending_settings.cluster_announce_port, 0, 0, PORT_MAX, .flags = KEPT),
    INT_SETTING("cluster-announce-tls-port", pending_settings.cluster_announce_tls_port, 0, 0, PORT_MAX, .flags = KEPT),
    INT_SETTING("cluster-announce-bus-port", pending_settings.cluster_announce_bus_port, 0, 0, PORT_MAX, .flags = KEPT),
    INT_SETTING("cluster-announce-client-port", pending_settings.cluster_announce_client_port, 0, 0, PORT_MAX,
                .flags = KEPT),
    INT_SETTING("cluster-announce-client-tls-port", pending_settings.cluster_announce_client_tls_port, 0, 0, PORT_MAX,
                .flags = KEPT),
    STRING_SETTING("cluster-announce-client-ipv4", pending_settings.cluster_announce_client_ipv4, NULL, .flags = KEPT,
                   .check = checkIpv4),
    STRING_SETTING("cluster-announce-client-ipv6", pending_settings.cluster_announce_client_ipv6, NULL, .flags = KEPT,
                   .check = checkIpv6),
    STRING_SETTING("cluster-announce-hostname", pending_settings.cluster_announce_hostname, NULL, .flags = KEPT,
                   .check = checkHostname),
    STRING_SETTING("cluster-announce-human-nodename", pending_settings.cluster_announce_human_nodename, NULL,
                   .flags = KEPT, .check = checkNodeName),

    /* RDMA. */
    {.name = "rdma-bind",
     .type = SETTING_SPECIAL,
     .flags = SETTING_PENDING | SETTING_MULTI_ARG | SETTING_VOLATILE,
     .set = setRdmaBind,
     .get = getRdmaBind,
     .apply = applyRdmaBind},
    INT_SETTING("rdma-port", pending_settings.rdma_port, 0, 0, PORT_MAX, .flags = KEPT, .apply = applyRdmaPort),
    INT_SETTING("rdma-rx-size", pending_settings.rdma_rx_size, 1048576, 65536, 16777216, .flags = FIXED),
    INT_SETTING("rdma-completion-vector", pending_settings.rdma_completion_vector, -1, -1, 1024, .flags = FIXED),

    /* Valkey's thresholds for replies by reference. */
    INT_SETTING("min-io-threads-avoid-copy-reply", pending_settings.min_io_threads_avoid_copy_reply, 7, 0, INT_MAX,
                .flags = HIDDEN),
    INT_SETTING("min-string-size-avoid-copy-reply", pending_settings.min_string_size_avoid_copy_reply, 16384, 0,
                INT_MAX, .flags = HIDDEN),
    INT_SETTING("min-string-size-avoid-copy-reply-threaded", pending_settings.min_string_size_avoid_copy_threaded,
                65536, 0, INT_MAX, .flags = HIDDEN),
    SETTINGS_END,
};

void pendingSettingsRegister(void) { settingRegister(rows); }

/* ---- Warnings about missing effects ----------------------------------------------------------------- */

/* The missing effects, each with the settings that ask for it. */
static const struct {
    const char *words;
    const char *settings[4];
} missing[] = {
    {"this server is not part of a cluster: it serves all slots alone and connects to no other node",
     {"cluster-enabled"}},
};

static const setting *pendingByName(const char *name) {
    for (const setting *const *table = settingTables(); *table; table++)
        for (const setting *s = *table; s->name; s++)
            if (s->flags & SETTING_PENDING && !strcmp(s->name, name)) return s;
    serverPanic("'%s' is no longer pending", name);
}

/* Returns whether the value asks for an effect. Each setting in `missing` is off if it is "", "no" or 0. */
static bool isConfigured(const char *name) {
    sds text = settingText(pendingByName(name));
    bool asked = sdsLen(text) && strcmp(text, "no") && strcmp(text, "0");
    sdsFree(text);
    return asked;
}

void pendingSettingsWarn(void) {
    for (size_t i = 0; i < array_len(missing); i++) {
        sds names = sdsEmpty();
        for (size_t j = 0; j < array_len(missing[i].settings) && missing[i].settings[j]; j++)
            if (isConfigured(missing[i].settings[j]))
                names = sdsCatPrintf(names, "%s%s", sdsLen(names) ? ", " : "", missing[i].settings[j]);
        if (sdsLen(names))
            serverLog(LL_WARNING, "WARNING: %s (without effect in this version: %s)", missing[i].words, names);
        sdsFree(names);
    }
}
