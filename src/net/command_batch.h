/* command_batch.h -- which parsed commands are executed next, in batches whose keys are fetched together.
 *
 * Runs on: main.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef NET_COMMAND_BATCH_H
#define NET_COMMAND_BATCH_H

#include "io_threads.h"

/* A message of a holder has come (the `deliver` of ioThreadsInit). */
void batchDeliver(const ioMessage *m);
/* Execute up to `max` commands of clients that have some; returns how many ran. */
size_t batchExecute(size_t max);
bool batchHasReady(void);
/* Hand replies and used-up blocks to the streams. */
void batchFlushOutput(void);
/* Free the clients that are to be closed. */
void batchFreeClosing(void);
/* The client has (again) commands to execute: pauses and blocking end through this. */
void batchClientReady(client *c);

#endif
