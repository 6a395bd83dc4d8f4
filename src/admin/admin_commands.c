/* admin_commands.c -- the commands whose handlers are in this layer: CONFIG, DEBUG, INFO, MEMORY and the like.
 *
 * Owns        the array, which is never freed.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "admin.h"

#include "command_rows.h"
#include "config.h"
#include "debug.h"
#include "info.h"

static serverCommand rows[] = {
#include "admin_commands.def"
};

void adminCommandsRegister(void) {
    commandTableRegister(rows, array_len(rows));
    /* These commands act on main's loop and on other threads. */
    commandSetMainThread("config|set");
    commandSetMainThread("debug");
}
