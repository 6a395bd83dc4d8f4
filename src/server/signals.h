/* signals.h -- the effect of SIGTERM, SIGINT and other signals on the server.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_SIGNALS_H
#define SERVER_SIGNALS_H

#include "platform.h"

/* Ignores SIGPIPE, SIGHUP, SIGXFSZ and SIGUSR2; makes SIGTERM and SIGINT request a shutdown, and a second SIGINT end
 * the process at once. Blocks SIGALRM, for watchdog.h. Call at startup, before other threads are started. */
void signalsInstall(void);
/* Returns the signal that requested a shutdown which was not answered yet; 0 if there is none. Cron checks it. */
int signalsShutdownAsked(void);
/* Forgets that signal. Call if the shutdown failed or was aborted. */
void signalsShutdownAnswered(void);

#endif
