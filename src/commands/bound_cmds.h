/* bound_cmds.h -- handlers for rows of table/ that name none.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_BOUND_CMDS_H
#define COMMANDS_BOUND_CMDS_H

/* Give ACL, COMMANDLOG, LATENCY, MONITOR and SLOWLOG their handlers. Boot only, after commandsRegister(). */
void commandsBindEngine(void);

#endif
