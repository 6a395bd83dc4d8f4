/* slot_fixture.h -- a small cluster for tests: four nodes, and one slot for each relation to this node.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#ifndef TESTS_SLOT_FIXTURE_H
#define TESTS_SLOT_FIXTURE_H

#include "engine_settings.h"
#include "slot_table.h"

/* This node is OWN_NODE; its replica, or its primary if this node is a replica, is PARTNER. */
enum { OWN_NODE = 1, PARTNER, OTHER, THIRD };
enum { OWN = 10, FOREIGN, UNASSIGNED, MIGRATING, IMPORTING };

/* Makes this node a primary of OWN and MIGRATING, or the replica of the primary of these. */
static inline void fixtureSlots(bool replica) {
    slotTableClear();
    engine_settings.cluster_preferred_endpoint_type = ENDPOINT_IP;
    engine_settings.cluster_allow_reads_when_down = false;
    engine_settings.cluster_allow_pubsubshard_when_down = true;
    slotTableSetNode(OWN_NODE, &(slotNode){.ip = "10.0.0.1", .port = 7001, .primary = replica ? PARTNER : 0});
    slotTableSetNode(PARTNER, &(slotNode){.ip = "10.0.0.2", .port = 7002, .primary = replica ? 0 : OWN_NODE});
    slotTableSetNode(OTHER, &(slotNode){.ip = "10.0.0.3", .port = 7003});
    slotTableSetNode(THIRD, &(slotNode){.ip = "10.0.0.4", .port = 7004});
    slotTableSetMyself(OWN_NODE);
    uint16_t shard = replica ? PARTNER : OWN_NODE;
    slotTableSetOwner(OWN, shard);
    slotTableSetOwner(FOREIGN, THIRD);
    slotTableSetOwner(MIGRATING, shard);
    slotTableSetOpen(MIGRATING, OTHER, 0);
    slotTableSetOwner(IMPORTING, OTHER);
    slotTableSetOpen(IMPORTING, 0, OTHER);
}

#endif
