/* script_cmds.h -- SCRIPT LOAD, EXISTS, FLUSH, KILL, SHOW, HELP.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_CMDS_H
#define SCRIPT_SCRIPT_CMDS_H

#include "command_table.h"
#include "script_run.h"

commandHandler scriptLoadCommand, scriptExistsCommand, scriptFlushCommand, scriptKillCommand, scriptShowCommand;

/* Replies to SCRIPT KILL or FUNCTION KILL. */
void scriptReplyKilled(client *c, killResult result);

#endif
