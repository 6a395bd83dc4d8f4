/* debug.h -- the DEBUG command: crashes, delays and inspection, for tests of servers and clients.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ADMIN_DEBUG_H
#define ADMIN_DEBUG_H

#include "gates.h"

void debugCommand(client *c);
/* The check of GATE_PROTECTED: whether enable-debug-command, or enable-module-command, allows the client to run the
 * command. */
gateResult protectedGate(client *c);
/* Returns whether DEBUG PAUSE-CRON is on: then cron only handles signals. */
bool debugCronPaused(void);

#endif
