/* server_cmds.c -- the handlers of this layer for the command table.
 *
 * Threads     main, at boot.
 * Tests       every test that starts a server
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_cmds.h"

#include "admin_settings.h"
#include "bound_cmds.h"
#include "command_table.h"
#include "connection_cmds.h"
#include "crash_sections.h"
#include "debug.h"
#include "info.h"
#include "lolwut.h"
#include "memory_cmds.h"
#include "role.h"
#include "version.h"

static const struct {
    const char *fullname;
    commandHandler *proc;
} handlers[] = {
    {"memory|doctor", memoryDoctorCommand},
    {"memory|help", memoryHelpCommand},
    {"memory|malloc-stats", memoryMallocStatsCommand},
    {"memory|purge", memoryPurgeCommand},
    {"memory|stats", memoryStatsCommand},
    {"memory|usage", memoryUsageCommand},
    {"debug", debugCommand},
    {"lastsave", lastsaveCommand},
    {"lolwut", lolwutCommand},
    {"role", roleCommand},
};

/* What HELLO says. */
static serverIdentity identityNow(void) {
    bool compatible = admin_settings.extended_redis_compatibility;
    return (serverIdentity){
        .name = compatible ? "redis" : "valkey",
        .version = compatible ? REDIS_COMPATIBLE_VERSION : VALKEY_VERSION,
        .mode = "standalone",
        .role = "master",
        .availability_zone = admin_settings.availability_zone,
    };
}

void serverCmdsBind(void) {
    for (size_t i = 0; i < array_len(handlers); i++) commandBindHandler(handlers[i].fullname, handlers[i].proc);
    commandsBindEngine();
    connectionSetIdentity(identityNow);
    infoInit();
    crashSectionsRegister();
}
