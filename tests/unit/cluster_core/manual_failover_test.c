/* manual_failover_test.c -- CLUSTER FAILOVER: the pause of writes, the awaited offset, FORCE, TAKEOVER.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

static const clusterCommand plain = {.kind = CLUSTER_FAILOVER};
static const clusterCommand forced = {.kind = CLUSTER_FAILOVER, .force = true};
static const clusterCommand takeover = {.kind = CLUSTER_FAILOVER, .takeover = true};

/* Three primaries 0, 1, 2 and replicas of node 0, which has more data than they. */
static void start(smallCluster *c, int count) {
    smallInit(c, count);
    smallJoin(c, 3);
    c->nodes[0].local.offset = 150;
    for (int i = 3; i < count; i++) smallReplicate(c, i, 0, 100);
    smallRun(c, 4000);
}

static bool logged(const smallCluster *c, int node, const char *text) { return strstr(c->nodes[node].log, text); }

static void setOffset(smallCluster *c, int node, uint64_t offset) {
    c->nodes[node].local.offset = offset;
    smallStep(c, node, &(clusterEvent){.kind = CLUSTER_LOCAL, .local = &c->nodes[node].local});
}

static bool owns(smallCluster *c, int of, int owner) {
    return clusterOwner(c->nodes[of].m, 0) == smallRecord(c, of, owner);
}

TEST(failover_waits_for_the_offset_of_the_paused_primary) {
    smallCluster c;
    start(&c, 4);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK");
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    CHECK(logged(&c, 3, "Received replication offset for paused primary manual failover: 150\n"));
    smallRun(&c, 1000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK_EQ_INT(c.nodes[0].resumed, 0);
    setOffset(&c, 3, 150);
    CHECK(logged(&c, 3, "All primary replication stream processed, manual failover can start.\n"));
    CHECK_EQ_INT(c.nodes[3].became_primary, 1); /* at once: it does not wait for a tick */
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].marks, BUS_MARK_FORCE_VOTE);
    CHECK(c.nodes[0].last_sent[BUS_VOTE].marks & BUS_MARK_PAUSED);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    CHECK(nodeIdEqual(&c.nodes[0].follows, &clusterMyself(c.nodes[3].m)->id));
    for (int i = 0; i < 4; i++) CHECK(owns(&c, i, 3));
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    CHECK(!logged(&c, 0, "timed out") && !logged(&c, 3, "timed out"));
    smallFree(&c);
}

TEST(failover_believes_a_pause_that_main_has_executed) {
    smallCluster c;
    start(&c, 4);
    c.nodes[0].main_waits = true;
    setOffset(&c, 3, 150);
    smallCommand(&c, 3, plain);
    smallRun(&c, 300);
    c.nodes[0].local.pause = c.nodes[0].last_pause + 1; /* of another time */
    smallRun(&c, 300);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    CHECK(!logged(&c, 3, "Received replication offset"));
    c.nodes[0].local.pause = c.nodes[0].last_pause;
    c.nodes[0].local.offset = 180; /* a write came before the pause */
    smallRun(&c, 300);
    CHECK(logged(&c, 3, "Received replication offset for paused primary manual failover: 180\n"));
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    c.nodes[3].local.primary_link_is_up = false;
    setOffset(&c, 3, 180);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    c.nodes[3].local.primary_link_is_up = true;
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(failover_that_takes_too_long_is_given_up_by_both) {
    smallCluster c;
    start(&c, 4);
    smallCommand(&c, 3, plain);
    smallRun(&c, 3000);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK"); /* changes nothing */
    smallRun(&c, 1900);
    CHECK_EQ_INT(c.nodes[0].resumed, 0);
    smallRun(&c, 100);
    CHECK(logged(&c, 3, "Manual failover timed out.\n"));
    CHECK(logged(&c, 0, "Manual failover timed out.\n"));
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    setOffset(&c, 3, 150);
    smallRun(&c, 1000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK");
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(failover_that_has_no_offset_yet_is_begun_anew) {
    smallCluster c;
    start(&c, 4);
    c.nodes[0].main_waits = true;
    setOffset(&c, 3, 150);
    smallCommand(&c, 3, plain);
    smallRun(&c, 3000);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK");
    CHECK_EQ_INT(c.nodes[3].sent[BUS_FAILOVER_START], 2);
    CHECK_EQ_INT(c.nodes[0].paused, 1); /* the pause of the first one is asked for still */
    smallRun(&c, 1500);
    c.nodes[0].local.pause = c.nodes[0].last_pause;
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

/* Loses the frames on the link that node `from` has made to node `to`; neither knows it. Returns its number there. */
static uint64_t loseFrames(smallCluster *c, int from, int to) {
    for (size_t i = 0; i < c->link_count; i++) {
        smallLink l = c->links[i];
        if (l.a != from || l.b != to) continue;
        c->links[i] = c->links[--c->link_count];
        return l.a_link;
    }
    return 0;
}

TEST(failover_whose_request_is_lost_is_requested_again) {
    smallCluster c;
    start(&c, 4);
    uint64_t link = loseFrames(&c, 3, 0);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK");
    CHECK_EQ_INT(c.nodes[0].paused, 0);
    smallStep(&c, 3, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link});
    smallRun(&c, 300);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_FAILOVER_START], 2);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    CHECK(logged(&c, 3, "Received replication offset for paused primary manual failover: 150\n"));
    /* A link to another node, and one when the offset is known, repeat nothing. */
    link = loseFrames(&c, 3, 1);
    smallStep(&c, 3, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link});
    link = loseFrames(&c, 3, 0);
    smallStep(&c, 3, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link});
    smallRun(&c, 300);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_FAILOVER_START], 2);
    setOffset(&c, 3, 150);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallRun(&c, 6000);
    link = loseFrames(&c, 3, 0);
    smallStep(&c, 3, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link});
    smallRun(&c, 300);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_FAILOVER_START], 2); /* it is over */
    smallFree(&c);
}

TEST(failover_that_is_requested_again_is_not_longer) {
    smallCluster c;
    start(&c, 4);
    busFrame f = {.type = BUS_FAILOVER_START, .header = c.nodes[3].last_sent[BUS_PING]};
    smallReceive(&c, 0, 3, &f);
    uint64_t pause = c.nodes[0].last_pause;
    for (int i = 0; i < 49; i++) {
        smallRun(&c, 100);
        smallReceive(&c, 0, 3, &f);
        CHECK(c.nodes[0].paused == 1 && c.nodes[0].last_pause == pause && !c.nodes[0].resumed);
    }
    c.now.mono_ms += 100; /* the deadline is there, and no tick has noticed it: a request is a new one */
    smallReceive(&c, 0, 3, &f);
    CHECK(c.nodes[0].paused == 2 && c.nodes[0].last_pause == pause + 1 && !c.nodes[0].resumed);
    smallRun(&c, 5000);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    smallReceive(&c, 0, 3, &f);
    CHECK_EQ_INT(c.nodes[0].paused, 3);
    smallFree(&c);
}

TEST(failover_does_not_count_the_offset_of_a_pause_that_has_ended) {
    smallCluster c;
    start(&c, 4);
    c.nodes[0].config.manual_failover_timeout_ms = 1000;
    smallConfigure(&c, 0);
    smallCommand(&c, 3, plain);
    smallRun(&c, 900);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    c.nodes[0].main_waits = true;
    smallRun(&c, 400); /* the pause ends; the next ping of node 0 is not paused */
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    CHECK_EQ_INT(c.nodes[0].paused, 2);
    CHECK(logged(&c, 3, "The primary has resumed writes: the manual failover is requested again.\n"));
    c.nodes[0].local.offset = 180;
    setOffset(&c, 3, 170);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    c.nodes[0].local.pause = c.nodes[0].last_pause;
    smallRun(&c, 200);
    CHECK(logged(&c, 3, "Received replication offset for paused primary manual failover: 180\n"));
    setOffset(&c, 3, 180);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

/* As a simulated node of Valkey does. */
TEST(failover_is_requested_once_by_a_plain_valkey) {
    smallCluster c;
    start(&c, 4);
    c.nodes[0].config.manual_failover_timeout_ms = 1000;
    smallConfigure(&c, 0);
    c.nodes[3].config.plain_valkey = true;
    smallConfigure(&c, 3);
    smallCommand(&c, 3, plain);
    smallRun(&c, 900);
    c.nodes[0].main_waits = true;
    smallRun(&c, 400);
    CHECK(c.nodes[0].resumed == 1 && c.nodes[0].paused == 1);
    CHECK(!logged(&c, 3, "requested again"));
    smallFree(&c);
}

TEST(failover_that_runs_yields_to_a_stronger_one) {
    smallCluster c;
    start(&c, 4);
    smallCommand(&c, 3, plain);
    smallRun(&c, 200);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    CHECK_EQ_STR(smallCommand(&c, 3, forced), "+OK");
    smallRun(&c, 200);
    CHECK(c.nodes[3].sent[BUS_VOTE_REQUEST] > 0);
    unsigned sent = c.nodes[3].sent[BUS_VOTE_REQUEST];
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "+OK");
    CHECK_EQ_STR(smallCommand(&c, 3, forced), "+OK");
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], sent);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    CHECK_EQ_STR(smallCommand(&c, 3, takeover), "+OK");
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    smallFree(&c);
}

TEST(failover_of_a_second_replica_does_not_disturb_the_first) {
    smallCluster c;
    start(&c, 5);
    smallCommand(&c, 3, plain);
    smallRun(&c, 200);
    smallCommand(&c, 4, plain);
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    setOffset(&c, 3, 150);
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[4].became_primary, 0);
    for (int i = 0; i < 5; i++) CHECK(owns(&c, i, 3));
    smallFree(&c);
}

TEST(failover_is_for_replicas_of_this_primary) {
    smallCluster c;
    start(&c, 4);
    busFrame f = {.type = BUS_FAILOVER_START, .header = c.nodes[2].last_sent[BUS_PING]};
    smallReceive(&c, 0, 2, &f); /* a primary */
    CHECK_EQ_INT(c.nodes[0].paused, 0);
    f.header = c.nodes[3].last_sent[BUS_PING];
    smallReceive(&c, 1, 3, &f); /* a replica of another primary */
    CHECK_EQ_INT(c.nodes[1].paused, 0);
    smallReceive(&c, 0, 3, &f);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    smallFree(&c);
}

TEST(failover_ends_when_the_replica_fails) {
    smallCluster c;
    start(&c, 4);
    for (int i = 0; i < 4; i++) {
        c.nodes[i].config.manual_failover_timeout_ms = 60000;
        smallConfigure(&c, i);
    }
    smallCommand(&c, 3, plain);
    CHECK_EQ_INT(c.nodes[0].paused, 1);
    smallCut(&c, 3, true);
    smallRun(&c, 8000);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    CHECK(!(c.nodes[0].last_sent[BUS_PING].marks & BUS_MARK_PAUSED));
    smallFree(&c);
}

TEST(failover_pause_outlasts_a_slow_disk_of_the_winner) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    setOffset(&c, 3, 150);
    smallCommand(&c, 3, plain);
    smallRun(&c, 3000);
    CHECK_EQ_INT(c.nodes[0].sent[BUS_VOTE], 1);
    c.nodes[3].disk_waits = true;
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 3000);
    CHECK(logged(&c, 3, "Failover election won"));
    CHECK_EQ_INT(c.nodes[0].resumed, 0);
    c.nodes[3].disk_waits = false;
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    CHECK(owns(&c, 0, 3));
    smallFree(&c);
}

TEST(failover_pause_is_not_longer_for_the_vote_of_another_replica) {
    smallCluster c;
    start(&c, 5);
    smallCommand(&c, 3, plain);
    busFrame f = {.type = BUS_VOTE_REQUEST, .header = c.nodes[4].last_sent[BUS_PING]};
    f.header.current_epoch = clusterSummarize(c.nodes[0].m).current_epoch + 1;
    f.header.marks = BUS_MARK_FORCE_VOTE;
    smallReceive(&c, 0, 4, &f);
    CHECK_EQ_INT(c.nodes[0].sent[BUS_VOTE], 1);
    smallRun(&c, 5000);
    CHECK_EQ_INT(c.nodes[0].resumed, 1);
    smallFree(&c);
}

TEST(failover_is_refused_with_the_reason) {
    smallCluster c;
    start(&c, 4);
    CHECK_EQ_STR(smallCommand(&c, 0, plain), "-ERR You should send CLUSTER FAILOVER to a replica");
    CHECK_EQ_STR(smallCommand(&c, 0, takeover), "-ERR You should send CLUSTER FAILOVER to a replica");
    smallCut(&c, 0, true);
    CHECK_EQ_STR(smallCommand(&c, 3, plain), "-ERR Master is down or failed, please use CLUSTER FAILOVER FORCE");
    CHECK_EQ_STR(smallCommand(&c, 3, forced), "+OK");
    CHECK_EQ_INT(c.nodes[3].became_primary, 1); /* at once: it does not wait for a tick */
    smallFree(&c);
}

TEST(failover_by_force_takes_the_place_of_an_election) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    for (int i = 0; i < 100 && !c.nodes[3].sent[BUS_VOTE_REQUEST]; i++) smallRun(&c, 100);
    uint64_t epoch = c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch;
    CHECK(epoch > 0);
    CHECK_EQ_STR(smallCommand(&c, 3, forced), "+OK");
    CHECK(logged(&c, 3, "but received a new manual failover. Resetting the election.\n"));
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch, epoch + 1);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 100);
    CHECK_EQ_INT(clusterSummarize(c.nodes[3].m).my_epoch, epoch + 1);
    smallFree(&c);
}

TEST(failover_takeover_needs_no_other_node) {
    smallCluster c;
    start(&c, 4);
    for (int i = 0; i < 3; i++) smallCut(&c, i, true);
    smallRun(&c, 3000);
    uint64_t epoch = clusterSummarize(c.nodes[3].m).current_epoch;
    c.nodes[3].disk_waits = true;
    CHECK_EQ_STR(smallCommand(&c, 3, takeover), "+OK");
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    c.nodes[3].disk_waits = false;
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    CHECK_EQ_INT(clusterSummarize(c.nodes[3].m).my_epoch, epoch + 1);
    for (int i = 0; i < 3; i++) smallCut(&c, i, false);
    smallRun(&c, 8000);
    for (int i = 0; i < 4; i++) CHECK(owns(&c, i, 3));
    CHECK(nodeIdEqual(&c.nodes[0].follows, &clusterMyself(c.nodes[3].m)->id));
    smallFree(&c);
}

TEST(failover_from_the_primary_is_for_one_replica) {
    smallCluster c;
    start(&c, 5);
    clusterCommand command = {.kind = CLUSTER_FAILOVER, .force = true, .from_primary = true};
    command.node = clusterMyself(c.nodes[4].m)->id;
    CHECK_EQ_STR(smallCommand(&c, 3, command), "+OK");
    smallRun(&c, 500);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK_EQ_STR(smallCommand(&c, 4, command), "+OK");
    smallRun(&c, 100);
    CHECK(logged(&c, 4, "Forced failover primary request accepted"));
    CHECK_EQ_INT(c.nodes[4].became_primary, 1);
    smallFree(&c);
}
