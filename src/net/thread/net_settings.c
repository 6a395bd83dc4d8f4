/* net_settings.c -- the settings of the net layer, the copies of them that other threads read, and the counters.
 *
 * Not here    the functions that apply most of them (net.c registers those).
 * Owns        net_settings, net_shared, net_stats.
 * Threads     main.
 * Tests       tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_settings.h"

#include "sds.h"
#include "setting.h"
#include "engine_settings.h"
#include "zmalloc.h"

#include <string.h>

netSettings net_settings;
netShared net_shared;
netStats net_stats;

void netShareSettings(void) {
    string_bytes_max = net_settings.proto_max_bulk_len;
    atomic_store_explicit(&net_shared.proto_max_bulk_len, net_settings.proto_max_bulk_len, memory_order_relaxed);
    atomic_store_explicit(&net_shared.client_query_buffer_limit, net_settings.client_query_buffer_limit,
                          memory_order_relaxed);
}

static bool applyShared(const char **err) {
    unused(err);
    netShareSettings();
    return true;
}

/* --- bind ---------------------------------------------------------------------------------------------- */

/* Up to 16 addresses, each "*", "::*", an IPv4 or IPv6 address or a name; '-' in front lets it be unavailable. */
static bool setBind(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count > BIND_MAX) {
        *err = "Too many bind addresses specified.";
        return false;
    }
    if (count == 1 && words[0][0] == '\0') count = 0; /* bind "": no TCP listener at all */
    char *before[BIND_MAX];
    int count_before = net_settings.bind_count;
    memcpy(before, net_settings.bind, sizeof(before));
    for (int i = 0; i < count; i++) net_settings.bind[i] = zstrdup(words[i]);
    net_settings.bind_count = count;
    for (int i = 0; i < count_before; i++) zfree(before[i]);
    return true;
}

static char *getBind(const setting *s) {
    unused(s);
    return sdsJoin(net_settings.bind, net_settings.bind_count, " ");
}

/* ---- Table ------------------------------------------------------------------------------------------------------- */

/* For tests: keep never moves the main role, move does so at every opportunity. */
static const settingName main_role_names[] = {
    {"auto", MAIN_ROLE_AUTO}, {"keep", MAIN_ROLE_KEEP}, {"move", MAIN_ROLE_MOVE}, {NULL, 0}};

static const setting rows[] = {
    {.name = "bind",
     .type = SETTING_SPECIAL,
     .flags = SETTING_MULTI_ARG,
     .default_text = "* -::*",
     .set = setBind,
     .get = getBind},
    INT_SETTING("port", net_settings.port, 6379, 0, 65535),
    INT_SETTING("tcp-backlog", net_settings.tcp_backlog, 511, 0, INT_MAX, .flags = SETTING_IMMUTABLE),
    STRING_SETTING("unixsocket", net_settings.unixsocket, NULL, .flags = SETTING_IMMUTABLE, .empty_is_null = true),
    STRING_SETTING("unixsocketgroup", net_settings.unixsocketgroup, NULL, .flags = SETTING_IMMUTABLE,
                   .empty_is_null = true),
    {.name = "unixsocketperm",
     .type = SETTING_OCTAL,
     .flags = SETTING_IMMUTABLE,
     .value = &net_settings.unixsocketperm,
     .min = 0,
     .max = 0777},
    STRING_SETTING("bind-source-addr", net_settings.bind_source_addr, NULL, .empty_is_null = true),
    BOOL_SETTING("mptcp", net_settings.mptcp, false, .flags = SETTING_IMMUTABLE),
    INT_SETTING("socket-mark-id", net_settings.socket_mark_id, 0, 0, UINT_MAX, .flags = SETTING_IMMUTABLE),
    BOOL_SETTING("protected-mode", net_settings.protected_mode, true),
    INT_SETTING("timeout", net_settings.timeout_s, 0, 0, INT_MAX),
    INT_SETTING("tcp-keepalive", net_settings.tcp_keepalive_s, 300, 0, INT_MAX),
    INT_SETTING("maxclients", net_settings.maxclients, 10000, 1, UINT_MAX),
    INT_SETTING("max-new-connections-per-cycle", net_settings.max_new_connections_per_cycle, 10, 1, 1000),
    {.name = "maxmemory-clients",
     .type = SETTING_PERCENT_OR_MEMORY,
     .value = &net_settings.maxmemory_clients,
     .min = -100,
     .max = LLONG_MAX},
    STRING_SETTING("server-cpulist", net_settings.cpulist, NULL, .alias = "server_cpulist", .flags = SETTING_IMMUTABLE,
                   .empty_is_null = true),
    INT_SETTING("io-threads", net_settings.io_threads, 1, 1, 256),
    BOOL_SETTING("io-threads-always-active", net_settings.io_threads_always_active, false, .flags = SETTING_HIDDEN),
    ENUM_SETTING("main-role", net_settings.main_role, MAIN_ROLE_AUTO, main_role_names, .flags = SETTING_HIDDEN),
    MEMORY_SETTING("proto-max-bulk-len", net_settings.proto_max_bulk_len, 512 << 20, 1024 * 1024, .apply = applyShared),
    MEMORY_SETTING("client-query-buffer-limit", net_settings.client_query_buffer_limit, 1 << 30, 1024 * 1024,
                   .apply = applyShared),
    SETTINGS_END,
};

void netSettingsRegister(void) { settingRegister(rows); }
