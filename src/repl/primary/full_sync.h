/* full_sync.h -- full synchronization: when a child writes the dataset for replicas, and for which of them.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_FULL_SYNC_H
#define REPL_FULL_SYNC_H

#include "replicas.h"

/* Boot only. `hide_user_data` returns whether names of keys stay out of the log. */
void fullSyncInit(bool (*hide_user_data)(void));
/* Puts a replica that asks for the dataset in WAIT_START, or in WAIT_END if a child writes what it needs or is forked
 * for it now. */
void fullSyncAsk(replicaState *r);
/* Forks a child if one is due. Call at each tick. */
void fullSyncTick(void);
/* Forgets a replica that is freed; kills the child if no other replica waits for it. */
void fullSyncForget(replicaState *r);
/* Returns whether the present child writes to the connections of replicas and not to disk. */
bool fullSyncIsDirect(void);
/* Gives up the offset that an RDB channel held for the replica's other connection, which has taken it over. */
void fullSyncCursorTaken(replicaState *r);
/* Makes a replica whose connection has taken all of the RDB online. With `awaits_ack` the stream begins only when the
 * replica has acknowledged that the dataset is loaded. */
void fullSyncArrived(replicaState *r, bool awaits_ack);
/* Begins the stream of a replica that has acknowledged the dataset, if it waits for that. */
void fullSyncAcked(replicaState *r);

#endif
