/* slot_table.c -- cluster mode: which node serves each slot, as far as commands and redirections need it.
 *
 * Not here    what a command may do (slot_gate.c), which node should own a slot (the cluster layer).
 * Owns        the nodes with their hostnames; the owner and the open state of each slot.
 * Threads     main.
 * Invariants  1. slotIsServed() is true exactly if this node owns the slot, it is not open, and the cluster is up.
 *             2. Each index that the table of slots names is that of a node.
 * Cost        one bit for a command of a served slot. The tables are not touched without cluster mode.
 * Tests       tests/unit/engine/slots/slot_table_test.c
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "slot_table.h"

#include "panic.h"
#include "zmalloc.h"

bool slots_enabled;
uint64_t slots_served[SLOT_WORDS] = {[SLOT_WORDS - 1] = 1ull << 63};

static struct {
    uint16_t owner[CLUSTER_SLOTS], migrating_to[CLUSTER_SLOTS], importing_from[CLUSTER_SLOTS];
    slotNode **nodes; /* owns: by index; NULL where there is none */
    size_t capacity;
    uint16_t myself;
    slotsState state;
} table;

const slotNode *slotTableNode(uint16_t index) { return index < table.capacity ? table.nodes[index] : NULL; }

bool slotTableKnows(slice id) {
    for (size_t i = 0; i < table.capacity; i++)
        if (table.nodes[i] && sliceEq(id, sliceOf(table.nodes[i]->id.text, NODE_ID_LEN))) return true;
    return false;
}

static void updateServed(unsigned slot) {
    bool open = table.migrating_to[slot] || table.importing_from[slot];
    uint64_t bit = 1ull << slot % 64;
    if (table.myself && table.owner[slot] == table.myself && !open && table.state == SLOTS_UP)
        slots_served[slot / 64] |= bit;
    else slots_served[slot / 64] &= ~bit;
}

static void updateAllServed(void) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++) updateServed(slot);
}

static void nodeFree(slotNode *n) {
    if (n) zfree((char *)(uintptr_t)n->hostname);
    zfree(n);
}

/* Returns whether some slot names the node. */
static bool isNamed(uint16_t node) {
    for (unsigned slot = 0; slot < CLUSTER_SLOTS; slot++)
        if (table.owner[slot] == node || table.migrating_to[slot] == node || table.importing_from[slot] == node)
            return true;
    return false;
}

void slotTableSetNode(uint16_t index, const slotNode *n) {
    assertMainRole();
    serverAssert(index > 0);
    if (index >= table.capacity) {
        size_t capacity = (size_t)index + 16;
        table.nodes = zrealloc(table.nodes, capacity * sizeof(*table.nodes));
        memset(table.nodes + table.capacity, 0, (capacity - table.capacity) * sizeof(*table.nodes));
        table.capacity = capacity;
    }
    slotNode *copy = NULL;
    if (n) {
        copy = zmalloc(sizeof(*copy));
        *copy = *n;
        if (n->hostname) copy->hostname = zstrdup(n->hostname);
    } else {
        serverAssert(!isNamed(index));
    }
    nodeFree(table.nodes[index]);
    table.nodes[index] = copy;
}

void slotTableSetMyself(uint16_t index) {
    assertMainRole();
    serverAssert(slotTableNode(index));
    table.myself = index;
    updateAllServed();
}

void slotTableSetOwner(unsigned slot, uint16_t node) {
    assertMainRole();
    serverAssert(slot < CLUSTER_SLOTS && (!node || slotTableNode(node)));
    table.owner[slot] = node;
    updateServed(slot);
}

void slotTableSetOpen(unsigned slot, uint16_t migrating_to, uint16_t importing_from) {
    assertMainRole();
    serverAssert(slot < CLUSTER_SLOTS);
    serverAssert((!migrating_to || slotTableNode(migrating_to)) && (!importing_from || slotTableNode(importing_from)));
    table.migrating_to[slot] = migrating_to;
    table.importing_from[slot] = importing_from;
    updateServed(slot);
}

void slotTableSetState(slotsState state) {
    assertMainRole();
    table.state = state;
    updateAllServed();
}

void slotTableClear(void) {
    assertMainRole();
    for (size_t i = 0; i < table.capacity; i++) nodeFree(table.nodes[i]);
    zfree(table.nodes);
    memset(&table, 0, sizeof(table));
    memset(slots_served, 0, CLUSTER_SLOTS / 8);
}

slotView slotTableLook(unsigned slot) {
    assertMainRole();
    debugAssert(slot < CLUSTER_SLOTS);
    const slotNode *myself = slotTableNode(table.myself);
    uint16_t owner = table.owner[slot], primary = myself ? myself->primary : 0;
    return (slotView){.owner = owner,
                      .migrating_to = table.migrating_to[slot],
                      .importing_from = table.importing_from[slot],
                      .mine = owner && owner == table.myself,
                      .followed = owner && owner == primary,
                      .replica = primary != 0,
                      .state = table.state};
}

unsigned slotTableRunEnd(unsigned slot) {
    slotView v = slotTableLook(slot);
    if (!v.mine && !v.followed) return slot;
    while (slot + 1 < CLUSTER_SLOTS && table.owner[slot + 1] == v.owner) slot++;
    return slot;
}
