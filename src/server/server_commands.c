/* server_commands.c -- the commands whose handlers are in this layer: SHUTDOWN.
 *
 * Owns        the array, which is never freed.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "server_settings.h"

#include "command_rows.h"
#include "shutdown.h"

static serverCommand rows[] = {
#include "server_commands.def"
};

void serverCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    commandSetMainThread("shutdown"); /* it ends the threads */
}
