/* psync.h -- the commands that replicas send to a primary: PSYNC, SYNC, REPLCONF.
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

/* The gate function of GATE_REPLICA_CLIENT: closes a replica that sends a command that has a reply. Passes clients
 * that are not replicas on to `monitors`. */
gateResult replicaGate(client *c);
/* Call at startup. `monitors` is the gate function for clients that are not replicas. `getack` is called for REPLCONF
 * GETACK, with the client that has sent it. */
void psyncInit(gateFn *monitors, void (*getack)(client *c));

/* Refuses all replicas from now on, with that static error reply ("-CODE ..."); NULL: serves them again. They try again
 * after "-NOMASTERLINK ...". */
void psyncRefuseAll(const char *error);

/* Counters of INFO: full synchronizations, and partial ones that were accepted or refused. */
typedef struct psyncStats {
    long long full, partial_ok, partial_err;
} psyncStats;
extern psyncStats psync_stats;

#endif
