/* open_slots.h -- open slots of a primary, in the RDB of a full synchronization.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef CLUSTER_OPEN_SLOTS_H
#define CLUSTER_OPEN_SLOTS_H

/* Call at startup. */
void openSlotsInit(void);

#endif
