/* net_setting_table.c -- the settings of the net layer: names, ranges and effects.
 *
 * Owns        nothing: the values lie in net_settings.c.
 * Threads     main.
 * Tests       tests/server/config.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "net_setting_table.h"

#include "client_cron.h"
#include "listen.h"
#include "net.h"
#include "net_settings.h"
#include "sds.h"
#include "setting.h"
#include "zmalloc.h"

#include <limits.h>
#include <string.h>

static bool applyShared(const char **err) {
    unused(err);
    netShareSettings();
    return true;
}

static bool applyEviction(const char **err) {
    unused(err);
    clientCronNow();
    return true;
}

/* --- bind ---------------------------------------------------------------------------------------------- */

/* Up to 16 addresses, each "*", "::*", an IPv4 or IPv6 address or a name, '-' before it if it may be missing. */

static void freeAddresses(char **addresses, int count) {
    for (int i = 0; i < count; i++) zfree(addresses[i]);
}

static bool setBind(const setting *s, char **words, int count, const char **err) {
    unused(s);
    if (count > BIND_MAX) {
        *err = "Too many bind addresses specified.";
        return false;
    }
    if (count == 1 && words[0][0] == '\0') count = 0; /* bind "": no TCP at all */
    char *before[BIND_MAX];
    int count_before = net_settings.bind_count;
    memcpy(before, net_settings.bind, sizeof(before));
    for (int i = 0; i < count; i++) net_settings.bind[i] = zstrdup(words[i]);
    net_settings.bind_count = count;
    freeAddresses(before, count_before);
    return true;
}

static char *getBind(const setting *s) {
    unused(s);
    return sdsJoin(net_settings.bind, net_settings.bind_count, " ");
}

static bool applyBind(const char **err) {
    const char *why = NULL;
    if (listenReopen(&why)) return true;
    *err = "Failed to bind to specified addresses.";
    return false;
}

#define SHARED(name_, field, least, most, text)                                                                  \
    {                                                                                                            \
        .name = name_, .type = SETTING_MEMORY, .value = &net_settings.field, .default_text = text, .min = least, \
        .max = most, .apply = applyShared                                                                        \
    }

/* For tests: the role of main never moves, or at every chance. */
static const settingName main_role_names[] = {
    {"auto", MAIN_ROLE_AUTO}, {"keep", MAIN_ROLE_KEEP}, {"move", MAIN_ROLE_MOVE}, {NULL, 0}};

static const setting rows[] = {
    {.name = "bind",
     .flags = SETTING_MULTI_ARG,
     .type = SETTING_SPECIAL,
     .default_text = "* -::*",
     .set = setBind,
     .get = getBind,
     .apply = applyBind},
    {.name = "port",
     .type = SETTING_INT,
     .value = &net_settings.port,
     .default_text = "6379",
     .min = 0,
     .max = 65535,
     .apply = listenReopen},
    {.name = "tcp-backlog",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_INT,
     .value = &net_settings.tcp_backlog,
     .default_text = "511",
     .min = 0,
     .max = INT_MAX},
    {.name = "unixsocket",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_STRING,
     .value = &net_settings.unixsocket,
     .empty_is_null = true},
    {.name = "unixsocketgroup",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_STRING,
     .value = &net_settings.unixsocketgroup,
     .empty_is_null = true},
    {.name = "unixsocketperm",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_OCTAL,
     .value = &net_settings.unixsocketperm,
     .default_text = "0",
     .min = 0,
     .max = 0777},
    {.name = "bind-source-addr",
     .type = SETTING_STRING,
     .value = &net_settings.bind_source_addr,
     .empty_is_null = true},
    {.name = "mptcp",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_BOOL,
     .value = &net_settings.mptcp,
     .default_text = "no"},
    {.name = "socket-mark-id",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_INT,
     .value = &net_settings.socket_mark_id,
     .default_text = "0",
     .min = 0,
     .max = UINT_MAX},
    {.name = "protected-mode", .type = SETTING_BOOL, .value = &net_settings.protected_mode, .default_text = "yes"},
    {.name = "timeout",
     .type = SETTING_INT,
     .value = &net_settings.timeout_s,
     .default_text = "0",
     .min = 0,
     .max = INT_MAX},
    {.name = "tcp-keepalive",
     .type = SETTING_INT,
     .value = &net_settings.tcp_keepalive_s,
     .default_text = "300",
     .min = 0,
     .max = INT_MAX},
    {.name = "maxclients",
     .type = SETTING_INT,
     .value = &net_settings.maxclients,
     .default_text = "10000",
     .min = 1,
     .max = UINT_MAX,
     .apply = netApplyMaxClients},
    {.name = "max-new-connections-per-cycle",
     .type = SETTING_INT,
     .value = &net_settings.max_new_connections_per_cycle,
     .default_text = "10",
     .min = 1,
     .max = 1000},
    {.name = "maxmemory-clients",
     .type = SETTING_PERCENT_OR_MEMORY,
     .value = &net_settings.maxmemory_clients,
     .default_text = "0",
     .min = -100,
     .max = LLONG_MAX,
     .apply = applyEviction},
    {.name = "server-cpulist",
     .alias = "server_cpulist",
     .flags = SETTING_IMMUTABLE,
     .type = SETTING_STRING,
     .value = &net_settings.cpulist,
     .empty_is_null = true},
    {.name = "io-threads",
     .type = SETTING_INT,
     .value = &net_settings.io_threads,
     .default_text = "1",
     .min = 1,
     .max = 256,
     .apply = netApplyThreads},
    {.name = "io-threads-always-active",
     .flags = SETTING_HIDDEN,
     .type = SETTING_BOOL,
     .value = &net_settings.io_threads_always_active,
     .default_text = "no",
     .apply = netApplyThreads},
    {.name = "main-role",
     .flags = SETTING_HIDDEN,
     .type = SETTING_ENUM,
     .value = &net_settings.main_role,
     .default_text = "auto",
     .names = main_role_names},
    SHARED("proto-max-bulk-len", proto_max_bulk_len, 1024 * 1024, LLONG_MAX, "536870912"),
    SHARED("client-query-buffer-limit", client_query_buffer_limit, 1024 * 1024, LLONG_MAX, "1073741824"),
    SETTINGS_END,
};

void netSettingsRegister(void) {
    settingRegister(rows);
}
