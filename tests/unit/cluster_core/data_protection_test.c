/* data_protection_test.c -- a primary that starts without its data leaves its slots to a replica that has them.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

/* Primaries 0, 1, 2; node 3 is the replica of 0, with that offset, node 4 that of 1. */
static void start(smallCluster *c, uint64_t offset) {
    smallInit(c, 5);
    for (int i = 0; i < 5; i++) {
        c->nodes[i].config.protect_data = true;
        smallConfigure(c, i);
    }
    smallJoin(c, 3);
    smallReplicate(c, 3, 0, offset);
    smallReplicate(c, 4, 1, 100);
    smallRun(c, 4000);
    CHECK(clusterSummarize(c->nodes[0].m).ok);
}

static void restartWithout(smallCluster *c, int node, bool is_loading) {
    c->nodes[node].local = (clusterLocal){.is_empty = true, .is_loading = is_loading};
    smallRestart(c, node);
}

static bool isPrimary(smallCluster *c, int node) { return clusterMyself(c->nodes[node].m)->flags & NODE_PRIMARY; }
static bool protects(smallCluster *c, int node) { return clusterSummarize(c->nodes[node].m).protects; }

TEST(protection_leaves_the_slots_to_the_replica) {
    smallCluster c;
    start(&c, 100);
    restartWithout(&c, 0, true);
    smallRun(&c, 100);
    CHECK(!protects(&c, 0));
    c.nodes[0].local.is_loading = false;
    memset(c.nodes[0].sent, 0, sizeof(c.nodes[0].sent));
    smallRun(&c, 200);
    CHECK(protects(&c, 0));
    CHECK(strstr(c.nodes[0].log, "started without data"));
    for (int i = 0; i < 300 && isPrimary(&c, 0); i++) {
        CHECK_EQ_INT(c.nodes[0].sent[BUS_PONG] + c.nodes[0].sent[BUS_PING], 0);
        CHECK(!clusterSummarize(c.nodes[0].m).ok);
        smallRun(&c, 100);
    }
    CHECK(isPrimary(&c, 3));
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallRun(&c, 10000);
    CHECK(!protects(&c, 0));
    CHECK(nodeIdEqual(&c.nodes[0].follows, &clusterMyself(c.nodes[3].m)->id));
    CHECK(strstr(c.nodes[0].log, "A replica has taken over"));
    for (int i = 0; i < 5; i++) {
        CHECK(clusterSummarize(c.nodes[i].m).ok);
        CHECK(!(smallRecord(&c, i, 0)->flags & (NODE_SUSPECTED | NODE_FAILED)));
    }
    smallFree(&c);
}

TEST(protection_ends_when_no_replica_has_data) {
    smallCluster c;
    start(&c, 0);
    restartWithout(&c, 0, false);
    smallRun(&c, 100);
    for (int i = 0; i < 30 && protects(&c, 0); i++) smallRun(&c, 100);
    CHECK(!protects(&c, 0));
    smallRun(&c, 10000);
    CHECK(isPrimary(&c, 0));
    CHECK(clusterSummarize(c.nodes[0].m).ok);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    smallFree(&c);
}

TEST(protection_ends_after_its_time) {
    smallCluster c;
    start(&c, 100);
    c.nodes[3].config.replica_validity_factor = 1;
    smallConfigure(&c, 3);
    c.nodes[3].local.primary_link_is_up = false;
    c.nodes[3].local.primary_silent_ms = 1000000; /* too long for an election */
    restartWithout(&c, 0, false);
    smallRun(&c, c.nodes[0].config.node_timeout_ms * 3 + 4500);
    CHECK(protects(&c, 0));
    smallRun(&c, 1000);
    CHECK(!protects(&c, 0));
    smallRun(&c, 20000);
    CHECK(isPrimary(&c, 0));
    CHECK(clusterSummarize(c.nodes[0].m).ok);
    smallFree(&c);
}

TEST(protection_does_not_wait_for_a_replica_that_does_not_come) {
    smallCluster c;
    start(&c, 100);
    smallCut(&c, 3, true);
    restartWithout(&c, 0, false);
    smallRun(&c, 200);
    CHECK(protects(&c, 0));
    smallRun(&c, c.nodes[0].config.node_timeout_ms + 5000);
    CHECK(!protects(&c, 0));
    smallFree(&c);
}

TEST(protection_is_for_primaries_without_data_only) {
    smallCluster c;
    start(&c, 100);
    c.nodes[0].local.is_empty = false;
    smallRestart(&c, 0);
    restartWithout(&c, 2, false); /* it has no replica */
    restartWithout(&c, 3, false);
    smallRun(&c, 100);
    for (int i = 0; i < 5; i++) CHECK(!protects(&c, i));
    smallFree(&c);
}

TEST(protection_can_be_switched_off) {
    smallCluster c;
    start(&c, 100);
    restartWithout(&c, 0, false);
    smallRun(&c, 200);
    CHECK(protects(&c, 0));
    c.nodes[0].config.protect_data = false;
    smallConfigure(&c, 0);
    smallRun(&c, 200);
    CHECK(!protects(&c, 0));
    /* The pings that were not answered do not make it suspect: they are sent again on new links. */
    for (int i = 0; i < 200; i++) {
        smallRun(&c, 100);
        for (int n = 0; n < 5; n++) CHECK(!(smallRecord(&c, n, 0)->flags & (NODE_SUSPECTED | NODE_FAILED)));
    }
    smallFree(&c);
}

TEST(protection_needs_a_majority_of_others) {
    smallCluster c;
    start(&c, 100);
    smallCut(&c, 1, true);
    smallCut(&c, 4, true);
    for (int i = 0; i < 100 && !(smallRecord(&c, 0, 1)->flags & NODE_FAILED); i++) smallRun(&c, 100);
    restartWithout(&c, 0, false);
    smallRun(&c, 200);
    CHECK(!protects(&c, 0));
    smallFree(&c);
}
