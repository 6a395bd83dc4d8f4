/* wait_commands.h -- WAIT and WAITAOF: a client waits until its writes are safe.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_WAIT_COMMANDS_H
#define REPL_WAIT_COMMANDS_H

#include "client.h"

/* Boot, behind aofInit() and replicasInit(). */
void waitCommandsInit(void);
/* Whether somebody has begun to wait for replicas since they were last asked how far they are; and that they were. */
bool waitWantsAcks(void);
void waitAcksAsked(void);

void waitCommand(client *c);
void waitaofCommand(client *c);

#endif
