/* debug.h -- the DEBUG command: crash, stop, look inside. For tests of servers and clients.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_DEBUG_H
#define ADMIN_DEBUG_H

#include "gates.h"

void debugCommand(client *c);
/* The entry of GATE_PROTECTED: whether enable-debug-command, or enable-module-command, lets this client. */
gateResult protectedGate(client *c);
/* DEBUG PAUSE-CRON is on: cron only answers signals. */
bool debugCronPaused(void);

#endif
