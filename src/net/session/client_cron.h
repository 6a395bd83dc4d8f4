/* client_cron.h -- what is done for clients by the clock, a few at a time.
 *
 * Runs on: main's own thread, but for the counters.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_CLIENT_CRON_H
#define NET_CLIENT_CRON_H

#include "clock.h"

#define CLIENT_CRON_LOOKS 256 /* of one step */

/* From the server's tick: a share of all clients is to be looked at, so that each is within a second, or all of them if
 * they are no more than one step's. The first step is made at once, and what it leaves by a timer of main's loop. */
void clientCronTick(monotime now);
/* maxmemory-clients has changed: as if a tick with no time behind it. */
void clientCronNow(void);

typedef struct clientCronStats {
    uint64_t steps, looks;
    uint64_t looks_max; /* of one step; closing a client counts as several */
    uint64_t ns_max;    /* of the processor's time for one step */
} clientCronStats;
/* Since the start, but for the maxima, which CONFIG RESETSTAT sets back. Main. */
clientCronStats clientCronGetStats(void);
void clientCronResetStats(void);

/* A step, which may leave something: then it returns true, and another one is to be made soon. For the timer, and for
 * tests. */
bool clientCronStep(void);

#endif
