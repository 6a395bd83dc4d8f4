/* bound_cmds.c -- handlers that lie in the engine, brought together with their rows of table/.
 *
 * Tests       tests/unit/commands/acl_cmds_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "bound_cmds.h"

#include "acl_cmds.h"
#include "command_table.h"
#include "commandlog.h"
#include "latency.h"
#include "monitor.h"

static const struct {
    const char *name;
    commandHandler *handler;
} bound[] = {
    {"acl|cat", aclCatCommand},
    {"acl|genpass", aclGenpassCommand},
    {"acl|getuser", aclGetuserCommand},
    {"acl|help", aclHelpCommand},
    {"acl|list", aclListCommand},
    {"acl|users", aclUsersCommand},
    {"acl|whoami", aclWhoamiCommand},
    {"commandlog|get", commandlogGetCommand},
    {"commandlog|help", commandlogHelpCommand},
    {"commandlog|len", commandlogLenCommand},
    {"commandlog|reset", commandlogResetCommand},
    {"latency|doctor", latencyDoctorCommand},
    {"latency|graph", latencyGraphCommand},
    {"latency|help", latencyHelpCommand},
    {"latency|histogram", latencyHistogramCommand},
    {"latency|history", latencyHistoryCommand},
    {"latency|latest", latencyLatestCommand},
    {"latency|reset", latencyResetCommand},
    {"monitor", monitorCommand},
    {"slowlog|get", slowlogGetCommand},
    {"slowlog|help", slowlogHelpCommand},
    {"slowlog|len", slowlogLenCommand},
    {"slowlog|reset", slowlogResetCommand},
};

void commandsBindEngine(void) {
    for (size_t i = 0; i < array_len(bound); i++) commandBindHandler(bound[i].name, bound[i].handler);
}
