/* script_commands.h -- this layer's rows of the command table.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SCRIPT_SCRIPT_COMMANDS_H
#define SCRIPT_SCRIPT_COMMANDS_H

/* Boot only. */
void scriptCommandsRegister(void);
/* Boot, behind the sealing of the command table: interpreters and what they need. `product`: as in programInit(). */
void scriptInit(const char *(*product)(void));

#endif
