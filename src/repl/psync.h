/* psync.h -- what others ask of a primary: PSYNC, SYNC, REPLCONF.
 *
 * Runs on: main; PSYNC and SYNC, which may fork, main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_PSYNC_H
#define REPL_PSYNC_H

#include "gates.h"

void psyncCommand(client *c);
void syncCommand(client *c);
void replconfCommand(client *c);

/* The entry of GATE_REPLICA_CLIENT: what a replica may say while it is sent the stream; others go to `monitors`. */
gateResult replicaGate(client *c);
/* Boot. `monitors`: the gate of clients that are no replicas. `ask` is REPLCONF GETACK: whoever has sent it wants to
 * know how far this server is. */
void psyncInit(gateFn *monitors, void (*ask)(client *c));

typedef struct psyncStats {
    long long full, partial_ok, partial_err;
} psyncStats;
extern psyncStats psync_stats;

#endif
