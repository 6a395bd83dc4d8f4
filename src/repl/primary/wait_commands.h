/* wait_commands.h -- WAIT and WAITAOF: a client waits until its writes are safe.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_WAIT_COMMANDS_H
#define REPL_WAIT_COMMANDS_H

#include "client.h"

/* Call at startup, after aofInit() and replicasInit(). */
void waitCommandsInit(void);
/* Call when something else waits for replicas: REPLCONF GETACK is sent at the end of this loop iteration. */
void waitWantAcks(void);
/* Returns whether a client has begun to wait for replicas since the last waitAcksRequested(). */
bool waitWantsAcks(void);
/* Resets that. Call when REPLCONF GETACK is sent to all replicas. */
void waitAcksRequested(void);

void waitCommand(client *c);
void waitaofCommand(client *c);

#endif
