/* cluster_settings.c -- the settings of a cluster node: its file, its bus, what it announces, when it fails over.
 *
 * Names, limits and error texts are those of Valkey 9.1. It accepts an availability zone with a blank or a comma, and
 * does not start with the nodes.conf that it writes then. Without cluster mode there is no such file and a zone may
 * have any bytes.
 *
 * Not here    the settings that decide how clients are redirected.
 * Owns        cluster_settings.
 * Threads     main.
 * Tests       tests/unit/cluster/cluster_settings_test.c, tests/unit/server/setting_defaults_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "cluster_settings.h"

#include "cluster_types.h"
#include "sds.h"
#include "setting.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <limits.h>

#define PORT_MAX 65535
#define HOSTNAME_MAX 255

clusterSettings cluster_settings;

static void (*on_change)(void); /* NULL without cluster mode */

/* ---- Checks --------------------------------------------------------------------------------------- */

#define BAD_ADDRESS "cluster-announce-ip contains invalid character"
#define BAD_NAME "Announced human node name contained invalid character"
#define BAD_ZONE "availability-zone contains invalid character"

static bool settingRefuse(const char **err, const char *text) {
    *err = text;
    return false;
}

/* Returns whether the text has no character that separates fields in nodes.conf, and no control character. */
static bool hasNoSeparators(slice text) {
    for (size_t i = 0; i < text.len; i++) {
        unsigned char c = (unsigned char)text.ptr[i];
        if (c < 32 || c == 127 || strchr(" !\"#$%&'()*+,;<=>?@[\\]^{|}~", c)) return false;
    }
    return true;
}

static bool checkFile(const char *text, long long number, const char **err) {
    unused(number);
    return *text || settingRefuse(err, "cluster-config-file can't be empty");
}

static bool checkHumanName(const char *text, long long number, const char **err) {
    unused(number);
    return hasNoSeparators(sdsSlice((sds)text)) || settingRefuse(err, BAD_NAME);
}

static bool checkAddress(const char *text, long long number, const char **err) {
    slice all = sdsSlice((sds)text);
    unused(number);
    if (all.len >= NODE_IP_LEN) return settingRefuse(err, "cluster-announce-ip is too long");
    return hasNoSeparators(all) || settingRefuse(err, BAD_ADDRESS);
}

static bool checkIpv4(const char *text, long long number, const char **err) {
    struct in_addr addr;
    unused(number);
    return !*text || inet_pton(AF_INET, text, &addr) == 1 || settingRefuse(err, "Invalid IPv4 address");
}

static bool checkIpv6(const char *text, long long number, const char **err) {
    struct in6_addr addr;
    unused(number);
    return !*text || inet_pton(AF_INET6, text, &addr) == 1 || settingRefuse(err, "Invalid IPv6 address");
}

static bool checkHostname(const char *text, long long number, const char **err) {
    unused(number);
    if (strlen(text) > HOSTNAME_MAX) return settingRefuse(err, "Hostnames must be less than 256 characters");
    for (const unsigned char *p = (const unsigned char *)text; *p; p++)
        if (*p > 127 || !(isalnum(*p) || *p == '-' || *p == '.'))
            return settingRefuse(err, "Hostnames may only contain alphanumeric characters, hyphens or dots");
    return true;
}

/* ---- Changes -------------------------------------------------------------------------------------- */

static bool isPlain(const char *text) { return !text || nodeTextIsPlain(sliceStr(text)); }

/* Returns the reason why nodes.conf cannot hold the settings, or NULL. */
static const char *unfitForFile(void) {
    const clusterSettings *s = &cluster_settings;
    if (!isPlain(s->announce_ip)) return BAD_ADDRESS;
    if (!isPlain(s->human_name)) return BAD_NAME;
    return s->availability_zone && !nodeTextIsPlain(sdsSlice(s->availability_zone)) ? BAD_ZONE : NULL;
}

static bool applyChange(const char **err) {
    if (!on_change) return true;
    const char *reason = unfitForFile();
    if (reason) return settingRefuse(err, reason);
    on_change();
    return true;
}

bool clusterSettingsBegin(void (*changed)(void), const char **err) {
    const char *reason = unfitForFile();
    if (reason) return settingRefuse(err, reason);
    on_change = changed;
    return true;
}

/* ---- Table ---------------------------------------------------------------------------------------- */

static const settingName save_behavior_names[] = {{"sync", SAVE_OR_EXIT}, {"best-effort", SAVE_IF_POSSIBLE}, {NULL, 0}};

static const setting rows[] = {
    BOOL_SETTING("cluster-enabled", cluster_settings.enabled, false, .flags = SETTING_IMMUTABLE),
    INT_SETTING("cluster-announce-client-port", cluster_settings.announce_client_port, 0, 0, PORT_MAX,
                .apply = applyChange),
    INT_SETTING("cluster-announce-client-tls-port", cluster_settings.announce_client_tls_port, 0, 0, PORT_MAX,
                .apply = applyChange),
    STRING_SETTING("cluster-announce-client-ipv4", cluster_settings.announce_client_ipv4, NULL, .check = checkIpv4,
                   .apply = applyChange),
    STRING_SETTING("cluster-announce-client-ipv6", cluster_settings.announce_client_ipv6, NULL, .check = checkIpv6,
                   .apply = applyChange),
    STRING_SETTING("cluster-announce-hostname", cluster_settings.announce_hostname, NULL, .check = checkHostname,
                   .apply = applyChange),

    STRING_SETTING("cluster-config-file", cluster_settings.config_file, "nodes.conf", .flags = SETTING_IMMUTABLE,
                   .check = checkFile),
    ENUM_SETTING("cluster-config-save-behavior", cluster_settings.save_behavior, SAVE_OR_EXIT, save_behavior_names,
                 .apply = applyChange),
    INT_SETTING("cluster-databases", cluster_settings.databases, 1, 1, INT_MAX, .flags = SETTING_IMMUTABLE),
    BOOL_SETTING("cluster-slot-stats-enabled", cluster_settings.slot_stats, false, .apply = applyChange),

    INT_SETTING("cluster-port", cluster_settings.port, 0, 0, PORT_MAX, .flags = SETTING_IMMUTABLE),
    INT_SETTING("cluster-node-timeout", cluster_settings.node_timeout, 15000, 0, LLONG_MAX, .apply = applyChange),
    INT_SETTING("cluster-ping-interval", cluster_settings.ping_interval, 0, 0, LLONG_MAX, .flags = SETTING_HIDDEN,
                .apply = applyChange),
    INT_SETTING("cluster-message-gossip-perc", cluster_settings.gossip_percent, 10, 1, 100, .flags = SETTING_HIDDEN,
                .apply = applyChange),
    MEMORY_SETTING("cluster-link-sendbuf-limit", cluster_settings.link_buffer_limit, 0, 0, .apply = applyChange),
    INT_SETTING("cluster-blacklist-ttl", cluster_settings.blacklist_ttl, 60, LLONG_MIN, LLONG_MAX,
                .apply = applyChange),

    STRING_SETTING("cluster-announce-ip", cluster_settings.announce_ip, NULL, .empty_is_null = true,
                   .check = checkAddress, .apply = applyChange),
    STRING_SETTING("cluster-announce-human-nodename", cluster_settings.human_name, NULL, .check = checkHumanName,
                   .apply = applyChange),
    BYTES_SETTING("availability-zone", cluster_settings.availability_zone, NULL, .apply = applyChange),
    INT_SETTING("cluster-announce-port", cluster_settings.announce_port, 0, 0, PORT_MAX, .apply = applyChange),
    INT_SETTING("cluster-announce-tls-port", cluster_settings.announce_tls_port, 0, 0, PORT_MAX, .apply = applyChange),
    INT_SETTING("cluster-announce-bus-port", cluster_settings.announce_bus_port, 0, 0, PORT_MAX, .apply = applyChange),

    INT_SETTING("cluster-replica-validity-factor", cluster_settings.validity_factor, 10, 0, INT_MAX,
                .alias = "cluster-slave-validity-factor", .apply = applyChange),
    BOOL_SETTING("cluster-replica-no-failover", cluster_settings.no_failover, false,
                 .alias = "cluster-slave-no-failover", .apply = applyChange),
    INT_SETTING("cluster-manual-failover-timeout", cluster_settings.manual_failover_timeout, 5000, 1, INT_MAX,
                .apply = applyChange),
    INT_SETTING("cluster-migration-barrier", cluster_settings.migration_barrier, 1, 0, INT_MAX, .apply = applyChange),
    BOOL_SETTING("cluster-protect-data", cluster_settings.protect_data, true, .apply = applyChange),
    BOOL_SETTING("cluster-allow-replica-migration", cluster_settings.replica_migration, true, .apply = applyChange),
    BOOL_SETTING("cluster-require-full-coverage", cluster_settings.require_full_coverage, true, .apply = applyChange),

    INT_SETTING("cluster-slot-migration-log-max-len", cluster_settings.migration_log_max_len, 1000, 0, LLONG_MAX,
                .flags = SETTING_PENDING, .apply = applyChange),
    MEMORY_SETTING("slot-migration-max-failover-repl-bytes", cluster_settings.migration_max_repl_bytes, 0, -1,
                   .flags = SETTING_PENDING, .apply = applyChange),
    SETTINGS_END,
};

void clusterSettingsRegister(void) { settingRegister(rows); }
