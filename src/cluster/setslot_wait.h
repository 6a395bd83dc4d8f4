/* setslot_wait.h -- SETSLOT at a primary: its replicas execute it first, so that an open slot survives a failover.
 *
 * Runs on: main; functions that step the machine, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_SETSLOT_WAIT_H
#define CLUSTER_SETSLOT_WAIT_H

#include "client.h"
#include "machine.h"

#define SETSLOT_TIMEOUT_MS 2000 /* without TIMEOUT */

/* Call at startup. */
void setslotInit(void);
/* Executes the running SETSLOT of a client, whose words are in `set`. If there are online replicas that understand it,
 * the client is blocked until they have acknowledged it, or `timeout_ms` have passed (0: no limit). A client that must
 * not block does not wait for replicas: they get the command after the primary has executed it. */
void setslotRun(client *c, clusterCommand *set, uint64_t timeout_ms);

#endif
