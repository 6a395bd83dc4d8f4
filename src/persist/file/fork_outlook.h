/* fork_outlook.h -- says what the next fork will cost, before it happens: in INFO, and in the log at a start.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef PERSIST_FORK_OUTLOOK_H
#define PERSIST_FORK_OUTLOOK_H

#include "fork_forecast.h"

/* Call at each tick: counts changes, and once a minute checks whether a child would find the memory that it needs. */
void forkOutlookTick(void);
/* Call after the dataset was loaded at a start: logs the forecast for a large dataset, or if the memory of the machine
 * may not suffice. */
void forkOutlookAtStart(void);
/* Call around the life of each child: it was forked in `fork_us`, with `rss` bytes resident; its work is completed, and
 * `copied` bytes were copied for it. */
void forkOutlookForked(size_t rss, uint64_t fork_us);
void forkOutlookCompleted(size_t copied);
forkForecast forkOutlookNow(void);

/* --- its parts, for tests --------------------------------------------------------------------------------- */
/* Logs the forecast for `rss` resident bytes if that is much, and a warning if it needs more than the `left` bytes that
 * are free. Returns whether it does. */
bool forkOutlookLog(size_t rss, size_t left);

#endif
