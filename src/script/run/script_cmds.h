/* script_cmds.h -- EVAL and its variants, SCRIPT LOAD, EXISTS, FLUSH, KILL, SHOW.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_CMDS_H
#define SCRIPT_SCRIPT_CMDS_H

#include "command_table.h"
#include "script_run.h"

commandHandler evalCommand, evalRoCommand, evalshaCommand, evalshaRoCommand; /* eval.c */
/* Compute the command flags of EVAL and EVALSHA from the script that they run. */
commandFlagsFn evalFlags, evalshaFlags;

commandHandler scriptLoadCommand, scriptExistsCommand, scriptFlushCommand, scriptKillCommand, scriptShowCommand;

/* Replies to SCRIPT KILL or FUNCTION KILL. */
void scriptReplyKilled(client *c, killResult result);

#endif
