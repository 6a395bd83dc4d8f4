/* wiring.c -- what the layers register with each other at boot, in one place.
 *
 * A lower layer knows nothing of those above it; here, at the top, tables and hooks are put into them.
 *
 * Threads     main, at boot.
 * Tests       every test that starts a server
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "wiring.h"

#include "admin_info.h"
#include "admin_settings.h"
#include "auth.h"
#include "client_eviction.h"
#include "client_info.h"
#include "client_settings.h"
#include "command_defs.h"
#include "commandlog.h"
#include "config.h"
#include "daemon.h"
#include "engine_info.h"
#include "engine_settings.h"
#include "info.h"
#include "info_table.h"
#include "latency.h"
#include "metrics.h"
#include "monitor.h"
#include "net_info.h"
#include "net_setting_table.h"
#include "net_settings.h"
#include "object_settings.h"
#include "pending_info.h"
#include "pending_settings.h"
#include "server_cmds.h"
#include "server_info.h"
#include "server_settings.h"
#include "shutdown.h"
#include "store_info.h"
#include "store_setting_table.h"

static const struct {
    const char *fullname;
    commandHandler *proc;
} handlers[] = {
    {"config|get", configGetCommand},
    {"config|set", configSetCommand},
    {"config|resetstat", configResetStatCommand},
    {"config|rewrite", configRewriteCommand},
    {"config|help", configHelpCommand},
    {"info", infoCommand},
    {"shutdown", shutdownCommand},
};

void wiringSettings(void) {
    netSettingsRegister();
    storeSettingsRegister();
    clientSettingsRegister();
    engineSettingsRegister();
    objectSettingsRegister();
    serverSettingsRegister();
    adminSettingsRegister();
    pendingSettingsRegister();
    settingTableInit();
}

void wiringInfo(void) {
    storeInfoRegister();
    clientInfoRegister();
    engineInfoRegister();
    netInfoRegister();
    adminInfoRegister();
    serverInfoRegister();
    pendingInfoRegister();
    infoTableSeal();
}

void wiringCommands(void) {
    commandsRegister();
    for (size_t i = 0; i < array_len(handlers); i++) commandBindHandler(handlers[i].fullname, handlers[i].proc);
    serverCmdsBind();
    /* They touch main's loop, the threads or the process. */
    static const char *const on_main_thread[] = {"config|set", "debug", "shutdown"};
    for (size_t i = 0; i < array_len(on_main_thread); i++) commandSetMainThread(on_main_thread[i]);
}

void wiringHooks(void) {
    commandTableSeal();
    authSetPassword(serverRequirepass);
    monitorInit();
    serverSettingsOnChange(daemonSetTitle, NULL);
    net_settings.cpulist = server_settings.server_cpulist;
}
