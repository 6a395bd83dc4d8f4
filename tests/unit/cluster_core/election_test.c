/* election_test.c -- a replica takes the place of a failed primary: votes, ranks, the disk.
 *
 * SPDX-License-Identifier: BSD-3-Clause */
#include "small_cluster.h"
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

/* Three primaries 0, 1, 2; replicas of node 0 from node 3 on, with offsets 100, 200 ... */
static void start(smallCluster *c, int count) {
    smallInit(c, count);
    smallJoin(c, 3);
    c->nodes[0].local.offset = 1000;
    for (int i = 3; i < count; i++) smallReplicate(c, i, 0, 100 * (uint64_t)(i - 2));
    smallRun(c, 4000);
}

static bool logged(const smallCluster *c, int node, const char *text) { return strstr(c->nodes[node].log, text); }

static int timesLogged(const smallCluster *c, int node, const char *text) {
    int times = 0;
    for (const char *p = c->nodes[node].log; (p = strstr(p, text)) != NULL; p++) times++;
    return times;
}

/* Returns whether node `of` sees node `owner` as the owner of slot 0. */
static bool owns(smallCluster *c, int of, int owner) {
    return clusterOwner(c->nodes[of].m, 0) == smallRecord(c, of, owner);
}

static uint64_t epochOf(const smallCluster *c, int node) { return clusterSummarize(c->nodes[node].m).current_epoch; }

/* Runs until a node has requested votes once more; 10 s at most. */
static bool runUntilRequest(smallCluster *c, int node) {
    unsigned before = c->nodes[node].sent[BUS_VOTE_REQUEST];
    for (int i = 0; i < 100 && c->nodes[node].sent[BUS_VOTE_REQUEST] == before; i++) smallRun(c, 100);
    return c->nodes[node].sent[BUS_VOTE_REQUEST] > before;
}

/* --- taking over ---------- */

TEST(election_the_replica_with_the_most_data_takes_over) {
    smallCluster c;
    start(&c, 6);
    smallCut(&c, 0, true);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[5].became_primary, 1);
    CHECK_EQ_INT(c.nodes[3].became_primary + c.nodes[4].became_primary, 0);
    for (int i = 1; i < 6; i++) CHECK(owns(&c, i, 5));
    for (int i = 3; i < 5; i++) CHECK(nodeIdEqual(&c.nodes[i].follows, &clusterMyself(c.nodes[5].m)->id));
    CHECK(logged(&c, 5, "initiate the election immediately."));
    CHECK(logged(&c, 5, "Failover election won: I'm the new primary."));
    CHECK_EQ_INT(c.nodes[5].last_sent[BUS_VOTE_REQUEST].marks, BUS_MARK_FORCE_VOTE);
    CHECK(c.nodes[5].last_sent[BUS_VOTE_REQUEST].flags & NODE_PRIMARY_FAILED);
    CHECK_EQ_INT(c.nodes[5].last_sent[BUS_VOTE_REQUEST].current_epoch, clusterSummarize(c.nodes[5].m).my_epoch);
    CHECK_EQ_INT(c.nodes[1].last_sent[BUS_VOTE].current_epoch, clusterSummarize(c.nodes[5].m).my_epoch);
    smallCut(&c, 0, false);
    smallRun(&c, 8000);
    CHECK(nodeIdEqual(&c.nodes[0].follows, &clusterMyself(c.nodes[5].m)->id));
    smallFree(&c);
}

TEST(election_a_second_failure_does_not_wait_for_the_first_election) {
    smallCluster c;
    start(&c, 5);
    smallCut(&c, 0, true);
    smallRun(&c, 5000);
    CHECK(owns(&c, 1, 4));
    smallCut(&c, 4, true);
    smallRun(&c, 5000);
    CHECK(owns(&c, 1, 3));
    smallFree(&c);
}

TEST(election_writes_that_were_lost_do_not_win_over_newer_ones) {
    smallCluster c;
    start(&c, 5);
    smallCut(&c, 0, true);
    smallRun(&c, 5000);
    CHECK(owns(&c, 1, 4));
    smallCut(&c, 0, false);
    for (int i = 0; i < 50 && !c.nodes[0].followed; i++) smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[0].followed, 1);
    c.nodes[0].local.primary_link_is_up = false; /* it has not synchronized, and has the greatest offset */
    smallRun(&c, 3000);
    CHECK_EQ_INT(c.nodes[0].last_sent[BUS_PING].offset, 0);
    smallCut(&c, 4, true);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[0].became_primary, 0);
    CHECK(owns(&c, 1, 3));
    smallFree(&c);
}

/* Main's report may be older than the machine's primary. */
TEST(election_offset_of_another_primary_does_not_count) {
    smallCluster c;
    start(&c, 5);
    nodeId former = c.nodes[3].local.follows;
    CHECK(clusterMyself(c.nodes[3].m)->offset > 0);
    smallReplicate(&c, 3, 1, 0);
    c.nodes[3].local.offset = 1000;
    c.nodes[3].local.follows = former;
    smallRun(&c, 1000);
    CHECK_EQ_INT(clusterMyself(c.nodes[3].m)->offset, 0);
    c.nodes[3].local.primary_link_is_up = false; /* FOLLOW was executed: the dataset is still the old one */
    c.nodes[3].local.follows = clusterMyself(c.nodes[1].m)->id;
    smallRun(&c, 1000);
    CHECK_EQ_INT(clusterMyself(c.nodes[3].m)->offset, 0);
    c.nodes[3].local.primary_link_is_up = true;
    smallRun(&c, 1000);
    CHECK_EQ_INT(clusterMyself(c.nodes[3].m)->offset, 1000);
    smallFree(&c);
}

TEST(election_a_replica_without_a_dataset_waits_and_is_loud) {
    smallCluster c;
    start(&c, 4);
    c.nodes[3].local.has_dataset = false;
    smallCut(&c, 0, true);
    smallRun(&c, 7000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    CHECK(logged(&c, 3, "WITHOUT HAVING SYNCHRONIZED"));
    const char *delay = strstr(c.nodes[3].log, "Start of election delayed for ");
    CHECK(delay && atoi(delay + strlen("Start of election delayed for ")) >= 500 + 2000 / 30);
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].marks, 0);
    smallFree(&c);
}

TEST(election_waits_while_a_dataset_is_loaded) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    c.nodes[3].local.is_loading = true; /* its primary has come back, and sends it */
    c.nodes[3].local.has_dataset = false;
    smallRun(&c, 100);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 3000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    c.nodes[3].local.is_loading = false;
    c.nodes[3].local.has_dataset = true;
    smallRun(&c, 2000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(election_old_data_is_not_put_in_place) {
    smallCluster c;
    start(&c, 4);
    const char *why =
        "Currently unable to failover: Disconnected from primary for longer than allowed. Please check the "
        "'cluster-replica-validity-factor' configuration option.\n";
    c.nodes[3].config.replica_validity_factor = 1;
    smallConfigure(&c, 3);
    c.nodes[3].local.primary_link_is_up = false;
    c.nodes[3].local.primary_silent_ms = 30000;
    smallCut(&c, 0, true);
    smallRun(&c, 25000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK_EQ_INT(timesLogged(&c, 3, why), 3); /* at once, and each 10 s */
    c.nodes[3].config.replica_validity_factor = 0;
    smallConfigure(&c, 3);
    smallRun(&c, 1000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(election_nofailover_is_for_failures_only) {
    smallCluster c;
    start(&c, 4);
    c.nodes[3].config.replica_no_failover = true;
    smallConfigure(&c, 3);
    smallCut(&c, 0, true);
    smallRun(&c, 7000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK_EQ_STR(smallCommand(&c, 3, (clusterCommand){.kind = CLUSTER_FAILOVER, .force = true}), "+OK");
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(election_data_may_be_as_old_as_the_validity_factor_says) {
    smallCluster c;
    start(&c, 4);
    c.nodes[3].config.replica_validity_factor = 1; /* 10 s of silence, 2 s for the failure, 2 s by the factor */
    smallConfigure(&c, 3);
    c.nodes[3].local.primary_link_is_up = false;
    c.nodes[3].local.primary_silent_ms = 9900;
    smallCut(&c, 0, true);
    smallRun(&c, 4000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

/* --- ranks ---------- */

typedef struct delayLog {
    unsigned ms, rank, shard_rank;
} delayLog;

/* Runs until a node has scheduled an election, 10 s at most, and returns what it has logged of it. */
static delayLog runUntilDelay(smallCluster *c, int node) {
    const char *format = "Start of election delayed for %u milliseconds (rank #%u, primary rank #%u", *line = NULL;
    delayLog d = {0};
    for (int i = 0; i < 100 && !line; i++) {
        smallRun(c, 100);
        line = strstr(c->nodes[node].log, "Start of election delayed");
    }
    CHECK(line && sscanf(line, format, &d.ms, &d.rank, &d.shard_rank) == 3);
    return d;
}

#define UNIT (2000 / 30) /* of delays at this node timeout */
#define RANK_UNIT 100    /* of those that ranks add: a tick at least, as a start is noticed at a tick */

TEST(election_rank_is_by_offset_and_follows_it) {
    smallCluster c;
    start(&c, 5);
    smallCut(&c, 4, true); /* it has more, and does not show that it knows of the failure */
    smallCut(&c, 0, true);
    delayLog d = runUntilDelay(&c, 3);
    CHECK_EQ_INT(d.rank, 1);
    CHECK(d.ms >= UNIT + 2 * RANK_UNIT && d.ms < 2 * UNIT + 2 * RANK_UNIT);
    c.nodes[3].local.offset = 500;
    smallRun(&c, 100);
    CHECK(logged(&c, 3, "Replica rank updated to #0, added -200 milliseconds of delay.\n"));
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].marks, 0);
    CHECK(!logged(&c, 3, "immediately"));
    smallFree(&c);
}

TEST(election_rank_of_equal_offsets_is_by_id) {
    smallCluster c;
    start(&c, 5);
    c.nodes[3].local.offset = c.nodes[4].local.offset;
    smallRun(&c, 3000);
    int first = memcmp(&clusterMyself(c.nodes[3].m)->id, &clusterMyself(c.nodes[4].m)->id, sizeof(nodeId)) < 0 ? 3 : 4;
    smallCut(&c, 7 - first, true);
    smallCut(&c, 0, true);
    CHECK_EQ_INT(runUntilDelay(&c, first).rank, 0);
    smallFree(&c);
    start(&c, 5);
    c.nodes[3].local.offset = c.nodes[4].local.offset;
    smallRun(&c, 3000);
    smallCut(&c, first, true);
    smallCut(&c, 0, true);
    CHECK_EQ_INT(runUntilDelay(&c, 7 - first).rank, 1);
    smallFree(&c);
}

/* Five primaries; nodes 5 and 6 are replicas of nodes 0 and 1, of which the one with the smaller shard id fails first,
 * and is not replaced. Returns the rank of the replica of the other one, which fails `wait_ms` later. */
static unsigned rankOfSecondShard(unsigned factor, uint64_t wait_ms, bool first_has_replica) {
    smallCluster c;
    smallInit(&c, 7);
    smallJoin(&c, 5);
    int first =
        memcmp(&clusterMyself(c.nodes[0].m)->shard, &clusterMyself(c.nodes[1].m)->shard, sizeof(nodeId)) < 0 ? 0 : 1;
    int second = 1 - first;
    if (first_has_replica) smallReplicate(&c, 5 + first, first, 100);
    smallReplicate(&c, 5 + second, second, 100);
    c.nodes[5 + second].config.replica_validity_factor = factor;
    smallConfigure(&c, 5 + second);
    smallRun(&c, 4000);
    for (int i = 0; i < 5; i++) c.nodes[i].disk_waits = true;
    smallCut(&c, first, true);
    smallRun(&c, 4000 + wait_ms);
    smallCut(&c, second, true);
    delayLog d = runUntilDelay(&c, 5 + second);
    CHECK(d.ms < 2 * UNIT + d.shard_rank * RANK_UNIT);
    smallFree(&c);
    return d.shard_rank;
}

TEST(election_of_a_second_shard_leaves_the_first_some_time) {
    CHECK_EQ_INT(rankOfSecondShard(10, 0, true), 1);
    CHECK_EQ_INT(rankOfSecondShard(10, 0, false), 0);
    CHECK_EQ_INT(rankOfSecondShard(10, 20000, true), 0); /* it has given up */
    CHECK_EQ_INT(rankOfSecondShard(0, 20000, true), 1);
}

TEST(election_counts_no_vote_of_a_node_that_is_forgotten) {
    smallCluster c;
    start(&c, 4);
    c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    nodeId id = clusterMyself(c.nodes[1].m)->id;
    CHECK_EQ_STR(smallCommand(&c, 3, (clusterCommand){.kind = CLUSTER_FORGET, .node = id}), "+OK");
    c.nodes[2].disk_waits = false;
    smallRun(&c, 300);
    CHECK_EQ_INT(c.nodes[2].sent[BUS_VOTE], 1);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    smallFree(&c);
}

/* --- attempts ---------- */

static void receiveVote(smallCluster *c, int to, int from, uint64_t epoch) {
    busFrame f = {.type = BUS_VOTE, .header = c->nodes[from].last_sent[BUS_PING]};
    f.header.current_epoch = epoch;
    smallReceive(c, to, from, &f);
}

TEST(election_is_won_by_votes_of_a_majority_of_primaries) {
    smallCluster c;
    start(&c, 5);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    receiveVote(&c, 4, 1, 100); /* not asked for */
    receiveVote(&c, 4, 2, 100);
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 4));
    uint64_t epoch = c.nodes[4].last_sent[BUS_VOTE_REQUEST].current_epoch;
    receiveVote(&c, 4, 3, epoch); /* a replica */
    receiveVote(&c, 4, 2, epoch - 1);
    receiveVote(&c, 4, 1, epoch);
    receiveVote(&c, 4, 1, epoch);
    CHECK_EQ_INT(c.nodes[4].became_primary, 0);
    receiveVote(&c, 4, 2, epoch);
    CHECK_EQ_INT(c.nodes[4].became_primary, 1);
    CHECK_EQ_INT(clusterSummarize(c.nodes[4].m).my_epoch, epoch);
    smallFree(&c);
}

TEST(election_that_has_expired_is_not_won) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    uint64_t epoch = c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch;
    receiveVote(&c, 3, 1, epoch);
    for (int i = 0; i < 60 && !logged(&c, 3, "Failover attempt expired."); i++) smallRun(&c, 100);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 1000);
    CHECK_EQ_INT(c.nodes[2].sent[BUS_VOTE], 1);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    smallFree(&c);
}

TEST(election_without_a_majority_is_tried_again_with_a_new_epoch) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    uint64_t epoch = c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch;
    unsigned sent = c.nodes[3].sent[BUS_VOTE_REQUEST];
    smallRun(&c, 7900);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], sent);
    CHECK_EQ_INT(
        timesLogged(&c, 3, "Currently unable to failover: Waiting for votes, but majority still not reached.\n"), 1);
    CHECK_EQ_INT(timesLogged(&c, 3, "Currently unable to failover: Failover attempt expired.\n"), 1);
    CHECK(runUntilRequest(&c, 3));
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch, epoch + 1);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 200);
    CHECK_EQ_INT(clusterSummarize(c.nodes[3].m).my_epoch, epoch + 1);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(election_ends_when_a_primary_has_its_epoch) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    uint64_t epoch = c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch;
    busFrame f = {.type = BUS_PING, .header = c.nodes[2].last_sent[BUS_PING]};
    f.header.current_epoch = f.header.config_epoch = epoch;
    smallReceive(&c, 3, 2, &f);
    CHECK(logged(&c, 3, "Resetting the election since we cannot win an election in the past."));
    CHECK(runUntilRequest(&c, 3));
    CHECK(c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch > epoch);
    smallFree(&c);
}

TEST(election_of_a_primary_that_answers_again_ends) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    smallCut(&c, 0, false);
    smallRun(&c, 5000);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 5000);
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    CHECK(owns(&c, 1, 0));
    smallFree(&c);
}

/* --- the disk ---------- */

TEST(election_epoch_is_on_disk_before_votes_are_requested) {
    smallCluster c;
    start(&c, 4);
    c.nodes[3].disk_waits = true;
    smallCut(&c, 0, true);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK(logged(&c, 3, "Waiting for the nodes file with the new epoch to be written."));
    /* Another node uses the epoch that this one has not saved. */
    uint64_t epoch = epochOf(&c, 3);
    busFrame f = {.type = BUS_PING, .header = c.nodes[2].last_sent[BUS_PING]};
    f.header.current_epoch = epoch;
    smallReceive(&c, 3, 2, &f);
    c.nodes[3].disk_waits = false;
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch, epoch + 1);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

TEST(election_epoch_that_is_too_old_when_it_is_on_disk_is_not_requested) {
    smallCluster c;
    start(&c, 4);
    c.nodes[3].disk_waits = true;
    smallCut(&c, 0, true);
    smallRun(&c, 6000);
    uint64_t epoch = epochOf(&c, 3) + 3;
    busFrame f = {.type = BUS_UPDATE, .header = c.nodes[2].last_sent[BUS_PING], .subject_epoch = epoch};
    f.subject = f.header.sender;
    f.subject_slots = f.header.slots;
    smallReceive(&c, 3, 2, &f);
    c.nodes[3].disk_waits = false;
    smallRun(&c, 200);
    CHECK_EQ_INT(c.nodes[3].last_sent[BUS_VOTE_REQUEST].current_epoch, epoch + 1);
    smallFree(&c);
}

TEST(election_cannot_be_held_after_the_greatest_epoch) {
    smallCluster c;
    start(&c, 4);
    busFrame f = {.type = BUS_PING, .header = c.nodes[2].last_sent[BUS_PING]};
    f.header.current_epoch = UINT64_MAX;
    smallReceive(&c, 3, 2, &f);
    smallCut(&c, 0, true);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    smallFree(&c);
}

TEST(election_slots_are_on_disk_before_they_are_claimed) {
    smallCluster c;
    start(&c, 4);
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = true;
    smallCut(&c, 0, true);
    CHECK(runUntilRequest(&c, 3));
    c.nodes[3].disk_waits = true;
    c.nodes[1].disk_waits = c.nodes[2].disk_waits = false;
    smallRun(&c, 3000);
    CHECK(logged(&c, 3, "Failover election won: I'm the new primary."));
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    CHECK(c.nodes[3].last_sent[BUS_PING].flags & NODE_REPLICA);
    CHECK(owns(&c, 1, 0));
    c.nodes[3].disk_waits = false;
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    CHECK(owns(&c, 1, 3));
    CHECK(owns(&c, 2, 3));
    smallFree(&c);
}

TEST(election_and_votes_need_a_disk_that_can_be_written) {
    smallCluster c;
    start(&c, 4);
    for (int i = 1; i < 4; i++) {
        c.nodes[i].config.save_best_effort = true;
        smallConfigure(&c, i);
    }
    c.nodes[3].disk_fails = true;
    smallCut(&c, 0, true);
    smallRun(&c, 6000);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE_REQUEST], 0);
    CHECK(logged(&c, 3, "The nodes file cannot be written: the failover election is given up"));
    c.nodes[3].disk_fails = false;
    c.nodes[1].disk_fails = c.nodes[2].disk_fails = true;
    CHECK(runUntilRequest(&c, 3));
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 0);
    CHECK(logged(&c, 1, "The nodes file cannot be written: no vote is given"));
    CHECK_EQ_INT(c.nodes[3].became_primary, 0);
    c.nodes[1].disk_fails = c.nodes[2].disk_fails = false;
    CHECK(runUntilRequest(&c, 3));
    CHECK_EQ_INT(c.nodes[3].became_primary, 1);
    smallFree(&c);
}

/* --- voting ---------- */

/* Makes a request for votes of a node, in the epoch after those that the voter knows. */
static busFrame requestOf(const smallCluster *c, int node, int voter, unsigned marks) {
    busFrame f = {.type = BUS_VOTE_REQUEST, .header = c->nodes[node].last_sent[BUS_PING]};
    f.header.current_epoch = epochOf(c, voter) + 1;
    f.header.marks = (uint8_t)marks;
    return f;
}

TEST(vote_is_given_once_in_an_epoch) {
    smallCluster c;
    start(&c, 5);
    busFrame f = requestOf(&c, 4, 1, BUS_MARK_FORCE_VOTE), second = requestOf(&c, 3, 1, BUS_MARK_FORCE_VOTE);
    uint64_t epoch = f.header.current_epoch;
    smallReceive(&c, 1, 4, &f);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    CHECK_EQ_INT(c.nodes[1].last_sent[BUS_VOTE].current_epoch, epoch);
    CHECK_EQ_INT(clusterSummarize(c.nodes[1].m).last_vote_epoch, epoch);
    smallReceive(&c, 1, 3, &second);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    CHECK(logged(&c, 1, "already voted for epoch"));
    smallRestart(&c, 1);
    smallRun(&c, 4000);
    CHECK_EQ_INT(clusterSummarize(c.nodes[1].m).last_vote_epoch, epoch);
    smallReceive(&c, 1, 3, &second);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    smallFree(&c);
}

TEST(vote_is_denied_with_a_reason) {
    smallCluster c;
    start(&c, 4);
    busFrame f = requestOf(&c, 3, 1, 0);
    smallReceive(&c, 1, 3, &f);
    CHECK(logged(&c, 1, "its primary is up\n"));
    f = requestOf(&c, 2, 1, BUS_MARK_FORCE_VOTE);
    smallReceive(&c, 1, 2, &f);
    CHECK(logged(&c, 1, "it is a primary node\n"));
    f = requestOf(&c, 3, 1, BUS_MARK_FORCE_VOTE);
    f.header.current_epoch = 1;
    smallReceive(&c, 1, 3, &f);
    CHECK(logged(&c, 1, "reqEpoch (1) < curEpoch("));
    f = requestOf(&c, 3, 1, BUS_MARK_FORCE_VOTE);
    f.header.config_epoch = 0;
    smallReceive(&c, 1, 3, &f);
    CHECK(logged(&c, 1, "slot 0 epoch (1) > reqConfigEpoch (0)\n"));
    CHECK_EQ_INT(c.nodes[1].sent[BUS_UPDATE], 1);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 0);
    smallReceive(&c, 3, 2, &f);
    CHECK_EQ_INT(c.nodes[3].sent[BUS_VOTE], 0);
    smallRestart(&c, 1);
    smallRun(&c, 500);
    f = requestOf(&c, 3, 1, BUS_MARK_FORCE_VOTE);
    smallReceive(&c, 1, 3, &f);
    CHECK(logged(&c, 1, "it is not safe to vote in this moment\n"));
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 0);
    smallFree(&c);
}

TEST(vote_leaves_with_its_own_epoch_when_it_is_on_disk) {
    smallCluster c;
    start(&c, 5);
    c.nodes[1].disk_waits = true;
    busFrame f = requestOf(&c, 4, 1, BUS_MARK_FORCE_VOTE);
    uint64_t epoch = f.header.current_epoch;
    smallReceive(&c, 1, 4, &f);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 0);
    busFrame ping = {.type = BUS_PING, .header = c.nodes[2].last_sent[BUS_PING]};
    ping.header.current_epoch = epoch + 5;
    smallReceive(&c, 1, 2, &ping);
    c.nodes[1].disk_waits = false;
    smallRun(&c, 100);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    CHECK_EQ_INT(c.nodes[1].last_sent[BUS_VOTE].current_epoch, epoch);
    CHECK_EQ_INT(epochOf(&c, 1), epoch + 5);
    smallFree(&c);
}

TEST(vote_leaves_on_the_link_of_the_request_if_there_is_no_other) {
    smallCluster c;
    start(&c, 4);
    uint64_t link = 0;
    for (size_t i = 0; i < c.link_count; i++)
        if (c.links[i].a == 1 && c.links[i].b == 3) link = c.links[i].a_link;
    busFrame f = requestOf(&c, 3, 1, BUS_MARK_FORCE_VOTE);
    smallStep(&c, 1, &(clusterEvent){.kind = CLUSTER_LINK_DOWN, .link = link});
    smallReceive(&c, 1, 3, &f);
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 1);
    smallFree(&c);
}

TEST(vote_of_a_newer_epoch_does_not_replace_one_that_waits) {
    smallCluster c;
    char text[100];
    start(&c, 5);
    c.nodes[1].disk_waits = true;
    uint64_t epoch = epochOf(&c, 1) + 1;
    for (int i = 0; i < 40; i++) {
        busFrame f = requestOf(&c, 3 + i % 2, 1, BUS_MARK_FORCE_VOTE);
        smallReceive(&c, 1, 3 + i % 2, &f);
    }
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 0);
    c.nodes[1].disk_waits = false;
    smallRun(&c, 100);
    for (uint64_t i = 0; i < 16; i++) {
        snprintf(text, sizeof(text), ") for epoch %llu\n", (unsigned long long)(epoch + i));
        CHECK_EQ_INT(timesLogged(&c, 1, text), 1);
    }
    CHECK_EQ_INT(c.nodes[1].sent[BUS_VOTE], 16);
    smallFree(&c);
}
