/* engine_commands.c -- registers the commands whose handlers are in this layer: COMMANDLOG, HOTKEYS, LATENCY, MONITOR,
 * SLOWLOG, those of transactions and of publish/subscribe.
 *
 * Owns        the array of rows, which lives as long as the process.
 * Threads     main, at startup.
 * Tests       tests/type/command.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "engine.h"

#include "command_rows.h"
#include "commandlog.h"
#include "hot_keys.h"
#include "latency.h"
#include "monitor.h"

static serverCommand rows[] = {
#include "engine_commands.def"
};

void engineCommandsRegister(void) { commandTableRegister(rows, array_len(rows)); }
