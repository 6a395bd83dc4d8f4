/* repl_commands.c -- the commands whose handlers are in this layer: REPLICAOF, FAILOVER, PSYNC, SYNC, REPLCONF,
 * ROLE, WAIT, WAITAOF, MIGRATE.
 *
 * Owns        the array of commands, which is never freed.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "replication.h"

#include "command_rows.h"
#include "failover.h"
#include "migrate.h"
#include "psync.h"
#include "role_cmds.h"
#include "wait_commands.h"

static serverCommand rows[] = {
#include "repl_commands.def"
};

void replCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    commandSetMainThread("failover");
    commandSetMainThread("psync"); /* may fork */
    commandSetMainThread("sync");
    commandSetMainThread("replicaof"); /* starts threads */
    commandSetMainThread("slaveof");
}
