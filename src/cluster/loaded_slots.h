/* loaded_slots.h -- keys of slots that this primary does not own, in the file that it has loaded.
 *
 * Call these at startup, when the dataset is loaded and before the bus runs.
 *
 * Runs on: main's own thread.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_LOADED_SLOTS_H
#define CLUSTER_LOADED_SLOTS_H

#include "machine.h"

/* Writes keys of slots that other nodes own to a file of their own, as they are deleted here. Returns false if that has
 * failed: the keys of the slots in `kept` must be kept. Does nothing on a replica. */
bool loadedSlotsPutAside(const clusterMachine *m, slotSet *kept) must_check;
/* Makes the set of slots without owner that have keys here. Returns false if there are none, or this is a replica. */
bool loadedSlotsUnassigned(const clusterMachine *m, slotSet *slots);

#endif
