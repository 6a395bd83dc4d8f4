/* replica_migration_test.c -- a spare replica moves to a primary that has lost its last one.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

/* Primaries 0, 1, 2; nodes 3, 4 are replicas of 0, node 5 of 1. Node 5 is cut off. */
static void start(smallCluster *c, unsigned barrier) {
    smallInit(c, 6);
    for (int i = 0; i < 6; i++) {
        c->nodes[i].config.migration_barrier = barrier;
        smallConfigure(c, i);
    }
    smallJoin(c, 3);
    for (int i = 3; i < 6; i++) smallReplicate(c, i, i < 5 ? 0 : 1, 100);
    smallRun(c, 4000);
    smallCut(c, 5, true);
}

static int primaryOf(smallCluster *c, int of, int about) {
    const clusterNode *n = smallRecord(c, of, about);
    for (int i = 0; i < c->count; i++)
        if (n->primary == smallRecord(c, of, i)->seat) return i;
    return -1;
}

static bool hasFailed(smallCluster *c, int of, int about) { return smallRecord(c, of, about)->flags & NODE_FAILED; }

TEST(migration_of_the_replica_with_the_smallest_id) {
    smallCluster c;
    start(&c, 1);
    int chosen = memcmp(&clusterMyself(c.nodes[3].m)->id, &clusterMyself(c.nodes[4].m)->id, sizeof(nodeId)) < 0 ? 3 : 4;
    int other = 7 - chosen;
    for (int i = 0; i < 100 && !hasFailed(&c, chosen, 5); i++) smallRun(&c, 100);
    smallRun(&c, 4900);
    CHECK_EQ_INT(primaryOf(&c, chosen, chosen), 0);
    smallRun(&c, 500);
    CHECK_EQ_INT(primaryOf(&c, chosen, chosen), 1);
    CHECK(nodeIdEqual(&c.nodes[chosen].follows, &clusterMyself(c.nodes[1].m)->id));
    CHECK(strstr(c.nodes[chosen].log, "Migrating to orphaned primary "));
    CHECK(nodeIdEqual(&clusterMyself(c.nodes[chosen].m)->shard, &clusterMyself(c.nodes[1].m)->shard));
    for (int i = 0; i < 5; i++) CHECK_EQ_INT(primaryOf(&c, i, chosen), 1);
    smallCut(&c, 5, false);
    smallRun(&c, 20000);
    CHECK_EQ_INT(primaryOf(&c, 0, chosen), 1);
    CHECK_EQ_INT(primaryOf(&c, 0, other), 0);
    CHECK_EQ_INT(primaryOf(&c, 0, 5), 1);
    smallFree(&c);
}

TEST(migration_leaves_as_many_replicas_as_the_barrier) {
    smallCluster c;
    start(&c, 2);
    smallRun(&c, 20000);
    CHECK_EQ_INT(primaryOf(&c, 3, 3), 0);
    CHECK_EQ_INT(primaryOf(&c, 4, 4), 0);
    smallFree(&c);
}

TEST(migration_can_be_switched_off) {
    smallCluster c;
    start(&c, 1);
    for (int i = 3; i < 5; i++) {
        c.nodes[i].config.allow_replica_migration = false;
        smallConfigure(&c, i);
    }
    smallRun(&c, 20000);
    CHECK_EQ_INT(primaryOf(&c, 3, 3), 0);
    CHECK_EQ_INT(primaryOf(&c, 4, 4), 0);
    smallFree(&c);
}

TEST(migration_does_not_go_to_primaries_that_never_had_replicas) {
    smallCluster c;
    smallInit(&c, 5);
    smallJoin(&c, 3);
    smallReplicate(&c, 3, 0, 100);
    smallReplicate(&c, 4, 0, 100);
    smallRun(&c, 20000);
    CHECK_EQ_INT(primaryOf(&c, 3, 3), 0);
    CHECK_EQ_INT(primaryOf(&c, 4, 4), 0);
    smallFree(&c);
}
