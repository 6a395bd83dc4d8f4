/* manager_check.c -- what is wrong with a cluster: disagreement, open slots, slots without an owner.
 *
 * Tests       tests/unit/tools/manager_view_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "manager_check.h"
#include "bits.h"

int managerSlotNext(const char *set, int slot) {
    return slot + 1 >= HASH_SLOTS ? -1 : (int)bitsFind(set, (uint64_t)(slot + 1), HASH_SLOTS, true);
}

static void managerCheckOwners(const managerNode *n, managerFaults *faults) {
    for (size_t i = 0; i < sizeof(faults->owned); i++) {
        faults->shared[i] = (char)(faults->shared[i] | (faults->owned[i] & n->slots[i]));
        faults->owned[i] = (char)(faults->owned[i] | n->slots[i]);
    }
}

void managerCheck(const managerView *v, managerFaults *faults) {
    *faults = (managerFaults){0};
    for (size_t i = 0; i < v->count; i++) {
        const managerNode *n = &v->nodes[i];
        if (n->opinion && v->nodes[0].opinion && sdsCmp(n->opinion, v->nodes[0].opinion) != 0) faults->disagree = true;
        if (managerIsPrimary(n)) managerCheckOwners(n, faults);
        for (size_t j = 0; j < n->open_count; j++)
            bitsSetField(faults->open, sizeof(faults->open), (uint64_t)n->open[j].slot, 1, 1);
    }
    faults->open_count = (int)bitsCount(faults->open, 0, HASH_SLOTS);
    faults->owned_count = (int)bitsCount(faults->owned, 0, HASH_SLOTS);
    faults->shared_count = (int)bitsCount(faults->shared, 0, HASH_SLOTS);
}

bool managerIsSound(const managerFaults *faults) {
    return !faults->disagree && faults->open_count == 0 && faults->owned_count == HASH_SLOTS;
}
