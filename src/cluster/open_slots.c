/* open_slots.c -- open slots of a primary, in the RDB of a full synchronization.
 *
 * A replica that loads the dataset of its primary takes over the whole set. So a slot that is open only here, because
 * the primary has closed it or has not opened it, is closed.
 *
 * Not here    when the text is made and read (repl/backlog/slot_states.h).
 * Threads     main's own.
 * Tests       tests/cluster/setslot.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "open_slots.h"

#include "cluster.h"
#include "log.h"
#include "panic.h"
#include "slot_states.h"
#include "zmalloc.h"

/* Returns "5>ID,7<ID,": a migration of slot 5 and an import of slot 7. NULL without open slots. */
static sds openSlotsText(void) {
    sds text = NULL;
    if (!clusterIsEnabled()) return NULL;
    const clusterMachine *m = clusterLock();
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *to = clusterMigratingTo(m, slot), *from = clusterImportingFrom(m, slot);
        if (!to && !from) continue;
        if (!text) text = sdsEmpty();
        text = sdsCatPrintf(text, "%u%c%.40s,", slot, to ? '>' : '<', (to ? to : from)->id.text);
    }
    clusterUnlock();
    return text;
}

/* Reads an item at *at, and moves *at after it. Returns false if it is malformed. */
static bool readItem(const char **at, const char *end, openSlot *open) {
    const char *p = *at;
    unsigned slot = 0;
    while (p < end && *p >= '0' && *p <= '9' && slot < CLUSTER_SLOTS) slot = slot * 10 + (unsigned)(*p++ - '0');
    if (p == *at || slot >= CLUSTER_SLOTS || (size_t)(end - p) < NODE_ID_LEN + 2) return false;
    if ((*p != '<' && *p != '>') || p[1 + NODE_ID_LEN] != ',') return false;
    *open = (openSlot){.slot = slot, .importing = *p == '<'};
    memcpy(open->other.text, p + 1, NODE_ID_LEN);
    *at = p + NODE_ID_LEN + 2;
    return true;
}

static void takeOpenSlots(slice text) {
    const char *at = text.ptr, *end = text.ptr + text.len;
    openSlot *list = NULL;
    size_t count = 0, capacity = 0;
    bool is_valid = true;
    if (!clusterIsEnabled()) return;
    while (is_valid && at < end && count < CLUSTER_SLOTS) {
        if (count == capacity) list = zgrowArray(list, count, &capacity, sizeof(*list));
        is_valid = readItem(&at, end, &list[count]);
        count += is_valid;
    }
    if (!is_valid)
        serverLog(LL_WARNING,
                  "The primary has sent open slots in a form that this server does not know, after the "
                  "first %zu of them.",
                  count);
    clusterRunLater(&(clusterCommand){.kind = CLUSTER_SET_OPEN_SLOTS, .open = list, .open_count = count});
    zfree(list);
}

void openSlotsInit(void) { slotStatesInit(openSlotsText, takeOpenSlots); }
