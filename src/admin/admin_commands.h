/* admin_commands.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_ADMIN_COMMANDS_H
#define ADMIN_ADMIN_COMMANDS_H

/* Boot only. */
void adminCommandsRegister(void);

#endif
