/* signals.h -- what SIGTERM, SIGINT and their like do to the server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

#include "platform.h"

/* Ignore SIGPIPE, SIGHUP, SIGXFSZ and SIGUSR2; SIGTERM and SIGINT ask for a shutdown, a second SIGINT ends the process
 * at once. Blocks SIGALRM, for watchdog.h. Boot, before there are threads. */
void signalsInstall(void);
/* The signal that asked for a shutdown and was not yet answered, 0 when there is none. Cron asks. */
int signalsShutdownAsked(void);
void signalsShutdownAnswered(void);

#endif
