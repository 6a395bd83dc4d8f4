/* persist_commands.h -- the commands whose handlers are in this layer.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_PERSIST_COMMANDS_H
#define PERSIST_PERSIST_COMMANDS_H

/* Boot only. */
void persistCommandsRegister(void);

#endif
