/* shutdown.h -- orderly shutdown, by command or signal, and the effect of other signals.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SHUTDOWN_H
#define SERVER_SHUTDOWN_H

#include "client.h"

/* Ignores SIGPIPE, SIGHUP, SIGXFSZ and SIGUSR2; makes SIGTERM and SIGINT request a shutdown, and a second SIGINT end
 * the process at once. Blocks SIGALRM, for the watchdog. Call at startup, before other threads are started. */
void shutdownInstallSignals(void);
/* Returns how long the pending shutdown still waits for replicas at most; -1 if none is pending. */
int64_t shutdownInMs(void);
/* Call from cron: handles signals, and continues a pending shutdown. */
void shutdownCron(void);
/* SHUTDOWN [[NOSAVE | SAVE] [NOW] [FORCE] [SAFE] [FAILOVER] | ABORT] */
void shutdownCommand(client *c);

#endif
