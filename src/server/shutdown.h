/* shutdown.h -- the orderly end of the process.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SHUTDOWN_H
#define SERVER_SHUTDOWN_H

#include "client.h"

/* How long replicas are waited for at most before the server ends; -1: they are not. */
int64_t shutdownInMs(void);
/* From cron: answer a signal. */
void shutdownCron(void);
/* SHUTDOWN [[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] | ABORT] */
void shutdownCommand(client *c);

#endif
