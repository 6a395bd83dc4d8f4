/* cron.h -- the work that is done `hz` times a second, and before and after each wait of main's loop.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_CRON_H
#define SERVER_CRON_H

#include "ae.h"

/* Adds the timers and hooks to the loop. Call at startup. */
void cronStart(aeEventLoop *loop);
/* Does the periodic work while a dataset is loaded, when no timer runs. */
void cronWhileLoading(void);

#endif
