/* command_batch.h -- which parsed commands are executed next, in batches whose keys are fetched together.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_COMMAND_BATCH_H
#define NET_COMMAND_BATCH_H

#include "client_io.h"

/* The client has parsed commands more (takes the block). */
void batchAdd(client *c, requestBlock *b);
/* The client has (again) commands to execute: what has waited comes through the next. */
void batchClientReady(client *c);
/* The client has waited, for a key or the end of a pause, and may go on. */
void batchUnblocked(client *c);
/* The client is about to be freed. */
void batchForget(client *c);
/* Whether commands of the client may run now. */
bool batchMayExecute(const client *c);
/* Nothing but its own unread output keeps it: it goes on when that has gone, also when it will send no more. */
bool batchWaitsForOutput(const client *c);

/* Execute up to `max` commands of clients that have some; returns how many ran. Not while a batch is open. */
size_t batchExecute(size_t max);
/* A command of the open batch lets others in between: execute up to `max` commands of other clients, also of those that
 * have some in the batch. Returns how many ran. */
size_t batchServe(size_t max);
bool batchHasReady(void);
/* Commands that have come since none was left, and whether they make a batch. */
size_t batchWaiting(void);
bool batchIsFull(void);
/* A batch is under way: a handler is on the stack. */
bool batchIsOpen(void);
/* The last batchExecute() stopped before a command that only main's own thread may execute. */
bool batchIsForMainThread(void);
/* Count now what samples there are of commands that have run, in blocks of which others have not (hotKeysCountHere()).
 */
void batchCountSamples(void);
/* Assert what holds of the queue and of the blocks of all clients while no batch is open. */
void batchCheck(void);

#endif
