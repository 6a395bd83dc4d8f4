/* failover.h -- FAILOVER: a primary and one of its replicas exchange their roles.
 *
 *   NONE --> WAITS    writes are paused until a replica has acknowledged the whole replication stream
 *              `----> RUNS    this server is a replica of that one, and has asked it to become the primary
 *
 * Runs on: main; the command and failoverStep(), main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_FAILOVER_H
#define REPL_FAILOVER_H

#include "client.h"

typedef enum { FAILOVER_NONE, FAILOVER_WAITS, FAILOVER_RUNS } failoverState;

/* Call at startup. */
void failoverInit(void);
failoverState failoverNow(void);
/* Returns the state as INFO shows it. */
const char *failoverText(void);
/* Moves on from WAITS if a replica has the whole stream or the timeout has passed. Call at each tick. */
void failoverStep(void);

void failoverCommand(client *c);

#endif
