/* command_batch.h -- which parsed commands are executed next, in batches whose keys are prefetched together.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_COMMAND_BATCH_H
#define NET_COMMAND_BATCH_H

#include "client_io.h"

/* Appends parsed commands to the client's queue; takes ownership of the block. */
void batchAdd(client *c, requestBlock *b);
/* Puts a client that has commands and may run them (again) into the queue. No effect if it is there already. */
void batchClientReady(client *c);
/* Call when a client that was blocked or paused may continue. */
void batchUnblocked(client *c);
/* Call before the client is freed. */
void batchForget(client *c);
/* Returns whether commands of the client may run now. */
bool batchMayExecute(const client *c);
/* Returns whether only its unread output keeps the client from running: it continues when that is read, even if it has
 * ended its input. */
bool batchWaitsForOutput(const client *c);

/* Executes up to `max` commands of queued clients. Returns how many ran. Not while a batch is open. */
size_t batchExecute(size_t max);
/* Call while a command of the open batch yields: executes up to `max` commands of other clients, even of those that
 * have some in the batch. Returns how many ran. */
size_t batchServe(size_t max);
bool batchHasReady(void); /* clients are in the queue */
/* Return how many commands have arrived since the queue was last empty, and whether they fill a batch. */
size_t batchWaiting(void);
bool batchIsFull(void);
/* Returns whether a batch is in progress, so that a command handler is on the stack. */
bool batchIsOpen(void);
/* Returns whether the last batchExecute() stopped before a command that only main's own thread may execute. */
bool batchIsForMainThread(void);
/* Counts now the samples of commands that have run in blocks that are not finished (hotKeysCountHere()). */
void batchCountSamples(void);
/* Asserts the invariants of the queue and of the blocks of all clients, while no batch is open. */
void batchCheck(void);

#endif
