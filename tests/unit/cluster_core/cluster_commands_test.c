/* cluster_commands_test.c -- commands at one node of a small cluster, as the other nodes see them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

static nodeId idOf(const smallCluster *c, int node) { return clusterMyself(c->nodes[node].m)->id; }

static const char *about(smallCluster *c, int at, clusterCommandKind kind, int node) {
    return smallCommand(c, at, (clusterCommand){.kind = kind, .node = idOf(c, node)});
}

static const char *setSlot(smallCluster *c, int at, clusterCommandKind kind, unsigned slot, int node) {
    return smallCommand(c, at, (clusterCommand){.kind = kind, .slot = slot, .node = idOf(c, node)});
}

/* Returns whether all nodes agree that `node` owns the slot. */
static bool allSeeOwner(smallCluster *c, unsigned slot, int node) {
    for (int i = 0; i < c->count; i++)
        if (clusterOwner(c->nodes[i].m, slot) != smallRecord(c, i, node)) return false;
    return true;
}

static bool allSeePrimary(smallCluster *c, int replica, int primary) {
    for (int i = 0; i < c->count; i++) {
        const clusterNode *r = smallRecord(c, i, replica), *p = smallRecord(c, i, primary);
        if (!r || !p || r->primary != p->seat || !nodeIdEqual(&r->shard, &p->shard)) return false;
    }
    return true;
}

TEST(cluster_replicate_is_seen_by_all) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    CHECK_EQ_STR(about(&c, 3, CLUSTER_REPLICATE, 0), "+OK");
    CHECK_EQ_STR(about(&c, 4, CLUSTER_REPLICATE, 1), "+OK");
    smallRun(&c, 200);
    CHECK(allSeePrimary(&c, 3, 0) && allSeePrimary(&c, 4, 1));
    CHECK_EQ_STR(about(&c, 4, CLUSTER_REPLICATE, 3), "-ERR I can only replicate a master, not a replica.");
    CHECK_EQ_STR(about(&c, 4, CLUSTER_REPLICATE, 2), "+OK");
    smallRun(&c, 200);
    CHECK(allSeePrimary(&c, 4, 2));
    CHECK_EQ_STR(smallCommand(&c, 4, (clusterCommand){.kind = CLUSTER_REPLICATE_NO_ONE}), "+OK");
    smallRun(&c, 200);
    for (int i = 0; i < 5; i++) {
        CHECK(smallRecord(&c, i, 4)->flags & NODE_PRIMARY);
        CHECK(!nodeIdEqual(&smallRecord(&c, i, 4)->shard, &smallRecord(&c, i, 2)->shard));
    }
    smallFree(&c);
}

/* The order of valkey-cli: both ends open the slot, then target, source and the rest close it. */
TEST(cluster_set_slot_moves_a_slot_for_all) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    CHECK_EQ_STR(about(&c, 3, CLUSTER_REPLICATE, 0), "+OK");
    CHECK_EQ_STR(setSlot(&c, 1, CLUSTER_SET_IMPORTING, 7, 0), "+OK");
    CHECK_EQ_STR(setSlot(&c, 0, CLUSTER_SET_MIGRATING, 7, 1), "+OK");
    smallRun(&c, 3000);
    CHECK(allSeeOwner(&c, 7, 0));
    CHECK_EQ_STR(setSlot(&c, 1, CLUSTER_SET_OWNER, 7, 1), "+OK");
    CHECK_EQ_STR(setSlot(&c, 0, CLUSTER_SET_OWNER, 7, 1), "+OK");
    CHECK_EQ_STR(setSlot(&c, 2, CLUSTER_SET_OWNER, 7, 1), "+OK");
    smallRun(&c, 3000);
    CHECK(allSeeOwner(&c, 7, 1) && allSeeOwner(&c, 8, 0));
    CHECK(!clusterMigratingTo(c.nodes[0].m, 7) && !clusterImportingFrom(c.nodes[1].m, 7));
    smallFree(&c);
}

/* The tool ends after its first step: pings carry the new owner to the others. */
TEST(cluster_set_slot_at_the_target_alone_is_enough) {
    smallCluster c;
    smallInit(&c, 3);
    smallJoin(&c, 3);
    CHECK_EQ_STR(setSlot(&c, 1, CLUSTER_SET_IMPORTING, 7, 0), "+OK");
    CHECK_EQ_STR(setSlot(&c, 0, CLUSTER_SET_MIGRATING, 7, 1), "+OK");
    CHECK_EQ_STR(setSlot(&c, 1, CLUSTER_SET_OWNER, 7, 1), "+OK");
    smallRun(&c, 3000);
    CHECK(allSeeOwner(&c, 7, 1));
    CHECK(!clusterMigratingTo(c.nodes[0].m, 7));
    smallFree(&c);
}

TEST(cluster_node_without_slots_follows_the_node_that_has_them) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 4);
    CHECK_EQ_STR(about(&c, 4, CLUSTER_REPLICATE, 3), "+OK");
    smallRun(&c, 1000);
    for (unsigned slot = CLUSTER_SLOTS * 3 / 4; slot < CLUSTER_SLOTS; slot++) {
        setSlot(&c, 0, CLUSTER_SET_OWNER, slot, 0);
        setSlot(&c, 3, CLUSTER_SET_OWNER, slot, 0);
    }
    smallRun(&c, 3000);
    CHECK(allSeePrimary(&c, 3, 0) && allSeePrimary(&c, 4, 0));
    CHECK(allSeeOwner(&c, CLUSTER_SLOTS - 1, 0));
    smallFree(&c);
}

/* As valkey-cli removes a node, which then joins again. */
TEST(cluster_reset_node_joins_as_another_one) {
    for (int hard = 0; hard < 2; hard++) {
        smallCluster c;
        smallInit(&c, 4);
        smallJoin(&c, 3);
        CHECK_EQ_STR(about(&c, 3, CLUSTER_REPLICATE, 0), "+OK");
        smallRun(&c, 1000);
        nodeId old = idOf(&c, 3);
        for (int i = 0; i < 3; i++) CHECK_EQ_STR(about(&c, i, CLUSTER_FORGET, 3), "+OK");
        CHECK_EQ_STR(smallCommand(&c, 3, (clusterCommand){.kind = CLUSTER_RESET, .hard = hard != 0}), "+OK");
        smallRun(&c, 3000);
        CHECK_EQ_INT(clusterSummarize(c.nodes[3].m).known_nodes, 1);
        CHECK_EQ_INT(nodeIdEqual(&old, &clusterMyself(c.nodes[3].m)->id), !hard);
        /* An operator's command counts before what is forgotten, if it is given to the nodes that have forgotten it. */
        for (int i = 0; i < 3; i++)
            smallCommand(&c, i,
                         (clusterCommand){.kind = CLUSTER_MEET, .ip = "10.0.0.4", .port = 7003, .bus_port = 17003});
        smallRun(&c, 5000);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ_INT(clusterSummarize(c.nodes[i].m).known_nodes, 4);
            CHECK(smallRecord(&c, i, 3) && (smallRecord(&c, i, 3)->flags & NODE_PRIMARY));
        }
        smallFree(&c);
    }
}

TEST(cluster_bumped_epoch_is_seen_by_all) {
    smallCluster c;
    smallInit(&c, 3);
    smallJoin(&c, 3);
    smallCommand(&c, 0, (clusterCommand){.kind = CLUSTER_BUMP_EPOCH});
    smallRun(&c, 100);
    uint64_t epoch = clusterSummarize(c.nodes[0].m).my_epoch;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ_INT(smallRecord(&c, i, 0)->config_epoch, epoch);
        CHECK_EQ_INT(clusterSummarize(c.nodes[i].m).current_epoch, epoch);
    }
    smallFree(&c);
}
