/* defrag.h -- active defragmentation: entries and values move to fuller slabs while the server runs.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef STORE_DEFRAG_H
#define STORE_DEFRAG_H

#include "db.h"

/* For cron: checks once a second whether memory is fragmented enough. Returns true if a timer must call defragRun()
 * from now on. */
bool defragTick(void);
/* While set, fragmentation below the thresholds counts as well, and the share is the highest: resident memory is above
 * its limit (rss_limit.h). No effect unless activedefrag is enabled. */
void defragUrge(bool on);
/* Works for one slice. Returns the milliseconds until the next call; 0: done, the timer ends. */
long long defragRun(void);
/* Returns the current share of a processor, in percent; 0 while it is idle. */
int defragPercent(void);
/* Return for how many milliseconds it has been working: in this run, 0 while it is idle; and in total. */
long long defragNowMs(void);
long long defragTotalMs(void);

#endif
