/* repl_settings.c -- the settings of replication.
 *
 * Owns        repl_settings.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c, tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_settings.h"

#include "sds.h"
#include "setting.h"
#include "tls_settings.h"
#include "zmalloc.h"

#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#define PORT_MAX 65535

replSettings repl_settings;

static const settingName error_names[] = {{"ignore", ON_ERROR_IGNORE},
                                          {"panic", ON_ERROR_PANIC},
                                          {"panic-on-replicas", ON_ERROR_PANIC_ON_REPLICAS},
                                          {NULL, 0}};
static const settingName diskless_names[] = {{"disabled", DISKLESS_LOAD_OFF},
                                             {"on-empty-db", DISKLESS_LOAD_ON_EMPTY},
                                             {"swapdb", DISKLESS_LOAD_SWAPDB},
                                             {"flush-before-load", DISKLESS_LOAD_FLUSH},
                                             {NULL, 0}};

void replSettingsSetPrimary(const char *host, long long port) {
    char *before = repl_settings.primary_host;
    repl_settings.primary_host = host ? zstrdup(host) : NULL;
    repl_settings.primary_port = port;
    zfree(before);
}

/* Returns the port, 0 for "no one", or -1 and sets *err. */
static long long primaryPort(char **words, int count, const char **err) {
    char *end;
    *err = "wrong number of arguments";
    if (count != 2) return -1;
    if (!strcasecmp(words[0], "no") && !strcasecmp(words[1], "one")) return 0;
    /* As in Valkey, strtoll() decides: blanks before the number are skipped, and an empty word is 0. */
    long long port = strtoll(words[1], &end, 10);
    *err = "Invalid primary port";
    return *end || port < 0 || port > PORT_MAX ? -1 : port;
}

static const char *primaryHost(char **words) {
    return !strcasecmp(words[0], "no") && !strcasecmp(words[1], "one") ? NULL : words[0];
}

static bool setReplicaOf(const setting *s, char **words, int count, const char **err) {
    unused(s);
    long long port = primaryPort(words, count, err);
    if (port < 0) return false;
    replSettingsSetPrimary(primaryHost(words), port);
    return true;
}

static sds previewReplicaOf(const setting *s, char **words, int count, const char **err) {
    unused(s);
    long long port = primaryPort(words, count, err);
    if (port < 0) return NULL;
    const char *host = primaryHost(words);
    return host ? sdsCatPrintf(sdsEmpty(), "%s %lld", host, port) : sdsEmpty();
}

static sds getReplicaOf(const setting *s) {
    unused(s);
    if (!repl_settings.primary_host) return sdsEmpty();
    return sdsCatPrintf(sdsEmpty(), "%s %lld", repl_settings.primary_host, repl_settings.primary_port);
}

/* ---- Effects of CONFIG SET ------------------------------------------------------------------------ */

static bool applyTls(const char **err) { return !repl_settings.tls || tlsCheckSettings(err); }

/* ---- Table ------------------------------------------------------------------------------------------------ */

static const setting rows[] = {
    {.name = "replicaof",
     .type = SETTING_SPECIAL,
     .alias = "slaveof",
     .empty_is_null = true,
     .flags = SETTING_MULTI_ARG | SETTING_IMMUTABLE,
     .set = setReplicaOf,
     .get = getReplicaOf,
     .preview = previewReplicaOf,
     .unset_words = "no one"},
    BYTES_SETTING("primaryauth", repl_settings.primary_auth, NULL, .alias = "masterauth", .flags = SETTING_SENSITIVE,
                  .empty_is_null = true),
    STRING_SETTING("primaryuser", repl_settings.primary_user, NULL, .alias = "masteruser", .flags = SETTING_SENSITIVE,
                   .empty_is_null = true),
    BOOL_SETTING("replica-serve-stale-data", repl_settings.serve_stale_data, true, .alias = "slave-serve-stale-data"),
    BOOL_SETTING("replica-read-only", repl_settings.read_only, true, .alias = "slave-read-only"),
    BOOL_SETTING("replica-ignore-maxmemory", repl_settings.ignore_maxmemory, true, .alias = "slave-ignore-maxmemory"),
    INT_SETTING("replica-keep-from-empty", repl_settings.keep_from_empty_s, 60, 0, INT_MAX),
    BOOL_SETTING("import-mode", repl_settings.imports, false),
    BOOL_SETTING("replica-lazy-flush", repl_settings.lazy_flush, true, .alias = "slave-lazy-flush"),
    BOOL_SETTING("replica-ignore-disk-write-errors", repl_settings.ignore_disk_errors, false),
    INT_SETTING("replica-priority", repl_settings.priority, 100, 0, INT_MAX, .alias = "slave-priority"),
    BOOL_SETTING("replica-announced", repl_settings.announced, true),
    STRING_SETTING("replica-announce-ip", repl_settings.announce_ip, NULL, .alias = "slave-announce-ip",
                   .empty_is_null = true),
    INT_SETTING("replica-announce-port", repl_settings.announce_port, 0, 0, PORT_MAX, .alias = "slave-announce-port"),
    BOOL_SETTING("repl-diskless-sync", repl_settings.diskless_sync, true),
    INT_SETTING("repl-diskless-sync-delay", repl_settings.diskless_delay_s, 5, 0, INT_MAX),
    INT_SETTING("repl-diskless-sync-max-replicas", repl_settings.diskless_max_replicas, 0, 0, INT_MAX),
    ENUM_SETTING("repl-diskless-load", repl_settings.diskless_load, DISKLESS_LOAD_OFF, diskless_names,
                 .flags = SETTING_DENY_LOADING),
    BOOL_SETTING("dual-channel-replication-enabled", repl_settings.dual_channel, false),
    INT_SETTING("repl-ping-replica-period", repl_settings.ping_period_s, 10, 1, INT_MAX,
                .alias = "repl-ping-slave-period"),
    INT_SETTING("repl-timeout", repl_settings.timeout_s, 60, 1, INT_MAX),
    BOOL_SETTING("repl-disable-tcp-nodelay", repl_settings.no_tcp_nodelay, false),
    BOOL_SETTING("repl-slow-writers", repl_settings.slow_writers, true),
    BOOL_SETTING("repl-mptcp", repl_settings.mptcp, false, .flags = SETTING_IMMUTABLE),
    MEMORY_SETTING("repl-backlog-size", repl_settings.backlog_size, 10 << 20, 1),
    INT_SETTING("repl-backlog-ttl", repl_settings.backlog_ttl_s, 3600, 0, LLONG_MAX),
    INT_SETTING("min-replicas-to-write", repl_settings.min_replicas, 0, 0, INT_MAX, .alias = "min-slaves-to-write"),
    INT_SETTING("min-replicas-max-lag", repl_settings.min_replicas_max_lag_s, 10, 0, INT_MAX,
                .alias = "min-slaves-max-lag"),
    ENUM_SETTING("propagation-error-behavior", repl_settings.error_behavior, ON_ERROR_IGNORE, error_names),
    BOOL_SETTING("tls-replication", repl_settings.tls, false, .apply = applyTls),
    SETTINGS_END,
};

void replSettingsRegister(void) { settingRegister(rows); }
