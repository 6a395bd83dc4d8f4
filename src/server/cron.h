/* cron.h -- what happens `hz` times a second, and around each wait of main's loop.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_CRON_H
#define SERVER_CRON_H

#include "ae.h"

/* Boot: put the timer and the hooks into the loop. */
void cronStart(aeEventLoop *loop);
/* What is done at intervals while a dataset is read: no timer runs then. */
void cronWhileLoading(void);

#endif
