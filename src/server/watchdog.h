/* watchdog.h -- logs the stacks of all threads on SIGALRM, or if main makes no progress for watchdog-period.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_WATCHDOG_H
#define SERVER_WATCHDOG_H

#include "platform.h"

/* Starts the watching thread. SIGALRM must be blocked in all threads. Call at startup. */
void watchdogStart(void);
/* Records a tick, of the server's loop or of a load in progress. Call on main. */
void watchdogTick(void);
/* Sets the time without a tick after which the stacks are logged; 0 means never. A period that is shorter than two
 * ticks of `hz` (at least 1) is raised to that. Returns the period that is set. May be called before watchdogStart().
 * Call on main. */
long long watchdogSetPeriod(long long period_ms, long long hz);

#endif
