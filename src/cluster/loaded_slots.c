/* loaded_slots.c -- keys of slots that this primary does not own, in the file that it has loaded.
 *
 * Such keys are left from before the slots moved, when the file is older than that; or an operator has started the node
 * with the file of another one. The first must be deleted, lest they come back when the slot does; the second must not
 * be lost. Valkey deletes both. Here a file has them before they are deleted.
 *
 * Not here    their deletion (cluster_actions.c).
 * Threads     main's own.
 * Tests       tests/cluster/loaded_slots.tcl
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "loaded_slots.h"

#include "clock.h"
#include "db_slots.h"
#include "log.h"
#include "rdb_save.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static size_t keysOf(unsigned slot) {
    size_t keys = 0;
    for (int i = 0; i < dbCount(); i++) keys += dbSlotSize(dbGet(i), (int)slot);
    return keys;
}

typedef struct loadedKeys {
    slotSet slots;
    unsigned slot_count;
    size_t keys;
} loadedKeys;

/* Finds the slots that have keys here, and an owner that is another node, or none. */
static loadedKeys loadedFind(const clusterMachine *m, bool have_owner) {
    loadedKeys found = {.keys = 0};
    const clusterNode *me = clusterMyself(m);
    if (!(me->flags & NODE_PRIMARY)) return found;
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) {
        const clusterNode *owner = clusterOwner(m, slot);
        size_t keys = owner == me || clusterImportingFrom(m, slot) ? 0 : keysOf(slot);
        if (!keys || (owner != NULL) != have_owner) continue;
        slotSetAdd(&found.slots, slot);
        found.slot_count++;
        found.keys += keys;
    }
    return found;
}

bool loadedSlotsPutAside(const clusterMachine *m, slotSet *kept) {
    char path[64];
    loadedKeys found = loadedFind(m, true);
    if (!found.keys) return true;
    rdbSaveOptions options = rdbSaveDefaults();
    options.slots = &found.slots;
    options.without_functions = true;
    snprintf(path, sizeof(path), "slots-of-others-%lld.rdb", (long long)clockWallMs());
    if (rdbSaveFile(path, &options)) {
        serverLog(LL_WARNING,
                  "The dataset has %zu keys of %u slots that other nodes own. The file %s has them, and they are "
                  "deleted here.",
                  found.keys, found.slot_count, path);
        return true;
    }
    serverLog(LL_WARNING,
              "The dataset has %zu keys of %u slots that other nodes own. They are kept until the next start, because "
              "they cannot be written to %s: %s",
              found.keys, found.slot_count, path, strerror(errno));
    *kept = found.slots;
    return false;
}

bool loadedSlotsUnassigned(const clusterMachine *m, slotSet *slots) {
    loadedKeys found = loadedFind(m, false);
    *slots = found.slots;
    if (found.keys)
        serverLog(LL_NOTICE, "The dataset has %zu keys of %u slots without an owner: this node takes these slots.",
                  found.keys, found.slot_count);
    return found.keys != 0;
}
