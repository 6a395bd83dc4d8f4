/* failover.h -- a primary hands its role over to one of its replicas: FAILOVER.
 *
 *   NONE --> WAITS    writes are paused until a replica has all
 *              `----> RUNS    it is asked to be the primary; this server is its replica then
 *
 * Runs on: main; its own thread where the link changes.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_FAILOVER_H
#define REPL_FAILOVER_H

#include "client.h"

typedef enum { FAILOVER_NONE, FAILOVER_WAITS, FAILOVER_RUNS } failoverState;

/* Boot. */
void failoverInit(void);
failoverState failoverNow(void);
const char *failoverText(void); /* as INFO has it */
/* Each tick, and when a replica has acknowledged something: go on if it is time. Main's own thread. */
void failoverStep(void);

void failoverCommand(client *c);

#endif
