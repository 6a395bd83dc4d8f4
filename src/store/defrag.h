/* defrag.h -- active defragmentation: entries and values move to fuller slabs while the server runs.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DEFRAG_H
#define STORE_DEFRAG_H

#include "db.h"

/* Cron: look whether memory is fragmented enough, once a second. True: a timer is to call defragRun() from now on. */
bool defragTick(void);
/* Work for a slice. Milliseconds after which to call again; 0: there is no more to do, the timer ends. */
long long defragRun(void);
/* Share of a processor that it takes now, in percent; 0 while it rests. */
int defragPercent(void);
/* Milliseconds that it has been at it: since it began, 0 while it rests; and in all. */
long long defragNowMs(void);
long long defragTotalMs(void);

#endif
