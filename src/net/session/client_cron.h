/* client_cron.h -- periodic work for clients, a few at a time.
 *
 * Runs on: main's own thread, except the counters.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_CRON_H
#define NET_CLIENT_CRON_H

#include "clock.h"

#define CLIENT_CRON_CHECKS 256 /* checks in one step */

/* Call from the server's tick: makes a share of all clients due for a check, so that each is checked within a second;
 * all of them if one step can check them. Runs the first step at once, and the others from a timer of main's loop. */
void clientCronTick(monotime now);
/* Call when maxmemory-clients has changed: like a tick, without waiting for the next one. */
void clientCronNow(void);

typedef struct clientCronStats {
    uint64_t steps, checks;
    uint64_t checks_max; /* most in one step; closing a client counts as several */
    uint64_t ns_max;     /* most processor time for one step */
} clientCronStats;
/* Returns the counters since startup. Runs on main. */
clientCronStats clientCronGetStats(void);
/* Resets the maxima (CONFIG RESETSTAT). Runs on main. */
void clientCronResetStats(void);

/* Runs one step, for the timer and for tests. Returns true if clients are left: call again soon. */
bool clientCronStep(void);

#endif
