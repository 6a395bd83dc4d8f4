/* repl_settings.c -- the settings of replication.
 *
 * Owns        repl_settings.
 * Threads     main.
 * Tests       tests/unit/admin/setting_test.c, tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "repl_settings.h"

#include "numbers.h"
#include "output_limits.h"
#include "sds.h"
#include "setting.h"
#include "tls_settings.h"
#include "zmalloc.h"

#include <limits.h>
#include <stdlib.h>
#include <strings.h>

#define PORT_MAX 65535

replSettings repl_settings;
static replSettingHooks setting_hooks; /* const after boot */

static const settingName error_names[] = {{"ignore", ON_ERROR_IGNORE},
                                          {"panic", ON_ERROR_PANIC},
                                          {"panic-on-replicas", ON_ERROR_PANIC_ON_REPLICAS},
                                          {NULL, 0}};
static const settingName diskless_names[] = {{"disabled", DISKLESS_LOAD_OFF},
                                             {"on-empty-db", DISKLESS_LOAD_ON_EMPTY},
                                             {"swapdb", DISKLESS_LOAD_SWAPDB},
                                             {"flush-before-load", DISKLESS_LOAD_FLUSH},
                                             {NULL, 0}};

void replSettingsSetHooks(const replSettingHooks *hooks) {
    setting_hooks = *hooks;
}

void replSettingsSetPrimary(const char *host, long long port) {
    char *before = repl_settings.primary_host;
    repl_settings.primary_host = host ? zstrdup(host) : NULL;
    repl_settings.primary_port = port;
    zfree(before);
}

/* -1 with *err; "no one" is port 0 without a host. */
static long long primaryPort(char **words, int count, const char **err) {
    char *end;
    *err = "wrong number of arguments";
    if (count != 2) return -1;
    if (!strcasecmp(words[0], "no") && !strcasecmp(words[1], "one")) return 0;
    /* As the C library reads it: blanks before the number are skipped, and nothing at all is 0. */
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

static sds foretellReplicaOf(const setting *s, char **words, int count, const char **err) {
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

/* ---- What CONFIG SET brings about ------------------------------------------------------------------------ */

static bool applyBacklogSize(const char **err) {
    unused(err);
    if (repl_settings.backlog_size < REPL_BACKLOG_MIN) repl_settings.backlog_size = REPL_BACKLOG_MIN;
    if (setting_hooks.backlog_size) setting_hooks.backlog_size();
    return true;
}

static bool applyFollowing(const char **err) {
    unused(err);
    if (setting_hooks.following) setting_hooks.following();
    return true;
}

static bool applyMinReplicas(const char **err) {
    unused(err);
    if (setting_hooks.min_replicas) setting_hooks.min_replicas();
    return true;
}

static bool applyTls(const char **err) {
    return !repl_settings.tls || tlsCheckSettings(err);
}

/* ---- Table ------------------------------------------------------------------------------------------------ */

#define FIXED SETTING_IMMUTABLE
#define VALUE(name_, type_, field, default_, flags_) \
    .name = name_, .type = type_, .value = &repl_settings.field, .default_text = default_, .flags = flags_
#define BOOL(name_, field, default_, flags_, ...) \
    { VALUE(name_, SETTING_BOOL, field, default_, flags_), __VA_ARGS__ }
#define INT(name_, field, default_, min_, max_, ...) \
    { VALUE(name_, SETTING_INT, field, default_, 0), .min = min_, .max = max_, __VA_ARGS__ }
#define ENUM(name_, field, default_, names_, flags_) \
    { VALUE(name_, SETTING_ENUM, field, default_, flags_), .names = names_ }
#define NO_ALIAS .alias = NULL

static const setting rows[] = {
    {.name = "replicaof",
     .alias = "slaveof",
     .type = SETTING_SPECIAL,
     .empty_is_null = true,
     .flags = SETTING_MULTI_ARG | FIXED,
     .set = setReplicaOf,
     .get = getReplicaOf,
     .foretell = foretellReplicaOf,
     .unset_words = "no one"},
    {VALUE("primaryauth", SETTING_BYTES, primary_auth, NULL, SETTING_SENSITIVE), .alias = "masterauth",
     .empty_is_null = true},
    {VALUE("primaryuser", SETTING_STRING, primary_user, NULL, SETTING_SENSITIVE), .alias = "masteruser",
     .empty_is_null = true},
    BOOL("replica-serve-stale-data", serve_stale_data, "yes", 0, .alias = "slave-serve-stale-data",
         .apply = applyFollowing),
    BOOL("replica-read-only", read_only, "yes", 0, .alias = "slave-read-only", .apply = applyFollowing),
    BOOL("replica-ignore-maxmemory", ignore_maxmemory, "yes", 0, .alias = "slave-ignore-maxmemory",
         .apply = applyFollowing),
    BOOL("import-mode", imports, "no", 0, .apply = applyFollowing),
    BOOL("replica-lazy-flush", lazy_flush, "yes", 0, .alias = "slave-lazy-flush"),
    BOOL("replica-ignore-disk-write-errors", ignore_disk_errors, "no", 0, NO_ALIAS),
    INT("replica-priority", priority, "100", 0, INT_MAX, .alias = "slave-priority"),
    BOOL("replica-announced", announced, "yes", 0, NO_ALIAS),
    {VALUE("replica-announce-ip", SETTING_STRING, announce_ip, NULL, 0), .alias = "slave-announce-ip",
     .empty_is_null = true},
    INT("replica-announce-port", announce_port, "0", 0, PORT_MAX, .alias = "slave-announce-port"),
    BOOL("repl-diskless-sync", diskless_sync, "yes", 0, NO_ALIAS),
    INT("repl-diskless-sync-delay", diskless_delay_s, "5", 0, INT_MAX, NO_ALIAS),
    INT("repl-diskless-sync-max-replicas", diskless_max_replicas, "0", 0, INT_MAX, NO_ALIAS),
    ENUM("repl-diskless-load", diskless_load, "disabled", diskless_names, SETTING_DENY_LOADING),
    BOOL("dual-channel-replication-enabled", dual_channel, "no", 0, NO_ALIAS),
    INT("repl-ping-replica-period", ping_period_s, "10", 1, INT_MAX, .alias = "repl-ping-slave-period"),
    INT("repl-timeout", timeout_s, "60", 1, INT_MAX, NO_ALIAS),
    BOOL("repl-disable-tcp-nodelay", no_tcp_nodelay, "no", 0, NO_ALIAS),
    BOOL("repl-slow-writers", slow_writers, "no", 0, NO_ALIAS),
    BOOL("repl-mptcp", mptcp, "no", FIXED, NO_ALIAS),
    {VALUE("repl-backlog-size", SETTING_MEMORY, backlog_size, "10mb", 0), .min = 1, .max = LLONG_MAX,
     .apply = applyBacklogSize},
    INT("repl-backlog-ttl", backlog_ttl_s, "3600", 0, LLONG_MAX, NO_ALIAS),
    INT("min-replicas-to-write", min_replicas, "0", 0, INT_MAX, .alias = "min-slaves-to-write",
        .apply = applyMinReplicas),
    INT("min-replicas-max-lag", min_replicas_max_lag_s, "10", 0, INT_MAX, .alias = "min-slaves-max-lag",
        .apply = applyMinReplicas),
    ENUM("propagation-error-behavior", error_behavior, "ignore", error_names, 0),
    BOOL("tls-replication", tls, "no", 0, .apply = applyTls),
    SETTINGS_END,
};

void replSettingsRegister(void) {
    settingRegister(rows);
}
