/* watchdog.h -- the stacks of all threads in the log, at SIGALRM or when main stands still for watchdog-period.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef SERVER_WATCHDOG_H
#define SERVER_WATCHDOG_H

#include "platform.h"

/* Start the thread that watches. SIGALRM must be blocked in all threads. Boot. */
void watchdogStart(void);
/* The tick has come, of the server's loop or of a loading that goes on. Main. */
void watchdogTurned(void);
/* Log the stacks when there was no tick for `period_ms`, raised to two ticks of `hz` (1 and up) if it is shorter; 0:
 * never. Returns the period that counts. May be called before watchdogStart(). Main. */
long long watchdogSetPeriod(long long period_ms, long long hz);

#endif
