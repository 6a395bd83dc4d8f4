/* command_defs.h -- registers the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_COMMAND_DEFS_H
#define COMMANDS_COMMAND_DEFS_H

/* Registers the rows of table/. Call at startup only. */
void commandsRegister(void);

#endif
