/* slot_check.h -- cluster mode: the checks of commands, scripts and blocked clients by the table of slots.
 *
 * Without cluster mode GATE_CLUSTER is not enabled, and nothing here is called.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_SLOT_CHECK_H
#define ENGINE_SLOT_CHECK_H

#include "gates.h"
#include "slot_gate.h"

/* Makes this server a node of a cluster: databases and records have slots, and commands pass the gate. Call at startup,
 * after commandTableSeal(), while all databases are empty and before a key is hashed, if cluster mode is on. */
void slotsEnable(void);

/* Returns false after an error reply if cluster mode is off. */
bool slotsAreEnabled(client *c) must_check;

/* The check function of GATE_CLUSTER: replies with a redirection or an error unless the command is served here. A
 * refused EXEC ends its transaction. */
gateResult slotGate(client *c);
/* Returns the answer for a command of a script that `caller` runs; `self` is the client of scripts. */
slotVerdict slotCheckScript(const client *self, const client *caller);
/* Returns true if the command passes GATE_CLUSTER and no other gate is enabled for the client: nearly every command
 * of a client that knows the slots. Not for one with REQ_CROSS_SLOT. */
static inline bool slotGateIsPassed(const client *c, const parsedCommand *req) {
    return (gates_enabled | c->gates) == 1u << GATE_CLUSTER && slotIsServed(req->slot);
}

/* Ends the effect of ASKING unless it has just run, or a transaction is being queued. Call when a command has ended. */
void slotAskingEnd(client *c);

/* Applies a change of the table: a blocked client whose slot has left, or that the cluster does not serve any more, is
 * redirected; subscriptions to shard channels of slots that have left end. Call after the setters of slot_table.h, not
 * while a message is being delivered. Cost: a step for each client and each shard channel, if there are blocked clients
 * or such channels at all. */
void slotsChanged(void);

#endif
