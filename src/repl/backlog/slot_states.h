/* slot_states.h -- the open slots of a cluster's primary, in the RDB of a full synchronization.
 *
 * The text is an AUX field of the RDB: "<slot><node id>," with "<" for an import and ">" for a migration between the
 * two, for each open slot. Only the layer of the cluster knows what it means.
 *
 * Runs on: main's own thread; slotStatesRecorded() also in a child that was forked for replicas.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef REPL_SLOT_STATES_H
#define REPL_SLOT_STATES_H

#include "sds.h"

/* Sets the functions of the cluster: `make` returns the text, which the caller frees, of this primary's open slots;
 * `take` gets the text of the primary whose dataset this replica has loaded, which is empty if it has none. Startup
 * only. */
void slotStatesInit(sds (*make)(void), void (*take)(slice text));
/* Call before a child is forked that writes the dataset for replicas, since it must not lock the cluster's machine, and
 * slotStatesForget() in this process afterwards. */
void slotStatesRecord(void);
void slotStatesForget(void);
/* Returns what was recorded; empty if nothing was. */
slice slotStatesRecorded(void);
/* Call when a replica has loaded the dataset of its primary. */
void slotStatesLoaded(slice text);

#endif
