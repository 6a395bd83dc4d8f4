/* repl_commands.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_REPL_COMMANDS_H
#define REPL_REPL_COMMANDS_H

/* Boot. */
void replCommandsRegister(void);

#endif
