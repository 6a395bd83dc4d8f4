/* transaction_queue.h -- a client in MULTI: what it has queued, what it watches, and what is asked of it meanwhile.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef ENGINE_TRANSACTION_QUEUE_H
#define ENGINE_TRANSACTION_QUEUE_H

#include "command_table.h"
#include "gates.h"
#include "watch.h"

typedef struct multiState {
    watchList watched;
    parsedCommand **queue; /* owns the array, and the records as the drawing says */
    size_t capacity;
    uint32_t count, detached;
    uint32_t cmd_flags; /* each is a flag of some queued command */
    uint32_t cmd_lacks; /* each is a flag that some queued command does not have */
    size_t bytes;       /* of its arguments */
    size_t memory;      /* of detached records */
    bool main_thread;   /* some of it works on main's own thread only */
} multiState;

/* Boot: behind the sealing of the command table. */
void transactionQueueInit(void);

/* Returns the client's state, made if there is none. */
multiState *transactionState(client *c);
/* Returns the same, or NULL if the client has run neither MULTI nor WATCH. */
multiState *transactionOf(const client *c);
/* MULTI; and the end of it, by whatever way: nothing is queued and nothing watched any more. */
void transactionBegin(client *c);
void transactionEnd(client *c);

/* GATE_TRANSACTION: what does not go into MULTI. GATE_QUEUE: what is queued. Armed for clients in MULTI. */
gateResult transactionGate(client *c);
gateResult queueGate(client *c);

/* A command of a client in MULTI has been refused: the transaction will not run, what was queued is dropped. */
void transactionRefused(client *c);
/* EXEC itself is refused, in MULTI or not, for what `error` says ("-OOM ..." or without a code): nothing of it runs.
 * Monitors are shown it, as the end of what they were shown the MULTI of. */
bool transactionIsExec(const client *c);
void transactionRefuseExec(client *c, const char *error);
/* Answer the running command with the error of a gate: transactionRefuseExec() if it is EXEC. */
void transactionRefuse(client *c, const char *error);
/* Whether the running command does not have this flag, or is EXEC and some queued command does not have it. */
bool transactionLacks(const client *c, uint32_t flag);
/* The running command's flags: those of EXEC and of all that is queued. */
uint32_t transactionFlags(const client *c);
static inline uint32_t commandFlagsNow(const client *c) {
    return unlikely(c->flags & CLIENT_MULTI) ? transactionFlags(c) : commandFlags(c->cmd, c->argv, c->argc);
}

/* Bytes of the requests that are queued. */
size_t transactionBytes(const client *c);

/* The block that queued records lie in goes back to its reader, or the client goes: what is queued is kept elsewhere,
 * or dropped. */
void transactionLeaveBlock(client *c);
void transactionDrop(client *c);

#endif
