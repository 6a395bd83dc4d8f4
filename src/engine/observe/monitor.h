/* monitor.h -- MONITOR: clients that get a line for each command that runs.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_MONITOR_H
#define ENGINE_MONITOR_H

#include "gates.h"

extern size_t monitor_count; /* number of monitors; call() compares it with 0 before it calls monitorFeed() */

/* Call at startup: a client stops being a monitor when it is freed or reset (RESET). */
void monitorInit(void);
/* Sends all monitors the command that `c` has just run: "+<unix time>.<us> [db addr] "cmd" "arg" ...". */
void monitorFeed(client *c);
void monitorCommand(client *c);

/* The check function of GATE_REPLICA_CLIENT, which is enabled for replicas and monitors: refuses commands that access
 * keys or are replicated. */
gateResult replicaClientGate(client *c);

#endif
