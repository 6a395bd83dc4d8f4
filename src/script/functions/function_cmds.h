/* function_cmds.h -- FUNCTION LOAD, DELETE, FLUSH, LIST, STATS, DUMP, RESTORE, KILL; FCALL, FCALL_RO.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_FUNCTION_CMDS_H
#define SCRIPT_FUNCTION_CMDS_H

#include "command_table.h"

commandHandler functionLoadCommand, functionDeleteCommand, functionFlushCommand, functionListCommand,
    functionStatsCommand, functionDumpCommand, functionRestoreCommand, functionKillCommand;

commandHandler fcallCommand, fcallRoCommand;
/* Computes the command flags of both from the function that they call. */
commandFlagsFn fcallFlags;

#endif
