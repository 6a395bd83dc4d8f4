/* full_sync.h -- when a child writes the dataset for replicas, and for which.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_FULL_SYNC_H
#define REPL_FULL_SYNC_H

#include "replicas.h"

/* Boot. `hide_user_data`: whether names of keys stay out of the log. */
void fullSyncInit(bool (*hide_user_data)(void));
/* A replica asks for the dataset: it waits for a child, joins one under way, or a child starts now. */
void fullSyncAsk(replicaState *r);
/* Each tick: start what is due. */
void fullSyncTick(void);
/* A replica that has not got all has gone. */
void fullSyncForget(replicaState *r);
/* Whether the child under way writes to replicas, and not to disk. */
bool fullSyncIsDirect(void);
/* Its other connection has taken over the place that it had for it. */
void fullSyncCursorTaken(replicaState *r);
/* It has the dataset, as far as its connection has taken it; with `awaits_ack` it says itself when it has loaded it. */
void fullSyncArrived(replicaState *r, bool awaits_ack);
/* It has acknowledged the dataset: the stream may begin. */
void fullSyncAcked(replicaState *r);

#endif
