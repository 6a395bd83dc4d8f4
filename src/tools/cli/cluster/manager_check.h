/* manager_check.h -- what is wrong with a cluster: disagreement, open slots, slots without an owner.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef MANAGER_CHECK_H
#define MANAGER_CHECK_H

#include "manager_view.h"

/* Sets of slots have a bit per slot. */
typedef struct managerFaults {
    bool disagree;               /* two nodes have different opinions of who owns which slots */
    char open[HASH_SLOTS / 8];   /* open at one node at least */
    char owned[HASH_SLOTS / 8];  /* owned by one primary at least */
    char shared[HASH_SLOTS / 8]; /* owned by several primaries, as each says of itself */
    int open_count, owned_count, shared_count;
} managerFaults;

void managerCheck(const managerView *v, managerFaults *faults);
/* Returns true if nothing is wrong. */
bool managerIsSound(const managerFaults *faults);

/* Call managerSlotNext(set, -1) for the first slot of a set, and with that for the next one; -1 at the end. */
int managerSlotNext(const char *set, int slot);

#endif
