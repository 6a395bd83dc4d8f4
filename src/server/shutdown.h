/* shutdown.h -- the orderly end of the process.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SHUTDOWN_H
#define SERVER_SHUTDOWN_H

#include "client.h"

/* Flags as of server_settings.h (STOP_). Does not return when the shutdown succeeds; false when it may not be done
 * now. */
bool serverShutdown(int flags);
/* From cron: answer a signal. */
void shutdownCron(void);
/* SHUTDOWN [[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] | ABORT] */
void shutdownCommand(client *c);

#endif
