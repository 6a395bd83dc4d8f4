/* full_sync.h -- full synchronization: when a child writes the dataset, and which replicas get it.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_FULL_SYNC_H
#define REPL_FULL_SYNC_H

#include "replicas.h"

/* Call once, at startup. */
void fullSyncInit(void);
/* Puts a replica that requests the dataset in WAIT_START, or in WAIT_END if the present child writes a snapshot that it
 * can use, or a child is forked at once. */
void fullSyncRequest(replicaState *r);
/* Forks a child if one is due. Call at each tick. */
void fullSyncTick(void);
/* Removes a replica that is about to be freed; kills the child if no other replica waits for it. */
void fullSyncForget(replicaState *r);
/* Returns whether the present synchronization is diskless: the child writes to the connections of replicas. */
bool fullSyncIsDirect(void);
/* Drops the cursor of an RDB channel. Call when the replica's other connection has set its own at the same offset. */
void fullSyncCursorTaken(replicaState *r);
/* Makes a replica online whose connection has accepted the whole RDB. With `awaits_ack` the replication stream begins
 * only when the replica has acknowledged that the dataset is loaded. */
void fullSyncCompleted(replicaState *r, bool awaits_ack);
/* Call for each acknowledgment: begins the replication stream of a replica if it waits for that. */
void fullSyncAcked(replicaState *r);

#endif
