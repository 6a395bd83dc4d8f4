/* server_commands.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SERVER_COMMANDS_H
#define SERVER_SERVER_COMMANDS_H

/* Boot only. */
void serverCommandsRegister(void);

#endif
