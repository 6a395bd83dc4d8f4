/* wait_commands.h -- WAIT and WAITAOF: a client waits until its writes are safe.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_WAIT_COMMANDS_H
#define PERSIST_WAIT_COMMANDS_H

#include "client.h"

/* Boot, behind aofInit(). */
void waitCommandsInit(void);

void waitCommand(client *c);
void waitaofCommand(client *c);

#endif
