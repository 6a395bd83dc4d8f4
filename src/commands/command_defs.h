/* command_defs.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef COMMANDS_COMMAND_DEFS_H
#define COMMANDS_COMMAND_DEFS_H

/* Boot only. */
void commandsRegister(void);

#endif
