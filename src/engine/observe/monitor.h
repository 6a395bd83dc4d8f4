/* monitor.h -- MONITOR: clients that are shown each command as it runs.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MONITOR_H
#define ENGINE_MONITOR_H

#include "gates.h"

extern size_t monitor_count; /* clients that watch; 0 makes the feed one comparison */

/* Boot: monitors leave when they are freed or RESET. */
void monitorInit(void);
/* Show the command that `c` has just run: "+<unix time>.<us> [db addr] "cmd" "arg" ...". */
void monitorFeed(client *c);
void monitorCommand(client *c);

/* The entry of GATE_REPLICA_CLIENT, armed for each client that is sent the dataset or, as a monitor, the commands: it
 * does not ask for keys. */
gateResult replicaClientGate(client *c);

#endif
